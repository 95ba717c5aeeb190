"""An ensemble over the cells of its threshold grid, in integers; all oracles work on it.

Column ``f`` has ``q_f`` thresholds and so the cells ``0..q_f``; the Boolean ``above(f, t)`` says that the cell of a row
is greater than ``t``, for ``0 <= t < q_f``, and ``above(f, t + 1)`` implies ``above(f, t)``. Variables are numbered
column by column, ``first[f] + t``; the literal ``2 * v`` holds if variable ``v`` is true, ``2 * v + 1`` if it is false.
A leaf is reached iff all its needs hold; needs are literals. An explanation is a set of features, and a feature is one
column, or several that belong together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from proofwood.model.node_table import BoolArray, IntArray

NUMBERS, SET = -1, -2
"""Values in ``ScoreModel.ranges`` in place of the column that says whether a value is missing."""


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """Leaves of all trees with their needs and scores, and the clauses that limit the rows of the space.

    The predicted class of a row has the largest sum of ``base`` and of one leaf score per tree. Ties go to the lowest
    class if ``ties_low``, else to the highest.

    Parameters
    ----------
    n_thresholds : (n_columns,) thresholds of each column
    features : columns of each feature; every column belongs to exactly one
    leaves_of : (n_trees + 1,) first leaf of each tree
    scores : (n_leaves, n_classes) int64
    base : (n_classes,) int64
    needs_of : (n_leaves + 1,) first need of each leaf
    needs : literals that must all hold to reach a leaf; at most one of each direction per column and leaf
    clauses : clauses of literals that every row of the space satisfies (one-hot groups, bounds, missing values)
    margin : largest amount by which rounding, in the model and here, can change the difference of two class sums
    ties_low : whether the lowest class wins a tie; otherwise the highest wins
    ranges : columns of one table column, and the 0/1 column that says that its value is missing; ``NUMBERS`` if there
        is no such column, or ``SET`` if the columns are 0/1 and represent categories. A rule permits an interval of
        numbers, with or without a missing value, or a set of categories
    beside : another ensemble over the same cells, which gives plausible rows the class 1 and all others 0; None if all
        rows are plausible
    """

    n_thresholds: IntArray
    features: tuple[tuple[int, ...], ...]
    leaves_of: IntArray
    scores: IntArray
    base: IntArray
    needs_of: IntArray
    needs: IntArray
    clauses: tuple[tuple[int, ...], ...] = ()
    margin: int = 0
    ties_low: bool = True
    ranges: tuple[tuple[tuple[int, ...], int], ...] = ()
    beside: ScoreModel | None = None

    @cached_property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.n_thresholds.size)

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.leaves_of.size) - 1

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.base.size)

    @cached_property
    def first(self) -> IntArray:
        """(n_columns + 1,) first variable of each column; the last entry is the number of variables."""
        return np.concatenate([[0], np.cumsum(self.n_thresholds)]).astype(np.int64)

    @cached_property
    def column_of(self) -> IntArray:
        """(n_variables,) column of each variable."""
        return np.repeat(np.arange(self.n_columns), self.n_thresholds)

    @cached_property
    def feature_of(self) -> IntArray:
        """(n_columns,) feature of each column."""
        found = np.zeros(self.n_columns, dtype=np.int64)
        for feature, columns in enumerate(self.features):
            found[list(columns)] = feature
        return found

    @cached_property
    def tree_of(self) -> IntArray:
        """(n_leaves,) tree of each leaf."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.leaves_of))

    @cached_property
    def leaf_of(self) -> IntArray:
        """(n_needs,) leaf of each need."""
        return np.repeat(np.arange(len(self.scores)), np.diff(self.needs_of))

    @cached_property
    def _first_needs(self) -> tuple[IntArray, IntArray]:
        """For each leaf that has needs, its first need and its index."""
        some = np.flatnonzero(self.needs_of[1:] > self.needs_of[:-1])
        return self.needs_of[some], some

    def threshold_of_win(self, winner: int, loser: int, *, margin: bool = True) -> int:
        """Least difference ``sum(winner) - sum(loser)`` for which ``winner`` may come before ``loser``.

        With ``margin``, the result is smaller by the rounding margin: below it, ``winner`` cannot win.
        """
        least = 0 if (winner < loser) == self.ties_low else 1
        return least - self.margin if margin else least

    def may_be_first(self, sums: IntArray, target: int) -> bool:
        """Whether ``target`` may come before all other classes with these sums (n_classes,), within the margin."""
        return all(
            sums[target] - sums[k] >= self.threshold_of_win(target, k) for k in range(self.n_classes) if k != target
        )

    def may_win(self, sums: IntArray, codes: IntArray) -> BoolArray:
        """(n_rows,) whether rows with these sums (n_rows, n_classes) may have the classes ``codes``.

        A class that wins within the rounding margin counts. A code below 0 means no class, and gives False.
        """
        every = np.arange(self.n_classes)
        least = np.where((codes[:, np.newaxis] < every) == self.ties_low, 0, 1) - self.margin
        lead = sums[np.arange(len(codes)), codes][:, np.newaxis] - sums
        wins = ((lead >= least) | (every == codes[:, np.newaxis])).all(axis=1)
        return np.asarray(wins & (codes >= 0))

    def holds(self, literals: IntArray, cells: IntArray) -> IntArray:
        """Whether each literal holds for a row given by its cells (n_columns,)."""
        asked = np.asarray(literals)
        if asked.size > self.column_of.size:  # each variable once, then a look at its literals
            above = np.asarray(cells)[self.column_of] > np.arange(self.column_of.size) - self.first[self.column_of]
            return np.asarray(np.stack([above, ~above], axis=1).ravel()[asked])
        variable = asked >> 1
        column = self.column_of[variable]
        return np.asarray((cells[column] > variable - self.first[column]) == (asked & 1 == 0))

    def sums(self, cells: IntArray) -> IntArray:
        """(n_classes,) score sums of a row given by its cells, computed leaf by leaf."""
        all_hold = np.ones(len(self.scores), dtype=np.bool_)
        begins, some = self._first_needs
        if begins.size:
            all_hold[some] = np.minimum.reduceat(self.holds(self.needs, cells).view(np.uint8), begins).view(np.bool_)
        reached = np.flatnonzero(all_hold)
        if reached.size != self.n_trees:
            raise AssertionError(f"a row reaches {reached.size} leaves in {self.n_trees} trees: expected one per tree")
        return np.asarray(self.base + self.scores[reached].sum(axis=0))

    def winner(self, cells: IntArray) -> int:
        """The class with the largest integer sum, for a row given by its cells."""
        sums = self.sums(cells)
        if self.ties_low:
            return int(sums.argmax())
        return self.n_classes - 1 - int(sums[::-1].argmax())

    def sure(self) -> ScoreModel:
        """The ensemble in which a row has a class, or is plausible, only if rounding cannot change this."""
        beside = None if self.beside is None else self.beside.sure()
        return replace(self, margin=-self.margin, beside=beside)

    def allows(self, cells: IntArray) -> bool:
        """Whether a row given by its cells belongs to the space, and is plausible within the rounding margin."""
        return self.meets_clauses(cells) and (
            self.beside is None or self.beside.may_be_first(self.beside.sums(cells), 1)
        )

    def meets_clauses(self, cells: IntArray) -> bool:
        """Whether a row given by its cells belongs to the space, plausible or not."""
        literals, begins = self._flat_clauses
        if begins.size < len(self.clauses):
            return False
        return not begins.size or bool(np.logical_or.reduceat(self.holds(literals, cells), begins).all())

    def clauses_about(self, owner: IntArray) -> tuple[IntArray, IntArray]:
        """(n_clauses,) least and greatest owner of the columns in each clause; no clause may be empty.

        Parameters
        ----------
        owner : (n_columns,) a number for each column
        """
        literals, begins = self._flat_clauses
        if not begins.size:
            return begins, begins
        owners = owner[self.column_of[literals >> 1]]
        return np.minimum.reduceat(owners, begins), np.maximum.reduceat(owners, begins)

    @cached_property
    def _flat_clauses(self) -> tuple[IntArray, IntArray]:
        """The literals of all clauses, and the start of each clause that is not empty; an empty clause never holds."""
        sizes = np.array([len(clause) for clause in self.clauses], dtype=np.int64)
        literals = np.array([literal for clause in self.clauses for literal in clause], dtype=np.int64)
        return literals, (np.cumsum(sizes) - sizes)[sizes > 0]

    def box(self, cells: IntArray, fixed: Iterable[int] = ()) -> tuple[IntArray, IntArray]:
        """Least and greatest cells (n_columns,) of the rows that agree with ``cells`` on the features ``fixed``."""
        low, high = np.zeros(self.n_columns, dtype=np.int64), np.array(self.n_thresholds, dtype=np.int64)
        columns = [column for feature in fixed for column in self.features[feature]]
        low[columns] = high[columns] = np.asarray(cells)[columns]
        return low, high

    def limits(self, low: IntArray, high: IntArray, columns: Iterable[int] | None = None) -> list[int]:
        """Literals that all hold iff a row is in the box from ``low`` to ``high``.

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cell of each column
        columns : columns to limit; None for all
        """
        literals = []
        for column in range(self.n_columns) if columns is None else columns:
            first, least, greatest = int(self.first[column]), int(low[column]), int(high[column])
            if least > 0:
                literals.append(2 * (first + least - 1))
            if greatest < self.n_thresholds[column]:
                literals.append(2 * (first + greatest) + 1)
        return literals
