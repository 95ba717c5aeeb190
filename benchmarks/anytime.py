"""How good the tree in hand is while the proof is under way: errors after some CPU seconds, against CART.

``python -m benchmarks.anytime --version new --depths 3 4 5 --seconds 30``

``--version`` names the installed version: runs of several ones stand side by side on the page. A run that is stored is
not measured again.
"""

from __future__ import annotations

import argparse
import bisect
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

from benchmarks import cases
from benchmarks.harness import RESULTS, Table, markdown_table, measure, number, run, seconds_text, write_page

MARKS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 30.0)
"""CPU seconds after the start at which errors are shown."""

COLUMNS = (
    *("rows", "cart_errors", "cart_cpu", "errors", "lower_bound", "status", "cpu", "row_visits", "trace", "error"),
)


class CpuClock:
    """CPU seconds of the process by its wall seconds, noted every few milliseconds by a thread.

    The clock of a search is a wall clock, and other work on the machine slows it down; CPU seconds are not touched.
    """

    def __init__(self, every: float = 0.004) -> None:
        self._every = every
        self._wall: list[float] = []
        self._cpu: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> CpuClock:
        self._note()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._note()

    def _note(self) -> None:
        self._wall.append(time.perf_counter())
        self._cpu.append(time.process_time())

    def _watch(self) -> None:
        while not self._done.wait(self._every):
            self._note()

    def cpu_at(self, seconds: float) -> float:
        """CPU seconds since the start, ``seconds`` of wall time after it."""
        wall = self._wall[0] + seconds
        at = min(max(bisect.bisect_right(self._wall, wall), 1), len(self._wall) - 1)
        share = (wall - self._wall[at - 1]) / max(self._wall[at] - self._wall[at - 1], 1e-9)
        cpu = self._cpu[at - 1] + min(max(share, 0.0), 1.0) * (self._cpu[at] - self._cpu[at - 1])
        return cpu - self._cpu[0]


def search(
    *, case: str, depth: int, seconds: float, threads: int = 1, options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """One search that ends after ``seconds`` of CPU time, with its improvements, and CART of the same depth."""
    from proofwood.engines.trees import SearchOptions, solve
    from proofwood.problem.tree import TreeProblem
    from proofwood.result import Limits, ProgressEvent

    X, y = cases.load(case)
    cart_errors, cart_cpu = _cart(X, y, depth)
    problem = TreeProblem.from_arrays(X, y, max_depth=depth)
    started = time.process_time()

    def enough(_: ProgressEvent) -> None:
        if time.process_time() - started > seconds:
            raise KeyboardInterrupt

    with CpuClock() as clock:
        options_ = SearchOptions(**(options or {}))
        result = solve(problem, options=options_, limits=Limits(threads=threads), progress=enough)
    events = [(clock.cpu_at(event.seconds), event.objective, event.lower_bound) for event in result.trace]
    return {
        "rows": len(y),
        "cart_errors": cart_errors,
        "cart_cpu": cart_cpu,
        "errors": result.objective,
        "lower_bound": result.lower_bound,
        "status": str(result.status),
        "cpu": clock.cpu_at(math.inf),
        "row_visits": result.stats.counters.get("row_visits"),
        "trace": " ".join(f"{cpu:.4g}:{objective:g}" for cpu, objective in _falls(events)),
    }


def _cart(X: npt.NDArray[np.float64], y: npt.NDArray[np.int64], depth: int) -> tuple[int, float]:
    """Errors and CPU seconds of scikit-learn's CART, the faster of two fits."""
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    costs = [measure(lambda: tree.fit(X, y))[1].cpu for _ in range(2)]
    return int(np.count_nonzero(tree.predict(X) != y)), min(costs)


def _falls(events: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """The events at which the objective fell."""
    best, falls = math.inf, []
    for cpu, objective, _ in events:
        if objective < best:
            best = objective
            falls.append((cpu, objective))
    return falls


def errors_at(trace: str, seconds: float) -> float:
    """Errors of the tree in hand after ``seconds``; inf before the first one."""
    best = math.inf
    for event in trace.split():
        cpu, _, errors = event.partition(":")
        if float(cpu) <= seconds:
            best = min(best, float(errors))
    return best


def compare(
    *,
    version: str = "new",
    sets: Sequence[str] = cases.QUANTBNB,
    depths: Sequence[int] = (3, 4, 5),
    seconds: float = MARKS[-1],
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Path:
    """Measure what is missing in ``anytime.csv`` and write ``anytime.md``; returns the page."""
    table = Table(out / "anytime.csv", ("version", "depth", "set"), COLUMNS)
    if fresh:
        table.path.unlink(missing_ok=True)
        table.rows.clear()
    for depth in depths:
        for case in sets:
            values = {"case": case, "depth": depth, "seconds": seconds}

            def work(values: dict[str, object] = values) -> dict[str, object]:
                return run("benchmarks.anytime:search", values, hard_cap=20 * seconds + 120, isolate=isolate)

            row = table.cell(work, version=version, depth=depth, set=case)
            shown = [f"{errors_at(row['trace'], mark):g}" for mark in MARKS]
            print(f"{version} {depth} {case:<12} {' '.join(shown)}  {row['status']} {row['error']}", flush=True)
    return render(table, out / "anytime.md")


def render(table: Table, page: Path) -> Path:
    """Write the page from the stored runs."""
    versions = list(dict.fromkeys(row["version"] for row in table.rows))
    best = best_known(table)
    blocks = [
        "Errors of the tree in hand after so many CPU seconds of one search on one thread, all counted from its start, "
        "the sorting of the columns included. The trace of a search has wall seconds; a second thread notes the CPU "
        "seconds of the process every 4 ms, and each event is set to the CPU second that belongs to it. *CART* is "
        "scikit-learn's of the same depth with its CPU seconds; *then* are our errors at that second. *Best known*: "
        "the fewest errors of any run on this page; in bold where this is proved. In *italics*: more than 1 % of the "
        "rows above the best known after a second or later. A dash: no tree yet, or the run had ended before."
    ]
    for depth in sorted({int(row["depth"]) for row in table.rows}):
        header = ("set", "version", *(f"{mark:g} s" for mark in MARKS), "best known", "CART", "CART, s", "then")
        rows = []
        for case in dict.fromkeys(row["set"] for row in table.rows if row["depth"] == str(depth)):
            for version in versions:
                row = table.find(version=version, depth=depth, set=case)
                if row and row["trace"]:
                    rows.append(_line(row, best[depth, case]))
        blocks += [f"## Depth {depth}", markdown_table(header, rows)]
    return write_page(page, "Errors by the second", *blocks, rows=table.rows, command="python -m benchmarks.anytime")


def best_known(table: Table) -> dict[tuple[int, str], tuple[float, bool]]:
    """Per depth and set: the fewest errors of any run, and whether a run proved them."""
    best: dict[tuple[int, str], tuple[float, bool]] = {}
    for row in table.rows:
        if row["errors"]:
            cell, errors = (int(row["depth"]), row["set"]), number(row["errors"])
            known, proved = best.get(cell, (math.inf, False))
            now = row["status"] == "optimal"
            best[cell] = (min(known, errors), (proved and known <= errors) or (now and errors <= known))
    return best


def _line(row: dict[str, str], known: tuple[float, bool]) -> list[str]:
    best, proved = known
    cells = []
    for mark in MARKS:
        errors = errors_at(row["trace"], mark)
        far = mark >= 1 and errors > best + 0.01 * number(row["rows"])
        unknown = math.isinf(errors) or (row["status"] != "optimal" and mark > 1.02 * number(row["cpu"]))
        text = "–" if unknown else f"{errors:g}"
        cells.append(f"*{text}*" if far and not unknown else text)
    then = errors_at(row["trace"], number(row["cart_cpu"]))
    worse = then > number(row["cart_errors"])
    text = "–" if math.isinf(then) else f"{then:g}"
    return [
        row["set"],
        row["version"],
        *cells,
        f"**{best:g}**" if proved else f"{best:g}",
        row["cart_errors"],
        seconds_text(number(row["cart_cpu"])),
        f"*{text}*" if worse else text,
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anytime", description=__doc__)
    parser.add_argument("--version", default="new", help="name of the installed version, in the table")
    parser.add_argument("--sets", nargs="+", default=list(cases.QUANTBNB))
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 4, 5])
    parser.add_argument("--seconds", type=float, default=MARKS[-1], help="CPU seconds of one search")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(compare(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
