"""Files that commands read and write: refused with a reason before the work begins."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from proofwood.exceptions import DataError
from proofwood.files import require_writable, same_file, write_whole
from proofwood.printable import printable


def saved_model(path: Path) -> Any:
    """The fitted estimator in a model file; DataError if none can be there."""
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a model file")
    if not path.exists():
        raise DataError(f"no file {path}: expected a model file, as 'proofwood fit --out' writes it")
    from proofwood.estimators.saving import load

    return load(path)


def require_out(out: Path | None, *inputs: Path, option: str = "--out") -> None:
    """Refuse a file that could not be written in the end, before the work begins; and one that is read."""
    if out is None:
        return
    for path in inputs:
        if same_file(out, path):
            raise DataError(f"{option} {out} is the file that is read: give another name, so that it is not lost")
    with writing(out):
        require_writable(out)


def write_out(path: Path, content: bytes) -> None:
    """Write a whole file of a command."""
    with writing(path):
        write_whole(path, content)


def say_saved(path: Path, before: str = "") -> None:
    """Tell where something was saved."""
    typer.echo(f"{before}saved to {printable(str(path))}", err=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the file system, with the name that the user gave."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
