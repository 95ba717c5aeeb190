"""Diagrams by SAT and MaxSAT against counting every set of tests; bounds that hold at every moment."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
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
from proofwood.engines.bdd.reference import maxsat_anytime
from proofwood.engines.bdd.reference.clauses import BddVariables, classified_by_values, structure, values_of_features
from proofwood.engines.bdd.reference.examples import Examples
from proofwood.engines.bdd.reference.maxsat_encode import Formula, write_wcnf
from proofwood.engines.bdd.reference.solve import AS_PRINTED, BddSatOptions, solve
from proofwood.model.node_table import NodeTable
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Result, Status
from strategies import examples

BOOLEANS = st.sampled_from([True, False])
FORMULAS = {"symmetry": BOOLEANS, "bead": BOOLEANS, "greedy": BOOLEANS, "reduce": BOOLEANS, "canonical": BOOLEANS}


def run(problem: BDDProblem, options: BddSatOptions, **more: Any) -> tuple[Result, list[ProgressEvent]]:
    events: list[ProgressEvent] = []
    return solve(problem, options=options, progress=events.append, **more), events


def fewest_errors(rows: RankedRows, size: int) -> int:
    return min(errors for _, errors in naive.sets(rows, size))


def used(table: NodeTable) -> set[int]:
    return set(table.feature[table.feature >= 0].tolist())


def assert_bracketed(events: list[ProgressEvent], optimum: float) -> None:
    for event in events:
        assert event.lower_bound <= optimum <= event.objective
    for earlier, later in pairwise(events):
        assert earlier.seconds <= later.seconds
        assert earlier.objective >= later.objective
        assert earlier.lower_bound <= later.lower_bound


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
@given(
    rows=rows(),
    options=st.builds(
        BddSatOptions,
        encoding=st.sampled_from(["BDD2", "BDD1", "pairs"]),
        first_depth=st.sampled_from([7, 1, 2]),
        lazy=BOOLEANS,
        **FORMULAS,
    ),
    unknown=st.sampled_from(list(Unknown)),
)
def test_fewest_tests_without_avoidable_error(rows: RankedRows, options: BddSatOptions, unknown: Unknown) -> None:
    problem = problem_of(rows, fewest=True, unknown=unknown)
    result, events = run(problem, options)
    assert_best(result, events, naive.fewest(rows), problem)


def test_the_example_of_the_paper() -> None:
    result, _ = run(problem_of(table_1(), fewest=True, unknown=Unknown.SOLVER), AS_PRINTED)
    assert result.objective == 2
    assert result.model is not None
    assert used(result.model) == {0, 1}
    assert (result.model.n_splits, result.model.n_leaves) == (2, 2)


# ------------------------------------------------------------------------------------------------------ fewest errors


@examples(1.5)
@given(
    rows=rows(),
    size=st.integers(0, 3),
    options=st.builds(
        BddSatOptions,
        structure=st.sampled_from(["pairs", "cells"]),
        below=st.sampled_from(["steps", "cores", "nothing"]),
        **FORMULAS,
    ),
    largest_sum=st.sampled_from([400_000, 400_000, 0]),
    unknown=st.sampled_from(list(Unknown)),
)
def test_fewest_errors_by_the_anytime_loop(
    rows: RankedRows, size: int, options: BddSatOptions, largest_sum: int, unknown: Unknown
) -> None:
    problem = problem_of(rows, size, unknown=unknown)
    with patch.object(maxsat_anytime, "LARGEST_SUM", largest_sum):
        result, events = run(problem, options)
    assert_best(result, events, fewest_errors(rows, size), problem)


@examples(0.5)
@given(rows=rows(), size=st.integers(1, 3), structure=st.sampled_from(["pairs", "cells"]), left=st.integers(0, 12))
def test_bounds_hold_wherever_the_loop_is_interrupted(rows: RankedRows, size: int, structure: Any, left: int) -> None:
    problem = problem_of(rows, size)
    optimum = fewest_errors(rows, size)
    events: list[ProgressEvent] = []

    def interrupt(event: ProgressEvent) -> None:
        events.append(event)
        if len(events) > left:
            raise KeyboardInterrupt

    result = solve(problem, options=BddSatOptions(structure=structure, greedy=False), progress=interrupt)
    assert_bracketed(events, optimum)
    assert_bracketed(list(result.trace), optimum)
    assert result.lower_bound <= optimum <= result.objective
    assert result.model is not None
    assert problem.rows.errors(result.model) == result.objective
    assert (result.status is Status.OPTIMAL) == (result.objective == result.lower_bound)
    if result.status is not Status.OPTIMAL:
        assert result.stats.stopped_by == "interrupt"


@examples(0.5)
@given(rows=rows(), size=st.integers(1, 3), pairs=BOOLEANS, legacy=BOOLEANS)
def test_an_outside_solver_gets_the_same_problem(tmp_path_factory, rows, size, pairs, legacy) -> None:
    cases = Examples.of(rows)
    size = min(size, cases.n_features)
    if size == 0:
        return
    path = tmp_path_factory.mktemp("wcnf") / "problem.wcnf"
    constant = write_wcnf(path, cases, size, pairs=pairs, legacy=legacy)
    with RC2(WCNF(from_file=str(path))) as solver:
        assert solver.compute() is not None
        assert solver.cost + constant == fewest_errors(rows, size)


@examples(0.3)
@given(rows=rows(most_rows=7, most_columns=3), size=st.integers(1, 2))
def test_one_excuse_per_row_is_as_good_as_the_soft_clauses_of_the_paper(rows: RankedRows, size: int) -> None:
    cases = Examples.of(rows, reduce=False)
    if cases.n_classes != 2 or cases.n_features < size:
        return
    formula, soft = Formula(), WCNF()
    v = BddVariables(formula, size, cases)
    soft.extend([list(clause) for clause in structure(v, symmetry=False, bead=False)])
    for q in range(1, cases.n_examples + 1):
        soft.extend(list(values_of_features(v, cases, q)))
        weight = int(cases.weights[q - 1].max())
        for clause in classified_by_values(v, q, [int(cases.weights[q - 1].argmax())]):
            soft.append(clause, weight=weight)
    with RC2(soft) as solver:
        assert solver.compute() is not None
        assert solver.cost == fewest_errors(rows, size)


@examples(0.7)
@given(
    rows=rows(), size=st.integers(0, 3), fewest=BOOLEANS, options=st.builds(BddSatOptions, **FORMULAS), data=st.data()
)
def test_completed_runs_return_the_first_of_the_best_sets(
    rows: RankedRows, size: int, fewest: bool, options: BddSatOptions, data: st.DataObject
) -> None:
    options = replace(options, canonical=True, encoding=data.draw(st.sampled_from(["BDD2", "pairs"])))
    order = np.array(data.draw(st.permutations(range(rows.n_rows))))
    turned = replace(rows, ranks=rows.ranks[order], codes=rows.codes[order], weights=rows.weights[order])
    results = [run(problem_of(given, size, fewest=fewest), options)[0] for given in (rows, turned)]
    models = [result.model for result in results]
    assert models[0] is not None
    assert models[1] is not None
    assert models[0].feature.tolist() == models[1].feature.tolist()
    assert models[0].label.tolist() == models[1].label.tolist()
    best = results[0].objective
    if fewest:
        every = naive.sets(rows, int(best))
        first = min(chosen for chosen, errors in every if errors == rows.unavoidable and len(chosen) == best)
    else:
        first = min(chosen for chosen, errors in naive.sets(rows, size) if errors == best)
    if options.reduce:
        assert used(models[0]) <= set(first)


# --------------------------------------------------------------------------------------- limits, starts, and refusals


def noisy(n_rows: int, n_features: int) -> RankedRows:
    random = np.random.default_rng(7)
    bits = random.integers(0, 2, (n_rows, n_features))
    return RankedRows.from_bits(bits, (bits[:, 0] & bits[:, 1]) ^ (random.random(n_rows) < 0.2))


@pytest.mark.parametrize(
    "options",
    [BddSatOptions(), BddSatOptions(structure="cells"), BddSatOptions(encoding="BDD1")],
)
@pytest.mark.parametrize("fewest", [False, True])
def test_a_time_limit_leaves_a_bound(options, fewest) -> None:
    problem = problem_of(noisy(200, 25), 5, fewest=fewest)
    result, events = run(problem, options, limits=Limits(seconds=0.4))
    assert result.status is Status.FEASIBLE
    assert result.stats.stopped_by == "time_limit"
    assert result.stats.seconds < 3
    assert result.lower_bound < result.objective
    assert result.model is not None
    assert problem.rows.errors(result.model) == (problem.rows.unavoidable if fewest else result.objective)
    assert_bracketed(events, result.objective)


def test_a_start_is_kept() -> None:
    rows = noisy(40, 6)
    best, _ = run(problem_of(rows, 3), BddSatOptions())
    assert best.model is not None
    result, events = run(problem_of(rows, 3), BddSatOptions(greedy=False), start=best.model)
    assert_best(result, events, fewest_errors(rows, 3), problem_of(rows, 3))
    assert [event.objective for event in events][1] == best.objective
    with pytest.raises(ValueError, match=f"start asks {len(used(best.model))} tests"):
        solve(problem_of(rows, 1), start=best.model)
    with pytest.raises(ValueError, match="avoided"):
        solve(problem_of(rows, fewest=True), start=best.model)


def test_duplicate_tests_of_a_start_count_once() -> None:
    bits = [[0, 0], [1, 1], [1, 1]]
    rows = RankedRows.from_bits(bits, [0, 1, 1])
    best, _ = run(problem_of(rows, 1), BddSatOptions(reduce=False))
    assert run(problem_of(rows, 1), BddSatOptions(), start=best.model)[0].objective == 0


@pytest.mark.parametrize("unknown", list(Unknown))
def test_unreached_cells(unknown) -> None:
    rows = table_1().select([0, 1, 2])
    result, _ = run(problem_of(rows, 3, unknown=unknown), BddSatOptions(structure="cells"))
    assert result.objective == 0
    assert result.model is not None
    top = [int(test) for test in result.model.feature if test >= 0]
    assert top == sorted(top) or unknown is Unknown.SMALLEST  # ascending, level by level


def test_refusals() -> None:
    rows = table_1()
    with pytest.raises(ValueError, match="fewest features pass engine='sat'"):
        solve(problem_of(rows, fewest=True), options=BddSatOptions(engine="maxsat"))
    with pytest.raises(ValueError, match="pass 'maxsat'"):
        solve(problem_of(rows, 2), options=BddSatOptions(engine="sat"))
    cost = type(problem_of(rows).cost).of(alpha=0.1, total=8, unit=rows.unit)
    with pytest.raises(ValueError, match="engine='search'"):
        solve(BDDProblem(rows, 2, False, cost))
    for wrong in (
        {"encoding": "BDD3"},
        {"engine": "smt"},
        {"solver": "kissat"},
        {"first_depth": 0},
        {"below": "above"},
    ):
        with pytest.raises(ValueError, match="expected"):
            BddSatOptions(**wrong)
