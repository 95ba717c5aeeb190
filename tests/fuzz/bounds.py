"""Models within bounds that end at their thresholds, asked at random and checked by rows.

The checks are those of :mod:`tests.fuzz.explanations`. An end is a threshold of the model, a number of float64 beside
one, or, where both ends are the same, the only value that is left of a column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from proofwood import Explainer
from proofwood.data.kinds import Kind
from tests.fuzz import _records, explanations, regressors
from tests.fuzz.explanations import Case, Grid

MODELS: tuple[Callable[[np.random.Generator], Case], ...] = (
    explanations.own, explanations.forest, explanations.histogram_boosting, explanations.pipeline,
    regressors.regressor, explanations.xgboost, explanations.lightgbm,
)  # fmt: skip


def ends(explainer: Explainer, j: int, rng: np.random.Generator) -> tuple[float, float] | None:
    """Bounds of an input that end at thresholds or beside them; None for a column that has none."""
    model = explainer.model
    mine = [model.grid.columns[g] for g in model.grid.of_input[j]]
    cuts = np.unique(np.concatenate([[], *(one.thresholds for one in mine if one.role.startswith("value"))]))
    if not cuts.size or model.inputs[j].kind is Kind.NOMINAL:
        return None
    found = []
    for _ in "ab":
        cut = float(rng.choice(cuts))
        found.append(float(rng.choice([cut, cut, math.nextafter(cut, math.inf), math.nextafter(cut, -math.inf)])))
    low, high = sorted(found)
    return (low, high) if rng.random() < 0.6 else (low, math.inf) if rng.random() < 0.5 else (-math.inf, high)


def bounded(case: Case, rng: np.random.Generator) -> Case:
    """The case within bounds, and the rows of its table that are."""
    free = Explainer(case.model, X=case.X, **case.options)
    names = [given.name for given in free.model.inputs]
    chosen = {j: ends(free, j, rng) for j in range(len(names)) if rng.random() < 0.7}
    bounds = {j: pair for j, pair in chosen.items() if pair is not None}
    if any(free.model.inputs[j].whole and np.ceil(low) > np.floor(high) for j, (low, high) in bounds.items()):
        return case  # no integer is left
    read = free.model.read(case.X)
    inside = np.ones(len(read), dtype=bool)
    for j, (low, high) in bounds.items():
        inside &= np.isnan(read[:, j]) | ((read[:, j] >= low) & (read[:, j] <= high))
    return replace(case, X=case.X[inside], options={**case.options, "bounds": bounds}, told=f"{case.told}, {bounds}")


def about_features(explainer: Explainer, grid: Grid, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Whether the class depends on a feature, within a region that may limit the feature itself."""
    model = explainer.model
    for feature, name in enumerate(explainer.feature_names):
        where = some_region(explainer, grid, rng)
        inside = rows_in(explainer, grid.rows, where)
        rest = [j for j in range(len(model.inputs)) if j not in grid.columns_of[feature]]
        seen: dict[tuple[int, ...], set[int]] = {}
        for places, code in zip(grid.places[inside][:, rest].tolist(), grid.codes[inside].tolist(), strict=True):
            seen.setdefault(tuple(places), set()).add(code)
        truth = all(len(codes) == 1 for codes in seen.values())
        found = explainer.independent_of(name, where)
        counts[f"independent {found.holds}"] += 1
        assert found.holds is None or found.holds == truth, (name, where)
        assert found.holds is not None or model.scores.margin
        if found.rows is not None:
            assert rows_in(explainer, found.rows, where).all(), f"{name}: a row outside of {where}"
            assert np.array_equal(found.rows[0][rest], found.rows[1][rest], equal_nan=True)
            labels = model.classes[model.predict_codes(found.rows)].tolist()
            assert tuple(labels) == found.classes
            assert labels[0] != labels[1]


def about_regions(explainer: Explainer, grid: Grid, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Which classes rows of a region have, and that the rows shown are in it."""
    where = some_region(explainer, grid, rng)
    inside = rows_in(explainer, grid.rows, where)
    found = explainer.possible(where)
    for code, label in enumerate(explainer.model.classes.tolist()):
        answer = found.classes[label]
        counts[f"possible {answer}"] += 1
        assert answer is None or answer == bool((grid.codes[inside] == code).any()), (label, answer, where)
    for label, row in found.rows.items():
        assert rows_in(explainer, row[np.newaxis], where).all(), f"{label}: a row outside of {where}"


def some_region(explainer: Explainer, grid: Grid, rng: np.random.Generator) -> dict[str, Any]:
    """Limits of some columns that hold rows of the grid, and end anywhere between its values."""
    where: dict[str, Any] = {}
    for j, given in enumerate(explainer.model.inputs):
        if rng.random() < 0.5:
            continue
        if given.levels and given.kind is Kind.NOMINAL:
            where[given.name] = [level for level in given.levels if rng.random() < 0.6] or [given.levels[-1]]
        elif given.levels:
            permitted = range(math.ceil(given.low), math.floor(given.high) + 1)
            first, last = sorted(int(rng.choice(permitted)) for _ in "ab")
            where[given.name] = list(given.levels[first : last + 1])
        else:
            values = [value for value in grid.values[j] if not math.isnan(value)]
            low, high = sorted(float(rng.choice(values)) for _ in "ab")
            where[given.name] = low if low == high else (low, high)
    return where


def rows_in(explainer: Explainer, rows: Any, where: dict[str, Any]) -> Any:
    """Which rows have values within the limits themselves, not only within their cells."""
    inside = np.ones(len(rows), dtype=bool)
    for j, given in enumerate(explainer.model.inputs):
        if given.name not in where:
            continue
        allowed, values = where[given.name], rows[:, j]
        if given.levels:
            inside &= np.isin(values, [given.levels.index(level) for level in allowed])
        else:
            low, high = allowed if isinstance(allowed, tuple) else (allowed, allowed)
            inside &= (values >= low) & (values <= high)
    return inside


def check(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Ask about regions, features and rows of a model within bounds."""
    explainer = Explainer(case.model, X=case.X if case.needs_rows else None, **case.options)
    grid = Grid(explainer, rng)
    if grid.size <= explanations.MOST_ROWS:
        about_regions(explainer, grid, rng, counts)
        about_features(explainer, grid, rng, counts)
    explanations.check(case, rng, counts)


def one_case(number: int) -> Counter[str]:
    """The case of a number, of :data:`MODELS` in turn."""
    counts: Counter[str] = Counter()
    with explanations.drawn(number, MODELS) as (case, rng):
        case = bounded(case, rng)
        with _records.about(case.told):
            check(case, rng, counts)
    return counts
