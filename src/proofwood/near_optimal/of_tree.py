"""The near-optimal set of the problem that a fitted tree was learned from."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from proofwood.engines.trees.near import DEEPEST
from proofwood.estimators.fitted import model_of_fit
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.hints import parameter
from proofwood.near_optimal.posed import near_optimal_trees
from proofwood.near_optimal.trees import NearOptimalTrees

SHARED = (
    "max_depth",
    "alpha",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "min_samples_level",
    "class_weight",
    "categorical_features",
    "drop",
    "missing_values",
    "written_as",
    "bands",
    "time_limit",
    "memory_limit",
)
"""Parameters that a learner and its near-optimal set have alike."""


def near_optimal_trees_of(
    model: Any, X: Any, y: Any, slack: float, sample_weight: npt.ArrayLike | None = None
) -> NearOptimalTrees:
    """All trees that cost at most ``slack`` more than the best one, for the parameters of a fitted tree.

    Parameters
    ----------
    model : fitted :class:`OptimalTreeClassifier`, or :class:`OptimalTreeCV`, whose chosen size counts
    X, y, sample_weight : its training rows, as given to ``fit``
    slack : as in :func:`near_optimal_trees`

    Raises
    ------
    ValueError
        If trees of this kind are not counted; the message says why.
    """
    tree = model_of_fit(model)
    require_counted(tree)
    given = tree.get_params()
    return near_optimal_trees(X, y, slack=slack, sample_weight=sample_weight, **{name: given[name] for name in SHARED})


def require_counted(model: Any) -> None:
    """Raise ValueError if near-optimal trees of the parameters of a learner are not counted; it need not be fitted."""
    if not isinstance(model, OptimalTreeClassifier):
        raise ValueError(
            f"near-optimal trees are counted for trees of classes (OptimalTreeClassifier), and this is a model of "
            f"{type(model).__name__}"
        )
    given = model.get_params()
    depth, refused = given["max_depth"], _refused(model)
    if depth is None or depth > DEEPEST:
        raise ValueError(
            f"{parameter('max_depth', depth)}: near-optimal trees are counted up to a depth of {DEEPEST}: learn a tree "
            "of such a depth, or leave them out"
        )
    if refused is not None:
        told = parameter(refused, given[refused]) if refused in given else refused  # costs are given to fit
        raise ValueError(f"{told}: near-optimal trees are counted by errors, without it: leave them out")


def _refused(model: OptimalTreeClassifier) -> str | None:
    """A parameter of the tree, or of its fit, with which trees are not counted."""
    if model.criterion != "errors":
        return "criterion"
    if model.cost_matrix is not None:
        return "cost_matrix"
    if getattr(model, "unavoidable_cost_", None) is not None:
        return "costs"
    if model._most_leaves is not None:
        return "max_leaf_nodes"
    return next(iter(model._without_leaves()), None)
