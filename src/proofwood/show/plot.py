"""The picture of a model, drawn with matplotlib."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.printable import printable
from proofwood.show.labels import (
    NO_LABELS,
    Labels,
    question,
    rows_texts,
    tells_missing,
)
from proofwood.show.layout import Layout, arrange
from proofwood.show.palette import Colour, Palette, class_colours, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BOXES = 500
"""The most nodes of a picture. Each takes about 20 ms to draw; with more, text would be too small to read on a page."""
MOST_SIDE, MOST_PIXELS = 65_535, 200_000_000
"""The most pixels on a side of a picture (a limit of matplotlib), and in the whole picture, at four bytes each."""
FONT = 9.0  # points, in a picture of the default size
LINE = 1.35 * FONT / 72  # inches from one line of text to the next
PAD = 0.07  # inches around the text of a box
BAR = 0.08  # inches: height of the bar of class shares
GAP = 0.1  # inches between boxes side by side
_LAYER = 0.48  # inches between layers of boxes of a tree
MAX_NAME = 22  # characters of a name before it is shortened
TERMS = 6  # most terms of a weighted sum in a box
STUB = 0.2  # inches that an edge of a diagram goes straight down, past its answer, before it turns
INK, GREY = (0.1, 0.1, 0.1), (0.45, 0.45, 0.45)
TITLE = 1.25  # size of the title relative to other text
NOTE = 0.9  # size of the note relative to other text
_LEGEND = 10  # most classes that a legend names
_LARGEST = 1.4  # largest scale of text in large axes
_SMALL = 5.0  # if text has fewer points, a line says so

Measure = Callable[[str, bool], float]
"""Function that returns the width of a text in inches at the default size, bold or not."""


@dataclass(frozen=True)
class Picture:
    """All parts of a picture, with positions in inches at the default size; y points down."""

    texts: list[list[str]]
    widths: FloatArray
    height: float  # of every box
    layer: float  # from the bottom of a box to the top of the next layer
    layout: Layout
    legend: list[list[tuple[int, str, float]]]  # rows of (class code or -1, text, x)
    title: list[str]  # lines above
    note: list[str]  # lines below
    size: tuple[float, float]

    @property
    def head(self) -> float:
        """The height above the boxes, for the title."""
        return len(self.title) * TITLE * LINE + (0.1 if self.title else 0.0)

    @property
    def end(self) -> float:
        """The y position of the lower edge of the lowest boxes."""
        return self.top(float(self.layout.depth.max())) + self.height

    @property
    def legend_top(self) -> float:
        """The y position of the upper edge of the legend."""
        return self.end + 0.12

    @property
    def note_top(self) -> float:
        """The y position of the upper edge of the note."""
        return self.end + (0.12 + len(self.legend) * 1.2 * LINE if self.legend else 0.0) + 0.08

    def top(self, depth: float) -> float:
        """The y position of the upper edge of the boxes of a layer."""
        return depth * (self.height + self.layer)

    def way(self, table: NodeTable, node: int, side: int, shift: float) -> tuple[list[tuple[float, float]], float]:
        """The corners of an edge, and its width: the share of the training rows that take it.

        In a diagram, the two edges of a node leave its box at different points, so that their labels do not overlap.
        They have a constant width, because the number of rows on an edge is not known.
        """
        points, port = self.layout.edges[node, side], 0.0
        share = int(table.rows[(table.low, table.high)[side][node]]) / max(int(table.rows[0]), 1)
        if not table.is_tree:
            port, share = (-1, 1)[side] * float(self.widths[node]) / 4, 0.1
        corners: list[tuple[float, float]] = []
        for k, (x, depth) in enumerate(points):
            top = self.top(depth)
            ends = [top, top + self.height]
            if k == 0:
                ends = ends[1:] if table.is_tree else [ends[1], ends[1] + STUB]
            elif k == len(points) - 1:
                ends = ends[:1]
            corners += [(x + shift + (port if k == 0 else 0.0), y) for y in ends]
        return corners, share


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
) -> Axes:
    """Draw the model: boxes with tests and training rows, a bar of class shares in each, and leaves in class colours.

    Edges are labelled yes (the test holds) and no; the yes edge leaves its box on the left. The width of an edge is the
    share of rows that take it. The test of a boolean column shows its name instead of a threshold. If missing values go
    high at some test, each test at which they go low says "or missing". Shared nodes of diagrams are drawn once.

    Parameters
    ----------
    table : NodeTable
    labels : Labels
    ax : Axes or None
        Axes to draw on; text shrinks to fit. None makes a figure through pyplot.
    max_name : most characters of a column or class name; longer names are shortened with an ellipsis. None: no limit
    legend : whether to draw a legend below the picture; it has at most ten classes, those predicted for most rows
    dashed : whether the yes edges (the 0-edges of a diagram) are dashed; by default only in diagrams
    figsize : width and height of a new figure in inches; text shrinks to fit. By default the size at which text has 9
        points. If text is smaller than 5 points, a line below the picture names the size at which it has 9
    title : line above the picture
    note : text below the picture, such as what is proved
    palette : as in :func:`proofwood.show.palette.class_colours`

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
    colours = class_colours(table.n_classes, palette, labels.classes)
    picture = compose(table, labels, max_name, legend, title=title, note=note)
    ax = axes_for(ax, figsize, picture.size, whole=True)
    _draw_edges(table, ax, picture, draw_nodes(table, ax, picture, colours), dashed)
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
    colours = class_colours(table.n_classes, palette, labels.classes)
    picture = compose(table, labels, max_name, legend, title=title, note=note)
    figure = Figure(figsize=checked_size(figsize) or picture.size)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _draw_edges(table, ax, picture, draw_nodes(table, ax, picture, colours), dashed)
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

    With ``whole``, the axes fill the figure.

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


# ----------------------------------------------------------------- compose


def compose(
    table: NodeTable,
    labels: Labels,
    max_name: int | None,
    legend: bool,
    *,
    title: str | None = None,
    note: str | None = None,
    measure: Measure | None = None,
    layer: float | None = None,
    least: Mapping[int, float] | None = None,
    lanes: Mapping[tuple[int, int], float] | None = None,
) -> Picture:
    """Compute all parts of a picture of a model, with their positions.

    Parameters
    ----------
    table, labels, max_name, legend, title, note : as in :func:`plot_tree`
    measure : function that returns the width of a text; by default the width in matplotlib
    layer : inches between layers of boxes
    least : least width in inches for the boxes of some nodes
    lanes : as in :func:`proofwood.show.layout.arrange`
    """
    measure = measure or _text_width
    tell = tells_missing(table)
    texts, widths = [], np.zeros(table.n_nodes)
    for node in range(table.n_nodes):
        leaf = table.feature[node] == LEAF
        if leaf:
            head = [labels.class_name(int(table.label[node]), max_name)]
        else:
            head = _wrapped(question(table, node, labels, width=max_name, at_most="≤", missing=tell, terms=TERMS))
        lines = [*head, *rows_texts(table, node)]
        widths[node] = max(measure(line, leaf and k == 0) for k, line in enumerate(lines)) + 2 * PAD
        texts.append(lines)
    widths = np.maximum(widths, 0.5)
    for node, width in (least or {}).items():
        widths[node] = max(widths[node], width)
    n_lines = max(len(lines) for lines in texts)
    height = n_lines * LINE + BAR + 2 * PAD
    if layer is None:
        layer = _LAYER if table.is_tree else _LAYER + STUB
    layout = arrange(table, widths, GAP, lanes)
    width = max(layout.width, 2.0)
    if title or note:
        width = max(width, 4.5)
    rows = _legend_rows(table, labels, width, max_name, measure) if legend else []
    above = _lines(title, width / TITLE, measure)
    below = _lines(note, width / NOTE, measure)
    picture = Picture(texts, widths, height, layer, layout, rows, above, below, (width + 2 * GAP, 0.0))
    bottom = picture.note_top + len(below) * NOTE * LINE if below else picture.note_top - 0.08
    return replace(picture, size=(width + 2 * GAP, picture.head + bottom + 2 * GAP))


def _lines(text: str | None, width: float, measure: Measure) -> list[str]:
    """``text`` broken at spaces into lines of at most ``width`` inches at the default size."""
    lines: list[str] = []
    for paragraph in (text or "").splitlines():
        fresh = True
        for word in printable(paragraph).split():
            if not fresh and measure(f"{lines[-1]} {word}", False) <= width:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
            fresh = False
    return lines


def _wrapped(asks: str) -> list[str]:
    """The text of a test on two lines, of which the second starts with the comparison; long texts have more lines."""
    for mark in (" ≤ ", " in {"):
        before, found, after = asks.rpartition(mark) if mark == " ≤ " else asks.partition(mark)
        if found:
            head, tail = before, mark.lstrip() + after
            return [*_filled(head), *_filled(tail)]
    return _filled(asks)


def _filled(text: str, width: int = 24) -> list[str]:
    """``text`` broken at spaces, but not after the sign of a summand, into lines of about ``width`` characters."""
    lines: list[str] = []
    for word in re.split(r"(?<! [+-]) ", text):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def _legend_rows(
    table: NodeTable, labels: Labels, width: float, max_name: int | None, measure: Measure
) -> list[list[tuple[int, str, float]]]:
    rows: list[list[tuple[int, str, float]]] = [[]]
    x = 0.0
    named = legend_classes(table)
    entries = [(code, labels.class_name(code, max_name)) for code in named]
    if len(named) < table.n_classes:
        entries.append((-1, f"and {table.n_classes - len(named)} more classes"))
    for code, text in entries:
        step = measure(text, False) + 0.4
        if rows[-1] and x + step > width:
            rows.append([])
            x = 0.0
        rows[-1].append((code, text, x))
        x += step
    return rows


def legend_classes(table: NodeTable) -> list[int]:
    """The classes in a legend: all if there are at most ten, else the ten that are predicted for most training rows."""
    if table.n_classes <= _LEGEND:
        return list(range(table.n_classes))
    rows = np.zeros(table.n_classes)
    leaves = table.feature == LEAF
    np.add.at(rows, table.label[leaves], table.rows[leaves] + 1.0)
    first = np.lexsort((np.arange(rows.size), -table.weight[0], -rows))[:_LEGEND]
    return sorted(first.tolist())


def _text_width(text: str, bold: bool = False) -> float:
    """The width of ``text`` in inches at the default size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(text or " ", font, ismath=False)[0]) / 72


# -------------------------------------------------------------------- draw


@dataclass(frozen=True)
class Pen:
    """The position and scale at which the nodes were drawn; the edges are drawn with the same.

    Parameters
    ----------
    shift : inches by which the layout is moved to the right
    scale : scale of text and lines, relative to the default
    write : function that writes a text at (x, y)
    """

    shift: float
    scale: float
    write: Callable[..., None]


def draw_nodes(table: NodeTable, ax: Axes, picture: Picture, colours: Sequence[Colour]) -> Pen:
    """Draw the boxes, the title, the legend and the note; return a :class:`Pen` for the edges."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    width, height = picture.size
    ax.set_xlim(-GAP, width - GAP)
    ax.set_axis_off()
    scale = _scale(ax, picture)
    size = FONT * scale
    bottom = height - picture.head - GAP
    if size < _SMALL:
        bottom = _say_small(ax, picture, size, bottom)
    ax.set_ylim(bottom, -GAP - picture.head)
    shares = node_probabilities(table)
    shift = (width - 2 * GAP - picture.layout.width) / 2  # centre a narrow picture

    def write(x: float, y: float, text: str, **style: Any) -> None:
        style = {"ha": "center", "va": "center", "fontsize": size, "color": INK, "parse_math": False, **style}
        ax.text(x, y, text, **style)

    for node in range(table.n_nodes):
        leaf = table.feature[node] == LEAF
        label = int(table.label[node])
        wide = float(picture.widths[node])
        left, top = float(picture.layout.x[node]) + shift - wide / 2, picture.top(float(picture.layout.depth[node]))
        fill = tint(colours[label], 0.12 + 0.38 * float(shares[node, label])) if leaf else (1.0, 1.0, 1.0)
        edge: Colour = colours[label] if leaf else GREY
        box = FancyBboxPatch(
            (left, top),
            wide,
            picture.height,
            boxstyle="round,pad=0,rounding_size=0.05",
            facecolor=fill,
            edgecolor=edge,
            linewidth=1.0 * scale,
            zorder=2,
        )
        ax.add_patch(box)
        lines = picture.texts[node]
        room = picture.height - BAR - PAD
        for k, line in enumerate(lines):
            y = top + room / 2 + (k - (len(lines) - 1) / 2) * LINE
            count = not leaf and k >= len(lines) - len(rows_texts(table, node))
            style: dict[str, Any] = {"fontweight": "bold"} if leaf and k == 0 else {"color": GREY} if count else {}
            write(left + wide / 2, y, line, zorder=3, **style)
        x = left + PAD
        for code in np.flatnonzero(shares[node] > 0).tolist():
            part = float(shares[node, code]) * (wide - 2 * PAD)
            y = top + picture.height - PAD - BAR / 2
            ax.add_patch(Rectangle((x, y - BAR / 2), part, BAR, facecolor=colours[code], linewidth=0, zorder=3))
            x += part
    for k, row in enumerate(picture.legend):
        y = picture.legend_top + (k + 0.6) * 1.2 * LINE
        for code, text, x in row:
            if code >= 0:
                ax.add_patch(Rectangle((x, y - 0.06), 0.12, 0.12, facecolor=colours[code], linewidth=0))
            write(x + (0.17 if code >= 0 else 0.0), y, text, ha="left", color=INK if code >= 0 else GREY)
    for k, text in enumerate(picture.title):
        y = (k + 0.5) * TITLE * LINE - picture.head
        write((width - 2 * GAP) / 2, y, text, fontsize=TITLE * size, fontweight="bold")
    for k, text in enumerate(picture.note):
        write(0.0, picture.note_top + (k + 0.5) * NOTE * LINE, text, ha="left", fontsize=NOTE * size, color=GREY)
    return Pen(shift, scale, write)


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
    """Draw the edges with their labels (yes, no); ``dashed`` as in :func:`plot_tree`."""
    scale, write = pen.scale, pen.write
    dashed = not table.is_tree if dashed is None else dashed
    for node, side in picture.layout.edges:
        corners, share = picture.way(table, node, side, pen.shift)
        xs, ys = zip(*corners, strict=True)
        width = (0.8 + 4.0 * share) * scale
        style = "dashed" if dashed and side == 0 else "solid"
        ax.plot(xs, ys, color=(0.72, 0.72, 0.72), linewidth=width, linestyle=style, zorder=1, solid_capstyle="round")
        write(
            (xs[0] + xs[1]) / 2,
            (ys[0] + ys[1]) / 2,
            ("yes", "no")[side],
            fontsize=0.8 * FONT * scale,
            color=GREY,
            zorder=1.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8 * scale},
        )


def _scale(ax: Axes, picture: Picture) -> float:
    """The scale at which the picture fits the axes, at most ``_LARGEST``; text with this scale fits its boxes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return float(min(_LARGEST, box.width / dpi / picture.size[0], box.height / dpi / picture.size[1]))
