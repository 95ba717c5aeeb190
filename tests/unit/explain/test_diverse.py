"""Several nearest rows, against all rows of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from proofwood import Explainer
from proofwood.ensembles.door import Admitted
from proofwood.explain.nearest.measure import measure_of
from tests.fuzz import explanations as fuzz

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 5)), columns=list("abcde"))
MODEL = RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, X["a"] + X["b"] * X["c"] > 0.2)


def nearest_by_hand(explainer: Explainer, grid: fuzz.Grid, at: int, earlier: list[set[int]]) -> tuple[float, set[int]]:
    """Distance (of cells) and changes of the nearest row that changes all of no earlier set."""
    model = explainer.model
    cells = model.cells_of(grid.rows)
    measure = measure_of(model, grid.rows[at], cells[at], "l1")
    assert measure is not None
    best, changes = np.inf, set()
    for row in np.flatnonzero(grid.codes != grid.codes[at]).tolist():
        moved = cells[row] != cells[at]
        changed = {f for f, columns in enumerate(model.scores.features) if moved[list(columns)].any()}
        if any(one <= changed for one in earlier):
            continue
        paid = sum(price[cell] for price, cell in zip(measure.prices, cells[row].tolist(), strict=True))
        if paid < best:
            best, changes = paid, changed
    return best, changes


@pytest.mark.parametrize("number", fuzz.numbers(12))
@pytest.mark.filterwarnings("ignore")
def test_each_is_the_nearest_that_leaves_something_of_the_earlier_ones(number: int) -> None:
    case, rng = fuzz.make(41, number)
    explainer = Explainer(case.model, X=case.X)
    grid = fuzz.Grid(explainer, rng)
    if grid.size > fuzz.MOST_ROWS or explainer.model.scores.margin:
        return
    at = int(rng.integers(len(grid.rows)))
    row = Admitted.one(grid.rows[at], int(grid.codes[at]))
    earlier: list[set[int]] = []
    for found in explainer.counterfactuals(row, limit=6):
        distance, _ = nearest_by_hand(explainer, grid, at, earlier)
        assert found.lower_bound <= distance + 1e-6 * max(1.0, distance)
        if found.status == "optimal":
            assert found.distance == pytest.approx(distance, rel=1e-6, abs=1e-9)
        assert not any(one <= set(found.features) for one in earlier)
        earlier.append(set(found.features))
    if len(earlier) < 6:
        assert nearest_by_hand(explainer, grid, at, earlier)[0] == np.inf


@pytest.mark.parametrize("metric", ["l1", "l2", "linf", "changes"])
def test_they_come_by_distance_and_keep_what_may_not_change(metric: Any) -> None:
    explainer = Explainer(MODEL, X=X)
    row = X.iloc[[0]]
    found = explainer.counterfactuals(row, limit=4, metric=metric, immutable=["e"])
    assert 3 <= len(found) <= 4
    assert found[0].distance == pytest.approx(explainer.counterfactual(row, metric=metric, immutable=["e"]).distance)
    distances = [one.distance for one in found]
    assert distances == sorted(distances)
    for at, one in enumerate(found):
        assert "e" not in one.names
        assert one.status == "optimal"
        assert one.verify().ok
        assert not any(set(other.features) <= set(one.features) for other in found[:at])
        assert MODEL.predict(pd.DataFrame([one.witness], columns=X.columns))[0] != one.prediction


def test_a_limit_of_time_takes_the_claims_away() -> None:
    y = np.random.default_rng(3).integers(0, 2, 2000)
    table = np.random.default_rng(2).normal(size=(2000, 30))
    explainer = Explainer(RandomForestClassifier(100, random_state=0).fit(table, y))
    found = explainer.counterfactuals(table[0], limit=3, time_limit=0.3)
    assert len(found) <= 3
    for one in found:
        assert one.status.split()[0] in ("optimal", "feasible")
        assert one.lower_bound <= one.distance


@pytest.mark.parametrize("limit", [0, None, 1.5])
def test_a_wrong_number_is_refused(limit: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="limit="):
        Explainer(MODEL, X=X).counterfactuals(X.iloc[[0]], limit=limit)
