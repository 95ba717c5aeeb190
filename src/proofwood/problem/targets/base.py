"""What all targets have in common, and classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import apply, predict
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.problem.objectives import IntegerWeights, SumCost
from proofwood.problem.whole_numbers import LARGEST_SUM, WholeNumbers, exact_integers, whole_numbers, whole_weights

UNIT_BITS = 46
"""A unit of rounded costs is at least 2 to this power times smaller than the cost of a single leaf: finer ones leave
more sides open to rounding, coarser ones a wider gap: decisions/0093-tasks."""
LOG_UNIT_BITS = 40
"""The same for costs with logarithms, whose kernels know a cost to 2**-45: finer units leave more sides open."""
LARGEST_SHIFT = 60
Integers = npt.NDArray[Any]
"""Whole numbers: int64, or Python integers where these exceed it."""


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
    most_columns: ClassVar[int | None] = 1
    """Most numbers of a row; None for any number of them."""
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

    @property
    def columns(self) -> IntArray:
        """(n_rows,) column of the weights of a node table to which a row is added."""
        return np.zeros(self.n_rows, dtype=np.int64)

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
    def row_sums(self) -> list[Integers]:
        """(n_rows,) whole numbers, per sum, of rows of weight 1."""

    @abstractmethod
    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """The least that a leaf costs that holds this weight and these weighted sums."""

    @abstractmethod
    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """What such a leaf predicts."""

    def costly(self, leaf: IntArray, n_nodes: int) -> BoolArray:
        """(n_nodes,) whether a node has rows that may cost something together."""
        return np.bincount(leaf, minlength=n_nodes) > 0

    def label_of(self, sums: list[int]) -> int:
        """The label of such a leaf: 0, if it predicts numbers."""
        return 0

    def costs_at(
        self, table: NodeTable, weight: list[int], sums: list[list[int]], costly: BoolArray
    ) -> tuple[list[int], list[Fraction]]:
        """The label of each node, and what a leaf with it costs there; 0 where a node is not ``costly``."""
        none = Fraction(0)
        losses = [
            self.loss_of(of_weight, of_sums) if of_weight and costs else none
            for of_weight, of_sums, costs in zip(weight, sums, costly.tolist(), strict=True)
        ]
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
    def exactly(self) -> tuple[Integers, Fraction, int]:
        """(n_rows, k) whole numbers without rounding, their unit, and their zero."""
        if self.whole.error == 0:
            return self.whole.values.reshape(self.numbers.shape), self.whole.unit, self.whole.zero
        values, unit = exact_integers(self.numbers.ravel())
        return values.reshape(self.numbers.shape), unit, 0

    @cached_property
    def exact_weights(self) -> tuple[Integers, Fraction]:
        """(n_rows,) whole numbers that equal the real weights, and their unit."""
        return exact_weights(self.weights)

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

    def sums_at(self, table: NodeTable, leaf: IntArray, weights: Integers) -> tuple[list[int], list[list[int]]]:
        """The weight and the weighted sums of the rows at each node, exactly."""
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
        exactly, unit = exact_weights(weights)
        leaf = apply(table, X)
        weight, sums = self.sums_at(table, leaf, exactly)
        _, losses = self.costs_at(table, weight, sums, self.costly(leaf, table.n_nodes))
        return unit * sum((losses[node] for node in np.flatnonzero(table.feature == LEAF).tolist()), Fraction(0))

    def integer_loss(self, table: NodeTable, X: npt.ArrayLike, weights: IntArray) -> int:
        """See the base class."""
        return self.counted(apply(table, X), table.n_nodes)

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class."""
        counted = refresh(table, X, self.columns, self.width, weights)
        whole, unit = whole_weights(weights)
        leaf = apply(table, X)
        weight, sums = self.sums_at(table, leaf, whole)
        at_nodes = list(zip(weight, sums, strict=True))
        costly = (table.feature != LEAF) | self.costly(leaf, table.n_nodes)
        values = [self.values_of(*node) if node[0] else [] for node in at_nodes]
        known = next(one for one in values if one)  # the root has rows
        labels, losses = self.costs_at(table, weight, sums, costly)
        return counted.changed(
            values=np.array([one or known for one in values]),
            loss=np.array([float(unit * loss) for loss in losses]),
            label=labels,
        )


@dataclass(frozen=True, eq=False)
class RoundedTarget(SumTarget):
    """A sum target whose costs are no whole numbers: the native search rounds them down to whole units.

    Parameters
    ----------
    unit_bits : a unit is about 2 to this power times smaller than the cost of a single leaf
    deadline : time of ``time.monotonic()`` at which slow reading of the numbers ends with OutOfTime; None for no limit
    """

    unit_bits: int = UNIT_BITS
    deadline: float | None = None

    rounded = True

    @property
    @abstractmethod
    def cost_of_one(self) -> Fraction:
        """Real cost, per unit of weight, of a cost of 1 in the numbers of the native search."""

    @abstractmethod
    def counted_at(self, leaf: IntArray, n_nodes: int) -> Fraction:
        """What a tree costs in the numbers of the native search, or just less."""

    @property
    def least_shift(self) -> int:
        """A unit of the native search is at least 2 to this power."""
        return -LARGEST_SHIFT

    @cached_property
    def bits(self) -> int:
        """A single leaf costs less than 2 to this power."""
        return bits_of(self.counted_at(np.zeros(self.n_rows, dtype=np.int64), 1))

    @cached_property
    def shift(self) -> int:
        """A unit of the native search is 2 to this power."""
        return min(LARGEST_SHIFT, max(self.least_shift, self.bits - self.unit_bits))

    def rescaled(self, by: int) -> Self:
        """The same target with a unit that is 2 to the power ``by`` as large, within limits."""
        return replace(self, unit_bits=self.bits - self.shift - by)

    @property
    def unit(self) -> Fraction:
        """See the base class."""
        return Fraction(2) ** self.shift * self.cost_of_one

    def counted(self, leaf: IntArray, n_nodes: int) -> int:
        """See the base class."""
        return math.floor(self.counted_at(leaf, n_nodes) / Fraction(2) ** self.shift)


def exact_weights(weights: IntegerWeights) -> tuple[Integers, Fraction]:
    """The real weights of rows as whole numbers of a unit."""
    return (weights.values, weights.unit) if weights.rounding is None else exact_integers(weights.rounding.weights)


def bits_of(value: Fraction) -> int:
    """A power of two above a number: the least one, or the next; 0 for 0."""
    if value >= 1:
        return math.floor(value).bit_length()
    return value.numerator.bit_length() - value.denominator.bit_length() + 1 if value else 0


def products(numbers: Integers, weights: Integers) -> Integers:
    """Whole numbers times weights, as int64 where the sum of all fits."""
    if numbers.dtype == object and weights.dtype != object and (weights == 1).all():
        return numbers
    largest = [int(max(array.max(initial=1), -array.min(initial=0))) for array in (numbers, weights)]
    kind = np.int64 if largest[0] * largest[1] * max(1, numbers.size) < 2**63 else object
    return np.asarray(numbers.astype(kind) * weights.astype(kind))


def exact_dots(numbers: Integers, weights: Integers, cell: IntArray, n_cells: int) -> list[int]:
    """The sums of products of whole numbers in each cell, which may exceed 64 bits."""
    of_rows = products(numbers, weights)
    sums = np.zeros(n_cells, dtype=of_rows.dtype)
    np.add.at(sums, cell, of_rows)
    return [int(total) for total in sums]
