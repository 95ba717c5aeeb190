"""The figures of a report as SVG: lines on one axis, bars, curves with points, and calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from proofwood.estimators.survival_curves import Curve
from proofwood.language import gettext, ngettext, number
from proofwood.model.node_table import FloatArray
from proofwood.report.measures import REPEATS, importance_of, interval
from proofwood.show.labels import percent

_SQUARE = (46, 12, 300, 250)
"""Left, top, right and bottom of the square of a figure, in a view box of 320 by 292."""


@dataclass(frozen=True)
class CurvePoint:
    """A point of a figure: place from 0 to 1, radius, text shown on hovering, and whether it is the model itself."""

    x: float
    y: float
    tip: str
    radius: float = 4.0
    used: bool = False


def scale(share: float, ends: tuple[float, float] | None, baseline: float, top: float) -> Markup:
    """A share with its interval and the baseline, on one axis from 0 to ``top``."""
    at, base = 100 * share / top, 100 * baseline / top
    whole = "" if ends is None else f'<path class="range" d="M{100 * ends[0] / top:.2f} 14H{100 * ends[1] / top:.2f}"/>'
    return Markup(
        '<svg class="scale" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="axis" d="M0 14H100"/>{whole}<path class="base" d="M{base:.2f} 4V24"/>'
        f'<path class="mark" d="M{at:.2f} 14h.01"/></svg>'
    )


def strip(weights: Sequence[float], order: Sequence[int]) -> Markup:
    """The shares of the classes as one line, in the order of their codes in ``order``."""
    total, x, parts = sum(weights), 0.0, []
    for code in order:
        if total and weights[code] > 0:
            wide = 100 * weights[code] / total
            parts.append(f'<rect style="fill:var(--k{code})" x="{x:.2f}" width="{wide:.2f}" height="8"/>')
            x += wide
    svg = '<svg class="strip" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
    return Markup(f"{svg}{''.join(parts)}</svg>")


def dot_line(share: float, ends: tuple[float, float], all_rows: float, top: float) -> Markup:
    """A share with its interval, beside the share of all rows (dashed), from 0 to ``top``."""
    low, at, high, even = (100 * min(value, top) / top for value in (ends[0], share, ends[1], all_rows))
    return Markup(
        '<svg class="dotline" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="even" d="M{even:.2f} 0V16"/><path class="range" d="M{low:.2f} 8H{high:.2f}"/>'
        f'<path class="mark" d="M{at:.2f} 8h.01"/></svg>'
    )


def bar_line(mean: float, deviation: float, low: float, high: float) -> Markup:
    """A bar from 0 to ``mean`` with a line for its standard deviation, on an axis from ``low`` to ``high``."""

    def at(value: float) -> float:
        return 100 * (value - low) / ((high - low) or 1.0)

    begin, end = sorted((at(0.0), at(mean)))
    return Markup(
        '<svg class="barline" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="fill" x="{begin:.2f}" y="3" width="{max(end - begin, 0.4):.2f}" height="8"/>'
        f'<path class="range" d="M{at(mean - deviation):.2f} 7H{at(mean + deviation):.2f}"/></svg>'
    )


def columns_that_matter(
    loss: Callable[[FloatArray, slice], float],
    X: FloatArray,
    tested: Sequence[int],
    name: Callable[[int], str],
    told: Callable[[float, float], str],
) -> dict[str, Any]:
    """By how much dealing out the values of a column anew raises a loss, with a bar for each, the greatest first.

    Parameters
    ----------
    loss, X : as in :func:`proofwood.report.measures.importance_of`
    tested : columns to show
    name : function that names a column
    told : function that says a mean and its standard deviation
    """
    found = sorted(importance_of(loss, X, tested).items(), key=lambda one: -one[1][0])
    low = min([0.0, *(mean - deviation for _, (mean, deviation) in found)])
    high = max([0.0, *(mean + deviation for _, (mean, deviation) in found)])
    return {
        "repeats": REPEATS,
        "columns": [
            {
                "name": name(column),
                "svg": bar_line(mean, deviation, low, high),
                "text": told(mean, deviation).replace("-", "−"),
            }
            for column, (mean, deviation) in found
        ],
    }


def in_points(mean: float, deviation: float) -> str:
    """A share and its standard deviation in percentage points."""
    return number(f"{100 * mean:+.1f} ± {100 * deviation:.1f}")


def curve(
    line: Sequence[tuple[float, float]],
    dots: Sequence[CurvePoint],
    x_name: str,
    y_name: str,
    *,
    diagonal: bool = False,
    level: float | None = None,
) -> Markup:
    """A line with points that can be reached, and a dashed line of comparison: the diagonal, or one level."""
    inside = _dashed(diagonal, level)
    if line:
        inside += '<path class="line" d="M' + "L".join("{:.1f} {:.1f}".format(*_at(*point)) for point in line) + '"/>'
    for dot in dots:
        x, y = _at(dot.x, dot.y)
        inside += _circle(dot)
        if dot.used:
            said = escape(gettext("this model"))
            left = dot.x > 0.7  # no room for the text right of the point
            place = f'x="{x + (-9 if left else 9):.1f}" y="{min(y + (15 if diagonal or left else -9), 246):.1f}"'
            inside += f'<text class="t strong" {place} text-anchor="{"end" if left else "start"}">{said}</text>'
    return _figure(inside, x_name, y_name)


def calibration(
    told: Sequence[float], hits: Sequence[int], rows: Sequence[int], names: Sequence[str], event: str
) -> Markup:
    """The share of the event at each leaf in training, against that among new rows with 95 % intervals (Wilson).

    Parameters
    ----------
    told : share of the class in each leaf, in training
    hits, rows : new rows of the class, and all new rows, in each leaf
    names : names of the leaves
    event : name of the class
    """
    inside, most = _dashed(True, None), max(rows, default=1)
    for k in sorted(range(len(rows)), key=lambda k: -rows[k]):
        if rows[k]:
            (low, high), seen = interval(hits[k], rows[k]), hits[k] / rows[k]
            x, (bottom, top) = _at(told[k], 0.0)[0], (_at(0.0, end)[1] for end in (low, high))
            shares = {"leaf": names[k], "told": percent(told[k]), "seen": percent(seen)}
            tip = ngettext(
                "%(leaf)s: told %(told)s, seen %(seen)s of %(n)s row",
                "%(leaf)s: told %(told)s, seen %(seen)s of %(n)s rows",
                rows[k],
                **shares,
            )
            inside += f'<path class="range" d="M{x:.1f} {bottom:.1f}V{top:.1f}"/>'
            inside += _circle(CurvePoint(told[k], seen, tip, 3 + 5 * math.sqrt(rows[k] / most)))
    across = gettext("share of %(event)s in the leaf, training rows", event=event)
    return _figure(inside, across, gettext("share seen in new rows"))


@dataclass(frozen=True)
class LeafPoint:
    """What a leaf predicts, and the numbers of the rows there.

    Parameters
    ----------
    told : the number that it predicts
    mean : mean of the rows
    ends : their quantiles of 5, 25, 75 and 95 %; None if there are few rows
    tip : text shown on hovering
    """

    told: float
    mean: float
    ends: Sequence[float] | None
    tip: str


def against(points: Sequence[LeafPoint], x_name: str, y_name: str, said: Callable[[float], str]) -> Markup:
    """The numbers of the rows at each leaf against what it predicts, both on one scale.

    Parameters
    ----------
    points : the leaves
    x_name, y_name : names of the axes
    said : function that says a number
    """
    values = [value for point in points for value in (point.told, point.mean, *(point.ends or ()))]
    low, high = min(values), max(values)
    reach = (high - low) or 1.0
    inside = _dashed(True, None)
    for point in points:
        x = (point.told - low) / reach
        if point.ends is not None:
            across = _at(x, 0.0)[0]
            heights = [_at(0.0, (end - low) / reach)[1] for end in point.ends]
            inside += f'<path class="range" d="M{across:.1f} {heights[0]:.1f}V{heights[3]:.1f}"/>'
            inside += f'<path class="range thick" d="M{across:.1f} {heights[1]:.1f}V{heights[2]:.1f}"/>'
        inside += _circle(CurvePoint(x, (point.mean - low) / reach, point.tip))
    ticks = [said(low + share * reach) for share in (0.0, 0.5, 1.0)]
    return _figure(inside, x_name, y_name, ticks)


@dataclass(frozen=True)
class StepLine:
    """A curve of shares over time.

    Parameters
    ----------
    curve : the curve, from 1 on
    end : the last time for which it is known
    code : code of its colour
    name : text shown on hovering
    mark : short text at its end; empty for none
    dashed : whether the line is dashed, and pale
    """

    curve: Curve
    end: float
    code: int
    name: str
    mark: str
    dashed: bool = False


def short_steps(last: float) -> list[float]:
    """Up to four times of few digits, evenly spaced, the last of them at most ``last``, which is above 0."""
    if not last > 0:
        return []
    size = 10.0 ** math.floor(math.log10(last))
    step = next(size * factor for factor in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5) if last / (size * factor) < 5)
    return [float(f"{step * k:.6g}") for k in range(1, int(last / step) + 1)]


def survival(lines: Sequence[StepLine], x_name: str, y_name: str, said: Callable[[float], str]) -> Markup:
    """Shares over time as steps, from 1 at time 0, with times of few digits below.

    Parameters
    ----------
    lines : the curves
    x_name, y_name : names of the axes
    said : function that says a time
    """
    last = max((one.end for one in lines), default=1.0)
    inside, ends = "", []
    for one in sorted(lines, key=lambda one: not one.dashed):
        x, y = _at(0.0, 1.0)
        path = f"M{x:.1f} {y:.1f}"
        for time, share in zip(one.curve.x.tolist(), one.curve.y.tolist(), strict=True):
            x, y = _at(time / last, share)
            path += f"H{x:.1f}V{y:.1f}"
        x = _at(one.end / last, 0.0)[0]
        path += f"H{x:.1f}"
        kind = "step dashed" if one.dashed else "step"
        inside += f'<path class="{kind}" style="stroke:var(--k{one.code})" d="{path}" data-tip="{escape(one.name)}"/>'
        if one.mark:
            ends.append((y, x, one.mark))
    floor = -math.inf
    for y, x, mark in sorted(ends):  # texts do not stand on each other
        floor = max(y + 4, floor + 12)
        inside += f'<text class="t" x="{x + 4:.1f}" y="{floor:.1f}">{escape(mark)}</text>'
    ticks = [(time / last, said(time)) for time in short_steps(last)]
    return _figure(inside, x_name, y_name, across=[(0.0, said(0.0)), *ticks])


def _circle(dot: CurvePoint) -> str:
    (x, y), kind = _at(dot.x, dot.y), "dot used" if dot.used else "dot"
    tip = escape(dot.tip)
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{dot.radius + 2 * dot.used:.1f}" data-tip="{tip}"/>'


def _at(x: float, y: float) -> tuple[float, float]:
    left, top, right, bottom = _SQUARE
    return left + (right - left) * x, bottom - (bottom - top) * y


def _dashed(diagonal: bool, level: float | None) -> str:
    (x0, y0), (x1, y1) = _at(0, 0), _at(1, 1)
    lines = f'<path class="even" d="M{x0} {y0}L{x1} {y1}"/>' if diagonal else ""
    return lines if level is None else f'{lines}<path class="even" d="M{x0} {_at(0, level)[1]:.1f}H{x1}"/>'


def _figure(
    inside: str,
    x_name: str,
    y_name: str,
    ticks: Sequence[str] | None = None,
    across: Sequence[tuple[float, str]] | None = None,
) -> Markup:
    """A square figure with its axes.

    Parameters
    ----------
    inside : what stands in it
    x_name, y_name : names of the axes
    ticks : texts of both axes, evenly spaced; by default of shares
    across : places and texts of the horizontal axis, if it has others
    """
    left, top, right, bottom = _SQUARE
    parts = []
    texts = [f"{25 * k}" for k in range(5)] if ticks is None else ticks
    even = [(k / (len(texts) - 1), text) for k, text in enumerate(texts)]
    for value, text in even:
        y, unit = _at(0.0, value)[1], "\u202f%" if value == 1 and ticks is None and across is not None else ""
        parts.append(f'<path class="grid-line" d="M{left} {y:.1f}H{right}"/>')
        parts.append(f'<text class="t" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}{unit}</text>')
    for value, text in even if across is None else across:
        x, unit = _at(value, 0.0)[0], "\u202f%" if value == 1 and ticks is None and across is None else ""
        parts.append(f'<path class="grid-line" d="M{x:.1f} {top}V{bottom}"/>')
        parts.append(f'<text class="t" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(text)}{unit}</text>')
    name, up = escape(x_name), escape(y_name)
    label = escape(gettext("%(up)s against %(across)s", up=y_name, across=x_name))
    room = 34 if ticks is not None else 6 if across is not None else 0  # for texts longer than those of shares
    start = f'<svg class="chart" viewBox="{-room} 0 {320 + room} 292" role="img" aria-label="{label}">'
    middle = (left + right) / 2, f"translate({11 - room} {(top + bottom) / 2}) rotate(-90)"
    return Markup(
        f"{start}{''.join(parts)}{inside}"
        f'<text class="t name" x="{middle[0]}" y="{bottom + 36}" text-anchor="middle">{name}</text>'
        f'<text class="t name" transform="{middle[1]}" text-anchor="middle">{up}</text></svg>'
    )
