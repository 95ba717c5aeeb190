"""Class weights on both sides of every test. One histogram of a column gives them for all its cuts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.ranked import RankedRows

CLOSE = 1e-12
"""Scores count as equal if they differ by less than this share of the total weight; the smaller test number wins."""

Counts = npt.NDArray[np.int64]


def sides(rows: RankedRows, cell: IntArray, chosen: IntArray | None = None) -> Iterator[tuple[int, Counts, Counts]]:
    """For each column, the number of its first test, and the class weights on both sides of each test, by cells.

    Parameters
    ----------
    rows : RankedRows
    cell : (n_rows,) number of the cell of each row; numbers start at 0 without gaps
    chosen : indices of the rows that are counted; None counts all rows

    Yields
    ------
    int, (n_tests, n_cells, n_classes), (n_tests, n_cells, n_classes)
        The first test number, then the class weights of the rows for which the test holds, and of the other rows.
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
    """Index of the smallest score; of scores that are equal up to rounding, the first."""
    return int(np.argmax(scores <= scores.min() + CLOSE * max(total, 1.0)))


def entropy(counts: Counts) -> FloatArray:
    """Weight times entropy of the classes in nats, summed over cells: (..., n_cells, n_classes) becomes (...,)."""
    inside = _times_log(counts).sum(axis=(-2, -1))
    return np.asarray(_times_log(counts.sum(axis=-1)).sum(axis=-1) - inside, dtype=np.float64)


def _times_log(values: Counts) -> FloatArray:
    numbers = values.astype(np.float64)
    return np.asarray(numbers * np.log(np.where(numbers > 0, numbers, 1.0)), dtype=np.float64)
