"""The search engine: it solves a tree problem and returns a tree with its proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from proofwood.data.thresholds import ThresholdRule, placed
from proofwood.engines.interrupts import (
    ENDED,
    STOPPED_BY,
    cause_of,
    code_of,
    completed,
    ended_by,
    ends_all,
    left_after,
)
from proofwood.engines.recorded import Recorded
from proofwood.engines.switches import switches
from proofwood.engines.trees.cluster import NativeSearch, run_native
from proofwood.engines.trees.options import INSTRUCTION_SETS, SearchOptions
from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.model.reshape import preorder, with_absent_levels
from proofwood.model.sums import rounded_up
from proofwood.parallel.search_file import SearchFile, digest
from proofwood.problem.objectives import SumCost, TreeCost, proof
from proofwood.problem.targets import Classes, RoundedTarget
from proofwood.problem.targets.base import bits_of
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Progress, ProgressEvent, Result, Stats, Status, ended

DEFAULT_OPTIONS = SearchOptions()
COARSER = (5, 10, 20, 40)
"""Powers of two by which units of rounded costs grow, one after the other, where the native search refuses them."""
_SWITCHES = tuple(switches(DEFAULT_OPTIONS))
_RECORDS = ("whole", "depths", "splits", "levels")
_CLAIM = (
    "max_depth",
    "error_price",
    "leaf_price",
    "min_rows",
    "min_weight",
    "gap",
    "by_sets",
    "sets_anywhere",
    "merge_rows",
    "canonical",
    "start_upper",
)  # settings that records depend on; the others change how soon something is found
_NEW_UNIT = ("choose another unit", "unit of cost is too small")  # what the native search says
_CLOSE = Fraction(1, 10**9)  # of the objective: rounding that adds no more is fine
_FINER = 11  # powers of two by which units shrink at most: a single leaf costs less than 2**58 units
Found = TypeVar("Found")
NO_TREE = 2**60  # cost that the native search reports before its first tree


@dataclass(frozen=True, slots=True)
class TreeBound:
    """The answer of a search for trees below a given cost.

    Parameters
    ----------
    lower : lower bound on the integer cost of all permitted trees, at most the given cost
    model : the best tree found below the given cost; None if none exists or the time was up
    stopped_by : None if the answer is final, else "time_limit", "interrupt" or "rounding"
    """

    lower: int
    model: NodeTable | None
    stopped_by: str | None


def solve(
    problem: TreeProblem,
    *,
    options: SearchOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    start: NodeTable | None = None,
    progress: Progress | None = None,
    checkpoint: SearchFile | None = None,
) -> Result:
    """Tree of least cost within the problem's depth, if it has one, by branch and bound over thresholds [1]_.

    Parameters
    ----------
    problem : TreeProblem
    options : switches of the search; none changes the objective
    limits : wall-clock seconds and threads
    start : a tree to begin with; it is returned if nothing better is found
    progress : called from this thread at improvements and about five times a second
    checkpoint : file with the proofs of earlier runs, from which this run starts and to which it adds its own

    Returns
    -------
    Result
        Objective and bound in units of real weight. Ctrl-C ends the search like a time limit.
        A completed search without gap returns the same tree for any order of the rows and any number of threads: at
        every node it has the least depth, and then the smallest (feature, threshold). Only where the first trees meet
        the bound, and this one would take far longer to find, is one of them returned.

    Raises
    ------
    ValueError
        If ``start`` breaks the limits of the problem, if the machine lacks the instruction set of ``options``, or if
        the checkpoint contradicts the data.

    References
    ----------
    .. [1] Brita, van der Linden, Demirović (2025), Optimal Classification Trees for Continuous Feature Data Using
       Dynamic Programming with Branch-and-Bound, AAAI.
    """
    result = _search(problem, options, limits, start, progress, checkpoint)
    try:
        result = _lightened(result, problem, options, limits, progress, checkpoint)
        return refined(
            result,
            problem,
            limits,
            lambda finer, left, known: _search(finer, options, left, known, progress, checkpoint),
        )
    except ENDED as error:  # the result so far remains valid
        return marked(result, error)


def marked(result: Result, error: BaseException) -> Result:
    """The result of a completed search after which ``error``, one of ``ENDED``, ended the work on it."""
    told = ended_by(cause_of(error), complete=True) or result.stats.stopped_by
    return replace(result, stats=replace(result.stats, stopped_by=told))


def _lightened(
    result: Result,
    problem: TreeProblem,
    options: SearchOptions,
    limits: Limits,
    progress: Progress | None,
    checkpoint: SearchFile | None,
) -> Result:
    """Return ``result``. If rounded weights of classes left it unproved, improve it by searches with cut weights.

    If a tree of cost ``U`` is known, a cheaper tree misclassifies no row of weight ``U`` or more. So the weights of
    these rows can be cut to ``U``: cheaper trees keep their cost, all others still cost at least ``U``, and light rows
    lose less to rounding.
    """
    if not isinstance(problem.target, Classes):
        return result
    heaviest = float(problem.real_weights.max())
    while result.status is Status.WITHIN_GAP and problem.rounding is not None and result.model is not None:
        known = problem.real_cost(result.model)
        most = rounded_up(known)
        if not 0 < most <= heaviest / 2 or problem.min_leaf_weight > 0 or problem.max_gap > 0:
            break
        if ends_all(result.stats.stopped_by):
            break
        heaviest, capped = most, problem.capped(most)
        try:
            again = _search(capped, options, left_after(result.stats, limits), None, None, checkpoint)
        except ENDED as error:
            return marked(result, error)
        assert again.model is not None
        model = problem.target.refreshed(again.model, problem.X, problem.real_weights)
        cost = problem.real_cost(model)
        if cost > known:
            model, cost = result.model, known
        objective = float(cost)
        proved = again.status is Status.OPTIMAL
        lower = objective if proved else min(objective, max(result.lower_bound, again.lower_bound))
        seconds = result.stats.seconds + again.stats.seconds
        result = replace(
            result,
            model=model,
            objective=objective,
            lower_bound=lower,
            status=Status.OPTIMAL if proved else Status.WITHIN_GAP,
            trace=(*result.trace, ProgressEvent(seconds, objective, lower)),
            stats=replace(result.stats, seconds=seconds, stopped_by=ended_by(again.stats.stopped_by, complete=True)),
        )
        try:
            if progress is not None:
                progress(result.trace[-1])
        except ENDED as error:
            return marked(result, error)
    return result


def refined(
    result: Result,
    problem: TreeProblem,
    limits: Limits,
    search: Callable[[TreeProblem, Limits, NodeTable], Result],
) -> Result:
    """Return ``result``. If costs far below that of a single leaf were rounded too coarsely, search in a finer unit.

    ``search`` gets the problem, the limits that are left, and the tree in hand.
    """
    cost, known = problem.cost, result.model
    if not isinstance(problem.target, RoundedTarget) or not isinstance(cost, SumCost) or problem.max_gap > 0:
        return result
    if result.status is not Status.WITHIN_GAP or known is None or result.stats.stopped_by is not None:
        return result
    near = _CLOSE * Fraction(result.objective) or Fraction(1, 2**2000)
    bits = min(bits_of(cost.slack * cost.cost_unit / near), _FINER)
    finer = problem.rescaled(-bits) if bits > 0 else problem
    if finer.cost.in_weight(1) >= cost.in_weight(1):
        return result
    again = search(finer, left_after(result.stats, limits), known)
    best = again if again.objective <= result.objective else result
    lower = min(best.objective, max(result.lower_bound, again.lower_bound))
    seconds = result.stats.seconds + again.stats.seconds
    return replace(
        best,
        lower_bound=lower,
        status=Status.OPTIMAL if again.status is Status.OPTIMAL else Status.WITHIN_GAP,
        trace=ended(list(result.trace), ProgressEvent(seconds, best.objective, lower)),
        stats=replace(again.stats, seconds=seconds, stopped_by=ended_by(again.stats.stopped_by, complete=True)),
    )


def _search(
    problem: TreeProblem,
    options: SearchOptions,
    limits: Limits,
    start: NodeTable | None,
    progress: Progress | None,
    checkpoint: SearchFile | None,
    coarser: Sequence[int] = COARSER,
) -> Result:
    """Run the native search once, and convert its answer to a result."""

    def once(problem: TreeProblem, limits: Limits) -> Result:
        settings = settings_of(problem, options, limits)
        if start is not None:
            settings["start_upper"] = _checked_start(start, problem)
        recorded = None
        if checkpoint is not None:
            claim = repr([(name, settings.get(name)) for name in _CLAIM])
            recorded = Recorded(checkpoint, digest(problem.weights, claim, *_target_of(problem)), _RECORDS)
        try:
            found = _run(problem, settings, limits, _reporter(progress, problem.cost), recorded)
        except ENDED as error:  # as if the native search had been stopped before it sorted the rows
            found = {"stopped": code_of(error), "seconds": 0.0, "kernel": options.simd, "upper": None}
        stops: list[str] = []  # a Ctrl-C must also end the searches that would follow
        if recorded is not None and "proved" in found:
            completed(lambda: recorded.keep(found["proved"]), stops)
        result = completed(lambda: result_of(found, problem, start, options), stops)
        return marked(result, KeyboardInterrupt()) if stops else result

    return in_units(once, problem, limits, coarser)


def in_units(
    search: Callable[[TreeProblem, Limits], Found],
    problem: TreeProblem,
    limits: Limits,
    coarser: Sequence[int] = COARSER,
) -> Found:
    """Search, with coarser units of rounded costs, one after the other, where the native search refuses them.

    It refuses a unit that is too small, or that the logarithms of a cost do not decide.

    Parameters
    ----------
    search : the search of a problem
    problem, limits : what it is given first
    coarser : powers of two by which the unit grows
    """
    began = time.monotonic()
    try:
        return search(problem, limits)
    except ValueError as error:
        if not coarser or not any(said in str(error) for said in _NEW_UNIT):
            raise
    left = None if limits.seconds is None else max(0.0, limits.seconds - (time.monotonic() - began))
    # what is whole stays whole in finer units
    return in_units(search, problem.rescaled(coarser[0]), replace(limits, seconds=left), coarser[1:])


def _target_of(problem: TreeProblem) -> list[Any]:
    """What costs in records are counted from, where it is not a class."""
    if isinstance(problem.target, Classes):
        return []
    given = problem.target.native(problem.cost.error_price)
    return [f"{given['task']} {given['shift']}", given["numbers"]]


def bound(
    problem: TreeProblem,
    *,
    below: int,
    options: SearchOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    coarser: Sequence[int] = COARSER,
) -> TreeBound:
    """Decide whether a tree costs less than the integer ``below``. If none does, this is quicker than :func:`solve`.

    Where the native search refuses the unit of rounded costs, coarser ones are tried, as by :func:`solve`: they round
    every tree down, so that their bound holds. If they do not tell the best tree from ``below``, "rounding" ended it.
    """
    began = time.monotonic()
    settings = settings_of(problem, options, limits) | {"canonical": False, "bound_only": True, "start_upper": below}
    try:
        found = _run(problem, settings, limits, None)
    except ValueError as error:
        if not coarser or not any(said in str(error) for said in _NEW_UNIT):
            raise
        coarse = problem.rescaled(coarser[0])
        by = (coarse.cost.in_weight(1) / problem.cost.in_weight(1)).numerator.bit_length() - 1  # a power of two
        left = None if limits.seconds is None else max(0.0, limits.seconds - (time.monotonic() - began))
        told = bound(
            coarse, below=-(-below >> by), options=options, limits=replace(limits, seconds=left), coarser=coarser[1:]
        )
        lower = min(below, told.lower << by)
        if told.model is not None and problem.integer_cost(told.model) < below:
            return TreeBound(min(lower, problem.integer_cost(told.model)), told.model, told.stopped_by)
        return TreeBound(lower, None, told.stopped_by or (None if lower == below else "rounding"))
    stopped_by = STOPPED_BY[found["stopped"]]
    if not found.get("has_tree"):
        return TreeBound(min(below, found.get("lower", 0)), None, stopped_by)
    table = problem.target.refreshed(table_of(found["tree"], problem), problem.X, problem.real_weights)
    return TreeBound(min(found["lower"], problem.integer_cost(table)), table, stopped_by)


def settings_of(problem: TreeProblem, options: SearchOptions, limits: Limits) -> dict[str, Any]:
    """The settings of the native search."""
    cost = problem.cost
    return {
        **({"any_depth": True} if problem.max_depth is None else {"max_depth": problem.max_depth}),
        "error_price": cost.error_price if isinstance(problem.target, Classes) else 1,
        "leaf_price": cost.leaf_price,
        "min_rows": min(problem.min_samples_leaf, 2**31 - 1),
        "min_weight": problem.min_leaf_weight,
        "gap": problem.max_gap,
        "threads": limits.threads,
        "isa": INSTRUCTION_SETS[options.simd],
        "lane_bits": options.lanes,
        "eta": min(options.eta, 1e9),
        "block_work": options.block_work,
        "by_sets": list(problem.by_sets),
        "sets_anywhere": problem.sets_anywhere,
        **{name: getattr(options, name) for name in _SWITCHES},
    }


def _run(
    problem: TreeProblem, settings: dict[str, Any], limits: Limits, report: Any, recorded: Recorded | None = None
) -> dict[str, Any]:
    target = problem.target.native(problem.cost.error_price)
    search = NativeSearch(np.ascontiguousarray(problem.X), target, problem.weights, settings)
    with nullcontext() if recorded is None else recorded.contradictions():
        return run_native(search, limits, report, recorded)


def _reporter(progress: Progress | None, cost: TreeCost | SumCost) -> Any:
    if progress is None:
        return None

    def report(seconds: float, upper: int, lower: int) -> None:
        if upper < NO_TREE:
            progress(ProgressEvent(seconds, *cost.reported(upper, lower)))

    return report


def _checked_start(start: NodeTable, problem: TreeProblem) -> int:
    if not start.is_tree:
        raise ValueError("start is a diagram: expected a tree")
    if problem.max_depth is not None and start.depth > problem.max_depth:
        raise ValueError(f"start has depth {start.depth}: expected a tree of depth up to {problem.max_depth}")
    if start.n_leaves > 1:
        leaves = apply(start, problem.X)
        rows = np.bincount(leaves, minlength=start.n_nodes)[start.feature == LEAF]
        weights = np.bincount(leaves, problem.weights, start.n_nodes)[start.feature == LEAF]
        if rows.min() < problem.min_samples_leaf or weights.min() < problem.min_leaf_weight:
            raise ValueError(
                "start has a leaf that holds less than min_samples_leaf or min_weight_fraction_leaf of the problem"
            )
    return problem.integer_cost(start)


def result_of(found: dict[str, Any], problem: TreeProblem, start: NodeTable | None, options: SearchOptions) -> Result:
    """The result of what a native search found, recounted from its tree."""
    cost = problem.cost
    stopped_by = STOPPED_BY[found["stopped"]]
    lower, trace = found.get("lower", 0), found.get("trace", [])
    if found.get("has_tree"):
        table = table_of(found["tree"], problem)
    elif start is not None:
        table = start
    else:  # stopped before the rows were sorted
        table = _leaf(problem)
    table = problem.target.refreshed(table, problem.X, problem.real_weights)
    upper = problem.integer_cost(table)
    counted = found["upper"]  # leaves may predict the class of the larger real weight and not of the larger integer
    if not found.get("has_tree") and counted is not None and counted < upper:  # no memory was left to write the tree
        counted, trace = None, []
    slack = cost.slack if isinstance(cost, SumCost) else 0
    if counted is not None and problem.rounding is None and upper > counted + slack:
        raise AssertionError(f"the tree costs {upper}, but the search counted only {counted}")
    lower = min(lower, upper)
    gap = (upper if counted is None else min(upper, counted)) - lower
    complete = stopped_by is None or gap <= problem.max_gap
    if complete and gap > problem.max_gap:
        raise AssertionError(f"the search ended with a gap of {gap}, but at most {problem.max_gap} is permitted")
    events = [ProgressEvent(s, *cost.reported(u, low)) for s, u, low in trace if u < NO_TREE]
    objective, bound, status = proof(cost, upper, lower, lambda: problem.real_cost(table), complete=complete)
    if status is Status.WITHIN_GAP and isinstance(cost, SumCost) and table.n_leaves > 1:
        alone = problem.target.refreshed(_leaf(problem), problem.X, problem.real_weights)
        least = problem.real_cost(alone)
        if least < problem.real_cost(table):  # no tree is returned that is worse than a leaf, as rounding might have it
            table, objective = alone, cost.shown(least)
            bound = min(bound, objective)
    if (
        not cost.exact
    ):  # the tree may be recounted below the bound of the rounded costs, which then falls by their rounding
        events = [
            replace(e, objective=max(e.objective, objective), lower_bound=min(e.lower_bound, bound)) for e in events
        ]
    final = ProgressEvent(found["seconds"], objective, bound)
    stats = Stats(
        seconds=found["seconds"],
        engine=f"search ({found['kernel'] if options.simd == 'auto' else options.simd})",
        stopped_by=ended_by(stopped_by, complete=complete),
        counters=dict(found.get("counters", {})),
    )
    return Result(table, final.objective, cost.name, final.lower_bound, status, stats, ended(events, final))


def _leaf(problem: TreeProblem) -> NodeTable:
    return NodeTable.leaf(0, problem.target.width)


def table_of(nodes: list[tuple[int, float, int, int, list[float]]], problem: TreeProblem) -> NodeTable:
    """Node table with thresholds halfway to the next value among the rows of each node."""
    *columns, sets = zip(*nodes, strict=True)
    feature, value, low, high = (np.array(column) for column in columns)
    levels = tuple(frozenset(map(int, codes)) if codes else None for codes in sets)
    threshold = np.where((feature == LEAF) | [codes is not None for codes in levels], np.nan, value)
    table = NodeTable.uncounted(feature, threshold, low, high, problem.target.width, levels=levels)
    if table.levels is not None:
        table = with_absent_levels(table, problem.X, problem.weights)
    return preorder(placed(table, problem.X, rule=ThresholdRule.MIDPOINT))
