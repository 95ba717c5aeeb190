"""The tests of a CART tree: the candidates of the heuristic variant of Hu, Huguet, Siala (2022), section 5."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.engines.bdd.splits import CLOSE, Counts, least, sides
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.ranked import RankedRows


def tests_of_cart(
    rows: RankedRows,
    depth: int,
    late: Callable[[], bool] = lambda: False,  # noqa: PT028 - no test, though its name begins like one
) -> tuple[int, ...]:
    """The tests of a greedy tree of at most ``depth``, grown by Gini impurity.

    Of equally good tests, the smallest number wins. A node is not split if this does not lower the impurity. If the
    tree uses fewer than ``depth`` tests, all tests are returned. If ``late()`` returns True, the tests chosen so far
    are returned.

    Returns
    -------
    tuple of int
        Ascending test numbers.
    """
    used: set[int] = set()
    _grow(rows, np.arange(rows.n_rows), depth, used, late)
    return tuple(sorted(used)) if len(used) >= depth or late() else tuple(range(rows.n_tests))


def _grow(rows: RankedRows, chosen: IntArray, depth: int, used: set[int], late: Callable[[], bool]) -> None:
    here = np.bincount(rows.codes[chosen], rows.weights[chosen], rows.n_classes).astype(np.int64)
    total = float(here.sum())
    impurity = float(gini(here[None]))
    if depth == 0 or impurity <= CLOSE * total:
        return
    best, score = -1, impurity - CLOSE * total
    one_cell = np.zeros(rows.n_rows, dtype=np.int64)
    for first, low, high in sides(rows, one_cell, chosen):
        if late():
            return
        if not len(low):
            continue
        scores = gini(low) + gini(high)
        place = least(scores, total)
        if scores[place] < score - (CLOSE * total if best >= 0 else 0.0):
            best, score = first + place, float(scores[place])
    if best < 0:
        return
    used.add(best)
    high_side = rows.bits([best])[chosen, 0] == 1
    _grow(rows, chosen[~high_side], depth - 1, used, late)
    _grow(rows, chosen[high_side], depth - 1, used, late)


def gini(counts: Counts) -> FloatArray:
    """Weight times Gini impurity, summed over cells: an array (..., n_cells, n_classes) becomes (...,)."""
    total = counts.sum(axis=-1).astype(np.float64)
    squares = np.square(counts.astype(np.float64)).sum(axis=-1)
    return np.asarray((total - np.divide(squares, total, out=np.zeros_like(total), where=total > 0)).sum(axis=-1))
