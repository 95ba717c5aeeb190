"""Costs of classes: matrices and costs per row against all trees of small tables, and against weights of classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import balanced_accuracy_score

from proofwood import OptimalTreeClassifier, load


def least(X, costs, rows, depth, price, least_rows):
    """The least cost of a tree, over all trees, in fractions; ``costs`` has one list per row."""
    found = min(sum(costs[row][label] for row in rows) for label in range(len(costs[0])))
    for column in range(X.shape[1] if depth else 0):
        for cut in sorted({X[row, column] for row in rows})[:-1]:
            low = [row for row in rows if X[row, column] <= cut]
            high = [row for row in rows if X[row, column] > cut]
            if min(len(low), len(high)) >= least_rows:
                sides = (least(X, costs, side, depth - 1, price, least_rows) for side in (low, high))
                found = min(found, price + sum(sides))
    return found


def random_case(rng):
    n, n_classes = int(rng.integers(4, 11)), int(rng.integers(2, 5))
    X = rng.integers(0, 4, (n, int(rng.integers(1, 3)))).astype(float)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n)])[:n]
    n_classes = np.unique(y).size
    matrix = rng.integers(-2, 7, (n_classes, n_classes)) / rng.choice([1.0, 10.0])
    kind = rng.choice(["any", "free when right", "weights", "per row"])
    if kind == "weights":
        matrix = np.repeat(np.abs(matrix[:, :1]) + 1, n_classes, axis=1)
    if kind in ("free when right", "weights"):
        np.fill_diagonal(matrix, 0.0)
    costs = rng.integers(0, 9, (n, n_classes)) / 8 if kind == "per row" else matrix[y]
    return X, y, None if kind == "per row" else matrix, costs


@pytest.mark.parametrize("seed", range(150))
def test_no_tree_costs_less(seed):
    rng = np.random.default_rng(seed)
    X, y, matrix, costs = random_case(rng)
    weights = rng.integers(1, 4, y.size).astype(float) if rng.random() < 0.5 else np.ones(y.size)
    depth, alpha, least_rows = int(rng.integers(0, 3)), float(rng.choice([0.0, 0.05])), int(rng.choice([1, 1, 2]))
    tree = OptimalTreeClassifier(depth, alpha=alpha, min_samples_leaf=least_rows, cost_matrix=matrix, time_limit=None)
    given = {"costs": costs} if matrix is None else {}
    tree.fit(X, y, weights, **given)

    exact = [
        [Fraction(w) * Fraction(str(cost)) for cost in row]
        for w, row in zip(weights.tolist(), costs.tolist(), strict=True)
    ]
    avoidable = [[cost - min(row) for cost in row] for row in exact]
    rows = list(range(y.size))
    price = Fraction(str(alpha)) * least(X, avoidable, rows, 0, Fraction(0), 1)
    best = float(least(X, avoidable, rows, depth, price, least_rows))
    assert tree.lower_bound_ <= best * (1 + 1e-15)
    assert tree.objective_ == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert tree.recount(X, y, weights, **given) == pytest.approx(tree.objective_, rel=1e-12)
    paid = tree.cost(X, y, weights, **given)
    assert paid + float(price) * (tree.get_n_leaves() - 1) == pytest.approx(
        tree.objective_ + tree.unavoidable_cost_, rel=1e-9, abs=1e-9
    )
    assert tree.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_a_matrix_of_weights_is_the_tree_of_these_weights():
    X, y = load_breast_cancer(return_X_y=True)
    costly = OptimalTreeClassifier(2, cost_matrix=[[0, 7], [1, 0]]).fit(X, y)
    weighted = OptimalTreeClassifier(2, class_weight={0: 7}).fit(X, y)
    assert costly.objective_ == weighted.objective_
    assert costly.status_ == "optimal"
    assert costly.result_.unit == "cost"
    assert np.array_equal(costly.predict(X), weighted.predict(X))
    # probabilities are shares of the rows, which costs do not change
    leaf = costly.apply(X) == costly.apply(X)[0]
    assert costly.predict_proba(X)[0] == pytest.approx(np.bincount(y[leaf], minlength=2) / leaf.sum())


def test_three_classes_of_unequal_costs_are_searched_as_costs(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    matrix = {
        "setosa": {"versicolor": 1, "virginica": 5},
        "versicolor": {"setosa": 1, "virginica": 2},
        "virginica": {"setosa": 9, "versicolor": 4, "virginica": -1},
    }
    tree = OptimalTreeClassifier(2, cost_matrix=matrix).fit(X, names)
    assert tree.result_.unit == "avoidable cost"
    assert tree.unavoidable_cost_ == -50
    assert "cost -" in tree.summary()
    assert tree.cost(X, names) == tree.objective_ - 50
    tree.save(tmp_path / "costs.json")
    again = load(tmp_path / "costs.json")
    assert again.cost(X, names) == tree.cost(X, names)
    assert again.summary().startswith(tree.summary().splitlines()[0])


def test_balanced_accuracy_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    tree = OptimalTreeClassifier(1, criterion="balanced_accuracy").fit(X[30:], y[30:])
    share = balanced_accuracy_score(y[30:], tree.predict(X[30:]))
    assert f"balanced accuracy {share:.4f}" in tree.summary()
    assert tree._claim() == "no tree of depth at most 1 has a greater balanced accuracy"


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({"cost_matrix": [[0, 1], [1, 0]]}, {}, r"has shape \(2, 2\): expected 3 rows"),
        ({"cost_matrix": {0: {1: 2}}}, {}, "no cost of 0 that is predicted as 2"),
        ({"cost_matrix": {7: {}}}, {}, "has 7, which is not a label"),
        ({"cost_matrix": {0: 3}}, {}, "has 3: expected a dict"),
        ({"cost_matrix": {0: {1: "a", 2: 1}}}, {}, "has the cost 'a' of 0 that is predicted as 1"),
        ({"cost_matrix": np.full((3, 3), np.nan)}, {}, "is not finite"),
        ({"cost_matrix": np.eye(3), "max_gap": 3}, {}, "max_gap=3"),
        ({"cost_matrix": 1 - np.eye(3), "alpha": 2.0}, {}, "alpha=2.0"),
        ({"cost_matrix": np.eye(3)}, {"costs": np.ones((150, 3))}, "pass one"),
        ({}, {"costs": np.ones((150, 2))}, r"costs has shape \(150, 2\)"),
        ({"criterion": "balanced_accuracy", "class_weight": "balanced"}, {}, "leave out class_weight"),
        ({"criterion": "balanced_accuracy", "cost_matrix": np.eye(3)}, {}, "has no costs"),
        ({"criterion": "accuracy"}, {}, "criterion='accuracy'"),
    ],
)
def test_costs_that_cannot_be_used(parameters, given, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        OptimalTreeClassifier(1, **parameters).fit(X, y, **given)


def test_a_tree_of_costs_per_row_is_recounted_with_costs_alone():
    X, y = load_iris(return_X_y=True)
    costs = np.random.default_rng(0).integers(0, 9, (150, 3)).astype(float)
    tree = OptimalTreeClassifier(1).fit(X, y, costs=costs)
    assert tree.recount(X, y, costs=costs) == tree.objective_
    with pytest.raises(ValueError, match="pass costs for these rows, too"):
        tree.recount(X, y)
