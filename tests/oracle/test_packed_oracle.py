"""The search over packed tests against the search over thresholds: same optimum, same bound, same tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proofwood.engines.trees import SearchOptions, solve
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Result, Status
from strategies import usable_simd


def table(seed: int) -> tuple[dict[str, Any], int]:
    """Arguments of a problem of up to 1,600 rows and 100 tests, and a seed for the options."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([12, 17, 33, 120, 500, 1_600]))
    n_columns, n_values = int(rng.choice([1, 2, 5, 13, 40])), int(rng.choice([2, 2, 3, 6]))
    n_classes = int(rng.choice([2, 2, 3, 5]))
    X = rng.integers(0, n_values, (n_rows, n_columns)).astype(float)
    if n_columns > 1 and rng.random() < 0.4:
        X[:, -1] = -X[:, 0]  # splits alike, the other way round
    score = X[:, :3] @ rng.normal(size=min(3, n_columns)) + rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=n_rows)
    codes = score.argsort().argsort() * n_classes // n_rows
    tests = n_columns * (n_values - 1)
    weights: list[Any] = [
        None,
        rng.integers(0, 5, n_rows),  # rows of weight 0, and ones that cancel
        rng.integers(1, 40, n_rows),  # taken apart into bits
        100_003 * rng.integers(1, 3, n_rows),  # wide cells
        np.where(codes == 0, 1.0, 7.5),
    ]
    arguments = {
        "X": X,
        "codes": codes,
        "n_classes": n_classes,
        "sample_weight": weights[rng.choice(5, p=[0.4, 0.2, 0.15, 0.1, 0.15])],
        "max_depth": int(rng.choice([2, 3, 3, 4] if tests <= 40 and n_rows <= 500 else [2, 3])),
        "alpha": float(rng.choice([0, 0, 0, 0.001, 0.01, 0.05])),
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 10])),
        "min_weight_fraction_leaf": float(rng.choice([0, 0, 0, 0.05])),
    }
    return arguments, int(rng.integers(2**31))


def same_tree(one: Result, other: Result) -> bool:
    assert one.model is not None
    assert other.model is not None
    names = ("feature", "threshold", "low", "high", "label")
    return all(
        np.array_equal(getattr(one.model, name), getattr(other.model, name), equal_nan=name == "threshold")
        for name in names
    )


def assert_same(problem: TreeProblem, options: SearchOptions, threads: int = 1) -> Result:
    """Proved by both, with the same tree. Returns the answer of the packed search."""
    known = solve(problem, options=SearchOptions(packed=False))
    found = solve(problem, options=options, limits=Limits(threads=threads))
    assert known.model is not None
    assert found.model is not None
    assert problem.integer_cost(found.model) == problem.integer_cost(known.model)
    assert (found.objective, found.lower_bound, found.status) == (known.objective, known.lower_bound, known.status)
    assert same_tree(found, known)
    return found


@pytest.mark.parametrize("block", range(8))
def test_same_answers(block: int) -> None:
    for seed in range(1_000 + 20 * block, 1_020 + 20 * block):
        arguments, options_seed = table(seed)
        if len(np.unique(arguments["codes"])) < 2:
            continue
        rng = np.random.default_rng(options_seed)
        options = SearchOptions(
            simd=str(rng.choice(usable_simd())),  # type: ignore[arg-type]
            similarity=bool(rng.random() < 0.8),
            cache=bool(rng.random() < 0.8),
            affordable=bool(rng.random() < 0.8),
            merge_rows=bool(rng.random() < 0.8),
        )
        assert_same(TreeProblem.from_arrays(**arguments), options, threads=int(rng.choice([1, 1, 2])))


@pytest.mark.parametrize("simd", usable_simd())
def test_long_groups(simd: str) -> None:
    """More words of one class than a byte, or 16 bits, can count at once; wide cells."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (150_000, 24)).astype(float)
    codes = (X[:, 3] + X[:, 5] * X[:, 7] + (rng.random(len(X)) < 0.1) > 1).astype(int)
    found = assert_same(TreeProblem.from_arrays(X, codes, max_depth=2), SearchOptions(simd=simd))  # type: ignore[arg-type]
    assert found.stats.counters["batches"] == 1  # the packed search: one set of rows for all roots


def test_root_of_a_deep_tree_by_threads() -> None:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (300, 18)).astype(float)
    codes = (X[:, :5].sum(1) % 2 == 1).astype(int)
    problem = TreeProblem.from_arrays(X, codes, max_depth=5)
    one = solve(problem)
    for threads in (2, 3):
        many = solve(problem, limits=Limits(threads=threads))
        assert many.status is Status.OPTIMAL
        assert same_tree(one, many)


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3])
def test_limits_leave_a_tree_and_a_bound(seconds: float) -> None:
    rng = np.random.default_rng(9)
    X = rng.integers(0, 2, (2_000, 60)).astype(float)
    codes = (X[:, :6].sum(1) % 2 == 1).astype(int)
    problem = TreeProblem.from_arrays(X, codes, max_depth=5)
    result = solve(problem, limits=Limits(seconds=seconds))
    assert result.model is not None
    assert result.model.depth <= 5
    assert float(problem.real_cost(result.model)) == result.objective
    assert result.lower_bound <= result.objective
    assert result.stats.seconds < seconds + 0.5


def test_max_gap() -> None:
    rng = np.random.default_rng(10)
    X = rng.integers(0, 2, (200, 12)).astype(float)
    codes = (X[:, :4].sum(1) % 2 == 1).astype(int) ^ (rng.random(200) < 0.1)
    optimum = solve(TreeProblem.from_arrays(X, codes, max_depth=4)).objective
    for gap in (1, 3, 10):
        result = solve(TreeProblem.from_arrays(X, codes, max_depth=4, max_gap=gap))
        assert result.lower_bound <= optimum <= result.objective <= result.lower_bound + gap


def test_a_tree_within_a_gap_has_no_empty_leaf() -> None:
    """A root that parts nothing of its rows costs as much as the best stump of them: it is found, but not written."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        n = int(rng.integers(4, 12))
        X = rng.integers(0, 3, (n, 3)).astype(float)
        weights = rng.integers(1, 6, n)
        given = TreeProblem.from_arrays(X, rng.integers(0, 3, n), sample_weight=weights, max_depth=3, max_gap=1)
        found = solve(given)
        assert found.model is not None
        assert found.model.rows.min() >= 1
