"""Cross-validation as people need it: shuffled folds, groups, baselines, figures that the model keeps, notes."""

from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, precision_score, recall_score
from sklearn.model_selection import GroupKFold, KFold

import proofwood
from proofwood import DataWarning, OptimalTreeClassifier, OptimalTreeCV, compare
from proofwood.estimators.folds import folds_of
from proofwood.estimators.validation import Validation, corrected_interval
from proofwood.hints import About
from tests.command_line import failed, worked

ROWS = 240


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(7)
    X = pd.DataFrame({"a": random.normal(size=ROWS).round(3), "b": random.integers(0, 9, ROWS)})
    y = np.where(X.a + random.normal(scale=0.6, size=ROWS) > 0.6, "yes", "no")
    return X, y


@pytest.fixture(autouse=True)
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def test_a_number_of_folds_is_shuffled_and_repeatable(table) -> None:
    X, y = table
    y = np.sort(y)
    folds = folds_of(4, X, y, None, 3)
    assert [[*train, *test] for train, test in folds] != [[*range(ROWS)]] * 4
    for (train, test), (again, _) in zip(folds, folds_of(4, X, y, None, 3), strict=True):
        assert np.array_equal(train, again)
        assert sorted([*train, *test]) == list(range(ROWS))
        assert abs(np.mean(y[test] == "yes") - np.mean(y == "yes")) < 0.03
        assert np.any(np.diff(test) > 1)
    assert len(folds_of(None, X, y, None, 0)) == 5
    assert [test.tolist() for _, test in folds_of(KFold(2), X, y, None, 0)] == [list(range(120)), list(range(120, 240))]
    groups = np.arange(ROWS) // 8
    for train, test in folds_of(3, X, y, groups, 0):
        assert not set(groups[train]) & set(groups[test])
    for wrong in (1, 0, -2):
        with pytest.raises(ValueError, match="expected a number of folds from 2"):
            folds_of(wrong, X, y, None, 0)


def test_sorted_copies_give_the_same_choice(table) -> None:
    X, y = table
    order = np.argsort(y, kind="stable")
    one = OptimalTreeCV((1, 2), cv=4).fit(X, y)
    other = OptimalTreeCV((1, 2), cv=4).fit(X.iloc[order], y[order])
    assert one.best_params_ == other.best_params_
    assert one.model_ == other.model_
    assert one.validation_ == other.validation_
    rows = X.assign(a=X.a.where(np.arange(ROWS) % 9 > 0)).to_numpy(float)  # with gaps
    folds = folds_of(4, rows, y, None, 0, rows)
    again = folds_of(4, rows[order], y[order], None, 0, rows[order])
    assert [set(test) for _, test in folds] == [set(order[test]) for _, test in again]
    by_row = OptimalTreeCV((1, 2), cv=KFold(4)).fit(X.iloc[order], y[order])
    assert by_row.best_score_ < one.best_score_ - 0.1


def test_the_figures_are_those_of_the_folds(table, tmp_path: Path) -> None:
    X, y = table
    tree = OptimalTreeCV((1, 2), alpha=0.01, cv=4, random_state=5).fit(X, y)
    found = tree.validation_
    predicted = np.empty(ROWS, dtype=y.dtype)
    scores = []
    for train, test in folds_of(4, X, y, None, 5, X.to_numpy(float)):
        fold = OptimalTreeClassifier(**tree.best_params_).fit(X.iloc[train], y[train])
        predicted[test] = fold.predict(X.iloc[test])
        scores.append(accuracy_score(y[test], predicted[test]))
    assert found.mean == pytest.approx(np.mean(scores))
    assert found.error == pytest.approx(np.std(scores, ddof=1) / 2)
    assert found.baseline == pytest.approx(np.mean(y == "no"), abs=0.01)
    for one in found.classes:
        assert one.rows == np.sum(y == one.label)
        assert one.recall == pytest.approx(recall_score(y, predicted, pos_label=one.label))
        assert one.precision == pytest.approx(precision_score(y, predicted, pos_label=one.label))
    assert f"new rows: {found}" in tree.summary()
    assert f"; the most frequent class alone: {found.baseline:.4g}" in str(found)
    tree.save(tmp_path / "tree.json")
    loaded = proofwood.load(tmp_path / "tree.json")
    assert loaded.validation_ == found
    assert f"new rows: claimed when the file was written: {found}" in loaded.summary()
    assert OptimalTreeClassifier(1).fit(X, y).validation_ is None


@pytest.mark.parametrize(
    "change",
    [
        {"mean": "high"},
        {"folds": 0},
        {"score": 1},
        {"classes": [{"label": "a", "rows": 1, "predicted": 1, "right": 2}]},
        {"classes": [{"label": "a", "rows": -1, "predicted": 1, "right": 0}]},
        {"classes": [{"label": 3, "rows": 1, "predicted": 1, "right": 0}]},
    ],
)
def test_figures_that_cannot_be_are_refused(change: dict) -> None:
    saved = {"score": "accuracy", "mean": 0.5, "error": None, "baseline": None, "folds": 2, "classes": []}
    assert math.isnan(Validation.from_dict(saved).error)
    with pytest.raises((ValueError, TypeError)):
        Validation.from_dict({**saved, **change})


def test_the_interval_of_the_folds_has_the_confidence_of_those_beside_it(table, tmp_path: Path) -> None:
    X, y = table
    tree = OptimalTreeCV(max_depth=2, cv=4, random_state=1).fit(X, y)
    scores = np.array([tree.cv_results_[f"split{k}_test_score"][tree.best_index_] for k in range(4)])
    found, wanted = tree.validation_.interval(ROWS), corrected_interval(scores, 1 / 3)
    assert (found.mean, found.low, found.high) == pytest.approx((wanted.mean, wanted.low, wanted.high))
    half = found.high - found.mean
    assert half == pytest.approx(3.1824 * tree.validation_.error * math.sqrt(1 + 4 / 3), rel=1e-4), "t of 3, 97.5 %"
    proofwood.write_report(tree, tmp_path / "r.html", X, y)
    page = (tmp_path / "r.html").read_text()
    low, high = 100 * (1 - found.high), 100 * (1 - found.low)
    assert f"mean of 4 folds that were held out in turn; 95\u202f% interval {low:.1f} to {high:.1f}\u202f%" in page
    top = float(re.search(r'<span class="end">(\d+)', page)[1])
    ends = [float(end) * top / 100 for end in re.search(r'class="range" d="M([\d.]+) 14H([\d.]+)"', page).groups()]
    assert ends == pytest.approx([low, high], abs=0.02), "what is drawn is what is said"


def test_folds_of_one_score_have_no_interval(tmp_path: Path) -> None:
    X, y = pd.DataFrame({"a": np.repeat([0, 1], 20)}), np.repeat([0, 1], 20)
    tree = OptimalTreeCV(max_depth=1, cv=2, random_state=0).fit(X, y)
    assert tree.validation_.mean == 1.0
    proofwood.write_report(tree, tmp_path / "r.html", X, y)
    page = (tmp_path / "r.html").read_text()
    assert "mean of 2 folds that were held out in turn<" in page
    assert 'class="range" d="M' not in page.split('id="model"')[0]


def test_groups_are_kept_together(table) -> None:
    X, y = table
    groups = np.arange(ROWS) // 8
    by_number = OptimalTreeCV((1, 2), cv=4).fit(X, y, groups=groups)
    assert by_number.n_splits_ == 4
    assert OptimalTreeCV((1, 2), cv=GroupKFold(4)).fit(X, y, groups=groups).n_splits_ == 4
    found = compare(X, y, {"tree": OptimalTreeClassifier(1)}, cv=4, groups=groups)
    assert found.models[0].scores.size == 4


def test_orders_of_rows_that_make_folds_doubtful_are_hints(table) -> None:
    X, y = table
    days = pd.date_range("2020-01-01", periods=ROWS)
    customers = np.repeat(np.arange(ROWS // 4), 4)
    for frame, options, about in (
        (X.assign(day=days), {}, "the rows are in the order of 'day'"),
        (X.assign(customer=customers), {}, r"pass groups=X\['customer'\]"),
        (X, {"cv": KFold(3)}, "sorted by class"),
    ):
        order = np.argsort(y, kind="stable") if options else slice(None)
        with pytest.warns(DataWarning, match=about) as caught:
            OptimalTreeCV(1, **{"cv": 3, **options}).fit(frame.iloc[order], y[order])
        assert any(hint.about is About.ORDER for one in caught for hint in getattr(one.message, "hints", ()))
    with warnings.catch_warnings(record=True) as none:
        warnings.simplefilter("always")
        OptimalTreeCV(1, cv=3).fit(X.assign(customer=customers), y, groups=customers)
        OptimalTreeCV(1, cv=3).fit(X, y)
    assert not [one for one in none if "stand together" in str(one.message)]


def test_classes_without_a_leaf_useless_trees_and_small_leaves_are_notes(table) -> None:
    X, y = table
    rare = y.astype(object)
    rare[X.b == 8] = np.where(np.arange(ROWS)[X.b == 8] % 4, rare[X.b == 8], "rare")
    tree = OptimalTreeClassifier(1).fit(X, rare)
    (note,) = tree.notes()
    assert note.about is About.CLASSES
    assert str(note).startswith(
        f"no leaf predicts 'rare' ({np.sum(rare == 'rare')} of 240 in training weight): class_weight"
    )
    assert f"note: {note}" in tree.summary()
    noise = np.where(np.arange(ROWS) % 10 == 3, "yes", "no")
    (note,) = OptimalTreeClassifier(1, min_samples_leaf=50).fit(X, noise).notes()
    assert note.about is About.BASELINE
    assert str(note).startswith("the model always predicts 'no' (wrong for 24 of 240 in training weight)")
    deep = OptimalTreeClassifier(3).fit(X, y)
    assert [hint.about for hint in deep.notes()] == [About.LEAVES]
    assert not OptimalTreeClassifier(1).fit(X, y).notes()
    assert not OptimalTreeClassifier(1).fit(X.head(50), noise[:50]).notes()


def test_the_command_line_shows_and_keeps_them(table, tmp_path: Path) -> None:
    X, y = table
    path = tmp_path / "t.csv"
    X.assign(customer=np.repeat(np.arange(ROWS // 4), 4), y=y).to_csv(path, index=False)
    options = ["--target", "y", "--cv", 3, "--max-depth", 2]
    text = worked("fit", path, *options, "--groups", "customer", "--scoring", "balanced_accuracy")
    assert "balanced accuracy" in text
    assert "the most frequent class alone: 0.5" in text
    assert f"yes: {np.sum(y == 'yes')} rows, recall" in text
    answer = json.loads(worked("fit", path, *options, "--groups", "customer", "--json", "--out", tmp_path / "m.json"))
    assert answer["new_rows"]["folds"] == 3
    assert [one["label"] for one in answer["new_rows"]["classes"]] == ["no", "yes"]
    assert proofwood.load(tmp_path / "m.json").feature_names_in_.tolist() == ["a", "b"]
    assert "new rows" in worked("show", tmp_path / "m.json")
    assert "--groups applies to folds: give their number with --cv" in failed(
        "fit", path, "--target", "y", "--groups", "b"
    )
    assert "did you mean 'balanced_accuracy'" in failed("fit", path, *options, "--scoring", "balanced_acuracy").lower()


def test_the_target_is_named_as_by_other_learners(table):
    X, y = table
    by_name = OptimalTreeCV((1,), cv=2).fit(X.assign(paid=y), "paid")
    by_series = OptimalTreeCV((1,), cv=2).fit(X, pd.Series(y, name="paid"))
    assert by_name.target_name_ == by_series.target_name_ == by_name.best_estimator_.target_name_ == "paid"
    assert OptimalTreeCV((1,), cv=2).fit(X, y).target_name_ is None
