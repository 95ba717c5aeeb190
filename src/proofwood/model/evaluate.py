"""Walk rows down a node table: the leaf of each row, its path, and the prediction of the leaf.

The native walker processes one row after another and compares values in float64, without rounding.

``missing_low`` says to which side missing values (NaN) go. A level test sends the codes of its set low, and all other
codes high, including codes that were not in the training data. The weighted sum of an oblique test is added up in the
order of its stored coefficients, so the result for a row does not depend on the other rows. A sum that is not a number
(because a summand is missing, or infinities cancel) counts as missing.

Feature importances are the decreases of the Gini impurity per column, as scikit-learn computes them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

from proofwood.model.node_table import LEAF, OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable

BLOCK = 65536
"""The largest number of rows in a block; Ctrl-C interrupts the walk between two blocks."""
VISITS = 4_000_000
"""The largest number of nodes that the rows of a block visit in total, so that paths take at most tens of megabytes."""


def apply(table: NodeTable, X: npt.ArrayLike) -> IntArray:
    """The leaf of each row.

    Parameters
    ----------
    table : NodeTable
    X : (n_samples, n_features) numbers, NaN where missing; at least as many columns as the table tests

    Returns
    -------
    (n_samples,) int64
        Node indices of the leaves.

    Raises
    ------
    ValueError
        If ``X`` does not have two dimensions, or has fewer columns than the table tests.
    """
    X = check_rows(table, X)
    return np.concatenate([np.empty(0, dtype=np.int64), *(table.walker.leaves(X[at]) for at in _blocks(table, X))])


def predict(table: NodeTable, X: npt.ArrayLike) -> IntArray:
    """(n_samples,) predicted class code of each row: the label of its leaf."""
    return table.label[apply(table, X)]


def class_weights(table: NodeTable, X: npt.ArrayLike) -> FloatArray:
    """(n_samples, n_classes) training weight per class in the leaf of each row."""
    return table.weight[apply(table, X)]


def probabilities(table: NodeTable, X: npt.ArrayLike) -> FloatArray:
    """(n_samples, n_classes) share of each class in the training weight of the leaf of each row; rows sum to 1."""
    return node_probabilities(table)[apply(table, X)]


def node_probabilities(table: NodeTable) -> FloatArray:
    """(n_nodes, n_classes) share of each class in the training weight of each node.

    If no training weight reaches a node, the class of its label has share 1.
    """
    # Dividing by the largest entry first keeps the sum of huge weights finite.
    largest = table.weight.max(axis=1, keepdims=True)
    scaled = np.divide(table.weight, largest, out=np.zeros_like(table.weight), where=largest > 0)
    empty = np.flatnonzero(largest[:, 0] <= 0)
    scaled[empty, table.label[empty]] = 1.0
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True), dtype=np.float64)


def decision_path(table: NodeTable, X: npt.ArrayLike) -> sparse.csr_matrix:
    """The nodes that each row visits, in the format of scikit-learn's trees.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
        1 if the row visits the node, including root and leaf; indices are sorted, which is also the order of visits.
    """
    X = check_rows(table, X)
    visits, indices = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for begin, nodes in _paths(table, X):
        visits.append(np.diff(begin))
        indices.append(nodes)
    indptr, found = np.cumsum(np.concatenate(visits)), np.concatenate(indices)
    shape = (X.shape[0], table.n_nodes)
    return sparse.csr_matrix((np.ones(found.size, dtype=np.int64), found, indptr), shape=shape)


def path(table: NodeTable, x: npt.ArrayLike) -> list[int]:
    """The nodes that one row visits, from the root to its leaf.

    Parameters
    ----------
    x : (n_features,) one row, NaN where missing
    """
    row = np.asarray(x, dtype=np.float64)
    if row.ndim != 1:
        raise ValueError(
            f"x has shape {row.shape}: expected one row of shape (n_features,). For several rows, use decision_path."
        )
    return [node for _, nodes in _paths(table, check_rows(table, row[np.newaxis])) for node in nodes.tolist()]


def goes_low(table: NodeTable, X: FloatArray, rows: IntArray, nodes: IntArray) -> BoolArray:
    """Whether row ``rows[i]`` of ``X`` takes the low edge of the split ``nodes[i]``, for each ``i``.

    Parameters
    ----------
    X : (n_samples, n_features) float64
    rows, nodes : (k,) int64; a node may occur several times

    Returns
    -------
    (k,) bool
    """
    value = tested_values(table, X, rows, nodes)
    low: BoolArray = value <= table.threshold[nodes]
    if table.levels is not None:
        for node, at in _groups(nodes, table.by_levels[nodes]):
            low[at] = np.isin(value[at], np.array(sorted(table.levels[node] or ()), dtype=np.float64))
    missing = np.isnan(value)
    if missing.any():
        low[missing] = table.missing_low[nodes[missing]]
    return low


def tested_values(table: NodeTable, X: FloatArray, rows: IntArray, nodes: IntArray) -> FloatArray:
    """(k,) number that split ``nodes[i]`` compares for row ``rows[i]``: the value of a column, or a weighted sum."""
    feature = table.feature[nodes]
    if table.normals is None:
        value = X[rows, feature]
    else:
        value = X[rows, np.maximum(feature, 0)]
        for node, at in _groups(nodes, feature == OBLIQUE):
            value[at] = _weighted_sum(table, X, rows[at], node)
    return np.asarray(value, dtype=np.float64)


def edge_weights(table: NodeTable, X: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> FloatArray:
    """(n_nodes, 2) weight of the rows that take the low and the high edge of each node; 0 at leaves.

    They are counted from ``X``, since the table of a diagram with shared nodes does not store them.
    """
    X = check_rows(table, X)
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    flow = np.zeros((table.n_nodes, 2))
    for rows, nodes in walk(table, X):
        inner = table.feature[nodes] != LEAF
        rows, nodes = rows[inner], nodes[inner]
        np.add.at(flow, (nodes, np.where(goes_low(table, X, rows, nodes), 0, 1)), weights[rows])
    return flow


def check_rows(table: NodeTable, X: npt.ArrayLike) -> FloatArray:
    """Return ``X`` as a float64 array, checked to have all columns that the table tests.

    Raises
    ------
    ValueError
        If ``X`` does not have two dimensions, or has fewer columns than the table tests.
    """
    array = np.asarray(X, dtype=np.float64)
    if not array.flags.aligned:  # as a column of packed records may be
        array = array.copy()
    if array.ndim != 2:
        raise ValueError(
            f"X has shape {array.shape}: expected (n_samples, n_features). For one row, pass X.reshape(1, -1)."
        )
    if array.shape[1] < table.n_columns:
        raise ValueError(
            f"X has {array.shape[1]} columns, but the model tests column {table.n_columns - 1}: expected at least "
            f"{table.n_columns} columns, in the order of the training data."
        )
    return array


def visited(
    table: NodeTable, X: FloatArray, codes: IntArray, weights: FloatArray, n_classes: int
) -> tuple[FloatArray, IntArray]:
    """The weight and the number of the rows that visit each node, added up in float64.

    Parameters
    ----------
    X : (n_samples, n_features) float64
    codes : (n_samples,) class codes below ``n_classes``
    weights : (n_samples,) numbers

    Returns
    -------
    weight : (n_nodes, n_classes) sum of the weights of the rows of each class; exact if all weights are integers with a
        total below 2**53
    rows : (n_nodes,) number of rows
    """
    weight, rows = np.zeros((table.n_nodes, n_classes)), np.zeros(table.n_nodes, dtype=np.int64)
    for at in _blocks(table, X):
        table.walker.add_visits(X[at], np.ascontiguousarray(codes[at]), np.ascontiguousarray(weights[at]), weight, rows)
    return weight, rows


def neighbours(table: NodeTable, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each node, the largest value up to the threshold and the smallest above it, among the rows at the node.

    Both arrays have shape (n_nodes,). They are NaN at leaves, level tests and oblique tests, or if no row has a value.
    """
    below, above = np.full(table.n_nodes, np.nan), np.full(table.n_nodes, np.nan)
    for at in _blocks(table, X):
        table.walker.add_neighbours(X[at], below, above)
    return below, above


def walk(table: NodeTable, X: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, per block of rows, the row and the node of each visit. A row visits the nodes from root to leaf."""
    first = 0
    for begin, nodes in _paths(table, X):
        visits = np.diff(begin)
        yield np.repeat(np.arange(first, first + visits.size), visits), nodes
        first += visits.size


def _paths(table: NodeTable, X: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, per block of rows, the start of the path of each row in an array of nodes, and this array."""
    for at in _blocks(table, X):
        yield table.walker.paths(X[at])


def _blocks(table: NodeTable, X: FloatArray) -> Iterator[slice]:
    """Yield slices of the rows; the rows of one slice visit at most :data:`VISITS` nodes in total."""
    size = BLOCK
    if min(size, X.shape[0]) * table.n_nodes > VISITS:  # else no depth is too much
        size = max(1, min(size, VISITS // (table.depth + 1)))
    for start in range(0, X.shape[0], size):
        yield slice(start, start + size)


def _groups(nodes: IntArray, chosen: BoolArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each distinct node in ``nodes[chosen]``, and the chosen positions at which it occurs."""
    at = np.flatnonzero(chosen)
    if at.size == 0:
        return
    order = at[np.argsort(nodes[at], kind="stable")]
    distinct, starts = np.unique(nodes[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)


def _weighted_sum(table: NodeTable, X: FloatArray, rows: IntArray, node: int) -> FloatArray:
    assert table.normals is not None
    total = np.zeros(rows.size)
    with np.errstate(invalid="ignore", over="ignore"):
        for column, coefficient in zip(*(part.tolist() for part in table.normals.row(node)), strict=True):
            total += coefficient * X[rows, column]
    return total


# ---------------------------------------------------------------------------------------------------- importances


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
    """(n_features,) share of each column in the decreases of impurity; the sum is 1, or all are 0.

    The impurity of a table with losses is the loss of a node, else Gini's.

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
    if table.loss is not None and table.is_tree:
        decrease = table.loss - table.loss[table.low] - table.loss[table.high]
    else:
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
