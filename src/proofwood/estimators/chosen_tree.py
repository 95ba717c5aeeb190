"""What trees of a size that cross-validation chooses have in common, whatever their target."""

from __future__ import annotations

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from proofwood import arguments
from proofwood.data.schema import Schema, forms_of
from proofwood.estimators import reporting
from proofwood.estimators.base import TrainingRows, fit_within, whole_or_as_before
from proofwood.estimators.candidates import CandidateRun, FittedCandidates, Fold, FoldRows
from proofwood.estimators.choice import AUTO, Choice, Rule, choose, leaf_minimum, score_name, sizes, values_of
from proofwood.estimators.fitted import FittedModel
from proofwood.estimators.folds import baseline_score, folds_of, require_score, sorted_rows
from proofwood.estimators.input import features_and_labels, target_name, with_row_index
from proofwood.estimators.parameters import check_shared, finite, seconds_of
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_learner import TreeLearner
from proofwood.estimators.validation import Validation
from proofwood.exceptions import DataWarning, OptimalityWarning
from proofwood.hints import Hint, parameter
from proofwood.language import gettext, ngettext, number
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.tree import BY_DEPTH, check_depth, check_min_samples_leaf
from proofwood.result import Status
from proofwood.show.cross_validation import plot_scores

# The longest fits come last and get the time that quick fits leave; without a reserve, no time would be left for the
# tree over all rows: decisions/0020-size-by-cross-validation.
FOR_THE_END = 0.25
"""Share of the time limit that is reserved for the tree over all rows."""


class ChosenTree(FittedModel):
    """A tree whose depth, price of leaves and least rows per leaf are chosen by cross-validation.

    Subclasses have the parameters below as fields.
    """

    max_depth: int | Sequence[int]
    alpha: float | Sequence[float]
    min_samples_leaf: int | str | Sequence[int | str]
    cv: Any
    random_state: int | None
    scoring: Any
    rule: str
    threshold_rule: str
    time_limit: float | None
    memory_limit: int | str | None
    n_jobs: int | None
    verbose: int

    # fitted
    best_estimator_: Any

    _of_numbers = False  # whether the target is numbers
    _sensitive: Any = None  # group of each row that constraints compare, during a fit

    # ----------------------------------------------------------------------------------------------- to implement

    @abstractmethod
    def _learner(self, **parameters: Any) -> TreeLearner[Any]:
        """A learner of one size."""

    @abstractmethod
    def _targets(self, rows: Any) -> npt.NDArray[Any]:
        """(n_rows,) the targets of training rows, as the learner accepts them."""

    @abstractmethod
    def _held_out_figures(self, tried: FittedCandidates, chosen: int, rows: Any) -> Validation:
        """The figures of a candidate on the held-out rows.

        Parameters
        ----------
        tried, chosen : the candidates, and the index of one
        rows : all training rows
        """

    @abstractmethod
    def _scored(self, y: Any) -> Any:
        """Targets of new rows as a scorer compares them with predictions."""

    def _prices(self) -> list[float]:
        """The prices of a leaf to try."""
        return values_of(self.alpha)

    def _leaf_limits(self) -> list[int | None]:
        """The limits on the number of leaves to try."""
        return [None]

    def _of_last_fit(self) -> dict[str, Any]:
        """The parameters that only the learner over all rows gets."""
        return {"unseen": self.unseen, "verbose": self.verbose}

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
            "n_jobs",
        )
        return {name: getattr(self, name) for name in names}

    # ------------------------------------------------------------------------------------------------------- fit

    @documented
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, groups: Any = None) -> Self:
        """Choose a size by cross-validation, and fit a tree of this size on all rows.

        Parameters
        ----------
        X, y, sample_weight : as in every learner
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
        learner = self._learner(**self._common(), **self._of_last_fit())
        with fit_within(self.memory_limit), whole_or_as_before(self):
            name = target_name(y)
            X, y = features_and_labels(X, y, several=self._several_targets)
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
            learner.validation_ = self._held_out_figures(tried, choice.chosen, rows)
            learner.set_params(time_limit=self.time_limit, **tried.candidates[choice.chosen].params)
            learner._finish(learner._learn_rows(rows, started, learner._constrained(self._sensitive)))
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
            check_depth(depth, BY_DEPTH % "a cross-validation")
        for price in values_of(self.alpha):
            number = finite(price)
            if number is None or not 0 <= number <= 1:
                raise ValueError(f"alpha has {price!r}: expected shares, from 0 to 1")
        for minimum in values_of(self.min_samples_leaf):
            if minimum != AUTO:
                check_min_samples_leaf(minimum)
        arguments.choice(self.rule, "rule", tuple(map(str, Rule)))
        return Rule(self.rule)

    def _order_hints(self, X: Any, rows: TrainingRows, schema: Schema, groups: Any) -> list[Hint]:
        """The hints about the order of the rows of a frame, after a warning with their texts."""
        if not schema.by_name:
            return []
        target = self._in_line(rows)
        hints = sorted_rows(X, rows.columns, schema, target, cv=self.cv, groups=groups, of_numbers=self._of_numbers)
        if hints:
            warnings.warn(DataWarning("; ".join(map(str, hints)), hints), stacklevel=3)
        return hints

    def _in_line(self, rows: Any) -> npt.NDArray[Any]:
        """(n_rows,) targets by which rows may be sorted."""
        return self._targets(rows)

    def _scorer(self, rows: Any) -> Any:
        """The function that ``scoring`` means; ValueError if it names no score, or one of other targets."""
        require_score(self.scoring, None if self._of_numbers else rows.classes)
        return check_scoring(self._learner(), scoring=self.scoring)

    def _folds(self, X: Any, rows: Any, groups: Any) -> list[tuple[IntArray, IntArray]]:
        """The training rows and the held-out rows of each fold."""
        targets = self._targets(rows)
        return folds_of(self.cv, X, targets, groups, self.random_state, rows.columns, of_numbers=self._of_numbers)

    def _baseline(self, train: npt.NDArray[Any], held_out: FoldRows) -> float:
        """The score, on what a fold holds out, of a model without tests."""
        return baseline_score(self.scorer_, train, held_out.y, held_out.weights, of_numbers=self._of_numbers)

    def _tried(
        self,
        X: Any,
        rows: TrainingRows,
        schema: Schema,
        sample_weight: npt.ArrayLike | None,
        groups: Any,
        started: float,
    ) -> FittedCandidates:
        """The fits and scores of all candidates for which there was time."""
        targets = self._targets(rows)
        weights = None
        if sample_weight is not None:
            weights = np.broadcast_to(np.asarray(sample_weight, float), targets.shape[:1])
        self.scorer_ = self._scorer(rows)
        minima = [leaf_minimum(rows.codes) if m == AUTO else int(m) for m in values_of(self.min_samples_leaf)]
        seconds = seconds_of(self.time_limit, rows.columns.size)
        end = None if seconds is None else started + (1 - FOR_THE_END) * seconds
        folds = []
        for train, test in self._folds(X, rows, groups):
            reader = self._learner(**{**self._common(), "written_as": forms_of(schema)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings about columns are raised once, for all rows
                read = reader._read_rows(
                    _safe_indexing(X, train), targets[train], None if weights is None else weights[train]
                )
            held_out = FoldRows(
                test, _safe_indexing(X, test), targets[test], None if weights is None else weights[test]
            )
            compared = None if self._sensitive is None else _safe_indexing(self._sensitive, train)
            folds.append(Fold(reader, read, held_out, self._baseline(targets[train], held_out), compared))
        prices = sorted({float(price) for price in self._prices()})
        all_sizes = sizes(sorted(set(values_of(self.max_depth))), sorted(set(minima)))
        trial = CandidateRun(folds, all_sizes, prices, self._leaf_limits(), self.scorer_, end)
        with reporting.progress_lines() if self.verbose else nullcontext():
            return trial.run()

    @property
    def _best(self) -> Any:
        """The chosen tree, with the parameters of its fit."""
        return self.best_estimator_._as_fitted()

    def _adopt(self, learner: TreeLearner[Any], tried: FittedCandidates, choice: Choice) -> None:
        """Set the fitted attributes: those of the chosen tree, and those of the cross-validation."""
        given = learner.get_params(deep=False)
        for name, value in vars(learner).items():
            if name not in given:
                setattr(self, name, value)
        self._keep_parameters()
        self.best_estimator_ = learner
        self.best_params_ = dict(tried.candidates[choice.chosen].params)
        self.best_index_, self.top_index_ = choice.chosen, choice.top
        self.best_score_ = float(tried.scores[choice.chosen].mean())
        self.standard_error_ = choice.error
        self.n_splits_ = tried.scores.shape[1]
        self.cv_results_ = tried.results()
        self._interrupted = tried.interrupted

    def _warn_of_unproved(self, tried: FittedCandidates) -> None:
        said = []
        if self.result_.status is Status.FEASIBLE and self.result_.stats.stopped_by is not None:
            said.append(self.best_estimator_._unproved().removesuffix("."))
        n_stopped, n_fits = int(tried.stopped.sum()), tried.stopped.size
        if tried.left_out:
            why = ", for Ctrl-C ended the trying" if tried.interrupted else " within the time limit"
            said.append(
                f"{tried.left_out} of {tried.left_out + len(tried.candidates)} candidates were not tried in every fold"
                f"{why}"
            )
        if n_stopped:
            timed = self.time_limit is not None
            limit, reached = ("time_limit", "its share of the time limit") if timed else ("memory_limit", "a limit")
            said.append(
                f"in {n_stopped} of {n_fits} fits on folds the search reached {reached}, so the "
                f"scored tree is the best found, not proved optimal: raise {parameter(limit)}, or try fewer candidates"
            )
        if said:
            warnings.warn("; ".join(said), OptimalityWarning, stacklevel=3)

    # --------------------------------------------------------------------------------------------- asked of the tree

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The score of the tree on rows ``X`` with targets ``y``, as defined by ``scoring``.

        Parameters
        ----------
        X, y : rows and their targets
        sample_weight : weight of each row
        """
        check_is_fitted(self)
        X, y = features_and_labels(X, y, several=self._several_targets)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self.best_estimator_, X, self._scored(y), **weights))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen tree to ``path``; the scores are not saved."""
        check_is_fitted(self)
        self.best_estimator_.save(path)

    def recount(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The objective of ``model_``, counted row by row.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit`
        """
        check_is_fitted(self)
        return float(self.best_estimator_.recount(X, y, sample_weight))

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
        limits = {name: set(found[name].tolist()) for name in found if name.startswith("param_m")}
        several = {name for name, values in limits.items() if len(values) > 1}
        series = []
        for params in found["params"]:
            name = f"depth {params['max_depth']}"
            if "param_max_leaf_nodes" in several and params.get("max_leaf_nodes") is not None:
                name += ", " + ngettext("at most %(n)s leaf", "at most %(n)s leaves", params["max_leaf_nodes"])
            if "param_min_samples_leaf" in several:
                name += f", leaves from {params['min_samples_leaf']} rows"
            series.append(name)
        scores = np.column_stack([found[f"split{k}_test_score"] for k in range(self.n_splits_)])
        return plot_scores(
            found["mean_n_leaves"],
            scores,
            series,
            chosen=self.best_index_,
            top=self.top_index_,
            score=self._as_fitted()._score_name(),
            ax=ax,
            figsize=figsize,
            title=self._chosen() if title is None else title,
        )

    def _score_name(self) -> str:
        return score_name(self.scoring, of_numbers=self._of_numbers)

    def _chosen(self) -> str:
        """The chosen size, in words."""
        params = self.best_params_
        parts = [gettext("depth %(depth)s", depth=params["max_depth"])]
        if params.get("max_leaf_nodes") is not None:
            parts.append(ngettext("at most %(n)s leaf", "at most %(n)s leaves", params["max_leaf_nodes"]))
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
        return [(gettext("chosen"), score), *self._best._facts()]

    def _claim(self) -> str:
        return str(self._best._claim())


class ChosenNumberTree(ChosenTree):
    """A chosen tree whose leaves predict numbers: what it reads and says of them is as for the tree."""

    _of_numbers = True

    @property
    def _answers(self) -> None:
        return None

    def _fit_text(self) -> str:
        return str(self._best._fit_text())

    def _answers_in_words(self) -> Mapping[int, str]:
        return dict(self._best._answers_in_words())

    def _loss_in_words(self) -> str | None:
        told: str | None = self._best._loss_in_words()
        return told

    def _model_notes(self) -> list[Hint]:
        return list(self._best._model_notes())

    def _coloured_rows(self, X: Any, y: Any, name: str) -> tuple[FloatArray, IntArray]:
        rows, codes = self._best._coloured_rows(X, y, name)
        return rows, codes

    def _rows_and_targets(self, X: Any, y: Any, name: str = "y") -> tuple[FloatArray, FloatArray]:
        rows, targets = self._best._rows_and_targets(X, y, name)
        return rows, targets

    def _new_targets(self, y: Any, n_rows: int, name: str) -> FloatArray:
        return np.asarray(self._best._new_targets(y, n_rows, name))
