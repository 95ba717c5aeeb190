"""The picture of a diagram in layers, with classes at the bottom and edges whose width shows their training weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.show.colouring import Colouring
from proofwood.show.compose import MAX_NAME, Picture, Point, compose
from proofwood.show.labels import NO_LABELS, Labels
from proofwood.show.palette import Colour, Palette, tint
from proofwood.show.plot import Pen, axes_for, draw_curve, draw_nodes, need_matplotlib, require_few_boxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 0.42  # inches: width of an edge with all of the weight
_THINNEST = 0.012  # inches: least width of an edge
_SLOT = 0.07  # inches between edges that end at one box
_LAYER = 0.6  # inches from the texts below a layer of boxes to the next layer

Edge = tuple[int, int]


def plot_layers(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    ax: Axes | None = None,
    *,
    flow: FloatArray | None = None,
    max_name: int | None = MAX_NAME,
    legend: bool = True,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
    note: str | None = None,
    palette: Palette | None = None,
) -> Axes:
    """Draw a diagram: splits in layers, one box per class at the bottom, and long edges that pass beside the boxes.

    Edges that end at a class have its colour.

    Parameters
    ----------
    table : NodeTable
    labels : Labels
    ax : Axes or None
        Axes to draw on; text shrinks to fit. None makes a figure in which text has 9 points, through pyplot.
    flow : (n_nodes, 2) weight on the low and the high edge of each node, from
        :func:`proofwood.model.evaluate.edge_weights`; None draws all edges thin
    max_name : most characters of a column or class name; longer names are shortened with an ellipsis. None: no limit
    legend, figsize, title, note, palette : as in :func:`proofwood.show.plot.plot_tree`

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the shape of ``flow`` does not fit ``table``, or ``table`` has more than ``MOST_BOXES`` nodes.
    """
    need_matplotlib()
    require_few_boxes(table)
    labels.check(table)
    wide = _widths(table, flow)
    shown = Colouring.of(table, labels, palette)
    picture = compose(
        table,
        labels,
        max_name,
        legend,
        title=title,
        note=note,
        layer=_LAYER,
        least=_least_boxes(table, wide),
        lanes=wide,
    )
    ax = axes_for(ax, figsize, picture.size, whole=True)
    pen = draw_nodes(table, ax, picture, shown)
    _draw_edges(table, ax, picture, pen, wide, shown.colours)
    return ax


def _widths(table: NodeTable, flow: FloatArray | None) -> dict[Edge, float]:
    """The width of each edge in inches."""
    if flow is not None and flow.shape != (table.n_nodes, 2):
        raise ValueError(f"flow has shape {flow.shape}: expected ({table.n_nodes}, 2), two weights per node")
    edges = [(node, side) for node in table.splits() for side in (0, 1)]
    if flow is None:
        return dict.fromkeys(edges, 2 * _THINNEST)
    total = float(flow[0].sum()) or 1.0
    return {edge: max(_THINNEST, _WIDEST * float(flow[edge]) / total) for edge in edges}


def _target(table: NodeTable, edge: Edge) -> int:
    return int((table.low, table.high)[edge[1]][edge[0]])


def _least_boxes(table: NodeTable, wide: dict[Edge, float]) -> dict[int, float]:
    """The least width of each box, so that all edges that start or end at it fit side by side."""
    least: dict[int, float] = {}
    for edge, inches in wide.items():
        target = _target(table, edge)
        least[target] = least.get(target, 0.1) + max(inches, _SLOT)
    for node in table.splits():
        least[node] = max(least.get(node, 0.0), wide[node, 0] + wide[node, 1] + 0.25)
    return least


def _draw_edges(
    table: NodeTable, ax: Axes, picture: Picture, pen: Pen, wide: dict[Edge, float], colours: Sequence[Colour]
) -> None:
    starts, ends = _ports(table, picture, wide)
    for edge in sorted(wide, key=lambda edge: -wide[edge]):  # wide edges are drawn first
        places = [point for point, _ in picture.layout.edges[edge]]
        depths = [depth for _, depth in picture.layout.edges[edge]]
        places[0], places[-1] = starts[edge], ends[edge]
        target = _target(table, edge)
        colour = (0.78, 0.78, 0.78)
        if table.feature[target] == LEAF:
            colour = tint(colours[int(table.label[target])], 0.55)
        corners: list[Point] = [(places[0] + picture.shift, picture.port(*edge)[1])]
        for x, depth in zip(places[1:], depths[1:], strict=True):  # straight down past the boxes of a layer
            ends_at = [picture.top(depth), picture.top(depth) + picture.height]
            corners += [(x + picture.shift, y) for y in (ends_at if depth != depths[-1] else ends_at[:1])]
        draw_curve(ax, corners, linewidth=72 * wide[edge] * pen.scale, edgecolor=colour)
        pen.side(picture, *edge, picture.port(*edge)[0])


def _ports(table: NodeTable, picture: Picture, wide: dict[Edge, float]) -> tuple[dict[Edge, float], dict[Edge, float]]:
    """The x positions at which edges leave and reach their boxes, so that they do not cross or overlap there."""
    layout = picture.layout
    starts: dict[Edge, float] = {}
    for node in table.splits():
        left, right = 0, 1  # the low edge is on the left, as in all pictures
        box, centre = float(picture.widths[node]), float(layout.x[node])
        slack = box - wide[node, left] - wide[node, right]
        starts[node, left] = centre - box / 2 + slack / 4 + wide[node, left] / 2
        starts[node, right] = centre + box / 2 - slack / 4 - wide[node, right] / 2
    ends: dict[Edge, float] = {}
    for target in range(1, table.n_nodes):
        coming = [edge for edge in wide if _target(table, edge) == target]
        before = {edge: starts[edge] if len(layout.edges[edge]) == 2 else layout.edges[edge][-2][0] for edge in coming}
        coming.sort(key=lambda edge: (before[edge], edge))
        slots = [max(wide[edge], _SLOT) for edge in coming]
        room = float(picture.widths[target]) - 0.1
        x = float(layout.x[target]) - min(sum(slots), room) / 2
        squeeze = min(1.0, room / sum(slots))
        for edge, slot in zip(coming, slots, strict=True):
            ends[edge] = x + squeeze * slot / 2
            x += squeeze * slot
    return starts, ends
