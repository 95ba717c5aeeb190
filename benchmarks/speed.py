"""Seconds against another exact learner: one thread each, CPU time, runs in turn, median ratio of five pairs.

``python -m benchmarks.speed --depth 2 3`` measures all sixteen numeric sets against pycontree and goes on where it was
broken off; ``--rival streed`` measures the sixteen sets of 0/1 columns against pystreed. ``--sets`` and ``--seconds``
narrow it. A set on which the rival takes more than ``--slow`` CPU seconds is run once by it.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import cases
from benchmarks.harness import (
    RESULTS,
    Spread,
    Table,
    geometric_mean,
    markdown_table,
    number,
    run,
    seconds_text,
    write_page,
)

OURS = "proofwood"


@dataclass(frozen=True, slots=True)
class Rival:
    """Who is compared with, on which sets, and where the runs are stored."""

    package: str
    sets: Sequence[str]
    page: str


RIVALS = {
    "pycontree": Rival("pycontree", cases.QUANTBNB, "speed"),
    "streed": Rival("pystreed", tuple(f"cp4im/{name}" for name in cases.BITS), "speed-bits"),
}


def compare(
    *,
    rival: str = "pycontree",
    sets: Sequence[str] | None = None,
    depths: Sequence[int] = (2, 3),
    pairs: int = 5,
    seconds: float = 1800.0,
    slow: float = 60.0,
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Path:
    """Measure what is missing in the rival's table and write its page; returns the page."""
    against = RIVALS[rival]
    table = _table(out / f"{against.page}.csv", fresh=fresh)
    for depth in depths:
        for case in against.sets if sets is None else sets:
            if table.find(depth=depth, set=case) is not None:
                continue
            values = {
                "ours": {"learner": OURS, "seconds": seconds},
                "theirs": {"learner": rival, "seconds": seconds},
                "case": case,
                "depth": depth,
                "count": pairs,
                "slow": slow,
            }
            outcome = run("benchmarks.tasks:pairs", values, hard_cap=(seconds + 60) * (pairs + 1) * 2, isolate=isolate)
            runs = outcome.get("runs", [{"side": "both", "pair": 0, **outcome}])
            for one in runs:
                stored = {name: one.get(name) for name in ("side", "pair", *table.columns)}
                table.add({"depth": depth, "set": case, **stored})
            print(_line(table, depth, case), flush=True)
    return render(table, out / f"{against.page}.md", against.package)


def _table(path: Path, *, fresh: bool) -> Table:
    if fresh:
        path.unlink(missing_ok=True)
    columns = ("cpu", "wall", "errors", "lower_bound", "status", "error")
    return Table(path, ("depth", "set", "side", "pair"), columns)


def ratios(table: Table, depth: int, case: str) -> list[float]:
    """CPU seconds of the rival over ours, pair by pair; a rival that was run once is divided by each of our runs."""
    ours = {row["pair"]: number(row["cpu"]) for row in table.select(depth=depth, set=case, side="ours")}
    theirs = {row["pair"]: number(row["cpu"]) for row in table.select(depth=depth, set=case, side="theirs")}
    if len(theirs) == 1:
        (once,) = theirs.values()
        return [once / mine for mine in ours.values()]
    return [theirs[pair] / ours[pair] for pair in ours if pair in theirs]


def render(table: Table, page: Path, package: str = "pycontree") -> Path:
    """The page of a table of runs."""
    blocks = [
        "CPU seconds of `fit`, one thread each, runs of both sides in turn in one process; the ratio is "
        f"{package} over proofwood, the median of the pairs with quartiles. Errors are recounted from the "
        "predictions; *capped* means that the rival stopped at its time limit without a proof, so that the ratio is a "
        "lower bound."
    ]
    shown = []
    for depth in sorted({int(row["depth"]) for row in table.rows}):
        rows, medians = [], []
        for case in dict.fromkeys(row["set"] for row in table.rows if row["depth"] == str(depth)):
            found = ratios(table, depth, case)
            shown += table.select(depth=depth, set=case)
            if not found:
                why = table.select(depth=depth, set=case)[0]
                rows.append([case, "–", "–", f"{why['status']}: {why['error']}", "–", "–"])
                continue
            spread = Spread.of(found)
            medians.append(spread.median)
            ours, theirs = (table.select(depth=depth, set=case, side=side) for side in ("ours", "theirs"))
            mark = " (capped)" if theirs[0]["status"] != "optimal" else ""
            rows.append(
                [
                    case,
                    seconds_text(statistics.median(number(row["cpu"]) for row in ours)),
                    seconds_text(statistics.median(number(row["cpu"]) for row in theirs)) + mark,
                    str(spread),
                    f"{ours[0]['errors']} ({ours[0]['status']})",
                    theirs[0]["errors"],
                ]
            )
        header = ("set", "proofwood, s", f"{package}, s", "ratio (quartiles)", "our errors", "its errors")
        blocks.append(f"## Depth {depth}\n\n{markdown_table(header, rows)}")
        blocks.append(f"Geometric mean of the ratios: {geometric_mean(medians):.3g}, least {min(medians):.3g}.")
    depths = " ".join(map(str, sorted({int(row["depth"]) for row in table.rows})))
    return write_page(
        page,
        f"Speed against {package}",
        *blocks,
        rows=shown,
        command=f"python -m benchmarks.speed{'' if package == 'pycontree' else ' --rival streed'} --depth {depths}",
    )


def _line(table: Table, depth: int, case: str) -> str:
    found = ratios(table, depth, case)
    rows = table.select(depth=depth, set=case)
    return (
        f"depth {depth}  {case:<12} ratio {Spread.of(found)}"
        if found
        else f"depth {depth}  {case:<12} {rows[0]['error']}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--rival", choices=sorted(RIVALS), default="pycontree")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="data sets, those of the rival by default")
    parser.add_argument("--depth", nargs="+", type=int, default=[2, 3], dest="depths")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1800.0, help="time limit of one fit")
    parser.add_argument("--slow", type=float, default=60.0, help="CPU seconds from which the rival is run once")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(compare(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
