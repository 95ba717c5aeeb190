"""A file of results that grows while they come, and that a later run continues.

The file holds JSON lines: a header that says what the results are about, then one record per result, each with its key
``row``. Lines are only appended, so a run that is killed leaves at most one torn line, the last, and the next run drops
it. When all results are there, the file is replaced in one step by one whose records are in the order of their rows: it
depends on the results alone, not on the order in which they came.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

VERSION = 1
"""Of the format; a file of another version is refused."""

Record = Mapping[str, Any]


class Checkpoint:
    """Records keyed by row, in memory and, with a path, in a file.

    Parameters
    ----------
    path : of the file; None keeps the records in memory only
    header : what the records are about: plain values. A file with another header is refused
    total : number of records when all are there; their rows are 0 to ``total - 1``

    Attributes
    ----------
    records : row -> record

    Raises
    ------
    ValueError
        If the file is about something else, of another format, or damaged before its last line.
    """

    def __init__(self, path: str | os.PathLike[str] | None, header: Mapping[str, Any], total: int) -> None:
        self.path = None if path is None else Path(path)
        self.total = total
        # as a file gives it back: tuples are lists, keys are texts
        self.header: dict[str, Any] = json.loads(_line({"version": VERSION, **header}))
        self.records: dict[int, Record] = {}
        self._file: TextIO | None = None
        if self.path is not None:
            self._open(self.path)

    @property
    def complete(self) -> bool:
        """Whether all records are there."""
        return len(self.records) == self.total

    def _open(self, path: Path) -> None:
        kept = 0
        if path.exists():
            found, records, kept = read_lines(path)
            if found is not None:
                self._same(found)
                for record in records:
                    self._keep(record)
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._file.truncate(kept)

    def _same(self, found: Mapping[str, Any]) -> None:
        for key in sorted({*self.header, *found}):
            if self.header.get(key) != found.get(key):
                raise ValueError(
                    f"{self.path} holds results about something else: its {key!r} is {_short(found.get(key))}, that of "
                    f"this run {_short(self.header.get(key))}. Give another path, or delete the file."
                )

    def _keep(self, record: Record) -> None:
        row = record.get("row")
        if not isinstance(row, int) or not 0 <= row < self.total:
            raise ValueError(f"{self.path} holds a record of the row {row!r}: expected 0 to {self.total - 1}")
        self.records[row] = record

    def add(self, records: Iterable[Record]) -> int:
        """Keep records of rows that have none yet, and append them to the file; returns how many."""
        new = [json.loads(_line(record)) for record in records if record["row"] not in self.records]
        for record in new:
            self._keep(record)
        self._write(new)
        return len(new)

    def _write(self, values: Iterable[Mapping[str, Any]]) -> None:
        if self._file is not None:
            if self._file.tell() == 0:  # not before the first record: a run with a wrong option leaves no header
                self._file.write(_line(self.header))
            self._file.writelines(map(_line, values))
            self._file.flush()

    def finish(self) -> None:
        """Close the file; if all records are there, put them in order first."""
        self.close()
        if self.path is None or not self.complete:
            return
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                file.write(_line(self.header))
                file.writelines(_line(self.records[row]) for row in range(self.total))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file as it is; a later run continues it."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_lines(path: str | os.PathLike[str]) -> tuple[dict[str, Any] | None, list[Record], int]:
    """Read a file of results.

    Parameters
    ----------
    path : of the file

    Returns
    -------
    header (None if not even that line is whole), records, and how many bytes from the start are whole lines

    Raises
    ------
    ValueError
        If a line before the last is damaged, or the file is none of results.
    """
    content = Path(path).read_bytes()
    values: list[dict[str, Any]] = []
    whole = 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            value = json.loads(line)
        except ValueError as error:
            if number == len(lines) - 1 and number > 1 and not lines[-1]:
                break  # torn, and its end written all the same
            raise ValueError(f"{path}, line {number}: {error}. The file is damaged, or holds no results") from error
        if not isinstance(value, dict) or ("version" if number == 1 else "row") not in value:
            raise ValueError(f"{path}, line {number}: expected {'a header' if number == 1 else 'a record of a row'}")
        values.append(value)
        whole += len(line) + 1
    if len(lines) == 1 and content and not content.startswith(b'{"'):
        raise ValueError(f"{path} holds no results")  # not a torn header: somebody's file
    if values and values[0]["version"] != VERSION:
        raise ValueError(f"{path} is of version {values[0]['version']!r} of the format, expected {VERSION}")
    return (values[0] if values else None), list(values[1:]), whole


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
