"""The command ``proofwood report``."""

import polars as pl
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.exceptions import DataError, DataWarning
from tests import report_models
from tests.command_line import failed, invoke, worked
from tests.workbooks import write_workbook


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    X, y = report_models.people(200)
    table = X.select("age", "married")
    table.with_columns(paid=y).write_csv(folder / "train.csv")
    table[:50].with_columns(paid=y[:50]).write_csv(folder / "fresh.csv")
    worked("fit", folder / "train.csv", "--target", "paid", "--max-depth", 2, "--out", folder / "m.json")
    return folder


def test_a_report_from_files(folder):
    out = folder / "r.html"
    result = invoke(
        *("report", folder / "m.json", folder / "train.csv", "--target", "paid", "--out", out),
        *("--validation", folder / "fresh.csv", "--row", 3, "--row", 7, "--title", "From <files>"),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    page = out.read_text()
    assert "From &lt;files&gt;" in page
    assert "and was then tried on 50 rows that it had not seen" in page
    assert 'id="row-3"' in page
    assert 'id="row-7"' in page
    assert "Done for this report" in page
    assert "This model was read from a file." in page


def test_a_mistake_in_a_card_does_not_cost_the_search(folder, tmp_path):
    card, saved = tmp_path / "card.toml", tmp_path / "m.json"
    card.write_text('event = "sometimes"')
    told = failed(
        *("fit", folder / "train.csv", "--target", "paid", "--max-depth", 2, "--out", saved),
        *("--report", tmp_path / "r.html", "--card", card),
    )
    assert told.startswith("proofwood: event of the card names the class 'sometimes': expected one of")
    assert not saved.exists()


def test_wrong_input_is_refused(folder, tmp_path):
    model, table = folder / "m.json", folder / "train.csv"
    assert "no column 'nothing'" in failed("report", model, table, "--target", "nothing")
    assert "no file" in failed("report", tmp_path / "none.json", table, "--target", "paid")
    assert "is an input file" in failed("report", model, table, "--target", "paid", "--out", table)
    assert "expected indices of rows, from 0 to 199" in failed(
        "report", model, table, "--target", "paid", "--row", 200, "--out", tmp_path / "r.html"
    )
    assert "cannot write" in failed("report", model, table, "--target", "paid", "--out", tmp_path / "no" / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.needs("fastexcel")
def test_rows_from_two_sheets_of_a_workbook(folder, tmp_path):
    book, out = tmp_path / "rows.xlsx", tmp_path / "r.html"
    sheets = {name: pl.read_csv(folder / f"{name}.csv") for name in ("train", "fresh")}
    write_workbook(book, {name: [frame.columns, *frame.rows()] for name, frame in sheets.items()})
    call = ("report", folder / "m.json", book, "--target", "paid", "--explain-seconds", 0, "--out", out)
    assert "has several sheets: 'train', 'fresh'. Name one of them" in failed(*call)
    worked(*call, "--sheet", "train", "--validation", book, "--validation-sheet", "fresh")
    assert "tried on 50 rows" in out.read_text()
    assert "needs --validation FILE" in failed(*call, "--sheet", "train", "--validation-sheet", "fresh")


def test_a_report_in_german(folder, tmp_path):
    out = tmp_path / "r.html"
    call = ("report", folder / "m.json", folder / "train.csv", "--target", "paid", "--explain-seconds", 0)
    worked(*call, "--out", out, "--language", "de")
    page = out.read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    assert "Es lernte aus 200 Zeilen von train.csv" in page
    assert "Die Datei behauptet: kein Baum" in page
    fit = ("fit", folder / "train.csv", "--target", "paid", "--max-depth", 2)
    worked(*fit, "--report", out, "--language", "de")
    assert "in diesem Lauf bewiesen" in out.read_text(encoding="utf-8")
    assert "language='fr': expected one of 'de', 'en'" in failed(*call, "--out", out, "--language", "fr")
    assert "language='fr'" in failed(*fit, "--report", out, "--language", "fr")
    assert "--language needs --report FILE" in failed(*fit, "--language", "de")


def test_ways_out_are_options_on_the_command_line_and_parameters_in_python(tmp_path):
    """A class of 4 rows in 200 that no leaf predicts."""
    frame = pl.DataFrame(
        {"a": [k % 9 for k in range(200)], "y": ["rare" if k in (7, 77, 101, 150) else "often" for k in range(200)]}
    )
    frame.write_csv(tmp_path / "t.csv")
    result = invoke(
        "fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.json", "--report", tmp_path / "r.html"
    )
    assert result.exit_code == 0
    page = (tmp_path / "r.html").read_text()
    worked("report", tmp_path / "m.json", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "again.html")
    for text in (result.stderr, result.stdout, page, (tmp_path / "again.html").read_text()):
        assert "--class-weight balanced gives all classes the same weight" in text
        assert "class_weight=" not in text
    with pytest.warns(DataWarning, match="class_weight='balanced' gives all classes the same weight"):
        tree = OptimalTreeClassifier().fit(frame, "y")
    assert "class_weight='balanced'" in tree.summary()
    tree.report(tmp_path / "r.html", frame, "y")
    assert "--class-weight" not in (tmp_path / "r.html").read_text()


def test_errors_name_options_on_the_command_line(tmp_path):
    prices = pl.DataFrame({"a": range(40), "y": [k * 1.5 for k in range(40)]})
    prices.write_csv(tmp_path / "t.csv")
    said = failed("fit", tmp_path / "t.csv", "--target", "y", "--model", "tree")
    assert "with --bands 5 for five bands" in said
    assert "bands=" not in said
    with pytest.raises(DataError, match=r"with bands=5 for five bands .* or bands=\[100, 200\] for edges"):
        OptimalTreeClassifier().fit(prices, "y")
