"""Integer prices: weights, the price of a leaf, and how integer costs are reported as real ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import IntArray

LARGEST_TOTAL = 2**52
"""Total integer cost stays below this, so that sums and products with small numbers fit 64 bits with room to spare."""


@dataclass(frozen=True, slots=True)
class TreeCost:
    """Cost of a model in integers: ``error_price * wrong`` and ``leaf_price`` for each unit of its size.

    The size of a tree is its leaves beyond the first, the size of a diagram its inner nodes.

    Parameters
    ----------
    total : sum of the integer weights of all rows
    unit : real weight of one integer weight
    error_price, leaf_price : integers with ``leaf_price / error_price == alpha * total``
    priced : what the size counts, in the unit that results report
    """

    total: int
    unit: Fraction
    error_price: int = 1
    leaf_price: int = 0
    priced: Literal["leaves", "nodes"] = "leaves"

    @classmethod
    def of(
        cls, *, alpha: float | Fraction, total: int, unit: Fraction, priced: Literal["leaves", "nodes"] = "leaves"
    ) -> TreeCost:
        """Prices for ``alpha`` (share of the total weight per unit of size), read as the decimal it shows."""
        number = alpha if isinstance(alpha, Fraction) else decimal(alpha)
        if number is None or not 0 <= number <= 1:
            raise ValueError(
                f"alpha={alpha!r} is no price: expected a share of the total weight from 0 (size is free) to 1 "
                f"(one of the {priced} must save everything). 0.01 asks one training row in a hundred."
            )
        ratio = number * total
        if ratio.denominator * total >= LARGEST_TOTAL:  # pragma: no cover - needs an alpha of 15 digits
            ratio = ratio.limit_denominator(max(1, LARGEST_TOTAL // (2 * total)))
        return cls(total=total, unit=unit, error_price=ratio.denominator, leaf_price=ratio.numerator, priced=priced)

    def of_tree(self, wrong: int, n_leaves: int) -> int:
        """Integer cost of a tree with ``wrong`` integer weight misclassified."""
        return self.error_price * wrong + self.leaf_price * (n_leaves - 1)

    def real(self, cost: int) -> float:
        """``cost`` in units of real weight: equal integers give equal floats."""
        return float(cost * self.unit / self.error_price)

    def gap_units(self, max_gap: float) -> int:
        """``max_gap`` in integer cost, rounded down: an int counts weight, a float in [0, 1) is a share."""
        if isinstance(max_gap, (int, np.integer)) and not isinstance(max_gap, (bool, np.bool_)):
            if max_gap < 0:
                raise ValueError(f"max_gap={max_gap!r} is negative: expected errors (an int) or a share (a float)")
            return math.floor(int(max_gap) * self.error_price / self.unit)
        number = decimal(max_gap)
        if isinstance(max_gap, (bool, np.bool_)) or number is None or not 0 <= number < 1:
            raise ValueError(
                f"max_gap={max_gap!r} is no gap: expected an int that counts errors, or a float in [0, 1) "
                "that is a share of the total weight"
            )
        return math.floor(number * self.total * self.error_price)

    def leaf_weight(self, share: float) -> int:
        """Least integer weight that is ``share`` of the total, for ``share`` in [0, 0.5]."""
        number = decimal(share)
        if number is None or not 0 <= number <= Fraction(1, 2):
            raise ValueError(
                f"min_weight_fraction_leaf={share!r} is no share of a leaf: expected a number from 0 to 0.5, "
                "the share of the total weight that every leaf must hold"
            )
        return math.ceil(number * self.total)

    @property
    def name(self) -> str:
        """Unit of reported objectives."""
        errors = "errors" if self.unit == 1 else "weighted errors"
        return errors if self.leaf_price == 0 else f"{errors} + price of {self.priced}"


def integer_weights(sample_weight: npt.ArrayLike | None, n_rows: int) -> tuple[IntArray, Fraction]:
    """Positive integers proportional to the weights, and the real weight of one of them.

    Weights that are fractions with a small common denominator (all integers, decimals such as 0.1, the balanced
    class weights) are scaled without any rounding; others are rounded to about 15 significant digits of their sum.

    Raises
    ------
    ValueError
        If a weight is negative, not finite, or the shape is not ``(n_rows,)``.
    """
    if sample_weight is None:
        return np.ones(n_rows, dtype=np.int64), Fraction(1)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_rows},)")
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight holds NaN or infinity: expected finite numbers from 0")
    if np.any(weights < 0):
        row = int(np.argmin(weights))
        raise ValueError(f"sample_weight[{row}]={weights[row]} is negative: expected finite numbers from 0")
    distinct, index = np.unique(weights, return_inverse=True)
    scaled, unit = _common_denominator(distinct)
    total = sum(int(v) * int(c) for v, c in zip(scaled, np.bincount(index, minlength=distinct.size), strict=True))
    if total >= LARGEST_TOTAL:
        unit = Fraction(math.fsum(weights.tolist())) / 2**50  # fsum: the same for any order of the rows
        scaled = [max(round(Fraction(float(v)) / unit), 1 if v > 0 else 0) for v in distinct]
    divisor = math.gcd(*scaled) or 1
    return np.array([v // divisor for v in scaled], dtype=np.int64)[index], unit * divisor


def _common_denominator(distinct: npt.NDArray[np.float64]) -> tuple[list[int], Fraction]:
    """Numerators over one common denominator, each fraction being the simplest that rounds to its float."""
    fractions = []
    for value in distinct.tolist():
        simple = Fraction(value).limit_denominator(10**7)
        fractions.append(simple if float(simple) == value else Fraction(value))
    denominator = math.lcm(*(f.denominator for f in fractions))
    return [int(f * denominator) for f in fractions], Fraction(1, denominator)


def decimal(value: float) -> Fraction | None:
    """The fraction that the shortest decimal form of ``value`` shows, None if it is no finite number."""
    if isinstance(value, str):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return Fraction(repr(number)) if math.isfinite(number) else None
