"""The best decision diagram: the best set of tests first, by branch and bound, then the smallest diagram over it."""

from __future__ import annotations

from dataclasses import replace

from proofwood.engines.bdd.over_chosen import Chosen, SizeClock, diagram_over
from proofwood.engines.bdd.price_search import MAX_SETS, cheapest_over_sets
from proofwood.engines.bdd.subset.fewest import fewest_tests
from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets, subset_errors
from proofwood.engines.interrupts import ENDED, cause_of, completed, ends_all, finished
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats, Status


def solve(
    problem: BDDProblem,
    *,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> Result:
    """The diagram of least cost, or with the fewest tests.

    Parameters
    ----------
    problem : BDDProblem
    limits : wall-clock seconds and threads
    progress : called at improvements of the errors, or of the number of tests
    checkpoint : what earlier searches for tests proved, and where these write what they prove

    Returns
    -------
    Result
        The model tests the tests of ``problem.rows`` at 0.5. ``parts`` are errors (or features) and splits; objective,
        bound and status are those of the first part, or of the priced sum where nodes have a price.

    Raises
    ------
    ValueError
        If cells that no row reaches are to have the values of a solver, or nodes a price and such cells not what makes
        the diagram cheapest.
    """
    clock = SizeClock(limits)
    if problem.unknown is Unknown.SOLVER:
        raise ValueError(
            "unknown='solver' takes the values that a solver chose, and the search has none: pass engine='paper', or "
            "another unknown"
        )
    # Training errors depend on the set of tests alone: the set is searched first, its order and the labels of free
    # cells after it: decisions/0007-sets-of-tests-first.
    if problem.cost.leaf_price:
        return _priced(problem, clock, progress, checkpoint)
    if problem.fewest:
        return _fewest(problem, clock, progress, checkpoint)
    return _errors(problem, clock, progress, checkpoint)


def _errors(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Result:
    """Fewest errors over at most ``max_features`` tests; size counts only among equals."""
    rows = problem.rows
    try:
        chosen = _choose(problem, clock, _in_errors(problem, progress), checkpoint)
    except ENDED as error:  # not in the search itself, which takes it: no test is known yet
        chosen = Chosen((), subset_errors(rows, ()), rows.unavoidable, "search", cause_of(error))
    sets, complete = [chosen.tests], not problem.smallest_set
    if problem.smallest_set and chosen.value == chosen.lower_bound:
        if ends_all(chosen.stopped_by):
            clock = clock.ended()
        found, complete, stopped_by = optimal_subsets(
            rows, problem.max_features, chosen.value, max_sets=MAX_SETS, limits=clock.left(), checkpoint=checkpoint
        )
        sets = list(dict.fromkeys([chosen.tests, *found]))
        if ends_all(stopped_by):
            clock = clock.ended()
    return finished(
        lambda over: diagram_over(problem, chosen, clock.ended() if over else clock, sets=sets, complete=complete)
    )


def _fewest(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Result:
    """Fewest tests with no avoidable error."""
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
    chosen = Chosen(found.tests, value, found.lower_bound, "search", found.stopped_by, found.counters, trace)
    return finished(lambda over: diagram_over(problem, chosen, clock.ended() if over or stops else clock))


def _choose(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Chosen:
    """At most ``max_features`` tests with few errors."""
    rows = problem.rows
    found = best_subset(rows, problem.max_features, limits=clock.for_tests(), progress=progress, checkpoint=checkpoint)

    def chosen() -> Chosen:
        tests = found.tests or ()
        trace = tuple(_real_event(problem, event) for event in found.trace if event.objective <= rows.total)
        return Chosen(
            tests, subset_errors(rows, tests), found.lower_bound, "search", found.stopped_by, found.counters, trace
        )

    stops: list[str] = []
    made = completed(chosen, stops)
    return replace(made, stopped_by=stops[0]) if stops else made


def _priced(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Result:
    """Least errors plus price of nodes."""
    if problem.unknown is not Unknown.SMALLEST:
        raise ValueError(
            f"unknown={str(problem.unknown)!r} and a price of nodes exclude each other: where nodes cost, cells that "
            "no row reaches take what makes the diagram cheapest, unknown='smallest'"
        )
    return cheapest_over_sets(problem, clock, progress, checkpoint)


def _real_event(problem: BDDProblem, event: ProgressEvent) -> ProgressEvent:
    price = problem.cost.error_price
    reported = problem.cost.reported(price * int(event.objective), price * int(event.lower_bound))
    return ProgressEvent(event.seconds, *reported)


def _in_errors(problem: BDDProblem, progress: Progress | None) -> Progress | None:
    """Events of integer errors as the caller wants them, in real weight."""
    if progress is None:
        return None
    return lambda event: progress(_real_event(problem, event)) if event.objective <= problem.rows.total else None
