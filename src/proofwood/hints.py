"""What a user should know of a table or a model before believing a result, and what to do, in the user's own words.

Hints and errors name parameters to those who use Python, and options to those who use the command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

_from_shell: ContextVar[bool] = ContextVar("from_shell", default=False)


@contextmanager
def named_by_options() -> Iterator[None]:
    """While it lasts, hints and errors are for those who use the command line."""
    token = _from_shell.set(True)
    try:
        yield
    finally:
        _from_shell.reset(token)


def way_out(in_python: str, option: str) -> str:
    """What to do, in Python or on the command line, whichever is used."""
    return option if _from_shell.get() else in_python


def parameter(name: str, *value: object) -> str:
    """A parameter, such as ``time_limit`` or ``engine='paper'`` with a value; its option for the command line."""
    given, words = (f"={value[0]!r}", f" {shlex.quote(str(value[0]))}") if value else ("", "")
    return way_out(f"{name}{given}", f"--{name.replace('_', '-')}{words}")


def repeated(option: str, values: Iterable[object]) -> str:
    """An option of the command line, once for each value."""
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


class About(StrEnum):
    """What a hint is about."""

    ENCODING = "encoding"  # of a text file, which was found out
    READ = "read from text"  # texts that were read as numbers or dates
    IN_THE_WAY = "cells in the way"  # texts that would be numbers or dates but for a few cells
    OPEN = "several readings"  # texts that can be read in several ways
    LEFT_OUT = "left out"
    ROW_NUMBERS = "row numbers"
    SPELLINGS = "spellings"  # levels that differ by blanks or case
    GAPS = "gaps"  # values that often stand for a missing one
    TARGET = "target among the columns"
    ORDER = "order of rows"  # X and y may not belong together, or folds may say little about new rows
    RARE = "rare class"
    CLASSES = "classes never predicted"
    BASELINE = "no better than the most frequent class"
    LEAVES = "small leaves"


@dataclass(frozen=True, slots=True)
class Hint:
    """Something that a user should know.

    Parameters
    ----------
    about : what it is about
    columns : names of the columns
    seen : what was seen
    todo : what to do in Python; empty if nothing has to be done
    option : what to do on the command line, where it is not the same
    """

    about: About
    columns: tuple[str, ...]
    seen: str
    todo: str = ""
    option: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """What was seen, and what to do if something has to be done, in Python or on the command line."""
        todo = way_out(self.todo, self.option or self.todo)
        return (self.seen, todo) if todo else (self.seen,)

    def __str__(self) -> str:
        return ": ".join(self.parts)
