"""The page of engines side by side: what is proved, what is best, and runs that failed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cases, engines
from benchmarks.harness import Table
from benchmarks.papers import rfxpl, rfxpl_anchor, rfxpl_published
from benchmarks.papers.measuring import Pass
from benchmarks.papers.rfxpl_claims import rfxpl_claims
from benchmarks.papers.rfxpl_tasks import case, drawn, forest_of_set
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
    assert "## The authors' program on these forests" in page
    assert re.search(r"Its formulas have [\d.]+ times our variables and [\d.]+ times our clauses \(", page)


def test_seconds_of_other_rows_or_machines_are_not_compared() -> None:
    row = {"mean": "1", "most": "2", "minimal": "20", "length": "3", "explained": "20", "asked": "20", "machine": "one"}
    pairs = {"iris": row, "wine": {**row, "asked": "paper"}, "sonar": {**row, "machine": "another"}}
    found = {(name, "majority", "auto"): row for name in pairs}
    found |= {(name, "majority", "authors"): {**other, "mean": "4"} for name, other in pairs.items()}
    *_, table, told = rfxpl._compared(list(pairs), found, "authors")
    assert "| iris |" in table
    assert "| wine |" not in table
    assert "4.0 for the mean (least 4.0)" in told
    assert told.endswith("Not compared, since their rows or machines differ: wine, sonar.")


ANCHOR = """
class Cuts:
    def __init__(self, X):
        self.maxs = {at: [float(X[:, at].mean()), float(X[:, at].max())] for at in range(X.shape[1])}

class AnchorTabularExplainer:
    def __init__(self, class_names, feature_names, train_data):
        self.disc = Cuts(train_data)

    def explain_instance(self, data_row, classifier_fn):
        classifier_fn(data_row.reshape(1, -1))
        mapping = {at: (at, "leq", 0) if value <= self.disc.maxs[at][0] else (at, "geq", 0)
                   for at, value in enumerate(data_row)}
        self.add_names_to_exp(data_row, {"feature": [0]}, mapping)

    def add_names_to_exp(self, data_row, exp, mapping):
        exp["feature"] = [mapping[at][0] for at in exp["feature"]]
"""


def test_rules_of_anchor_are_decided_by_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "anchor").mkdir()
    (tmp_path / "anchor" / "anchor_tabular.py").write_text(ANCHOR)
    monkeypatch.setattr(rfxpl_published, "TREES", 5)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(rfxpl_anchor.FOLDER, str(tmp_path))
    page, reading = measured(rfxpl_anchor.anchor, tmp_path, sets=["generated-tiny"], rows=4)
    for name in ("anchor", "anchor.anchor_tabular"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (row,) = reading.rows
    X, forest, _, _ = forest_of_set("generated-tiny", 3)
    false = 0
    for own in X[drawn(X, 4)]:  # the rule of a row: its side of the mean of the first column
        side = X[(X[:, 0] <= X[:, 0].mean()) == (own[0] <= X[:, 0].mean())]
        chosen = np.array([tree.predict(np.vstack([own, side]).astype(np.float32)) for tree in forest.estimators_])
        votes = np.array([(chosen == k).sum(axis=0) for k in range(len(forest.classes_))]).argmax(axis=0)
        false += bool((votes != votes[0]).any())
    assert int(row["false_rules"]) >= false > 0  # some are seen to be false on rows of the table alone
    assert int(row["false_rules"]) + int(row["true_rules"]) == int(row["explained"]) == 4
    assert f"{row['false_rules']} are false" in page


def test_conditions_of_anchor_become_ranges() -> None:
    cuts = {0: np.array([1.0, 2.0, 3.0]), 1: np.array([5.0])}
    conditions = [(0, "geq", 0), (0, "leq", 1), (1, "leq", 0), (0, "geq", 0)]
    assert rfxpl_anchor.ranges(conditions, cuts) == {0: (np.nextafter(1.0, 2.0), 2.0), 1: (-np.inf, 5.0)}


def test_what_is_said_of_anchor_follows_its_rows(tmp_path: Path) -> None:
    table = Table(
        tmp_path / "anchor.csv", ("set", "asked"), ("limit", *rfxpl_anchor.COLUMNS, "status", "error", "took")
    )
    printed = [rfxpl_published.TABLE_1[name] for name in rfxpl_anchor.SETS]
    rows = np.array([float(row["rows"]) for row in printed])
    there = np.dot(rows, [float(row["anchor"]) for row in printed]) / np.dot(
        rows, [float(r["seconds"]) for r in printed]
    )
    wins = np.dot(rows, [float(row["wins"]) for row in printed]) / rows.sum()
    for mean, verdict in ((3.0, "exceeds"), (0.1, "contradicts")):
        for name in rfxpl_anchor.SETS:
            row = dict.fromkeys(rfxpl_anchor.COLUMNS, 1) | {"mean": mean, "own_mean": 0.01, "slower": 20}
            table.add({"set": name, "asked": 20, "limit": 30.0, **row, "explained": 20, "status": "done"})
        claims = [one for one in rfxpl_claims(Pass(tmp_path)) if "Anchor" in one.says]
        said = {one.says.partition(" (")[0]: one for one in claims if "engine auto" in one.says}
        seconds, slower = (
            said["Anchor's mean seconds are 14.22 times as many"],
            said["Anchor takes longer on 8438 of 8746 rows"],
        )
        assert seconds.verdict == verdict
        assert seconds.ours.startswith(f"{mean / 0.01:.1f} times (there on these sets: {there:.1f}); ")
        assert bool(seconds.why) == (verdict == "contradicts")
        share = f"100.0 % with the paper's numbers of rows of a set (there on these sets: {wins:.1f} %)"
        assert (slower.verdict, slower.ours) == ("exceeds", f"160 of 160 rows, {share}")
        assert [one.verdict for one in claims if "engine paper" in one.says] == ["not measured"]
    formulas = Pass(tmp_path).table("table1.csv", rfxpl.KEY, rfxpl.COLUMNS)
    for name in rfxpl_anchor.SETS:
        row = {"set": name, "vote": "majority", "engine": "paper", "asked": "paper", "status": "done", "limit": 30}
        formulas.add({**row, "mean": 100 if name == "ring" else 0.001})
    (formula,) = (one for one in rfxpl_claims(Pass(tmp_path)) if "Anchor" in one.says and "engine paper" in one.says)
    assert formula.verdict == "contradicts"
    assert formula.why == "`ring` has 100.0 % of our seconds; without it the ratio is 100.0"
