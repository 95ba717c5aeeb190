"""Options of ``proofwood fit --model survival``."""

from __future__ import annotations

from proofwood.cli.learners.option import CHECKPOINT, CV, MAX_LEAF_NODES, LearnerOptions, Option, Predicts, depth
from proofwood.cli.learners.tree import max_gap

SURVIVAL = LearnerOptions(
    (
        Option("max_depth", str, "Most tests on a path; 3 by default.", "DEPTH", read=depth),
        Option("alpha", float, "Price per leaf, as a share of the deviance of a single leaf; 0 by default."),
        MAX_LEAF_NODES,
        Option("min_samples_leaf", int, "Least rows per leaf."),
        CV,
        Option(
            "max_gap",
            str,
            "Permitted distance to the optimum, as a share of the deviance of a single leaf (0.01).",
            "GAP",
            read=max_gap,
        ),
        CHECKPOINT,
    ),
    predicts=Predicts.TIMES,
)
