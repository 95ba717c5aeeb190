"""The learner of the tree of least cost within a depth, for any target: decisions/0096-learners-of-every-target.

Below the class: its problem over a table, with the views of the columns, and the way back from them.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from proofwood.arguments import is_integer
from proofwood.data.schema import Schema
from proofwood.data.views import Limit, View, Views, level_order, pooled, scope_of, set_ranks
from proofwood.engines.interrupts import left_after
from proofwood.engines.trees import solve
from proofwood.engines.trees.front import solve_leaves
from proofwood.estimators.base import ProvedLearner, Rows, TrainingRows
from proofwood.estimators.few_leaves import check_leaves, depth_of, few_leaves, scope_of_leaves
from proofwood.estimators.parameters import check_checkpoint
from proofwood.language import gettext
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.parallel.search_file import SearchFile, recorded_rows
from proofwood.problem.objectives import share_of
from proofwood.problem.tree import SETS_ANYWHERE, TreeProblem, check_depth, check_min_samples_leaf
from proofwood.result import Limits, Progress, Result, bounded_by

FEW_ROWS = 30
"""Levels with fewer rows than ``min(FEW_ROWS, n_rows // FEW_SHARE)`` are pooled by default."""
FEW_SHARE = 40
"""Divisor of the number of rows in the default limit for pooling, see ``FEW_ROWS``."""
SETS_LOW = 64
"""The most levels (missing values count as one) for which the last two tests of a path try all sets."""
SETS_OF_HELD_LEAVES = 5
"""The most levels for which all sets are tried if leaves need more than one row, or a least weight."""
CLASSES_OF_SETS = 10
"""The most classes for which all sets of more than two levels are tried."""
MOST_EXACT = 2.0**50
"""If whole weights sum to less than this, float64 never rounds a class share other than 1/2 to exactly 1/2."""


class TreeLearner(ProvedLearner[Rows]):
    """A learner of the tree of least cost within a depth: all but what its target is.

    Subclasses have the parameters below as fields.
    """

    max_depth: int | None
    max_leaf_nodes: int | None = None
    alpha: float
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_samples_level: int | None
    max_gap: float
    checkpoint: str | os.PathLike[str] | None

    @property
    @abstractmethod
    def _units(self) -> tuple[str, ...]:
        """Names of the units in which objectives without a price of leaves are reported."""

    @abstractmethod
    def _posed_rows(self, X: FloatArray, given: Rows, by_sets: Collection[int]) -> TreeProblem:
        """The problem of these rows over columns ``X``, those of ``by_sets`` tested by sets of values."""

    def _tests_sets(self, given: Rows) -> bool:
        """Whether the search can test columns by sets of levels, if leaves have no minimum."""
        return self.max_leaf_nodes is None  # fronts by leaves have no sets

    def _without_leaves(self) -> tuple[str, ...]:
        """Parameters that are given, and do not go with ``max_leaf_nodes``."""
        return ()

    @property
    def _most_leaves(self) -> int | None:
        """``max_leaf_nodes`` where it limits the trees of the depth."""
        return few_leaves(self.max_leaf_nodes, self.max_depth)

    @property
    def _limits_of_trees(self) -> dict[str, Any]:
        """The parameters of a problem that do not depend on its target."""
        return {
            "max_depth": depth_of(self.max_leaf_nodes, self.max_depth),
            "alpha": self.alpha,
            "min_samples_leaf": self.min_samples_leaf,
            # scikit-learn's checks require that a learner can forbid leaves of little weight:
            # decisions/0005-minimum-weight-of-a-leaf.
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
            "max_gap": self.max_gap,
        }

    def _problem(self, given: Rows) -> PosedTree:
        check_checkpoint(self.checkpoint)
        check_few(self.min_samples_level)
        self._check_depth()
        check_min_samples_leaf(self.min_samples_leaf)
        views = tree_views(
            given,
            self.schema_,
            max_depth=self.max_depth,
            few=self.min_samples_level,
            minimum=self._holds_leaves() or not self._tests_sets(given),
        )
        posed = self._posed(views, given)
        few = pooled_at(self.min_samples_level, posed.problem.n_rows)
        scope = scope_of(self.schema_, views, few=few) if self.max_depth != 0 else ()  # a leaf has no test
        return replace(posed, scope=scope)

    def _check_depth(self) -> None:
        """Raise ValueError unless ``max_depth`` is a depth."""
        if self.max_depth is not None or self.max_leaf_nodes is None:
            check_depth(self.max_depth)
        check_leaves(self)

    def _scope(self, problem: Any, result: Result) -> tuple[str, ...]:
        return (*super()._scope(problem, result), *scope_of_leaves(self._most_leaves))

    def _holds_leaves(self) -> bool:
        """Whether leaves need a minimum of more than one row."""
        return self.min_samples_leaf > 1 or share_of(self.min_weight_fraction_leaf) != 0

    def _to_count(self, given: Rows) -> PosedTree:
        return self._posed(Views((), given.columns.shape[1]), given)

    def _posed(self, views: Views, given: Rows) -> PosedTree:
        return PosedTree(self._posed_rows(views.values(given.columns), given, views.by_sets), views, given)

    def _solve(self, problem: PosedTree, limits: Limits, progress: Progress | None) -> Result:
        if self.checkpoint is None:
            result = self._search(problem.problem, limits, progress)
        else:
            with SearchFile(self.checkpoint, self._recorded(problem.problem)) as file:
                result = self._search(problem.problem, limits, progress, file)
        if result.model is not None:
            result = replace(result, model=problem.lifted(result.model))
        return self._with_counts(result, problem)

    def _with_counts(self, result: Result, problem: PosedTree) -> Result:
        """The result, whose model is over the columns, with what the learner counts at each node."""
        return result

    def _recorded(self, problem: TreeProblem) -> dict[str, Any]:
        """The description of the problem in a checkpoint, by which a later fit recognises it."""
        return {
            "model": "tree",
            **recorded_rows(problem.X, problem.target.recorded, problem.weights, problem.real_weights),
            "max_depth": problem.max_depth,
            "alpha": float(self.alpha),
            "min_samples_leaf": problem.min_samples_leaf,
            "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
            "max_gap": problem.max_gap,
            "by_sets": list(problem.by_sets),
        }

    def _search(
        self, problem: TreeProblem, limits: Limits, progress: Progress | None, file: SearchFile | None = None
    ) -> Result:
        result = self._searched(problem, limits, progress, file)
        if result.model is None or problem.holds_leaves(result.model, self.min_weight_fraction_leaf):
            return result
        # By rounding, the weight of a leaf is slightly too small: solve again with a stricter limit. The first bound
        # stays valid, because it is about trees whose leaves may be slightly lighter.
        heavier = problem.cost.leaf_weight(self.min_weight_fraction_leaf, surely=True)
        sure = replace(problem, min_leaf_weight=heavier)
        left = left_after(result.stats, limits)
        return bounded_by(result, self._searched(sure, left, progress, file))

    def _searched(
        self, problem: TreeProblem, limits: Limits, progress: Progress | None, file: SearchFile | None
    ) -> Result:
        """The result of the engine."""
        if self._most_leaves is not None:
            return solve_leaves(problem, self._most_leaves, limits=limits, progress=progress)
        return solve(problem, limits=limits, progress=progress, checkpoint=file)

    def _cost(self, problem: PosedTree) -> float:
        return problem.problem.cost.shown(problem.counted.real_cost(self.model_))

    @property
    def _trees(self) -> str:
        """The trees that the search is about, in words, such as "tree of depth at most 3"."""
        depth, leaves = self.max_depth, self._most_leaves
        if leaves is None:
            return (
                gettext("tree of any depth")
                if depth is None
                else gettext("tree of depth at most %(depth)s", depth=depth)
            )
        if leaves == 1:
            return gettext("tree of one leaf")
        if depth is None:
            return gettext("tree of at most %(leaves)s leaves", leaves=leaves)
        return gettext("tree of depth at most %(depth)s and at most %(leaves)s leaves", depth=depth, leaves=leaves)

    # ----------------------------------------------------------------- as a candidate of a cross-validation

    def _front_of_size(self, given: Rows, most: Sequence[int | None], prices: Sequence[float]) -> Any:
        """One search in place of a fit for each of several limits on leaves and prices of a leaf; None without one."""
        return None

    def _constrained(self, groups: Any) -> Callable[[Any, Rows], Any] | None:
        """What adds limits on the rates of groups to a problem; None without groups."""
        return None

    def _claim(self) -> str:
        return gettext("no %(trees)s costs less", trees=self._trees)


# ----------------------------------------------------------------------------------------------- the problem of a table


class Sets(StrEnum):
    """The sets of levels of a column that a search considers as tests."""

    ALL = "all"
    ALL_LOW = "all sets at the last two tests of a path, and at other tests only cuts of one order"
    ORDERED = "only the cuts of one order"


def sets_of(n_levels: int, n_classes: int, max_depth: int | None, *, minimum: bool) -> Sets:
    """Return which sets of levels of a column a search considers as tests.

    Parameters
    ----------
    n_levels : number of levels of the column; missing values count as one
    n_classes : number of classes
    max_depth : depth of the tree; None for any: then no test is known to be among the last two of a path
    minimum : whether leaves need more than one row, or a least weight
    """
    if n_levels <= 2:
        return Sets.ALL
    if minimum:
        return Sets.ALL if n_levels <= SETS_OF_HELD_LEAVES else Sets.ORDERED
    if n_levels > SETS_LOW or n_classes > CLASSES_OF_SETS:
        return Sets.ORDERED
    if max_depth is None:
        return Sets.ALL if n_levels <= SETS_ANYWHERE else Sets.ORDERED
    return Sets.ALL if n_levels <= SETS_ANYWHERE or max_depth <= 2 else Sets.ALL_LOW


@dataclass(frozen=True, eq=False)
class PosedTree:
    """A tree problem over views, with the columns from which the problem was made.

    Parameters
    ----------
    problem : the problem over the views
    views : the views of the columns
    given : the training rows
    scope : what limits the search, in words, as in a result
    """

    problem: TreeProblem
    views: Views
    given: TrainingRows
    scope: tuple[str, ...] = ()

    @cached_property
    def X(self) -> FloatArray:
        """(n_rows, n_columns) columns of the rows of positive weight."""
        return self.given.kept(self.problem.kept)[0]

    @cached_property
    def counted(self) -> TreeProblem:
        """The problem over the columns instead of the views, on which the cost of a tree of the table is counted."""
        return replace(self.problem, X=self.X)

    def lifted(self, table: NodeTable) -> NodeTable:
        """Convert a tree over the views into a tree over the columns."""
        if self.problem.X is self.X:
            return table
        return self.views.lift(table)


def check_few(few: object) -> None:
    """Raise ValueError unless ``few``, the parameter ``min_samples_level``, is an integer from 1 or None."""
    if few is not None and (not is_integer(few) or few < 1):
        raise ValueError(f"min_samples_level={few!r}: expected an integer from 1, or None")


def pooled_at(few: int | None, n_rows: int) -> int:
    """The least number of rows of a level that is not pooled with others."""
    return max(1, min(FEW_ROWS, n_rows // FEW_SHARE)) if few is None else int(few)


def tree_views(
    rows: TrainingRows,
    schema: Schema,
    *,
    max_depth: int | None,
    few: int | None = None,
    minimum: bool = False,
) -> Views:
    """The views of a table for the tree search: categories are tested by sets of levels, rare levels are pooled.

    Parameters
    ----------
    rows : training rows; rows of weight 0 are ignored
    schema : schema of the table
    max_depth : depth of the tree; None for any
    few : levels with fewer rows are pooled, see :func:`pooled_at`
    minimum : whether leaves need more than one row, or a least weight, so that the search cannot test sets of levels
    """
    X, weights = rows.columns, rows.real_weights
    given: dict[int, Collection[View]] = {}
    limits: dict[Limit, list[int]] = {}
    kept = weights > 0
    for j in schema.nominal:
        if j in schema.left_out:
            continue
        present = ~np.isnan(X[:, j])
        levels, index = np.unique(X[present, j].astype(np.int64), return_inverse=True)
        counted = kept[present]
        at = index[counted]  # index into ``levels`` for each row
        means, sums = rows.means(np.flatnonzero(present)[counted], at, levels.size)
        n_of = np.bincount(at, minlength=levels.size)
        rare = (n_of > 0) & (n_of < pooled_at(few, int(np.count_nonzero(kept))))
        place = pooled(level_order(means, sums), rare, means, sums)
        gaps = bool(np.any(kept & ~present))
        n_tested = np.unique(place[n_of > 0]).size + gaps
        kind = sets_of(n_tested, rows.n_classes, max_depth, minimum=minimum)
        given[j] = _level_views(j, levels, place, np.flatnonzero(n_of), kind, gaps=gaps, minimum=minimum)
        if np.count_nonzero(rare) > 1:
            limits.setdefault(Limit.POOLED, []).append(j)
        if kind is Sets.ALL_LOW:
            limits.setdefault(Limit.ORDERED_ABOVE, []).append(j)
        elif kind is Sets.ORDERED and not _order_suffices(weights, rows.n_classes, max_depth, minimum=minimum):
            limits.setdefault(Limit.ORDERED, []).append(j)
    return replace(Views.of(X, given=given, left_out=schema.left_out), limits=limits)


def _order_suffices(weights: FloatArray, n_classes: int, max_depth: int | None, *, minimum: bool) -> bool:
    """Whether the best cut of the order of :func:`level_order` is provably the best set of levels.

    That holds for a single test and two classes. The order compares class shares in float64, which is exact enough if
    the weights are whole and not too large.
    """
    if n_classes > 2 or max_depth is None or max_depth > 1 or minimum:
        return False
    return bool(np.all(weights == np.floor(weights)) and weights.sum() < MOST_EXACT)


def _level_views(
    column: int, levels: IntArray, place: IntArray, used: IntArray, kind: Sets, *, gaps: bool, minimum: bool
) -> list[View]:
    """The views of a nominal column.

    ``levels`` are the codes of its levels, ``place`` their places in an order, and ``used`` the indices of the levels
    that have rows of positive weight.
    """
    if kind is Sets.ALL and minimum:
        return [View(column, 1.0, ranks, levels=levels) for ranks in set_ranks(place, used, gaps=gaps)]
    views = []
    if kind is not Sets.ORDERED:
        views.append(View(column, float(place.max(initial=0) + 1), place, by_sets=True, levels=levels))
    if kind is not Sets.ALL:
        views.append(View(column, -np.inf, place, levels=levels))
        if gaps and used.size:
            views.append(View(column, np.inf, place, levels=levels))
    return views
