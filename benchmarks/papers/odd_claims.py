"""The headline claims of Optimal Decision Diagrams, each decided by the rows that are stored."""

from __future__ import annotations

from benchmarks.harness import number
from benchmarks.papers import odd, odd_published
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.odd_runs import Tally, runs
from benchmarks.papers.verdicts import unmeasured


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
