"""Tests and ranks made in one go: the same as by the binarizer; groups the same as by sorting whole rows."""

from __future__ import annotations

import time

import numpy as np
import pytest

from proofwood.data.binarize import Binarizer
from proofwood.data.columns import Column, Columns
from proofwood.data.kinds import Kind
from proofwood.model.reshape import preorder
from proofwood.problem.ranked import OutOfTime, RankedRows, require_time
from tests.tables import table_of


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
    slow = RankedRows.from_columns(expected, X, codes, n_classes=3, sample_weight=weights)
    binarizer, rows = RankedRows.with_tests(
        X, nominal, codes, n_classes=3, sample_weight=weights, max_thresholds=most, deadline=time.monotonic() + 60
    )
    for name in ("feature", "threshold"):
        np.testing.assert_array_equal(getattr(binarizer, name), getattr(expected, name))
    assert binarizer.levels == expected.levels
    for name in ("ranks", "tests_of", "codes", "weights", "kept"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(slow, name))
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
