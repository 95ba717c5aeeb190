"""Decision diagrams by SAT and MaxSAT: fewest features without avoidable error, or fewest errors with H features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from proofwood.engines.bdd.cells import MOST_TESTS, CellTable, diagram
from proofwood.engines.bdd.fill import fill_merge, fill_parent
from proofwood.engines.bdd.reference import maxsat_anytime
from proofwood.engines.bdd.reference.canonical import first_features
from proofwood.engines.bdd.reference.clauses import BddVariables, Encoding, classified, structure
from proofwood.engines.bdd.reference.examples import Examples, enough_features, greedy_features
from proofwood.engines.bdd.reference.maxsat_encode import CellFormula, ErrorFormula, PairFormula, table_of
from proofwood.engines.bdd.reference.options import AS_PRINTED, BddSatOptions
from proofwood.engines.bdd.reference.run import BDDRun, ClockedSink
from proofwood.engines.bdd.smallest import essential_tests, smallest_diagram
from proofwood.engines.bdd.sparse import no_time_for_table, sparse_diagram
from proofwood.engines.interrupts import ENDED, cause_of, completed, ends_all, raise_ended
from proofwood.engines.run import Clock, Stopped
from proofwood.model.node_table import IntArray, NodeTable
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.problem.objectives import proof
from proofwood.result import NO_LIMITS, Limits, Part, Progress, ProgressEvent, Result, Stats, Status
from proofwood.solvers import SatSession, Totalizer

__all__ = ["AS_PRINTED", "BddSatOptions", "solve"]

DEFAULT_OPTIONS = BddSatOptions()
FOR_SIZE = 0.1, 2.0
"""Share of the time limit, and most seconds, kept for the order and labels of the smallest diagram."""


def solve(
    problem: BDDProblem,
    *,
    options: BddSatOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    start: NodeTable | None = None,
    progress: Progress | None = None,
) -> Result:
    """The decision diagram over the fewest tests, or with the fewest errors over ``max_features`` tests [1]_.

    The number of tests is found by one formula per number, as in the paper: from ``first_depth`` down while there is
    a diagram, else up; equal rows of several classes count as rows of their heaviest class, or of any of the heaviest
    if they tie, so that errors which no test can avoid do not count. Errors are minimised by MaxSAT.

    Parameters
    ----------
    problem : BDDProblem
    options : engine and formulas; none changes what is proved
    limits : wall-clock seconds; one thread is used
    start : a diagram to begin with
    progress : called from this thread at improvements and about five times a second

    Returns
    -------
    Result
        In units of features (tests) or errors; parts are these and the splits. Tests stand in the order of the solver
        (ascending with ``symmetry``, with pairs, and if ``canonical``), but for ``unknown="smallest"``, which chooses
        order and labels. With ``unknown="solver"``, and a formula that has no cells, a last formula over the chosen
        tests asks the SAT solver for a table. A run that completes returns the lexicographically first of the best
        sets of tests, for any order of the rows and any engine, if ``canonical`` is on, ``unknown`` is not "solver",
        and time is left for it.

    Raises
    ------
    ValueError
        If the problem has a price of nodes, if the engine does not suit it, or ``start`` has too many tests.

    References
    ----------
    .. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
    """
    engine = _engine(problem, options)
    clock = Clock(limits)
    try:
        examples = Examples.of(problem.rows, reduce=options.reduce, settle=problem.fewest, check=clock.check)
    except (Stopped, MemoryError, KeyboardInterrupt) as end:
        by = str(end) if isinstance(end, Stopped) else "memory_limit" if isinstance(end, MemoryError) else "interrupt"
        return completed(lambda: _constant(problem, engine, by, clock))
    if limits.seconds is not None and problem.unknown is Unknown.SMALLEST:
        for_size = min(FOR_SIZE[0] * limits.seconds, FOR_SIZE[1])
        clock = replace(clock, limits=replace(limits, seconds=limits.seconds - for_size))
    stops: list[str] = []
    bound = completed(lambda: _first_bound(problem, examples), stops)
    run = completed(lambda: BDDRun(problem, examples, clock, progress, lower=bound), stops)
    known = () if start is None else _features(start, problem, examples)
    stopped_by = None
    try:
        raise_ended(stops[0] if stops else None)
        _first_models(run, known if start is not None else None, options)
        if not run.done and problem.fewest:
            _fewest(run, options)
        elif not run.done:
            _errors(run, options)
        if options.canonical and run.done and problem.unknown is not Unknown.SOLVER:
            first_features(run, int(run.upper) if problem.fewest else problem.max_features, options.solver)
    except Stopped as stop:
        stopped_by = str(stop)
    except ENDED as error:
        stopped_by = cause_of(error)
    name = f"{engine} ({options.solver})"
    if ends_all(stopped_by):  # no time is left for the size of the diagram
        limits = replace(limits, seconds=0.0)
    return completed(lambda: _result(run, name, options, None if run.done else stopped_by, limits))


def _engine(problem: BDDProblem, options: BddSatOptions) -> str:
    """The engine that the problem asks for, or that suits it."""
    engine = options.engine
    if problem.cost.leaf_price:
        raise ValueError(
            f"engine={engine!r} knows no price of nodes: with alpha above 0 pass engine='search' (or 'auto')"
        )
    if engine == "auto":
        return "sat" if problem.fewest else "maxsat"
    if problem.fewest and engine != "sat":
        raise ValueError(f"engine={engine!r} minimises errors: for the fewest features pass engine='sat' or 'search'")
    if not problem.fewest and engine == "sat":
        raise ValueError(
            "engine='sat' finds the fewest features: for the fewest errors within max_features pass 'maxsat' or "
            "'search'"
        )
    return engine


def _first_bound(problem: BDDProblem, examples: Examples) -> int:
    return 0 if problem.fewest else problem.rows.unavoidable


def _features(start: NodeTable, problem: BDDProblem, examples: Examples) -> tuple[int, ...]:
    """Features that a diagram tests."""
    tests = np.unique(start.feature[start.feature >= 0])
    if not problem.fewest and tests.size > problem.max_features:
        raise ValueError(f"start asks {tests.size} tests, where max_features={problem.max_features}")
    features = np.unique(examples.feature_of[tests])
    found = tuple(features[features >= 0].tolist())
    if problem.fewest and examples.errors(found) > examples.constant:
        raise ValueError("start makes errors that can be avoided, where none are permitted")
    return found


def _first_models(run: BDDRun, start: tuple[int, ...] | None, options: BddSatOptions) -> None:
    """A constant, the start, and the greedy features: what is known before the first formula."""
    examples, problem = run.examples, run.problem
    alone = examples.errors(())
    if not problem.fewest or alone == examples.constant:
        run.offer(())
    if start is not None and len(start) <= MOST_TESTS:
        run.offer(start)
    if problem.fewest:
        run.prove(0 if alone == examples.constant else 1)
        if options.greedy and not run.done:
            enough = enough_features(examples, run.clock.check)
            if len(enough) <= MOST_TESTS:
                run.offer(enough)
        return
    if options.greedy:
        run.offer(greedy_features(examples, problem.max_features, run.clock.check))
    if min(problem.max_features, examples.n_features) == 0:
        run.prove(int(run.upper))


@contextmanager
def _session(run: BDDRun, options: BddSatOptions, turns: maxsat_anytime.Turns | None = None) -> Iterator[SatSession]:
    """A SAT session within the run's budget; its work is added to the counters."""
    watch = run.report if turns is None else turns
    with SatSession(solver=options.solver, seconds=run.clock.seconds_left, on_slice=watch) as session:
        try:
            yield session
        finally:
            run.counters.update(Counter(session.counters))


# ------------------------------------------------------------------------------------------------ fewest features


def _fewest(run: BDDRun, options: BddSatOptions) -> None:
    """Linear search for the number of features."""
    if options.encoding == "pairs":
        _fewest_by_pairs(run, options)
        return
    depth = options.first_depth
    needed: list[int] = [] if options.lazy else list(range(1, run.examples.n_examples + 1))
    while not run.done:
        depth = int(min(max(depth, run.lower), run.upper - 1, run.examples.n_features))
        found = _diagram_of_depth(run, depth, options.encoding, options, needed)
        if found is None:
            run.prove(depth + 1)
            depth += 1
        else:
            features, table = found
            run.offer(features, table)
            depth = len(features) - 1


def _diagram_of_depth(
    run: BDDRun, depth: int, encoding: Encoding, options: BddSatOptions, needed: list[int]
) -> tuple[list[int], IntArray] | None:
    """Features and table of a diagram of this depth that makes no avoidable error, None if there is none.

    The formula is about the examples ``needed``, to which examples are added that its models get wrong, one per cell,
    until a model has features that are enough for all; cells may then need other labels.
    """
    examples = run.examples
    with _session(run, options) as session:
        sink = ClockedSink(session, run)
        v = BddVariables(sink, depth, examples, values=encoding == "BDD2")
        sink.extend(structure(v, symmetry=options.symmetry, bead=options.bead))
        fresh = list(needed)
        while True:
            for q in fresh:
                sink.extend(classified(v, examples, encoding, q))
            answer = session.solve()
            run.counters["examples"] = max(run.counters["examples"], len(needed))
            if answer is None:
                raise Stopped(session.stopped_by)
            if not answer:
                return None
            positions = range(1, depth + 1)
            features = [r - 1 for i in positions for r in range(1, v.n_features + 1) if session.value(v.a(r, i))]
            table = table_of(v, session.value)
            if examples.errors(features) == examples.constant:
                return features, table
            cell = examples.cells(features)
            wrong = np.flatnonzero(~examples.allowed[np.arange(cell.size), table[cell]])
            fresh = (wrong[np.unique(cell[wrong], return_index=True)[1]] + 1).tolist()
            needed += fresh


def _fewest_by_pairs(run: BDDRun, options: BddSatOptions) -> None:
    """The same search where features must separate pairs of unlike rows: one formula for all numbers."""
    examples = run.examples
    with _session(run, options) as session:
        formula = PairFormula(ClockedSink(session, run), examples, None, lazy=True, errors=False, check=run.clock.check)
        most = int(min(run.upper - 1, examples.n_features))
        number = Totalizer(session, formula.selected, cap=most, check=run.clock.check)
        depth = options.first_depth
        while not run.done:
            depth = int(min(max(depth, run.lower), run.upper - 1, examples.n_features))
            answer = session.solve(number.at_most(depth))
            if answer is None:
                raise Stopped(session.stopped_by)
            if not answer:
                run.prove(depth + 1)
                depth += 1
                continue
            added = formula.refine(session.value)
            run.counters["pairs_added"] += added
            if not added:
                features = formula.chosen(session.value)
                run.offer(features)
                depth = len(features) - 1


# --------------------------------------------------------------------------------------------------- fewest errors


def _errors(run: BDDRun, options: BddSatOptions) -> None:
    """Fewest errors with at most ``max_features`` features, by MaxSAT."""
    depth = min(run.problem.max_features, run.examples.n_features)
    turns = maxsat_anytime.Turns(run)
    with _session(run, options, turns) as session:
        sink = ClockedSink(session, run)
        found: ErrorFormula
        if options.structure == "cells":
            found = CellFormula(sink, run.examples, depth, symmetry=options.symmetry, bead=options.bead)
        else:
            found = PairFormula(sink, run.examples, depth, lazy=True, check=run.clock.check)
        maxsat_anytime.minimize(session, turns, found, run, below=options.below)


# ------------------------------------------------------------------------------------------------------- results


def _constant(problem: BDDProblem, engine: str, stopped_by: str, clock: Clock) -> Result:
    """The answer of a run that ended before it had seen the rows: a single leaf, and no bound."""
    seconds = clock.seconds
    stats = Stats(seconds, engine, stopped_by)
    unit = "features" if problem.fewest else problem.cost.name
    if problem.fewest:
        return Result(None, math.inf, unit, 0.0, Status.UNKNOWN, stats)
    cells = CellTable.of(problem.rows, ())
    table = problem.rows.refresh(diagram((), cells.weights.argmax(axis=1), problem.rows.n_classes))
    objective = float(problem.real_cost(table))
    status = Status.OPTIMAL if objective == 0 else Status.FEASIBLE
    if status is Status.OPTIMAL:
        stats = replace(stats, stopped_by=None)
    parts = (Part("errors", objective, 0.0, status), Part("splits", 0.0, 0.0, Status.OPTIMAL))
    trace = (ProgressEvent(seconds, objective, 0.0),)
    return Result(table, objective, unit, 0.0, status, stats, trace, parts)


def _result(run: BDDRun, engine: str, options: BddSatOptions, stopped_by: str | None, limits: Limits) -> Result:
    """The best diagram with its proof, recounted."""
    problem = run.problem
    unit = "features" if problem.fewest else problem.cost.name
    if run.features is None:
        lower = run.reported(run.upper, run.lower)[1]
        stats = Stats(run.clock.seconds, engine, stopped_by, dict(run.counters))
        return Result(None, math.inf, unit, lower, Status.UNKNOWN, stats, tuple(run.trace))
    table, size = _diagram(run, options, limits)
    upper = run.upper
    if problem.fewest:  # a run that was stopped may keep tests that the diagram does without
        upper = np.unique(table.feature[table.feature >= 0]).size
    errors = problem.rows.errors(table)
    expected = problem.rows.unavoidable if problem.fewest else int(run.upper)
    if errors != expected:
        raise AssertionError(f"the diagram gets {errors} wrong, the solver counted {expected}")
    objective, lower = run.reported(upper, run.lower)
    status = Status.OPTIMAL if objective == lower else Status.FEASIBLE
    if not problem.fewest:
        price = problem.cost.error_price
        objective, lower, status = proof(
            problem.cost,
            price * errors,
            price * run.lower,
            lambda: problem.real_cost(table),
            complete=run.lower == errors,
        )
        if status is Status.WITHIN_GAP:  # what counts as equally few errors is not known without rounding
            size = replace(size, lower_bound=0.0, status=Status.FEASIBLE if size.objective else Status.OPTIMAL)
    part = Part("features" if problem.fewest else "errors", objective, lower, status)
    ended_by = None if status is Status.OPTIMAL else stopped_by
    stats = Stats(run.clock.seconds, engine, ended_by, dict(run.counters))
    return Result(table, objective, unit, lower, status, stats, run.whole_trace(objective, lower), (part, size))


def _diagram(run: BDDRun, options: BddSatOptions, limits: Limits) -> tuple[NodeTable, Part]:
    """Node table over the best tests by the rule for unknown cells, and what is known of its size."""
    assert run.features is not None
    rows, unknown = run.problem.rows, run.problem.unknown
    chosen = run.examples.tests[list(run.features)].tolist()
    left = limits.secondary(run.clock.seconds).seconds
    if unknown in (Unknown.SMALLEST, Unknown.MERGE) and no_time_for_table(len(chosen), left):
        table = rows.refresh(sparse_diagram(rows, chosen))
        status = Status.OPTIMAL if table.n_splits == 0 else Status.FEASIBLE
        return table, Part("splits", float(table.n_splits), 0.0, status)
    cells = CellTable.of(rows, chosen)
    tests, lower = cells.tests, essential_tests(cells)
    if unknown is Unknown.SMALLEST:
        found = smallest_diagram(cells, limits=limits.secondary(run.clock.seconds))
        tests, labels, lower = found.tests, found.labels, found.lower_bound
    elif unknown is Unknown.PARENT:
        labels = fill_parent(cells)
    elif unknown is Unknown.MERGE:
        labels = fill_merge(cells)
    else:
        labels = _labels_of_solver(run, cells, options)
    table = rows.refresh(diagram(tests, labels, rows.n_classes))
    lower = min(lower, table.n_splits)
    if run.problem.smallest_set:
        lower = 0  # another set of as few errors may have a smaller diagram
    status = Status.OPTIMAL if lower == table.n_splits else Status.FEASIBLE
    return table, Part("splits", float(table.n_splits), float(lower), status)


def _labels_of_solver(run: BDDRun, cells: CellTable, options: BddSatOptions) -> IntArray:
    """The solver's values, but for cells where they cost more than necessary: a model need not be a best one."""
    if run.table is not None and run.table.size == len(cells.weights):
        labels = run.examples.classes[run.table]
    else:
        labels = _ask_for_table(run.examples, cells, options)
    right = cells.allowed[np.arange(labels.size), labels]
    return np.asarray(np.where(right, labels, cells.weights.argmax(axis=1)), dtype=np.int64)


def _ask_for_table(examples: Examples, cells: CellTable, options: BddSatOptions) -> IntArray:
    """A table that a SAT solver chooses, given only what the reached cells permit."""
    with SatSession(solver=options.solver) as session:
        allowed = cells.allowed[:, examples.classes]
        first = session.block(allowed.size)
        width = allowed.shape[1]
        variables = [range(first + width * cell, first + width * (cell + 1)) for cell in range(len(allowed))]
        for literals, may in zip(variables, allowed.tolist(), strict=True):
            session.add([literal for literal, possible in zip(literals, may, strict=True) if possible])
        session.solve()
        chosen = [[session.value(literal) for literal in literals] for literals in variables]
    return np.asarray(examples.classes[np.array(chosen).argmax(axis=1)], dtype=np.int64)
