"""Sets of levels in the tree search: against enumeration, and against a column for each set."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import naive_tables
from proofwood.data.views import set_ranks
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.options import RULES
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Status


def tiny(seed):
    """A problem that enumeration can solve, and the integer price of a leaf."""
    rng = np.random.default_rng(seed)
    n, depth, n_classes = int(rng.integers(4, 17)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    by_sets = []
    columns = []
    for j in range(int(rng.integers(1, 4))):
        if rng.random() < 0.4:
            columns.append(rng.integers(0, 5, n))
        else:
            by_sets.append(j)
            columns.append(rng.integers(0, int(rng.integers(2, 7 if depth < 3 else 6)), n))
    weights = rng.integers(1, 4, n) if rng.random() < 0.5 else np.ones(n, dtype=int)
    price = int(rng.choice([0, 0, 1, 2]))
    problem = TreeProblem.from_arrays(
        np.column_stack(columns).astype(float),
        rng.integers(0, n_classes, n),
        sample_weight=weights.astype(float),
        max_depth=depth,
        alpha=Fraction(price, int(weights.sum())),
        by_sets=by_sets,
    )
    return replace(problem, sets_anywhere=int(rng.choice([2, 4, 12]))), weights.tolist(), price


def least_cost(problem, weights, price):
    """Cost of the best tree by enumeration of all tests of each node."""
    values = problem.X.astype(int)
    low, anywhere = set(), set()
    for j in range(problem.n_features):
        column = values[:, j].tolist()
        tests = naive_tables.set_tests(column) if j in problem.by_sets else naive_tables.numeric_tests(column)
        few = len(set(column)) <= max(2, problem.sets_anywhere)
        (anywhere if few or j not in problem.by_sets else low).update(tests)

    def leaf(rows):
        sums = [0] * problem.n_classes
        for row in rows:
            sums[problem.codes[row]] += weights[row]
        return sum(sums) - max(sums)

    @cache
    def best(rows, depth):
        cost = leaf(rows) if depth == 0 else best(rows, depth - 1)
        if depth == 0 or cost == 0:
            return cost
        for test in anywhere | low if depth <= 2 else anywhere:
            side = rows & test
            if side and side != rows:
                cost = min(cost, best(side, depth - 1) + best(rows - side, depth - 1) + price)
        return cost

    return best(frozenset(range(problem.n_rows)), problem.max_depth)


def some_rules_off(rng, *, share=0.4):
    return SearchOptions(**{rule: bool(rng.random() >= share) for rule in RULES})


@pytest.mark.parametrize("block", range(8))
def test_the_least_cost_over_all_sets(block):
    for seed in range(25 * block, 25 * block + 25):
        problem, weights, price = tiny(seed)
        expected = least_cost(problem, weights, price)
        rng = np.random.default_rng(seed)
        for options in (SearchOptions(), SearchOptions(depth_two=False), some_rules_off(rng)):
            events = []
            result = solve(problem, options=options, limits=Limits(threads=1 + seed % 2), progress=events.append)
            assert (result.objective, result.lower_bound, result.status) == (expected, expected, Status.OPTIMAL), seed
            assert float(problem.real_cost(result.model)) == expected, seed
            assert all(event.lower_bound <= expected <= event.objective for event in events), seed


def larger(seed):
    """A problem, and the same with a column for each set of levels, which thresholds alone solve."""
    rng = np.random.default_rng(seed)
    depth, n_classes = int(rng.choice([1, 2, 2, 3])), int(rng.choice([2, 2, 3, 6]))
    n = int(rng.integers(20, 400 if depth < 3 else 150))
    columns, expanded, by_sets, signal = [], [], [], np.zeros(n)
    for j in range(int(rng.integers(1, 5))):
        if j > 0 and rng.random() < 0.5:
            column = rng.integers(0, int(rng.choice([2, 5, 20, 1000])), n)
            signal += rng.normal() * 2 * column / (column.max() + 1)
            expanded.append(column)
        else:
            k = int(rng.integers(3, 8 if depth < 3 else 6))
            column = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
            signal += rng.normal(size=k)[column]
            by_sets.append(j)
            expanded += [ranks[column] for ranks in set_ranks(np.arange(k), np.unique(column), gaps=False)]
        columns.append(column)
    signal += rng.normal(size=n) * rng.choice([0.3, 1, 3])
    codes = np.searchsorted(np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]), signal)
    weights = [None, rng.integers(1, 5, n).astype(float), rng.integers(1, 2**31, n).astype(float)][seed % 3]
    given = {"sample_weight": weights, "max_depth": depth, "alpha": Fraction(int(rng.choice([0, 0, 5, 20])), 1000)}
    problem = TreeProblem.from_arrays(np.column_stack(columns), codes, by_sets=by_sets, **given)
    width = np.column_stack(expanded) if expanded else np.zeros((n, 1))
    return problem, TreeProblem.from_arrays(width, codes, n_classes=problem.n_classes, **given)


@pytest.mark.parametrize("block", range(4))
def test_sets_cost_what_a_column_for_each_set_does(block):
    for seed in range(20 * block, 20 * block + 20):
        problem, expanded = larger(seed)
        expected = solve(expanded).objective
        rng = np.random.default_rng(seed)
        for options in (SearchOptions(), some_rules_off(rng), SearchOptions(lanes=64, simd="baseline")):
            result = solve(problem, options=options)
            assert (result.objective, result.lower_bound) == (expected, expected), seed
            assert float(problem.real_cost(result.model)) == expected, seed


@pytest.mark.parametrize("seed", range(16))
def test_a_gap_is_honoured(seed):
    problem, expanded = larger(seed)
    optimum = solve(expanded).objective
    total = float(problem.real_weights.sum())
    result = solve(replace(problem, max_gap=problem.cost.gap_units(0.05)))
    assert result.lower_bound <= optimum <= result.objective <= result.lower_bound + 0.05 * total * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_neither_row_order_nor_repeated_rows_nor_threads_change_the_tree(seed):
    problem, _ = larger(3 * seed)  # without weights
    rng = np.random.default_rng(seed)
    rows = rng.permutation(problem.n_rows)
    given = {"max_depth": problem.max_depth, "by_sets": problem.by_sets, "n_classes": problem.n_classes}
    twice = TreeProblem.from_arrays(problem.X, problem.codes, sample_weight=np.full(problem.n_rows, 2.0), **given)
    shuffled = TreeProblem.from_arrays(
        np.vstack([problem.X[rows], problem.X]), np.append(problem.codes[rows], problem.codes), **given
    )
    one, other = solve(twice).model, solve(shuffled, limits=Limits(threads=2)).model
    assert one.feature.tolist() == other.feature.tolist()
    assert np.array_equal(one.threshold, other.threshold, equal_nan=True)
    assert one.levels == other.levels


def test_a_search_that_is_stopped_has_a_bound_that_holds():
    rng = np.random.default_rng(1)
    n = 3000
    X = np.column_stack([rng.integers(0, 12, n) for _ in range(6)] + [rng.normal(size=n) for _ in range(4)])
    codes = rng.integers(0, 2, n)
    problem = TreeProblem.from_arrays(X, codes, max_depth=4, by_sets=range(6))
    events = []
    result = solve(problem, limits=Limits(seconds=0.5), progress=events.append)
    assert result.stats.stopped_by == "time_limit"
    assert result.status is Status.FEASIBLE
    assert result.lower_bound < result.objective == float(problem.real_cost(result.model))
    shallow = solve(replace(problem, max_depth=2))
    assert result.lower_bound <= shallow.objective
    for earlier, later in pairwise(events):
        assert earlier.objective >= later.objective
        assert earlier.lower_bound <= later.lower_bound


def test_many_levels_at_depth_two():
    """Sixty levels and a hundred labels each: the best split of two halves is known by construction."""
    rng = np.random.default_rng(0)
    level = np.repeat(np.arange(60), 20)
    value = np.tile(np.arange(20.0), 60)
    low = np.isin(level, rng.permutation(60)[:31])
    codes = np.where(low, value > 6, value <= 12).astype(int)
    problem = TreeProblem.from_arrays(np.column_stack([level, value]), codes, max_depth=2, by_sets=[0])
    result = solve(problem)
    assert result.objective == result.lower_bound == 0
    root = frozenset(np.unique(level[low]).tolist())
    assert result.model.levels[0] in (root, frozenset(range(60)) - root)


def test_more_levels_than_a_search_takes_are_refused():
    X = np.arange(65.0)[:, None]
    problem = TreeProblem.from_arrays(X, np.arange(65) % 2, max_depth=1, by_sets=[0])
    with pytest.raises(ValueError, match=r"65 levels, expected at most 64"):
        solve(problem)


def test_a_minimum_of_leaves_is_refused():
    X = np.arange(4.0)[:, None]
    problem = TreeProblem.from_arrays(X, np.arange(4) % 2, max_depth=1, by_sets=[0], min_samples_leaf=2)
    with pytest.raises(ValueError, match="without a minimum"):
        solve(problem)
