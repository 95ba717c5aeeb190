"""Decision diagrams from sets of tests: one call for every engine that chooses tests.

An engine finds tests (and some find an order, or a whole table); the order that is left open, and the prediction of
cells that no row reaches, are decided here. Training errors depend on the set of tests alone [1]_.

References
----------
.. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI, sec. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proofwood.engines.bdd.cells import MOST_TESTS, CellTable, diagram
from proofwood.engines.bdd.fill import fill_merge, fill_parent
from proofwood.engines.bdd.filling import count_splits
from proofwood.engines.bdd.price_search import MAX_SETS, cheapest_over_sets
from proofwood.engines.bdd.reference.heuristic import tests_of_cart
from proofwood.engines.bdd.reference.oblivious import choose_tests
from proofwood.engines.bdd.smallest import Smallest, best_order, smallest_diagram
from proofwood.engines.bdd.sparse import no_time_for_table, sparse_diagram
from proofwood.engines.bdd.subset import best_subset, fewest_tests, optimal_subsets, subset_errors
from proofwood.engines.interrupts import ENDED, cause_of, completed, ends_all
from proofwood.engines.run import Clock
from proofwood.model.node_table import NodeTable
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.objectives import proof
from proofwood.result import NO_LIMITS, Limits, Part, Progress, ProgressEvent, Result, Stats, Status, ended

SOLVERS = ("sat", "maxsat", "bdd1", "bdd2", "maxsat-bdd")
"""Engines that hand the whole problem to a solver; the last three make the formulas of the paper as printed."""
ENGINES = ("auto", "search", *SOLVERS, "heuristic", "greedy")
RESUMED = ("auto", "search")
"""Engines whose search can go on from a checkpoint."""

FOR_SIZE = 0.1, 2.0
"""Share of the time limit, and most seconds, that the search for tests leaves for the size of the diagram."""


def solve(
    problem: BDDProblem,
    *,
    engine: str = "auto",
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> Result:
    """The diagram of least cost, or with the fewest tests.

    Parameters
    ----------
    problem : BDDProblem
    engine : one of :data:`ENGINES`
    limits : wall-clock seconds and threads
    progress : called at improvements of the errors, or of the number of tests
    checkpoint : what earlier searches for tests proved, and where these write what they prove; for "auto" and "search"

    Returns
    -------
    Result
        The model tests the tests of ``problem.rows`` at 0.5. ``parts`` are errors (or features) and splits; objective,
        bound and status are those of the first part, or of the priced sum where nodes have a price.

    Raises
    ------
    ValueError
        If the engine cannot do what the problem asks for.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r}: expected one of {', '.join(map(repr, ENGINES))}")
    if checkpoint is not None and engine not in RESUMED:
        raise ValueError(
            f"checkpoint is for engine={' or '.join(map(repr, RESUMED))}, whose searches can go on from a file: "
            f"engine={engine!r} always begins anew. Leave checkpoint at None, or pass engine='search'"
        )
    clock = _Clock(limits)
    if engine in SOLVERS:
        return _by_solver(problem, engine, limits, progress)
    if problem.unknown is Unknown.SOLVER:
        raise ValueError(
            f"unknown='solver' takes the values that a solver chose, and engine={engine!r} has none: pass one of "
            f"{', '.join(map(repr, SOLVERS))}, or another unknown"
        )
    if problem.cost.leaf_price:
        return _priced(problem, engine, clock, progress, checkpoint)
    if problem.fewest:
        return _fewest(problem, engine, clock, progress, checkpoint)
    return _errors(problem, engine, clock, progress, checkpoint)


# --------------------------------------------------------------------------------------------- choosing the tests


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Tests that an engine chose, and what it proved of their integer errors, or of their number."""

    tests: tuple[int, ...]
    value: int
    lower_bound: int
    engine: str
    stopped_by: str | None
    counters: Mapping[str, int]
    trace: tuple[ProgressEvent, ...] = ()


def _errors(
    problem: BDDProblem, engine: str, clock: _Clock, progress: Progress | None, checkpoint: SearchFile | None
) -> Result:
    """Fewest errors over at most ``max_features`` tests; size counts only among equals."""
    rows = problem.rows
    try:
        chosen = _choose(problem, engine, clock, _in_errors(problem, progress), checkpoint)
    except ENDED as error:  # not in the search itself, which takes it: no test is known yet
        chosen = _Chosen((), subset_errors(rows, ()), rows.unavoidable, engine, cause_of(error), {})
    if ends_all(chosen.stopped_by):
        clock = clock.ended()
    sets, complete = [chosen.tests], not problem.smallest_set
    proved = chosen.value == chosen.lower_bound
    if problem.smallest_set and proved and engine in ("auto", "search"):
        found, complete, stopped_by = optimal_subsets(
            rows, problem.max_features, chosen.value, max_sets=MAX_SETS, limits=clock.left(), checkpoint=checkpoint
        )
        sets = list(dict.fromkeys([chosen.tests, *found]))
        if ends_all(stopped_by):
            clock = clock.ended()
    if not problem.smallest_set:
        stops: list[str] = []
        clock = completed(clock.main_over, stops)
        if stops:
            clock = clock.ended()
    table, size = completed(lambda: _sized(problem, sets, clock, in_order=engine == "greedy"))
    if not complete:  # a set that was not looked at may have a smaller diagram
        size = replace(size, lower_bound=0.0, status=Status.FEASIBLE if size.objective > 0 else Status.OPTIMAL)
    return completed(lambda: _result(problem, table, chosen, size, clock))


def _fewest(
    problem: BDDProblem, engine: str, clock: _Clock, progress: Progress | None, checkpoint: SearchFile | None
) -> Result:
    """Fewest tests with no avoidable error."""
    if engine in ("heuristic", "greedy"):
        raise ValueError(
            f"engine={engine!r} looks for few errors within max_features: for the fewest features pass 'auto', "
            "'search' or 'sat'"
        )
    found = fewest_tests(problem.rows, limits=clock.for_tests(), progress=progress, checkpoint=checkpoint)
    if found.tests is None:
        return Result(
            None,
            float("inf"),
            "features",
            found.lower_bound,
            Status.UNKNOWN,
            Stats(clock.seconds, "search", found.stopped_by, dict(found.counters)),
        )
    stops: list[str] = []
    value = len(found.tests)
    trace = completed(lambda: tuple(e for e in found.trace if e.objective < float("inf")), stops)
    chosen = _Chosen(found.tests, value, found.lower_bound, "search", found.stopped_by, found.counters, trace)
    clock = completed(clock.main_over, stops)
    if ends_all(found.stopped_by) or stops:
        clock = clock.ended()
    table, size = completed(lambda: _sized(problem, [chosen.tests], clock))
    used = tuple(np.unique(table.feature[table.feature >= 0]).tolist())
    if len(used) < value:  # a search that was stopped may keep tests that the diagram does without
        chosen = replace(chosen, tests=used, value=len(used))
    return completed(lambda: _result(problem, table, chosen, size, clock))


def _choose(
    problem: BDDProblem, engine: str, clock: _Clock, progress: Progress | None, checkpoint: SearchFile | None
) -> _Chosen:
    """At most ``max_features`` tests with few errors, by the named engine."""
    rows, size = problem.rows, problem.max_features
    if engine == "greedy":
        tests = choose_tests(rows, size, lambda: clock.over)
        if clock.over and len(tests) < size:
            return _Chosen(tests, subset_errors(rows, tests), rows.unavoidable, "greedy", "time_limit", {})
        return _Chosen(tests, subset_errors(rows, tests), rows.unavoidable, "greedy", None, {})
    if engine == "heuristic":
        among = sorted(tests_of_cart(rows, size, lambda: clock.over))
        stopped_by = "time_limit" if clock.over else None  # the greedy tree may have been cut
        few = rows.select(among) if len(among) < rows.n_tests else rows  # of many tests, columns of bits take long
        found = best_subset(few, size, limits=clock.for_tests())
        tests = tuple(among[test] for test in found.tests or ())
        errors = subset_errors(rows, tests)
        return _Chosen(tests, errors, rows.unavoidable, "heuristic", found.stopped_by or stopped_by, found.counters)
    found = best_subset(rows, size, limits=clock.for_tests(), progress=progress, checkpoint=checkpoint)

    def chosen() -> _Chosen:
        tests = found.tests or ()
        trace = tuple(_real_event(problem, event) for event in found.trace if event.objective <= rows.total)
        return _Chosen(
            tests, subset_errors(rows, tests), found.lower_bound, "search", found.stopped_by, found.counters, trace
        )

    stops: list[str] = []
    made = completed(chosen, stops)
    return replace(made, stopped_by=stops[0]) if stops else made


def _by_solver(problem: BDDProblem, engine: str, limits: Limits, progress: Progress | None) -> Result:
    # Start-up time: the SAT solvers of the reference engines.
    from proofwood.engines.bdd.reference.options import options_of
    from proofwood.engines.bdd.reference.solve import solve as by_sat

    return by_sat(problem, options=options_of(engine), limits=limits, progress=progress)


# ----------------------------------------------------------------------------------------- order, labels, and size


def _sized(
    problem: BDDProblem, sets: Sequence[tuple[int, ...]], clock: _Clock, *, in_order: bool = False
) -> tuple[NodeTable, Part]:
    """A diagram over one of ``sets``, as small as time allows; after Ctrl-C over the first of them."""
    try:
        return _smallest_of(problem, sets, clock, in_order=in_order)
    except ENDED:
        table, size = _smallest_of(problem, sets[:1], clock.ended(), in_order=in_order)
    if len(sets) > 1 and size.objective > 0:
        size = replace(size, lower_bound=0.0, status=Status.FEASIBLE)
    return table, size


def _smallest_of(
    problem: BDDProblem, sets: Sequence[tuple[int, ...]], clock: _Clock, *, in_order: bool = False
) -> tuple[NodeTable, Part]:
    """The smallest diagram over one of ``sets``, by the rule for unknown cells; the first of equals.

    ``in_order``: the tests were chosen in the order they have, which a rule that fills cells branch by branch keeps.
    """
    hurry = no_time_for_table(len(sets[0]), clock.for_size().seconds)
    if len(sets[0]) > MOST_TESTS or (hurry and problem.unknown in (Unknown.SMALLEST, Unknown.MERGE)):
        return _sparse(problem, sets[0], clock)
    best: Smallest | None = None
    lower: int | None = None
    for tests in sets:
        if best is not None and clock.size_over():
            lower = 0
            break
        found = _diagram_of(problem, tests, None if best is None else best.n_splits, clock, in_order)
        lower = found.lower_bound if lower is None else min(lower, found.lower_bound)
        if best is None or found.n_splits < best.n_splits:
            best = found
    assert best is not None
    assert lower is not None
    lower = min(lower, best.n_splits)
    status = Status.OPTIMAL if lower == best.n_splits else Status.FEASIBLE
    table = diagram(best.tests, best.labels, problem.rows.n_classes)
    return problem.rows.refresh(table), Part("splits", float(best.n_splits), float(lower), status)


def _sparse(problem: BDDProblem, tests: Sequence[int], clock: _Clock) -> tuple[NodeTable, Part]:
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
    problem: BDDProblem, tests: Sequence[int], upper: int | None, clock: _Clock, in_order: bool
) -> Smallest:
    cells = CellTable.of(problem.rows, tests)
    if problem.unknown is Unknown.SMALLEST:
        return smallest_diagram(cells, upper=upper, limits=clock.for_size())
    fill = fill_parent if problem.unknown is Unknown.PARENT else fill_merge
    if in_order:
        labels = fill(cells)
        splits = count_splits(labels)
        return Smallest(cells.tests, labels, splits, splits, Status.OPTIMAL)
    return best_order(cells, fill, limits=clock.for_size())


# ---------------------------------------------------------------------------------------- nodes that have a price


def _priced(
    problem: BDDProblem, engine: str, clock: _Clock, progress: Progress | None, checkpoint: SearchFile | None
) -> Result:
    """Least errors plus price of nodes."""
    if engine not in ("auto", "search"):
        raise ValueError(f"engine={engine!r} knows no price of nodes: with alpha above 0 pass 'auto' or 'search'")
    if problem.unknown is not Unknown.SMALLEST:
        raise ValueError(
            f"unknown={str(problem.unknown)!r} and a price of nodes exclude each other: where nodes cost, cells that "
            "no row reaches take what makes the diagram cheapest, unknown='smallest'"
        )
    return cheapest_over_sets(problem, clock, progress, checkpoint)


# ------------------------------------------------------------------------------------------------------- results


def _result(problem: BDDProblem, table: NodeTable, chosen: _Chosen, size: Part, clock: _Clock) -> Result:
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


def _real_event(problem: BDDProblem, event: ProgressEvent) -> ProgressEvent:
    price = problem.cost.error_price
    reported = problem.cost.reported(price * int(event.objective), price * int(event.lower_bound))
    return ProgressEvent(event.seconds, *reported)


def _in_errors(problem: BDDProblem, progress: Progress | None) -> Progress | None:
    """Events of integer errors as the caller wants them, in real weight."""
    if progress is None:
        return None
    return lambda event: progress(_real_event(problem, event)) if event.objective <= problem.rows.total else None


@dataclass(frozen=True, slots=True)
class _Clock(Clock):
    """What is left of the limits, also for the secondary goal: a small diagram."""

    size_ends: float | None = None  # seconds from the start at which the search for a small diagram ends

    def main_over(self) -> _Clock:
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

    def ended(self) -> _Clock:
        """The same with no time left."""
        return replace(self, limits=replace(self.limits, seconds=0.0))

    def for_tests(self) -> Limits:
        """The time for choosing the tests: some is kept for the size of the diagram."""
        share, most = FOR_SIZE
        return self.left(0.0 if self.limits.seconds is None else min(share * self.limits.seconds, most))
