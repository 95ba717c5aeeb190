"""The search over layers against enumeration, with its rules off and on, and its bounds against trees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood import _native
from proofwood.engines.diagram import layers
from proofwood.engines.diagram.layers import DEFAULT_OPTIONS, LayerOptions, LayerSearch, suits
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, count
from proofwood.engines.trees.over_ranks import tree_problem
from proofwood.engines.trees.solve import solve as solve_tree
from proofwood.problem.diagram import MOST_NODES, DiagramCost, DiagramProblem
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits
from tests import naive_diagrams as naive
from tests.diagram_problems import ALPHAS, diagram_problem, ranked_rows
from tests.strategies import examples

DEEP = (
    (1, 2, 2, 2),
    (1, 2, 4, 2),
    (1, 1, 2, 2),
    (1, 2, 2, 2, 2),
    (1, 1, 2, 3, 2),
    (1, 2, 2, 1, 2),
    (1, 1, 2, 4),
    (1, 2, 4, 8),
    (1, 2, 1, 2, 2),
)
"""Skeletons of four and five layers; in some a root that passes all rows on is of use."""
SWITCHES = ("caps", "merged", "states", "ranges")


def begun(problem: DiagramProblem, limits: Limits | None = None) -> DiagramRun:
    """A run that knows the leaves."""
    run = DiagramRun(problem, limits or Limits())
    for code in range(problem.rows.n_classes):
        run.offer(Diagram.leaf(code), by="leaf")
    return run


def searched(
    problem: DiagramProblem, options: LayerOptions = DEFAULT_OPTIONS, most_caps: int | None = None
) -> DiagramRun:
    """A run that ended with the search."""
    run = begun(problem)
    search = LayerSearch(problem, options, most_caps=most_caps)
    search.work(run, seconds=None)
    assert search.done or run.done
    return run


def check(problem: DiagramProblem, options: LayerOptions = DEFAULT_OPTIONS, most_caps: int | None = None) -> None:
    """The search against enumeration; where fairness is asked for, it proves what holds without."""
    best = naive.cheapest(problem)[0]
    run = searched(problem, options, most_caps)
    assert best is not None
    if problem.rates or problem.penalties:
        assert run.lower <= best <= run.upper
        free = naive.cheapest(replace(problem, rates=(), penalties=()))[0]
        assert free is not None
        assert run.lower >= min(free, run.upper)
        return
    assert (run.lower, run.upper) == (best, best)
    assert run.best is not None
    assert count(problem, run.best).broken == ""


def deep_problem(seed: int) -> DiagramProblem:
    """A problem of four or five layers that can be enumerated."""
    rng = np.random.default_rng(seed)
    rows = ranked_rows(rng, max_rows=int(rng.integers(5, 9)), max_tests=int(rng.integers(2, 4)))
    widths = DEEP[int(rng.integers(len(DEEP)))]
    return DiagramProblem(
        rows,
        widths,
        DiagramCost.of(alpha=float(rng.choice(ALPHAS)), total=rows.total, widths=widths),
        tree=bool(rng.random() < 0.3),
        max_splits=int(rng.integers(2, sum(widths) + 1)) if rng.random() < 0.4 else MOST_NODES,
        min_weight=int(rng.integers(1, 6)) if rng.random() < 0.3 else 0,
    )


@st.composite
def options(draw: st.DrawFn) -> LayerOptions:
    return LayerOptions(*(draw(st.booleans()) for _ in SWITCHES))


@examples(1)
@given(
    seed=st.integers(0, 2**32 - 1),
    constraints=st.sampled_from((False, False, False, True)),
    most_caps=st.integers(1, 4),
    options=options(),
)
def test_shallow_skeletons(seed: int, constraints: bool, most_caps: int, options: LayerOptions) -> None:
    problem = diagram_problem(np.random.default_rng(seed), constraints=constraints)
    if suits(problem):
        check(problem, options, most_caps)


@examples(2)
@given(seed=st.integers(0, 2**32 - 1), most_caps=st.integers(1, 5), options=options())
def test_deep_skeletons(seed: int, most_caps: int, options: LayerOptions) -> None:
    problem = deep_problem(seed)
    if suits(problem):
        check(problem, options, most_caps)


@pytest.mark.parametrize("off", SWITCHES)
def test_every_rule_matters_and_changes_no_cost(off: str) -> None:
    """Each rule saves states or counted parts over twenty tables, and none changes what is found."""
    saved = 0
    n_rows, n_bits = (20, 3) if off == "caps" else (60, 7)
    for seed in range(20):
        rng = np.random.default_rng([seed, 5])
        bits = rng.integers(0, 2, (n_rows, n_bits))
        codes = (bits[:, :3].sum(axis=1) + (rng.random(n_rows) < 0.2)) % 2
        columns = np.column_stack([bits, rng.integers(0, 9 if off == "ranges" else 3, n_rows)])
        rows = RankedRows.from_ranks(columns.astype(np.int32), columns.max(axis=0), codes, n_classes=2)
        widths = (1, 2, 3, 2)
        problem = DiagramProblem(rows, widths, DiagramCost.of(alpha=0.1, total=rows.total, widths=widths))
        work, costs = [], set()
        for switches in (DEFAULT_OPTIONS, replace(DEFAULT_OPTIONS, **{off: False})):
            search = LayerSearch(problem, switches)
            found = search._search.run(problem.cost.of_diagram(problem.leaf_errors, 0), None)
            assert found["done"]
            work.append(found["states"] + found["counted"])
            costs.add(found["upper"])
        assert len(costs) == 1, seed
        saved += work[1] - work[0]
    assert saved > 0


def test_bounds_of_whole_trees_are_those_of_the_search_for_trees() -> None:
    """Where no node has a price, a wide skeleton costs what the best tree of its depth does."""
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        columns = rng.integers(0, 12, (70, 4))
        codes = rng.integers(0, 3, 70)
        rows = RankedRows.from_ranks(columns.astype(np.int32), columns.max(axis=0), codes, n_classes=3)
        problem = DiagramProblem(rows, (1, 2, 4), DiagramCost.of(alpha=0.0, total=rows.total, widths=(1, 2, 4)))
        run = searched(problem)
        tree = solve_tree(tree_problem(problem.rows, error_price=1, leaf_price=0, depth=3))
        assert run.lower == run.upper == round(tree.objective * problem.cost.error_price)


def test_weights_beyond_sixteen_bits() -> None:
    for seed in range(30):
        rng = np.random.default_rng([seed, 9])
        problem = diagram_problem(rng)
        heavy = replace(problem.rows, weights=problem.rows.weights * int(rng.integers(5_000, 50_000)))
        cost = DiagramCost.of(alpha=0.1, total=heavy.total, widths=problem.widths)
        heavy_problem = replace(problem, rows=heavy, cost=cost)
        if suits(heavy_problem):
            check(heavy_problem)


def test_what_does_not_suit() -> None:
    problem = diagram_problem(np.random.default_rng(1))
    rows = problem.rows
    assert suits(problem)
    assert not suits(replace(problem, rows=replace(rows, weights=rows.weights * layers.MOST_WEIGHT)))
    weights = rows.groups[1]
    with pytest.raises(ValueError, match="more than this search counts"):
        _native.LayerSearch(rows.ranks[rows.first_of_groups], rows.tests_of, weights << 40, settings_of(problem))
    with pytest.raises(ValueError, match="differ in length"):
        _native.LayerSearch(rows.ranks, rows.tests_of, weights[:-1], settings_of(problem))


def settings_of(problem: DiagramProblem) -> dict[str, object]:
    return {
        "widths": list(problem.widths),
        "error_price": problem.cost.error_price,
        "node_price": problem.cost.node_price,
        "max_nodes": problem.most_nodes,
        "min_weight": 0,
        "tree": False,
        "root_may_pass": True,
        "most_caps": 3,
        **dict.fromkeys(SWITCHES, True),
    }


def test_a_search_that_is_stopped_goes_on_and_what_it_proved_holds() -> None:
    """Cut-offs that rise and slices without time in between end where one search does."""
    stops = 0
    for seed in range(25):
        rng = np.random.default_rng([seed, 11])
        columns = rng.integers(0, 30, (50, 5))
        codes = ((columns[:, 0] > columns[:, 1]) + (rng.random(50) < 0.15)) % 2
        rows = RankedRows.from_ranks(columns.astype(np.int32), columns.max(axis=0), codes, n_classes=2)
        widths = (1, 2, 2)
        alpha = float(Fraction(int(rng.integers(1, 30)), 100))
        problem = DiagramProblem(rows, widths, DiagramCost.of(alpha=alpha, total=rows.total, widths=widths))
        whole = searched(problem)
        parts = begun(problem)
        search = LayerSearch(problem)
        bounds = [parts.lower]
        seconds = 0.001
        while not (search.done or parts.done):
            search._seconds = seconds = 1.3 * seconds
            search.work(parts, seconds=seconds)
            stops += 1
            bounds.append(parts.lower)
        assert bounds == sorted(bounds)
        assert (parts.lower, parts.upper) == (whole.upper, whole.upper)
    assert stops > 25


def test_no_time_at_first_and_then_enough() -> None:
    """The time may be over while the rows are sorted, or just after it: the next run begins there."""
    problem = diagram_problem(np.random.default_rng(1))
    best = naive.cheapest(problem)[0]
    for _ in range(100):
        run = begun(problem)
        search = LayerSearch(problem)
        first = search._search.run(run.upper, 0.0)
        assert not first["begun"] or first["lower"] <= run.upper
        search.work(run, seconds=None)
        assert (run.lower, run.upper) == (best, best)


def test_a_slice_that_is_over_before_the_table_is_made_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (200, 6))
    rows = RankedRows.from_bits(bits, (bits[:, 0] & bits[:, 1]) ^ (rng.random(200) < 0.1))
    problem = DiagramProblem(rows, (1, 2), DiagramCost.of(alpha=0.01, total=rows.total, widths=(1, 2)))
    whole = searched(problem).upper
    monkeypatch.setattr(layers, "SLICE", 1e-9)
    run = begun(problem)
    search = LayerSearch(problem)
    search.work(run, seconds=20.0)
    # bounds of slices that were too short may have proved the answer before the search itself is through
    assert search.done or run.done
    assert search._seconds > layers.SLICE
    assert (run.lower, run.upper) == (whole, whole)
