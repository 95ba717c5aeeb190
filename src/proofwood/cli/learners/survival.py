"""Options of ``proofwood fit --model survival``."""

from __future__ import annotations

from proofwood.cli.learners.option import (
    CHECKPOINT,
    CV,
    MAX_LEAF_NODES,
    MIN_SAMPLES_LEVEL,
    LearnerOptions,
    Option,
    Predicts,
    depth,
)
from proofwood.cli.learners.tree import gap_option

SURVIVAL = LearnerOptions(
    (
        Option("max_depth", str, "Most tests on a path; 3 by default.", "DEPTH", read=depth),
        Option("alpha", float, "Price per leaf, as a share of the deviance of a single leaf; 0 by default."),
        MAX_LEAF_NODES,
        Option("min_samples_leaf", int, "Least rows per leaf."),
        MIN_SAMPLES_LEVEL,
        CV,
        gap_option(", as a share of the deviance of a single leaf (0.01)."),
        CHECKPOINT,
    ),
    predicts=Predicts.TIMES,
)
