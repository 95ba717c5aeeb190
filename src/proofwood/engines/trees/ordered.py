"""Trees of two classes whose class follows the direction of columns: docs/theory/optimal-trees.md, "Monotone columns".

Why so: decisions/0101-monotone-trees-and-fair-trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.data.thresholds import ThresholdRule, placed
from proofwood.engines.interrupts import ENDED, STOPPED_BY, answer_of, code_of, ended_by, ends_all, finished
from proofwood.engines.run import Clock
from proofwood.engines.switches import switches
from proofwood.engines.trees.solve import bound
from proofwood.model.node_table import NodeTable
from proofwood.problem.class_limits import OrderedClasses, clashing_leaves
from proofwood.problem.objectives import proof
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats, ended

FIRST_DEPTH = 2
"""Trees of this depth are searched before the bound of deeper ones: they take little time, and one is in hand then."""
FIRST_SHARE = 4
"""The search of these trees may take one part in so many of the time."""


@dataclass(frozen=True, slots=True)
class OrderedOptions:
    """Switches of the search; none changes the objective.

    Parameters
    ----------
    alone : solve both sides of a split on a monotone column alone, before the trees of one side are enumerated
    dominance : leave out trees of a side that forbid as much to the other side as a cheaper one
    memory : keep what is known of sets of rows that no leaf outside restricts
    """

    alone: bool = True
    dominance: bool = True
    memory: bool = True


def solve_ordered(
    problem: TreeProblem,
    *,
    options: OrderedOptions = OrderedOptions(),
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """Tree of least cost that keeps the order of classes, each leaf with a row of positive weight.

    The search runs in the calling thread's process on one thread, but for the bound of trees without the order.

    Parameters
    ----------
    problem : with a target :class:`~proofwood.problem.class_limits.OrderedClasses`
    options : switches of this search
    limits : wall-clock seconds and threads
    progress : called at improvements and about five times a second

    Returns
    -------
    Result
        At a limit the best tree so far, a single leaf at least, with the bound of trees without the order.

    Raises
    ------
    AssertionError
        If two leaves of the tree found break the order.
    """
    return _Search(problem, options, Clock(limits), progress).result()


@dataclass
class _Search:
    problem: TreeProblem
    options: OrderedOptions
    clock: Clock
    progress: Progress | None

    def __post_init__(self) -> None:
        target = self.problem.target
        assert isinstance(target, OrderedClasses)
        self.target = target
        self.X = np.ascontiguousarray(self.problem.X)
        self.labels = np.ascontiguousarray(target.codes, dtype=np.int32)
        ones = int(self.problem.weights[target.codes == 1].sum())
        self.best = NodeTable.leaf(int(2 * ones > int(self.problem.weights.sum())), target.width)
        self.upper, self.lower = self.problem.integer_cost(self.best), 0
        self.stopped = 0
        self.pending: tuple[dict[str, Any], bool] | None = None
        self.counters: dict[str, int] = {}
        self.trace: list[ProgressEvent] = []

    def result(self) -> Result:
        try:
            self._run()
        except ENDED as error:
            self.stopped = code_of(error)
        return finished(self._result)

    def _run(self) -> None:
        depth = self.problem.depth
        if depth > FIRST_DEPTH:
            self._natively(FIRST_DEPTH, self.clock.part(FIRST_SHARE))
            if ends_all(STOPPED_BY[self.stopped]):
                return
            self.stopped = 0
            self._bound()
        if self.lower < self.upper - self.problem.max_gap and not self.stopped:
            self._natively(depth, self.clock)

    def _bound(self) -> None:
        """The bound of trees without the order; if the best of them keeps it, that is the answer."""
        free = replace(self.problem, target=Classes(self.target.codes, self.target.n_classes))
        found = bound(free, below=self.upper, limits=self.clock.left())
        self.stopped = next(code for code, name in STOPPED_BY.items() if name == found.stopped_by)
        self.lower = max(self.lower, min(found.lower, self.upper))
        if found.model is not None:
            model = placed(found.model, self.X, rule=ThresholdRule.MIDPOINT, of_tests=True)
            cost = self.problem.integer_cost(model)
            if cost < self.upper and clashing_leaves(model, self.target.directions) is None:
                self.best, self.upper = model, cost
        self._tell(self.upper, self.lower)

    def _natively(self, depth: int, clock: Clock) -> None:
        problem, last = self.problem, depth == self.problem.depth
        found = answer_of(
            _native.solve_monotone_tree,
            self.X,
            self.labels,
            problem.weights,
            list(self.target.directions),
            {
                "max_depth": depth,
                "error_price": problem.cost.error_price,
                "leaf_price": problem.cost.leaf_price,
                "min_rows": min(problem.min_samples_leaf, 2**31 - 1),
                "min_weight": problem.min_leaf_weight,
                "gap": problem.max_gap if last else 0,
                "start_upper": self.upper,
                "known": self.lower if last else 0,
                **switches(self.options),
            },
            clock.seconds_left,
            self._reporter(last),
        )
        self.pending = found, last  # at once: Ctrl-C may come at any call, and what was reported must not be lost
        self.stopped = found["stopped"]
        self._take_up()
        for name, n in found.get("counters", {}).items():
            self.counters[name] = self.counters.get(name, 0) + n
        if last and self.stopped and self.lower >= self.upper - problem.max_gap:
            self.stopped = 0 if STOPPED_BY[self.stopped] == "time_limit" else self.stopped
        self._tell(self.upper, self.lower)

    def _take_up(self) -> None:
        """Keep the bound and the tree of the last native search; nothing if that is done."""
        if self.pending is None:
            return
        found, last = self.pending
        if last:
            self.lower = max(self.lower, min(found.get("lower", 0), found.get("upper", self.upper)))
        if found["tree"]:
            table = self._table(found["tree"])
            cost = self.problem.integer_cost(table)
            if cost != found["upper"]:
                raise AssertionError(f"the tree costs {cost}, but the search counted {found['upper']}")
            self.best, self.upper = table, cost
        self.pending = None

    def _reporter(self, last: bool) -> Callable[[float, int, int], None]:
        def report(_: float, upper: int, lower: int) -> None:
            self._tell(min(upper, self.upper), max(lower, self.lower) if last else self.lower)

        return report

    def _tell(self, upper: int, lower: int) -> None:
        event = ProgressEvent(self.clock.seconds, *self.problem.cost.reported(upper, min(lower, upper)))
        if not self.trace or not self.trace[-1].says(event):
            self.trace.append(event)
        if self.progress is not None:
            self.progress(event)

    def _table(self, nodes: list[tuple[int, float, int, int, bool]]) -> NodeTable:
        """The tree with one threshold between two neighbouring values, wherever it is tested."""
        feature, value, low, high, one = (np.array(column) for column in zip(*nodes, strict=True))
        threshold = np.where(low < 0, np.nan, value)
        table = NodeTable.uncounted(feature, threshold, low, high, self.target.width, label=one.astype(np.int64))
        return placed(table, self.X, rule=ThresholdRule.MIDPOINT, of_tests=True)

    def _result(self, stop: str | None) -> Result:
        self._take_up()
        problem, stopped_by = self.problem, STOPPED_BY[self.stopped]
        model = self.target.refreshed(self.best, problem.X, problem.real_weights)
        broken = clashing_leaves(model, self.target.directions)
        if broken is not None:
            raise AssertionError(f"leaves {broken[0]} and {broken[1]} break the order of classes")
        complete = stopped_by is None or self.lower >= self.upper - problem.max_gap
        objective, lower, status = proof(
            problem.cost, self.upper, self.lower, lambda: problem.real_cost(model), complete=complete
        )
        final = ProgressEvent(self.clock.seconds, objective, lower)
        stats = Stats(
            seconds=final.seconds,
            engine="search in order",
            stopped_by=ended_by(stop or stopped_by, complete=complete),
            counters=self.counters,
        )
        return Result(model, objective, problem.cost.name, lower, status, stats, ended(self.trace, final))
