"""Seconds to the proof that a set of tests is best: the fifteen tables of Hu, Huguet and Siala, 2 to 6 tests.

``python -m benchmarks.subset --sets anneal vote --sizes 2 3 4 --seconds 60``
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import data_folder
from benchmarks.harness import RESULTS, Table, markdown_table, measure, number, run, seconds_text, write_page
from proofwood.engines.bdd.subset.search import best_subset
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits

SETS = (
    "anneal", "audiology", "australian-credit", "breast-wisconsin", "car", "heart-cleveland", "hypothyroid", "kr-vs-kp",
    "lymph", "mushroom", "primary-tumor", "soybean", "splice-1", "tic-tac-toe", "vote",
)  # fmt: skip


def load(name: str) -> RankedRows:
    """The 0/1 table ``name`` of the folder ``cp4im``, its last column being the class."""
    path = data_folder() / "cp4im" / f"{name}.csv"
    text = path.read_bytes() if path.exists() else gzip.decompress(path.with_suffix(".csv.gz").read_bytes())
    values = np.loadtxt(text.decode().splitlines(), delimiter=",", skiprows=1, dtype=np.int64)
    return RankedRows.from_bits(values[:, :-1], values[:, -1])


def prove(*, case: str, size: int, seconds: float, threads: int) -> dict[str, Any]:
    """Search for the best set once; preparation of the rows counts, reading the file does not."""
    rows = load(case)
    result, cost = measure(lambda: best_subset(rows, size, limits=Limits(seconds, threads)))
    found = next((event.seconds for event in result.trace if event.objective == result.errors), None)
    return {
        "errors": result.errors,
        "lower_bound": result.lower_bound,
        "wall": cost.wall,
        "found": found,
        "leaves": result.counters.get("leaves"),
        "pairs": result.counters.get("pair_evaluations"),
    }


def tabulate(
    *,
    sets: Sequence[str] = SETS,
    sizes: Sequence[int] = (2, 3, 4, 5, 6),
    seconds: float = 60.0,
    threads: int = 1,
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Path:
    """Measure what is missing in ``bdd-subset.csv`` and write ``bdd-subset.md``; returns the page."""
    path = out / "bdd-subset.csv"
    if fresh:
        path.unlink(missing_ok=True)
    columns = ("errors", "lower_bound", "wall", "found", "leaves", "pairs", "error")
    table = Table(path, ("set", "size", "seconds", "threads"), columns)
    for case in sets:
        for size in sizes:
            values = {"case": case, "size": size, "seconds": seconds, "threads": threads}

            def work(values: dict[str, Any] = values) -> dict[str, Any]:
                outcome = run("benchmarks.subset:prove", values, hard_cap=seconds + 60, isolate=isolate)
                return {name: outcome.get(name) for name in columns}

            row = table.cell(work, set=case, size=size, seconds=seconds, threads=threads)
            print(
                f"{case:<18} {size} tests  {row['errors']} errors, bound {row['lower_bound']}  {row['wall']} s",
                flush=True,
            )
    return _render(table, out / "bdd-subset.md")


def _render(table: Table, page: Path) -> Path:
    sizes = sorted({int(row["size"]) for row in table.rows})
    lines = []
    for case in dict.fromkeys(row["set"] for row in table.rows):
        cells = []
        for size in sizes:
            runs = table.select(set=case, size=size)
            if not runs:
                cells.append("")
                continue
            last = max(runs, key=lambda row: (row["errors"] == row["lower_bound"], number(row["seconds"])))
            if last["errors"] == last["lower_bound"]:
                many = "" if last["threads"] == "1" else f" on {last['threads']} threads"
                cells.append(f"{last['errors']} in {seconds_text(number(last['wall']))}{many}")
            else:
                cells.append(f"{last['errors']}, bound {last['lower_bound']}, stopped at {last['seconds']}")
        lines.append([case, *cells])
    header = ("table", *(f"{size} tests" for size in sizes))
    text = (
        "Fewest training errors of any decision diagram over so many of the 0/1 features, and the wall seconds of the "
        "proof on one thread unless said otherwise, with all preparation but reading the file. Other programs were "
        "running on the machine."
    )
    return write_page(
        page,
        "Best sets of tests",
        text,
        markdown_table(header, lines),
        rows=table.rows,
        command="python -m benchmarks.subset",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of these measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.subset", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[2, 3, 4, 5, 6])
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one search")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(tabulate(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
