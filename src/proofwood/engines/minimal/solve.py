"""The smallest-tree engine: it solves a problem and returns a tree with its proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.engines.interrupts import (
    ENDED,
    INTERRUPT,
    STOPPED_BY,
    TIME,
    answer_of,
    code_of,
    ended_by,
    finished,
)
from proofwood.engines.minimal.options import NATIVE_RULES, MinimalOptions
from proofwood.engines.minimal.permitted import Known, State, find_out
from proofwood.engines.run import Clock
from proofwood.memory import room
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.ranked import RankedRows
from proofwood.result import (
    LEAST_SECONDARY,
    NO_LIMITS,
    SECONDARY_SHARE,
    Limits,
    Part,
    Progress,
    ProgressEvent,
    Result,
    Stats,
    Status,
    ended,
)

DEFAULT_OPTIONS = MinimalOptions()
# Two searches: rollouts and a cover give far better trees and bounds on hard problems, but take longer than easy
# problems need: decisions/0028-rollouts-and-covers. Row sets were fastest on every table, so no other method is used:
# decisions/0006-smallest-trees-by-row-sets.
_EASY, _EASY_BITS = 0.3, 2.0
"""Seconds of a first search: problems that take longer are worth rollouts and a bound by boxes. The second number is
for tables with few tests per column, for which both help less."""
_MOST_GROUPS = 3000
"""Maximum number of groups of equal rows for which a cover by boxes is computed."""
_ROLLOUTS, _COVER = 0.1, 0.15
"""Shares of the time limit for rollouts, and for the weights that bound a cover by boxes."""
_MOST_ROLLOUTS, _MOST_COVER = 3.0, 5.0
"""Maximum seconds for rollouts, and for these weights."""
_SHALLOW, _MOST_SHALLOW = 0.3, 20.0
"""Share of the time, and maximum seconds, for trees of least depth if any depth is permitted."""
_MINIMIZE = {Minimize.DEPTH: 0, Minimize.NODES: 1, Minimize.NODES_ANY_DEPTH: 2}
_ANY_DEPTH = 2**28


def solve(
    problem: MinimalTreeProblem,
    *,
    options: MinimalOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    start: NodeTable | None = None,
    progress: Progress | None = None,
) -> Result:
    """Smallest tree whose wrong rows weigh at most ``problem.max_errors``.

    Rows of equal ranks form one group, whose minority is wrong in every tree; only errors beyond ``rows.unavoidable``
    can differ between trees. If no such errors are permitted, a subproblem is a set of groups, whichever path leads to
    it. The least depth is found by raising a limit from a lower bound, and then the number of leaves in the same way
    [1]_. If a first short search does not prove the fewest nodes, a second one uses rollouts, and weights that bound a
    cover by boxes.

    Parameters
    ----------
    problem : MinimalTreeProblem
    options : switches of the search; none changes depth and nodes
    limits : wall-clock seconds; ``limits.threads`` is ignored, because the search runs on one thread
    start : a tree to begin with; it is returned if nothing better is found
    progress : called from this thread at improvements and about five times a second

    Returns
    -------
    Result
        The objective is in the unit "depth" or "nodes", and ``parts`` has both. Before the least depth is proved, the
        bound on the nodes is valid for trees of any depth. Ctrl-C, a time limit and ``options.memory`` end the search
        with a valid bound. If the tests and rows already need more memory than that, the tree is the greedy one. Once
        the depth (or the number of nodes) is proved, the choice among equally good trees takes a small share of the
        time limit, see :meth:`Limits.secondary`. Progress may pause for up to five seconds while weights are computed.
        If errors are permitted, it may pause for up to a minute during the searches for least errors. If only
        unavoidable errors are permitted, a completed search returns one fixed tree among the equally good ones: at
        every node, root first, it has the least test below which the best size (for depth: the remaining depth) is
        possible. If more errors are permitted, it returns the first tree in an order that depends only on the groups.
        Neither choice depends on the order of the rows, or on whether a row is repeated or has a larger weight. With
        ``options.canonical`` off the tree may come from a rollout. If errors are permitted and a first short search
        does not finish, the tree may come from any of the searches.

    Raises
    ------
    ValueError
        If ``start`` breaks the problem's limits.

    References
    ----------
    .. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI: the problems, and their order.
    """
    rows = problem.rows
    if start is not None and not problem.admits(start):
        raise ValueError("start is not a tree within max_depth and max_errors of the problem: pass another, or None")
    slack = problem.max_errors - rows.unavoidable
    if slack < 0 or (problem.max_depth is not None and problem.max_depth < 0):
        return _infeasible(problem)
    try:
        found = _search(problem, options, limits, progress, slack)
    except ENDED as error:  # as if the native search had been stopped before its first tree
        found = nothing_known() | {"stopped": code_of(error)}
    stopped_by = "memory_limit" if found["out_of_memory"] else STOPPED_BY[found["stopped"]]
    return finished(lambda by: answered(found, problem, start, by or stopped_by))


def nothing_known() -> dict[str, Any]:
    """The answer of a native search that was stopped before it began."""
    return {
        "stopped": 0,
        "out_of_memory": False,
        "seconds": 0.0,
        "state": (-1, -1, 0, 1, False),
        "nodes_proved": False,
        "main_done": False,
        "infeasible": False,
        "tree": [],
        "trace": [],
        "counters": {},
    }


def _search(
    problem: MinimalTreeProblem, options: MinimalOptions, limits: Limits, progress: Progress | None, slack: int
) -> dict[str, Any]:
    """The answer of a short native search. If this does not finish, prepare a longer one and return its answer."""
    clock = Clock(limits)
    prepared = options.zero_first or options.error_bounds if slack > 0 else options.cover_bound or options.rollouts
    short = not prepared or (slack == 0 and problem.minimize is Minimize.DEPTH)  # preparing would make these slower
    easy = _EASY if slack > 0 or problem.rows.n_tests > 4 * problem.rows.tests_of.size else _EASY_BITS
    plain = replace(options, rollouts=False)
    if short or (limits.seconds is not None and limits.seconds < 4 * easy):
        return _native_search(problem, plain, limits.seconds, progress, slack)
    first = _native_search(problem, plain, limits.seconds, progress, slack, easy=easy)
    rest = clock.seconds_left
    if first["stopped"] != TIME or first["main_done"] or first["infeasible"] or (rest is not None and rest < easy):
        return first
    known = Known(first, problem, lambda: clock.seconds, teller(progress, problem))
    try:
        dual = None
        if slack > 0:
            find_out(known, options, clock, lambda seconds: _without_errors(known, options, seconds))
            if known.answer["infeasible"]:
                return known.answer
        elif options.cover_bound:
            dual = _dual_weights(problem.rows, clock.share(_COVER, _MOST_COVER))
        if slack == 0 and options.shallow_first and problem.minimize is Minimize.NODES_ANY_DEPTH and easy == _EASY:
            _offer_shallow(known, options, clock.share(_SHALLOW, _MOST_SHALLOW), dual)
        elapsed, rest = clock.seconds, clock.seconds_left
        return _native_search(problem, options, rest, progress, slack, known=known.answer, dual=dual, elapsed=elapsed)
    except ENDED as error:  # what was known remains valid
        return known.answer | {"stopped": code_of(error), "seconds": clock.seconds}


def _without_errors(known: Known, options: MinimalOptions, seconds: float) -> dict[str, Any]:
    """The answer if only the unavoidable errors are permitted."""
    strict = replace(known.problem, max_errors=known.problem.rows.unavoidable)
    return _search(strict, replace(options, canonical=False), Limits(seconds), known.repeat, 0)


def _offer_shallow(known: Known, options: MinimalOptions, seconds: float, dual: Any) -> None:
    """Search for the smallest of the shallowest trees, and offer it; this is faster than a search over all depths."""
    *_, nodes_lower, _ = known.state
    before = known.answer | {"state": (-1, -1, 0, nodes_lower, False), "tree": [], "trace": [], "counters": {}}
    flat = replace(known.problem, minimize=Minimize.NODES)
    plain = replace(options, canonical=False)
    found = _native_search(flat, plain, seconds, known.repeat, 0, known=before, dual=dual)
    if found["tree"]:
        known.offer(found["tree"])
    if found["stopped"] == INTERRUPT:
        raise KeyboardInterrupt


def teller(progress: Progress | None, problem: MinimalTreeProblem) -> Callable[[float, State], None]:
    """A function that converts states to events and passes them to ``progress``."""

    def tell(seconds: float, state: State) -> None:
        event = _event(seconds, state, problem)
        if progress is not None and event is not None:
            progress(event)

    return tell


def _dual_weights(rows: RankedRows, seconds: float) -> Any:
    if rows.groups[1].shape[0] > _MOST_GROUPS:
        return None
    from proofwood.engines.minimal.cover import dual_weights  # start-up time: SciPy's linear programs

    return dual_weights(*_groups(rows), seconds)


def _share(share: float, most: float, seconds: float | None) -> float:
    return most if seconds is None else min(most, share * seconds)


def _native_search(
    problem: MinimalTreeProblem,
    options: MinimalOptions,
    seconds: float | None,
    progress: Progress | None,
    slack: int,
    *,
    easy: float = 0.0,
    known: dict[str, Any] | None = None,
    dual: Any = None,
    elapsed: float = 0.0,
) -> dict[str, Any]:
    """The answer of one native search, which starts from the answer of an earlier one.

    Parameters
    ----------
    easy : seconds after which an unfinished search ends; 0 for no such limit
    known : the answer of an earlier search, or None
    dual : weights of the groups, see :func:`dual_weights`
    elapsed : seconds before this search, which are added to its times
    """
    rows = problem.rows
    ranks, costs = _groups(rows)
    most = _most_memory(options)
    needed = 3 * rows.n_tests * len(ranks) // 8  # tests by row, rows by test, and the sets that find equal tests
    settings: dict[str, Any] = {
        "minimize": _MINIMIZE[Minimize(problem.minimize)],
        "max_depth": _ANY_DEPTH if problem.max_depth is None else min(problem.max_depth, _ANY_DEPTH),
        "slack": min(slack, rows.total),
        "memory": most,
        **_known(known),
        "easy": easy,
        "rollout_seconds": _share(_ROLLOUTS, _MOST_ROLLOUTS, seconds),
        "start_only": needed > most,
        "form_least": LEAST_SECONDARY,
        "form_most": 0.0 if seconds is None else SECONDARY_SHARE * seconds,
        **{name: getattr(options, name) for name in NATIVE_RULES},
    }
    found = answer_of(
        _native.minimal_tree,
        ranks,
        np.ascontiguousarray(rows.tests_of, dtype=np.int32),
        costs,
        settings,
        np.zeros(0, dtype=np.int64) if dual is None else dual,
        seconds,
        _reporter(progress, problem, elapsed, None if known is None else known["state"]),
    )
    try:  # Ctrl-C may come at any call, and what was reported must not be lost
        return _after(found, known, elapsed)
    except KeyboardInterrupt:
        found["stopped"] = INTERRUPT
        return _after(found, known, elapsed)


def _after(found: dict[str, Any], known: dict[str, Any] | None, elapsed: float) -> dict[str, Any]:
    """The answer ``found`` of a search that began ``elapsed`` seconds after that of ``known``, as one of both."""
    trace = [(at + elapsed, state) for at, state in found["trace"]]
    counters = found["counters"]
    if known is not None:
        trace = [*known["trace"], *(one for one in trace if _knows(one[1], known["state"]))]
        counters = {name: count + known["counters"].get(name, 0) for name, count in counters.items()}
    return found | {"seconds": found["seconds"] + elapsed, "trace": trace, "counters": counters}


def _known(known: dict[str, Any] | None) -> dict[str, Any]:
    """Settings with which a native search starts from ``known``, the answer of an earlier search."""
    if known is None:
        return {"start": [], "depth_lower": 0, "nodes_lower": 1, "depth_proved": False}
    _, _, depth_lower, nodes_lower, depth_proved = known["state"]
    return {
        "start": [list(node) for node in known["tree"]],
        "depth_lower": depth_lower,
        "nodes_lower": nodes_lower,
        "depth_proved": depth_proved,
    }


def _most_memory(options: MinimalOptions) -> int:
    """Maximum number of bytes that the subproblems may take."""
    left = room()
    if options.memory is None:
        return 2**31 if left is None else left
    return options.memory if left is None else min(options.memory, left)


def _groups(rows: RankedRows) -> tuple[Any, Any]:
    """Ranks (n_groups, n_columns) of the groups of equal rows, and each label's cost beyond the unavoidable errors."""
    weights = rows.groups[1]
    costs = weights.max(axis=1, keepdims=True) - weights
    return np.ascontiguousarray(rows.ranks[rows.first_of_groups]), np.ascontiguousarray(costs)


def _knows(state: State, known: State) -> bool:
    """Whether the bounds of ``state`` are at least as good as those of ``known``, from which its search started."""
    return all(one >= other for one, other in zip(state[2:], known[2:], strict=True))


def _reporter(progress: Progress | None, problem: MinimalTreeProblem, elapsed: float, known: State | None) -> Any:
    if progress is None:
        return None

    def report(seconds: float, state: State) -> None:
        event = _event(seconds + elapsed, state, problem)
        if event is not None and (known is None or _knows(state, known)):
            progress(event)

    return report


def _event(seconds: float, state: State, problem: MinimalTreeProblem) -> ProgressEvent | None:
    """The progress event of a state, or None without a tree.

    With ``Minimize.NODES``, the objective is inf until the least depth is proved.
    """
    depth, nodes, depth_lower, nodes_lower, depth_proved = state
    if depth < 0:
        return None
    if problem.minimize is Minimize.DEPTH:
        return ProgressEvent(seconds, depth, depth_lower)
    if problem.minimize is Minimize.NODES and not depth_proved:
        return ProgressEvent(seconds, math.inf, nodes_lower)
    return ProgressEvent(seconds, nodes, nodes_lower)


def answered(
    found: dict[str, Any],
    problem: MinimalTreeProblem,
    start: NodeTable | None,
    stopped_by: str | None,
    *,
    engine: str = "minimal",
    certificates: Sequence[object] = (),
) -> Result:
    """Convert the answer of a native search to a :class:`~proofwood.result.Result`.

    Parameters
    ----------
    found : the answer of a native search
    start : a tree that is returned instead if it is better
    stopped_by, engine, certificates : as in :class:`~proofwood.result.Result` and its ``Stats``
    """
    depth, nodes, depth_lower, nodes_lower, depth_proved = found["state"]
    table = table_of(found["tree"], problem.rows) if found["tree"] else None
    if table is not None and ((table.depth, table.n_nodes) != (depth, nodes) or not problem.admits(table)):
        raise AssertionError(
            f"the search reported depth {depth} and {nodes} nodes, but its tree has depth {table.depth} and "
            f"{table.n_nodes} nodes, or breaks the limits of the problem"
        )
    if (
        start is not None
        and not found["infeasible"]
        and (table is None or _order(start, problem) < _order(table, problem))
    ):
        table = problem.rows.refresh(start, relabel=True)
    nodes_proved = found["nodes_proved"]
    if problem.minimize is Minimize.DEPTH and table is not None:
        nodes_lower = max(nodes_lower, 2 * (depth_lower + 1) - 1)
    parts = _parts(table, problem, (depth_lower, depth_proved), (nodes_lower, nodes_proved), found["infeasible"])
    goal = parts[0] if problem.minimize is Minimize.DEPTH else parts[1]
    status = goal.status
    if problem.minimize is Minimize.NODES and status is Status.OPTIMAL and parts[0].status is not Status.OPTIMAL:
        status = Status.FEASIBLE
    trace = tuple(event for s, state in found["trace"] if (event := _event(s, state, problem)) is not None)
    if table is not None:
        final = ProgressEvent(found["seconds"], goal.objective, goal.lower_bound)
        trace = ended(trace, final)
    stats = Stats(
        seconds=found["seconds"],
        engine=engine,
        stopped_by=ended_by(stopped_by, complete=status in (Status.OPTIMAL, Status.INFEASIBLE)),
        counters=dict(found["counters"]),
    )
    kept = tuple(certificates)
    return Result(table, goal.objective, goal.unit, goal.lower_bound, status, stats, trace, parts, certificates=kept)


def _order(table: NodeTable, problem: MinimalTreeProblem) -> tuple[int, int]:
    if problem.minimize is Minimize.NODES_ANY_DEPTH:
        return table.n_nodes, table.depth
    return table.depth, table.n_nodes


def _parts(
    table: NodeTable | None,
    problem: MinimalTreeProblem,
    depth: tuple[int, bool],
    nodes: tuple[int, bool],
    infeasible: bool,
) -> tuple[Part, Part]:
    """The result parts of depth and nodes; ``depth`` and ``nodes`` are pairs of a bound and whether it is tight."""
    if table is None:
        status = Status.INFEASIBLE if infeasible else Status.UNKNOWN
        bounds = (math.inf, math.inf) if infeasible else (depth[0], nodes[0])
        return Part("depth", math.inf, bounds[0], status), Part("nodes", math.inf, bounds[1], status)

    def part(unit: str, size: int, lower: int, sure: bool) -> Part:
        return Part(unit, size, min(lower, size), Status.OPTIMAL if sure and size == lower else Status.FEASIBLE)

    any_depth = problem.minimize is Minimize.NODES_ANY_DEPTH
    shallow = part("depth", table.depth, depth[0], not any_depth or table.depth == depth[0])
    small = part("nodes", table.n_nodes, nodes[0], True)
    if problem.minimize is Minimize.NODES and shallow.status is not Status.OPTIMAL:
        small = Part("nodes", small.objective, small.lower_bound, Status.FEASIBLE)
    return shallow, small


def _infeasible(problem: MinimalTreeProblem) -> Result:
    unit = "depth" if problem.minimize is Minimize.DEPTH else "nodes"
    parts = _parts(None, problem, (0, False), (1, False), True)
    return Result(None, math.inf, unit, math.inf, Status.INFEASIBLE, Stats(engine="minimal"), (), parts)


def table_of(nodes: list[tuple[int, int, int]], rows: RankedRows) -> NodeTable:
    """Node table over the tests; the label of a node is the majority class of its rows."""
    feature, low, high = (np.array(column, dtype=np.int64) for column in zip(*nodes, strict=True))
    leaf = feature < 0
    table = NodeTable.uncounted(np.where(leaf, LEAF, feature), np.where(leaf, np.nan, 0.5), low, high, rows.n_classes)
    return rows.refresh(table, relabel=True)
