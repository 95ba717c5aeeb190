"""Cells of text tables and sheets, read as the values that a model takes."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import OptimalTreeClassifier
from proofwood.cli.foreign import reading
from proofwood.cli.tables import read_rows
from proofwood.data.kinds import Taken
from proofwood.data.tables import read_cells
from proofwood.exceptions import DataError
from tests.command_line import failed, worked
from tests.workbooks import write_workbook

NUMBERS, TEXT = Taken(), Taken(text=True)


def read(folder, taken, *cells, sheet=False):
    """The values of a column of cells, written as they are."""
    path = folder / ("t.xlsx" if sheet else "t.csv")
    if sheet:
        write_workbook(path, {"t": [["code", "other"], *([cell, 1] for cell in cells)]})
    else:
        path.write_text("code,other\n" + "".join(f"{cell},1\n" for cell in cells))
    return read_cells(path).taken({"code": taken})["code"].to_list()


def test_the_model_says_what_a_cell_is(tmp_path):
    assert read(tmp_path, Taken(("1", "2")), "1", "2", "3") == ["1", "2", "3"]
    assert read(tmp_path, Taken((1, 2)), "1", "2", "3.0") == [1, 2, 3]
    assert read(tmp_path, Taken(("007", "7")), "007", "7") == ["007", "7"]
    assert read(tmp_path, Taken(("True", "False")), "True", "False") == ["True", "False"]
    assert read(tmp_path, Taken((False, True)), "TRUE", "false", "1") == [True, False, True]
    assert read(tmp_path, Taken((0, 1)), "True", "0") == [1, 0]
    assert read(tmp_path, Taken(("NA", "a")), "NA", "a", "") == ["NA", "a", None]
    assert read(tmp_path, TEXT, "007", "7") == ["007", "7"]
    assert read(tmp_path, NUMBERS, "007", " 7 ", "?") == [7, 7, None]
    assert read(tmp_path, NUMBERS, "True", "false", "?") == [True, False, None]
    moments = Taken((np.datetime64("2024-05-03"), np.datetime64("2024-05-04")))
    assert [str(value) for value in read(tmp_path, moments, "2024-05-03", "2024-05-05 00:00:00")] == [
        "2024-05-03 00:00:00",
        "2024-05-05 00:00:00",
    ]


def test_texts_of_a_sheet_are_read_so_and_its_numbers_are_no_texts(tmp_path):
    pytest.importorskip("fastexcel")
    assert read(tmp_path, Taken(("1", "2")), "1", "2", sheet=True) == ["1", "2"]
    assert read(tmp_path, Taken((1, 2)), "1", "2", sheet=True) == [1, 2]
    assert read(tmp_path, TEXT, "007", sheet=True) == ["007"]
    with pytest.raises(DataError, match=r"column 'code' holds values of type .* texts, such as '1': format"):
        read(tmp_path, Taken(("1", "2")), 1, 2, sheet=True)


@pytest.mark.parametrize(
    ("known", "cell", "message"),
    [
        (("1", "2"), "1.0", "may mean '1': write it as in the model"),
        (("7",), "007", "may mean '7'"),
        (("1000",), "1e3", "may mean '1000'"),
        (("True",), "TRUE", "may mean 'True'"),
        (("a",), " a", "may mean 'a'"),
        (("1.5",), '"1,5"', "may mean '1.5'"),
        (("a",), "NA", "may mean a missing value: leave the cell empty"),
        (("a",), '""', "may mean a missing value: leave the cell empty"),
        (("", "a"), "", "has empty cells, which may be missing values or the category ''"),
        (("", None), '""', 'only cells of "", which may be missing values or the category'),
        (("1", 1), "1", "knows both as a text and as 1"),
        (("a", 1), "1", "are texts and values of other types"),
        ((1, 2), "a", "the categories of the model are 1, 2: write one of these"),
        ((False, True), "2", "the categories of the model are False, True"),
        ((1, 2), str(2**70), "beyond 64 bits"),
        ((), '"1,5"', "but the model expects numbers: write decimals with a point, or say --decimal ,"),
        ((), "a", "but the model expects numbers: write a number"),
    ],
)
def test_what_may_be_meant_otherwise_is_refused(tmp_path, known, cell, message):
    first = "a" if "a" in known and 1 in known else cell
    also = "|could not parse" if message == "beyond 64 bits" else ""  # by older releases of polars themselves
    with pytest.raises(DataError, match=re.escape(message) + also) as told:
        read(tmp_path, Taken(known), first, cell)
    assert "column 'code'" in str(told.value)


def test_other_texts_are_unknown_categories(tmp_path):
    assert read(tmp_path, Taken(("1", "a")), "2", "b", "a b") == ["2", "b", "a b"]


def table(n=60):
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"code": generator.choice(["007", "7", "True"], n).astype(object), "v": generator.normal(size=n)})
    return X, np.where((X["code"] == "007") ^ (X["v"] > 1), "1", "2")


def test_a_model_learned_from_an_array_takes_its_columns_by_place(tmp_path):
    X, y = table()
    model = OptimalTreeClassifier(max_depth=2).fit(X.to_numpy(dtype=object), y)
    model.save(tmp_path / "m.json")
    X.to_csv(tmp_path / "x.csv", index=False)
    X.assign(label=y).to_csv(tmp_path / "labelled.csv", index=False)
    expected = model.predict(X.to_numpy(dtype=object)).tolist()
    assert worked("predict", tmp_path / "m.json", tmp_path / "x.csv").split()[1:] == expected
    told = worked("evaluate", tmp_path / "m.json", tmp_path / "labelled.csv", "--target", "label")
    assert f"{sum(a != b for a, b in zip(expected, y, strict=True))} of 60 rows" in told
    assert "unknown" not in told  # the labels are the texts "1" and "2", and no numbers


def test_a_gap_is_that_which_the_encoder_knows(tmp_path):
    X, y = table()
    y = np.where(np.arange(60) % 3 == 0, "yes", y)
    for gap in (None, np.nan):
        X["code"] = pd.Series([gap if k % 3 == 0 else "a" for k in range(60)], dtype=object)
        steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["code"]), remainder="passthrough")
        model = make_pipeline(steps, DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y)
        X.to_csv(tmp_path / "x.csv", index=False)
        rows = read_rows(
            tmp_path / "x.csv", model, (), None, lambda one, names, X: reading(one, feature_names=names, X=X)
        )
        assert model.predict(rows.given).tolist() == model.predict(X).tolist()
        assert isinstance(rows.table, pl.DataFrame)


def test_a_cell_that_may_be_meant_otherwise_is_refused_by_every_command(tmp_path):
    X, y = table()
    X["code"] = X["code"].replace("007", "5")
    OptimalTreeClassifier(max_depth=2).fit(X, y).save(tmp_path / "m.json")
    X.replace("5", "5.0").assign(label=y).to_csv(tmp_path / "x.csv", index=False)
    call = (tmp_path / "m.json", tmp_path / "x.csv")
    for command in (
        ("predict", *call),
        ("evaluate", *call, "--target", "label"),
        ("explain", *call, "--row", 0, "--drop", "label"),
        ("report", *call, "--target", "label", "--out", tmp_path / "r.html"),
    ):
        assert "column 'code' holds '5.0' in row" in failed(*command)
