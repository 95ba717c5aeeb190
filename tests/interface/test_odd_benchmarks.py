"""Benchmarks of the paper on decision diagrams: figures in print, splits, resuming, choosing, every page."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cases
from benchmarks.papers import odd, odd_pictures, odd_published, odd_runs, odd_tasks
from benchmarks.papers.measuring import Pass
from benchmarks.papers.odd_runs import OneRun, Plan, Tally, calibrate
from proofwood.engines.diagram.run import DiagramRun
from proofwood.engines.diagram.shape import Diagram
from proofwood.problem.diagram import DiagramProblem
from proofwood.result import Limits, Result
from tests.measured import measured

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
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A small plan whose engines are stand-ins."""
    monkeypatch.setattr(odd_tasks, "solve", _stand_in)
    monkeypatch.setattr(odd_tasks, "construct", lambda problem, **_: (0.4, 16, 1))
    return Plan(
        sets=("generated-tiny", "generated-bits"),
        skeletons=("I", "tree"),
        alphas=(1.0, 0.01),
        splits=("univariate", "oblique"),
        seeds=(0, 1),
        limit=5.0,
        start_seconds=0.1,
    )


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


def test_runs_are_all_combinations(plan: Plan, tmp_path: Path) -> None:
    runs = plan.cells()
    assert len(runs) == len(set(runs)) == 2 * 2 * 2 * 2 * 2
    _, reading = measured(odd.table1, tmp_path, plan=plan)
    found = odd_runs.runs(reading, plan, runs)
    assert list(found) == runs
    row = found[runs[0]]
    told = (row["case"], row["seed"], row["alpha"], row["rows"], row["classes"], row["threads"], row["start_limit"])
    assert told == ("generated-tiny", "0", "1", "40", "2", "1", "0.1")
    assert (row["status"], row["start"], row["limit"], row["counters"][:6]) == ("feasible", "0.4", "5", "tried=")
    assert not row["error"]
    assert 0 <= float(row["test"]) <= 1
    assert not odd_runs.runs(Pass(tmp_path / "other"), plan, runs)


def test_proved_runs_are_not_counted_as_improved() -> None:
    rows = [
        {"status": "optimal", "improved": "1", "objective": "0.1", "start": "0.2"},
        {"status": "feasible", "improved": "1", "objective": "0.1", "start": "0.2"},
        {"status": "feasible", "improved": "0", "objective": "0.3", "start": "0.2"},
        {"status": "infeasible", "improved": "0", "objective": "inf", "start": "nan"},
        {"status": "killed", "improved": "", "objective": "", "start": ""},
    ]
    rows = [{"seconds": "1", "best_seconds": "1", **row} for row in rows]
    assert Tally.of(rows) == Tally(runs=5, proved=2, improved=1, worse=1)


def test_the_choice_is_the_best_on_validation_rows_with_fewest_nodes() -> None:
    def row(validation: float, n_splits: int) -> dict[str, str]:
        return {"validation": f"{validation}", "n_splits": f"{n_splits}", "test": "0.5", "status": "optimal"}

    found = {
        OneRun("a", 0, "I", 0.1, "univariate"): row(0.8, 3),
        OneRun("a", 1, "I", 0.1, "univariate"): row(0.6, 3),
        OneRun("a", 0, "II", 0.1, "univariate"): row(0.7, 2),
        OneRun("a", 1, "II", 0.1, "univariate"): row(0.7, 2),
        OneRun("a", 0, "II", 0.2, "univariate"): row(1.0, 2),  # no model for the other seed
        OneRun("a", 1, "II", 0.2, "univariate"): {"validation": ""},
        OneRun("b", 0, "I", 0.1, "univariate"): {"validation": ""},
    }
    assert list(calibrate(found)) == ["a"]
    chosen = calibrate(found)["a"]
    assert (chosen.skeleton, chosen.alpha, chosen.tests, chosen.proved) == ("II", 0.1, [0.5, 0.5], 2)


# ------------------------------------------------------------------ pages


def test_page_of_table_1(plan: Plan, tmp_path: Path) -> None:
    text, _ = measured(odd.table1, tmp_path, plan=plan)
    assert "Of 32 runs, 32 are done. All runs of 2 sets are: of these 32 runs 0 are proved within" in text
    assert "| univariate, 1 | 8 | 0 |" in text
    assert "| univariate, all | 16 |" in text
    assert "| 32 | 25 | 58 |" in text  # the paper's shares
    assert "(42)" in text  # 225 of 540
    assert "| generated-tiny | 40 | 3 |" in text
    beside = text[text.index("## Beside univariate splits") : text.index("## What found")].splitlines()
    pairs = [[int(count) for count in line.split("|")[2:6]] for line in beside if line.startswith(("| I,", "| tree,"))]
    assert len(pairs) == 4
    assert all(n == 4 == lower + equal + higher for n, lower, equal, higher in pairs)
    assert "0 are done" in odd.table1(Pass(tmp_path / "none"), plan=plan).blocks[2]


def test_page_of_table_2(plan: Plan, tmp_path: Path) -> None:
    plan = dataclasses.replace(plan, skeletons=("I",))
    text, reading = measured(odd.table2, tmp_path, plan=plan, shares=(0.05, 0.2))
    assert "| univariate | 2 |" in text
    assert "(0.840)" in text
    assert "(0.835)" in text
    assert "| oblique, generated-bits |" in text
    assert {row["min_samples"] for row in reading.rows} == {"0", "0.05", "0.2"}


@needs_pictures
def test_pages_of_figures(plan: Plan, tmp_path: Path) -> None:
    assert "| univariate, ODD |" in measured(odd.figure2, tmp_path, plan=plan)[0]
    assert "places" in measured(odd.figure3, tmp_path, plan=plan)[0]
    one = dataclasses.replace(plan, sets=("generated-bits",), alphas=(0.01,))
    assert "| ODD, skeleton I |" in measured(odd.figure4, tmp_path, plan=one)[0]
    for name in ("figure2.png", "figure3.png", "figure4.png"):
        assert (tmp_path / name).stat().st_size > 5000


def test_both_norms_are_beside_each_other(plan: Plan, tmp_path: Path) -> None:
    plan = dataclasses.replace(plan, splits=("oblique",), alphas=(0.1,), seeds=(0,), skeletons=("I",))
    assert "pairs" not in "".join(odd.norms(Pass(tmp_path / "none"), plan=plan).blocks)
    _, reading = measured(odd.norms, tmp_path, plan=plan)
    assert [row["norm"] for row in reading.rows] == ["box", "l1"] * 2
    table = reading.tables["norms.csv"]
    for row, (cost, status) in zip(
        reading.rows, [("0.1", "optimal"), ("0.2", "optimal"), ("0.3", "optimal"), ("0.3", "feasible")], strict=True
    ):
        table.add({**row, "objective": cost, "status": status, "test": "0.5"})
    text = "\n".join(odd.norms(Pass(tmp_path), plan=plan).blocks)
    assert (
        "Of 2 pairs, the box costs less on 1, as much on 1, and more on 0; 2 are proved in the box, 1 under l1." in text
    )
    assert "0.500 in the box, 0.500 under l1." in text
    assert "| (0.3000) |" in text


def test_known_optima_are_compared(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("generated-bits", "I", 1.0, "univariate"), ("generated-tiny", "I", 1.0, "univariate")
    monkeypatch.setattr(odd, "KNOWN", dict.fromkeys(names, 0.0))
    _, reading = measured(odd.known, tmp_path, plan=plan)
    right = round(float(reading.rows[0]["objective"]), 4)
    monkeypatch.setattr(odd, "KNOWN", {names[0]: right, names[1]: 0.0})
    text, _ = measured(odd.known, tmp_path, plan=plan)
    assert "Of 2 runs here, 1 have the known value and 0 are proved." in text
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
