"""Trees below a cost and trees of a limited number of splits, against enumeration, each rule on and off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from proofwood.engines.trees import SearchOptions
from proofwood.engines.trees.front import MOST_SPLITS, bound_errors
from proofwood.engines.trees.solve import bound
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits
from strategies import examples, problems, search_options, thread_counts


@st.composite
def small_problems(draw: st.DrawFn) -> TreeProblem:
    """Up to 11 rows of columns with ties, at times with weights; depths up to 5."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns, classes = (int(number) for number in rng.integers((2, 1, 2), (12, 4, 5)))
    return TreeProblem.from_arrays(
        rng.integers(0, rng.integers(2, 9), (rows, columns)),
        rng.integers(0, classes, rows),
        n_classes=classes,
        sample_weight=rng.integers(1, 4, rows) if draw(st.booleans()) else None,
        max_depth=int(rng.integers(1, 6)),
    )


@examples(1.5)
@given(
    problem=small_problems(),
    splits=st.integers(0, 6),
    away=st.integers(-3, 3),
    options=search_options(),
    threads=thread_counts(),
)
def test_whether_few_splits_do(
    problem: TreeProblem, splits: int, away: int, options: SearchOptions, threads: int
) -> None:
    fewest = naive.front(problem, splits + 1)[-1]
    below = max(0, fewest + away)
    found = bound_errors(problem, splits, below=below, options=options, limits=Limits(threads=threads))
    assert found.stopped_by is None
    assert found.found == (fewest < below)
    if found.found:
        assert fewest <= found.errors < below
    else:
        assert found.errors == below


def test_many_rows_and_wide_lanes():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)).round(2)
    codes = (X[:, 0] + X[:, 1] > 1).astype(int)
    for scale in (1.0, 2.0**15, 2.0**40):
        weights = rng.integers(1, 4, 60) * scale
        problem = TreeProblem.from_arrays(X, codes, sample_weight=weights, max_depth=2)
        cost = naive.best_by_stumps(problem)[0]
        assert not bound_errors(problem, 3, below=cost).found
        assert bound_errors(problem, 3, below=cost + 1).errors == cost


def test_more_splits_than_there_is_room_for_are_refused():
    problem = TreeProblem.from_arrays([[0.0], [1.0]], [0, 1], max_depth=2)
    with pytest.raises(ValueError, match=f"0 to {MOST_SPLITS}"):
        bound_errors(problem, MOST_SPLITS + 1, below=1)


def test_time_is_up():
    rng = np.random.default_rng(0)
    problem = TreeProblem.from_arrays(rng.random((300, 20)), rng.integers(0, 2, 300), max_depth=6)
    found = bound_errors(problem, 10, below=40, limits=Limits(0.2))
    assert (found.stopped_by, found.errors, found.found) == ("time_limit", 0, False)


@examples(1.5)
@given(problem=problems(), away=st.integers(-3, 3), options=search_options(), threads=thread_counts())
def test_whether_a_tree_costs_less(problem: TreeProblem, away: int, options: SearchOptions, threads: int) -> None:
    optimum = naive.best_tree(problem)[0]
    below = max(0, optimum + away)
    found = bound(problem, below=below, options=options, limits=Limits(threads=threads))
    assert found.stopped_by is None
    if optimum < below:
        assert found.model is not None
        assert problem.integer_cost(found.model) == found.lower == optimum
    else:
        assert found.model is None
        assert found.lower == below
