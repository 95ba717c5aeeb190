"""``OptimalPolicyTree``: the tree of actions with provably the greatest reward within a depth."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.arguments import is_integer
from proofwood.data.frames import as_frame, is_frame
from proofwood.engines.trees.limited import solve_limited
from proofwood.estimators.input import row_weights
from proofwood.estimators.number_learner import NumberLearner, NumberRows, rows_text
from proofwood.estimators.shared_docs import documented
from proofwood.estimators.tree_learner import PosedTree
from proofwood.language import gettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from proofwood.model.sums import rounded_up
from proofwood.parallel.search_file import SearchFile
from proofwood.printable import printable
from proofwood.problem.action_limits import ActionLimits, LimitedRewards, action_limits
from proofwood.problem.targets import Rewards, SumTarget
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Progress, Result, Status, figure

MOST_ACTIONS = 32


@documented
@dataclass(eq=False, repr=False)
class OptimalPolicyTree(NumberLearner):
    """Decision tree of actions with provably the greatest total reward among all axis-aligned trees of its depth.

    Each row has a reward for each action, and the tree assigns one action to each leaf: the one of the greatest reward
    there [1]_. Rewards of a randomised experiment, or doubly robust scores of observed data, make it a policy. Rewards
    of few digits are not rounded, and a completed search proves the tree optimal; others are rounded to multiples of a
    unit, and it is proved optimal up to what that can change.

    Parameters
    ----------
    max_depth : int, default 3
        Most tests on a path from the root to a leaf; 0 is a single leaf, which assigns one action to all rows.
    alpha : float in [0, 1], default 0.0
        Price of each leaf beyond the first, as a share of the reward that the best single action loses.
    min_samples_leaf, min_weight_fraction_leaf : as in every tree
    budget : float in [0, 1], dict from action to such a share, or None
        At most this share of the training weight is given an action other than the first, or the actions of the dict.
        Prices of these actions find the tree and a bound for all trees within the budget; a gap that prices leave is
        reported, with a warning and the status "feasible". ``alpha`` and ``max_gap`` are then shares of what the best
        action without a budget loses.
    min_samples_action : int, default 1
        An action that the tree gives at all is given to at least so many training rows, without weights; more than 1
        for at most five actions. As with a budget, a gap may be left.
    min_samples_level : as in every tree
    max_gap : float in [0, 1), default 0
        The search may stop with a tree that is at most this far from the optimum, as a share of the reward that the
        best single action loses.
    categorical_features, drop, missing_values, written_as, threshold_rule, unseen : as in every learner
    time_limit, memory_limit, n_jobs : as in every learner
        A completed search with ``max_gap=0`` gives the same tree for any ``n_jobs``.
    callback, verbose : as in every learner
    checkpoint : as in every search that can go on
        Not with a budget or ``min_samples_action``.

    Attributes
    ----------
    actions_ : (n_actions,) names of the columns of ``rewards``, or their numbers
    value_ : float
        Mean reward of the training rows under the tree, by weight.
    value_bound_ : float
        A proved bound: no permitted tree, so none within the budget, has a greater mean reward, less the price of its
        leaves, also if the search was stopped.
    shares_ : (n_actions,) share of the training weight that each action is given
    target_name_, n_features_in_, feature_names_in_, categories_, schema_, hints_, validation_ : as in every learner
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

    actions_: npt.NDArray[Any] = field(init=False)
    value_: float = field(init=False)
    value_bound_: float = field(init=False)

    _several_targets = True

    max_depth: int = 3
    _: KW_ONLY
    alpha: float = 0.0
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    budget: float | Mapping[Any, float] | None = None
    min_samples_action: int = 1
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

    @documented
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows ``X`` with rewards ``y``.

        Parameters
        ----------
        X : as in every learner
        y : (n_samples, n_actions) reward of each action for each row; a frame names the actions. A list of names takes
            these columns out of the frame ``X``. A single column is what a treatment adds: action 0 is to do nothing,
            at reward 0, and action 1 is the treatment
        sample_weight : as in every learner

        Returns, Raises, Warns : as in every fit
        """
        self._fit(X, y, sample_weight)
        return self

    def _targets_of_training(self, y: Any) -> FloatArray:
        rewards = super()._targets_of_training(y)
        named = is_frame(y) and as_frame(y).shape[1] > 1
        self.actions_ = np.array(list(map(str, as_frame(y).columns))) if named else np.arange(rewards.shape[1])
        return rewards

    def _finish(self, problem: PosedTree) -> None:
        rewards = problem.problem.target
        assert isinstance(rewards, Rewards)
        best, total = rewards.best_mean()
        optimal = self.status_ is Status.OPTIMAL  # the bound is then the cost, which a float only comes close to
        least = problem.counted.real_cost(self.model_) if optimal else Fraction(self.lower_bound_)
        self.value_bound_ = rounded_up(best - least / total) + 0.0  # not -0.0
        # never above its bound, if leaves have no price: the nearest float64 is at most the one that is rounded up
        self.value_ = float(best - problem.counted.real_loss(self.model_) / total) + 0.0

    def _posed_rows(self, X: FloatArray, given: NumberRows, by_sets: Collection[int]) -> TreeProblem:
        limits = self._limits
        if limits == ActionLimits():
            return super()._posed_rows(X, given, by_sets)
        if self.checkpoint is not None:
            raise ValueError("checkpoint cannot be combined with budget or min_samples_action: leave one of them out")
        make = partial(LimitedRewards, limits=limits)
        return TreeProblem.by_sums(X, given.targets, make, sample_weight=given.weights, **self._limits_of_trees)

    @property
    def _limits(self) -> ActionLimits:
        """The limits of the parameters on actions."""
        least = self.min_samples_action
        if not is_integer(least) or least < 1:
            raise ValueError(f"min_samples_action={least!r} is not a number of rows: expected an integer from 1")
        return action_limits(self.budget, int(least), self.actions_.tolist())

    def _searched(
        self, problem: TreeProblem, limits: Limits, progress: Progress | None, file: SearchFile | None
    ) -> Result:
        if isinstance(problem.target, LimitedRewards):
            return solve_limited(problem, limits=limits, progress=progress)
        return super()._searched(problem, limits, progress, file)

    def _cost(self, problem: PosedTree) -> float:
        rewards = problem.problem.target
        if isinstance(rewards, LimitedRewards) and (broken := rewards.broken(self.model_, problem.X)):
            raise ValueError(f"the tree breaks its limits on these rows: {broken}")
        return super()._cost(problem)

    def _columns_to_save(self) -> dict[str, Any]:
        return {**super()._columns_to_save(), "value": self.value_, "value_bound": self.value_bound_}

    def _restore_columns(self, saved: Mapping[str, Any]) -> None:
        super()._restore_columns(saved)
        value, bound = (_finite(saved, name) for name in ("value", "value_bound"))
        self.value_, self.value_bound_ = value, bound

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
    def _units(self) -> tuple[str, ...]:
        return (Rewards.named,)

    @property
    def _kind(self) -> type[SumTarget]:
        return Rewards

    def _shaped(self, numbers: FloatArray) -> FloatArray:
        """A reward for each row and each of at least two actions."""
        if numbers.ndim == 1 or (numbers.ndim == 2 and numbers.shape[1] == 1):
            effect = numbers.reshape(-1)
            return np.column_stack([np.zeros_like(effect), effect])
        if numbers.ndim != 2 or numbers.shape[1] == 0:
            raise ValueError(f"y has shape {numbers.shape}: expected the reward of each action, (n_samples, n_actions)")
        if numbers.shape[1] > MOST_ACTIONS:
            raise ValueError(f"y has {numbers.shape[1]} actions: expected at most {MOST_ACTIONS}")
        return numbers

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
        """Nothing: the actions are known since the target was read."""

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
    def shares_(self) -> FloatArray:
        """(n_actions,) share of the training weight that each action is given."""
        check_is_fitted(self)
        table = self.model_
        ends = table.feature == LEAF
        given = np.bincount(table.label[ends], table.weight[ends, 0], self.actions_.size)
        return np.asarray(given / given.sum())

    def _fit_text(self) -> str:
        table = self.model_
        assert table.values is not None
        single = max(self._limits.free(self.actions_.size), key=table.values[0].__getitem__)
        return gettext(
            "mean reward %(value)s on %(rows)s (%(single)s with %(action)s for all)",
            value=number(figure(self.value_)),
            rows=rows_text(table),
            single=number(figure(float(table.values[0, single]))),
            action=printable(str(self.actions_[single])),
        )

    def _facts(self) -> list[tuple[str, str]]:
        told = []
        for budget in self._limits.budgets:
            given = float(self.shares_[list(budget.actions)].sum())
            told.append(
                gettext(
                    "%(actions)s for %(given)s of the training weight, at most %(most)s permitted",
                    actions=self._named(budget.actions),
                    given=_percent(given),
                    most=_percent(float(budget.share)),
                )
            )
        return [*super()._facts(), *((gettext("budget"), text) for text in told)]

    def _named(self, counted: tuple[bool, ...]) -> str:
        return gettext(" or ").join(printable(str(self.actions_[k])) for k in np.flatnonzero(counted))

    def _claim(self) -> str:
        if self.result_.unit != "lost reward":
            return f"{super()._claim()}{self._within_limits()}"
        return gettext("no %(trees)s has a greater reward", trees=self._trees) + (self._within_limits())

    def _within_limits(self) -> str:
        """The limits on actions, in words that follow a claim; empty without one."""
        limits = self._limits
        told = [
            gettext(
                "gives %(actions)s to at most %(most)s of the training weight",
                actions=self._named(budget.actions),
                most=_percent(float(budget.share)),
            )
            for budget in limits.budgets
        ]
        if limits.least_rows > 1:
            told.append(gettext("gives an action to at least %(n)s training rows or none", n=limits.least_rows))
        return gettext(" that %(limits)s", limits=gettext(" and ").join(told)) if told else ""

    def _describe_proof(self) -> str:
        limits = self._within_limits()
        told = super()._describe_proof()
        return gettext("%(told)s; about every tree%(limits)s", told=told, limits=limits) if limits else told


def _finite(saved: Mapping[str, Any], name: str) -> float:
    """A number of a model file."""
    found: Any = saved.get(name)
    if type(found) not in (int, float) or not math.isfinite(found):
        raise ValueError(f"{name} is {found!r}, expected a number")
    return float(found)


def _percent(share: float) -> str:
    return gettext("%(number)s%%", number=number(f"{100 * share:.6g}"))
