"""How cost and memory of proofs grow: rows, columns, classes, distinct values and threads, one at a time.

``python -m benchmarks.scaling`` measures what is missing along all axes, then writes the pictures and both pages;
``--axes rows columns`` narrows it, ``--quick`` takes small tables. A fit that reached its limit is measured again once
a longer limit is asked for.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import scaling_page
from benchmarks.harness import RESULTS, ROOT, Table, measure, number, run, seconds_text
from benchmarks.scaling_tables import AXES, FIELDS, Point, generate, points

DOCS = ROOT / "docs"
COLUMNS = (
    *("limit", "cpu", "wall", "peak_mb", "input_mb", "errors", "lower_bound", "status", "row_visits", "batches"),
    *("depth_two_splits", "error"),
)


def fit(*, seconds: float | None, **values: Any) -> dict[str, Any]:
    """One fit of a :class:`Point` given by its fields; short ones are repeated and the median is reported.

    Memory is the growth of the resident set over the first fit; the table is there before, and imports and a fit of a
    few rows have been made.
    """
    point = Point(**values)
    learn = _learner(point, seconds)
    X, y = generate(point)
    head = np.unique(np.linspace(0, point.rows - 1, 40, dtype=np.int64))
    _learner(Point(len(head), 1, depth=1), 5.0)(X[head, :1].copy(), y[head])
    gc.collect()
    _give_back()
    result, cost = measure(lambda: learn(X, y))
    costs = [cost]
    while sum(one.cpu for one in costs) < 0.5 and len(costs) < 21:
        costs.append(measure(lambda: learn(X, y))[1])
    counters = result.stats.counters
    return {
        "limit": seconds,
        "cpu": statistics.median(one.cpu for one in costs),
        "wall": statistics.median(one.wall for one in costs),
        "peak_mb": cost.peak_mb,
        "input_mb": X.nbytes / 2**20,
        "errors": result.objective,
        "lower_bound": result.lower_bound,
        "status": str(result.status),
        **{name: counters.get(name) for name in ("row_visits", "batches", "depth_two_splits")},
    }


def _learner(point: Point, seconds: float | None) -> Callable[[npt.NDArray[np.float64], npt.NDArray[np.int64]], Any]:
    """What fits the table of a point, and returns the result of the search."""
    from proofwood import OptimalTreeClassifier
    from proofwood.engines.trees import SearchOptions, solve
    from proofwood.problem.tree import TreeProblem
    from proofwood.result import Limits

    def chosen(X: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> Any:
        learner = OptimalTreeClassifier(max_depth=point.depth, time_limit=seconds, n_jobs=point.threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a limit is seen in the status
            return learner.fit(X, y).result_

    def thresholds(X: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> Any:
        problem = TreeProblem.from_arrays(X, y, max_depth=point.depth)
        limits = Limits(seconds=seconds, threads=point.threads)
        return solve(problem, options=SearchOptions(packed=False), limits=limits)

    return {"chosen": chosen, "thresholds": thresholds}[point.search]


def _give_back() -> None:
    """Give freed memory back to the system, so that a fit does not grow into what making the table left behind."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:  # the C library of GNU
        trim(0)


def compare(*, out: Path = RESULTS, docs: Path = DOCS, **asked: Any) -> Path:
    """Measure what is missing, write ``scaling.md`` beside ``scaling.csv``, and the page of the documentation.

    Parameters
    ----------
    asked : as of :func:`fits`

    Returns
    -------
    Path
        The page of the documentation.
    """
    table = fits(out=out, **asked)
    scaling_page.results(table, out / "scaling.md")
    return scaling_page.explained(table, docs)


def fits(
    *,
    axes: Sequence[str] = AXES,
    seconds: float = 600.0,
    long: float = 7200.0,
    rounds: int = 3,
    quick: bool = False,
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Table:
    """The stored fits in ``scaling.csv``, after what is missing along these axes was measured.

    Parameters
    ----------
    seconds, long : limit of one fit, and of the fit of ``million``
    rounds : fits per number of threads
    fresh : forget what is stored about these axes
    """
    table = Table(out / "scaling.csv", ("axis", *FIELDS), COLUMNS)
    if fresh:
        table.keep(row for row in table.rows if row["axis"] not in axes)
    for axis in axes:
        limit = long if axis == "million" else seconds
        for point in points(axis, quick=quick, rounds=rounds):
            key = {"axis": axis, **asdict(point)}
            found = table.find(**key)
            if found is not None and found["status"] == "feasible" and number(found["limit"]) < limit:
                table.keep(row for row in table.rows if row is not found)
                found = None
            if found is None:
                values = {**asdict(point), "seconds": limit}
                outcome = run("benchmarks.scaling:fit", values, hard_cap=3 * limit + 600, isolate=isolate)
                found = table.add({**key, "limit": limit, **outcome})
            print(_line(axis, point, found), flush=True)
    return table


def _line(axis: str, point: Point, row: Mapping[str, str]) -> str:
    size = f"{point.rows} x {point.columns}, {point.classes} classes, {point.distinct or 'all'} values"
    cost = f"{seconds_text(number(row['cpu']))} CPU s, {number(row['peak_mb']):.0f} MB"
    how = f"depth {point.depth}, {point.threads} threads, {point.search}"
    return f"{axis:<9} {size}, {how}: {cost}  {row['status']} {row['error']}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of one fit")
    parser.add_argument(
        "--long", type=float, default=7200.0, help="time limit of the fit of a million rows and 50 columns"
    )
    parser.add_argument("--rounds", type=int, default=3, help="fits per number of threads")
    parser.add_argument("--quick", action="store_true", help="small tables, a few seconds in all")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page, with its pictures in images")
    parser.add_argument("--fresh", action="store_true", help="forget stored runs of these axes")
    print(compare(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
