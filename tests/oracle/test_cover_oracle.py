"""Pure boxes, and the weights that bound a cover by them, against enumeration; searches that begin with both."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood import _native
from proofwood.engines.minimal import MinimalOptions, solve
from proofwood.engines.minimal.cover import UNIT, dual_weights
from proofwood.problem.minimal import MinimalTreeProblem, Minimize
from proofwood.result import Limits, ProgressEvent
from tests.oracle import test_minimal_oracle as minimal
from tests.strategies import examples

Arrays = tuple[np.ndarray, np.ndarray]


@st.composite
def tables(draw: st.DrawFn, *, most_rows: int = 9) -> Arrays:
    """Ranks of different rows, and costs of the labels; on some rows several classes are right."""
    n, columns, classes = draw(st.integers(1, most_rows)), draw(st.integers(1, 3)), draw(st.integers(2, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    ranks = np.unique(rng.integers(0, draw(st.sampled_from([2, 4, 9])), (n, columns)), axis=0)
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in ranks.T], axis=1)
    costs = (np.arange(classes) != rng.integers(0, classes, len(ranks))[:, None]) * rng.integers(1, 4, (len(ranks), 1))
    if rng.random() < 0.3:
        costs[rng.random(costs.shape) < 0.2] = 0
    return np.ascontiguousarray(ranks, dtype=np.int32), np.ascontiguousarray(costs, dtype=np.int64)


def boxes(ranks: np.ndarray) -> set[tuple[int, ...]]:
    """Rows of every box of ranks."""
    found = set()
    for sides in product(*([(a, b) for a in set(c) for b in set(c) if a <= b] for c in ranks.T.tolist())):
        inside = np.all([(a <= c) & (c <= b) for (a, b), c in zip(sides, ranks.T, strict=True)], axis=0)
        if inside.any():
            found.add(tuple(np.flatnonzero(inside).tolist()))
    return found


def pure(rows: Any, costs: np.ndarray) -> bool:
    return bool((costs[list(rows)] == 0).all(axis=0).any())


def fewest_leaves(rows: tuple[int, ...], ranks: np.ndarray, costs: np.ndarray) -> int:
    @cache
    def leaves(rows: tuple[int, ...]) -> int:
        if pure(rows, costs):
            return 1
        least = len(rows)
        for column in ranks.T:
            for cut in sorted({int(column[row]) for row in rows})[:-1]:
                low = tuple(row for row in rows if column[row] <= cut)
                least = min(least, leaves(low) + leaves(tuple(row for row in rows if column[row] > cut)))
        return least

    return leaves(rows)


@examples(3)
@given(table=tables(), seed=st.integers(0, 2**32 - 1), above=st.sampled_from([0, 0, 3, 8]))
def test_the_heaviest_pure_box(table: Arrays, seed: int, above: int) -> None:
    ranks, costs = table
    weights = np.random.default_rng(seed).integers(0, 6, len(ranks))
    of_pure = {box: int(weights[list(box)].sum()) for box in boxes(ranks) if pure(box, costs)}
    searched = _native.PureBoxes(ranks, costs)
    heaviest, sure, found, stopped = searched.heaviest(weights, above, None)
    assert (sure, stopped) == (True, 0)
    assert heaviest == max(above, *of_pure.values())
    for number in (1, 2):
        more, sure, grown, _ = searched.heaviest(weights, above, None, number)
        assert not sure
        assert more <= heaviest
        found += grown
    for box in found:
        assert of_pure[tuple(box)] > above


@examples(2)
@given(table=tables(most_rows=8))
def test_weights_bound_the_leaves_of_every_box(table: Arrays) -> None:
    ranks, costs = table
    weights = dual_weights(ranks, costs, 10.0)
    assert weights.sum() > 0
    for box in boxes(ranks):
        assert -(-int(weights[list(box)].sum()) // UNIT) <= fewest_leaves(box, ranks, costs)


def test_without_time_no_weights() -> None:
    ranks = np.arange(40, dtype=np.int32)[:, None]
    costs = np.ascontiguousarray(np.eye(2, dtype=np.int64)[np.arange(40) % 2])
    assert dual_weights(ranks, costs, 0.0).sum() == 0
    assert dual_weights(ranks, costs, 10.0).sum() >= 39.9 * UNIT  # each row is a box of its own


@st.composite
def numbers(draw: st.DrawFn) -> MinimalTreeProblem:
    """Columns in which most values differ: cuts are walked over column by column."""
    n, columns = draw(st.integers(4, 11)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ranks = [np.unique(rng.integers(0, 3 * n, n), return_inverse=True)[1].tolist() for _ in range(columns)]
    codes = rng.integers(0, draw(st.integers(2, 3)), n).tolist()
    rows = minimal.ranked_rows(ranks, [max(column) for column in ranks], codes, None)
    return MinimalTreeProblem(
        rows, draw(st.sampled_from(list(Minimize))), draw(st.sampled_from([None, None, 2, 3])), rows.unavoidable
    )


@examples(2)
@given(problem=st.one_of(minimal.problems(most_errors=0), numbers()), chosen=minimal.options())
def test_the_second_search_finds_the_smallest_tree(problem: MinimalTreeProblem, chosen: MinimalOptions) -> None:
    minimal.solved_by_a_second_search(problem, chosen)


@examples(4)
@given(problem=numbers(), chosen=minimal.options())
def test_cuts_of_a_column_are_walked_over(problem: MinimalTreeProblem, chosen: MinimalOptions) -> None:
    minimal.solved(problem, replace(chosen, boxes=False))


@examples(1)
@given(problem=numbers())
def test_walks_and_counts_of_tests_give_one_tree(problem: MinimalTreeProblem) -> None:
    one, other = (
        minimal.solved(problem, MinimalOptions(boxes=False, column_walks=walks, clique_bound=walks))
        for walks in (True, False)
    )
    assert one.model == other.model


def alternating(n: int) -> MinimalTreeProblem:
    """A column along which the classes alternate: greedy trees are as deep as there are rows."""
    rows = minimal.ranked_rows([list(range(n))], [n - 1], [row % 2 for row in range(n)], None)
    return MinimalTreeProblem(rows, Minimize.NODES_ANY_DEPTH)


def test_rollouts_of_deep_trees_are_given_up() -> None:
    result = solve(alternating(3000), limits=Limits(4.0))
    assert result.model is not None
    assert result.model.n_nodes == 5999
    assert result.lower_bound <= 5999


def test_the_second_search_has_the_bound_of_the_cover() -> None:
    result = solve(alternating(300), options=MinimalOptions(boxes=False, clique_bound=False), limits=Limits(30.0))
    assert (result.objective, result.status) == (599, "optimal")  # each row is a box of its own


def test_what_the_first_search_told_survives_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(sys.modules["proofwood.engines.minimal.solve"], "_dual_weights", no_memory)
    events: list[ProgressEvent] = []
    result = solve(alternating(1000), limits=Limits(3.0), progress=events.append)
    assert result.model is not None
    assert result.stats.stopped_by == "memory_limit"
    assert result.stats.seconds >= 0.2
    assert (result.objective, result.lower_bound) == (events[-1].objective, events[-1].lower_bound)
