"""Diagrams over more tests than a truth table can have. They are built only from the cells that rows reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofwood.model.node_table import LEAF, BoolArray, IntArray, NodeTable
from proofwood.problem.ranked import RankedRows

CELL_SECONDS, FEW_TESTS = 1e-5, 10
"""About how many seconds one cell of a truth table takes. If the time left is too short for all cells, and there are
more than ``FEW_TESTS`` tests, no table is made."""
VALUES_AT_ONCE = 10_000
"""About how many values of cells are looked at together for the next test that separates them."""


def no_time_for_table(n_tests: int, seconds: float | None) -> bool:
    """Whether a truth table of ``n_tests`` tests would take more than the ``seconds`` left (None: no limit)."""
    return seconds is not None and n_tests > FEW_TESTS and seconds < CELL_SECONDS * 2.0 ** min(n_tests, 1_000)


def sparse_diagram(rows: RankedRows, tests: Sequence[int]) -> NodeTable:
    """An ordered reduced diagram over ``tests``, top to bottom, with as few errors as their truth table.

    A branch that no row takes leads to the same node as its sibling. A branch ends in a leaf as soon as all its cells
    share a heaviest class. Equal nodes are shared. The diagram need not be the smallest.
    """
    bits = rows.bits(tests)
    cell = (
        np.unique(bits, axis=0, return_inverse=True)[1].reshape(-1) if len(tests) else np.zeros(rows.n_rows, np.int64)
    )
    weights = np.zeros((int(cell.max()) + 1, rows.n_classes), dtype=np.int64)
    np.add.at(weights, (cell, rows.codes), rows.weights)
    first = np.unique(cell, return_index=True)[1]
    return _Builder(bits[first] == 1, weights == weights.max(axis=1, keepdims=True)).table(tests)


class _Builder:
    """Builds each node once, from the bottom up. A split has the key (level, low, high), and a leaf its class."""

    def __init__(self, high: BoolArray, allowed: BoolArray) -> None:
        self.high, self.allowed = high, allowed
        self.nodes: dict[tuple[int, ...], int] = {}

    def table(self, tests: Sequence[int]) -> NodeTable:
        """The diagram as a node table; the root comes first."""
        root = self._root()
        keys = sorted(self.nodes, key=lambda key: -self.nodes[key])  # children were made before their parents
        place = {self.nodes[key]: position for position, key in enumerate(keys)}
        assert place[root] == 0
        inner = np.array([len(key) == 3 for key in keys])
        return NodeTable.uncounted(
            [tests[key[0]] if len(key) == 3 else LEAF for key in keys],
            np.where(inner, 0.5, np.nan),
            [place[key[1]] if len(key) == 3 else LEAF for key in keys],
            [place[key[2]] if len(key) == 3 else LEAF for key in keys],
            self.allowed.shape[1],
            label=[0 if len(key) == 3 else key[0] for key in keys],
        )

    def _root(self) -> int:
        """The root, made after all that is below it. Without recursion: each test may be a level of its own."""
        made: list[int] = []
        left: list[tuple[IntArray | None, int]] = [(np.arange(len(self.allowed)), 0)]
        while left:
            cells, level = left.pop()
            if cells is None:
                high_node, low_node = made.pop(), made.pop()
                same = low_node == high_node
                made.append(low_node if same else self._made((level, low_node, high_node)))
                continue
            common = self.allowed[cells].all(axis=0)
            if common.any():
                made.append(self._made((int(common.argmax()),)))
                continue
            level = self._separating(cells, level)
            high = self.high[cells, level]
            left += [(None, level), (cells[high], level + 1), (cells[~high], level + 1)]
        return made.pop()

    def _separating(self, cells: IntArray, level: int) -> int:
        """The first test from ``level`` on that separates cells without a common class, of which two differ below."""
        width = 1 + VALUES_AT_ONCE // cells.size
        for first in range(level, self.high.shape[1], width):
            high = self.high[cells, first : first + width]
            separates = high.any(axis=0) & ~high.all(axis=0)
            if separates.any():
                return first + int(separates.argmax())
        raise AssertionError("cells without a common class are equal in all tests")

    def _made(self, key: tuple[int, ...]) -> int:
        return self.nodes.setdefault(key, len(self.nodes))
