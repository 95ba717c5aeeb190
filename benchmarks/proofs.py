"""How far proofs reach: optimal trees with hours of CPU seconds, in parts that a checkpoint joins.

``python -m benchmarks.proofs --depth 4 --folder CHECKPOINTS``; broken off at any time, the same command goes on. A part
that is killed leaves what it proved in its checkpoint, but no row: its seconds are missing in the sum.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import cases
from benchmarks.harness import RESULTS, Table, markdown_table, measure, number, run, seconds_text, write_page
from benchmarks.papers.contree_published import TABLE_2

COLUMNS = ("status", "objective", "lower_bound", "cpu", "wall", "subproblems", "peak_mb", "error")


def search(*, case: str, depth: int, seconds: float, threads: int, checkpoint: str) -> dict[str, Any]:
    """One part: what is proved after so many wall seconds, from what the checkpoint has."""
    from proofwood import OptimalityWarning, OptimalTreeClassifier

    X, y = cases.load(case)
    model = OptimalTreeClassifier(max_depth=depth, time_limit=seconds, n_jobs=threads, checkpoint=checkpoint)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimalityWarning)  # the next part goes on
        _, cost = measure(lambda: model.fit(X, y))
    return {
        "status": str(model.status_),
        "objective": model.objective_,
        "lower_bound": model.lower_bound_,
        "cpu": cost.cpu,
        "wall": cost.wall,
        "subproblems": model.result_.stats.counters["subproblems"],
        "peak_mb": cost.peak_mb,
    }


def compare(
    *,
    folder: Path,
    sets: Sequence[str] = cases.QUANTBNB,
    depth: int = 4,
    seconds: float = 4 * 3600.0,
    part: float = 1800.0,
    threads: int = 1,
    until: float | None = None,
    out: Path = RESULTS,
    isolate: bool = True,
) -> Path:
    """Add parts to ``proofs.csv`` until each set is proved or has had its CPU seconds; writes ``proofs.md``.

    Parameters
    ----------
    folder : of the checkpoints
    seconds : CPU seconds of all parts of a set
    part : wall seconds of one part
    until : seconds after which no new part begins, and to which the last part is cut; None for no such limit
    """
    started = time.monotonic()
    table = Table(out / "proofs.csv", ("depth", "set", "threads", "part"), COLUMNS)
    folder.mkdir(parents=True, exist_ok=True)
    for case in sets:
        while True:
            done = table.select(depth=depth, set=case, threads=threads)
            left = seconds - sum(number(row["cpu"]) for row in done if row["cpu"])
            rest = part if until is None else min(part, until - (time.monotonic() - started))
            if left <= 0 or (done and done[-1]["status"] != "feasible") or rest <= 0:
                break
            name = case.replace("/", "-")
            values = {
                "case": case,
                "depth": depth,
                "seconds": min(rest, left / threads),
                "threads": threads,
                "checkpoint": str(folder / f"{name}-{depth}.jsonl"),
            }
            outcome = run("benchmarks.proofs:search", values, hard_cap=rest + 300, isolate=isolate)
            row = table.add({"depth": depth, "set": case, "threads": threads, "part": len(done)} | outcome)
            print(
                f"{case:<12} depth {depth}  part {len(done)}  {row['cpu']:>9} s  {row['status']}  "
                f"{row['objective']} {row['lower_bound']}  {row['error']}",
                flush=True,
            )
    return _render(table, out / "proofs.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of these proofs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="of the checkpoints")
    parser.add_argument("--sets", nargs="+", default=list(cases.QUANTBNB))
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=4 * 3600.0, help="CPU seconds of a set")
    parser.add_argument("--part", type=float, default=1800.0, help="wall seconds of a part")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--until", type=float, help="wall seconds of this call")
    parser.add_argument("--out", type=Path, default=RESULTS)
    print(compare(**vars(parser.parse_args(arguments))))


# ------------------------------------------------------------------ the page


def _render(table: Table, page: Path) -> Path:
    blocks = [
        "Fits of `OptimalTreeClassifier` with a checkpoint, until the tree is proved or the set has had its CPU "
        "seconds. *Parts*: fits in a row, each of which goes on from the file of the one before. Seconds and "
        "subproblems are sums over the parts, memory is the largest growth of one. *ConTree*: seconds of the paper, on "
        "its authors' machine, one thread; it has depths up to four."
    ]
    for depth in sorted({row["depth"] for row in table.rows}, key=int):
        blocks += [f"## Depth {depth}", _proofs(table, depth)]
    return write_page(
        page, "Proofs of hours", *blocks, rows=table.rows, command="python -m benchmarks.proofs --folder CHECKPOINTS"
    )


def _proofs(table: Table, depth: str) -> str:
    lines = []
    found = table.select(depth=depth)
    for case, threads in sorted({(row["set"], row["threads"]) for row in found}):
        parts = [row for row in table.select(depth=depth, set=case, threads=threads) if row["objective"]]
        if not parts:
            continue
        objective = min(number(row["objective"]) for row in parts)
        bound = max(number(row["lower_bound"]) for row in parts)
        proved = parts[-1]["status"] == "optimal"
        lines.append(
            [
                case,
                threads,
                f"{objective:.0f}",
                "proved" if proved else f"{bound:.0f} ({bound / objective:.2f})",
                seconds_text(sum(number(row["cpu"]) for row in parts)),
                seconds_text(sum(number(row["wall"]) for row in parts)),
                f"{sum(number(row['subproblems']) for row in parts):,.0f}",
                f"{max(number(row['peak_mb']) for row in parts):.0f}",
                str(len(parts)),
                TABLE_2.get(case, {}).get(f"contree_d{depth}", ""),
            ]
        )
    header = (
        "set",
        "threads",
        "errors",
        "lower bound",
        "CPU, s",
        "wall, s",
        "subproblems",
        "memory, MB",
        "parts",
        "ConTree, s",
    )
    return markdown_table(header, lines)


if __name__ == "__main__":
    main()
