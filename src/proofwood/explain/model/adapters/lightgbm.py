"""LightGBM classifiers and regressors as forests of floats, read from the text and the JSON that the library writes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.explain.model.adapters.categories import Categories
from proofwood.explain.model.adapters.nodes import Edge, Nodes, add_with_gap, join
from proofwood.explain.model.adapters.sklearn import codes_of, unnamed
from proofwood.explain.model.forest import (
    DOUBLE,
    LINKED,
    NO_CLASSES,
    Forest,
    Link,
    LinkKind,
    ScoredTree,
    merged,
    summing_noise,
)
from proofwood.model.node_table import FloatArray, IntArray

ZERO = 1.0000000180025095e-35
"""LightGBM takes numbers up to this magnitude for 0."""
BELOW_ZERO = math.nextafter(-ZERO, -math.inf)
"""The last number that does not count as 0."""

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
    zeros: set[int] = set()  # columns whose zeros stand for missing values
    for at, (info, thresholds) in enumerate(zip(dumped["tree_info"], _lightgbm_thresholds(text), strict=True)):
        if "leaf_coeff" in json.dumps(info["tree_structure"]):
            raise TypeError("the model has linear leaves: expected linear_tree=False")
        zeros |= _zeros(info["tree_structure"])
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
        for_missing=dict.fromkeys(zeros, (BELOW_ZERO, ZERO, 0.0)),
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


def _zeros(root: dict[str, Any]) -> set[int]:
    """Columns whose zeros take the default side of a test."""
    found, pending = set(), [root]
    while pending:
        node = pending.pop()
        if "split_feature" in node:
            if node["decision_type"] == "<=" and node["missing_type"] == "Zero":
                found.add(int(node["split_feature"]))
            pending += [node["left_child"], node["right_child"]]
    return found


def _lightgbm_set(node: dict[str, Any]) -> list[int]:
    """Categories of a node that go low."""
    return [int(code) for code in str(node["threshold"]).split("||")]


def _sigmoid(objective: str) -> float:
    for word in objective.split(" "):
        if word.startswith("sigmoid:"):
            return float(word.removeprefix("sigmoid:"))
    return 1.0


def _lightgbm_tree(
    root: dict[str, Any], thresholds: list[float], code: int, n_classes: int, categories: Categories | None
) -> ScoredTree:
    """The tree, its nodes in the order of a walk."""
    nodes = Nodes(n_classes)
    unit = np.eye(n_classes)[code]
    pending: list[tuple[dict[str, Any], list[Edge]]] = [(root, [])]
    while pending:
        node, edges = pending.pop()
        join(edges, len(nodes))
        if "split_feature" not in node:
            nodes.add_leaf(unit * float(node["leaf_value"]))
            continue
        if node["decision_type"] != "<=":
            assert categories is not None
            column = int(node["split_feature"])
            lows, highs = nodes.sides(nodes.add(column, math.nan, False, categories.codes(column, _lightgbm_set(node))))
        else:
            lows, highs = _lightgbm_test(nodes, node, thresholds[int(node["split_index"])])
        pending += [(node["right_child"], highs), (node["left_child"], lows)]
    return nodes.tree()


def _lightgbm_test(nodes: Nodes, node: dict[str, Any], threshold: float) -> tuple[list[Edge], list[Edge]]:
    """Add the test of a node; returns the edges that lead to its left and to its right child.

    Where zeros take the default side (missing type Zero), they are a gap between the other numbers.
    """
    column, kind, default_low = int(node["split_feature"]), node["missing_type"], bool(node["default_left"])
    t = BELOW_ZERO if -ZERO <= threshold < 0 else ZERO if 0 <= threshold < ZERO else threshold
    if kind == "Zero":
        return add_with_gap(nodes, column, t, (BELOW_ZERO, ZERO), default_low)
    return nodes.sides(nodes.add(column, t, default_low if kind == "NaN" else t >= 0))


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
