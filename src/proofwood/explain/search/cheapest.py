"""The nearest row of another class, by the native branch and bound with messages; prices are counted in integers.

Prices are scaled by a power of two and rounded down, so that what is proved of the integers bounds the true prices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from proofwood import _native
from proofwood.explain.oracles.searches import INTERRUPT, MEMORY
from proofwood.explain.search.counterfactual import TOLERANCE, Nearest, check_prices
from proofwood.explain.search.questions import Questions
from proofwood.memory import note_lack
from proofwood.model.node_table import FloatArray, IntArray

PRICE_BITS = 43
"""The dearest cell costs less than ``2**PRICE_BITS``."""
NEVER = 2**60
"""Price of a cell that may not be taken."""


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """Switches of the search; none changes an answer.

    Parameters
    ----------
    sweeps : messages bound the boxes; without, single leaves and cells
    settle : leaves, and cells at the ends of columns, that would make a row too dear are left out of a box
    climb : local search for cheap rows
    first_rounds, further_rounds : of sweeps, in the first box and in each further one
    large : needs of leaves from which on local search begins in small parts of the ensemble
    """

    sweeps: bool = True
    settle: bool = True
    climb: bool = True
    first_rounds: int = 20
    further_rounds: int = 3
    large: int = 200_000


DEFAULT_OPTIONS = PriceOptions()


def cheapest(
    q: Questions,
    model: _native.VoteModel,
    prices: Sequence[FloatArray],
    *,
    immutable: Collection[int] = (),
    accept: Callable[[IntArray], bool] | None = None,
    starts: Sequence[IntArray] = (),
    options: PriceOptions = DEFAULT_OPTIONS,
    box: tuple[IntArray, IntArray] | None = None,
    near: IntArray | None = None,
) -> Nearest:
    """The row of another class with the least sum of prices.

    Parameters
    ----------
    q : what is asked about; its oracle is asked for a first row where ``starts`` has none
    model : the ensemble of ``q.scores``
    prices, immutable, accept : as in :func:`proofwood.explain.search.counterfactual.nearest`; ``accept`` is asked
        about rows only that rounding might decide about, and must say the same of all rows of the same leaves
    starts : rows known to be of another class, within what may change
    options : switches
    box : least and greatest cells (n_columns,) of the rows that are looked for; by default those that ``immutable``
        permits
    near : (n_columns,) cells of the box from which prices do not fall away; those of the row by default

    Raises
    ------
    ValueError
        If prices are not as described there.
    KeyboardInterrupt
        At Ctrl-C.
    """
    given, calls = check_prices(q, prices, near), q.calls
    low, high = q.scores.box(q.cells, immutable) if box is None else box
    center = q.cells if near is None else near
    rows = [np.asarray(row, dtype=np.int64) for row in starts]
    if not rows:
        left = q.clock.seconds_left
        answer = q.ask_box(low, high, seconds=None if left is None else left / 4, near=center)
        if answer.changes is False:
            return Nearest("none", None, -1, math.inf, math.inf, q.calls - calls)
        if answer.witness is not None:
            rows.append(answer.witness)
    best, lower = _Row(), 0.0
    for row in rows:
        best = best.or_cheaper(q, given, row, accept)
    while not q.clock.over:
        found, unit = _search(q, model, given, best, (low, high), center, rows, accept, options)
        before = best.distance
        if found["way"] >= 0:
            best = best.or_cheaper(q, given, np.array(found["best"], dtype=np.int64), None)
        if best.cells is None:
            lower = math.inf if found["done"] else found["lower"] * unit
            break
        lower = max(lower, found["lower"] * unit)
        if best.distance - lower <= TOLERANCE * best.distance:
            return best.nearest("optimal", best.distance, q.calls - calls)
        if not found["done"] or best.distance >= before:
            break
        rows = []  # prices of the size of the best row's tell more: begin again with them
    if best.cells is not None:
        return best.nearest("feasible", min(lower, best.distance), q.calls - calls)
    return Nearest("none" if math.isinf(lower) else "unknown", None, -1, math.inf, lower, q.calls - calls)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of another class, its class and its price; none yet."""

    cells: IntArray | None = None
    label: int = -1
    distance: float = math.inf

    def or_cheaper(
        self, q: Questions, prices: Sequence[FloatArray], row: IntArray, accept: Callable[[IntArray], bool] | None
    ) -> _Row:
        """The cheaper one of this row and another one, which counts if it is accepted."""
        distance = float(sum(price[cell] for price, cell in zip(prices, row, strict=True)))
        if distance >= self.distance or not (accept is None or accept(row)):
            return self
        return _Row(row, _label(q, row), distance)

    def nearest(self, status: Literal["optimal", "feasible"], lower: float, calls: int) -> Nearest:
        """As an answer."""
        return Nearest(status, self.cells, self.label, self.distance, lower, calls)


def _label(q: Questions, row: IntArray) -> int:
    """The class that a row has, or may have if rounding decides: one that is asked for."""
    targets = _targets(q)
    if len(targets) == 1:
        return targets[0]
    winner = q.scores.winner(row)
    if winner in targets:
        return winner
    sums = q.scores.sums(row)
    return max(targets, key=lambda k: int(sums[k]))


def _search(
    q: Questions,
    model: _native.VoteModel,
    prices: Sequence[FloatArray],
    best: _Row,
    box: tuple[IntArray, IntArray],
    near: IntArray,
    starts: Sequence[IntArray],
    accept: Callable[[IntArray], bool] | None,
    options: PriceOptions,
) -> tuple[dict[str, Any], float]:
    """What the native search finds among rows of the price of ``best`` at most, and that of a unit of its integers."""
    unit, whole = integer_prices(prices, best.distance)
    if best.cells is None:
        most = sum(int(column[column < NEVER].max()) for column in whole)
    else:
        most = sum(int(column[cell]) for column, cell in zip(whole, best.cells, strict=True))
    search = _native.NearestSearch(
        model,
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
    accept: Callable[[IntArray], bool] | None,
) -> dict[str, Any]:
    """What the search found when it ended, or the time."""
    for row in starts:
        search.start_from(row.tolist())
    while True:
        found = search.run(q.clock.seconds_left)
        if found["doubtful"] is None:
            break
        search.decide(accept is None or accept(np.array(found["doubtful"], dtype=np.int64)))
    if found["stopped"] == INTERRUPT:
        raise KeyboardInterrupt
    if found["stopped"] == MEMORY:
        note_lack()
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
