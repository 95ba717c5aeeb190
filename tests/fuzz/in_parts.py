"""Searches that are cut into tasks of a cluster, worked on in this process: the tree and the proof of one machine."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import numpy as np

import proofwood.engines.trees.cluster as module
from proofwood import OptimalTreeClassifier, OptimalTreeRegressor
from proofwood.parallel.executors import SerialExecutor
from tests.fuzz import _records, _trees, targets
from tests.fuzz._trees import require


class Workers(SerialExecutor):
    """As many as a cluster of some threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def run(self, work: Any, shared: Any, items: Any, *, seconds: float | None = None) -> Any:
        """Run as :class:`SerialExecutor`: tasks end with the time that they get."""
        return super().run(work, shared, items)


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    n = 1 + int(10 ** rng.uniform(0.3, 2.7))
    X = targets.table(rng, n)
    X["x"] = rng.normal(size=n).round(2)
    options: dict[str, Any] = {"max_depth": int(rng.choice([3, 3, 4])), "min_samples_level": 1, **_trees.minima(rng)}
    options |= {"alpha": float(rng.choice([0.0, 0.0, 0.005, 0.05])), "max_gap": float(rng.choice([0.0, 0.0, 0.05]))}
    options["time_limit"] = float(rng.choice([6.0, 6.0, 0.3, 0.02]))
    learner: Any = OptimalTreeClassifier
    y: Any = _trees.labels(rng, n)
    if rng.random() < 0.2:
        learner, y = OptimalTreeRegressor, rng.normal(size=n).round(1)
    elif rng.random() < 0.3:
        options |= {"criterion": "f1", "pos_label": "a", "alpha": 0.0, "min_weight_fraction_leaf": 0.0}
        y = np.where(rng.random(n) < 0.4, "a", "b")
        y[:2] = "a", "b"
    weights = None if rng.random() < 0.5 else rng.integers(1, 5, n) * float(rng.choice([1, 0.1]))
    given = () if weights is None else (weights,)
    counts: Counter[str] = Counter()
    patched = {
        "active_cluster": lambda: Workers(int(rng.integers(1, 4))),
        "HEAD": 0.001,
        "HEAD_PER_VALUE": 0.0,
        "SLICES": (0.02, 0.2),
        "PER_THREAD": int(rng.integers(1, 6)),
    }
    with _records.about((learner.__name__, options, X.to_dict("list"), y.tolist(), weights)), _trees.quiet():
        here = learner(**options).fit(X, y, *given)
        with mock.patch.multiple(module, **patched):
            there = _trees.in_time(lambda: learner(**options).fit(X, y, *given), options["time_limit"])
        told = [(m.objective_, m.lower_bound_, str(m.status_)) for m in (here, there)]
        require(there.recount(X, y, *given) == there.objective_, f"recount {told}")
        for one, other in (told, told[::-1]):
            require(one[1] <= other[0] * (1 + 1e-12), f"a bound is refuted: {told}")
        if here.status_ == there.status_ == "optimal" and not options["max_gap"]:
            # Which of the optimal trees it is depends on time where there is little of it: the last pass may not end.
            same = here.model_ == there.model_ or options["time_limit"] < 1
            require(told[0] == told[1] and same, f"another tree or proof: {told}")
        _trees.check_texts(there)
        tasks = there.result_.stats.counters.get("cluster_tasks", 0)
        counts["tasks"] += tasks
        counts[f"{there.status_}, {'in parts' if tasks else 'at once'}"] += 1
    return counts
