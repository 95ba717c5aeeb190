"""Rules that a model obeys everywhere: against all cells, by hand, and against every choice of sets."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, proved_rules
from proofwood.engines.run import Clock
from proofwood.explain.search.cover import fewest_covering, most_covered
from tests.fuzz.proved_rules import MODELS, one_case

BOOSTERS = ("xgboost", "lightgbm")
IRIS, LABELS = load_iris(return_X_y=True, as_frame=True)
NUMBERS = [
    pytest.param(n, marks=[pytest.mark.needs(name)] if (name := MODELS[n % len(MODELS)].__name__) in BOOSTERS else [])
    for n in range(8)
]
FOREST = RandomForestClassifier(100, max_depth=4, random_state=0).fit(IRIS, LABELS)


def test_the_rules_of_a_tree_are_its_leaves() -> None:
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, ["no", "no", "no", "yes"])
    rules = proved_rules(tree, X)
    assert sorted(map(str, rules)) == ["x0 <= 0.5 -> no", "x0 >= 0.500001 and x1 >= 0.500001 -> yes", "x1 <= 0.5 -> no"]
    assert [(rule.n_rows, rule.n_new) for rule in rules] == [(2, 2), (2, 1), (1, 1)]
    assert rules.status == "covered"
    assert rules.most_covered == rules.n_covered == 4
    assert "3 rules for 4 of 4 rows (100.0 %)" in str(rules)


def test_a_forest_of_a_hundred_trees_obeys_few_rules() -> None:
    rules = proved_rules(FOREST, IRIS, max_rules=4)
    assert rules.coverage > 0.7
    assert rules.check().ok
    assert str(rules.check()) == "4 of 4 rules proved"
    spread = np.random.default_rng(0).uniform(IRIS.min(), IRIS.max(), (4000, 4)).round(2)
    rows = pd.DataFrame(np.concatenate([IRIS, spread]), columns=IRIS.columns)
    said = rules.rule_of(rows)
    labels = np.array([rule.prediction for rule in rules])
    assert (said >= 0).sum() > 1000
    assert np.array_equal(labels[said[said >= 0]], FOREST.predict(rows)[said >= 0])
    assert np.array_equal(rules.predict(rows, otherwise="model"), FOREST.predict(rows))
    assert [value is None for value in rules.predict(rows)] == (said < 0).tolist()
    assert rules.n_covered == (said[:150] >= 0).sum()


@pytest.mark.parametrize("number", NUMBERS)
def test_random_models_obey_their_rules_in_all_cells(number: int) -> None:
    one_case(number)


def test_rules_are_about_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (80, 4)).astype(float)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, X[:, 0] + X[:, 1] > X[:, 2] + 3)
    made = Explainer(forest, plausible=IsolationForest(n_estimators=2, max_samples=8, random_state=0).fit(X))
    with pytest.raises(ValueError, match="plausible= does not work for this question"):
        proved_rules(made, X)


def test_a_share_is_covered_by_as_few_candidates_as_can_be() -> None:
    rules = proved_rules(FOREST, IRIS, coverage=0.5)
    assert rules.status == "covered"
    assert rules.coverage >= 0.5
    assert len(rules) == 2


def test_short_rules() -> None:
    rules = proved_rules(FOREST, IRIS, max_conditions=2, max_rules=5)
    assert 0 < max(len(rule.conditions) for rule in rules) <= 2
    assert rules.check().ok


def test_missing_values_and_categories() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = (np.nan_to_num(X[:, 0]) > X[:, 1]).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=5).fit(X, y)
    rules = proved_rules(model, X, max_rules=6)
    said = rules.rule_of(X)
    assert (said >= 0).sum() == rules.n_covered > 150
    assert np.isnan(X[said >= 0]).any()
    assert rules.check().ok
    known = X[~np.isnan(X).any(axis=1)]
    narrow = proved_rules(model, known, max_rules=6)
    assert (narrow.rule_of(X)[np.isnan(X[:, :2]).any(axis=1)] == -1).all()  # it says nothing of missing values

    table = pd.DataFrame({"colour": rng.choice(["blue", "green", "red"], 200), "size": rng.normal(size=200).round(1)})
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    forest = make_pipeline(encode, RandomForestClassifier(9, max_depth=3, random_state=0))
    forest.fit(table, (table["colour"] == "red") ^ (table["size"] > 0.3))
    rules = proved_rules(forest, table)
    assert rules.status == "covered"
    assert any("colour = red" in str(rule) for rule in rules)
    assert rules.check().ok


def test_a_limit_of_time_leaves_proved_rules() -> None:
    began = time.monotonic()
    rules = proved_rules(FOREST, IRIS, time_limit=1e-9)
    assert (rules.status, len(rules), rules.coverage) == ("time_limit", 0, 0.0)
    assert (rules.rule_of(IRIS) == -1).all()
    assert str(rules).startswith("0 rules for 0 of 150 rows")
    assert rules.export_text() == ""
    assert time.monotonic() - began < 5


def test_the_check_finds_a_wrong_rule() -> None:
    rules = proved_rules(FOREST, IRIS, max_rules=2)
    first = rules[0]
    region = replace(first.region, high=np.array(first.model.scores.n_thresholds), low=np.zeros_like(first.region.low))
    wrong = replace(rules, rules=(rules[1], replace(first, region=region)))
    checked = wrong.check()
    assert (checked.ok, checked.proved, checked.broken) == (False, 1, 1)
    assert checked.row is not None
    assert FOREST.predict(pd.DataFrame([checked.row], columns=IRIS.columns))[0] != first.prediction
    assert str(checked) == "rule 2 does not hold"


def test_what_is_given_back() -> None:
    rules = proved_rules(FOREST, IRIS, max_rules=3)
    frame = rules.to_frame()
    assert frame["new"].sum() == rules.n_covered
    assert frame["covered"][-1] == pytest.approx(rules.coverage)
    assert rules.to_dict()["rules"][0]["rule"] == rules[0].text(None) == frame["rule"][0]
    assert len(rules.export_text().splitlines()) == 3
    axes = rules.plot()
    assert len(axes.get_yticks()) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rules": 0}, "max_rules"),
        ({"coverage": 0}, "coverage"),
        ({"coverage": 1.5}, "coverage"),
        ({"max_conditions": 0}, "max_conditions"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_wrong_arguments(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        proved_rules(FOREST, IRIS, **options)  # type: ignore[arg-type]


def test_what_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="no rows"):
        proved_rules(FOREST, IRIS[:0])
    number = RandomForestRegressor(3, random_state=0).fit(IRIS, LABELS)
    with pytest.raises(ValueError, match="prediction of one row"):
        proved_rules(Explainer(number, target=("within", 0.1)), IRIS)


def test_choices_of_sets_are_those_of_an_enumeration() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        m, p, n = int(rng.integers(1, 9)), int(rng.integers(1, 14)), int(rng.integers(1, 5))
        covers, weight = rng.random((m, p)) < rng.choice([0.2, 0.4]), rng.integers(1, 5, p)
        worth = {
            sets: int(weight[covers[list(sets)].any(axis=0)].sum())
            for size in range(min(n, m) + 1)
            for sets in combinations(range(m), size)
        }
        best = max(worth.values())
        found = most_covered(covers, weight, n)
        assert (found.covered, found.upper_bound) == (best, best)
        assert worth[tuple(sorted(found.sets))] == best
        stopped = most_covered(covers, weight, n, Clock.of(0.0))
        assert 0.63 * best <= stopped.covered <= best <= stopped.upper_bound
        fewest = fewest_covering(covers, weight, best, found)
        assert len(fewest.sets) == min(len(sets) for sets, value in worth.items() if value == best)
