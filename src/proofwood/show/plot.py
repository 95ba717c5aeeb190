"""The picture of a model, drawn with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.model.node_table import LEAF, NodeTable
from proofwood.show.colouring import Colouring
from proofwood.show.compose import (
    BAR,
    FONT,
    GAP,
    LINE,
    MAX_NAME,
    NOTE,
    PAD,
    SIDE,
    SMALL,
    SPREAD,
    TICKS,
    TITLE,
    Picture,
    Point,
    compose,
)
from proofwood.show.labels import NO_LABELS, Labels
from proofwood.show.palette import Colour, Palette, tint
from proofwood.show.spread import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BOXES = 500
"""The most nodes of a picture. Each takes about 20 ms to draw; with more, text would be too small to read on a page."""
MOST_SIDE, MOST_PIXELS = 65_535, 200_000_000
"""The most pixels on a side of a picture (a limit of matplotlib), and in the whole picture, at four bytes each."""
INK, GREY, LINE_GREY = (0.1, 0.1, 0.1), (0.38, 0.38, 0.38), (0.8, 0.82, 0.84)
_LARGEST = 1.4  # largest scale of text in large axes
_SMALL = 5.0  # if text has fewer points, a line says so


def plot_tree(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    ax: Axes | None = None,
    *,
    max_name: int | None = MAX_NAME,
    legend: bool = True,
    dashed: bool | None = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
    note: str | None = None,
    palette: Palette | None = None,
    spreads: Mapping[int, Spread] | None = None,
) -> Axes:
    """Draw the model: boxes with the tested columns and a bar of class shares in each, and leaves with their classes.

    The text at an edge is the condition of the rows that take it. Rows for which the test holds go left. The width of
    an edge is the share of rows that take it. If missing values go high at some test, the edge by which they go says
    "or missing". Sets of many levels are counted. Shared nodes of diagrams are drawn once.

    Parameters
    ----------
    table : NodeTable
    labels : Labels
    ax : Axes or None
        Axes to draw on; text shrinks to fit. None makes a figure through pyplot.
    max_name : most characters of a column or class name; longer names are shortened with an ellipsis. None: no limit
    legend : whether to draw a legend below the picture; it has at most ten classes, those predicted for most rows
    dashed : whether the left edges (the 0-edges of a diagram) are dashed; by default only in diagrams
    figsize : width and height of a new figure in inches; text shrinks to fit. By default the size at which text has 9
        points. If text is smaller than 5 points, a line below the picture names the size at which it has 9
    title : line above the picture
    note : text below the picture, such as what is proved
    palette : as in :func:`proofwood.show.palette.class_colours`
    spreads : from :func:`proofwood.show.spread.spreads`: boxes then show how the rows at them are spread over the
        tested column, with the cut

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If names, colours or sizes do not fit the model, or the model has more than ``MOST_BOXES`` nodes.
    """
    need_matplotlib()
    require_few_boxes(table)
    labels.check(table)
    shown = Colouring.of(table, labels, palette)
    picture = compose(table, labels, max_name, legend, title=title, note=note, spreads=spreads)
    ax = axes_for(ax, figsize, picture.size, whole=True)
    _draw_edges(table, ax, picture, draw_nodes(table, ax, picture, shown), dashed)
    return ax


def checked_size(figsize: Any) -> tuple[float, float] | None:
    """``figsize`` as two positive numbers, or None. Raise ValueError if it is not a size in inches."""
    if figsize is None:
        return None
    try:
        width, height = (float(part) for part in figsize)
    except (TypeError, ValueError):
        width = height = 0.0
    if not (0 < width < 1000 and 0 < height < 1000):
        raise ValueError(f"figsize={figsize!r}: expected width and height in inches, such as (8, 5)")
    return width, height


def save_plot(
    table: NodeTable,
    path: str | os.PathLike[str],
    labels: Labels = NO_LABELS,
    *,
    dpi: float = 150,
    format: str | None = None,  # noqa: A002 - matplotlib's name
    max_name: int | None = MAX_NAME,
    legend: bool = True,
    dashed: bool | None = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
    note: str | None = None,
    palette: Palette | None = None,
) -> None:
    """Draw the model into a file. This needs no display and leaves no figure open. Text in SVG files stays text.

    Parameters
    ----------
    table : NodeTable
    path : file to write; without ``format``, its extension sets the format, such as ``.png``, ``.svg`` or ``.pdf``
    labels : Labels
    dpi : pixels per inch, for pixel formats
    format : format of the file
    max_name, legend, dashed, figsize, title, note, palette : as in :func:`plot_tree`

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        As in :func:`plot_tree`; or if the picture has a pixel format, and more than ``MOST_SIDE`` pixels on a side or
        more than ``MOST_PIXELS`` in all.
    """
    need_matplotlib()
    from matplotlib.figure import Figure

    require_few_boxes(table)
    labels.check(table)
    shown = Colouring.of(table, labels, palette)
    picture = compose(table, labels, max_name, legend, title=title, note=note)
    figure = Figure(figsize=checked_size(figsize) or picture.size)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _draw_edges(table, ax, picture, draw_nodes(table, ax, picture, shown), dashed)
    write_figure(figure, path, (format or os.fspath(path).rpartition(".")[2]).lower(), dpi)


def write_figure(figure: Figure, target: Any, kind: str, dpi: float, **more: Any) -> None:
    """Write a figure to a path or a buffer. Equal pictures give equal files, and text in SVG files stays text.

    Parameters
    ----------
    figure : figure to write
    target : path or buffer
    kind : format of the file
    dpi : pixels per inch, for pixel formats
    more : further arguments of matplotlib's ``savefig``
    """
    from matplotlib import rc_context

    if kind not in ("svg", "pdf", "ps", "eps"):
        require_few_pixels(figure, dpi)
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with rc_context({"svg.hashsalt": "proofwood", "svg.fonttype": "none"}):  # identifiers are not random
        figure.savefig(target, format=kind, dpi=dpi, metadata=undated, **more)


def most_dpi(figure: Figure) -> int:
    """The most pixels per inch for a figure, with room for one more inch of width and height."""
    width, height = (float(side) + 1.0 for side in figure.get_size_inches())
    return int(min(MOST_SIDE / max(width, height), (MOST_PIXELS / (width * height)) ** 0.5))


def require_few_pixels(figure: Figure, dpi: float) -> None:
    """Raise ValueError if a picture has too many pixels."""
    if dpi > most_dpi(figure):
        width, height = figure.get_size_inches()
        raise ValueError(
            f"the picture has {width:.0f} by {height:.0f} inches: at {dpi:g} pixels per inch it has more than "
            f"{MOST_SIDE:,} pixels on a side, or {MOST_PIXELS:,} in all. Write SVG or PDF, or pass "
            f"dpi={most_dpi(figure)} or less"
        )


def require_few_boxes(table: NodeTable) -> None:
    """Raise ValueError if a model has more than ``MOST_BOXES`` nodes."""
    if table.n_nodes > MOST_BOXES:
        raise ValueError(
            f"the model has {table.n_nodes:,} nodes and depth {table.depth:,}, but a picture has at most "
            f"{MOST_BOXES:,} boxes: use export_text() or export_graphviz() (show --format dot), or a smaller model"
        )


def need_matplotlib() -> None:
    """Raise ImportError with the install command if matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        raise ImportError('pictures need matplotlib: run pip install "proofwood[plot]"') from None


def axes_for(ax: Axes | None, figsize: Any, default: tuple[float, float], *, whole: bool = False) -> Axes:
    """Return ``ax``. If it is None, return the axes of a new pyplot figure of size ``figsize`` or ``default``.

    With ``whole``, the axes fill the figure. ``figsize`` is width and height in inches.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If ``ax`` is a path.
    ValueError
        If both ``ax`` and ``figsize`` are given, or ``figsize`` is not a size.
    """
    need_matplotlib()
    if isinstance(ax, (str, os.PathLike)):
        raise TypeError(f"ax={str(ax)!r}: expected axes of matplotlib. To save a picture: .figure.savefig({str(ax)!r})")
    if ax is not None:
        if figsize is not None:
            raise ValueError("figsize is only for a new figure: pass either figsize or ax")
        return ax
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=checked_size(figsize) or default, layout=None if whole else "constrained")
    return figure.add_axes((0.0, 0.0, 1.0, 1.0)) if whole else figure.subplots()


# -------------------------------------------------------------------- draw


@dataclass(frozen=True)
class Pen:
    """The scale at which the nodes were drawn; the edges are drawn with the same.

    Parameters
    ----------
    scale : scale of text and lines, relative to the default
    write : function that writes a text at (x, y)
    """

    scale: float
    write: Callable[..., None]

    def side(self, picture: Picture, node: int, side: int, x: float) -> None:
        """Write the text at an edge, with its middle at ``x``."""
        _, y = picture.port(node, side)
        for k, text in enumerate(picture.boxes[node].sides[side]):
            style = {"facecolor": "white", "edgecolor": "none", "pad": 0.6 * self.scale}
            place = y + 0.04 + (k + 0.5) * SIDE * LINE
            self.write(x, place, text, fontsize=SIDE * FONT * self.scale, zorder=1.5, bbox=style)


def draw_nodes(table: NodeTable, ax: Axes, picture: Picture, shown: Colouring) -> Pen:
    """Draw the boxes, the title, the legend and the note; return a :class:`Pen` for the edges."""
    width, height = picture.size
    ax.set_xlim(-GAP, width - GAP)
    ax.set_axis_off()
    scale = _scale(ax, picture)
    size = FONT * scale
    bottom = height - picture.head - GAP
    if size < _SMALL:
        bottom = _say_small(ax, picture, size, bottom)
    ax.set_ylim(bottom, -GAP - picture.head)

    def write(x: float, y: float, text: str, **style: Any) -> None:
        style = {"ha": "center", "va": "center", "fontsize": size, "color": INK, "parse_math": False, **style}
        ax.text(x, y, text, **style)

    colours, shares = shown.colours, shown.shares
    for node in range(table.n_nodes):
        own = colours[int(shown.code[node])] if table.feature[node] == LEAF else None
        _draw_box(ax, picture, node, own, scale, write)
        left, top = picture.corner(node)
        x, y = left + PAD, top + float(picture.heights[node]) - PAD - BAR
        for code in np.flatnonzero(shares[node] > 0).tolist():
            part = float(shares[node, code]) * (float(picture.widths[node]) - 2 * PAD)
            _rectangle(ax, x, y, part, BAR, colours[code])
            x += part
        if node in picture.spreads:
            _draw_spread(ax, picture, node, colours, size, write)
    for k, row in enumerate(picture.legend):
        y = picture.legend_top + (k + 0.6) * 1.2 * LINE
        for code, text, x in row:
            if code >= 0:
                _rectangle(ax, x, y - 0.06, 0.12, 0.12, colours[code])
            write(x + (0.17 if code >= 0 else 0.0), y, text, ha="left", color=INK if code >= 0 else GREY)
    for k, text in enumerate(picture.title):
        y = (k + 0.5) * TITLE * LINE - picture.head
        write((width - 2 * GAP) / 2, y, text, fontsize=TITLE * size, fontweight="bold")
    for k, text in enumerate(picture.note):
        write(0.0, picture.note_top + (k + 0.5) * NOTE * LINE, text, ha="left", fontsize=NOTE * size, color=GREY)
    return Pen(scale, write)


def _draw_box(
    ax: Axes, picture: Picture, node: int, own: Colour | None, scale: float, write: Callable[..., None]
) -> None:
    """Draw the frame and the texts of a node; ``own`` is the colour of a leaf."""
    from matplotlib.patches import FancyBboxPatch

    (left, top), wide, tall = picture.corner(node), float(picture.widths[node]), float(picture.heights[node])
    frame = FancyBboxPatch(
        (left, top),
        wide,
        tall,
        boxstyle="round,pad=0,rounding_size=0.05",
        facecolor="white" if own is None else tint(own, 0.1),
        edgecolor=LINE_GREY if own is None else own,
        linewidth=1.0 * scale,
        zorder=2,
    )
    ax.add_patch(frame)
    box = picture.boxes[node]
    y = top + PAD + LINE / 2
    if box.beside:
        write(left + wide - PAD, y, box.beside, ha="right", color=GREY, zorder=3)
    for k, line in enumerate([*box.head, *box.lines]):
        style: dict[str, Any] = {"fontweight": "bold"} if k < len(box.head) else {"color": GREY}
        write(left + PAD, y + k * LINE, line, ha="left", zorder=3, **style)


def _draw_spread(
    ax: Axes, picture: Picture, node: int, colours: Sequence[Colour], size: float, write: Callable[..., None]
) -> None:
    spread, (left, top) = picture.spreads[node], picture.corner(node)
    left, wide = left + PAD, float(picture.widths[node]) - 2 * PAD
    ground = top + PAD + picture.boxes[node].n_lines * LINE + SPREAD
    for bar in spread.parts():
        x, share, low, high, code = bar
        _rectangle(ax, left + x * wide, ground - high * SPREAD, share * wide, (high - low) * SPREAD, colours[code])
    ax.plot([left, left + wide], [ground] * 2, color=LINE_GREY, linewidth=0.8 * size / FONT, zorder=3)
    cut = left + spread.cut * wide
    ax.plot([cut] * 2, [ground - SPREAD, ground + 0.03], color=INK, linewidth=1.2 * size / FONT, zorder=4)
    for label in spread.labels:
        style = {"ha": {"start": "left", "end": "right"}.get(label.anchor, "center"), "fontsize": SMALL * size}
        colour = INK if label.strong else GREY
        write(left + label.x * wide, ground + 0.02 + TICKS / 2, label.text, color=colour, zorder=4, **style)


def _rectangle(ax: Axes, x: float, y: float, width: float, height: float, colour: Colour) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x, y), width, height, facecolor=colour, linewidth=0, zorder=3))


def _say_small(ax: Axes, picture: Picture, size: float, bottom: float) -> float:
    """Write a line below the picture that says how small its text is; return the new lower end of the y axis."""
    width, height = picture.size
    ax.text(
        0.5,
        0.0,
        f"scaled down: text has {size:.1f} points, and {FONT:g} in a figure of {width:.0f} × {height:.0f} inches",
        transform=ax.transAxes,
        ha="center",
        va="bottom",
        fontsize=7,
        color=GREY,
        zorder=5,
    )
    room = 10 / 72 * ax.figure.dpi / ax.get_window_extent().height  # share of the axes that the line takes
    return bottom + min(room, 0.5) / (1 - min(room, 0.5)) * height


def _draw_edges(table: NodeTable, ax: Axes, picture: Picture, pen: Pen, dashed: bool | None) -> None:
    """Draw the edges with their conditions; ``dashed`` as in :func:`plot_tree`."""
    dashed = not table.is_tree if dashed is None else dashed
    for node, side in picture.layout.edges:
        corners, share = picture.way(table, node, side)
        style = "dashed" if dashed and side == 0 else "solid"
        draw_curve(ax, corners, linewidth=(0.8 + 6.0 * share) * pen.scale, edgecolor=LINE_GREY, linestyle=style)
        pen.side(picture, node, side, corners[0][0])


def draw_curve(ax: Axes, corners: Sequence[Point], **style: Any) -> None:
    """Draw a line through ``corners`` that is curved where x changes, and begins and ends straight down there."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    vertices, codes = [corners[0]], [Path.MOVETO]
    for (x, y), (then, below) in pairwise(corners):
        middle = (y + below) / 2
        vertices += [(then, below)] if x == then else [(x, middle), (then, middle), (then, below)]
        codes += [Path.LINETO] if x == then else [Path.CURVE4] * 3
    more = {"facecolor": "none", "capstyle": "butt", "joinstyle": "round", "zorder": 1, **style}
    ax.add_patch(PathPatch(Path(vertices, codes), **more))


def _scale(ax: Axes, picture: Picture) -> float:
    """The scale at which the picture fits the axes, at most ``_LARGEST``; text with this scale fits its boxes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return float(min(_LARGEST, box.width / dpi / picture.size[0], box.height / dpi / picture.size[1]))
