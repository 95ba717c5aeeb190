"""How a text table is written, as far as the user says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from proofwood.exceptions import DataError


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text table is written; None for what the reader has to detect.

    Parameters
    ----------
    separator : one character between the cells of a row
    decimal : "." or ","
    encoding : as Python names it
    skip_lines : lines before the header; None skips lines that begin with ``#`` and one such as ``sep=;``
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_lines: int | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise DataError(f"separator {self.separator!r} is not one character, such as ';' or a tab")
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal mark {self.decimal!r}: expected '.' or ','")
        if self.decimal is not None and self.decimal == self.separator:
            raise DataError(f"decimal mark and separator are both {self.decimal!r}: expected two different marks")
        if self.encoding is not None:
            _require_encoding(self.encoding)
        if self.skip_lines is not None and self.skip_lines < 0:
            raise DataError(f"{self.skip_lines} lines to skip: expected a number from 0")


def _require_encoding(name: str) -> None:
    try:
        "".encode(name)
    except LookupError:
        raise DataError(f"no encoding {name!r}: expected one such as utf-8, latin-1 or cp1252") from None


_format: ContextVar[TextFormat] = ContextVar("text_format", default=TextFormat())  # noqa: B039 - it is frozen


@contextmanager
def text_format(given: TextFormat) -> Iterator[None]:
    """A context in which text tables are read in a given format."""
    token = _format.set(given)
    try:
        yield
    finally:
        _format.reset(token)


def given_format() -> TextFormat:
    """How text tables are written, as far as the user says it."""
    return _format.get()
