"""Training errors of a greedy tree, for comparison with the optimum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from proofwood.model.node_table import FloatArray, IntArray


def greedy_errors(X: FloatArray, codes: IntArray, *, max_depth: int, min_rows: int = 1) -> int:
    """Training errors of a CART tree [1]_: each split minimises the Gini impurity of its two sides and is final.

    Rows of one class are not split, and no side of a split has fewer than ``min_rows`` rows. Of equally good splits,
    the one of the first column at its least threshold is used; other programs choose at random.

    Parameters
    ----------
    X : (n_rows, n_columns) numbers without missing values
    codes : (n_rows,) class codes
    max_depth : maximum number of tests on a path
    min_rows : minimum number of rows of a leaf

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, ch. 4.
    """
    errors = 0
    pending = [(np.arange(len(codes)), 0)]
    while pending:
        rows, depth = pending.pop()
        counts = np.bincount(codes[rows])
        wrong = int(rows.size - counts.max(initial=0))
        sides = _best_sides(X, codes, rows, min_rows) if wrong and depth < max_depth else None
        if sides is None:
            errors += wrong
        else:
            pending += [(side, depth + 1) for side in sides]
    return errors


def _best_sides(
    X: FloatArray, codes: IntArray, rows: IntArray, min_rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Rows of the two sides of the best split; None if no split is permitted."""
    totals = np.bincount(codes[rows])
    n_low = np.arange(1, rows.size)
    best: tuple[float, IntArray, int] | None = None
    for column in X.T:
        order = rows[np.argsort(column[rows], kind="stable")]
        values = column[order]
        may = (values[1:] > values[:-1]) & (n_low >= min_rows) & (rows.size - n_low >= min_rows)
        if not may.any():
            continue
        # The sum over classes of squared counts of the rows up to each place: one more of a class that has c adds 2c+1.
        low = np.cumsum(2 * _before(codes[order], totals) + 1)[:-1]
        high = int((totals**2).sum()) - 2 * np.cumsum(totals[codes[order]])[:-1] + low
        purity = np.where(may, low / n_low + high / (rows.size - n_low), -np.inf)
        place = int(purity.argmax())
        if best is None or purity[place] > best[0]:
            best = float(purity[place]), order, place + 1
    return None if best is None else (best[1][: best[2]], best[1][best[2] :])


def _before(codes: IntArray, totals: IntArray) -> IntArray:
    """(n_rows,) for each row, the number of earlier rows of the same class."""
    by_class = np.argsort(codes, kind="stable")
    found = np.empty(codes.size, dtype=np.int64)
    found[by_class] = np.arange(codes.size) - np.repeat(np.cumsum(totals) - totals, totals)
    return found
