"""Is any tree fairer for so few errors more, as a user asks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MaxSplits,
    OptimalityWarning,
    OptimalTreeClassifier,
    OptimalTreeCV,
    load,
)
from proofwood.engines.trees import fair
from proofwood.engines.trees.solve import TreeBound, bound
from proofwood.problem.tree import TreeProblem
from proofwood.questions.fairest import Fairest
from proofwood.result import Status


def people(n: int = 160, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    sex = random.choice(["f", "m"], n)
    frame = pd.DataFrame(
        {
            "skill": random.integers(0, 6, n).astype(float) + 2.0 * (sex == "m"),
            "years": random.integers(0, 5, n).astype(float),
            "sex": sex,
            "town": random.choice(["a", "b", "c"], n),
        }
    )
    score = frame["skill"] + frame["years"] + random.normal(0, 2, n)
    return frame, np.where(score > score.median(), "yes", "no")


def chosen_rows(X: pd.DataFrame) -> Iterator[np.ndarray]:
    """Those that a labelled tree of depth 2 of the columns skill, years and town predicts positive, of every tree."""
    tests = [X[name].to_numpy() <= cut for name in ("skill", "years") for cut in np.unique(X[name])[:-1]]
    tests += [X["town"].to_numpy() == level for level in "abc"]
    everyone = np.ones(len(X), dtype=bool)
    splits = [(low, ~low) for low in tests]

    def sides(rows: np.ndarray) -> list[np.ndarray]:
        found = [rows, rows & False]
        for low, high in splits:
            if (rows & low).any() and (rows & high).any():
                found += [rows & low, rows & high]
        return found

    for low, high in splits:
        for a, b in product(sides(everyone & low), sides(everyone & high)):
            yield a | b


def rates_of(chosen: np.ndarray, X: pd.DataFrame, weights: np.ndarray) -> list[float]:
    female = X["sex"].to_numpy() == "f"
    return [float(np.average(chosen[group], weights=weights[group])) for group in (female, ~female)]


def least_difference(X: pd.DataFrame, y: np.ndarray, counted: np.ndarray, prices: np.ndarray, most: float) -> float:
    """Of rates that count rows by ``counted``, over all trees whose wrong rows cost at most ``most``."""
    within = (chosen for chosen in chosen_rows(X) if np.sum(prices[chosen != (y == "yes")]) <= most)
    return min(abs(np.subtract(*rates_of(chosen, X, counted))) for chosen in within)


def balanced(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of rows whose classes weigh alike."""
    of_class = np.array([weights[y == label].sum() for label in y])
    return weights * weights.sum() / (len(np.unique(y)) * of_class)


@pytest.mark.parametrize("kind", [DemographicParity, EqualOpportunity])
@pytest.mark.parametrize("slack", [0, 4, 0.1])
def test_no_tree_within_the_slack_is_fairer(kind: Any, slack: float) -> None:
    X, y = people()
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"], min_samples_level=1).fit(X, y)
    found = tree.fairest(kind("sex"), X, y, slack=slack)
    counted = np.ones(len(y)) if kind is DemographicParity else 1.0 * (y == "yes")
    assert found.status == "optimal"
    assert found.difference == found.lower_bound
    least = least_difference(X, y, counted, np.ones(len(y)), found.most)
    assert found.difference == pytest.approx(least, abs=1e-12)
    assert found.most == tree.objective_ + (slack if isinstance(slack, int) else int(slack * len(y)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [DemographicParity, EqualOpportunity])
@pytest.mark.parametrize("options", [{"criterion": "balanced_accuracy"}, {"class_weight": {"yes": 4, "no": 1}}])
def test_rates_count_people_whatever_errors_cost(kind: Any, options: dict[str, Any], *, weighted: bool) -> None:
    X, _ = people(120, seed=4)
    y = np.where(X["skill"] + X["years"] + np.random.default_rng(0).normal(0, 2, 120) > 8, "yes", "no")
    weights = np.random.default_rng(1).integers(1, 4, 120) if weighted else None
    people_count = np.ones(120) if weights is None else weights
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"], min_samples_level=1, **options).fit(X, y, weights)
    found = tree.fairest(kind("sex"), X, y, weights, slack=0.05)
    prices = balanced(y, people_count) if "criterion" in options else people_count * np.where(y == "yes", 4, 1)
    counted = people_count * (1.0 if kind is DemographicParity else y == "yes")
    assert found.status == "optimal"
    assert found.difference == pytest.approx(least_difference(X, y, counted, prices, found.most + 1e-9), abs=1e-12)
    assert found.difference == pytest.approx(
        abs(np.subtract(*rates_of(found.tree.predict(X) == "yes", X, counted))), abs=1e-12
    )


def test_a_class_without_weight_is_refused() -> None:
    X, y = people(60)
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"], class_weight={"no": 0}).fit(X, y)
    with pytest.raises(ValueError, match="a class has the weight 0, but rates count its rows"):
        tree.fairest(DemographicParity("sex"), X, y)


def test_the_tree_is_a_fitted_tree_with_that_difference() -> None:
    X, y = people(seed=1)
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"]).fit(X, y)
    found = tree.fairest(DemographicParity("sex"), X, y, slack=0.1)
    chosen, female = found.tree.predict(X) == "yes", X["sex"] == "f"
    assert abs(chosen[female].mean() - chosen[~female].mean()) == pytest.approx(found.difference, abs=1e-12)
    assert found.tree.recount(X, y) == found.tree.objective_ <= found.most
    assert found.tree.lower_bound_ <= tree.objective_
    assert found.difference < found.before
    assert found.gap == 0
    assert "0 rows" not in found.summary()
    assert f"{found.difference:.4f}" in found.summary()
    assert tree.objective_ == tree.recount(X, y)  # the tree that was asked is as it was


def test_groups_may_be_given_beside_the_table() -> None:
    X, y = people(seed=2)
    plain = X[["skill", "years"]]
    tree = OptimalTreeClassifier(max_depth=2).fit(plain.to_numpy(), y)
    by_values = tree.fairest(DemographicParity(), plain.to_numpy(), y, sensitive_features=X["sex"], slack=5)
    named = OptimalTreeClassifier(max_depth=2, drop=["sex", "town"]).fit(X, y)
    by_name = named.fairest(DemographicParity("sex"), X, y, slack=5)
    assert by_values.difference == by_name.difference
    three = tree.fairest(EqualizedOdds(), plain.to_numpy(), y, sensitive_features=X["town"], slack=5)
    assert three.lower_bound <= three.difference <= three.before


def test_weights_count() -> None:
    X, y = people(seed=3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex", "town"]).fit(X, y, weights)
    found = tree.fairest(DemographicParity("sex"), X, y, weights, slack=8)
    rows = np.repeat(np.arange(len(y)), weights)
    again = OptimalTreeClassifier(max_depth=2, drop=["sex", "town"]).fit(X.iloc[rows], y[rows])
    repeated = again.fairest(DemographicParity("sex"), X.iloc[rows], y[rows], slack=8)
    assert found.difference == repeated.difference


def test_at_a_limit_the_bound_holds_and_the_tree_stands() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(4000, 6)), columns=list("abcdef"))
    y = (X["a"] + X["b"] * X["c"] + random.normal(size=4000) > 0).astype(int)
    groups = (X["a"] + random.normal(size=4000) > 0).astype(int)
    tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    with pytest.warns(OptimalityWarning, match=r"stopped at a limit \(time_limit\): the bound holds"):
        found = tree.fairest(DemographicParity(), X, y, sensitive_features=groups, slack=0.05, time_limit=0.05)
    assert found.stopped_by == "time_limit"
    assert found.status == "feasible"
    assert 0 <= found.lower_bound < found.difference <= found.before
    assert "at least" in found.summary()


@pytest.mark.parametrize(("limit", "error"), [(-1, ValueError), (float("nan"), ValueError), ("5", TypeError)])
def test_a_time_limit_is_above_0(limit: Any, error: type[Exception]) -> None:
    X, y = np.arange(6.0).reshape(-1, 1), np.array([0, 0, 0, 1, 1, 1])
    with pytest.raises(error, match="expected seconds above 0"):
        OptimalTreeClassifier(1).fit(X, y).fairest(
            DemographicParity(), X, y, sensitive_features=y, slack=1, time_limit=limit
        )


@pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")
def test_at_a_limit_the_answer_is_no_less_fair_than_the_tree_that_was_asked() -> None:
    """The search does not begin with a tree over a column with gaps."""
    X = pd.DataFrame({"a": [2.0, 8, 37, 25, 37, 26], "b": [25.0, 29, 46, 7, 32, 46], "c": [np.nan, 3, 0, 3, 2, 2]})
    y, groups = np.array([1, 1, 0, 0, 1, 0]), ["m", "f", "m", "f", "x", "f"]
    tree = OptimalTreeClassifier(2).fit(X, y)
    found = tree.fairest(EqualOpportunity(), X, y, sensitive_features=groups, slack=2, time_limit=1e-5)
    assert (found.difference, found.before, found.status) == (0, 0, "optimal")
    assert found.tree.recount(X, y) == tree.objective_


@pytest.mark.parametrize("cause", ["interrupt", "memory_limit"])
def test_what_stops_the_first_search_ends_the_question(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = people()
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"], min_samples_level=1).fit(X, y)
    searches = []

    def stopped(problem: TreeProblem, **given: Any) -> TreeBound:
        searches.append(problem)
        return replace(bound(problem, **given), lower=0, stopped_by=cause)

    monkeypatch.setattr(fair, "bound", stopped)
    with pytest.warns(OptimalityWarning, match="stopped at a limit"):
        found = tree.fairest(DemographicParity("sex"), X, y, slack=4)  # by levels of the town: no tree to begin with
    assert len(searches) == 1
    assert (found.stopped_by, found.status) == (cause, "feasible")
    assert 0 == found.lower_bound < found.difference <= found.before


def test_what_cannot_be_asked_is_told() -> None:
    X, y = people(60)
    tree = OptimalTreeClassifier(max_depth=1).fit(X, y)
    for constraint, told in (
        (DemographicParity("age"), "no frame with such a column"),
        (DemographicParity(), "sensitive_features"),
        (MaxSplits(3), "compares groups"),
        ("sex", "compares groups"),
    ):
        with pytest.raises(ValueError, match=told):
            tree.fairest(constraint, X, y)
    parity = DemographicParity("sex")
    for slack in (-1, 1.5, True, "5"):
        with pytest.raises(ValueError, match="slack="):
            tree.fairest(parity, X, y, slack=slack)
    with pytest.raises(ValueError, match="leave out one"):
        tree.fairest(parity, X, y, sensitive_features=list(X["sex"]))
    with pytest.raises(ValueError, match="not those of the fit"):
        tree.fairest(parity, X, np.where(y == "yes", "no", "yes"))
    with pytest.raises(ValueError, match="two classes"):
        OptimalTreeClassifier(max_depth=1).fit(X, X["town"]).fairest(parity, X, X["town"])
    with pytest.raises(ValueError, match="criterion"):
        OptimalTreeClassifier(max_depth=1, criterion="gini").fit(X, y).fairest(parity, X, y)
    with pytest.raises(ValueError, match=r"^fairest needs a depth"):
        OptimalTreeClassifier(max_depth=None, alpha=0.1).fit(X, y).fairest(parity, X, y)
    assert isinstance(tree.fairest(parity, X, y), Fairest)


def test_the_rows_are_those_of_the_fit_at_every_node() -> None:
    rng = np.random.default_rng(1)
    X, groups = rng.integers(0, 8, (60, 2)).astype(float), rng.integers(0, 2, 60)
    y = (X[:, 0] > 3) ^ (rng.random(60) < 0.15)
    tree = OptimalTreeClassifier(1).fit(X, y)
    other = tree.predict(X[:35])
    other[: int(tree.objective_)] ^= True  # as many errors on other rows
    with pytest.raises(ValueError, match="are not those of the fit: rows in all are 35, and were 60"):
        tree.fairest(DemographicParity(), X[:35], other, sensitive_features=groups[:35])


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
@pytest.mark.parametrize("seed", [1, 3, 8])
def test_a_greater_slack_finds_nothing_worse_where_prices_leave_a_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"town": rng.choice(list("abcdefgh"), 200), "size": rng.integers(0, 8, 200)})
    groups = rng.choice(["p", "q"], 200, p=[0.3, 0.7])
    y = X.town.isin(list("abcd")) * 1.0 + (X["size"] > 3) + (groups == "p") * 0.7 + rng.normal(0, 0.6, 200) > 1.3
    tree = OptimalTreeClassifier(2, min_samples_level=1).fit(X, y)
    found = [tree.fairest(DemographicParity(), X, y, sensitive_features=groups, slack=k) for k in (1, 2, 4, 8, 16, 32)]
    differences = [one.difference for one in found]
    assert differences == sorted(differences, reverse=True)
    assert all(one.lower_bound <= one.difference for one in found)


def test_trees_of_another_question_are_refused() -> None:
    X, y = people()
    sex = X.pop("sex")
    parity = DemographicParity(pos_label="yes")
    costs = np.column_stack([10.0 * (y == "yes"), 1.0 * (y == "no")])
    learned = {
        "the objective of this tree is 'cost'": OptimalTreeClassifier(2).fit(X, y, costs=costs),
        "among those that constraints permits": OptimalTreeClassifier(2, constraints=parity).fit(
            X, y, sensitive_features=sex
        ),
        "among those that max_leaf_nodes permits": OptimalTreeClassifier(2, max_leaf_nodes=3).fit(X, y),
    }
    for message, tree in learned.items():
        with pytest.raises(ValueError, match=message):
            tree.fairest(parity, X, y, sensitive_features=sex)
    same = [OptimalTreeClassifier(2, max_leaf_nodes=most).fit(X, y) for most in (None, 4)]  # 4 leaves limit nothing
    one, other = (tree.fairest(parity, X, y, sensitive_features=sex, slack=3) for tree in same)
    assert (one.difference, one.lower_bound) == (other.difference, other.lower_bound)


def test_the_answer_about_a_tree_of_a_set_of_levels_is_about_all_sets() -> None:
    """A flip may test a set of levels that is not in the order of which all cuts are listed."""
    X = pd.DataFrame({"t": list("fgbbgbedcgef")})
    y, groups = [0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1]
    tree = OptimalTreeClassifier(1, min_samples_level=1, categorical_features=["t"]).fit(X, y)
    flipped = tree.flip_cost(X.iloc[[7]], X, y)[0].tree
    assert flipped.result_.scope == ()
    found = flipped.fairest(DemographicParity(pos_label=1), X, y, sensitive_features=groups, slack=1)
    assert found.scope == found.tree.result_.scope == ()
    assert "for these tests" not in found.summary()
    town, right, of_group = X["t"].to_numpy(), np.array(y), np.array(groups)
    differences = []
    for levels in (some for n in range(8) for some in combinations("bcdefg", n)):
        for inside, outside in product((0, 1), repeat=2):
            said = np.where(np.isin(town, levels), inside, outside)
            if (said != right).sum() <= found.most:
                differences.append(abs(said[of_group == 0].mean() - said[of_group == 1].mean()))
    assert found.lower_bound <= min(differences) + 1e-12
    assert found.difference >= min(differences) - 1e-12


def test_what_a_file_claims_stays_a_claim(tmp_path: Path) -> None:
    X, y = people()
    sex = X.pop("sex")
    OptimalTreeClassifier(2).fit(X, y).save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    fairest = loaded.fairest(DemographicParity(pos_label="yes"), X, y, sensitive_features=sex, slack=0)
    for tree in (fairest.tree, loaded.flip_cost(X[:1], X, y)[0].tree):
        assert tree.loaded_
        assert "claimed when the file was written" in tree.summary()
        assert tree.lower_bound_ == loaded.lower_bound_
    loaded.lower_bound_ = fairest.tree.objective_ + 5  # as an edited file may say
    again = loaded.fairest(DemographicParity(pos_label="yes"), X, y, sensitive_features=sex, slack=0)
    assert (again.tree.lower_bound_, again.tree.status_) == (0, "feasible")


def test_held_out_scores_are_those_of_the_tree_that_was_chosen() -> None:
    X, y = people()
    sex = X.pop("sex")
    chosen = OptimalTreeCV(max_depth=2, cv=2).fit(X, y)
    assert chosen.validation_ is not None
    found = chosen.fairest(DemographicParity(pos_label="yes"), X, y, sensitive_features=sex, slack=0.2)
    for tree in (found.tree, chosen.best_estimator_.flip_cost(X[:1], X, y)[0].tree):
        assert tree.validation_ is None
        with pytest.raises(ValueError, match="the size of the tree was chosen by these rows"):
            tree.population_bound()


def test_what_is_printed_is_no_more_than_is_proved() -> None:
    X, y = people()
    found = OptimalTreeClassifier(max_depth=1).fit(X, y).fairest(DemographicParity("sex"), X, y)
    open_ = replace(found, difference=0.2, lower_bound=0.12349, status=Status.FEASIBLE)
    assert "lower bound 0.1234, feasible" in repr(open_)
    assert "differ by at least 0.1234" in open_.summary()
    closed = replace(found, difference=0.12349, lower_bound=0.12349, status=Status.OPTIMAL)
    assert "difference 0.1235, lower bound 0.1235, optimal" in repr(closed)  # equal numbers are one text
