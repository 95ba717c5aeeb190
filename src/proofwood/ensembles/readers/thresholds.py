"""Readers of ``FixedThresholdClassifier`` and ``TunedThresholdClassifierCV``: two classes and a chosen threshold."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from proofwood.ensembles.readers.calibrated import at_share
from proofwood.ensembles.readers.members import Together, members_of, names_within
from proofwood.ensembles.readers.register import Asked, Reading, register
from proofwood.ensembles.readers.responses import response_of, thresholded


def threshold_classifier(model: Any, asked: Asked) -> Reading:
    """Read a classifier that predicts ``pos_label`` if its probability or decision function reaches the threshold.

    Raises
    ------
    TypeError
        If the probability or decision function is not a function of one sum over the trees.
    """
    asked = names_within(model, asked)
    inner = getattr(model, "estimator_", model.estimator)
    classes = np.asarray(model.classes_)
    tuned = hasattr(model, "best_threshold_")
    label = model._curve_scorer._get_pos_label() if tuned else model.pos_label
    code = 1 if label is None else int(np.flatnonzero(classes == label)[0])
    methods = ("predict_proba", "decision_function") if model.response_method == "auto" else (model.response_method,)
    together = Together(model, members_of([inner], asked, vote="shares"), asked)
    calibrated = calibrated_within(inner)
    try:
        if calibrated is not None and together.forests[0].link is None:
            fold, bare = calibrated
            within = Together(model, members_of([bare], asked, vote="shares"), asked)
            value = _value(model, "predict_proba")
            return within.reading(at_share(fold, within.forests[0], value, classes, code=code))
        response = response_of(inner, together.forests[0], methods, code)
    except TypeError as error:
        raise TypeError(
            f"a {type(model).__name__} of a {type(inner).__name__} cannot be explained: {error}. Instead, explain its "
            "estimator_, which has the usual threshold"
        ) from error
    value = _value(model, response.method)
    return together.reading(thresholded(response, value, classes, code=code, reached=True))


def _value(model: Any, method: str) -> float:
    """The threshold for the result of a method."""
    if hasattr(model, "best_threshold_"):
        return float(model.best_threshold_)
    if model.threshold == "auto":
        return 0.5 if method == "predict_proba" else 0.0
    return float(model.threshold)


def calibrated_within(model: Any) -> tuple[Any, Any] | None:
    """The only calibrated classifier in a model, and the model without calibration; None if there is none or several.

    Parameters
    ----------
    model : the fitted model; it may be inside a pipeline, a search or a ``FrozenEstimator``
    """
    if hasattr(model, "best_estimator_"):
        return calibrated_within(model.best_estimator_)
    if type(model).__name__ == "FrozenEstimator":
        return calibrated_within(model.estimator)
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        found = calibrated_within(last)
        if found is None:
            return None
        bare = copy.copy(model)
        bare.steps = [*model.steps[:-1], (name, found[1])]
        return found[0], bare
    folds: list[Any] = getattr(model, "calibrated_classifiers_", [])
    return (folds[0], folds[0].estimator) if len(folds) == 1 else None


register(
    ("sklearn.FixedThresholdClassifier", "sklearn.TunedThresholdClassifierCV"),
    threshold_classifier,
    words="FixedThresholdClassifier or TunedThresholdClassifierCV of such a model with two classes",
)
