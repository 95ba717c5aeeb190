"""Forms of numbers and dates: found from all texts of a column, or from an example."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.data.kinds import Kind
from proofwood.data.moments import text_of
from proofwood.data.text_forms import (
    _DATES,
    EITHER,
    LANGUAGES,
    DateForm,
    Found,
    NumberForm,
    form_from,
    form_of,
    numbers_like,
    saved_form,
)
from proofwood.exceptions import DataError

NUMBERS = {
    "decimal commas": (["1.234,50", "12,00"], [1234.5, 12], ""),
    "decimal points": (["1,234.50", "3.10"], [1234.5, 3.1], ""),
    "money before": (["€ 12.50", "€ 1.00"], [12.5, 1], "€"),
    "money behind": (["1.200,00 €", "-3,50 €"], [1200, -3.5], "€"),
    "a code of money": (["USD 12", "USD 13"], [12, 13], "USD"),
    "thousands of money": (["$1,200", "$3,400"], [1200, 3400], "$"),
    "thousands of money by points": (["12.500 EUR", "900 EUR"], [12500, 900], "EUR"),
    "thousandths of money": (["12.500 KWD", "0.900 KWD"], [12.5, 0.9], "KWD"),
    "thousands, and numbers below": (["1,234", "12"], [1234, 12], ""),
    "parts of a hundred": (["12 %", "3.5%"], [12, 3.5], "%"),
    "words behind": (["36 months", "60 months"], [36, 60], "months"),
    "blanks between thousands": (["1 234,5", "12\u202f345,25"], [1234.5, 12345.25], ""),
    "apostrophes": (["1'234.50", "12"], [1234.5, 12], ""),
    "brackets": (["(1,200.5)", "300"], [-1200.5, 300], ""),
    "signs": (["-5", "\u22123", "+2.5"], [-5, -3, 2.5], ""),
    "powers": (["1e5", "2.5E-3"], [1e5, 2.5e-3], ""),
    "no digit before the point": ([".5", "-.25"], [0.5, -0.25], ""),
    "as in India": (["12,34,567", "1,234"], [1234567, 1234], ""),
    "padded": ([" 12.5", "7 "], [12.5, 7], ""),
}


@pytest.mark.parametrize(("texts", "numbers", "unit"), NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_as_people_write_them(texts: list[str], numbers: list[float], unit: str) -> None:
    found = Found.of(texts).decided(texts)
    assert [type(form) for form in found.forms] == [NumberForm]
    assert [float(number) for number in found.numbers] == numbers  # type: ignore[arg-type]
    assert found.forms[0].unit == unit  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "texts",
    [
        *(["A1", "A2"], ["007", "123"], ["10.0.0.1"], ["3b", "4b"], ["1-2", "3-4"], ["5+", "6"], ["1.2.3"]),
        *(["12.", "5."], ["1,23,4"], ["$"], ["12 %%"], ["--5"], ["12 €", "12 $"], ["1.5", "2,5"], ["9" * 41]),
    ],
)
def test_texts_that_are_no_numbers(texts: list[str]) -> None:
    assert not Found.of(texts).forms


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20), st.sampled_from(["", " €", " %"]))
def test_numbers_with_cents_are_read_in_both_ways_of_writing_them(numbers: list[object], unit: str) -> None:
    english = [f"{number:,.2f}{unit}" for number in numbers]
    german = [text.translate(str.maketrans(",.", ".,")) for text in english]
    for texts, mark in ((english, "."), (german, ",")):
        found = Found.of(list(dict.fromkeys(texts)))
        assert [form.decimal for form in found.forms] == [mark]  # type: ignore[union-attr]
        read = numbers_like(texts, found.forms[0], "amount")
        assert read.tolist() == [float(number) for number in numbers]  # type: ignore[arg-type]


def test_thousands_or_decimals_is_open_where_all_have_three_digits() -> None:
    texts = ["1,234", "2,345"]
    found = Found.of(texts)
    assert [form.example for form in found.forms] == ["1,234.5", "1.234,5"]
    assert found.decided(texts) == found
    assert found.decided(texts, ",").numbers == (Decimal("1.234"), Decimal("2.345"))
    assert found.decided(texts, ".").numbers == (1234, 2345)
    points = ["1.234", "2.345"]
    assert [float(number) for number in Found.of(points).decided(points).numbers] == [1.234, 2.345]  # type: ignore[arg-type]
    assert Found.of(points).decided(points, ",").numbers == (1234, 2345)


def test_texts_without_a_mark_leave_it_open_and_new_texts_have_one_meaning_or_are_refused() -> None:
    texts = ["67 %", "12 %"]
    found = Found.of(texts)
    assert found.forms == (NumberForm(EITHER, "%"),)
    assert found.decided(texts) == found
    assert found.decided(texts, ",").forms == (NumberForm(",", "%"),)
    assert found.decided(texts, ",").numbers == (67, 12)
    new = ["39,5 %", "39.5 %", "1.234,5", "1,234,567", "2.125"]
    assert numbers_like(new, found.forms[0], "share").tolist() == [39.5, 39.5, 1234.5, 1234567, 2.125]
    with pytest.raises(DataError, match=r"holds '1,234 %'.* like 1234 % \(training did not show the decimal mark\)"):
        numbers_like(["1,234 %"], found.forms[0], "share")
    assert form_of("12 %") == NumberForm(EITHER, "%")


def test_an_amount_of_money_without_a_mark_has_thousands_by_commas_unless_other_columns_say_otherwise() -> None:
    texts = ["900 €", "850 €"]
    assert Found.of(texts).decided(texts).forms == (NumberForm(".", "€"),)
    assert Found.of(texts).decided(texts, ",").forms == (NumberForm(",", "€"),)


DATES = {
    "31.01.2020 1.2.2020": "2020-01-31 2020-02-01",
    "01/31/2020 02/01/2020": "2020-01-31 2020-02-01",
    "31/01/2020 02/01/2020": "2020-01-31 2020-01-02",
    "1/31/20 2/1/20": "2020-01-31 2020-02-01",
    "2020/01/31 2020/2/1": "2020-01-31 2020-02-01",
    "2020-1-31 2020-2-1": "2020-01-31 2020-02-01",
    "01.02.2020 03.04.2020": "2020-02-01 2020-04-03",
    "31-Jan-2020 1-Feb-2020": "2020-01-31 2020-02-01",
    "31Jan2020 1Feb2020": "2020-01-31 2020-02-01",
    "Dec-2015 Jan-2014": "2015-12-01 2014-01-01",
    "2020-01 2020-12": "2020-01-01 2020-12-01",
    "01/2020 12/2019": "2020-01-01 2019-12-01",
    "31-Jan-69 31-Jan-68": "1969-01-31 2068-01-31",
}


@pytest.mark.parametrize(("texts", "days"), DATES.items())
def test_dates_as_people_write_them(texts: str, days: str) -> None:
    found = Found.of(texts.split())
    assert [form.kind for form in found.forms] == [Kind.DATE]
    assert [text_of(float(number), Kind.DATE) for number in found.numbers] == days.split()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["31 Jan 2020", "1 March 2020"], ["2020-01-31", "2020-03-01"]),
        (["31. Januar 2020", "1. M\u00e4rz 2020"], ["2020-01-31", "2020-03-01"]),
        (["31 janv. 2020", "1 ao\u00fbt 2020"], ["2020-01-31", "2020-08-01"]),
        (["31 de enero de 2020", "1 de agosto de 2020"], ["2020-01-31", "2020-08-01"]),
        (["January 31, 2020", "Sept 1, 2020"], ["2020-01-31", "2020-09-01"]),
    ],
)
def test_names_of_months(texts: list[str], days: list[str]) -> None:
    found = Found.of(texts)
    assert [text_of(float(number), Kind.DATE) for number in found.numbers] == days  # type: ignore[arg-type]


def test_times_of_day_beside_dates_and_alone() -> None:
    found = Found.of(["31.01.2020 14:30", "01.02.2020 9:05:30.25", "02.02.2020"])
    assert [form.kind for form in found.forms] == [Kind.MOMENT]
    shown = [text_of(float(number), Kind.MOMENT) for number in found.numbers]  # type: ignore[arg-type]
    assert shown == ["2020-01-31 14:30", "2020-02-01 09:05:30.250000", "2020-02-02 00:00"]
    halves = Found.of(["1/31/2020 12:05 AM", "1/31/2020, 2:30 p.m."])
    shown = [text_of(float(number), Kind.MOMENT) for number in halves.numbers]  # type: ignore[arg-type]
    assert shown == ["2020-01-31 00:05", "2020-01-31 14:30"]
    times = Found.of(["14:30", "9:05"])
    assert [text_of(float(number), Kind.TIME) for number in times.numbers] == ["14:30", "09:05"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "texts", [["31.02.2020"], ["1.13.2020"], ["13/13/2020"], ["31 Foo 2020"], ["25:00"], ["1/1/1500"], ["1.2.20"]]
)
def test_texts_that_are_no_dates(texts: list[str]) -> None:
    assert not Found.of(texts).forms


def test_days_and_months_are_told_by_the_whole_column_or_are_open() -> None:
    texts = ["01/02/2020", "03/04/2020"]
    assert [form.example for form in Found.of(texts).forms] == ["31/12/2020", "12/31/2020"]
    assert [form.example for form in Found.of([*texts, "31/12/2019"]).forms] == ["31/12/2020"]
    assert [form.example for form in Found.of([*texts, "12/31/2019"]).forms] == ["12/31/2020"]
    assert not Found.of(["31/12/2019", "12/31/2019"]).forms


def test_other_columns_decide_what_is_day_and_what_is_month() -> None:
    texts = ["01/02/2020", "03/04/2020"]
    found = Found.of(texts)
    assert found.decided(texts) == found
    assert found.decided(texts, day_first=True).forms == (DateForm("%d/%m/%Y"),)
    first_of_february = found.decided(texts, day_first=False)
    assert first_of_february.forms == (DateForm("%m/%d/%Y"),)
    assert [text_of(float(number), Kind.DATE) for number in first_of_february.numbers] == ["2020-01-02", "2020-03-04"]  # type: ignore[arg-type]
    same = Found.of(["05/05/2020", "6/6/2020"])
    assert [form.example for form in same.forms] == ["31/12/2020", "12/31/2020"]
    assert same.decided(["05/05/2020", "6/6/2020"], day_first=False).forms == (DateForm("%m/%d/%Y"),)


def test_a_few_cells_may_be_in_the_way() -> None:
    texts = [str(number) for number in range(50)] + ["oops"]
    assert not Found.of(texts).forms
    found = Found.of(texts, most=1)
    assert [text for text, number in zip(texts, found.numbers, strict=True) if number is None] == ["oops"]


@given(
    st.sampled_from(_DATES),
    st.booleans(),
    st.sampled_from(LANGUAGES),
    st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31)),  # noqa: DTZ001
)
def test_a_form_reads_what_it_writes(form: str, clock: bool, language: str, moment: datetime) -> None:
    one = DateForm(form, clock, language if "%b" in form else "en")
    assert form_from(saved_form(one)) == one
    names = {"%d": str(moment.day), "%m": f"{moment.month:02}", "%Y": str(moment.year), "%y": f"{moment.year % 100:02}"}
    from proofwood.data.text_forms import _months

    names["%b"] = _months(one.language, "wide")[moment.month - 1]
    if form == "%d.%m.%y":
        names["%d"] = f"{moment.day:02}"
    text = form
    for directive, word in names.items():
        text = text.replace(directive, word)
    day = date(moment.year, moment.month, moment.day if "%d" in form else 1)
    number = one.number(f"{text} {moment:%H:%M:%S}" if clock else text)
    at = datetime.combine(day, time(moment.hour, moment.minute, moment.second) if clock else time())
    unit = 86_400 if not clock else 1e-6
    assert number is not None
    assert number * unit == (at - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001


@pytest.mark.parametrize(
    "form",
    [NumberForm("."), NumberForm(",", "€"), NumberForm(EITHER), NumberForm(EITHER, "%"), NumberForm(".", "km / h")],
)
def test_forms_of_numbers_are_kept_as_text(form: NumberForm) -> None:
    assert form_from(saved_form(form)) == form


@pytest.mark.parametrize("text", ["", "number", "number ;", "date", "date en day %x", "date xx day %Y", "word . €"])
def test_what_is_no_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a form"):
        form_from(text)


@pytest.mark.parametrize(
    ("example", "why"),
    [
        ("01/02/2020", "which number is the day"),
        ("05/05/2020", "which number is the day"),
        ("1,234", "which mark is the decimal one"),
        ("word", "neither a number nor a date"),
    ],
)
def test_an_example_has_one_reading(example: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        form_of(example)
    assert form_of("31/12/2020") == DateForm("%d/%m/%Y")
    assert form_of("1.234,5") == NumberForm(",")


def test_new_texts_are_read_in_the_form_of_training() -> None:
    assert np.array_equal(
        numbers_like(["1,5", "?", "2", " "], NumberForm(","), "a"), [1.5, math.nan, 2, math.nan], True
    )
    with pytest.raises(DataError, match=r"column 'a' holds 'oops': expected numbers written like 1.234,5"):
        numbers_like(["1,5", "oops"], NumberForm(","), "a")
    with pytest.raises(DataError, match=r"expected dates written like 31.12.2020.*missing_values=\['2020-01-01'\]"):
        numbers_like(["2020-01-01"], DateForm("%d.%m.%Y"), "a")
