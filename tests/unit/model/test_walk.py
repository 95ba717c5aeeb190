"""The native walk of rows agrees with one in Python, test by test, and refuses arrays that it could not walk."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from proofwood import _native
from proofwood.model.evaluate import apply, decision_path, goes_low, neighbours, path, visited, walk
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from proofwood.model.reshape import refresh
from tests.tables import chain

SPECIAL = (-math.inf, -1.5, -0.0, 0.0, 1.0, 2.0, 3.0, 1e300, math.inf, math.nan)


def random_table(rng: np.random.Generator, n_splits: int, n_columns: int) -> NodeTable:
    """A tree with tests of all kinds, its nodes numbered level by level."""
    n = 2 * n_splits + 1
    feature = np.full(n, LEAF)
    low, high = np.full(n, LEAF), np.full(n, LEAF)
    for node in range(n_splits):
        low[node], high[node] = 2 * node + 1, 2 * node + 2
        feature[node] = rng.integers(n_columns)
    threshold = np.where(feature == LEAF, np.nan, rng.choice([*SPECIAL[1:-2], 0.5], n))
    levels: list[frozenset[int] | None] = [None] * n
    rows: list[tuple[list[int], list[float]]] = [([], []) for _ in range(n)]
    for node in range(n_splits):
        kind = rng.integers(3)
        if kind == 1:
            threshold[node] = np.nan
            levels[node] = frozenset(rng.choice(4, size=int(rng.integers(1, 4)), replace=False).tolist())
        elif kind == 2:
            feature[node] = OBLIQUE
            columns = rng.permutation(n_columns)[: int(rng.integers(1, n_columns + 1))].tolist()
            rows[node] = columns, rng.choice([0.1, 0.3, -1.7, 1e300], len(columns)).tolist()
    return NodeTable(
        feature=feature,
        threshold=threshold,
        low=low,
        high=high,
        label=np.zeros(n, dtype=np.int64),
        weight=np.zeros((n, 2)),
        rows=np.zeros(n, dtype=np.int64),
        missing_low=rng.random(n) < 0.5,
        levels=tuple(levels),
        normals=Normals(
            np.cumsum([0, *(len(columns) for columns, _ in rows)]),
            np.array([column for columns, _ in rows for column in columns], dtype=np.int64),
            np.array([value for _, values in rows for value in values]),
        ),
    )


def by_hand(table: NodeTable, row: np.ndarray) -> list[int]:
    """The nodes that a row visits, by Python's own numbers."""
    nodes = [0]
    while (feature := int(table.feature[node := nodes[-1]])) != LEAF:
        value = float(row[max(feature, 0)])
        if feature == OBLIQUE:
            assert table.normals is not None
            value = 0.0
            for column, factor in zip(*table.normals.row(node), strict=True):
                value += float(factor) * float(row[column])
        codes = None if table.levels is None else table.levels[node]
        if math.isnan(value):
            low = bool(table.missing_low[node])
        else:
            low = value <= table.threshold[node] if codes is None else value in codes
        nodes.append(int(table.low[node] if low else table.high[node]))
    return nodes


@pytest.mark.parametrize("seed", range(40))
def test_rows_walk_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 5))
    table = random_table(rng, int(rng.integers(0, 12)), n_columns)
    X = rng.choice([*SPECIAL, 0.7, -3.3], size=(60, n_columns))
    X = (X, np.asfortranarray(X), X[::-2, ::-1], np.repeat(X, 2, axis=1)[:, ::2])[seed % 4]
    expected = [by_hand(table, row) for row in X]
    assert apply(table, X).tolist() == [nodes[-1] for nodes in expected]
    visits = decision_path(table, X)
    assert [visits[r].indices.tolist() for r in range(len(X))] == expected
    assert [path(table, row) for row in X[:5]] == expected[:5]
    rows, nodes = (np.concatenate(parts) for parts in zip(*walk(table, X), strict=True))
    assert rows.tolist() == [r for r, visited in enumerate(expected) for _ in visited]
    assert nodes.tolist() == [node for visited in expected for node in visited]
    inner = table.feature[nodes] != LEAF
    went = nodes[1:][inner[:-1]]  # the next visit of a row that goes on is its own
    assert np.array_equal(
        np.where(goes_low(table, X, rows[inner], nodes[inner]), table.low[nodes[inner]], table.high[nodes[inner]]), went
    )


def test_packed_records_are_walked():
    records = np.zeros(4, dtype=np.dtype([("tag", np.int8), ("x", np.float64)]))
    records["x"] = [0.0, 1.0, 2.0, np.nan]
    X = records["x"][:, None]
    assert not X.flags.aligned
    table = random_table(np.random.default_rng(3), 4, 1)
    assert apply(table, X).tolist() == [by_hand(table, row)[-1] for row in X]


def test_long_chains_are_walked_in_blocks():
    n = 3000
    table = chain(n)
    X = np.arange(n + 500.0)[:, None]
    steps = list(walk(table, X))
    assert len(steps) > 1
    visits = np.bincount(np.concatenate([rows for rows, _ in steps]))
    assert visits.tolist() == [min(k, n - 1) + 2 for k in range(n + 500)]
    assert apply(table, X).tolist() == [n + min(k, n) for k in range(n + 500)]


GOOD = {
    "feature": [0, LEAF, LEAF],
    "threshold": [0.5, np.nan, np.nan],
    "low": [1, LEAF, LEAF],
    "high": [2, LEAF, LEAF],
    "missing_low": [1, 1, 1],
    "by_levels": [0, 0, 0],
    "codes_begin": [0, 0, 0, 0],
    "codes": [],
    "sum_begin": [0, 0, 0, 0],
    "sum_columns": [],
    "sum_values": [],
}
KINDS = {"threshold": np.float64, "codes": np.float64, "sum_values": np.float64, "missing_low": np.uint8}


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"low": [0, LEAF, LEAF]}, "does not come after"),
        ({"high": [3, LEAF, LEAF]}, "does not come after"),
        ({"feature": [1, LEAF, LEAF]}, "tests a column"),
        ({"feature": [-3, LEAF, LEAF]}, "tests a column"),
        ({"threshold": [0.5]}, "differ in length"),
        ({"codes_begin": [0, 1, 1, 1]}, "do not fit the nodes"),
        ({"codes_begin": [0, 1, 0, 0]}, "do not fit the nodes"),
        ({"sum_begin": [0, 0, 0]}, "do not fit the nodes"),
        ({"sum_begin": [0, 1, 1, 1], "sum_columns": [1], "sum_values": [1.0]}, "names a column"),
        ({"sum_columns": [0]}, "do not fit the nodes"),
    ],
)
def test_arrays_that_cannot_be_walked_are_refused(broken, says):
    kinds = {**KINDS, "by_levels": np.uint8}
    arrays = {name: np.array(part, dtype=kinds.get(name, np.int64)) for name, part in {**GOOD, **broken}.items()}
    with pytest.raises(ValueError, match=says):
        _native.Walker(**arrays).leaves(np.zeros((2, 1)))


def test_good_arrays_are_walked():
    kinds = {**KINDS, "by_levels": np.uint8}
    arrays = {name: np.array(part, dtype=kinds.get(name, np.int64)) for name, part in GOOD.items()}
    assert _native.Walker(**arrays).leaves(np.array([[0.0], [1.0]])).tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_nodes_count_the_rows_on_their_paths(seed):
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 5))
    table = random_table(rng, int(rng.integers(0, 12)), n_columns)
    X = rng.choice([*SPECIAL, 0.7, -3.3], size=(60, n_columns))
    codes = rng.integers(0, 2, 120)[::2]
    weights = rng.choice([0.1, 1e-12, 1e12, 3.0, 5e-324], 60) if seed % 2 else rng.integers(1, 9, 60).astype(float)
    exact = [[Fraction(0), Fraction(0)] for _ in range(table.n_nodes)]
    rows = [0] * table.n_nodes
    below, above = [math.nan] * table.n_nodes, [math.nan] * table.n_nodes
    for row, code, weight in zip(X, codes.tolist(), weights.tolist(), strict=True):
        for node in by_hand(table, row):
            exact[node][code] += Fraction(weight)
            rows[node] += 1
            if table.feature[node] < 0 or math.isnan(table.threshold[node]):
                continue
            value = float(row[table.feature[node]])
            if value <= table.threshold[node]:
                below[node] = value if math.isnan(below[node]) else max(below[node], value)
            elif value > table.threshold[node]:
                above[node] = value if math.isnan(above[node]) else min(above[node], value)
    told = refresh(table, X, codes, 2, weights)
    assert told.rows.tolist() == rows
    assert told.weight.tolist() == [[float(weight) for weight in pair] for pair in exact]
    np.testing.assert_array_equal(neighbours(table, X), (below, above))


def test_sums_that_do_not_fit_are_refused():
    table = random_table(np.random.default_rng(0), 5, 2)
    X, ones = np.zeros((4, 2)), np.ones(4)
    with pytest.raises(ValueError, match="names a class"):
        visited(table, X, np.array([0, 1, 2, 0]), ones, 2)
    with pytest.raises(ValueError, match="names a class"):
        visited(table, X, np.array([0, -1, 1, 0]), ones, 2)
    with pytest.raises(ValueError, match="do not fit the rows"):
        visited(table, X, np.zeros(3, dtype=np.int64), ones, 2)
    few = np.zeros((table.n_nodes - 1, 2)), np.zeros(table.n_nodes, dtype=np.int64)
    with pytest.raises(ValueError, match="do not fit the nodes"):
        table.walker.add_visits(X, np.zeros(4, dtype=np.int64), ones, *few)
    with pytest.raises(ValueError, match="do not fit the nodes"):
        table.walker.add_neighbours(X, np.zeros(table.n_nodes), np.zeros(1))
