"""Limits on rates as a parameter of the tree learner."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from proofwood import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MaxSplits,
    OptimalDiagramClassifier,
    OptimalityWarning,
    OptimalTreeClassifier,
    load,
)
from tests.command_line import failed, worked
from tests.unit.questions.test_fairest import balanced, chosen_rows, people, rates_of


@pytest.mark.parametrize("kind", [DemographicParity, EqualOpportunity, EqualizedOdds])
def test_the_limit_is_kept_and_costs_errors(kind: Any) -> None:
    X, y = people()
    free = OptimalTreeClassifier(max_depth=2, drop=["sex"]).fit(X, y)
    asked = kind("sex", ratio=0.95)
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"], constraints=asked).fit(X, y)
    assert asked.measure(y, free.predict(X), X["sex"]) < 0.95  # else the table shows nothing
    assert asked.measure(y, tree.predict(X), X["sex"]) == tree.fairness_[repr(asked)] >= 0.95
    assert tree.status_ == "optimal"
    assert tree.lower_bound_ == tree.objective_ == tree.recount(X, y) > free.objective_
    assert tree.result_.scope == (f"trees that meet {asked!r}",)
    assert repr(asked) in tree.summary()


@pytest.mark.parametrize("options", [{"criterion": "balanced_accuracy"}, {"class_weight": {"yes": 1, "no": 5}}])
@pytest.mark.parametrize("kind", [DemographicParity, EqualOpportunity])
def test_weights_of_classes_change_no_rate(kind: Any, options: dict[str, Any]) -> None:
    X, _ = people(120, seed=4)
    y = np.where(X["skill"] + X["years"] + np.random.default_rng(0).normal(0, 2, 120) > 8, "yes", "no")
    asked = kind("sex", ratio=0.8)
    tree = OptimalTreeClassifier(max_depth=2, drop=["sex"], min_samples_level=1, constraints=asked, **options)
    tree.fit(X, y)
    assert tree.status_ == "optimal"
    assert asked.measure(y, tree.predict(X), X["sex"]) == tree.fairness_[repr(asked)] >= 0.8
    prices = balanced(y, np.ones(120)) if "criterion" in options else np.where(y == "yes", 1, 5)
    counted = np.ones(120) if kind is DemographicParity else 1.0 * (y == "yes")
    least = np.inf
    for chosen in chosen_rows(X):
        rates = rates_of(chosen, X, counted)
        if min(rates) >= 0.8 * max(rates) - 1e-12:
            least = min(least, prices[chosen != (y == "yes")].sum())
    assert tree.objective_ == pytest.approx(least, abs=1e-9)


def test_the_claim_names_the_limit() -> None:
    X, y = np.arange(8.0).reshape(-1, 1), np.array([0, 1] * 4)
    tree = OptimalTreeClassifier(1, constraints=DemographicParity()).fit(X, y, sensitive_features=y)
    assert tree._claim() == "no tree of depth at most 1 that meets the constraints makes fewer errors"


def test_a_ratio_of_zero_only_measures() -> None:
    X, y = people()
    free = OptimalTreeClassifier(max_depth=2).fit(X, y)
    tree = OptimalTreeClassifier(max_depth=2, constraints=[DemographicParity("sex", ratio=0)]).fit(X, y)
    assert tree.objective_ == free.objective_
    assert 0 < min(tree.fairness_.values()) < 1


def test_groups_are_values_or_a_column() -> None:
    X, y = people()
    named = OptimalTreeClassifier(max_depth=2, constraints=DemographicParity("sex", ratio=0.9)).fit(X, y)
    values = OptimalTreeClassifier(max_depth=2, constraints=DemographicParity(ratio=0.9))
    values.fit(X, y, sensitive_features=X["sex"])
    assert named.export_text() == values.export_text()
    named.fit(X.drop(columns="sex"), y, sensitive_features=X["sex"])  # a series of its name
    assert "sex" in named.summary()
    named.fit(X.drop(columns="sex"), y, sensitive_features=list(X["sex"]))  # as the error without the column advises
    diagrams = [
        OptimalDiagramClassifier((1, 2), constraints=DemographicParity(*name, ratio=0.9), drop=["sex"]).fit(
            X, y, **given
        )
        for name, given in ((["sex"], {}), ([], {"sensitive_features": X["sex"]}))
    ]
    assert diagrams[0].export_text() == diagrams[1].export_text()
    assert [*diagrams[0].fairness_.values()] == [*diagrams[1].fairness_.values()]
    assert "DemographicParity('sex', ratio=0.9)" in diagrams[0].summary()
    with pytest.raises(ValueError, match="leave out one"):
        named.fit(X, y, sensitive_features=X["sex"].rename("other"))
    assert clone(named).constraints == named.constraints


def test_other_constraints_and_parameters_are_refused() -> None:
    X, y = people(60)
    parity = DemographicParity("sex")
    for parameters, told in (
        ({"constraints": MaxSplits(3)}, "limits diagrams"),
        ({"constraints": DemographicParity("sex", penalty=1)}, "a penalty is for diagrams"),
        ({"constraints": [parity, EqualOpportunity("town")]}, "different columns"),
        ({"constraints": "sex"}, "expected a list of constraints"),
        ({"constraints": DemographicParity()}, "pass the group of each row"),
        ({"constraints": parity, "monotonic_cst": {"skill": 1}}, "monotonic_cst"),
        ({"constraints": parity, "criterion": "gini"}, "criterion"),
        ({"constraints": parity, "min_weight_fraction_leaf": 0.1}, "min_weight_fraction_leaf"),
        ({"constraints": parity, "checkpoint": "x.json"}, "checkpoint"),
    ):
        with pytest.raises(ValueError, match=told):
            OptimalTreeClassifier(max_depth=2, **parameters).fit(X, y)
    with pytest.raises(ValueError, match="no constraint compares groups"):
        OptimalTreeClassifier(max_depth=2).fit(X, y, sensitive_features=X["sex"])
    with pytest.raises(ValueError, match="two classes"):
        OptimalTreeClassifier(max_depth=2, constraints=DemographicParity("sex", pos_label="a")).fit(X, X["town"])
    with pytest.raises(ValueError, match="too many digits"):
        OptimalTreeClassifier(max_depth=2, constraints=parity).fit(X, y, np.random.default_rng(0).random(60))


def test_saved_trees_keep_their_constraints(tmp_path: Path) -> None:
    X, y = people()
    asked = DemographicParity("sex", ratio=0.9)
    tree = OptimalTreeClassifier(max_depth=2, constraints=[asked]).fit(X, y)
    tree.save(tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert again.constraints == [asked]
    assert again.fairness_ == tree.fairness_
    assert again.result_.scope == tree.result_.scope
    saved = json.loads((tmp_path / "tree.json").read_text())
    saved["model"]["columns"].pop("fairness")
    (tmp_path / "forged.json").write_text(json.dumps(saved))
    with pytest.raises(ValueError, match="fairness"):
        load(tmp_path / "forged.json", check=False)


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_a_label_of_numpy_is_saved_as_a_plain_one(labels: Any, tmp_path: Path) -> None:
    X, y = people()
    given = np.asarray(labels)[(np.asarray(y) == np.unique(y)[1]).astype(int)]
    asked = DemographicParity("sex", ratio=0.9, pos_label=given.max() if labels[1] == 1 else np.unique(given)[1])
    assert repr(asked) == f"DemographicParity('sex', ratio=0.9, pos_label={labels[1]!r})"
    tree = OptimalTreeClassifier(max_depth=2, constraints=[asked]).fit(X, given)
    tree.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").fairness_ == tree.fairness_


def test_the_report_says_the_limit(tmp_path: Path) -> None:
    X, y = people()
    tree = OptimalTreeClassifier(max_depth=2, constraints=DemographicParity("sex", ratio=0.9)).fit(X, y)
    tree.report(tmp_path / "report.html", X, y)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The search was limited:" in page
    assert "trees that meet DemographicParity(&#39;sex&#39;, ratio=0.9)" in page


def test_the_command_line_limits_rates(tmp_path: Path) -> None:
    X, y = people()
    X.assign(hired=y).to_csv(tmp_path / "people.csv", index=False)
    call = ["fit", str(tmp_path / "people.csv"), "--target", "hired", "--max-depth", "2"]
    told = worked(*call, "--demographic-parity", "sex:0.9")
    assert "trees that meet DemographicParity('sex', ratio=0.9)" in told
    assert "penalty is for diagrams" in failed(*call, "--demographic-parity", "sex:0.9:1")
    assert "worst ratio" in worked(*call, "--demographic-parity", "sex:0.9", "--cv", "3")


def test_categories_that_do_not_occur_are_no_levels() -> None:
    levels, y = list("eeeecdbee"), [0, 0, 1, 1, 0, 0, 0, 1, 0]
    found = []
    for categories in ("bcde", "abcdefg"):
        X = pd.DataFrame({"c": pd.Categorical(levels, categories=list(categories))})
        tree = OptimalTreeClassifier(2, alpha=0.01, constraints=DemographicParity(ratio=0.8))
        tree.fit(X, y, sensitive_features=list("pqqpqqpqp"))
        found.append((tree.objective_, tree.lower_bound_, str(tree.status_)))
    assert found[0] == found[1]
    assert found[0][2] == "optimal"


@pytest.mark.parametrize("seed", [0, 2, 9, 11])
def test_beside_sets_of_many_levels_the_cuts_of_one_order_are_looked_at(seed: int) -> None:
    rng = np.random.default_rng(seed)
    town, skill, street = (rng.integers(0, n, 400) for n in (7, 30, 8))
    X = pd.DataFrame({"town": [f"t{k}" for k in town], "skill": skill, "street": [f"s{k}" for k in street]})
    y = np.where(rng.random(400) < (town + skill + street) / 45, "yes", "no")
    parity = DemographicParity("town", pos_label="yes")
    found = []
    for depth, least in ((1, 1), (2, 1), (2, 2)):  # leaves of at least two rows: cuts of one order are all tests
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)
            found.append(OptimalTreeClassifier(depth, constraints=parity, min_samples_leaf=least).fit(X, y))
    one, two, ordered = found
    assert one.objective_ >= two.objective_
    assert ordered.status_ == "optimal"
    assert two.lower_bound_ <= two.objective_ <= ordered.objective_
    assert not any("order" in limit for limit in two.result_.scope)


def test_limits_of_many_groups_are_proved_like_those_of_few() -> None:
    """The prices of seven groups may have too large a common denominator: one table is listed at rounded ones."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 7, 400)
        X = rng.integers(0, 6, (400, 2))
        y = (rng.random(400) < 0.1 + 0.15 * X[:, 0]).astype(int)
        parity = DemographicParity(ratio=0.8)
        tree = OptimalTreeClassifier(1, constraints=parity).fit(X, y, sensitive_features=group)
        stumps = [
            np.where(X[:, j] <= cut, low, high)
            for j in range(2)
            for cut in range(6)
            for low, high in ((0, 0), (0, 1), (1, 0), (1, 1))
        ]
        fair = [said for said in stumps if parity.measure(y, said, group) >= 0.8]
        assert tree.status_ == "optimal"
        assert tree.objective_ == tree.lower_bound_ == min((said != y).sum() for said in fair)
