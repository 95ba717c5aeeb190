"""The places of a skeleton and the arcs that may join them, as the mixed-integer program numbers them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import MOST_NODES, DiagramProblem


@dataclass(frozen=True, eq=False)
class Slots:
    """Inner nodes 0 to ``n_inner - 1`` by layers, then one terminal per class; arcs as pairs (tail, head).

    Parameters
    ----------
    widths : nodes per layer
    n_classes : terminals
    fixed_tree : every node has its own two children, the low one first, as in a full binary tree
    low, high : (n_arcs, 2) arcs for rows on the low (negative) and the high (positive) side
    """

    widths: tuple[int, ...]
    n_classes: int
    fixed_tree: bool
    low: IntArray
    high: IntArray

    @classmethod
    def of(cls, problem: DiagramProblem) -> Slots:
        """Arcs to the next layer and to the terminals; in a tree whose layers double, to the own children only."""
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
        """Inner nodes."""
        return sum(self.widths)

    @property
    def layer(self) -> IntArray:
        """(n_inner,) layer of each inner node."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    def of_layer(self, layer: int) -> range:
        """Inner nodes of a layer."""
        first = sum(self.widths[:layer])
        return range(first, first + self.widths[layer])

    def terminal(self, code: int) -> int:
        """Number of the terminal of a class."""
        return self.n_inner + code

    def leaving(self, node: int) -> tuple[IntArray, IntArray]:
        """Low arcs, and high arcs, that leave a node."""
        return np.flatnonzero(self.low[:, 0] == node), np.flatnonzero(self.high[:, 0] == node)

    def entering(self, node: int) -> tuple[IntArray, IntArray]:
        """Low arcs, and high arcs, that enter a node or terminal."""
        return np.flatnonzero(self.low[:, 1] == node), np.flatnonzero(self.high[:, 1] == node)


def shrunk(problem: DiagramProblem, below: int) -> DiagramProblem:
    """``problem`` with the part of its skeleton that diagrams of cost less than ``below`` can use.

    They have at most ``k = cost.most_splits(below)`` nodes. A layer of ``w`` nodes needs ``ceil(w / 2)`` above it, and
    so on up to the root; a width is cut to the largest whose nodes and those above it are at most ``k``. Prices stay.
    If ``min_weight`` must pass each node, no more nodes than share the total weight find room in a layer.
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
    """Fewest nodes of a diagram with ``width`` nodes in ``layer``."""
    total = width
    for _ in range(layer):
        width = -(-width // 2)
        total += width
    return total
