"""Options of ``proofwood fit --model bdd``."""

from __future__ import annotations

from proofwood.cli.learners.option import CHECKPOINT, ENGINE, MAX_THRESHOLDS, LearnerOptions, Option

BDD = LearnerOptions(
    (
        Option("max_features", int, "Most tests of the diagram; 4 by default."),
        Option("objective", str, "What to minimise: errors or features (tests).", values=("errors", "features")),
        Option(
            "unknown",
            str,
            "Predictions for cells without training rows: smallest (diagram), parent, merge or solver.",
            values=("smallest", "parent", "merge", "solver"),
        ),
        Option("tie_break", str, "size: the smallest diagram among those with equal errors.", values=("size",)),
        Option("alpha", float, "Price per inner node, as a share of all rows; 0 by default."),
        MAX_THRESHOLDS,
        ENGINE,
        Option(
            "variant",
            str,
            "With --engine paper: maxsat, heuristic or greedy; for fewest features bdd2 or bdd1.",
            values=("maxsat", "heuristic", "greedy", "bdd2", "bdd1"),
        ),
        CHECKPOINT,
    )
)
