"""Measured tasks: plain values in, plain values out, so that they run in this process or in a child."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import cases, rivals
from benchmarks.harness import measure

Fit = dict[str, Any]


def describe(*, cases_of: Sequence[str], seconds: float) -> dict[str, Any]:
    """Size of a set that comes in parts: means of rows and tests, columns, classes, share of the class of code 1.

    ``seconds`` is not used. A test is a place between two neighbouring values of a column.
    """
    parts = [cases.load(case) for case in cases_of]
    return {
        "rows": sum(len(y) for _, y in parts) / len(parts),
        "columns": parts[0][0].shape[1],
        "tests": sum(len(np.unique(column)) - 1 for X, _ in parts for column in X.T) / len(parts),
        "classes": len({code for _, y in parts for code in y.tolist()}),
        "positive": sum(float(np.mean(y == 1)) for _, y in parts) / len(parts),
        "status": "done",
    }


def fit(
    *,
    learner: str,
    case: str,
    depth: int,
    seconds: float | None = None,
    max_gap: float = 0,
    threads: int = 1,
    options: Mapping[str, Any] | None = None,
    repeats: int = 1,
    trace: bool = False,
) -> Fit:
    """Fit one learner to one data set and count its errors from its own predictions.

    ``repeats`` fits in a row are timed together and their mean is reported: a fit of a millisecond is shorter than the
    jitter of one reading. Loading, importing and a first fit on a few rows (page faults, compiled code) are not timed.
    """
    X, y = cases.load(case)
    train = _warm(learner, case)
    settings = rivals.Settings(
        max_depth=depth, seconds=seconds, max_gap=max_gap, threads=threads, options=options or {}
    )
    gc.collect()

    def timed() -> rivals.Fitted:
        for _ in range(repeats - 1):
            train(X, y, settings)
        return train(X, y, settings)

    fitted, cost = measure(timed)
    errors = int(np.count_nonzero(fitted.predict(X) != y))
    outcome: Fit = {
        "rows": len(y),
        "errors": errors,
        "lower_bound": fitted.lower_bound,
        "status": fitted.status,
        "cpu": cost.cpu / repeats,
        "wall": cost.wall / repeats,
        "peak_mb": cost.peak_mb,
    }
    if fitted.counters:
        outcome["counters"] = dict(fitted.counters)
    if trace:
        outcome["trace"] = [list(event) for event in fitted.trace]
    return outcome


def pairs(
    *,
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    case: str,
    depth: int,
    count: int,
    slow: float,
    shortest: float = 0.05,
) -> dict[str, Any]:
    """Runs of two sides in turn, in one process, on the same arrays.

    Parameters
    ----------
    ours, theirs : arguments of :func:`fit` beside ``case`` and ``depth``
    count : number of pairs
    slow : CPU seconds of one run from which on the other side is run once only
    shortest : a run that is shorter than this many seconds is repeated within the reading until it is not, 50 times at
        most

    Returns
    -------
    dict
        ``{"runs": [...]}``, each run an outcome of :func:`fit` with ``side`` and ``pair``.
    """
    runs: list[Fit] = []
    sides = {"ours": ours, "theirs": theirs}
    repeats = {}
    for side, values in sides.items():  # one run each to know how many make a reading; it counts if it was long
        first = fit(case=case, depth=depth, **values)
        repeats[side] = max(1, min(50, round(shortest / max(first["wall"], 1e-6))))
        if first["wall"] >= 1.0:
            runs.append({"side": side, "pair": 0, **first})
    for pair in range(count):
        for side, values in sides.items() if pair % 2 == 0 else reversed(sides.items()):
            done = [run for run in runs if run["side"] == side]
            if any(run["pair"] == pair for run in done) or (side == "theirs" and done and done[0]["cpu"] > slow):
                continue
            runs.append({"side": side, "pair": pair, **fit(case=case, depth=depth, repeats=repeats[side], **values)})
    return {"runs": runs}


def _warm(learner: str, case: str) -> rivals.Fit:
    """The fitting function after a first fit on forty rows of the case."""
    X, y = cases.load(case)
    train = rivals.get(learner)
    head = np.unique(np.linspace(0, len(y) - 1, 40, dtype=np.int64))
    codes = np.unique(y[head], return_inverse=True)[1].astype(np.int64)
    train(np.ascontiguousarray(X[head]), codes, rivals.Settings(max_depth=1, seconds=5.0))
    return train
