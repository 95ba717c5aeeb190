"""Calibrated classifiers and columns in bins: conversions against predictions, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from proofwood.explain.model.explained import Explained, explained, sample_rows

X, Y = load_diabetes(return_X_y=True, as_frame=True)
SICK = np.where(Y > 150, "high", "low")
ROW = X.iloc[[3]]
INNER = {
    "forest": RandomForestClassifier(20, max_depth=4, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=10),
}


def same_on_ten_thousand_rows(model: Any, converted: Explained) -> int:
    """How many of the rows are within rounding; AssertionError if another one differs."""
    rows = sample_rows(converted, 10_000, 5)
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
        assert same_on_ten_thousand_rows(model, converted) < 10_000
        found = Explainer(converted).abductive(ROW)
        assert found.prediction == model.predict(ROW)[0]
        assert found.verify().ok


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_in_single_precision_are_calibrated(method: Any) -> None:
    from xgboost import XGBClassifier

    fitted = FrozenEstimator(XGBClassifier(n_estimators=20, max_depth=3).fit(X[:300], SICK[:300] == "high"))
    model = CalibratedClassifierCV(fitted, method=method).fit(X[300:], SICK[300:] == "high")
    assert same_on_ten_thousand_rows(model, explained(model, X=X)) < 100


def test_calibrated_models_that_are_no_sums_are_refused() -> None:
    forest = RandomForestClassifier(3, max_depth=2, random_state=0)
    with pytest.raises(TypeError, match=r"of 3 calibrated classifiers cannot be explained.*ensemble=False"):
        Explainer(CalibratedClassifierCV(forest, cv=3).fit(X, SICK))
    with pytest.raises(TypeError, match="of 3 classes cannot be explained"):
        Explainer(CalibratedClassifierCV(forest, cv=3, ensemble=False).fit(*load_iris(return_X_y=True)))
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2)
    with pytest.raises(TypeError, match="a calibrated AdaBoostClassifier cannot be explained"):
        Explainer(CalibratedClassifierCV(ada, cv=3, ensemble=False).fit(X, SICK))
    inside = make_pipeline(StandardScaler(), forest)
    with pytest.raises(TypeError, match="a calibration of a Pipeline of its own columns"):
        Explainer(CalibratedClassifierCV(inside, cv=3, ensemble=False).fit(X, SICK))
    model = CalibratedClassifierCV(forest, cv=3, ensemble=False).fit(X, SICK)
    with pytest.raises(TypeError, match="confidence is for models whose probability is a mean"):
        Explainer(model, confidence=0.9)


def test_a_calibrated_model_behind_a_pipeline() -> None:
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(forest, cv=3, ensemble=False)).fit(X, SICK)
    found = Explainer(model, X=X).counterfactual(ROW)
    assert found.status == "optimal"
    assert model.predict(pd.DataFrame([found.witness], columns=X.columns))[0] != found.prediction


def test_bins_are_intervals_of_the_column() -> None:
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = make_pipeline(bins, RandomForestClassifier(5, max_depth=3, random_state=0)).fit(X, SICK)
    converted = explained(model, X=X)
    ends = {float(np.nextafter(end, -np.inf)) for end in bins.bin_edges_[2][1:-1]}
    assert set(converted.grid.columns[converted.grid.of_input[2][0]].thresholds.tolist()) <= ends
    assert same_on_ten_thousand_rows(model, converted) == 0


def test_bins_as_indicators_are_intervals_of_the_column() -> None:
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(bins, DecisionTreeClassifier(max_depth=3)).fit(X, SICK)
    converted = explained(model, X=X)
    ends = {float(np.nextafter(end, -np.inf)) for end in bins.bin_edges_[2][1:-1]}
    assert set(converted.grid.columns[converted.grid.of_input[2][0]].thresholds.tolist()) <= ends
    assert same_on_ten_thousand_rows(model, converted) == 0
