"""Columns as the tree search reads them: few or many values, and columns whose splits another column has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from proofwood.engines.trees import SearchOptions, solve
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.tree import TreeProblem
from proofwood.result import Result
from strategies import usable_simd


def learn(X: FloatArray, y: IntArray, depth: int, *, packed: bool = True) -> Result:
    problem = TreeProblem.from_arrays(X, y, max_depth=depth)
    return solve(problem, options=SearchOptions(packed=packed))


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("n_values", [2, 3, 40, 300])
def test_columns_in_the_opposite_order_are_left_out(n_values: int, packed: bool) -> None:
    rng = np.random.default_rng(n_values)
    X = rng.integers(0, n_values, (300, 5)).astype(float) - (n_values == 3)  # ties, and values around 0
    y = (X[:, 0] + X[:, 1] > X[:, 2] + X[:, 3]) ^ (rng.random(300) < 0.2)
    alone = learn(X, y.astype(np.int64), 3, packed=packed)
    mirrored = np.hstack([X, (n_values - 1) - X, -3 * X])
    both = learn(mirrored, y.astype(np.int64), 3, packed=packed)
    assert both.model == alone.model
    assert (both.objective, both.lower_bound) == (alone.objective, alone.lower_bound)
    assert both.stats.counters == alone.stats.counters  # nothing more was searched


def views_of(X: FloatArray) -> FloatArray:
    """Both views of each column, side by side: missing values below, then above."""
    below, above = np.where(np.isnan(X), -1e9, X), np.where(np.isnan(X), 1e9, X)
    return np.stack([below, above], axis=2).reshape(len(X), -1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("simd", usable_simd())
def test_both_views_of_a_column_with_gaps_are_walked_over_at_once(n_classes: int, simd: Any) -> None:
    """Apart, the views are not recognised as those of one column, and each is walked over by itself."""
    for seed in range(12):
        rng = np.random.default_rng([seed, n_classes])
        X = rng.integers(0, int(rng.choice([3, 9, 500])), (int(rng.choice([20, 90, 400])), 3)).astype(float)
        X[rng.random(X.shape) < rng.choice([0.02, 0.2, 0.7], 3)] = np.nan
        score = np.nan_to_num(X[:, 0], nan=rng.uniform(0, 9)) + np.nan_to_num(X[:, 1], nan=rng.uniform(0, 9))
        y = np.digitize(score + rng.normal(size=len(X)), np.quantile(score, np.arange(1, n_classes) / n_classes))
        weights = rng.integers(1, 40, len(X)).astype(float) if seed % 3 == 0 else np.ones(len(X))
        side_by_side = views_of(X)
        options = SearchOptions(packed=False, simd=simd)
        found = [
            solve(
                TreeProblem.from_arrays(table, y.astype(np.int64), max_depth=2 + seed % 2, sample_weight=weights),
                options=options,
            )
            for table in (side_by_side, side_by_side[:, [0, 2, 4, 1, 3, 5]])
        ]
        assert found[0].objective == found[0].lower_bound == found[1].objective, seed


@pytest.mark.parametrize("simd", usable_simd())
def test_rows_of_the_least_value_need_no_walk(simd: Any) -> None:
    """In the opposite order they have the greatest value, and are walked over."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.maximum(0, rng.integers(-9, int(rng.choice([3, 9, 40])), (int(rng.choice([20, 90, 400])), 4))).astype(
            float
        )
        y = ((X[:, 1] > 2) ^ (X[:, 2] > 0) ^ (rng.random(len(X)) < 0.2)).astype(np.int64)
        weights = rng.integers(1, 40, len(X)).astype(float) if seed % 2 == 0 else np.ones(len(X))
        options = SearchOptions(packed=False, merge_rows=False, simd=simd)
        found = [
            solve(TreeProblem.from_arrays(table, y, max_depth=2 + seed % 2, sample_weight=weights), options=options)
            for table in (X, -X)
        ]
        assert found[0].objective == found[0].lower_bound == found[1].objective, seed


@cache
def many_columns(seed: int) -> tuple[TreeProblem, Result]:
    """A problem, and its answer without coarse walks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1030 + 37 * seed, 520))
    X[:, seed::3] = np.maximum(0, np.round(X[:, seed::3] * 2))
    noise = rng.random(len(X)) < 0.1
    y = (((X[:, 200] > 0.3) & (X[:, 7] > 0)) | (X[:, 90] > 1.2)) ^ noise
    problem = TreeProblem.from_arrays(X, y.astype(np.int64), max_depth=2, alpha=0.01 * (seed % 2))
    return problem, solve(problem, options=SearchOptions(coarse=False))


@pytest.mark.parametrize("simd", usable_simd())
@pytest.mark.parametrize("seed", range(4))
def test_coarse_walks_over_many_columns_change_nothing(seed: int, simd: Any) -> None:
    problem, plain = many_columns(seed)
    coarse = solve(problem, options=SearchOptions(simd=simd))
    assert coarse.model == plain.model
    assert (coarse.objective, coarse.lower_bound) == (plain.objective, plain.lower_bound)
    assert coarse.stats.counters["row_visits"] != plain.stats.counters["row_visits"]  # walks were made


def test_of_two_opposite_columns_the_first_is_tested() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    model = learn(X, np.array([1, 0, 1, 0]), 2).model
    assert model is not None
    assert model.feature.tolist() == [0, -1, -1]
    assert model.label.tolist()[1:] == [0, 1]


def test_columns_alike_but_for_a_tie_or_one_row_are_kept() -> None:
    x = np.arange(8.0)
    tied, moved = -np.maximum(x, 1), -x.copy()
    moved[[3, 4]] = moved[[4, 3]]
    for other in (tied, moved):
        for y in np.eye(8, dtype=np.int64):
            together = learn(np.column_stack([x, other]), y, 2)
            least = min(learn(x[:, None], y, 2).objective, learn(other[:, None], y, 2).objective)
            assert together.objective <= least
    only_moved = (moved <= -4).astype(np.int64)  # a threshold of the second column, none of the first
    assert learn(np.column_stack([x, moved]), only_moved, 1).objective == 0
    assert learn(x[:, None], only_moved, 1).objective > 0


@pytest.mark.parametrize("n_values", [1, 2, 3, 255, 256, 257, 1400, 65_536, 65_537, 80_000])
def test_a_stump_over_a_column_of_any_number_of_values(n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    n = max(2000, n_values)
    values = np.sort(rng.normal(size=n_values) * 10.0 ** rng.integers(-30, 30, n_values))
    values[n_values // 2] = 0.0
    values = np.unique(values)
    place = rng.permutation(np.arange(n) % values.size)
    x = values[place]
    x[(x == 0) & (rng.random(n) < 0.5)] = -0.0  # equal to 0
    cut = values.size // 3
    y = ((place > cut) ^ (rng.random(n) < 0.1)).astype(np.int64)
    result = learn(np.column_stack([x, np.full(n, 7.0)]), y, 1)
    ones, rows = np.bincount(place, y, values.size), np.bincount(place, minlength=values.size)
    low, below = np.cumsum(ones), np.cumsum(rows)  # of class 1, of both
    wrong = np.minimum(low, below - low) + np.minimum(low[-1] - low, (n - below) - (low[-1] - low))
    assert result.objective == wrong.min()
    model = result.model
    assert model is not None
    if values.size > 1:
        at = int(np.argmin(wrong))
        assert values[at] <= model.threshold[0] < values[at + 1]


@pytest.mark.parametrize("packed", [True, False])
def test_columns_of_two_values_among_others(packed: bool) -> None:
    """Groups of columns that are read together mix both kinds; rare values come late."""
    rng = np.random.default_rng(5)
    n = 700
    tests, numbers = (rng.random((n, 9)) < 0.02).astype(float), rng.normal(size=(n, 8))
    constant = np.full((n, 2), -2.5)
    y = ((tests[:, 3] > 0) | (numbers[:, 2] > 1.2)).astype(np.int64)
    X = np.hstack([constant, tests, numbers])
    order = rng.permutation(X.shape[1])
    problem = TreeProblem.from_arrays(X[:, order], y, max_depth=2)
    result = solve(problem, options=SearchOptions(packed=packed))
    assert result.objective == 0
    assert result.model is not None
    used = {int(order[f]) for f in result.model.feature if f >= 0}
    assert used == {2 + 3, 11 + 2}
    swapped = solve(
        replace(problem, X=np.where(problem.X == 1.0, -1.0, problem.X)), options=SearchOptions(packed=packed)
    )
    assert swapped.objective == 0


def test_a_large_set_keeps_no_columns() -> None:
    """2**23 values and more: ranks are read in parts, and the tree is that of the same rows, fewer and heavier."""
    rng = np.random.default_rng(3)
    few = rng.integers(0, 40, (300, 21)).astype(float)
    y = ((few[:, 4] > 20) ^ (rng.random(300) < 0.2)).astype(np.int64)
    repeated = np.tile(few, (1400, 1))
    many = TreeProblem.from_arrays(repeated, np.tile(y, 1400), max_depth=2)
    assert many.X.size > 2**23
    options = SearchOptions(packed=False, merge_rows=False)
    result = solve(many, options=options)
    once = solve(TreeProblem.from_arrays(few, y, max_depth=2), options=options)
    assert result.objective == result.lower_bound == 1400 * once.objective
    assert result.model is not None
    assert once.model is not None
    assert result.model.feature.tolist() == once.model.feature.tolist()
    assert (
        result.model.threshold[result.model.feature >= 0].tolist()
        == once.model.threshold[once.model.feature >= 0].tolist()
    )
