"""Models for simpler formats: thresholds for float32 inputs, and tests of levels as thresholds over their codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import check_rows, neighbours
from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.model.reshape import depth_first


class PrecisionError(ValueError):
    """Raised when float32 cannot distinguish values that the model distinguishes; the message names the values."""


def separating_in_float32(table: NodeTable, X: npt.ArrayLike, names: Sequence[str] | None = None) -> NodeTable:
    """Return ``table`` for inputs that are rounded to float32: each row of ``X`` takes the same path after rounding.

    A threshold that also separates the rounded values does not change. Otherwise the new threshold is the largest
    rounded value that goes low, so rows that are not in ``X`` may change sides between the old and new threshold.

    Parameters
    ----------
    table : NodeTable
    X : (n_samples, n_features), NaN where missing
    names : names of the columns, for the message

    Raises
    ------
    PrecisionError
        If values on the two sides of a threshold are equal in float32.
    """
    rows = check_rows(table, X)
    below, above = neighbours(table, rows)
    with np.errstate(over="ignore"):  # beyond float32, which readers of float32 refuse
        low, high = (part.astype(np.float32).astype(np.float64) for part in (below, above))
    merged = np.flatnonzero(low >= high)
    if merged.size:
        node = int(merged[0])
        column = int(table.feature[node])
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        raise PrecisionError(
            f"{name} has the values {float(below[node])!r} and {float(above[node])!r}, which the model distinguishes "
            "but float32 does not: subtract a constant from the column, or use a coarser unit, and fit again; or "
            "export with float64, by to_python(), to_c() or to_sql()"
        )
    threshold = table.threshold.copy()
    moved = (low > threshold) | (high <= threshold)
    last = np.nextafter(high.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
    threshold[moved] = np.where(np.isnan(low), last, low)[moved]
    return table.changed(threshold=threshold)


def require_levels_of_float32(
    table: NodeTable, X: npt.ArrayLike | None = None, names: Sequence[str] | None = None
) -> None:
    """Raise if a level in a test or in the rows ``X`` is not exact in float32.

    Raises
    ------
    PrecisionError
        If a level is not exact in float32. The message names the level and its column.
    """
    rows = None if X is None else check_rows(table, X)
    for node, codes in enumerate(table.levels or ()):
        if codes is None:
            continue
        column = int(table.feature[node])
        levels = np.array(sorted(codes), dtype=np.float64)
        if rows is not None:
            levels = np.append(levels, rows[~np.isnan(rows[:, column]), column])
        rounded = np.flatnonzero(levels.astype(np.float32) != levels)
        if rounded.size:
            name = f"column {column}" if names is None else f"column {names[column]!r}"
            raise PrecisionError(
                f"{name} has the level {levels[rounded[0]]:.0f}, which float32 rounds to another number: number the "
                "levels 0, 1, 2, ... or turn them into text, and fit again; or export with float64, by to_python(), "
                "to_c() or to_sql()"
            )


def without_levels(table: NodeTable) -> tuple[NodeTable, IntArray]:
    """Return a diagram with thresholds instead of level tests, and the node of ``table`` that each node came from.

    A test of a level set becomes a binary search over runs of codes in or out of the set. All runs in the set lead to
    one node, and all others to another. Predictions are equal for all integer codes from 0 and for missing values. A
    new node has the weights of its test in ``table``.
    """
    if table.levels is None:
        return table, np.arange(table.n_nodes)
    feature, threshold, missing_low = table.feature.tolist(), table.threshold.tolist(), table.missing_low.tolist()
    low, high, source = table.low.tolist(), table.high.tolist(), list(range(table.n_nodes))
    for node, codes in enumerate(table.levels):
        if codes is None:
            continue
        if not codes:  # at most the missing values go low
            threshold[node] = -np.inf
            continue
        ends, sides = _runs(codes)
        children = (int(table.low[node]), int(table.high[node]))
        pending = [(node, 0, len(sides))]
        while pending:  # the runs first..last - 1 are decided at this node
            here, first, last = pending.pop()
            middle = (first + last) // 2
            threshold[here] = ends[middle - 1]
            wanted = bool(table.missing_low[node])
            missing_low[here] = wanted in sides[first:middle]
            for begin, end, edges in ((first, middle, low), (middle, last, high)):
                if end - begin == 1:
                    edges[here] = children[0] if sides[begin] else children[1]
                    continue
                new = len(source)
                edges[here] = new
                source.append(node)
                for column, value in (
                    (feature, feature[node]),
                    (threshold, np.nan),
                    (missing_low, False),
                    (low, LEAF),
                    (high, LEAF),
                ):
                    column.append(value)
                pending.append((new, begin, end))
    return _ordered(table, feature, threshold, low, high, missing_low, np.array(source, dtype=np.int64))


def _runs(codes: frozenset[int]) -> tuple[list[float], list[bool]]:
    """The ends of runs of codes that are all in the set or all outside it, and whether each run is in the set."""
    ends: list[float] = []
    sides = [0 in codes]
    for code in sorted(codes):  # the codes between them are as many as codes may be large
        if code > 0 and code - 1 not in codes:
            ends.append(code - 0.5)
            sides.append(True)
        if code + 1 not in codes:
            ends.append(code + 0.5)
            sides.append(False)
    return ends, sides


def _ordered(
    table: NodeTable,
    feature: list[int],
    threshold: list[float],
    low: list[int],
    high: list[int],
    missing_low: list[bool],
    source: IntArray,
) -> tuple[NodeTable, IntArray]:
    """Return the nodes as a table with parents before children, and for each node its entry in ``source``."""
    order = depth_first(np.array(low), np.array(high))
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)

    def edges(of: list[int]) -> IntArray:
        return np.array([LEAF if of[node] == LEAF else place[of[node]] for node in order.tolist()], dtype=np.int64)

    at = source[order]
    made = NodeTable(
        feature=np.array(feature)[order],
        threshold=np.array(threshold)[order],
        low=edges(low),
        high=edges(high),
        missing_low=np.array(missing_low)[order],
        **table.at_nodes(at),
    )
    return made, at
