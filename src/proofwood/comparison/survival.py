"""Models of scikit-learn as models of survival times, to compare survival trees with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from proofwood.estimators.optimal_survival import times_of
from proofwood.estimators.survival_curves import Survival
from proofwood.model.node_table import FloatArray, IntArray


class RatesOfTimes(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A regressor of counts as a model of survival times.

    It learns the events per unit of time of each row, weighted by its time: with the Poisson deviance of scikit-learn
    this is the exponential deviance of survival times, up to a constant, so that a greedy tree of this kind minimises
    step by step what :class:`proofwood.OptimalSurvivalTree` minimises in whole [1]_.

    Parameters
    ----------
    model : regressor of scikit-learn that takes ``sample_weight``, or a pipeline that ends with one

    Attributes
    ----------
    fitted_ : the fitted regressor, of rates that are 1 in the mean
    rate_ : events per unit of time of all training rows
    n_rows_ : number of training rows

    References
    ----------
    .. [1] LeBlanc, Crowley (1992), Relative risk trees for censored survival data, Biometrics 48.
    """

    def __init__(self, model: Any = None) -> None:
        self.model = model

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows ``X`` with times ``y``, in a form that :class:`proofwood.OptimalSurvivalTree` takes."""
        times, events = times_of(y).T
        weights = np.ones(times.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        seen = float((weights * times).sum())
        self.rate_ = float((weights * events).sum()) / seen if seen else 0.0
        self.n_rows_ = int(np.count_nonzero(weights))
        fit = clone(self.model)
        step = f"{fit.steps[-1][0]}__" if isinstance(fit, Pipeline) else ""
        scale = self.rate_ or 1.0
        self.fitted_ = fit.fit(X, events / times / scale, **{f"{step}sample_weight": weights * times * scale})
        leaves = self._leaves(X)
        self._curves: dict[int, Survival] | None = None
        if leaves is not None:
            kept = {leaf: (leaves == leaf) & (weights > 0) for leaf in np.unique(leaves).tolist()}
            self._curves = {k: Survival.of(times[of], events[of] > 0, weights[of]) for k, of in kept.items()}
        return self

    def predict(self, X: Any) -> FloatArray:
        """(n_samples,) foretold events per unit of time."""
        return np.asarray(self.fitted_.predict(X), dtype=np.float64) * self.rate_

    def predict_survival_function(self, X: Any) -> npt.NDArray[Any]:
        """(n_samples,) functions of times: the curve of Kaplan and Meier of the leaf of a single tree; else that of a
        constant rate.
        """
        leaves = self._leaves(X)
        if leaves is None or self._curves is None:
            found: list[Any] = [ConstantRate(rate) for rate in self.predict(X).tolist()]
        else:
            found = [self._curves[leaf].survival for leaf in leaves.tolist()]
        curves = np.empty(len(found), dtype=object)
        curves[:] = found
        return curves

    def _leaves(self, X: Any) -> IntArray | None:
        """(n_rows,) leaf of each row in a single tree, 0 for a model without tests; None for other models."""
        fit = self.fitted_
        if isinstance(fit, Pipeline):
            X, fit = fit[:-1].transform(X), fit.steps[-1][1]
        if isinstance(fit, DummyRegressor):
            return np.zeros(len(X), dtype=np.int64)
        return np.asarray(fit.apply(X), dtype=np.int64) if isinstance(fit, DecisionTreeRegressor) else None


@dataclass(frozen=True)
class ConstantRate:
    """The share that survives if events happen at a constant rate."""

    rate: float

    def __call__(self, times: npt.ArrayLike) -> FloatArray:
        """The shares at times."""
        return np.exp(-max(self.rate, 0.0) * np.asarray(times, dtype=np.float64))


def structured(y: Any) -> npt.NDArray[Any]:
    """(n_rows,) events and times as scikit-survival takes them.

    Parameters
    ----------
    y : in a form that :class:`proofwood.OptimalSurvivalTree` takes
    """
    times, events = times_of(y).T
    found = np.empty(times.size, dtype=[("event", "?"), ("time", "f8")])
    found["event"], found["time"] = events > 0, times
    return found


def are_times(y: Any) -> bool:
    """Whether a target has two columns, or two fields: a time, and whether the event happened."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return (names is not None and len(names) == 2) or (len(shape) == 2 and shape[1] == 2)


def are_names(y: Any) -> bool:
    """Whether a target is the names of two columns."""
    return isinstance(y, (list, tuple)) and len(y) == 2 and all(isinstance(name, str) for name in y)
