"""The enumeration itself: against every tree written out one by one, and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import naive
from proofwood.problem.tree import TreeProblem
from strategies import examples, problems


def _order(tree: naive.Tree) -> tuple[Any, ...]:
    """Sort key of the tie rule: depth first, then feature and threshold, then the low and the high side."""
    if isinstance(tree, int):
        return (0,)
    feature, threshold, low, high = tree
    sides = _order(low), _order(high)
    return (1 + max(side[0] for side in sides), feature, threshold, *sides)


@examples(2)
@given(problem=problems(most_rows=5, most_depth=2))
def test_no_tree_is_better_and_no_tie_comes_before_the_canonical_one(problem: TreeProblem) -> None:
    costs = [(naive.tree_cost(tree, problem), _order(tree)) for tree in naive.every_tree(problem)]
    cost, tree = naive.best_tree(problem)
    assert (cost, _order(tree)) == min(costs)
    assert naive.tree_cost(tree, problem) == cost


@examples(2)
@given(problem=problems().filter(lambda p: p.max_depth > 0))
def test_the_faster_twin_agrees(problem: TreeProblem) -> None:
    assert naive.best_by_stumps(problem) == naive.best_tree(problem)


def test_exclusive_or_needs_depth_two() -> None:
    X, codes = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert naive.best_tree(TreeProblem.from_arrays(X, codes, max_depth=1)) == (2, 0)
    assert naive.best_tree(TreeProblem.from_arrays(X, codes, max_depth=2)) == (
        0,
        (0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0)),
    )


def test_a_leaf_must_hold_its_rows_but_a_lone_root_always_may() -> None:
    X, codes = [[0], [1], [2], [3], [4]], [1, 1, 0, 0, 0]
    assert naive.fewest_cost(TreeProblem.from_arrays(X, codes, max_depth=1, min_samples_leaf=2)) == 0
    assert naive.fewest_cost(TreeProblem.from_arrays(X, codes, max_depth=1, min_samples_leaf=3)) == 2
    assert naive.best_tree(TreeProblem.from_arrays(X, codes, max_depth=1, min_samples_leaf=9)) == (2, 0)


def test_a_subset_may_cost_more_than_its_superset_with_a_minimum_of_rows() -> None:
    def cost(codes: list[int]) -> int:
        X = [[float(i)] for i in range(len(codes))]
        return naive.fewest_cost(TreeProblem.from_arrays(X, codes, max_depth=1, min_samples_leaf=2))

    assert cost([1, 0, 0, 0]) == 1
    assert cost([1, 1, 0, 0, 0]) == 0


def test_a_leaf_costs_its_share_of_the_total_weight() -> None:
    X, codes = [[0], [1], [2], [3]], [0, 0, 0, 1]
    assert naive.canonical_tree(TreeProblem.from_arrays(X, codes, max_depth=1, alpha=0.24)) == (0, 2.5, 0, 1)
    assert naive.canonical_tree(TreeProblem.from_arrays(X, codes, max_depth=1, alpha=0.25)) == 0


@pytest.mark.parametrize(
    ("a", "b", "middle"),
    [
        (1.0, 2.0, 1.5),
        (1.0, math.nextafter(1.0, 2.0), 1.0),
        (math.nextafter(1.0, 2.0), 1.0 + 2 * math.ulp(1.0), math.nextafter(1.0, 2.0)),  # the middle rounds to even: b
        (0.0, 5e-324, 0.0),
        (-5e-324, 0.0, -5e-324),
        (1.7e308, 1.75e308, 1.725e308),
        (-1.7e308, 1.7e308, 0.0),
        (2.0**24, 2.0**24 + 1, 2.0**24 + 0.5),
    ],
)
def test_midpoint_separates_its_neighbours(a: float, b: float, middle: float) -> None:
    assert naive.midpoint(a, b) == middle
    assert a <= naive.midpoint(np.float64(a).item(), b) < b
