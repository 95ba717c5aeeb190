"""Trees of scikit-learn become node tables and the other way round, with equal predictions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from proofwood.model import evaluate
from proofwood.model.convert import last_rounded_low, to_sklearn
from proofwood.model.evaluate import low_weights
from proofwood.model.node_table import LEAF, NodeTable
from tests.sklearn_trees import from_sklearn_tree
from tests.tables import diamond, plane, stump

NAN = float("nan")


def test_a_stump_by_hand():
    clf = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    table = from_sklearn_tree(clf)
    assert table.feature.tolist() == [0, LEAF, LEAF]
    assert table.threshold[0] == last_rounded_low(2.0)
    assert table.weight.tolist() == [[2, 1], [2, 0], [0, 1]]
    assert table.rows.tolist() == [3, 2, 1]
    assert table.label.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        DecisionTreeClassifier(max_leaf_nodes=9, random_state=0),
        DecisionTreeClassifier(ccp_alpha=0.01, random_state=0),
        DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0),
        ExtraTreeClassifier(random_state=0),
        DecisionTreeClassifier(max_depth=1, min_samples_leaf=1000),
    ],
    ids=["depth", "best first", "pruned", "balanced", "extra", "leaf"],
)
@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_predictions_agree_there_and_back(estimator, data):
    X, y = data(return_X_y=True)
    estimator.fit(X, y)
    rng = np.random.default_rng(0)
    points = rng.uniform(X.min(axis=0), X.max(axis=0), (2000, X.shape[1]))
    # the hardest inputs: around each threshold, in steps far below those of float32
    tree = estimator.tree_
    tested = np.flatnonzero(tree.feature >= 0)
    for node in tested:
        near = np.repeat(points[:1], 9, axis=0)
        near[:, tree.feature[node]] = (
            tree.threshold[node] + np.arange(-4, 5) * np.spacing(np.float32(tree.threshold[node])) / 4
        )
        points = np.vstack([points, near])
    table = from_sklearn_tree(estimator)
    np.testing.assert_array_equal(evaluate.predict(table, points), estimator.predict(points))
    np.testing.assert_allclose(evaluate.probabilities(table, points), estimator.predict_proba(points), rtol=1e-12)
    if not isinstance(estimator, ExtraTreeClassifier):
        np.testing.assert_allclose(evaluate.probabilities(table, X), estimator.predict_proba(X), rtol=1e-12)

    back = to_sklearn(table, estimator.classes_, n_features=X.shape[1])
    single = points.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(back.predict(single), estimator.predict(single))
    np.testing.assert_allclose(back.predict_proba(single), estimator.predict_proba(single), rtol=1e-12)
    assert (back.get_depth(), back.get_n_leaves()) == (table.depth, table.n_leaves)


def test_nodes_correspond():
    X, y = load_wine(return_X_y=True)
    clf = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    table = from_sklearn_tree(clf)
    np.testing.assert_array_equal(evaluate.apply(table, X), clf.apply(X))
    assert (evaluate.decision_path(table, X) != clf.decision_path(X)).nnz == 0
    np.testing.assert_array_equal(table.weight.sum(axis=1), table.rows)


def test_missing_values_take_the_learned_side():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [NAN], [NAN]])
    for y in ([0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]):
        clf = DecisionTreeClassifier().fit(X, y)
        table = from_sklearn_tree(clf)
        assert evaluate.predict(table, X).tolist() == clf.predict(X).tolist() == y
        assert to_sklearn(table).predict(X).tolist() == y


float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(near=float32, steps=st.floats(-3, 3), where=st.floats(-3, 3))
def test_moved_thresholds_split_as_rounding_does(near, steps, where):
    assume(abs(near) < 3e38)
    step = float(np.spacing(np.float32(abs(near))))
    threshold, x = near + steps * step, near + where * step
    assert (x <= last_rounded_low(threshold)) == (float(np.float32(x)) <= threshold)


def test_moved_thresholds_by_hand():
    one, after = 1.0, 1.0 + 2.0**-23  # 1 has last bit 0, so the midpoint rounds to it
    assert last_rounded_low(one) == one + 2.0**-24
    assert last_rounded_low(after) == np.nextafter(one + 3 * 2.0**-24, 0)
    assert last_rounded_low(np.inf) == np.inf
    assert last_rounded_low([1.0, 2.0]).shape == (2,)
    largest = float(np.finfo(np.float32).max)
    assert np.float32(last_rounded_low(largest)) == largest


def test_a_label_that_is_not_the_heaviest_class_still_predicts():
    table = stump(0.5, weight=[[3, 3], [0, 0], [1, 2]])
    clf = to_sklearn(table, ["no", "yes"], feature_names=["x", "y"])
    X = pd.DataFrame([[0.0, 0.0], [1.0, 0.0]], columns=["x", "y"])
    assert clf.predict(X).tolist() == ["no", "yes"]
    assert clf.predict_proba(X).tolist() == [[1, 0], [1 / 3, 2 / 3]]
    other = to_sklearn(stump(0.5, weight=[[3, 3], [1, 2], [2, 1]]))
    assert other.predict([[0.0], [1.0]]).tolist() == [0, 1]
    assert other.predict_proba([[0.0], [1.0]]).tolist() == [[1, 0], [0, 1]]


def test_diagrams_are_unrolled():
    table = diamond()
    rows, codes = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    with pytest.raises(ValueError, match=r"shares nodes.*to_sklearn\(X, y\)"):
        to_sklearn(table)
    low_weight = low_weights(table, np.array(rows, dtype=float), np.array(codes), np.ones(4))
    assert low_weight.tolist() == [[1, 1], [1, 0], [0, 1], [0, 0], [0, 0]]
    for clf in (to_sklearn(table, low_weight=low_weight), to_sklearn(table, X=rows, codes=codes)):
        assert clf.predict(rows).tolist() == codes
        assert clf.tree_.n_node_samples.tolist() == [4, 2, 1, 1, 2, 1, 1]
        assert clf.tree_.weighted_n_node_samples.tolist() == [4, 2, 1, 1, 2, 1, 1]


def test_a_lone_leaf_converts():
    leaf = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [1], [[1, 2]], [3], [True])
    assert to_sklearn(leaf).predict([[7.0]]).tolist() == [1]


def test_what_does_not_convert_says_so():
    oblique = plane([1.0], 0.5)
    with pytest.raises(ValueError, match=r"oblique splits.*to_python"):
        to_sklearn(oblique)
    with pytest.raises(ValueError, match="classes has shape"):
        to_sklearn(stump(0.5), ["a"])
    with pytest.raises(ValueError, match="n_features is 1, but the model tests column 2"):
        to_sklearn(stump(feature=2), n_features=1)
    with pytest.raises(ValueError, match="1 names, expected 2"):
        to_sklearn(stump(0.5), n_features=2, feature_names=["a"])
