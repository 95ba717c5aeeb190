"""The mixed-integer program of ODD: rows, decoding, and optima against enumeration."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint
from scipy.optimize import milp as scipy_milp
from scipy.sparse import csr_array

from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, count
from proofwood.papers.odd import scipy as odd_scipy
from proofwood.papers.odd.costs import PossibleCosts
from proofwood.papers.odd.decode import _widest, decode, sparse
from proofwood.papers.odd.model import Model, build
from proofwood.papers.odd.program import Builder
from proofwood.papers.odd.slots import Slots, shrunk
from proofwood.papers.odd.solve import AS_PRINTED, CLAIMS, SMALLER, ODDOptions, improve
from proofwood.papers.odd.solve import solve as as_printed
from proofwood.problem.diagram import DiagramCost, DiagramProblem, Norm, Rate
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Result
from proofwood.solvers.worker import WorkerOutcome
from tests import naive_diagrams as naive
from tests.conftest import LoadData
from tests.diagram_problems import diagram_problem, problem_of

FORMS = ({}, {"centred": True})


def random_problem(seed: int) -> DiagramProblem:
    return diagram_problem(np.random.default_rng(seed), max_rows=8, max_tests=3, max_slots=3, constraints=seed % 2 == 0)


def optimum(model: Model) -> np.ndarray:
    """The solution of SciPy's solver, in this process."""
    sent: list[tuple[str, object]] = []
    said = odd_scipy.solve_in_child(sent.append, model.program, None, PossibleCosts.of(model.problem), None)
    assert said.kind == "proved"
    point = sent[0][1]
    assert isinstance(point, np.ndarray)
    return point


SMALL = problem_of([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])


# --- the program


def test_rows_and_variables_of_a_small_skeleton() -> None:
    model = build(SMALL)
    sizes = {name: block.shape for name, block in model.blocks.items()}
    assert sizes == {
        "w-": (4, 3), "w+": (4, 3), "z-": (4, 8), "z+": (4, 8), "lambda": (4, 2), "d": (3,), "y-": (8,), "y+": (8,),
        "w": (4, 2), "a+": (3, 2), "a-": (3, 2), "b": (3,), "e": (3, 2),
    }  # fmt: skip
    assert Counter(model.equations) == {
        "(1)": 12, "(2)": 12, "(3)": 12, "(4)": 8, "(5)": 8, "(6)": 6, "(7)": 2, "(8)": 2, "(9)": 32, "(10)": 32,
        "(11)": 8, "(12)": 1, "(13)": 12, "(14)": 12, "(15)": 3, "(16)": 6, "(17)": 8, "norm": 3,
    }  # fmt: skip
    assert model.epsilon == pytest.approx(0.4)
    assert model.program.lower[model.blocks["d"]].tolist() == [1, 0, 0]


def test_constraints_add_their_rows() -> None:
    half = np.array([True, True, False, False])
    rate = Rate(half, ~half, SMALL.rows.weights, 1, Fraction(4, 5))
    problem = replace(SMALL, tree=False, max_splits=2, min_weight=2, rates=(rate,))
    names_of = Counter(build(problem).equations)
    assert (names_of["(19)"], names_of["(20)"], names_of["max_splits"]) == (1, 2, 1)
    assert Counter(build(replace(SMALL, tree=True)).equations)["tree"] == 2


def test_constants_are_those_of_the_paper_or_half() -> None:
    columns = np.array([[0.0, 0.0], [1.0, 1.0], [0.25, 0.5], [0.75, 0.5]])
    problem = replace(SMALL, columns=columns)
    cases = (("l1", False, 2 + 1e-4), ("l1", True, 1 + 2e-4), ("box", False, 3 + 1e-4), ("box", True, 2 + 2e-4))
    for norm, centred, largest in cases:
        model = build(replace(problem, norm=norm), centred=centred)
        rows = [row for row, name in enumerate(model.equations) if name == "(13)"]
        inside = np.isin(model.program.row_of_value, rows)
        inside &= np.isin(model.program.columns, model.blocks["w-"])
        assert model.program.values[inside].max() == pytest.approx(largest, abs=1e-9)


def test_number_of_binaries_is_theorem_two() -> None:
    rng = np.random.default_rng(0)
    counts = []
    for n in (20, 40):
        widths = (1, 2, 4, 8)
        rows = RankedRows.from_ranks(rng.permutation(n)[:, None], [n - 1], rng.integers(0, 2, n))
        cost = DiagramCost.of(alpha=0.1, total=n, widths=widths)
        problem = DiagramProblem(rows, widths, cost, columns=rng.random((n, 2)), tree=True)
        model = build(problem)
        counts.append({name: int(model.program.integer[block].sum()) for name, block in model.blocks.items()})
    depth = math.log2(15 + 1)
    assert [count["lambda"] for count in counts] == [20 * depth, 40 * depth]
    assert {name: k for name, k in counts[0].items() if name != "lambda"} == {
        name: k for name, k in counts[1].items() if name != "lambda"
    }


def test_a_full_tree_gives_each_node_its_own_children() -> None:
    slots = Slots.of(replace(SMALL, tree=True))
    assert slots.fixed_tree
    assert {tuple(arc) for arc in slots.low.tolist() if arc[1] < 3} == {(0, 1)}
    assert {tuple(arc) for arc in slots.high.tolist() if arc[1] < 3} == {(0, 2)}
    assert not Slots.of(SMALL).fixed_tree


def test_builder_refuses_a_variable_twice_in_a_row() -> None:
    out = Builder()
    x = out.variables("x", (2,))
    out.rows("(0)", [(x, 1), (x[:1], 1)], upper=1)
    with pytest.raises(AssertionError, match="contains a variable twice"):
        out.program()


@pytest.mark.parametrize(
    ("problem", "match"),
    [
        (replace(SMALL, max_splits=0), "without nodes"),
        (replace(SMALL, min_weight=5), "without nodes"),
        (problem_of([[0], [0]], [0, 1]), "without nodes"),
        (problem_of([[0], [500_000]], [0, 1]), "so close"),
    ],
)
def test_build_refuses(problem: DiagramProblem, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        build(problem)


# --- solutions and decoding


def test_flows_are_integral_wherever_sides_and_arcs_are() -> None:
    """Theorem 1: with lambda and y fixed, any objective over the flows has an integral optimum."""
    rng = random.Random(5)
    ranks = [[rng.randint(0, 4), rng.randint(0, 2)] for _ in range(8)]
    model = build(problem_of(ranks, [rng.randrange(2) for _ in range(8)], (1, 2, 2), tests_of=[4, 2]))
    program = model.program
    matrix = csr_array((program.values, program.columns, program.starts), shape=(program.n_rows, program.n_variables))

    def solution(lower: np.ndarray, upper: np.ndarray, integer: np.ndarray | None) -> np.ndarray:
        found = scipy_milp(
            np.array([rng.gauss(0, 1) for _ in range(program.n_variables)]),
            integrality=integer,
            bounds=Bounds(lower, upper),
            constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
        )
        assert found.status == 0
        return found.x

    for _ in range(3):
        point = solution(program.lower, program.upper, program.integer.astype(int))
        lower, upper = program.lower.copy(), program.upper.copy()
        for name in ("lambda", "y-", "y+", "d"):
            lower[model.blocks[name]] = upper[model.blocks[name]] = np.rint(point[model.blocks[name]])
        assert model.fractional_flows(solution(lower, upper, None)) == 0


def test_decode_refuses_fractional_flows() -> None:
    model = build(SMALL)
    point = optimum(model)
    point[model.blocks["z-"][0, 0]] = 0.5
    assert decode(model, point) is None


def test_decode_repairs_a_hyperplane_that_routes_otherwise() -> None:
    columns = np.array([[0.0, 0.2], [0.1, 0.9], [0.6, 0.1], [0.9, 0.8]])
    problem = replace(problem_of([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]), columns=columns)
    model = build(problem)
    point = optimum(model)
    point[model.blocks["a+"][0]], point[model.blocks["a-"][0]] = [0.0, 1.0], 0.0
    back = decode(model, point)
    assert back is not None
    assert back.visits(problem)[1].tolist() == [0, 0, 1, 1]


def test_decode_rejects_routes_that_no_hyperplane_has() -> None:
    columns = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = build(replace(problem_of(columns, [0, 0, 1, 1], (1,)), columns=columns))
    point = optimum(model)
    for name, sides in (("w-", [1, 0, 0, 1]), ("w+", [0, 1, 1, 0]), ("lambda", [0, 1, 1, 0])):
        point[model.blocks[name][:, 0]] = sides
    assert decode(model, point) is None


def test_small_coefficients_vanish_if_the_margin_stays() -> None:
    low, high = np.array([[0.0, 0.5], [0.2, 0.1]]), np.array([[0.6, 0.9], [0.8, 0.0]])
    plane = sparse(low, high, np.array([0.9, 1e-9]))
    assert plane is not None
    assert plane[0].tolist() == [0.9, 0.0]
    assert plane[1] == pytest.approx(0.36)
    needed = sparse(np.array([[0.5, 0.0]]), np.array([[0.5, 1.0]]), np.array([1.0, 1e-4]))
    assert needed is not None
    assert needed[0].tolist() == [1.0, 1e-4]
    assert sparse(high, low, np.array([0.9, 0.0])) is None


def test_widest_margin() -> None:
    norms: tuple[Norm, ...] = ("box", "l1")
    for norm in norms:
        plane = _widest(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]), norm)
        assert plane is not None
        assert plane[0] == pytest.approx([1.0, 0.0])
        assert plane[1] == pytest.approx(0.5)
        assert _widest(np.array([[0.0], [1.0]]), np.array([[0.5]]), norm) is None


# --- optima


@pytest.mark.parametrize("seed", range(40))
def test_every_form_has_the_optimum_of_enumeration(seed: int) -> None:
    problem = random_problem(seed)
    best = naive.cheapest(problem)[0]
    if problem.min_weight > problem.rows.total:
        return
    leaves = min(
        problem.cost.of_diagram(int(problem.rows.weights[problem.rows.codes != code].sum()), 0)
        for code in range(problem.rows.n_classes)
    )
    for form in FORMS:
        model = build(problem, **form)
        point = optimum(model)
        diagram = decode(model, point)
        assert diagram is not None
        counted = count(problem, diagram)
        assert counted.broken == ""
        assert problem.cost.share(counted.cost) == pytest.approx(model.program.objective @ point, abs=1e-6)
        assert min(counted.cost, leaves) == best


def test_a_node_may_send_all_rows_one_way_to_meet_another_path() -> None:
    """Four nodes, one of them shared by paths of different length: without an idle turn there is no such diagram."""
    ranks = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    codes = [b if a == 0 and c == 0 else c for a, b, c in ranks]
    problem = problem_of(ranks, codes, (1, 2, 1), alpha=0.01)
    best = naive.cheapest(problem)[0]
    for form in FORMS:
        model = build(problem, **form)
        point = optimum(model)
        diagram = decode(model, point)
        assert diagram is not None
        assert count(problem, diagram).cost == best
        assert model.program.objective @ point == pytest.approx(problem.cost.share(best))


# --- the part of the skeleton that is in play


def test_slots_that_no_cheaper_diagram_can_use_are_dropped() -> None:
    problem = problem_of([[k] for k in range(8)], [0, 1] * 4, (1, 2, 4, 8), alpha=1.0)
    price = problem.cost.node_price

    def widths(nodes: int) -> tuple[int, ...]:
        return shrunk(problem, (nodes - 1) * price + 1).widths

    assert widths(1) == (1,)
    assert widths(2) == (1, 1)
    assert widths(3) == (1, 2, 1)
    assert widths(5) == (1, 2, 2, 2)
    assert widths(6) == (1, 2, 3, 2)
    assert widths(15) == (1, 2, 4, 8)
    assert shrunk(problem, 2 * price + 1).max_splits == 3
    assert shrunk(replace(problem, min_weight=3), 2**62).widths == (1, 2, 2, 2)
    assert shrunk(problem, 2**62).widths == problem.widths
    assert shrunk(problem, 3 * price).cost is problem.cost


@pytest.mark.parametrize("seed", range(12))
def test_dropping_slots_loses_no_cheaper_diagram(seed: int) -> None:
    problem = random_problem(100 + seed)
    best = naive.cheapest(problem)[0]
    assert naive.cheapest(shrunk(problem, best + 1))[0] == best


# --- costs


def test_possible_costs_are_the_costs_that_diagrams_can_have() -> None:
    costs = PossibleCosts(step=10, node_price=4, most_nodes=3, scale=100)
    possible = sorted({10 * wrong + 4 * k for wrong in range(20) for k in range(3)})
    for cost in range(100):
        assert costs.least_from(cost) == min(c for c in possible if c >= cost)
        assert costs.most_below(cost) == max((c for c in possible if c < cost), default=-1)
    assert costs.proved(0.14) == 14
    assert costs.proved(0.1400001) == 14  # within the tolerance of the solver
    assert costs.proved(0.141) == 18
    assert costs.proved(-1e20) == costs.proved(0.0) == 0
    assert costs.cutoff(14) == 0.12
    assert costs.below(0.1400000001) == costs.below(0.1399999999) == 0.12
    with pytest.raises(ValueError, match="infinite"):
        costs.proved(math.inf)


# --- the engine

SOLVERS = ["scipy", pytest.param("scip", marks=pytest.mark.needs("pyscipopt"))]


def solved(problem: DiagramProblem, solver: str) -> DiagramRun:
    run = DiagramRun(problem, NO_LIMITS)
    assert improve(run, solver=solver, seconds=60, options=SMALLER) is None
    assert run.counters[CLAIMS] == run.upper
    return run


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_find_the_optimum_and_prove_nothing(solver: str) -> None:
    for seed in (2, 7):
        problem = random_problem(seed)
        run = solved(problem, solver)
        assert run.upper == naive.cheapest(problem)[0]
    result = run.result("unconfirmed")
    assert isinstance(result, Result)
    assert (result.status, result.lower_bound) == ("feasible", 0)
    assert result.stats.counters[CLAIMS] == run.upper > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_find_the_hyperplane_that_no_test_is(solver: str) -> None:
    ranks = [[a, b] for a in range(3) for b in range(3)]
    codes = [int(a + b > 2) for a, b in ranks]
    problem = problem_of(ranks, codes, (1, 1), alpha=0.5, oblique=True)
    run = solved(problem, solver)
    assert run.upper == 0
    assert run.best is not None
    assert run.best.n_splits == 1


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "options",
    [AS_PRINTED, SMALLER, ODDOptions(centred=True, steps=2), ODDOptions(shrink=True, steps=1)],
)
def test_no_option_changes_what_is_claimed(options: ODDOptions, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def here(function, *arguments, seconds, on_message) -> WorkerOutcome:
        return WorkerOutcome(function(on_message, *arguments), None, None, 0.0)

    monkeypatch.setattr("proofwood.solvers.worker.run", here)
    problem = random_problem(200 + seed)
    run = DiagramRun(problem, NO_LIMITS)
    assert improve(run, solver="scipy", seconds=None, options=options) is None
    assert run.counters[CLAIMS] == run.upper
    assert run.upper == naive.cheapest(problem)[0]


def test_what_is_claimed_of_few_nodes_holds_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time ends after the programs for one and two nodes: a third node costs its price at least."""
    programs = []

    def here(function, *arguments, seconds, on_message) -> WorkerOutcome:
        programs.append(arguments[0])
        if len(programs) > 2:
            return WorkerOutcome(None, None, "time_limit", 0.0)
        return WorkerOutcome(function(on_message, *arguments), None, None, 0.0)

    monkeypatch.setattr("proofwood.solvers.worker.run", here)
    problem = problem_of([[k % 6, k // 6] for k in range(12)], [0, 1, 1, 0] * 3, (1, 2, 4), alpha=0.05)
    run = DiagramRun(problem, NO_LIMITS)
    assert improve(run, solver="scipy", seconds=None, options=SMALLER) == "time_limit"
    assert len(programs) == 4  # three nodes, and then all there are, find no time
    assert problem.cost.of_diagram(0, 3) <= run.counters[CLAIMS] < run.upper
    assert run.lower == 0


def test_iris_with_hyperplanes(load_data: LoadData) -> None:
    X, y = load_data("uci/iris")
    order = list(range(len(y)))
    random.Random(0).shuffle(order)
    chosen = order[: round(len(y) / 2)]
    scaled = ((X - X.min(axis=0)) / np.ptp(X, axis=0))[chosen]
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in scaled.T], axis=1)
    problem = problem_of(ranks, np.unique(y, return_inverse=True)[1][chosen], (1, 2, 4, 8), alpha=1)
    problem = replace(problem, columns=scaled)
    run = DiagramRun(problem, NO_LIMITS)
    # petal width, then petal length
    run.offer(Diagram((0, 1), (~0, ~1), (1, ~2), normals=np.eye(4)[[3, 2]], offsets=np.array([0.25, 0.65])))
    assert improve(run, solver="scipy", seconds=120) is None
    assert round(problem.cost.share(run.upper), 4) == 0.0848
    assert run.counters[CLAIMS] == run.upper


def test_only_leaves_need_no_solver() -> None:
    problem = replace(SMALL, max_splits=0)
    run = DiagramRun(problem, NO_LIMITS)
    assert improve(run, solver="scipy", seconds=0) is None
    assert run.done
    assert run.best is not None
    assert run.best.n_splits == 0


def test_time_limit() -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(rng.integers(0, 50, (120, 5)), rng.integers(0, 2, 120), (1, 2, 4), alpha=0.01, oblique=True)
    run = DiagramRun(problem, Limits(seconds=2.0))
    assert improve(run, solver="scipy", seconds=None) == "time_limit"
    assert run.clock.seconds < 5
    assert run.lower < run.upper
    assert run.result("time_limit").status == "feasible"
    assert improve(run, solver="scipy", seconds=10) == "time_limit"


def test_a_missing_package_names_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "proofwood\[scip\]"'):
        improve(DiagramRun(SMALL, NO_LIMITS), solver="scip", seconds=1)


def test_an_unknown_solver_is_refused() -> None:
    with pytest.raises(ValueError, match="variant='cplex': expected one of 'scipy', 'scip'"):
        as_printed(SMALL, variant="cplex")
