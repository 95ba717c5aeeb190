"""Sums of the trees at every value of one feature, with all other columns fixed.

At a test of the feature, a row follows both branches, each with the values that go there. The values of a numeric
feature are sorted, so each branch gets a contiguous range of them, and a row reaches few leaves of each tree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofwood.ensembles.forest import Forest, Stack
from proofwood.ensembles.grid import ALWAYS, Grid
from proofwood.ensembles.regions import Unit
from proofwood.model.node_table import LEAF, FloatArray, IntArray


# Before a proof, rows are evaluated with all values of the feature at once: if the class depends on the feature, a few
# hundred rows mostly show it: decisions/0066-rows-are-drawn-before-a-proof.
def values_of(grid: Grid, unit: Unit, low: IntArray, high: IntArray) -> tuple[tuple[int, ...], IntArray]:
    """Return the columns of a unit, and the combinations of cells (n_values, n_columns) that they can have.

    Numbers are in ascending order; the missing value comes last.

    Parameters
    ----------
    grid : the cells
    unit : see :mod:`proofwood.ensembles.regions`
    low, high : (n_columns of the grid,) least and greatest cells
    """
    inside = unit.values[unit.inside(low, high)]
    if unit.flag < 0:
        return unit.columns, inside
    numbers = np.column_stack([inside, np.zeros(len(inside), dtype=np.int64)])
    gap = np.array([[*(grid.columns[g].missing_cell for g in unit.columns), 1]])
    return (*unit.columns, unit.flag), np.concatenate([numbers, gap[: int(high[unit.flag])]])


class Along:
    """The trees of a model, prepared to add up their scores at all values of one feature.

    Parameters
    ----------
    forest : the model
    literals : per tree, its tests as literals over the grid
    grid : the cells
    columns : grid columns of the feature
    values : (n_values, n_columns of the feature) combinations of cells that these columns can have
    """

    def __init__(
        self,
        forest: Forest,
        literals: Sequence[IntArray],
        grid: Grid,
        columns: Sequence[int],
        values: IntArray,
    ) -> None:
        self.forest, self.columns, self.values = forest, list(columns), np.asarray(values)
        stack = Stack.of(forest.trees, scores=False)
        self._roots = stack.begins[:-1]
        offset = self._roots[stack.tree_of]
        self._inner = stack.feature != LEAF
        self._low, self._high = stack.low + offset, stack.high + offset
        self._test = np.concatenate(list(literals))
        real = self._inner & (self._test >= 0)
        variable = np.where(real, self._test >> 1, 0)
        column = np.searchsorted(grid.first, variable, side="right") - 1
        self._column = np.minimum(column, max(len(grid.columns) - 1, 0))
        self._cut = variable - grid.first[self._column]
        self._own = real & np.isin(self._column, self.columns)
        falls = np.flatnonzero((np.diff(self.values, axis=0) < 0).any(axis=1))
        self._in_order = int(falls[0]) + 1 if falls.size else len(self.values)

    def sums(self, rows: IntArray) -> FloatArray:
        """(n_rows, n_values, n_classes) floating-point sums of rows, which are given as cells (n_rows, n_columns).

        The cells of the rows in the columns of the feature are ignored.
        """
        n, rest = len(rows), self.values[self._in_order :]
        found = self._summed(rows, self._in_order)
        if not len(rest):
            return found
        every = np.repeat(rows, len(rest), axis=0)  # all rows with all other values
        every[:, self.columns] = np.tile(rest, (n, 1))
        return np.concatenate([found, self._summed(every, 0).reshape(n, len(rest), -1)], axis=1)

    def _summed(self, rows: IntArray, k: int) -> FloatArray:
        """Sums of rows at the first ``k`` values of the feature, or, if ``k`` is 0, of the unchanged rows."""
        n, n_trees = len(rows), len(self.forest.trees)
        row, node = np.repeat(np.arange(n), n_trees), np.tile(self._roots, n)
        begin, end = np.zeros(row.size, dtype=np.int64), np.full(row.size, max(k, 1))
        changes = np.zeros((n, max(k, 1) + 1, self.forest.base.size))
        changes[:, 0] = self.forest.base
        while row.size:
            done = ~self._inner[node]
            self._reach(changes, row[done], node[done], begin[done], end[done])
            row, node, begin, end = (part[~done] for part in (row, node, begin, end))
            test = self._test[node]
            above = rows[row, self._column[node]] > self._cut[node] if rows.shape[1] else np.zeros(row.size, dtype=bool)
            low = np.where(test >= 0, above == (test & 1 == 0), test == ALWAYS)
            split = self._own[node] if k else np.zeros(row.size, dtype=bool)
            first = self._first_above(node[split])
            plain = [(row[~split & side], to[node[~split & side]], begin[~split & side], end[~split & side])
                     for side, to in ((low, self._low), (~low, self._high))]  # fmt: skip
            rises = test[split] & 1 == 0  # goes low if the cell is above the cut
            parts = []
            for is_above in (True, False):
                b = np.maximum(begin[split], first) if is_above else begin[split]
                e = end[split] if is_above else np.minimum(end[split], first)
                some = b < e
                to = np.where(rises == is_above, self._low[node[split]], self._high[node[split]])
                parts.append((row[split][some], to[some], b[some], e[some]))
            row, node, begin, end = (np.concatenate(four) for four in zip(*plain, *parts, strict=True))
        return np.cumsum(changes, axis=1)[:, :-1] if k else changes[:, 0]

    def _first_above(self, nodes: IntArray) -> IntArray:
        """For each test of the feature, the index of the first value whose cell is above the cut."""
        found = np.zeros(nodes.size, dtype=np.int64)
        for at, column in enumerate(self.columns):
            mine = self._column[nodes] == column
            found[mine] = np.searchsorted(self.values[: self._in_order, at], self._cut[nodes[mine]], side="right")
        return found

    def _reach(self, changes: FloatArray, row: IntArray, leaf: IntArray, begin: IntArray, end: IntArray) -> None:
        """Add the scores of leaves to ``changes`` at the index ``begin``, and subtract them at the index ``end``."""
        tree = np.searchsorted(self._roots, leaf, side="right") - 1
        order = np.argsort(tree, kind="stable")
        ends = np.searchsorted(tree[order], np.arange(len(self._roots) + 1))
        for number in np.unique(tree).tolist():
            mine = order[ends[number] : ends[number + 1]]
            scores = self.forest.trees[number].value[leaf[mine] - self._roots[number]]
            np.add.at(changes, (row[mine], begin[mine]), scores)
            np.add.at(changes, (row[mine], end[mine]), -scores)
