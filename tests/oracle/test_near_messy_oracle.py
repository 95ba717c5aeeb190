"""Near-optimal sets of tables with gaps, text and dates, against literal enumeration over the table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naive_near import Column, as_tree, columns_of, decisions, trees_and_costs
from proofwood import near_optimal_trees
from proofwood.engines.trees import SearchOptions
from proofwood.engines.trees.near import NearTrees
from proofwood.exceptions import DataWarning
from proofwood.near_optimal import NearOptimalTrees

LEVELS = "abcdefgh"
FEW = 5


def numbers(rng: np.random.Generator, n: int) -> Any:
    column = rng.integers(0, rng.integers(2, 6), n).astype(float)
    column[rng.random(n) < rng.choice([0, 0.2, 0.5])] = np.nan
    return column


def texts(rng: np.random.Generator, n: int) -> Any:
    column = rng.choice(list(LEVELS[: rng.integers(2, 8)]), n).astype(object)
    column[rng.random(n) < rng.choice([0, 0.3])] = None
    return column


def dates(rng: np.random.Generator, n: int) -> Any:
    days = np.datetime64("2024-01-01") + rng.integers(0, 4, n).astype("m8[D]")
    days[rng.random(n) < rng.choice([0, 0.3])] = np.datetime64("NaT")
    return days.astype("M8[ns]")


def table_of(rng: np.random.Generator, makers: list[Any], n: int) -> pd.DataFrame:
    return pd.DataFrame({f"c{j}": make(rng, n) for j, make in enumerate(makers)})


def drawn(rng: np.random.Generator, depth: int) -> tuple[list[Any], dict[str, Any]]:
    """The kinds of columns of a tiny table, and the arguments of a set."""
    n = int(rng.integers(3, 8 if depth == 3 else 11))
    makers = [numbers, texts, texts, dates]
    kinds = [makers[int(rng.integers(4))] for _ in range(int(rng.integers(1, 3 if depth == 3 else 4)))]
    X = table_of(rng, kinds, n)
    y = rng.integers(0, int(rng.integers(2, 4)), n)
    weights: list[Any] = [None, None, rng.integers(1, 5, n) * 1.0, rng.integers(0, 3, n) * 1.0]
    minima: list[dict[str, Any]] = [{}, {}, {"min_samples_leaf": 2}, {"min_weight_fraction_leaf": 0.2}]
    given = weights[int(rng.integers(4))]
    return kinds, {
        "X": X,
        "y": y,
        "max_depth": depth,
        "slack": int(rng.integers(0, 4)),
        "alpha": float(rng.choice([0, 0.05, 0.25])),
        "sample_weight": None if given is None or not given.any() else given,
        "min_samples_level": int(rng.choice([1, 1, 2, 3])),
        "categorical_features": [name for name, make in zip(X.columns, kinds, strict=True) if make is texts],
        **minima[int(rng.integers(4))],
    }


def options_of(rng: np.random.Generator) -> SearchOptions:
    switches = {name: bool(rng.random() < 0.7) for name in ("similarity", "interval_shrinking", "cache")}
    return SearchOptions(simd=str(rng.choice(["auto", "baseline"])), **switches)  # type: ignore[arg-type]


def described(near: NearOptimalTrees) -> list[Column]:
    """The columns of the training rows, with the orders of levels that were fixed before the search."""
    posed, schema = near._source.posed, near.optimum.schema_
    columns = []
    for j in range(posed.X.shape[1]):
        values = posed.X[:, j]
        views = [view for view in posed.views.views if view.column == j]
        if j not in schema.nominal:
            columns.append(Column(values, "numbers"))
            continue
        codes, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        rare = set(codes[counts < near.optimum.min_samples_level].tolist())
        pooled = rare if len(rare) > 1 else set()
        n_levels = codes.size - len(pooled) + bool(pooled) + int(np.isnan(values).any())
        if n_levels <= FEW:
            columns.append(Column(values, "sets", dict.fromkeys(pooled, -1.0)))
            continue
        assert views[0].rank is not None
        place = dict(zip(codes.tolist(), views[0].ranks(codes).astype(float).tolist(), strict=True))
        columns.append(Column(values, "order", place))
    return columns


def check(rng: np.random.Generator, depth: int) -> int:
    kinds, given = drawn(rng, depth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        near = near_optimal_trees(**given)
    problem = near._source.posed.problem
    if problem.n_rows < 2 or set(near.columns) != set(given["X"].columns):
        return 0  # a column was left out
    columns = described(near)
    budget = near._budget
    every = trees_and_costs(problem, columns, depth)
    assert min(every.values()) == near._best
    expected = {tree: cost for tree, cost in every.items() if cost <= budget}
    assert near.exact
    assert near.count == len(expected)
    if len(expected) > 3000:
        return 0
    trees = list(near)
    found = {as_tree(tree.model, columns, problem.n_rows): tree for tree in trees}
    assert {tree: near._found.cost_of(one.number) for tree, one in found.items()} == expected
    shares = near.importance()
    for j, name in enumerate(given["X"].columns):
        assert shares[name] == sum(j in columns_of(tree) for tree in expected) / len(expected)
        without = near.without(name)
        least = min((cost for tree, cost in every.items() if j not in columns_of(tree)), default=None)
        assert without.slack == pytest.approx(float(near._source.real(least) - near._source.real(near._best)))
        assert name not in without.tree.tested_columns_
    assert set(near.always_used()) == {name for name, share in shares.items() if share == 1}
    new = pd.concat([given["X"].iloc[:2], table_of(rng, kinds, 6)])
    codes = np.asarray(near.optimum._read(new), dtype=float)
    assert np.array_equal(near.decisions(new), decisions(expected, problem, columns, codes))
    assert np.array_equal(near.decisions(), decisions(expected, problem, columns, near._source.posed.X))
    predicted = np.array([tree.predict(new) for tree in trees])
    for k, label in enumerate(near.optimum.classes_):  # what its trees show is among what its trees may do
        assert np.all(near.decisions(new)[:, k] >= (predicted == label).any(axis=0))
    again = NearTrees.of(
        problem, budget, views=near._source.posed.views, options=options_of(rng), kept_bytes=int(rng.choice([0, 400]))
    )
    assert again.tally == near._found.tally
    assert again.column_use() == near._found.column_use()
    values = near._source.posed.problem.X
    assert np.array_equal(again.decisions(values).found, near.decisions())
    numbers_of = range(near.count)
    assert np.array_equal(again.read(numbers_of), near._found.read(numbers_of))
    assert len(set(again.prints(numbers_of))) == near.distinct()
    return near.count


@pytest.mark.parametrize("part", range(4))
def test_a_messy_set_is_what_enumeration_finds(part: int) -> None:
    rng = np.random.default_rng(part)
    assert sum(check(rng, int(rng.choice([1, 2, 2, 3]))) for _ in range(20)) > 25
