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

from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.explain.model.adapters.reading import Adapted, column_names, mixed, numbers
from proofwood.explain.model.forest import Forest
from proofwood.explain.model.sources import Source
from proofwood.explain.model.space import Input
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
    asked: Callable[[Callable[[Any], Any]], Callable[[FloatArray], Any]]
    if categories.named:
        read = partial(mixed, names=names, known=categories.values)
        asked = partial(partial, _of_frame, categories, forest.names or names)
    else:
        read = partial(_whole_numbers, names=names, known=categories.values)
        asked = partial(partial, of_numbers, categories.values)
    predict = asked(forest.predict)
    output = None if forest.output is None else asked(forest.output)
    return Adapted(
        replace(forest, predict=predict, output=output),
        inputs,
        tuple(Source(j) for j in range(len(names))),
        read,
        predict,
        unknown_missing=unknown_missing,
        output=output,
    )


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


def _of_frame(categories: Categories, names: Sequence[str], call: Callable[[Any], Any], X: FloatArray) -> Any:
    """What a model that takes frames of pandas gives to rows of codes."""
    import pandas as pd  # optional: whoever trained on a frame of pandas has it

    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        columns[name] = X[:, j]
        if j in categories.values:
            values = list(categories.values[j])
            known = (X[:, j] >= 0) & (X[:, j] < len(values))
            columns[name] = pd.Categorical.from_codes(np.where(known, X[:, j], -1).astype(np.int64), values)
    return call(pd.DataFrame(columns))


def of_numbers(known: Mapping[int, tuple[int, ...]], call: Callable[[FloatArray], Any], X: FloatArray) -> Any:
    """What a model that takes numbers gives to rows of codes."""
    return call(as_numbers(X, known))
