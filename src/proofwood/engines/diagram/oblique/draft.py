"""An oblique diagram during local search: the rows that reach each node, the cost of each row there, and the score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count as numbers

import numpy as np

from proofwood.engines.diagram.kernel import error_prices
from proofwood.engines.diagram.oblique.cuts import MARGIN, lengths, sizes, weighted_sums
from proofwood.engines.diagram.oblique.hyperplane import Hyperplane
from proofwood.engines.diagram.oblique.margin import sparse_separation
from proofwood.engines.diagram.shape import Diagram, without_unreached
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import DiagramProblem

ROUNDING = 1e-9
"""A gap may be smaller than the margin by this share, because of rounding."""

Score = tuple[int, int]
"""By how much the constraints are broken, and the integer cost; scores are compared in this order, lower is better."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a draft.

    Parameters
    ----------
    layer : number of its layer
    low, high : key of a node of the next layer, or ``~code`` for the leaf of class ``code``
    normal, offset : a row goes low iff ``normal @ x <= offset``
    height : (n_rows,) ``normal @ x - offset`` of every row of the problem
    """

    layer: int
    low: int
    high: int
    normal: FloatArray
    offset: float
    height: FloatArray


@dataclass(frozen=True, eq=False)
class PricedRows:
    """The data that all drafts of one problem share.

    Parameters
    ----------
    problem : DiagramProblem with columns
    columns : (n_rows, n_features) columns of the problem
    costs : (n_rows, n_classes) int64, cost of predicting each class for each row
    """

    problem: DiagramProblem
    columns: FloatArray
    costs: IntArray

    @classmethod
    def of(cls, problem: DiagramProblem, costs: IntArray | None = None) -> PricedRows:
        """The data of ``problem`` with ``costs``; None means the cost of errors.

        Raises
        ------
        ValueError
            If the problem has no scaled columns, or ``costs`` does not have the shape (n_rows, n_classes).
        """
        rows = problem.rows
        if problem.columns is None:
            raise ValueError("the problem is univariate: expected an oblique one, with columns scaled to [0, 1]")
        costs = error_prices(problem) if costs is None else costs
        if costs.shape != (rows.n_rows, rows.n_classes):
            raise ValueError(f"costs have shape {costs.shape}: expected {(rows.n_rows, rows.n_classes)}")
        return cls(problem, problem.columns, np.asarray(costs, dtype=np.int64))

    def node(self, layer: int, low: int, high: int, normal: FloatArray, offset: float) -> Node:
        """Make a node, and compute the heights of all rows for it."""
        return Node(layer, low, high, normal, offset, weighted_sums(self.columns, normal) - offset)

    def set_plane(self, node: Node, plane: Hyperplane, low: int, high: int) -> Node:
        """A copy of ``node`` with another hyperplane and other targets."""
        return self.node(node.layer, low, high, plane.normal, plane.offset)


class Draft:
    """A diagram that is being changed: its nodes by key, and the key of the root.

    Without nodes, the draft predicts ``constant``. After every change, the draft still fits the skeleton; :meth:`trim`
    removes nodes that no path reaches.
    """

    def __init__(self, priced: PricedRows, nodes: dict[int, Node], root: int, constant: int = 0) -> None:
        self.priced, self.nodes, self.root, self.constant = priced, nodes, root, constant

    @classmethod
    def of(cls, priced: PricedRows, diagram: Diagram) -> Draft:
        """Make a draft of an oblique diagram."""
        nodes: dict[int, Node] = {}
        if diagram.n_splits:
            assert diagram.normals is not None
            assert diagram.offsets is not None
            for key in range(diagram.n_splits):
                normal = np.ascontiguousarray(diagram.normals[key])
                arcs = diagram.low[key], diagram.high[key]
                nodes[key] = priced.node(diagram.layer[key], *arcs, normal, float(diagram.offsets[key]))
        return cls(priced, nodes, 0, diagram.constant).trim()

    def copy(self) -> Draft:
        """A copy that can be changed without changing this draft; both share the nodes, which are immutable."""
        return Draft(self.priced, dict(self.nodes), self.root, self.constant)

    # ---------------------------------------------------------------- shape

    @property
    def n_splits(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def order(self) -> list[int]:
        """The keys of all nodes, layer by layer."""
        return sorted(self.nodes, key=lambda key: (self.nodes[key].layer, key))

    def fresh(self) -> int:
        """A new key that no node has."""
        return next(key for key in numbers(max(self.nodes, default=-1) + 1))

    def in_layer(self, layer: int) -> list[int]:
        """The keys of the nodes of one layer."""
        return [key for key in sorted(self.nodes) if self.nodes[key].layer == layer]

    def closure(self, targets: Iterable[int], without: int | None = None) -> set[int]:
        """The keys of ``targets`` and of all nodes that paths from them reach; arcs of ``without`` are ignored."""
        found: set[int] = set()
        queue = [target for target in targets if target >= 0]
        while queue:
            key = queue.pop()
            if key in found:
                continue
            found.add(key)
            if key != without:
                node = self.nodes[key]
                queue += [target for target in (node.low, node.high) if target >= 0]
        return found

    def parents(self, key: int) -> list[tuple[int, bool]]:
        """The arcs to a node. Each is a pair: the key of the parent, and True for the arc of the high side."""
        return [
            (parent, side)
            for parent, node in sorted(self.nodes.items())
            for side in (False, True)
            if (node.high if side else node.low) == key
        ]

    def trim(self) -> Draft:
        """Remove the nodes that no path from the root reaches, and return this draft."""
        if self.nodes:
            kept = self.closure([self.root])
            if len(kept) < len(self.nodes):
                self.nodes = {key: self.nodes[key] for key in sorted(kept)}
        return self

    def point(self, key: int, side: bool, target: int) -> None:
        """Let the high arc (if ``side``) or the low arc of node ``key`` lead to ``target``."""
        node = self.nodes[key]
        self.nodes[key] = replace(node, high=target) if side else replace(node, low=target)

    # ---------------------------------------------------------------- rows

    def reach(self) -> dict[int, BoolArray]:
        """For each key, a boolean array (n_rows,): which rows reach the node."""
        n = len(self.priced.columns)
        there: dict[int, BoolArray] = {key: np.zeros(n, dtype=np.bool_) for key in self.nodes}
        if self.nodes:
            there[self.root][:] = True
        for key in self.order():
            node, rows = self.nodes[key], there[key]
            high = node.height > 0
            if node.high >= 0:
                there[node.high] |= rows & high
            if node.low >= 0:
                there[node.low] |= rows & ~high
        return there

    def prices(self) -> dict[int, IntArray]:
        """For each key, an array (n_rows,): the cost of each row if it starts at this node."""
        onward: dict[int, IntArray] = {}
        costs = self.priced.costs
        for key in reversed(self.order()):
            node = self.nodes[key]
            high = onward[node.high] if node.high >= 0 else costs[:, ~node.high]
            low = onward[node.low] if node.low >= 0 else costs[:, ~node.low]
            onward[key] = np.where(node.height > 0, high, low)
        return onward

    def predicted(self) -> IntArray:
        """Array (n_rows,): the predicted class codes."""
        ends: dict[int, IntArray] = {}
        n = len(self.priced.columns)
        for key in reversed(self.order()):
            node = self.nodes[key]
            sides = [ends[t] if t >= 0 else np.full(n, ~t, dtype=np.int64) for t in (node.low, node.high)]
            ends[key] = np.where(node.height > 0, sides[1], sides[0])
        return ends[self.root] if self.nodes else np.full(n, self.constant, dtype=np.int64)

    def score(self) -> Score:
        """By how much constraints are broken, and the cost; both are counted again."""
        problem, k = self.priced.problem, len(self.nodes)
        node_price = problem.cost.node_price * max(0, k - 1)
        breach = max(0, k - problem.most_nodes)
        if k:
            for key, rows in self.reach().items():
                breach += not self.keeps_margin(key, rows)
                if problem.min_weight:
                    breach += max(0, problem.min_weight - int(problem.rows.weights[rows].sum()))
            price = int(self.prices()[self.root].sum())
        else:
            price = int(self.priced.costs[:, self.constant].sum())
        if problem.rates:
            predicted = self.predicted()
            slacks = [rate.slack(predicted) for rate in problem.rates]
            breach += sum(-slack for slack in slacks if slack < 0)
        return breach, price + node_price

    def keeps_margin(self, key: int, rows: BoolArray) -> bool:
        """Whether the rows of the two sides keep the margin ``MARGIN``, or the node is a threshold on one column."""
        node = self.nodes[key]
        if np.count_nonzero(node.normal) <= 1:
            return True
        height = node.height[rows]
        low, high = height[height <= 0], height[height > 0]
        if low.size == 0 or high.size == 0:
            return True
        below, above, norm = low.max(), high.min(), self.priced.problem.norm
        size = sizes(lengths(node.normal, norm), below + node.offset, above + node.offset, norm)
        return bool(above - below >= MARGIN * (1 - ROUNDING) * size)

    # ---------------------------------------------------------------- out

    def diagram(self, *, clock: Clock = ENDLESS) -> Diagram:
        """The diagram, in which each hyperplane is replaced by one with few coefficients and a wide gap.

        The new hyperplane separates the same rows, with at least half of the widest gap. If the time of ``clock`` is
        over, a hyperplane is only moved halfway between its nearest rows.
        """
        if not self.nodes:
            return Diagram.leaf(self.constant)
        reach, order = self.reach(), self.order()
        order.remove(self.root)
        order.insert(0, self.root)
        place = {key: position for position, key in enumerate(order)}
        planes = [self._settled(key, reach[key], clock) for key in order]

        def arcs(targets: list[int]) -> tuple[int, ...]:
            return tuple(place[target] if target >= 0 else target for target in targets)

        return without_unreached(
            Diagram(
                layer=tuple(self.nodes[key].layer for key in order),
                low=arcs([self.nodes[key].low for key in order]),
                high=arcs([self.nodes[key].high for key in order]),
                normals=np.array([normal for normal, _ in planes]),
                offsets=np.array([offset for _, offset in planes]),
            )
        )

    def _settled(self, key: int, rows: BoolArray, clock: Clock) -> tuple[FloatArray, float]:
        """The final normal and offset of a node; the rows that reach it stay on their sides."""
        node = self.nodes[key]
        high = node.height[rows] > 0
        there = self.priced.columns[rows]
        if high.all() or not high.any():  # all rows go to one side: compare 0 with -1 or 1
            return np.zeros_like(node.normal), -1.0 if high.any() else 1.0
        if np.count_nonzero(node.normal) == 1:
            return node.normal, node.offset
        found = sparse_separation(there[~high], there[high], margin=MARGIN, norm=self.priced.problem.norm, clock=clock)
        if found is not None:
            return found.normal, found.offset
        sums = weighted_sums(there, node.normal)
        below, above = float(sums[~high].max()), float(sums[high].min())
        return node.normal, below + (above - below) / 2
