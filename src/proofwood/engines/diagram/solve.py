"""Decision diagrams of a given skeleton: the engines by name, and the result of what they found."""

from __future__ import annotations

from proofwood import arguments
from proofwood.engines.diagram.hyperplanes import solve_oblique
from proofwood.engines.diagram.run import DiagramRun, Program
from proofwood.engines.diagram.shape import Diagram, InterruptedSearchError, UnfinishedSearchError
from proofwood.engines.diagram.univariate import DEFAULT_SHARES, Shares, work_univariate
from proofwood.engines.interrupts import ENDED, cause_of, completed
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import NO_LIMITS, Limits, Progress, Result

ENGINES = ("auto", "search", "heuristic")
OBLIQUE_ENGINES = ("auto", "heuristic")


def solve(
    problem: DiagramProblem,
    *,
    engine: str = "auto",
    limits: Limits = NO_LIMITS,
    random_state: int = 0,
    shares: Shares = DEFAULT_SHARES,
    progress: Progress | None = None,
    program: Program | None = None,
) -> Result:
    """Diagram of the skeleton that costs least by eq. 18 and meets the constraints [1]_.

    Parameters
    ----------
    problem : DiagramProblem
    engine : one of ``ENGINES``. Oblique problems know ``OBLIQUE_ENGINES``
    limits : wall-clock seconds and threads
    random_state : seed of the construction, of the local search and of the solvers
    shares : how the time is divided
    progress : told of improvements, in shares of eq. 18
    program : takes the place of the searches of "auto" after the heuristics; exact searches follow, since they prove

    Returns
    -------
    Result
        Over the tests, or over the scaled columns if the problem is oblique. ``result.stats.engine`` names what found
        the diagram, ``result.stats.proved_by`` what closed the gap: "equal rows" (of different classes, which no test
        distinguishes), "tests bound", "search" (over sets of tests), "layers", "tree bound", "tree search", for oblique
        splits "conflict bound" and "hyperplane search"; "cost 0" if there is nothing to prove.

    Raises
    ------
    ValueError
        If the engine is unknown, or does not know oblique splits.

    References
    ----------
    .. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
    """
    arguments.choice(engine, "engine", ENGINES)
    if problem.oblique and engine not in OBLIQUE_ENGINES:
        raise ValueError(
            f"engine={engine!r} knows univariate splits only: for oblique ones pass one of "
            f"{', '.join(map(repr, OBLIQUE_ENGINES))}"
        )
    run = DiagramRun(problem, limits, progress)
    stopped_by: str | None = None
    try:
        for code in range(problem.rows.n_classes):
            run.offer(Diagram.leaf(code), by="leaf")
        if problem.oblique:
            stopped_by = solve_oblique(run, engine, random_state, program)
        else:
            stopped_by = work_univariate(run, engine, random_state, shares, program)
    except ENDED as interrupt:
        stopped_by = cause_of(interrupt)
        if isinstance(interrupt, (InterruptedSearchError, UnfinishedSearchError)):
            found = interrupt.diagram
            if found.n_splits == 0 or problem.oblique == (found.normals is not None):
                run.offer(found, by="local search")
    return completed(
        lambda: run.result("time_limit" if stopped_by is None and run.clock.over and not run.done else stopped_by)
    )
