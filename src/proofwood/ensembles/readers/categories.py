"""Columns of categories of boosted trees: values as people have them, codes here, and numbers as the trees test them.

A model learned from a frame of pandas knows the categories of a column by name, and its trees test their places in the
list. One learned from a matrix knows numbers only, and any other number may come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from proofwood.data.columns import is_frame
from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import Forest
from proofwood.ensembles.readers.reading import Adapted, column_names, mixed, numbers
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray


@dataclass(frozen=True)
class Categories:
    """Columns of categories of one model.

    Parameters
    ----------
    values : of each such column the categories, in the order of their codes here
    named : whether they are names, which the model has in this order too; else they are the numbers that it tests
    others : whether codes go on with one for all other numbers; else the model takes these for missing
    """

    values: Mapping[int, tuple[Any, ...]]
    named: bool
    others: bool

    def codes(self, column: int, tested: Sequence[int]) -> frozenset[int]:
        """Codes of numbers that a tree tests."""
        if self.named:
            return frozenset(tested)
        code_of = {value: code for code, value in enumerate(self.values[column])}
        return frozenset(code_of[value] for value in tested)

    def all_codes(self, column: int) -> frozenset[int]:
        """Codes of a column without a missing value."""
        return frozenset(range(len(self.values[column]) + self.others))

    def with_other(self, column: int) -> tuple[Any, ...]:
        """The values of these codes."""
        values = self.values[column]
        return (*values, next(n for n in range(len(values) + 1) if n not in values)) if self.others else tuple(values)

    def levels(self, column: int) -> tuple[str, ...]:
        """Texts of these codes."""
        return (*map(str, self.values[column]), *["any other"] * self.others)


def with_categories(
    forest: Forest, categories: Categories, feature_names: Sequence[str] | None, *, unknown_missing: bool
) -> Adapted:
    """A boosted model some of whose columns are categories.

    Parameters
    ----------
    forest : its trees test the codes of ``categories``; its ``predict`` and ``output`` take a frame of pandas if these
        are named, else the numbers that the model tests
    categories : columns of categories
    feature_names : names of the columns, if the user gives them
    unknown_missing : whether the model takes categories that it does not know for missing
    """
    names = column_names(forest.names, forest.n_columns, feature_names)
    inputs = tuple(
        Input(name, Kind.NOMINAL, levels=categories.levels(j)) if j in categories.values else Input(name)
        for j, name in enumerate(names)
    )
    table: Callable[[FloatArray], Any]
    if categories.named:
        read = partial(_values_or_codes, names=names, known=categories.values)
        table = partial(_frame, categories, forest.names or names)
    else:
        read = partial(_whole_numbers, names=names, known=categories.values)
        table = partial(as_numbers, known=categories.values)
    predict = partial(of_table, forest.predict, table)
    output = None if forest.output is None else partial(of_table, forest.output, table)
    return Adapted(
        replace(forest, predict=predict, output=output),
        inputs,
        tuple(Source(j) for j in range(len(names))),
        read,
        predict,
        unknown_missing=unknown_missing,
        output=output,
        categories={j: categories.with_other(j) for j in categories.values},
        table=table,
        dressed=partial(_dressed, categories.values) if categories.named else None,
    )


def _values_or_codes(X: Any, names: Sequence[str], known: Mapping[int, tuple[Any, ...]]) -> FloatArray:
    """Rows of a model that knows its categories by name: a frame has their values, an array of numbers their codes.

    Codes are the places of the categories in the list of the model, as it takes arrays itself. A number that is no
    place, or a text that is not a category, gets the code after the last; a number below 0 is a missing value.
    """
    if is_frame(X) or not _is_of_numbers(X):
        return mixed(X, names, known)
    rows = numbers(X, names).copy()
    for j, values in known.items():
        codes = np.trunc(rows[:, j])
        codes[codes < 0] = np.nan
        rows[:, j] = np.minimum(codes, len(values))
    return rows


def _is_of_numbers(X: Any) -> bool:
    """Whether an array-like holds numbers alone."""
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        return X.dtype.kind in "biuf"
    return not any(isinstance(value, str) for row in X for value in row)


def _dressed(known: Mapping[int, tuple[Any, ...]], frame: Any) -> Any:
    """A frame of pandas with its categories as such: text and numbers are looked up among those of the model."""
    import pandas as pd  # the frame is one of it

    made = frame.copy()
    for j, values in known.items():
        column = made.iloc[:, j]
        made.isetitem(j, pd.Categorical(column.where(column.isin(values), None), categories=list(values)))
    return made


def _whole_numbers(X: Any, names: Sequence[str], known: Mapping[int, tuple[int, ...]]) -> FloatArray:
    """Rows of numbers, categories as codes; a number that is not known gets the code after the last."""
    rows = numbers(X, names)
    for j in known:
        column = rows[:, j]
        broken = np.flatnonzero(~np.isnan(column) & (column != np.floor(column)))
        if broken.size:
            raise DataError(
                f"column {names[j]!r} is {column[broken[0]]!r} in row {broken[0]}: its categories are whole numbers"
            )
    return as_codes(rows, known)


def as_codes(rows: FloatArray, known: Mapping[int, tuple[int, ...]]) -> FloatArray:
    """Rows whose categories are numbers, in ascending order in ``known``, as rows of codes.

    A number that is not known gets the code after the last; a missing value stays missing.
    """
    coded = rows.copy()
    for j, values in known.items():
        column = rows[:, j]
        codes = np.searchsorted(values, column)
        found = np.append(values, np.nan)[codes] == column
        coded[:, j] = np.where(np.isnan(column), np.nan, np.where(found, codes, len(values)))
    return coded


def as_numbers(rows: FloatArray, known: Mapping[int, tuple[int, ...]]) -> FloatArray:
    """The way back: the code after the last, and any above it, is a number that is not known."""
    numbered = rows.copy()
    for j, values in known.items():
        unknown = next(number for number in range(len(values) + 1) if number not in values)
        table = np.array([*values, unknown, np.nan], dtype=np.float64)
        codes = np.where(np.isnan(rows[:, j]), len(values) + 1, np.clip(rows[:, j], 0, len(values)))
        numbered[:, j] = table[codes.astype(np.int64)]
    return numbered


def of_table(call: Callable[[Any], Any], table: Callable[[FloatArray], Any], X: FloatArray) -> Any:
    """What a model predicts for rows of codes, converted to the table that it accepts."""
    return call(table(X))


def _frame(categories: Categories, names: Sequence[str], X: FloatArray) -> Any:
    """Rows of codes as a frame of pandas."""
    import pandas as pd  # optional: a user who trained on a frame of pandas has it

    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        columns[name] = X[:, j]
        if j in categories.values:
            values = list(categories.values[j])
            known = (X[:, j] >= 0) & (X[:, j] < len(values))
            columns[name] = pd.Categorical.from_codes(np.where(known, X[:, j], -1).astype(np.int64), values)
    return pd.DataFrame(columns)


def of_numbers(known: Mapping[int, tuple[int, ...]], call: Callable[[FloatArray], Any], X: FloatArray) -> Any:
    """What a model that takes numbers gives to rows of codes."""
    return call(as_numbers(X, known))
