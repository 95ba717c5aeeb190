"""The search against enumeration: same optimum, same bound, same tree, and a truthful report at every moment."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.options import RULES
from proofwood.model.sums import rounded_down
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, ProgressEvent, Result, Status
from strategies import LARGEST, examples, generated, problems, search_options, thread_counts, usable_simd

DEFAULT = SearchOptions()


def run(problem: TreeProblem, options: SearchOptions = DEFAULT, threads: int = 1) -> tuple[Result, list[ProgressEvent]]:
    """Result and everything that the progress callback was told."""
    events: list[ProgressEvent] = []
    result = solve(problem, options=options, limits=Limits(threads=threads), progress=events.append)
    return result, events


def assert_optimal(result: Result, problem: TreeProblem, cost: int, tree: naive.Tree) -> None:
    """A completed search without a gap: proved, recounted, canonical."""
    if not problem.cost.exact:
        assert_within_rounding(result, problem, cost)
        return
    optimum = float(problem.cost.in_weight(cost))
    assert result.objective == optimum
    assert result.lower_bound == optimum
    assert result.status is Status.OPTIMAL
    assert result.stats.stopped_by is None
    assert result.unit == problem.cost.name
    assert result.model is not None
    assert problem.integer_cost(result.model) == cost
    assert float(problem.real_cost(result.model)) == result.objective
    assert naive.as_tuple(result.model) == tree


def assert_within_rounding(result: Result, problem: TreeProblem, cost: int) -> None:
    """A search that completed over rounded weights: a true recount, and a bound below the real optimum."""
    assert result.model is not None
    assert result.objective == float(problem.real_cost(result.model))
    assert problem.cost.least(cost - problem.max_gap) <= problem.real_cost(result.model)
    optimum = naive.least_real_cost(problem)
    if result.status is Status.OPTIMAL:
        assert result.lower_bound == result.objective == float(optimum)
    else:
        assert result.status is Status.WITHIN_GAP
        assert result.lower_bound <= optimum
    assert result.objective <= problem.cost.reported(cost + problem.max_gap, 0)[0]
    assert result.stats.stopped_by is None


def assert_bracketed(events: list[ProgressEvent], optimum: float) -> None:
    """Every event has the optimum between its bound and its objective; neither ever gets worse."""
    for event in events:
        assert event.lower_bound <= optimum <= event.objective
        assert event.gap == event.objective - event.lower_bound
    for earlier, later in pairwise(events):
        assert earlier.seconds <= later.seconds
        assert earlier.objective >= later.objective
        assert earlier.lower_bound <= later.lower_bound


@examples(5)
@given(problem=problems(), options=search_options(), threads=thread_counts())
def test_search_finds_and_proves_the_canonical_optimum(
    problem: TreeProblem, options: SearchOptions, threads: int
) -> None:
    cost, tree = naive.best_tree(problem)
    result, events = run(problem, options, threads)
    assert_optimal(result, problem, cost, tree)
    assert result.model is not None
    naive.check_table(result.model, problem)
    assert_bracketed(events, result.objective)
    assert_bracketed(list(result.trace), result.objective)
    assert (result.trace[-1].objective, result.trace[-1].lower_bound) == (result.objective, result.lower_bound)


@examples(2)
@given(problem=problems(max_gap=True), options=search_options(), threads=thread_counts())
def test_gap_is_honoured(problem: TreeProblem, options: SearchOptions, threads: int) -> None:
    cost = naive.fewest_cost(problem)
    optimum = float(problem.cost.in_weight(cost))
    result, events = run(problem, options, threads)
    assert result.model is not None
    naive.check_table(result.model, problem)
    if not problem.cost.exact:
        assert_within_rounding(result, problem, cost)
        return
    found = problem.integer_cost(result.model)
    assert result.objective == float(problem.cost.in_weight(found))
    assert found - cost <= problem.max_gap
    assert result.lower_bound <= optimum
    assert result.lower_bound >= rounded_down(problem.cost.least(found - problem.max_gap))
    assert result.status is (Status.OPTIMAL if result.lower_bound == result.objective else Status.WITHIN_GAP)
    assert_bracketed(events, optimum)
    assert_bracketed(list(result.trace), optimum)


@examples(2)
@given(problem=problems(), other=st.data(), threads=thread_counts())
def test_start_changes_nothing_in_the_end(problem: TreeProblem, other: st.DataObject, threads: int) -> None:
    # the start: the best tree of the same rows under some other labels
    codes = np.array(other.draw(st.permutations(problem.codes.tolist())))
    strange = replace(problem, target=Classes(codes, problem.n_classes))
    start = solve(strange).model
    result = solve(problem, limits=Limits(threads=threads), start=start)
    assert_optimal(result, problem, *naive.best_tree(problem))


# ------------------------------------------------------------------------------ problems that fill the lanes of a batch


@st.composite
def wider_problems(draw: st.DrawFn, max_depth: int, n_rows: tuple[int, int], max_features: int) -> TreeProblem:
    """More thresholds than a batch has lanes, and totals on both sides of what 16 and 32 bits hold."""
    seed = draw(st.integers(0, 2**32 - 1))
    n_classes = draw(st.sampled_from([2, 3, 2, 6]))
    X, codes = generated(seed, draw(st.integers(*n_rows)), draw(st.integers(1, max_features)), n_classes)
    largest = draw(st.sampled_from([1, 1, 3, 400, 10**6, 10**8, 10**11]))
    return TreeProblem.from_arrays(
        X,
        codes,
        n_classes=n_classes,
        sample_weight=np.random.default_rng(seed).integers(1, largest, len(codes), endpoint=True),
        max_depth=max_depth,
        alpha=draw(st.sampled_from([0.0, 0.0, 0.01, 0.05])),
        min_samples_leaf=draw(st.sampled_from([1, 1, 2, 5])),
        min_weight_fraction_leaf=draw(st.sampled_from([0.0, 0.0, 0.05, 0.15])),
    )


@examples(2)
@given(problem=wider_problems(2, (17, 70), 3), options=search_options(), threads=thread_counts())
def test_depth_two_with_full_batches(problem: TreeProblem, options: SearchOptions, threads: int) -> None:
    result, events = run(problem, options, threads)
    assert_optimal(result, problem, *naive.best_by_stumps(problem))
    assert_bracketed(events, result.objective)


@examples(0.6)
@given(problem=wider_problems(3, (17, 28), 2), options=search_options(), threads=thread_counts())
def test_depth_three_with_full_batches(problem: TreeProblem, options: SearchOptions, threads: int) -> None:
    result, events = run(problem, options, threads)
    assert_optimal(result, problem, *naive.best_by_stumps(problem))
    assert_bracketed(events, result.objective)


# -------------------------------------------------------------------------------------------------------- corner cases


def every_option() -> list[SearchOptions]:
    """The default, each rule off, all rules off, each instruction set with each lane width."""
    one_off = [SearchOptions(**{rule: False}) for rule in RULES]
    all_off = SearchOptions(**dict.fromkeys(RULES, False))
    return [DEFAULT, *one_off, all_off] + [
        SearchOptions(simd=simd, lanes=lanes) for simd in usable_simd() for lanes in (16, 32, 64)
    ]


CORNERS = {
    "one row": ([[1.0]], [1]),
    "one class": ([[1.0], [2.0], [3.0]], [2, 2, 2]),
    "contradictory rows": ([[1.0], [1.0], [1.0], [1.0]], [0, 1, 1, 2]),
    "constant columns": ([[1.0, -7.0], [1.0, -7.0], [1.0, -7.0]], [0, 1, 1]),
    "equal columns": ([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [0, 1, 0]),
    "neighbouring floats": ([[1.0], [np.nextafter(1.0, 2.0)], [1.0 + 2 * np.spacing(1.0)]], [0, 1, 0]),
    "equal in float32": ([[2.0**24], [2.0**24 + 1], [2.0**24 + 2]], [0, 1, 0]),
    "zeros of both signs": ([[0.0], [-0.0], [1.0]], [0, 1, 1]),
    "largest floats": ([[-LARGEST], [np.nextafter(LARGEST, 0)], [LARGEST]], [0, 1, 0]),
    "smallest floats": ([[-5e-324], [0.0], [5e-324], [1e-323]], [0, 1, 0, 1]),
    "exclusive or": ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]),
    "no column": (np.empty((3, 0)), [0, 1, 1]),
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("max_depth", [0, 1, 2, 3, 5])
def test_corner_cases_with_every_option(corner: str, max_depth: int) -> None:
    X, codes = CORNERS[corner]
    problem = TreeProblem.from_arrays(X, codes, max_depth=max_depth)
    cost, tree = naive.best_tree(problem)
    for options in every_option():
        result, _ = run(problem, options)
        assert_optimal(result, problem, cost, tree)


@pytest.mark.parametrize("min_samples_leaf", [25, 26, 32767, 32768, 65537, 2**31, 2**32 + 1, 10**15])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_rows_per_leaf_than_there_are(min_samples_leaf: int, n_classes: int) -> None:
    X, codes = generated(3, 50, 2, n_classes)
    problem = TreeProblem.from_arrays(X, codes, n_classes=n_classes, max_depth=2, min_samples_leaf=min_samples_leaf)
    cost, tree = naive.best_by_stumps(problem)
    for options in every_option():
        result, _ = run(problem, options)
        assert_optimal(result, problem, cost, tree)
