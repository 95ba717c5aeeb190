"""Solves problems of decision diagrams with a given skeleton, by an engine chosen by name."""

from __future__ import annotations

from proofwood import arguments
from proofwood.engines.diagram.hyperplanes import solve_oblique
from proofwood.engines.diagram.run import DiagramRun, Program
from proofwood.engines.diagram.shape import Diagram, InterruptedSearchError, UnfinishedSearchError
from proofwood.engines.diagram.univariate import DEFAULT_SHARES, Shares, work_univariate
from proofwood.engines.interrupts import ENDED, cause_of, finished
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
    """Find the diagram of the skeleton that costs least by eq. 18 and meets the constraints [1]_.

    Parameters
    ----------
    problem : DiagramProblem
    engine : one of ``ENGINES``, or of ``OBLIQUE_ENGINES`` if the problem is oblique
    limits : wall-clock seconds and threads
    random_state : seed of the construction, of the local search and of the solvers
    shares : how the time is divided
    progress : called at improvements, with objective and bound in the unit of eq. 18
    program : replaces the searches of "auto" that follow the heuristics; then exact searches try to prove its result

    Returns
    -------
    Result
        The model is over the tests, or over the scaled columns if the problem is oblique. ``result.stats.engine`` names
        the engine that found the diagram. ``result.stats.proved_by`` names the bound or search that closed the gap:
        "equal rows" (rows of different classes that no test distinguishes), "tests bound", "search" (over sets of
        tests), "layers", "tree bound" or "tree search"; for oblique splits, "conflict bound" or "hyperplane search";
        "cost 0" if the cost is 0 and nothing has to be proved.

    Raises
    ------
    ValueError
        If the engine is unknown, or does not support oblique splits.

    References
    ----------
    .. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
    """
    arguments.choice(engine, "engine", ENGINES)
    if problem.oblique and engine not in OBLIQUE_ENGINES:
        raise ValueError(
            f"engine={engine!r} supports only univariate splits: for oblique splits, pass engine="
            f"{' or '.join(map(repr, OBLIQUE_ENGINES))}"
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
    return finished(lambda by: run.result(by or stopped_by))
