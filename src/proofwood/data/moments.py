"""Dates, times and durations as whole numbers, and back as text.

A date counts days since 1970-01-01. A moment counts microseconds since 1970-01-01 00:00, in UTC where it has a zone. A
time of day counts microseconds since midnight, a duration microseconds. All are float64 exactly: microseconds up to
the year 2255, and beyond it those that are divisible by a power of two.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all moments are in UTC, without saying so
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?")


def kind_of_texts(texts: list[str]) -> Kind | None:
    """What texts are if all of them are ISO 8601 dates, or moments; None if one is neither.

    ``2024-05-03`` is a date, ``2024-05-03 14:30`` and ``2024-05-03T14:30:00.25Z`` are moments.
    """
    if not texts:
        return None
    for kind, form in ((Kind.DATE, _DATE), (Kind.MOMENT, _MOMENT)):
        if form.fullmatch(texts[0].strip()):
            return kind if all(form.fullmatch(text.strip()) for text in texts) and _exist(texts) else None
    return None


def _exist(texts: list[str]) -> bool:
    """Whether the calendar has all these days."""
    try:
        for text in texts:
            datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def numbers_of(values: list[Any], kind: Kind, name: str) -> FloatArray:
    """Dates, moments, times or durations of Python, or ISO texts, as float64; DataError at anything else.

    Parameters
    ----------
    values : no missing ones among them
    kind : that of the column
    name : of the column, for the message
    """
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        number = _number(value, kind)
        if number is None:
            raise DataError(f"column {name!r} holds {value!r}: expected {_EXPECTED[kind]}, as in training")
        if abs(number) > 2**53 and int(float(number)) != number:
            raise DataError(f"column {name!r} holds {value!r}, whose microseconds float64 cannot hold exactly")
        numbers[row] = number
    return numbers


_EXPECTED = {
    Kind.DATE: "a date such as 2024-05-03",
    Kind.MOMENT: "a date with a time such as 2024-05-03 14:30",
    Kind.TIME: "a time of day",
    Kind.DURATION: "a duration",
}


def _number(value: Any, kind: Kind) -> int | None:
    if isinstance(value, str) and kind in (Kind.DATE, Kind.MOMENT):
        text = value.strip()
        if not (_DATE if kind is Kind.DATE else _MOMENT).fullmatch(text) and not _DATE.fullmatch(text):
            return None
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            return None
    if kind is Kind.TIME and isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * SECOND + value.microsecond
    if kind is Kind.DURATION and isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, datetime):
        plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        since = plain - EPOCH
        if kind is Kind.MOMENT:
            return since // timedelta(microseconds=1)
        return since.days if kind is Kind.DATE and since == timedelta(days=since.days) else None
    if isinstance(value, date):
        days = (value - EPOCH.date()).days
        return days if kind is Kind.DATE else days * DAY if kind is Kind.MOMENT else None
    return None


def of_numpy(values: npt.NDArray[Any], name: str) -> tuple[FloatArray, Kind]:
    """``datetime64`` or ``timedelta64`` without missing values as numbers; dates where every moment is a midnight.

    Raises
    ------
    DataError
        If a value has a part below the microsecond, or is too far from 1970.
    """
    letter = "M" if values.dtype.kind == "M" else "m"
    micro = values.astype(f"{letter}8[us]")
    if np.any(micro.astype(values.dtype) != values):
        raise DataError(
            f"column {name!r} holds times with parts below a microsecond: round them, for example with "
            'dt.round("us"), or drop the column'
        )
    counted = micro.astype(np.int64)
    numbers = counted.astype(np.float64)
    if np.any(numbers.astype(np.int64) != counted):
        raise DataError(f"column {name!r} holds times too far from 1970 for exact microseconds: drop the column")
    if letter == "m":
        return numbers, Kind.DURATION
    if counted.size and not np.any(counted % DAY):
        return np.asarray(counted // DAY, dtype=np.float64), Kind.DATE
    return numbers, Kind.MOMENT


# ---------------------------------------------------------------------------------------------------------- as text


def text_of(number: float, kind: Kind) -> str:
    """The last date, moment, time or duration at or before a number, as text: what "at most" speaks of.

    >>> text_of(19846.5, Kind.DATE)
    '2024-05-03'
    """
    if not math.isfinite(number):
        return str(number)
    whole = math.floor(number)
    try:
        if kind is Kind.DATE:
            return str((EPOCH + timedelta(days=whole)).date())
        if kind is Kind.MOMENT:
            return _trimmed(str(EPOCH + timedelta(microseconds=whole)))
        if kind is Kind.TIME:
            return _trimmed(str((EPOCH + timedelta(microseconds=whole)).time()))
        return _trimmed(str(timedelta(microseconds=whole)))
    except OverflowError:
        return str(number)


def _trimmed(text: str) -> str:
    """Without seconds that are 0."""
    return text.removesuffix(":00") if text.count(":") == 2 else text
