"""The kinds of columns, the types of levels, and the values that a model accepts in a column."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The meaning of the numbers of a column."""

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
    """The type of the levels of a categorical column in the tables of the user."""

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
        """The kind of the numbers of such levels; None for text and mixed levels, which have no numbers."""
        return None if self in (LevelType.TEXT, LevelType.MIXED) else Kind(self.value)


CATEGORIES = (Kind.NOMINAL, Kind.ORDERED)
"""The kinds whose numbers are codes of levels."""
NUMBERS = (Kind.NUMERIC, Kind.INTEGER)
"""The kinds whose numbers are those of the data."""
MOMENTS = (Kind.DATE, Kind.MOMENT, Kind.TIME, Kind.DURATION)
"""The kinds of points in time and durations."""


@dataclass(frozen=True)
class Taken:
    """The values that a model accepts in a column.

    Parameters
    ----------
    values : its categories, of any type; they include a missing value if the model knows missing values
    text : for a column without categories: True if cells stay text, False if they are numbers
    """

    values: tuple[Any, ...] = ()
    text: bool = False
