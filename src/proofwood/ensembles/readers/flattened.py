"""Flatten a small ensemble into one tree, for models that use more of a member than its sum, such as its class.

The trees are joined one after the other; each test is kept only if both results are still possible. All rows of a leaf
reach the same leaf in every tree, so the ensemble predicts the same for all of them. If rounding might decide the
class of a leaf, the model itself predicts one row of it: the model adds the same numbers for every row of the leaf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proofwood.ensembles.forest import Codes, Forest, ScoredTree, merged
from proofwood.ensembles.readers.nodes import Edge, Nodes, join
from proofwood.ensembles.readers.reading import Adapted
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.model.node_table import LEAF, FloatArray

MOST_STEPS = 100_000
"""Limit on the visited nodes (a second or two); an ensemble that needs more is not flattened."""


class TooLargeError(Exception):
    """Raised if flattening an ensemble takes more than ``MOST_STEPS`` steps."""

    def __str__(self) -> str:
        return "this ensemble is too large to be written as one tree"


@dataclass(frozen=True)
class _Side:
    """The possible values of a column: numbers ``low < x <= high`` or codes, and whether it may be missing."""

    low: float = -math.inf
    high: float = math.inf
    missing: bool = False
    only: Codes | None = None
    never: Codes = frozenset()

    def split(self, threshold: float, missing_low: bool) -> tuple[_Side | None, _Side | None]:
        """The values that go low and those that go high at a threshold; None if there are no such values."""
        sides = []
        for low, high, gap in (
            (self.low, min(self.high, threshold), self.missing and missing_low),
            (max(self.low, threshold), self.high, self.missing and not missing_low),
        ):
            sides.append(replace(self, low=low, high=high, missing=gap) if low < high or gap else None)
        return sides[0], sides[1]

    def chosen(self, codes: Codes) -> tuple[_Side | None, _Side | None]:
        """The values that go low and those that go high if the test is ``x in codes``; None if there are none."""
        inside = codes - self.never if self.only is None else codes & self.only
        outside = None if self.only is None else self.only - codes
        low = replace(self, only=inside) if inside else None
        high = None if outside is not None and not outside else replace(self, only=outside, never=self.never | codes)
        return low, high

    def value(self, n_levels: int) -> float:
        """One possible value of the column; ``n_levels`` is the number of its known categories."""
        if self.only is not None or self.never:
            codes = self.only or {min(set(range(len(self.never) + 1)) - self.never)}
            return float(max(codes)) if max(codes) >= 0 else math.nan if self.missing else float(n_levels)
        if not self.low < self.high:
            return math.nan
        if math.isfinite(self.high):
            return self.high
        return math.nextafter(self.low, math.inf) if math.isfinite(self.low) else 0.0


# The library adds the same numbers in the same order for all rows of a leaf, so any function of its result is exact.
# Bounds from intervals of probability would not be exact: decisions/0057-members-as-one-tree.
@dataclass(frozen=True, eq=False)
class Flat:
    """An ensemble as one tree.

    Parameters
    ----------
    tree : its values are the sums of the ensemble (n_nodes, n_scores), without the rounding errors of the model
    rows : (n_nodes, n_inputs) one row that reaches each leaf, in the form that ``Adapted.read`` returns
    """

    tree: ScoredTree
    rows: FloatArray

    def holding(self, given: FloatArray) -> ScoredTree:
        """The tree with the scores ``given`` (n_leaves,) or (n_leaves, n_scores), in the order of the leaf nodes."""
        leaves = self.tree.leaves
        own = np.asarray(given, dtype=np.float64).reshape(leaves.size, -1)
        value = np.zeros((len(self.tree.feature), own.shape[1]))
        value[leaves] = own
        return replace(self.tree, value=value)


def classes_tree(core: Adapted) -> ScoredTree:
    """One tree whose leaves vote for the classes that a classifier predicts, without rounding.

    Raises
    ------
    TooLargeError
        If the tree would be too large.
    TypeError
        If rounding may decide a class, and the classifier cannot be called without its own steps.
    """
    forest = core.forest
    if forest.majority or len(forest.trees) > 1:
        flat = _flattened(core, decided=_Decided(forest))
    else:
        flat = _flattened(core, decided=None)
    leaves = flat.tree.leaves
    sums = flat.tree.value[leaves]
    ordered = np.sort(sums, axis=1)
    codes = sums.argmax(axis=1) if forest.ties_low else sums.shape[1] - 1 - sums[:, ::-1].argmax(axis=1)
    if forest.noise > 0 and sums.shape[1] > 1:
        doubtful = np.flatnonzero(ordered[:, -1] - ordered[:, -2] <= 2 * forest.noise)
        if doubtful.size:
            _in_one_order(forest)
            codes[doubtful] = core.predict(flat.rows[leaves[doubtful]])
    value = np.zeros(flat.tree.value.shape)
    value[leaves, codes] = 1.0
    return merged(replace(flat.tree, value=value))


def answers_tree(core: Adapted, method: str) -> tuple[Flat, Any]:
    """The ensemble as one tree, and the result of a method of the model for one row of each leaf.

    Raises
    ------
    TooLargeError
        If the tree would be too large.
    TypeError
        If the model does not have this method or cannot be called without its own steps.
    """
    flat = _flattened(core, decided=None)
    if core.model is None or not hasattr(core.model, method):
        raise TypeError(f"the model has no {method} that can be called without its own steps")
    if core.forest.noise > 0:
        _in_one_order(core.forest)
    rows = flat.rows[flat.tree.leaves]
    return flat, unnamed(getattr(core.model, method), rows if core.table is None else core.table(rows))


def _in_one_order(forest: Forest) -> None:
    if forest.unordered:
        raise TypeError("it adds up its trees in several threads, so rounding may change predictions: set n_jobs=1")


class _Decided:
    """Decides whether the remaining trees can still change the winning class."""

    def __init__(self, forest: Forest) -> None:
        n = forest.n_classes
        self.noise = forest.noise
        self.least = [np.zeros((n, n))]  # least lead of a class over another that the remaining trees add
        for tree in reversed(forest.trees):
            value = tree.value[tree.leaves]
            lead = (value[:, :, np.newaxis] - value[:, np.newaxis, :]).min(axis=0)
            self.least.append(self.least[-1] + lead)
        self.least.reverse()

    def winner(self, sums: FloatArray, after: int) -> int | None:
        """The class that wins, whatever leaves of the remaining trees are reached; None if there is no such class."""
        lead = sums[:, np.newaxis] - sums[np.newaxis, :] + self.least[after]
        np.fill_diagonal(lead, np.inf)
        # twice the noise, and a bound for the rounding of these sums
        sure = lead.min(axis=1) > 2 * self.noise + 2.0**-40 * np.abs(sums).max()
        return int(sure.argmax()) if sure.any() else None


@dataclass(frozen=True)
class _Listed:
    """A tree as lists: reading single nodes is faster than from arrays. ``column`` is the column of the table."""

    column: list[int]
    feature: list[int]
    threshold: list[float]
    low: list[int]
    high: list[int]
    missing_low: list[bool]
    levels: tuple[Codes | None, ...] | None
    value: FloatArray

    @classmethod
    def of(cls, tree: ScoredTree, place: list[int]) -> _Listed:
        feature = tree.feature.tolist()
        column = [place[at] if at != LEAF else LEAF for at in feature]
        return cls(
            column,
            feature,
            threshold=tree.threshold.tolist(),
            low=tree.low.tolist(),
            high=tree.high.tolist(),
            missing_low=tree.missing_low.tolist(),
            levels=tree.levels,
            value=tree.value,
        )

    def sides(self, node: int, side: _Side) -> tuple[_Side | None, _Side | None]:
        """The values of the column that are possible on each side of a test."""
        codes = None if self.levels is None else self.levels[node]
        return side.split(self.threshold[node], self.missing_low[node]) if codes is None else side.chosen(codes)


_Box = dict[int, _Side]


def _flattened(core: Adapted, decided: _Decided | None) -> Flat:
    forest = core.forest
    if any(source.table is not None or source.steps for source in core.sources):
        raise TypeError("its steps compute new columns from those of the table")
    place = [source.column for source in core.sources]
    trees = [_Listed.of(tree, place) for tree in forest.trees]
    takes = np.zeros(len(core.inputs), dtype=bool)
    if forest.takes_missing is not None:
        for column, does in zip(place, forest.takes_missing.tolist(), strict=True):
            takes[column] |= does
    start = {j: _Side(missing=bool(takes[j])) for j in range(len(core.inputs))}
    nodes = Nodes(forest.base.size)
    rows: dict[int, list[float]] = {}
    pending: list[tuple[int, int, FloatArray, _Box, list[Edge]]] = [(0, 0, forest.base, start, [])]
    reach = forest.reach
    steps = 0
    while pending:
        at, node, sums, box, edges = pending.pop()
        join(edges, len(nodes))
        while True:  # down the trees, as far as the box decides
            steps += 1
            winner = decided.winner(sums, at) if decided is not None and node == 0 else None
            if winner is not None or at == len(trees):
                value = sums if winner is None else np.eye(sums.size)[winner] * reach
                rows[nodes.add_leaf(value)] = [box[j].value(len(given.levels)) for j, given in enumerate(core.inputs)]
                break
            tree = trees[at]
            column = tree.column[node]
            if column == LEAF:
                at, node, sums = at + 1, 0, sums + tree.value[node]
                continue
            low, high = tree.sides(node, box[column])
            if low is not None and high is not None:
                codes = None if tree.levels is None else tree.levels[node]
                test = nodes.add(tree.feature[node], tree.threshold[node], tree.missing_low[node], codes)
                pending.append((at, tree.high[node], sums, {**box, column: high}, [(nodes.high, test)]))
                pending.append((at, tree.low[node], sums, {**box, column: low}, [(nodes.low, test)]))
                break
            node = tree.high[node] if low is None else tree.low[node]
        if steps > MOST_STEPS:
            raise TooLargeError
    nothing = [math.nan] * len(core.inputs)
    return Flat(nodes.tree(), np.array([rows.get(node, nothing) for node in range(len(nodes))]))
