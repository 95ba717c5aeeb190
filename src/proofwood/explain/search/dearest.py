"""The row of another class whose dearest change costs least: bisection over prices, a box of cells for each.

A price permits every cell that costs no more: a box around the row. Whether some row of it has another class is one
question, and the least price for which the answer is yes is the distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from proofwood.explain.search import radius
from proofwood.explain.search.counterfactual import Nearest, check_prices
from proofwood.explain.search.questions import Questions
from proofwood.model.node_table import FloatArray, IntArray


def dearest(
    q: Questions,
    prices: Sequence[FloatArray],
    *,
    immutable: Collection[int] = (),
    accept: Callable[[IntArray], bool] | None = None,
    find: Callable[[list[FloatArray]], Nearest] | None = None,
    box: tuple[IntArray, IntArray] | None = None,
) -> Nearest:
    """The row of another class with the least price of its dearest cell.

    Parameters
    ----------
    q : questions about the row
    prices, immutable, accept : as in :func:`proofwood.explain.search.counterfactual.nearest`
    find : what finds a row that ``accept`` takes, and of finite price; asked once ``accept`` has refused a row
    box : least and greatest cells (n_columns,) of the rows that are looked for; by default those that ``immutable``
        permits. Prices need then not be 0 at the row

    Raises
    ------
    ValueError
        If prices are not as described there.
    """
    search = _Bisection(q, check_prices(q, prices) if box is None else list(prices), immutable, box)
    before = q.calls
    best, least, bound = search.first()
    if best is not None and accept is not None and not accept(best):  # rounding decides about this row
        if find is None:
            raise ValueError("accept refused a row: expected a way to find others")
        best, least, bound = search.run(lambda radius: search.found(radius, find), start=bound)
    return search.nearest(best, least, bound, q.calls - before)


UPPER = 4
"""Where the interval of prices is parted, once a part of it is proved: so much of it stays above."""
_Row = IntArray | bool | None
"""A row of another class; False if there is none, None if the time is over."""


class _Bisection:
    def __init__(
        self,
        q: Questions,
        prices: Sequence[FloatArray],
        immutable: Collection[int],
        box: tuple[IntArray, IntArray] | None,
    ) -> None:
        self.q, self.prices, self.around_row = q, prices, box is None
        self.low, self.high = q.scores.box(q.cells, immutable) if box is None else box
        paid = [price[low : high + 1] for price, low, high in zip(prices, self.low, self.high, strict=True)]
        every = np.unique(np.concatenate([[0.0], *paid]))
        least = max((float(part.min()) for part in paid), default=0.0)  # every row of the box costs that
        self.radii = every[np.isfinite(every) & (every >= least)]

    def first(self) -> tuple[IntArray | None, float, float]:
        """As :meth:`run` with what the oracle says, in C++ where it is a native search."""
        if self.around_row and radius.fits(self.q):
            return radius.least_radius(self.q, self.prices, self.low, self.high, self.radii)
        return self.run(self.ask)

    def run(self, ask: Callable[[float], _Row], start: float = 0.0) -> tuple[IntArray | None, float, float]:
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

    def nearest(self, cells: IntArray | None, least: float, bound: float, calls: int) -> Nearest:
        """As an answer."""
        if cells is None:
            return Nearest("none" if math.isinf(bound) else "unknown", None, -1, math.inf, bound, calls)
        return Nearest("optimal" if least <= bound else "feasible", cells, -1, least, min(bound, least), calls)

    def ask(self, radius: float) -> _Row:
        """What the oracle of the questions says."""
        low, high = self.low.copy(), self.high.copy()
        for column, price in enumerate(self.prices):
            permitted = np.flatnonzero(price[low[column] : high[column] + 1] <= radius)
            low[column], high[column] = low[column] + permitted[0], low[column] + permitted[-1]
        answer = self.q.ask_box(low, high, near=self.q.cells)
        if answer.changes is None:
            return None
        return answer.witness if answer.witness is not None else False

    def found(self, radius: float, find: Callable[[list[FloatArray]], Nearest]) -> _Row:
        """What a search for rows that count says: within the radius they cost nothing, and beyond they do not exist."""
        found = find([np.where(price <= radius, 0.0, np.inf) for price in self.prices])
        if found.cells is not None:
            return found.cells
        return False if found.status == "none" else None

    def _price(self, cells: IntArray) -> float:
        return max((float(price[cell]) for price, cell in zip(self.prices, cells, strict=True)), default=0.0)
