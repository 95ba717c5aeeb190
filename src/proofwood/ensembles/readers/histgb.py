"""Reader of scikit-learn's histogram gradient boosting: float64 thresholds, missing values, and sets of categories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import (
    DOUBLE,
    NO_CLASSES,
    OTHER,
    Codes,
    Forest,
    Link,
    ScoredTree,
    merged,
    summing_noise,
)
from proofwood.ensembles.readers.categories import of_table
from proofwood.ensembles.readers.reading import Adapted, column_names, mixed, numbers
from proofwood.ensembles.readers.register import Asked, names_of, register
from proofwood.ensembles.readers.sklearn import coded, numbers_of, probabilities_of
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.model.node_table import LEAF, FloatArray


def from_hist_gradient_boosting(model: Any, asked: Asked) -> Adapted:
    """Read a ``HistGradientBoostingClassifier`` or ``...Regressor``: a constant plus trees, in float64.

    With two classes, a sum of 0 predicts the first class. Each node has a side for missing values and unseen
    categories. The model moves categorical columns to the front and codes them by their sorted values; here the columns
    keep their order and hold the same codes.
    """
    n_columns = int(model.n_features_in_)
    regressor = not hasattr(model, "classes_")
    binary = not regressor and model.n_trees_per_iteration_ == 1
    n = 1 if regressor else len(model.classes_)
    trees = []
    for iteration in model._predictors:
        for k, predictor in enumerate(iteration):
            trees.append(merged(_tree(predictor, 1 if binary else k, n)))
    start = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    base = np.array([0.0, start[0]]) if binary else start
    names = column_names(names_of(model), n_columns, asked.names)
    categorical = model.is_categorical_
    known: dict[int, tuple[Any, ...]] = {}
    order = np.arange(n_columns)
    if categorical is not None:
        order = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
        encoder = model._preprocessor.named_transformers_["encoder"]
        for j, values in zip(np.flatnonzero(categorical).tolist(), encoder.categories_, strict=True):
            known[j] = tuple(value for value in values.tolist() if value is not None and value == value)
    inputs = tuple(
        Input(name, Kind.NOMINAL, levels=tuple(map(str, known[j]))) if j in known else Input(name)
        for j, name in enumerate(names)
    )
    link = _link(model, binary, regressor)
    calls: tuple[Callable[[Any], Any], Callable[[Any], Any] | None]
    if regressor:
        calls = (partial(numbers_of, model), partial(numbers_of, model))
    else:
        calls = (coded(model), partial(probabilities_of, model))
    table = partial(_with_categories, known) if known else None
    predict, output = (call if table is None else partial(of_table, call, table) for call in calls)
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=NO_CLASSES if regressor else model.classes_,
        n_columns=n_columns,
        noise=summing_noise(tuple(trees), base, DOUBLE),
        predict=predict,
        takes_missing=np.ones(n_columns, dtype=bool),
        link=link,
        output=None if link is None else output,
        decision=None if regressor else 1.0,
    )
    read = partial(mixed, names=names, known=known) if known else partial(numbers, names=names)
    sources = tuple(Source(int(j)) for j in order)
    return Adapted(forest, inputs, sources, read, predict, output=forest.output, categories=known, table=table)


def _link(model: Any, binary: bool, regressor: bool) -> Link | None:
    """The link of the model, which is logarithmic for some regressors; None for more than two classes."""
    if not regressor:
        return Link("logistic") if binary else None
    name = type(model._loss.link).__name__
    if name not in ("IdentityLink", "LogLink"):
        raise TypeError(
            f"the loss of the model has the link {name}: expected IdentityLink or LogLink, as with "
            "loss='squared_error' or loss='poisson'"
        )
    return Link() if name == "IdentityLink" else Link("log")


def _tree(predictor: Any, code: int, n_classes: int) -> ScoredTree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    categorical = ~leaf & nodes["is_categorical"].astype(bool)
    value = np.zeros((nodes.size, n_classes))
    value[:, code] = nodes["value"]
    levels: list[Codes | None] = [None] * nodes.size
    for node in np.flatnonzero(categorical).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        codes = {32 * w + bit for w, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1}
        levels[node] = frozenset(codes | ({OTHER} if nodes["missing_go_to_left"][node] else set()))
    return ScoredTree(
        feature=np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int64),
        threshold=np.where(leaf | categorical, np.nan, nodes["num_threshold"]),
        low=nodes["left"].astype(np.int64),
        high=nodes["right"].astype(np.int64),
        missing_low=nodes["missing_go_to_left"].astype(bool),
        value=value,
        levels=tuple(levels) if categorical.any() else None,
    )


def _with_categories(known: dict[int, tuple[Any, ...]], X: FloatArray) -> Any:
    """Rows of codes as rows of numbers and categories."""
    rows = X.astype(object)
    for j, values in known.items():
        table = np.array([*values, np.nan, np.nan], dtype=object)
        codes = np.where(np.isnan(X[:, j]), len(values), np.clip(X[:, j], 0, len(values))).astype(np.int64)
        rows[:, j] = table[codes]
    return rows


register(
    ("sklearn.HistGradientBoostingClassifier", "sklearn.HistGradientBoostingRegressor"), from_hist_gradient_boosting
)
