"""What the numbers of a column are, and what a model takes in one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What the numbers of a column are."""

    NUMERIC = "numeric"
    INTEGER = "integer"
    BOOLEAN = "boolean"  # 0 is false, 1 is true
    ORDERED = "ordered"  # codes of levels whose order means something: thresholds make sense
    NOMINAL = "nominal"  # codes of levels without order: only level sets make sense
    DATE = "date"  # days since 1970-01-01
    MOMENT = "moment"  # microseconds since 1970-01-01 00:00
    TIME = "time"  # microseconds since midnight
    DURATION = "duration"  # microseconds


class LevelType(StrEnum):
    """What the levels of a column of categories are in the tables of the user."""

    TEXT = "text"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMERIC = "numeric"
    DATE = "date"
    MOMENT = "moment"
    TIME = "time"
    DURATION = "duration"
    MIXED = "mixed"  # values of several types

    @property
    def kind(self) -> Kind | None:
        """The kind of the numbers that stand for such levels; None of levels that only their texts stand for."""
        return None if self in (LevelType.TEXT, LevelType.MIXED) else Kind(self.value)


CATEGORIES = (Kind.NOMINAL, Kind.ORDERED)
"""Kinds whose numbers are codes of levels."""
NUMBERS = (Kind.NUMERIC, Kind.INTEGER)
"""Kinds whose numbers are those of the user."""
MOMENTS = (Kind.DATE, Kind.MOMENT, Kind.TIME, Kind.DURATION)
"""Kinds of points in time and stretches of it."""


@dataclass(frozen=True)
class Taken:
    """What a model takes in a column.

    Parameters
    ----------
    values : its categories, of any type; a missing value among them says that it knows these, too
    text : whether cells stay as they are written, where there are no categories; else they are numbers
    """

    values: tuple[Any, ...] = ()
    text: bool = False
