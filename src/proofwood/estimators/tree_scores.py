"""What a cross-validation scores where the user names no score: what the criterion of the trees measures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import fbeta_score, jaccard_score, make_scorer

from proofwood.estimators.costs import cost_matrix
from proofwood.estimators.ratios import as_ratio, positive_code
from proofwood.language import marked

COST = marked("neg mean cost")
"""Name of the score of trees that avoid costs."""
BY_NAME = {"balanced_accuracy": "balanced_accuracy", "log_loss": "neg_log_loss"}
"""Scores of scikit-learn that are what a criterion measures; for all other criteria it is the accuracy."""


def name_of(learner: Any) -> str | None:
    """The name of what a learner of trees minimises or maximises; None for the accuracy.

    Parameters
    ----------
    learner : with the parameters of an ``OptimalTreeClassifier``
    """
    if learner.cost_matrix is not None:
        return COST
    ratio = as_ratio(learner.criterion, learner.beta, learner.pos_label)
    return BY_NAME.get(learner.criterion) if ratio is None else ratio.name


def scorer_of(learner: Any, classes: npt.NDArray[Any]) -> Any:
    """The function of (model, X, y) of this name; None for a score that scikit-learn knows.

    Parameters
    ----------
    learner : as in :func:`name_of`
    classes : (n_classes,) labels, sorted

    Raises
    ------
    ValueError
        If the costs do not fit the classes, or the positive class is not known.
    """
    if learner.cost_matrix is not None:
        matrix = cost_matrix(learner.cost_matrix, classes)
        return make_scorer(partial(mean_cost, matrix=matrix, classes=classes), greater_is_better=False)
    if as_ratio(learner.criterion, learner.beta, learner.pos_label) is None:
        return None
    label = classes.tolist()[positive_code(learner.criterion, learner.pos_label, classes)]
    of_class = {"pos_label": label, "zero_division": 0.0}
    if learner.criterion == "jaccard":
        return make_scorer(jaccard_score, **of_class)
    return make_scorer(fbeta_score, beta=float(learner.beta or 1), **of_class)


def mean_cost(
    y: npt.NDArray[Any],
    predicted: npt.NDArray[Any],
    *,
    matrix: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """What predictions cost on average.

    Parameters
    ----------
    y, predicted : (n_rows,) labels, and those that a model gives
    matrix : (n_classes, n_classes) costs, by the true and the predicted class
    classes : (n_classes,) labels, sorted
    sample_weight : (n_rows,) weights of the rows
    """
    paid = matrix[np.searchsorted(classes, y), np.searchsorted(classes, predicted)]
    return float(np.average(paid, weights=None if sample_weight is None else np.asarray(sample_weight, float)))
