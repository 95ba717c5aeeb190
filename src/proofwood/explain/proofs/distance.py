"""Makes certificates of distances: no row of another class is nearer than so much, and one is at most so far away."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from proofwood.certificates.content import (
    grid_content,
    halves_content,
    model_content,
    values_to_json,
)
from proofwood.certificates.measures import TOLERANCE, Measure
from proofwood.certificates.trees import Trees
from proofwood.explain.model.explained import Explained
from proofwood.explain.proofs.boxes import TooManyBoxesError
from proofwood.explain.proofs.certificate import NONE, Certifier
from proofwood.explain.proofs.refute import NoCertificateError, OnlyRoundingError
from proofwood.model.node_table import FloatArray, IntArray

_PRICE_BITS = 43
_SLIGHTLY_LESS = 1 - 1e-12


class DistanceCertifier(Certifier):
    """Makes the certificates of the distance from one row; parameters, errors and parts are those of ``Certifier``."""

    model: Explained

    @cached_property
    def _trees(self) -> Trees:
        return Trees(model_content(self.scores))

    def distance(
        self,
        metric: str,
        per_unit: Sequence[float],
        prices: Sequence[FloatArray],
        *,
        immutable: Iterable[int] = (),
        found: IntArray | None = None,
        bound: float | None = None,
    ) -> dict[str, Any]:
        """No row within limits is nearer than so much, and the row found is at most so far away.

        Parameters
        ----------
        metric : "l1", "l2", "linf" or "changes"
        per_unit : weight of each column of the table
        prices : per column of the grid the price of each cell by the search, infinite where it may not be taken; of
            "changes" those of :func:`proofwood.explain.model.prices.count_prices`
        immutable : features that stay
        found : cells of the nearest row of another class; None: there is none
        bound : the least distance that is to be proved; as near to that of ``found`` as can be by default

        Returns
        -------
        dict
            Of status "optimal" where no gap but rounding is left, else "feasible"; "none" without a row.
        """
        low, high = self._limits(prices, immutable)
        told: dict[str, Any] = {
            "metric": metric,
            "weights": [float(weight) for weight in per_unit],
            "halves": halves_content(self.model),
            "pays": [
                g for g, price in enumerate(prices) if metric == "changes" and np.any(price[np.isfinite(price)] > 0)
            ],
            "low": low.tolist(),
            "high": high.tolist(),
            "least": None,
            "distance": None,
            "unit": None,
            "bound": None,
        }
        columns = grid_content(self.model)
        measure = Measure(told, columns, values_to_json(np.asarray(self.x)), self.cells)
        if found is None:
            proofs = self._nothing_in(low, high)
            return self._told("none", told, columns, [], None, proofs)
        witness = self._as_change(found)
        if witness is None:
            raise OnlyRoundingError(f"{NONE}: the nearest row changes the class only up to rounding")
        changed = [f for f, own in enumerate(self.scores.features) if np.any(found[[*own]] != self.cells[[*own]])]
        total = measure.total(witness["values"], self._trees, np.asarray(found))
        assert total is not None, "a value does not become a missing one"
        told["distance"] = root(total, measure.power, up=True)
        if metric == "linf":
            proofs = self._near(measure, told, low, high, found, bound)
        else:
            proofs = self._below(measure, told, low, high, found, bound)
        gap = told["distance"] - told["least"]
        status = "optimal" if gap <= TOLERANCE * told["distance"] else "feasible"
        return self._told(status, told, columns, changed, witness, proofs)

    def _told(
        self,
        status: str,
        told: Mapping[str, Any],
        columns: list[dict[str, Any]],
        features: list[int],
        witness: Mapping[str, Any] | None,
        proofs: list[dict[str, Any]],
    ) -> dict[str, Any]:
        return self._content(
            "distance", status, features=features, columns=columns, distance=told, witness=witness, proofs=proofs
        )

    def _limits(self, prices: Sequence[FloatArray], immutable: Iterable[int]) -> tuple[IntArray, IntArray]:
        """The cells that may be taken."""
        low, high = self.scores.box(self.cells, immutable)
        for g, price in enumerate(prices):
            able = np.flatnonzero(np.isfinite(price))
            low[g], high[g] = max(low[g], able[0]), min(high[g], able[-1])
        return low, high

    def _nothing_in(self, low: IntArray, high: IntArray) -> list[dict[str, Any]]:
        """Proofs that no row of a box has another class."""
        proofs = self.refuter.box(low, high)
        if proofs is None:
            raise OnlyRoundingError(f"{NONE}: that no nearer row has another class is so only up to rounding")
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
        """Proofs that no row has another class of which all cells cost less than those of the row found."""
        prices = [measure.prices(g) for g in range(low.size)]
        whole = root(
            max((price[cell] for price, cell in zip(prices, found.tolist(), strict=True)), default=Fraction(0))
        )
        least = whole if bound is None else min(whole, bound)
        while True:
            told["least"] = least
            if least <= 0:
                told["least"] = 0.0
                return []
            box_low, box_high = low.copy(), high.copy()
            for g, price in enumerate(prices):
                able = [c for c in range(int(low[g]), int(high[g]) + 1) if price[c] < Fraction(least)]
                box_low[g], box_high[g] = able[0], able[-1]
            proofs = self.refuter.box(box_low, box_high)
            if proofs is not None:
                return proofs
            row = self._may_change_in(box_low, box_high)
            least = root(
                max((price[cell] for price, cell in zip(prices, row.tolist(), strict=True)), default=Fraction(0))
            )

    def _may_change_in(self, low: IntArray, high: IntArray) -> IntArray:
        """A row of a box that may have another class."""
        answer = self._ask(low, high)
        if answer.witness is None:
            if answer.changes is False:
                raise AssertionError("one search says that another class is possible, another that it is not")
            raise NoCertificateError(f"{NONE}: its distance was not proved in time")
        return answer.witness

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
        """Proofs that no row of another class has a lower sum of prices than the row found."""
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
        others = [k for k in range(self.scores.n_classes) if (self.targets is None or k in self.targets)]
        others = [k for k in others if k != self.label]
        rivals = [k for k in range(self.scores.n_classes) if k not in others]
        try:
            proved = None
            if not self.refuter.clock.over:
                proved = self.refuter.prover.not_below(
                    low, high, others, rivals, own=self.cells, prices=whole, bound=most, clock=self.refuter.clock
                )
        except TooManyBoxesError as error:
            raise NoCertificateError(f"{NONE}: its boxes are too many: {error}") from None
        if proved is None:
            raise NoCertificateError(f"{NONE}: its distance was not proved in time")
        proofs, told["bound"] = proved
        told["least"] = root(told["bound"] / scale, measure.power)
        if told["least"] <= 0:
            told["unit"] = told["bound"] = None
            return []
        return proofs


def _floor(price: Fraction, most: Fraction, scale: Fraction) -> int:
    """A price in whole units, rounded down; those above the most that matters are all one."""
    return math.floor(min(price, 2 * most) * scale)


def root(total: Fraction | float, power: int = 1, *, up: bool = False) -> float:
    """A power's root as a number that is not above it, or with ``up`` not below it."""
    exact = Fraction(total)
    found = _rounded_down(_square_root(exact) if power == 2 else exact)
    while (following := math.nextafter(found, math.inf)) < math.inf and Fraction(following) ** power <= exact:
        found = following  # a step or two
    return math.nextafter(found, math.inf) if up and Fraction(found) ** power < exact else found


def _square_root(exact: Fraction) -> Fraction:
    """A root of which the square is not above, with at least 60 correct bits."""
    size = exact.denominator.bit_length() - exact.numerator.bit_length()
    bits = 64 + max(0, size) // 2
    return Fraction(math.isqrt((exact.numerator << 2 * bits) // exact.denominator), 1 << bits)


def _rounded_down(exact: Fraction) -> float:
    """The greatest float64 that is not above a number from 0."""
    if exact >= Fraction(sys.float_info.max):
        return sys.float_info.max
    found = float(exact)
    return math.nextafter(found, -math.inf) if Fraction(found) > exact else found
