"""XGBoost and LightGBM classifiers as forests of floats, read from the JSON that the libraries write."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.explain.adapters.categories import Categories
from proofwood.explain.adapters.forest import DOUBLE, OTHER, SINGLE, Codes, Forest, ScoredTree, merged, summing_noise
from proofwood.explain.adapters.sklearn import coded, codes_of, unnamed
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray

LINKED = 16
"""Roundings between a sum and the probability that is compared: a generous bound for exp, sum and division."""
ZERO = 1.0000000180025095e-35
"""LightGBM takes numbers up to this magnitude for 0."""


def from_xgboost(model: Any) -> tuple[Forest, Categories | None]:
    """``xgboost.XGBClassifier`` or ``Booster``: float32 inputs, ``x < threshold``, sums in float32.

    ``x < t`` in float32 is ``x <= t'`` with the float32 before ``t``, and the threshold is moved up to the last float64
    that is rounded to at most ``t'``. A binary model compares the logistic function of the sum with 0.5 (a tie is the
    first class), one with many classes the softmax of the sums. Both are computed in float32 and can merge sums that
    differ by a few units of float32 at 1: the noise covers it with ``LINKED`` such units. The base score of a binary
    model is stored as a probability ``p``; its logit in float32 is off by as many units times ``1 / (1 - p)``.

    Categories of the set of a node go high, all others low, and missing values where the node says. The trees of a
    booster ``dart`` are multiplied with a weight each; a prediction may add and subtract the base score at every tree.

    Raises
    ------
    TypeError
        If the booster is no tree model, has vector leaves, or another objective than a classification by one sum per
        class.
    """
    import xgboost

    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    saved = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    name, objective = saved["gradient_booster"]["name"], saved["objective"]["name"]
    if name not in ("gbtree", "dart"):
        raise TypeError(f"the booster is {name!r}: expected booster='gbtree' or 'dart'")
    if objective not in ("binary:logistic", "multi:softprob", "multi:softmax"):
        raise TypeError(
            f"the objective is {objective!r}: expected 'binary:logistic', 'multi:softprob' or 'multi:softmax'"
        )
    missing = getattr(model, "missing", None)
    if missing is not None and not math.isnan(missing):
        raise TypeError(f"missing={missing!r}: expected nan, the number that stands for a missing value by default")
    parameters = saved["learner_model_param"]
    binary = objective == "binary:logistic"
    n = 2 if binary else int(parameters["num_class"])
    base = _base_scores(parameters["base_score"], n, binary)
    dart = name == "dart"
    described = saved["gradient_booster"]["gbtree"]["model"] if dart else saved["gradient_booster"]["model"]
    groups = described["tree_info"]
    used = _trees_used(booster, described, len(groups))
    weights = np.ones(used)
    if dart:
        weights = np.array(saved["gradient_booster"]["weight_drop"][:used], dtype=np.float32).astype(np.float64)
    categories = _xgboost_categories(booster, described)
    trees = []
    for tree, group, weight in zip(described["trees"][:used], groups[:used], weights.tolist(), strict=True):
        trees.append(merged(_xgboost_tree(tree, 1 if binary else int(group), n, weight, categories)))
    if isinstance(model, xgboost.Booster):
        classes: npt.NDArray[Any] = np.arange(n)
        predict: Callable[[Any], IntArray] = partial(
            _predict_booster, booster, used // max(1, _per_round(described, groups)), binary
        )
    else:
        classes = np.asarray(model.classes_)
        predict = coded(model)
    n_columns = int(booster.num_features())
    units = LINKED * (1.0 + float(np.exp(base).max())) if binary else LINKED  # 1 / (1 - p) is 1 + exp(logit)
    noise = summing_noise(tuple(trees), base, SINGLE, roundings=4 * dart) + units * SINGLE
    if dart:  # of a sum with the base score, of a difference from it, and of their product with the weight
        noise += 8 * SINGLE * float(np.abs(base).max() * weights.sum())
    if categories is not None and categories.named:
        categories = replace(categories, predict_frame=predict)
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=classes,
        n_columns=n_columns,
        noise=noise,
        predict=predict,
        learns_missing=np.ones(n_columns, dtype=bool),
        takes_missing=np.ones(n_columns, dtype=bool),
        names=None if booster.feature_names is None else tuple(map(str, booster.feature_names)),
    )
    return forest, categories


def _base_scores(text: str, n_classes: int, binary: bool) -> FloatArray:
    """Scores before any tree: one number, or (since XGBoost 3.1) one per class."""
    read = json.loads(text) if text.strip().startswith("[") else float(text)
    given = np.atleast_1d(np.asarray(read, dtype=np.float64))
    if binary:
        return np.array([0.0, float(np.float32(-math.log(1.0 / given[0] - 1.0)))])
    return np.broadcast_to(given, (n_classes,)).copy()


def _per_round(described: dict[str, Any], groups: list[int]) -> int:
    """Trees of one round of boosting."""
    parallel = max(1, int(described["gbtree_model_param"]["num_parallel_tree"]))
    return parallel * (max(groups, default=0) + 1)


def _trees_used(booster: Any, described: dict[str, Any], n_trees: int) -> int:
    """Trees that predictions use: up to the best round, if training stopped early."""
    best = booster.attributes().get("best_iteration")
    if best is None:
        return n_trees
    return min(n_trees, (int(best) + 1) * _per_round(described, described["tree_info"]))


def _xgboost_categories(booster: Any, described: dict[str, Any]) -> Categories | None:
    """Columns of categories: by the names that the booster holds or, if it holds none, by the numbers it tests."""
    kinds = booster.feature_types or []
    columns = [j for j, kind in enumerate(kinds) if kind == "c"]
    tested: dict[int, set[int]] = {j: set() for j in columns}
    for tree in described["trees"]:
        for node, codes in _xgboost_sets(tree).items():
            tested.setdefault(int(tree["split_indices"][node]), set()).update(codes)
    if not tested:
        return None
    kept = (described.get("cats") or {}).get("enc") or []
    names = {j: _xgboost_names(kept[j]) if j < len(kept) else () for j in tested}
    if all(names.values()):
        return Categories(names, named=True, others=False)
    if any(names.values()):
        raise TypeError("the booster knows the names of some categories only: expected those of all columns or of none")
    return Categories({j: tuple(sorted(codes)) for j, codes in tested.items()}, named=False, others=True)


def _xgboost_names(kept: dict[str, Any]) -> tuple[Any, ...]:
    """Categories of a column: numbers, or text as one array of bytes and where each of them begins."""
    if "offsets" not in kept:
        return tuple(kept["values"])
    text = bytes(byte % 256 for byte in kept["values"])
    return tuple(text[start:end].decode() for start, end in pairwise(kept["offsets"]))


def _xgboost_sets(tree: dict[str, Any]) -> dict[int, list[int]]:
    """Per node that tests categories those that go high."""
    spans = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    return {int(node): [int(c) for c in tree["categories"][first : first + size]] for node, first, size in spans}


def _xgboost_tree(
    tree: dict[str, Any], code: int, n_classes: int, weight: float, categories: Categories | None
) -> ScoredTree:
    if int(tree["tree_param"].get("size_leaf_vector", "1")) > 1:
        raise TypeError("the booster has vector leaves: expected multi_strategy='one_output_per_tree'")
    low = np.asarray(tree["left_children"], dtype=np.int64)
    leaf = low == -1
    given = np.asarray(tree["split_conditions"], dtype=np.float32)
    before = np.nextafter(given, np.float32(-np.inf)).astype(np.float64)
    value = np.zeros((low.size, n_classes))
    value[:, code] = given.astype(np.float64) * weight  # of a leaf this is its score; exact, of two float32
    levels: list[Codes | None] = [None] * low.size
    for node, high in _xgboost_sets(tree).items():
        assert categories is not None
        column = int(tree["split_indices"][node])
        lows = categories.all_codes(column) - categories.codes(column, high)
        levels[node] = lows | ({OTHER} if tree["default_left"][node] else set())
    categorical = np.array([codes is not None for codes in levels])
    return ScoredTree(
        feature=np.where(leaf, LEAF, np.asarray(tree["split_indices"], dtype=np.int64)),
        threshold=np.where(leaf | categorical, np.nan, last_rounded_low(before)),
        low=low,
        high=np.asarray(tree["right_children"], dtype=np.int64),
        missing_low=np.asarray(tree["default_left"], dtype=bool),
        value=value,
        levels=tuple(levels) if categorical.any() else None,
    )


def _predict_booster(booster: Any, rounds: int, binary: bool, X: Any) -> IntArray:
    import xgboost

    known = {} if hasattr(X, "columns") else {"feature_names": booster.feature_names}
    types = None if hasattr(X, "columns") else booster.feature_types
    rows = xgboost.DMatrix(X, **known, feature_types=types, enable_categorical=True)
    told = np.asarray(booster.predict(rows, iteration_range=(0, rounds)))
    if binary:
        return np.asarray(told > 0.5, dtype=np.int64)
    return np.asarray(told.argmax(axis=1) if told.ndim == 2 else told, dtype=np.int64)


def from_lightgbm(model: Any) -> tuple[Forest, Categories | None]:
    """``lightgbm.LGBMClassifier`` or ``Booster``: ``x <= threshold`` in float64, sums in float64.

    Missing values take the default side where the training rows of the column had some (missing type NaN), else they
    count as 0, as do numbers of magnitude up to ``ZERO``. The comparison of probabilities can merge sums that differ
    by a few units of float64 at 1, which the noise covers as for XGBoost; if the sums are averaged before, by as many
    more. Categories of the set of a node go low, all others and missing values high.

    Raises
    ------
    TypeError
        If the model has linear leaves, zeros as missing values, or another objective than binary or softmax, or if it
        is not clear which columns are categories.
    """
    import lightgbm

    booster = model if isinstance(model, lightgbm.Booster) else model.booster_
    dumped = booster.dump_model()
    objective = str(dumped.get("objective", "")).split(" ")[0]
    if objective not in ("binary", "multiclass"):
        raise TypeError(f"the objective is {objective!r}: expected 'binary' or 'multiclass'")
    binary = objective == "binary"
    n = 2 if binary else int(dumped["num_class"])
    per_round = int(dumped["num_tree_per_iteration"])
    n_columns = int(dumped["max_feature_idx"]) + 1
    categories = _lightgbm_categories(booster, dumped)
    trees = []
    seen = np.zeros(n_columns, dtype=bool)
    for at, info in enumerate(dumped["tree_info"]):
        if "leaf_coeff" in json.dumps(info["tree_structure"]):
            raise TypeError("the model has linear leaves: expected linear_tree=False")
        code = 1 if binary else at % per_round
        trees.append(merged(_lightgbm_tree(info["tree_structure"], code, n, seen, categories)))
    base = np.zeros(n)
    sigmoid = _sigmoid(str(dumped.get("objective", "")))
    rounds = max(1, len(trees) // per_round) if dumped.get("average_output") else 1
    noise = summing_noise(tuple(trees), base, DOUBLE) + rounds * LINKED * DOUBLE / min(1.0, sigmoid)
    if isinstance(model, lightgbm.Booster):
        classes: npt.NDArray[Any] = np.arange(n)
        predict = partial(_predict_lightgbm, booster, binary)
    else:
        classes = np.asarray(model.classes_)
        predict = partial(_predict_quietly, model, classes)
    if categories is not None and categories.named:
        categories = replace(categories, predict_frame=predict)
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=classes,
        n_columns=n_columns,
        noise=noise,
        predict=predict,
        takes_missing=np.ones(n_columns, dtype=bool),
        learns_missing=seen,
        names=tuple(dumped["feature_names"]),
    )
    return forest, categories


def _lightgbm_categories(booster: Any, dumped: dict[str, Any]) -> Categories | None:
    """Columns of categories: named by the frame that the model was learned from, or the numbers that it has seen."""
    tested: dict[int, set[int]] = {}
    names = dumped["feature_names"]
    for line in booster.model_to_string().splitlines():
        if line.startswith("[categorical_feature: ") and not line.endswith(": ]"):
            given = line.removeprefix("[categorical_feature: ").removesuffix("]").removeprefix("name:")
            tested = {names.index(word) if word in names else int(word): set() for word in given.split(",")}
    pending = [info["tree_structure"] for info in dumped["tree_info"]]
    while pending:
        node = pending.pop()
        if "split_feature" in node:
            if node["decision_type"] != "<=":
                tested.setdefault(int(node["split_feature"]), set()).update(_lightgbm_set(node))
            pending += [node["left_child"], node["right_child"]]
    if not tested:
        return None
    known = booster.pandas_categorical or []
    if known:
        if len(known) != len(tested):
            raise TypeError(
                f"the model was learned from {len(known)} columns of categories of a frame, and {len(tested)} columns "
                "are categories to it: expected the same, without ordered ones"
            )
        values = {j: tuple(given) for j, given in zip(sorted(tested), known, strict=True)}
        return Categories(values, named=True, others=False)
    for j, codes in tested.items():
        seen = dumped["feature_infos"].get(names[j], {}).get("values", [])
        codes.update(int(code) for code in seen if code >= 0)
    return Categories({j: tuple(sorted(codes)) for j, codes in tested.items()}, named=False, others=False)


def _lightgbm_set(node: dict[str, Any]) -> list[int]:
    """Categories of a node that go low."""
    return [int(code) for code in str(node["threshold"]).split("||")]


def _sigmoid(objective: str) -> float:
    for word in objective.split(" "):
        if word.startswith("sigmoid:"):
            return float(word.removeprefix("sigmoid:"))
    return 1.0


def _lightgbm_tree(
    root: dict[str, Any], code: int, n_classes: int, seen: npt.NDArray[np.bool_], categories: Categories | None
) -> ScoredTree:
    """The tree, its nodes in the order of a walk; marks in ``seen`` the columns with a side for missing values."""
    feature: list[int] = []
    threshold: list[float] = []
    low: list[int] = []
    high: list[int] = []
    missing_low: list[bool] = []
    scores: list[float] = []
    levels: list[Codes | None] = []
    pending: list[tuple[dict[str, Any], int, list[int]]] = [(root, 0, [0])]
    while pending:
        node, parent, edges = pending.pop()
        edges[parent] = here = len(feature)
        low.append(LEAF)
        high.append(LEAF)
        levels.append(None)
        if "split_feature" not in node:
            feature.append(LEAF)
            threshold.append(math.nan)
            missing_low.append(True)
            scores.append(float(node["leaf_value"]))
            continue
        kind = node["missing_type"]
        if kind == "Zero":
            raise TypeError("the model takes zeros for missing values: expected zero_as_missing=False")
        column = int(node["split_feature"])
        seen[column] |= kind == "NaN"
        feature.append(column)
        scores.append(0.0)
        pending += [(node["right_child"], here, high), (node["left_child"], here, low)]
        if node["decision_type"] != "<=":
            assert categories is not None
            levels[here] = categories.codes(column, _lightgbm_set(node))
            threshold.append(math.nan)
            missing_low.append(False)
            continue
        t = float(node["threshold"])
        threshold.append(math.nextafter(-ZERO, -math.inf) if -ZERO <= t < 0 else ZERO if 0 <= t < ZERO else t)
        missing_low.append(bool(node["default_left"]) if kind == "NaN" else t >= 0)
    value = np.zeros((len(feature), n_classes))
    value[:, code] = scores
    return ScoredTree(
        feature=np.array(feature),
        threshold=np.array(threshold),
        low=np.array(low),
        high=np.array(high),
        missing_low=np.array(missing_low),
        value=value,
        levels=tuple(levels) if any(codes is not None for codes in levels) else None,
    )


def _predict_quietly(model: Any, classes: npt.NDArray[Any], X: Any) -> IntArray:
    return codes_of(unnamed(partial(model.predict, validate_features=False), X), classes)


def _predict_lightgbm(booster: Any, binary: bool, X: Any) -> IntArray:
    told = np.asarray(booster.predict(X))
    return np.asarray(told > 0.5 if binary else told.argmax(axis=1), dtype=np.int64)
