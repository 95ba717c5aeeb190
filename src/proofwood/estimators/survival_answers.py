"""What a tree of survival times foretells of new rows: risks and curves, and how good they are."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.estimators.fitted import FittedModel
from proofwood.estimators.survival_curves import Curve, Survival, brier_scores
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray


class SurvivalAnswers(FittedModel):
    """The predictions of :class:`OptimalSurvivalTree`, and of one whose size is chosen."""

    # fitted
    unique_times_: FloatArray
    curves_: dict[int, Survival]

    _several_targets = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = tags.target_tags.positive_only = True
        return tags

    @abstractmethod
    def _rows_and_targets(self, X: Any, y: Any, name: str = "y") -> tuple[FloatArray, FloatArray]:
        """Rows as numbers, and their times, with whether the event happened."""

    def _risk(self, leaf: npt.NDArray[np.int64]) -> FloatArray:
        assert self.model_.values is not None
        return np.asarray(self.model_.values[leaf, 0])

    def predict(self, X: Any) -> FloatArray:
        """(n_samples,) risk of each row: events per unit of time in its leaf, greater for an earlier event."""
        check_is_fitted(self)
        return self._risk(self.apply(X))

    def predict_survival_function(self, X: Any, *, return_array: bool = False) -> Any:
        """The curve of Kaplan and Meier of the leaf of each row.

        Parameters
        ----------
        X : rows
        return_array : whether to return (n_samples, n_times) shares that survive ``unique_times_`` instead of functions
        """
        return self._curves([curves.survival for curves in self._of_rows(X)], return_array)

    def predict_cumulative_hazard_function(self, X: Any, *, return_array: bool = False) -> Any:
        """The curve of Nelson and Aalen of the leaf of each row.

        Parameters
        ----------
        X : rows
        return_array : whether to return (n_samples, n_times) hazards up to ``unique_times_`` instead of functions
        """
        return self._curves([curves.hazard for curves in self._of_rows(X)], return_array)

    def _of_rows(self, X: Any) -> list[Survival]:
        check_is_fitted(self)
        return [self.curves_[leaf] for leaf in self.apply(X).tolist()]

    def _curves(self, curves: list[Curve], return_array: bool) -> Any:
        if return_array:
            return np.array([curve(self.unique_times_) for curve in curves]).reshape(len(curves), -1)
        found = np.empty(len(curves), dtype=object)
        found[:] = curves
        return found

    def brier_score(self, X: Any, y: Any, times: npt.ArrayLike | None = None) -> FloatArray:
        """(n_times,) mean squared error of foretold survival, rows weighted for censoring.

        Parameters
        ----------
        X, y : as given to :meth:`fit`
        times : ascending times; by default those of ``unique_times_`` before the last time of these rows
        """
        check_is_fitted(self)
        columns, targets = self._rows_and_targets(X, y)
        seen, events = targets.T
        given = self.unique_times_[self.unique_times_ < seen.max()] if times is None else times
        at = np.asarray(given, dtype=np.float64).reshape(-1)
        if np.any(np.diff(at) <= 0) or np.any(at >= seen.max()):
            raise ValueError(f"times must ascend, and be before the last time of the rows, {seen.max():g}")
        leaves = np.array(sorted(self.curves_))
        group = np.searchsorted(leaves, evaluate.apply(self.model_, columns))
        foretold = np.array([self.curves_[node].survival(at) for node in leaves.tolist()])
        return brier_scores(seen, events > 0, foretold, at, group)

    def integrated_brier_score(self, X: Any, y: Any, times: npt.ArrayLike | None = None) -> float:
        """The mean of :meth:`brier_score` over time, by the trapezoidal rule.

        Parameters
        ----------
        X, y, times : as in :meth:`brier_score`; at least two times
        """
        scores = self.brier_score(X, y, times)
        last = self._rows_and_targets(X, y)[1][:, 0].max()
        at = self.unique_times_[self.unique_times_ < last] if times is None else np.asarray(times)
        if at.size < 2:
            raise ValueError(f"there are {at.size} times: expected at least two")
        return float(np.sum((scores[1:] + scores[:-1]) / 2 * np.diff(at)) / (at[-1] - at[0]))
