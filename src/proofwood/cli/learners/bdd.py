"""Options of ``proofwood fit --model bdd``."""

from __future__ import annotations

from proofwood.cli.learners.option import CHECKPOINT, ENGINE, MAX_THRESHOLDS, LearnerOptions, Option

BDD = LearnerOptions(
    (
        Option("max_features", int, "Most tests of the diagram; 4 by default."),
        Option("objective", str, "errors or features.", values=("errors", "features")),
        Option(
            "unknown",
            str,
            "smallest, parent, merge or solver, for cells that no row reaches.",
            values=("smallest", "parent", "merge", "solver"),
        ),
        Option("tie_break", str, "size, for the smallest diagram among sets of equal errors.", values=("size",)),
        Option("alpha", float, "Price per node, as a share of all rows; 0 by default."),
        MAX_THRESHOLDS,
        ENGINE,
        Option(
            "variant",
            str,
            "Of --engine paper: maxsat, heuristic, greedy; bdd2, bdd1 for fewest features.",
            values=("maxsat", "heuristic", "greedy", "bdd2", "bdd1"),
        ),
        CHECKPOINT,
    )
)
