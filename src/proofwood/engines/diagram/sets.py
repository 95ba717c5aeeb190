"""Exact search over sets of tests: the bound E*(k), and every set that could make a cheaper diagram.

E*(k) is the least E(S) over all sets S of at most ``k`` tests, E(S) being the errors of the best function of the
answers to S. A diagram that asks ``s`` different tests has at least the errors of its set, so at least E*(s). Once the
cheapest diagrams over all sets of ``s`` tests with at most ``e`` errors are known, every other one that asks ``s``
tests has more than ``e``. A diagram of ``k`` nodes asks at most ``k`` tests and costs ``node_price * (k - 1)`` beside
its errors; what optimal trees say of ``k`` nodes counts too. The number of tests of least bound is worked on next, so
that the least bound, which holds for all diagrams, rises as fast as it can. See "Univariate: sets of tests" in
``docs/theory/layered-diagrams.md``, whose q_e and q_s are ``error_price`` and ``node_price``.
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
"""Sets of one level of errors that are listed at most; a level with more stays open."""


@dataclass(eq=False)
class SetSearch:
    """What is known about each number of different tests, and about each number of nodes.

    ``by_tests`` holds for diagrams that were not offered yet, the others for all.

    Parameters
    ----------
    problem : DiagramProblem with univariate splits
    by_tests : (most + 1,) least integer errors of diagrams that ask exactly ``s`` tests
    by_nodes : (most + 1,) least integer errors of diagrams of exactly ``k`` nodes
    asked : numbers of tests whose E* is known
    stuck : numbers of tests with too many sets to list, or too many tests for the search
    late : numbers of tests for which the time did not suffice, until there is more
    """

    problem: DiagramProblem
    by_tests: list[int]
    by_nodes: list[int]
    asked: set[int] = field(default_factory=set)
    stuck: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, problem: DiagramProblem) -> SetSearch:
        """Nothing is known yet except which rows no test distinguishes."""
        rows = problem.rows
        most = problem.most_nodes
        least = [problem.leaf_errors, *([rows.unavoidable] * most)]
        return cls(problem, list(least), list(least))

    @property
    def most(self) -> int:
        """Most nodes of a diagram."""
        return len(self.by_nodes) - 1

    def bound(self, tests: int) -> int:
        """Integer cost of diagrams that ask ``tests`` different tests."""
        cost, errors = self.problem.cost, self.by_tests[tests]
        return min(cost.of_diagram(max(errors, self.by_nodes[k]), k) for k in range(tests, self.most + 1))

    @property
    def lower(self) -> int:
        """Integer cost of all diagrams."""
        return min(self.bound(tests) for tests in range(min(self.most, self.problem.rows.n_tests) + 1))

    def most_open(self, upper: int) -> int:
        """Most nodes of a diagram that could cost less than ``upper``."""
        cost = self.problem.cost
        fewest = [min(self.by_tests[: k + 1]) for k in range(self.most + 1)]
        open_ = [k for k in range(self.most + 1) if cost.of_diagram(max(fewest[k], self.by_nodes[k]), k) < upper]
        return max(open_, default=0)

    def next_tests(self, upper: int) -> int | None:
        """The open number of tests of least bound; None if all others are closed or stuck."""
        most = min(self.most, self.problem.rows.n_tests)
        tests = [s for s in range(1, most + 1) if s not in self.stuck | self.late and self.bound(s) < upper]
        return min(tests, key=self.bound, default=None)

    def raise_nodes(self, nodes: int, errors: int) -> None:
        """Diagrams of ``nodes`` nodes get at least ``errors`` integer weight wrong."""
        self.by_nodes[nodes] = max(self.by_nodes[nodes], errors)

    def learn_fewest(self, tests: int, run: DiagramRun, *, seconds: float | None) -> None:
        """Ask for E*(tests), and raise the bounds of this number and of smaller ones."""
        cost = self.problem.cost
        # Only sets that leave room for a cheaper diagram matter; E* above that is as good as closed.
        left = run.upper - cost.node_price * (tests - 1)
        found = best_subset(
            self.problem.rows,
            tests,
            limits=Limits(seconds, run.clock.limits.threads),
            upper=max(0, -(-left // cost.error_price)),
        )
        raise_ended(found.stopped_by)
        if found.stopped_by is None:
            self.asked.add(tests)
        else:
            self.late.add(tests)
        for fewer in range(1, tests + 1):
            self.by_tests[fewer] = max(self.by_tests[fewer], found.lower_bound)
        run.add({"bounds": 1})

    def settle(self, tests: int, run: DiagramRun, *, seconds: float | None) -> None:
        """Search all sets of ``tests`` tests that get ``by_tests[tests]`` wrong, and raise this level by one."""
        problem, level = self.problem, self.by_tests[tests]
        if tests > MOST_TESTS:
            self.stuck.add(tests)
            return
        clock = Clock(Limits(seconds, run.clock.limits.threads))
        sets, complete, stopped_by = optimal_subsets(
            self._told_apart, tests, level, max_sets=MAX_SETS, limits=clock.left()
        )
        raise_ended(stopped_by)
        chosen = [names for names in sets if len(names) == tests]
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
        if complete and found.complete:
            self.by_tests[tests] = level + 1
        elif len(sets) >= MAX_SETS:
            self.stuck.add(tests)
        else:
            self.late.add(tests)

    @cached_property
    def _told_apart(self) -> RankedRows:
        """The rows, such that tests which part them differently are different tests to a search over sets.

        It leaves out groups of equal rows that have the same weight of every class: no error depends on where they go.
        Constraints on rows may; of a class without rows no group has as much weight as of the others.
        """
        rows = self.problem.rows
        return replace(rows, n_classes=rows.n_classes + 1) if self.problem.counts_rows else rows


def search_sets(search: SetSearch, run: DiagramRun, *, seconds: float | None) -> None:
    """Work on the number of tests of least bound until all are closed, stuck, or the time is up.

    ``run`` gets the bounds and what is found.
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
