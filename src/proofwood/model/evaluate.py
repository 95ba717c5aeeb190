"""Walk rows down a node table: which node each row ends in, by which path, and what that node says.

All rows take one step at a time together, so the number of numpy calls grows with the depth of the table and not with
the number of rows or nodes. Values are compared in float64 as they are given.

Missing values (NaN) take the edge ``missing_low`` names. A level test sends the codes of its set low and every other
code, also one never seen in training, high. The weighted sum of an oblique test is added up in the order in which its
coefficients are stored, so the result for a row does not depend on the rows beside it; a sum that is not a number
(a missing summand, or infinities that cancel) counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

from proofwood.model.node_table import LEAF, OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable

BLOCK = 16384
"""Rows that :func:`apply` walks together: few enough for what a step needs to stay in the processor's cache."""


def apply(table: NodeTable, X: npt.ArrayLike) -> IntArray:
    """Node in which each row ends.

    Parameters
    ----------
    table : NodeTable
    X : (n_samples, n_features) numbers, NaN where missing; at least as many columns as the table tests

    Returns
    -------
    (n_samples,) int64
        Node indices, all of them leaves.

    Raises
    ------
    ValueError
        If ``X`` has not two dimensions, or fewer columns than the table tests.
    """
    X = check_rows(table, X)
    end = np.zeros(X.shape[0], dtype=np.int64)
    for start in range(0, X.shape[0], BLOCK):
        block = end[start : start + BLOCK]
        for rows, nodes in walk(table, X[start : start + BLOCK]):
            block[rows] = nodes
    return end


def predict(table: NodeTable, X: npt.ArrayLike) -> IntArray:
    """(n_samples,) class code of each row: the label of the leaf in which it ends."""
    return table.label[apply(table, X)]


def class_weights(table: NodeTable, X: npt.ArrayLike) -> FloatArray:
    """(n_samples, n_classes) training weight per class in the leaf of each row."""
    return table.weight[apply(table, X)]


def probabilities(table: NodeTable, X: npt.ArrayLike) -> FloatArray:
    """(n_samples, n_classes) share of each class in the training weight of the leaf of each row; rows sum to 1."""
    return node_probabilities(table)[apply(table, X)]


def node_probabilities(table: NodeTable) -> FloatArray:
    """(n_nodes, n_classes) share of each class in the training weight of each node.

    A node that no training weight reaches is certain of its label.
    """
    # Dividing by the largest entry first keeps the sum of huge weights finite.
    largest = table.weight.max(axis=1, keepdims=True)
    scaled = np.divide(table.weight, largest, out=np.zeros_like(table.weight), where=largest > 0)
    empty = np.flatnonzero(largest[:, 0] <= 0)
    scaled[empty, table.label[empty]] = 1.0
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True), dtype=np.float64)


def decision_path(table: NodeTable, X: npt.ArrayLike) -> sparse.csr_matrix:
    """Nodes that each row visits, as scikit-learn's trees report them.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
        1 where the row visits the node, root and leaf included; indices sorted, which is also the order of the visit.
    """
    X = check_rows(table, X)
    steps = list(walk(table, X))
    visits = np.zeros(X.shape[0], dtype=np.int64)
    for rows, _ in steps:
        visits[rows] += 1
    indptr = np.concatenate(([0], np.cumsum(visits)))
    indices = np.empty(indptr[-1], dtype=np.int64)
    for step, (rows, nodes) in enumerate(steps):
        indices[indptr[rows] + step] = nodes  # a row is in the steps 0..visits-1, so this fills every place once
    shape = (X.shape[0], table.n_nodes)
    return sparse.csr_matrix((np.ones(indices.size, dtype=np.int64), indices, indptr), shape=shape)


def path(table: NodeTable, x: npt.ArrayLike) -> list[int]:
    """Nodes that one row visits, from the root to its leaf.

    Parameters
    ----------
    x : (n_features,) one row, NaN where missing
    """
    row = np.asarray(x, dtype=np.float64)
    if row.ndim != 1:
        raise ValueError(
            f"x has shape {row.shape}: expected one row of shape (n_features,). For many, use decision_path."
        )
    return [int(nodes[0]) for _, nodes in walk(table, check_rows(table, row[np.newaxis]))]


def goes_low(table: NodeTable, X: FloatArray, rows: IntArray, nodes: IntArray) -> BoolArray:
    """Whether the row ``rows[i]`` of ``X`` takes the low edge of the inner node ``nodes[i]``.

    Parameters
    ----------
    X : (n_samples, n_features) float64
    rows, nodes : (k,) int64; a node may occur many times

    Returns
    -------
    (k,) bool
    """
    if nodes.size and table.feature[nodes[0]] >= 0 and (nodes == nodes[0]).all():
        return _all_at(table, int(nodes[0]), X[:, table.feature[nodes[0]]][rows])
    value = tested_values(table, X, rows, nodes)
    low: BoolArray = value <= table.threshold[nodes]
    if table.levels is not None:
        for node, at in _groups(nodes, table.by_levels[nodes]):
            low[at] = _holds(table, node, value[at])
    missing = np.isnan(value)
    if missing.any():
        low[missing] = table.missing_low[nodes[missing]]
    return low


def _all_at(table: NodeTable, node: int, value: FloatArray) -> BoolArray:
    """The same where all rows stand at one node, as in a chain of tests, which is long and so has to be fast."""
    low = _holds(table, node, value)
    missing = np.isnan(value)
    if missing.any():
        low[missing] = table.missing_low[node]
    return low


def _holds(table: NodeTable, node: int, value: FloatArray) -> BoolArray:
    """Whether the values pass the test of one node."""
    if table.levels is None or (level := table.levels[node]) is None:
        return np.asarray(value <= table.threshold[node], dtype=np.bool_)
    if len(level) == 1:
        return np.asarray(value == next(iter(level)), dtype=np.bool_)
    return np.isin(value, np.array(sorted(level), dtype=np.float64))


def tested_values(table: NodeTable, X: FloatArray, rows: IntArray, nodes: IntArray) -> FloatArray:
    """(k,) number that the inner node ``nodes[i]`` compares for the row ``rows[i]``: a column or a weighted sum."""
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

    In a tree these are the weights of the children; where a diagram shares nodes, they are not in its table.
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
    """``X`` as a float64 array that has every column the table tests.

    Raises
    ------
    ValueError
        If ``X`` has not two dimensions, or fewer columns than the table tests.
    """
    array = np.asarray(X, dtype=np.float64)
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


def walk(table: NodeTable, X: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows that are still walking and the node each stands at, step by step; all rows at the root first."""
    rows = np.arange(X.shape[0], dtype=np.int64)
    nodes = np.zeros(X.shape[0], dtype=np.int64)
    inner = table.feature != LEAF
    while rows.size:
        yield rows, nodes
        going = inner[nodes]
        if not going.all():
            rows, nodes = rows[going], nodes[going]
        low = goes_low(table, X, rows, nodes)
        if nodes.size and (nodes == nodes[0]).all():
            nodes = np.where(low, table.low[nodes[0]], table.high[nodes[0]])
        else:
            nodes = np.where(low, table.low[nodes], table.high[nodes])


def _groups(nodes: IntArray, chosen: BoolArray) -> Iterator[tuple[int, IntArray]]:
    """Each node among the chosen positions, with the positions at which it stands."""
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
