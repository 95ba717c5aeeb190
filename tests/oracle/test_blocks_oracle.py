"""Lower bounds by blocks of rows: never above the optimum, and answers are those of the search without them."""

from __future__ import annotations

import time
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
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 60), rng.normal(size=60)]).astype(float)
    sets = TreeProblem.from_arrays(X, rng.integers(0, 2, 60), max_depth=4, by_sets=(0,))
    assert with_blocks(sets).stats.counters["block_work"] == 0
    assert with_blocks(problem).stats.counters["block_work"] > 0


def test_work_is_checked() -> None:
    with pytest.raises(ValueError, match="block_work=-1"):
        SearchOptions(block_work=-1)
