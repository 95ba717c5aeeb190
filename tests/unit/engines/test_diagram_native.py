"""Construction and local search of layered diagrams, against enumeration and against their recount, and at limits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofwood import DemographicParity, OptimalDiagramClassifier, OptimalityWarning
from proofwood.engines.diagram.heuristics import construct, improve
from proofwood.engines.diagram.kernel import error_prices, price
from proofwood.engines.diagram.oblique.heuristic import construct_oblique
from proofwood.engines.diagram.oblique.improve import improve_oblique
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, InterruptedSearchError, count
from proofwood.engines.diagram.solve import solve
from proofwood.engines.diagram.topologies import TopologyOptions, cheapest_over_sets
from proofwood.engines.trees.over_ranks import least_integer
from proofwood.papers.odd.solve import AS_PRINTED, _Stages
from proofwood.papers.odd.solve import solve as as_printed
from proofwood.problem.diagram import MOST_NODES, DiagramCost, DiagramProblem, Rate
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits
from tests import naive_diagrams as naive
from tests.conftest import LoadData
from tests.diagram_problems import problem_of
from tests.interrupts import interrupted


def random_problem(
    seed: int, *, n: int = 12, columns: int = 3, widths: tuple[int, ...] = (1, 2), **limits: object
) -> DiagramProblem:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 4))
    ranks = rng.integers(0, rng.integers(2, 5), (n, columns))
    alpha = float(rng.choice([0, 0.01, 0.1, 0.3, 1]))
    weights = rng.integers(1, 5, n) if rng.random() < 0.5 else None
    codes = rng.integers(0, classes, n)
    return problem_of(
        ranks,
        codes,
        tests_of=ranks.max(axis=0),
        widths=widths,
        alpha=alpha,
        weights=weights,
        n_classes=classes,
        **limits,
    )


def checked(problem: DiagramProblem, diagram: Diagram) -> int:
    counted = count(problem, diagram)
    assert not counted.broken
    return counted.cost


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "tree": st.just(True),
        "max_splits": st.integers(0, 5),
        "min_weight": st.integers(1, 8),
    },
)
WIDTHS = st.sampled_from([(1,), (1, 1), (1, 2, 2), (1, 2, 4), (1, 2, 3, 3), (1, 1, 2, 1, 2)])


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), widths=WIDTHS, limits=LIMITS)
def test_limits_are_kept_and_no_step_is_worse(seed: int, widths: tuple[int, ...], limits: dict[str, object]) -> None:
    problem = random_problem(seed, n=20, columns=3, widths=widths, **limits)
    built = construct(problem, random_state=seed, n_starts=3)
    found = improve(problem, built, random_state=seed, max_rounds=20)
    assert checked(problem, found) <= checked(problem, built)
    least = min(checked(problem, Diagram.leaf(code)) for code in range(problem.rows.n_classes))
    assert checked(problem, built) <= least


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), widths=WIDTHS, limits=LIMITS)
def test_equal_seeds_give_equal_diagrams(seed: int, widths: tuple[int, ...], limits: dict[str, object]) -> None:
    problem = random_problem(seed, n=20, columns=3, widths=widths, **limits)
    one, two = (construct(problem, random_state=seed, n_starts=4) for _ in range(2))
    parts = [(d.layer, d.low, d.high, d.test, d.constant) for d in (one, two)]
    assert parts[0] == parts[1]
    one, two = (improve(problem, one, random_state=seed, max_rounds=15) for _ in range(2))
    parts = [(d.layer, d.low, d.high, d.test, d.constant) for d in (one, two)]
    assert parts[0] == parts[1]


@pytest.mark.parametrize("limits", [{}, {"tree": True}, {"max_splits": 2}, {"min_weight": 4}])
def test_enumeration_of_two_layers_finds_nothing_cheaper(limits: dict[str, object]) -> None:
    missed = 0
    for seed in range(5):
        problem = random_problem(seed, n=9, columns=2, widths=(1, 2), **limits)
        start = construct(problem, random_state=seed, n_starts=2)
        cost = checked(problem, improve(problem, start, random_state=seed, max_rounds=60))
        least = naive.cheapest(problem)[0]
        assert cost >= least
        missed += cost > least
    assert missed == 0


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), limits=LIMITS)
def test_fairness_is_kept_if_it_can_be(seed: int, limits: dict[str, object]) -> None:
    plain = random_problem(seed, n=16, columns=3, widths=(1, 2, 2), **limits)
    member = np.arange(plain.rows.n_rows) % 2 == 0
    rates = tuple(Rate(a, ~a, plain.rows.weights, 0, Fraction(9, 10), "parity") for a in (member, ~member))
    problem = DiagramProblem(
        plain.rows, plain.widths, plain.cost, tree=plain.tree, max_splits=plain.max_splits,
        min_weight=plain.min_weight, rates=rates,
    )  # fmt: skip
    start = construct(problem, random_state=seed, n_starts=3)
    found = improve(problem, start, random_state=seed, max_rounds=30)
    # A diagram without nodes treats all alike.
    assert checked(problem, found) <= checked(problem, start)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), tree=st.booleans())
def test_other_prices_are_counted_as_given(seed: int, tree: bool) -> None:
    problem = random_problem(seed, n=20, columns=3, widths=(1, 2, 3), tree=tree)
    rng = np.random.default_rng(seed)
    costs = error_prices(problem) + rng.integers(-5, 6, (problem.rows.n_rows, problem.rows.n_classes))
    start = construct(problem, random_state=seed, n_starts=3, costs=costs)
    found = improve(problem, start, random_state=seed, max_rounds=30, costs=costs)
    leaves = [price(problem, Diagram.leaf(code), costs) for code in range(problem.rows.n_classes)]
    assert price(problem, found, costs) <= price(problem, start, costs) <= min(leaves)


def test_large_prices_are_exact() -> None:
    problem = random_problem(3, n=20, columns=3, widths=(1, 2, 4))
    costs = error_prices(problem) * 10**9 + 1
    found = improve(problem, construct(problem, random_state=0, n_starts=2, costs=costs), max_rounds=20, costs=costs)
    assert price(problem, found, costs) % 2 == price(problem, found, costs) & 1
    plain = improve(problem, construct(problem, random_state=0, n_starts=2), max_rounds=20)
    assert count(problem, plain).cost >= 0


def test_exclusive_or_needs_both_columns_at_once() -> None:
    bits = np.array(list(product([0, 1], repeat=4)))
    problem = problem_of(bits, bits[:, 1] ^ bits[:, 3], widths=(1, 2), alpha=0.1)
    found = improve(problem, construct(problem, random_state=1, n_starts=5), random_state=1, max_rounds=10)
    assert count(problem, found).errors == 0
    assert found.n_splits == 3


def test_parity_of_six_bits_in_a_narrow_skeleton() -> None:
    bits = np.array(list(product([0, 1], repeat=6)))
    problem = problem_of(bits, bits.sum(axis=1) % 2, widths=(1, 2, 2, 2, 2, 2), alpha=0.01)
    found = improve(problem, construct(problem, random_state=0, n_starts=5), random_state=0, max_rounds=3000)
    assert count(problem, found).errors == 0
    assert found.n_splits == 11


def test_one_class_is_a_leaf() -> None:
    problem = problem_of([[0], [1], [2]], [1, 1, 1], n_classes=3)
    for diagram in (construct(problem, random_state=0), improve(problem, Diagram.leaf(0), max_rounds=5)):
        assert diagram.n_splits == 0
        assert diagram.constant == 1


def test_without_tests_only_a_leaf_is_left() -> None:
    rows = RankedRows.from_bits(np.empty((4, 0)), [0, 1, 1, 2])
    problem = DiagramProblem(rows, (1, 2), DiagramCost.of(alpha=0.1, total=4, widths=(1, 2)))
    assert construct(problem, random_state=0).constant == 1
    assert improve(problem, Diagram.leaf(2), max_rounds=5).constant == 1


def test_rows_that_no_test_tells_apart() -> None:
    problem = problem_of([[1, 1]] * 5, [0, 0, 1, 1, 1], tests_of=[2, 3], widths=(1, 2))
    assert construct(problem, random_state=0).constant == 1
    found = improve(problem, Diagram((0,), (~0,), (~1,), (0,)), max_rounds=5)
    assert count(problem, found).errors == 2


def test_weights_decide() -> None:
    problem = problem_of([[0], [0], [1]], [0, 1, 1], weights=[5, 1, 1], widths=(1,), alpha=0)
    found = construct(problem, random_state=0)
    assert count(problem, found).errors == 1


def test_no_node_is_lighter_than_asked() -> None:
    ranks = np.arange(16).reshape(-1, 1)
    codes = np.arange(16) // 2 % 2
    for least in (1, 4, 8, 16, 17):
        problem = problem_of(ranks, codes, widths=(1, 2, 4), alpha=0, min_weight=least)
        found = improve(problem, construct(problem, random_state=0), max_rounds=200)
        assert not count(problem, found).broken
        assert (found.n_splits == 0) == (least == 17)


def test_a_tree_shares_nothing() -> None:
    bits = np.array(list(product([0, 1], repeat=3)))
    free = problem_of(bits, bits.sum(axis=1) % 2, widths=(1, 2, 2), alpha=0)
    tree = problem_of(bits, bits.sum(axis=1) % 2, widths=(1, 2, 2), alpha=0, tree=True)
    found = [improve(p, construct(p, random_state=0), max_rounds=300) for p in (free, tree)]
    assert [count(p, d).errors for p, d in zip((free, tree), found, strict=True)] == [0, 2]


def test_a_search_ends_at_its_target() -> None:
    problem = random_problem(5, n=30, columns=4, widths=(1, 2, 4))
    start = Diagram.leaf(0)
    target = count(problem, start).cost
    assert count(problem, improve(problem, start, target=target, seconds=30)).cost <= target


def test_the_start_is_returned_where_nothing_is_better() -> None:
    problem = problem_of([[0], [1]], [0, 1], widths=(1,), alpha=1)
    start = Diagram((0,), (~0,), (~1,), (0,))
    assert count(problem, improve(problem, start, max_rounds=0)).cost == 0


def test_arguments_out_of_range_are_refused() -> None:
    problem = problem_of([[0], [1]], [0, 1], widths=(1,))
    with pytest.raises(ValueError, match="n_starts=-1 is negative"):
        construct(problem, random_state=0, n_starts=-1)
    with pytest.raises(ValueError, match="max_rounds=-1 is negative"):
        improve(problem, Diagram.leaf(0), max_rounds=-1)
    with pytest.raises(ValueError, match="random_state=-1 is negative"):
        construct(problem, random_state=-1)
    with pytest.raises(ValueError, match="have shape"):
        construct(problem, random_state=0, costs=np.zeros((3, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="expected integers"):
        construct(problem, random_state=0, costs=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="add up to"):
        construct(problem, random_state=0, costs=np.full((2, 2), 2**53))
    oblique = DiagramProblem(problem.rows, (1,), problem.cost, columns=np.zeros((2, 1)))
    with pytest.raises(ValueError, match="oblique"):
        improve(oblique, Diagram.leaf(0))
    assert problem.max_splits == MOST_NODES


# The optimum of seed 0's half of each set, or the best that is known, for alpha 1, 0.5, 0.2, 0.1, 0.01.
IRIS = (0.0981, 0.0624, 0.0410, 0.0214, 0.0021)


@pytest.mark.parametrize("widths", [(1, 2, 4, 8), (1, 2, 2, 2, 2, 2, 2, 2)])
def test_iris(load_data: LoadData, widths: tuple[int, ...]) -> None:
    X, codes = load_data("uci/iris")
    index = list(range(len(codes)))
    random.Random(0).shuffle(index)
    chosen = index[: round(len(codes) / 2)]
    rows = RankedRows.with_tests(X[chosen], (), codes[chosen], n_classes=3)[1]
    for alpha, known in zip((1, 0.5, 0.2, 0.1, 0.01), IRIS, strict=True):
        problem = DiagramProblem(rows, widths, DiagramCost.of(alpha=alpha, total=rows.total, widths=widths))
        found = improve(problem, construct(problem, random_state=0, n_starts=20), max_rounds=100)
        assert problem.cost.share(count(problem, found).cost) == pytest.approx(known, abs=5e-5)


def noisy(n: int = 300, d: int = 8, widths: tuple[int, ...] = (1, 2, 4, 4), *, oblique: bool = False) -> DiagramProblem:
    """A problem that no engine settles within seconds."""
    rng = np.random.default_rng(3)
    columns = rng.random((n, d)).round(2)
    codes = rng.integers(0, 2, n)
    rows = RankedRows.from_ranks((columns * 100).astype(int), [101] * d, codes, n_classes=2)
    cost = DiagramCost.of(alpha=0.1, total=n, widths=widths)
    return DiagramProblem(rows, widths, cost, columns=columns if oblique else None)


def interrupted_search(search: Callable[[], Any]) -> Diagram:
    """The diagram that ``search`` hands out when a Ctrl-C ends it."""
    with pytest.raises(InterruptedSearchError) as raised:
        search()
    return raised.value.diagram


def test_ctrl_c_ends_the_construction_and_the_local_search() -> None:
    problem, leaf = noisy(), Diagram.leaf(0)
    for search in (
        lambda: construct(problem, seconds=20),
        lambda: improve(problem, leaf, seconds=20),
        lambda: improve_oblique(noisy(oblique=True), leaf, seconds=20),
    ):
        begun = time.perf_counter()
        found = interrupted(partial(interrupted_search, search), 0.4)
        assert time.perf_counter() - begun < 5
        assert found.n_splits > 0


def test_ctrl_c_keeps_what_the_local_search_found() -> None:
    told = interrupted(lambda: solve(noisy(), engine="heuristic", limits=Limits(20)), 3.0)
    assert told.stats.stopped_by == "interrupt"
    assert told.stats.seconds < 10
    X = np.random.default_rng(0).random((400, 6))
    y = np.random.default_rng(1).integers(0, 2, 400)
    with pytest.warns(OptimalityWarning, match="interrupted after"):
        learner = interrupted(lambda: OptimalDiagramClassifier((1, 2, 4), engine="heuristic").fit(X, y), 1.0)
    assert learner.model_.n_splits > 0


def test_a_growth_ends_where_time_is_up() -> None:
    problem = noisy(400, 30, oblique=True)
    begun = time.perf_counter()
    found = construct_oblique(problem, seconds=0.0)
    assert time.perf_counter() - begun < 1
    assert not count(problem, found).broken


def test_a_program_is_not_begun_when_the_pace_of_the_last_tells_that_it_is_too_large() -> None:
    problem = noisy(60, 3)
    run = DiagramRun(problem, Limits())
    run.offer(Diagram.leaf(0))
    stages = _Stages(problem, run, "scipy", AS_PRINTED, run.clock, pace=1.0)
    assert stages._solve(4.0, problem) == "time_limit"


def test_a_missing_solver_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    events: list[Any] = []
    for oblique in (False, True):
        with pytest.raises(ImportError, match=r"pip install \"proofwood\[scip\]\""):
            as_printed(noisy(oblique=oblique), variant="scip", limits=Limits(20), progress=events.append)
    assert not events


def test_weights_beyond_64_bits_are_refused() -> None:
    rows = RankedRows.from_bits([[0], [1]], [0, 1], sample_weight=[2**45, 2**45 + 1])
    cost, left = DiagramCost.of(alpha=0.1, total=rows.total, widths=(1, 2)), np.array([True, False])
    with pytest.raises(ValueError, match="64-bit sums"):
        DiagramProblem(rows, (1, 2), cost, rates=(Rate(left, ~left, rows.weights, 1, Fraction(4, 5)),))


def test_a_set_without_tests_has_a_lone_root() -> None:
    rows = RankedRows.from_bits([[0], [1], [1]], [0, 1, 0])
    cost = DiagramCost.of(alpha=0.0, total=rows.total, widths=(1, 2))
    for pure in (False, True):
        problem = DiagramProblem(rows, (1, 2), cost, min_weight=1)
        found = cheapest_over_sets(problem, [()], upper=2**40, options=TopologyOptions(pure_flows=pure))
        assert found.diagram is not None
        assert (found.diagram.n_splits, found.cost) == (0, cost.of_diagram(1, 0))


def test_a_rounded_bound_of_a_tree_is_never_raised() -> None:
    for whole_price in (1, 3, 1000):
        for whole in (0, 1, 10**6 + 7, 2**40 + 1, 2**50 + 3, 2**51 - 1):
            told = least_integer(float(Fraction(whole, whole_price)), whole_price)
            assert whole - 1 <= told <= whole
            assert told == whole or whole > 2**50


@pytest.mark.parametrize("widths", [iter([1, 2]), {1, 2}, {1: 2}, (width for width in (1, 2))])
def test_widths_are_a_sequence(widths: Any) -> None:
    with pytest.raises(ValueError, match="expected a sequence of integers"):
        OptimalDiagramClassifier(widths).fit([[0.0], [1.0]], [0, 1])


def test_an_iterator_of_constraints_is_refused() -> None:
    learner = OptimalDiagramClassifier((1,), constraints=iter([DemographicParity(ratio=0.5)]))
    with pytest.raises(ValueError, match="expected a list of constraints"):
        learner.fit([[0.0], [1.0]], [0, 1], sensitive_features=["a", "b"])
