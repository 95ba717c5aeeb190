"""The nearest row of another class by questions to any oracle: branch and bound over boxes of cells.

The own engine has a search of its own, in ``cheapest.py``; this one is for the others, and checks what that one finds.

The price of a row is the sum over its columns of a price per cell, which does not fall away from the row to explain.
Boxes are taken by the price of their cheapest corner. An oracle says whether a box holds a row of another class at all;
if so its witness is moved back towards the row, which gives a better upper bound, and the box is cut between the corner
and the witness. Cells that alone would cost as much as the best row known are left out of every box.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proofwood.explain.oracles.oracle import Answer
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import FloatArray, IntArray

TOLERANCE = 1e-9
"""Relative difference of two prices that does not count: what sums of floats are good for."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The cheapest row of another class that was found.

    Parameters
    ----------
    status : "optimal"; "feasible": a limit was reached with a row; "unknown": without; "none": no such row, proved
    cells : (n_columns,) cells of the row, None without one
    label : its class, -1 without a row
    distance : its price, inf without a row
    lower_bound : no row of another class costs less
    calls : questions to the oracle
    """

    status: Literal["optimal", "feasible", "unknown", "none"]
    cells: IntArray | None
    label: int
    distance: float
    lower_bound: float
    calls: int


def nearest(
    q: Questions,
    prices: Sequence[FloatArray],
    *,
    immutable: Collection[int] = (),
    accept: Callable[[IntArray], bool] | None = None,
    starts: Sequence[IntArray] = (),
) -> Nearest:
    """The row of another class with the least sum of prices.

    Parameters
    ----------
    q : questions about the row
    prices : per column (n_thresholds + 1,) price of each cell: 0 at the row's own, not falling away from it, inf: never
    immutable : features that do not change
    accept : whether a row that the oracle found counts; for the rows that rounding leaves in doubt
    starts : rows known to be of another class, within what may change: if the time is over no worse row is the answer

    Raises
    ------
    ValueError
        If prices are not as described.
    """
    search = _Search(q, prices, accept)
    return search.run(*search.scores.box(search.own, immutable), starts)


def check_prices(q: Questions, prices: Sequence[FloatArray], near: IntArray | None = None) -> list[FloatArray]:
    """The prices as arrays; ValueError if they do not fit the grid, or fall away from the row, or from ``near``."""
    cells = q.cells if near is None else near
    given = [np.asarray(price, dtype=np.float64) for price in prices]
    scores = q.scores
    if len(given) != scores.n_columns:
        raise ValueError(f"prices has {len(given)} columns, expected {scores.n_columns}")
    if _sound(given, cells, scores.n_thresholds + 1):
        return given
    for column, price in enumerate(given):
        own, last = int(cells[column]), int(scores.n_thresholds[column])
        if price.shape != (last + 1,) or price[own] != 0:
            raise ValueError(f"prices[{column}] must have {last + 1} entries, and be 0 at the cell {own} of the row")
        if (
            np.isnan(price).any()
            or (price[:own] < price[1 : own + 1]).any()
            or (price[own:-1] > price[own + 1 :]).any()
        ):
            raise ValueError(f"prices[{column}] falls away from the row: expected prices that do not")
    return given


def _sound(prices: Sequence[FloatArray], cells: IntArray, sizes: IntArray) -> bool:
    """Whether all prices are as :func:`check_prices` wants them, all columns looked at together."""
    if not prices or any(price.shape != (size,) for price, size in zip(prices, sizes.tolist(), strict=True)):
        return False
    flat = np.concatenate(prices)
    place = np.arange(flat.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = np.repeat(cells, sizes)
    near, far = flat[:-1], flat[1:]
    falls = np.where(place[:-1] >= own[:-1], near > far, near < far) & (place[1:] > 0)
    return not (falls.any() or np.isnan(flat).any() or flat[place == own].any())


class _OutOfTime(Exception):
    """The limit is reached."""


class _Search:
    def __init__(self, q: Questions, prices: Sequence[FloatArray], accept: Callable[[IntArray], bool] | None) -> None:
        self.q, self.scores, self.own = q, q.scores, q.cells
        self.last = np.array(self.scores.n_thresholds, dtype=np.int64)
        self.prices = check_prices(q, prices)
        self.accept = accept
        self.best: IntArray | None = None
        self.best_label, self.upper, self.before = -1, np.inf, q.calls

    # ------------------------------------------------------------------------------------------------------- the search

    def run(self, low: IntArray, high: IntArray, starts: Sequence[IntArray] = ()) -> Nearest:
        """Search in a box."""
        lower, number = 0.0, 0
        heap = [(0.0, 0, low, high)]
        try:
            self._few_changes(low, high)
            while heap:
                bound, _, low, high = heapq.heappop(heap)
                lower = max(lower, bound)
                if self._no_better(bound):
                    lower = self.upper
                    break
                for part in self._parts(low, high):
                    number += 1
                    heapq.heappush(heap, (self.price(self._corner(*part)), -number, *part))
            else:
                lower = self.upper
        except _OutOfTime:
            for cells in starts:
                self._offer(cells, self.scores.winner(cells))
            status: Literal["feasible", "unknown"] = "unknown" if self.best is None else "feasible"
            return Nearest(status, self.best, self.best_label, self.upper, min(lower, self.upper), self.calls)
        if self.best is None:
            return Nearest("none", None, -1, np.inf, np.inf, self.calls)
        return Nearest("optimal", self.best, self.best_label, self.upper, lower, self.calls)

    def _parts(self, low: IntArray, high: IntArray) -> list[tuple[IntArray, IntArray]]:
        """What is left of a box to look at: nothing, or the two parts into which its witness cuts it."""
        tight = self._tightened(low, high)
        if tight is None:
            return []
        low, high = tight
        answer = self._ask(low, high)
        if not answer.changes:
            return []
        assert answer.witness is not None
        witness = answer.witness
        if self._offer(witness, answer.label):
            self._descend()
            self._improve(low, high)
        corner = self._corner(low, high)
        if np.array_equal(low, high):  # one row, or no column that the model uses
            return []
        excess = np.array([p[w] - p[c] for p, w, c in zip(self.prices, witness, corner, strict=True)])
        column = int(excess.argmax())
        if witness[column] == corner[column]:  # the witness is a cheapest corner: what is left are rows of equal price
            if self.accept is None or self._no_better(self.price(corner)):
                return []
            column = int((high - low).argmax())
            cut = int(low[column] + high[column]) // 2
        else:
            ends = sorted((int(corner[column]), int(witness[column])))
            cut = (ends[0] + ends[1]) // 2
        below, above = high.copy(), low.copy()
        below[column], above[column] = cut, cut + 1
        return [(low, below), (above, high)]

    def _few_changes(self, low: IntArray, high: IntArray) -> None:
        """Begin with a row that differs in few features: one by one they stay, unless none of another class is left."""
        low, high = low.copy(), high.copy()
        answer = self._ask(low, high)
        order = sorted(self.scores.features, key=len)
        for columns in order:
            if not answer.changes:
                return
            assert answer.witness is not None
            chosen = list(columns)
            if np.array_equal(answer.witness[chosen], self.own[chosen]):
                low[chosen] = high[chosen] = self.own[chosen]
                continue
            before = low[chosen], high[chosen]
            low[chosen] = high[chosen] = self.own[chosen]
            try:
                without = self._ask(low, high)
            except _OutOfTime:
                self._offer(answer.witness, answer.label)
                raise
            if without.changes:
                answer = without
            else:
                low[chosen], high[chosen] = before
        if answer.changes and answer.witness is not None and self._offer(answer.witness, answer.label):
            self._descend()

    def _descend(self) -> None:
        """Move the best row back to the row, column by column, as far as the sums alone say that its class stays."""
        assert self.best is not None
        row, moved = self.best.copy(), True
        while moved:
            moved = False
            costly_first = sorted(
                np.flatnonzero(row != self.own).tolist(), key=lambda c: -float(self.prices[c][row[c]])
            )
            for column in costly_first:
                near, far = int(self.own[column]), int(row[column])
                # The nearest cell on the way at which some other class is reached; at the limit, the nearest known.
                while near != far and not self.q.clock.over:
                    middle = (near + far) // 2 if near < far else -((-near - far) // 2)
                    row[column] = middle
                    if self._reached(row):
                        far, moved = middle, True
                    else:
                        near = middle + (1 if near < far else -1)
                row[column] = far
                if self.q.clock.over:
                    moved = False
                    break
        self._offer(row, self.scores.winner(row))

    def _reached(self, row: IntArray) -> bool:
        """Whether a row is of the space and of one of the classes looked for, by the sums without a margin."""
        winner = self.scores.winner(row)
        wanted = winner != self.q.label if self.q.targets is None else winner in self.q.targets
        return wanted and self.scores.allows(row)

    def _improve(self, low: IntArray, high: IntArray) -> None:
        """Move the best row back to the row, column by column, within a box."""
        assert self.best is not None
        changed = np.flatnonzero(self.best != self.own)
        for column in sorted(changed.tolist(), key=lambda c: -float(self.prices[c][self.best[c]])):  # type: ignore[index]
            near = int(self._corner(low, high)[column])
            far = int(self.best[column])
            while near != far:
                # Everything between the row and the best one, with this column on the nearer half of its way.
                middle = (near + far) // 2 if near < far else -((-near - far) // 2)
                at_least, at_most = np.minimum(self.own, self.best), np.maximum(self.own, self.best)
                at_least, at_most = np.maximum(at_least, low), np.minimum(at_most, high)
                at_least[column], at_most[column] = min(near, middle), max(near, middle)
                answer = self._ask(at_least, at_most) if (at_least <= at_most).all() else Answer(False)
                if answer.changes and answer.witness is not None and self._offer(answer.witness, answer.label):
                    far = int(self.best[column])
                else:
                    near = middle + (1 if near < far else -1)

    # ---------------------------------------------------------------------------------------------------------- details

    def price(self, cells: IntArray) -> float:
        """Price of a row."""
        return float(sum(price[cell] for price, cell in zip(self.prices, cells, strict=True)))

    def _no_better(self, price: float) -> bool:
        """Whether a price is no improvement: sums of floats never fall where one of their terms rises."""
        return price >= self.upper

    def _corner(self, low: IntArray, high: IntArray) -> IntArray:
        """Cheapest cells of a box."""
        return np.clip(self.own, low, high)

    def _tightened(self, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray] | None:
        """A box without the cells that cost too much whatever the other columns do; None if nothing is left."""
        corner = self._corner(low, high)
        bound = self.price(corner)
        if self._no_better(bound):
            return None
        low, high = low.copy(), high.copy()
        for column, price in enumerate(self.prices):
            start = int(corner[column])
            cells = price[low[column] : high[column] + 1]
            fits = (bound - price[start] + cells) * (1 - TOLERANCE) < self.upper  # a difference of floats may be less
            inside = low[column] + np.flatnonzero(fits)
            low[column], high[column] = inside[0], inside[-1]
        return low, high

    @property
    def calls(self) -> int:
        """Questions to the oracle."""
        return self.q.calls - self.before

    def _ask(self, low: IntArray, high: IntArray) -> Answer:
        answer = self.q.ask_box(low, high)
        if answer.changes is None:
            raise _OutOfTime
        return answer

    def _offer(self, cells: IntArray, label: int) -> bool:
        """Keep a row of another class if it is better than the best one."""
        price = self.price(cells)
        if self._no_better(price) or (self.accept is not None and not self.accept(cells)):
            return False
        self.best, self.best_label, self.upper = np.array(cells, dtype=np.int64), label, price
        return True
