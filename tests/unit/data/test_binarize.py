from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proofwood.data.binarize import Binarizer, thresholds
from proofwood.data.columns import read_columns
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, NodeTable
from tests.tables import full_tree


def bit_tree(*, root: int, low: int, high: int, threshold: float = 0.5) -> NodeTable:
    """A tree of depth two over bits; the leaves say 0, 1, 2, 3."""
    return full_tree([root, low, high], [0, 1, 2, 3], threshold, missing_low=[False] * 7)


def test_thresholds_lie_between_distinct_values():
    assert thresholds([3, 1, 1, 2, np.nan]).tolist() == [1.5, 2.5]
    assert thresholds([1, 1]).size == 0
    assert thresholds([]).size == 0


def test_few_thresholds_share_the_rows_evenly():
    assert thresholds(np.arange(100), max_thresholds=3).tolist() == [24.5, 49.5, 74.5]
    assert thresholds([0] * 90 + [1, 2, 3], max_thresholds=1).tolist() == [0.5]
    assert thresholds([0, 1, 2], max_thresholds=5).tolist() == [0.5, 1.5]
    assert thresholds([1, 2, 3] + [4] * 90, max_thresholds=2).tolist() == [3.5]


def test_bits_are_zero_where_the_test_holds():
    binarizer = Binarizer.of([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    assert binarizer.n_tests == 2
    assert binarizer.feature.tolist() == [0, 0]
    assert binarizer.transform([[1, 0], [2, 0], [9, 0], [np.nan, 0]]).tolist() == [[0, 0], [1, 0], [1, 1], [0, 0]]


def test_nominal_columns_get_one_test_per_level():
    frame = pl.DataFrame({"colour": ["red", "blue", "green"], "wet": ["yes", "no", "no"], "same": ["a", "a", "a"]})
    columns = read_columns(frame)
    binarizer = Binarizer.of(columns)
    assert binarizer.levels == (frozenset([0]), frozenset([1]), frozenset([2]), frozenset([0]))
    assert binarizer.transform(columns.values).tolist() == [[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]]


@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-3, 3).map(float)),
    st.data(),
)
def test_a_lifted_model_predicts_the_same(X, data):
    binarizer = Binarizer.of(X)
    if binarizer.n_tests == 0:
        return
    bit = st.integers(0, binarizer.n_tests - 1)
    table = bit_tree(root=data.draw(bit), low=data.draw(bit), high=data.draw(bit))
    lifted = binarizer.lift(table)
    new = np.vstack([X, X + 0.4, np.full((1, X.shape[1]), np.nan)])
    bits = binarizer.transform(new)
    np.testing.assert_array_equal(evaluate.predict(lifted, new), evaluate.predict(table, bits.astype(float)))


def test_lifting_keeps_counts_and_level_sets():
    frame = pl.DataFrame({"colour": ["red", "blue", "green"], "length": [1.0, 2.0, 3.0]})
    columns = read_columns(frame)
    binarizer = Binarizer.of(columns)
    table = bit_tree(root=1, low=3, high=0)
    lifted = binarizer.lift(table)
    assert lifted.levels == (frozenset([1]), None, frozenset([0]), None, None, None, None)
    assert lifted.feature.tolist() == [0, 1, 0, LEAF, LEAF, LEAF, LEAF]
    assert lifted.threshold[1] == 1.5
    np.testing.assert_array_equal(lifted.weight, table.weight)
    bits = binarizer.transform(columns.values).astype(float)
    np.testing.assert_array_equal(evaluate.predict(lifted, columns.values), evaluate.predict(table, bits))


def test_what_cannot_be_lifted_or_read():
    binarizer = Binarizer.of([[0.0], [1.0]])
    with pytest.raises(ValueError, match="tests bit 1, but the rows have only 1"):
        binarizer.lift(bit_tree(root=0, low=1, high=0))
    with pytest.raises(ValueError, match=r"threshold outside \[0, 1\)"):
        binarizer.lift(bit_tree(root=0, low=0, high=0, threshold=1.0))
    with pytest.raises(ValueError, match=r"expected \(n_rows, 1\)"):
        binarizer.transform([[1, 2]])
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="max_thresholds"):
            Binarizer.of([[0.0]], max_thresholds=wrong)
