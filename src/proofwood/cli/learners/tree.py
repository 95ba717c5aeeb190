"""Options of ``proofwood fit --model tree``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from proofwood.cli.corrections import label_of
from proofwood.cli.learners.option import CHECKPOINT, CV, FromTable, LearnerOptions, Option, depth
from proofwood.cli.options import count_or_share
from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl


def max_gap(text: str) -> float:
    """Parse ``--max-gap``: an int is a number of errors, a float a share."""
    gap = count_or_share(text)
    if gap is None:
        raise DataError(f"--max-gap {text!r} is not a number: expected errors (such as 5), or a share (such as 0.01)")
    return gap


def costs_of(text: str, labels: Sequence[Any]) -> dict[Any, dict[Any, float]]:
    """Parse ``--costs``: what a row of one class costs that is predicted as another, by both.

    Raises
    ------
    DataError
        If a part has another form, or a label is unknown.
    """
    found: dict[Any, dict[Any, float]] = {label: {} for label in labels}
    example = f"{labels[0]}:{labels[-1]}=5"
    for part in text.split(","):
        pair, equals, number = part.rpartition("=")
        true, colon, predicted = pair.partition(":")
        if not equals or not colon:
            raise DataError(f"--costs {part!r}: expected a true class, a predicted class and a cost, such as {example}")
        try:
            cost = float(number)
        except ValueError:
            raise DataError(f"--costs {part!r}: {number!r} is not a number, such as in {example}") from None
        one, other = (
            label_of(name, labels, f"--costs {part!r}: {name!r} is not a class") for name in (true, predicted)
        )
        found[one][other] = cost
    return found


def _with_table(given: Mapping[str, Any], features: pl.DataFrame, labels: Any) -> FromTable:
    classes = sorted(set(labels.tolist()))
    return FromTable({"cost_matrix": costs_of(given["costs"], classes)} if "costs" in given else {})


TREE = LearnerOptions(
    (
        Option(
            "max_depth", str, "Most tests on a path; 3 by default. none: any, which needs --alpha.", "DEPTH", read=depth
        ),
        Option(
            "criterion",
            str,
            "What to minimise: errors, balanced_accuracy, log_loss or gini.",
            values=("errors", "balanced_accuracy", "log_loss", "gini"),
        ),
        Option(
            "costs",
            str,
            "What a row of one class costs that is predicted as another: bad:good=5,good:bad=1.",
            "TRUE:PREDICTED=COST,...",
            needs_table=True,
        ),
        Option("alpha", float, "Price per leaf, as a share of all rows; 0 by default."),
        Option("min_samples_leaf", int, "Least rows per leaf."),
        CV,
        Option("max_gap", str, "Permitted distance to the optimum: errors (5) or a share (0.01).", "GAP", read=max_gap),
        CHECKPOINT,
    ),
    _with_table,
)
