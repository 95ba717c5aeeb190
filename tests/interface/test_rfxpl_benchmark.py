"""The benchmark of explanations: figures in print, one cell of each kind, the page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import cases
from benchmarks.papers import rfxpl, rfxpl_published
from benchmarks.papers.rfxpl_tasks import case


def test_figures_in_print_name_all_sets() -> None:
    assert len(rfxpl_published.TABLE_1) == 32
    assert {case(name) for name in rfxpl_published.TABLE_1} <= set(cases.names())
    assert [rfxpl_published.share(rows) for rows in (199, 200, 1000, 9999, 10000)] == [0.4, 0.2, 0.1, 0.1, 0.02]


def test_the_table_is_measured_once_and_written_from_what_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rfxpl_published, "TREES", 10)
    told = ["--sets", "generated-tiny", "generated-bits", "--rows", "2", "--out", str(tmp_path), "--in-process"]
    rfxpl.main(["table1", *told])
    stored = (tmp_path / "table1.csv").read_text()
    assert len(stored.splitlines()) == 1 + 2 * 3  # both votes by the native engine, majority by SAT too
    assert stored.count(",done,") == 6
    rfxpl.main(["table1", *told])
    rfxpl.main(["report", *told])
    assert (tmp_path / "table1.csv").read_text() == stored
    page = (tmp_path / "table1.md").read_text()
    for part in ("## Majority vote", "## Soft vote", "Engine `paper`", "| generated-bits | 2 | 2 |", "engines beside"):
        assert part in page
    assert "table1.md" in capsys.readouterr().out


def test_a_set_without_data_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFWOOD_DATA", str(tmp_path))
    rfxpl.main(["table1", "--sets", "iris", "--out", str(tmp_path / "out")])
    assert "Without data: iris." in (tmp_path / "out" / "table1.md").read_text()


AUTHORS = """
class Formula:
    nVars, nClauses = 7, 9

class Forest:
    def __init__(self, trees):
        self.trees = trees

    def predict(self, row):
        votes = [int(tree.predict(row.reshape(1, -1))[0]) for tree in self.trees]
        return max(set(votes), key=votes.count)

class Explainer:
    assums = [1, -2, 3]

class XRF:
    def __init__(self, model, features, classes):
        self.f, self.names, self.x = Forest(model.estimators()), features, Explainer()

    def encode(self, row, kind):
        assert kind == "sat"
        self.enc = Formula()

    def explain(self, row, kind, encoding):
        assert (kind, encoding) == ("abd", "sat")
        return list(range(len(self.names)))
"""


def test_the_authors_program_stands_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xrf.py").write_text(AUTHORS)
    monkeypatch.setattr(rfxpl_published, "TREES", 10)
    monkeypatch.setattr(sys, "path", list(sys.path))
    told = ["--sets", "generated-tiny", "--vote", "majority", "--rows", "2", "--out", str(tmp_path), "--in-process"]
    rfxpl.main(["table1", *told, "--engine", "auto", "authors", "--authors", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "xrf")
    page = (tmp_path / "table1.md").read_text()
    assert "## Beside the authors' program" in page
    assert "Seconds of `authors` over those of `auto`" in page
    with pytest.raises(SystemExit):
        rfxpl.main(["table1", *told, "--engine", "authors"])
