"""Layered diagrams: Ctrl-C and time limits in the middle of a stage, and refusals before any work."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from proofwood import DemographicParity, OptimalDiagramClassifier, OptimalityWarning
from proofwood.engines.diagram.construct import construct
from proofwood.engines.diagram.improve import improve
from proofwood.engines.diagram.oblique.heuristic import construct_oblique
from proofwood.engines.diagram.oblique.improve import improve_oblique
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram, InterruptedSearchError, count
from proofwood.engines.diagram.solve import solve
from proofwood.engines.diagram.topologies import TopologyOptions, cheapest_over_sets
from proofwood.engines.diagram.trees import _integer_cost
from proofwood.papers.odd.solve import AS_PRINTED, _Stages
from proofwood.papers.odd.solve import solve as as_printed
from proofwood.problem.diagram import DiagramCost, DiagramProblem, Rate
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits
from tests.interrupts import interrupted


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
    with pytest.raises(ValueError, match="64 bits"):
        DiagramProblem(rows, (1, 2), cost, rates=(Rate(left, ~left, positive=1, ratio=Fraction(4, 5)),))


def test_a_set_without_tests_has_a_lone_root() -> None:
    rows = RankedRows.from_bits([[0], [1], [1]], [0, 1, 0])
    cost = DiagramCost.of(alpha=0.0, total=rows.total, widths=(1, 2))
    for pure in (False, True):
        problem = DiagramProblem(rows, (1, 2), cost, min_weight=1)
        found = cheapest_over_sets(problem, [()], upper=2**40, options=TopologyOptions(pure_flows=pure))
        assert found.diagram is not None
        assert (found.diagram.n_splits, found.cost) == (0, cost.of_diagram(1, 0))


def test_a_rounded_bound_of_a_tree_is_never_raised() -> None:
    for price in (1, 3, 1000):
        for whole in (0, 1, 10**6 + 7, 2**40 + 1, 2**50 + 3, 2**51 - 1):
            told = _integer_cost(float(Fraction(whole, price)), price)
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
