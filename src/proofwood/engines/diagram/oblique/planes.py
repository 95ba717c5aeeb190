"""The fewest errors of one split exactly, where the columns say no more than three coordinates do.

Points are rounded to a grid of ``2**-GRID``, which is exact for what is claimed: a hyperplane of normal ``a`` that
holds rows ``PARTED`` apart holds the rounded ones apart by ``2**-GRID * sum(abs(a))`` less at most, which is positive:
within the norms the sum is at most the number of columns, and there may be :data:`MOST_COLUMNS` of them. Thresholds of
single columns, which may tell nearer rows apart, are counted by themselves.
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
"""Binary digits of a coordinate."""
MOST_COLUMNS = int(PARTED * 2**GRID)
"""Columns, equal and opposite ones counted, that rounding to the grid permits (6)."""
MOST_WORK = 8_000_000_000
"""Hyperplanes times points for a pair of classes up to which this is tried: some seconds."""


def errors_of_one_split(problem: DiagramProblem, *, seconds: float) -> int | None:
    """Least integer weight that a diagram of one oblique split gets wrong; None if there was no time to tell.

    It may be less than what the diagrams permitted get wrong: rows are parted that are nearer than the margin.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C.
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
    """(n_rows, n) columns on the grid, without those that are constant, or equal or opposite to another one."""
    kept: list[npt.NDArray[np.int64]] = []
    for column in np.rint(columns.T * 2.0**GRID).astype(np.int64):
        turned = column.max() + column.min() - column
        if column.min() < column.max() and not any(
            np.array_equal(column, other) or np.array_equal(turned, other) for other in kept
        ):
            kept.append(column)
    return np.stack(kept, axis=1) if kept else np.empty((len(columns), 0), dtype=np.int64)


def _by_thresholds(problem: DiagramProblem) -> int:
    """Most weight that is right by a threshold of one column, or by none."""
    rows = problem.rows
    most = rows.total - problem.leaf_errors
    for ranks, tests in zip(rows.ranks.T, rows.tests_of.tolist(), strict=True):
        sums = np.zeros((tests + 1, rows.n_classes), dtype=np.int64)
        np.add.at(sums, (ranks, rows.codes), rows.weights)
        low = np.cumsum(sums, axis=0)[:-1]
        if len(low):
            most = max(most, int((low.max(axis=1) + (sums.sum(axis=0) - low).max(axis=1)).max()))
    return most
