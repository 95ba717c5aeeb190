"""The headline claims of the MaxSAT-BDD paper, each decided by the rows that are stored."""

from __future__ import annotations

from benchmarks.harness import number
from benchmarks.papers import maxsat_bdd, maxsat_bdd_published
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.verdicts import Pair, at_least, unmeasured


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
