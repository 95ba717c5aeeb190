"""Targets of numbers: the mean of a leaf, or the rewards of its action."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from proofwood.model.node_table import IntArray
from proofwood.model.sums import root_above
from proofwood.problem.targets.base import Integers, Moved, RoundedTarget, SumTarget, Weighted, exact_dots
from proofwood.problem.whole_numbers import LARGEST_SUM, multiples, power_of_two_above


class Numbers(RoundedTarget):
    """Numbers: a row costs the square of its distance from the mean of its leaf."""

    task = "squared_error"
    named = "squared error"

    @cached_property
    def weighted(self) -> Weighted:
        """See the base class."""
        values, weights = self.whole.values, self.weights.values
        if self.fits:
            return Weighted((values * weights).reshape(-1, 1), self.whole.unit, Moved())
        numbers, base = self.from_middle
        away = numbers[:, 0]
        largest = Fraction(float(np.abs(away).max()))
        if largest:  # of a scale at which neither products nor their sum leave float64
            largest *= Fraction(float(np.sum(np.abs(away) / float(largest) * weights)))
        unit = power_of_two_above(largest / (LARGEST_SUM // 2))
        rounded = multiples(away, unit, weights.astype(np.float64))
        unit *= base
        # Each number moves by a unit or less, over its weight; its own cost is rounded up.
        squared = unit**2 * Fraction(float(np.sum(1 / weights.astype(np.float64)) * (1 + 1e-9)))
        squared *= self.weights.unit
        own = unit**2 * self.n_rows * self.weights.unit
        return Weighted(rounded.reshape(-1, 1), unit, Moved(root_above(squared), own))

    def counted_at(self, leaf: IntArray, n_nodes: int) -> Fraction:
        """See the base class."""
        weights, z = self.weights.values, self.weighted.values[:, 0]
        large = z.astype(object) if int(np.abs(z).max(initial=0)) >= 2**31 else z
        own = (large * large + (weights - 1)) // weights
        ones = np.ones(self.n_rows, dtype=np.int64)
        total = Fraction(sum(exact_dots(own, ones, leaf, n_nodes)))
        sums, sizes = exact_dots(z, ones, leaf, n_nodes), exact_dots(weights, ones, leaf, n_nodes)
        return total - sum((Fraction(s * s, w) for s, w in zip(sums, sizes, strict=True) if w), Fraction(0))

    @property
    def cost_of_one(self) -> Fraction:
        """See the base class."""
        return self.weighted.unit**2

    def row_sums(self) -> list[Integers]:
        """See the base class."""
        numbers = self.exactly[0][:, 0]
        small = numbers.dtype != object and int(np.abs(numbers).max(initial=0)) < 2**31
        return [numbers, (numbers if small else numbers.astype(object)) ** 2]

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class."""
        return (sums[1] - Fraction(sums[0] ** 2, weight)) * self.exactly[1] ** 2

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        _, unit, zero = self.exactly
        return [float((Fraction(sums[0], weight) + zero) * unit)]

    @property
    def spread(self) -> Fraction:
        """See the base class."""
        numbers, unit, _ = self.exactly
        return Fraction(int(numbers.max()) - int(numbers.min())) ** 2 * unit**2


class Rewards(SumTarget):
    """Rewards of actions: a row costs the reward of its best action less that of the action of its leaf."""

    task = "policy"
    named = "lost reward"
    most_columns = None

    @cached_property
    def weighted(self) -> Weighted:
        """See the base class."""
        if self.fits:
            whole = self.whole.values.reshape(self.numbers.shape)
            lost = whole.max(axis=1, keepdims=True) - whole
            return Weighted(lost * self.weights.values[:, np.newaxis], self.whole.unit, Moved())
        rounding = self.weights.rounding
        weights = self.weights.values.astype(np.float64) if rounding is None else rounding.weights
        # Counted from the numbers themselves, each difference is off by a part of itself, whatever rows have in common.
        exact = self.whole.error == 0
        numbers, base = self.from_middle if exact else (self.numbers, Fraction(1))
        losses = numbers.max(axis=1, keepdims=True) - numbers
        largest = Fraction(float(losses.max()))
        if largest:  # as above
            largest *= Fraction(float(np.sum(losses.max(axis=1) / float(largest) * weights)))
        unit = power_of_two_above(largest / (LARGEST_SUM // (2 * self.room)))
        values = multiples(losses, unit, weights[:, np.newaxis])
        unit *= base
        # half a unit by rounding, and less than that by the two operations in float64
        per_weight = unit * (self.weights.unit if rounding is None else 1)
        unit = unit if rounding is None else unit / self.weights.unit
        return Weighted(values, unit, Moved(shift=2 * per_weight * self.n_rows))

    @property
    def unit(self) -> Fraction:
        """See the base class."""
        return self.weighted.unit

    def counted(self, leaf: IntArray, n_nodes: int) -> int:
        """See the base class."""
        ones = np.ones(self.n_rows, dtype=np.int64)
        return sum(
            map(min, zip(*(exact_dots(losses, ones, leaf, n_nodes) for losses in self.weighted.values.T), strict=True))
        )

    def row_sums(self) -> list[Integers]:
        """See the base class."""
        numbers = self.exactly[0]
        return [numbers.max(axis=1), *numbers.T]

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class."""
        best, *actions = sums
        return (best - max(actions)) * self.exactly[1]

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        _, unit, zero = self.exactly
        return [float((Fraction(total, weight) + zero) * unit) for total in sums[1:]]

    def label_of(self, sums: list[int]) -> int:
        """See the base class."""
        return sums[1:].index(max(sums[1:]))

    def best_mean(self) -> tuple[Fraction, Fraction]:
        """The mean reward of each row's best action, and the sum of the real weights."""
        whole, unit_of_weight = self.exact_weights
        numbers, unit, zero = self.exactly
        none = np.zeros(self.n_rows, dtype=np.int64)
        (best,), (weight,) = (exact_dots(one, whole, none, 1) for one in (numbers.max(axis=1), none + 1))
        return (Fraction(best, weight) + zero) * unit, weight * unit_of_weight

    @property
    def spread(self) -> Fraction:
        """See the base class."""
        return Fraction(0)
