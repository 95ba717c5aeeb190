"""``OptimalPolicyTree``: the tree of actions with provably the greatest reward within a depth."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.frames import as_frame, is_frame
from proofwood.estimators.input import features_and_labels, row_weights
from proofwood.estimators.number_learner import NumberLearner, NumberRows, Reader, numbers_of, rows_text
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_learner import PosedTree
from proofwood.language import gettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from proofwood.model.sums import rounded_up
from proofwood.printable import printable
from proofwood.problem.targets import Rewards, SumTarget
from proofwood.result import Progress, figure

MOST_ACTIONS = 32


@documented
class OptimalPolicyTree(NumberLearner):
    """Decision tree of actions with provably the greatest total reward among all axis-aligned trees of its depth.

    Each row has a reward for each action, and the tree assigns one action to each leaf: the one of the greatest reward
    there [1]_. Rewards of a randomised experiment, or doubly robust scores of observed data, make it a policy. Rewards
    are not rounded: a completed search proves the tree optimal.

    Parameters
    ----------
    max_depth : int, default 3
        Most tests on a path from the root to a leaf; 0 is a single leaf, which assigns one action to all rows.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of the reward that the best single action loses.
    min_samples_leaf : int, default 1
        Least number of rows per leaf, without weights.
    min_weight_fraction_leaf : float in [0, 0.5], default 0.0
        Least share of the total weight per leaf.
    min_samples_level : int or None, default None
        Levels of a text column with fewer rows are pooled: they go to the same side at every test. None: 30, or a
        fortieth of the rows if that is less. 1: no pooling.
    max_gap : float in [0, 1), default 0
        The search may stop with a tree that is at most this far from the optimum, as a share of the reward that the
        best single action loses.
    categorical_features, drop, missing_values, written_as : as in every learner
    threshold_rule, unseen : as in every learner
    time_limit, memory_limit, n_jobs : as in every learner
        A completed search with ``max_gap=0`` gives the same tree for any ``n_jobs``.
    callback, verbose : as in every learner
    checkpoint : as in every search that can go on

    Attributes
    ----------
    actions_ : (n_actions,) names of the columns of ``rewards``, or their numbers
    value_ : float
        Mean reward of the training rows under the tree, by weight.
    value_bound_ : float
        A proved bound: no permitted tree has a greater mean reward, less the price of its leaves, also if the search
        was stopped.
    target_name_, n_features_in_, feature_names_in_, categories_ : as in every learner
    schema_, hints_, validation_ : as in every learner
    model_, result_, objective_ : as in every learner
        The objective is the lost reward: over the rows, the reward of the best action of the row less that of the
        assigned one, plus the price of the leaves.
    lower_bound_, gap_, status_, trace_, feature_importances_, tested_columns_, loaded_ : as in every learner

    References
    ----------
    .. [1] Zhou, Athey, Wager (2023), Offline Multi-Action Policy Learning: Generalization and Optimization, Operations
       Research 71.

    Examples
    --------
    >>> import numpy as np
    >>> from proofwood import OptimalPolicyTree
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> rewards = np.column_stack([np.zeros(6), [-1, -1, -1, 2, 2, 2]])  # doing nothing, or a treatment
    >>> tree = OptimalPolicyTree(max_depth=1).fit(X, rewards)
    >>> tree.predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> tree.value_, tree.value_bound_  # no tree of depth 1 does better
    (1.0, 1.0)
    """

    # fitted
    actions_: npt.NDArray[Any]
    value_bound_: float

    _several_targets = True

    def __init__(
        self,
        max_depth: int = 3,
        *,
        alpha: float = 0.0,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_samples_level: int | None = None,
        max_gap: float = 0,
        categorical_features: Any = None,
        drop: Any = None,
        missing_values: Any = None,
        written_as: Mapping[Any, str | None] | None = None,
        threshold_rule: str = "shortest",
        unseen: str = "majority",
        time_limit: float | None = 60.0,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        callback: Progress | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.alpha = alpha
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_samples_level = min_samples_level
        self.max_gap = max_gap
        self.categorical_features = categorical_features
        self.drop = drop
        self.missing_values = missing_values
        self.written_as = written_as
        self.threshold_rule = threshold_rule
        self.unseen = unseen
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows ``X`` with rewards ``y``.

        Parameters
        ----------
        X : (n_samples, n_features) an array, or a pandas or polars frame, of finite numbers, text, categories, dates or
            times; values may be missing
        y : (n_samples, n_actions) reward of each action for each row; a frame names the actions. A list of names takes
            these columns out of the frame ``X``. A single column is what a treatment adds: action 0 is to do nothing,
            at reward 0, and action 1 is the treatment
        sample_weight : (n_samples,) weight of each row, at least 0; rows of weight 0 are ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On parameters or data that cannot be used; the message says what to do.

        Warns
        -----
        OptimalityWarning
            If a limit or Ctrl-C ended the search before the proof. The estimator then has the best model found so far.
        """
        X, y = features_and_labels(X, y, several=True)
        named = is_frame(y) and as_frame(y).shape[1] > 1
        self._names_of_actions = [str(name) for name in as_frame(y).columns] if named else None
        try:
            self._fit(X, y, sample_weight)
        finally:
            del self._names_of_actions
        return self

    def _finish(self, problem: PosedTree) -> None:
        rewards = problem.problem.target
        assert isinstance(rewards, Rewards)
        best, total = rewards.best_mean(problem.problem.real_weights)
        self.value_bound_ = rounded_up(best - Fraction(self.lower_bound_) / total)

    def _columns_to_save(self) -> dict[str, Any]:
        return {**super()._columns_to_save(), "value_bound": self.value_bound_}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        bound: Any = saved.get("value_bound")
        if type(bound) not in (int, float) or not math.isfinite(bound):
            raise ValueError(f"value_bound is {bound!r}, expected a number")
        self.value_bound_ = float(bound)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags

    @property
    def _answers(self) -> npt.NDArray[Any]:
        return self.actions_

    def _restore_answers(self, answers: npt.NDArray[Any] | None) -> None:
        if answers is None:
            raise ValueError("classes is null, expected the actions of a policy")
        self.actions_ = answers

    @property
    def _kind(self) -> type[SumTarget]:
        return Rewards

    @property
    def _target_of(self) -> Reader:
        return _rewards

    def _rows_of(self, target: npt.NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        rewards = target.astype(np.float64)
        return rewards, rewards - rewards.mean(axis=1, keepdims=True)

    def _new_targets(self, y: Any, n_rows: int, name: str) -> FloatArray:
        rewards = super()._new_targets(y, n_rows, name)
        if rewards.shape[1] != self.actions_.size:
            expected = (n_rows, self.actions_.size)
            raise ValueError(f"{name} has shape {rewards.shape}: expected a reward per row and action, {expected}")
        return rewards

    def _nearest_answers(self, targets: FloatArray) -> IntArray:
        return np.asarray(targets.argmax(axis=1), dtype=np.int64)

    def _keep_target(self, rows: NumberRows) -> None:
        names = self._names_of_actions
        self.actions_ = np.arange(rows.targets.shape[1]) if names is None else np.array(names)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n_samples,) action of each row of ``X``."""
        check_is_fitted(self)
        return np.asarray(self.actions_[evaluate.predict(self.model_, self._rows(X))])

    def predict_rewards(self, X: Any) -> FloatArray:
        """(n_samples, n_actions) mean reward of each action over the training rows in the leaf of each row."""
        check_is_fitted(self)
        return np.asarray(self._values(X))

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The mean reward of the actions that the tree assigns.

        Parameters
        ----------
        X : rows
        y : (n_samples, n_actions) reward of each action for each row, in the order of ``actions_``
        sample_weight : (n_samples,) weight of each row
        """
        check_is_fitted(self)
        rows, rewards = self._rows_and_targets(X, y)
        action = evaluate.predict(self.model_, rows)
        weights = row_weights(None, sample_weight, action[:0], action)
        return float(np.average(rewards[np.arange(action.size), action], weights=weights))

    @property
    def value_(self) -> float:
        """Mean reward of the training rows under the tree, by weight."""
        check_is_fitted(self)
        table = self.model_
        assert table.values is not None
        ends = table.feature == LEAF
        rewards = table.values[ends, table.label[ends]]
        return float(np.average(rewards, weights=table.weight[ends, 0]))

    def _fit_text(self) -> str:
        table = self.model_
        assert table.values is not None
        single = int(np.argmax(table.values[0]))
        return gettext(
            "mean reward %(value)s on %(rows)s (%(single)s with %(action)s for all)",
            value=number(figure(self.value_)),
            rows=rows_text(table),
            single=number(figure(float(table.values[0, single]))),
            action=printable(str(self.actions_[single])),
        )

    def _claim(self) -> str:
        depth = self.max_depth
        if self.result_.unit == "lost reward":
            return gettext("no tree of depth at most %(depth)s has a greater reward", depth=depth)
        return super()._claim()


def _rewards(y: Any) -> FloatArray:
    """``y`` as float64: a reward for each row and each of at least two actions."""
    rewards = numbers_of(as_frame(y).to_numpy() if is_frame(y) else y)
    if rewards.ndim == 1 or (rewards.ndim == 2 and rewards.shape[1] == 1):
        effect = rewards.reshape(-1)
        return np.column_stack([np.zeros_like(effect), effect])
    if rewards.ndim != 2 or rewards.shape[1] == 0:
        raise ValueError(f"y has shape {rewards.shape}: expected the reward of each action, (n_samples, n_actions)")
    if rewards.shape[1] > MOST_ACTIONS:
        raise ValueError(f"y has {rewards.shape[1]} actions: expected at most {MOST_ACTIONS}")
    return rewards
