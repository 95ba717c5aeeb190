from __future__ import annotations

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.ensembles.regions import group_values
from proofwood.explain.search.counterfactual import nearest
from proofwood.explain.search.inflate import inflate
from tests import naive_explain
from tests.explain_oracles import TryAll, cases
from tests.score_models import random_prices, score_model

CASES = list(cases(9000, 50))


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


def test_bounds_of_the_distance_hold_when_answers_stop():
    random = np.random.default_rng(2)
    seen = set()
    for case in CASES[:40]:
        prices = random_prices(random, case.scores, case.cells)
        expected = naive_explain.least_distance(case.scores, case.cells, case.label, prices)
        for refuse in (0, 1, 3, 8):
            best = nearest(case.questions(TryAll(case.scores, refuse=refuse), clock=Clock.of(1.0)), prices)
            seen.add(best.status)
            assert best.lower_bound <= (np.inf if expected is None else expected) <= best.distance
    assert seen == {"optimal", "feasible", "unknown", "none"}


def test_wrong_prices_are_refused():
    case = CASES[0]
    good = random_prices(np.random.default_rng(0), case.scores, case.cells)
    with pytest.raises(ValueError, match="columns, expected"):
        nearest(case.questions(), good[:-1])
    with pytest.raises(ValueError, match="be 0 at the cell"):
        nearest(case.questions(), [p + 1 for p in good])
    falling = [-abs(np.arange(float(p.size)) - c) for p, c in zip(good, case.cells, strict=True)]
    with pytest.raises(ValueError, match="falls away"):
        nearest(case.questions(), falling)
