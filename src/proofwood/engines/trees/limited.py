"""Trees of actions under limits: exact searches with prices, whose dual bound holds for every tree within the limits.

The theory is in docs/theory/optimal-trees.md, section "Budgets of actions"; why so: decisions/0095-policies.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from proofwood import _native
from proofwood.data.thresholds import ThresholdRule, placed
from proofwood.engines.interrupts import (
    ENDED,
    GAP_OF_PRICES,
    INTERRUPT,
    STOPPED_BY,
    answer_of,
    code_of,
    ended_by,
    finished,
)
from proofwood.engines.run import Clock, Run
from proofwood.engines.trees.last_tests import LabelledTree, LastTests
from proofwood.engines.trees.solve import DEFAULT_OPTIONS, settings_of, table_of
from proofwood.model.node_table import NodeTable
from proofwood.model.reshape import prune
from proofwood.model.sums import rounded_down
from proofwood.problem.action_limits import Leaves, LimitedRewards, Use
from proofwood.problem.objectives import LARGEST_TOTAL, SumCost, integer_prices
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Progress, Result, Stats, Status

MOST_COVERED = 5
"""The most actions for which each set of given actions is tried, if each needs a least number of rows."""
MOST_LABELLINGS = 20_000
"""The most ways of labelling the leaves of one tree that are tried."""
MOST_PRICES = 200
"""The most searches for one set of uses, where several prices are raised at once."""
MOST_DIGITS = 10**6
"""The largest denominator of several prices, which a linear program finds in float64."""
MOST_STARTS = 4
"""The most trees that are improved."""
SETTLED = 1e-12
"""Several prices are settled if they promise a bound that is better by no more than this share."""


class Line(NamedTuple):
    """A labelled tree, as a function of the prices: loss plus prices times what it uses beyond what it may.

    Parameters
    ----------
    loss : in units of loss, with the price of its leaves
    over : for each use
    """

    loss: Fraction
    over: tuple[Fraction, ...]

    def at(self, prices: tuple[Fraction, ...]) -> Fraction:
        """The value at these prices."""
        return self.loss + sum((p * over for p, over in zip(prices, self.over, strict=True)), Fraction(0))


@dataclass(frozen=True)
class Case:
    """Some of the permitted trees.

    Parameters
    ----------
    allowed : actions that they may give
    covered : those that they give to the least number of rows
    """

    allowed: tuple[int, ...]
    covered: tuple[int, ...] = ()


def solve_limited(
    problem: TreeProblem,
    *,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """Tree of actions with the least lost reward within limits, and a bound for all such trees [1]_.

    Parameters
    ----------
    problem : with a target :class:`LimitedRewards`
    limits : wall-clock seconds, shared by all searches, and threads
    progress : called after each search

    Returns
    -------
    Result
        "optimal" only if the bound of the prices meets the cost of the tree in fractions; "feasible", stopped by
        "prices", if they leave a gap.

    Raises
    ------
    ValueError
        If no tree is within the limits, or if too many actions need a least number of rows.

    References
    ----------
    .. [1] Geoffrion (1974), Lagrangean relaxation for integer programming.
    """
    return _Search(problem, Clock(limits), progress).result()


class _Search(Run):
    """The best tree so far, and the bound of the prices for all trees within the limits."""

    def __init__(self, problem: TreeProblem, clock: Clock, progress: Progress | None) -> None:
        super().__init__(clock, progress)
        target = problem.target
        assert isinstance(target, LimitedRewards)
        assert isinstance(problem.cost, SumCost)
        self.problem, self.stopped, self.rounded, self.lower = problem, 0, False, Fraction(0)
        self.counters.update(searches=0, subproblems=0)
        self.target = target
        self.cost = problem.cost
        self.n_actions = int(target.numbers.shape[1])
        self.least = target.limits.least_rows
        if self.least > self.problem.n_rows:
            raise ValueError(
                f"min_samples_action={self.least}, but only {self.problem.n_rows} rows have a positive weight: no "
                "action can be given to so many"
            )
        if self.least > 1 and self.n_actions > MOST_COVERED:
            raise ValueError(
                f"min_samples_action={self.least} with {self.n_actions} actions: expected at most {MOST_COVERED} "
                "actions, or min_samples_action=1; min_samples_leaf is a limit for any number of actions"
            )
        self.X = np.ascontiguousarray(self.problem.X)
        table = target.alone(self.X)
        leaves = target.leaves(table, self.X)
        self.best = LabelledTree(table, self._cost(leaves, table.label.tolist()))
        self.starts = [self.best]
        self.improved: set[Fraction] = set()
        self.tests: LastTests | None = None
        self.permitted = self.cost.in_weight(self.problem.max_gap)

    def _cost(self, leaves: Leaves, labels: list[int]) -> Fraction:
        lost = sum(losses[k] for losses, k in zip(leaves.losses, labels, strict=True))
        return self.cost.real_cost(lost * self.target.exact_unit, len(labels) - 1)

    # -------------------------------------------------------------------------------------------------------- cases

    def result(self) -> Result:
        """Search all cases, and return the result."""
        try:
            self.lower = self._all_cases()
        except ENDED as error:
            self.stopped = code_of(error)
        return finished(lambda stop: self._result(min(self.lower, self.best.cost), stop))

    def state(self) -> tuple[float, float]:
        """See the base class."""
        objective = self.cost.shown(self.best.cost)
        return objective, objective if self.lower >= self.best.cost else max(0.0, rounded_down(self.lower))

    def _all_cases(self) -> Fraction:
        """A lower bound for all permitted trees; the best of those that were met is kept."""
        places = count()
        open_cases = [(Fraction(0), next(places), Case(tuple(range(self.n_actions))))]
        closed: list[Fraction] = []
        while open_cases:
            bound, _, case = heapq.heappop(open_cases)
            others = min([*closed, *(one[0] for one in open_cases[:1])], default=None)
            if self.stopped or bound >= self._enough():
                closed.append(bound)
                break
            bound, undecided = self._case(case, bound, others)
            if self.stopped or bound >= self._enough() or undecided is None:
                closed.append(bound)
                continue
            without = tuple(k for k in case.allowed if k != undecided)
            if without:
                heapq.heappush(open_cases, (bound, next(places), replace(case, allowed=without)))
            covered = (*case.covered, undecided)
            if len(covered) * self.least <= self.problem.n_rows:
                heapq.heappush(open_cases, (bound, next(places), replace(case, covered=covered)))
        return min([*closed, *(one[0] for one in open_cases)], default=self.best.cost)

    def _enough(self) -> Fraction:
        """A bound from here on needs no more work."""
        return self.best.cost - self.permitted

    def _case(self, case: Case, bound: Fraction, others: Fraction | None) -> tuple[Fraction, int | None]:
        """The dual bound of a case, and an action that its trees give to too few rows.

        Parameters
        ----------
        case : trees to bound
        bound : that is known for them
        others : bound of all other open cases, for the trace
        """
        uses = (*self.target.budgets, *(self.target.cover(k) for k in case.covered))
        uses = tuple(use for use in uses if any(use.actions[k] for k in case.allowed))
        lines = self._anchors(case, uses)
        tried: set[tuple[Fraction, ...]] = set()
        short: dict[int, int] = {}
        prices: list[Fraction] | None = [Fraction(0)] * len(uses)
        while prices is not None and not self.stopped:
            lower, taken, line = self._at(case, uses, prices, short)
            bound = max(bound, lower)
            self._report(bound if others is None else min(bound, others))
            if not uses or bound >= self._enough() or line is None or taken in tried:
                break
            if tried and line.at(taken) >= min(one.at(taken) for one in lines):  # no tree is below the known ones here
                break
            tried.add(taken)
            lines.append(line)
            prices = _next_price(lines) if len(uses) == 1 else self._next_prices(lines, bound, len(tried))
        if bound < self._enough() and not self.stopped:
            self._improve()
            self._report(bound if others is None else min(bound, others))
        return bound, max(short, key=short.__getitem__, default=None)

    def _anchors(self, case: Case, uses: tuple[Use, ...]) -> list[Line]:
        """Single leaves, that of the least loss last: with one price, no bound is above them."""
        lines = []
        leaves = self.target.leaves(NodeTable.leaf(0, 1), self.X)
        for k in case.allowed if uses else ():
            loss = self._cost(leaves, [k]) / self.target.loss_unit
            lines.append(Line(loss, tuple(self.target.used(use, leaves, [k]) - use.most for use in uses)))
        return sorted(lines, reverse=True)

    def _next_prices(self, lines: list[Line], bound: Fraction, n_tried: int) -> list[Fraction] | None:
        """The prices at which the lowest of the lines is highest; None if that promises too little."""
        # Start-up time: one price needs no linear program.
        from scipy.optimize import linprog

        if n_tried >= MOST_PRICES:
            return None
        sizes = [float(max(abs(line.over[c]) for line in lines)) or 1.0 for c in range(len(lines[0].over))]
        losses = np.array([float(line.loss) for line in lines])
        size = float(np.abs(losses).max()) or 1.0
        slopes = np.array([[float(over) / s for over, s in zip(line.over, sizes, strict=True)] for line in lines])
        found = linprog(
            [*(0.0 for _ in sizes), -1.0],
            A_ub=np.column_stack([-slopes, np.ones(len(lines))]),
            b_ub=losses / size,
            bounds=[*((0.0, 1e4) for _ in sizes), (None, None)],
        )
        if found.x is None:
            return None
        known = float(bound / self.target.loss_unit)
        if float(found.x[-1]) * size <= known + SETTLED * size:
            return None
        prices = (max(0.0, float(x)) * size / s for x, s in zip(found.x[:-1], sizes, strict=True))
        return [Fraction(price).limit_denominator(MOST_DIGITS) for price in prices]

    # ------------------------------------------------------------------------------------------------------ searches

    def _at(
        self, case: Case, uses: tuple[Use, ...], prices: list[Fraction], short: dict[int, int]
    ) -> tuple[Fraction, tuple[Fraction, ...], Line | None]:
        """One search at prices: the bound it gives, the prices that were taken, and its tree as a line.

        Parameters
        ----------
        case : trees to bound
        uses, prices : of them
        short : rows that are missing of undecided actions, to be updated
        """
        target, cost = self.target, self.cost
        priced = target.priced(uses, prices, list(case.allowed))
        unit = target.loss_unit / priced.scale
        largest = max(1, int(priced.values.max(axis=1).sum()))
        leaf = min(cost.real_price / unit, Fraction(largest + 1))  # more forbids no more splits
        error_price, leaf_price = integer_prices(leaf, largest, LARGEST_TOTAL)
        lower, table = self._native(priced.values * error_price, leaf_price)
        self.rounded |= priced.error > 0
        spent = sum((p * use.most for p, use in zip(priced.prices, uses, strict=True)), Fraction(0))
        bound = unit * (Fraction(lower, error_price) + priced.constant - priced.error)
        bound -= target.loss_unit * spent + cost.shift
        if table is None:
            return bound, priced.prices, None
        leaves = target.leaves(table, self.X)
        labels = self._cheapest(leaves, case, uses, priced.prices)
        self._consider(self._labelled(table, leaves))
        if self.least > 1:
            self._note_short(case, leaves, labels, short)
        over = tuple(target.used(use, leaves, labels) - use.most for use in uses)
        return bound, priced.prices, Line(self._cost(leaves, labels) / target.loss_unit, over)

    def _native(self, values: Any, leaf_price: int) -> tuple[int, NodeTable | None]:
        """The lower bound and the tree of a native search; without tests if only one action is left."""
        self.counters["searches"] += 1
        if values.shape[1] == 1:
            return 0, NodeTable.leaf(0, 1)
        more = {"error_price": 1, "leaf_price": leaf_price, "gap": 0}
        found = answer_of(
            _native.solve_tree,
            self.X,
            {"task": LimitedRewards.task, "numbers": np.ascontiguousarray(values), "shift": 0},
            self.problem.weights,
            settings_of(self.problem, DEFAULT_OPTIONS, self.clock.limits) | more,
            self.clock.seconds_left,
            None,
        )
        self.counters["subproblems"] += found.get("counters", {}).get("subproblems", 0)
        lower, upper = found.get("lower", 0), found.get("upper")
        closed = upper is not None and lower >= upper
        self.stopped = found["stopped"] if not closed or found["stopped"] == INTERRUPT else 0
        return lower, table_of(found["tree"], self.problem) if found.get("has_tree") else None

    def _cheapest(self, leaves: Leaves, case: Case, uses: tuple[Use, ...], prices: tuple[Fraction, ...]) -> list[int]:
        """The label of each leaf of the least loss at these prices."""
        exact, unit = self.target.exact_unit, self.target.loss_unit
        labels = []
        for place, losses in enumerate(leaves.losses):
            one = Leaves([0], [losses], [leaves.weights[place]], [leaves.rows[place]])

            def cost(k: int, one: Leaves = one) -> Fraction:
                used = (p * self.target.used(use, one, [k]) for p, use in zip(prices, uses, strict=True))
                return one.losses[0][k] * exact / unit + sum(used, Fraction(0))

            labels.append(min(case.allowed, key=cost))
        return labels

    def _note_short(self, case: Case, leaves: Leaves, labels: list[int], short: dict[int, int]) -> None:
        """Add the rows that undecided actions lack."""
        for k in set(labels) - set(case.covered):
            rows = sum(n for n, other in zip(leaves.rows, labels, strict=True) if other == k)
            if rows < self.least:
                short[k] = short.get(k, 0) + self.least - rows

    def _labelled(self, table: NodeTable, leaves: Leaves | None = None) -> LabelledTree | None:
        """The tree with its best labels within the limits; None if it has none."""
        leaves = self.target.leaves(table, self.X) if leaves is None else leaves
        labels = labelled(leaves, self.target)
        if labels is None:
            return None
        every = table.label.copy()
        every[leaves.nodes] = labels
        pruned = prune(table.changed(label=every, values=np.zeros((table.n_nodes, self.n_actions))))
        lost = sum(losses[k] for losses, k in zip(leaves.losses, labels, strict=True))
        return LabelledTree(pruned, self.cost.real_cost(lost * self.target.exact_unit, pruned.n_leaves - 1))

    def _consider(self, tree: LabelledTree | None) -> None:
        """Keep a tree if it is the best so far, and as a start of better ones."""
        if tree is None:
            return
        if tree.cost < self.best.cost:
            self.best = tree
        if all(tree.cost != other.cost for other in self.starts):
            self.starts = sorted([*self.starts, tree], key=lambda one: one.cost)[:MOST_STARTS]

    def _improve(self) -> None:
        """Search the last tests of the best trees again, each tree once."""
        if self.tests is None:
            self.tests = LastTests(self.problem, lambda: self.clock.over)
        for start in self.starts:
            if start.cost not in self.improved and not self.clock.over:
                self.improved.add(start.cost)
                self._consider(self.tests.improved(start, self._labelled))

    # ------------------------------------------------------------------------------------------------------- result

    def _report(self, lower: Fraction) -> None:
        self.lower = max(self.lower, lower)
        self.changed()
        self.report()

    def _result(self, lower: Fraction, stop: str | None) -> Result:
        target, cost = self.target, self.best.cost
        table = placed(self.best.table, self.X, rule=ThresholdRule.MIDPOINT)
        model = target.refreshed(table, self.X, self.problem.real_weights)
        if self.problem.real_cost(model) != cost:
            raise AssertionError(
                f"the tree costs {float(self.problem.real_cost(model))}, but was counted {float(cost)}"
            )
        objective, bound = self.state()
        gap = cost - lower
        if gap <= 0:
            status = Status.OPTIMAL
        elif gap <= max(self.permitted, self._rounding()):
            status = Status.WITHIN_GAP
        else:
            status = Status.FEASIBLE
        stats = Stats(
            seconds=self.clock.seconds,
            engine="search by prices",
            stopped_by=ended_by(
                stop or STOPPED_BY[self.stopped] or GAP_OF_PRICES, complete=status is not Status.FEASIBLE
            ),
            counters=dict(self.counters),
        )
        return Result(model, objective, self.cost.name, bound, status, stats, self.whole_trace(objective, bound))

    def _rounding(self) -> Fraction:
        """A gap that rounding of rewards, weights and prices may leave."""
        rounded = self.cost.shift + self.cost.left_out * self.cost.most
        if self.rounded:
            n_uses = len(self.target.budgets) + (self.n_actions if self.least > 1 else 0)
            rounded += self.target.loss_unit * (self.problem.n_rows + 1) * n_uses
        return 2 * rounded


def _next_price(lines: list[Line]) -> list[Fraction] | None:
    """The price at which the last tree that uses too much meets the last one that does not."""
    much = next((line for line in reversed(lines) if line.over[0] > 0), None)
    little = next((line for line in reversed(lines) if line.over[0] <= 0), None)
    if much is None or little is None:
        return None
    return [(little.loss - much.loss) / (much.over[0] - little.over[0])]


def labelled(leaves: Leaves, target: LimitedRewards) -> list[int] | None:
    """The labels of the leaves of a tree that lose least within the limits; None if none are found.

    All labellings are tried, those that save most for their weight first, up to :data:`MOST_LABELLINGS` steps.
    """
    budgets, least_rows = target.limits.budgets, target.limits.least_rows
    total = sum(leaves.weights)
    most = [budget.share * total for budget in budgets]
    limited = [tuple(budget.actions[k] for budget in budgets) for k in range(len(leaves.losses[0]))]
    choices = [_choices(losses, limited, keep_all=least_rows > 1) for losses in leaves.losses]
    lasting = [min(losses) for losses in leaves.losses]

    def saved(place: int) -> Fraction:
        free = min(loss for loss, marks in zip(leaves.losses[place], limited, strict=True) if not any(marks))
        return Fraction(free - lasting[place], leaves.weights[place])

    order = sorted(range(len(choices)), key=saved, reverse=True)
    rest = [0]
    for place in reversed(order):
        rest.append(rest[-1] + lasting[place])
    rest.reverse()
    best: tuple[int, list[int]] | None = None
    none = (0,) * len(budgets)
    stack: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(0, none, ())]
    for _ in range(MOST_LABELLINGS):
        if not stack:
            break
        loss, used, chosen = stack.pop()
        if best is not None and loss + rest[len(chosen)] >= best[0]:
            continue
        if len(chosen) == len(order):
            labels = [k for _, k in sorted(zip(order, chosen, strict=True))]
            if least_rows == 1 or _covers(labels, leaves.rows, least_rows):
                best = (loss, labels)
            continue
        place = order[len(chosen)]
        for k in reversed(choices[place]):
            after = tuple(u + leaves.weights[place] * mark for u, mark in zip(used, limited[k], strict=True))
            if all(u <= high for u, high in zip(after, most, strict=True)):
                stack.append((loss + leaves.losses[place][k], after, (*chosen, k)))
    return None if best is None else best[1]


def _choices(losses: list[int], limited: list[tuple[bool, ...]], *, keep_all: bool) -> list[int]:
    """Actions of a leaf, best first and those without a budget before others; ``keep_all``: also worse ones."""
    ordered = sorted(range(len(losses)), key=lambda k: (losses[k], sum(limited[k]), k))
    if keep_all:
        return ordered
    found: list[int] = []
    for k in ordered:
        if not any(all(a <= b for a, b in zip(limited[other], limited[k], strict=True)) for other in found):
            found.append(k)
    return found


def _covers(labels: list[int], rows: list[int], least_rows: int) -> bool:
    """Whether each action that is given is given to the least number of rows."""
    given = [0] * (max(labels) + 1)
    for k, n in zip(labels, rows, strict=True):
        given[k] += n
    return all(n == 0 or n >= least_rows for n in given)
