"""Turns the tests that an engine chose into a result: a diagram over them, and what is proved of it.

This module chooses the order of the tests and the labels of cells without rows. The training errors depend only on the
set of tests [1]_. The size of the diagram is a secondary goal.

References
----------
.. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI, sec. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from proofwood.engines.bdd.cells import MOST_TESTS, CellTable, diagram
from proofwood.engines.bdd.fill import count_splits, fill_merge, fill_parent
from proofwood.engines.bdd.oblivious import choose_tests
from proofwood.engines.bdd.smallest import Smallest, best_order, smallest_diagram
from proofwood.engines.bdd.sparse import no_time_for_table, sparse_diagram
from proofwood.engines.interrupts import ended_by, ends_all
from proofwood.engines.run import Clock
from proofwood.model.node_table import IntArray, NodeTable
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.objectives import proof
from proofwood.result import Limits, Part, ProgressEvent, Result, Stats, Status, ended, first_stop

FOR_SIZE = 0.1, 2.0
"""The search for tests leaves this share of the time limit, and at most these seconds, to make the diagram small."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Tests that an engine chose, and what it proved of their integer errors or of their number.

    Parameters
    ----------
    tests : numbers of the tests; from the top of the diagram to its bottom if ``in_order``, else in any order
    value, lower_bound : the errors of the tests, or their number, and a lower bound for all sets of tests
    engine, stopped_by, counters, trace : as in :class:`~proofwood.result.Result` and its ``Stats``
    in_order : whether the diagram may keep the order of ``tests``
    labels : (2 ** n_tests,) class code that a solver chose for each cell; used with ``Unknown.SOLVER``
    """

    tests: tuple[int, ...]
    value: int
    lower_bound: int
    engine: str
    stopped_by: str | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    trace: tuple[ProgressEvent, ...] = ()
    in_order: bool = False
    labels: IntArray | None = None

    def ended(self, by: str | None) -> Chosen:
        """The same, after Ctrl-C or lack of memory in what followed the choice; None if nothing ended it."""
        return self if by is None else replace(self, stopped_by=first_stop(by, self.stopped_by))


def diagram_over(
    problem: BDDProblem,
    chosen: Chosen,
    clock: SizeClock,
    *,
    sets: Sequence[tuple[int, ...]] = (),
    complete: bool = True,
) -> Result:
    """The result for ``chosen.tests``, with its errors counted again from the diagram.

    Call it through :func:`~proofwood.engines.interrupts.finished`.

    Parameters
    ----------
    sets : sets of tests that are as good as ``chosen.tests``; the result uses the set with the smallest diagram
    complete : whether ``sets`` lists all such sets; needed to prove the size of the diagram
    """
    if ends_all(chosen.stopped_by):
        clock = clock.ended()
    if problem.fewest or not problem.smallest_set:
        clock = clock.main_over()
    table, size, stopped_by = _smallest_of(problem, chosen, sets or [chosen.tests], clock)
    chosen = chosen.ended(stopped_by)
    if not complete:  # a set that is not in the list may have a smaller diagram
        size = replace(size, lower_bound=0.0, status=Status.FEASIBLE if size.objective > 0 else Status.OPTIMAL)
    if problem.fewest:  # a search that was stopped may return tests that the diagram does not need
        chosen = replace(chosen, value=np.unique(table.feature[table.feature >= 0]).size)
    return _result(problem, table, chosen, size, clock)


# ----------------------------------------------------------------------------------------- order, labels, and size


def _smallest_of(
    problem: BDDProblem, chosen: Chosen, sets: Sequence[tuple[int, ...]], clock: SizeClock
) -> tuple[NodeTable, Part, str | None]:
    """The smallest diagram over any of ``sets``, by the rule ``problem.unknown``; of equally small ones, the first.

    Also its size, and what ended the search for it, if it ends all searches.
    """
    hurry = no_time_for_table(len(sets[0]), clock.for_size().seconds)
    if len(sets[0]) > MOST_TESTS or (hurry and problem.unknown in (Unknown.SMALLEST, Unknown.MERGE)):
        return *_sparse(problem, sets[0], clock), None
    best: Smallest | None = None
    lower: int | None = None
    stopped_by: str | None = None
    for tests in sets:
        if best is not None and (stopped_by is not None or clock.size_over()):
            lower = 0
            break
        found = _diagram_of(problem, chosen, tests, None if best is None else best.n_splits, clock)
        stopped_by = found.stopped_by
        lower = found.lower_bound if lower is None else min(lower, found.lower_bound)
        if best is None or found.n_splits < best.n_splits:
            best = found
    assert best is not None
    assert lower is not None
    lower = min(lower, best.n_splits)
    status = Status.OPTIMAL if lower == best.n_splits else Status.FEASIBLE
    table = diagram(best.tests, best.labels, problem.rows.n_classes)
    return problem.rows.refresh(table), Part("splits", float(best.n_splits), float(lower), status), stopped_by


def _sparse(problem: BDDProblem, tests: Sequence[int], clock: SizeClock) -> tuple[NodeTable, Part]:
    """A diagram made without a truth table, with tests ordered by information; its size is not minimised."""
    if problem.unknown not in (Unknown.SMALLEST, Unknown.MERGE):
        raise ValueError(
            f"unknown={str(problem.unknown)!r} needs a truth table, and a table of {len(tests)} tests is too large "
            f"(at most {MOST_TESTS} tests): pass unknown='smallest', or a smaller max_features"
        )
    first = [tests[place] for place in choose_tests(problem.rows.select(tests), len(tests), clock.size_over)]
    order = [*first, *(test for test in tests if test not in first)]
    table = problem.rows.refresh(sparse_diagram(problem.rows, order))
    return table, Part("splits", float(table.n_splits), 0.0, Status.FEASIBLE)


def _diagram_of(
    problem: BDDProblem, chosen: Chosen, tests: Sequence[int], upper: int | None, clock: SizeClock
) -> Smallest:
    cells = CellTable.of(problem.rows, tests)
    if problem.unknown is Unknown.SMALLEST:
        return smallest_diagram(cells, upper=upper, limits=clock.for_size())
    if problem.unknown is Unknown.SOLVER:
        return _as_it_is(cells, _labels_of_solver(chosen, cells))
    fill = fill_parent if problem.unknown is Unknown.PARENT else fill_merge
    return _as_it_is(cells, fill(cells)) if chosen.in_order else best_order(cells, fill, limits=clock.for_size())


def _as_it_is(cells: CellTable, labels: IntArray) -> Smallest:
    """The diagram of a table, with its order and labels unchanged."""
    splits = count_splits(labels)
    return Smallest(cells.tests, labels, splits, splits, Status.OPTIMAL)


def _labels_of_solver(chosen: Chosen, cells: CellTable) -> IntArray:
    """The labels that the solver chose, except in cells where they make more errors than the heaviest class.

    The solver may have stopped before its labels were best.
    """
    heaviest = cells.weights.argmax(axis=1)
    if chosen.labels is None or chosen.labels.size != heaviest.size:  # a constant model, not chosen by a solver
        return np.asarray(heaviest)
    right = cells.allowed[np.arange(heaviest.size), chosen.labels]
    return np.where(right, chosen.labels, heaviest)


# ------------------------------------------------------------------------------------------------------- results


def _result(problem: BDDProblem, table: NodeTable, chosen: Chosen, size: Part, clock: SizeClock) -> Result:
    """The result, with its errors counted again from the diagram ``table``."""
    rows, cost = problem.rows, problem.cost
    errors = rows.errors(table)
    if problem.fewest:
        if errors != rows.unavoidable:
            raise AssertionError(
                f"the diagram misclassifies the weight {errors}: expected {rows.unavoidable}, the unavoidable errors"
            )
        unit, objective, lower = "features", float(chosen.value), float(chosen.lower_bound)
        status = Status.OPTIMAL if lower == objective else Status.FEASIBLE
    else:
        if errors != chosen.value:
            raise AssertionError(
                f"the diagram misclassifies the weight {errors}, but the search counted {chosen.value}"
            )
        unit, least = cost.name, min(chosen.lower_bound, errors)
        objective, lower, status = proof(
            cost,
            cost.error_price * errors,
            cost.error_price * least,
            lambda: problem.real_cost(table),
            complete=least == errors,
        )
    if (
        status is not Status.OPTIMAL
    ):  # it is not known which sets of tests are as good, and how small their diagrams are
        size = replace(size, lower_bound=0.0, status=Status.FEASIBLE if size.objective else Status.OPTIMAL)
    final = ProgressEvent(clock.seconds, objective, lower)
    trace = ended(chosen.trace, final)
    part = Part("features" if problem.fewest else "errors", objective, lower, status)
    stopped_by = ended_by(chosen.stopped_by, complete=status in (Status.OPTIMAL, Status.WITHIN_GAP))
    stats = Stats(clock.seconds, chosen.engine, stopped_by, dict(chosen.counters))
    return Result(table, objective, unit, lower, status, stats, trace, (part, size))


@dataclass(frozen=True, slots=True)
class SizeClock(Clock):
    """A clock that divides the time between two goals: the best set of tests, and then a small diagram."""

    size_ends: float | None = None  # seconds from the start at which the search for a small diagram ends

    def main_over(self) -> SizeClock:
        """A copy that also ends the search for a small diagram, after a share of the time."""
        taken = self.seconds
        share = self.limits.secondary(taken).seconds
        return self if share is None else replace(self, size_ends=taken + share)

    def for_size(self) -> Limits:
        """The limits for making the diagram small."""
        left = self.left()
        if self.size_ends is None or left.seconds is None:
            return left
        return replace(left, seconds=max(0.0, min(left.seconds, self.size_ends - self.seconds)))

    def size_over(self) -> bool:
        """Whether the time for making the diagram small is over."""
        left = self.for_size().seconds
        return left is not None and left <= 0

    def ended(self) -> SizeClock:
        """The same clock with no time left."""
        return replace(self, limits=replace(self.limits, seconds=0.0))

    def for_tests(self) -> Limits:
        """The limits for choosing the tests; some time is reserved for making the diagram small."""
        share, most = FOR_SIZE
        return self.left(0.0 if self.limits.seconds is None else min(share * self.limits.seconds, most))
