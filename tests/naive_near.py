"""Every tree within a budget by literal enumeration, and what the trees say of columns and rows.

A tree is a nested tuple: () is a leaf, a test is ``(column, rows that go low, low tree, high tree)``, so that cuts
which divide the rows of a node alike are one test.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from proofwood.model.node_table import NodeTable
from proofwood.problem.tree import TreeProblem
from tests.naive import Rows, leaf, splits

Tree: TypeAlias = "tuple[()] | tuple[int, Rows, Tree, Tree]"


def trees_and_costs(problem: TreeProblem) -> dict[Tree, int]:
    """Integer cost of every tree within the limits in which no node could be a leaf without more errors."""

    @cache
    def grown(rows: Rows, depth: int) -> list[tuple[Tree, int, int]]:  # with its errors
        errors, _ = leaf(problem, rows)
        found: list[tuple[Tree, int, int]] = [((), errors, errors)]
        for column, _, low, high in splits(problem, rows) if depth > 0 else ():
            for low_tree, low_cost, low_errors in grown(low, depth - 1):
                for high_tree, high_cost, high_errors in grown(high, depth - 1):
                    if low_errors + high_errors < errors:
                        tree = (column, low, low_tree, high_tree)
                        cost = low_cost + high_cost + problem.cost.leaf_price
                        found.append((tree, cost, low_errors + high_errors))
        return found

    trees = grown(frozenset(range(problem.n_rows)), problem.max_depth)
    costs = {tree: cost for tree, cost, _ in trees}
    assert len(costs) == len(trees)
    return costs


def as_tree(table: NodeTable, problem: TreeProblem) -> Tree:
    """A node table as a tree of this file."""

    def read(node: int, rows: Rows) -> Tree:
        column = int(table.feature[node])
        if column < 0:
            return ()
        low = frozenset(row for row in rows if problem.X[row, column] <= table.threshold[node])
        return (column, low, read(int(table.low[node]), low), read(int(table.high[node]), rows - low))

    return read(0, frozenset(range(problem.n_rows)))


def columns_of(tree: Tree) -> set[int]:
    """The columns that a tree tests."""
    return {tree[0]} | columns_of(tree[2]) | columns_of(tree[3]) if tree else set()


def decisions(trees: Iterable[Tree], problem: TreeProblem, X: Any) -> Any:
    """(n, n_classes) whether some tree gives the class to the row, with thresholds anywhere in their intervals."""
    possible = np.zeros((len(X), problem.n_classes), dtype=bool)

    def follow(tree: Tree, rows: Rows, here: Any) -> None:
        if not tree:
            possible[here, leaf(problem, rows)[1]] = True
            return
        column, low, low_tree, high_tree = tree
        below = max(problem.X[row, column] for row in low)
        above = min(problem.X[row, column] for row in rows - low)
        follow(low_tree, low, here & (X[:, column] < above))
        follow(high_tree, rows - low, here & (X[:, column] > below))

    for tree in trees:
        follow(tree, frozenset(range(problem.n_rows)), np.ones(len(X), dtype=bool))
    return possible
