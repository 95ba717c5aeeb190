"""Make pieces of HTML and SVG, in which all texts of the user are escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

from proofwood.language import gettext, marked, number
from proofwood.printable import printable


def escaped(text: object) -> str:
    """``text`` escaped for an HTML element or a quoted attribute, including marks that change the text direction."""
    return html.escape(printable(str(text), keep="\n"), quote=True)


MOST_LINES = 20
"""Rows of a table above which a notebook may show it in a box that scrolls."""


def table(
    rows: Iterable[Sequence[object]],
    *,
    head: Sequence[object] = (),
    bars: Sequence[tuple[float, float, float]] | None = None,
) -> str:
    """The HTML of a table of texts; without ``head``, the first cell of each row is its header.

    Parameters
    ----------
    rows : the texts of the cells, line by line
    head : names of the columns
    bars : for each row, three shares: :func:`bar` draws them in a last cell, which has no name in ``head``
    """
    parts = ["<table>"]
    if head:
        parts.append(
            "<thead><tr>"
            + "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in head)
            + ("" if bars is None else "<td></td>")
            + "</tr></thead>"
        )
    parts.append("<tbody>")
    for line, (first, *rest) in enumerate(rows):
        lead = f"<td>{escaped(first)}</td>" if head else f'<th scope="row">{escaped(first)}</th>'
        drawn = "" if bars is None else f"<td>{bar(*bars[line])}</td>"
        parts.append(f"<tr>{lead}{''.join(f'<td>{escaped(cell)}</td>' for cell in rest)}{drawn}</tr>")
    return "".join([*parts, "</tbody></table>"])


def bar(share: float, low: float, high: float) -> str:
    """The SVG of a bar from 0 to ``share`` with a line from ``low`` to ``high``, on an axis from 0 to 1.

    It has no text: the cells beside it hold the numbers. Its colour is that of the text around it.
    """
    way = f"M{100 * low:.1f} 6H{100 * high:.1f}"
    line = f'<path d="{way}" stroke="currentColor" stroke-width="2"/>' if high > low else ""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 12" width="100" height="12" aria-hidden="true">'
        '<path d="M0 11.5H100" stroke="currentColor" stroke-opacity=".25"/>'
        f'<rect y="2" width="{100 * share:.1f}" height="8" fill="currentColor" fill-opacity=".35"/>{line}</svg>'
    )


def scrolled(inner: str, name: str) -> str:
    """``inner`` in a box of limited height that scrolls, also by keys, with a name for a screen reader."""
    style = "overflow:auto;max-height:40em"
    return f'<div style="{style}" tabindex="0" role="region" aria-label="{escaped(name)}">{inner}</div>'


def titled(
    title: str,
    note: str,
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    bars: Sequence[tuple[float, float, float]] | None = None,
    scroll: bool = False,
) -> str:
    """The HTML of an answer for a notebook: a title in bold, a note below it, and a table unless it has no rows.

    Parameters
    ----------
    title : what is answered; may be empty
    note : more about it
    head, rows, bars : as for :func:`table`
    scroll : whether a table of more than :data:`MOST_LINES` rows is in a box that scrolls; else there are no styles
    """
    body = list(rows)
    lead = f"<b>{escaped(title)}</b>{'<br>' if note else ''}" if title else ""
    shown = table(body, head=head, bars=bars) if body else ""
    shown = scrolled(shown, title or note) if scroll and len(body) > MOST_LINES else shown
    return f'<div class="proofwood"><p>{lead}{escaped(note)}</p>{shown}</div>'


def trace_svg(events: Sequence[tuple[float, float, float]], *, unit: str) -> str:
    """The SVG of a plot of objective and lower bound over time, with a text description; empty without events.

    Parameters
    ----------
    events : seconds, objective and lower bound, in the order of time; all finite
    unit : unit of objective and bound
    """
    if not events:
        return ""
    width, height = 520, 220
    left, right, top, bottom = 64, 16, 14, 40
    log = events[0][0] > 0 and events[-1][0] > 100 * events[0][0]
    times = [math.log10(max(t, 1e-9)) if log else t for t, _, _ in events]
    first, last = times[0], max(times[-1], times[0] + (0.1 if log else 1e-9))
    most = max(objective for _, objective, _ in events)
    least = min(0.0, min(bound for _, _, bound in events))
    most = most if most > least else least + 1.0

    def at(time: float, value: float) -> tuple[float, float]:
        x = left + (time - first) / (last - first) * (width - left - right)
        return x, top + (most - value) / (most - least) * (height - top - bottom)

    def steps(values: Sequence[float]) -> list[tuple[float, float]]:
        points: list[tuple[float, float]] = []
        for k, (time, value) in enumerate(zip(times, values, strict=True)):
            if k:
                points.append(at(time, values[k - 1]))
            points.append(at(time, value))
        return [*points, at(last, values[-1])]

    above, below = steps([event[1] for event in events]), steps([event[2] for event in events])
    objective, bound = events[-1][1], events[-1][2]
    words = gettext(
        "Objective and lower bound over time, in %(unit)s: after %(seconds)s seconds the objective is %(objective)s "
        "and the lower bound %(bound)s.",
        unit=gettext(unit),
        seconds=number(f"{events[-1][0]:.3g}"),
        objective=number(f"{objective:,.6g}"),
        bound=number(f"{bound:,.6g}"),
    )
    text = 'font-family="sans-serif" font-size="12" fill="currentColor"'
    ticks = []
    for value in _ticks(least, most):
        y, told = at(first, value)[1], number(f"{value:,.6g}")
        ticks.append(
            f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            f'stroke-opacity=".15"/><text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" {text}>{told}</text>'
        )
    ends = [
        (left, "start", number(f"{events[0][0]:.3g} s")),
        (width - right, "end", number(f"{events[-1][0]:.3g} s") + (gettext(" (logarithmic)") if log else "")),
    ]
    labels = [
        f'<text x="{x}" y="{height - bottom + 16}" text-anchor="{anchor}" {text}>{escaped(label)}</text>'
        for x, anchor, label in ends
    ]
    names = [escaped(gettext(name)) for name in (marked("objective"), marked("lower bound"))]
    key = (
        f'<g {text}><line x1="{left}" x2="{left + 18}" y1="{height - 8}" y2="{height - 8}" stroke="#0072b2" '
        f'stroke-width="3"/><text x="{left + 24}" y="{height - 4}">{names[0]}</text>'
        f'<line x1="{left + 110}" x2="{left + 128}" y1="{height - 8}" y2="{height - 8}" stroke="#e69f00" '
        f'stroke-width="3" stroke-dasharray="6 3"/><text x="{left + 134}" y="{height - 4}">{names[1]}</text></g>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-trace" role="img" aria-label="{escaped(words)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">{"".join(ticks)}'
        f'<polygon points="{_points([*above, *reversed(below)])}" fill="currentColor" fill-opacity=".1"/>'
        f'<polyline points="{_points(above)}" fill="none" stroke="#0072b2" stroke-width="2.5"/>'
        f'<polyline points="{_points(below)}" fill="none" stroke="#e69f00" stroke-width="2.5" '
        f'stroke-dasharray="6 3"/>{"".join(labels)}{key}</svg>'
    )


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _ticks(least: float, most: float) -> list[float]:
    """About five round numbers from ``least`` to ``most``."""
    step = 10.0 ** math.floor(math.log10((most - least) / 4))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (most - least) / (factor * step) <= 5)
    first = math.ceil(least / step)
    return [k * step for k in range(first, math.floor(most / step + 1e-9) + 1)]
