"""From trees whose tests are literals to the leaves of a ``ScoreModel`` with their needs."""

from __future__ import annotations

import numpy as np

from proofwood.explain.model.forest import ScoredTree
from proofwood.explain.model.grid import ALWAYS, NEVER, Grid
from proofwood.explain.model.integers import IntegerScores
from proofwood.explain.model.scores import ScoreModel
from proofwood.model.node_table import LEAF, IntArray


def score_model(
    trees: tuple[ScoredTree, ...], literals: tuple[IntArray, ...], scores: IntegerScores, grid: Grid, *, ties_low: bool
) -> ScoreModel:
    """The ensemble over the cells of the grid; leaves that no cell reaches are left out."""
    counts, values, need_counts, needs = [0], [], [np.zeros(1, dtype=np.int64)], []
    for tree, tests, table in zip(trees, literals, scores.values, strict=True):
        nodes, sizes, flat = _paths(tree, tests, grid)
        counts.append(nodes.size)
        values.append(table[nodes])
        need_counts.append(sizes)
        needs.append(flat)
    return ScoreModel(
        n_thresholds=grid.n_thresholds,
        features=grid.features,
        leaves_of=np.cumsum(counts),
        scores=np.concatenate(values),
        base=scores.base,
        needs_of=np.cumsum(np.concatenate(need_counts)),
        needs=np.concatenate(needs),
        clauses=tuple(grid.clauses),
        margin=scores.margin,
        ties_low=ties_low,
        ranges=tuple(grid.ranges),
    )


def _paths(tree: ScoredTree, literals: IntArray, grid: Grid) -> tuple[IntArray, IntArray, IntArray]:
    """Leaves that can be reached, the number of needs of each, and these needs.

    All nodes of a depth go down together. A node keeps, for each grid column that its tree tests, the lowest and the
    highest cell that reach it: every test narrows one of them, and the strongest needs are read off at the leaf.
    """
    inner = tree.feature != LEAF
    real = inner & (literals >= 0)
    column = np.full(tree.feature.size, -1)
    column[real] = np.searchsorted(grid.first, literals[real] >> 1, side="right") - 1
    used = np.unique(column[real])
    place = np.searchsorted(used, column)
    threshold = np.where(real, (literals >> 1) - grid.first[np.maximum(column, 0)], 0)
    top = grid.n_thresholds[used]
    nodes = np.zeros(1, dtype=np.int64)
    lowest = np.zeros((1, used.size), dtype=np.int64)
    highest = top[np.newaxis].copy()
    ends, end_lowest, end_highest = [], [], []
    while nodes.size:
        leaf = ~inner[nodes]
        ends.append(nodes[leaf])
        end_lowest.append(lowest[leaf])
        end_highest.append(highest[leaf])
        nodes, lowest, highest = nodes[~leaf], lowest[~leaf], highest[~leaf]
        parts = []
        for child, side in ((tree.low, 0), (tree.high, 1)):
            test = literals[nodes]
            going = test != (NEVER if side == 0 else ALWAYS)
            at, a, b = nodes[going], lowest[going], highest[going]
            test = test[going] ^ side
            rows, where, cut = np.arange(at.size), place[at], threshold[at]
            known = real[at]
            up, down = known & (test & 1 == 0), known & (test & 1 == 1)
            a[rows[up], where[up]] = np.maximum(a[rows[up], where[up]], cut[up] + 1)
            b[rows[down], where[down]] = np.minimum(b[rows[down], where[down]], cut[down])
            some = np.ones(at.size, dtype=bool)
            some[known] = a[rows[known], where[known]] <= b[rows[known], where[known]]
            parts.append((child[at][some], a[some], b[some]))
        nodes, lowest, highest = (np.concatenate([low, high]) for low, high in zip(*parts, strict=True))
    found = np.concatenate(ends)
    low, high = np.concatenate(end_lowest), np.concatenate(end_highest)
    first = grid.first[used]
    above = np.where(low > 0, 2 * (first + low - 1), -1)
    below = np.where(high < top, 2 * (first + high) + 1, -1)
    table = np.stack([above, below], axis=2).reshape(found.size, -1)
    return found, np.count_nonzero(table >= 0, axis=1), table[table >= 0]


class Walker:
    """Integer sums of many rows at once: all of them walk down each tree by its tests on cells."""

    def __init__(
        self, trees: tuple[ScoredTree, ...], literals: tuple[IntArray, ...], scores: IntegerScores, grid: Grid
    ) -> None:
        self._base, self._n_columns = scores.base, len(grid.columns)
        self._parts = []
        for tree, tests, table in zip(trees, literals, scores.values, strict=True):
            inner = tree.feature != LEAF
            variable = np.where(inner & (tests >= 0), tests >> 1, 0)
            column = np.searchsorted(grid.first, variable, side="right") - 1
            column = np.minimum(column, max(self._n_columns - 1, 0))
            self._parts.append((inner, tests, column, variable - grid.first[column], tree.low, tree.high, table))

    def sums_of(self, cells: IntArray) -> IntArray:
        """(n_rows, n_classes) sums of rows given by their cells (n_rows, n_columns)."""
        if cells.ndim != 2 or cells.shape[1] != self._n_columns:
            raise ValueError(f"cells have shape {cells.shape}: expected (n_rows, {self._n_columns})")
        sums = np.tile(self._base, (cells.shape[0], 1))
        for inner, tests, column, cut, low, high, table in self._parts:
            nodes = np.zeros(cells.shape[0], dtype=np.int64)
            rows = np.flatnonzero(inner[nodes])
            while rows.size:
                at = nodes[rows]
                test = tests[at]
                above = cells[rows, column[at]] > cut[at] if self._n_columns else np.zeros(rows.size, dtype=bool)
                holds = np.where(test >= 0, above == (test & 1 == 0), test == ALWAYS)
                nodes[rows] = np.where(holds, low[at], high[at])
                rows = rows[inner[nodes[rows]]]
            sums += table[nodes]
        return np.asarray(sums)
