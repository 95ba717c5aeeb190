"""Smallest trees where errors are permitted: what is found out before the second search, against enumeration."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.minimal import MinimalOptions, solve
from proofwood.engines.minimal.permitted import Tree, cut_back
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.result import Limits
from tests.oracle import test_minimal_oracle as minimal
from tests.strategies import examples


@examples(4)
@given(problem=minimal.problems(), chosen=minimal.options())
def test_the_second_search_finds_the_smallest_tree(problem: MinimalTreeProblem, chosen: MinimalOptions) -> None:
    minimal.solved_by_a_second_search(problem, chosen)


def random_tree(problem: MinimalTreeProblem, seed: int) -> Tree:
    """Tests drawn at random, down to single groups."""
    rng = np.random.default_rng(seed)
    rows = problem.rows
    ranks, weights = rows.ranks[rows.first_of_groups], rows.groups[1]
    tree: Tree = []

    def grow(here: np.ndarray) -> int:
        number = len(tree)
        tree.append((-1, -1, -1))
        counts = weights[here].sum(axis=0)
        tests = [(j, cut) for j in range(ranks.shape[1]) for cut in range(int(rows.tests_of[j]))]
        parting = [(j, cut) for j, cut in tests if 0 < (ranks[here, j] <= cut).sum() < here.size]
        if counts.sum() > counts.max() and parting:
            j, cut = parting[rng.integers(len(parting))]
            low = ranks[here, j] <= cut
            tree[number] = (int(rows.offsets[j] + cut), grow(here[low]), grow(here[~low]))
        return number

    grow(np.arange(len(ranks)))
    return tree


def cut_anyhow(tree: Tree, node: int) -> list[Tree]:
    """Every tree that is left when branches are cut back."""
    test, low, high = tree[node]
    found: list[Tree] = [[(-1, -1, -1)]]
    if test < 0:
        return found
    for one in cut_anyhow(tree, low):
        for other in cut_anyhow(tree, high):
            moved = [
                [(t, a + by, b + by) if t >= 0 else (t, a, b) for t, a, b in part]
                for part, by in ((one, 1), (other, 1 + len(one)))
            ]
            found.append([(test, 1, 1 + len(one)), *moved[0], *moved[1]])
    return found


@examples(2)
@given(problem=minimal.problems(), seed=st.integers(0, 2**32 - 1))
def test_trees_are_cut_back_as_far_as_errors_permit(problem: MinimalTreeProblem, seed: int) -> None:
    module = sys.modules["proofwood.engines.minimal.solve"]
    problem = replace(problem, max_errors=max(problem.max_errors, problem.rows.unavoidable), max_depth=None)
    tree = random_tree(problem, seed)
    all_of_them = [one for one in cut_anyhow(tree, 0) if problem.admits(module.table_of(one, problem.rows))]
    best = cut_back(tree, problem)
    assert problem.admits(module.table_of(best, problem.rows))
    assert len(best) == min(map(len, all_of_them))


def noise(n: int, columns: int) -> MinimalTreeProblem:
    """Numbers that say nothing about the class."""
    rng = np.random.default_rng(0)
    ranks = [rng.permutation(n).tolist() for _ in range(columns)]
    rows = minimal.ranked_rows(ranks, [n - 1] * columns, rng.integers(0, 2, n).tolist(), None)
    return MinimalTreeProblem(rows)


@pytest.mark.parametrize("minimize", list(Minimize))
def test_more_errors_never_make_it_worse(minimize: Minimize) -> None:
    """A part of the time goes to fewer errors first: with twice as much, that part is as long as all was before."""
    problem = replace(noise(60, 3), minimize=minimize)
    asked = ((0, 0.3), (1, 0.9), (4, 1.8), (12, 3.6))
    results = [solve(replace(problem, max_errors=most), limits=Limits(seconds)) for most, seconds in asked]
    for one, other in pairwise(results):
        assert one.model is not None
        assert other.model is not None
        assert problem.size(other.model) <= problem.size(one.model)
        assert other.lower_bound <= one.objective


def test_the_least_depth_with_errors_is_proved_by_the_search_for_trees_of_least_error() -> None:
    problem = replace(noise(80, 3), max_errors=3)
    asked = solve(problem, limits=Limits(20.0))
    assert asked.status == "optimal"
    plain = solve(problem, options=MinimalOptions(error_bounds=False, zero_first=False), limits=Limits(1.0))
    assert plain.lower_bound <= asked.objective <= plain.objective
