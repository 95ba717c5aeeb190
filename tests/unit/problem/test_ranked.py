"""Rows as ranks: the bits of tests, groups of equal rows, and counts of models over tests."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.data.binarize import Binarizer
from proofwood.data.columns import Column, Columns
from proofwood.data.kinds import Kind
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.model.reshape import preorder
from proofwood.problem.ranked import OutOfTime, RankedRows, require_time
from strategies import below, matrices
from tests.tables import stump, table_of

X = np.array([[1.0, 0.0, 2.0], [2.0, 1.0, 5.0], [3.0, 0.0, 7.0], [2.0, 1.0, 5.0]])
KINDS = (Kind.NUMERIC, Kind.INTEGER, Kind.NOMINAL)
NOMINAL = (2,)
COLUMNS = Columns(X, tuple(Column(f"c{j}", kind) for j, kind in enumerate(KINDS)))


def of_test(test: int, low: int, high: int, n_classes: int = 2) -> NodeTable:
    return stump(feature=test, label=[low, low, high], weight=np.zeros((3, n_classes)))


def test_thresholds_of_one_column_share_ranks_and_levels_stand_alone():
    rows = RankedRows.with_tests(X, NOMINAL, [0, 1, 0, 1], n_classes=2)[1]
    assert rows.tests_of.tolist() == [2, 1, 1, 1, 1]
    assert rows.offsets.tolist() == [0, 2, 3, 4, 5, 6]
    assert rows.ranks[:, 0].tolist() == [0, 1, 2, 1]
    assert rows.n_tests == Binarizer.of(COLUMNS).n_tests == 6


@given(st.data())
def test_bits_are_those_of_the_binarizer(data: st.DataObject):
    n_rows = data.draw(st.integers(1, 9))
    values = data.draw(matrices(n_rows, data.draw(st.integers(1, 4))))
    binarizer, rows = RankedRows.with_tests(values, (), np.zeros(n_rows, dtype=int), n_classes=1)
    assert np.array_equal(rows.bits(), binarizer.transform(values))
    chosen = data.draw(st.lists(st.integers(0, rows.n_tests - 1), max_size=4)) if rows.n_tests else []
    assert np.array_equal(rows.bits(chosen), rows.bits()[:, chosen])
    few = rows.select(chosen)
    assert np.array_equal(few.bits(), rows.bits()[:, chosen])
    assert few.select(range(few.n_tests)) is few


@given(st.data())
def test_groups_are_the_rows_that_no_test_tells_apart(data: st.DataObject):
    n_rows, n_classes = data.draw(st.integers(1, 9)), data.draw(st.integers(2, 3))
    values = data.draw(matrices(n_rows, 2))
    codes = np.array(data.draw(below(n_classes, n_rows)))
    weights = np.array(data.draw(below(4, n_rows))) + 1
    rows = RankedRows.with_tests(values, (), codes, n_classes=n_classes, sample_weight=weights.astype(float))[1]
    index, totals = rows.groups
    minority = 0
    for group in range(index.max() + 1):
        members = np.flatnonzero(index == group)
        assert np.all(rows.ranks[members] == rows.ranks[members[0]])
        per_class = np.bincount(codes[members], weights[members], n_classes)
        scale = weights.sum() / rows.total
        assert np.array_equal(totals[group] * scale, per_class)
        minority += per_class.sum() - per_class.max()
    assert len({tuple(r) for r in rows.ranks.tolist()}) == index.max() + 1
    assert rows.unavoidable * float(rows.unit) == pytest.approx(minority)


def test_rows_of_weight_zero_are_dropped_and_remembered():
    rows = RankedRows.from_bits([[0], [1], [1]], [0, 1, 0], sample_weight=[2.0, 0.0, 4.0])
    assert rows.kept.tolist() == [0, 2]
    assert (rows.weights * float(rows.unit)).tolist() == [2.0, 4.0]
    assert rows.n_rows == 2


def test_models_over_tests_are_counted():
    rows = RankedRows.with_tests(X, NOMINAL, [0, 1, 0, 1], n_classes=2, sample_weight=[1.0, 2.0, 3.0, 4.0])[1]
    table = of_test(2, 0, 1)  # the only test of the second column
    assert rows.predict(table).tolist() == [0, 1, 0, 1]
    assert rows.errors(table) == 0
    assert rows.errors(of_test(2, 1, 0)) == rows.total
    told = rows.refresh(of_test(0, 1, 1), relabel=True)
    assert told.feature.tolist() == [0, LEAF, LEAF]
    assert told.weight.tolist() == [[4.0, 6.0], [1.0, 0.0], [3.0, 6.0]]
    assert told.rows.tolist() == [4, 1, 3]
    assert told.label.tolist() == [1, 0, 1]


def test_no_test_at_all():
    rows = RankedRows.with_tests(np.ones((3, 2)), (), [0, 1, 1], n_classes=2)[1]
    assert rows.n_tests == 0
    assert rows.unavoidable == 1
    assert rows.bits().shape == (3, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 2]], [0]), "hold 0 and 1 only"),
        (([0, 1], [0, 1]), "two-dimensional"),
        (([[0], [1]], [0]), "codes have shape"),
    ],
)
def test_bad_bits(arguments, message):
    with pytest.raises(ValueError, match=message):
        RankedRows.from_bits(*arguments)


def test_no_row_of_positive_weight():
    with pytest.raises(ValueError, match="no row has a positive weight"):
        RankedRows.from_bits([[0], [1]], [0, 1], sample_weight=[0.0, 0.0])


@pytest.mark.parametrize("seed", range(30))
def test_tests_and_ranks_are_those_of_the_binarizer(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 40)), int(rng.integers(1, 5))
    X = rng.integers(0, int(rng.integers(1, 9)), size=(n, p)).astype(float)
    if seed % 3 == 0:
        X[:, 0] = rng.normal(size=n)
    nominal = {j for j in range(p) if seed % 3 and rng.random() < 0.5}
    codes, weights = rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float)
    weights[0] = 1.0
    most = None if seed % 2 else 2
    columns = tuple(Column(f"x{j}", Kind.NOMINAL if j in nominal else Kind.NUMERIC) for j in range(p))
    expected = Binarizer.of(Columns(X[weights > 0], columns), max_thresholds=most)
    kept = np.flatnonzero(weights)
    binarizer, rows = RankedRows.with_tests(
        X, nominal, codes, n_classes=3, sample_weight=weights, max_thresholds=most, deadline=time.monotonic() + 60
    )
    for name in ("feature", "threshold"):
        np.testing.assert_array_equal(getattr(binarizer, name), getattr(expected, name))
    assert binarizer.levels == expected.levels
    np.testing.assert_array_equal(rows.bits(), expected.transform(X[kept]))
    np.testing.assert_array_equal(rows.kept, kept)
    np.testing.assert_array_equal(rows.codes, codes[kept])
    np.testing.assert_array_equal(rows.weights * float(rows.unit), weights[kept])
    distinct, first, index = np.unique(rows.ranks, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(rows.groups[0], index.reshape(-1))
    np.testing.assert_array_equal(rows.first_of_groups, first)
    assert rows.groups[1].shape[0] == max(1, len(distinct))


def test_groups_of_more_columns_than_one_number_holds():
    rng = np.random.default_rng(3)
    ranks = rng.integers(0, 2, size=(200, 150))
    ranks[100:] = ranks[:100]
    ranks[150:, -1] ^= 1
    rows = RankedRows.from_ranks(ranks, np.ones(150), np.zeros(200))
    index = np.unique(rows.ranks, axis=0, return_inverse=True)[1].reshape(-1)
    np.testing.assert_array_equal(rows.groups[0], index)


def test_a_tree_over_tests_is_counted_over_ranks():
    rng = np.random.default_rng(4)
    X, codes = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    binarizer, rows = RankedRows.with_tests(X, (), codes, n_classes=2)
    tree = preorder(table_of([60, 130], [2, 3], [1, 4], [0, 1, 0]))
    bits = binarizer.transform(X)
    expected = np.where(bits[:, 60] == 0, 0, np.where(bits[:, 130] == 0, 1, 0))
    np.testing.assert_array_equal(rows.predict(tree), expected)
    told = rows.refresh(tree)
    np.testing.assert_array_equal(told.feature, tree.feature)
    np.testing.assert_array_equal(told.threshold, tree.threshold)
    assert told.rows[1] == np.count_nonzero(bits[:, 60] == 0)


def test_time_that_the_next_step_takes_counts():
    require_time(time.monotonic() + 60, 1.0)
    with pytest.raises(OutOfTime):
        require_time(time.monotonic() + 60, 70.0)


def test_the_deadline_ends_the_preparation():
    with pytest.raises(OutOfTime):
        RankedRows.with_tests(np.zeros((3, 2)), (), [0, 1, 0], n_classes=2, deadline=time.monotonic() - 1)
