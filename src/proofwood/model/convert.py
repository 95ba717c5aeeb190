"""Node tables from and to scikit-learn's decision trees.

scikit-learn rounds its inputs to float32 and compares them with float64 thresholds; a node table compares float64
inputs as they are. For inputs that float32 holds exactly the two agree without any change. For the others they agree
in one direction only:

- :func:`from_sklearn_tree` moves every threshold up to the last float64 that scikit-learn's rounding sends low, so the
  table predicts what the estimator predicts for every input, rounded or not.
- :func:`to_sklearn` cannot do the like: values that differ in float64 and not in float32 end on one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.model.reshape import preorder, unroll

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier


def from_sklearn_tree(estimator: DecisionTreeClassifier) -> NodeTable:
    """A fitted scikit-learn classification tree as a node table over the same columns.

    Labels are codes into ``estimator.classes_``. Predictions agree for every finite input that scikit-learn accepts.
    Weights are scikit-learn's class shares times the weight of the node; products within a relative 1e-9 of an integer
    become that integer, so that counts of unweighted rows are exact. ``missing_low`` is ``missing_go_to_left``.

    Parameters
    ----------
    estimator : fitted DecisionTreeClassifier or ExtraTreeClassifier with one output

    Raises
    ------
    TypeError
        If the estimator is no single classification tree.
    ValueError
        If it has several outputs.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, DecisionTreeClassifier):
        raise TypeError(
            f"cannot convert a {type(estimator).__name__}: expected a fitted DecisionTreeClassifier. "
            "For a forest, convert the trees in its estimators_."
        )
    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1:
        raise ValueError(
            f"the tree has {estimator.n_outputs_} outputs: expected one. Fit one tree per column of y and convert each."
        )
    nodes: Any = estimator.tree_.__getstate__()["nodes"]
    shares = estimator.tree_.value[:, 0, :]
    weight = shares * nodes["weighted_n_node_samples"][:, np.newaxis]
    whole = np.rint(weight)
    weight = np.where(np.abs(weight - whole) <= 1e-9 * np.maximum(whole, 1.0), whole, weight)
    leaf = nodes["left_child"] == -1
    return preorder(
        NodeTable(
            feature=np.where(leaf, LEAF, nodes["feature"]),
            threshold=np.where(leaf, np.nan, last_rounded_low(nodes["threshold"])),
            low=np.where(leaf, LEAF, nodes["left_child"]),
            high=np.where(leaf, LEAF, nodes["right_child"]),
            label=shares.argmax(axis=1),
            weight=weight,
            rows=nodes["n_node_samples"],
            missing_low=leaf | nodes["missing_go_to_left"].astype(bool),
        )
    )


def to_sklearn(
    table: NodeTable,
    classes: npt.ArrayLike | None = None,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> DecisionTreeClassifier:
    """A fitted scikit-learn ``DecisionTreeClassifier`` with the tests and leaves of ``table``.

    It predicts what ``table`` predicts for every input whose values float32 holds exactly; other inputs are rounded to
    float32 first, so values closer than that to a threshold can change sides. Class probabilities are those of the
    table, except at a leaf whose label is not the first of its heaviest classes: there the label gets probability 1,
    because scikit-learn predicts the likeliest class. A diagram is unrolled into its tree.

    Parameters
    ----------
    table : NodeTable with threshold tests only
    classes : (n_classes,) sorted distinct labels of the class codes; ``0..n_classes - 1`` by default
    n_features : number of columns; by default that of ``feature_names``, else as many as the table tests
    feature_names : names of the columns

    Raises
    ------
    ValueError
        If the table holds level tests or oblique tests, or numbers of classes or columns disagree.
    """
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree

    if table.normals is not None or table.levels is not None:
        raise ValueError(
            "the model has oblique or level tests, which scikit-learn's trees do not know: expected x <= threshold "
            "only. Use the node table itself, or save it with proofwood."
        )
    labels = np.arange(table.n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (table.n_classes,):
        raise ValueError(f"classes has shape {labels.shape}, expected ({table.n_classes},)")
    columns = n_features if n_features is not None else len(feature_names) if feature_names else table.n_columns
    if columns < max(table.n_columns, 1):
        if n_features is not None or feature_names:
            raise ValueError(f"n_features is {columns}, but the model tests column {table.n_columns - 1}")
        columns = 1  # a lone leaf; scikit-learn knows no data without columns
    if feature_names is not None and len(feature_names) != columns:
        raise ValueError(f"feature_names has {len(feature_names)} names, expected {columns}")

    tree = preorder(table if table.is_tree else unroll(table))
    values = _shares_that_predict_labels(tree)
    leaf = tree.feature == LEAF
    native = Tree(columns, np.array([table.n_classes], dtype=np.intp), 1)
    nodes = np.zeros(tree.n_nodes, dtype=native.__getstate__()["nodes"].dtype)
    nodes["left_child"] = np.where(leaf, -1, tree.low)
    nodes["right_child"] = np.where(leaf, -1, tree.high)
    nodes["feature"] = np.where(leaf, -2, tree.feature)
    nodes["threshold"] = np.where(leaf, -2.0, tree.threshold)
    nodes["impurity"] = 1.0 - (values**2).sum(axis=1)
    nodes["n_node_samples"] = tree.rows
    nodes["weighted_n_node_samples"] = tree.weight.sum(axis=1)
    nodes["missing_go_to_left"] = np.where(leaf, 0, tree.missing_low)
    native.__setstate__(
        {
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(values[:, np.newaxis, :]),
        }
    )
    estimator = DecisionTreeClassifier()
    estimator.tree_ = native
    estimator.classes_ = labels
    estimator.n_classes_ = table.n_classes
    estimator.n_outputs_ = 1
    estimator.n_features_in_ = columns
    estimator.max_features_ = columns
    if feature_names is not None:
        estimator.feature_names_in_ = np.array(feature_names, dtype=object)
    return estimator


def last_rounded_low(threshold: npt.ArrayLike) -> FloatArray:
    """The largest float64 that, rounded to float32, is at most ``threshold``.

    With ``a`` the largest float32 at most the threshold and ``b`` its successor, numbers up to their midpoint round to
    ``a``, and the midpoint itself does if the last bit of ``a`` is 0 (ties to even).
    """
    exact = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    largest = np.finfo(np.float32).max
    with np.errstate(over="ignore", under="ignore"):  # the successor of the largest float32 is infinite
        a = np.clip(exact, -largest, largest).astype(np.float32)
        a = np.where(a.astype(np.float64) > exact, np.nextafter(a, np.float32(-np.inf)), a)
        b = np.nextafter(a, np.float32(np.inf))
    low = a.astype(np.float64)
    # Beyond the largest float32 the next one would be 2**128, were there one more exponent.
    high = np.where(np.isinf(b), 2.0**128, b.astype(np.float64))
    middle = low / 2 + high / 2  # exact: one bit more than float32 holds
    even = (a.view(np.int32) & 1) == 0
    last = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(exact), exact, last).reshape(np.shape(threshold))


def _shares_that_predict_labels(table: NodeTable) -> FloatArray:
    """(n_nodes, n_classes) class shares whose first largest entry is the label of the node."""
    shares = node_probabilities(table)
    other = np.flatnonzero((table.feature == LEAF) & (shares.argmax(axis=1) != table.label))
    shares[other] = 0.0
    shares[other, table.label[other]] = 1.0
    return shares
