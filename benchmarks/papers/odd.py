"""Tables 1 and 2 and figures 2 to 4 of Optimal Decision Diagrams, measured again: a function and a subcommand for each.

``python -m benchmarks.papers.odd table1 --sets 10 --splits univariate --seeds 0`` measures what is not stored yet under
``benchmarks/results/odd``, stores every run as one line of CSV, and writes a page with the paper's figures beside ours.
``report`` writes the pages of what is stored and measures nothing. The whole protocol, 54 sets by 5 seeds by 5
skeletons by 5 alphas by 2 kinds of splits, takes days: give sets, skeletons, alphas, kinds and seeds to do a part of
it, and the same command again to go on. A run that reached its limit is measured again only if the new limit is longer.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import cases
from benchmarks.harness import RESULTS, markdown_table, number, seconds_text, write_page
from benchmarks.papers import odd_published as published
from benchmarks.papers.measuring import Published
from benchmarks.papers.odd_figures import figure2, figure3, figure4
from benchmarks.papers.odd_runs import CERTAIN, Cell, Plan, Row, Tally, calibrate, mean, protocol, runs, shares_stored
from benchmarks.papers.odd_tasks import ALPHAS, SKELETONS

OUT = RESULTS / "odd"
SPLITS = ("univariate", "oblique")
SHARES = (0.05, 0.1, 0.15, 0.2)
PRINTED_ALPHAS = tuple(published.TABLE_1_TOTALS["proved"])

KNOWN: Mapping[tuple[str, str, float, str], float] = {
    **{
        ("iris", skeleton, alpha, "univariate"): value
        for skeleton in ("I", "IV")
        for alpha, value in ((1.0, 0.0981), (0.5, 0.0624), (0.2, 0.0410), (0.1, 0.0214), (0.01, 0.0021))
    },
    ("iris", "I", 1.0, "oblique"): 0.0848,
    ("iris", "I", 0.2, "oblique"): 0.0276,
    ("seeds", "I", 1.0, "oblique"): 0.0714,
}
"""Optima of seed 0 in the unit of eq. 18, to four digits: set, skeleton, alpha, splits."""

# ------------------------------------------------------------------ words


def _share(count: float, of: float) -> str:
    return f"{100 * count / of:.0f}" if of else "–"


def _beside(ours: str, paper: str) -> str:
    return f"{ours} ({paper})"


def _four(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "–"


NEAR = 1e-9
"""Costs that differ by less are equal."""


# ------------------------------------------------------------------ table 1


def table1(plan: Plan, *, page: str = "table1") -> Path:
    """Table 1: runs that are proved optimal, or improved on the construction, by skeleton and alpha."""
    cells = plan.cells()
    found = runs(plan, cells)
    tally = Tally.of(found.values())
    blocks = [
        protocol(found.values()),
        "A run is proved if its bound meets its objective, improved if it is not proved but costs less than the best "
        "diagram of step 1; this is how the paper's table counts, whose shares (in brackets) are over 54 sets and five "
        "seeds and both kinds of splits. Shares are in percent of the runs. Skeleton III is as printed, with 18 nodes; "
        "the paper says that it has 15, and the authors' program runs it with a layer less, which is III-15.",
        f"Of {len(cells)} runs, {len(found)} are done: {tally.proved} proved, {tally.improved} improved, together "
        f"{_share(tally.proved + tally.improved, tally.runs)} % (the paper: 32 % proved, 58 % together); {tally.worse} "
        "cost more than step 1 found by itself.",
        "## By alpha",
        _by_alpha(found),
        "## By skeleton and alpha",
        "Proved:",
        _by_skeleton(found, "proved", published.TABLE_1_PROVED),
        "Improved:",
        _by_skeleton(found, "improved", published.TABLE_1_IMPROVED),
        "## By set",
        _by_set(found),
        *_beside_univariate(plan, found),
        "## What found the best diagram",
        _by_engine(found),
    ]
    return write_page(plan.out / f"{page}.md", "Table 1: proved and improved", *blocks, rows=[*found.values()])


def _by_alpha(found: Mapping[Cell, Row]) -> str:
    header = ["splits, alpha", "runs", "proved", "improved", "together"]
    header += ["proved (paper)", "improved (paper)", "together (paper)"]
    lines = []
    kinds = list(dict.fromkeys(cell.splits for cell in found))
    alphas = sorted({cell.alpha for cell in found}, reverse=True)
    for kind in kinds:
        for alpha in (*alphas, None):
            tally = Tally.of(row for cell, row in found.items() if cell.splits == kind and alpha in (None, cell.alpha))
            names = [name for name in PRINTED_ALPHAS if alpha is None or name == f"{alpha:g}"]
            printed = [
                sum(int(published.TABLE_1_TOTALS[what][name]) for name in names) for what in ("proved", "improved")
            ]
            of = len(published.TABLE_1_PROVED) * published.RUNS * len(names)
            line = [f"{kind}, {'all' if alpha is None else f'{alpha:g}'}", str(tally.runs)]
            for count in (tally.proved, tally.improved, tally.proved + tally.improved):
                line.append(_share(count, tally.runs))
            lines.append([*line, *(_share(count, of) for count in (*printed, sum(printed)))])
    return markdown_table(header, lines)


def _by_skeleton(found: Mapping[Cell, Row], what: str, printed: Published) -> str:
    alphas = sorted({cell.alpha for cell in found}, reverse=True)
    kinds = list(dict.fromkeys(cell.splits for cell in found))
    lines = []
    for kind in kinds:
        for skeleton in dict.fromkeys(cell.skeleton for cell in found):
            line = [f"{kind}, {skeleton}"]
            for alpha in alphas:
                tally = Tally.of(
                    row
                    for cell, row in found.items()
                    if (cell.splits, cell.skeleton, cell.alpha) == (kind, skeleton, alpha)
                )
                paper = printed.get(skeleton.removesuffix("-15"), {}).get(f"{alpha:g}")
                ours = _share(getattr(tally, what), tally.runs)
                line.append(_beside(ours, "–" if paper is None else _share(int(paper), published.RUNS)))
            lines.append(line)
    return markdown_table(["splits, skeleton", *(f"alpha {alpha:g}" for alpha in alphas)], lines)


def _by_set(found: Mapping[Cell, Row]) -> str:
    header = ["set", "train rows", "features", "tests", "classes", "runs", "proved", "improved", "worse"]
    header += ["mean gap", "mean gain", "median s", "median s to best"]
    lines = []
    for name in dict.fromkeys(cell.case for cell in found):
        rows = [row for cell, row in found.items() if cell.case == name]
        tally, first = Tally.of(rows), next((row for row in rows if row["rows"]), rows[0])
        line = [name, *(first[column] for column in ("rows", "features", "tests", "classes"))]
        line += [str(count) for count in (tally.runs, tally.proved, tally.improved, tally.worse)]
        for above, below in (("objective", "lower_bound"), ("start", "objective")):
            line.append(_four(mean(number(row[above]) - number(row[below]) for row in rows)))
        for column in ("seconds", "best_seconds"):
            kept = [number(row[column]) for row in rows if row[column]]
            line.append(seconds_text(statistics.median(kept) if kept else math.nan))
        lines.append(line)
    return markdown_table(header, lines)


def _beside_univariate(plan: Plan, found: Mapping[Cell, Row]) -> list[str]:
    """Oblique runs beside the univariate ones that are stored; nothing if there are none."""
    others = {cell: dataclasses.replace(cell, splits="univariate") for cell in found if cell.splits == "oblique"}
    stored = runs(dataclasses.replace(plan, measure=False), others.values())
    lines = []
    for skeleton in dict.fromkeys(cell.skeleton for cell in others):
        for alpha in sorted({cell.alpha for cell in others}, reverse=True):
            pairs = [
                (found[cell], stored[other])
                for cell, other in others.items()
                if (cell.skeleton, cell.alpha) == (skeleton, alpha) and other in stored
            ]
            if not pairs:
                continue
            costs = [tuple(number(row["objective"]) for row in pair) for pair in pairs]
            lower = sum(ours < other - NEAR for ours, other in costs)
            higher = sum(ours > other + NEAR for ours, other in costs)
            counts = (len(pairs), lower, len(pairs) - lower - higher, higher)
            means = (
                mean(number(ours[column]) for ours, _ in pairs) for column in ("start", "objective", "lower_bound")
            )
            line = [f"{skeleton}, {alpha:g}", *(str(count) for count in counts), *(_four(one) for one in means)]
            proved = sum(other["status"] in CERTAIN for _, other in pairs)
            lines.append([*line, _four(mean(cost for _, cost in costs)), str(proved)])
    if not lines:
        return []
    header = ["skeleton, alpha", "pairs", "lower", "equal", "higher", "mean cost of step 1", "mean cost"]
    header += ["mean bound", "mean cost, univariate", "of these proved"]
    return [
        "## Beside univariate splits",
        "The same set, skeleton and alpha, where both are stored.",
        markdown_table(header, lines),
    ]


def _by_engine(found: Mapping[Cell, Row]) -> str:
    counts: dict[str, Counter[str]] = {}
    for row in found.values():
        what = "proved" if row["status"] == "optimal" else "not proved" if row["by"] else row["status"]
        counts.setdefault(row["by"] or "none", Counter())[what] += 1
    states = sorted({what for per_engine in counts.values() for what in per_engine})
    lines = [[name, *(str(counts[name][what]) for what in states)] for name in sorted(counts)]
    return markdown_table(["engine", *states], lines)


# ------------------------------------------------------------------ table 2


def table2(plan: Plan, *, shares: Sequence[float] = SHARES) -> Path:
    """Table 2: test accuracy where so large a share of the rows must pass through every node."""
    found = runs(plan, plan.cells(min_samples=(0.0, *shares)))
    lines, choices = [], []
    for kind in plan.splits:
        chosen = {
            share: calibrate({c: row for c, row in found.items() if (c.splits, c.min_samples) == (kind, share)})
            for share in (0.0, *shares)
        }
        common = [name for name in plan.sets if all(name in per_share for per_share in chosen.values())]
        line = [kind, str(len(common))]
        for share, per_share in chosen.items():
            ours = mean(per_share[name].mean("test") for name in common)
            paper = published.TABLE_2.get(kind, {}).get(f"{share:g}")
            text = "–" if math.isnan(ours) else f"{ours:.3f}"
            line.append(_beside(text, paper) if paper else text)
        lines.append(line)
        for name in common:
            used = [chosen[share][name] for share in (0.0, *shares)]
            told = (
                f"{one.mean('test'):.3f}, {one.skeleton}, {one.alpha:g}, {one.mean('n_splits'):.1f}" for one in used
            )
            choices.append([f"{kind}, {name}", *told])
    stated = [f"S = {share:g} n" for share in (0.0, *shares)]
    return write_page(
        plan.out / "table2.md",
        "Table 2: stability",
        protocol(found.values()),
        "Mean test accuracy where at least S of the n training rows must pass through every node (eq. 20), beside the "
        "paper's in brackets; skeleton and alpha are those of the best validation accuracy for each set and S. Means "
        "are over the sets where every seed has a model for every S; the paper does not say over which sets its are.",
        markdown_table(["splits", "sets", *stated], lines),
        "## By set",
        "Test accuracy, skeleton, alpha, mean number of nodes:",
        markdown_table(["splits, set", *stated], choices),
        rows=[*found.values()],
    )


# ------------------------------------------------------------------ known optima, and all pages


def known(plan: Plan) -> Path:
    """Objectives of seed 0 whose optima are known: are they found, and proved?"""
    wanted = {
        Cell(name, 0, skeleton, alpha, kind, 0.0, plan.engine): value
        for (name, skeleton, alpha, kind), value in KNOWN.items()
    }
    found = runs(plan, (cell for cell in wanted if cell.splits in plan.splits and cell.case in plan.sets))
    lines, right = [], 0
    for cell, row in found.items():
        same = abs(number(row["objective"]) - wanted[cell]) <= 0.5e-4
        right += same
        line = [f"{cell.case}, {cell.skeleton}, {cell.splits}", f"{cell.alpha:g}", f"{wanted[cell]:.4f}"]
        line += [_four(number(row["objective"])), "yes" if same else "no", row["status"]]
        lines.append([*line, _four(number(row["lower_bound"])), seconds_text(number(row["seconds"]))])
    header = ["set, skeleton, splits", "alpha", "known", "found", "equal", "status", "bound", "s"]
    proved = sum(row["status"] == "optimal" for row in found.values())
    return write_page(
        plan.out / "known.md",
        "Known optima",
        protocol(found.values()),
        f"Of {len(found)} runs, {right} have the known value and {proved} are proved.",
        markdown_table(header, lines),
        rows=[*found.values()],
    )


def report(plan: Plan) -> Path:
    """All pages of what is stored; nothing is measured."""
    stored = dataclasses.replace(plan, measure=False, fresh=False)
    for make in (figure2, figure3, known):
        print(make(stored))
    shares = shares_stored(stored)
    if shares:
        print(table2(stored, shares=shares))
    if (plan.out / "fragments.csv").exists():
        print(figure4(dataclasses.replace(stored, **FIGURE_4)))
    return table1(stored)


# ------------------------------------------------------------------ command line

MAKE: dict[str, Callable[..., Path]] = {
    "table1": table1,
    "table2": table2,
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "known": known,
    "report": report,
}

FIGURE_4: dict[str, Any] = {
    "sets": ("teaching-assistant-evaluation",),
    "skeletons": ("II", "III", "IV"),
    "alphas": (0.01,),
    "splits": ("univariate",),
    "seeds": (0,),
}
"""What figure 4 shows unless told otherwise."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "table1": {},
    "table2": {"skeletons": ("I", "IV"), "alphas": (0.01, 0.1, 0.2)},
    "figure2": {},
    "figure3": {},
    "figure4": FIGURE_4,
    "known": {"sets": ("iris", "seeds")},
    "report": {"sets": cases.UCI},
}
"""Where the arguments of a subcommand differ from ``ALL``."""

ALL: dict[str, Any] = {
    "sets": cases.UCI[:10],
    "skeletons": tuple(published.TABLE_1_PROVED),
    "alphas": ALPHAS[::-1],
    "splits": SPLITS,
    "seeds": (0, 1, 2, 3, 4),
}


def read_sets(given: Sequence[str]) -> tuple[str, ...]:
    """Names of sets; a number stands for so many of the smallest, by rows.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such set.
    """
    if len(given) == 1 and given[0].isdecimal():
        return cases.UCI[: int(given[0])]
    there = {*cases.UCI, *cases.generated_names()}
    unknown = [name for name in given if name not in there]
    if unknown:
        raise argparse.ArgumentTypeError(f"no set {unknown[0]!r}: expected a number, or some of {', '.join(cases.UCI)}")
    return tuple(given)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line: one subcommand per table or figure, one for the known optima, one for all pages."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.odd",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="PAGE")
    for name, make in MAKE.items():
        command = commands.add_parser(name, help=(make.__doc__ or "").splitlines()[0].replace("%", "%%"))
        use = ALL | DEFAULTS[name]
        told = "a number (so many of the smallest, by rows) or names"
        command.add_argument("--sets", nargs="+", default=None, metavar="N | NAME", help=told)
        command.add_argument("--skeletons", nargs="+", default=use["skeletons"], choices=list(SKELETONS))
        command.add_argument("--alphas", nargs="+", type=float, default=use["alphas"])
        command.add_argument("--splits", nargs="+", default=use["splits"], choices=SPLITS)
        command.add_argument("--seeds", nargs="+", type=int, default=use["seeds"])
        command.add_argument("--engine", default="auto", help="of the second step (default: auto)")
        command.add_argument("--time-limit", type=float, default=60.0, dest="seconds", help="seconds of a run (60)")
        command.add_argument("--start-seconds", type=float, default=2.0, help="seconds of the construction alone (2)")
        command.add_argument("--threads", type=int, default=2, help="of a run (default: 2)")
        command.add_argument("--processes", type=int, default=1, help="runs at a time (default: 1)")
        command.add_argument("--out", type=Path, default=OUT, help="folder of the results")
        command.add_argument("--fresh", action="store_true", help="measure again what is stored")
        command.add_argument("--in-process", action="store_true", help="no child per run: no hard cap, one at a time")
        if name == "table1":
            command.add_argument("--page", default="table1", help="name of the page, for parts of the table (table1)")
        if name == "table2":
            command.add_argument("--shares", nargs="+", type=float, default=SHARES, help="S as shares of the rows")
        if name == "figure4":
            command.add_argument("--max-splits", type=int, default=7, help="most nodes (default: 7)")
    values = vars(parser.parse_args(arguments))
    what = values.pop("what")
    isolate = not values.pop("in_process")
    try:
        sets = (ALL | DEFAULTS[what])["sets"] if values["sets"] is None else read_sets(values["sets"])
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    more = {name: values.pop(name) for name in ("page", "shares", "max_splits") if name in values}
    lists = {name: tuple(values.pop(name)) for name in ("skeletons", "alphas", "splits", "seeds")}
    if not isolate:
        values["processes"] = 1
    plan = Plan(**values | lists | {"sets": sets, "isolate": isolate})
    print(MAKE[what](plan, **more))


if __name__ == "__main__":
    main()
