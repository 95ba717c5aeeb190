"""What must not change a set of tests, what a stopped search still owes, and how soon it stops."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.bdd.subset.fewest import fewest_tests
from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import FewestOptions, SubsetOptions
from proofwood.engines.bdd.subset.search import best_subset, optimal_subsets, subset_errors
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent
from strategies import examples
from tests.interrupts import interrupted


def noisy(seed: int, n_rows: int = 160, n_tests: int = 16, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Bits and codes too large for enumeration, solved in milliseconds."""
    rng = np.random.default_rng(seed)
    bits = (rng.random((n_rows, n_tests)) < rng.uniform(0.2, 0.8, n_tests)).astype(np.int32)
    codes = (bits[:, 0] + bits[:, 1] * bits[:, 2] + (rng.random(n_rows) < 0.2)) % n_classes
    return bits, codes


def numbers(seed: int, n_rows: int = 60, n_columns: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with ties, and codes that two cuts explain but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 20), (n_rows, n_columns)).astype(float)
    codes = (X[:, 0] > X[:, 0].mean()) ^ (X[:, 1] > X[:, 1].mean()) ^ (rng.random(n_rows) < 0.2)
    return X, codes.astype(int)


def as_rows(X: np.ndarray, codes: np.ndarray) -> RankedRows:
    return RankedRows.with_tests(X, (), codes, n_classes=2)[1]


@examples(0.3)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 4), columns=st.sampled_from(["bits", "ranks"]))
def test_copies_of_columns_change_nothing(seed: int, size: int, columns: Any) -> None:
    """Equal and reversed columns behind the others have no test of their own: neither answer nor work differs."""
    X, codes = numbers(seed)
    plain, copied = as_rows(X, codes), as_rows(np.hstack([X, X[:, ::-1], -X]), codes)
    options = SubsetOptions(columns=columns, restarts=2, trees=False, deepening=False)
    one, other = (best_subset(rows, size, options=options) for rows in (plain, copied))
    assert (one.tests, one.errors, one.lower_bound) == (other.tests, other.errors, other.lower_bound)
    assert {**one.counters, "boxes": 0} == {**other.counters, "boxes": 0}  # local search beside it goes by the clock


def test_copies_of_long_columns_are_seen_in_a_walk() -> None:
    """Each of n cuts compared over n rows would be 10**10 steps."""
    rng = np.random.default_rng(0)
    X = rng.random((100_000, 2))
    rows = as_rows(np.hstack([X, X, -X]), rng.integers(0, 2, 100_000))
    prepared = Prepared(rows, SubsetOptions())
    assert prepared.prepare(3, Limits(20.0)) == 0


@examples(0.3)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 4), threads=st.sampled_from([1, 3]))
def test_boxes_find_what_the_search_cut_by_cut_finds(seed: int, size: int, threads: int) -> None:
    rows = as_rows(*numbers(seed, 200, 3))
    found = [
        best_subset(rows, size, options=SubsetOptions(columns="ranks", lexicographic=True, boxes=boxes), limits=limits)
        for boxes, limits in ((True, Limits(threads=threads)), (False, Limits()))
    ]
    assert found[0].tests == found[1].tests
    assert found[0].errors == found[0].lower_bound == found[1].errors


def test_the_last_of_very_many_columns_is_looked_at() -> None:
    """Boxes number columns in 16 bits."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (24, 70_000))
    rows = RankedRows.from_bits(bits, bits[:, -1])
    found, complete, _ = optimal_subsets(rows, 1, 0)
    assert (found, complete) == (((69_999,),), True)


def endless() -> RankedRows:
    """Labels that no test explains: no search ends soon."""
    rng = np.random.default_rng(1)
    return RankedRows.from_bits(rng.integers(0, 2, (2_000, 150)), rng.integers(0, 2, 2_000))


@examples(0.3)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 5), n_classes=st.sampled_from([2, 3]), greedy=st.booleans())
def test_neither_order_nor_copies_nor_threads_change_the_set(
    seed: int, size: int, n_classes: int, greedy: bool
) -> None:
    bits, codes = noisy(seed, n_classes=n_classes)
    rng = np.random.default_rng(seed)
    options = SubsetOptions(greedy=greedy)
    first = best_subset(RankedRows.from_bits(bits, codes), size, options=options)
    rows = rng.permutation(len(codes))
    permuted = RankedRows.from_bits(bits[rows], codes[rows])
    assert best_subset(permuted, size, options=options).tests == first.tests
    assert best_subset(permuted, size, options=options, limits=Limits(threads=3)).tests == first.tests
    copies = rng.integers(1, 4, len(codes))
    weighted = best_subset(RankedRows.from_bits(bits, codes, sample_weight=copies), size, options=options)
    repeated = RankedRows.from_bits(np.repeat(bits, copies, axis=0), np.repeat(codes, copies))
    assert best_subset(repeated, size, options=options).tests == weighted.tests
    order = rng.permutation(bits.shape[1])
    assert best_subset(RankedRows.from_bits(bits[:, order], codes), size, options=options).errors == first.errors


@examples(0.1)
@given(seed=st.integers(0, 10**6))
def test_more_tests_never_err_more(seed: int) -> None:
    rows = RankedRows.from_bits(*noisy(seed))
    errors = [best_subset(rows, size).errors for size in range(7)]
    assert all(later is not None and later <= earlier for earlier, later in pairwise(errors) if earlier is not None)
    assert best_subset(rows, rows.n_tests).errors == rows.unavoidable


@pytest.mark.parametrize("columns", ["bits", "ranks"])
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.05, 0.3])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_time_limit_leaves_a_set_and_a_valid_bound(columns: Any, seconds: float, threads: int) -> None:
    rows = endless()
    started = time.perf_counter()
    result = best_subset(rows, 6, options=SubsetOptions(columns=columns), limits=Limits(seconds, threads))
    assert time.perf_counter() - started < seconds + 0.6
    assert result.stopped_by == "time_limit"
    assert result.lower_bound >= rows.unavoidable
    if result.tests is not None:
        assert subset_errors(rows, result.tests) == result.errors
        assert result.lower_bound < result.errors
    events = result.trace
    for earlier, later in pairwise(events):
        assert later.objective <= earlier.objective
        assert later.lower_bound >= earlier.lower_bound


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_stopped_search_brackets_the_optimum(seconds: float) -> None:
    rows = RankedRows.from_bits(*noisy(5, 400, 30))
    optimum = best_subset(rows, 5).errors
    assert optimum is not None
    result = best_subset(rows, 5, limits=Limits(seconds))
    assert result.lower_bound <= optimum
    assert result.errors is None or optimum <= result.errors


def test_ctrl_c_ends_the_search_like_a_time_limit() -> None:
    rows = endless()
    started = time.perf_counter()
    result = interrupted(lambda: best_subset(rows, 6))
    assert time.perf_counter() - started < 1.0
    assert result.stopped_by == "interrupt"
    assert result.tests is not None
    assert result.errors is not None
    assert result.lower_bound < result.errors


@pytest.mark.parametrize("engine", ["search", "hitting"])
def test_fewest_tests_stop_at_the_limit_and_at_ctrl_c(engine: Any) -> None:
    rng = np.random.default_rng(2)
    rows = RankedRows.from_bits(rng.integers(0, 2, (600, 60)), rng.integers(0, 2, 600))
    started = time.perf_counter()
    result = fewest_tests(rows, options=FewestOptions(engine), limits=Limits(0.4))
    assert time.perf_counter() - started < 1.5
    assert result.stopped_by == "time_limit"
    assert result.tests is not None
    assert result.lower_bound <= len(result.tests)
    result = interrupted(lambda: fewest_tests(rows, options=FewestOptions(engine)))
    assert result.stopped_by == "interrupt"


def test_progress_brackets_and_its_errors_propagate() -> None:
    events: list[ProgressEvent] = []
    rows = endless()
    result = best_subset(rows, 5, limits=Limits(0.6), progress=events.append)
    assert events
    assert result.errors is not None
    for event in events:
        assert event.lower_bound <= result.errors <= event.objective

    def interrupt(_: ProgressEvent) -> None:
        raise KeyboardInterrupt

    assert best_subset(rows, 5, progress=interrupt).stopped_by == "interrupt"

    def fail(_: ProgressEvent) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        best_subset(rows, 5, progress=fail)


def test_listing_stops_at_its_limit() -> None:
    rows = endless()
    sets, complete, stopped_by = optimal_subsets(rows, 6, rows.total, max_sets=5)
    assert sets == ((), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3))
    assert not complete
    assert stopped_by is None
    _, complete, stopped_by = optimal_subsets(rows, 6, 800, limits=Limits(0.2))
    assert not complete
    assert stopped_by == "time_limit"


def test_bad_arguments_are_named() -> None:
    rows = RankedRows.from_bits([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="size=-1"):
        best_subset(rows, -1)
    with pytest.raises(ValueError, match="max_sets=0"):
        optimal_subsets(rows, 1, 0, max_sets=0)
    with pytest.raises(ValueError, match="neighbours=0"):
        SubsetOptions(neighbours=0)
    with pytest.raises(ValueError, match="engine='x'"):
        FewestOptions(engine="x")  # type: ignore[arg-type]
