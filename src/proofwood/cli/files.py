"""Files that commands read and write: refused with a reason before the work begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proofwood.exceptions import DataError
from proofwood.files import require_writable, same_file


def existing_model(path: Path) -> Path:
    """``path``; DataError if no model file can be there."""
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a model file")
    if not path.exists():
        raise DataError(f"no file {path}: expected a model file, as 'proofwood fit --out' writes it")
    return path


def require_out(out: Path | None, *inputs: Path, option: str = "--out") -> None:
    """Refuse a file that could not be written in the end, before the work begins; and one that is read."""
    if out is None:
        return
    for path in inputs:
        if same_file(out, path):
            raise DataError(f"{option} {out} is the file that is read: give another name, so that it is not lost")
    with writing(out):
        require_writable(out)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the file system, with the name that the user gave."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
