"""What must not change the answer of the search, what may only improve it, and what a stopped search still owes."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.options import RULES
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, ProgressEvent, Status
from strategies import examples, generated, problem_arguments, problems, usable_simd
from tests.interrupts import interrupted

MEDIUM = [  # seed, rows, features, classes, depth, more arguments
    (1, 200, 4, 2, 3, {}),
    (2, 600, 5, 3, 3, {}),
    (3, 2000, 4, 2, 2, {}),
    (4, 1500, 3, 5, 2, {"min_samples_leaf": 40}),
    (5, 300, 3, 2, 3, {"alpha": 0.01}),
    (6, 250, 3, 4, 3, {"alpha": 0.004, "min_samples_leaf": 7}),
    (7, 150, 2, 2, 4, {"min_samples_leaf": 3}),
    (8, 300, 3, 3, 3, {"min_weight_fraction_leaf": 0.06}),
]


def endless(max_depth: int, n_classes: int = 2) -> TreeProblem:
    """Labels that no column explains: no search ends soon."""
    rng = np.random.default_rng(7)
    X, codes = rng.normal(size=(2000, 10)), rng.integers(0, n_classes, 2000)
    return TreeProblem.from_arrays(X, codes, n_classes=n_classes, max_depth=max_depth)


def medium(
    seed: int,
    n_rows: int,
    n_features: int,
    n_classes: int,
    max_depth: int,
    more: dict[str, Any],
    *,
    weighted: bool = False,
) -> TreeProblem:
    """A problem too large for enumeration that the search solves in well under a second."""
    X, codes = generated(seed, n_rows, n_features, n_classes)
    weights = np.random.default_rng(seed).integers(1, 6, n_rows) / 4 if weighted else None
    return TreeProblem.from_arrays(X, codes, n_classes=n_classes, sample_weight=weights, max_depth=max_depth, **more)


# ------------------------------------------------------------------------------------------------ the order of the data


@examples(1)
@given(arguments=problem_arguments(), data=st.data())
def test_row_order_changes_nothing(arguments: dict[str, Any], data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(arguments["codes"])))))
    moved = dict(arguments, X=arguments["X"][order], codes=np.array(arguments["codes"])[order])
    if arguments["sample_weight"] is not None:
        moved["sample_weight"] = np.array(arguments["sample_weight"])[order]
    one, two = (solve(TreeProblem.from_arrays(**a)) for a in (arguments, moved))
    assert one.objective == two.objective
    assert one.model == two.model


@examples(1)
@given(arguments=problem_arguments(), data=st.data())
def test_column_order_keeps_the_objective(arguments: dict[str, Any], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(arguments["X"].shape[1])))
    moved = dict(arguments, X=arguments["X"][:, order])
    one, two = (solve(TreeProblem.from_arrays(**a)) for a in (arguments, moved))
    assert one.objective == two.objective


@examples(1)
@given(arguments=problem_arguments(), n_copies=st.lists(st.integers(0, 4), min_size=14, max_size=14).filter(any))
def test_copies_of_a_row_are_a_weight(arguments: dict[str, Any], n_copies: list[int]) -> None:
    X, codes = arguments["X"], np.array(arguments["codes"])
    copies = np.array(n_copies[: len(codes)])
    copies[0] += not copies.any()
    limits = {key: arguments[key] for key in ("n_classes", "max_depth", "alpha", "min_weight_fraction_leaf")}
    weighted = TreeProblem.from_arrays(X, codes, sample_weight=copies, **limits)
    repeated = TreeProblem.from_arrays(np.repeat(X, copies, axis=0), np.repeat(codes, copies), **limits)
    one, two = solve(weighted), solve(repeated)
    assert one.model is not None
    assert two.model is not None
    assert one.objective == two.objective
    assert naive.as_tuple(one.model) == naive.as_tuple(two.model)
    assert one.model.weight.tolist() == two.model.weight.tolist()


@examples(1)
@given(arguments=problem_arguments(), position=st.integers(0, 14), x=st.floats(-1e6, 1e6))
def test_a_row_of_weight_zero_changes_nothing(arguments: dict[str, Any], position: int, x: float) -> None:
    X, codes = arguments["X"], arguments["codes"]
    weights = [1.0] * len(codes) if arguments["sample_weight"] is None else arguments["sample_weight"]
    at = min(position, len(codes))
    more = dict(
        arguments,
        X=np.insert(X, at, x, axis=0),
        codes=np.insert(codes, at, arguments["n_classes"] - 1),
        sample_weight=np.insert(weights, at, 0.0),
    )
    one, two = (solve(TreeProblem.from_arrays(**a)) for a in (arguments, more))
    assert one.objective == two.objective
    assert one.lower_bound == two.lower_bound
    assert one.model == two.model


@examples(1)
@given(arguments=problem_arguments(), data=st.data())
def test_stretching_a_column_keeps_the_objective(arguments: dict[str, Any], data: st.DataObject) -> None:
    X = arguments["X"]
    feature = data.draw(st.integers(0, X.shape[1] - 1))
    ranks = np.unique(X[:, feature], return_inverse=True)[1].astype(np.float64)
    rising = data.draw(st.sampled_from([ranks, np.exp(ranks), ranks**3 - 1e5, np.ldexp(ranks, -1070)]))
    falling = -rising  # the mirror image has the same splits too
    objectives = {
        solve(
            TreeProblem.from_arrays(**dict(arguments, X=np.column_stack([X[:, :feature], column, X[:, feature + 1 :]])))
        ).objective
        for column in (X[:, feature], rising, falling)
    }
    assert len(objectives) == 1


# --------------------------------------------------------------------------------------------------- limits on the tree


@examples(1)
@given(arguments=problem_arguments())
def test_more_freedom_is_never_worse(arguments: dict[str, Any]) -> None:
    deeper = [solve(TreeProblem.from_arrays(**dict(arguments, max_depth=d))).objective for d in range(5)]
    assert all(shallow >= deep for shallow, deep in pairwise(deeper))
    smaller = [solve(TreeProblem.from_arrays(**dict(arguments, min_samples_leaf=m))).objective for m in (4, 3, 2, 1)]
    assert all(strict >= free for strict, free in pairwise(smaller))
    lighter = [
        solve(TreeProblem.from_arrays(**dict(arguments, min_weight_fraction_leaf=m))).objective for m in (0.4, 0.2, 0.0)
    ]
    assert all(strict >= free for strict, free in pairwise(lighter))
    cheaper = [solve(TreeProblem.from_arrays(**dict(arguments, alpha=a))).objective for a in (0.3, 0.05, 0.0)]
    assert all(dear >= cheap for dear, cheap in pairwise(cheaper))


@pytest.mark.parametrize("case", MEDIUM, ids=str)
def test_more_depth_is_never_worse_on_medium_problems(case: tuple[Any, ...]) -> None:
    *start, max_depth, more = case
    objectives = [solve(medium(*start, depth, more)).objective for depth in range(max_depth + 1)]
    assert all(shallow >= deep for shallow, deep in pairwise(objectives))


# -------------------------------------------------------------------------------------------------- rules and machinery


@pytest.mark.parametrize("rule", RULES)
@examples(0.3)
@given(problem=problems())
def test_a_rule_off_changes_nothing(rule: str, problem: TreeProblem) -> None:
    with_all = solve(problem)
    for packed in (True, False):  # tables as small as these are searched over packed words
        without = solve(problem, options=replace(SearchOptions(packed=packed), **{rule: False}))
        assert without.objective == with_all.objective
        assert without.model == with_all.model


@pytest.mark.parametrize("weighted", [False, True], ids=["unit weights", "weighted"])
@pytest.mark.parametrize("case", MEDIUM, ids=str)
def test_threads_rules_and_instruction_sets_give_one_tree(case: tuple[Any, ...], weighted: bool) -> None:
    problem = medium(*case, weighted=weighted)
    expected = solve(problem)
    assert expected.status is Status.OPTIMAL
    assert expected.model is not None
    assert float(problem.real_cost(expected.model)) == expected.objective
    naive.check_table(expected.model, problem)

    variants = [(SearchOptions(), threads) for threads in (2, 3, 4)]
    over_thresholds = SearchOptions(packed=False)
    variants += [(replace(over_thresholds, **{rule: False}), 3 if weighted else 1) for rule in RULES]
    variants += [(over_thresholds, 2)]
    variants += [(SearchOptions(simd=simd, lanes=lanes), 1) for simd in usable_simd() for lanes in (0, 16, 32, 64)]
    for options, threads in variants:
        result = solve(problem, options=options, limits=Limits(threads=threads))
        assert (result.status, result.objective) == (Status.OPTIMAL, expected.objective), (options, threads)
        assert result.model == expected.model, (options, threads)


@pytest.mark.parametrize("case", MEDIUM[:2], ids=str)
def test_the_gap_buys_less_work_and_costs_no_more_than_it_says(case: tuple[Any, ...]) -> None:
    *start, more = case
    exact = solve(medium(*start, more))
    for max_gap in (0, 1, 5, 0.01, 0.1):
        problem = medium(*start, dict(more, max_gap=max_gap))
        for threads in (1, 3):
            result = solve(problem, limits=Limits(threads=threads))
            assert result.lower_bound <= exact.objective <= result.objective
            assert result.objective - exact.objective <= problem.max_gap
            assert result.gap <= problem.max_gap
            assert result.status in (Status.OPTIMAL, Status.WITHIN_GAP)


# ----------------------------------------------------------------------------------------------------- stopped searches


@cache
def optimum_of(seed: int) -> float:
    return solve(medium(*next(case for case in MEDIUM if case[0] == seed))).objective


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01, 0.05])
@pytest.mark.parametrize("case", MEDIUM, ids=str)
def test_a_stopped_search_has_valid_bounds(case: tuple[Any, ...], seconds: float, threads: int) -> None:
    problem, optimum = medium(*case), optimum_of(case[0])
    result = solve(problem, limits=Limits(seconds=seconds, threads=threads))
    assert result.model is not None
    naive.check_table(result.model, problem)
    assert float(problem.real_cost(result.model)) == result.objective
    assert 0 <= result.lower_bound <= optimum <= result.objective
    assert all(event.lower_bound <= optimum <= event.objective for event in result.trace)
    if result.stats.stopped_by is None:
        assert result.status is Status.OPTIMAL
    else:
        assert (result.status, result.stats.stopped_by) == (Status.FEASIBLE, "time_limit")


@pytest.mark.parametrize("max_depth", [4, 5])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_time_limit_is_obeyed(max_depth: int, n_classes: int) -> None:
    problem = endless(max_depth, n_classes)
    result = solve(problem, limits=Limits(seconds=0.3, threads=2))
    assert result.stats.stopped_by == "time_limit"
    assert result.status is Status.FEASIBLE
    assert result.stats.seconds < 0.8
    assert result.model is not None
    naive.check_table(result.model, problem)
    assert 0 <= result.lower_bound <= result.objective == float(problem.real_cost(result.model))
    assert result.lower_bound <= solve(endless(1, n_classes)).objective  # an upper bound of the optimum


def test_interrupt_keeps_the_best_tree() -> None:
    problem = endless(5)
    result = interrupted(lambda: solve(problem, limits=Limits(seconds=20.0)))
    assert (result.status, result.stats.stopped_by) == (Status.FEASIBLE, "interrupt")
    assert result.stats.seconds < 2.0
    assert result.model is not None
    assert 0 <= result.lower_bound <= result.objective == float(problem.real_cost(result.model))


def test_an_error_in_the_callback_stops_the_search_and_is_raised() -> None:
    def fail(event: ProgressEvent) -> None:
        raise RuntimeError(f"no more after {event.seconds >= 0}")

    with pytest.raises(RuntimeError, match="no more after True"):
        solve(endless(5), limits=Limits(seconds=20.0), progress=fail)


def test_callback_runs_in_the_calling_thread_and_reports_while_the_search_lasts() -> None:
    callers: set[int] = set()
    events: list[ProgressEvent] = []

    def note(event: ProgressEvent) -> None:
        callers.add(threading.get_ident())
        events.append(event)

    result = solve(endless(5), limits=Limits(seconds=1.5, threads=2), progress=note)
    assert callers == {threading.get_ident()}
    assert len(events) >= 4
    assert all(math.isfinite(event.objective) and event.lower_bound >= 0 for event in events)
    assert all(earlier.objective >= later.objective for earlier, later in pairwise(events))
    assert all(earlier.lower_bound <= later.lower_bound for earlier, later in pairwise(events))
    assert events[-1].objective >= result.objective
