"""Dates and times as numbers and back."""

from datetime import date, datetime, time, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood.data.columns import read_columns
from proofwood.data.kinds import Kind
from proofwood.data.moments import DAY, HOUR, MINUTE, kind_of_texts, text_of
from proofwood.exceptions import DataError

ZONE = timezone(timedelta(hours=2))


def column(values, **how):
    """Numbers and meaning of one column."""
    read = read_columns(values if hasattr(values, "columns") else pd.DataFrame({"when": values}), **how)
    return read.values[:, 0].tolist(), read.columns[0]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2024-05-03", " 1999-12-31 "], Kind.DATE),
        (["2024-05-03 14:30", "2024-05-03T14:30:10.25Z", "2024-05-03 14:30:00+02:00"], Kind.MOMENT),
        (["2024-05-03", "2024-05-03 14:30"], None),
        (["2024-02-30"], None),
        (["03.05.2024"], None),
        (["red", "2024-05-03"], None),
        ([], None),
    ],
)
def test_text_is_a_date_if_all_of_it_is(texts, kind):
    assert kind_of_texts(texts) is kind


def test_each_kind_of_frame_gives_the_same_numbers():
    days = [date(1970, 1, 2), date(2024, 5, 3), None]
    expected = [1.0, 19846.0]
    for given in (
        pd.DataFrame({"when": ["1970-01-02", "2024-05-03", None]}),
        pd.DataFrame({"when": pd.to_datetime(days)}),
        pd.DataFrame({"when": pd.Series(days, dtype=object)}),
        pl.DataFrame({"when": days}),
        pl.DataFrame({"when": ["1970-01-02", "2024-05-03", None]}),
    ):
        numbers, what = column(given, dates=True)
        assert numbers[:2] == expected
        assert np.isnan(numbers[2])
        assert (what.kind, what.missing) == (Kind.DATE, 1)


def test_moments_are_microseconds_in_utc():
    local = datetime(1970, 1, 1, 3, 0, 0, 5, tzinfo=ZONE)
    for given in (
        pd.DataFrame({"when": [local]}),
        pl.DataFrame({"when": [local]}),
        pd.DataFrame({"when": [str(local)]}),
    ):
        numbers, what = column(given, dates=True)
        assert numbers == [float(HOUR + 5)]
        assert what.kind is Kind.MOMENT


def test_times_of_day_and_durations():
    for given in (pl.DataFrame({"when": [time(1, 2)]}), pd.DataFrame({"when": pd.Series([time(1, 2)], dtype=object)})):
        assert column(given) == ([float(HOUR + 2 * MINUTE)], column(given)[1])
        assert column(given)[1].kind is Kind.TIME
    for given in (pl.DataFrame({"when": [timedelta(days=2)]}), pd.DataFrame({"when": pd.to_timedelta(["2D"])})):
        assert column(given)[0] == [2.0 * DAY]
        assert column(given)[1].kind is Kind.DURATION


def test_new_rows_are_read_as_training_was():
    trained = column(["2024-05-03", "2024-05-04"], dates=True)[1]
    like = {"when": trained}
    assert column(["2024-05-05"], like=like)[0] == [19848.0]
    assert column(pd.to_datetime(["2024-05-05 18:00"]), like=like)[0] == [19848.0]  # the day counts
    moment = column(pd.to_datetime(["2024-05-03 01:00"]))[1]
    assert column(pd.to_datetime(["2024-05-05"]), like={"when": moment})[0] == [19848.0 * DAY]
    with pytest.raises(DataError, match=r"'tomorrow'.*expected a date such as 2024-05-03, as in training"):
        column(["tomorrow"], like=like)
    with pytest.raises(DataError, match="column 'when' holds numbers, but held dates or times in training"):
        column([3.0], like=like)


def test_what_float64_cannot_hold_is_refused():
    with pytest.raises(DataError, match="fractions of a microsecond"):
        column(pd.to_datetime([1], unit="ns"))
    with pytest.raises(DataError, match=r"cannot hold exactly|too far from 1970"):
        column(np.array(["4000-01-01T00:00:00.000001"], dtype="M8[us]"))


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (19846.0, Kind.DATE, "2024-05-03"),
        (19846.5, Kind.DATE, "2024-05-03"),
        (19846 * DAY + 14.5 * HOUR, Kind.MOMENT, "2024-05-03 14:30"),
        (-0.5, Kind.MOMENT, "1969-12-31 23:59:59.999999"),
        (HOUR + 0.5, Kind.TIME, "01:00"),
        (2.0 * DAY, Kind.DURATION, "2 days, 0:00"),
        (np.inf, Kind.DATE, "inf"),
        (1e30, Kind.MOMENT, "1e+30"),
    ],
)
def test_thresholds_as_text(number, kind, text):
    assert text_of(number, kind) == text
