"""Random learners, tables and limits of memory, each in a process of its own: claims hold, and no process dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np

ENGINES = {
    "tree": [{}],
    "minimal": [{}, {"engine": "paper"}],
    "bdd": [{}, *({"engine": "paper", "variant": variant} for variant in ("maxsat", "heuristic", "greedy"))],
    "odd": [{}, {"engine": "search"}, {"engine": "heuristic"}],
    "explainer": [{}],
}
CLAIMS = ("optimal", "within_gap", "feasible")
NO_ANSWER = ("MemoryError", "TimeoutError")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
"""Libraries that start threads while they are imported, and end the process if they cannot, are kept from doing so."""


def outcome(case: dict[str, Any], seconds: float = 120.0) -> dict[str, Any]:
    """What a case ends in; AssertionError if its process dies, raises, or claims what cannot be."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.memory_child", json.dumps(case)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, **ONE_THREAD},
    )
    assert done.returncode == 0, f"{case}: exit code {done.returncode}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if case["learner"] != "explainer" and found["status"] not in NO_ANSWER:
        assert found["status"] in CLAIMS, f"{case}: {found}"
        assert found["lower"] <= found["objective"], f"{case}: {found}"
        assert found["recount"] == found["objective"], f"{case}: {found}"
        assert found["status"] != "optimal" or found["lower"] == found["objective"], f"{case}: {found}"
    return found


def one_case(number: int) -> Counter[str]:
    """One case at random, by what it ended in."""
    rng = np.random.default_rng(number)
    learner = str(rng.choice(list(ENGINES)))
    case: dict[str, Any] = {
        "learner": learner,
        "settings": ENGINES[learner][int(rng.integers(len(ENGINES[learner])))],
        "rows": int(rng.integers(20, 4000)),
        "columns": int(rng.integers(2, 30)),
        "seed": int(rng.integers(2**31)),
        "jobs": int(rng.choice([1, 2, 64])),
        "time_limit": float(rng.uniform(0.1, 2.0)),
    }
    if rng.random() < 0.5:
        case["megabytes"] = int(2 ** rng.uniform(0, 10))
    else:
        case["memory_limit"] = int(2 ** rng.uniform(10, 30))
    return Counter({f"{learner} {outcome(case)['status']}": 1})
