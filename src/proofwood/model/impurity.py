"""Feature importances: the decreases of the Gini impurity per column, as scikit-learn computes them."""

from __future__ import annotations

import numpy as np

from proofwood.model.evaluate import visited
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, IntArray, NodeTable


def low_weights(table: NodeTable, X: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """The weight per class of the rows that take the low edge of each node; 0 at leaves.

    In a tree this is the weight of the low child. In a diagram with shared nodes, it is counted from the rows.

    Parameters
    ----------
    X : (n_samples, n_features) float64
    codes : (n_samples,) class codes
    weights : (n_samples,) not negative

    Returns
    -------
    (n_nodes, n_classes) float64
    """
    if table.is_tree:
        return low_weights_of_tree(table)
    # A new node is put on each low edge and passes all its rows on; the walk counts the rows there.
    inner = table.feature != LEAF
    place = np.arange(table.n_nodes) + np.concatenate(([0], np.cumsum(inner)[:-1]))
    edge = place[inner] + 1
    n_nodes = table.n_nodes + edge.size
    feature, threshold = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes)
    low, high = np.full(n_nodes, LEAF), np.full(n_nodes, LEAF)
    missing_low = np.ones(n_nodes, dtype=np.bool_)
    feature[place], threshold[place], missing_low[place] = table.feature, table.threshold, table.missing_low
    low[place[inner]], high[place[inner]] = edge, place[table.high[inner]]
    low[edge] = high[edge] = place[table.low[inner]]
    levels: list[frozenset[int] | None] = [None] * n_nodes
    for node, codes_low in enumerate(table.levels or ()):
        levels[place[node]] = codes_low
    normals = table.normals
    if normals is not None:
        sizes = np.zeros(n_nodes, dtype=np.int64)
        sizes[place] = np.diff(normals.indptr)
        normals = type(normals)(np.concatenate(([0], np.cumsum(sizes))), normals.indices, normals.values)
    counted = NodeTable.uncounted(
        feature,
        threshold,
        low,
        high,
        table.n_classes,
        missing_low=missing_low,
        levels=tuple(levels),
        normals=normals,
    )
    weight, _ = visited(counted, X, codes, weights, table.n_classes)
    found = np.zeros((table.n_nodes, table.n_classes))
    found[inner] = weight[edge]
    return found


def low_weights_of_tree(table: NodeTable) -> FloatArray:
    """(n_nodes, n_classes) weight of the low child of each node; 0 at leaves. Only valid for trees."""
    inner = table.feature != LEAF
    found = np.zeros((table.n_nodes, table.n_classes))
    found[inner] = table.weight[table.low[inner]]
    return found


def importances(table: NodeTable, n_features: int, low_weight: FloatArray) -> FloatArray:
    """(n_features,) share of each column in the decreases of the Gini impurity; the sum is 1, or all are 0.

    The decrease at a split is its weight times its impurity, minus the same product for the rows that go low and for
    those that go high [1]_. The decreases of all splits of a column are added up. A shared node counts once.

    Parameters
    ----------
    table : NodeTable without oblique tests
    n_features : columns of the training data
    low_weight : (n_nodes, n_classes), the result of :func:`low_weights`

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, sec. 5.3.4.
    """
    if np.any(table.feature == OBLIQUE):
        raise ValueError(
            "the model tests weighted sums of columns (oblique splits), which have no importance per column: expected "
            "a model in which each test is about one column"
        )
    inner = table.feature != LEAF
    decrease = _weighted_gini(table.weight) - _weighted_gini(low_weight) - _weighted_gini(table.weight - low_weight)
    found = np.zeros(n_features)
    np.add.at(found, table.feature[inner], np.maximum(decrease[inner], 0.0))
    total = found.sum()
    return found / total if total > 0 else found


def _weighted_gini(weight: FloatArray) -> FloatArray:
    """(n,) total weight times Gini impurity, for class weights of shape (n, n_classes)."""
    weight = np.maximum(weight, 0.0)  # a difference of sums can be a rounding below 0
    total = weight.sum(axis=1)
    squares = np.divide((weight**2).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(total - squares, dtype=np.float64)
