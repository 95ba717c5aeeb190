"""A pickled answer is small, says what it said, and takes its model where one is needed."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proofwood import Explainer, OptimalTreeClassifier, proved_rules
from proofwood.ensembles.kept import Kept, Rejoined
from proofwood.explain.explanation import Explanation
from proofwood.explain.proved_rules import ProvedRules
from proofwood.explain.table.records import Explanations

RNG = np.random.default_rng(8)
N = 240
TABLE = pd.DataFrame(
    {
        "income": RNG.normal(40, 15, N).round(2),
        "age": RNG.integers(18, 80, N),
        "home": RNG.choice(np.array(["own", "rent", "free"], dtype=object), N),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "member": RNG.random(N) < 0.5,
    }
)
SCORE = TABLE.income + 0.3 * TABLE.age + 12 * (TABLE.home == "own") - 0.01 * (TABLE.since - TABLE.since.min()).dt.days
Y = np.where(SCORE > 60, "yes", np.where(SCORE > 45, "maybe", "no"))
NUMBERS = TABLE[["income", "age"]]
GAPS = NUMBERS.astype(float).mask(RNG.random((N, 2)) < 0.15)


def explainers() -> dict[str, tuple[Explainer, pd.DataFrame]]:
    """Explainers of models of many kinds, each with a table."""
    forest = RandomForestClassifier(8, max_depth=5, random_state=0)
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income", "age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["home"]),
        sparse_threshold=0,
    )
    mixed = GAPS.assign(home=TABLE.home)
    ones = pd.get_dummies(TABLE[["income", "home"]], columns=["home"], dtype=int)
    coded = GAPS.assign(home=TABLE.home.astype("category"))
    boosted = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype")
    own = OptimalTreeClassifier(max_depth=3, time_limit=5).fit(TABLE, Y)
    number = RandomForestRegressor(5, max_depth=4, random_state=0).fit(NUMBERS, SCORE)
    beside = IsolationForest(n_estimators=4, random_state=0).fit(NUMBERS)
    adults = coded[(coded.age >= 25) | coded.income.notna()]
    groups = {"home": [name for name in ones if name.startswith("home")]}
    return {
        "forest": (Explainer(forest.fit(NUMBERS, Y), X=NUMBERS), NUMBERS),
        "pipeline": (Explainer(make_pipeline(steps, copy.deepcopy(forest)).fit(mixed, Y), X=mixed), mixed),
        "boosted": (Explainer(boosted.fit(coded, Y), X=coded), coded),
        "groups": (Explainer(copy.deepcopy(forest).fit(ones, Y), X=ones, feature_groups=groups), ones),
        "own": (Explainer(own), TABLE),
        "number": (Explainer(number, X=NUMBERS, target=(">=", 55.0)), NUMBERS),
        "within": (Explainer(number, X=NUMBERS, target=("within", 4.0)), NUMBERS),
        "known": (Explainer(boosted, X=adults, knowledge=["age < 25 -> income.notna()"]), adults),
        "plausible": (Explainer(copy.deepcopy(forest).fit(NUMBERS, Y), X=NUMBERS, plausible=(beside, -0.6)), NUMBERS),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[Explainer, pd.DataFrame]]:
    return explainers()


def loaded(answer: Any) -> Any:
    return pickle.loads(pickle.dumps(answer))


def words(found: Any) -> list[Any]:
    """Everything that an explanation says."""
    return [
        *(str(found), repr(found), found.rule(), found.rule(None), found.rule(2), found.to_markdown(), found.to_html()),
        *(found.to_dict(), found.to_frame().rows(), found.names, found.prediction, found.exact),
        *([row.tolist() for row in found.witnesses.values()], [one.to_dict() for one in found.conditions]),
    ]


NAMES = ("forest", "pipeline", "boosted", "groups", "own", "number", "within", "known", "plausible")


@pytest.mark.parametrize("name", NAMES)
def test_an_explanation_says_the_same_and_is_verified_with_its_model(name: str, made: Any) -> None:
    explainer, table = made[name]
    inliers = explainer.model.are_plausible(explainer.model.read(table))
    for i in np.flatnonzero(inliers)[:2].tolist():
        row = table.iloc[[i]]
        answers = [
            explainer.abductive(row),
            explainer.abductive(row, inflate=True),
            explainer.abductive(row, smallest=True, inflate=True),
            explainer.contrastive(row),
            explainer.contrastive(row, immutable=explainer.feature_names),
            explainer.counterfactual(row),
            explainer.counterfactual(row, metric="changes"),
            explainer.counterfactual(row, metric="l2", weights={"income": (1.0, 2.0)}),
            explainer.robustness(row).nearest,
        ]
        for found in answers:
            again, said = loaded(found), str(words(found))
            assert str(words(again)) == said
            assert not hasattr(again.model, "adapted")
            second = again.verify(model=explainer)
            first = found.verify()
            assert (second.status, second.problems) == (first.status, first.problems)
            whole = again.with_model(explainer)
            assert np.array_equal(whole.cells, found.cells)
            assert {f: c.tolist() for f, c in whole.witness_cells.items()} == {
                f: c.tolist() for f, c in found.witness_cells.items()
            }
            if found.low is not None:
                assert np.array_equal(whole.low, found.low)
                assert np.array_equal(whole.high, found.high)
            if found.prices is not None:
                assert all(map(np.array_equal, whole.prices, found.prices))
            assert str(words(loaded(again))) == said  # twice


@pytest.mark.parametrize("name", ["forest", "pipeline", "boosted", "groups", "own", "known"])
@pytest.mark.parametrize("kind", ["abductive", "contrastive", "counterfactual", "robustness"])
def test_tables_say_the_same(name: str, kind: str, made: Any) -> None:
    explainer, table = made[name]
    options = {"inflate": True} if kind == "abductive" else {}
    found = explainer.explain(table[:6], kind=kind, **options)
    again = loaded(found)
    assert len(again) == 6
    assert again.to_frame().equals(found.to_frame())
    for one, other in zip(again, found, strict=True):
        assert str(words(one)) == str(words(other))
    with pytest.raises(ValueError, match="loaded without its model"):
        again[0].verify()
    assert again[0].verify(model=explainer).ok
    whole = again.with_model(explainer)
    assert [one.verify().status for one in whole[:3]] == [one.verify().status for one in found[:3]]
    assert str(words(loaded(again[1]))) == str(words(found[1]))


@pytest.mark.parametrize("name", ["forest", "pipeline", "boosted", "groups", "own"])
def test_rules_ranges_and_regions_say_the_same(name: str, made: Any) -> None:
    explainer, table = made[name]
    rules = proved_rules(explainer, table, max_rules=4, time_limit=20)
    again = loaded(rules)
    for one in (again, loaded(again)):
        assert str(one) == str(rules)
        assert one.export_text(None) == rules.export_text(None)
        assert one.to_dict() == rules.to_dict()
        assert one.to_frame().equals(rules.to_frame())
    assert str(loaded(rules[0])) == str(rules[0])
    for needs in (lambda: again.rule_of(table), lambda: again.predict(table), again.check):
        with pytest.raises(ValueError, match=r"loaded without its model.*with_model\(explainer\)"):
            needs()
    whole = again.with_model(explainer)
    assert whole.check().ok
    assert np.array_equal(whole.rule_of(table), rules.rule_of(table))
    where = {"income": (20.0, 40.0)}
    for found in (explainer.possible(where), explainer.independent_of("income"), explainer.independent_of(0, where)):
        assert str(loaded(found)) == str(found)
    if name in ("forest", "groups"):
        found = explainer.range(where, target="yes")
        assert str(loaded(found)) == str(found)


def test_what_is_pickled_is_small() -> None:
    X = RNG.normal(size=(1500, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=1500) > 0).astype(int)
    explainer = Explainer(RandomForestClassifier(150, random_state=0).fit(X, y), time_limit=1.5)
    whole = len(pickle.dumps(explainer.model))
    assert whole > 8_000_000
    row = X[0]
    answers = {
        "abductive": explainer.abductive(row, inflate=True),
        "counterfactual": explainer.counterfactual(row),
        "robustness": explainer.robustness(row),
        "possible": explainer.possible({0: (-1.0, 1.0)}),
        "range": explainer.range(dict(enumerate(X[0].tolist())), target=1),
        "table": explainer.explain(X[:4], kind="counterfactual"),
    }
    for name, found in answers.items():
        assert len(pickle.dumps(found)) < 40_000, name
    assert str(loaded(answers["robustness"])) == str(answers["robustness"])


def test_another_model_is_refused(made: Any) -> None:
    explainer, table = made["forest"]
    again = loaded(explainer.abductive(table.iloc[[0]]))
    other = Explainer(RandomForestClassifier(8, max_depth=5, random_state=1).fit(NUMBERS, Y), X=NUMBERS)
    bounded = Explainer(RandomForestClassifier(8, max_depth=5, random_state=0).fit(NUMBERS, Y), bounds={"age": (0, 50)})
    for model in (other, bounded, made["boosted"][0]):
        with pytest.raises(ValueError, match="another model"):
            again.verify(model=model)
        with pytest.raises(ValueError, match="another model"):
            explainer.abductive(table.iloc[[0]]).verify(model=model)
    with pytest.raises(TypeError, match="expected the Explainer that gave the answer"):
        again.with_model(RandomForestClassifier())
    assert again.verify(model=explainer.model).ok


def test_prices_by_a_function_are_not_kept(made: Any) -> None:
    explainer, table = made["forest"]
    found = explainer.counterfactual(table.iloc[[0]], weights={"income": lambda now, then: abs(then - now)})
    assert found.verify().not_checked == ("the distance, by these weights",)
    again = loaded(found)
    assert str(words(again)) == str(words(found))
    with pytest.raises(ValueError, match="prices of this counterfactual are a function"):
        again.verify(model=explainer)


def test_copies_have_their_model(made: Any) -> None:
    explainer, table = made["forest"]
    found = explainer.counterfactual(table.iloc[[0]], weights={"income": math.inf})
    for other in (copy.copy(found), copy.deepcopy(found)):
        assert other.verify().status == found.verify().status


def test_pictures_without_a_model(made: Any) -> None:
    explainer, table = made["forest"]
    for found in (explainer.abductive(table.iloc[[0]], inflate=True), explainer.counterfactual(table.iloc[[0]])):
        drawn = []
        for one in (found, loaded(found)):
            ax = one.plot()
            texts = [(text.get_text(), text.get_position()) for text in ax.texts]
            drawn.append((ax.get_title(), texts, [line.get_xydata().tolist() for line in ax.lines]))
        assert str(drawn[0]) == str(drawn[1])


def test_an_answer_has_to_say_what_of_it_is_kept_and_all_get_their_model_back_in_one_way() -> None:
    class Forgetful(Kept):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?_outlined"):
        Forgetful()  # type: ignore[abstract]
    for kind in (Explanation, Explanations, ProvedRules):
        assert kind.with_model is Rejoined.with_model
