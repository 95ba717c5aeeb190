"""Trees over rows that are stored as ranks: a threshold between two ranks is a test of the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem


def tree_problem(rows: RankedRows, *, depth: int, error_price: int = 1, leaf_price: int = 0) -> TreeProblem:
    """The problem of the best tree of up to ``depth`` over the ranks of ``rows``; results count integer weight."""
    return TreeProblem(
        X=rows.ranks.astype(np.float64),
        target=Classes(rows.codes, rows.n_classes),
        weights=rows.weights,
        cost=TreeCost(total=rows.total, unit=Fraction(1), error_price=error_price, leaf_price=leaf_price),
        max_depth=depth,
        kept=np.arange(rows.n_rows),
    )


def least_integer(bound: float, price: int = 1) -> int:
    """The least integer cost, ``price`` for each unit of ``bound``, that a float bound of integers leaves possible."""
    return math.ceil(Fraction(bound) * price * (1 - Fraction(1, 2**52)))


def over_tests(rows: RankedRows, table: NodeTable) -> NodeTable:
    """The tree ``table`` over the ranks, converted to a tree over the tests, each tested at 0.5."""
    inner = table.feature != LEAF
    cuts = np.floor(np.nan_to_num(table.threshold)).astype(np.int64)
    tests = np.where(inner, rows.offsets[np.maximum(table.feature, 0)] + cuts, LEAF)
    return replace(table, feature=tests.astype(np.int64), threshold=np.where(inner, 0.5, np.nan))
