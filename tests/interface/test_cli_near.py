"""``proofwood near``: all trees that are nearly as good, on the command line."""

from __future__ import annotations

import json
import re
import signal

import numpy as np
import polars as pl
import pytest

import proofwood
from proofwood import near_optimal_trees, report
from proofwood.near_optimal import NearOptimalTrees
from proofwood.report import write
from tests.command_line import failed, invoke, worked
from tests.interface.test_cli_json import answer

GIVEN = ("--target", "decision", "--max-depth", 2, "--slack", 3)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("near") / "credit.csv"
    worked("data", "credit", "--out", path)
    purpose = pl.Series(["car", "house", None, "other"])
    X = pl.read_csv(path)
    X = X.with_columns(purpose[X["purpose"].cast(pl.Int64) % 4].alias("purpose"))
    X.with_columns(pl.when(X["income"] % 7 != 0).then("income").alias("income")).write_csv(path)
    return path


def test_a_table_with_gaps_and_text(table):
    text = worked("near", table, *GIVEN, "--without", "debts", "--list", 1)
    lines = text.splitlines()
    X = pl.read_csv(table)
    near = near_optimal_trees(X.drop("decision"), X["decision"], max_depth=2, slack=3)
    assert lines[0] == near.summary().splitlines()[0]
    assert "  100.00% test debts" in lines
    assert f"{near.distinct()} different predictions of the training rows" in lines
    undecided = near.undecided()
    assert f"{undecided.rows} of {undecided.of:,} training rows get more than one class" in lines
    assert str(near.without("debts")) in lines
    assert text.rstrip().endswith(near[0].classifier.export_text().rstrip())


def test_a_weight_is_told_as_such(table):
    lines = worked("near", table, *GIVEN, "--list", 1).splitlines()
    (told,) = [line for line in lines if line.startswith("tree 0: ")]
    assert told.endswith(" wrong")
    assert "weight" not in told
    weighed = worked("near", table, *GIVEN, "--list", 1, "--class-weight", "balanced").splitlines()
    (told,) = [line for line in weighed if line.startswith("tree 0: ")]
    best = weighed[0].partition("of the optimum ")[2].partition(" ")[0]
    assert told == f"tree 0: objective {best}, weight {best} wrong"


def test_ctrl_c_ends_the_questions_that_are_left(table, monkeypatch):
    asked = []

    def searching(self, time_limit=None):
        asked.append(time_limit)
        signal.raise_signal(signal.SIGINT)

    def pressed(self, **more):
        try:
            searching(self)
        except KeyboardInterrupt:
            return (), ("debts",)

    real = NearOptimalTrees.distinct_of
    monkeypatch.setattr(NearOptimalTrees, "used_by_all", pressed)
    monkeypatch.setattr(
        NearOptimalTrees, "distinct_of", lambda self, **more: asked.append(more["time_limit"]) or real(self, **more)
    )
    lines = worked("near", table, *GIVEN, "--without", "debts").splitlines()
    assert asked == [None, 0.0]
    assert "not known whether every tree tests debts" in lines
    assert any(re.match(r"\d+ different predictions of the training rows by the first \d+ trees", one) for one in lines)
    assert "without debts: not known" in "\n".join(lines)


def test_json(table):
    found = answer("near", table, *GIVEN, "--without", "debts", "--without", "purpose", "--list", 2, "--sample", 3)
    assert found["exact"]
    assert found["count"] == sum(one["trees"] for one in found["counts"])
    assert [one["column"] for one in found["without"]] == ["debts", "purpose"]
    assert [one["possible"] for one in found["without"]] == [False, True]
    assert [tree["number"] for tree in found["trees"]][:2] == [0, 1]
    assert len(found["trees"]) == 5
    assert found["trees"][0]["objective"] == found["optimum"]
    assert all(one["share"] == one["share_at_most"] for one in found["importance"])
    again = answer("near", table, *GIVEN, "--sample", 3)
    assert again["trees"] == found["trees"][2:]


@pytest.mark.needs("matplotlib")
def test_the_picture(table, tmp_path):
    assert "trees within 3 of the optimum" in worked("near", table, *GIVEN, "--plot", tmp_path / "near.svg")
    assert "<svg" in (tmp_path / "near.svg").read_text()


def test_a_report_has_the_part(table, tmp_path):
    given = ("--target", "decision")
    worked("fit", table, *given, "--max-depth", 1, "--out", tmp_path / "tree.json")
    worked("report", tmp_path / "tree.json", table, *given, "--near-optimal", 0, "--out", tmp_path / "r.html")
    assert "Are other trees as good?" in (tmp_path / "r.html").read_text()
    wrong = failed("report", tmp_path / "tree.json", table, *given, "--near-optimal", "x", "--out", tmp_path / "n.html")
    assert "--near-optimal 'x': expected a number of errors" in wrong


def test_fit_writes_the_part(table, tmp_path):
    page, given = tmp_path / "r.html", ("fit", table, "--target", "decision", "--report", tmp_path / "r.html")
    worked(*given, "--max-depth", 1, "--near-optimal", 0)
    assert "Are other trees as good?" in page.read_text()
    worked(*given, "--cv", 2, "--near-optimal", "0.01")
    assert "Are other trees as good?" in page.read_text()
    page.unlink()
    for more, told in (
        (("--max-depth", 4), "--max-depth 4: near-optimal trees are counted up to a depth of 3"),
        (("--criterion", "f1"), "--criterion f1: near-optimal trees are counted by errors"),
        (("--model", "minimal"), "near-optimal trees are counted for trees of classes"),
    ):
        assert told in failed(*given, *more, "--near-optimal", 2, "--out", tmp_path / "tree.json")
        assert not (tmp_path / "tree.json").exists()  # told before the search
    assert "--near-optimal 'x': expected a number of errors" in failed(*given, "--near-optimal", "x")
    assert "--near-optimal needs --report FILE" in failed(*given[:4], "--near-optimal", 2)
    assert not page.exists()


def test_what_is_learned_is_told_and_saved_where_the_part_cannot_be_had(tmp_path):
    rng = np.random.default_rng(3)
    shades, sizes = rng.integers(0, 8, 200).tolist(), rng.integers(0, 100, 200).tolist()
    sold = [(shade in (1, 4, 6)) != (size > 50) for shade, size in zip(shades, sizes, strict=True)]
    rows = [f"{'abcdefgh'[one]},{size},{told}" for one, size, told in zip(shades, sizes, sold, strict=True)]
    (tmp_path / "shades.csv").write_text("\n".join(["shade,size,sold", *rows]) + "\n")
    page, saved = tmp_path / "r.html", tmp_path / "tree.json"
    given = ("fit", tmp_path / "shades.csv", "--target", "sold", "--max-depth", 2)
    files = ("--report", page, "--out", saved, "--near-optimal", 1)
    result = invoke(*given, *files)
    assert result.exit_code == 2, result.stderr
    assert "status       optimal" in result.stdout
    assert f"saved to {page}" in result.stderr
    why = "the report is written without --near-optimal: --near-optimal counts trees over ordered sets of levels"
    assert why in result.stderr.splitlines()[-1]
    assert 'id="near"' not in page.read_text()
    assert proofwood.load(saved).objective_ == 0
    told = invoke(*given, *files, "--json")
    assert (told.exit_code, json.loads(told.stdout)["report"]) == (2, str(page))


@pytest.mark.parametrize(
    ("error", "code", "why"),
    [(TimeoutError("too late"), 3, "too late"), (KeyboardInterrupt(), 130, "Ctrl-C ended its search")],
)
def test_what_is_learned_is_told_after_a_stop_in_the_report(table, tmp_path, monkeypatch, error, code, why):
    def stop(model, X, y, asked, weights):
        if asked is not None:
            raise error

    given = ("fit", table, "--target", "decision", "--max-depth", 1, "--report", tmp_path / "r.html")
    monkeypatch.setattr(write, "near_part", stop)
    result = invoke(*given, "--near-optimal", 1)
    assert result.exit_code == code
    assert "status       optimal" in result.stdout
    assert f"the report is written without --near-optimal: {why}" in result.stderr


def test_what_is_learned_is_told_where_there_is_no_report(table, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "write_report", full)
    result = invoke("fit", table, "--target", "decision", "--max-depth", 1, "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    assert "status       optimal" in result.stdout
    assert "r.html: No space left on device" in result.stderr
    assert "saved to" not in result.stderr


def test_mistakes(table):
    assert "--slack 'much': expected a number of errors" in failed("near", table, *GIVEN[:4], "--slack", "much")
    assert "--list -1: expected a number of trees, from 0" in failed("near", table, *GIVEN, "--list", -1)
    assert "no column 'debt' in the table" in failed("near", table, *GIVEN, "--without", "debt")
    assert "--max-depth 4: near-optimal trees are counted up to a depth of 3" in failed(
        "near", table, "--target", "decision", "--max-depth", 4
    )
