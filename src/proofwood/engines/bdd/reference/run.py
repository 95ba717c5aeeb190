"""What a SAT or MaxSAT engine for diagrams knows at one moment: the best features, and a bound."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from proofwood.engines.bdd.reference.clauses import ClauseSink
from proofwood.engines.bdd.reference.examples import Examples
from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Progress, ProgressEvent

REPORT_SECONDS = 0.2
CLAUSES_AT_ONCE = 5_000
"""Clauses made between two looks at the clock."""


class Stopped(Exception):
    """The clock or Ctrl-C ended the work; the text says which, as in :class:`~proofwood.result.Stats`."""


@dataclass(eq=False)
class DiagramRun:
    """The best features so far and the bound, in integer weight of errors or in numbers of features.

    Parameters
    ----------
    problem : DiagramProblem
    examples : what the formulas see
    seconds : budget of the whole run from now on, None for no limit
    progress : told at news and about five times a second
    """

    problem: DiagramProblem
    examples: Examples
    seconds: float | None
    progress: Progress | None
    started: float = field(default_factory=time.monotonic)
    features: tuple[int, ...] | None = None
    table: IntArray | None = None  # class numbers of the cells over ``features``, if a solver chose them
    upper: float = math.inf
    lower: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    trace: list[ProgressEvent] = field(default_factory=list)
    _reported: float = -math.inf

    @property
    def seconds_left(self) -> float | None:
        """Rest of the budget, None without limit."""
        return None if self.seconds is None else self.seconds - (time.monotonic() - self.started)

    def check_time(self) -> None:
        """Stopped at the end of the budget."""
        left = self.seconds_left
        if left is not None and left <= 0:
            raise Stopped("time_limit")

    @property
    def done(self) -> bool:
        """Whether the best features are proved to be best."""
        return self.lower >= self.upper

    def offer(self, features: Sequence[int], table: IntArray | None = None) -> int:
        """Take up features if they are better than the best; what they are worth is counted here and returned."""
        errors = self.examples.errors(features)
        value = len(features) if self.problem.fewest else errors
        if self.problem.fewest and errors > self.examples.constant:
            raise AssertionError(f"features {list(features)} leave {errors - self.examples.constant} avoidable errors")
        if value < self.upper:
            self.features, self.table, self.upper = tuple(features), table, value
            self.report(news=True)
        elif value == self.upper and self.table is None and table is not None:
            self.features, self.table = tuple(features), table
        return value

    def settle(self, features: Sequence[int]) -> None:
        """Put equally good features in the place of the best."""
        if tuple(features) == self.features:
            return
        value = len(features) if self.problem.fewest else self.examples.errors(features)
        if value > self.upper:
            raise AssertionError(f"features {list(features)} are worth {value}, those they replace {self.upper}")
        self.features, self.table = tuple(features), None

    def prove(self, lower: int) -> None:
        """Nothing is better than ``lower``, or than the best there is."""
        lower = int(min(lower, self.upper))
        if lower > self.lower:
            self.lower = lower
            self.report(news=True)

    def event(self) -> ProgressEvent:
        """The state in the unit of the result."""
        return ProgressEvent(time.monotonic() - self.started, *self.reported(self.upper, self.lower))

    def reported(self, upper: float, lower: int) -> tuple[float, float]:
        """Objective and bound in the unit of the result."""
        if self.problem.fewest:
            return float(upper), float(lower)
        cost = self.problem.cost
        if math.isinf(upper):
            return math.inf, cost.reported(2 * cost.total, cost.error_price * lower)[1]
        return cost.reported(cost.error_price * int(upper), cost.error_price * lower)

    def report(self, *, news: bool = False) -> None:
        """Tell the caller, at news and every now and then."""
        event = self.event()
        if news:
            self.trace.append(event)
        elif event.seconds - self._reported < REPORT_SECONDS:
            return
        self._reported = event.seconds
        if self.progress is not None:
            self.progress(event)


class ClockedSink:
    """Passes clauses on while there is time: large formulas take seconds to make.

    Parameters
    ----------
    sink : where the clauses go
    run : whose time it is; its progress is reported meanwhile
    """

    def __init__(self, sink: ClauseSink, run: DiagramRun) -> None:
        self._sink = sink
        self._run = run
        self._unseen = 0

    def block(self, size: int) -> int:
        """The first of ``size`` fresh variables in a row."""
        return self._sink.block(size)

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Add clauses; Stopped at the end of the budget."""
        rest = iter(clauses)
        while some := list(islice(rest, CLAUSES_AT_ONCE - self._unseen)):
            self._sink.extend(some)
            self._unseen += len(some)
            if self._unseen >= CLAUSES_AT_ONCE:
                self._unseen = 0
                self._run.report()
                self._run.check_time()
