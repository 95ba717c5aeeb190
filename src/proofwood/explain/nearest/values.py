"""The cheapest values of some columns within intervals and under linear constraints, in rational numbers.

The least price is the exact optimum of a linear program. For sums of squares (``"l2"``) it is a lower bound from a
tangent: the sum of squares is convex, so it is nowhere below its tangent at a point that floats find, and the least
value of the tangent is a linear program.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
from scipy.optimize import nnls

from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.linear import LinearRow
from proofwood.explain.nearest.rational import Row, least

Number = Fraction
Box = list[tuple[Fraction | None, Fraction | None]]
"""Least and greatest value of each column; None if there is no limit."""
ZERO = Fraction(0)
TOLERANCE = Fraction(1, 10**10)
MOST_PARTS = 2000
"""Most boxes into which one box is split in the search for integers."""


@dataclass(frozen=True)
class TiedColumn:
    """A column that occurs in constraints.

    Parameters
    ----------
    own : value of the row, None if it is missing
    down, up : price per unit of decrease and of increase; both 0 if its changes are priced elsewhere
    whole : whether its values are integers
    """

    own: Fraction | None
    down: Fraction
    up: Fraction
    whole: bool


@dataclass(frozen=True)
class Values:
    """The cheapest values in a box.

    Parameters
    ----------
    bound : proved lower bound on the price of values in the box; for ``"l2"`` in squares
    point : values with this price, up to a tolerance; None if the search for integers was given up
    """

    bound: Fraction
    point: list[Fraction] | None


@dataclass(frozen=True)
class _Variable:
    """Variable of the linear program: how far a column moves in one direction from its anchor, see ``_anchors``."""

    column: int
    sign: int
    reach: Fraction | None
    rate: Fraction
    away: Fraction  # from the value of the row to the anchor


class Program:
    """Linear program with the prices and constraints of some columns.

    Parameters
    ----------
    columns : the columns
    rows : the constraints on their values; columns are numbered as in ``columns``
    metric : "l1", "l2" or "linf"
    clock : clock of the computation; Stopped is raised when it is over
    """

    def __init__(
        self, columns: Sequence[TiedColumn], rows: Sequence[LinearRow], metric: str, clock: Clock = ENDLESS
    ) -> None:
        self.columns, self.rows, self.metric, self.clock = list(columns), list(rows), metric, clock
        self.whole = [i for i, column in enumerate(columns) if column.whole]

    # ------------------------------------------------------------------------------------------------------- the bounds

    def relaxed(self, box: Box) -> Values | None:
        """The least price if integer columns may have any numbers; None if no values of the box meet the constraints.

        Raises
        ------
        Stopped
            If the time is over.
        """
        # If a column can move both ways at price 0, its two variables together would only increase the slack. So the
        # two directions are solved separately.
        anchors = self._anchors(box)
        for i, (low, high) in enumerate(box):
            one_way = anchors[i] in (low, high) or (self._rate(i, 1) and self._rate(i, -1))
            if not one_way and any(row.slack.get(i) for row in self.rows):
                halves = [(low, anchors[i]), (anchors[i], high)]
                both = [self.relaxed([*box[:i], half, *box[i + 1 :]]) for half in halves]
                return min((one for one in both if one is not None), key=lambda one: one.bound, default=None)
        return self._program(box, anchors)

    def _program(self, box: Box, anchors: list[Fraction]) -> Values | None:
        """:meth:`relaxed` for a box in which no column can move both ways at price 0."""
        variables = self._variables(box, anchors)
        paid = [self._paid(i, anchor) for i, anchor in enumerate(anchors)]
        if self.metric == "l2":
            return self._tangent(box, anchors, variables, paid)
        if self.metric == "linf":
            start = max(paid, default=ZERO)
            rows = [([*factors, ZERO], bound) for factors, bound in self._limits(variables, anchors, 1)]
            for k, one in enumerate(variables):
                if one.rate:
                    factors = [ZERO] * (len(variables) + 1)
                    factors[k], factors[-1] = one.rate, Fraction(-1)
                    rows.append((factors, start - one.rate * one.away))
            found = least([ZERO] * len(variables) + [Fraction(1)], rows, self.clock)
            return None if found is None else Values(start + found[0], self._moved(anchors, variables, found[1]))
        found = least([one.rate for one in variables], self._limits(variables, anchors, 1), self.clock)
        return None if found is None else Values(sum(paid, ZERO) + found[0], self._moved(anchors, variables, found[1]))

    def cheapest(self, box: Box, holds: Callable[[list[float]], bool] | None = None) -> Values | None:
        """The least price of values of the box, with integers in integer columns; None if no such values exist.

        Parameters
        ----------
        box : intervals of the values
        holds : whether values satisfy the constraints when computed in float64. If all columns are integers, points
            that do not, because of rounding, are excluded one by one

        Raises
        ------
        Stopped
            If the time is over.
        """
        number = count()
        first = self.relaxed(box)
        if first is None:
            return None
        waiting = [(first.bound, next(number), box, first)]
        best: Values | None = None
        closed: Fraction | None = None  # lower bound on the price of values in the finished boxes
        for _ in range(MOST_PARTS):
            if not waiting or (best is not None and waiting[0][0] >= best.bound * (1 - TOLERANCE)):
                break
            _, _, box, found = heapq.heappop(waiting)
            assert found.point is not None
            parted = next((i for i in self.whole if not self._is_whole(found.point[i])), None)
            if parted is None and holds is not None and len(self.whole) == len(self.columns):
                point = [Fraction(round(x)) for x in found.point]
                if not holds([float(x) for x in point]):  # exclude this point, and search the rest of the box
                    for part in _around(box, point):
                        inner = self.relaxed(part)
                        if inner is not None:
                            heapq.heappush(waiting, (max(inner.bound, found.bound), next(number), part, inner))
                    continue
            if parted is None:
                best = self._better(best, box, found.point)
                if self.metric != "l2" or (best is not None and best.bound <= found.bound * (1 + TOLERANCE)):
                    closed = found.bound if closed is None else min(closed, found.bound)
                    continue
                parted = next((i for i in self.whole if box[i][0] != box[i][1]), None)
                if parted is None:
                    closed = found.bound if closed is None else min(closed, found.bound)
                    continue
            for part in _parts(box, parted, found.point[parted]):
                inner = self.relaxed(part)
                if inner is not None:
                    heapq.heappush(waiting, (max(inner.bound, found.bound), next(number), part, inner))
        left = [bound for bound in (closed, waiting[0][0] if waiting else None) if bound is not None]
        return Values(min(left), None if best is None else best.point) if left else None

    def _better(self, best: Values | None, box: Box, point: Sequence[Fraction]) -> Values | None:
        """The cheaper of ``best`` and the cheapest values whose integer columns have the values of a point, rounded."""
        fixed: Box = list(box)
        for i in self.whole:
            fixed[i] = (Fraction(round(point[i])),) * 2
        found = self.relaxed(fixed)
        if found is None or found.point is None:
            return best
        made = Values(self.price(found.point), found.point)
        return made if best is None or made.bound < best.bound else best

    def price(self, point: Sequence[Fraction]) -> Fraction:
        """The price of values; for ``"l2"`` the sum of squares."""
        each = [self._paid(i, x) for i, x in enumerate(point)]
        if self.metric == "linf":
            return max(each, default=ZERO)
        return sum((one * one if self.metric == "l2" else one for one in each), ZERO)

    def _is_whole(self, x: Fraction) -> bool:
        return x.denominator == 1 or (self.metric == "l2" and abs(x - round(x)) < Fraction(1, 10**7))

    # ---------------------------------------------------------------------------------------------------- the programs

    def _rate(self, i: int, sign: int) -> Fraction:
        """Price of a column per unit in one direction."""
        column = self.columns[i]
        return column.up if sign > 0 else column.down

    def _anchors(self, box: Box) -> list[Fraction]:
        """For each column, the value in the box that is nearest to the row's value."""
        found = []
        for (low, high), column in zip(box, self.columns, strict=True):
            own = column.own
            if own is None:
                own = low if low is not None else high if high is not None else ZERO
            own = own if low is None else max(own, low)
            found.append(own if high is None else min(own, high))
        return found

    def _paid(self, i: int, x: Fraction) -> Fraction:
        """Price of a value of a column."""
        own = self.columns[i].own
        return ZERO if own is None else self._rate(i, 1 if x > own else -1) * abs(x - own)

    def _variables(self, box: Box, anchors: Sequence[Fraction]) -> list[_Variable]:
        found = []
        for i, ((low, high), anchor) in enumerate(zip(box, anchors, strict=True)):
            own = self.columns[i].own
            away = ZERO if own is None else abs(anchor - own)
            for sign, end in ((1, high), (-1, low)):
                if end is None or end != anchor:
                    rate = ZERO if own is None else self._rate(i, sign)
                    found.append(_Variable(i, sign, None if end is None else abs(end - anchor), rate, away))
        return found

    def _limits(self, variables: Sequence[_Variable], anchors: Sequence[Fraction], give: int) -> list[Row]:
        """The constraints and the limits of the box as rows over the variables.

        Parameters
        ----------
        give : multiple of the rounding slack by which constraints are relaxed; if negative, they are tightened, except
            for equations
        """
        made: list[Row] = []
        for row in self.rows:
            g = 0 if row.equation and give < 0 else give
            factors = [
                one.sign * row.factors.get(one.column, ZERO) - g * row.slack.get(one.column, ZERO) for one in variables
            ]
            bound = row.bound + g * row.slack_bound
            for j, factor in row.factors.items():
                bound -= factor * anchors[j] - g * row.slack.get(j, ZERO) * abs(anchors[j])
            made.append((factors, bound))
        for k, one in enumerate(variables):
            if one.reach is not None:
                factors = [ZERO] * len(variables)
                factors[k] = Fraction(1)
                made.append((factors, one.reach))
        return made

    @staticmethod
    def _moved(
        anchors: Sequence[Fraction], variables: Sequence[_Variable], moves: Sequence[Fraction]
    ) -> list[Fraction]:
        point = list(anchors)
        for one, move in zip(variables, moves, strict=False):
            point[one.column] += one.sign * move
        return point

    def _tangent(
        self, box: Box, anchors: list[Fraction], variables: list[_Variable], paid: Sequence[Fraction]
    ) -> Values | None:
        """A lower bound on the least sum of squares, from its tangent at a point that floats find."""
        rows = self._limits(variables, anchors, 1)
        moves = _least_squares(variables, rows)
        if moves is None:  # floats find no moves: search exactly
            found = least([ZERO] * len(variables), rows, self.clock)
            if found is None:
                return None
            moves = found[1]
        moved = {one.column for one in variables}
        base = sum((p * p for i, p in enumerate(paid) if i not in moved), ZERO)
        for one, move in zip(variables, moves, strict=True):
            base += one.rate**2 * (one.away**2 - move**2)
        cost = [2 * one.rate**2 * (one.away + move) for one, move in zip(variables, moves, strict=True)]
        found = least(cost, rows, self.clock)
        if found is None:
            return None
        point = self._moved(anchors, variables, moves)
        inside = all(_holds(factors, moves, bound) for factors, bound in rows)
        return Values(max(base + found[0], ZERO), point if inside else self._near(box, point, 1) or point)

    # ----------------------------------------------------------------------------------------------- numbers of float64

    def _near(self, box: Box, target: Sequence[Fraction], give: int) -> list[Fraction] | None:
        """Values of the box near ``target`` that satisfy the constraints, relaxed by ``give`` times their slack."""
        anchors = []
        for (low, high), x in zip(box, target, strict=True):
            x = x if low is None else max(x, low)
            anchors.append(x if high is None else min(x, high))
        variables = self._variables(box, anchors)
        cost = [self._rate(one.column, 1) + self._rate(one.column, -1) + Fraction(1, 2**30) for one in variables]
        found = least(cost, self._limits(variables, anchors, give), self.clock)
        return None if found is None else self._moved(anchors, variables, found[1])

    def in_floats(
        self, box: Box, point: Sequence[Fraction], holds: Callable[[list[float]], bool]
    ) -> list[float] | None:
        """Float64 numbers in the box, near a point, that satisfy the constraints when computed in float64.

        Parameters
        ----------
        box : intervals whose ends are float64 numbers
        point : a point of the box, with integers in integer columns
        holds : whether numbers satisfy the constraints when computed in float64

        Returns
        -------
        list of float or None
            None if none are found.
        """
        fixed: Box = list(box)
        for i in self.whole:
            fixed[i] = (Fraction(round(point[i])),) * 2
        as_it_is = _clipped(fixed, point)
        if holds(as_it_is):
            return as_it_is
        for give in (0, -2, -8, -64, -4096, -(2**18)):
            near = self._near(fixed, point, give)
            if near is None:
                continue
            for bits in (None, 44, 36, 28, 20, 10):
                found = _clipped(fixed, near) if bits is None else self._on_grid(fixed, near, bits, give)
                for tried in _neighbours(fixed, found):
                    if holds(tried):
                        return tried
        return None

    def _on_grid(self, box: Box, point: Sequence[Fraction], bits: int, give: int) -> list[float]:
        """Values of the box rounded to a number of bits, column after column, if the constraints permit this."""
        fixed, now = list(box), list(point)
        for i, (low, high) in enumerate(box):
            if low == high:
                continue
            scale = max(abs(x) for x in now) or Fraction(1)
            step = Fraction(2) ** (math.frexp(float(scale))[1] - bits)
            middle = round(now[i] / step) * step
            for x in (middle, middle - step, middle + step):
                if (low is not None and x < low) or (high is not None and x > high):
                    continue
                fixed[i] = (x, x)
                near = self._near(fixed, now, give)
                if near is not None:
                    now = near
                    break
            else:
                fixed[i] = (now[i], now[i])
        return _clipped(box, now)


def _parts(box: Box, i: int, x: Fraction) -> list[Box]:
    """Split a box at a number in an integer column: one part below it, one above, and one at it if it is an integer."""
    low, high = box[i]
    if x.denominator == 1:
        ends = [(low, x - 1), (x, x), (x + 1, high)]
    elif abs(x - round(x)) < Fraction(1, 10**7):
        middle = Fraction(round(x))
        ends = [(low, middle - 1), (middle, middle), (middle + 1, high)]
    else:
        ends = [(low, Fraction(math.floor(x))), (Fraction(math.ceil(x)), high)]
    return [[*box[:i], (a, b), *box[i + 1 :]] for a, b in ends if a is None or b is None or a <= b]


def _around(box: Box, point: Sequence[Fraction]) -> list[Box]:
    """Split a box of integers into parts that together contain all its points except one."""
    found, rest = [], list(box)
    for i, x in enumerate(point):
        low, high = rest[i]
        for ends in ((low, x - 1), (x + 1, high)):
            if ends[0] is None or ends[1] is None or ends[0] <= ends[1]:
                found.append([*rest[:i], ends, *rest[i + 1 :]])
        rest[i] = (x, x)
    return found


def _holds(factors: Sequence[Fraction], moves: Sequence[Fraction], bound: Fraction) -> bool:
    return sum((f * m for f, m in zip(factors, moves, strict=True)), ZERO) <= bound


def _least_squares(variables: Sequence[_Variable], rows: Sequence[Row]) -> list[Fraction] | None:
    """Moves with approximately the least sum of squares (Lawson and Hanson 1974, ch. 23); None if floats find none."""
    if not variables:
        return []
    rates = np.array([float(one.rate) for one in variables])
    rates = np.maximum(rates, max(float(rates.max()), 1e-300) * 1e-5)
    away = rates * np.array([float(one.away) for one in variables])
    # z = rate * (away + move): least |z| with G z >= h
    matrix = [[-float(f) for f in factors] for factors, _ in rows] + np.eye(len(variables)).tolist()
    bounds = np.array([-float(bound) for _, bound in rows] + [0.0] * len(variables))
    G = np.array(matrix) / rates
    h = bounds + G @ away
    size = np.maximum(np.abs(G).max(axis=1), 1e-300)
    G, h = G / size[:, np.newaxis], h / size
    unit = max(float(np.abs(h).max()), 1e-300)
    E = np.vstack([G.T, h / unit])
    f = np.zeros(len(variables) + 1)
    f[-1] = 1.0
    try:
        u, _ = nnls(E, f)
    except RuntimeError:
        return None
    r = E @ u - f
    if abs(r[-1]) < 1e-12:
        return None
    moves = (-r[:-1] / r[-1] * unit - away) / rates
    if not np.isfinite(moves).all():
        return None
    found = []
    for one, move in zip(variables, moves.tolist(), strict=True):
        exact = max(Fraction(move), ZERO)
        found.append(exact if one.reach is None else min(exact, one.reach))
    return found


def _clipped(box: Box, point: Sequence[Fraction]) -> list[float]:
    """The point as float64 numbers, limited to a box whose ends are float64 numbers."""
    found = []
    for (low, high), x in zip(box, point, strict=True):
        x = x if low is None else max(x, low)
        found.append(float(x if high is None else min(x, high)))
    return found


def _neighbours(box: Box, values: list[float]) -> list[list[float]]:
    """The values, and copies in which one value is moved by up to three float64 numbers."""
    tried = [values]
    for i, (low, high) in enumerate(box):
        if low == high:
            continue
        for direction in (-math.inf, math.inf):
            x = values[i]
            for _ in range(3):
                x = math.nextafter(x, direction)
                if (low is None or x >= low) and (high is None or x <= high):
                    tried.append([*values[:i], x, *values[i + 1 :]])
    return tried
