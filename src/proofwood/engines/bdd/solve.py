"""Finds the best decision diagram: first the best set of tests by branch and bound, then a smallest diagram over it."""

from __future__ import annotations

from dataclasses import replace

from proofwood.engines.bdd.over_chosen import Chosen, SizeClock, diagram_over
from proofwood.engines.bdd.price_search import MAX_SETS, cheapest_over_sets
from proofwood.engines.bdd.subset.fewest import fewest_tests
from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets, subset_errors
from proofwood.engines.bdd.subset.tree_tests import start_of_trees
from proofwood.engines.interrupts import ENDED, cause_of, completed, ends_all, finished
from proofwood.engines.recorded import Recorded
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.bdd import BDDProblem, Unknown
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats, Status

_KEPT = "set of tests"
"""Name in a checkpoint of the best set and bound, for a run that has less time."""


def solve(
    problem: BDDProblem,
    *,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> Result:
    """Find the diagram of least cost, or the diagram with the fewest tests.

    Parameters
    ----------
    problem : BDDProblem
    limits : wall-clock seconds and threads
    progress : called when the errors, or the number of tests, improve
    checkpoint : file with the proofs of earlier searches, to which this search adds its proofs

    Returns
    -------
    Result
        Each split of the model names a test of ``problem.rows``, with threshold 0.5. ``parts`` are errors (or features)
        and splits. Objective, bound and status are those of the first part. If nodes have a price, the only part is
        the priced sum.

    Raises
    ------
    ValueError
        If ``unknown="solver"``, or if nodes have a price and ``unknown`` is not "smallest".
    """
    clock = SizeClock(limits)
    if problem.unknown is Unknown.SOLVER:
        raise ValueError(
            "unknown='solver' needs the labels that a SAT solver chose, and this engine uses no solver: pass "
            "engine='paper', or another value for unknown"
        )
    # Training errors depend only on the set of tests. So the set is searched first, and then its order and the labels
    # of free cells: decisions/0007-sets-of-tests-first.
    if problem.cost.leaf_price:
        return _priced(problem, clock, progress, checkpoint)
    if problem.fewest:
        return _fewest(problem, clock, progress, checkpoint)
    return _errors(problem, clock, progress, checkpoint)


def _errors(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Result:
    """The diagram with the fewest errors over at most ``max_features`` tests; of equally good diagrams, a small one."""
    rows = problem.rows
    try:
        chosen = _choose(problem, clock, _in_errors(problem, progress), checkpoint)
    except ENDED as error:  # outside the search itself, which catches it: no test is known yet
        chosen = Chosen((), subset_errors(rows, ()), rows.unavoidable, "search", cause_of(error))
    if checkpoint is not None:
        stops: list[str] = []
        chosen = completed(lambda: _with_kept(problem, chosen, Recorded(checkpoint, _KEPT, ("bound", "set"))), stops)
        chosen = chosen.ended(stops[0] if stops else None)
    sets, complete, stop = [chosen.tests], not problem.smallest_set, None
    if problem.smallest_set and chosen.value == chosen.lower_bound:
        if ends_all(chosen.stopped_by):
            clock = clock.ended()
        found, complete, stopped_by = optimal_subsets(
            rows, problem.max_features, chosen.value, max_sets=MAX_SETS, limits=clock.left(), checkpoint=checkpoint
        )
        sets = list(dict.fromkeys([chosen.tests, *found]))
        if ends_all(stopped_by):
            stop = stopped_by
    return finished(lambda by: diagram_over(problem, chosen.ended(by or stop), clock, sets=sets, complete=complete))


def _with_kept(problem: BDDProblem, chosen: Chosen, kept: Recorded) -> Chosen:
    """The better ones of the sets and bounds of this run and of earlier ones, which are written.

    Not all that a run finds is in the records of its searches, such as tests of trees. A set is looked at last, so that
    a completed search ends in the same one as a search that was never stopped.
    """
    rows, lower = problem.rows, max([chosen.lower_bound, *kept.rows["bound"]])
    with kept.contradictions():
        if not all(0 <= test < rows.n_tests for tests in kept.rows["set"] for test in tests):
            raise ValueError(f"a recorded set has a test beyond the {rows.n_tests} of this problem")
        known = [(subset_errors(rows, tests), tuple(tests)) for tests in kept.rows["set"]]
        value, tests = min([(chosen.value, chosen.tests), *known], key=lambda one: one[0])
        if lower > value:
            raise ValueError(f"a recorded bound, {lower}, exceeds the errors of a set of tests, {value}")
    if (value, lower) != (chosen.value, chosen.lower_bound):
        chosen = replace(chosen, tests=tests, value=value, lower_bound=lower)
    if not known or lower > max(kept.rows["bound"]) or value < min(errors for errors, _ in known):
        kept.keep({"bound": [lower], "set": [list(tests)]})
    return chosen


def _fewest(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Result:
    """The diagram with the fewest tests that makes only unavoidable errors."""
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
    return finished(lambda by: diagram_over(problem, chosen.ended(by or (stops[0] if stops else None)), clock))


def _choose(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Chosen:
    """A set of at most ``max_features`` tests with the fewest errors found in time."""
    rows = problem.rows
    found = best_subset(rows, problem.max_features, limits=clock.for_tests(), progress=progress, checkpoint=checkpoint)

    def chosen() -> Chosen:
        tests = found.tests or ()
        if not tests and found.stopped_by == "time_limit" and problem.max_features:
            # with a checkpoint, none were tried
            good, ended = start_of_trees(rows, problem.max_features, Limits(0.0))
            if ended == "interrupt":
                raise KeyboardInterrupt
            tests = min(tests, good, key=lambda of: subset_errors(rows, of))
        trace = tuple(_real_event(problem, event) for event in found.trace if event.objective <= rows.total)
        return Chosen(
            tests, subset_errors(rows, tests), found.lower_bound, "search", found.stopped_by, found.counters, trace
        )

    stops: list[str] = []
    made = completed(chosen, stops)
    return made.ended(stops[0]) if stops else made


def _priced(problem: BDDProblem, clock: SizeClock, progress: Progress | None, checkpoint: SearchFile | None) -> Result:
    """The diagram with the least sum of errors and price of nodes."""
    if problem.unknown is not Unknown.SMALLEST:
        raise ValueError(
            f"unknown={str(problem.unknown)!r} cannot be combined with a price of nodes: cells that no row reaches "
            "must then get the labels that make the diagram cheapest. Pass unknown='smallest'"
        )
    return cheapest_over_sets(problem, clock, progress, checkpoint)


def _real_event(problem: BDDProblem, event: ProgressEvent) -> ProgressEvent:
    price = problem.cost.error_price
    reported = problem.cost.reported(price * int(event.objective), price * int(event.lower_bound))
    return ProgressEvent(event.seconds, *reported)


def _in_errors(problem: BDDProblem, progress: Progress | None) -> Progress | None:
    """A callback that converts events from integer errors to real weight, and passes them to ``progress``."""
    if progress is None:
        return None
    return lambda event: progress(_real_event(problem, event)) if event.objective <= problem.rows.total else None
