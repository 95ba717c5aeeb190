"""Targets of trees: what rows are to be told apart by, what a leaf costs, and how the native search gets them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import apply, predict
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import root_above
from proofwood.problem.objectives import IntegerWeights, SumCost
from proofwood.problem.whole_numbers import (
    LARGEST_SUM,
    WholeNumbers,
    exact_integers,
    multiples,
    power_of_two_above,
    whole_numbers,
    whole_weights,
)

UNIT_BITS = 46
"""A unit of rounded costs is at least 2 to this power times smaller than the cost of a single leaf: finer ones leave
more sides open to rounding, coarser ones a wider gap: decisions/0093-tasks."""
LARGEST_SHIFT = 60


class Target(ABC):
    """What rows are to be told apart by."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns of the weights of a node table: the number of classes, or 1."""

    @property
    @abstractmethod
    def recorded(self) -> dict[str, Any]:
        """What a search depends on, by name: arrays and plain values."""

    @abstractmethod
    def native(self, price: int = 1) -> dict[str, Any]:
        """The argument of the native search; ``price`` multiplies costs, where the search does not do that itself."""

    @abstractmethod
    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """``table`` with weights, rows, the best prediction and its loss at each node, from rows of real weights."""

    @abstractmethod
    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntegerWeights) -> Fraction:
        """What the rows cost in ``table`` by their real weights, exactly, with the best prediction at each leaf."""

    @abstractmethod
    def integer_loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntArray) -> int:
        """The same in units of the native search, as that counts it, rounded down once."""


@dataclass(frozen=True, eq=False)
class Classes(Target):
    """Classes: a wrong row costs its weight.

    Parameters
    ----------
    codes : (n_rows,) class codes ``0..n_classes - 1``
    n_classes : int
    """

    codes: IntArray
    n_classes: int

    @property
    def n_rows(self) -> int:
        """See the base class."""
        return int(self.codes.size)

    @property
    def width(self) -> int:
        """See the base class."""
        return self.n_classes

    @property
    def recorded(self) -> dict[str, Any]:
        """See the base class."""
        return recorded_classes(self.codes, self.n_classes)

    def native(self, price: int = 1) -> dict[str, Any]:
        """See the base class."""
        return {"labels": np.ascontiguousarray(self.codes, dtype=np.int32), "n_classes": self.n_classes}

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class."""
        return refresh(table, X, self.codes, self.n_classes, weights, relabel=True)

    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntegerWeights) -> Fraction:
        """See the base class."""
        if weights.rounding is None:
            return self.integer_loss(table, X, weights.values) * weights.unit
        return weights.rounding.sum(predict(table, X) != self.codes)

    def integer_loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntArray) -> int:
        """See the base class."""
        return int(weights[predict(table, X) != self.codes].sum())


def recorded_classes(codes: IntArray, n_classes: int) -> dict[str, Any]:
    """What a search depends on that tells classes apart, as :attr:`Target.recorded`."""
    return {"n_classes": n_classes, "labels": codes}


class Moved(NamedTuple):
    """What rounding changed, for rows of all weights.

    Parameters
    ----------
    distance : bound on the root of the weighted squared distance by which numbers moved
    shift : the most by which the cost of a tree changed otherwise
    """

    distance: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)


class Weighted(NamedTuple):
    """Numbers times weights, as the native search adds them up.

    Parameters
    ----------
    values : (n_rows, k) int64
    unit : of the numbers, for weights of 1
    moved : what rounding changed
    """

    values: IntArray
    unit: Fraction
    moved: Moved


@dataclass(frozen=True, eq=False)
class SumTarget(Target):
    """A target whose costs follow from sums over the rows of a leaf, which predicts numbers: ``values`` of a table.

    Parameters
    ----------
    numbers : (n_rows, k) finite
    weights : the integer weights of the rows
    """

    numbers: FloatArray
    weights: IntegerWeights

    task: ClassVar[str]
    """Name of the native task."""
    named: ClassVar[str]
    """Name of the unit in which objectives are reported."""
    rounded: ClassVar[bool] = False
    """Whether costs of leaves are rounded down to whole units."""
    room: ClassVar[int] = 1
    """Weighted sums stay this many times smaller than they could be."""

    @property
    def shift(self) -> int:
        """A unit of the native search is 2 to this power."""
        return 0

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """Real cost of a unit of the native search, per unit of weight."""

    @property
    def n_rows(self) -> int:
        """See the base class."""
        return int(self.numbers.shape[0])

    @property
    def width(self) -> int:
        """See the base class."""
        return 1

    @cached_property
    def whole(self) -> WholeNumbers:
        """The numbers as whole numbers, row after row: what they are read as does not depend on the weights."""
        return whole_numbers(self.numbers.ravel())

    @property
    def fits(self) -> bool:
        """Whether whole numbers times whole weights can be added up, and nothing is rounded."""
        values = self.whole.values
        spread = int(values.max(initial=0)) - int(values.min(initial=0))
        exact = self.whole.error == 0 and self.weights.rounding is None
        return exact and int(self.weights.values.sum()) * spread < LARGEST_SUM // self.room

    @property
    def from_middle(self) -> tuple[FloatArray, Fraction]:
        """(n_rows, k) the numbers less one near their middle, and their unit; float64 rounds the difference alone."""
        if self.whole.error == 0:
            return self.whole.values.reshape(self.numbers.shape).astype(np.float64), self.whole.unit
        return self.numbers - (self.numbers.min() / 2 + self.numbers.max() / 2), Fraction(1)

    @cached_property
    @abstractmethod
    def weighted(self) -> Weighted:
        """The argument of the native search."""

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """The most that a row of weight 1 can cost if its weight is rounded; 0 if weights are not rounded for costs."""

    @abstractmethod
    def row_sums(self) -> list[npt.NDArray[Any]]:
        """(n_rows,) whole numbers of ``exactly``, per sum, of rows of weight 1."""

    @abstractmethod
    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """The least that a leaf costs that holds this weight and these weighted sums."""

    @abstractmethod
    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """What such a leaf predicts."""

    def label_of(self, sums: list[int]) -> int:
        """The label of such a leaf: 0, if it predicts numbers."""
        return 0

    def costs_at(self, table: NodeTable, weight: list[int], sums: list[list[int]]) -> tuple[list[int], list[Fraction]]:
        """The label of each node, and what a leaf with it costs there."""
        none = Fraction(0)
        losses = [self.loss_of(*node) if node[0] else none for node in zip(weight, sums, strict=True)]
        return [self.label_of(of_node) for of_node in sums], losses

    def alone(self, X: npt.ArrayLike) -> NodeTable:
        """The best single leaf for rows ``X``."""
        return NodeTable.leaf(0, self.width)

    @abstractmethod
    def counted(self, leaf: IntArray, n_nodes: int) -> int:
        """What a tree costs as the native search counts it, in its units and rounded down once.

        Parameters
        ----------
        leaf : (n_rows,) node of each row
        n_nodes : int
        """

    @cached_property
    def exactly(self) -> tuple[npt.NDArray[Any], Fraction, int]:
        """(n_rows, k) whole numbers without rounding, their unit, and their zero."""
        if self.whole.error == 0:
            return self.whole.values.reshape(self.numbers.shape), self.whole.unit, self.whole.zero
        values, unit = exact_integers(self.numbers.ravel())
        return values.reshape(self.numbers.shape), unit, 0

    @cached_property
    def exact_weights(self) -> tuple[npt.NDArray[Any], Fraction]:
        """(n_rows,) whole numbers that equal the real weights, and their unit."""
        values, unit, rounding = self.weights
        return (values, unit) if rounding is None else exact_integers(rounding.weights)

    @property
    def recorded(self) -> dict[str, Any]:
        """See the base class."""
        return {"task": self.task, "numbers": self.numbers}

    def native(self, price: int = 1) -> dict[str, Any]:
        """See the base class."""
        return {"task": self.task, "numbers": np.ascontiguousarray(self.weighted.values * price), "shift": self.shift}

    def prices(self, *, slack: int) -> SumCost:
        """The cost of trees, without a price of leaves.

        Parameters
        ----------
        slack : number of parts of a tree whose costs are rounded down to whole units
        """
        values, unit, rounding = self.weights
        none = Fraction(0)
        return SumCost(
            total=int(values.sum()),
            unit=unit,
            cost_unit=self.unit * unit,
            largest=0 if self.rounded else max(1, int(self.weighted.values.max(axis=1).sum())),
            named=self.named,
            above=none if rounding is None else rounding.above,
            below=none if rounding is None else rounding.below,
            slack=slack if self.rounded else 0,
            spread=self.spread,
            distance=self.weighted.moved.distance,
            shift=self.weighted.moved.shift,
        )

    def sums_at(
        self, table: NodeTable, X: npt.ArrayLike, weights: npt.NDArray[Any]
    ) -> tuple[list[int], list[list[int]]]:
        """The weight and the weighted sums of the rows at each node, exactly."""
        leaf = apply(table, X)
        at_nodes = []
        for numbers in (np.ones(self.n_rows, dtype=np.int64), *self.row_sums()):
            at = exact_dots(numbers, weights, leaf, table.n_nodes)
            for node in reversed(list(table.splits())):
                at[node] = at[table.low[node]] + at[table.high[node]]
            at_nodes.append(at)
        weight, *sums = at_nodes
        return weight, [list(of_node) for of_node in zip(*sums, strict=True)]

    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntegerWeights) -> Fraction:
        """See the base class."""
        values, unit, rounding = weights
        exactly, unit = (values, unit) if rounding is None else exact_integers(rounding.weights)
        weight, sums = self.sums_at(table, X, exactly)
        _, losses = self.costs_at(table, weight, sums)
        leaves = np.flatnonzero(table.feature == LEAF).tolist()
        return unit * sum((losses[leaf] for leaf in leaves), Fraction(0))

    def integer_loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntArray) -> int:
        """See the base class."""
        return self.counted(apply(table, X), table.n_nodes)

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class."""
        counted = refresh(table, X, np.zeros(self.n_rows, dtype=np.int64), 1, weights)
        whole, unit = whole_weights(weights)
        weight, sums = self.sums_at(table, X, whole)
        at_nodes = list(zip(weight, sums, strict=True))
        values = [self.values_of(*node) if node[0] else [] for node in at_nodes]
        known = next(one for one in values if one)  # the root has rows
        labels, losses = self.costs_at(table, weight, sums)
        return counted.changed(
            values=np.array([one or known for one in values]),
            loss=np.array([float(unit * loss) for loss in losses]),
            label=labels,
        )


def exact_dots(numbers: npt.NDArray[Any], weights: npt.NDArray[Any], cell: IntArray, n_cells: int) -> list[int]:
    """The sums of products of whole numbers in each cell, which may exceed 64 bits."""
    largest = [int(max(array.max(initial=0), -array.min(initial=0))) for array in (numbers, weights)]
    small = largest[0] * largest[1] * max(1, numbers.size) < 2**63
    products = numbers.astype(np.int64 if small else object) * weights.astype(np.int64 if small else object)
    sums = np.zeros(n_cells, dtype=products.dtype)
    np.add.at(sums, cell, products)
    return [int(total) for total in sums]


# ------------------------------------------------------------------------------------------------------- numbers


class Numbers(SumTarget):
    """Numbers: a row costs the square of its distance from the mean of its leaf."""

    task = "squared_error"
    named = "squared error"
    rounded = True

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

    @cached_property
    def shift(self) -> int:
        """A unit of the native search is 2 to this power."""
        root = self._counted_at(np.zeros(self.n_rows, dtype=np.int64), 1)
        bits = math.floor(root).bit_length()
        return min(LARGEST_SHIFT, max(-LARGEST_SHIFT, bits - UNIT_BITS))

    def _counted_at(self, leaf: IntArray, n_nodes: int) -> Fraction:
        """What a tree costs, in squares of the unit of the weighted numbers."""
        weights, z = self.weights.values, self.weighted.values[:, 0]
        large = z.astype(object) if int(np.abs(z).max(initial=0)) >= 2**31 else z
        own = (large * large + (weights - 1)) // weights
        ones = np.ones(self.n_rows, dtype=np.int64)
        total = Fraction(sum(exact_dots(own, ones, leaf, n_nodes)))
        sums, sizes = exact_dots(z, ones, leaf, n_nodes), exact_dots(weights, ones, leaf, n_nodes)
        return total - sum((Fraction(s * s, w) for s, w in zip(sums, sizes, strict=True) if w), Fraction(0))

    def counted(self, leaf: IntArray, n_nodes: int) -> int:
        """See the base class."""
        return math.floor(self._counted_at(leaf, n_nodes) / Fraction(2) ** self.shift)

    @property
    def unit(self) -> Fraction:
        """See the base class."""
        return Fraction(2) ** self.shift * self.weighted.unit**2

    def row_sums(self) -> list[npt.NDArray[Any]]:
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

    def row_sums(self) -> list[npt.NDArray[Any]]:
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
