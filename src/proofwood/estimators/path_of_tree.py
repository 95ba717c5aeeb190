"""The path by leaves of the problem that a fitted tree was learned from."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from proofwood.arguments import is_integer
from proofwood.estimators.fitted import model_of_fit
from proofwood.estimators.optimal_regressor import CRITERIA as NUMBERS
from proofwood.estimators.optimal_regressor import OptimalTreeRegressor
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.tree_path import BY_LEAVES, TreePath, optimal_tree_path
from proofwood.hints import parameter

SHARED = (
    "criterion",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "class_weight",
    "categorical_features",
    "drop",
    "missing_values",
    "written_as",
    "bands",
    "time_limit",
    "memory_limit",
    "n_jobs",
)
"""Parameters that a learner and its path have alike, beside the depth."""


def tree_path_of(model: Any, X: Any, y: Any, folds: int, sample_weight: npt.ArrayLike | None = None) -> TreePath:
    """The best tree for every number of leaves, for the parameters of a fitted tree.

    Parameters
    ----------
    model : fitted :class:`OptimalTreeClassifier` or :class:`OptimalTreeRegressor`, or the choice of one by folds
    X, y, sample_weight : its training rows, as given to ``fit``
    folds : number of folds that hold out rows; 0 for none

    Raises
    ------
    ValueError
        If there is no path for trees of this kind, or no such number of folds; the message says why.
    """
    tree = model_of_fit(model)
    require_path(tree, folds)
    given = tree.get_params()
    shared = {name: given[name] for name in SHARED if name in given}
    return optimal_tree_path(
        X, y, max_depth=given["max_depth"], cv=folds or None, sample_weight=sample_weight, **shared
    )


def require_path(model: Any, folds: int) -> None:
    """Raise ValueError if the parameters of a learner, which need not be fitted, have no path by leaves."""
    if not is_integer(folds) or folds < 0 or folds == 1:
        raise ValueError(f"{parameter('by_leaves', folds)}: expected a number of folds from 2, or 0 for none")
    if not isinstance(model, (OptimalTreeClassifier, OptimalTreeRegressor)):
        raise ValueError(
            "trees by their leaves are of classes or numbers (OptimalTreeClassifier, OptimalTreeRegressor), and this "
            f"is a model of {type(model).__name__}"
        )
    if model.max_depth is None:
        raise ValueError(f"{parameter('max_depth', None)}: trees by their leaves have a depth: learn a tree of one")
    refused = ["criterion"] * (model.criterion not in (*BY_LEAVES, *NUMBERS)) + list(model._without_leaves())
    if getattr(model, "cost_matrix", None) is not None:
        refused.append("cost_matrix")
    elif getattr(model, "unavoidable_cost_", None) is not None:
        refused.append("costs")
    if refused:
        given = model.get_params()  # costs are given to fit
        told = parameter(refused[0], given[refused[0]]) if refused[0] in given else refused[0]
        raise ValueError(f"{told}: there is no path by leaves with it: leave it out")
