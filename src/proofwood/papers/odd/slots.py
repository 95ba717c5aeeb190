"""The slots of a skeleton and the arcs that may join them, as numbered in the mixed-integer program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import MOST_NODES, DiagramProblem


@dataclass(frozen=True, eq=False)
class Slots:
    """The nodes and arcs of the program. Inner nodes are 0 to ``n_inner - 1``, by layers; then comes a leaf per class.

    Parameters
    ----------
    widths : number of nodes in each layer
    n_classes : number of classes, and so of leaves
    fixed_tree : whether every node has two fixed children, the low one first, as in a full binary tree
    low, high : (n_arcs, 2) arcs as pairs (tail, head), for rows on the low (negative) and the high (positive) side
    """

    widths: tuple[int, ...]
    n_classes: int
    fixed_tree: bool
    low: IntArray
    high: IntArray

    @classmethod
    def of(cls, problem: DiagramProblem) -> Slots:
        """Make the arcs of each node: to the leaves, and to all nodes of the next layer.

        In a tree in which each layer is twice as wide as the one above, a node has arcs only to its two fixed children
        and to the leaves.
        """
        widths, n_classes = problem.widths, problem.rows.n_classes
        fixed = problem.tree and all(below == 2 * above for above, below in pairwise(widths))
        first = np.concatenate([[0], np.cumsum(widths)]).tolist()
        next_width = (*widths[1:], 0)
        terminals = range(first[-1], first[-1] + n_classes)
        arcs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for layer, width in enumerate(widths):
            for place in range(width):
                below = range(first[layer + 1], first[layer + 1] + next_width[layer])
                for side, chosen in enumerate(arcs):
                    own = below[2 * place + side : 2 * place + side + 1] if fixed else below
                    chosen.extend((first[layer] + place, head) for head in (*own, *terminals))
        return cls(widths, n_classes, fixed, np.array(arcs[0]), np.array(arcs[1]))

    @property
    def n_inner(self) -> int:
        """Number of inner nodes."""
        return sum(self.widths)

    @property
    def layer(self) -> IntArray:
        """Array (n_inner,): the layer of each inner node."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    def of_layer(self, layer: int) -> range:
        """The numbers of the inner nodes of a layer."""
        first = sum(self.widths[:layer])
        return range(first, first + self.widths[layer])

    def terminal(self, code: int) -> int:
        """The number of the leaf of a class."""
        return self.n_inner + code

    def leaving(self, node: int) -> tuple[IntArray, IntArray]:
        """The indices of the low arcs and of the high arcs that leave a node."""
        return np.flatnonzero(self.low[:, 0] == node), np.flatnonzero(self.high[:, 0] == node)

    def entering(self, node: int) -> tuple[IntArray, IntArray]:
        """The indices of the low arcs and of the high arcs that enter a node or a leaf."""
        return np.flatnonzero(self.low[:, 1] == node), np.flatnonzero(self.high[:, 1] == node)


def shrunk(problem: DiagramProblem, below: int) -> DiagramProblem:
    """``problem`` with only the part of its skeleton that diagrams of cost less than ``below`` can use.

    Such diagrams have at most ``k = cost.most_splits(below)`` nodes. A layer of ``w`` nodes needs ``ceil(w / 2)`` nodes
    in the layer above, and so on up to the root. Each width is reduced until these nodes together are at most ``k``. If
    each node needs rows of ``min_weight``, the total weight limits the nodes of a layer, too. Prices do not change.
    """
    most = max(1, min(problem.most_nodes, problem.cost.most_splits(below)))
    widths: list[int] = []
    side_by_side = problem.rows.total // problem.min_weight if problem.min_weight else MOST_NODES
    for layer, width in enumerate(problem.widths):
        fits = [w for w in range(1, min(width, max(1, side_by_side)) + 1) if _needed(w, layer) <= most]
        if not fits:
            break
        widths.append(fits[-1])
    return replace(problem, widths=tuple(widths), max_splits=min(problem.max_splits, most))


def _needed(width: int, layer: int) -> int:
    """The fewest nodes of a diagram with ``width`` nodes in ``layer``."""
    total = width
    for _ in range(layer):
        width = -(-width // 2)
        total += width
    return total
