"""Layered diagrams against enumeration: the enumeration against a plainer one, then every engine against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations, islice

import numpy as np
import pytest

from proofwood.engines.diagram import sets
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, count
from proofwood.engines.diagram.solve import solve
from proofwood.engines.diagram.topologies import TopologyOptions, cheapest_over_sets
from proofwood.engines.switches import switches
from proofwood.problem.diagram import DiagramCost, DiagramProblem
from proofwood.result import Limits, Status
from tests import naive_diagrams as naive
from tests.diagram_batch import answers, problem_of
from tests.diagram_problems import corner_cases, diagram_problem
from tests.fuzz import diagrams

N_PROBLEMS = 200

QUICK = [*range(12), 13, 14, 18, 20, 21, 22, 25]
"""Problems of the series that take the mixed-integer solvers little time."""
SOLVERS = ["scipy", pytest.param("scip", marks=pytest.mark.needs("pyscipopt"))]


@cache
def best(number: int) -> tuple[int | None, Diagram | None]:
    """The cheapest diagram of problem ``number``, with its cost."""
    return naive.cheapest(problem_of(number))


def least(number: int) -> int | None:
    """Its cost."""
    return best(number)[0]


def test_costs_known_by_thought():
    nothing = [1 / 3, 1 / 3, 0, 0, 0]
    square = [1 / 2, 1 / 2, 1 / 2, 1 / 2, 0, 0.01, 0.01, 1 / 4 + 0.01 / 3, 0.01]
    parity = [0.01, 1 / 4 + 3 * 0.01 / 4, 1 / 4 + 0.01, 3 / 8 + 0.01]
    expected = [*nothing, *square, *parity]
    assert len(corner_cases()) == len(expected)
    for number, share in enumerate(expected):
        assert problem_of(number).cost.share(least(number) or 0) == pytest.approx(share), number


def test_the_enumeration_counts_as_every_engine_does():
    used, paid = set(), []
    for number in range(N_PROBLEMS):
        problem = problem_of(number)
        cost, diagram = best(number)
        assert diagram is not None
        counted = count(problem, diagram)
        assert (counted.cost, counted.broken) == (cost, "")
        assert naive.price(problem, diagram) == cost
        used.add((counted.n_splits, problem.tree, bool(problem.rates)))
        paid.append(problem.penalty(diagram.visits(problem)[1]) > 0)
    assert {n for n, _, _ in used} == {0, 1, 2, 3, 4, 5}
    assert sum(paid) > 4


def _twice(numbers: range, most: int) -> int:
    """Both enumerations of the problems that have at most ``most`` diagrams; how many these are."""
    done = 0
    for number in numbers:
        rng, kind = np.random.default_rng([number, 7]), number % 3
        problem = diagram_problem(rng, max_rows=6, max_tests=kind + 1, max_slots=5 - kind, constraints=bool(number % 4))
        if sum(1 for _ in islice(naive.every_diagram(problem), most + 1)) <= most:
            assert naive.cheapest(problem)[0] == naive.cheapest_of_all(problem), number
            done += 1
    return done


def test_both_enumerations_agree():
    assert _twice(range(100), 3000) > 70


@pytest.mark.slow
def test_both_enumerations_agree_on_larger_skeletons():
    assert _twice(range(1000, 1200), 100_000) > 180


def _check_children(solver: str, numbers: list[int], seconds: float) -> None:
    told = answers(solver, numbers, seconds=seconds)
    assert [number for number, _ in told] == numbers, f"not all within {seconds} s"
    for number, (diagram, upper, lower, done, infeasible) in told:
        assert done, number
        assert infeasible == (least(number) is None), number
        if not infeasible:
            assert (upper, lower) == (least(number), least(number)), number
            assert naive.price(problem_of(number), diagram) == upper, number


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_program_of_the_paper_finds_the_optimum(solver: str):
    _check_children(solver, QUICK, 60.0)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_program_of_the_paper_finds_the_optimum_of_all_problems(solver: str):
    _check_children(solver, list(range(500)), 3600.0)


@pytest.mark.parametrize(("engine", "n_problems"), [("search", N_PROBLEMS), ("auto", 30)])
def test_the_portfolio_finds_the_optimum(engine: str, n_problems: int):
    for number in range(n_problems):
        problem = problem_of(number)
        result = solve(problem, engine=engine, limits=Limits(60.0))
        cost = least(number)
        assert cost is not None
        assert (result.status, result.objective) == (Status.OPTIMAL, problem.cost.share(cost)), number
        assert result.model is not None
        predicted = problem.rows.predict(result.model)
        assert problem.cost_of(predicted, result.model.n_splits) == cost, number
        assert problem.meets_rates(predicted), number
        provers = {"equal rows", "tests bound", "search", "layers", "tree bound", "tree search", "cost 0"}
        assert result.stats.proved_by in provers


def _weighted(number: int) -> DiagramProblem:
    """A problem whose weights are like those of real numbers: hardly two sets of tests have the same errors."""
    rng = np.random.default_rng([number, 50])
    problem = diagram_problem(rng)
    rows = replace(problem.rows, weights=rng.integers(1, 2**40, problem.rows.n_rows))
    alpha = float(rng.choice([0.0, 0.01, 0.1]))
    return replace(problem, rows=rows, cost=DiagramCost.of(alpha=alpha, total=rows.total, widths=problem.widths))


@pytest.mark.parametrize("steps", [1, sets.STEPS, 2**50])
def test_real_weights_leave_no_level_to_be_closed_one_by_one(steps: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sets, "STEPS", steps)
    settled = 0
    for number in range(60):
        problem = _weighted(number)
        cost, _ = naive.cheapest(problem)
        assert cost is not None
        result = solve(problem, engine="search", limits=Limits(30.0))
        assert result.status in (Status.OPTIMAL, Status.WITHIN_GAP), number  # a price is rounded in these units
        assert result.objective == pytest.approx(problem.cost.share(cost), rel=1e-9), number
        assert result.lower_bound <= result.objective, number
        settled += result.stats.counters.get("sets", 0) > 0
    assert settled > 5


@pytest.mark.parametrize("most", [1, 4])
def test_too_many_sets_for_one_level_leave_a_bound_that_holds(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sets, "MAX_SETS", most)
    monkeypatch.setattr(sets, "STEPS", 1)
    proved = 0
    for number in range(40):
        problem = _weighted(number)
        cost, _ = naive.cheapest(problem)
        assert cost is not None
        run = DiagramRun(problem, Limits(30.0))
        for code in range(problem.rows.n_classes):
            run.offer(Diagram.leaf(code))
        search = sets.SetSearch.of(problem)
        sets.search_sets(search, run, seconds=30.0)
        assert not search.late
        assert run.lower <= cost <= run.upper, number
        proved += run.lower == cost
    assert proved > 0


@pytest.mark.parametrize("number", [593, 1522, 2955])
def test_a_penalty_tells_tests_apart_that_no_error_does(number: int):
    """Tests that differ only on equal rows of two classes and one weight are no equal tests here."""
    problem = diagram_problem(np.random.default_rng([number, 77]), constraints=True)
    cost, _ = naive.cheapest(problem)
    assert cost is not None
    assert problem.penalties
    result = solve(problem, engine="search")
    assert (result.status, result.objective) == (Status.OPTIMAL, problem.cost.share(cost))


def price(problem: DiagramProblem, code: int) -> int:
    """Cost of a lone leaf."""
    cost = naive.price(problem, Diagram.leaf(code))
    assert cost is not None
    return cost


@pytest.mark.parametrize("rule", ["", *switches(TopologyOptions())])
def test_sets_of_tests_one_size_after_the_other(rule: str):
    """The cheapest over all sets, with every rule and without one of them; sets of all sizes, told or not."""
    options = TopologyOptions(**({rule: False} if rule else {}))
    for number in range(0, N_PROBLEMS, 5):
        problem = problem_of(number)
        costs = [min(price(problem, code) for code in range(problem.rows.n_classes))]
        for size in range(1, min(problem.rows.n_tests, problem.most_nodes) + 1):
            every = list(combinations(range(problem.rows.n_tests), size))
            found = cheapest_over_sets(problem, every, upper=costs[0] + 1, options=options)
            assert found.complete
            if found.diagram is not None:
                assert (count(problem, found.diagram).cost, found.cost) == (found.cost, found.cost)
                assert naive.price(problem, found.diagram) == found.cost
                costs.append(found.cost)
        assert min(costs) == least(number), number


def test_no_engine_claims_what_is_false():
    """A slice of the long campaign."""
    counts: Counter[str] = Counter()
    for number in range(30):
        counts.update(diagrams.one_case(5_000_000 + number))
    assert counts["proved"] > 15
