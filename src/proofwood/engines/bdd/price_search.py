"""Searches diagrams that minimise errors plus the price of inner nodes, one set of tests after the other.

A diagram that uses ``h`` tests has at least ``h`` inner nodes, and at least the errors of its set of tests. So the
search lists, for each ``h``, the sets of ``h`` tests whose errors and ``h`` nodes cost less than the best diagram so
far, and finds the cheapest labels for each set. Diagrams that do not use all tests of a set belong to a smaller set.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from proofwood.engines.bdd.cells import CellTable, diagram
from proofwood.engines.bdd.priced import Cheapest, cheapest_diagram
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets
from proofwood.engines.bdd.subset.tree_tests import bound_of_trees, seconds_for_bound, start_of_trees
from proofwood.engines.interrupts import ENDED, cause_of, completed, ended_by, finished, raise_ended
from proofwood.engines.recorded import Recorded
from proofwood.engines.run import BoundedRun, Clock
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.bdd import BDDProblem
from proofwood.problem.objectives import proof
from proofwood.result import Limits, Part, Progress, Result, Stats, Status

_KEPT = "price search"
"""Name of this search in a checkpoint, which keeps its bound and its diagram for a run that has less time."""
MAX_SETS = 10_000
"""The largest number of sets of tests that is listed for one size."""


def cheapest_over_sets(
    problem: BDDProblem, clock: Clock, progress: Progress | None, checkpoint: SearchFile | None = None
) -> Result:
    """Find the diagram of least cost. If the time ends first, return the best one so far with a valid bound."""
    stops: list[str] = []
    run = completed(lambda: _PricedRun(problem, clock, progress), stops)
    kept = None if checkpoint is None else Recorded(checkpoint, _KEPT, ("bound", "best"))
    try:
        for lower in () if kept is None else kept.rows["bound"]:
            run.prove(lower)
        raise_ended(stops[0] if stops else None)
        run.changed()
        _bound_by_trees(run, checkpoint)
        for size in tuple(run.open):
            if clock.over:
                run.leave_open("time_limit")
                break
            _search_size(run, size, checkpoint)
            run.close(size)
        if run.clock.over and run.bound < run.upper and not run.best.tests:
            _take_good_trees(run)
    except ENDED as error:
        run.leave_open(cause_of(error))
    if kept is not None:
        completed(lambda: run.keep(kept), stops)
    return finished(lambda by: run.result(by or (stops[0] if stops else None)))


def _bound_by_trees(run: _PricedRun, checkpoint: SearchFile | None) -> None:
    """Bound the errors of all diagrams by the best tree of as many levels as they may have tests."""
    rows, most = run.problem.rows, max(run.open, default=0)
    limits = Limits(seconds_for_bound(run.clock), run.clock.limits.threads)

    def raised(errors: int) -> None:
        run.raise_errors(errors, run.open)

    tests, stopped_by = bound_of_trees(rows, most, limits, raised, checkpoint)
    raise_ended(stopped_by)
    if tests:
        run.take(run.cheapest(CellTable.of(rows, tests)))


def _take_good_trees(run: _PricedRun) -> None:
    """Offer a diagram over the tests of good trees, where the time was over before any set was known."""
    tests, stopped_by = start_of_trees(run.problem.rows, run.problem.max_features, Limits(0.0))
    raise_ended(stopped_by)
    run.take(run.cheapest(CellTable.of(run.problem.rows, tests)))


def _search_size(run: _PricedRun, size: int, checkpoint: SearchFile | None) -> None:
    """Search the diagrams that use exactly ``size`` tests."""
    rows, cost, clock = run.problem.rows, run.problem.cost, run.clock
    largest = size == max(run.open)  # the bound of trees is known
    options = SubsetOptions(tree_bound=not largest)
    fewest = best_subset(rows, size, options=options, limits=clock.left(), checkpoint=checkpoint)
    raise_ended(fewest.stopped_by)
    run.raise_errors(fewest.lower_bound, [size])
    bound = run.open[size]
    if fewest.tests is not None and len(fewest.tests) == size:
        run.take(run.cheapest(CellTable.of(rows, fewest.tests)))
    if bound >= run.upper:
        return
    most = (run.upper - 1 - cost.leaf_price * size) // cost.error_price
    sets, complete, ended = optimal_subsets(
        rows, size, most, max_sets=MAX_SETS, limits=clock.left(), checkpoint=checkpoint
    )
    raise_ended(ended)
    if not complete:
        run.leave(bound)
    for tests in sets:
        if len(tests) == size:
            _search_set(run, tests)
    run.report()


def _search_set(run: _PricedRun, tests: tuple[int, ...]) -> None:
    """Search the diagrams that use all of ``tests``."""
    cells = CellTable.of(run.problem.rows, tests)
    least = run.problem.cost.error_price * cells.errors + run.problem.cost.leaf_price * len(tests)
    if least >= run.upper:
        return
    if run.clock.over:
        run.leave(least, "time_limit")
        return
    found = run.cheapest(cells)
    run.counters["sets"] += 1
    run.take(found)
    if found.lower_bound < run.upper and found.status is not Status.OPTIMAL:
        run.leave(max(least, found.lower_bound))


class _PricedRun(BoundedRun):
    """The cheapest diagram so far, and bounds for the diagrams that were not searched."""

    def __init__(self, problem: BDDProblem, clock: Clock, progress: Progress | None) -> None:
        super().__init__(clock, progress)
        self.problem = problem
        self.counters["sets"] = 0
        cost = problem.cost
        self.best = cheapest_diagram(CellTable.of(problem.rows, ()), cost.error_price, cost.leaf_price)
        self.upper = self.best.cost
        most = min(problem.max_features, problem.rows.n_tests)
        self.open = {size: self.least(size, problem.rows.unavoidable) for size in range(1, most + 1)}
        self._left: list[int] = []
        self._stopped_by: str | None = None

    def cheapest(self, cells: CellTable) -> Cheapest:
        """The cheapest order and labels over ``cells``. They are not improved if they cannot beat the best diagram."""
        cost = self.problem.cost
        return cheapest_diagram(cells, cost.error_price, cost.leaf_price, upper=self.upper, limits=self.clock.left())

    def take(self, found: Cheapest) -> None:
        """Make ``found`` the best diagram if it costs less; raise what ended the search for it, if it ends all."""
        if found.cost < self.upper:
            self.best, self.upper = found, found.cost
            self.changed()
        raise_ended(found.stopped_by)

    def least(self, size: int, errors: int) -> int:
        """A lower bound on the integer cost of diagrams with ``size`` inner nodes or more, and ``errors`` or more."""
        return self.problem.cost.error_price * errors + self.problem.cost.leaf_price * size

    def raise_errors(self, errors: int, sizes: Iterable[int]) -> None:
        """Note that no set of these sizes makes fewer ``errors``."""
        self.open |= {size: max(self.open[size], self.least(size, errors)) for size in sizes}
        self.tell()

    def tell(self) -> None:
        """Record what the sizes that are not searched yet, and diagrams that were left out, may cost."""
        self.prove(min([self.upper, *self._left, *self.open.values()]))

    def close(self, size: int) -> None:
        """Note that this size is searched."""
        del self.open[size]
        self.tell()

    def leave_open(self, stopped_by: str) -> None:
        """Note that the other sizes are not searched, and what stopped the search."""
        self._left += self.open.values()
        self.open = {}
        self._stopped_by = stopped_by

    def leave(self, bound: int, stopped_by: str | None = None) -> None:
        """Note that some diagrams, each of cost at least ``bound``, are not searched; and what stopped the search."""
        self._left.append(bound)
        self._stopped_by = stopped_by or self._stopped_by

    def state(self) -> tuple[float, float]:
        """The cost of the best diagram and the bound, in the unit of the result."""
        return self.problem.cost.reported(self.upper, self.lower)

    def keep(self, kept: Recorded) -> None:
        """Take the diagram of an earlier run if it is better, and write the bound and the better one of both.

        A diagram is kept as its tests, the classes of its cells, and its cost. It is looked at last, so that a search
        that is completed ends in the same diagram as one that was never stopped.
        """
        for tests, labels, cost in kept.rows["best"]:
            self.take(Cheapest(tuple(tests), np.array(labels), cost, 0, Status.FEASIBLE))
        best = [list(self.best.tests), self.best.labels.tolist(), self.best.cost]
        if self.bound > max(kept.rows["bound"], default=-1) or all(self.upper < cost for *_, cost in kept.rows["best"]):
            kept.keep({"bound": [self.bound], "best": [best]})

    @property
    def bound(self) -> int:
        """What all diagrams cost at least, once no size is open."""
        return max(self.lower, min([self.upper, *self._left]))

    def result(self, stop: str | None) -> Result:
        """The best diagram, its cost counted again; ``stop`` is what ended the work after the search."""
        problem, best, lower = self.problem, self.best, self.bound
        table = problem.rows.refresh(diagram(best.tests, best.labels, problem.rows.n_classes))
        if problem.integer_cost(table) != self.upper:
            raise AssertionError(
                f"the diagram costs {problem.integer_cost(table)}, but the search counted {self.upper}"
            )
        objective, bound, status = proof(
            problem.cost, self.upper, lower, lambda: problem.real_cost(table), complete=lower == self.upper
        )
        stopped_by = stop or self._stopped_by or ("time_limit" if self.clock.over and self._left else None)
        stopped_by = ended_by(stopped_by, complete=lower == self.upper)
        stats = Stats(self.clock.seconds, "search", stopped_by, dict(self.counters))
        part = Part(problem.cost.name, objective, bound, status)
        trace = self.whole_trace(objective, bound)
        return Result(table, objective, problem.cost.name, bound, status, stats, trace, (part,))
