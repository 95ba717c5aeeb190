"""The oracles of explanations on real ensembles: do they agree, and how long does a question take?

``python -m benchmarks.explain_oracles``

For each family of models 500 questions over several data sets: those that plain deletion in a random order asks about
random test rows, so that many lie at the border between "the class can change" and "it cannot". Every engine answers
every question. Each engine and set is a row of ``results/explain/oracles.csv``; ``oracles.md`` is made from it.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, ROOT, Spread, Table, markdown_table, number, seconds_text, taken_out, write_page
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.engines import ENGINES as NAMES
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.oracles.oracle import Answer, check_answer
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.model.node_table import FloatArray, IntArray

DATA = Path(os.environ.get("PROOFWOOD_DATA", ROOT.parent / "shared" / "data")) / "rfxpl"
OUT = RESULTS / "explain"
SETS = ("iris", "wine-recog", "ecoli", "heart-c", "wdbc")
ENGINES = tuple(name for name in NAMES if name != "auto")
ANY_VOTE = tuple(name for name in ENGINES if name != "paper")
KEY = ("family", "data", "trees", "depth", "calls", "limit", "engine")
COLUMNS = (
    "features",
    "leaves",
    "answered",
    "changes",
    "disagreements",
    "wrong_cores",
    "first_seconds",
    "low",
    "median",
    "high",
    "largest",
)


@dataclass(frozen=True)
class Family:
    """A kind of model: how it is made and by which vote it is explained."""

    make: Callable[[int, int], Any]
    vote: str
    trees: int = 100
    depth: int = 5
    engines: Sequence[str] = ANY_VOTE


def _forest(trees: int, depth: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, max_depth=depth, random_state=0)


def _extra_trees(trees: int, depth: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(trees, max_depth=depth, random_state=0)


def _boosting(trees: int, depth: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0)


FAMILIES = {
    "forest, majority": Family(_forest, "majority", engines=ENGINES),
    "forest, soft": Family(_forest, "auto"),
    "extra trees, soft": Family(_extra_trees, "auto"),
    "boosting": Family(_boosting, "auto", trees=100, depth=3),
}
"""Names are those of the table; an engine that cannot take the vote is left out."""


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted model over its grid, and questions: (cells, class, fixed features)."""

    scores: ScoreModel
    questions: list[tuple[IntArray, int, list[int]]]


@dataclass(eq=False)
class Run:
    """What one engine said to all questions of a case."""

    answers: list[Answer] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def load(name: str) -> tuple[FloatArray, IntArray]:
    """Values and class codes of one of the paper's data sets."""
    plain = DATA / f"{name}.csv"
    text = plain.read_text() if plain.exists() else gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()).decode()
    values = np.loadtxt(text.splitlines(), delimiter=",", skiprows=1, ndmin=2)
    return values[:, :-1], values[:, -1].astype(np.int64)


def prepare(family: Family, data: str, calls: int) -> Case:
    """Fit on 80 % of the rows and collect ``calls`` questions about the others."""
    from sklearn.model_selection import train_test_split

    from proofwood.ensembles.explained import explained

    X, y = load(data)
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=0)
    model = family.make(family.trees, family.depth).fit(X_train, y_train)
    known = explained(model, vote=family.vote)
    rng = np.random.default_rng(0)
    guide = make_oracle("cdcl", known.scores)
    questions: list[tuple[IntArray, int, list[int]]] = []
    while len(questions) < calls:
        cells = known.cells(X_test[rng.integers(len(X_test))])
        label = known.scores.winner(cells)
        fixed = list(range(known.scores.n_features))
        for feature in rng.permutation(known.scores.n_features).tolist():
            rest = [other for other in fixed if other != feature]
            if rng.random() < 0.25:
                questions.append((cells, label, rest))
            if guide.ask(cells, label, rest, seconds=10.0).changes is False:
                fixed = rest
        questions.append((cells, label, fixed))
    return Case(known.scores, questions[:calls])


def ask_all(engine: str, case: Case, limit: float) -> Run:
    """All questions in turn, each witness checked."""
    run, oracle = Run(), make_oracle(engine, case.scores)
    for cells, label, fixed in case.questions:
        started = time.perf_counter()
        answer = oracle.ask(cells, label, fixed, seconds=limit)
        run.seconds.append(time.perf_counter() - started)
        check_answer(case.scores, cells, label, fixed, answer)
        run.answers.append(answer)
    close = getattr(oracle, "close", None)
    if close is not None:
        close()
    return run


def summary(engine: str, runs: Mapping[str, Run], case: Case, limit: float) -> dict[str, Any]:
    """One row of the table; cores are proved again by boxes that the checker of certificates accepts."""
    run = runs[engine]
    others = [other.answers for name, other in runs.items() if name != engine]
    differ = sum(
        any({answer.changes, other[i].changes} == {True, False} for other in others)
        for i, answer in enumerate(run.answers)
    )
    judge = CheckedOracle(case.scores)
    cores = {
        (label, tuple(sorted(answer.core)), tuple(cells.tolist()))
        for (cells, label, _), answer in zip(case.questions, run.answers, strict=True)
        if answer.core is not None
    }
    wrong = sum(
        judge.ask(np.array(cells), label, core, seconds=4 * limit).changes is True for label, core, cells in cores
    )
    spread = Spread.of(run.seconds[1:])
    return {
        "features": case.scores.n_features,
        "leaves": int(case.scores.leaves_of[-1]),
        "answered": sum(answer.changes is not None for answer in run.answers),
        "changes": sum(answer.changes is True for answer in run.answers),
        "disagreements": differ,
        "wrong_cores": wrong,
        "first_seconds": run.seconds[0],
        "low": spread.low,
        "median": spread.median,
        "high": spread.high,
        "largest": max(run.seconds[1:]),
    }


def measure(
    *,
    families: Sequence[str],
    sets: Sequence[str],
    engines: Sequence[str],
    calls: int,
    limit: float,
    fresh: bool,
    out: Path = OUT,
) -> Table:
    """Stored rows; the questions of a family are shared out over the sets."""
    path = out / "oracles.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(path, KEY, COLUMNS)
    each = -(-calls // len(sets))
    for name in families:
        family = FAMILIES[name]
        wanted = [engine for engine in engines if engine in family.engines]
        for data in sets:
            key = {"family": name, "data": data, "trees": family.trees, "depth": family.depth}
            key |= {"calls": each, "limit": limit}
            if all(table.find(**key, engine=engine) for engine in wanted):
                continue
            case = prepare(family, data, each)
            runs = {engine: ask_all(engine, case, limit) for engine in wanted}
            for engine in wanted:
                row = table.add({**key, "engine": engine, **summary(engine, runs, case, limit)})
                print(
                    f"{name}, {data}, {engine}: {row['answered']} of {each} answered, {row['changes']} changes, "
                    f"{row['disagreements']} disagreements, {row['wrong_cores']} wrong cores, "
                    f"median {row['median']} s, largest {row['largest']} s",
                    flush=True,
                )
    return table


def report(table: Table, out: Path = OUT) -> Path:
    """The page: one line per family, set and engine."""
    header = ["model, data, engine", "leaves", "calls", "answered", "differ", "first", "quartiles in ms", "largest"]
    lines, rows = [], table.rows
    for row in rows:
        quartiles = [1000 * number(row[column]) for column in ("low", "median", "high")]
        lines.append(
            [
                f"{row['family']}, {row['data']}, {row['engine']}",
                row["leaves"],
                row["calls"],
                row["answered"],
                str(int(row["disagreements"]) + int(row["wrong_cores"])),
                seconds_text(number(row["first_seconds"])) + " s",
                " / ".join(seconds_text(value) for value in quartiles),
                seconds_text(number(row["largest"])) + " s",
            ]
        )
    note = (
        "*first*: the first question, with all that is built or started for it, which the quartiles leave out. "
        "*differ*: answers that another engine contradicts, and cores that do not suffice when asked about again. "
        f"*answered*: within {rows[0]['limit']} s."
        if rows
        else "Nothing measured yet."
    )
    gone = taken_out((row["engine"] for row in rows), ENGINES, "../../..")
    return write_page(
        out / "oracles.md",
        "Oracles of explanations",
        note,
        *gone,
        markdown_table(header, lines),
        rows=rows,
        command="python -m benchmarks.explain_oracles",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain_oracles", description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="names of files in the folder rfxpl of the data")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--calls", type=int, default=500, help="questions per family, over all sets")
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of one question")
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(arguments)
    table = measure(
        families=asked.families,
        sets=asked.sets,
        engines=asked.engines,
        calls=asked.calls,
        limit=asked.seconds,
        fresh=asked.fresh,
        out=asked.out,
    )
    print(report(table, asked.out))


if __name__ == "__main__":
    main()
