"""Bounds that are known beforehand: trees without errors, and diagrams and sets of tests that trees bound.

A tree that is planted in the labels must be found and end the search. On larger tables limited and longer searches,
checkpoints and the best trees of as many levels are compared: no bound may be refuted.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from proofwood import OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from tests.fuzz import _records, _trees, targets
from tests.fuzz._trees import require

NEAR = 1 + 1e-12


def planted(rng: np.random.Generator, X: pd.DataFrame, depth: int) -> np.ndarray:
    """Labels that a tree of a depth explains, whose tests are cuts, sets of levels and gaps."""
    y = np.zeros(len(X), dtype=np.int64)

    def label(rows: np.ndarray, left: int) -> None:
        y[rows] = rng.integers(0, 3)
        if left and rows.size > 1:
            column = X.iloc[rows][str(rng.choice(X.columns))]
            values = sorted(set(column.dropna()))
            if not values:
                return
            if column.dtype == object:
                some = set(rng.choice(values, int(rng.integers(1, len(values) + 1)), replace=False))
                low = column.isin(some).to_numpy()
            else:
                low = (column <= values[int(rng.integers(len(values)))]).to_numpy()
            if rng.random() < 0.5:
                low = low | column.isna().to_numpy()
            label(rows[low], left - 1)
            label(rows[~low], left - 1)

    label(np.arange(len(X)), depth)
    return y


def perfect(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A tree without errors, searched with as many levels and with more."""
    depth, n = int(rng.integers(1, 4)), int(10 ** rng.uniform(0.3, 3))
    X = targets.table(rng, n)
    if rng.random() < 0.5:
        X["x"] = rng.normal(size=n)
    y = planted(rng, X, depth)
    options: dict[str, Any] = {"max_depth": depth + int(rng.integers(0, 4)), "n_jobs": int(rng.choice([1, 2]))}
    if rng.random() < 0.3:
        options["min_samples_leaf"] = 1 + int(rng.random() < 0.1)
    options["time_limit"] = float(rng.choice([20.0, 20.0, 0.05, 1e-3]))
    weights = targets.weights_of(rng, n)
    case = _trees.classifier("perfect", X, y, weights, options)
    with _records.about((options, X.shape, depth, weights is not None)):
        model = _trees.in_time(case.fitted, options["time_limit"])
        plain = options["time_limit"] == 20 and options.get("min_samples_leaf", 1) == 1
        if model.objective_ == 0:
            require(str(model.status_) == "optimal", f"no errors, and {model.status_}")
        elif plain:  # at more levels than three, a tree without errors may be hard to find
            require(str(model.status_) == "feasible", f"a tree without errors exists: {model.summary()}")
            require(options["max_depth"] > 3, f"a tree without errors was not found: {model.summary()}")
        _trees.check_model(case, model, rng)
        counts[f"perfect {model.status_}{'' if model.objective_ == 0 else ', with errors'}"] += 1


def learner(rng: np.random.Generator) -> tuple[type[Any], dict[str, Any], int]:
    """A diagram or a set of tests, and the depth of the trees that bound it."""
    if rng.random() < 0.6:
        tests = int(rng.choice([1, 2, 3, 3, 4]))
        return OptimalBDDClassifier, {"max_features": tests, "alpha": float(rng.choice([0, 0, 0.01]))}, tests
    widths = [(1,), (1, 2), (1, 2, 2), (1, 2, 4)][int(rng.integers(4))]
    return OptimalDiagramClassifier, {"widths": widths, "alpha": float(rng.choice([0, 0.01, 0.1]))}, len(widths)


def bounded(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A diagram with less time and more, beside the best tree of as many levels."""
    kind, options, depth = learner(rng)
    if rng.random() < 0.3:
        X: Any = targets.table(rng, int(10 ** rng.uniform(0.5, 2.5)))
        y, weights = planted(rng, X, 2), targets.weights_of(rng, len(X))
        y = np.where(rng.random(len(X)) < 0.2, rng.integers(0, 2, len(X)), y)
    else:
        X, y, weights = _trees.larger(rng)
    options["n_jobs"] = int(rng.choice([1, 2]))
    given = () if weights is None else (weights,)
    with _records.about((kind.__name__, options, X.shape, weights is not None)):
        one, other = _trees.short_and_long(
            lambda limit: kind(**options, time_limit=limit).fit(X, y, *given), rng, counts
        )
        for model in (one, other):
            recounted = model.recount(X, y, *given)
            require(recounted == model.objective_, f"recounted {recounted!r}, {model.objective_!r}")
        tree = _trees.in_time(
            lambda: OptimalTreeClassifier(depth, min_samples_level=1, time_limit=2.0).fit(X, y, *given), 2.0
        )
        total = float(sum(targets.exact(weights, len(y)))) if kind is OptimalDiagramClassifier else 1.0
        if not len(X.select_dtypes(object).columns):  # trees test levels by sets of their own
            least = tree.lower_bound_ / total
            require(other.objective_ * NEAR >= least, f"{other.objective_!r} is below the trees' bound {least!r}")
        counts[f"{kind.__name__} {other.status_}"] += 1


def goes_on(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A search of a set of tests that goes on from its checkpoint, at times with less time."""
    X, y, weights = _trees.larger(rng)
    given = () if weights is None else (weights,)
    options = {"max_features": int(rng.choice([2, 3, 3, 4])), "alpha": float(rng.choice([0, 0.01]))}
    with tempfile.TemporaryDirectory() as folder, _records.about((options, X.shape, weights is not None)):
        before, path = None, Path(folder) / "search"
        for limit in 10 ** rng.uniform(-2, 0, 3):
            goes_on = path.exists()  # else the limit came before the rows were read
            model = _trees.in_time(
                lambda limit=limit, path=path: OptimalBDDClassifier(
                    **options, time_limit=float(limit), checkpoint=path
                ).fit(X, y, *given),
                float(limit),
            )
            require(model.recount(X, y, *given) == model.objective_, "recount after a checkpoint")
            if before is not None and goes_on:
                require(model.lower_bound_ >= before.lower_bound_, "a search that went on has a lower bound")
                require(model.objective_ <= before.objective_, "a search that went on has a worse model")
            before = model
            counts[f"went on {model.status_}"] += 1


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    counts: Counter[str] = Counter()
    with _trees.quiet():
        (bounded if number % 20 == 0 else goes_on if number % 50 == 1 else perfect)(rng, counts)
    return counts
