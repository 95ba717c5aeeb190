"""Convert dates, times and durations into whole numbers, and numbers back into text.

A date is a number of days since 1970-01-01. A moment is a number of microseconds since 1970-01-01 00:00, in UTC if it
has a zone. A time of day is a number of microseconds since midnight, and a duration a number of microseconds. All are
exact in float64: every microsecond up to the year 2255, and later only multiples of a power of two.

Either all moments of a column have a zone, or no moment has one. The zone of a column is a name (``Europe/Berlin``), an
offset (``+02:00``) or ``UTC``. Moments are shown in this zone, with their offset.
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
from proofwood.language import ngettext
from proofwood.model.node_table import FloatArray

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all moments are in UTC, as naive datetimes
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?( ?(Z|[+-]\d{2}:?\d{2}))?")


def kind_of_texts(texts: list[str]) -> Kind | None:
    """The kind of texts that are all ISO 8601 dates, or all moments; None for other texts.

    For example, ``2024-05-03`` is a date. ``2024-05-03 14:30``, ``2024-05-03T14:30:00.25Z`` and
    ``2024-05-03 14:30 +02:00`` are moments.
    """
    if not texts:
        return None
    for kind, form in ((Kind.DATE, _DATE), (Kind.MOMENT, _MOMENT)):
        if form.fullmatch(texts[0].strip()):
            return kind if all(form.fullmatch(text.strip()) for text in texts) and _exist(texts) else None
    return None


def _exist(texts: list[str]) -> bool:
    """Whether all these days exist in the calendar."""
    try:
        for text in texts:
            _from_iso(text)
    except ValueError:
        return False
    return True


def _from_iso(text: str) -> datetime:
    """The moment of an ISO text, with or without a space before the offset. Raise ValueError if no such day exists."""
    date_and_time, blank, offset = text.strip().rpartition(" ")
    return datetime.fromisoformat(date_and_time + offset if blank and offset[0] in "+-Z" else text.strip())


def numbers_of(values: list[Any], kind: Kind, name: str) -> FloatArray:
    """Convert dates, moments, times or durations of Python, or ISO texts, to float64. Raise DataError for others.

    This function does not check zones, see :func:`zone_of` and :func:`require_zone`.

    Parameters
    ----------
    values : values without missing ones
    kind : kind of the column
    name : name of the column, for the message
    """
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        number = number_of(value, kind)
        if number is None:
            raise DataError(f"column {name!r} holds {value!r}: expected {_EXPECTED[kind]}, as in training")
        if abs(number) > 2**53 and int(float(number)) != number:
            raise DataError(
                f"column {name!r} holds {value!r}, whose number of microseconds float64 cannot hold exactly: drop the "
                "column"
            )
        numbers[row] = number
    return numbers


_EXPECTED = {
    Kind.DATE: "a date such as 2024-05-03",
    Kind.MOMENT: "a date with a time such as 2024-05-03 14:30",
    Kind.TIME: "a time of day",
    Kind.DURATION: "a duration",
}


def number_of(value: Any, kind: Kind) -> int | None:
    """Convert a date, moment, time or duration of Python, or an ISO text, into a number; None for another kind."""
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
    """Return the numbers and the kind of ``datetime64`` or ``timedelta64`` values, none of which is missing.

    Moments become dates if all of them are midnights.

    Raises
    ------
    DataError
        If a value has a part below the microsecond, or is too far from 1970.
    """
    letter = "M" if values.dtype.kind == "M" else "m"
    micro = values.astype(f"{letter}8[us]")
    if np.any(micro.astype(values.dtype) != values):
        raise DataError(
            f"column {name!r} holds times with fractions of a microsecond: round them, for example with "
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
    """The zone of moments of Python, or of ISO texts: None if they have no zone, and UTC if they have several.

    Parameters
    ----------
    values : values without missing ones
    name : name of the column, for the message

    Raises
    ------
    DataError
        If some moments have a zone and others do not, since the instants of the others are then unknown.
    """
    zones: dict[tzinfo | None, Any] = {}
    for value in values:
        moment = _from_iso(value) if isinstance(value, str) else value
        zones.setdefault(getattr(moment, "tzinfo", None), value)
    if None in zones and len(zones) > 1:
        other = next(value for zone, value in zones.items() if zone is not None)
        raise DataError(
            f"column {name!r} mixes times without a time zone ({zones[None]}) and with one ({other}): "
            'give all of them a zone, for example with dt.tz_localize("UTC"), or remove all zones'
        )
    names = {zone_name(zone) for zone in zones if zone is not None}
    return None if not names else names.pop() if len(names) == 1 else "UTC"


def require_zone(now: str | None, before: str | None, name: str) -> None:
    """Raise DataError if the new moments have a time zone and the training moments had none, or the other way round."""
    if (now is None) == (before is None):
        return
    if before is None:
        raise DataError(
            f"column {name!r} holds times with a time zone ({now}), but training had no zone: convert them to the zone "
            'of training and remove it, for example with dt.tz_convert("Europe/Berlin").dt.tz_localize(None)'
        )
    raise DataError(
        f"column {name!r} holds times without a time zone, but training had one ({before}): add their zone, for "
        f"example with dt.tz_localize({before!r})"
    )


def zone_name(zone: tzinfo) -> str:
    """The text of a zone for :func:`text_of`: its name, its offset if it is constant, or otherwise UTC."""
    for name in (getattr(zone, "key", None), getattr(zone, "zone", None)):  # those of zoneinfo and of pytz
        if isinstance(name, str) and _has_rules(name):
            return "UTC" if name in ("UTC", "Etc/UTC") else name
    offset = zone.utcoffset(None)
    return "UTC" if not offset else _offset_text(offset)


def known_zone(name: str) -> str:
    """Return a zone as a name or offset if :func:`text_of` can use it, otherwise UTC, which shows the same instants."""
    return name if name == "UTC" or _OFFSET.fullmatch(name) or _has_rules(name) else "UTC"


_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})(?::(\d{2}))?")


@cache
def _has_rules(name: str) -> bool:
    """Whether the rules of a time zone are installed on this computer."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return False
    return True


def _in_zone(moment: datetime, zone: str) -> datetime:
    """Convert a moment in UTC to local time with its offset. Keep UTC if the rules of the zone are not installed."""
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
    """Convert moments in UTC to microseconds since 1970-01-01 00:00 local time; without a zone, return them unchanged.

    Missing values are NaN.
    """
    if zone is None or zone == "UTC":
        return numbers
    found, place = np.unique(numbers, return_inverse=True)
    shifted = [number if number != number else number + _offset(number, zone) for number in found.tolist()]
    return np.array(shifted, dtype=np.float64)[place.reshape(numbers.shape)]


def _offset(number: float, zone: str) -> int:
    """The difference between local time and UTC, in microseconds; positive if local time is ahead."""
    offset = _in_zone(EPOCH + timedelta(microseconds=number), zone).utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


def _offset_text(offset: timedelta) -> str:
    """The text of an offset, such as ``+02:00``; with seconds only if they are not 0."""
    seconds = round(offset.total_seconds())
    sign, seconds = "-" if seconds < 0 else "+", abs(seconds)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


# ---------------------------------------------------------------------------------------------------------- as text


def text_of(number: float, kind: Kind, zone: str | None = None) -> str:
    """The text of ``number`` as a date, moment, time or duration; a number between two is rounded down.

    Parameters
    ----------
    number : number of the kind
    kind : a date, moment, time or duration
    zone : zone of moments; the text is then local time with its offset

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
        return _duration(whole)
    except OverflowError:
        return str(number)


def _duration(whole: int) -> str:
    days, rest = divmod(whole, DAY)
    clock = _trimmed(str(timedelta(microseconds=rest)))
    if not days:
        return clock
    return ngettext("%(n)s day", "%(n)s days", abs(days), n=days) + ", " + clock


def _local(moment: datetime, zone: str) -> str:
    local = _in_zone(moment, zone)
    offset = local.utcoffset()
    assert offset is not None
    return f"{_trimmed(str(local.replace(tzinfo=None)))} {_offset_text(offset)}"


def _trimmed(text: str) -> str:
    """The text without seconds if they are 0."""
    return text.removesuffix(":00") if text.count(":") == 2 else text
