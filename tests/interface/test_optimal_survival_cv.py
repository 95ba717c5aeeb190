"""The size of survival trees by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from proofwood import OptimalSurvivalTree, OptimalSurvivalTreeCV, load
from proofwood.estimators.optimal_survival_cv import folds_of_times
from proofwood.estimators.survival_scores import SCORES
from tests import report_models


@pytest.fixture(scope="module")
def table():
    _, X, y = report_models.times()
    return X, y


@parametrize_with_checks([OptimalSurvivalTreeCV(2, alpha=0.0, min_samples_leaf=1, cv=2), OptimalSurvivalTree(2)])
@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scoring", [None, "deviance", "neg_integrated_brier_score"])
def test_the_scores_are_those_of_trees_on_held_out_rows(table, scoring):
    X, y = table
    chosen = OptimalSurvivalTreeCV((1, 2), alpha=(0.0, 0.02, 0.1), scoring=scoring, cv=3).fit(X, y)
    score = SCORES[scoring or "concordance"]
    folds = folds_of_times(3, X, y.to_numpy().astype(float), None, 0, chosen.best_estimator_._rows(X))
    assert len({int(y["died"].to_numpy()[test].sum()) for _, test in folds}) <= 2, "equal shares of events"
    for k, params in enumerate(chosen.cv_results_["params"]):
        for fold, (train, test) in enumerate(folds):
            tree = OptimalSurvivalTree(**params, categorical_features=None).fit(X[train], y[train])
            assert chosen.cv_results_[f"split{fold}_test_score"][k] == pytest.approx(score(tree, X[test], y[test]))
    assert chosen.score(X, y) == score(chosen.best_estimator_, X, y)
    whole = OptimalSurvivalTree(**chosen.best_params_).fit(X, y)
    assert whole.model_ == chosen.model_
    assert whole.objective_ == chosen.objective_ == chosen.recount(X, y)


def test_held_out_figures_are_kept(table, tmp_path):
    X, y = table
    chosen = OptimalSurvivalTreeCV((1, 2), alpha=0.0, cv=4).fit(X, y)
    found = chosen.validation_
    assert (found.times.rows, found.times.events) == (400, y["died"].sum())
    assert found.times.concordance == pytest.approx(found.mean)
    assert found.baseline == 0.5
    assert "one rate for all: 0.5" in chosen.summary()
    assert 0.5 < found.interval(400).low < found.mean
    chosen.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert isinstance(again, OptimalSurvivalTree)
    assert again.validation_ == found
    assert np.array_equal(again.predict(X), chosen.predict(X))
    assert np.array_equal(
        again.predict_survival_function(X, return_array=True), chosen.predict_survival_function(X, return_array=True)
    )
    times = [10.0, 20.0]
    assert chosen.integrated_brier_score(X, y, times) == again.integrated_brier_score(X, y, times)
    assert np.array_equal(chosen.brier_score(X, y, times), again.brier_score(X, y, times))


def test_folds_are_the_same_for_any_order_of_the_rows(table):
    X, y = table
    order = np.random.default_rng(3).permutation(400)
    one = OptimalSurvivalTreeCV(1, alpha=(0.0, 0.05), cv=3).fit(X, y)
    other = OptimalSurvivalTreeCV(1, alpha=(0.0, 0.05), cv=3).fit(X[order], y[order])
    assert one.cv_results_["mean_test_score"] == pytest.approx(other.cv_results_["mean_test_score"])
    assert one.model_ == other.model_


def test_targets_are_columns_of_the_table_and_few_events_are_enough(table):
    X, y = table
    frame = X.with_columns(y)
    assert OptimalSurvivalTreeCV(1, alpha=0.0, cv=3).fit(frame, ["died", "time"]).model_ == (
        OptimalSurvivalTreeCV(1, alpha=0.0, cv=3).fit(X, y).model_
    )
    rng = np.random.default_rng(0)
    few = np.column_stack([rng.random(60) + 1, np.arange(60) % 59 == 0])
    chosen = OptimalSurvivalTreeCV(1, alpha=0.0, cv=KFold(2), scoring="deviance").fit(rng.random((60, 2)), few)
    assert chosen.n_splits_ == 2
    weights = rng.integers(0, 3, 400)
    weighted = OptimalSurvivalTreeCV(1, alpha=0.0, cv=3).fit(X, y, weights)
    assert weighted.objective_ == weighted.recount(X, y, weights)


def test_a_share_of_the_time_that_is_too_short_to_prepare_rows_does_not_end_the_fit(table, monkeypatch):
    X, y = table
    learn, calls = OptimalSurvivalTree._learn_rows, []

    def slow(self, rows, started, constrain=None):
        calls.append(self.time_limit)
        if len(calls) == 1:
            raise TimeoutError("while rows were prepared")
        return learn(self, rows, started, constrain)

    monkeypatch.setattr(OptimalSurvivalTree, "_learn_rows", slow)
    chosen = OptimalSurvivalTreeCV(1, alpha=0.0, cv=2, time_limit=40.0).fit(X, y)
    assert chosen.n_splits_ == 2
    assert calls[1] > calls[0]
    monkeypatch.undo()
    with pytest.raises(TimeoutError, match="before the first candidate"):
        OptimalSurvivalTreeCV(time_limit=1e-6).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scoring": "accuracy"}, "no score of survival times"),
        ({"scoring": "devianse"}, "did you mean 'deviance'"),
        ({"alpha": ()}, "no value to try"),
        ({"rule": "both"}, "rule='both'"),
        ({"cv": 1}, "number of folds from 2"),
    ],
)
def test_what_cannot_be_chosen_is_named(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        OptimalSurvivalTreeCV(**parameters).fit(*table)
