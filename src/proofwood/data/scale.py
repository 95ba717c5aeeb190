"""Scale columns to [0, 1], and convert oblique models over scaled columns into models over the original ones.

Engines that choose hyperplanes use scaled columns, so that the same tolerances fit all data. :meth:`Scaling.lift`
converts the hyperplanes back, so that the user receives a model over the original columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from proofwood.data.thresholds import midpoints
from proofwood.exceptions import DataError
from proofwood.model.evaluate import goes_low, tested_values, walk
from proofwood.model.node_table import LEAF, OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable, Normals
from proofwood.model.reshape import preorder

_CELLS_AT_ONCE = 100_000
"""How many numbers are scaled between two calls of ``check``."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """The scaling of each column to ``(x - minimum) / span``; a constant column becomes 0.

    Parameters
    ----------
    minimum : (n_features,) least value of each column
    span : (n_features,) greatest value minus least value, 0 for a constant column
    """

    minimum: FloatArray
    span: FloatArray

    @classmethod
    def of(cls, X: FloatArray) -> Scaling:
        """Return the scaling that maps each column of ``X`` (n_rows, n_features) onto [0, 1].

        Raises
        ------
        DataError
            If the difference between two values of a column is too large for float64.
        """
        minimum = X.min(axis=0)
        with np.errstate(over="ignore"):
            span = X.max(axis=0) - minimum
        if not np.all(np.isfinite(span)):
            column = int(np.flatnonzero(~np.isfinite(span))[0])
            raise DataError(
                f"column {column} has values from {X[:, column].min():g} to {X[:, column].max():g}, whose difference "
                "is too large for float64: divide the column by a constant"
            )
        return cls(minimum, span)

    def transform(self, X: FloatArray, check: Callable[[], None] = lambda: None) -> FloatArray:
        """(n_rows, n_features) scaled columns. Rows from which the scaling was computed are in [0, 1].

        ``check`` is called repeatedly, and may raise an exception to stop the work.
        """
        varying = self.span > 0
        divisor = np.where(varying, self.span, 1.0)
        out = np.empty(X.shape)
        together = max(1, _CELLS_AT_ONCE // max(1, X.shape[1]))
        for first in range(0, X.shape[0], together):  # blocks stay in the cache
            check()
            block = out[first : first + together]
            np.subtract(X[first : first + together], self.minimum, out=block)
            block /= divisor
        out[:, ~varying] = 0.0
        return out

    def lift(self, table: NodeTable, X: FloatArray) -> NodeTable:
        """Convert a model over scaled columns into a model over the columns; each row of ``X`` takes the same path.

        ``a @ scaled <= b`` becomes ``(a / span) @ x <= b + sum(a * minimum / span)``, divided by its largest
        coefficient. If that is negative, the two sides are exchanged. The threshold then moves halfway between the sums
        that it separates. A test with one coefficient becomes a test of that column.

        Parameters
        ----------
        table : NodeTable of oblique tests over the columns of :meth:`transform`
        X : (n_rows, n_features) rows in the units of the columns, usually the training rows

        Raises
        ------
        DataError
            If rounding makes two weighted sums equal, so that no threshold can separate them.
        """
        if np.any(table.feature >= 0):
            raise ValueError("the table has a test of a single column: expected only oblique tests (weighted sums)")
        if table.normals is None:
            return table
        scaled = self.transform(X)
        lifted, turned = self._rewritten(table)
        largest, least = np.full(table.n_nodes, -np.inf), np.full(table.n_nodes, np.inf)
        for rows, nodes, low in _steps(table, scaled):
            low = low != turned[nodes]
            value = tested_values(lifted, X, rows, nodes)
            np.maximum.at(largest, nodes[low], value[low])
            np.minimum.at(least, nodes[~low], value[~low])
        if np.any(largest >= least):
            node = int(np.flatnonzero(largest >= least)[0])
            columns = ", ".join(map(str, table.normals.row(node)[0].tolist()))
            raise DataError(
                f"float64 rounding destroys a hyperplane over the columns {columns}: the differences between their "
                "values are too small compared with the values. Subtract a constant from such columns, for example "
                "with sklearn.preprocessing.MinMaxScaler."
            )
        threshold = lifted.threshold.copy()
        both = np.isfinite(largest) & np.isfinite(least)
        threshold[both] = midpoints(largest[both], least[both])
        only_low, only_high = np.isfinite(largest) & ~both, np.isfinite(least) & ~both
        threshold[only_low] = np.maximum(threshold[only_low], largest[only_low])
        threshold[only_high] = np.minimum(threshold[only_high], np.nextafter(least[only_high], -np.inf))
        lifted = replace(lifted, threshold=threshold)
        for rows, nodes, low in _steps(table, scaled):
            if np.any(goes_low(lifted, X, rows, nodes) != (low != turned[nodes])):
                raise AssertionError(f"node {int(nodes[0])} of the converted model sends a row to the other side")
        return preorder(lifted)

    def _rewritten(self, table: NodeTable) -> tuple[NodeTable, BoolArray]:
        """Return the tests in the units of the columns, and (n_nodes,) whether the sides of a node were exchanged.

        The largest coefficient of each test becomes 1; a test with one coefficient becomes a test of a single column.
        """
        assert table.normals is not None
        feature, low, high = table.feature.copy(), table.low.copy(), table.high.copy()
        threshold = table.threshold.copy()
        turned = np.zeros(table.n_nodes, dtype=np.bool_)
        rows: list[tuple[IntArray, FloatArray]] = []
        for node in range(table.n_nodes):
            columns, given = table.normals.row(node)
            used = (self.span[columns] > 0) & (given != 0)
            if not used.any():  # a comparison with a constant, or a leaf
                rows.append((columns[:1], np.zeros(columns[:1].size)))
                continue
            columns, ranges = columns[used], self.span[columns[used]]
            scale = float(ranges.min())  # first, because a coefficient divided by a tiny range need not fit float64
            values = given[used] * (scale / ranges)
            factor = float(values[np.abs(values).argmax()])
            values = values / factor
            cut = float(threshold[node]) * (scale / factor) + float(values @ self.minimum[columns])
            if factor < 0:  # sum <= cut is true if the test is false, except for ties, which the caller handles
                turned[node], low[node], high[node] = True, table.high[node], table.low[node]
            threshold[node] = cut
            if columns.size == 1:
                feature[node] = columns[0]
                rows.append((columns[:0], values[:0]))
            else:
                rows.append((columns, values))
        normals = Normals(
            np.concatenate([[0], np.cumsum([columns.size for columns, _ in rows])]),
            np.concatenate([columns for columns, _ in rows]),
            np.concatenate([values for _, values in rows]),
        )
        bare = not np.any(feature == OBLIQUE)
        own = None if bare else normals
        return replace(table, feature=feature, threshold=threshold, low=low, high=high, normals=own), turned


def _steps(table: NodeTable, X: FloatArray) -> list[tuple[IntArray, IntArray, BoolArray]]:
    """Batches of visits of rows to splits, each as three arrays: row, node, and whether the row goes low."""
    visits = []
    for rows, nodes in walk(table, X):
        inner = table.feature[nodes] != LEAF
        if inner.any():
            visits.append((rows[inner], nodes[inner], goes_low(table, X, rows[inner], nodes[inner])))
    return visits
