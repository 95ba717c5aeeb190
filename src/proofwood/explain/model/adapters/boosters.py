"""XGBoost and LightGBM classifiers and regressors as forests of floats, read from the JSON that the libraries write."""

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
from proofwood.explain.model.adapters.sklearn import coded, codes_of, numbers_of, probabilities_of, unnamed
from proofwood.explain.model.forest import (
    DOUBLE,
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
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray

ZERO = 1.0000000180025095e-35
"""LightGBM takes numbers up to this magnitude for 0."""


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
LIGHTGBM_LINKS: dict[str, LinkKind] = {
    "regression": "mean",
    "regression_l1": "mean",
    "huber": "mean",
    "fair": "mean",
    "quantile": "mean",
    "mape": "mean",
    "lambdarank": "mean",
    "rank_xendcg": "mean",
    "poisson": "log",
    "gamma": "log",
    "tweedie": "log",
    "cross_entropy": "logistic",
}
"""Objectives of LightGBM that predict a number, and what they make of the sum."""


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
    missing = getattr(model, "missing", None)
    if missing is not None and not math.isnan(missing):
        raise TypeError(f"missing={missing!r}: expected nan, the number that stands for a missing value by default")
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
    trees = []
    for tree, group, weight in zip(described["trees"][:used], groups[:used], weights.tolist(), strict=True):
        trees.append(merged(_xgboost_tree(tree, 1 if binary else int(group), n, weight, categories)))
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
        names=None if booster.feature_names is None else tuple(map(str, booster.feature_names)),
        link=link,
        output=None if link is None else output,
    )
    return forest, categories


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


def from_lightgbm(model: Any) -> tuple[Forest, Categories | None]:
    """``lightgbm.LGBMClassifier`` or ``Booster``: ``x <= threshold`` in float64, sums in float64.

    Missing values take the default side where the training rows of the column had some (missing type NaN), else they
    count as 0, as do numbers of magnitude up to ``ZERO``. Where zeros stand for missing values (missing type Zero),
    both take the default side. The thresholds come from the text of the model: its JSON has 1e300 for infinity, which
    is the threshold of a test that tells missing values from all others. The comparison of probabilities can merge
    sums that differ by a few units of float64 at 1, which the noise covers as for XGBoost; if the sums are averaged
    before, by as many more. Categories of the set of a node go low, all others and missing values high.

    Raises
    ------
    TypeError
        If the model has linear leaves, or another objective than binary or softmax, or if it is not clear which
        columns are categories.
    """
    import lightgbm  # optional

    booster = model if isinstance(model, lightgbm.Booster) else model.booster_
    dumped = booster.dump_model()
    objective = str(dumped.get("objective", "")).split(" ")[0]
    kind = LIGHTGBM_LINKS.get(objective)
    regressor = kind is not None
    if not regressor and objective not in ("binary", "multiclass", "multiclassova"):
        raise TypeError(
            f"the objective is {objective!r}: expected 'binary', 'multiclass', 'multiclassova' or one of "
            f"{', '.join(LIGHTGBM_LINKS)}"
        )
    if objective == "regression" and "sqrt" in str(dumped["objective"]).split(" "):
        raise TypeError("the model has learned the root of its target: expected reg_sqrt=False")
    binary = objective == "binary"
    n = 1 if regressor else 2 if binary else int(dumped["num_class"])
    per_round = int(dumped["num_tree_per_iteration"])
    n_columns = int(dumped["max_feature_idx"]) + 1
    text = booster.model_to_string()
    categories = _lightgbm_categories(text, booster, dumped)
    trees = []
    for at, (info, thresholds) in enumerate(zip(dumped["tree_info"], _lightgbm_thresholds(text), strict=True)):
        if "leaf_coeff" in json.dumps(info["tree_structure"]):
            raise TypeError("the model has linear leaves: expected linear_tree=False")
        code = 1 if binary else at % per_round
        trees.append(merged(_lightgbm_tree(info["tree_structure"], thresholds, code, n, categories)))
    base = np.zeros(n)
    sigmoid = _sigmoid(str(dumped.get("objective", "")))
    rounds = max(1, len(trees) // per_round) if dumped.get("average_output") else 1
    noise = summing_noise(tuple(trees), base, DOUBLE)
    noise += 0.0 if regressor else _lightgbm_slop(objective, tuple(trees), base, rounds, sigmoid)
    divisor = rounds if regressor else rounds / sigmoid
    link = Link(kind or "logistic", divisor) if regressor or binary else None
    if isinstance(model, lightgbm.Booster):
        classes: npt.NDArray[Any] = NO_CLASSES if regressor else np.arange(n)
        output = partial(_of_lightgbm, booster, binary)
        predict: Callable[[Any], Any] = output if regressor else partial(_class_of_lightgbm, booster, binary)
    else:
        classes = NO_CLASSES if regressor else np.asarray(model.classes_)
        call = model.predict if regressor or not binary else model.predict_proba
        output = partial(_quietly, partial(call, validate_features=False))
        predict = output if regressor else partial(_predict_quietly, model, classes)
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=classes,
        n_columns=n_columns,
        noise=noise,
        predict=predict,
        takes_missing=np.ones(n_columns, dtype=bool),
        names=tuple(dumped["feature_names"]),
        link=link,
        output=None if link is None else output,
    )
    return forest, categories


def _lightgbm_slop(
    objective: str, trees: tuple[ScoredTree, ...], base: FloatArray, rounds: int, sigmoid: float
) -> float:
    """What the way from sums to the probabilities that are compared may change in the difference of two sums.

    Of one against all others, each sum goes through a logistic function of its own, which is flat far from 0: there
    the rounding of a probability counts as much as the slope is small.
    """
    slop = rounds * LINKED * DOUBLE / min(1.0, sigmoid)
    if objective != "multiclassova":
        return slop
    largest = np.abs(base)
    for tree in trees:
        largest = largest + np.abs(tree.value[tree.leaves]).max(axis=0)
    return slop * (2 + 2 * math.exp(min(700.0, sigmoid * float(largest.max()) / rounds)))


def _lightgbm_thresholds(text: str) -> list[list[float]]:
    """Per tree the thresholds of its splits, in the order of their numbers: the text of a model has infinite ones."""
    found: list[list[float]] = []
    for line in text.splitlines():
        if line.startswith("Tree="):
            found.append([])
        elif line.startswith("threshold=") and found:
            found[-1] = [float(word) for word in line.removeprefix("threshold=").split()]
    return found


def _lightgbm_categories(text: str, booster: Any, dumped: dict[str, Any]) -> Categories | None:
    """Columns of categories: named by the frame that the model was learned from, or the numbers that it has seen."""
    tested: dict[int, set[int]] = {}
    names = dumped["feature_names"]
    for line in text.splitlines():
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


class _Nodes:
    """The nodes of a tree as they are found, each with the place that its parent keeps for it."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.missing_low: list[bool] = []
        self.score: list[float] = []
        self.levels: list[Codes | None] = []

    def add(
        self, feature: int, threshold: float, missing_low: bool, *, score: float = 0.0, levels: Codes | None = None
    ) -> int:
        """A node whose children are still unknown."""
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.missing_low.append(missing_low)
        self.score.append(score)
        self.levels.append(levels)
        self.low.append(LEAF)
        self.high.append(LEAF)
        return len(self.feature) - 1


Edge = tuple[list[int], int]
"""A list of children, and the place in it that a node goes to."""


def _lightgbm_tree(
    root: dict[str, Any], thresholds: list[float], code: int, n_classes: int, categories: Categories | None
) -> ScoredTree:
    """The tree, its nodes in the order of a walk; a node that three tests stand for has children with two parents."""
    nodes = _Nodes()
    pending: list[tuple[dict[str, Any], list[Edge]]] = [(root, [])]
    while pending:
        node, edges = pending.pop()
        here = len(nodes.feature)
        for children, place in edges:
            children[place] = here
        if "split_feature" not in node:
            nodes.add(LEAF, math.nan, True, score=float(node["leaf_value"]))
            continue
        if node["decision_type"] != "<=":
            assert categories is not None
            column = int(node["split_feature"])
            nodes.add(column, math.nan, False, levels=categories.codes(column, _lightgbm_set(node)))
            lows, highs = [(nodes.low, here)], [(nodes.high, here)]
        else:
            lows, highs = _lightgbm_test(nodes, node, thresholds[int(node["split_index"])])
        pending += [(node["right_child"], highs), (node["left_child"], lows)]
    value = np.zeros((len(nodes.feature), n_classes))
    value[:, code] = nodes.score
    return ScoredTree(
        feature=np.array(nodes.feature),
        threshold=np.array(nodes.threshold),
        low=np.array(nodes.low),
        high=np.array(nodes.high),
        missing_low=np.array(nodes.missing_low),
        value=value,
        levels=tuple(nodes.levels) if any(codes is not None for codes in nodes.levels) else None,
    )


def _lightgbm_test(nodes: _Nodes, node: dict[str, Any], threshold: float) -> tuple[list[Edge], list[Edge]]:
    """Add the test of a node; returns the edges that lead to its left and to its right child.

    One threshold is enough, unless zeros take the default side (missing type Zero) and that is not the side on which
    the threshold has them: then the numbers below, around and above zero are told apart.
    """
    column, kind, default_low = int(node["split_feature"]), node["missing_type"], bool(node["default_left"])
    below = math.nextafter(-ZERO, -math.inf)  # the last number that does not count as 0
    t = below if -ZERO <= threshold < 0 else ZERO if 0 <= threshold < ZERO else threshold
    zero_low = t >= 0
    tests = [(t, default_low if kind == "NaN" else zero_low)]  # threshold, and whether a missing value goes low
    if kind == "Zero" and zero_low and not default_low:  # low below zero, zero high, low up to the threshold
        tests = [(below, False), (ZERO, True), (t, True)] if t > ZERO else [(below, False)]
    elif kind == "Zero" and default_low and not zero_low:  # low up to the threshold, high below zero, zero low
        tests = [(t, False), (below, False), (ZERO, True)] if t < below else [(ZERO, True)]
    at = [nodes.add(column, *test) for test in tests]
    if len(at) == 1:
        return [(nodes.low, at[0])], [(nodes.high, at[0])]
    nodes.high[at[0]], nodes.high[at[1]] = at[1], at[2]
    return [(nodes.low, at[0]), (nodes.low, at[2])], [(nodes.low, at[1]), (nodes.high, at[2])]


def _predict_quietly(model: Any, classes: npt.NDArray[Any], X: Any) -> IntArray:
    return codes_of(unnamed(partial(model.predict, validate_features=False), X), classes)


def _quietly(call: Callable[[Any], Any], X: Any) -> FloatArray:
    return np.asarray(unnamed(call, X), dtype=np.float64)


def _of_lightgbm(booster: Any, binary: bool, X: Any) -> FloatArray:
    predicted = np.asarray(booster.predict(X), dtype=np.float64)
    return np.stack([1 - predicted, predicted], axis=1) if binary else predicted


def _class_of_lightgbm(booster: Any, binary: bool, X: Any) -> IntArray:
    predicted = np.asarray(booster.predict(X))
    return np.asarray(predicted > 0.5 if binary else predicted.argmax(axis=1), dtype=np.int64)
