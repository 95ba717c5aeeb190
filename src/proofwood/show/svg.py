"""The picture of a model as SVG, made without matplotlib, for notebooks and reports.

Colours are CSS variables with defaults, so that a page can show the picture on a dark background: ``--pw-ink``,
``--pw-grey``, ``--pw-line`` and ``--pw-paper``, and ``--k0``, ``--k1``, ... for the classes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from proofwood.language import gettext
from proofwood.markup import escaped
from proofwood.model.node_table import LEAF, IntArray, NodeTable
from proofwood.show.colouring import Colouring
from proofwood.show.compose import (
    BAR,
    FONT,
    GAP,
    LINE,
    MAX_NAME,
    PAD,
    SIDE,
    SMALL,
    SPREAD,
    TICKS,
    Picture,
    Point,
    compose,
)
from proofwood.show.labels import NO_LABELS, Labels
from proofwood.show.palette import Palette, hexadecimal
from proofwood.show.spread import Spread

_PIXELS = 96.0  # per inch
_FAMILY = "Inter, system-ui, Segoe UI, Roboto, Noto Sans, DejaVu Sans, Arial, sans-serif"
_NARROW, _WIDE = frozenset("ijlI.,:;'|!()[]{}/ "), frozenset("mwMW@%≤—")
_THIN_SHARE = 0.004
"""Classes with a smaller share have no part in a bar."""


def model_svg(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    *,
    dashed: bool | None = None,
    palette: Palette | None = None,
    name: str = "",
    asked: Sequence[str] | None = None,
    spreads: Mapping[int, Spread] | None = None,
    fresh: IntArray | None = None,
) -> str:
    """The picture of :func:`proofwood.show.plot.plot_tree` as SVG.

    Parameters
    ----------
    table, labels, dashed, palette : as in ``plot_tree``
    name : name of the picture for a screen reader
    asked : for a page with a script: description of each node for a screen reader; the nodes are then buttons
    spreads, fresh : as in :func:`proofwood.show.compose.compose`

    Returns
    -------
    str
        One ``svg`` element with the attribute ``data-foot``, the height of the texts below a box. Nodes are groups of
        class ``pw-node`` with the attribute ``data-node``. Edges are groups of class ``pw-edge`` with the attributes
        ``data-from``, ``data-to``, ``data-side`` and ``data-port``, the place of the edge from the middle of its box.
    """
    labels.check(table)
    shown = Colouring.of(table, labels, palette)
    colours = [f"var(--k{code},{hexadecimal(colour)})" for code, colour in enumerate(shown.colours)]
    picture = compose(table, labels, MAX_NAME, True, measure=text_width, spreads=spreads, fresh=fresh)
    width, height = (_PIXELS * side for side in picture.size)
    role, name = "img" if asked is None else "group", name or gettext("Decision model")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-model" role="{role}" aria-label="{escaped(name)}" '
        f'viewBox="{-GAP * _PIXELS:.1f} {-(GAP + picture.head) * _PIXELS:.1f} {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="{_FAMILY}" font-size="{_size(1.0)}" '
        f'data-foot="{picture.foot * _PIXELS:.1f}">'
    ]
    parts += _edges(table, picture, not table.is_tree if dashed is None else dashed)
    shares = shown.shares
    for node in range(table.n_nodes):
        own = colours[int(shown.code[node])] if table.feature[node] == LEAF else None
        parts.append(_node(picture, node, own, asked))
        left, top = picture.corner(node)
        x, y = left + PAD, top + float(picture.heights[node]) - PAD - BAR
        for code in np.flatnonzero(shares[node] > _THIN_SHARE).tolist():
            part = float(shares[node, code]) * (float(picture.widths[node]) - 2 * PAD)
            parts.append(_rect(x, y, part, BAR, f"fill:{colours[code]}"))
            x += part
        if node in picture.spreads:
            parts += _spread(picture, node, colours)
        parts.append("</g>")
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


def _node(picture: Picture, node: int, own: str | None, asked: Sequence[str] | None) -> str:
    """The group of a node, still open, with its frame and its texts; ``own`` is the colour of a leaf."""
    (left, top), wide, tall = picture.corner(node), float(picture.widths[node]), float(picture.heights[node])
    button = ""
    if asked is not None:
        state = ' aria-expanded="true"' if own is None else ""
        button = f' role="button" tabindex="{0 if node == 0 else -1}" aria-label="{escaped(asked[node])}"{state}'
    parts = [f'<g class="pw-node{"" if own is None else " pw-leaf"}" data-node="{node}"{button}>']
    line = "var(--pw-line,#c9cfd6)" if own is None else own
    parts.append(_rect(left, top, wide, tall, f"fill:var(--pw-paper,#fff);stroke:{line}", ' rx="6" class="pw-box"'))
    if own is not None:
        parts.append(_rect(left + 0.03, top, wide - 0.06, 0.04, f"fill:{own}"))
    box = picture.boxes[node]
    y = top + PAD + LINE / 2
    for k, text in enumerate([*box.head, *box.lines]):
        bold = k < len(box.head)
        parts.append(_text(left + PAD, y + k * LINE, text, bold=bold, grey=not bold, anchor="start"))
    if box.beside:
        parts.append(_text(left + wide - PAD, y, box.beside, size=SIDE, grey=True, anchor="end"))
    return "".join(parts)


def _spread(picture: Picture, node: int, colours: Sequence[str]) -> list[str]:
    """The spread of the rows at a node: one path a class."""
    spread, (left, top) = picture.spreads[node], picture.corner(node)
    left, wide = left + PAD, float(picture.widths[node]) - 2 * PAD
    ground = top + PAD + picture.boxes[node].n_lines * LINE + SPREAD
    paths: dict[int, list[str]] = {}
    for x, share, low, high, code in spread.parts():
        corner = f"M{_PIXELS * (left + x * wide):.1f} {_PIXELS * (ground - low * SPREAD):.1f}"
        across, up = _PIXELS * max(share * wide - 0.005, 0.004), _PIXELS * (high - low) * SPREAD
        paths.setdefault(code, []).append(f"{corner}v{-up:.1f}h{across:.1f}v{up:.1f}z")
    parts = [f'<path d="{"".join(path)}" style="fill:{colours[code]}"/>' for code, path in sorted(paths.items())]
    cut = left + spread.cut * wide
    axis = [(left, ground), (left + wide, ground)]
    parts.append(f'<path d="{_path(axis)}" fill="none" style="stroke:var(--pw-line,#c9cfd6)"/>')
    line = [(cut, ground - SPREAD - 0.02), (cut, ground + 0.03)]
    parts.append(f'<path d="{_path(line)}" fill="none" style="stroke:var(--pw-ink,#1a1a1a)" stroke-width="1.5"/>')
    below = ground + 0.02 + TICKS / 2
    for label in spread.labels:
        parts.append(
            _text(left + label.x * wide, below, label.text, size=SMALL, grey=not label.strong, anchor=label.anchor)
        )
    return parts


def _edges(table: NodeTable, picture: Picture, dashed: bool) -> list[str]:
    parts = []
    for node, side in picture.layout.edges:
        child = int((table.low, table.high)[side][node])
        corners, share = picture.way(table, node, side)
        dash = ' stroke-dasharray="5 4"' if dashed and side == 0 else ""
        port = (corners[0][0] - picture.corner(node)[0] - float(picture.widths[node]) / 2) * _PIXELS
        parts.append(
            f'<g class="pw-edge" data-from="{node}" data-to="{child}" data-side="{("low", "high")[side]}" '
            f'data-port="{port:.1f}"><path d="{_path(corners)}" fill="none" style="stroke:var(--pw-line,#c9cfd6)" '
            f'stroke-width="{1.2 + 10.0 * share:.2f}"{dash}/>'
            f'<g class="pw-side">{_side(corners[0], picture.boxes[node].sides[side])}</g></g>'
        )
    return parts


def _path(corners: Sequence[Point]) -> str:
    """A line through ``corners`` that is curved where x changes, and begins and ends straight down there."""
    shown = [(f"{_PIXELS * x:.1f}", f"{_PIXELS * y:.1f}") for x, y in corners]
    path = "M" + " ".join(shown[0])
    for ((_, y), (_, below)), ((x, _), (then, end)) in zip(pairwise(corners), pairwise(shown), strict=True):
        middle = f"{_PIXELS * (y + below) / 2:.1f}"
        path += f"C{x} {middle} {then} {middle} {then} {end}" if x != then and y != below else f"L{then} {end}"
    return path


def _side(place: Point, lines: Sequence[str]) -> str:
    """The text at an edge, on a patch of the background colour."""
    (x, y), high = place, SIDE * LINE
    parts = []
    for k, text in enumerate(lines):
        wide = SIDE * text_width(text)
        top = y + 0.04 + k * high
        parts.append(_rect(x - wide / 2, top, wide, high, "fill:var(--pw-paper,#fff)"))
        parts.append(_text(x, top + high / 2, text, size=SIDE))
    return "".join(parts)


def _legend(picture: Picture, colours: Sequence[str]) -> list[str]:
    parts = []
    for k, row in enumerate(picture.legend):
        y = picture.legend_top + (k + 0.6) * 1.2 * LINE
        for code, text, x in row:
            if code >= 0:
                parts.append(_rect(x, y - 0.06, 0.12, 0.12, f"fill:{colours[code]}"))
            parts.append(_text(x + (0.17 if code >= 0 else 0.0), y, text, anchor="start", grey=code < 0))
    return parts
