"""The picture of a model as SVG, made without matplotlib, for notebooks and reports.

Colours are CSS variables with defaults, so that a page can show the picture on a dark background: ``--pw-ink``,
``--pw-grey``, ``--pw-line`` and ``--pw-paper``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from proofwood.markup import escaped
from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.show.labels import NO_LABELS, Labels, rows_texts
from proofwood.show.palette import Colour, Palette, class_colours, hexadecimal
from proofwood.show.plot import BAR, FONT, GAP, LINE, MAX_NAME, PAD, Picture, compose

_PIXELS = 96.0  # per inch
_FAMILY = "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif"
_NARROW, _WIDE = frozenset("ijlI.,:;'|!()[]{}/ "), frozenset("mwMW@%≤—")
_THIN_SHARE = 0.004
"""Classes with a smaller share have no part in a bar."""


def model_svg(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    *,
    dashed: bool | None = None,
    palette: Palette | None = None,
    name: str = "Decision model",
    asked: Sequence[str] | None = None,
) -> str:
    """The picture of :func:`proofwood.show.plot.plot_tree` as SVG.

    Parameters
    ----------
    table, labels, dashed, palette : as in ``plot_tree``
    name : name of the picture for a screen reader
    asked : for a page with a script: description of each node for a screen reader; the nodes are then buttons

    Returns
    -------
    str
        One ``svg`` element. Nodes are groups of class ``pw-node`` with the attribute ``data-node``. Edges are groups of
        class ``pw-edge`` with the attributes ``data-from``, ``data-to`` and ``data-side``.
    """
    labels.check(table)
    colours = class_colours(table.n_classes, palette, labels.classes)
    picture = compose(table, labels, MAX_NAME, True, measure=text_width)
    width, height = (_PIXELS * side for side in picture.size)
    shift = (picture.size[0] - 2 * GAP - picture.layout.width) / 2
    role = "img" if asked is None else "group"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-model" role="{role}" aria-label="{escaped(name)}" '
        f'viewBox="{-GAP * _PIXELS:.1f} {-(GAP + picture.head) * _PIXELS:.1f} {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="{_FAMILY}" font-size="{_size(1.0)}">'
    ]
    parts += _edges(table, picture, shift, not table.is_tree if dashed is None else dashed)
    shares = node_probabilities(table)
    for node in range(table.n_nodes):
        parts.append(_node(table, node, picture, shift, shares[node], colours, asked))
    parts += _legend(picture, colours)
    return "".join([*parts, "</svg>"])


def text_width(text: str, bold: bool = False) -> float:
    """The width of a text in inches, in a wide sans-serif font of the default size; an upper estimate."""
    ems = 0.0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            ems += 1.05
        else:
            ems += 0.4 if letter in _NARROW else 1.0 if letter in _WIDE else 0.74 if letter.isupper() else 0.64
    return ems * FONT / 72 * (1.1 if bold else 1.0)


def _size(share: float) -> str:
    return f"{share * FONT / 72 * _PIXELS:.4g}"


def _text(
    x: float, y: float, text: str, *, size: float = 1.0, bold: bool = False, grey: bool = False, anchor: str = "middle"
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    font = "" if size == 1.0 else f' font-size="{_size(size)}"'
    fill = "var(--pw-grey,#737373)" if grey else "var(--pw-ink,#1a1a1a)"
    return (
        f'<text x="{x * _PIXELS:.1f}" y="{y * _PIXELS:.1f}" dy=".35em" text-anchor="{anchor}"{font}{weight} '
        f'style="fill:{fill}">{escaped(text)}</text>'
    )


def _rect(x: float, y: float, width: float, height: float, style: str, more: str = "") -> str:
    return (
        f'<rect x="{x * _PIXELS:.1f}" y="{y * _PIXELS:.1f}" width="{width * _PIXELS:.1f}" '
        f'height="{height * _PIXELS:.1f}" style="{style}"{more}/>'
    )


def _node(
    table: NodeTable,
    node: int,
    picture: Picture,
    shift: float,
    shares: npt.NDArray[np.float64],
    colours: Sequence[Colour],
    asked: Sequence[str] | None,
) -> str:
    leaf, label = table.feature[node] == LEAF, int(table.label[node])
    wide = float(picture.widths[node])
    left, top = float(picture.layout.x[node]) + shift - wide / 2, picture.top(float(picture.layout.depth[node]))
    own = hexadecimal(colours[label])
    fill = f"fill:{own};fill-opacity:{0.12 + 0.38 * float(shares[label]):.2f}" if leaf else "fill:var(--pw-paper,#fff)"
    line = own if leaf else "var(--pw-grey,#737373)"
    button = ""
    if asked is not None:
        state = "" if leaf else ' aria-expanded="true"'
        button = f' role="button" tabindex="{0 if node == 0 else -1}" aria-label="{escaped(asked[node])}"{state}'
    parts = [f'<g class="pw-node{" pw-leaf" if leaf else ""}" data-node="{node}"{button}>']
    parts.append(_rect(left, top, wide, picture.height, f"{fill};stroke:{line}", ' rx="5" class="pw-box"'))
    lines, counts = picture.texts[node], len(rows_texts(table, node))
    room = picture.height - BAR - PAD
    for k, text in enumerate(lines):
        y = top + room / 2 + (k - (len(lines) - 1) / 2) * LINE
        grey = not leaf and k >= len(lines) - counts
        parts.append(_text(left + wide / 2, y, text, bold=bool(leaf) and k == 0, grey=grey))
    x = left + PAD
    for code in np.flatnonzero(shares > _THIN_SHARE).tolist():
        part = float(shares[code]) * (wide - 2 * PAD)
        parts.append(_rect(x, top + picture.height - PAD - BAR, part, BAR, f"fill:{hexadecimal(colours[code])}"))
        x += part
    return "".join([*parts, "</g>"])


def _edges(table: NodeTable, picture: Picture, shift: float, dashed: bool) -> list[str]:
    parts = []
    for node, side in picture.layout.edges:
        child = int((table.low, table.high)[side][node])
        places, share = picture.way(table, node, side, shift)
        path = "M" + "L".join(f"{_PIXELS * x:.1f} {_PIXELS * y:.1f}" for x, y in places)
        dash = ' stroke-dasharray="5 4"' if dashed and side == 0 else ""
        middle = ((places[0][0] + places[1][0]) / 2, (places[0][1] + places[1][1]) / 2)
        parts.append(
            f'<g class="pw-edge" data-from="{node}" data-to="{child}" data-side="{("yes", "no")[side]}">'
            f'<path d="{path}" fill="none" style="stroke:var(--pw-line,#b8b8b8)" '
            f'stroke-width="{1.0 + 5.0 * share:.2f}" stroke-linecap="round"{dash}/>'
            f"{_answer(*middle, ('yes', 'no')[side])}</g>"
        )
    return parts


def _answer(x: float, y: float, text: str) -> str:
    """The label of an edge (yes or no) on a patch of the background colour."""
    wide = 0.8 * text_width(text)
    return _rect(x - wide / 2, y - 0.07, wide, 0.14, "fill:var(--pw-paper,#fff)") + _text(
        x, y, text, size=0.8, grey=True
    )


def _legend(picture: Picture, colours: Sequence[Colour]) -> list[str]:
    parts = []
    for k, row in enumerate(picture.legend):
        y = picture.legend_top + (k + 0.6) * 1.2 * LINE
        for code, text, x in row:
            if code >= 0:
                parts.append(_rect(x, y - 0.06, 0.12, 0.12, f"fill:{hexadecimal(colours[code])}"))
            parts.append(_text(x + (0.17 if code >= 0 else 0.0), y, text, anchor="start", grey=code < 0))
    return parts
