"""Fronts by leaves: the best tree for every number of leaves, and the best of at most so many, in one search.

It is the search of one tree over vectors, one entry per number of leaves: decisions/0098-fronts-by-leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.interrupts import (
    ENDED,
    STOPPED_BY,
    TIME,
    answer_of,
    code_of,
    completed,
    ended_by,
    raise_ended,
)
from proofwood.engines.run import Clock
from proofwood.engines.trees.options import SearchOptions
from proofwood.engines.trees.solve import (
    DEFAULT_OPTIONS,
    NO_TREE,
    bound,
    in_units,
    marked,
    refined,
    result_of,
    settings_of,
    table_of,
)
from proofwood.model.node_table import FloatArray, NodeTable
from proofwood.problem.objectives import LARGEST_TOTAL, SumCost, TreeCost
from proofwood.problem.targets import Classes
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats

MOST_LEAVES = 17
"""The most leaves of a tree of a front."""
MOST_SPLITS = MOST_LEAVES - 1
PACKED_TESTS = 400
"""Tables of at most so many tests are searched over packed words, which fronts are not: several fits take less time."""
FEW_TESTS = 64
"""With so few tests, fits of depth three take so little time that what surrounds them decides."""
PATIENCE, DEEPEST = 0.8, 5
"""After this share of the time, a front without a bound for trees of the most leaves leaves the rest to the search of
one tree, up to this depth: that of deeper trees has no bound so soon (decisions/0098-fronts-by-leaves)."""


@dataclass(frozen=True, slots=True)
class SizedBound:
    """The answer of :func:`bound_errors`.

    Parameters
    ----------
    errors : integer weight that the tree found misclassifies; if no tree was found, a lower bound for all trees
    found : whether some tree has fewer errors than the given number
    stopped_by : None if the answer is final, else "time_limit" or "interrupt"; "interrupt" also of a final answer
    """

    errors: int
    found: bool
    stopped_by: str | None


@dataclass(frozen=True, slots=True)
class FrontTree:
    """The best tree found of at most so many leaves, and a bound for all such trees.

    Parameters
    ----------
    leaves : the number of leaves
    model : the tree, which may have fewer leaves
    upper, lower : integer cost of the tree without a price of leaves, and a lower bound on that of all trees
    """

    leaves: int
    model: NodeTable
    upper: int
    lower: int


@dataclass(frozen=True, slots=True)
class Front:
    """The answer of :func:`solve_front`, with a tree for each number of leaves from 1.

    Parameters
    ----------
    trees : by their number of leaves
    stats : of the search
    problem : the problem that was searched, in whose unit costs are
    """

    trees: tuple[FrontTree, ...]
    stats: Stats
    problem: TreeProblem


def most_leaves(max_depth: int) -> int:
    """The most leaves of a tree of a front of this depth."""
    return MOST_LEAVES if max_depth > 4 else 1 << max_depth


def fits_are_faster(X: FloatArray, depth: int) -> bool:
    """Whether fits for several prices take less time than a front: over packed words, unless they are trifles."""
    if depth <= 2:
        return False
    n_tests = 0
    for column in X.T:
        n_tests += np.unique(column).size - 1
        if n_tests > PACKED_TESTS:
            return False
    return depth > 3 or n_tests > FEW_TESTS


def solve_front(
    problem: TreeProblem,
    leaves: int | None = None,
    *,
    prices: Collection[Fraction] = (),
    options: SearchOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    report: Callable[[float, list[int], list[int]], None] | None = None,
) -> Front:
    """The tree of least cost for every number of leaves up to ``leaves``, within the problem's depth.

    The price of a leaf and the gap of ``problem`` are ignored, its leaf minima hold. Where a limit ends the search, the
    trees and bounds so far are valid. With several threads, which of equally good trees is found may differ.

    Parameters
    ----------
    problem : a problem without columns tested by sets
    leaves : from 1 to ``MOST_LEAVES``; None for as many as the depth permits, at most ``MOST_LEAVES``
    prices : of a leaf, in integer weight: trees and bounds are those of least cost at each of these prices, and say
        less of numbers of leaves that are the best ones at none of them. None given: of every number of leaves
    options, limits : as in :func:`~proofwood.engines.trees.solve.solve`
    report : called about five times a second with seconds, and costs and bounds by number of leaves

    Raises
    ------
    ValueError
        If the problem tests sets, if ``leaves`` is out of range, or if there are ``prices`` and no classes.
    """
    if prices and not isinstance(problem.target, Classes):
        raise ValueError("fronts for some prices are of classes: pass no prices")
    most = most_leaves(problem.depth) if leaves is None else leaves
    wish: dict[str, Any] = {"leaves": most}
    scale = math.lcm(*(price.denominator for price in prices))
    if prices and scale * problem.cost.total < LARGEST_TOTAL:  # else every number of leaves is searched
        wish["prices"] = sorted({int(price * scale) for price in prices})
    else:
        scale = 1

    def once(problem: TreeProblem, limits: Limits) -> Front:
        found = _run(problem, wish, options, limits, report, scale=scale)
        stops: list[str] = []  # a Ctrl-C must also end the fronts that would follow
        front = completed(lambda: _front(found, problem, most, scale), stops)
        return replace(front, stats=replace(front.stats, stopped_by=stops[0])) if stops else front

    return in_units(once, problem, limits)


def solve_leaves(
    problem: TreeProblem,
    leaves: int,
    *,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> Result:
    """Tree of least cost, with the problem's price of leaves, among those of at most ``leaves`` leaves and its depth.

    Parameters
    ----------
    problem, leaves, limits : as in :func:`solve_front`
    progress : called from this thread about five times a second
    """

    def once(problem: TreeProblem, limits: Limits) -> Result:
        cost = problem.cost
        price = cost.leaf_price

        def best(costs: list[int]) -> int:
            return min(one + price * place for place, one in enumerate(costs))

        def report(seconds: float, upper: list[int], lower: list[int]) -> None:
            if progress is not None and min(upper) < NO_TREE:
                progress(ProgressEvent(seconds, *cost.reported(best(upper), min(best(upper), best(lower)))))

        wish = {"leaves": leaves, "prices": [price]}
        found = _run(problem, wish, DEFAULT_OPTIONS, limits, report, gap=problem.max_gap)
        if found["upper"] is None:
            return result_of(found, problem, None, DEFAULT_OPTIONS)

        def answer() -> Result:
            upper, lower = found["upper"], found["lower"]
            place = min(range(leaves), key=lambda at: upper[at] + price * at)
            tree = found["trees"][place] if found["trees"] else []
            chosen = {"upper": best(upper), "lower": best(lower), "tree": tree, "has_tree": bool(tree)}
            return result_of(found | chosen, problem, None, DEFAULT_OPTIONS)

        stops: list[str] = []  # a Ctrl-C must also end the search in a finer unit
        result = completed(answer, stops)
        return marked(result, KeyboardInterrupt()) if stops else result

    result = in_units(once, problem, limits)
    try:
        return refined(result, problem, limits, lambda finer, left, known: in_units(once, finer, left))
    except ENDED as error:  # the result so far remains valid
        return marked(result, error)


def bound_errors(
    problem: TreeProblem,
    splits: int,
    *,
    below: int,
    options: SearchOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
) -> SizedBound:
    """Decide whether some tree of at most ``splits`` splits, within the problem's depth, has errors below ``below``.

    Prices and leaf minima of ``problem`` are ignored.

    Raises
    ------
    ValueError
        If ``splits`` is not from 0 to ``MOST_SPLITS``.
    """
    if not 0 <= splits <= MOST_SPLITS:
        raise ValueError(f"splits={splits!r}: expected an integer from 0 to {MOST_SPLITS}")
    below = max(0, below)
    if below == 0:
        return SizedBound(0, False, None)
    wish = {"leaves": splits + 1, "below": below, "prices": [0], "any_tree": True}
    freed = {"min_rows": 1, "min_weight": 0, "error_price": 1}
    found = _native_front(problem, wish, _settings(problem, options, limits) | freed, limits, None, error_price=1)
    stopped_by = STOPPED_BY[found["stopped"]]
    if found["upper"] is None:
        return SizedBound(0, False, stopped_by)
    upper, lower = found["upper"][-1], found["lower"][-1]
    if upper < below:
        return SizedBound(upper, True, ended_by(stopped_by, complete=True))
    return SizedBound(min(below, lower), False, stopped_by)


def _run(
    problem: TreeProblem,
    wish: dict[str, Any],
    options: SearchOptions,
    limits: Limits,
    report: Callable[[float, list[int], list[int]], None] | None,
    gap: int = 0,
    scale: int | None = None,
) -> dict[str, Any]:
    if problem.by_sets:
        raise ValueError("fronts by leaves are of columns that are not tested by sets of values")
    if not 1 <= wish["leaves"] <= MOST_LEAVES:
        raise ValueError(f"leaves={wish['leaves']!r}: expected an integer from 1 to {MOST_LEAVES}")
    error_price = problem.cost.error_price if scale is None else scale
    settings = _settings(problem, options, limits) | {"gap": gap}
    if isinstance(problem.target, Classes):
        settings["error_price"] = error_price
    if limits.seconds is not None and problem.depth <= DEEPEST:
        wish = wish | {"patience": PATIENCE * limits.seconds}
    try:
        found = _native_front(problem, wish, settings, limits, report, error_price=error_price)
    except ENDED as error:  # as if the native search had been stopped before it sorted the rows
        return {"stopped": code_of(error), "seconds": 0.0, "kernel": options.simd, "upper": None, "trees": []}
    if "patience" in wish and found["stopped"] == TIME and found["upper"] is not None and not found["bounds_most"]:
        try:
            _bound_most(found, problem, options, limits, error_price)
        except ENDED as error:  # the front so far remains valid
            found["stopped"] = code_of(error)
    return found


def _bound_most(
    found: dict[str, Any], problem: TreeProblem, options: SearchOptions, limits: Limits, error_price: int
) -> None:
    """Bound trees of the most leaves by the search of one tree of the depth: those of fewer leaves cost no less."""
    assert limits.seconds is not None
    unit = error_price if isinstance(problem.target, Classes) else 1
    alone = replace(problem, cost=replace(problem.cost, error_price=1, leaf_price=0, price=None), max_gap=0)
    left = replace(limits, seconds=max(0.0, limits.seconds - found["seconds"]))
    clock = Clock(left)
    told = bound(alone, below=found["upper"][-1] // unit, options=options, limits=left)
    found["lower"] = [max(one, unit * told.lower) for one in found["lower"]]
    found["seconds"] += clock.seconds
    raise_ended(told.stopped_by)


def _settings(problem: TreeProblem, options: SearchOptions, limits: Limits) -> dict[str, Any]:
    """Settings of the native search: the price of a leaf belongs to the wish."""
    return settings_of(problem, options, limits) | {"leaf_price": 0, "by_sets": [], "threads": max(1, limits.threads)}


def _native_front(
    problem: TreeProblem,
    wish: dict[str, Any],
    settings: dict[str, Any],
    limits: Limits,
    report: Callable[[float, list[int], list[int]], None] | None,
    *,
    error_price: int,
) -> dict[str, Any]:
    return answer_of(
        _native.solve_front,
        np.ascontiguousarray(problem.X),
        problem.target.native(error_price),
        problem.weights,
        settings,
        wish,
        limits.seconds,
        report,
    )


def _front(found: dict[str, Any], problem: TreeProblem, most: int, scale: int) -> Front:
    """The trees and bounds of a search with ``scale`` as the price of an error, in the unit of the problem."""
    trees: list[FrontTree] = []
    slack = problem.cost.slack if isinstance(problem.cost, SumCost) else 0
    price = problem.cost.error_price
    upper, lower = found["upper"], [-(-bound // scale) * price for bound in found.get("lower", [0] * most)]
    for place in range(most):
        nodes = found["trees"][place] if place < len(found["trees"]) else []
        if nodes:
            model = table_of(nodes, problem)
        else:  # stopped before the rows were sorted, or before the tree was written
            model = trees[-1].model if trees else NodeTable.leaf(0, problem.target.width)
        model = problem.target.refreshed(model, problem.X, problem.real_weights)
        counted = price * problem.target.integer_loss(model, problem.X, problem.weights)
        if nodes and problem.rounding is None and (counted - slack * price) * scale > upper[place] * price:
            raise AssertionError(f"a tree costs {counted}, but the search counted only {upper[place] * price / scale}")
        if place == 0 and isinstance(problem.cost, TreeCost) and problem.cost.exact:
            lower[place] = counted  # there is one leaf
        if trees and counted >= trees[-1].upper:  # more leaves than errors need
            model, counted = trees[-1].model, trees[-1].upper
        trees.append(FrontTree(place + 1, model, counted, min(lower[place], counted)))
    stats = Stats(
        seconds=found["seconds"],
        engine=f"search ({found['kernel']})",
        stopped_by=STOPPED_BY[found["stopped"]],
        counters=dict(found.get("counters", {})),
    )
    return Front(tuple(trees), stats, problem)
