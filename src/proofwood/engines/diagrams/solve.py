"""Decision diagrams from sets of tests: one call for every engine that chooses tests.

An engine finds tests (and some find an order, or a whole table); the order that is left open, and the prediction of
cells that no row reaches, are decided here. Training errors depend on the set of tests alone [1]_.

References
----------
.. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI, sec. 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from proofwood.engines.diagrams.cells import CellTable, diagram
from proofwood.engines.diagrams.fill import fill_merge, fill_parent
from proofwood.engines.diagrams.smallest import best_order, cheapest_diagram, smallest_diagram
from proofwood.model.node_table import NodeTable
from proofwood.problem.diagram import DiagramProblem, Unknown
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits, Part, Progress, ProgressEvent, Result, Stats, Status

ENGINES = ("auto", "search", "sat", "maxsat", "rc2", "cpsat", "heuristic", "greedy")
SOLVERS = ("sat", "maxsat", "rc2", "cpsat")
"""Engines that hand the whole problem to a solver."""

FOR_SIZE = 0.5
"""Share of the time that is left when the tests are found, kept for the size of the diagram at the least."""
MAX_SETS = 10_000
"""Most sets of tests that are compared by size."""


def solve(
    problem: DiagramProblem, *, engine: str = "auto", limits: Limits = NO_LIMITS, progress: Progress | None = None
) -> Result:
    """The diagram of least cost, or with the fewest tests.

    Parameters
    ----------
    problem : DiagramProblem
    engine : one of :data:`ENGINES`
    limits : wall-clock seconds and threads
    progress : called at improvements of the errors, or of the number of tests

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
    clock = _Clock.start(limits)
    if engine in SOLVERS:
        return _by_solver(problem, engine, limits, progress)
    if problem.unknown is Unknown.SOLVER:
        raise ValueError(
            f"unknown='solver' takes the values that a solver chose, and engine={engine!r} has none: pass one of "
            f"{', '.join(map(repr, SOLVERS))}, or another unknown"
        )
    if problem.cost.leaf_price:
        return _priced(problem, engine, clock, progress)
    if problem.fewest:
        return _fewest(problem, engine, clock, progress)
    return _errors(problem, engine, clock, progress)


# --------------------------------------------------------------------------------------------- choosing the tests


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Tests that an engine chose, and what it proved: integer errors, or the number of tests."""

    tests: tuple[int, ...]
    value: int
    lower_bound: int
    engine: str
    counters: dict[str, int]
    stopped_by: str | None
    trace: tuple[ProgressEvent, ...] = ()


def _errors(problem: DiagramProblem, engine: str, clock: _Clock, progress: Progress | None) -> Result:
    """Fewest errors over at most ``max_features`` tests; the size counts only among equals."""
    rows = problem.rows
    chosen = _choose(rows, problem.max_features, engine, clock, _in_errors(progress, rows))
    tables = [chosen.tests]
    complete = True
    if problem.smallest_set and chosen.stopped_by is None and engine in ("auto", "search"):
        from proofwood.engines.subset import optimal_subsets

        sets, complete = optimal_subsets(
            rows, problem.max_features, chosen.value, max_sets=MAX_SETS, limits=clock.rest(FOR_SIZE)
        )
        tables = list(sets) or tables
    best, size = _smallest_of(problem, tables, clock)
    if problem.smallest_set and not complete:
        size = replace(size, lower_bound=min(size.lower_bound, 0.0), status=Status.FEASIBLE)
    return _result(problem, best, chosen, "errors", size, clock)


def _fewest(problem: DiagramProblem, engine: str, clock: _Clock, progress: Progress | None) -> Result:
    """Fewest tests with no avoidable error."""
    from proofwood.engines.subset import fewest_tests

    if engine in ("heuristic", "greedy"):
        raise ValueError(
            f"engine={engine!r} looks for few errors within max_features: for objective='features' pass 'auto', "
            "'search' or 'sat'"
        )
    rows = problem.rows
    found = fewest_tests(rows, limits=clock.rest(), progress=progress)
    chosen = _Chosen(
        found.tests, len(found.tests), found.lower_bound, "search", dict(found.counters), found.stopped_by, found.trace
    )
    best, size = _smallest_of(problem, [chosen.tests], clock)
    return _result(problem, best, chosen, "features", size, clock)


def _choose(rows: RankedRows, size: int, engine: str, clock: _Clock, progress: Progress | None) -> _Chosen:
    """Tests of at most ``size`` with few errors, by the named engine."""
    from proofwood.engines.subset import best_subset

    if engine == "greedy":
        from proofwood.engines.greedy.oblivious import choose_tests

        tests = tuple(choose_tests(rows, size))
        return _Chosen(tests, CellTable.of(rows, tests).errors, rows.unavoidable, "greedy", {}, None)
    if engine == "heuristic":
        from proofwood.engines.greedy.heuristic import tests_of_cart

        among = np.array(sorted(tests_of_cart(rows, size)), dtype=np.int64)
        found = best_subset(rows.select(among), size, limits=clock.rest(1 - FOR_SIZE), progress=None)
        tests = tuple(int(among[test]) for test in found.tests)
        return _Chosen(tests, found.errors, rows.unavoidable, "heuristic", dict(found.counters), found.stopped_by)
    found = best_subset(rows, size, limits=clock.rest(1 - FOR_SIZE), progress=progress)
    return _Chosen(
        found.tests, found.errors, found.lower_bound, "search", dict(found.counters), found.stopped_by, found.trace
    )
