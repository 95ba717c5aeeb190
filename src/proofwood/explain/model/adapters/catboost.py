"""CatBoost classifiers and regressors as forests of floats, read from the JSON that the library writes.

Numbers are rounded to float32 and go high iff they are above a border. A tree of the default kind asks the same on all
nodes of a level, its leaves are numbered by the answers as bits; other trees are nested.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from proofwood.explain.model.adapters.sklearn import codes_of, numbers_of, probabilities_of, unnamed
from proofwood.explain.model.forest import (
    DOUBLE,
    NO_CLASSES,
    Forest,
    Link,
    LinkKind,
    ScoredTree,
    merged,
    summing_noise,
)
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray

LINKS: dict[str, LinkKind] = {
    "RMSE": "mean",
    "MAE": "mean",
    "MAPE": "mean",
    "Quantile": "mean",
    "Huber": "mean",
    "Expectile": "mean",
    "LogCosh": "mean",
    "Lq": "mean",
    "Poisson": "log",
    "Tweedie": "log",
}
"""Losses that predict a number, and what the model makes of the sum."""
CLASSES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")


def from_catboost(model: Any) -> Forest:
    """``CatBoostClassifier`` or ``CatBoostRegressor`` of numbers.

    Of two classes, a sum above 0 is the second. A missing value goes where its column says: low, unless it stands for
    more than all numbers.

    Raises
    ------
    TypeError
        If a tree tests categories, text or embeddings, or the loss is none that predicts by one sum per class, or a
        number.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        saved = json.loads(path.read_text(encoding="utf-8"))
    loss = saved["model_info"]["params"]["loss_function"]["type"]
    if loss not in LINKS and loss not in CLASSES:
        raise TypeError(f"the loss is {loss!r}: expected one of {', '.join((*LINKS, *CLASSES))}")
    regressor = loss in LINKS
    binary = loss in ("Logloss", "CrossEntropy")
    columns = saved["features_info"].get("float_features", [])
    scale, bias = saved["scale_and_bias"]
    n = 1 if regressor else 2 if binary else len(model.classes_)
    shape = (n, 1 if binary else 0)  # a single sum is that of the second class
    if "oblivious_trees" in saved:
        trees = [_oblivious(tree, columns, float(scale), *shape) for tree in saved["oblivious_trees"]]
    else:
        trees = [_nested(tree, columns, float(scale), *shape) for tree in saved["trees"]]
    base = np.zeros(n)
    base[shape[1] :] = bias
    link = Link(LINKS[loss]) if regressor else Link("logistic") if binary else None
    n_columns = len(model.feature_names_)
    output = partial(numbers_of if regressor else probabilities_of, model)
    return Forest(
        trees=tuple(merged(tree) for tree in trees),
        base=base,
        classes=NO_CLASSES if regressor else np.asarray(model.classes_),
        n_columns=n_columns,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=2),
        predict=output if regressor else partial(_predict, model, np.asarray(model.classes_)),
        takes_missing=np.ones(n_columns, dtype=bool),
        names=tuple(map(str, model.feature_names_)),
        link=link,
        output=None if link is None else output,
    )


def _predict(model: Any, classes: Any, X: FloatArray) -> IntArray:
    return codes_of(unnamed(model.predict, X), classes)


def _test(split: dict[str, Any], columns: list[dict[str, Any]]) -> tuple[int, float, bool]:
    """Column, threshold, and whether a missing value goes low."""
    if split["split_type"] != "FloatFeature":
        raise TypeError(f"the model tests a {split['split_type']}: expected numbers only, without cat_features or text")
    column = columns[split["float_feature_index"]]
    border = np.float64(np.float32(split["border"]))
    return column["flat_feature_index"], float(last_rounded_low(border)), column["nan_value_treatment"] != "AsTrue"


def _oblivious(
    tree: dict[str, Any], columns: list[dict[str, Any]], scale: float, n_classes: int, first: int
) -> ScoredTree:
    """Level ``k`` of the tree tests split ``k``, and its answer is bit ``k`` of the number of the leaf."""
    tests = [_test(split, columns) for split in tree["splits"]]
    depth = len(tests)
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    level = np.floor(np.log2(np.arange(1, size + 1))).astype(np.int64)
    feature, threshold, missing_low = np.full(size, LEAF), np.full(size, np.nan), np.ones(size, dtype=bool)
    for k, (column, cut, goes_low) in enumerate(tests):
        feature[level == k], threshold[level == k], missing_low[level == k] = column, cut, goes_low
    at = np.arange(size)
    low, high = np.where(at < inner, 2 * at + 1, LEAF), np.where(at < inner, 2 * at + 2, LEAF)
    place = at[inner:] - inner  # its bits are the answers from the root on, the last one lowest
    number = sum((((place >> (depth - 1 - k)) & 1) << k for k in range(depth)), np.zeros_like(place))
    values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(2**depth, -1) * scale
    value = np.zeros((size, n_classes))
    value[inner:, first:] = values[number]
    return ScoredTree(feature, threshold, low, high, missing_low, value)


def _nested(
    root: dict[str, Any], columns: list[dict[str, Any]], scale: float, n_classes: int, first: int
) -> ScoredTree:
    """Nodes in the order of a walk."""
    feature: list[int] = []
    threshold: list[float] = []
    missing_low: list[bool] = []
    children: tuple[list[int], list[int]] = ([], [])
    value: list[FloatArray] = []
    pending: list[tuple[dict[str, Any], list[int] | None, int]] = [(root, None, 0)]
    while pending:
        node, edges, place = pending.pop()
        here = len(feature)
        if edges is not None:
            edges[place] = here
        for side in children:
            side.append(LEAF)
        scores = np.zeros(n_classes)
        column, cut, low = LEAF, np.nan, True
        if "split" in node:
            column, cut, low = _test(node["split"], columns)
            pending += [(node["right"], children[1], here), (node["left"], children[0], here)]
        else:
            scores[first:] = np.asarray(node["value"], dtype=np.float64) * scale
        feature.append(column)
        threshold.append(cut)
        missing_low.append(low)
        value.append(scores)
    return ScoredTree(
        np.array(feature), np.array(threshold), np.array(children[0]), np.array(children[1]), np.array(missing_low),
        np.array(value),
    )  # fmt: skip
