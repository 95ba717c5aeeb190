"""The answer of a search for the fewest tests, while it grows and when it is done."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.search import run_native, subset_errors
from proofwood.engines.interrupts import STOPPED_BY
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Progress, ProgressEvent


@dataclass(frozen=True, slots=True)
class FewestResult:
    """A small set of tests without avoidable error.

    Parameters
    ----------
    tests : ascending test numbers; None if none was found in time
    lower_bound : fewer tests than this have an avoidable error
    stopped_by : None if completed, else "time_limit" or "interrupt"
    seconds : wall-clock seconds
    counters : of the engine, by name
    trace : objective and bound are numbers of tests
    """

    tests: tuple[int, ...] | None
    lower_bound: int
    stopped_by: str | None
    seconds: float
    counters: Mapping[str, int] = field(default_factory=dict)
    trace: tuple[ProgressEvent, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether no fewer tests do."""
        return self.tests is not None and len(self.tests) == self.lower_bound


class FewestRun:
    """What both engines share: the clock, the best set, the bound, the trace. Invariant: lower <= optimum <= upper."""

    def __init__(self, rows: RankedRows, limits: Limits, progress: Progress | None) -> None:
        self.rows = rows
        self.limits = limits
        self.progress = progress
        self.started = time.perf_counter()
        self.tests: tuple[int, ...] | None = None
        self.lower = 0
        self.stopped_by: str | None = None
        self.counters: dict[str, int] = {}
        self.trace: list[ProgressEvent] = []

    @property
    def upper(self) -> float:
        """Number of tests of the best set, inf without one."""
        return float("inf") if self.tests is None else len(self.tests)

    def begin(self, options: SubsetOptions) -> None:
        """A greedy set, without one test after the other that turns out to be spare."""
        below = self.rows.total - self.rows.unavoidable + 1
        found = run_native(
            self.rows, self.rows.n_tests, below, options, self.left(), None, {"greedy_only": True, "greedy": True}
        )
        if found["stopped"]:
            self.stopped_by = STOPPED_BY[found["stopped"]]
            return
        tests = [int(test) for test in found["set"]]
        for test in tuple(tests):
            if self.late():
                break
            fewer = [other for other in tests if other != test]
            if subset_errors(self.rows, fewer) == self.rows.unavoidable:
                tests = fewer
        self.improve(tests)

    def left(self) -> Limits:
        """The limits that remain."""
        if self.limits.seconds is None:
            return self.limits
        return Limits(max(0.0, self.limits.seconds - self.seconds()), self.limits.threads)

    def late(self) -> bool:
        """Whether the time is over; it is then noted as what ended the run."""
        over = self.limits.seconds is not None and self.seconds() >= self.limits.seconds
        if over and self.stopped_by is None:
            self.stopped_by = "time_limit"
        return over

    def seconds(self) -> float:
        """Wall-clock seconds so far."""
        return time.perf_counter() - self.started

    def improve(self, tests: Sequence[int]) -> None:
        """Note a set without avoidable error."""
        if subset_errors(self.rows, tests) != self.rows.unavoidable:
            raise AssertionError(f"the tests {tests} have an avoidable error")
        if len(tests) < self.upper:
            self.tests = tuple(sorted(int(test) for test in tests))
            self.note()

    def prove(self, lower: int) -> None:
        """Note that fewer than ``lower`` tests do not do."""
        if lower > self.lower:
            self.lower = lower
            self.note()

    def note(self) -> None:
        """Put the state into the trace, and report it."""
        event = ProgressEvent(self.seconds(), self.upper, self.lower)
        self.trace.append(event)
        self.tell(event)

    def tell(self, event: ProgressEvent | None = None) -> None:
        """Report to the caller; a KeyboardInterrupt raised there counts as Ctrl-C."""
        if self.progress is None:
            return
        try:
            self.progress(event or ProgressEvent(self.seconds(), self.upper, self.lower))
        except KeyboardInterrupt:
            self.stopped_by = "interrupt"

    def count(self, counters: Mapping[str, int]) -> None:
        """Add to the counters."""
        for name, count in counters.items():
            self.counters[name] = self.counters.get(name, 0) + count

    def result(self) -> FewestResult:
        """The state as an answer."""
        optimal = self.tests is not None and len(self.tests) == self.lower
        return FewestResult(
            self.tests,
            self.lower,
            None if optimal else self.stopped_by,
            self.seconds(),
            self.counters,
            tuple(self.trace),
        )
