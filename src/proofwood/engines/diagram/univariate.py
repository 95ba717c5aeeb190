"""The portfolio for univariate splits: construction, local search, bounds and exact engines, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from proofwood.engines.diagram.fair import improve_fairly
from proofwood.engines.diagram.heuristics import construct, improve
from proofwood.engines.diagram.layers import LayerSearch, suits
from proofwood.engines.diagram.run import DiagramRun, Program
from proofwood.engines.diagram.sets import SetSearch, search_sets
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.diagram.trees import fits_every_tree, solve_trees
from proofwood.engines.diagram.unrolled import Unroller
from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import DiagramProblem

TABLE_CELL = 2e-7
"""Seconds for each rank, to sort the rows by their columns."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How the time is divided. Each pair has a share of the time that is left, and a limit in seconds.

    Parameters
    ----------
    look : first search over sets, which solves small problems
    first_trees : bounds by optimal trees before the heuristics
    construct, improve : construction and local search
    layers_look, layers, layers_again : search over layers before the local search, after it, and after bounds by trees
    trees : bounds by optimal trees, and a second search over sets
    unrolled : bounds by optimal trees again, with searches that did not finish before
    sets, fair : third search over sets, and more local search, if there are constraints or penalties on rates
    starts, rounds : maximum numbers of starts of the construction, and of rounds of the local search, or None. If these
        limits are reached before the time limits, equal calls find equal diagrams
    """

    look: tuple[float, float] = (0.02, 0.2)
    first_trees: tuple[float, float] = (0.2, 10.0)
    construct: tuple[float, float] = (0.03, 0.3)
    improve: tuple[float, float] = (0.1, 5.0)
    layers_look: tuple[float, float] = (0.15, 8.0)
    layers: tuple[float, float] = (0.3, 120.0)
    layers_again: tuple[float, float] = (0.6, 600.0)
    trees: tuple[float, float] = (0.1, 10.0)
    unrolled: tuple[float, float] = (0.5, 120.0)
    sets: tuple[float, float] = (0.4, 120.0)
    fair: tuple[float, float] = (0.3, 30.0)
    starts: int | None = None
    rounds: int | None = None


DEFAULT_SHARES = Shares()


def steady_shares(n_rows: int, n_columns: int, seconds: float) -> Shares:
    """Shares with fixed numbers of starts and rounds, so that equal calls find equal diagrams.

    The numbers are small enough to end the heuristics before their time limit, on a machine of any usual speed: the
    heuristics take about a tenth of ``seconds``, and are allowed three tenths.
    """
    round_seconds = 3e-8 * n_rows**2 + 2e-5 * n_columns
    return Shares(improve=(0.3, 10.0), starts=300, rounds=max(100, int(0.1 * seconds / round_seconds)))


def work_univariate(
    run: DiagramRun,
    engine: str,
    random_state: int,
    shares: Shares = DEFAULT_SHARES,
    program: Program | None = None,
) -> str | None:
    """Work on ``run``, which has a univariate problem, until it is done or the time is over.

    Returns what stopped it early, or None.
    """
    problem = run.problem
    if run.clock.over:
        return "time_limit"
    search = SetSearch.of(problem)
    run.prove(search.lower, by="equal rows")
    by_layers = unroller = None
    if program is None and engine != "heuristic":
        by_layers = LayerSearch(problem) if suits(problem) else None
        # Sets of tests first: their errors bound every diagram, and the linear relaxation of the paper's program has no
        # such bound (decisions/0009-skeleton-diagrams).
        search_sets(search, run, seconds=run.clock.share(*shares.look))
        if run.done:
            return None
        unroller = Unroller(search, run)
        unroller.begin(run.clock.share(*shares.first_trees))
    start(run, random_state, shares, by_layers)
    if run.clock.over:
        return None
    if engine == "heuristic":
        improve_best(run, random_state + 1, seconds=run.clock.share(1.0, 10.0))
        return None
    if program is not None:
        return _by_program(run, search, program, shares)
    _prove(run, search, shares, by_layers, unroller)
    return _spend(run, search, random_state, shares)


def _spend(run: DiagramRun, search: SetSearch, random_state: int, shares: Shares) -> str | None:
    """Use the remaining time for sets of tests, then for better diagrams; return what stopped it, or None."""
    if run.problem.rates or run.problem.penalties:
        # Bounds ignore rates, so the search over sets seldom ends: better diagrams come first
        # (decisions/0074-learning-engines-that-went).
        search_sets(search, run, seconds=run.clock.share(*shares.sets))
        improve_best(run, random_state + 1, seconds=run.clock.share(*shares.fair), rounds=shares.rounds)
    search_sets(search, run, seconds=None)
    if run.done:
        return None
    # The sets that are left are too many to list: what time remains goes into better diagrams.
    improve_best(run, random_state + 2, seconds=run.clock.share(1.0, 30.0), rounds=shares.rounds)
    return None if shares.rounds is None or run.done else "time_limit"  # the rounds were chosen to fit the time


def start(
    run: DiagramRun, random_state: int, shares: Shares = DEFAULT_SHARES, by_layers: LayerSearch | None = None
) -> None:
    """Run the two heuristics: construction from the top, then local search from the best diagram.

    Between them, the search ``by_layers`` works for a short time, if it is given.
    """
    if run.problem.rows.n_tests == 0 or run.clock.over:
        return
    seconds = _with_table(run, run.clock.share(*shares.construct))
    made = construct(run.problem, random_state=random_state, seconds=seconds, n_starts=shares.starts)
    run.offer(made, by="construct")
    if by_layers is not None:
        by_layers.work(run, seconds=run.clock.share(*shares.layers_look))
    improve_best(run, random_state, seconds=_with_table(run, run.clock.share(*shares.improve)), rounds=shares.rounds)


def _with_table(run: DiagramRun, seconds: float) -> float:
    """``seconds`` plus the time to sort the rows first; at most half of the time left, but at least ``seconds``."""
    most = seconds + TABLE_CELL * run.problem.rows.ranks.size
    left = run.clock.seconds_left
    return most if left is None else min(most, max(seconds, left / 2))


def improve_best(run: DiagramRun, random_state: int, *, seconds: float, rounds: int | None = None) -> None:
    """Run the local search from the best diagram. If there are fairness constraints, prices favour fair diagrams."""
    problem = run.problem
    if run.best is None or run.done or run.clock.over or problem.rows.n_tests == 0 or seconds <= 0:
        return
    if problem.rates or problem.penalties:

        def search(leaning: DiagramProblem, diagram: Diagram, costs: IntArray, seed: int, time: float) -> Diagram:
            return improve(leaning, diagram, costs=costs, random_state=seed, seconds=time, max_rounds=rounds)

        improve_fairly(
            run, search, lambda one: run.offer(one, by="local search"), random_state=random_state, seconds=seconds
        )
        return
    run.offer(
        improve(problem, run.best, random_state=random_state, seconds=seconds, target=run.lower, max_rounds=rounds),
        by="local search",
    )


def solve_by_trees(run: DiagramRun, shares: Shares = DEFAULT_SHARES) -> None:
    """Solve the problem by the search for trees, if only trees are allowed and all trees of the depth fit."""
    if not run.done and run.problem.tree and fits_every_tree(run.problem):
        solve_trees(run.problem, run, seconds=run.clock.share(*shares.trees))


def _prove(
    run: DiagramRun,
    search: SetSearch,
    shares: Shares,
    by_layers: LayerSearch | None = None,
    unroller: Unroller | None = None,
) -> None:
    """Raise the bound by layers, by trees and by sets, in turn."""
    if run.clock.over:
        return
    solve_by_trees(run, shares)
    if by_layers is not None:
        by_layers.work(run, seconds=run.clock.share(*shares.layers))
    unroller = Unroller(search, run) if unroller is None else unroller
    unroller.work(run.clock.share(*shares.trees))
    search_sets(search, run, seconds=run.clock.share(*shares.trees))
    unroller.work(run.clock.share(*shares.unrolled))
    if by_layers is not None:
        by_layers.work(run, seconds=run.clock.share(*shares.layers_again))


def _by_program(run: DiagramRun, search: SetSearch, program: Program, shares: Shares) -> str | None:
    """Search a diagram by ``program``, then a proof by the exact searches, since a solver's bound is not trusted."""
    stopped_by = program(run)
    if stopped_by == "interrupt" or run.done:
        return stopped_by
    search_sets(search, run, seconds=run.clock.share(*shares.look))
    _prove(run, search, shares)
    search_sets(search, run, seconds=run.clock.share(1.0, 120.0))
    return stopped_by
