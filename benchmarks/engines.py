"""Engines side by side: every engine of a task on the same twenty instances with the same limit.

``python -m benchmarks.engines --tasks diagrams oblique --seconds 20``; the page is ``results/engines.md``.

All run on one thread. Seconds are CPU seconds, with those of child processes that ended. The gap is (objective - bound)
/ objective; an engine that proves nothing has the bound 0.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.harness import RESULTS, Table, markdown_table, number, run, seconds_text, taken_out, write_page

Case = tuple[str, int]
"""Name of a table, and the rows (0: all) or the depth that make it an instance."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is compared: ``fit`` is the function of this module that makes one run."""

    title: str
    told: str
    fit: str
    instances: tuple[Case, ...]
    engines: tuple[str, ...]


SKELETON_SETS = (
    *cases.UCI[:10],
    *("planning-relax", "parkinsons", "seeds", "spect-heart", "habermans-survival", "dermatology"),
    *("monks3", "monks2", "blood-transfusion-service", "car-evaluation"),
)
PAPER = ("paper", "paper, scip")

TASKS = {
    "smallest": Task(
        "Smallest trees",
        "Least depth, then fewest nodes, without avoidable errors; gap in nodes. `paper` is InferDT as printed.",
        "fit_smallest",
        (
            *((name, 100) for name in cases.QUANTBNB),
            *((name, 0) for name in ("inferdt/mouse", "inferdt/car", "uci/monks2", "cp4im/audiology")),
        ),
        ("auto", "paper"),
    ),
    "bdd": Task(
        "Binary decision diagrams",
        "Fewest training errors of a diagram over so many tests. `paper` is the formula of MaxSAT-BDD as printed, and "
        "the heuristics are those that it is compared with.",
        "fit_bdd",
        (
            *((f"cp4im/{name}", 4) for name in cases.CP4IM),
            *(
                (f"cp4im/{name}", 7)
                for name in ("anneal", "australian-credit", "heart-cleveland", "tic-tac-toe", "primary-tumor")
            ),
        ),
        ("auto", "paper", "paper, heuristic", "paper, greedy"),
    ),
    "diagrams": Task(
        "Diagrams of a skeleton, splits of one column",
        "Skeleton I (1, 2, 4, 8), alpha .1, the training half of the paper's sets. `paper` is the program of ODD as "
        "printed, by HiGHS of scipy; `paper, scip` is made smaller, by SCIP.",
        "fit_univariate",
        tuple((name, 0) for name in SKELETON_SETS),
        ("auto", "search", *PAPER, "heuristic"),
    ),
    "oblique": Task(
        "Diagrams of a skeleton, oblique splits",
        "As above, with splits by weighted sums of all columns.",
        "fit_oblique",
        tuple((name, 0) for name in SKELETON_SETS),
        ("auto", *PAPER, "heuristic"),
    ),
}
KEY = ("task", "case", "of", "engine", "seconds")
COLUMNS = ("objective", "bound", "status", "cpu", "proved_by", "error")
COMMON = ("cost 0", "equal rows", "conflict bound")
"""What proves before the engine that was asked for begins."""


# ------------------------------------------------------------------ one run


def fit_smallest(*, case: str, of: int, engine: str, seconds: float) -> dict[str, Any]:
    """A smallest tree over ``of`` rows, 0 for all."""
    from proofwood.engines.minimal.solve import solve as by_search
    from proofwood.papers.inferdt.solve import solve as as_printed
    from proofwood.problem.minimal import MinimalTreeProblem, Minimize
    from proofwood.problem.ranked import RankedRows
    from proofwood.result import Limits

    X, y = cases.load(case)
    if of:
        chosen = np.random.default_rng(0).permutation(len(y))[:of]
        X, y = X[chosen], y[chosen]
    rows = RankedRows.with_tests(X, (), y, n_classes=int(y.max()) + 1)[1]
    problem = MinimalTreeProblem(rows, Minimize.NODES, None, rows.unavoidable)
    solvers: Mapping[str, Callable[..., Any]] = {
        "auto": by_search,
        "paper": as_printed,
    }
    return _outcome(lambda: solvers[engine](problem, limits=Limits(seconds=seconds, threads=1)), part=1)


def fit_bdd(*, case: str, of: int, engine: str, seconds: float) -> dict[str, Any]:
    """A diagram over ``of`` tests."""
    from proofwood import OptimalBDDClassifier

    X, y = cases.load(case)
    engine, _, variant = engine.partition(", ")
    learner = OptimalBDDClassifier(of, engine=engine, variant=variant or None, time_limit=seconds, n_jobs=1)
    return _outcome(lambda: learner.fit(X, y).result_)


def fit_univariate(*, case: str, of: int, engine: str, seconds: float) -> dict[str, Any]:
    """A diagram of skeleton I."""
    return _skeleton(case, engine, seconds, oblique=False)


def fit_oblique(*, case: str, of: int, engine: str, seconds: float) -> dict[str, Any]:
    """A diagram of skeleton I with oblique splits."""
    return _skeleton(case, engine, seconds, oblique=True)


def _skeleton(case: str, engine: str, seconds: float, *, oblique: bool) -> dict[str, Any]:
    from benchmarks.papers.odd_tasks import SKELETONS, load_split, pose, solve

    problem = pose(load_split(case, 0), SKELETONS["I"], 0.1, "oblique" if oblique else "univariate")
    return _outcome(lambda: solve(problem, engine=engine, seconds=seconds, threads=1, seed=0))


def _outcome(call: Callable[[], Any], part: int | None = None) -> dict[str, Any]:
    """What a run found; where ``part`` is given, objective and bound are those of this part of the result."""
    before = os.times()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a limit is seen in the status
        result = call()
    after = os.times()
    about = result if part is None else result.parts[part]
    return {
        "objective": about.objective,
        "bound": about.lower_bound,
        "status": str(result.status),
        "cpu": round(sum(after[:4]) - sum(before[:4]), 2),  # user and system, of this process and of its children
        "proved_by": result.stats.proved_by,
    }


# ------------------------------------------------------------------ all runs and the page


def compare(
    *, tasks: Sequence[str] = tuple(TASKS), seconds: float = 20.0, out: Path = RESULTS, fresh: bool = False
) -> Path:
    """Measure what is missing in ``engines.csv``, and write ``engines.md``; returns the page."""
    path = out / "engines.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(path, KEY, COLUMNS)
    for name in tasks:
        task = TASKS[name]
        for case, of in task.instances:
            for engine in task.engines:
                values = {"case": case, "of": of, "engine": engine, "seconds": seconds}

                def work(values: dict[str, Any] = values, fit: str = task.fit) -> dict[str, Any]:
                    outcome = run(f"benchmarks.engines:{fit}", values, hard_cap=3 * seconds + 60)
                    return {column: outcome.get(column) for column in COLUMNS}

                row = table.cell(work, task=name, **values)
                print(f"{name:<10} {case:<32} {of:>4} {engine:<12} {_cell(row)}", flush=True)
    return _render(table, out)


def _render(table: Table, out: Path) -> Path:
    blocks = [
        "Every engine on the same instances with the same limit, on one thread. An instance is proved where the bound "
        "meets the objective; in brackets: by bounds that come before all engines. The gap is (objective - bound) / "
        "objective over those that are not proved, 100 % where no bound is known. An objective counts as best where no "
        "engine found a lower one. CPU seconds.",
    ]
    known = [engine for task in TASKS.values() for engine in task.engines]
    blocks += taken_out((row["engine"] for row in table.rows), known, "../..")
    for name, task in TASKS.items():
        for seconds in dict.fromkeys(row["seconds"] for row in table.select(task=name)):
            rows = table.select(task=name, seconds=seconds)
            of_engine = {
                engine: {(row["case"], row["of"]): row for row in rows if row["engine"] == engine}
                for engine in dict.fromkeys((*task.engines, *(row["engine"] for row in rows)))
            }
            done = {engine: found for engine, found in of_engine.items() if found}
            best = _best(rows)
            lines = [_summary(engine, list(found.values()), best) for engine, found in done.items()]
            header = ("engine", "instances", "proved", "best", "mean gap of the rest", "median s", "failed")
            blocks += [f"## {task.title}, {float(seconds):g} s", task.told, markdown_table(header, lines)]
            each = [
                [_label(case, of), *(_cell(found.get((case, str(of)))) for found in done.values())]
                for case, of in task.instances
            ]
            blocks.append(markdown_table(("instance", *done), each))
    return write_page(
        out / "engines.md", "Engines side by side", *blocks, rows=table.rows, command="python -m benchmarks.engines"
    )


def _best(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], float]:
    """The lowest objective of each instance."""
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        if math.isfinite(number(row["objective"])):
            key = row["case"], row["of"]
            best[key] = min(number(row["objective"]), best.get(key, math.inf))
    return best


def _summary(engine: str, rows: Sequence[Mapping[str, str]], best: Mapping[tuple[str, str], float]) -> list[str]:
    good = [row for row in rows if math.isfinite(number(row["objective"]))]
    proved = [row for row in good if row["status"] == "optimal"]
    gaps = [_gap(row) for row in good if row["status"] != "optimal"]
    common = sum(row["proved_by"] in COMMON for row in proved)
    as_good = sum(number(row["objective"]) <= best[row["case"], row["of"]] * (1 + 1e-5) for row in good)
    return [
        f"`{engine}`",
        str(len(rows)),
        f"{len(proved)} ({common})" if common else str(len(proved)),
        str(as_good),
        f"{statistics.fmean(gaps):.0%}" if gaps else "–",
        seconds_text(statistics.median(number(row["cpu"]) for row in good) if good else math.nan),
        str(len(rows) - len(good)),
    ]


def _gap(row: Mapping[str, str]) -> float:
    objective, bound = number(row["objective"]), number(row["bound"])
    return (objective - bound) / objective if objective > 0 else 0.0


def _cell(row: Mapping[str, str] | None) -> str:
    if row is None:
        return ""
    if not math.isfinite(number(row["objective"])):
        return row["error"][:40] or row["status"]
    value = f"{number(row['objective']):.4g}"
    if row["status"] == "optimal":
        return f"{value} in {seconds_text(number(row['cpu']))} s"
    return f"{value}, gap {_gap(row):.0%}"


def _label(case: str, of: int) -> str:
    return f"{case.split('/')[-1]} {of}" if of else case.split("/")[-1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of one run (20)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(compare(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
