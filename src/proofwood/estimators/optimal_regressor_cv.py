"""``OptimalTreeRegressorCV``: an optimal tree of numbers whose size is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from proofwood.estimators.candidates import FittedCandidates
from proofwood.estimators.chosen_tree import ChosenNumberTree
from proofwood.estimators.number_learner import numbers_of
from proofwood.estimators.optimal_regressor import OptimalTreeRegressor
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.validation import NumberFigures, Validation
from proofwood.model.node_table import FloatArray


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeRegressorCV(RegressorMixin, ChosenNumberTree):  # type: ignore[misc] # scikit-learn has no types
    r"""Optimal tree of numbers whose depth, price of leaves and least rows per leaf are chosen by cross-validation.

    Each candidate is fitted on the training rows of every fold and scored on the rows that the fold holds out. The
    chosen candidate is fitted on all rows; this tree, with its proof, is the model. It has all methods of an
    :class:`OptimalTreeRegressor`.

    By default the choice is the smallest tree whose mean score is within one standard error of the best [1]_. Optimal
    trees fit their training rows closely, so the largest tree is rarely the best for new rows.

    Parameters
    ----------
    max_depth : as in every choice of a size
    criterion : as in :class:`OptimalTreeRegressor`
    alpha : float or sequence of float, default (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
        Prices of a leaf to try, as shares of what a single leaf costs. A tree that is optimal for two prices is optimal
        for all prices between them, which then need no fit.
    min_samples_leaf : int, "auto", or sequence of these, default 1
        Least rows per leaf to try. ``"auto"``: thirty, or a fifth of the rows if that is less.
    cv : int, splitter or iterable of (train, test), default 5
        A number of folds, shuffled, or a splitter, as in scikit-learn. A number with ``groups`` keeps each group in one
        fold.
    random_state : as in every choice of a size
    scoring : str, function of (regressor, X, y), or None
        The score, as in scikit-learn; None means R², which compares the squared error on the held-out rows with that
        around their mean.
    rule : as in every choice of a size
    min_weight_fraction_leaf, min_samples_level, max_gap : as in :class:`OptimalTreeRegressor`
    categorical_features, drop, missing_values, written_as, threshold_rule, unseen : as in every learner
    time_limit : as in every choice of a size
    memory_limit, n_jobs : as in every learner
    verbose : as in every choice of a size

    Attributes
    ----------
    best_estimator_ : OptimalTreeRegressor
        The chosen size, fitted on all rows.
    best_params_, best_index_, top_index_, best_score_, standard_error_ : as in :class:`OptimalTreeCV`
    cv_results_, n_splits_, scorer_ : as in :class:`OptimalTreeCV`
    validation_ : Validation
        The score of the chosen candidate on held-out rows, and its errors, beside those of the mean. The saved tree
        keeps it.
    target_name_, n_features_in_, feature_names_in_, categories_, schema_, hints_ : as in every learner
    model_, result_, objective_ : as in every learner
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner
        The proof is about the last fit, of the chosen size on all rows. The choice of the size is not proved.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, section 3.4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from proofwood import OptimalTreeRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = OptimalTreeRegressorCV((1, 2), alpha=(0.0, 0.01)).fit(X, y)
    >>> tree.best_params_["max_depth"], tree.get_n_leaves()
    (2, 4)
    """

    max_depth: int | Sequence[int] = (1, 2, 3)
    _: KW_ONLY
    criterion: str = "squared_error"
    alpha: float | Sequence[float] = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
    min_samples_leaf: int | str | Sequence[int | str] = 1
    cv: Any = 5
    random_state: int | None = 0
    scoring: Any = None
    rule: str = "one_se"
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
    verbose: int = 0

    def _learner(self, **parameters: Any) -> OptimalTreeRegressor:
        return OptimalTreeRegressor(**parameters)

    def _common(self) -> dict[str, Any]:
        return {**super()._common(), "criterion": self.criterion}

    def _targets(self, rows: Any) -> npt.NDArray[Any]:
        return np.asarray(rows.targets[:, 0])

    def _held_out_figures(self, tried: FittedCandidates, chosen: int, rows: Any) -> Validation:
        held_out, predicted = tried.held_out(chosen)
        means = [np.full(fold.held_out.y.shape, self._targets(fold.rows).mean()) for fold in tried.folds]
        figures = NumberFigures.of(self._targets(rows)[held_out], predicted, np.concatenate(means))
        return Validation.of_numbers(self._score_name(), tried.scores[chosen], tried.baselines, figures)

    def _scored(self, y: Any) -> Any:
        return numbers_of(y).reshape(-1)

    # --------------------------------------------------------------------------------------------- asked of the tree

    def predict(self, X: Any) -> FloatArray:
        """(n_samples,) predicted number of each row of ``X``: the mean of the training rows in its leaf."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The score of the tree on rows ``X`` with targets ``y``, as defined by ``scoring``.

        Parameters
        ----------
        X, y : rows and their numbers, or the name of the column of numbers
        sample_weight : weight of each row
        """
        return ChosenNumberTree.score(self, X, y, sample_weight)
