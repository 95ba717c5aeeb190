"""Sufficient features with ranges: the value of each feature is widened as far as the class stays the same [1]_.

A column of the table gets an interval of numbers, with or without a missing value; a group of 0/1 columns gets a set of
values. Features are widened one after another, each as far as possible given those before it. So the result is
maximal: no range can be extended by one more value.

.. [1] Izza, Ignatiev, Stuckey, Marques-Silva (2024), Delivering Inflated Explanations, AAAI.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from proofwood.ensembles.regions import Unit, in_region, units
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import IntArray


@dataclass(frozen=True, eq=False)
class Inflated:
    """A region of cells in which every possible row has the class; see :mod:`proofwood.ensembles.regions`.

    Parameters
    ----------
    low, high : (n_columns,) least and greatest cell of each column
    complete : whether the region is known to be maximal; a row that might have another class by rounding prevents a
        wider range
    against : cells of rows of other classes. If the region is maximal, each region with a wider range contains one
    """

    low: IntArray
    high: IntArray
    complete: bool
    against: Sequence[IntArray] = field(default=(), repr=False)


def inflate(
    q: Questions,
    features: Collection[int],
    *,
    order: Sequence[int] | None = None,
    witnesses: Collection[IntArray] = (),
) -> Inflated:
    """Widen the values of a sufficient set of features.

    Parameters
    ----------
    q : questions about the row. If their time runs out, the region is correct but perhaps not maximal
    features : a set that suffices; this is not proved again
    order : features in the order in which to widen them; ascending by default
    witnesses : cells of known rows of other classes; regions that contain one are rejected without a question
    """
    against, complete = list(witnesses), True

    def may(low: IntArray, high: IntArray) -> bool:
        """Whether it is proved that the class cannot change in a region."""
        nonlocal complete
        if any(in_region(q.scores, row, low, high) for row in against):
            return False
        answer = q.ask_region(low, high)
        complete &= answer.changes is not None
        if answer.witness is not None:
            against.append(answer.witness)
        return answer.changes is False

    widening = Widening(q.scores, *q.scores.box(q.cells, features), may)
    kept = set(features)
    for feature in dict.fromkeys([*(order or ()), *sorted(kept)]):
        if feature in kept:
            widening.widen(feature)
    return Inflated(widening.low, widening.high, complete, against)


class Widening:
    """A region that is widened as far as a condition permits.

    Parameters
    ----------
    scores : ScoreModel
    low, high : (n_columns,) the first region; see :mod:`proofwood.ensembles.regions`
    may : whether a region is permitted. It must be monotone: every part of a permitted region is permitted

    Attributes
    ----------
    low, high : the current region
    """

    def __init__(
        self, scores: ScoreModel, low: IntArray, high: IntArray, may: Callable[[IntArray, IntArray], bool]
    ) -> None:
        self.scores, self.low, self.high = scores, low, high
        self._may = may

    def widen(self, feature: int) -> None:
        """Widen one feature as far as possible."""
        for unit in units(self.scores, feature):
            self.widen_unit(unit)

    def widen_unit(self, unit: Unit) -> None:
        """Widen one range as far as possible."""
        if not unit.numbers:
            for value in unit.values:
                self._take(*unit.with_value(self.low, self.high, value))
            return
        if not unit.inside(self.low, self.high).any():
            self._anchor(unit, 0, len(unit.values) - 1)
        inside = np.flatnonzero(unit.inside(self.low, self.high)).tolist()
        if inside:
            first = inside[0]
            self._gallop(inside[-1], len(unit.values) - 1, lambda at: self._with(unit, at))
            self._gallop(0, first, lambda steps: self._with(unit, first - steps))
        if unit.flag >= 0:
            self._take(*unit.with_value(self.low, self.high, None))

    def free(self, unit: Unit) -> bool:
        """Remove the limits of a range altogether, if this is permitted; return whether it is."""
        low, high = self.low.copy(), self.high.copy()
        columns = [*unit.columns, *([unit.flag] if unit.flag >= 0 else [])]
        low[columns], high[columns] = 0, self.scores.n_thresholds[columns]
        return self._take(low, high)

    def _anchor(self, unit: Unit, first: int, last: int) -> bool:
        """Extend a range with only a missing value by the numbers from ``first`` to ``last``, or by some of them.

        Returns whether any were added.
        """
        low, high = unit.with_value(self.low, self.high, unit.values[first])
        if self._take(*unit.with_value(low, high, unit.values[last])):
            return True
        middle = (first + last) // 2
        return first < last and (self._anchor(unit, first, middle) or self._anchor(unit, middle + 1, last))

    def _gallop(self, start: int, last: int, take: Callable[[int], bool]) -> None:
        """Call ``take`` at places from ``start`` to ``last`` so that it ends at the last one for which it is true."""
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

    def _with(self, unit: Unit, at: int) -> bool:
        return self._take(*unit.with_value(self.low, self.high, unit.values[at]))

    def _take(self, low: IntArray, high: IntArray) -> bool:
        """Make the given region the current one if it is permitted; return whether it is."""
        if np.array_equal(low, self.low) and np.array_equal(high, self.high):
            return True
        if not self._may(low, high):
            return False
        self.low, self.high = low, high
        return True
