"""A file with the proofs of a search, from which a later search for the same problem starts.

The form is that of :mod:`proofwood.parallel.checkpoint`. The header identifies the problem by digests of rows, labels
and weights, and by everything else that the records depend on. Records follow, each with a digest of itself and of the
header. Each write appends records and reaches the disk, so a process that is killed loses only what it found since the
last write. A record is a claim about the problem, not about the run. This library proved it, and trusts it like an
answer of the current run. Threads, instruction sets and limits are not part of the header.
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
"""Name and version of the meaning of records; the version is raised if the library reads records differently."""
SECONDS = 30.0
"""Seconds between two writes."""


class SearchFile(RecordFile):
    """Records of the searches of one fit. Each has the key ``kind``, and the key ``of``: the search that wrote it.

    The file is locked while it is open.

    Parameters
    ----------
    path : path of the file, which is created if it does not exist
    problem : description of the problem, as plain values

    Raises
    ------
    ValueError
        If the file has a different header or format, was changed, or is damaged before its last line. The file is not
        modified then.
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
                f"checkpoint={os.fspath(path)!r} is not a regular file, so it could not be read again: give the path "
                "of a regular file"
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
        """The records of ``search`` that were in the file when it was opened, in the order of writing."""
        return self._known.get(search, [])

    def add(self, search: str, records: Iterable[Record]) -> None:
        """Append records of ``search``; they are on the disk when this returns, unless writing fails with a warning."""
        new = [{**record, "of": search} for record in records]
        if new:
            self._append_if_possible(new, "the search continues, but its new proofs are not saved")

    def _written(self, file: BinaryIO) -> None:
        os.fsync(file.fileno())


def recorded_rows(
    X: FloatArray | npt.NDArray[np.int32], target: Mapping[str, Any], weights: IntArray, real_weights: FloatArray
) -> dict[str, Any]:
    """Sizes and digests of the rows of a problem, for the header of a file.

    Parameters
    ----------
    X : (n_rows, n_columns) values, or their ranks
    target : what describes the target, by name: arrays, whose digest is kept, and plain values
    weights, real_weights : (n_rows,) integer weights, and weights as the user gave them
    """
    return {
        "n_rows": len(X),
        "n_columns": X.shape[1],
        "rows": digest(X),
        **{name: digest(one) if isinstance(one, np.ndarray) else one for name, one in target.items()},
        "weights": digest(weights, real_weights),
    }


def digest(*values: npt.NDArray[Any] | str) -> str:
    """Digest of texts, and of arrays with their shapes and types."""
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
    """Lock the file against other fits until it is closed; the system unlocks it if the process is killed."""
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
            message = "another fit is writing this checkpoint: wait until it ends, or give each fit its own path"
        else:
            message = (
                f"the file system cannot lock this checkpoint ({error.strerror}): give a path on another file system"
            )
        raise OSError(error.errno, message, os.fspath(path)) from None
