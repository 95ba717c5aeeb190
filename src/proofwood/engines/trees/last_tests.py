"""Better trees of actions within limits: the last tests of paths are searched again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from proofwood.model.evaluate import apply
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import preorder
from proofwood.problem.action_limits import LimitedRewards
from proofwood.problem.tree import TreeProblem

ROUNDS = 10
"""The most times that all places of a tree are tried."""


@dataclass(frozen=True)
class LabelledTree:
    """A tree within the limits, with its best labels.

    Parameters
    ----------
    table : labelled; its counts are not up to date
    cost : lost reward plus price of leaves
    """

    table: NodeTable
    cost: Fraction


class _Rest(NamedTuple):
    """What the leaves beside a place leave of the limits.

    Parameters
    ----------
    weights : for each budget, the weight that may be given its actions
    rows : (k,) rows that each action has
    """

    weights: list[float]
    rows: IntArray


class _Stump(NamedTuple):
    loss: float
    column: int
    threshold: float
    labels: tuple[int, int]


class LastTests:
    """Searches of stumps on the rows of a node, in float64: what they find is counted exactly by the caller.

    Parameters
    ----------
    problem : with a target :class:`LimitedRewards`
    over : whether the time is up
    """

    def __init__(self, problem: TreeProblem, over: Callable[[], bool]) -> None:
        target = problem.target
        assert isinstance(target, LimitedRewards)
        assert problem.max_depth is not None
        self._max_depth = problem.max_depth
        self._target, self._problem, self._over = target, problem, over
        self._losses = target.weighted.values.astype(np.float64)
        self._weights = problem.real_weights
        self._orders: dict[int, IntArray] = {}

    def improved(self, tree: LabelledTree, counted: Callable[[NodeTable], LabelledTree | None]) -> LabelledTree:
        """A tree that is at least as good: stumps are replaced by better ones until none is.

        Parameters
        ----------
        tree : within the limits
        counted : labels a tree and counts its cost; None if it is not within the limits
        """
        for _ in range(ROUNDS):
            before = tree
            for node in _places(tree.table, self._max_depth):
                if self._over():
                    return tree
                table = self._with_better_stump(tree.table, node)
                other = None if table is None else counted(table)
                if other is not None and other.cost < tree.cost:
                    tree = other
                    break
            if tree is before:
                break
        return tree

    def _with_better_stump(self, table: NodeTable, node: int) -> NodeTable | None:
        leaf = apply(table, self._problem.X)
        below = {node, int(table.low[node]), int(table.high[node])} - {LEAF}
        here = np.isin(leaf, list(below))
        labels = table.label[leaf[~here]]
        weights = self._weights[~here]
        total = float(self._weights.sum())
        left = [
            float(share * Fraction(total)) - float(weights[np.array(actions)[labels]].sum())
            for actions, share in self._target.limits.budgets
        ]
        rest = _Rest(left, np.bincount(labels, minlength=self._losses.shape[1]))
        stump = self._best(here, rest)
        return None if stump is None else _replaced(table, node, stump)

    def _order(self, column: int) -> IntArray:
        """The rows in the order of a column, sorted once."""
        if column not in self._orders:
            self._orders[column] = np.argsort(self._problem.X[:, column], kind="stable")
        return self._orders[column]

    def _best(self, here: BoolArray, rest: _Rest) -> _Stump | None:
        """The stump of least loss that keeps the limits on the rows of a mask."""
        found: _Stump | None = None
        for column in range(self._problem.n_features):
            if self._over():
                return found
            order = self._order(column)
            order = order[here[order]]
            values = self._problem.X[order, column]
            cuts = self._cuts(values, self._problem.weights[order])
            if not cuts.size:
                continue
            losses = np.cumsum(self._losses[order], axis=0)
            sizes = np.cumsum(self._weights[order])
            for stump in self._of_column(column, values, cuts, losses, sizes, rest):
                if found is None or stump.loss < found.loss:
                    found = stump
        return found

    def _cuts(self, values: FloatArray, weights: IntArray) -> IntArray:
        """Numbers of rows that may go low, of rows in the order of their values."""
        least, lightest = self._problem.min_samples_leaf, self._problem.min_leaf_weight
        cuts = np.flatnonzero(values[1:] > values[:-1]) + 1
        low = np.cumsum(weights)[cuts - 1]
        heavy = (low >= lightest) & (int(weights.sum()) - low >= lightest)
        return np.asarray(cuts[heavy & (cuts >= least) & (cuts <= values.size - least)])

    def _of_column(
        self, column: int, values: FloatArray, cuts: IntArray, losses: FloatArray, sizes: FloatArray, rest: _Rest
    ) -> Iterator[_Stump]:
        n_actions = losses.shape[1]
        low_size, high_size = sizes[cuts - 1], sizes[-1] - sizes[cuts - 1]
        for a in range(n_actions):
            for b in range(n_actions):
                if a == b:
                    continue
                loss = losses[cuts - 1, a] + losses[-1, b] - losses[cuts - 1, b]
                kept = np.ones(cuts.size, dtype=bool)
                for (actions, _), left in zip(self._target.limits.budgets, rest.weights, strict=True):
                    if actions[a] or actions[b]:
                        kept &= low_size * actions[a] + high_size * actions[b] <= left * (1 + 1e-12)
                rows = self._target.limits.least_rows
                if rows > 1:
                    kept &= (cuts + rest.rows[a] >= rows) & (values.size - cuts + rest.rows[b] >= rows)
                    others = np.delete(rest.rows, [a, b])
                    kept &= bool(np.all((others == 0) | (others >= rows)))
                if kept.any():
                    at = int(np.argmin(np.where(kept, loss, np.inf)))
                    yield _Stump(float(loss[at]), column, float(values[cuts[at] - 1]), (a, b))


def _places(table: NodeTable, max_depth: int) -> list[int]:
    """Nodes at which a stump may stand: those above two leaves, and leaves above the depth limit."""
    depth = np.zeros(table.n_nodes, dtype=np.int64)
    for node in table.splits():
        depth[[table.low[node], table.high[node]]] = depth[node] + 1
    leaf = table.feature == LEAF
    above = [node for node in table.splits() if leaf[table.low[node]] and leaf[table.high[node]]]
    return [*above, *(int(node) for node in np.flatnonzero(leaf & (depth < max_depth)))]


def _replaced(table: NodeTable, node: int, stump: _Stump) -> NodeTable:
    """The tree with another stump at a node."""
    feature, threshold, low, high, label = (
        list(array.tolist()) for array in (table.feature, table.threshold, table.low, table.high, table.label)
    )
    if low[node] == LEAF:
        low[node], high[node] = len(low), len(low) + 1
        for _ in range(2):
            feature.append(LEAF)
            threshold.append(np.nan)
            low.append(LEAF)
            high.append(LEAF)
            label.append(0)
    feature[node], threshold[node] = stump.column, stump.threshold
    label[low[node]], label[high[node]] = stump.labels
    bare = NodeTable.uncounted(
        np.array(feature), np.array(threshold), np.array(low), np.array(high), table.weight.shape[1]
    )
    n_actions = 1 if table.values is None else table.values.shape[1]
    return preorder(bare.changed(label=label, values=np.zeros((len(label), n_actions))))
