"""Regions that grow from row to row of a table, as long as the model predicts one class everywhere inside.

If the ranges of an explanation are widened cell by cell (:mod:`proofwood.explain.search.inflate`), they grow mostly
into empty space. Here, a region grows by rows of the table, the nearest first: it is extended to the smallest region
that contains one more row. Then the limits of ranges are removed if possible, and the other ranges are widened as far
as the class stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from proofwood import memory
from proofwood.engines.run import Clock
from proofwood.ensembles.regions import units
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.search.inflate import Widening
from proofwood.model.node_table import BoolArray, IntArray

PATIENCE = 1.0
"""Most seconds for a question; after that, its answer counts as no, and the region stays unchanged."""
MOST_GROWERS = 2000
"""Most rows by which a region tries to grow; if the table has more, evenly spaced ones are used."""
_BEYOND = np.iinfo(np.int32).max


class Points:
    """Rows in cells, with a fast test of whether they are in a region.

    If a value is missing, the cells of its numbers are ignored by this test.

    Parameters
    ----------
    scores : ScoreModel
    cells : (n, n_columns) cells of the rows

    Attributes
    ----------
    least, most : (n, n_columns) cells: a row is in a region if ``low <= least`` and ``most <= high`` in all columns
    """

    def __init__(self, scores: ScoreModel, cells: IntArray) -> None:
        self.cells = cells
        self.least, self.most = cells, cells
        gaps = [(list(columns), cells[:, flag] == 1) for columns, flag in scores.ranges if flag >= 0]
        if any(missing.any() for _, missing in gaps):
            self.least, self.most = cells.copy(), cells.copy()
            for columns, missing in gaps:
                at = np.ix_(missing, columns)
                self.least[at], self.most[at] = _BEYOND, -1

    def inside(self, low: IntArray, high: IntArray) -> BoolArray:
        """(n,) whether each row is in a region."""
        return np.asarray(((self.least >= low) & (self.most <= high)).all(axis=1))

    def any_inside(self, low: IntArray, high: IntArray, limited: IntArray) -> bool:
        """Whether any row is in a region that limits only the columns ``limited``."""
        left: IntArray | None = None
        for column in limited.tolist():
            least, most = self._least_by_column[column], self._most_by_column[column]
            if left is None:
                left = np.flatnonzero((least >= low[column]) & (most <= high[column]))
            else:
                left = left[(least[left] >= low[column]) & (most[left] <= high[column])]
            if not left.size:
                return False
        return len(self.cells) > 0

    @cached_property
    def _least_by_column(self) -> IntArray:
        return np.ascontiguousarray(self.least.T)

    @cached_property
    def _most_by_column(self) -> IntArray:
        return np.ascontiguousarray(self.most.T)


class Grower:
    """Grows regions in which all rows have one class.

    Parameters
    ----------
    oracle : an engine
    points : distinct rows of the table
    codes : (n,) class of each row
    clock : clock for all regions together

    Attributes
    ----------
    asked, undecided : number of questions to the engine, and of those without an answer within :data:`PATIENCE`
    """

    def __init__(self, oracle: Oracle, points: Points, codes: IntArray, clock: Clock) -> None:
        self.oracle, self.scores = oracle, oracle.scores
        self.points, self.codes, self.clock = points, codes, clock
        self.asked = self.undecided = 0
        self.top = np.array(self.scores.n_thresholds, dtype=np.int64)
        self.units = [unit for feature in range(self.scores.n_features) for unit in units(self.scores, feature)]
        self._others: dict[int, list[Points]] = {}
        self._new: dict[int, list[IntArray]] = {}

    @property
    def over(self) -> bool:
        """Whether the time or the memory is used up."""
        return memory.lacked() or self.clock.over

    def may(self, label: int, low: IntArray, high: IntArray) -> bool:
        """Whether it is proved that every row of a region has the class ``label``; counterexamples are stored."""
        limited = np.flatnonzero((low > 0) | (high < self.top))
        if any(known.any_inside(low, high, limited) for known in self._known(label)) or self.over:
            return False
        self.asked += 1
        answer = self.oracle.ask_region(low, high, label, clock=self.clock.within(PATIENCE))
        if answer.changes is None:
            self.undecided += 1
        elif answer.witness is not None:
            self._learn(label, answer.witness)
        return answer.changes is False

    def _known(self, label: int) -> list[Points]:
        """Known rows of other classes: the few last ones, if any, and then all older ones."""
        if label not in self._others:
            self._others[label] = [Points(self.scores, self.points.cells[self.codes != label])]
            self._new[label] = []
        return self._others[label]

    def _learn(self, label: int, cells: IntArray) -> None:
        """Store a row. The last ones are tested first; when there are more than 64, they are merged with the others."""
        known, new = self._known(label), self._new[label]
        new.append(np.asarray(cells, dtype=np.int64))
        many = known[-1]
        if len(new) > 64:
            self._others[label] = [Points(self.scores, np.concatenate([many.cells, np.stack(new)]))]
            new.clear()
        else:
            self._others[label] = [Points(self.scores, np.stack(new)), many]

    # --------------------------------------------------------------------------------------------------------- growing

    def grown(self, seed: int, todo: IntArray, fixed: Sequence[int] | None = None) -> tuple[IntArray, IntArray] | None:
        """A region around a row; None if it is not even proved that all rows with its values have its class.

        Parameters
        ----------
        seed : index of the row
        todo : indices of rows that the region should include; those of other classes are ignored
        fixed : features that suffice for the class of the row; all by default
        """
        label = int(self.codes[seed])
        low, high = np.zeros_like(self.top), self.top.copy()
        columns = list(range(len(self.top)))
        if fixed is not None:
            columns = [column for feature in fixed for column in self.scores.features[feature]]
        low[columns], high[columns] = self.points.least[seed][columns], self.points.most[seed][columns]
        if not self.may(label, *self._region(low, high, seed)):
            return None
        todo = todo[self.codes[todo] == label]
        if todo.size > MOST_GROWERS:
            todo = todo[np.linspace(0, todo.size - 1, MOST_GROWERS).astype(np.int64)]
        low, high = self._region(*self._take_in(label, low, high, seed, todo), seed)
        return self._widened(label, low, high)

    def limited(self, low: IntArray, high: IntArray) -> int:
        """Number of ranges that a region limits."""
        narrow = (low > 0) | (high < self.top)
        return sum(bool(narrow[[*unit.columns, *([unit.flag] if unit.flag >= 0 else [])]].any()) for unit in self.units)

    def _take_in(
        self, label: int, low: IntArray, high: IntArray, seed: int, todo: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Extend a region by rows, the nearest first, as long as it is proved to have one class."""
        least, most = self.points.least[todo], self.points.most[todo]
        scale = 1.0 / np.maximum(self.top, 1)
        while len(least):
            below, above = np.clip(low - least, 0, self.top), np.clip(most - high, 0, self.top)
            distance = (below + above) @ scale
            order = np.argsort(distance, kind="stable")
            order = order[((below + above) > 0).any(axis=1)[order]]
            for done, at in enumerate(order.tolist()):
                if self.over:
                    return low, high
                wide_low, wide_high = np.minimum(low, least[at]), np.maximum(high, most[at])
                if self.may(label, *self._region(wide_low, wide_high, seed)):
                    low, high = wide_low, wide_high
                    order = order[done + 1 :]  # regions only grow: the earlier rows cannot be included later, either
                    break
            else:
                break
            least, most = least[order], most[order]
        return low, high

    def _region(self, low: IntArray, high: IntArray, seed: int) -> tuple[IntArray, IntArray]:
        """The region for a hull of rows; a range with only the missing value gets the cells of the row ``seed``."""
        none = low > high
        if not none.any():
            return low, high
        own = self.points.cells[seed]
        return np.where(none, own, low), np.where(none, own, high)

    def _widened(self, label: int, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Remove the limits of ranges if possible, the widest ranges first; then widen the other ranges."""
        widening = Widening(self.scores, low, high, lambda low, high: self.may(label, low, high))
        share = (high - low) / np.maximum(self.top, 1)
        order = sorted(self.units, key=lambda unit: -float(share[list(unit.columns)].mean()))
        for change in (widening.free, widening.widen_unit):
            for unit in order:
                if self.over:
                    return widening.low, widening.high
                change(unit)
        return widening.low, widening.high
