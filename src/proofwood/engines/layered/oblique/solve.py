"""The portfolio for diagrams of hyperplanes: bounds, construction, local search, and the model of the paper."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

from proofwood.engines.layered.milp.solve import SOLVER_OF_ENGINE, Solver
from proofwood.engines.layered.run import LayeredRun
from proofwood.engines.layered.shape import Diagram
from proofwood.model.node_table import IntArray
from proofwood.problem.layered import LayeredProblem
from proofwood.result import Limits

BOUNDS = (0.1, 5.0)
"""Time for bounds: a share of what is left, and the most seconds."""
ROUNDS = (0.01, 0.02, 0.04, 0.08, 0.1)
"""Shares of the time that is left for rounds of construction and local search; problems that are easy end early."""
MOST = 8.0
"""Seconds of one round at most."""
PACKAGES: dict[Solver, str] = {"scip": "pyscipopt", "gurobi": "gurobipy"}
SMALL = 4_000
"""Rows times slots up to which the solver of scipy is given the model, where no better one is installed."""
LARGE = (0.5, 60.0)
"""Time for one more local search where there are more: solvers seldom better a diagram of that size."""


def solve_oblique(run: LayeredRun, engine: str, random_state: int) -> str | None:
    """Work on ``run`` until it is done or the time is up; what stopped a solver."""
    problem = run.problem
    _bounds(run)
    _start(run, random_state)
    if not run.done:  # what is known now leaves fewer nodes to look at
        _bounds(run)
    if run.done:
        return None
    if engine == "heuristic":
        _improve(run, random_state + 1, run.share_of_time(1.0, 30.0))
        return None
    solver = SOLVER_OF_ENGINE.get(engine) or _installed(problem)
    if solver is None:
        _improve(run, random_state + 1, run.share_of_time(1.0, 30.0))
        return None
    from proofwood.engines.layered.milp.solve import solve

    if engine == "auto" and problem.rows.n_rows * problem.n_slots > SMALL:
        _improve(run, random_state + 1, run.share_of_time(*LARGE))
    stopped_by = solve(problem, run, solver=solver, seconds=run.seconds_left, threads=run.limits.threads)
    if engine == "auto" and stopped_by == "time_limit":  # the program may have been too large to begin with
        _improve(run, random_state + 2, run.share_of_time(1.0, 120.0))
    return stopped_by


def _installed(problem: LayeredProblem) -> Solver | None:
    """The best solver at hand; None if there is none that could do anything with a model of this size."""
    for solver, package in PACKAGES.items():
        if importlib.util.find_spec(package) is not None:
            return solver
    return "scipy" if problem.rows.n_rows * problem.n_slots <= SMALL else None


def _bounds(run: LayeredRun) -> None:
    """Bounds by number of nodes; the short chains that a closed bound comes from are offered."""
    from proofwood.engines.layered.oblique.bounds import least_cost, lower_bounds

    errors = lower_bounds(
        run.problem,
        seconds=run.share_of_time(*BOUNDS),
        upper=run.upper,
        on_diagram=lambda diagram: _offer(run, diagram, "bounds"),
    )
    run.prove(least_cost(run.problem, errors), by="conflict bound")


def _offer(run: LayeredRun, diagram: Diagram, by: str) -> None:
    """Offer ``diagram`` if its hyperplanes hold rows as far apart as the model of the paper asks."""
    from proofwood.engines.layered.oblique.heuristic import holds_margins

    if holds_margins(run.problem, diagram):
        run.offer(diagram, by=by)


def _start(run: LayeredRun, random_state: int) -> None:
    """Offer the best univariate diagram as hyperplanes, and what grows from hyperplanes at once."""
    from proofwood.engines.layered.oblique.heuristic import as_oblique, construct_oblique
    from proofwood.engines.layered.solve import Shares, start

    problem = run.problem
    axis = replace(problem, columns=None)
    for number, share in enumerate(ROUNDS):
        if run.done:
            return
        seconds = run.share_of_time(share, MOST) / 3
        if number < 2:
            inner = LayeredRun(axis, Limits(seconds, run.limits.threads), lower=run.lower)
            for code in range(problem.rows.n_classes):
                inner.offer(Diagram.leaf(code))
            start(inner, random_state + number, Shares(construct=(0.3, seconds), improve=(0.9, seconds)))
            assert inner.best is not None
            _offer(run, as_oblique(problem, inner.best), "univariate")
        if run.done:
            return
        seed = random_state + 100 * number
        _offer(run, construct_oblique(problem, random_state=seed, seconds=seconds, start=run.best), "construct")
        _improve(run, seed, seconds)


def _improve(run: LayeredRun, random_state: int, seconds: float) -> None:
    from proofwood.engines.layered.fair import improve_fairly
    from proofwood.engines.layered.oblique.improve import improve_oblique

    problem = run.problem
    if run.done or seconds <= 0 or run.best is None:
        return

    def search(leaning: LayeredProblem, diagram: Diagram, costs: IntArray, seed: int, time: float) -> Diagram:
        return improve_oblique(leaning, diagram, costs=costs, random_state=seed, seconds=time)

    if problem.rates or problem.penalties:
        improve_fairly(
            run, search, lambda one: _offer(run, one, "local search"), random_state=random_state, seconds=seconds
        )
        return
    best = improve_oblique(problem, run.best, random_state=random_state, seconds=seconds, target=run.lower)
    _offer(run, best, "local search")
