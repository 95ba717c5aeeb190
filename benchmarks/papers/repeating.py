"""Stored cells, drawn at random and measured again: their results must be equal, their seconds alike."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.harness import Row, Table, markdown_table, number
from benchmarks.papers.measuring import FINAL, Cell

SECONDS = ("cpu", "mean", "seconds")
"""Columns that say how long a cell takes, the first that a table has."""
OF_TIME = frozenset(
    (
        *("cpu", "wall", "seconds", "best_seconds", "prepared", "took", "peak_mb", "trace"),
        *("least", "mean", "median", "high", "most", "most_sat", "most_unsat", "own_mean", "own_most"),
        *("when", "versions", "machine", "limit"),
    )
)
"""Columns of seconds, of memory, of what a run looks like in time, and of its limit."""


@dataclass(frozen=True)
class Repeated:
    """A cell and its second row.

    Parameters
    ----------
    cell : as it is stored
    row : measured again
    """

    cell: Cell
    row: Row

    @property
    def differ(self) -> list[str]:
        """Columns with another result."""
        stored = self.cell.stored or {}
        return [name for name in self.cell.table.fields if name not in OF_TIME and stored[name] != self.row[name]]

    @property
    def ratio(self) -> float:
        """Seconds of the second row over those of the stored one; nan where the table has none."""
        name = next((name for name in SECONDS if self.row.get(name)), None)
        stored = self.cell.stored or {}
        return number(self.row[name]) / number(stored[name]) if name and number(stored[name]) else float("nan")


def repeated(cells: Sequence[Cell], n: int, seed: int, *, isolate: bool = True) -> Iterator[Repeated]:
    """Measure ``n`` of the cells again that a limit did not end; nothing of it is stored."""
    ended = [cell for cell in cells if cell.stored is not None and cell.stored["status"] in FINAL]
    with tempfile.TemporaryDirectory() as folder:
        for cell in random.Random(seed).sample(ended, min(n, len(ended))):
            own = cell.table
            table = Table(Path(folder) / own.path.parent.name / own.path.name, own.key, own.columns)
            stored = number((cell.stored or {})["limit"])
            limit = cell.limit if math.isnan(stored) else stored  # rows of earlier pages have none
            yield Repeated(cell, replace(cell, table=table, limit=limit).measure(isolate=isolate))


def shown(all_repeated: Sequence[Repeated]) -> str:
    """A table of cells, what differs, and the quotient of their seconds."""
    lines = []
    for one in all_repeated:
        path = one.cell.table.path
        differ = ", ".join(f"{name} {(one.cell.stored or {})[name]} / {one.row[name]}" for name in one.differ)
        lines.append([f"{path.parent.name} {path.stem}", str(one.cell), differ or "equal", f"{one.ratio:.2f}"])
    return markdown_table(("table", "cell", "results", "seconds, new / stored"), lines)
