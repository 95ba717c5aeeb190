"""The layout of pictures: the positions of the nodes of trees and of diagrams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable

MOST_PLACES = 20_000
"""The most boxes of a picture; each layer that an edge of a diagram passes counts as one more."""
LANE = 0.25
"""Width reserved for an edge of a diagram in each layer that it passes, in the unit of the widths."""


@dataclass(frozen=True)
class Layout:
    """Positions of nodes; depth 0 is the top.

    Parameters
    ----------
    x : (n_nodes,) centre of each node, from the left edge, in the unit of the widths
    depth : (n_nodes,) layer of each node
    width : width of the whole picture
    edges : points (x, depth) of each edge, from end to end; keys are (node, 0) for the low edge of a node and
        (node, 1) for its high edge
    """

    x: FloatArray
    depth: FloatArray
    width: float
    edges: dict[tuple[int, int], list[tuple[float, float]]]


def arrange(
    table: NodeTable, widths: FloatArray, gap: float, lanes: Mapping[tuple[int, int], float] | None = None
) -> Layout:
    """Find positions for the nodes such that no two boxes overlap.

    Parameters
    ----------
    table : NodeTable
    widths : (n_nodes,) width of the box of each node
    gap : least distance between boxes of one layer
    lanes : width of each edge that needs more than ``LANE`` in the layers of a diagram that it passes; keys as in
        ``Layout.edges``

    Raises
    ------
    ValueError
        If the picture needs more than ``MOST_PLACES`` places, see :func:`places`.
    """
    if places(table) > MOST_PLACES:
        raise ValueError(
            f"the model has {table.n_nodes:,} nodes and depth {table.depth:,}: its picture needs {places(table):,} "
            f"places for boxes and edges, but at most {MOST_PLACES:,} are permitted. Use export_text() or "
            "export_graphviz()"
        )
    return _tree(table, widths, gap) if table.is_tree else _diagram(table, widths, gap, lanes or {})


def places(table: NodeTable) -> int:
    """The places that a picture of a model needs: one per box, and one per layer that an edge of a diagram passes."""
    if table.is_tree:
        return table.n_nodes
    layer, inner = _layers(table), table.feature != LEAF
    passed = [layer[child[inner]] - layer[inner] - 1 for child in (table.low, table.high)]
    return table.n_nodes + int(np.sum(passed))


def _layers(table: NodeTable) -> IntArray:
    """(n_nodes,) layer of each node of a diagram: its largest distance from the root, or the last layer for a leaf."""
    return np.where(table.feature == LEAF, table.depth, table.node_depths)


def _tree(table: NodeTable, widths: FloatArray, gap: float) -> Layout:
    """The layout of a tree: parents centred above children, subtrees close together (Reingold and Tilford 1981)."""
    shift = np.zeros(table.n_nodes)  # offset of a node from its parent
    outline: dict[int, tuple[list[float], list[float]]] = {}  # left and right edge per layer, relative to the node
    for node in range(table.n_nodes - 1, -1, -1):
        half = float(widths[node]) / 2
        if table.feature[node] == LEAF:
            outline[node] = [-half], [half]
            continue
        low, high = int(table.low[node]), int(table.high[node])
        (left_low, right_low), (left_high, right_high) = outline.pop(low), outline.pop(high)
        apart = gap + max(r - f for r, f in zip(right_low, left_high, strict=False))
        shift[low], shift[high] = -apart / 2, apart / 2
        left = [value - apart / 2 for value in left_low] + [v + apart / 2 for v in left_high[len(left_low) :]]
        right = [value + apart / 2 for value in right_high] + [v - apart / 2 for v in right_low[len(right_high) :]]
        outline[node] = [-half, *left], [half, *right]
    x = np.zeros(table.n_nodes)
    for node in table.splits():
        for child in (table.low[node], table.high[node]):
            x[child] = x[node] + shift[child]
    left_edge, right_edge = min(outline[0][0]), max(outline[0][1])
    x -= left_edge
    depth = table.node_depths.astype(np.float64)
    edges = {
        (node, side): [(float(x[node]), float(depth[node])), (float(x[child]), float(depth[child]))]
        for node in table.splits()
        for side, child in enumerate((int(table.low[node]), int(table.high[node])))
    }
    return Layout(x=x, depth=depth, width=right_edge - left_edge, edges=edges)


def _diagram(table: NodeTable, widths: FloatArray, gap: float, lanes: Mapping[tuple[int, int], float]) -> Layout:
    """The layout of a diagram in layers, ordered by barycentres, with lanes for long edges (Sugiyama et al. 1981)."""
    size = [float(width) for width in widths]
    layer = _layers(table).tolist()
    up: list[list[int]] = [[] for _ in range(table.n_nodes)]
    down: list[list[int]] = [[] for _ in range(table.n_nodes)]
    chains: dict[tuple[int, int], list[int]] = {}
    for node in table.splits():
        for side, child in enumerate((int(table.low[node]), int(table.high[node]))):
            chain = [node]
            for between in range(layer[node] + 1, layer[child]):
                chain.append(len(size))
                size.append(max(LANE, lanes.get((node, side), 0.0)))
                layer.append(between)
                up.append([])
                down.append([])
            chain.append(child)
            for one, other in pairwise(chain):
                down[one].append(other)
                up[other].append(one)
            chains[node, side] = chain
    layers: list[list[int]] = [[] for _ in range(table.depth + 1)]
    for i, depth in enumerate(layer):
        layers[depth].append(i)
    x = [0.0] * len(size)
    for items in layers:
        _spread(items, x, size, gap)
    port = _ports(chains, size)
    for sweep in range(24):
        towards, sign, order = (up, 1, layers[1:]) if sweep % 2 == 0 else (down, -1, layers[-2::-1])
        for items in order:
            wish = {
                i: sum(x[j] + sign * port.get((j, i) if sign > 0 else (i, j), 0.0) for j in towards[i])
                / len(towards[i])
                if towards[i]
                else x[i]
                for i in items
            }
            items.sort(key=lambda i: (wish[i], x[i]))
            _spread(items, x, size, gap, wish)
    left = min(x[i] - size[i] / 2 for i in range(len(size)))
    right = max(x[i] + size[i] / 2 for i in range(len(size)))
    x = [value - left for value in x]
    edges = {key: [(x[i], float(layer[i])) for i in chain] for key, chain in chains.items()}
    n = table.n_nodes
    return Layout(x=np.array(x[:n]), depth=np.array(layer[:n], dtype=np.float64), width=right - left, edges=edges)


def _ports(chains: Mapping[tuple[int, int], list[int]], size: list[float]) -> dict[tuple[int, int], float]:
    """The horizontal offset from the centre of a box at which each edge leaves it: yes on the left, no on the right."""
    found: dict[tuple[int, int], float] = {}
    for (node, side), chain in chains.items():
        step = (node, chain[1])
        found[step] = found.get(step, 0.0) + (-1, 1)[side] * size[node] / 4  # 0 if both answers lead to the same place
    return found


def _spread(
    items: list[int], x: list[float], size: list[float], gap: float, wish: dict[int, float] | None = None
) -> None:
    """Set ``x`` of the items of a layer, in their order and without overlap, near to ``wish`` (least squares)."""
    offset, place = [], 0.0
    for k, item in enumerate(items):
        place += 0.0 if k == 0 else (size[items[k - 1]] + size[item]) / 2 + gap
        offset.append(place)
    if wish is None:
        for item, at in zip(items, offset, strict=True):
            x[item] = at - place / 2
        return
    blocks: list[tuple[float, int]] = []  # mean of wish - offset, and number, of items that touch
    for item, at in zip(items, offset, strict=True):
        mean, count = wish[item] - at, 1
        while blocks and blocks[-1][0] >= mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    starts = [mean for mean, count in blocks for _ in range(count)]
    for item, at, start in zip(items, offset, starts, strict=True):
        x[item] = at + start
