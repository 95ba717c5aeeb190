"""Tables as people have them, through every learner and the command line: targets by name, bands, texts, gaps."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proofwood
from proofwood import DataWarning, MinimalTreeClassifier, OptimalTreeClassifier, OptimalTreeCV, compare
from proofwood.exceptions import DataError
from proofwood.hints import About
from tests.command_line import failed, invoke, worked
from tests.interface.test_every_learner import QUICK, of

ROWS = 150


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(4)
    size = random.integers(20, 200, ROWS)
    return pd.DataFrame(
        {
            "size": [f"{number:,.1f} m²" for number in size * 10.5],
            "rooms": random.integers(1, 6, ROWS),
            "city": random.choice(["Bonn", "Ulm"], ROWS),
            "price": size * 1000,
        }
    )


@pytest.fixture(autouse=True)
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_name_is_a_target_and_bands_cut_it(frame: pd.DataFrame, name: str, library: str, tmp_path: Path) -> None:
    table: Any = frame if library == "pandas" else pl.DataFrame(frame.to_dict("list"))
    rows = frame.drop(columns="price") if library == "pandas" else table.drop("price")
    model = of(name, bands=2).fit(table, "price")
    edge = int(np.quantile(frame["price"], 0.5, method="inverted_cdf"))
    assert model.classes_.tolist() == [f"1: up to {edge:,}", f"2: above {edge:,}"]
    assert model.feature_names_in_.tolist() == ["size", "rooms", "city"]
    assert model.recount(table, "price") == model.objective_
    names = np.array(model.classes_)[(frame["price"].to_numpy() > edge).astype(int)]
    right = np.mean(model.predict(rows) == names)
    assert right > 0.95
    assert (
        model.score(table, "price") == model.score(rows, frame["price"].to_numpy()) == model.score(rows, names) == right
    )
    path = tmp_path / "model.json"
    model.save(path)
    loaded = proofwood.load(path)
    assert (loaded.bands_, loaded.hints_) == (model.bands_, model.hints_)
    assert loaded.schema_.columns[0].form == "number . m²"
    assert np.array_equal(loaded.predict(rows), model.predict(rows))
    assert loaded.score(table, "price") == right


def test_a_name_that_is_no_column_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="Did you mean 'price'"):
        OptimalTreeClassifier().fit(frame, "prise")
    with pytest.raises(DataError, match="X is not a data frame"):
        OptimalTreeClassifier().fit(np.zeros((2, 2)), "y")


@pytest.mark.parametrize("learner", [OptimalTreeClassifier(), OptimalTreeCV(), MinimalTreeClassifier()])
def test_numbers_are_refused_as_classes(frame: pd.DataFrame, learner: Any) -> None:
    with pytest.raises(ValueError, match=r"The target holds \d+ different numbers .* bands=5"):
        learner.fit(frame, "price")
    with pytest.raises(ValueError, match=r"bands=5"):
        compare(frame, "price", {"it": learner})


def test_bands_are_compared(frame: pd.DataFrame) -> None:
    found = compare(frame, "price", {"tree": OptimalTreeClassifier(1)}, bands=2, cv=2)
    assert found.models[0].scores.min() > 0.9


def test_hints_are_one_warning_and_an_attribute(frame: pd.DataFrame) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = OptimalTreeClassifier(1, bands=2).fit(frame, "price")
    (warning,) = [one for one in caught if one.category is DataWarning]
    first, second = str(warning.message).split("; ")
    assert first == "read from text: 'size' as numbers written like 1,234.5 m²"
    assert second.startswith("'size' tells the target alone, without an error: leave it out unless it is known before")
    assert warning.message.hints == tree.hints_  # type: ignore[union-attr]
    assert [(hint.about, hint.columns) for hint in tree.hints_] == [
        (About.READ, ("size",)),
        (About.TARGET, ("size",)),
    ]


def test_values_that_are_read_as_missing_are_said(frame: pd.DataFrame) -> None:
    table = frame.assign(rooms=np.where(np.arange(ROWS) % 7, frame["rooms"], 99))
    late = np.where((table["rooms"] > 3) & (table["rooms"] < 9), "yes", "no")
    given = {"rooms": [99, "?"], "city": ["none"]}
    tree = OptimalTreeClassifier(1, missing_values=given, drop=["size", "price"]).fit(table, late)
    (note,) = tree.notes()
    assert str(note) == "read as missing values, also in new rows: 99, '?' in 'rooms'"
    assert f"note: {note}" in tree.summary()
    new = table.head(2).assign(rooms=[99, 4])
    gap = table.head(2).assign(rooms=[np.nan, 4])
    assert tree.predict(new).tolist() == tree.predict(gap).tolist()
    with pytest.raises(ValueError, match="column 'rooms' has missing_values 99, which an export reads as values"):
        tree.to_pmml()
    harmless = OptimalTreeClassifier(1, missing_values="?", drop=["size", "price"]).fit(table, late)
    assert "rooms" in harmless.to_sql()


def test_the_greedy_tree_is_counted_on_the_same_bands(folder: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(100), "b": np.arange(100) % 7, "price": np.arange(100) * 3.5})
    frame.to_csv(folder / "plain.csv", index=False)
    text = worked("fit", folder / "plain.csv", "--target", "price", "--bands", "2", "--max-depth", "1")
    assert "CART         0 errors" in text
    answer = worked("fit", folder / "plain.csv", "--target", "price", "--bands", "2", "--class-weight", "balanced")
    assert "1: up to 171.5" in answer
    weighted = ["--class-weight", "1: up to 171.5=2", "--model", "minimal", "--max-errors", "0"]
    assert "2: above 171.5" in worked("fit", folder / "plain.csv", "--target", "price", "--bands", "2", *weighted)


# --------------------------------------------------------------------------------------------------- command line


@pytest.fixture
def folder(frame: pd.DataFrame, tmp_path: Path) -> Path:
    table = frame.copy()
    table["size"] = [text.removesuffix(" m²").translate(str.maketrans(",.", ".,")) for text in table["size"]]
    table.loc[5, "size"] = "oops"
    table.loc[6, "rooms"] = 999
    table.loc[7, "rooms"] = 999
    table["price"] = table["price"].astype(float)
    table.loc[3:4, "price"] = np.nan
    table.to_csv(tmp_path / "flats.csv", index=False, sep=";")
    return tmp_path


def test_a_table_from_file_to_report(folder: Path) -> None:
    table, model = folder / "flats.csv", folder / "model.json"
    assert "2 of 150 rows have no value in column 'price': drop these rows first (--drop-missing-target)" in failed(
        "fit", table, "--target", "price"
    )
    options = ["--target", "price", "--drop-missing-target"]
    refused = invoke("fit", table, *options, "--model", "tree")
    said = " ".join(refused.stderr.split())
    assert refused.exit_code == 2
    assert (
        "but for 'oops', and was not read: correct it, or say --missing size=oops if it stands for a missing value"
        in said
    )
    assert "in 'rooms' (999): say --missing rooms=999 if these do" in said
    assert "--bands 5 for five" in said
    options = [*options, "--bands", "60000,120000", "--missing", "oops", "--missing", "rooms=999", "--out", model]
    done = invoke("fit", table, *options, "--max-depth", "2")
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "left out: 2 of 150 rows have no value in column 'price'" in said
    assert "read from text: 'size' as numbers written like 1.234,5" in said
    assert "1: up to 60,000" in done.stdout
    predicted = worked("predict", model, table).splitlines()
    assert len(predicted) == ROWS + 1
    answer = json.loads(worked("evaluate", model, table, "--target", "price", "--drop-missing-target", "--json"))
    assert answer["rows"] == ROWS - 2
    worked("report", model, table, "--target", "price", "--drop-missing-target", "--out", folder / "report.html")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bands", "many"], "--bands 'many': expected a number of bands, or edges such as 100,200"),
        (["--written-as", "size"], "--written-as 'size': expected a column and an example"),
        (["--written-as", "sise=1,5"], "Did you mean 'size'?"),
        (["--written-as", "size=01/02/2020"], "which number is the day"),
    ],
)
def test_wrong_options_say_what_is_expected(folder: Path, options: list[str], said: str) -> None:
    assert said in failed("fit", folder / "flats.csv", "--target", "price", "--drop-missing-target", *options)


@pytest.mark.parametrize("name", QUICK)
def test_levels_of_names_and_of_rows(frame: pd.DataFrame, name: str) -> None:
    rows = frame[["rooms", "city"]].assign(month=pd.period_range("2010-01", periods=ROWS, freq="M"))
    rows.columns = pd.MultiIndex.from_tuples([("flat", "rooms"), ("flat", "city"), ("month", "")])
    rows.index = pd.MultiIndex.from_arrays([frame["city"], np.arange(ROWS)])
    y = pd.Series(np.where(frame["rooms"] > 3, "large", "small"), index=rows.index)
    model = of(name).fit(rows, y)
    assert model.feature_names_in_.tolist() == ["flat / rooms", "flat / city", "month"]
    assert model.tested_columns_.tolist() == ["flat / rooms"]
    assert model.score(rows, y) == 1
    assert "flat / rooms" in str(proofwood.Explainer(model).abductive(rows.head(1)))
    with pytest.raises(ValueError, match="- flat / rooms"):
        model.predict(rows.drop(columns=[("flat", "rooms")]))
    rows[("y", "")] = y
    assert model.fit(rows, "y").score(rows, "y") == 1


def test_the_encoding_of_a_file_and_the_way_to_say_decimal_commas_are_hints(tmp_path: Path) -> None:
    rows = [f"{k % 7};{'grün' if k % 2 else 'weiß'};1,{234 + k};{'ja' if k % 7 > 3 else 'nein'}" for k in range(60)]
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    path.write_bytes("\n".join(["größe;farbe;n;y", *rows]).encode("cp1252"))
    seen = "t.csv is not UTF-8 text and was read as cp1252"
    for more in ((), ("--cv", 3)):
        answer = json.loads(worked("fit", path, "--target", "y", "--out", model, "--json", *more))
        first, second = answer["hints"][:2]
        assert first == {
            "about": "encoding",
            "columns": [],
            "text": f"{seen}: say its encoding (--encoding) if letters are wrong",
        }
        assert "such as --written-as n=1,234.5, or --decimal , if all columns have decimal commas" in second["text"]
        assert proofwood.load(model).hints_[0].seen == seen
    worked("fit", path, "--target", "y", "--out", model, "--decimal", ",", "--encoding", "cp1252")
    loaded = proofwood.load(model)
    assert not {About.ENCODING, About.OPEN} & {hint.about for hint in loaded.hints_}
    assert str(loaded.schema_.columns[2].kind) == "numeric"


@pytest.mark.parametrize(
    ("written", "unit", "shown"),
    [
        ("{} kg", "kg", "kg"),
        ("{}kg", "kg", "kg"),
        ("{} °C", "°C", "°C"),
        ("€ {}", "€", "€"),
        ("{} %", "%", "%"),
        ("{} or missing", "or missing", '"or missing"'),
        ("{}A", None, None),
    ],
)
def test_units_are_kept_and_shown(written: str, unit: str | None, shown: str | None, tmp_path: Path) -> None:
    table = pd.DataFrame({"size": [written.format(k / 2) for k in range(60)], "k": [k % 5 for k in range(60)]})
    tree = OptimalTreeClassifier(1).fit(table, ["low"] * 30 + ["high"] * 30)
    assert tree.schema_.columns[0].unit == unit
    if unit is None:
        assert str(tree.schema_.columns[0].kind) == "nominal"
        return
    condition = f"size <= 14.7 {shown}"
    assert tree.export_text().splitlines()[0] == condition
    assert f"size = 0 <= 14.7 {shown}\n" in tree.explain(table.head(1))
    assert tree.rules()[0]["if"] == condition
    assert condition in tree.export_graphviz().replace("≤", "<=").replace('\\"', '"')
    found = proofwood.Explainer(tree).abductive(table.head(1))
    assert found.conditions[0].text() == condition
    assert found.conditions[0].to_dict()["high"] == 14.7
    tree.save(tmp_path / "m.json")
    assert proofwood.load(tmp_path / "m.json").export_text() == tree.export_text()
    assert 'row["size"]' in tree.to_python().replace("'", '"')
