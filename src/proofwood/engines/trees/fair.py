"""Trees of two classes and sums over the rows that are predicted positive: fewest errors with limits on such sums, or
the least greatest sum within a limit of errors. By exact searches with prices, whose dual bound holds for every tree.

The theory is in docs/theory/optimal-trees.md, "Rates of groups"; why so: decisions/0101-monotone-trees-and-fair-trees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from proofwood import _native
from proofwood.data.thresholds import ThresholdRule, placed
from proofwood.engines.interrupts import ENDED, GAP_OF_PRICES, STOPPED_BY, answer_of, code_of, ended_by, finished
from proofwood.engines.run import Clock
from proofwood.engines.trees.options import SearchOptions
from proofwood.engines.trees.solve import DEFAULT_OPTIONS, bound
from proofwood.model.evaluate import apply, predict
from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.model.reshape import prune
from proofwood.problem.class_limits import FairClasses
from proofwood.problem.diagram import LARGEST_SUM
from proofwood.problem.objectives import TreeCost, proof
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats, ended

SHALLOW = 2
"""Depth of trees that are searched first, at little cost, so that deeper ones begin with a good one."""
HALVINGS = 8
"""How often :func:`least_sum` halves what a tree may cost more than the cheapest one, where prices leave a gap."""
MOST_SEARCHES = 60
"""The most searches of one question, or of one limit of it."""
MOST_DIGITS = 10**6
"""The largest denominator of prices, which a linear program finds in float64."""
FEW_DIGITS = 2**20
"""A common denominator of prices."""
MOST_LEAVES = 12
"""The most leaves of a tree whose labellings are all tried."""
SETTLED = 1e-9
"""Prices are settled if they promise a bound that is better by no more than this share."""
BESIDE = (Fraction(9, 10), Fraction(10, 9), Fraction(3, 4), Fraction(4, 3), Fraction(1, 2), Fraction(2))
"""Prices beside the best ones, as shares of them, at which further trees are looked for."""
MOST_KEPT = 2**20
"""The most trees of a set of rows that are kept when all trees are looked at."""
BITS = 50
"""Weights of rows at prices are rounded so that they add up to less than 2 to this power."""


class Values(NamedTuple):
    """What a labelled tree costs, and its sums.

    Parameters
    ----------
    cost : errors and leaves, in the integer unit of the problem
    sums : over the rows that are predicted positive, for each form
    """

    cost: int
    sums: tuple[int, ...]


class Prices(NamedTuple):
    """Prices of the cost and of each sum; a tree is worth the sum of the products."""

    cost: Fraction
    sums: tuple[Fraction, ...]

    def worth(self, values: Values) -> Fraction:
        """What a tree costs at these prices."""
        parts = (price * total for price, total in zip(self.sums, values.sums, strict=True))
        return self.cost * values.cost + sum(parts, Fraction(0))


class PricedFit(NamedTuple):
    """A fit of classes whose errors are what a labelled tree is worth at prices.

    A tree is worth at least ``(errors * 2**shift - error + constant) / scale``, and at most that with ``+ error`` if
    leaves have no price.

    Parameters
    ----------
    charged : (n_rows,) what a row costs if it is predicted positive, beyond the other class
    leaf_price : rounded down
    scale, shift, constant, error : whole numbers
    """

    charged: IntArray
    leaf_price: int
    scale: int
    shift: int
    constant: int
    error: int


class Aim(NamedTuple):
    """What a better tree is, as sums over the rows that are predicted positive.

    Parameters
    ----------
    goals : (n_goals, n_rows) amounts; the greatest sum is to be small
    limits : (n_limits, n_rows) amounts
    base, per_leaf : for each of both what is added, and for each leaf beyond the first
    most : of each limit
    factor, beyond : a tree whose greatest goal is below ``best`` is worth less than ``best * factor + beyond``
    """

    goals: IntArray
    limits: IntArray
    base: list[int]
    per_leaf: list[int]
    most: list[int]
    factor: Fraction
    beyond: Fraction


@dataclass
class PricedTrees:
    """Searches at prices, and all trees that they found.

    Parameters
    ----------
    problem : of two classes, whose price of leaves is part of the cost
    positive : code of the class whose rows count in sums
    forms : (n_forms, n_rows) amounts
    options, clock : of the searches
    """

    problem: TreeProblem
    positive: int
    forms: IntArray
    options: SearchOptions
    clock: Clock
    known: dict[Values, NodeTable] = field(default_factory=dict)
    n_searches: int = 0
    n_listed: int = 0
    stopped: int = 0
    helps: Callable[[Values], bool] | None = None

    def __post_init__(self) -> None:
        self.right = self.problem.codes == self.positive
        for label in (0, 1):
            self.note(NodeTable.leaf(label, self.problem.target.width))

    def values(self, table: NodeTable) -> Values:
        """Counted row by row."""
        chosen = predict(table, self.problem.X) == self.positive
        wrong = int(self.problem.weights[chosen != self.right].sum())
        return Values(
            self.problem.cost.of_tree(wrong, table.n_leaves), tuple(self.forms[:, chosen].sum(axis=1).tolist())
        )

    def note(self, table: NodeTable) -> None:
        """Keep a labelled tree."""
        self.known.setdefault(self.values(table), table)

    def search(self, prices: Prices) -> Fraction:
        """Look for the tree that is worth least, and keep it with all its labellings; a lower bound of its worth."""
        self.n_searches += 1
        fit = self._fit_at(prices)
        best = min(prices.worth(values) for values in self.known)
        below = math.ceil((best * fit.scale - fit.constant + fit.error) / (1 << fit.shift)) + 1
        lower, table = self._natively(fit, max(0, below))
        if table is not None:
            self._note_labellings(table)
        return Fraction((lower << fit.shift) - fit.error + fit.constant, fit.scale)

    def _fit_at(self, prices: Prices, *others: Fraction) -> PricedFit:
        """The fit at prices; ``others`` become whole numbers, too, if they are multiplied by its scale."""
        scale = math.lcm(*(one.denominator for one in (prices.cost, *prices.sums, *others)))
        of_error = int(prices.cost * scale) * self.problem.cost.error_price
        weights = self.problem.weights.astype(object)
        charged = of_error * weights * np.where(self.right, -1, 1)
        for price, form in zip(prices.sums, self.forms, strict=True):
            if price:
                charged = charged + int(price * scale) * form.astype(object)
        constant = of_error * int(self.problem.weights[self.right].sum()) + sum(one for one in charged if one < 0)
        shift = max(0, (2 * sum(map(abs, charged)) + 1).bit_length() - BITS)
        rounded = np.array([(one + (1 << shift >> 1)) >> shift for one in charged], dtype=np.int64)
        error = 0
        if shift:
            error = sum(abs(one - (int(taken) << shift)) for one, taken in zip(charged, rounded, strict=True))
        leaf = int(prices.cost * scale) * self.problem.cost.leaf_price >> shift
        return PricedFit(rounded, leaf, scale, shift, constant, error)

    def close(self, prices: Prices, aim: Aim, best: int, least: int) -> bool:
        """Look at all trees that may be better than the best known one; whether that was all of them.

        Of columns that are tested by sets, only the cuts of one order are looked at: that is never all.

        Parameters
        ----------
        prices : at which these trees are worth less than ``best * aim.factor + aim.beyond``
        aim : what a better tree is
        best : greatest goal of the best known tree
        least : lower bound on that of any tree
        """
        if self.problem.min_leaf_weight:
            return False
        fit = self._fit_at(prices, aim.factor, aim.beyond)
        factor = int(aim.factor * fit.scale)
        offset = int(aim.beyond * fit.scale) - fit.constant + fit.error
        amounts = np.concatenate([aim.goals, aim.limits])
        if max(factor, abs(offset) >> 62) >= 2**62 or max(np.abs(amounts.astype(object)).sum(axis=1)) >= LARGEST_SUM:
            return False
        found = answer_of(
            _native.list_labelled_trees,
            np.ascontiguousarray(self.problem.X),
            *self._classes(fit.charged),
            np.ascontiguousarray(amounts),
            {
                "max_depth": self.problem.depth,
                "leaf_price": min(fit.leaf_price, int(np.abs(fit.charged).sum()) + 1),
                "min_rows": min(self.problem.min_samples_leaf, 2**31 - 1),
                "base": aim.base,
                "per_leaf": aim.per_leaf,
                "most": aim.most,
                "n_goals": len(aim.goals),
                "factor": factor,
                "offset_high": offset >> 62,
                "offset_low": offset & (2**62 - 1),
                "shift": fit.shift,
                "best": best,
                "least": least,
                "most_kept": MOST_KEPT,
            },
            self.clock.seconds_left,
        )
        self.stopped = found["stopped"]
        self.n_listed += found["trees"]
        if found["tree"]:
            feature, value, low, high, one = (np.array(column) for column in zip(*found["tree"], strict=True))
            label = np.where(one, self.positive, 1 - self.positive)
            threshold = np.where(low < 0, np.nan, value)
            table = NodeTable.uncounted(feature, threshold, low, high, self.problem.target.width, label=label)
            self.note(placed(table, self.problem.X, rule=ThresholdRule.MIDPOINT))
        return bool(found["complete"]) and not self.problem.by_sets

    def _classes(self, charged: IntArray) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Which rows are cheaper as positive ones, and what the other class costs them."""
        return (charged < 0).astype(np.int32), np.abs(charged)

    def _natively(self, fit: PricedFit, below: int) -> tuple[int, NodeTable | None]:
        """Bound and best tree of a fit."""
        one, weights = self._classes(fit.charged)
        total = int(weights.sum())
        price = min(fit.leaf_price, total + 1)  # more forbids no more splits
        priced = replace(
            self.problem,
            target=Classes(np.where(one, self.positive, 1 - self.positive), 2),
            weights=weights,
            cost=TreeCost(total=total, unit=Fraction(1), error_price=1, leaf_price=price),
            max_gap=0,
            rounding=None,
        )
        found = bound(priced, below=below, options=self.options, limits=self.clock.left())
        self.stopped = next(code for code, name in STOPPED_BY.items() if name == found.stopped_by)
        return found.lower, found.model

    def _note_labellings(self, table: NodeTable) -> None:
        """Keep a tree, and all trees of the same tests whose values no kept one has."""
        self.note(table)
        ends = np.flatnonzero(table.feature == LEAF)
        if not 1 < ends.size <= MOST_LEAVES:
            return
        leaf = np.searchsorted(ends, apply(table, self.problem.X))
        amounts = np.zeros((len(self.forms), ends.size), dtype=np.int64)
        wrong = np.zeros((2, ends.size), dtype=np.int64)  # of leaves of the other class, and of the positive one
        for row, form in zip(amounts, self.forms, strict=True):
            np.add.at(row, leaf, form)
        np.add.at(wrong[0], leaf, np.where(self.right, self.problem.weights, 0))
        np.add.at(wrong[1], leaf, np.where(self.right, 0, self.problem.weights))
        for chosen in product((False, True), repeat=ends.size):
            mask = np.array(chosen)
            errors = int(wrong[0][~mask].sum() + wrong[1][mask].sum())
            values = Values(self.problem.cost.of_tree(errors, ends.size), tuple(amounts[:, mask].sum(axis=1).tolist()))
            if values not in self.known and self._may_help(values):
                label = table.label.copy()
                label[ends] = np.where(mask, self.positive, 1 - self.positive)
                self.note(prune(table.changed(label=label)))

    def _may_help(self, values: Values) -> bool:
        return self.helps is None or self.helps(values)

    def cost_form(self) -> tuple[IntArray, int, int]:
        """The cost of a tree as a sum: amounts of rows, what is added, and for each leaf beyond the first."""
        amounts = self.problem.cost.error_price * self.problem.weights * np.where(self.right, -1, 1)
        base = self.problem.cost.error_price * int(self.problem.weights[self.right].sum())
        return amounts, base, self.problem.cost.leaf_price


# ------------------------------------------------------------------------------------------ fewest errors within limits


def first_depths(depth: int) -> list[int]:
    """The depths to search one after the other: deeper trees begin with the best that was found of less depth."""
    return sorted({min(1, depth), min(SHALLOW, depth), depth})


def solve_fair(
    problem: TreeProblem,
    *,
    options: SearchOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """Tree of least cost whose rates keep their limits, and a bound for all such trees [1]_.

    Parameters
    ----------
    problem : with a target :class:`~proofwood.problem.class_limits.FairClasses`, and exact weights
    options : switches of the searches; none changes the objective
    limits : wall-clock seconds, shared by all searches, and threads
    progress : called after each search

    Returns
    -------
    Result
        "optimal" only if the bound of the prices meets the cost of the tree; "feasible", stopped by "prices", if they
        leave a gap.

    References
    ----------
    .. [1] Geoffrion (1974), Lagrangean relaxation for integer programming.
    """
    return _Fewest(problem, options, limits, progress).result()


class _Fewest:
    def __init__(self, problem: TreeProblem, options: SearchOptions, limits: Limits, progress: Progress | None) -> None:
        target = problem.target
        assert isinstance(target, FairClasses)
        self.problem, self.target, self.progress = problem, target, progress
        self.clock = Clock(limits)
        # a rate is kept if its sum is at least 0; a price raises what a tree costs by what it lacks
        forms = -np.array([rate.coefficients for rate in target.rates], dtype=np.int64)
        self.trees = PricedTrees(problem, target.rates[0].positive, forms, options, self.clock)
        self.trees.helps = lambda values: max(values.sums) <= 0
        self.lower = Fraction(0)
        self.n_before = 0
        self.trace: list[ProgressEvent] = []
        self.stopped = 0

    def best(self) -> Values:
        """The cheapest known tree within the limits; a leaf that predicts no row positive is within all of them."""
        return min(values for values in self.trees.known if max(values.sums) <= 0)

    @property
    def _bound(self) -> int:
        """On the cost of every tree; 0 while trees of less depth are looked at."""
        return math.ceil(self.lower) if self.trees.problem.depth == self.problem.depth else 0

    def closed(self) -> bool:
        """Whether nothing of this depth that is cheaper than the best tree, by more than the permitted gap, is left."""
        return math.ceil(self.lower) >= self.best().cost - self.problem.max_gap

    def result(self) -> Result:
        try:
            for depth in first_depths(self.problem.depth):
                if not self.stopped:
                    self._raise_prices(depth)
        except ENDED as error:
            self.stopped = code_of(error)
        return finished(self._result)

    def _raise_prices(self, depth: int) -> None:
        """Look for the best tree of a depth. What is known before the last depth are trees, and no bounds."""
        self.trees.problem = replace(self.problem, max_depth=depth)
        self.lower, self.n_before = Fraction(0), self.trees.n_searches
        last = Prices(Fraction(1), (Fraction(0),) * len(self.target.rates))
        prices: Prices | None = last
        while prices is not None and self._search(prices):
            last = prices
            prices = self._next()
        if not self.stopped and not self.closed() and self._close(last):
            self.lower = Fraction(self.best().cost)
            self._tell()
        for share in BESIDE:
            beside = Prices(last.cost, tuple(price * share for price in last.sums))
            if self.closed() or self.stopped or not any(beside.sums) or not self._search(beside):
                break

    def _close(self, prices: Prices) -> bool:
        """Look at all trees that may be cheaper than the best one, as far as time and memory permit."""
        amounts, base, per_leaf = self.trees.cost_form()
        forms = self.trees.forms
        n = len(forms)
        aim = Aim(amounts[np.newaxis], forms, [base, *[0] * n], [per_leaf, *[0] * n], [0] * n, Fraction(1), Fraction(0))
        # Trees within the limits cost no more at any prices. The denominators of many have too large a common multiple.
        near = Prices(prices.cost, tuple(Fraction(round(price * FEW_DIGITS), FEW_DIGITS) for price in prices.sums))
        for asked in (prices, near):
            before = self.trees.n_listed
            done = self.trees.close(asked, aim, self.best().cost, math.ceil(self.lower))
            self.stopped = self.trees.stopped
            if done or self.stopped or self.trees.n_listed > before:
                break
        return done

    def _search(self, prices: Prices) -> bool:
        """Search at prices; False if no more searches are of use."""
        before = len(self.trees.known)
        self.lower = max(self.lower, self.trees.search(prices))
        self.stopped = self.trees.stopped
        self._tell()
        self.found = len(self.trees.known) > before
        return not self.stopped and not self.closed() and self.trees.n_searches - self.n_before < MOST_SEARCHES

    def _next(self) -> Prices | None:
        """The prices at which the known trees cost most; None if that promises too little."""
        known = list(self.trees.known)
        found = highest(
            np.array([values.cost for values in known], dtype=np.float64),
            np.array([values.sums for values in known], dtype=np.float64),
        )
        if found is None or found[1] <= float(self.lower) * (1 + SETTLED) + SETTLED:
            return None
        return Prices(Fraction(1), tuple(Fraction(price).limit_denominator(MOST_DIGITS) for price in found[0]))

    def _tell(self) -> None:
        cost = self.best().cost
        event = ProgressEvent(self.clock.seconds, *self.problem.cost.reported(cost, min(cost, self._bound)))
        if not self.trace or not self.trace[-1].says(event):
            self.trace.append(event)
        if self.progress is not None:
            self.progress(event)

    def _result(self, stop: str | None) -> Result:
        problem, best = self.problem, self.best()
        model = self.target.refreshed(self.trees.known[best], problem.X, problem.real_weights)
        broken = self.target.broken(model, problem.X)
        if broken is not None or problem.integer_cost(model) != best.cost:
            raise AssertionError("the tree breaks a limit, or costs something else than was counted")
        lower = min(best.cost, self._bound)
        complete = lower >= best.cost - problem.max_gap
        objective, bound_, status = proof(
            problem.cost, best.cost, lower, lambda: problem.real_cost(model), complete=complete
        )
        final = ProgressEvent(self.clock.seconds, objective, bound_)
        stats = Stats(
            seconds=final.seconds,
            engine="search by prices",
            stopped_by=ended_by(stop or STOPPED_BY[self.stopped] or GAP_OF_PRICES, complete=complete),
            counters={"searches": self.trees.n_searches, "listed": self.trees.n_listed},
        )
        return Result(model, objective, problem.cost.name, bound_, status, stats, ended(self.trace, final))


def highest(costs: npt.NDArray[Any], sums: npt.NDArray[Any]) -> tuple[list[float], float] | None:
    """Prices of sums, at least 0, at which the least cost of some trees is highest; and that cost, in float64.

    Parameters
    ----------
    costs, sums : (n_trees,) and (n_trees, n_forms)
    """
    # Start-up time.
    from scipy.optimize import linprog

    sizes = np.maximum(np.abs(sums).max(axis=0), 1.0)
    size = float(np.abs(costs).max()) or 1.0
    found = linprog(
        [*(0.0 for _ in sizes), -1.0],
        A_ub=np.column_stack([-sums / sizes, np.ones(len(costs))]),
        b_ub=costs / size,
        bounds=[*((0.0, 1e4) for _ in sizes), (None, None)],
    )
    if found.x is None:
        return None
    return [max(0.0, float(x)) * size / s for x, s in zip(found.x[:-1], sizes, strict=True)], float(found.x[-1]) * size


# -------------------------------------------------------------------------------------------- the least greatest sum


@dataclass(frozen=True, slots=True)
class LeastSum:
    """The answer of :func:`least_sum`.

    Parameters
    ----------
    table : the labelled tree; None if none within the cost was found in time
    greatest : its greatest sum
    lower : bound on that of every tree within the cost
    stopped_by : None if the searches were completed
    n_searches : number of searches
    seconds : that they took
    """

    table: NodeTable | None
    greatest: Fraction | None
    lower: Fraction
    stopped_by: str | None
    n_searches: int
    seconds: float


def least_sum(
    problem: TreeProblem,
    positive: int,
    forms: IntArray,
    scales: Sequence[Fraction],
    *,
    most: int,
    start: NodeTable | None = None,
    options: SearchOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
) -> LeastSum:
    """The tree that costs at most ``most`` whose greatest sum is least, and a bound for all such trees.

    Parameters
    ----------
    problem : of two classes
    positive : code of the class whose rows count
    forms : (n_forms, n_rows) amounts of the rows that are predicted positive
    scales : of each form; its sum is multiplied by this
    most : integer cost
    start : a labelled tree that costs at most that; None to look for the cheapest one first
    options, limits : of the searches
    """
    clock = Clock(limits)
    trees = PricedTrees(problem, positive, forms, options, clock)
    if start is not None:
        trees.note(start)

    def greatest(values: Values) -> Fraction:
        return max(scale * total for scale, total in zip(scales, values.sums, strict=True))

    def best() -> Values | None:
        within = (values for values in trees.known if values.cost <= most)
        return min(within, key=lambda values: (greatest(values), values.cost), default=None)

    def closed() -> bool:
        found = best()
        return found is not None and lower >= greatest(found)

    trees.helps = lambda values: values.cost <= most
    lower = Fraction(0)
    stopped = 0
    last = Prices(Fraction(1), (Fraction(0),) * len(scales))
    try:
        if start is None:
            trees.search(last)
            stopped = trees.stopped
        for bound, prices in _priced_bounds(trees, scales, most) if not stopped else ():
            lower, stopped = max(lower, bound), trees.stopped
            if stopped or closed():
                break
            last = prices
        at_hand = best()
        if not stopped and at_hand is not None and not closed():
            if _close_sums(trees, scales, most, last, lower, greatest(at_hand)):
                lower = min(greatest(values) for values in trees.known if values.cost <= most)
            stopped = trees.stopped
        if not stopped and not closed():
            stopped = _look_within_less(trees, scales, most, closed)
    except ENDED as error:
        stopped = code_of(error)
    found = best()
    stopped_by = ended_by(STOPPED_BY[stopped], complete=closed())
    if found is None:
        return LeastSum(None, None, lower, stopped_by, trees.n_searches, clock.seconds)
    top = greatest(found)
    return LeastSum(trees.known[found], top, min(lower, top), stopped_by, trees.n_searches, clock.seconds)


def _priced_bounds(trees: PricedTrees, scales: Sequence[Fraction], most: int) -> Iterator[tuple[Fraction, Prices]]:
    """Bounds on the greatest sum of trees that cost at most ``most``, and the prices at which they were found."""
    bound, of_cost, first = Fraction(0), Fraction(0), trees.n_searches
    shares: list[Fraction] | None = _first_shares(min(trees.known), scales)
    while shares is not None and trees.n_searches < first + MOST_SEARCHES:
        prices = Prices(of_cost, tuple(share * scale for share, scale in zip(shares, scales, strict=True)))
        bound = max(bound, trees.search(prices) - of_cost * most)
        yield bound, prices
        shares, of_cost = _next_shares(trees, scales, most, bound)


def _look_within_less(trees: PricedTrees, scales: Sequence[Fraction], most: int, closed: Callable[[], bool]) -> int:
    """Look for trees of less cost than is permitted, by halves; what stopped that, or 0.

    Prices find the trees at the corners of what is possible, and other corners for another cost: one that is fairer
    than all found for ``most`` may cost far less.
    """
    cheapest = min(values.cost for values in trees.known)
    for half in range(1, HALVINGS + 1):
        within = cheapest + (most - cheapest >> half)
        for _ in _priced_bounds(trees, scales, within):
            if trees.stopped or closed():
                return trees.stopped
        if within == cheapest:
            break
    return 0


def _close_sums(
    trees: PricedTrees, scales: Sequence[Fraction], most: int, prices: Prices, lower: Fraction, best: Fraction
) -> bool:
    """Look at all trees within the cost that may have a smaller greatest sum; whether that was all of them."""
    common = math.lcm(*(scale.denominator for scale in scales))
    factors = [int(scale * common) for scale in scales]
    if max(factor * int(np.abs(form).sum()) for factor, form in zip(factors, trees.forms, strict=True)) >= LARGEST_SUM:
        return False
    goals = trees.forms * np.array(factors, dtype=np.int64)[:, np.newaxis]
    amounts, base, per_leaf = trees.cost_form()
    n = len(scales)
    factor, beyond = Fraction(1, common), prices.cost * most
    if lower <= 0:  # prices of sums say nothing: all trees within the cost are looked at
        prices = Prices(Fraction(1), (Fraction(0),) * n)
        factor, beyond = Fraction(0), Fraction(most + 1)
    aim = Aim(goals, amounts[np.newaxis], [*[0] * n, base], [*[0] * n, per_leaf], [most], factor, beyond)
    return trees.close(prices, aim, int(best * common), math.ceil(lower * common))


def _first_shares(values: Values, scales: Sequence[Fraction]) -> list[Fraction]:
    """All weight on the greatest sum of a tree."""
    sums = [scale * total for scale, total in zip(scales, values.sums, strict=True)]
    top = sums.index(max(sums))
    return [Fraction(int(k == top)) for k in range(len(sums))]


def _next_shares(
    trees: PricedTrees, scales: Sequence[Fraction], most: int, lower: Fraction
) -> tuple[list[Fraction] | None, Fraction]:
    """Shares of the sums and a price of the cost at which the known trees promise the highest bound."""
    # Start-up time.
    from scipy.optimize import linprog

    known = list(trees.known)
    sums = np.array([[float(s * t) for s, t in zip(scales, v.sums, strict=True)] for v in known])
    size = float(max(abs(v.cost - most) for v in known)) or 1.0
    over = np.array([(v.cost - most) / size for v in known])
    n = len(scales)
    found = linprog(
        [*(0.0 for _ in range(n + 1)), -1.0],
        A_ub=np.column_stack([-sums, -over, np.ones(len(known))]),
        b_ub=np.zeros(len(known)),
        A_eq=[[*(1.0 for _ in range(n)), 0.0, 0.0]],
        b_eq=[1.0],
        bounds=[*((0.0, 1.0) for _ in range(n)), (0.0, 1e4), (None, None)],
    )
    if found.x is None or float(found.x[-1]) <= float(lower) + SETTLED:
        return None, Fraction(0)
    shares = [Fraction(max(0.0, float(x))).limit_denominator(MOST_DIGITS) for x in found.x[:n]]
    total = sum(shares, Fraction(0))
    price = Fraction(max(0.0, float(found.x[n])) / size).limit_denominator(MOST_DIGITS**2)
    return [share / total for share in shares], price
