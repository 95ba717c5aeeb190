"""Chooses tests from the top down, one for each level, as Kohavi and Li [1]_ grow oblivious trees and graphs.

References
----------
.. [1] Kohavi, Li (1995), Oblivious Decision Trees, Graphs, and Top-Down Pruning, IJCAI.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.engines.bdd.splits import CLOSE, entropy, least, sides
from proofwood.problem.ranked import RankedRows


def choose_tests(rows: RankedRows, size: int, late: Callable[[], bool] = lambda: False) -> tuple[int, ...]:
    """Choose at most ``size`` tests, one by one: each adds the most information about the class [1]_.

    Of equally good tests, the smallest number wins. The choice ends early if no test adds information, or if ``late()``
    returns True.

    Returns
    -------
    tuple of int
        Test numbers, from the top of the diagram to its bottom.
    """
    cell = np.zeros(rows.n_rows, dtype=np.int64)
    chosen: list[int] = []
    left = float(entropy(_class_weights(rows, cell)))
    while len(chosen) < size and left > CLOSE * rows.total:
        best, score = -1, np.inf
        for first, low, high in sides(rows, cell):
            if late():
                return tuple(chosen)
            if not len(low):
                continue
            scores = entropy(low) + entropy(high)
            place = least(scores, rows.total)
            if scores[place] < score - CLOSE * rows.total:
                best, score = first + place, float(scores[place])
        if score > left - CLOSE * rows.total:
            break
        chosen.append(best)
        left = score
        cell = np.unique(2 * cell + rows.bits([best])[:, 0], return_inverse=True)[1].reshape(-1)
    return tuple(chosen)


def _class_weights(rows: RankedRows, cell: np.ndarray) -> np.ndarray:
    counts = np.zeros((int(cell.max(initial=0)) + 1, rows.n_classes), dtype=np.int64)
    np.add.at(counts, (cell, rows.codes), rows.weights)
    return counts
