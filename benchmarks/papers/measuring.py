"""Cells, passes and pages: what there is to measure, what is stored of it, and a page as a function of what is stored.

A table of a paper is a function of a :class:`Pass`. It asks the pass for the row of each cell that it shows. The pass
gives what is stored, or a row of empty texts, and remembers what was asked for; so one function tells which cells there
are, which of them are missing, and what the page says. ``benchmarks.reproduce`` measures between two passes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness import Row, Table, number, run, seconds_text, text_of

FINAL = ("optimal", "within_gap", "infeasible", "done")
"""States of a cell that a longer limit cannot change."""

VERDICTS = {"holds": "hold", "exceeds": "exceeded", "contradicts": "contradicted", "not measured": "not measured"}
"""What can be said of a claim, and of several."""

Published = dict[str, dict[str, str]]


@dataclass(frozen=True, eq=False)
class Cell:
    """A row to be measured.

    Parameters
    ----------
    table : where it is stored, with the columns ``limit``, ``status`` and ``error`` beside what the task returns
    key : what names it there
    task : "module:function"
    values : arguments of the task, beside ``seconds``
    limit : seconds of one fit
    fits : how many fits the task makes, at most
    data : the data set that it reads
    protocol : columns that a stored row must have so, beside its key; another row is one of another measurement
    foreign : whether none of our code takes part, so that no change of it makes the row stale
    like : columns of the key that cells have in common which take about as long; None for all but the first
    """

    table: Table
    key: Mapping[str, Any]
    task: str
    values: Mapping[str, Any]
    limit: float
    fits: int = 1
    data: str = ""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    foreign: bool = False
    like: Sequence[str] | None = None

    @property
    def name(self) -> tuple[str, ...]:
        """What tells it from all others."""
        return (str(self.table.path), *map(str, self.key.values()))

    @property
    def stored(self) -> Row | None:
        """The row that is stored, whatever its limit was."""
        row = self.table.find(**self.key)
        if row is None or any(row[name] != text_of(value) for name, value in self.protocol.items()):
            return None
        return row

    @property
    def sets(self) -> frozenset[str]:
        """Names of its data set: that of the file, and those that the tables have."""
        told = (str(self.key[name]).partition(", ")[0] for name in ("set", "case", "instance") if name in self.key)
        return frozenset((self.data.rpartition("/")[2], *told))

    @property
    def stands(self) -> bool:
        """Whether a row is stored that no longer limit would change, or whose limit was not shorter."""
        row = self.stored
        if row is None or row["status"] == "failed":
            return False
        return row["status"] in FINAL or number(row["limit"]) >= self.limit

    @property
    def expected(self) -> float:
        """Seconds that it may take: what it took before, else the most of cells like it, else what its limit allows."""
        like = [name for name in (list(self.key)[1:] if self.like is None else self.like) if name in self.key]
        own = [self.stored] if self.stored else self.table.select(**{name: self.key[name] for name in like})
        took = [number(row["took"]) for row in own if row["took"] and number(row["limit"]) >= self.limit]
        return max(took) if took else self.limit * self.fits + 2

    def measure(self, *, isolate: bool = True) -> Row:
        """Run the task, and store what it returns."""
        cap = 120 + self.fits * (2 * self.limit + 10)
        outcome = run(self.task, {**self.values, "seconds": self.limit}, hard_cap=cap, isolate=isolate)
        kept = {name: outcome.get(name) for name in self.table.columns}
        return self.table.add({**self.key, **kept, "limit": self.limit, "took": outcome["took"]})

    def __str__(self) -> str:
        return " ".join(str(value) for value in self.key.values() if value not in ("", 0))


@dataclass(eq=False)
class Pass:
    """One reading of a table of a paper.

    Parameters
    ----------
    out : folder of the paper's results
    cells : those that were asked for so far
    """

    out: Path
    cells: dict[tuple[str, ...], Cell] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def table(self, name: str, key: Sequence[str], columns: Sequence[str]) -> Table:
        """A file of the folder, read once."""
        if name not in self.tables:
            self.tables[name] = Table(self.out / name, tuple(key), ("limit", *columns, "status", "error", "took"))
        return self.tables[name]

    def row(self, cell: Cell) -> Row:
        """The stored row of a cell; empty texts if there is none."""
        self.cells.setdefault(cell.name, cell)
        return cell.stored or dict.fromkeys(cell.table.fields, "")

    @property
    def rows(self) -> list[Row]:
        """The stored rows of the cells."""
        return [row for row in (cell.stored for cell in self.cells.values()) if row is not None]


def described(reading: Pass, name: str, parts: Sequence[str]) -> Row:
    """Rows, columns, tests and classes of a set that is made of some cases."""
    table = reading.table("sets.csv", ("set",), ("rows", "columns", "tests", "classes", "positive"))
    values = {"cases_of": list(parts)}
    cell = Cell(table, {"set": name}, "benchmarks.tasks:describe", values, 1.0, data=parts[0], foreign=True)
    return reading.row(cell)


@dataclass(frozen=True)
class Page:
    """A title and blocks of Markdown, all of them worked out from rows; pictures are drawn when it is written."""

    title: str
    blocks: Sequence[str]
    pictures: Mapping[str, Callable[[Path], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """What a paper claims, and what is measured of it.

    Parameters
    ----------
    says : the paper's claim, with its figure
    ours : what is measured here
    verdict : "holds", "exceeds", "contradicts" or "not measured"
    why : the reason where it does not hold
    """

    says: str
    ours: str
    verdict: str
    why: str = ""


def read_published(text: str) -> Published:
    """Rows by name, cells by column name, from a table in plain text; a dot stands for an empty cell."""
    header, *lines = text.strip().splitlines()
    names = header.split()[1:]
    table = {}
    for line in lines:
        name, *cells = line.split()
        if len(cells) != len(names):
            raise AssertionError(f"{name}: {len(cells)} figures for {len(names)} columns")
        table[name] = {column: "–" if cell == "." else cell for column, cell in zip(names, cells, strict=True)}
    return table


def printed(table: Published, row: str, column: str, digits: int | None = None) -> str:
    """A figure of a paper, with a space behind ``<`` and ``>``; a dash where it has none."""
    text = table.get(row, {}).get(column, "–").replace("<", "< ").replace(">", "> ")
    return text if digits is None or text in ("–", "TO") else decimals(text, digits)


def seconds_cell(rows: Row | Sequence[Row], column: str = "seconds") -> str:
    """Mean seconds, or ``> limit`` where a fit reached it."""
    rows = [rows] if isinstance(rows, Mapping) else rows
    last = rows[-1]
    if last["status"] in FINAL:
        return seconds_text(statistics.fmean(number(row[column]) for row in rows))
    stopped = last["status"] in ("feasible", "killed")
    return f"> {seconds_text(number(last['limit']))}" if stopped else last["status"] or "–"


def decimals(text: str, digits: int = 1) -> str:
    """A stored number with so many digits, without those that are zero; a dash if there is none."""
    if not text:
        return "–"
    return f"{float(text):.{digits}f}".rstrip("0").rstrip(".") if digits else f"{float(text):.0f}"


def mean(values: Iterable[float]) -> float:
    """Mean of the numbers that there are; nan of none."""
    kept = [value for value in values if value == value]
    return statistics.fmean(kept) if kept else float("nan")
