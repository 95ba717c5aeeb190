"""Trees of least quotient, such as 1 - F1: a few searches of weighted errors, each priced by the best tree so far.

The theory is in docs/theory/optimal-trees.md, section "Quotients of counts"; why so: decisions/0100-questions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from proofwood.engines.interrupts import ENDED, cause_of, ended_by, ends_all, finished
from proofwood.engines.run import Clock, Run
from proofwood.engines.trees.solve import solve
from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.model.reshape import prune
from proofwood.model.sums import rounded_down
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.objectives import LARGEST_TOTAL, IntegerWeights, TreeCost, integer_weights
from proofwood.problem.targets import Classes
from proofwood.problem.targets.ratios import Floor, RatioClasses, Weights
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats, Status

SHALLOW = 2
"""Trees of this depth are found in moments: the quotient of the best one prices the first search of deeper trees."""
SURELY = 1 - Fraction(1, 2**51)
"""A product of two float64 numbers is at least this share of the exact one."""


class Priced(NamedTuple):
    """A problem of weighted errors, whose bound is a floor of what trees get wrong.

    Parameters
    ----------
    problem : its costs are in real weight times prices
    prices : of a missed and of a falsely called row
    share : part of a bound that rounding leaves
    lost : what rounding may take from a bound beyond that
    """

    problem: TreeProblem
    prices: tuple[Fraction, Fraction]
    share: Fraction = Fraction(1)
    lost: Fraction = Fraction(0)

    def floor(self, least: Fraction) -> Floor:
        """The floor, if no tree costs less than ``least`` in this problem."""
        return Floor(*self.prices, max(Fraction(0), least * self.share - self.lost))


def solve_ratio(
    problem: TreeProblem,
    *,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> Result:
    """Tree of the least quotient within the problem's depth, by the method of Dinkelbach [1]_.

    Parameters
    ----------
    problem : with a target :class:`RatioClasses`
    limits : wall-clock seconds, shared by all searches, and threads
    progress : called at improvements and about five times a second
    checkpoint : file with the proofs of earlier runs, from which each search starts

    Returns
    -------
    Result
        Objective and bound are quotients, exact in fractions and then rounded outward. Labels of leaves are those of
        the least quotient, and ``loss`` adds up to it. A completed search without gap returns the same tree for any
        number of threads: of the best trees, the one that the search of errors at its prices returns.

    References
    ----------
    .. [1] Dinkelbach (1967), On Nonlinear Fractional Programming, Management Science 13.
    """
    return _RatioRun(problem, Clock(limits), progress, checkpoint).result()


class _RatioRun(Run):
    """The best tree so far, its cost, and the floors that hold for all trees."""

    def __init__(
        self, problem: TreeProblem, clock: Clock, progress: Progress | None, checkpoint: SearchFile | None
    ) -> None:
        super().__init__(clock, progress)
        assert isinstance(problem.target, RatioClasses)
        self.problem, self.target = problem, problem.target
        self.ratio = self.target.ratio
        self.checkpoint = checkpoint
        self.weights = IntegerWeights(problem.weights, problem.cost.unit, problem.rounding)
        self.every = self.target.every(self.weights)
        self.floors: list[Floor] = []
        self.lower = Fraction(0)
        self.rounded = False
        self.stopped_by: str | None = None
        self.best = NodeTable.leaf(self.target.positive, self.target.width)
        self.cost = self.ratio.cost(Weights(Fraction(0), self.every.negative), self.every)

    def state(self) -> tuple[float, float]:
        """See the base class."""
        objective = float(self.cost)
        return objective, objective if self.lower >= self.cost else rounded_down(self.lower)

    def result(self) -> Result:
        """Search, and say what was found."""
        try:
            self._search()
        except ENDED as error:  # the best tree and the floors so far remain valid
            self.stopped_by = cause_of(error)
        return finished(self._result)

    def _search(self) -> None:
        """Search at the prices of the best cost until no tree is below it: first trees of little depth, then all."""
        self.changed()
        for depth in sorted({min(SHALLOW, self.problem.depth), self.problem.depth}):
            improved = True
            while improved and self.stopped_by is None and self.cost - self.lower > self.target.permitted:
                improved = self._step(depth)

    def _step(self, depth: int) -> bool:
        """One search at the prices of the best cost; whether it found a better tree."""
        before, final = self.cost, depth == self.problem.depth
        priced = self._priced(before, depth)

        def report(event: ProgressEvent) -> None:
            if final:
                self._prove([*self.floors, priced.floor(Fraction(event.lower_bound))])
            self.report()

        found = solve(
            priced.problem,
            limits=self.clock.left(),
            progress=None if self.progress is None else report,
            checkpoint=self.checkpoint,
        )
        self.counters["searches"] += 1
        self.add({"subproblems": found.stats.counters.get("subproblems", 0)})
        assert found.model is not None
        self._consider(found.model)
        if final:
            optimal = found.status is Status.OPTIMAL
            least = priced.problem.real_cost(found.model) if optimal else Fraction(found.lower_bound)
            self.floors.append(priced.floor(least))
            self.rounded = not optimal or priced.share < 1
            self._prove(self.floors)
        if found.status is Status.FEASIBLE or ends_all(found.stats.stopped_by):
            self.stopped_by = found.stats.stopped_by
        return self.cost < before

    def _priced(self, cost: Fraction, depth: int) -> Priced:
        """The problem of weighted errors at the prices of this cost."""
        problem, exact = self.problem, self.ratio.prices(cost)
        is_positive = self.target.codes == self.target.positive
        whole = math.lcm(*(price.denominator for price in exact))
        factors = [int(price * whole) for price in exact]
        total = sum(of * factor for of, factor in zip(self.every, factors, strict=True)) / problem.cost.unit
        if problem.rounding is None and total < LARGEST_TOTAL:
            values = problem.weights * np.where(is_positive, *factors)
            divisor = int(np.gcd.reduce(values))
            weights = IntegerWeights(values // divisor, divisor * problem.cost.unit / whole)
            return Priced(self._weighted(weights, depth, Fraction(1)), exact)
        # Products that 64 bits do not hold are rounded: once as float64, and once to whole numbers.
        low = min(exact)
        floats = [float(price / low) for price in exact]
        real, unit = self._real_weights()
        weights = integer_weights(real * np.where(is_positive, *floats), problem.n_rows, as_floats=True)
        prices = (Fraction(floats[0]) / unit, Fraction(floats[1]) / unit)
        lost = problem.n_rows * Fraction(1, 2**1074)
        return Priced(self._weighted(weights, depth, 1 / (low * unit)), prices, SURELY, lost)

    def _real_weights(self) -> tuple[FloatArray, Fraction]:
        """(n_rows,) float64 weights that are exact multiples of a unit."""
        if self.problem.rounding is not None:
            return self.problem.rounding.weights, Fraction(1)
        return self.problem.weights.astype(np.float64), self.problem.cost.unit

    def _weighted(self, weights: IntegerWeights, depth: int, scale: Fraction) -> TreeProblem:
        """The problem with other weights; ``scale`` is how much its costs are larger than at the exact prices."""
        values, unit, rounding = weights
        most = min(self.problem.n_rows, 2**depth) - 1
        total = int(values.sum())
        cost = TreeCost.at_price(Fraction(0), total=total, unit=unit, rounding=rounding, most=most)
        # The denominator of the cost of a tree is at least this.
        least = min(self.ratio.hit, self.ratio.missed) * self.every.positive
        gap = self.target.permitted * least * scale - cost.above - cost.below
        return replace(
            self.problem,
            target=Classes(self.target.codes, self.target.n_classes),
            weights=values,
            cost=cost,
            rounding=rounding,
            max_depth=depth,
            max_gap=max(0, min(LARGEST_TOTAL, math.floor(gap / unit))),
        )

    def _consider(self, found: NodeTable) -> None:
        """Keep the tree, with the labels of the least quotient, if none so far costs less."""
        at_nodes = self.target.at_nodes(apply(found, self.problem.X), found.n_nodes, self.weights)
        cost = self.ratio.cost(self.target.wrong(found, at_nodes), self.every)
        while cost < 1:
            found = found.changed(label=self._labels(found, at_nodes, cost))
            again = self.ratio.cost(self.target.wrong(found, at_nodes), self.every)
            if again == cost:
                break
            cost = again
        if cost <= self.cost:
            self.best, self.cost = prune(found), cost
            self.changed()

    def _labels(self, table: NodeTable, at_nodes: list[Weights], cost: Fraction) -> list[int]:
        """The labels of leaves that pay least at the prices of a cost; of equal ones the smaller code."""
        positive, negative = self.ratio.prices(cost)
        first = self.target.positive == 0
        labels: list[int] = table.label.tolist()
        for node in np.flatnonzero(table.feature == LEAF).tolist():
            gain = positive * at_nodes[node].positive - negative * at_nodes[node].negative
            called = gain > 0 or (gain == 0 and first)
            labels[node] = self.target.positive if called else 1 - self.target.positive
        return labels

    def _prove(self, floors: list[Floor]) -> None:
        lower = min(self.cost, self.ratio.least(floors, self.every))
        if lower > self.lower:
            self.lower = lower
            self.changed()

    def _result(self, stop: str | None) -> Result:
        model = self._with_losses(self.target.refreshed(self.best, self.problem.X, self.problem.real_weights))
        objective, bound = self.state()
        gap = self.cost - self.lower
        if gap <= 0:
            status = Status.OPTIMAL
        elif gap <= self.target.permitted or (self.stopped_by is None and self.rounded):
            status = Status.WITHIN_GAP
        else:
            status = Status.FEASIBLE
        stats = Stats(
            seconds=self.clock.seconds,
            engine="search by quotients",
            stopped_by=ended_by(stop or self.stopped_by, complete=status is not Status.FEASIBLE),
            counters=dict(self.counters),
        )
        return Result(model, objective, self.ratio.unit, bound, status, stats, self.whole_trace(objective, bound))

    def _with_losses(self, table: NodeTable) -> NodeTable:
        """The tree with the loss of each node, such that those of its leaves add up to what it costs."""
        prices = self.ratio.prices(self.cost)
        at_nodes = self.target.at_nodes(apply(table, self.problem.X), table.n_nodes, self.weights)
        for node in reversed(list(table.splits())):
            low, high = at_nodes[table.low[node]], at_nodes[table.high[node]]
            at_nodes[node] = Weights(low.positive + high.positive, low.negative + high.negative)
        whole = self.ratio.hit * self.every.positive
        losses = [min(price * of for price, of in zip(prices, at, strict=True)) / whole for at in at_nodes]
        return table.changed(loss=np.array([float(loss) for loss in losses]))
