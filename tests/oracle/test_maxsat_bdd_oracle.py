"""Diagrams by SAT and MaxSAT against counting every set of tests; bounds that hold at every moment."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

import naive_subset as naive
from bdd_problems import problem_of, rows, table_1
from formulas import Formula
from proofwood.model.node_table import NodeTable
from proofwood.papers.maxsat_bdd import maxsat
from proofwood.papers.maxsat_bdd.clauses import (
    BddVariables,
    classified_by_values,
    feature_once,
    one_feature_per_position,
    values_of_features,
)
from proofwood.papers.maxsat_bdd.examples import Examples
from proofwood.papers.maxsat_bdd.maxsat import ErrorFormula
from proofwood.papers.maxsat_bdd.solve import solve
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Result, Status
from strategies import examples
from tests.oracle.test_search_oracle import assert_bracketed


def run(problem: BDDProblem, variant: str | None = None, **more: Any) -> tuple[Result, list[ProgressEvent]]:
    events: list[ProgressEvent] = []
    return solve(problem, variant=variant, progress=events.append, **more), events


def fewest_errors(rows: RankedRows, size: int) -> int:
    return min(errors for _, errors in naive.sets(rows, size))


def used(table: NodeTable) -> set[int]:
    return set(table.feature[table.feature >= 0].tolist())


def assert_best(result: Result, events: list[ProgressEvent], optimum: int, problem: BDDProblem) -> None:
    assert result.status is Status.OPTIMAL
    assert result.objective == result.lower_bound == optimum
    assert result.stats.stopped_by is None
    assert_bracketed(events, optimum)
    assert_bracketed(list(result.trace), optimum)
    assert result.trace[-1].objective == optimum
    assert result.model is not None
    errors = problem.rows.errors(result.model)
    assert errors == (problem.rows.unavoidable if problem.fewest else optimum)
    assert len(used(result.model)) <= (optimum if problem.fewest else problem.max_features)
    assert result.part("features" if problem.fewest else "errors").objective == optimum
    assert result.part("splits").objective == result.model.n_splits >= result.part("splits").lower_bound


# ---------------------------------------------------------------------------------------------------- fewest features


@examples(1)
@given(rows=rows(), variant=st.sampled_from(["bdd2", "bdd1"]), unknown=st.sampled_from(list(Unknown)))
def test_fewest_tests_without_avoidable_error(rows: RankedRows, variant: str, unknown: Unknown) -> None:
    problem = problem_of(rows, fewest=True, unknown=unknown)
    result, events = run(problem, variant)
    assert_best(result, events, naive.fewest(rows), problem)


def test_the_example_of_the_paper() -> None:
    result, _ = run(problem_of(table_1(), fewest=True, unknown=Unknown.SOLVER))
    assert result.objective == 2
    assert result.model is not None
    assert used(result.model) == {0, 1}
    assert (result.model.n_splits, result.model.n_leaves) == (2, 2)


# ------------------------------------------------------------------------------------------------------ fewest errors


@examples(1.5)
@given(
    rows=rows(),
    size=st.integers(0, 3),
    cores=st.sampled_from([30.0, 0.0]),
    largest_sum=st.sampled_from([400_000, 400_000, 0]),
    unknown=st.sampled_from(list(Unknown)),
)
def test_fewest_errors_by_cores_and_from_above(
    rows: RankedRows, size: int, cores: float, largest_sum: int, unknown: Unknown
) -> None:
    problem = problem_of(rows, size, unknown=unknown)
    with patch.object(maxsat, "LARGEST_SUM", largest_sum), patch.object(maxsat, "CORES", (0.1, cores)):
        result, events = run(problem)
    assert_best(result, events, fewest_errors(rows, size), problem)


@examples(0.5)
@given(rows=rows(), size=st.integers(1, 3), left=st.integers(0, 12))
def test_bounds_hold_wherever_the_search_is_interrupted(rows: RankedRows, size: int, left: int) -> None:
    problem = problem_of(rows, size)
    optimum = fewest_errors(rows, size)
    events: list[ProgressEvent] = []

    def interrupt(event: ProgressEvent) -> None:
        events.append(event)
        if len(events) > left:
            raise KeyboardInterrupt

    result = solve(problem, progress=interrupt)
    assert_bracketed(events, optimum)
    assert_bracketed(list(result.trace), optimum)
    assert result.lower_bound <= optimum <= result.objective
    assert result.model is not None
    assert problem.rows.errors(result.model) == result.objective
    assert (result.status is Status.OPTIMAL) == (result.objective == result.lower_bound)
    if result.status is not Status.OPTIMAL:
        assert result.stats.stopped_by == "interrupt"


@examples(0.5)
@given(rows=rows(), size=st.integers(1, 3))
def test_an_outside_solver_finds_the_same_cost(rows: RankedRows, size: int) -> None:
    cases = Examples.of(rows)
    formula, written = Formula(), WCNF()
    made = ErrorFormula(formula, cases, min(size, cases.n_features))
    written.extend(formula.clauses)
    for literal, weight in made.costs:
        written.append([-literal], weight=weight)
    constant = fewest_errors(rows, 0)  # no table of the formula has equal halves
    with RC2(written) as solver:
        cost = solver.cost + rows.unavoidable if solver.compute() is not None else constant
        assert min(cost, constant) == fewest_errors(rows, size)


@examples(0.3)
@given(rows=rows(most_rows=7, most_columns=3), size=st.integers(1, 2))
def test_one_excuse_per_row_is_as_good_as_the_soft_clauses_of_the_paper(rows: RankedRows, size: int) -> None:
    cases = Examples.of(rows)
    if cases.n_classes != 2 or cases.n_features < size:
        return
    formula, soft = Formula(), WCNF()
    v = BddVariables(formula, size, cases)
    soft.extend([*feature_once(v), *one_feature_per_position(v)])
    for q in range(1, cases.n_examples + 1):
        soft.extend(list(values_of_features(v, cases, q)))
        for code in np.flatnonzero(cases.weights[q - 1]).tolist():  # the rows of the example, those of a class together
            for clause in classified_by_values(v, q, [code]):
                soft.append(clause, weight=int(cases.weights[q - 1, code]))
    with RC2(soft) as solver:
        assert solver.compute() is not None
        assert solver.cost == fewest_errors(rows, size)


# --------------------------------------------------------------------------------------- limits, starts, and refusals


def noisy(n_rows: int, n_features: int) -> RankedRows:
    random = np.random.default_rng(7)
    bits = random.integers(0, 2, (n_rows, n_features))
    return RankedRows.from_bits(bits, (bits[:, 0] & bits[:, 1]) ^ (random.random(n_rows) < 0.2))


@pytest.mark.parametrize("variant", ["maxsat", "bdd2", "bdd1"])
def test_a_time_limit_leaves_a_bound(variant) -> None:
    fewest = variant != "maxsat"
    problem = problem_of(noisy(200, 25), 5, fewest=fewest)
    result, events = run(problem, variant, limits=Limits(seconds=0.4))
    assert result.stats.stopped_by == "time_limit"
    assert result.stats.seconds < 3
    assert result.lower_bound < result.objective
    assert_bracketed(events, result.objective)
    if fewest:  # nothing is known before the first diagram
        assert result.status is Status.UNKNOWN
        return
    assert result.status is Status.FEASIBLE
    assert result.model is not None
    assert problem.rows.errors(result.model) == result.objective


@pytest.mark.parametrize("unknown", list(Unknown))
def test_unreached_cells(unknown) -> None:
    rows = table_1().select([0, 1, 2])
    result, _ = run(problem_of(rows, 3, unknown=unknown))
    assert result.objective == 0
    assert result.model is not None
    assert used(result.model) <= {0, 1, 2}


def test_refusals() -> None:
    rows = table_1()
    for variant, fewest, expected in (("maxsat", True, "'bdd2', 'bdd1'"), ("bdd1", False, "'maxsat', 'heuristic'")):
        with pytest.raises(ValueError, match=f"variant='{variant}' cannot find the fewest .*{expected}"):
            solve(problem_of(rows, 2, fewest=fewest), variant=variant)
    with pytest.raises(ValueError, match="variant='greedy' uses no solver"):
        solve(problem_of(rows, 2, unknown=Unknown.SOLVER), variant="greedy")
    cost = type(problem_of(rows).cost).of(alpha=0.1, total=8, unit=rows.unit)
    with pytest.raises(ValueError, match="'auto' or 'search'"):
        solve(BDDProblem(rows, 2, False, cost))
    for wrong in ({"variant": "bdd3"}, {"solver": "kissat"}):
        with pytest.raises(ValueError, match="expected one of"):
            solve(problem_of(rows, 2), **wrong)
