"""The headline claims of the RFxpl paper, each decided by the rows that are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.harness import Row, number
from benchmarks.papers import rfxpl, rfxpl_anchor, rfxpl_published
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.verdicts import Pair, below, unmeasured

SETS = len(rfxpl.SETS)


def rfxpl_claims(reading: Pass) -> list[Claim]:
    """RFxpl: seconds of an explanation, sizes of the formulas, and Anchor beside it."""
    rfxpl.table1(reading)
    authors = [row for row in reading.rows if row["engine"] == rfxpl.AUTHORS and row["variables"]]
    stored = [row for row in reading.rows if row["vote"] == "majority" and row["mean"]]
    claims = []
    for engine in (rfxpl.OWN, rfxpl.PAPER):
        rows = [row for row in stored if row["engine"] == engine]
        done = len(rows) == SETS
        says = f"with three exceptions the mean time of an explanation is below 1 s (engine {engine})"
        slow = [row["set"] for row in rows if number(row["mean"]) >= 1]
        text = f"{len(slow)} exceptions" + (f": {', '.join(slow)}" if slow else "")
        verdict = "exceeds" if len(slow) < 3 else "holds" if len(slow) == 3 else "contradicts"
        named = ", ".join(f"{row['set']} ({row['mean']} s)" for row in rows if row["set"] in slow)
        claim = Claim(says, text, verdict, named if verdict == "contradicts" else "")
        claims.append(claim if done else unmeasured(says, len(rows), SETS))
        for column, ours in (("seconds", "mean"), ("most", "most")):
            pairs = _pairs(rows, column, lambda row, ours=ours: number(row[ours]))
            noise = f"up to {rfxpl.NOISE:g} times is noise"
            says = f"{ours} CPU seconds of an explanation, set by set (engine {engine}; {noise})"
            claim = below(says, pairs, SETS, "time", rfxpl.NOISE)
            formula = _by_formula(stored, ours, [name for name, paper, own in pairs if own > rfxpl.NOISE * paper])
            claims.append(replace(claim, why=claim.why + formula) if claim.why and engine == rfxpl.OWN else claim)
        claims.append(_outliers(rows, engine))
        unfinished = [row["set"] for row in rows if row["status"] != "done"]
        text = f"on {len(rows) - len(unfinished)} of {len(rows)} sets"
        says = f"every explanation is minimal (engine {engine})"
        verdict = "contradicts" if unfinished else "holds"
        claim = Claim(says, text, verdict, f"a limit ended some on {', '.join(unfinished)}" if unfinished else "")
        claims.append(claim if done else unmeasured(says, len(rows), SETS))
    formulas = [row for row in stored if row["engine"] == rfxpl.OWN]
    for column in ("variables", "clauses"):
        pairs = _pairs(formulas, column, lambda row, column=column: number(row[column]))
        says = f"{column} of the formula, set by set (our form of it; forests of the same kind as in print)"
        claims.append(below(says, pairs, SETS, column))
        theirs = {row["set"]: number(row[column]) for row in authors}
        same = [(name, theirs[name], ours) for name, _, ours in pairs if name in theirs]
        says = f"{column} of the formula of the authors' program on the same forests, set by set (our form of it)"
        claims.append(below(says, same, SETS, column))
    asked = [row for row in stored if row["engine"] == rfxpl.PAPER]
    calls = [
        (name, sat + number(rfxpl_published.TABLE_1[name]["unsat"]), ours)
        for name, sat, ours in _pairs(asked, "sat", lambda row: number(row["sat"]) + number(row["unsat"]))
    ]
    says = "calls of the solver for an explanation, set by set (engine paper, which begins with a set chosen greedily)"
    claims.append(below(says, calls, SETS, "calls"))
    return [*claims, *_anchor_claims(reading, asked)]


def _pairs(rows: Sequence[Row], column: str, ours: Callable[[Row], float]) -> list[Pair]:
    return [(row["set"], number(rfxpl_published.TABLE_1[row["set"]][column]), ours(row)) for row in rows]


def _outliers(rows: Sequence[Row], engine: str) -> Claim:
    """That the slowest explanations are those of sets with many classes."""
    says = f"the longest explanations are those of sets with many classes (engine {engine}; here: the three longest)"
    if len(rows) < SETS:
        return unmeasured(says, len(rows), SETS)
    longest = sorted(rows, key=lambda row: -number(row["most"]))[:3]
    told = ", ".join(f"{row['set']} ({row['classes']} classes, {number(row['most']):.3g} s)" for row in longest)
    few = [row["set"] for row in longest if number(row["classes"]) <= 2]
    return Claim(says, told, "contradicts" if few else "holds", f"two classes: {', '.join(few)}" if few else "")


def _by_formula(rows: Sequence[Row], column: str, sets: Sequence[str]) -> str:
    """What the paper's formula takes here on some sets, whose forests are not those of the paper."""
    found = {
        row["set"]: f"{'> ' if row['status'] != 'done' else ''}{number(row[column]):.3g}"
        for row in rows
        if row["engine"] == rfxpl.PAPER and row[column]
    }
    told = [f"{name} {found[name]}" for name in sets if name in found]
    return f"; the paper's formula takes on these forests, which are not the paper's: {', '.join(told)}" if told else ""


def _anchor_claims(reading: Pass, by_formula: Sequence[Row]) -> list[Claim]:
    """Anchor beside it: seconds, and rows on which it takes longer.

    Parameters
    ----------
    by_formula : the rows of the paper's formula in table 1
    """
    wins = f"{rfxpl_published.WINS} of {rfxpl_published.ROWS}"
    much = f"Anchor's mean seconds are {rfxpl_published.ANCHOR} times as many"
    says = (
        f"{much} (engine auto; here on eight sets)",
        f"Anchor takes longer on {wins} rows (engine auto; here on eight sets)",
        f"{much} (engine paper, whose rows are more than Anchor's; here on eight sets)",
    )
    before = len(reading.rows)
    rfxpl_anchor.anchor(reading)
    rows = [row for row in reading.rows[before:] if row["status"] == "done"]
    if len(rows) < len(rfxpl_anchor.SETS):
        return [unmeasured(one, len(rows), len(rfxpl_anchor.SETS)) for one in says]
    times = rfxpl_anchor.Faster.of(rows)
    more = Claim(
        says[1],
        f"{times.slower} of {times.rows} rows, {times.share:.1f} % with the paper's numbers of rows of a set (there on "
        f"these sets: {times.share_there:.1f} %)",
        "exceeds" if times.share > times.share_there else "contradicts",
    )
    formula = {row["set"]: row["mean"] for row in by_formula}
    beside = [{**row, "own_mean": formula[row["set"]]} for row in rows if row["set"] in formula]
    if len(beside) < len(rows):
        return [_anchor_ratio(says[0], times), more, unmeasured(says[2], len(beside), len(rows))]
    return [_anchor_ratio(says[0], times), more, _anchor_ratio(says[2], rfxpl_anchor.Faster.of(beside))]


def _anchor_ratio(says: str, times: rfxpl_anchor.Faster) -> Claim:
    text = (
        f"{times.ratio:.1f} times (there on these sets: {times.ratio_there:.1f}); {times.middle:.1f} in the geometric "
        f"mean of the sets (there: {times.middle_there:.1f})"
    )
    ahead = times.ratio > times.ratio_there
    return Claim(says, text, "exceeds" if ahead else "contradicts", "" if ahead else times.told.rstrip("."))
