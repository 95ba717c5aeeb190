"""scikit-learn's trees, forests, bagged and boosted trees as forests of floats.

These trees round their inputs to float32 and compare them with float64 thresholds; thresholds are moved up to the last
float64 that is rounded to the low side (``model.convert.last_rounded_low``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

from proofwood.explain.model.forest import DOUBLE, Forest, ScoredTree, merged, one_hot, summing_noise
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
    value = tree.value[:, 0, :] * factor
    if classes is not None:
        spread = np.zeros((value.shape[0], n_classes))
        spread[:, classes] = value
        value = spread
    return ScoredTree(
        feature=feature,
        threshold=np.where(leaf, np.nan, last_rounded_low(nodes["threshold"])),
        low=nodes["left_child"].astype(np.int64),
        high=nodes["right_child"].astype(np.int64),
        missing_low=nodes["missing_go_to_left"].astype(bool),
        value=value,
    )


def from_tree(model: Any) -> Forest:
    """``DecisionTreeClassifier``, ``ExtraTreeClassifier``: the first largest share of the leaf, which is exact."""
    _one_output(model)
    return Forest(
        trees=(merged(one_hot(tree_of(model))),),
        base=np.zeros(model.n_classes_),
        classes=model.classes_,
        n_columns=model.n_features_in_,
        noise=0.0,
        predict=coded(model),
        takes_missing=_missing(model, [model]),
    )


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
    if not isinstance(model.init_, str) and type(model.init_).__name__ != "DummyClassifier":
        raise TypeError(
            f"this GradientBoostingClassifier starts from a {type(model.init_).__name__}, whose scores depend on the "
            "row: expected init=None or init='zero'"
        )
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
    )


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
    predict = coded(model)
    if vote == "majority":
        trees = tuple(one_hot(tree) for tree in trees)
        predict = partial(_majority, members, n)

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
    )


def _majority(members: list[tuple[Any, Any]], n_classes: int, X: FloatArray) -> IntArray:
    votes = np.zeros((X.shape[0], n_classes), dtype=np.int64)
    rows = np.arange(X.shape[0])
    for member, columns in members:
        given = X if columns is None else X[:, columns]
        shares = member.tree_.predict(np.ascontiguousarray(given, dtype=np.float32))
        codes = shares.reshape(X.shape[0], -1).argmax(axis=1)
        if columns is not None:
            codes = np.asarray(member.classes_, dtype=np.int64)[codes]
        votes[rows, codes] += 1
    return np.asarray(votes.argmax(axis=1), dtype=np.int64)


def _missing(model: Any, members: Any) -> npt.NDArray[np.bool_]:
    """Which columns may hold missing values: all, if all trees support them, else none."""
    takes = all(bool(member.__sklearn_tags__().input_tags.allow_nan) for member in members)
    return np.full(model.n_features_in_, takes)


def _one_output(model: Any) -> None:
    if model.n_outputs_ != 1:
        raise TypeError(f"the {type(model).__name__} has {model.n_outputs_} outputs: explanations are for one target")
