"""One fit or explanation in a process whose addresses are limited; prints what came of it as JSON.

``python -m tests.memory_child '{"learner": "tree", "megabytes": 32, ...}'``
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from proofwood import (
    Explainer,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
)

LEARNERS = {
    "tree": (OptimalTreeClassifier, {"max_depth": 4}),
    "minimal": (MinimalTreeClassifier, {"on_conflict": "majority"}),
    "bdd": (OptimalBDDClassifier, {"max_features": 5}),
    "odd": (OptimalDiagramClassifier, {"widths": (1, 2, 2)}),
}


def table(rows: int, columns: int, seed: int, *, ids: bool = False) -> tuple[Any, Any]:
    """Values of three decimals and noisy labels; with ``ids``, one more column of texts that all differ."""
    rng = np.random.default_rng(seed)
    X: Any = rng.random((rows, columns)).round(3)
    y = (X[:, 0] + X[:, -1] + 0.3 * rng.random(rows) > 1).astype(int)
    if ids:
        X = np.column_stack([X.astype(object), [f"id {row}" for row in range(rows)]])
    return X, y


def peak() -> int:
    """Most bytes that this process has held in memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def limit_addresses(megabytes: int | None) -> None:
    """Let this process map so much more than it has mapped now."""
    if megabytes is None:
        return
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(case: dict[str, Any]) -> dict[str, Any]:
    """What the case ends in: a status with its numbers, or a MemoryError."""
    X, y = table(case.get("rows", 1500), case.get("columns", 8), case.get("seed", 0), ids=case.get("ids", False))
    limit = {"time_limit": case.get("time_limit", 1.0), "memory_limit": case.get("memory_limit")}
    if case["learner"] == "explainer":
        explainer = Explainer(RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y), **limit)
        limit_addresses(case.get("megabytes"))
        try:
            found = explainer.abductive(X[0])
        except MemoryError as error:
            return {"status": "MemoryError", "text": str(error)}
        return {"status": found.status, "features": len(found.features)}
    kind, settings = LEARNERS[case["learner"]]
    model = kind(**{**settings, **case.get("settings", {}), **limit, "n_jobs": case.get("jobs", 1)})
    limit_addresses(case.get("megabytes"))
    before = peak()
    try:
        model.fit(X, y)
    except (MemoryError, TimeoutError) as error:  # a smallest tree may have no answer yet at its time limit
        status = "MemoryError" if isinstance(error, MemoryError) else "TimeoutError"
        return {"status": status, "text": str(error), "added": peak() - before}
    added = peak() - before
    return {
        "status": str(model.status_),
        "objective": model.objective_,
        "lower": model.lower_bound_,
        "recount": model.recount(X, y) if case.get("megabytes") is None else model.objective_,
        "stopped_by": model.result_.stats.stopped_by,
        "added": added,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]))) + "\n")
