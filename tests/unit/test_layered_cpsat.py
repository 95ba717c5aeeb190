"""Layered diagrams by CP-SAT: what is told and read off without the solver, and the solver against enumeration."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from proofwood.engines.skeleton.cpsat import solve as cpsat
from proofwood.engines.skeleton.cpsat.neighbours import improve_in_child, lifted, opened
from proofwood.engines.skeleton.cpsat.rows import Reduced, least_errors
from proofwood.engines.skeleton.run import LayeredRun
from proofwood.engines.skeleton.shape import Diagram, check_skeleton, count, without_unreached
from proofwood.problem.layered import LayeredCost, LayeredProblem, Penalty, Rate
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent
from proofwood.solvers import worker

SKELETONS = [(1,), (1, 1), (1, 2), (1, 1, 2), (1, 2, 1), (1, 2, 2)]


def random_problem(seed: int) -> LayeredProblem:
    """Three to eight rows over columns of up to four tests in all, with constraints or penalties in two of three."""
    chance = random.Random(seed)
    widths = chance.choice(SKELETONS)
    n, n_columns = chance.randint(3, 8 if sum(widths) < 4 else 6), chance.randint(1, 3)
    n_classes = chance.choice([2, 2, 3])
    tests_of = [chance.randint(1, 4 - n_columns) for _ in range(n_columns)]
    ranks = [[chance.randint(0, most) for most in tests_of] for _ in range(n)]
    heaviest = chance.choice([1, 1, 4])
    weights = [chance.randint(1, heaviest) for _ in range(n)]
    codes = [chance.randrange(n_classes) for _ in range(n)]
    rows = RankedRows.from_ranks(ranks, tests_of, codes, n_classes=n_classes, sample_weight=weights)
    cost = LayeredCost.of(alpha=chance.choice([0.0, 0.1, 0.3]), total=rows.total, widths=widths)
    kind = seed % 3
    rates: list[Rate] = []
    penalties: tuple[Penalty, ...] = ()
    if kind == 1:
        left = np.array([row % 2 == 0 for row in range(n)])
        rates = [
            Rate(left, ~left, positive=1, ratio=Fraction(4, 5)),
            Rate(~left, left, positive=1, ratio=Fraction(4, 5)),
        ]
        if seed % 2:
            cost = cost.finer([Fraction(1, 3)])
            penalties, rates = tuple(Penalty((rate,), (1 + seed % 4) * cost.error_price // 3) for rate in rates), []
    return LayeredProblem(
        rows,
        widths,
        cost,
        tree=chance.random() < 0.3,
        max_splits=chance.randint(0, 3) if kind == 2 else 4096,
        min_weight=chance.randint(0, 4) if kind == 2 else 0,
        rates=tuple(rates),
        penalties=penalties,
    )


def random_diagram(problem: LayeredProblem, seed: int) -> Diagram:
    """Any diagram of the skeleton, whatever it costs or breaks."""
    chance = random.Random(seed)
    ends = [~code for code in range(problem.rows.n_classes)]
    while True:
        layer = tuple(number for number, width in enumerate(problem.widths) for _ in range(width))
        below = [[node for node, other in enumerate(layer) if other == mine + 1] for mine in layer]
        low, high = (tuple(chance.choice(below[node] * 2 + ends) for node in range(len(layer))) for _ in range(2))
        test = tuple(chance.randrange(problem.rows.n_tests) for _ in layer)
        diagram = without_unreached(Diagram(layer, low, high, test))
        try:
            check_skeleton(problem, diagram)
        except AssertionError:
            continue
        return diagram


def fewest_errors(problem: LayeredProblem) -> tuple[dict[int, int], int]:
    """Least errors by number of nodes, of feasible diagrams, and least cost, by trying every split and pair of arcs."""
    rows, every = problem.rows, frozenset(range(problem.rows.n_rows))
    bits = rows.bits()
    tests = {frozenset(np.flatnonzero(bits[:, test]).tolist()) for test in range(rows.n_tests)}
    predicted = np.zeros(rows.n_rows, dtype=np.int64)
    found: dict[int, int] = {}
    costs: list[int] = []

    def weight(members: frozenset[int]) -> int:
        return sum(int(rows.weights[row]) for row in members)

    def finish(n_nodes: int) -> None:
        if n_nodes <= problem.max_splits and problem.meets_rates(predicted):
            wrong = int(rows.weights[predicted != rows.codes].sum())
            found[n_nodes] = min(wrong, found.get(n_nodes, wrong))
            costs.append(problem.cost_of(predicted, n_nodes))

    def layer(number: int, nodes: list[frozenset[int]], n_nodes: int) -> None:
        """``nodes``: rows at each node of the layer; all other rows have a class."""
        if not nodes:
            finish(n_nodes)
        elif min(map(weight, nodes)) >= problem.min_weight and n_nodes + len(nodes) <= problem.max_splits:
            width = problem.widths[number + 1] if number + 1 < len(problem.widths) else 0
            fill(number, nodes, [], width, n_nodes + len(nodes))

    def fill(number: int, left: list[frozenset[int]], below: list[frozenset[int]], width: int, n_nodes: int) -> None:
        if not left:
            layer(number + 1, below, n_nodes)
            return
        for low, high in {(left[0] - test, left[0] & test) for test in tests}:
            for between in arcs(low, below, width):
                for after in arcs(high, between, width):
                    fill(number, left[1:], after, width, n_nodes)

    def arcs(members: frozenset[int], below: list[frozenset[int]], width: int) -> Iterator[list[frozenset[int]]]:
        for code in range(rows.n_classes if members else 1):
            predicted[list(members)] = code
            yield below
        if members and len(below) < width:
            yield [*below, members]
        if members and not problem.tree:
            for place in range(len(below)):
                yield [*below[:place], below[place] | members, *below[place + 1 :]]

    for code in range(rows.n_classes):
        predicted[:] = code
        finish(0)
    layer(0, [every], 0)
    return found, min(costs)


# ---- what the child is told and what it tells, without the solver


@pytest.mark.parametrize("seed", range(60))
def test_a_diagram_told_in_slots_and_read_back_costs_no_more(seed: int) -> None:
    problem = random_problem(3 * seed)
    reduced = Reduced.of(problem)
    if reduced.trivial:
        return
    diagram = random_diagram(problem, seed)
    splits = reduced.splits(diagram)
    before, after = count(problem, diagram), count(problem, reduced.diagram(splits))
    assert after.errors == before.errors
    assert after.n_splits <= before.n_splits
    _, ends = reduced.visits(splits)
    index, _ = problem.rows.groups
    np.testing.assert_array_equal(ends[index], diagram.visits(problem)[1])


def test_rows_of_equal_ranks_are_one_row_with_a_weight_per_class() -> None:
    rows = RankedRows.from_ranks([[0, 1], [1, 0], [0, 1]], [2, 1], [0, 1, 1], sample_weight=[2, 3, 5])
    reduced = Reduced.of(problem_of(rows))
    assert reduced.weights.tolist() == [[2, 5], [0, 3]]
    assert reduced.unavoidable == 2
    assert reduced.excess.tolist() == [[3, 0], [3, 0]]


def test_columns_whose_tests_another_column_has_are_left_out() -> None:
    # column 1 is column 0 reversed, column 2 one of its tests, column 3 is constant, column 4 is new
    ranks = [[0, 2, 0, 1, 0], [1, 1, 0, 1, 1], [2, 0, 1, 1, 0]]
    rows = RankedRows.from_ranks(ranks, [2, 2, 1, 1, 1], [0, 1, 0])
    assert Reduced.of(problem_of(rows)).columns.tolist() == [0, 4]


def test_slots_that_few_nodes_cannot_fill_are_left_out() -> None:
    reduced = Reduced.of(problem_of(RankedRows.from_bits(np.eye(8, dtype=int), [0, 1] * 4), widths=(1, 2, 4, 8)))
    assert reduced.narrowed(99) is reduced
    assert reduced.narrowed(8).widths == (1, 2, 4, 4)  # 1 + 1 + 2 + 4 nodes are needed for four in the last layer
    assert reduced.narrowed(4).widths == (1, 2, 2, 1)
    assert reduced.narrowed(1).widths == (1,)


def test_bounds_on_errors_hold_for_fewer_nodes_too() -> None:
    assert least_errors([9, 5, 6], 4, 2) == [9, 6, 6, 2, 2]
    assert least_errors([], 2, 3) == [3, 3, 3]


def test_a_node_that_all_rows_pass_gets_two_equal_arcs_but_in_a_tree_the_test_of_its_parent() -> None:
    ranks = [[0, 0], [0, 1], [1, 0], [1, 1]]
    rows = RankedRows.from_ranks(ranks, [1, 1], [0, 1, 1, 0])
    for tree in (False, True):
        problem = problem_of(rows, widths=(1, 1, 1), tree=tree)
        reduced = Reduced.of(problem)
        splits = reduced.splits(Diagram((0, 1, 2), (~1, ~0, ~1), (1, 2, ~0), (0, 0, 1)))
        splits[1] = type(splits[1])(0, np.ones(4, dtype=np.bool_), ~0, 2)
        diagram = reduced.diagram(splits)
        assert count(problem, diagram).errors == 1
        assert (diagram.low[1], diagram.high[1]) == ((~0, 2) if tree else (2, 2))
        assert diagram.test[0] == diagram.test[1] == 0


@pytest.mark.parametrize("seed", range(60))
def test_what_stays_outside_a_neighbourhood_is_carried(seed: int) -> None:
    problem = random_problem(seed)
    reduced = Reduced.of(problem)
    if reduced.trivial:
        return
    splits = reduced.splits(random_diagram(problem, seed))
    free = frozenset(random.Random(seed).sample(sorted(splits), min(2, len(splits))))
    part, start, rows = opened(reduced, splits, free)
    seen, ends = reduced.visits(splits)
    seen_part, ends_part = part.visits(start)
    np.testing.assert_array_equal(ends[rows], ends_part)
    through = part.weights.sum(axis=1) @ seen_part + part.carried
    np.testing.assert_array_equal(through, reduced.weights.sum(axis=1) @ seen)
    for whole, rate in zip(reduced.rates, part.rates, strict=True):
        told = sum(c for c, code in zip(rate.coefficients, ends_part, strict=True) if code == rate.positive)
        given = sum(c for c, code in zip(whole.coefficients, ends, strict=True) if code == whole.positive)
        assert told + rate.carried == given
    for whole_penalty, penalty in zip(reduced.penalties, part.penalties, strict=True):
        assert penalty.short(ends_part) == whole_penalty.short(ends)
    before = count(problem, reduced.diagram(splits))
    after = count(problem, reduced.diagram(lifted(reduced, part, splits, start, free)))
    assert after.errors == before.errors
    assert after.n_splits <= before.n_splits


def problem_of(rows: RankedRows, widths: tuple[int, ...] = (1, 2), alpha: float = 0.1, **more: Any) -> LayeredProblem:
    return LayeredProblem(rows, widths, LayeredCost.of(alpha=alpha, total=rows.total, widths=widths), **more)


# ---- with the solver: many problems in one child, since each start of one costs most of a second

needs_ortools = pytest.mark.needs("ortools")

Told = list[tuple[str, Any]]


def solve_all(send: Callable[[Any], None], tasks: list[cpsat.Task]) -> list[tuple[int | None, Told]]:
    """For each task, in one process: the value and the messages."""
    answers: list[tuple[int | None, Told]] = []
    for task in tasks:
        told: Told = []
        answers.append((cpsat.solve_in_child(told.append, task), told))
    return answers


def hold_hints(send: Callable[[Any], None], cases: list[tuple[Reduced, Diagram, int]]) -> list[tuple[bool, bool, int]]:
    """For each start: whether all variables are hinted, whether they can be held so, and at what cost."""
    from ortools.sat.python import cp_model

    from proofwood.engines.skeleton.cpsat.model import DiagramModel

    told = []
    for reduced, diagram, upper in cases:
        model = DiagramModel(reduced, reduced.splits(diagram))
        model.add_fewest(least_errors([], reduced.most_nodes, 0))
        unit = model.minimize(lower=0)
        for variable, value in model.hints:
            model.model.add(variable == int(value))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(model.model)
        complete = len(model.hints) == len(model.model.proto.variables)
        cost = unit * round(solver.objective_value) if status == cp_model.OPTIMAL else upper + 1
        told.append((complete, status == cp_model.OPTIMAL, cost))
    return told


@needs_ortools
def test_the_hint_is_complete_and_feasible() -> None:
    cases, uppers = [], []
    for seed in range(60):
        problem = random_problem(seed)
        diagram = random_diagram(problem, seed)
        counted, reduced = count(problem, diagram), Reduced.of(problem)
        if reduced.trivial or counted.broken:
            continue
        upper = counted.cost - reduced.error_price * reduced.unavoidable
        cases.append((reduced, diagram, upper))
        uppers.append(upper)
    assert len(cases) > 30
    for (complete, feasible, cost), upper in zip(worker.run(hold_hints, cases).value, uppers, strict=True):
        assert complete
        assert feasible
        assert cost <= upper  # nodes that no arc names any more, once equal arcs are told as a one-sided node


def agrees(seeds: range, *, helped: bool) -> None:
    """``helped``: with a start, bounds per number of nodes, and a bound that is met."""
    problems, tasks, expected = [], [], []
    for seed in seeds:
        problem = random_problem(seed)
        reduced = Reduced.of(problem)
        if reduced.trivial:
            continue
        base = reduced.error_price * reduced.unavoidable
        found, cost = fewest_errors(problem)
        least = cost - base
        best, bounds, lower = None, [0] * (reduced.most_nodes + 1), 0
        if helped:
            best = random_diagram(problem, seed)
            best = None if count(problem, best).broken else best
            known = [min(wrong for other, wrong in found.items() if other <= k) for k in range(reduced.most_nodes + 1)]
            bounds, lower = [bound - reduced.unavoidable for bound in known], least * (seed % 2)
        problems.append(problem)
        tasks.append(cpsat.Task(reduced, best, lower, bounds, 1, 0))
        expected.append(least)
    assert len(tasks) > len(seeds) / 2
    answers = worker.run(solve_all, tasks).value
    for problem, task, least, (value, told) in zip(problems, tasks, expected, answers, strict=True):
        base = task.reduced.error_price * task.reduced.unavoidable
        assert value == least
        diagrams = [content for kind, content in told if kind == "diagram"]
        for diagram, cost in diagrams:
            assert not count(problem, diagram).broken
            assert count(problem, diagram).cost <= base + cost
        assert min(count(problem, diagram).cost for diagram, _ in diagrams) == base + least
        assert all(bound <= least for kind, bound in told if kind == "bound")


@needs_ortools
def test_agrees_with_enumeration() -> None:
    agrees(range(60), helped=False)


@needs_ortools
def test_agrees_with_enumeration_given_a_start_and_bounds() -> None:
    agrees(range(1000, 1045), helped=True)


@pytest.mark.slow
@needs_ortools
def test_agrees_with_enumeration_on_many() -> None:
    agrees(range(2000, 2600), helped=True)


def improve_all(send: Callable[[Any], None], starts: list[tuple[Reduced, Diagram]]) -> list[Told]:
    """For each start, in one process: the messages."""
    answers: list[Told] = []
    for reduced, diagram in starts:
        told: Told = []
        improve_in_child(told.append, reduced, diagram, 0)
        answers.append(told)
    return answers


@needs_ortools
def test_neighbourhoods_of_all_nodes_lead_to_the_best_diagram() -> None:
    problems, starts, firsts = [], [], []
    for seed in range(400):
        problem = random_problem(seed)
        reduced = Reduced.of(problem)
        diagram = random_diagram(problem, seed)
        if reduced.trivial or reduced.n_slots > 3 or count(problem, diagram).broken:
            continue
        if len(reduced.splits(diagram)) == min(problem.most_nodes, reduced.n_slots) and len(starts) < 25:
            problems.append(problem)
            starts.append((reduced, diagram))
            firsts.append(count(problem, diagram).cost)
    assert len(starts) == 25
    n_better = 0
    for problem, first, told in zip(problems, firsts, worker.run(improve_all, starts).value, strict=True):
        found = [count(problem, content[0]) for kind, content in told if kind == "diagram"]
        assert not any(counted.broken for counted in found)
        n_better += bool(found)
        assert min([first, *(counted.cost for counted in found)]) == fewest_errors(problem)[1]
    assert n_better > 8


# ---- whole runs


XOR = [[0, 0], [0, 1], [1, 0], [1, 1]] * 3


def start(problem: LayeredProblem, seconds: float | None = None) -> LayeredRun:
    return LayeredRun(problem, Limits(seconds))


@needs_ortools
def test_a_run_ends_proved() -> None:
    problem = problem_of(RankedRows.from_bits(XOR, [a ^ b for a, b in XOR]), alpha=0.01)
    run = start(problem)
    run.offer(Diagram.leaf(0))
    assert cpsat.solve(problem, run, fewest=[6, 6, 0]) is None
    assert run.done
    assert count(problem, run.best).errors == 0
    assert run.best.n_splits == 3
    assert run.engine == "cpsat"
    assert run.counters["cpsat_branches"] >= 0


@needs_ortools
def test_neighbourhoods_lead_from_a_leaf_to_a_diagram() -> None:
    problem = problem_of(RankedRows.from_bits(XOR, [a ^ b for a, b in XOR]), alpha=0.01)
    run = start(problem)
    assert cpsat.improve(problem, run, seconds=30.0) is None
    assert count(problem, run.best).errors == 0
    assert not run.done
    assert run.counters["neighbourhoods"] > 1


@needs_ortools
def test_what_no_diagram_meets_is_infeasible() -> None:
    rows = RankedRows.from_bits([[0], [1]], [0, 1])
    left = np.array([True, False])
    rates = tuple(Rate(left, ~left, positive=code, ratio=Fraction(2)) for code in (0, 1))  # twice as much of both
    run = start(problem := problem_of(rows, widths=(1,), rates=rates))
    assert cpsat.solve(problem, run) is None
    assert run.infeasible


@needs_ortools
def test_a_limit_leaves_a_start_and_a_bound() -> None:
    chance = np.random.default_rng(0)
    rows = RankedRows.from_bits(chance.integers(0, 2, (200, 12)), chance.integers(0, 2, 200))
    problem = problem_of(rows, widths=(1, 2, 4, 8), alpha=0.01)
    run = start(problem)
    run.offer(Diagram.leaf(0))
    assert cpsat.solve(problem, run, seconds=2.0) == "time_limit"
    assert 0 <= run.lower < run.upper
    assert run.clock.seconds < 10


@needs_ortools
@pytest.mark.parametrize("limits", [{"max_splits": 0}, {"min_weight": 99}])
def test_where_only_leaves_are_permitted_the_best_one_is_taken(limits: dict[str, int]) -> None:
    problem = problem_of(RankedRows.from_bits([[0], [1], [1]], [0, 1, 1]), widths=(1,), **limits)
    run = start(problem)
    assert cpsat.solve(problem, run) is None
    assert run.done
    assert run.best.constant == 1


@needs_ortools
@pytest.mark.parametrize("widths", [(1,), (1, 2)])
def test_one_class_needs_no_node(widths: tuple[int, ...]) -> None:
    problem = problem_of(RankedRows.from_bits([[0], [1]], [0, 0]), widths=widths)
    run = start(problem)
    assert cpsat.solve(problem, run) is None
    assert run.done
    assert run.upper == 0


def test_weights_beyond_64_bits_are_refused() -> None:
    rows = RankedRows.from_bits([[0], [1]], [0, 1], sample_weight=[2**45, 2**45 + 1])
    left = np.array([True, False])
    with pytest.raises(ValueError, match="64 bits"):
        problem_of(rows, rates=(Rate(left, ~left, positive=1, ratio=Fraction(4, 5)),))


@needs_ortools
def test_ctrl_c_leaves_what_was_found() -> None:
    chance = np.random.default_rng(0)
    rows = RankedRows.from_bits(chance.integers(0, 2, (60, 8)), chance.integers(0, 2, 60))

    def interrupt(event: ProgressEvent) -> None:
        if event.seconds > 0.5:
            raise KeyboardInterrupt

    problem = problem_of(rows, widths=(1, 2, 4, 8), alpha=0.01)
    run = LayeredRun(problem, Limits(60.0), interrupt)
    assert cpsat.solve(problem, run) == "interrupt"
    assert run.best is not None
    assert not run.done


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    problem = problem_of(RankedRows.from_bits([[0], [1]], [0, 1]))
    with pytest.raises(ImportError, match=r'pip install "proofwood\[cpsat\]"'):
        cpsat.solve(problem, start(problem))
