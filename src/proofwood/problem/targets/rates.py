"""Targets of rates: events of exposures, such as counts, deaths in time, or sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from proofwood.exceptions import DataError
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.ranked import require_time
from proofwood.problem.targets.base import (
    LARGEST_SHIFT,
    LOG_UNIT_BITS,
    Integers,
    Moved,
    RoundedTarget,
    Weighted,
    exact_dots,
    exact_weights,
    products,
)
from proofwood.problem.targets.logarithms import PLACES, log_of
from proofwood.problem.whole_numbers import LARGEST_SUM, exact_integers, whole_numbers

CLOCK_ROWS = 4096
"""Rows between two looks at the clock."""
OWN_BITS = 38
"""The native search counts the cost of a row by itself up to 2 to minus this power."""
DECIDED_BITS = 79
"""A unit is at least 2 to minus this power of what it is counted from: native code knows that to 2**-99."""


class Deviances(NamedTuple):
    """Whole exposures and amounts of rows, from which the cost of leaves follows.

    Parameters
    ----------
    exposure, amount : (n_rows,) from 1, and from 0
    logs : (n_rows,) logarithm of each row's rate, as of ``log_of``; 0 where the amount is 0
    rank : (n_rows,) place of the rate among all: equal where rates are equal
    """

    exposure: Integers
    amount: Integers
    logs: Integers
    rank: IntArray

    @classmethod
    def of(cls, exposure: Integers, amount: Integers, deadline: float | None) -> Deviances:
        """From exposures and amounts of at most 53 bits: of such quotients, equal ones alone have equal logarithms.

        Raise OutOfTime at the deadline.
        """
        known: dict[tuple[int, int], int] = {}
        logs: list[int] = []
        for part, whole in zip(amount.tolist(), exposure.tolist(), strict=True):
            if len(logs) % CLOCK_ROWS == 0:
                require_time(deadline)
            if (part, whole) not in known:
                divisor = math.gcd(part, whole)
                known[part, whole] = log_of(part // divisor, whole // divisor) if part else 0
            logs.append(known[part, whole])
        rank = np.unique(logs, return_inverse=True)[1].reshape(-1) + 1
        rank[amount == 0] = 0
        return cls(exposure, amount, np.array(logs, dtype=object), rank)

    def times(self, weights: Integers) -> Deviances:
        """The same rows with weights."""
        return self._replace(exposure=products(self.exposure, weights), amount=products(self.amount, weights))

    def uneven(self, leaf: IntArray, n_nodes: int) -> BoolArray:
        """(n_nodes,) whether the rows at a node have different rates."""
        first, last = np.full(n_nodes, self.rank.size + 1), np.full(n_nodes, -1)
        np.minimum.at(first, leaf, self.rank)
        np.maximum.at(last, leaf, self.rank)
        return np.asarray(first < last)

    def least(self, leaf: IntArray, n_nodes: int) -> Fraction:
        """Half of the deviance of a tree, or just less."""
        ones = np.ones(leaf.size, dtype=np.int64)
        exposure, amount = (exact_dots(numbers, ones, leaf, n_nodes) for numbers in self[:2])
        own = exact_dots(self.amount, self.logs, leaf, n_nodes)
        nodes = np.flatnonzero(self.uneven(leaf, n_nodes)).tolist()
        return max(Fraction(0), sum((half_deviance(exposure[i], amount[i], own[i], -1) for i in nodes), Fraction(0)))


def half_deviance(exposure: int, amount: int, own: int, side: int) -> Fraction:
    """Half of the deviance of a leaf with an amount: rounded up for a ``side`` of 1, and down for -1."""
    return Fraction(own - amount * log_of(amount, exposure) + side * 2 * amount, 2**PLACES)


@dataclass(frozen=True, eq=False)
class Rates(RoundedTarget):
    r"""Rates: amounts per exposure. A leaf predicts the sum of its amounts over that of its exposures.

    With amounts :math:`a`, exposures :math:`x`, weights :math:`w` and the rate :math:`r` of a leaf, rows cost their
    deviance :math:`2 \sum w (a \log \frac{a}{x r} - a + x r)`, twice what they fall short in log-likelihood of a model
    that gives each row a rate of its own. ``numbers``: (n_rows, 2), exposures above 0 and amounts from 0; a single
    column holds amounts of exposure 1.

    Raises
    ------
    DataError
        If an exposure is not above 0, an amount is below 0, or float64 cannot hold a rate.
    """

    unit_bits: int = LOG_UNIT_BITS

    task = "deviance"
    named = "deviance"
    most_columns = 2

    def __post_init__(self) -> None:
        """Check the numbers."""
        exposure, amount = self.pair
        if not (exposure > 0).all() or not (amount >= 0).all():
            raise DataError(
                f"exposures go from {exposure.min():g} and amounts from {amount.min():g}: expected exposures (weights "
                "of counts, times, or sizes) above 0, and amounts (counts or events) from 0"
            )
        with np.errstate(over="ignore", under="ignore"):
            rates = amount / exposure
        if not np.isfinite(rates).all() or (rates[amount > 0] < np.finfo(np.float64).tiny).any():
            raise DataError(
                f"rates of exposures from {exposure.min():g} to {exposure.max():g} are beyond float64: multiply or "
                "divide all of them by a power of ten"
            )

    @property
    def pair(self) -> tuple[FloatArray, FloatArray]:
        """(n_rows,) exposures and amounts."""
        *exposure, amount = self.numbers.T
        return exposure[0] if exposure else np.ones(self.n_rows), amount

    @cached_property
    def read(self) -> tuple[Deviances, Fraction, Fraction]:
        """The pair as whole numbers without rounding, and their units."""
        found, units = [], []
        for numbers in self.pair:
            whole = whole_numbers(numbers)
            values, unit = (whole.values + whole.zero, whole.unit) if whole.error == 0 else exact_integers(numbers)
            found.append(values)
            units.append(unit)
        return Deviances.of(found[0], found[1], self.deadline), units[0], units[1]

    @cached_property
    def given(self) -> tuple[Deviances, int, Weighted]:
        """What the native search counts, the power of two that it counts as 1, and its argument."""
        rows, _, unit = self.read
        weights, of_weight = exact_weights(self.weights)
        real = rows.times(weights)
        (exposure, _), (amount, power) = shifts = [scaled(numbers) for numbers in real[:2]]
        # without amounts nothing costs anything, and exposures are counted against a rate of 1
        exposure = np.maximum(exposure, 1) if amount.any() else np.ones_like(exposure)
        exact = shifts[0][1] >= 0 and power >= 0
        unit *= of_weight / self.weights.unit / Fraction(2) ** power
        most = Fraction(2 * self._moved(real, exposure, amount, shifts[0][1], power))
        moved = Moved(shift=most * unit * self.weights.unit)
        weighted = Weighted(np.column_stack([exposure, amount]), unit, moved)
        return (real, power, weighted) if exact else (Deviances.of(exposure, amount, self.deadline), 0, weighted)

    @staticmethod
    def _moved(given: Deviances, exposure: IntArray, amount: IntArray, place: int, power: int) -> float:
        r"""Bound on what rounding changed in half the deviance of a tree, in units of ``amount``.

        An exposure that moves from :math:`e` to :math:`e'` changes the cost of its row by :math:`s |\log (e'/e)|` at
        most, and that of its leaf by :math:`S |\log (E'/E)|`. All leaves together change by no more than the sum of
        :math:`s` times the largest :math:`|\log (e'/e)|`, than the largest rate times the sum of all distances, and
        than the largest :math:`s` times the sum of :math:`d / e` for the largest distance :math:`d`. An amount that
        moves by half a unit changes the cost by half the logarithm of its rate over that of its leaf:
        docs/theory/optimal-trees.md, "Tasks".
        """
        moved = amount.size * 2.0**-OWN_BITS
        s = amount + (0.5 if power < 0 else 0.0)
        rate = (s + 0.5) / exposure
        if power < 0:
            most = np.log(np.maximum(exposure.sum() / exposure, 2 * rate.max() / np.maximum(amount, 1) * exposure))
            one = np.where(amount > 0, np.minimum(0.5 * most, 20.0), 20.0)
            moved += float(one[given.amount != 0].sum())
        if place < 0 and amount.any():
            ratio = 0.5 / (np.maximum(exposure, 2) - 0.5)
            for row in np.flatnonzero(exposure == 1).tolist():  # of any size below 1.5
                ratio[row] = max(0.5, -place * math.log(2) - math.log(given.exposure[row])) + 1e-9
            with np.errstate(over="ignore"):
                grown = np.exp(ratio)
                apart = np.where(exposure == 1, 1.0, 0.5)
                leaves = (
                    s.sum() * ratio.max(),
                    (rate * grown).max() * apart.sum(),
                    s.max() * apart.max() * (grown / exposure).sum(),
                )
            moved += float((s * ratio).sum()) + float(min(leaves))
        return moved * (1 + 1e-9)

    @property
    def weighted(self) -> Weighted:
        """See the base class."""
        return self.given[2]

    @cached_property
    def least_shift(self) -> int:
        """See the base class."""
        exposure, amount = self.weighted.values.T.astype(np.float64)
        logs = np.abs(np.log(amount / exposure, where=amount > 0, out=np.full(amount.size, math.log(LARGEST_SUM))))
        size = float(amount.sum()) * (2 * float(logs.max()) + 1)
        counted = math.frexp(size)[1] - DECIDED_BITS
        return max(-LARGEST_SHIFT, counted, self.n_rows.bit_length() - OWN_BITS)

    @property
    def cost_of_one(self) -> Fraction:
        """See the base class."""
        return 2 * self.weighted.unit

    def counted_at(self, leaf: IntArray, n_nodes: int) -> Fraction:
        """See the base class."""
        rows, power, _ = self.given
        return rows.least(leaf, n_nodes) * Fraction(2) ** power

    def row_sums(self) -> list[Integers]:
        """See the base class."""
        rows = self.read[0]
        return [rows.exposure, rows.amount, rows.amount * rows.logs]

    def costly(self, leaf: IntArray, n_nodes: int) -> BoolArray:
        """See the base class."""
        return self.read[0].uneven(leaf, n_nodes)

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class: rounded up by less than 2**-190 of the amounts."""
        exposure, amount, own = sums
        if not amount:
            return Fraction(0)
        return 2 * half_deviance(exposure, amount, own, 1) * self.read[2]

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        _, of_exposure, of_amount = self.read
        return [float(Fraction(sums[1], sums[0]) * (of_amount / of_exposure))]

    @property
    def spread(self) -> Fraction:
        """See the base class."""
        return Fraction(0)


def scaled(numbers: Integers) -> tuple[IntArray, int]:
    """Whole numbers from 0 times a power of two, rounded, so that their sum is below the largest, and the power."""
    total = int(numbers.sum())
    power = LARGEST_SUM.bit_length() - 1 - total.bit_length() if total else 0
    if power >= 0:
        return np.asarray(numbers.astype(np.int64) << power), power
    return np.asarray(((numbers + (1 << (-power - 1))) >> -power).astype(np.int64)), power


class PoissonRates(Rates):
    """Counts of exposures, such as years: 1 without them. The deviance is that of scikit-learn, times the weights."""

    named = "Poisson deviance"


class ExponentialRates(Rates):
    """Events (0 or 1) of times: survival with one hazard per leaf, and the full likelihood deviance [1]_.

    References
    ----------
    .. [1] LeBlanc, Crowley (1992), Relative risk trees for censored survival data, Biometrics 48.
    """

    named = "exponential deviance"


class GammaMeans(Rates):
    """Numbers above 0, such as amounts of claims. A leaf predicts their mean; the deviance is that of scikit-learn."""

    named = "gamma deviance"
    most_columns = 1

    @property
    def pair(self) -> tuple[FloatArray, FloatArray]:
        """See the base class: the inverse of a mean is a rate."""
        return self.numbers[:, 0], np.ones(self.n_rows)

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        _, of_number, of_one = self.read
        return [float(Fraction(sums[0], sums[1]) * (of_number / of_one))]
