"""Every row of a large table: seconds per row of a forest's explanations, on several processes.

``python -m benchmarks.explain_batch [--rows 10000] [--jobs 4] [--vote majority] [--executor joblib]``

The rows are drawn from spambase with replacement; each column gets noise of 0.05 of its standard deviation and is cut
off at its range, so that hardly two rows lie in the same cells. The model is a random forest of 100 trees of depth 5.
Processor seconds count all processes, the start of the workers included; on a machine that does other things as well
they say more than the seconds of the clock.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import RESULTS, ROOT
from proofwood.model.node_table import FloatArray, IntArray

DATA = Path(os.environ.get("PROOFWOOD_DATA", ROOT.parent / "shared" / "data")) / "rfxpl"
NOISE = 0.05


def spambase() -> tuple[FloatArray, IntArray]:
    """Rows and classes of spambase."""
    with gzip.open(DATA / "spambase.csv.gz", "rt") as file:
        values = np.loadtxt(file, delimiter=",", skiprows=1)
    return np.ascontiguousarray(values[:, :-1]), values[:, -1].astype(np.int64)


def noisy_rows(X: FloatArray, n: int, seed: int = 0) -> FloatArray:
    """``n`` rows of ``X``, drawn with replacement, with noise."""
    generator = np.random.default_rng(seed)
    rows = X[generator.integers(0, len(X), n)]
    rows = rows + generator.normal(0.0, 1.0, rows.shape) * (NOISE * X.std(axis=0))
    return np.asarray(np.clip(rows, X.min(axis=0), X.max(axis=0)))


def processor_seconds() -> float:
    """Of this process and its children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Run it, print a line, and append it to ``results/explain/batch.csv``."""
    from joblib.externals.loky import get_reusable_executor
    from sklearn.ensemble import RandomForestClassifier

    from proofwood import Explainer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--vote", default="majority", choices=("majority", "auto"))
    parser.add_argument("--executor", default="joblib", choices=("serial", "joblib", "dask"))
    chosen = parser.parse_args()
    X, y = spambase()
    model = RandomForestClassifier(100, max_depth=5, random_state=0).fit(X, y)
    rows = noisy_rows(X, chosen.rows)
    explainer = Explainer(model, vote=chosen.vote)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explanations.jsonl"
        load = os.getloadavg()[0]
        begin, processor = time.perf_counter(), processor_seconds()
        jobs = None if chosen.executor == "serial" else chosen.jobs
        found = explainer.explain(rows, n_jobs=jobs, executor=chosen.executor, path=path, verbose=1)
        seconds = time.perf_counter() - begin
        if chosen.executor == "joblib":
            get_reusable_executor().shutdown(wait=True)  # children count when they have ended
        processor = processor_seconds() - processor
        size = path.stat().st_size
    frame = found.to_frame()
    reused = sum(record["calls"] == 0 for record in found.records)
    minimal = int(frame["status"].str.starts_with("minimal").sum())
    values = {
        "rows": chosen.rows,
        "vote": chosen.vote,
        "executor": chosen.executor,
        "jobs": chosen.jobs,
        "seconds": f"{seconds:.1f}",
        "processor_seconds": f"{processor:.1f}",
        "processor_seconds_per_row": f"{processor / chosen.rows:.4f}",
        "processors_used": f"{processor / seconds:.2f}",
        "load_before": f"{load:.1f}",
        "features": f"{frame['n_features'].mean():.2f}",
        "minimal": minimal,
        "without_search": reused,
        "megabytes": f"{size / 1e6:.1f}",
    }
    print(", ".join(f"{key} {value}" for key, value in values.items()))
    target = RESULTS / "explain" / "batch.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    new = not target.exists()
    with target.open("a", encoding="utf-8") as file:
        if new:
            file.write(",".join(values) + "\n")
        file.write(",".join(map(str, values.values())) + "\n")


if __name__ == "__main__":
    main()
