"""The parts of a picture of a model, with their positions, for the program that draws them: matplotlib or SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from proofwood.language import gettext, ngettext
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.printable import printable
from proofwood.show.labels import FEW_DIGITS, Labels, amount, heading, percent, rows_texts, side, with_share
from proofwood.show.layout import Layout, arrange
from proofwood.show.spread import Spread

FONT = 9.0  # points, in a picture of the default size
LINE = 1.35 * FONT / 72  # inches from one line of text to the next
PAD = 0.08  # inches around the text of a box
BAR = 0.06  # inches: height of the bar of class shares
GAP = 0.12  # inches between boxes side by side
SPREAD, TICKS = 0.5, 0.15  # inches: height of the bars of a spread, and of the line of text below them
LEAST, LEAST_SPREAD, MOST_SPREAD = 0.75, 1.7, 3.2  # inches: width of a box; least, and least and most with a spread
SIDE = 0.88  # size of the text at edges relative to other text
SMALL = 0.76  # size of the text below the bars of a spread
MAX_NAME = 22  # characters of a name before it is shortened
TERMS = 6  # most terms of a weighted sum in a box
TITLE = 1.25  # size of the title relative to other text
NOTE = 0.9  # size of the note relative to other text
_BESIDE = 0.15  # inches between the name of a column and the rows beside it
_BEND = 0.3  # inches from the text at an edge to the next layer
_SIDE_WIDTH, _SIDE_LINES = 17, 3  # characters and lines of the text at an edge
_LEGEND = 10  # most classes that a legend names

Measure = Callable[[str, bool], float]
"""Function that returns the width of a text in inches at the default size, bold or not."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """The texts of a node.

    Parameters
    ----------
    head : what an inner node tests, or what a leaf says; bold
    beside : text at the right end of the first line
    lines : lines below, grey
    sides : lines of the texts below the box, on the left and on the right; none at a leaf
    """

    head: list[str]
    beside: str
    lines: list[str]
    sides: tuple[list[str], list[str]]

    @property
    def n_lines(self) -> int:
        """The number of lines in the box."""
        return len(self.head) + len(self.lines)


@dataclass(frozen=True)
class Picture:
    """All parts of a picture, with positions in inches at the default size; y points down."""

    boxes: list[Box]
    spreads: Mapping[int, Spread]
    widths: FloatArray
    heights: FloatArray
    foot: float  # height of the texts below a box
    layer: float  # from the bottom of the highest box of a layer to the top of the next layer
    layout: Layout
    legend: list[list[tuple[int, str, float]]]  # rows of (class code or -1, text, x)
    title: list[str]  # lines above
    note: list[str]  # lines below
    size: Point

    @property
    def height(self) -> float:
        """The height of the highest box."""
        return float(self.heights.max())

    @property
    def head(self) -> float:
        """The height above the boxes, for the title."""
        return len(self.title) * TITLE * LINE + (0.1 if self.title else 0.0)

    @property
    def end(self) -> float:
        """The y position of the lower edge of the lowest boxes."""
        depth = self.layout.depth
        return max(self.top(float(depth[node])) + float(self.heights[node]) for node in range(depth.size))

    @property
    def legend_top(self) -> float:
        """The y position of the upper edge of the legend."""
        return self.end + 0.14

    @property
    def note_top(self) -> float:
        """The y position of the upper edge of the note."""
        return self.end + (0.14 + len(self.legend) * 1.2 * LINE if self.legend else 0.0) + 0.08

    @property
    def shift(self) -> float:
        """Inches by which the layout moves to the right, so that a narrow picture is in the middle."""
        return (self.size[0] - 2 * GAP - self.layout.width) / 2

    def top(self, depth: float) -> float:
        """The y position of the upper edge of the boxes of a layer."""
        return depth * (self.height + self.layer)

    def corner(self, node: int) -> Point:
        """The upper left corner of a box."""
        x = float(self.layout.x[node]) + self.shift - float(self.widths[node]) / 2
        return x, self.top(float(self.layout.depth[node]))

    def port(self, node: int, side: int) -> Point:
        """The point of the lower edge of a box at which an edge leaves it; its text is below."""
        left, top = self.corner(node)
        return left + float(self.widths[node]) * (0.25, 0.75)[side], top + float(self.heights[node])

    def way(self, table: NodeTable, node: int, side: int) -> tuple[list[Point], float]:
        """The corners of an edge, and its width: the share of the training rows that take it.

        Lines between corners at different x are to be drawn as curves that begin and end straight down. In a diagram
        edges have a constant width, because the number of rows on an edge is not known.
        """
        points, (x, bottom) = self.layout.edges[node, side], self.port(node, side)
        share = int(table.rows[(table.low, table.high)[side][node]]) / max(int(table.rows[0]), 1)
        corners = [(x, bottom), (x, self.top(points[0][1]) + self.height + self.foot)]
        for between, depth in points[1:-1]:
            top = self.top(depth)
            corners += [(between + self.shift, y) for y in (top, top + self.height)]
        corners.append((points[-1][0] + self.shift, self.top(points[-1][1])))
        return corners, share if table.is_tree else 0.1


def compose(
    table: NodeTable,
    labels: Labels,
    max_name: int | None,
    legend: bool,
    *,
    title: str | None = None,
    note: str | None = None,
    measure: Measure | None = None,
    layer: float = _BEND,
    least: Mapping[int, float] | None = None,
    lanes: Mapping[tuple[int, int], float] | None = None,
    spreads: Mapping[int, Spread] | None = None,
    fresh: IntArray | None = None,
) -> Picture:
    """Compute all parts of a picture of a model, with their positions.

    Parameters
    ----------
    table, labels, max_name, legend, title, note : as in :func:`proofwood.show.plot.plot_tree`
    measure : function that returns the width of a text; by default the width in matplotlib
    layer : inches from the texts below the boxes of a layer to the boxes of the next layer
    least : least width in inches for the boxes of some nodes
    lanes : as in :func:`proofwood.show.layout.arrange`
    spreads : the spread of rows at inner nodes, to be drawn in their boxes
    fresh : (n_nodes, n_classes) rows at each node that training did not use, by class; leaves then say how they fare
    """
    measure, spreads = measure or text_width, spreads or {}
    boxes = [_box(table, node, labels, max_name, fresh, measure) for node in range(table.n_nodes)]
    widths, heights = np.zeros(len(boxes)), np.zeros(len(boxes))
    for node, box in enumerate(boxes):
        wide = _spread_width(spreads[node], measure) if node in spreads else LEAST
        widths[node] = max(_width(box, measure), wide, (least or {}).get(node, 0.0))
        drawn = SPREAD + TICKS + PAD if node in spreads else 0.0
        heights[node] = box.n_lines * LINE + BAR + 2.5 * PAD + drawn
    foot = max((len(lines) for box in boxes for lines in box.sides), default=0) * SIDE * LINE + 0.06
    layout = arrange(table, widths, GAP, lanes)
    width = max(layout.width, 4.5 if title or note else 2.0)
    rows = _legend_rows(table, labels, width, max_name, measure) if legend else []
    above = _lines(title, width / TITLE, measure)
    below = _lines(note, width / NOTE, measure)
    size = (width + 2 * GAP, 0.0)
    picture = Picture(boxes, spreads, widths, heights, foot, foot + layer, layout, rows, above, below, size)
    bottom = picture.note_top + len(below) * NOTE * LINE if below else picture.note_top - 0.08
    return replace(picture, size=(width + 2 * GAP, picture.head + bottom + 2 * GAP))


def _box(
    table: NodeTable, node: int, labels: Labels, width: int | None, fresh: IntArray | None, measure: Measure
) -> Box:
    counts = rows_texts(table, node, labels, FEW_DIGITS)
    if table.feature[node] == LEAF:
        lines = [*with_share(table, node, counts), *_fresh(table, node, fresh)]
        return Box([labels.said(table, node, width, FEW_DIGITS)], "", lines, ([], []))
    head = _filled(heading(table, node, labels, width=width, terms=TERMS))
    sides = [_filled(_side(table, node, labels, low, width), _SIDE_WIDTH) for low in (True, False)]
    if measure(head[0], True) + measure(counts[0], False) > LEAST_SPREAD:
        return Box(head, "", counts, (sides[0], sides[1]))
    return Box(head, counts[0], counts[1:], (sides[0], sides[1]))


def _fresh(table: NodeTable, node: int, fresh: IntArray | None) -> list[str]:
    """How a leaf fares on new rows."""
    if fresh is None:
        return []
    rows, right = int(fresh[node].sum()), int(fresh[node, table.label[node]])
    if rows == 0:
        return [gettext("new: no rows")]
    return [gettext("new: %(share)s of %(n)s", share=percent(right / rows), n=amount(rows))]


def _side(table: NodeTable, node: int, labels: Labels, low: bool, width: int | None) -> str:
    """The text at an edge; sets of levels are counted if their names take too many lines."""
    named = side(table, node, labels, low, width=width)
    if len(_filled(named, _SIDE_WIDTH)) <= _SIDE_LINES:
        return named
    return side(table, node, labels, low, width=width, most=0)


def _spread_width(spread: Spread, measure: Measure) -> float:
    """The width of a box in which the texts below the axis of a spread do not meet."""
    needed = LEAST_SPREAD
    labels = sorted(spread.labels, key=lambda label: label.x)
    for one, other in pairwise(labels):
        half = {"start": (0.0, 1.0), "middle": (0.5, 0.5), "end": (1.0, 0.0)}  # shares of a text left and right of x
        inches = half[one.anchor][1] * measure(one.text, False) + half[other.anchor][0] * measure(other.text, False)
        if other.x > one.x:
            needed = max(needed, (SMALL * inches + 0.06) / (other.x - one.x) + 2 * PAD)
    return min(needed, MOST_SPREAD)


def _width(box: Box, measure: Measure) -> float:
    first = measure(box.head[0], True) + (measure(box.beside, False) + _BESIDE if box.beside else 0.0)
    inside = max(
        [first, *(measure(line, True) for line in box.head[1:]), *(measure(line, False) for line in box.lines)]
    )
    below = max((SIDE * measure(line, False) for lines in box.sides for line in lines), default=0.0)
    return max(inside + 2 * PAD, 2 * below + 0.12)


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
    named = legend_classes(table)
    if not named:
        return []
    rows: list[list[tuple[int, str, float]]] = [[]]
    x = 0.0
    entries = [(code, labels.class_name(code, max_name)) for code in named]
    if 0 < len(named) < table.n_labels:
        more = table.n_labels - len(named)
        entries.append((-1, ngettext("and %(n)s more class", "and %(n)s more classes", more)))
    for code, text in entries:
        step = measure(text, False) + 0.4
        if rows[-1] and x + step > width:
            rows.append([])
            x = 0.0
        rows[-1].append((code, text, x))
        x += step
    return rows


def legend_classes(table: NodeTable) -> list[int]:
    """The classes or actions in a legend: all if there are at most ten, else the ten predicted for most training rows.

    Numbers have no legend: leaves say them.
    """
    if table.values is not None and table.n_labels == 1:
        return []
    if table.n_labels <= _LEGEND:
        return list(range(table.n_labels))
    rows = np.zeros(table.n_labels)
    leaves = table.feature == LEAF
    np.add.at(rows, table.label[leaves], table.rows[leaves] + 1.0)
    weight = table.weight[0] if table.values is None else table.values[0]
    first = np.lexsort((np.arange(rows.size), -weight, -rows))[:_LEGEND]
    return sorted(first.tolist())


def text_width(text: str, bold: bool = False) -> float:
    """The width of ``text`` in inches at the default size, in matplotlib."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(text or " ", font, ismath=False)[0]) / 72
