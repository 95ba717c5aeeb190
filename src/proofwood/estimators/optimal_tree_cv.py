"""``OptimalTreeCV``: an optimal tree whose size is chosen by cross-validation."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from proofwood import arguments
from proofwood.data.schema import Schema, forms_of
from proofwood.estimators import reporting
from proofwood.estimators.base import fit_within
from proofwood.estimators.choice import AUTO, Choice, Rule, Size, choose, leaf_minimum, score_name, sizes, values_of
from proofwood.estimators.classifier import ClassRows, FittedClassifier
from proofwood.estimators.folds import baseline_score, folds_of, require_score, sorted_rows
from proofwood.estimators.input import features_and_labels, target_name, with_row_index
from proofwood.estimators.optimal_tree import OptimalTreeClassifier
from proofwood.estimators.parameters import check_shared, finite, seconds_of
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.validation import Validation
from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.hints import Hint, parameter
from proofwood.language import gettext, ngettext, number
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.problem.tree import check_depth, check_min_samples_leaf
from proofwood.result import Status
from proofwood.show.cross_validation import plot_scores

# The longest fits come last and get the time that quick fits leave; without a reserve, no time would be left for the
# tree over all rows: decisions/0020-size-by-cross-validation.
FOR_THE_END = 0.25
"""Share of the time limit that is reserved for the tree over all rows."""


@documented
class OptimalTreeCV(FittedClassifier):
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

    # ------------------------------------------------------------------------------------------------------- fit

    @documented
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, groups: Any = None) -> Self:
        """Choose a size by cross-validation, and fit a tree of this size on all rows.

        Parameters
        ----------
        X : (n_samples, n_features) an array, or a pandas or polars frame, of finite numbers, text, categories, dates or
            times; values may be missing
        y, sample_weight : as in every learner
        groups : (n_samples,) group of each row; no fold divides a group

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
        started = time.monotonic()
        rule = self._check()
        learner = OptimalTreeClassifier(**self._common(), bands=self.bands, unseen=self.unseen, verbose=self.verbose)
        with fit_within(self.memory_limit):
            name = target_name(y)
            X, y = features_and_labels(X, y)
            X = with_row_index(X)
            with warnings.catch_warnings(record=True) as notes:
                warnings.simplefilter("always")
                rows = learner._read_rows(X, y, sample_weight)
            learner.target_name_ = name
            for note in notes:
                warnings.warn(note.message, note.category, stacklevel=2)
            hints = self._order_hints(X, rows, learner.schema_, groups)
            tried = self._tried(X, rows, learner.schema_, sample_weight, groups, started)
            choice = choose(tried.scores, tried.leaves, rule)
            learner.validation_ = tried.validation(choice.chosen, rows, self._score_name())
            learner.set_params(time_limit=self.time_limit, **tried.candidates[choice.chosen].params)
            learner._finish(learner._learn_rows(rows, started))
            learner.hints_ += tuple(hints)
        self._adopt(learner, tried, choice)
        self._warn_of_unproved(tried)
        return self

    def _check(self) -> Rule:
        """Check the parameters that do not depend on the rows, and return the rule. ValueError if one is invalid."""
        check_shared(
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            n_jobs=self.n_jobs,
            callback=None,
            verbose=self.verbose,
            unseen=self.unseen,
            threshold_rule=self.threshold_rule,
        )
        for name in ("max_depth", "alpha", "min_samples_leaf"):
            if not values_of(getattr(self, name)):
                raise ValueError(f"{name}={getattr(self, name)!r} has no value to try: expected at least one")
        for depth in values_of(self.max_depth):
            check_depth(depth)
        for price in values_of(self.alpha):
            number = finite(price)
            if number is None or not 0 <= number <= 1:
                raise ValueError(f"alpha has {price!r}: expected shares of the total weight, from 0 to 1")
        for minimum in values_of(self.min_samples_leaf):
            if minimum != AUTO:
                check_min_samples_leaf(minimum)
        arguments.choice(self.rule, "rule", tuple(map(str, Rule)))
        return Rule(self.rule)

    def _common(self) -> dict[str, Any]:
        """The parameters that all candidates share."""
        names = (
            "min_weight_fraction_leaf",
            "min_samples_level",
            "max_gap",
            "categorical_features",
            "drop",
            "missing_values",
            "written_as",
            "threshold_rule",
            "class_weight",
            "n_jobs",
        )
        return {name: getattr(self, name) for name in names}

    def _order_hints(self, X: Any, rows: ClassRows, schema: Schema, groups: Any) -> list[Hint]:
        """The hints about the order of the rows of a frame, after a warning with their texts."""
        if not schema.by_name:
            return []
        hints = sorted_rows(X, rows.columns, schema, rows.codes, cv=self.cv, groups=groups)
        if hints:
            warnings.warn(DataWarning("; ".join(map(str, hints)), hints), stacklevel=3)
        return hints

    def _tried(
        self,
        X: Any,
        rows: ClassRows,
        schema: Schema,
        sample_weight: npt.ArrayLike | None,
        groups: Any,
        started: float,
    ) -> _Tried:
        """The fits and scores of all candidates for which there was time."""
        labels = rows.classes[rows.codes]
        weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), labels.shape)
        require_score(self.scoring, rows.classes)
        self.scorer_ = check_scoring(OptimalTreeClassifier(), scoring=self.scoring)
        minima = [leaf_minimum(rows.codes) if m == AUTO else int(m) for m in values_of(self.min_samples_leaf)]
        seconds = seconds_of(self.time_limit, rows.columns.size)
        end = None if seconds is None else started + (1 - FOR_THE_END) * seconds
        folds = []
        for train, test in folds_of(self.cv, X, labels, groups, self.random_state, rows.columns):
            reader = OptimalTreeClassifier(**{**self._common(), "written_as": forms_of(schema)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings about columns are raised once, for all rows
                read = reader._read_rows(
                    _safe_indexing(X, train), labels[train], None if weights is None else weights[train]
                )
            held_out = _HeldOut(test, _safe_indexing(X, test), labels[test], None if weights is None else weights[test])
            baseline = baseline_score(self.scorer_, labels[train], held_out.y, held_out.weights)
            folds.append(_Fold(reader, read, held_out, baseline))
        prices = sorted({float(price) for price in values_of(self.alpha)})
        trial = _Trial(
            folds, sizes(sorted(set(values_of(self.max_depth))), sorted(set(minima))), prices, self.scorer_, end
        )
        with reporting.progress_lines() if self.verbose else nullcontext():
            return trial.run()

    def _adopt(self, learner: OptimalTreeClassifier, tried: _Tried, choice: Choice) -> None:
        """Set the fitted attributes: those of the chosen tree, and those of the cross-validation."""
        given = learner.get_params(deep=False)
        for name, value in vars(learner).items():
            if name not in given:
                setattr(self, name, value)
        self.best_estimator_ = learner
        self.best_params_ = dict(tried.candidates[choice.chosen].params)
        self.best_index_, self.top_index_ = choice.chosen, choice.top
        self.best_score_ = float(tried.scores[choice.chosen].mean())
        self.standard_error_ = choice.error
        self.n_splits_ = tried.scores.shape[1]
        self.cv_results_ = tried.results()
        self._interrupted = tried.interrupted

    def _warn_of_unproved(self, tried: _Tried) -> None:
        said = []
        if self.result_.status is Status.FEASIBLE and self.result_.stats.stopped_by is not None:
            said.append(self.best_estimator_._unproved())
        n_stopped, n_fits = int(tried.stopped.sum()), tried.stopped.size
        if tried.left_out:
            said.append(
                f"{tried.left_out} of {tried.left_out + len(tried.candidates)} candidates were not tried in every fold "
                "within the time limit"
            )
        if n_stopped:
            said.append(
                f"in {n_stopped} of {n_fits} fits on folds the search reached its share of the time limit, so the "
                f"scored tree is the best found, not proved optimal: raise {parameter('time_limit')}, or try fewer "
                "candidates"
            )
        if said:
            warnings.warn("; ".join(said), OptimalityWarning, stacklevel=3)

    # --------------------------------------------------------------------------------------------- asked of the tree

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The score of the tree on rows ``X`` with labels ``y``, as defined by ``scoring``.

        Parameters
        ----------
        X, y : rows and their labels
        sample_weight : weight of each row
        """
        check_is_fitted(self)
        X, y = features_and_labels(X, y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self.best_estimator_, X, self.to_labels(y), **weights))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen tree to ``path``, like :meth:`OptimalTreeClassifier.save`; the scores are not saved."""
        check_is_fitted(self)
        self.best_estimator_.save(path)

    def recount(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The objective of ``model_``, counted row by row as in :meth:`OptimalTreeClassifier.recount`.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`
        """
        check_is_fitted(self)
        return self.best_estimator_.recount(X, y, sample_weight)

    def plot_cv(self, ax: Any = None, *, figsize: tuple[float, float] | None = None, title: str | None = None) -> Any:
        """Draw mean scores and their standard errors over the number of leaves with matplotlib, and return the axes.

        Parameters
        ----------
        ax : axes to draw on; None makes a new figure
        figsize : width and height of a new figure in inches
        title : line above the picture; by default the chosen size
        """
        check_is_fitted(self)
        found = self.cv_results_
        minima = set(found["param_min_samples_leaf"].tolist())
        series = [
            f"depth {depth}" + (f", leaves from {minimum} rows" if len(minima) > 1 else "")
            for depth, minimum in zip(found["param_max_depth"], found["param_min_samples_leaf"], strict=True)
        ]
        scores = np.column_stack([found[f"split{k}_test_score"] for k in range(self.n_splits_)])
        return plot_scores(
            found["mean_n_leaves"],
            scores,
            series,
            chosen=self.best_index_,
            top=self.top_index_,
            score=self._score_name(),
            ax=ax,
            figsize=figsize,
            title=self._chosen() if title is None else title,
        )

    def _score_name(self) -> str:
        return score_name(self.scoring)

    def _chosen(self) -> str:
        """The chosen size, in words."""
        params = self.best_params_
        parts = [gettext("depth %(depth)s", depth=params["max_depth"])]
        if params["alpha"]:
            parts.append(f"alpha {number(format(params['alpha'], 'g'))}")
        if params["min_samples_leaf"] > 1:
            least = params["min_samples_leaf"]
            parts.append(ngettext("leaves from %(n)s row", "leaves from %(n)s rows", least))
        return ", ".join(parts)

    def _facts(self) -> list[tuple[str, str]]:
        found = self.cv_results_
        name, top = self._score_name(), self.top_index_
        score = f"{self._chosen()}: " + ngettext(
            "%(name)s %(score)s on %(n)s fold",
            "%(name)s %(score)s on %(n)s folds",
            self.n_splits_,
            name=gettext(name),
            score=number(f"{self.best_score_:.4g}"),
        )
        if self.best_index_ != top:
            score += gettext(
                "; the best, of %(n)s leaves, %(score)s (standard error %(error)s)",
                n=number(f"{found['mean_n_leaves'][top]:g}"),
                score=number(f"{found['mean_test_score'][top]:.4g}"),
                error=number(f"{self.standard_error_:.2g}"),
            )
        score += gettext("; the proof is about the last fit, of this size on all rows, not about the choice")
        return [(gettext("chosen"), score), *self.best_estimator_._facts()]

    def _claim(self) -> str:
        return self.best_estimator_._claim()


# ------------------------------------------------------------------------------------------------ candidates on folds


@dataclass(frozen=True, slots=True)
class _Candidate:
    size: Size
    alpha: float

    @property
    def params(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self.size), "alpha": self.alpha}


@dataclass(frozen=True, eq=False, slots=True)
class _HeldOut:
    """The rows that a fold holds out: their numbers, values, labels and weights."""

    rows: IntArray
    X: Any
    y: npt.NDArray[Any]
    weights: FloatArray | None


@dataclass(frozen=True, eq=False, slots=True)
class _Fold:
    """A fold: a learner that has read its training rows, these rows, the held-out rows, and the baseline on these."""

    reader: OptimalTreeClassifier
    rows: ClassRows
    held_out: _HeldOut
    baseline: float


@dataclass(frozen=True, eq=False, slots=True)
class _Fit:
    """The fit of a candidate on a fold. ``seconds`` is 0 if the tree was taken from the fits of two other prices."""

    score: float
    model: NodeTable
    status: Status
    seconds: float
    predicted: npt.NDArray[Any]

    @property
    def optimal(self) -> bool:
        return self.status is Status.OPTIMAL

    @property
    def stopped(self) -> bool:
        return self.status is Status.FEASIBLE


@dataclass(frozen=True, eq=False)
class _Tried:
    """The candidates with a fit in every fold; ``left_out`` is the number of candidates without."""

    candidates: list[_Candidate]
    fits: list[list[_Fit]]
    folds: list[_Fold]
    left_out: int
    interrupted: bool = False

    def validation(self, chosen: int, rows: ClassRows, score: str) -> Validation:
        """The figures of a candidate on the held-out rows.

        Parameters
        ----------
        chosen : index of the candidate
        rows : all training rows
        score : name of the score
        """
        held_out = np.concatenate([fold.held_out.rows for fold in self.folds])
        predicted = np.concatenate([fit.predicted for fit in self.fits[chosen]])
        return Validation.of(
            score,
            self.scores[chosen],
            np.array([fold.baseline for fold in self.folds]),
            rows.classes,
            rows.codes[held_out],
            np.searchsorted(rows.classes, predicted),
        )

    def _of_fits(self, name: str) -> FloatArray:
        return np.array([[float(getattr(fit, name)) for fit in fits] for fits in self.fits])

    @property
    def scores(self) -> FloatArray:
        """(n_candidates, n_folds) scores."""
        return self._of_fits("score")

    @property
    def optimal(self) -> FloatArray:
        """(n_candidates, n_folds) 1 if the tree is proved optimal, else 0."""
        return self._of_fits("optimal")

    @property
    def stopped(self) -> FloatArray:
        """(n_candidates, n_folds) 1 if a limit ended the search, else 0."""
        return self._of_fits("stopped")

    @property
    def leaves(self) -> FloatArray:
        """(n_candidates,) mean number of leaves over the folds."""
        return np.array([np.mean([fit.model.n_leaves for fit in fits]) for fits in self.fits])

    def results(self) -> dict[str, Any]:
        """The content of ``cv_results_``: one array per column, as in scikit-learn's searches."""
        scores, means = self.scores, self.scores.mean(axis=1)
        known = np.where(np.isnan(means), -np.inf, means)  # candidates without a score come last
        ranks = np.array([1 + int(np.sum(known > mean)) for mean in known], dtype=np.int32)
        return {
            "params": [candidate.params for candidate in self.candidates],
            "param_max_depth": np.array([candidate.size.max_depth for candidate in self.candidates]),
            "param_alpha": np.array([candidate.alpha for candidate in self.candidates]),
            "param_min_samples_leaf": np.array([candidate.size.min_samples_leaf for candidate in self.candidates]),
            **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": ranks,
            "mean_fit_time": self._of_fits("seconds").mean(axis=1),
            "mean_n_leaves": self.leaves,
            "n_optimal": self.optimal.sum(axis=1).astype(np.int64),
        }


class _OutOfTime(Exception):
    """No time is left for another fit."""


class _Trial:
    """Fits every candidate on every fold until the time is over."""

    def __init__(
        self, folds: list[_Fold], all_sizes: list[Size], prices: list[float], scorer: Any, end: float | None
    ) -> None:
        self._folds = folds
        self._sizes = all_sizes
        self._prices = prices
        self._scorer = scorer
        self._end = end
        self._left = len(folds) * len(all_sizes) * len(prices)

    def run(self) -> _Tried:
        """Fit the candidates, and return those that were fitted in every fold; TimeoutError if there are none."""
        candidates: list[_Candidate] = []
        fits: list[list[_Fit]] = []
        for k, size in enumerate(self._sizes):
            try:
                by_fold = [self._path(fold, size) for fold in self._folds]
            except (_OutOfTime, KeyboardInterrupt) as error:
                if not candidates:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    raise TimeoutError(
                        "the time limit was reached before the first candidate was fitted in every fold: raise "
                        "time_limit, or try fewer values of max_depth, alpha and min_samples_leaf"
                    ) from None
                left_out = (len(self._sizes) - k) * len(self._prices)
                return _Tried(candidates, fits, self._folds, left_out, interrupted=isinstance(error, KeyboardInterrupt))
            for j, price in enumerate(self._prices):
                candidates.append(_Candidate(size, price))
                fits.append([path[j] for path in by_fold])
                self._tell(candidates[-1], fits[-1])
        return _Tried(candidates, fits, self._folds, 0)

    def _path(self, fold: _Fold, size: Size) -> list[_Fit]:
        """The fits of one size on a fold, one per price in the order of the prices.

        The cost of a tree is linear in the price of a leaf, and the least cost is the lower envelope of these lines. A
        tree that is optimal for two prices is optimal for every price between them: its line touches the envelope at
        both prices, and the envelope is concave.
        """
        last = len(self._prices) - 1
        found = {place: self._fit(fold, size, self._prices[place]) for place in {0, last}}
        waiting = [(0, last)]
        while waiting:
            low, high = waiting.pop()
            if high - low < 2:
                continue
            one, other = found[low], found[high]
            if one.optimal and other.optimal and one.model == other.model:
                found |= dict.fromkeys(range(low + 1, high), dataclasses.replace(one, seconds=0.0))
                self._left -= high - low - 1
                continue
            middle = (low + high) // 2
            found[middle] = self._fit(fold, size, self._prices[middle])
            waiting += [(middle, high), (low, middle)]
        return [found[place] for place in range(last + 1)]

    def _fit(self, fold: _Fold, size: Size, price: float) -> _Fit:
        """Fit one candidate on the training rows of a fold, and score it on the held-out rows."""
        started = time.monotonic()
        seconds = None
        if self._end is not None:
            if started >= self._end:
                raise _OutOfTime
            seconds = (self._end - started) / self._left
        self._left -= 1
        tree = copy(fold.reader).set_params(**_Candidate(size, price).params, time_limit=seconds)
        tree._finish(tree._learn_rows(fold.rows, started))
        if tree.result_.stats.stopped_by == "interrupt":
            raise KeyboardInterrupt
        held_out = fold.held_out
        weights = {} if held_out.weights is None else {"sample_weight": held_out.weights}
        score = float(self._scorer(tree, held_out.X, held_out.y, **weights))
        return _Fit(score, tree.model_, tree.status_, time.monotonic() - started, tree.predict(held_out.X))

    def _tell(self, candidate: _Candidate, fits: list[_Fit]) -> None:
        scores = np.array([fit.score for fit in fits])
        spread = f" (standard error {scores.std(ddof=1) / np.sqrt(scores.size):.4f})" if scores.size > 1 else ""
        size = candidate.size
        reporting.LOGGER.info(
            "depth %d, alpha %g, leaves from %d rows: %.4f%s, %.1f leaves, %d of %d folds proved",
            size.max_depth,
            candidate.alpha,
            size.min_samples_leaf,
            scores.mean(),
            spread,
            np.mean([fit.model.n_leaves for fit in fits]),
            sum(fit.optimal for fit in fits),
            len(fits),
        )
