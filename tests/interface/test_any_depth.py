"""Trees of every depth, as users meet them: ``max_depth=None`` of the classifier, files, reports, the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from proofwood import (
    OptimalPolicyTree,
    OptimalSurvivalTree,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    compare,
    load,
)
from tests.command_line import failed, worked

RNG = np.random.default_rng(4)
X = pd.DataFrame(RNG.integers(0, 2, (300, 7)), columns=list("abcdefg"))
Y = np.where((X.a ^ X.b ^ X.c) & X.d ^ (RNG.random(300) < 0.04), "yes", "no")


@pytest.fixture(scope="module")
def tree():
    return OptimalTreeClassifier(max_depth=None, alpha=0.005).fit(X, Y)


def test_the_tree_is_that_of_every_depth_that_it_has(tree):
    assert tree.status_ == "optimal"
    assert tree.model_.depth > 3
    assert tree.objective_ < OptimalTreeClassifier(max_depth=3, alpha=0.005).fit(X, Y).objective_
    for depth in (tree.model_.depth, 12):
        other = OptimalTreeClassifier(max_depth=depth, alpha=0.005).fit(X, Y)
        assert other.export_text() == tree.export_text()
    assert tree.recount(X, Y) == tree.objective_
    assert OptimalTreeClassifier(max_depth=None, alpha=0.005, n_jobs=2).fit(X, Y).export_text() == tree.export_text()


def test_what_it_says(tree):
    assert "max_depth=None" in repr(tree)
    assert tree.summary().startswith(f"depth-{tree.model_.depth} tree")
    assert tree.result_.scope == ()


def test_it_is_copied_saved_and_loaded(tree, tmp_path):
    again = clone(tree).fit(X, Y)
    assert again.export_text() == tree.export_text()
    tree.save(tmp_path / "tree.json")
    loaded = load(tmp_path / "tree.json")
    assert loaded.max_depth is None
    assert loaded.objective_ == tree.objective_
    assert (loaded.predict(X) == tree.predict(X)).all()


def test_a_search_that_stops_goes_on_from_its_file(tmp_path):
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (300, 80)), rng.integers(0, 2, 300)
    tree = OptimalTreeClassifier(max_depth=None, alpha=0.01, time_limit=0.4, checkpoint=tmp_path / "state")
    with pytest.warns(match="a larger alpha, a max_depth or a max_gap"):
        first = clone(tree).fit(rows, labels)
    with pytest.warns(match="before the proof was complete"):
        second = clone(tree).fit(rows, labels)
    assert first.lower_bound_ > 0
    assert second.lower_bound_ >= first.lower_bound_


def test_it_stands_in_comparisons_and_cross_validation(tree):
    assert cross_val_score(OptimalTreeClassifier(max_depth=None, alpha=0.005), X, Y, cv=3).min() > 0.8
    found = compare(X, Y, models={"any depth": clone(tree)}, cv=3)
    assert "any depth" in str(found)


def test_categories_of_many_levels_are_cut_in_one_order():
    levels = RNG.integers(0, 20, 300)
    frame = pd.DataFrame(
        {"few": np.array(list("xyz"))[RNG.integers(0, 3, 300)], "many": [f"level {k}" for k in levels]}
    )
    labels = np.where((levels % 3 == 0) ^ (frame.few == "y"), "yes", "no")
    free = OptimalTreeClassifier(max_depth=None, alpha=0.02, min_samples_level=1).fit(frame, labels)
    assert free.status_ == "optimal"
    assert len(free.result_.scope) == 1
    assert "many" in free.result_.scope[0]


@pytest.mark.parametrize("kind", ["errors", "balanced_accuracy"])
def test_weights_and_costs_of_classes(kind):
    free = OptimalTreeClassifier(max_depth=None, alpha=0.01, criterion=kind).fit(X, Y)
    deep = OptimalTreeClassifier(max_depth=9, alpha=0.01, criterion=kind).fit(X, Y)
    assert free.export_text() == deep.export_text()
    costs = {"yes": {"no": 3}, "no": {"yes": 1}}
    free = OptimalTreeClassifier(max_depth=None, alpha=0.01, cost_matrix=costs).fit(X, Y)
    deep = OptimalTreeClassifier(max_depth=9, alpha=0.01, cost_matrix=costs).fit(X, Y)
    assert free.objective_ == deep.objective_


def test_what_cannot_be_searched_so_is_refused():
    def refused(learner, *data, match):
        with pytest.raises(ValueError, match=match):
            learner.fit(*data)

    refused(OptimalTreeClassifier(max_depth=None), X, Y, match="pass alpha")
    for criterion in ("log_loss", "gini"):
        refused(
            OptimalTreeClassifier(max_depth=None, alpha=0.1, criterion=criterion), X, Y, match="only errors of classes"
        )
    refused(OptimalTreeClassifier(max_depth="none", alpha=0.1), X, Y, match="is not a depth")
    refused(OptimalTreeCV(max_depth=None), X, Y, match="which a cross-validation does not search: pass a depth")
    others = r"^max_depth=None asks for trees of every depth: only errors of classes can be searched so; pass a depth"
    refused(OptimalTreeRegressor(max_depth=None, alpha=0.1), X, RNG.random(300), match=others)
    refused(OptimalPolicyTree(max_depth=None, alpha=0.1), X, RNG.random((300, 2)), match=others)
    times = np.rec.fromarrays([RNG.random(300) < 0.5, RNG.random(300)], names="event,time")
    refused(OptimalSurvivalTree(max_depth=None, alpha=0.1), X, times, match=others)


def test_from_the_command_line(tmp_path, tree):
    X.assign(y=Y).to_csv(tmp_path / "train.csv", index=False)
    fit = ("fit", tmp_path / "train.csv", "--target", "y", "--max-depth")
    shown = worked(*fit, "none", "--alpha", 0.005, "--out", tmp_path / "tree.json")
    assert "no tree of any depth costs less" in shown
    assert "CART" in shown
    assert load(tmp_path / "tree.json").objective_ == tree.objective_
    answer = json.loads(worked(*fit, "none", "--alpha", 0.005, "--json"))
    assert answer["proof"]["status"] == "optimal"
    assert "pass alpha" in failed(*fit, "none")
    assert "--max-depth 'deep': expected a number of tests (such as 3), or none" in failed(*fit, "deep")
    every = "--max-depth none asks for trees of every depth"
    assert f"{every}, which a cross-validation does not search: pass a depth" in failed(*fit, "none", "--cv", 3)
    assert f"{every}, which a path by leaves does not search: pass a depth" in failed("path", *fit[1:], "none")
    of_numbers = ("fit", tmp_path / "train.csv", "--target", "a", "--model", "regressor", "--max-depth", "none")
    assert f"{every}: only errors of classes can be searched so; pass a depth" in failed(*of_numbers)
