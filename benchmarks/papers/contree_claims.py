"""The headline claims of the ConTree paper, each decided by the rows that are stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import cases
from benchmarks.harness import Row, geometric_mean, number
from benchmarks.papers import contree, contree_published
from benchmarks.papers.contree_published import DEEP, TABLE_1, TABLE_2, TABLE_5
from benchmarks.papers.measuring import FINAL, Claim, Pass, mean
from benchmarks.papers.verdicts import Ended, Pair, UpTo, at_least, below, factor, figure, unmeasured

LIMIT = 300.0
"""Seconds of a fit; rows of shorter limits do not count."""
OURS = f"here CPU s of one fit, {LIMIT:g} s at most; another machine"
MEMORY = "here the growth over a fit, the paper's MB are of the whole program with its data"
"""What megabytes are, here and in print."""
GAP = 0.01
"""Of the columns with a gap in print, as the learners take it."""
MOST_MEMORY = 320
"""MB that no set but skin exceeds in print, at depths five and six."""
NOISE = 0.3
"""Points by which means of accuracy over sixteen sets differ with the splits (standard errors of .1 to 1 a set)."""
SIGNIFICANT = 0.01
"""Level of the paper's signed rank test."""


def _seconds(row: Row) -> float:
    """CPU seconds; of a fit that was ended, that they are more than it took."""
    seconds = number(row["cpu"])
    return seconds if row["status"] in FINAL else Ended(0 if math.isnan(seconds) else seconds)


def _accuracy(row: Row) -> float:
    return 100 * (1 - number(row["errors"]) / number(row["rows"]))


def _memory(row: Row) -> float:
    """Growth in MB; of a fit that was ended, that it is at least what it was by then."""
    peak = number(row["peak_mb"])
    return peak if row["status"] in FINAL else Ended(0 if math.isnan(peak) else peak)


def contree_claims(reading: Pass) -> list[Claim]:
    """ConTree: seconds, proofs, memory, what its rules save, accuracy on other rows."""

    def pairs(
        depth: int, table: Mapping[str, Row], column: str, ours: Callable[[Row], float], **more: float
    ) -> list[Pair]:
        found = [
            (case, contree.fits(reading, case, depth, limit=LIMIT, **more)[-1])  # type: ignore[arg-type]
            for case in cases.QUANTBNB
        ]
        return [
            (case, figure(table[case][column]), ours(row))
            for case, row in found
            if row["status"] in FINAL or number(row["limit"]) >= LIMIT
        ]

    of = len(cases.QUANTBNB)
    quant_bnb = pairs(3, TABLE_2, "quant_bnb", _seconds)
    claims = [
        _times_less(quant_bnb, of),
        below(f"seconds of Quant-BnB at depth 3, set by set (table 2; {OURS})", quant_bnb, of, "time"),
    ]
    for what, depth, column, more in (
        ("depth 3", 3, "contree_d3", {}),
        ("depth 4", 4, "contree_d4", {}),
        ("depth 4 with a gap of 1 %", 4, "contree_d4_gap", {"max_gap": GAP}),
    ):
        timed = pairs(depth, TABLE_2, column, _seconds, **more)
        claims.append(below(f"seconds of ConTree at {what}, set by set (table 2; {OURS})", timed, of, "time"))
    for which, depth in ((3, 5), (4, 6)):
        for with_gap, column, gap in (("", "seconds", 0), (" with a gap of 1 %", "gap_seconds", GAP)):
            says = f"seconds of ConTree at depth {depth}{with_gap}, set by set (table {which}; {OURS})"
            claims.append(below(says, pairs(depth, DEEP[which], column, _seconds, max_gap=gap), of, "time"))
    exact, gap = (pairs(4, TABLE_2, "contree_d4", _seconds, max_gap=gap) for gap in (0, GAP))
    claims.append(_gap(exact, gap, of))
    for depth, table, column, gap in (
        *((4, TABLE_2, "contree_d4", 0), (5, DEEP[3], "seconds", 0), (6, DEEP[4], "seconds", 0)),
        *((5, DEEP[3], "gap_seconds", GAP), (6, DEEP[4], "gap_seconds", GAP)),
    ):
        there = sum(math.isfinite(figure(row[column])) for row in table.values())
        claims.append(_proofs(depth, gap, there, pairs(depth, table, column, _seconds, max_gap=gap), of))
    for which, depth in ((3, 5), (4, 6)):
        says = f"training accuracy at depth {depth} after four hours (table {which}; here {LIMIT:g} s at most)"
        ended = [case for case, _, ours in pairs(depth, DEEP[which], "seconds", _seconds) if math.isinf(ours)]
        claims.append(at_least(says, pairs(depth, DEEP[which], "accuracy", _accuracy), of, 0.05, ended))
    for depth, table, column in (
        *((depth, TABLE_5, f"contree_d{depth}") for depth in (2, 3, 4)),
        (5, DEEP[3], "memory"),
        (6, DEEP[4], "memory"),
        (3, TABLE_5, "quant_bnb_d3"),
    ):
        whose = "Quant-BnB" if "quant" in column else "ConTree"
        says = f"peak memory of {whose} at depth {depth}, set by set ({MEMORY})"
        claims.append(below(says, pairs(depth, table, column, _memory), of, "memory"))
    grown = {
        f"{case} at depth {depth}": ours
        for which, depth in ((3, 5), (4, 6))
        for case, _, ours in pairs(depth, DEEP[which], "memory", lambda row: number(row["peak_mb"]))
        if case != "skin"
    }
    claims.append(_most_memory(grown, 2 * (of - 1)))
    first = [*_depth_two(reading), *claims]
    return [*first, _routine(reading), *_prunings(reading), *_early(reading), *_held_out(reading)]


def _depth_two(reading: Pass) -> list[Claim]:
    """Table 1: seconds at depth two beside all methods that end on some set."""
    engine: dict[str, Any] = {"learner": "proofwood-engine", "limit": LIMIT, "runs": contree.RUNS}
    found = [(case, contree.fits(reading, case, 2, **engine)) for case in cases.QUANTBNB]
    ours = {case: mean(map(_seconds, rows)) for case, rows in found if rows[-1]["status"] in FINAL}
    return [
        below(
            f"seconds of {whose} at depth 2, set by set (table 1; here CPU s of a search, the mean of {contree.RUNS}; "
            "another machine)",
            [(case, figure(TABLE_1[case][column]), seconds) for case, seconds in ours.items()],
            len(cases.QUANTBNB),
            "time",
        )
        for whose, column in (
            *(("RS-OCT", "rs_oct"), ("SAT-Shati", "sat_shati"), ("Quant-BnB", "quant_bnb"), ("ConTree", "contree")),
        )
    ]


def _times_less(pairs: Sequence[Pair], of: int) -> Claim:
    says = f"at depth 3 ConTree takes 63 times less than Quant-BnB, geometric mean, 7 to 266 times (table 2; {OURS})"
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    gain, both = factor(pairs)
    each = [paper / ours for _, paper, ours in pairs if math.isfinite(paper) and not isinstance(paper, UpTo)]
    text = f"{gain:.3g} times over {both} sets with a figure ({min(each):.3g} to {max(each):.3g})"
    return Claim(says, text, "exceeds" if gain > 63 else "contradicts", "" if gain > 63 else "the machine is another")


def _gap(exact: Sequence[Pair], gap: Sequence[Pair], of: int) -> Claim:
    """That a gap of 1 % takes less time, as far as it does in print."""
    says = f"a gap of 1 % reduces the seconds at depth 4 significantly (table 2; {OURS})"
    if min(len(exact), len(gap)) < of:
        return unmeasured(says, min(len(exact), len(gap)), of)
    own = {name: (ours, close) for (name, _, ours), (_, _, close) in zip(exact, gap, strict=True)}
    ended = [a / b for a, b in own.values() if math.isfinite(a + b)]
    longer = [f"{name} ({b:.3g} against {a:.3g})" for name, (a, b) in own.items() if math.isfinite(a) and b > a]
    gain = geometric_mean(ended)
    text = f"{gain:.3g} times less time in the geometric mean of the {len(ended)} of {of} where both end"
    why = f"longer on {', '.join(longer)}" if longer else ""
    return Claim(says, text, "holds" if gain > 1 else "contradicts", why)


def _proofs(depth: int, gap: float, there: int, pairs: Sequence[Pair], of: int) -> Claim:
    within = f" within {100 * gap:g} %" if gap else ""
    says = f"ConTree proves {there} of {of} trees of depth {depth}{within} in four hours (here in {LIMIT:g} s at most)"
    if len(pairs) < of:
        return unmeasured(says, len(pairs), of)
    here = sum(math.isfinite(ours) for *_, ours in pairs)
    not_here = [name for name, paper, ours in pairs if math.isfinite(paper) and math.isinf(ours)]
    verdict = "contradicts" if not_here else "exceeds" if here > there else "holds"
    why = f"not proved here, with a limit of {LIMIT:g} s: {', '.join(not_here)}" if not_here else ""
    return Claim(says, f"{here} of {of}", verdict, why)


def _most_memory(grown: Mapping[str, float], of: int) -> Claim:
    """Appendix C: what no set but the largest one takes."""
    says = (
        f"at depths 5 and 6 no set but skin takes more than {MOST_MEMORY} MB in four hours (appendix C; here the "
        f"growth over a fit, in {LIMIT:g} s at most)"
    )
    known = [peak for peak in grown.values() if not math.isnan(peak)]
    if len(known) < of:
        return unmeasured(says, len(known), of)
    more = [f"{where} ({peak:.0f})" for where, peak in grown.items() if peak > MOST_MEMORY]
    text = f"more on {len(more)} of {of}, at most {max(known):.0f} MB"
    return Claim(says, text, "contradicts" if more else "holds", ", ".join(more))


def _routine(reading: Pass) -> Claim:
    """Table 1: what the routine for depth two gains."""
    says = "the routine for depth two is 320 times faster than the search without it (table 1)"
    engine: dict[str, Any] = {"learner": "proofwood-engine", "limit": LIMIT}
    without = engine | {"variant": "no depth-two routine", "options": {"depth_two": False}, "runs": contree.WITHOUT}
    pairs: list[contree.Routine] = [
        (case, contree.fits(reading, case, 2, runs=contree.RUNS, **engine), contree.fits(reading, case, 2, **without))
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
    """Figure 2: which share of the evaluations each rule alone saves, and all of them beside the strongest."""
    counts = contree.evaluations(reading)
    of = len(cases.QUANTBNB)
    claims = []
    for short, rule in (("NB", "similarity"), ("IS", "interval_shrinking"), ("SP", "sub_interval")):
        printed = contree_published.FIGURE_2_PRUNED[rule]
        says = f"{short} alone saves {printed} of the evaluations at depth two (figure 2)"
        saved = contree.saved(counts, short)
        if len(saved) < of:
            claims.append(unmeasured(says, len(saved), of))
            continue
        share, there = mean(saved.values()), number(printed.removesuffix(" %"))
        verdict = "exceeds" if share > there + 0.05 else "holds" if share >= there - 0.05 else "contradicts"
        least = ", ".join(f"{case} {saved[case]:.1f} %" for case in sorted(saved, key=lambda case: saved[case])[:3])
        why = f"the least shares are those of {least}" if verdict == "contradicts" else ""
        claims.append(Claim(says, f"{share:.1f} %", verdict, why))
    says = "all three evaluate 10 % fewer splits at depth two than SP alone (figure 2)"
    both = counts["SP"].keys() & counts["NB + IS + SP"].keys()
    if len(both) < of:
        return [*claims, unmeasured(says, len(both), of)]
    fewer = 100 * mean(1 - counts["NB + IS + SP"][case] / counts["SP"][case] for case in both)
    return [*claims, Claim(says, f"{fewer:.1f} %", "holds" if fewer >= 9.5 else "contradicts")]


def _early(reading: Pass) -> list[Claim]:
    """Figure 3: when a good tree and the best one are there, beside when the search ends."""
    says = (
        "a good tree is there early and its proof takes most of the time, at depth 4 on 3 of 4 sets (figure 3; here "
        f"after {100 * contree.EARLY:g} % of the time, at most {100 * contree.GOOD:g} % more errors than the best)",
        "at depth 4 the last improvement comes late on fault, and on no other of 4 sets (figure 3; here after half the "
        "time)",
    )
    curves = contree.curves(reading)
    of = len(contree.FIGURE_3_SETS)
    ended = {case: curve for case, curve in curves.items() if curve.status in FINAL}
    if len(ended) < of:
        return [unmeasured(one, len(ended), of) for one in says]
    good = [case for case, curve in ended.items() if curve.early <= (1 + contree.GOOD) * curve.best]
    told = ", ".join(f"{case} {curve.early - curve.best:g} over {curve.best:g}" for case, curve in ended.items())
    late = {case: curve.found / curve.end for case, curve in ended.items()}
    wrong = [case for case, share in late.items() if (share >= 0.5) != (case == "fault")]
    shares = ", ".join(f"{case} {100 * share:.0f} %" for case, share in late.items())
    return [
        Claim(says[0], told, "holds" if len(good) >= 3 else "contradicts", "" if len(good) >= 3 else told),
        Claim(
            says[1], shares, "contradicts" if wrong else "holds", f"otherwise on {', '.join(wrong)}" if wrong else ""
        ),
    ]


def _held_out(reading: Pass) -> list[Claim]:
    """Table 6: accuracy on other rows, as differences of the means over the sets."""
    from scipy.stats import wilcoxon

    before = len(reading.rows)
    contree.table6(reading)
    rows = reading.rows[before:]
    claims = []
    whole = len(cases.QUANTBNB) * contree.SPLITS
    means = {
        method: {
            case: 100 * mean(number(row["accuracy"]) for row in rows if (row["method"], row["set"]) == (method, case))
            for case in cases.QUANTBNB
        }
        for method in contree.TABLE_6_METHODS
    }
    for method, what, points in (("cart", "CART", 4.7), ("streed", "optimal trees on ten quantiles", 0.7)):
        says = (
            f"accuracy on other rows at depth 3 is {points} points above that of {what}, p < {SIGNIFICANT:g} (table 6; "
            f"here splits of the paper's train parts; {NOISE:g} is noise)"
        )
        done = sum(row["status"] == "done" for row in rows if row["method"] in (method, "proofwood"))
        if done < 2 * whole:
            claims.append(unmeasured(says, done, 2 * whole))
            continue
        differences = [means["proofwood"][case] - means[method][case] for case in cases.QUANTBNB]
        p = float(wilcoxon(differences).pvalue)
        gain = mean(differences)
        most = max(cases.QUANTBNB, key=lambda case: means["proofwood"][case] - means[method][case])
        text = f"{gain:+.1f} points, p = {p:.2g}, the most on {most} ({max(differences):+.1f})"
        if gain > 0 and p < SIGNIFICANT and gain >= points - NOISE:
            claims.append(Claim(says, text, "exceeds" if gain > points + NOISE else "holds"))
        else:
            worse = [case for case, one in zip(cases.QUANTBNB, differences, strict=True) if one < 0]
            claims.append(Claim(says, text, "contradicts", f"below it on {', '.join(worse) or 'no set'}"))
    return claims
