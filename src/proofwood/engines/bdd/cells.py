"""The truth table of tests in an order, and its ordered reduced diagram.

With ``H`` tests, cell ``j`` holds the rows whose answers are the binary digits of ``j``. The first test is the most
significant digit, and the digit 1 means the high side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import LEAF, BoolArray, IntArray, NodeTable
from proofwood.problem.ranked import RankedRows

MOST_TESTS = 20
"""The largest number of tests of a truth table. A table over more tests has over a million cells and is refused."""


@dataclass(frozen=True, eq=False)
class CellTable:
    """A truth table: the weight of each class in each cell of tests in an order.

    Parameters
    ----------
    tests : tests from the top of the diagram to its bottom
    weights : (2 ** n_tests, n_classes) int64, weight of each class in each cell
    """

    tests: tuple[int, ...]
    weights: IntArray

    @classmethod
    def of(cls, rows: RankedRows, tests: Sequence[int]) -> CellTable:
        """Count the weight of ``rows`` in the cells of ``tests``, given from top to bottom.

        Raises
        ------
        ValueError
            If a test is given twice, or there are more than :data:`MOST_TESTS` tests.
        """
        order = tuple(int(test) for test in tests)
        if len(set(order)) != len(order):
            raise ValueError(f"tests {order} name a test twice: expected different tests")
        if len(order) > MOST_TESTS:
            raise ValueError(
                f"{len(order)} tests would need a truth table of 2**{len(order)} cells: expected at most "
                f"{MOST_TESTS} tests"
            )
        cell = np.zeros(rows.n_rows, dtype=np.int64)
        for answers in rows.bits(order).T:
            cell = 2 * cell + answers
        weights = np.zeros((2 ** len(order), rows.n_classes), dtype=np.int64)
        np.add.at(weights, (cell, rows.codes), rows.weights)
        return cls(order, weights)

    @property
    def n_tests(self) -> int:
        """Number of tests."""
        return len(self.tests)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.weights.shape[1])

    @cached_property
    def reached(self) -> BoolArray:
        """Boolean array (2 ** n_tests,): which cells hold at least one row."""
        return np.asarray(self.weights.any(axis=1))

    @cached_property
    def allowed(self) -> BoolArray:
        """Boolean array (2 ** n_tests, n_classes): which labels make the fewest errors in each cell.

        In a cell without rows, these are all labels.
        """
        return np.asarray(self.weights == self.weights.max(axis=1, keepdims=True))

    @cached_property
    def errors(self) -> int:
        """Weight of the rows that are wrong if each cell predicts its best label."""
        return int((self.weights.sum(axis=1) - self.weights.max(axis=1)).sum())

    def reorder(self, order: Sequence[int]) -> CellTable:
        """The table of the same tests in another order; its test ``i`` is test ``order[i]`` of this table."""
        places = list(order)
        if sorted(places) != list(range(self.n_tests)):
            raise ValueError(f"order {places} is not a permutation of 0..{self.n_tests - 1}")
        cube = self.weights.reshape((2,) * self.n_tests + (self.n_classes,))
        turned = cube.transpose(*places, self.n_tests).reshape(self.weights.shape)
        return CellTable(tuple(self.tests[place] for place in places), np.ascontiguousarray(turned))


def beads(labels: Sequence[int] | npt.NDArray[np.integer]) -> list[tuple[int, ...]]:
    """The beads of a truth table, largest first. A bead is a subtable whose halves differ, or a single label.

    Beads are the nodes of the ordered reduced diagram [1]_.

    References
    ----------
    .. [1] Hu, Huguet, Siala (2022), Algorithm 1 (GenBDD), corrected: line 21 pushes the second half.
    """
    found: dict[tuple[int, ...], None] = {}
    level = [_essential(tuple(int(label) for label in labels))]
    while level:
        fresh = [table for table in dict.fromkeys(level) if table not in found]
        found.update(dict.fromkeys(fresh))
        level = [_essential(half) for table in fresh if len(table) > 1 for half in _halves(table)]
    return sorted(found, key=len, reverse=True)


def diagram(tests: Sequence[int], labels: Sequence[int] | npt.NDArray[np.integer], n_classes: int) -> NodeTable:
    """The ordered reduced diagram of a truth table (GenBDD); its leaves predict class codes.

    Parameters
    ----------
    tests : tests from top to bottom; each inner node has its test as ``feature``, and the ``threshold`` 0.5
    labels : (2 ** len(tests),) class code of each cell
    n_classes : number of classes

    Returns
    -------
    NodeTable
        The nodes level by level, so that children come after their parents. Weights and row counts are zero.
    """
    table = tuple(int(label) for label in labels)
    if len(table) != 2 ** len(tests):
        raise ValueError(f"{len(table)} labels for {len(tests)} tests: expected {2 ** len(tests)}, one for each cell")
    names = beads(table)
    number = {bead: node for node, bead in enumerate(names)}
    inner = [len(bead) > 1 for bead in names]
    children = [
        tuple(number[_essential(half)] for half in _halves(bead)) if len(bead) > 1 else (LEAF, LEAF) for bead in names
    ]
    levels = [len(tests) - (len(bead).bit_length() - 1) for bead in names]
    return NodeTable.uncounted(
        [tests[level] if split else LEAF for level, split in zip(levels, inner, strict=True)],
        np.where(inner, 0.5, np.nan),
        [low for low, _ in children],
        [high for _, high in children],
        n_classes,
        label=[bead[0] for bead in names],
    )


def _halves(table: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    middle = len(table) // 2
    return table[:middle], table[middle:]


def _essential(table: tuple[int, ...]) -> tuple[int, ...]:
    """The bead of a subtable: while the two halves are equal, one half replaces the subtable."""
    while len(table) > 1:
        first, second = _halves(table)
        if first != second:
            return table
        table = first
    return table
