"""XGBoost classifiers and regressors as forests of floats, read from the JSON that the library writes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.explain.model.adapters.categories import Categories
from proofwood.explain.model.adapters.nodes import with_gap
from proofwood.explain.model.adapters.sklearn import coded, numbers_of, probabilities_of
from proofwood.explain.model.forest import (
    LINKED,
    NO_CLASSES,
    OTHER,
    SINGLE,
    Codes,
    Forest,
    Link,
    LinkKind,
    ScoredTree,
    merged,
    summing_noise,
)
from proofwood.explain.model.space import Gap
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray

XGBOOST_LINKS: dict[str, LinkKind] = {
    "reg:squarederror": "mean",
    "reg:squaredlogerror": "mean",
    "reg:absoluteerror": "mean",
    "reg:pseudohubererror": "mean",
    "reg:quantileerror": "mean",
    "reg:logistic": "logistic",
    "reg:gamma": "log",
    "reg:tweedie": "log",
    "count:poisson": "log",
    "survival:cox": "log",
    "rank:pairwise": "mean",
    "rank:ndcg": "mean",
    "rank:map": "mean",
}
"""Objectives of XGBoost that predict a number, and what they make of the sum."""
XGBOOST_CUTS = {"binary:logistic": 0.0, "binary:logitraw": 0.5, "binary:hinge": 0.0}
"""Objectives of XGBoost with two classes, and the sum above which it is the second."""


def from_xgboost(model: Any) -> tuple[Forest, Categories | None]:
    """``xgboost.XGBClassifier`` or ``Booster``: float32 inputs, ``x < threshold``, sums in float32.

    ``x < t`` in float32 is ``x <= t'`` with the float32 before ``t``, and the threshold is moved up to the last float64
    that is rounded to at most ``t'``. A binary model compares the logistic function of the sum with 0.5 (a tie is the
    first class), one with many classes the softmax of the sums. Both are computed in float32 and can merge sums that
    differ by a few units of float32 at 1: the noise covers it with ``LINKED`` such units. The base score of a binary
    model is stored as a probability ``p``; its logit in float32 is off by as many units times ``1 / (1 - p)``.

    A number ``missing=`` stands for a missing value: so do all float64 that float32 rounds to it, of 0 also -0. They go
    where a missing value goes.

    Categories of the set of a node go high, all others low, and missing values where the node says. The trees of a
    booster ``dart`` are multiplied with a weight each; a prediction may add and subtract the base score at every tree.

    Raises
    ------
    TypeError
        If the booster is no tree model, has vector leaves, or another objective than a classification by one sum per
        class.
    """
    import xgboost  # optional

    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    saved = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    name, objective = saved["gradient_booster"]["name"], saved["objective"]["name"]
    if name not in ("gbtree", "dart"):
        raise TypeError(f"the booster is {name!r}: expected booster='gbtree' or 'dart'")
    regressor, binary = objective in XGBOOST_LINKS, objective in XGBOOST_CUTS
    if not regressor and not binary and objective not in ("multi:softprob", "multi:softmax"):
        raise TypeError(
            f"the objective is {objective!r}: expected one of {', '.join((*XGBOOST_CUTS, *XGBOOST_LINKS))}, "
            "multi:softprob, multi:softmax"
        )
    gap = _gap(getattr(model, "missing", None))
    parameters = saved["learner_model_param"]
    n = 1 if regressor else 2 if binary else int(parameters["num_class"])
    base = _base_scores(parameters["base_score"], n, objective)
    dart = name == "dart"
    described = saved["gradient_booster"]["gbtree"]["model"] if dart else saved["gradient_booster"]["model"]
    groups = described["tree_info"]
    used = _trees_used(booster, described, len(groups))
    weights = np.ones(used)
    if dart:
        weights = np.array(saved["gradient_booster"]["weight_drop"][:used], dtype=np.float32).astype(np.float64)
    categories = _xgboost_categories(booster, described)
    if gap is not None and categories is not None:
        raise TypeError(
            f"missing={model.missing!r} of a model with categories: expected nan, as the number is also a code of them"
        )
    trees = []
    for tree, group, weight in zip(described["trees"][:used], groups[:used], weights.tolist(), strict=True):
        read = merged(_xgboost_tree(tree, 1 if binary else int(group), n, weight, categories))
        trees.append(read if gap is None else with_gap(read, gap[:2]))
    link, output = None, None
    if regressor or objective == "binary:logistic":
        link = Link(XGBOOST_LINKS.get(objective, "logistic"), unit=SINGLE)
    cut = XGBOOST_CUTS.get(objective, 0.0)
    rounds = used // max(1, _per_round(described, groups))
    if isinstance(model, xgboost.Booster):
        classes: npt.NDArray[Any] = np.arange(n)
        output = partial(_of_booster, booster, rounds, n)
        predict: Callable[[Any], Any] = output if regressor else partial(_class_of_booster, output, objective)
    else:
        classes = NO_CLASSES if regressor else np.asarray(model.classes_)
        output = partial(numbers_of if regressor else probabilities_of, model)
        predict = output if regressor else coded(model)
    n_columns = int(booster.num_features())
    units = LINKED * _base_units(base, link) if binary or regressor else LINKED
    if binary:
        base = base - np.array([0.0, cut])
    noise = summing_noise(tuple(trees), base, SINGLE, roundings=4 * dart) + units * SINGLE
    if dart:  # of a sum with the base score, of a difference from it, and of their product with the weight
        noise += 8 * SINGLE * float(np.abs(base).max() * weights.sum())
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=classes,
        n_columns=n_columns,
        noise=noise,
        predict=predict,
        takes_missing=np.ones(n_columns, dtype=bool),
        for_missing={} if gap is None else dict.fromkeys(range(n_columns), gap),
        names=None if booster.feature_names is None else tuple(map(str, booster.feature_names)),
        link=link,
        output=None if link is None else output,
    )
    return forest, categories


def _gap(missing: Any) -> Gap | None:
    """The numbers that float32 rounds to the one that stands for a missing value; None where only nan does."""
    if missing is None or math.isnan(missing):
        return None
    if math.isinf(missing):
        raise TypeError(f"missing={missing!r}: expected nan or a finite number, as no row may hold an infinite one")
    number = np.float32(missing)
    below, last = last_rounded_low([np.nextafter(number, np.float32(-np.inf)), number]).tolist()
    return below, last, float(missing)


def _base_scores(text: str, n_classes: int, objective: str) -> FloatArray:
    """Scores before any tree: one number, or (since XGBoost 3.1) one per class; stored as a prediction is."""
    read = json.loads(text) if text.strip().startswith("[") else float(text)
    given = np.atleast_1d(np.asarray(read, dtype=np.float64))
    kind = "logistic" if objective == "binary:logistic" else XGBOOST_LINKS.get(objective, "mean")
    if kind == "logistic":
        given = np.array([float(np.float32(-math.log(1.0 / given[0] - 1.0)))])
    elif kind == "log":
        given = np.array([float(np.float32(math.log(given[0])))])
    if objective in XGBOOST_CUTS:
        return np.array([0.0, given[0]])
    return np.broadcast_to(given, (n_classes,)).copy()


def _base_units(base: FloatArray, link: Link | None) -> float:
    """Roundings of the base that is made of a stored prediction, in units at 1: 1 / (1 - p) is 1 + exp(logit)."""
    largest = float(np.abs(base).max())
    if link is None or link.kind == "logistic":
        return 1.0 + math.exp(min(largest, 700.0))
    return 1.0 + largest if link.kind == "log" else 0.0


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


def _of_booster(booster: Any, rounds: int, n: int, X: Any) -> FloatArray:
    """What a booster predicts, in float64: numbers, or probabilities (or codes) of classes."""
    import xgboost  # optional

    known = {} if hasattr(X, "columns") else {"feature_names": booster.feature_names}
    types = None if hasattr(X, "columns") else booster.feature_types
    rows = xgboost.DMatrix(X, **known, feature_types=types, enable_categorical=True)
    predicted = np.asarray(booster.predict(rows, iteration_range=(0, rounds)), dtype=np.float64)
    return np.stack([1 - predicted, predicted], axis=1) if n == 2 and predicted.ndim == 1 else predicted


def _class_of_booster(output: Callable[[Any], FloatArray], objective: str, X: Any) -> IntArray:
    given = output(X)
    if objective in XGBOOST_CUTS:
        return np.asarray(given[:, 1] > 0.5, dtype=np.int64)
    return np.asarray(given.argmax(axis=1) if given.ndim == 2 else given, dtype=np.int64)
