"""All models that can be explained; importing this module registers the readers of every family of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from proofwood.ensembles.readers import (
    calibrated,
    dummy,
    ensembles,
    histgb,
    one_of_several,
    own,
    refused,
    thresholds,
    wrappers,
)
from proofwood.ensembles.readers import pipeline as pipelines
from proofwood.ensembles.readers import sklearn as trees_of_sklearn
from proofwood.ensembles.readers.catboost import from_catboost
from proofwood.ensembles.readers.categories import with_categories
from proofwood.ensembles.readers.lightgbm import from_lightgbm
from proofwood.ensembles.readers.native_files import FILES
from proofwood.ensembles.readers.onnx import from_onnx
from proofwood.ensembles.readers.reading import Adapted, plain
from proofwood.ensembles.readers.register import Asked, Reader, read, register
from proofwood.ensembles.readers.targets import one_target
from proofwood.ensembles.readers.xgboost import from_xgboost

FAMILIES = (
    trees_of_sklearn,
    histgb,
    ensembles,
    calibrated,
    thresholds,
    one_of_several,
    wrappers,
    dummy,
    own,
    pipelines,
    refused,
)
"""Modules that register their readers when they are imported."""


def adapt(
    model: Any, vote: str, feature_names: Sequence[str] | None, X: Any = None, output: int | None = None
) -> Adapted:
    """Read a fitted model; TypeError if it is not supported. A ``Forest`` is also accepted.

    Parameters
    ----------
    model : the fitted model
    vote : "auto"; "majority"; or "sure", if probabilities are needed besides the class
    feature_names : names of the columns, if the user gives them
    X : rows that the user gives; the readers of some models look up the names of categories in them
    output : number of the target to explain, for a model with several targets
    """
    reading = read(model, Asked(vote, feature_names, X, output))
    whole = one_target(model, output, reading.core.forest.classes)
    if reading.direct:
        return replace(reading.core, model=whole)
    return pipelines.from_steps(whole, reading, feature_names, X)


def register_reader(
    kinds: type | str | Sequence[type | str], read: Reader, *, votes: bool = False, outputs: bool = False
) -> None:
    """Register your own function that reads fitted models of some classes, so that they can be explained.

    Parameters
    ----------
    kinds : classes, or names of the form ``"sklearn.RandomForestClassifier"``: the library and the class, without the
        modules between them. A name needs no import. Subclasses that predict in the same way are read too. If a class
        already has a reader, the new one replaces it
    read : function of a fitted model and the options ``asked`` that returns a ``Forest`` of
        :mod:`proofwood.ensembles.forest`. For a model that predicts like a model inside it, it can return
        ``asked.read(other)``. Before a row is explained, the model's own ``predict`` is called with it; if this returns
        another class than the reading, the row is not explained
    votes : whether ``read`` accepts ``vote="majority"`` (``asked.vote``); if not, this option is refused
    outputs : whether ``read`` accepts ``output`` (``asked.output``); if not, this option is refused

    Raises
    ------
    TypeError
        If ``kinds`` holds anything but classes or such names, or if ``read`` is not a function.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from proofwood import Explainer, register_reader
    >>> class Champion:
    ...     def __init__(self, model):
    ...         self.model, self.classes_ = model, model.classes_
    ...
    ...     def predict(self, X):
    ...         return self.model.predict(X)
    >>> register_reader(Champion, lambda model, asked: asked.read(model.model))
    >>> X, y = load_iris(return_X_y=True)
    >>> Explainer(Champion(DecisionTreeClassifier(max_depth=2).fit(X, y))).abductive(X[:1]).status
    'minimal'
    """
    register(kinds, read, votes=votes, outputs=outputs)


def _onnx(model: Any, asked: Asked) -> Adapted:
    """Read the path of an ONNX file or a ``ModelProto``; the package onnx is imported only for these."""
    if isinstance(model, str | Path) and Path(model).suffix.lower() != ".onnx":
        raise TypeError(f"cannot explain {str(model)!r}: expected a fitted model, or the path of {FILES}")
    return from_onnx(model, asked.names)


def _booster(model: Any, asked: Asked) -> Adapted:
    """Read a model of XGBoost or LightGBM; only the library of the model is imported."""
    library = type(model).__module__.split(".")[0]
    forest, categories = from_xgboost(model, asked.X, asked.output) if library == "xgboost" else from_lightgbm(model)
    if categories is None:
        adapted = plain(forest, asked.names)
    else:
        adapted = with_categories(forest, categories, asked.names, unknown_missing=library == "lightgbm")
    if type(model).__name__ == "Booster":  # its own predict returns no classes
        return replace(adapted, ask=forest.predict, ask_output=forest.output)
    return adapted


register("proofwood.Forest", lambda model, asked: model)
register(
    [f"xgboost.{name}" for name in ("XGBClassifier", "XGBRegressor", "XGBRanker", "XGBRFClassifier", "XGBRFRegressor")],
    _booster,
    words="a classifier, regressor or ranker of XGBoost, LightGBM or CatBoost, a Booster of the first two",
    outputs=True,
)
register(("lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor", "lightgbm.LGBMRanker"), _booster)
register("xgboost.Booster", _booster, fitted=False, outputs=True)
register("lightgbm.Booster", _booster, fitted=False)
register(
    ("catboost.CatBoostClassifier", "catboost.CatBoostRegressor", "catboost.CatBoostRanker"),
    lambda model, asked: from_catboost(model, asked.names, asked.X, asked.output),
    fitted=False,
    outputs=True,
)
register(("builtins.str", "pathlib.Path", "onnx.ModelProto"), _onnx, words=f"the path of {FILES}")
