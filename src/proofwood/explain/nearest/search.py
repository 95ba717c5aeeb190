"""The nearest row of another class: the search for counterfactuals, radii and smallest changes.

The cost of a row is the sum, or the greatest, of the prices of its cells. Sums are minimised by branch and bound with
messages in C++ (:func:`cheapest`; ``native/votes/price_search.cpp``, whose lower bounds are those of ``messages.cpp``
beside it). There, prices are integers: scaled by a power of two and rounded down, so that a proved lower bound also
holds for the true prices. The greatest price is minimised by bisection (:func:`dearest`): the cells that cost no more
than a given price form a box around the row, and one question decides whether some row in it has another class. In C++
prices are then ranks, and the rows found are moved back towards the explained row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from proofwood import _native
from proofwood.explain.nearest.measure import Measure
from proofwood.explain.oracles.searches import (
    NEVER,
    PRICE_OPTIONS,
    PriceOptions,
    SearchOracle,
    native_model,
    note,
)
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import FloatArray, IntArray

TOLERANCE = 1e-9
"""Relative difference up to which two prices count as equal, because of rounding in sums of floats."""
PRICE_BITS = 43
"""Size of the integer prices: the most expensive cell costs less than ``2**PRICE_BITS``."""
UPPER = 4
"""After the first proof in a bisection, the interval is cut so that ``1 / UPPER`` of it is above the cut."""
Cells = tuple[IntArray, IntArray]
"""Least and greatest cells (n_columns,) of a box."""
Accept = Callable[[IntArray], bool]
_Reply = IntArray | bool | None
"""A row of another class; False if there is none, None if the time is over."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The cheapest row of another class that was found.

    Parameters
    ----------
    status : "optimal"; "feasible": a limit was reached after a row was found; "unknown": a limit was reached before;
        "none": it is proved that no such row exists
    cells : (n_columns,) cells of the row, None if there is no row
    distance : price of the row, inf if there is no row
    lower_bound : proved: no row of another class costs less
    row : (n_inputs,) the row itself, if its values are not simply the nearest ones of its cells; else None
    """

    status: Literal["optimal", "feasible", "unknown", "none"]
    cells: IntArray | None
    distance: float
    lower_bound: float
    row: FloatArray | None = None


def nearest(q: Questions, measure: Measure, accept: Accept | None = None) -> Nearest:
    """The nearest row of another class by a measure, among rows that do not change the measure's ``fixed`` features.

    Parameters
    ----------
    q : questions about the row; the search starts from known rows of another class
    measure : prices of changes
    accept : as in :func:`cheapest`
    """
    low, high = q.scores.box(q.cells, measure.fixed)
    starts = [
        row
        for row in q.changing.values()
        if ((low <= row) & (row <= high)).all()
        and all(np.isfinite(price[cell]) for price, cell in zip(measure.prices, row, strict=True))
    ]
    if measure.is_sum:
        return cheapest(q, measure.prices, (low, high), accept=accept, starts=starts)
    return dearest(q, measure.prices, (low, high), accept=accept, starts=starts)


def check_prices(q: Questions, prices: Sequence[FloatArray], near: IntArray | None = None) -> list[FloatArray]:
    """Return the prices as arrays; raise ValueError if they do not fit the grid, or decrease with the distance.

    The distance is that from the cells of the row, or from ``near``.
    """
    cells = q.cells if near is None else near
    given = [np.asarray(price, dtype=np.float64) for price in prices]
    sizes = q.scores.n_thresholds + 1
    if len(given) != sizes.size:
        raise ValueError(f"prices has {len(given)} columns, expected {sizes.size}")
    for column, (price, size, own) in enumerate(zip(given, sizes.tolist(), cells.tolist(), strict=True)):
        if price.shape != (size,) or price[own] != 0:
            raise ValueError(f"prices[{column}] must have {size} entries, and be 0 at the cell {own} of the row")
    flat = np.concatenate([np.zeros(0), *given])  # all columns are checked together
    place = np.arange(flat.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    away = place[:-1] >= np.repeat(cells, sizes)[:-1]
    falls = np.where(away, flat[:-1] > flat[1:], flat[:-1] < flat[1:]) & (place[1:] > 0)
    odd = np.flatnonzero(np.append(falls, False) | np.isnan(flat))
    if odd.size:
        column = int(np.searchsorted(np.cumsum(sizes), odd[0], side="right"))
        raise ValueError(
            f"prices[{column}] decreases with the distance from the row: expected prices that do not decrease"
        )
    return given


def cheapest(
    q: Questions,
    prices: Sequence[FloatArray],
    box: Cells | None = None,
    *,
    near: IntArray | None = None,
    accept: Accept | None = None,
    starts: Sequence[IntArray] = (),
    options: PriceOptions = PRICE_OPTIONS,
) -> Nearest:
    """The row of another class with the least sum of prices.

    Parameters
    ----------
    q : questions about the row; its oracle is asked for a first row if ``starts`` is empty
    prices : for each column (n_thresholds + 1,) price of each cell: 0 at the cell of the row, not decreasing with the
        distance from it; inf forbids a cell
    box : least and greatest cells of the rows to search; all rows by default
    near : (n_columns,) cells of the box from which prices do not decrease; those of the row by default
    accept : whether a row counts. It is called only for rows whose class depends on rounding, and must return the same
        for all rows that reach the same leaves
    starts : rows in the box that are known to have another class; the answer is never worse than these
    options : switches of the search

    Raises
    ------
    ValueError
        If prices are not as described.
    KeyboardInterrupt
        At Ctrl-C.
    """
    given = check_prices(q, prices, near)
    low, high = q.scores.box(q.cells, ()) if box is None else box
    center = q.cells if near is None else near
    rows = [np.asarray(row, dtype=np.int64) for row in starts]
    if not rows:
        left = q.clock.seconds_left
        answer = q.ask_box(low, high, seconds=None if left is None else left / 4, near=center)
        if answer.changes is False:
            return Nearest("none", None, math.inf, math.inf)
        if answer.witness is not None:
            rows.append(answer.witness)
    best, distance, lower = None, math.inf, 0.0
    for row in rows:
        price = _sum(given, row)
        if price < distance and (accept is None or accept(row)):
            best, distance = row, price
    while not q.clock.over:
        found, unit = _search(q, given, (best, distance), (low, high), center, rows, accept, options)
        before = distance
        if found["way"] >= 0:
            row = np.array(found["best"], dtype=np.int64)
            best, distance = min((best, distance), (row, _sum(given, row)), key=itemgetter(1))
        if best is None:
            lower = math.inf if found["done"] else found["lower"] * unit
            break
        lower = max(lower, found["lower"] * unit)
        if distance - lower <= TOLERANCE * distance:
            return Nearest("optimal", best, distance, distance)
        if not found["done"] or distance >= before:
            break
        rows = []  # prices scaled to the best row are more precise: search again with them
    if best is not None:
        return Nearest("feasible", best, distance, min(lower, distance))
    return Nearest("none" if math.isinf(lower) else "unknown", None, math.inf, lower)


def _sum(prices: Sequence[FloatArray], row: IntArray) -> float:
    return float(sum(price[cell] for price, cell in zip(prices, row, strict=True)))


def _search(
    q: Questions,
    prices: Sequence[FloatArray],
    best: tuple[IntArray | None, float],
    box: Cells,
    near: IntArray,
    starts: Sequence[IntArray],
    accept: Accept | None,
    options: PriceOptions,
) -> tuple[dict[str, Any], float]:
    """The result of the native search among rows that cost at most as much as ``best``, and the unit of its prices."""
    cells, distance = best
    unit, whole = integer_prices(prices, distance)
    if cells is None:
        most = sum(int(column[column < NEVER].max()) for column in whole)
    else:
        most = sum(int(column[cell]) for column, cell in zip(whole, cells, strict=True))
    search = _native.NearestSearch(
        q.oracle.model if isinstance(q.oracle, SearchOracle) else native_model(q.scores),
        ways(q),
        [column.tolist() for column in whole],
        box[0].tolist(),
        box[1].tolist(),
        near.tolist(),
        most + 1,
        asdict(options),
    )
    for row in starts:
        search.start_from(row.tolist())
    while True:
        found = search.run(q.clock.seconds_left)
        if found["doubtful"] is None:
            break
        search.decide(accept is None or accept(np.array(found["doubtful"], dtype=np.int64)))
    note(found["stopped"])
    return found, unit


def integer_prices(prices: Sequence[FloatArray], limit: float = math.inf) -> tuple[float, list[IntArray]]:
    """A power of two, and the prices as multiples of it, rounded down; prices above ``limit`` become ``NEVER``."""
    if not prices:
        return math.ldexp(1.0, -PRICE_BITS), []
    of = np.cumsum([price.size for price in prices])[:-1]
    every = np.concatenate(prices)
    paid = np.isfinite(every) & (every <= limit)
    dearest = float(every[paid].max(initial=0.0))
    bits = PRICE_BITS - (math.frexp(dearest)[1] if dearest > 0 else 0)
    whole = np.full(every.size, NEVER, dtype=np.int64)
    whole[paid] = np.floor(np.ldexp(every[paid], bits)).astype(np.int64)
    return math.ldexp(1.0, -bits), np.split(whole, of)


def ways(q: Questions) -> list[list[tuple[int, int, int, int]]]:
    """For each target, the comparisons that it must win.

    A comparison is a tuple: the target, another class, the least lead, and the least lead that rounding cannot undo.
    If rows have to be plausible, the target must also win against its shadow; see ``native_model``.
    """
    scores, beside = q.scores, q.scores.beside
    found = []
    for k in q.others:
        least = {other: scores.threshold_of_win(k, other, margin=False) for other in range(scores.n_classes)}
        way = [(k, o, lead - scores.margin, lead + scores.margin) for o, lead in least.items() if o not in q.others]
        if beside is not None:
            lead = beside.threshold_of_win(1, 0, margin=False)
            way.append((k, scores.n_classes + k, lead - beside.margin, lead + beside.margin))
        found.append(way)
    return found


def dearest(
    q: Questions,
    prices: Sequence[FloatArray],
    box: Cells | None = None,
    *,
    near: IntArray | None = None,
    accept: Accept | None = None,
    starts: Sequence[IntArray] = (),
) -> Nearest:
    """The row of another class whose most expensive cell costs least.

    Parameters
    ----------
    q, box, near, accept, starts : as in :func:`cheapest`
    prices : as in :func:`cheapest`, but they need not be 0 at ``near``
    """
    search = _Bisection(q, check_prices(q, prices) if near is None else list(prices), box)
    best, least, bound = search.first()
    if best is not None and accept is not None and not accept(best):  # rounding decides about this row
        best, least, bound = search.run(lambda radius: search.accepted(radius, near, accept, starts), start=bound)
    return search.nearest(best, least, bound)


class _Bisection:
    def __init__(self, q: Questions, prices: Sequence[FloatArray], box: Cells | None) -> None:
        self.q, self.prices = q, prices
        self.low, self.high = q.scores.box(q.cells, ()) if box is None else box
        inside = ((self.low <= q.cells) & (q.cells <= self.high)).all()
        self.around_row = inside and all(price[own] == 0 for price, own in zip(prices, q.cells, strict=True))
        paid = [price[low : high + 1] for price, low, high in zip(prices, self.low, self.high, strict=True)]
        every = np.unique(np.concatenate([[0.0], *paid]))
        least = max((float(part.min()) for part in paid), default=0.0)  # every row of the box costs at least this
        self.radii = every[np.isfinite(every) & (every >= least)]

    def first(self) -> tuple[IntArray | None, float, float]:
        """:meth:`run` with the oracle's answers, or :meth:`native` if the oracle is a native search."""
        if self.around_row and isinstance(self.q.oracle, SearchOracle) and all(len(way) == 1 for way in ways(self.q)):
            return self.native(self.q.oracle)
        return self.run(self.ask)

    def native(self, oracle: SearchOracle) -> tuple[IntArray | None, float, float]:
        """:meth:`run` in C++, for the case that each target class has to win only one comparison.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C.
        """
        q, radii = self.q, self.radii
        if q.clock.over:
            return None, math.inf, float(radii[0])
        ranks = [np.where(np.isfinite(price), np.searchsorted(radii, price), NEVER) for price in self.prices]
        search = _native.RadiusSearch(
            oracle.model,
            [rival for (rival,) in ways(q)],
            [rank.tolist() for rank in ranks],
            self.low.tolist(),
            self.high.tolist(),
            q.cells.tolist(),
            radii.size,
            oracle.options.clauses,
            oracle.options.messages,
        )
        found = search.run(q.clock.seconds_left)
        q.calls += int(found["questions"])
        note(found["stopped"])
        lower = int(found["lower"])
        bound = float(radii[lower]) if lower < radii.size else math.inf
        if found["best"] is None:
            return None, math.inf, bound
        return np.array(found["best"], dtype=np.int64), float(radii[found["upper"]]), bound

    def run(self, ask: Callable[[float], _Reply], start: float = 0.0) -> tuple[IntArray | None, float, float]:
        """Cells of the nearest row, its price, and a lower bound on the price; None and inf if no row is found.

        Parameters
        ----------
        ask : function that looks for a row of another class that costs at most the given price
        start : a known lower bound on the price
        """
        radii = self.radii
        first = int(np.searchsorted(radii, start))  # index of the least price at which a row may exist
        last, best = radii.size, None  # index of the least price with a known row, and this row
        lowest, middle = first, radii.size - 1
        while first < last:
            answer = ask(float(radii[middle]))
            if answer is None:
                break
            if isinstance(answer, bool):
                first = middle + 1
            else:
                best = answer
                last = int(np.searchsorted(radii, self._price(best)))
            # A proof takes longer than finding a row: after the first proof, ask nearer to the known row.
            middle = (first + last) // 2 if lowest == first else last - 1 - (last - first) // UPPER
        if best is not None:
            return best, float(radii[last]), float(radii[first])
        return None, math.inf, float(radii[first]) if first < radii.size else math.inf

    def nearest(self, cells: IntArray | None, least: float, bound: float) -> Nearest:
        """Return the result of :meth:`run` as a :class:`Nearest`."""
        if cells is None:
            return Nearest("none" if math.isinf(bound) else "unknown", None, math.inf, bound)
        return Nearest("optimal" if least <= bound else "feasible", cells, least, min(bound, least))

    def ask(self, radius: float) -> _Reply:
        """Ask the oracle for a row of another class that costs at most ``radius``."""
        low, high = self.low.copy(), self.high.copy()
        for column, price in enumerate(self.prices):
            permitted = np.flatnonzero(price[low[column] : high[column] + 1] <= radius)
            low[column], high[column] = low[column] + permitted[0], low[column] + permitted[-1]
        answer = self.q.ask_box(low, high, near=self.q.cells)
        if answer.changes is None:
            return None
        return answer.witness if answer.witness is not None else False

    def accepted(
        self, radius: float, near: IntArray | None, accept: Accept | None, starts: Sequence[IntArray]
    ) -> _Reply:
        """A row that counts and costs at most ``radius``, found by :func:`cheapest` with price 0 for all such rows."""
        within = [np.where(price <= radius, 0.0, np.inf) for price in self.prices]
        inside = [row for row in starts if all(price[cell] == 0 for price, cell in zip(within, row, strict=True))]
        found = cheapest(self.q, within, (self.low, self.high), near=near, accept=accept, starts=inside)
        if found.cells is not None:
            return found.cells
        return False if found.status == "none" else None

    def _price(self, cells: IntArray) -> float:
        return max((float(price[cell]) for price, cell in zip(self.prices, cells, strict=True)), default=0.0)
