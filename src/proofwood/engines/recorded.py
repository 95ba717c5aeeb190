"""Write the results that a native search proves to a checkpoint file, as records, and read them again.

A record holds rows of integers of one kind. Their meaning is described in ``native/trees/journal.hpp`` and
``native/bdd/journal.hpp``, and on the theory pages under "What a checkpoint holds".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from proofwood.parallel.checkpoint import Record
from proofwood.parallel.search_file import SearchFile

# A digest for each split took 1 % of a fast search, and twice the bytes: decisions/0025-checkpoints-of-searches.
_TOGETHER = 200
"""Maximum number of rows of a record. They share one digest, so damage to a record loses only these rows."""


class Recorded:
    """The records of one native search in a checkpoint file.

    Parameters
    ----------
    file : file from which the records are read and to which they are written
    search : name of the search: a digest of everything that its proofs depend on, except what is in the file's header
    kinds : kinds of rows in the order of writing: a claim is written before other claims that need it
    """

    def __init__(self, file: SearchFile, search: str, kinds: Sequence[str]) -> None:
        self._file = file
        self._search = search
        self._kinds = tuple(kinds)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the native search: the rows of earlier runs, the function that writes, and its interval (s)."""
        return self.rows, self.keep, self._file.seconds

    @property
    def rows(self) -> dict[str, list[Any]]:
        """The rows that earlier runs wrote, by kind."""
        rows: dict[str, list[Any]] = {kind: [] for kind in self._kinds}
        for record in self._file.known(self._search):
            if record["kind"] not in rows:
                raise ValueError(
                    f"{self._file.path} holds a record of the kind {record['kind']!r}: expected {self._kinds}"
                )
            rows[record["kind"]] += record.get("rows", [])
        return rows

    def keep(self, proved: Mapping[str, Iterable[Any]]) -> None:
        """Write the rows, by kind, that the native search proved since the last call."""
        records = list(self._records(proved))
        try:
            self._file.add(self._search, records)
        except KeyboardInterrupt:  # the native search has forgotten them
            self._file.add(self._search, records)
            raise

    def _records(self, proved: Mapping[str, Iterable[Any]]) -> Iterator[Record]:
        for kind in self._kinds:
            rows = list(proved[kind])
            for start in range(0, len(rows), _TOGETHER):
                yield {"kind": kind, "rows": rows[start : start + _TOGETHER]}

    @contextmanager
    def contradictions(self) -> Iterator[None]:
        """Add the name of the file to an error that the native search raises about the records."""
        try:
            yield
        except ValueError as error:
            if "recorded" not in str(error):
                raise
            raise ValueError(
                f"checkpoint: {self._file.path} contradicts the data: {error}. Delete the file, or give another path"
            ) from error
