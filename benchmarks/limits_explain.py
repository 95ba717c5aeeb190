"""How well explanations keep their limit: method x model, with CPU and wall seconds and peak memory.

``python -m benchmarks.limits_explain --limit 2 --models deep columns-of-text`` prints a line per method. The process is
one, so the peak is that of all lines so far.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.explain_batch import processor_seconds
from proofwood import Explainer
from proofwood.explain.model.explained import explained
from proofwood.explain.proofs.certificate import NoCertificateError


def deep() -> tuple[Any, Any]:
    """100 trees without a limit of depth over 20 columns of numbers."""
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 20)).round(3)
    y = X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=len(X)) > 0
    return RandomForestClassifier(100, random_state=0).fit(X, y), X


def boosted() -> tuple[Any, Any]:
    """300 boosted trees of depth 8."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * random.normal(size=len(X)) > 0
    return HistGradientBoostingClassifier(max_iter=300, max_depth=8, max_leaf_nodes=None).fit(X, y), X


def columns_of_text() -> tuple[Any, Any]:
    """100 trees without a limit of depth behind an imputer and one-hot columns of 50 levels."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    random = np.random.default_rng(0)
    levels = [f"level {k}" for k in range(50)]
    text, numbers = [f"text {i}" for i in range(6)], [f"number {i}" for i in range(4)]
    X = pd.DataFrame({name: random.choice(levels, 10_000) for name in text})
    X[numbers] = random.normal(size=(len(X), len(numbers)))
    effect = dict(zip(levels, random.normal(size=len(levels)), strict=True))
    y = sum(X[name].map(effect) for name in text) + 2 * X["number 0"] + random.normal(size=len(X)) > 0
    prepare = ColumnTransformer([("n", SimpleImputer(), numbers), ("c", OneHotEncoder(handle_unknown="ignore"), text)])
    return make_pipeline(prepare, RandomForestClassifier(100, random_state=0)).fit(X, y), X


def pixels() -> tuple[Any, Any]:
    """100 trees without a limit of depth over 784 columns, three classes."""
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(0)
    X = (random.random((4000, 784)) * 255 * (random.random((4000, 784)) < 0.2)).round()
    y = np.digitize(X[:, :50].sum(1) - X[:, 50:100].sum(1) + 3 * X[:, 100], [-300, 300])
    return RandomForestClassifier(100, random_state=0).fit(X, y), X


MODELS = {"deep": deep, "boosted": boosted, "columns-of-text": columns_of_text, "pixels": pixels}

METHODS: dict[str, Callable[[Explainer, Any], Any]] = {
    "abductive": lambda e, x: e.abductive(x),
    "inflate": lambda e, x: e.abductive(x, inflate=True),
    "smallest": lambda e, x: e.abductive(x, smallest=True),
    "contrastive": lambda e, x: e.contrastive(x),
    "fewest changes": lambda e, x: e.contrastive(x, smallest=True),
    "counterfactual": lambda e, x: e.counterfactual(x),
    "enumerate": lambda e, x: list(e.enumerate(x)),
    "necessary": lambda e, x: e.necessary(x),
    "relevant": lambda e, x: e.relevant(x),
    "attribution": lambda e, x: e.attribution(x),
    "certificate": lambda e, x: e.abductive(x, certificate=True),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    given = parser.parse_args()
    print(f"{'model':16} {'method':15} {'limit':>6} {'CPU':>7} {'wall':>7} {'peak MB':>8}  answer")
    for name in given.models:
        fitted, X = MODELS[name]()
        model = explained(fitted)
        for method in given.methods:
            explainer = Explainer(model, time_limit=given.limit)  # a new engine each time
            cpu, wall = processor_seconds(), time.perf_counter()
            answer = _answer(lambda e=explainer, m=method, x=X[:1]: METHODS[m](e, x))
            cpu, wall = processor_seconds() - cpu, time.perf_counter() - wall
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{name:16} {method:15} {given.limit:6.2f} {cpu:7.2f} {wall:7.2f} {peak:8.0f}  {answer}", flush=True)


def _answer(ask: Callable[[], Any]) -> str:
    try:
        found = ask()
    except NoCertificateError as error:
        return str(error)
    status = getattr(found, "status", None)
    return type(found).__name__ if status is None else f"{status}, {len(found.features)} features"


if __name__ == "__main__":
    main()
