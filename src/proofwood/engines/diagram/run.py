"""What the engines of one run share: the clock, the best diagram, the best bound, and whom to tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from proofwood.engines.diagram.shape import Diagram, count
from proofwood.engines.run import BoundedRun, Clock
from proofwood.problem.diagram import DiagramProblem
from proofwood.problem.objectives import proof
from proofwood.result import Limits, Progress, Result, Stats, Status

COSTS_NOTHING = "cost 0"
"""What proves a diagram without cost, if no bound was raised at all."""
LEAVES_ONLY = "leaves only"
"""What proves that nothing is better, or meets the constraints, where no split is permitted."""


class DiagramRun(BoundedRun):
    """One run: engines offer diagrams and prove bounds, each in integer cost.

    Parameters
    ----------
    problem : DiagramProblem
    limits : of the whole run, from now
    progress : told of each improvement, in shares of eq. 18, from the first diagram on
    lower : integer cost that no diagram undercuts

    Attributes
    ----------
    best : the cheapest diagram so far, None before the first; ``upper`` is its cost
    engine, proved_by : what found ``best``, and what raised ``lower`` last
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
        """Whether nothing is left to do."""
        return self.infeasible or (self.best is not None and super().done)

    def offer(self, diagram: Diagram, *, by: str = "") -> bool:
        """Keep ``diagram`` if it meets the constraints and costs less than the best; it is recounted here."""
        counted = count(self.problem, diagram)
        if counted.broken or counted.cost >= self.upper:
            return False
        if self.infeasible:
            raise AssertionError("proved infeasible, but there is a diagram that meets the constraints")
        cost = self.possible(counted.cost)
        self.best, self.upper, self.engine = diagram, cost, by or self.engine
        self.changed()
        return True

    def prove(self, lower: int, *, by: str = "") -> bool:
        """No diagram that meets the constraints costs less than ``lower``; more than ``upper`` counts as ``upper``.

        ``by`` names the bound or engine that says so.
        """
        if min(lower, self.upper) > self.lower:
            self.proved_by = by
        return super().prove(lower)

    def prove_infeasible(self, *, by: str) -> None:
        """No diagram meets the constraints."""
        if self.best is not None:
            raise AssertionError("proved infeasible, but there is a diagram that meets the constraints")
        self.infeasible, self.proved_by = True, by

    def state(self) -> tuple[float, float]:
        """Objective and bound as shares of eq. 18."""
        return self.problem.cost.reported(self.upper, self.lower)

    def changed(self) -> None:
        """Put the state into the trace and report it, once there is a diagram."""
        if self.best is not None:
            super().changed()

    def report(self) -> None:
        """Report where the run stands, if the last report is some time ago, once there is a diagram."""
        if self.best is not None:
            super().report()

    def result(self, stopped_by: str | None = None) -> Result:
        """The answer; ``stopped_by`` says what ended the run if it is not done."""
        cost = self.problem.cost
        done = self.done
        stats = Stats(
            self.clock.seconds,
            self.engine,
            None if done else stopped_by,
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
"""Looks for better diagrams than that of a run, and offers them; what stopped it, or what is left open at its end."""
UNCONFIRMED = "unconfirmed"
"""Why a run stopped if its program calls a diagram the best and no exact search has confirmed it."""
