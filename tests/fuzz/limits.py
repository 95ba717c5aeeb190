"""Random limits: every learner and engine on random tables, with time limits and Ctrl-C at random moments.

``campaign(seed, seconds)`` checks of every fit that it is back in time by its CPU seconds, that status, bounds and
trace are sound, that the model is a model, and that a recount equals the objective.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from proofwood import MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from proofwood.engines.bdd.priced import MOST_FUNCTIONS
from proofwood.result import ProgressEvent
from tests.clock import cpu_seconds
from tests.fuzz import _records

SPARE = 0.5, 0.05
"""A fit may take so many CPU seconds more than its limit, or this share of it, whichever is more."""
SIMPLIFYING = 1.5
"""The same with CaDiCaL, which looks at no clock while it simplifies a formula."""

LEARNERS: tuple[tuple[str, type, dict[str, tuple[Any, ...]]], ...] = (
    (
        "tree",
        OptimalTreeClassifier,
        {"max_depth": (0, 1, 2, 3, 4), "alpha": (0.0, 0.01), "min_samples_leaf": (1, 5), "max_gap": (0, 2, 0.01)},
    ),
    ("tree, any depth", OptimalTreeClassifier, {"max_depth": (None,), "alpha": (0.002, 0.01, 0.1)}),
    (
        "tree, leaves",
        OptimalTreeClassifier,
        {"max_leaf_nodes": (1, 3, 6, 9), "max_depth": (None, 3, 4), "min_samples_leaf": (1, 5)},
    ),
    (
        "tree, two classes",
        OptimalTreeClassifier,
        {"criterion": ("f1", "jaccard"), "pos_label": (1,), "max_depth": (1, 2, 3, 4)},
    ),
    (
        "tree, recall",
        OptimalTreeClassifier,
        {"criterion": ("precision",), "min_recall": (0.3, 0.8), "pos_label": (1,), "max_depth": (1, 2, 3, 4)},
    ),
    (
        "tree, order",
        OptimalTreeClassifier,
        {"monotonic_cst": (1, -1), "max_depth": (1, 2, 3, 4), "alpha": (0.0, 0.01)},
    ),
    (
        "minimal",
        MinimalTreeClassifier,
        {
            "minimize": ("depth", "nodes", "nodes-any-depth"),
            "max_errors": (0, 1, 5),
            "max_thresholds": (None, None, 3),
        },
    ),
    (
        "minimal, paper",
        MinimalTreeClassifier,
        {"minimize": ("depth", "nodes"), "engine": ("paper",), "max_thresholds": (None, None, 3)},
    ),
    (
        "bdd",
        OptimalBDDClassifier,
        {
            "max_features": (0, 1, 3, 4),
            "unknown": ("smallest", "parent", "merge"),
            "max_thresholds": (None, 5),
        },
    ),
    (
        "bdd, paper",
        OptimalBDDClassifier,
        {
            "max_features": (0, 1, 3, 4),
            "engine": ("paper",),
            "variant": ("maxsat", "heuristic", "greedy"),
            "unknown": ("smallest", "parent", "merge"),
            "max_thresholds": (None, 5),
        },
    ),
    (
        "bdd, features",
        OptimalBDDClassifier,
        {"objective": ("features",), "engine": ("search", "paper"), "max_thresholds": (None, 5)},
    ),
    ("bdd, priced", OptimalBDDClassifier, {"alpha": (0.001, 0.02), "max_features": (2, 4)}),
    (
        "diagram",
        OptimalDiagramClassifier,
        {
            "widths": ((1,), (1, 2), (1, 2, 3)),
            "alpha": (0.0, 0.01, 0.2),
            "engine": ("auto", "search", "heuristic", "paper"),
        },
    ),
    (
        "diagram, oblique",
        OptimalDiagramClassifier,
        {
            "splits": ("oblique",),
            "widths": ((1,), (1, 2), (1, 2, 3)),
            "alpha": (0.0, 0.01, 0.2),
            "engine": ("auto", "heuristic"),
        },
    ),
)

NUMBERS = ("tree", "tree, order", "diagram, oblique")
"""Learners that take numbers alone, or are tried with them alone."""


@dataclass
class Outcome:
    """One fit: the estimator (None if it raised), what it raised, CPU seconds until it was back, those it may take."""

    estimator: Any
    raised: str
    cpu: float
    limit: float
    most: float
    events: list[ProgressEvent]


def random_table(rng: np.random.Generator, *, numbers: bool) -> tuple[Any, np.ndarray]:
    """Rows and labels: reals, ties, pixels, or text and identifiers unless only ``numbers`` will do."""
    n = int(rng.choice([1, 2, 7, 40, 300, 2000]))
    p = int(rng.integers(1, 7)) if n > 300 or rng.random() < 0.9 else 60
    kind = rng.choice(["reals", "ties", "pixels", "bits", *([] if numbers else ["text", "ids"])])
    X: Any = rng.normal(size=(n, p))
    if kind == "ties":
        X = rng.integers(0, 4, size=(n, p)).astype(float)
    elif kind == "pixels":
        X = rng.integers(0, 256, size=(n, p)) * (rng.random((n, p)) < 0.3) * 1.0
    elif kind == "bits":
        X = rng.integers(0, 2, size=(n, p)).astype(float)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int) + (X[:, -1] > np.quantile(X[:, -1], 0.8)).astype(int)
    y[rng.random(n) < rng.choice([0.0, 0.05, 0.5])] = 0
    if kind in ("text", "ids"):
        X = X.astype(object)
        X[:, 0] = [f"id-{row}" if kind == "ids" else f"level {row % 5}" for row in range(n)]
    return X, y


@cache
def warm() -> None:
    """Let the process import what a first fit imports: that takes CPU seconds which no limit can bound."""
    X, y = np.arange(8.0)[:, None], np.array([0, 1, 1, 0, 0, 1, 0, 1])
    for _, learner, choices in LEARNERS:
        for engine in choices.get("engine", (None,)):
            parameters = {key: values[0] for key, values in choices.items() if key != "engine"}
            if "monotonic_cst" in parameters:
                parameters["monotonic_cst"] = [parameters["monotonic_cst"]]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learner(**parameters, **({} if engine is None else {"engine": engine}), time_limit=5.0).fit(X, y)


def run(estimator: Any, X: Any, y: np.ndarray, weights: Any, press_after: float | None) -> Outcome:
    """One fit, with Ctrl-C after some seconds if asked for; a Ctrl-C that comes too late is taken here."""
    events: list[ProgressEvent] = []
    estimator.set_params(callback=events.append)
    pressed: list[float] = []
    over = False

    def take(*_: object) -> None:
        if not over:
            raise KeyboardInterrupt

    def press() -> None:
        pressed.append(cpu_seconds())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, take)
    timer = threading.Timer(press_after or 0.0, press)
    fitted, raised, started = None, "", cpu_seconds()
    try:
        if press_after is not None:
            timer.start()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = estimator.fit(X, y, weights)
            over = True
        except (TimeoutError, ValueError) as error:
            over = True
            raised = f"{type(error).__name__}: {error}"
        took = cpu_seconds() - (pressed[0] if pressed else started)
    except KeyboardInterrupt:
        over = True
        raised, took = "KeyboardInterrupt", cpu_seconds() - (pressed[0] if pressed else started)
    finally:
        over = True
        if press_after is not None:
            timer.cancel()
            timer.join()
            time.sleep(0.001)  # a signal that was sent is taken before the old handler is back
        signal.signal(signal.SIGINT, before)
    limit = 0.0 if pressed else float(estimator.time_limit)
    by_sat = getattr(estimator, "engine", None) == "paper" and not isinstance(estimator, OptimalDiagramClassifier)
    most = limit + max(SIMPLIFYING if by_sat else SPARE[0], SPARE[1] * limit)
    return Outcome(fitted, raised, took, limit, most, events)


def check(outcome: Outcome, X: Any, y: np.ndarray, weights: Any) -> None:
    """AssertionError on the first thing that is not as it should be."""
    assert outcome.cpu <= outcome.most, f"{outcome.cpu:.2f} CPU seconds for a limit of {outcome.limit:.3f}"
    check_events(outcome.events)
    fitted = outcome.estimator
    if fitted is None:
        permitted = ("TimeoutError", "KeyboardInterrupt", "DataError: ", "ValueError: criterion=")  # of one class
        assert outcome.raised.startswith(permitted), outcome.raised
        return
    result = fitted.result_
    assert result.lower_bound <= result.objective < math.inf, result
    assert (result.status == "optimal") == (result.lower_bound == result.objective), result
    closed = result.status != "feasible" or result.stats.stopped_by
    heuristic = {getattr(fitted, "engine", None), getattr(fitted, "variant", None)} & {"heuristic", "greedy"}
    assert closed or may_stay_open(fitted) or heuristic, result
    check_events(fitted.trace_)
    final = fitted.trace_[-1]
    told = (final.objective, final.lower_bound)
    assert told == (result.objective, result.lower_bound), f"the trace ends with {told}"
    counted = fitted.recount(X, y, weights)
    assert math.isclose(counted, result.objective, rel_tol=1e-9), f"recount {counted}, {result.objective}"
    assert fitted.predict(X).shape == y.shape


def may_stay_open(fitted: Any) -> bool:
    """Whether a diagram whose nodes have a price has too many labelings to compare, so that a bound may stay open."""
    if not isinstance(fitted, OptimalBDDClassifier) or fitted.alpha == 0:
        return False
    return len(fitted.classes_) ** 2**fitted.max_features > MOST_FUNCTIONS


def check_events(events: Any) -> None:
    """Objectives fall, bounds rise, and a bound is never above its objective."""
    for one, other in pairwise(events):
        assert other.objective <= one.objective, f"objective {one.objective} then {other.objective}"
        assert other.lower_bound >= one.lower_bound, f"bound {one.lower_bound} then {other.lower_bound}"
    for event in events:
        assert event.lower_bound <= event.objective, event


def one_case(number: int) -> Counter[str]:
    """Draw, run and check one case; gives how its learner ended."""
    warm()
    rng = np.random.default_rng(number)
    name, learner, choices = LEARNERS[int(rng.integers(len(LEARNERS)))]
    X, y = random_table(rng, numbers=name in NUMBERS)
    parameters = {key: values[int(rng.integers(len(values)))] for key, values in choices.items()}
    if name in ("tree, two classes", "tree, recall", "tree, order"):
        y = np.minimum(y, 1)
    if name == "tree, order":
        parameters["monotonic_cst"] = [parameters["monotonic_cst"]] * X.shape[1]
    if name == "minimal":
        parameters["on_conflict"] = "majority"
    parameters["time_limit"] = float(10 ** rng.uniform(-3, 0))
    press_after = float(10 ** rng.uniform(-3, 0)) if rng.random() < 0.3 else None
    weights = rng.integers(0, 3, len(y)).astype(float) if rng.random() < 0.2 else None
    if weights is not None and not weights.any():
        weights = None
    with _records.about(f"{name} {parameters}, {X.shape}, Ctrl-C after {press_after}"):
        outcome = run(learner(**parameters), X, y, weights, press_after)
        check(outcome, X, y, weights)
    ended = outcome.raised.partition(":")[0] if outcome.estimator is None else str(outcome.estimator.status_)
    return Counter({f"{name}: {ended}": 1})
