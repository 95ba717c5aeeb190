"""Budgets and least rows of a policy: what is learned, what is said of it, and what is refused."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from proofwood import ModelFileError, OptimalityWarning, OptimalPolicyTree, Status, load
from proofwood.engines.trees.limited import labelled
from proofwood.estimators import storage
from proofwood.problem.action_limits import ActionLimits, Budget, Leaves, LimitedRewards
from proofwood.problem.objectives import integer_weights

pytestmark = pytest.mark.filterwarnings("ignore:.*a gap that prices leave:proofwood.OptimalityWarning")


def treated_rows(n_rows: int = 400, seed: int = 0) -> tuple[Any, Any]:
    """Rows for which a treatment helps in part of the table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    effect = X[:, 0] + np.where(X[:, 1] > 0, 0.5, -0.5) + rng.normal(size=n_rows)
    return X, pl.DataFrame({"none": np.zeros(n_rows), "treat": np.round(effect, 2)})


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.45])
def test_a_tree_keeps_its_budget_and_no_tree_is_above_the_bound(share: float) -> None:
    X, rewards = treated_rows()
    free = OptimalPolicyTree(2).fit(X, rewards)
    assert free.shares_[1] > 0.45
    tree = OptimalPolicyTree(2, budget=share).fit(X, rewards)
    assert tree.shares_[1] <= share
    assert tree.value_ <= tree.value_bound_ <= free.value_
    assert tree.recount(X, rewards) == tree.objective_
    named = OptimalPolicyTree(2, budget={"treat": share}).fit(X, rewards)
    assert named.model_ == tree.model_
    assert np.array_equal(named.predict(X) == "treat", tree.predict(X) == "treat")


def test_a_budget_that_does_not_bind_changes_nothing() -> None:
    X, rewards = treated_rows()
    free = OptimalPolicyTree(2).fit(X, rewards)
    for share in (0.95, 1, 1.0):
        tree = OptimalPolicyTree(2, budget=share).fit(X, rewards)
        assert (tree.objective_, tree.lower_bound_, tree.status_) == (free.objective_, free.lower_bound_, "optimal")
        assert np.array_equal(tree.predict(X), free.predict(X))


def test_prices_that_meet_the_budget_prove_the_tree() -> None:
    X = np.arange(8.0).reshape(-1, 1)
    rewards = np.column_stack([np.zeros(8), [-5, -5, -5, -5, 1, 1, 3, 3]])
    tree = OptimalPolicyTree(1, budget=0.25).fit(X, rewards)
    assert (tree.value_, tree.value_bound_, tree.status_) == (0.75, 0.75, "optimal")
    assert tree.predict(X).tolist() == [0] * 6 + [1] * 2
    assert tree._claim() == (
        "no tree of depth at most 1 has a greater reward that gives 1 to at most 25% of the training weight"
    )
    assert "budget: 1 for 25% of the training weight, at most 25% permitted" in tree.summary()
    assert "proved optimal" in tree.summary()


def test_what_prices_leave_open_is_said() -> None:
    X, rewards = treated_rows()
    with pytest.warns(OptimalityWarning, match="with a gap that prices leave.*a max_gap"):
        tree = OptimalPolicyTree(1, budget={"treat": 0.13}).fit(X, rewards)
    assert (tree.status_, tree.result_.stats.stopped_by) == (Status.FEASIBLE, "prices")
    assert tree.gap_ > 0
    text = tree.summary()
    assert "not proved, ended after " in text
    assert "about every tree that gives treat to at most 13% of the training weight" in text
    near = OptimalPolicyTree(1, budget={"treat": 0.13}, max_gap=0.5).fit(X, rewards)
    assert near.status_ is Status.WITHIN_GAP


def test_leaves_that_tie_stay_untreated() -> None:
    X = np.arange(4.0).reshape(-1, 1)
    tree = OptimalPolicyTree(1, budget=0.75).fit(X, np.column_stack([[1, 1, 0, 0], [1, 1, 2, 2]]))
    assert tree.predict(X).tolist() == [0, 0, 1, 1]
    none = OptimalPolicyTree(1, budget=0.75).fit(X, np.zeros((4, 2)))
    assert (none.model_.n_leaves, none.shares_.tolist()) == (1, [1, 0])


def test_several_budgets_hold_together() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    rewards = rng.integers(-3, 6, (300, 4)) + np.column_stack([np.zeros(300), X.round(1)])
    tree = OptimalPolicyTree(2, budget={1: 0.2, 3: 0.1}).fit(X, rewards)
    assert tree.shares_[1] <= 0.2
    assert tree.shares_[3] <= 0.1
    assert OptimalPolicyTree(2, budget=0.3).fit(X, rewards).shares_[1:].sum() <= 0.3


def test_an_action_is_given_to_enough_rows_or_none() -> None:
    X = np.arange(10.0).reshape(-1, 1)
    rewards = np.column_stack([np.zeros(10), [-1] * 7 + [-2, 3, 3]])
    assert OptimalPolicyTree(1, min_samples_action=2).fit(X, rewards).predict(X).tolist() == [0] * 8 + [1] * 2
    more = OptimalPolicyTree(1, min_samples_action=4).fit(X, rewards)
    assert more.predict(X).tolist() == [0] * 6 + [1] * 4  # not the best tree of any set of actions without the limit
    assert (more.value_, more.recount(X, rewards)) == (0.3, more.objective_)
    assert "an action to at least 4 training rows or none" in more._claim()
    assert OptimalPolicyTree(1, min_samples_action=6).fit(X, rewards).shares_.tolist() == [1, 0]


def test_files_keep_the_limits_and_are_checked(tmp_path: Path) -> None:
    X, rewards = treated_rows()
    path = tmp_path / "policy.json"
    tree = OptimalPolicyTree(2, budget={"treat": 0.3}, min_samples_action=20).fit(X, rewards)
    tree.save(path)
    again = load(path)
    assert again.budget == {"treat": 0.3}
    assert again.value_bound_ == tree.value_bound_
    assert again._claim() == tree._claim()
    assert again.recount(X, rewards) == tree.objective_
    for change, message in (
        ({"budget": {"treat": 0.1}}, "of the weight actions whose budget is 0.1"),
        ({"min_samples_action": 150}, "fewer rows than min_samples_action=150"),
        ({"budget": {"none": 2}}, "not a share of the weight"),
    ):
        with pytest.raises(ModelFileError, match=message):
            load(forged(path, change))


def forged(path: Path, parameters: dict[str, Any]) -> Path:
    """The file with other parameters and a right digest."""
    document = json.loads(path.read_text())
    document["model"]["estimator"]["parameters"] |= parameters
    document["sha256"] = storage._digest(document["model"])
    changed = path.with_name("forged.json")
    changed.write_text(json.dumps(document))
    return changed


def test_a_recount_of_rows_that_break_the_budget_says_so() -> None:
    X, rewards = treated_rows()
    tree = OptimalPolicyTree(2, budget=0.3).fit(X, rewards)
    treated = tree.predict(X) == "treat"
    with pytest.raises(ValueError, match="breaks its limits on these rows: a share of 1 of the weight"):
        tree.recount(X[treated], rewards.filter(pl.Series(treated)))


def test_a_time_limit_leaves_a_valid_bound() -> None:
    X, rewards = treated_rows(3000)
    with pytest.warns(UserWarning, match="stopped by the time limit"):
        tree = OptimalPolicyTree(4, budget=0.3, time_limit=0.2).fit(X, rewards)
    assert tree.shares_[1] <= 0.3
    assert tree.value_ <= tree.value_bound_
    assert all(a.lower_bound <= b.lower_bound for a, b in zip(tree.trace_, tree.trace_[1:], strict=False))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 1.5}, "not a share of the weight"),
        ({"budget": True}, "not a share of the weight"),
        ({"budget": "half"}, "not a share of the weight"),
        ({"budget": {}}, "names no action"),
        ({"budget": {"drug": 0.5}}, "budget names the action 'drug': expected one of 'none', 'treat'"),
        ({"budget": {"none": 0.5, "treat": 0.5}}, "budget limits every action"),
        ({"min_samples_action": 0}, "expected an integer from 1"),
        ({"min_samples_action": 500}, "only 400 rows have a positive weight"),
        ({"budget": 0.5, "checkpoint": "search.bin"}, "checkpoint cannot be combined"),
    ],
)
def test_what_cannot_be_used_is_named(given: dict[str, Any], message: str) -> None:
    X, rewards = treated_rows()
    with pytest.raises(ValueError, match=message):
        OptimalPolicyTree(1, **given).fit(X, rewards)


def test_least_rows_of_many_actions_are_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("expected at most 5 actions")):
        OptimalPolicyTree(1, min_samples_action=2).fit(np.arange(8.0).reshape(-1, 1), np.eye(8)[:, :6])


def test_rewards_that_differ_little_from_what_rows_have_in_common_are_bounded() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        X = rng.normal(size=(6, 2))
        rewards = rng.normal(size=(6, 3)) + rng.normal(scale=1e9, size=(6, 1))
        tree = OptimalPolicyTree(1).fit(X, rewards)
        assert tree.gap_ <= 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_labels_are_the_best_of_all_within_the_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_leaves, n_actions = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    least_rows = int(rng.choice([1, 1, 4]))
    share = Fraction(int(rng.integers(0, 5)), 4)
    leaves = Leaves(
        list(range(n_leaves)),
        rng.integers(0, 6, (n_leaves, n_actions)).tolist(),
        rng.integers(1, 5, n_leaves).tolist(),
        rng.integers(1, 4, n_leaves).tolist(),
    )
    budget = Budget(tuple(k > 0 for k in range(n_actions)), share)
    limits = ActionLimits((budget,), least_rows)
    target = LimitedRewards(np.zeros((1, n_actions)), integer_weights(None, 1), limits)
    best = None
    for labels in np.ndindex(*[n_actions] * n_leaves):
        given = sum(w for w, k in zip(leaves.weights, labels, strict=True) if k)
        rows = np.bincount(labels, leaves.rows, n_actions)
        if given <= share * sum(leaves.weights) and np.all((rows == 0) | (rows >= least_rows)):
            loss = sum(losses[k] for losses, k in zip(leaves.losses, labels, strict=True))
            best = loss if best is None else min(best, loss)
    found = labelled(leaves, target)
    assert (found is None) == (best is None)
    if found is not None:
        assert sum(losses[k] for losses, k in zip(leaves.losses, found, strict=True)) == best


@pytest.mark.parametrize("seed", range(40))
def test_a_value_is_the_exact_mean_and_never_above_its_bound(seed):
    rng = np.random.default_rng(seed)
    X, rewards = rng.normal(size=(30, 2)).round(1), rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-3, 9)
    weights = rng.random(30) if seed % 2 else np.ones(30)
    tree = OptimalPolicyTree(2).fit(X, rewards, weights)
    codes = tree.predict(X)
    told = [Fraction(repr(float(weight))) for weight in weights]
    value = sum(w * Fraction(float(row[code])) for w, row, code in zip(told, rewards, codes, strict=True)) / sum(told)
    assert tree.value_ == pytest.approx(float(value), rel=1e-15)
    assert tree.value_ <= tree.value_bound_
    assert Fraction(tree.value_bound_) >= value


def test_a_limit_ends_the_reading_of_long_rewards():
    rng = np.random.default_rng(0)
    X, rewards = rng.integers(0, 9, (100_000, 1)), rng.normal(size=(100_000, 3))
    with pytest.raises(TimeoutError, match=r"limit of 0\.02 s was reached while 100,000 rows"):
        OptimalPolicyTree(1, time_limit=0.02).fit(X, rewards)
