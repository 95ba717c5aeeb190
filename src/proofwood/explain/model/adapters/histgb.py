"""scikit-learn's histogram gradient boosting: float64 thresholds, missing values, and sets of categories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.explain.model.adapters.reading import Adapted, column_names, mixed, numbers
from proofwood.explain.model.adapters.sklearn import coded, codes_of, unnamed
from proofwood.explain.model.forest import DOUBLE, OTHER, Codes, Forest, ScoredTree, merged, summing_noise
from proofwood.explain.model.space import Input, Source
from proofwood.model.node_table import LEAF, FloatArray, IntArray


def from_hist_gradient_boosting(model: Any, feature_names: Sequence[str] | None) -> Adapted:
    """``HistGradientBoostingClassifier``: a constant start plus the trees in float64; a sum of 0 is the first class.

    Missing values and categories that were not seen take the side that each node names. The model puts columns of
    categories first and codes them by their sorted values; here they are codes in their own place.
    """
    n_columns, n = int(model.n_features_in_), len(model.classes_)
    binary = model.n_trees_per_iteration_ == 1
    trees = []
    for iteration in model._predictors:
        for k, predictor in enumerate(iteration):
            trees.append(merged(_tree(predictor, 1 if binary else k, n)))
    start = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    base = np.array([0.0, start[0]]) if binary else start
    names = column_names(getattr(model, "feature_names_in_", None), n_columns, feature_names)
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
    predict = partial(_predict, model, known) if known else coded(model)
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=model.classes_,
        n_columns=n_columns,
        noise=summing_noise(tuple(trees), base, DOUBLE),
        predict=predict,
        takes_missing=np.ones(n_columns, dtype=bool),
    )
    read = partial(mixed, names=names, known=known) if known else partial(numbers, names=names)
    return Adapted(forest, inputs, tuple(Source(int(j)) for j in order), read, predict)


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


def _predict(model: Any, known: dict[int, tuple[Any, ...]], X: FloatArray) -> IntArray:
    rows = X.astype(object)
    for j, values in known.items():
        table = np.array([*values, np.nan, np.nan], dtype=object)
        codes = np.where(np.isnan(X[:, j]), len(values), np.clip(X[:, j], 0, len(values))).astype(np.int64)
        rows[:, j] = table[codes]
    return codes_of(unnamed(model.predict, rows), np.asarray(model.classes_))
