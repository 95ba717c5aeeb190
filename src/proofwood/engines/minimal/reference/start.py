"""A tree to begin with: grown top-down until no test tells the rows of a leaf with several classes apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.engines.minimal.reference.rows import Groups, bare_table
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.problem.ranked import RankedRows


def greedy_tree(groups: Groups, rows: RankedRows, check: Callable[[], None] = lambda: None) -> NodeTable:
    """Tree that makes the unavoidable errors only, each split that of least weighted Gini impurity, ties to the first.

    As CART grows it; depth and size are whatever comes out. ``check`` is called at every node and column; what it
    raises goes through.
    """
    feature, low, high = [LEAF], [LEAF], [LEAF]
    pending = [(0, np.arange(groups.weights.shape[0]))]
    while pending:
        node, members = pending.pop()
        if np.count_nonzero(groups.weights[members].sum(axis=0)) == 1:
            continue
        test = _best_test(groups, members, check)
        if test is None:
            continue
        passed = groups.goes_low(test, members)
        feature[node] = groups.test_in_problem(test)
        for side, edges in ((passed, low), (~passed, high)):
            edges[node] = len(feature)
            pending.append((len(feature), members[side]))
            feature.append(LEAF)
            low.append(LEAF)
            high.append(LEAF)
    return bare_table(feature, low, high, rows)


def _best_test(groups: Groups, members: IntArray, check: Callable[[], None]) -> int | None:
    """The test with the purest sides, None if every test sends all groups one way."""
    weights = groups.weights[members].astype(np.float64)
    total = weights.sum(axis=0)
    best, best_impurity, first = None, np.inf, 0
    for column, tests in enumerate(groups.tests_of):
        check()
        held = np.zeros((tests + 1, weights.shape[1]))
        np.add.at(held, groups.ranks[members, column], weights)
        below = np.cumsum(held, axis=0)[:-1]
        impurity = _gini(below) + _gini(total - below)
        splits = (below.sum(axis=1) > 0) & (below.sum(axis=1) < total.sum())
        impurity = np.where(splits, impurity, np.inf)
        cut = int(np.argmin(impurity))
        if impurity[cut] < best_impurity:
            best, best_impurity = first + cut, float(impurity[cut])
        first += tests
    return best


def _gini(weights: FloatArray) -> FloatArray:
    """Weight of the rows times their Gini impurity."""
    together = weights.sum(axis=1)
    return np.asarray(together - (weights**2).sum(axis=1) / np.maximum(together, 1.0))
