"""Heuristics, the program in a solver's process, and a proof by exact searches: what a solver says is not believed."""

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
"""Counter: the integer cost that a solver claims no diagram undercuts; nothing is proved by it."""
_LAST_WORDS = 0.5
"""Seconds that a solver is to leave for its answer, at most a tenth of all it has."""
FIRST_PACE = 1e-6
"""Seconds to write a program per entry, before one was written."""
MOST_CELLS = 20_000_000
"""Entries of a program at most, about: more takes gigabytes to write and to send."""
WRITE_AND_SEND = 2.0
"""Time to write a program and send it to its process, as a multiple of the time to write it."""
STEP_SHARE = 0.4
"""Part of the time left that diagrams of one number of nodes may take."""
PROOF = (0.4, 120.0)
"""Time to prove what a solver has found: a share of what is left, and the most seconds."""


@dataclass(frozen=True, slots=True)
class ODDOptions:
    """How the program is written: as printed by default, with symmetry breaking as in the authors' code.

    Parameters
    ----------
    centred : coordinates count from 1/2, so that the constants of eqs. 13 and 14 halve
    shrink : leave out the slots that no diagram cheaper than the best can use, again after each better diagram
    steps : diagrams of 1, 2, .. up to so many nodes come first, each number in a program of its own, small and with
        little symmetry; what is proved of them is a row of the program for all others
    """

    centred: bool = False
    shrink: bool = False
    steps: int = 0


AS_PRINTED = ODDOptions()
SMALLER = ODDOptions(centred=True, shrink=True, steps=3)
OPTIONS: Mapping[str, ODDOptions] = MappingProxyType({"scipy": AS_PRINTED, "scip": SMALLER})
"""Variant, which is a solver -> how it is given the program."""


def require(solver: str) -> None:
    """Raise ImportError unless the package of a solver is installed."""
    if importlib.util.find_spec(_SOLVERS[solver][1]) is None:
        raise ImportError(
            f"the solver {solver!r} needs {_SOLVERS[solver][2]}, which is not installed: "
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
    """Diagram of the skeleton that costs least by eq. 18 and meets the constraints, by the program of the paper [1]_.

    The program begins from what the heuristics of :func:`proofwood.engines.diagram.solve.solve` find.

    Parameters
    ----------
    problem : DiagramProblem
    variant : one of :data:`VARIANTS`
    limits, random_state, shares, progress : as there; the solver uses one thread

    Returns
    -------
    Result
        As there. What the solver claims to be the least cost stands in the counters as "solver claims"; where no exact
        search has confirmed it in time, the run was stopped by "unconfirmed".

    Raises
    ------
    ValueError
        If the variant does not exist.
    ImportError
        If its solver is not installed; the message has the command.

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
    """Improve the diagram of ``run``, to the end or for ``seconds``.

    Only diagrams cheaper than the best of ``run`` are sought. Whatever the solver returns is decoded, routed anew in
    floating point and recounted; its own objective is never taken. Its bounds become integers by
    :class:`~proofwood.papers.odd.costs.PossibleCosts` and steer what it is asked next, but they are not bounds of
    ``run``: they rest on floating-point tolerances.

    Oblique diagrams that are offered keep a distance of ``EPSILON`` between the sides of each hyperplane (in scaled
    columns, coefficients of absolute sum at most 1), as in the paper.

    Parameters
    ----------
    run : DiagramRun; offered diagrams
    solver : "scipy" or "scip"; both use one thread
    seconds : wall-clock limit, None for that of the run
    options : how the program is written

    Returns
    -------
    None if it ran to the end and claims that there is nothing better, else what stopped it: "time_limit", "interrupt",
    "size" if a program would have too many rows and arcs to be written, or "precision" if the solver finished and its
    bound and the best diagram lie closer than its tolerance, or its best solution could not be reproduced in floating
    point.

    Raises
    ------
    ImportError
        If the package of the solver is not installed.
    ValueError
        As :func:`~proofwood.papers.odd.model.build`.
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
    """A run that believes the solver; ``real``, which does not, gets the diagrams."""

    def __init__(self, real: DiagramRun) -> None:
        super().__init__(real.problem, real.clock.limits, lower=real.lower)
        self.clock = real.clock
        self.real = real
        self.best, self.upper = real.best, real.upper

    def changed(self) -> None:
        """The word of a solver is of no interest outside."""

    def offer(self, diagram: Diagram, *, by: str = "") -> bool:
        self.real.offer(diagram, by=by)
        cost = count(self.problem, diagram).cost
        self.lower = min(self.lower, cost)  # it was the word of a solver
        return super().offer(diagram, by=by)

    def report(self) -> None:
        self.real.report()


class _SmallerError(Exception):
    """The best diagram now leaves fewer slots in play."""


class _EnoughError(Exception):
    """The bound has met the best diagram."""


@dataclass(eq=False)
class _Stages:
    """One program after the other, each for the slots that a cheaper diagram can use.

    Parameters
    ----------
    problem, run, solver, options : as in :func:`improve`
    clock : of all programs
    least : diagrams with fewer nodes are known to cost no less than the best
    pace : seconds that the last program took to write, per entry
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
        """What found a diagram or proved a bound, for the record."""
        return f"milp-{self.solver}"

    def solve(self) -> str | None:
        """All programs in turn; raises _EnoughError as soon as the bound has met the best diagram."""
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
            if stopped is not None:  # larger diagrams are harder still: all that are left in one program
                self.options = replace(self.options, steps=0)
            else:
                self.least += 1
                self.run.prove(self._unseen(self.least - 1), by=self.name)
        return None

    def _part(self) -> DiagramProblem:
        """What diagrams cheaper than the best can use."""
        if self.options.shrink:
            return shrunk(self.problem, self.run.upper)
        return replace(self.problem, max_splits=self.problem.most_nodes)

    def _unseen(self, most: int) -> int:
        """Cost that a diagram of more than ``most`` nodes has at least, one of fewer than ``least`` apart."""
        return NO_ANSWER if most >= self._part().max_splits else self.problem.cost.of_diagram(0, most + 1)

    def _solve(self, seconds: float | None, part: DiagramProblem) -> str | None:
        """Build and solve for ``part``, of at least ``least`` nodes; raises if a message gives reason to stop.

        Returns None if no diagram of these is cheaper than the best, else what stopped it.
        """
        run, options = self.run, self.options
        begun = self.clock.seconds
        slots = Slots.of(part)
        n_columns = part.rows.n_columns if part.columns is None else part.columns.shape[1]
        size = part.rows.n_rows * (len(slots.low) + len(slots.high) + slots.n_inner * 2 * n_columns)
        if seconds is not None and seconds <= WRITE_AND_SEND * self.pace * size:  # it would not arrive in time
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
        return "time_limit" if answer.kind == "limit" else "precision"
