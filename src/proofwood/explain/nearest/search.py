"""The nearest row of another class: the one search behind counterfactuals, radii and smallest changes.

What a row costs is the sum of the prices of its cells, or the dearest of them. Sums are minimised by a branch and bound
with messages in C++ (:func:`cheapest`). Its prices are integers: scaled by a power of two and rounded down, so that
what is proved of them bounds the true prices. The dearest price is found by bisection (:func:`dearest`): a price
permits every cell that costs no more, which is a box of cells around the row, and whether some row of it has another
class is one question. In C++ prices are then ranks, and rows that are found are pulled back towards the row.
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
"""Relative difference of two prices that does not count: what sums of floats are good for."""
PRICE_BITS = 43
"""The dearest cell costs less than ``2**PRICE_BITS``."""
UPPER = 4
"""Where the interval of prices is parted, once a part of it is proved: so much of it stays above."""
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
    status : "optimal"; "feasible": a limit was reached with a row; "unknown": without; "none": no such row, proved
    cells : (n_columns,) cells of the row, None without one
    distance : its price, inf without a row
    lower_bound : no row of another class costs less
    row : (n_inputs,) the row itself, where its values are more than the nearest ones of its cells
    """

    status: Literal["optimal", "feasible", "unknown", "none"]
    cells: IntArray | None
    distance: float
    lower_bound: float
    row: FloatArray | None = None


def nearest(q: Questions, measure: Measure, accept: Accept | None = None) -> Nearest:
    """The nearest row of another class by a measure, among those that leave its ``fixed`` features as they are.

    Parameters
    ----------
    q : questions about the row; changes that are known begin the search
    measure : what changes cost
    accept : as in :func:`cheapest`
    """
    low, high = measure.box
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
    """The prices as arrays; ValueError if they do not fit the grid, or fall away from the row, or from ``near``."""
    cells = q.cells if near is None else near
    given = [np.asarray(price, dtype=np.float64) for price in prices]
    sizes = q.scores.n_thresholds + 1
    if len(given) != sizes.size:
        raise ValueError(f"prices has {len(given)} columns, expected {sizes.size}")
    for column, (price, size, own) in enumerate(zip(given, sizes.tolist(), cells.tolist(), strict=True)):
        if price.shape != (size,) or price[own] != 0:
            raise ValueError(f"prices[{column}] must have {size} entries, and be 0 at the cell {own} of the row")
    flat = np.concatenate([np.zeros(0), *given])  # all columns are looked at together
    place = np.arange(flat.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    away = place[:-1] >= np.repeat(cells, sizes)[:-1]
    falls = np.where(away, flat[:-1] > flat[1:], flat[:-1] < flat[1:]) & (place[1:] > 0)
    odd = np.flatnonzero(np.append(falls, False) | np.isnan(flat))
    if odd.size:
        column = int(np.searchsorted(np.cumsum(sizes), odd[0], side="right"))
        raise ValueError(f"prices[{column}] falls away from the row: expected prices that do not")
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
    q : questions about the row; its oracle is asked for a first row where ``starts`` has none
    prices : per column (n_thresholds + 1,) price of each cell: 0 at the row's own, not falling away from it, inf: never
    box : cells of the rows that are looked for; by default all
    near : (n_columns,) cells of the box from which prices do not fall away; those of the row by default
    accept : whether a row counts; asked about rows only that rounding might decide about, and must say the same of all
        rows of the same leaves
    starts : rows known to be of another class, within the box: if the time is over no worse row is the answer
    options : switches

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
        rows = []  # prices of the size of the best row's tell more: begin again with them
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
    """What the native search finds among rows of the price of ``best`` at most, and that of a unit of its integers."""
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
    return _run(search, q, starts, accept), unit


def _run(
    search: _native.NearestSearch,
    q: Questions,
    starts: Sequence[IntArray],
    accept: Accept | None,
) -> dict[str, Any]:
    """What the search found when it ended, or the time."""
    for row in starts:
        search.start_from(row.tolist())
    while True:
        found = search.run(q.clock.seconds_left)
        if found["doubtful"] is None:
            break
        search.decide(accept is None or accept(np.array(found["doubtful"], dtype=np.int64)))
    note(found["stopped"])
    return found


def integer_prices(prices: Sequence[FloatArray], limit: float = math.inf) -> tuple[float, list[IntArray]]:
    """A power of two, and the prices in multiples of it, rounded down; those above ``limit`` are never paid."""
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


def _targets(q: Questions) -> list[int]:
    """The classes that are looked for."""
    return [k for k in range(q.scores.n_classes) if (k != q.label if q.targets is None else k in q.targets)]


def ways(q: Questions) -> list[list[tuple[int, int, int, int]]]:
    """For each target what it must win: itself, a class, the least difference, and that which rounding cannot undo.

    Where rows have to be plausible, it must also win against its shadow; see ``native_model``.
    """
    scores, targets = q.scores, _targets(q)
    rest = [k for k in range(scores.n_classes) if k not in targets]

    beside = scores.beside

    def plausible(k: int) -> tuple[int, int, int, int]:
        assert beside is not None
        sure = beside.threshold_of_win(1, 0, margin=False) + beside.margin
        return k, scores.n_classes + k, beside.threshold_of_win(1, 0), sure

    def contest(k: int, other: int) -> tuple[int, int, int, int]:
        sure = scores.threshold_of_win(k, other, margin=False) + scores.margin
        return k, other, scores.threshold_of_win(k, other), sure

    also = [] if beside is None else targets
    return [[contest(k, other) for other in rest] + [plausible(k) for one in also if one == k] for k in targets]


def dearest(
    q: Questions,
    prices: Sequence[FloatArray],
    box: Cells | None = None,
    *,
    near: IntArray | None = None,
    accept: Accept | None = None,
    starts: Sequence[IntArray] = (),
) -> Nearest:
    """The row of another class with the least price of its dearest cell.

    Parameters
    ----------
    q, box, near, accept, starts : as in :func:`cheapest`
    prices : likewise, but they need not be 0 at ``near``
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
        least = max((float(part.min()) for part in paid), default=0.0)  # every row of the box costs that
        self.radii = every[np.isfinite(every) & (every >= least)]

    def first(self) -> tuple[IntArray | None, float, float]:
        """As :meth:`run` with what the oracle says, in C++ where it is a native search."""
        if self.around_row and isinstance(self.q.oracle, SearchOracle) and all(len(way) == 1 for way in ways(self.q)):
            return self.native(self.q.oracle)
        return self.run(self.ask)

    def native(self, oracle: SearchOracle) -> tuple[IntArray | None, float, float]:
        """As :meth:`run` in C++, where each class that is looked for has one other to win against.

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
        """Cells of the nearest row, its price, and what no row costs less; without a row, None and inf.

        Parameters
        ----------
        ask : for a row of another class that costs no more than so much
        start : no row costs less
        """
        radii = self.radii
        first = int(np.searchsorted(radii, start))  # the least price that may do
        last, best = radii.size, None  # the least price that is known to do, and its row
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
            # Proofs that there is no row take longer than rows: from the first one on more rows are asked for.
            middle = (first + last) // 2 if lowest == first else last - 1 - (last - first) // UPPER
        if best is not None:
            return best, float(radii[last]), float(radii[first])
        return None, math.inf, float(radii[first]) if first < radii.size else math.inf

    def nearest(self, cells: IntArray | None, least: float, bound: float) -> Nearest:
        """As an answer."""
        if cells is None:
            return Nearest("none" if math.isinf(bound) else "unknown", None, math.inf, bound)
        return Nearest("optimal" if least <= bound else "feasible", cells, least, min(bound, least))

    def ask(self, radius: float) -> _Reply:
        """What the oracle of the questions says."""
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
        """A row that counts, by its sum of prices: within the radius they are 0, and beyond it nothing is permitted."""
        within = [np.where(price <= radius, 0.0, np.inf) for price in self.prices]
        inside = [row for row in starts if all(price[cell] == 0 for price, cell in zip(within, row, strict=True))]
        found = cheapest(self.q, within, (self.low, self.high), near=near, accept=accept, starts=inside)
        if found.cells is not None:
            return found.cells
        return False if found.status == "none" else None

    def _price(self, cells: IntArray) -> float:
        return max((float(price[cell]) for price, cell in zip(self.prices, cells, strict=True)), default=0.0)
