"""The candidates of a cross-validation, fitted on the training rows of each fold and scored on what it holds out."""

from __future__ import annotations

import dataclasses
import time
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.estimators import reporting
from proofwood.estimators.base import TrainingRows
from proofwood.estimators.choice import Size
from proofwood.estimators.tree_learner import TreeLearner
from proofwood.model.node_table import FloatArray, IntArray, NodeTable
from proofwood.result import Status


@dataclass(frozen=True, slots=True)
class Candidate:
    """A size with a price of leaves."""

    size: Size
    alpha: float

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a learner."""
        return {**dataclasses.asdict(self.size), "alpha": self.alpha}


@dataclass(frozen=True, eq=False, slots=True)
class FoldRows:
    """The rows that a fold holds out: their numbers, values, targets and weights."""

    rows: IntArray
    X: Any
    y: npt.NDArray[Any]
    weights: FloatArray | None


@dataclass(frozen=True, eq=False, slots=True)
class Fold:
    """A fold: a learner that has read its training rows, these rows, the held-out rows, and the baseline on these."""

    reader: TreeLearner[Any]
    rows: TrainingRows
    held_out: FoldRows
    baseline: float


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """The fit of a candidate on a fold. ``seconds`` is 0 if the tree was taken from the fits of two other prices."""

    score: float
    model: NodeTable
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


class CandidateRun:
    """Fits every candidate on every fold until the time is over."""

    def __init__(
        self, folds: list[Fold], all_sizes: list[Size], prices: list[float], scorer: Any, end: float | None
    ) -> None:
        self._folds = folds
        self._sizes = all_sizes
        self._prices = prices
        self._scorer = scorer
        self._end = end
        self._left = len(folds) * len(all_sizes) * len(prices)

    def run(self) -> FittedCandidates:
        """Fit the candidates, and return those that were fitted in every fold; TimeoutError if there are none."""
        candidates: list[Candidate] = []
        fits: list[list[Fit]] = []
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
                return FittedCandidates(
                    candidates, fits, self._folds, left_out, interrupted=isinstance(error, KeyboardInterrupt)
                )
            for j, price in enumerate(self._prices):
                candidates.append(Candidate(size, price))
                fits.append([path[j] for path in by_fold])
                self._tell(candidates[-1], fits[-1])
        return FittedCandidates(candidates, fits, self._folds, 0)

    def _path(self, fold: Fold, size: Size) -> list[Fit]:
        """The fits of one size on a fold, one per price in the order of the prices.

        The cost of a tree is linear in the price of a leaf, and the least cost is the lower envelope of these lines. A
        tree that is optimal for two prices is optimal for every price between them: its line touches the envelope at
        both prices, and the envelope is concave. If the line is above it by rounding, it is so by no more between.
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

    def _fit(self, fold: Fold, size: Size, price: float) -> Fit:
        """Fit one candidate on the training rows of a fold, and score it on the held-out rows."""
        started = time.monotonic()
        seconds = None
        if self._end is not None:
            if started >= self._end:
                raise _OutOfTime
            seconds = (self._end - started) / self._left
        self._left -= 1
        tree = copy(fold.reader).set_params(**Candidate(size, price).params, time_limit=seconds)
        try:
            problem = tree._learn_rows(fold.rows, started)
        except TimeoutError:  # its share was too short to prepare the rows
            if self._end is None or (now := time.monotonic()) >= self._end:
                raise _OutOfTime from None
            try:
                problem = tree.set_params(time_limit=self._end - now)._learn_rows(fold.rows, now)
            except TimeoutError:
                raise _OutOfTime from None
        tree._finish(problem)
        if tree.result_.stats.stopped_by == "interrupt":
            raise KeyboardInterrupt
        held_out = fold.held_out
        weights = {} if held_out.weights is None else {"sample_weight": held_out.weights}
        score = float(self._scorer(tree, held_out.X, held_out.y, **weights))
        seconds = time.monotonic() - started
        stopped = tree.status_ is Status.FEASIBLE
        return Fit(score, tree.model_, reporting.proved(tree), stopped, seconds, tree.predict(held_out.X))

    def _tell(self, candidate: Candidate, fits: list[Fit]) -> None:
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
