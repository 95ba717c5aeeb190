"""The benchmarks run: harness, pairs, and each table and figure of the paper on a tiny set with tiny caps."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from benchmarks import (
    ablation,
    anytime,
    bounds,
    cases,
    counterfactuals,
    harness,
    limits_explain,
    proofs,
    rivals,
    scaling,
    speed,
    threads,
)
from benchmarks.harness import Row
from benchmarks.papers import EXPERIMENTS, Experiment, contree, contree_published
from benchmarks.scaling_tables import AXES, FIELDS, Point, generate, points
from proofwood.engines.trees.options import RULES as search_rules
from tests.measured import measured

TINY = ["generated-tiny"]


def needs(package: str) -> pytest.MarkDecorator:
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"{package} is not installed (an extra of the benchmarks)")


# ------------------------------------------------------------------ harness


def test_measure_counts_cpu_seconds_and_memory() -> None:
    # 122 MB: blocks above 32 MB are never served from memory that the process has freed but still holds.
    value, cost = harness.measure(lambda: np.ones(16_000_000).sum())
    assert value == 16_000_000
    assert 0 < cost.cpu < 10
    assert cost.wall > 0
    assert cost.peak_mb == pytest.approx(122, abs=15) or np.isnan(cost.peak_mb)


def test_table_resumes_and_refuses_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    calls = []

    def work() -> dict[str, float]:
        calls.append(1)
        return {"seconds": 0.25}

    for _ in range(2):  # the second table reads what the first one wrote
        row = harness.Table(path, ("set",), ("seconds",)).cell(work, set="bank")
        assert row["seconds"] == "0.25"
    assert len(calls) == 1
    with pytest.raises(ValueError, match="--fresh"):
        harness.Table(path, ("set",), ("minutes",))


def test_child_returns_its_outcome_is_killed_at_its_cap_and_reports_its_failure() -> None:
    outcome = harness.run("benchmarks.tasks:fit", {"learner": "cart", "case": "generated-tiny", "depth": 1})
    assert outcome["rows"] == 80
    endless = {"learner": "proofwood", "case": "generated-long", "depth": 5, "seconds": 60}
    killed = harness.run("benchmarks.tasks:fit", endless, hard_cap=0.2)
    assert killed["status"] == "killed"
    failed = harness.run("benchmarks.tasks:fit", {"learner": "nobody", "case": "generated-tiny", "depth": 1})
    assert failed["status"] == "failed"
    assert "nobody" in failed["error"]


def test_spread_and_geometric_mean() -> None:
    assert str(harness.Spread.of([1, 2, 3, 4, 5])) == "3 (2 to 4)"
    assert harness.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert np.isnan(harness.geometric_mean([]))


def test_absent_package_names_its_install_command() -> None:
    with pytest.raises(rivals.MissingRival, match="pip install 'nothing>=1'"):
        rivals.package("no_such_package_at_all", "nothing>=1")


def test_absent_data_folder_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROOFWOOD_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match="PROOFWOOD_DATA"):
        cases.data_folder()
    with pytest.raises(KeyError, match="generated-tiny"):
        cases.load("nothing")


@pytest.mark.parametrize("name", cases.generated_names())
def test_generated_cases_are_the_same_every_time(name: str) -> None:
    X, y = cases.load(name)
    cases.load.cache_clear()
    again, codes = cases.load(name)
    assert X.dtype == np.float64
    assert np.array_equal(X, again)
    assert np.array_equal(y, codes)
    assert y.min() == 0


# ------------------------------------------------------------------ comparisons


@needs("pycontree")
def test_speed_against_pycontree(tmp_path: Path) -> None:
    page = speed.compare(sets=TINY, depths=[1, 2], pairs=2, seconds=10, out=tmp_path, isolate=False)
    text = page.read_text()
    assert "## Depth 2" in text
    with (tmp_path / "speed.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * 2 * 2
    assert len({row["errors"] for row in rows if row["depth"] == "2"}) == 1
    assert {row["status"] for row in rows} == {"optimal"}
    again = speed.compare(sets=TINY, depths=[1, 2], pairs=2, seconds=10, out=tmp_path, isolate=False)
    assert again.read_text() == text  # nothing was measured again


@needs("pystreed")
def test_speed_against_pystreed(tmp_path: Path) -> None:
    page = speed.compare(rival="streed", sets=["generated-bits"], depths=[2], pairs=2, out=tmp_path, isolate=False)
    assert page.name == "speed-bits.md"
    with (tmp_path / "speed-bits.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len({row["errors"] for row in rows}) == 1
    assert {row["status"] for row in rows} == {"optimal"}


def test_threads(tmp_path: Path) -> None:
    page = threads.compare(sets=TINY, depth=2, threads=[1, 2], rounds=2, seconds=10, out=tmp_path, isolate=False)
    assert "| equal |" in page.read_text()


def test_tables_of_scaling_are_nested_and_have_what_is_asked_for() -> None:
    X, y = generate(Point(3000, 8, classes=3))
    fewer, same = generate(Point(3000, 7, classes=3))
    assert np.array_equal(X[:, :7], fewer)
    assert np.array_equal(y, same)  # six columns say the class: the seventh and eighth are noise
    assert set(y) == {0, 1, 2}
    short, labels = generate(Point(500, 8, classes=3))
    assert np.array_equal(X[:500], short)
    assert np.array_equal(y[:500], labels)
    few, _ = generate(Point(3000, 8, distinct=16))
    assert [len(np.unique(column)) for column in few.T] == [16] * 8


@pytest.mark.parametrize("axis", AXES)
def test_points_of_scaling_are_named_once(axis: str) -> None:
    for quick in (False, True):
        asked = points(axis, quick=quick)
        assert len(set(asked)) == len(asked) > 0
    with pytest.raises(KeyError, match="million"):
        points("length")


@needs("matplotlib")
def test_scaling_writes_its_pages_and_pictures_and_resumes(tmp_path: Path) -> None:
    kept = {"quick": True, "rounds": 1, "out": tmp_path, "isolate": False}
    page = scaling.compare(**kept, docs=tmp_path / "docs")
    with (tmp_path / "scaling.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["axis"] for row in rows} == set(AXES)
    assert {row["status"] for row in rows} == {"optimal"}
    assert all(float(row["cpu"]) > 0 and float(row["peak_mb"]) >= 0 for row in rows)
    words = {row["search"]: row["errors"] for row in rows if (row["axis"], row["distinct"]) == ("distinct", "2")}
    assert words["chosen"] == words["thresholds"]
    text = page.read_text()
    for axis in AXES[:-1]:
        assert f"(images/scaling-{axis}.png)" in text
        assert (page.parent / "images" / f"scaling-{axis}.png").stat().st_size > 5000
    assert "## A million rows" in text
    assert all(f"## {axis.capitalize()}" in (tmp_path / "scaling.md").read_text() for axis in AXES)
    before = (tmp_path / "scaling.csv").read_text()
    scaling.fits(**kept)
    assert (tmp_path / "scaling.csv").read_text() == before  # nothing was measured again
    scaling.fits(**kept, axes=["classes"], fresh=True)
    with (tmp_path / "scaling.csv").open(newline="") as stream:
        again = list(csv.DictReader(stream))
    assert [row for row in again if row["axis"] != "classes"] == [row for row in rows if row["axis"] != "classes"]
    assert len(again) == len(rows)


def test_scaling_measures_again_what_a_shorter_limit_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Point(2000, 10, depth=3)
    monkeypatch.setattr(scaling, "points", lambda axis, **_: [asked])
    kept = {"axes": ["rows"], "out": tmp_path, "isolate": False}
    (row,) = scaling.fits(seconds=1e-3, **kept).rows
    assert (row["status"], row["limit"]) == ("feasible", "0.001")
    scaling.fits(seconds=60.0, **kept)
    with (tmp_path / "scaling.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["status"], row["limit"]) == ("optimal", "60")
    assert {name: row[name] for name in FIELDS} == {name: str(getattr(asked, name)) for name in FIELDS}


def test_anytime_shows_the_errors_of_each_second(tmp_path: Path) -> None:
    page = anytime.compare(sets=TINY, depths=[3], seconds=5, out=tmp_path, isolate=False)
    with (tmp_path / "anytime.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["status"] == "optimal"
    assert anytime.errors_at(row["trace"], 60) == float(row["errors"])
    assert np.isinf(anytime.errors_at(row["trace"], -1))
    assert f"**{row['errors']}**" in page.read_text()


def test_bounds_are_noted_with_and_without_blocks(tmp_path: Path) -> None:
    page = bounds.compare(sets=["generated-tiny"], depth=4, seconds=20, out=tmp_path, isolate=False)
    with (tmp_path / "bounds.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["blocks"] for row in rows] == ["False", "True"]
    assert all(float(row["bound_120"]) == float(row["objective"]) for row in rows if row["status"] == "optimal")
    assert "generated-tiny" in page.read_text()
    bounds.compare(sets=["generated-tiny"], depth=4, proofs=1, out=tmp_path, isolate=False)
    assert "Time to the proof" in page.read_text()


def test_every_switch_of_the_tree_search_has_a_row_in_the_ablation() -> None:
    rows = {rule for entry in ablation.RULES.values() for rule, on in entry.options.items() if on is False}
    missing = set(search_rules) - rows
    assert not missing, f"add to RULES of benchmarks/ablation.py: {', '.join(sorted(missing))}"


def test_ablation_switches_each_rule_off_and_resumes(tmp_path: Path) -> None:
    sets = ["generated-two-class", "generated-bits"]
    page = ablation.compare(sets=sets, depth=2, seconds=30, out=tmp_path, isolate=False)
    with (tmp_path / "ablation.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["status"] for row in rows} == {"optimal"}
    for case in sets:
        found = {row["off"]: row for row in rows if row["set"] == case and row["alpha"] == "0"}
        assert set(found) == {"", *(name for name, rule in ablation.RULES.items() if rule.alpha == 0)}
        assert len({row["objective"] for row in found.values()}) == 1
        assert int(found["sub_interval"]["batches"]) >= int(found[""]["batches"]) > 0
        if case == "generated-two-class":  # the other one is searched over packed words
            assert int(found["depth_two"]["subproblems"]) > int(found[""]["subproblems"])
            assert int(found["depth_two"]["batches"]) == 0
    text = page.read_text()
    assert "## Depth 2" in text
    before = (tmp_path / "ablation.csv").read_text()
    ablation.compare(sets=["generated-bits"], depth=2, seconds=30, out=tmp_path, isolate=False)
    assert (tmp_path / "ablation.csv").read_text() == before  # nothing was measured again
    assert page.read_text() == text


def test_ablation_measures_again_what_a_shorter_limit_ended(tmp_path: Path) -> None:
    short = {"sets": ["generated-two-class"], "rules": ["sub_interval"], "depth": 3, "out": tmp_path, "isolate": False}
    page = ablation.compare(seconds=1e-4, **short)
    assert "≥" in page.read_text()
    ablation.compare(seconds=1e-4, **short)
    with (tmp_path / "ablation.csv").open(newline="") as stream:
        assert [row["off"] for row in csv.DictReader(stream)] == [""]  # without an answer there is nothing to compare
    ablation.compare(seconds=60.0, **short)
    with (tmp_path / "ablation.csv").open(newline="") as stream:
        assert [(row["off"], row["seconds"]) for row in csv.DictReader(stream)] == [
            ("", "0.0001"),
            ("", "60"),
            ("sub_interval", "60"),
        ]


# ------------------------------------------------------------------ the paper


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(
            one, marks=[needs("matplotlib"), *([needs("pystreed")] if one.name == "table6" else [])], id=one.name
        )
        for one in EXPERIMENTS
        if one.paper in ("contree", "rfxpl") and one.name != "anchor"  # which needs its program
    ],
)
def test_page_of_the_paper(one: Experiment, tmp_path: Path) -> None:
    text, reading = measured(one.make, tmp_path, **one.generated)
    assert "generated-tiny" in text
    assert reading.cells
    assert all(path.stat().st_size > 5000 for path in tmp_path.glob("*.png"))


def test_figure_2_counts_fewer_evaluations_with_prunings(tmp_path: Path) -> None:
    text, _ = measured(contree.figure2, tmp_path, sets=["generated-two-class"], limit=5.0)
    line = next(s for s in text.splitlines() if s.startswith("| generated-two"))
    none, *pruned = (int(cell.replace(",", "")) for cell in line.strip("| ").split(" | ")[1:])
    assert all(0 < count <= none for count in pruned)
    assert pruned[-1] < none


def test_a_fit_is_measured_again_only_under_a_longer_limit(tmp_path: Path) -> None:
    def rows(limit: float) -> list[Row]:
        _, reading = measured(contree.deep, tmp_path, which=3, depth=4, sets=["generated-five-class"], limit=limit)
        return reading.tables["fits.csv"].rows

    first = rows(0.05)
    assert [row["status"] for row in first] == ["feasible", "feasible"]
    assert rows(0.04) == first
    assert [row["limit"] for row in rows(0.1)[2:]] == ["0.1", "0.1"]


def test_published_figures_cover_the_sixteen_sets() -> None:
    for which in range(1, 7):
        assert sorted(getattr(contree_published, f"TABLE_{which}")) == sorted(cases.QUANTBNB)
    assert contree_published.TABLE_2["eeg"]["contree_d3"] == "136"


def test_limits_of_explanations_make_a_page(tmp_path, monkeypatch):
    def small():
        """A small forest."""
        X = np.random.default_rng(0).random((60, 4))
        return RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X[:, 0] > 0.5), X

    monkeypatch.setattr(limits_explain, "MODELS", {"small": small})
    methods = ["abductive", "necessary", "certificate"]
    page = limits_explain.compare(models=["small"], methods=methods, out=tmp_path)
    text = page.read_text()
    assert "Late: 0." in text
    assert all(f"| {method} | 2 |" in text for method in methods)

    def never():
        """No model: what is stored is not measured again."""
        raise AssertionError("measured again")

    monkeypatch.setattr(limits_explain, "MODELS", {"small": never})
    before = (tmp_path / "limits-explain.csv").read_text()
    limits_explain.compare(models=["small"], methods=methods, out=tmp_path)
    assert (tmp_path / "limits-explain.csv").read_text() == before


# ------------------------------------------------------------------ proofs


def test_proofs_are_joined_from_parts(tmp_path: Path) -> None:
    given = {"folder": tmp_path / "checkpoints", "out": tmp_path, "isolate": False}
    for _ in range(2):  # nothing is left to do the second time
        page = proofs.compare(sets=TINY, depth=3, **given).read_text()
    assert "| generated-tiny | 1 |" in page
    assert "proved" in page
    proofs.compare(sets=["generated-long"], depth=5, part=0.4, seconds=0.8, **given)
    with (tmp_path / "proofs.csv").open(newline="") as stream:
        tiny, *parts = csv.DictReader(stream)
    assert tiny["status"] == "optimal"
    assert len(parts) >= 2
    bounds = [float(part["lower_bound"]) for part in parts]
    assert bounds == sorted(bounds)
    assert [part["part"] for part in parts] == [str(number) for number in range(len(parts))]


def test_nearest_rows_beside_a_rival_are_tallied_by_what_the_model_says():
    found = SimpleNamespace(status="optimal", distance=0.5, lower_bound=0.5)
    tally = counterfactuals.Tally()
    answer = {"proved": True, "row": [0.0], "distance": 0.5, "lower": 0.5, "seconds": 2.0}
    tally.add(found, 0.5, answer, 0.5)  # the same
    tally.add(found, 0.5, {**answer, "distance": 0.6}, 0.6)  # proved too far
    tally.add(found, 0.5, {**answer, "distance": 0.4}, 0.4)  # a nearer row that the model gives the other class
    tally.add(found, 0.5, {**answer, "proved": False, "lower": 0.1}, None)  # a row of the same class
    cells = tally.cells()
    counts = {name: cells[name] for name in tally.count}
    assert counts == {
        "proved": 4,
        "rival_proved": 3,
        "both": 3,
        "agreed": 1,
        "ours_wrong": 1,
        "rival_far": 1,
        "rival_near": 1,
        "rival_class": 1,
    }
    assert cells["ratio"] == cells["both_ratio"] == pytest.approx(4)
    assert cells["rival_gap"] == pytest.approx(0.8)
