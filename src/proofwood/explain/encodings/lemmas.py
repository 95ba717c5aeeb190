"""Boxes in which a class does not come first, grown around single rows: clauses for a formula that is too coarse.

The idea is lazy clause generation [1]_, with the leads of all trees as the constraint: a row that satisfies the formula
and in which the class is not first becomes a box, as large as the distance of its leads to the goal permits, and the
box a clause over order variables that denies it.

References
----------
.. [1] Ohrimenko, Stuckey, Codish (2009), Propagation via Lazy Clause Generation, Constraints 14.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.explain.model.scores import ScoreModel
from proofwood.model.node_table import BoolArray, IntArray


def leaf_boxes(scores: ScoreModel) -> tuple[IntArray, IntArray]:
    """Least and greatest cells that each leaf allows, both (n_leaves, n_columns)."""
    n_leaves = int(scores.leaves_of[-1])
    low = np.zeros((n_leaves, scores.n_columns), dtype=np.int64)
    high = np.tile(scores.n_thresholds, (n_leaves, 1))
    variable, above = scores.needs >> 1, scores.needs & 1 == 0
    column = scores.column_of[variable]
    threshold, leaf = variable - scores.first[column], scores.leaf_of
    low[leaf[above], column[above]] = threshold[above] + 1  # one need of each direction per column and leaf
    high[leaf[~above], column[~above]] = threshold[~above]
    return low, high


class FirstLemmas:
    """Boxes of rows in which some other class stays before one.

    Parameters
    ----------
    scores : the model
    """

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        low, high = leaf_boxes(scores)
        self.low, self.high = low.T.copy(), high.T.copy()  # (n_columns, n_leaves)
        tested = ((self.low > 0) | (self.high < scores.n_thresholds[:, np.newaxis])).sum(axis=1)
        self.tested = [int(column) for column in np.argsort(tested, kind="stable") if tested[column]]

    def around(self, cells: IntArray, target: int) -> list[int] | None:
        """A clause, literals +v or -v, that denies a box around a row; None if ``target`` may come first in the row.

        Columns that few leaves test are given up first: they cost the least, and the clause gets short.
        """
        scores = self.scores
        sums = scores.sums(cells)
        if scores.may_be_first(sums, target):
            return None
        others = [k for k in range(scores.n_classes) if k != target]
        rival = max(others, key=lambda k: int(sums[k]) + scores.threshold_of_win(target, k))
        leads = scores.scores[:, rival] - scores.scores[:, target]
        goal = 1 - scores.threshold_of_win(target, rival) - int(scores.base[rival] - scores.base[target])
        none, starts = int(leads.max()) + 1, scores.leaves_of[:-1]

        def suffices(away: IntArray) -> bool:
            """Whether the least leads of all trees, without leaves that columns keep away, add up to the goal."""
            return int(np.minimum.reduceat(np.where(away == 0, leads, none), starts).sum()) >= goal

        low, high = cells.copy(), cells.copy()
        off = {column: self._off(column, cells[column], cells[column]) for column in self.tested}
        away = np.zeros(leads.size, dtype=np.int64)  # columns that keep a leaf from the box
        for flags in off.values():
            away += flags
        for column in self.tested:
            rest = away - off[column]
            self._widen(column, low, high, rest, suffices)
            off[column] = self._off(column, low[column], high[column])
            away = rest + off[column]
        clause = []
        for column in sorted(self.tested):
            first = int(scores.first[column])
            if low[column] > 0:
                clause.append(-(first + int(low[column])))  # the variable of threshold low - 1
            if high[column] < scores.n_thresholds[column]:
                clause.append(first + int(high[column]) + 1)
        return clause

    def _widen(
        self, column: int, low: IntArray, high: IntArray, rest: IntArray, suffices: Callable[[IntArray], bool]
    ) -> None:
        """Move the ends of one column as far out as the goal permits: the lower one first, by bisection."""

        def good(lowest: int, highest: int) -> bool:
            return suffices(rest + self._off(column, lowest, highest))

        least, most = 0, int(self.scores.n_thresholds[column])
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
