"""Costs by sums over packed tests: brute force, and the search over thresholds, which knows nothing of pairs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from proofwood import _native
from proofwood.engines.trees import SearchOptions, solve
from proofwood.model.node_table import FloatArray
from proofwood.problem.targets import Numbers, PoissonRates
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Status
from tests.naive_targets import Naive, lost_reward, squared_error
from tests.unit.engines.test_tree_targets import native, rates_or_shares

TASKS = ("numbers", "policy", "counts", "times", "classes")


def zero_one(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
    """A table of 0/1 columns; some repeat or oppose the first one, some have a third value."""
    X = (rng.random((n_rows, n_columns)) < rng.uniform(0.1, 0.9, n_columns)).astype(float)
    if n_columns > 2 and rng.random() < 0.3:
        X[:, 1], X[:, 2] = 1 - X[:, 0], X[:, 0]
    if rng.random() < 0.2:
        X[:, -1] = rng.integers(0, 3, n_rows)
    return X


def targets_of(rng: np.random.Generator, task: str, X: FloatArray) -> dict[str, Any]:
    """What the native search is given."""
    if task == "numbers":
        size = 10 ** int(rng.integers(1, 12))
        numbers = rng.integers(-size, size, (len(X), int(rng.choice([1, 1, 3])))) + 3 * size * int(rng.integers(2))
        shift = math.floor(math.log2(float((numbers.astype(float) ** 2).sum()) + 1)) - int(rng.choice([20, 46]))
        return {"task": "squared_error", "numbers": numbers, "shift": max(-60, min(60, shift))}
    if task == "policy":
        return {"task": "policy", "numbers": rng.integers(0, 20, (len(X), int(rng.integers(2, 7)))), "shift": 0}
    numbers = rates_or_shares(rng, task, X)
    return {"task": "log_loss" if task == "classes" else "deviance", "numbers": numbers, "shift": -26}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("seed", range(12))
def test_the_tree_and_its_bound_are_those_of_the_search_over_thresholds(task: str, seed: int) -> None:
    rng = np.random.default_rng([seed, TASKS.index(task)])
    depth = int(rng.integers(1, 5))
    X = zero_one(rng, int(rng.integers(2, 120)), int(rng.choice([2, 5, 12, 40] if depth < 4 else [2, 4, 6])))
    targets = targets_of(rng, task, X)
    settings = {"max_depth": depth, "min_rows": int(rng.choice([1, 1, 4])), "min_weight": int(rng.choice([0, 0, 9]))}
    settings |= {"leaf_price": int(rng.choice([0, 1, 3]))}
    weights = rng.integers(1, 5, len(X))
    answers = []
    for on in (True, False):
        rules = {name: bool(rng.integers(2)) for name in ("cache", "affordable", "stump_bounds", "merge_rows")}
        options = SearchOptions(simd=str(rng.choice(_native.instruction_sets())), pair_sums=on, **rules)
        answers.append(native(X, targets, weights, options, threads=int(rng.integers(1, 3)), **settings))
    assert answers[0]["packed"] or len(np.unique(X, axis=0)) == 1
    assert not answers[1]["packed"]
    assert answers[0]["upper"] == answers[0]["lower"] == answers[1]["upper"] == answers[1]["lower"]
    assert answers[0]["tree"] == answers[1]["tree"]


@pytest.mark.parametrize("seed", range(40))
def test_units_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 2, 3]))
    X = (rng.random((int(rng.integers(2, 16 if depth < 3 else 10)), int(rng.integers(1, 5)))) < 0.5).astype(float)
    policy = bool(rng.integers(2))
    weights = rng.integers(1, 4, len(X))
    numbers = rng.integers(0, 20, (len(X), 3)) if policy else rng.integers(-9999, 9999, (len(X), 1))
    cost = lost_reward if policy else squared_error
    exactly = [[Fraction(int(number)) for number in row] for row in numbers]
    everyone, real = list(range(len(X))), [Fraction(int(weight)) for weight in weights]
    alone = cost(exactly, real, everyone)
    shift = 0 if policy else max(-60, int(alone).bit_length() - int(rng.choice([10, 38, 52])))
    unit = Fraction(2) ** shift
    price, least_rows = int(alone / unit / 40) * int(rng.integers(2)), int(rng.choice([1, 1, 2, 3]))
    naive = Naive(X, lambda rows: cost(exactly, real, rows) / unit, Fraction(price), least_rows)
    losses = (numbers.max(axis=1, keepdims=True) - numbers if policy else numbers) * weights[:, np.newaxis]
    targets = {
        "task": "policy" if policy else "squared_error",
        "numbers": np.ascontiguousarray(losses),
        "shift": shift,
    }
    options = SearchOptions(simd=str(rng.choice(_native.instruction_sets())))
    answer = native(X, targets, weights, options, max_depth=depth, leaf_price=price, min_rows=least_rows)
    assert answer["packed"] or all(len(set(column)) < 2 for column in X.T)
    assert answer["upper"] == answer["lower"] == naive.units(everyone, depth)


@pytest.mark.parametrize("seed", range(8))
def test_gaps_are_sent_to_either_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = zero_one(rng, 80, 6)
    gap = rng.random(X.shape) < 0.1
    y = rng.poisson(1 + gap[:, 0] + 2 * (X[:, 1] == 1))
    views = np.stack([np.where(gap, -1, X), np.where(gap, 9, X)], axis=2).reshape(80, 12)
    problem = TreeProblem.by_sums(
        views, y, (Numbers, PoissonRates)[seed % 2], max_depth=3, min_samples_leaf=1 + seed % 3
    )
    on, off = (solve(problem, options=SearchOptions(pair_sums=switch)) for switch in (True, False))
    assert (on.objective, on.lower_bound) == (off.objective, off.lower_bound)
    assert np.array_equal(on.model.feature, off.model.feature)
    assert np.array_equal(on.model.threshold, off.model.threshold, equal_nan=True)
    assert on.stats.counters["depth_two_splits"] != off.stats.counters["depth_two_splits"]


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rows_and_the_number_of_threads_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = (rng.random((200, 20)) < 0.4).astype(float), rng.integers(0, 5, 200).astype(float)
    order = rng.permutation(200)
    found = [
        solve(TreeProblem.by_sums(table, numbers, Numbers, max_depth=3), limits=Limits(threads=threads)).model
        for table, numbers, threads in ((X, y, 1), (X[order], y[order], 1), (X, y, 2))
    ]
    for other in found[1:]:
        assert np.array_equal(found[0].feature, other.feature)
        assert np.array_equal(found[0].low, other.low)
        assert np.array_equal(found[0].high, other.high)


@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [0, 1, 600]])
def test_a_column_of_many_values_or_many_columns_leave_it_to_the_search_over_thresholds(columns: list[int]) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((60, columns[-1])) < 0.5).astype(float)
    if len(columns) == 4:
        X[:, 0] = rng.integers(0, 9, 60)
    answer = native(X, targets_of(rng, "policy", X), np.ones(60), SearchOptions(), max_depth=1)
    assert not answer["packed"]


def test_a_search_that_is_stopped_keeps_its_tree_and_bound() -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((3000, 90)) < 0.5).astype(float)
    y = (X @ rng.normal(size=90)).round(3)
    stopped = solve(TreeProblem.by_sums(X, y, Numbers, max_depth=6), limits=Limits(seconds=1.0))
    whole = solve(TreeProblem.by_sums(X, y, Numbers, max_depth=3))
    assert stopped.status is Status.FEASIBLE
    assert stopped.lower_bound <= stopped.objective < whole.objective
