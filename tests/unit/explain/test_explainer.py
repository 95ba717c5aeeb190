from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, Explanation, OptimalTreeClassifier
from proofwood.ensembles.explained import explained
from proofwood.explain.proofs.certificate import NoCertificateError, check_certificate
from proofwood.explain.search.extract import NotSufficientError


@pytest.fixture(scope="module")
def frame():
    """A small credit-like table: numbers, an integer, a one-hot group, a 0/1 column."""
    random = np.random.default_rng(3)
    n = 300
    table = pd.DataFrame({"income": random.uniform(10, 90, n).round(1), "years": random.integers(0, 12, n)})
    kind = random.integers(0, 3, n)
    for code, name in enumerate(("own", "rent", "free")):
        table[f"home_{name}"] = (kind == code).astype(int)
    table["married"] = random.integers(0, 2, n)
    good = table["income"] + 4 * table["years"] + 15 * table["home_own"] > 65
    return table, np.where(good, "yes", "no")


GROUPS = {"home": ["home_own", "home_rent", "home_free"]}


@pytest.fixture(scope="module")
def explainer(frame):
    table, y = frame
    forest = RandomForestClassifier(12, max_depth=4, random_state=0).fit(table, y)
    return Explainer(forest, feature_groups=GROUPS, X=table, bounds={"married": (0, 1), "income": (0, 200)})


def _predict(explainer, rows):
    return explainer.model.classes[explainer.model.predict_codes(np.atleast_2d(rows))]


def _rows_inside(explainer, found, n=200):
    """Random rows of the space that meet the conditions of an abductive explanation."""
    random = np.random.default_rng(0)
    drawn = np.column_stack(
        [
            random.uniform(0, 200, n),
            random.integers(0, 15, n),
            np.eye(3)[random.integers(0, 3, n)],
            random.integers(0, 2, n),
        ]
    )
    cells = explainer.model.cells_of(drawn)
    return drawn[((found.low <= cells) & (cells <= found.high)).all(axis=1)]


def test_an_abductive_explanation_in_words(explainer, frame):
    table, _ = frame
    for i in range(12):
        found = explainer.abductive(table[i : i + 1])
        assert isinstance(found, Explanation)
        assert found.status == "minimal"
        assert found.prediction == _predict(explainer, table.iloc[i].to_numpy(float))[0]
        assert found.names == tuple(explainer.feature_names[f] for f in found.features)
        assert found.rule().endswith(f" -> {found.prediction}")
        assert all(name in found.rule() for name in found.names)
        for feature, row in found.witnesses.items():
            assert feature in found.features
            assert _predict(explainer, row)[0] != found.prediction
        assert set(_predict(explainer, np.vstack([found.row, _rows_inside(explainer, found)]))) == {found.prediction}
        assert str(found) == f"{found.rule()}  [abductive, minimal]"
        assert "abductive" in repr(found)


def test_ranges_widen_the_rule_and_stay_sound(explainer, frame):
    table, _ = frame
    wider = 0
    for i in range(12):
        plain = explainer.abductive(table[i : i + 1])
        found = explainer.abductive(table[i : i + 1], inflate=True)
        assert found.features == plain.features
        assert (found.low <= plain.low).all()
        assert (found.high >= plain.high).all()
        wider += (found.high - found.low).sum() > (plain.high - plain.low).sum()
        assert set(_predict(explainer, np.vstack([found.row, _rows_inside(explainer, found, 2000)]))) == {
            found.prediction
        }
    assert wider > 6


def test_the_words_of_a_rule():
    X = pd.DataFrame({"weight": [60.0, 61.0, 70.0, 80.0, 81.0] * 2, "pain": [1] * 5 + [0] * 5})
    y = ((X["pain"] == 1) & (X["weight"] > 60) & (X["weight"] <= 80)).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    explainer = Explainer(tree, X=X, bounds={"pain": (0, 1)})
    assert explainer.abductive(X[2:3]).rule() == "60.5001 <= weight <= 80.5 and pain = 1 -> 1"
    assert explainer.abductive(X[7:8], order=["weight"]).rule() == "pain = 0 -> 0"
    assert explainer.abductive(X[5:6], order=["pain"]).rule() == "weight <= 60.5 -> 0"
    assert explainer.contrastive(X[2:3], immutable=["weight"]).rule() == "pain = 0 (not 1) -> 0"
    near = explainer.counterfactual(X[2:3], immutable=["pain"])
    assert near.rule().startswith("weight = ")
    assert near.rule().endswith("(not 70) -> 0")


def test_the_smallest_is_no_larger_and_says_so(explainer, frame):
    table, _ = frame
    for i in range(8):
        row = table[i : i + 1]
        listed = list(explainer.enumerate(row))
        for kind, ask in (("abductive", explainer.abductive), ("contrastive", explainer.contrastive)):
            found = ask(row, smallest=True)
            assert found.status == "smallest"
            assert len(found.features) == found.lower_bound == min(len(e.features) for e in listed if e.kind == kind)
        assert len(list(explainer.enumerate(row, kind="abductive"))) == sum(e.kind == "abductive" for e in listed)
        assert len(list(explainer.enumerate(row, limit=2))) == 2
        sets = [set(e.features) for e in listed if e.kind == "abductive"]
        relevant = {explainer.feature_names[f] for s in sets for f in s}
        assert {name for name, answer in explainer.relevant(row).items() if answer} == relevant
        everywhere = {explainer.feature_names[f] for f in set.intersection(*sets)}
        assert {name for name, answer in explainer.necessary(row).items() if answer} == everywhere
        shares = explainer.attribution(row)
        assert shares.complete
        assert shares.names == explainer.feature_names
        assert {n for n, s in zip(shares.names, shares.share, strict=True) if s > 0} == relevant
        assert all(name in str(shares) for name in relevant)


def test_counterfactuals_change_the_class_within_bounds_and_integers(explainer, frame):
    table, _ = frame
    for i in range(10):
        row = table[i : i + 1]
        found = explainer.counterfactual(row, immutable=["married"])
        assert found.status == "optimal"
        assert found.witness_label != found.label
        assert found.witness[1] == int(found.witness[1])
        assert found.witness[2:5].sum() == 1
        assert found.witness[5] == found.row[5]
        assert 0 <= found.witness[0] <= 200
        assert found.lower_bound == pytest.approx(found.distance)
        few = explainer.counterfactual(row, metric="changes")
        assert few.distance == len(few.features) <= len(explainer.counterfactual(row).features)
        # no row of the table with another class is nearer
        prices = explainer.counterfactual(row)
        others = table[_predict(explainer, table.to_numpy(float)) != found.prediction].to_numpy(float)
        own = table.iloc[i].to_numpy(float)
        cells = explainer.model.cells_of(others)
        costs = [sum(p[c] for p, c in zip(prices.prices, line, strict=True)) for line in cells]
        assert min(costs) >= prices.distance - 1e-9
        assert not np.array_equal(prices.witness, own)


@pytest.mark.parametrize("vote", ["auto", "majority"])
def test_the_class_of_a_row_is_that_of_the_model_also_at_ties(vote):
    X, y = load_iris(return_X_y=True)
    X = np.round(X * 2) / 2  # few values, so that trees disagree
    forest = RandomForestClassifier(4, random_state=1).fit(X, y)
    model = explained(forest, vote=vote)
    rows = np.random.default_rng(0).choice(X.ravel(), size=(400, 4))
    cells = model.cells_of(rows)
    sums = np.sort(model.sums_of(cells), axis=1)
    assert (sums[:, -1] - sums[:, -2] <= model.scores.margin).any(), "no tie, of which the model must be asked"
    expected = model.predict_codes(rows).tolist()
    assert model.admit(rows).codes.tolist() == expected
    assert [Explainer(model)._question(row, None, None).label for row in rows[:40]] == expected[:40]


def test_weights_turn_the_nearest_row(explainer, frame):
    table, _ = frame
    row = table[:1]
    dear = explainer.counterfactual(row, weights={"income": 1000.0, "home": 1000.0})
    assert dear.distance >= explainer.counterfactual(row, weights={"income": 0.0, "home": 0.0}).distance
    with pytest.raises(ValueError, match="expected a price from 0"):
        explainer.counterfactual(row, weights={"income": -1.0})
    with pytest.raises(ValueError, match="is not a column"):
        explainer.counterfactual(row, weights={"wealth": 1.0})


def test_features_by_name_or_index_and_clear_errors(explainer, frame):
    table, _ = frame
    row = table[:1]
    assert explainer.feature_names == ("income", "years", "home", "married")
    assert explainer.is_sufficient(row, ["income", 1, "home", "married"]) is True
    assert explainer.is_sufficient(row, []) is False
    found = explainer.abductive(row, keep=["married"])
    assert "married" in found.names
    with pytest.raises(ValueError, match="keep contains 'merried', which is not a column"):
        explainer.abductive(row, keep=["merried"])
    with pytest.raises(ValueError, match=r"expected a list, such as \['income'\]"):
        explainer.abductive(row, free="income")
    with pytest.raises(NotSufficientError, match=r"free=\['income', 'years', 'home', 'married'\]"):
        explainer.abductive(row, free=[0, 1, 2, 3])
    with pytest.raises(NotSufficientError, match="Every explanation needs at least one of them"):
        explainer.abductive(row, free=[0, 1, 2, 3], smallest=True)
    with pytest.raises(ValueError, match="x has 2 rows"):
        explainer.abductive(table[:2])
    with pytest.raises(ValueError, match="target='maybe' is not a class"):
        explainer.contrastive(row, target="maybe")
    with pytest.raises(ValueError, match="the model already predicts"):
        explainer.contrastive(row, target=found.prediction)
    with pytest.raises(ValueError, match="outside its bounds"):
        explainer.abductive(row.assign(income=500.0))
    with pytest.raises(ValueError, match="engine='magic'"):
        Explainer(explainer.model, engine="magic")
    with pytest.raises(ValueError, match="time_limit=0"):
        Explainer(explainer.model, time_limit=0)
    with pytest.raises(ValueError, match="metric='l3'"):
        explainer.counterfactual(row, metric="l3")
    with pytest.raises(ValueError, match="kind='both'"):
        explainer.enumerate(row, kind="both")


def test_a_row_may_come_in_many_forms(explainer, frame):
    table, _ = frame
    expected = explainer.abductive(table[3:4]).features
    values = table.iloc[3]
    for x in (values, values.to_dict(), values.to_numpy(float), values.tolist(), table[3:4].to_numpy(float)):
        assert explainer.abductive(x).features == expected


def test_targets_of_many_classes():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    explainer = Explainer(forest)
    for x in X[[0, 60, 140]]:
        full = explainer.abductive(x)
        for target in {0, 1, 2} - {full.prediction}:
            part = explainer.abductive(x, target=target)
            assert part.rule().endswith(f"-> not {target}")
            assert explainer.is_sufficient(x, part.features, target=target)
            there = explainer.contrastive(x, target=target)
            assert there.witness_label == target
            assert explainer.counterfactual(x, target=target).witness_label == target
            assert part.verify().ok


def test_a_class_that_is_asked_for_is_the_class_that_comes_first():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4)).round(1)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) + (X[:, 2] > 0.5)  # four classes, of which two lie between
    forest = RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, y)
    explainer, reached, sure = Explainer(forest, vote="majority"), 0, 0
    for x in X[:12]:
        code = explainer.abductive(x).prediction
        for target in {0, 1, 2, 3} - {code}:
            for found in (explainer.contrastive(x, target=target), explainer.counterfactual(x, target=target)):
                if found.status != "none":
                    reached += 1
                    assert found.witness_label == target
                    assert explainer.model.predict_codes(found.witness[np.newaxis])[0] == target
            part = explainer.abductive(x, target=target)
            sure += part.status == "minimal"
            assert part.verify().ok
    assert reached > 40
    assert sure > 20


@pytest.mark.parametrize("engine", ["paper", "messages"])
def test_other_engines_find_explanations_too(engine):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(7, max_depth=3, random_state=0).fit(X, y)
    explainer = Explainer(forest, vote="majority", engine=engine)
    for x in X[[0, 70]]:
        found = explainer.abductive(x)
        assert found.engine == engine
        assert found.verify().ok
        assert explainer.contrastive(x).verify().ok
    assert explainer.abductive(X[0], inflate=True).status == "minimal"


def test_a_constant_model_and_a_class_that_cannot_change():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    constant = Explainer(DecisionTreeClassifier().fit(X, [1, 1, 1, 1]))
    found = constant.abductive(X[0])
    assert (found.features, found.rule()) == ((), "always -> 1")
    tree = Explainer(DecisionTreeClassifier().fit(X[:, :1], [0, 0, 1, 1]))
    stuck = tree.contrastive(X[0, :1], immutable=[0])
    assert stuck.status == "none"
    assert stuck.rule() == "no permitted change leads away from 0 (with x0 as it is)"
    assert stuck.verify().status == "confirmed"
    assert tree.counterfactual(X[0, :1], immutable=[0]).status == "none"


def test_missing_values_are_values():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = (np.where(np.isnan(X[:, 0]), 1.0, X[:, 0]) + X[:, 1] > 0).astype(int)
    X[random.random(X.shape) < 0.2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5, min_samples_leaf=5).fit(X, y)
    explainer = Explainer(model, X=X)
    for x in X[:2]:
        found = explainer.abductive(x, inflate=True)
        assert found.verify().ok
        assert ("missing" in found.rule()) or not np.isnan(x[list(found.features)]).any()
        far = explainer.counterfactual(x)
        assert far.witness_label != far.label
        assert not (np.isnan(far.witness) & ~np.isnan(x)).any()


def test_missing_values_of_the_row_are_considered_without_being_declared():
    X, y = load_breast_cancer(return_X_y=True)
    random = np.random.default_rng(0)
    X[random.random(X.shape) < 0.2] = np.nan
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    explainer, declared = Explainer(tree), Explainer(tree, X=X)
    for x in X[:20]:
        found = explainer.abductive(x)
        assert found.verify().ok
        assert explainer.contrastive(x).verify().ok
        # a missing value is considered where this row has one, and nowhere else
        tested = set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())
        assert set(found.model.missing) <= set(np.flatnonzero(np.isnan(x)).tolist()) & tested
        assert explainer.model.missing == ()
        assert declared.is_sufficient(x, found.features) in (True, False)
    table = explainer.explain(X[:20])
    assert {each.status for each in table} == {"minimal"}
    certified = explainer.abductive(X[0], certificate=True)
    assert certified.model.missing
    assert all(check.passed for check in check_certificate(certified.certificate, explainer.model))


@pytest.mark.needs("xgboost", "lightgbm")
def test_boosters_range_over_values_only_within_bounds():
    import lightgbm
    import xgboost

    random = np.random.default_rng(0)
    X = random.integers(0, 3, (120, 2)).astype(float)
    y = (X.sum(axis=1) > 1).astype(int)
    for model in (xgboost.XGBClassifier(n_estimators=3, n_jobs=1), lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)):
        model.fit(X, y)
        bounds = {j: (float(X[i, j]), float(X[i, j])) for i in [0] for j in (0, 1)}
        explainer = Explainer(model, bounds=bounds)
        assert explainer.abductive(X[0]).features == ()  # the bounds leave one row, which is its own class


def test_time_limits_leave_sound_sets(explainer, frame):
    table, _ = frame
    fresh = Explainer(explainer.model, time_limit=1e-9)
    found = fresh.abductive(table[:1])
    assert found.status == "sufficient"
    assert explainer.is_sufficient(table[:1], found.features)
    assert len(Explainer(explainer.model, time_limit=1e-9).abductive(table[:1], order=[0]).features) == 4
    assert fresh.contrastive(table[:1]).status == "unknown"
    assert fresh.counterfactual(table[:1]).status == "unknown"
    assert fresh.counterfactual(table[:1], metric="changes").status == "unknown"
    assert fresh.is_sufficient(table[:1], [0]) is None
    assert list(fresh.enumerate(table[:1])) == []
    assert fresh.abductive(table[:1], free=[0]).status == "unknown"


def test_plain_values_survive_json_and_the_explainer_survives_pickle(explainer, frame):
    table, _ = frame
    found = explainer.abductive(table[:1])
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["names"] == list(found.names)
    assert told["prediction"] == found.prediction
    assert told["rule"] == found.rule(None)
    assert set(told["witnesses"]) == {str(f) for f in found.features}
    again = pickle.loads(pickle.dumps(explainer))
    assert again.abductive(table[:1]).features == found.features


def test_pictures(explainer, frame):
    table, _ = frame
    for found in (explainer.abductive(table[:1], inflate=True), explainer.counterfactual(table[:1])):
        axes = found.plot()
        assert [text.get_text() for text in axes.get_yticklabels()] == list(found.names)
        assert found.plot(ax=axes) is axes


def test_certificates_come_with_explanations(explainer, frame):
    table, _ = frame
    kept = explainer.abductive(table[:1], certificate=True, keep=["married"])
    assert all(check.passed for check in check_certificate(kept.certificate, explainer.model))
    with pytest.raises(ValueError, match="cannot be used with inflate=True"):
        explainer.abductive(table[:1], certificate=True, keep=["married"], inflate=True)
    with pytest.raises(NoCertificateError, match="the time ran out"):
        Explainer(explainer.model, time_limit=1e-9).enumeration_certificate(table[:1])


def test_dates_are_dates_in_words() -> None:
    days = np.datetime64("2020-01-01") + np.arange(40)
    X = pl.DataFrame({"opened": days, "at": days.astype("datetime64[us]"), "size": np.arange(40.0) % 3})
    y = np.where((np.arange(40) < 20) & (np.arange(40) % 3 < 2), "early", "late")
    tree = OptimalTreeClassifier(max_depth=2, drop=["at"]).fit(X, y)
    explainer = Explainer(tree, X=X)
    assert "opened = 2020-01-31 > 2020-01-20" in tree.explain(X[30])
    assert explainer.abductive(X[30]).rule() == "opened > 2020-01-20 -> late"
    assert explainer.abductive(X[0]).rule() == "opened <= 2020-01-18 and size <= 1 -> early"
    assert explainer.counterfactual(X[30]).rule() == "opened = 2020-01-20 (not 2020-01-31) -> early"
    moments = OptimalTreeClassifier(max_depth=2, drop=["opened"]).fit(X, y)
    assert "at = 2020-01-31 00:00 > 2020-01-20 00:00" in moments.explain(X[30])
    assert Explainer(moments, X=X).abductive(X[30]).rule() == "at > 2020-01-20 00:00 -> late"
