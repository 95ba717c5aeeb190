"""Lower bounds in the first seconds: bound over best known, with and without blocks of rows, and time to the proof.

``python -m benchmarks.bounds --depth 4 --seconds 30``; ``--proofs 3 --sets raisin room``: paired seconds to the proof.

The search stamps its trace with wall seconds. The progress callback notes the CPU seconds of the process at each call,
about five times a second; CPU seconds of an event are interpolated between its two neighbouring notes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.harness import (
    RESULTS,
    Spread,
    Table,
    markdown_table,
    measure,
    number,
    run,
    seconds_text,
    write_page,
)

MOMENTS = (0.25, 0.5, 1.0, 5.0, 30.0, 120.0)
SIDES = ("before", "with")
COLUMNS = ("seconds", "status", "objective", "cpu", *(f"bound_{moment:g}" for moment in MOMENTS), "error")
PROOF_COLUMNS = ("status", "objective", "cpu", "error")


def search(*, case: str, depth: int, seconds: float, blocks: bool) -> dict[str, Any]:
    """One search on one thread: its bound after some CPU seconds, its answer and its CPU seconds.

    The limit is one of CPU seconds: the callback ends the search like Ctrl-C.
    """
    from proofwood.engines.trees import SearchOptions, solve
    from proofwood.problem.tree import TreeProblem
    from proofwood.result import Limits, ProgressEvent

    X, y = cases.load(case)
    problem = TreeProblem.from_arrays(X, y, max_depth=depth)
    started = time.process_time()
    wall, used = [0.0], [0.0]

    def note(event: ProgressEvent) -> None:
        wall.append(event.seconds)
        used.append(time.process_time() - started)
        if used[-1] >= seconds:
            raise KeyboardInterrupt

    limits = Limits(seconds=10 * seconds, threads=1)
    result, cost = measure(lambda: solve(problem, options=SearchOptions(blocks=blocks), limits=limits, progress=note))
    wall.append(result.stats.seconds)
    used.append(cost.cpu)
    when = np.interp([event.seconds for event in result.trace], wall, used)
    bounds = [event.lower_bound for event in result.trace]
    known = {
        f"bound_{moment:g}": max((b for at, b in zip(when, bounds, strict=True) if at <= moment), default=0.0)
        for moment in MOMENTS
        if moment <= cost.cpu or str(result.status) == "optimal"
    }
    return {"status": str(result.status), "objective": result.objective, "cpu": cost.cpu, **known}


def compare(
    *,
    sets: Sequence[str] = cases.QUANTBNB,
    depth: int = 4,
    seconds: float = 30.0,
    proofs: int = 0,
    sides: Sequence[str] = ("before", "with"),
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Path:
    """Measure what is missing in ``bounds.csv`` and write ``bounds.md``; returns the page.

    Parameters
    ----------
    proofs : rounds of searches to the proof, in turn without and with blocks, instead of bounds in the first seconds
    sides : "before", "with" or both: the search without blocks and the one with them
    """
    names = ("bounds.csv", "bounds-proofs.csv")
    if fresh:
        for name in names:
            (out / name).unlink(missing_ok=True)
    early = Table(out / names[0], ("depth", "set", "blocks"), COLUMNS)
    late = Table(out / names[1], ("depth", "set", "round", "blocks"), PROOF_COLUMNS)
    for case in sets:
        for turn in range(max(proofs, 1)):
            for blocks in (False, True) if turn % 2 == 0 else (True, False):
                if SIDES[blocks] not in sides:
                    continue
                values = {"case": case, "depth": depth, "seconds": seconds, "blocks": blocks}
                table = late if proofs else early
                key = {"depth": depth, "set": case, "blocks": blocks} | ({"round": turn} if proofs else {})

                def work(values: dict[str, Any] = values, table: Table = table) -> dict[str, Any]:
                    outcome = run("benchmarks.bounds:search", values, hard_cap=10 * seconds + 120, isolate=isolate)
                    return {"seconds": seconds} | {
                        name: outcome.get(name) for name in table.columns if name != "seconds"
                    }

                row = table.cell(work, **key)
                print(f"{case:<12} depth {depth}  blocks {blocks!s:<5}  {row['cpu']:>9} s  {row['status']}", flush=True)
    return _render(early, late, out / "bounds.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(cases.QUANTBNB))
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30.0, help="CPU seconds of one search, about")
    parser.add_argument("--proofs", type=int, default=0, help="rounds of paired searches to the proof")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(compare(**vars(parser.parse_args(arguments))))


# ------------------------------------------------------------------ the page


def _render(early: Table, late: Table, page: Path) -> Path:
    blocks = [
        "Lower bound over the least errors found in any of these runs, after so many CPU seconds on one thread; "
        "1.00 is a proof. `before` is the search without bounds by blocks (`blocks=False`), `with` the one with them. "
        "The trace of a search has wall seconds; the progress callback notes CPU seconds beside them, and the rest is "
        "interpolated."
    ]
    for depth in sorted({row["depth"] for row in early.rows}, key=int):
        blocks += [f"## Depth {depth}", _shares(early, depth)]
    if late.rows:
        blocks += [
            "## Time to the proof",
            "CPU seconds of whole searches, in turn without and with blocks; `times` is the median, with quartiles, of "
            "with over without in each round.",
            _proofs(late),
        ]
    return write_page(
        page,
        "Bounds in the first seconds",
        *blocks,
        rows=[*early.rows, *late.rows],
        command="python -m benchmarks.bounds --depth 4 --proofs 3",
    )


def _shares(table: Table, depth: str) -> str:
    moments = [m for m in MOMENTS if any(row[f"bound_{m:g}"] for row in table.select(depth=depth))]
    lines = []
    for case in dict.fromkeys(row["set"] for row in table.select(depth=depth)):
        found = table.select(depth=depth, set=case)
        best = min(number(row["objective"]) for row in found)
        for name, blocks in zip(SIDES, (False, True), strict=True):
            row = table.find(depth=depth, set=case, blocks=blocks)
            if row is None or not row["objective"]:
                continue
            bounds = [number(row[f"bound_{m:g}"]) for m in moments]
            shares = ["" if np.isnan(b) else f"{b / best if best > 0 else 1.0:.2f}" for b in bounds]
            lines.append([case, name, *shares, f"{best:.0f}"])
    return markdown_table(("set", "", *(f"{m:g} s" for m in moments), "best known"), lines)


def _proofs(table: Table) -> str:
    lines = []
    for depth, case in dict.fromkeys((row["depth"], row["set"]) for row in table.rows):
        rounds = sorted({row["round"] for row in table.select(depth=depth, set=case)})
        pairs = [
            (
                table.find(depth=depth, set=case, round=r, blocks=False),
                table.find(depth=depth, set=case, round=r, blocks=True),
            )
            for r in rounds
        ]
        cpu = [
            (number(a["cpu"]), number(b["cpu"]))
            for a, b in pairs
            if a and b and a["status"] == b["status"] == "optimal"
        ]
        if not cpu:
            continue
        before, after = (Spread.of(values).median for values in zip(*cpu, strict=True))
        ratio = Spread.of([b / a for a, b in cpu])
        lines.append([f"{case}, depth {depth}", seconds_text(before), seconds_text(after), str(ratio)])
    return markdown_table(("set", "without, s", "with, s", "times"), lines)


if __name__ == "__main__":
    main()
