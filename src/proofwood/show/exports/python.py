"""A model as a Python module that imports nothing but the standard library."""

from __future__ import annotations

import math
from collections.abc import Iterable

from proofwood.data.kinds import Kind
from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import Ask, Exported, exact

_READERS = {
    "number": '''
def read_number(value):
    """A number; None where it is missing."""
    return None if value is None or value != value else float(value)
''',
    "text": '''
def read_text(value):
    """A text; None where it is missing."""
    return None if value is None or value != value else str(value)
''',
    "date": '''
def read_date(value):
    """Days since 1970-01-01 of a date, a datetime or ISO text; None where it is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime):
        value = (value if value.tzinfo is None else value.astimezone(timezone.utc)).date()
    return float((value - date(1970, 1, 1)).days)
''',
    "moment": '''
def read_moment(value):
    """Microseconds since 1970-01-01 of a datetime, a date or ISO text, UTC where it has a zone; None where missing."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    value = value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
    return float((value - datetime(1970, 1, 1)) // timedelta(microseconds=1))
''',
    "time": '''
def read_time(value):
    """Microseconds since midnight of a time or ISO text; None where it is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        value = time.fromisoformat(value.strip())
    return float(((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond)
''',
    "duration": '''
def read_duration(value):
    """Microseconds of a timedelta; None where it is missing."""
    return None if value is None or value != value else float(value // timedelta(microseconds=1))
''',
}
_OF_KIND = {Kind.DATE: "date", Kind.MOMENT: "moment", Kind.TIME: "time", Kind.DURATION: "duration"}


def to_python(model: Exported) -> str:
    """Source of a module with ``predict(row)`` and ``predict_proba(row)``."""
    names = identifiers(model)
    readers = {column: _reader(model, column) for column in model.used}
    ordered = [column for column in model.used if model.kind(column) is Kind.ORDERED and model.is_text(column)]
    keys = {column: ascii(model.columns[column].name) if model.by_name else str(column) for column in model.used}
    what = "a mapping from the names of columns to values" if model.by_name else "a sequence of values"
    lines = [
        '"""A decision model written by proofwood: predict(row) gives the class of a row.',
        "",
        f"A row is {what}; None and NaN are missing values. Columns that the model reads:",
        *(f"- {_comment(keys[column])}: {_meaning(model, column)}" for column in model.used),
        '"""',
        "",
    ]
    if set(readers.values()) - {"number", "text"}:
        lines += ["from datetime import date, datetime, time, timedelta, timezone", ""]
    lines += [
        f"CLASSES = {model.labels!a}",
        f"LABEL_OF_LEAF = {model.label_of_leaf}",
        "PROBABILITIES_OF_LEAF = [",
        *(f"    [{', '.join(exact(share) for share in shares)}]," for shares in model.probabilities_of_leaf.tolist()),
        "]",
    ]
    for column in ordered:
        levels = {text: code for code, text in enumerate(model.columns[column].levels)}
        lines.append(f"ORDER_{column} = {levels!a}")
    for reader in sorted(set(readers.values())):
        lines += ["", _READERS[reader].rstrip("\n")]
    lines += ["", "", *functions(model, _Python(model, names))]
    arguments = []
    for column in model.used:
        read = f"read_{readers[column]}(row[{keys[column]}])"
        arguments.append(f"ORDER_{column}.get({read})" if column in ordered else read)
    lines += [
        "def predict(row):",
        '    """The class of a row."""',
        "    return CLASSES[LABEL_OF_LEAF[leaf_of(row)]]",
        "",
        "",
        "def predict_proba(row):",
        '    """The probabilities of CLASSES for a row."""',
        "    return PROBABILITIES_OF_LEAF[leaf_of(row)]",
        "",
        "",
        "def leaf_of(row):",
        '    """The number of the leaf in which a row ends."""',
        "    return node_0(",
        *(f"        {argument}," for argument in arguments),
        "    )",
    ]
    return "\n".join(lines) + "\n"


class _Python(Language):
    def __init__(self, model: Exported, names: dict[int, str]) -> None:
        self.model, self.names = model, names

    def condition(self, ask: Ask) -> str:
        if ask.column < 0:
            parts = [f"{self.names[column]} is None" for column, _ in ask.terms]
            total = " + ".join(f"{exact(value)} * {self.names[column]}" for column, value in ask.terms)
            gap = " or ".join(parts)
            assert ask.threshold is not None
            test = f"{total} <= {exact(ask.threshold)}"
            return f"{gap} or {test}" if ask.missing_low else f"not ({gap}) and {test}"
        name = self.names[ask.column]
        if ask.codes is not None:
            texts = self.model.is_text(ask.column)
            members = self.model.texts(ask.column, ask.codes) if texts else [float(code) for code in sorted(ask.codes)]
            test = f"{name} in ({', '.join(map(ascii, members))},)" if members else "False"
        elif ask.threshold == -math.inf:
            return f"{name} is None" if ask.missing_low else "False"
        elif ask.threshold == math.inf:
            return "True" if ask.missing_low else f"{name} is not None"
        else:
            assert ask.threshold is not None
            test = f"{name} <= {exact(ask.threshold)}"
        return f"{name} is None or {test}" if ask.missing_low else f"{name} is not None and {test}"

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        return [f"def {name}({', '.join(self.names.values())}):", *indented(body, self.step), ""]

    def branch(self, condition: str, low: Iterable[str], high: Iterable[str]) -> list[str]:
        return [f"if {condition}:", *indented(low, self.step), "else:", *indented(high, self.step)]

    def leaf(self, number: int, comment: str) -> str:
        return f"return {number}  # {comment}"

    def call(self, name: str) -> str:
        return f"return {name}({', '.join(self.names.values())})"


def _reader(model: Exported, column: int) -> str:
    if model.is_text(column):
        return "text"
    return _OF_KIND.get(model.kind(column), "number")


def _meaning(model: Exported, column: int) -> str:
    if model.is_text(column):
        return "text"
    return {"number": "number", "date": "date or ISO text", "moment": "datetime or ISO text"}.get(
        _reader(model, column), _reader(model, column)
    )


def _comment(text: str) -> str:
    """Text inside a docstring: no quotes that end it."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
