"""``near_optimal_trees``: the public set."""

from __future__ import annotations

import pickle
import time
import warnings
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from proofwood import (
    DataWarning,
    OptimalBDDClassifier,
    OptimalityWarning,
    OptimalTreeClassifier,
    load,
    near_optimal_trees,
)
from proofwood.engines.trees import solve
from proofwood.engines.trees.near import NearTrees
from proofwood.near_optimal import NearOptimalTrees, near_optimal_trees_of, posed, trees
from proofwood.near_optimal.picture import MOST_COSTS, joined
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Result, Status
from tests.interrupts import interrupted
from tests.tables import constant_beside_gaps

ROWS = 120


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, Any]:
    data = load_breast_cancer(as_frame=True)
    X = data.frame.iloc[:ROWS][["mean radius", "mean texture", "mean smoothness", "mean area"]]
    return X, np.array(["malignant", "benign"])[data.target[:ROWS]]


@pytest.fixture(scope="module")
def near(table: tuple[pd.DataFrame, Any]) -> NearOptimalTrees:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return near_optimal_trees(*table, max_depth=2, slack=2)


@pytest.fixture(scope="module")
def predicted(near: NearOptimalTrees, table: tuple[pd.DataFrame, Any]) -> Any:
    """What each tree says of each row."""
    return np.array([tree.predict(table[0]) for tree in near])


def test_every_tree_costs_what_it_is_said_to(
    near: NearOptimalTrees, predicted: Any, table: tuple[pd.DataFrame, Any]
) -> None:
    y = table[1]
    assert near.exact
    assert near.count == sum(near.counts.values()) > 20
    best = near.optimum.objective_
    before = best
    for tree, said in zip(near, predicted, strict=True):
        wrong = int(np.count_nonzero(said != y))
        assert tree.objective == tree.errors == wrong
        assert before <= wrong <= best + 2 == near.budget
        before = wrong
    assert tree.number == near.count - 1
    assert near[-1].number == near.count - 1


def test_a_tree_is_a_fitted_classifier(near: NearOptimalTrees, table: tuple[pd.DataFrame, Any]) -> None:
    tree = near[near.count - 1]
    fitted = tree.classifier
    assert isinstance(fitted, OptimalTreeClassifier)
    assert fitted.status_ == "within_gap"
    assert (fitted.objective_, fitted.lower_bound_) == (tree.objective, near.optimum.lower_bound_)
    assert fitted.recount(*table) == tree.objective
    assert tuple(fitted.tested_columns_) == tree.columns
    assert tree.columns[0] in fitted.export_text()
    assert near[0].classifier.status_ == "optimal"
    assert near.optimum.objective_ == near[0].objective
    assert tree.model.n_leaves == tree.n_leaves
    assert tree.ties >= 0
    assert "NearTree(number=" in repr(tree)


def test_a_tree_that_is_not_the_best_can_be_saved(
    near: NearOptimalTrees, table: tuple[pd.DataFrame, Any], tmp_path: Path
) -> None:
    last = near[-1].classifier
    assert last.status_ == "within_gap"
    last.save(tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert (again.objective_, again.lower_bound_) == (last.objective_, near.optimum.lower_bound_)
    assert again.max_gap == 2
    assert again.recount(*table) == last.objective_
    assert near.optimum.max_gap == 0


def test_samples_are_uniform(near: NearOptimalTrees) -> None:
    drawn = near.sample(20 * near.count, random_state=0)
    hits = np.bincount([tree.number for tree in drawn], minlength=near.count)
    assert stats.chisquare(hits).pvalue > 1e-4
    again = near.sample(3, random_state=5)
    assert [tree.number for tree in again] == [tree.number for tree in near.sample(3, random_state=5)]
    assert near.sample(0) == []
    with pytest.raises(ValueError, match="number of trees"):
        near.sample(-1)


def test_columns(near: NearOptimalTrees, table: tuple[pd.DataFrame, Any]) -> None:
    X, y = table
    share = near.importance()
    for column in X.columns:
        assert share[column] == sum(column in tree.columns for tree in near) / near.count
        answer = near.without(column)
        fitted = OptimalTreeClassifier(2, drop=[column]).fit(X, y)
        assert answer.slack == answer.least_slack == fitted.objective_ - near.optimum.objective_
        assert answer.possible == (share[column] < 1) == (answer.slack <= 2)
        assert answer.tree.recount(X, y) == fitted.objective_
        assert column not in answer.tree.tested_columns_
        assert f"without {column}: {'yes' if answer.possible else 'no'}" in str(answer)
    assert set(near.always_used()) == {column for column in X.columns if share[column] == 1}
    with pytest.raises(ValueError, match="did you mean 'mean radius'"):
        near.without("mean radiu")


def test_decisions_are_those_of_all_trees(
    near: NearOptimalTrees, predicted: Any, table: tuple[pd.DataFrame, Any]
) -> None:
    X, _ = table
    found = near.decisions()
    for k, label in enumerate(near.optimum.classes_):
        assert np.array_equal(found[:, k], (predicted == label).any(axis=0))
    assert np.array_equal(near.decisions(X), found)
    assert near.decisions(X.iloc[:0]).shape == (0, 2)
    assert near.distinct() == len({tuple(row) for row in predicted})
    new = X.iloc[:5] + 0.0004
    said = np.array([tree.predict(new) for tree in near])
    for k, label in enumerate(near.optimum.classes_):  # a tree shows one threshold of each interval
        assert np.all(near.decisions(new)[:, k] >= (said == label).any(axis=0))


def test_new_rows_have_the_columns_of_training(near: NearOptimalTrees, table: tuple[pd.DataFrame, Any]) -> None:
    X, _ = table
    for other in (X[X.columns[::-1]], X.iloc[:, :2]):
        with pytest.raises(ValueError, match="feature names should match"):
            near.decisions(other)


def test_what_a_question_and_a_set_refuse(near: NearOptimalTrees) -> None:
    for wrong, error in ((-1, ValueError), (float("nan"), ValueError), ("5", TypeError)):
        with pytest.raises(error, match="expected seconds above 0"):
            near.without(0, time_limit=wrong)
    for part in (near, near[0]):
        with pytest.raises(TypeError, match="keep the classifier of the trees that you need"):
            pickle.dumps(part)
    assert pickle.loads(pickle.dumps(near[0].classifier)).objective_ == near[0].objective


def test_the_first_that_fits(near: NearOptimalTrees) -> None:
    assert near.first(lambda tree: True) is not None
    found = near.first(lambda tree: "mean texture" not in tree.columns)
    assert found is not None
    assert all("mean texture" in tree.columns for tree in islice(near, found.number))
    assert near.first(lambda tree: False) is None
    with pytest.raises(LookupError, match="none of the first 3 trees"):
        near.first(lambda tree: False, most=3)


def test_what_it_says(near: NearOptimalTrees) -> None:
    lines = near.summary().splitlines()
    assert lines[0].startswith(f"{near.count:,} trees within 2 of the optimum")
    assert len(lines) == len(near.counts) + 1
    assert repr(near).startswith("<NearOptimalTrees: ")


def test_names_are_told_on_one_line() -> None:
    X = pd.DataFrame({"a\nb": range(8), "c\x1b": [0, 1] * 4})
    near = near_optimal_trees(X, [0, 0, 0, 0, 1, 1, 1, 1], max_depth=1, slack=0)
    assert str(near[0]).endswith(r"n_leaves=2: a\x0ab)")
    assert str(near.without("a\nb")) == r"without a\x0ab: no, a slack of 4 is needed"


@pytest.mark.needs("matplotlib")
def test_the_picture(near: NearOptimalTrees) -> None:
    import matplotlib.pyplot as plt

    counts, columns = near.plot()
    assert len(counts.patches) == len(near.counts)
    assert [text.get_text() for text in columns.get_yticklabels()] == list(near.importance())[::-1]
    plt.close(counts.figure)


@pytest.mark.needs("matplotlib")
def test_joined_bars_are_ranges_of_costs_and_numbers_of_trees_are_whole() -> None:
    import matplotlib.pyplot as plt

    assert joined({1.5: 2, 2: 3, 1234.25: 5}, 3) == [("1.5", 2), ("2", 3), ("1,234.25", 5)]
    assert joined({1.5: 2, 2: 3, 1234.25: 5}, 2) == [("1.5 to 2", 5), ("1,234.25", 5)]
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (60, 3)), rng.integers(0, 2, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of the large slack
        near = near_optimal_trees(X, y, max_depth=2, slack=400, sample_weight=rng.integers(1, 99, 60))
    assert len(near.counts) > MOST_COSTS
    counts, _ = near.plot()
    counts.figure.canvas.draw()
    first, *_ = near.counts
    assert counts.get_xticklabels()[0].get_text().startswith(f"{first:,.0f}\nto ")
    assert len(counts.patches) <= MOST_COSTS
    shown = [text.get_text() for text in counts.get_yticklabels() + counts.get_yticklabels(minor=True)]
    assert {text for text in shown if text} <= {"1", "10", "100", "$10^{3}$", "$10^{4}$"}
    plt.close(counts.figure)


def test_weights_prices_and_more_classes() -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 2.0, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        near = near_optimal_trees(X, y, alpha=0.01, slack=0.02, max_depth=3, sample_weight=weights)
    assert near.slack == pytest.approx(0.02 * weights.sum())
    for tree in near.sample(20, random_state=1):
        wrong = weights[tree.predict(X) != y].sum()
        assert tree.errors == pytest.approx(wrong)
        assert tree.objective == pytest.approx(wrong + 0.01 * weights.sum() * (tree.n_leaves - 1))
        assert tree.classifier.recount(X, y, weights) == pytest.approx(tree.objective)


def test_a_warning_names_a_price() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(DataWarning, match=r"reaches the best tree of depth 1.*alpha=0\.667.*min_samples_leaf=3"):
        near_optimal_trees(X, y, max_depth=2, slack=100)
    with pytest.warns(DataWarning, match="pays for one more leaf"):
        near_optimal_trees(X, y, max_depth=2, slack=3, alpha=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near_optimal_trees(X, y, max_depth=2, slack=2, alpha=0.02)
        for given, more in ((X, {"alpha": 0.5}), (X, {"min_samples_leaf": 100}), (np.zeros_like(X), {})):
            assert near_optimal_trees(given, y, max_depth=2, slack=1, **more).count in (1, 2)  # no split pays


def test_small_depths_and_one_class() -> None:
    X, y = load_iris(return_X_y=True)
    for depth in (0, 1):
        near = near_optimal_trees(X, y, max_depth=depth, slack=0)
        assert near[0].objective == near.optimum.objective_
        assert near[0].n_leaves == depth + 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the slack")
        near = near_optimal_trees(X, np.zeros(len(y)), slack=3)
    assert near.count == 1
    assert near.count_in_words() == "1 tree"
    assert near.decisions().all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_depth": 4}, "up to a depth of 3"),
        ({"max_depth": True}, "up to a depth of 3"),
        ({"slack": -1}, "slack=-1: expected an int from 0"),
        ({"slack": 1.5}, r"a float in \[0, 1\), a share"),
        ({"slack": "much"}, "slack='much'"),
        ({"slack": None}, "slack=None: expected an int from 0"),
        ({"slack": float("nan")}, "slack=nan: expected an int from 0"),
        ({"alpha": 1 / 3e9 / 7}, "fewer digits"),
    ],
)
def test_bad_parameters(given: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        near_optimal_trees(X, y, **given)


def test_a_messy_table(table: tuple[pd.DataFrame, Any]) -> None:
    X, y = table[0].drop(columns=["mean radius", "mean area"]), table[1]
    rng = np.random.default_rng(0)
    benign = y == "benign"
    messy = X.assign(
        site=np.where(
            rng.random(len(X)) < 0.2, None, np.where(benign, "left", rng.choice(["left", "right", "both"], 120))
        ),
        age=np.where(rng.random(len(X)) < 0.3, np.nan, 50.0 + benign + rng.integers(0, 4, len(X))),
        seen=pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, len(X)), unit="D"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        near = near_optimal_trees(messy, y, max_depth=2, slack=3, min_samples_level=1)
    assert near.columns == tuple(messy.columns)
    assert near.optimum.objective_ == OptimalTreeClassifier(2, min_samples_level=1).fit(messy, y).objective_
    assert near.scope == ()
    trees = list(near)
    for tree in trees:
        assert tree.objective == np.count_nonzero(tree.predict(messy) != y)
    share = near.importance()
    assert all(share[name] == sum(name in tree.columns for tree in trees) / near.count for name in messy)
    assert min(share["site"], share["age"]) > 0
    found = near.decisions(messy)
    predicted = np.array([tree.predict(messy) for tree in trees])
    for k, label in enumerate(near.optimum.classes_):
        assert np.array_equal(found[:, k], (predicted == label).any(axis=0))
    undecided = near.undecided()
    assert (undecided.rows, undecided.of, undecided.exact) == ((found.sum(axis=1) > 1).sum(), len(X), True)
    new = messy.iloc[:3].assign(site="elsewhere")
    new.loc[new.index[0], "mean texture"] = np.nan  # where training had no gaps
    assert np.all(near.decisions(new) >= near.decisions(messy)[:3])
    dropped = near_optimal_trees(messy, y, max_depth=1, slack=0, drop=["age"])
    assert "age" not in dropped.columns
    with pytest.raises(ValueError, match="column 'age' was left out"):
        dropped.without("age")


def test_many_levels_are_divided_by_an_order() -> None:
    rng = np.random.default_rng(0)
    site = rng.choice(list("abcdefgh"), 200)
    y = np.isin(site, list("aceg")) ^ (rng.random(200) < 0.1)
    near = near_optimal_trees(pd.DataFrame({"site": site}), y, max_depth=1, slack=0)
    assert near.scope == ("over ordered sets of levels of site, order fixed in advance",)
    assert near.summary().endswith(f"the tests: {near.scope[0]}")
    again = near_optimal_trees(pd.DataFrame({"site": site}), y, max_depth=1, slack=0, drop=[])
    assert again.count == near.count


def test_the_set_of_a_fitted_tree(table: tuple[pd.DataFrame, Any]) -> None:
    X, y = table
    tree = OptimalTreeClassifier(2, alpha=0.02).fit(X, y)
    near = near_optimal_trees_of(tree, X, y, 2)
    assert near.optimum.objective_ == tree.objective_
    assert near.slack == 2
    for parameters, message in (
        ({"max_depth": 4, "alpha": 0.1}, "max_depth=4: near-optimal trees are counted up to a depth of 3"),
        ({"criterion": "f1"}, "criterion='f1': near-optimal trees are counted by errors"),
        ({"cost_matrix": [[0, 1], [2, 0]]}, "cost_matrix="),
        ({"max_leaf_nodes": 3}, "max_leaf_nodes=3"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst="),
    ):
        other = OptimalTreeClassifier(**{"max_depth": 2, **parameters}).fit(X, y == "benign")
        with pytest.raises(ValueError, match=message):
            near_optimal_trees_of(other, X, y, 2)
    of_rows = OptimalTreeClassifier(2).fit(
        X, y == "benign", costs=np.ones((len(y), 2)) - np.eye(2)[1 * (y == "benign")]
    )
    with pytest.raises(ValueError, match=r"^costs: near-optimal trees are counted by errors"):
        near_optimal_trees_of(of_rows, X, y, 2)
    with pytest.raises(ValueError, match="this is a model of OptimalBDDClassifier"):
        near_optimal_trees_of(OptimalBDDClassifier(1).fit(X, y), X, y, 2)
    with pytest.raises(ValueError, match="this is a model of DecisionTreeClassifier"):
        near_optimal_trees_of(DecisionTreeClassifier().fit(X, y), X, y, 2)


@pytest.fixture(scope="module")
def large() -> NearOptimalTrees:
    """A set that takes long to ask."""
    rng = np.random.default_rng(0)
    X = np.round(rng.random((700, 8)), 2)
    y = X[:, 0] + rng.normal(0, 0.3, 700) > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return near_optimal_trees(X, y, slack=12, time_limit=60)


def test_questions_stop_with_what_is_known(large: NearOptimalTrees) -> None:
    with pytest.warns(OptimalityWarning, match="shares are at least these"):
        part = large.importance(time_limit=0.05)
    whole = large.importance()
    assert whole.exact
    assert not part.exact
    assert dict(whole) == whole.at_most
    for name, share in whole.items():
        assert part[name] <= share <= part.at_most[name]
    assert large.importance(time_limit=1e-9) == whole  # it is known by now
    with pytest.warns(OptimalityWarning, match="each True is proved"):
        some = large.decisions(time_limit=0.02)
    with pytest.warns(OptimalityWarning, match="each True is proved"):
        least = large.undecided(time_limit=0.02)
    every = large.decisions()
    assert np.all(every >= some)
    assert not least.exact
    assert least.rows <= large.undecided().rows == (every.sum(axis=1) > 1).sum()
    with pytest.warns(OptimalityWarning, match="there are at least"):
        assert large.distinct(time_limit=1e-6) == 0
    with pytest.raises(LookupError, match="raise time_limit"):
        large.first(lambda tree: False, time_limit=0.01)
    with pytest.warns(OptimalityWarning, match="is not proved"):
        used = large.always_used(time_limit=0.0)
    assert set(used) <= set(large.always_used())  # proved by the first bounds, or open
    with pytest.warns(OptimalityWarning, match=r"time_limit\): without 0: "):
        answer = large.without(0, time_limit=0.0)
    assert not answer.possible  # proved by the first bounds, or open
    assert answer.least_slack <= large.without(0, time_limit=None).slack <= answer.slack


def test_ctrl_c_loses_nothing(large: NearOptimalTrees) -> None:
    fresh = NearOptimalTrees(large._source, large._best, large._budget)
    with pytest.raises(LookupError, match="interrupted: none of the first"):
        interrupted(lambda: fresh.first(lambda tree: time.sleep(0.01) is not None), 0.05)
    with pytest.warns(OptimalityWarning, match="interrupt"):
        part = interrupted(fresh.importance, 0.05)
    assert not part.exact
    whole = large.importance()
    assert all(part[name] <= whole[name] <= part.at_most[name] for name in whole)
    assert fresh[0].objective == large[0].objective
    assert fresh.importance() == whole


def test_after_ctrl_c_no_further_column_is_searched(near: NearOptimalTrees, monkeypatch: pytest.MonkeyPatch) -> None:
    used, asked = near.always_used(), []

    def ended(problem: TreeProblem, **_: Any) -> Result:
        """As if Ctrl-C came when nothing was proved, but in the search of the first column."""
        asked.append(problem)
        if len(asked) % 2:
            return solve(problem)
        result = solve(replace(problem, max_depth=0))  # a single leaf is in hand
        stats = replace(result.stats, stopped_by="interrupt")
        return replace(result, lower_bound=0.0, status=Status.FEASIBLE, stats=stats)

    tested = near[0].columns
    assert len(tested) == 3
    monkeypatch.setattr(trees, "solve", ended)
    with pytest.warns(OptimalityWarning, match="interrupt.*is not proved"):
        found, open_ = near.used_by_all()
    assert len(asked) == 2
    assert found == tuple(name for name in tested[:1] if name in used)
    assert open_ == tested[1:]
    with pytest.warns(OptimalityWarning, match="interrupt.*is not proved"):
        assert near.always_used() == found
    assert len(asked) == 4
    asked.append(None)
    with pytest.warns(OptimalityWarning, match=r"interrupt\): without mean radius: not known"):
        assert near.without("mean radius").possible is None

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(near._found), "read", pressed)
    with pytest.warns(OptimalityWarning, match="interrupt.*is not proved"):
        assert near.used_by_all() == ((), near.columns)


@pytest.mark.parametrize("search", ["best", "depth less"])
def test_ctrl_c_before_the_count_is_raised(
    search: str, table: tuple[pd.DataFrame, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that comes as the search ends, so that its answer is proved."""

    def ended(result: Result) -> Result:
        return replace(result, stats=replace(result.stats, stopped_by="interrupt"))

    def counted(*_: object, **__: object) -> None:
        pytest.fail("the count began after Ctrl-C")

    if search == "best":
        whole = OptimalTreeClassifier._search
        monkeypatch.setattr(OptimalTreeClassifier, "_search", lambda *given: ended(whole(*given)))
    else:
        monkeypatch.setattr(posed, "solve", lambda *given, **more: ended(solve(*given, **more)))
    monkeypatch.setattr(posed.NearTrees, "of", counted)
    with pytest.raises(KeyboardInterrupt):
        near_optimal_trees(*table, max_depth=2, slack=2)


def test_limits() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((1500, 6))
    y = X[:, 0] + rng.normal(0, 0.3, 1500) > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.warns(OptimalityWarning, match="at least"):
            near = near_optimal_trees(X, y, slack=200, time_limit=2.0)
    assert not near.exact
    assert "at least" in near.summary()
    with pytest.raises(TimeoutError, match="the best tree was not proved"):
        near_optimal_trees(X, y, time_limit=1e-9)


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning", "ignore::proofwood.DataWarning")
def test_decisions_of_stumps_keep_to_the_limit() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30_000, 12))
    y = (X[:, 0] > 0.5) ^ (rng.random(30_000) < 0.4)
    near = near_optimal_trees(X, y, max_depth=1, slack=0.2)
    started = time.monotonic()
    near.decisions(X, time_limit=0.2)
    assert time.monotonic() - started < 2.0


def test_where_the_first_tree_is_not_read_in_time_any_column_may_be_used_by_all(
    near: NearOptimalTrees, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = near.used_by_all()

    def late(*_: object) -> object:
        raise TimeoutError("the trees were not all read")

    monkeypatch.setattr(type(near._found), "read", late)
    assert near.used_by_all() == (found, ())
    used, left = near.used_by_all(time_limit=0.0)
    assert set(found) <= {*used, *left}


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_new_rows_keep_their_places_beside_a_column_that_is_left_out_and_one_with_gaps():
    X, y, weights = constant_beside_gaps()
    near = near_optimal_trees(X, y, max_depth=2, alpha=0.05, slack=1, sample_weight=weights)
    new = pd.DataFrame([[0, 40, -9, 7], [1, 40, -9, 7], [1, 13, 4, 7], [0, 7, -9, 7]], columns=X.columns)
    decided = np.array([tree.predict(new) for tree in near])
    assert near.decisions(new).tolist() == [[bool((column == k).any()) for k in (0, 1)] for column in decided.T]


class _Stopped(NearOptimalTrees):
    """A set whose count was stopped: the trees are some of all."""

    exact = property(lambda self: False)  # type: ignore[assignment]


def test_of_a_stopped_count_nothing_is_said_of_trees_that_are_not_counted(near: NearOptimalTrees) -> None:
    part = _Stopped(near._source, near._best, near._budget)
    with pytest.warns(OptimalityWarning, match="shares are those of the trees that are counted"):
        shares = part.importance()
    assert dict(shares) == dict(near.importance())
    assert not shares.exact
    with pytest.warns(OptimalityWarning, match="a tree that is not counted may cost less"):
        assert part.first(lambda tree: True).number == 0  # type: ignore[union-attr]
    with pytest.raises(LookupError, match=r"of at least .* trees: raise the limits of the count"):
        part.first(lambda tree: False)
    assert near.first(lambda tree: False) is None


def test_a_count_without_a_tree_is_no_set(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    of = NearTrees.of
    monkeypatch.setattr(NearTrees, "of", lambda *given, **more: of(*given, **{**more, "limits": Limits(0.0)}))
    with pytest.raises(TimeoutError, match=r"no tree was counted within .* the best one costs"):
        near_optimal_trees(X, y, max_depth=2, slack=1)


def test_one_column_and_a_number_of_trees_are_asked_for(near: NearOptimalTrees) -> None:
    for columns in ([near.columns[0], near.columns[1]], []):
        with pytest.raises(ValueError, match="expected the name or the index of one column"):
            near.without(columns)
    for most in (None, -5, 1.5):
        with pytest.raises(ValueError, match="expected a number of trees to look at"):
            near.distinct(most)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="expected a number of trees to look at"):
            near.first(lambda tree: True, most=most)  # type: ignore[arg-type]
