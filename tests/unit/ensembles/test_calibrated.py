"""Calibrated classifiers and columns in bins: conversions against predictions, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import calibration
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from proofwood.ensembles.explained import Explained, explained, sample_rows

X, Y = load_diabetes(return_X_y=True, as_frame=True)
SICK = np.where(Y > 150, "high", "low")
ROW = X.iloc[[3]]
INNER = {
    "forest": RandomForestClassifier(20, max_depth=4, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=10),
}


def same_on_many_rows(model: Any, converted: Explained) -> int:
    """How many of the rows are within rounding; AssertionError if another one differs."""
    rows = sample_rows(converted, 3_000, 5)
    sums = converted.sums_of(converted.cells_of(rows)).astype(float)
    doubtful = np.abs(sums[:, 0] - sums[:, 1]) <= converted.scores.margin
    found = converted.classes[(sums[:, 1] > sums[:, 0]).astype(int)]
    predicted = model.predict(pd.DataFrame(rows, columns=X.columns))
    assert np.array_equal(found[~doubtful], predicted[~doubtful])
    return int(doubtful.sum())


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("inner", INNER)
def test_calibrated_classifiers_predict_what_is_read(inner: str, method: Any) -> None:
    """Also where the calibration turns the classes round, because the labels of its rows were exchanged."""
    fitted = FrozenEstimator(clone(INNER[inner]).fit(X, SICK))
    for labels in (SICK, np.where(SICK == "high", "low", "high")):
        model = CalibratedClassifierCV(fitted, method=method).fit(X[:200], labels[:200])
        converted = explained(model, X=X)
        assert same_on_many_rows(model, converted) < 10_000
        found = Explainer(converted).abductive(ROW)
        assert found.prediction == model.predict(ROW)[0]
        assert found.verify().ok


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_in_single_precision_are_calibrated(method: Any) -> None:
    from xgboost import XGBClassifier

    fitted = FrozenEstimator(XGBClassifier(n_estimators=20, max_depth=3).fit(X[:300], SICK[:300] == "high"))
    model = CalibratedClassifierCV(fitted, method=method).fit(X[300:], SICK[300:] == "high")
    assert same_on_many_rows(model, explained(model, X=X)) < 100


def test_calibrated_models_that_are_no_sums_are_refused() -> None:
    large = RandomForestClassifier(40, random_state=0)
    with pytest.raises(TypeError, match=r"of 3 calibrated classifiers .* cannot be explained.*ensemble=False"):
        Explainer(CalibratedClassifierCV(large, cv=3).fit(X, SICK))
    isotonic = CalibratedClassifierCV(large, cv=3, ensemble=False, method="isotonic")
    flowers, kinds = load_iris(return_X_y=True)
    noisy = flowers + np.random.default_rng(0).normal(size=flowers.shape)
    with pytest.raises(TypeError, match=r"of 3 classes .* cannot be explained"):
        Explainer(isotonic.fit(noisy, kinds))
    model = CalibratedClassifierCV(RandomForestClassifier(3, max_depth=2), cv=3, ensemble=False).fit(X, SICK)
    with pytest.raises(TypeError, match="expected one whose probability is a mean"):
        Explainer(model, confidence=0.9)


def test_calibrated_ada_boost_and_pipelines_predict_what_is_read() -> None:
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=4, random_state=0)
    inside = make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=3, random_state=0))
    for inner in (ada, inside):
        model = CalibratedClassifierCV(inner, cv=3, ensemble=False).fit(X, SICK)
        assert same_on_many_rows(model, explained(model, X=X)) < 10_000


def test_a_calibrated_model_behind_a_pipeline() -> None:
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(forest, cv=3, ensemble=False)).fit(X, SICK)
    found = Explainer(model, X=X).counterfactual(ROW)
    assert found.status == "optimal"
    assert model.predict(pd.DataFrame([found.witness], columns=X.columns))[0] != found.prediction


THRESHOLDS = [
    ("forest", "low", "sigmoid"),
    ("forest", "high", "isotonic"),
    ("forest", "high", "temperature"),
    ("boosted", "low", "isotonic"),
    ("histograms", "high", "sigmoid"),
]
"""What is calibrated, the label of the threshold, and how; the other ways to put them together run with ``-m slow``."""
FURTHER = [
    pytest.param(inner, label, method, marks=pytest.mark.slow)
    for inner, label in (("forest", "low"), ("forest", "high"), ("boosted", "low"), ("histograms", "high"))
    for method in ("sigmoid", "isotonic", "temperature")
    if (inner, label, method) not in THRESHOLDS
]


@pytest.mark.parametrize(("inner", "label", "method"), [*THRESHOLDS, *FURTHER])
def test_a_threshold_of_a_calibrated_probability_is_carried_back_to_the_trees(
    inner: str, label: str, method: Any
) -> None:
    """Also one that the probability takes on exactly, and one that it never gets to."""
    if method == "temperature" and not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("this scikit-learn has no temperature scaling")
    calibrated = CalibratedClassifierCV(clone(INNER[inner]), method=method, ensemble=False, cv=2)
    for whole in (calibrated.fit(X, SICK), make_pipeline(StandardScaler(), clone(calibrated)).fit(X, SICK)):
        shares = np.unique(whole.predict_proba(X)[:, int(label == "low")])
        for value in (0.2, 0.5, 0.73, 1.5, float(shares[len(shares) // 2])):
            model = FixedThresholdClassifier(FrozenEstimator(whole), threshold=value, pos_label=label).fit(X, SICK)
            converted = explained(model, X=X)
            assert same_on_many_rows(model, converted) < 100
    found = Explainer(converted).abductive(ROW)
    assert found.prediction == model.predict(ROW)[0]
    assert found.verify().ok


def test_a_tuned_threshold_of_a_calibrated_pipeline() -> None:
    steps = make_pipeline(StandardScaler(), CalibratedClassifierCV(INNER["forest"], ensemble=False, cv=2))
    model = TunedThresholdClassifierCV(steps, cv=2).fit(X, SICK == "high")
    assert model.best_threshold_ not in (0.0, 0.5, 1.0)
    assert same_on_many_rows(model, explained(model, X=X)) < 100


def test_a_threshold_that_a_calibrated_probability_reaches_by_rounding_alone_is_refused() -> None:
    sure = GradientBoostingClassifier(n_estimators=30, learning_rate=10.0, random_state=0)
    fitted = CalibratedClassifierCV(FrozenEstimator(sure.fit(X, SICK)), method="sigmoid").fit(X, SICK)
    fitted.calibrated_classifiers_[0].calibrators[0].a_ = -1.0
    model = FixedThresholdClassifier(FrozenEstimator(fitted), threshold=1.0).fit(X, SICK)
    assert len(set(model.predict(X))) == 2
    with pytest.raises(TypeError, match=r"reaches 1 only by rounding.*Instead, explain its estimator_"):
        explained(model)


def test_bins_are_intervals_of_the_column() -> None:
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = make_pipeline(bins, RandomForestClassifier(5, max_depth=3, random_state=0)).fit(X, SICK)
    converted = explained(model, X=X)
    ends = {float(np.nextafter(end, -np.inf)) for end in bins.bin_edges_[2][1:-1]}
    assert set(converted.grid.columns[converted.grid.of_input[2][0]].thresholds.tolist()) <= ends
    assert same_on_many_rows(model, converted) == 0


def test_bins_as_indicators_are_intervals_of_the_column() -> None:
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(bins, DecisionTreeClassifier(max_depth=3)).fit(X, SICK)
    converted = explained(model, X=X)
    ends = {float(np.nextafter(end, -np.inf)) for end in bins.bin_edges_[2][1:-1]}
    assert set(converted.grid.columns[converted.grid.of_input[2][0]].thresholds.tolist()) <= ends
    assert same_on_many_rows(model, converted) == 0
