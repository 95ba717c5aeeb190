"""A bound on the errors of all trees on the population: exact limits, coverage, and its conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier

from proofwood import OptimalTreeClassifier, OptimalTreeCV, load
from proofwood.questions.population import NoBound, least_errors, least_rate, most_rate
from tests.stopped import stopped_fit


@pytest.mark.parametrize(("wrong", "n"), [(0, 10), (1, 10), (7, 10), (10, 10), (44, 300), (2567, 15216)])
@pytest.mark.parametrize("missed", [0.05, 0.01])
def test_limits_are_those_of_the_binomial(wrong: int, n: int, missed: float) -> None:
    low, high = least_rate(wrong, n, missed), most_rate(wrong, n, missed)
    assert 0 <= low <= wrong / n <= high <= 1
    if wrong:
        assert binom.sf(wrong - 1, n, low) == pytest.approx(missed, rel=1e-6)
        assert binom.sf(wrong - 1, n, low) <= missed
    if wrong < n:
        assert binom.cdf(wrong, n, high) == pytest.approx(missed, rel=1e-6)


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Of a population of 16 kinds of rows, whose best tree is known."""
    rng = np.random.default_rng(0)
    grid = np.array([(a, b) for a in range(4) for b in range(4)], dtype=float)
    mass, p = rng.dirichlet(np.ones(16)), rng.random(16)
    both, labels = np.vstack([grid, grid]), np.repeat([0, 1], 16)
    weights = np.concatenate([mass * (1 - p), mass * p])
    best = OptimalTreeClassifier(1).fit(both, labels, weights).objective_
    held = 0
    for _ in range(200):
        at = rng.choice(16, 400, p=mass)
        tree = OptimalTreeClassifier(1).fit(grid[at], (rng.random(400) < p[at]).astype(int))
        held += tree.population_bound(0.9).error <= best
    assert held >= 170  # 180 are expected at least; fewer than 170 have a probability of 0.02


@pytest.fixture(scope="module")
def drawn() -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X[:800], y[:800], X[800:], y[800:]


def test_a_model_beside_all_trees(drawn: Any) -> None:
    X, y, X_test, y_test = drawn
    tree = OptimalTreeClassifier(1).fit(X, y)
    alone = tree.population_bound()
    assert str(alone).startswith("With a confidence of 95 %, every tree of depth at most 1 is wrong for at least ")
    assert alone.error == least_rate(int(tree.objective_), 800, 1 - 0.95)
    assert alone.worse_by is None
    rival = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    bound = tree.population_bound(rival=rival, X_test=X_test, y_test=y_test)
    assert bound.error < alone.error  # both statements hold together
    assert bound.rival_error is not None
    assert bound.worse_by == bound.error - bound.rival_error > 0.2
    assert "so each such tree is worse by at least" in str(bound)
    other = tree.population_bound(rival=OptimalTreeClassifier(1).fit(X, y), X_test=X_test, y_test=y_test)
    assert "nothing is shown about which is better" in str(other)


def test_a_stopped_fit_has_the_bound_of_its_proof(drawn: Any) -> None:
    X, y, *_ = drawn
    assert stopped_fit(X, y, 3).population_bound().error == 0.0
    bound = stopped_fit(X, y, 3, 40.2).population_bound()
    assert (bound.errors, bound.error) == (41, least_rate(41, 800, 1 - 0.95))


def test_a_price_of_leaves_is_taken_off(drawn: Any) -> None:
    X, y, *_ = drawn
    free = OptimalTreeClassifier(2).fit(X[:, :1], y)
    priced = OptimalTreeClassifier(2, alpha=0.001).fit(X[:, :1], y)
    bound = priced.population_bound()
    assert 0 < bound.errors <= free.objective_
    assert bound.errors == least_errors(priced) >= priced.objective_ - 0.8 * 3 - 1


def test_a_file_only_claims(drawn: Any, tmp_path: Any) -> None:
    X, y, *_ = drawn
    OptimalTreeClassifier(1).fit(X, y).save(tmp_path / "tree.json")
    assert str(load(tmp_path / "tree.json").population_bound()).startswith("claimed when the file was written: With")


@pytest.mark.parametrize(
    ("given", "weights", "message"),
    [
        ({"criterion": "balanced_accuracy"}, None, "counts no wrong rows"),
        ({"cost_matrix": [[0, 1], [2, 0]]}, None, "counts no wrong rows"),
        ({"class_weight": "balanced"}, None, "rows have weights"),
        ({}, np.arange(1, 801), "rows have weights"),
        ({"min_samples_leaf": 2}, None, "min_samples_leaf and min_weight_fraction_leaf permit trees by the rows"),
        ({"min_weight_fraction_leaf": 0.1}, None, "min_samples_leaf and min_weight_fraction_leaf permit trees"),
    ],
)
def test_conditions(drawn: Any, given: Any, weights: Any, message: str) -> None:
    X, y, *_ = drawn
    with pytest.raises(NoBound, match=message):
        OptimalTreeClassifier(1, **given).fit(X, y, weights).population_bound()


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_the_scope_and_the_size_must_not_follow_the_rows(drawn: Any) -> None:
    X, y, *_ = drawn
    levels = pd.DataFrame({"town": [f"t{min(i % 90, 3)}" for i in range(800)], "a": X[:, 0]})
    with pytest.raises(NoBound, match="which tests were considered depends on the rows"):
        OptimalTreeClassifier(1).fit(levels, y).population_bound()
    people = pd.DataFrame({"name": [f"n{i}" for i in range(800)], "a": X[:, 0]})
    with pytest.raises(NoBound, match="leave them out beforehand, with drop="):
        OptimalTreeClassifier(1).fit(people, y).population_bound()
    OptimalTreeClassifier(1, drop=["name"]).fit(people, y).population_bound()
    chosen = OptimalTreeCV((1, 2), alpha=0.0, cv=2).fit(X, y).best_estimator_
    with pytest.raises(NoBound, match="size of the tree was chosen by these rows"):
        chosen.population_bound()
    numbers = X[:, 0] + 0.01 * X[:, 1]
    with pytest.raises(NoBound, match="bands of equally many rows"):
        OptimalTreeClassifier(1, bands=2).fit(X, numbers).population_bound()
    assert OptimalTreeClassifier(1, bands=[0.0]).fit(X, numbers).population_bound().errors >= 0


def test_parameters_that_cannot_be_used(drawn: Any) -> None:
    X, y, X_test, y_test = drawn
    tree = OptimalTreeClassifier(1).fit(X, y)
    for confidence in (0.3, 1, 95, True, "0.95", None):
        with pytest.raises(ValueError, match="expected a probability"):
            tree.population_bound(confidence)
    with pytest.raises(ValueError, match="pass rival"):
        tree.population_bound(X_test=X_test, y_test=y_test)
    for rival, told in (("forest", "of type str"), (OptimalTreeClassifier, "the class OptimalTreeClassifier")):
        with pytest.raises(TypeError, match=f"rival is {told}: expected a fitted model"):
            tree.population_bound(rival=rival, X_test=X, y_test=y)
    with pytest.raises(ValueError, match="rival needs X_test and y_test"):
        tree.population_bound(rival=tree)
    with pytest.raises(ValueError, match="gets every test row wrong"):
        tree.population_bound(rival=tree, X_test=X_test, y_test=y_test.astype(str))


def test_weights_that_sum_to_the_number_of_rows_are_weights(drawn: Any, tmp_path: Any) -> None:
    y = np.array([0] * 90 + [1] * 10)
    X = np.zeros((100, 1))
    weights = np.where(y == 1, 5.0, 5 / 9)  # as for balanced classes: 50 and 50
    tree = OptimalTreeClassifier(1).fit(X, y, weights)
    tree.save(tmp_path / "tree.json")
    for model in (tree, load(tmp_path / "tree.json")):
        with pytest.raises(NoBound, match="rows have weights"):
            model.population_bound()
        assert "weight 50 of 100 wrong" in model.summary()
    assert OptimalTreeClassifier(1).fit(X, y, np.ones(100)).population_bound().errors == 10
