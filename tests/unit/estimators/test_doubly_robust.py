"""Doubly robust scores: the formula by hand, and means close to the truth where one of the models is right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from proofwood import DataError, DataWarning, OptimalPolicyTree, doubly_robust_rewards


class Mean(RegressorMixin, BaseEstimator):
    """The mean of the training outcomes."""

    def fit(self, X: Any, y: Any) -> Mean:
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


class Frequency(ClassifierMixin, BaseEstimator):
    """The shares of the training classes."""

    def fit(self, X: Any, y: Any) -> Frequency:
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile(self.shares_, (len(X), 1))


FOLDS = [(np.array([3, 4, 5]), np.array([0, 1, 2])), (np.array([0, 1, 2]), np.array([3, 4, 5]))]
ACTION, OUTCOME = np.array([0, 1, 1, 0, 0, 1]), np.array([1.0, 2.0, 4.0, 6.0, 8.0, 10.0])


def test_the_formula_by_hand() -> None:
    scores = doubly_robust_rewards(
        np.zeros((6, 1)), ACTION, OUTCOME, outcome_model=Mean(), propensity_model=Frequency(), cv=FOLDS
    )
    # Rows 0 to 2 see rows 3 to 5: action 0 earned 7 there (two of three rows), action 1 earned 10. And the other way.
    expected = [
        [7 + (1 - 7) / (2 / 3), 10],
        [7, 10 + (2 - 10) / (1 / 3)],
        [7, 10 + (4 - 10) / (1 / 3)],
        [1 + (6 - 1) / (1 / 3), 3],
        [1 + (8 - 1) / (1 / 3), 3],
        [1, 3 + (10 - 3) / (2 / 3)],
    ]
    assert np.allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("known", [0.25, [0.75, 0.25], {1: 0.25, 0: 0.75}, np.tile([0.75, 0.25], (6, 1))])
def test_known_propensities_in_any_form(known: Any) -> None:
    scores = doubly_robust_rewards(
        np.zeros((6, 1)), ACTION, OUTCOME, outcome_model=Mean(), propensities=known, cv=FOLDS
    )
    assert np.allclose(scores[:2], [[7 - 6 / 0.75, 10], [7, 10 - 8 / 0.25]])


def test_the_order_of_actions_is_that_of_the_columns() -> None:
    given: dict[str, Any] = {"outcome_model": Mean(), "propensities": {"no": 0.5, "drug": 0.5}, "cv": FOLDS}
    frame = pl.DataFrame({"x": np.arange(6.0), "action": np.array(["no", "drug"])[ACTION], "outcome": OUTCOME})
    scores = doubly_robust_rewards(frame, "action", "outcome", actions=["no", "drug"], **given)
    assert scores.columns == ["no", "drug"]
    plain = doubly_robust_rewards(np.zeros((6, 1)), frame["action"], OUTCOME, **given)
    assert np.array_equal(plain[:, ::-1], scores.to_numpy())
    tree = OptimalPolicyTree(0).fit(frame.drop("action", "outcome"), scores)
    assert tree.actions_.tolist() == ["no", "drug"]


def test_rare_actions_are_clipped_with_a_warning_that_counts_the_rows() -> None:
    action = np.array([0] * 97 + [1] * 3)
    given: dict[str, Any] = {"outcome_model": Mean(), "propensity_model": Frequency(), "cv": 3}
    with pytest.warns(DataWarning, match="3 rows took an action of an estimated probability below clip=0.1"):
        clipped = doubly_robust_rewards(np.zeros((100, 1)), action, np.arange(100.0), clip=0.1, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = doubly_robust_rewards(np.zeros((100, 1)), action, np.arange(100.0), clip=0.001, **given)
    assert np.array_equal(clipped[:97], plain[:97])
    assert np.all(np.abs(clipped[97:, 1] - 98) <= np.abs(plain[97:, 1] - 98) + 1e-9)


def test_outcomes_of_yes_and_no_may_have_a_classifier() -> None:
    rng = np.random.default_rng(0)
    X, action = rng.normal(size=(4000, 1)), rng.integers(0, 2, 4000)
    outcome = (rng.uniform(size=4000) < np.where(action == 1, 0.7, 0.4)).astype(int)
    scores = doubly_robust_rewards(X, action, outcome, outcome_model=LogisticRegression(), propensities=0.5)
    assert np.allclose(scores.mean(axis=0), [0.4, 0.7], atol=0.04)
    with pytest.raises(ValueError, match="expected outcomes 0 and 1"):
        doubly_robust_rewards(X, action, outcome + 1, outcome_model=LogisticRegression(), propensities=0.5)


def experiment(n_rows: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows whose action depends on a column that the outcome depends on too; the truth is 1 and 1.5 on average."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    action = (rng.uniform(size=n_rows) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    return X, action, 1 + X[:, 0] + action * (0.5 + X[:, 1]) + rng.normal(size=n_rows)


MODELS = {
    "both": (LinearRegression(), LogisticRegression()),
    "outcome": (LinearRegression(), DummyClassifier(strategy="prior")),
    "propensity": (DummyRegressor(), LogisticRegression()),
}


@pytest.mark.parametrize("right", MODELS)
def test_one_right_model_is_enough(right: str) -> None:
    outcome_model, propensity_model = MODELS[right]
    X, action, outcome = experiment(20_000)
    scores = doubly_robust_rewards(
        X, action, outcome, outcome_model=outcome_model, propensity_model=propensity_model, clip=0.001
    )
    assert np.allclose(scores.mean(axis=0), [1.0, 1.5], atol=0.05)
    naive = [outcome[action == k].mean() for k in (0, 1)]
    assert naive[0] < 0.7
    assert naive[1] > 1.8
    tree = OptimalPolicyTree(1).fit(X, scores)  # treat where the second column is above -0.5
    assert tree.model_.feature[0] == 1
    assert abs(tree.model_.threshold[0] + 0.5) < 0.3


def test_the_error_shrinks_with_the_rows() -> None:
    errors = []
    for n_rows in (250, 8_000):
        off = []
        for seed in range(6):
            X, action, outcome = experiment(n_rows, seed)
            models = {"outcome_model": LinearRegression(), "propensity_model": LogisticRegression()}
            scores = doubly_robust_rewards(X, action, outcome, clip=0.001, **models)
            off.append(np.abs(scores.mean(axis=0) - [1.0, 1.5]).mean())
        errors.append(np.mean(off))
    assert errors[1] < errors[0] / 3


def test_models_by_default_take_missing_values() -> None:
    X, action, outcome = experiment(600)
    X[::7, 1] = np.nan
    scores = doubly_robust_rewards(X, action, outcome)
    assert np.isfinite(scores).all()
    assert np.array_equal(scores, doubly_robust_rewards(X, action, outcome))


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"action": np.zeros(6)}, DataError, "in all rows"),
        ({"action": np.array([0, 1, None, 1, 0, 1], dtype=object)}, DataError, "missing in row 2"),
        ({"action": np.array([0, 0, 0, 0, 0, 1])}, DataError, "taken in one row"),
        ({"action": ACTION[:4]}, DataError, "the action of each of 6 rows"),
        ({"outcome": np.array([1, 2, np.nan, 4, 5, 6])}, DataError, "NaN or infinity"),
        ({"outcome": OUTCOME[:4]}, DataError, "a number for each of 6"),
        ({"propensities": 0.0}, ValueError, "propensities of row 0"),
        ({"propensities": [0.5, 0.4]}, ValueError, "add up to 1"),
        ({"propensities": [0.2, 0.3, 0.5]}, ValueError, "for each of 2 actions"),
        ({"propensities": {0: 0.5}}, ValueError, "one for each of"),
        ({"propensities": 0.5, "propensity_model": Frequency()}, ValueError, "not both"),
        ({"actions": [0, 2]}, ValueError, r"each of \[0, 1\] once"),
        ({"clip": 0}, ValueError, "not a probability"),
        ({"cv": 1}, ValueError, "number of folds from 2"),
        ({"cv": FOLDS[:1]}, ValueError, "hold out each row once"),
        ({"cv": [([0, 3, 4], [1, 2, 5]), ([1, 2, 5], [0, 3, 4])]}, DataError, "no training row with the action 1"),
    ],
)
def test_what_cannot_be_used_is_named(changed: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"action": ACTION, "outcome": OUTCOME, "outcome_model": Mean(), "cv": FOLDS} | changed
    with pytest.raises(error, match=message):
        doubly_robust_rewards(np.zeros((6, 1)), **given)
