"""The portfolio for oblique splits: first thresholds, then bounds, construction, local search and exact search."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from proofwood.engines.diagram.fair import improve_fairly
from proofwood.engines.diagram.oblique.anneal import annealed, layers_of
from proofwood.engines.diagram.oblique.bounds import least_cost, lower_bounds
from proofwood.engines.diagram.oblique.exact import converts, relaxed
from proofwood.engines.diagram.oblique.heuristic import as_oblique, construct_oblique, holds_margins
from proofwood.engines.diagram.oblique.improve import improve_oblique
from proofwood.engines.diagram.oblique.planes import errors_of_one_split
from proofwood.engines.diagram.run import DiagramRun, Program
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.diagram.univariate import work_univariate
from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Limits

UNIVARIATE = (0.2, 10.0)
"""Time for the best diagram with thresholds: a share of the time left, and the most seconds."""
SIDES = (0.3, 60.0)
"""Time for the exact search over all ways in which hyperplanes separate the rows: a share, and the most seconds."""
EARLY = (0.03, 2.0)
"""Time for a first exact search before construction and local search: it can solve tables of about a dozen rows."""
BOUNDS = (0.1, 5.0)
"""Time for bounds: a share of the time left, and the most seconds."""
LAST = (0.5, 0.8)
"""At the end: the share of the time left for bounds, and then the share of the rest for the search."""
ONE_SPLIT = (0.1, 10.0)
"""Time to count the errors of a single split over all hyperplanes: a share of the time left, and the most seconds."""
ROUNDS = (0.01, 0.02, 0.04, 0.08, 0.1)
"""Time for each round of construction and local search, as a share of the time left; easy problems end early."""
MOST = 8.0
"""The most seconds of one round."""
ANNEALED = (0.25, 6.0)
"""Time for annealing: a share of the time left, and the most seconds. It runs once before the rounds and once after."""
RUN, ANNEALING = 3.0, 0.8
"""Approximate seconds of one run of annealing followed by local search, and the share of annealing in it."""
WITHOUT_LIMIT = 30.0
"""Seconds of the last search if the fit has no time limit."""


def search_univariate(run: DiagramRun, engine: str, random_state: int) -> None:
    """Work on ``run``, which has a univariate problem: offer its leaves, then use the univariate portfolio."""
    for code in range(run.problem.rows.n_classes):
        run.offer(Diagram.leaf(code), by="leaf")
    work_univariate(run, engine, random_state)


def solve_oblique(run: DiagramRun, engine: str, random_state: int, program: Program | None = None) -> str | None:
    """Work on ``run``, which has an oblique problem, until it is done or the time is over.

    Returns what stopped it early, or None.
    """
    problem = run.problem
    if run.clock.over:
        return "time_limit"
    run.prove(least_cost_of_equal_rows(problem), by="equal rows")
    _univariate_first(run, engine, random_state)
    one_split = _one_split(run)
    _bounds(run, one_split)
    exact = engine == "auto" and program is None
    if exact:
        search_sides(run, random_state, EARLY)
    _anneal(run, random_state, run.clock.share(*ANNEALED))
    _start(run, random_state)
    _anneal(run, random_state + 1, run.clock.share(*ANNEALED))
    _bounds(run, one_split)  # again: a better diagram rules out more numbers of nodes
    if exact:
        search_sides(run, random_state)
    if run.done:
        return None
    if exact:
        # In the remaining time, the mixed-integer model found nothing better
        # (decisions/0074-learning-engines-that-went).
        _to_the_end(run, one_split, random_state + 2)
        # All the time is used, though the last step may end a little before its end.
        return None if run.done or run.clock.seconds_left is None else "time_limit"
    if program is None:
        _improve(run, random_state + 1, run.clock.share(1.0, 30.0))
        return None
    stopped_by = program(run)
    if stopped_by != "interrupt" and not run.done:
        search_sides(run, random_state, (1.0, SIDES[1]))
    return stopped_by


def least_cost_of_equal_rows(problem: DiagramProblem) -> int:
    """A lower bound on the integer cost of all diagrams, from equal rows of different classes."""
    leaf = problem.cost.of_diagram(problem.leaf_errors, 0)
    return min(leaf, problem.cost.of_diagram(problem.rows.unavoidable, 1))


def _univariate_first(run: DiagramRun, engine: str, random_state: int) -> None:
    """Search the best diagram whose tests are thresholds, for a share of the time, and offer it."""
    axis = replace(run.problem, columns=None)
    if run.done or run.clock.over or axis.rows.n_tests == 0 or not converts(run.problem, lambda: run.clock.over):
        return
    inner = DiagramRun(axis, Limits(run.clock.share(*UNIVARIATE), run.clock.limits.threads), lower=run.lower)
    try:
        search_univariate(inner, "heuristic" if engine == "heuristic" else "search", random_state)
    finally:
        if inner.best is not None:
            _offer(run, as_oblique(run.problem, inner.best), "univariate")


def search_sides(run: DiagramRun, random_state: int, share: tuple[float, float] = SIDES) -> None:
    """Prove a bound by the exact univariate engines, if there are few ways to separate the rows by hyperplanes.

    Each way to separate the rows becomes a test of a univariate problem.
    """
    if run.done:
        return
    until = run.clock.seconds + run.clock.share(*share)
    made = relaxed(run.problem, seconds=(until - run.clock.seconds) / 4)
    left = until - run.clock.seconds
    if made is None or left <= 0:
        return
    # Bounds that need the margin are not valid here: these tests also separate rows that are nearer than the margin.
    lower = least_cost_of_equal_rows(run.problem)
    inner = DiagramRun(made.problem, Limits(left, run.clock.limits.threads), lower=lower)
    try:
        search_univariate(inner, "search", random_state)
    finally:
        if inner.best is not None and (found := made.diagram(inner.best)) is not None:
            _offer(run, found, "hyperplane search")
        run.prove(inner.lower, by="hyperplane search")


def _one_split(run: DiagramRun) -> int | None:
    """A lower bound on the integer weight that a diagram of one split misclassifies; None if it cannot be computed."""
    if run.done or run.clock.over:
        return None
    return errors_of_one_split(run.problem, seconds=run.clock.share(*ONE_SPLIT))


def _to_the_end(run: DiagramRun, one_split: int | None, random_state: int) -> None:
    """Use all the time that is left for bounds and search, and end with bounds.

    Without a time limit, the search gets ``WITHOUT_LIMIT`` seconds, since otherwise only a proof would end it.
    """
    left = run.clock.seconds_left
    if left is not None:
        _bounds(run, one_split, left * LAST[0])
    upper, seconds = run.upper, WITHOUT_LIMIT if left is None else run.clock.share(LAST[1], left)
    if layers_of(run.problem):
        _anneal(run, random_state, seconds)
    else:
        _improve(run, random_state, seconds)
    if run.upper < upper or left is not None:
        _bounds(run, one_split, run.clock.share(1.0, BOUNDS[1]) if left is None else run.clock.seconds_left)


def _bounds(run: DiagramRun, one_split: int | None, seconds: float | None = None) -> None:
    """Prove a lower bound for each number of nodes, and offer the small diagrams that this finds."""
    if run.done or run.clock.over:
        return
    errors = lower_bounds(
        run.problem,
        seconds=run.clock.share(*BOUNDS) if seconds is None else seconds,
        upper=run.upper,
        on_diagram=lambda diagram: _offer(run, diagram, "bounds"),
        counters=run.counters,
        one_split=one_split,
        whole=run.clock,
    )
    run.prove(least_cost(run.problem, errors), by="conflict bound")


def _offer(run: DiagramRun, diagram: Diagram, by: str) -> None:
    """Offer ``diagram`` if its hyperplanes keep the margin that the paper's model requires between rows."""
    if holds_margins(run.problem, diagram):
        run.offer(diagram, by=by)


def _start(run: DiagramRun, random_state: int) -> None:
    """Construct oblique diagrams in rounds, improve each by local search, and offer them."""
    for number, share in enumerate(ROUNDS):
        if run.done or run.clock.over:
            return
        seconds = run.clock.share(share, MOST) / 3
        seed = random_state + 100 * number
        diagram = construct_oblique(run.problem, random_state=seed, seconds=seconds, start=run.best)
        _offer(run, diagram, "construct")
        _improve(run, seed, seconds)


def _anneal(run: DiagramRun, random_state: int, seconds: float) -> None:
    """Find trees by annealing in runs of a few seconds, and offer them; each run ends with the local search."""
    until = run.clock.seconds + seconds
    for number in count():
        left = until - run.clock.seconds
        if run.done or left <= 0 or layers_of(run.problem) == 0:
            return
        seed = random_state + 1000 * number
        part = left / max(1, round(left / RUN))
        diagram = annealed(run.problem, random_state=seed, seconds=ANNEALING * part)
        if diagram is not None:
            _offer(run, diagram, "annealing")
        _improve(run, seed, (1 - ANNEALING) * part)


def _improve(run: DiagramRun, random_state: int, seconds: float) -> None:
    problem = run.problem
    if run.done or seconds <= 0 or run.best is None:
        return

    def search(leaning: DiagramProblem, diagram: Diagram, costs: IntArray, seed: int, time: float) -> Diagram:
        return improve_oblique(leaning, diagram, costs=costs, random_state=seed, seconds=time)

    if problem.rates or problem.penalties:
        improve_fairly(
            run, search, lambda one: _offer(run, one, "local search"), random_state=random_state, seconds=seconds
        )
        return
    best = improve_oblique(problem, run.best, random_state=random_state, seconds=seconds, target=run.lower)
    _offer(run, best, "local search")
