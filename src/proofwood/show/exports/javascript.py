"""A model as JavaScript without dependencies, for browsers and Node.js."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from proofwood.data.kinds import Kind
from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import Ask, Exported, ExportError, exact

_READERS = {
    "number": """\
// A number; NaN where it is missing.
function readNumber(value) {
  return value === null || value === undefined ? NaN : Number(value);
}""",
    "text": """\
// A text; null where it is missing.
function readText(value) {
  return value === null || value === undefined || value !== value ? null : String(value);
}""",
    "date": """\
// Days since 1970-01-01 of a Date (in UTC) or ISO text; NaN where it is missing.
function readDate(value) {
  return Math.floor(readMoment(value) / 86400e6);
}""",
    "moment": """\
// Microseconds since 1970-01-01 of a Date or ISO text, UTC where it has no zone; NaN where it is missing.
function readMoment(value) {
  if (value === null || value === undefined) return NaN;
  if (value instanceof Date) return value.getTime() * 1000;
  const time = "[T ](\\\\d{2}):(\\\\d{2})(?::(\\\\d{2})(?:\\\\.(\\\\d{1,6})\\\\d*)?)?(Z|[+-]\\\\d{2}:?\\\\d{2})?";
  const form = new RegExp("^(\\\\d{4})-(\\\\d{2})-(\\\\d{2})(?:" + time + ")?$");
  const part = form.exec(String(value).trim());
  if (part === null) throw new Error("no ISO date: " + value);
  const zone = part[8] && part[8] !== "Z" ? part[8].replace(":", "") : "+0000";
  const minutes = (zone[0] === "-" ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3)));
  const seconds = Date.UTC(part[1], part[2] - 1, part[3], part[4] || 0, part[5] || 0, part[6] || 0) / 1000;
  return (seconds - minutes * 60) * 1e6 + Number((part[7] || "").padEnd(6, "0"));
}""",
    "time": """\
// Microseconds since midnight of a text such as "14:30:00.5"; NaN where it is missing.
function readTime(value) {
  return value === null || value === undefined ? NaN : readMoment("1970-01-01 " + value);
}""",
}
_OF_KIND = {Kind.DATE: "date", Kind.MOMENT: "moment", Kind.TIME: "time"}


def to_javascript(model: Exported) -> str:
    """Source with ``predict(row)`` and ``predictProba(row)``; a module of Node.js too."""
    names = identifiers(model)
    readers = {column: _reader(model, column) for column in model.used}
    needed = set(readers.values())
    needed |= {"moment"} if needed & {"date", "time"} else set()
    ordered = [column for column in model.used if model.kind(column) is Kind.ORDERED and model.is_text(column)]
    keys = {column: _json(model.columns[column].name) if model.by_name else str(column) for column in model.used}
    what = "an object with a value for the name of each column" if model.by_name else "an array of values"
    lines = [
        "// A decision model written by proofwood: predict(row) gives the class of a row, predictProba(row) the",
        f"// probabilities of CLASSES. A row is {what}; null, undefined and NaN are missing values.",
        "// Columns that the model reads:",
        *(f"// row[{keys[column]}]: {readers[column]}" for column in model.used),
        '"use strict";',
        "",
        f"const CLASSES = {_json(model.labels)};",
        f"const LABEL_OF_LEAF = {model.label_of_leaf};",
        "const PROBABILITIES_OF_LEAF = [",
        *(f"  [{', '.join(map(exact, shares))}]," for shares in model.probabilities_of_leaf.tolist()),
        "];",
    ]
    for column in ordered:
        pairs = [[text, code] for code, text in enumerate(model.columns[column].levels)]
        lines.append(f"const ORDER_{column} = new Map({_json(pairs)});")
    for reader in sorted(needed):
        lines += ["", _READERS[reader]]
    arguments = []
    for column in model.used:
        read = f"read{readers[column].title()}(row[{keys[column]}])"
        arguments.append(f"readNumber(ORDER_{column}.get({read}))" if column in ordered else read)
    if ordered and "number" not in needed:
        lines += ["", _READERS["number"]]
    lines += [
        "",
        *functions(model, _JavaScript(model, names, set(ordered))),
        "function leafOf(row) {",
        f"  return node_0({', '.join(arguments)});",
        "}",
        "",
        "function predict(row) {",
        "  return CLASSES[LABEL_OF_LEAF[leafOf(row)]];",
        "}",
        "",
        "function predictProba(row) {",
        "  return PROBABILITIES_OF_LEAF[leafOf(row)];",
        "}",
        "",
        'if (typeof module !== "undefined") module.exports = { CLASSES, predict, predictProba };',
    ]
    return "\n".join(lines) + "\n"


class _JavaScript(Language):
    step = "  "

    def __init__(self, model: Exported, names: dict[int, str], ordered: set[int]) -> None:
        self.model, self.names, self.ordered = model, names, ordered

    def condition(self, ask: Ask) -> str:
        if ask.column < 0:
            assert ask.threshold is not None
            total = " + ".join(f"{exact(value)} * {self.names[column]}" for column, value in ask.terms)
            return self.or_missing(f"{total} <= {exact(ask.threshold)}", f"Number.isNaN({total})", ask)
        name = self.names[ask.column]
        text = self.model.is_text(ask.column) and ask.column not in self.ordered
        gap = f"{name} === null" if text else f"Number.isNaN({name})"
        if ask.codes is not None:
            members = self.model.texts(ask.column, ask.codes) if text else sorted(ask.codes)
            return self.or_missing(f"{_json(members)}.includes({name})", gap, ask)
        if ask.threshold == -math.inf:
            return gap if ask.missing_low else "false"
        if ask.threshold == math.inf:
            return "true" if ask.missing_low else f"!({gap})"
        assert ask.threshold is not None
        return self.or_missing(f"{name} <= {exact(ask.threshold)}", gap, ask)

    @staticmethod
    def or_missing(test: str, gap: str, ask: Ask) -> str:
        """A comparison with NaN is false, and null is in no list: missing values go high by themselves."""
        return f"{gap} || {test}" if ask.missing_low else test

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        return [f"function {name}({', '.join(self.names.values())}) {{", *indented(body, self.step), "}"]

    def branch(self, condition: str, low: Iterable[str], high: Iterable[str]) -> list[str]:
        return [f"if ({condition}) {{", *indented(low, self.step), "} else {", *indented(high, self.step), "}"]

    def leaf(self, number: int, comment: str) -> str:
        return f"return {number}; // {comment}"

    def call(self, name: str) -> str:
        return f"return {name}({', '.join(self.names.values())});"


def _reader(model: Exported, column: int) -> str:
    if model.is_text(column):
        return "text"
    kind = model.kind(column)
    if kind is Kind.DURATION:
        raise ExportError(
            f"column {model.columns[column].name!r} holds durations, for which JavaScript has no value: turn it into a "
            "number, for example of seconds, and fit again"
        )
    return _OF_KIND.get(kind, "number")


def _json(value: object) -> str:
    """JSON in ASCII that may stand inside a page."""
    return json.dumps(value).replace("<", "\\u003c")
