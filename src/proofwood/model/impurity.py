"""How much each column separates the classes: decreases of the Gini impurity, as scikit-learn counts them."""

from __future__ import annotations

import numpy as np

from proofwood.model.evaluate import visited
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, IntArray, NodeTable


def low_weights(table: NodeTable, X: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Weight per class of the rows that take the low edge of each node; 0 at leaves.

    In a tree this is the weight of the low child. Where a diagram shares nodes, its table does not say it.

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
    # Each low edge gets a node of its own, which passes all rows on; the walk counts them there.
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
    """(n_nodes, n_classes) weight of the low child of each node; 0 at leaves. Of trees only."""
    inner = table.feature != LEAF
    found = np.zeros((table.n_nodes, table.n_classes))
    found[inner] = table.weight[table.low[inner]]
    return found


def importances(table: NodeTable, n_features: int, low_weight: FloatArray) -> FloatArray:
    """(n_features,) share of each column in the decreases of the Gini impurity; they sum to 1, or are all 0.

    The decrease at a node is its weight times its impurity, minus the same of the rows that go low and of those that
    go high [1]_; the nodes that test a column add up. A shared node of a diagram is one node.

    Parameters
    ----------
    table : NodeTable without oblique tests
    n_features : columns of the training data
    low_weight : (n_nodes, n_classes) as :func:`low_weights` gives it

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, sec. 5.3.4.
    """
    if np.any(table.feature == OBLIQUE):
        raise ValueError("a test on a weighted sum belongs to no single column: expected tests of one column only")
    inner = table.feature != LEAF
    decrease = _weighted_gini(table.weight) - _weighted_gini(low_weight) - _weighted_gini(table.weight - low_weight)
    found = np.zeros(n_features)
    np.add.at(found, table.feature[inner], np.maximum(decrease[inner], 0.0))
    total = found.sum()
    return found / total if total > 0 else found


def _weighted_gini(weight: FloatArray) -> FloatArray:
    """(n,) total times Gini impurity of class weights of shape (n, n_classes)."""
    weight = np.maximum(weight, 0.0)  # a difference of sums can be a rounding below 0
    total = weight.sum(axis=1)
    squares = np.divide((weight**2).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(total - squares, dtype=np.float64)
