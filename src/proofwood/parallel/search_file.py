"""What a search proves, in a file that a later search of the same problem begins with.

The form is that of :mod:`proofwood.parallel.checkpoint`: a header that says which problem it is, by digests of rows,
labels and weights and by all that the claim depends on, then records, each with a digest of itself and of the header.
They are appended, and each time written to the disk, so that a process which is killed loses what came after the last
time. A record is a claim about the problem and not about the run: it was proved by this library, and is trusted as an
answer of the same run would be. Threads, instruction sets and limits are not part of the header.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from proofwood.files import is_regular, require_writable, sync_folder
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.parallel.checkpoint import Record, RecordFile

FORMAT = "proofwood search 1"
"""What records mean; raised where a new version of the library would read them in another way."""
SECONDS = 30.0
"""From one time of writing to the next."""


class SearchFile(RecordFile):
    """Records of the searches of one fit, each with its ``kind``, and ``of``: the search it belongs to.

    The file is locked as long as it is open.

    Parameters
    ----------
    path : of the file, which is made if it is not there
    problem : what the searches are about: plain values

    Raises
    ------
    ValueError
        If the file is about something else, of another format, changed, or damaged before its last line. It is left
        as it was.
    OSError
        If the file cannot be written, or another fit is writing it.
    """

    KEY = "kind"

    def __init__(self, path: str | os.PathLike[str], problem: Mapping[str, Any]) -> None:
        super().__init__(path, {"format": FORMAT, **problem})
        self.seconds = SECONDS
        place = Path(path)
        require_writable(place)
        if not is_regular(place):
            raise ValueError(
                f"checkpoint={os.fspath(path)!r} is not a regular file and could not be read again: name one"
            )
        self._file = self._open(place)
        try:
            _lock(self._file, place)
            self._known: dict[str, list[Record]] = {}
            try:
                found = self._read(place)
            except ValueError as error:
                raise ValueError(f"checkpoint: {error}") from None
            for record in found:
                self._known.setdefault(str(record.get("of")), []).append(record)
            if self._kept == 0:
                self._append([])
                sync_folder(Path(os.path.realpath(place)).parent)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SearchFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def known(self, search: str) -> list[Record]:
        """The records of a search that were in the file, in the order of writing."""
        return self._known.get(search, [])

    def add(self, search: str, records: Iterable[Record]) -> None:
        """Append records of a search; they are on the disk when this returns, unless the file cannot be written."""
        new = [{**record, "of": search} for record in records]
        if new:
            self._append_if_possible(new, "the search goes on, and what it proves from here on is not kept")

    def _written(self, file: BinaryIO) -> None:
        os.fsync(file.fileno())


def recorded_rows(
    X: FloatArray | npt.NDArray[np.int32], codes: IntArray, n_classes: int, weights: IntArray, real_weights: FloatArray
) -> dict[str, Any]:
    """The rows of a problem, for the header of a file.

    Parameters
    ----------
    X : (n_rows, n_columns) values, or their ranks
    codes : (n_rows,) class codes
    n_classes : int
    weights, real_weights : (n_rows,) as integers, and as they were given
    """
    return {
        "n_rows": len(X),
        "n_columns": X.shape[1],
        "n_classes": n_classes,
        "rows": digest(X),
        "labels": digest(codes),
        "weights": digest(weights, real_weights),
    }


def digest(*values: npt.NDArray[Any] | str) -> str:
    """Digest of arrays, their shapes and types, and texts."""
    state = hashlib.blake2b(digest_size=16)
    for value in values:
        if isinstance(value, str):
            state.update(f"text {len(value)}\n{value}".encode())
            continue
        state.update(f"{value.dtype.str} {value.shape}\n".encode())
        step = max(1, 2**22 // max(1, value[:1].nbytes))
        for start in range(0, len(value), step):
            state.update(np.ascontiguousarray(value[start : start + step]).data)
    return state.hexdigest()


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep other fits from the file until it is closed; the system ends the lock of a process that is killed."""
    try:
        if sys.platform == "win32":
            import msvcrt  # of this platform only

            file.seek(2**40)  # of no content
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # of this platform only

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK):
            message = "another fit is writing this checkpoint: wait for its end, or give each fit a path of its own"
        else:
            message = f"the file system cannot lock this checkpoint ({error.strerror}): give a path on another one"
        raise OSError(error.errno, message, os.fspath(path)) from None
