"""Problems of optimal trees over a table: the views of its columns, and the conversion of trees back to the columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from proofwood.arguments import is_integer
from proofwood.data.schema import Schema
from proofwood.data.views import Limit, View, Views, class_shares, level_order, pooled, set_ranks
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.problem.tree import SETS_ANYWHERE, TreeProblem

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


class Sets(StrEnum):
    """The sets of levels of a column that a search considers as tests."""

    ALL = "all"
    ALL_LOW = "all sets at the last two tests of a path, and at other tests only cuts of one order"
    ORDERED = "only the cuts of one order"


def sets_of(n_levels: int, n_classes: int, max_depth: int, *, minimum: bool) -> Sets:
    """Return which sets of levels of a column a search considers as tests.

    Parameters
    ----------
    n_levels : number of levels of the column; missing values count as one
    n_classes : number of classes
    max_depth : depth of the tree
    minimum : whether leaves need more than one row, or a least weight
    """
    if n_levels <= 2:
        return Sets.ALL
    if minimum:
        return Sets.ALL if n_levels <= SETS_OF_HELD_LEAVES else Sets.ORDERED
    if n_levels > SETS_LOW or n_classes > CLASSES_OF_SETS:
        return Sets.ORDERED
    return Sets.ALL if n_levels <= SETS_ANYWHERE or max_depth <= 2 else Sets.ALL_LOW


@dataclass(frozen=True, eq=False)
class PosedTree:
    """A tree problem over views, with the columns from which the problem was made.

    Parameters
    ----------
    problem : the problem over the views
    views : the views of the columns
    X : (n_rows, n_columns) columns of the rows of positive weight
    scope : what limits the search, in words, as in a result
    """

    problem: TreeProblem
    views: Views
    X: FloatArray
    scope: tuple[str, ...] = ()

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
    X: FloatArray,
    schema: Schema,
    codes: IntArray,
    n_classes: int,
    weights: FloatArray,
    *,
    max_depth: int,
    few: int | None = None,
    minimum: bool = False,
) -> Views:
    """The views of a table for the tree search: categories are tested by sets of levels, rare levels are pooled.

    Parameters
    ----------
    X : (n_rows, n_columns) training rows
    schema : schema of the table
    codes : (n_rows,) class codes
    n_classes : number of classes
    weights : (n_rows,) weights; rows of weight 0 are ignored
    max_depth : depth of the tree
    few : levels with fewer rows are pooled, see :func:`pooled_at`
    minimum : whether leaves need more than one row, or a least weight
    """
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
        shares, sums = class_shares(at, levels.size, codes[present][counted], n_classes, weights[present][counted])
        rows = np.bincount(at, minlength=levels.size)
        rare = (rows > 0) & (rows < pooled_at(few, int(np.count_nonzero(kept))))
        place = pooled(level_order(shares, sums), rare, shares, sums)
        gaps = bool(np.any(kept & ~present))
        n_tested = np.unique(place[rows > 0]).size + gaps
        kind = sets_of(n_tested, n_classes, max_depth, minimum=minimum)
        given[j] = _level_views(j, levels, place, np.flatnonzero(rows), kind, gaps=gaps, minimum=minimum)
        if np.count_nonzero(rare) > 1:
            limits.setdefault(Limit.POOLED, []).append(j)
        if kind is Sets.ALL_LOW:
            limits.setdefault(Limit.ORDERED_ABOVE, []).append(j)
        elif kind is Sets.ORDERED and not _order_suffices(weights, n_classes, max_depth, minimum=minimum):
            limits.setdefault(Limit.ORDERED, []).append(j)
    return replace(Views.of(X, given=given, left_out=schema.left_out), limits=limits)


def _order_suffices(weights: FloatArray, n_classes: int, max_depth: int, *, minimum: bool) -> bool:
    """Whether the best cut of the order of :func:`level_order` is provably the best set of levels.

    That holds for a single test and two classes. The order compares class shares in float64, which is exact enough if
    the weights are whole and not too large.
    """
    if n_classes > 2 or max_depth > 1 or minimum:
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
