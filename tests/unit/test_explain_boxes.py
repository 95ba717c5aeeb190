from __future__ import annotations

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.ensembles.regions import group_values
from proofwood.explain.nearest.search import cheapest
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


def test_wrong_prices_are_refused():
    case = CASES[0]
    good = random_prices(np.random.default_rng(0), case.scores, case.cells)
    with pytest.raises(ValueError, match="columns, expected"):
        cheapest(case.questions(), good[:-1])
    with pytest.raises(ValueError, match="be 0 at the cell"):
        cheapest(case.questions(), [p + 1 for p in good])
    falling = [-abs(np.arange(float(p.size)) - c) for p, c in zip(good, case.cells, strict=True)]
    with pytest.raises(ValueError, match="falls away"):
        cheapest(case.questions(), falling)
