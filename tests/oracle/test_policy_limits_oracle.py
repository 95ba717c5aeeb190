"""Policies under budgets and least rows against every tree with every labelling, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from proofwood import OptimalPolicyTree
from proofwood.model.node_table import LEAF
from proofwood.problem.objectives import integer_weights, simple_fraction
from proofwood.problem.targets import Rewards
from proofwood.result import Status
from tests.naive_policies import NaivePolicies

pytestmark = pytest.mark.filterwarnings("ignore:.*a gap that prices leave:proofwood.OptimalityWarning")
SHARES = (0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 1.0)


def some_rewards(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Rewards of few digits, of all digits, and of rows that have much in common."""
    kind = int(rng.integers(4))
    if kind == 0:
        return rng.integers(0, 4, shape)
    if kind == 1:
        return rng.integers(-50, 50, shape) / 10
    if kind == 2:
        return rng.normal(size=shape)
    return rng.normal(size=shape) + rng.normal(scale=1e6, size=(shape[0], 1))


def some_weights(rng: np.random.Generator, n_rows: int) -> Any:
    """No weights, whole ones, decimals, and float64 of all digits."""
    kind = int(rng.integers(5))
    if kind < 2:
        return None
    if kind == 2:
        return rng.integers(1, 5, n_rows)
    return rng.integers(1, 30, n_rows) / 10 if kind == 3 else rng.uniform(0.01, 3, n_rows)


def some_budget(rng: np.random.Generator, n_actions: int) -> Any:
    kind = int(rng.integers(5))
    if kind < 2:
        return float(rng.choice(SHARES))
    if kind == 2:
        return {int(rng.integers(n_actions)): float(rng.choice(SHARES))}
    if kind == 3:
        return {
            int(k): float(rng.choice(SHARES)) for k in rng.permutation(n_actions)[: int(rng.integers(1, n_actions))]
        }
    return None


def masks_of(budget: Any, n_actions: int) -> list[tuple[list[bool], float]]:
    """The actions of each budget, and its share."""
    if budget is None:
        return []
    if isinstance(budget, dict):
        return [([k == place for k in range(n_actions)], share) for place, share in budget.items()]
    return [([k > 0 for k in range(n_actions)], budget)]


def check(seed: int) -> Status:
    """Compare one random problem."""
    rng = np.random.default_rng(seed)
    n_actions, depth = int(rng.integers(2, 5)), int(rng.choice([0, 1, 1, 2]))
    n_rows = int(rng.integers(1, 14 if depth < 2 else (8 if n_actions < 4 else 6)))
    X = rng.integers(0, rng.choice([3, 100]), (n_rows, int(rng.integers(1, 3)))).astype(float)
    rewards, weights = some_rewards(rng, (n_rows, n_actions)), some_weights(rng, n_rows)
    budget = some_budget(rng, n_actions)
    given: dict[str, Any] = {
        "alpha": float(rng.choice([0, 0, 0.02, 0.3])),
        "min_samples_leaf": int(rng.choice([1, 1, 2])),
        "budget": budget,
        "min_samples_action": int(rng.choice([1, 1, 2, 3])) if n_rows > 3 else 1,
    }
    tree = OptimalPolicyTree(depth, **given, time_limit=None).fit(X, rewards, sample_weight=weights)
    read = Rewards(np.asarray(rewards, dtype=np.float64), integer_weights(weights, n_rows))
    numbers, unit, zero = read.exactly
    exactly = [[(int(value) + zero) * unit for value in row] for row in numbers.tolist()]
    sizes = [int(value) * read.exact_weights[1] for value in read.exact_weights[0].tolist()]
    total = sum(sizes, Fraction(0))
    budgets = [(mask, simple_fraction(share) * total) for mask, share in masks_of(budget, n_actions)]
    naive = NaivePolicies(
        X, exactly, sizes, Fraction(0), given["min_samples_leaf"], budgets, given["min_samples_action"]
    )
    limited = [mask for mask, most in budgets if most < total]
    free = [k for k in range(n_actions) if not any(mask[k] for mask in limited)]
    rows = list(range(n_rows))
    price = simple_fraction(given["alpha"]) * min(naive.lost(rows, k) for k in free)
    naive = NaivePolicies(X, exactly, sizes, price, given["min_samples_leaf"], budgets, given["min_samples_action"])
    least = naive.best(depth)
    assert least is not None
    best = sum((w * max(row) for w, row in zip(sizes, exactly, strict=True)), Fraction(0))
    assert Fraction(tree.value_bound_) >= (best - least) / total
    table, leaf = tree.model_, tree.apply(X)
    labels = [int(table.label[node]) for node in leaf]
    weight = tuple(
        sum((w for w, k in zip(sizes, labels, strict=True) if k == j), Fraction(0)) for j in range(n_actions)
    )
    assert naive.keeps((weight, tuple(labels.count(j) for j in range(n_actions))))
    assert np.all(table.rows[table.feature == LEAF] >= given["min_samples_leaf"]) or table.n_leaves == 1
    lost = sum((naive.lost([i], k) for i, k in zip(rows, labels, strict=True)), Fraction(0))
    cost = lost + price * (table.n_leaves - 1)
    assert tree.objective_ == tree.recount(X, rewards, weights)
    assert abs(Fraction(tree.objective_) - cost) <= cost / 2**52
    assert least <= cost
    if tree.status_ is Status.OPTIMAL:
        assert least == cost
    value = (best - lost) / total
    assert abs(Fraction(tree.value_) - value) <= abs(value) / 10**9 + Fraction(1, 10**9)
    return tree.status_


@pytest.mark.parametrize("part", range(8))
def test_no_tree_within_the_limits_is_above_the_bound_and_the_tree_keeps_them(part: int) -> None:
    statuses = {check(1000 * part + seed) for seed in range(12)}
    assert Status.OPTIMAL in statuses
