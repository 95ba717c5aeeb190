"""Integer costs: how weights and prices become integers, and how integer costs are reported as real numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from proofwood.arguments import is_integer
from proofwood.hints import parameter
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.model.sums import exact_sum, root_above, root_below, rounded_down, rounded_up
from proofwood.result import Status

# Larger weights were cut silently, and a tree of cost 16 was "proved" optimal although 2 is possible:
# decisions/0014-claims-that-hold.
LARGEST_TOTAL = 2**52
"""Total integer cost stays below this number. Sums of costs and their products with small numbers then fit 64 bits
easily, and numpy adds them exactly as float64."""
LARGEST_WEIGHT = 2.0**1000
"""The sum of the real weights stays below this number, so that costs are finite as float64."""
FEW = 1000
"""A common denominator is searched for only if there are at most this many different weights."""
LARGEST_DENOMINATOR = 10**7
"""Largest denominator of the fractions that weights are read as."""
MOST_DIGITS = 22
"""Maximum number of decimal places that are tried: 10**22 is the largest power of ten that float64 holds exactly."""


class Rounding(NamedTuple):
    r"""Bounds on the difference between integer and real weights, if the real ones are too precise for 64-bit sums.

    With integers :math:`v_i`, real weights :math:`w_i` and unit :math:`u`, a model that misclassifies the rows
    :math:`M` costs :math:`\sum_M w_i`. This is at least :math:`u \sum_M v_i` - ``above`` and at most
    :math:`u \sum_M v_i` + ``below``.

    Parameters
    ----------
    weights : (n_rows,) real weights
    above : total by which integers exceed their real weights; only weights below the unit are rounded up, to one unit
    below : total by which integers fall short of their real weights
    """

    weights: FloatArray
    above: Fraction
    below: Fraction

    @property
    def total(self) -> Fraction:
        """Sum of the real weights."""
        return exact_sum(self.weights)

    def take(self, rows: IntArray) -> Rounding:
        """The same rounding restricted to ``rows``, which must include all rows of positive weight."""
        return self._replace(weights=self.weights[rows])

    def sum(self, chosen: BoolArray) -> Fraction:
        """Real weight of the rows of a mask (n_rows,)."""
        return exact_sum(self.weights[chosen])


class IntegerWeights(NamedTuple):
    """Integers that represent real weights.

    Parameters
    ----------
    values : (n_rows,) int64; 0 only for weights of 0
    unit : real weight of one integer weight
    rounding : None if ``values * unit`` equals the weights exactly
    """

    values: IntArray
    unit: Fraction
    rounding: Rounding | None = None

    def positive(self) -> tuple[IntArray, IntegerWeights]:
        """Indices of the rows of positive weight, and their integers; ValueError if no weight is positive."""
        kept = np.flatnonzero(self.values > 0)
        if kept.size == 0:
            raise ValueError("no row has a positive weight: pass at least one row with sample_weight > 0")
        rounding = None if self.rounding is None else self.rounding.take(kept)
        return kept, IntegerWeights(self.values[kept], self.unit, rounding)


class Prices:
    """Integer prices of errors and of model size, with their values in real weight.

    Parameters
    ----------
    total : sum of the integer weights of all rows
    unit : real weight of one integer weight
    error_price : integer price of one integer weight that is wrong
    price : real weight that a unit of size costs; None if its integer price is exact
    above, below : these fields of the :class:`Rounding` of the weights
    most : largest size of a model
    """

    __slots__ = ()

    total: int
    unit: Fraction
    error_price: int
    price: Fraction | None
    above: Fraction
    below: Fraction
    most: int

    @property
    def size_price(self) -> int:
        """Integer price of a unit of size."""
        raise NotImplementedError

    @property
    def exact(self) -> bool:
        """Whether integer costs equal real costs without rounding."""
        return self.price is None and not self.above and not self.below

    @property
    def real_total(self) -> Fraction:
        """Sum of the real weights."""
        return self.total * self.unit - self.above + self.below

    @property
    def real_price(self) -> Fraction:
        """Real weight that a unit of size costs."""
        return self.in_weight(self.size_price) if self.price is None else self.price

    @property
    def left_out(self) -> Fraction:
        """The part of the real price of a unit of size that is lost because the integer price is rounded down."""
        return self.real_price - self.in_weight(self.size_price)

    def in_weight(self, cost: int) -> Fraction:
        """Real weight of an integer cost, if nothing is rounded."""
        return Fraction(cost * self.unit.numerator, self.unit.denominator * self.error_price)

    def least_weight(self, lower: int) -> Fraction:
        """Lower bound on the real cost of all models whose integer cost is at least ``lower``."""
        return max(Fraction(0), self.in_weight(lower) - self.above)

    def most_weight(self, upper: int) -> Fraction:
        """Upper bound on the real cost of a model of the integer cost ``upper``."""
        if upper == 0 and self.price is None:
            return Fraction(0)  # every wrong row costs
        return self.in_weight(upper) + self.below + self._left_out_up_to(upper)

    def _left_out_up_to(self, upper: int) -> Fraction:
        """The most that the integer price leaves out of the cost of a model of the integer cost ``upper``."""
        size = self.most if self.size_price == 0 else min(self.most, upper // self.size_price)
        return self.left_out * size

    @property
    def per(self) -> Fraction:
        """Real weight by which costs are divided when they are reported."""
        return Fraction(1)

    def shown(self, cost: Fraction) -> float:
        """The cost of a model as an objective."""
        return float(cost)

    def least(self, lower: int) -> Fraction:
        """Lower bound to report, if ``lower`` is a lower bound on the integer costs of all models."""
        return self.least_weight(lower) / self.per

    def reported(self, upper: int, lower: int) -> tuple[float, float]:
        """Objective and lower bound to report, for a model of integer cost ``upper`` and the bound ``lower``.

        Equal integers give equal floats. If costs are rounded, the objective is the most that the model can cost.
        """
        if not self.exact:
            return rounded_up(self.most_weight(upper) / self.per), rounded_down(self.least(min(lower, upper)))
        objective = self.shown(self.in_weight(upper) / self.per)
        return objective, objective if lower == upper else rounded_down(self.least(lower))

    def leaf_weight(self, share: float, *, surely: bool = False) -> int:
        """Minimum integer weight of a leaf that must hold ``share`` of the total real weight, from 0 to 0.5.

        If weights are rounded, some leaves that are too light reach this minimum. With ``surely``, no such leaf reaches
        it, but some leaves that are heavy enough do not.
        """
        number = share_of(share)
        if number is None or not 0 <= number <= Fraction(1, 2):
            raise ValueError(
                f"min_weight_fraction_leaf={share!r} is not a share of weight: expected a number from 0 to 0.5, "
                "the share of the total weight that every leaf must hold"
            )
        return least_integer(number * self.real_total, self, surely=surely)


@dataclass(frozen=True, slots=True)
class TreeCost(Prices):
    """Cost of a model in integers: ``error_price * wrong`` plus ``leaf_price`` for each unit of its size.

    The size of a tree is its number of leaves beyond the first; that of a diagram is its number of inner nodes.

    Parameters
    ----------
    total : sum of the integer weights of all rows
    unit : real weight of one integer weight
    error_price, leaf_price : integers; ``leaf_price / error_price`` is ``alpha * total``, or just below it if exact
        integers would be too large
    priced : whether the size counts leaves or nodes; named in the unit of results
    price : real weight that a unit of size costs; None if ``leaf_price`` is exact
    above, below : these fields of the :class:`Rounding` of the weights
    most : largest size of a model
    """

    total: int
    unit: Fraction
    error_price: int = 1
    leaf_price: int = 0
    priced: Literal["leaves", "nodes"] = "leaves"
    price: Fraction | None = None
    above: Fraction = Fraction(0)
    below: Fraction = Fraction(0)
    most: int = 2**20

    @classmethod
    def of(
        cls,
        *,
        alpha: float | Fraction,
        total: int,
        unit: Fraction,
        priced: Literal["leaves", "nodes"] = "leaves",
        rounding: Rounding | None = None,
        most: int = 2**20,
    ) -> TreeCost:
        """Prices if a unit of size costs the share ``alpha`` of the total weight; 0.1 is read as exactly 1/10."""
        number = alpha if isinstance(alpha, Fraction) else share_of(alpha)
        if number is None or not 0 <= number <= 1:
            raise ValueError(
                f"{parameter('alpha', alpha)} is not a price: expected a share of the total weight from 0 ({priced} "
                f"are free) to 1 (one of the {priced} costs as much as all rows), such as 0.01, one training row in a "
                "hundred"
            )
        price = number * (total * unit if rounding is None else rounding.total)
        return cls.at_price(price, total=total, unit=unit, priced=priced, rounding=rounding, most=most)

    @classmethod
    def at_price(
        cls,
        price: Fraction,
        *,
        total: int,
        unit: Fraction,
        priced: Literal["leaves", "nodes"] = "leaves",
        rounding: Rounding | None = None,
        most: int = 2**20,
    ) -> TreeCost:
        """Prices for which a unit of size costs the real weight ``price``."""
        error_price, leaf_price = integer_prices(price / unit, total, LARGEST_TOTAL)
        exact = leaf_price * unit == price * error_price
        return cls(
            total=total,
            unit=unit,
            error_price=error_price,
            leaf_price=leaf_price,
            priced=priced,
            price=None if exact else price,
            above=Fraction(0) if rounding is None else rounding.above,
            below=Fraction(0) if rounding is None else rounding.below,
            most=most,
        )

    @property
    def size_price(self) -> int:
        """Integer price of a unit of size."""
        return self.leaf_price

    def of_tree(self, wrong: int, n_leaves: int) -> int:
        """Integer cost of a tree of ``n_leaves`` leaves that misclassifies the integer weight ``wrong``."""
        return self.error_price * wrong + self.leaf_price * (n_leaves - 1)

    def real_cost(self, wrong: Fraction, size: int) -> Fraction:
        """Cost of a model of this ``size`` that misclassifies the real weight ``wrong``."""
        return wrong + self.real_price * size

    def gap_units(self, max_gap: float) -> int:
        """``max_gap`` as an integer cost, rounded down. An int is a weight, a float in [0, 1) a share of the total."""
        if is_integer(max_gap):
            if max_gap < 0:
                raise ValueError(
                    f"{parameter('max_gap', max_gap)} is negative: expected an int from 0 (errors) or a float in "
                    "[0, 1) (a share)"
                )
            permitted = Fraction(int(max_gap))
        else:
            number = decimal(max_gap)
            if isinstance(max_gap, (bool, np.bool_)) or number is None or not 0 <= number < 1:
                raise ValueError(
                    f"{parameter('max_gap', max_gap)} is not a gap: expected an int that counts errors, or a float in "
                    "[0, 1) that is a share of the total weight"
                )
            permitted = number * self.real_total
        permitted -= self.above + self.below + self.left_out * self.most  # what rounding may add to the gap
        return min(LARGEST_TOTAL, max(0, math.floor(permitted * self.error_price / self.unit)))

    @property
    def name(self) -> str:
        """Name of the unit in which objectives are reported, such as ``"errors"``."""
        errors = "errors" if self.unit == 1 else "weighted errors"
        return errors if self.leaf_price == 0 and self.price is None else f"{errors} + price of {self.priced}"


@dataclass(frozen=True)
class SumCost(Prices):
    """Cost of a tree of a target by sums: whole units, plus ``leaf_price`` units for each leaf beyond the first.

    Parameters
    ----------
    total : sum of the integer weights of all rows
    unit : real weight of one integer weight
    cost_unit : real cost of one unit
    largest : units that no tree costs more than, without the price of leaves; 0 if it does not matter
    named : name of the unit in which objectives are reported
    error_price, leaf_price : integer price of a unit, and of a leaf
    price : real cost of a leaf; None if ``leaf_price`` is exactly that
    above, below : these fields of the :class:`Rounding` of the weights
    most : largest number of leaves beyond the first
    slack : units by which the integer cost of a tree may fall short of its cost; 0 if costs are whole units
    spread : the most that a row costs per unit of weight
    distance : bound on the root of the squared distance by which rounding moved the numbers of all rows
    shift : the most by which rounding changed the cost of a tree
    """

    total: int
    unit: Fraction
    cost_unit: Fraction
    largest: int
    named: str
    error_price: int = 1
    leaf_price: int = 0
    price: Fraction | None = None
    above: Fraction = Fraction(0)
    below: Fraction = Fraction(0)
    most: int = 2**20
    slack: int = 0
    spread: Fraction = Fraction(0)
    distance: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)

    def at_share(self, alpha: float | Fraction, alone: Fraction, *, most: int) -> SumCost:
        """The same cost with the price of a leaf: a share of what a single leaf costs."""
        share = alpha if isinstance(alpha, Fraction) else share_of(alpha)
        if share is None or not 0 <= share <= 1:
            raise ValueError(
                f"alpha={alpha!r} is not a price: expected a share of what a single leaf costs, from 0 (leaves are "
                "free) to 1, such as 0.01"
            )
        return self.at_price(share * alone, most=most)

    def at_price(self, price: Fraction, *, most: int) -> SumCost:
        """The same cost with the real price of a leaf."""
        error_price, leaf_price = 1, math.floor(price / self.cost_unit)
        if self.largest:
            error_price, leaf_price = integer_prices(price / self.cost_unit, self.largest, LARGEST_TOTAL)
        exact = leaf_price * self.cost_unit == price * error_price
        kept = None if exact else price
        return replace(self, error_price=error_price, leaf_price=leaf_price, price=kept, most=most)

    def gap_of(self, max_gap: float, alone: Fraction) -> int:
        """``max_gap``, a share in [0, 1) of what a single leaf costs, as an integer cost, rounded down."""
        share = share_of(max_gap)
        if share is None or isinstance(max_gap, bool) or not 0 <= share < 1:
            raise ValueError(
                f"{parameter('max_gap', max_gap)} is not a gap: expected a share of what a single leaf costs, from 0 "
                "to less than 1"
            )
        # what rounding may add: of units, of weights, of the price of leaves, and of numbers, on both sides
        rounded = self.slack * self.cost_unit + 2 * self.shift + (self.above + self.below) * self.spread
        rounded += self.left_out * self.most + 2 * self.distance * (2 * root_above(alone) + self.distance)
        return max(0, self.units_of(share * alone - rounded))

    def units_of(self, cost: Fraction) -> int:
        """A real cost as an integer cost, rounded down."""
        return math.floor(cost * self.error_price / self.cost_unit)

    def of_tree(self, loss: int, n_leaves: int) -> int:
        """Integer cost of a tree of ``n_leaves`` leaves that cost ``loss`` units."""
        return self.error_price * loss + self.leaf_price * (n_leaves - 1)

    @property
    def size_price(self) -> int:
        """Integer price of a leaf."""
        return self.leaf_price

    @property
    def exact(self) -> bool:
        """Whether integer costs equal real costs without rounding."""
        return super().exact and not (self.slack or self.distance or self.shift)

    def in_weight(self, cost: int) -> Fraction:
        """Real cost of an integer cost, if nothing is rounded."""
        return cost * self.cost_unit / self.error_price

    def least_weight(self, lower: int) -> Fraction:
        """Lower bound on the real cost of all trees whose integer cost is at least ``lower``."""
        least = self.in_weight(lower) - self.shift
        if self.distance and least > 0:  # sqrt(cost) is a distance, so that rounding moves it by no more
            least = max(root_below(least) - self.distance, Fraction(0)) ** 2
        return max(Fraction(0), least - self.above * self.spread)

    def most_weight(self, upper: int) -> Fraction:
        """Upper bound on the real cost of a tree of the integer cost ``upper``."""
        upper += self.slack
        most = self.in_weight(upper) + self._left_out_up_to(upper) + self.below * self.spread + self.shift
        if self.distance:
            most = (root_above(most) + self.distance) ** 2
        return most

    def shown(self, cost: Fraction) -> float:
        """The cost of a tree as an objective, rounded up: no tree costs more than its objective."""
        return rounded_up(cost)

    def real_cost(self, cost: Fraction, size: int) -> Fraction:
        """Cost of a tree whose leaves cost ``cost`` and that has ``size`` leaves beyond the first."""
        return cost + self.real_price * size

    @property
    def name(self) -> str:
        """Name of the unit in which objectives are reported."""
        return self.named if self.leaf_price == 0 and self.price is None else f"{self.named} + price of leaves"


class Proof(NamedTuple):
    """The objective, lower bound and status that a result reports for a model."""

    objective: float
    lower_bound: float
    status: Status


def proof(cost: Prices, upper: int, lower: int, real: Callable[[], Fraction], *, complete: bool) -> Proof:
    """Return what is proved about a model of integer cost ``upper`` if all models cost at least ``lower``.

    If integer costs are exact, a model is optimal if ``upper`` and ``lower`` are equal. Otherwise the objective is the
    real cost that ``real`` counts, and the bound allows for the rounding. The status is then "optimal" only if
    objective and bound are equal. Equal ones are rounded alike; otherwise the bound is rounded down.

    Parameters
    ----------
    cost : prices
    upper, lower : integer costs
    real : function that counts the real cost of the model
    complete : whether the search finished
    """
    open_status = Status.WITHIN_GAP if complete or lower >= upper else Status.FEASIBLE
    if cost.exact:
        objective, bound = cost.reported(upper, lower)
        return Proof(objective, bound, Status.OPTIMAL if lower == upper else open_status)
    counted, least = real(), cost.least(min(lower, upper))
    if counted < least:
        raise AssertionError(f"a model costs {float(counted)}, less than the proved lower bound {float(least)}")
    if counted == least:
        return Proof(cost.shown(counted), cost.shown(counted), Status.OPTIMAL)
    return Proof(cost.shown(counted), rounded_down(least), open_status)


def least_integer(weight: Fraction, cost: Prices, *, surely: bool = False) -> int:
    """An integer weight that is reached by every set of rows with a real weight of at least ``weight``.

    With ``surely``: an integer weight that only such sets reach. Both are equal if weights are not rounded.
    """
    return max(0, math.ceil((weight + cost.above if surely else weight - cost.below) / cost.unit))


def integer_prices(ratio: Fraction, total: int, largest: int) -> tuple[int, int]:
    """Integers ``(error_price, size_price)`` with the quotient ``ratio``, or just below it to keep them small."""
    if ratio.denominator * total < largest:
        return ratio.denominator, ratio.numerator
    error_price = max(1, largest // (2 * total))
    return error_price, math.floor(ratio * error_price)


# ------------------------------------------------------------------------------------------------------- weights


def checked_weights(sample_weight: npt.ArrayLike, n_rows: int) -> FloatArray:
    """The checked weights as float64.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, if the shape is not ``(n_rows,)``, or if the sum is too large.
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_rows},)")
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight holds NaN or infinity: expected finite non-negative numbers")
    if np.any(weights < 0):
        row = int(np.argmin(weights))
        raise ValueError(f"sample_weight[{row}]={weights[row]} is negative: expected finite non-negative numbers")
    if n_rows and float(weights.max()) >= LARGEST_WEIGHT / n_rows and exact_sum(weights) >= LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight goes up to {weights.max():g}, and its sum is above {LARGEST_WEIGHT:.3g}: only ratios of "
            "weights matter, so divide all of them by one number, such as their maximum"
        )
    return weights


def integer_weights(sample_weight: npt.ArrayLike | None, n_rows: int, *, as_floats: bool = False) -> IntegerWeights:
    """Integers proportional to the weights, and the real weight of one unit; positive weights get positive integers.

    Nothing is rounded if the weights are whole numbers, multiples of one power of two, decimals of few digits, or few
    different fractions with a small common denominator (such as balanced class weights), and their sum is below
    ``LARGEST_TOTAL`` of the common unit. Other weights are rounded down to multiples of a power of two, and weights
    below this unit are rounded up to it; ``rounding`` bounds the difference. The integer of a row depends on its weight
    and on the set of all weights, not on the order of the rows.

    ``as_floats``: read weights as exact float64 numbers, so that 0.1 is not read as a tenth.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, if the shape is not ``(n_rows,)``, or if the sum is too large.
    """
    if sample_weight is None:
        return IntegerWeights(np.ones(n_rows, dtype=np.int64), Fraction(1))
    weights = checked_weights(sample_weight, n_rows)
    if not weights.any():
        return IntegerWeights(np.zeros(n_rows, dtype=np.int64), Fraction(1))
    total = exact_sum(weights)
    readings = (_as_whole_numbers, _as_fractions, _as_decimals, _as_multiples)
    for exactly in (_as_multiples,) if as_floats else readings:
        found = exactly(weights, total)
        if found is not None:
            values, unit = found
            divisor = int(np.gcd.reduce(values))
            return IntegerWeights(values // divisor if divisor > 1 else values, unit * divisor)
    return _rounded(weights, total)


def in_floats(values: IntArray, unit: Fraction) -> FloatArray:
    """``values`` times ``unit``, rounded once: 3 tenths are 0.3, and not 3 * 0.1."""
    above, below = unit.as_integer_ratio()
    if below <= 10**MOST_DIGITS and float(below) == below and int(values.max(initial=0)) * above < LARGEST_TOTAL:
        return np.asarray(values * float(above) / float(below))
    return np.asarray(values * float(unit))  # else the unit is a power of two, and nothing is rounded


def _as_whole_numbers(weights: FloatArray, total: Fraction) -> tuple[IntArray, Fraction] | None:
    if total >= LARGEST_TOTAL:
        return None
    values = weights.astype(np.int64)
    return (values, Fraction(1)) if np.array_equal(values, weights) else None


def _as_multiples(weights: FloatArray, total: Fraction) -> tuple[IntArray, Fraction] | None:
    """The weights as multiples of one power of two, and this power; None if the sum is too large."""
    return multiples_of_a_power(weights, LARGEST_TOTAL, total)


def multiples_of_a_power(
    numbers: FloatArray, most: int, total: Fraction | None = None
) -> tuple[IntArray, Fraction] | None:
    """Numbers from 0 as multiples of the largest power of two that divides all of them, and this power.

    Parameters
    ----------
    numbers : (n,) finite, not negative
    most : ``total`` must be below this multiple of the power; else the answer is None
    total : by default the largest of the numbers
    """
    if not numbers.any():
        return np.zeros(numbers.size, dtype=np.int64), Fraction(1)
    part, exponent = np.frexp(numbers[numbers > 0])
    whole = np.ldexp(part, 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # place of the last bit that is set
    place = int((exponent + lowest).min()) - 53
    if (Fraction(float(numbers.max())) if total is None else total) >= most * Fraction(2) ** place:
        return None
    return np.ldexp(numbers, -place).astype(np.int64), Fraction(2) ** place


def _as_fractions(weights: FloatArray, total: Fraction) -> tuple[IntArray, Fraction] | None:
    """The weights, each read as a simple fraction, over a common denominator; None if too many or too large."""
    distinct = _few_distinct(weights)
    if distinct is None:
        return None
    fractions = []
    denominator = 1
    for value in distinct.tolist():
        fractions.append(simple_fraction(value))
        denominator = math.lcm(denominator, fractions[-1].denominator)
        if denominator.bit_length() > 4096:
            return None
    scaled = [int(f * denominator) for f in fractions]
    divisor = math.gcd(*scaled)
    place = np.searchsorted(distinct, weights)
    counts = np.bincount(place, minlength=distinct.size).tolist()
    if sum(v // divisor * c for v, c in zip(scaled, counts, strict=True)) >= LARGEST_TOTAL:
        return None
    return np.array([v // divisor for v in scaled], dtype=np.int64)[place], Fraction(divisor, denominator)


def _few_distinct(weights: FloatArray) -> FloatArray | None:
    """The distinct weights in increasing order, or None if there are more than ``FEW``."""
    known = np.unique(weights[: 4 * FEW])
    if known.size > FEW:
        return None
    place = np.searchsorted(known, weights).clip(max=known.size - 1)
    missing = weights[known[place] != weights]
    if missing.size:
        known = np.union1d(known, missing)
    return known if known.size <= FEW else None


def _as_decimals(weights: FloatArray, total: Fraction) -> tuple[IntArray, Fraction] | None:
    """The weights as multiples of a power of ten, such as amounts in cents, and this power; None if no power fits."""
    some = weights[:64]
    for digits in range(-MOST_DIGITS, MOST_DIGITS + 1):
        unit = Fraction(10) ** -digits
        if total >= LARGEST_TOTAL * unit * (1 - Fraction(1, 2**40)):
            continue
        if not np.array_equal(decimal_multiples(some, digits)[1], some):
            continue
        values, again = decimal_multiples(weights, digits)
        if np.array_equal(again, weights) and int(values.sum()) < LARGEST_TOTAL:
            return values.astype(np.int64), unit
    return None


def decimal_multiples(weights: FloatArray, digits: int) -> tuple[FloatArray, FloatArray]:
    """The multiples of ``10**-digits`` nearest to the weights, as whole numbers, and the floats of these multiples."""
    power = 10.0 ** abs(digits)  # exact, so that the division rounds only once
    if digits < 0:
        values = np.rint(weights / power)
        return values, values * power
    values = np.rint(weights * power)
    return values, values / power


def _rounded(weights: FloatArray, total: Fraction) -> IntegerWeights:
    """The weights rounded down to multiples of a power of two, or up to it if they are positive and below it."""
    most = LARGEST_TOTAL - weights.size - 1
    place = (math.floor(total / most)).bit_length() if total >= most else -(math.floor(most / total).bit_length() - 1)
    unit = Fraction(2) ** place
    values = np.ldexp(weights, -place).astype(np.int64)
    raised = (values == 0) & (weights > 0)
    values[raised] = 1
    above = unit * int(np.count_nonzero(raised)) - exact_sum(weights[raised])
    below = total - unit * int(values.sum()) + above
    return IntegerWeights(values, unit, Rounding(weights, above, below))


def weight_products(weights: FloatArray, codes: IntArray, factors: list[Fraction]) -> FloatArray:
    """(n_rows,) weights times the factors of their classes, each product rounded once.

    The weights of a class are read as fractions first if few of them differ; each product is then the float64 number
    nearest to the exact product.

    Raises
    ------
    ValueError
        If a product is too large for float64, or below its normal numbers, where digits are lost.
    """
    products = np.empty(weights.size)
    for code, factor in enumerate(factors):
        rows = np.flatnonzero(codes == code)
        given = weights[rows]
        distinct = _few_distinct(given) if rows.size else None
        try:
            if distinct is not None:
                products_of = [float(simple_fraction(value) * factor) for value in distinct.tolist()]
                products[rows] = np.array(products_of)[np.searchsorted(distinct, given)]
            else:
                with np.errstate(over="ignore", under="ignore"):
                    products[rows] = given * float(factor)
        except OverflowError:
            products[rows] = np.inf
        # Below the normal numbers, rounding would change much of the product.
        coarse = bool(factor) and factor != 1
        lost = (products[rows] < np.finfo(np.float64).tiny) & (given > 0) & coarse
        if lost.any() or not np.all(np.isfinite(products[rows])):
            raise ValueError(
                "class_weight times sample_weight is too large or too small for float64: the weights of class "
                f"{code} range from {given.min():g} to {given.max():g} and are multiplied by {_shown(factor)}. Only "
                "ratios of weights matter: divide sample_weight by one number, such as its maximum, or choose other "
                "class weights"
            )
    return products


def _shown(number: Fraction) -> str:
    return f"{float(number):g}" if number < LARGEST_WEIGHT else "more than 1e+300"


def simple_fraction(value: float) -> Fraction:
    """The nearest fraction with a small denominator if it rounds to ``value``, else ``value`` exactly."""
    simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)


def share_of(value: float) -> Fraction | None:
    """The exact value of a share: its decimal form, or a simple fraction such as 1/3; None if it is not a number."""
    number = decimal(value)
    if number is None or number.denominator <= LARGEST_DENOMINATOR:
        return number
    simple = number.limit_denominator(LARGEST_DENOMINATOR)
    return simple if float(simple) == float(value) else number


def decimal(value: float) -> Fraction | None:
    """The shortest decimal form of ``value`` as an exact fraction; None if it is not a finite number."""
    if isinstance(value, (str, bytes, bytearray, np.ndarray)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return _shown_by(number) if math.isfinite(number) else None


@lru_cache(maxsize=64)
def _shown_by(number: float) -> Fraction:
    return Fraction(repr(number))
