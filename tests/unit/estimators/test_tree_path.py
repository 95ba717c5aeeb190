"""``optimal_tree_path``: the same trees as single fits, prices, folds, stops and the picture."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from proofwood import OptimalityWarning, OptimalTreeClassifier, OptimalTreeRegressor, load, optimal_tree_path
from proofwood.estimators import tree_path
from proofwood.estimators.reporting import to_complete
from proofwood.estimators.tree_path import TreePath
from proofwood.result import Stats, Status
from tests.interrupts import interrupted

RNG = np.random.default_rng(1)
X = RNG.normal(size=(160, 3))
Y = np.array(["no", "yes"])[((X[:, 0] > 0.3) ^ (X[:, 1] > 0) ^ (RNG.random(160) < 0.15)).astype(int)]


@pytest.fixture(scope="module")
def path() -> TreePath:
    return optimal_tree_path(X, Y, max_depth=3)


def test_after_ctrl_c_no_fold_is_searched() -> None:
    rng = np.random.default_rng(0)
    large, labels = rng.normal(size=(4000, 6)), rng.integers(0, 2, 4000)
    with pytest.warns(OptimalityWarning) as told:
        stopped = interrupted(lambda: optimal_tree_path(large, labels, max_depth=4, cv=3, time_limit=None), 0.5)
    assert stopped.chosen is None
    assert len(stopped) == 16
    assert stopped[15].status is not Status.OPTIMAL
    assert ["no number of leaves is chosen" in str(one.message) for one in told] == [True, False]
    assert not [one for one in told if "aise" in str(one.message)]  # no limit ended it


def test_what_is_advised_after_a_stop_is_what_stopped_it() -> None:
    told = {by: to_complete(Stats(stopped_by=by), "wait") for by in ("memory_limit", "interrupt")}
    assert told["interrupt"] == ""
    assert "raise memory_limit" in told["memory_limit"]
    assert "time_limit" not in told["memory_limit"]


def test_each_tree_is_that_of_its_own_fit(path: TreePath) -> None:
    assert len(path) == 8
    for tree in path:
        alone = OptimalTreeClassifier(3, max_leaf_nodes=tree.leaves).fit(X, Y)
        fitted = path.at(tree.leaves)
        assert tree.objective == tree.lower_bound == alone.objective_ == fitted.objective_ == fitted.recount(X, Y)
        assert tree.status is Status.OPTIMAL
        assert fitted.status_ is Status.OPTIMAL
        assert fitted.get_n_leaves() == tree.n_leaves <= tree.leaves
        assert fitted.result_.scope == alone.result_.scope
        assert fitted._claim() == alone._claim()


def test_at_each_price_it_is_the_tree_of_a_fit_with_this_price(path: TreePath) -> None:
    for alpha in (0.0, 0.003, 0.01, 0.02, 0.05, 0.2, 1.0):
        alone, fitted = OptimalTreeClassifier(3, alpha=alpha).fit(X, Y), path.at(alpha=alpha)
        assert fitted.objective_ == alone.objective_ == fitted.lower_bound_ == fitted.recount(X, Y)
        assert fitted.status_ is Status.OPTIMAL
        assert fitted.alpha == alpha


def test_within_its_prices_a_tree_is_the_best_one(path: TreePath) -> None:
    told = [tree for tree in path if tree.alphas is not None]
    assert told[0].alphas[1] == 1
    assert told[-1].alphas[0] == 0
    for smaller, larger in pairwise(told):
        assert smaller.alphas[0] == larger.alphas[1]
    for tree in told:
        middle = sum(tree.alphas) / 2
        assert OptimalTreeClassifier(3, alpha=middle).fit(X, Y).get_n_leaves() == tree.n_leaves


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "gamma"])
def test_numbers(criterion: str) -> None:
    y = RNG.poisson(2, 160) + 1.0 + (X[:, 0] > 0.3)
    weights = RNG.integers(1, 4, 160)
    path = optimal_tree_path(X, y, max_depth=2, criterion=criterion, sample_weight=weights, cv=3)
    for tree in path:
        alone = OptimalTreeRegressor(2, criterion=criterion, max_leaf_nodes=tree.leaves).fit(X, y, weights)
        fitted = path.at(tree.leaves)
        assert tree.objective == pytest.approx(alone.objective_)
        assert fitted.recount(X, y, weights) == fitted.objective_ == tree.objective
        assert tree.status in (Status.OPTIMAL, Status.WITHIN_GAP)
        assert tree.lower_bound == pytest.approx(tree.objective, rel=1e-9)
        assert fitted._claim() == alone._claim()
    for alpha in (0.001, 0.02, 0.1, 0.5):
        alone, fitted = (
            OptimalTreeRegressor(2, criterion=criterion, alpha=alpha).fit(X, y, weights),
            path.at(alpha=alpha),
        )
        assert fitted.objective_ == pytest.approx(alone.objective_)
        assert fitted.lower_bound_ == pytest.approx(alone.lower_bound_)
        inside = [tree.leaves for tree in path if tree.alphas is not None and tree.alphas[0] <= alpha <= tree.alphas[1]]
        assert inside in ([], [fitted.get_n_leaves()])
    assert path.chosen == path.at().max_leaf_nodes
    assert path.summary().count(", proved; 1 - R² on held-out rows") == 4
    ax = path.plot()
    assert ax.get_ylabel() == "share of the cost of a single leaf\non held-out rows 1 - R²"
    assert ax.figure.axes == [ax]
    rows = np.arange(0, 160, 2)
    r2 = [path.at(k).score(X[rows], y[rows]) for k in (1, 4)]
    assert r2[0] < r2[1]


@pytest.mark.parametrize("criterion", ["balanced_accuracy", "log_loss", "gini"])
def test_other_criteria_of_classes(criterion: str, tmp_path: Path) -> None:
    path = optimal_tree_path(X, Y, max_depth=2, criterion=criterion)
    path.at(3).save(tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert np.array_equal(again.predict_proba(X), path.at(3).predict_proba(X))
    assert again.export_text() == path.at(3).export_text()
    assert " wrong" in again.export_text()
    for tree in path:
        alone = OptimalTreeClassifier(2, criterion=criterion, max_leaf_nodes=tree.leaves).fit(X, Y)
        assert tree.objective == pytest.approx(alone.objective_)
        assert path.at(tree.leaves).status_ is not Status.FEASIBLE


@pytest.mark.parametrize("criterion", ["balanced_accuracy", "log_loss", "gini"])
def test_folds_of_classes_tell_wrong_rows_beside_an_axis_of_their_own(criterion: str) -> None:
    path = optimal_tree_path(X, Y, max_depth=1, criterion=criterion, cv=2)
    for line, tree in zip(path.summary().splitlines(), path, strict=True):
        assert f"; wrong held-out rows {tree.fold_errors.mean():.2%}" in line
    ax = path.plot()
    (other,) = set(ax.figure.axes) - {ax}
    of_weight = criterion == "balanced_accuracy"
    assert ax.get_ylabel() == ("share of wrong weight" if of_weight else "share of the cost of a single leaf")
    assert other.get_ylabel() == "share of wrong held-out rows"
    (line,) = ax.get_lines()
    assert np.array_equal(line.get_ydata(), [tree.objective / float(path._whole[1]) for tree in path])
    assert np.array_equal(other.get_lines()[0].get_ydata(), [tree.fold_errors.mean() for tree in path])
    assert [text.get_text() for text in ax.get_legend().texts] == ["training rows", "chosen", "held-out rows"]


@pytest.mark.parametrize("weights", [{"no": 1, "yes": 2}, "balanced"])
def test_classes_that_weigh_more_do_not_share_an_axis_with_rows(weights: Any) -> None:
    path = optimal_tree_path(X, Y, max_depth=1, class_weight=weights, cv=2)
    assert "R²" not in path.summary()
    assert [one.get_ylabel() for one in path.plot().figure.axes] == [
        "share of wrong weight",
        "share of wrong held-out rows",
    ]


def test_rows_that_weigh_more_do_so_on_folds_too() -> None:
    path = optimal_tree_path(X, Y, max_depth=1, sample_weight=RNG.integers(1, 5, 160) / 3, cv=2)
    assert "; wrong held-out rows " in path.summary()
    assert [one.get_ylabel() for one in path.plot().figure.axes] == ["share of wrong weight"]


def test_weights_minima_and_text() -> None:
    table = pd.DataFrame({"kind": np.array(list("abc"))[RNG.integers(0, 3, 160)], "x": X[:, 0], "y": X[:, 1]})
    weights = RNG.integers(1, 5, 160) / 3
    given: dict[str, Any] = {"min_samples_leaf": 5, "min_weight_fraction_leaf": 0.05}
    path = optimal_tree_path(table, Y, sample_weight=weights, max_depth=2, **given)
    for tree in path:
        alone = OptimalTreeClassifier(2, max_leaf_nodes=tree.leaves, **given).fit(table, Y, weights)
        assert tree.objective == pytest.approx(alone.objective_)
        assert path.at(tree.leaves).recount(table, Y, weights) == pytest.approx(tree.objective)


def test_the_scope_names_what_limits_the_tests(path: TreePath) -> None:
    assert path.scope == ()
    kind = np.array(list("abcdefgh"))[RNG.integers(0, 8, 160)]
    limited = optimal_tree_path(pd.DataFrame({"kind": kind, "x": X[:, 0]}), Y, max_depth=2)
    (limit,) = limited.scope
    assert "kind" in limit
    assert limit in limited.at(3).result_.scope
    assert limited.summary().endswith(f"the tests: {limit}")
    assert repr(limited) == "<TreePath: 1 to 4 leaves, 4 of 4 proved for these tests>"
    title = limited.plot().get_title(loc="left")
    assert title == "trees of depth at most 2: 4 of 4 proved optimal for these tests"
    assert repr(path) == "<TreePath: 1 to 8 leaves, 8 of 8 proved>"


def test_folds_count_what_single_trees_get_wrong() -> None:
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
    path = optimal_tree_path(X, Y, max_depth=2, cv=folds)
    train, test = folds[1]
    by_hand = [optimal_tree_path(X[train], Y[train], max_depth=2).at(k).predict(X[test]) for k in range(1, 5)]
    assert [tree.fold_errors[1] for tree in path] == [np.mean(wrong != Y[test]) for wrong in by_hand]
    assert path.chosen in range(1, 5)
    assert path.at().get_n_leaves() == path[path.chosen - 1].n_leaves
    assert "(chosen)" in path.summary()


def test_folds_that_cannot_be_scored_are_refused_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, rows = X[:, 0], np.arange(160)
    first, rest = rows[:10], rows[10:]
    folds = [(rest, first), (rows[:150], rows[150:])]
    without, with_one, with_two = (np.where(rows < n, 0.0, 1.0) for n in (10, 9, 8))
    of_numbers: dict[str, Any] = {"criterion": "squared_error", "max_depth": 1}
    for y, weights, given in (
        (numbers, with_two, of_numbers),
        (Y, with_one, {"max_depth": 1}),
        (Y, 2.0, {"max_depth": 1}),  # of each row
    ):
        assert optimal_tree_path(X, y, cv=folds, sample_weight=weights, **given).chosen is not None

    def begun(*_: object) -> None:
        pytest.fail("the search began")

    monkeypatch.setattr(tree_path, "front_of", begun)
    few = "fold 0 of cv holds out too few rows of positive weight"
    for y, given, message in (
        (Y, {"cv": folds, "sample_weight": without}, f"{few}, 0: expected at least one; pass other folds"),
        (numbers, {"cv": folds, "sample_weight": with_one, **of_numbers}, f"{few}, 1: expected at least two"),
        (numbers, {"cv": LeaveOneOut(), **of_numbers}, f"{few}, 1: expected at least two"),
        (Y, {"cv": [(first, rest)], "sample_weight": without}, "fold 0 of cv learns from no row of positive weight"),
        (Y, {"cv": 1}, "cv=1: expected a number of folds from 2"),
    ):
        with pytest.raises(ValueError, match=message):
            optimal_tree_path(X, y, **given)


def test_table_and_picture(path: TreePath) -> None:
    frame = path.to_frame()
    assert frame["leaves"].to_list() == list(range(1, 9))
    assert frame["objective"].to_list() == [tree.objective for tree in path]
    ax = path.plot()
    assert ax.get_title(loc="left") == "trees of depth at most 3: 8 of 8 proved optimal"
    assert ax.get_xlabel() == "leaves, at most"
    assert optimal_tree_path(X, Y, max_depth=1, cv=2).plot().get_legend() is not None


def test_a_stop_is_told_and_bounds_hold() -> None:
    X, y = RNG.normal(size=(3000, 8)), RNG.integers(0, 2, 3000)
    with pytest.warns(OptimalityWarning, match=r"the time limit .* raise time_limit .* or take a smaller max_depth\.$"):
        path = optimal_tree_path(X, y, max_depth=4, time_limit=0.5)
    assert path[-1].status is Status.FEASIBLE
    assert path[-1].lower_bound < path[-1].objective
    fitted = path.at(leaves=16)
    assert fitted.status_ is Status.FEASIBLE
    assert (fitted.lower_bound_, fitted.objective_) == (path[-1].lower_bound, path[-1].objective)
    assert path.at(alpha=0.001).lower_bound_ <= path.at(alpha=0.001).objective_


def test_what_is_refused(path: TreePath) -> None:
    with pytest.raises(ValueError, match="expected an integer from 1 to 8"):
        path.at(leaves=9)
    with pytest.raises(ValueError, match="both given"):
        path.at(2, alpha=0.1)
    with pytest.raises(ValueError, match="only a path with cv"):
        path.at()
    with pytest.raises(ValueError, match="expected an integer from 1 to 17"):
        optimal_tree_path(X, Y, max_leaf_nodes=0)
    with pytest.raises(ValueError, match="criterion"):
        optimal_tree_path(X, Y, criterion="f1")
    with pytest.raises(ValueError, match="is about classes"):
        optimal_tree_path(X, X[:, 0], criterion="squared_error", class_weight="balanced")
    with pytest.raises(ValueError, match=r"groups applies to folds: give their number with cv$"):
        optimal_tree_path(X, Y, groups=np.arange(160) // 4)
    with pytest.raises(ValueError, match="which a path by leaves does not search: pass a depth"):
        optimal_tree_path(X, Y, max_depth=None)
    with pytest.raises(ValueError, match="is not a depth"):
        optimal_tree_path(X, Y, max_depth=-1)


def test_one_class_is_a_leaf() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = optimal_tree_path(X, np.zeros(160), max_depth=2)
    assert [tree.objective for tree in path] == [0, 0, 0, 0]
    assert path.at(alpha=0.1).get_n_leaves() == 1


@pytest.mark.parametrize("tiny", [1e-300, 1e-20])
def test_no_price_is_named_where_the_cost_of_a_leaf_is_not_known(tiny: float) -> None:
    """The costs of rows of such weights have the bound 0, and every price would have seemed to be proved."""
    X = np.array([[0.407], [0.919], [0.159], [0.995], [0.413], [0.183]])
    weights = [1, tiny, 1, tiny, tiny, tiny]
    path = optimal_tree_path(X, [0, 1, 0, 0, 1, 0], max_depth=3, criterion="gini", sample_weight=weights)
    named = [tree.alphas for tree in path if tree.alphas is not None]
    assert sum(high - low for low, high in named) <= 1
    for tree in path:
        assert tree.alphas is None or tree.status is not Status.FEASIBLE


def test_a_stopped_path_names_no_price_of_what_is_not_proved() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 12)), rng.integers(0, 2, 3000)
    with pytest.warns(OptimalityWarning):
        path = optimal_tree_path(X, y, max_depth=4, criterion="log_loss", time_limit=0.01)
    open_ = [tree for tree in path if tree.status is Status.FEASIBLE]
    assert open_
    assert all(tree.alphas is None for tree in open_)
    assert all("best for alpha" not in line for line in path.summary().splitlines() if "at least" in line)


def test_prices_name_the_most_leaves_of_the_path() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 5, (60, 3)), rng.integers(0, 2, 60)
    told = [optimal_tree_path(X, y, max_depth=2, max_leaf_nodes=most).summary() for most in (1, 3, 4, None)]
    last = [text.splitlines()[-1] for text in told]
    assert last[:2] == ["the prices: of trees of one leaf", "the prices: of trees of at most 3 leaves"]
    assert not any("the prices: " in text for text in told[2:])
