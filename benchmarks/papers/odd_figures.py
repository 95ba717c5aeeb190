"""Figures 2 to 4 of the decision diagram benchmarks: accuracy of calibrated models, and rows through nodes."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.harness import Row, markdown_table, number
from benchmarks.papers.measuring import Cell, Page, Pass, decimals, mean
from benchmarks.papers.odd_pictures import ascending, distributions, fragmentation
from benchmarks.papers.odd_runs import TASKS, Chosen, Plan, calibrate, data_of, protocol, runs, whole

# ------------------------------------------------------------------ figures 2 and 3

Both = dict[str, dict[str, dict[str, Chosen]]]
"""By kind of splits and model ("ODT", "ODD"): what is chosen for each set."""


def choices(reading: Pass, plan: Plan) -> tuple[Both, list[Row]]:
    """The calibrated trees and diagrams of the sets where both have two nodes or more in the mean.

    A set counts once all of its runs with these splits are there, so that both are chosen from all.
    """
    diagrams = [name for name in plan.skeletons if name != "tree"]
    cells = plan.cells(skeletons=("tree", *diagrams))
    stored = runs(reading, plan, cells)
    chosen: Both = {}
    counted: list[Row] = []
    for kind in plan.splits:
        of_kind = [cell for cell in cells if cell.splits == kind]
        found = whole({cell: stored[cell] for cell in of_kind if cell in stored}, of_kind)
        counted += found.values()
        sides = {
            "ODT": calibrate({c: row for c, row in found.items() if c.skeleton == "tree"}),
            "ODD": calibrate({c: row for c, row in found.items() if c.skeleton != "tree"}),
        }
        kept = [
            name
            for name in plan.sets
            if all(name in side and side[name].mean("n_splits") >= 2 for side in sides.values())
        ]
        if kept:
            chosen[kind] = {model: {name: side[name] for name in kept} for model, side in sides.items()}
    return chosen, counted


_CHOSEN = (
    "Skeleton and alpha of the diagrams (ODD) and alpha of the trees (ODT) are those of the best mean validation "
    "accuracy for each set; of equals, those with fewer nodes. The paper takes the 18 sets for which optimal models "
    "were consistently found that are not trivial, and names them in its supplement only; here those sets count whose "
    "chosen tree and diagram have two nodes or more in the mean, and `proved` tells how many of the runs are optimal."
)


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


def accuracies(chosen: Both) -> dict[str, dict[str, list[float]]]:
    """Test accuracies in percent of all sets and seeds, by kind of splits and model."""
    return {
        kind: {model: [100 * value for one in side.values() for value in one.tests] for model, side in sides.items()}
        for kind, sides in chosen.items()
    }


def figure2(reading: Pass, *, plan: Plan) -> Page:
    """Figure 2: distribution of test accuracy of calibrated trees and diagrams."""
    chosen, rows = choices(reading, plan)
    values = accuracies(chosen)
    blocks = [protocol(rows), _CHOSEN]
    if values:
        blocks += ["![Violins of test accuracy](figure2.png)", _quartiles(values), *_chosen_table(chosen)]
    draw = partial(distributions, values, "Test accuracy of optimal trees and diagrams")
    return Page("Figure 2: test accuracy, trees and diagrams", blocks, {"figure2.png": draw} if values else {})


def _quartiles(values: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    lines = []
    for kind, models in values.items():
        for model, accuracies in models.items():
            low, middle, high = (
                statistics.quantiles(accuracies, n=4, method="inclusive")
                if len(accuracies) > 1
                else (accuracies[0],) * 3
            )
            told = (min(accuracies), low, middle, high, max(accuracies), statistics.fmean(accuracies))
            lines.append([f"{kind}, {model}", str(len(accuracies)), *(f"{value:.1f}" for value in told)])
    return markdown_table(["", "runs", "least", "quartile", "median", "quartile", "most", "mean"], lines)


def _chosen_table(chosen: Both) -> list[str]:
    blocks = []
    for kind, sides in chosen.items():
        lines = []
        for name in sides["ODT"]:
            line = [name]
            for model in ("ODT", "ODD"):
                one = sides[model][name]
                what = f"{one.alpha:g}" if model == "ODT" else f"{one.skeleton}, {one.alpha:g}"
                line += [what, f"{one.mean('n_splits'):.1f}", f"{one.proved} of {len(one.rows)}"]
                line += [_percent(one.mean("validation")), _percent(one.mean("test"))]
            lines.append(line)
        header = ["set"]
        for model in ("ODT", "ODD"):
            header += [f"{what}, {model}" for what in ("chosen", "nodes", "proved", "validation", "test")]
        blocks += [f"## Chosen, {kind} splits", markdown_table(header, lines)]
    return blocks


def figure3(reading: Pass, *, plan: Plan) -> Page:
    """Figure 3: test accuracies of calibrated trees and diagrams, in ascending order."""
    chosen, rows = choices(reading, plan)
    values = accuracies(chosen)
    blocks = [protocol(rows), _CHOSEN]
    if values:
        blocks.append("![Test accuracies in ascending order](figure3.png)")
    for kind, models in values.items():
        pairs = list(zip(sorted(models["ODD"]), sorted(models["ODT"]), strict=True))
        above, below = (sum((a - b) * sign > 1e-9 for a, b in pairs) for sign in (1, -1))
        blocks.append(
            f"With {kind} splits the curve of the diagrams is above that of the trees at {above} of {len(pairs)} "
            f"places and below at {below}; the mean difference is {mean(a - b for a, b in pairs):+.2f} points."
        )
    blocks.append("The paper draws this figure for oblique splits, where its diagrams are above nearly everywhere.")
    draw = partial(ascending, values, "Sorted test accuracies")
    return Page("Figure 3: sorted test accuracies", blocks, {"figure3.png": draw} if values else {})


# ------------------------------------------------------------------ figure 4

FRAGMENT_KEY = ("case", "seed", "skeleton", "alpha", "splits", "max_splits", "engine")
FRAGMENT_COLUMNS = (
    *("threads", "objective", "lower_bound", "seconds"),
    *("errors", "n_splits", "train", "test", "shape"),
)


def figure4(reading: Pass, *, plan: Plan, max_splits: int = 7) -> Page:
    """Figure 4: share of the rows through each node of a tree and of a diagram of at most seven nodes."""
    name, seed, alpha, kind = plan.sets[0], plan.seeds[0], plan.alphas[0], plan.splits[0]
    table = reading.table("fragments.csv", FRAGMENT_KEY, FRAGMENT_COLUMNS)
    rows: dict[str, Row] = {}
    for skeleton in dict.fromkeys(("tree", *plan.skeletons)):
        key = {"case": name, "seed": seed, "skeleton": skeleton, "alpha": alpha, "splits": kind}
        key |= {"max_splits": max_splits, "engine": plan.engine}
        cell = Cell(table, key, f"{TASKS}:fragments", {**key, "threads": 1}, plan.limit, data=data_of(name))
        row = reading.row(cell)
        if row["shape"]:
            rows[skeleton] = row
    blocks = [
        protocol(rows.values()),
        f"Models of at most {max_splits} nodes for `{name}`, seed {seed}, alpha {alpha:g}, {kind} splits: the tree, "
        "and in the picture the diagram of the skeleton with fewest errors, or then nodes, or then the first. Bars are "
        "as wide as the share of the training rows that passes through a node; `spread` is the standard deviation of "
        "the shares, in points. The paper does not say from which "
        "split its picture is.",
    ]
    diagrams = [skeleton for skeleton in rows if skeleton != "tree"]
    if "tree" in rows and diagrams:
        best = min(diagrams, key=lambda name: (number(rows[name]["errors"]), number(rows[name]["n_splits"])))
        shown = {"ODT": rows["tree"], f"ODD, skeleton {best}": rows[best]}
        shapes = {model: json.loads(row["shape"]) for model, row in shown.items()}
        told = {"ODT" if name == "tree" else f"ODD, skeleton {name}": row for name, row in rows.items()}
        blocks += ["![A tree and a diagram with the rows through their nodes](figure4.png)", _fragments(told)]
        draw = partial(fragmentation, shapes, f"Share of the rows through each node, {name}")
        return Page("Figure 4: fragmentation", blocks, {"figure4.png": draw})
    return Page("Figure 4: fragmentation", blocks)


def _fragments(shown: Mapping[str, Row]) -> str:
    header = ["", "objective", "bound", "train", "test", "nodes", "layers"]
    header += ["least share", "median share", "spread", "shares"]
    lines = []
    for model, row in shown.items():
        nodes = json.loads(row["shape"])["nodes"]
        shares = node_shares(row)
        least, middle = min(shares), statistics.median(shares)
        layers = 1 + max((int(layer) for layer, _ in nodes), default=-1)
        line = [model, decimals(row["objective"], 4), decimals(row["lower_bound"], 4)]
        line += [_percent(number(row["train"])), _percent(number(row["test"])), row["n_splits"], str(layers)]
        line += [_percent(least), _percent(middle), f"{100 * statistics.pstdev(shares):.1f}"]
        line += [" ".join(f"{100 * share:.0f}" for share in shares)]
        lines.append(line)
    return markdown_table(header, lines)


def node_shares(row: Row) -> list[float]:
    """The share of the training rows at each node of a model; 0 without a node."""
    return [share for _, share in json.loads(row["shape"])["nodes"]] or [0.0]
