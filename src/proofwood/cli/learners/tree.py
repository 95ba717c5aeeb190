"""Options of ``proofwood fit --model tree``."""

from __future__ import annotations

from proofwood.cli.learners.option import CHECKPOINT, LearnerOptions, Option
from proofwood.cli.options import count_or_share
from proofwood.exceptions import DataError


def max_gap(text: str) -> float:
    """Parse ``--max-gap``: an int is a number of errors, a float a share."""
    gap = count_or_share(text)
    if gap is None:
        raise DataError(f"--max-gap {text!r} is not a number: expected errors (such as 5), or a share (such as 0.01)")
    return gap


TREE = LearnerOptions(
    (
        Option("max_depth", int, "Most tests on a path; 3 by default."),
        Option(
            "criterion",
            str,
            "What to minimise: errors, balanced_accuracy (errors of classes of equal weight), log_loss or gini.",
            values=("errors", "balanced_accuracy", "log_loss", "gini"),
        ),
        Option("alpha", float, "Price per leaf, as a share of all rows; 0 by default."),
        Option("min_samples_leaf", int, "Least rows per leaf."),
        Option(
            "cv",
            int,
            "Choose depth (up to --max-depth) and price of leaves by cross-validation; 5 folds without a number.",
            "FOLDS",
            alone=(5, "folds"),
        ),
        Option("max_gap", str, "Permitted distance to the optimum: errors (5) or a share (0.01).", "GAP", read=max_gap),
        CHECKPOINT,
    )
)
