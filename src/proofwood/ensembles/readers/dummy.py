"""Readers of models that predict the same for every row: ``DummyClassifier`` and ``DummyRegressor``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.ensembles.forest import Forest, Link, ScoredTree
from proofwood.ensembles.readers.members import answering, unasked
from proofwood.ensembles.readers.register import SHARES, Asked, register, target_of
from proofwood.model.node_table import FloatArray


def constant(classes: npt.NDArray[Any], value: FloatArray, n_columns: int) -> Forest:
    """A forest of one leaf, with one score per class, or with one number if ``classes`` is empty."""
    return Forest(
        trees=(ScoredTree.leaf(value),),
        base=np.zeros(len(value)),
        classes=np.asarray(classes),
        n_columns=n_columns,
        noise=0.0,
        predict=unasked,
        takes_missing=np.ones(n_columns, dtype=bool),
        link=Link(),
    )


def dummy_classifier(model: Any, asked: Asked) -> Forest:
    """Read a ``DummyClassifier`` that always predicts one class.

    Raises
    ------
    TypeError
        If it predicts at random.
    """
    if model._strategy not in ("prior", "most_frequent", "constant"):
        raise TypeError(
            f"a DummyClassifier with strategy={model._strategy!r} predicts at random and cannot be explained: expected "
            "'prior', 'most_frequent' or 'constant'"
        )
    target = target_of(model, model.n_outputs_, asked.output)
    one = model.n_outputs_ == 1
    classes = np.asarray(model.classes_ if one else model.classes_[target])
    prior = np.asarray(model.class_prior_ if one else model.class_prior_[target], dtype=np.float64)
    if model._strategy == "constant":
        chosen = int(np.flatnonzero(classes == np.ravel(model.constant)[target])[0])
    else:
        chosen = int(prior.argmax())
    shares = prior if model._strategy == "prior" else np.eye(len(classes))[chosen]
    votes = asked.vote in SHARES
    forest = constant(classes, shares if votes else np.eye(len(classes))[chosen], _width(model))
    return answering(forest if votes else replace(forest, link=None), model, asked.output)


def dummy_regressor(model: Any, asked: Asked) -> Forest:
    """Read a ``DummyRegressor``, which always predicts the same number."""
    target = target_of(model, model.n_outputs_, asked.output)
    value = np.ravel(model.constant_)[target]
    return answering(constant(np.zeros(0), np.array([float(value)]), _width(model)), model, asked.output)


def _width(model: Any) -> int:
    n = getattr(model, "n_features_in_", None)
    if n is None:
        raise TypeError(f"the {type(model).__name__} has no n_features_in_: expected one that was fitted on a table")
    return int(n)


register("sklearn.DummyClassifier", dummy_classifier, words="DummyClassifier or DummyRegressor", outputs=True)
register("sklearn.DummyRegressor", dummy_regressor, outputs=True)
