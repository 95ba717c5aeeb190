"""Trees of hyperplanes by annealing: what is counted is what the diagram costs, and room and margins are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood import _native
from proofwood.engines.diagram.oblique.anneal import annealed, layers_of
from proofwood.engines.diagram.oblique.cuts import MARGIN
from proofwood.engines.diagram.oblique.draft import Draft, PricedRows
from proofwood.engines.diagram.oblique.heuristic import holds_margins
from proofwood.problem.diagram import DiagramCost, DiagramProblem
from proofwood.problem.ranked import RankedRows
from tests.strategies import examples


def problem_of(
    seed: int, n: int, columns: int, classes: int, widths: tuple[int, ...], alpha: float, most: int = 100
) -> DiagramProblem:
    """Few distinct values, so that rows are equal and columns depend on each other; random weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, columns)) / 3
    rows = RankedRows.with_tests(X, (), rng.integers(0, classes, n), n_classes=classes)[1]
    return DiagramProblem(
        rows=rows,
        widths=widths,
        cost=DiagramCost.of(alpha=alpha, total=rows.total, widths=widths),
        columns=X,
        max_splits=most,
    )


@examples(0.5)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 20),
    columns=st.integers(1, 3),
    classes=st.integers(2, 3),
    widths=st.sampled_from([(1,), (1, 2), (1, 2, 4), (1, 1, 2), (1, 2, 3)]),
    alpha=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_the_tree_costs_what_its_diagram_does(
    seed: int, n: int, columns: int, classes: int, widths: tuple[int, ...], alpha: float
) -> None:
    problem = problem_of(seed, n, columns, classes, widths, alpha)
    layers = layers_of(problem)
    assert layers == next((k for k, width in enumerate(widths) if width < 2**k), len(widths))
    diagram = annealed(problem, random_state=seed, seconds=0.03)
    assert diagram is not None
    assert holds_margins(problem, diagram)
    for layer, width in enumerate(widths):
        assert diagram.layer.count(layer) <= width
    for node, layer in enumerate(diagram.layer):
        for target in (diagram.low[node], diagram.high[node]):
            assert target < 0 or diagram.layer[target] == layer + 1
    priced = PricedRows.of(problem)
    breach, _ = Draft.of(priced, diagram).score()
    assert breach == 0
    settings = {
        "layers": layers,
        "node_price": problem.cost.node_price,
        "unit": 1.0,
        "margin": MARGIN,
        "box": True,
        "seconds": 0.02,
        "cycle": 0.01,
        "seed": seed,
    }
    found = _native.anneal_hyperplanes(np.ascontiguousarray(priced.columns), priced.costs, settings)
    assert found["cost"] == recounted(found, priced, problem.cost.node_price)


def recounted(found: dict[str, Any], priced: PricedRows, price: int) -> int:
    """Cost of a perfect tree: labels of all rows, and nodes with rows on both sides."""
    d = priced.columns.shape[1]
    normals, offsets = np.array(found["normals"]).reshape(-1, d), found["offsets"]
    sides: dict[int, set[bool]] = {}
    cost = 0
    for row, costs in zip(priced.columns, priced.costs, strict=True):
        node = 0
        while node < len(offsets):
            high = bool(row @ normals[node] - offsets[node] > 0)
            sides.setdefault(node, set()).add(high)
            node = 2 * node + (2 if high else 1)
        cost += int(costs[found["labels"][node - len(offsets)]])
    return cost + price * max(0, sum(len(both) == 2 for both in sides.values()) - 1)


def test_problems_that_are_not_for_annealing() -> None:
    problem = problem_of(1, 10, 2, 2, (1, 2), 0.1)
    assert layers_of(problem) == 2
    assert layers_of(replace(problem, min_weight=2)) == 0
    assert layers_of(replace(problem, max_splits=0)) == 0
    assert layers_of(problem_of(1, 10, 13, 2, (1, 2), 0.1)) == 0
    crowded = replace(problem_of(3, 20, 2, 3, (1, 2), 0.0), max_splits=1)
    for seed in range(5):
        diagram = annealed(crowded, random_state=seed, seconds=0.02)
        assert diagram is None or diagram.n_splits <= 1


def test_bad_arguments_are_refused() -> None:
    problem = problem_of(1, 10, 2, 2, (1, 2), 0.1)
    priced = PricedRows.of(problem)
    settings = {"layers": 2, "node_price": 0, "unit": 1.0, "margin": MARGIN, "seconds": 0.01, "cycle": 0.01, "seed": 0}
    with pytest.raises(ValueError, match="number of rows"):
        _native.anneal_hyperplanes(priced.columns[:-1], priced.costs, settings)
