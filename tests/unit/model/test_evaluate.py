"""Rows walk down the table as its docstring says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proofwood.model import ensemble, evaluate
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from tests.tables import stump, table_of

NAN = float("nan")


def mixed_table():
    """Root: oblique x0 - 2 x1 <= 1. Low: level test of x2 in {0, 3}. High: x0 <= 5. Both share the leaf 4."""
    return table_of(
        [OBLIQUE, 2, 0],
        [1, 3, 4],
        [2, 4, 5],
        [0, 1, 2],
        [1.0, NAN, 5.0],
        label=[0, 0, 1, 0, 1, 2],
        weight=[[4, 4, 2], [4, 1, 0], [0, 3, 2], [4, 0, 0], [0, 4, 0], [0, 0, 0]],
        rows=[10, 5, 5, 4, 4, 0],
        missing_low=[False, True, False, True, True, True],
        levels=[None, {0, 3}, None, None, None, None],
        normals=Normals([0, 2, 2, 2, 2, 2, 2], [0, 1], [1.0, -2.0]),
    )


ROWS = np.array(
    [
        [1.0, 0.0, 0.0],  # sum 1 <= 1: low; level 0: leaf 3
        [0.0, 0.0, 3.0],  # low; level 3: leaf 3
        [0.0, 0.0, 1.0],  # low; level 1: leaf 4
        [0.0, 0.0, 9.0],  # low; a level never seen goes high: leaf 4
        [0.0, 0.0, NAN],  # low; missing goes low: leaf 3
        [5.0, 0.0, 0.0],  # sum 5: high; 5 <= 5: leaf 4
        [5.5, 0.0, 0.0],  # high; leaf 5
        [4.0, NAN, 0.0],  # a missing summand goes high; 4 <= 5: leaf 4
        [NAN, 0.0, 0.0],  # high; missing goes high: leaf 5
        [np.inf, np.inf, 0.0],  # inf - inf counts as missing: high; leaf 5
    ]
)
LEAVES = [3, 3, 4, 4, 3, 4, 5, 4, 5, 5]
PATHS = [[0, 1, 3], [0, 1, 3], [0, 1, 4], [0, 1, 4], [0, 1, 3], [0, 2, 4], [0, 2, 5], [0, 2, 4], [0, 2, 5], [0, 2, 5]]


def test_apply_handles_every_kind_of_test():
    assert evaluate.apply(mixed_table(), ROWS).tolist() == LEAVES


def test_predict_is_the_label_of_the_leaf():
    assert evaluate.predict(mixed_table(), ROWS).tolist() == [0, 0, 1, 1, 0, 1, 2, 1, 2, 2]


def test_probabilities_are_shares_and_an_empty_leaf_is_sure_of_its_label():
    shares = evaluate.probabilities(mixed_table(), ROWS)
    np.testing.assert_array_equal(shares.sum(axis=1), 1.0)
    assert shares[6].tolist() == [0, 0, 1]  # leaf 5 holds no weight
    np.testing.assert_allclose(evaluate.node_probabilities(mixed_table())[0], [0.4, 0.4, 0.2])
    assert evaluate.class_weights(mixed_table(), ROWS)[2].tolist() == [0, 4, 0]


def test_probabilities_of_huge_weights_are_finite():
    leaf = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [0], [[1.5e308, 1.5e308]], [2], [True])
    assert evaluate.node_probabilities(leaf).tolist() == [[0.5, 0.5]]


def test_paths_agree():
    table = mixed_table()
    matrix = evaluate.decision_path(table, ROWS)
    assert matrix.shape == (10, 6)
    assert matrix.has_canonical_format
    assert [matrix[i].indices.tolist() for i in range(10)] == PATHS
    assert [evaluate.path(table, row) for row in ROWS] == PATHS
    assert set(matrix.data.tolist()) == {1}


def test_no_rows_are_no_error():
    table = mixed_table()
    assert evaluate.apply(table, np.empty((0, 3))).shape == (0,)
    assert evaluate.decision_path(table, np.empty((0, 3))).shape == (0, 6)
    assert evaluate.probabilities(table, np.empty((0, 3))).shape == (0, 3)


def test_a_lone_leaf_takes_rows_without_columns():
    leaf = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [1], [[1, 2]], [3], [True])
    assert evaluate.predict(leaf, np.empty((4, 0))).tolist() == [1] * 4
    assert evaluate.path(leaf, []) == [0]


def test_values_are_compared_in_float64():
    table = NodeTable(
        [0, -1, -1], [2.0**24, NAN, NAN], [1, -1, -1], [2, -1, -1], [0, 0, 1], np.ones((3, 2)), [2, 1, 1], [True] * 3
    )
    assert evaluate.predict(table, [[2.0**24], [2.0**24 + 1]]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (np.zeros((2, 2)), "X has 2 columns, but the model tests column 2: expected at least 3"),
        (np.zeros(3), r"X has shape \(3,\).*reshape\(1, -1\)"),
    ],
)
@pytest.mark.parametrize("function", [evaluate.apply, evaluate.predict, evaluate.decision_path, evaluate.probabilities])
def test_wrong_shapes_are_refused(function, X, says):
    with pytest.raises(ValueError, match=says):
        function(mixed_table(), X)


def test_path_takes_one_row():
    with pytest.raises(ValueError, match="expected one row"):
        evaluate.path(mixed_table(), ROWS)


@given(hnp.arrays(np.float64, (12, 3), elements=st.floats(allow_nan=True, allow_infinity=True, width=16)))
def test_rows_do_not_depend_on_the_rows_beside_them(X):
    table = mixed_table()
    together = evaluate.apply(table, X)
    assert together.tolist() == [evaluate.path(table, row)[-1] for row in X]


# --------------------------------------------------------------- ensembles


def members():
    """At x = 1.5 they say class 1, 1 and 0; the third is the surest of its vote, and has most weight in its leaf."""
    return (
        stump(0.0, weight=[[5, 5], [3, 1], [2, 3]]),
        stump(1.0, weight=[[5, 5], [3, 1], [2, 3]]),
        stump(2.0, weight=[[50, 50], [40, 0], [10, 50]]),
    )


@pytest.mark.parametrize(
    ("vote", "weights", "scores", "code"),
    [
        ("majority", None, [1.0, 2.0], 1),
        ("mean", None, [(0.4 + 0.4 + 1) / 3, (0.6 + 0.6 + 0) / 3], 0),
        ("sum", None, [44.0, 6.0], 0),
        ("majority", [1, 1, 2], [2.0, 2.0], 0),  # a tie goes to the lowest code
        ("mean", [1, 1, 0], [0.4, 0.6], 1),
    ],
)
def test_how_ensembles_vote(vote, weights, scores, code):
    model = ensemble.Ensemble(members(), weights, vote)
    np.testing.assert_allclose(ensemble.scores(model, [[1.5]]), [scores])
    assert ensemble.predict(model, [[1.5], [1.5]]).tolist() == [code, code]
    assert (model.n_classes, model.n_columns) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (((),), "at least one member"),
        (((stump(weight=np.ones((3, 2))), stump(weight=np.ones((3, 3)))),), "the same classes"),
        ((members(), [1.0]), r"weights has shape \(1,\)"),
        ((members(), [0.0, 0.0, 0.0]), "at least one of them positive"),
        ((members(), [1.0, -1.0, 1.0]), "not negative"),
        ((members(), None, "loudest"), "vote='loudest': expected one of 'majority', 'mean', 'sum'"),
    ],
)
def test_an_ensemble_that_is_none_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        ensemble.Ensemble(*arguments)


def test_an_ensemble_needs_every_column_of_its_members():
    with pytest.raises(ValueError, match="expected at least 1 columns"):
        ensemble.predict(ensemble.Ensemble(members()), np.empty((2, 0)))
