"""Convert node tables into scikit-learn's decision trees, and thresholds of these trees into float64 thresholds.

scikit-learn rounds its inputs to float32 and compares them with float64 thresholds; a node table compares float64
inputs without rounding. For inputs that are exact in float32 the two agree. For other inputs, :func:`last_rounded_low`
makes a table predict the same as a tree of scikit-learn. The other direction, :func:`to_sklearn`, is not possible for
all inputs: two values that are equal in float32 go to the same side. For given rows, the function either succeeds or
names the values that float32 cannot distinguish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import low_weights_of_tree, node_probabilities
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import depth_first, preorder, refresh, unroll_from
from proofwood.model.set_columns import sets_as_columns, transformer
from proofwood.model.thresholds import require_levels_of_float32, separating_in_float32, without_levels

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

Sets = Literal["columns", "thresholds"]
"""What sets of levels become in scikit-learn."""


def to_sklearn(
    table: NodeTable,
    classes: npt.ArrayLike | None = None,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    low_weight: FloatArray | None = None,
    X: npt.ArrayLike | None = None,
    codes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    sets: Sets = "thresholds",
) -> DecisionTreeClassifier | DecisionTreeRegressor | Pipeline:
    """Return a fitted scikit-learn tree that predicts the same as ``table``: a classifier, for numbers a regressor.

    The predictions are the same for every input that is exact in float32. scikit-learn rounds other inputs to float32
    first, so values very close to a threshold can change sides. If ``X`` is given, thresholds are moved if necessary,
    so that these rows keep their sides. Class probabilities are those of the table, with one exception: scikit-learn
    predicts the first most probable class, so if this is not the label of a leaf, the label gets probability 1 there.
    Actions of a policy are classes, and that of a leaf has probability 1.

    A diagram is unrolled into its tree. A test of a level set becomes thresholds over the codes of the levels, or, if
    asked, a column of its own, and the tree becomes the last step of a ``Pipeline`` that makes these columns. The table
    does not say how many rows reach each copy of a node. They are counted from ``X`` and ``codes`` if given.
    Otherwise they are estimated: ``low_weight`` divides the rows of a node between low and high, and runs of levels
    get equal parts. Predictions do not depend on these counts, but pictures show them and SHAP values use them.

    Parameters
    ----------
    table : NodeTable without oblique tests
    classes : (n_labels,) sorted distinct labels of the class codes, or actions; ``0..n_labels - 1`` by default; not
        used for numbers
    n_features : number of columns; by default the number of ``feature_names``, or the least that the table needs
    feature_names : names of the columns
    low_weight : (n_nodes, n_classes) weight that takes the low edge of each node; diagrams need it if ``X`` and
        ``codes`` are not given
    X, codes, sample_weight : training rows, their class codes and weights
    sets : what level sets become: ``"thresholds"`` or ``"columns"``

    Raises
    ------
    ValueError
        If the table has oblique tests, numbers of classes or columns disagree, or a diagram has neither
        ``low_weight`` nor rows.
    PrecisionError
        If the model distinguishes rows of ``X`` that are equal in float32, or a level is not exact in float32.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import Tree

    if table.normals is not None:
        raise ValueError(
            "the model tests weighted sums of columns (oblique splits), and a scikit-learn tree tests one column at a "
            "time: export it with to_python(), to_c(), to_sql() or to_onnx(), or fit with splits='univariate'"
        )
    labels = np.arange(table.n_labels) if classes is None else np.asarray(classes)
    if labels.shape != (table.n_labels,):
        raise ValueError(f"classes has shape {labels.shape}, expected ({table.n_labels},)")
    columns = n_features if n_features is not None else len(feature_names) if feature_names else table.n_columns
    if columns < max(table.n_columns, 1):
        if n_features is not None or feature_names:
            raise ValueError(f"n_features is {columns}, but the model tests column {table.n_columns - 1}")
        columns = 1  # a lone leaf; scikit-learn needs at least one column
    if feature_names is not None and len(feature_names) != columns:
        raise ValueError(f"feature_names has {len(feature_names)} names, expected {columns}")

    if sets == "columns" and np.any(table.by_levels):
        from sklearn.pipeline import Pipeline

        plain, added = sets_as_columns(table, columns)
        step = transformer(added, columns)
        names = [f"x{j}" for j in range(columns)] if feature_names is None else feature_names
        tree = to_sklearn(
            plain,
            labels,
            feature_names=[*names, *(f"set {number}" for number in range(len(added)))],
            low_weight=low_weight,
            X=None if X is None else step.transform(np.asarray(X)),
            codes=codes,
            sample_weight=sample_weight,
        )
        del tree.feature_names_in_  # the step before it gives an array
        return Pipeline([("sets", step), ("tree", tree)])
    require_levels_of_float32(table, X, feature_names)
    if X is not None:
        table = separating_in_float32(table, X, feature_names)
    tree = _counted_tree(table, low_weight, X, codes, sample_weight)
    leaf = tree.feature == LEAF
    native = Tree(columns, np.array([tree.values.shape[1]], dtype=np.intp), 1)
    nodes = np.zeros(tree.feature.size, dtype=native.__getstate__()["nodes"].dtype)
    nodes["left_child"] = np.where(leaf, -1, tree.low)
    nodes["right_child"] = np.where(leaf, -1, tree.high)
    nodes["feature"] = np.where(leaf, -2, tree.feature)
    nodes["threshold"] = np.where(leaf, -2.0, tree.threshold)
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = tree.rows
    nodes["weighted_n_node_samples"] = tree.weight
    nodes["missing_go_to_left"] = np.where(leaf, 0, tree.missing_low)
    native.__setstate__(
        {
            "max_depth": tree.depth,
            "node_count": tree.feature.size,
            "nodes": nodes,
            "values": np.ascontiguousarray(tree.values[:, np.newaxis, :]),
        }
    )
    if _says_numbers(table):
        estimator = DecisionTreeRegressor()
    else:
        estimator = DecisionTreeClassifier()
        estimator.classes_ = labels
        estimator.n_classes_ = table.n_labels
    estimator.tree_ = native
    estimator.n_outputs_ = 1
    estimator.n_features_in_ = columns
    estimator.max_features_ = columns
    if feature_names is not None:
        estimator.feature_names_in_ = np.array(feature_names, dtype=object)
    return estimator


def last_rounded_low(threshold: npt.ArrayLike) -> FloatArray:
    """The largest float64 that is at most ``threshold`` after rounding to float32.

    Let ``a`` be the largest float32 that is at most the threshold, and ``b`` the next float32. Numbers below the
    midpoint between them round to ``a``, and so does the midpoint itself if the last bit of ``a`` is 0 (ties to even).
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


@dataclass(frozen=True, slots=True, eq=False)
class _CountedTree:
    """A tree of thresholds with what scikit-learn stores per node: weight, rows, class shares or mean, impurity."""

    feature: IntArray
    threshold: FloatArray
    low: IntArray
    high: IntArray
    missing_low: BoolArray
    weight: FloatArray
    rows: IntArray
    values: FloatArray
    impurity: FloatArray
    depth: int


def _counted_tree(
    table: NodeTable,
    low_weight: FloatArray | None,
    X: npt.ArrayLike | None,
    codes: npt.ArrayLike | None,
    sample_weight: npt.ArrayLike | None,
) -> _CountedTree:
    """The tree of thresholds that is equal to a model, with the rows of each node, counted or estimated."""
    flat, of_test = without_levels(table)
    tree, of_flat = unroll_from(flat)
    order = depth_first(tree.low, tree.high)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    source = of_test[of_flat[order]]
    inner = tree.feature[order] != LEAF
    low, high = (np.where(inner, place[edge[order]], LEAF) for edge in (tree.low, tree.high))
    if tree.n_nodes == table.n_nodes and (X is None or codes is None):
        weight, rows = table.weight[source].sum(axis=1), table.rows[source]
    elif X is not None and codes is not None:
        counted = preorder(refresh(tree, X, codes, table.n_classes, sample_weight))
        weight, rows = counted.weight.sum(axis=1), counted.rows
    else:
        if low_weight is None and not table.is_tree:
            raise ValueError(
                "the diagram shares nodes, and does not store how many rows reach a shared node from each parent: pass "
                "the training rows and their labels, to_sklearn(X, y)"
            )
        to_low = low_weights_of_tree(table) if low_weight is None else low_weight
        weight, rows = _shared_out(table, to_low, flat, of_test, of_flat[order], low, high)
    said, means = _said(table)
    values = said[source]
    if not means or tree.n_nodes != table.n_nodes:
        values = _means_of_leaves(values, weight, low, high)
    return _CountedTree(
        feature=tree.feature[order],
        threshold=tree.threshold[order],
        low=low,
        high=high,
        missing_low=tree.missing_low[order],
        weight=weight,
        rows=rows,
        values=values,
        impurity=_impurity(table, source, values, weight, low, high),
        depth=tree.depth,
    )


def _shared_out(
    table: NodeTable,
    low_weight: FloatArray,
    flat: NodeTable,
    of_test: IntArray,
    of_flat: IntArray,
    low: IntArray,
    high: IntArray,
) -> tuple[FloatArray, IntArray]:
    """(n,) estimated weight and rows of each node of an unrolled tree. Each split divides both between its sides.

    Parameters
    ----------
    table : the model
    low_weight : (n_nodes, n_classes) weight that goes low at each node of the model
    flat : the model with its tests as thresholds
    of_test : node of ``table`` for each node of ``flat``
    of_flat : (n,) node of ``flat`` for each node of the tree, parents before children
    low, high : (n,) edges of the tree
    """
    total, goes_low = table.weight.sum(axis=1), low_weight.sum(axis=1)
    runs_low, runs_high = np.zeros(flat.n_nodes), np.zeros(flat.n_nodes)  # runs of levels below, by their side
    for node in reversed(list(flat.splits())):
        test = of_test[node]
        for child in (int(flat.low[node]), int(flat.high[node])):
            if of_test[child] == test:
                runs_low[node] += runs_low[child]
                runs_high[node] += runs_high[child]
            elif of_test[child] == table.low[test]:
                runs_low[node] += 1
            else:
                runs_high[node] += 1
    head = np.zeros(table.n_nodes, dtype=np.int64)  # first node of each test in ``flat``: parents come first
    head[of_test[::-1]] = np.arange(flat.n_nodes)[::-1]
    share = np.divide(goes_low, total, out=np.full(table.n_nodes, 0.5), where=total > 0)
    each_low = share / np.maximum(runs_low[head], 1)
    each_high = (1 - share) / np.maximum(runs_high[head], 1)

    def amount(node: int, test: int) -> float:
        if of_test[node] == test:
            return float(runs_low[node] * each_low[test] + runs_high[node] * each_high[test])
        return float(each_low[test] if of_test[node] == table.low[test] else each_high[test])

    weight, rows = np.zeros(of_flat.size), np.zeros(of_flat.size, dtype=np.int64)
    weight[0], rows[0] = total[0], table.rows[0]
    for node in np.flatnonzero(low != LEAF).tolist():
        test = int(of_test[of_flat[node]])
        parts = [amount(int(of_flat[child]), test) for child in (low[node], high[node])]
        part = parts[0] / sum(parts) if sum(parts) > 0 else 0.5
        weight[low[node]], rows[low[node]] = weight[node] * part, round(int(rows[node]) * part)
        weight[high[node]], rows[high[node]] = weight[node] - weight[low[node]], rows[node] - rows[low[node]]
    return weight, rows


def _means_of_leaves(shares: FloatArray, weight: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """(n, k) shares of the classes, or numbers; at a split, the weighted mean of those at the leaves below it."""
    found = shares.copy()
    for node in np.flatnonzero(low != LEAF)[::-1].tolist():
        one, other = weight[low[node]], weight[high[node]]
        if one + other > 0:
            found[node] = (one * found[low[node]] + other * found[high[node]]) / (one + other)
    return found


def _says_numbers(table: NodeTable) -> bool:
    return table.values is not None and table.n_labels == 1


def _said(table: NodeTable) -> tuple[FloatArray, bool]:
    """(n_nodes, k) what the twin of each node has as its value, and whether those of splits are means over their rows.

    They are numbers, or shares of classes, changed at leaves so that the label is the first class of largest share; the
    action of a policy has share 1.
    """
    if table.values is not None:
        return (table.values, True) if _says_numbers(table) else (np.eye(table.n_labels)[table.label], False)
    shares = node_probabilities(table)
    other = np.flatnonzero((table.feature == LEAF) & (shares.argmax(axis=1) != table.label))
    shares[other] = 0.0
    shares[other, table.label[other]] = 1.0
    return shares, other.size == 0


def _impurity(
    table: NodeTable, source: IntArray, values: FloatArray, weight: FloatArray, low: IntArray, high: IntArray
) -> FloatArray:
    """(n,) Gini impurity of the shares at each node; for numbers, what its rows cost as a leaf by weight, 0 if unknown.

    Rows at a copy of a node are taken to cost what those of the node do. A test of levels that became several nodes
    avoids at the first of them what it avoids.
    """
    if not _says_numbers(table):
        return np.asarray(1.0 - (values**2).sum(axis=1))
    loss, total = np.zeros(table.n_nodes) if table.loss is None else table.loss, table.weight.sum(axis=1)
    found: FloatArray = np.divide(loss, total, out=np.zeros_like(total), where=total > 0)[source]
    inner = np.flatnonzero(low != LEAF)
    later = np.concatenate([edge[inner][source[edge[inner]] == source[inner]] for edge in (low, high)])
    for node in sorted(later.tolist(), reverse=True):  # children before parents
        sides = [low[node], high[node]]
        if weight[sides].sum() > 0:
            found[node] = np.average(found[sides], weights=weight[sides])
    return found
