"""Readers of models that contain one model and predict with it: searches, column selections, transformed targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from proofwood.ensembles.forest import DOUBLE, Forest, Link, merged
from proofwood.ensembles.readers.members import Together, members_of, names_within
from proofwood.ensembles.readers.monotone import scaling
from proofwood.ensembles.readers.register import Asked, Reading, register


def of_search(model: Any, asked: Asked) -> Reading:
    """Read the refitted best model of a ``GridSearchCV`` or another search."""
    if not hasattr(model, "best_estimator_"):
        raise TypeError(
            f"the {type(model).__name__} was fitted with refit=False and so has no best_estimator_ that predicts: "
            "expected one fitted with refit=True, or a model fitted with its best_params_"
        )
    return names_within(model, asked).read(model.best_estimator_)


def frozen(model: Any, asked: Asked) -> Reading:
    """Read the model inside a ``FrozenEstimator``."""
    return asked.read(model.estimator)


def self_training(model: Any, asked: Asked) -> Reading:
    """Read the last fitted model of a ``SelfTrainingClassifier``, the only one that predicts."""
    return names_within(model, asked).read(model.estimator_)


def selected(model: Any, asked: Asked) -> Reading:
    """Read an ``RFE`` or ``RFECV``: a selection of columns, and the model fitted on them."""
    inner = asked.within.read(model.estimator_)
    return Reading(inner.core, tuple((model, *path) for path in inner.paths))


# -------------------------------------------------------------------------------------------------- transformed targets


def transformed_target(model: Any, asked: Asked) -> Reading:
    """Read a ``TransformedTargetRegressor`` whose inverse is ``np.exp``, ``np.expm1``, a scaler's, or the identity.

    Raises
    ------
    TypeError
        If it has another inverse.
    """
    asked = names_within(model, asked)
    inner = model.regressor_
    together = Together(model, members_of([inner], asked, vote="auto"), asked)
    forest = together.forests[0]
    found = _inverted(forest, model.transformer_)
    if found is None:
        words = _in_words(model.transformer_)
        raise TypeError(
            f"the TransformedTargetRegressor transforms its predictions back by {words}, which is not known to be an "
            "increasing function: expected inverse_func=np.exp or np.expm1, or a StandardScaler, MinMaxScaler, "
            "MaxAbsScaler or RobustScaler. Instead, explain its regressor_, which predicts the transformed target"
        )
    return together.reading(found)


def _in_words(transformer: Any) -> str:
    if type(transformer).__name__ != "FunctionTransformer":
        return f"a {type(transformer).__name__}"
    return f"the function {getattr(transformer.inverse_func, '__name__', repr(transformer.inverse_func))}"


def _inverted(forest: Forest, transformer: Any) -> Forest | None:
    """The forest that predicts the target on its original scale; None if the inverse is not known."""
    name = type(transformer).__name__
    if type(transformer).__module__.split(".")[0] != "sklearn" or forest.link is None:
        return None
    if name == "FunctionTransformer" and transformer.inverse_func is None:
        return forest
    if forest.link.kind != "mean":
        return None
    if name == "FunctionTransformer":
        function = transformer.inverse_func
        shift = 0.0 if function is np.exp else 1.0 if function is np.expm1 else None
        if shift is None or transformer.inv_kw_args:
            return None
        return replace(forest, link=replace(forest.link, kind="log", shift=shift))
    if name not in ("StandardScaler", "RobustScaler", "MaxAbsScaler", "MinMaxScaler"):
        return None
    factor, shift = 1.0, 0.0  # of the inverse
    for step in reversed(scaling(transformer, 0)):
        match step.what:
            case "subtract":
                shift += step.by
            case "add":
                shift -= step.by
            case "divide":
                factor, shift = factor * step.by, shift * step.by
            case "multiply":
                factor, shift = factor / step.by, shift / step.by
    return _scaled(forest, forest.link, factor, shift)


def _scaled(forest: Forest, link: Link, factor: float, shift: float) -> Forest:
    """The forest that predicts ``factor * number + shift`` if ``forest`` predicts ``number``; noise covers rounding."""
    trees = tuple(merged(replace(tree, value=tree.value * factor)) for tree in forest.trees)
    base = forest.base * factor + shift * link.divisor
    reach = forest.reach * factor + abs(shift) * link.divisor
    return replace(forest, trees=trees, base=base, noise=factor * forest.noise + 16 * (DOUBLE + link.unit) * reach)


register("sklearn.BaseSearchCV", of_search, words="a fitted search such as GridSearchCV", votes=True, outputs=True)
register("sklearn.FrozenEstimator", frozen, votes=True, outputs=True)
register("sklearn.SelfTrainingClassifier", self_training, votes=True)
register(("sklearn.RFE", "sklearn.RFECV"), selected, words="RFE", votes=True)
register("sklearn.TransformedTargetRegressor", transformed_target, words="TransformedTargetRegressor")
