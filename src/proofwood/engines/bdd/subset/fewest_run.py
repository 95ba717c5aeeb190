"""The answer of a search for the fewest tests, while it grows and when it is done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.search import subset_errors
from proofwood.engines.interrupts import STOPPED_BY
from proofwood.engines.recorded import Recorded
from proofwood.engines.run import BoundedRun, Clock
from proofwood.parallel.search_file import SearchFile, digest
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


class FewestRun(BoundedRun):
    """What both engines share: the clock, the best set, the bound, the trace, in numbers of tests."""

    def __init__(
        self,
        rows: RankedRows,
        options: SubsetOptions,
        limits: Limits,
        progress: Progress | None,
        checkpoint: SearchFile | None = None,
    ) -> None:
        super().__init__(Clock(limits), progress)
        self.rows = rows
        self.prepared = Prepared(rows, options)
        self.checkpoint = checkpoint
        self.tests: tuple[int, ...] | None = None
        self.stopped_by: str | None = None

    def state(self) -> tuple[float, float]:
        """Number of tests of the best set, and the bound."""
        return math.inf if self.tests is None else float(self.upper), float(self.lower)

    def changed(self) -> None:
        """Put the state into the trace, report it, and write it to the checkpoint, if there is one."""
        super().changed()
        recorded = self._recorded()
        if recorded is not None:
            recorded.keep({"fewest": [[self.lower, *(self.tests or ())]]})

    def _recorded(self) -> Recorded | None:
        if self.checkpoint is None:
            return None
        rows = self.rows
        return Recorded(self.checkpoint, digest(rows.ranks, rows.tests_of, rows.groups[1], "fewest"), ("fewest",))

    def take_up(self) -> None:
        """Begin with the bound and the set that earlier runs wrote.

        Raises
        ------
        ValueError
            If a set is none of these tests, or has an avoidable error.
        """
        recorded = self._recorded()
        if recorded is None:
            return
        checkpoint, self.checkpoint = self.checkpoint, None  # what is read need not be written
        for lower, *tests in recorded.rows["fewest"]:
            if tests and not all(0 <= test < self.rows.n_tests for test in tests):
                raise ValueError("a recorded test is none of this problem")
            if tests and (subset_errors(self.rows, tests) != self.rows.unavoidable or len(tests) < self.lower):
                raise ValueError(f"the recorded tests {tests} have an avoidable error, or are fewer than was proved")
            if tests:
                self.improve(tests)
            self.prove(lower)
        self.checkpoint = checkpoint

    def begin(self) -> None:
        """A greedy set, without one test after the other that turns out to be spare."""
        below = self.rows.total - self.rows.unavoidable + 1
        more = {"greedy_only": True, "greedy": True}
        found = self.prepared.run(self.rows.n_tests, below, self.clock.left(), None, more)
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

    def late(self) -> bool:
        """Whether the time is over; it is then noted as what ended the run."""
        over = self.clock.over
        if over and self.stopped_by is None:
            self.stopped_by = "time_limit"
        return over

    def improve(self, tests: Sequence[int]) -> None:
        """Note a set without avoidable error."""
        if subset_errors(self.rows, tests) != self.rows.unavoidable:
            raise AssertionError(f"the tests {tests} have an avoidable error")
        if len(tests) < self.upper:
            best = tuple(sorted(int(test) for test in tests))
            upper = self.possible(len(best))
            self.tests, self.upper = best, upper
            self.changed()

    def result(self) -> FewestResult:
        """The state as an answer."""
        optimal = self.tests is not None and len(self.tests) == self.lower
        return FewestResult(
            self.tests,
            self.lower,
            None if optimal else self.stopped_by,
            self.clock.seconds,
            dict(self.counters),
            tuple(self.trace),
        )
