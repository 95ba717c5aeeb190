"""Trees of least quotient, such as 1 - F1: a few searches of weighted errors, each priced by the best tree so far.

The theory is in docs/theory/optimal-trees.md, section "Quotients of counts"; why so: decisions/0100-questions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from proofwood.engines.interrupts import ENDED, GAP_OF_PRICES, STOPPED_BY, cause_of, ended_by, ends_all, finished
from proofwood.engines.run import Clock, Run
from proofwood.engines.trees.fair import (
    HALVINGS,
    MOST_SEARCHES,
    SETTLED,
    Aim,
    PricedTrees,
    Prices,
    Values,
    first_depths,
    highest,
)
from proofwood.engines.trees.solve import DEFAULT_OPTIONS, solve
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

RISING = (Fraction(1, 16), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1))
"""Shares of the gap between bound and best cost that are proved, one after the other: a low cost is proved sooner."""
NEAR = 1000
"""A bound is near the best cost if the gap is below one part in so many: then that cost is tried at once."""
FINEST = 10**6
"""The largest denominator of costs in between, and of prices."""
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
    progress : called at improvements; without a least recall also about five times a second
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
    assert isinstance(problem.target, RatioClasses)
    run = _PrecisionRun if problem.target.ratio.recall else _RatioRun
    return run(problem, Clock(limits), progress, checkpoint).result()


class _RatioRun(Run):
    """The best tree so far, its cost, and the floors that hold for all trees."""

    gap_left: str | None = None
    """Why a search that nothing stopped may leave a gap."""

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
        for depth in first_depths(self.problem.depth):
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
            stopped_by=ended_by(stop or self.stopped_by or self.gap_left, complete=status is not Status.FEASIBLE),
            counters=dict(self.counters),
        )
        return Result(model, objective, self.ratio.unit, bound, status, stats, self.whole_trace(objective, bound))

    def _with_losses(self, table: NodeTable) -> NodeTable:
        """The tree with the loss of each node, such that those of its leaves add up to what it costs.

        A node pays as a leaf of its cheaper class. With a least recall, a leaf may have the class that pays more, and a
        node then pays at least what its leaves do; a root that finds no positive row is no tree.
        """
        prices = self.ratio.prices(self.cost)
        at_nodes = self.target.at_nodes(apply(table, self.problem.X), table.n_nodes, self.weights)
        called = (table.label == self.target.positive).astype(int).tolist()  # a missed row pays the first price
        paid = [prices[yes] * at[yes] for yes, at in zip(called, at_nodes, strict=True)]
        for node in reversed(list(table.splits())):
            low, high = table.low[node], table.high[node]
            at_nodes[node] = Weights(*(sum(both) for both in zip(at_nodes[low], at_nodes[high], strict=True)))
            alone = [price * of for price, of in zip(prices, at_nodes[node], strict=True)]
            least = alone[1] if self.ratio.recall and node == 0 else min(alone)
            paid[node] = max(least, paid[low] + paid[high])
        whole = self.ratio.hit * self.every.positive
        return table.changed(loss=np.array([float(loss / whole) for loss in paid]))


class _PrecisionRun(_RatioRun):
    """Trees that find a least share of the positive rows: the limit on what they miss has a price, too.

    Of a tree, the missed positive rows are its cost at a price of 1, and the rows that it falsely calls positive are
    its sum. With the quotient ``c``, it costs less if and only if ``c * missed + (1 - c) * called`` is below
    ``c * positives``.
    """

    gap_left = GAP_OF_PRICES

    def __init__(
        self, problem: TreeProblem, clock: Clock, progress: Progress | None, checkpoint: SearchFile | None
    ) -> None:
        super().__init__(problem, clock, progress, checkpoint)
        is_positive = self.target.codes == self.target.positive
        weights = np.where(is_positive, problem.weights, 0)
        self.called = np.where(is_positive, 0, problem.weights)
        self.positives = int(weights.sum())
        self.most = math.floor(self.ratio.missed_at_most(self.every) / problem.cost.unit)
        self.missing = replace(
            problem,
            target=Classes(self.target.codes, self.target.n_classes),
            weights=weights,
            cost=TreeCost(total=self.positives, unit=Fraction(1), error_price=1, leaf_price=0),
            max_gap=0,
        )
        self.trees = self._trees_of(first_depths(problem.depth)[0])

    def _trees_of(self, depth: int, known: dict[Values, NodeTable] | None = None) -> PricedTrees:
        trees = PricedTrees(
            replace(self.missing, max_depth=depth),
            self.target.positive,
            self.called[np.newaxis],
            DEFAULT_OPTIONS,
            self.clock,
            dict(known or {}),
        )
        trees.helps = self._is_better
        return trees

    def _cost_of(self, values: Values) -> Fraction:
        """The quotient, of a tree that is within the limit."""
        called = values.sums[0]
        return Fraction(called, self.positives - values.cost + called)

    def _is_better(self, values: Values) -> bool:
        return values.cost <= self.most and self._cost_of(values) < self.cost

    def _search(self) -> None:
        """Trees that prices find at the best cost; then all trees below costs that rise to it."""
        self.changed()
        for depth in first_depths(self.problem.depth):
            if depth > self.trees.problem.depth:
                self.trees = self._trees_of(depth, self.trees.known)
            self._lower_cost()
        while self._is_open() and self._rise():
            self._lower_cost()

    def _lower_cost(self) -> None:
        """Take trees that prices find at the best cost, until they find no better one."""
        while self._is_open() and self._below(self.cost):
            pass

    def _is_open(self) -> bool:
        return self.stopped_by is None and self.cost - self.lower > self.target.permitted

    def _rise(self) -> bool:
        """Prove costs between the bound and the best cost, one after the other; whether a better tree was found."""
        lower, gap = self.lower, self.cost - self.lower
        for share in RISING if gap * NEAR > self.cost else RISING[-1:]:
            cost = (lower + share * gap).limit_denominator(FINEST)
            if share == 1 or not lower < cost < self.cost:  # few digits may be too few for small costs
                cost = self.cost
            if self._below(cost, listed=True):
                return True
            if not self._is_open() or self.lower < cost:
                return False
        return False

    def _below(self, cost: Fraction, *, listed: bool = False) -> bool:
        """Look for a tree that costs less than ``cost``, at most that of the best one; whether a better one was found.

        Parameters
        ----------
        cost : Fraction
        listed : where prices leave a gap, look at all trees within it
        """
        before = self.cost
        floor, price = self._raise_price(cost, self.most)
        if listed and self.stopped_by is None and self.cost == before and floor.least < self._due(cost):
            floor = floor._replace(least=self._look_at_all(floor, price))
            self._prove_floor(floor)
            for half in range(1, HALVINGS + 1):  # where no list can be made: other trees at other limits
                if self.stopped_by is not None or self.cost < before or floor.least >= self._due(cost):
                    break
                self._raise_price(cost, self.most >> half)
        return self.cost < before

    def _due(self, cost: Fraction) -> int:
        return cost.numerator * self.positives

    def _raise_price(self, cost: Fraction, most: int) -> tuple[Floor, Fraction]:
        """Search at prices of what is missed beyond ``most``; the floor of other trees, and the price it was found at.

        The floor is in integer weights. This ends where it proves that no tree costs less, or a better tree than the
        best one is found, or the known trees promise no higher floor.
        """
        trees, right, wrong = self.trees, cost.numerator, cost.denominator - cost.numerator
        least, price, n_known, n_searches = Fraction(0), Fraction(0), 0, 0
        while self.stopped_by is None and n_searches < MOST_SEARCHES and len(trees.known) > n_known:
            n_known = len(trees.known)
            known = np.array([(values.cost, values.sums[0]) for values in trees.known], dtype=np.float64)
            found = highest(known @ [float(right), float(wrong)], known[:, :1] - most)
            if found is None or found[1] <= float(least) * (1 + SETTLED) + SETTLED:
                break
            tried = Fraction(found[0][0]).limit_denominator(FINEST)
            bound = trees.search(Prices(right + tried, (Fraction(wrong),))) - tried * most
            n_searches += 1
            self.counters["searches"] += 1
            if bound > least:
                least, price = bound, tried
            self._note_stop()
            floor = Floor(Fraction(right), Fraction(wrong), least)
            if most == self.most:
                self._prove_floor(floor)
            if self._consider_known() or least >= self._due(cost):
                break
        return Floor(Fraction(right), Fraction(wrong), least), price

    def _look_at_all(self, floor: Floor, price: Fraction) -> Fraction:
        """Look at all trees that are below what is due, and within the limit; a bound on the sum of all of them."""
        amounts, base, per_leaf = self.trees.cost_form()
        right, wrong, due = int(floor.positive), int(floor.negative), int(floor.positive) * self.positives
        goals = right * amounts + wrong * self.called
        aim = Aim(
            goals[np.newaxis],
            amounts[np.newaxis],
            [right * base, base],
            [right * per_leaf, per_leaf],
            [self.most],
            Fraction(1),
            price * self.most,
        )
        prices = Prices(right + price, (Fraction(wrong),))
        before = self.trees.n_listed
        complete = self.trees.close(prices, aim, due, math.ceil(floor.least))
        self.add({"listed": self.trees.n_listed - before})
        self._note_stop()
        within = (values for values in self.trees.known if values.cost <= self.most)
        best = min(right * values.cost + wrong * values.sums[0] for values in within)
        self._consider_known()
        return Fraction(min(due, best)) if complete else floor.least

    def _note_stop(self) -> None:
        if self.trees.stopped:
            self.stopped_by = STOPPED_BY[self.trees.stopped]

    def _consider_known(self) -> bool:
        """Keep the best known tree; whether it costs less than the best one so far."""
        better = [values for values in self.trees.known if self._is_better(values)]
        if better:
            chosen = min(better, key=self._cost_of)
            self.best, self.cost = prune(self.trees.known[chosen]), self._cost_of(chosen)
            self.changed()
        return bool(better)

    def _prove_floor(self, floor: Floor) -> None:
        """Take a floor in integer weights, if it is one of all trees."""
        if self.trees.problem.depth == self.problem.depth:
            floor = floor._replace(least=floor.least * self.problem.cost.unit)
            others = [one for one in self.floors if one[:2] != floor[:2] or one.least > floor.least]
            self.floors = [*others, floor]
            self._prove(self.floors)
