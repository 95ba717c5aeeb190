"""One search for all candidates of a size: each tree costs what a fit of this candidate costs."""

from __future__ import annotations

import time
from copy import copy
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import DemographicParity, OptimalTreeClassifier, OptimalTreeCV
from proofwood.estimators.fronts import FrontOfSize
from proofwood.exceptions import OptimalityWarning

PRICES = (0.0, 0.004, 0.01, 0.03, 1 / 7, 0.5, 1.0)


def read(learner: OptimalTreeClassifier, X: Any, y: Any, weights: Any = None) -> tuple[OptimalTreeClassifier, Any]:
    return learner, learner._read_rows(X, y, weights)


def table(rng: np.random.Generator, n: int, levels: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame(rng.integers(0, rng.integers(2, 9), (n, 3)).astype(float), columns=list("abc"))
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    if levels:
        frame["city"] = rng.choice([f"city {k}" for k in range(levels)], n)
    y = rng.integers(0, rng.integers(2, 4), n)
    y[: y.max() + 1] = range(y.max() + 1)
    return frame, y


def given(rng: np.random.Generator, n: int) -> tuple[dict[str, Any], Any]:
    """Parameters, and weights."""
    parameters = {
        "max_depth": int(rng.integers(1, 4)),
        "min_samples_leaf": int(rng.choice([1, 1, 3])),
        "min_weight_fraction_leaf": float(rng.choice([0, 0, 0.1])),
        "class_weight": [None, "balanced", {0: 0.3}][rng.integers(0, 3)],
    }
    weights = [None, rng.integers(0, 4, n), rng.random(n)][rng.integers(0, 3)]
    return parameters, weights


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 12))])
def test_each_tree_costs_what_a_fit_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 60))
    X, y = table(rng, n, levels=int(rng.choice([0, 2, 4])))
    parameters, weights = given(rng, n)
    learner, rows = read(OptimalTreeClassifier(**parameters, time_limit=None), X, y, weights)
    depth = parameters["max_depth"]
    for most in ([None], [None, 3], [2, 5]):
        front = FrontOfSize.of(learner, rows, most, PRICES)
        assert front is not None
        for (limit, price), (best, fitted) in zip(product(most, PRICES), front.search(None), strict=True):
            alone = copy(learner).set_params(alpha=price, max_leaf_nodes=limit).fit(X, y, weights)
            tree = fitted()
            assert best.told.objective == alone.objective_
            assert best.told.lower_bound == pytest.approx(alone.lower_bound_, rel=1e-12)
            assert best.told.lower_bound <= alone.objective_
            assert best.settled
            assert tree.model_.n_leaves <= (limit or 2**depth)
            tree.set_params(alpha=price)
            tree._keep_parameters()
            assert tree.recount(X, y, weights) == pytest.approx(alone.objective_, rel=1e-12, abs=1e-12)


def test_a_search_that_was_stopped_has_trees_and_bounds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 12)), rng.integers(0, 3, 3000)
    learner, rows = read(OptimalTreeClassifier(4), X, y)
    front = FrontOfSize.of(learner, rows, [None], (0.0, 0.001, 0.9))
    assert front is not None
    found = front.search(time.monotonic() + 0.2)
    assert not found[0][0].settled
    for best, _ in found:
        assert 0 <= best.told.lower_bound <= best.told.objective


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 5},
        {"max_depth": 0},
        {"max_gap": 3},
        {"criterion": "gini"},
        {"criterion": "f1"},
        {"cost_matrix": [[0, 1], [2, 0]]},
        {"monotonic_cst": [1, 0]},
        {"constraints": DemographicParity()},
    ],
)
def test_other_searches_are_of_one_candidate(parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((30, 2)), rng.integers(0, 2, 30)
    learner, rows = read(OptimalTreeClassifier(**{"max_depth": 2, **parameters}), X, y)
    assert FrontOfSize.of(learner, rows, [None], PRICES) is None


def test_tables_of_few_tests_are_fitted_one_by_one_where_that_takes_less_time() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (300, 80)), rng.integers(0, 2, 300)
    for depth, n_columns, in_one in ((2, 80, True), (3, 80, False), (3, 60, True), (4, 60, False)):
        learner, rows = read(OptimalTreeClassifier(depth), X[:, :n_columns], y)
        assert (FrontOfSize.of(learner, rows, [None], PRICES) is not None) == in_one
    assert FrontOfSize.of(learner, rows, [None, 9], PRICES) is not None
    learner, rows = read(OptimalTreeClassifier(4), rng.random((500, 2)), rng.integers(0, 2, 500))
    assert FrontOfSize.of(learner, rows, [None], PRICES) is not None


def test_levels_that_a_fit_tests_by_more_sets_are_fitted_one_by_one() -> None:
    rng = np.random.default_rng(2)
    X, y = table(rng, 300, levels=7)
    learner, rows = read(OptimalTreeClassifier(2, min_samples_level=1), X, y)
    assert FrontOfSize.of(learner, rows, [None], PRICES) is None
    assert FrontOfSize.of(learner.set_params(min_samples_leaf=5), rows, [None], PRICES) is not None


def test_a_front_of_cross_validation_is_warned_of() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 20)), rng.integers(0, 4, 400)
    with pytest.warns(OptimalityWarning, match=r"in \d+ of 6 fits on folds the search reached its share"):
        tree = OptimalTreeCV(4, alpha=(0.0, 0.0001, 0.0002), cv=2, time_limit=2.0).fit(X, y)
    assert tree.cv_results_["n_optimal"].tolist() == [0, 0, 0]
