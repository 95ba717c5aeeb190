"""The state of a search for the fewest tests, and its result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.search import subset_errors
from proofwood.engines.interrupts import STOPPED_BY, ended_by
from proofwood.engines.recorded import Recorded
from proofwood.engines.run import BoundedRun, Clock
from proofwood.parallel.search_file import SearchFile, digest
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Progress, ProgressEvent


@dataclass(frozen=True, slots=True)
class FewestResult:
    """A small set of tests that makes only unavoidable errors.

    Parameters
    ----------
    tests : ascending test numbers; None if no set was found in time
    lower_bound : every set of fewer tests has an avoidable error
    stopped_by : None if completed, else "time_limit" or "interrupt"
    seconds : wall-clock seconds
    counters : counts of the engine, by name
    trace : improvements; objective and bound are numbers of tests
    """

    tests: tuple[int, ...] | None
    lower_bound: int
    stopped_by: str | None
    seconds: float
    counters: Mapping[str, int] = field(default_factory=dict)
    trace: tuple[ProgressEvent, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no smaller set has only unavoidable errors."""
        return self.tests is not None and len(self.tests) == self.lower_bound


class FewestRun(BoundedRun):
    """The state that both engines share: clock, best set, bound and trace. The unit is the number of tests."""

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
        """The number of tests of the best set (inf if no set is known), and the lower bound."""
        return math.inf if self.tests is None else float(self.upper), float(self.lower)

    def changed(self) -> None:
        """Write the state to the checkpoint, if there is one, add it to the trace, and report it."""
        recorded = self._recorded()
        if recorded is not None:
            recorded.keep({"fewest": [[self.lower, *(self.tests or ())]]})
        super().changed()

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
            If a recorded set names a test that the problem does not have, has an avoidable error, or has fewer tests
            than the recorded lower bound.
        """
        recorded = self._recorded()
        if recorded is None:
            return
        checkpoint, self.checkpoint = self.checkpoint, None  # do not write again what is read
        for lower, *tests in recorded.rows["fewest"]:
            if tests and not all(0 <= test < self.rows.n_tests for test in tests):
                raise ValueError(
                    f"the checkpoint names the tests {tests}: expected tests from 0 to {self.rows.n_tests - 1}. Pass "
                    "the checkpoint of this problem"
                )
            if tests and (subset_errors(self.rows, tests) != self.rows.unavoidable or len(tests) < self.lower):
                raise ValueError(
                    f"the tests {tests} in the checkpoint make avoidable errors, or are fewer than the proved lower "
                    f"bound {self.lower}: the checkpoint is damaged, or from another problem"
                )
            if tests:
                self.improve(tests)
            self.prove(lower)
        self.checkpoint = checkpoint

    def begin(self) -> None:
        """Find a greedy set, then remove every test whose removal adds no error."""
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
        """Whether the time is over; if so, it is noted as what stopped the run."""
        over = self.clock.over
        if over and self.stopped_by is None:
            self.stopped_by = "time_limit"
        return over

    def improve(self, tests: Sequence[int]) -> None:
        """Make ``tests`` the best set if it is smaller; it must have no avoidable error."""
        if subset_errors(self.rows, tests) != self.rows.unavoidable:
            raise AssertionError(f"the tests {tests} make avoidable errors")
        if len(tests) < self.upper:
            best = tuple(sorted(int(test) for test in tests))
            upper = self.possible(len(best))
            self.tests, self.upper = best, upper
            self.changed()

    def result(self, stop: str | None) -> FewestResult:
        """The state as a result; ``stop`` is what ended the work after the search."""
        optimal = self.tests is not None and len(self.tests) == self.lower
        return FewestResult(
            self.tests,
            self.lower,
            ended_by(stop or self.stopped_by, complete=optimal),
            self.clock.seconds,
            dict(self.counters),
            tuple(self.trace),
        )
