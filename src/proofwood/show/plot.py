"""A picture of a model with matplotlib."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.show.labels import (
    FEW_DIGITS,
    NO_LABELS,
    Labels,
    number_texts,
    question,
    rows_texts,
    tells_missing,
)
from proofwood.show.layout import Layout, arrange
from proofwood.show.palette import Colour, class_colours, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = 9.0  # points, in a picture of the default size
_LINE = 1.35 * FONT / 72  # inches from one line of text to the next
_PAD = 0.07  # inches around the text of a box
_BAR = 0.08  # inches: height of the bar of class shares
GAP = 0.1  # inches between boxes side by side
_LAYER = 0.48  # inches between layers of boxes of a tree
TERMS = 6  # of a weighted sum that a box shows
_STUB = 0.2  # inches that an edge of a diagram goes straight down, past its answer, before it turns
INK, GREY = (0.1, 0.1, 0.1), (0.45, 0.45, 0.45)


@dataclass(frozen=True)
class Picture:
    """Everything to be drawn, in inches at the default size; y points down."""

    texts: list[list[str]]
    widths: FloatArray
    height: float  # of every box
    layer: float  # from the bottom of a box to the top of the next layer
    layout: Layout
    legend: list[list[tuple[int, float]]]  # rows of (class code, x)
    size: tuple[float, float]

    def top(self, depth: float) -> float:
        """Upper edge of the boxes of a layer."""
        return depth * (self.height + self.layer)


def plot_tree(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    ax: Axes | None = None,
    *,
    digits: int | None = FEW_DIGITS,
    X: npt.ArrayLike | None = None,
    max_name: int | None = 22,
    legend: bool = True,
    dashed: bool | None = None,
) -> Axes:
    """Draw the model: tests and training rows in boxes, a bar of class shares in each, leaves tinted by their class.

    Edges are labelled yes (the test holds) and no, and are as thick as the share of rows that takes them. Missing
    values are mentioned at the tests they pass where some do not. Shared nodes of diagrams are drawn once.

    Parameters
    ----------
    table : NodeTable
    labels : Labels
    ax : Axes or None
        Where to draw; text shrinks to fit. None makes a figure in which text has 9 points, through pyplot.
    digits, X : as in :func:`proofwood.show.text.export_text`, with few digits by default
    max_name : longest name of a column or class before it is shortened with an ellipsis, or None
    legend : whether to name the colours below the picture
    dashed : whether the edges of tests that hold (the 0-edges of a diagram) are dashed; by default in diagrams

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    need_matplotlib()
    labels.check(table)
    picture = compose(table, labels, digits, X, max_name, legend)
    if ax is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=picture.size)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _draw(table, labels, ax, picture, max_name, not table.is_tree if dashed is None else dashed)
    return ax


def save_plot(
    table: NodeTable,
    path: str | os.PathLike[str],
    labels: Labels = NO_LABELS,
    *,
    dpi: float = 150,
    format: str | None = None,  # noqa: A002 - matplotlib's name
    digits: int | None = FEW_DIGITS,
    X: npt.ArrayLike | None = None,
    max_name: int | None = 22,
    legend: bool = True,
    dashed: bool | None = None,
) -> None:
    """Draw the model into a file; needs no display and leaves no figure open.

    Parameters
    ----------
    path : file; its ending says the format, such as ``.png``, ``.svg`` or ``.pdf``, unless ``format`` does
    dpi : pixels per inch, of formats made of pixels
    digits, X, max_name, legend, dashed : as in :func:`plot_tree`

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    need_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    labels.check(table)
    picture = compose(table, labels, digits, X, max_name, legend)
    figure = Figure(figsize=picture.size)
    _draw(
        table,
        labels,
        figure.add_axes((0.0, 0.0, 1.0, 1.0)),
        picture,
        max_name,
        not table.is_tree if dashed is None else dashed,
    )
    kind = (format or os.fspath(path).rpartition(".")[2]).lower()
    # Equal models give equal files: no date, and identifiers that do not depend on chance.
    with rc_context({"svg.hashsalt": "proofwood"}):
        figure.savefig(path, dpi=dpi, format=kind, metadata={"Date": None} if kind == "svg" else None)


def need_matplotlib() -> None:
    """ImportError that says how to get matplotlib, unless it is there."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        raise ImportError('pictures need matplotlib: run pip install "proofwood[plot]"') from None


# ----------------------------------------------------------------- compose


def compose(
    table: NodeTable,
    labels: Labels,
    digits: int | None,
    X: npt.ArrayLike | None,
    max_name: int | None,
    legend: bool,
    *,
    layer: float | None = None,
    least: Mapping[int, float] | None = None,
    lanes: Mapping[tuple[int, int], float] | None = None,
) -> Picture:
    """What is to be drawn, and where.

    Parameters
    ----------
    table, labels, digits, X, max_name, legend : as in :func:`plot_tree`
    layer : inches between layers of boxes
    least : least width of the boxes of some nodes, in inches
    lanes : as in :func:`proofwood.show.layout.arrange`
    """
    numbers = number_texts(table, digits=digits, X=X)
    tell = tells_missing(table)
    texts, widths = [], np.zeros(table.n_nodes)
    for node in range(table.n_nodes):
        leaf = table.feature[node] == LEAF
        if leaf:
            head = [labels.class_name(int(table.label[node]), max_name)]
        else:
            head = _wrapped(
                question(table, node, labels, numbers[node], width=max_name, at_most="≤", missing=tell, terms=TERMS)
            )
        lines = [*head, *rows_texts(table, node)]
        widths[node] = max(_text_width(line, bold=leaf and k == 0) for k, line in enumerate(lines)) + 2 * _PAD
        texts.append(lines)
    widths = np.maximum(widths, 0.5)
    for node, width in (least or {}).items():
        widths[node] = max(widths[node], width)
    n_lines = max(len(lines) for lines in texts)
    height = n_lines * _LINE + _BAR + 2 * _PAD
    if layer is None:
        layer = _LAYER if table.is_tree else _LAYER + _STUB
    layout = arrange(table, widths, GAP, lanes)
    width = max(layout.width, 2.0)
    rows = _legend_rows(table, labels, width, max_name) if legend else []
    bottom = table.depth * (height + layer) + height + (0.12 + len(rows) * 1.2 * _LINE if rows else 0.0)
    return Picture(texts, widths, height, layer, layout, rows, (width + 2 * GAP, bottom + 2 * GAP))


def _wrapped(asks: str) -> list[str]:
    """A question on two lines, the second beginning with the comparison; long sets and sums on more."""
    for mark in (" ≤ ", " in {"):
        before, found, after = asks.rpartition(mark) if mark == " ≤ " else asks.partition(mark)
        if found:
            head, tail = before, mark.lstrip() + after
            return [*_filled(head), *_filled(tail)]
    return _filled(asks)


def _filled(text: str, width: int = 24) -> list[str]:
    """``text`` broken at blanks, but not behind the sign of a summand, into lines of about ``width`` characters."""
    lines: list[str] = []
    for word in re.split(r"(?<! [+-]) ", text):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def _legend_rows(table: NodeTable, labels: Labels, width: float, max_name: int | None) -> list[list[tuple[int, float]]]:
    rows: list[list[tuple[int, float]]] = [[]]
    x = 0.0
    for code in range(table.n_classes):
        step = _text_width(labels.class_name(code, max_name)) + 0.4
        if rows[-1] and x + step > width:
            rows.append([])
            x = 0.0
        rows[-1].append((code, x))
        x += step
    return rows


def _text_width(text: str, bold: bool = False) -> float:
    """Inches that ``text`` takes at the default size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(text or " ", font, ismath=False)[0]) / 72


# -------------------------------------------------------------------- draw


def _draw(table: NodeTable, labels: Labels, ax: Axes, picture: Picture, max_name: int | None, dashed: bool) -> None:
    pen = draw_nodes(table, labels, ax, picture, max_name)
    _draw_edges(table, ax, picture, pen, dashed)


@dataclass(frozen=True)
class Pen:
    """How the nodes were drawn, for what is drawn between them.

    Parameters
    ----------
    shift : inches that the layout is moved to the right
    scale : of text and lines against the default
    write : writes a text at (x, y)
    """

    shift: float
    scale: float
    write: Callable[..., None]


def draw_nodes(table: NodeTable, labels: Labels, ax: Axes, picture: Picture, max_name: int | None) -> Pen:
    """Draw the boxes and the legend."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    width, height = picture.size
    ax.set_xlim(-GAP, width - GAP)
    ax.set_ylim(height - GAP, -GAP)
    ax.set_axis_off()
    scale = _scale(ax, picture)
    size = FONT * scale
    colours = class_colours(table.n_classes)
    shares = node_probabilities(table)
    shift = (width - 2 * GAP - picture.layout.width) / 2  # a narrow picture sits in the middle

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
        room = picture.height - _BAR - _PAD
        for k, line in enumerate(lines):
            y = top + room / 2 + (k - (len(lines) - 1) / 2) * _LINE
            count = not leaf and k >= len(lines) - len(rows_texts(table, node))
            style: dict[str, Any] = {"fontweight": "bold"} if leaf and k == 0 else {"color": GREY} if count else {}
            write(left + wide / 2, y, line, zorder=3, **style)
        x = left + _PAD
        for code in np.flatnonzero(shares[node] > 0).tolist():
            part = float(shares[node, code]) * (wide - 2 * _PAD)
            y = top + picture.height - _PAD - _BAR / 2
            ax.add_patch(Rectangle((x, y - _BAR / 2), part, _BAR, facecolor=colours[code], linewidth=0, zorder=3))
            x += part
    base = picture.top(table.depth) + picture.height + 0.12
    for k, row in enumerate(picture.legend):
        y = base + (k + 0.6) * 1.2 * _LINE
        for code, x in row:
            ax.add_patch(Rectangle((x, y - 0.06), 0.12, 0.12, facecolor=colours[code], linewidth=0))
            write(x + 0.17, y, labels.class_name(code, max_name), ha="left")
    return Pen(shift, scale, write)


def _draw_edges(table: NodeTable, ax: Axes, picture: Picture, pen: Pen, dashed: bool) -> None:
    """Edges and their answers. In a diagram the two edges of a node leave its box apart, so that no answers meet."""
    shift, scale, write = pen.shift, pen.scale, pen.write
    total = max(int(table.rows[0]), 1)
    for (node, side), points in picture.layout.edges.items():
        other = picture.layout.edges[node, 1 - side]
        port, share = 0.0, int(table.rows[(table.low, table.high)[side][node]]) / total
        if not table.is_tree:
            on_left = (points[1][0], side) < (other[1][0], 1 - side)
            port, share = (-1 if on_left else 1) * float(picture.widths[node]) / 4, 0.1  # how many go here is not known
        xs, ys = [], []
        for k, (x, depth) in enumerate(points):
            top = picture.top(depth)
            ends = [top, top + picture.height]
            if k == 0:
                ends = ends[1:] if table.is_tree else [ends[1], ends[1] + _STUB]
            elif k == len(points) - 1:
                ends = ends[:1]
            xs += [x + shift + (port if k == 0 else 0.0)] * len(ends)
            ys += ends
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
    """How much smaller than the default the axes are: text of this scale fits its boxes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return float(min(1.0, box.width / dpi / picture.size[0], box.height / dpi / picture.size[1]))
