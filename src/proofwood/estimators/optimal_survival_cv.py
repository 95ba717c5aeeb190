"""``OptimalSurvivalTreeCV``: an optimal tree of survival times whose size is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.estimators import survival_scores as scores
from proofwood.estimators.candidates import FittedCandidates, FoldRows
from proofwood.estimators.chosen_tree import ChosenNumberTree
from proofwood.estimators.folds import FOLDS, folds_of
from proofwood.estimators.optimal_survival import OptimalSurvivalTree
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.survival_answers import SurvivalAnswers
from proofwood.estimators.survival_curves import concordance
from proofwood.estimators.validation import TimeFigures, Validation
from proofwood.model.node_table import FloatArray, IntArray


@documented
@dataclass(eq=False, repr=False)
class OptimalSurvivalTreeCV(ChosenNumberTree, SurvivalAnswers):
    r"""Optimal tree of survival times whose depth, price of leaves and least rows per leaf are chosen by folds.

    Each candidate is fitted on the training rows of every fold and scored on the rows that the fold holds out. The
    chosen candidate is fitted on all rows; this tree, with its proof, is the model. It has all methods of an
    :class:`OptimalSurvivalTree`.

    By default the choice is the smallest tree whose mean score is within one standard error of the best [1]_. Optimal
    trees fit their training rows closely, so the largest tree is rarely the best for new rows.

    Parameters
    ----------
    max_depth : as in every choice of a size
    alpha : float or sequence of float, default (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
        Prices of a leaf to try, as shares of the deviance of a single leaf. A tree that is optimal for two prices is
        optimal for all prices between them, which then need no fit.
    min_samples_leaf : int, "auto", or sequence of these, default "auto"
        Least rows per leaf to try. ``"auto"``: thirty, or a fifth of the rows if that is less.
    cv : int, splitter or iterable of (train, test), default 5
        A number of folds, shuffled, with equal shares of events; or a splitter, as in scikit-learn. A number with
        ``groups`` keeps each group in one fold.
    random_state : as in every choice of a size
    scoring : {"concordance", "deviance", "neg_integrated_brier_score"}, function of (tree, X, y), or None
        The score. ``"concordance"``, which None means: the share of comparable pairs of rows that the tree orders
        rightly. ``"deviance"``: the share of the deviance of one rate for all, that of the training rows, which is
        avoided; a leaf without events counts there as if its rate were that of all n training rows, divided by 2 n.
        ``"neg_integrated_brier_score"``: the squared error of the curves over time, times -1.
    rule : as in every choice of a size
    min_weight_fraction_leaf, min_samples_level, max_gap : as in :class:`OptimalSurvivalTree`
    categorical_features, drop, missing_values, written_as, threshold_rule, unseen : as in every learner
    time_limit : as in every choice of a size
    memory_limit, n_jobs : as in every learner
    verbose : as in every choice of a size

    Attributes
    ----------
    best_estimator_ : OptimalSurvivalTree
        The chosen size, fitted on all rows.
    best_params_, best_index_, top_index_, best_score_, standard_error_ : as in :class:`OptimalTreeCV`
    cv_results_, n_splits_, scorer_ : as in :class:`OptimalTreeCV`
    validation_ : Validation
        The score of the chosen candidate on held-out rows, with its concordance and deviance there. The saved tree
        keeps it.
    unique_times_, curves_ : as in :class:`OptimalSurvivalTree`
    target_name_, n_features_in_, feature_names_in_, categories_, schema_, hints_ : as in every learner
    model_, result_, objective_ : as in every learner
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner
        The proof is about the last fit, of the chosen size on all rows. The choice of the size is not proved.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, section 3.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from proofwood import OptimalSurvivalTreeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> times = rng.exponential(np.where(X[:, 0] > 0, 10, 30))
    >>> tree = OptimalSurvivalTreeCV((1, 2), alpha=0.0).fit(X, np.column_stack([times, times < 40]))
    >>> tree.get_n_leaves()
    2
    """

    max_depth: int | Sequence[int] = (1, 2, 3)
    _: KW_ONLY
    alpha: float | Sequence[float] = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
    min_samples_leaf: int | str | Sequence[int | str] = "auto"
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

    def _learner(self, **parameters: Any) -> OptimalSurvivalTree:
        return OptimalSurvivalTree(**parameters)

    def _targets(self, rows: Any) -> npt.NDArray[Any]:
        return np.asarray(rows.targets)

    def _in_line(self, rows: Any) -> npt.NDArray[Any]:
        return np.asarray(rows.targets[:, 0])

    def _scorer(self, rows: Any) -> Any:
        return scores.scorer(self.scoring)

    def _folds(self, X: Any, rows: Any, groups: Any) -> list[tuple[IntArray, IntArray]]:
        return folds_of_times(self.cv, X, self._targets(rows), groups, self.random_state, rows.columns)

    def _baseline(self, train: npt.NDArray[Any], held_out: FoldRows) -> float:
        return scores.alone(self.scoring)

    def _held_out_figures(self, tried: FittedCandidates, chosen: int, rows: Any) -> Validation:
        orders, avoided, n_rows, n_events = [], [], 0, 0
        for fold, fit in zip(tried.folds, tried.fits[chosen], strict=True):
            times, events = fold.held_out.y.T
            assert fit.model.values is not None
            alone, n = float(fit.model.values[0, 0]), int(fit.model.rows[0])
            orders.append(concordance(times, events > 0, fit.predicted))
            rates = scores.rates_above(fit.predicted, alone, n)
            avoided.append(scores.explained_deviance(times, events > 0, np.ones(times.size), rates, alone))
            n_rows, n_events = n_rows + times.size, n_events + int(np.count_nonzero(events))
        figures = TimeFigures(n_rows, n_events, float(np.mean(orders)), float(np.mean(avoided)))
        return Validation.of_times(self._score_name(), tried.scores[chosen], tried.baselines, figures)

    def _scored(self, y: Any) -> Any:
        return self.best_estimator_.to_targets(y)

    def _score_name(self) -> str:
        return scores.name_of(self.scoring)


def folds_of_times(
    cv: Any, X: Any, targets: FloatArray, groups: Any, random_state: int | None, values: FloatArray | None
) -> list[tuple[IntArray, IntArray]]:
    """Folds as of :func:`folds_of`, with equal shares of the events if there are enough of them.

    Parameters
    ----------
    cv, X, groups, random_state, values : as in :func:`folds_of`
    targets : (n_rows, 2) times, and whether the event happened
    """
    times, events = targets.T
    codes = (events > 0).astype(np.int64)
    n_folds = cv if isinstance(cv, (int, np.integer)) else FOLDS
    few = bool(np.bincount(codes, minlength=2).min() < n_folds)
    values = None if values is None else np.column_stack([values, times])  # equal rows are in the order of their times
    return folds_of(cv, X, codes, groups, random_state, values, of_numbers=few)
