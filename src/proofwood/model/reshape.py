"""Rebuild node tables: renumber, prune, merge equal nodes, unroll diagrams, recount rows.

Every function returns a new table with nodes in the order of :func:`preorder`. A function changes the prediction of a
row only if its docstring says so.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import check_rows, visited
from proofwood.model.node_table import (
    LEAF,
    OBLIQUE,
    BoolArray,
    FloatArray,
    IntArray,
    NodeTable,
    Normals,
)
from proofwood.model.sums import sums_by_digits

MAX_UNROLLED = 1_000_000
"""The largest number of nodes of a tree that :func:`unroll` makes by default."""


def preorder(table: NodeTable) -> NodeTable:
    """Renumber the nodes: the root first, then all nodes of its low side, then those of its high side.

    In a diagram, a node with several parents comes after the last of them, so children always come after parents.
    """
    order = depth_first(table.low, table.high)
    in_order = np.array_equal(order, np.arange(table.n_nodes)) and table.missing_low[table.feature == LEAF].all()
    return table if in_order else _gather(table, order)


def prune(table: NodeTable, *, empty: bool = False) -> NodeTable:
    """Replace each split by a leaf if all leaves below it predict the same class, and the same numbers if any.

    The new leaf has this class as its label and the weights of the split, so class probabilities become coarser.

    Parameters
    ----------
    table : NodeTable
    empty : bool
        Also replace a split by one of its sides if no training row reaches the other (``rows`` is 0). This may change
        predictions of rows that went to the empty side, but of no training row.
    """
    low, high, label = table.low.copy(), table.high.copy(), table.label.copy()
    values = np.zeros((table.n_nodes, 1)) if table.values is None else table.values.copy()
    stands_for = np.arange(table.n_nodes)
    same = table.feature == LEAF  # every leaf below predicts label
    for node in reversed(list(table.splits())):
        low[node], high[node] = stands_for[low[node]], stands_for[high[node]]
        one, other = low[node], high[node]
        rows_low, rows_high = table.rows[table.low[node]], table.rows[table.high[node]]
        if empty and rows_low == 0 and rows_high > 0:
            stands_for[node] = other
        elif empty and rows_high == 0 and rows_low > 0:
            stands_for[node] = one
        elif same[one] and same[other] and label[one] == label[other] and np.array_equal(values[one], values[other]):
            same[node], label[node], values[node] = True, label[one], values[one]
            low[node] = high[node] = LEAF
    order = depth_first(low, high, root=int(stands_for[0]))
    counted = {"label": label} if table.values is None else {"label": label, "values": values}
    return _gather(table, order, low=low, high=high, **counted)


def reduce(table: NodeTable) -> NodeTable:
    """Return the smallest diagram with the same tests: merge equal nodes, and remove tests with two equal sides.

    Two leaves are equal if they predict the same class, and the same numbers if any; two splits are equal if they have
    the same test and equal children. This is the reduction of ordered decision diagrams [1]_; it is valid for every
    table. A merged node has the summed weights and rows of its parts, so class probabilities become coarser;
    predictions do not change.

    References
    ----------
    .. [1] Bryant (1986), Graph-based algorithms for Boolean function manipulation, sec. 4.2.
    """
    low, high = table.low.copy(), table.high.copy()
    stands_for = np.arange(table.n_nodes)
    known: dict[Hashable, int] = {}
    for node in range(table.n_nodes - 1, -1, -1):
        key: Hashable
        if table.feature[node] == LEAF:
            key = int(table.label[node]), None if table.values is None else tuple(table.values[node].tolist())
        else:
            low[node], high[node] = stands_for[low[node]], stands_for[high[node]]
            if low[node] == high[node]:
                stands_for[node] = low[node]
                continue
            key = (*test_of(table, node), int(low[node]), int(high[node]))
        stands_for[node] = known.setdefault(key, node)
    # A row never visits two nodes that are merged: equal nodes have the same number of tests below them, and each step
    # of a walk reduces this number. Removed tests are the exception, and are not counted.
    weight, rows = np.zeros_like(table.weight), np.zeros_like(table.rows)
    counted = np.flatnonzero((table.feature == LEAF) | (low != high))
    np.add.at(weight, stands_for[counted], table.weight[counted])
    np.add.at(rows, stands_for[counted], table.rows[counted])
    order = depth_first(low, high, root=int(stands_for[0]))
    return _gather(table, order, low=low, high=high, weight=weight, rows=rows).changed(loss=None)


def unroll(table: NodeTable, *, max_nodes: int = MAX_UNROLLED) -> NodeTable:
    """Return the tree that is equal to a diagram: a node with several parents is copied for each of them.

    A copy has the weights and rows of the shared node, so probabilities do not change. To count the rows that reach
    each copy, use :func:`refresh` with the data.

    Raises
    ------
    ValueError
        If the tree has more than ``max_nodes`` nodes; a diagram can be exponentially smaller than its tree.
    """
    return unroll_from(table, max_nodes=max_nodes)[0]


def unroll_from(table: NodeTable, *, max_nodes: int = MAX_UNROLLED) -> tuple[NodeTable, IntArray]:
    """Return the tree of :func:`unroll`, and for each of its nodes the node of ``table`` that it copies."""
    size = [1] * table.n_nodes  # python integers: the tree may have more nodes than fit 64 bits
    for node in reversed(list(table.splits())):
        size[node] = 1 + size[table.low[node]] + size[table.high[node]]
    if size[0] > max_nodes:
        raise ValueError(
            f"the tree of this diagram has {size[0]} nodes, more than max_nodes={max_nodes}: "
            "work with the diagram itself, or raise max_nodes"
        )
    source, low, high = [0], [LEAF], [LEAF]
    pending = [(int(table.high[0]), 0, high), (int(table.low[0]), 0, low)] if table.feature[0] != LEAF else []
    while pending:
        node, parent, edges = pending.pop()
        new = len(source)
        edges[parent] = new
        source.append(node)
        low.append(LEAF)
        high.append(LEAF)
        if table.feature[node] != LEAF:
            pending += [(int(table.high[node]), new, high), (int(table.low[node]), new, low)]
    copied = np.array(source, dtype=np.int64)
    return _pick(table, copied, np.array(low), np.array(high)), copied


def refresh(
    table: NodeTable,
    X: npt.ArrayLike,
    codes: npt.ArrayLike,
    n_classes: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    *,
    relabel: bool = False,
) -> NodeTable:
    """Return a table with the same tests, and with weights and rows counted from data.

    Parameters
    ----------
    table : NodeTable
    X : (n_samples, n_features), NaN where missing
    codes : (n_samples,) class codes below ``n_classes``
    n_classes : int, by default that of ``table``
    sample_weight : (n_samples,) finite, not negative; rows of weight 0 are not counted. Ones by default.
    relabel : bool
        Whether each node that a row reaches gets a new label: the class of largest weight, in a tie the smallest
        code. By default labels and predictions do not change.

    Returns
    -------
    NodeTable
        Sums of weights are rounded once, so they do not depend on the order of the rows.
    """
    X = check_rows(table, X)
    codes = np.asarray(codes, dtype=np.int64)
    classes = table.n_classes if n_classes is None else n_classes
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if codes.shape != (X.shape[0],) or weights.shape != codes.shape:
        raise ValueError(
            f"X has {X.shape[0]} rows, codes has shape {codes.shape} and sample_weight has shape {weights.shape}: "
            "expected one code and one weight per row"
        )
    if codes.size and not 0 <= codes.min() <= codes.max() < classes:
        raise ValueError(
            f"codes has values from {codes.min()} to {codes.max()}: expected class codes from 0 to {classes - 1}"
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("sample_weight has a negative or non-finite number: expected finite numbers from 0")
    counted = weights > 0
    if not counted.all():
        X, codes, weights = X[counted], codes[counted], weights[counted]

    weight, rows = _visited(table, X, codes, weights, classes)
    if not relabel:
        return table.changed(weight=weight, rows=rows, loss=None)
    label = np.where(rows > 0, weight.argmax(axis=1), table.label)
    return table.changed(label=label, weight=weight, rows=rows, loss=None)


def with_absent_levels(table: NodeTable, X: npt.ArrayLike, weights: npt.ArrayLike) -> NodeTable:
    """At each level test, send levels that occur in ``X``, but in no row at the node, to the side with more weight.

    Parameters
    ----------
    table : NodeTable; only its level tests change
    X : (n_samples, n_features) without missing values
    weights : (n_samples,); if both sides have equal weight, the levels go high
    """
    X, weights = check_rows(table, X), np.asarray(weights)
    levels = list(table.levels or [None] * table.n_nodes)
    reached = {0: np.arange(X.shape[0])}
    for node in table.splits():
        rows, codes = reached.pop(node), levels[node]
        values = X[rows, table.feature[node]]
        is_low = values <= table.threshold[node] if codes is None else np.isin(values, list(codes))
        reached[int(table.low[node])], reached[int(table.high[node])] = rows[is_low], rows[~is_low]
        if codes is not None and 2 * weights[rows[is_low]].sum() > weights[rows].sum():
            absent = np.setdiff1d(X[:, table.feature[node]], values)
            levels[node] = codes | frozenset(absent.astype(np.int64).tolist())
    return table.changed(levels=tuple(levels))


def test_of(table: NodeTable, node: int) -> tuple[Hashable, ...]:
    """The test of a split as a hashable tuple: its column first, and also the side to which missing values go."""
    feature, missing = int(table.feature[node]), bool(table.missing_low[node])
    if table.levels is not None and table.levels[node] is not None:
        return feature, missing, table.levels[node]
    if feature == OBLIQUE:
        assert table.normals is not None
        columns, values = table.normals.row(node)
        return feature, missing, float(table.threshold[node]), tuple(columns.tolist()), tuple(values.tolist())
    return feature, missing, float(table.threshold[node])


# -------------------------------------------------------------- internals


def depth_first(low: IntArray, high: IntArray, root: int = 0) -> IntArray:
    """The nodes reachable from ``root``, parents before children, low side first: in a tree, the preorder.

    A depth-first search that visits the high side first finishes the nodes in the reverse of this order.
    """
    finished: list[int] = []
    seen: set[int] = set()
    pending = [(root, False)]
    while pending:
        node, done = pending.pop()
        if done:
            finished.append(node)
        elif node not in seen:
            seen.add(node)
            pending.append((node, True))
            if low[node] != LEAF:
                pending += [(int(low[node]), False), (int(high[node]), False)]
    return np.array(finished[::-1], dtype=np.int64)


def _gather(
    table: NodeTable,
    order: IntArray,
    *,
    low: IntArray | None = None,
    high: IntArray | None = None,
    **counted: IntArray | FloatArray,
) -> NodeTable:
    """Return a table of the nodes ``order``. Other arguments, numbered as ``table``, replace arrays of ``table``."""
    low, high = table.low if low is None else low, table.high if high is None else high
    position = np.full(table.n_nodes, LEAF)
    position[order] = np.arange(order.size)
    leaf = low[order] == LEAF
    return _pick(
        table,
        order,
        np.where(leaf, LEAF, position[low[order]]),
        np.where(leaf, LEAF, position[high[order]]),
        **{name: values[order] for name, values in counted.items()},
    )


def _pick(
    table: NodeTable,
    source: IntArray,
    low: IntArray,
    high: IntArray,
    **counted: IntArray | FloatArray,
) -> NodeTable:
    """Return a table whose node ``i`` copies node ``source[i]``, with new edges; nodes without edges become leaves.

    ``counted`` replaces the copied labels, weights or rows; its arrays use the new numbering.
    """
    leaf = low == LEAF
    return NodeTable(
        feature=np.where(leaf, LEAF, table.feature[source]),
        threshold=np.where(leaf, np.nan, table.threshold[source]),
        low=low,
        high=high,
        missing_low=leaf | table.missing_low[source],
        levels=None if table.levels is None else _pick_levels(table.levels, source, leaf),
        normals=None if table.normals is None else _pick_normals(table.normals, source, leaf),
        **{**table.at_nodes(source), **counted},
    )


def _pick_levels(
    levels: tuple[frozenset[int] | None, ...], source: IntArray, leaf: BoolArray
) -> tuple[frozenset[int] | None, ...]:
    return tuple(None if stop else levels[node] for node, stop in zip(source.tolist(), leaf.tolist(), strict=True))


def _pick_normals(normals: Normals, source: IntArray, leaf: BoolArray) -> Normals | None:
    parts = [normals.row(node) for node, stop in zip(source.tolist(), leaf.tolist(), strict=True) if not stop]
    sizes = np.where(leaf, 0, np.diff(normals.indptr)[source])
    if not sizes.any():
        return None
    return Normals(
        indptr=np.concatenate(([0], np.cumsum(sizes))),
        indices=np.concatenate([columns for columns, _ in parts]),
        values=np.concatenate([values for _, values in parts]),
    )


def _visited(
    table: NodeTable, X: FloatArray, codes: IntArray, weights: FloatArray, n_classes: int
) -> tuple[FloatArray, IntArray]:
    """(n_nodes, n_classes) weight of the rows at each node, rounded once, and (n_nodes,) number of the rows."""
    if float(weights.sum()) < 2**53 and np.array_equal(weights, np.floor(weights)):  # every partial sum is exact
        return visited(table, X, codes, weights, n_classes)
    rows = visited(table, X, codes, weights, n_classes)[1]
    sums = sums_by_digits(
        weights,
        lambda at, digits: visited(table, X[at], codes[at], digits, n_classes)[0].ravel(),
        table.n_nodes * n_classes,
    )
    return np.array([float(total) for total in sums]).reshape(table.n_nodes, n_classes), rows
