"""Fronts by leaves: every number of leaves by brute force, with leaf minima, stops, threads and switches of rules."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import naive
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees import front as front_module
from proofwood.engines.trees.front import MOST_LEAVES, Front, most_leaves, solve_front, solve_leaves
from proofwood.problem.targets import Numbers
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Status

RULES = ("similarity", "interval_shrinking", "sub_interval", "depth_two", "coarse", "cache", "feature_bounds")


def a_problem(rng: np.random.Generator, **limits: Any) -> TreeProblem:
    n_rows, n_classes = int(rng.integers(3, 13)), int(rng.integers(2, 5))
    X = rng.integers(0, int(rng.integers(2, 9)), (n_rows, int(rng.integers(1, 4)))).astype(float)
    weights = rng.integers(1, 6, n_rows) if rng.random() < 0.5 else None
    codes = rng.integers(0, n_classes, n_rows)
    given = {"max_depth": int(rng.integers(0, 5))} | limits
    return TreeProblem.from_arrays(X, codes, n_classes=n_classes, sample_weight=weights, **given)


def checked(problem: TreeProblem, front: Front) -> None:
    """Every tree has the leaves and the depth that it may have, and the cost that is told."""
    for tree in front.trees:
        assert tree.model.n_leaves <= tree.leaves
        assert tree.model.depth <= problem.depth
        assert problem.target.integer_loss(tree.model, problem.X, problem.weights) == tree.upper
        assert tree.lower <= tree.upper


@pytest.mark.parametrize("minimum", [{}, {"min_samples_leaf": 2}, {"min_weight_fraction_leaf": 0.2}])
@pytest.mark.parametrize("threads", [1, 2])
def test_each_number_of_leaves_by_brute_force(minimum: dict[str, Any], threads: int) -> None:
    rng = np.random.default_rng(threads)
    for _ in range(60):
        problem = a_problem(rng, **minimum)
        rules = SearchOptions(**{name: bool(rng.random() < 0.7) for name in RULES})
        front = solve_front(problem, options=rules, limits=Limits(threads=threads))
        checked(problem, front)
        costs = naive.front(problem, most_leaves(problem.depth))
        assert [tree.upper for tree in front.trees] == costs
        assert [tree.lower for tree in front.trees] == costs


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_changes_a_front(rule: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(15):
        problem = a_problem(rng, max_depth=3)
        both = [solve_front(problem, options=SearchOptions(**{rule: on})) for on in (True, False)]
        assert len({tuple((tree.upper, tree.lower) for tree in front.trees) for front in both}) == 1


@pytest.mark.parametrize("depth", [3, 4])
def test_costs_may_be_great(depth: int) -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        small = a_problem(rng, max_depth=depth)
        large = replace(small, weights=small.weights << 35)
        checked(large, front := solve_front(large))
        assert [tree.upper for tree in front.trees] == [cost << 35 for cost in naive.front(small, most_leaves(depth))]


def test_the_best_tree_of_few_leaves_with_a_price() -> None:
    rng = np.random.default_rng(7)
    for _ in range(80):
        problem = a_problem(rng, alpha=float(rng.choice([0, 0.02, 0.1])))
        leaves = int(rng.integers(1, most_leaves(problem.depth) + 1))
        result = solve_leaves(problem, leaves)
        costs = naive.front(problem, leaves)
        price, error = problem.cost.leaf_price, problem.cost.error_price
        best = min(error * cost + price * place for place, cost in enumerate(costs))
        assert result.model is not None
        assert result.status is Status.OPTIMAL
        assert result.model.n_leaves <= leaves
        assert problem.integer_cost(result.model) == best


@pytest.mark.parametrize("rule", [None, *RULES])
def test_the_best_tree_at_each_of_several_prices(rule: str | None) -> None:
    rng = np.random.default_rng(11)
    options = SearchOptions() if rule is None else SearchOptions(**{rule: False})
    for k in range(60 if rule is None else 8):
        problem = a_problem(rng, max_depth=int(rng.integers(1, 4)))
        prices = [Fraction(int(rng.integers(0, 40)), int(rng.integers(1, 9))) for _ in range(rng.integers(1, 5))]
        if k % 10 == 9:  # of too many digits for whole numbers: every number of leaves is searched
            prices.append(Fraction(1, 2**60 + 1))
        front = solve_front(problem, prices=prices, options=options, limits=Limits(threads=1 + k % 2))
        checked(problem, front)
        costs = naive.front(problem, len(front.trees))
        for price in prices:
            best = min(cost + price * place for place, cost in enumerate(costs))
            assert min(tree.upper + price * (tree.leaves - 1) for tree in front.trees) == best
            assert min(tree.lower + price * (tree.leaves - 1) for tree in front.trees) == best


def test_the_last_tree_is_that_of_the_search_without_leaves() -> None:
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    problem = TreeProblem.from_arrays(X, codes, max_depth=3)
    front, plain = solve_front(problem), solve(problem)
    checked(problem, front)
    assert plain.model is not None
    assert front.trees[-1].upper == front.trees[-1].lower == problem.integer_cost(plain.model)


def test_a_stop_leaves_trees_and_bounds() -> None:
    rng = np.random.default_rng(4)
    X, codes = rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000)
    problem = TreeProblem.from_arrays(X, codes, max_depth=4)
    began = time.monotonic()
    front = solve_front(problem, limits=Limits(seconds=0.3))
    assert time.monotonic() - began < 5
    checked(problem, front)
    assert front.stats.stopped_by == "time_limit"
    assert front.trees[0].upper == front.trees[0].lower
    whole = solve_front(TreeProblem.from_arrays(X[:, :1], codes, max_depth=1))
    assert all(tree.lower <= whole.trees[1].upper for tree in front.trees[1:])
    cut = solve_leaves(problem, 9, limits=Limits(seconds=0.2))
    assert cut.status is Status.FEASIBLE
    assert cut.lower_bound < cut.objective


@pytest.mark.parametrize("kind", ["classes", "prices", "price", "squares"])
def test_what_a_stopped_front_did_not_reach_is_bounded_by_one_tree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the time had come before the last depth: nothing is known of more leaves than three."""

    def stopped(problem: TreeProblem, wish: dict[str, Any], *rest: Any, **more: Any) -> dict[str, Any]:
        assert wish["patience"] == 0.8 * 60
        found = native(problem, wish, *rest, **more)
        base = min(found["lower"])
        lower = [bound if place < 3 else min(base, 0) for place, bound in enumerate(found["lower"])]
        return found | {"stopped": 1, "bounds_most": False, "lower": lower}

    native = front_module._native_front
    monkeypatch.setattr(front_module, "_native_front", stopped)
    rng = np.random.default_rng(17)
    reached = 0
    for _ in range(40):
        problem = a_problem(rng, max_depth=int(rng.integers(2, 5)), alpha=0.05 if kind == "price" else 0.0)
        most, limits = most_leaves(problem.depth), Limits(60)
        if kind == "squares":
            problem = TreeProblem.by_sums(problem.X, problem.codes.astype(float), Numbers, max_depth=problem.depth)
            whole = solve(problem)
            front = solve_front(problem, limits=limits)
            checked(problem, front)
            assert front.problem.cost.least(front.trees[-1].lower) <= whole.objective
            reached += front.trees[-1].lower > 0
            continue
        costs = naive.front(problem, most)
        if kind == "price":
            result = solve_leaves(problem, most, limits=limits)
            price, error = problem.cost.leaf_price, problem.cost.error_price
            best = min(error * cost + price * place for place, cost in enumerate(costs))
            assert result.lower_bound <= float(problem.cost.in_weight(best))
            reached += result.lower_bound > 0
            continue
        front = solve_front(problem, prices=[Fraction(1, 3)] if kind == "prices" else (), limits=limits)
        checked(problem, front)
        assert all(tree.lower <= cost for tree, cost in zip(front.trees, costs, strict=True))
        assert all(tree.lower >= costs[-1] for tree in front.trees)
        reached += costs[-1] > 0
    assert reached > 5


def test_a_front_leaves_time_for_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_module, "PATIENCE", 0.0)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2500, 8))
    codes = (X[:, 0] * X[:, 1] + rng.normal(size=2500) > 0).astype(int)
    front = solve_front(TreeProblem.from_arrays(X, codes, max_depth=4), limits=Limits(seconds=5))
    assert front.stats.stopped_by == "time_limit"
    assert 0 < front.trees[-1].lower < front.trees[-1].upper
    assert front.trees[4].lower == front.trees[-1].lower  # depth three was not finished


def test_a_lone_leaf_is_proved_whatever_the_time() -> None:
    rng = np.random.default_rng(4)
    front = solve_front(TreeProblem.from_arrays(rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000)), limits=Limits(0))
    assert front.trees[0].lower == front.trees[0].upper > 0


def test_what_is_not_searched_is_refused() -> None:
    X, codes = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    with pytest.raises(ValueError, match="columns that are not tested by sets"):
        solve_front(TreeProblem.from_arrays(X, codes, by_sets=[0]))
    numbers = TreeProblem.by_sums(X, codes, Numbers)
    assert len(solve_front(numbers).trees) == 8
    with pytest.raises(ValueError, match="fronts for some prices are of classes"):
        solve_front(numbers, prices=[Fraction(1)])
    with pytest.raises(ValueError, match=f"expected an integer from 1 to {MOST_LEAVES}"):
        solve_front(TreeProblem.from_arrays(X, codes), MOST_LEAVES + 1)
