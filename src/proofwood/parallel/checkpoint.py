"""A file of results that grows while they come, and that a later run continues.

The file holds JSON lines: a header that says what the results are about, then one record per result. Lines are only
appended, so a run that is killed leaves at most one torn line, the last, and the next run drops it.

:class:`Checkpoint` has a record for each row of a table, with the key ``row``. When all are there, the file is replaced
in one step by one whose records are in the order of their rows: it depends on the results alone, not on the order in
which they came. What a search proves is in files of the same form (:mod:`proofwood.parallel.search_file`).

Every record ends in a digest of itself and of the header. So a record that was changed, or taken from a file about
something else, is found; it is not a signature, because anyone who means to deceive can compute it anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from proofwood.exceptions import CheckpointWarning
from proofwood.files import canonical_json, is_regular, require_writable, strict_json, write_whole
from proofwood.printable import cut

VERSION = 2
"""Version of the format; a file of another version is refused."""

DIGEST = "digest"
"""Key of the digest of a record, in the file only."""

Record = Mapping[str, Any]


class RecordFile:
    """A header and records, in memory and, with a path, in a file; what a record is, a subclass says.

    Parameters
    ----------
    path : of the file; None keeps the records in memory only. To a device or pipe nothing is written on the way
    header : what the records are about: plain values. A file with another header is refused

    Raises
    ------
    ValueError
        If the file is about something else, of another format, changed, or damaged before its last line. It is left
        as it was.
    OSError
        If the file cannot be written.
    """

    KEY = "row"
    """What every record has."""

    def __init__(self, path: str | os.PathLike[str] | None, header: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        # as a file gives it back: tuples are lists, keys are texts
        self.header: dict[str, Any] = json.loads(_line({"version": VERSION, **header}))
        self._head = _digest(self.header)
        self._file: BinaryIO | None = None
        self._kept = 0  # bytes of the file that are whole lines
        self._full = False  # whether the file could not be written any more

    def _read(self, path: Path) -> list[Record]:
        """The records of the file that is there."""
        found, records, self._kept = read_lines(path, self.KEY, self._same)
        if found is None:
            content = path.read_bytes()
            if not _line(self.header).encode().startswith(content):
                raise ValueError(f"{path} holds no results of this run. Give another path, or delete the file.")
        return records

    def _same(self, found: Mapping[str, Any]) -> None:
        for key in sorted({*self.header, *found}):
            if self.header.get(key) != found.get(key):
                raise ValueError(
                    f"{self.path} holds results about something else: its {key!r} is {_short(found.get(key))}, that of "
                    f"this run {_short(self.header.get(key))}. Give another path, or delete the file."
                )

    def _open(self, path: Path) -> BinaryIO:
        return path.open("ab", buffering=0)

    def _append(self, values: Iterable[Record]) -> None:
        """Append records; the rest of an interrupted call is dropped first."""
        assert self.path is not None
        if self._file is None:
            self._file = self._open(self.path)
        lines = [] if self._kept else [_line(self.header)]
        content = "".join([*lines, *map(self._signed, values)]).encode()
        self._file.truncate(self._kept)
        view = memoryview(content)
        while view:
            view = view[self._file.write(view) :]
        self._written(self._file)
        self._kept += len(content)

    def _append_if_possible(self, values: Iterable[Record], goes_on: str) -> None:
        """Write records; where that fails, as on a full disk, warn once and write no more: the work is worth more.

        Parameters
        ----------
        goes_on : what becomes of the work, for the warning
        """
        if self._full:
            return
        try:
            self._append(values)
        except OSError as error:
            self._full = True
            self.close()
            warnings.warn(
                f"{self.path} cannot be written any more ({error.strerror or error}): {goes_on}. What was written "
                "before is whole, and a later run with the same path continues it",
                CheckpointWarning,
                stacklevel=4,
            )

    def _written(self, file: BinaryIO) -> None:
        """What follows each time that something was written."""

    def _signed(self, record: Record) -> str:
        return _line({**record, DIGEST: _digest(record, self._head)})

    def close(self) -> None:
        """Close the file as it is; a later run continues it."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Checkpoint(RecordFile):
    """Records keyed by row, in memory and, with a path, in a file.

    Parameters
    ----------
    path, header : as of every :class:`RecordFile`. To a device or pipe all is written at the end
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
        super().__init__(path, header)
        self.total = total
        self.records: dict[int, Record] = {}
        if self.path is not None:
            require_writable(self.path)
            if is_regular(self.path) and self.path.exists():
                self._continue(self.path)

    @property
    def complete(self) -> bool:
        """Whether all records are there."""
        return len(self.records) == self.total

    def _continue(self, path: Path) -> None:
        for record in self._read(path):
            if record["row"] in self.records:
                raise ValueError(f"{path} holds two records of the row {record['row']!r}: delete one of the lines")
            self._keep(record)

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
        # not before the first record: a run with a wrong option leaves the file alone
        if self.path is not None and new and is_regular(self.path):
            self._append_if_possible(new, "the explanations go on, and are kept in memory")
        return len(new)

    def finish(self) -> None:
        """Close the file; if all records are there, put them in order first.

        A file that could not be written any more stays as it is: it is continued where there is room again.
        """
        self.close()
        if self.path is None or not self.complete or self._full:
            return
        lines = [_line(self.header), *(self._signed(self.records[row]) for row in range(self.total))]
        write_whole(self.path, "".join(lines).encode())


def read_lines(
    path: str | os.PathLike[str], key: str = "row", check: Callable[[Mapping[str, Any]], None] | None = None
) -> tuple[dict[str, Any] | None, list[Record], int]:
    """Read a file of results.

    Parameters
    ----------
    path : of the file
    key : what every record has
    check : raises ValueError on a header that is not the right one, before records are read

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
            value = strict_json(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) - 1 and number > 1 and not lines[-1]:
                break  # torn, and its end written all the same
            raise ValueError(f"{path}, line {number}: {error}. The file is damaged, or holds no results") from error
        if not isinstance(value, dict) or ("version" if number == 1 else key) not in value:
            expected = "a header" if number == 1 else f"a record of a {key}"
            raise ValueError(f"{path}, line {number}: expected {expected}")
        if number == 1 and value["version"] != VERSION:
            raise ValueError(f"{path} is of version {value['version']!r} of the format, expected {VERSION}")
        if number == 1:
            if check is not None:
                check(value)
            head = _digest(value)
        elif value.pop(DIGEST, None) != _digest(value, head):
            raise ValueError(
                f"{path}, line {number}: the record of the {key} {_short(value[key])} was changed after it was "
                "written, or belongs to another file: its digest is not that of its content. Delete the line to have "
                "it made again"
            )
        values.append(value)
        whole += len(line) + 1
    if len(lines) == 1 and content and not (content.startswith(_START) or _START.startswith(content)):
        raise ValueError(f"{path} holds no results")  # not a torn header: somebody's file
    return (values[0] if values else None), list(values[1:]), whole


_START = b'{"version":'


def _digest(value: Mapping[str, Any], head: str = "") -> str:
    """Half of the SHA-256 of a record without its digest, bound to the digest of the header."""
    return hashlib.sha256(f"{head}\n".encode("ascii") + canonical_json(value)).hexdigest()[:32]


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _short(value: object) -> str:
    return cut(repr(value))
