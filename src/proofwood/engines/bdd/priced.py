"""Diagrams whose nodes have a price. A cell may predict another class than its heaviest one if that saves nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

import numpy as np

from proofwood.engines.bdd.cells import CellTable
from proofwood.engines.bdd.fill import count_splits
from proofwood.engines.bdd.smallest import smallest_diagram
from proofwood.engines.run import Clock
from proofwood.model.node_table import IntArray
from proofwood.result import NO_LIMITS, Limits, Status

MOST_FUNCTIONS = 65_536
"""If a table has at most this number of labelings, all of them are compared; enough for four tests and two classes."""


@dataclass(frozen=True, slots=True)
class Cheapest:
    """A diagram of low cost over given tests, and what is proved of its cost.

    Parameters
    ----------
    tests : tests from top to bottom
    labels : (2 ** n_tests,) class code of each cell in that order
    cost : ``error_price * wrong + node_price * inner nodes``, an integer
    lower_bound : no diagram over these tests costs less
    status : "optimal" if ``cost`` equals ``lower_bound``, else "feasible"
    stopped_by : what else than the time ended the search: "interrupt", "memory_limit" or None
    """

    tests: tuple[int, ...]
    labels: IntArray
    cost: int
    lower_bound: int
    status: Status
    stopped_by: str | None = None


def cheapest_diagram(
    cells: CellTable, error_price: int, node_price: int, *, upper: int | None = None, limits: Limits = NO_LIMITS
) -> Cheapest:
    """Find the order and the labels of least cost.

    If there are at most :data:`MOST_FUNCTIONS` labelings, all are compared. Otherwise the search begins with the
    smallest diagram of fewest errors, and copies subtables and changes labels while the cost falls. The bound is then
    the smaller of two bounds. The first is for diagrams in which every cell predicts a heaviest class: they have at
    least as many nodes as the smallest diagram. The second is for diagrams in which some cell predicts another class:
    each such cell adds errors, and the bound uses the smallest possible addition.

    Parameters
    ----------
    cells : CellTable
    error_price, node_price : non-negative integers
    upper : cost of a known diagram; if the bound reaches it, the diagram is not improved
    limits : wall-clock seconds

    Returns
    -------
    Cheapest
        If all labelings were compared, ties go to the lexicographically smallest labels in the order of ``cells``, then
        to the smallest order of places.
    """
    if cells.n_classes ** (2**cells.n_tests) <= MOST_FUNCTIONS:
        return _of_all(cells, error_price, node_price)
    return _improved(cells, error_price, node_price, upper, limits)


def _errors(cells: CellTable) -> IntArray:
    """Array (n_cells, n_classes): the weight of the rows that are wrong if the cell predicts the class."""
    return np.asarray(cells.weights.sum(axis=1, keepdims=True) - cells.weights)


# ------------------------------------------------------------------------------------------------ all labelings


def _of_all(cells: CellTable, error_price: int, node_price: int) -> Cheapest:
    costs = np.zeros(1, dtype=np.int64)
    for row in _errors(cells):
        costs = np.add.outer(costs, error_price * row).reshape(-1)
    sizes, orders = _sizes(cells.n_tests, cells.n_classes)
    costs = costs + node_price * sizes
    best = int(costs.argmin())
    labels = _digits(np.array([best]), 2**cells.n_tests, cells.n_classes)[0]
    order = list(permutations(range(cells.n_tests)))[orders[best]]
    turned = labels.reshape((2,) * cells.n_tests).transpose(order).reshape(-1)
    cost = int(costs[best])
    return Cheapest(tuple(cells.tests[place] for place in order), turned, cost, cost, Status.OPTIMAL)


@cache
def _sizes(n_tests: int, n_classes: int) -> tuple[IntArray, IntArray]:
    """The number of inner nodes of every labeling in its best order, and the index of this order among all orders.

    The number of a labeling has the labels of the cells as digits, with cell 0 first.
    """
    n_cells = 2**n_tests
    tables = _digits(np.arange(n_classes**n_cells), n_cells, n_classes)
    in_order = _sizes_in_order(tables, n_classes)
    powers = n_classes ** np.arange(n_cells - 1, -1, -1)
    best = np.full(len(tables), np.iinfo(np.int64).max)
    which = np.zeros(len(tables), dtype=np.int64)
    for number, order in enumerate(permutations(range(n_tests))):
        cell = np.arange(n_cells).reshape((2,) * n_tests).transpose(order).reshape(-1)
        size = in_order[tables[:, cell] @ powers]
        better = size < best
        best[better], which[better] = size[better], number
    return best, which


def _sizes_in_order(tables: IntArray, n_classes: int) -> IntArray:
    """Array (n_tables,): the number of inner nodes of each table, with its tests in the given order."""
    sizes = np.zeros(len(tables), dtype=np.int64)
    names, base = tables, n_classes
    while names.shape[1] > 1:
        pairs = np.sort(names[:, ::2] * base + names[:, 1::2], axis=1)
        splits = pairs // base != pairs % base
        splits[:, 1:] &= pairs[:, 1:] != pairs[:, :-1]
        sizes += splits.sum(axis=1)
        names, base = names[:, ::2] * base + names[:, 1::2], base * base
    return sizes


def _digits(numbers: IntArray, length: int, base: int) -> IntArray:
    """Array (n, length): the digits of the numbers, the most significant first."""
    return np.asarray(numbers[:, None] // base ** np.arange(length - 1, -1, -1) % base, dtype=np.int64)


# ------------------------------------------------------------------------------------------- larger tables, improved


def _improved(cells: CellTable, error_price: int, node_price: int, upper: int | None, limits: Limits) -> Cheapest:
    clock = Clock(limits)
    small = smallest_diagram(cells, limits=limits)
    if small.stopped_by is not None:
        clock = Clock(replace(limits, seconds=0.0))
    errors = _errors(cells)
    further = (errors - errors.min(axis=1, keepdims=True)).reshape(-1)
    further = further[further > 0]  # the errors that a label adds if it is not the best of its cell
    dearer = int(further.min()) if further.size else None
    kept = node_price * small.lower_bound
    lower = error_price * cells.errors + (kept if dearer is None else min(kept, error_price * dearer))
    labels, tests = small.labels, small.tests
    turned = _errors(cells.reorder([cells.tests.index(test) for test in tests]))
    cost = _cost(labels, turned, error_price, node_price)
    constant = np.full(labels.size, int(turned.sum(axis=0).argmin()))
    if _cost(constant, turned, error_price, node_price) < cost:
        labels, cost = constant, _cost(constant, turned, error_price, node_price)
    while lower < cost and (upper is None or lower < upper):
        best_labels, best_cost = labels, cost
        for other in _neighbours(labels, cells.n_classes):
            found = _cost(other, turned, error_price, node_price)
            if found < best_cost:
                best_labels, best_cost = other, found
            if clock.over:
                break
        stuck, (labels, cost) = best_cost == cost, (best_labels, best_cost)
        if stuck or clock.over:
            break
    status = Status.OPTIMAL if lower >= cost else Status.FEASIBLE
    return Cheapest(tests, labels, cost, min(lower, cost), status, small.stopped_by)


def _cost(labels: IntArray, errors: IntArray, error_price: int, node_price: int) -> int:
    wrong = int(errors[np.arange(labels.size), labels].sum())
    return error_price * wrong + node_price * count_splits(labels)


def _neighbours(labels: IntArray, n_classes: int) -> list[IntArray]:
    """All labelings with one cell changed, or with one subtable copied over another one of the same level."""
    found = []
    for cell in range(labels.size):
        for code in range(n_classes):
            if code != labels[cell]:
                other = labels.copy()
                other[cell] = code
                found.append(other)
    length = labels.size // 2
    while length > 1:
        blocks = labels.reshape(-1, length)
        for target in range(len(blocks)):
            for source in range(len(blocks)):
                if source != target and np.any(blocks[source] != blocks[target]):
                    other = blocks.copy()
                    other[target] = blocks[source]
                    found.append(other.reshape(-1))
        length //= 2
    return found
