"""Trees of every depth whose leaves have a price, against brute force: each rule on and off."""

import numpy as np
import pytest

from proofwood import _native
from proofwood.engines.trees import solve
from proofwood.engines.trees.options import SearchOptions
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Status

OF_ANY_DEPTH = ("priced", "split_off", "dominated", "three_leaves")
RULES = (*OF_ANY_DEPTH, "similarity", "cache", "affordable", "packed", "merge_rows")


def best_tree(problem):
    """Cost, depth and splits of the best tree of least depth, then of the first test, by all trees."""
    X, y, weights, cost = problem.X, problem.codes, problem.weights, problem.cost
    tests = [(f, value) for f in range(X.shape[1]) for value in np.unique(X[:, f])[:-1]]
    known = {}

    def best(rows):
        key = rows.tobytes()
        if key not in known:
            of_class = np.bincount(y[rows], weights[rows], problem.n_classes)
            known[key] = (int(cost.error_price * (of_class.sum() - of_class.max())), 0, None)
            for f, value in tests:
                low, high = rows & (X[:, f] <= value), rows & (X[:, f] > value)
                if min(low.sum(), high.sum()) < problem.min_samples_leaf:
                    continue
                if min(weights[low].sum(), weights[high].sum()) < problem.min_leaf_weight:
                    continue
                (low_cost, low_depth, _), (high_cost, high_depth, _) = best(low), best(high)
                found = (low_cost + high_cost + cost.leaf_price, 1 + max(low_depth, high_depth))
                if found < known[key][:2]:
                    known[key] = (*found, (f, value))
        return known[key]

    def splits(rows):
        f, value = known[rows.tobytes()][2] or (-1, 0.0)
        return () if f < 0 else (f, value, splits(rows & (X[:, f] <= value)), splits(rows & (X[:, f] > value)))

    everything = np.ones(problem.n_rows, dtype=bool)
    return *best(everything)[:2], splits(everything)


def splits_of(table, X, node=0, rows=None):
    """The splits of a tree, each by the largest value of its low side."""
    rows = np.ones(len(X), dtype=bool) if rows is None else rows
    f = int(table.feature[node])
    if f < 0:
        return ()
    low = rows & (X[:, f] <= table.threshold[node])
    high = rows & (X[:, f] > table.threshold[node])
    below = (splits_of(table, X, table.low[node], low), splits_of(table, X, table.high[node], high))
    return (f, X[low, f].max(), *below)


def random_problem(rng, max_depth=None):
    n_classes, n_levels = int(rng.choice([1, 2, 2, 2, 3, 3])), int(rng.choice([2, 2, 3, 6]))
    n, p = (int(rng.integers(2, 24)), int(rng.integers(1, 6))) if n_levels == 2 else (int(rng.integers(2, 13)), 2)
    X = rng.integers(0, n_levels, (n, p)).astype(float)
    codes = rng.integers(0, n_classes, n)
    if rng.random() < 0.4 and n_classes == 2 and p > 1:  # deep trees are worth their price
        codes = np.where(rng.random(n) < 0.1, codes, (X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    given = {"sample_weight": rng.integers(1, int(rng.choice([3, 300, 3000])), n)} if rng.random() < 0.5 else {}
    if rng.random() < 0.25:
        given["min_samples_leaf"] = int(rng.integers(2, 5))
    if rng.random() < 0.15:
        given["min_weight_fraction_leaf"] = float(rng.random() * 0.2)
    alpha = float(rng.choice([0.001, 0.01, 0.03, 0.05, 0.1, 1 / n, 0.5 / n]))
    return TreeProblem.from_arrays(X, codes, n_classes=n_classes, alpha=alpha, max_depth=max_depth, **given)


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_is_the_best_of_every_depth_and_the_first_of_these(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        problem = random_problem(rng)
        cost, _, splits = best_tree(problem)
        off = {rule: False for rule in RULES if rng.random() < 0.3}
        for options in (SearchOptions(), SearchOptions(**off, simd=str(rng.choice(_native.instruction_sets())))):
            result = solve(problem, options=options, limits=Limits(threads=int(rng.choice([1, 2]))))
            assert result.status is Status.OPTIMAL
            assert problem.integer_cost(result.model) == cost, off
            assert splits_of(result.model, problem.X) == splits, off


@pytest.mark.parametrize("seed", range(3))
def test_a_large_depth_gives_the_tree_of_no_depth_where_that_is_no_deeper(seed):
    rng = np.random.default_rng(100 + seed)
    for _ in range(20):
        free = random_problem(rng)
        _, depth, splits = best_tree(free)
        for max_depth in (5, max(5, depth)):
            problem = TreeProblem(
                X=free.X,
                target=free.target,
                weights=free.weights,
                cost=free.cost,
                max_depth=max_depth,
                min_samples_leaf=free.min_samples_leaf,
                min_leaf_weight=free.min_leaf_weight,
            )
            result = solve(problem)
            other = solve(problem, options=SearchOptions(priced=False))
            assert result.objective == other.objective
            assert splits_of(result.model, free.X) == splits_of(other.model, free.X)
            if max_depth >= depth:
                assert splits_of(result.model, free.X) == splits


def parity(n_columns=6):
    """All rows of 0/1 columns; the class is their parity, so that only a tree of that depth has no error."""
    X = np.array(np.meshgrid(*[[0.0, 1.0]] * n_columns)).reshape(n_columns, -1).T
    return X, (X.sum(axis=1) % 2).astype(int)


def test_a_tree_that_is_deeper_than_permitted_is_a_bound_only():
    X, codes = parity()
    free = TreeProblem.from_arrays(X, codes, alpha=0.001, max_depth=None)
    assert solve(free).model.depth == 6
    assert solve(free).objective == pytest.approx(63 * 0.064)
    flat = TreeProblem.from_arrays(X, codes, alpha=0.001, max_depth=5)
    result = solve(flat)
    assert result.status is Status.OPTIMAL
    assert result.model.depth <= 5
    assert result.objective == solve(flat, options=SearchOptions(priced=False)).objective == 32.0


def noise(n=400, p=90, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (n, p)).astype(float), rng.integers(0, 2, n)


def test_the_bound_of_a_search_that_stops_is_that_of_depths_at_least():
    X, codes = noise()
    problem = TreeProblem.from_arrays(X, codes, alpha=0.01, max_depth=None)
    result = solve(problem, limits=Limits(seconds=1.5))
    assert result.stats.stopped_by == "time_limit"
    assert result.stats.seconds < 2.5
    # a tree of depth 2 at most costs as much as the best one, a deeper one has three splits
    shallow = solve(TreeProblem.from_arrays(X, codes, alpha=0.01, max_depth=2)).objective
    assert min(shallow, 3 * 4.0) <= result.lower_bound <= result.objective <= shallow
    assert result.objective == problem.cost.shown(problem.real_cost(result.model))


def test_thousands_of_thresholds_are_searched_depth_by_depth():
    rng = np.random.default_rng(3)
    X = rng.random((600, 5))
    codes = (X[:, 0] > 0.4) ^ (X[:, 1] > 0.7) ^ (rng.random(600) < 0.02)
    problem = TreeProblem.from_arrays(X, codes.astype(int), alpha=0.03, max_depth=None)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    deep = solve(TreeProblem.from_arrays(X, codes.astype(int), alpha=0.03, max_depth=8))
    assert result.objective == deep.objective
    assert splits_of(result.model, X) == splits_of(deep.model, X)
    stopped = solve(problem, limits=Limits(seconds=0.02))
    assert stopped.lower_bound <= result.objective <= stopped.objective


def test_a_gap_and_a_start_are_kept():
    X, codes = noise(120, 10)
    exact = solve(TreeProblem.from_arrays(X, codes, alpha=0.02, max_depth=None))
    near = solve(TreeProblem.from_arrays(X, codes, alpha=0.02, max_depth=None, max_gap=0.05))
    assert near.lower_bound <= exact.objective <= near.objective <= near.lower_bound + 6
    problem = TreeProblem.from_arrays(X, codes, alpha=0.02, max_depth=None)
    again = solve(problem, start=near.model)
    assert splits_of(again.model, X) == splits_of(exact.model, X)


def test_a_checkpoint_keeps_the_bound_and_the_tree(tmp_path):
    X, codes = noise()
    problem = TreeProblem.from_arrays(X, codes, alpha=0.01, max_depth=None)
    with SearchFile(tmp_path / "state", {"model": "tree"}) as file:
        first = solve(problem, limits=Limits(seconds=0.5), checkpoint=file)
    with SearchFile(tmp_path / "state", {"model": "tree"}) as file:
        second = solve(problem, limits=Limits(seconds=0.2), checkpoint=file)
    assert second.lower_bound >= first.lower_bound
    assert second.objective <= first.objective


def test_without_a_price_that_counts_there_is_no_such_problem():
    with pytest.raises(ValueError, match="pass alpha"):
        TreeProblem.from_arrays(np.eye(4), [0, 1, 0, 1], alpha=0.0, max_depth=None)
    weights = np.array([1.0, 1e-3, 1e9 + 0.1, 3.3])  # of so many digits that the price is below their unit
    with pytest.raises(ValueError, match="too small to count"):
        TreeProblem.from_arrays(np.eye(4), [0, 1, 0, 1], alpha=1e-30, max_depth=None, sample_weight=weights)
    alone = TreeProblem.from_arrays(np.eye(4), np.zeros(4), alpha=0.0, max_depth=None)  # nothing to tell apart
    assert solve(alone).objective == 0
