"""What the paper benchmarks share: how long to measure, where to store, and cells that go on where they broke off."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Table, number, run, seconds_text

DONE = ("optimal", "done")
"""States of a cell that a longer limit cannot change."""

Published = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Session:
    """How to measure: limit of one fit, number of runs, where the results are.

    Parameters
    ----------
    seconds : time limit of one fit
    runs : repetitions to average (seeds, generators or fits, as the table says)
    out : folder of the results
    fresh : measure again what is stored
    isolate : measure in child processes
    """

    seconds: float
    out: Path
    runs: int = 1
    fresh: bool = False
    isolate: bool = True

    def row(
        self, table: Table, key: Mapping[str, Any], task: str, values: Mapping[str, Any], cap: float
    ) -> dict[str, str]:
        """The stored row of a cell; measured by ``task`` if there is none, or if it broke off under a shorter limit.

        Parameters
        ----------
        table : with the columns ``limit``, ``status`` and ``error`` beside what the task returns
        cap : seconds after which a child is killed
        """
        row = None if self.fresh else table.find(**key)
        if row is not None and (
            row["status"] in DONE or (row["status"] != "failed" and number(row["limit"]) >= self.seconds)
        ):
            return row
        outcome = run(task, {**values, "seconds": self.seconds}, hard_cap=cap, isolate=self.isolate)
        stored = {name: outcome.get(name) for name in table.columns}
        row = table.add({**key, **stored, "limit": self.seconds})
        told = ", ".join(f"{name} {row[name]}" for name in table.columns if row[name] and name not in ("each", "limit"))
        print(" ".join(map(str, key.values())), "|", told, flush=True)
        return row


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


def seconds_cell(row: Mapping[str, str]) -> str:
    """Mean seconds, or ``> limit`` where a fit reached it."""
    if row["status"] in DONE:
        return seconds_text(number(row["seconds"]))
    return f"> {seconds_text(number(row['limit']))}" if row["status"] in ("feasible", "killed") else row["status"]


def decimals(text: str, digits: int = 1) -> str:
    """A stored number with so many digits, without those that are zero; a dash if there is none."""
    if not text:
        return "–"
    return f"{float(text):.{digits}f}".rstrip("0").rstrip(".") if digits else f"{float(text):.0f}"


def add_session_arguments(command: argparse.ArgumentParser, out: Path, *, seconds: float, runs: int, what: str) -> None:
    """Arguments that every subcommand has; ``what`` says what the runs are."""
    command.add_argument("--seconds", type=float, default=seconds, help=f"time limit of one fit (default: {seconds:g})")
    command.add_argument("--runs", type=int, default=runs, help=f"{what} (default: {runs})")
    command.add_argument("--out", type=Path, default=out, help="folder of the results")
    command.add_argument("--fresh", action="store_true", help="measure again what is stored")
    command.add_argument("--in-process", action="store_true", help="no child per cell: no hard cap, and no start-up")


def make_one(make: Mapping[str, Callable[..., Path]], parsed: argparse.Namespace) -> Path:
    """The page of the subcommand that was given."""
    values = dict(vars(parsed))
    function = make[values.pop("what")]
    isolate = not values.pop("in_process")
    session = Session(isolate=isolate, **{name: values.pop(name) for name in ("seconds", "runs", "out", "fresh")})
    return function(session=session, **values)
