"""Trees made before and beside the proof: each has the cost that was claimed, whenever the search ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import naive
from proofwood.engines.trees import SearchOptions, solve
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, ProgressEvent

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"sample_weight": True},
    "min_samples_leaf": {"min_samples_leaf": 7},
    "alpha": {"alpha": 0.004},
}
PARTS = ("greedy_tree", "polish", "beam", "local_search")


def noisy(seed: int, kind: str, max_depth: int, n: int = 900) -> TreeProblem:
    """A problem whose proof takes longer than the test waits."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).round(2)
    codes = ((X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > X[:, 3])) % (2 + seed % 2)
    codes = np.where(rng.random(n) < 0.25, rng.integers(0, 2 + seed % 2, n), codes)
    limits = dict(KINDS[kind])
    if limits.pop("sample_weight", False):
        limits["sample_weight"] = rng.integers(1, 9, n)
    return TreeProblem.from_arrays(X, codes, max_depth=max_depth, **limits)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_stopped_search_returns_a_permitted_tree_of_the_cost_it_claims(kind: str, seed: int) -> None:
    problem = noisy(seed, kind, 4 + seed)
    reports: list[ProgressEvent] = []

    def stop(event: ProgressEvent) -> None:
        reports.append(event)
        if event.seconds > 0.15 * (1 + seed):
            raise KeyboardInterrupt

    result = solve(problem, limits=Limits(threads=1), progress=stop)
    assert result.model is not None
    naive.check_table(result.model, problem)
    cost, _ = problem.cost.reported(problem.integer_cost(result.model), 0)
    assert cost == result.objective == result.trace[-1].objective
    objectives = [event.objective for event in result.trace]
    assert objectives == sorted(objectives, reverse=True)
    assert all(event.lower_bound <= event.objective for event in reports)


@pytest.mark.parametrize("kind", KINDS)
def test_no_part_changes_the_answer(kind: str) -> None:
    problem = noisy(2, kind, 4, n=40)
    whole = solve(problem, options=SearchOptions(packed=False))
    for part in (*PARTS, None):
        off = PARTS if part is None else (part,)
        other = solve(problem, options=SearchOptions(packed=False, **dict.fromkeys(off, False)))
        assert (other.objective, other.lower_bound) == (whole.objective, whole.lower_bound)
        assert other.model is not None
        assert whole.model is not None
        assert naive.as_tuple(other.model) == naive.as_tuple(whole.model)


def test_the_grown_tree_is_no_worse_than_splits_by_gini() -> None:
    problem = noisy(0, "plain", 4)
    cart = DecisionTreeClassifier(max_depth=4, random_state=0).fit(problem.X, problem.codes)
    errors = np.count_nonzero(cart.predict(problem.X) != problem.codes)

    def stop(_: ProgressEvent) -> None:
        raise KeyboardInterrupt

    result = solve(problem, limits=Limits(threads=1), progress=stop)
    assert result.objective <= errors


def test_bounds_by_blocks_leave_time_for_trees() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, 10))
    score = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + np.sin(3 * X[:, 4]) + 0.7 * rng.normal(size=5000)
    problem = TreeProblem.from_arrays(X, (score > 0).astype(np.int64), max_depth=5)
    with_blocks, without = (
        solve(problem, options=SearchOptions(blocks=blocks), limits=Limits(1.0, 1)) for blocks in (True, False)
    )
    assert with_blocks.stats.counters["block_work"] > 0
    assert with_blocks.objective <= without.objective + 25  # 1,035 and 1,034 of 5,000 rows; 1,087 where trees must wait
