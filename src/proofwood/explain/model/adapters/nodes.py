"""Trees that are built node by node, and tests that one threshold alone does not tell."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from proofwood.explain.model.forest import Codes, ScoredTree
from proofwood.model.node_table import LEAF, FloatArray

Edge = tuple[list[int], int]
"""A list of children, and the place in it that a node goes to."""
Sides = tuple[list[Edge], list[Edge]]
"""The edges that go on where a test is low, and where it is high."""


class Nodes:
    """The nodes of a tree as they are found, each with the place that its parent keeps for it.

    Parameters
    ----------
    n_scores : scores of a leaf
    """

    def __init__(self, n_scores: int) -> None:
        self._nothing = np.zeros(n_scores)
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.missing_low: list[bool] = []
        self.value: list[FloatArray] = []
        self.levels: list[Codes | None] = []

    def __len__(self) -> int:
        return len(self.feature)

    def add(self, feature: int, threshold: float, missing_low: bool, levels: Codes | None = None) -> int:
        """A test whose children are still unknown; returns the number of the node."""
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.missing_low.append(missing_low)
        self.value.append(self._nothing)
        self.levels.append(levels)
        self.low.append(LEAF)
        self.high.append(LEAF)
        return len(self.feature) - 1

    def add_leaf(self, value: FloatArray) -> int:
        """A leaf with its scores (n_scores,); returns the number of the node."""
        here = self.add(LEAF, math.nan, True)
        self.value[here] = value
        return here

    def sides(self, node: int) -> tuple[list[Edge], list[Edge]]:
        """The edges of a test to its low and to its high side."""
        return [(self.low, node)], [(self.high, node)]

    def tree(self) -> ScoredTree:
        """The tree; a node that several tests stand for has children with several parents."""
        return ScoredTree(
            feature=np.array(self.feature),
            threshold=np.array(self.threshold),
            low=np.array(self.low),
            high=np.array(self.high),
            missing_low=np.array(self.missing_low),
            value=np.array(self.value),
            levels=tuple(self.levels) if any(codes is not None for codes in self.levels) else None,
        )


def with_gap(tree: ScoredTree, gap: tuple[float, float]) -> ScoredTree:
    """The tree for rows in which some numbers stand for a missing value: they go where that does.

    Parameters
    ----------
    tree : none of its thresholds is inside the gap, and none of its tests is for categories
    gap : see :func:`add_with_gap`
    """

    def test(nodes: Nodes, node: int) -> Sides:
        column, threshold = int(tree.feature[node]), float(tree.threshold[node])
        return add_with_gap(nodes, column, threshold, gap, bool(tree.missing_low[node]))

    return rewritten(tree, test)


def rewritten(tree: ScoredTree, test: Callable[[Nodes, int], Sides]) -> ScoredTree:
    """The tree with other tests.

    Parameters
    ----------
    tree : ScoredTree
    test : adds what stands for the test of a node; returns the edges that go on where it is low, and where it is high.
        A side without edges is left out
    """
    nodes = Nodes(tree.value.shape[1])
    pending: list[tuple[int, list[Edge]]] = [(0, [])]
    while pending:
        node, edges = pending.pop()
        join(edges, len(nodes))
        if tree.feature[node] == LEAF:
            nodes.add_leaf(tree.value[node])
            continue
        lows, highs = test(nodes, node)
        pending += [(int(tree.high[node]), highs)] * bool(highs) + [(int(tree.low[node]), lows)] * bool(lows)
    return nodes.tree()


def join(edges: list[Edge], node: int) -> None:
    """Let edges lead to a node."""
    for children, place in edges:
        children[place] = node


def add_with_gap(
    nodes: Nodes, column: int, threshold: float, gap: tuple[float, float], default_low: bool
) -> tuple[list[Edge], list[Edge]]:
    """Add the test ``x <= threshold`` of a column some numbers of which stand for a missing value.

    One threshold is enough where these numbers are on the default side of it. Else those below, in and above the gap
    are told apart.

    Parameters
    ----------
    nodes : of the tree
    column : tested
    threshold : not inside the gap
    gap : the number before the first, and the last number, that stand for a missing value
    default_low : whether a missing value goes low

    Returns
    -------
    tuple of two lists
        The edges to the low and to the high side.
    """
    below, last = gap
    stays_low = threshold >= last
    tests = [(threshold, default_low)]  # threshold, and whether a missing value goes low
    if stays_low and not default_low:  # low below the gap, high in it, low up to the threshold
        tests = [(below, False), (last, True), (threshold, True)] if threshold > last else [(below, False)]
    elif default_low and not stays_low:  # low up to the threshold, high below the gap, low in it
        tests = [(threshold, False), (below, False), (last, True)] if threshold < below else [(last, True)]
    at = [nodes.add(column, *test) for test in tests]
    if len(at) == 1:
        return nodes.sides(at[0])
    nodes.high[at[0]], nodes.high[at[1]] = at[1], at[2]
    return [(nodes.low, at[0]), (nodes.low, at[2])], [(nodes.low, at[1]), (nodes.high, at[2])]
