"""What it costs to decide a row otherwise: sentences, rows that can be asked about, and stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import DataWarning, DemographicParity, OptimalityWarning, OptimalTreeClassifier, load
from proofwood.language import speaking
from proofwood.questions import flips
from proofwood.result import Status
from tests.stopped import stopped_fit
from tests.tables import constant_beside_gaps


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, OptimalTreeClassifier]:
    X = np.arange(12.0).reshape(-1, 1)
    y = np.array(["no"] * 5 + ["yes"] * 7)
    return X, y, OptimalTreeClassifier(1).fit(X, y)


def test_a_row_at_the_edge_is_cheaper_to_turn_than_one_far_from_it(fitted: Any) -> None:
    X, y, tree = fitted
    flips = tree.flip_cost(X[[4, 3, 0, 5, 11]], X, y)
    assert [one.cost for one in flips] == [1, 2, 5, 1, 6]
    assert {one.status for one in flips} == {Status.OPTIMAL}
    first = flips[0]
    assert (first.row, first.decision, first.other, first.share) == (0, "no", "yes", 1 / 12)
    assert str(first) == (
        "row 0, no: a tree that says yes costs 1 more (errors; 8.33 % of the weight), and none costs less"
    )
    assert first.tree.predict(X[[4]]) == ["yes"]
    assert first.tree.objective_ == first.tree.recount(X, y) == 1
    assert (first.tree.status_, first.tree.lower_bound_) == (Status.FEASIBLE, 0.0)


def test_rows_with_decimal_weights_are_those_of_the_fit() -> None:
    """Sums of weights are rounded once, in the fit as in the count of rows that are given again."""
    X, y, weights = (
        np.array([0.36, 0.03, 0.29, 0.29, 0.36, 0.36])[:, np.newaxis],
        [0, 0, 0, 0, 0, 1],
        [2, 3, 3, 3, 7, 1],
    )
    tenths = np.array(weights) / 10
    tree = OptimalTreeClassifier(2).fit(X, y, tenths)
    (found,) = tree.flip_cost(X[:1], X, y, tenths)
    (whole,) = OptimalTreeClassifier(2).fit(X, y, weights).flip_cost(X[:1], X, y, weights)
    assert found.cost == whole.cost / 10 == 0.8


def test_another_tree_that_is_as_good_costs_nothing() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0]] * 5)
    y = [0, 1] * 5
    tree = OptimalTreeClassifier(1).fit(X, y)
    (flip,) = tree.flip_cost([[0.0, 1.0]], X, y)  # the columns disagree about this row only
    assert (flip.cost, flip.tree.status_) == (0, Status.OPTIMAL)


def test_a_row_keeps_its_places_beside_a_column_that_is_left_out_and_one_with_gaps() -> None:
    X, y, weights = constant_beside_gaps()
    with pytest.warns(DataWarning, match="constant"):
        tree = OptimalTreeClassifier(2, alpha=0.05).fit(X, y, weights)
    (flip,) = tree.flip_cost(pd.DataFrame([[0.0, 40.0, -9.0, 7.0]], columns=X.columns), X, y, weights)
    assert (flip.decision, flip.cost, flip.status) == (1, 0.0, Status.OPTIMAL)


def test_a_stopped_fit_may_have_a_better_tree_that_decides_otherwise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    tree = stopped_fit(X, y, 2)
    best = OptimalTreeClassifier(2).fit(X, y)
    flips = tree.flip_cost(X, X, y)
    assert min(flip.cost for flip in flips) == best.objective_ - tree.objective_ < 0


def test_a_time_limit_leaves_a_bound() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 10)), rng.integers(0, 2, 3000)
    tree = stopped_fit(X, y, 3, 100.0)
    (flip,) = tree.flip_cost(X[:1], X, y, time_limit=0.05)
    assert flip.status is Status.FEASIBLE
    assert 100 - tree.objective_ <= flip.lower_bound < flip.cost
    assert f"and every such tree at most {-flip.lower_bound:,.0f} less" in str(flip)


def test_after_ctrl_c_the_rows_that_are_done_have_their_answers(fitted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, tree = fitted
    whole, real, left = tree.flip_cost(X[:4], X, y), flips.solve, []

    def press(problem: Any, **given: Any) -> Any:
        result = real(problem, **given)
        if left.pop():
            return result
        return replace(result, stats=replace(result.stats, stopped_by="interrupt"))

    monkeypatch.setattr(flips, "solve", press)
    left[:] = [False, True, True]
    with pytest.warns(OptimalityWarning, match=r"\(interrupt\): the answers are about the first 2 of 4 rows") as told:
        first = tree.flip_cost(X[:4], X, y)
    assert told[0].filename == __file__
    assert list(map(str, first)) == list(map(str, whole[:2]))
    left[:] = [False]
    with pytest.raises(KeyboardInterrupt):
        tree.flip_cost(X[:4], X, y)


def test_several_classes_weights_and_a_loaded_tree(tmp_path: Any) -> None:
    X = np.arange(9.0).reshape(-1, 1)
    y, weights = np.repeat([0, 1, 2], 3), np.array([1, 1, 1, 2, 2, 2, 5, 5, 5])
    tree = OptimalTreeClassifier(2).fit(X, y, weights)
    (flip,) = tree.flip_cost(X[3:4], X, y, weights)
    assert (flip.other, flip.cost, flip.unit) == (0, 2, "errors")
    tree.save(tmp_path / "tree.json")
    (again,) = load(tmp_path / "tree.json").flip_cost(X[3:4], X, y, weights)
    assert (again.other, again.cost, again.status) == (0, 2, Status.OPTIMAL)


def test_what_cannot_be_asked_is_said(fitted: Any) -> None:
    X, y, tree = fitted
    with pytest.raises(ValueError, match="are not those of the fit: rows in all are 11, and were 12"):
        tree.flip_cost(X[:1], X[1:], y[1:])
    with pytest.raises(ValueError, match="not those of the fit: weight in all"):
        tree.flip_cost(X[:1], X, np.where(X[:, 0] == 0, "yes", y))
    with pytest.raises(ValueError, match="time_limit=0"):
        tree.flip_cost(X[:1], X, y, time_limit=0)
    with pytest.raises(ValueError, match="no value in column 'x0'"):
        tree.flip_cost([[np.nan]], X, y)
    least = OptimalTreeClassifier(1, min_samples_leaf=2).fit(X, y)
    assert least.flip_cost(X[:1], X, y)[0].cost == 5
    with pytest.raises(ValueError, match="about training rows only"):
        least.flip_cost([[2.5]], X, y)
    with pytest.raises(ValueError, match="min_weight_fraction_leaf"):
        OptimalTreeClassifier(1, min_weight_fraction_leaf=0.1).fit(X, y).flip_cost(X[:1], X, y)
    for given in ({"criterion": "gini"}, {"cost_matrix": [[0, 1], [5, 0]]}, {"criterion": "f1", "pos_label": "yes"}):
        other = OptimalTreeClassifier(1, **given).fit(X, y)
        with pytest.raises(ValueError, match="flip_cost is about wrong rows"):
            other.flip_cost(X[:1], X, y)
    weights = np.random.default_rng(0).random(12) + 1e-13
    with pytest.raises(ValueError, match="too many digits"):
        OptimalTreeClassifier(1).fit(X, y, weights).flip_cost(X[:1], X, y, weights)


def test_categories_are_those_of_training() -> None:
    X = pd.DataFrame({"town": ["a", "b", "c", "a", "b", "c"] * 3, "size": range(18)})
    y = ["no", "yes", "no"] * 6
    tree = OptimalTreeClassifier(1, min_samples_level=1, unseen="majority").fit(X, y)
    assert tree.flip_cost(X[1:2], X, y)[0].cost == 6
    with pytest.raises(ValueError, match="category in column 'town' that no training row had"):
        tree.flip_cost(pd.DataFrame({"town": ["d"], "size": [3]}), X, y)


@pytest.mark.parametrize("limit", ["monotonic_cst", "constraints"])
def test_questions_about_all_trees_need_a_search_of_all(fitted: Any, limit: str) -> None:
    X, y, _ = fitted
    group = np.array(["a", "b"] * 6)
    given = {"monotonic_cst": [1], "constraints": (DemographicParity(ratio=0.1),)}
    tree = OptimalTreeClassifier(1, **{limit: given[limit]})
    tree.fit(X, y, **({"sensitive_features": group} if limit == "constraints" else {}))
    for ask in (
        lambda: tree.flip_cost(X[:1], X, y),
        tree.population_bound,
        lambda: tree.carry_over(X, y, before=(X, y)),
    ):
        with pytest.raises(ValueError, match=f"searched among those that {limit} permits"):
            ask()


def test_a_stump_over_many_levels_has_the_sets_that_the_forced_row_needs() -> None:
    """The order of levels by the share of a class suffices for the fit, and not once a row is forced."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 70, 400)
    y = (rng.random(400) < rng.random(70)[town]).astype(int)
    X = pd.DataFrame({"town": [f"t{k:02d}" for k in town]})
    tree = OptimalTreeClassifier(1, min_samples_level=1, categorical_features=["town"]).fit(X, y)
    counts = np.zeros((70, 2), dtype=int)
    np.add.at(counts, (town, y), 1)
    for row, flip in zip(town[:12], tree.flip_cost(X[:12], X, y), strict=True):
        now = int(np.argmax(counts[row]))  # each level may be on either side
        assert flip.decision == now or counts[row, 0] == counts[row, 1]
        others = counts.min(axis=1).sum() - counts[row].min()
        assert flip.cost == others + counts[row, flip.decision] - tree.objective_
        assert flip.status is Status.OPTIMAL
        assert flip.scope == ()


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_columns_that_were_left_out_and_pooled_levels_are_named() -> None:
    X = pd.DataFrame({"same": [0] * 6, "b": [1, 1, 1, 4, 5, 6]})
    y = [0, 0, 0, 1, 1, 1]
    tree = OptimalTreeClassifier(2).fit(X, y)
    (flip,) = tree.flip_cost(X[:1].assign(same=7), X, y)
    assert flip.scope == ("no test of 'same', which the fit left out",)
    assert str(flip).endswith("and none costs less for these tests (no test of 'same', which the fit left out)")
    town = pd.DataFrame({"town": [*"aabbccddee" * 12, *"fgh"]})
    few = OptimalTreeClassifier(2, min_samples_level=3).fit(town, [0, 1, 1] * 41)
    assert "levels under 3 rows pooled in town" in str(few.flip_cost(town[:1], town, [0, 1, 1] * 41)[0])


def test_a_column_of_truth_values_holds_no_other() -> None:
    X = pd.DataFrame({"paid": [False] * 3 + [True] * 4})
    tree = OptimalTreeClassifier(2).fit(X, [0, 0, 0, 1, 1, 1, 0])
    for value in (-0.5, 0.5, 2.0):
        with pytest.raises(ValueError, match="in column 'paid', which holds only False and True"):
            tree.flip_cost(pd.DataFrame({"paid": [value]}), X, [0, 0, 0, 1, 1, 1, 0])


def test_sets_of_levels_with_gaps_are_kept_for_a_forced_row() -> None:
    """With a minimum of leaves, sets are tests of 0 and 1, and missing values belong to one of both."""
    X = pd.DataFrame({"c": [*"aaa", *"b" * 10, *[None] * 10]})
    y = [1] * 13 + [0] * 10
    tree = OptimalTreeClassifier(1, min_samples_leaf=2, categorical_features=["c"]).fit(X, y)
    (flip,) = tree.flip_cost(X[:1], X, y)
    assert (flip.cost, flip.status, flip.scope) == (3, Status.OPTIMAL, ())


def test_flips_are_told_in_german() -> None:
    X = pd.DataFrame({"same": [0] * 6, "b": [1, 1, 1, 4, 5, 6]})
    with pytest.warns(DataWarning, match="left out"):
        tree = OptimalTreeClassifier(2).fit(X, [0, 0, 0, 1, 1, 1])
    (flip,) = tree.flip_cost(X[:1], X, [0, 0, 0, 1, 1, 1])
    with speaking("de"):
        assert "kostet 3 mehr" in str(flip)
        assert str(flip).endswith("(unter diesen Tests: kein Test von 'same', beim Lernen ausgelassen)")
