"""Pull the thresholds of a model back through steps: find where the results of the steps change sides.

The inverse of each step (:func:`proofwood.ensembles.steps.back`) gives a guess, as steps compute in the type of their
input, and releases differ. The steps are run on numbers around each guess, and bisection over the numbers of the
column's type finds the last one on the low side. For steps that are monotone as computed, there is only one change of
sides. For functions that are monotone only up to rounding, every number that may be on the wrong side is tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from proofwood.ensembles.readers.number_types import NumberType
from proofwood.ensembles.steps import ULPS, Step, back
from proofwood.model.node_table import BoolArray, FloatArray

MOST_ASKED = 2**16
"""Greatest number of values that are tried around one threshold; a threshold that needs more is refused."""

What = Literal["number", "from bin", "up to bin"]


@dataclass(frozen=True)
class Change:
    """A change of sides that has to be found: the last number of a column on the low side.

    Parameters
    ----------
    column : column of the table
    made : the column that the steps make of it
    what : which results are low. ``"number"``: results up to ``threshold``; ``"from bin"``: the results that an
        indicator of a bin has outside it, for numbers below the bin; ``"up to bin"``: the results that it has in the
        bin, for numbers up to its end
    threshold : threshold of the model; for an indicator, the mean of its two results
    steps : the steps of the number
    falls : whether results decrease as the number increases
    guess : a number near the change
    one_low : for an indicator, whether its result in the bin is at most ``threshold``
    """

    column: int
    made: int
    what: What
    threshold: float
    steps: tuple[Step, ...]
    falls: bool
    guess: float
    one_low: bool = False

    def low(self, results: FloatArray) -> BoolArray:
        """Whether each result is that of a number up to the change."""
        low = np.asarray(results <= self.threshold)
        if self.what != "number":
            low = low == (self.one_low == (self.what == "up to bin"))
        return np.asarray(low != self.falls)

    @property
    def inexact(self) -> bool:
        """Whether some step is monotone only up to a rounding error."""
        return any(step.ulps or step.what in ("ranks", "split") for step in self.steps)


Ask = Callable[[dict[int, FloatArray]], FloatArray]
"""Function from numbers (n,) of some columns to the result of the steps (n, n_columns of the model)."""


def found_changes(
    changes: Sequence[Change], types: Callable[[int], NumberType], limits: dict[int, tuple[float, float]], ask: Ask
) -> FloatArray:
    """For each change, the last number of its column that is low; -inf if no number is low, inf if all are.

    Parameters
    ----------
    changes : changes with finite guesses
    types : function that returns the number type of a column
    limits : by column, the least and the greatest number that its steps accept
    ask : function that runs the steps

    Raises
    ------
    TypeError
        If the steps are not monotone around a change.
    """
    search = _Search(changes, types, limits, ask)
    search.bracket()
    search.halve()
    found = search.found()
    for at, change in enumerate(changes):
        kind = types(change.column)
        if change.inexact and (kind.name != "float64" or search.moved[at]) and math.isfinite(found[at]):
            search.check_around(at, float(found[at]))
    return found


class _Search:
    """A search for all changes at once: each table that the steps are run on holds a number for each change."""

    def __init__(
        self,
        changes: Sequence[Change],
        types: Callable[[int], NumberType],
        limits: dict[int, tuple[float, float]],
        ask: Ask,
    ) -> None:
        self.changes, self.types, self.ask = changes, types, ask
        self.kinds = [types(change.column) for change in changes]
        of_column: dict[int, list[int]] = {}
        for at, change in enumerate(changes):
            of_column.setdefault(change.column, []).append(at)
        self.of_column = {column: np.array(mine) for column, mine in of_column.items()}
        self.row = np.zeros(len(changes), dtype=np.int64)
        for mine in self.of_column.values():
            self.row[mine] = np.arange(mine.size)
        self.made = np.array([change.made for change in changes])
        self.threshold = np.array([change.threshold for change in changes])
        self.as_below = np.array([change.low(np.array([change.threshold]))[0] for change in changes])
        ends = {}
        for column in of_column:
            kind = types(column)
            low, high = limits.get(column, (-math.inf, math.inf))
            least, greatest = kind.ends
            some = kind.floor(np.array([max(low, least), min(high, greatest)]))
            first, last = kind.places(some).tolist()
            ends[column] = first + (some[0] < max(low, least)), last
        self.first = np.array([ends[change.column][0] for change in changes], dtype=np.int64)
        self.last = np.array([ends[change.column][1] for change in changes], dtype=np.int64)
        self.start = np.zeros(len(changes), dtype=np.int64)
        guess = np.array([change.guess for change in changes])
        for column, mine in self.of_column.items():
            kind = types(column)
            places = kind.places(np.clip(kind.floor(guess[mine]), *kind.ends))
            self.start[mine] = np.clip(places, self.first[mine], self.last[mine])
        self.low, self.high = self.start.copy(), np.minimum(self.start + 1, self.last)
        self.moved = np.zeros(len(changes), dtype=bool)

    def sides(self, places: Any) -> BoolArray:
        """For each change, whether the number at its position in ``places`` is low."""
        matrix = self.ask({column: self.types(column).at(places[mine]) for column, mine in self.of_column.items()})
        below = matrix[self.row, self.made] <= self.threshold
        return np.asarray(below == self.as_below)

    def bracket(self) -> None:
        """Move ``low`` and ``high`` until the change is between them or one of them is at the end of the range."""
        step = np.int64(1)
        self.low_is, self.high_is = self.sides(self.low), self.sides(self.high)
        while True:
            down, up = ~self.low_is & (self.low > self.first), self.high_is & (self.high < self.last)
            if not (down.any() or up.any()):
                return
            self.moved |= down | up
            self.high = np.where(down, self.low, self.high)
            self.high_is = np.where(down, self.low_is, self.high_is)
            self.low = np.where(up & ~down, self.high, self.low)
            self.low_is = np.where(up & ~down, self.high_is, self.low_is)
            # float64, as differences of places can exceed int64
            room = self.low.astype(np.float64) - self.first, self.last - self.high.astype(np.float64)
            self.low = np.where(down, np.where(room[0] > 2 * step, self.low - step, self.first), self.low)
            self.high = np.where(up & ~down, np.where(room[1] > 2 * step, self.high + step, self.last), self.high)
            if down.any():
                self.low_is = np.where(down, self.sides(self.low), self.low_is)
            if (up & ~down).any():
                self.high_is = np.where(up & ~down, self.sides(self.high), self.high_is)
            step = np.int64(min(int(step) * 4, 2**60))

    def halve(self) -> None:
        """Halve the range between ``low`` and ``high`` until they are neighbours."""
        while True:
            open_ = self.low_is & ~self.high_is & (self.high - 1 > self.low)
            if not open_.any():
                return
            middle = np.where(open_, (self.low >> 1) + (self.high >> 1) + (self.low & self.high & 1), self.low)
            low = self.sides(middle)
            self.low = np.where(open_ & low, middle, self.low)
            self.high = np.where(open_ & ~low, middle, self.high)

    def found(self) -> FloatArray:
        """The last low number of each change; -inf or inf if all numbers are on one side."""
        values = np.zeros(len(self.changes))
        for column, mine in self.of_column.items():
            values[mine] = self.types(column).at(self.low[mine])
        values = np.where(self.low_is, values, -math.inf)
        return np.where(self.high_is, math.inf, values)

    def check_around(self, at: int, last: float) -> None:
        """Try all numbers around the change whose results depend on rounding; TypeError if one is on the wrong side."""
        change, kind = self.changes[at], self.kinds[at]
        first, final, here = int(self.first[at]), int(self.last[at]), int(self.low[at])
        window = _uncertain(change, kind, last)
        ends = kind.places(np.clip(kind.floor(np.array(window.ends)), *kind.ends)).tolist()
        low, high = max(min(ends[0], here) - 4, first), min(max(ends[1], here + 1) + 4, final)
        places = np.arange(low, high + 1) if high - low <= MOST_ASKED else window.places(change, kind)
        if places is None:
            raise TypeError(
                f"the pipeline has {_title(change)}, which in {kind.name} is so flat near a threshold of the model "
                f"({change.threshold!r}) that the numbers below it cannot be determined: give the rows as float64, or "
                "leave out the step"
            )
        near = [_near(kind, value, first, final) for value in [last, *_knots(change)]]
        places = np.unique(np.clip(np.concatenate([places, *near]), first, final))
        values = kind.at(places)
        results = self.ask({change.column: values})[:, change.made]
        if not np.array_equal(change.low(results), values <= last):
            raise TypeError(
                f"the pipeline has {_title(change)}, which as computed in {kind.name} is not monotone around {last!r}, "
                "where the model has a threshold: give the rows as float64, or leave out the step"
            )


@dataclass(frozen=True)
class _Window:
    """The range in which rounding in a step can move a result to the other side of a change.

    Parameters
    ----------
    ends : the ends of the range, as numbers of the column
    before : the steps before the first step that is not monotone as computed
    inside : the ends of the range, as inputs of this step
    """

    ends: tuple[float, float]
    before: tuple[Step, ...] = ()
    inside: tuple[float, float] = (0.0, 0.0)

    def places(self, change: Change, kind: NumberType) -> Any:
        """The positions of the numbers that the steps ``before`` turn into numbers in ``inside``; None if too many.

        The steps in ``before`` are monotone as computed, but may turn many numbers near 0 into the same result.
        """
        if not kind.is_float:
            return None
        first, last = kind.places(np.clip(kind.floor(np.array(self.inside)), *kind.ends)).tolist()
        if last - first > MOST_ASKED // 4:
            return None
        some = kind.at(np.arange(first - 4, last + 6))
        fine = np.concatenate([some[:-1] + share * np.diff(some) for share in (0.0, 0.25, 0.5, 0.75)])
        found, _ = back(self.before, fine, check=False)
        found = kind.floor(found[np.isfinite(found)])
        places = kind.places(found[np.isfinite(found)])
        return np.unique(np.concatenate([places, places + 1]))


def _uncertain(change: Change, kind: NumberType, last: float) -> _Window:
    """The range of numbers whose result may be on the wrong side of a change.

    An interval around the threshold is pulled back step by step. Each time it is widened by the error of the step in
    the column's type, times a safety factor.
    """
    inexact = [at for at, step in enumerate(change.steps) if step.ulps or step.what == "split"]
    if change.what != "number" or not inexact:
        return _Window((last, last))
    unit = float(np.finfo(kind.name).eps) if kind.is_float else 2.0**-10
    low = high = change.threshold
    inside = low, high
    for at in reversed(range(len(change.steps))):
        step = change.steps[at]
        scale = max(abs(low), abs(high), abs(step.by) if math.isfinite(step.by) else 0.0)
        ulps = 64 * ULPS if step.what == "split" else max(1.0, step.ulps_at(low), step.ulps_at(high))
        margin = 4 * ulps * unit * scale
        ends, _ = back((step,), np.array([low - margin, high + margin]), check=False)
        least, greatest = step.limits
        low, high = max(float(ends.min()), least), min(float(ends.max()), greatest)
        if at == inexact[0]:
            inside = low, high
    return _Window((low, high), change.steps[: inexact[0]], inside)


def _knots(change: Change) -> list[float]:
    """Break points of the first step if it is piecewise, otherwise an empty list."""
    first = change.steps[0] if change.steps else None
    if first is None or first.what not in ("ranks", "split"):
        return []
    return [0.0] if first.what == "split" else sorted(set(first.ends))


def _near(kind: NumberType, value: float, first: int, last: int) -> Any:
    place = int(kind.places(np.clip(kind.floor(np.array([value])), *kind.ends))[0])
    return np.arange(max(first, place - 4), min(last, place + 4) + 1)


def _title(change: Change) -> str:
    step = next(step for step in change.steps if step.ulps or step.what in ("ranks", "split"))
    return step.title
