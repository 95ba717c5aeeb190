"""Numbers that a model takes for a missing value: XGBoost's ``missing=``, LightGBM's ``zero_as_missing``."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from proofwood import Explainer
from proofwood.ensembles.explained import explained, sample_rows
from proofwood.ensembles.forest import ScoredTree, Stack
from proofwood.ensembles.readers.nodes import with_gap
from proofwood.model.node_table import LEAF, FloatArray
from tests.bits import added_up, leaf_scores

FEW = {"n_estimators": 6, "max_depth": 3, "min_child_weight": 0, "n_jobs": 1}
LIGHT = {"n_estimators": 6, "min_child_samples": 2, "min_data_in_bin": 1, "n_jobs": 1, "verbose": -1}


def _rows(seed: int, n: int) -> FloatArray:
    """Rows of numbers near 0, also such as float32 rounds to 0, and of gaps."""
    values = [0.0, -0.0, 1e-46, -1e-46, 1e-44, 1e-36, -1e-36, 1.0, 1 + 2.0**-25, 2.0, -1.0, -3.0, 0.1, math.nan]
    return np.random.default_rng(seed).choice(values, (n, 4))


@pytest.mark.parametrize("default_low", [False, True])
@pytest.mark.parametrize("threshold", [-2.0, math.nextafter(-1, -math.inf), 1.0, 3.0])
def test_numbers_for_missing_go_where_missing_goes(threshold: float, default_low: bool) -> None:
    tree = ScoredTree(
        feature=np.array([0, LEAF, LEAF]),
        threshold=np.array([threshold, np.nan, np.nan]),
        low=np.array([1, -1, -1]),
        high=np.array([2, -1, -1]),
        missing_low=np.array([default_low, True, True]),
        value=np.array([[0.0], [1.0], [2.0]]),
    )
    stack = Stack.of([tree])
    made = with_gap(stack, stack.feature != LEAF, (math.nextafter(-1, -math.inf), 1.0)).trees()[0]
    for x in (-5.0, -2.0, -1.5, -1.0, 0.0, 1.0, 1.5, 3.0, 4.0, math.nan):
        node = 0
        while made.feature[node] != LEAF:
            low = made.missing_low[node] if math.isnan(x) else x <= made.threshold[node]
            node = made.low[node] if low else made.high[node]
        goes_low = default_low if math.isnan(x) or -1 <= x <= 1 else x <= threshold
        assert made.value[node, 0] == (1 if goes_low else 2)


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("missing", [0.0, 1.0, -1.0, 0.1, -999.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sums_of_xgboost_to_the_last_bit(missing: float, n_classes: int) -> None:
    import xgboost

    X = _rows(1, 400)
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(int) + (n_classes > 2) * (X[:, 2] == missing)
    y = y if n_classes == len(set(y)) else np.arange(400) % 3
    model = xgboost.XGBClassifier(missing=missing, base_score=0.5, **FEW).fit(X, y)
    result = explained(model, X=X)
    rows = np.concatenate([sample_rows(result, 5000, 2), _rows(3, 5000)])
    rows[np.random.default_rng(4).random(rows.shape) < 0.2] = missing
    base = result.adapted.forest.base
    sums = added_up(leaf_scores(result, rows), base, np.float32)
    raw = model.predict(rows, output_margin=True)
    assert np.array_equal(sums[:, 1] if n_classes == 2 else sums, raw)


@pytest.mark.needs("xgboost")
def test_explanations_say_that_a_number_is_read_as_missing() -> None:
    import xgboost

    X = np.array([[-2.0], [-1], [0], [1], [2]] * 8)
    model = xgboost.XGBClassifier(missing=0.0, **FEW).fit(X, X[:, 0] == 0)
    explainer = Explainer(model, X=X)
    found = explainer.abductive([[0.0]])
    assert found.rule() == "x0 = 0 (read as missing) -> 1"
    assert found.conditions[0].to_dict()["text"] == "x0 = 0 (read as missing)"
    assert explainer.abductive([[1e-46]]).rule().endswith("(read as missing) -> 1")
    assert "0 (read as missing)" in explainer.counterfactual([[2.0]]).rule()
    with_gaps = Explainer(explainer.model.with_gaps_of(np.array([[math.nan]])))
    rule = with_gaps.abductive([[0.0]], inflate=True).rule()
    assert rule == "(x0 = 0 (read as missing) or missing) -> 1"
    assert pickle.loads(pickle.dumps(explainer)).abductive([[0.0]]).rule() == found.rule()


@pytest.mark.needs("xgboost")
def test_numbers_for_missing_that_are_refused() -> None:
    import xgboost

    X, y = np.arange(40.0).reshape(-1, 1) % 4, np.arange(40) % 4 > 1
    with pytest.raises(TypeError, match="expected nan or a finite number"):
        explained(xgboost.XGBClassifier(missing=math.inf, **FEW).fit(X, y))
    model = xgboost.XGBClassifier(missing=0.0, feature_types=["c"], enable_categorical=True, **FEW).fit(X, y)
    with pytest.raises(TypeError, match=r"missing=0\.0 and categorical columns.*expected missing=nan"):
        explained(model)


LIGHTS: dict[str, dict[str, Any]] = {
    "zero_as_missing": {"zero_as_missing": True},
    "zero_as_missing of three": {"zero_as_missing": True, "n_classes": 3},
    "rf": {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
    "rf of three": {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7, "n_classes": 3},
    "multiclassova": {"objective": "multiclassova", "n_classes": 3},
    "multiclassova with zeros": {"objective": "multiclassova", "zero_as_missing": True, "n_classes": 3},
}


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("name", LIGHTS)
def test_sums_of_lightgbm_to_the_last_bit(name: str) -> None:
    import lightgbm

    options = dict(LIGHTS[name])
    n_classes = options.pop("n_classes", 2)
    X = _rows(1, 400)
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(int) + (n_classes > 2) * (X[:, 2] == 0)
    model = lightgbm.LGBMClassifier(**LIGHT, **options).fit(X, y)
    result = explained(model, X=X)
    rows = np.concatenate([sample_rows(result, 5000, 2), _rows(3, 5000)])
    raw = model.predict(rows, raw_score=True)
    sums = added_up(leaf_scores(result, rows), result.adapted.forest.base, np.float64)
    assert np.array_equal(sums[:, 1] if n_classes == 2 else sums, raw)


@pytest.mark.needs("lightgbm")
def test_zeros_of_lightgbm_are_read_as_missing() -> None:
    import lightgbm

    X = np.array([[-2.0], [-1], [0], [1], [2]] * 8)
    model = lightgbm.LGBMClassifier(zero_as_missing=True, **LIGHT).fit(X, X[:, 0] == 0)
    found = Explainer(model, X=X).abductive([[0.0]])
    assert found.rule().endswith(" = 0 (read as missing) -> True")
