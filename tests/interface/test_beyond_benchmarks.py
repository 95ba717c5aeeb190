"""Tasks beyond the papers, beside their peers: what a run returns, and what a page says of the rows."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cases, harness, rivals
from benchmarks.papers import beyond as pages
from benchmarks.papers import beyond_tasks as tasks
from benchmarks.papers.measuring import Pass
from tests.measured import measured

PACKAGES = {name: name for name in ("imodels", "arborenum", "pystreed", "pycontree", "gosdt", "praxis")}
PACKAGES |= {"pytrees-rs": "pytrees", "pydl8.5": "pydl85", "odtlearn": "mip"}


def tiny(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A small instance of a contest."""
    if name != "numbers":
        return dict(pages.CONTESTS[name].tiny)
    X, y = cases.load("generated-bits")
    monkeypatch.setattr(tasks, "bits_of", lambda case, tests: (X, y + np.arange(len(y)) % 3))
    return {"case": "generated-bits", "depth": 2, "tests": 1}


@pytest.mark.parametrize("name", pages.CONTESTS)
def test_all_who_prove_find_the_same_cost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {**tiny(name, monkeypatch), "seconds": 30.0}
    found = {}
    for learner in pages.CONTESTS[name].learners:
        if importlib.util.find_spec(PACKAGES.get(learner, "numpy")) is not None:
            found[learner] = getattr(tasks, name)(learner=learner, **asked)
    assert found["proofwood"]["status"] == "optimal"
    for learner, outcome in found.items():
        worse = outcome["objective"] >= found["proofwood"]["objective"] * (1 - 1e-9)
        assert worse if learner == "cart" else outcome["objective"] == pytest.approx(found["proofwood"]["objective"])
        assert outcome["cpu"] > 0


def test_a_page_counts_who_proves_and_who_is_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contest = replace(pages.NO_DEPTH, instances=[{"case": "car", "alpha": alpha} for alpha in (0.1, 0.2, 0.3)])
    table = Pass(tmp_path).table("runs.csv", pages.KEY, pages.COLUMNS)
    runs = {  # ours: proved, proved, open; the rival: proved with the same cost, open and worse, open and better
        "proofwood": [(10.0, "optimal", 1.0), (20.0, "optimal", 2.0), (32.0, "feasible", 9.0)],
        "imodels": [(10.0, "optimal", 4.0), (21.0, "feasible", 9.0), (31.0, "feasible", 9.0)],
    }
    for learner, rows in runs.items():
        for instance, (objective, status, cpu) in zip(contest.instances, rows, strict=True):
            key = {"task": "no_depth", "instance": pages.label(instance), "learner": learner}
            table.add({**key, "objective": objective, "status": status, "cpu": cpu, "size": 4, "limit": 60})
    text = "\n".join(pages.page(Pass(tmp_path), contest=contest).blocks)
    assert (
        "**imodels**: proves 1 of 3 where ours proves 2. Of 3 models of both, its model is better on 1, ours on 1."
        in text
    )
    assert "Where both prove (1), it takes 4 times our seconds" in text
    assert "Their costs agree to five digits." in text
    assert "| car, alpha 0.2 | 20 | 4 | 2 | (21) | 4 | 9 |" in text
    key = {"task": "no_depth", "instance": "car, alpha 0.2", "learner": "imodels"}
    table.add({**key, "objective": 19.0, "status": "optimal", "cpu": 1.0, "limit": 60})
    table.add({**key, "instance": "car, alpha 0.1", "status": "killed", "limit": 60})
    assert "It has no answer on 1, ours on 0. Of 2 models" in "\n".join(
        pages.page(Pass(tmp_path), contest=contest).blocks
    )
    assert "**Both prove, and differ: car, alpha 0.2.**" in "\n".join(
        pages.page(Pass(tmp_path), contest=contest).blocks
    )
    monkeypatch.setattr(harness, "machine", lambda: "another machine")
    table.add({**key, "objective": 20.0, "status": "optimal", "cpu": 1.0, "limit": 60})
    text = "\n".join(pages.page(Pass(tmp_path), contest=contest).blocks)
    assert "not compared, since they are of two machines: 1." in text
    assert "Where both prove" not in text


def test_what_is_not_measured_is_a_dash(tmp_path: Path) -> None:
    page, reading = measured(
        pages.page, tmp_path, contest=replace(pages.ACTIONS, learners=("proofwood",)), instances=[pages.ACTIONS.tiny]
    )
    assert len(reading.rows) == 1
    assert "generated-bits, depth 2, n_actions 3" in page
    blocks = pages.page(Pass(tmp_path / "none"), contest=pages.ACTIONS).blocks
    assert "| – |" in blocks[-1]
    assert len(blocks) == 2


def test_a_real_table_is_read_as_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "tables").mkdir()
    text = "a,name,price\n1,x,10\n2,y,20\n,z,30\n3,x,40\n4,x,50\n"
    (tmp_path / "tables" / "few.csv.gz").write_bytes(__import__("gzip").compress(text.encode()))
    monkeypatch.setenv("PROOFWOOD_DATA", str(tmp_path / "data"))
    X, y = tasks.bits_of("few/price", 3)
    assert y.tolist() == [10, 20, 40, 50]
    assert X.T.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]


def test_a_rival_that_is_absent_names_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "imodels", None)
    with pytest.raises(rivals.MissingRival, match=r"pip install 'imodels>=3.0.4'"):
        tasks.no_depth(case="generated-bits", learner="imodels", alpha=0.1, seconds=1.0)
