"""Learners behind one call, imported when asked for; an absent one names its install command."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


class MissingRival(ImportError):
    """A package to compare with is not installed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of a learner.

    Parameters
    ----------
    max_depth : most tests on a path
    seconds : time limit, None for none; learners without a limit ignore it
    max_gap : an int counts errors, a float in [0, 1) is a share of the rows; exact learners of ours only
    threads : worker threads; rivals have one
    options : search switches by name, "proofwood-engine" only
    ccp_alpha : CART's price of a leaf
    max_splits : most inner nodes, "streed" only
    """

    max_depth: int
    seconds: float | None = None
    max_gap: float = 0
    threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    ccp_alpha: float = 0.0
    max_splits: int | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a learner returned; bound, counters and trace are those it can tell."""

    predict: Callable[[Rows], npt.NDArray[Any]]
    status: str
    lower_bound: float | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    trace: tuple[tuple[float, float, float], ...] = ()  # (seconds, objective, lower bound)


Fit = Callable[[Rows, Codes, Settings], Fitted]


def get(name: str) -> Fit:
    """The fitting function of a learner; imports its package, so that a timed call does not.

    Raises
    ------
    KeyError
        If there is no such learner.
    MissingRival
        If its package is not installed.
    """
    if name not in _LEARNERS:
        raise KeyError(f"no learner {name!r}: expected one of {', '.join(_LEARNERS)}")
    return _LEARNERS[name]()


def names() -> list[str]:
    """Names of all learners, installed or not."""
    return list(_LEARNERS)


def package(module: str, install: str) -> Any:
    """A module of a rival; MissingRival says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingRival(f"{module} is not installed: python -m pip install {install!r}") from error


def _proofwood() -> Fit:
    from proofwood import OptimalTreeClassifier

    def fit(X: Rows, y: Codes, settings: Settings) -> Fitted:
        learner = OptimalTreeClassifier(
            max_depth=settings.max_depth,
            max_gap=settings.max_gap,
            time_limit=settings.seconds,
            n_jobs=settings.threads,
            threshold_rule="midpoint",  # as rivals do, so that accuracies on other rows compare the trees
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a limit is seen in the status
            learner.fit(X, y)
        return _of_result(learner.predict, learner.result_)

    return fit


def _proofwood_engine() -> Fit:
    from proofwood.engines.trees import SearchOptions, solve
    from proofwood.model.evaluate import predict
    from proofwood.problem.tree import TreeProblem
    from proofwood.result import Limits

    def fit(X: Rows, y: Codes, settings: Settings) -> Fitted:
        problem = TreeProblem.from_arrays(X, y, max_depth=settings.max_depth, max_gap=settings.max_gap)
        limits = Limits(seconds=settings.seconds, threads=settings.threads)
        result = solve(problem, options=SearchOptions(**settings.options), limits=limits)
        model = result.model
        if model is None:
            raise AssertionError("a search over trees always has the majority leaf")
        return _of_result(lambda rows: predict(model, rows), result)

    return fit


def _of_result(predict: Callable[[Rows], npt.NDArray[Any]], result: Any) -> Fitted:
    trace = tuple((event.seconds, event.objective, event.lower_bound) for event in result.trace)
    return Fitted(predict, str(result.status), result.lower_bound, dict(result.stats.counters), trace)


def _pycontree() -> Fit:
    learner_class = package("pycontree", "pycontree>=1.0.8").ConTree

    def fit(X: Rows, y: Codes, settings: Settings) -> Fitted:
        if settings.max_gap:
            raise ValueError("pycontree 1.0.8 accepts no max_gap but 0 and 1: leave it 0")
        # it insists on a limit: a week stands for none
        learner = learner_class(max_depth=settings.max_depth, time_limit=settings.seconds or 604_800)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.fit(X, y.astype(np.int32))
        stopped = any("time limit" in str(w.message) for w in caught)
        return Fitted(learner.predict, "feasible" if stopped else "optimal")

    return fit


def _cart() -> Fit:
    learner_class = package("sklearn.tree", "scikit-learn").DecisionTreeClassifier

    def fit(X: Rows, y: Codes, settings: Settings) -> Fitted:
        learner = learner_class(max_depth=settings.max_depth, ccp_alpha=settings.ccp_alpha, random_state=0)
        learner.fit(X, y)
        return Fitted(learner.predict, "feasible")

    return fit


def _streed() -> Fit:
    learner_class = package("pystreed", "pystreed>=1.4").STreeDClassifier

    def fit(X: Rows, y: Codes, settings: Settings) -> Fitted:
        learner = learner_class(
            max_depth=settings.max_depth,
            max_num_nodes=settings.max_splits,
            time_limit=settings.seconds or 604_800,
            continuous_binarize_strategy="quantile",
            n_thresholds=10,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(X, y.astype(np.int32))
        if not learner.fit_result.is_optimal():
            return Fitted(learner.predict, "time_limit")
        # optimal for its ten tests per feature, which is no bound for all thresholds unless there are no others
        bits = bool(np.isin(X, (0, 1)).all())
        return Fitted(learner.predict, "optimal" if bits else "optimal for its tests")

    return fit


_LEARNERS: dict[str, Callable[[], Fit]] = {
    "proofwood": _proofwood,
    "proofwood-engine": _proofwood_engine,
    "pycontree": _pycontree,
    "cart": _cart,
    "streed": _streed,
}
