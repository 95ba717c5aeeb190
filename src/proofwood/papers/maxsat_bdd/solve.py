"""Finds diagrams by the paper's methods: fewest features without avoidable error, or fewest errors with H features."""

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
"""The variants in which the solver chooses the labels of cells that no row reaches (BDD-S)."""
FIRST_DEPTH = 7
"""The number of features that is tried first (H_0 in the paper)."""


def solve(
    problem: BDDProblem,
    *,
    variant: str | None = None,
    solver: str = "cadical195",
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """Find a decision diagram over the fewest tests, or with the fewest errors over ``max_features`` tests [1]_.

    For the fewest tests, there is one formula for each number of tests. The search begins with seven; it goes down
    while a diagram exists, or else up. Errors are minimised by MaxSAT. Equal rows are one weighted example. Its right
    class is the heaviest one (each of them if several tie), so unavoidable errors do not count.

    Parameters
    ----------
    problem : BDDProblem
    variant : one of :data:`VARIANTS`; None means "bdd2" for the fewest features, and "maxsat" for the fewest errors
    solver : name of the SAT solver in python-sat
    limits : wall-clock seconds; one thread is used
    progress : called from this thread at improvements and between slices of the solver; heuristics do not call it

    Returns
    -------
    Result
        The objective is the number of features (tests) or the errors. ``parts`` has it and the number of splits. The
        order of tests is that of the solver or of the greedy choice. With ``unknown="smallest"``, order and labels are
        chosen afterwards to make the diagram small.

    Raises
    ------
    ValueError
        If the variant or solver does not exist, or cannot solve this kind of problem.

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
    return finished(lambda by: diagram_over(problem, chosen.ended(by), clock, complete=complete))


def _require(problem: BDDProblem, variant: str, solver: str) -> None:
    arguments.choice(variant, "variant", VARIANTS)
    arguments.choice(solver, "solver", SOLVERS)
    if problem.cost.leaf_price:
        raise ValueError(
            "engine='paper' does not support a price of nodes (alpha above 0): pass engine='auto' or 'search'"
        )
    fitting, goal = (OF_FEATURES, "the fewest features") if problem.fewest else (OF_ERRORS, "the fewest errors")
    if variant not in fitting:
        raise ValueError(f"variant={variant!r} cannot find {goal}: pass one of {', '.join(map(repr, fitting))}")
    if problem.unknown is Unknown.SOLVER and variant not in WITH_SOLVER:
        raise ValueError(
            f"unknown='solver' needs the labels that a SAT solver chose, and variant={variant!r} uses no solver: pass "
            "another value for unknown, or variant='maxsat'"
        )


# --------------------------------------------------------------------------------------------------------- heuristics


def _greedy(problem: BDDProblem, clock: SizeClock) -> tuple[tuple[int, ...], str | None]:
    """The tests of an oblivious tree. With ``unknown="parent"`` it is ODT of the paper, with "merge" OODG."""
    tests = choose_tests(problem.rows, problem.max_features, lambda: clock.over)
    return tests, "time_limit" if clock.over and len(tests) < problem.max_features else None


def _heuristic(problem: BDDProblem, clock: SizeClock) -> tuple[tuple[int, ...], str | None]:
    """The best set among the tests of a CART tree, found by branch and bound instead of MaxSAT."""
    rows = problem.rows
    among = sorted(tests_of_cart(rows, problem.max_features, lambda: clock.over))
    stopped_by = "time_limit" if clock.over else None  # the greedy tree may be incomplete
    few = rows.select(among) if len(among) < rows.n_tests else rows  # columns of bits take long for many tests
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
    chosen = finished(lambda by: run.chosen(engine, by or stopped_by))
    complete = not problem.smallest_set
    return finished(lambda by: diagram_over(problem, chosen.ended(by), clock, complete=complete))


class _Run(BoundedRun):
    """The best features so far and the bound, in integer weight of errors or in numbers of features.

    Attributes
    ----------
    examples : the examples of the formulas
    features : the best features so far, or None
    table : (2 ** n_features,) class number that the solver chose for each cell over ``features``, or None
    """

    examples: Examples

    def __init__(self, problem: BDDProblem, clock: Clock, progress: Progress | None) -> None:
        super().__init__(clock, progress)
        self.problem = problem
        self.features: tuple[int, ...] | None = None
        self.table: IntArray | None = None

    def offer(self, features: Sequence[int], table: IntArray | None = None) -> None:
        """Count the value of ``features``, and make them the best if they are better."""
        rows = self.problem.rows
        value = subset_errors(rows, features)
        if self.problem.fewest:
            if value > rows.unavoidable:
                if features:
                    raise AssertionError(
                        f"the solver's {len(features)} features leave avoidable errors of weight "
                        f"{value - rows.unavoidable}: expected none"
                    )
                return
            value = len(features)
        if value < self.upper:
            best = tuple(features), table, self.possible(value)
            self.features, self.table, self.upper = best
            self.changed()

    def take(self, session: SatSession, v: BddVariables) -> None:
        """Offer the features and the truth table of the solver's last model."""
        places, features = range(1, v.depth + 1), range(1, v.n_features + 1)
        chosen = [r - 1 for i in places for r in features if session.value(v.a(r, i))]
        self.offer(chosen, table_of(v, session.value))

    def state(self) -> tuple[float, float]:
        """The objective and the bound, in the unit of the result."""
        if self.problem.fewest:
            return math.inf if self.upper == NO_ANSWER else float(self.upper), float(self.lower)
        cost = self.problem.cost
        upper = 2 * cost.total if self.upper == NO_ANSWER else cost.error_price * self.upper
        objective, lower = cost.reported(upper, cost.error_price * self.lower)
        return math.inf if self.upper == NO_ANSWER else objective, lower

    def chosen(self, engine: str, stopped_by: str | None) -> Chosen:
        """The tests, labels and bound at the end of the run."""
        tests = self.features or ()
        value = len(tests) if self.problem.fewest else subset_errors(self.problem.rows, tests)
        labels = None if self.table is None else self.examples.classes[self.table]
        counters, trace = dict(self.counters), tuple(self.trace)
        return Chosen(tests, value, self.lower, engine, stopped_by, counters, trace, in_order=True, labels=labels)


def _fewest(run: _Run, encoding: Encoding, solver: str) -> None:
    """Search the fewest features linearly: for each number of features, solve a formula with all examples."""
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
    """Minimise the errors with at most ``max_features`` features, by MaxSAT."""
    depth = min(run.problem.max_features, run.examples.n_features)
    if depth == 0:
        run.prove(run.upper)
        return
    with _session(run, solver) as session:
        formula = ErrorFormula(session, run.examples, depth)
        minimize(session, formula, run, run.problem.rows.unavoidable, lambda: run.take(session, formula.variables))


@contextmanager
def _session(run: _Run, solver: str) -> Iterator[SatSession]:
    """A SAT session with the time left of ``run``; at its end, its counters are added to those of ``run``."""
    clock = run.clock
    with SatSession(solver=solver, seconds=clock.seconds_left, on_slice=run.report, on_clauses=clock.check) as session:
        try:
            yield session
        finally:
            run.counters.update(Counter(session.counters))
