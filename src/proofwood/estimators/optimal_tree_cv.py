"""``OptimalTreeCV``: an optimal tree whose size is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.estimators.candidates import FittedCandidates
from proofwood.estimators.chosen_tree import ChosenTree
from proofwood.estimators.classifier import ClassRows, FittedClassifier
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.validation import Validation


@documented
class OptimalTreeCV(ChosenTree, FittedClassifier):
    r"""Optimal tree whose depth, price of leaves and least rows per leaf are chosen by cross-validation.

    Each candidate is fitted on the training rows of every fold and scored on the rows that the fold holds out. The
    chosen candidate is fitted on all rows; this tree, with its proof, is the model. It has all methods of an
    :class:`OptimalTreeClassifier`.

    By default the choice is the smallest tree whose mean score is within one standard error of the best [1]_. Optimal
    trees fit their training rows closely, so the largest tree is rarely the best for new rows.

    Parameters
    ----------
    max_depth : int or sequence of int, default (1, 2, 3)
        Depths to try.
    alpha : float or sequence of float, default (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
        Prices of a leaf to try, as shares of the total weight. A tree that is optimal for two prices is optimal for
        all prices between them, which then need no fit.
    min_samples_leaf : int, "auto", or sequence of these, default 1
        Least rows per leaf to try. ``"auto"``: thirty, or a fifth of the rows of the rarest class if that is less.
    cv : int, splitter or iterable of (train, test), default 5
        A number of folds, shuffled and with equal shares of the classes, or a splitter, as in scikit-learn. A number
        with ``groups`` keeps each group in one fold.
    random_state : int or None, default 0
        Seed of the shuffling.
    scoring : str, function of (classifier, X, y), or None
        The score, as in scikit-learn; None means accuracy. If a class has few rows, ``"balanced_accuracy"`` or
        ``"roc_auc"`` is more informative.
    rule : {"one_se", "best"}, default "one_se"
        ``"one_se"``: the fewest leaves with a mean score within one standard error of the best. ``"best"``: the best
        mean score.
    min_weight_fraction_leaf, min_samples_level, max_gap : as in :class:`OptimalTreeClassifier`
    categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, class_weight : as in every learner
    time_limit : float or None, default 60.0
        Seconds for the whole fit: a quarter is reserved for the last fit, the rest is divided among the fits on folds.
    memory_limit, n_jobs : as in every learner
    verbose : int, default 0
        1 shows a line for every candidate, then the progress of the last fit.

    Attributes
    ----------
    best_estimator_ : OptimalTreeClassifier
        The chosen size, fitted on all rows.
    best_params_ : dict
        ``max_depth``, ``alpha`` and ``min_samples_leaf`` of the chosen candidate.
    best_index_, top_index_ : int
        The chosen candidate in ``cv_results_``, and the one with the greatest mean score.
    best_score_ : float
        Mean score of the chosen candidate over the folds.
    standard_error_ : float
        Standard error of the greatest mean score; NaN with one fold.
    cv_results_ : dict of arrays
        As in :class:`sklearn.model_selection.GridSearchCV`, with two more arrays: ``mean_n_leaves``, and ``n_optimal``,
        the number of folds in which the tree is proved optimal.
    n_splits_ : int
        Number of folds.
    scorer_ : function of (classifier, X, y)
    validation_ : Validation
        The score of the chosen candidate on held-out rows, beside that of the most frequent class, and the recall and
        precision of each class. The saved tree keeps it.
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_ : as in every learner
    model_, result_, objective_ : as in every learner
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner
        The proof is about the last fit, of the chosen size on all rows. The choice of the size is not proved.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, section 3.4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from proofwood import OptimalTreeCV
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = OptimalTreeCV().fit(X, y)
    >>> tree.best_params_["max_depth"], tree.get_n_leaves()
    (2, 3)
    """

    def __init__(
        self,
        max_depth: int | Sequence[int] = (1, 2, 3),
        *,
        alpha: float | Sequence[float] = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02),
        min_samples_leaf: int | str | Sequence[int | str] = 1,
        cv: Any = 5,
        random_state: int | None = 0,
        scoring: Any = None,
        rule: str = "one_se",
        min_weight_fraction_leaf: float = 0.0,
        min_samples_level: int | None = None,
        max_gap: float = 0,
        categorical_features: Any = None,
        drop: Any = None,
        missing_values: Any = None,
        written_as: Mapping[Any, str | None] | None = None,
        bands: Any = None,
        threshold_rule: str = "shortest",
        unseen: str = "majority",
        class_weight: str | Mapping[Any, float] | None = None,
        time_limit: float | None = 60.0,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.alpha = alpha
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.random_state = random_state
        self.scoring = scoring
        self.rule = rule
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_samples_level = min_samples_level
        self.max_gap = max_gap
        self.categorical_features = categorical_features
        self.drop = drop
        self.missing_values = missing_values
        self.written_as = written_as
        self.bands = bands
        self.threshold_rule = threshold_rule
        self.unseen = unseen
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, **parameters: Any) -> OptimalTreeClassifier:
        return OptimalTreeClassifier(**parameters)

    def _of_last_fit(self) -> dict[str, Any]:
        return {**super()._of_last_fit(), "bands": self.bands}

    def _common(self) -> dict[str, Any]:
        return {**super()._common(), "class_weight": self.class_weight}

    def _targets(self, rows: ClassRows) -> npt.NDArray[Any]:
        return np.asarray(rows.classes[rows.codes])

    def _held_out_figures(self, tried: FittedCandidates, chosen: int, rows: ClassRows) -> Validation:
        held_out, predicted = tried.held_out(chosen)
        codes = np.searchsorted(rows.classes, predicted)
        score = self._score_name()
        return Validation.of(score, tried.scores[chosen], tried.baselines, rows.classes, rows.codes[held_out], codes)

    def _scored(self, y: Any) -> Any:
        return self.to_labels(y)
