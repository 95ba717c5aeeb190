"""What people read of a model, followed by hand: texts, rules, reports and exports, each evaluated on rows.

Everything here reads what was printed, and nothing of the model but the meaning of its columns. A row is a value for
each column as the user has it, and the same in numbers, as ``to_numbers`` gives it.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd

from proofwood.data.columns import Column
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import EPOCH, number_of
from proofwood.printable import in_list, in_sentence
from proofwood.show.labels import shorten


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one model: as the user has them, in numbers, and what the model predicts for them."""

    model: Any
    frame: pd.DataFrame

    @cached_property
    def numbers(self) -> np.ndarray:
        """(n_rows, n_columns)."""
        return self.model.to_numbers(self.frame)

    @cached_property
    def predicted(self) -> list[Any]:
        """Labels."""
        labels = self.model.predict(self.frame)
        return [label.item() if isinstance(label, np.generic) else label for label in labels]

    @property
    def labels(self) -> list[Any]:
        """What the model can say: classes or actions; empty for numbers."""
        return next(
            (list(getattr(self.model, name)) for name in ("classes_", "actions_") if hasattr(self.model, name)), []
        )

    @property
    def asked(self) -> str:
        """What programs call the numbers beside a label, after ``predict_``; empty if there are none."""
        return next((asked for asked in ("proba", "rewards") if hasattr(self.model, f"predict_{asked}")), "")

    @cached_property
    def beside(self) -> list[list[float]]:
        """Those numbers: the probability of each class, or the mean reward of each action; none for numbers."""
        return getattr(self.model, f"predict_{self.asked}")(self.frame).tolist() if self.asked else []

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.model.schema_.columns

    @cached_property
    def plain(self) -> list[list[Any]]:
        """Plain values of Python, None where missing; intervals and the like as text."""
        columns = [self._plain_column(j) for j in range(len(self.columns))]
        return [list(row) for row in zip(*columns, strict=True)]

    def _plain_column(self, j: int) -> list[Any]:
        found = []
        for value in self.frame.iloc[:, j].astype(object).tolist():
            if value is None or value is pd.NaT or value is pd.NA or value != value:
                found.append(None)
            elif isinstance(value, pd.Timestamp):
                found.append(value.to_pydatetime())
            elif isinstance(value, pd.Timedelta):
                found.append(value.to_pytimedelta())
            elif isinstance(value, np.generic):
                found.append(value.item())
            elif isinstance(value, (bool, int, float, str, date, time, timedelta)):
                found.append(value)
            else:
                found.append(str(value))
        return found


def as_text(value: Any) -> Any:
    """A date or time as ISO text."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, (date, time)) else value


# ------------------------------------------------------------------------------------------------------ texts by hand


class Reader:
    """Reads conditions of a printed model.

    Parameters
    ----------
    columns : their meaning
    names : what the text calls them
    """

    def __init__(self, columns: Sequence[Column], names: Sequence[str]) -> None:
        self.columns = columns
        self.names = sorted(enumerate(names), key=lambda pair: -len(pair[1]))

    def holds(self, text: str, numbers: Sequence[float]) -> bool:
        """Whether a condition holds of a row in numbers; what it does not say of a missing value is no."""
        text, missing = (text[: -len(" or missing")], True) if text.endswith(" or missing") else (text, False)
        if text.startswith("not ") and (j := self._named(text[4:])) is not None:
            return missing if math.isnan(numbers[j]) else numbers[j] == 0
        if (j := self._named(text)) is not None:
            return missing if math.isnan(numbers[j]) else numbers[j] == 1
        sum_of = re.fullmatch(r"(.*) (<=|≤|>) (\S+)", text)
        if sum_of is not None and (terms := self._terms(sum_of[1])) is not None:
            total = self._total(terms, numbers)
            return missing if math.isnan(total) else _compare(total, sum_of[2], float(sum_of[3]))
        for j, name in self.names:
            if text.startswith(name + " "):
                rest = text[len(name) + 1 :]
                if (found := self._of_column(j, rest, numbers[j], missing)) is not None:
                    return found
        raise AssertionError(f"cannot read the condition {text!r}")

    def _named(self, text: str) -> int | None:
        for j, name in self.names:
            if text == name and self.columns[j].kind is Kind.BOOLEAN:
                return j
        return None

    def _terms(self, text: str) -> list[tuple[float, int]] | None:
        """The terms of a weighted sum such as ``2.5*a - b``; None if it is none."""
        found, rest, sign = [], text, 1.0
        if rest.startswith("-"):
            sign, rest = -1.0, rest[1:].lstrip()
        while True:
            factor = re.match(r"([0-9.]+(?:e[+-]?\d+)?)\*", rest)
            rest = rest[factor.end() :] if factor else rest
            j, name = next(
                ((j, n) for j, n in self.names if rest == n or rest.startswith((n + " + ", n + " - "))), (-1, "")
            )
            if j < 0 or self.columns[j].kind in MOMENTS:
                return None
            found.append((sign * (float(factor[1]) if factor else 1.0), j))
            rest = rest[len(name) :]
            if not rest:
                return found if len(found) > 1 or factor or text.startswith("-") else None
            sign, rest = (1.0 if rest.startswith(" + ") else -1.0), rest[3:]

    @staticmethod
    def _total(terms: list[tuple[float, int]], numbers: Sequence[float]) -> float:
        total = terms[0][0] * numbers[terms[0][1]]
        for factor, j in terms[1:]:
            total += factor * numbers[j]
        return total

    def _of_column(self, j: int, rest: str, value: float, missing: bool) -> bool | None:
        gap = math.isnan(value)
        if rest in ("is missing", "is not missing"):
            return gap == (rest == "is missing")
        if rest.startswith("is missing or "):
            rest, missing = "is " + rest.removeprefix("is missing or "), True
        if rest in ("is yes", "is no") and self.columns[j].kind is Kind.BOOLEAN:
            return missing if gap else value == (rest == "is yes")
        for word, inside in (
            ("not in {", False),
            ("in {", True),
            ("is none of ", False),
            ("is not ", False),
            ("is ", True),
        ):
            if rest.startswith(word):
                codes = self._codes(j, rest[len(word) :].removesuffix("}" if "{" in word else ""))
                return None if codes is None else missing if gap else (value in codes) is inside
        for sign in ("<=", "≤", ">"):
            if rest.startswith(sign + " "):
                return missing if gap else self._compared(j, value, sign, rest[len(sign) + 1 :])
        return None

    def _codes(self, j: int, text: str) -> set[float] | None:
        """The codes of a list of levels."""
        column = self.columns[j]
        shown = [in_list(level) for level in column.levels]
        assert len(set(shown)) == len(shown), f"two levels of {column.name!r} look alike"
        code = {level: float(place) for place, level in enumerate(shown)}
        found, rest = set(), text
        while True:
            token = re.match(r'"(?:[^"\\]|\\.)*"', rest) if rest.startswith('"') else None
            level = token[0] if token else re.split(r", | or ", rest)[0]
            if not token:  # a level may hold " or "
                longest = [name for name in code if rest == name or rest.startswith((name + ", ", name + " or "))]
                level = max(longest, key=len, default=level)
            if level in code:
                found.add(code[level])
            elif not column.levels and re.fullmatch(r"\d+", level):
                found.add(float(level))
            else:
                return None
            rest = rest[len(level) :]
            if not rest:
                return found
            rest = rest.removeprefix(", ") if rest.startswith(", ") else rest.removeprefix(" or ")

    def _compared(self, j: int, value: float, sign: str, text: str) -> bool:
        column = self.columns[j]
        if column.levels:
            codes = self._codes(j, text)
            assert codes is not None, text
            assert len(codes) == 1, text
            return _compare(value, sign, codes.pop())
        if column.kind in MOMENTS:
            return _compare(value, sign, moment_of(text, column))
        return _compare(value, sign, float(text))


def _compare(value: float, sign: str, bound: float) -> bool:
    return value > bound if sign == ">" else value <= bound


def moment_of(text: str, column: Column) -> float:
    """The number of a printed date, moment, time or duration."""
    if column.kind is Kind.DATE:
        return float((date.fromisoformat(text) - EPOCH.date()).days)
    if column.kind is Kind.MOMENT:
        stamp, _, offset = text.rpartition(" ") if column.zone is not None else (text, "", "")
        moment = datetime.fromisoformat(stamp + offset)
        assert (moment.tzinfo is not None) == (column.zone is not None), text
        plain = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
        return float((plain - EPOCH) // timedelta(microseconds=1))
    if column.kind is Kind.TIME:
        number = number_of(time.fromisoformat(text), Kind.TIME)
        assert number is not None
        return float(number)
    days, _, clock = text.rpartition(", ")
    parts = [float(part) for part in clock.split(":")]
    seconds = int(days.split()[0]) * 86400 if days else 0
    micro = round(((parts[0] * 60 + parts[1]) * 60 + (parts[2] if len(parts) > 2 else 0)) * 1e6)
    return float(seconds * 10**6 + micro)


def by_text(rows: Rows, text: str) -> list[str]:
    """The shown class of each row, by a tree of ``export_text``."""
    names = [
        in_sentence(shorten(column.name, None)) if rows.model.schema_.by_name else f"x[{j}]"
        for j, column in enumerate(rows.columns)
    ]
    return _Tree(text, Reader(rows.columns, names)).classes(rows.numbers.tolist())


class _Tree:
    """A printed tree: a node per line, ``yes`` before ``no``, shared nodes by their numbers."""

    def __init__(self, text: str, reader: Reader) -> None:
        self.lines, self.reader = text.splitlines(), reader
        self.at, self.shared = 0, {}
        self.root = self._node("", "")

    def _node(self, lead: str, indent: str) -> Any:
        line = self.lines[self.at]
        assert line.startswith(lead), line
        self.at += 1
        content = re.split(r"  +(?=(?:\d[\d,]* rows?|weight))", line[len(lead) :])[0].rstrip()
        if (known := re.match(r"see #(\d+)", content)) is not None:
            return ("see", int(known[1]))
        mark = re.match(r"#(\d+) ", content)
        content = content[mark.end() :] if mark else content
        if self.at < len(self.lines) and self.lines[self.at].startswith(indent + "├─ yes: "):
            yes = self._node(indent + "├─ yes: ", indent + "│  ")
            no = self._node(indent + "└─ no: ", indent + "   ")
            found = (content, yes, no)
        else:
            found = ("leaf", content)
        if mark:
            self.shared[int(mark[1])] = found
        return found

    def classes(self, numbers: list[list[float]]) -> list[str]:
        return [self._walk(row) for row in numbers]

    def _walk(self, row: list[float]) -> str:
        node = self.root
        while node[0] != "leaf":
            if node[0] == "see":
                node = self.shared[node[1]]
            else:
                node = node[1] if self.reader.holds(node[0], row) else node[2]
        return node[1]


def by_rule_words(rows: Rows, rules: list[dict[str, Any]]) -> list[list[Any]]:
    """The classes of the rules that hold of each row, by their words."""
    names = [
        in_sentence(column.name) if rows.model.schema_.by_name else f"x[{j}]" for j, column in enumerate(rows.columns)
    ]
    reader = Reader(rows.columns, names)
    parsed = [(said_by(rule), _conjuncts(rule["if"], reader, names)) for rule in rules]
    return [
        [label for label, parts in parsed if all(_any_of(part, reader, row) for part in parts)]
        for row in rows.numbers.tolist()
    ]


def _conjuncts(text: str, reader: Reader, names: Sequence[str]) -> list[str]:
    """The conditions of a rule: pieces between " and " that begin with a name."""
    if text == "always":
        return []
    starts = [f"{lead}{name}" for name in names for lead in ("", "not ", "(", "(not ")] + [
        "(-",
        *(f"({d}" for d in "0123456789"),
    ]
    pieces, rest = [], text
    while rest:
        cut = -1
        while (cut := rest.find(" and ", cut + 1)) >= 0:
            quotes = len(re.findall(r'(?<!\\)"', rest[:cut]))
            if rest[cut + 5 :].startswith(tuple(starts)) and quotes % 2 == 0:
                break
        piece, rest = (rest, "") if cut < 0 else (rest[:cut], rest[cut + 5 :])
        pieces.append(piece)
    merged: list[str] = []
    for piece in pieces:  # "(a > 1 and a <= 2 or a is missing)" is one condition
        last = merged[-1] if merged else ""
        weighted = any(f"*{name}" in last or f"* {name}" in last for name in names)
        if last.startswith("(") and not last.endswith(" is missing)") and not weighted:
            merged[-1] += " and " + piece
        else:
            merged.append(piece)
    return merged


def _any_of(text: str, reader: Reader, row: list[float]) -> bool:
    name = next((name for _, name in reader.names if text.endswith(f" or {name} is missing)")), None)
    if name is None or not text.startswith("("):
        return reader.holds(text, row)
    if reader.holds(f"{name} is missing", row):
        return True
    inner = text[1 : -len(f" or {name} is missing)")]
    return all(reader.holds(_again(part, name), row) for part in inner.split(f" and {name} "))


def _again(part: str, name: str) -> str:
    return part if part.startswith((name, "not ")) else f"{name} {part}"


def said_by(rule: dict[str, Any]) -> Any:
    """What a rule predicts."""
    return next(rule[key] for key in ("class", "action", "prediction") if key in rule)


def by_rules(rows: Rows, rules: list[dict[str, Any]]) -> list[list[Any]]:
    """The classes of the rules that hold of each row, by their plain conditions."""
    place = {column.name if rows.model.schema_.by_name else j: j for j, column in enumerate(rows.columns)}
    found = []
    for values, numbers in zip(rows.plain, rows.numbers.tolist(), strict=True):
        held = []
        for rule in rules:
            if all(plain_holds(condition, values, numbers, place, rows.columns) for condition in rule["conditions"]):
                held.append(said_by(rule))
        found.append(held)
    return found


def plain_holds(condition: dict[str, Any], values: list[Any], numbers: list[float], place: dict, columns: Any) -> bool:
    if "sum" in condition:
        by_name = {column.name: j for j, column in enumerate(columns)}
        terms = [(factor, by_name[name]) for name, factor in condition["sum"].items()]
        value = Reader._total(terms, numbers)
        if math.isnan(value):
            return condition["missing"]
        return condition.get("above", -math.inf) < value <= condition.get("up_to", math.inf)
    j = place[condition["column"]]
    if math.isnan(numbers[j]):
        return condition["missing"]
    if not condition["present"]:
        return False
    for word, inside in (("in", True), ("not_in", False)):
        if word in condition:
            level = (
                values[j]
                if columns[j].level_type.kind not in MOMENTS
                else columns[j].levels[int(numbers[j])]
                if numbers[j] < len(columns[j].levels)
                else None
            )
            return (level in condition[word]) is inside
    return condition.get("above", -math.inf) < numbers[j] <= condition.get("up_to", math.inf)


def by_words(rows: Rows, rules: list[tuple[list[str], int]]) -> list[list[int]]:
    """The leaves of the rules of a report that hold of each row."""
    names = [
        in_sentence(shorten(column.name, None)) if rows.model.schema_.by_name else f"x[{j}]"
        for j, column in enumerate(rows.columns)
    ]
    reader = Reader(rows.columns, names)
    return [
        [leaf for conditions, leaf in rules if all(reader.holds(condition, row) for condition in conditions)]
        for row in rows.numbers.tolist()
    ]


# ------------------------------------------------------------------------------------------------------- databases


TABLE, QUOTED = 'my "rows"', '"my ""rows"""'
"""Name of the table of rows, and the same in SQL."""


def by_sqlite(rows: Rows, query: Callable[[str], str]) -> list[Any]:
    """The predictions of a query, given the name of the table, in SQLite; dates are ISO text."""
    return [row[-1] for row in sqlite_rows(rows, query)]


def sqlite_rows(rows: Rows, query: Callable[[str], str]) -> list[Any]:
    """What a query finds."""
    types = {bool: "INTEGER", int: "INTEGER", float: "REAL", str: "TEXT"}
    names, declared = _names(rows), []
    values = [[_lite(value) for value in row] for row in rows.plain]
    for j, name in enumerate(names):
        sample = next((row[j] for row in values if row[j] is not None), "")
        declared.append(f"{name} {types[type(sample)]}")
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE {QUOTED} (place INTEGER, {', '.join(declared)})")
    marks = ", ".join("?" * (len(names) + 1))
    connection.executemany(f"INSERT INTO {QUOTED} VALUES ({marks})", [(i, *row) for i, row in enumerate(values)])
    text = query(TABLE).rstrip().rstrip(";") + " ORDER BY place"
    found = connection.execute(text).fetchall()
    connection.close()
    return found


def _lite(value: Any) -> Any:
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else as_text(value)


def _names(rows: Rows) -> list[str]:
    names = [column.name for column in rows.columns]
    return ['"' + name.replace('"', '""') + '"' for name in names]


def by_duckdb(rows: Rows, query: Callable[[str], str]) -> list[Any]:
    """The predictions of a query, given the name of the table, in DuckDB with the types of the rows."""
    return [row[-1] for row in duckdb_rows(rows, query)]


def duckdb_rows(rows: Rows, query: Callable[[str], str]) -> list[Any]:
    """What a query finds."""
    import duckdb

    types = {
        bool: "BOOLEAN",
        int: "BIGINT",
        float: "DOUBLE",
        str: "VARCHAR",
        date: "DATE",
        time: "TIME",
        timedelta: "INTERVAL",
    }
    declared = []
    for j, name in enumerate(_names(rows)):
        sample = next((row[j] for row in rows.plain if row[j] is not None), "")
        typed = types.get(type(sample), "")
        if isinstance(sample, datetime):
            typed = "TIMESTAMP" if sample.tzinfo is None else "TIMESTAMPTZ"
        declared.append(f"{name} {typed}")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/Caracas'")  # of the session, on which nothing may depend
    connection.execute(f"CREATE TABLE {QUOTED} (place INTEGER, {', '.join(declared)})")
    literals = ", ".join(
        "(" + ", ".join([str(i), *(_duck(value) for value in row)]) + ")" for i, row in enumerate(rows.plain)
    )
    connection.execute(f"INSERT INTO {QUOTED} VALUES {literals}")
    text = query(TABLE).rstrip().rstrip(";") + " ORDER BY place"
    found = connection.execute(text).fetchall()
    connection.close()
    return found


def _duck(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else text + "e0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, timedelta):
        return f"to_microseconds({value // timedelta(microseconds=1)})"
    return "'" + str(as_text(value)).replace("'", "''") + "'"


# ------------------------------------------------------------------------------------------------------- programs


def by_python(rows: Rows, program: str, ask: str = "predict", *, texts: bool = False) -> list[Any]:
    """What a function of a module of Python says of each row, its dates as they are or as text."""
    session: dict[str, Any] = {}
    exec(compile(program, "model.py", "exec"), session)
    plain = [[as_text(value) for value in row] for row in rows.plain] if texts else rows.plain
    return [session[ask](row) for row in _keyed(rows, plain)]


def _keyed(rows: Rows, values: list[list[Any]]) -> list[Any]:
    if not rows.model.schema_.by_name:
        return values
    names = [column.name for column in rows.columns]
    return [dict(zip(names, row, strict=True)) for row in values]


def by_javascript(rows: Rows, program: str, folder: Path, ask: str = "predict") -> list[Any]:
    """What a function of a module of JavaScript says of each row."""
    plain = [[_lite(value) for value in row] for row in rows.plain]
    (folder / "model.js").write_text(program, encoding="ascii")
    (folder / "rows.json").write_text(json.dumps(_keyed(rows, plain)))
    code = f'console.log(JSON.stringify(require("./rows.json").map(require("./model.js").{ask})))'
    done = subprocess.run(["node", "-e", code], capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


def by_c(rows: Rows, program: str, folder: Path, *, shares: bool = False) -> list[Any]:
    """The predictions of a program in C, or the numbers beside them."""
    source, library = folder / "model.c", folder / f"model{len(list(folder.iterdir()))}.so"
    source.write_text(program, encoding="ascii")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    done = subprocess.run(
        ["gcc", *flags, "-o", str(library), str(source), "-lm"], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    made = ctypes.CDLL(str(library))
    made.predict.argtypes = [ctypes.POINTER(ctypes.c_double)]
    numbers = rows.numbers.copy()
    for j, column in enumerate(rows.columns):
        if not column.levels or f"column == {j})" not in program:
            continue
        for at, row in enumerate(rows.plain):
            if column.level_type.kind is None:
                made.level_code.restype, made.level_code.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_char_p]
                numbers[at, j] = made.level_code(j, None if row[j] is None else str(row[j]).encode())
            else:
                code = made.number_level_code
                code.restype, code.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_double]
                value = row[j] if isinstance(row[j], (int, float)) else number_of(row[j], column.level_type.kind)
                numbers[at, j] = code(j, math.nan if row[j] is None else float(value))
    found, out = [], (ctypes.c_double * len(rows.labels))()
    if rows.labels:
        what = "class" if rows.asked == "proba" else "action"
        shown = [name.decode() for name in (ctypes.c_char_p * len(rows.labels)).in_dll(made, f"{what}_names")]
    else:
        made.predict.restype = ctypes.c_double
    for row in numbers:
        pointer = np.ascontiguousarray(row).ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        if shares:
            getattr(made, f"predict_{rows.asked}")(pointer, out)
        said = made.predict(pointer)
        found.append(list(out) if shares else shown[said] if rows.labels else said)
    return found


# ----------------------------------------------------------------------------------------------------------- PMML


def by_pmml(rows: Rows, document: str) -> list[Any]:
    """What a tree of PMML scores, by the rules of its standard: a test of a missing value is unknown."""
    root = ET.fromstring(document)
    space = {"p": "http://www.dmg.org/PMML-4_4"}
    types = {field.get("name"): field.get("dataType") for field in root.findall("p:DataDictionary/p:DataField", space)}
    tree = root.find("p:TreeModel", space)
    assert tree is not None
    derived = {field.get("name"): field[0] for field in tree.findall("p:LocalTransformations/p:DerivedField", space)}
    top = tree.find("p:Node", space)
    found = []
    for values, numbers in zip(rows.plain, rows.numbers.tolist(), strict=True):
        row: dict[str, Any] = {}
        for j, column in enumerate(rows.columns):
            value = values[j]
            if column.kind in MOMENTS and value is not None:
                value = numbers[j]
            elif isinstance(value, (date, time, timedelta)):
                value = float(number_of(value, column.level_type.kind))
            row[column.name] = value
        for name, expression in derived.items():
            row[name], types[name] = _expression(expression, row), "double"
        node = top
        while True:
            child = next((c for c in node.findall("p:Node", space) if _predicate(c[0], row, types) is True), None)
            if child is None:
                break
            node = child
        found.append(node.get("score"))
    return found if tree.get("functionName") == "classification" else [float(score) for score in found]


def _expression(element: ET.Element, row: dict[str, Any]) -> float | None:
    tag = element.tag.rpartition("}")[2]
    if tag == "Constant":
        return float(element.text)
    if tag == "FieldRef":
        value = row[element.get("field")]
        return None if value is None else float(value)
    if tag == "NormDiscrete":
        value = row[element.get("field")]
        return None if value is None else float(("true" if value else "false") == element.get("value"))
    parts = [_expression(part, row) for part in element]
    if None in parts:
        return None
    return parts[0] * parts[1] if element.get("function") == "*" else parts[0] + parts[1]


def _predicate(element: ET.Element, row: dict[str, Any], types: dict[str, str]) -> bool | None:
    """True, false or unknown."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("True", "False"):
        return tag == "True"
    if tag == "CompoundPredicate":
        answers = [_predicate(part, row, types) for part in element]
        stop = element.get("booleanOperator") == "or"
        return stop if stop in answers else None if None in answers else not stop
    name = element.get("field")
    value, typed = row[name], types[name]
    if tag == "SimpleSetPredicate":
        array = element[0]
        words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', array.text or "")
        members = [_typed(first or second, typed) for first, second in words]
        assert len(members) == int(array.get("n"))
        return (
            None if value is None else (_typed(value, typed) in members) == (element.get("booleanOperator") == "isIn")
        )
    operator = element.get("operator")
    if operator in ("isMissing", "isNotMissing"):
        return (value is None) == (operator == "isMissing")
    if value is None:
        return None
    mine, other = _typed(value, typed), _typed(element.get("value"), typed)
    answers = {"equal": mine == other, "notEqual": mine != other}
    if typed == "double":
        answers |= {"lessOrEqual": mine <= other, "greaterThan": mine > other}
    return answers[operator]


def _typed(value: Any, typed: str) -> Any:
    if typed == "boolean":
        return value if isinstance(value, bool) else {"true": True, "false": False}[str(value)]
    if typed == "string":
        return str(value)
    return int(value) if typed == "integer" and float(value).is_integer() else float(value)
