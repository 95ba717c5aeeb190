"""The native bisection over prices, against every row of small spaces."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from proofwood import Explainer
from proofwood.engines.run import Clock
from proofwood.explain.nearest.search import _Bisection, dearest
from proofwood.explain.oracles.oracle import about_row
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.explain.search.questions import Questions
from tests.explain_oracles import cases

CASES = cases(80)
ENGINES = {
    "auto": SearchOptions(),
    "cdcl": SearchOptions(messages=False),
    "messages": SearchOptions(clauses=False),
}


def random_prices(random, scores, cells):
    """Prices that do not fall away from the row; few different ones, so that rows tie, and some cells forbidden."""
    prices = []
    for n, own in zip(scores.n_thresholds, cells, strict=True):
        price = np.zeros(n + 1)
        steps = random.integers(0, 4, n) / 4.0
        price[own + 1 :] = np.cumsum(steps[own:])
        price[:own] = np.cumsum(steps[:own][::-1])[::-1]
        if random.random() < 0.3:
            price[price > 0.8] = np.inf
        prices.append(price)
    return prices


def least(oracle, cells, label, targets, prices, fixed):
    """The least price of a dearest cell, by trying every row."""
    columns = [c for f in fixed for c in oracle.scores.features[f]]
    best = math.inf
    for row, found in zip(oracle.rows, oracle.may_change(label, targets), strict=True):
        if found >= 0 and (row[columns] == cells[columns]).all():
            best = min(best, max((price[cell] for price, cell in zip(prices, row, strict=True)), default=0.0))
    return best


@pytest.mark.parametrize("engine", list(ENGINES))
def test_the_least_radius_is_that_of_all_rows(engine):
    random = np.random.default_rng(5)
    rows = 0
    for oracle, cells, label in CASES:
        q = Questions(SearchOracle(oracle.scores, ENGINES[engine]), cells, label)
        for _ in range(3):
            prices = random_prices(random, oracle.scores, cells)
            fixed = [f for f in range(q.n) if random.random() < 0.2]
            found = dearest(q, prices, q.scores.box(cells, fixed))
            expected = least(oracle, cells, label, None, prices, fixed)
            assert found.distance == expected
            assert found.lower_bound == expected
            assert found.status == ("none" if math.isinf(expected) else "optimal")
            if found.cells is not None:
                rows += 1
                assert max(p[c] for p, c in zip(prices, found.cells, strict=True)) == expected
                assert oracle.scores.allows(found.cells)
    assert rows > 50


def test_it_agrees_with_the_bisection_of_other_engines():
    random = np.random.default_rng(6)
    for oracle, cells, label in CASES[:40]:
        prices = random_prices(random, oracle.scores, cells)
        one = dearest(Questions(SearchOracle(oracle.scores), cells, label), prices)
        other = dearest(Questions(oracle, cells, label), prices)
        assert (one.status, one.distance, one.lower_bound) == (other.status, other.distance, other.lower_bound)


def test_some_classes_only_are_left_to_the_other_way():
    asked = 0
    random = np.random.default_rng(7)
    for oracle, cells, label in CASES:
        n = oracle.scores.n_classes
        if n < 3:
            continue
        targets = [next(k for k in range(n) if k != label)]
        q = Questions(SearchOracle(oracle.scores), cells, label, targets=targets)
        prices = random_prices(random, oracle.scores, cells)
        question = about_row(oracle.scores, cells, label, (), targets)
        others = [row for row in oracle.rows if question.reached(q.scores, row)]
        costs = (max(p[c] for p, c in zip(prices, row, strict=True)) for row in others)
        assert dearest(q, prices).distance == min(costs, default=math.inf)
        asked += 1
    assert asked > 5


def test_without_time_the_bound_is_the_least_price():
    oracle, cells, label = CASES[0]
    prices = random_prices(np.random.default_rng(8), oracle.scores, cells)
    found = dearest(Questions(SearchOracle(oracle.scores), cells, label, clock=Clock.of(0.0)), prices)
    assert found.status == "unknown"
    assert found.lower_bound == 0.0


def test_a_model_that_tests_nothing_and_whose_classes_tie():
    X = np.arange(12.0).reshape(12, 1) % 3
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(X, [0, 1, 2, 3] * 3)
    explainer = Explainer(model)
    assert explainer.model.scores.n_columns == 0
    for metric in ("l1", "l2", "linf", "changes"):
        assert explainer.counterfactual(X[0], metric=metric).status == "none"
    none = np.empty(0, dtype=np.int64)
    q = Questions(SearchOracle(replace(explainer.model.scores, margin=1)), none, 0)
    best, least, bound = _Bisection(q, [], None).first()
    assert best is not None  # a row without columns is one
    assert (best.size, least, bound) == (0, 0.0, 0.0)
