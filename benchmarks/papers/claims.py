"""The headline claims of the five papers, each decided by the rows that are stored.

A claim *holds* if the rows agree with it, is *exceeded* if they go beyond it, and is *contradicted* by the rows that
are named. Without all of its rows it is not measured, whatever those that there are say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks import cases
from benchmarks.harness import Row, geometric_mean, number
from benchmarks.papers import (
    contree,
    contree_published,
    inferdt,
    inferdt_published,
    maxsat_bdd,
    maxsat_bdd_published,
    odd,
    odd_published,
    rfxpl,
    rfxpl_anchor,
    rfxpl_published,
)
from benchmarks.papers.measuring import FINAL, Claim, Pass, mean
from benchmarks.papers.odd_runs import Tally, runs

Pair = tuple[str, float, float]
"""Where, the paper's figure, and ours."""


def figure(text: str) -> float:
    """A figure in print: ``<0.1`` is 0.1, and what a limit ended (``>4h``, ``TO``) is infinite."""
    return math.inf if text in (">4h", "TO") else number(text.strip("<").replace("–", ""))


def unmeasured(says: str, n: int, of: int) -> Claim:
    """A claim that lacks rows."""
    return Claim(says, f"{n} of {of} rows are measured", "not measured")


def _there(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs without those for which a figure is absent, which no comparison would notice."""
    return [(name, paper, ours) for name, paper, ours in pairs if not math.isnan(paper) and not math.isnan(ours)]


def below(says: str, pairs: Iterable[Pair], of: int, unit: str) -> Claim:
    """That ours are at most the paper's, in everything; it only holds where some end on neither side."""
    pairs = _there(pairs)
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    both = [paper / max(ours, 1e-9) for _, paper, ours in pairs if math.isfinite(paper + ours)]
    above = [f"{name} ({ours:.3g} against {paper:.3g})" for name, paper, ours in pairs if ours > paper]
    text = f"{geometric_mean(both):.3g} times less {unit} where both end ({len(both)} of {of})"
    ended = all(math.isfinite(ours) for _, _, ours in pairs)
    return Claim(says, text, "contradicts" if above else "exceeds" if ended else "holds", ", ".join(above))


def at_least(says: str, pairs: Iterable[Pair], of: int, slack: float = 0.0) -> Claim:
    """That ours are at least the paper's, but for noise of so much."""
    pairs = _there(pairs)
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    gain = mean(ours - paper for _, paper, ours in pairs)
    under = [f"{name} ({ours:.4g} against {paper:.4g})" for name, paper, ours in pairs if ours < paper - slack]
    noise = f", but for {slack:g} of noise," if slack else ""
    text = f"{gain:+.2f} in the mean, at least the paper's{noise} on {len(pairs) - len(under)} of {of}"
    return Claim(says, text, "contradicts" if under else "exceeds" if gain > slack else "holds", ", ".join(under))


def equal(says: str, pairs: Iterable[Pair], of: int) -> Claim:
    """That ours are the paper's, or less."""
    pairs = _there(pairs)
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    more = [f"{name} ({ours:.4g} against {paper:.4g})" for name, paper, ours in pairs if ours > paper + 0.051]
    less = [f"{name} ({ours:.4g} against {paper:.4g})" for name, paper, ours in pairs if ours < paper - 0.051]
    same = of - len(more) - len(less)
    verdict = "contradicts" if more else "exceeds" if less else "holds"
    return Claim(says, f"equal on {same} of {of}, less on {len(less)}", verdict, ", ".join(more or less))


# ------------------------------------------------------------------------------------------------------------ ConTree


LIMIT = 300.0
"""Seconds of a fit; rows of shorter limits do not count."""


def _seconds(row: Row) -> float:
    return number(row["cpu"]) if row["status"] in FINAL else math.inf


def contree_claims(reading: Pass) -> list[Claim]:
    """ConTree: seconds, memory, what its rules save."""

    def fits(case: str, depth: int, **options: float) -> Row:
        return contree.fits(reading, case, depth, limit=LIMIT, **options)[-1]  # type: ignore[arg-type]

    def pairs(
        depth: int, table: Mapping[str, Row], column: str, ours: Callable[[Row], float], **more: float
    ) -> list[Pair]:
        found = [(case, fits(case, depth, **more)) for case in cases.QUANTBNB]
        return [
            (case, figure(table[case][column]), ours(row))
            for case, row in found
            if row["status"] in FINAL or number(row["limit"]) >= LIMIT
        ]

    of = len(cases.QUANTBNB)
    claims = [
        below(f"seconds at {what}", pairs(depth, contree_published.TABLE_2, column, _seconds, **more), of, "time")
        for what, depth, column, more in (
            ("depth 3, Quant-BnB (table 2)", 3, "quant_bnb", {}),
            ("depth 3, ConTree (table 2)", 3, "contree_d3", {}),
            ("depth 4, ConTree (table 2)", 4, "contree_d4", {}),
            ("depth 4 with a gap of 1 %, ConTree (table 2)", 4, "contree_d4_gap", {"max_gap": 0.01}),
        )
    ]
    for which, depth in ((3, 5), (4, 6)):
        table = contree_published.DEEP[which]
        claims.append(
            at_least(
                f"training accuracy at depth {depth} after four hours (table {which})",
                pairs(depth, table, "accuracy", lambda row: 100 * (1 - number(row["errors"]) / number(row["rows"]))),
                of,
                0.05,
            )
        )
    for depth in (2, 3, 4):
        found = pairs(depth, contree_published.TABLE_5, f"contree_d{depth}", lambda row: number(row["peak_mb"]))
        claims.append(below(f"memory at depth {depth} (table 5)", found, of, "memory"))
    return [*claims, _routine(reading), *_prunings(reading)]


def _routine(reading: Pass) -> Claim:
    """Table 1: what the routine for depth two gains."""
    says = "the routine for depth two is 320 times faster than the search without it (table 1)"
    engine: dict[str, Any] = {"learner": "proofwood-engine", "limit": LIMIT}
    without: dict[str, Any] = {"variant": "no depth-two routine", "options": {"depth_two": False}}
    pairs: list[contree.Routine] = [
        (case, contree.fits(reading, case, 2, **engine), contree.fits(reading, case, 2, **without, **engine))
        for case in cases.QUANTBNB
    ]
    gains = contree.gains(pairs)
    if len(gains) < len(pairs):
        return unmeasured(says, len(gains), len(pairs))
    gain = geometric_mean(gains)
    exceeds = gain > 320
    return Claim(
        says, f"{gain:.1f} times", "exceeds" if exceeds else "contradicts", "" if exceeds else contree.why_less(pairs)
    )


def _prunings(reading: Pass) -> list[Claim]:
    """Figure 2: which share of the evaluations each rule alone saves."""
    counts: dict[str, dict[str, int]] = {}
    contree.figure2(reading)
    for row in reading.rows:
        if row["variant"].startswith("prunings: ") and row["status"] == "optimal":
            name = row["variant"].removeprefix("prunings: ")
            counts.setdefault(name, {})[row["set"]] = int(json.loads(row["counters"])[contree.COUNTER])
    claims = []
    for short, rule in (("NB", "similarity"), ("IS", "interval_shrinking"), ("SP", "sub_interval")):
        printed = contree_published.FIGURE_2_PRUNED[rule]
        says = f"{short} alone saves {printed} of the evaluations at depth two (figure 2)"
        both = counts.get(short, {}).keys() & counts.get("none", {}).keys()
        if len(both) < len(cases.QUANTBNB):
            claims.append(unmeasured(says, len(both), len(cases.QUANTBNB)))
            continue
        saved = 100 * mean(1 - counts[short][case] / counts["none"][case] for case in both)
        ahead = saved >= number(printed.removesuffix(" %")) - 0.05
        claims.append(Claim(says, f"{saved:.1f} %", "holds" if ahead else "contradicts"))
    return claims


# ------------------------------------------------------------------------------------------------------------ InferDT


def inferdt_claims(reading: Pass) -> list[Claim]:
    """InferDT: depth, nodes and seconds of its three tables."""
    inferdt.table1(reading), inferdt.table2(reading), inferdt.table3(reading)
    names = ("set", "part", "reading", "learner", "minimize")
    rows = {tuple(row[name] for name in names): row for row in reading.rows if row["status"] == "optimal"}
    claims = []
    for case, columns, table in (
        ("mouse", "categories", inferdt_published.TABLE_1),
        ("car", "order", inferdt_published.TABLE_2),
    ):
        for goal, name, column, printed in (("depth", "DT_depth", "depth", "k"), ("nodes", "DT_size", "nodes", "n")):
            row = rows.get((case, "all", columns, "search", goal))
            found = [(case, number(table[name][printed]), number(row[column]))] if row else []
            claims.append(equal(f"{case}: {column} {table[name][printed]} ({name})", found, 1))
            timed = [(case, number(table[name]["seconds"]), number(row["seconds"]))] if row else []
            claims.append(below(f"{case}: {table[name]['seconds']} s ({name})", timed, 1, "time"))
    of = len(cases.FOLDED)
    for goal, column, printed in (("depth", "depth", "depth_k"), ("nodes", "nodes", "size_n")):
        found = [
            (case, number(inferdt_published.TABLE_3[case][printed]), number(row[column]))
            for case in cases.FOLDED
            if (row := rows.get((case, "folds", "order", "search", goal)))
        ]
        claims.append(equal(f"least {column} on six sets in five folds (table 3)", found, of))
        timed = [
            (case, number(inferdt_published.TABLE_3[case][printed[:-1] + "seconds"]), number(row["seconds"]))
            for case in cases.FOLDED
            if (row := rows.get((case, "folds", "order", "search", goal)))
        ]
        claims.append(below(f"seconds to the least {column} (table 3)", timed, of, "time"))
    return claims


# --------------------------------------------------------------------------------------------------------- MaxSAT-BDD


def maxsat_bdd_claims(reading: Pass) -> list[Claim]:
    """MaxSAT-BDD: accuracy, shares proved, encodings, greedy diagrams."""
    maxsat_bdd.table4(reading), maxsat_bdd.table6(reading), maxsat_bdd.figure7(reading)
    rows = reading.rows
    crossed = {(row["set"], row["depth"], row["learner"]): row for row in rows if "depth" in row}
    keys = [(name, str(depth)) for name in maxsat_bdd.SETS for depth in maxsat_bdd.DEPTHS]

    def pairs(column: str, printed: str, scale: float = 1.0) -> list[Pair]:
        return [
            (
                f"{name} {depth}",
                number(maxsat_bdd_published.TABLE_6_EXACT[f"{name}/{depth}"][printed]),
                scale * number(row[column]),
            )
            for name, depth in keys
            if (row := crossed.get((name, depth, "exact")))
        ]

    both = [
        (f"{name} {depth}", number(greedy["train"]), number(exact["train"]))
        for name, depth in keys
        if (greedy := crossed.get((name, depth, "greedy"))) and (exact := crossed.get((name, depth, "exact")))
    ]
    solved = {
        learner: sum(row["status"] == "done" for row in rows if row.get("share") and row["learner"] == learner)
        for learner in ("BDD1", "BDD2", "search")
    }
    encodings = "BDD2 solves more rows of table 4 than BDD1"
    asked = [row for row in rows if row.get("share")]
    if len(asked) < 3 * len(maxsat_bdd_published.TABLE_4_BDD2):
        first = unmeasured(encodings, len(asked), 3 * len(maxsat_bdd_published.TABLE_4_BDD2))
    else:
        text = ", ".join(f"{learner} {count}" for learner, count in solved.items())
        first = Claim(encodings, f"solved: {text}", "holds" if solved["BDD2"] > solved["BDD1"] else "contradicts")
    return [
        first,
        at_least("training accuracy of exact diagrams (table 6)", pairs("train", "train"), len(keys), 0.5),
        at_least("share of fits proved optimal, in percent (table 6)", pairs("proved", "proved", 100), len(keys)),
        at_least("optimal diagrams fit better than greedy ones (figure 7)", both, len(keys)),
    ]


# ---------------------------------------------------------------------------------------------------------------- ODD


def odd_claims(reading: Pass) -> list[Claim]:
    """ODD: shares of runs that are proved, or proved or improved."""
    plan = odd.PROTOCOL
    cells = plan.cells()
    found = runs(reading, plan, cells)
    printed = {what: sum(map(int, row.values())) for what, row in odd_published.TABLE_1_TOTALS.items()}
    whole = len(odd_published.TABLE_1_PROVED) * len(plan.alphas) * odd_published.RUNS
    shares = {"proved": printed["proved"] / whole, "proved or improved": sum(printed.values()) / whole}
    tally = Tally.of(found.values())
    ours = {"proved": tally.proved, "proved or improved": tally.proved + tally.improved}
    claims = []
    for what, share in shares.items():
        says = f"{100 * share:.0f} % of the runs are {what} (table 1)"
        if len(found) < len(cells):
            claims.append(unmeasured(says, len(found), len(cells)))
            continue
        got = ours[what] / tally.runs
        limits = sorted({number(row["limit"]) for row in found.values()})
        ours_in_words = (
            f"{100 * got:.0f} %, seed 0, limits of {' or '.join(f'{one:g}' for one in limits)} s (paper: 600)"
        )
        claims.append(Claim(says, ours_in_words, "exceeds" if got > share else "contradicts"))
    return claims


# -------------------------------------------------------------------------------------------------------------- RFxpl


def rfxpl_claims(reading: Pass) -> list[Claim]:
    """RFxpl: seconds of an explanation, and Anchor beside it."""
    rfxpl.table1(reading)
    claims = []
    for engine in (rfxpl.OWN, rfxpl.PAPER):
        rows = [row for row in reading.rows if row["vote"] == "majority" and row["engine"] == engine and row["mean"]]
        says = f"with three exceptions the mean time of an explanation is below 1 s ({engine})"
        slow = [row["set"] for row in rows if number(row["mean"]) >= 1]
        text = f"{len(slow)} exceptions" + (f": {', '.join(slow)}" if slow else "")
        verdict = "exceeds" if len(slow) < 3 else "holds" if len(slow) == 3 else "contradicts"
        done = len(rows) == len(rfxpl.SETS)
        claims.append(Claim(says, text, verdict) if done else unmeasured(says, len(rows), len(rfxpl.SETS)))
        for column, ours in (("seconds", "mean"), ("most", "most")):
            pairs = [
                (row["set"], number(rfxpl_published.TABLE_1[row["set"]][column]), number(row[ours])) for row in rows
            ]
            claim = below(f"{ours} seconds of an explanation ({engine})", pairs, len(rfxpl.SETS), "time")
            formula = _by_formula(reading, ours, [name for name, paper, own in pairs if own > paper])
            claims.append(replace(claim, why=claim.why + formula) if claim.why and engine == rfxpl.OWN else claim)
        unfinished = [row["set"] for row in rows if row["status"] != "done"]
        text = f"on {len(rows) - len(unfinished)} of {len(rows)} sets"
        says = f"every explanation is minimal ({engine})"
        verdict = "contradicts" if unfinished else "holds"
        claims.append(
            Claim(says, text, verdict, ", ".join(unfinished)) if done else unmeasured(says, len(rows), len(rfxpl.SETS))
        )
    return [*claims, _anchor_claim(reading)]


def _by_formula(reading: Pass, column: str, sets: Sequence[str]) -> str:
    """What the paper's formula takes here on some sets, whose forests are not those of the paper."""
    found = {
        row["set"]: number(row[column])
        for row in reading.rows
        if row["vote"] == "majority" and row["engine"] == rfxpl.PAPER and row[column]
    }
    told = [f"{name} {found[name]:.3g}" for name in sets if name in found]
    return f"; the paper's formula takes on these forests, which are not the paper's: {', '.join(told)}" if told else ""


def _anchor_claim(reading: Pass) -> Claim:
    wins = f"{rfxpl_published.WINS} of {rfxpl_published.ROWS}"
    says = f"Anchor takes {rfxpl_published.ANCHOR} times as long, more on {wins} rows"
    before = len(reading.rows)
    rfxpl_anchor.anchor(reading)
    rows = [row for row in reading.rows[before:] if row["status"] == "done"]
    if len(rows) < len(rfxpl_anchor.SETS):
        return unmeasured(says, len(rows), len(rfxpl_anchor.SETS))
    ratio, there, slower, n = rfxpl_anchor.faster(rows)
    share = rfxpl_published.WINS / rfxpl_published.ROWS
    verdict = "exceeds" if ratio > there and slower / n >= share else "contradicts"
    return Claim(
        says,
        f"{ratio:.0f} times (on the same {len(rows)} sets there: {there:.1f}), more on {slower} of {n} rows",
        verdict,
    )


CLAIMS: dict[str, Callable[[Pass], Sequence[Claim]]] = {
    "contree": contree_claims,
    "inferdt": inferdt_claims,
    "maxsat_bdd": maxsat_bdd_claims,
    "odd": odd_claims,
    "rfxpl": rfxpl_claims,
}
"""What each paper claims, and what is measured of it."""
