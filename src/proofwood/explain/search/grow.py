"""Regions that grow from row to row of a table, for as long as the model gives every row inside them one class.

An explanation whose ranges are widened cell by cell (:mod:`proofwood.explain.search.inflate`) takes in what comes
first, and mostly empty space. Here a region takes in rows of the table, the nearest first: it becomes the smallest
region that holds one row more. Then ranges are let go altogether where they can be, and the ends of the others are
moved as far as the class allows.
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
"""Seconds after which a question counts as answered with no: the region stays as it was."""
MOST_GROWERS = 2000
"""Rows that one region tries to take in; of more, these are spread evenly."""
_BEYOND = np.iinfo(np.int32).max


class Points:
    """Rows in cells, as regions see them: of a missing value the cells of the numbers say nothing.

    Parameters
    ----------
    scores : ScoreModel
    cells : (n, n_columns)

    Attributes
    ----------
    least, most : (n, n_columns) cells; a row is in a region if none is below its least or above its greatest one
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
        """(n,) which rows are in a region."""
        return np.asarray(((self.least >= low) & (self.most <= high)).all(axis=1))

    def any_inside(self, low: IntArray, high: IntArray, limited: IntArray) -> bool:
        """Whether a row is in a region that limits some columns only."""
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
    """Makes regions of one class.

    Parameters
    ----------
    oracle : an engine
    points : rows of the table, no two alike
    codes : (n,) class of each
    clock : of all of them

    Attributes
    ----------
    asked, undecided : questions to the engine, and those without an answer in :data:`PATIENCE`
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
        """Whether every row of a region is proved to have a class; rows of others that come up are kept."""
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
        """Rows of other classes: many that were looked at together, and the last ones."""
        if label not in self._others:
            self._others[label] = [Points(self.scores, self.points.cells[self.codes != label])]
            self._new[label] = []
        return self._others[label]

    def _learn(self, label: int, cells: IntArray) -> None:
        """Keep a row. The last ones are few and come first, and join the many from time to time."""
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
        """A region around a row; None if not even the row's own cells are proved to have its class.

        Parameters
        ----------
        seed : index of the row
        todo : indices of rows that it should take in, those of other classes aside
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
        """How many ranges a region limits."""
        narrow = (low > 0) | (high < self.top)
        return sum(bool(narrow[[*unit.columns, *([unit.flag] if unit.flag >= 0 else [])]].any()) for unit in self.units)

    def _take_in(
        self, label: int, low: IntArray, high: IntArray, seed: int, todo: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Take in rows, the nearest first, for as long as the class stays."""
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
                    order = order[done + 1 :]  # regions only grow: those before are out of reach for good
                    break
            else:
                break
            least, most = least[order], most[order]
        return low, high

    def _region(self, low: IntArray, high: IntArray, seed: int) -> tuple[IntArray, IntArray]:
        """The region of a hull. Where a range has the missing value only, the cells of numbers are those of the row."""
        none = low > high
        if not none.any():
            return low, high
        own = self.points.cells[seed]
        return np.where(none, own, low), np.where(none, own, high)

    def _widened(self, label: int, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Ranges let go, those that leave out least first; the others as wide as can be."""
        widening = Widening(self.scores, low, high, lambda low, high: self.may(label, low, high))
        share = (high - low) / np.maximum(self.top, 1)
        order = sorted(self.units, key=lambda unit: -float(share[list(unit.columns)].mean()))
        for change in (widening.free, widening.widen_unit):
            for unit in order:
                if self.over:
                    return widening.low, widening.high
                change(unit)
        return widening.low, widening.high
