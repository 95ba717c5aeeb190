"""The nearest row of another class that satisfies linear constraints: branch and bound over boxes of cells.

Two relaxations bound a box. The first ignores the constraints, except that they shorten the interval of each column: it
finds the nearest row of another class in the box. The second ignores the class: it finds the cheapest values that
satisfy the constraints, by a linear program in rational numbers. If each column of the constraints has a single cell in
the box, both together are exact, because the class then depends only on the other columns. Otherwise the box is split
between the two solutions.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Literal

import numpy as np

from proofwood.engines.run import Clock, Stopped
from proofwood.ensembles.linear import LinearRow
from proofwood.explain.nearest.measure import Measure
from proofwood.explain.nearest.search import TOLERANCE, Nearest
from proofwood.explain.nearest.values import Box, Program, TiedColumn, Values
from proofwood.model.node_table import FloatArray, IntArray

ROUNDS = 10
"""Most passes in which the constraints shorten the intervals of a box."""


@dataclass(frozen=True)
class Tied:
    """A column of the table that occurs in constraints.

    Parameters
    ----------
    input : index of the column
    grids : grid columns of its values
    low, high : least and greatest permitted value
    priced : whether prices depend on its values; otherwise they depend on its cells
    column : the column in the linear program, with its prices
    """

    input: int
    grids: tuple[int, ...]
    low: float
    high: float
    priced: bool
    column: TiedColumn


@dataclass(frozen=True)
class Task:
    """The input of the search.

    Parameters
    ----------
    measure : prices of changes, without constraints; squares for "l2"
    tied : columns that occur in constraints
    rows : the constraints, over the columns of ``tied``
    base : price of every row in addition to the prices of its cells; for "linf" a lower bound on its greatest price
    box : least and greatest cells of the rows to search
    find : function of prices, a box and cells near which to search (with price 0, unless "linf"); it returns the
        nearest row of another class
    made : function of cells and values of ``tied``; it returns a row of the table and its price, None if the row
        does not count
    holds : whether values of ``tied`` satisfy the constraints when computed in float64
    clock : clock of the search
    """

    measure: Measure
    tied: Sequence[Tied]
    rows: Sequence[LinearRow]
    base: float
    box: tuple[IntArray, IntArray]
    find: Callable[[list[FloatArray], tuple[IntArray, IntArray], IntArray], Nearest]
    made: Callable[[IntArray, Sequence[float]], tuple[FloatArray, float] | None]
    holds: Callable[[Sequence[float]], bool]
    clock: Clock


@dataclass(frozen=True)
class _Node:
    low: IntArray
    high: IntArray
    cells: IntArray | None = None  # of the nearest row without the constraints
    point: Sequence[Fraction] | None = None  # the cheapest values without the class


def satisfying(task: Task) -> Nearest:
    """The nearest row of another class that satisfies the constraints.

    Parameters
    ----------
    task : the input of the search
    """
    return _Search(task).run()


class _Search:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.program = Program([one.column for one in task.tied], task.rows, task.measure.metric, task.clock)
        self.best: tuple[FloatArray, IntArray] | None = None
        self.upper = math.inf
        self.doubtful = math.inf  # lower bound for boxes in which no float64 numbers were found, or not in time
        self.number = count()
        self.heap: list[tuple[float, int, _Node]] = []
        self.priced = {g for one in task.tied if one.priced for g in one.grids}
        self.all_grids = [g for one in task.tied for g in one.grids]

    # ------------------------------------------------------------------------------------------------------- the search

    def run(self) -> Nearest:
        """Process the boxes in the order of their bounds, the least first."""
        self._push(0.0, _Node(*self.task.box))
        lower = 0.0
        while self.heap:
            bound, _, node = heapq.heappop(self.heap)
            lower = max(lower, bound)
            if self._no_better(bound):
                break
            if self.task.clock.over:
                return self._answer(lower)
            try:
                if node.cells is None:
                    self._bounded(bound, node)
                else:
                    self._parted(bound, node)
            except Stopped:
                return self._answer(lower)
        else:
            lower = math.inf
        return self._answer(lower)

    def _answer(self, lower: float) -> Nearest:
        lower = min(lower, self.doubtful, self.upper)
        if self.best is None:
            return Nearest("none" if math.isinf(lower) else "unknown", None, math.inf, lower)
        status: Literal["optimal", "feasible"] = "optimal" if self._no_better(lower) else "feasible"
        row, cells = self.best
        return Nearest(status, cells, self.upper, lower, row)

    def _no_better(self, bound: float) -> bool:
        """Whether rows that cost at least ``bound`` cannot improve on the best row."""
        return bound >= self.upper - TOLERANCE * self.upper if math.isfinite(self.upper) else math.isinf(bound)

    def _push(self, bound: float, node: _Node) -> None:
        heapq.heappush(self.heap, (bound, next(self.number), node))

    def _bounded(self, bound: float, node: _Node) -> None:
        """Bound a box; put it back into the queue with the solutions of its relaxations, or drop it."""
        tight = self._tightened(node)
        if tight is None:
            return
        node, values = tight
        box = _box(values)
        single = all(node.low[g] == node.high[g] for g in self.all_grids)
        cheapest = self.program.cheapest(box, self.task.holds) if single else self.program.relaxed(box)
        if cheapest is None:
            return
        paid = _below(cheapest.bound)
        found, rest = self._nearest(node, values, of_values=paid if single else None)
        if found.status == "none":
            return
        if not self.task.measure.is_sum:
            bound = max(bound, rest, found.lower_bound, paid)
        else:
            bound = max(bound, rest + found.lower_bound, self.task.base + paid)
        if found.cells is None:  # the time is over
            self.doubtful = min(self.doubtful, bound)
            return
        if self._no_better(bound):
            return
        if single:
            self._offer(found.cells, box, cheapest)
            if not self._no_better(bound):  # no row of that price was made
                self.doubtful = min(self.doubtful, bound)
            return
        self._push(bound, replace(node, cells=found.cells, point=cheapest.point))

    def _parted(self, bound: float, node: _Node) -> None:
        """Try the cells of the nearest row, and split the box if other cells may contain a better row."""
        cells = node.cells
        assert cells is not None
        low, high = node.low.copy(), node.high.copy()
        low[self.all_grids] = high[self.all_grids] = cells[self.all_grids]
        tight = self._tightened(_Node(low, high))
        if tight is not None:
            box = _box(tight[1])
            inside = self.program.cheapest(box, self.task.holds)
            if inside is not None:
                self._offer(cells, box, inside)
        if self._no_better(bound):
            return
        g, cut = self._cut(node)
        below, above = node.high.copy(), node.low.copy()
        below[g], above[g] = cut, cut + 1
        self._push(bound, _Node(node.low, below))
        self._push(bound, _Node(above, node.high))

    def _cut(self, node: _Node) -> tuple[int, int]:
        """A column and the cell after which to split it: where nearest row and cheapest values are farthest apart."""
        assert node.cells is not None
        best, chosen = -1, (-1, -1)
        for i, one in enumerate(self.task.tied):
            for g in one.grids:
                if node.low[g] == node.high[g]:
                    continue
                mine = int(node.cells[g])
                other = mine if node.point is None else self._cell(g, float(node.point[i]))
                other = min(max(other, int(node.low[g])), int(node.high[g]))
                apart = abs(other - mine)
                if apart > best:
                    up = other > mine or (other == mine and mine == node.low[g])
                    best, chosen = apart, (g, mine if up else mine - 1)
        if best < 0:
            raise AssertionError("a box with a single cell in each column cannot be split")
        return chosen

    def _offer(self, cells: IntArray, box: Box, values: Values) -> bool:
        """Whether a row with these cells, and values near ``values``, exists; it is stored if it is the best one."""
        if values.point is None:
            return False
        point = self.program.in_floats(box, values.point, self.task.holds)
        made = None if point is None else self.task.made(cells, point)
        if made is None:
            return False
        row, total = made
        if total < self.upper:
            self.best, self.upper = (row, cells), total
        return True

    # ------------------------------------------------------------------------------------------------------ relaxations

    def _nearest(
        self, node: _Node, values: Sequence[tuple[float, float]], of_values: float | None
    ) -> tuple[Nearest, float]:
        """The nearest row of a box, which may violate the constraints, and a price to add to the price of this row.

        Parameters
        ----------
        values : interval of each column of ``tied``
        of_values : price of the values of these columns, if it is known; their cells then have the price 0
        """
        prices, near, rest = list(self.task.measure.prices), self.task.measure.cells.copy(), self.task.base
        for one, (low, high) in zip(self.task.tied, values, strict=True):
            for g in one.grids:
                price = prices[g]
                if one.priced:
                    price = np.zeros(price.size) if of_values is not None else self._clipped(one, g, low, high)
                at = price[node.low[g] : node.high[g] + 1]
                own = int(np.clip(near[g], node.low[g], node.high[g]))
                near[g] = own if price[own] == at.min() else node.low[g] + int(at.argmin())
                prices[g] = price
        near = np.clip(near, node.low, node.high)
        never = Nearest("none", None, math.inf, math.inf)
        if any(math.isinf(prices[g][cell]) for g, cell in enumerate(near.tolist())):
            return never, rest
        if self.task.measure.is_sum:
            for g, cell in enumerate(near.tolist()):
                if prices[g][cell]:  # every row of the box pays this; cells nearer to the row are outside
                    rest += float(prices[g][cell])
                    prices[g] = np.maximum(0.0, prices[g] - prices[g][cell])
        beside = of_values or 0.0
        total = rest + beside if self.task.measure.is_sum else max(rest, beside)
        if math.isfinite(self.upper) and self.task.measure.is_sum:
            most = self.upper - total
            if most < 0:
                return never, total
            prices = [np.where(price > most * (1 + TOLERANCE), np.inf, price) for price in prices]
        return self.task.find(prices, (node.low, node.high), near), total

    def _clipped(self, one: Tied, g: int, low: float, high: float) -> FloatArray:
        """Prices of the cells of a column if its values are limited to an interval."""
        stated = self.task.measure.prices[g]
        column = one.column
        if column.own is None or not stated.any() or self.task.measure.model.grid.columns[g].role != "value":
            return stated
        least, greatest = self.task.measure.model.grid.ends(g)
        own = float(column.own)
        nearest = np.clip(own, np.maximum(least, low), np.minimum(greatest, high))
        paid = np.where(nearest > own, float(column.up), float(column.down)) * np.abs(nearest - own)
        paid = paid * paid if self.task.measure.metric == "l2" else paid
        # outside of the interval no cell is used, but prices must not decrease there
        price = np.maximum(stated, np.where(np.isnan(paid), 0.0, paid))
        first, last = self._cell(g, low), self._cell(g, high)
        center = int(np.clip(self._cell(g, own), first, last))
        price[center:] = np.maximum.accumulate(price[center:])
        price[: center + 1] = np.maximum.accumulate(price[: center + 1][::-1])[::-1]
        return price

    def _cell(self, g: int, value: float) -> int:
        return int(np.searchsorted(self.task.measure.model.grid.columns[g].thresholds, value, side="left"))

    # -------------------------------------------------------------------------------------------------------- intervals

    def _tightened(self, node: _Node) -> tuple[_Node, list[tuple[float, float]]] | None:
        """The box and the intervals of its columns, shortened by the constraints; None if the box becomes empty."""
        low, high = node.low.copy(), node.high.copy()
        values = [self._interval(one, low, high) for one in self.task.tied]
        for _ in range(ROUNDS):
            before = list(values)
            for row in self.task.rows:
                if not self._propagate(row, values):
                    return None
            if any(a > b for a, b in values):
                return None
            if values == before:
                break
        for one, (a, b) in zip(self.task.tied, values, strict=True):
            for g in one.grids:
                low[g], high[g] = max(low[g], self._cell(g, a)), min(high[g], self._cell(g, b))
                if low[g] > high[g]:
                    return None
        return _Node(low, high), values

    def _interval(self, one: Tied, low: IntArray, high: IntArray) -> tuple[float, float]:
        """Least and greatest value of a column in a box."""
        least, greatest = one.low, one.high
        for g in one.grids:
            a, is_open, b, _ = self.task.measure.model.interval(g, int(low[g]), int(high[g]))
            if math.isfinite(a):
                least = max(least, math.nextafter(a, math.inf) if is_open else a)
            greatest = min(greatest, b)
        return least, greatest

    def _propagate(self, row: LinearRow, values: list[tuple[float, float]]) -> bool:
        """Shorten the intervals by one constraint; return whether all of them are still non-empty."""
        factors = list(row.factors.items())
        leasts = [_least_term(factor, row.slack.get(i, Fraction(0)), *values[i]) for i, factor in factors]
        open_ones = [i for (i, _), one in zip(factors, leasts, strict=True) if one is None]
        known = sum((one for one in leasts if one is not None), Fraction(0))
        bound = row.bound + row.slack_bound
        if not open_ones and known > bound:
            return False
        for (i, factor), least in zip(factors, leasts, strict=True):
            if not factor or open_ones not in ([], [i]):
                continue
            rest = bound - known + (least or 0)
            slack = row.slack.get(i, Fraction(0))
            steep = abs(factor) - slack if rest >= 0 else abs(factor) + slack
            end = rest / steep  # of the column, or of its negative
            low, high = values[i]
            whole = self.task.tied[i].column.whole
            if factor > 0:
                values[i] = low, min(high, _above(end, whole))
            else:
                values[i] = max(low, -_above(end, whole)), high
        return all(a <= b for a, b in values)


def _least_term(factor: Fraction, slack: Fraction, low: float, high: float) -> Fraction | None:
    """Lower bound on a term of a constraint, including rounding slack; None if the term is not bounded below."""
    if (factor > 0 and math.isinf(low)) or (factor < 0 and math.isinf(high)):
        return None
    if factor == 0 and slack and (math.isinf(low) or math.isinf(high)):
        return None
    ends = [Fraction(end) for end in (low, high) if math.isfinite(end)]
    return min((factor * end - slack * abs(end) for end in ends), default=Fraction(0))


def _above(end: Fraction, whole: bool) -> float:
    """Upper limit of a column as float64: the greatest integer up to ``end``, or a float64 not below ``end``."""
    if whole:
        end = Fraction(math.floor(end))
    try:
        found = float(end)
    except OverflowError:
        return math.inf if end > 0 else -math.inf
    return found if found >= end else math.nextafter(found, math.inf)


def _below(number: Fraction) -> float:
    """The greatest float64 that does not exceed a number."""
    found = float(number)
    return found if found <= number else math.nextafter(found, -math.inf)


def _box(values: Sequence[tuple[float, float]]) -> Box:
    return [tuple(Fraction(end) if math.isfinite(end) else None for end in ends) for ends in values]  # type: ignore[misc]
