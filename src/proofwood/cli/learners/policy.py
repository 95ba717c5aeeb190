"""Options of ``proofwood fit --model policy``."""

from __future__ import annotations

from proofwood.cli.learners.option import CHECKPOINT, LearnerOptions, Option, Predicts
from proofwood.cli.learners.tree import max_gap

POLICY = LearnerOptions(
    (
        Option("max_depth", int, "Most tests on a path; 3 by default."),
        Option("alpha", float, "Price per leaf, as a share of the reward that the best action for all loses."),
        Option("min_samples_leaf", int, "Least rows per leaf."),
        Option(
            "max_gap",
            str,
            "Permitted distance to the optimum, as a share of what the best action for all loses (0.01).",
            "GAP",
            read=max_gap,
        ),
        CHECKPOINT,
    ),
    predicts=Predicts.ACTIONS,
)
