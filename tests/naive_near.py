"""Every near-optimal tree of a table, also with gaps and levels, by literal enumeration over its columns and rows.

A tree is a nested tuple: () is a leaf, a test is ``(column, rows of one side, its tree, tree of the other side)``,
where the side is the one that has the first of the node's rows: tests that divide the rows of a node alike are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from proofwood.model.node_table import NodeTable
from proofwood.problem.tree import TreeProblem
from tests.naive import Rows, holds_enough, leaf

Tree: TypeAlias = "tuple[()] | tuple[int, Rows, Tree, Tree]"
Goes: TypeAlias = Callable[[float], "bool | None"]  # whether a value goes low; None: to either side


@dataclass(frozen=True)
class Column:
    """What may be tested: thresholds of numbers, all sets of levels, or the cuts of an order of levels."""

    values: Any  # of the training rows, NaN where missing
    kind: str  # "numbers", "sets", "order"
    place: dict[float, float] | None = None  # of levels, where they have an order, or some stay together

    def _group(self, value: float) -> str:
        return str((self.place or {}).get(value, f"level {value}"))

    def tests(self, new: Iterable[float] = ()) -> list[Goes]:
        """All tests that divide any of the training rows and the new ones."""
        gaps = bool(np.isnan(self.values).any())
        seen = sorted({value for value in self.values if not np.isnan(value)})
        if self.kind == "sets":
            groups = {self._group(value) for value in [*seen, *([np.nan] if gaps else [])]}
            chosen = [set(one) for n in range(1, len(groups)) for one in combinations(sorted(groups), n)]

            def in_set(one: set[str], value: float) -> bool | None:
                return self._group(value) in one if self._group(value) in groups else None

            return [partial(in_set, one) for one in chosen]

        def tested(cut: float, gap: float) -> Goes:
            def goes(value: float) -> bool | None:
                if np.isnan(value):
                    return gap <= cut if gaps else None
                if self.place is None:
                    return bool(value <= cut)
                return self.place[value] <= cut if value in self.place else None

            return goes

        numbers = list(self.place.values()) if self.place else [*seen, *(v for v in new if not np.isnan(v))]
        return [tested(cut, gap) for cut in (-np.inf, *sorted(set(numbers))) for gap in [-np.inf, np.inf][: 1 + gaps]]


def plain(problem: TreeProblem) -> list[Column]:
    """The columns of a problem, whose values are numbers."""
    return [Column(values, "numbers") for values in problem.X.T]


def side_of(column: Column, goes: Goes, rows: Rows) -> Rows:
    """The rows on the side of the first one; empty if a test divides nothing."""
    low = frozenset(row for row in rows if goes(column.values[row]))
    if not low or low == rows:
        return frozenset()
    return low if min(rows) in low else rows - low


def trees_and_costs(problem: TreeProblem, columns: list[Column], depth: int) -> dict[Tree, int]:
    """Integer cost of every tree within the limits in which no node could be a leaf without more errors."""
    tests = [column.tests() for column in columns]

    @cache
    def grown(rows: Rows, left: int) -> list[tuple[Tree, int, int]]:
        errors, _ = leaf(problem, rows)
        found: list[tuple[Tree, int, int]] = [((), errors, errors)]
        for j, column in enumerate(columns if left else []):
            sides = {side_of(column, goes, rows) for goes in tests[j]} - {frozenset()}
            for one in sides:
                if not (holds_enough(problem, one) and holds_enough(problem, rows - one)):
                    continue
                for a, a_cost, a_errors in grown(one, left - 1):
                    for b, b_cost, b_errors in grown(rows - one, left - 1):
                        if a_errors + b_errors < errors:
                            cost = a_cost + b_cost + problem.cost.leaf_price
                            found.append(((j, one, a, b), cost, a_errors + b_errors))
        return found

    trees = grown(frozenset(range(problem.n_rows)), depth)
    costs = {tree: cost for tree, cost, _ in trees}
    assert len(costs) == len(trees)
    return costs


def as_tree(table: NodeTable, columns: list[Column], n_rows: int) -> Tree:
    """A node table over the columns as a tree of this file."""

    def goes_low(node: int, value: float) -> bool:
        levels = None if table.levels is None else table.levels[node]
        if np.isnan(value):
            return bool(table.missing_low[node])
        return bool(value <= table.threshold[node]) if levels is None else int(value) in levels

    def read(node: int, rows: Rows) -> Tree:
        j = int(table.feature[node])
        if j < 0:
            return ()
        low = frozenset(row for row in rows if goes_low(node, columns[j].values[row]))
        low_tree, high_tree = read(int(table.low[node]), low), read(int(table.high[node]), rows - low)
        if min(rows) in low:
            return (j, low, low_tree, high_tree)
        return (j, rows - low, high_tree, low_tree)

    return read(0, frozenset(range(n_rows)))


def columns_of(tree: Tree) -> set[int]:
    """The columns that a tree tests."""
    return {tree[0]} | columns_of(tree[2]) | columns_of(tree[3]) if tree else set()


def decisions(trees: Iterable[Tree], problem: TreeProblem, columns: list[Column], X: Any) -> Any:
    """(n, n_classes) whether some test of each node that divides its rows so leads the row to a leaf of the class."""
    possible = np.zeros((len(X), problem.n_classes), dtype=bool)
    tests = [column.tests(X[:, j]) for j, column in enumerate(columns)]

    @cache
    def ways(j: int, rows: Rows, one: Rows) -> tuple[Any, Any]:  # rows that may go to either side
        first, second = np.zeros(len(X), dtype=bool), np.zeros(len(X), dtype=bool)
        for goes in tests[j]:
            if side_of(columns[j], goes, rows) != one:
                continue
            first_is_low = bool(goes(columns[j].values[min(rows)]))
            for i, value in enumerate(X[:, j]):
                low = goes(value)
                first[i] |= low is None or low == first_is_low
                second[i] |= low is None or low != first_is_low
        return first, second

    def follow(tree: Tree, rows: Rows, here: Any) -> None:
        if not tree:
            possible[here, leaf(problem, rows)[1]] = True
            return
        j, one, a, b = tree
        first, second = ways(j, rows, one)
        follow(a, one, here & first)
        follow(b, rows - one, here & second)

    for tree in trees:
        follow(tree, frozenset(range(problem.n_rows)), np.ones(len(X), dtype=bool))
    return possible
