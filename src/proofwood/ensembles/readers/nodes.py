"""Build trees node by node, and replace a test by several tests if one threshold cannot express it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from proofwood.ensembles.forest import Codes, ScoredTree, Stack
from proofwood.model.node_table import LEAF, BoolArray, FloatArray

Edge = tuple[list[int], int]
"""A list of children, and the index at which the number of a child has to be entered."""
Sides = tuple[list[Edge], list[Edge]]
"""The edges of a test to its low side, and those to its high side, whose ends are still to be entered."""


class Nodes:
    """The nodes of a tree that is being built; a test is added first, and its children are entered later.

    Parameters
    ----------
    n_scores : number of scores of a leaf
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
        """Add a test whose children are still unknown, and return the number of its node."""
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.missing_low.append(missing_low)
        self.value.append(self._nothing)
        self.levels.append(levels)
        self.low.append(LEAF)
        self.high.append(LEAF)
        return len(self.feature) - 1

    def add_leaf(self, value: FloatArray) -> int:
        """Add a leaf with its scores (n_scores,), and return the number of its node."""
        here = self.add(LEAF, math.nan, True)
        self.value[here] = value
        return here

    def sides(self, node: int) -> tuple[list[Edge], list[Edge]]:
        """The edges of a test to its low side and to its high side, whose ends are still to be entered."""
        return [(self.low, node)], [(self.high, node)]

    def tree(self) -> ScoredTree:
        """The tree of all nodes; if several tests replace one test, a node can have several of them as parents."""
        return ScoredTree(
            feature=np.array(self.feature),
            threshold=np.array(self.threshold),
            low=np.array(self.low),
            high=np.array(self.high),
            missing_low=np.array(self.missing_low),
            value=np.array(self.value),
            levels=tuple(self.levels) if any(codes is not None for codes in self.levels) else None,
        )


def with_gap(stack: Stack, tests: BoolArray, gap: tuple[float, float]) -> Stack:
    """The trees for a model that treats the numbers of an interval, the gap, as missing values.

    A test keeps one threshold if the gap lies on its default side. Else two more tests separate the numbers below, in
    and above the gap; they are placed after all other nodes of the tree.

    Parameters
    ----------
    stack : the trees
    tests : (n_nodes,) whether a test treats the gap as missing; no threshold of such a test is inside the gap
    gap : the last number below the gap, and the last number in it
    """
    below, last = gap
    threshold, default_low = stack.threshold.copy(), stack.missing_low.copy()
    stays_low = threshold >= last
    high = tests & stays_low & ~default_low  # low below the gap, high in it, low up to the threshold
    low = tests & ~stays_low & default_low  # low up to the threshold, high below the gap, low in it
    parted = np.flatnonzero((high & (threshold > last)) | (low & (threshold < below)))
    away = high[parted]
    cut = threshold[parted]
    threshold[high], threshold[low & (threshold >= below)] = below, last
    default_low[parted[~away]] = False
    sizes, of_tree = np.diff(stack.begins), stack.tree_of[parted]
    extra = np.bincount(of_tree, minlength=sizes.size) * 2
    begins = np.concatenate([[0], np.cumsum(sizes + extra)])
    # indices of the old nodes, and of the two new nodes for each split test
    old = np.arange(stack.feature.size) + (begins[:-1] - stack.begins[:-1])[stack.tree_of]
    nth = np.arange(parted.size) - np.searchsorted(of_tree, of_tree)
    second = begins[of_tree] + sizes[of_tree] + 2 * nth
    low_child, high_child = stack.low[parted], stack.high[parted]

    def placed(values: Any, seconds: Any, thirds: Any) -> Any:
        found = np.zeros((int(begins[-1]), *values.shape[1:]), dtype=values.dtype)
        found[old], found[second], found[second + 1] = values, seconds, thirds
        return found

    here = second - begins[of_tree]
    to_second = stack.high.copy()
    to_second[parted] = here
    column = stack.feature[parted]
    return Stack(
        begins,
        placed(stack.feature, column, column),
        placed(threshold, np.where(away, last, below), np.where(away, cut, last)),
        placed(stack.low, high_child, low_child),
        placed(to_second, here + 1, high_child),
        placed(default_low, away, True),
        placed(stack.value, 0.0, 0.0),
        {int(old[node]): codes for node, codes in stack.levels.items()},
    )


def rewritten(
    tree: ScoredTree, test: Callable[[Nodes, int], Sides], decided: Callable[[int], bool | None] | None = None
) -> ScoredTree:
    """The tree in which other tests replace each test.

    Parameters
    ----------
    tree : ScoredTree
    test : function that adds the new tests for a node, and returns their edges to the low side and to the high side.
        If a side has no edges, it is left out of the tree
    decided : function that returns True if every row goes low at a node, False if every row goes high, and None if
        both occur or the node is a leaf
    """
    nodes = Nodes(tree.value.shape[1])
    pending: list[tuple[int, list[Edge]]] = [(0, [])]
    while pending:
        node, edges = pending.pop()
        while decided is not None and (low := decided(node)) is not None:
            node = int(tree.low[node] if low else tree.high[node])
        join(edges, len(nodes))
        if tree.feature[node] == LEAF:
            nodes.add_leaf(tree.value[node])
            continue
        lows, highs = test(nodes, node)
        pending += [(int(tree.high[node]), highs)] * bool(highs) + [(int(tree.low[node]), lows)] * bool(lows)
    return nodes.tree()


def join(edges: list[Edge], node: int) -> None:
    """Enter a node as the child at the end of each edge."""
    for children, place in edges:
        children[place] = node
