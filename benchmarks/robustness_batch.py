"""The radius of every row of a large table, on several processes: seconds and statuses.

``python -m benchmarks.robustness_batch [--rows 10000] [--jobs 2]``

The models and the scaled table are those of ``benchmarks.robustness``: columns of magic in [0, 1], and the greatest
change of a value as distance. Each model is a row of ``results/explain/robustness_batch.csv``;
``robustness_batch.md`` is made from it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.explain_batch import processor_seconds
from benchmarks.harness import RESULTS, Table, markdown_table, number, write_page
from benchmarks.robustness import MODELS
from proofwood import Explainer

OUT = RESULTS / "explain"
DATA = "rfxpl/magic"
KEY = ("model", "rows", "jobs", "limit")
COLUMNS = ("seconds", "processor_seconds", "load_before", "exact", "at_least", "constant", "radius")


def measure(model: str, rows: int, jobs: int, limit: float) -> dict[str, Any]:
    """Radii of so many rows, and what they took; the making of the model and of the explainer is not counted."""
    from joblib.externals.loky import get_reusable_executor

    X, y = cases.load(DATA)
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-300)
    X = X.astype(np.float32).astype(np.float64)
    explainer = Explainer(MODELS[model]().fit(X, y))
    chosen = X[np.random.default_rng(0).permutation(len(X))[:rows]]
    load = os.getloadavg()[0]
    begin, processor = time.perf_counter(), processor_seconds()
    found = explainer.explain(chosen, kind="robustness", n_jobs=jobs, time_limit=limit)
    seconds = time.perf_counter() - begin
    get_reusable_executor().shutdown(wait=True)  # children count when they have ended
    frame = found.to_frame()
    statuses = frame["status"].to_list()
    return {
        "seconds": seconds,
        "processor_seconds": processor_seconds() - processor,
        "load_before": load,
        "exact": statuses.count("exact"),
        "at_least": sum(status.startswith("at least") for status in statuses),
        "constant": statuses.count("constant"),
        "radius": float(frame["radius"].median() or 0.0),
    }


def page(table: Table, out: Path) -> Path:
    """The page of what is stored."""
    header = (
        "model",
        "rows",
        "processes",
        "seconds by the clock",
        "CPU seconds",
        "CPU ms a row",
        "load before",
        "exact",
        "at least",
        "median radius",
    )
    lines = [
        [
            row["model"],
            row["rows"],
            row["jobs"],
            f"{number(row['seconds']):.0f}",
            f"{number(row['processor_seconds']):.0f}",
            f"{1000 * number(row['processor_seconds']) / number(row['rows']):.1f}",
            f"{number(row['load_before']):.1f}",
            row["exact"],
            row["at_least"],
            f"{number(row['radius']):.2g}",
        ]
        for row in table.rows
    ]
    return write_page(
        out / "robustness_batch.md",
        "Radii of all rows of a table",
        '`Explainer(model).explain(X, kind="robustness", n_jobs=...)` for rows of magic, columns scaled to [0, 1], '
        f"greatest change of a value, {number(table.rows[0]['limit']):g} seconds at most for a row. CPU seconds are "
        "those of all processes, their start included. The machine has two cores and did other work meanwhile, as the "
        "load before says: what two free cores would take is half of the CPU seconds.",
        markdown_table(header, lines),
        rows=table.rows,
        command="python -m benchmarks.robustness_batch",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness_batch", description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit for a row")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args(arguments)
    table = Table(chosen.out / "robustness_batch.csv", KEY, COLUMNS)
    for model in chosen.models:
        key = {"model": model, "rows": chosen.rows, "jobs": chosen.jobs, "limit": chosen.seconds}
        print(table.cell(lambda key=key: measure(**key), **key), flush=True)
    print(page(table, chosen.out))


if __name__ == "__main__":
    main()
