"""Class weights on both sides of every test, column by column: one histogram gives all cuts of a column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.ranked import RankedRows

CLOSE = 1e-12
"""Scores that differ by less, relative to the total weight, are equal: the smaller test number wins."""

Counts = npt.NDArray[np.int64]


def sides(rows: RankedRows, cell: IntArray, chosen: IntArray | None = None) -> Iterator[tuple[int, Counts, Counts]]:
    """Per column the first test number, and the class weights in each cell where each test holds, and where not.

    Parameters
    ----------
    rows : RankedRows
    cell : (n_rows,) cell of each row, numbered from 0 without gaps
    chosen : rows that count, all if None

    Yields
    ------
    int, (n_tests, n_cells, n_classes), (n_tests, n_cells, n_classes)
    """
    picked = slice(None) if chosen is None else chosen
    ranks, codes, weights, cells = rows.ranks[picked], rows.codes[picked], rows.weights[picked], cell[picked]
    n_cells = int(cells.max(initial=-1)) + 1
    for column in range(rows.n_columns):
        n_tests = int(rows.tests_of[column])
        counts = np.zeros((n_tests + 1, n_cells, rows.n_classes), dtype=np.int64)
        np.add.at(counts, (ranks[:, column], cells, codes), weights)
        below = counts.cumsum(axis=0)
        yield int(rows.offsets[column]), below[:-1], below[-1] - below[:-1]


def least(scores: FloatArray, total: float) -> int:
    """Place of the smallest score, the first of those that are equal up to rounding."""
    return int(np.argmax(scores <= scores.min() + CLOSE * max(total, 1.0)))


def entropy(counts: Counts) -> FloatArray:
    """(...,) weight times entropy of the classes, summed over the cells of (..., n_cells, n_classes), in nats."""
    inside = _times_log(counts).sum(axis=(-2, -1))
    return np.asarray(_times_log(counts.sum(axis=-1)).sum(axis=-1) - inside, dtype=np.float64)


def _times_log(values: Counts) -> FloatArray:
    numbers = values.astype(np.float64)
    return np.asarray(numbers * np.log(np.where(numbers > 0, numbers, 1.0)), dtype=np.float64)
