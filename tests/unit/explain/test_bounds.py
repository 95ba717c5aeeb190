"""Bounds and regions that end at thresholds, and features in regions, against all rows of small grids."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, OptimalTreeClassifier
from tests.fuzz import bounds, explanations


@pytest.mark.parametrize("number", explanations.numbers(14, bounds.MODELS))
def test_models_within_bounds_that_end_at_thresholds(number: int) -> None:
    assert bounds.one_case(number)["models"]


def test_the_threshold_itself_is_a_row_within_bounds_that_begin_there() -> None:
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    explainer = Explainer(
        OptimalTreeClassifier(max_depth=1, threshold_rule="midpoint").fit(X, y), bounds={0: (2.5, 10.0)}
    )
    found = explainer.possible({})
    assert found.classes == {0: True, 1: True}
    assert found.rows[0].tolist() == [2.5]
    assert found.rows[1].tolist() == [math.nextafter(2.5, 3.0)]
    near = explainer.counterfactual([2.5])
    assert (near.status, near.witness.tolist()) == ("optimal", [math.nextafter(2.5, 3.0)])


ENGINES = ["auto", "cdcl", "messages"]


@pytest.mark.parametrize("unit", [1e-4, 1e-9, 1e-100])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_distances_in_small_units_are_those_of_all_rows(unit: float, engine: str, metric: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 8, (40, 2)) * unit
    y = (X[:, 0] > 3 * unit) ^ (X[:, 1] > 5 * unit)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    explainer = Explainer(model, engine=engine)
    cuts = [explainer.model.grid.columns[g].thresholds for g in range(2)]
    for x in X[:3]:
        values = [[x[j], *cuts[j], *np.nextafter(cuts[j], np.inf)] for j in range(2)]
        rows = np.array([[a, b] for a in values[0] for b in values[1]])
        away = np.abs(rows[model.predict(rows) != model.predict(x[np.newaxis])[0]] - x)
        least = {"l1": away.sum(axis=1), "l2": np.hypot(*away.T), "linf": away.max(axis=1)}[metric].min()
        found = explainer.counterfactual(x, metric=metric, weights=1.0)
        assert found.status == "optimal"
        assert found.distance == pytest.approx(least, rel=1e-12, abs=0)
        assert found.lower_bound == pytest.approx(least, rel=1e-9, abs=0)
        assert found.verify().ok


def one_hot(levels: int) -> tuple[Any, pd.DataFrame]:
    """A forest behind a one-hot column of so many levels, and the rows that it learned from."""
    rng = np.random.default_rng(0)
    names = [f"k{i:03d}" for i in range(levels)]
    X = pd.DataFrame({"kind": rng.choice(names, 600), "v": rng.normal(size=600)})
    steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough")
    forest = RandomForestClassifier(20, max_depth=6, random_state=0)
    return make_pipeline(steps, forest).fit(X, X.kind.isin(names[::3]) ^ (X.v > 1)), X


def test_values_of_a_category_in_a_region_are_those_of_the_region() -> None:
    model, X = one_hot(24)
    explainer = Explainer(model, X=X)
    for where in (["k001", "k002"], ["k000", "k001"], ["k003"], ["k000", "k003", "k006"]):
        found = explainer.independent_of("kind", {"kind": where, "v": (-0.5, 0.5)})
        rows = pd.DataFrame({"kind": np.repeat(where, 41), "v": np.tile(np.linspace(-0.5, 0.5, 41), len(where))})
        labels = model.predict(rows).reshape(len(where), 41)
        if (labels != labels[0]).any():
            assert found.holds is False
        if found.rows is not None:
            levels = explainer.model.inputs[0].levels
            assert {levels[int(code)] for code in found.rows[:, 0]} <= set(where)


FACTORS, LIMITS = (0.1, 0.2, 0.3, 0.7, 1, 3, -0.1, -0.3, -1), (-1, -0.7, -0.3, 0, 0.1, 0.3, 0.7, 1)
PRICES = (0.0, 0.001, 0.2, 1.0, 3.0, (0.2, 3.0), (0.0, 0.5))


def price(weight: float | tuple[float, float], change: float) -> float:
    down, up = weight if isinstance(weight, tuple) else (weight, weight)
    return down * -change if change < 0 else up * change


def holds(constraint: str, x0: float, x1: float) -> bool:
    return bool(eval(constraint, {"x0": x0, "x1": x1}))


def total(draw: random.Random) -> str:
    return " + ".join(f"{draw.choice(FACTORS)} * {name}" for name in draw.choice([("x0",), ("x1",), ("x0", "x1")]))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_sums_that_meet_their_limit_but_for_rounding(seed: int, metric: str) -> None:
    draw, asked = random.Random(100 * seed), 0
    while asked < 6:
        domains = [(low, low + draw.randint(1, 5)) for low in (draw.randint(-3, -1), draw.randint(-3, 0))]
        signs = ["<", "<=", ">=", "=="]
        constraints = [f"{total(draw)} {draw.choice(signs)} {draw.choice(LIMITS)}" for _ in range(draw.randint(1, 2))]
        weights = {name: draw.choice(PRICES) for name in ("x0", "x1")}
        rows = np.array(list(itertools.product(*(range(low, high + 1) for low, high in domains))), dtype=float)
        labels = (rows[:, 0] >= 0) ^ (rows[:, 1] > 2)
        if labels.all() or not labels.any():
            continue
        asked += 1
        at = draw.randrange(len(rows))
        paid = []
        for row, label in zip(rows, labels, strict=True):
            if label != labels[at] and all(holds(text, *row) for text in constraints):
                each = [price(weights[f"x{j}"], row[j] - rows[at, j]) for j in (0, 1)]
                paid.append({"l1": sum(each), "l2": float(np.hypot(*each)), "linf": max(each)}[metric])
        model = DecisionTreeClassifier(random_state=0).fit(rows, labels)
        explainer = Explainer(model, bounds=dict(enumerate(domains)), integer=[0, 1], feature_names=["x0", "x1"])
        found = explainer.counterfactual(rows[at], constraints=constraints, weights=weights, metric=metric)
        told = (constraints, weights, found.status, found.distance)
        assert found.status == ("optimal" if paid else "none"), told
        if paid:
            assert found.distance == pytest.approx(min(paid), rel=1e-9, abs=1e-300), told
