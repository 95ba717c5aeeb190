"""Targets of class shares: a leaf predicts how likely each class is."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from proofwood.exceptions import DataError
from proofwood.model.node_table import IntArray
from proofwood.problem.targets.base import LOG_UNIT_BITS, Integers, Moved, RoundedTarget, Weighted, exact_dots
from proofwood.problem.targets.logarithms import PLACES, log_of

MOST_CLASSES = 16
"""Of the native kernels."""
LOG_LOSS_BITS, GINI_BITS = 60, 52
"""A unit is at least 2 to minus this power of the weight of all rows: the native search rounds the cost of a leaf by
2**-45 and 2**-48 of its weight, and counts a cost again in whole numbers where that leaves more than one unit open."""


@dataclass(frozen=True, eq=False)
class ClassShares(RoundedTarget):
    """Classes, of which a leaf predicts the shares of weight; its label is the heaviest class.

    Parameters
    ----------
    numbers : (n_rows, 1) class codes ``0..n_classes - 1``
    n_classes : by default up to the largest code

    Raises
    ------
    DataError
        If there are too many classes.
    """

    n_classes: int = 0

    def __post_init__(self) -> None:
        """Count the classes."""
        codes = self.numbers[:, 0]
        if not np.isfinite(codes).all() or (codes != np.floor(codes)).any() or codes.min() < 0:
            raise DataError(f"class codes go from {codes.min():g} to {codes.max():g}: expected whole numbers from 0")
        object.__setattr__(self, "n_classes", max(self.n_classes, int(codes.max()) + 1))
        if self.n_classes > MOST_CLASSES:
            raise DataError(
                f"the target has {self.n_classes} classes: {self.named} is for up to {MOST_CLASSES} classes. Join rare "
                "classes, or count errors"
            )

    @cached_property
    def columns(self) -> IntArray:
        """See the base class."""
        return self.numbers[:, 0].astype(np.int64)

    @property
    def width(self) -> int:
        """See the base class."""
        return self.n_classes

    def row_sums(self) -> list[Integers]:
        """See the base class."""
        return [(self.columns == code).astype(np.int64) for code in range(self.n_classes)]

    def counted_at(self, leaf: IntArray, n_nodes: int) -> Fraction:
        """See the base class."""
        ones, k = np.ones(self.n_rows, dtype=np.int64), self.n_classes
        sums = exact_dots(self.weights.values, ones, leaf * k + self.columns, n_nodes * k)
        nodes = (sums[first : first + k] for first in range(0, n_nodes * k, k))
        return sum((self.counted_of(node) for node in nodes if any(node)), Fraction(0))

    @abstractmethod
    def counted_of(self, sums: list[int]) -> Fraction:
        """What a leaf of these weights of classes costs in the numbers of the native search, or just less."""

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        return [float(Fraction(one, weight)) for one in sums]

    def label_of(self, sums: list[int]) -> int:
        """See the base class."""
        return sums.index(max(sums))


@dataclass(frozen=True, eq=False)
class LogLoss(ClassShares):
    r"""Class shares by logarithmic loss: a row of weight :math:`w` costs :math:`-w \log p` of its class."""

    unit_bits: int = LOG_UNIT_BITS

    task = "log_loss"
    named = "log loss"

    @cached_property
    def weighted(self) -> Weighted:
        """See the base class."""
        sums = [of_class * self.weights.values for of_class in self.row_sums()]
        return Weighted(np.column_stack(sums), Fraction(1), Moved(shift=self._moved))

    @property
    def _moved(self) -> Fraction:
        r"""Bound on what rounded weights change.

        A weight that grows by :math:`d` adds :math:`d (1 + \log (W / d))` at most to the cost of a leaf of weight below
        :math:`W`. For a given sum of all :math:`d` that is largest if they are equal.
        """
        rounding = self.weights.rounding
        apart = Fraction(0) if rounding is None else rounding.above + rounding.below
        if rounding is None or not apart:
            return Fraction(0)
        ratio = (rounding.total + apart) * self.n_rows / apart
        return apart * Fraction(1 + (math.log(ratio.numerator) - math.log(ratio.denominator)) * (1 + 1e-9))

    @property
    def least_shift(self) -> int:
        """See the base class."""
        return int(self.weights.values.sum()).bit_length() - LOG_LOSS_BITS

    @property
    def cost_of_one(self) -> Fraction:
        """See the base class."""
        return Fraction(1)

    def counted_of(self, sums: list[int]) -> Fraction:
        """See the base class."""
        return self._cost(sums, -1)

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class: rounded up by less than 2**-190 of the weights."""
        return self._cost(sums, 1)

    @staticmethod
    def _cost(sums: list[int], side: int) -> Fraction:
        total = sum(sums)
        if total in sums:
            return Fraction(0)
        cost = sum(one * (side - log_of(one, total)) for one in sums if one)
        return Fraction(max(0, cost), 2**PLACES)

    @property
    def spread(self) -> Fraction:
        """See the base class."""
        return Fraction(0)


class Gini(ClassShares):
    r"""Class shares by Gini impurity: a leaf costs :math:`\sum w (1 - \sum p^2)`, the squared error of its shares."""

    task = "squared_error"
    named = "Gini impurity"

    @cached_property
    def weighted(self) -> Weighted:
        """See the base class."""
        sums = [of_class * self.weights.values for of_class in self.row_sums()]
        two = self.n_classes == 2  # then both classes have the same squared error
        return Weighted(np.column_stack(sums[1:] if two else sums), Fraction(1), Moved())

    @property
    def least_shift(self) -> int:
        """See the base class."""
        return int(self.weights.values.sum()).bit_length() - GINI_BITS

    @property
    def cost_of_one(self) -> Fraction:
        """See the base class."""
        return Fraction(2 if self.n_classes == 2 else 1)

    def counted_of(self, sums: list[int]) -> Fraction:
        """See the base class."""
        return self.loss_of(sum(sums), sums) / self.cost_of_one

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class."""
        return weight - Fraction(sum(one * one for one in sums), weight)

    @property
    def spread(self) -> Fraction:
        """See the base class: a row is at most the square root of 2 away from the shares."""
        return Fraction(2)
