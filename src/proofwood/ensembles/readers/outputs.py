"""Convert the predictions of models: labels to class codes, numbers to float64, and one column out of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.forest import Link
from proofwood.model.node_table import FloatArray, IntArray


def codes_of(labels: Any, classes: npt.NDArray[Any]) -> IntArray:
    """The position of each label among the classes; -1 if a label is not a class."""
    position = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    return np.array([position.get(label, -1) for label in np.asarray(labels).ravel().tolist()], dtype=np.int64)


def codes_from(call: Callable[[Any], Any], classes: npt.NDArray[Any], X: Any) -> IntArray:
    """(n_rows,) class codes of the labels that ``call`` returns for rows."""
    return codes_of(call(X), classes)


def floats_from(call: Callable[[Any], Any], X: Any) -> FloatArray:
    """(n_rows,) or (n_rows, n_classes) the numbers that ``call`` returns for rows, in float64."""
    return np.asarray(call(X), dtype=np.float64)


def column_of(call: Callable[[Any], Any], target: int, X: Any) -> FloatArray:
    """(n_rows,) column ``target`` of the numbers that ``call`` returns for rows, in float64."""
    given = floats_from(call, X)
    return given.reshape(len(given), -1)[:, target]


def both_sides(call: Callable[[Any], FloatArray], X: Any) -> FloatArray:
    """(n_rows, 2) probabilities of two classes, if ``call`` returns those of the second class."""
    yes = call(X)
    return np.stack([1 - yes, yes], axis=1)


def beyond_half(call: Callable[[Any], FloatArray], X: Any) -> IntArray:
    """(n_rows,) 1 for rows for which ``call`` returns more than 0.5, else 0."""
    return np.asarray(call(X) > 0.5, dtype=np.int64)


def greatest(call: Callable[[Any], Any], X: Any) -> IntArray:
    """(n_rows,) the index of the first greatest number of each row; codes (n_rows,) are returned unchanged."""
    given = np.asarray(call(X))
    return np.asarray(given.argmax(axis=1) if given.ndim == 2 else given, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Sums:
    """How an XGBoost or CatBoost model turns its sums into predictions.

    Parameters
    ----------
    places : (n_outputs,) for each sum of the model, its index among the scores here; -1 if the sum is not used
    base : (n_scores,) scores before any tree
    cut : a single sum above this number predicts the second class; 0 for all other kinds
    classes : the labels; empty for a number
    link : the link of a number, or of the probability of two classes; else None
    kind : "number"; "binary", two classes by one sum; "label", one label of several; "classes", one sum per class; or
        "one of two", a softmax of two classes, each of which XGBoost's scikit-learn class treats as a separate label
    target : number of the output that is read
    """

    places: IntArray
    base: FloatArray
    cut: float
    classes: npt.NDArray[Any]
    link: Link | None
    kind: str
    target: int
