"""Exact search over sets of tests: the bound E*(k), and every set that could make a cheaper diagram.

A diagram that asks ``s`` different tests has at least ``s`` nodes and at least the errors of its set of tests, which is
never less than E*(s), the fewest errors of any function of ``s`` tests. So each size ``s`` has a bound of its own,

    error_price * e + node_price * (s - 1),

where at first ``e = E*(s)``; once the cheapest diagrams over all sets of ``s`` tests with ``e`` errors are known, it is
``e + 1``.
The size of least bound is worked on next, so that the least bound, which holds for all diagrams, rises
as fast as it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proofwood.engines.layered.run import LayeredRun
from proofwood.engines.layered.topologies import MOST_TESTS, cheapest_over_sets
from proofwood.engines.subset import best_subset, optimal_subsets
from proofwood.problem.layered import LayeredProblem
from proofwood.result import Limits

MAX_SETS = 100_000
"""Sets of one level of errors that are listed at most; a level with more stays open."""


@dataclass(eq=False)
class SetSearch:
    """What is known of each number of different tests.

    Parameters
    ----------
    problem : LayeredProblem with univariate splits
    errors : (most + 1,) no diagram that asks exactly ``s`` tests and is not known yet gets less integer weight wrong
    fewest : (most + 1,) E*(s) or a lower bound of it: errors of any function of at most ``s`` tests
    """

    problem: LayeredProblem
    errors: list[int]
    fewest: list[int]
    asked: set[int] = field(default_factory=set)
    stuck: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, problem: LayeredProblem) -> SetSearch:
        """Before anything is known but what no test tells apart."""
        rows = problem.rows
        most = min(problem.most_nodes, rows.n_tests)
        least = rows.unavoidable
        heaviest = max(rows.weights[rows.codes == code].sum() for code in range(rows.n_classes))
        leaf = int(rows.total - heaviest)
        return cls(problem, [leaf, *([least] * most)], [leaf, *([least] * most)])

    def bound(self, size: int) -> int:
        """Integer cost that no diagram which asks ``size`` tests undercuts, but for those already offered."""
        return self.problem.cost.of_diagram(self.errors[size], size)

    @property
    def lower(self) -> int:
        """Integer cost that no diagram undercuts, but for those already offered."""
        return min(self.bound(size) for size in range(len(self.errors)))

    def raise_errors(self, certain: int) -> None:
        """Every diagram gets at least ``certain`` integer weight wrong."""
        self.errors = [max(errors, certain) for errors in self.errors]
        self.fewest = [max(errors, certain) for errors in self.fewest]

    def next_size(self, upper: int) -> int | None:
        """The open size of least bound; None if all others are closed or stuck."""
        sizes = [s for s in range(1, len(self.errors)) if s not in self.stuck and self.bound(s) < upper]
        return min(sizes, key=self.bound, default=None)

    def learn_fewest(self, size: int, run: LayeredRun, *, seconds: float | None) -> None:
        """Ask for E*(size), and raise the bounds of this size and of smaller ones."""
        self.asked.add(size)
        found = best_subset(
            self.problem.rows, size, limits=Limits(seconds, run.limits.threads), upper=self._too_many(size, run.upper)
        )
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        for smaller in range(1, size + 1):
            self.fewest[smaller] = max(self.fewest[smaller], found.lower_bound)
            self.errors[smaller] = max(self.errors[smaller], found.lower_bound)
        run.add({"bounds": 1})

    def settle(self, size: int, run: LayeredRun, *, seconds: float | None) -> None:
        """Search all sets of ``size`` tests that get ``errors[size]`` wrong, and raise this level by one."""
        problem, level = self.problem, self.errors[size]
        if size > MOST_TESTS:
            self.stuck.add(size)
            return
        started = run.seconds
        sets, complete = optimal_subsets(
            problem.rows, size, level, max_sets=MAX_SETS, limits=Limits(seconds, run.limits.threads)
        )
        chosen = [tests for tests in sets if len(tests) == size]
        left = None if seconds is None else max(0.0, seconds - (run.seconds - started))
        found = cheapest_over_sets(problem, chosen, upper=run.upper, seconds=left, threads=run.limits.threads)
        run.add({"sets": len(chosen), "states": found.states})
        if found.diagram is not None:
            run.offer(found.diagram, by="search")
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if complete and found.complete:
            self.errors[size] = level + 1
        else:
            self.stuck.add(size)

    def _too_many(self, size: int, upper: int) -> int:
        """Errors with which ``size`` tests cannot make a cheaper diagram."""
        cost = self.problem.cost
        left = upper - cost.node_price * (size - 1)
        return max(0, -(-left // cost.error_price))


def search_sets(search: SetSearch, run: LayeredRun, *, seconds: float | None) -> None:
    """Work on the size of least bound until all are closed, stuck, or the time is up; ``run`` gets the bounds."""
    until = None if seconds is None else run.seconds + seconds

    def left() -> float | None:
        if until is None:
            return run.seconds_left
        mine = max(0.0, until - run.seconds)
        return mine if run.seconds_left is None else min(mine, run.seconds_left)

    while not run.done:
        run.prove(min(search.lower, run.upper))
        size = search.next_size(run.upper)
        if run.done or size is None:
            return
        time = left()
        if time is not None and time <= 0:
            return
        if size not in search.asked:
            search.learn_fewest(size, run, seconds=None if time is None else time / 2)
        else:
            search.settle(size, run, seconds=time)
        run.report()
