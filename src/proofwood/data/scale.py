"""Columns scaled to [0, 1], and oblique models over them brought back to the columns.

Engines that choose hyperplanes see scaled columns, so that one set of tolerances fits all data. What leaves the library
speaks about the columns the user gave: :meth:`Scaling.lift` is to hyperplanes what ``Binarizer.lift`` is to tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from proofwood.data.binarize import midpoints
from proofwood.exceptions import DataError
from proofwood.model.evaluate import goes_low, tested_values, walk
from proofwood.model.node_table import LEAF, OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable, Normals


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - minimum) / span``, column by column; a constant column becomes 0.

    Parameters
    ----------
    minimum : (n_features,) least value of each column
    span : (n_features,) greatest less least value, 0 for a constant column
    """

    minimum: FloatArray
    span: FloatArray

    @classmethod
    def of(cls, X: FloatArray) -> Scaling:
        """The scaling that maps each column of ``X`` (n_rows, n_features) onto [0, 1].

        Raises
        ------
        DataError
            If the values of a column lie too far apart for float64 to subtract them.
        """
        minimum = X.min(axis=0)
        with np.errstate(over="ignore"):
            span = X.max(axis=0) - minimum
        if not np.all(np.isfinite(span)):
            column = int(np.flatnonzero(~np.isfinite(span))[0])
            raise DataError(
                f"column {column} goes from {X[:, column].min():g} to {X[:, column].max():g}, too far for float64 to "
                "subtract: divide the column by a constant"
            )
        return cls(minimum, span)

    def transform(self, X: FloatArray) -> FloatArray:
        """(n_rows, n_features) scaled columns; in [0, 1] for the rows that the scaling was made of."""
        out = np.zeros_like(X)
        np.divide(X - self.minimum, self.span, out=out, where=self.span > 0)
        return out

    def lift(self, table: NodeTable, X: FloatArray) -> NodeTable:
        """``table`` over scaled columns as a model over the columns that sends each row of ``X`` the same way.

        ``a @ scaled <= b`` becomes ``(a / span) @ x <= b + sum(a * minimum / span)``, divided by its largest
        coefficient; the threshold then moves half way between the weighted sums that it separates.

        Parameters
        ----------
        table : NodeTable of oblique tests over the columns of :meth:`transform`
        X : (n_rows, n_features) rows in the unit of the columns, usually of training

        Raises
        ------
        DataError
            If rounding makes weighted sums equal that must differ, whatever the threshold.
        """
        if np.any(table.feature >= 0):
            raise ValueError("a test of a single column is no weighted sum: expected oblique tests only")
        if table.normals is None:
            return table
        scaled = self.transform(X)
        lifted = self._rewritten(table)
        largest, least = np.full(table.n_nodes, -np.inf), np.full(table.n_nodes, np.inf)
        for rows, nodes, low in _steps(table, scaled):
            value = tested_values(lifted, X, rows, nodes)
            np.maximum.at(largest, nodes[low], value[low])
            np.minimum.at(least, nodes[~low], value[~low])
        if np.any(largest >= least):
            node = int(np.flatnonzero(largest >= least)[0])
            columns = ", ".join(map(str, table.normals.row(node)[0].tolist()))
            raise DataError(
                f"rounding loses a hyperplane over the columns {columns}: their values differ by too little of their "
                "size. Subtract a constant from such columns, for example with sklearn.preprocessing.MinMaxScaler."
            )
        threshold = lifted.threshold.copy()
        both = np.isfinite(largest) & np.isfinite(least)
        threshold[both] = midpoints(largest[both], least[both])
        only_low, only_high = np.isfinite(largest) & ~both, np.isfinite(least) & ~both
        threshold[only_low] = np.maximum(threshold[only_low], largest[only_low])
        threshold[only_high] = np.minimum(threshold[only_high], np.nextafter(least[only_high], -np.inf))
        lifted = replace(lifted, threshold=threshold)
        for rows, nodes, low in _steps(table, scaled):
            if np.any(goes_low(lifted, X, rows, nodes) != low):
                raise AssertionError(f"node {int(nodes[0])} of the lifted model sends a row another way")
        return lifted

    def _rewritten(self, table: NodeTable) -> NodeTable:
        """Coefficients and thresholds in the unit of the columns."""
        assert table.normals is not None
        values, threshold = table.normals.values.copy(), table.threshold.copy()
        for node in table.splits():
            span = slice(int(table.normals.indptr[node]), int(table.normals.indptr[node + 1]))
            columns, given = table.normals.indices[span], table.normals.values[span]
            used = (self.span[columns] > 0) & (given != 0)
            values[span] = 0.0
            if not used.any():
                continue
            ranges = self.span[columns[used]]
            # Times the least range first: a coefficient by a tiny range need not fit float64.
            scale = float(ranges.min())
            coefficients = given[used] * (scale / ranges)
            largest = float(np.abs(coefficients).max())
            coefficients /= largest
            values[span][used] = coefficients
            threshold[node] = float(threshold[node]) * (scale / largest) + float(
                coefficients @ self.minimum[columns[used]]
            )
        return replace(table, threshold=threshold, normals=_without_zeros(table, values))


def _without_zeros(table: NodeTable, values: FloatArray) -> Normals:
    """Coefficients without those of 0; a test that has no other keeps one of them."""
    assert table.normals is not None
    keep: npt.NDArray[np.bool_] = values != 0
    for node in np.flatnonzero(table.feature == OBLIQUE).tolist():
        span = slice(int(table.normals.indptr[node]), int(table.normals.indptr[node + 1]))
        if not keep[span].any():
            keep[span.start] = True
    counts = np.concatenate([[0], np.cumsum(keep)])[table.normals.indptr]
    return Normals(counts, table.normals.indices[keep], values[keep])


def _steps(table: NodeTable, X: FloatArray) -> list[tuple[IntArray, IntArray, BoolArray]]:
    """Rows at inner nodes, step by step, and whether they go low."""
    told = []
    for rows, nodes in walk(table, X):
        inner = table.feature[nodes] != LEAF
        if inner.any():
            told.append((rows[inner], nodes[inner], goes_low(table, X, rows[inner], nodes[inner])))
    return told
