"""Options of ``proofwood fit --model regressor``."""

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

REGRESSOR = LearnerOptions(
    (
        Option("max_depth", str, "Most tests on a path; 3 by default.", "DEPTH", read=depth),
        Option(
            "criterion",
            str,
            "What to minimise: squared_error, poisson (for counts) or gamma (for sizes).",
            values=("squared_error", "poisson", "gamma"),
        ),
        Option("alpha", float, "Price per leaf, as a share of what a single leaf costs; 0 by default."),
        MAX_LEAF_NODES,
        Option("min_samples_leaf", int, "Least rows per leaf."),
        MIN_SAMPLES_LEVEL,
        CV,
        gap_option(", as a share of what a single leaf costs (0.01)."),
        CHECKPOINT,
    ),
    predicts=Predicts.NUMBERS,
)
