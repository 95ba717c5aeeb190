"""What the benchmark of explanations measures: one forest, so many rows; plain values in, plain values out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.papers import rfxpl_published as published
from proofwood.explain.oracles.oracle import Answer, BoxQuestion
from proofwood.explain.oracles.paper import PaperOracle, forest_of
from proofwood.model.node_table import FloatArray, IntArray


def case(data: str) -> str:
    """Where a set is among the cases of the benchmarks."""
    if data in cases.names("generated"):
        return data
    return "uci/banknote-authentication" if data == "banknote" else f"rfxpl/{data}"


def explanations(
    data: str, vote: str, engine: str, rows: int | None, budget: float, depth: int, seconds: float
) -> dict[str, Any]:
    """One abductive explanation for each of some rows of a set.

    Parameters
    ----------
    data : name of a set of the paper, or of a generated one
    vote : "majority", or "auto": the mean of the leaves' shares, as scikit-learn predicts
    engine : as ``Explainer`` takes it
    rows : most rows, None for as many as the paper explains; drawn from all rows of the set with seed 0
    budget : seconds after which no further row is begun
    depth : largest depth of the trees
    seconds : limit of one explanation

    Returns
    -------
    dict
        ``status`` is "done" if all rows were explained, "feasible" if a limit was reached.
    """
    from proofwood.explain.explainer import Explainer
    from proofwood.papers.rfxpl.clauses import encode

    X, forest, X_test, y_test = forest_of_set(data, depth)
    begin = time.perf_counter()
    explainer = Explainer(forest, vote=vote, engine=engine)
    explainer.is_sufficient(X[:1], explainer.feature_names)  # builds what all rows share
    prepared = time.perf_counter() - begin
    chosen = drawn(X, rows)
    labels = set()

    def explain(row: FloatArray) -> tuple[int, int, bool]:
        found = explainer.abductive(row, time_limit=seconds)
        labels.add(found.label)
        return found.calls, len(found.features), found.status.startswith("minimal")

    with _watched() as calls:
        timed = _timed(X[chosen], explain, budget)
    outcome = {
        "rows": len(X),
        "features": X.shape[1],
        "classes": len(explainer.model.classes),
        "depth": depth,
        "nodes": sum(tree.tree_.node_count for tree in forest.estimators_),
        "accuracy": 100 * float(np.mean(explainer.model.classes[explainer.model.predict_codes(X_test)] == y_test)),
        "prepared": prepared,
        **timed,
    }
    for name, seconds_of in calls.items():
        if engine == "paper":
            outcome |= {name: len(seconds_of) / timed["explained"], f"most_{name}": max(seconds_of, default=0.0)}
    if vote == "majority":
        sizes = [encode(forest_of(explainer.model.scores), label) for label in sorted(labels)]
        outcome["variables"] = float(np.mean([size.n_variables for size in sizes]))
        outcome["clauses"] = float(np.mean([len(size.clauses) for size in sizes]))
    return outcome


def authors(data: str, folder: str, rows: int | None, budget: float, depth: int, seconds: float) -> dict[str, Any]:
    """What the program of the paper's authors makes of the same rows of the same forests, by majority vote.

    Counted are the CPU seconds of ``XRF.explain``. The formula of a class is made at its first row and kept; its
    making is not counted here, though each run of the authors' command makes it anew.

    Parameters
    ----------
    folder : a checkout of the repository izzayacine/RFxpl; it needs the packages anytree, six and python-sat
    seconds : not used: the program has no limit

    Others, and what is returned, as in ``explanations``.
    """
    sys.path.insert(0, folder)
    from xrf import XRF

    X, forest, X_test, y_test = forest_of_set(data, depth)
    begin = time.perf_counter()
    program = XRF(_Estimators(forest.estimators_), [f"column{at}" for at in range(X.shape[1])], list(forest.classes_))
    prepared = time.perf_counter() - begin
    narrow = X.astype(np.float32)  # as scikit-learn reads rows
    formulas: dict[int, Any] = {}
    for row in narrow[drawn(X, rows)]:
        label = int(program.f.predict(row))
        if label not in formulas:
            program.encode(row, "sat")
            formulas[label] = program.enc

    def explain(row: FloatArray) -> tuple[int, int, bool]:
        program.enc = formulas[int(program.f.predict(row))]
        features = program.explain(row, "abd", "sat")
        return len(program.x.assums), len(features), True

    votes = np.array([int(program.f.predict(row)) for row in X_test.astype(np.float32)])
    return {
        "rows": len(X),
        "features": X.shape[1],
        "classes": len(forest.classes_),
        "depth": depth,
        "nodes": sum(tree.tree_.node_count for tree in forest.estimators_),
        "accuracy": 100 * float(np.mean(forest.classes_[votes] == y_test)),
        "prepared": prepared,
        **_timed(narrow[drawn(X, rows)], explain, budget),
        "variables": float(np.mean([formula.nVars for formula in formulas.values()])),
        "clauses": float(np.mean([formula.nClauses for formula in formulas.values()])),
    }


@contextmanager
def _watched() -> Iterator[dict[str, list[float]]]:
    """Seconds of the questions to the paper's solver, of those with a change and of those without."""
    seconds: dict[str, list[float]] = {"sat": [], "unsat": []}
    original = PaperOracle.answer

    def answer(self: PaperOracle, question: BoxQuestion) -> Answer:
        start = time.process_time()
        found = original(self, question)
        if found.changes is not None:
            seconds["sat" if found.changes else "unsat"].append(time.process_time() - start)
        return found

    PaperOracle.answer = answer  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        PaperOracle.answer = original  # type: ignore[method-assign]


class _Estimators:
    """A forest as the authors' program wants it."""

    def __init__(self, trees: list[Any]) -> None:
        self._trees = trees

    def estimators(self) -> list[Any]:
        return self._trees


def forest_of_set(data: str, depth: int) -> tuple[FloatArray, Any, FloatArray, IntArray]:
    """All rows of a set, a forest of four fifths of them, and the other fifth with its classes."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = cases.load(case(data))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    return (
        X,
        RandomForestClassifier(published.TREES, max_depth=depth, random_state=0).fit(X_train, y_train),
        X_test,
        y_test,
    )


def drawn(X: FloatArray, rows: int | None) -> IntArray:
    """Rows to explain: so many of those that the paper's share names."""
    wanted = max(1, round(published.share(len(X)) * len(X)))
    return np.random.default_rng(0).permutation(len(X))[: wanted if rows is None else min(rows, wanted)]


def _timed(rows: FloatArray, explain: Callable[[FloatArray], tuple[int, int, bool]], budget: float) -> dict[str, Any]:
    """Questions, features and CPU seconds of the explanations of rows, until the budget is spent."""
    times, calls, lengths = [], [], []
    complete, begin = 0, time.perf_counter()
    for row in rows:
        if time.perf_counter() - begin > budget:
            break
        start = time.process_time()
        asked, length, minimal = explain(row)
        times.append(time.process_time() - start)
        calls.append(asked)
        lengths.append(length)
        complete += minimal
    return {
        "wanted": len(rows),
        "explained": len(times),
        "minimal": complete,
        "calls": float(np.mean(calls)),
        "length": float(np.mean(lengths)),
        "least": min(times),
        "mean": float(np.mean(times)),
        "median": float(np.median(times)),
        "high": float(np.quantile(times, 0.95)),
        "most": max(times),
        "status": "done" if complete == len(rows) else "feasible",
    }
