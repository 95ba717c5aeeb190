"""Quick searches for trees and bounds if errors are permitted; the search for the smallest tree starts from them.

Each of these is quicker than the search for the smallest tree:

- A tree without errors is a first answer. Its branches are then cut back as far as the permitted errors allow.
- For the least depth, the search for trees of least error decides: has some tree of depth d few enough errors?
- The same search decides this for the number of splits: has some tree of s splits few enough errors?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood.engines.interrupts import INTERRUPT
from proofwood.engines.minimal.options import MinimalOptions
from proofwood.engines.run import Clock
from proofwood.engines.trees.front import MOST_SPLITS, bound_errors
from proofwood.engines.trees.solve import bound
from proofwood.model.node_table import NodeTable
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.objectives import TreeCost
from proofwood.problem.targets import Classes
from proofwood.problem.tree import MAX_DEPTH, TreeProblem
from proofwood.result import Limits, ProgressEvent

State = tuple[int, int, int, int, bool]  # depth and nodes of the tree at hand, their lower bounds, least depth proved?
Tree = list[tuple[int, int, int]]  # test, low, high in preorder; test -1 is a leaf
Answer = dict[str, Any]  # what a native search returns

_ZERO, _DEPTH, _SPLITS = 0.5, 0.4, 0.5
"""Shares of the remaining time for trees without errors, for the least depth, and for the number of splits."""
_MOST_SECONDS = 30.0
"""Maximum seconds for each of these three searches."""
_MOST_LEAVES = 1500
"""Maximum number of leaves of a tree that is cut back: time and memory grow with the square of their number."""


@dataclass
class Known:
    """What is known about the smallest tree: the best tree so far and the bounds.

    Parameters
    ----------
    answer : the answer of a native search, updated in place
    problem : MinimalTreeProblem
    seconds : function that returns the seconds since the start of the run
    tell : function that is called with the time and each new state
    """

    answer: Answer
    problem: MinimalTreeProblem
    seconds: Callable[[], float]
    tell: Callable[[float, State], None]

    @property
    def state(self) -> State:
        """Depth and nodes of the best tree so far, their lower bounds, and whether the least depth is proved."""
        state: State = self.answer["state"]
        return state

    def _is(self, state: State, tree: Tree | None = None) -> None:
        if state == self.state:
            return
        self.answer["state"] = state
        if tree is not None:
            self.answer["tree"] = tree
        moment = self.seconds()
        self.answer["trace"] = [*self.answer["trace"], (moment, state)]
        self.tell(moment, state)

    def repeat(self, _: ProgressEvent) -> None:
        """Report the unchanged state again, at an event of a search for another problem."""
        self.tell(self.seconds(), self.state)

    def offer(self, tree: Tree) -> None:
        """Replace the best tree by ``tree`` if it is better and within ``max_depth``."""
        depth, nodes = _depth(tree), len(tree)
        at_hand, fewest, depth_lower, nodes_lower, proved = self.state
        any_depth = self.problem.minimize is Minimize.NODES_ANY_DEPTH
        better = (nodes, depth) < (fewest, at_hand) if any_depth else (depth, nodes) < (at_hand, fewest)
        limit = self.problem.max_depth
        if (limit is None or depth <= limit) and (at_hand < 0 or better):
            self._is((depth, nodes, depth_lower, nodes_lower, proved), tree)

    def raise_depth(self, depth: int, *, proved: bool = False) -> None:
        """Record that every tree has at least this ``depth``; ``proved`` if some tree has exactly this depth."""
        at_hand, fewest, lower, nodes, before = self.state
        lower = max(lower, depth)
        self._is((at_hand, fewest, lower, max(nodes, 2 * lower + 1), before or proved))

    def raise_nodes(self, nodes: int) -> None:
        """Record that no tree, or no tree of the proved least depth, has fewer than ``nodes`` nodes."""
        at_hand, fewest, depth, lower, proved = self.state
        self._is((at_hand, fewest, depth, max(lower, nodes), proved))


def find_out(
    known: Known,
    options: MinimalOptions,
    clock: Clock,
    without_errors: Callable[[float], Answer],
) -> None:
    """Improve the best tree and the bounds of a problem that permits errors.

    Parameters
    ----------
    known : tree and bounds, updated in place
    options : switches of the search
    clock : clock of the search
    without_errors : function of a number of seconds; it returns the answer of a search that permits only the
        unavoidable errors

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C.
    """
    problem = known.problem

    def offer(tree: Tree) -> None:
        known.offer(tree)
        known.offer(cut_back(tree, problem))

    if known.answer["tree"]:
        offer(known.answer["tree"])
    if options.zero_first:
        zero = without_errors(clock.share(_ZERO, _MOST_SECONDS))
        if zero["tree"]:
            offer(zero["tree"])
        if zero["stopped"] == INTERRUPT:
            raise KeyboardInterrupt
    if options.error_bounds and problem.minimize is not Minimize.NODES_ANY_DEPTH and not known.state[4]:
        _ask_depth(known, clock.within(clock.share(_DEPTH, _MOST_SECONDS)), offer)
    if options.error_bounds and problem.minimize is not Minimize.DEPTH and not known.answer["infeasible"]:
        _ask_splits(known, clock.within(clock.share(_SPLITS, _MOST_SECONDS)))


def _ask_depth(known: Known, clock: Clock, offer: Callable[[Tree], None]) -> None:
    """Raise the lower bound on the depth until a tree of that depth exists, or the time is up."""
    problem = known.problem
    while not known.state[4] and known.state[2] <= MAX_DEPTH:
        at_hand, _, depth, _, _ = known.state
        if problem.max_depth is not None and depth > problem.max_depth:
            known.answer["infeasible"] = True
            return
        if at_hand == depth:
            known.raise_depth(depth, proved=True)
            return
        found = bound(_least_error(problem, depth), below=problem.max_errors + 1, limits=Limits(clock.seconds_left))
        if found.model is not None:
            offer(_over_tests(found.model, problem))
            known.raise_depth(depth, proved=True)
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if found.model is None and found.stopped_by is not None:
            return
        if found.model is None:
            known.raise_depth(depth + 1)


def _ask_splits(known: Known, clock: Clock) -> None:
    """Raise the lower bound on the nodes until a tree of that size exists, or the time is up."""
    problem = known.problem
    while known.state[0] < 0 or known.state[3] < known.state[1]:
        depth, _, _, nodes, proved = known.state
        splits = (nodes - 1) // 2
        if splits > MOST_SPLITS:
            return
        limit = depth if proved else problem.max_depth
        tree = _least_error(problem, splits if limit is None else min(limit, splits))
        found = bound_errors(tree, splits, below=problem.max_errors + 1, limits=Limits(clock.seconds_left))
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if found.found or found.stopped_by is not None:
            return
        known.raise_nodes(2 * (splits + 1) + 1)


def _least_error(problem: MinimalTreeProblem, depth: int) -> TreeProblem:
    """The problem of least error for trees of up to ``depth`` over the ranks of the groups, in integer weight."""
    rows = problem.rows
    group, codes = np.nonzero(rows.groups[1])
    return TreeProblem(
        X=rows.ranks[rows.first_of_groups][group].astype(np.float64),
        target=Classes(codes.astype(np.int64), rows.n_classes),
        weights=rows.groups[1][group, codes],
        cost=TreeCost(total=rows.total, unit=Fraction(1)),
        max_depth=min(depth, MAX_DEPTH),
        kept=np.arange(group.size),
    )


def _over_tests(table: NodeTable, problem: MinimalTreeProblem) -> Tree:
    """The tree ``table``, whose thresholds lie between ranks, as a tree over tests."""
    tree: Tree = []

    def add(node: int) -> int:
        number = len(tree)
        tree.append((-1, -1, -1))
        column = int(table.feature[node])
        if column >= 0:
            test = int(problem.rows.offsets[column] + np.floor(table.threshold[node]))
            tree[number] = (test, add(int(table.low[node])), add(int(table.high[node])))
        return number

    add(0)  # as deep as MAX_DEPTH at most
    return tree


def _depth(tree: Tree) -> int:
    depths = [0] * len(tree)
    for node, (test, low, high) in enumerate(tree):
        if test >= 0:
            depths[low] = depths[high] = depths[node] + 1
    return max(depths)


def cut_back(tree: Tree, problem: MinimalTreeProblem) -> Tree:
    """The smallest tree that results from ``tree`` if branches become leaves, within the permitted errors.

    For each node, dynamic programming finds the least weight of errors with k leaves, from the best division of the
    leaves between its two sides. A tree of more than ``_MOST_LEAVES`` leaves is returned unchanged.
    """
    rows = problem.rows
    ranks, weights = rows.ranks[rows.first_of_groups], rows.groups[1]
    here = [np.arange(len(ranks))] + [np.empty(0, dtype=np.int64)] * (len(tree) - 1)
    for node, (test, low, high) in enumerate(tree):
        if test >= 0:
            column = int(np.searchsorted(rows.offsets, test, side="right")) - 1
            is_low = ranks[here[node], column] <= test - rows.offsets[column]
            here[low], here[high] = here[node][is_low], here[node][~is_low]
    if (len(tree) + 1) // 2 > _MOST_LEAVES:
        return tree
    least: list[Any] = [None] * len(tree)  # (leaves,) errors with 1, 2, ... leaves
    share: list[Any] = [None] * len(tree)  # (leaves - 1,) leaves of the low side, with 2, 3, ...
    for node in reversed(range(len(tree))):  # both sides come later in preorder
        counts = weights[here[node]].sum(axis=0)
        alone = np.array([counts.sum() - counts.max()], dtype=np.int64)
        test, low, high = tree[node]
        if test < 0:
            least[node] = alone
            continue
        sums = least[low][:, None] + least[high][None, :]
        leaves = np.add.outer(np.arange(1, 1 + len(least[low])), np.arange(1, 1 + len(least[high])))
        order = np.lexsort((sums.ravel(), leaves.ravel()))
        first = np.searchsorted(leaves.ravel()[order], np.arange(2, leaves.max() + 1))
        best = order[first]
        least[node] = np.concatenate([alone, sums.ravel()[best]])
        share[node] = best // len(least[high]) + 1
    enough = int(np.flatnonzero(least[0] <= problem.max_errors)[0]) + 1
    result: Tree = []
    todo = [(0, enough, -1, False)]
    while todo:
        node, leaves_left, parent, is_high = todo.pop()
        number = len(result)
        result.append((-1, -1, -1))
        if parent >= 0:
            test, low, high = result[parent]
            result[parent] = (test, low, number) if is_high else (test, number, high)
        if leaves_left == 1:
            continue
        test, low, high = tree[node]
        result[number] = (test, -1, -1)
        of_low = int(share[node][leaves_left - 2])
        todo += [(high, leaves_left - of_low, number, True), (low, of_low, number, False)]
    return result
