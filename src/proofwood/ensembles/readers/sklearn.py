"""Readers of scikit-learn's trees, forests, boosted trees and isolation forests.

These trees round their inputs to float32 and compare them with float64 thresholds. Here each threshold is moved up to
the largest float64 that is rounded to the low side (``model.convert.last_rounded_low``).
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

from proofwood.ensembles.forest import (
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
from proofwood.ensembles.readers.reading import codes_from, column_of, floats_from, greatest
from proofwood.ensembles.readers.register import SHARES, Asked, register, target_of
from proofwood.ensembles.readers.targets import one_target
from proofwood.ensembles.readers.voting import shares_of_votes, votes
from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, FloatArray, IntArray


def tree_of(
    estimator: Any,
    *,
    columns: IntArray | None = None,
    classes: IntArray | None = None,
    n_classes: int = 0,
    factor: float = 1.0,
    output: int = 0,
) -> ScoredTree:
    """A fitted scikit-learn tree as a tree of scores: its class shares, or its numbers, times ``factor``.

    Parameters
    ----------
    estimator : the fitted tree
    columns : for each column of the tree, the column of the ensemble; by default the same columns
    classes : for each class of the tree, the class code in the ensemble; by default the same codes
    n_classes : number of classes of the ensemble, if ``classes`` is given
    factor : factor of all values
    output : number of the target
    """
    tree = estimator.tree_
    nodes = tree.__getstate__()["nodes"]
    leaf = nodes["left_child"] == -1
    feature = np.where(leaf, LEAF, nodes["feature"]).astype(np.int64)
    if columns is not None:
        feature = np.where(leaf, LEAF, np.asarray(columns, dtype=np.int64)[np.maximum(feature, 0)])
    # scikit-learn 1.6 may leave a threshold nan where values are missing: no number is at most that
    threshold = np.where(np.isnan(nodes["threshold"]), -np.inf, nodes["threshold"])
    value = tree.value[:, output, : int(np.ravel(tree.n_classes)[output])] * factor
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


def from_tree(model: Any, asked: Asked) -> Forest:
    """Read a ``DecisionTreeClassifier`` or ``ExtraTreeClassifier``: the first class with the largest share wins.

    If ``asked.vote`` requests probabilities, the scores are the class shares of the leaf.
    """
    target = target_of(model, model.n_outputs_, asked.output)
    classes = _classes(model, target)
    one = one_target(model, asked.output, classes)
    tree = tree_of(model, output=target)
    forest = Forest(
        trees=(merged(tree if asked.vote in SHARES else one_hot(tree)),),
        base=np.zeros(len(classes)),
        classes=classes,
        n_columns=model.n_features_in_,
        noise=0.0,
        predict=coded(one),
        takes_missing=_missing(model, [model]),
    )
    if asked.vote not in SHARES:
        return forest
    return replace(forest, link=Link(), output=partial(probabilities_of, one))


def _classes(model: Any, target: int) -> npt.NDArray[Any]:
    return np.asarray(model.classes_ if model.n_outputs_ == 1 else model.classes_[target])


def from_regressor(
    model: Any,
    trees: tuple[ScoredTree, ...],
    *,
    divisor: float = 1.0,
    base: float = 0.0,
    roundings: int = 0,
    takes_missing: npt.NDArray[np.bool_] | None = None,
    output: int | None = None,
) -> Forest:
    """The forest of a regressor that predicts a base plus the sum of its trees, divided by a constant."""
    start = np.array([base])
    call = partial(numbers_of, one_target(model, output, NO_CLASSES))
    return Forest(
        trees=tuple(merged(tree) for tree in trees),
        base=start,
        classes=NO_CLASSES,
        n_columns=model.n_features_in_,
        noise=0.0 if len(trees) == 1 and base == 0 else summing_noise(trees, start, DOUBLE, roundings),
        predict=call,
        takes_missing=takes_missing,
        link=Link(divisor=divisor),
        output=call,
    )


def from_tree_regressor(model: Any, asked: Asked) -> Forest:
    """Read a ``DecisionTreeRegressor`` or ``ExtraTreeRegressor``, which predicts the number of the leaf."""
    target = target_of(model, model.n_outputs_, asked.output)
    tree = tree_of(model, output=target)
    return from_regressor(model, (tree,), takes_missing=_missing(model, [model]), output=asked.output)


def from_forest_regressor(model: Any, asked: Asked) -> Forest:
    """Read a ``RandomForestRegressor`` or ``ExtraTreesRegressor``, which predicts the mean of its trees."""
    target = target_of(model, model.n_outputs_, asked.output)
    trees = tuple(tree_of(member, output=target) for member in model.estimators_)
    missing = _missing(model, model.estimators_)
    divisor = float(len(trees))
    forest = from_regressor(model, trees, divisor=divisor, takes_missing=missing, output=asked.output)
    return replace(forest, unordered=_in_threads(model))


def _in_threads(model: Any) -> bool:
    """Whether the model adds up its trees in several threads, in an order that can vary."""
    return model.n_jobs not in (None, 1)


def from_gradient_boosting_regressor(model: Any, asked: Asked) -> Forest:
    """Read a ``GradientBoostingRegressor``: a constant plus ``learning_rate`` times the sum of the trees."""
    _constant_start(model)
    start = np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32)), dtype=np.float64)
    factor = float(model.learning_rate)
    trees = tuple(tree_of(member, factor=factor) for member in model.estimators_[:, 0])
    return from_regressor(model, trees, base=float(start[0, 0]), roundings=1)


def from_isolation_forest(model: Any, asked: Asked) -> Forest:
    r"""Read an ``IsolationForest``: a row is an outlier, class -1, if its paths in the trees are short on average.

    The path length of a leaf is its depth plus the mean path length in a random tree of as many rows. With the sum
    :math:`D` of the path lengths in :math:`n` trees, the score is :math:`-2^{-D / (n c)}`. The model compares it with
    the offset, so :math:`D` is compared with :math:`-n c \log_2(-offset)`.

    Raises
    ------
    TypeError
        If the offset is not negative, unlike every score, or if trees were fitted on fewer than two rows.
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
        raise TypeError(
            f"the IsolationForest has the offset {offset!r}: expected a negative offset, and at least two rows per tree"
        )
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
        predict=partial(codes_from, partial(unnamed, model.predict), np.array([-1, 1])),
        ties_low=False,
        takes_missing=np.full(model.n_features_in_, True),
    )


def _mean_path(rows: npt.NDArray[Any]) -> FloatArray:
    """The mean path length in a random tree of the given numbers of rows."""
    n = np.asarray(rows, dtype=np.float64)
    more = np.maximum(n, 3.0)
    return np.where(n <= 1, 0.0, np.where(n == 2, 1.0, 2 * (np.log(more - 1) + np.euler_gamma) - 2 * (more - 1) / more))


def from_forest(model: Any, asked: Asked) -> Forest:
    """Read a ``RandomForestClassifier`` or ``ExtraTreesClassifier``: sums of class shares, or of votes."""
    target = target_of(model, model.n_outputs_, asked.output)
    classes = _classes(model, target)
    n = len(classes)
    trees = tuple(tree_of(member, output=target) for member in model.estimators_)
    one = one_target(model, asked.output, classes)
    predict: Callable[[FloatArray], IntArray] = coded(one)
    output: Callable[[FloatArray], FloatArray] = partial(probabilities_of, one)
    majority = asked.vote == "majority"
    if majority:
        trees = tuple(one_hot(tree) for tree in trees)
        counted = partial(unnamed, partial(votes, model, target, n))
        predict, output = partial(greatest, counted), partial(shares_of_votes, counted)
    trees = tuple(merged(tree) for tree in trees)
    base = np.zeros(n)
    return Forest(
        trees=trees,
        base=base,
        classes=classes,
        n_columns=model.n_features_in_,
        noise=summing_noise(trees, base, DOUBLE, roundings=1),
        predict=predict,
        takes_missing=_missing(model, model.estimators_),
        majority=majority,
        link=Link(divisor=float(len(trees))),
        output=output,
        unordered=_in_threads(model),
    )


def from_gradient_boosting(model: Any, asked: Asked) -> Forest:
    """Read a ``GradientBoostingClassifier``: a constant plus ``learning_rate`` times the sum of the trees.

    With two classes, a tie goes to the second class.
    """
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
    # loss="exponential" has the logistic function of twice the sum
    link = Link("logistic", divisor=1.0 if model.loss == "log_loss" else 0.5) if binary else None
    return Forest(
        trees=tuple(trees),
        base=base,
        classes=model.classes_,
        n_columns=n_columns,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=1),
        predict=coded(model),
        ties_low=not binary,
        link=link,
        output=None if link is None else partial(probabilities_of, model),
        decision=1.0,
    )


def _constant_start(model: Any) -> None:
    """Raise TypeError if the initial scores of gradient boosting depend on the row or are random."""
    start = model.init_
    dummy = type(start).__name__ in ("DummyClassifier", "DummyRegressor")
    if not isinstance(start, str) and not (dummy and start.strategy not in ("uniform", "stratified")):
        raise TypeError(
            f"this {type(model).__name__} starts from a {type(start).__name__}, whose scores depend on the "
            "row or are random: expected init=None or init='zero'"
        )


def numbers_of(model: Any, X: Any) -> FloatArray:
    """(n_rows,) the numbers that a regressor predicts, in float64."""
    return column_of(partial(unnamed, model.predict), 0, X)


def probabilities_of(model: Any, X: Any) -> FloatArray:
    """(n_rows, n_classes) the class probabilities that a classifier predicts, in float64."""
    return floats_from(partial(unnamed, model.predict_proba), X)


def coded(model: Any) -> Callable[[FloatArray], IntArray]:
    """A function from rows to the class codes of ``model.predict``; it can be pickled if the model can."""
    return partial(codes_from, partial(unnamed, model.predict), np.asarray(model.classes_))


def unnamed(call: Callable[[Any], Any], X: Any) -> Any:
    """Return ``call(X)`` without two warnings: about an array without column names, and about unknown categories.

    The columns of such an array are in the order of the model, and rows with unknown categories are used on purpose.
    """
    with warnings.catch_warnings():
        for message in ("X does not have valid feature names", "Found unknown categories"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        return call(X)


def _missing(model: Any, members: Any) -> npt.NDArray[np.bool_]:
    """(n_columns,) whether a column may hold missing values: true for all columns if all members support them."""
    takes = all(bool(member.__sklearn_tags__().input_tags.allow_nan) for member in members)
    return np.full(model.n_features_in_, takes)


register(
    ("sklearn.DecisionTreeClassifier", "sklearn.ExtraTreeClassifier"),
    from_tree,
    words="tree, forest, GradientBoosting or HistGradientBoosting of scikit-learn (classifier or regressor)",
    votes=True,
    outputs=True,
)
register(("sklearn.RandomForestClassifier", "sklearn.ExtraTreesClassifier"), from_forest, votes=True, outputs=True)
register(("sklearn.DecisionTreeRegressor", "sklearn.ExtraTreeRegressor"), from_tree_regressor, outputs=True)
register(("sklearn.RandomForestRegressor", "sklearn.ExtraTreesRegressor"), from_forest_regressor, outputs=True)
register("sklearn.GradientBoostingClassifier", from_gradient_boosting)
register("sklearn.GradientBoostingRegressor", from_gradient_boosting_regressor)
register("sklearn.IsolationForest", from_isolation_forest, words="IsolationForest")
