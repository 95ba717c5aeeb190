"""What each rule of the tree search saves: the same problem with all rules and with each one switched off in turn.

``python -m benchmarks.ablation --depth 3 --seconds 60`` and ``--depth 4 --sets bank bidding ...``

A finished run is never measured again, a run that its limit ended only under a longer one.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import cases
from benchmarks.harness import RESULTS, Table, geometric_mean, markdown_table, measure, number, run, write_page

EIGHT = ("bank", "bidding", "occupancy", "page", "raisin", "room", "segment", "wilt")
"""The sets whose depth four takes seconds to minutes."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule to switch off: what it does, the options without it, and the price of a leaf at which it is looked at."""

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    alpha: float = 0.0


RULES = {
    "similarity": Rule("neighbourhood pruning and cross bound (eq. 3, 7-9)", {"similarity": False}),
    "interval_shrinking": Rule("another look when an interval is taken up (eq. 10, 11)", {"interval_shrinking": False}),
    "sub_interval": Rule("sub-interval pruning (eq. 12, Theorem 3)", {"sub_interval": False}),
    "feature_bounds": Rule("bounds between neighbouring subproblems", {"feature_bounds": False}),
    "depth_two": Rule("the batched routine (Algorithm 2)", {"depth_two": False}),
    "stump_bounds": Rule("logarithms only where a cheap bound asks for them", {"stump_bounds": False}),
    "coarse": Rule("coarse walks over many columns before the exact ones", {"coarse": False}),
    "cache": Rule("solved subproblems are kept", {"cache": False}),
    "blocks": Rule("bounds by blocks of rows, which a proof does not need", {"blocks": False}),
    "merge_rows": Rule("rows of equal values become one", {"merge_rows": False}),
    "greedy_tree": Rule("the first tree is grown by least Gini impurity", {"greedy_tree": False}),
    "polish": Rule("early trees are improved node by node", {"polish": False}),
    "beam": Rule("good roots of trees of depth two are tried", {"beam": False}),
    "local_search": Rule("splits of the best tree are replaced", {"local_search": False}),
    "exact sides": Rule("sides of depth two are solved to their end (eta = 1 instead)", {"eta": 1.0}),
    "packed": Rule("tables of few tests over packed words", {"packed": False}),
    "pair_sums": Rule("the same for costs by sums", {"pair_sums": False}),
    "priced": Rule("deep trees whose leaves have a price, without a depth", {"priced": False}, alpha=0.001),
    "split_off": Rule("there, sets of rows differ by a split and a leaf", {"split_off": False}, alpha=0.001),
    "dominated": Rule("there, tests are left out for good", {"dominated": False}, alpha=0.001),
    "three_leaves": Rule("there, trees of three leaves are bounded", {"three_leaves": False}, alpha=0.001),
    "affordable": Rule("no deeper than the splits that a limit pays for", {"affordable": False}, alpha=0.001),
}
"""Rules by name, one for every switch of ``SearchOptions``."""

MEASURES = {"subproblems": "Subproblems", "batches": "Batches of the depth-two routine", "cpu": "CPU seconds"}
COLUMNS = (
    *("seconds", "status", "objective", "lower_bound", "subproblems", "batches", "depth_two_splits"),
    *("cpu", "kernel", "error"),
)


def search(*, case: str, depth: int, seconds: float, alpha: float = 0.0, options: Mapping[str, Any]) -> dict[str, Any]:
    """One search on one thread: its answer, its counters and its CPU seconds."""
    from proofwood.engines.trees import SearchOptions, solve
    from proofwood.problem.tree import TreeProblem
    from proofwood.result import Limits

    X, y = cases.load(case)
    problem = TreeProblem.from_arrays(X, y, max_depth=depth, alpha=alpha)
    limits = Limits(seconds=seconds, threads=1)
    result, cost = measure(lambda: solve(problem, options=SearchOptions(**options), limits=limits))
    return {
        "status": str(result.status),
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "cpu": cost.cpu,
        "kernel": result.stats.engine,
        **{name: result.stats.counters.get(name) for name in ("subproblems", "batches", "depth_two_splits")},
    }


def compare(
    *,
    sets: Sequence[str] = cases.QUANTBNB,
    depth: int = 3,
    rules: Sequence[str] = tuple(RULES),
    seconds: float = 60.0,
    out: Path = RESULTS,
    fresh: bool = False,
    isolate: bool = True,
) -> Path:
    """Measure what is missing in ``ablation.csv`` and write ``ablation.md``; returns the page.

    Raises
    ------
    AssertionError
        If two finished searches of one problem differ in their objective.
    """
    path = out / "ablation.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(path, ("depth", "set", "alpha", "off"), COLUMNS)

    def row_of(case: str, alpha: float, off: str) -> dict[str, str]:
        key = {"depth": depth, "set": case, "alpha": alpha, "off": off}
        row = table.find(**key)
        done = row is not None and row["status"] not in ("", "failed")
        if row is not None and done and (row["status"] == "optimal" or number(row["seconds"]) >= seconds):
            return row
        options = dict(RULES[off].options) if off else {}
        values = {"case": case, "depth": depth, "seconds": seconds, "alpha": alpha, "options": options}
        outcome = run("benchmarks.ablation:search", values, hard_cap=2 * seconds + 120, isolate=isolate)
        row = table.add(
            {**key, "seconds": seconds, **{name: outcome.get(name) for name in COLUMNS if name != "seconds"}}
        )
        print(f"{case:<12} depth {depth}  without {off or '-':<20} {row['cpu']:>9} s  {row['status']}", flush=True)
        return row

    for case in sets:
        for alpha in dict.fromkeys(RULES[name].alpha for name in rules):
            base = row_of(case, alpha, "")
            if base["status"] != "optimal":  # nothing to compare with
                continue
            for off in (name for name in rules if RULES[name].alpha == alpha):
                row = row_of(case, alpha, off)
                if row["status"] == "optimal" and row["objective"] != base["objective"]:
                    raise AssertionError(
                        f"{case}, depth {depth}: {row['objective']} without {off}, {base['objective']} with it"
                    )
    return _render(table, out / "ablation.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", help="default: all sixteen at depth 3, eight of them at depth 4")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--rules", nargs="+", choices=list(RULES), default=list(RULES))
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one search")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    given = vars(parser.parse_args(arguments))
    given["sets"] = given["sets"] or (cases.QUANTBNB if given["depth"] <= 3 else EIGHT)
    print(compare(**given))


# ------------------------------------------------------------------ the page


def _render(table: Table, page: Path) -> Path:
    blocks = [
        "Each search runs on one thread with all rules, and with one of them switched off. A number is how many times "
        "as much the search without the rule takes as the one with all rules: 1.00 says that the rule saves nothing, "
        "less that it costs. `≥` stands before what a search had taken when its time limit ended it. Subproblems and "
        "batches do not depend on the load of the machine, only on how many splits a batch holds, which its "
        "instruction set decides (32 with AVX-512, 16 with AVX2). CPU seconds do, and say little where a search takes "
        "a tenth of a second.",
        "\n".join(f"- `{name}`: {_explained(RULES[name])}" for name in _measured(table)),
    ]
    for depth in sorted({int(row["depth"]) for row in table.rows}):
        blocks.append(f"## Depth {depth}")
        blocks.append(_answers(table, depth))
        for measured, title in MEASURES.items():
            blocks += [f"### {title}, depth {depth}", _factors(table, depth, measured)]
    return write_page(
        page,
        "What each rule of the tree search saves",
        *blocks,
        rows=table.rows,
        command="python -m benchmarks.ablation --depth 3",
    )


def _measured(table: Table) -> list[str]:
    """The rules that some search of the table was made without."""
    without = {row["off"] for row in table.rows}
    return [name for name in RULES if name in without]


def _explained(rule: Rule) -> str:
    return rule.text + (f"; with `alpha={rule.alpha:g}`" if rule.alpha else "")


def _answers(table: Table, depth: int) -> str:
    rows = []
    for case in dict.fromkeys(row["set"] for row in table.select(depth=depth)):
        row = table.find(depth=depth, set=case, alpha=0.0, off="")
        if row is None:
            continue
        proved = row["objective"] if row["status"] == "optimal" else f"{row['objective']} (≥ {row['lower_bound']})"
        counts = [f"{int(row[name]):,}" if row[name] else "–" for name in ("subproblems", "batches")]
        rows.append([case, proved, *counts, f"{number(row['cpu']):.3g}"])
    return markdown_table(("all rules", "errors", "subproblems", "batches", "CPU, s"), rows)


def _factor(table: Table, depth: int, case: str, rule: str, measured: str) -> tuple[float, bool] | None:
    """How many times as much without the rule, and whether that search was finished; None if it is not known."""
    alpha = RULES[rule].alpha
    base = table.find(depth=depth, set=case, alpha=alpha, off="")
    without = table.find(depth=depth, set=case, alpha=alpha, off=rule)
    if base is None or without is None or base["status"] != "optimal":
        return None
    with_rule, no_rule = number(base[measured]), number(without[measured])
    if not (with_rule > 0 and no_rule > 0):  # such as no batches without the routine that makes them
        return None
    return no_rule / with_rule, without["status"] == "optimal"


def _factors(table: Table, depth: int, measured: str) -> str:
    sets = list(dict.fromkeys(row["set"] for row in table.select(depth=depth)))
    rows = []
    finished: dict[str, list[float]] = {rule: [] for rule in _measured(table)}
    for case in sets:
        cells = []
        for rule in finished:
            factor = _factor(table, depth, case, rule, measured)
            if factor is None:
                cells.append("–")
                continue
            times, complete = factor
            if complete:
                finished[rule].append(times)
            cells.append(("" if complete else "≥ ") + (f"{times:.2f}" if times < 10 else f"{times:.3g}"))
        rows.append([case, *cells])
    lines = {
        "geometric mean of the finished": lambda found: f"{geometric_mean(found):.3f}",
        "median": lambda found: f"{statistics.median(found):.3f}",
        "most": lambda found: f"{max(found):.3g}",
        "least": lambda found: f"{min(found):.3f}",
        "finished": lambda found: str(len(found)),
    }
    for name, text in lines.items():
        rows.append([name, *(text(found) if found else "–" for found in finished.values())])
    return markdown_table(("set", *finished), rows)


if __name__ == "__main__":
    main()
