"""Dates, times and durations as whole numbers, and back as text.

A date counts days since 1970-01-01. A moment counts microseconds since 1970-01-01 00:00, in UTC where it has a zone. A
time of day counts microseconds since midnight, a duration microseconds. All are float64 exactly: microseconds up to
the year 2255, and beyond it those that are divisible by a power of two.

The moments of a column all have a zone, or none has. The zone of a column is a name (``Europe/Berlin``), an offset
(``+02:00``) or ``UTC``: moments are shown in it, with their offset.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all moments are in UTC, without saying so
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?( ?(Z|[+-]\d{2}:?\d{2}))?")


def kind_of_texts(texts: list[str]) -> Kind | None:
    """What texts are if all of them are ISO 8601 dates, or moments; None if one is neither.

    ``2024-05-03`` is a date, ``2024-05-03 14:30``, ``2024-05-03T14:30:00.25Z`` and ``2024-05-03 14:30 +02:00`` are
    moments.
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
            _from_iso(text)
    except ValueError:
        return False
    return True


def _from_iso(text: str) -> datetime:
    """The moment of an ISO text, with or without a blank before its offset; ValueError if there is no such day."""
    date_and_time, blank, offset = text.strip().rpartition(" ")
    return datetime.fromisoformat(date_and_time + offset if blank and offset[0] in "+-Z" else text.strip())


def numbers_of(values: list[Any], kind: Kind, name: str) -> FloatArray:
    """Dates, moments, times or durations of Python, or ISO texts, as float64; DataError at anything else.

    Whether they have a zone is not looked at: see :func:`zone_of` and :func:`require_zone`.

    Parameters
    ----------
    values : no missing ones among them
    kind : that of the column
    name : of the column, for the message
    """
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        number = number_of(value, kind)
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


def number_of(value: Any, kind: Kind) -> int | None:
    """One date, moment, time or duration of Python, or an ISO text, as a number of a kind; None if it is none."""
    if isinstance(value, str) and kind in (Kind.DATE, Kind.MOMENT):
        text = value.strip()
        if not (_DATE if kind is Kind.DATE else _MOMENT).fullmatch(text) and not _DATE.fullmatch(text):
            return None
        try:
            value = _from_iso(text)
        except ValueError:
            return None
    if kind is Kind.TIME and isinstance(value, time) and value.tzinfo is None:
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


# ------------------------------------------------------------------------------------------------------------- zones


def zone_of(values: Sequence[Any], name: str) -> str | None:
    """The zone of moments of Python, or of ISO texts: None if none of them has one, UTC if they have several.

    Parameters
    ----------
    values : no missing ones among them
    name : of the column, for the message

    Raises
    ------
    DataError
        If some have a zone and others have none: nothing says which instants the others are.
    """
    zones: dict[tzinfo | None, Any] = {}
    for value in values:
        moment = _from_iso(value) if isinstance(value, str) else value
        zones.setdefault(getattr(moment, "tzinfo", None), value)
    if None in zones and len(zones) > 1:
        other = next(value for zone, value in zones.items() if zone is not None)
        raise DataError(
            f"column {name!r} mixes times without a time zone ({zones[None]}) and with one ({other}): "
            'give all of them one, for example with dt.tz_localize("UTC"), or none'
        )
    names = {zone_name(zone) for zone in zones if zone is not None}
    return None if not names else names.pop() if len(names) == 1 else "UTC"


def require_zone(now: str | None, before: str | None, name: str) -> None:
    """Raise DataError unless new moments have a zone where those of training had one, and none where they had none."""
    if (now is None) == (before is None):
        return
    if before is None:
        raise DataError(
            f"column {name!r} holds times with a time zone ({now}), and training had none: take it away, in the zone "
            'that training was in, for example with dt.tz_convert("Europe/Berlin").dt.tz_localize(None)'
        )
    raise DataError(
        f"column {name!r} holds times without a time zone, and training had one ({before}): say which zone they are "
        f"in, for example with dt.tz_localize({before!r})"
    )


def zone_name(zone: tzinfo) -> str:
    """A zone as :func:`text_of` takes it: its name, its offset if that is always the same, or else UTC."""
    for name in (getattr(zone, "key", None), getattr(zone, "zone", None)):  # those of zoneinfo and of pytz
        if isinstance(name, str) and _has_rules(name):
            return "UTC" if name in ("UTC", "Etc/UTC") else name
    offset = zone.utcoffset(None)
    return "UTC" if not offset else _offset_text(offset)


def known_zone(name: str) -> str:
    """A zone by its name or offset if :func:`text_of` can show it; else UTC, which shows the same instants."""
    return name if name == "UTC" or _OFFSET.fullmatch(name) or _has_rules(name) else "UTC"


_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})(?::(\d{2}))?")


@cache
def _has_rules(name: str) -> bool:
    """Whether the rules of a zone are installed here."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return False
    return True


def _in_zone(moment: datetime, zone: str) -> datetime:
    """A moment in UTC as local time with its offset; in UTC where the rules of the zone are not installed."""
    offset = _OFFSET.fullmatch(zone)
    local: tzinfo = UTC
    if offset is not None:
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        local = timezone(-length if offset[1] == "-" else length)
    elif _has_rules(zone):
        local = ZoneInfo(zone)
    return moment.replace(tzinfo=UTC).astimezone(local)


def in_local_time(numbers: FloatArray, zone: str | None) -> FloatArray:
    """Moments as microseconds since 1970-01-01 00:00 of local time, NaN where missing; as they are without a zone."""
    if zone is None or zone == "UTC":
        return numbers
    found, place = np.unique(numbers, return_inverse=True)
    shifted = [number if number != number else number + _offset(number, zone) for number in found.tolist()]
    return np.array(shifted, dtype=np.float64)[place.reshape(numbers.shape)]


def _offset(number: float, zone: str) -> int:
    """How far local time is ahead of UTC, in microseconds."""
    offset = _in_zone(EPOCH + timedelta(microseconds=number), zone).utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


def _offset_text(offset: timedelta) -> str:
    """An offset as ``+02:00``, with seconds where it has some."""
    seconds = round(offset.total_seconds())
    sign, seconds = "-" if seconds < 0 else "+", abs(seconds)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


# ---------------------------------------------------------------------------------------------------------- as text


def text_of(number: float, kind: Kind, zone: str | None = None) -> str:
    """The last date, moment, time or duration at or before a number, as text: what "at most" speaks of.

    Parameters
    ----------
    number : of the kind
    kind : a date, moment, time or duration
    zone : of moments; the text then is local time with its offset

    Examples
    --------
    >>> text_of(19846.5, Kind.DATE)
    '2024-05-03'
    >>> text_of(1616904272000000.0, Kind.MOMENT, "Europe/Berlin")
    '2021-03-28 06:04:32 +02:00'
    """
    if not math.isfinite(number):
        return str(number)
    whole = math.floor(number)
    try:
        if kind is Kind.DATE:
            return str((EPOCH + timedelta(days=whole)).date())
        if kind is Kind.MOMENT:
            moment = EPOCH + timedelta(microseconds=whole)
            return _trimmed(str(moment)) if zone is None else _local(moment, zone)
        if kind is Kind.TIME:
            return _trimmed(str((EPOCH + timedelta(microseconds=whole)).time()))
        return _trimmed(str(timedelta(microseconds=whole)))
    except OverflowError:
        return str(number)


def _local(moment: datetime, zone: str) -> str:
    local = _in_zone(moment, zone)
    offset = local.utcoffset()
    assert offset is not None
    return f"{_trimmed(str(local.replace(tzinfo=None)))} {_offset_text(offset)}"


def _trimmed(text: str) -> str:
    """Without seconds that are 0."""
    return text.removesuffix(":00") if text.count(":") == 2 else text
