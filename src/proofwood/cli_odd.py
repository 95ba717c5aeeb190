"""What the command line says about diagrams of a skeleton, as the parameters of their learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proofwood.exceptions import DataError

FAIRNESS = {
    "demographic_parity": "DemographicParity",
    "equal_opportunity": "EqualOpportunity",
    "predictive_equality": "PredictiveEquality",
    "equalized_odds": "EqualizedOdds",
}
"""Options that name a sensitive column -> their constraints."""
FAIR = "COL[:RATIO[:PENALTY]]"
"""What these options take."""


def widths(text: str) -> tuple[int, ...]:
    """``--widths`` as a tuple; DataError if it is no list of integers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise DataError(
            f"--widths {text!r} are no widths: expected integers between commas, one per layer, such as 1,2,4,4"
        ) from None


def constraints(
    given: Mapping[str, Any], positive: str | None, columns: Sequence[str], labels: Sequence[Any]
) -> tuple[list[Any], str | None]:
    """The constraints that options ask for, and the sensitive column that they compare.

    Parameters
    ----------
    given : value of each option that was given, by name: ``max_splits``, ``min_samples``, and those of ``FAIRNESS``
    positive : ``--positive``, the text of the label of the favourable class
    columns : of the table
    labels : distinct labels of the target

    Raises
    ------
    DataError
        If a value cannot be read, a column does not exist, or two constraints name different columns.
    """
    from proofwood.data.tables import require_column
    from proofwood.estimators import constraints as kinds

    made: list[Any] = []
    if "max_splits" in given:
        made.append(kinds.MaxSplits(given["max_splits"]))
    if "min_samples" in given:
        made.append(kinds.MinSamples(_number(given["min_samples"])))
    named: dict[str, str] = {}
    pos_label = None if positive is None else _label(positive, labels)
    for option, kind in FAIRNESS.items():
        if option not in given:
            continue
        shown = f"--{option.replace('_', '-')}"
        column, ratio, penalty = _column_and_numbers(shown, given[option], columns)
        require_column(columns, column)
        named[column] = shown
        made.append(kinds.KINDS[kind](ratio=ratio, pos_label=pos_label, penalty=penalty))  # type: ignore[call-arg]
    if len(named) > 1:
        told = " and ".join(f"{shown} {column!r}" for column, shown in named.items())
        raise DataError(f"{told} compare different columns: all fairness constraints of a model compare one")
    if positive is not None and not named:
        raise DataError(f"--positive {positive!r} is the favourable class of a fairness constraint, and none is given")
    return made, next(iter(named), None)


def _column_and_numbers(option: str, text: str, columns: Sequence[str]) -> tuple[str, float, float | None]:
    """What :data:`FAIR` shows; a name that holds a colon is a name if there is such a column."""
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
    """``--min-samples``: an int counts rows, a float is a share."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise DataError(f"--min-samples {text!r} is no number: expected rows (such as 20), or a share (such as 0.05)")


def _label(text: str, labels: Sequence[Any]) -> Any:
    for label in labels:
        if str(label) == text:
            return label
    raise DataError(f"--positive {text!r} is no label; the labels are {', '.join(map(str, labels[:20]))}")
