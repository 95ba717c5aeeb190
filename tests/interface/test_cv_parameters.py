"""``OptimalTreeCV`` with what its trees have: criteria, costs, orders, constraints, few leaves, questions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix, f1_score

from proofwood import DemographicParity, OptimalTreeClassifier, OptimalTreeCV, load
from proofwood.estimators import candidates
from proofwood.estimators.folds import folds_of

RNG = np.random.default_rng(0)
N = 240
X = RNG.random((N, 3)).round(2)
Y = ((X[:, 0] > 0.7) ^ (RNG.random(N) < 0.12)).astype(int)
GROUP = np.where(X[:, 1] + 0.3 * RNG.random(N) > 0.6, "a", "b")


def test_numbers_of_leaves_are_tried_in_one_search(monkeypatch):
    monkeypatch.setattr(candidates.CandidateRun, "_fit", lambda *_: pytest.fail("a fit of one candidate"))
    tree = OptimalTreeCV(3, alpha=0.0, max_leaf_nodes=(1, 2, 4, 6, None), cv=3, rule="best").fit(X, Y)
    found = tree.cv_results_
    folds = folds_of(3, X, Y, None, 0, X)
    assert found["param_max_leaf_nodes"].tolist() == [1, 2, 4, 6, None]
    assert set(found["n_optimal"]) == {3}
    for k, params in enumerate(found["params"]):
        leaves = [
            OptimalTreeClassifier(**params).fit(X[train], Y[train]).get_n_leaves() for train, _ in folds
        ]  # of the fewest errors: fewer leaves may do as well
        assert found["mean_n_leaves"][k] <= np.mean(leaves)
    alone = OptimalTreeClassifier(**tree.best_params_).fit(X, Y)
    assert tree.objective_ == alone.objective_
    assert "at most" in tree.summary() or tree.best_params_["max_leaf_nodes"] is None
    names = [text.get_text() for text in tree.plot_cv().get_legend().get_texts()]
    assert "depth 3, at most 4 leaves" in names


def test_one_number_of_leaves_limits_all_candidates(tmp_path):
    tree = OptimalTreeCV((1, 2, 3), alpha=(0.0, 0.01), max_leaf_nodes=3, cv=3).fit(X, Y)
    assert max(tree.cv_results_["mean_n_leaves"]) <= 3
    assert tree.best_params_["max_leaf_nodes"] == 3
    assert "at most 3 leaves" in tree.summary()
    tree.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").max_leaf_nodes == 3


def test_the_greatest_f1(tmp_path):
    names = np.where(Y == 1, "rare", "usual")
    tree = OptimalTreeCV((1, 2), criterion="f1", pos_label="rare", cv=3).fit(X, names)
    assert set(tree.cv_results_["param_alpha"]) == {0.0}
    assert (
        tree.objective_
        == OptimalTreeClassifier(criterion="f1", pos_label="rare", **tree.best_params_).fit(X, names).objective_
    )
    train, test = folds_of(3, X, names, None, 0, X)[0]
    alone = OptimalTreeClassifier(1, criterion="f1", pos_label="rare").fit(X[train], names[train])
    expected = f1_score(names[test], alone.predict(X[test]), pos_label="rare")
    assert tree.cv_results_["split0_test_score"][0] == pytest.approx(expected)
    assert tree.score(X, names) == pytest.approx(f1_score(names, tree.predict(X), pos_label="rare"))
    assert "F1" in tree.summary()
    assert tree.validation_.score == "F1"
    with pytest.raises(ValueError, match="cannot be combined with alpha"):
        OptimalTreeCV((1, 2), criterion="f1", alpha=(0.0, 0.1), cv=3).fit(X, Y)
    with pytest.raises(ValueError, match="criterion='f2'"):
        OptimalTreeCV(criterion="f2").fit(X, Y)


@pytest.mark.parametrize(
    ("criterion", "score", "more"),
    [
        ("balanced_accuracy", "balanced accuracy", {}),
        ("log_loss", "neg log loss", {}),
        ("gini", "accuracy", {}),
        ("jaccard", "Jaccard index", {}),
        ("f_beta", "F2", {"beta": 2}),
    ],
)
def test_a_criterion_is_what_is_scored(criterion, score, more):
    tree = OptimalTreeCV(1, criterion=criterion, cv=2, **more).fit(X, Y)
    assert tree._score_name() == tree.validation_.score == score
    assert tree.get_params()["criterion"] == tree.best_estimator_.criterion == criterion
    assert tree.validation_.baseline <= tree.best_score_ + 0.05
    assert OptimalTreeCV(1, criterion=criterion, cv=2, scoring="accuracy", **more).fit(X, Y)._score_name() == "accuracy"


def test_costs_are_what_is_scored():
    costs = {0: {1: 1.0}, 1: {0: 5.0}}
    tree = OptimalTreeCV((1, 2), cost_matrix=costs, cv=3).fit(X, Y)
    alone = OptimalTreeClassifier(cost_matrix=costs, **tree.best_params_).fit(X, Y)
    assert tree.objective_ == alone.objective_
    assert tree.cost(X, Y) == alone.cost(X, Y)
    wrong = confusion_matrix(Y, tree.predict(X))
    assert tree.score(X, Y) == pytest.approx(-(wrong[0, 1] + 5 * wrong[1, 0]) / N)
    assert tree.validation_.score == "neg mean cost"
    assert not np.isnan(tree.validation_.baseline)


def test_an_order_is_kept_in_every_fold():
    tree = OptimalTreeCV((1, 2), alpha=0.0, monotonic_cst=[1, 0, -1], cv=3).fit(X, Y)
    assert tree.objective_ == OptimalTreeClassifier(monotonic_cst=[1, 0, -1], **tree.best_params_).fit(X, Y).objective_
    again = X.copy()
    again[:, 0] += 0.2
    assert np.all(tree.predict(again) >= tree.predict(X))


def test_constraints_hold_for_every_candidate(tmp_path):
    parity = DemographicParity(ratio=0.9)
    tree = OptimalTreeCV((1, 2), alpha=0.0, constraints=[parity], cv=3).fit(X, Y, sensitive_features=GROUP)
    alone = OptimalTreeClassifier(constraints=[parity], **tree.best_params_).fit(X, Y, sensitive_features=GROUP)
    assert tree.objective_ == alone.objective_
    assert tree.fairness_ == alone.fairness_
    assert min(tree.fairness_.values()) >= 0.9
    frame = pd.DataFrame(X, columns=list("xyz")).assign(group=GROUP)
    named = OptimalTreeCV((1, 2), alpha=0.0, constraints=DemographicParity("group", ratio=0.9), drop=["group"], cv=3)
    assert min(named.fit(frame, Y).fairness_.values()) >= 0.9
    named.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").fairness_ == named.fairness_
    with pytest.raises(ValueError, match="no constraint compares groups"):
        OptimalTreeCV(1, cv=3).fit(X, Y, sensitive_features=GROUP)
    with pytest.raises(ValueError, match="compares groups: pass the group of each row"):
        OptimalTreeCV(1, cv=3, constraints=[parity]).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_leaf_nodes": 0}, "max_leaf_nodes=0 is not a number of leaves"),
        ({"max_leaf_nodes": (2, "3")}, "max_leaf_nodes='3' is not a number of leaves"),
        ({"max_leaf_nodes": ()}, "max_leaf_nodes=.* has no value to try"),
        ({"max_leaf_nodes": (2, 3), "criterion": "jaccard"}, "max_leaf_nodes does not go with criterion='jaccard'"),
        ({"beta": 2}, "takes no beta"),
        ({"cost_matrix": [[0, 1], [1, 0]], "criterion": "gini"}, "criterion='gini' has no costs"),
    ],
)
def test_what_cannot_be_used_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        OptimalTreeCV(1, cv=2, **parameters).fit(X, Y)


# ---------------------------------------------------------------------------------------------------------- questions


@pytest.fixture(scope="module")
def chosen():
    return OptimalTreeCV((1, 2), alpha=0.0, cv=3).fit(X, Y)


def test_questions_are_about_the_last_fit(chosen):
    tree = chosen.best_estimator_
    (flip,) = chosen.flip_cost(X[:1], X, Y)
    assert flip.cost == tree.flip_cost(X[:1], X, Y)[0].cost
    fairest = chosen.fairest(DemographicParity(), X, Y, sensitive_features=GROUP)
    assert fairest.difference == tree.fairest(DemographicParity(), X, Y, sensitive_features=GROUP).difference
    kept = chosen.fingerprints(X, Y)
    carried = chosen.carry_over(X[5:], Y[5:], before=kept)
    assert carried.lower_bound == tree.carry_over(X[5:], Y[5:], before=(X, Y)).lower_bound
    with pytest.raises(NotFittedError):
        OptimalTreeCV().flip_cost(X[:1], X, Y)


def test_a_bound_for_the_population_is_about_the_largest_depth(chosen):
    assert chosen.best_params_["max_depth"] == 1
    with pytest.raises(ValueError, match=r"the rows chose depth 1 among depths up to 2.*OptimalTreeClassifier\(2\)"):
        chosen.population_bound()
    largest = OptimalTreeCV(2, alpha=0.0, cv=3).fit(X, Y)
    assert largest.population_bound() == OptimalTreeClassifier(2).fit(X, Y).population_bound()
    with pytest.raises(ValueError, match="the size of the tree was chosen by these rows"):
        largest.best_estimator_.population_bound()
    few = OptimalTreeCV(2, alpha=0.0, max_leaf_nodes=3, cv=3).fit(X, Y)
    with pytest.raises(ValueError, match="max_leaf_nodes"):
        few.population_bound()
