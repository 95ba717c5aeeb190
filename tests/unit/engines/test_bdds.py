"""Truth tables and their diagrams: the examples of Hu, Huguet, Siala (2022), and what holds for every table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.bdd.cells import CellTable, beads, diagram
from proofwood.engines.bdd.fill import count_splits, fill_merge, fill_parent, merged_labels
from proofwood.engines.bdd.sparse import no_time_for_table, sparse_diagram
from proofwood.model.evaluate import predict
from proofwood.model.node_table import LEAF
from proofwood.problem.ranked import RankedRows


def of_text(text: str, n_classes: int = 2) -> CellTable:
    """Cells of one row each, ``u`` for a cell without rows."""
    weights = np.zeros((len(text), n_classes), dtype=np.int64)
    for cell, letter in enumerate(text):
        if letter != "u":
            weights[cell, int(letter)] = 1
    return CellTable(tuple(range(len(text).bit_length() - 1)), weights)


def texts(found: list[tuple[int, ...]]) -> set[str]:
    return {"".join(map(str, bead)) for bead in found}


def test_example_1_the_beads_of_the_majority():
    assert texts(beads([0, 0, 0, 1, 0, 1, 1, 1])) == {"00010111", "0001", "0111", "01", "0", "1"}


def test_figure_1_the_diagram_of_the_majority():
    table = diagram((5, 6, 7), [0, 0, 0, 1, 0, 1, 1, 1], 2)
    assert table.feature.tolist() == [5, 6, 6, 7, LEAF, LEAF]
    assert (table.low[0], table.high[0]) == (1, 2)
    assert table.high[1] == table.low[2] == 3  # the shared node
    assert table.label[[table.low[1], table.high[2]]].tolist() == [0, 1]


def test_example_3_merging_compatible_subtables():
    cells = of_text("u0u1011u")
    assert "".join(map(str, fill_merge(cells))) == "10010110"
    assert texts(beads(fill_merge(cells))) == {"10010110", "1001", "0110", "10", "01", "0", "1"}


def test_an_unreached_cell_takes_the_majority_of_its_branch():
    assert fill_parent(of_text("u0u1011u")).tolist() == [0, 0, 1, 1, 0, 1, 1, 1]
    weights = np.array([[0, 0], [0, 0], [0, 3], [2, 0]])  # the left half has no row: the whole table decides
    assert fill_parent(CellTable((0, 1), weights)).tolist() == [1, 1, 1, 0]


def test_a_constant_table_is_a_leaf():
    table = diagram((3, 1), [2, 2, 2, 2], 3)
    assert table.n_nodes == 1
    assert table.label[0] == 2


def test_cells_are_counted_with_the_first_test_on_top():
    rows = RankedRows.from_bits([[0, 1], [0, 1], [1, 1], [1, 0]], [0, 1, 1, 0], sample_weight=[1, 2, 3, 4])
    cells = CellTable.of(rows, (1, 0))
    assert cells.weights.tolist() == [[0, 0], [4, 0], [1, 2], [0, 3]]
    assert cells.errors == 1
    assert cells.reached.tolist() == [False, True, True, True]
    assert cells.allowed.tolist() == [[True, True], [True, False], [False, True], [False, True]]
    assert cells.reorder((1, 0)).weights.tolist() == CellTable.of(rows, (0, 1)).weights.tolist()
    assert CellTable.of(rows, ()).weights.tolist() == [[5, 5]]


@pytest.mark.parametrize(("tests", "message"), [((0, 0), "twice"), (tuple(range(21)), "at most 20")])
def test_tests_that_make_no_table(tests, message):
    rows = RankedRows.from_bits(np.zeros((1, 30), dtype=int), [0])
    with pytest.raises(ValueError, match=message):
        CellTable.of(rows, tests)


@st.composite
def labelings(draw: st.DrawFn) -> tuple[int, list[int]]:
    n_tests, n_classes = draw(st.integers(0, 4)), draw(st.integers(2, 3))
    length = 2**n_tests
    return n_tests, [byte % n_classes for byte in draw(st.binary(min_size=length, max_size=length))]


@given(labelings())
def test_a_diagram_says_what_its_table_says_and_is_reduced(case: tuple[int, list[int]]):
    n_tests, labels = case
    table = diagram(tuple(range(n_tests)), labels, 3)
    X = np.array(list(product((0.0, 1.0), repeat=n_tests))).reshape(2**n_tests, n_tests)
    assert predict(table, X).tolist() == labels
    assert table.n_splits == count_splits(np.array(labels)) == sum(len(bead) > 1 for bead in beads(labels))
    assert table.n_leaves == len(set(labels))
    inner = list(table.splits())
    assert all(table.low[node] != table.high[node] for node in inner)
    seen = {(int(table.feature[node]), int(table.low[node]), int(table.high[node])) for node in inner}
    assert len(seen) == len(inner)
    for node in inner:
        for child in (table.low[node], table.high[node]):
            assert table.feature[child] == LEAF or table.feature[child] > table.feature[node]


@given(st.data())
def test_a_diagram_of_reached_cells_makes_the_errors_of_the_cells(data: st.DataObject):
    n_rows, n_tests = data.draw(st.integers(1, 10)), data.draw(st.integers(0, 6))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = RankedRows.from_bits(random.integers(0, 2, (n_rows, n_tests)), random.integers(0, 3, n_rows), n_classes=3)
    order = random.permutation(n_tests).tolist()
    table = sparse_diagram(rows, order)
    assert rows.errors(table) == CellTable.of(rows, order).errors
    for node in table.splits():
        assert table.low[node] != table.high[node]
        for child in (table.low[node], table.high[node]):
            assert table.feature[child] == LEAF or order.index(table.feature[child]) > order.index(table.feature[node])


def test_a_diagram_may_have_more_tests_than_python_has_levels_of_recursion():
    n = 1_500  # each row has a test of its own, so that each test is a level
    rows = RankedRows.from_bits(np.eye(n, dtype=int), np.random.default_rng(0).integers(0, 5, n))
    assert no_time_for_table(n, 1e9)
    table = sparse_diagram(rows, range(n))
    assert rows.errors(table) == 0
    assert table.depth > 1_000


@st.composite
def cell_tables(draw: st.DrawFn, most: int = 4) -> CellTable:
    n_tests, n_classes = draw(st.integers(0, most)), draw(st.integers(2, 3))
    size = 2**n_tests * n_classes
    weights = [(0, 0, 1, 2)[byte % 4] for byte in draw(st.binary(min_size=size, max_size=size))]
    return CellTable(tuple(range(n_tests)), np.array(weights, dtype=np.int64).reshape(-1, n_classes))


@pytest.mark.parametrize("fill", [fill_parent, fill_merge, merged_labels])
@given(cells=cell_tables())
def test_a_filling_costs_no_error(fill, cells: CellTable):
    labels = fill(cells)
    assert np.all(cells.allowed[np.arange(labels.size), labels])
    if fill is not merged_labels:
        kept = cells.reached
        assert np.array_equal(labels[kept], cells.weights.argmax(axis=1)[kept])
