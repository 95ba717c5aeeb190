"""``proofwood drift``: a table beside the training rows of a saved model, for people and for schedulers."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import proofwood
from tests.command_line import failed, invoke, worked
from tests.interface.test_cli_json import answer
from tests.report_models import actions, numbers
from tests.workbooks import write_workbook


@pytest.fixture(scope="module")
def tree(folder: Path) -> Path:
    """A tree of iris with its error on held-out rows."""
    out = folder / "chosen.json"
    worked("fit", folder / "iris.csv", "--target", "species", "--max-depth", 2, "--cv", 3, "--out", out)
    return out


def drifted(*arguments: object) -> str:
    """Standard output of a call that finds drift."""
    result = invoke("drift", *arguments)
    assert result.exit_code == 4, result.output
    return str(result.stdout)


def changed(folder: Path, name: str, values: pl.Expr) -> Path:
    path = folder / "changed.csv"
    pl.read_csv(folder / "iris.csv").with_columns(values.alias(name)).write_csv(path)
    return path


def test_training_rows_have_no_drift(folder: Path, tree: Path) -> None:
    text = worked("drift", tree, folder / "iris.csv", "--target", "species")
    assert text.startswith("no drift found in 150 new rows, by ")
    assert "held-out rows of the cross-validation" in text
    found = answer("drift", tree, folder / "iris.csv", "--target", "species")
    table = pl.read_csv(folder / "iris.csv")
    expected = proofwood.load(tree).drift(table, "species")
    assert found["drift"] is False
    assert found["saved"] is None
    assert found["leaves"] == json.loads(json.dumps(expected.to_dict()["leaves"]))


def test_drift_has_an_exit_code_of_its_own(folder: Path, tree: Path, tmp_path: Path) -> None:
    table = changed(folder, "petal width (cm)", pl.col("petal width (cm)") + 1)
    page = tmp_path / "d.html"
    text = drifted(tree, table, "--html", page)
    assert text.startswith("drift in 150 new rows: ")
    assert "'petal width (cm)' above the training rows" in text
    assert "petal width (cm)" in page.read_text(encoding="utf-8")
    found = answer("drift", tree, table, "--html", page, code=4)
    assert (found["drift"], found["saved"]) == (True, str(page))
    assert found["reasons"]
    assert worked("drift", tree, table, "--tolerance", 1).startswith("no drift found")


def test_only_tested_columns_are_asked_for(folder: Path, tree: Path, tmp_path: Path) -> None:
    tested = [column["name"] for column in answer("drift", tree, folder / "iris.csv")["columns"]]
    narrow = tmp_path / "narrow.parquet"
    pl.read_csv(folder / "iris.csv").select(reversed(tested)).write_parquet(narrow)
    assert worked("drift", tree, narrow).startswith("no drift found in 150 new rows")
    pl.read_csv(folder / "iris.csv").drop(tested[0]).write_csv(tmp_path / "without.csv")
    said = failed("drift", tree, tmp_path / "without.csv")
    assert f"the model tests 1 column that the table does not have: {tested[0]!r}" in said


def test_text_among_numbers_is_drift(folder: Path, tree: Path) -> None:
    name = "petal width (cm)"
    column = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("oops")).otherwise(pl.col(name).cast(pl.String))
    text = drifted(tree, changed(folder, name, column), "--target", "species")
    assert f"column '{name}' holds text (such as " in text
    assert "(such as 'oops')" in text


def test_new_levels_of_a_text_file(tmp_path: Path) -> None:
    table = pl.DataFrame({"code": ["1", "2", "3"] * 40, "y": ["a", "b", "b"] * 40})
    table.write_csv(tmp_path / "t.csv")
    model = proofwood.OptimalTreeClassifier(max_depth=1, categorical_features=["code"]).fit(table, "y")
    model.save(tmp_path / "m.json")
    assert worked("drift", tmp_path / "m.json", tmp_path / "t.csv").startswith("no drift found")
    table.with_columns(code=pl.lit("9")).write_csv(tmp_path / "t.csv")
    assert "levels of 'code' that training did not have ('9')" in drifted(tmp_path / "m.json", tmp_path / "t.csv")


def test_numbers_written_as_text(tmp_path: Path) -> None:
    amounts = [f"{k // 2},{5 * (k % 2)} €" for k in range(200)]
    table = pl.DataFrame({"amount": amounts, "y": ["a"] * 100 + ["b"] * 100})
    model = proofwood.OptimalTreeClassifier(max_depth=1).fit(table, "y")
    model.save(tmp_path / "m.json")
    table.write_csv(tmp_path / "t.csv")
    found = answer("drift", tmp_path / "m.json", tmp_path / "t.csv", "--target", "y")
    assert found["columns"][0]["range_now"] == ["0", "99.5"]
    assert found["errors"]["now"]["count"] == 0


def test_a_model_without_names(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": range(100), "b": [k % 7 for k in range(100)]})
    proofwood.OptimalTreeClassifier(max_depth=1).fit(table.to_numpy(), [0] * 50 + [1] * 50).save(tmp_path / "m.json")
    table.write_csv(tmp_path / "t.csv")
    assert answer("drift", tmp_path / "m.json", tmp_path / "t.csv")["columns"][0]["name"] == "x0"
    table.select("a").write_csv(tmp_path / "t.csv")
    assert "1 columns, but the model was learned from 2 without names" in failed(
        "drift", tmp_path / "m.json", tmp_path / "t.csv"
    )


def test_rows_without_a_target(folder: Path, tree: Path, tmp_path: Path) -> None:
    table = pl.read_csv(folder / "iris.csv")
    gaps = table.with_columns(species=pl.when(pl.int_range(pl.len()) > 9).then("species"))
    gaps.write_csv(tmp_path / "gaps.csv")
    given = ("drift", tree, tmp_path / "gaps.csv", "--target", "species")
    assert "--drop-missing-target" in failed(*given)
    assert answer(*given, "--drop-missing-target")["new_rows"] == 140


@pytest.mark.needs("fastexcel")
def test_a_sheet_of_a_workbook(folder: Path, tree: Path, tmp_path: Path) -> None:
    table = pl.read_csv(folder / "iris.csv")
    rows = [table.columns, *table.rows()]
    write_workbook(tmp_path / "t.xlsx", {"first": [["a"], [1]], "second": rows})
    assert answer("drift", tree, tmp_path / "t.xlsx", "--sheet", "second")["new_rows"] == 150


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--expected-error", 0.1), "--expected-error needs --target COL"),
        (("--drop-missing-target",), "--drop-missing-target needs --target COL"),
        (("--target", "specis"), "Did you mean 'species'?"),
        (("--target", "species", "--expected-error", 2), "expected_error=2.0"),
        (("--false-alarms", 0), "false_alarms=0.0"),
        (("--tolerance", -1), "tolerance=-1.0"),
        (("--language", "fr"), "language='fr': expected one of 'de', 'en'"),
    ],
)
def test_wrong_usage_keeps_its_exit_code(folder: Path, tree: Path, given: tuple[object, ...], said: str) -> None:
    assert said in failed("drift", tree, folder / "iris.csv", *given)


def test_drift_in_german(folder: Path, tree: Path, tmp_path: Path) -> None:
    path = changed(folder, "petal width (cm)", pl.col("petal width (cm)") * 1000)
    page = tmp_path / "drift.html"
    text = drifted(tree, path, "--target", "species", "--language", "de", "--html", page)
    assert text.startswith("Drift in 150 neuen Zeilen: ")
    assert "'petal width (cm)' über den Trainingszeilen, deren größter Wert 2,5 ist: 150 von 150 (100,0\u202f%" in text
    assert "new rows" not in text
    written = page.read_text(encoding="utf-8")
    assert '<html lang="de">' in written
    assert "Wie entschieden wird" in written
    assert "How it is decided" not in written
    assert drifted(tree, path, "--target", "species").startswith("drift in 150 new rows: ")


def test_files_that_cannot_be_used(folder: Path, tree: Path, tmp_path: Path) -> None:
    assert "is an input file" in failed("drift", tree, folder / "iris.csv", "--html", tree)
    (tmp_path / "empty.csv").write_text(",".join(pl.read_csv(folder / "iris.csv").columns) + "\n")
    assert "row" in failed("drift", tree, tmp_path / "empty.csv")
    assert "expected a model file" in failed("drift", tmp_path, folder / "iris.csv")


def test_numbers_are_read_from_their_column(folder: Path, tmp_path: Path) -> None:
    model, X, rent = numbers()
    model.save(tmp_path / "rent.json")
    X.with_columns(rent=pl.Series(rent)).write_csv(tmp_path / "rents.csv")
    found = answer("drift", tmp_path / "rent.json", tmp_path / "rents.csv", "--target", "rent")
    assert found["numbers"]["now"] == pytest.approx(found["numbers"]["then"])
    assert found["errors"] is None
    policy, X, _ = actions()
    policy.save(tmp_path / "policy.json")
    said = failed("drift", tmp_path / "policy.json", tmp_path / "rents.csv", "--target", "rent")
    assert "expected 3 columns, the rewards of 'nothing', 'letter', 'call', not 1" in said
