"""Options of ``proofwood fit --model tree``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from proofwood.cli.corrections import label_of
from proofwood.cli.learners.diagram import FAIR_OPTIONS, with_constraints
from proofwood.cli.learners.option import (
    CHECKPOINT,
    CV,
    MAX_LEAF_NODES,
    MIN_SAMPLES_LEVEL,
    FromTable,
    LearnerOptions,
    Option,
    depth,
)
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


def gap_option(text: str) -> Option:
    """The option ``--max-gap``, with what it says."""
    return Option("max_gap", str, f"Permitted distance to the optimum{text}", "GAP", read=max_gap)


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


def directions_of(text: str, columns: Sequence[str]) -> dict[str, int]:
    """Parse ``--monotonic``: 1 for columns with which the class must never fall, -1 where it must never rise.

    Raises
    ------
    DataError
        If a part has another form, or there is no such column.
    """
    from proofwood.data.tables import require_column

    found = {}
    for part in text.split(","):
        column, equals, sign = part.rpartition("=")
        if not equals or sign.strip() not in ("1", "+1", "-1"):
            raise DataError(f"--monotonic {part!r}: expected a column and 1 or -1, such as income=1 or debt=-1")
        require_column(columns, column)
        found[column] = int(sign)
    return found


def _with_table(given: Mapping[str, Any], features: pl.DataFrame, labels: Any) -> FromTable:
    fair = with_constraints(given, features, labels)
    found = {name: value for name, value in fair.settings.items() if value}
    classes = sorted(set(labels.tolist()))
    if "costs" in given:
        found["cost_matrix"] = costs_of(given["costs"], classes)
    if "pos_label" in given:
        told = given["pos_label"]
        found["pos_label"] = label_of(told, classes, f"--pos-label {told!r} is not a class")
    if "monotonic" in given:
        found["monotonic_cst"] = directions_of(given["monotonic"], features.columns)
    return FromTable(found, fit=fair.fit, drop=fair.drop)


TREE = LearnerOptions(
    (
        Option(
            "max_depth", str, "Most tests on a path; 3 by default. none: any, which needs --alpha.", "DEPTH", read=depth
        ),
        Option(
            "criterion",
            str,
            "Minimise errors, log_loss or gini, or maximise balanced_accuracy, f1, f_beta, jaccard or precision.",
            values=("errors", "balanced_accuracy", "log_loss", "gini", "f1", "f_beta", "jaccard", "precision"),
        ),
        Option("beta", float, "For f_beta: how many times as much recall counts as precision."),
        Option("min_recall", float, "For precision: the least share of the positive rows that are found."),
        Option(
            "pos_label", str, "For f1, f_beta, jaccard and precision: the positive class.", "LABEL", needs_table=True
        ),
        Option(
            "costs",
            str,
            "What a row of one class costs that is predicted as another: bad:good=5,good:bad=1.",
            "TRUE:PREDICTED=COST,...",
            needs_table=True,
        ),
        Option("alpha", float, "Price per leaf, as a share of all rows; 0 by default."),
        MAX_LEAF_NODES,
        Option("min_samples_leaf", int, "Least rows per leaf."),
        MIN_SAMPLES_LEVEL,
        Option(
            "monotonic",
            str,
            "Columns with which the class of two must never fall (1) or never rise (-1): income=1,debt=-1.",
            "COL=SIGN,...",
            needs_table=True,
        ),
        CV,
        gap_option(": errors (5) or a share (0.01)."),
        CHECKPOINT,
        *FAIR_OPTIONS,
    ),
    _with_table,
)
