"""Smallest trees by SAT: least depth, then fewest nodes (DT_depth and DT_size of Avellaneda 2020)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from proofwood.certificates.drup import Certificate
from proofwood.engines.interrupts import ENDED, cause_of, completed
from proofwood.engines.minimal import solve as search
from proofwood.engines.minimal.reference.formula import TreeFormula
from proofwood.engines.minimal.reference.options import AS_PRINTED, SatTreeOptions
from proofwood.engines.minimal.reference.rows import Groups, Tree
from proofwood.engines.minimal.reference.start import greedy_tree
from proofwood.engines.run import Clock, Run, Stopped
from proofwood.model.node_table import NodeTable
from proofwood.model.reshape import prune
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.result import NO_LIMITS, Limits, Part, Progress, Result, Stats, Status

__all__ = ["AS_PRINTED", "SatTreeOptions", "solve"]

DEFAULT_OPTIONS = SatTreeOptions()
REPORT_SECONDS = 0.2


def solve(
    problem: MinimalTreeProblem,
    *,
    options: SatTreeOptions = DEFAULT_OPTIONS,
    limits: Limits = NO_LIMITS,
    start: NodeTable | None = None,
    progress: Progress | None = None,
) -> Result:
    """The smallest tree over the tests that makes at most ``max_errors``, by incremental SAT [1]_.

    Depths are tried from below; at the least one, the number of leaves is tightened until there is no tree. For the
    fewest nodes at any depth, deeper trees are tried as long as they could be smaller: one of depth d has at least
    2 d + 1 nodes.

    Parameters
    ----------
    problem : MinimalTreeProblem
    options : switches; none changes what is proved
    limits : wall-clock seconds; one thread is used
    start : a tree to begin with; a greedy tree is tried besides
    progress : called from this thread at improvements and about five times a second. Where the depth counts before the
        nodes, the objective is inf until the depth is proved

    Returns
    -------
    Result
        In units of depth or nodes. Parts are the depth and, if they count, the nodes. ``counters["examples"]`` is the
        largest number of groups of equal rows in one formula.

    Raises
    ------
    ValueError
        If ``start`` is no tree that the problem admits.

    Notes
    -----
    With ``max_errors`` above the unavoidable ones, a group of the formula may be given a class that costs more
    than its cheapest, at the price of a literal whose weight is the difference; the sum of these literals is bounded
    by a totalizer that grows with the groups. The paper has no such errors.

    References
    ----------
    .. [1] Avellaneda (2020), Efficient Inference of Optimal Decision Trees, AAAI.
    """
    run = _Run(problem, options, limits, progress)
    if problem.max_errors < problem.rows.unavoidable:
        return run.result(None, infeasible=True)
    if start is not None:
        if not problem.admits(start):
            raise ValueError("start is not a tree within max_depth and max_errors of the problem")
        run.offer(start)
    infeasible, stopped_by = False, None
    try:
        run.prepare()
        infeasible = not _least_depth(run)
        if not infeasible and problem.minimize is Minimize.NODES:
            _fewest_leaves(run, run.depth_lower)
        elif not infeasible and problem.minimize is Minimize.NODES_ANY_DEPTH:
            _fewest_leaves_at_any_depth(run)
    except Stopped as stop:
        stopped_by = str(stop)
    except ENDED as error:
        stopped_by = cause_of(error)
    if stopped_by is not None and run.best is None:
        completed(run.hurry)
    return completed(lambda: run.result(stopped_by, infeasible=infeasible))


def _least_depth(run: _Run) -> bool:
    """DT_depth: raise the depth until there is a tree. False if there is none within ``max_depth``."""
    while run.depth_lower < run.least_depth:
        depth = run.depth_lower
        if run.problem.max_depth is not None and depth > run.problem.max_depth:
            return False
        with run.formula(depth) as formula:
            tree = run.find(formula)
        if tree is None:
            run.prove_depth(depth + 1)
        else:
            run.offer_tree(tree)
    return True


def _fewest_leaves(run: _Run, depth: int) -> None:
    """DT_size: tighten the number of leaves of trees of this depth until there is none with fewer than the best."""
    lower = max(run.leaves_lower, min(depth, run.depth_lower) + 1)
    formula = None
    try:
        while lower < (upper := run.best_leaves):
            target = upper - 1 if run.options.size_search == "descend" else (lower + upper) // 2
            target = min(target, upper - 1)
            if formula is None or not run.options.carry:
                if formula is not None:
                    formula.session.close()
                formula = run.formula(depth, leaves_counted=upper)
            tree = run.find(formula, target)
            if tree is None:
                lower = target + 1
                run.prove_leaves(depth, lower)
            else:
                run.offer_tree(tree)
    finally:
        if formula is not None:
            formula.session.close()


def _fewest_leaves_at_any_depth(run: _Run) -> None:
    """As :func:`_fewest_leaves` for every depth whose trees could be smaller than the best known."""
    deepest = math.inf if run.problem.max_depth is None else run.problem.max_depth
    depth = run.depth_lower
    while depth <= deepest and depth + 1 < run.best_leaves:
        _fewest_leaves(run, depth)
        run.prove_leaves(depth, run.best_leaves)
        depth += 1
    run.prove_leaves(math.inf, run.best_leaves)


class _Run(Run):
    """What is known at one moment of one call: the best tree, the bounds, the rows that were needed."""

    def __init__(
        self, problem: MinimalTreeProblem, options: SatTreeOptions, limits: Limits, progress: Progress | None
    ) -> None:
        super().__init__(Clock(limits), progress)
        self.problem = problem
        self.options = options
        self.slack = problem.max_errors - problem.rows.unavoidable
        self.best: NodeTable | None = None
        self.least_depth = math.inf  # of the trees known
        self.depth_lower = 0
        self.leaves_lower = 1  # of every tree that the problem admits and that is as good in the parts before
        self.carried: list[int] = []
        self.certificates: list[Certificate] = []

    def prepare(self) -> None:
        """Groups of rows, bounds from the number of classes, and the greedy tree."""
        options, rows = self.options, self.problem.rows
        self.groups = Groups.of(
            rows, merge=options.merge_columns, single=options.thresholds == "direct", check=self.clock.check
        )
        costs = self.groups.costs
        excess = costs - costs.min(axis=1, keepdims=True)
        needed = np.count_nonzero(excess <= self.slack, axis=1) == 1  # any other class is an error too many
        n_needed = max(1, np.unique(excess[needed].argmin(axis=1)).size)
        self.leaves_lower = n_needed
        self.prove_depth((n_needed - 1).bit_length())
        greedy = greedy_tree(self.groups, rows, self.clock.check)
        if self.problem.admits(greedy):
            self.offer(greedy)
        self.clock.check()

    def hurry(self) -> None:
        """Take up the tree that the search for smallest trees has at once, where there was no time for another."""
        found = search(self.problem, limits=Limits(seconds=0.0))
        if found.model is not None:
            self._take(found.model)  # counted there, and without splits that send all rows one way

    # ---------------------------------------------------------------------------------------------------------- search

    def formula(self, depth: int, leaves_counted: int | None = None) -> TreeFormula:
        """An empty formula, or one with the rows needed before."""
        formula = TreeFormula(
            self.groups,
            depth,
            self.slack,
            self.options,
            seconds=self.clock.seconds_left,
            on_slice=self.report,
            leaves_counted=leaves_counted,
        )
        if self.options.carry:
            formula.add(self.carried)
        return formula

    def find(self, formula: TreeFormula, max_leaves: int | None = None) -> Tree | None:
        """Run the formula and keep count of its work."""
        before = Counter(formula.session.counters) if formula.session.n_calls else Counter()
        try:
            return formula.find(max_leaves)
        finally:
            work = Counter(formula.session.counters)
            work.subtract(before)
            self.counters.update(work)
            self.counters["examples"] = max(self.counters["examples"], formula.added.size)
            self.carried = formula.added.tolist()
            self.certificates += formula.certificates
            formula.certificates.clear()

    # ---------------------------------------------------------------------------------------------------- what is known

    @property
    def best_leaves(self) -> int:
        """Leaves of the best tree."""
        assert self.best is not None
        return self.best.n_leaves

    def offer_tree(self, tree: Tree) -> None:
        """Take up the tree of a formula."""
        self.offer(self.groups.table(tree, self.problem.rows))

    def offer(self, table: NodeTable) -> None:
        """Take up a tree, without splits that send all rows one way, if it is better than the best."""
        table = prune(self.problem.rows.refresh(table, relabel=True), empty=True)
        if not self.problem.admits(table):
            raise AssertionError(f"a tree makes {self.problem.rows.errors(table)} errors, its formula permits fewer")
        self._take(table)

    def _take(self, table: NodeTable) -> None:
        """Keep a tree that was counted, if it is better than the best."""
        self.least_depth = min(self.least_depth, table.depth)
        if self.best is None or self._key(table) < self._key(self.best):
            self.best = table
            self.changed()

    def _key(self, table: NodeTable) -> tuple[int, int]:
        """What is smaller is better."""
        if self.problem.minimize is Minimize.NODES_ANY_DEPTH:
            return table.n_nodes, table.depth
        return table.depth, table.n_nodes

    def prove_depth(self, depth: int) -> None:
        """No tree of a depth below ``depth`` is admitted."""
        self.depth_lower = max(self.depth_lower, depth)
        self.leaves_lower = max(self.leaves_lower, depth + 1)
        self.changed()

    def prove_leaves(self, depth: float, leaves: int) -> None:
        """No admitted tree up to ``depth`` has fewer than ``leaves`` leaves; deeper ones have more than their depth."""
        if self.problem.minimize is Minimize.NODES_ANY_DEPTH:
            leaves = int(min(leaves, depth + 2))
        self.leaves_lower = max(self.leaves_lower, leaves)
        self.changed()

    def state(self) -> tuple[float, float]:
        """Objective and lower bound of what is minimised, as they are reported."""
        best = self.best
        if self.problem.minimize is Minimize.DEPTH:
            return self.least_depth, float(min(self.depth_lower, self.least_depth))
        lower = 2 * self.leaves_lower - 1
        depth_open = self.problem.minimize is Minimize.NODES and self.depth_lower < self.least_depth
        objective = math.inf if best is None or depth_open else float(best.n_nodes)
        return objective, float(min(lower, objective))

    # ---------------------------------------------------------------------------------------------------------- result

    def result(self, stopped_by: str | None, *, infeasible: bool) -> Result:
        """What is known now, as a result."""
        depth_first = self.problem.minimize is not Minimize.NODES_ANY_DEPTH
        unit = "depth" if self.problem.minimize is Minimize.DEPTH else "nodes"
        best = self.best
        if best is None:
            status = Status.INFEASIBLE if infeasible else Status.UNKNOWN
            bounds = {"depth": float(self.depth_lower), "nodes": float(2 * self.leaves_lower - 1)}
            parts: tuple[Part, ...] = tuple(
                Part(name, math.inf, math.inf if infeasible else bound, status)
                for name, bound in bounds.items()
                if name == unit or (depth_first and name == "depth")
            )
            objective, lower_bound = math.inf, parts[-1].lower_bound
        else:
            depth = Part("depth", best.depth, min(self.depth_lower, best.depth), Status.FEASIBLE)
            nodes = Part("nodes", best.n_nodes, min(2 * self.leaves_lower - 1, best.n_nodes), Status.FEASIBLE)
            if depth_first:
                depth = _proved_if_tight(depth)
                nodes = _proved_if_tight(nodes) if depth.status is Status.OPTIMAL else nodes
                parts = (depth,) if unit == "depth" else (depth, nodes)
            else:
                parts = (_proved_if_tight(nodes),)
            last = parts[-1]
            objective, lower_bound, status = last.objective, last.lower_bound, last.status
        seconds = self.clock.seconds
        done = status in (Status.OPTIMAL, Status.INFEASIBLE)
        return Result(
            model=best,
            objective=float(objective),
            unit=unit,
            lower_bound=float(lower_bound),
            status=status,
            stats=Stats(seconds, f"sat ({self.options.solver})", None if done else stopped_by, dict(self.counters)),
            trace=self.whole_trace(objective, lower_bound),
            parts=parts,
            certificates=tuple(self.certificates),
        )


def _proved_if_tight(part: Part) -> Part:
    tight = part.objective == part.lower_bound
    return Part(part.unit, part.objective, part.lower_bound, Status.OPTIMAL) if tight else part
