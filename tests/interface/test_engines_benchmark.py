"""The page of engines side by side: what is proved, what is best, and runs that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import engines
from benchmarks.harness import Table


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
