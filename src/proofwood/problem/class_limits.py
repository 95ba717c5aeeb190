"""Conditions on a tree of classes as a whole: directions of columns, rates of groups.

A leaf then may give the class of fewer rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import predict
from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.problem.diagram import Rate
from proofwood.problem.targets import Classes


@dataclass(frozen=True, eq=False)
class LimitedClasses(Classes):
    """Classes under a condition on the whole tree: its leaves keep their labels, for the best ones may break it."""

    def refreshed(self, table: NodeTable, X: npt.ArrayLike, weights: FloatArray) -> NodeTable:
        """See the base class; the labels of leaves stay."""
        best = super().refreshed(table, X, weights)
        return best.changed(label=np.where(table.feature == LEAF, table.label, best.label))


@dataclass(frozen=True, eq=False)
class OrderedClasses(LimitedClasses):
    """Two classes; the one predicted never falls (1) or never rises (-1) as a column rises, and others stay.

    Parameters
    ----------
    codes, n_classes : as in the base class
    directions : for each column of the problem 1, -1, or 0 if only rows of equal values are compared
    """

    directions: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class FairClasses(LimitedClasses):
    """Two classes whose rates in groups are limited.

    Parameters
    ----------
    codes, n_classes : as in the base class
    rates : the limits, all of the same positive class
    """

    rates: tuple[Rate, ...] = ()

    def broken(self, table: NodeTable, X: npt.ArrayLike) -> Rate | None:
        """The first limit that a tree breaks on these rows; None if it keeps all."""
        predicted = predict(table, X)
        return next((rate for rate in self.rates if rate.slack(predicted) < 0), None)


def clashing_leaves(table: NodeTable, directions: tuple[int, ...]) -> tuple[int, int] | None:
    """Two leaves that break the order of classes, the one of class 1 first; None if the tree keeps it.

    A leaf of class 1 and one of class 0 clash if a row of the first can be equal to a row of the second, or differ from
    it in the direction of columns only. Every pair is looked at, over all numbers that thresholds let through.

    Parameters
    ----------
    table : a tree of two classes whose tests are thresholds
    directions : for each column
    """
    low, high, leaves = _boxes(table, len(directions))
    rising, falling = (np.array(directions) == sign for sign in (1, -1))
    free = ~(rising | falling)
    ones = [leaf for leaf in leaves if table.label[leaf] == 1]
    for one, zero in product(ones, [leaf for leaf in leaves if table.label[leaf] == 0]):
        meets = np.where(free, np.maximum(low[one], low[zero]) < np.minimum(high[one], high[zero]), True)
        meets &= np.where(rising, low[one] < high[zero], True) & np.where(falling, low[zero] < high[one], True)
        if bool(meets.all()):
            return one, zero
    return None


def _boxes(table: NodeTable, n_columns: int) -> tuple[FloatArray, FloatArray, list[int]]:
    """(n_nodes, n_columns) ends ``low < value <= high`` of each node, and the leaves."""
    low = np.full((table.n_nodes, n_columns), -np.inf)
    high = np.full((table.n_nodes, n_columns), np.inf)
    leaves, nodes = [], [0]
    while nodes:
        node = nodes.pop()
        if table.feature[node] == LEAF:
            leaves.append(node)
            continue
        column, threshold = int(table.feature[node]), float(table.threshold[node])
        for child, ends, best in ((table.low[node], high, min), (table.high[node], low, max)):
            low[child], high[child] = low[node], high[node]
            ends[child, column] = best(ends[node, column], threshold)
            nodes.append(int(child))
    return low, high, sorted(leaves)
