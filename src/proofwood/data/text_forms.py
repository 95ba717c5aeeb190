"""Numbers and dates as people write them: "1.234,50 €", "12 %", "31.01.2020", "Jan 31, 2020 2:30 PM".

All texts of a column share one form. It is found from all of them together, or from an example that the user gives.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Literal, Self

import numpy as np

from proofwood.data import moments
from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.hints import repeated, way_out
from proofwood.language import gettext
from proofwood.model.node_table import FloatArray
from proofwood.printable import shown

LONGEST = 40
"""Most characters of a text that is read as a number or a date."""
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "hu", "ro", "tr")
"""Languages whose names of months are known, in the order in which they are tried."""
_YEARS = range(1800, 2200)


# ------------------------------------------------------------------------------------------------------------- numbers

_SPACES = " \u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-\u2212]?)[{_SPACES}]*(?P<before>[^\d\s.,'\u2019()+\-\u2212]{{1,4}}\.?)?[{_SPACES}]*"
    rf"(?P<inner>[+\-\u2212]?)(?P<digits>[0-9.,'\u2019{_SPACES}]*[0-9](?:[eE][+\-]?[0-9]{{1,3}})?)"
    rf"(?P<gap>[{_SPACES}]*)(?P<after>[^\d\s.,()][^\d()]{{0,11}})?(?P<close>\))?"
)
_WHOLE = re.compile(
    rf"0|[1-9]\d*|[1-9]\d{{0,2}}(?P<mark>[.,'\u2019{_SPACES}])\d{{3}}(?:(?P=mark)\d{{3}})*"
    r"|[1-9]\d?(?:,\d\d)+,\d{3}"  # as in India
)
_DIGITS = frozenset("0123456789")
_MEASURES = (
    "kg g mg lb lbs oz km m cm mm mi ft in l ml cl h min s ms km/h mph m/s kWh MWh kW MW Hz kHz MHz GHz kB KB MB GB TB "
    "°C °F Pa hPa bar m² cm² km² ha m³ cm³ px ppm dB"
)
_UNITS = frozenset(_MEASURES.split())
"""Units that may follow a number without a blank; other letters may make it a code, such as 12A."""
EITHER = ".,"
"""The decimal mark of a column whose texts, and the other columns of its table, do not show it."""
_MONEY = ("fr.", "sfr.", "kr", "kr.", "kč", "zł", "rs.", "rs", "r$")


@dataclass(frozen=True, slots=True)
class NumberForm:
    """How texts write numbers.

    Parameters
    ----------
    decimal : "." or ","; the other one, blanks and apostrophes may stand between groups of three digits; ``EITHER``
        reads a text that has the same meaning by both, or a meaning by one alone
    unit : what stands before or after the number, such as "€", "%" or "months"; empty if nothing does
    """

    decimal: str = "."
    unit: str = ""

    @property
    def example(self) -> str:
        """A number in this form."""
        digits = {".": "1,234.5", ",": "1.234,5", EITHER: "1234"}[self.decimal]
        return f"{digits} {self.unit}".rstrip()

    def number(self, text: str) -> Decimal | None:
        """The number that a text stands for; None if it is not in this form."""
        if self.decimal == EITHER:
            return self._by_either_mark(text)
        found = _NUMBER.fullmatch(text.strip())
        if found is None or (found["open"] is None) != (found["close"] is None):
            return None
        unit = _unit_of(found)
        if unit is None or (unit and unit != self.unit) or (found["sign"] and found["inner"]):
            return None
        digits = _plain(found["digits"].strip(), self.decimal)
        if digits is None:
            return None
        number = Decimal(digits)
        negative = (found["sign"] or found["inner"]) in ("-", "\u2212") or found["open"] is not None
        return number.copy_negate() if negative else number  # a minus sign would round

    def _by_either_mark(self, text: str) -> Decimal | None:
        point, comma = (replace(self, decimal=mark).number(text) for mark in EITHER)
        if point is None or comma is None or point == comma:
            return comma if point is None else point
        return None if "," in text else point  # a single point is a decimal one, as for every reader of CSV


def _unit_of(found: re.Match[str]) -> str | None:
    """The unit that stands beside a number, empty if there is none; None if it is not a unit."""
    before, after = found["before"], (found["after"] or "").rstrip()
    if before is not None and after:
        return None
    if before is not None:
        return before if _is_money(before) else None
    if not after or after in "%‰" or _is_money(after):
        return after
    return after if after in _UNITS or (found["gap"] and after[0].isalpha()) else None


@cache
def _is_money(text: str) -> bool:
    """Whether a text is the sign or the code of a currency."""
    if any(unicodedata.category(sign) == "Sc" for sign in text) or text.lower() in _MONEY:
        return True
    if len(text) != 3 or not text.isupper():
        return False
    from babel.numbers import list_currencies  # start-up time: few columns hold amounts of money

    return text in list_currencies()


def _has_thousandths(unit: str) -> bool:
    """Whether amounts in a currency have three decimals, as those in dinars have."""
    from babel.numbers import get_currency_precision  # start-up time: likewise

    return len(unit) == 3 and get_currency_precision(unit.upper()) == 3


def _plain(digits: str, decimal: str) -> str | None:
    """Digits as Python reads them: without marks between groups, with a decimal point; None if the groups are wrong.

    Digits that begin with a zero are codes, such as postal codes.
    """
    bare, power, exponent = digits.lower().partition("e")
    whole, mark, part = bare.partition(decimal)
    grouped = _WHOLE.fullmatch(whole)
    if grouped is None and (whole or not part):
        return None
    if not all(sign in _DIGITS for sign in part) or (mark and not part):
        return None
    return f"{re.sub(r'[^0-9]', '', whole) or '0'}{'.' if mark else ''}{part}{power}{exponent}"


# --------------------------------------------------------------------------------------------------------------- dates

_TIME = re.compile(
    r"(?:,? +|T)?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<micro>\d{1,6}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?$"
)
_DIRECTIVES = {
    "%d": r"(?P<d>\d{1,2})",
    "%m": r"(?P<m>\d{1,2})",
    "%Y": r"(?P<Y>\d{4})",
    "%y": r"(?P<y>\d\d)",
    "%b": r"(?P<b>[^\W\d_]{3,12})\.?",
}
_DATES = (
    *(f"%Y{mark}%m{mark}%d" for mark in "-/. "),
    *(f"{first}{mark}{second}{mark}%Y" for mark in ("/", "-", " ") for first, second in (("%d", "%m"), ("%m", "%d"))),
    *("%d.%m.%Y", "%d. %m. %Y", "%d.%m.%y"),  # points are written by those who put the day first
    *(f"{first}{mark}{second}{mark}%y" for mark in "/-" for first, second in (("%d", "%m"), ("%m", "%d"))),
    *("%d %b %Y", "%d. %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d.%b.%Y", "%d%b%Y", "%d %b, %Y", "%d de %b de %Y"),
    *("%b %d, %Y", "%b %d %Y", "%b-%d-%Y", "%Y-%b-%d", "%Y %b %d"),
    *("%d-%b-%y", "%d %b %y", "%d%b%y"),
    *("%b %Y", "%b-%Y", "%b/%Y", "%b, %Y", "%Y %b", "%Y-%b", "%Y-%m", "%m/%Y"),
)
"""Forms of dates; of a month alone, its first day is meant."""


@dataclass(frozen=True, slots=True)
class DateForm:
    """How texts write dates, moments or times of day.

    Parameters
    ----------
    date : as in :meth:`datetime.datetime.strftime`; empty for times of day
    time : whether a time of day may follow
    language : of the names of months
    """

    date: str
    time: bool = False
    language: str = "en"

    @property
    def kind(self) -> Kind:
        """The kind of values that the texts hold."""
        return Kind.TIME if not self.date else Kind.MOMENT if self.time else Kind.DATE

    @property
    def day_first(self) -> bool | None:
        """Whether the day stands before the month, both as numbers; None if no other form has them the other way."""
        return {"%d": True, "%m": False}.get(self.date[:2]) if {"%d", "%m"} <= set(_parts(self.date)) else None

    @property
    def example(self) -> str:
        """The last minute of 2020 in this form."""
        parts = {"%d": "31", "%m": "12", "%Y": "2020", "%y": "20", "%b": _months(self.language, "abbreviated")[-1]}
        date = re.sub("%[dmYyb]", lambda found: parts[found[0]], self.date)
        return f"{date} 23:59".strip() if self.time else date

    def number(self, text: str) -> int | None:
        """The number of the date in the unit of the kind (see :mod:`proofwood.data.moments`); None for other texts."""
        date, time = _split(text.strip())
        if (time is not None and not self.time) or (not self.date and (date or time is None)):
            return None
        day = datetime(1970, 1, 1) if not self.date else self._day(date)  # noqa: DTZ001 - no zone is written
        passed = timedelta(0) if time is None else _time_of(time)
        if day is None or passed is None:
            return None
        moment = day + passed
        return moments.number_of(moment.time() if self.kind is Kind.TIME else moment, self.kind)

    def _day(self, text: str) -> datetime | None:
        found = _pattern(self.date).fullmatch(text)
        if found is None:
            return None
        parts = found.groupdict()
        month = _month_numbers(self.language).get(parts["b"].lower()) if "b" in parts else int(parts.get("m") or 1)
        # Two digits are a year from 1969 to 2068, as POSIX has it.
        year = int(parts["Y"]) if "Y" in parts else (int(parts["y"]) + 31) % 100 + 1969
        if month is None or year not in _YEARS:
            return None
        try:
            return datetime(year, month, int(parts.get("d") or 1))  # noqa: DTZ001 - no zone is written
        except ValueError:
            return None


def _parts(date: str) -> list[str]:
    return re.findall("%[dmYyb]", date)


@cache
def _pattern(date: str) -> re.Pattern[str]:
    escaped = re.sub(r"%[dmYyb]", lambda found: _DIRECTIVES[found[0]], re.escape(date).replace(r"\%", "%"))
    if date == "%d.%m.%y":  # numbers of versions have such points, too
        escaped = escaped.replace(r"\d{1,2}", r"\d\d")
    return re.compile(escaped)


@cache
def _months(language: str, width: Literal["wide", "abbreviated"]) -> tuple[str, ...]:
    from babel.dates import get_month_names  # start-up time: few columns hold names of months

    names = get_month_names(width, locale=language)
    return tuple(names[month] for month in range(1, 13))


@cache
def _month_numbers(language: str) -> dict[str, int]:
    """Months by their names, long and short, in lower case and without a point at the end."""
    found = {"sept": 9} if language == "en" else {}
    widths: tuple[Literal["wide", "abbreviated"], ...] = ("wide", "abbreviated")
    for width in widths:
        for month, name in enumerate(_months(language, width), start=1):
            found.setdefault(name.rstrip(".").lower(), month)
            found.setdefault(name.rstrip(".").lower()[:3], month)
    return found


def _split(text: str) -> tuple[str, re.Match[str] | None]:
    """The date of a text, and the time of day after it if there is one."""
    time = _TIME.search(text)
    return (text, None) if time is None else (text[: time.start()], time)


def _time_of(found: re.Match[str]) -> timedelta | None:
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    if found["half"] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"] in "pP" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    micro = int((found["micro"] or "0").ljust(6, "0"))
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micro)


# ------------------------------------------------------------------------------------------------- the form of a column

Form = NumberForm | DateForm
PLAIN: tuple[Form, ...] = (NumberForm(), NumberForm(EITHER), DateForm("%Y-%m-%d"), DateForm("%Y-%m-%d", time=True))
"""Forms that programs write: what they mean need not be said."""
Number = Decimal | int


@dataclass(frozen=True, slots=True)
class Found:
    """What the texts of a column have in common.

    Parameters
    ----------
    forms : those that fit; several if the texts leave open which of them is meant, none if none fits
    numbers : what the first form makes of the texts, None of those that do not fit
    """

    forms: tuple[Form, ...] = ()
    numbers: tuple[Number | None, ...] = ()

    @classmethod
    def of(cls, texts: Sequence[str], *, most: int = 0) -> Self:
        """The forms of different texts.

        Parameters
        ----------
        texts : without missing values
        most : texts that may not fit
        """
        for candidates in (_dates(texts, most), _numbers(texts, most)):
            readings: dict[tuple[Number | None, ...], list[Form]] = {}
            for form in candidates:
                numbers = _read(form, texts, most)
                if numbers is not None:
                    readings.setdefault(numbers, []).append(form)
            if readings:
                fewest = min(numbers.count(None) for numbers in readings)
                best = {numbers: forms for numbers, forms in readings.items() if numbers.count(None) == fewest}
                return cls(tuple(form for forms in best.values() for form in _apart(forms)), next(iter(best)))
        return cls()

    def decided(self, texts: Sequence[str], decimal: str | None = None, *, day_first: bool | None = None) -> Self:
        """Choose one of several forms if the texts, the decimal mark or the order of days decide; otherwise keep all.

        A mark is between thousands if the texts are amounts of money, which have no three decimals. A comma is if there
        are numbers without one: those with three decimals would have one too.

        Parameters
        ----------
        texts : whose forms these are
        decimal : the decimal mark of other columns of the table
        day_first : whether other columns of the table write the day before the month
        """
        form = self.forms[0] if self.forms else None
        if isinstance(form, DateForm):
            kept = [one for one in self.forms if day_first is not None and _day_first(one) is day_first]
            return self._kept(kept, texts)
        if form is None or (len(self.forms) < 2 and form.decimal != EITHER):
            return self
        money = _is_money(form.unit)
        if form.decimal == EITHER:
            return self._kept([replace(form, decimal=decimal or ".")] if decimal or money else [], texts)
        if decimal is None and money and not any("," in text for text in texts) and not _has_thousandths(form.unit):
            decimal = ","
        elif decimal is None and (money or not all("," in text for text in texts)):
            decimal = "."
        return self._kept([one for one in self.forms if isinstance(one, NumberForm) and one.decimal == decimal], texts)

    def _kept(self, forms: Sequence[Form], texts: Sequence[str]) -> Self:
        """The same with the first of some of its forms, if there is one."""
        return type(self)((forms[0],), _read(forms[0], texts, len(texts)) or ()) if forms else self


def _day_first(form: Form) -> bool | None:
    return form.day_first if isinstance(form, DateForm) else None


def _apart(forms: Sequence[Form]) -> Sequence[Form]:
    """Those of several forms with the same numbers that other texts would tell apart."""
    first = forms[0]
    if isinstance(first, NumberForm):
        either = {one.decimal for one in forms if isinstance(one, NumberForm) and one.unit == first.unit} == {*EITHER}
        return [replace(first, decimal=EITHER) if either else first]
    turned = [one for one in forms if _day_first(one) is (not first.day_first)]
    return [first, *turned] if first.day_first is not None else [first]


def _read(form: Form, texts: Sequence[str], most: int) -> tuple[Number | None, ...] | None:
    """What a form makes of texts; None if more of them do not fit than may."""
    numbers: list[Number | None] = []
    for text in texts:
        number = form.number(text) if len(text) <= LONGEST else None
        numbers.append(number)
        most -= number is None
        if most < 0:
            return None
    return tuple(numbers)


def _numbers(texts: Sequence[str], most: int) -> Iterator[NumberForm]:
    """The forms in which one of the first texts is a number. If all but a few texts fit a form, one of these does."""
    seen = set()
    for text in texts[: most + 1]:
        found = _NUMBER.fullmatch(text.strip()) if len(text) <= LONGEST else None
        unit = None if found is None else _unit_of(found)
        if unit is not None and unit not in seen:
            seen.add(unit)
            yield from (NumberForm(".", unit), NumberForm(",", unit))


def _dates(texts: Sequence[str], most: int) -> Iterator[DateForm]:
    """The forms in which one of the first texts is a date."""
    seen: set[str] = set()
    time = any(_split(text.strip())[1] for text in texts if len(text) <= LONGEST)
    for text in texts[: most + 1]:
        if len(text) > LONGEST or not _DIGITS.intersection(text):
            continue
        date, at = _split(text.strip())
        if not date and at is not None and "" not in seen:
            seen.add("")
            yield DateForm("", time=True)
        for form in _DATES:
            if form not in seen and _pattern(form).fullmatch(date):
                seen.add(form)
                yield from (DateForm(form, time, language) for language in (LANGUAGES if "%b" in form else ("en",)))


def form_of(example: str) -> Form:
    """The form of an example such as "1.234,5", "12 %" or "31.12.2020".

    Raises
    ------
    ValueError
        If it is not a number or a date, or if it can be read in several ways.
    """
    found = Found.of([example])
    if len(found.forms) == 1:
        return found.forms[0]
    todo = 'expected an example such as "1.234,5" or "31.12.2020"'
    if not found.forms:
        raise ValueError(f"{example!r} is neither a number nor a date: {todo}")
    if isinstance(found.forms[0], DateForm):
        raise ValueError(f"{example!r} leaves open which number is the day: write an example with a day above 12")
    raise ValueError(f"{example!r} leaves open which mark is the decimal one: write one such as 1,234.5 or 1.234,5")


def is_whole(number: Number) -> bool:
    """Whether a number has no part behind the decimal mark, however large it is."""
    return number == Decimal(number).to_integral_value()


def saved_form(form: Form) -> str:
    """A form as one text, which :func:`form_from` reads."""
    if isinstance(form, NumberForm):
        return f"number {form.decimal} {form.unit}".rstrip()
    return f"date {form.language} {'time' if form.time else 'day'} {form.date}".rstrip()


def form_from(text: str) -> Form:
    """The form that :func:`saved_form` wrote; ValueError for any other text."""
    parts = text.split(" ", 3)
    if parts[0] == "number" and len(parts) > 1 and parts[1] in (".", ",", EITHER):
        return NumberForm(parts[1], " ".join(parts[2:]))
    known: Collection[str] = ("", *_DATES)
    date = parts[3] if len(parts) > 3 else ""
    if parts[0] == "date" and len(parts) > 2 and parts[1] in LANGUAGES and date in known:
        return DateForm(date, parts[2] == "time", parts[1])
    raise ValueError(f"{text!r} is not a form of numbers or dates")


# ------------------------------------------------------------------------------------------------------------ new cells

MISSING_MARKS = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "-", "."})
"""What stands for a gap between numbers, in lower case."""
GAPS = frozenset({"", "na", "#n/a", "n/a", "<na>", "nan", "-nan", "null", "none", "nat"})
"""Texts that libraries read or write as a missing value, in lower case."""


def numbers_like(texts: Sequence[str], form: Form, name: str) -> FloatArray:
    """(n_texts,) numbers of texts in a form, NaN for marks such as "?".

    Parameters
    ----------
    texts : of the cells of a column
    form : of the column in training
    name : of the column, for the message

    Raises
    ------
    DataError
        If a text is not in the form.
    """
    found = {text: math.nan for text in set(texts) if text.strip().lower() in MISSING_MARKS}
    given = [text for text in dict.fromkeys(texts) if text not in found]
    found |= {text: float(number) for text, number in zip(given, numbers_of(given, form, name), strict=True)}
    return np.array([found[text] for text in texts], dtype=np.float64)


def numbers_of(texts: Sequence[str], form: Form, name: str) -> list[Number]:
    """Texts as numbers; DataError, with the name of the column, if one is not in the form."""
    numbers, others = [], []
    for text in texts:
        number = form.number(text)
        if number is None:
            others.append(text)
        else:
            numbers.append(number)
    if others:
        pairs = [f"{name}={text}" for text in others[:3]]
        absent = way_out(f"missing_values={others[:3]!r}", repeated("--missing", pairs))
        otherwise = way_out(f"written_as={{{name!r}: ...}}", repeated("--written-as", [f"{name}=..."]))
        mark = " (training did not show the decimal mark)" if _is_open(form) else ""
        raise DataError(
            f"column {name!r} holds {shown(others, 3)}: expected {what(form)} written like {form.example}{mark}. "
            f"Correct the cells, or fit with {absent} if they stand for missing values, with {otherwise} if the column "
            "is written otherwise"
        )
    return numbers


def _is_open(form: Form) -> bool:
    return isinstance(form, NumberForm) and form.decimal == EITHER


def what(form: Form) -> str:
    """The name of the values that a form writes: numbers, dates or times."""
    if isinstance(form, NumberForm):
        return gettext("numbers")
    return {
        Kind.DATE: gettext("dates"),
        Kind.MOMENT: gettext("dates and times"),
        Kind.TIME: gettext("times of day"),
    }[form.kind]
