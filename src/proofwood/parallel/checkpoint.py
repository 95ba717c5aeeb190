"""A file to which results are added as they arrive, and which a later run continues.

The file holds JSON lines: a header that describes the problem, then one record per result. Lines are only appended, so
a run that is killed leaves at most one incomplete line, the last, and the next run drops it.

:class:`Checkpoint` has a record for each row of a table, with the key ``row``. When it is complete, the file is
replaced in one step by a file whose records are sorted by row, so it does not depend on the order in which results
arrived. The proofs of a search are in files of the same form (:mod:`proofwood.parallel.search_file`).

Every record ends in a digest of itself and of the header. So a record that was changed, or copied from a file about
something else, is detected. The digest is not a signature: anyone can compute it for a forged record.
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
"""Key under which the file, but not a record in memory, holds the digest of the record."""

Record = Mapping[str, Any]


class RecordFile:
    """A header and records, in memory and, with a path, in a file; subclasses define the records.

    Parameters
    ----------
    path : path of the file; None keeps the records in memory only. Records are not appended to a device or pipe
    header : description of the problem, as plain values. A file with a different header is refused

    Raises
    ------
    ValueError
        If the file has a different header or format, was changed, or is damaged before its last line. The file is not
        modified then.
    OSError
        If the file cannot be written.
    """

    KEY = "row"
    """Key that every record must have."""

    def __init__(self, path: str | os.PathLike[str] | None, header: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        # as a file gives it back: tuples are lists, keys are texts
        self.header: dict[str, Any] = json.loads(_line({"version": VERSION, **header}))
        self._head = _digest(self.header)
        self._file: BinaryIO | None = None
        self._kept = 0  # bytes of the file that are whole lines
        self._full = False  # whether the file could not be written any more

    def _read(self, path: Path) -> list[Record]:
        """The records of the existing file ``path``."""
        found, records, self._kept = read_lines(path, self.KEY, self._same)
        if found is None:
            content = path.read_bytes()
            if not _line(self.header).encode().startswith(content):
                raise ValueError(f"{path} holds no results of this run: give another path, or delete the file")
        return records

    def _same(self, found: Mapping[str, Any]) -> None:
        for key in sorted({*self.header, *found}):
            if self.header.get(key) != found.get(key):
                raise ValueError(
                    f"{self.path} holds results of a different run: its {key!r} is {_short(found.get(key))}, but this "
                    f"run has {_short(self.header.get(key))}. Give another path, or delete the file"
                )

    def _open(self, path: Path) -> BinaryIO:
        return path.open("ab", buffering=0)

    def _append(self, values: Iterable[Record]) -> None:
        """Append records; first remove the incomplete line that an interrupted call may have left."""
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
        """Write records; if that fails, as on a full disk, warn once and stop writing, so that the work can continue.

        Parameters
        ----------
        goes_on : how the work continues, for the warning
        """
        if self._full:
            return
        try:
            self._append(values)
        except OSError as error:
            self._full = True
            self.close()
            warnings.warn(
                f"{self.path} cannot be written any more ({error.strerror or error}): {goes_on}. The records written "
                "so far are complete, and a later run with the same path continues from them",
                CheckpointWarning,
                stacklevel=4,
            )

    def _written(self, file: BinaryIO) -> None:
        """Hook that is called after each write to the file."""

    def _signed(self, record: Record) -> str:
        return _line({**record, DIGEST: _digest(record, self._head)})

    def close(self) -> None:
        """Close the file in its current state; a later run continues it."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Checkpoint(RecordFile):
    """Records keyed by row, in memory and, with a path, in a file.

    Parameters
    ----------
    path, header : as for :class:`RecordFile`. To a device or pipe, all records are written at the end
    total : number of records when complete; their rows are 0 to ``total - 1``

    Attributes
    ----------
    records : row -> record

    Raises
    ------
    ValueError
        If the file has a different header or format, was changed, or is damaged before its last line. The file is not
        modified then.
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
        """Whether every row has a record."""
        return len(self.records) == self.total

    def _continue(self, path: Path) -> None:
        for record in self._read(path):
            if record["row"] in self.records:
                raise ValueError(f"{path} holds two records for the row {record['row']!r}: delete one of the lines")
            self._keep(record)

    def _keep(self, record: Record) -> None:
        row = record.get("row")
        if not isinstance(row, int) or not 0 <= row < self.total:
            raise ValueError(f"{self.path} holds a record for the row {row!r}: expected 0 to {self.total - 1}")
        self.records[row] = record

    def add(self, records: Iterable[Record]) -> int:
        """Store the records of rows that have no record yet, append them to the file, and return their number."""
        new: list[Record] = [json.loads(_line(record)) for record in records if record["row"] not in self.records]
        for record in new:
            self._keep(record)
        # not before the first record: a run with a wrong option does not change the file
        if self.path is not None and new and is_regular(self.path):
            self._append_if_possible(new, "the run continues, and keeps its explanations in memory")
        return len(new)

    def finish(self) -> None:
        """Close the file; if it is complete, replace it by a file with its records sorted by row.

        A file to which writing has failed stays unchanged; a later run can continue it.
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
    path : path of the file
    key : key that every record must have
    check : function that raises ValueError if the header is wrong; called before records are read

    Returns
    -------
    the header (None if its line is incomplete), the records, and the number of bytes in complete lines

    Raises
    ------
    ValueError
        If a line before the last is damaged, a record was changed, or the file is not a file of results.
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
                break  # incomplete, although its line end was written
            raise ValueError(f"{path}, line {number}: {error}. The file is damaged, or holds no results") from error
        if not isinstance(value, dict) or ("version" if number == 1 else key) not in value:
            expected = "a header" if number == 1 else f"a record with the key {key!r}"
            raise ValueError(f"{path}, line {number}: expected {expected}")
        if number == 1 and value["version"] != VERSION:
            raise ValueError(f"{path} has version {value['version']!r} of the format: expected version {VERSION}")
        if number == 1:
            if check is not None:
                check(value)
            head = _digest(value)
        elif value.pop(DIGEST, None) != _digest(value, head):
            raise ValueError(
                f"{path}, line {number}: the record for the {key} {_short(value[key])} was changed after it was "
                "written, or belongs to another file: its digest does not match its content. Delete the line, and the "
                "next run computes it again"
            )
        values.append(value)
        whole += len(line) + 1
    if len(lines) == 1 and content and not (content.startswith(_START) or _START.startswith(content)):
        raise ValueError(f"{path} holds no results: expected a file that this library wrote")  # not a torn header
    return (values[0] if values else None), list(values[1:]), whole


_START = b'{"version":'


def _digest(value: Mapping[str, Any], head: str = "") -> str:
    """First half of the SHA-256 of a record without its digest, computed together with the digest of the header."""
    return hashlib.sha256(f"{head}\n".encode("ascii") + canonical_json(value)).hexdigest()[:32]


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _short(value: object) -> str:
    return cut(repr(value))
