"""What all engines of layered diagrams rely on: prices, rates, recounting, and the table of a diagram."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, check_skeleton, count, without_unreached
from proofwood.model.evaluate import predict
from proofwood.problem.diagram import MOST_NODES, DiagramCost, DiagramProblem, Penalty, Rate
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Status
from tests import naive_diagrams as naive
from tests.diagram_problems import ALPHAS, diagram_problems, random_diagram
from tests.strategies import examples

SEEDS = st.integers(0, 2**32 - 1)


def walked(problem: DiagramProblem, diagram: Diagram) -> tuple[list[list[int]], list[int]]:
    """Row by row: the nodes it visits, and the class that it ends in."""
    paths, ends = [], []
    tests = [(column, cut) for column, cuts in enumerate(problem.rows.tests_of.tolist()) for cut in range(cuts)]
    for row, ranks in enumerate(problem.rows.ranks.tolist()):
        path, at = [], 0 if diagram.layer else ~diagram.constant
        while at >= 0:
            path.append(at)
            if diagram.normals is None:
                column, cut = tests[diagram.test[at]]
                low = ranks[column] <= cut
            else:
                assert problem.columns is not None
                assert diagram.offsets is not None
                terms = zip(problem.columns[row].tolist(), diagram.normals[at].tolist(), strict=True)
                total = 0.0
                for value, coefficient in terms:
                    total += value * coefficient
                low = total <= diagram.offsets[at]
            at = diagram.low[at] if low else diagram.high[at]
        paths.append(path)
        ends.append(~at)
    return paths, ends


@given(problem=diagram_problems(max_rows=12, max_tests=6), seed=SEEDS, oblique=st.booleans())
def test_diagrams_are_counted_as_by_hand(problem: DiagramProblem, seed: int, oblique: bool) -> None:
    rng = np.random.default_rng(seed)
    if oblique:
        problem = replace(problem, columns=np.round(rng.random((problem.rows.n_rows, 3)), 1))
    diagram = random_diagram(rng, problem)
    paths, ends = walked(problem, diagram)
    seen, predicted = diagram.visits(problem)
    assert predicted.tolist() == ends
    assert [np.flatnonzero(row).tolist() for row in seen] == paths

    counted = count(problem, diagram)
    weights, codes = problem.rows.weights.tolist(), problem.rows.codes.tolist()
    wrong = sum(w for w, end, code in zip(weights, ends, codes, strict=True) if end != code)
    assert (counted.errors, counted.n_splits) == (wrong, len(diagram.layer))
    lacks = [naive.lack(rate, ends) for penalty in problem.penalties for rate in penalty.rates]
    assert counted.cost == problem.cost.of_diagram(wrong, len(diagram.layer)) + naive.penalty(problem, lacks)
    through = [
        sum(w for w, path in zip(weights, paths, strict=True) if node in path) for node in range(len(diagram.layer))
    ]
    broken = len(through) > problem.max_splits or any(weight < problem.min_weight for weight in through)
    assert (counted.broken != "") == (broken or not naive.fair(problem, ends))
    if not oblique:
        assert naive.price(problem, diagram) == (None if counted.broken else counted.cost)

    table = diagram.table(problem)
    read = predict(table, problem.rows.bits() if problem.columns is None else problem.columns)
    assert read.tolist() == ends
    lone = diagram.n_splits == 1 and diagram.low == diagram.high
    assert table.n_splits == (0 if lone else diagram.n_splits)
    assert table.rows[0] == problem.rows.n_rows
    if not lone and diagram.n_splits:
        assert table.rows[: diagram.n_splits].tolist() == seen.sum(axis=0).tolist()


@given(problem=diagram_problems(max_rows=12, max_tests=6), seed=SEEDS, oblique=st.booleans())
def test_dropping_unreached_nodes_changes_no_prediction(problem: DiagramProblem, seed: int, oblique: bool) -> None:
    rng = np.random.default_rng(seed)
    if oblique:
        problem = replace(problem, columns=np.round(rng.random((problem.rows.n_rows, 3)), 1))
    diagram = random_diagram(rng, problem)
    short = without_unreached(diagram)
    assert (short.n_splits, without_unreached(short).low) == (diagram.n_splits, short.low)  # there were none
    assert short.visits(problem)[1].tolist() == diagram.visits(problem)[1].tolist()
    assert sorted(short.visits(problem)[0].sum(axis=0)) == sorted(diagram.visits(problem)[0].sum(axis=0))
    cut = [(~0 if target > 0 and rng.random() < 0.4 else target) for target in diagram.low]
    loose = replace(diagram, low=tuple(cut))
    short = without_unreached(loose)
    check_skeleton(replace(problem, tree=False), short)
    assert short.visits(problem)[1].tolist() == loose.visits(problem)[1].tolist()
    assert count(problem, short).errors == int(
        problem.rows.weights[loose.visits(problem)[1] != problem.rows.codes].sum()
    )
    named = [target for node in range(short.n_splits) for target in (short.low[node], short.high[node]) if target >= 0]
    assert list(dict.fromkeys(named)) == list(range(1, short.n_splits))


@given(
    alpha=st.one_of(st.sampled_from(ALPHAS), st.integers(0, 10**6).map(lambda k: k / 10**6)),
    total=st.integers(1, 10**6),
    widths=st.sampled_from([(1,), (1, 2), (1, 2, 4, 8), (1, 2, 3, 3, 3, 3, 3)]),
    wrong=st.integers(0, 10**6),
    n_splits=st.integers(0, 15),
    below=st.integers(0, 10**7),
)
def test_integer_prices_are_equation_18(
    alpha: float, total: int, widths: tuple[int, ...], wrong: int, n_splits: int, below: int
) -> None:
    cost = DiagramCost.of(alpha=alpha, total=total, widths=widths)
    wrong, n_splits = min(wrong, total), min(n_splits, sum(widths))
    beyond_root = Fraction(max(0, n_splits - 1), max(1, sum(widths) - 1))
    share = Fraction(wrong, total) + Fraction(repr(alpha)) * beyond_root
    integer = cost.of_diagram(wrong, n_splits)
    assert Fraction(integer, cost.error_price * total) == share
    assert cost.share(integer) == float(share)
    assert math.gcd(cost.error_price, cost.node_price) == 1
    most = cost.most_splits(below, wrong)
    assert (most == 0) == (cost.of_diagram(wrong, 0) >= below)
    if most:
        assert cost.of_diagram(wrong, most) < below
        assert most >= MOST_NODES or cost.of_diagram(wrong, most + 1) >= below


@given(seed=SEEDS, n_rows=st.integers(2, 12), ratio=st.fractions(0, 1, max_denominator=20), heavy=st.booleans())
def test_rates_are_shares_of_weight(seed: int, n_rows: int, ratio: Fraction, heavy: bool) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.random(n_rows) < 0.5, rng.random(n_rows) < 0.5  # they may share rows, and leave some out
    left[0] = right[1] = True
    weights = rng.integers(1, 10**9 if heavy else 4, n_rows)
    predicted = rng.integers(0, 3, n_rows)
    rate = Rate(left, right, weights, 1, ratio)

    def share(side: np.ndarray) -> Fraction:
        return Fraction(int(weights[side & (predicted == 1)].sum()), int(weights[side].sum()))

    chosen = zip(rate.coefficients, predicted.tolist(), strict=True)
    slack = sum(c for c, code in chosen if code == 1)
    assert rate.slack(predicted) == slack
    difference = share(left) - ratio * share(right)
    assert (slack > 0, slack < 0) == (difference > 0, difference < 0)
    attained = rate.attained(predicted)
    assert attained == pytest.approx(float(share(left) / share(right))) if share(right) else math.isinf(attained)


@given(
    seed=SEEDS,
    n_rows=st.integers(3, 14),
    ratio=st.fractions(0, 1, max_denominator=20),
    weighted=st.booleans(),
    price=st.integers(1, 9),
)
def test_a_penalty_is_the_least_weight_that_lacks(
    seed: int, n_rows: int, ratio: Fraction, weighted: bool, price: int
) -> None:
    rng = np.random.default_rng(seed)
    group = np.concatenate([[0, 1, 2], rng.integers(0, 4, n_rows - 3)])
    weights = rng.integers(1, 9 if weighted else 2, n_rows)
    predicted = rng.integers(0, 3, n_rows)
    one = Penalty(tuple(Rate(group == 0, group == other, weights, 1, ratio) for other in (1, 2)), price)

    def weight(of: int, code: int | None = None) -> int:
        return int(weights[(group == of) & (True if code is None else predicted == code)].sum())

    def met(more: int) -> bool:
        mine = Fraction(weight(0, 1) + more, weight(0))
        return all(mine >= ratio * Fraction(weight(other, 1), weight(other)) for other in (1, 2))

    assert one.short(predicted) == next(more for more in range(weight(0) + 1) if met(more))
    assert one.most == weight(0)
    assert (one.short(predicted) == 0) == all(rate.slack(predicted) >= 0 for rate in one.rates)


def _taken(problem: DiagramProblem, order: np.ndarray, weights: np.ndarray | None = None) -> DiagramProblem:
    """The rows of these numbers, with other weights if given."""
    rows = problem.rows
    chosen = replace(
        rows,
        ranks=np.ascontiguousarray(rows.ranks[order]),
        codes=rows.codes[order],
        weights=rows.weights[order] if weights is None else weights,
    )

    def taken(rates: tuple[Rate, ...]) -> tuple[Rate, ...]:
        return tuple(
            replace(
                rate,
                left=rate.left[order],
                right=rate.right[order],
                weights=rate.weights[order] if weights is None else weights,
            )
            for rate in rates
        )

    penalties = tuple(replace(penalty, rates=taken(penalty.rates)) for penalty in problem.penalties)
    return replace(problem, rows=chosen, rates=taken(problem.rates), penalties=penalties)


@examples(0.5)
@given(problem=diagram_problems(), seed=SEEDS)
def test_the_order_of_rows_and_a_weight_for_a_duplicate_change_no_optimum(problem: DiagramProblem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = naive.cheapest(problem)[0]
    assert naive.cheapest(_taken(problem, rng.permutation(problem.rows.n_rows)))[0] == cost
    if problem.rows.weights.max() < 4 and all(
        rate.weights is problem.rows.weights for rate in naive.all_rates(problem)
    ):
        each = np.repeat(np.arange(problem.rows.n_rows), problem.rows.weights)
        assert naive.cheapest(_taken(problem, each, np.ones(each.size, dtype=np.int64)))[0] == cost


@examples(0.5)
@given(problem=diagram_problems())
def test_constraints_only_cost(problem: DiagramProblem) -> None:
    free = replace(problem, tree=False, max_splits=MOST_NODES, min_weight=0, rates=(), penalties=())
    least = naive.cheapest(free)[0]
    cost = naive.cheapest(problem)[0]
    assert least is not None
    assert cost is not None  # a lone leaf meets every rate
    assert problem.cost.error_price * problem.rows.unavoidable <= least <= cost


@given(problem=diagram_problems(), seed=SEEDS)
def test_a_run_keeps_the_best_of_what_it_is_offered(problem: DiagramProblem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    events = []
    run = DiagramRun(problem, Limits(), progress=events.append)
    costs: list[int] = []
    least = naive.cheapest(problem)[0]
    assert least is not None
    for _ in range(8):
        diagram = random_diagram(rng, problem)
        cost = naive.price(problem, diagram)
        better = cost is not None and cost < min(costs, default=cost + 1)
        assert run.offer(diagram, by="hand") == better
        if cost is not None:
            costs.append(cost)
        run.prove(int(rng.integers(0, least + 1)), by="hand")
        run.prove(run.lower - 1, by="nothing")
        assert run.upper == min(costs, default=run.upper)
    result = run.result("time_limit")
    if costs:
        run.prove(run.upper + 5, by="hand")
        assert run.lower == run.upper
        assert run.done
        final = run.result("time_limit")
        assert (final.status, final.stats.stopped_by) == (Status.OPTIMAL, None)
        assert problem.rows.errors(final.model) == count(problem, run.best).errors
        assert [e.objective for e in events] == sorted((e.objective for e in events), reverse=True)
        assert [e.lower_bound for e in events] == sorted(e.lower_bound for e in events)
        with pytest.raises(AssertionError, match="was proved infeasible"):
            run.prove_infeasible(by="hand")
    else:
        assert result.status is Status.UNKNOWN


def test_contradictions_are_seen() -> None:
    problem = naive_problem()
    run = DiagramRun(problem, Limits())
    run.prove(1, by="hand")
    with pytest.raises(AssertionError, match="below the proved lower bound"):
        run.offer(Diagram((0,), (~0,), (~1,), (0,)))
    run = DiagramRun(problem, Limits())
    run.prove_infeasible(by="hand")
    with pytest.raises(AssertionError, match="infeasible"):
        run.offer(Diagram.leaf(0))
    assert run.result().status is Status.INFEASIBLE


def naive_problem() -> DiagramProblem:
    rows = RankedRows.from_bits([[0, 0], [1, 1]], [0, 1])
    return DiagramProblem(rows, (1, 2), DiagramCost.of(alpha=0.1, total=2, widths=(1, 2)))


@pytest.mark.parametrize(
    "diagram",
    [
        Diagram((0, 1), (1, ~0), (~1, ~1), (0,)),  # a test is missing
        Diagram((0,), (~0,), (~1,), (2,)),  # there are two
        Diagram((0,), (~0,), (~1,), (-1,)),
        Diagram((0,), (~0,), (~2,), (0,)),  # a third class
        Diagram.leaf(2),
        Diagram.leaf(-1),
        Diagram((0, 1), (~0, ~0), (~1, ~1), (0, 0)),  # no arc to node 1
        Diagram((0, 2), (1, ~0), (~1, ~1), (0, 0)),
        Diagram((0, 0), (1, ~0), (~1, ~1), (0, 0)),
        Diagram((1,), (~0,), (~1,), (0,)),
        Diagram((0, 1, 1, 1), (1, 2, ~0, ~0), (3, ~1, ~1, ~1), (0, 0, 0, 0)),
        Diagram((0, 1), (1, ~0), (~1,), (0, 0)),  # an arc is missing
        Diagram((0,), (~0,), (~1,), (), np.ones((1, 2)), np.zeros(1)),  # oblique, in a univariate problem
    ],
)
def test_no_diagram_of_the_skeleton(diagram: Diagram) -> None:
    with pytest.raises(AssertionError):
        count(naive_problem(), diagram)
