"""The order of the tests, and the labels of free cells, that make a diagram smallest.

A cell is free if no row reaches it, or if several classes are heaviest there. The search compares all orders, and all
labels that add no error, and returns a diagram with the fewest inner nodes. Without free cells, the number of nodes of
test ``x`` depends only on the set of tests above ``x`` [1]_. With free cells, the same idea gives a lower bound. A SAT
solver then decides, one by one, the orders that the bound does not rule out.

References
----------
.. [1] Friedman, Supowit (1990), Finding the optimal variable ordering for binary decision diagrams, IEEE Trans. Comp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from proofwood.engines.bdd.cells import CellTable
from proofwood.engines.bdd.fill import count_splits, merged_labels
from proofwood.engines.bdd.order_sat import fewest_splits
from proofwood.engines.interrupts import ENDED, cause_of, ends_all
from proofwood.engines.run import Clock
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.result import NO_LIMITS, Limits, Status

# With free cells, merging equal subtables greedily proves nothing. So the bound for a set of tests is a clique, and a
# SAT solver decides the orders that this bound leaves open: decisions/0008-smallest-diagram.
EXACT_TESTS = 8
"""Up to this number of tests, all orders are compared. With more, local search improves an order, and the bound is
weak."""

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Smallest:
    """A small diagram of a truth table, and what is proved of its size.

    Parameters
    ----------
    tests : tests from top to bottom
    labels : (2 ** n_tests,) class code of each cell in that order
    n_splits : inner nodes of the reduced diagram
    lower_bound : a lower bound on the inner nodes over all orders and all labels that add no error
    status : "optimal" if ``n_splits`` equals ``lower_bound``, else "feasible"
    stopped_by : what else than the time ended the search: "interrupt", "memory_limit" or None
    """

    tests: tuple[int, ...]
    labels: IntArray
    n_splits: int
    lower_bound: int
    status: Status
    stopped_by: str | None = None


def smallest_diagram(cells: CellTable, *, upper: int | None = None, limits: Limits = NO_LIMITS) -> Smallest:
    """Find the order and the labels with the fewest inner nodes, among all orders and all labels that cells allow.

    Parameters
    ----------
    cells : CellTable; the search begins with its order of tests
    upper : stop as soon as it is proved that no diagram has fewer than ``upper`` inner nodes
    limits : wall-clock seconds

    Returns
    -------
    Smallest
        Among equally small diagrams, the order with the smaller bound wins, then the lexicographically smallest order
        of places in ``cells.tests``. Ctrl-C ends the search in the same way as the time limit.
    """
    search = _Search(cells, Clock(limits))
    try:
        search.run(upper)
    except ENDED as error:
        search.stopped_by = cause_of(error)
    return search.result()


class _Search:
    """Best-first search over orders. The least bound of the orders not yet searched bounds the result."""

    def __init__(self, cells: CellTable, clock: Clock) -> None:
        self.cells = cells
        self.clock = clock
        self.stopped = False
        self.stopped_by: str | None = None
        self.lower = 0
        self.best: tuple[Order, IntArray, int] | None = None
        self._try(tuple(range(cells.n_tests)))

    def late(self) -> bool:
        """Whether the search must stop, because the time is over or it was interrupted."""
        self.stopped = self.stopped or self.clock.over
        return self.stopped

    @property
    def upper(self) -> int:
        """Number of inner nodes of the best diagram so far."""
        assert self.best is not None
        return self.best[2]

    def run(self, upper: int | None) -> None:
        n = self.cells.n_tests
        if n > EXACT_TESTS:
            self.lower = essential_tests(self.cells)
            self._sift()
            return
        bounds = node_bounds(self.cells, self.late)
        if bounds is None:
            return
        orders = sorted((order_bound(bounds, order), order) for order in permutations(range(n)))
        self.lower = orders[0][0]
        for bound, order in orders[: 4 * n]:
            if bound >= self.upper or self.late():
                break
            self._try(order)
        self._sift()
        for bound, order in orders:
            self.lower = min(bound, self.upper)
            if bound >= self.upper or (upper is not None and bound >= upper) or self.late():
                return
            self._settle(order, bound)
            if self.stopped:
                return
        self.lower = self.upper

    def _settle(self, order: Order, bound: int) -> None:
        """Search the diagrams of this order until the best diagram so far is at least as small as all of them."""
        self._try(order)
        table = self.cells.reorder(order)
        while bound < self.upper:
            answer = fewest_splits(table, self.upper - 1, seconds=self.clock.seconds_left)
            if answer.stopped_by is not None:
                self.stopped = True
                self.stopped_by = answer.stopped_by if ends_all(answer.stopped_by) else None
                return
            if answer.labels is None:
                return
            self._note(order, answer.labels)

    def _try(self, order: Order) -> None:
        table = self.cells.reorder(order)
        self._note(order, merged_labels(table))

    def _note(self, order: Order, labels: IntArray) -> None:
        splits = count_splits(labels)
        if self.best is None or splits < self.best[2]:
            self.best = (order, labels, splits)

    def _sift(self) -> None:
        """Improve the best order by moving one test at a time, until no move makes the diagram smaller."""
        assert self.best is not None
        moves = _Moves(self.best[0])
        for order in moves:
            if self.upper <= self.lower or self.late():
                return
            self._try(order)
            moves.current = self.best[0]

    def result(self) -> Smallest:
        """The best diagram so far, with its bound."""
        assert self.best is not None
        order, labels, splits = self.best
        lower = min(self.lower, splits)
        status = Status.OPTIMAL if lower == splits else Status.FEASIBLE
        tests = tuple(self.cells.tests[place] for place in order)
        return Smallest(tests, labels, splits, lower, status, self.stopped_by)


# ---------------------------------------------------------------------------------------------------- bounds


def node_bounds(cells: CellTable, late: Callable[[], bool] = lambda: False) -> IntArray | None:
    """Lower bounds on the number of nodes of each test, for each set of tests above it.

    Each combination of answers to the tests above leaves a subtable. Two subtables need different nodes if no labels
    make them equal. A subtable needs a node of test ``x`` if no labels make its two halves by ``x`` equal. So a set of
    such subtables, no two of which can be made equal, needs one node of ``x`` for each of them.

    Returns
    -------
    (2 ** n_tests, n_tests) int64, indexed by the set above as a bit mask, and by the test; None if ``late()`` was True
    """
    n = cells.n_tests
    words = _words(cells.allowed).reshape((2,) * n + (-1,))
    bounds = np.zeros((2**n, n), dtype=np.int64)
    for above in range(2**n - 1):
        if late():
            return None
        top = [test for test in range(n) if above >> test & 1]
        rest = [test for test in range(n) if not above >> test & 1]
        subtables = words.transpose(*top, *rest, n).reshape(2 ** len(top), 2 ** len(rest), -1)
        differ = _incompatible(subtables)
        for place, test in enumerate(rest):
            sides = subtables.reshape(2 ** len(top), 2**place, 2, -1, words.shape[-1])
            depends = ~np.any(sides[:, :, 0] & sides[:, :, 1], axis=-1).all(axis=(1, 2))
            bounds[above, test] = _clique(differ, np.flatnonzero(depends))
    return bounds


def order_bound(bounds: IntArray, order: Order) -> int:
    """The lower bound on the inner nodes of an order: the sum of :func:`node_bounds` along it."""
    above, total = 0, 0
    for test in order:
        total += int(bounds[above, test])
        above |= 1 << test
    return total


def essential_tests(cells: CellTable) -> int:
    """Number of tests that every diagram needs.

    A test is needed if two cells that differ only in their answer to this test need different labels.
    """
    n = cells.n_tests
    words = _words(cells.allowed)
    count = 0
    for test in range(n):
        sides = words.reshape(2**test, 2, -1, words.shape[-1])
        count += not np.any(sides[:, 0] & sides[:, 1], axis=-1).all()
    return count


def _words(allowed: BoolArray) -> npt.NDArray[np.uint64]:
    """Array (n_cells, n_words): the allowed labels of each cell as bits."""
    packed = np.packbits(allowed, axis=1)
    padded = np.zeros((allowed.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def _incompatible(subtables: npt.NDArray[np.uint64]) -> BoolArray:
    """Boolean array (n, n): which pairs of subtables cannot be made equal, as they share no label in some cell."""
    n = len(subtables)
    differ = np.zeros((n, n), dtype=bool)
    for i in range(n):
        differ[i] = ~np.any(subtables[i] & subtables, axis=-1).all(axis=-1)
    return differ


def _clique(differ: BoolArray, among: IntArray) -> int:
    """Size of a greedy set of subtables that all differ; each step adds the one that differs from most others."""
    best = 0
    left = differ[np.ix_(among, among)]
    alive = np.ones(among.size, dtype=bool)
    while alive.any():
        degrees = np.where(alive, (left & alive).sum(axis=1), -1)
        chosen = int(degrees.argmax())
        best += 1
        alive &= left[chosen]
    return best


# -------------------------------------------------------------------------------------- orders for a given filling


def best_order(cells: CellTable, fill: Callable[[CellTable], IntArray], *, limits: Limits = NO_LIMITS) -> Smallest:
    """Find the order whose diagram has the fewest inner nodes when ``fill`` chooses the labels.

    With up to six tests, all orders are tried and the status is "optimal". With more, tests are moved one at a time.
    Among equally small diagrams, the first wins; if all orders are tried, this is the lexicographically smallest order.
    """
    clock, n = Clock(limits), cells.n_tests
    complete = n <= _ALL_ORDERS
    moves = _Moves(tuple(range(n)))
    best: tuple[int, Order, IntArray] | None = None
    for order in permutations(range(n)) if complete else moves:
        labels = fill(cells.reorder(order))
        splits = count_splits(labels)
        if best is None or splits < best[0]:
            best = (splits, order, labels)
            moves.current = order
        if clock.over:
            complete = False
            break
    assert best is not None
    splits, order, labels = best
    tests = tuple(cells.tests[place] for place in order)
    lower = splits if complete else min(splits, essential_tests(cells))
    return Smallest(tests, labels, splits, lower, Status.OPTIMAL if lower == splits else Status.FEASIBLE)


_ALL_ORDERS = 6


class _Moves:
    """Iterates over orders that move one test of ``current``; ends after a round that did not change ``current``."""

    def __init__(self, start: Order) -> None:
        self.current = start

    def __iter__(self) -> Iterator[Order]:
        while True:
            start = self.current
            yield start
            for test in range(len(start)):
                rest = [place for place in self.current if place != test]
                for place in range(len(start)):
                    yield (*rest[:place], test, *rest[place:])
            if self.current == start:
                return
