"""How the rows at a node are spread over the column that it tests: what stands left of the cut goes left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import MINUTE, text_of
from proofwood.decimals import short
from proofwood.language import gettext, ngettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.show.colouring import n_codes
from proofwood.show.labels import Labels, asks_missing, shorten

MOST_NAMED = 6
"""The most levels that have a bar with a name below it; with more, bars are thin, and each side says how many."""
BINS = 22
_GAP_ROOM = 0.14  # share of the width that the bar of missing values takes
_PARTING = 0.08  # share of the width between the levels of the two sides
_CHARACTERS = 12  # characters of a level before it is shortened
_TAIL = 0.97  # axes end at this quantile, so that one outlier does not squeeze all others


@dataclass(frozen=True)
class AxisLabel:
    """A text below the axis, at ``x`` from 0 to 1, with the end by which it is anchored: start, middle or end."""

    x: float
    text: str
    anchor: str = "middle"
    strong: bool = False


@dataclass(frozen=True)
class Spread:
    """The bars of the rows at one node, in a picture of width 1.

    Parameters
    ----------
    left, width : (n_bars,) place of each bar
    rows : (n_bars, n_codes) rows in each bar, by the code of their colour, see :mod:`proofwood.show.colouring`
    cut : place of the cut
    labels : texts below the axis
    """

    left: FloatArray
    width: FloatArray
    rows: IntArray
    cut: float
    labels: tuple[AxisLabel, ...]

    def parts(self) -> list[tuple[float, float, float, float, int]]:
        """The parts of the bars: left, width, lower and upper end (1 is the highest bar), and code."""
        top = max(int(self.rows.sum(axis=1).max()), 1)
        ends = np.cumsum(self.rows, axis=1) / top
        return [
            (
                float(self.left[bar]),
                float(self.width[bar]),
                float(ends[bar, code] - self.rows[bar, code] / top),
                float(ends[bar, code]),
                code,
            )
            for bar, code in zip(*(place.tolist() for place in np.nonzero(self.rows)), strict=True)
        ]


def spreads(table: NodeTable, labels: Labels, X: FloatArray, codes: IntArray) -> dict[int, Spread]:
    """The spread of rows at each inner node that rows reach.

    Parameters
    ----------
    table, labels : the model and its names
    X : (n_rows, n_columns) numbers, NaN where missing
    codes : (n_rows,) code of the colour of each row, such as that of its class; rows of other classes have codes from
        the number of codes on and are not shown
    """
    n = n_codes(table)
    known = codes < n
    X, codes = X[known], codes[known]
    visits = evaluate.decision_path(table, X).tocsc()
    found = {}
    for node in table.splits():
        rows = visits.indices[visits.indptr[node] : visits.indptr[node + 1]]
        if rows.size:
            found[node] = _at(table, node, labels, _values(table, node, X[rows]), codes[rows], n)
    return found


def _values(table: NodeTable, node: int, X: FloatArray) -> FloatArray:
    column = int(table.feature[node])
    if column != OBLIQUE:
        return X[:, column]
    assert table.normals is not None
    columns, factors = table.normals.row(node)
    return np.asarray(X[:, columns] @ factors)


def _at(table: NodeTable, node: int, labels: Labels, values: FloatArray, codes: IntArray, n: int) -> Spread:
    gaps = np.isnan(values)
    column, gaps_low = int(table.feature[node]), bool(table.missing_low[node])
    if asks_missing(table, node) or (not math.isfinite(table.threshold[node]) and not table.by_levels[node]):
        sides = [(gettext("missing"), codes[gaps], gaps_low), (gettext("not missing"), codes[~gaps], not gaps_low)]
        return _bars(sorted(sides, key=lambda group: not group[2]), n)
    lows = None if table.levels is None else table.levels[node]
    boolean = labels.kinds.get(column) is Kind.BOOLEAN
    if lows is not None or boolean or column in labels.levels:
        low = values <= table.threshold[node] if lows is None else np.isin(values, list(lows))
        groups = _groups(labels, column, values, codes, low, ordered=lows is None)
        if gaps.any():
            at = sum(is_low for _, _, is_low in groups) if gaps_low else len(groups)
            groups.insert(at, (gettext("missing"), codes[gaps], gaps_low))
        return _bars(groups, n)
    return _histogram(table, node, labels, values, codes, gaps, n)


def _groups(
    labels: Labels, column: int, values: FloatArray, codes: IntArray, low: BoolArray, *, ordered: bool
) -> list[tuple[str, IntArray, bool]]:
    """The levels that occur, with the classes of their rows: those that go low first, the frequent ones first."""
    found = []
    for value in np.unique(values[~np.isnan(values)]).tolist():
        here = values == value
        name = (
            labels.level(column, int(value))
            if column in labels.levels
            else {0.0: gettext("no"), 1.0: gettext("yes")}.get(value, number(short(value)))
        )
        found.append((name, codes[here], bool(low[here][0])))
    if not ordered:
        found.sort(key=lambda group: -len(group[1]))
    return sorted(found, key=lambda group: not group[2])


def _bars(groups: Sequence[tuple[str, IntArray, bool]], n_classes: int) -> Spread:
    """One bar a level, the sides apart."""
    n, n_low = len(groups), sum(is_low for _, _, is_low in groups)
    step = (1 - _PARTING) / n
    thin = n > MOST_NAMED
    wide = step * (0.9 if thin else 0.8) if step < 0.3 else 0.24
    left = [k * step + (0.0 if is_low else _PARTING) + (step - wide) / 2 for k, (_, _, is_low) in enumerate(groups)]
    cut = n_low * step + _PARTING / 2
    if thin:
        marks = [
            AxisLabel(min(max(x, 0.12), 0.88), ngettext("%(n)s level", "%(n)s levels", count))
            for count, x in ((n_low, n_low * step / 2), (n - n_low, (1 + cut + _PARTING / 2) / 2))
            if count
        ]
    else:
        named = zip(left, groups, strict=True)
        marks = [AxisLabel(at + wide / 2, shorten(name, _CHARACTERS)) for at, (name, _, _) in named]
    rows = np.array([np.bincount(codes, minlength=n_classes) for _, codes, _ in groups])
    return Spread(np.array(left), np.full(n, wide), rows, cut, tuple(marks))


def _histogram(
    table: NodeTable, node: int, labels: Labels, values: FloatArray, codes: IntArray, gaps: BoolArray, n: int
) -> Spread:
    """Bins that end at the cut; missing values have a bar of their own on the side to which they go."""
    cut, gaps_low, has_gaps = float(table.threshold[node]), bool(table.missing_low[node]), bool(gaps.any())
    numbers, classes = values[~gaps], codes[~gaps]
    whole = bool(np.all(numbers == np.round(numbers)))
    edge = math.floor(cut) + 0.5 if whole else cut  # between whole numbers, at the end of a bin
    ends = np.quantile(numbers, [0.0, _TAIL], method="lower").tolist() if numbers.size else [cut, cut]
    low, high = min(ends[0], cut), max(ends[1], cut)
    step = high / BINS - low / BINS
    step = max(1.0, float(math.ceil(step))) if whole else step or 1.0
    before, after = (
        max(1, min(BINS + 2, math.ceil(part - 1e-9))) for part in ((edge - low) / step, (high - edge) / step)
    )
    room = _GAP_ROOM if has_gaps else 0.0
    begin, width = (room if gaps_low else 0.0), (1 - room) / (before + after)
    shifted = np.clip((numbers - edge) / step, -before, after)
    place = np.clip(np.floor(shifted).astype(np.int64) + before, 0, before + after - 1)
    at_cut = numbers <= cut
    place = np.where(at_cut, np.minimum(place, before - 1), np.maximum(place, before))
    rows = np.zeros((before + after, n), dtype=np.int64)
    np.add.at(rows, (place, classes), 1)
    left = begin + width * np.arange(before + after)
    wide = np.full(before + after, width)
    at = begin + before * width
    beside_gaps = has_gaps and (at < 0.3 if gaps_low else at > 0.7)
    anchor = (
        ("start" if gaps_low else "end") if beside_gaps else "start" if at < 0.08 else "end" if at > 0.92 else "middle"
    )
    marks = [AxisLabel(at, _number(table, node, labels, cut), anchor, strong=True)]
    if numbers.size and before * width > 0.3 and not (has_gaps and gaps_low):
        marks.insert(0, AxisLabel(begin, _number(table, node, labels, low, rough=True), "start"))
    if numbers.size and after * width > 0.4 and not (has_gaps and not gaps_low):
        beyond = "+" if float(numbers.max()) > high + step else ""
        marks.append(AxisLabel(1.0, _number(table, node, labels, high, rough=True) + beyond, "end"))
    if has_gaps:
        counts = np.bincount(codes[gaps], minlength=n)
        at = 0.0 if gaps_low else 1 - 0.5 * _GAP_ROOM
        left, wide = np.append(left, at), np.append(wide, 0.5 * _GAP_ROOM)
        rows = np.vstack([rows, counts])
        marks.append(AxisLabel(0.0 if gaps_low else 1.0, gettext("missing"), "start" if gaps_low else "end"))
    return Spread(left, wide, rows, begin + before * width, tuple(marks))


def _number(table: NodeTable, node: int, labels: Labels, value: float, *, rough: bool = False) -> str:
    """A number of an axis; ``rough`` ends of the axis have three digits."""
    column = int(table.feature[node])
    kind = labels.kinds.get(column)
    if kind in MOMENTS:
        whole = (
            math.floor(value / MINUTE) * MINUTE if rough and kind in (Kind.TIME, Kind.DURATION) else math.floor(value)
        )
        text = text_of(whole, kind, labels.zones.get(column))
        return text[:10] if rough and kind in (Kind.DATE, Kind.MOMENT) else text
    if not rough:
        return number(short(value))
    return number(f"{value:.0f}" if 100 <= abs(value) < 1e7 or value == 0 else f"{value:.3g}")


def node_counts(table: NodeTable, X: FloatArray, codes: IntArray) -> IntArray:
    """(n_nodes, n_codes) rows of each code at each node, such as each class; rows of unknown classes are left out."""
    n = n_codes(table)
    known = codes < n
    counts = np.zeros((table.n_nodes, n), dtype=np.int64)
    visits = evaluate.decision_path(table, X[known])
    nodes = visits.indices
    of_row = np.repeat(codes[known], np.diff(visits.indptr))
    np.add.at(counts, (nodes, of_row), 1)
    return counts
