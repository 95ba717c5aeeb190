"""Solves ODD by heuristics, the program in a solver process, and exact searches, which prove what a solver claims."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from proofwood import arguments
from proofwood.engines.diagram.oblique.draft import Draft, PricedRows
from proofwood.engines.diagram.oblique.heuristic import holds_margins
from proofwood.engines.diagram.run import LEAVES_ONLY, UNCONFIRMED, DiagramRun
from proofwood.engines.diagram.shape import Diagram, count
from proofwood.engines.diagram.solve import solve as search
from proofwood.engines.diagram.univariate import DEFAULT_SHARES, Shares
from proofwood.engines.run import NO_ANSWER, Clock
from proofwood.papers.odd import VARIANTS, scip, scipy
from proofwood.papers.odd.costs import PossibleCosts
from proofwood.papers.odd.decode import decode
from proofwood.papers.odd.model import Model, build, only_leaves
from proofwood.papers.odd.program import Answer
from proofwood.papers.odd.slots import Slots, shrunk
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import NO_LIMITS, Limits, Progress, Result
from proofwood.solvers import worker

_SOLVERS: Mapping[str, tuple[Callable[..., Answer], str, str]] = {
    "scipy": (scipy.solve_in_child, "scipy", "SciPy"),
    "scip": (scip.solve_in_child, "pyscipopt", "SCIP (PySCIPOpt)"),
}
CLAIMS = "solver claims"
"""Name of a counter: the lower bound on the integer cost that a solver claims. It proves nothing."""
_LAST_WORDS = 0.5
"""A solver stops before its limit, to send its answer: by this many seconds, but at most a tenth of its time."""
FIRST_PACE = 1e-6
"""Assumed seconds to build one entry of a program, before the first program was built."""
MOST_CELLS = 20_000_000
"""The largest approximate number of entries of a program; more would take gigabytes to build and to send."""
WRITE_AND_SEND = 2.0
"""Time to build a program and send it to its process, as a multiple of the time to build it."""
STEP_SHARE = 0.4
"""Share of the time left for the program of diagrams with one given number of nodes."""
PROOF = (0.4, 120.0)
"""Time to prove a solver's result: a share of the time left, and the most seconds."""


@dataclass(frozen=True, slots=True)
class ODDOptions:
    """The form of the program. The default is the printed form, with the symmetry breaking of the authors' code.

    Parameters
    ----------
    centred : subtract 1/2 from all coordinates, which halves the constants of eqs. 13 and 14
    shrink : leave out the slots that no diagram cheaper than the best can use; repeat this after each better diagram
    steps : first solve separate programs for diagrams of exactly 1, 2, ... up to ``steps`` nodes, which are small and
        have little symmetry; the program for all larger diagrams then has a row that excludes these
    """

    centred: bool = False
    shrink: bool = False
    steps: int = 0


AS_PRINTED = ODDOptions()
SMALLER = ODDOptions(centred=True, shrink=True, steps=3)
OPTIONS: Mapping[str, ODDOptions] = MappingProxyType({"scipy": AS_PRINTED, "scip": SMALLER})
"""The form of the program for each variant; a variant is named after its solver."""


def require(solver: str) -> None:
    """Raise ImportError unless the package of ``solver`` is installed."""
    if importlib.util.find_spec(_SOLVERS[solver][1]) is None:
        raise ImportError(
            f"the solver {solver!r} needs {_SOLVERS[solver][2]}, which is not installed: run "
            f'pip install "proofwood[{solver}]"'
        )


def solve(
    problem: DiagramProblem,
    *,
    variant: str = "scipy",
    limits: Limits = NO_LIMITS,
    random_state: int = 0,
    shares: Shares = DEFAULT_SHARES,
    progress: Progress | None = None,
) -> Result:
    """Find the diagram that costs least by eq. 18 and meets the constraints, by the program of the paper [1]_.

    The program begins with the best diagram from the heuristics of :func:`proofwood.engines.diagram.solve.solve`.

    Parameters
    ----------
    problem : DiagramProblem
    variant : one of :data:`VARIANTS`
    limits, random_state, shares, progress : as in the function ``solve`` named above; the solver uses one thread

    Returns
    -------
    Result
        As in the function ``solve`` named above. The counter "solver claims" is the lower bound that the solver claims.
        If no exact search has confirmed the solver's result in time, ``stats.stopped_by`` is "unconfirmed".

    Raises
    ------
    ValueError
        If the variant does not exist.
    ImportError
        If its solver is not installed; the message contains the command that installs it.

    References
    ----------
    .. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
    """
    arguments.choice(variant, "variant", VARIANTS)
    require(variant)

    def program(run: DiagramRun) -> str | None:
        left = run.clock.seconds_left
        seconds = None if left is None else left - min(PROOF[1], PROOF[0] * left)
        return improve(run, solver=variant, seconds=seconds, options=OPTIONS[variant]) or UNCONFIRMED

    return search(problem, limits=limits, random_state=random_state, shares=shares, progress=progress, program=program)


def improve(run: DiagramRun, *, solver: str, seconds: float | None, options: ODDOptions = AS_PRINTED) -> str | None:
    """Search diagrams cheaper than the best one of ``run`` with a solver, to the end or for ``seconds``.

    Every solution of the solver is decoded to a diagram, whose rows are routed again in floating point and counted; the
    solver's own objective is never used. The solver's bounds are converted to integers by
    :class:`~proofwood.papers.odd.costs.PossibleCosts`, and decide which program the solver gets next. They are not used
    as bounds of ``run``, since they depend on floating-point tolerances.

    Offered oblique diagrams keep the distance ``EPSILON`` between the rows of the two sides of each hyperplane, scaled
    into the norm of the problem, as in the paper.

    Parameters
    ----------
    run : DiagramRun that gets the diagrams
    solver : "scipy" or "scip"; both use one thread
    seconds : wall-clock limit; None for that of the run
    options : the form of the program

    Returns
    -------
    str or None
        None if the solver finished and claims that no diagram is better. Else what stopped it: "time_limit";
        "memory_limit"; "interrupt"; "size" if a program would have too many entries; "rounding" if the solver
        finished, but its bound and the best diagram are closer than its tolerance, or its best solution could not be
        reproduced in floating point.

    Raises
    ------
    ImportError
        If the package of the solver is not installed.
    ValueError
        As in :func:`~proofwood.papers.odd.model.build`.
    """
    require(solver)
    problem = run.problem
    clock = run.clock.within(seconds)
    for code in range(problem.rows.n_classes):
        run.offer(Diagram.leaf(code), by="leaf")
    if only_leaves(problem):
        if run.best is None:
            run.prove_infeasible(by=LEAVES_ONLY)
        else:
            run.prove(run.upper, by=LEAVES_ONLY)
        return None
    claims = _Claims(run)
    try:
        return _Stages(problem, claims, solver, options, clock).solve()
    except _EnoughError:
        return None
    finally:
        run.add(claims.counters)
        run.counters[CLAIMS] = claims.lower


class _Claims(DiagramRun):
    """A run whose bounds are the solver's claims; it passes diagrams, but no bounds, to the run ``real``."""

    def __init__(self, real: DiagramRun) -> None:
        super().__init__(real.problem, real.clock.limits, lower=real.lower)
        self.clock = real.clock
        self.real = real
        self.best, self.upper = real.best, real.upper

    def changed(self) -> None:
        """Do nothing: a solver's claims are not reported."""

    def offer(self, diagram: Diagram, *, by: str = "") -> bool:
        self.real.offer(diagram, by=by)
        cost = count(self.problem, diagram).cost
        self.lower = min(self.lower, cost)  # the bound was only a solver's claim
        return super().offer(diagram, by=by)

    def report(self) -> None:
        self.real.report()


class _SmallerError(Exception):
    """Raised when a better diagram was found: diagrams cheaper than this one can use only fewer slots."""


class _EnoughError(Exception):
    """Raised when the bound has reached the cost of the best diagram."""


@dataclass(eq=False)
class _Stages:
    """Solves one program after the other, each for the slots that a cheaper diagram can use.

    Parameters
    ----------
    problem, run, solver, options : as in :func:`improve`
    clock : time limit of all programs together
    least : the solver claims that no diagram with fewer nodes than this is cheaper than the best one
    pace : seconds per entry that building the last program took
    """

    problem: DiagramProblem
    run: _Claims
    solver: str
    options: ODDOptions
    clock: Clock
    least: int = 1
    pace: float = FIRST_PACE

    @property
    def name(self) -> str:
        """The name under which diagrams and claims of this solver are recorded."""
        return f"milp-{self.solver}"

    def solve(self) -> str | None:
        """Solve all programs in turn; raise _EnoughError as soon as the bound has reached the best diagram.

        Returns None if no diagram is better, else what stopped the search.
        """
        while not self.run.done:
            if self._part().max_splits < self.least:
                self.run.prove(self.run.upper, by=self.name)
                return None
            step = self.least <= self.options.steps and self.least < self._part().max_splits
            if self.clock.over:
                return "time_limit"
            left = self.clock.seconds_left
            try:
                if not step:
                    return self._solve(left, self._part())
                share = left if left is None else STEP_SHARE * left
                part = replace(self._part(), max_splits=self.least)
                stopped = self._solve(share, shrunk(part, self.run.upper) if self.options.shrink else part)
            except _SmallerError:
                self.run.add({"milp restarts": 1})
                continue
            if stopped == "interrupt":
                return stopped
            if stopped is not None:  # larger diagrams are even harder: put all remaining ones into one program
                self.options = replace(self.options, steps=0)
            else:
                self.least += 1
                self.run.prove(self._unseen(self.least - 1), by=self.name)
        return None

    def _part(self) -> DiagramProblem:
        """The problem, reduced to the slots and nodes that a diagram cheaper than the best can use."""
        if self.options.shrink:
            return shrunk(self.problem, self.run.upper)
        return replace(self.problem, max_splits=self.problem.most_nodes)

    def _unseen(self, most: int) -> int:
        """A lower bound on the cost of diagrams with more than ``most`` nodes, which the program does not cover."""
        return NO_ANSWER if most >= self._part().max_splits else self.problem.cost.of_diagram(0, most + 1)

    def _solve(self, seconds: float | None, part: DiagramProblem) -> str | None:
        """Build the program for diagrams of ``part`` with at least ``least`` nodes, and solve it.

        A solver's message may raise _SmallerError or _EnoughError. Returns None if the solver claims that none of these
        diagrams is cheaper than the best, else what stopped it.
        """
        run, options = self.run, self.options
        begun = self.clock.seconds
        slots = Slots.of(part)
        n_columns = part.rows.n_columns if part.columns is None else part.columns.shape[1]
        size = part.rows.n_rows * (len(slots.low) + len(slots.high) + slots.n_inner * 2 * n_columns)
        if seconds is not None and seconds <= WRITE_AND_SEND * self.pace * size:  # too late for the solver
            return "time_limit"
        if size > MOST_CELLS:
            return "size"
        model = build(part, centred=options.centred, least_splits=self.least)
        costs, most = PossibleCosts.of(part), part.max_splits
        cutoff = costs.cutoff(run.upper) if run.best is not None else None
        built = self.clock.seconds - begun
        self.pace = built / size
        seconds = None if seconds is None else max(0.0, seconds - built)

        def take(message: tuple[str, Any]) -> None:
            kind, content = message
            if kind == "point":
                self._offer(model, content)
                if options.shrink and not run.done and self._part().n_slots < part.n_slots:
                    raise _SmallerError
            else:
                run.prove(min(costs.proved(content), self._unseen(most)), by=self.name)
                run.report()
            if run.done or run.real.done:
                raise _EnoughError

        last_words = 0.0 if seconds is None else min(_LAST_WORDS, seconds / 10)
        outcome = worker.run(
            _SOLVERS[self.solver][0],
            model.program,
            cutoff,
            costs,
            None if seconds is None else time.time() + seconds - last_words,
            seconds=seconds,
            on_message=take,
        )
        if outcome.stopped_by is not None:
            return outcome.stopped_by
        return self._conclude(outcome.value, costs, most)

    def _offer(self, model: Model, point: Any) -> None:
        diagram = decode(model, point)
        if diagram is not None and self.problem.oblique and not holds_margins(self.problem, diagram):
            diagram = Draft.of(PricedRows.of(self.problem), diagram).diagram()  # turned to the widest gaps
            diagram = diagram if holds_margins(self.problem, diagram) else None
        self.run.add({"milp solutions": 1, "milp solutions rejected": int(diagram is None)})
        if diagram is not None:
            self.run.offer(diagram, by=self.name)

    def _conclude(self, answer: Answer, costs: PossibleCosts, most: int) -> str | None:
        run = self.run
        run.add({"milp nodes": answer.nodes})
        if answer.kind == "infeasible":
            if self.least == 1 and most >= self.problem.most_nodes:
                run.prove_infeasible(by=self.name)
            return None
        bound = 0 if answer.bound is None else costs.proved(answer.bound)
        run.prove(min(bound, self._unseen(most)), by=self.name)
        if bound >= run.upper:
            return None
        return "time_limit" if answer.kind == "limit" else "rounding"
