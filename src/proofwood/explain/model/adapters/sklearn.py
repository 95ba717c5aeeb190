"""scikit-learn's trees, forests, bagged and boosted trees as forests of floats.

These trees round their inputs to float32 and compare them with float64 thresholds; thresholds are moved up to the last
float64 that is rounded to the low side (``model.convert.last_rounded_low``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood.explain.model.forest import (
    DOUBLE,
    LINKED,
    NO_CLASSES,
    Forest,
    Link,
    ScoredTree,
    merged,
    one_hot,
    summing_noise,
)
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray


def tree_of(
    estimator: Any,
    *,
    columns: IntArray | None = None,
    classes: IntArray | None = None,
    n_classes: int = 0,
    factor: float = 1.0,
) -> ScoredTree:
    """A fitted scikit-learn tree; values are its class shares, or its one value times ``factor``.

    Parameters
    ----------
    columns : column of the ensemble that each column of the tree is; the same by default
    classes : class code of the ensemble that each class of the tree is; the same by default
    n_classes : of the ensemble, if ``classes`` are given
    """
    tree = estimator.tree_
    nodes = tree.__getstate__()["nodes"]
    leaf = nodes["left_child"] == -1
    feature = np.where(leaf, LEAF, nodes["feature"]).astype(np.int64)
    if columns is not None:
        feature = np.where(leaf, LEAF, np.asarray(columns, dtype=np.int64)[np.maximum(feature, 0)])
    # scikit-learn 1.6 may leave a threshold nan where values are missing: no number is at most that
    threshold = np.where(np.isnan(nodes["threshold"]), -np.inf, nodes["threshold"])
    value = tree.value[:, 0, :] * factor
    if classes is not None:
        spread = np.zeros((value.shape[0], n_classes))
        spread[:, classes] = value
        value = spread
    return ScoredTree(
        feature=feature,
        threshold=np.where(leaf, np.nan, last_rounded_low(threshold)),
        low=nodes["left_child"].astype(np.int64),
        high=nodes["right_child"].astype(np.int64),
        missing_low=nodes["missing_go_to_left"].astype(bool),
        value=value,
    )


def from_tree(model: Any) -> Forest:
    """``DecisionTreeClassifier``, ``ExtraTreeClassifier``: the first largest share of the leaf, which is exact."""
    return replace(from_shares(model), trees=(merged(one_hot(tree_of(model))),), link=None, output=None)


def from_shares(model: Any) -> Forest:
    """The same with the shares of the leaf, which are its probabilities."""
    _one_output(model)
    return Forest(
        trees=(merged(tree_of(model)),),
        base=np.zeros(model.n_classes_),
        classes=model.classes_,
        n_columns=model.n_features_in_,
        noise=0.0,
        predict=coded(model),
        takes_missing=_missing(model, [model]),
        link=Link(),
        output=partial(probabilities_of, model),
    )


def from_regressor(
    model: Any,
    trees: tuple[ScoredTree, ...],
    *,
    divisor: float = 1.0,
    base: float = 0.0,
    roundings: int = 0,
    takes_missing: npt.NDArray[np.bool_] | None = None,
) -> Forest:
    """A model that predicts a base plus the sum of its trees, divided by a constant."""
    start = np.array([base])
    return Forest(
        trees=tuple(merged(tree) for tree in trees),
        base=start,
        classes=NO_CLASSES,
        n_columns=model.n_features_in_,
        noise=0.0 if len(trees) == 1 and base == 0 else summing_noise(trees, start, DOUBLE, roundings),
        predict=partial(numbers_of, model),
        takes_missing=takes_missing,
        link=Link(divisor=divisor),
        output=partial(numbers_of, model),
    )


def from_tree_regressor(model: Any) -> Forest:
    """``DecisionTreeRegressor``, ``ExtraTreeRegressor``: the number of the leaf."""
    _one_output(model)
    return from_regressor(model, (tree_of(model),), takes_missing=_missing(model, [model]))


def from_forest_regressor(model: Any) -> Forest:
    """``RandomForestRegressor``, ``ExtraTreesRegressor``: the mean of the trees."""
    _one_output(model)
    trees = tuple(tree_of(member) for member in model.estimators_)
    missing = _missing(model, model.estimators_)
    return from_regressor(model, trees, divisor=float(len(trees)), takes_missing=missing)


def from_bagging_regressor(model: Any) -> Forest:
    """``BaggingRegressor`` of trees, each of which sees some of the columns: the mean of the trees."""
    trees = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        if not isinstance(member, DecisionTreeRegressor):
            raise TypeError(
                f"a BaggingRegressor of {type(member).__name__} cannot be explained: expected decision trees as its "
                "estimators"
            )
        trees.append(tree_of(member, columns=np.asarray(columns)))
    missing = _missing(model, model.estimators_)
    return from_regressor(model, tuple(trees), divisor=float(len(trees)), takes_missing=missing)


def from_gradient_boosting_regressor(model: Any) -> Forest:
    """``GradientBoostingRegressor``: a constant start plus ``learning_rate`` times the trees."""
    _constant_start(model)
    start = np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32)), dtype=np.float64)
    factor = float(model.learning_rate)
    trees = tuple(tree_of(member, factor=factor) for member in model.estimators_[:, 0])
    return from_regressor(model, trees, base=float(start[0, 0]), roundings=1)


def from_ada_boost(model: Any) -> Forest:
    """``AdaBoostClassifier`` of trees: each votes for its class with its weight, and for the others against it.

    The sums are divided by the sum of the weights; of two classes, the first wins a tie.
    """
    n = len(model.classes_)
    position = {label: code for code, label in enumerate(model.classes_.tolist())}
    trees, members = [], list(zip(model.estimators_, model.estimator_weights_.tolist(), strict=False))
    for member, weight in members:
        if not isinstance(member, DecisionTreeClassifier):
            raise TypeError(
                f"an AdaBoostClassifier of {type(member).__name__} cannot be explained: expected decision trees as its "
                "estimators"
            )
        codes = np.array([position[label] for label in member.classes_.tolist()])
        tree = tree_of(member)
        voting = one_hot(tree).value
        value = np.full((len(voting), n), -weight / max(1, n - 1))
        value[np.arange(len(voting)), codes[voting.argmax(axis=1)]] = weight
        trees.append(merged(replace(tree, value=value)))
    base = np.zeros(n)
    return Forest(
        trees=tuple(trees),
        base=base,
        classes=model.classes_,
        n_columns=model.n_features_in_,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=2),
        predict=coded(model),
        takes_missing=_missing(model, model.estimators_),
    )


def from_isolation_forest(model: Any) -> Forest:
    r"""``IsolationForest``: a row is an anomaly, class -1, if its trees have short paths on average.

    The path length of a leaf is its depth plus the mean length in a tree of its rows; the score
    :math:`-2^{-D / (n c)}` of their sum :math:`D` is compared with the offset, so that :math:`D` is compared with
    :math:`-n c \log_2(-offset)`.

    Raises
    ------
    TypeError
        If the offset is one that no score can reach.
    """
    trees = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        tree = member.tree_
        lengths = np.zeros((tree.node_count, 1))
        depth = np.ones(tree.node_count)
        for node in range(tree.node_count):  # parents come before their children
            for child in (tree.children_left[node], tree.children_right[node]):
                if child >= 0:
                    depth[child] = depth[node] + 1
        lengths[:, 0] = depth + _mean_path(tree.n_node_samples) - 1.0
        made = tree_of(member, columns=np.asarray(columns))
        trees.append(replace(made, value=lengths))
    whole = len(trees) * float(_mean_path(np.array([model._max_samples]))[0])
    offset = float(model.offset_)
    if not (offset < 0 and whole > 0):
        raise TypeError(f"the offset of the IsolationForest is {offset!r}: expected one below 0, and two rows per tree")
    cut = -whole * math.log2(-offset)
    around = whole * (LINKED * DOUBLE / math.log(2)) + 4 * DOUBLE * abs(cut)
    spread = tuple(merged(replace(tree, value=tree.value * np.array([0.0, 1.0]))) for tree in trees)
    base = np.array([0.0, -cut])
    return Forest(
        trees=spread,
        base=base,
        classes=np.array([-1, 1]),
        n_columns=model.n_features_in_,
        noise=summing_noise(spread, base, DOUBLE, roundings=4) + around,
        predict=partial(_predicted, model, np.array([-1, 1])),
        ties_low=False,
        takes_missing=np.full(model.n_features_in_, True),
    )


def _mean_path(rows: npt.NDArray[Any]) -> FloatArray:
    """Mean length of a path in a random tree of so many rows."""
    n = np.asarray(rows, dtype=np.float64)
    more = np.maximum(n, 3.0)
    return np.where(n <= 1, 0.0, np.where(n == 2, 1.0, 2 * (np.log(more - 1) + np.euler_gamma) - 2 * (more - 1) / more))


def from_voting(model: Any, read: Callable[[Any], Forest]) -> Forest:
    """``VotingClassifier`` or ``VotingRegressor``: the weighted mean of its members' numbers or probabilities.

    A hard vote counts the class of each member, which is one of single trees only.

    Parameters
    ----------
    read : the forest of a member
    """
    regressor = not hasattr(model, "le_")
    hard = not regressor and model.voting == "hard"
    n = 1 if regressor else len(model.classes_)
    members = list(model.estimators_)
    given = model._weights_not_none
    weights = [1.0] * len(members) if given is None else [float(weight) for weight in given]
    trees: list[ScoredTree] = []
    base, noise = np.zeros(n), 0.0
    for member, weight in zip(members, weights, strict=True):
        forest = _voter(member, read, n, hard=hard)
        link = Link() if forest.link is None else forest.link
        factor = weight / link.divisor
        made = tuple(merged(replace(tree, value=tree.value * factor)) for tree in forest.trees)
        whole = float(np.abs(base).max()) + sum(float(np.abs(tree.value[tree.leaves]).max()) for tree in made)
        noise += factor * forest.noise + 2 * link.unit * whole  # of the member, and of what it gives
        base = base + factor * forest.base
        trees += made
    noise = summing_noise(tuple(trees), base, DOUBLE, roundings=8) + (0.0 if hard else noise)
    output = partial(numbers_of if regressor else probabilities_of, model)
    return Forest(
        trees=tuple(trees),
        base=base,
        classes=NO_CLASSES if regressor else np.asarray(model.classes_),
        n_columns=model.n_features_in_,
        noise=noise,
        predict=output if regressor else coded(model),
        takes_missing=_missing(model, members),
        link=None if hard else Link(divisor=sum(weights)),
        output=None if hard else output,
    )


def _voter(member: Any, read: Callable[[Any], Forest], n: int, *, hard: bool) -> Forest:
    """The forest of a member of a vote among ``n`` classes, 1 for a number."""
    if hard:
        if not isinstance(member, DecisionTreeClassifier):
            raise TypeError(f"a hard vote with a {type(member).__name__} cannot be explained: expected decision trees")
        forest = from_tree(member)
    else:
        forest = read(member)
        if forest.link is None or forest.link.kind != "mean":
            raise TypeError(
                f"a vote with a {type(member).__name__} cannot be explained: expected members whose "
                f"{'predictions' if n == 1 else 'probabilities'} are means or sums over trees"
            )
    if not forest.is_regressor and list(forest.classes) != list(range(n)):
        raise TypeError(f"the {type(member).__name__} of the vote does not know all classes: expected one that does")
    return forest


def from_forest(model: Any, vote: str) -> Forest:
    """``RandomForestClassifier``, ``ExtraTreesClassifier``: sums of class shares, or of votes."""
    _one_output(model)
    trees = tuple(tree_of(member) for member in model.estimators_)
    return _voting(
        model, trees, vote, [(member, None) for member in model.estimators_], _missing(model, model.estimators_)
    )


def from_bagging(model: Any, vote: str) -> Forest:
    """``BaggingClassifier`` of trees, each of which sees some of the columns and maybe not all classes."""
    for member in model.estimators_:
        if not isinstance(member, DecisionTreeClassifier):
            raise TypeError(
                f"a BaggingClassifier of {type(member).__name__} cannot be explained: expected decision trees as its "
                "estimators"
            )
    trees, members = [], []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        codes = np.asarray(member.classes_, dtype=np.int64)
        trees.append(tree_of(member, columns=np.asarray(columns), classes=codes, n_classes=len(model.classes_)))
        members.append((member, np.asarray(columns)))
    return _voting(model, tuple(trees), vote, members, _missing(model, model.estimators_))


def from_gradient_boosting(model: Any) -> Forest:
    """``GradientBoostingClassifier``: a constant start plus ``learning_rate`` times the trees; ties: second class."""
    n = len(model.classes_)
    n_columns = model.n_features_in_
    _constant_start(model)
    start = np.asarray(model._raw_predict_init(np.zeros((1, n_columns), dtype=np.float32)), dtype=np.float64)[0]
    binary = model.estimators_.shape[1] == 1
    trees = []
    for stage in model.estimators_:
        for k, member in enumerate(stage):
            code = np.array([1 if binary else k])
            trees.append(merged(tree_of(member, classes=code, n_classes=n, factor=float(model.learning_rate))))
    base = np.array([0.0, start[0]]) if binary else start
    return Forest(
        trees=tuple(trees),
        base=base,
        classes=model.classes_,
        n_columns=n_columns,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=1),
        predict=coded(model),
        ties_low=not binary,
        link=Link("logistic") if binary and model.loss == "log_loss" else None,
        output=partial(probabilities_of, model) if binary and model.loss == "log_loss" else None,
    )


def _constant_start(model: Any) -> None:
    """TypeError if a gradient boosting begins with a model whose predictions depend on the row."""
    if not isinstance(model.init_, str) and type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor"):
        raise TypeError(
            f"this {type(model).__name__} starts from a {type(model.init_).__name__}, whose scores depend on the "
            "row: expected init=None or init='zero'"
        )


def numbers_of(model: Any, X: Any) -> FloatArray:
    """(n_rows,) what a regressor predicts, in float64."""
    return np.asarray(unnamed(model.predict, X), dtype=np.float64).ravel()


def probabilities_of(model: Any, X: Any) -> FloatArray:
    """(n_rows, n_classes) what a classifier says of its classes, in float64."""
    return np.asarray(unnamed(model.predict_proba, X), dtype=np.float64)


def coded(model: Any) -> Callable[[FloatArray], IntArray]:
    """Function from rows to the class codes that ``model.predict`` gives; it can be pickled if the model can."""
    return partial(_predicted, model, np.asarray(model.classes_))


def _predicted(model: Any, classes: npt.NDArray[Any], X: FloatArray) -> IntArray:
    return codes_of(unnamed(model.predict, X), classes)


def codes_of(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IntArray:
    """Position of each label among the classes."""
    position = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([position[label] for label in np.asarray(labels).ravel().tolist()], dtype=np.int64)


def unnamed(call: Callable[[Any], Any], X: Any) -> Any:
    """``call(X)`` without the warnings that an array has no column names (its columns are in the order of the model).

    Nor does it warn of unknown categories: rows with one are asked for on purpose where they are part of the space.
    """
    with warnings.catch_warnings():
        for message in ("X does not have valid feature names", "Found unknown categories"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        return call(X)


def _voting(
    model: Any, trees: tuple[ScoredTree, ...], vote: str, members: list[tuple[Any, Any]], missing: Any
) -> Forest:
    n = len(model.classes_)
    predict, output = coded(model), partial(probabilities_of, model)
    if vote == "majority":
        trees = tuple(one_hot(tree) for tree in trees)
        predict = partial(_majority, members, n)
        output = partial(_shares_of_votes, members, n)

    trees = tuple(merged(tree) for tree in trees)
    base = np.zeros(n)
    return Forest(
        trees=trees,
        base=base,
        classes=np.asarray(model.classes_),
        n_columns=model.n_features_in_,
        noise=summing_noise(trees, base, DOUBLE, roundings=1),
        predict=predict,
        takes_missing=missing,
        majority=vote == "majority",
        link=Link(divisor=float(len(trees))),
        output=output,
    )


def _majority(members: list[tuple[Any, Any]], n_classes: int, X: FloatArray) -> IntArray:
    return np.asarray(_votes(members, n_classes, X).argmax(axis=1), dtype=np.int64)


def _shares_of_votes(members: list[tuple[Any, Any]], n_classes: int, X: FloatArray) -> FloatArray:
    return np.asarray(_votes(members, n_classes, X) / len(members))


def _votes(members: list[tuple[Any, Any]], n_classes: int, X: FloatArray) -> IntArray:
    votes = np.zeros((X.shape[0], n_classes), dtype=np.int64)
    rows = np.arange(X.shape[0])
    for member, columns in members:
        given = X if columns is None else X[:, columns]
        shares = member.tree_.predict(np.ascontiguousarray(given, dtype=np.float32))
        codes = shares.reshape(X.shape[0], -1).argmax(axis=1)
        if columns is not None:
            codes = np.asarray(member.classes_, dtype=np.int64)[codes]
        votes[rows, codes] += 1
    return votes


def _missing(model: Any, members: Any) -> npt.NDArray[np.bool_]:
    """Which columns may hold missing values: all, if all trees support them, else none."""
    takes = all(bool(member.__sklearn_tags__().input_tags.allow_nan) for member in members)
    return np.full(model.n_features_in_, takes)


def _one_output(model: Any) -> None:
    if model.n_outputs_ != 1:
        raise TypeError(f"the {type(model).__name__} has {model.n_outputs_} outputs: explanations are for one target")
