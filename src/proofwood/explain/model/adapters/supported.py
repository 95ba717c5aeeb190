"""Which models can be explained, and which adapter reads each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from proofwood.estimators.base import ProvedClassifier
from proofwood.explain.model.adapters import sklearn as from_sklearn
from proofwood.explain.model.adapters.boosters import from_lightgbm, from_xgboost
from proofwood.explain.model.adapters.categories import with_categories
from proofwood.explain.model.adapters.histgb import from_hist_gradient_boosting
from proofwood.explain.model.adapters.own import from_classifier, from_tables
from proofwood.explain.model.adapters.pipeline import from_pipeline
from proofwood.explain.model.adapters.reading import Adapted, plain
from proofwood.explain.model.forest import Forest
from proofwood.model.ensemble import Ensemble
from proofwood.model.node_table import NodeTable

SUPPORTED = (
    "DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier of "
    "trees, GradientBoostingClassifier or HistGradientBoostingClassifier of scikit-learn, a classifier or Booster of "
    "XGBoost or LightGBM, a univariate tree, diagram or ensemble of proofwood, or a Pipeline that ends with one of "
    "these"
)


def adapt(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted:
    """The adapter's reading of a fitted model; TypeError if it is of no supported kind.

    A ``Forest``, which is what adapters make, is taken as it is.
    """
    if isinstance(model, Pipeline):
        inner = adapt(model.steps[-1][1], vote, None)
        return from_pipeline(model, inner, feature_names)
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


def _own(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    if not isinstance(model, ProvedClassifier):
        return None
    check_is_fitted(model)
    return from_classifier(model, feature_names)


def _hist(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    if not isinstance(model, HistGradientBoostingClassifier):
        return None
    check_is_fitted(model)
    refuse_majority(model, vote)
    return from_hist_gradient_boosting(model, feature_names)


def _booster(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    """A model of XGBoost or LightGBM; neither is imported unless the model is of it."""
    library = type(model).__module__.split(".")[0]
    if library not in ("xgboost", "lightgbm") or type(model).__name__ not in (
        "XGBClassifier",
        "XGBRFClassifier",
        "LGBMClassifier",
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


def _sklearn(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted | None:
    kinds = (
        DecisionTreeClassifier,
        RandomForestClassifier,
        ExtraTreesClassifier,
        BaggingClassifier,
        GradientBoostingClassifier,
    )
    if not isinstance(model, kinds):
        return None
    check_is_fitted(model)
    if isinstance(model, DecisionTreeClassifier):
        forest = from_sklearn.from_tree(model)
    elif isinstance(model, BaggingClassifier):
        forest = from_sklearn.from_bagging(model, vote)
    elif isinstance(model, GradientBoostingClassifier):
        refuse_majority(model, vote)
        forest = from_sklearn.from_gradient_boosting(model)
    else:
        forest = from_sklearn.from_forest(model, vote)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        forest = replace(forest, names=tuple(str(name) for name in names))
    return plain(forest, feature_names)


_READERS: tuple[Callable[[Any, str, Sequence[str] | None], Adapted | None], ...] = (
    _tables,
    _forest,
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
