"""Thresholds of a model behind steps, as thresholds of the table: where the steps themselves change sides.

The way back by the inverse of each step (:func:`proofwood.ensembles.steps.back`) is a guess here, as steps compute
in the type of what they are given, and releases differ in how. The steps are asked around each guess, and the last
number of the column's own type is found by bisection over the numbers of that type. That there is only one change of
sides is known of steps whose arithmetic is monotone as computed; of functions, which are so up to an error in the last
places, all numbers are asked whose results might be on the wrong side.
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
"""Numbers around one threshold that are asked, before it is refused."""

What = Literal["number", "from bin", "up to bin"]


@dataclass(frozen=True)
class Change:
    """A change of sides to be found.

    Parameters
    ----------
    column : of the table
    made : column that the steps make of it
    what : what is low: ``"number"``: results up to ``threshold``; ``"from bin"``: results on the side of 0 of an
        indicator of a bin, of numbers below the bin; ``"up to bin"``: those on the side of 1, of numbers up to its end
    threshold : of the model; of an indicator half way between its two results
    steps : on the way, of the number
    one_low : of an indicator whether 1 is on the low side of ``threshold``
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
        """Whether results are on the side of numbers up to the change."""
        low = np.asarray(results <= self.threshold)
        if self.what != "number":
            low = low == (self.one_low == (self.what == "up to bin"))
        return np.asarray(low != self.falls)

    @property
    def inexact(self) -> bool:
        """Whether a step is monotone only up to an error."""
        return any(step.ulps or step.what in ("ranks", "split") for step in self.steps)


Ask = Callable[[dict[int, FloatArray]], FloatArray]
"""From numbers (n,) of some columns to the matrix (n, n_columns of the model) that the steps make of them."""


def found_changes(
    changes: Sequence[Change], types: Callable[[int], NumberType], limits: dict[int, tuple[float, float]], ask: Ask
) -> FloatArray:
    """For each change the last number of its column that is low; -inf if none is, inf if all are.

    Parameters
    ----------
    changes : with finite guesses
    types : the type of numbers of a column
    limits : least and greatest number of a column that its steps take
    ask : the steps

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
    """All changes at once: each table that is asked holds a number for each of them."""

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
        """Whether the numbers at places, one for each change, are low."""
        matrix = self.ask({column: self.types(column).at(places[mine]) for column, mine in self.of_column.items()})
        below = matrix[self.row, self.made] <= self.threshold
        return np.asarray(below == self.as_below)

    def bracket(self) -> None:
        """Numbers around the change: ``low`` is low or the first one, ``high`` is not or the last one."""
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
            # differences of places can be beyond int64, hence of float64
            room = self.low.astype(np.float64) - self.first, self.last - self.high.astype(np.float64)
            self.low = np.where(down, np.where(room[0] > 2 * step, self.low - step, self.first), self.low)
            self.high = np.where(up & ~down, np.where(room[1] > 2 * step, self.high + step, self.last), self.high)
            if down.any():
                self.low_is = np.where(down, self.sides(self.low), self.low_is)
            if (up & ~down).any():
                self.high_is = np.where(up & ~down, self.sides(self.high), self.high_is)
            step = np.int64(min(int(step) * 4, 2**60))

    def halve(self) -> None:
        """Bring the two together."""
        while True:
            open_ = self.low_is & ~self.high_is & (self.high - 1 > self.low)
            if not open_.any():
                return
            middle = np.where(open_, (self.low >> 1) + (self.high >> 1) + (self.low & self.high & 1), self.low)
            low = self.sides(middle)
            self.low = np.where(open_ & low, middle, self.low)
            self.high = np.where(open_ & ~low, middle, self.high)

    def found(self) -> FloatArray:
        """The last low number of each change."""
        values = np.zeros(len(self.changes))
        for column, mine in self.of_column.items():
            values[mine] = self.types(column).at(self.low[mine])
        values = np.where(self.low_is, values, -math.inf)
        return np.where(self.high_is, math.inf, values)

    def check_around(self, at: int, last: float) -> None:
        """All numbers whose results might be on the wrong side of the change."""
        change, kind = self.changes[at], self.kinds[at]
        first, final, here = int(self.first[at]), int(self.last[at]), int(self.low[at])
        window = _uncertain(change, kind, last)
        ends = kind.places(np.clip(kind.floor(np.array(window.ends)), *kind.ends)).tolist()
        low, high = max(min(ends[0], here) - 4, first), min(max(ends[1], here + 1) + 4, final)
        places = np.arange(low, high + 1) if high - low <= MOST_ASKED else window.places(change, kind)
        if places is None:
            raise TypeError(
                f"the pipeline has {_title(change)}, which is too flat in {kind.name} where the model has a threshold "
                f"({change.threshold!r}) to say which numbers are below it: give the rows as float64, or leave out "
                "the step"
            )
        near = [_near(kind, value, first, final) for value in [last, *_knots(change)]]
        places = np.unique(np.clip(np.concatenate([places, *near]), first, final))
        values = kind.at(places)
        results = self.ask({change.column: values})[:, change.made]
        if not np.array_equal(change.low(results), values <= last):
            raise TypeError(
                f"the pipeline has {_title(change)}, which is not monotone around {last!r} as it is computed in "
                f"{kind.name}, where the model has a threshold: give the rows as float64, or leave out the step"
            )


@dataclass(frozen=True)
class _Window:
    """Where the rounding of a step can bring a result to the other side of a change.

    Parameters
    ----------
    ends : of the numbers of the column
    before : steps before the first that is not monotone as computed
    inside : ends of the numbers that this one gets
    """

    ends: tuple[float, float]
    before: tuple[Step, ...] = ()
    inside: tuple[float, float] = (0.0, 0.0)

    def places(self, change: Change, kind: NumberType) -> Any:
        """Numbers of the column that the steps before turn into all numbers of a type inside; None if too many.

        These steps are monotone as computed. Near to 0 there are many numbers of a column that they do not distinguish.
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
    """Where a result may be on the wrong side.

    Going back step by step, an interval around the threshold is widened by what a step in the type of the column may be
    off, with a factor of safety.
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
