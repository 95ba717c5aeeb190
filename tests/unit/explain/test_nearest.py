"""Nearest rows and ranges at their limits, and the native bisection over prices against every row."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from proofwood import Explainer
from proofwood.engines.run import Clock
from proofwood.ensembles.regions import group_values
from proofwood.explain.nearest.search import _Bisection, cheapest, dearest
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.explain.search.inflate import inflate
from proofwood.explain.search.questions import Questions
from tests import naive_explain
from tests.explain_oracles import AllRows, TryAll, cases
from tests.score_models import random_prices, score_model

CASES = list(cases(1, 40))
ENGINES = {
    "auto": SearchOptions(),
    "cdcl": SearchOptions(messages=False),
    "messages": SearchOptions(clauses=False),
}


def least(case, prices, fixed=(), targets=None):
    """The least price of a dearest cell, by trying every row."""
    rows = AllRows(case.scores)
    found = (rows.reached(case.label, targets) >= 0) & rows.inside(*case.scores.box(case.cells, fixed))
    dearest_cells = (max((p[c] for p, c in zip(prices, row, strict=True)), default=0.0) for row in rows.rows[found])
    return min(dearest_cells, default=math.inf)


def prices_of(random, case):
    return random_prices(random, case.scores, case.cells, units=(0.25,), forbidden=0.3)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_the_least_radius_is_that_of_all_rows(engine):
    random = np.random.default_rng(5)
    rows = 0
    for case in CASES:
        q = case.questions(SearchOracle(case.scores, ENGINES[engine]))
        for _ in range(2):
            prices = prices_of(random, case)
            fixed = [f for f in range(q.n) if random.random() < 0.2]
            found = dearest(q, prices, q.scores.box(case.cells, fixed))
            expected = least(case, prices, fixed)
            assert found.distance == expected
            assert found.lower_bound == expected
            assert found.status == ("none" if math.isinf(expected) else "optimal")
            if found.cells is not None:
                rows += 1
                assert max(p[c] for p, c in zip(prices, found.cells, strict=True)) == expected
                assert case.scores.allows(found.cells)
    assert rows > 30


def test_other_engines_bisect_in_python():
    random = np.random.default_rng(6)
    for case in CASES[:20]:
        prices = prices_of(random, case)
        found = dearest(case.questions(), prices)
        assert found.distance == found.lower_bound == least(case, prices)
        assert found.status == ("none" if math.isinf(found.distance) else "optimal")


def test_some_classes_only_are_left_to_the_other_way():
    random = np.random.default_rng(7)
    some = [case for case in CASES if case.scores.n_classes > 2]
    assert len(some) > 5
    for case in some:
        targets = [int(case.label == 0)]
        q = case.questions(SearchOracle(case.scores), targets=targets)
        prices = prices_of(random, case)
        assert dearest(q, prices).distance == least(case, prices, targets=targets)


def test_without_time_the_bound_is_the_least_price():
    prices = prices_of(np.random.default_rng(8), CASES[0])
    found = dearest(CASES[0].questions(SearchOracle(CASES[0].scores), clock=Clock.of(0.0)), prices)
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


def test_ranges_in_an_order_and_out_of_time():
    open_ = 0
    for case in CASES:
        features = min(case.abductive, key=sorted)
        for refuse in (0, 3):
            questions = case.questions(TryAll(case.scores, refuse=refuse), clock=Clock.of(1.0))
            box = inflate(questions, features, order=sorted(features, reverse=True))
            spans = [range(low, high + 1) for low, high in zip(box.low, box.high, strict=True)]
            assert not naive_explain.changes_in_box(case.scores, case.label, spans)
            open_ += not box.complete
    assert open_


def test_values_of_a_group_are_its_categories():
    clauses = [[2, 4, 6], [3, 5], [3, 7], [5, 7]]
    scores = score_model([1, 1, 1, 1], [[([], [0, 0])]], features=[[0], [1, 2, 3]], clauses=clauses)
    assert group_values(scores, 1).tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert group_values(scores, 0) is None


def test_wrong_prices_are_refused():
    case = CASES[0]
    good = random_prices(np.random.default_rng(0), case.scores, case.cells)
    with pytest.raises(ValueError, match="columns, expected"):
        cheapest(case.questions(), good[:-1])
    with pytest.raises(ValueError, match="be 0 at the cell"):
        cheapest(case.questions(), [p + 1 for p in good])
    falling = [-abs(np.arange(float(p.size)) - c) for p, c in zip(good, case.cells, strict=True)]
    with pytest.raises(ValueError, match="decreases with the distance"):
        cheapest(case.questions(), falling)
