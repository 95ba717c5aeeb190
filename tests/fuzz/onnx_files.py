"""ONNX files of random trees, and of exported models where the packages that export are installed, checked by rows.

The checks are those of :mod:`tests.fuzz.explanations`: every answer is compared with what the file predicts, by
onnxruntime where it is installed, for all cells of its grid; sums are compared to the last bit.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proofwood.ensembles.explained import explained, sample_rows
from tests import onnx_models
from tests.bits import added_up, leaf_scores
from tests.fuzz import explanations
from tests.fuzz.explanations import Case, check, table
from tests.fuzz.regressors import asked_of


def classes(rng: np.random.Generator) -> Case:
    """Trees of two or more classes with all kinds of tests."""
    n = int(rng.choice([2, 3, 4]))
    post = str(rng.choice(["NONE", "LOGISTIC" if n == 2 else "SOFTMAX"]))
    model = onnx_models.classifier(rng, n_classes=n, post=post, base=bool(rng.random() < 0.3), before=_before(rng))
    return Case(model, _rows(rng), f"ONNX of {n} classes, {post}")


def numbers(rng: np.random.Generator) -> Case:
    """Trees whose leaves are added up or averaged."""
    aggregate = str(rng.choice(["SUM", "AVERAGE"]))
    model = onnx_models.regressor(rng, aggregate=aggregate, base=bool(rng.random() < 0.3), before=_before(rng))
    rows = _rows(rng)
    return asked_of(model, rows, rng, f"ONNX {aggregate}", explained(model, target=(">", 0.0)).outputs_of(rows))


def exported(rng: np.random.Generator) -> Case:
    """Models of scikit-learn, XGBoost and LightGBM, as skl2onnx and onnxmltools write them."""
    if importlib.util.find_spec("skl2onnx") is None or importlib.util.find_spec("onnxmltools") is None:
        return classes(rng)
    from lightgbm import LGBMClassifier
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from skl2onnx import to_onnx
    from xgboost import XGBClassifier

    X, y = table(rng, categories=False, gaps=0.0)
    X = X.astype(np.float32)
    n, kind = int(rng.integers(1, 5)), str(rng.choice(["forest", "scaled", "boosting", "hist", "xgboost", "lightgbm"]))
    typed = [("X", FloatTensorType([None, X.shape[1]]))]
    forest = RandomForestClassifier(n, max_depth=3, random_state=0)
    models: dict[str, Any] = {
        "forest": forest,
        "scaled": make_pipeline(SimpleImputer(), StandardScaler(), forest),
        "boosting": GradientBoostingClassifier(n_estimators=n, max_depth=2),
        "hist": HistGradientBoostingClassifier(max_iter=n, max_leaf_nodes=4, min_samples_leaf=1),
        "xgboost": XGBClassifier(n_estimators=n, max_depth=2, n_jobs=1),
        "lightgbm": LGBMClassifier(n_estimators=n, num_leaves=4, min_child_samples=1, n_jobs=1, verbose=-1),
    }
    model = models[kind].fit(X, y)
    if kind == "xgboost":
        made = convert_xgboost(model, initial_types=typed)
    elif kind == "lightgbm":
        made = convert_lightgbm(model, initial_types=typed, zipmap=bool(rng.random() < 0.5))
    else:
        made = to_onnx(model, X[:1], options={"zipmap": bool(rng.random() < 0.5)})
    return Case(made, X.astype(float), f"ONNX of {type(model).__name__}")


def _before(rng: np.random.Generator) -> list[Any]:
    some = [onnx_models.imputer(rng), onnx_models.scaler(rng)]
    return some[: int(rng.integers(3))] if rng.random() < 0.6 else []


def _rows(rng: np.random.Generator) -> Any:
    return rng.choice([0.0, 1.0, -1.0, 0.1, float(np.float32(0.1)), 1e-46, 0.5, -2.0, 3.0], (30, 3))


MODELS: tuple[Callable[[np.random.Generator], Case], ...] = (classes, numbers, exported)


def check_bits(case: Case, _: np.random.Generator, counts: Counter[str]) -> None:
    """What trees add up to in float32 is what the file gives, in all bits, where it gives sums."""
    result = explained(case.model, X=case.X, **case.options)
    forest = result.adapted.forest
    if forest.link is None or forest.link.kind != "mean" or forest.base.any() or forest.link.divisor != 1:
        return
    rows = sample_rows(result, 300, 1)
    sums = added_up(leaf_scores(result, rows), 0.0, np.float32)
    given = result.outputs_of(rows)
    assert np.array_equal(sums.reshape(given.shape), given.astype(np.float32))
    counts["rows to the last bit"] += len(rows)


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    refused = "onnxruntime and the ONNX standard", "evaluators differ"
    return explanations.counted(number, check_bits, check, models=MODELS, refused=refused)
