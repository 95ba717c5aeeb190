"""Nearest rows in every measure of distance, against the model's predictions for all cells of its grid."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from proofwood.explain.nearest.measure import count_prices
from proofwood.explain.proofs.certificate import check_certificate
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


@pytest.mark.parametrize("number", fuzz.numbers(12))
@pytest.mark.filterwarnings("ignore")
def test_no_row_of_another_class_is_nearer(number: int) -> None:
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


@pytest.mark.parametrize("metric", METRICS)
def test_a_value_within_limits_does_not_become_a_missing_one(metric: Any) -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, np.nan], [1.0, np.nan]] * 5)
    explainer = Explainer(DecisionTreeClassifier(random_state=0).fit(X, np.isnan(X[:, 1])), X=X)
    free = explainer.counterfactual([0.0, 0.0], metric=metric)
    assert free.status == ("optimal" if metric == "changes" else "none")  # in other metrics no value is lost
    for limits in ("up", "down", (-5.0, 5.0)):
        assert explainer.counterfactual([0.0, 0.0], metric=metric, within={1: limits}).status == "none"


@pytest.mark.parametrize("metric", METRICS)
def test_gaps_that_tests_send_either_way_leave_distances_exact(metric: Any) -> None:
    proved = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 1)).round(1)
        y = (np.sin(3 * X[:, 0]) > 0).astype(int)
        X[rng.random(80) < 0.3] = np.nan
        model = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5, min_samples_leaf=2).fit(X, y)
        explainer = Explainer(model, X=X)
        roles = [column.role for column in explainer.model.grid.columns]
        if roles != ["value", "value_missing_high", "missing"]:
            continue
        cuts = explainer.model.grid.columns[0].thresholds
        near = np.unique([*cuts, *np.nextafter(cuts, np.inf)])
        codes = model.predict(near[:, np.newaxis])
        for x in X[~np.isnan(X[:, 0])][:6, 0]:
            code = model.predict([[x]])[0]
            if metric == "changes":
                least = 1.0 if (codes != code).any() or model.predict([[np.nan]])[0] != code else math.inf
            else:
                least = float(np.abs(near - x)[codes != code].min(initial=math.inf))
            found = explainer.counterfactual([x], metric=metric, weights=None if metric == "changes" else 1.0)
            assert found.status == ("none" if math.isinf(least) else "optimal")
            assert math.isinf(least) or found.distance == pytest.approx(least)
            assert found.status == "none" or found.verify().ok
            proved += found.status == "optimal"
    assert proved > 20


def test_nothing_may_change_at_all() -> None:
    explainer = Explainer(MODEL, X=TABLE)
    within = {"age": (ROW["age"].iloc[0],) * 2, "income": (ROW["income"].iloc[0],) * 2, "purpose": []}
    for metric in METRICS:
        assert explainer.counterfactual(ROW, metric=metric, within=within).status == "none"


def homes(**options: Any) -> Any:
    """Rows are "yes" where they are of a home that is owned; the encoder knows two categories of four."""
    homes = pd.DataFrame({"home": ["rent", "own", "flat", "tent"] * 30, "income": np.arange(120) % 7})
    encoder = make_column_transformer((OneHotEncoder(**options), ["home"]), remainder="passthrough")
    return make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(homes, homes["home"] == "own"), homes


@pytest.mark.parametrize("metric", METRICS)
def test_of_categories_that_are_alike_one_that_is_permitted_is_taken(metric: Any, tmp_path: Path) -> None:
    model, table = homes()
    explainer, owner = Explainer(model), table[1:2]
    for wanted in (["flat"], ["rent"], ["tent"], ["tent", "flat"]):
        found = explainer.counterfactual(owner, metric=metric, within={"home": wanted}, certificate=True)
        assert all(check.passed for check in check_certificate(found.certificate, explainer.model))
        assert found.status == "optimal"
        assert any(f"home = {home} (not own)" in found.rule() for home in wanted)
        assert found.verify().ok
        several = explainer.explain(
            owner, kind="counterfactual", metric=metric, within={"home": wanted}, path=tmp_path / f"{wanted}"
        )
        assert several[0].rule() == found.rule()
        assert read_explanations(tmp_path / f"{wanted}", explainer.model, owner)[0].rule() == found.rule()
    assert explainer.counterfactual(owner, metric=metric, within={"home": []}).status == "none"


def test_prices_of_categories_that_are_not_permitted_do_not_count() -> None:
    model, table = homes()
    prices = {"home": {"rent": 1.0, "flat": 4.0, "tent": 9.0}}
    for wanted, price in ((["rent", "tent"], 1.0), (["flat", "tent"], 4.0), (["tent"], 9.0)):
        found = Explainer(model).counterfactual(table[1:2], weights=prices, within={"home": wanted})
        assert (found.status, found.distance) == ("optimal", price)
        assert found.verify().ok


@pytest.mark.parametrize("metric", METRICS)
def test_a_category_that_the_model_does_not_know_is_none_of_a_list(metric: Any) -> None:
    model, table = homes(categories=[["own", "rent"]], handle_unknown="ignore")
    model.fit(table, table["home"].isin(["own", "rent"]))
    explainer = Explainer(model)
    assert "any other" in explainer.counterfactual(table[1:2], metric=metric).rule()
    assert explainer.counterfactual(table[1:2], metric=metric, within={"home": ["rent"]}).status == "none"


@pytest.mark.parametrize("metric", METRICS[:3])
def test_a_category_that_is_permitted_and_has_no_price_is_outside_the_limits(metric: Any) -> None:
    model, table = homes(categories=[["own", "rent"]], handle_unknown="ignore")
    model.fit(table, table["home"].isin(["own", "rent"]))
    options = {"within": {"home": ["rent"]}, "weights": {"home": {"rent": math.inf}}}
    asked = table[~table["home"].isin(["own", "rent"])][:1]
    found = Explainer(model).counterfactual(asked, metric=metric, certificate=True, **options)
    assert found.status == "none"
    assert found.certificate is not None
    assert found.certificate["limits"][0]["codes"] == []
    assert all(check.passed for check in check_certificate(found.certificate, found.model))


UNKNOWN = [  # classes of the categories and of a missing value
    ([0, 0, 1, 1, 1], {"home": {"rent": 3.0, "tent": 2.5}}),
    ([0, 0, 0, 0, 1], None),
]


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("metric", METRICS[:3])
@pytest.mark.parametrize(("classes", "weights"), UNKNOWN)
def test_a_category_that_the_model_does_not_know_is_near_where_values_may_be_missing(
    metric: Any, classes: list[int], weights: Any
) -> None:
    from lightgbm import LGBMClassifier

    levels = ["flat", "own", "rent", "tent"]
    table = pd.DataFrame({"home": pd.Categorical([*levels, None] * 20, categories=levels), "age": np.arange(100.0)})
    model = LGBMClassifier(
        n_estimators=4, learning_rate=1.0, min_child_samples=1, min_data_per_group=1, cat_smooth=0, cat_l2=0,
        n_jobs=1, verbose=-1,
    ).fit(table, np.tile(classes, 20))  # fmt: skip
    found = Explainer(model, X=table).counterfactual(table[:1], metric=metric, weights=weights)
    homes = [*levels, "boat"]
    asked = pd.DataFrame({"home": pd.Categorical(homes), "age": 0.0})
    prices = [(weights or {"home": {}})["home"].get(home, 1.0) for home in homes]
    least = min(price for price, code in zip(prices, model.predict(asked), strict=True) if code == 1)
    assert (found.status, found.distance, found.lower_bound) == ("optimal", least, least)
    assert "any other category" in found.rule()
    assert found.verify().ok


def test_a_price_that_rounding_doubles_is_no_bound() -> None:
    X = np.array([[-1.0], [0.0], [1.0]])
    bins = KBinsDiscretizer(2, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(bins, DecisionTreeClassifier()).fit(X, [0, 1, 1])
    row, weight = np.array([[-5e-324]]), 0.5000000000000001
    found = Explainer(model).counterfactual(row, metric="linf", weights={0: weight}, certificate=True)
    assert found.witness is not None
    exact = Fraction(weight) * abs(Fraction(float(found.witness[0])) - Fraction(-5e-324))
    assert model.predict(found.witness[np.newaxis])[0] != model.predict(row)[0]
    assert Fraction(found.lower_bound) <= exact
    assert found.verify().ok


def test_a_class_that_rounding_decides_does_not_lower_a_proved_distance() -> None:
    # The row's own number is an end of the range, so that a search finds other classes even in its own cell, which a
    # proof closes. Rows at .5 - 1e-35, .5 and .5 + 1e-35 differ, though their distances are equal as float64.
    x = np.repeat([-1.0, -2e-35, -1e-36, 1e-36, 2e-35, 1.0], 4)[:, None]
    y = np.repeat([2.3, 2.1, 2.2, 1.9, 0.9, 1.0], 4)
    model = HistGradientBoostingRegressor(loss="gamma", max_iter=2, min_samples_leaf=1, early_stopping=False)
    own = float(model.fit(x, y).predict([[0.5]])[0])
    found = Explainer(model, target=("between", own, own + 0.1)).counterfactual([0.5], metric="linf")
    assert found.distance == 0.5
    assert found.verify().ok, found.verify().problems


WRONG = [
    ({"within": {"age": "sideways"}}, "expected 'up', 'down' or"),
    ({"within": {"age": (50, 40)}}, "is an empty interval"),
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


@pytest.mark.parametrize("number", fuzz.numbers(18))
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


def test_a_price_that_overflows_is_infinite() -> None:
    values = np.where(np.arange(60.0) % 3 == 0, np.nan, np.arange(60.0))
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(values[:, None], np.isnan(values))
    found = Explainer(model, X=values[:, None]).counterfactual([1.0], weights={0: lambda now, then: (then - now) ** 2})
    assert found.status == "none"  # a value does not become a missing one, and the test is for these alone
