"""Benchmarks of the paper on decision diagrams: figures in print, splits, resuming, choosing, every page."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import importlib.util
import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cases
from benchmarks.papers import odd, odd_pictures, odd_published, odd_runs, odd_tasks
from benchmarks.papers.odd_runs import Cell, Plan, Tally, calibrate
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Limits, Result

needs_pictures = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


def _stand_in(problem: DiagramProblem, *, seconds: float, **_: Any) -> Result:
    """Stands in for an engine: the cheapest of a few diagrams, of two nodes where these are cheap, else of one.

    It is called optimal if the limit is 10 s or more.
    """
    run = DiagramRun(problem, Limits(seconds=seconds))
    run.offer(Diagram.leaf(0), by="leaf")
    cheap = problem.cost.node_price < problem.cost.error_price
    tests = range(0, problem.rows.n_tests, 7)
    for first, second in itertools.product(tests, tests):
        for a, b in ((0, 1), (1, 0)):
            shape = ((0, 1), (1, ~a), (~b, ~b)) if cheap else ((0,), (~a,), (~b,))
            chosen = (first, second) if cheap else (first,)
            if problem.oblique:
                normals = np.eye(problem.columns.shape[1])[: len(chosen)]
                offsets = np.array(chosen) / problem.rows.n_tests
                run.offer(Diagram(*shape, (), normals, offsets), by="plane")
            else:
                run.offer(Diagram(*shape, chosen), by="test")
    if seconds >= 10:
        run.prove(run.upper, by="stand-in")
    run.add({"tried": len(tests)})
    return run.result("time_limit")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A small plan whose engines are stand-ins."""
    monkeypatch.setattr(odd_tasks, "solve", _stand_in)
    monkeypatch.setattr(odd_tasks, "construct", lambda problem, **_: (0.4, 16, 1))
    return Plan(
        out=tmp_path,
        sets=("generated-tiny", "generated-bits"),
        skeletons=("I", "tree"),
        alphas=(1.0, 0.01),
        splits=("univariate", "oblique"),
        seeds=(0, 1),
        seconds=5.0,
        start_seconds=0.1,
        isolate=False,
    )


def stored(plan: Plan) -> list[dict[str, str]]:
    with (plan.out / "runs.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


# ------------------------------------------------------------------ figures in print


def test_totals_of_table_1_are_those_in_print() -> None:
    tables = {"proved": odd_published.TABLE_1_PROVED, "improved": odd_published.TABLE_1_IMPROVED}
    for what, table in tables.items():
        assert list(table) == ["I", "II", "III", "IV", "tree"]
        for alpha, total in odd_published.TABLE_1_TOTALS[what].items():
            assert sum(int(row[alpha]) for row in table.values()) == int(total)
    sums = {what: sum(map(int, row.values())) for what, row in odd_published.TABLE_1_TOTALS.items()}
    cells = len(odd_published.TABLE_1_PROVED) * len(odd_tasks.ALPHAS)
    assert cells * odd_published.RUNS == 13_500  # with 270 runs a cell, as the text has it, there would be 6,750
    assert sums["proved"] == 4356
    assert sums["proved"] + sums["improved"] == 7776
    assert round(100 * 7776 / 13_500) == 58
    nodes = {name: sum(widths) for name, widths in odd_tasks.SKELETONS.items()}
    assert nodes == {"I": 15, "II": 15, "III": 18, "III-15": 15, "IV": 15, "tree": 15}  # 18: as printed


# ------------------------------------------------------------------ splits and problems


def test_sets_are_there_smallest_first() -> None:
    assert len(set(cases.UCI)) == 54
    try:
        folder = cases.data_folder() / "uci"
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if not folder.is_dir():
        pytest.skip(f"benchmark data missing: {folder} (PROOFWOOD_DATA names the folder)")
    rows = [len(cases.load(f"uci/{name}")[1]) for name in cases.UCI]
    assert rows == sorted(rows)


def test_a_split_is_a_half_and_two_quarters_of_shuffled_rows() -> None:
    X, y = cases.load("generated-tiny")
    split = odd_tasks.load_split("generated-tiny", 3)
    order = list(range(80))
    random.Random(3).shuffle(order)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    for part, rows in ((split.train, order[:40]), (split.validation, order[40:60]), (split.test, order[60:])):
        assert np.array_equal(part.X, scaled[rows])
        assert np.array_equal(part.y, y[rows])


def test_halves_round_to_even_and_constant_columns_become_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "load", lambda name: (np.ones((10, 1)), np.arange(10) % 2))
    split = odd_tasks.load_split("any", 0)
    assert [len(part.y) for part in (split.train, split.validation, split.test)] == [5, 2, 3]
    assert not split.train.X.any()


def test_a_problem_has_the_price_and_the_limits_that_were_asked_for() -> None:
    split = odd_tasks.load_split("generated-tiny", 0)
    problem = odd_tasks.pose(split, (1, 2, 4), 0.5, "oblique", True, min_samples=0.07, max_splits=3)
    assert problem.tree
    assert problem.oblique
    assert (problem.min_weight, problem.max_splits) == (3, 3)  # 2.8 rows, rounded up
    assert problem.cost.share(problem.cost.of_diagram(4, 3)) == pytest.approx(4 / 40 + 0.5 * 2 / 6)
    assert odd_tasks.pose(split, (1, 2), 0.5, min_samples=0.1).min_weight == 4


def test_a_model_that_does_not_cost_what_is_said_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    split = odd_tasks.load_split("generated-tiny", 0)
    problem = odd_tasks.pose(split, (1, 2), 0.1)
    result = dataclasses.replace(_stand_in(problem, seconds=1.0), objective=0.9)
    model = odd_tasks.over_columns(split, problem, result.model)
    with pytest.raises(AssertionError, match=r"not 0\.9"):
        odd_tasks.recounted(split, problem, result, model)


def test_flows_add_up() -> None:
    split = odd_tasks.load_split("generated-tiny", 0)
    problem = odd_tasks.pose(split, (1, 2, 2), 0.01)
    diagram = Diagram((0, 1, 1, 2), (1, ~0, 3, ~0), (2, 3, ~1, ~1), (5, 20, 40, 60))
    table = odd_tasks.over_columns(split, problem, diagram.table(problem))
    shape = odd_tasks.flows(table, split.train.X)
    shares = [share for _, share in shape["nodes"]]
    assert [layer for layer, _ in shape["nodes"]] == [0, 1, 1, 2]
    assert shares[0] == 1
    for node in range(1, 4):
        assert shares[node] == pytest.approx(sum(share for _, target, share in shape["arcs"] if target == node))
    for node in range(4):
        assert shares[node] == pytest.approx(sum(share for start, _, share in shape["arcs"] if start == node))
    assert sum(share for _, target, share in shape["arcs"] if target < 0) == pytest.approx(1)
    across = odd_pictures.places(shape)
    assert across[0] == 0.5
    assert across[1] < across[2]
    assert odd_tasks.flows(Diagram.leaf(1).table(problem), split.train.X) == {"nodes": [], "arcs": []}


# ------------------------------------------------------------------ runs


def test_runs_go_on_where_they_broke_off(plan: Plan) -> None:
    cells = plan.cells()
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * 2 * 2
    odd_runs.runs(plan, cells[:5])
    assert len(stored(plan)) == 5
    found = odd_runs.runs(plan, cells)
    assert list(found) == cells
    assert len(stored(plan)) == len(cells)
    row = found[cells[0]]
    assert (row["case"], row["seed"], row["alpha"], row["rows"], row["classes"]) == (
        "generated-tiny",
        "0",
        "1",
        "40",
        "2",
    )
    assert (row["status"], row["start"], row["limit"], row["counters"][:6]) == ("feasible", "0.4", "5", "tried=")
    assert not row["error"]
    assert 0 <= float(row["test"]) <= 1
    assert not odd_runs.runs(dataclasses.replace(plan, measure=False, out=plan.out / "other"), cells)


def test_a_run_is_measured_again_only_under_a_longer_limit(plan: Plan) -> None:
    cell = plan.cells()[0]
    for seconds, rows in ((5.0, 1), (4.0, 1), (20.0, 2), (60.0, 2)):  # at 20 s it is optimal
        odd_runs.runs(dataclasses.replace(plan, seconds=seconds), [cell])
        assert len(stored(plan)) == rows
    odd_runs.runs(dataclasses.replace(plan, fresh=True), [cell])
    assert len(stored(plan)) == 3


def test_a_failed_run_is_stored_and_tried_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = plan.cells()[0]
    monkeypatch.setattr(odd_runs, "run", lambda *_, **__: {"status": "failed", "error": "exit code 1: no engine"})
    (row,) = odd_runs.runs(plan, [cell]).values()
    assert (row["status"], row["error"], row["objective"]) == ("failed", "exit code 1: no engine", "")
    odd_runs.runs(plan, [cell])
    assert len(stored(plan)) == 2
    assert Tally.of([row]) == Tally(1, 0, 0, 0)


def test_processes_work_on_several_runs(plan: Plan) -> None:
    found = odd_runs.runs(dataclasses.replace(plan, processes=3), plan.cells())
    alone = odd_runs.runs(dataclasses.replace(plan, out=plan.out / "alone"), plan.cells())
    for cell, row in found.items():
        assert row["objective"] == alone[cell]["objective"]


def test_proved_runs_are_not_counted_as_improved() -> None:
    rows = [
        {"status": "optimal", "improved": "1", "objective": "0.1", "start": "0.2"},
        {"status": "feasible", "improved": "1", "objective": "0.1", "start": "0.2"},
        {"status": "feasible", "improved": "0", "objective": "0.3", "start": "0.2"},
        {"status": "infeasible", "improved": "0", "objective": "inf", "start": "nan"},
        {"status": "killed", "improved": "", "objective": "", "start": ""},
    ]
    assert Tally.of(rows) == Tally(runs=5, proved=2, improved=1, worse=1)


def test_the_choice_is_the_best_on_validation_rows_with_fewest_nodes() -> None:
    def row(validation: float, n_splits: int) -> dict[str, str]:
        return {"validation": f"{validation}", "n_splits": f"{n_splits}", "test": "0.5", "status": "optimal"}

    found = {
        Cell("a", 0, "I", 0.1, "univariate"): row(0.8, 3),
        Cell("a", 1, "I", 0.1, "univariate"): row(0.6, 3),
        Cell("a", 0, "II", 0.1, "univariate"): row(0.7, 2),
        Cell("a", 1, "II", 0.1, "univariate"): row(0.7, 2),
        Cell("a", 0, "II", 0.2, "univariate"): row(1.0, 2),  # no model for the other seed
        Cell("a", 1, "II", 0.2, "univariate"): {"validation": ""},
        Cell("b", 0, "I", 0.1, "univariate"): {"validation": ""},
    }
    assert list(calibrate(found)) == ["a"]
    chosen = calibrate(found)["a"]
    assert (chosen.skeleton, chosen.alpha, chosen.tests, chosen.proved) == ("II", 0.1, [0.5, 0.5], 2)


# ------------------------------------------------------------------ pages


def test_page_of_table_1(plan: Plan) -> None:
    text = odd.table1(plan).read_text()
    assert "Of 32 runs, 32 are done: 0 proved" in text
    assert "| univariate, 1 | 8 | 0 |" in text
    assert "| univariate, all | 16 |" in text
    assert "| 32 | 25 | 58 |" in text  # the paper's shares
    assert "(42)" in text  # 225 of 540
    assert "| generated-tiny | 40 | 3 |" in text
    beside = text[text.index("## Beside univariate splits") : text.index("## What found")].splitlines()
    pairs = [[int(count) for count in line.split("|")[2:6]] for line in beside if line.startswith(("| I,", "| tree,"))]
    assert len(pairs) == 4
    assert all(n == 4 == lower + equal + higher for n, lower, equal, higher in pairs)
    before = (plan.out / "runs.csv").read_text()
    assert odd.table1(dataclasses.replace(plan, measure=False)).read_text() == text
    assert (plan.out / "runs.csv").read_text() == before
    assert "0 are done" in odd.table1(dataclasses.replace(plan, measure=False, out=plan.out / "none")).read_text()


def test_page_of_table_2(plan: Plan) -> None:
    text = odd.table2(dataclasses.replace(plan, skeletons=("I",)), shares=(0.05, 0.2)).read_text()
    assert "| univariate | 2 |" in text
    assert "(0.840)" in text
    assert "(0.835)" in text
    assert "| oblique, generated-bits |" in text
    assert {row["min_samples"] for row in stored(plan)} == {"0", "0.05", "0.2"}


@needs_pictures
def test_pages_of_figures_and_of_all_that_is_stored(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odd, "FIGURE_4", {"sets": ("generated-bits",), "alphas": (0.01,), "splits": ("univariate",)})
    assert "| univariate, ODD |" in odd.figure2(plan).read_text()
    assert "places" in odd.figure3(plan).read_text()
    odd.table2(dataclasses.replace(plan, skeletons=("I",)), shares=(0.1,))
    text = odd.figure4(dataclasses.replace(plan, sets=("generated-bits",), alphas=(0.01,))).read_text()
    assert "| ODD, skeleton I |" in text
    for name in ("figure2.png", "figure3.png", "figure4.png"):
        assert (plan.out / name).stat().st_size > 5000
        (plan.out / name).unlink()
    before = (plan.out / "runs.csv").read_text(), (plan.out / "fragments.csv").read_text()
    assert odd.report(plan).name == "table1.md"
    assert before == ((plan.out / "runs.csv").read_text(), (plan.out / "fragments.csv").read_text())
    assert {path.name for path in plan.out.glob("*.png")} == {"figure2.png", "figure3.png", "figure4.png"}


def test_known_optima_are_compared(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = float(odd_runs.runs(plan, [Cell("generated-bits", 0, "I", 1.0, "univariate")]).popitem()[1]["objective"])
    known = {
        ("generated-bits", "I", 1.0, "univariate"): round(expected, 4),
        ("generated-tiny", "I", 1.0, "univariate"): 0.0,
    }
    monkeypatch.setattr(odd, "KNOWN", known)
    text = odd.known(plan).read_text()
    assert "Of 2 runs, 1 have the known value and 0 are proved." in text
    assert "| yes | feasible |" in text
    assert "| no | feasible |" in text


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_known_optima_of_iris_are_found(alpha: float) -> None:
    try:
        split = odd_tasks.load_split("iris", 0)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    for skeleton in ("I", "IV"):
        problem = odd_tasks.pose(split, odd_tasks.SKELETONS[skeleton], alpha)
        result = odd_tasks.solve(problem, engine="auto", seconds=30.0, threads=1, seed=0)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(odd.KNOWN["iris", skeleton, alpha, "univariate"], abs=0.5e-4)


# ------------------------------------------------------------------ command line


def test_sets_are_names_or_a_number() -> None:
    assert odd.read_sets(["3"]) == ("soybean-small", "echocardiogram", "hepatitis")
    assert odd.read_sets(["iris", "wine"]) == ("iris", "wine")
    with pytest.raises(argparse.ArgumentTypeError, match="no set 'bank'"):
        odd.read_sets(["iris", "bank"])


def test_command_line_makes_a_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plans: list[tuple[Plan, dict[str, Any]]] = []

    def table(plan: Plan, **more: Any) -> Path:
        """A table."""
        plans.append((plan, more))
        return plan.out

    monkeypatch.setattr(odd, "MAKE", {"table1": table, "table2": table})
    chosen = ["--sets", "2", "--skeletons", "I", "IV", "--alphas", "1", "--splits", "oblique", "--seeds", "0"]
    limits = ["--time-limit", "7", "--threads", "1", "--processes", "2", "--engine", "search", "--out", str(tmp_path)]
    odd.main(["table1", *chosen, *limits])
    odd.main(["table2", "--in-process", "--shares", "0.1"])
    (first, _), (second, more) = plans
    assert len(first.cells()) == 4
    assert (first.seconds, first.threads, first.processes, first.engine) == (7, 1, 2, "search")
    assert (second.sets, second.processes, second.isolate) == (cases.UCI[:10], 1, False)
    assert more == {"shares": [0.1]}
    assert math.isclose(second.hard_cap, 242)


def test_help_names_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        odd.main(["--help"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in odd.MAKE)
    with pytest.raises(SystemExit, match="2"):
        odd.main(["table1", "--sets", "bank"])
    assert "no set 'bank'" in capsys.readouterr().err
