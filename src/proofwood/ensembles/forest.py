"""A fitted model as floating-point trees, which readers produce and the grid converts to integers.

An inner node sends a row low iff ``x[feature] <= threshold`` in float64. ``missing_low`` decides the side of a missing
value, and a test of categories sends the codes in its set low. Libraries compare in different ways (float32, strict,
bins); the reader moves the threshold so that this one comparison gives the same result for every float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.space import Gap
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray

OTHER = -1
"""Code of an unknown category, and of a missing value in a column of categories."""

Codes = frozenset[int]

DOUBLE, SINGLE = 2.0**-53, 2.0**-24
"""Half the distance from 1 to the next float64, and to the next float32."""


def codes_in(values: FloatArray, n_levels: int) -> IntArray:
    """Codes of a column of categories; unknown categories and missing values become ``OTHER``."""
    known = (values >= 0) & (values < n_levels) & (values == np.floor(values))
    return np.where(known, values, OTHER).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """One tree with a score per class in each leaf.

    Parameters
    ----------
    feature : (n_nodes,) column tested, ``LEAF`` at a leaf; node 0 is the root, the order of the others is free
    threshold : (n_nodes,) not NaN at threshold tests; +-inf if only a missing value goes to the other side
    low, high : (n_nodes,) next node of rows that go low, and of those that go high
    missing_low : (n_nodes,) whether a missing value goes low
    value : (n_nodes, n_classes) scores; used at leaves
    levels : per node the codes that go low, None if the node does not test categories
    """

    feature: IntArray
    threshold: FloatArray
    low: IntArray
    high: IntArray
    missing_low: BoolArray
    value: FloatArray
    levels: tuple[Codes | None, ...] | None = None

    @classmethod
    def leaf(cls, value: FloatArray) -> ScoredTree:
        """A tree that is a single leaf with the scores ``value`` (n_classes,)."""
        none = np.array([LEAF])
        return cls(none, np.array([np.nan]), none, none, np.array([True]), np.asarray(value)[np.newaxis])

    @property
    def leaves(self) -> IntArray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature == LEAF)


@dataclass(frozen=True, eq=False)
class Stack:
    """The nodes of several trees in common arrays, one tree after the other, to process all trees at once.

    Loops over trees and nodes took 2 to 4 s for a boosted model, and 17 s for a large forest, before the first answer
    (decisions/0059-all-trees-at-once).

    Parameters
    ----------
    begins : (n_trees + 1,) first node of each tree
    feature, threshold, low, high, missing_low, value : as in ``ScoredTree``; ``low`` and ``high`` are node numbers
        within the tree
    levels : from the nodes that test categories, by their index in the stack, to the codes that go low
    """

    begins: IntArray
    feature: IntArray
    threshold: FloatArray
    low: IntArray
    high: IntArray
    missing_low: BoolArray
    value: FloatArray
    levels: Mapping[int, Codes] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: Sequence[ScoredTree], *, scores: bool = True) -> Stack:
        """The stack of one or more trees; without ``scores``, the trees may have different numbers of scores."""
        begins = np.concatenate([[0], np.cumsum([tree.feature.size for tree in trees])])
        levels = {
            begin + node: codes
            for begin, tree in zip(begins.tolist(), trees, strict=False)
            for node, codes in enumerate(tree.levels or ())
            if codes is not None
        }
        return cls(
            begins,
            np.concatenate([tree.feature for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.low for tree in trees]),
            np.concatenate([tree.high for tree in trees]),
            np.concatenate([tree.missing_low for tree in trees]),
            np.concatenate([tree.value for tree in trees]) if scores else np.zeros((int(begins[-1]), 0)),
            levels,
        )

    @cached_property
    def tree_of(self) -> IntArray:
        """(n_nodes,) tree of each node."""
        return np.repeat(np.arange(self.begins.size - 1), np.diff(self.begins))

    def trees(self) -> tuple[ScoredTree, ...]:
        """The trees, with arrays that are views of the arrays of the stack."""
        found = []
        levels: list[tuple[Codes | None, ...] | None] = [None] * (self.begins.size - 1)
        if self.levels:
            for tree in np.unique(self.tree_of[list(self.levels)]).tolist():
                levels[tree] = tuple(map(self.levels.get, range(self.begins[tree], self.begins[tree + 1])))
        bounds = self.begins.tolist()
        for begin, end, codes in zip(bounds, bounds[1:], levels, strict=False):
            part = slice(begin, end)
            found.append(
                ScoredTree(
                    self.feature[part],
                    self.threshold[part],
                    self.low[part],
                    self.high[part],
                    self.missing_low[part],
                    self.value[part],
                    codes,
                )
            )
        return tuple(found)

    def merged(self) -> Stack:
        """The trees in which a test is replaced by a leaf if its two sides are leaves of equal scores."""
        feature, value = self.feature.copy(), self.value.copy()
        inner = np.flatnonzero(feature != LEAF)
        root = self.begins[self.tree_of[inner]]
        low, high = self.low[inner] + root, self.high[inner] + root
        while inner.size:
            same = (feature[low] == LEAF) & (feature[high] == LEAF)
            same[same] = np.all(value[low[same]] == value[high[same]], axis=1)
            if not same.any():
                break
            feature[inner[same]] = LEAF
            value[inner[same]] = value[low[same]]
            inner, low, high = inner[~same], low[~same], high[~same]
        return replace(self, feature=feature, value=value)

    def largest(self, numbers: FloatArray) -> FloatArray:
        """(n_trees, ...) for each tree, the largest of the ``numbers`` (n_leaves, ...) of its leaves."""
        leaves = np.add.reduceat((self.feature == LEAF).astype(np.int64), self.begins[:-1])
        return np.asarray(np.maximum.reduceat(numbers, np.cumsum(leaves) - leaves))

    def reach(self, base: FloatArray) -> FloatArray:
        """(n_scores,) largest absolute value that a sum of the base and one leaf per tree can have, before rounding."""
        largest = self.largest(np.abs(self.value[self.feature == LEAF]))
        # added up one after the other, so that the bound does not depend on how NumPy groups them
        return np.asarray(np.cumsum(np.concatenate([np.abs(base)[np.newaxis], largest]), axis=0)[-1])


LINKED = 16
"""Bound on the number of roundings between a sum and the number computed from it, such as by exp, sum and division."""


LinkKind = Literal["mean", "log", "logistic"]


@dataclass(frozen=True)
class Link:
    """The increasing function that turns the sum of a model's trees into the number that the model predicts.

    Parameters
    ----------
    kind : ``"mean"``: the sum divided by ``divisor``; ``"log"``: the exponential function of this quotient, less
        ``shift``; ``"logistic"``: the logistic function of this quotient. Probabilities are never of kind ``"log"``
    divisor : above 0
    unit : half the distance from 1 to the next number of the model's arithmetic
    shift : for ``"log"``: 0, or 1 if the model computes ``expm1``
    """

    kind: LinkKind = "mean"
    divisor: float = 1.0
    unit: float = DOUBLE
    shift: float = 0.0

    def cut(self, value: float) -> tuple[float, float]:
        """The sum at which the number reaches ``value``, and how much rounding may change this sum.

        Raises
        ------
        ValueError
            If the number never reaches ``value``.
        """
        if self.kind == "mean":
            cut = value * self.divisor
            return cut, 0.0 if self.divisor == 1 else 2 * (DOUBLE + self.unit) * abs(cut)
        if self.kind == "log":
            if value <= -self.shift:
                raise ValueError(
                    f"this model predicts only numbers above {-self.shift + 0.0:g} (its link is a logarithm): "
                    f"{value:g} cannot occur"
                )
            cut = math.log1p(value) if self.shift == 1 else math.log(value + self.shift)
            steep = abs(value) / (value + self.shift)  # of the logarithm, times the number that is rounded
            slop = (LINKED * self.unit + 4 * DOUBLE) * steep + 4 * DOUBLE * abs(cut)
            return cut * self.divisor, self.divisor * slop
        if not 0 < value < 1:
            raise ValueError(f"this model predicts only numbers between 0 and 1: {value:g} cannot occur")
        cut = math.log(value / (1 - value))
        slope = value * (1 - value)
        return cut * self.divisor, self.divisor * (LINKED * self.unit + 4 * DOUBLE) / slope

    def exact_cut(self, value: float, step: float, *, reached: bool) -> float | None:
        """The sum that separates the numbers at ``value``, if all sums are exact multiples of ``step``.

        Parameters
        ----------
        value : a number that the model may predict
        step : a power of two
        reached : whether a number equal to ``value`` is on the upper side

        Returns
        -------
        float or None
            A multiple of the step: the least sum whose number is on the upper side if ``reached``, else the greatest
            sum whose number is on the lower side. None if the link is not a float64 quotient, or the sum is too large.
        """
        near = value * self.divisor / step
        if self.kind != "mean" or not abs(near) < 2**40 or self.unit != DOUBLE:
            return None
        least = math.floor(near) - 2
        while (number := least * step / self.divisor) < value or (number == value and not reached):
            least += 1
        return (least if reached else least - 1) * step

    def beyond(self, value: float, *, reached: bool) -> int:
        """-1 if the numbers of all sums are on the upper side of ``value``, 1 if all are on the lower side, else 0.

        Parameters
        ----------
        value : a number
        reached : whether a number equal to ``value`` is on the upper side
        """
        if self.kind == "mean":
            return 0
        least = -self.shift if self.kind == "log" else 0.0
        if value < least or (value == least and reached):
            return -1
        return int(self.kind == "logistic" and (value > 1 or (value == 1 and not reached)))

    def slop(self, values: FloatArray) -> FloatArray:
        """How much rounding may change the sums that give these numbers; infinite for a probability of 0 or 1."""
        numbers = np.asarray(values, dtype=np.float64)
        if self.kind == "mean":
            return np.asarray(4 * (DOUBLE + self.unit) * np.abs(numbers) * self.divisor)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "log":
                steep = np.abs(numbers) / (numbers + self.shift)
                logs = np.abs(np.log(numbers + self.shift))
                return np.asarray(self.divisor * ((LINKED * self.unit + 8 * DOUBLE) * steep + 8 * DOUBLE * (1 + logs)))
            return np.asarray(self.divisor * 2 * (LINKED * self.unit + 8 * DOUBLE) / np.abs(numbers * (1 - numbers)))

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums from which the model computes these numbers, up to rounding; infinite for a probability of 0 or 1."""
        numbers = np.asarray(values, dtype=np.float64)
        if self.kind == "mean":
            return np.asarray(numbers * self.divisor)
        with np.errstate(divide="ignore"):
            if self.kind == "log":
                return np.asarray((np.log1p(numbers) if self.shift == 1 else np.log(numbers)) * self.divisor)
            return np.asarray((np.log(numbers) - np.log1p(-numbers)) * self.divisor)

    def number(self, total: float) -> tuple[float, float]:
        """The number that the model computes from a sum, and how much rounding may change it."""
        scaled = total / self.divisor
        if self.kind == "mean":
            return scaled, 4 * (DOUBLE + self.unit) * abs(scaled)
        if self.kind == "log":
            number = math.exp(min(scaled, 709.0))
            return number - self.shift, 2 * LINKED * self.unit * (number + self.shift)
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, scaled)))), 2 * LINKED * self.unit


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose scores are added to a base; the class with the largest sum wins.

    Parameters
    ----------
    trees : over the columns ``0..n_columns - 1``; at least one
    base : (n_classes,) score before any tree
    classes : (n_classes,) labels
    n_columns : columns of the matrix that the model takes
    noise : largest amount by which rounding in the model itself may change the difference of two class sums
    predict : function from a matrix (n_rows, n_columns) to the class codes, or numbers, that the real model predicts
    ties_low : whether the lowest class wins a tie; otherwise the highest wins
    takes_missing : (n_columns,) whether the model accepts a missing value; None if it never does
    majority : whether the trees vote here, although the model itself does not use votes
    names : names of the columns, None if the model has none
    link : function from the sums to the number that a regressor predicts, or to the probabilities of a classifier; None
        if these do not follow from the sums
    for_missing : per column, numbers that the model treats as a missing value; used only in texts
    output : function from a matrix to the numbers (n_rows,), or probabilities (n_rows, n_classes), of the real model;
        None if ``link`` is None
    decision : for a classifier whose ``decision_function`` follows from the sums, the number by which it divides them.
        It uses the second sum minus the first for two classes, and all sums for more classes. None for other models
    unordered : whether the model may add up its trees in another order at each call, as threads do

    A regressor has one score per leaf, and no classes until :mod:`proofwood.ensembles.outcomes` defines some.
    """

    trees: tuple[ScoredTree, ...]
    base: FloatArray
    classes: npt.NDArray[Any]
    n_columns: int
    noise: float
    predict: Callable[[FloatArray], npt.NDArray[Any]]
    ties_low: bool = True
    takes_missing: BoolArray | None = None
    majority: bool = False
    names: tuple[str, ...] | None = None
    link: Link | None = None
    output: Callable[[Any], FloatArray] | None = None
    for_missing: Mapping[int, Gap] = field(default_factory=dict)
    decision: float | None = None
    unordered: bool = False

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.base.size)

    @property
    def is_regressor(self) -> bool:
        """Whether the model predicts a number."""
        return self.classes.size == 0

    @property
    def step(self) -> float | None:
        """A power of two that divides all sums, if sums are computed exactly; None otherwise."""
        if self.noise != 0:
            return None
        bits = common_bits(np.concatenate([self.base, *(tree.value[tree.leaves].ravel() for tree in self.trees)]))
        return None if bits is None else 2.0**-bits

    @property
    def reach(self) -> float:
        """A number above the absolute value of every sum, also after rounding."""
        parts = (float(np.abs(tree.value[tree.leaves]).max(initial=0.0)) for tree in self.trees)
        return 2.0 * (1.0 + float(np.abs(self.base).max(initial=0.0)) + sum(parts) + self.noise)


def cut_of(forest: Forest, link: Link, value: float, *, reached: bool) -> tuple[float, float]:
    """The sum that separates the numbers of a model at ``value``, and how much rounding may change this sum.

    If all numbers are on one side of ``value``, all sums are on the same side of the returned sum.

    Parameters
    ----------
    forest : the model
    link : function from its sums, or from differences of two sums, to the numbers
    value : a number
    reached : whether a number equal to ``value`` is on the upper side

    Raises
    ------
    ValueError
        If a number can reach ``value`` only by rounding.
    """
    side = link.beyond(value, reached=reached)
    if side != 0:
        return side * forest.reach, 0.0
    step = forest.step
    exact = None if step is None else link.exact_cut(value, step, reached=reached)
    return link.cut(value) if exact is None else (exact, 0.0)


NO_CLASSES: npt.NDArray[Any] = np.zeros(0, dtype=object)
"""Classes of a regressor."""


def one_hot(tree: ScoredTree) -> ScoredTree:
    """The same tree with score 1 for the best class of each node (the first of equally good ones), 0 for the others."""
    return replace(tree, value=np.eye(tree.value.shape[1])[tree.value.argmax(axis=1)])


def merged(tree: ScoredTree) -> ScoredTree:
    """The tree in which a test is replaced by a leaf if its two sides are leaves of equal scores."""
    return Stack.of([tree]).merged().trees()[0]


def summing_noise(trees: Sequence[ScoredTree], base: FloatArray, unit: float, roundings: int = 0) -> float:
    r"""Bound on the error of floating-point summation in the difference of two class sums.

    A sum of :math:`n` numbers in any order, each of them rounded ``roundings`` times before, differs from the exact
    sum by at most :math:`\gamma_{n+r} \sum |x_i|` with :math:`\gamma_k = k u / (1 - k u)` [1]_, sec. 4.2. For a class
    :math:`c`, :math:`\sum |x_i|` is at most :math:`A_c = |base_c| + \sum_{trees} \max_{leaves} |value_c|`; a
    difference of two sums is off by at most :math:`\gamma (A_c + A_d)`. The two largest :math:`A` bound it. If all
    numbers are multiples of one power of two, and so few bits apart that no partial sum is rounded, the sums are exact
    and the bound is 0. A final division by a constant then keeps the order of the sums, because different sums differ
    by more than the rounding of the division.

    Parameters
    ----------
    unit : half the distance from 1 to the next number of the model's arithmetic (2**-53, 2**-24)
    roundings : number of further roundings of each term, or of each sum after the addition

    References
    ----------
    .. [1] Higham (2002), Accuracy and Stability of Numerical Algorithms.
    """
    numbers, largest = base, np.abs(base)
    if trees:
        stack = Stack.of(trees)
        numbers = np.concatenate([base, stack.value[stack.feature == LEAF].ravel()])
        largest = stack.reach(base)
    pair = float(np.sort(largest)[-2:].sum())  # of a single sum, what it may itself be off by
    bits = common_bits(numbers)
    if bits is not None and float(largest.max(initial=0.0)) * 2.0**bits * 8 < 1 / unit:
        return 0.0
    steps = (len(trees) + 1 + roundings) * unit
    return steps / (1 - steps) * pair * (1 + 2.0**-40)


def common_bits(numbers: FloatArray, most: int = 40) -> int | None:
    """Least ``k >= 0`` such that all numbers are multiples of ``2**-k``; None if ``k`` would be above ``most``."""
    scaled = np.ldexp(numbers, most)
    if not np.array_equal(scaled, np.rint(scaled)):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        scaled = np.ldexp(numbers, middle)
        if np.array_equal(scaled, np.rint(scaled)):
            high = middle
        else:
            low = middle + 1
    return low
