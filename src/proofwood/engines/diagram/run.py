"""The state that the engines of one run share: the clock, the best diagram, the best bound, and the callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from proofwood.engines.diagram.shape import Diagram, count
from proofwood.engines.interrupts import ended_by
from proofwood.engines.run import BoundedRun, Clock
from proofwood.problem.diagram import DiagramProblem
from proofwood.problem.objectives import proof
from proofwood.result import Limits, Progress, Result, Stats, Status

COSTS_NOTHING = "cost 0"
"""Value of ``proved_by`` if the best diagram costs 0 and no bound was raised."""
LEAVES_ONLY = "leaves only"
"""Value of ``proved_by`` if no split is permitted, so that only leaves had to be compared."""


class DiagramRun(BoundedRun):
    """One run, in which engines offer diagrams and prove bounds; both are in integer cost.

    Parameters
    ----------
    problem : DiagramProblem
    limits : limits of the whole run, which begins now
    progress : called at each improvement from the first diagram on, with values in the unit of eq. 18
    lower : a lower bound on the integer cost of all diagrams

    Attributes
    ----------
    best : the cheapest diagram so far, or None; ``upper`` is its cost
    engine, proved_by : name of the engine that found ``best``, and of the one that raised ``lower`` last
    infeasible : whether it is proved that no diagram meets the constraints
    """

    def __init__(
        self, problem: DiagramProblem, limits: Limits, progress: Progress | None = None, *, lower: int = 0
    ) -> None:
        super().__init__(Clock(limits), progress, lower=lower)
        self.problem = problem
        self.best: Diagram | None = None
        self.engine = ""
        self.infeasible = False
        self.proved_by: str | None = None

    @property
    def done(self) -> bool:
        """Whether the best diagram is proved optimal, or the problem is proved infeasible."""
        return self.infeasible or (self.best is not None and super().done)

    def offer(self, diagram: Diagram, *, by: str = "") -> bool:
        """Recount the cost of ``diagram``. Keep it and return True if it is valid and costs less than the best."""
        counted = count(self.problem, diagram)
        if counted.broken or counted.cost >= self.upper:
            return False
        if self.infeasible:
            raise AssertionError("the problem was proved infeasible, but a diagram meets the constraints")
        cost = self.possible(counted.cost)
        self.best, self.upper, self.engine = diagram, cost, by or self.engine
        self.changed()
        return True

    def prove(self, lower: int, *, by: str = "") -> bool:
        """Note the proof that no diagram which meets the constraints costs less than ``lower``.

        A value above ``upper`` counts as ``upper``. ``by`` names the bound or engine that proved it.
        """
        if min(lower, self.upper) > self.lower:
            self.proved_by = by
        return super().prove(lower)

    def prove_infeasible(self, *, by: str) -> None:
        """Note the proof that no diagram meets the constraints; ``by`` names the engine that proved it."""
        if self.best is not None:
            raise AssertionError("the problem was proved infeasible, but a diagram meets the constraints")
        self.infeasible, self.proved_by = True, by

    def state(self) -> tuple[float, float]:
        """The objective and the bound, in the unit of eq. 18."""
        return self.problem.cost.reported(self.upper, self.lower)

    def changed(self) -> None:
        """Add the state to the trace and report it, if a diagram is known."""
        if self.best is not None:
            super().changed()

    def report(self) -> None:
        """Report the state if a diagram is known and the last report was some time ago."""
        if self.best is not None:
            super().report()

    def result(self, stopped_by: str | None = None) -> Result:
        """The result of the run; ``stopped_by`` says what else than the clock ended it, if it is done only Ctrl-C."""
        cost = self.problem.cost
        done = self.done
        stopped_by = stopped_by or ("time_limit" if self.clock.over else None)
        stats = Stats(
            self.clock.seconds,
            self.engine,
            ended_by(stopped_by, complete=done),
            dict(self.counters),
            proved_by=(self.proved_by or COSTS_NOTHING) if done else None,
        )
        if self.best is None:
            status = Status.INFEASIBLE if self.infeasible else Status.UNKNOWN
            return Result(None, float("inf"), "share", self.state()[1], status, stats)
        best = self.best
        objective, lower, status = proof(
            cost,
            self.upper,
            self.lower,
            lambda: self.problem.real_cost(best.visits(self.problem)[1], best.n_splits),
            complete=done,
        )
        trace = self.whole_trace(objective, lower)
        return Result(best.table(self.problem), objective, "share", lower, status, stats, trace)


Program: TypeAlias = Callable[[DiagramRun], str | None]
"""A function that searches better diagrams and offers them to a run. It returns what stopped it,
:data:`UNCONFIRMED`, or None."""
UNCONFIRMED = "unconfirmed"
"""The value of ``stopped_by`` if a program calls its diagram optimal, but no exact search has confirmed this."""
