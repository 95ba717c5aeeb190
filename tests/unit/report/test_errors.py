"""Figures about where a model is wrong, against scikit-learn and counts by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, precision_score, recall_score, roc_auc_score

from proofwood import OptimalTreeClassifier
from proofwood.estimators.input import rows_and_codes
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF
from proofwood.report import errors
from proofwood.report.content import Options, Rows, content
from proofwood.report.measures import area_under, importance_of, operating_points
from proofwood.report.words import Words
from proofwood.show.spread import node_counts
from tests import report_models


@pytest.fixture(scope="module")
def model():
    return report_models.small()


@pytest.fixture(scope="module")
def points(model):
    tree, X, y = model
    X, codes = rows_and_codes(tree, X, y, "y")
    return operating_points(tree.model_, node_counts(tree.model_, X, codes), 1)


def test_operating_points_are_what_thresholds_of_the_probability_give(model, points):
    tree, X, y = model
    shares = tree.predict_proba(X)[:, 1]
    assert points[0].called == 0
    for point in points[1:]:
        called = shares >= point.share
        if called.sum() != point.called:  # leaves of one share come one after another
            assert called.sum() > point.called
            continue
        said = np.where(called, "yes", "no")
        assert point.found == pytest.approx(recall_score(y, said, pos_label="yes"))
        assert point.precision == pytest.approx(precision_score(y, said, pos_label="yes"))
        assert point.wrong == round(len(y) * (1 - accuracy_score(y, said)))
    (used,) = [point for point in points if point.used]
    assert used.wrong == tree.objective_
    assert area_under(points) == pytest.approx(roc_auc_score(y == "yes", shares))


def test_importance_agrees_with_that_of_scikit_learn(model):
    tree, X, y = model
    rows, codes = rows_and_codes(tree, X, y, "y")

    def wrong(X, some):
        return float(np.mean(evaluate.predict(tree.model_, X) != codes[some]))

    found = importance_of(wrong, rows, [0, 1, 2])
    expected = permutation_importance(tree, pd.DataFrame(X.to_dict(as_series=False)), y, n_repeats=30, random_state=1)
    for column, (mean, deviation) in found.items():
        assert mean == pytest.approx(expected.importances_mean[column], abs=4 * deviation / 30**0.5 + 1e-9)
    constant = rows.copy()
    constant[:, 0] = 40.0
    assert importance_of(wrong, constant, [0])[0] == (0.0, 0.0)


def test_groups_count_the_wrong_rows_of_each_level(model):
    tree, X, y = model
    rows = Rows(*rows_and_codes(tree, X, y, "y"))
    words = Words(tree.model_, tree._names())
    (cities, incomes) = content(tree, rows, None, Options(card=_card("city", "income")))["groups"]
    wrong = tree.predict(X) != y
    assert [part["name"] for part in cities["parts"]] == sorted(
        {"Bonn", "Kiel", "Ulm"}, key=lambda name: -int((X["city"] == name).sum())
    )
    for part in cities["parts"]:
        here = (X["city"] == part["name"]).to_numpy()
        assert part["rows"] == str(here.sum())
        assert part["share"] == f"{np.floor(100 * wrong[here].mean() + 0.5):.0f}\u202f%"
    assert incomes["parts"][-1]["name"] == "missing"
    assert sum(int(part["rows"]) for part in incomes["parts"]) == len(y)
    assert words.name(2) == "city"


def _card(*groups):
    from proofwood.report.card import Card

    return Card(groups=groups)


def test_the_headline_is_about_new_rows_where_there_are_any(model):
    tree, X, y = model
    rows = Rows(*rows_and_codes(tree, X, y, "y"))
    new, old = content(tree, rows, Rows(rows.X[:50], rows.codes[:50]), Options())["headline"]
    assert new["fresh"]
    assert not old["fresh"]
    assert new["said"].startswith(f"{np.sum(tree.predict(X[:50]) != y[:50])} of 50 wrong; 95")
    assert old["baseline"] == pytest.approx(min(np.mean(y == "yes"), np.mean(y == "no")))
    (only,) = content(tree, rows, None, Options())["headline"]
    assert not only["fresh"]


def test_a_class_that_is_absent_gives_no_curves():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    tree = OptimalTreeClassifier(max_depth=1).fit(X, y)
    found = content(tree, Rows(X, y), Rows(X[:2], y[:2]), Options())
    assert found["curves"]["roc"] == found["curves"]["area"] == ""
    assert found["calibration"]
    assert errors.interval_text(0, 2) == "0 to 66\u202f%"
    assert (tree.model_.feature == LEAF).sum() == 2
