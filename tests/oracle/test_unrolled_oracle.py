"""Bounds by layers and nodes against the enumeration of layered diagrams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.sets import SetSearch
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.diagram.unrolled import Unroller, kinds, unrolled
from proofwood.problem.diagram import DiagramCost, DiagramProblem
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits
from tests import naive_diagrams as naive
from tests.diagram_problems import diagram_problem
from tests.strategies import examples

SHARING = ((1, 2, 1), (1, 2, 2), (1, 2, 1, 1), (1, 1, 2, 1), (1, 2, 2, 1))


@st.composite
def sharing_problems(draw: st.DrawFn) -> DiagramProblem:
    """Problems of skeletons in which nodes can be shared, or of any."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    problem = diagram_problem(rng, max_rows=8, max_tests=4, constraints=draw(st.booleans()))
    if problem.rates or problem.min_weight or draw(st.booleans()):
        return problem
    widths = SHARING[int(rng.integers(len(SHARING)))]
    alpha = float(rng.choice([0.0, 0.01, 0.05, 0.2, 0.5]))
    return replace(problem, widths=widths, cost=DiagramCost.of(alpha=alpha, total=problem.rows.total, widths=widths))


@examples(1)
@given(problem=sharing_problems(), questions=st.booleans())
def test_no_diagram_has_fewer_errors_than_the_bounds(problem: DiagramProblem, questions: bool) -> None:
    run = DiagramRun(problem, Limits())
    for code in range(problem.rows.n_classes):
        run.offer(Diagram.leaf(code))
    search = SetSearch.of(problem)
    unroller = Unroller(search, run)
    unroller.begin(60)
    if questions:
        unroller.work(60)
    best = naive.cheapest(problem)[0]
    assert best is not None
    assert run.lower <= best <= run.upper
    for nodes in range(1, search.most + 1):
        counted = replace(
            problem, cost=DiagramCost(problem.cost.total, 1, 0), max_splits=min(nodes, problem.max_splits)
        )
        fewest = naive.cheapest(counted)[0]
        assert fewest is not None
        assert min(search.by_nodes[: nodes + 1]) <= fewest


@pytest.mark.parametrize(
    ("widths", "nodes", "size"),
    [
        ((1, 2, 1), 4, 5),  # one node below two
        ((1, 2, 2), 5, 7),
        ((1, 2, 2, 1), 6, 11),
        ((1, 1, 2, 1), 5, 6),
        ((1, 2, 2, 2), 5, 7),  # one layer of two nodes: the first that can have them
        ((1, 2, 2, 2), 7, 15),
        ((1, 1, 1), 3, 3),
    ],
)
def test_sizes_of_unrolled_diagrams(widths: tuple[int, ...], nodes: int, size: int):
    assert unrolled(widths, nodes) == size


def test_kinds_of_a_skeleton():
    rng = np.random.default_rng(1)
    problem = replace(diagram_problem(rng), widths=(1, 2, 2), tree=False)
    told = [(kind.layers, kind.nodes, kind.size) for kind in kinds(problem, 5)]
    assert told == [(1, 1, 1), (2, 2, 2), (2, 3, 3), (3, 3, 3), (3, 4, 4), (3, 4, 5), (3, 5, 5), (3, 5, 7)]
    assert all(kind.size == kind.nodes for kind in kinds(replace(problem, tree=True), 5))


def test_numeric_columns_are_proved_where_nodes_cost_much():
    rng = np.random.default_rng(3)
    X = rng.random((120, 4))
    codes = ((X[:, 0] > 0.5) ^ (rng.random(120) < 0.15)).astype(int)
    ranks = np.argsort(np.argsort(X, axis=0), axis=0).astype(np.int32)
    rows = RankedRows.from_ranks(ranks, np.full(4, 119), codes)
    widths = (1, 2, 4, 8)
    problem = DiagramProblem(rows, widths, DiagramCost.of(alpha=0.5, total=rows.total, widths=widths))
    run = DiagramRun(problem, Limits())
    for code in range(2):
        run.offer(Diagram.leaf(code))
    unroller = Unroller(SetSearch.of(problem), run)
    unroller.work(30)
    assert run.done
    assert run.best is not None
    assert run.best.n_splits >= 1
