"""Options of ``proofwood fit --model diagram``, and the constraints that they set."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from proofwood.cli.corrections import label_of
from proofwood.cli.learners.option import MAX_THRESHOLDS, FromTable, LearnerOptions, Option
from proofwood.cli.options import count_or_share
from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl

FAIRNESS = {
    "demographic_parity": "DemographicParity",
    "equal_opportunity": "EqualOpportunity",
    "predictive_equality": "PredictiveEquality",
    "equalized_odds": "EqualizedOdds",
}
"""The constraint of each option that names a sensitive column."""
FAIR = "COL[:RATIO[:PENALTY]]"
"""The form of the values of these options."""


def widths(text: str) -> tuple[int, ...]:
    """Parse ``--widths`` into a tuple. Raise DataError if it is not a list of integers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise DataError(
            f"--widths {text!r}: expected integers with commas between them, one per layer, such as 1,2,4,4"
        ) from None


def with_constraints(given: Mapping[str, Any], features: pl.DataFrame, labels: Any) -> FromTable:
    """The constraints, and the sensitive column for ``fit``; without ``--keep-sensitive`` it is not a feature."""
    found, sensitive = _constraints(given, features.columns, sorted(set(labels.tolist())))
    if sensitive is None:
        if "keep_sensitive" in given:
            raise DataError("--keep-sensitive needs a fairness constraint: add one, such as --demographic-parity COL")
        return FromTable({"constraints": found})
    return FromTable(
        {"constraints": found},
        fit={"sensitive_features": features.get_column(sensitive)},
        drop=() if "keep_sensitive" in given else (sensitive,),
    )


def _constraints(
    given: Mapping[str, Any], columns: Sequence[str], labels: Sequence[Any]
) -> tuple[list[Any], str | None]:
    """The constraints that the options set, and the sensitive column whose groups they compare, or None.

    Parameters
    ----------
    given : value of each option that was given, by name
    columns : columns of the table
    labels : distinct labels of the target

    Raises
    ------
    DataError
        If a value cannot be parsed, a column does not exist, or two constraints name different columns.
    """
    from proofwood.data.tables import require_column
    from proofwood.estimators import constraints as kinds

    made: list[Any] = []
    if "max_splits" in given:
        made.append(kinds.MaxSplits(given["max_splits"]))
    if "min_samples" in given:
        made.append(kinds.MinSamples(_number(given["min_samples"])))
    named: dict[str, str] = {}
    positive = given.get("positive")
    pos_label = None if positive is None else label_of(positive, labels, f"--positive {positive!r} is not a label")
    for option, kind in FAIRNESS.items():
        if option not in given:
            continue
        shown = f"--{option.replace('_', '-')}"
        column, ratio, penalty = _column_and_numbers(shown, given[option], columns)
        require_column(columns, column)
        named[column] = shown
        made.append(kinds.KINDS[kind](column, ratio=ratio, pos_label=pos_label, penalty=penalty))  # type: ignore[call-arg]
    if len(named) > 1:
        asked = " and ".join(f"{shown} {column!r}" for column, shown in named.items())
        raise DataError(f"{asked} compare different columns: all fairness constraints must use the same column")
    if positive is not None and not named:
        raise DataError(
            f"--positive {positive!r} is the favourable class of a fairness constraint: add one, such as "
            "--demographic-parity COL"
        )
    return made, next(iter(named), None)


def _column_and_numbers(option: str, text: str, columns: Sequence[str]) -> tuple[str, float, float | None]:
    """Parse a value of the form :data:`FAIR`. If the whole text is the name of a column, it means that column."""
    if text in columns or ":" not in text:
        return text, 0.8, None
    column, _, last = text.rpartition(":")
    first, _, middle = column.rpartition(":")
    try:
        if first and column not in columns and _is_number(middle):
            return first, float(middle), float(last)
        return column, float(last), None
    except ValueError:
        raise DataError(
            f"{option} {text!r}: expected a column, a column and a ratio, such as sex:0.8, or these and a penalty, "
            "such as sex:0.8:0.5"
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    """Parse ``--min-samples``: an int is a number of rows, a float a share."""
    number = count_or_share(text)
    if number is None:
        raise DataError(
            f"--min-samples {text!r} is not a number: expected rows (such as 20), or a share (such as 0.05)"
        )
    return number


FAIR_OPTIONS = (
    Option(
        "demographic_parity",
        str,
        "Equal rates of positive predictions of groups.",
        FAIR,
        needs_table=True,
    ),
    Option("equal_opportunity", str, "Equal true positive rates of groups.", FAIR, needs_table=True),
    Option("predictive_equality", str, "Equal false positive rates of groups.", FAIR, needs_table=True),
    Option("equalized_odds", str, "Equal true and false positive rates of groups.", FAIR, needs_table=True),
    Option("positive", str, "The favourable class, if there are more than two.", "LABEL", needs_table=True),
    Option("keep_sensitive", bool, "Let the model test the column of the groups, too.", needs_table=True),
)
"""Options of constraints on rates, of trees and of diagrams."""

DIAGRAM = LearnerOptions(
    (
        Option("widths", str, "Most splits of each layer, such as 1,2,4,4.", "N,N,...", read=widths),
        Option("alpha", float, "Price per node, as a share of all nodes; 0.1 by default."),
        Option("splits", str, "univariate or oblique.", values=("univariate", "oblique")),
        Option("norm", str, "With oblique splits: box (as in the paper) or l1.", values=("box", "l1")),
        Option("topology", str, "diagram or tree.", values=("diagram", "tree")),
        MAX_THRESHOLDS,
        Option(
            "engine",
            str,
            "Search engine: auto, search, heuristic or paper.",
            values=("auto", "search", "heuristic", "paper"),
        ),
        Option("variant", str, "With --engine paper: scipy or scip.", values=("scipy", "scip")),
        Option("random_state", int, "Seed of the heuristics."),
        Option("max_splits", int, "Most splits of the diagram.", needs_table=True),
        Option(
            "min_samples",
            str,
            "Least rows that reach every split: a number (20) or a share (0.05).",
            "N",
            needs_table=True,
        ),
        *FAIR_OPTIONS,
    ),
    with_constraints,
)
