"""Diagrams by enumeration: every order of the tests, every labeling of the cells, distinct subtables counted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from proofwood.engines.bdd.cells import CellTable

Table = tuple[int, ...]


def splits(table: Table) -> int:
    """Inner nodes of the reduced diagram of a full table: distinct subtables of one level whose halves differ."""
    nodes, level = set(), {table}
    while len(next(iter(level))) > 1:
        half = len(next(iter(level))) // 2
        nodes |= {part for part in level if part[:half] != part[half:]}
        level = {side for part in level for side in (part[:half], part[half:])}
    return len(nodes)


def orders(cells: CellTable) -> Iterator[CellTable]:
    """The table in every order."""
    for order in permutations(range(cells.n_tests)):
        yield cells.reorder(order)


def fewest_splits(cells: CellTable) -> int:
    """Fewest inner nodes over all orders and all labels that cells allow."""
    return min(
        splits(labels)
        for table in orders(cells)
        for labels in product(*(np.flatnonzero(row).tolist() for row in table.allowed))
    )


def least_cost(cells: CellTable, error_price: int, node_price: int) -> int:
    """Least price of errors and inner nodes over all orders and all labels."""
    best = None
    for table in orders(cells):
        wrong = (table.weights.sum(axis=1, keepdims=True) - table.weights).tolist()
        for labels in product(range(cells.n_classes), repeat=len(wrong)):
            errors = sum(row[label] for row, label in zip(wrong, labels, strict=True))
            cost = error_price * errors + node_price * splits(labels)
            best = cost if best is None else min(best, cost)
    assert best is not None
    return best
