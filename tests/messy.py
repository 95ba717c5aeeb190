"""Messy tables, as people send them, and what a careful reader must make of each.

A draft holds the values of a table and how each is written. A mess changes the draft and says what must follow: other
kinds, a hint, a refusal. ``table("oops", "cp1252")`` applies messes to a fresh draft and writes the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from tests.workbooks import Day, write_workbook

TARGET = "result"
N_ROWS = 400
_TOLD = "The person said how the cells are written, so a hint about it would be noise; but it would do no harm."
_PLAIN = "The cells are plain but for the mark that was named as missing; a hint that they are text would be noise."
_SILENT = (
    "The mark can only be a missing number, but '-' is also how accountants write 0; a hint must say what was done."
)
_CV = "The brief does not say whether the hint depends on --cv; here it is needed most."
_MONTHS = [
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
]


@dataclass(frozen=True)
class Table:
    """A file, the options that its sender must give, and what must come of it."""

    name: str
    file_name: str
    content: bytes
    reading: tuple[str, ...]  # options of every command that reads the file
    fitting: tuple[str, ...]  # further options of fit
    kinds: dict[str, str]  # by column; "left out" or kinds with "|" between them where several are right
    levels: dict[str, frozenset[str]]  # of each column of text
    hints: dict[str, frozenset[str] | None]  # the columns of each hint; None where the brief does not settle them
    refused: str | None  # a regular expression of the message
    needs: tuple[str, ...]  # optional packages
    plain: bytes  # the same values in a plain CSV file
    plain_options: tuple[str, ...]  # of fit on the plain file
    doubts: tuple[str, ...]  # why another answer might be right, too


@dataclass
class Draft:
    """A table that is being made: its values, how they are written, and what must come of it."""

    random: random.Random
    values: dict[str, list[Any]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    written: dict[str, Callable[[Any], str]] = field(default_factory=dict)  # cells of text, by column
    cells: dict[tuple[str, int], Any] = field(default_factory=dict)  # single cells that the file holds for a value
    separator: str = ","
    decimal: str = "."
    quoting: Any = csv.QUOTE_MINIMAL
    before: list[str] = field(default_factory=list)  # lines above the header
    after: str = ""
    newline: str = "\n"
    encoding: str = "utf-8"
    ragged: int = 0  # 1: a cell too many in one line, -1: one too few
    container: str = "csv"
    packed: bool = False
    reading: list[str] = field(default_factory=list)
    fitting: list[str] = field(default_factory=list)
    hints: dict[str, set[str] | None] = field(default_factory=dict)
    refused: str | None = None
    doubts: list[str] = field(default_factory=list)

    def hint(self, name: str, *columns: str) -> None:
        """Expect a hint about these columns, or about none in particular."""
        if columns:
            self.hints[name] = (self.hints.get(name) or set()) | set(columns)
        else:
            self.hints.setdefault(name, None)

    def leave_out(self, *columns: str) -> None:
        """Expect that columns are left out, and a hint that says so."""
        for column in columns:
            self.kinds[column] = "left out"
        self.hint("left out", *columns)

    def write(self, column: str, form: Callable[[Any], str], kind: str = "") -> None:
        """Write a column as text, and expect a hint that it is read from text."""
        self.written[column] = form
        self.kinds[column] = kind or self.kinds[column]
        self.hint("read from text", column)

    def some_rows(self, share: float = 0.06) -> list[int]:
        return sorted(self.random.sample(range(N_ROWS), round(share * N_ROWS)))

    def add(self, column: str, values: list[Any], kind: str) -> None:
        """Add a column in front of the target."""
        target = self.values.pop(TARGET)
        self.values |= {column: values, TARGET: target}
        self.kinds[column] = kind

    def sort(self, key: Callable[[int], Any]) -> None:
        """Put the rows in the order of a key of their numbers."""
        order = sorted(range(N_ROWS), key=key)
        self.values = {column: [values[row] for row in order] for column, values in self.values.items()}
        place = {row: n for n, row in enumerate(order)}
        self.cells = {(column, place[row]): text for (column, row), text in self.cells.items()}

    def cell(self, column: str, row: int) -> Any:
        """The value of a cell as the file holds it: a text where the draft says how it is written."""
        value = self.values[column][row]
        if (column, row) in self.cells:
            return self.cells[column, row]
        return self.written[column](value) if column in self.written and value is not None else value


@dataclass(frozen=True)
class Mess:
    """A change of a draft; two that touch the same thing do not go together."""

    change: Callable[[Draft], None]
    touches: frozenset[str]
    turn: int  # the kind of file comes first, a sort after the changes of values, empty cells last


MESSES: dict[str, Mess] = {}


def mess(name: str, touches: str, turn: int = 0) -> Callable[[Callable[[Draft], None]], Callable[[Draft], None]]:
    """Name a mess, and the things that it touches; only text files have ``text``, only other files ``typed``."""

    def named(change: Callable[[Draft], None]) -> Callable[[Draft], None]:
        MESSES[name] = Mess(change, frozenset(touches.split()), turn)
        return change

    return named


Step = Callable[[Draft], None]


def simple(
    name: str,
    touches: str,
    *steps: Step,
    turn: int = 0,
    hints: Sequence[tuple[str, ...]] = (),
    left_out: Sequence[str] = (),
    **fields: Any,
) -> None:
    """Name a mess that takes steps, sets fields of the draft (or adds to its lists), and expects hints."""

    @mess(name, touches, turn)
    def _(draft: Draft) -> None:
        for step in steps:
            step(draft)
        for one, value in fields.items():
            setattr(draft, one, [*getattr(draft, one), *value] if isinstance(value, list) else value)
        for hint in hints:
            draft.hint(*hint)
        if left_out:
            draft.leave_out(*left_out)


def writes(column: str, form: Callable[[Any], str], kind: str = "") -> Step:
    """Write a column as text."""
    return lambda draft: draft.write(column, form, kind)


def table(*names: str, seed: int = 0) -> Table:
    """The table with the messes of these names."""
    name = " + ".join(names)
    draft = _base(random.Random(zlib.crc32(f"{name} {seed}".encode())))
    for one in sorted(names, key=lambda one: MESSES[one].turn):
        MESSES[one].change(draft)
    return _finish(draft, name)


def every() -> Iterator[Table]:
    """Every mess alone."""
    return map(table, MESSES)


def pairs(seed: int, n: int) -> Iterator[Table]:
    """Tables with random pairs of messes that go together."""
    return (table(*pair) for pair in random_pairs(seed, n))


def random_pairs(seed: int, n: int) -> list[tuple[str, str]]:
    """Random pairs of messes that go together."""
    return random.Random(seed).sample([pair for pair in combinations(MESSES, 2) if compatible(*pair)], n)


def compatible(first: str, second: str) -> bool:
    """Whether two messes can be in one table."""
    mine, other = MESSES[first].touches, MESSES[second].touches
    return not (mine & other) - {"text"} and not {"text", "typed"} <= mine | other


def _base(chance: random.Random) -> Draft:
    draft = Draft(chance)
    rows = range(N_ROWS)
    start = date(2019, 1, 1)
    draft.values = {
        "size": [round(chance.uniform(2, 60), 2) for _ in rows],
        "count": [chance.randint(1, 60) for _ in rows],
        "shop": [chance.choice(["north", "south", "east", "west"]) for _ in rows],
        "day": [start + timedelta(chance.randrange(730)) for _ in rows],
        "member": [chance.choice(["yes", "no"]) for _ in rows],
        "amount": [round(chance.uniform(5, 3000), 2) for _ in rows],
    }
    draft.kinds = {
        "size": "number",
        "count": "integer",
        "shop": "nominal",
        "day": "date",
        "member": "nominal",
        "amount": "number",
    }
    draft.values[TARGET] = _classes(draft, ["good", "bad"] if chance.random() < 0.5 else ["good", "bad", "open"])
    return draft


def _classes(draft: Draft, names: list[str]) -> list[Any]:
    """Classes that depend on amount and day; one row of 20 has a random one."""
    found = []
    for amount, day in zip(_amounts(draft), draft.values["day"], strict=True):
        late = day is not None and day.year >= 2020
        name = names[0] if amount < 1400 else names[-1] if late else names[1]
        found.append(draft.random.choice(names) if draft.random.random() < 0.05 else name)
    return found


# Writing.


def _text(value: Any, decimal: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace(".", decimal) if isinstance(value, float) else str(value)


def _lines(draft: Draft) -> list[list[str]]:
    columns = list(draft.values)
    return [columns] + [[_text(draft.cell(column, row), draft.decimal) for column in columns] for row in range(N_ROWS)]


def _csv(lines: list[list[str]], separator: str, newline: str = "\n", quoting: Any = csv.QUOTE_MINIMAL) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, lineterminator=newline, quoting=quoting).writerows(lines)
    return buffer.getvalue()


def _finish(draft: Draft, name: str) -> Table:
    content = _WRITERS[draft.container](draft)
    # Levels, and the model of the plain file, are those of the values.
    plain = Draft(draft.random, values=draft.values)
    dropped = [column for column, kind in draft.kinds.items() if kind == "left out"]
    fitting = list(draft.fitting)
    for option in ("--written-as", "--missing", "--drop"):
        while option in fitting:
            place = fitting.index(option)
            if option == "--drop":
                dropped.append(fitting[place + 1])
            del fitting[place : place + 2]
    fitting += [part for column in dropped for part in ("--drop", column)]
    fitting += [option for option in draft.reading if option == "--drop-missing-target"]
    return Table(
        name=name,
        file_name=f"table.{draft.container}{'.gz' if draft.packed else ''}",
        content=gzip.compress(content, mtime=0) if draft.packed else content,
        reading=tuple(draft.reading),
        fitting=tuple(draft.fitting),
        kinds=dict(draft.kinds),
        levels={
            column: frozenset(value for value in draft.values[column] if value is not None)
            for column, kind in draft.kinds.items()
            if kind == "nominal"
        },
        hints={about: None if columns is None else frozenset(columns) for about, columns in draft.hints.items()},
        refused=draft.refused,
        needs=("fastexcel",) if draft.container == "xlsx" else (),
        plain=_csv(_lines(plain), ",").encode(),
        plain_options=tuple(fitting),
        doubts=tuple(dict.fromkeys(draft.doubts)),
    )


def _write_text(draft: Draft) -> bytes:
    separator = ";" if draft.decimal == "," and draft.separator == "," else draft.separator
    lines = _lines(draft)
    if draft.ragged:
        row = draft.random.randrange(40, N_ROWS - 40)
        lines[row] = [*lines[row], "more"] if draft.ragged > 0 else lines[row][:-1]
        # A way out: mend the line, or an option.
        draft.refused = rf"(?i)line {row + 1 + len(draft.before)}\b.*(correct|mend|repair|fix|remove|quote|--)"
    above = "".join(line + draft.newline for line in draft.before)
    return (above + _csv(lines, separator, draft.newline, draft.quoting) + draft.after).encode(draft.encoding)


def _write_json_lines(draft: Draft) -> bytes:
    def cell(column: str, row: int) -> Any:
        value = draft.cell(column, row)
        return str(value) if isinstance(value, date) else value

    rows = [{column: cell(column, row) for column in draft.values} for row in range(N_ROWS)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _frame(draft: Draft) -> pl.DataFrame:
    series = []
    for column in draft.values:
        cells = [draft.cell(column, row) for row in range(N_ROWS)]
        texts = any(isinstance(cell, str) for cell in cells)
        series.append(pl.Series(column, [str(cell) if texts and cell is not None else cell for cell in cells]))
    return pl.DataFrame(series)


def _write_frame(draft: Draft) -> bytes:
    buffer = io.BytesIO()
    frame = _frame(draft)
    if draft.container == "parquet":
        frame.write_parquet(buffer)
    else:
        frame.write_ipc(buffer)
    return buffer.getvalue()


def _write_sqlite(draft: Draft) -> bytes:
    with closing(sqlite3.connect(":memory:")) as base:
        columns = list(draft.values)
        types = {float: "REAL", int: "INTEGER", bool: "INTEGER", date: "DATE", datetime: "TIMESTAMP"}
        declared = []
        for column in columns:
            kinds = {type(draft.cell(column, row)) for row in range(N_ROWS)} - {type(None)}
            declared.append(f'"{column}" {types.get(kinds.pop(), "TEXT") if len(kinds) == 1 else "TEXT"}')
        base.execute(f"CREATE TABLE sales ({', '.join(declared)})")
        base.execute("CREATE TABLE shops (shop TEXT, town TEXT)")
        base.executemany("INSERT INTO shops VALUES (?, ?)", [("north", "Kiel"), ("south", "Ulm")])
        cells = ([draft.cell(column, row) for column in columns] for row in range(N_ROWS))
        rows = ([str(cell) if isinstance(cell, date) else cell for cell in row] for row in cells)
        base.executemany(f"INSERT INTO sales VALUES ({', '.join('?' * len(columns))})", rows)
        base.commit()
        return base.serialize()


def _write_excel(draft: Draft) -> bytes:
    def cell(column: str, row: int) -> Any:
        value = draft.cell(column, row)
        return Day((value - date(1899, 12, 30)).days) if isinstance(value, date) else value

    rows = [list(draft.values), *([cell(column, row) for column in draft.values] for row in range(N_ROWS))]
    sheets: dict[str, Any] = {"sales": rows}
    if draft.after != "one sheet":
        sheets["notes"] = [["made by", "on"], ["Ann", "Friday"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.xlsx")
        write_workbook(path, sheets)
        return path.read_bytes()


_WRITERS: dict[str, Callable[[Draft], bytes]] = {
    "csv": _write_text,
    "jsonl": _write_json_lines,
    "parquet": _write_frame,
    "arrow": _write_frame,
    "sqlite": _write_sqlite,
    "xlsx": _write_excel,
}


# Lines and separators.


simple("separator ;", "text separator", separator=";")
simple("separator tab", "text separator", separator="\t")
simple("separator |", "text separator", separator="|")
simple("separator ~, told", "text separator", separator="~", reading=["--separator", "~"])
simple("sep=; first", "text separator before", separator=";", before=["sep=;"])
simple("comment lines", "text before", before=["# sales of 2019 and 2020", "# by Ann, for Bob"])
simple("title lines, told", "text before", before=["Sales of 2019 and 2020", "for Bob"], reading=["--skip-lines", "2"])
simple("title lines", "text before refusal", before=["Sales of 2019 and 2020", "for Bob"], refused="--skip-lines")
simple("a line too long", "text lines refusal", ragged=1)
simple("a line too short", "text lines refusal", ragged=-1)
simple("blank lines at the end", "text after", after="\n\n\n")
simple("CRLF", "text newline", newline="\r\n")


@mess("separators in quotes", "lines")
def _(draft: Draft) -> None:
    remarks = ["red, large", 'the "good" one', "a;b|c", "two\nlines"]
    draft.add("remark", [draft.random.choice(remarks) for _ in range(N_ROWS)], "nominal")


simple(
    "every cell in quotes",
    "text quoting",
    quoting=csv.QUOTE_ALL,
    doubts=["Quotes do not make a text of a number in CSV; but 'read from text' would be true, too."],
)


# Numbers.


def whole(column: str) -> Step:
    """Round the numbers of a column."""

    def change(draft: Draft) -> None:
        draft.values[column] = [round(value) for value in draft.values[column]]

    return change


simple(
    "decimal commas",
    "text size amount decimal",
    decimal=",",
    doubts=["A reader that finds the decimal mark of the file itself needs no hint."],
    hints=[("read from text", "size", "amount")],
)
simple("decimal commas, told", "text size amount decimal", decimal=",", reading=["--decimal", ","])


def _three_decimals(draft: Draft) -> None:
    draft.separator = ";"
    draft.values["size"] = [draft.random.randint(1111, 99999) / 1000 for _ in range(N_ROWS)]
    draft.written["size"] = lambda size: f"{size:.3f}".replace(".", ",")
    whole("amount")(draft)
    draft.kinds["amount"] = "integer"


simple(
    "commas before three digits",
    "text separator size amount points",
    _three_decimals,
    hints=[("several readings", "size")],
    left_out=["size"],
)
simple(
    "commas before three digits, told",
    "text separator size amount points",
    _three_decimals,
    fitting=["--written-as", "size=1.234,567"],
    doubts=[_TOLD],
)
simple("thousands 1,234.50", "amount", writes("amount", "{:,.2f}".format))
simple(
    "thousands 1.234,50",
    "amount",
    writes("amount", lambda amount: f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))),
)
simple(
    "thousands 1 234,50",
    "amount",
    writes("amount", lambda amount: f"{amount:,.2f}".translate(str.maketrans(",.", "\u00a0,"))),
)
simple("thousands 1'234.50", "amount", writes("amount", lambda amount: f"{amount:,.2f}".replace(",", "'")))


@mess("commas in all thousands", "amount")
def _(draft: Draft) -> None:
    draft.values["amount"] = [1000 + round(amount) for amount in draft.values["amount"]]
    draft.written["amount"] = "{:,}".format
    draft.hint("several readings", "amount")
    draft.leave_out("amount")


@mess("money -12,50 €", "amount")
def _(draft: Draft) -> None:
    draft.values["amount"] = [round(amount - 1500, 2) for amount in draft.values["amount"]]
    draft.write("amount", lambda amount: f"{amount:.2f} €".replace(".", ","))


@mess("money free of charge", "amount")
def _(draft: Draft) -> None:
    draft.written["amount"] = lambda amount: f"{amount:.2f} €"
    in_the_way("amount", "free of charge")(draft)


simple("money € 12", "amount", whole("amount"), writes("amount", "€ {}".format, "number|integer"))
simple("money 12,50 €", "amount", writes("amount", lambda amount: f"{amount:.2f} €".replace(".", ",")))


_DOLLARS = "'$1,200' might be 1.2 dollars with three decimals, though nobody writes that beside '$950'."


def _dollars(draft: Draft) -> None:
    whole("amount")(draft)
    draft.written["amount"] = "${:,}".format


simple(
    "money $1,200",
    "amount",
    whole("amount"),
    writes("amount", "${:,}".format, "number|integer"),
    doubts=[_DOLLARS],
)
simple(
    "money $1,200, told",
    "amount",
    _dollars,
    lambda draft: draft.kinds.update(amount="number|integer"),
    fitting=["--written-as", "amount=$1,234.5"],
    doubts=[_TOLD],
)
simple(
    "money $1,200, told by an open example",
    "amount refusal",
    _dollars,
    fitting=["--written-as", "amount=$1,200"],
    refused="(?=.*written.as)(?=.*amount)(?=.*1,234.5)",
)
simple("12 %", "size", whole("size"), writes("size", "{} %".format, "number|integer"))


@mess("numbers as text", "container typed size count amount", turn=-1)
def _(draft: Draft) -> None:
    draft.container = "jsonl"
    for column in ("size", "count", "amount"):
        draft.write(column, str)


def _mark(draft: Draft, column: str, mark: Any, rows: list[int]) -> None:
    """Write a mark into cells of a column that hold no value."""
    for row in rows:
        draft.values[column][row] = None
        draft.cells[column, row] = mark


def in_the_way(column: str, mark: str) -> Step:
    """Write a mark into one cell, and expect that the column is left out for it."""

    def change(draft: Draft) -> None:
        _mark(draft, column, mark, [draft.random.randrange(N_ROWS)])
        draft.hint("cells in the way", column)
        draft.leave_out(column)

    return change


def marked(column: str, mark: Any) -> Step:
    """Write a mark into some cells."""
    return lambda draft: _mark(draft, column, mark, draft.some_rows())


simple("oops", "count", in_the_way("count", "oops"))
simple(
    "oops, told",
    "text count",
    lambda draft: _mark(draft, "count", "oops", [draft.random.randrange(N_ROWS)]),
    fitting=["--missing", "oops"],
    doubts=[_PLAIN],
)


# Dates.


simple("dates 31.01.2020", "day", writes("day", lambda day: f"{day:%d.%m.%Y}"))
simple("dates 01/31/2020", "day", writes("day", lambda day: f"{day:%m/%d/%Y}"))
simple("dates 1/31/2020", "day", writes("day", lambda day: f"{day.month}/{day.day}/{day.year}"))
simple("dates 31 Jan 2020", "day", writes("day", lambda day: f"{day:%d %b %Y}"))
simple("dates Jan 31 2020", "day", writes("day", lambda day: f"{day:%b %d %Y}"))
simple("dates January 31, 2020", "day", writes("day", lambda day: f"{day:%B} {day.day}, {day.year}"))
simple("dates 31.01.20", "day", writes("day", lambda day: f"{day:%d.%m.%y}"))
simple(
    "dates 2020/01/31",
    "day",
    writes("day", lambda day: f"{day:%Y/%m/%d}"),
    doubts=["Year first leaves nothing open; without a hint the date would be as right."],
)
simple("dates 31. Januar 2020", "day", writes("day", lambda day: f"{day.day}. {_MONTHS[day.month - 1]} {day.year}"))
simple("dates 31 Mär 2020", "day", writes("day", lambda day: f"{day.day:02} {_MONTHS[day.month - 1][:3]} {day.year}"))


simple("a date unknown", "day order", in_the_way("day", "unknown"))
simple("a date 2020-02-30", "day order", in_the_way("day", "2020-02-30"))
# The hint says that the others are dates.
simple("? in dates", "day order mark?", marked("day", "?"), hints=[("gaps", "day")], doubts=[_SILENT])
simple("? in dates, told", "text day order mark?", marked("day", "?"), fitting=["--missing", "?"], doubts=[_PLAIN])


def _moments(draft: Draft) -> None:
    draft.values["day"] = [
        datetime.combine(day, time(draft.random.randrange(24), draft.random.randrange(60), 5))
        for day in draft.values["day"]
    ]
    draft.kinds["day"] = "moment"


simple("dates with times", "day moment", _moments)


@mess("dates with times 31.01.2020 14:05", "day moment")
def _(draft: Draft) -> None:
    _moments(draft)
    draft.values["day"] = [moment.replace(second=0) for moment in draft.values["day"]]
    draft.write("day", lambda day: f"{day:%d.%m.%Y %H:%M}")


def _undecidable(draft: Draft) -> None:
    draft.values["day"] = [day.replace(day=(day.day - 1) % 12 + 1) for day in draft.values["day"]]
    draft.written["day"] = lambda day: f"{day:%d/%m/%Y}"


simple("days up to 12", "day order", _undecidable, hints=[("several readings", "day")], left_out=["day"])
simple("days up to 12, told", "day", _undecidable, fitting=["--written-as", "day=31/12/2020"], doubts=[_TOLD])


# Encodings.


def _umlauts(draft: Draft) -> None:
    names = {"north": "Köln", "south": "München", "east": "Zürich", "west": "Straße"}
    draft.values["shop"] = [names.get(shop, shop) for shop in draft.values["shop"]]


simple("utf-8", "text encoding shop", _umlauts)
simple("utf-8 with BOM", "text encoding shop", _umlauts, encoding="utf-8-sig")
simple(
    "utf-16",
    "text encoding shop",
    _umlauts,
    encoding="utf-16",
    doubts=["Its first two bytes tell utf-16 for certain; a hint about it would be noise."],
)
simple("cp1252", "text encoding shop", _umlauts, encoding="cp1252", hints=[("encoding",)])
simple("cp1252, told", "text encoding shop", _umlauts, encoding="cp1252", reading=["--encoding", "cp1252"])


# Levels and gaps.


@mess("spellings", "member")
def _(draft: Draft) -> None:
    for row in draft.some_rows(0.1):
        draft.values["member"][row] = {"yes": "Yes ", "no": "no"}[draft.values["member"][row]]
    draft.hint("spellings", "member")


@mess("true and false", "member boolean")
def _(draft: Draft) -> None:
    draft.values["member"] = [member == "yes" for member in draft.values["member"]]
    draft.kinds["member"] = "boolean"


def _gaps(mark: str) -> None:
    @mess(f"{mark} in text", f"shop mark{mark}")
    def _(draft: Draft) -> None:
        for row in draft.some_rows():
            draft.values["shop"][row] = mark
        draft.hint("gaps", "shop")

    told: dict[str, Any] = {"fitting": ["--missing", mark]}
    simple(f"{mark} in text, told", f"shop mark{mark}", marked("shop", mark), **told)
    # The hint says that the others are numbers.
    beside: dict[str, Any] = {"hints": [("gaps", "count")], "doubts": [_SILENT]}
    simple(f"{mark} in numbers", f"count mark{mark}", marked("count", mark), **beside)
    simple(f"{mark} in numbers, told", f"text count mark{mark}", marked("count", mark), **told, doubts=[_PLAIN])


_gaps("?")
_gaps("-")
_gaps("NA")


@mess("999", "count")
def _(draft: Draft) -> None:
    for row in draft.some_rows():
        draft.values["count"][row] = 999
    draft.hint("gaps", "count")


@mess("999 among others", "count")
def _(draft: Draft) -> None:
    draft.values["count"] = [draft.random.randint(900, 1100) for _ in range(N_ROWS)]


simple("999, told", "count", marked("count", 999), fitting=["--missing", "999"])


@mess("empty cells", "gaps", turn=2)
def _(draft: Draft) -> None:
    for column in ("size", "shop", "amount"):
        for row in draft.some_rows(0.03):
            if (column, row) not in draft.cells:
                draft.values[column][row] = None


# The target.


def _without_target(draft: Draft) -> None:
    for row in draft.some_rows(0.03):
        draft.values[TARGET][row] = None


@mess("a target of 0 and 1", "class")
def _(draft: Draft) -> None:
    draft.values[TARGET] = [int(name == "good") for name in draft.values[TARGET]]


@mess("a target of stars", "class")
def _(draft: Draft) -> None:
    draft.values[TARGET] = [1 + int(amount // 600) for amount in _amounts(draft)]
    draft.hint("target among the columns", "amount")


simple("rows without a target", "class refusal", _without_target, refused="--drop-missing-target")
simple("rows without a target, told", "class", _without_target, reading=["--drop-missing-target"])


def prices(digits: int | None) -> Step:
    """Make the target numbers."""

    def change(draft: Draft) -> None:
        draft.values[TARGET] = [round(0.8 * amount + draft.random.gauss(500, 20), digits) for amount in _amounts(draft)]

    return change


def _amounts(draft: Draft) -> list[float]:
    return [0.0 if amount is None else amount for amount in draft.values["amount"]]


_REFUSED: dict[str, Any] = {"fitting": ["--model", "tree"], "refused": "--bands"}
simple("a target of prices", "class refusal points", prices(2), **_REFUSED)
simple("a target of whole prices", "class refusal", prices(None), **_REFUSED)
simple("a target of prices in bands", "class points decimal", prices(2), fitting=["--bands", "3"])
simple("a target of whole prices in bands", "class", prices(None), fitting=["--bands", "900,1800"])


@mess("the target twice", "class")
def _(draft: Draft) -> None:
    draft.add("outcome", list(draft.values[TARGET]), "nominal")
    draft.hint("target among the columns", "outcome")


@mess("the target twice, dropped", "class")
def _(draft: Draft) -> None:
    draft.add("outcome", list(draft.values[TARGET]), "dropped")
    draft.fitting += ["--drop", "outcome"]


@mess("the target as 0 and 1", "class")
def _(draft: Draft) -> None:
    draft.values[TARGET] = _classes(draft, ["good", "bad"])
    draft.add("flag", [int(name == "bad") for name in draft.values[TARGET]], "integer")
    draft.hint("target among the columns", "flag")


@mess("a text that tells the target", "class")
def _(draft: Draft) -> None:
    told = {"good": ["paid", "settled"], "bad": ["overdue", "in court"], "open": ["waiting"]}
    draft.add("status", [draft.random.choice(told[name]) for name in draft.values[TARGET]], "nominal")
    draft.hint("target among the columns", "status")


def _rare(draft: Draft) -> None:
    largest = sorted(range(N_ROWS), key=_amounts(draft).__getitem__)[-60:]
    rare = set(draft.random.sample(largest, 12))
    draft.values[TARGET] = ["fraud" if row in rare else "fine" for row in range(N_ROWS)]


simple("a rare class", "class", _rare, hints=[("rare class",)])
simple(
    "a rare class, weighted",
    "class",
    _rare,
    fitting=["--class-weight", "balanced"],
    doubts=["Balanced weights are the way out that the hint would name, so it would be noise."],
)


# Columns that say nothing about new rows.


@mess("an identifier", "identifier")
def _(draft: Draft) -> None:
    numbers = draft.random.sample(range(10000, 100000), N_ROWS)
    draft.add("order", [f"A-{number}x" for number in numbers], "left out")
    draft.hint("left out", "order")


def added(column: str, values: list[Any], kind: str = "left out") -> Step:
    """Add a column."""
    return lambda draft: draft.add(column, values, kind)


_NUMBERS = list(range(1, N_ROWS + 1))
simple("row numbers", "order", added("nr", _NUMBERS, "integer"), hints=[("row numbers", "nr")])
simple("row numbers, dropped", "order", added("nr", _NUMBERS, "dropped"), fitting=["--drop", "nr"])


@mess("codes with leading zeros", "codes")
def _(draft: Draft) -> None:
    codes = ["01067", "04109", "10115", "99084"]
    draft.add("zip", [draft.random.choice(codes) for _ in range(N_ROWS)], "nominal")
    draft.doubts.append(
        "'01067' is a code, and 1067 would not find it again; but a whole number tells the rows apart, too."
    )


simple("a constant text", "constant", added("country", ["DE"] * N_ROWS), hints=[("left out", "country")])
simple("a constant number", "constant-number", added("version", [3] * N_ROWS), hints=[("left out", "version")])
simple("an empty column", "empty", added("comment", [None] * N_ROWS), hints=[("left out", "comment")])


# The order of rows.


def sort(column: str) -> Step:
    """Put the rows in the order of a column."""
    return lambda draft: draft.sort(lambda row: draft.values[column][row])


# Folds are shuffled, so that this order does no harm.
simple("sorted by target", "order class", sort(TARGET), turn=1, fitting=["--cv", "3"])
simple("sorted by count", "order count", sort("count"), turn=1)
simple(
    "sorted by date",
    "order",
    sort("day"),
    turn=1,
    fitting=["--cv", "3"],
    hints=[("order of rows",)],
    doubts=[_CV],
)


def _customers(draft: Draft) -> list[str]:
    names = [f"C{number}" for number in draft.random.sample(range(1000, 9999), N_ROWS // 5)]
    return [name for name in names for _ in range(5)]


@mess("groups", "customer")
def _(draft: Draft) -> None:
    names = _customers(draft)
    draft.random.shuffle(names)
    draft.add("customer", names, "left out")
    draft.hint("left out", "customer")


@mess("groups, told", "customer")
def _(draft: Draft) -> None:
    names = _customers(draft)
    draft.random.shuffle(names)
    draft.add("customer", names, "nominal")
    draft.fitting += ["--categorical", "customer"]


@mess("groups in blocks", "customer order")
def _(draft: Draft) -> None:
    draft.add("customer", _customers(draft), "left out")
    draft.hint("left out", "customer")
    draft.hint("order of rows")
    draft.fitting += ["--cv", "3"]
    draft.doubts.append(_CV + " Rows of one customer come in several folds; no other hint of the list would say it.")


# Kinds of file.


simple(".csv.gz", "container text", packed=True)


_ISO = "These files have no dates of their own, and ISO dates are as plain there as in CSV, where no hint is shown."


simple(".jsonl", "container typed", turn=-1, container="jsonl", doubts=[_ISO])
simple(".jsonl.gz", "container typed", turn=-1, container="jsonl", packed=True, doubts=[_ISO])
simple("Parquet", "container typed", turn=-1, container="parquet")
simple("Arrow", "container typed", turn=-1, container="arrow")
simple(
    "SQLite, told", "container typed boolean", turn=-1, container="sqlite", reading=["--table", "sales"], doubts=[_ISO]
)
simple(
    "SQLite",
    "container typed boolean refusal",
    turn=-1,
    container="sqlite",
    refused="(?=.*--table)(?=.*sales)(?=.*shops)",
)
simple("Excel, told", "container typed moment", turn=-1, container="xlsx", reading=["--sheet", "sales"])
simple(
    "Excel", "container typed moment refusal", turn=-1, container="xlsx", refused="(?=.*--sheet)(?=.*sales)(?=.*notes)"
)
simple("Excel of one sheet", "container typed moment after", turn=-1, container="xlsx", after="one sheet")


TWENTY = [
    ("comment lines",),
    ("money $1,200",),
    ("oops",),
    ("days up to 12",),
    ("a line too long",),
    ("999",),
    ("rows without a target",),
    ("a target of prices",),
    ("the target as 0 and 1",),
    ("a rare class",),
    ("sorted by date",),
    ("SQLite, told",),
    ("separator |", "dates 31.01.2020"),
    ("sep=; first", "decimal commas"),
    ("title lines, told", "CRLF"),
    ("cp1252", "thousands 1.234,50"),
    ("Excel, told", "money 12,50 €"),
    (".jsonl.gz", "dates 31. Januar 2020"),
    ("spellings", "? in text"),
    ("an identifier", "row numbers"),
]
"""The messes of the twenty tables of acceptance: :func:`twenty` makes them."""


def twenty() -> Iterator[Table]:
    """The tables of acceptance."""
    return (table(*names) for names in TWENTY)


def says(expected: str, message: str) -> bool:
    """Whether a message, its lines joined, says what a regular expression expects."""
    return re.search(expected, " ".join(message.split())) is not None
