"""A forest or boosted trees that grow until a time limit."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone


class Growing(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """An ensemble of scikit-learn to which a fit adds trees until it has all of them or the time is over.

    With all trees it is the ensemble that its own ``fit`` makes. A time limit is exceeded by a tree of the ensemble, or
    one round of boosting, at most.

    Parameters
    ----------
    ensemble : ensemble with ``warm_start``, and ``max_iter`` or ``n_estimators``
    time_limit : float or None
        Seconds for a fit.

    Attributes
    ----------
    ensemble_ : the fitted ensemble
    n_grown_ : int
        Its number of trees, or of rounds of boosting.
    cut_ : bool
        Whether the time limit ended the fit.
    """

    def __init__(self, ensemble: Any = None, time_limit: float | None = None) -> None:
        self.ensemble = ensemble
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Add trees, at each step as many as there are at most, and no more than there is time for."""
        size = "max_iter" if hasattr(self.ensemble, "max_iter") else "n_estimators"
        wanted = getattr(self.ensemble, size)
        fit, started = clone(self.ensemble), time.perf_counter()
        limit = np.inf if self.time_limit is None else self.time_limit
        fit.set_params(warm_start=True)
        grown, step, seconds = 0, wanted if limit == np.inf else 1, 0.0
        while grown < wanted and (grown == 0 or seconds < limit):
            fit.set_params(**{size: grown + step}).fit(X, y, sample_weight)
            grown += step
            seconds = time.perf_counter() - started
            if getattr(fit, "n_iter_", grown) < grown:  # boosting stopped early by itself
                grown = wanted
            step = min(grown, wanted - grown, max(1, int(min((limit - seconds) / seconds, 1.0) * grown)))
        self.ensemble_ = fit
        self.n_grown_, self.cut_ = int(getattr(fit, "n_iter_", grown)), grown < wanted
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n_samples,) prediction for each row."""
        return np.asarray(self.ensemble_.predict(X))


class GrowingRegressor(RegressorMixin, Growing):  # type: ignore[misc] # scikit-learn has no types
    """A regressor that grows until a time limit; parameters and attributes are those of :class:`Growing`."""


class GrowingEnsemble(ClassifierMixin, Growing):  # type: ignore[misc] # scikit-learn has no types
    """A classifier that grows until a time limit; parameters and attributes are those of :class:`Growing`."""

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """(n_classes,) labels."""
        return np.asarray(self.ensemble_.classes_)

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """(n_samples, n_classes) probability of each class."""
        return np.asarray(self.ensemble_.predict_proba(X))
