"""Diagrams as the paper finds them: fewest features without avoidable error, or fewest errors with H features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from proofwood import arguments
from proofwood.engines.bdd.oblivious import choose_tests
from proofwood.engines.bdd.over_chosen import Chosen, SizeClock, diagram_over
from proofwood.engines.bdd.subset.search import best_subset, subset_errors
from proofwood.engines.interrupts import ENDED, cause_of, completed, finished, raise_ended
from proofwood.engines.run import NO_ANSWER, BoundedRun, Clock, Stopped
from proofwood.model.node_table import IntArray
from proofwood.papers.maxsat_bdd import OF_ERRORS, OF_FEATURES, VARIANTS
from proofwood.papers.maxsat_bdd.clauses import BddVariables, Encoding, bdd_clauses
from proofwood.papers.maxsat_bdd.examples import Examples
from proofwood.papers.maxsat_bdd.heuristic import tests_of_cart
from proofwood.papers.maxsat_bdd.maxsat import ErrorFormula, minimize, table_of
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.result import NO_LIMITS, Limits, Progress, Result, Stats, Status
from proofwood.solvers.session import SOLVERS, SatSession

WITH_SOLVER = ("maxsat", *OF_FEATURES)
"""Variants whose solver chooses the labels of cells that no row reaches (BDD-S)."""
FIRST_DEPTH = 7
"""The number of features that is tried first, H_0 of the paper."""


def solve(
    problem: BDDProblem,
    *,
    variant: str | None = None,
    solver: str = "cadical195",
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """The decision diagram over the fewest tests, or with the fewest errors over ``max_features`` tests [1]_.

    The number of tests is found by one formula per number: from seven down while there is a diagram, else up. Equal
    rows of several classes count as rows of their heaviest class, or of any of the heaviest if they tie, so that errors
    which no test can avoid do not count. Errors are minimised by MaxSAT. Equal rows are one example of their weight.

    Parameters
    ----------
    problem : BDDProblem
    variant : one of :data:`VARIANTS`; None: "bdd2" for fewest features, "maxsat" for fewest errors
    solver : of the formulas, as python-sat knows it
    limits : wall-clock seconds; one thread is used
    progress : called from this thread at improvements and between slices of the solver; not of heuristics

    Returns
    -------
    Result
        In units of features (tests) or errors; parts are these and the splits. Tests stand in the order of the solver,
        or of the greedy choice, except for ``unknown="smallest"``, which chooses order and labels.

    Raises
    ------
    ValueError
        If the variant or solver does not exist, or cannot do what the problem asks for.

    References
    ----------
    .. [1] Hu, Huguet, Siala (2022), Optimizing Binary Decision Diagrams with MaxSAT for Classification, AAAI.
    """
    if variant is None:
        variant = OF_FEATURES[0] if problem.fewest else OF_ERRORS[0]
    _require(problem, variant, solver)
    clock = SizeClock(limits)
    if variant in WITH_SOLVER:
        return _by_solver(problem, variant, solver, clock, progress)
    try:
        tests, stopped_by = (_heuristic if variant == "heuristic" else _greedy)(problem, clock)
    except ENDED as error:
        tests, stopped_by = (), cause_of(error)
    rows, stops = problem.rows, [] if stopped_by is None else [stopped_by]
    errors = completed(lambda: subset_errors(rows, tests), stops)
    by = stops[-1] if stops else None
    chosen = Chosen(tests, errors, rows.unavoidable, variant, by, in_order=variant == "greedy")
    complete = not problem.smallest_set
    return finished(lambda over: diagram_over(problem, chosen, clock.ended() if over else clock, complete=complete))


def _require(problem: BDDProblem, variant: str, solver: str) -> None:
    arguments.choice(variant, "variant", VARIANTS)
    arguments.choice(solver, "solver", SOLVERS)
    if problem.cost.leaf_price:
        raise ValueError("engine='paper' knows no price of nodes: with alpha above 0 pass 'auto' or 'search'")
    fitting, goal = (OF_FEATURES, "the fewest features") if problem.fewest else (OF_ERRORS, "the fewest errors")
    if variant not in fitting:
        raise ValueError(f"variant={variant!r} is not about {goal}: pass one of {', '.join(map(repr, fitting))}")
    if problem.unknown is Unknown.SOLVER and variant not in WITH_SOLVER:
        raise ValueError(
            f"unknown='solver' takes the values that a solver chose, and variant={variant!r} has none: pass another "
            "unknown, or variant='maxsat'"
        )


# --------------------------------------------------------------------------------------------------------- heuristics


def _greedy(problem: BDDProblem, clock: SizeClock) -> tuple[tuple[int, ...], str | None]:
    """ODT where cells without rows follow their parent, OODG where subtables are merged."""
    tests = choose_tests(problem.rows, problem.max_features, lambda: clock.over)
    return tests, "time_limit" if clock.over and len(tests) < problem.max_features else None


def _heuristic(problem: BDDProblem, clock: SizeClock) -> tuple[tuple[int, ...], str | None]:
    """The best of the tests that a CART tree uses, by branch and bound in the place of MaxSAT."""
    rows = problem.rows
    among = sorted(tests_of_cart(rows, problem.max_features, lambda: clock.over))
    stopped_by = "time_limit" if clock.over else None  # the greedy tree may have been cut
    few = rows.select(among) if len(among) < rows.n_tests else rows  # of many tests, columns of bits take long
    found = best_subset(few, problem.max_features, limits=clock.for_tests())
    return tuple(among[test] for test in found.tests or ()), found.stopped_by or stopped_by


# ----------------------------------------------------------------------------------------------------------- formulas


def _by_solver(problem: BDDProblem, variant: str, solver: str, clock: SizeClock, progress: Progress | None) -> Result:
    for_tests = clock.for_tests() if problem.unknown is Unknown.SMALLEST else clock.left()
    stops: list[str] = []
    run, stopped_by = completed(lambda: _Run(problem, Clock(for_tests), progress), stops), None
    try:
        raise_ended(stops[0] if stops else None)
        run.offer(())
        run.prove(problem.rows.unavoidable if not problem.fewest else int(run.upper == NO_ANSWER))
        if not run.done:
            run.examples = Examples.of(problem.rows, run.clock.check)
            if problem.fewest:
                _fewest(run, "BDD1" if variant == "bdd1" else "BDD2", solver)
            else:
                _errors(run, solver)
    except Stopped as stop:
        stopped_by = str(stop)
    except ENDED as error:
        stopped_by = cause_of(error)
    engine = f"{variant} ({solver})"
    if run.features is None and problem.fewest:
        stats = Stats(clock.seconds, engine, stopped_by, dict(run.counters))
        return Result(None, math.inf, "features", float(run.lower), Status.UNKNOWN, stats, tuple(run.trace))
    chosen = completed(lambda: run.chosen(engine, stopped_by))
    complete = not problem.smallest_set
    return finished(lambda over: diagram_over(problem, chosen, clock.ended() if over else clock, complete=complete))


class _Run(BoundedRun):
    """The best features so far and the bound, in integer weight of errors or in numbers of features.

    Attributes
    ----------
    examples : what the formulas see
    features : the best ones, None before the first
    table : (2 ** n_features,) class numbers of the cells over them, None if no solver chose any
    """

    examples: Examples

    def __init__(self, problem: BDDProblem, clock: Clock, progress: Progress | None) -> None:
        super().__init__(clock, progress)
        self.problem = problem
        self.features: tuple[int, ...] | None = None
        self.table: IntArray | None = None

    def offer(self, features: Sequence[int], table: IntArray | None = None) -> None:
        """Take up features if they are better than the best, which is counted here."""
        rows = self.problem.rows
        value = subset_errors(rows, features)
        if self.problem.fewest:
            if value > rows.unavoidable:
                if features:
                    raise AssertionError(f"{len(features)} features leave {value - rows.unavoidable} avoidable errors")
                return
            value = len(features)
        if value < self.upper:
            best = tuple(features), table, self.possible(value)
            self.features, self.table, self.upper = best
            self.changed()

    def take(self, session: SatSession, v: BddVariables) -> None:
        """Take up the diagram of the last model."""
        places, features = range(1, v.depth + 1), range(1, v.n_features + 1)
        chosen = [r - 1 for i in places for r in features if session.value(v.a(r, i))]
        self.offer(chosen, table_of(v, session.value))

    def state(self) -> tuple[float, float]:
        """Objective and bound in the unit of the result."""
        if self.problem.fewest:
            return math.inf if self.upper == NO_ANSWER else float(self.upper), float(self.lower)
        cost = self.problem.cost
        upper = 2 * cost.total if self.upper == NO_ANSWER else cost.error_price * self.upper
        objective, lower = cost.reported(upper, cost.error_price * self.lower)
        return math.inf if self.upper == NO_ANSWER else objective, lower

    def chosen(self, engine: str, stopped_by: str | None) -> Chosen:
        """What is known at the end."""
        tests = self.features or ()
        value = len(tests) if self.problem.fewest else subset_errors(self.problem.rows, tests)
        labels = None if self.table is None else self.examples.classes[self.table]
        counters, trace = dict(self.counters), tuple(self.trace)
        return Chosen(tests, value, self.lower, engine, stopped_by, counters, trace, in_order=True, labels=labels)


def _fewest(run: _Run, encoding: Encoding, solver: str) -> None:
    """Linear search for the number of features: a formula for each, with all examples."""
    depth, examples = FIRST_DEPTH, run.examples
    while not run.done:
        depth = min(max(depth, run.lower), run.upper - 1, examples.n_features)
        with _session(run, solver) as session:
            v = BddVariables(session, depth, examples, values=encoding == "BDD2")
            session.extend(bdd_clauses(v, examples, encoding))
            answer = session.solve()
            if answer is None:
                raise Stopped(session.stopped_by)
            if answer:
                run.take(session, v)
                depth -= 1
            else:
                run.prove(depth + 1)
                depth += 1


def _errors(run: _Run, solver: str) -> None:
    """Fewest errors with at most ``max_features`` features."""
    depth = min(run.problem.max_features, run.examples.n_features)
    if depth == 0:
        run.prove(run.upper)
        return
    with _session(run, solver) as session:
        formula = ErrorFormula(session, run.examples, depth)
        minimize(session, formula, run, run.problem.rows.unavoidable, lambda: run.take(session, formula.variables))


@contextmanager
def _session(run: _Run, solver: str) -> Iterator[SatSession]:
    """A SAT session within the run's budget; its work is added to the counters."""
    clock = run.clock
    with SatSession(solver=solver, seconds=clock.seconds_left, on_slice=run.report, on_clauses=clock.check) as session:
        try:
            yield session
        finally:
            run.counters.update(Counter(session.counters))
