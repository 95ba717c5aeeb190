"""Files that commands read and write, with checks before the work begins."""

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
    """Load the fitted estimator from a model file. Raise DataError if ``path`` is a folder or does not exist."""
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a model file")
    if not path.exists():
        raise DataError(f"there is no file {path}: expected a model file from 'proofwood fit --out'")
    from proofwood.estimators.saving import load
    from proofwood.estimators.storage import ModelFileError

    try:
        return load(path)
    except ModelFileError as error:
        if path.suffix.lower() == ".json":
            raise
        raise DataError(f"{error} Commands take the model first, then a table.") from error


def require_out(out: Path | None, *inputs: Path, option: str = "--out") -> None:
    """Raise DataError if ``out`` cannot be written, or is one of the files to read; called before the work begins."""
    if out is None:
        return
    for path in inputs:
        if same_file(out, path):
            raise DataError(f"{option} {out} is an input file, which would be overwritten: pass another name")
    with writing(out):
        require_writable(out)


def write_out(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, completely or not at all. Raise DataError if that fails."""
    with writing(path):
        write_whole(path, content)


def say_saved(path: Path, before: str = "") -> None:
    """Print on standard error where something was saved."""
    typer.echo(f"{before}saved to {printable(str(path))}", err=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system in a ``with`` block into a DataError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
