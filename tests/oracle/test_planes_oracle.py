"""The fewest errors of one split by all hyperplanes through points, against every way to part the points."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from proofwood import _native
from proofwood.engines.diagram.oblique.bounds import lower_bounds
from proofwood.engines.diagram.oblique.planes import errors_of_one_split
from proofwood.problem.diagram import DiagramCost, DiagramProblem
from proofwood.problem.ranked import RankedRows
from tests.strategies import examples


def separable(points: np.ndarray, high: np.ndarray) -> bool:
    """Whether a hyperplane parts the points strictly: some normal with a @ x >= 1 + b above, and <= b - 1 below."""
    if high.all() or not high.any():
        return True
    signs = np.where(high, 1.0, -1.0)[:, None]
    sides = -signs * np.column_stack([points, -np.ones(len(points))])
    answer = linprog(np.zeros(points.shape[1] + 1), A_ub=sides, b_ub=-np.ones(len(points)), bounds=(None, None))
    return answer.status == 0


def most_right(points: np.ndarray, weights: np.ndarray) -> int:
    n, classes = weights.shape
    best = int(weights.sum(axis=0).max())
    for size in range(n):
        for chosen in combinations(range(1, n), size):  # the first point is low
            high = np.isin(np.arange(n), chosen)
            if not separable(points, high):
                continue
            low_sums, high_sums = weights[~high].sum(axis=0), weights[high].sum(axis=0)
            best = max(best, *(int(low_sums[a] + high_sums[b]) for a in range(classes) for b in range(classes)))
    return best


def by_value(column: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of one coordinate, equal ones joined."""
    values, places = np.unique(column, return_inverse=True)
    sums = np.zeros((len(values), weights.shape[1]), dtype=np.int64)
    np.add.at(sums, places, weights)
    return values[:, None], sums


@st.composite
def weighted_points(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Up to seven points, in one to three dimensions, many of them on common lines and planes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, classes = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    points = np.unique(rng.integers(0, draw(st.sampled_from([2, 3, 5])), (draw(st.integers(1, 7)), d)), axis=0)
    if d == 3 and draw(st.booleans()):
        points[:, 2] = points[:, 0] + points[:, 1]  # all on one plane
        points = np.unique(points, axis=0)
    points = points[rng.permutation(len(points))]
    return points.astype(np.int64), rng.integers(0, 4, (len(points), classes)).astype(np.int64)


@examples(2)
@given(table=weighted_points())
def test_the_best_hyperplane_is_found(table: tuple[np.ndarray, np.ndarray]) -> None:
    points, weights = table
    assert _native.most_right_by_a_plane(points, weights, 60.0) == most_right(points, weights)


@examples(1)
@given(table=weighted_points(), scale=st.sampled_from([1.0, 1e-9]))
def test_one_split_of_a_problem(table: tuple[np.ndarray, np.ndarray], scale: float) -> None:
    points, weights = table
    X = points / max(1, points.max()) * scale  # nearer than the grid: thresholds part them still
    group, codes = np.nonzero(weights)
    if codes.size == 0:
        return
    columns = X[group]
    rows = RankedRows.with_tests(columns, (), codes, n_classes=weights.shape[1], sample_weight=weights[group, codes])[1]
    problem = DiagramProblem(
        rows=rows, widths=(1, 2), cost=DiagramCost.of(alpha=0.1, total=rows.total, widths=(1, 2)), columns=columns
    )
    found = errors_of_one_split(problem, seconds=60.0)
    assert found is not None
    unit = weights.sum() // rows.total  # a common factor of the weights is taken out
    if scale == 1.0:
        assert found * unit == weights.sum() - most_right(points, weights)
    else:
        thresholds = [most_right(*by_value(column, weights)) for column in points.T]
        assert found * unit == weights.sum() - max(thresholds)
    bounds = lower_bounds(problem, seconds=5.0, one_split=found)
    assert bounds[1] >= lower_bounds(problem, seconds=5.0)[1]
    assert bounds[0] >= bounds[1] >= bounds[2]


def test_bad_arguments_are_refused() -> None:
    weights = np.ones((2, 2), dtype=np.int64)
    for points, message in (
        (np.zeros((2, 2), dtype=np.int64), "equal"),
        (np.array([[0, 2**18], [1, 1]]), "too large"),
        (np.arange(8).reshape(2, 4), "three coordinates"),
        (np.arange(3)[:, None], "number of points"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.most_right_by_a_plane(points, weights, 1.0)


def test_without_time_nothing_is_claimed() -> None:
    rng = np.random.default_rng(0)
    points = np.unique(rng.integers(0, 2**16, (400, 3)), axis=0)
    weights = rng.integers(0, 3, (len(points), 2)).astype(np.int64)
    assert _native.most_right_by_a_plane(points, weights, 0.01) is None
