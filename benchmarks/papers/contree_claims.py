"""The headline claims of the ConTree paper, each decided by the rows that are stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import cases
from benchmarks.harness import Row, geometric_mean, number
from benchmarks.papers import contree, contree_published
from benchmarks.papers.measuring import FINAL, Claim, Pass, mean
from benchmarks.papers.verdicts import Pair, at_least, below, figure, unmeasured

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
