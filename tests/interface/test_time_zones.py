"""Times with a zone: shown with their offset, exported as instants, and never taken for times without one."""

from __future__ import annotations

import re
import shutil
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood import DataError, DateParts, Explainer, OptimalTreeClassifier, born_again, load, write_report
from proofwood.data.columns import read_columns
from proofwood.data.kinds import Kind
from proofwood.data.moments import EPOCH, text_of, zone_name
from proofwood.show.exports.source import ExportError
from tests import printed
from tests.printed import Rows

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]
STAMP = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ([+-]\d\d:\d\d)")


def fitted(zone: str, *, around: str = "2021-10-31 01:00", seed: int = 0) -> tuple[OptimalTreeClassifier, pd.DataFrame]:
    """A tree with a threshold near a change of clocks, and its rows."""
    rng = np.random.default_rng(seed)
    value = rng.integers(-7200, 7200, 200)
    X = pd.DataFrame({"at": (pd.Timestamp(around, tz="UTC") + pd.to_timedelta(value, unit="s")).tz_convert(zone)})
    return OptimalTreeClassifier(1).fit(X, np.where(value > 600, "late", "early")), X


def instant(text: str) -> pd.Timestamp:
    """The instant of the first stamp of a text."""
    found = STAMP.search(text)
    assert found is not None, text
    return pd.Timestamp("".join([found[1], " ", found[2], found[3]]))


@pytest.mark.parametrize("around", ["2021-10-31 01:00", "2021-11-07 06:00", "2021-03-28 01:00", "2021-04-03 15:00"])
@pytest.mark.parametrize("zone", ZONES)
def test_every_text_names_the_instant_at_which_predict_decides(zone, around, tmp_path):
    model, X = fitted(zone, around=around)
    late = model.predict(X) == "late"
    row = X[late].iloc[[0]]
    explainer = Explainer(model, X=X)
    texts = [
        model.export_text(),
        model.export_graphviz(),
        model.rules()[0]["if"],
        explainer.abductive(row).rule(),
        born_again(model, X=X).export_text(),
        re.split(" <= | > ", model.explain(X.iloc[[0]]))[1],
        explainer.abductive(row).to_dict()["conditions"][0]["text"],
    ]
    for text in texts:
        assert np.array_equal((X["at"] > instant(text)).to_numpy(), late), text
    assert (
        instant(texts[0]).utcoffset() == instant(texts[0]).tz_convert(zone).utcoffset()
    )  # that of the zone at this instant
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").export_text() == model.export_text()


def test_a_report_shows_the_zone(tmp_path):
    model, X = fitted("America/New_York")
    write_report(model, tmp_path / "r.html", X, model.predict(X), explain_seconds=0)
    page = (tmp_path / "r.html").read_text()
    assert text_of(float(model.model_.threshold[0]), Kind.MOMENT, "America/New_York") in page


@pytest.mark.parametrize("zone", ZONES)
def test_exports_compare_instants_or_are_refused(zone, tmp_path):
    model, X = fitted(zone)
    rows = Rows(model, X)
    assert printed.by_python(rows, model.to_python()) == rows.predicted
    assert printed.by_text(rows, model.export_text()) == rows.predicted
    assert printed.by_pmml(rows, model.to_pmml()) == rows.predicted
    if shutil.which("node"):
        assert printed.by_javascript(rows, model.to_javascript(), tmp_path) == rows.predicted
    with pytest.raises(ExportError, match=r"time zone \(.*pass the dialect of .*'duckdb'"):
        model.to_sql()


@pytest.mark.needs("sqlglot")
def test_databases_without_instants_refuse_zones():
    model, _ = fitted("Europe/Berlin")
    for dialect in ("sqlite", "mysql"):
        with pytest.raises(ExportError, match="time zone"):
            model.to_sql(dialect=dialect)
    for dialect in ("postgresql", "sqlserver", "bigquery", "snowflake", "oracle"):
        text = model.to_sql(dialect=dialect)
        at = datetime.fromisoformat(re.search(r"\d{4}-\d\d-\d\d [\d:.]+", text)[0])
        assert (at - EPOCH) // timedelta(microseconds=1) == np.floor(model.model_.threshold[0]) + 1
        assert "+00:00" in text


@pytest.mark.needs("duckdb", "sqlglot")
@pytest.mark.parametrize("zone", ZONES)
def test_duckdb_compares_instants_in_a_session_of_any_zone(zone):
    rows = Rows(*fitted(zone))
    assert printed.by_duckdb(rows, lambda table: rows.model.to_sql(table, dialect="duckdb")) == rows.predicted


def test_programs_want_a_zone_where_training_had_one_and_none_where_it_had_none():
    model, X = fitted("Europe/Berlin")
    plain = OptimalTreeClassifier(1).fit(X.assign(at=X["at"].dt.tz_localize(None)), model.predict(X))
    aware = datetime(2021, 10, 31, 3, 0, tzinfo=timezone(timedelta(hours=1)))
    local = aware.replace(tzinfo=None)
    for made, good, bad in ((model, aware, local), (plain, local, aware)):
        session = {}
        exec(made.to_python(), session)
        assert session["predict"]({"at": good}) == session["predict"]({"at": str(good)})
        for value in (bad, str(bad)):
            with pytest.raises(ValueError, match="time zone"):
                session["predict"]({"at": value})


# ----------------------------------------------------------------------------------------------------------- new rows


def test_new_rows_have_a_zone_where_training_had_one():
    model, X = fitted("Europe/Berlin")
    naive = X.assign(at=X["at"].dt.tz_localize(None))
    with pytest.raises(DataError, match=r"'at' holds times without a time zone.*tz_localize\('Europe/Berlin'\)"):
        model.predict(naive)
    other = X.assign(at=X["at"].dt.tz_convert("Asia/Tokyo"))
    assert model.predict(other).tolist() == model.predict(X).tolist()
    plain = OptimalTreeClassifier(1).fit(naive, model.predict(X))
    with pytest.raises(
        DataError, match=r"'at' holds times with a time zone \(Europe/Berlin\), but training had no zone"
    ):
        plain.predict(X)


@pytest.mark.parametrize(
    ("values", "zone"),
    [
        (
            pd.to_datetime(["2024-05-03 10:00", "2024-05-04"], format="ISO8601").tz_localize("Europe/Berlin"),
            "Europe/Berlin",
        ),
        (pd.to_datetime(["2024-05-03", "2024-05-04"]).tz_localize("UTC"), "UTC"),
        (["2024-05-03T10:00:00+02:00", "2024-05-04 11:00:00+02:00"], "+02:00"),
        (["2024-05-03T10:00:00+02:00", "2024-05-04 11:00:00 +01:00"], "UTC"),
        (["2024-05-03T10:00:00Z"], "UTC"),
        ([datetime(2024, 5, 3, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))], "-03:30"),
        (["2024-05-03T10:00:00"], None),
    ],
)
def test_the_zone_of_a_column_is_read(values, zone):
    column = read_columns(pd.DataFrame({"at": values}), dates=True).columns[0]
    assert (column.kind, column.zone) == (Kind.MOMENT, zone)


def test_polars_tells_the_same_zone():
    frame = pl.DataFrame({"at": pl.Series(["2024-05-03 10:00"]).str.to_datetime().dt.replace_time_zone("Asia/Kolkata")})
    assert read_columns(frame).columns[0].zone == "Asia/Kolkata"


def test_times_with_and_without_a_zone_do_not_mix():
    mixed = pd.DataFrame({"at": ["2024-05-03 10:00", "2024-05-03 10:00+02:00"]})
    with pytest.raises(DataError, match=r"mixes times without a time zone \(2024-05-03 10:00\)"):
        read_columns(mixed, dates=True)


@pytest.mark.parametrize("zone", [*ZONES, "+05:45", "-03:30", "No/Such_Zone"])
def test_what_is_shown_reads_back_as_the_same_instant(zone):
    rng = np.random.default_rng(1)
    for number in [0, 10**15 + 1, *rng.integers(-(10**15), 4 * 10**15, 200).tolist()]:
        text = text_of(float(number), Kind.MOMENT, zone)
        column = read_columns(pd.DataFrame({"at": [text]}), dates=True)
        assert column.values[0, 0] == number


def test_zones_without_a_name_are_told_by_their_offset():
    assert zone_name(timezone(timedelta(0))) == "UTC"
    assert zone_name(timezone(timedelta(hours=5, minutes=45))) == "+05:45"
    assert zone_name(pd.Timestamp("2024-05-03", tz="Europe/Berlin").tz) == "Europe/Berlin"


def test_parts_of_dates_are_those_of_local_time():
    X = pd.DataFrame(
        {"at": pd.to_datetime(["2024-05-03 23:30", "2024-12-31 23:30", None]).tz_localize("America/New_York")}
    )
    made = DateParts(["month", "day", "weekday", "hour"]).fit_transform(X)
    assert made["at hour"].tolist()[:2] == [23, 23]
    assert made["at day"].tolist()[:2] == [3, 31]
    assert made["at weekday"].tolist()[:2] == ["Fri", "Tue"]


def test_conditions_of_users_name_instants():
    model, X = fitted("Europe/Berlin")
    row = X.iloc[[0]]
    for text in ("2021-10-31 09:00 +01:00", "2021-10-31T08:00Z"):
        assert Explainer(model, X=X, knowledge=[f"at < '{text}'"]).abductive(row).rule()
    with pytest.raises(ValueError, match="without a time zone"):
        Explainer(model, X=X, knowledge=["at < '2021-10-31 09:00'"])
