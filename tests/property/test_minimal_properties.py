"""Smallest trees: what may not change with the order of rows, their duplication, a stopped clock or a full cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.engines.minimal import MinimalOptions, solve
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent, Result, Status
from tests.strategies import examples


def generated(seed: int, n_rows: int, n_columns: int, n_cuts: int, n_classes: int = 2) -> RankedRows:
    """Random ranks; labels of a random rule over three columns, some changed, equal rows agreeing."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, n_cuts, (n_rows, n_columns), endpoint=True).astype(np.int32)
    codes = (ranks[:, 0] + (ranks[:, 1 % n_columns] > n_cuts // 2) * 2 + ranks[:, 2 % n_columns]) % n_classes
    codes = np.where(rng.random(n_rows) < 0.1, rng.integers(0, n_classes, n_rows), codes)
    index = np.unique(ranks, axis=0, return_inverse=True)[1].reshape(-1)
    codes = codes[np.unique(index, return_index=True)[1]][index]
    tests_of = np.full(n_columns, n_cuts, dtype=np.int32)
    return RankedRows(ranks, tests_of, codes.astype(np.int64), np.ones(n_rows, dtype=np.int64), n_classes)


def taken(rows: RankedRows, order: np.ndarray, weights: np.ndarray | None = None) -> RankedRows:
    return replace(
        rows,
        ranks=np.ascontiguousarray(rows.ranks[order]),
        codes=rows.codes[order],
        weights=rows.weights[order] if weights is None else weights,
    )


def shape(result: Result) -> tuple[list[int], list[int], list[int]]:
    assert result.model is not None
    return result.model.feature.tolist(), result.model.low.tolist(), result.model.high.tolist()


PROBLEMS = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(5, 40), st.integers(1, 6), st.integers(1, 3), st.sampled_from([2, 3])
)


@examples(0.6)
@given(
    arguments=PROBLEMS,
    minimize=st.sampled_from(list(Minimize)),
    errors=st.sampled_from([0, 0, 1, 2]),
    boxes=st.booleans(),
)
def test_order_and_duplicates_of_rows_change_nothing(
    arguments: tuple[int, int, int, int, int], minimize: Minimize, errors: int, boxes: bool
) -> None:
    rows = generated(*arguments)
    rng = np.random.default_rng(arguments[0])
    options = MinimalOptions(boxes=boxes)
    first = solve(MinimalTreeProblem(rows, minimize, None, errors), options=options)
    order = rng.permutation(rows.n_rows)
    assert shape(solve(MinimalTreeProblem(taken(rows, order), minimize, None, errors), options=options)) == shape(first)
    copies = rng.integers(1, 4, rows.n_rows)
    doubled = taken(rows, rng.permutation(np.repeat(np.arange(rows.n_rows), copies)))
    weighted = taken(rows, np.arange(rows.n_rows), copies.astype(np.int64))
    one, other = (
        solve(MinimalTreeProblem(again, minimize, None, errors), options=options) for again in (doubled, weighted)
    )
    assert shape(one) == shape(other)
    if errors == 0:
        assert shape(one) == shape(first)


@examples(0.4)
@given(arguments=PROBLEMS, minimize=st.sampled_from(list(Minimize)), errors=st.sampled_from([0, 0, 1]))
def test_order_of_columns_does_not_change_the_size(
    arguments: tuple[int, int, int, int, int], minimize: Minimize, errors: int
) -> None:
    rows = generated(*arguments)
    order = np.random.default_rng(arguments[0]).permutation(rows.n_columns)
    other = replace(rows, ranks=np.ascontiguousarray(rows.ranks[:, order]), tests_of=rows.tests_of[order])
    one, two = (solve(MinimalTreeProblem(these, minimize, None, errors)) for these in (rows, other))
    assert one.objective == two.objective


@examples(0.4)
@given(arguments=PROBLEMS)
def test_sizes_follow_the_limits(arguments: tuple[int, int, int, int, int]) -> None:
    rows = generated(*arguments)
    least = solve(MinimalTreeProblem(rows, Minimize.NODES))
    fewest = solve(MinimalTreeProblem(rows, Minimize.NODES_ANY_DEPTH))
    depth = least.part("depth").objective
    assert solve(MinimalTreeProblem(rows, Minimize.DEPTH)).objective == depth
    assert fewest.objective <= least.objective
    assert solve(MinimalTreeProblem(rows, Minimize.NODES_ANY_DEPTH, int(depth))).objective == least.objective
    if depth > 0:
        assert solve(MinimalTreeProblem(rows, Minimize.NODES_ANY_DEPTH, int(depth) - 1)).status is Status.INFEASIBLE
    with_errors = [solve(MinimalTreeProblem(rows, Minimize.NODES_ANY_DEPTH, None, k)).objective for k in range(3)]
    assert with_errors == sorted(with_errors, reverse=True)


def hard() -> RankedRows:
    """Labels by chance: far beyond a second."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, (400, 40))
    return RankedRows.from_bits(bits, rng.integers(0, 2, 400))


def check_unfinished(result: Result, events: list[ProgressEvent], rows: RankedRows) -> None:
    assert result.status is Status.FEASIBLE
    assert result.model is not None
    assert rows.errors(result.model) == 0
    assert 0 <= result.lower_bound < result.objective
    assert result.part("depth").lower_bound <= result.part("depth").objective == result.model.depth
    assert result.part("nodes").lower_bound < result.part("nodes").objective == result.model.n_nodes
    bounds = [event.lower_bound for event in events]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("minimize", list(Minimize))
@pytest.mark.parametrize("ends", ["time_limit", "interrupt", "memory_limit"])
def test_a_stopped_search_has_a_tree_and_valid_bounds(minimize: Minimize, ends: str) -> None:
    rows = hard()
    events: list[ProgressEvent] = []

    def progress(event: ProgressEvent) -> None:
        events.append(event)
        if ends == "interrupt":
            raise KeyboardInterrupt

    options = MinimalOptions(memory=2**20 if ends == "memory_limit" else 2**30)
    limits = Limits(seconds=0.3 if ends == "time_limit" else 30)
    result = solve(MinimalTreeProblem(rows, minimize), options=options, limits=limits, progress=progress)
    assert result.stats.stopped_by == ends
    assert result.stats.seconds < 5
    check_unfinished(result, events, rows)


def test_other_errors_of_the_callback_are_raised() -> None:
    def progress(event: ProgressEvent) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve(MinimalTreeProblem(hard()), limits=Limits(seconds=30), progress=progress)


def test_a_depth_that_no_tree_was_found_for_leaves_it_open() -> None:
    result = solve(MinimalTreeProblem(hard(), Minimize.NODES, 7), limits=Limits(seconds=0.2))
    assert result.status is Status.UNKNOWN
    assert result.model is None


def test_start_is_kept_if_nothing_better_is_found() -> None:
    rows = generated(3, 40, 5, 2)
    best = solve(MinimalTreeProblem(rows, Minimize.NODES)).model
    assert best is not None
    again = solve(MinimalTreeProblem(rows, Minimize.NODES), start=best, limits=Limits(seconds=0))
    assert again.model == best
    with pytest.raises(ValueError, match="start is not a tree within"):
        solve(MinimalTreeProblem(rows, Minimize.NODES, best.depth - 1), start=best)
