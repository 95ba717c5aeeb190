"""Bounds by blocks come before the search, of some rows first where there are many columns, and hold for all trees."""

from __future__ import annotations

import numpy as np
import pytest

from proofwood.engines.trees import SearchOptions, solve
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits


def noisy_table(seed: int, classes: int, rare: bool) -> tuple[np.ndarray, np.ndarray]:
    """Many columns of two values, whose packed search is short, and labels that no tree of depth four explains."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (700, 24)).astype(float)
    y = (X[:, 0] + X[:, 1] * X[:, 2]).astype(int) % classes
    y = np.where(rng.random(len(y)) < 0.3, rng.integers(0, classes, len(y)), y)
    return X, np.where(rng.random(len(y)) < 0.7, 0, y) if rare else y


@pytest.mark.parametrize(
    ("classes", "rare", "alpha"), [(2, False, 0.0), (2, True, 0.004), (4, False, 0.004), (3, True, 0.0)]
)
def test_the_first_bound_is_of_some_rows_and_holds_for_all(classes: int, rare: bool, alpha: float) -> None:
    X, y = noisy_table(classes, classes, rare)
    problem = TreeProblem.from_arrays(X, y, max_depth=4, alpha=alpha)
    optimum = solve(problem).objective
    first = SearchOptions(packed=False, greedy_tree=False, beam=False, local_search=False)
    bounds = [event.lower_bound for event in solve(problem, options=first).trace]
    assert bounds[-1] == max(bounds) == optimum
    assert any(0 < bound < optimum for bound in bounds)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_what_they_hand_on_change_no_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (160, 4)).astype(float)
    y = (X[:, 0] > 20).astype(int) + (X[:, 1] * rng.random(160) > 18)
    problem = TreeProblem.from_arrays(X, y, max_depth=4)
    plain = solve(problem, options=SearchOptions(blocks=False))
    for threads, work in ((1, 3_000_000), (2, 0)):
        result = solve(problem, options=SearchOptions(block_work=work), limits=Limits(threads=threads))
        assert (result.objective, result.lower_bound) == (plain.objective, plain.objective)
        assert result.model is not None
        assert plain.model is not None
        assert np.array_equal(result.model.feature, plain.model.feature)
        assert np.array_equal(result.model.threshold, plain.model.threshold, equal_nan=True)
