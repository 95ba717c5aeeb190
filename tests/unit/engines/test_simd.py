"""The instruction set of the kernels: by option or by environment variable, and never another answer."""

from __future__ import annotations

import numpy as np
import pytest

from proofwood import _native
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.bdd.subset.search import best_subset
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.front import bound_errors
from proofwood.problem.ranked import RankedRows
from proofwood.problem.tree import TreeProblem
from proofwood.result import Result
from strategies import generated

LEVELS = _native.instruction_sets()
VARIABLE = "PROOFWOOD_SIMD"
LANES = (0, 16, 32, 64)


def problem(seed: int, max_depth: int = 3) -> TreeProblem:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 6]))
    X, codes = generated(seed, int(rng.integers(30, 200)), 4, n_classes)
    weights = rng.integers(1, rng.choice([1, 9, 10**5, 10**11]), len(codes), endpoint=True)
    return TreeProblem.from_arrays(X, codes, n_classes=n_classes, sample_weight=weights, max_depth=max_depth)


def ranked(seed: int) -> RankedRows:
    X, codes = generated(seed, 60, 3, 2 + seed % 2)
    ranks = np.stack([np.searchsorted(np.quantile(x, [0.2, 0.4, 0.6, 0.8]), x) for x in X.T], axis=1)
    weights = np.random.default_rng(seed).integers(1, [1, 5, 10**4, 10**10][seed % 4], len(codes), endpoint=True)
    return RankedRows.from_ranks(ranks, [4, 4, 4], codes, sample_weight=weights)


def fewest_errors(given: TreeProblem) -> int:
    """Of trees of three splits: by halving, since a tree with fewer errors than asked about need not be the best."""
    least, enough = 0, int(given.weights.sum())  # a leaf has fewer errors than that
    while least < enough:
        middle = (least + enough) // 2
        if bound_errors(given, 3, below=middle + 1).found:
            enough = middle
        else:
            least = middle + 1
    return least


def answer(result: Result) -> tuple[object, ...]:
    return result.objective, result.lower_bound, result.status, result.model


def test_machine_runs_the_baseline_and_names_its_instruction_sets() -> None:
    from_narrow_to_wide = ["baseline", "avx2", "avx512"]
    assert from_narrow_to_wide[: len(LEVELS)] == LEVELS
    assert LEVELS


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_trees_are_the_same_at_each_level(level: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(seed)
    expected = solve(given, options=SearchOptions(simd="baseline", lanes=64))
    monkeypatch.setenv(VARIABLE, level)
    for lanes in LANES:
        result = solve(given, options=SearchOptions(lanes=lanes))
        assert answer(result) == answer(expected)
        assert result.stats.engine == f"search ({level})"


def many_rows(n: int, heaviest: int, seed: int, classes: int = 2) -> TreeProblem:
    """Rows for many blocks of narrow lanes, with columns of each kind of segment.

    Rows come in the order of their classes, so that a split inside a segment would look better than all others.
    """
    rng = np.random.default_rng(seed)
    x = rng.random((n, 4))
    signal = np.sin(4 * x[:, 0]) + x[:, 1] * x[:, 2] - x[:, 3] + rng.normal(scale=0.5, size=n)
    labels = (signal > 0.2).astype(np.int64)
    if classes > 2:  # of equal size
        labels[np.argsort(signal)] = np.arange(n) * classes // n
    by_class = np.argsort(labels, kind="stable")
    x, labels = x[by_class], labels[by_class]
    X = np.empty_like(x)
    X[:, 0] = x[:, 0]  # all values differ
    X[:, 1] = np.floor(40 * x[:, 1])  # long segments
    X[:, 2] = np.where(x[:, 2] < 0.6, 0.0, np.floor(n * x[:, 2]))  # one of more than a block, then short ones
    X[:, 3] = np.where(x[:, 3] < 0.45, 0.0, np.where(x[:, 3] > 0.55, 1.0, np.floor(30 * x[:, 3])))  # two of them
    weights = rng.integers(1, heaviest, n, endpoint=True)
    if heaviest > 100:  # few heavy rows
        weights = np.where(rng.random(n) < 0.02, weights, 1)
    return TreeProblem.from_arrays(X, labels, sample_weight=weights, max_depth=2)


def same_in_all_lanes(given: TreeProblem, level: str) -> tuple[Result, ...]:
    """Answers with lanes of 64 and 32 bits, with blocks of 16 bits, and with the narrowest that hold the rows."""
    results = tuple(solve(given, options=SearchOptions(simd=level, lanes=lanes)) for lanes in (64, 32, 16, 0))
    assert all(answer(result) == answer(results[0]) for result in results)
    assert results[0].model is not None
    assert float(given.real_cost(results[0].model)) == results[0].objective
    return results


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("heaviest", [1, 3, 31, 2000])
def test_counts_of_many_rows_in_narrow_lanes_are_those_of_wide_ones(level: str, heaviest: int) -> None:
    n = 280_000 if heaviest == 1 else 90_000  # of more than 2**18 rows, values are fetched ahead
    _, wide, narrow, _ = same_in_all_lanes(many_rows(n, heaviest, heaviest), level)
    assert narrow.stats.counters["batches"] < wide.stats.counters["batches"]  # twice as many splits in each


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("heaviest", [1, 2, 9, 127, 128])
def test_counts_of_some_rows_in_blocks_of_bytes_are_those_of_wide_lanes(level: str, heaviest: int) -> None:
    for seed, n in enumerate((40, 126, 127, 128, 129, 255, 700, 3000)):
        same_in_all_lanes(many_rows(n, heaviest, seed), level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("heaviest", [1, 5])
def test_counts_of_many_classes_in_bytes_are_those_of_wide_lanes(level: str, heaviest: int) -> None:
    for seed, n in enumerate((40, 120, 300, 5 * 255, 5 * 256, 2000)):
        same_in_all_lanes(many_rows(n, heaviest, seed, classes=5), level)


@pytest.mark.parametrize("level", LEVELS)
def test_bounds_by_size_are_the_same_at_each_level(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [problem(seed) for seed in range(4)]
    monkeypatch.setenv(VARIABLE, "baseline")
    expected = [fewest_errors(one) for one in given]
    monkeypatch.setenv(VARIABLE, level)
    assert [fewest_errors(one) for one in given] == expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("columns", ["bits", "ranks"])
def test_sets_of_tests_are_the_same_at_each_level(level: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        rows = ranked(seed)
        monkeypatch.setenv(VARIABLE, level)
        found = best_subset(rows, 3, options=SubsetOptions(columns=columns))
        monkeypatch.delenv(VARIABLE)
        expected = best_subset(rows, 3, options=SubsetOptions(simd="baseline", columns=columns))
        assert (found.tests, found.errors, found.lower_bound) == (expected.tests, expected.errors, expected.lower_bound)


def test_an_option_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, LEVELS[-1])
    assert solve(problem(0), options=SearchOptions(simd="baseline")).stats.engine == "search (baseline)"


@pytest.mark.parametrize("value", ["", "auto"])
def test_auto_is_the_best_of_the_machine(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, value)
    assert solve(problem(0)).stats.engine == f"search ({LEVELS[-1]})"


def test_an_unknown_level_is_refused_by_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ranked(1)
    monkeypatch.setenv(VARIABLE, "sse9")
    for work in (
        lambda: solve(problem(0)),
        lambda: bound_errors(problem(0), splits=2, below=2**40),
        lambda: best_subset(rows, 2),
    ):
        with pytest.raises(ValueError, match=r"PROOFWOOD_SIMD='sse9': expected one of auto, baseline, avx2, avx512"):
            work()


@pytest.mark.skipif("avx512" in LEVELS, reason="this machine runs every level")
def test_a_level_that_the_machine_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "avx512")
    with pytest.raises(ValueError, match="this machine lacks the instruction set; it runs baseline"):
        solve(problem(0))
