"""How well explanations keep their limit: method x model, with CPU and wall seconds and peak memory.

``python -m benchmarks.limits_explain --limit 2 --models deep columns-of-text``

The process is one, so the peak is that of all lines so far. What is stored already is not measured again.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.explain_batch import processor_seconds
from benchmarks.harness import RESULTS, Table, markdown_table, number, seconds_text, write_page
from benchmarks.limits import ALLOWED
from proofwood import Explainer
from proofwood.ensembles.explained import explained
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


def compare(
    *,
    models: Sequence[str] = tuple(MODELS),
    methods: Sequence[str] = tuple(METHODS),
    limit: float = 2.0,
    out: Path = RESULTS,
    fresh: bool = False,
) -> Path:
    """Measure what is missing in ``limits-explain.csv`` and write ``limits-explain.md``; returns the page."""
    path = out / "limits-explain.csv"
    if fresh:
        path.unlink(missing_ok=True)
    table = Table(path, ("model", "method", "limit"), ("answer", "cpu", "wall", "peak_mb"))
    for name in models:
        missing = [method for method in methods if table.find(model=name, method=method, limit=limit) is None]
        if not missing:
            continue
        fitted, X = MODELS[name]()
        model = explained(fitted)
        for method in missing:
            row = table.add({"model": name, "method": method, "limit": limit, **_measure(model, X, method, limit)})
            print(f"{name:16} {method:15} cpu {row['cpu']:>8} wall {row['wall']:>8}  {row['answer']}", flush=True)
    return _render(table, out / "limits-explain.md")


def _measure(model: Any, X: Any, method: str, limit: float) -> dict[str, Any]:
    explainer = Explainer(model, time_limit=limit)  # a new engine each time
    cpu, wall = processor_seconds(), time.perf_counter()
    answer = _answer(lambda: METHODS[method](explainer, X[:1]))
    took = {"cpu": processor_seconds() - cpu, "wall": time.perf_counter() - wall}
    return {"answer": answer, **took, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _render(table: Table, page: Path) -> Path:
    late = 0
    blocks = []
    for name in dict.fromkeys(row["model"] for row in table.rows):
        rows = []
        for row in table.select(model=name):
            cpu, limit = number(row["cpu"]), float(row["limit"])
            is_late = not cpu <= limit + max(ALLOWED[0], ALLOWED[1] * limit)
            late += is_late
            shown = seconds_text(cpu) + (" (late)" if is_late else "")
            wall = seconds_text(number(row["wall"]))
            rows.append([row["method"], row["limit"], shown, wall, f"{number(row['peak_mb']):,.0f}", row["answer"]])
        header = ["method", "limit, s", "CPU, s", "wall, s", "peak, MB", "answer"]
        about = " ".join((MODELS[name].__doc__ or "").split())
        blocks += [f"## {name}", about, markdown_table(header, rows)]
    lead = (
        "The first row of each table, explained by each method with a limit; the model is read before. An answer is "
        f"late if it takes more than {ALLOWED[0]:g} s or {ALLOWED[1]:.0%} beyond the limit, in CPU seconds. The peak "
        f"is that of the process up to then. Late: {late}."
    )
    return write_page(
        page, "Limits of explanations", lead, *blocks, rows=table.rows, command="python -m benchmarks.limits_explain"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args(arguments)
    print(compare(models=given.models, methods=given.methods, limit=given.limit, out=given.out, fresh=given.fresh))


def _answer(ask: Callable[[], Any]) -> str:
    try:
        found = ask()
    except NoCertificateError as error:
        return str(error)
    status = getattr(found, "status", None)
    return type(found).__name__ if status is None else f"{status}, {len(found.features)} features"


if __name__ == "__main__":
    main()
