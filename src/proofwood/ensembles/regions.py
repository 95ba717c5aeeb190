"""Regions of rows, defined by cells; a rule with ranges describes a region.

A feature consists of *units*, each with its own range:

- the numbers of one table column: the range is an interval, with or without the missing value. The grid may hold these
  numbers in two columns (one for thresholds that send a missing value low, one for those that send it high), and a 0/1
  column says whether the value is missing;
- several 0/1 columns, such as the categories of a one-hot group: the range is a set of values.

A region is given by least and greatest cells. If a range contains numbers and the missing value, the cells of the
number columns limit only rows that have a number. Such a region is not a box, but a box with clauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pysat.solvers import Solver  # type: ignore[import-untyped]

from proofwood.ensembles.scores import NUMBERS, SET, ScoreModel
from proofwood.model.node_table import BoolArray, IntArray

MOST_VALUES = 4096
"""Maximum number of values of a group that are widened one by one; a group with more is widened column by column."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Columns that share one range.

    Parameters
    ----------
    columns : the columns of the numbers, or the 0/1 columns of a set of values
    flag : 0/1 column that says that the value is missing, or -1
    values : (n_values, n_columns) all combinations of cells of the columns; ascending for numbers
    numbers : whether the range is an interval; otherwise it is a set
    """

    columns: tuple[int, ...]
    flag: int
    values: IntArray
    numbers: bool

    def inside(self, low: IntArray, high: IntArray) -> BoolArray:
        """(n_values,) whether each value is in the range; the missing value is not among these values."""
        columns = list(self.columns)
        if self.flag >= 0 and low[self.flag] == 1:
            return np.zeros(len(self.values), dtype=bool)
        return np.asarray(((low[columns] <= self.values) & (self.values <= high[columns])).all(axis=1))

    def next(self, low: IntArray, high: IntArray) -> list[IntArray | None]:
        """The values by which the range could be extended next; None means the missing value."""
        inside = self.inside(low, high)
        if not self.numbers or not inside.any():
            found: list[IntArray | None] = list(self.values[~inside])
        else:
            first, last = np.flatnonzero(inside)[[0, -1]].tolist()
            found = [self.values[at] for at in (first - 1, last + 1) if 0 <= at < len(self.values)]
        if self.flag >= 0 and high[self.flag] == 0:
            found.append(None)
        return found

    def with_value(self, low: IntArray, high: IntArray, value: IntArray | None) -> tuple[IntArray, IntArray]:
        """Extend the range of a region to a value and the numbers between; None stands for the missing value."""
        low, high, columns = low.copy(), high.copy(), list(self.columns)
        if value is None:
            high[self.flag] = 1
        elif self.flag >= 0 and low[self.flag] == 1:  # so far only the missing value
            low[self.flag] = 0
            low[columns] = high[columns] = value
        else:
            low[columns] = np.minimum(low[columns], value)
            high[columns] = np.maximum(high[columns], value)
        return low, high


def units(scores: ScoreModel, feature: int) -> list[Unit]:
    """The units of a feature."""
    left = list(scores.features[feature])
    found: list[Unit] = []
    for columns, flag in scores.ranges:
        if columns[0] in left:
            left = [column for column in left if column not in columns and column != flag]
            if flag == SET:
                found += _set_units(scores, list(columns))
            else:
                found.append(Unit(columns, flag, _number_values(scores, columns, flag), numbers=True))
    return found + _set_units(scores, left)


def _set_units(scores: ScoreModel, columns: list[int]) -> list[Unit]:
    """One unit for several 0/1 columns; one unit per column if they are not 0/1 or have too many values."""
    values = _group_values(scores, columns)
    if values is not None:
        return [Unit(tuple(columns), NUMBERS, values, numbers=False)]
    return [Unit((c,), NUMBERS, _number_values(scores, (c,), NUMBERS), numbers=True) for c in columns]


def _number_values(scores: ScoreModel, columns: Sequence[int], flag: int) -> IntArray:
    """(n, n_columns) cells of all numbers, ascending; for two columns, only the pairs that the clauses permit."""
    if len(columns) == 1:
        return np.arange(int(scores.n_thresholds[columns[0]]) + 1)[:, np.newaxis]
    own = {int(scores.first[c]) + t: (c, t) for c in columns for t in range(int(scores.n_thresholds[c]))}
    missing = -1 if flag < 0 else int(scores.first[flag])
    shape = tuple(int(scores.n_thresholds[c]) + 1 for c in columns)
    allowed = np.ones(shape, dtype=bool)
    for clause in scores.clauses:
        if any(literal >> 1 not in own and literal >> 1 != missing for literal in clause):
            continue
        if any(literal >> 1 == missing and literal & 1 for literal in clause):
            continue  # holds for all rows that have a number
        holds = np.zeros(shape, dtype=bool)
        for literal in clause:
            if literal >> 1 != missing:
                column, threshold = own[literal >> 1]
                axis = list(columns).index(column)
                cells = np.arange(shape[axis])
                true = cells > threshold if literal & 1 == 0 else cells <= threshold
                holds |= np.expand_dims(true, tuple(a for a in range(len(shape)) if a != axis))
        allowed &= holds
    return np.argwhere(allowed).astype(np.int64)


def group_values(scores: ScoreModel, feature: int) -> IntArray | None:
    """The values of a feature of several 0/1 columns, such as the categories of a one-hot group.

    Returns
    -------
    (n_values, n_columns_of_the_feature) cells, or None
        None if the feature is one column, has a column of more than two cells, or more than ``MOST_VALUES`` values.
    """
    return _group_values(scores, list(scores.features[feature]))


def _group_values(scores: ScoreModel, columns: list[int]) -> IntArray | None:
    if len(columns) <= 1 or np.any(scores.n_thresholds[columns] > 1):
        return None
    used = [column for column in columns if scores.n_thresholds[column]]
    number = {int(scores.first[column]): place + 1 for place, column in enumerate(used)}
    values: list[list[int]] = []
    with Solver(name="minisat22") as solver:
        for variable in number.values():
            solver.add_clause([variable, -variable])
        for clause in scores.clauses:
            if all(literal >> 1 in number for literal in clause):
                solver.add_clause([-number[lit >> 1] if lit & 1 else number[lit >> 1] for lit in clause])
        while solver.solve():
            model = solver.get_model()
            if len(values) == MOST_VALUES:
                return None
            true = {used[variable - 1] for variable in model if variable > 0}
            values.append([int(column in true) for column in columns])
            if not model:
                break
            solver.add_clause([-literal for literal in model])
    return np.array(sorted(values), dtype=np.int64)


# ------------------------------------------------------------------------------------------------------------- regions


def guarded(scores: ScoreModel, low: IntArray, high: IntArray) -> list[tuple[tuple[int, ...], int]]:
    """For each range that contains numbers and the missing value: its number columns, and its 0/1 column."""
    return [(columns, flag) for columns, flag in scores.ranges if flag >= 0 and low[flag] == 0 and high[flag] == 1]


def box_and_clauses(
    scores: ScoreModel, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray, list[tuple[int, ...]]]:
    """The box and the clauses, such as "the value is missing, or above this threshold", that define a region."""
    box_low, box_high = low.copy(), high.copy()
    clauses: list[tuple[int, ...]] = []
    for columns, flag in guarded(scores, low, high):
        missing = 2 * int(scores.first[flag])
        for column in columns:
            first = int(scores.first[column])
            if low[column] > 0:
                clauses.append((missing, 2 * (first + int(low[column]) - 1)))
            if high[column] < scores.n_thresholds[column]:
                clauses.append((missing, 2 * (first + int(high[column])) + 1))
            box_low[column], box_high[column] = 0, scores.n_thresholds[column]
    return box_low, box_high, clauses


def in_region(scores: ScoreModel, row: IntArray, low: IntArray, high: IntArray) -> bool:
    """Whether a row, given by its cells, is in the region from ``low`` to ``high``."""
    outside = np.asarray((row < low) | (row > high))
    for columns, flag in guarded(scores, low, high):
        if row[flag] == 1:
            outside[list(columns)] = False
    return not outside.any()
