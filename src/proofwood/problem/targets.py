"""Targets of trees: what rows are to be told apart by, what a leaf costs, and how the native search gets them."""

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
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.problem.objectives import Rounding, SumCost
from proofwood.problem.whole_numbers import WholeNumbers, exact_integers, whole_numbers, whole_weights

UNIT_BITS = 46
"""A unit of rounded costs is at least 2 to this power times smaller than the cost of a single leaf: finer ones leave
more sides open to rounding, coarser ones a wider gap."""
LARGEST_SHIFT = 60


class Target(ABC):
    """What rows are to be told apart by."""

    unit = Fraction(1)
    """Real cost of a unit of the native search, per unit of weight."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns of the weights of a node table: the number of classes, or 1."""

    @abstractmethod
    def native(self) -> dict[str, Any]:
        """The argument of the native search."""

    @abstractmethod
    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """``table`` with weights, rows and the best prediction at each node, from rows of real weights."""

    def as_counted(self) -> Self:
        """The target as the native search has it, where that rounds numbers."""
        return self

    @abstractmethod
    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: npt.NDArray[Any]) -> Fraction:
        """What rows of integer weights cost in ``table``, exactly, with the best prediction at each leaf."""


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

    def native(self) -> dict[str, Any]:
        """See the base class."""
        return {"labels": np.ascontiguousarray(self.codes, dtype=np.int32), "n_classes": self.n_classes}

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class."""
        return refresh(table, X, self.codes, self.n_classes, weights, relabel=True)

    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: npt.NDArray[Any]) -> Fraction:
        """See the base class."""
        return Fraction(int(weights[predict(table, X) != self.codes].sum()))


class Moved(NamedTuple):
    """What rounding of numbers changed.

    Parameters
    ----------
    distance : bound on the root of the squared distance by which all rows moved
    shift : the most by which the cost of a tree changed
    """

    distance: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)


@dataclass(frozen=True, eq=False)
class BySums(Target):
    """A target whose costs follow from sums over the rows of a leaf, which predicts numbers: ``values`` of a table.

    Parameters
    ----------
    whole : the numbers as whole numbers
    """

    whole: WholeNumbers

    task: ClassVar[str]
    """Name of the native task."""
    named: ClassVar[str]
    """Name of the unit in which objectives are reported."""
    rounded: ClassVar[bool] = False
    """Whether costs of leaves are rounded down to whole units."""

    @property
    def width(self) -> int:
        """See the base class."""
        return 1

    def as_counted(self) -> Self:
        """See the base class."""
        return replace(self, whole=replace(self.whole, error=Fraction(0)))

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """The most that a row of weight 1 can cost."""

    def prices(self, weights: IntArray, unit: Fraction, rounding: Rounding | None, *, slack: int) -> SumCost:
        """The cost of trees for rows of these weights, without a price of leaves.

        Parameters
        ----------
        weights, unit, rounding : integer weights, the real weight of one of them, and their rounding
        slack : number of cells of a tree whose costs are rounded down to whole units
        """
        none = Fraction(0)
        moved = self.moved(int(weights.sum()) * unit)
        return SumCost(
            total=int(weights.sum()),
            unit=unit,
            cost_unit=self.unit * unit,
            named=self.named,
            above=none if rounding is None else rounding.above,
            below=none if rounding is None else rounding.below,
            slack=slack if self.rounded else 0,
            spread=self.spread,
            distance=moved.distance,
            shift=moved.shift,
        )

    def moved(self, weight: Fraction) -> Moved:
        """What rounding of the numbers changed, for rows of this total weight."""
        return Moved()

    @abstractmethod
    def row_sums(self) -> list[npt.NDArray[Any]]:
        """(n_rows,) whole numbers, per sum, of rows of weight 1."""

    @abstractmethod
    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """The least that a leaf costs that holds this weight and these weighted sums."""

    @abstractmethod
    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """What such a leaf predicts."""

    def label_of(self, sums: list[int]) -> int:
        """The label of such a leaf: 0, if it predicts numbers."""
        return 0

    def sums_at(
        self, table: NodeTable, X: npt.ArrayLike, weights: npt.NDArray[Any]
    ) -> tuple[list[int], list[list[int]]]:
        """The weight and the weighted sums of the rows at each node, exactly."""
        leaf = apply(table, X)
        at_nodes = []
        for numbers in (np.ones(self.n_rows, dtype=np.int64), *self.row_sums()):
            at = np.zeros(table.n_nodes, dtype=object)
            for node in np.unique(leaf).tolist():
                there = leaf == node
                at[node] = _exact_dot(numbers[there], weights[there])
            for node in reversed(list(table.splits())):
                at[node] = at[table.low[node]] + at[table.high[node]]
            at_nodes.append(at.tolist())
        weight, *sums = at_nodes
        return weight, [list(of_node) for of_node in zip(*sums, strict=True)]

    def loss(self, table: NodeTable, X: npt.ArrayLike, weights: npt.NDArray[Any]) -> Fraction:
        """See the base class."""
        weight, sums = self.sums_at(table, X, weights)
        leaves = np.flatnonzero(table.feature == LEAF).tolist()
        return sum((self.loss_of(weight[leaf], sums[leaf]) for leaf in leaves if weight[leaf]), Fraction(0))

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class."""
        counted = refresh(table, X, np.zeros(self.n_rows, dtype=np.int64), 1, weights)
        weight, sums = self.sums_at(table, X, whole_weights(weights))
        values = [self.values_of(w, s) if w else [] for w, s in zip(weight, sums, strict=True)]
        known = next(v for v in values if v)  # the root has rows
        values = [v or known for v in values]
        return counted.changed(values=np.array(values), label=[self.label_of(s) for s in sums])


def _exact_dot(numbers: npt.NDArray[Any], weights: npt.NDArray[Any]) -> int:
    """The sum of products of whole numbers, which may exceed 64 bits."""
    if numbers.dtype != object and weights.dtype != object:
        largest = int(np.abs(numbers).max(initial=0)) * int(np.abs(weights).max(initial=0))
        if largest * max(1, numbers.size) < 2**63:
            return int(numbers @ weights)
    return int(np.dot(numbers.astype(object), weights.astype(object)))


# ------------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True, eq=False)
class Numbers(BySums):
    """Numbers: a row costs the square of its distance from the mean of its leaf.

    Parameters
    ----------
    whole : the numbers as whole numbers
    y : (n_rows,) finite
    weights : (n_rows,) integer weights, by which ``shift`` is chosen
    """

    y: FloatArray
    weights: IntArray

    task = "squared_error"
    named = "squared error"
    rounded = True

    @classmethod
    def of(cls, y: FloatArray, weights: IntArray) -> Self:
        """The target of these numbers, for rows of these integer weights."""
        return cls(whole_numbers(y, int(weights.sum())), y, weights)

    @property
    def n_rows(self) -> int:
        """See the base class."""
        return int(self.y.size)

    @cached_property
    def shift(self) -> int:
        """A unit of the native search is 2 to this power, in squares of whole numbers."""
        total, numbers = int(self.weights.sum()), self.whole.values
        squares, plain = _exact_dot(numbers.astype(object) ** 2, self.weights), _exact_dot(numbers, self.weights)
        root = squares - plain**2 // max(total, 1)
        return min(LARGEST_SHIFT, max(-LARGEST_SHIFT, root.bit_length() - UNIT_BITS))

    @property
    def unit(self) -> Fraction:  # type: ignore[override]
        """See the base class."""
        return Fraction(2) ** self.shift * self.whole.unit**2

    def native(self) -> dict[str, Any]:
        """See the base class."""
        return {"task": self.task, "numbers": self.whole.values.reshape(-1, 1), "shift": self.shift}

    @cached_property
    def _exactly(self) -> tuple[npt.NDArray[Any], Fraction]:
        """The numbers as integers and their unit, without rounding."""
        return (self.whole.values, self.whole.unit) if self.whole.error == 0 else exact_integers(self.y)

    def row_sums(self) -> list[npt.NDArray[Any]]:
        """See the base class."""
        numbers = self._exactly[0]
        small = numbers.dtype != object and int(np.abs(numbers).max(initial=0)) < 2**31
        return [numbers, (numbers if small else numbers.astype(object)) ** 2]

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class."""
        return (sums[1] - Fraction(sums[0] ** 2, weight)) * self._exactly[1] ** 2

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        zero = self.whole.zero if self.whole.error == 0 else 0
        return [float((Fraction(sums[0], weight) + zero) * self._exactly[1])]

    def moved(self, weight: Fraction) -> Moved:
        """See the base class."""
        if not self.whole.error:
            return Moved()
        scale = 2**64
        squared = math.ceil(weight * self.whole.error**2 * scale**2)
        return Moved(distance=Fraction(math.isqrt(squared) + 1, scale))

    @property
    def spread(self) -> Fraction:
        """The most that a row of weight 1 can cost."""
        numbers, unit = self._exactly
        return Fraction(int(numbers.max()) - int(numbers.min())) ** 2 * unit**2


@dataclass(frozen=True, eq=False)
class Rewards(BySums):
    """Rewards of actions: a row costs the reward of its best action less that of the action of its leaf.

    Parameters
    ----------
    whole : the rewards as whole numbers, row after row
    rewards : (n_rows, n_actions) finite
    """

    rewards: FloatArray

    task = "policy"
    named = "lost reward"

    @classmethod
    def of(cls, rewards: FloatArray, weights: IntArray) -> Self:
        """The target of these rewards, for rows of these integer weights."""
        return cls(whole_numbers(rewards.ravel(), int(weights.sum())), rewards)

    def moved(self, weight: Fraction) -> Moved:
        """See the base class."""
        return Moved(shift=2 * self.whole.error * weight)

    @property
    def unit(self) -> Fraction:  # type: ignore[override]
        """See the base class."""
        return self.whole.unit

    @property
    def n_rows(self) -> int:
        """See the base class."""
        return int(self.rewards.shape[0])

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return int(self.rewards.shape[1])

    def native(self) -> dict[str, Any]:
        """See the base class."""
        numbers = self.whole.values.reshape(self.rewards.shape)
        losses = np.ascontiguousarray(numbers.max(axis=1, keepdims=True) - numbers)
        return {"task": self.task, "numbers": losses, "shift": 0}

    @cached_property
    def _exactly(self) -> tuple[npt.NDArray[Any], Fraction]:
        numbers, unit = (
            (self.whole.values, self.whole.unit) if self.whole.error == 0 else exact_integers(self.rewards.ravel())
        )
        return numbers.reshape(self.rewards.shape), unit

    def row_sums(self) -> list[npt.NDArray[Any]]:
        """See the base class."""
        numbers = self._exactly[0]
        return [numbers.max(axis=1), *numbers.T]

    def loss_of(self, weight: int, sums: list[int]) -> Fraction:
        """See the base class."""
        best, *actions = sums
        return (best - max(actions)) * self._exactly[1]

    def values_of(self, weight: int, sums: list[int]) -> list[float]:
        """See the base class."""
        zero = self.whole.zero if self.whole.error == 0 else 0
        return [float((Fraction(total, weight) + zero) * self._exactly[1]) for total in sums[1:]]

    def label_of(self, sums: list[int]) -> int:
        """See the base class."""
        return sums[1:].index(max(sums[1:]))

    @property
    def spread(self) -> Fraction:
        """The most that a row of weight 1 can cost."""
        numbers, unit = self._exactly
        return Fraction(int((numbers.max(axis=1) - numbers.min(axis=1)).max())) * unit
