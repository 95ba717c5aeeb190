"""The problem of the best tree as an immutable object: rows, integer weights, price of size, limits on the model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from proofwood.arguments import is_integer
from proofwood.exceptions import DataError
from proofwood.hints import parameter, way_out
from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.model.sums import exact_sums, holds_nan
from proofwood.problem.objectives import (
    IntegerWeights,
    Rounding,
    SumCost,
    TreeCost,
    in_floats,
    integer_weights,
    share_of,
)
from proofwood.problem.ranked import require_time
from proofwood.problem.targets import Classes, RoundedTarget, SumTarget, Target

MAX_DEPTH = 20
MANY_NUMBERS = 200_000
"""Numbers of a target from which reading them looks at the clock."""
NO_PRICE = (
    ", but leaves have no price, or one that is too small to count: pass alpha, such as 0.01 (a leaf must avoid errors "
    "on one row in a hundred), or a depth such as 3"
)
OF_CLASSES = ": only errors of classes can be searched so; pass a depth such as 3"
BY_DEPTH = ", which %s does not search: pass a depth such as 3"
LARGEST_COST = 2.0**1000
# The best cut of one order is the best set only above two leaves. In deeper trees other sets are better, and a search
# over all sets is cheap up to this number: decisions/0019-sets-of-levels.
SETS_ANYWHERE = 12
"""Maximum number of levels of a column for which all sets of levels are tests at every node."""


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """Find the axis-aligned tree of least cost: what its leaves cost, plus ``alpha`` per leaf beyond the first.

    Build it with :meth:`from_arrays` or :meth:`of`, which drop rows of weight 0 and scale the weights to integers once.
    Costs are integers until they are reported, so that bounds are compared as integers.

    Parameters
    ----------
    X : (n_rows, n_features) float64; infinities are below or above all numbers
    target : what rows are to be told apart by, such as their classes
    weights : (n_rows,) positive int64; real weight = ``weights * cost.unit`` unless there is a ``rounding``
    cost : integer prices of rows and of a leaf, and how they are reported
    max_depth : non-negative int; 0 permits only a single leaf. None: trees of every depth, which needs classes and a
        price of a leaf
    min_samples_leaf : rows (unweighted) that every leaf must hold
    min_leaf_weight : integer weight that every leaf must hold
    max_gap : permitted difference between the reported tree and the optimum, in the integer unit of ``cost``
    kept : indices of the rows that were kept, those of positive weight
    rounding : the real weights, if 64-bit integers do not hold them
    by_sets : columns of ``X`` that hold levels without order; a test of such a column is a set of levels
    sets_anywhere : such a column with at most this number of levels may be tested at every node; one with more levels
        only at nodes from which no path may have more than two tests
    """

    X: FloatArray
    target: Target
    weights: IntArray
    cost: TreeCost | SumCost
    max_depth: int | None = 3
    min_samples_leaf: int = 1
    min_leaf_weight: int = 0
    max_gap: int = 0
    kept: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rounding: Rounding | None = None
    by_sets: tuple[int, ...] = ()
    sets_anywhere: int = SETS_ANYWHERE

    @property
    def depth(self) -> int:
        """``max_depth``, for a search that goes by depths; ValueError if it is None."""
        if self.max_depth is None:
            raise any_depth(BY_DEPTH % "this search")
        return self.max_depth

    @classmethod
    def from_arrays(
        cls,
        X: npt.ArrayLike,
        codes: npt.ArrayLike,
        *,
        n_classes: int | None = None,
        sample_weight: npt.ArrayLike | None = None,
        max_depth: int | None = 3,
        alpha: float | Fraction = 0.0,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_gap: float = 0,
        by_sets: Collection[int] = (),
    ) -> TreeProblem:
        """A problem of classes: check the values, drop rows of weight 0, scale the weights.

        Parameters
        ----------
        X : (n_samples, n_features), without NaN
        codes : (n_samples,) class codes
        n_classes : number of classes; None for those that occur
        sample_weight : (n_samples,), not negative, or None for ones
        max_depth : maximum number of tests on a path; None for any, with an ``alpha`` above 0
        alpha : price of a leaf beyond the first as a share of the total weight, in [0, 1]
        min_samples_leaf : rows, unweighted, that every leaf must hold
        min_weight_fraction_leaf : share of the total weight that every leaf must hold, in [0, 0.5]
        max_gap : an int is a weight of wrong rows, a float in [0, 1) a share of the total weight
        by_sets : columns that are tested by sets of their values, at most 64 values each; needs ``min_samples_leaf`` of
            1, and no minimum weight of leaves

        Raises
        ------
        ValueError
            If a value is outside its range; the message gives the range.
        """
        codes = np.asarray(codes, dtype=np.int64)
        X, (kept, (weights, unit, rounding)) = _checked(X, codes.shape, sample_weight, max_depth, min_samples_leaf)
        classes = int(codes.max(initial=0)) + 1 if n_classes is None else n_classes
        depth = None if max_depth is None else int(max_depth)
        most = kept.size - 1 if depth is None else min(kept.size, 2**depth) - 1
        cost = TreeCost.of(alpha=alpha, total=int(weights.sum()), unit=unit, rounding=rounding, most=most)
        if depth is None and cost.leaf_price == 0 and np.ptp(codes[kept]) > 0:
            raise any_depth(NO_PRICE)
        return cls(
            X=X,
            target=Classes(codes[kept], classes),
            weights=weights,
            cost=cost,
            max_depth=depth,
            min_samples_leaf=int(min_samples_leaf),
            min_leaf_weight=cost.leaf_weight(min_weight_fraction_leaf),
            max_gap=cost.gap_units(max_gap),
            kept=kept,
            rounding=rounding,
            by_sets=tuple(sorted(by_sets)),
        )

    @classmethod
    def by_sums(
        cls,
        X: npt.ArrayLike,
        targets: npt.ArrayLike,
        make: Callable[[FloatArray, IntegerWeights], SumTarget],
        *,
        sample_weight: npt.ArrayLike | None = None,
        max_depth: int | None = 3,
        alpha: float | Fraction = 0.0,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_gap: float = 0.0,
        deadline: float | None = None,
    ) -> TreeProblem:
        """A problem of a target by sums, such as numbers.

        Parameters
        ----------
        X, sample_weight, min_samples_leaf, min_weight_fraction_leaf : as in :meth:`from_arrays`
        max_depth : maximum number of tests on a path
        targets : (n_samples,) or (n_samples, k) numbers
        make : the kind of target, such as ``Numbers``, or what makes it of the numbers and weights of rows of positive
            weight
        alpha : price of a leaf beyond the first as a share of what a single leaf costs, in [0, 1]
        max_gap : a share of what a single leaf costs, in [0, 1)
        deadline : time of ``time.monotonic()`` until which the numbers are read; None for no limit

        Raises
        ------
        OutOfTime
            If reading the numbers takes longer.
        ValueError
            If a value is outside its range, or a cost beyond float64; the message gives the range.
        """
        if max_depth is None:
            raise any_depth(OF_CLASSES)
        numbers = np.asarray(targets, dtype=np.float64)
        X, (kept, weights) = _checked(X, numbers.shape[:1], sample_weight, max_depth, min_samples_leaf)
        target = make(numbers[kept].reshape(kept.size, -1), weights)
        if isinstance(target, RoundedTarget):
            target = replace(target, deadline=deadline)
        if target.most_columns is not None and target.numbers.shape[1] > target.most_columns:
            raise DataError(
                f"the target has {target.numbers.shape[1]} columns: {target.named} is of up to {target.most_columns}"
            )
        # Small tables are read at once, and a search that has no time left still has a tree.
        until = deadline if target.numbers.size >= MANY_NUMBERS else None
        require_time(until)
        cost = target.prices(slack=2 ** max(0, int(max_depth) - 1))
        require_time(until)  # numbers of many digits take half a second a million
        problem = cls(
            X=X,
            target=target,
            weights=weights.values,
            cost=cost,
            max_depth=int(max_depth),
            min_samples_leaf=int(min_samples_leaf),
            kept=kept,
            rounding=weights.rounding,
        )
        alone = problem.real_cost(target.alone(X))
        require_time(until)
        if alone >= LARGEST_COST:
            raise DataError(
                f"a single leaf costs more than {LARGEST_COST:.3g} ({target.named}), which float64 cannot add: divide "
                "the target or sample_weight by a power of ten"
            )
        cost = cost.at_share(alpha, alone, most=min(kept.size, 2 ** int(max_depth)) - 1)
        return replace(
            problem,
            cost=cost,
            min_leaf_weight=cost.leaf_weight(min_weight_fraction_leaf),
            max_gap=cost.gap_of(max_gap, alone),
        )

    def rescaled(self, by: int) -> TreeProblem:
        """The same problem, of a rounded target, with a unit of cost that is 2 to the power ``by`` as large.

        Raises
        ------
        TypeError
            If costs are not rounded.
        """
        if not isinstance(self.target, RoundedTarget) or not isinstance(self.cost, SumCost):
            raise TypeError(f"costs of {type(self.target).__name__} have one unit")
        target = self.target.rescaled(by)
        cost = target.prices(slack=self.cost.slack).at_price(self.cost.real_price, most=self.cost.most)
        gap = cost.units_of(self.cost.in_weight(self.max_gap))
        return replace(self, target=target, cost=cost, max_gap=gap)

    def at_alpha(self, alpha: float | Fraction) -> TreeProblem:
        """The same problem, without a permitted gap, with another price of a leaf.

        Parameters
        ----------
        alpha : as in :meth:`from_arrays` or :meth:`by_sums`
        """
        cost = self.cost
        if isinstance(cost, SumCost):
            assert isinstance(self.target, SumTarget)
            alone = replace(self, cost=cost.at_price(Fraction(0), most=cost.most)).real_cost(self.target.alone(self.X))
            return replace(self, cost=cost.at_share(alpha, alone, most=cost.most), max_gap=0)
        priced = TreeCost.of(alpha=alpha, total=cost.total, unit=cost.unit, rounding=self.rounding, most=cost.most)
        return replace(self, cost=priced, max_gap=0)

    def capped(self, most: float) -> TreeProblem:
        """The same problem with row weights and the price of a leaf cut to ``most``, if they are above it.

        Trees that cost less than ``most`` keep their cost. Minimum weights of leaves are not adjusted. Weights are used
        as the exact floats: if they were read as decimals again, 0.1 + 0.2 would cost the same as 0.3.
        """
        values, unit, rounding = integer_weights(np.minimum(self.real_weights, most), self.n_rows, as_floats=True)
        cost = TreeCost.at_price(
            min(Fraction(most), self.cost.real_cost(Fraction(0), 1)),
            total=int(values.sum()),
            unit=unit,
            rounding=rounding,
            most=self.cost.most,
        )
        return replace(self, weights=values, cost=cost, rounding=rounding)

    @property
    def classes(self) -> Classes:
        """The target of a problem of classes.

        Raises
        ------
        TypeError
            If the target is another one.
        """
        if not isinstance(self.target, Classes):
            raise TypeError(f"the problem has no classes: its target is {type(self.target).__name__}")
        return self.target

    @property
    def codes(self) -> IntArray:
        """(n_rows,) class codes of a problem of classes."""
        return self.classes.codes

    @property
    def n_classes(self) -> int:
        """Number of classes of a problem of classes."""
        return self.classes.n_classes

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def real_weights(self) -> FloatArray:
        """(n_rows,) real weights as float64."""
        return in_floats(self.weights, self.cost.unit) if self.rounding is None else self.rounding.weights

    def integer_cost(self, table: NodeTable) -> int:
        """Cost of ``table`` in the integer unit of ``cost``, counted from the model itself, without an engine."""
        return self.cost.of_tree(self.target.integer_loss(table, self.X, self.weights), table.n_leaves)

    def real_cost(self, table: NodeTable) -> Fraction:
        """Cost of ``table`` in units of real weight, without rounding."""
        return self.cost.real_cost(self.real_loss(table), table.n_leaves - 1)

    def real_loss(self, table: NodeTable) -> Fraction:
        """The same without the price of leaves."""
        return self.target.loss(table, self.X, IntegerWeights(self.weights, self.cost.unit, self.rounding))

    def holds_leaves(self, table: NodeTable, share: float) -> bool:
        """Whether every leaf holds at least ``share`` of the real weight, which rounded weights may misjudge.

        Parameters
        ----------
        table : a tree over the columns
        share : share of the total weight
        """
        number = share_of(share)
        if self.rounding is None or not number or table.n_leaves == 1:
            return True
        leaves = exact_sums(self.rounding.weights, apply(table, self.X), table.n_nodes)
        lightest = min(leaves[node] for node in np.flatnonzero(table.feature == LEAF).tolist())
        return lightest >= number * self.rounding.total


def _checked(
    X: npt.ArrayLike,
    shape: tuple[int, ...],
    sample_weight: npt.ArrayLike | None,
    max_depth: object,
    min_samples_leaf: object,
) -> tuple[FloatArray, tuple[IntArray, IntegerWeights]]:
    """The rows of positive weight, their indices and their weights; ValueError if something cannot be used."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or shape != (X.shape[0],):
        raise ValueError(f"X has shape {X.shape} and the targets {shape}: expected (n, p) and (n,)")
    if holds_nan(X):
        raise ValueError(
            "X holds NaN: put missing values below or above all values (Views), impute them, or drop these rows"
        )
    if max_depth is not None:
        check_depth(max_depth)
    check_min_samples_leaf(min_samples_leaf)
    kept, weights = integer_weights(sample_weight, X.shape[0]).positive()
    return X if kept.size == X.shape[0] else X[kept], (kept, weights)


def any_depth(reason: str) -> ValueError:
    """The error about ``max_depth=None`` where a depth is needed; ``reason`` is NO_PRICE, OF_CLASSES or BY_DEPTH."""
    return ValueError(f"{way_out('max_depth=None', '--max-depth none')} asks for trees of every depth{reason}")


def check_depth(max_depth: object, reason: str = OF_CLASSES) -> None:
    """Raise ValueError unless ``max_depth`` is an integer from 0 to ``MAX_DEPTH``; ``reason`` is why None is none."""
    if max_depth is None:
        raise any_depth(reason)
    if not is_integer(max_depth) or not 0 <= max_depth <= MAX_DEPTH:
        raise ValueError(
            f"{parameter('max_depth', max_depth)} is not a depth: expected an integer from 0 (a single leaf) to "
            f"{MAX_DEPTH}. "
            "Depths 2 to 4 are usual for trees that people read."
        )


def check_min_samples_leaf(rows: object) -> None:
    """Raise ValueError unless ``rows`` is a positive integer."""
    if not is_integer(rows) or rows < 1:
        raise ValueError(
            f"{parameter('min_samples_leaf', rows)} is not a number of rows: expected an integer from 1. "
            "For a share of the rows, pass max(1, round(share * len(X)))."
        )
