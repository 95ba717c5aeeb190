"""Models that predict numbers, probabilities that matter, and further ensembles."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood import Explainer
from proofwood.ensembles.explained import explained, sample_rows
from proofwood.ensembles.forest import Link
from proofwood.ensembles.outcomes import Bands, read_target
from tests.fuzz import explanations
from tests.fuzz import regressors as fuzz

X, Y = load_diabetes(return_X_y=True, as_frame=True)
FOREST = RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, Y)
ROW = X.iloc[[3]]
SICK = np.where(Y > 150, "high", "low")
CLASSIFIER = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, SICK)


@pytest.mark.parametrize("number", explanations.numbers(33, fuzz.MODELS))
@pytest.mark.filterwarnings("ignore")
def test_random_models_answer_as_their_rows_do(number: int) -> None:
    case, rng = explanations.make(7, number, fuzz.MODELS)
    fuzz.check(case, rng, Counter())
    fuzz.check_range(case, rng, Counter())


REGRESSORS: dict[str, Any] = {
    "tree": DecisionTreeRegressor(max_depth=6, random_state=0),
    "forest": RandomForestRegressor(10, max_depth=6, random_state=0),
    "extra trees": ExtraTreesRegressor(10, max_depth=6, random_state=0),
    "bagging": BaggingRegressor(DecisionTreeRegressor(max_depth=5), 8, max_features=0.6, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=15, random_state=0),
    "histograms": HistGradientBoostingRegressor(max_iter=15),
    "poisson": HistGradientBoostingRegressor(loss="poisson", max_iter=15),
    "mean": VotingRegressor(
        [("a", RandomForestRegressor(5, random_state=0)), ("b", GradientBoostingRegressor(n_estimators=5))],
        weights=[2, 1],
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_ten_thousand_predictions_are_in_their_bands(name: str) -> None:
    model = REGRESSORS[name].fit(X, Y)
    cuts = np.unique(np.quantile(model.predict(X), np.linspace(0.05, 0.95, 19)) + 1e-7).tolist()
    converted = explained(model, target=cuts, X=X)
    rows = sample_rows(converted, 10_000, 5)
    sums = converted.sums_of(converted.cells_of(rows))
    predicted = model.predict(pd.DataFrame(rows, columns=X.columns))
    assert np.array_equal(sums.shape[1] - 1 - sums[:, ::-1].argmax(axis=1), np.searchsorted(cuts, predicted, "right"))


def test_a_question_about_a_number_has_two_answers() -> None:
    value = float(FOREST.predict(ROW)[0])
    explainer = Explainer(FOREST, X=X, target=(">=", value))
    why = explainer.abductive(ROW)
    assert why.prediction == f"at least {value!r}"
    assert why.status.startswith("minimal")
    far = Explainer(FOREST, X=X, target=(">=", value + 20)).counterfactual(ROW)
    assert far.status == "optimal"
    assert FOREST.predict(pd.DataFrame([far.witness], columns=X.columns))[0] >= value + 20


@pytest.mark.parametrize("distance", [5.0, 30.0])
def test_within_is_the_interval_around_the_prediction_of_the_row(distance: float) -> None:
    explainer = Explainer(FOREST, X=X, target=("within", distance))
    for at in range(3):
        row = X.iloc[[at]]
        value = float(FOREST.predict(row)[0])
        fixed = Explainer(FOREST, X=X, target=("between", value - distance, value + distance))
        one, other = explainer.abductive(row, smallest=True), fixed.abductive(row, smallest=True)
        assert one.prediction == f"within {distance:g}"
        assert (one.status, len(one.features)) == (other.status, len(other.features))
        assert one.verify().ok
        higher = explainer.counterfactual(row, target="higher")
        assert higher.witness is not None
        assert FOREST.predict(pd.DataFrame([higher.witness], columns=X.columns))[0] > value + distance
    again = pickle.loads(pickle.dumps(explainer))
    assert again.abductive(ROW).features == explainer.abductive(ROW).features


def test_a_table_has_no_question_of_its_own_for_each_row() -> None:
    with pytest.raises(ValueError, match="explain row by row"):
        Explainer(FOREST, X=X, target=("within", 5)).explain(X[:3])
    found = Explainer(FOREST, X=X, target=[100, 200]).explain(X[:5])
    assert {one.prediction for one in found} <= {"below 100", "100 to below 200", "at least 200"}


@pytest.mark.parametrize(
    ("target", "values", "codes"),
    [
        ((">=", 2), [1.9, 2, 2.1], [0, 1, 1]),
        ((">", 2), [1.9, 2, 2.1], [0, 0, 1]),
        (("<=", 2), [1.9, 2, 2.1], [0, 0, 1]),
        (("<", 2), [1.9, 2, 2.1], [0, 1, 1]),
        (("between", 1, 2), [0.9, 1, 1.5, 2, 2.1], [1, 0, 0, 0, 2]),
        (("between", 2, 2), [1.9, 2, 2.1], [1, 0, 2]),
        ([1, 2, 4], [0, 1, 1.5, 2, 3, 4, 5], [0, 1, 1, 2, 2, 3, 3]),
        (np.array([1.0, 2.0]), [0, 1, 2], [0, 1, 2]),
    ],
)
def test_numbers_fall_into_the_bands_that_their_names_say(target: Any, values: list[float], codes: list[int]) -> None:
    bands = read_target(target)
    assert isinstance(bands, Bands)
    assert bands.codes(np.array(values)).tolist() == codes
    assert len(bands.classes) == max(codes) + 1


WRONG: list[tuple[Any, str]] = [
    (None, "say what to explain"),
    (">=", "expected"),
    ((">=",), "expected"),
    (("=>", 3), "expected"),
    ((">=", "3"), "is not a number"),
    ((">=", True), "is not a number"),
    ((">=", math.nan), "finite"),
    (("between", 3, 2), "this interval contains no number"),
    (("within", -1), "a distance of at least 0"),
    ([2, 1], "ascending"),
    ([], "expected"),
]


@pytest.mark.parametrize(("target", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_questions_about_numbers_are_refused_in_words(target: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Explainer(FOREST, target=target)


def test_questions_must_fit_the_model() -> None:
    with pytest.raises(TypeError, match="confidence is for classifiers"):
        Explainer(FOREST, target=(">=", 1), confidence=0.9)
    with pytest.raises(TypeError, match="this model predicts classes"):
        Explainer(CLASSIFIER, target=(">=", 1))
    with pytest.raises(ValueError, match=r"confidence=1\.5"):
        Explainer(CLASSIFIER, confidence=1.5)
    with pytest.raises(TypeError, match=r"such as 0\.9"):
        Explainer(CLASSIFIER, confidence="high")
    boosted = GradientBoostingClassifier(n_estimators=3).fit(X, np.digitize(Y, [100, 200]))
    with pytest.raises(TypeError, match="mean over the trees"):
        Explainer(boosted, confidence=0.9)
    with pytest.raises(ValueError, match="only numbers above 0"):
        Explainer(REGRESSORS["poisson"].fit(X, Y), target=(">=", -3))
    with pytest.raises(TypeError, match="cannot explain a LinearRegression"):
        Explainer(LinearRegression().fit(X, Y), target=(">=", 3))
    with pytest.raises(ValueError, match="vote='majority' is for trees that vote"):
        Explainer(FOREST, target=(">=", 3), vote="majority")


def test_a_confident_explanation_keeps_the_probability() -> None:
    shares = CLASSIFIER.predict_proba(X)
    at = int(shares.max(axis=1).argmax())
    row, rng = X.iloc[[at]], np.random.default_rng(0)
    plain = Explainer(CLASSIFIER, X=X).abductive(row, smallest=True)
    sure = Explainer(CLASSIFIER, X=X, confidence=0.8)
    found = sure.abductive(row, smallest=True)
    assert found.prediction == plain.prediction
    assert len(found.features) >= len(plain.features)
    names = list(found.names)
    others = X.sample(3000, replace=True, random_state=0).reset_index(drop=True)
    for name in X.columns:
        others[name] = row[name].iloc[0] if name in names else rng.permutation(others[name].to_numpy())
    assert CLASSIFIER.predict_proba(others)[:, shares[at].argmax()].min() >= 0.8
    unsure = X[(shares.max(axis=1) < 0.6)].iloc[[0]]
    assert sure.abductive(unsure).prediction == "unsure"
    change = sure.counterfactual(unsure, target="high")
    assert CLASSIFIER.predict_proba(pd.DataFrame([change.witness], columns=X.columns))[0].max() >= 0.8


def test_the_share_of_votes_can_be_asked_for() -> None:
    explainer = Explainer(CLASSIFIER, vote="majority", confidence=0.75)
    votes = np.mean([tree.predict(X.to_numpy()) for tree in CLASSIFIER.estimators_], axis=0)
    expected = np.where(votes >= 0.75, "low", np.where(1 - votes >= 0.75, "high", "unsure"))
    assert explainer.model.classes[explainer.model.predict_codes(X.to_numpy())].tolist() == expected.tolist()


def test_range_of_a_pipeline_in_a_region() -> None:
    table = X.assign(ward=np.array(["north", "south", "west"])[np.arange(len(X)) % 3])
    made = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    model = make_pipeline(made, RandomForestRegressor(10, max_depth=4, random_state=0)).fit(table, Y)
    explainer = Explainer(model, X=table, target=(">=", 150))
    everywhere, west = explainer.range(), explainer.range({"ward": "west", "bmi": (0.0, 0.02)})
    assert everywhere.exact
    assert west.exact
    assert everywhere.least <= west.least <= west.greatest <= everywhere.greatest
    given = table[(table["ward"] == "west") & table["bmi"].between(0, 0.02)]
    predicted = model.predict(given)
    assert west.least <= predicted.min() <= predicted.max() <= west.greatest
    assert "from" in str(west)
    with pytest.raises(ValueError, match="predicts a number, not classes"):
        explainer.range(target="high")


def test_range_of_a_probability() -> None:
    explainer = Explainer(CLASSIFIER, X=X)
    found = explainer.range({"bmi": (0.1, 0.2)}, target="high")
    inside = X[X["bmi"] > 0.1]
    shares = CLASSIFIER.predict_proba(inside)[:, 0]
    assert 0 <= found.least <= shares.min() <= shares.max() <= found.greatest <= 1
    with pytest.raises(ValueError, match="expected the class whose probability"):
        explainer.range()
    with pytest.raises(TypeError, match="a range is only for models that predict numbers"):
        Explainer(DecisionTreeClassifier().fit(X, SICK)).range(target="high")


def test_an_isolation_forest_says_why_a_row_is_an_anomaly() -> None:
    model = IsolationForest(n_estimators=30, max_samples=64, random_state=0, contamination=0.05).fit(X)
    odd = X[model.predict(X) == -1].iloc[[0]]
    found = Explainer(model, X=X).abductive(odd)
    assert found.prediction == -1
    assert found.status.startswith("minimal")
    usual = Explainer(model, X=X).counterfactual(odd)
    assert model.predict(pd.DataFrame([usual.witness], columns=X.columns))[0] == 1


def test_votes_of_models_that_are_no_sums_are_refused() -> None:
    boosted = GradientBoostingClassifier(max_depth=5, random_state=0)
    tree = DecisionTreeClassifier(max_depth=2)
    large = RandomForestClassifier(60, random_state=0)
    with pytest.raises(TypeError, match="means over trees"):
        Explainer(VotingClassifier([("a", tree), ("b", boosted)], voting="soft").fit(X, SICK))
    with pytest.raises(TypeError, match="a VotingClassifier with a RandomForestClassifier of 60 trees"):
        Explainer(VotingClassifier([("a", tree), ("b", large)]).fit(X, SICK))
    with pytest.raises(TypeError, match=r"an? AdaBoostClassifier with a RandomForestClassifier"):
        Explainer(AdaBoostClassifier(large, n_estimators=2).fit(X, SICK))


@pytest.mark.parametrize("divisor", [1.0, 3.0, 10.0, 7.0])
@pytest.mark.parametrize("reached", [True, False])
def test_sums_that_are_exact_are_parted_exactly(divisor: float, reached: bool) -> None:
    """The quotient of every sum is on the side of the value that the cut says, ties included."""
    link, step = Link(divisor=divisor), 0.25
    sums = np.arange(-80, 80) * step
    for value in (0.0, 0.3, 0.5, 2 / 3, 0.1, -1.1, 7.0):
        cut = link.exact_cut(value, step, reached=reached)
        assert cut is not None
        upper = sums / divisor >= value if reached else sums / divisor > value
        assert np.array_equal(upper, sums >= cut if reached else sums > cut)


def test_links_are_inverted() -> None:
    for link in (Link(divisor=7.0), Link("log"), Link("logistic", divisor=2.0)):
        for value in (0.1, 0.5, 0.9):
            cut, slop = link.cut(value)
            assert float(link.sums(np.array([value]))[0]) == pytest.approx(cut, abs=slop + 1e-12)
            assert slop < 1e-12
