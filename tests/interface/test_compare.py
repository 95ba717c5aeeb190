"""``compare``: classifiers on the same folds."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood import (
    DataWarning,
    OptimalBDDClassifier,
    OptimalityWarning,
    OptimalSurvivalTree,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    compare,
)
from proofwood.comparison import RatesOfTimes, default_models, models_of_times
from proofwood.comparison.comparing import leaves_of
from proofwood.comparison.growing import GrowingEnsemble, GrowingRegressor
from proofwood.comparison.models import CURVE
from proofwood.comparison.one_hot import OneHotTable
from proofwood.estimators import candidates
from proofwood.estimators.folds import folds_of
from proofwood.estimators.survival_scores import deviance_score
from proofwood.estimators.validation import corrected_interval
from tests import report_models

CART = DecisionTreeClassifier(max_depth=2, random_state=0)


@pytest.fixture(scope="module")
def found(iris):
    return compare(*iris, {"tree": OptimalTreeClassifier(2), "CART": CART})


FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def test_scores_are_those_of_cross_validation(iris, found):
    given = compare(*iris, {"tree": OptimalTreeClassifier(2), "CART": CART}, cv=FOLDS)
    for name, model in (("tree", OptimalTreeClassifier(2)), ("CART", CART)):
        assert np.allclose(given[name].scores, cross_val_score(model, *iris, cv=FOLDS))
        folds = folds_of(5, *iris, None, 0, iris[0])
        assert np.allclose(found[name].scores, cross_val_score(model, *iris, cv=folds))
    assert (found["tree"].leaves, found["tree"].proof) == (3.0, "optimal in 5 of 5 folds")
    assert found["CART"].proof == ""
    assert found.reference == "tree"


def test_proofs_for_some_tests_are_told_apart(iris):
    models = {"few": OptimalBDDClassifier(1, max_thresholds=1), "all": OptimalBDDClassifier(1, max_thresholds=99)}
    found = compare(*iris, models)
    assert found["few"].proof == "optimal for these tests in 5 of 5 folds"
    assert found["all"].proof == "optimal in 5 of 5 folds"


def test_the_interval_is_that_of_nadeau_and_bengio(found):
    scores = found["CART"].scores
    deviation = math.sqrt((1 / 5 + 30 / 120) * scores.var(ddof=1))
    low, high = stats.t.interval(0.95, 4, scores.mean(), deviation)
    interval = found.interval("CART")
    assert (interval.low, interval.high) == pytest.approx((low, min(high, 1.0)))
    difference = found.difference("CART")
    assert difference.mean == pytest.approx(np.mean(scores - found["tree"].scores))
    assert found.difference("tree", "CART").mean == pytest.approx(-difference.mean)


def test_one_fold_has_no_interval(iris):
    one = compare(*iris, {"CART": CART}, cv=ShuffleSplit(1, random_state=0))
    assert math.isnan(one.interval("CART").low)
    assert "[" not in str(one)
    assert corrected_interval(np.array([0.5, 0.5]), 0.25) == corrected_interval(np.array([0.5, 0.5]), 1.0)


def test_table_frame_text_and_page(found):
    frame = found.to_frame()
    assert frame["model"].to_list() == ["tree", "CART"]
    assert frame["score"].to_list() == pytest.approx([found["tree"].mean, found["CART"].mean])
    lines = str(found).splitlines()
    assert lines[0].split()[:2] == ["model", "accuracy"]
    assert len(lines) == 4
    assert lines[2].endswith("optimal in 5 of 5 folds")
    assert "<td>CART</td>" in found._repr_html_()
    with pytest.raises(KeyError, match="no model 'forest': expected one of 'tree', 'CART'"):
        found.interval("forest")


def test_hostile_names_stay_text(iris):
    name = "<script>alert(1)</script> $x$"
    found = compare(*iris, {name: CART}, cv=2)
    assert "<script>" not in found._repr_html_()


def test_a_picture(found):
    ax = found.plot(title="Iris")
    best = max(found.models, key=lambda model: model.mean).name
    assert ax.get_yticklabels()[0].get_text() == best
    assert [text.get_text() for text in ax.texts] == ["3 leaves", "3 leaves"]
    with pytest.raises(ValueError, match="figsize is only for a new figure"):
        found.plot(ax, figsize=(2, 2))


def test_the_default_models_read_a_table_as_it_is():
    rng = np.random.default_rng(0)
    n = 150
    city = rng.choice(["Aix", "Bonn", "Cork"], n)
    age = rng.integers(18, 80, n).astype(float)
    age[::7] = np.nan
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(n)], "city": city, "age": age})
    y = np.where((city == "Bonn") ^ (rng.random(n) < 0.1), "yes", "no")
    with pytest.warns(DataWarning, match="'id'") as told:
        found = compare(frame, y, cv=2, time_limit=60)
    assert len(told) == 1
    assert [model.name for model in found.models] == list(default_models())
    assert found["random forest"].mean > 0.75
    assert found["optimal tree, depth 2"].mean > 0.8
    assert found["most frequent class"].leaves == 1
    assert all(model.leaves is not None for model in found.models)


@pytest.mark.parametrize("form", ["frame", "array"])
def test_a_number_of_folds_gives_the_same_scores_for_any_order_of_the_rows(form):
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"a": random.normal(size=200).round(2), "b": random.choice(["x", "y", None], 200)})
    frame["c"] = random.integers(0, 9, 200)
    y = np.where((frame["a"] > 0) ^ (random.random(200) < 0.2), "yes", "no")
    order = np.argsort(y, kind="stable")
    X = frame if form == "frame" else frame[["a", "c"]].to_numpy()
    models = {name: default_models(time_limit=None)[name] for name in ("optimal tree, depth 2", "most frequent class")}
    one = compare(X, y, models, cv=3)
    other = compare(X.iloc[order] if form == "frame" else X[order], y[order], models, cv=3)
    for name in models:
        assert one[name].scores.tolist() == other[name].scores.tolist()


@pytest.mark.parametrize("odd", ["oops", "1,5"])
@pytest.mark.parametrize("learner", ["compare", "cross-validation"])
def test_texts_are_read_as_those_of_the_whole_table(odd, learner):
    """A text that only one fold has decides how all folds read its column."""
    texts = [f"{k % 40}.5" for k in range(160)]
    days = [f"2024-01-{1 + k % 28:02}" for k in range(160)]
    frame = pd.DataFrame({"amount": [*texts[:-1], odd], "day": [*days[:-1], odd], "k": [k % 7 for k in range(160)]})
    y = np.where(frame["k"] > 3, "a", "b")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if learner == "compare":
            found = compare(frame, y, cv=2, time_limit=10)
            assert found["optimal tree, depth 2"].mean == found["random forest"].mean == 1
        else:
            assert OptimalTreeCV((1, 2), cv=4).fit(frame, y).best_score_ == 1
    said = " ".join(str(one.message) for one in told)
    assert said.count("'amount' is text of numbers") == 1
    assert "stand together" not in said


def test_ensembles_grow_until_their_limit(iris):
    X, y = iris
    for whole in (
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        RandomForestClassifier(20, random_state=0),
    ):
        grown = GrowingEnsemble(whole, 1000.0).fit(X, y)
        assert (grown.n_grown_, grown.cut_) == (20, False)
        assert np.array_equal(grown.predict_proba(X), clone(whole).fit(X, y).predict_proba(X))
        assert np.array_equal(grown.predict(X), grown.classes_[grown.predict_proba(X).argmax(axis=1)])
        first = GrowingEnsemble(whole, 1e-9).fit(X, y)
        assert (first.n_grown_, first.cut_) == (1, True)
        assert leaves_of(first) < leaves_of(grown)
        assert GrowingEnsemble(whole).fit(X, y).n_grown_ == 20
    stops = HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=1, tol=10.0, random_state=0)
    stopped = GrowingEnsemble(stops, 1000.0).fit(X, y)
    assert not stopped.cut_
    assert stopped.n_grown_ < 100
    with pytest.warns(OptimalityWarning, match="2 fits of forests or boosted trees reached their limit"):
        compare(X, y, {"forest": GrowingEnsemble(RandomForestClassifier(20), 1e-9)}, cv=2)


def test_the_model_at_work_is_told(iris, capsys):
    compare(*iris, {"CART": CART}, cv=2, verbose=1)
    assert capsys.readouterr().err.splitlines() == ["CART: fold 1 of 2", "CART: fold 2 of 2"]
    compare(*iris, {"CART": CART}, cv=2)
    assert capsys.readouterr().err == ""


def test_another_number_of_labels_is_said(iris):
    with pytest.raises(ValueError, match="X has 150 rows and y has 149 labels"):
        compare(iris[0], iris[1][1:])


def test_weights_and_groups(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(1, 4, y.size)
    groups = np.arange(y.size) // 5
    models = {"tree": OptimalTreeClassifier(1), "CART": CART, "forest": default_models()["CART, depth 2"]}
    found = compare(X, y, models, sample_weight=weights, groups=groups, cv=GroupKFold(3))
    train, test = next(GroupKFold(3).split(X, y, groups))
    for name, alone in (("tree", OptimalTreeClassifier(1)), ("CART", CART)):
        alone.fit(X[train], y[train], sample_weight=weights[train])
        assert found[name].scores[0] == pytest.approx(alone.score(X[test], y[test], sample_weight=weights[test]))
    assert found["forest"].scores == pytest.approx(found["CART"].scores)


@pytest.mark.filterwarnings("ignore:'tree' is no better than always predicting")
def test_fits_at_their_limit_are_said():
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 20)), rng.integers(0, 4, 400)
    with pytest.warns(OptimalityWarning, match="2 fits of exact learners reached their limit"):
        found = compare(X, y, {"tree": OptimalTreeClassifier(4, time_limit=0.2)}, cv=2)
    assert found["tree"].proof.startswith("optimal in 0 of 2 folds, gap up to")


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no such thing")


def test_an_error_names_the_model(iris):
    with pytest.raises(RuntimeError, match="no such thing") as told:
        compare(*iris, {"broken": Broken()}, cv=2)
    assert told.value.__notes__ == ["the model 'broken' raised this error in fold 0"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": {}}, "expected a mapping from names to models"),
        ({"models": [CART]}, "expected a mapping from names to models"),
        ({"models": {"a": CART}, "reference": "b"}, "reference='b' is not a model: expected one of 'a'"),
    ],
)
def test_what_cannot_be_compared_is_named(iris, given, message):
    with pytest.raises(ValueError, match=message):
        compare(*iris, **given)


def test_leaves_of_forests_and_others(iris):
    X, y = iris
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    assert leaves_of(forest) == sum(tree.get_n_leaves() for tree in forest.estimators_)
    assert leaves_of(LogisticRegression(max_iter=500).fit(X, y)) is None
    assert leaves_of(OptimalTreeClassifier(1).fit(X, y)) == 2


def test_columns_of_zero_and_one():
    frame = pl.DataFrame({"id": ["a", "b", "c", "d"] * 30, "n": [1.0, None, 2.0, 3.0] * 30})
    made = OneHotTable(drop=["n"]).fit(frame)
    assert made.transform(frame)[:2].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    both = OneHotTable().fit(frame)
    assert np.isnan(both.transform(frame)[1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = both.transform(pl.DataFrame({"id": ["z"], "n": [4.0]}))
    assert new.tolist() == [[4.0, 0, 0, 0, 0]]
    nothing = OneHotTable(drop=["id", "n"]).fit(frame)
    assert nothing.transform(frame).shape == (120, 1)


def test_ctrl_c_in_a_fit_ends_the_comparison():
    data, calls = load_breast_cancer(return_X_y=True), []

    def stop(event):
        calls.append(event)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(*data, {"tree": OptimalTreeClassifier(4, callback=stop), "CART": CART})
    assert len(calls) == 1


def test_ctrl_c_between_the_sizes_of_a_cross_validation_ends_the_comparison(monkeypatch):
    fits = candidates.CandidateRun._fits

    def interrupted(trial, fold, size):
        if size.max_depth > 1:
            raise KeyboardInterrupt
        return fits(trial, fold, size)

    monkeypatch.setattr(candidates.CandidateRun, "_fits", interrupted)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(KeyboardInterrupt):
        compare(X, y, {"chosen": OptimalTreeCV((1, 2), cv=2)}, cv=2)


# ------------------------------------------------------------------------------------------------------------ numbers


def rents(n=150):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area": rng.integers(20, 150, n), "district": rng.choice(["north", "port", "old town"], n)})
    frame.loc[::9, "area"] = np.nan
    return frame.assign(rent=200 + 8 * frame.area.fillna(60) + 300 * (frame.district == "port") + rng.normal(0, 40, n))


def test_regressors_are_compared_by_r2_or_by_their_errors():
    frame = rents()
    X, y = frame[["area"]].fillna(60), frame["rent"].to_numpy()
    models = {"tree": OptimalTreeRegressor(2, alpha=0.01), "CART": DecisionTreeRegressor(max_depth=2, random_state=0)}
    found = compare(X, y, models, cv=3)
    folds = folds_of(3, X, y, None, 0, X.to_numpy(float), of_numbers=True)
    for name, model in models.items():
        assert np.allclose(found[name].scores, cross_val_score(model, X, y, cv=[(np.sort(a), b) for a, b in folds]))
    assert (found.score, found["tree"].proof) == ("R²", "optimal in 3 of 3 folds")
    difference = found.difference("CART")
    assert difference.mean == pytest.approx(np.mean(found["CART"].scores - found["tree"].scores))
    assert difference.low < difference.mean < difference.high
    assert found.interval("tree").high <= 1
    errors = compare(X, y, models, cv=3, scoring="neg_root_mean_squared_error")
    assert errors.score == "neg root mean squared error"
    assert errors["tree"].mean < -1


def test_numbers_are_seen_and_the_table_is_read_as_it_is():
    found = compare(rents(120), "rent", cv=2, time_limit=60)
    assert [model.name for model in found.models] == list(default_models(of_numbers=True))
    assert all(model.leaves is not None for model in found.models)
    assert found["mean"].mean < 0.1 < found["optimal tree, depth 2"].mean
    assert found["mean"].leaves == 1
    assert found["CART, pruned"].leaves > 2  # prices are shares of the variance
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["model", "R²", "(95"]


def test_regressors_and_classifiers_are_not_compared():
    frame = rents(60)
    X, y = frame[["area"]], frame["rent"]
    with pytest.raises(ValueError, match="'tree' is a regressor and 'CART' is not: expected only classifiers"):
        compare(X, y, {"CART": CART, "tree": OptimalTreeRegressor(1)})
    with pytest.raises(ValueError, match="the models are regressors: leave them out"):
        compare(X, y, {"tree": OptimalTreeRegressor(1)}, bands=3)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        compare(X, y, {"tree": OptimalTreeClassifier(1)})
    with pytest.raises(ValueError, match="no number in row 3"):
        compare(X, y.where(y.index != 3), {"tree": OptimalTreeRegressor(1)})
    with pytest.raises(ValueError, match="scoring='accuracy' is for classes"):
        compare(X, y, {"tree": OptimalTreeRegressor(1)}, scoring="accuracy")
    with pytest.warns(DataWarning, match="'stump' is no better than always predicting the mean"):
        compare(X, y, {"stump": OptimalTreeRegressor(0)}, cv=2)


def test_a_growing_regressor_is_the_regressor():
    X, y = rents()[["area"]].fillna(60).to_numpy(), rents()["rent"].to_numpy()
    whole = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    assert np.allclose(GrowingRegressor(whole, 1000.0).fit(X, y).predict(X), clone(whole).fit(X, y).predict(X))
    assert GrowingRegressor(whole, 1e-9).fit(X, y).cut_


def test_survival_times_are_compared_by_order_deviance_and_curves():
    _, X, y = report_models.times()
    models = {
        "optimal": OptimalSurvivalTree(2, min_samples_leaf=20),
        "greedy": RatesOfTimes(
            make_pipeline(
                OneHotTable(),
                DecisionTreeRegressor(criterion="poisson", max_depth=2, min_samples_leaf=20, random_state=0),
            )
        ),
        CURVE: RatesOfTimes(make_pipeline(OneHotTable(), DummyRegressor())),
    }
    frame = X.with_columns(y)
    found = compare(frame, ["time", "died"], models, cv=3)
    assert found.score == "concordance"
    assert found.within == (0.0, 1.0)
    assert set(found[CURVE].scores.tolist()) == {0.5}
    assert (found[CURVE].leaves, found["optimal"].leaves) == (1, 4)
    assert found["optimal"].proof == "optimal in 3 of 3 folds"
    assert found["optimal"].mean > 0.55
    by_deviance = compare(X, y, models, cv=3, scoring="deviance")
    assert np.abs(by_deviance[CURVE].scores).max() < 1e-9
    curves = compare(X, y, models, cv=3, scoring="neg_integrated_brier_score")
    leaf = compare(X, y, {"leaf": OptimalSurvivalTree(0)}, cv=3, scoring="neg_integrated_brier_score")
    assert curves[CURVE].scores == pytest.approx(leaf["leaf"].scores), "one curve is that of Kaplan and Meier"


def test_a_greedy_tree_of_rates_costs_no_less_than_the_optimal_tree():
    _, X, y = report_models.times()
    greedy = RatesOfTimes(make_pipeline(OneHotTable(), DecisionTreeRegressor(criterion="poisson", max_depth=2)))
    greedy.fit(X, y)
    optimal = OptimalSurvivalTree(2, min_samples_level=1, time_limit=None).fit(X, y)
    ours, theirs = (deviance_score(one, X, y) for one in (optimal, greedy))
    assert ours >= theirs > 0
    leaves = greedy.fitted_.steps[-1][1].apply(greedy.fitted_[:-1].transform(X))
    for leaf in np.unique(leaves):
        here = y.filter(leaves == leaf)
        rate = here["died"].sum() / here["time"].sum()
        assert greedy.predict(X)[leaves == leaf] == pytest.approx(rate)
    many = RatesOfTimes(make_pipeline(OneHotTable(), RandomForestRegressor(5, criterion="poisson"))).fit(X, y)
    curve = many.predict_survival_function(X)[0]
    assert curve([0.0, 10.0]) == pytest.approx([1.0, np.exp(-10 * many.predict(X)[0])])


def test_default_models_of_times():
    _, X, y = report_models.times()
    found = compare(X[:120].select("age", "married"), y[:120], cv=2, time_limit=None)
    names = [model.name for model in found.models]
    assert names == list(models_of_times())
    assert found["one curve for all"].mean == 0.5
    assert found["random forest"].leaves > 100


def test_times_are_not_compared_as_something_else():
    _, X, y = report_models.times()
    with pytest.raises(ValueError, match="no score of survival times"):
        compare(X, y, {"tree": OptimalSurvivalTree(1)}, scoring="accuracy")
    with pytest.raises(ValueError, match="bands cut numbers"):
        compare(X, y, {"tree": OptimalSurvivalTree(1)}, bands=3)
    noise = np.random.default_rng(0).random((400, 1))
    with pytest.warns(DataWarning, match="no better than always predicting one rate"):
        compare(noise, y, {"leaf": OptimalSurvivalTree(0)}, cv=2)


@pytest.mark.beside("sksurv")
@pytest.mark.filterwarnings("ignore")
def test_models_of_scikit_survival_are_compared():
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.tree import SurvivalTree

    _, X, y = report_models.times()
    models = {
        "optimal": OptimalSurvivalTree(2, min_samples_leaf=20),
        "log rank": make_pipeline(OneHotTable(), SurvivalTree(max_depth=2, min_samples_leaf=20)),
        "forest": make_pipeline(OneHotTable(), RandomSurvivalForest(20, min_samples_leaf=20, random_state=0)),
    }
    for scoring in (None, "neg_integrated_brier_score"):
        found = compare(X, y, models, cv=3, scoring=scoring)
        assert np.isfinite([model.mean for model in found.models]).all()
    with pytest.raises(ValueError, match="foretells none"):
        compare(X, y, models, cv=3, scoring="deviance")
