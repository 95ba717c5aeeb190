"""The columns of a table as a page describes them: meaning, possible tests, values, missing values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofwood.data.kinds import CATEGORIES, Kind
from proofwood.data.schema import Schema
from proofwood.language import gettext, marked, ngettext, number, retold
from proofwood.model.node_table import OBLIQUE, NodeTable
from proofwood.printable import printable, shown
from proofwood.report.card import Card
from proofwood.report.words import Words

MOST_NAMED = 8
"""Most levels that the page names."""


def described(
    schema: Schema, table: NodeTable, words: Words, card: Card, tested: Sequence[int]
) -> list[dict[str, str | bool]]:
    """Each column: its name, meaning, possible tests, values in the table, missing values, and whether it is tested."""
    found: list[dict[str, str | bool]] = []
    for j in range(max(len(schema.columns), table.n_columns)):
        column = schema.columns[j] if j < len(schema.columns) else None
        name = str(words.labels.feature(j))
        kind, holds = (
            (gettext("numbers: thresholds"), "") if column is None else (_kind(schema, j), _holds(schema, words, j))
        )
        units = card.units.get(name, (column.unit if column is not None else "") or "")
        found.append(
            {
                "name": words.name(j),
                "meaning": printable(card.columns.get(name, "")),
                "kind": kind + ("; " + gettext("in %(unit)s", unit=printable(units)) if units else ""),
                "holds": holds,
                "missing": number(f"{column.missing:,}") if column is not None and column.missing else "",
                "tested": j in tested,
            }
        )
    return found


def _kind(schema: Schema, j: int) -> str:
    column = schema.columns[j]
    if j in schema.left_out:
        return gettext("not used: %(reason)s", reason=retold(schema.left_out[j]))
    n, kind = len(column.levels), column.shown_as
    if kind is Kind.NOMINAL and not n:
        return gettext("coded levels without order")
    if kind is Kind.NOMINAL:
        return ngettext("%(n)s level without order", "%(n)s levels without order", n)
    if kind is Kind.ORDERED:
        return ngettext("%(n)s level with an order: thresholds", "%(n)s levels with an order: thresholds", n)
    return gettext(KINDS.get(kind, "numbers: thresholds"))


KINDS = {
    Kind.BOOLEAN: marked("yes or no"),
    Kind.INTEGER: marked("whole numbers: thresholds"),
    Kind.DATE: marked("dates: thresholds"),
    Kind.MOMENT: marked("moments: thresholds"),
    Kind.TIME: marked("times: thresholds"),
    Kind.DURATION: marked("durations: thresholds"),
}
COUNTS = {
    Kind.DATE: marked("dates count days since 1970-01-01"),
    Kind.MOMENT: marked("moments count microseconds since 1970-01-01 00:00 (UTC)"),
    Kind.TIME: marked("times count microseconds since midnight"),
    Kind.DURATION: marked("durations count microseconds"),
}


def sums(schema: Schema, table: NodeTable) -> str:
    """What dates and times count for in weighted sums of columns, if there are any."""
    if table.normals is None:
        return ""
    inside = {j for node in np.flatnonzero(table.feature == OBLIQUE).tolist() for j in table.tested(node)}
    kinds = {schema.columns[j].kind for j in inside if j < len(schema.columns)}
    return "; ".join(gettext(told) for kind, told in COUNTS.items() if kind in kinds)


def _holds(schema: Schema, words: Words, j: int) -> str:
    """The range of a column of numbers, or the first levels of others."""
    column = schema.columns[j]
    if column.kind in CATEGORIES:
        return shown([words.value(j, float(code)) for code in range(len(column.levels))], MOST_NAMED, str)
    if column.bounds is None or column.shown_as is Kind.BOOLEAN:
        return ""
    low, high = (words.value(j, end) for end in column.bounds)
    return gettext("%(low)s to %(high)s", low=low, high=high)
