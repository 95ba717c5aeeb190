"""The columns of an explanation: kinds, bounds, categories and groups.

A *column* is a column of the matrix that ``Explained.read`` returns.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from proofwood import arguments
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray
from proofwood.printable import shown as shown

GroupKind = Literal["one_hot", "at_most_one", "together"]
Key = str | int
Gap = tuple[float, float, float]
"""Numbers that a model treats as missing: all above the first, up to the second; the third is an example to show."""
Bounds = Mapping[Key, tuple[float, float]]


@dataclass(frozen=True)
class Group:
    """Columns that form one feature.

    Parameters
    ----------
    columns : names or indices
    kind : ``"one_hot"``: 0/1 columns of which exactly one is 1; ``"at_most_one"``: 0/1 columns of which at most one is
        1; ``"together"``: any columns
    """

    columns: tuple[Key, ...]
    kind: GroupKind = "one_hot"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(arguments.several(self.columns, "columns")))
        arguments.choice(self.kind, "kind", get_args(GroupKind))


@dataclass(frozen=True)
class Input:
    """One column of the rows to explain.

    Parameters
    ----------
    name : str
    kind : kind of its values; categories (nominal) are codes
    low, high : least and greatest value of the space
    missing : whether a missing value is part of the space
    levels : texts of the codes, for nominal and ordered columns
    other : whether codes outside ``levels`` are part of the space (nominal columns)
    shown_as : kind as which the numbers are shown: dates, times or durations, true or false; None for plain numbers
    for_missing : numbers that the model treats as a missing value; None for none
    gap_levels : codes of missing values, if the model treats them like other categories
    own_numbers : whether conditions show thresholds with exactly the digits that the model's own texts have
    zone : time zone in which moments are shown; None if they have none
    zero_one : whether conditions name a column of numbers instead of comparing it with 1/2
    unit : what conditions write after numbers
    """

    name: str
    kind: Kind = Kind.NUMERIC
    low: float = -math.inf
    high: float = math.inf
    missing: bool = False
    levels: tuple[str, ...] = ()
    other: bool = False
    shown_as: Kind | None = None
    for_missing: Gap | None = None
    gap_levels: tuple[int, ...] = ()
    own_numbers: bool = False
    zone: str | None = None
    zero_one: bool = False
    unit: str | None = None

    @property
    def whole(self) -> bool:
        """Whether values are integers; this includes dates and times, which count days or microseconds."""
        return self.kind is not Kind.NUMERIC or self.shown_as in MOMENTS


# --------------------------------------------------------------------------------------------- what the user states


def position(key: Key, names: Sequence[str], what: str) -> int:
    """Index of a column that is given by name or index; ValueError if no such column exists."""
    if isinstance(key, str):
        if key not in names:
            raise ValueError(f"{what} contains {key!r}, which is not a column: the columns are {shown(names)}")
        return list(names).index(key)
    if isinstance(key, bool) or not isinstance(key, numbers.Integral):
        raise ValueError(f"{what} contains {key!r}: expected the name of a column, or its index")
    if not 0 <= key < len(names):
        raise ValueError(f"{what} contains the column {key}, but the columns are 0 to {len(names) - 1}")
    return int(key)


def with_bounds(inputs: Sequence[Input], bounds: Bounds | None) -> tuple[Input, ...]:
    """The inputs with the bounds that the user states."""
    result, names = list(inputs), [column.name for column in inputs]
    for key, pair in (bounds or {}).items():
        j = position(key, names, "bounds")
        column = result[j]
        try:
            if isinstance(pair, str):
                raise TypeError
            low, high = (float(value) for value in pair)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"bounds[{key!r}]={pair!r}: expected a pair (low, high) of numbers") from error
        if not low <= high:
            raise ValueError(f"bounds[{key!r}]={pair!r}: expected low <= high")
        if column.kind is Kind.NOMINAL:
            raise ValueError(f"bounds[{key!r}]: {column.name!r} holds categories, which have no order: leave it out")
        low, high = max(low, column.low), min(high, column.high)
        if column.whole:
            low, high = np.ceil(low).item(), np.floor(high).item()
        if not low <= high:
            raise ValueError(f"bounds[{key!r}]={pair!r}: no value of the column {column.name!r} is within these bounds")
        result[j] = replace(column, low=low, high=high)
    return tuple(result)


def with_integers(inputs: Sequence[Input], integer: Iterable[Key] | None) -> tuple[tuple[Input, ...], frozenset[int]]:
    """The inputs, with the user's integer columns marked, and the indices of other inputs that hold integers."""
    result, names = list(inputs), [column.name for column in inputs]
    loose = {j for j, column in enumerate(inputs) if column.kind is Kind.INTEGER}
    for key in integer or ():
        j = position(key, names, "integer")
        loose.discard(j)
        if result[j].kind is Kind.NUMERIC:
            result[j] = replace(result[j], kind=Kind.INTEGER)
    return tuple(result), frozenset(loose)


def resolved_groups(
    inputs: Sequence[Input], groups: Mapping[str, Group | Sequence[Key]] | None
) -> tuple[tuple[Input, ...], dict[str, tuple[tuple[int, ...], GroupKind]]]:
    """The inputs, with 0/1 columns of groups marked, and the columns and kind of each group."""
    result, names = list(inputs), [column.name for column in inputs]
    resolved: dict[str, tuple[tuple[int, ...], GroupKind]] = {}
    owner: dict[int, str] = {}
    for name, given in (groups or {}).items():
        if not isinstance(given, Group):
            given = Group(tuple(arguments.several(given, f"feature_groups[{name!r}]")))
        group = given
        columns = tuple(position(key, names, f"feature_groups[{name!r}]") for key in group.columns)
        if not columns:
            raise ValueError(f"feature_groups[{name!r}] names no column: expected at least one")
        for j in columns:
            if j in owner:
                raise ValueError(
                    f"column {names[j]!r} is in the groups {owner[j]!r} and {name!r}: a column belongs to one feature"
                    if owner[j] != name
                    else f"feature_groups[{name!r}] names the column {names[j]!r} twice"
                )
            owner[j] = str(name)
            if group.kind != "together":
                if result[j].kind in (Kind.NOMINAL, Kind.ORDERED):
                    raise ValueError(
                        f"feature_groups[{name!r}]: column {names[j]!r} holds categories, not 0 and 1: leave it out of "
                        "the group"
                    )
                result[j] = replace(result[j], kind=Kind.BOOLEAN, low=0.0, high=1.0)
        resolved[str(name)] = (columns, group.kind)
    alone = {inputs[j].name for j in range(len(inputs)) if j not in owner}
    for name in resolved:
        if name in alone:
            raise ValueError(
                f"feature_groups: the group {name!r} has the name of a column that is not in it: rename the group"
            )
    return tuple(result), resolved


def check_rows(X: FloatArray, inputs: Sequence[Input], groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]) -> None:
    """Raise DataError unless every row belongs to the space; the message names the column, the row and what to do."""
    if X.ndim != 2:
        raise DataError(f"X has shape {X.shape}: expected (n_rows, n_columns). For one row, pass X.reshape(1, -1).")
    if X.shape[1] != len(inputs):
        raise DataError(
            f"X has {X.shape[1]} column{'' if X.shape[1] == 1 else 's'}, but the model takes {len(inputs)}: "
            f"{shown([column.name for column in inputs])}"
        )
    # A quick check suffices if no column is limited to integers or categories, and all values are in bounds.
    low, high = [column.low for column in inputs], [column.high for column in inputs]
    plain = not any(column.whole for column in inputs) and (np.isfinite(X) & (low <= X) & (high >= X)).all()
    for j, column in () if plain else enumerate(inputs):
        values = X[:, j]
        missing = np.isnan(values)
        if missing.any() and not column.missing:
            raise DataError(
                f"column {column.name!r} has a missing value (NaN) in row {int(np.argmax(missing))}, but this model "
                "(or a group of 0/1 columns) does not accept one there: fill it, for example with "
                "sklearn.impute.SimpleImputer"
            )
        present = values[~missing]
        if not np.all(np.isfinite(present)):
            raise DataError(f"column {column.name!r} holds an infinite value: expected finite numbers")
        if column.kind is Kind.NOMINAL:
            unknown = (values < 0) | (values >= len(column.levels))
            if column.levels and not column.other and unknown.any():
                raise DataError(
                    f"column {column.name!r} in row {int(np.argmax(unknown))} holds a category that the model does not "
                    f"know: expected one of {shown(column.levels)}"
                )
            continue
        outside = (values < column.low) | (values > column.high)
        if outside.any():
            row = int(np.argmax(outside))
            raise DataError(
                f"column {column.name!r} is {values[row]:g} in row {row}, outside its bounds "
                f"[{column.low:g}, {column.high:g}]: correct the row, or widen bounds"
            )
        if column.whole and not np.array_equal(present, np.rint(present)):
            row = int(np.argmax(~missing & (values != np.rint(values))))
            raise DataError(f"column {column.name!r} is {float(values[row])!r} in row {row}: expected an integer")
    for name, (columns, kind) in groups.items():
        if kind == "together":
            continue
        ones = X[:, columns].sum(axis=1)
        wrong = ones > 1 if kind == "at_most_one" else ones != 1
        if wrong.any():
            row = int(np.argmax(wrong))
            expected = "at most one" if kind == "at_most_one" else "exactly one"
            raise DataError(
                f"row {row} has {int(ones[row])} ones in the group {name!r}, expected {expected}: correct the row, or "
                f"state the group as Group(columns, {'at_most_one' if ones[row] == 0 else 'together'!r})"
            )
