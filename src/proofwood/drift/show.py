"""What is found in words, and as HTML in the look of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from proofwood import __version__
from proofwood.drift.parts import About, ColumnDrift, Finding, LeafDrift, Share
from proofwood.printable import cut, printable
from proofwood.report.words import FOLDER as REPORT
from proofwood.report.words import share

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
        lines += [f"and {len(drift.leaves) - MOST_LEAVES} more leaves"] if len(drift.leaves) > MOST_LEAVES else []
    if drift.columns:
        lines += ["", *_aligned(_COLUMN_HEAD, [_column_cells(column) for column in drift.columns])]
    return "\n".join([*lines, *([""] if drift.notes else []), *(f"note: {note}" for note in drift.notes)])


def whole(drift: Any) -> str:
    """A :class:`proofwood.Drift` as an HTML page, which works without a network."""
    style = (REPORT / "style.css").read_text(encoding="utf-8")
    written = f"Written {datetime.now().astimezone():%d %B %Y}, by proofwood {__version__}"
    return (
        _environment().get_template("page.html.jinja").render(**_content(drift), style=Markup(style), written=written)
    )


def inner(drift: Any) -> str:
    """The same as a part of a page, for notebooks."""
    return _environment().get_template("inner.html.jinja").render(**_content(drift))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _content(drift: Any) -> dict[str, Any]:
    """What the templates show, as texts."""
    most = max((share.interval[1] for leaf in drift.leaves for share in (leaf.then, leaf.now)), default=1.0)
    return {
        "title": f"Drift: {printable(drift.target)}" if drift.target else "Drift",
        "found": drift.found,
        "verdict": drift.verdict,
        "reasons": [(finding.text, _p(finding)) for finding in drift.findings if finding.alarm],
        "facts": _facts(drift),
        "leaf_head": _leaf_head(drift),
        "leaves": [(_leaf_cells(leaf, rule=None), _bars(leaf, most), _is_alarm(drift, leaf)) for leaf in drift.leaves],
        "column_head": _COLUMN_HEAD,
        "columns": [_column_cells(column) for column in drift.columns],
        "tests": [(str(f.about), f.where, f.text, _p(f), f.alarm) for f in drift.findings],
        "false_alarms": f"{drift.false_alarms:.2g}",
        "tolerance": share(drift.tolerance) if drift.tolerance else "",
        "notes": drift.notes,
    }


def _p(finding: Finding) -> str:
    if finding.about in (About.FRACTIONS, About.UNREADABLE):
        return "not by chance"
    return f"p {finding.corrected:.2g}" if finding.corrected >= 1e-12 else "p < 1e-12"


def _is_alarm(drift: Any, leaf: LeafDrift) -> bool:
    return any(finding.alarm and finding.where == f"leaf {leaf.node}" for finding in drift.findings)


def _facts(drift: Any) -> list[tuple[str, str]]:
    found = [("model", drift.model), ("training rows", f"{drift.training_rows:,}")]
    if drift.leaves:
        chance = share(drift.moved_by_chance)
        found.append(("moved", f"{share(drift.moved)} of the rows are at other leaves; by chance about {chance}"))
    if drift.errors is not None:
        errors = drift.errors
        weight = " of the weight" if drift.weighted and not math.isnan(errors.training) else ""
        expected = "" if errors.expected is None else f"; compared with {share(errors.expected)} {errors.source}"
        found.append(("wrong", f"{errors.now}; in training {_percent(errors.training)}{weight}{expected}"))
        if errors.unknown:
            found.append(("unknown", f"{errors.unknown:,} rows with classes that training did not have"))
    return found


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else share(value)


# ------------------------------------------------------------------------------------------------------------ tables

_COLUMN_HEAD = ("column", "missing then", "missing now", "training", "now", "outside", "new levels")


def _leaf_head(drift: Any) -> tuple[str, ...]:
    """Weights and counts stand side by side and cannot be compared: the head says which is which."""
    then = "wrong then (weight)" if drift.weighted else "wrong then"
    return ("leaf", "predicts", "rows then", "rows now (95 %)", then, "wrong now (95 %)", "way")


def _leaf_cells(leaf: LeafDrift, rule: int | None = WIDEST) -> list[str]:
    wrong = leaf.wrong_now
    return [
        str(leaf.node),
        leaf.prediction,
        f"{leaf.then.count:,} ({share(leaf.then.share)})",
        _with_interval(leaf.now),
        _percent(leaf.error_then),
        "–" if wrong is None else _with_interval(wrong),
        leaf.rule if rule is None else cut(leaf.rule, rule),
    ]


def _with_interval(found: Share) -> str:
    low, high = found.interval
    return f"{found.count:,} ({share(found.share)}; {share(low)} to {share(high)})"


def _column_cells(column: ColumnDrift) -> list[str]:
    if column.unreadable:
        return [column.name, share(column.missing_then.share), "cannot be read", "–", "–", "–", "–"]
    outside = [part for part in (column.below, column.above) if part is not None]
    levels = ", ".join(f"{level} ({count:,})" for level, count in column.new_levels[:3])
    more = len(column.new_levels) - 3
    return [
        column.name,
        share(column.missing_then.share),
        "–" if column.missing_now is None else share(column.missing_now.share),
        "–" if column.range_then is None else " to ".join(column.range_then),
        "–" if column.range_now is None else " to ".join(column.range_now),
        f"{sum(part.count for part in outside):,}" if outside else "–",
        levels + (f" and {more} more" if more > 0 else "") or ("none" if column.new_level_rows else "–"),
    ]


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table of texts."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]


def _bars(leaf: LeafDrift, most: float) -> list[list[str]]:
    """For then and now, in percent of the width: the share, and both ends of its interval."""
    return [[f"{100 * part / most:.2f}" for part in (found.share, *found.interval)] for found in (leaf.then, leaf.now)]
