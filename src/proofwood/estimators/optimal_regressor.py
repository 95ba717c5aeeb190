"""``OptimalTreeRegressor``: the tree of numbers with provably the least squared error within a depth."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from proofwood.arguments import choice
from proofwood.estimators.input import features_and_labels
from proofwood.estimators.number_learner import (
    NumberLearner,
    NumberRows,
    explained,
    rows_text,
    signed,
)
from proofwood.estimators.shared_docs import documented
from proofwood.exceptions import DataError
from proofwood.language import gettext, number
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from proofwood.problem.targets import GammaMeans, Numbers, PoissonRates, SumTarget
from proofwood.result import Progress, figure
from proofwood.show.colouring import leaf_codes, nearest_codes

CRITERIA: Mapping[str, type[SumTarget]] = {
    "squared_error": Numbers,
    "poisson": PoissonRates,
    "gamma": GammaMeans,
}


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeRegressor(RegressorMixin, NumberLearner):  # type: ignore[misc] # scikit-learn has no types
    r"""Decision tree of numbers with provably the least training error among all axis-aligned trees of its depth.

    Each leaf predicts the mean of its rows. Columns are read and tested as by :class:`OptimalTreeClassifier`; a column
    of text with more than 5 levels is tested by the cuts of one order, that of the means of the target, and
    ``result_.scope`` says so. The search is that of the classifier [1]_; costs follow from sums of the target. Sums are
    exact. The cost of a leaf is rounded down to a unit that is at least 2^46 times smaller than the cost of a
    single leaf, so that a completed search proves the objective up to some 1e-13 of it: ``status_`` is then
    "within_gap", and :meth:`summary` says how close the bound is.

    Parameters
    ----------
    max_depth : int, default 3
        Most tests on a path from the root to a leaf; 0 is a single leaf.
    criterion : "squared_error", "poisson" or "gamma", default "squared_error"
        What the tree minimises: the sum of squared distances of the rows from the mean of their leaf; or the Poisson
        deviance of counts (numbers from 0), or the gamma deviance of sizes (numbers above 0), as scikit-learn defines
        them, summed over the rows by weight. For counts of unequal exposures, pass count / exposure, with the exposures
        as ``sample_weight``.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of what a single leaf costs: with 0.01 a leaf must avoid one
        hundredth of the squared error around the mean of all rows.
    max_leaf_nodes : int from 1 to 17, or None
        Most leaves of the tree, within its depth: it is optimal among all such trees.
    min_samples_leaf, min_weight_fraction_leaf, min_samples_level : as in every tree
    max_gap : float in [0, 1), default 0
        The search may stop with a tree that is at most this far from the optimum, as a share of what a single leaf
        costs.
    categorical_features, drop, missing_values, written_as, threshold_rule, unseen : as in every learner
    time_limit, memory_limit, n_jobs : as in every learner
        A completed search with ``max_gap=0`` gives the same tree for any ``n_jobs``.
    callback, verbose : as in every learner
    checkpoint : as in every search that can go on

    Attributes
    ----------
    target_name_, n_features_in_, feature_names_in_, categories_, schema_, hints_, validation_ : as in every learner
    model_, result_, objective_ : as in every learner
        The objective is the weighted squared error (or deviance) plus the price of the leaves.
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] Briţa, van der Linden, Demirović (2025), Optimal Classification Trees for Continuous Feature Data Using
       Dynamic Programming with Branch-and-Bound, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from proofwood import OptimalTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = OptimalTreeRegressor(max_depth=2).fit(X, y)
    >>> round(tree.objective_)  # no tree of depth 2 has a smaller squared error
    1444142
    >>> tree.gap_ / tree.objective_ < 1e-9
    True
    """

    max_depth: int = 3
    _: KW_ONLY
    criterion: str = "squared_error"
    alpha: float = 0.0
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_samples_level: int | None = None
    max_gap: float = 0
    categorical_features: Any = None
    drop: Any = None
    missing_values: Any = None
    written_as: Mapping[Any, str | None] | None = None
    threshold_rule: str = "shortest"
    unseen: str = "majority"
    time_limit: float | None = 60.0
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    callback: Progress | None = None
    verbose: int = 0
    checkpoint: str | os.PathLike[str] | None = None

    @property
    def _answers(self) -> None:
        return None

    @property
    def _cross_validated(self) -> str:
        return "OptimalTreeRegressorCV"

    @property
    def _units(self) -> tuple[str, ...]:
        return tuple(kind.named for kind in CRITERIA.values())

    @property
    def _kind(self) -> type[SumTarget]:
        choice(self.criterion, "criterion", tuple(CRITERIA))
        return CRITERIA[self.criterion]

    def _shaped(self, numbers: FloatArray) -> FloatArray:
        # A column of shape (n_samples, 1) is left to scikit-learn's warning.
        if numbers.ndim > 2 or (numbers.ndim == 2 and numbers.shape[1] != 1):
            raise ValueError(f"y has shape {numbers.shape}: expected one number per row, shape (n_samples,)")
        return numbers

    def _rows_of(self, target: npt.NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        numbers = target.astype(np.float64).reshape(-1, 1)
        least = {"poisson": 0.0, "gamma": np.nextafter(0.0, 1.0)}.get(self.criterion)
        if least is not None and np.any(numbers < least):
            row = int(np.argmax(numbers[:, 0] < least))
            kind = "from" if least == 0 else "above"
            raise DataError(
                f"criterion={self.criterion!r} is for numbers {kind} 0, and y has {numbers[row, 0]:g} in row {row}: "
                "use criterion='squared_error', or another target"
            )
        return numbers, numbers

    def _nearest_answers(self, targets: FloatArray) -> IntArray:
        return nearest_codes(leaf_codes(self.model_)[0], targets[:, 0])

    def _keep_target(self, rows: NumberRows) -> None:
        """Nothing: leaves hold what they predict."""

    def predict(self, X: Any) -> FloatArray:
        """(n_samples,) predicted number of each row of ``X``: the mean of the training rows in its leaf."""
        check_is_fitted(self)
        return np.asarray(self._values(X)[:, 0])

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The coefficient of determination R², as for scikit-learn's regressors.

        Parameters
        ----------
        X, y : rows and their numbers, or the name of the column of numbers
        sample_weight : (n_samples,) weight of each row
        """
        check_is_fitted(self)
        X, y = features_and_labels(X, y, labels=False)
        return float(super().score(X, self.to_targets(y), sample_weight))

    def _fit_text(self) -> str:
        table = self.model_
        assert table.loss is not None
        left = float(table.loss[table.feature == LEAF].sum()) / float(table.weight[0, 0])
        if self.criterion != "squared_error":
            return gettext(
                "D² %(share)s on %(rows)s (%(loss)s %(left)s a row)",
                share=signed(explained(table)),
                rows=rows_text(table),
                loss=gettext(CRITERIA[self.criterion].named),
                left=number(figure(left)),
            )
        return gettext(
            "R² %(share)s on %(rows)s (root mean squared error %(error)s)",
            share=signed(explained(table)),
            rows=rows_text(table),
            error=number(figure(math.sqrt(left))),
        )

    def _loss_in_words(self) -> str | None:
        return None if self.criterion == "squared_error" else CRITERIA[self.criterion].named

    def _claim(self) -> str:
        if self.result_.unit not in self._units:
            return super()._claim()
        if self.criterion == "squared_error":
            return gettext("no %(trees)s has a smaller squared error", trees=self._trees)
        return gettext("no %(trees)s has a smaller deviance", trees=self._trees)
