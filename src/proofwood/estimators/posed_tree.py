"""The problem of an optimal tree over a table: views of its columns, and the way back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from proofwood.data.schema import Schema
from proofwood.data.views import Views, class_shares, level_order, pooled
from proofwood.estimators.parameters import is_integer
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.model.reshape import canonical_thresholds
from proofwood.problem.problem import TreeProblem

FEW_ROWS = 30
"""Rows below which levels are pooled by default,"""
FEW_SHARE = 40
"""or this part of all rows, if it is less."""


@dataclass(frozen=True, eq=False)
class PosedTree:
    """A tree problem over views, and the columns that it was made from.

    Parameters
    ----------
    problem : over the views
    views : of the columns
    X : (n_rows, n_columns) columns of the rows of positive weight
    """

    problem: TreeProblem
    views: Views
    X: FloatArray

    @cached_property
    def counted(self) -> TreeProblem:
        """The same rows and prices over the columns: what a lifted tree costs is counted on it."""
        return replace(self.problem, X=self.X)

    def lifted(self, table: NodeTable) -> NodeTable:
        """A tree over the views as one over the columns."""
        if self.problem.X is self.X:
            return table
        return canonical_thresholds(self.views.lift(table), self.X)


def check_few(few: object) -> None:
    """Raise ValueError unless ``few`` is a number of rows, or None."""
    if few is not None and (not is_integer(few) or int(few) < 1):  # type: ignore[call-overload]
        raise ValueError(f"min_samples_level={few!r}: expected an integer from 1, or None")


def pooled_at(few: int | None, n_rows: int) -> int:
    """Rows that a level needs to be tested by itself."""
    return max(1, min(FEW_ROWS, n_rows // FEW_SHARE)) if few is None else int(few)


def tree_views(
    X: FloatArray, schema: Schema, codes: IntArray, n_classes: int, weights: FloatArray, *, few: int | None = None
) -> Views:
    """The views of a table for the tree search: categories in an order by class, rare levels together.

    Parameters
    ----------
    X : (n_rows, n_columns) training rows
    schema : of the table
    codes : (n_rows,) class codes
    weights : (n_rows,) weights, rows of weight 0 count for nothing
    few : levels of fewer rows are pooled, see :func:`pooled_at`
    """
    ranks = {}
    kept = weights > 0
    for j in schema.nominal:
        if j in schema.left_out:
            continue
        column = X[kept, j]
        n_levels = (
            int(np.nanmax(column, initial=-1)) + 1 if not schema.columns[j].levels else len(schema.columns[j].levels)
        )
        shares, sums = class_shares(column, n_levels, codes[kept], n_classes, weights[kept])
        rows = np.bincount(column[~np.isnan(column)].astype(np.int64), minlength=n_levels)
        rare = (rows > 0) & (rows < pooled_at(few, int(np.count_nonzero(kept))))
        ranks[j] = pooled(level_order(shares, sums), rare, shares, sums)
    return Views.of(X, ranks=ranks, left_out=schema.left_out)
