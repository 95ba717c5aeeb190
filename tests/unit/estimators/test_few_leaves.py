"""``max_leaf_nodes``: the best tree of few leaves, what it goes with, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from proofwood import (
    DemographicParity,
    ModelFileError,
    OptimalSurvivalTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    load,
)
from proofwood.result import Status

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.array(["no", "yes"])[((X[:, 0] > 0.3) ^ (X[:, 1] > 0) ^ (RNG.random(150) < 0.1)).astype(int)]


def test_fewer_leaves_have_more_errors_and_a_proof() -> None:
    trees = [OptimalTreeClassifier(3, max_leaf_nodes=most).fit(X, Y) for most in range(1, 9)]
    errors = [tree.objective_ for tree in trees]
    assert errors == sorted(errors, reverse=True)
    assert {tree.status_ for tree in trees} == {Status.OPTIMAL}
    assert all(tree.get_n_leaves() <= most for most, tree in enumerate(trees, start=1))
    assert errors[0] == OptimalTreeClassifier(0).fit(X, Y).objective_
    assert errors[-1] == OptimalTreeClassifier(3).fit(X, Y).objective_


def test_of_any_depth_few_leaves_are_no_worse() -> None:
    held = OptimalTreeClassifier(2, max_leaf_nodes=4).fit(X, Y)
    free = OptimalTreeClassifier(None, max_leaf_nodes=4).fit(X, Y)
    assert free.objective_ <= held.objective_
    assert free.objective_ == OptimalTreeClassifier(3, max_leaf_nodes=4).fit(X, Y).objective_
    assert free._claim() == "no tree of at most 4 leaves makes fewer errors"


def test_a_price_and_weights_count_too() -> None:
    weights = RNG.integers(1, 4, X.shape[0])
    tree = OptimalTreeClassifier(3, max_leaf_nodes=6, alpha=0.02).fit(X, Y, weights)
    free = OptimalTreeClassifier(3, alpha=0.02).fit(X, Y, weights)
    assert free.get_n_leaves() <= 6
    assert tree.objective_ == free.objective_ == pytest.approx(tree.recount(X, Y, weights))
    assert tree._claim() == "no tree of depth at most 3 and at most 6 leaves costs less"


def test_the_scope_names_the_leaves_and_a_file_keeps_them(tmp_path: Path) -> None:
    tree = OptimalTreeClassifier(3, max_leaf_nodes=3).fit(X, Y)
    assert tree.result_.scope == ("trees of at most 3 leaves",)
    assert "trees of at most 3 leaves" in tree.summary()
    assert tree._claim() == "no tree of depth at most 3 and at most 3 leaves makes fewer errors"
    leaf = OptimalTreeClassifier(3, max_leaf_nodes=1).fit(X, Y)
    assert (leaf.result_.scope, leaf._claim()) == (("trees of one leaf",), "no tree of one leaf makes fewer errors")
    tree.save(tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert again.max_leaf_nodes == 3
    assert again.result_.scope == tree.result_.scope
    text = (tmp_path / "tree.json").read_text()
    (tmp_path / "forged.json").write_text(text.replace('"max_leaf_nodes": 3', '"max_leaf_nodes": 2'))
    with pytest.raises(ModelFileError):
        load(tmp_path / "forged.json")


def test_as_many_leaves_as_the_depth_has_limit_nothing() -> None:
    tree = OptimalTreeClassifier(2, max_leaf_nodes=4).fit(X, Y)
    assert tree.result_.scope == ()
    assert tree.objective_ == OptimalTreeClassifier(2).fit(X, Y).objective_


def test_levels_of_text_are_columns() -> None:
    table = pd.DataFrame({"kind": np.array(list("abcd"))[RNG.integers(0, 4, 150)], "x": X[:, 0]})
    labels = np.where(table["kind"].isin(["a", "c"]), "no", "yes")
    tree = OptimalTreeClassifier(3, max_leaf_nodes=2).fit(table, labels)
    assert (tree.objective_, tree.status_, tree.get_n_leaves()) == (0, Status.OPTIMAL, 2)


@pytest.mark.parametrize(
    ("learner", "target"),
    [
        (OptimalTreeRegressor(), X[:, 0] + 2 * X[:, 1] ** 2),
        (OptimalTreeRegressor(criterion="poisson"), RNG.poisson(2, 150).astype(float)),
        (OptimalTreeRegressor(criterion="gamma"), RNG.random(150) + 0.1),
        (OptimalSurvivalTree(), np.column_stack([RNG.random(150) + 0.1, RNG.random(150) < 0.7])),
        (OptimalTreeClassifier(criterion="gini"), Y),
        (OptimalTreeClassifier(criterion="log_loss"), Y),
        (OptimalTreeClassifier(cost_matrix=[[0, 1], [2, 0]]), Y),
    ],
)
def test_every_target(learner: Any, target: Any, tmp_path: Path) -> None:
    trees = [clone(learner).set_params(max_depth=2, max_leaf_nodes=most).fit(X, target) for most in (1, 2, 3, 4)]
    objectives = [tree.objective_ for tree in trees]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[2] < objectives[0]
    assert all(tree.get_n_leaves() <= most for most, tree in enumerate(trees, start=1))
    assert all(tree.gap_ <= 1e-9 * objectives[0] for tree in trees)
    assert objectives[1] == clone(learner).set_params(max_depth=1).fit(X, target).objective_
    assert objectives[3] == pytest.approx(clone(learner).set_params(max_depth=2).fit(X, target).objective_)
    assert "tree of depth at most 2 and at most 3 leaves" in trees[2]._claim()
    trees[2].save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").result_.scope == trees[2].result_.scope == ("trees of at most 3 leaves",)


def test_costs_of_each_row() -> None:
    costs = RNG.random((150, 2))
    tree, free = (OptimalTreeClassifier(2, max_leaf_nodes=most).fit(X, Y, costs=costs) for most in (3, None))
    assert tree.get_n_leaves() <= 3
    assert free.objective_ <= tree.objective_ <= OptimalTreeClassifier(1).fit(X, Y, costs=costs).objective_


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_leaf_nodes": 0}, "expected an integer from 1 to 17"),
        ({"max_leaf_nodes": 2.5}, "expected an integer from 1 to 17"),
        ({"max_leaf_nodes": 18, "max_depth": 5}, "up to 17: pass a number"),
        ({"criterion": "f1", "pos_label": "yes"}, "does not go with criterion='f1'"),
        ({"monotonic_cst": [1, 0, 0]}, "does not go with monotonic_cst"),
        ({"constraints": DemographicParity(ratio=0.8)}, "does not go with"),
        ({"checkpoint": "a.search"}, "does not go with checkpoint"),
    ],
)
def test_what_it_does_not_go_with(given: dict[str, Any], said: str) -> None:
    groups = {"sensitive_features": X[:, 2] > 0} if "constraints" in given else {}
    with pytest.raises(ValueError, match=said):
        OptimalTreeClassifier(**{"max_leaf_nodes": 3, **given}).fit(X, Y, **groups)


def test_questions_about_all_trees_are_refused() -> None:
    tree = OptimalTreeClassifier(3, max_leaf_nodes=3).fit(X, Y)
    with pytest.raises(ValueError, match="fit one without max_leaf_nodes"):
        tree.flip_cost(X[:1], X, Y)


def test_a_grid_over_leaves() -> None:
    search = GridSearchCV(OptimalTreeClassifier(), {"max_leaf_nodes": [2, 4, None]}, cv=2).fit(X, Y)
    assert search.best_params_["max_leaf_nodes"] in (4, None)
