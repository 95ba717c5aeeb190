"""Categorical columns of boosted trees: the user's values, their codes here, and the numbers that the trees test.

A model fitted on a pandas frame stores the categories of a column by name, and its trees test their positions in this
list. A model fitted on a matrix stores only numbers, and a row may hold any other number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from proofwood.data.frames import is_frame
from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import Forest
from proofwood.ensembles.readers.reading import Adapted, column_names, mixed, numbers
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray


@dataclass(frozen=True)
class Categories:
    """The categorical columns of one model.

    Parameters
    ----------
    values : by column, its categories in the order of their codes here
    named : whether the categories are names, in the order of the model; else they are the numbers that trees test
    others : whether one more code means any other number; else the model treats other numbers as missing
    """

    values: Mapping[int, tuple[Any, ...]]
    named: bool
    others: bool

    def codes(self, column: int, tested: Sequence[int]) -> frozenset[int]:
        """The codes of the categories that a tree tests by the numbers in ``tested``."""
        if self.named:
            return frozenset(tested)
        code_of = {value: code for code, value in enumerate(self.values[column])}
        return frozenset(code_of[value] for value in tested)

    def all_codes(self, column: int) -> frozenset[int]:
        """All codes of a column; a missing value has no code."""
        return frozenset(range(len(self.values[column]) + self.others))

    def with_other(self, column: int) -> tuple[Any, ...]:
        """The values of all codes of a column, with an unknown number for the code of all other numbers."""
        values = self.values[column]
        return (*values, next(n for n in range(len(values) + 1) if n not in values)) if self.others else tuple(values)

    def levels(self, column: int) -> tuple[str, ...]:
        """The texts of all codes of a column."""
        return (*map(str, self.values[column]), *["any other"] * self.others)


def with_categories(
    forest: Forest, categories: Categories, feature_names: Sequence[str] | None, *, unknown_missing: bool
) -> Adapted:
    """The adapted model for boosted trees that have categorical columns.

    Parameters
    ----------
    forest : its trees test the codes of ``categories``; its ``predict`` and ``output`` take a pandas frame if the
        categories are named, else the numbers that the model tests
    categories : the categorical columns
    feature_names : names of the columns, if the user gives them
    unknown_missing : whether the model treats unknown categories as missing
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
    """Rows for a model with named categories: a frame holds their names, an array of numbers holds their codes.

    A code is the position of a category in the model's list, which is also what the model itself expects in an array.
    An unknown text or too large a number gets the code after the last; a number below 0 is a missing value.
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
    """Whether an array-like holds numbers and no texts."""
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        return X.dtype.kind in "biuf"
    return not any(isinstance(value, str) for row in X for value in row)


def _dressed(known: Mapping[int, tuple[Any, ...]], frame: Any) -> Any:
    """A pandas frame whose categorical columns have the pandas type, with the categories of the model."""
    import pandas as pd  # the frame is one of it

    made = frame.copy()
    for j, values in known.items():
        column = made.iloc[:, j]
        made.isetitem(j, pd.Categorical(column.where(column.isin(values), None), categories=list(values)))
    return made


def _whole_numbers(X: Any, names: Sequence[str], known: Mapping[int, tuple[int, ...]]) -> FloatArray:
    """Rows of numbers, with codes for categories; an unknown category gets the code after the last."""
    rows = numbers(X, names)
    for j in known:
        column = rows[:, j]
        broken = np.flatnonzero(~np.isnan(column) & (column != np.floor(column)))
        if broken.size:
            raise DataError(
                f"column {names[j]!r} holds {float(column[broken[0]])!r} in row {broken[0]}, but its categories are "
                "whole numbers: expected a whole number"
            )
    return as_codes(rows, known)


def as_codes(rows: FloatArray, known: Mapping[int, tuple[int, ...]]) -> FloatArray:
    """Replace the numbers of categories by codes; ``known`` lists the numbers of each column in ascending order.

    An unknown number gets the code after the last; a missing value stays missing.
    """
    coded = rows.copy()
    for j, values in known.items():
        column = rows[:, j]
        codes = np.searchsorted(values, column)
        found = np.append(values, np.nan)[codes] == column
        coded[:, j] = np.where(np.isnan(column), np.nan, np.where(found, codes, len(values)))
    return coded


def as_numbers(rows: FloatArray, known: Mapping[int, tuple[int, ...]]) -> FloatArray:
    """Replace codes by the numbers of categories; a code after the last one becomes an unknown number."""
    numbered = rows.copy()
    for j, values in known.items():
        unknown = next(number for number in range(len(values) + 1) if number not in values)
        table = np.array([*values, unknown, np.nan], dtype=np.float64)
        codes = np.where(np.isnan(rows[:, j]), len(values) + 1, np.clip(rows[:, j], 0, len(values)))
        numbered[:, j] = table[codes.astype(np.int64)]
    return numbered


def of_table(call: Callable[[Any], Any], table: Callable[[FloatArray], Any], X: FloatArray) -> Any:
    """The result of ``call`` for rows of codes, which ``table`` converts to the table that a model accepts."""
    return call(table(X))


def _frame(categories: Categories, names: Sequence[str], X: FloatArray) -> Any:
    """Rows of codes as a pandas frame, with the categories of the model."""
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
    """The result of ``call``, which takes numbers, for rows of codes."""
    return call(as_numbers(X, known))
