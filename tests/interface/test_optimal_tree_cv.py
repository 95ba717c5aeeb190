"""``OptimalTreeCV``: a size by cross-validation, and the optimal tree of this size."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_regressor
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

import proofwood
from proofwood import (
    DataWarning,
    OptimalityWarning,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    OptimalTreeRegressorCV,
    write_report,
)
from proofwood.estimators import candidates, fronts
from proofwood.estimators.classifier import ClassRows
from proofwood.estimators.folds import folds_of
from proofwood.model.evaluate import predict


def noisy(n=240, seed=0):
    """Rows whose class one column tells, up to noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    return X, ((X[:, 1] > 0.5) ^ (rng.random(n) < 0.15)).astype(int)


def problem_of(tree, X, y):
    return tree._to_count(ClassRows(X, None, tree.classes_, np.searchsorted(tree.classes_, y)))


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "neg_log_loss"])
def test_the_scores_are_those_of_a_grid_search(iris, scoring):
    X, y = iris
    grid = {"max_depth": [1, 2], "min_samples_leaf": [1, 20]}
    found = OptimalTreeCV((1, 2), alpha=0.0, min_samples_leaf=(1, 20), scoring=scoring, cv=4).fit(X, y).cv_results_
    folds = folds_of(4, X, y, None, 0, X)
    expected = GridSearchCV(OptimalTreeClassifier(), grid, scoring=scoring, cv=folds).fit(X, y).cv_results_
    at = {(p["max_depth"], p["min_samples_leaf"]): k for k, p in enumerate(expected["params"])}
    for k, params in enumerate(found["params"]):
        other = at[params["max_depth"], params["min_samples_leaf"]]
        for name in (*(f"split{j}_test_score" for j in range(4)), "mean_test_score", "std_test_score"):
            assert found[name][k] == pytest.approx(expected[name][other])
        assert found["rank_test_score"][k] == expected["rank_test_score"][other]


def test_candidates_without_a_score_come_last(iris):
    def scores(tree, X, y):
        return np.nan if tree.max_depth == 1 else tree.score(X, y)

    tree = OptimalTreeCV((1, 2), alpha=0.0, cv=3, scoring=scores).fit(*iris)
    assert tree.cv_results_["rank_test_score"].tolist() == [2, 1]
    assert tree.best_params_["max_depth"] == 2


def paths_of(monkeypatch):
    """Lists that will hold what each fit and each path of a cross-validation was asked and gave."""
    fits, paths = [], []
    real_fit, real_path = candidates.CandidateRun._fit, candidates.CandidateRun._path
    monkeypatch.setattr(candidates.CandidateRun, "_fit", lambda self, *of: fits.append(of) or real_fit(self, *of))
    monkeypatch.setattr(
        candidates.CandidateRun, "_path", lambda self, *of: paths.append(real_path(self, *of)) or paths[-1]
    )
    return fits, paths


def require_best(paths, X, y, prices, folds, depth=2):
    """Each path has a tree of least cost at each price, and its score."""
    for (train, test), path in zip(folds, paths, strict=True):
        for price, fit in zip(prices, path, strict=True):
            alone = OptimalTreeClassifier(depth, alpha=price).fit(X[train], y[train])
            assert not fit.stopped
            assert float(problem_of(alone, X[train], y[train]).counted.real_cost(fit.model)) == alone.objective_
            assert fit.score == np.mean(predict(fit.model, X[test]) == y[test])


def test_a_tree_that_serves_two_prices_serves_those_between(monkeypatch):
    prices = [k / 50 for k in range(12)]
    X, y = noisy()
    monkeypatch.setattr(candidates, "FEWEST", 100)  # no fronts
    fits, paths = paths_of(monkeypatch)
    trees = OptimalTreeCV(2, alpha=prices, cv=3, rule="best").fit(X, y)
    assert len(fits) < 3 * len(prices)
    assert np.sum(trees.cv_results_["mean_fit_time"] == 0) > 0
    require_best(paths, X, y, prices, folds_of(3, X, y, None, 0, X))


@pytest.mark.parametrize("prices", [(0.0, 0.01, 0.02, 0.05, 0.2), tuple(np.geomspace(0.001, 0.1, 5)), (0.01, 0.5, 1)])
def test_one_front_a_fold_serves_all_prices(monkeypatch, prices):
    X, y = noisy()
    fits, paths = paths_of(monkeypatch)
    found = OptimalTreeCV(3, alpha=prices, cv=3, rule="best").fit(X, y)
    assert not fits
    assert set(found.cv_results_["n_optimal"]) == {3} or prices[0] == 0.001  # of many digits: up to rounding
    assert np.all(found.cv_results_["mean_fit_time"] > 0)
    require_best(paths, X, y, prices, folds_of(3, X, y, None, 0, X), depth=3)


def test_what_a_front_leaves_open_is_searched_alone(monkeypatch):
    X, y = noisy()
    monkeypatch.setattr(candidates, "FOR_FRONT", 0.0)
    fits, paths = paths_of(monkeypatch)
    prices = (0.0, 0.01, 0.1, 0.3)
    OptimalTreeCV(3, alpha=prices, cv=3).fit(X, y)
    assert fits
    require_best(paths, X, y, prices, folds_of(3, X, y, None, 0, X), depth=3)


def test_the_chosen_tree_is_the_optimal_tree_of_its_size():
    X, y = noisy()
    tree = OptimalTreeCV().fit(X, y)
    assert tree.best_params_["max_depth"] == 1 or tree.get_n_leaves() == 2
    alone = OptimalTreeClassifier(**tree.best_params_).fit(X, y)
    assert tree.model_ == alone.model_ == tree.best_estimator_.model_
    assert (tree.status_, tree.objective_, tree.lower_bound_) == ("optimal", alone.objective_, alone.lower_bound_)
    assert tree.recount(X, y) == tree.objective_ == float(problem_of(alone, X, y).counted.real_cost(tree.model_))
    assert "chosen: depth" in tree.summary()
    assert tree._claim() == alone._claim()
    assert np.array_equal(tree.predict_proba(X), alone.predict_proba(X))
    assert tree.score(X, y) == alone.score(X, y)


def test_the_rule_takes_a_smaller_tree_than_the_best():
    X, y = noisy(seed=3)
    best = OptimalTreeCV(rule="best", alpha=0.0).fit(X, y)
    small = OptimalTreeCV(alpha=0.0).fit(X, y)
    leaves = small.cv_results_["mean_n_leaves"]
    assert leaves[small.best_index_] <= leaves[best.best_index_]
    assert small.top_index_ == best.best_index_
    assert small.best_score_ >= best.best_score_ - small.standard_error_
    assert small.cv_results_["rank_test_score"][small.top_index_] == 1


def _table(n=200):
    rng = np.random.default_rng(5)
    city = rng.choice(["Aix", "Bonn", "Cork", "Derby"], n)
    age = rng.integers(18, 80, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    y = np.where(np.isin(city, ["Bonn", "Derby"]) ^ (rng.random(n) < 0.1), "yes", "no")
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(n)], "city": city, "age": age})
    frame["opened"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    return frame, y


def test_tables_as_they_are():
    frame, y = _table()
    with pytest.warns(DataWarning, match="'id'") as told:
        tree = OptimalTreeCV((1, 2), cv=3).fit(frame, y)
    assert len(told) == 1  # once, not for every fold
    assert "city" in tree.export_text()
    assert '"city" IN' in tree.to_sql("t")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        lazy = pl.DataFrame({name: frame[name].to_list() for name in frame}, nan_to_null=True).lazy()
        other = OptimalTreeCV((1, 2), cv=3).fit(lazy, y)
    assert np.array_equal(other.cv_results_["mean_test_score"], tree.cv_results_["mean_test_score"])
    assert other.model_ == tree.model_


def test_a_level_that_a_fold_lacks_is_no_error_in_the_fold():
    frame, y = _table()
    frame = frame.drop(columns=["id"])
    frame.loc[0, "city"] = "Ely"
    tree = OptimalTreeCV((1, 2), cv=3, unseen="error").fit(frame, y)
    assert tree.unseen == tree.best_estimator_.unseen == "error"


def test_weights_count_in_fits_and_in_scores(iris):
    X, y = noisy(60)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    weighted = OptimalTreeCV((1, 2), alpha=0.0, cv=KFold(2)).fit(X, y, sample_weight=weights)
    train, test = next(KFold(2).split(X))
    tree = OptimalTreeClassifier(1).fit(X[train], y[train], sample_weight=weights[train])
    expected = tree.score(X[test], y[test], sample_weight=weights[test])
    assert weighted.cv_results_["split0_test_score"][0] == pytest.approx(expected)


def test_groups_stay_together():
    X, y = noisy(60)
    groups = np.arange(60) // 6
    tree = OptimalTreeCV(1, cv=GroupKFold(3)).fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    expected = cross_val_score(OptimalTreeClassifier(1), X, y, cv=folds)
    assert np.allclose([tree.cv_results_[f"split{k}_test_score"][0] for k in range(3)], expected)


def test_a_minimum_by_the_rarest_class():
    X, y = noisy(120)
    y = np.where(np.arange(120) < 40, 2, y)
    tree = OptimalTreeCV((1, 2), alpha=0.0, min_samples_leaf=(1, "auto")).fit(X, y)
    rarest = np.bincount(y).min()
    assert set(tree.cv_results_["param_min_samples_leaf"].tolist()) == {1, min(30, rarest // 5)}


def test_a_limit_leaves_out_candidates_and_says_so(monkeypatch):
    X, y = noisy(60)
    moment = {"now": 0.0}

    def clock():
        moment["now"] += 0.05
        return moment["now"]

    monkeypatch.setattr(candidates.time, "monotonic", clock)
    with pytest.warns(OptimalityWarning, match=r"\d+ of 36 candidates were not tried in every fold"):
        tree = OptimalTreeCV(range(6), cv=2, time_limit=4.0).fit(X, y)
    assert 1 <= len(tree.cv_results_["params"]) < 36
    with pytest.raises(TimeoutError, match="before the first candidate was fitted in every fold"):
        OptimalTreeCV(cv=2, time_limit=0.05).fit(X, y)


def test_searches_that_reach_their_share_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 20)), rng.integers(0, 4, 400)
    with pytest.warns(OptimalityWarning, match=r"in \d+ of 2 fits on folds the search reached its share"):
        tree = OptimalTreeCV(4, alpha=0.0, cv=2, time_limit=1.0).fit(X, y)
    assert tree.cv_results_["n_optimal"].tolist() == [0]
    assert tree.status_ == "feasible"
    assert 0 <= tree.lower_bound_ <= tree.objective_ == tree.recount(X, y)


def test_ctrl_c_ends_the_trying_and_keeps_what_was_tried(monkeypatch):
    X, y = noisy(60)
    real = fronts.solve_front

    def press(problem, *of, **more):
        if problem.max_depth == press.depth:
            front = real(problem, *of, **more)
            return replace(front, stats=replace(front.stats, stopped_by="interrupt"))
        return real(problem, *of, **more)

    monkeypatch.setattr(fronts, "solve_front", press)
    press.depth = 2
    with pytest.warns(OptimalityWarning, match="12 of 18 candidates were not tried in every fold, for Ctrl-C"):
        tree = OptimalTreeCV(cv=2).fit(X, y)
    assert set(tree.cv_results_["param_max_depth"].tolist()) == {1}
    assert tree.best_params_["max_depth"] == 1
    press.depth = 1
    with pytest.raises(KeyboardInterrupt):
        OptimalTreeCV(cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": ()}, "max_depth=.* has no value to try"),
        ({"max_depth": (1, -1)}, "max_depth=-1 is not a depth"),
        ({"max_depth": "2"}, "max_depth='2' is not a depth"),
        ({"alpha": (0.1, 2)}, "alpha has 2"),
        ({"alpha": "small"}, "alpha has 'small'"),
        ({"alpha": float("nan")}, "alpha has nan"),
        ({"min_samples_leaf": (1, 0)}, "min_samples_leaf=0 is not a number of rows"),
        ({"min_samples_leaf": "some"}, "min_samples_leaf='some'"),
        ({"rule": "least"}, "rule='least': expected one of 'one_se', 'best'"),
        ({"cv": 1}, "cv=1: expected a number of folds from 2"),
        ({"scoring": "acuracy"}, "acuracy"),
    ],
)
def test_what_cannot_be_used_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        OptimalTreeCV(**parameters).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


def test_files_and_pictures(iris, tmp_path):
    X, y = iris
    tree = OptimalTreeCV((1, 2), cv=3).fit(X, y)
    tree.save(tmp_path / "tree.json")
    loaded = proofwood.load(tmp_path / "tree.json")
    assert isinstance(loaded, OptimalTreeClassifier)
    assert loaded.get_params()["max_depth"] == tree.best_params_["max_depth"]
    write_report(tree, tmp_path / "tree.html", X, y)
    assert "chosen" in (tmp_path / "tree.html").read_text()
    assert "chosen" in tree._repr_html_()


def test_a_picture_of_the_scores(iris):
    X, y = iris
    tree = OptimalTreeCV((1, 2), cv=3, min_samples_leaf=(1, 10)).fit(X, y)
    ax = tree.plot_cv(title="Iris")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "depth 2, leaves from 10 rows" in names
    assert "chosen" in names
    assert (ax.get_title(), ax.get_ylabel()) == ("Iris", "accuracy")
    with pytest.raises(ValueError, match="figsize is only for a new figure"):
        tree.plot_cv(ax, figsize=(3, 3))


def test_progress_in_lines(iris, capfd):
    X, y = iris
    OptimalTreeCV(1, cv=3, alpha=(0.0, 0.1), verbose=1).fit(X, y)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("depth 1, alpha")]
    assert len(lines) == 2
    assert "3 of 3 folds proved" in lines[0]


# ------------------------------------------------------------------------------------------------------------ numbers


def prices(n=240, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)).round(3)
    return X, np.where(X[:, 1] > 0.5, 900.0, 400.0) + 200 * (X[:, 2] > 0.7) + rng.normal(0, 60, n).round(1)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_the_scores_of_numbers_are_those_of_a_grid_search(scoring):
    X, y = prices()
    grid = {"max_depth": [1, 2], "alpha": [0.0, 0.01, 0.05]}
    learner = OptimalTreeRegressorCV((1, 2), alpha=(0.0, 0.01, 0.05), scoring=scoring, cv=4).fit(X, y)
    found, folds = learner.cv_results_, folds_of(4, X, y, None, 0, X, of_numbers=True)
    expected = GridSearchCV(OptimalTreeRegressor(), grid, scoring=scoring, cv=folds).fit(X, y).cv_results_
    at = {(p["max_depth"], p["alpha"]): k for k, p in enumerate(expected["params"])}
    for k, params in enumerate(found["params"]):
        other = at[params["max_depth"], params["alpha"]]
        for name in (*(f"split{j}_test_score" for j in range(4)), "mean_test_score"):
            assert found[name][k] == pytest.approx(expected[name][other])
    assert set(found["n_optimal"]) == {4}  # rounding to units of the search is a proof
    assert np.sum(found["mean_fit_time"] == 0) > 0


def test_the_chosen_tree_of_numbers_is_the_optimal_tree_of_its_size(tmp_path):
    X, y = prices()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(rent=y)
    tree = OptimalTreeRegressorCV().fit(frame, "rent")
    alone = OptimalTreeRegressor(**tree.best_params_).fit(frame, "rent")
    assert is_regressor(tree)
    assert tree.model_ == alone.model_
    assert (tree.objective_, tree.lower_bound_, tree._claim()) == (alone.objective_, alone.lower_bound_, alone._claim())
    rows = frame[list("abcd")]
    assert np.array_equal(tree.predict(rows), alone.predict(rows))
    assert tree.score(frame, "rent") == alone.score(frame, "rent")
    assert tree.recount(frame, "rent") == pytest.approx(tree.objective_)
    assert "chosen: depth 2" in tree.summary()
    tree.plot(X=frame, y="rent")
    tree.plot_cv()
    tree.save(tmp_path / "m.json")
    assert proofwood.load(tmp_path / "m.json").validation_ == tree.validation_


def test_a_chosen_tree_of_counts_says_what_its_tree_says():
    X, y = prices()
    tree = OptimalTreeRegressorCV((1,), criterion="poisson", alpha=0.0, cv=2).fit(X, np.abs(y))
    assert tree._names().loss == tree.best_estimator_._names().loss == "Poisson deviance"
    assert tree.export_text() == tree.best_estimator_.export_text()


def test_figures_of_numbers_on_held_out_rows_beside_the_mean():
    X, y = prices()
    tree = OptimalTreeRegressorCV((1, 2), alpha=0.0, cv=4).fit(X, y)
    found = tree.validation_
    away, alone = [], []
    for train, test in folds_of(4, X, y, None, 0, X, of_numbers=True):
        fit = OptimalTreeRegressor(**tree.best_params_).fit(X[train], y[train])
        away += (fit.predict(X[test]) - y[test]).tolist()
        alone += (y[train].mean() - y[test]).tolist()
    assert found.numbers.rows == y.size
    assert found.numbers.squared == pytest.approx(np.sqrt(np.mean(np.square(away))))
    assert found.numbers.absolute == pytest.approx(np.mean(np.abs(away)))
    assert found.numbers.baseline_squared == pytest.approx(np.sqrt(np.mean(np.square(alone))))
    assert found.numbers.baseline_absolute == pytest.approx(np.mean(np.abs(alone)))
    assert found.baseline < 0 < found.mean
    assert "the mean alone: -" in str(found)
    low, high = found.interval(y.size).low, found.interval(y.size).high
    assert low < found.mean < high


def test_folds_of_numbers_do_not_depend_on_the_order_and_keep_groups():
    X, y = prices(120)
    order = np.random.default_rng(0).permutation(120)
    held_out = [set(map(tuple, X[test])) for _, test in folds_of(3, X, y, None, 0, X, of_numbers=True)]
    moved = folds_of(3, X[order], y[order], None, 0, X[order], of_numbers=True)
    assert held_out == [set(map(tuple, X[order][test])) for _, test in moved]
    groups = np.arange(120) // 10
    for train, test in folds_of(3, X, y, groups, 0, X, of_numbers=True):
        assert not set(groups[train]) & set(groups[test])
    weights = np.random.default_rng(1).integers(0, 3, 120)
    tree = OptimalTreeRegressorCV(1, alpha=0.0, cv=KFold(2)).fit(X, y, sample_weight=weights)
    train, test = next(KFold(2).split(X))
    alone = OptimalTreeRegressor(1).fit(X[train], y[train], sample_weight=weights[train])
    expected = alone.score(X[test], y[test], sample_weight=weights[test])
    assert tree.cv_results_["split0_test_score"][0] == pytest.approx(expected)


def test_mistakes_about_numbers():
    X, y = prices(200)
    with pytest.raises(ValueError, match="scoring='accuracy' is for classes, and the target is numbers: use 'r2'"):
        OptimalTreeRegressorCV(1, scoring="accuracy").fit(X, y)
    with pytest.raises(ValueError, match="is not a score of scikit-learn"):
        OptimalTreeRegressorCV(1, scoring="r3").fit(X, y)
    with pytest.raises(ValueError, match="this learner predicts numbers"):
        OptimalTreeRegressorCV(1).fit(X, np.where(y > 500, "dear", "cheap"))
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.warns(DataWarning, match="the rows are sorted by the target"):
        OptimalTreeRegressorCV(1, cv=KFold(3)).fit(frame, np.sort(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        OptimalTreeRegressorCV(1, cv=KFold(3)).fit(frame, y)
