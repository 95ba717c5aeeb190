"""What is found in words, and as HTML in the look of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from proofwood import __version__
from proofwood.drift.numbers import ERROR, ORDER, REWARD
from proofwood.drift.parts import About, ColumnDrift, Finding, LeafDrift, NumberDrift, Share, leaf_name
from proofwood.language import day, gettext, ngettext, number
from proofwood.printable import cut, printable
from proofwood.report.page import FOLDER as REPORT
from proofwood.report.page import templates
from proofwood.report.words import share
from proofwood.result import figure

HERE = Path(__file__).parent
MOST_LEAVES = 40
"""Most leaves in a text; a page has all."""
WIDEST = 60
"""Most characters of a rule in a text."""


def summary(drift: Any) -> str:
    """A :class:`proofwood.Drift` as text."""
    lines = [drift.verdict, *(f"- {finding.text} [{_p(finding)}]" for finding in drift.findings if finding.alarm)]
    lines += ["", *(f"{name}: {text}" for name, text in _facts(drift))]
    if drift.leaves:
        shown = sorted(drift.leaves, key=lambda leaf: -abs(leaf.now.share - leaf.then.share))[:MOST_LEAVES]
        lines += ["", *_aligned(_leaf_head(drift), [_leaf_cells(leaf) for leaf in shown])]
        more = len(drift.leaves) - MOST_LEAVES
        lines += [ngettext("and %(n)s more leaf", "and %(n)s more leaves", more)] if more > 0 else []
    if drift.columns:
        lines += ["", *_aligned(_column_head(), [_column_cells(column) for column in drift.columns])]
    notes = [gettext("note: %(note)s", note=note) for note in drift.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def whole(drift: Any) -> str:
    """A :class:`proofwood.Drift` as an HTML page, which works without a network."""
    style = Markup((REPORT / "style.css").read_text(encoding="utf-8"))
    today = {"day": day(datetime.now().astimezone()), "version": __version__}
    written = gettext("Written %(day)s, by proofwood %(version)s", **today)
    page = templates(HERE).get_template("page.html.jinja")
    return page.render(**_content(drift), style=style, written=written, language=drift.language)


def inner(drift: Any) -> str:
    """The same as a part of a page, for notebooks."""
    return templates(HERE).get_template("inner.html.jinja").render(**_content(drift))


def _content(drift: Any) -> dict[str, Any]:
    """What the templates show, as texts."""
    most = max((share.interval[1] for leaf in drift.leaves for share in (leaf.then, leaf.now)), default=1.0)
    return {
        "title": gettext("Drift: %(target)s", target=printable(drift.target)) if drift.target else gettext("Drift"),
        "found": drift.found,
        "verdict": drift.verdict,
        "reasons": [(finding.text, _p(finding)) for finding in drift.findings if finding.alarm],
        "facts": _facts(drift),
        "leaf_head": _leaf_head(drift),
        "leaves": [(_leaf_cells(leaf, rule=None), _bars(leaf, most), _is_alarm(drift, leaf)) for leaf in drift.leaves],
        "column_head": _column_head(),
        "columns": [_column_cells(column) for column in drift.columns],
        "tests": [(gettext(f.about), f.where, f.text, _p(f), f.alarm) for f in drift.findings],
        "false_alarms": number(f"{drift.false_alarms:.2g}"),
        "tolerance": share(drift.tolerance) if drift.tolerance else "",
        "notes": drift.notes,
    }


def _p(finding: Finding) -> str:
    if finding.about in (About.FRACTIONS, About.UNREADABLE):
        return gettext("not by chance")
    return f"p {number(f'{finding.corrected:.2g}')}" if finding.corrected >= 1e-12 else "p < 1e-12"


def _is_alarm(drift: Any, leaf: LeafDrift) -> bool:
    return any(finding.alarm and finding.where == leaf_name(leaf) for finding in drift.findings)


def _facts(drift: Any) -> list[tuple[str, str]]:
    found = [(gettext("model"), drift.model), (gettext("training rows"), number(f"{drift.training_rows:,}"))]
    if drift.leaves:
        text = gettext(
            "%(moved)s of the rows are at other leaves; by chance about %(chance)s",
            moved=share(drift.moved),
            chance=share(drift.moved_by_chance),
        )
        found.append((gettext("moved"), text))
    if drift.numbers is not None:
        found.append((drift.numbers.what, _numbers(drift.numbers)))
    if drift.errors is not None:
        found.append((gettext("wrong"), _errors(drift)))
        if drift.errors.unknown:
            text = ngettext(
                "%(n)s row with a class that training did not have",
                "%(n)s rows with classes that training did not have",
                drift.errors.unknown,
            )
            found.append((gettext("unknown"), text))
    return found


def _numbers(found: NumberDrift) -> str:
    parts = [gettext("now %(number)s", number=_figure(found.now))]
    parts.append(gettext("in training %(number)s", number=_figure(found.then)))
    if not math.isnan(found.held_out):
        source = gettext("on the held-out rows of the cross-validation")
        parts.append(f"{_figure(found.held_out)} {source}")
    return "; ".join(parts)


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else number(figure(value))


def _errors(drift: Any) -> str:
    errors = drift.errors
    training = gettext("in training %(share)s", share=_percent(errors.training))
    if drift.weighted and not math.isnan(errors.training):
        training = gettext("in training %(share)s of the weight", share=_percent(errors.training))
    if errors.expected is None:
        return f"{errors.now}; {training}"
    compared = gettext("compared with %(share)s %(source)s", share=share(errors.expected), source=errors.source)
    return f"{errors.now}; {training}; {compared}"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else share(value)


# ------------------------------------------------------------------------------------------------------------ tables


def _column_head() -> tuple[str, ...]:
    return (
        gettext("column"),
        gettext("missing then"),
        gettext("missing now"),
        gettext("training"),
        gettext("now"),
        gettext("outside"),
        gettext("new levels"),
    )


def _leaf_head(drift: Any) -> tuple[str, ...]:
    """Weights and counts stand side by side and cannot be compared: the head says which is which."""
    figures = (
        gettext("wrong then (weight)") if drift.weighted else gettext("wrong then"),
        gettext("wrong now (95 %)"),
    )
    if drift.numbers is not None:
        figures = {
            gettext(ERROR): (gettext("spread then"), gettext("error now (mean)")),
            gettext(REWARD): (gettext("mean reward then"), gettext("mean reward now")),
            gettext(ORDER): (gettext("rate then"), gettext("rate now")),
        }[drift.numbers.what]
    head = (gettext("leaf"), gettext("predicts"), gettext("rows then"), gettext("rows now (95 %)"))
    return (*head, *figures, gettext("way"))


def _leaf_cells(leaf: LeafDrift, rule: int | None = WIDEST) -> list[str]:
    wrong = leaf.wrong_now
    return [
        str(leaf.node),
        leaf.prediction,
        f"{number(f'{leaf.then.count:,}')} ({share(leaf.then.share)})",
        _with_interval(leaf.now),
        _percent(leaf.error_then) if leaf.numbers is None else _figure(leaf.numbers.then),
        _now(leaf.numbers) if wrong is None else _with_interval(wrong),
        leaf.rule if rule is None else cut(leaf.rule, rule),
    ]


def _now(found: NumberDrift | None) -> str:
    """The figure of the new rows at a leaf, with the mean of their numbers."""
    if found is None or math.isnan(found.now):
        return "–"
    return _figure(found.now) + ("" if math.isnan(found.mean_now) else f" ({_figure(found.mean_now)})")


def _with_interval(found: Share) -> str:
    low, high = found.interval
    ends = gettext("%(low)s to %(high)s", low=share(low), high=share(high))
    return f"{number(f'{found.count:,}')} ({share(found.share)}; {ends})"


def _column_cells(column: ColumnDrift) -> list[str]:
    if column.unreadable:
        return [column.name, share(column.missing_then.share), gettext("cannot be read"), "–", "–", "–", "–"]
    outside = [part for part in (column.below, column.above) if part is not None]
    levels = ", ".join(f"{level} ({number(f'{count:,}')})" for level, count in column.new_levels[:3])
    more = len(column.new_levels) - 3
    if more > 0:
        levels += " " + ngettext("and %(n)s more", "and %(n)s more", more)
    return [
        column.name,
        share(column.missing_then.share),
        "–" if column.missing_now is None else share(column.missing_now.share),
        _range(column.range_then),
        _range(column.range_now),
        number(f"{sum(part.count for part in outside):,}") if outside else "–",
        levels or (gettext("none") if column.new_level_rows else "–"),
    ]


def _range(ends: tuple[str, str] | None) -> str:
    return "–" if ends is None else gettext("%(low)s to %(high)s", low=ends[0], high=ends[1])


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table of texts."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]


def _bars(leaf: LeafDrift, most: float) -> list[list[str]]:
    """For then and now, in percent of the width: the share, and both ends of its interval."""
    return [[f"{100 * part / most:.2f}" for part in (found.share, *found.interval)] for found in (leaf.then, leaf.now)]
