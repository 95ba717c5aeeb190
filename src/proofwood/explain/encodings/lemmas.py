"""Boxes in which a class cannot win, grown around single rows: clauses for a formula that is too coarse.

The idea is lazy clause generation [1]_, with the leads of all trees as the constraint: a row that satisfies the formula
and yet does not change the class becomes a box, as large as the distance of its leads to the goal permits, and the box
a clause over order variables that denies it.

References
----------
.. [1] Ohrimenko, Stuckey, Codish (2009), Propagation via Lazy Clause Generation, Constraints 14.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from proofwood.explain.encodings.bound import LeafBoxes, least_lead
from proofwood.explain.model.scores import ScoreModel
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.solvers.session import SatSession


def full_chains(scores: ScoreModel) -> list[list[int]]:
    """Clauses of the order between all thresholds of each column."""
    return [
        [-higher, lower]
        for first, last in pairwise((scores.first + 1).tolist())
        for lower, higher in pairwise(range(first, last))
    ]


def cells_of_solution(scores: ScoreModel, session: SatSession) -> IntArray:
    """(n_columns,) cells that the last solution gives to order variables ``1..n``: thresholds that are below."""
    above = [session.value(variable) for variable in range(1, int(scores.first[-1]) + 1)]
    below = np.concatenate([[0], np.cumsum(above)])
    return np.asarray(below[scores.first[1:]] - below[scores.first[:-1]], dtype=np.int64)


class FirstLemmas:
    """Boxes of rows in which a class does not come first, whoever does.

    Parameters
    ----------
    scores, boxes, low, high : as for :class:`BoxLemmas`
    """

    def __init__(self, scores: ScoreModel, boxes: LeafBoxes, low: IntArray, high: IntArray) -> None:
        self.scores, self.boxes, self.low, self.high = scores, boxes, low, high
        self._lemmas: dict[tuple[int, int], BoxLemmas] = {}

    def around(self, cells: IntArray, target: int) -> list[int] | None:
        """A clause that denies a box around a row in which another class stays before ``target``; None if none does."""
        sums = self.scores.sums(cells)
        if self.scores.may_be_first(sums, target):
            return None
        others = [k for k in range(self.scores.n_classes) if k != target]
        rival = max(others, key=lambda k: int(sums[k]) + self.scores.threshold_of_win(target, k))
        if (rival, target) not in self._lemmas:
            goal = least_lead(self.scores, rival, target)
            self._lemmas[rival, target] = BoxLemmas(self.scores, self.boxes, self.low, self.high, rival, target, goal)
        return self._lemmas[rival, target].around(cells)


class BoxLemmas:
    """Boxes within a box, of rows that keep the label before one other class.

    Parameters
    ----------
    scores, boxes : the model, its leaves
    low, high : (n_columns,) least and greatest cells of the rows in question
    label, against : two classes
    goal : least sum of leads with which ``against`` cannot win
    """

    def __init__(
        self,
        scores: ScoreModel,
        boxes: LeafBoxes,
        low: IntArray,
        high: IntArray,
        label: int,
        against: int,
        goal: int,
    ) -> None:
        reachable = boxes.reachable(low, high)
        self.low, self.high = boxes.low[reachable].T.copy(), boxes.high[reachable].T.copy()  # (n_columns, n_leaves)
        self.leads = (scores.scores[:, label] - scores.scores[:, against])[reachable]
        self.starts = np.searchsorted(boxes.tree[reachable], np.arange(scores.n_trees))
        self.goal = goal
        self.above_all = int(self.leads.max()) + 1
        tested = ((self.low > low[:, np.newaxis]) | (self.high < high[:, np.newaxis])).sum(axis=1)
        self.free = [int(column) for column in np.argsort(tested, kind="stable") if tested[column]]
        self.first, self.least, self.most = scores.first, low, high

    def around(self, cells: IntArray) -> list[int] | None:
        """A clause that denies a box around a row of the box, literals +v or -v; None if ``against`` wins there.

        Columns that few leaves test are given up first: they cost the least, and the clause gets short.
        """
        low, high = cells.copy(), cells.copy()
        off = {column: self._off(column, cells[column], cells[column]) for column in self.free}
        away = np.zeros(self.leads.size, dtype=np.int64)  # columns that keep a leaf from the box
        for flags in off.values():
            away += flags
        if not self._suffices(away):
            return None
        for column in self.free:
            rest = away - off[column]
            self._widen(column, low, high, rest)
            off[column] = self._off(column, low[column], high[column])
            away = rest + off[column]
        clause = []
        for column in sorted(self.free):
            first = int(self.first[column])
            if low[column] > self.least[column]:
                clause.append(-(first + int(low[column])))  # the variable of threshold low - 1
            if high[column] < self.most[column]:
                clause.append(first + int(high[column]) + 1)
        return clause

    def _widen(self, column: int, low: IntArray, high: IntArray, rest: IntArray) -> None:
        """Move the ends of one column as far out as the goal permits: the lower one first, by bisection."""

        def good(lowest: int, highest: int) -> bool:
            return self._suffices(rest + self._off(column, lowest, highest))

        least, most = int(self.least[column]), int(self.most[column])
        if good(least, most):
            low[column], high[column] = least, most
            return
        at = int(low[column])
        while least < at:  # good at `at`
            middle = (least + at) // 2
            if good(middle, int(high[column])):
                at = middle
            else:
                least = middle + 1
        low[column], at = at, int(high[column])
        while at < most:
            middle = (at + most + 1) // 2
            if good(int(low[column]), middle):
                at = middle
            else:
                most = middle - 1
        high[column] = at

    def _off(self, column: int, low: int, high: int) -> BoolArray:
        """Leaves that need another value of the column."""
        return np.asarray((self.low[column] > high) | (self.high[column] < low))

    def _suffices(self, away: IntArray) -> bool:
        """Whether the least leads of all trees in a box add up to the goal."""
        least = np.minimum.reduceat(np.where(away == 0, self.leads, self.above_all), self.starts)
        return int(least.sum()) >= self.goal
