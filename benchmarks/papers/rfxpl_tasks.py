"""What the benchmark of explanations measures: one forest, so many rows; plain values in, plain values out."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.papers import rfxpl_published as published


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
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    from proofwood.explain.encodings.majority import encode
    from proofwood.explain.explainer import Explainer

    X, y = cases.load(case(data))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    forest = RandomForestClassifier(published.TREES, max_depth=depth, random_state=0).fit(X_train, y_train)
    begin = time.perf_counter()
    explainer = Explainer(forest, vote=vote, engine=engine)
    explainer.oracle  # noqa: B018 - builds what all rows share
    prepared = time.perf_counter() - begin
    wanted = max(1, round(published.share(len(X)) * len(X)))
    chosen = np.random.default_rng(0).permutation(len(X))[: wanted if rows is None else min(rows, wanted)]
    times, calls, lengths, labels = [], [], [], set()
    complete, begin = 0, time.perf_counter()
    for row in chosen:
        if time.perf_counter() - begin > budget:
            break
        start = time.perf_counter()
        found = explainer.abductive(X[row], time_limit=seconds)
        times.append(time.perf_counter() - start)
        calls.append(found.calls)
        complete += found.status.startswith("minimal")
        lengths.append(len(found.features))
        labels.add(found.label)
    outcome: dict[str, Any] = {
        "rows": len(X),
        "features": X.shape[1],
        "classes": len(explainer.model.classes),
        "depth": depth,
        "accuracy": 100 * float(np.mean(explainer.model.classes[explainer.model.predict_codes(X_test)] == y_test)),
        "prepared": prepared,
        "wanted": len(chosen),
        "explained": len(times),
        "minimal": complete,
        "calls": float(np.mean(calls)),
        "length": float(np.mean(lengths)),
        "least": min(times),
        "mean": float(np.mean(times)),
        "median": float(np.median(times)),
        "high": float(np.quantile(times, 0.95)),
        "most": max(times),
        "status": "done" if complete == len(chosen) else "feasible",
    }
    if vote == "majority":
        sizes = [encode(explainer.model.scores, label) for label in sorted(labels)]
        outcome["variables"] = float(np.mean([size.n_variables for size in sizes]))
        outcome["clauses"] = float(np.mean([len(size.clauses) for size in sizes]))
    return outcome
