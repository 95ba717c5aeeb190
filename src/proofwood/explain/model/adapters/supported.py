"""Which models can be explained, and which adapter reads each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from proofwood.data.kinds import Kind
from proofwood.estimators.base import ProvedClassifier
from proofwood.explain.model.adapters import sklearn as from_sklearn
from proofwood.explain.model.adapters.calibrated import from_calibrated
from proofwood.explain.model.adapters.catboost import from_catboost
from proofwood.explain.model.adapters.categories import with_categories
from proofwood.explain.model.adapters.histgb import from_hist_gradient_boosting
from proofwood.explain.model.adapters.lightgbm import from_lightgbm
from proofwood.explain.model.adapters.onnx import from_onnx
from proofwood.explain.model.adapters.own import from_classifier, from_tables
from proofwood.explain.model.adapters.pipeline import from_pipeline
from proofwood.explain.model.adapters.reading import Adapted, plain
from proofwood.explain.model.adapters.xgboost import from_xgboost
from proofwood.explain.model.forest import Forest
from proofwood.model.ensemble import Ensemble
from proofwood.model.node_table import NodeTable

SUPPORTED = (
    "tree, forest, bagged trees, GradientBoosting or HistGradientBoosting of scikit-learn (classifier or regressor), "
    "AdaBoostClassifier of trees, IsolationForest, VotingClassifier or VotingRegressor of these, a "
    "CalibratedClassifierCV of one of them with two classes, a classifier or "
    "regressor of XGBoost, LightGBM or CatBoost, a Booster of the first two, a univariate tree, diagram or ensemble of "
    "proofwood, a Pipeline that ends with one of these, or an ONNX file of trees"
)


def adapt(model: Any, vote: str, feature_names: Sequence[str] | None, X: Any = None) -> Adapted:
    """The adapter's reading of a fitted model; TypeError if it is of no supported kind.

    A ``Forest``, which is what adapters make, is taken as it is. ``vote`` is "auto", "majority", or "shares" where the
    probabilities matter and not the class alone. ``X`` are rows that the user gives, in which some models look for the
    names of their categories.
    """
    if isinstance(model, Pipeline):
        inner = adapt(model.steps[-1][1], vote, None)
        return from_pipeline(model, inner, feature_names)
    if type(model).__module__.split(".")[0] == "catboost":  # which is not imported unless the model is of it
        return _catboost(model, vote, feature_names, X)
    for reader in _READERS:
        found = reader(model, vote, feature_names)
        if found is not None:
            return found
    raise TypeError(f"cannot explain a {type(model).__name__}: expected a fitted {SUPPORTED}")


def _tables(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    return from_tables(model, feature_names) if isinstance(model, (NodeTable, Ensemble)) else None


def _forest(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    if not isinstance(model, Forest):
        return None
    refuse_majority(model, vote)
    return plain(model, feature_names)


def _onnx(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    """A path or a ``ModelProto``; the package is not imported for other models."""
    if isinstance(model, str | Path):
        if Path(model).suffix.lower() != ".onnx":
            raise TypeError(f"cannot explain {str(model)!r}: expected a fitted model, or the path of a file *.onnx")
    elif type(model).__name__ != "ModelProto" or not type(model).__module__.startswith("onnx"):
        return None
    refuse_majority(model, vote)
    return from_onnx(model, feature_names)


def _own(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    if not isinstance(model, ProvedClassifier):
        return None
    check_is_fitted(model)
    return from_classifier(model, feature_names)


def _hist(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    if not isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return None
    check_is_fitted(model)
    refuse_majority(model, vote)
    return from_hist_gradient_boosting(model, feature_names)


def _booster(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    """A model of XGBoost or LightGBM; neither is imported unless the model is of it."""
    library = type(model).__module__.split(".")[0]
    if library not in ("xgboost", "lightgbm") or type(model).__name__ not in (
        "XGBClassifier",
        "XGBRegressor",
        "XGBRFClassifier",
        "XGBRFRegressor",
        "LGBMClassifier",
        "LGBMRegressor",
        "Booster",
    ):
        return None
    if type(model).__name__ != "Booster":
        check_is_fitted(model)
    refuse_majority(model, vote)
    forest, categories = from_xgboost(model) if library == "xgboost" else from_lightgbm(model)
    if categories is None:
        return plain(forest, feature_names)
    return with_categories(forest, categories, feature_names, unknown_missing=library == "lightgbm")


def _catboost(model: Any, vote: str, feature_names: Sequence[str] | None, X: Any) -> Adapted:
    if type(model).__name__ not in ("CatBoostClassifier", "CatBoostRegressor"):
        raise TypeError(f"cannot explain a {type(model).__name__}: expected a CatBoostClassifier or CatBoostRegressor")
    check_is_fitted(model)
    refuse_majority(model, vote)
    return from_catboost(model, feature_names, X)


def _sklearn(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    if not isinstance(model, (*_OF_VOTES, *_OF_SUMS)):
        return None
    check_is_fitted(model)
    if not isinstance(model, _OF_VOTES):
        refuse_majority(model, vote)
    forest = _forest_of(model, vote)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        forest = replace(forest, names=tuple(str(name) for name in names))
    return plain(forest, feature_names)


_OF_VOTES = (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)
_OF_SUMS: dict[type, Callable[[Any], Forest]] = {
    DecisionTreeRegressor: from_sklearn.from_tree_regressor,
    RandomForestRegressor: from_sklearn.from_forest_regressor,
    ExtraTreesRegressor: from_sklearn.from_forest_regressor,
    BaggingRegressor: from_sklearn.from_bagging_regressor,
    GradientBoostingClassifier: from_sklearn.from_gradient_boosting,
    GradientBoostingRegressor: from_sklearn.from_gradient_boosting_regressor,
    AdaBoostClassifier: from_sklearn.from_ada_boost,
    IsolationForest: from_sklearn.from_isolation_forest,
    VotingClassifier: lambda model: from_sklearn.from_voting(model, partial(_member, "vote with")),
    VotingRegressor: lambda model: from_sklearn.from_voting(model, partial(_member, "vote with")),
    CalibratedClassifierCV: lambda model: from_calibrated(model, partial(_member, "calibration of")),
}


def _forest_of(model: Any, vote: str) -> Forest:
    if isinstance(model, DecisionTreeClassifier):
        return from_sklearn.from_shares(model) if vote == "shares" else from_sklearn.from_tree(model)
    if isinstance(model, BaggingClassifier):
        return from_sklearn.from_bagging(model, vote)
    if isinstance(model, _OF_VOTES):
        return from_sklearn.from_forest(model, vote)
    return next(read for kind, read in _OF_SUMS.items() if isinstance(model, kind))(model)


def _member(whole: str, model: Any) -> Forest:
    """The forest of a member of a vote, or of what is calibrated, which takes the columns of the whole as they are."""
    if isinstance(model, DecisionTreeClassifier):
        return from_sklearn.from_shares(model)
    adapted = adapt(model, "auto", None)
    if any(given.kind is not Kind.NUMERIC for given in adapted.inputs) or isinstance(model, Pipeline):
        raise TypeError(f"a {whole} a {type(model).__name__} of its own columns cannot be explained")
    return adapted.forest


_READERS: tuple[Callable[[Any, str, Sequence[str] | None], Adapted | None], ...] = (
    _tables,
    _forest,
    _onnx,
    _own,
    _hist,
    _booster,
    _sklearn,
)
"""Asked one after the other: a model, the vote, and names of columns -> its reading, None if it is of another kind."""


def refuse_majority(model: Any, vote: str) -> None:
    """ValueError if a majority vote is asked of a model whose trees do not vote."""
    if vote == "majority":
        raise ValueError(f"vote='majority' is for trees that vote: the trees of a {type(model).__name__} add up scores")
