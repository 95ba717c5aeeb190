"""CatBoost classifiers and regressors as forests of floats, read from the JSON that the library writes.

Numbers are rounded to float32 and go high iff they are above a border. A tree of the default kind asks the same on all
nodes of a level, its leaves are numbered by the answers as bits; other trees are nested.

The library knows categories by a hash of their text alone, and a row goes high iff its category has the hash that is
tested. The texts come from the rows that the user gives, and the hash of each from the library itself.
"""

from __future__ import annotations

import json
import math
import numbers
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.explain.model.adapters.nodes import Edge, Nodes, join
from proofwood.explain.model.adapters.reading import Adapted, column_names, listed, mixed, plain
from proofwood.explain.model.adapters.sklearn import codes_of, numbers_of, probabilities_of, unnamed
from proofwood.explain.model.forest import (
    DOUBLE,
    NO_CLASSES,
    OTHER,
    Codes,
    Forest,
    Link,
    LinkKind,
    ScoredTree,
    merged,
    summing_noise,
)
from proofwood.explain.model.sources import Source
from proofwood.explain.model.space import Input
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


def from_catboost(model: Any, feature_names: Sequence[str] | None, X: Any = None) -> Adapted:
    """``CatBoostClassifier`` or ``CatBoostRegressor`` of numbers, and of categories that are tested one by one.

    Of two classes, a sum above 0 is the second. A missing value goes where its column says: low, unless it stands for
    more than all numbers; a category is never missing.

    Parameters
    ----------
    feature_names : names of the columns, if the user gives them
    X : rows in which all categories occur that the trees test; needed where they test some

    Raises
    ------
    TypeError
        If a tree tests statistics of categories, text or embeddings, or the loss is none that predicts by one sum per
        class, or a number.
    ValueError
        If categories are tested that do not occur in ``X``.
    """
    saved = _saved(model)
    loss = saved["model_info"]["params"]["loss_function"]["type"]
    if loss not in LINKS and loss not in CLASSES:
        raise TypeError(f"the loss is {loss!r}: expected one of {', '.join((*LINKS, *CLASSES))}")
    regressor = loss in LINKS
    binary = loss in ("Logloss", "CrossEntropy")
    n_columns = len(model.feature_names_)
    names = column_names(tuple(map(str, model.feature_names_)), n_columns, feature_names)
    known = _categories_of(model, saved["features_info"], names, X)
    columns = _Columns(saved["features_info"].get("float_features", []), known)
    flat = [int(one["flat_feature_index"]) for one in saved["features_info"].get("categorical_features", [])]
    scale, bias = saved["scale_and_bias"]
    n = 1 if regressor else 2 if binary else len(model.classes_)
    shape = (n, 1 if binary else 0)  # a single sum is that of the second class
    if "oblivious_trees" in saved:
        trees = [_oblivious(tree, columns, flat, float(scale), *shape) for tree in saved["oblivious_trees"]]
    else:
        trees = [_nested(tree, columns, flat, float(scale), *shape) for tree in saved["trees"]]
    base = np.zeros(n)
    base[shape[1] :] = bias
    link = Link(LINKS[loss]) if regressor else Link("logistic") if binary else None
    output = partial(numbers_of if regressor else probabilities_of, model)
    predict = output if regressor else partial(_predict, model, np.asarray(model.classes_))
    takes = np.ones(n_columns, dtype=bool)
    takes[list(known)] = False
    forest = Forest(
        trees=tuple(merged(tree) for tree in trees),
        base=base,
        classes=NO_CLASSES if regressor else np.asarray(model.classes_),
        n_columns=n_columns,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=2),
        predict=predict,
        takes_missing=takes,
        names=tuple(map(str, model.feature_names_)),
        link=link,
        output=None if link is None else output,
    )
    if not known:
        return plain(forest, feature_names)
    asked = partial(_of_frame, known, tuple(model.feature_names_))
    forest = replace(forest, predict=partial(asked, predict), output=None if link is None else partial(asked, output))
    inputs = tuple(
        Input(name, Kind.NOMINAL, levels=known[j].texts, other=True) if j in known else Input(name)
        for j, name in enumerate(names)
    )
    read = partial(_read, model, known, names)
    sources = tuple(Source(j) for j in range(n_columns))
    return Adapted(forest, inputs, sources, read, forest.predict, unknown_missing=False, output=forest.output)


# ---------------------------------------------------------------------------------------------------------- categories


@dataclass(frozen=True)
class _Texts:
    """Categories of a column: their texts, the hash of each, and a text whose hash no tree tests."""

    texts: tuple[str, ...]
    hashes: tuple[int, ...]
    tested: frozenset[int]
    other: str


@dataclass(frozen=True, eq=False)
class _Columns:
    """What the file says of columns of numbers, and what is known of those of categories."""

    numbers: list[dict[str, Any]]
    categories: Mapping[int, _Texts]

    def codes_low(self, column: int, tested: int) -> Codes:
        """All codes but those with the hash."""
        hashes = self.categories[column].hashes
        return frozenset({OTHER, *(code for code, own in enumerate(hashes) if own != tested)})


def _saved(model: Any, pool: Any = None) -> dict[str, Any]:
    """The model as the library writes it; with the hashes of the categories of a pool."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _categories_of(model: Any, info: dict[str, Any], names: Sequence[str], X: Any) -> dict[int, _Texts]:
    """The categories of each column that holds some."""
    tested = {
        int(column["flat_feature_index"]): frozenset(int(value) % 2**32 for value in column.get("values", []))
        for column in info.get("categorical_features", [])
    }
    if not tested:
        return {}
    columns = None if X is None else listed(X, names)
    texts = {j: () if columns is None else tuple(sorted({_text(v, names[j]) for v in columns[j]})) for j in tested}
    others = tuple(f"(any other {k})" for k in range(8))
    hashes = _hashes(model, {*others, *(text for found in texts.values() for text in found)})
    known = {}
    for j, wanted in tested.items():
        lacking = wanted - {hashes[text] for text in texts[j]}
        if lacking:
            raise ValueError(
                f"the model tests {len(wanted)} categories of the column {names[j]!r}, which CatBoost knows by a hash "
                f"alone: {'there is no X' if X is None else f'{len(lacking)} of them do not occur in X'}. Expected X= "
                "with rows in which all of them occur"
            )
        other = next(text for text in others if hashes[text] not in wanted)
        known[j] = _Texts(texts[j], tuple(hashes[text] for text in texts[j]), wanted, other)
    return known


def _hashes(model: Any, texts: Collection[str]) -> dict[str, int]:
    """The hash of each text, as the library computes it."""
    import catboost  # optional
    import pandas as pd  # optional: CatBoost asks for it

    chosen = set(model.get_cat_feature_indices())
    listed_texts = sorted(texts)
    table = {
        str(name): listed_texts if j in chosen else [0.0] * len(listed_texts)
        for j, name in enumerate(model.feature_names_)
    }
    pool = catboost.Pool(pd.DataFrame(table), cat_features=sorted(chosen))
    found = _saved(model, pool)["features_info"]["cat_features_hash"]
    return {entry["value"]: int(entry["hash"]) % 2**32 for entry in found}


def _text(value: Any, name: str) -> str:
    """A category as CatBoost reads it."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise DataError(
        f"column {name!r} holds categories, and one of them is {value!r}: expected text or integers, as CatBoost does"
    )


def _read(model: Any, known: Mapping[int, _Texts], names: Sequence[str], X: Any) -> FloatArray:
    """Rows as numbers; a category that was not shown has the code of one with its hash, else that after the last."""
    columns = listed(X, names)
    for j in known:
        columns[j] = [_text(value, names[j]) for value in columns[j]]
    table: Any = np.empty((len(columns[0]), len(names)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    rows = mixed(table, names, {j: found.texts for j, found in known.items()})
    for j, found in known.items():
        new = np.flatnonzero(rows[:, j] == len(found.texts))
        if not new.size or not found.tested:
            continue
        hashes = _hashes(model, {columns[j][row] for row in new.tolist()})
        for row in new.tolist():
            if hashes[columns[j][row]] in found.tested:
                rows[row, j] = found.hashes.index(hashes[columns[j][row]])
    return rows


def _of_frame(known: Mapping[int, _Texts], names: Sequence[Any], call: Callable[[Any], Any], X: FloatArray) -> Any:
    """What the model gives to rows of codes."""
    import pandas as pd  # optional: CatBoost asks for it

    columns: dict[Any, Any] = {}
    for j, name in enumerate(names):
        columns[name] = X[:, j]
        if j in known:
            texts = np.array([*known[j].texts, known[j].other], dtype=object)
            columns[name] = texts[np.clip(X[:, j], 0, len(texts) - 1).astype(np.int64)]
    return call(pd.DataFrame(columns))


# --------------------------------------------------------------------------------------------------------------- trees


def _predict(model: Any, classes: Any, X: FloatArray) -> IntArray:
    return codes_of(unnamed(model.predict, X), classes)


@dataclass(frozen=True)
class _Test:
    """Column, threshold, whether a missing value goes low, and the codes that do where it tests a category."""

    column: int
    cut: float
    missing_low: bool
    levels: Codes | None = None


def _test(split: dict[str, Any], columns: _Columns, flat: Sequence[int]) -> _Test:
    kind = split["split_type"]
    if kind == "OneHotFeature":
        column = flat[split["cat_feature_index"]]
        return _Test(column, math.nan, False, columns.codes_low(column, int(split["value"]) % 2**32))
    if kind == "OnlineCtr":
        raise TypeError(
            "the model tests statistics of categories (OnlineCtr), which are no sets of categories: expected "
            "one_hot_max_size= of at least the number of categories of each column in cat_features"
        )
    if kind != "FloatFeature":
        raise TypeError(f"the model tests a {kind}: expected numbers, and categories one by one")
    given = columns.numbers[split["float_feature_index"]]
    border = np.float64(np.float32(split["border"]))
    return _Test(given["flat_feature_index"], float(last_rounded_low(border)), given["nan_value_treatment"] != "AsTrue")


def _oblivious(
    tree: dict[str, Any], columns: _Columns, flat: Sequence[int], scale: float, n_classes: int, first: int
) -> ScoredTree:
    """Level ``k`` of the tree tests split ``k``, and its answer is bit ``k`` of the number of the leaf."""
    tests = [_test(split, columns, flat) for split in tree["splits"]]
    depth = len(tests)
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    level = np.floor(np.log2(np.arange(1, size + 1))).astype(np.int64)
    feature, threshold, missing_low = np.full(size, LEAF), np.full(size, np.nan), np.ones(size, dtype=bool)
    levels: list[Codes | None] = [None] * size
    for k, test in enumerate(tests):
        feature[level == k], threshold[level == k], missing_low[level == k] = test.column, test.cut, test.missing_low
        for node in np.flatnonzero(level == k).tolist():
            levels[node] = test.levels
    at = np.arange(size)
    low, high = np.where(at < inner, 2 * at + 1, LEAF), np.where(at < inner, 2 * at + 2, LEAF)
    place = at[inner:] - inner  # its bits are the answers from the root on, the last one lowest
    number = sum((((place >> (depth - 1 - k)) & 1) << k for k in range(depth)), np.zeros_like(place))
    values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(2**depth, -1) * scale
    value = np.zeros((size, n_classes))
    value[inner:, first:] = values[number]
    some = tuple(levels) if any(test.levels is not None for test in tests) else None
    return ScoredTree(feature, threshold, low, high, missing_low, value, some)


def _nested(
    root: dict[str, Any], columns: _Columns, flat: Sequence[int], scale: float, n_classes: int, first: int
) -> ScoredTree:
    """Nodes in the order of a walk."""
    nodes = Nodes(n_classes)
    pending: list[tuple[dict[str, Any], list[Edge]]] = [(root, [])]
    while pending:
        node, edges = pending.pop()
        join(edges, len(nodes))
        if "split" not in node:
            scores = np.zeros(n_classes)
            scores[first:] = np.asarray(node["value"], dtype=np.float64) * scale
            nodes.add_leaf(scores)
            continue
        test = _test(node["split"], columns, flat)
        lows, highs = nodes.sides(nodes.add(test.column, test.cut, test.missing_low, test.levels))
        pending += [(node["right"], highs), (node["left"], lows)]
    return nodes.tree()
