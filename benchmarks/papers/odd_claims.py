"""The headline claims of Optimal Decision Diagrams, each decided by the rows that are stored."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping
from typing import Any

from scipy.stats import spearmanr

from benchmarks.harness import Row, number
from benchmarks.papers import odd, odd_published
from benchmarks.papers.measuring import Claim, Pass, mean
from benchmarks.papers.odd_figures import accuracies, choices, node_shares
from benchmarks.papers.odd_runs import OneRun, Tally, calibrate, runs
from benchmarks.papers.verdicts import unmeasured

NOISE = 0.5
"""Points by which means of accuracy on test rows differ with the split."""
COMPARABLE = 1.0
"""Points within which mean accuracies of diagrams and trees count as comparable."""

_QUARTILES = ("the first", "the second", "the third")


def odd_claims(reading: Pass) -> list[Claim]:
    """ODD: shares of runs that are proved, trees beside diagrams, stability, fragmentation."""
    plan = odd.PROTOCOL
    cells = plan.cells()
    found = runs(reading, plan, cells)
    whole = len(odd_published.TABLE_1_PROVED) * len(plan.alphas) * odd_published.RUNS
    printed = {what: sum(map(int, row.values())) for what, row in odd_published.TABLE_1_TOTALS.items()}
    shares = {"proved": printed["proved"] / whole, "proved or improved": sum(printed.values()) / whole}
    limits = f"table 1; here seed 0, {plan.limit:g} s for 600 and {plan.start_seconds:g} s of step 1 for 60"
    says = [f"{100 * share:.0f} % of the runs are {what} ({limits})" for what, share in shares.items()]
    says.append(f"more runs are proved as alpha rises ({limits})")
    says.append(f"diagrams take an effort like that of trees: as many runs are proved ({limits})")
    says.append(
        f"training is difficult with many rows, and little more with many columns ({limits}; rank correlation over the "
        "sets with the share of runs that are proved, for columns less than half of that for rows)"
    )
    if len(found) < len(cells):
        claims = [unmeasured(one, len(found), len(cells)) for one in says]
    else:
        tally = Tally.of(found.values(), plan.limit)
        ours = {"proved": tally.proved, "proved or improved": tally.proved + tally.improved}
        claims = [
            _share(one, ours[what] / tally.runs, share)
            for one, (what, share) in zip(says, shares.items(), strict=False)
        ]
        claims += [_by_alpha(says[2], found), _by_skeleton(says[3], found), _by_size(says[4], found)]
    return [*claims, *_accurate(reading, len(found), len(cells)), *_stable(reading), _balanced(reading)]


def _share(says: str, ours: float, there: float) -> Claim:
    why = "" if ours > there else f"{100 * ours:.1f} % against {100 * there:.1f}, with the shorter limit"
    return Claim(says, f"{100 * ours:.0f} %", "exceeds" if ours > there else "contradicts", why)


def _proved(found: Mapping[OneRun, Row], column: str) -> dict[Any, float]:
    """Percent of the runs that are proved within the limit, by a column of the run."""
    groups: dict[Any, list[Row]] = {}
    for cell, row in found.items():
        groups.setdefault(getattr(cell, column), []).append(row)
    tallies = {name: Tally.of(rows, odd.PROTOCOL.limit) for name, rows in groups.items()}
    return {name: tally.percent(tally.proved) for name, tally in tallies.items()}


def _by_alpha(says: str, found: Mapping[OneRun, Row]) -> Claim:
    shares = dict(sorted(_proved(found, "alpha").items()))
    told = ", ".join(f"{alpha:g}: {share:.0f} %" for alpha, share in shares.items())
    values = list(shares.values())
    falls = any(later < earlier for earlier, later in itertools.pairwise(values))
    return Claim(says, told, "contradicts" if falls else "holds", "the share falls where alpha rises" if falls else "")


def _by_skeleton(says: str, found: Mapping[OneRun, Row]) -> Claim:
    shares = _proved(found, "skeleton")
    told = ", ".join(f"{name}: {share:.0f} %" for name, share in shares.items())
    least = min(share for name, share in shares.items() if name != "tree")
    ahead = least >= shares["tree"] - 5
    return Claim(says, told, "holds" if ahead else "contradicts", "" if ahead else "trees are proved more often")


def _by_size(says: str, found: Mapping[OneRun, Row]) -> Claim:
    shares = _proved(found, "case")
    if len(set(shares.values())) == 1:
        return Claim(says, "the share is the same on all sets", "contradicts", "all sets are as difficult")
    sizes = {cell.case: (number(row["rows"]), number(row["features"])) for cell, row in found.items()}
    rows, columns = (
        float(spearmanr([sizes[case][at] for case in shares], list(shares.values())).statistic) for at in (0, 1)
    )
    holds = rows < 0 and abs(columns) < abs(rows) / 2
    text = f"{rows:+.2f} with rows, {columns:+.2f} with columns, over {len(shares)} sets"
    return Claim(says, text, "holds" if holds else "contradicts", "" if holds else text)


def _accurate(reading: Pass, done: int, of: int) -> list[Claim]:
    """Figures 2 and 3 and their text: diagrams beside trees of the same plan, accuracy on test rows and nodes."""
    where = "figures 2, 3 and their text; here one seed"
    accurate = {
        "univariate": f"optimal diagrams and trees have comparable accuracy, univariate splits ({where}, within "
        f"{COMPARABLE:g} points in the mean)",
        "oblique": f"optimal diagrams are more accurate than optimal trees, oblique splits ({where})",
    }
    fewer = {
        kind: f"optimal diagrams have fewer nodes than optimal trees, {kind} splits (introduction; here one seed)"
        for kind in odd.SPLITS
    }
    higher = {
        kind: f"the first, second and third quartile of the accuracy are higher for optimal diagrams than for optimal "
        f"trees, {kind} splits (figure 2; here one seed)"
        for kind in odd.SPLITS
    }
    if done < of:
        return [unmeasured(one, done, of) for one in (*accurate.values(), *higher.values(), *fewer.values())]
    chosen, _ = choices(reading, odd.PROTOCOL)
    claims = []
    for kind in odd.SPLITS:
        if kind not in chosen:
            none = "no set has models of two nodes or more"
            claims += [Claim(one, none, "not measured") for one in (accurate[kind], higher[kind], fewer[kind])]
            continue
        trees, diagrams = (accuracies(chosen)[kind][model] for model in ("ODT", "ODD"))
        gain = mean(diagrams) - mean(trees)
        nodes = [mean(side.mean("n_splits") for side in chosen[kind][model].values()) for model in ("ODT", "ODD")]
        quartiles = [statistics.quantiles(values, n=4, method="inclusive") for values in (trees, diagrams)]
        told = " / ".join(f"{ours:.1f} against {theirs:.1f}" for theirs, ours in zip(*quartiles, strict=True))
        text = f"{gain:+.2f} points in the mean of {len(trees)} sets"
        ahead = abs(gain) <= COMPARABLE if kind == "univariate" else gain > 0
        why = "" if ahead else "one seed of five, a choice on few rows"
        claims.append(Claim(accurate[kind], text, "holds" if ahead else "contradicts", why))
        lower = [name for name, there, ours in zip(_QUARTILES, *quartiles, strict=True) if ours <= there]
        why = f"one seed of five, a choice on few rows; not higher: {', '.join(lower)}" if lower else ""
        claims.append(Claim(higher[kind], f"quartiles {told}", "contradicts" if lower else "holds", why))
        less = nodes[1] < nodes[0]
        text = f"{nodes[1]:.2f} against {nodes[0]:.2f} in the mean of {len(trees)} sets"
        why = "" if less else "one seed of five; the calibration of both asks for accuracy alone"
        claims.append(Claim(fewer[kind], text, "holds" if less else "contradicts", why))
    return claims


def _stable(reading: Pass) -> list[Claim]:
    """Table 2: what a share of the rows at each node costs."""
    plan = odd.TABLE_2
    cells = plan.cells(min_samples=(0.0, *odd.SHARES))
    found = runs(reading, plan, cells)
    claims = []
    for kind, printed in odd_published.TABLE_2.items():
        first, last = printed["0.05"], printed["0.2"]
        says = f"a fifth of the rows at each node costs little accuracy: {first} to {last}, {kind} (table 2; one seed)"
        asked = [cell for cell in cells if cell.splits == kind]
        done = sum(cell in found for cell in asked)
        if done < len(asked):
            claims.append(unmeasured(says, done, len(asked)))
            continue
        means = [
            mean(
                one.mean("test")
                for one in calibrate(
                    {c: row for c, row in found.items() if (c.splits, c.min_samples) == (kind, share)}
                ).values()
            )
            for share in (0.05, 0.2)
        ]
        lost, there = 100 * (means[0] - means[1]), 100 * (number(first) - number(last))
        holds = lost <= there + NOISE
        text = f"{means[0]:.3f} to {means[1]:.3f}"
        why = "" if holds else f"{lost:.1f} points are lost for {there:.1f}"
        claims.append(Claim(says, text, "holds" if holds else "contradicts", why))
    return claims


def _balanced(reading: Pass) -> Claim:
    """Figure 4: rows at the nodes of a tree and of a diagram."""
    says = (
        "the shares of the rows at the nodes are more balanced in a diagram than in a tree of as many nodes (figure 4; "
        "here their standard deviation)"
    )
    before = len(reading.rows)
    odd.figure4(reading, plan=odd.FIGURE_4)
    rows = {row["skeleton"]: row for row in reading.rows[before:] if row["shape"]}
    of = 1 + len(odd.FIGURE_4.skeletons)
    if len(rows) < of:
        return unmeasured(says, len(rows), of)
    spread = {name: 100 * statistics.pstdev(node_shares(row)) for name, row in rows.items()}
    told = ", ".join(f"{name} {points:.1f}" for name, points in spread.items())
    more = [name for name, points in spread.items() if name != "tree" and points >= spread["tree"]]
    middle = ", ".join(f"{name} {100 * statistics.median(node_shares(row)):.0f} %" for name, row in rows.items())
    why = f"not less than the tree: {', '.join(more)}; the median share does rise: {middle}" if more else ""
    return Claim(says, f"in points: {told}", "contradicts" if more else "holds", why)
