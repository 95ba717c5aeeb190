"""What the formulas see of the rows: groups of equal rows, columns of distinct tests; and trees over these tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.problem.ranked import RankedRows

UNLABELLED = -1
"""Class of a leaf that the formula left open."""

Tree: TypeAlias = "int | tuple[int, Tree, Tree]"
"""A leaf is its class code, a split is ``(test, low, high)``, tests numbered as in :class:`Groups`."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows that no test tells apart, over columns of tests.

    Parameters
    ----------
    ranks : (n_groups, n_columns) int64; a group passes cut ``c`` of column ``j`` (goes low) if ``ranks[:, j] <= c``
    tests : per column, the number in the problem of the test of each cut
    weights : (n_groups, n_classes) integer weights
    """

    ranks: IntArray
    tests: tuple[IntArray, ...]
    weights: IntArray

    @classmethod
    def of(cls, rows: RankedRows, *, merge: bool, single: bool, check: Callable[[], None] = lambda: None) -> Groups:
        """Groups of ``rows``, in the lexicographic order of their ranks.

        Parameters
        ----------
        merge : keep one of equal tests, and one of columns that order the rows alike or in reverse
        single : every test is a column of its own
        check : called every now and then; what it raises goes through
        """
        index, weights = rows.groups
        ranks = np.zeros((weights.shape[0], rows.n_columns), dtype=np.int64)
        ranks[index] = rows.ranks
        columns = [(ranks[:, j], np.arange(rows.offsets[j], rows.offsets[j + 1])) for j in range(rows.n_columns)]
        if merge:
            columns = [_without_equal_cuts(*column, check) for column in columns]
        if single:
            columns = [(1 * (rank > cut), tests[cut : cut + 1]) for rank, tests in columns for cut in range(tests.size)]
        if merge:
            columns = _without_equal_columns(columns, check)
        columns = [(rank, tests) for rank, tests in columns if tests.size]
        merged = np.stack([rank for rank, _ in columns], axis=1) if columns else ranks[:, :0]
        return cls(merged, tuple(tests for _, tests in columns), weights)

    @cached_property
    def tests_of(self) -> tuple[int, ...]:
        """Number of tests of each column."""
        return tuple(tests.size for tests in self.tests)

    @cached_property
    def n_tests(self) -> int:
        """Number of tests of all columns."""
        return sum(self.tests_of)

    @cached_property
    def costs(self) -> IntArray:
        """(n_groups, n_classes) weight of the rows of a group that are wrong if it is given a class."""
        return np.asarray(self.weights.sum(axis=1, keepdims=True) - self.weights)

    def goes_low(self, test: int, members: IntArray) -> IntArray:
        """(n_members,) which of the groups pass the test."""
        column = int(np.searchsorted(self._first_tests, test, side="right")) - 1
        return np.asarray(self.ranks[members, column] <= test - self._first_tests[column])

    @cached_property
    def _first_tests(self) -> IntArray:
        return np.cumsum([0, *self.tests_of[:-1]])

    def test_in_problem(self, test: int) -> int:
        """Number of the test in the problem."""
        column = int(np.searchsorted(self._first_tests, test, side="right")) - 1
        return int(self.tests[column][test - self._first_tests[column]])

    def leaves(self, tree: Tree) -> Iterator[tuple[int, IntArray]]:
        """Class of each leaf and the groups that reach it, from low to high."""
        pending: list[tuple[Tree, IntArray]] = [(tree, np.arange(self.weights.shape[0]))]
        while pending:
            below, members = pending.pop()
            if isinstance(below, int):
                yield below, members
            else:
                test, low, high = below
                passed = self.goes_low(test, members)
                pending += [(high, members[~passed]), (low, members[passed])]

    def errors(self, tree: Tree) -> int:
        """Integer weight of the wrong rows if every leaf has the heaviest class of its rows."""
        held = (self.weights[members].sum(axis=0) for _, members in self.leaves(tree))
        return sum(int(weight.sum() - weight.max()) for weight in held)

    def table(self, tree: Tree, rows: RankedRows) -> NodeTable:
        """``tree`` over the tests of the problem, its leaves labelled and weighed by the rows."""
        feature: list[int] = []
        low: list[int] = []
        high: list[int] = []

        def place(below: Tree) -> int:
            node = len(feature)
            feature.append(LEAF)
            low.append(LEAF)
            high.append(LEAF)
            if not isinstance(below, int):
                feature[node] = self.test_in_problem(below[0])
                low[node] = place(below[1])
                high[node] = place(below[2])
            return node

        place(tree)
        return bare_table(feature, low, high, rows)


def bare_table(feature: list[int], low: list[int], high: list[int], rows: RankedRows) -> NodeTable:
    """Table of 0/1 tests with labels and weights counted from ``rows``."""
    n = len(feature)
    tested = np.array(feature)
    bare = NodeTable(
        feature=tested,
        threshold=np.where(tested == LEAF, np.nan, 0.5),
        low=np.array(low),
        high=np.array(high),
        label=np.zeros(n, dtype=np.int64),
        weight=np.zeros((n, rows.n_classes)),
        rows=np.zeros(n, dtype=np.int64),
        missing_low=np.ones(n, dtype=bool),
    )
    return rows.refresh(bare, relabel=True)


def _without_equal_cuts(rank: IntArray, tests: IntArray, check: Callable[[], None]) -> tuple[IntArray, IntArray]:
    """One cut, the smallest, between each two neighbouring ranks that occur."""
    check()
    if tests.size == 1 and rank.min() != rank.max():  # as the test of a level is
        return rank, tests
    present, places = np.unique(rank, return_inverse=True)
    return np.asarray(places, dtype=np.int64), tests[present[:-1]]


def _without_equal_columns(
    columns: list[tuple[IntArray, IntArray]], check: Callable[[], None]
) -> list[tuple[IntArray, IntArray]]:
    """The first of columns that order the rows alike, or in reverse: swapping all sides makes the trees equal."""
    seen: set[bytes] = set()
    kept = []
    for rank, tests in columns:
        check()
        same, reverse = rank.tobytes(), (tests.size - rank).tobytes()
        if same not in seen:
            kept.append((rank, tests))
        seen |= {same, reverse}
    return kept
