"""Oblivious trees and graphs, from the top down, as Kohavi and Li (1995) grow them.

References
----------
.. [1] Kohavi, Li (1995), Oblivious Decision Trees, Graphs, and Top-Down Pruning, IJCAI.
.. [2] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.engines.bdd.cells import CellTable, diagram
from proofwood.engines.bdd.fill import fill_merge, fill_parent
from proofwood.engines.bdd.reference.splits import CLOSE, entropy, least, sides
from proofwood.model.node_table import NodeTable
from proofwood.problem.ranked import RankedRows


def choose_tests(rows: RankedRows, size: int, late: Callable[[], bool] = lambda: False) -> tuple[int, ...]:
    """At most ``size`` tests, each with the greatest mutual information with the class given those before it [1]_.

    Ties go to the smallest test number. Fewer tests are chosen if no test adds information, and once ``late`` says so.

    Returns
    -------
    tuple of int
        Test numbers, the first one on top.
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


def odt(rows: RankedRows, size: int) -> NodeTable:
    """The oblivious decision tree (ODT), reduced: cells without rows predict the majority of their parent [2]_."""
    cells = CellTable.of(rows, choose_tests(rows, size))
    return rows.refresh(diagram(cells.tests, fill_parent(cells), rows.n_classes))


def oodg(rows: RankedRows, size: int) -> NodeTable:
    """The oblivious read-once decision graph (OODG): isomorphic and compatible subtrees are merged from the top down.

    Subtrees are compatible if one is unknown, or if they test the same and both pairs of children are compatible, that
    is if their tables match wherever both are known [2]_.
    """
    cells = CellTable.of(rows, choose_tests(rows, size))
    return rows.refresh(diagram(cells.tests, fill_merge(cells), rows.n_classes))


def _class_weights(rows: RankedRows, cell: np.ndarray) -> np.ndarray:
    counts = np.zeros((int(cell.max(initial=0)) + 1, rows.n_classes), dtype=np.int64)
    np.add.at(counts, (cell, rows.codes), rows.weights)
    return counts
