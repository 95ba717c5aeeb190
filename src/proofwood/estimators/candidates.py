"""The candidates of a cross-validation, fitted on the training rows of each fold and scored on what it holds out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.engines.interrupts import GAP_OF_PRICES
from proofwood.estimators import reporting
from proofwood.estimators.base import TrainingRows
from proofwood.estimators.choice import Size
from proofwood.estimators.tree_learner import TreeLearner
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.result import Status

FEWEST = 3
"""One search for all candidates of a size takes as long as several: fewer candidates are fitted one by one."""
FOR_FRONT = 1 / 3
"""Share of their time that one search for all candidates of a size gets; the rest is for those that it leaves open."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A size with a limit on the number of leaves, or None, and a price of leaves."""

    size: Size
    most: int | None
    alpha: float

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a learner."""
        few = {} if self.most is None else {"max_leaf_nodes": self.most}
        return {**dataclasses.asdict(self.size), **few, "alpha": self.alpha}


@dataclass(frozen=True, eq=False, slots=True)
class FoldRows:
    """The rows that a fold holds out: their numbers, values, targets and weights."""

    rows: IntArray
    X: Any
    y: npt.NDArray[Any]
    weights: FloatArray | None


@dataclass(frozen=True, eq=False, slots=True)
class Fold:
    """A fold: a learner that has read its training rows, these rows, the held-out rows, and the baseline on these.

    ``groups`` are those of the training rows, if constraints compare some.
    """

    reader: TreeLearner[Any]
    rows: TrainingRows
    held_out: FoldRows
    baseline: float
    groups: Any = None


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """The fit of a candidate on a fold.

    ``seconds`` is 0 if the tree was taken from the fits of two other prices, and ``objective`` that of the search that
    found the tree.
    """

    score: float
    model: NodeTable
    objective: float
    optimal: bool  # up to rounding
    stopped: bool
    seconds: float
    predicted: npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class FittedCandidates:
    """The candidates with a fit in every fold; ``left_out`` is the number of candidates without."""

    candidates: list[Candidate]
    fits: list[list[Fit]]
    folds: list[Fold]
    left_out: int
    interrupted: bool = False

    def held_out(self, chosen: int) -> tuple[IntArray, npt.NDArray[Any]]:
        """The rows that the folds hold out, and what a candidate predicts for each."""
        rows = np.concatenate([fold.held_out.rows for fold in self.folds])
        return rows, np.concatenate([fit.predicted for fit in self.fits[chosen]])

    @property
    def baselines(self) -> FloatArray:
        """(n_folds,) scores of the baseline."""
        return np.array([fold.baseline for fold in self.folds])

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
            **self._leaf_limits(),
            **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": ranks,
            "mean_fit_time": self._of_fits("seconds").mean(axis=1),
            "mean_n_leaves": self.leaves,
            "n_optimal": self.optimal.sum(axis=1).astype(np.int64),
        }

    def _leaf_limits(self) -> dict[str, Any]:
        most = [candidate.most for candidate in self.candidates]
        if all(one is None for one in most):
            return {}
        # as scikit-learn masks what a candidate does not have
        values = [0 if one is None else one for one in most]
        return {"param_max_leaf_nodes": np.ma.MaskedArray(values, mask=[one is None for one in most])}


class _OutOfTime(Exception):
    """No time is left for another fit."""


class CandidateRun:
    """Fits every candidate on every fold until the time is over.

    Parameters
    ----------
    folds : the folds
    all_sizes : sizes to try, smaller ones first
    prices : ascending prices of a leaf to try
    most : limits on the number of leaves to try, None for no limit
    scorer : function of (model, X, y)
    end : value of ``time.monotonic()`` at which the time is over; None for no limit
    """

    def __init__(
        self,
        folds: list[Fold],
        all_sizes: list[Size],
        prices: list[float],
        most: list[int | None],
        scorer: Any,
        end: float | None,
    ) -> None:
        self._folds = folds
        self._sizes = all_sizes
        self._prices = prices
        self._most = most
        self._scorer = scorer
        self._end = end
        self._left = len(folds) * len(all_sizes) * self._of_size

    @property
    def _of_size(self) -> int:
        """The candidates of one size."""
        return len(self._most) * len(self._prices)

    def run(self) -> FittedCandidates:
        """Fit the candidates, and return those that were fitted in every fold; TimeoutError if there are none."""
        candidates: list[Candidate] = []
        fits: list[list[Fit]] = []
        for k, size in enumerate(self._sizes):
            try:
                by_fold = [self._fits(fold, size) for fold in self._folds]
            except (_OutOfTime, KeyboardInterrupt) as error:
                if not candidates:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    raise TimeoutError(
                        "the time limit was reached before the first candidate was fitted in every fold: raise "
                        "time_limit, or try fewer values of max_depth, alpha and min_samples_leaf"
                    ) from None
                left_out = (len(self._sizes) - k) * self._of_size
                return FittedCandidates(
                    candidates, fits, self._folds, left_out, interrupted=isinstance(error, KeyboardInterrupt)
                )
            for j, (most, price) in enumerate(product(self._most, self._prices)):
                candidates.append(Candidate(size, most, price))
                fits.append([of_fold[j] for of_fold in by_fold])
                self._tell(candidates[-1], fits[-1])
        return FittedCandidates(candidates, fits, self._folds, 0)

    def _fits(self, fold: Fold, size: Size) -> list[Fit]:
        """The fits of one size on a fold: for each limit on leaves, one per price."""
        by_front = self._of_front(fold, size)
        n = len(self._prices)
        paths = [self._path(fold, size, most, by_front[k * n : (k + 1) * n]) for k, most in enumerate(self._most)]
        return [fit for path in paths for fit in path]

    # The cost of a tree is linear in its leaves: one front by leaves holds the best tree of every price, and proves it.
    def _of_front(self, fold: Fold, size: Size) -> list[Fit]:
        """The fits of one size on a fold, from one search; none where a search of each candidate is the one to do.

        The search gets a share of the time. What it does not prove until then is searched by itself.
        """
        if self._of_size < FEWEST:
            return []
        started = time.monotonic()
        if self._end is not None and started >= self._end:
            raise _OutOfTime
        learner = copy(fold.reader).set_params(**dataclasses.asdict(size))
        front = learner._front_of_size(fold.rows, self._most, self._prices)
        if front is None:
            return []
        until = None if self._end is None else started + FOR_FRONT * self._of_size * (self._end - started) / self._left
        trees = front.search(until)
        scored: dict[int, tuple[Any, float, npt.NDArray[Any]]] = {}
        for best, fitted in trees:
            if best.tree.leaves not in scored:
                tree = fitted()
                scored[best.tree.leaves] = (tree.model_, *self._scored(tree, fold))
        seconds = (time.monotonic() - started) / len(trees)
        found = []
        for best, _ in trees:
            model, score, predicted = scored[best.tree.leaves]
            proved = best.told.status is Status.OPTIMAL
            found.append(Fit(score, model, best.told.objective, proved, not best.settled, seconds, predicted))
        return found

    def _path(self, fold: Fold, size: Size, most: int | None, known: Sequence[Fit] = ()) -> list[Fit]:
        """The fits of one size on a fold, one per price in the order of the prices.

        The cost of a tree is linear in the price of a leaf, and the least cost is the lower envelope of these lines. A
        tree that is optimal for two prices is optimal for every price between them: its line touches the envelope at
        both prices, and the envelope is concave. If the line is above it by rounding, it is so by no more between.

        Parameters
        ----------
        fold, size, most : the fold, and what all candidates have in common
        known : fits of all prices, of which those that were stopped are tried again
        """
        found = {place: fit for place, fit in enumerate(known) if not fit.stopped}
        self._left -= len(found)

        def fit(place: int) -> None:
            if place not in found:
                new = self._fit(fold, Candidate(size, most, self._prices[place]))
                found[place] = known[place] if known and known[place].objective < new.objective else new

        last = len(self._prices) - 1
        for place in {0, last}:
            fit(place)
        waiting = [(0, last)]
        while waiting:
            low, high = waiting.pop()
            between = [place for place in range(low + 1, high) if place not in found]
            if not between:
                continue
            one, other = found[low], found[high]
            if one.optimal and other.optimal and one.model == other.model:
                found |= dict.fromkeys(between, dataclasses.replace(one, seconds=0.0))
                self._left -= len(between)
                continue
            middle = (low + high) // 2
            fit(middle)
            waiting += [(middle, high), (low, middle)]
        return [found[place] for place in range(last + 1)]

    def _fit(self, fold: Fold, candidate: Candidate) -> Fit:
        """Fit one candidate on the training rows of a fold, and score it on the held-out rows."""
        started = time.monotonic()
        seconds = None
        if self._end is not None:
            if started >= self._end:
                raise _OutOfTime
            seconds = (self._end - started) / self._left
        self._left -= 1
        tree = copy(fold.reader).set_params(**candidate.params, time_limit=seconds)
        constrain = tree._constrained(fold.groups)
        try:
            problem = tree._learn_rows(fold.rows, started, constrain)
        except TimeoutError:  # its share was too short to prepare the rows
            if self._end is None or (now := time.monotonic()) >= self._end:
                raise _OutOfTime from None
            try:
                problem = tree.set_params(time_limit=self._end - now)._learn_rows(fold.rows, now, constrain)
            except TimeoutError:
                raise _OutOfTime from None
        tree._finish(problem)
        if tree.result_.stats.stopped_by == "interrupt":
            raise KeyboardInterrupt
        score, predicted = self._scored(tree, fold)
        seconds = time.monotonic() - started
        stopped = tree.status_ is Status.FEASIBLE and tree.result_.stats.stopped_by != GAP_OF_PRICES
        return Fit(score, tree.model_, tree.objective_, reporting.proved(tree), stopped, seconds, predicted)

    def _scored(self, tree: TreeLearner[Any], fold: Fold) -> tuple[float, npt.NDArray[Any]]:
        """The score of a fitted tree on what a fold holds out, and its predictions."""
        held_out = fold.held_out
        weights = {} if held_out.weights is None else {"sample_weight": held_out.weights}
        score = float(self._scorer(tree, held_out.X, held_out.y, **weights))
        return score, tree.predict(held_out.X)

    def _tell(self, candidate: Candidate, fits: list[Fit]) -> None:
        scores = np.array([fit.score for fit in fits])
        spread = f" (standard error {scores.std(ddof=1) / np.sqrt(scores.size):.4f})" if scores.size > 1 else ""
        size = candidate.size
        reporting.LOGGER.info(
            "depth %d, %salpha %g, leaves from %d rows: %.4f%s, %.1f leaves, %d of %d folds proved",
            size.max_depth,
            "" if candidate.most is None else f"max_leaf_nodes {candidate.most}, ",
            candidate.alpha,
            size.min_samples_leaf,
            scores.mean(),
            spread,
            np.mean([fit.model.n_leaves for fit in fits]),
            sum(fit.optimal for fit in fits),
            len(fits),
        )
