"""Messy tables through the command line: what is read, what is hinted at, what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import invoke
from tests.messy import MESSES, TARGET, TWENTY, Table, compatible, random_pairs, says, table

PAIRS = [("title lines", "separator ;"), ("title lines", "decimal commas"), *random_pairs(1, 24)]
NAMES = list(dict.fromkeys([*TWENTY, *((name,) for name in MESSES), *PAIRS]))


@dataclass
class Answer:
    """What fit made of a table."""

    made: Table
    path: Path
    model_path: Path
    result: Any

    @property
    def model(self):
        return json.loads(self.model_path.read_text(encoding="utf-8"))["model"]

    @property
    def columns(self):
        return self.model["columns"]


@pytest.fixture(scope="module", params=NAMES, ids=" + ".join)
def answer(request, tmp_path_factory):
    made = table(*request.param)
    for package in made.needs:
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("messy")
    path = folder / made.file_name
    path.write_bytes(made.content)
    return Answer(made, path, folder / "model.json", fit(path, folder / "model.json", *made.reading, *made.fitting))


def fit(path, out, *options):
    return invoke("fit", path, "--target", TARGET, "--max-depth", 2, "--out", out, *options)


@pytest.fixture
def fitted(answer):
    if answer.result.exit_code != 0:
        pytest.skip("refused, as expected or as another test says")
    return answer


def test_a_messy_table_is_fitted_or_refused_with_a_way_out(answer):
    result = answer.result
    assert "Traceback" not in result.stderr
    if answer.made.refused is None:
        assert result.exit_code == 0, (result.stderr, repr(result.exception))
        return
    assert result.exit_code == 2, (result.stdout, result.stderr, repr(result.exception))
    assert result.stdout == ""
    assert says(answer.made.refused, result.stderr), (answer.made.refused, result.stderr)


def test_each_column_of_a_messy_table_is_read_as_what_it_is(fitted):
    found = fitted.columns.get("table", {})
    places = {column: str(place) for place, column in enumerate(fitted.model["feature_names"])}
    wrong = {}
    for column, kind in fitted.made.kinds.items():
        entry = found.get(places.get(column, ""), {})
        read = "left out" if entry.get("left_out") else entry.get("kind", "number").replace("numeric", "number")
        if kind != "dropped" and read not in kind.split("|"):
            wrong[column] = f"{read}, not {kind}"
        elif read == "nominal" and set(entry["levels"]) != fitted.made.levels[column]:
            wrong[column] = f"{sorted(entry['levels'])}, not {sorted(fitted.made.levels[column])}"
    assert wrong == {}, fitted.made.doubts


def test_hints_about_a_messy_table_are_those_that_it_needs(fitted):
    found = {about: set(columns) for about, columns, *_ in fitted.columns.get("hints", [])}
    lines = [line for line in fitted.result.stderr.splitlines() if "warning:" in line]
    lines = [line for line in lines if "no value in column" not in line]  # counts the rows of --drop-missing-target
    if any("--encoding" in line for line in lines):  # about the file, so the model does not have it
        found["encoding"] = set()
    expected = fitted.made.hints
    wrong = {
        about: f"{found.get(about, 'no hint')}, not {expected.get(about, 'a hint') or 'none'}"
        for about in {*found, *expected}
        if (about in found) != (about in expected) or expected.get(about) not in (None, found[about])
    }
    assert wrong == {}, fitted.made.doubts
    assert len(lines) == len(found), lines


def test_a_messy_table_gives_the_model_of_the_same_values_in_a_plain_file(fitted, tmp_path):
    path = tmp_path / "plain.csv"
    path.write_bytes(fitted.made.plain)
    plain = fit(path, tmp_path / "plain.json", *fitted.made.plain_options)
    assert plain.exit_code == 0, (plain.stderr, repr(plain.exception))
    model = json.loads((tmp_path / "plain.json").read_text(encoding="utf-8"))["model"]
    assert fitted.model["result"]["objective"] == model["result"]["objective"]


def test_a_report_of_a_messy_table_reads_the_same_file(fitted, tmp_path):
    page = tmp_path / "report.html"
    options = ["--target", TARGET, "--out", page, "--explain-seconds", 0, *fitted.made.reading]
    result = invoke("report", fitted.model_path, fitted.path, *options)
    assert result.exit_code == 0, (result.stderr, repr(result.exception))
    assert "</html>" in page.read_text(encoding="utf-8")


def test_the_twenty_tables_are_eight_pairs_and_twelve_single_messes():
    assert sorted(map(len, TWENTY)) == [1] * 12 + [2] * 8
    assert {name for names in TWENTY for name in names} <= set(MESSES)
    assert all(compatible(*names) for names in TWENTY if len(names) == 2)


@pytest.mark.parametrize("names", [("oops", "cp1252"), ("Excel, told", "12 %"), (".csv.gz", "groups")])
def test_a_table_is_the_same_for_the_same_seed(names):
    first, again = table(*names), table(*names)
    assert (first.plain, first.kinds, first.hints) == (again.plain, again.kinds, again.hints)
    assert table(*names, seed=1).plain != first.plain


def test_messes_of_the_same_thing_do_not_go_together():
    assert not compatible("title lines", "a target of prices")
    assert not compatible("separator ;", "Parquet")
    assert not compatible("separator ;", "separator tab")
    assert compatible("separator ;", "CRLF")
