"""Exact search over sets of tests: the bound E*(k), and every set that could give a cheaper diagram.

E(S) is the number of errors of the best function of the answers to the tests S, and E*(k) is the least E(S) over all
sets S of at most ``k`` tests. A diagram that uses ``s`` different tests has at least E*(s) errors. Once the cheapest
diagrams over all sets of ``s`` tests with at most ``e`` errors are known, every other diagram that uses ``s`` tests has
more than ``e`` errors. A diagram of ``k`` nodes uses at most ``k`` tests, and its nodes cost ``node_price * (k - 1)``.
Lower bounds from optimal trees for ``k`` nodes count, too. The search always continues with the number of tests whose
bound is lowest, because the lowest bound is the one that holds for all diagrams. See "Univariate: sets of tests" in
``docs/theory/layered-diagrams.md``, where ``error_price`` is called q_e and ``node_price`` q_s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.topologies import MOST_TESTS, cheapest_over_sets
from proofwood.engines.interrupts import raise_ended
from proofwood.engines.run import Clock
from proofwood.problem.diagram import DiagramProblem
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits

MAX_SETS = 100_000
"""The largest number of sets that are listed for one number of errors; if there are more, the bound stays there."""
STEPS = 1024
"""The first step over levels without a set is the open levels divided by this; further steps double."""


@dataclass(eq=False)
class SetSearch:
    """The lower bounds for each number of different tests, and for each number of nodes.

    ``by_tests`` is valid only for diagrams that were not offered yet; ``by_nodes`` is valid for all diagrams.

    Parameters
    ----------
    problem : DiagramProblem with univariate splits
    by_tests : (most + 1,) lower bounds on the integer errors of diagrams that use exactly ``s`` tests
    by_nodes : (most + 1,) lower bounds on the integer errors of diagrams of exactly ``k`` nodes
    asked : numbers of tests whose E* is known
    stuck : numbers of tests with too many sets to list, or too many tests for the search
    late : numbers of tests for which the time did not suffice; they are tried again when there is more time
    steps : for each number of tests, how many levels of errors are searched at once beyond the lowest one
    """

    problem: DiagramProblem
    by_tests: list[int]
    by_nodes: list[int]
    asked: set[int] = field(default_factory=set)
    stuck: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)
    steps: dict[int, int] = field(default_factory=dict)
    _searched: dict[int, frozenset[tuple[int, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: DiagramProblem) -> SetSearch:
        """The state before any search; its bounds come only from rows that no test distinguishes."""
        rows = problem.rows
        most = problem.most_nodes
        least = [problem.leaf_errors, *([rows.unavoidable] * most)]
        return cls(problem, list(least), list(least))

    @property
    def most(self) -> int:
        """The largest number of nodes of a diagram."""
        return len(self.by_nodes) - 1

    def bound(self, tests: int) -> int:
        """A lower bound on the integer cost of diagrams that use exactly ``tests`` different tests."""
        cost, errors = self.problem.cost, self.by_tests[tests]
        return min(cost.of_diagram(max(errors, self.by_nodes[k]), k) for k in range(tests, self.most + 1))

    @property
    def lower(self) -> int:
        """A lower bound on the integer cost of all diagrams that were not offered yet."""
        return min(self.bound(tests) for tests in range(min(self.most, self.problem.rows.n_tests) + 1))

    def most_open(self, upper: int) -> int:
        """The largest number of nodes of a diagram that could cost less than ``upper``."""
        cost = self.problem.cost
        fewest = [min(self.by_tests[: k + 1]) for k in range(self.most + 1)]
        open_ = [k for k in range(self.most + 1) if cost.of_diagram(max(fewest[k], self.by_nodes[k]), k) < upper]
        return max(open_, default=0)

    def next_tests(self, upper: int) -> int | None:
        """The number of tests to search next: the one with the lowest bound below ``upper``; None if all are done."""
        most = min(self.most, self.problem.rows.n_tests)
        tests = [s for s in range(1, most + 1) if s not in self.stuck | self.late and self.bound(s) < upper]
        return min(tests, key=self.bound, default=None)

    def raise_nodes(self, nodes: int, errors: int) -> None:
        """Note that every diagram of ``nodes`` nodes misclassifies at least the integer weight ``errors``."""
        self.by_nodes[nodes] = max(self.by_nodes[nodes], errors)

    def learn_fewest(self, tests: int, run: DiagramRun, *, seconds: float | None) -> None:
        """Search for E*(tests), and raise the bounds for this number of tests and for smaller numbers."""
        found = best_subset(
            self.problem.rows,
            tests,
            limits=Limits(seconds, run.clock.limits.threads),
            upper=self._open_errors(tests, run),
        )
        raise_ended(found.stopped_by)
        if found.stopped_by is None:
            self.asked.add(tests)
        else:
            self.late.add(tests)
        for fewer in range(1, tests + 1):
            self.by_tests[fewer] = max(self.by_tests[fewer], found.lower_bound)
        run.add({"bounds": 1})

    def _open_errors(self, tests: int, run: DiagramRun) -> int:
        """The fewest errors with which a diagram that uses ``tests`` tests cannot be cheaper than the best one."""
        cost = self.problem.cost
        left = run.upper - cost.node_price * (tests - 1)
        return max(0, -(-left // cost.error_price))

    def settle(self, tests: int, run: DiagramRun, *, seconds: float | None) -> None:
        """Search all sets of ``tests`` tests with ``by_tests[tests]`` errors, or some more, and raise this bound.

        With real weights, two sets hardly ever have the same number of errors, and nearly all levels are empty. So
        levels are searched several at once after one without a new set.
        """
        problem, step = self.problem, self.steps.get(tests, 0)
        most = self._open_errors(tests, run) - 1
        level = max(self.by_tests[tests], min(self.by_tests[tests] + step, most))
        if tests > MOST_TESTS:
            self.stuck.add(tests)
            return
        clock = Clock(Limits(seconds, run.clock.limits.threads))
        sets, complete, stopped_by = optimal_subsets(
            self._told_apart, tests, level, max_sets=MAX_SETS, limits=clock.left()
        )
        raise_ended(stopped_by)
        if not complete and len(sets) >= MAX_SETS and level > self.by_tests[tests]:
            self.steps[tests] = step // 2
            return
        searched = self._searched.get(tests, frozenset())
        chosen = [names for names in sets if len(names) == tests and names not in searched]
        found = cheapest_over_sets(
            replace(problem, max_splits=min(problem.max_splits, self.most_open(run.upper))),
            chosen,
            upper=run.upper,
            seconds=clock.seconds_left,
            threads=run.clock.limits.threads,
        )
        run.add({"sets": len(chosen), "states": found.states})
        if found.diagram is not None:
            run.offer(found.diagram, by="search")
        raise_ended(found.stopped_by)
        if found.complete:  # a cheaper diagram of these sets is not left
            self._searched[tests] = searched | set(chosen)
        if complete and found.complete:
            self.by_tests[tests] = level + 1
            if not chosen:
                self.steps[tests] = max(2 * step, (most - level) // STEPS, 1)
        elif len(sets) >= MAX_SETS:
            self.stuck.add(tests)
        else:
            self.late.add(tests)
            self.steps[tests] = step // 2

    @cached_property
    def _told_apart(self) -> RankedRows:
        """The rows for the search over sets; if constraints count rows, with an additional class that has no weight.

        The search ignores a group of equal rows if all classes have the same weight there, since its predictions do not
        change the errors. But constraints may depend on these predictions. With the additional class, no group is
        ignored.
        """
        rows = self.problem.rows
        return replace(rows, n_classes=rows.n_classes + 1) if self.problem.counts_rows else rows


def search_sets(search: SetSearch, run: DiagramRun, *, seconds: float | None) -> None:
    """Search sets of tests, always of the size with the lowest bound, until no size is left or the time is over.

    ``run`` gets the bounds and the diagrams.
    """
    clock = run.clock.within(seconds)
    search.late.clear()
    learned = "tests bound"
    while not run.done:
        run.prove(min(search.lower, run.upper), by=learned)
        tests = search.next_tests(run.upper)
        if run.done or tests is None:
            return
        time = clock.seconds_left
        if clock.over:
            return
        if tests not in search.asked:
            search.learn_fewest(tests, run, seconds=None if time is None else time / 2)
            learned = "tests bound"
        else:
            search.settle(tests, run, seconds=time)
            learned = "search"
        run.report()
