"""A fitted model as trees of floats: what the adapters of the libraries produce and the grid turns into integers.

An inner node sends a row low iff ``x[feature] <= threshold`` in float64, a missing value where ``missing_low`` says,
and, where it tests categories, the codes of its set. How a library compares (float32, strict, bins) is decided by the
adapter, which moves the threshold so that this one comparison gives the same answer for every float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from proofwood.explain.model.space import Gap
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray

OTHER = -1
"""Code of a category that the model does not know, and of a missing one."""

Codes = frozenset[int]

DOUBLE, SINGLE = 2.0**-53, 2.0**-24
"""Half the distance from 1 to the next float64, float32."""


def codes_in(values: FloatArray, n_levels: int) -> IntArray:
    """Codes of a column of categories; those that the model does not know, and missing ones, are ``OTHER``."""
    known = (values >= 0) & (values < n_levels) & (values == np.floor(values))
    return np.where(known, values, OTHER).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """One tree with a score per class in each leaf.

    Parameters
    ----------
    feature : (n_nodes,) column tested, ``LEAF`` at a leaf; node 0 is the root, the order of the others is free
    threshold : (n_nodes,) not NaN at threshold tests; +-inf where only a missing value goes the other way
    low, high : (n_nodes,) next node
    missing_low : (n_nodes,) whether a missing value goes low
    value : (n_nodes, n_classes) scores; used at leaves
    levels : per node the codes that go low, None where the test is no level test
    """

    feature: IntArray
    threshold: FloatArray
    low: IntArray
    high: IntArray
    missing_low: BoolArray
    value: FloatArray
    levels: tuple[Codes | None, ...] | None = None

    @property
    def leaves(self) -> IntArray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature == LEAF)


LINKED = 16
"""Roundings between a sum and what is made of it: a generous bound for exp, sum and division."""


LinkKind = Literal["mean", "log", "logistic"]


@dataclass(frozen=True)
class Link:
    """What a model makes of the sum of its trees: a number that grows with it.

    Parameters
    ----------
    kind : ``"mean"``: the sum divided by ``divisor``; ``"log"``: the exponential function of that; ``"logistic"``: its
        logistic function. A probability of a class is the first or the last
    divisor : above 0
    unit : half the distance from 1 to the next number of the model's arithmetic
    """

    kind: LinkKind = "mean"
    divisor: float = 1.0
    unit: float = DOUBLE

    def cut(self, value: float) -> tuple[float, float]:
        """The sum at which the number passes a value, and by how much rounding may move that.

        Raises
        ------
        ValueError
            If the number never gets to the value.
        """
        if self.kind == "mean":
            cut = value * self.divisor
            return cut, 0.0 if self.divisor == 1 else 2 * (DOUBLE + self.unit) * abs(cut)
        if self.kind == "log":
            if value <= 0:
                raise ValueError(
                    f"this model predicts numbers above 0 only (a logarithm is its link): {value:g} is none"
                )
            cut = math.log(value)
            return cut * self.divisor, self.divisor * (LINKED * self.unit + 4 * DOUBLE * abs(cut))
        if not 0 < value < 1:
            raise ValueError(f"this model predicts numbers between 0 and 1 only: {value:g} is none")
        cut = math.log(value / (1 - value))
        slope = value * (1 - value)
        return cut * self.divisor, self.divisor * (LINKED * self.unit + 4 * DOUBLE) / slope

    def slop(self, values: FloatArray) -> FloatArray:
        """By how much rounding may move the sums of which the model makes these numbers; infinite at the ends."""
        numbers = np.abs(np.asarray(values, dtype=np.float64))
        if self.kind == "mean":
            return np.asarray(4 * (DOUBLE + self.unit) * numbers * self.divisor)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "log":
                return np.asarray(self.divisor * (LINKED * self.unit + 8 * DOUBLE * np.abs(np.log(numbers))))
            return np.asarray(self.divisor * 2 * (LINKED * self.unit + 8 * DOUBLE) / (numbers * (1 - numbers)))

    def sums(self, values: FloatArray) -> FloatArray:
        """The sums of which the model makes these numbers, up to rounding; infinite at the ends of a link."""
        numbers = np.asarray(values, dtype=np.float64)
        if self.kind == "mean":
            return np.asarray(numbers * self.divisor)
        with np.errstate(divide="ignore"):
            if self.kind == "log":
                return np.asarray(np.log(numbers) * self.divisor)
            return np.asarray((np.log(numbers) - np.log1p(-numbers)) * self.divisor)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose scores are added up to a base; the largest sum wins.

    Parameters
    ----------
    trees : over the columns ``0..n_columns - 1``
    base : (n_classes,) score before any tree
    classes : (n_classes,) labels
    n_columns : columns of the matrix that the model takes
    noise : what rounding in the model itself may change in the difference of two class sums, in the unit of the scores
    predict : class codes that the real model gives to a matrix (n_rows, n_columns); of a regressor its numbers
    ties_low : whether the lowest class wins a tie, else the highest
    takes_missing : (n_columns,) whether a missing value is no error; None: it always is
    majority : whether the trees vote where the model itself does not
    names : names of the columns, None if the model does not know them
    link : what becomes of the sums: the number that a regressor predicts, or the probabilities of a classifier; None
        where these are nothing of the kind
    for_missing : per column, numbers that the model takes for a missing value; only the texts need it
    output : these numbers (n_rows,), or probabilities (n_rows, n_classes), of the real model for a matrix; None with
        ``link``

    A regressor has one score per leaf and no classes until :mod:`proofwood.explain.model.outcomes` makes some.
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

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.base.size)

    @property
    def is_regressor(self) -> bool:
        """Whether the model predicts a number."""
        return self.classes.size == 0


NO_CLASSES: npt.NDArray[Any] = np.zeros(0, dtype=object)
"""Classes of a regressor."""


def one_hot(tree: ScoredTree) -> ScoredTree:
    """The same tree with score 1 for the best class of each node (the first of the best), 0 for the others."""
    return replace(tree, value=np.eye(tree.value.shape[1])[tree.value.argmax(axis=1)])


def merged(tree: ScoredTree) -> ScoredTree:
    """The tree without tests whose two sides are leaves of equal scores."""
    feature, value = tree.feature.copy(), tree.value.copy()
    inner = np.flatnonzero(feature != LEAF)
    while inner.size:
        low, high = tree.low[inner], tree.high[inner]
        same = (feature[low] == LEAF) & (feature[high] == LEAF)
        same[same] = np.all(value[low[same]] == value[high[same]], axis=1)
        if not same.any():
            break
        feature[inner[same]] = LEAF
        value[inner[same]] = value[low[same]]
        inner = inner[~same]
    return replace(tree, feature=feature, value=value)


def summing_noise(trees: tuple[ScoredTree, ...], base: FloatArray, unit: float, roundings: int = 0) -> float:
    r"""Bound of what floating-point summation changes in the difference of two class sums.

    A sum of :math:`n` numbers in any order, each of them rounded ``roundings`` times before, differs from the exact
    one by at most :math:`\gamma_{n+r} \sum |x_i|` with :math:`\gamma_k = k u / (1 - k u)` [1]_, sec. 4.2. For a class
    :math:`c`, :math:`\sum |x_i|` is at most :math:`A_c = |base_c| + \sum_{trees} \max_{leaves} |value_c|`; a
    difference of two sums is off by at most :math:`\gamma (A_c + A_d)`, and the largest two of them bound it. If all
    numbers are multiples of one power of two, few enough bits apart that no partial sum is rounded, the sums are exact
    and the bound is 0; a final division by a constant then keeps their order, because different sums differ by more
    than its rounding.

    Parameters
    ----------
    unit : half the distance from 1 to the next number of the model's arithmetic (2**-53, 2**-24)
    roundings : of each term, or of each sum after it was added up

    References
    ----------
    .. [1] Higham (2002), Accuracy and Stability of Numerical Algorithms.
    """
    numbers = np.concatenate([base, *(tree.value[tree.leaves].ravel() for tree in trees)])
    largest = np.abs(base)
    for tree in trees:
        largest = largest + np.abs(tree.value[tree.leaves]).max(axis=0)
    pair = float(np.sort(largest)[-2:].sum())  # of a single sum, what it may itself be off by
    bits = common_bits(numbers)
    if bits is not None and float(largest.max(initial=0.0)) * 2.0**bits * 8 < 1 / unit:
        return 0.0
    steps = (len(trees) + 1 + roundings) * unit
    return steps / (1 - steps) * pair * (1 + 2.0**-40)


def common_bits(numbers: FloatArray, most: int = 40) -> int | None:
    """Least ``k`` such that all numbers are multiples of ``2**-k``, None if it is above ``most``."""
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
