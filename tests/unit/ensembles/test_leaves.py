"""Trees over the cells of a grid, all at once: as their readable twins have them, to the bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from proofwood import _native
from proofwood.ensembles.forest import Forest, ScoredTree, Stack, merged
from proofwood.ensembles.grid import ALWAYS, NEVER, Grid, GridColumn
from proofwood.ensembles.integers import integer_scores
from proofwood.ensembles.leaves import Walker
from proofwood.ensembles.readers.nodes import with_gap
from proofwood.model.node_table import LEAF, FloatArray, IntArray
from tests.naive_leaves import leaf_of, leaves


def _tree(rng: np.random.Generator, n_columns: int, depth: int, n_scores: int) -> ScoredTree:
    """A tree whose nodes are in no order but for the root, and whose nodes may have several parents."""
    feature, threshold, low, high = [], [], [], []

    def grow(left: int) -> int:
        at = len(feature)
        leaf = left == 0 or rng.random() < 0.2
        for part, value in ((feature, LEAF if leaf else int(rng.integers(n_columns))), (low, LEAF), (high, LEAF)):
            part.append(value)
        threshold.append(np.nan if leaf else float(rng.integers(-3, 4)))
        if not leaf:
            low[at] = grow(left - 1)
            high[at] = low[at] if rng.random() < 0.1 else grow(left - 1)
        return at

    grow(depth)
    n = len(feature)
    value = rng.integers(-2, 3, (n, n_scores)).astype(np.float64)
    return ScoredTree(np.array(feature), np.array(threshold), np.array(low), np.array(high), rng.random(n) < 0.5, value)


def _grid(rng: np.random.Generator, n_columns: int) -> Grid:
    columns = [GridColumn(j, "value", np.arange(float(rng.integers(0, 5)))) for j in range(n_columns)]
    first = np.concatenate([[0], np.cumsum([column.thresholds.size for column in columns])])
    return Grid((), columns, first.astype(np.int64))


def _literals(rng: np.random.Generator, tree: ScoredTree, grid: Grid) -> IntArray:
    n = int(grid.first[-1])
    drawn = rng.integers(0, 2 * n, tree.feature.size) if n else np.full(tree.feature.size, ALWAYS)
    return np.where(rng.random(tree.feature.size) < 0.15, rng.choice([ALWAYS, NEVER], tree.feature.size), drawn)


@pytest.mark.parametrize("seed", range(40))
def test_leaves_and_sums_are_those_of_the_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_columns, n_scores = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    grid = _grid(rng, n_columns)
    trees = tuple(_tree(rng, n_columns, int(rng.integers(0, 7)), n_scores) for _ in range(rng.integers(1, 6)))
    literals = tuple(_literals(rng, tree, grid) for tree in trees)
    forest = Forest(trees, np.arange(float(n_scores)), np.arange(n_scores), n_columns, 0.0, lambda X: X)
    walker = Walker(trees, literals, integer_scores(forest), grid)
    scores = walker.score_model(ties_low=True)
    expected = [leaves(tree, tests, grid) for tree, tests in zip(trees, literals, strict=True)]
    assert np.diff(scores.leaves_of).tolist() == [len(found) for found in expected]
    needs = [scores.needs[a:b].tolist() for a, b in zip(scores.needs_of, scores.needs_of[1:], strict=False)]
    assert needs == [found for tree in expected for _, found in tree]
    places = [(tree, node) for tree, found in enumerate(expected) for node, _ in found]
    assert np.array_equal(scores.scores * 1.0 / walker.scores.scale, [trees[t].value[node] for t, node in places])
    cells = rng.integers(0, grid.n_thresholds + 1, (30, n_columns))
    nodes = walker.nodes_of(cells)
    for t, tree in enumerate(trees):
        assert nodes[t].tolist() == [leaf_of(tree, literals[t], grid, row) for row in cells]
    terms = sum(tree.value[at] for tree, at in zip(trees, nodes, strict=True))
    assert np.array_equal(walker.sums_of(cells), (forest.base + terms) * walker.scores.scale)
    again = pickle.loads(pickle.dumps(Walker(trees, literals, walker.scores, grid)))
    assert np.array_equal(again.sums_of(cells), walker.sums_of(cells))


def test_arrays_that_lead_nowhere_are_refused() -> None:
    def made(**changes: object) -> _native.CellTrees:
        given = {
            "thresholds": np.array([1]),
            "begins": np.array([0, 3]),
            "literals": np.array([1, NEVER, NEVER]),
            "inner": np.array([1, 0, 0], dtype=np.uint8),
            "low": np.array([1, LEAF, LEAF]),
            "high": np.array([2, LEAF, LEAF]),
        }
        return _native.CellTrees(**given | changes)  # type: ignore[arg-type]

    assert [part.tolist() for part in made().leaves()] == [[2], [1, 2], [1, 1], [1, 0]]
    nodes, threshold = "leads to no node of its tree", "no threshold of the grid"
    for changes, expected in (
        ({"low": np.array([3, LEAF, LEAF])}, nodes),
        ({"low": np.array([0, LEAF, LEAF])}, nodes),
        ({"literals": np.array([2, NEVER, NEVER])}, threshold),
        ({"begins": np.array([0, 4])}, "do not fit the nodes"),
        ({"begins": np.array([0, 0, 3])}, "a tree without a node"),
        ({"thresholds": np.array([-1])}, "less than no threshold"),
        ({"inner": np.array([1, 0], dtype=np.uint8)}, "differ in length"),
    ):
        with pytest.raises(ValueError, match=expected):
            made(**changes)
    inner, always = np.array([1, 1, 0], dtype=np.uint8), np.array([1, ALWAYS, NEVER])
    circle = made(inner=inner, literals=always, low=np.array([1, 1, LEAF]), high=np.array([2, 2, LEAF]))
    with pytest.raises(ValueError, match="does not end"):
        circle.leaves()
    with pytest.raises(ValueError, match="does not end"):
        circle.reached(np.zeros((1, 1), dtype=np.int64))
    with pytest.raises(ValueError, match="do not fit"):
        made().sums(np.zeros((1, 2), dtype=np.int64), np.zeros((3, 1), dtype=np.int64), np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("seed", range(20))
def test_trees_of_a_stack_are_those_that_went_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = tuple(_tree(rng, 3, int(rng.integers(0, 6)), 2) for _ in range(rng.integers(1, 5)))
    back = Stack.of(trees).trees()
    for tree, other in zip(trees, back, strict=True):
        for name in ("feature", "threshold", "low", "high", "missing_low", "value"):
            assert np.array_equal(getattr(tree, name), getattr(other, name), equal_nan=True)
    each, together = tuple(map(merged, trees)), Stack.of(trees).merged().trees()
    for tree, one, other in zip(trees, each, together, strict=True):
        assert np.array_equal(one.feature, other.feature)
        assert np.array_equal(one.value, other.value)
        rows = rng.integers(-4, 5, (40, 3)).astype(np.float64)
        assert all(np.array_equal(_value(tree, row), _value(one, row)) for row in rows)
        tests = np.flatnonzero(one.feature != LEAF)
        sides = zip(one.low[tests].tolist(), one.high[tests].tolist(), strict=True)
        both = [(a, b) for a, b in sides if one.feature[a] == LEAF == one.feature[b]]
        assert not any(np.array_equal(one.value[a], one.value[b]) for a, b in both)


def _value(tree: ScoredTree, row: FloatArray, gap: tuple[float, float] | None = None) -> FloatArray:
    """The score of a row; numbers in the gap are missing ones."""
    node = 0
    while tree.feature[node] != LEAF:
        x = row[tree.feature[node]]
        missing = np.isnan(x) or (gap is not None and gap[0] < x <= gap[1])
        low = tree.missing_low[node] if missing else x <= tree.threshold[node]
        node = int(tree.low[node] if low else tree.high[node])
    return np.asarray(tree.value[node])


@pytest.mark.parametrize("seed", range(30))
def test_numbers_that_stand_for_missing_ones_go_where_these_go(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gap = (-0.5, 0.0)  # no threshold is inside
    trees = tuple(_tree(rng, 3, int(rng.integers(0, 6)), 1) for _ in range(rng.integers(1, 4)))
    stack = Stack.of(trees)
    threshold = np.where(rng.random(stack.threshold.size) < 0.3, -0.5, stack.threshold)
    stack = Stack.of([ScoredTree(**{**vars(tree), "threshold": part}) for tree, part in _parts(trees, threshold)])
    made = with_gap(stack, stack.feature != LEAF, gap).trees()
    rows = rng.choice([-4.0, -3.0, -1.0, -0.5, -0.25, 0.0, 0.25, 1.0, 2.5, np.nan], (200, 3))
    for tree, other in zip(stack.trees(), made, strict=True):
        for row in rows:
            assert np.array_equal(_value(tree, row, gap), _value(other, row))


def _parts(trees: tuple[ScoredTree, ...], numbers: FloatArray) -> list[tuple[ScoredTree, FloatArray]]:
    sizes = [tree.feature.size for tree in trees]
    return list(zip(trees, np.split(numbers, np.cumsum(sizes)[:-1]), strict=True))
