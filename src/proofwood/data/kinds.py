"""What the numbers of a column are."""

from __future__ import annotations

from enum import StrEnum


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


CATEGORIES = (Kind.NOMINAL, Kind.ORDERED)
"""Kinds whose numbers are codes of levels."""
MOMENTS = (Kind.DATE, Kind.MOMENT, Kind.TIME, Kind.DURATION)
"""Kinds of points in time and stretches of it."""
