"""Which models can be explained, and which adapter reads each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from proofwood.explain import from_sklearn
from proofwood.explain.forest import Forest
from proofwood.explain.reading import Adapted, plain

SUPPORTED = (
    "DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier of "
    "trees, GradientBoostingClassifier of scikit-learn"
)


def adapt(model: Any, vote: str, feature_names: Sequence[str] | None) -> Adapted:
    """The adapter's reading of a fitted model; TypeError if it is of no supported kind."""
    forest = _sklearn(model, vote)
    if forest is not None:
        names = getattr(model, "feature_names_in_", None)
        if names is not None:
            forest = replace(forest, names=tuple(str(name) for name in names))
        return plain(forest, feature_names)
    raise TypeError(f"cannot explain a {type(model).__name__}: expected a fitted {SUPPORTED}")


def _sklearn(model: Any, vote: str) -> Forest | None:
    from sklearn.ensemble import (
        BaggingClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

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
        return from_sklearn.from_tree(model)
    if isinstance(model, BaggingClassifier):
        return from_sklearn.from_bagging(model, vote)
    if isinstance(model, GradientBoostingClassifier):
        refuse_majority(model, vote)
        return from_sklearn.from_gradient_boosting(model)
    return from_sklearn.from_forest(model, vote)


def refuse_majority(model: Any, vote: str) -> None:
    """ValueError if a majority vote is asked of a model whose trees do not vote."""
    if vote == "majority":
        raise ValueError(f"vote='majority' is for trees that vote: the trees of a {type(model).__name__} add up scores")
