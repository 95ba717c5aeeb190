"""Near-optimal sets against literal enumeration: counts, each tree, columns, rows; every rule on and off."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from naive_near import as_tree, columns_of, decisions, plain, trees_and_costs
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.near import NearTrees
from proofwood.model.evaluate import predict
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits

SWITCHES = ("similarity", "interval_shrinking", "sub_interval", "feature_bounds", "cache")


def drawn(rng: np.random.Generator) -> TreeProblem:
    """A tiny problem: ties, repeated and turned columns, weights, prices, minima, two or three classes."""
    depth = int(rng.choice([0, 1, 2, 2, 3, 3]))
    rows, columns = int(rng.integers(2, 10 if depth == 3 else 13)), int(rng.integers(1, 3 if depth == 3 else 4))
    classes = int(rng.integers(2, 4))
    X = rng.integers(0, rng.integers(2, 8), (rows, columns)).astype(float)
    if columns > 1 and rng.random() < 0.3:
        X[:, 1] = X[:, 0] * rng.choice([1, -1])
    weights = [None, rng.integers(1, 5, rows) * 1.0, rng.integers(1, 5, rows) * 30_000.0, rng.integers(1, 4, rows) / 8]
    minima: list[dict[str, Any]] = [{}, {}, {"min_samples_leaf": 2}, {"min_weight_fraction_leaf": 0.2}]
    return TreeProblem.from_arrays(
        X,
        rng.integers(0, classes, rows),
        n_classes=classes,
        sample_weight=weights[int(rng.integers(4))],
        max_depth=depth,
        alpha=float(rng.choice([0, 0, 0.05, 0.13, 0.3])),
        **minima[int(rng.integers(4))],
    )


def options_of(rng: np.random.Generator) -> SearchOptions:
    switches = {name: bool(rng.random() < 0.7) for name in SWITCHES}
    simd, lanes = str(rng.choice(["auto", "baseline"])), int(rng.choice([0, 32, 64]))
    return SearchOptions(simd=simd, lanes=lanes, **switches)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", range(8))
def test_a_set_is_what_enumeration_finds(part: int) -> None:
    rng = np.random.default_rng(part)
    seen = 0
    for _ in range(25):
        problem = drawn(rng)
        given = plain(problem)
        every = trees_and_costs(problem, given, problem.max_depth)
        best = min(every.values())
        scale = problem.cost.error_price
        budget = best + int(rng.choice([-1, 0, scale, 2 * scale, 3 * scale, problem.cost.leaf_price, 2**40]))
        expected = {tree: cost for tree, cost in every.items() if cost <= budget}
        if len(expected) > 1500:
            continue
        kept = int(rng.choice([0, 400, 2**28]))
        near = NearTrees.of(problem, budget, options=options_of(rng), kept_bytes=kept)
        assert near.exact
        assert near.stopped_by is None
        assert near.count == len(expected)
        assert list(near.tally) == sorted(set(expected.values()))
        assert all(near.tally[cost] == list(expected.values()).count(cost) for cost in near.tally)
        order = rng.permutation(near.count).tolist()
        tables = [near.table_of(tests) for tests in near.read(order)]
        for number, table in zip(order, tables, strict=True):  # each is recounted
            assert problem.integer_cost(table) == near.cost_of(number)
        assert {as_tree(table, given, problem.n_rows): problem.integer_cost(table) for table in tables} == expected
        columns = range(problem.n_features)
        assert list(near.column_use().at_least) == [
            sum(column in columns_of(tree) for tree in expected) for column in columns
        ]
        new = np.vstack([problem.X, rng.integers(-2, 16, (3, problem.n_features)) / 2])
        assert np.array_equal(near.decisions(new).found, decisions(expected, problem, given, new))
        different = {predict(table, problem.X).tobytes() for table in tables}
        assert len(set(near.prints(order))) == len(different)
        seen += near.count
    assert seen > 25


def by_prefix(problem: TreeProblem, budget: int) -> int:
    """Trees of depth two by counts along each column, for problems that fill the lanes of the kernels."""
    X, codes, weights = problem.X, problem.codes, problem.weights
    price = problem.cost.leaf_price

    def weigh(rows: Any) -> int:
        of_class = np.bincount(codes[rows], weights[rows], problem.n_classes)
        return problem.cost.error_price * int(of_class.sum() - of_class.max())

    def cuts(rows: Any) -> list[Any]:
        values = (np.unique(X[rows, column]) for column in range(X.shape[1]))
        return [(rows & (X[:, c] <= a), rows & (X[:, c] > a)) for c, v in enumerate(values) for a, _ in pairwise(v)]

    def shallow(rows: Any) -> list[int]:
        one = weigh(rows)
        two = [weigh(low) + weigh(high) for low, high in cuts(rows)]
        return [one, *(errors + price for errors in two if errors < one)]

    every = np.ones(len(codes), dtype=bool)
    count = int(weigh(every) <= budget)
    for low, high in cuts(every):
        sums = np.add.outer(shallow(low), shallow(high)) + price
        count += int(np.count_nonzero(sums <= budget))
        count -= int(weigh(low) + weigh(high) >= weigh(every) and sums[0, 0] <= budget)
    return count


@pytest.mark.parametrize(
    ("classes", "alpha", "largest"), [(2, 0, 1), (2, 0.02, 1), (4, 0, 1), (3, 0.02, 1), (2, 0, 9000)]
)
def test_many_rows_are_counted_alike_by_every_kernel(classes: int, alpha: float, largest: int) -> None:
    rng = np.random.default_rng(classes)
    X = np.round(rng.random((70, 3)), 2)
    codes = (X[:, 0] * classes + rng.normal(0, 0.6, 70)).clip(0, classes - 1).astype(int)
    weights = rng.integers(1, largest + 1, 70) * 1.0
    problem = TreeProblem.from_arrays(X, codes, n_classes=classes, max_depth=2, alpha=alpha, sample_weight=weights)
    model = solve(problem).model
    assert model is not None
    budget = problem.integer_cost(model) + 3 * problem.cost.error_price * largest
    expected = by_prefix(problem, budget)
    assert expected > 1
    for simd in ("auto", "baseline"):
        for lanes in (0, 32, 64):
            options = SearchOptions(simd=simd, lanes=lanes)  # type: ignore[arg-type]
            assert NearTrees.of(problem, budget, options=options).count == expected


def test_more_than_32767_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (40_000, 2)).astype(float)
    codes = ((X[:, 0] > 2) ^ (rng.random(40_000) < 0.2)).astype(int)
    small = np.unique(np.column_stack([X, codes]), axis=0, return_counts=True)
    problem = TreeProblem.from_arrays(X, codes, max_depth=2)
    grouped = TreeProblem.from_arrays(
        small[0][:, :2], small[0][:, 2].astype(int), max_depth=2, sample_weight=small[1].astype(float)
    )
    model = solve(problem).model
    assert model is not None
    budget = problem.integer_cost(model) + 40
    near = NearTrees.of(problem, budget)
    assert near.tally == NearTrees.of(grouped, budget).tally
    assert near.count == by_prefix(grouped, budget) > 1


def test_a_limit_leaves_what_was_found() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((3000, 6))
    problem = TreeProblem.from_arrays(X, (X[:, 0] + rng.normal(0, 0.3, 3000) > 0.5).astype(int), max_depth=3)
    model = solve(problem).model
    assert model is not None
    best = problem.integer_cost(model)
    near = NearTrees.of(problem, best + 60, limits=Limits(seconds=1.0))
    assert not near.exact
    assert near.stopped_by == "time_limit"
    for number in range(min(near.count, 20)):
        table = near.table_of(near.read([number])[0])
        assert problem.integer_cost(table) == near.cost_of(number) <= best + 60


def of_many_costs(rows: int, share: float) -> tuple[TreeProblem, int]:
    """A problem in which most trees have a cost of their own, and a budget."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 3))
    codes = ((X[:, 0] > 0.5) ^ (rng.random(rows) < 0.3)).astype(int)
    weights = rng.integers(1, 10**6, rows)
    problem = TreeProblem.from_arrays(X, codes, max_depth=3, sample_weight=weights * 1.0)
    model = solve(problem).model
    assert model is not None
    return problem, problem.integer_cost(model) + int(share * weights.sum()) * problem.cost.error_price


def test_the_count_of_many_costs_keeps_to_the_limit() -> None:
    problem, budget = of_many_costs(300, 0.03)
    near = NearTrees.of(problem, budget, limits=Limits(seconds=0.5))
    assert near.found.seconds < 5
    assert not near.exact
    assert near.count == sum(near.tally.values())
    for number in (0, near.count // 2, near.count - 1) if near.count else ():
        table = near.table_of(near.read([number])[0])
        assert problem.integer_cost(table) == near.cost_of(number) <= budget


def test_a_set_is_exact_if_and_only_if_it_is_whole() -> None:
    problem, budget = of_many_costs(120, 0.04)
    whole = NearTrees.of(problem, budget)
    assert whole.exact
    for share in (0.5, 0.75):
        part = NearTrees.of(problem, budget, limits=Limits(seconds=share * whole.found.seconds))
        assert part.exact == (part.tally == whole.tally)
        assert part.stopped_by == (None if part.exact else "time_limit")
        assert all(trees <= whole.tally[cost] for cost, trees in part.tally.items())
        use = part.column_use()
        assert use.at_least == use.at_most  # what is read is what is counted


def test_the_use_of_columns_by_many_stumps_keeps_to_the_limit() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((10_000, 60))
    codes = ((X[:, 0] > 0.5) ^ (rng.random(10_000) < 0.3)).astype(int)
    problem = TreeProblem.from_arrays(X, codes, max_depth=1, sample_weight=rng.integers(1, 10**6, 10_000) * 1.0)
    near = NearTrees.of(problem, 2**45)
    started = time.monotonic()
    use = near.column_use(0.2)
    assert time.monotonic() - started < 3
    assert all(0 <= least <= most for least, most in zip(use.at_least, use.at_most, strict=True))


def test_what_cannot_be_counted() -> None:
    problem = TreeProblem.from_arrays([[0.0], [1.0]], [0, 1], max_depth=4)
    with pytest.raises(ValueError, match="up to a depth of 3"):
        NearTrees.of(problem, 0)
    with pytest.raises(ValueError, match="not over sets of levels"):
        NearTrees.of(replace(problem, max_depth=3, by_sets=(0,)), 0)
    near = NearTrees.of(replace(problem, max_depth=3), 0)
    assert near.count == 1
    with pytest.raises(IndexError, match="from 0 to 0"):
        near.read([1])
