"""What a user should know of a table or a model before believing a result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

    def __str__(self) -> str:
        return f"{self.seen}: {self.todo}" if self.todo else self.seen

    @property
    def for_shell(self) -> str:
        """The same for those who use the command line."""
        return f"{self.seen}: {self.option}" if self.option else str(self)
