"""Makes certificates of distances: the distance of a row of another class, and a lower bound for all such rows."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood.certificates.content import values_to_json
from proofwood.certificates.distances import allowed
from proofwood.certificates.measures import TOLERANCE, Measure, changed_features
from proofwood.certificates.space import Limit, values_of
from proofwood.explain.nearest.measure import Permitted
from proofwood.explain.proofs.certificate import NONE, Certifier
from proofwood.explain.proofs.refute import OnlyRoundingError
from proofwood.explain.proofs.stated import limits_of, parts_of
from proofwood.model.node_table import FloatArray, IntArray

# Prices are not in the file: the checker computes them from metric, weights, row and cells, as fractions:
# decisions/0044-boxes-with-prices.
_PRICE_BITS = 43
_SLIGHTLY_LESS = 1 - 1e-12


class DistanceCertifier(Certifier):
    """Makes certificates of distances from one row; parameters and errors are those of ``Certifier``."""

    def distance(
        self,
        metric: str,
        weights: Sequence[Any],
        prices: Sequence[FloatArray],
        *,
        immutable: Iterable[int] = (),
        permitted: Permitted | None = None,
        found: IntArray | None = None,
        row: FloatArray | None = None,
        bound: float | None = None,
    ) -> dict[str, Any]:
        """Certify a lower bound on the distance of all permitted rows of another class, and the distance of one row.

        Parameters
        ----------
        metric : "l1", "l2", "linf" or "changes"
        weights : weight of each column of the table, in the form of a certificate
        prices : for each column of the grid, the search's price of each cell, inf if the cell is forbidden; for
            "changes", those of :func:`proofwood.explain.nearest.measure.count_prices`
        immutable : features that do not change
        permitted : mapping from columns of categories to their permitted codes
        found : cells of the nearest row of another class; None if no row has another class
        row : values of this row, if they are not simply the nearest ones in these cells
        bound : the lower bound to prove; by default as near as possible to the distance of ``found``

        Returns
        -------
        dict
            Its status is "none" without ``found``, "optimal" if bound and distance are equal up to rounding, otherwise
            "feasible".
        """
        fixed = sorted(int(feature) for feature in immutable)
        low, high = self._limits(prices, fixed)
        measured = {
            "metric": metric,
            "weights": list(weights),
            "pays": [
                g for g, price in enumerate(prices) if metric == "changes" and np.any(price[np.isfinite(price)] > 0)
            ],
        }
        stated = parts_of(self.model).stated
        own = stated.entries_of(self.x.tolist())
        limits = self._stated_limits(low, high, fixed, permitted or {}, counted=metric == "changes")
        if not stated.tells(limits):
            raise AssertionError("a limit ends inside a cell")
        region = allowed(stated, own, fixed, limits, counted=metric == "changes")
        measure = Measure(measured, stated, self.x, own, region)
        told: dict[str, Any] = {**measured, "least": None, "distance": None, "unit": None, "bound": None}
        head = {"immutable": fixed, "limits": [limit.to_json() for limit in limits], "distance": told}
        if found is None:
            proofs = self._nothing_in(low, high)
            return self._content("distance", "none", features=[], witness=None, proofs=proofs, **head)
        witness = self._as_change(found)
        if witness is None:
            raise OnlyRoundingError(f"{NONE}: the nearest row changes the class only up to rounding")
        if row is not None:
            witness = {**witness, "values": values_to_json(row)}
        values = values_of(witness["values"], self.x.size)
        total = measure.total(values, stated.entries_of(values.tolist()))
        assert total is not None, "a value does not become a missing one"
        told["distance"] = root(total, measure.power, up=True)
        if metric == "linf":
            proofs = self._near(measure, told, low, high, found, bound)
        else:
            proofs = self._below(measure, told, low, high, found, bound)
        gap = told["distance"] - told["least"]
        status = "optimal" if gap <= TOLERANCE * told["distance"] else "feasible"
        changed = changed_features(stated, self.x.tolist(), values.tolist())
        return self._content("distance", status, features=changed, witness=witness, proofs=proofs, **head)

    def real_change(self, prices: Sequence[FloatArray], immutable: Iterable[int]) -> IntArray | None:
        """Cells of a permitted row to which the model itself gives another class; None if no row may have one."""
        low, high = self._limits(prices, immutable)
        change = self._change(low, high, lambda: self._ask(low, high), "row")
        return None if change is None else self.model.cells(values_of(change["values"], self.x.size))

    def _stated_limits(
        self, low: IntArray, high: IntArray, fixed: Sequence[int], permitted: Permitted, *, counted: bool
    ) -> list[Limit]:
        """The limits to state in the certificate.

        The checker knows that immutable features do not change and that (unless features are counted) no value becomes
        missing; these limits are left out.
        """
        whole_low, whole_high = self.scores.box(self.cells)
        free = [c for f in range(self.scores.n_features) if f not in fixed for c in self.scores.features[f]]
        whole_low[free], whole_high[free] = low[free], high[free]
        for g in free if not counted else ():
            if self.model.grid.columns[g].role == "missing" and self.cells[g] == 0:
                whole_high[g] = int(self.scores.n_thresholds[g])
        found = {limit.column: limit for limit in limits_of(self.model, whole_low, whole_high, plain=True)}
        for j, codes in permitted.items():
            inside = found[j].codes if j in found else frozenset(range(len(self.model.inputs[j].levels)))
            known = frozenset(code for code in codes if code < len(self.model.inputs[j].levels))
            gap = len(known) < len(codes) and (j not in found or found[j].gap)
            found[j] = Limit(j, codes=known if inside is None else known & inside, gap=gap or math.isnan(self.x[j]))
        return [found[j] for j in sorted(found)]

    def _limits(self, prices: Sequence[FloatArray], immutable: Iterable[int]) -> tuple[IntArray, IntArray]:
        """Least and greatest cells of the permitted rows."""
        low, high = self.scores.box(self.cells, immutable)
        for g, price in enumerate(prices):
            able = np.flatnonzero(np.isfinite(price))
            low[g], high[g] = max(low[g], able[0]), min(high[g], able[-1])
        return low, high

    def _nothing_in(self, low: IntArray, high: IntArray) -> list[dict[str, Any]]:
        """Proofs that no row of a box has another class."""
        proofs = self._no_row_in(low, high)
        if proofs is None:
            if self._change(low, high, lambda: self._ask(low, high), "row that is nearer") is not None:
                raise ValueError("another class is possible within the limits")
            raise OnlyRoundingError(f"{NONE}: that no nearer row has another class holds only up to rounding")
        return proofs

    # ------------------------------------------------------------------------------------------------- the dearest cell

    def _near(
        self,
        measure: Measure,
        told: dict[str, Any],
        low: IntArray,
        high: IntArray,
        found: IntArray,
        bound: float | None,
    ) -> list[dict[str, Any]]:
        """Proofs that every row of another class has a cell that costs at least as much as the row found, or ``bound``.

        If this cannot be proved, since a cheaper row may have another class, the greatest price of a cell that can is
        proved instead. A row that a search finds does not tell it: rounding may decide about its class, and a proof may
        close its cell all the same, since it asks the model itself.
        """
        prices = [measure.prices(g) for g in range(low.size)]

        def proofs_below(least: float) -> list[dict[str, Any]] | None:
            """Proofs that no row whose cells all cost less than ``least`` has another class; None if one may have."""
            if least <= 0:
                return []
            box_low, box_high = low.copy(), high.copy()
            for g, price in enumerate(prices):
                able = [c for c in range(int(low[g]), int(high[g]) + 1) if price[c] < Fraction(least)]
                box_low[g], box_high[g] = able[0], able[-1]
            return self._no_row_in(box_low, box_high)

        whole = root(
            max((price[cell] for price, cell in zip(prices, found.tolist(), strict=True)), default=Fraction(0))
        )
        told["least"] = max(0.0, whole if bound is None else min(whole, bound))
        proofs = proofs_below(told["least"])
        if proofs is not None:
            return proofs
        lower = sorted({root(one) for price in prices for one in price if one < Fraction(told["least"])})
        told["least"], proofs = 0.0, []
        first, end = 0, len(lower)
        while first < end:
            middle = (first + end) // 2
            closed = proofs_below(lower[middle])
            if closed is None:
                end = middle
            else:
                told["least"], proofs, first = lower[middle], closed, middle + 1
        return proofs

    # --------------------------------------------------------------------------------------------------- sums of prices

    def _below(
        self,
        measure: Measure,
        told: dict[str, Any],
        low: IntArray,
        high: IntArray,
        found: IntArray,
        bound: float | None,
    ) -> list[dict[str, Any]]:
        """Proofs that no row of another class has a lower sum of prices than the row found (or ``bound``)."""
        told["least"] = 0.0
        every = [measure.prices(g) for g in range(low.size)]
        total = sum((price[cell] for price, cell in zip(every, found.tolist(), strict=True)), start=Fraction(0))
        if bound is not None:
            total = min(total, Fraction(bound * _SLIGHTLY_LESS) ** measure.power)
        if total <= 0:
            return []
        told["unit"] = unit = math.frexp(float(total))[1] - _PRICE_BITS
        scale = Fraction(2) ** -unit
        whole = [np.array([_floor(one, total, scale) for one in price], dtype=np.int64) for price in every]
        most = sum(int(price[cell]) for price, cell in zip(whole, found.tolist(), strict=True))
        if bound is not None:
            most = min(most, math.floor(total * scale))
        asked: dict[str, Any] = {"own": self.cells, "prices": whole, "bound": most, "counts": self._counts}
        proved = self._closed(
            "its distance",
            lambda: self.prover.not_below(low, high, self.others, self.rivals, **asked, clock=self.clock),
        )
        proofs, told["bound"] = self._with_rows(proved[0]), proved[1]
        told["least"] = root(told["bound"] / scale, measure.power)
        if told["least"] <= 0:
            told["unit"] = told["bound"] = None
            return []
        return proofs


def _floor(price: Fraction, most: Fraction, scale: Fraction) -> int:
    """A price in integer units, rounded down; prices above ``2 * most`` are reduced to ``2 * most``."""
    return math.floor(min(price, 2 * most) * scale)


def root(total: Fraction | float, power: int = 1, *, up: bool = False) -> float:
    """The root of ``total`` for a power of 1 or 2, rounded down to float64, or rounded up with ``up``."""
    exact = Fraction(total)
    found = _rounded_down(_square_root(exact) if power == 2 else exact)
    while (following := math.nextafter(found, math.inf)) < math.inf and Fraction(following) ** power <= exact:
        found = following  # a step or two
    return math.nextafter(found, math.inf) if up and Fraction(found) ** power < exact else found


def _square_root(exact: Fraction) -> Fraction:
    """A lower bound on the square root, with at least 60 correct bits."""
    size = exact.denominator.bit_length() - exact.numerator.bit_length()
    bits = 64 + max(0, size) // 2
    return Fraction(math.isqrt((exact.numerator << 2 * bits) // exact.denominator), 1 << bits)


def _rounded_down(exact: Fraction) -> float:
    """The greatest float64 that does not exceed a non-negative number."""
    if exact >= Fraction(sys.float_info.max):
        return sys.float_info.max
    found = float(exact)
    return math.nextafter(found, -math.inf) if Fraction(found) > exact else found
