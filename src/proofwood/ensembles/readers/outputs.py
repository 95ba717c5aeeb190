"""What models give, as numbers: class codes of labels, floats, and one column of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.forest import Link
from proofwood.model.node_table import FloatArray, IntArray


def codes_of(labels: Any, classes: npt.NDArray[Any]) -> IntArray:
    """Position of each label among the classes, -1 of one that is none of them."""
    position = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    return np.array([position.get(label, -1) for label in np.asarray(labels).ravel().tolist()], dtype=np.int64)


def codes_from(call: Callable[[Any], Any], classes: npt.NDArray[Any], X: Any) -> IntArray:
    """(n_rows,) class codes of the labels that a function of rows gives."""
    return codes_of(call(X), classes)


def floats_from(call: Callable[[Any], Any], X: Any) -> FloatArray:
    """(n_rows,) or (n_rows, n_classes) what a function of rows gives, in float64."""
    return np.asarray(call(X), dtype=np.float64)


def column_of(call: Callable[[Any], Any], target: int, X: Any) -> FloatArray:
    """(n_rows,) what a function of rows gives in one of its columns, in float64."""
    given = floats_from(call, X)
    return given.reshape(len(given), -1)[:, target]


def both_sides(call: Callable[[Any], FloatArray], X: Any) -> FloatArray:
    """(n_rows, 2) probabilities of no and yes, of a function that gives the second."""
    yes = call(X)
    return np.stack([1 - yes, yes], axis=1)


def beyond_half(call: Callable[[Any], FloatArray], X: Any) -> IntArray:
    """(n_rows,) 1 where a function of rows gives more than 0.5, else 0."""
    return np.asarray(call(X) > 0.5, dtype=np.int64)


def greatest(call: Callable[[Any], Any], X: Any) -> IntArray:
    """(n_rows,) place of the greatest number of each row, the first of several; of codes these themselves."""
    given = np.asarray(call(X))
    return np.asarray(given.argmax(axis=1) if given.ndim == 2 else given, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Sums:
    """What a model of XGBoost or CatBoost makes of its sums.

    Parameters
    ----------
    places : (n_outputs,) for each sum of the model the place among the scores here; -1 if it does not matter
    base : (n_scores,) scores before any tree
    cut : above which a single sum is the second class; 0 of all others
    classes : labels; none of a number
    link : of a number, or of the probability of two classes
    kind : "number", "binary", "label", "classes": one sum per class; or "one of two", the two classes of a softmax,
        each of which the wrapper of XGBoost for scikit-learn takes for a label of its own
    target : which output of the model is meant
    """

    places: IntArray
    base: FloatArray
    cut: float
    classes: npt.NDArray[Any]
    link: Link | None
    kind: str
    target: int
