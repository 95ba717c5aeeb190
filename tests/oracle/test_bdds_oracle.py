"""Smallest and cheapest diagrams against enumeration of all orders and labels."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proofwood.engines.bdd.cells import CellTable
from proofwood.engines.bdd.fill import count_splits, fill_merge, fill_parent
from proofwood.engines.bdd.order_sat import fewest_splits
from proofwood.engines.bdd.over_chosen import Chosen, SizeClock, diagram_over
from proofwood.engines.bdd.priced import Cheapest, _improved, cheapest_diagram
from proofwood.engines.bdd.smallest import (
    Smallest,
    best_order,
    essential_tests,
    node_bounds,
    order_bound,
    smallest_diagram,
)
from proofwood.engines.bdd.solve import solve
from proofwood.problem.bdd import BDDProblem
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Status
from tests import naive_bdds as naive
from tests.strategies import examples


@st.composite
def cell_tables(draw: st.DrawFn, *, most: int = 3, most_labelings: int = 300) -> CellTable:
    """Tables with free and tied cells, few enough labelings for enumeration."""
    n_tests, n_classes = draw(st.integers(0, most)), draw(st.integers(2, 3))
    size = 2**n_tests * n_classes
    pool = draw(st.sampled_from([(0, 1, 2), (0, 0, 1, 3), (0, 0, 0, 1)]))
    weights = [pool[byte % len(pool)] for byte in draw(st.binary(min_size=size, max_size=size))]
    cells = CellTable(tuple(range(n_tests)), np.array(weights, dtype=np.int64).reshape(-1, n_classes))
    assume(np.prod(cells.allowed.sum(axis=1)) <= most_labelings)
    return cells


def check(found: Smallest | Cheapest, cells: CellTable) -> None:
    """The labels are allowed in the order that is told, and have the nodes that are told."""
    turned = cells.reorder([cells.tests.index(test) for test in found.tests])
    if isinstance(found, Smallest):
        assert turned.allowed[np.arange(found.labels.size), found.labels].all()
        assert count_splits(found.labels) == found.n_splits
        assert found.lower_bound <= found.n_splits
        assert (found.status is Status.OPTIMAL) == (found.lower_bound == found.n_splits)


@given(cells=cell_tables())
def test_the_smallest_diagram(cells: CellTable):
    found = smallest_diagram(cells)
    check(found, cells)
    assert found.status is Status.OPTIMAL
    assert found.n_splits == naive.fewest_splits(cells)


@examples(0.3)
@given(cells=cell_tables(most=4, most_labelings=16))
def test_the_smallest_diagram_of_four_tests(cells: CellTable):
    found = smallest_diagram(cells)
    check(found, cells)
    assert found.n_splits == found.lower_bound == naive.fewest_splits(cells)


@given(cells=cell_tables())
def test_bounds_without_time(cells: CellTable):
    found = smallest_diagram(cells, limits=Limits(0.0))
    check(found, cells)
    assert found.lower_bound <= naive.fewest_splits(cells) <= found.n_splits


@given(cells=cell_tables())
def test_bounds_of_single_orders(cells: CellTable):
    bounds = node_bounds(cells)
    assert bounds is not None
    least = {}
    for order in permutations(range(cells.n_tests)):
        table = cells.reorder(order)
        free = [np.flatnonzero(row).tolist() for row in table.allowed]
        least[order] = min(naive.splits(labels) for labels in product(*free))
        assert order_bound(bounds, order) <= least[order]
        assert fewest_splits(table, least[order] - 1).labels is None
        answer = fewest_splits(table, least[order])
        assert answer.labels is not None
        assert count_splits(answer.labels) <= least[order]
    assert essential_tests(cells) <= min(least.values())


@pytest.mark.parametrize("fill", [fill_parent, fill_merge])
@given(cells=cell_tables(most_labelings=10**9))
def test_the_best_order_of_a_filling(fill, cells: CellTable):
    found = best_order(cells, fill)
    check(found, cells)
    assert found.status is Status.OPTIMAL
    assert found.n_splits == min(count_splits(fill(table)) for table in naive.orders(cells))


def test_many_tests_have_a_diagram_and_a_bound():
    random = np.random.default_rng(0)
    weights = random.integers(0, 2, (2**9, 2))
    cells = CellTable(tuple(range(9)), weights)
    for found in (smallest_diagram(cells, limits=Limits(1.0)), best_order(cells, fill_merge, limits=Limits(1.0))):
        check(found, cells)
        assert found.lower_bound >= 1


@pytest.mark.parametrize("n_tests", [5, 6, 7, 8])
def test_structured_tables_are_proved(n_tests: int):
    """x0 x1 or x2 x3 or ...: a good order has one node per test (Bryant 1986), a bad one exponentially many."""
    bits = np.array([[cell >> place & 1 for place in range(n_tests)] for cell in range(2**n_tests)])
    half = n_tests // 2
    label = (bits[:, :half] & bits[:, half : 2 * half]).any(axis=1) | (bits[:, -1] == 1 if n_tests % 2 else False)
    weights = np.stack([~label, label], axis=1).astype(np.int64)
    found = smallest_diagram(CellTable(tuple(range(n_tests)), weights))
    assert (found.n_splits, found.status) == (n_tests, Status.OPTIMAL)


@given(cells=cell_tables(most=2, most_labelings=10**9), prices=st.tuples(st.integers(1, 3), st.integers(0, 6)))
def test_the_cheapest_diagram(cells: CellTable, prices: tuple[int, int]):
    least = naive.least_cost(cells, *prices)
    found = cheapest_diagram(cells, *prices)
    assert (found.cost, found.lower_bound, found.status) == (least, least, Status.OPTIMAL)
    for told in (found, _improved(cells, *prices, None, NO_LIMITS)):
        turned = cells.reorder([cells.tests.index(test) for test in told.tests])
        wrong = turned.weights.sum() - turned.weights[np.arange(told.labels.size), told.labels].sum()
        assert told.cost == prices[0] * wrong + prices[1] * count_splits(told.labels)
        assert told.lower_bound <= least <= told.cost


@examples(0.1)
@given(cells=cell_tables(most_labelings=10**9), price=st.integers(0, 4))
def test_the_cheapest_diagram_of_two_classes(cells: CellTable, price: int):
    assume(cells.n_classes == 2)
    assert cheapest_diagram(cells, 1, price).cost == naive.least_cost(cells, 1, price)


def test_five_tests_with_a_price_have_a_bound():
    random = np.random.default_rng(1)
    weights = random.integers(0, 9, (32, 2))
    cells = CellTable(tuple(range(5)), weights)
    found = cheapest_diagram(cells, 1, 4, limits=Limits(5.0))
    assert cells.errors <= found.lower_bound <= found.cost
    free = cheapest_diagram(cells, 1, 0, limits=Limits(5.0))
    assert (free.cost, free.status) == (cells.errors, Status.OPTIMAL)


def test_no_size_is_proved_of_a_set_of_tests_that_is_not_proved() -> None:
    rng = np.random.default_rng(3)
    rows = RankedRows.from_bits(rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40))
    problem = BDDProblem(rows, 2, False, TreeCost.of(alpha=0, total=rows.total, unit=rows.unit))
    best = solve(problem)
    assert [part.status for part in best.parts] == [Status.OPTIMAL, Status.OPTIMAL]
    tests = tuple(np.unique(best.model.feature[best.model.feature >= 0]).tolist())
    errors = rows.errors(best.model)
    for lower, proved in ((errors, Status.OPTIMAL), (errors - 1, Status.FEASIBLE)):
        found = diagram_over(problem, Chosen(tests, errors, lower, "search"), SizeClock())
        assert [part.status for part in found.parts] == [proved, proved]
        assert found.parts[1].lower_bound == (found.parts[1].objective if proved is Status.OPTIMAL else 0)
