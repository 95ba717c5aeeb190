"""Counts the fewest errors of one oblique split exactly, if the columns have at most three independent coordinates.

Columns that are constant, or equal or opposite to another column, do not count. Points are rounded to a grid of
``2**-GRID``. The bound stays valid: if a hyperplane of normal ``a`` separates rows by ``PARTED``, it separates the
rounded rows by at least ``PARTED - 2**-GRID * sum(abs(a))``. This is positive, since both norms limit the sum to the
number of columns, which is at most :data:`MOST_COLUMNS`. Thresholds on single columns may separate nearer rows, so they
are counted separately.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from proofwood import _native
from proofwood.engines.diagram.oblique.bounds import PARTED
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.diagram import DiagramProblem

GRID = 16
"""Number of binary digits of a coordinate."""
MOST_COLUMNS = int(PARTED * 2**GRID)
"""The largest number of columns for which rounding to the grid is safe (6); equal and opposite columns count, too."""
MOST_WORK = 8_000_000_000
"""The largest number of hyperplanes times points, summed over pairs of classes, for this count: it takes seconds."""


def errors_of_one_split(problem: DiagramProblem, *, seconds: float) -> int | None:
    """A lower bound on the integer weight that a diagram of one oblique split misclassifies, or None.

    It is None if the time is too short, or there are too many coordinates. The bound may be below the errors of the
    best permitted diagram, because the count also allows splits between rows that are nearer than the margin.

    Raises
    ------
    KeyboardInterrupt
        If the user pressed Ctrl-C.
    """
    assert problem.columns is not None
    if problem.norm == "box" and problem.columns.shape[1] > MOST_COLUMNS:
        return None
    places = _coordinates(problem.columns)
    rows = problem.rows
    if places.shape[1] > 3 or seconds <= 0:
        return None
    points, of_rows = np.unique(places, axis=0, return_inverse=True)
    weights = np.zeros((len(points), rows.n_classes), dtype=np.int64)
    np.add.at(weights, (of_rows.ravel(), rows.codes), rows.weights)
    pairs = math.comb(rows.n_classes, 2)
    if pairs * math.comb(len(points), points.shape[1]) * len(points) > MOST_WORK:
        return None
    right = _by_thresholds(problem)
    if points.shape[1]:
        by_plane = _native.most_right_by_a_plane(np.ascontiguousarray(points), weights, seconds)
        if by_plane is None:
            return None
        right = max(right, by_plane)
    return min(problem.leaf_errors, rows.total - right)


def _coordinates(columns: FloatArray) -> IntArray:
    """The columns (n_rows, n), rounded to the grid, except constant ones and those equal or opposite to another."""
    kept: list[npt.NDArray[np.int64]] = []
    for column in np.rint(columns.T * 2.0**GRID).astype(np.int64):
        turned = column.max() + column.min() - column
        if column.min() < column.max() and not any(
            np.array_equal(column, other) or np.array_equal(turned, other) for other in kept
        ):
            kept.append(column)
    return np.stack(kept, axis=1) if kept else np.empty((len(columns), 0), dtype=np.int64)


def _by_thresholds(problem: DiagramProblem) -> int:
    """The largest weight that a threshold on one column, or a single leaf, classifies correctly."""
    rows = problem.rows
    most = rows.total - problem.leaf_errors
    for ranks, tests in zip(rows.ranks.T, rows.tests_of.tolist(), strict=True):
        sums = np.zeros((tests + 1, rows.n_classes), dtype=np.int64)
        np.add.at(sums, (ranks, rows.codes), rows.weights)
        low = np.cumsum(sums, axis=0)[:-1]
        if len(low):
            most = max(most, int((low.max(axis=1) + (sums.sum(axis=0) - low).max(axis=1)).max()))
    return most
