"""The page of engines side by side: what is proved, what is best, and runs that failed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import cases, engines
from benchmarks.harness import Table
from benchmarks.papers import rfxpl, rfxpl_published
from benchmarks.papers.rfxpl_tasks import case
from tests.measured import measured


def test_every_task_has_twenty_instances_and_a_fit() -> None:
    for task in engines.TASKS.values():
        assert len(set(task.instances)) == 20
        assert callable(getattr(engines, task.fit))


def test_engines_are_run_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = engines.Task("Diagrams", "Over two tests.", "fit_bdd", (("generated-bits", 2),), ("auto", "paper, greedy"))
    monkeypatch.setattr(engines, "TASKS", {"bdd": task})
    page = engines.compare(tasks=["bdd"], seconds=10.0, out=tmp_path)
    rows = Table(tmp_path / "engines.csv", engines.KEY, engines.COLUMNS).rows
    assert [row["engine"] for row in rows] == ["auto", "paper, greedy"]
    assert rows[0]["status"] == "optimal"
    assert float(rows[0]["objective"]) <= float(rows[1]["objective"])
    assert "| `auto` | 1 | 1 | 1 | – |" in page.read_text()
    again = engines.compare(tasks=["bdd"], seconds=10.0, out=tmp_path)
    assert len((tmp_path / "engines.csv").read_text().splitlines()) == 3  # nothing was measured again
    assert again == page


def test_what_failed_is_counted_and_never_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = engines.Task("Diagrams", "Told.", "fit_bdd", (("cp4im/vote", 4),), ("auto", "paper", "paper, greedy"))
    monkeypatch.setattr(engines, "TASKS", {"bdd": task})
    table = Table(tmp_path / "engines.csv", engines.KEY, engines.COLUMNS)
    common = {"task": "bdd", "case": "cp4im/vote", "of": 4, "seconds": 10.0}
    table.add(common | {"engine": "auto", "objective": 12.0, "bound": 9.0, "status": "feasible", "cpu": 10.0})
    table.add(common | {"engine": "paper", "error": "no answer in 90 s", "status": "killed"})
    table.add(
        common | {"engine": "paper, greedy", "objective": float("inf"), "bound": 9.0, "status": "unknown", "cpu": 10.0}
    )
    text = engines.compare(tasks=["bdd"], seconds=10.0, out=tmp_path).read_text()
    assert "| `auto` | 1 | 0 | 1 | 25% | 10 | 0 |" in text
    assert "| `paper` | 1 | 0 | 0 | – | – | 1 |" in text
    assert "| `paper, greedy` | 1 | 0 | 0 | – | – | 1 |" in text
    assert "| vote 4 | 12, gap 25% | no answer in 90 s | unknown |" in text


def test_figures_in_print_name_all_sets() -> None:
    assert len(rfxpl_published.TABLE_1) == 32
    assert sum(int(row["rows"]) for row in rfxpl_published.TABLE_1.values()) == rfxpl_published.ROWS
    assert {case(name) for name in rfxpl_published.TABLE_1} <= set(cases.names())
    assert [rfxpl_published.share(rows) for rows in (199, 200, 1000, 9999, 10000)] == [0.4, 0.2, 0.1, 0.1, 0.02]


def test_the_table_has_both_votes_and_the_engines_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rfxpl_published, "TREES", 10)
    monkeypatch.delenv(rfxpl.FOLDER, raising=False)
    page, reading = measured(rfxpl.table1, tmp_path, sets=["generated-tiny", "generated-bits"], rows=2)
    assert [row["status"] for row in reading.rows] == ["done"] * 6  # both votes by the native engine, majority by SAT
    for part in ("## Majority vote", "## Soft vote", "Engine `paper`", "| generated-bits | 2 | 2 |", "engines beside"):
        assert part in page


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
    monkeypatch.setenv(rfxpl.FOLDER, str(tmp_path))
    page, _ = measured(rfxpl.table1, tmp_path, sets=["generated-tiny"], votes=["majority"], rows=2)
    monkeypatch.delitem(sys.modules, "xrf")
    assert "## Beside the authors' program" in page
    assert "Seconds of `authors` over those of `auto`" in page
