"""The answer over tests that an engine chose: their order, what cells without rows predict, and what is proved.

Training errors depend on the set of tests alone [1]_; the size of the diagram is a secondary goal.

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
from proofwood.engines.interrupts import ends_all
from proofwood.engines.run import Clock
from proofwood.model.node_table import IntArray, NodeTable
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.objectives import proof
from proofwood.result import Limits, Part, ProgressEvent, Result, Stats, Status, ended

FOR_SIZE = 0.1, 2.0
"""Share of the time limit, and most seconds, that the search for tests leaves for the size of the diagram."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Tests that an engine chose, and what it proved of their integer errors, or of their number.

    Parameters
    ----------
    tests : from the top of the diagram, if ``in_order``; else any order does
    value, lower_bound : errors or number of the tests, and what no set is below
    engine, stopped_by, counters, trace : as in :class:`~proofwood.result.Result` and its ``Stats``
    labels : (2 ** n_tests,) class code of each cell, as a solver chose them; for ``Unknown.SOLVER``
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


def diagram_over(
    problem: BDDProblem,
    chosen: Chosen,
    clock: SizeClock,
    *,
    sets: Sequence[tuple[int, ...]] = (),
    complete: bool = True,
) -> Result:
    """The answer over ``chosen.tests``, recounted; for :func:`~proofwood.engines.interrupts.finished`.

    Parameters
    ----------
    sets : sets of tests that are as good; the one with the smallest diagram is taken
    complete : whether these are all, if the size of the diagram was asked for as well
    """
    if ends_all(chosen.stopped_by):
        clock = clock.ended()
    if problem.fewest or not problem.smallest_set:
        clock = clock.main_over()
    table, size = _smallest_of(problem, chosen, sets or [chosen.tests], clock)
    if not complete:  # a set that was not looked at may have a smaller diagram
        size = replace(size, lower_bound=0.0, status=Status.FEASIBLE if size.objective > 0 else Status.OPTIMAL)
    if problem.fewest:  # a search that was stopped may keep tests that the diagram does without
        chosen = replace(chosen, value=np.unique(table.feature[table.feature >= 0]).size)
    return _result(problem, table, chosen, size, clock)


# ----------------------------------------------------------------------------------------- order, labels, and size


def _smallest_of(
    problem: BDDProblem, chosen: Chosen, sets: Sequence[tuple[int, ...]], clock: SizeClock
) -> tuple[NodeTable, Part]:
    """The smallest diagram over one of ``sets``, by the rule for unknown cells; the first of equals."""
    hurry = no_time_for_table(len(sets[0]), clock.for_size().seconds)
    if len(sets[0]) > MOST_TESTS or (hurry and problem.unknown in (Unknown.SMALLEST, Unknown.MERGE)):
        return _sparse(problem, sets[0], clock)
    best: Smallest | None = None
    lower: int | None = None
    for tests in sets:
        if best is not None and clock.size_over():
            lower = 0
            break
        found = _diagram_of(problem, chosen, tests, None if best is None else best.n_splits, clock)
        lower = found.lower_bound if lower is None else min(lower, found.lower_bound)
        if best is None or found.n_splits < best.n_splits:
            best = found
    assert best is not None
    assert lower is not None
    lower = min(lower, best.n_splits)
    status = Status.OPTIMAL if lower == best.n_splits else Status.FEASIBLE
    table = diagram(best.tests, best.labels, problem.rows.n_classes)
    return problem.rows.refresh(table), Part("splits", float(best.n_splits), float(lower), status)


def _sparse(problem: BDDProblem, tests: Sequence[int], clock: SizeClock) -> tuple[NodeTable, Part]:
    """A diagram over more tests than a table can have, ordered by information; its size is not minimised."""
    if problem.unknown not in (Unknown.SMALLEST, Unknown.MERGE):
        raise ValueError(
            f"unknown={str(problem.unknown)!r} needs a truth table, and {len(tests)} tests have too many cells for one "
            f"(at most {MOST_TESTS}): pass unknown='smallest', or fewer max_features"
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
    """The diagram of a table whose order and labels are given."""
    splits = count_splits(labels)
    return Smallest(cells.tests, labels, splits, splits, Status.OPTIMAL)


def _labels_of_solver(chosen: Chosen, cells: CellTable) -> IntArray:
    """The solver's values, except for cells where they cost more than necessary: a model need not be a best one."""
    heaviest = cells.weights.argmax(axis=1)
    if chosen.labels is None or chosen.labels.size != heaviest.size:  # a constant, that no solver chose
        return np.asarray(heaviest)
    right = cells.allowed[np.arange(heaviest.size), chosen.labels]
    return np.where(right, chosen.labels, heaviest)


# ------------------------------------------------------------------------------------------------------- results


def _result(problem: BDDProblem, table: NodeTable, chosen: Chosen, size: Part, clock: SizeClock) -> Result:
    """The answer, recounted from the table."""
    rows, cost = problem.rows, problem.cost
    errors = rows.errors(table)
    if problem.fewest:
        if errors != rows.unavoidable:
            raise AssertionError(f"the diagram gets {errors} wrong, where {rows.unavoidable} is unavoidable")
        unit, objective, lower = "features", float(chosen.value), float(chosen.lower_bound)
        status = Status.OPTIMAL if lower == objective else Status.FEASIBLE
    else:
        if errors != chosen.value:
            raise AssertionError(f"the diagram gets {errors} wrong, the search counted {chosen.value}")
        unit, least = cost.name, min(chosen.lower_bound, errors)
        objective, lower, status = proof(
            cost,
            cost.error_price * errors,
            cost.error_price * least,
            lambda: problem.real_cost(table),
            complete=least == errors,
        )
        if status is Status.WITHIN_GAP:  # what counts as equally few errors is not known without rounding
            size = replace(size, lower_bound=0.0, status=Status.FEASIBLE if size.objective else Status.OPTIMAL)
    final = ProgressEvent(clock.seconds, objective, lower)
    trace = ended(chosen.trace, final)
    part = Part("features" if problem.fewest else "errors", objective, lower, status)
    stopped_by = None if status in (Status.OPTIMAL, Status.WITHIN_GAP) else chosen.stopped_by
    stats = Stats(clock.seconds, chosen.engine, stopped_by, dict(chosen.counters))
    return Result(table, objective, unit, lower, status, stats, trace, (part, size))


@dataclass(frozen=True, slots=True)
class SizeClock(Clock):
    """What is left of the limits, also for the secondary goal: a small diagram."""

    size_ends: float | None = None  # seconds from the start at which the search for a small diagram ends

    def main_over(self) -> SizeClock:
        """The same, where what was asked for is done and the size of the diagram is a secondary goal."""
        taken = self.seconds
        share = self.limits.secondary(taken).seconds
        return self if share is None else replace(self, size_ends=taken + share)

    def for_size(self) -> Limits:
        """The time for the size of the diagram."""
        left = self.left()
        if self.size_ends is None or left.seconds is None:
            return left
        return replace(left, seconds=max(0.0, min(left.seconds, self.size_ends - self.seconds)))

    def size_over(self) -> bool:
        """Whether no time is left for the size of the diagram."""
        left = self.for_size().seconds
        return left is not None and left <= 0

    def ended(self) -> SizeClock:
        """The same with no time left."""
        return replace(self, limits=replace(self.limits, seconds=0.0))

    def for_tests(self) -> Limits:
        """The time for choosing the tests: some is kept for the size of the diagram."""
        share, most = FOR_SIZE
        return self.left(0.0 if self.limits.seconds is None else min(share * self.limits.seconds, most))
