"""``DateParts``: parts of dates and times as columns."""

from __future__ import annotations

from datetime import date, time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from proofwood import DateParts, OptimalTreeClassifier
from proofwood.estimators.date_parts import PARTS, WEEKDAYS


def frame(n=300, seed=0):
    """Dates before and after 1970, moments, times and text, with gaps."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("1969-01-01") + rng.integers(-5000, 25000, n)
    moments = np.datetime64("1960-01-01T00:00:00.000001") + rng.integers(0, 10**15, n).astype("m8[us]") * 2
    table = pl.DataFrame(
        {
            "day": days.astype("M8[D]").tolist(),
            "moment": moments.tolist(),
            "clock": [
                time(int(h), int(m)) for h, m in zip(rng.integers(0, 24, n), rng.integers(0, 60, n), strict=True)
            ],
            "text": [str(day) for day in days],
            "age": rng.integers(0, 90, n),
        }
    )
    return table.with_columns(pl.when(pl.col("age") < 10).then(None).otherwise(pl.col(name)).alias(name) for name in
                              ("day", "moment", "clock", "text"))  # fmt: skip


def expected(value, part):
    """The part of a date, moment or time by Python's own calendar."""
    if value is None:
        return None
    if isinstance(value, str):
        value = date.fromisoformat(value)
    return WEEKDAYS[value.weekday()] if part == "weekday" else getattr(value, part)


def test_parts_are_those_of_the_calendar():
    table = frame()
    found = DateParts(PARTS).fit_transform(table)
    days, times = ["year", "month", "day", "weekday"], ["hour", "minute"]
    own = {"day": days, "moment": [*days, *times], "clock": times, "text": days}
    assert found.columns == [*table.columns, *(f"{name} {part}" for name, parts in own.items() for part in parts)]
    for name, parts in own.items():
        for part in parts:
            told = [expected(value, part) for value in table[name].to_list()]
            assert found[f"{name} {part}"].to_list() == told, (name, part)


def test_frames_of_pandas_keep_their_index():
    table = pd.DataFrame({"day": pd.to_datetime(["2024-05-03", None, "1969-12-31"]), "n": [1, 2, 3]}, index=[7, 8, 9])
    found = DateParts(["month", "weekday"], keep=False).fit_transform(table)
    assert found.columns.tolist() == ["n", "day month", "day weekday"]
    assert found.index.tolist() == [7, 8, 9]
    assert found["day month"].tolist()[::2] == [5.0, 12.0]
    assert np.isnan(found["day month"].tolist()[1])
    assert found["day weekday"].fillna("missing").tolist() == ["Fri", "missing", "Wed"]


def test_a_pipeline_learns_what_comes_again_every_week():
    days = pl.Series("seen", pl.date_range(date(2024, 1, 1), date(2024, 12, 31), eager=True))
    weekend = [day.weekday() >= 5 for day in days]
    table = pl.DataFrame({"seen": days, "noise": np.random.default_rng(0).random(len(days))})
    learner = make_pipeline(DateParts(["weekday"]), OptimalTreeClassifier(1))
    learner.fit(table, np.array(weekend))
    assert learner.score(table, np.array(weekend)) == 1.0
    assert learner[-1].objective_ == 0
    names = learner[0].get_feature_names_out().tolist()
    assert names == ["seen", "noise", "seen weekday"]
    assert learner[-1].feature_names_in_.tolist() == names


def test_a_column_of_one_day_and_new_rows_without_dates():
    parts = DateParts(["month"]).fit(pl.DataFrame({"day": [date(2024, 5, 3)] * 40}))
    assert parts.transform(pl.DataFrame({"day": ["2023-02-01", None]}))["day month"].to_list() == [2, None]
    assert clone(parts).get_params() == {"parts": ["month"], "columns": None, "keep": True}


def test_chosen_columns():
    table = frame().select("day", "moment", "age")
    found = DateParts(["hour", "year"], columns=["moment"]).fit(table)
    assert found.added_ == {"moment": ("hour", "year")}


@pytest.mark.parametrize(
    ("parts", "X", "error", "message"),
    [
        (DateParts("month"), {"d": [date(2024, 1, 1)]}, ValueError, "expected a list, such as"),
        (DateParts(["moon"]), {"d": [date(2024, 1, 1)]}, ValueError, "parts has 'moon': expected some of 'year'"),
        (DateParts(columns=["e"]), {"d": [date(2024, 1, 1)]}, ValueError, "columns has 'e', which X does not have"),
        (DateParts(columns=["n"]), {"n": [1, 2]}, ValueError, "column 'n' has no dates or times"),
        (
            DateParts(["month"]),
            {"d": [date(2024, 1, 1), date(2024, 1, 2)], "d month": [1, 2]},
            ValueError,
            "already has a column 'd month'",
        ),
    ],
)
def test_what_cannot_be_used_is_named(parts, X, error, message):
    with pytest.raises(error, match=message):
        parts.fit(pl.DataFrame(X))


def test_arrays_and_other_columns_are_refused():
    with pytest.raises(TypeError, match="needs a pandas or polars frame, but X is of type ndarray"):
        DateParts().fit(np.zeros((2, 2)))
    parts = DateParts().fit(pl.DataFrame({"d": ["2024-01-01 03:00"], "n": [1]}))
    with pytest.raises(ValueError, match="expected those of training, in the same order: d, n"):
        parts.transform(pl.DataFrame({"n": [1], "d": ["2024-01-01"]}))
