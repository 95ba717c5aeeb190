"""Hyperplanes over scaled columns, brought back to the columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood import DataError
from proofwood.data.scale import Scaling
from proofwood.model.evaluate import apply, edge_weights, predict
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from tests.strategies import examples
from tests.tables import stump, table_of


def diagram(normals, offsets, low, high, labels) -> NodeTable:
    """Oblique splits first, then leaves with the labels."""
    k, ends = len(normals), len(labels)
    d = len(normals[0])
    sums = Normals([*np.arange(k + 1) * d, *[k * d] * ends], list(range(d)) * k, np.ravel(normals))
    return table_of([OBLIQUE] * k, low, high, labels, offsets, normals=sums)


def test_columns_are_mapped_onto_the_unit_interval():
    X = np.array([[1.0, 7.0, -5.0], [3.0, 7.0, 5.0], [2.0, 7.0, 0.0]])
    scaling = Scaling.of(X)
    np.testing.assert_array_equal(scaling.transform(X), [[0, 0, 0], [1, 0, 1], [0.5, 0, 0.5]])
    assert scaling.transform(np.array([[5.0, 9.0, 0.0]])).tolist() == [[2, 0, 0.5]]


def test_a_test_in_the_unit_of_the_columns():
    X = np.array([[10.0, 100.0], [20.0, 300.0], [10.0, 300.0], [20.0, 100.0]])
    table = diagram([[0.5, -0.25]], [0.1], [1], [2], [0, 1])  # 0.05 * (x0 - 10) - 0.00125 * (x1 - 100) <= 0.1
    lifted = Scaling.of(X).lift(table, X)
    assert lifted.normals is not None
    assert lifted.normals.values.tolist() == [1.0, pytest.approx(-0.025)]
    # the sums are 7.5, 12.5, 2.5, 17.5, and those of the first and third row go low
    assert lifted.threshold[0] == pytest.approx(10.0)
    assert predict(lifted, X).tolist() == [0, 1, 0, 1]


def test_a_single_coefficient_is_a_test_of_the_column():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    plain = Scaling.of(X).lift(diagram([[0.7, 0.3]], [0.3], [1], [2], [0, 1]), X)  # the second column is constant
    assert (plain.feature[0], plain.threshold[0], plain.normals) == (0, 3.0, None)
    assert predict(plain, X).tolist() == [0, 0, 1]
    turned = Scaling.of(X).lift(diagram([[-0.7, 0.0]], [-0.3], [1], [2], [0, 1]), X)
    assert (turned.feature[0], turned.threshold[0]) == (0, 3.0)
    assert predict(turned, X).tolist() == [1, 1, 0]


def test_a_test_without_coefficients_goes_one_way():
    X = np.array([[1.0], [2.0]])
    for offset, side in ((0.5, 0), (0.0, 0), (-0.5, 1)):
        assert predict(Scaling.of(X).lift(diagram([[0.0]], [offset], [1], [2], [0, 1]), X), X).tolist() == [side] * 2


def test_a_leaf_is_a_leaf():
    leaf = NodeTable([LEAF], [np.nan], [LEAF], [LEAF], [0], [[2.0]], [2], [True])
    assert Scaling.of(np.ones((2, 1))).lift(leaf, np.ones((2, 1))) is leaf


def test_a_split_that_all_rows_pass_on_one_side():
    X = np.array([[0.1], [0.7], [0.4]])
    for normal, offset, side in ((0.3, 0.3, 0), (-0.3, -0.3, 0), (0.3, -1e-17, 1), (-0.3, 0.0, 0)):
        table = diagram([[normal]], [offset], [1], [2], [0, 1])
        expected = [int(normal * x > offset) for x in Scaling.of(X).transform(X)[:, 0]]
        assert predict(Scaling.of(X).lift(table, X), X).tolist() == expected, side


def test_columns_beyond_float64():
    with pytest.raises(DataError, match="column 1 has values from -1e"):
        Scaling.of(np.array([[0.0, -1e308], [1.0, 1e308]]))
    X = np.array([[0.0, 0.0], [5e-324, 1.0]])  # a coefficient by this range would not fit
    table = diagram([[0.9, 0.1]], [0.5], [1], [2], [0, 1])
    assert predict(Scaling.of(X).lift(table, X), X).tolist() == [0, 1]


def test_a_hyperplane_that_rounding_loses():
    base = 1e15
    X = base + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    X[:, 1] *= 3
    table = diagram([[0.5, 0.499999]], [0.4999995], [1], [2], [0, 1])
    with pytest.raises(DataError, match=r"rounding destroys a hyperplane over the columns 0, 1.*Subtract a constant"):
        Scaling.of(X).lift(table, X)


def test_tests_of_columns_are_refused():
    with pytest.raises(ValueError, match="expected only oblique tests"):
        Scaling.of(np.eye(2)).lift(stump(), np.eye(2))


@examples(1.5)
@given(st.integers(0, 2**32 - 1))
def test_every_row_goes_the_same_way(seed):
    random = np.random.default_rng(seed)
    n, d = int(random.integers(2, 30)), int(random.integers(1, 5))
    X = random.integers(-3, 4, (n, d)) * 10.0 ** random.integers(-6, 7, d) + 10.0 ** random.integers(-3, 4, d)
    normals = random.integers(-3, 4, (4, d)) / 8 + random.choice([0, 1e-3], (4, d))
    # a diamond whose last split is shared
    table = diagram(normals, random.integers(-4, 5, 4) / 8 + 1e-5, [1, 3, 3, 4], [2, 4, 5, 5], [0, 1])
    scaling = Scaling.of(X)
    lifted = scaling.lift(table, X)
    assert lifted.n_splits == 4
    np.testing.assert_array_equal(predict(lifted, X), predict(table, scaling.transform(X)))
    if lifted.normals is not None:
        assert np.all(np.abs(lifted.normals.values) <= 1)


def test_the_weight_on_edges():
    X = np.array([[0.0], [1.0], [2.0]])
    table = Scaling.of(X).lift(diagram([[1.0]], [0.6], [1], [2], [0, 1]), X)
    assert edge_weights(table, X).tolist() == [[2, 1], [0, 0], [0, 0]]
    assert edge_weights(table, X, [0.5, 0.25, 2.0])[0].tolist() == [0.75, 2]
    assert apply(table, X).tolist() == [1, 1, 2]
