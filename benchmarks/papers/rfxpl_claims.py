"""The headline claims of the RFxpl paper, each decided by the rows that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.harness import number
from benchmarks.papers import rfxpl, rfxpl_anchor, rfxpl_published
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.verdicts import below, unmeasured


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
