"""The leaves of trees over the cells of a grid, one by one: the readable twin of native/votes/cell_trees."""

from __future__ import annotations

import numpy as np

from proofwood.ensembles.forest import ScoredTree
from proofwood.ensembles.grid import ALWAYS, NEVER, Grid
from proofwood.model.node_table import LEAF, IntArray


def leaves(tree: ScoredTree, literals: IntArray, grid: Grid) -> list[tuple[int, list[int]]]:
    """Leaves that some cells reach, each with its needs: all nodes of a depth go down together, the low sides first.

    A node keeps the lowest and the highest cell of each column that reach it. Every test narrows one of them, and the
    strongest needs are read off at the leaf.
    """
    top = grid.n_thresholds
    level = [(0, np.zeros(top.size, dtype=np.int64), top.copy())]
    found = []
    while level:
        below = []
        for node, low, high in level:
            if tree.feature[node] == LEAF:
                needs = []
                for column, first in enumerate(grid.first[:-1].tolist()):
                    needs += [2 * (first + int(low[column]) - 1)] if low[column] > 0 else []
                    needs += [2 * (first + int(high[column])) + 1] if high[column] < top[column] else []
                found.append((node, needs))
        for is_low, children in ((True, tree.low), (False, tree.high)):
            for node, low, high in level:
                literal = int(literals[node])
                if tree.feature[node] == LEAF or literal == (NEVER if is_low else ALWAYS):
                    continue
                low, high = low.copy(), high.copy()
                if literal >= 0:
                    column = int(np.searchsorted(grid.first, literal >> 1, side="right")) - 1
                    cut = (literal >> 1) - int(grid.first[column])
                    if (literal & 1 == 0) == is_low:
                        low[column] = max(low[column], cut + 1)
                    else:
                        high[column] = min(high[column], cut)
                    if low[column] > high[column]:
                        continue
                below.append((int(children[node]), low, high))
        level = below
    return found


def leaf_of(tree: ScoredTree, literals: IntArray, grid: Grid, cells: IntArray) -> int:
    """The leaf that a row of cells gets to."""
    node = 0
    while tree.feature[node] != LEAF:
        literal = int(literals[node])
        holds = literal == ALWAYS
        if literal >= 0:
            column = int(np.searchsorted(grid.first, literal >> 1, side="right")) - 1
            holds = (cells[column] > (literal >> 1) - grid.first[column]) == (literal & 1 == 0)
        node = int(tree.low[node] if holds else tree.high[node])
    return node
