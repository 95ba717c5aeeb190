"""Lower bounds by blocks of rows: never above the optimum, and answers are those of the search without them."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

import naive
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.solve import bound
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Result, Status
from strategies import examples, problems, thread_counts
from tests.strategies import random_problem

EVERYTHING = 2**40  # more work than there is to do on a small table


def with_blocks(problem: TreeProblem, work: int = EVERYTHING, threads: int = 1) -> Result:
    return solve(problem, options=SearchOptions(packed=False, block_work=work), limits=Limits(threads=threads))


@examples(6)
@given(problem=problems(), threads=thread_counts())
def test_blocks_change_no_answer(problem: TreeProblem, threads: int) -> None:
    cost, tree = naive.best_tree(problem)
    result = with_blocks(problem, threads=threads)
    assert result.model is not None
    if problem.cost.exact:
        assert result.status is Status.OPTIMAL
        assert result.lower_bound == float(problem.cost.in_weight(cost))
        assert naive.as_tuple(result.model) == tree
    for event in result.trace:
        assert event.lower_bound <= result.objective
    for earlier, later in pairwise(result.trace):
        assert earlier.lower_bound <= later.lower_bound


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_every_report_is_below_the_optimum(first: int) -> None:
    used = 0
    for seed in range(first, first + 50):
        problem = random_problem(seed, absent=3)
        plain = solve(problem, options=SearchOptions(packed=False, blocks=False))
        result = with_blocks(problem, work=[1, 3_000, 100_000, EVERYTHING][seed % 4])
        assert (result.status, result.objective, result.lower_bound) == (
            plain.status,
            plain.objective,
            plain.lower_bound,
        ), seed
        assert result.model is not None
        assert plain.model is not None
        assert naive.as_tuple(result.model) == naive.as_tuple(plain.model), seed
        assert all(event.lower_bound <= plain.objective for event in result.trace), seed
        used += result.stats.counters["block_work"] > 0
    assert used > 25


def with_levels(seed: int) -> TreeProblem:
    """A table of one or two numbers, and of one or two columns that are tested by sets at every node or at the last."""
    rng = np.random.default_rng(seed)
    n, numbers, columns = int(rng.integers(6, 40)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    X = np.column_stack(
        [rng.integers(0, 8, n) for _ in range(numbers)]
        + [rng.integers(0, rng.integers(2, 8), n) for _ in range(columns)]
    ).astype(float)
    y = rng.integers(0, int(rng.integers(2, 4)), n)
    problem = TreeProblem.from_arrays(
        X,
        y,
        max_depth=int(rng.integers(3, 5)),
        alpha=float(rng.choice([0.0, 0.0, 0.03])),
        sample_weight=rng.integers(1, 5, n).astype(float) if seed % 3 == 0 else None,
        by_sets=range(numbers, numbers + columns),
    )
    return replace(problem, sets_anywhere=int(rng.choice([1, 4, 8])))


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_blocks_of_levels_are_below_the_optimum(first: int) -> None:
    above_zero = 0
    for seed in range(first, first + 40):
        problem = with_levels(seed)
        plain = solve(problem, options=SearchOptions(packed=False, blocks=False))
        result = with_blocks(problem, work=[20_000, EVERYTHING][seed % 2])
        assert (result.status, result.objective) == (plain.status, plain.objective), seed
        assert result.model is not None
        assert plain.model is not None
        assert str(naive.as_tuple(result.model)) == str(naive.as_tuple(plain.model)), seed  # nan where sets are tested
        assert all(event.lower_bound <= plain.objective for event in result.trace), seed
        above_zero += any(0 < event.lower_bound < plain.objective for event in result.trace)
    assert above_zero > 3


def test_columns_tested_at_the_last_levels_only_have_trees_of_two_levels() -> None:
    column = [0, 2, 3, 2, 0, 2, 2, 2, 0]
    X = np.column_stack([[6, 5, 4, 6, 3, 1, 3, 0, 5], column]).astype(float)
    problem = replace(
        TreeProblem.from_arrays(X, [1, 0, 0, 0, 1, 0, 0, 0, 0], max_depth=4, by_sets=(1,)), sets_anywhere=1
    )
    assert with_blocks(problem).objective == 0  # a block without thresholds has such trees, too


@pytest.mark.parametrize("seed", range(12))
def test_trees_below_a_cost(seed: int) -> None:
    problem = random_problem(1000 + seed, absent=3)
    plain, blocks = SearchOptions(packed=False, blocks=False), SearchOptions(packed=False, block_work=EVERYTHING)
    free = bound(problem, below=2**50, options=plain)
    for below in (free.lower, free.lower + 1):
        found = bound(problem, below=below, options=blocks)
        assert found.lower == bound(problem, below=below, options=plain).lower
        assert (found.model is not None) == (below > free.lower)


def noisy(n: int, features: int, depth: int) -> TreeProblem:
    """A table that no tree fits, and whose search is long."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, features))
    return TreeProblem.from_arrays(X, (X[:, 0] * X[:, 1] + rng.normal(size=n) > 0).astype(int), max_depth=depth)


def test_a_bound_comes_before_the_search_ends_and_time_is_kept() -> None:
    problem = noisy(3000, 4, 4)
    started = time.perf_counter()
    result = solve(problem, options=SearchOptions(packed=False, block_work=EVERYTHING), limits=Limits(seconds=1.0))
    assert time.perf_counter() - started < 5
    assert result.status is Status.FEASIBLE
    assert result.lower_bound > 0.2 * result.objective
    assert result.stats.counters["root_splits"] == 0


def test_blocks_are_off_where_they_are_not_wanted() -> None:
    problem = noisy(60, 2, 4)
    assert solve(problem, options=SearchOptions(packed=False, blocks=False)).stats.counters["block_work"] == 0
    assert solve(noisy(60, 2, 3)).stats.counters["block_work"] == 0
    assert with_blocks(problem).stats.counters["block_work"] > 0


def test_work_is_checked() -> None:
    with pytest.raises(ValueError, match="block_work=-1"):
        SearchOptions(block_work=-1)
