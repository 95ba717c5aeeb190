"""What the engines of one run share: the clock, the best diagram, the best bound, and whom to tell."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from proofwood.engines.skeleton.shape import Diagram, count
from proofwood.problem.layered import LayeredProblem
from proofwood.problem.objectives import proof
from proofwood.result import Limits, Progress, ProgressEvent, Result, Stats, Status

NO_DIAGRAM = 2**62
"""``upper`` before the first diagram."""
COSTS_NOTHING = "cost 0"
"""What proves a diagram without cost, if no bound was raised at all."""


@dataclass(eq=False)
class LayeredRun:
    """One run: engines offer diagrams and prove bounds, each in integer cost.

    Parameters
    ----------
    problem : LayeredProblem
    limits : of the whole run, from now
    progress : told of each improvement, in shares of eq. 18; what it raises propagates
    best, upper : the cheapest diagram so far, None before the first, and its integer cost
    lower : integer cost that no diagram undercuts
    engine, proved_by : what found ``best``, and what raised ``lower`` last
    infeasible : whether it is proved that no diagram meets the constraints
    """

    problem: LayeredProblem
    limits: Limits
    progress: Progress | None = None
    best: Diagram | None = None
    upper: int = NO_DIAGRAM
    lower: int = 0
    engine: str = ""
    infeasible: bool = False
    proved_by: str | None = None
    counters: dict[str, int] = field(default_factory=dict)
    trace: list[ProgressEvent] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def offer(self, diagram: Diagram, *, by: str = "") -> bool:
        """Keep ``diagram`` if it meets the constraints and costs less than the best; it is recounted here."""
        counted = count(self.problem, diagram)
        if counted.broken or counted.cost >= self.upper:
            return False
        if self.infeasible:
            raise AssertionError("proved infeasible, but there is a diagram that meets the constraints")
        self.best, self.upper = diagram, counted.cost
        self.engine = by or self.engine
        self.lower = min(self.lower, self.upper) if self.lower <= self.upper else self._contradiction()
        self._tell()
        return True

    def prove(self, lower: int, *, by: str) -> None:
        """No diagram that meets the constraints costs less than ``lower``; more than ``upper`` counts as ``upper``.

        ``by`` names the bound or engine that says so.
        """
        lower = min(lower, self.upper)
        if lower > self.lower:
            self.lower, self.proved_by = lower, by
            if self.best is not None:
                self._tell()

    def prove_infeasible(self, *, by: str) -> None:
        """No diagram meets the constraints."""
        if self.best is not None:
            raise AssertionError("proved infeasible, but there is a diagram that meets the constraints")
        self.infeasible, self.proved_by = True, by

    def add(self, counters: Mapping[str, int]) -> None:
        """Add to the counters of the run."""
        for name, number in counters.items():
            self.counters[name] = self.counters.get(name, 0) + int(number)

    def report(self) -> None:
        """Tell where the run stands, about as often as an engine likes."""
        if self.progress is not None and self.best is not None:
            self.progress(self._event())

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.infeasible or (self.best is not None and self.lower >= self.upper)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit, not below 0; None without one."""
        return None if self.limits.seconds is None else max(0.0, self.limits.seconds - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.seconds_left is not None and self.seconds_left <= 0

    def share_of_time(self, share: float, most: float) -> float:
        """Seconds for one stage: ``share`` of what is left, at most ``most``."""
        left = self.seconds_left
        return most if left is None else min(most, share * left)

    def result(self, stopped_by: str | None = None) -> Result:
        """The answer; ``stopped_by`` says what ended the run if it is not done."""
        cost = self.problem.cost
        done = self.done
        stats = Stats(
            self.seconds,
            self.engine,
            None if done else stopped_by,
            dict(self.counters),
            proved_by=(self.proved_by or COSTS_NOTHING) if done else None,
        )
        if self.best is None:
            status = Status.INFEASIBLE if self.infeasible else Status.UNKNOWN
            return Result(None, float("inf"), "share", cost.reported(NO_DIAGRAM, self.lower)[1], status, stats)
        best = self.best
        objective, lower, status = proof(
            cost,
            self.upper,
            self.lower,
            lambda: self.problem.real_cost(best.visits(self.problem)[1], best.n_splits),
            complete=done,
        )
        table = best.table(self.problem)
        final = ProgressEvent(self.seconds, objective, lower)
        told = [(event.objective, event.lower_bound) for event in self.trace[-1:]]
        trace = self.trace if told == [(final.objective, final.lower_bound)] else [*self.trace, final]
        return Result(table, final.objective, "share", final.lower_bound, status, stats, tuple(trace))

    def _event(self) -> ProgressEvent:
        cost = self.problem.cost
        return ProgressEvent(self.seconds, *cost.reported(self.upper, self.lower))

    def _tell(self) -> None:
        self.trace.append(self._event())
        if self.progress is not None:
            self.progress(self.trace[-1])

    def _contradiction(self) -> int:
        raise AssertionError(f"a diagram costs {self.upper}, and {self.lower} was proved to be the least")


PROOF = (0.4, 120.0)
"""Time to prove what a solver of mixed-integer programs has found: a share of what is left, and the most seconds."""


def before_proof(run: LayeredRun) -> float | None:
    """Seconds for a solver, such that a share is left to prove what it finds; None without a limit."""
    left = run.seconds_left
    return None if left is None else left - min(PROOF[1], PROOF[0] * left)
