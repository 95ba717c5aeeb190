"""A file of results that grows while they come, and that a later run continues.

The file holds JSON lines: a header that says what the results are about, then one record per result, each with its key
``row``. Lines are only appended, so a run that is killed leaves at most one torn line, the last, and the next run drops
it. When all results are there, the file is replaced in one step by one whose records are in the order of their rows: it
depends on the results alone, not on the order in which they came.

Every record ends in a digest of itself and of the header. So a record that was changed, or taken from a file about
something else, is found; it is no signature, as whoever means to deceive can compute it anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from proofwood.files import is_regular, require_writable, write_whole

VERSION = 2
"""Of the format; a file of another version is refused."""

DIGEST = "digest"
"""Key of the digest of a record, in the file only."""

Record = Mapping[str, Any]


class Checkpoint:
    """Records keyed by row, in memory and, with a path, in a file.

    Parameters
    ----------
    path : of the file; None keeps the records in memory only. To a device or pipe all is written at the end
    header : what the records are about: plain values. A file with another header is refused
    total : number of records when all are there; their rows are 0 to ``total - 1``

    Attributes
    ----------
    records : row -> record

    Raises
    ------
    ValueError
        If the file is about something else, of another format, changed, or damaged before its last line. It is left
        as it was.
    OSError
        If the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, header: Mapping[str, Any], total: int) -> None:
        self.path = None if path is None else Path(path)
        self.total = total
        # as a file gives it back: tuples are lists, keys are texts
        self.header: dict[str, Any] = json.loads(_line({"version": VERSION, **header}))
        self.records: dict[int, Record] = {}
        self._head = _digest(self.header)
        self._file: TextIO | None = None
        self._kept = 0  # bytes of the file that are whole lines
        if self.path is not None:
            require_writable(self.path)
            if is_regular(self.path) and self.path.exists():
                self._continue(self.path)

    @property
    def complete(self) -> bool:
        """Whether all records are there."""
        return len(self.records) == self.total

    def _continue(self, path: Path) -> None:
        found, records, self._kept = read_lines(path)
        if found is None:
            content = path.read_bytes()
            if not _line(self.header).encode().startswith(content):
                raise ValueError(f"{path} holds no results of this run. Give another path, or delete the file.")
            return
        self._same(found)
        for record in records:
            if record["row"] in self.records:
                raise ValueError(f"{path} holds two records of the row {record['row']!r}: delete one of the lines")
            self._keep(record)

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
        new: list[Record] = [json.loads(_line(record)) for record in records if record["row"] not in self.records]
        for record in new:
            self._keep(record)
        self._write(new)
        return len(new)

    def _write(self, values: list[Record]) -> None:
        if self.path is None or not values or not is_regular(self.path):
            return
        if self._file is None:  # not before the first record: a run with a wrong option leaves the file alone
            self._file = self.path.open("a", encoding="utf-8", newline="\n")
            self._file.truncate(self._kept)
            if self._kept == 0:
                self._file.write(_line(self.header))
        self._file.writelines(map(self._signed, values))
        self._file.flush()

    def _signed(self, record: Record) -> str:
        return _line({**record, DIGEST: _digest(record, self._head)})

    def finish(self) -> None:
        """Close the file; if all records are there, put them in order first."""
        self.close()
        if self.path is None or not self.complete:
            return
        lines = [_line(self.header), *(self._signed(self.records[row]) for row in range(self.total))]
        write_whole(self.path, "".join(lines).encode())

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
        If a line before the last is damaged, a record was changed, or the file is none of results.
    """
    content = Path(path).read_bytes()
    values: list[dict[str, Any]] = []
    whole = 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            value = json.loads(line, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            if number == len(lines) - 1 and number > 1 and not lines[-1]:
                break  # torn, and its end written all the same
            raise ValueError(f"{path}, line {number}: {error}. The file is damaged, or holds no results") from error
        if not isinstance(value, dict) or ("version" if number == 1 else "row") not in value:
            raise ValueError(f"{path}, line {number}: expected {'a header' if number == 1 else 'a record of a row'}")
        if number == 1 and value["version"] != VERSION:
            raise ValueError(f"{path} is of version {value['version']!r} of the format, expected {VERSION}")
        if number == 1:
            head = _digest(value)
        elif value.pop(DIGEST, None) != _digest(value, head):
            raise ValueError(
                f"{path}, line {number}: the record of the row {_short(value['row'])} was changed after it was "
                "written, or belongs to another file: its digest is not that of its content. Delete the line to have "
                "it made again"
            )
        values.append(value)
        whole += len(line) + 1
    if len(lines) == 1 and content and not (content.startswith(_START) or _START.startswith(content)):
        raise ValueError(f"{path} holds no results")  # not a torn header: somebody's file
    return (values[0] if values else None), list(values[1:]), whole


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


_START = b'{"version":'


def _digest(value: Mapping[str, Any], head: str = "") -> str:
    """Half of the SHA-256 of a record without its digest, bound to the digest of the header."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(f"{head}\n{text}".encode("ascii")).hexdigest()[:32]


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
