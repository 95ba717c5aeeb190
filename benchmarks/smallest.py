"""How far smallest trees are proved: least depth, fewest nodes of least depth, and fewest nodes, by the number of rows.

``python -m benchmarks.smallest --rows 100 300 --seconds 60``; ``--sets raisin rice``. 0 rows stands for all.

Rows are drawn by ``default_rng(0).permutation(n)[:rows]``, and the table of :mod:`benchmarks.cases` as it is where it
has no more. Equal rows of two classes count as their majority.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.harness import RESULTS, Table, markdown_table, measure, number, run, seconds_text, write_page

GOALS = {"depth": "least depth", "nodes": "nodes of least depth", "nodes-any-depth": "nodes"}
SETS = (
    *("avila", "bank", "bean", "bidding", "eeg", "fault", "htru", "magic"),
    *("occupancy", "page", "raisin", "rice", "room", "segment", "skin", "wilt"),
    *(
        "inferdt/mouse",
        "inferdt/car",
        "uci/balance-scale",
        "uci/iris",
        "uci/monks1",
        "uci/monks2",
        "uci/monks3",
        "uci/wine",
    ),
)
COLUMNS = ("n", "depth", "depth_bound", "nodes", "nodes_bound", "status", "cpu", "error")


def fit(*, case: str, rows: int, goal: str, seconds: float) -> dict[str, Any]:
    """One fit on one thread: sizes of the tree, their bounds and CPU seconds."""
    from proofwood import MinimalTreeClassifier

    X, y = cases.load(case)
    if rows:
        chosen = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[chosen], y[chosen]
    learner = MinimalTreeClassifier(minimize=goal, time_limit=seconds, on_conflict="majority")
    result, cost = measure(lambda: learner.fit(X, y).result_)
    depth, nodes = result.parts
    return {
        "n": len(y),
        "depth": depth.objective,
        "depth_bound": depth.lower_bound,
        "nodes": nodes.objective,
        "nodes_bound": nodes.lower_bound,
        "status": str(result.status),
        "cpu": round(cost.cpu, 3),
    }


def tabulate(
    *,
    sets: Sequence[str] = SETS,
    rows: Sequence[int] = (100, 300, 1000, 0),
    goals: Sequence[str] = tuple(GOALS),
    seconds: float = 60.0,
    out: Path = RESULTS,
    fresh: bool = False,
) -> Path:
    """Measure what is missing in ``smallest.csv``, and write ``smallest.md`` and ``smallest.png``; returns the page."""
    path = out / "smallest.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(path, ("set", "rows", "goal", "seconds"), COLUMNS)
    for some in rows:
        for case in sets:
            for goal in goals:
                values = {"case": case, "rows": some, "goal": goal, "seconds": seconds}

                def work(values: dict[str, Any] = values) -> dict[str, Any]:
                    outcome = run("benchmarks.smallest:fit", values, hard_cap=2 * seconds + 60)
                    return {name: outcome.get(name) for name in COLUMNS}

                row = table.cell(work, set=case, rows=some, goal=goal, seconds=seconds)
                print(f"{case:<24} {some:>5} {GOALS[goal]:<22} {_cell(row)}", flush=True)
    return _render(table, out)


def _render(table: Table, out: Path) -> Path:
    blocks = [
        "How far `MinimalTreeClassifier` proves its trees: value and CPU seconds where it is proved, value and bound "
        "where it is not. One thread; rows drawn by `default_rng(0).permutation(n)[:rows]`. Nodes count leaves.",
        "![Bound over value by the number of rows](smallest.png)",
        "Tables that are proved at every size and goal are not drawn.",
    ]
    for seconds in dict.fromkeys(row["seconds"] for row in table.rows):
        for goal, name in GOALS.items():
            some = table.select(goal=goal, seconds=seconds)
            sizes = sorted({int(row["rows"]) for row in some}, key=lambda size: size or np.inf)
            lines = []
            for case in dict.fromkeys(row["set"] for row in some):
                found = [
                    next(iter(table.select(set=case, rows=size, goal=goal, seconds=seconds)), None) for size in sizes
                ]
                lines.append([case.split("/")[-1], *("" if row is None else _cell(row) for row in found)])
            header = ("table", *(f"{size:,} rows" if size else "all rows" for size in sizes))
            blocks += [f"## {name[0].upper()}{name[1:]}, {float(seconds):g} s", markdown_table(header, lines)]
    _draw(table, out / "smallest.png")
    return write_page(
        out / "smallest.md",
        "Smallest trees: how far proofs reach",
        *blocks,
        rows=table.rows,
        command="python -m benchmarks.smallest",
    )


def _sizes(row: dict[str, str]) -> tuple[float, float]:
    unit = "depth" if row["goal"] == "depth" else "nodes"
    return number(row[unit]), number(row[f"{unit}_bound"])


def _cell(row: dict[str, str]) -> str:
    if row["error"]:
        return row["error"][:40]
    value, bound = _sizes(row)
    depth_open = row["goal"] == "nodes" and row["depth"] != row["depth_bound"]
    if row["status"] == "optimal":
        return f"{value:g} in {seconds_text(number(row['cpu']))}"
    return f"{value:g}, bound {bound:g}" + (
        f" (depth {row['depth']}, bound {row['depth_bound']})" if depth_open else ""
    )


def _draw(table: Table, path: Path) -> None:
    """A panel for each goal: bound over value against rows, a line for each table that is not always proved."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator

    shares = {
        goal: {
            case: sorted(
                (number(row["n"]), _sizes(row)[1] / _sizes(row)[0])
                for row in table.select(goal=goal, set=case)
                if not row["error"]
            )
            for case in SETS
        }
        for goal in GOALS
    }
    drawn = [case for case in SETS if any(share < 1 for goal in GOALS for _, share in shares[goal][case])]
    figure = Figure(figsize=(11, 4), layout="constrained")
    panels = figure.subplots(1, len(GOALS), sharey=True)
    most = max((rows for goal in GOALS for case in drawn for rows, _ in shares[goal][case]), default=100)
    ticks = [10**power for power in range(2, 9) if 10**power <= max(most, 100)]
    for panel, (goal, name) in zip(panels, GOALS.items(), strict=True):
        for place, case in enumerate(drawn):
            points = shares[goal][case]
            color = colormaps["tab20"](place % 20)
            panel.plot(*zip(*points, strict=True), marker="osv^D"[place % 5], ms=4, lw=1, color=color, label=case)
        panel.set_xscale("log")
        panel.set_xticks(ticks, [f"{size:,}" for size in ticks])
        panel.xaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        panel.set_title(name)
        panel.set_xlabel("rows")
        panel.set_ylim(0, 1.05)
    panels[0].set_ylabel("bound over value")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False, fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of these measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smallest", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--rows", nargs="+", type=int, default=[100, 300, 1000, 0])
    parser.add_argument("--goals", nargs="+", choices=list(GOALS), default=list(GOALS))
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one fit")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    print(tabulate(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
