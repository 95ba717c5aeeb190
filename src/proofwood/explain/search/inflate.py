"""Sufficient features with ranges: each kept value widened as far as the class allows [1]_.

A column keeps an interval of cells, a group of 0/1 columns a set of values. Features are widened one after another,
each as far as possible given those before it, so the result is maximal: no range can grow by a single cell or value.

.. [1] Izza, Ignatiev, Stuckey, Marques-Silva (2024), Delivering Inflated Explanations, AAAI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.search.boxes import group_values
from proofwood.model.node_table import IntArray


@dataclass(frozen=True, eq=False)
class Inflated:
    """A box of cells in which every row of the space has the class.

    Parameters
    ----------
    low, high : (n_columns,) least and greatest cell of each column
    complete : whether the box is proved to be maximal
    calls : questions to the oracle
    """

    low: IntArray
    high: IntArray
    complete: bool
    calls: int


def inflate(
    oracle: Oracle,
    cells: IntArray,
    label: int,
    features: Collection[int],
    *,
    order: Sequence[int] | None = None,
    targets: Sequence[int] | None = None,
    seconds: float | None = None,
    witnesses: Collection[IntArray] = (),
) -> Inflated:
    """Widen the values of a sufficient set.

    Parameters
    ----------
    oracle : Oracle
    cells : (n_columns,) cells of the row
    label : its class
    features : a set that suffices; nothing is proved anew about the set itself
    order : features to be widened first in front; ascending by default
    targets : other classes that matter; all by default
    seconds : limit; the box is then sound and perhaps not maximal
    witnesses : cells of rows of other classes: boxes that contain one need no question
    """
    widening = _Widening(oracle, cells, label, features, targets, seconds, witnesses)
    kept = set(features)
    for feature in dict.fromkeys([*(order or ()), *sorted(kept)]):
        if feature in kept:
            widening.widen(feature)
    return Inflated(widening.low, widening.high, widening.complete, widening.calls)


class _Widening:
    """The box so far."""

    def __init__(
        self,
        oracle: Oracle,
        cells: IntArray,
        label: int,
        features: Collection[int],
        targets: Sequence[int] | None,
        seconds: float | None,
        witnesses: Collection[IntArray],
    ) -> None:
        self.oracle, self.scores = oracle, oracle.scores
        self.label, self.targets = label, targets
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.low = np.zeros(self.scores.n_columns, dtype=np.int64)
        self.high = np.array(self.scores.n_thresholds, dtype=np.int64)
        for feature in features:
            columns = list(self.scores.features[feature])
            self.low[columns] = self.high[columns] = np.asarray(cells)[columns]
        self.against = [np.asarray(witness) for witness in witnesses]
        self.complete, self.calls = True, 0

    def widen(self, feature: int) -> None:
        """Widen one feature as far as possible."""
        values = group_values(self.scores, feature)
        if values is not None:
            columns = list(self.scores.features[feature])
            for value in values:
                low, high = self.low.copy(), self.high.copy()
                low[columns] = np.minimum(low[columns], value)
                high[columns] = np.maximum(high[columns], value)
                self._take(low, high)
            return
        for column in self.scores.features[feature]:
            last = int(self.scores.n_thresholds[column])
            self._gallop(int(self.high[column]), last, lambda cell, c=column: self._with(c, None, cell))  # type: ignore[misc]
            own = int(self.low[column])
            self._gallop(0, own, lambda steps, c=column, o=own: self._with(c, o - steps, None))  # type: ignore[misc]

    def _gallop(self, start: int, last: int, take: Callable[[int], bool]) -> None:
        """Go from ``start`` as far towards ``last`` as ``take`` says yes; it says yes up to some point."""
        good, bad, step = start, last + 1, 1
        if start < last and take(last):
            return
        bad = min(bad, last)
        while good + 1 < bad:
            middle = min(good + step, (good + bad) // 2)
            if take(middle):
                good, step = middle, 2 * step
            else:
                bad = middle

    def _with(self, column: int, low_cell: int | None, high_cell: int | None) -> bool:
        low, high = self.low.copy(), self.high.copy()
        if low_cell is not None:
            low[column] = low_cell
        if high_cell is not None:
            high[column] = high_cell
        return self._take(low, high)

    def _take(self, low: IntArray, high: IntArray) -> bool:
        """Make this the box if the class cannot change in it."""
        if np.array_equal(low, self.low) and np.array_equal(high, self.high):
            return True
        if any((low <= row).all() and (row <= high).all() for row in self.against):
            return False
        left = None if self.deadline is None else self.deadline - time.monotonic()
        if left is not None and left <= 0:
            self.complete = False
            return False
        self.calls += 1
        answer = self.oracle.ask_box(low, high, self.label, targets=self.targets, seconds=left)
        if answer.changes is None:
            self.complete = False
            return False
        if answer.changes:
            assert answer.witness is not None
            self.against.append(answer.witness)
            return False
        self.low, self.high = low, high
        return True
