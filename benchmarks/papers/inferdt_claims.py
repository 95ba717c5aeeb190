"""The headline claims of the InferDT paper, each decided by the rows that are stored."""

from __future__ import annotations

from benchmarks import cases
from benchmarks.harness import number
from benchmarks.papers import inferdt, inferdt_published
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.verdicts import below, equal


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
