"""Nearest rows in every measure of distance, against the model's predictions for all cells of its grid."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from proofwood import Explainer
from proofwood.explain.model.prices import count_prices
from proofwood.explain.table.records import read_explanations
from tests.fuzz import explanations as fuzz

METRICS = ("l1", "l2", "linf", "changes")
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(20, 70, 200),
        "income": RNG.normal(40, 15, 200).round(1),
        "purpose": np.array(["car", "house", "travel"])[RNG.integers(0, 3, 200)],
    }
)
GOOD = np.where(TABLE["income"] + 10 * (TABLE["purpose"] == "house") - 0.3 * (TABLE["age"] - 45) > 42, "yes", "no")
MODEL = make_pipeline(
    ColumnTransformer([("one", OneHotEncoder(), ["purpose"])], remainder="passthrough"),
    RandomForestClassifier(15, max_depth=4, random_state=0),
).fit(TABLE, GOOD)
ROW = TABLE[MODEL.predict(TABLE) == "no"].iloc[[0]]


@pytest.mark.parametrize("number", fuzz.numbers(24))
def test_no_row_of_another_class_is_nearer(number: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case, rng = fuzz.make(11, number)
        explainer = Explainer(case.model, X=case.X)
        grid = fuzz.Grid(explainer, rng)
        if grid.size > fuzz.MOST_ROWS:
            return
        for at in rng.choice(len(grid.rows), min(2, len(grid.rows)), replace=False).tolist():
            checks = fuzz.Checks(explainer, grid, at, Counter())
            for metric in METRICS:
                checks.counterfactual(metric, rng, certificate=bool(rng.random() < 0.7))


def test_measures_stand_in_their_order() -> None:
    explainer = Explainer(MODEL, X=TABLE)
    found = {metric: explainer.counterfactual(ROW, metric=metric, weights=1.0) for metric in ("l1", "l2", "linf")}
    assert all(one.status == "optimal" and one.verify().ok for one in found.values())
    assert found["l1"].distance >= found["l2"].distance >= found["linf"].distance > 0


@pytest.mark.parametrize("metric", METRICS)
def test_a_column_moves_within_what_it_may_become(metric: Any) -> None:
    explainer = Explainer(MODEL, X=TABLE)
    age, income = ROW[["age", "income"]].iloc[0]
    within = {"age": "up", "income": (income - 5, income + 5), "purpose": ["house"]}
    found = explainer.counterfactual(ROW, metric=metric, within=within, target="yes")
    free = explainer.counterfactual(ROW, metric=metric, target="yes")
    assert found.status in ("optimal", "none")
    if found.witness is not None:
        names = [column.name for column in explainer.model.inputs]
        then = dict(zip(names, found.witness, strict=True))
        assert then["age"] >= age
        assert abs(then["income"] - income) <= 5
        purposes = explainer.model.inputs[names.index("purpose")].levels
        assert purposes[int(then["purpose"])] in ("house", ROW["purpose"].iloc[0])
        assert found.distance >= free.distance - 1e-9
        assert found.verify().ok


def test_nothing_may_change_at_all() -> None:
    explainer = Explainer(MODEL, X=TABLE)
    within = {"age": (ROW["age"].iloc[0],) * 2, "income": (ROW["income"].iloc[0],) * 2, "purpose": []}
    for metric in METRICS:
        assert explainer.counterfactual(ROW, metric=metric, within=within).status == "none"


WRONG = [
    ({"within": {"age": "sideways"}}, "expected 'up', 'down' or"),
    ({"within": {"age": (50, 40)}}, "holds no value"),
    ({"within": {"age": (500, 600)}}, "leaves out the row's own value"),
    ({"within": {"height": "up"}}, "height"),
    ({"within": {"purpose": ["boat"]}}, "there is no category 'boat'"),
    ({"within": {"purpose": "house"}}, "expected a list"),
    ({"within": ["age"]}, "expected a mapping"),
    ({"weights": -1.0}, "expected a finite number from 0"),
    ({"weights": 1.0, "metric": "changes"}, "weights are not for metric='changes'"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_limits_are_refused_in_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Explainer(MODEL, X=TABLE).counterfactual(ROW, **options)


@pytest.mark.parametrize("metric", METRICS)
def test_tables_say_the_same_and_can_be_read_again(metric: Any, tmp_path: Path) -> None:
    explainer = Explainer(MODEL, X=TABLE)
    options: dict[str, Any] = {"metric": metric, "within": {"income": (0, 100), "purpose": ["house"]}}
    rows = TABLE.iloc[:6]
    many = explainer.explain(rows, kind="counterfactual", path=tmp_path / "found.jsonl", **options)
    again = read_explanations(tmp_path / "found.jsonl", explainer.model, rows)
    for at, one in enumerate(many):
        alone = explainer.counterfactual(rows.iloc[[at]], **options)
        assert one.distance == pytest.approx(alone.distance)
        assert one.verify().ok
        assert again[at].verify().ok
        assert again[at].distance == one.distance


@pytest.mark.parametrize("number", fuzz.numbers(40))
def test_prices_count_changed_features(number: int) -> None:
    case, rng = fuzz.make(3, number)
    explainer = Explainer(case.model, X=case.X)
    grid = fuzz.Grid(explainer, rng)
    if grid.size > fuzz.MOST_ROWS:
        return
    model = explainer.model
    cells = model.cells_of(grid.rows)
    own = cells[int(rng.integers(len(cells)))]
    prices = count_prices(model, own)
    if prices is None:
        return
    for other in cells:
        changed = sum((other != own)[list(columns)].any() for columns in model.scores.features)
        paid = sum(price[cell] for price, cell in zip(prices, other, strict=True))
        assert math.isclose(paid, changed)
