"""Models of every shape that a report must hold."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from proofwood import (
    OptimalBDDClassifier,
    OptimalPolicyTree,
    OptimalSurvivalTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)
from proofwood.result import Result, Stats, Status
from tests.sklearn_trees import from_sklearn_tree

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }} {% raw %} & &amp; ' \\u003c",
    "\u202eevil\u2066 \x00\x1b[31m\u2028 line",
    "very long " * 400,
    "שלום עולם <b>",
)
"""Names that a page must show as text."""


def people(n: int = 600, seed: int = 0) -> tuple[pl.DataFrame, Any]:
    """A table with numbers, booleans, gaps, categories and dates, and three classes."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(8, 0.5, n).round(2)
    income[rng.random(n) < 0.1] = np.nan
    table = pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "married": rng.random(n) < 0.5,
            "income": pl.Series(income, nan_to_null=True),
            "region": rng.choice(["north", "south", "east", "west", "centre"], n),
            "since": [dt.date(2015, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 3000, n)],
        }
    )
    age, married = table["age"].to_numpy(), table["married"].to_numpy()
    score = (age > 40) * 1.5 + married + (np.nan_to_num(income) > 3000) * 2.0 + rng.normal(0, 0.7, n)
    return table, np.where(score > 3.3, "good", np.where(score > 1.7, "fair", "bad"))


def depth_four() -> tuple[Any, Any, Any]:
    """A tree of depth 4 with every kind of test."""
    X, y = people(300)
    return OptimalTreeClassifier(max_depth=4, time_limit=None).fit(X, y), X, y


def diagram() -> tuple[Any, Any, Any]:
    """A diagram of about 12 nodes, some of them shared."""
    X, y = people(600)
    X = X.select("age", "married", "income").fill_null(0)
    y = np.where(y == "bad", "bad", "ok")
    return OptimalBDDClassifier(max_features=7, max_thresholds=10, time_limit=None).fit(X, y), X, y


def many_nodes() -> tuple[Any, Any, Any]:
    """A tree of 199 nodes, grown by CART and put into a classifier: its result claims nothing."""
    X, y = make_classification(4000, 10, n_informative=8, n_classes=3, class_sep=0.6, random_state=0)
    table = from_sklearn_tree(DecisionTreeClassifier(max_leaf_nodes=100, random_state=0).fit(X, y))
    model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    wrong = float((table.label[table.walker.leaves(X)] != y).sum())
    model._keep(Result(table, wrong, "errors", 0.0, Status.FEASIBLE, Stats(engine="cart")), table)
    return model, X, y


def many_classes() -> tuple[Any, Any, Any]:
    """Fifty classes."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 3))
    y = np.array([f"class number {k:02d}" for k in rng.permutation(np.arange(1000) % 50)])
    y[X[:, 0] > 0.5] = "class number 07"
    return OptimalTreeClassifier(max_depth=2, time_limit=None).fit(X, y), X, y


def _small_table() -> tuple[pl.DataFrame, Any]:
    """A table of whole numbers, of numbers with gaps, and of levels, and a number of each row."""
    rng = np.random.default_rng(6)
    n = 300
    income = rng.normal(30, 8, n).round(1)
    income[rng.random(n) < 0.15] = np.nan
    age, city = rng.integers(18, 70, n), rng.choice(["Bonn", "Kiel", "Ulm"], n)
    table = pl.DataFrame({"age": age, "income": pl.Series(income, nan_to_null=True), "city": city})
    score = (age > 40) + (np.nan_to_num(income, nan=45) > 33) + (city == "Ulm") * 1.5 + rng.normal(0, 0.3, n)
    return table, score


def small() -> tuple[Any, Any, Any]:
    """A tree over few enough cells to look at all of them."""
    table, score = _small_table()
    y = np.where(score > 1.6, "yes", "no")
    return OptimalTreeClassifier(max_depth=3, time_limit=None).fit(table, y), table, y


def small_numbers() -> tuple[Any, Any, Any]:
    """A tree of numbers over few cells."""
    table, score = _small_table()
    return OptimalTreeRegressor(max_depth=3, time_limit=None).fit(table, score), table, score


def kinds(n: int = 900, seed: int = 4) -> pl.DataFrame:
    """A table of moments of a zone, durations, times, ordered levels and booleans, all with gaps."""
    rng = np.random.default_rng(seed)
    seconds, parts = rng.integers(0, 10**8, n), rng.integers(0, 10**6, n)
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    columns: dict[str, list[Any]] = {
        "moment": [
            start + dt.timedelta(seconds=int(s), microseconds=int(us)) for s, us in zip(seconds, parts, strict=True)
        ],
        "lasts": [dt.timedelta(seconds=int(s) / 4) for s in rng.integers(-4000, 10**6, n)],
        "clock": [(start + dt.timedelta(seconds=int(s))).time() for s in rng.integers(0, 86400, n)],
        "size": rng.choice(["small", "medium", "large"], n).tolist(),
        "active": (rng.random(n) < 0.5).tolist(),
    }
    gaps = {name: rng.random(n) < 0.08 for name in columns}
    values = {
        name: [None if gap else value for value, gap in zip(column, gaps[name], strict=True)]
        for name, column in columns.items()
    }
    types = {"moment": pl.Datetime("us", "Europe/Berlin"), "size": pl.Enum(["small", "medium", "large", "huge"])}
    return pl.DataFrame(
        {name: pl.Series(name, column, dtype=types.get(name)) for name, column in values.items()}  # type: ignore[arg-type]
    )


def _learned(*names: str) -> tuple[Any, Any, Any]:
    table = kinds().select(names)
    rng = np.random.default_rng(0)
    score = rng.normal(0, 0.3, len(table))
    for name in names:
        column = table[name]
        if name == "size":
            high = (column == "large").cast(pl.Int64)
        else:
            high = (column > column.median()).cast(pl.Int64) if name != "active" else column.cast(pl.Int64)
        score = score + high.fill_null(0).to_numpy()
    y = np.where(score > len(names) / 2, "late", "early")
    return OptimalTreeClassifier(max_depth=3, time_limit=None).fit(table, y), table, y


def timed() -> tuple[Any, Any, Any]:
    """A tree of moments of a zone, durations and times of day."""
    return _learned("moment", "lasts", "clock")


def levelled() -> tuple[Any, Any, Any]:
    """A tree of ordered levels and booleans, with gaps."""
    return _learned("size", "active")


def many_levels() -> tuple[Any, Any, Any]:
    """A tree that asks more than once for sets of many levels."""
    rng = np.random.default_rng(5)
    number = rng.integers(0, 45, 2700)
    towns = [None if gap else f"town {k}" for k, gap in zip(number.tolist(), rng.random(2700) < 0.05, strict=True)]
    table, y = pl.DataFrame({"town": towns, "lasts": kinds(2700)["lasts"]}), np.array(["a", "b", "c"])[number % 3]
    return OptimalTreeClassifier(max_depth=2, time_limit=None).fit(table, y), table, y


def numbers() -> tuple[Any, Any, Any]:
    """A tree of numbers, of a table with every kind of column and gaps."""
    table, _ = people(400)
    age, income = table["age"].to_numpy(), np.nan_to_num(table["income"].to_numpy(), nan=5000.0)
    rng = np.random.default_rng(7)
    rent = 400 + 0.08 * income + np.where(table["region"] == "south", 250, 0) + 3 * age + rng.normal(0, 60, 400)
    return OptimalTreeRegressor(max_depth=2, time_limit=None).fit(table, rent), table, rent


def actions() -> tuple[Any, Any, Any]:
    """A policy of three actions, of the same table."""
    table, _ = people(400)
    rng = np.random.default_rng(8)
    age, married = table["age"].to_numpy(), table["married"].to_numpy()
    rewards = pl.DataFrame(
        {
            "nothing": np.zeros(400),
            "letter": np.where(age > 40, 9.5, -6.0) + rng.normal(0, 4, 400),
            "call": np.where(married, 12.0, -9.0) + rng.normal(0, 4, 400),
        }
    )
    return OptimalPolicyTree(max_depth=2, time_limit=None).fit(table, rewards), table, rewards


def times() -> tuple[Any, Any, Any]:
    """A tree of survival times, of the same table."""
    table, _ = people(400)
    rng = np.random.default_rng(9)
    age, married = table["age"].to_numpy(), table["married"].to_numpy()
    died = rng.exponential(np.where(age > 50, 20.0, 60.0) * np.where(married, 2.0, 1.0)).round(1) + 0.1
    seen = rng.uniform(5, 80, 400).round(1)
    y = pl.DataFrame({"time": np.minimum(died, seen), "died": died <= seen})
    return OptimalSurvivalTree(max_depth=2, min_samples_leaf=20, time_limit=None).fit(table, y), table, y


def hostile() -> tuple[Any, Any, Any]:
    """Columns, levels and classes with names that would be code."""
    rng = np.random.default_rng(2)
    n = 200
    frame = pl.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=n),
            HOSTILE[1]: rng.normal(size=n),
            HOSTILE[4]: rng.normal(size=n),
            HOSTILE[3]: rng.random(n) < 0.5,
            "level": rng.choice([HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[5]], n),
        }
    )
    wanted = (frame[HOSTILE[0]].to_numpy() > 0) ^ (frame["level"] == HOSTILE[0]).to_numpy()
    y = np.where(wanted, HOSTILE[0], np.where(frame[HOSTILE[3]].to_numpy(), HOSTILE[5], HOSTILE[1]))
    return OptimalTreeClassifier(max_depth=3, time_limit=None).fit(frame, y), frame, y
