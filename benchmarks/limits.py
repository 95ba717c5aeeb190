"""How well limits are kept: CPU and wall seconds of one fit with a time limit, and until a fit is back after Ctrl-C.

``python -m benchmarks.limits --learners tree minimal bdd --sizes avila real --limit 0.5``

Every case runs in a process of its own. What is stored already is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, ROOT, Table, markdown_table, number, seconds_text, taken_out, write_page

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("OptimalTreeClassifier", {"max_depth": 3}),
    "tree, depth 2": ("OptimalTreeClassifier", {"max_depth": 2}),
    "tree, alpha": ("OptimalTreeClassifier", {"max_depth": 4, "alpha": 0.001}),
    "minimal": ("MinimalTreeClassifier", {"on_conflict": "majority"}),
    "minimal, errors": ("MinimalTreeClassifier", {"on_conflict": "majority", "max_errors": 5}),
    "minimal, nodes": ("MinimalTreeClassifier", {"on_conflict": "majority", "minimize": "nodes"}),
    "minimal, paper": ("MinimalTreeClassifier", {"on_conflict": "majority", "engine": "paper"}),
    "bdd": ("OptimalBDDClassifier", {}),
    "bdd, alpha": ("OptimalBDDClassifier", {"alpha": 0.001}),
    "bdd, features": ("OptimalBDDClassifier", {"objective": "features"}),
    "bdd, paper, features": ("OptimalBDDClassifier", {"engine": "paper", "objective": "features"}),
    "bdd, paper": ("OptimalBDDClassifier", {"engine": "paper"}),
    "bdd, paper, heuristic": ("OptimalBDDClassifier", {"engine": "paper", "variant": "heuristic"}),
    "bdd, paper, greedy": ("OptimalBDDClassifier", {"engine": "paper", "variant": "greedy"}),
    "diagram": ("OptimalDiagramClassifier", {"widths": (1, 2, 3)}),
    "diagram, search": ("OptimalDiagramClassifier", {"widths": (1, 2, 3), "engine": "search"}),
    "diagram, oblique": ("OptimalDiagramClassifier", {"widths": (1, 2, 3), "splits": "oblique"}),
    "diagram, paper": ("OptimalDiagramClassifier", {"widths": (1, 2, 3), "engine": "paper"}),
}
"""Learner and parameters, by the name that the table shows."""

SIZES = {
    "avila": "10,430 x 10 (avila)",
    "real": "100,000 x 20 real",
    "integer": "100,000 x 20 integer",
    "million": "1,000,000 x 20 real",
    "ids": "20,000 x 6, one a text identifier",
    "pixels": "10,000 x 784 of 0 to 255",
}
ALLOWED = 0.5, 0.05
"""A fit may take so many seconds more than its limit, or this share of it, whichever is more."""
BEFORE = " before Ctrl-C"
"""What is said of a fit that was back before Ctrl-C came."""
HARD_CAP = 180.0
"""Seconds after which a case is ended from outside."""


def table_of(size: str) -> tuple[Any, Any]:
    """Rows and labels; made with a fixed seed, but for avila, which is read."""
    rng = np.random.default_rng(0)
    if size == "avila":
        from benchmarks.cases import load

        return load("avila")
    if size == "ids":
        X = rng.normal(size=(20_000, 6)).astype(object)
        noise, signal_of = rng.random(20_000), X[:, 1].astype(float)
        X[:, 0] = [f"id-{row:05d}" for row in range(20_000)]
        return X, ((signal_of > 0.3) ^ (noise < 0.05)).astype(int)
    if size == "pixels":
        X = rng.integers(0, 256, size=(10_000, 784)).astype(float)
        X[rng.random(X.shape) < 0.8] = 0
        return X, ((X[:, 300] > 20) ^ (X[:, 400] > 100) ^ (rng.random(10_000) < 0.05)).astype(int)
    n = 1_000_000 if size == "million" else 100_000
    X = rng.integers(0, 100, size=(n, 20)).astype(float) if size == "integer" else rng.normal(size=(n, 20))
    middle = np.median(X, axis=0)
    y = ((X[:, 0] > middle[0]) & (X[:, 1] > middle[1])) | (X[:, 2] > np.quantile(X[:, 2], 0.8))
    return X, (y ^ (rng.random(n) < 0.05)).astype(int)


def _seconds() -> float:
    """CPU seconds of this process and of the children it has waited for."""
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


def measure(learner: str, size: str, limit: float | None, press_after: float | None) -> dict[str, Any]:
    """One fit in this process, with a time limit, or with Ctrl-C after so many seconds.

    Returns
    -------
    dict
        ``cpu`` and ``wall`` of the fit, counted from the Ctrl-C if there is one; ``status``, ``stopped_by``,
        ``objective`` and ``bound``, or ``status`` as the name of the exception; ``peak_mb`` of the process and its
        largest child.
    """
    import proofwood

    name, parameters = LEARNERS[learner]
    X, y = table_of(size)
    estimator = getattr(proofwood, name)(time_limit=limit, **parameters)
    pressed: list[tuple[float, float]] = []

    def press() -> None:
        pressed.append((time.perf_counter(), _seconds()))
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in the background
    timer = None if press_after is None else threading.Timer(press_after, press)
    wall, cpu = time.perf_counter(), _seconds()
    status, facts = "", {}
    try:
        if timer is not None:
            timer.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, y)
        result = estimator.result_
        status = str(result.status)
        facts = {"stopped_by": result.stats.stopped_by, "objective": result.objective, "bound": result.lower_bound}
    except (TimeoutError, KeyboardInterrupt, MemoryError, ValueError) as error:
        status = type(error).__name__
    finally:
        if timer is not None:
            timer.cancel()
    if pressed:
        wall, cpu = pressed[0]
    elif press_after is not None:
        status = f"{status}{BEFORE}"
    took = {"wall": time.perf_counter() - wall, "cpu": _seconds() - cpu}
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    return {"status": status, **facts, **took, "peak_mb": peak}


def run_case(learner: str, size: str, limit: float | None, press_after: float | None) -> dict[str, Any]:
    """:func:`measure` in a process of its own, ended after :data:`HARD_CAP` seconds."""
    case = json.dumps([learner, size, limit, press_after])
    command = [sys.executable, "-m", "benchmarks.limits", "--case", case]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HARD_CAP, cwd=ROOT, check=False)
    except subprocess.TimeoutExpired:
        return {"status": f"not back after {HARD_CAP:.0f} s", "wall": HARD_CAP, "cpu": HARD_CAP}
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"status": f"ended with code {done.returncode}: {last[:120]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(
    *,
    learners: Sequence[str] = tuple(LEARNERS),
    sizes: Sequence[str] = tuple(SIZES),
    limit: float = 0.5,
    out: Path = RESULTS,
    fresh: bool = False,
    seed: int = 0,
    run: Callable[[str, str, float | None, float | None], dict[str, Any]] = run_case,
) -> Path:
    """Measure what is missing in ``limits.csv`` and write ``limits.md``; returns the page."""
    path = out / "limits.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(
        path,
        ("learner", "size", "limit", "stop"),
        ("status", "stopped_by", "objective", "bound", "cpu", "wall", "peak_mb", "after"),
    )
    for size in sizes:
        for learner in learners:
            moment = random.Random(f"{seed} {learner} {size}").uniform(0.05, 3.0)
            for stop in ("time limit", "Ctrl-C"):
                key = {"learner": learner, "size": size, "limit": limit, "stop": stop}
                if table.find(**key) is not None:
                    continue
                after = None if stop == "time limit" else moment
                row = table.add({**key, **run(learner, size, None if after else limit, after), "after": after})
                print(f"{size:<8} {learner:<18} {stop:<10} cpu {row['cpu']:>8} wall {row['wall']:>8}  {row['status']}")
    return _render(table, out / "limits.md")


def _render(table: Table, page: Path) -> Path:
    blocks, bad = [], 0
    for size in dict.fromkeys(row["size"] for row in table.rows):
        rows = []
        for learner, limit in dict.fromkeys((r["learner"], r["limit"]) for r in table.select(size=size)):
            found = table.find(learner=learner, size=size, limit=limit, stop="time limit")
            pressed = table.find(learner=learner, size=size, limit=limit, stop="Ctrl-C")
            if found is None:
                continue
            most = float(limit) + max(ALLOWED[0], ALLOWED[1] * float(limit))
            late = not number(found["cpu"]) <= most
            early = pressed is not None and pressed["status"].endswith(BEFORE)
            back = "–" if pressed is None or early else seconds_text(number(pressed["cpu"]))
            late_back = pressed is not None and not early and not number(pressed["cpu"]) <= ALLOWED[0]
            bad += late + late_back
            rows.append(
                [
                    learner,
                    limit,
                    seconds_text(number(found["cpu"])) + (" (late)" if late else ""),
                    seconds_text(number(found["wall"])),
                    f"{number(found['peak_mb']):,.0f}",
                    found["status"],
                    back + (" (late)" if late_back else ""),
                    "–" if pressed is None else pressed["status"],
                ]
            )
        header = ["learner", "limit, s", "CPU, s", "wall, s", "peak, MB", "status", "Ctrl-C: CPU, s", "status then"]
        blocks += [f"## {SIZES.get(size, size)}", markdown_table(header, rows)]
    lead = (
        "One fit with a time limit, and one without that Ctrl-C ends at a random moment. CPU seconds are those of the "
        "process and its children, from the call of `fit`, or from the Ctrl-C, until it is back. A fit is late if it "
        f"takes more than {ALLOWED[0]:g} s or {ALLOWED[1]:.0%} beyond its limit. A `TimeoutError` says that the limit "
        "came before any model that is permitted; a `KeyboardInterrupt`, that Ctrl-C came before the search. "
        f"Late: {bad}."
    )
    gone = taken_out((row["learner"] for row in table.rows), LEARNERS, "../..")
    return write_page(page, "Limits", lead, *gone, *blocks, rows=table.rows, command="python -m benchmarks.limits")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--limit", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.case:
        print(json.dumps(measure(*json.loads(given.case))))
        return
    print(
        compare(
            learners=given.learners,
            sizes=given.sizes,
            limit=given.limit,
            out=given.out,
            fresh=given.fresh,
            seed=given.seed,
        )
    )


if __name__ == "__main__":
    main()
