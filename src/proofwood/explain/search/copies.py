"""Comparison of two copies of an ensemble, with a different fixed value of one feature in each copy.

A row of the other columns gets one class from the first copy and another class from the second if and only if several
inequalities hold at once: in each copy, its class must come before all others. Trees in which both values reach the
same leaves cancel in the sum of the two leads. So a first, easier question about this sum uses only the other trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from proofwood.engines.run import Clock
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import UNKNOWN, Answer
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.memory import require
from proofwood.model.node_table import BoolArray, IntArray

Cells = tuple[int, ...]
"""One cell for each column of a feature."""


class Copies:
    """An ensemble with the columns of a feature, whose values can be fixed.

    Parameters
    ----------
    scores : the ensemble
    columns : the columns of the feature
    """

    def __init__(self, scores: ScoreModel, columns: tuple[int, ...]) -> None:
        self.scores, self.columns = scores, list(columns)
        owner = np.zeros(scores.n_columns, dtype=np.int64)
        owner[self.columns] = 1
        own = owner[scores.column_of[scores.needs >> 1]] == 1
        self._own = np.flatnonzero(own)
        self.needs = scores.needs[~own]
        sizes = np.bincount(self.scores.leaf_of[~own], minlength=len(scores.scores))
        self.needs_of = np.concatenate([[0], np.cumsum(sizes)])
        least, most = scores.clauses_about(owner)
        with_literals = [clause for clause in scores.clauses if clause]
        self.joined = bool((least < most).any())
        """Whether clauses connect the values of the feature's columns with other columns."""
        self.elsewhere = [with_literals[at] for at in np.flatnonzero(most == 0).tolist()]
        self.own_clauses = [with_literals[at] for at in np.flatnonzero(least < most).tolist()]
        alone = tuple(with_literals[at] for at in np.flatnonzero(least == 1).tolist())
        self._alone = replace(scores, clauses=alone)

    def possible(self, cells: Cells) -> bool:
        """Whether the clauses that are only about the feature's columns permit the given cells."""
        return self._alone.meets_clauses(self._row(cells))

    def reached(self, cells: Cells) -> BoolArray:
        """(n_leaves,) whether rows with the given cells of the feature may reach each leaf."""
        row = self._row(cells)
        found = np.ones(len(self.scores.scores), dtype=bool)
        found[self.scores.leaf_of[self._own[~self.scores.holds(self.scores.needs[self._own], row)]]] = False
        return found

    def clauses(self, cells: Cells) -> Iterator[tuple[int, ...]]:
        """Clauses about the other columns that follow if the feature has the given cells."""
        row = self._row(cells)
        for clause in self.own_clauses:
            literals = np.array(clause, dtype=np.int64)
            own = np.isin(self.scores.column_of[literals >> 1], self.columns)
            if not self.scores.holds(literals[own], row).any():
                yield tuple(literals[~own].tolist())

    def _row(self, cells: Cells) -> IntArray:
        row = np.zeros(self.scores.n_columns, dtype=np.int64)
        row[self.columns] = cells
        return row


class TwoCopies:
    """Two copies of an ensemble, with different cells of the feature.

    Parameters
    ----------
    of : the ensemble
    one, other : cells of the feature in the two copies
    """

    def __init__(self, of: Copies, one: Cells, other: Cells) -> None:
        self.of, self.scores, self.cells = of, of.scores, (one, other)
        self._reached = of.reached(one), of.reached(other)
        differing = np.zeros(self.scores.n_trees, dtype=bool)
        differing[of.scores.tree_of[self._reached[0] != self._reached[1]]] = True
        self._differing = differing
        apart = differing[of.scores.tree_of]
        self._apart = [np.flatnonzero(reached & apart) for reached in self._reached]
        self._together = np.flatnonzero(self._reached[0] & ~apart)

    @property
    def same(self) -> bool:
        """Whether every tree reaches the same leaves in both copies, so that no class can differ."""
        return not self._differing.any()

    def able(self, more: int, clock: Clock) -> list[tuple[int, int]]:
        """Pairs of classes that the two copies may predict, by a bound from the best leaves of the trees that differ.

        Parameters
        ----------
        more : extra lead that each class must have over the others
        clock : clock of the search; Stopped is raised when it is over
        """
        n, scores = self.scores.n_classes, self.scores.scores
        most = np.zeros((n, n), dtype=np.int64)  # for each pair of classes, an upper bound on the sum of their leads
        starts = [self._starts(part) for part in self._apart]
        for first in range(n):
            clock.check()
            for part, begins, sign in zip(self._apart, starts, (1, -1), strict=True):
                lead = sign * (scores[part, first][:, np.newaxis] - scores[part])
                most[first] += np.maximum.reduceat(lead, begins, axis=0).sum(axis=0)
        able = [(first, second) for first in range(n) for second in range(n) if first != second]
        return [pair for pair in able if most[pair] >= self._least(*pair) + 2 * more]

    def differ(self, low: IntArray, high: IntArray, first: int, second: int, more: int, clock: Clock) -> Answer:
        """Whether a row of a box has class ``first`` in the first copy and class ``second`` in the second copy.

        Parameters
        ----------
        low, high : (n_columns,) least and greatest cells of the box; those of the feature's columns are ignored
        first, second : the classes
        more : extra lead that each of them must have over the others
        clock : clock of the question
        """
        low, high = low.copy(), high.copy()
        low[self.of.columns] = high[self.of.columns] = self.cells[0]
        if clock.over:
            return UNKNOWN
        oracle = self._cancelled(first, second)
        answer = oracle.ask_contests(
            low, high, 0, [(1, self._least(first, second) + 2 * more)], seconds=clock.seconds_left
        )
        if answer.witness is None or clock.over:
            return answer if answer.witness is None else UNKNOWN
        oracle, leads = self._contests(first, second)
        return oracle.ask_contests(
            low, high, 0, [(1 + at, lead + more) for at, lead in enumerate(leads)], seconds=clock.seconds_left
        )

    # ------------------------------------------------------------------------------------------------------- ensembles

    def _least(self, first: int, second: int) -> int:
        """Least sum of the two leads that the classes ``first`` and ``second`` need."""
        return self.scores.threshold_of_win(first, second) + self.scores.threshold_of_win(second, first)

    def _cancelled(self, first: int, second: int) -> SearchOracle:
        """An engine for an ensemble in which the sum of the two leads is the lead of class 0 over class 1."""
        gains = [
            sign * (self.scores.scores[part, second] - self.scores.scores[part, first])
            for part, sign in zip(self._apart, (1, -1), strict=True)
        ]
        values = np.zeros((sum(map(len, gains)), 2), dtype=np.int64)
        values[:, 1] = np.concatenate(gains)
        return self._oracle(self._apart, values, np.zeros(2, dtype=np.int64))

    def _contests(self, first: int, second: int) -> tuple[SearchOracle, list[int]]:
        """An engine for both copies at once, and the least leads that class 0 must have over its other classes.

        Each of these classes stands for a comparison in one copy; the comparisons of the first copy come first.
        """
        n, base = self.scores.n_classes, self.scores.base
        others = [np.delete(np.arange(n), own) for own in (first, second)]
        parts = [self._together, *self._apart]
        require(8 * sum(map(len, parts)) * (2 * n - 1), "two copies of the ensemble")
        values = np.zeros((sum(map(len, parts)), 2 * n - 1), dtype=np.int64)
        sums = np.zeros(2 * n - 1, dtype=np.int64)
        rows = np.split(np.arange(len(values)), np.cumsum([len(part) for part in parts])[:-1])
        for copy, own in enumerate((first, second)):
            span = slice(1 + copy * (n - 1), 1 + (copy + 1) * (n - 1))
            sums[span] = base[others[copy]] - base[own]
            for at in (0, 1 + copy):
                leaves = self.scores.scores[parts[at]]
                values[rows[at], span] = leaves[:, others[copy]] - leaves[:, [own]]
        leads = [
            self.scores.threshold_of_win(own, k)
            for own, rest in zip((first, second), others, strict=True)
            for k in rest.tolist()
        ]
        return self._oracle(parts, values, sums), leads

    def _oracle(self, parts: list[IntArray], values: IntArray, base: IntArray) -> SearchOracle:
        """An engine for the leaves in ``parts``, with the scores ``values``."""
        leaves = np.concatenate(parts)
        begins = self.of.needs_of[leaves]
        sizes = self.of.needs_of[leaves + 1] - begins
        needs_of = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(needs_of[-1]) - np.repeat(needs_of[:-1], sizes)
        counts = [np.diff([*self._starts(part), len(part)]) for part in parts if len(part)]
        made = replace(
            self.scores,
            leaves_of=np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
            scores=values,
            base=base,
            needs_of=needs_of,
            needs=self.of.needs[np.repeat(begins, sizes) + within],
            clauses=(*self.of.elsewhere, *(clause for cells in self.cells for clause in self.of.clauses(cells))),
        )
        return SearchOracle(made)

    def _starts(self, leaves: IntArray) -> IntArray:
        """The positions in ``leaves``, which are in ascending order, at which each tree begins."""
        tree = self.of.scores.tree_of[leaves]
        return np.flatnonzero(np.concatenate([[True], tree[1:] != tree[:-1]])) if len(tree) else np.zeros(0, np.int64)
