"""Which models can be explained: the families that are known, each a file that registers its readers."""

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
"""Modules that register readers when they are imported."""


def adapt(
    model: Any, vote: str, feature_names: Sequence[str] | None, X: Any = None, output: int | None = None
) -> Adapted:
    """The reading of a fitted model; TypeError if it is of no supported kind.

    A ``Forest``, which is what readers make, is taken as it is.

    Parameters
    ----------
    model : fitted
    vote : "auto", "majority", or "sure" where the probabilities matter and not the class alone
    feature_names : names of the columns, if the user gives them
    X : rows that the user gives, in which some models look for the names of their categories
    output : which target of a model of several
    """
    reading = read(model, Asked(vote, feature_names, X, output))
    whole = one_target(model, output, reading.core.forest.classes)
    if reading.direct:
        return replace(reading.core, model=whole)
    return pipelines.from_steps(whole, reading, feature_names, X)


def register_reader(
    kinds: type | str | Sequence[type | str], read: Reader, *, votes: bool = False, outputs: bool = False
) -> None:
    """Let a function of yours read fitted models of some classes, wherever models are explained.

    Parameters
    ----------
    kinds : classes, or their names with that of their library in front, such as ``"sklearn.RandomForestClassifier"``,
        whatever the modules between are called: so nothing is imported. Subclasses that predict as these do are read
        too. A class that is read already gets the new reader
    read : from a fitted model and what is asked of it to its reading: a ``Forest`` of
        :mod:`proofwood.ensembles.forest`, or, of a model that predicts as another one in it does, what
        ``asked.read(other)`` returns. Every row that is asked about is first given to the model's own ``predict``, and
        is not explained where that says another class than the reading
    votes : whether it answers to ``vote="majority"`` (``asked.vote``); without it such a question is refused
    outputs : whether it answers to ``output`` (``asked.output``); likewise

    Raises
    ------
    TypeError
        If ``kinds`` are none of these, or ``read`` is not a function.

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
    """A path or a ``ModelProto``; the package is not imported for other models."""
    if isinstance(model, str | Path) and Path(model).suffix.lower() != ".onnx":
        raise TypeError(f"cannot explain {str(model)!r}: expected a fitted model, or the path of {FILES}")
    return from_onnx(model, asked.names)


def _booster(model: Any, asked: Asked) -> Adapted:
    """A model of XGBoost or LightGBM; a library is imported only if the model comes from it."""
    library = type(model).__module__.split(".")[0]
    forest, categories = from_xgboost(model, asked.X, asked.output) if library == "xgboost" else from_lightgbm(model)
    if categories is None:
        adapted = plain(forest, asked.names)
    else:
        adapted = with_categories(forest, categories, asked.names, unknown_missing=library == "lightgbm")
    if type(model).__name__ == "Booster":  # whose own predict gives no classes
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
