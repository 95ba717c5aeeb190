"""A model as JavaScript without dependencies, for browsers and Node.js."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from proofwood.data.kinds import Kind
from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import Exported, ExportError, exact, require_exact_levels

_READERS = {
    "number": """\
// A number; NaN if it is missing.
function readNumber(value) {
  if (value === null || value === undefined) return NaN;
  const number = typeof value === "string" && value.trim() === "" ? NaN : Number(value);
  if (Number.isNaN(number) && typeof value !== "number") throw new Error("no number: " + value);
  return number;
}""",
    "boolean": """\
// 1 for true, 0 for false, also as text; NaN if it is missing.
function readBoolean(value) {
  if (value === null || value === undefined || value !== value) return NaN;
  const at = ["false", "true", "0", "1"].indexOf(String(value).trim().toLowerCase());
  if (at < 0) throw new Error("neither true nor false: " + value);
  return at % 2;
}""",
    "text": """\
// A text; null if it is missing.
function readText(value) {
  return value === null || value === undefined || value !== value ? null : String(value);
}""",
    "date": """\
// Days since 1970-01-01 of a Date (in UTC) or ISO text; NaN if it is missing.
function readDate(value) {
  return Math.floor(readMoment(value) / 86400e6);
}""",
    "moment": """\
// Microseconds since 1970-01-01 of a Date (in UTC) or ISO text without a zone; NaN if it is missing.
function readMoment(value) {
  return readIso(value, false);
}""",
    "instant": """\
// Microseconds since 1970-01-01 of a Date or ISO text with its offset; NaN if it is missing.
function readInstant(value) {
  return readIso(value, true);
}""",
    "time": """\
// Microseconds since midnight of a text such as "14:30:00.5"; NaN if it is missing.
function readTime(value) {
  return value === null || value === undefined ? NaN : readMoment("1970-01-01 " + value);
}""",
    "iso": """\
function readIso(value, zoned) {
  if (value === null || value === undefined || value !== value) return NaN;
  if (value instanceof Date) return value.getTime() * 1000;
  const time = "[T ](\\\\d{2}):(\\\\d{2})(?::(\\\\d{2})(?:\\\\.(\\\\d{1,6})\\\\d*)?)? ?(Z|[+-]\\\\d{2}:?\\\\d{2})?";
  const form = new RegExp("^(\\\\d{4})-(\\\\d{2})-(\\\\d{2})(?:" + time + ")?$");
  const part = form.exec(String(value).trim());
  if (part === null) throw new Error("no ISO date: " + value);
  if ((part[8] !== undefined) !== zoned) throw new Error((zoned ? "no" : "a") + " time zone: " + value);
  const zone = part[8] && part[8] !== "Z" ? part[8].replace(":", "") : "+0000";
  const minutes = (zone[0] === "-" ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3)));
  const day = new Date(0);
  day.setUTCFullYear(Number(part[1]), part[2] - 1, Number(part[3]));
  const seconds = day.getTime() / 1000 + ((part[4] || 0) * 60 + Number(part[5] || 0)) * 60 + Number(part[6] || 0);
  return (seconds - minutes * 60) * 1e6 + Number((part[7] || "").padEnd(6, "0"));
}""",
}
_NEEDS = {"date": {"moment", "iso"}, "time": {"moment", "iso"}, "moment": {"iso"}, "instant": {"iso"}}


def to_javascript(model: Exported) -> str:
    """JavaScript source with ``predict(row)`` and, beside labels, the numbers at a leaf; also a Node.js module."""
    words = model.words
    answers, numbers, asked = words.answers.upper(), f"{words.numbers.upper()}_OF_LEAF", words.asked.title()
    names = identifiers(model)
    readers = {column: _reader(model, column) for column in model.used}
    needed = set(readers.values()).union(*(_NEEDS.get(reader, set()) for reader in readers.values()))
    ordered = [column for column in model.used if model.ordered(column)]
    keys = {column: _json(model.columns[column].name) if model.by_name else str(column) for column in model.used}
    what = "an object with a value for the name of each column" if model.by_name else "an array of values"
    lines = [
        f"// A decision model written by proofwood: predict(row) gives the {words.answer} of a row"
        + (f", predict{asked}(row) the" if model.labels else "."),
        f"// {f'{words.numbers} of {answers}. ' if model.labels else ''}A row is {what}; null, undefined and NaN are "
        "missing values.",
        "// Columns that the model reads:",
        *(f"// row[{keys[column]}]: {readers[column]}{model.note(column)}" for column in model.used),
        '"use strict";',
        "",
    ]
    if model.labels:
        lines += [f"const {answers} = {_json(model.labels)};", f"const LABEL_OF_LEAF = {model.label_of_leaf};"]
    lines += [
        f"const {numbers} = [",
        *(f"  [{', '.join(map(exact, of_leaf))}]," for of_leaf in model.numbers_of_leaf.tolist()),
        "];",
    ]
    for column in ordered:
        values = _values(model, column, range(len(model.columns[column].levels)))
        pairs = [[value, code] for code, value in enumerate(values)]
        lines.append(f"const ORDER_{column} = new Map({_json(pairs)});")
    for reader in sorted(needed):
        lines += ["", _READERS[reader]]
    arguments = []
    for column in model.used:
        read = f"read{readers[column].title()}(row[{keys[column]}])"
        absent = "".join(f", {exact(number)}" for number in model.absent(column))
        read = f"without({read}{absent})" if absent else read
        arguments.append(f"readNumber(ORDER_{column}.get({read}))" if column in ordered else read)
    if any(map(model.absent, model.used)):
        lines += ["", _WITHOUT]
    if ordered and "number" not in needed:
        lines += ["", _READERS["number"]]
    answer = f"{answers}[LABEL_OF_LEAF[leafOf(row)]]" if model.labels else f"{numbers}[leafOf(row)][0]"
    lines += [
        "",
        *functions(model, _JavaScript(model, names)),
        "function leafOf(row) {",
        f"  return node_0({', '.join(arguments)});",
        "}",
        "",
        "function predict(row) {",
        f"  return {answer};",
        "}",
        "",
    ]
    told = "predict"
    if model.labels:
        lines += [f"function predict{asked}(row) {{", f"  return {numbers}[leafOf(row)];", "}", ""]
        told = f"{answers}, predict, predict{asked}"
    lines += [f'if (typeof module !== "undefined") module.exports = {{ {told} }};']
    return "\n".join(lines) + "\n"


class _JavaScript(Language):
    step = "  "
    nan, null = "Number.isNaN({})", "{} === null"

    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        return f"{_json(_values(self.model, column, codes))}.includes({name})"

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        return [f"function {name}({', '.join(self.names.values())}) {{", *indented(body, self.step), "}"]

    def leaf(self, number: int, comment: str) -> str:
        return f"return {number}; // {comment}"


_WITHOUT = """\
// The number; NaN if it stands for a missing value.
function without(number, ...absent) {
  return absent.includes(number) ? NaN : number;
}"""


def _reader(model: Exported, column: int) -> str:
    if model.read_as(column) is Kind.DURATION:
        raise ExportError(
            f"column {model.columns[column].name!r} has durations, for which JavaScript has no type: turn the column "
            "into numbers, for example of seconds, and fit again"
        )
    return model.reader(column, "a column in JavaScript")


def _values(model: Exported, column: int, codes: Iterable[int]) -> list[Any]:
    """The levels with these codes, as the generated readers return them."""
    require_exact_levels(model, column, "a number of JavaScript")
    return [int(value) if isinstance(value, bool) else value for value in model.values(column, codes)]


def _json(value: object) -> str:
    """``value`` as JSON in ASCII that is safe inside an HTML page."""
    return json.dumps(value).replace("<", "\\u003c")
