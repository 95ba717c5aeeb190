"""``OptimalTreeCV``: an optimal tree whose size is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from proofwood.estimators import tree_scores
from proofwood.estimators.candidates import FittedCandidates
from proofwood.estimators.choice import Rule, score_name, values_of
from proofwood.estimators.chosen_tree import ChosenTree
from proofwood.estimators.classifier import ClassRows, FittedClassifier
from proofwood.estimators.constraints import compared_groups
from proofwood.estimators.fair_trees import FairTrees, tree_constraints
from proofwood.estimators.few_leaves import check_most
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.ratios import RATIOS
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_questions import TreeQuestions
from proofwood.estimators.validation import Validation
from proofwood.hints import parameter

if TYPE_CHECKING:
    import proofwood

PRICES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
"""Prices of a leaf to try by default, as shares of the total weight."""


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeCV(TreeQuestions, FairTrees, ChosenTree, FittedClassifier):
    r"""Optimal tree whose depth, price of leaves, number of leaves and least rows per leaf cross-validation chooses.

    Each candidate is fitted on the training rows of every fold and scored on the rows that the fold holds out. The
    chosen candidate is fitted on all rows; this tree, with its proof, is the model. It has all methods of an
    :class:`OptimalTreeClassifier`.

    Where three or more candidates differ by the price or the number of their leaves alone, one search finds the trees
    of all of them, up to depth 4. Each costs as little on the training rows as the tree of a fit; of several such trees
    it may be another one, and with several threads one of chance. Each candidate has a fit of its own for ``criterion``
    other than errors and balanced accuracy, ``cost_matrix``, ``monotonic_cst``, ``constraints``, ``max_gap``, columns
    of text of more than five levels, and from depth 3 on for tables of few tests, where fits are fast.

    By default the choice is the smallest tree whose mean score is within one standard error of the best [1]_. Optimal
    trees fit their training rows closely, so the largest tree is rarely the best for new rows.

    Parameters
    ----------
    max_depth : as in every choice of a size
    alpha : float or sequence of float, default (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
        Prices of a leaf to try, as shares of the total weight. With F measures and the Jaccard index, where leaves have
        no price, the default is 0 alone.
    max_leaf_nodes : int, None or sequence of these, default None
        Limits on the number of leaves to try, from 1 to 17; None: no limit. ``alpha=0`` then tries numbers of leaves
        alone.
    min_samples_leaf : int, "auto", or sequence of these, default 1
        Least rows per leaf to try. ``"auto"``: thirty, or a fifth of the rows of the rarest class if that is less.
    cv : int, splitter or iterable of (train, test), default 5
        A number of folds, shuffled and with equal shares of the classes, or a splitter, as in scikit-learn. A number
        with ``groups`` keeps each group in one fold.
    random_state : as in every choice of a size
    scoring : str, function of (classifier, X, y), or None
        The score, as in scikit-learn. If a class has few rows, ``"balanced_accuracy"`` or ``"roc_auc"`` is more
        informative than the accuracy. None means what ``criterion`` measures: the accuracy; balanced accuracy, F
        measure, Jaccard index or log loss; with a ``cost_matrix``, the mean cost of a row, below 0. With ``"gini"`` it
        means the accuracy.
    rule : as in every choice of a size
    criterion, beta, pos_label, cost_matrix, monotonic_cst, constraints : as in :class:`OptimalTreeClassifier`
        All candidates keep the order, and meet the constraints on the training rows of each fold.
    min_weight_fraction_leaf, min_samples_level, max_gap : as in :class:`OptimalTreeClassifier`
    categorical_features, drop, missing_values, written_as, bands : as in every learner
    threshold_rule, unseen, class_weight : as in every learner
    time_limit : as in every choice of a size
    memory_limit, n_jobs : as in every learner
    verbose : as in every choice of a size

    Attributes
    ----------
    best_estimator_ : OptimalTreeClassifier
        The chosen size, fitted on all rows.
    best_params_ : dict
        ``max_depth``, ``alpha`` and ``min_samples_leaf`` of the chosen candidate, and ``max_leaf_nodes`` if it has one.
    best_index_, top_index_ : int
        The chosen candidate in ``cv_results_``, and the one with the greatest mean score.
    best_score_ : float
        Mean score of the chosen candidate over the folds.
    standard_error_ : float
        Standard error of the greatest mean score; NaN with one fold.
    cv_results_ : dict of arrays
        As in :class:`sklearn.model_selection.GridSearchCV`, with two more arrays: ``mean_n_leaves``, and ``n_optimal``,
        the number of folds in which the tree is proved optimal. If one search found the trees of several candidates,
        each has an equal part of its time as ``mean_fit_time``.
    n_splits_ : int
        Number of folds.
    scorer_ : function of (classifier, X, y)
    validation_ : Validation
        The score of the chosen candidate on held-out rows, beside that of the most frequent class, and the recall and
        precision of each class. The saved tree keeps it.
    classes_, bands_, target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_ : as in every learner
    unavoidable_cost_, fairness_ : as in :class:`OptimalTreeClassifier`
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

    max_depth: int | Sequence[int] = (1, 2, 3)
    _: KW_ONLY
    criterion: str = "errors"
    beta: float | None = None
    pos_label: Any = None
    cost_matrix: Any = None
    alpha: float | Sequence[float] = PRICES
    max_leaf_nodes: int | Sequence[int | None] | None = None
    min_samples_leaf: int | str | Sequence[int | str] = 1
    monotonic_cst: Any = None
    constraints: Any = ()
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
    bands: Any = None
    threshold_rule: str = "shortest"
    unseen: str = "majority"
    class_weight: str | Mapping[Any, float] | None = None
    time_limit: float | None = 60.0
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    verbose: int = 0

    @documented
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        groups: Any = None,
        sensitive_features: Any = None,
    ) -> Self:
        """Choose a size by cross-validation, and fit a tree of this size on all rows.

        Parameters
        ----------
        X, y, sample_weight : as in every learner
        groups : (n_samples,) group of each row; no fold divides a group
        sensitive_features : (n_samples,) group of each row, for ``constraints``; it need not be a column of ``X``

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On parameters or data that cannot be used; the message says what to do.
        TimeoutError
            If the time limit was reached before one candidate was fitted in every fold.

        Warns
        -----
        OptimalityWarning
            If a limit or Ctrl-C ended a search before its proof. After Ctrl-C no further candidates are tried.
        """
        self._sensitive = compared_groups(tree_constraints(self.constraints), X, sensitive_features)
        try:
            return super().fit(X, y, sample_weight, groups=groups)
        finally:
            del self._sensitive

    def _check(self) -> Rule:
        rule = super()._check()
        for most in self._leaf_limits():
            check_most(most)
        if not self._leaf_limits():
            raise ValueError(f"max_leaf_nodes={self.max_leaf_nodes!r} has no value to try: expected at least one")
        if self.criterion == "precision":
            raise ValueError(
                f"{parameter('criterion', 'precision')} limits the recall on the training rows, and held-out rows have "
                f"another: choose the size by {parameter('criterion', 'f1')}, or cross-validate an "
                "OptimalTreeClassifier with a scoring of your own"
            )
        self._learner(**self._common())._check_shared_parameters()
        return rule

    def _prices(self) -> list[float]:
        return [0.0] if self.criterion in RATIOS and self.alpha == PRICES else super()._prices()

    def _leaf_limits(self) -> list[int | None]:
        return values_of(self.max_leaf_nodes)

    def _scorer(self, rows: ClassRows) -> Any:
        scorer = tree_scores.scorer_of(self, rows.classes) if self.scoring is None else None
        if scorer is not None:
            return scorer
        if self.scoring is None and (named := tree_scores.name_of(self)) is not None:
            return check_scoring(self._learner(), scoring=named)
        return super()._scorer(rows)

    def _score_name(self) -> str:
        named = tree_scores.name_of(self) if self.scoring is None else None
        return super()._score_name() if named is None else score_name(named)

    def _learner(self, **parameters: Any) -> OptimalTreeClassifier:
        return OptimalTreeClassifier(**parameters)

    def _of_last_fit(self) -> dict[str, Any]:
        return {**super()._of_last_fit(), "bands": self.bands}

    def _common(self) -> dict[str, Any]:
        names = ("class_weight", "criterion", "beta", "pos_label", "cost_matrix", "monotonic_cst", "constraints")
        return {**super()._common(), **{name: getattr(self, name) for name in names}}

    def _targets(self, rows: ClassRows) -> npt.NDArray[Any]:
        return np.asarray(rows.classes[rows.codes])

    def _held_out_figures(self, tried: FittedCandidates, chosen: int, rows: ClassRows) -> Validation:
        held_out, predicted = tried.held_out(chosen)
        codes = np.searchsorted(rows.classes, predicted)
        score = self._score_name()
        return Validation.of(score, tried.scores[chosen], tried.baselines, rows.classes, rows.codes[held_out], codes)

    def _scored(self, y: Any) -> Any:
        return self.to_labels(y)

    # --------------------------------------------------------------------------------------------- asked of the tree

    def cost(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, costs: npt.ArrayLike | None = None
    ) -> float:
        """What the predictions of rows cost in total, by ``cost_matrix`` or ``costs``.

        Parameters
        ----------
        X, y : rows and their labels, or the name of the column of labels
        sample_weight : (n_samples,) weight of each row
        costs : (n_samples, n_classes) what each class costs for each row, in the order of ``classes_``
        """
        check_is_fitted(self)
        return float(self.best_estimator_.cost(X, y, sample_weight, costs=costs))

    def recount(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, sensitive_features: Any = None
    ) -> float:
        """The objective of ``model_``, counted row by row.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`
        sensitive_features : accepted as in :class:`OptimalTreeClassifier`; limits on rates are no part of the objective
        """
        return super().recount(X, y, sample_weight)

    def population_bound(
        self, confidence: float = 0.95, *, rival: Any = None, X_test: Any = None, y_test: Any = None
    ) -> proofwood.PopulationBound:
        """How often every tree of the largest depth that was tried is wrong at least on new rows, with a confidence.

        As for :class:`OptimalTreeClassifier`. What was tried was fixed beforehand, and what was chosen was not: so the
        bound is about all trees of the largest depth, and is known where a tree of this depth was chosen.

        Parameters
        ----------
        confidence : probability that all of the answer holds, from 0.5 to less than 1
        rival : fitted model to compare with, such as a forest; it must not know the test rows
        X_test, y_test : test rows and their labels

        Raises
        ------
        ValueError
            If a smaller depth was chosen, or the scope depends on the rows that were drawn, or rows have weights; the
            message says what to do.
        """
        import proofwood  # start-up time; by its public name, since questions depend on estimators

        check_is_fitted(self)
        widest, chosen = max(values_of(self._as_fitted().max_depth)), self.best_params_["max_depth"]
        if chosen < widest:
            raise ValueError(
                f"the rows chose depth {chosen} among depths up to {widest}, and population_bound is about trees of a "
                f"depth that was fixed beforehand: ask a tree of the largest depth, "
                f"OptimalTreeClassifier({widest}).fit(X, y).population_bound()"
            )
        tree = copy(self._best)
        tree.validation_ = None  # the depth was not chosen
        return proofwood.PopulationBound.of(tree, confidence, rival=rival, X_test=X_test, y_test=y_test)
