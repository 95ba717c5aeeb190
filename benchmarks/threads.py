"""What threads bring: wall seconds of one fit on 1, 2 and 4 threads, runs in turn, equal trees required.

``python -m benchmarks.threads --sets eeg bean fault --depth 3``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import RESULTS, Spread, Table, markdown_table, number, run, seconds_text, write_page


def compare(
    *,
    sets: Sequence[str] = ("avila", "bean", "eeg", "fault", "htru", "magic", "rice"),
    depth: int = 3,
    threads: Sequence[int] = (1, 2, 4),
    rounds: int = 3,
    seconds: float = 600.0,
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Path:
    """Measure what is missing in ``threads.csv`` and write ``threads.md``; returns the page."""
    path = out / "threads.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(
        path, ("depth", "set", "round", "threads"), ("wall", "cpu", "errors", "lower_bound", "status", "error")
    )
    for case in sets:
        for turn in range(rounds):
            for count in threads if turn % 2 == 0 else reversed(threads):
                values = {"learner": "proofwood", "case": case, "depth": depth, "seconds": seconds, "threads": count}

                def work(values: dict[str, object] = values) -> dict[str, object]:
                    outcome = run("benchmarks.tasks:fit", values, hard_cap=seconds + 60, isolate=isolate)
                    return {name: outcome.get(name) for name in table.columns}

                row = table.cell(work, depth=depth, set=case, round=turn, threads=count)
                print(f"{case:<12} {count} threads  {row['wall']} s  {row['status']}", flush=True)
    return _render(table, out / "threads.md")


def _render(table: Table, page: Path) -> Path:
    counts = sorted({int(row["threads"]) for row in table.rows})
    rows = []
    for depth, case in dict.fromkeys((row["depth"], row["set"]) for row in table.rows):
        found = table.select(depth=depth, set=case)
        walls = {
            count: [number(r["wall"]) for r in found if r["threads"] == str(count) and r["wall"]] for count in counts
        }
        if not all(walls.values()):
            continue
        single = Spread.of(walls[counts[0]]).median
        same = len({(row["errors"], row["lower_bound"]) for row in found if row["status"] == "optimal"}) <= 1
        gains = [str(Spread.of([single / wall for wall in walls[count]])) for count in counts[1:]]
        proof = "equal" if same else "differ"
        if any(row["status"] != "optimal" for row in found):
            proof += ", capped"
        rows.append([f"{case}, depth {depth}", seconds_text(single), *gains, proof])
    header = (
        "set",
        f"{counts[0]} thread, s",
        *(f"{count} threads, times faster" for count in counts[1:]),
        "objective and bound",
    )
    text = (
        "Wall seconds of `fit` with `n_jobs` threads, runs in turn; times faster than the median run on the fewest "
        "threads, median with quartiles."
    )
    return write_page(
        page, "Threads", text, markdown_table(header, rows), rows=table.rows, command="python -m benchmarks.threads"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["avila", "bean", "eeg", "fault", "htru", "magic", "rice"])
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of one fit")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(compare(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
