"""The pages and pictures of ``benchmarks.scaling``, from its stored fits."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Table, markdown_table, number, seconds_text, write_page
from benchmarks.scaling_tables import ALL, AXES, FIELDS, Point, cores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Measured:
    """A stored fit."""

    axis: str
    point: Point
    cpu: float
    wall: float
    peak_mb: float
    input_mb: float
    row_visits: float
    status: str
    row: Mapping[str, str]

    @property
    def proved(self) -> bool:
        """Whether the fit ended with a proof."""
        return self.status == "optimal"


def measured(table: Table) -> list[Measured]:
    """The last stored fit of each point that ended with a tree, in the order of the file."""
    last: dict[tuple[str, Point], Measured] = {}
    for row in table.rows:
        if row["status"] not in ("optimal", "feasible"):
            continue
        point = Point(**{name: row[name] if name == "search" else int(row[name]) for name in FIELDS})
        figures = (number(row[name]) for name in ("cpu", "wall", "peak_mb", "input_mb", "row_visits"))
        last[row["axis"], point] = Measured(row["axis"], point, *figures, status=row["status"], row=row)
    return list(last.values())


def results(table: Table, page: Path) -> Path:
    """All stored fits as tables, an axis each."""
    found = measured(table)
    blocks = [
        "CPU seconds of one fit of `OptimalTreeClassifier` over generated tables, the median of several where a fit is "
        "short, and the growth of the resident set over the first fit, in a process of its own in which the table was "
        "made before. *Over the input* is that growth over the size of the table in float64, shown from 8 MB on: "
        "below, what any fit needs outweighs it. A *row visit* is one row of one column in one pass. Pictures and what "
        "they show: [How it scales](../../docs/scaling.md)."
    ]
    header = (
        *("table", "depth", "search", "CPU, s", "wall, s", "ns per row visit", "row visits per row"),
        *("peak, MB", "over the input", "status"),
    )
    for axis in AXES:
        rows = [_cells(one) for one in found if one.axis == axis]
        if rows:
            blocks.append(f"## {axis.capitalize()}\n\n{markdown_table(header, rows)}")
    failed = [row for row in table.rows if row["status"] not in ("optimal", "feasible")]
    for row in failed:
        blocks.append(f"{row['rows']} x {row['columns']}, depth {row['depth']}: {row['status']}, {row['error']}.")
    return write_page(
        page, "Scaling of the optimal tree learner", *blocks, rows=table.rows, command="python -m benchmarks.scaling"
    )


def _cells(one: Measured) -> list[str]:
    point = one.point
    values = "all" if point.distinct == ALL else f"{point.distinct:,}"
    name = f"{point.rows:,} x {point.columns:,}, {point.classes} classes, {values} values, {point.threads} threads"
    big = one.input_mb >= 8
    return [
        name,
        str(point.depth),
        point.search,
        seconds_text(one.cpu),
        seconds_text(one.wall),
        _significant(one.cpu / one.row_visits * 1e9) if one.row_visits > 0 else "–",
        f"{one.row_visits / point.rows:,.0f}" if one.row_visits > 0 else "–",
        _significant(one.peak_mb),
        f"{one.peak_mb / one.input_mb:.2f}" if big else "–",
        "proved" if one.proved else f"not proved in {number(one.row['limit']):g} s",
    ]


def explained(table: Table, docs: Path) -> Path:
    """The page of the documentation with its pictures: what is seen, with the figures of the stored fits."""
    found = measured(table)
    folder = docs / "images"
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [
        "What a proof costs as a table grows, one property at a time. Tables are generated: uniform values, six "
        "columns and their products say the class, smoothly and with noise, so that no tree fits the rows and "
        "thresholds beside the best one are nearly as good. Seconds are CPU seconds of one fit on one thread; memory "
        "is the growth of the process over the fit. Hollow points were not proved within their limit. All figures "
        "are in "
        "[the results](../benchmarks/results/scaling.md); `python -m benchmarks.scaling` makes them and this page."
    ]
    for axis, (title, alt, draw) in PICTURES.items():
        here = [one for one in found if one.axis == axis]
        if not here:
            continue
        name = f"scaling-{axis}.png"
        draw(here, folder / name)
        blocks += [f"## {title}", f"![{alt}](images/{name})", " ".join(WORDS[axis](here))]
    million = [one for one in found if one.axis == "million"]
    if million:
        blocks += ["## A million rows", " ".join(_words_million(million))]
    return write_page(
        docs / "scaling.md", "How it scales", *blocks, rows=table.rows, command="python -m benchmarks.scaling"
    )


Words = Callable[[Sequence[Measured]], list[str]]


def _words_rows(found: Sequence[Measured]) -> list[str]:
    """Cost per row of the largest table over that of the middle one, by depth and kind of column."""
    words = []
    for depth, distinct in dict.fromkeys((one.point.depth, one.point.distinct) for one in found):
        line = [one for one in _series(found, depth=depth, distinct=distinct) if one.proved]
        if len(line) < 2 or (base := base_of_rows(line)) is line[-1]:
            continue
        last = line[-1]
        kind = "values that all differ" if distinct == ALL else f"{distinct} values a column"
        per_row = _per(last, last.point.rows) / _per(base, base.point.rows)
        text = (
            f"With {kind}, {last.point.rows:,} rows at depth {depth} take {_amount(last)}, "
            f"{_significant(per_row)} times as much per row as for {base.point.rows:,}"
        )
        if last.row_visits > 0 and base.row_visits > 0:
            visits = _visits(last) / _visits(base)
            text += f" ({_times(visits)}the passes over each row, each at {_times(per_row / visits)}the price)"
        words.append(text + ".")
    for one in found:
        if not one.proved:
            kind = "values that all differ" if one.point.distinct == ALL else f"{one.point.distinct} values a column"
            words.append(
                f"With {kind}, {one.point.rows:,} rows at depth {one.point.depth} were not proved in "
                f"{number(one.row['limit']):g} s; cost per row is that of proofs."
            )
    ratios = [one.peak_mb / one.input_mb for one in found if one.input_mb >= 8]
    if ratios:
        words.append(f"Memory beside tables of 8 MB or more is {_range(ratios)} times the float64 input.")
    return words


def _words_columns(found: Sequence[Measured]) -> list[str]:
    rows = max(one.point.rows for one in found)
    words = []
    for depth in sorted({one.point.depth for one in found}):
        line = [one for one in _series(found, depth=depth, rows=rows, by="columns") if one.proved]
        if len(line) > 1:
            last, before = line[-1], line[-2]
            words.append(
                f"At depth {depth}, {rows:,} rows and {last.point.columns:,} columns take {_amount(last)} and "
                f"{_significant(last.peak_mb)} MB; from {before.point.columns:,} columns on, cost grows with the "
                f"power {_power(before, last, 'columns'):.1f} of their number."
            )
    for one in found:
        if one.point.rows != rows:
            words.append(
                f"{one.point.rows:,} rows and {one.point.columns:,} columns at depth {one.point.depth} take "
                f"{_amount(one)} and {_significant(one.peak_mb)} MB."
            )
    words.append("A search without bounds grows with the power of the depth: all pairs of columns at depth two.")
    return words


def _words_classes(found: Sequence[Measured]) -> list[str]:
    words = []
    for depth in sorted({one.point.depth for one in found}):
        line = _series(found, depth=depth, by="classes")
        first, last = line[0], line[-1]
        words.append(
            f"At depth {depth}, {first.point.classes} classes take {_amount(first)} and {last.point.classes} classes "
            f"{_amount(last)}, {_significant(last.cpu / first.cpu)} times as much."
        )
    words.append(
        "The labels are drawn anew for each number of classes, so that a proof may be harder for fewer of them. Two "
        "classes are counted as one signed number, more of them one by one, which is the step from two to three."
    )
    return words


def _words_distinct(found: Sequence[Measured]) -> list[str]:
    words = []
    for depth in sorted({one.point.depth for one in found}):
        line = _series(found, depth=depth, by="distinct")
        line = [one for one in line if one.proved]
        if len(line) < 2:
            continue
        steps = [(after.cpu / before.cpu, before, after) for before, after in itertools.pairwise(line)]
        step, before, after = max(steps, key=lambda one: one[0])
        words.append(
            f"At depth {depth}, {values_text(line[0].point)} a column take {_amount(line[0])}, "
            f"{values_text(line[-1].point)} {_amount(line[-1])}; the steepest step, {_significant(step)} times, is "
            f"from {values_text(before.point)} to {values_text(after.point)}."
        )
    chosen = {(one.point.depth, one.point.distinct): one for one in found if one.point.search == "chosen"}
    gains = [
        (one.cpu / chosen[key].cpu, one)
        for one in found
        if one.point.search == "thresholds" and (key := (one.point.depth, one.point.distinct)) in chosen
    ]
    if gains:
        most, one = max(gains, key=lambda pair: pair[0])
        words.append(
            "Columns of few values are searched over packed words; the search over thresholds (dashed) takes up to "
            f"{_significant(most)} times as long there ({values_text(one.point)}, depth {one.point.depth})."
        )
    return words


def _words_threads(found: Sequence[Measured]) -> list[str]:
    walls = walls_by_threads(found)
    point, single = found[0].point, walls[1]
    parts = [
        f"{count} threads {seconds_text(wall)} s, {single / wall:.2f} times faster, an efficiency of "
        f"{single / wall / count:.2f}"
        for count, wall in walls.items()
        if count > 1
    ]
    return [
        f"Here wall seconds count, {len({one.point.round for one in found})} fits each, in turn, the median: "
        f"{point.rows:,} rows, {point.columns} columns, depth {point.depth}. One thread takes "
        f"{seconds_text(single)} s, {'; '.join(parts)}.",
        f"Efficiency is the wall time of one thread over that of n, divided by n; the machine has {cores()} cores.",
    ]


def _words_million(found: Sequence[Measured]) -> list[str]:
    return [
        f"{one.point.rows:,} rows, {one.point.columns} columns, depth {one.point.depth}: {_amount(one)}; objective "
        f"{one.row['errors']}, lower bound {one.row['lower_bound']}; memory {_significant(one.peak_mb)} MB beside the "
        f"table, {one.peak_mb / one.input_mb:.2f} times the float64 input of {_significant(one.input_mb)} MB."
        for one in found
    ]


WORDS: dict[str, Words] = {
    "rows": _words_rows,
    "columns": _words_columns,
    "classes": _words_classes,
    "distinct": _words_distinct,
    "threads": _words_threads,
}


def _series(found: Iterable[Measured], *, by: str = "rows", search: str = "chosen", **fixed: int) -> list[Measured]:
    """Fits whose points have these values, by a field; "all values differ" is the most values."""
    chosen = [
        one
        for one in found
        if one.point.search == search and all(getattr(one.point, name) == value for name, value in fixed.items())
    ]
    return sorted(chosen, key=lambda one: size_of(one.point, by))


def size_of(point: Point, by: str) -> int:
    """The value of a field; where all values differ, as many as rows."""
    value: int = getattr(point, by)
    return point.rows if by == "distinct" and value == ALL else value


def base_of_rows(line: Sequence[Measured]) -> Measured:
    """The fit over 10,000 rows, to which others are compared; the first one where there is none."""
    return next((one for one in line if one.point.rows == 10_000), line[0])


def walls_by_threads(found: Iterable[Measured]) -> dict[int, float]:
    """Median wall seconds by the number of threads."""
    walls: dict[int, list[float]] = {}
    for one in found:
        walls.setdefault(one.point.threads, []).append(one.wall)
    return {count: statistics.median(walls[count]) for count in sorted(walls)}


def values_text(point: Point) -> str:
    """How many values each column has, in words."""
    return "values that all differ" if point.distinct == ALL else f"{point.distinct:,} values"


def _amount(one: Measured) -> str:
    return f"{seconds_text(one.cpu)} s" + ("" if one.proved else " without a proof")


def _per(one: Measured, count: int) -> float:
    return one.cpu / count


def _visits(one: Measured) -> float:
    return one.row_visits / one.point.rows


def _power(first: Measured, last: Measured, by: str) -> float:
    return math.log(last.cpu / first.cpu) / math.log(size_of(last.point, by) / size_of(first.point, by))


def _significant(value: float) -> str:
    """Two or three digits."""
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _times(ratio: float) -> str:
    return "just " if f"{ratio:.2g}" == "1" else f"{_significant(ratio)} times "


def _range(values: Sequence[float]) -> str:
    low, high = _significant(min(values)), _significant(max(values))
    return low if low == high else f"{low} to {high}"


# ------------------------------------------------------------------ pictures

SHADES = {2: "#7fb2d9", 3: "#1b6ca8", 4: "#0b2f4f"}
"""Depths, from light to dark."""
OTHER, GREY = "#c1562d", "0.45"
SECONDS, MEMORY = "CPU seconds of a fit", "memory beside the table, MB"


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * count, 3.4) if count > 1 else (4.6, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for axis in axes:
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        axis.grid(color="0.92", which="major")
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=8.5)
        axis.xaxis.label.set_fontsize(9)
        axis.yaxis.label.set_fontsize(9)
    return figure, axes


def _draw(axis: Axes, by: str, line: Sequence[Measured], values: Sequence[float], **style: Any) -> None:
    """A line over a field of the points; hollow where nothing was proved."""
    places = [size_of(one.point, by) for one in line]
    axis.plot(places, values, **style)
    for x, y, one in zip(places, values, line, strict=True):
        face = style["color"] if one.proved else "white"
        axis.plot(x, y, "o", color=style["color"], markerfacecolor=face, markersize=4.5)


def _labels(axis: Axes, x: str, y: str, *, ticks: Mapping[int, str] | None = None) -> None:
    """Logarithmic axes with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    low, high = axis.get_ylim()
    if high < 60 * low:  # few decades, so that the numbers between them are wanted
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if ticks is not None:
        axis.set_xticks(list(ticks), list(ticks.values()))
        axis.xaxis.set_minor_locator(NullLocator())


def _save(figure: Figure, path: Path) -> Path:
    """With one legend for all panels below them."""
    lines = {}
    for axis in figure.axes:
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True):
            lines.setdefault(label, line)
    panels = len(figure.axes)
    room, wanted = 60 * panels, sum(len(label) + 8 for label in lines)  # letters, with the sample of each line
    columns = len(lines) if wanted <= room else 2 * panels
    style = {"frameon": False, "fontsize": 8, "handlelength": 2.2}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=columns, **style)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path


def _draw_rows(found: Sequence[Measured], path: Path) -> Path:
    """CPU seconds, cost per row, and memory, over rows."""
    figure, (seconds, per_row, memory) = _panels(3)
    for depth, distinct in dict.fromkeys((one.point.depth, one.point.distinct) for one in found):
        line = _series(found, depth=depth, distinct=distinct)
        values = "all differ" if distinct == ALL else f"{distinct} values"
        dash = "-" if distinct == ALL else (0, (4, 2))
        style = {"color": SHADES[depth], "linestyle": dash, "label": f"depth {depth}, {values}"}
        base = base_of_rows(line)
        _draw(seconds, "rows", line, [one.cpu for one in line], **style)
        proofs = [one for one in line if one.proved]
        ratios = [_per(one, one.point.rows) / _per(base, base.point.rows) for one in proofs]
        _draw(per_row, "rows", proofs, ratios, **style)
        _draw(memory, "rows", line, [one.peak_mb for one in line], **style)
    _inputs(memory, "rows", found)
    _labels(seconds, "rows", SECONDS)
    _labels(per_row, "rows", f"cost per row, {base.point.rows:,} rows = 1")
    _labels(memory, "rows", MEMORY)
    per_row.axhspan(1 / 1.5, 1.5, color="0.93", linewidth=0, zorder=0, label="within a factor of 1.5")
    return _save(figure, path)


def _inputs(axis: Axes, by: str, found: Sequence[Measured]) -> None:
    """The size of the tables as a dotted line."""
    sizes = sorted({(size_of(one.point, by), one.input_mb) for one in found})
    axis.plot(*zip(*sizes, strict=True), ":", color=GREY, linewidth=1.4, label="the table in float64")


def _draw_columns(found: Sequence[Measured], path: Path) -> Path:
    """CPU seconds and memory over columns."""
    figure, (seconds, memory) = _panels(2)
    rows = max(one.point.rows for one in found)
    for depth in sorted({one.point.depth for one in found}):
        line = _series(found, depth=depth, rows=rows, by="columns")
        style = {"color": SHADES[depth], "label": f"depth {depth}"}
        _draw(seconds, "columns", line, [one.cpu for one in line], **style)
        _draw(memory, "columns", line, [one.peak_mb for one in line], **style)
    for one in found:
        if one.point.rows != rows:
            style = {"color": OTHER, "label": f"depth {one.point.depth}, {one.point.rows:,} rows"}
            _draw(seconds, "columns", [one], [one.cpu], marker="o", **style)
            _draw(memory, "columns", [one], [one.peak_mb], marker="o", **style)
    _inputs(memory, "columns", [one for one in found if one.point.rows == rows])
    _labels(seconds, f"columns ({rows:,} rows)", SECONDS)
    _labels(memory, f"columns ({rows:,} rows)", MEMORY)
    return _save(figure, path)


def _draw_classes(found: Sequence[Measured], path: Path) -> Path:
    """CPU seconds and memory over classes."""
    return _draw_plain(found, path, by="classes", ticks={value: str(value) for value in _sizes(found, "classes")})


def _draw_distinct(found: Sequence[Measured], path: Path) -> Path:
    """CPU seconds and memory over the number of values of a column."""
    sizes = _sizes(found, "distinct")
    ticks = {size: f"{size:,}" for size in sizes[:-1] if math.log2(size) % 2 == 1}
    return _draw_plain(found, path, by="distinct", ticks={**ticks, sizes[-1]: "all"})


def _draw_plain(found: Sequence[Measured], path: Path, *, by: str, ticks: Mapping[int, str]) -> Path:
    figure, (seconds, memory) = _panels(2)
    for depth, search in dict.fromkeys((one.point.depth, one.point.search) for one in found):
        line = _series(found, depth=depth, search=search, by=by)
        chosen = search == "chosen"
        style = {"color": SHADES[depth], "linestyle": "-" if chosen else (0, (4, 2))}
        style["label"] = f"depth {depth}" + ("" if chosen else ", over thresholds")
        _draw(seconds, by, line, [one.cpu for one in line], **style)
        if chosen:
            _draw(memory, by, line, [one.peak_mb for one in line], **style)
    point = found[0].point
    x = f"{NAMES[by]} ({point.rows:,} rows, {point.columns} columns)"
    _inputs(memory, by, found)
    _labels(seconds, x, SECONDS, ticks=ticks)
    _labels(memory, x, MEMORY, ticks=ticks)
    return _save(figure, path)


def _sizes(found: Iterable[Measured], by: str) -> list[int]:
    return sorted({size_of(one.point, by) for one in found})


def _draw_threads(found: Sequence[Measured], path: Path) -> Path:
    """Times faster than one thread, and the line of full efficiency."""
    figure, (axis,) = _panels(1)
    walls = walls_by_threads(found)
    counts = list(walls)
    for efficiency, grey in ((1.0, GREY), (0.8, "0.7")):
        ends = [efficiency, efficiency * counts[-1]]
        axis.plot([1, counts[-1]], ends, ":", color=grey, label=f"efficiency {efficiency:g}")
    gains = [walls[1] / wall for wall in walls.values()]
    axis.plot(counts, gains, "o-", color=SHADES[3], markersize=4.5, label="measured")
    for count, gain in zip(counts[1:], gains[1:], strict=True):
        note = f"{gain / count:.2f}"
        axis.annotate(note, (count, gain), (6, -12), textcoords="offset points", fontsize=8, color=SHADES[3])
    point = found[0].point
    axis.set_xticks(counts)
    axis.set_xlim(0.9, counts[-1] * 1.12)
    axis.set_ylim(0, counts[-1] * 1.08)
    axis.set_xlabel(f"threads ({point.rows:,} rows, {point.columns} columns, depth {point.depth})")
    axis.set_ylabel("times faster than one (wall)")
    return _save(figure, path)


NAMES = {"classes": "classes", "distinct": "values of a column"}
Draw = Callable[[Sequence[Measured], Path], Path]
PICTURES: dict[str, tuple[str, str, Draw]] = {
    "rows": ("Rows", "CPU seconds, cost per row and memory over rows, as lines of depth two and three", _draw_rows),
    "columns": ("Columns", "CPU seconds and memory rise with the number of columns", _draw_columns),
    "classes": ("Classes", "CPU seconds and memory over two to fifty classes", _draw_classes),
    "distinct": ("Distinct values", "CPU seconds and memory over the number of values of a column", _draw_distinct),
    "threads": ("Threads", "Times faster over threads, beside the line of full efficiency", _draw_threads),
}
"""Heading, description and drawing of each axis that has a picture."""
