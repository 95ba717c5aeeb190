"""Twins of the engines, short enough to be read and believed: they enumerate, and prune nothing.

Only the problem's plain values are used (rows, codes, integer weights, integer prices, limits), no engine and no
function that evaluates models. A tree is a nested tuple: a leaf is its class code, a test is
``(feature, threshold, low, high)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import isclose
from typing import TypeAlias

from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.tree import TreeProblem

Rows: TypeAlias = frozenset[int]
Tree: TypeAlias = "int | tuple[int, float, Tree, Tree]"


def fewest_cost(problem: TreeProblem) -> int:
    """Integer cost of the best tree within the limits."""
    return best_tree(problem)[0]


def canonical_tree(problem: TreeProblem) -> Tree:
    """The best tree that ties go to: of least depth, then of the smallest (feature, threshold), at every node."""
    return best_tree(problem)[1]


def best_tree(problem: TreeProblem) -> tuple[int, Tree]:
    """Integer cost and canonical tree: the minimum over every tree within the limits, the first of equals."""
    split_lists = cache(lambda rows: list(splits(problem, rows)))

    @cache
    def best(rows: Rows, depth: int) -> tuple[int, Tree]:
        if depth == 0:
            return leaf(problem, rows)
        cost, tree = best(rows, depth - 1)  # deeper only if that is better
        for feature, threshold, low, high in split_lists(rows):
            (low_cost, low_tree), (high_cost, high_tree) = best(low, depth - 1), best(high, depth - 1)
            together = low_cost + high_cost + problem.cost.leaf_price
            if together < cost:
                cost, tree = together, (feature, threshold, low_tree, high_tree)
        return cost, tree

    return best(frozenset(range(problem.n_rows)), problem.max_depth)


def least_real_cost(problem: TreeProblem) -> Fraction:
    """The same minimum in real weight, with nothing rounded but which leaves are heavy enough."""
    weights = [int(weight) * problem.cost.unit for weight in problem.weights]
    if problem.rounding is not None:
        weights = [Fraction(weight) for weight in problem.rounding.weights.tolist()]
    price = problem.cost.real_cost(Fraction(0), 1)
    split_lists = cache(lambda rows: list(splits(problem, rows)))

    @cache
    def best(rows: Rows, depth: int) -> Fraction:
        of_class = [Fraction(0)] * problem.n_classes
        for row in rows:
            of_class[int(problem.codes[row])] += weights[row]
        least = sum(of_class, Fraction(0)) - max(of_class)
        for _, _, low, high in split_lists(rows) if depth > 0 else []:
            least = min(least, best(low, depth - 1) + best(high, depth - 1) + price)
        return least

    return best(frozenset(range(problem.n_rows)), problem.max_depth)


def leaf(problem: TreeProblem, rows: Iterable[int]) -> tuple[int, int]:
    """Integer cost and class of a leaf that holds ``rows``."""
    weights = class_weights(problem, rows)
    heaviest = max(weights)
    return problem.cost.error_price * (sum(weights) - heaviest), weights.index(heaviest)


def class_weights(problem: TreeProblem, rows: Iterable[int]) -> list[int]:
    """Integer weight of each class among ``rows``."""
    weights = [0] * problem.n_classes
    for row in rows:
        weights[int(problem.codes[row])] += int(problem.weights[row])
    return weights


def splits(problem: TreeProblem, rows: Rows) -> Iterator[tuple[int, float, Rows, Rows]]:
    """Permitted tests of ``rows``, by feature and then by threshold, with the rows of both sides."""
    for feature, column in enumerate(problem.X.T.tolist()):
        for below, above in pairwise(sorted({column[row] for row in rows})):
            low = frozenset(row for row in rows if column[row] <= below)
            high = rows - low
            if holds_enough(problem, low) and holds_enough(problem, high):
                yield feature, midpoint(below, above), low, high


def holds_enough(problem: TreeProblem, rows: Iterable[int]) -> bool:
    """Whether ``rows`` may form a leaf below the root."""
    rows = list(rows)
    weight = sum(int(problem.weights[row]) for row in rows)
    return len(rows) >= problem.min_samples_leaf and weight >= problem.min_leaf_weight


def midpoint(a: float, b: float) -> float:
    """Threshold ``t`` with ``a <= t < b``: the float64 nearest to the middle, or ``a`` where that rounds to ``b``."""
    middle = float((Fraction(a) + Fraction(b)) / 2)
    return middle if middle < b else a


def front(problem: TreeProblem, most: int) -> list[int]:
    """Least integer weight that trees of at most 1, 2, ... ``most`` leaves, within the limits, get wrong."""

    @cache
    def best(rows: Rows, depth: int) -> list[int]:
        weights = class_weights(problem, rows)
        found = [sum(weights) - max(weights)] * most
        for _, _, low, high in splits(problem, rows) if depth else ():
            of_high = best(high, depth - 1)
            for a, left in enumerate(best(low, depth - 1)):
                for b, right in enumerate(of_high[: most - a - 1]):
                    found[a + b + 1] = min(found[a + b + 1], left + right)
        return found

    return best(frozenset(range(problem.n_rows)), problem.depth)


# -------------------------------------------------------------------- faster twins, for problems that fill SIMD lanes


def best_stump(problem: TreeProblem, rows: list[int]) -> tuple[int, Tree]:
    """Cost and tree of the best leaf or single test of ``rows``: one walk along every sorted column."""
    cost, tree = leaf(problem, rows)
    total = class_weights(problem, rows)
    for feature, column in enumerate(problem.X.T):
        order = sorted(rows, key=column.__getitem__)
        low_weights = [0] * problem.n_classes
        for place, (row, after) in enumerate(pairwise(order), start=1):
            low_weights[problem.codes[row]] += int(problem.weights[row])
            if column[row] == column[after]:
                continue
            if not (holds_enough(problem, order[:place]) and holds_enough(problem, order[place:])):
                continue
            high_weights = [whole - part for whole, part in zip(total, low_weights, strict=True)]
            right = max(low_weights) + max(high_weights)
            together = problem.cost.error_price * (sum(total) - right) + problem.cost.leaf_price
            if together < cost:
                labels = low_weights.index(max(low_weights)), high_weights.index(max(high_weights))
                cost, tree = together, (feature, midpoint(float(column[row]), float(column[after])), *labels)
    return cost, tree


def best_by_stumps(problem: TreeProblem) -> tuple[int, Tree]:
    """As :func:`best_tree` for depth 1 and more, with :func:`best_stump` in place of the last level of splits."""

    @cache
    def best(rows: Rows, depth: int) -> tuple[int, Tree]:
        if depth == 1:
            return best_stump(problem, sorted(rows))
        cost, tree = best(rows, depth - 1)
        for feature, threshold, low, high in splits(problem, rows):
            (low_cost, low_tree), (high_cost, high_tree) = best(low, depth - 1), best(high, depth - 1)
            together = low_cost + high_cost + problem.cost.leaf_price
            if together < cost:
                cost, tree = together, (feature, threshold, low_tree, high_tree)
        return cost, tree

    return best(frozenset(range(problem.n_rows)), problem.max_depth)


# ------------------------------------------------------------------------------------------------- one tree at a time


def every_tree(problem: TreeProblem) -> Iterator[Tree]:
    """Each tree within the limits whose leaves predict their heaviest class; for a handful of rows only."""

    def grow(rows: Rows, depth: int) -> Iterator[Tree]:
        yield leaf(problem, rows)[1]
        if depth > 0:
            for feature, threshold, low, high in splits(problem, rows):
                for low_tree in grow(low, depth - 1):
                    for high_tree in grow(high, depth - 1):
                        yield feature, threshold, low_tree, high_tree

    return grow(frozenset(range(problem.n_rows)), problem.max_depth)


def predict(tree: Tree, x: list[float]) -> int:
    """Class code of one row."""
    while not isinstance(tree, int):
        feature, threshold, low, high = tree
        tree = low if x[feature] <= threshold else high
    return tree


def n_leaves(tree: Tree) -> int:
    """Number of leaves."""
    return 1 if isinstance(tree, int) else n_leaves(tree[2]) + n_leaves(tree[3])


def tree_cost(tree: Tree, problem: TreeProblem) -> int:
    """Integer cost of ``tree``, counted row by row."""
    rows = zip(problem.X.tolist(), problem.codes.tolist(), problem.weights.tolist(), strict=True)
    wrong = sum(weight for x, code, weight in rows if predict(tree, x) != code)
    return problem.cost.error_price * wrong + problem.cost.leaf_price * (n_leaves(tree) - 1)


def as_tuple(table: NodeTable, node: int = 0) -> Tree:
    """The nested tuple of a node table."""
    if table.feature[node] == LEAF:
        return int(table.label[node])
    low, high = (as_tuple(table, int(child[node])) for child in (table.low, table.high))
    return int(table.feature[node]), float(table.threshold[node]), low, high


def check_table(table: NodeTable, problem: TreeProblem) -> None:
    """Assert that ``table`` is a tree in preorder within the limits, with the labels, weights and rows of its nodes."""
    visited: list[int] = []

    def visit(node: int, rows: Rows, depth: int) -> None:
        visited.append(node)
        assert depth <= problem.max_depth
        assert table.rows[node] == len(rows)
        expected = [float(weight * problem.cost.unit) for weight in class_weights(problem, rows)]
        assert all(isclose(a, b, rel_tol=1e-12) for a, b in zip(table.weight[node].tolist(), expected, strict=True))
        assert table.label[node] == leaf(problem, rows)[1]
        assert table.missing_low[node]
        if table.feature[node] == LEAF:
            assert holds_enough(problem, rows) or node == 0
            return
        column, threshold = problem.X[:, table.feature[node]].tolist(), table.threshold[node]
        low = frozenset(row for row in rows if column[row] <= threshold)
        assert 0 < len(low) < len(rows)
        assert threshold == midpoint(max(column[row] for row in low), min(column[row] for row in rows - low))
        visit(int(table.low[node]), low, depth + 1)
        visit(int(table.high[node]), rows - low, depth + 1)

    visit(0, frozenset(range(problem.n_rows)), 0)
    assert visited == list(range(table.n_nodes))
