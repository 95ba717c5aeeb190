"""Read the JSON that CatBoost 1.2 to 1.2.10 writes of a model into arrays, without the library.

The default trees are oblivious: all nodes of one depth have the same test. The results of the tests are the
bits of the leaf's number; the first test gives the lowest bit. Other trees are written as nested nodes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from proofwood.ensembles.readers.known_fields import KnownFields, same
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray

_STATISTICS = "statistics of training"
_NAMES = "names and places of columns"
KNOWN = KnownFields(
    "CatBoost",
    {
        "the file": {
            "features_info": "_read",
            "model_info": "_read",
            "oblivious_trees": "_oblivious",
            "trees": "_nested",
            "scale_and_bias": "_read",
            "ctr_data": "of statistics of categories, whose tests are refused",
        },
        "model_info (it also holds your own metadata, see model.get_metadata())": {
            "params": "_loss",
            "loss_function": "_loss, of a sum of models",
            "binclass_probability_threshold": "_read",
            "class_params": "the labels, which are read from the loaded model",
            "catboost_version_info": "written_by",
            "model_guid": "a number of the model",
            "output_options": "of the training",
            "train_finish_time": "of the training",
            "training": "of the training",
        },
        "features_info": {
            "float_features": "_read",
            "categorical_features": "_read",
            "cat_features_hash": "hashes of texts that were asked for",
            "ctrs": "statistics of categories, whose tests are refused",
        },
        "a column of numbers": {
            "flat_feature_index": "_read",
            "nan_value_treatment": "_read",
            "borders": "those of the tests",
            "has_nans": _STATISTICS,
            **dict.fromkeys(("feature_id", "feature_index", "feature_name"), _NAMES),
        },
        "a column of categories": {
            "flat_feature_index": "_read",
            "values": "_read",
            **dict.fromkeys(("feature_id", "feature_index", "feature_name"), _NAMES),
        },
        "a tree": {
            "splits": "_oblivious",
            "leaf_values": "_oblivious",
            "leaf_weights": _STATISTICS,
            "split": "_nested",
            "left": "_nested",
            "right": "_nested",
            "value": "_nested",
            "weight": _STATISTICS,
        },
        "a split": {
            "split_type": "_Splits",
            "border": "_Splits",
            "float_feature_index": "_Splits",
            "cat_feature_index": "_Splits",
            "value": "_Splits",
            "split_index": "place among the splits of the model",
        },
    },
)
"""The known fields of a model: the function here that reads each, or the reason why it is not read."""
HASHES = 2**32
"""Hashes are numbers from 0 to below this one; the file writes some of them as negative numbers."""


@dataclass(frozen=True, eq=False)
class SavedCatBoost:
    """A CatBoost model of trees, as it is saved.

    Parameters
    ----------
    written_by : the release of CatBoost
    loss : name of the loss; None if it is unknown, for example for a sum of models with different losses
    threshold : probability above which the second of two classes is predicted
    bias : (n_outputs,) numbers that are added to the sums of the trees
    width : number of columns up to the last one in the file
    categories : by categorical column, the hashes that are tested
    begins : (n_trees + 1,) first node of each tree
    column, border, missing_low, low, high : (n_nodes,) the tested column (``LEAF`` at leaves); the border, above which
        the float32 of a value goes high; whether a missing value goes low; the next nodes within the tree
    value : (n_nodes, n_outputs) scores of the leaves
    hashes : by node that tests a category, the hash that goes high
    """

    written_by: str
    loss: str | None
    threshold: float
    bias: FloatArray
    width: int
    categories: Mapping[int, frozenset[int]]
    begins: IntArray
    column: IntArray
    border: FloatArray
    missing_low: BoolArray
    low: IntArray
    high: IntArray
    value: FloatArray
    hashes: Mapping[int, int]

    def same(self, other: SavedCatBoost) -> bool:
        """Whether both models predict the same, except for the last bits of leaves, which CatBoost loses in JSON."""
        near = ("value", "bias")
        return same(self, other, ("written_by", "width", *near)) and all(
            mine.shape == theirs.shape and (np.abs(mine - theirs) <= 2**-50 * np.abs(mine).max(initial=0.0)).all()
            for mine, theirs in ((getattr(self, name), getattr(other, name)) for name in near)
        )


def saved(text: str) -> SavedCatBoost:
    """Read a saved model.

    Parameters
    ----------
    text : the JSON that ``save_model(path, format="json")`` writes

    Raises
    ------
    TypeError
        If a tree tests statistics of categories, text or embeddings; or if a field is not known here.
    ValueError
        If the text is damaged.
    """
    try:
        return _read(json.loads(text))
    except (LookupError, ValueError, OverflowError, AttributeError) as error:
        raise ValueError(f"this is not a complete CatBoost model: {type(error).__name__}: {error}") from error


def _read(document: Mapping[str, Any]) -> SavedCatBoost:
    info = document["model_info"]
    written_by = _version(info)

    def check(part: str, fields: Mapping[str, Any]) -> None:
        KNOWN.check(part, fields, written_by)

    check("the file", document)
    own = {key: value for key, value in info.items() if not key.startswith("model") or ":" not in key}
    check("model_info (it also holds your own metadata, see model.get_metadata())", own)
    features = document["features_info"]
    check("features_info", features)
    numbers, texts = features.get("float_features") or [], features.get("categorical_features") or []
    for one in numbers:
        check("a column of numbers", one)
    for one in texts:
        check("a column of categories", one)
    splits = _Splits(check, numbers, texts)
    scale, bias = document["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    oblivious = "oblivious_trees" in document
    trees = document["oblivious_trees" if oblivious else "trees"]
    for tree in trees:
        check("a tree", tree)
    arrays = (_oblivious if oblivious else _nested)(trees, splits, bias.size)
    arrays["value"] = arrays["value"] * float(scale)
    flat = [int(one["flat_feature_index"]) for one in (*numbers, *texts)]
    return SavedCatBoost(
        written_by=written_by,
        loss=_loss(info),
        threshold=float(info.get("binclass_probability_threshold", 0.5)),
        bias=bias,
        width=max(flat, default=-1) + 1,
        categories={
            int(one["flat_feature_index"]): frozenset(int(value) % HASHES for value in one.get("values") or [])
            for one in texts
        },
        **arrays,
    )


def _version(info: Mapping[str, Any]) -> str:
    """The CatBoost release that wrote the model; for a sum of models, the release of the first one."""
    text = str(info.get("catboost_version_info", info.get("model0:catboost_version_info", "")))
    words = [word for word in text.replace("/", " ").split() if word[:1] in "v123" and "." in word]
    return words[0].removeprefix("v") if words else "of an unknown release"


def _loss(info: Mapping[str, Any]) -> str | None:
    given = info.get("loss_function")
    if given is not None:
        return str(json.loads(given)["type"])
    params = info.get("params")
    return None if params is None else str(params["loss_function"]["type"])


class _Splits:
    """Reader of the tests of the trees."""

    def __init__(self, check: Any, numbers: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, Any]]) -> None:
        self._check = check
        self._numbers = [(int(one["flat_feature_index"]), one["nan_value_treatment"] != "AsTrue") for one in numbers]
        for one in numbers:
            if one["nan_value_treatment"] not in ("AsIs", "AsFalse", "AsTrue"):
                raise TypeError(
                    f"a column has nan_value_treatment={one['nan_value_treatment']!r}, which is not known here: "
                    "expected 'AsIs', 'AsFalse' or 'AsTrue'"
                )
        self._texts = [int(one["flat_feature_index"]) for one in texts]
        self._n_splits = sum(len(one.get("borders") or ()) for one in numbers)
        self._n_splits += sum(len(one.get("values") or ()) for one in texts)
        if min((*(column for column, _ in self._numbers), *self._texts), default=0) < 0:
            raise ValueError("a column has a negative flat_feature_index")

    def read(self, split: Mapping[str, Any]) -> tuple[int, float, bool, int | None]:
        """Column, border (nan for categories), whether a missing value goes low, and the hash (None for numbers)."""
        kind = split["split_type"]
        if kind == "OnlineCtr":
            raise TypeError(
                "the model tests statistics of categories (OnlineCtr) instead of categories: expected a model fitted "
                "with one_hot_max_size= at least as large as the number of categories of each column in cat_features"
            )
        if kind not in ("FloatFeature", "OneHotFeature"):
            raise TypeError(f"the model has a test of type {kind}: expected tests of numbers or of one category each")
        self._check("a split", split)
        if not 0 <= int(split.get("split_index", 0)) < self._n_splits:
            raise ValueError(f"the split_index of a split is not below the number of splits, {self._n_splits}")
        if kind == "OneHotFeature":
            return self._texts[split["cat_feature_index"]], np.nan, False, int(split["value"]) % HASHES
        column, missing_low = self._numbers[split["float_feature_index"]]
        return column, split["border"], missing_low, None


def _oblivious(trees: Sequence[Mapping[str, Any]], splits: _Splits, n_outputs: int) -> dict[str, Any]:
    """Read oblivious trees: nodes of depth ``k`` have test ``k``; its result is bit ``k`` of the leaf's number."""
    asked = [[splits.read(split) for split in tree["splits"] or ()] for tree in trees]
    depths = np.array([len(tests) for tests in asked], dtype=np.int64)
    begins = np.concatenate([[0], np.cumsum(2 ** (depths + 1) - 1)]).astype(np.int64)
    leaves = np.array(list(chain.from_iterable(tree["leaf_values"] for tree in trees)), dtype=np.float64)
    if leaves.size != int((2**depths).sum()) * n_outputs:
        raise ValueError(f"the trees have {leaves.size} leaf_values: expected {n_outputs} per leaf of every tree")
    leaves = leaves.reshape(-1, n_outputs)
    first_leaf = np.concatenate([[0], np.cumsum(2**depths)])
    size = int(begins[-1])
    made: dict[str, Any] = {
        "column": np.full(size, LEAF),
        "border": np.full(size, np.nan),
        "missing_low": np.ones(size, dtype=bool),
        "low": np.full(size, LEAF),
        "high": np.full(size, LEAF),
        "value": np.zeros((size, n_outputs)),
    }
    hashes: dict[int, int] = {}
    for depth in np.unique(depths).tolist():
        which = np.flatnonzero(depths == depth)
        inner = 2**depth - 1
        nodes = begins[which, np.newaxis] + np.arange(inner)
        level = np.floor(np.log2(np.arange(1, inner + 1))).astype(np.int64)
        tests = [asked[tree] for tree in which.tolist()]
        for name, part in (("column", 0), ("border", 1), ("missing_low", 2)):
            values = np.array([[test[part] for test in tree] for tree in tests], dtype=made[name].dtype)
            made[name][nodes] = values.reshape(which.size, depth)[:, level]
        made["low"][nodes], made["high"][nodes] = 2 * np.arange(inner) + 1, 2 * np.arange(inner) + 2
        for row, tree in enumerate(tests):
            for k, test in enumerate(tree):
                if test[3] is not None:
                    hashes.update(dict.fromkeys(nodes[row, level == k].tolist(), test[3]))
        place = np.arange(inner + 1)  # its bits are the answers from the root on, the last one lowest
        number = sum((((place >> (depth - 1 - k)) & 1) << k for k in range(depth)), np.zeros_like(place))
        made["value"][begins[which, np.newaxis] + inner + place] = leaves[first_leaf[which, np.newaxis] + number]
    return {**made, "begins": begins, "hashes": hashes}


def _nested(trees: Sequence[Mapping[str, Any]], splits: _Splits, n_outputs: int) -> dict[str, Any]:
    """Read nested trees; a node comes before its low side, and the low side before the high side."""
    column: list[int] = []
    border: list[float] = []
    missing_low: list[bool] = []
    children: tuple[list[int], list[int]] = ([], [])
    value: list[Any] = []
    begins, hashes = [0], {}
    for tree in trees:
        pending: list[tuple[Mapping[str, Any], int, int]] = [(tree, 0, 0)]  # a node, its parent, and its side
        while pending:
            node, parent, side = pending.pop()
            here = len(column)
            if here > begins[-1]:
                children[side][parent] = here - begins[-1]
            leaf = "split" not in node
            test = (LEAF, np.nan, True, None) if leaf else splits.read(node["split"])
            if test[3] is not None:
                hashes[here] = test[3]
            column.append(test[0])
            border.append(test[1])
            missing_low.append(test[2])
            value.append(np.atleast_1d(node["value"]) if leaf else np.zeros(n_outputs))
            for places in children:
                places.append(LEAF)
            if not leaf:
                pending += [(node["right"], here, 1), (node["left"], here, 0)]
        begins.append(len(column))
    return {
        "column": np.array(column, dtype=np.int64),
        "border": np.array(border, dtype=np.float64),
        "missing_low": np.array(missing_low, dtype=bool),
        "low": np.array(children[0], dtype=np.int64),
        "high": np.array(children[1], dtype=np.int64),
        "value": np.array(value, dtype=np.float64).reshape(-1, n_outputs),
        "begins": np.array(begins, dtype=np.int64),
        "hashes": hashes,
    }
