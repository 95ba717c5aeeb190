"""A tree that meets the bound ends the search: nothing is left to prove, and the tree is the same in every run."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from proofwood.engines.trees import SearchOptions, solve
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Status


def deep_labels(n: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose labels a tree of so many levels explains, by thresholds that no impurity shows."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 400, (n, 6)).astype(float)
    y = np.zeros(n, dtype=np.int64)
    for level in range(levels):
        y ^= X[:, level % 6] > 40 + 90 * (level // 6 + 1)
    return X, y


@pytest.mark.parametrize("depth", [9, 14])
def test_no_depth_is_searched_once_a_tree_has_no_error(depth: int) -> None:
    X, y = deep_labels(400, 3)
    y[::17] ^= 1
    problem = TreeProblem.from_arrays(X, y, max_depth=depth)
    result = solve(problem, options=SearchOptions(packed=False))
    assert (result.status, result.objective, result.lower_bound) == (Status.OPTIMAL, 0.0, 0.0)
    assert result.stats.counters["root_splits"] == 0
    assert result.stats.counters["row_visits"] < 2e8
    assert result.model is not None
    assert result.model.depth <= depth


def test_the_tree_depends_on_neither_threads_nor_the_order_of_rows() -> None:
    X, y = deep_labels(900, 4)
    y[::13] ^= 1
    trees = []
    for threads, seed in ((1, None), (2, None), (1, 5)):
        order = np.arange(len(y)) if seed is None else np.random.default_rng(seed).permutation(len(y))
        result = solve(TreeProblem.from_arrays(X[order], y[order], max_depth=12), limits=Limits(threads=threads))
        assert result.objective == 0
        assert result.model is not None
        trees.append(naive.as_tuple(result.model))
    assert trees[0] == trees[1] == trees[2]


def test_a_tree_that_is_made_shallower_has_no_error_either() -> None:
    X, y = deep_labels(300, 2)
    deep = solve(TreeProblem.from_arrays(X, y, max_depth=20))
    assert deep.objective == 0
    assert deep.model is not None
    assert deep.model.depth == 2  # the least depth, where the last pass has the time to prove it


def test_a_bound_that_meets_the_best_tree_ends_the_search() -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (300, 3)).astype(float)
    y = rng.integers(0, 2, 300)  # eight different rows: what equal rows leave is the optimum at depth three and more
    result = solve(TreeProblem.from_arrays(X, y, max_depth=7), options=SearchOptions(packed=False))
    assert result.status is Status.OPTIMAL
    assert result.model is not None
    assert result.model.depth == solve(TreeProblem.from_arrays(X, y, max_depth=3)).model.depth  # type: ignore[union-attr]
