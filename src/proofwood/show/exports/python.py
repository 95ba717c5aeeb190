"""A model as a Python module that needs only the standard library."""

from __future__ import annotations

from collections.abc import Iterable

from proofwood.data.kinds import Kind
from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import Ask, Exported, exact

_MISSING = '''
def is_missing(value):
    """Whether a value is None, NaN, NaT or NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
'''
MOST_SUMMANDS = 500
"""The most terms of a sum in one expression, because Python compiles sums by recursion."""
_SUM = '''
def weighted_sum(coefficients, values):
    """The sum of coefficients times values, added in order."""
    total = 0.0
    for coefficient, value in zip(coefficients, values):
        total += coefficient * value
    return total
'''
_READERS = {
    "number": '''
def read_number(value):
    """A number; NaN if it is missing."""
    return nan if is_missing(value) else float(value)
''',
    "boolean": '''
def read_boolean(value):
    """1 for true, 0 for false, also as text; NaN if it is missing."""
    if is_missing(value):
        return nan
    if isinstance(value, str):
        return {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}[value.strip().lower()]
    return float(value)
''',
    "whole": '''
def read_whole(value):
    """A number with all its digits; NaN if it is missing."""
    if is_missing(value):
        return nan
    return float(value) if isinstance(value, str) else value
''',
    "text": '''
def read_text(value):
    """A text; None if it is missing."""
    return None if is_missing(value) else str(value)
''',
    "date": '''
def read_date(value):
    """Days since 1970-01-01 of a date, a datetime or ISO text; NaN if it is missing."""
    if is_missing(value):
        return nan
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise ValueError(f"{value!r} has a time zone: expected a date without one")
        value = value.date()
    return float((value - date(1970, 1, 1)).days)
''',
    "moment": '''
def read_moment(value):
    """Microseconds since 1970-01-01 of a datetime or a date without a time zone, or ISO text; NaN if missing."""
    if is_missing(value):
        return nan
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        raise ValueError(f"{value!r} has a time zone: expected local time without one, as in training")
    return float((value - datetime(1970, 1, 1)) // timedelta(microseconds=1))
''',
    "instant": '''
def read_instant(value):
    """Microseconds since 1970-01-01 in UTC of a datetime with a time zone, or ISO text; NaN if missing."""
    if is_missing(value):
        return nan
    if isinstance(value, str):
        moment, blank, offset = value.strip().rpartition(" ")
        value = datetime.fromisoformat(moment + offset if blank and offset[0] in "+-Z" else value.strip())
    if getattr(value, "tzinfo", None) is None:
        raise ValueError(f"{value!r} has no time zone: expected one, as in training")
    return float((value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1))
''',
    "time": '''
def read_time(value):
    """Microseconds since midnight of a time or ISO text; NaN if it is missing."""
    if is_missing(value):
        return nan
    if isinstance(value, str):
        value = time.fromisoformat(value.strip())
    return float(((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond)
''',
    "duration": '''
def read_duration(value):
    """Microseconds of a timedelta; NaN if it is missing."""
    return nan if is_missing(value) else float(value // timedelta(microseconds=1))
''',
}
_MEANING = {
    "text": "text",
    "boolean": "True or False",
    "whole": "number",
    "date": "date or ISO text",
    "moment": "datetime or ISO text, without a time zone",
    "instant": "datetime with a time zone, or ISO text with an offset",
}


_WITHOUT = '''
def without(number, *absent):
    """The number; NaN if it stands for a missing value."""
    return nan if number in absent else number
'''


def to_python(model: Exported) -> str:
    """The source of a Python module with ``predict(row)`` and, beside answers with labels, the numbers at a leaf."""
    words = model.words
    names = identifiers(model)
    readers = {column: _reader(model, column) for column in model.used}
    ordered = [column for column in model.used if model.ordered(column)]
    keys = {column: ascii(model.columns[column].name) if model.by_name else str(column) for column in model.used}
    what = "a mapping from the names of columns to values" if model.by_name else "a sequence of values"
    lines = [
        f'"""A decision model written by proofwood: predict(row) gives the {words.answer} of a row.',
        "",
        f"A row is {what}; None and NaN are missing values. Columns that the model reads:",
        *(
            f"- {_comment(keys[column])}: {_MEANING.get(read, read)}{_comment(model.note(column))}"
            for column, read in readers.items()
        ),
        '"""',
        "",
    ]
    if set(readers.values()) - {"number", "text", "boolean", "whole"}:
        lines += ["from datetime import date, datetime, time, timedelta, timezone"]
    lines += ["from math import isnan, nan", ""]
    answers, numbers = words.answers.upper(), f"{words.numbers.upper()}_OF_LEAF"
    if model.labels:
        lines += [f"{answers} = {model.labels!a}", f"LABEL_OF_LEAF = {model.label_of_leaf}"]
    lines += [
        f"{numbers} = [",
        *(f"    [{', '.join(map(exact, of_leaf))}]," for of_leaf in model.numbers_of_leaf.tolist()),
        "]",
    ]
    for column in ordered:
        values = model.values(column, range(len(model.columns[column].levels)))
        levels = {value: code for code, value in enumerate(values)}
        lines.append(f"ORDER_{column} = {levels!a}")
    lines += ["", *([_MISSING.rstrip("\n")] * bool(readers))]
    for reader in sorted(set(readers.values())):
        lines += ["", _READERS[reader].rstrip("\n")]
    if any(map(model.absent, model.used)):
        lines += ["", _WITHOUT.rstrip("\n")]
    if any(len(model.ask(node).terms) > MOST_SUMMANDS for node in model.table.splits()):
        lines += ["", _SUM.rstrip("\n")]
    lines += ["", "", *functions(model, _Python(model, names))]
    arguments = []
    for column in model.used:
        read = f"read_{readers[column]}(row[{keys[column]}])"
        absent = "".join(f", {exact(number)}" for number in model.absent(column))
        read = f"without({read}{absent})" if absent else read
        arguments.append(f"ORDER_{column}.get({read}, nan)" if column in ordered else read)
    answer = f"{answers}[LABEL_OF_LEAF[leaf_of(row)]]" if model.labels else f"{numbers}[leaf_of(row)][0]"
    lines += ["def predict(row):", f'    """The {words.answer} of a row."""', f"    return {answer}", "", ""]
    if model.labels:
        lines += [
            f"def predict_{words.asked}(row):",
            f'    """The {words.numbers} of {answers} for a row."""',
            f"    return {numbers}[leaf_of(row)]",
            "",
            "",
        ]
    lines += [
        "def leaf_of(row):",
        '    """The number of the leaf in which a row ends."""',
        "    return node_0(",
        *(f"        {argument}," for argument in arguments),
        "    )",
    ]
    return "\n".join(lines) + "\n"


class _Python(Language):
    true, false, either, negated, present = "True", "False", "or", "not ({})", "not ({})"
    null, end = "{} is None", ""

    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        members = self.model.values(column, codes)
        return f"{name} in ({', '.join(map(ascii, members))},)" if members else self.false

    def weighted_sum(self, ask: Ask) -> str:
        if len(ask.terms) <= MOST_SUMMANDS:
            return super().weighted_sum(ask)
        coefficients = ", ".join(exact(value) for _, value in ask.terms)
        values = ", ".join(self.names[column] for column, _ in ask.terms)
        return f"weighted_sum(({coefficients}), ({values}))"

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        return [f"def {name}({', '.join(self.names.values())}):", *indented(body, self.step), ""]

    def branch(self, condition: str, then: Iterable[str], other: Iterable[str]) -> list[str]:
        return [f"if {condition}:", *indented(then, self.step), "else:", *indented(other, self.step)]

    def leaf(self, number: int, comment: str) -> str:
        return f"return {number}  # {comment}"


def _reader(model: Exported, column: int) -> str:
    whole = model.read_as(column) is Kind.INTEGER and model.has_levels(column)
    return "whole" if whole else model.reader(column)


def _comment(text: str) -> str:
    """``text`` with escapes for quotes and backslashes, so that it does not end a docstring."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
