from __future__ import annotations

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.ensembles.regions import group_values
from proofwood.explain.nearest.search import cheapest
from proofwood.explain.search.extract import abductive
from proofwood.explain.search.inflate import inflate
from proofwood.explain.search.questions import Questions
from tests.explain_oracles import TryAll, cases, cell_costs

CASES = cases(60, start=9000)


def _same(oracle, low, high, label, targets=None):
    """Whether no row of the box may change."""
    return not oracle._rows(low, high, label, targets).size


def test_ranges_are_sound_and_cannot_grow():
    grown = groups = 0
    for oracle, cells, label in CASES:
        features = abductive(Questions(oracle, cells, label)).features
        box = inflate(Questions(oracle, cells, label), features)
        assert box.complete
        assert (box.low <= cells).all()
        assert (cells <= box.high).all()
        assert _same(oracle, box.low, box.high, label)
        for feature in features:
            columns = list(oracle.scores.features[feature])
            values = group_values(oracle.scores, feature)
            grown += (box.low[columns] < box.high[columns]).any()
            if values is not None:
                groups += 1
                for value in values:
                    low, high = box.low.copy(), box.high.copy()
                    low[columns] = np.minimum(low[columns], value)
                    high[columns] = np.maximum(high[columns], value)
                    same = np.array_equal(low, box.low) and np.array_equal(high, box.high)
                    assert same or not _same(oracle, low, high, label)
                continue
            (column,) = columns
            if box.low[column] > 0:
                low = box.low.copy()
                low[column] -= 1
                assert not _same(oracle, low, box.high, label)
            if box.high[column] < oracle.scores.n_thresholds[column]:
                high = box.high.copy()
                high[column] += 1
                assert not _same(oracle, box.low, high, label)
    assert grown > 12
    assert groups > 4


def test_ranges_in_an_order_and_out_of_time():
    open_ = 0
    for made, cells, label in CASES[:50]:
        features = abductive(Questions(made, cells, label)).features
        for refuse in (0, 3):
            oracle = TryAll(made.scores, refuse=refuse)
            box = inflate(
                Questions(oracle, cells, label, clock=Clock.of(1.0)), features, order=sorted(features, reverse=True)
            )
            assert _same(made, box.low, box.high, label)
            open_ += not box.complete
    assert open_


def test_values_of_a_group_are_its_categories():
    oracle = next(o for o, _, _ in CASES if len(o.scores.features[-1]) == 3)
    assert group_values(oracle.scores, oracle.scores.n_features - 1).tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert group_values(oracle.scores, 0) is None


def _cheapest(oracle, cells, label, prices, immutable=()):
    costs = [np.inf]
    for row, new in zip(oracle.rows, oracle.may_change(label, None), strict=True):
        fixed = [c for f in immutable for c in oracle.scores.features[f]]
        if new >= 0 and (row[fixed] == cells[fixed]).all():
            costs.append(sum(p[c] for p, c in zip(prices, row, strict=True)))
    return min(costs)


@pytest.mark.parametrize("fixed", [(), (0,)])
def test_the_nearest_row_is_nearest(fixed):
    random = np.random.default_rng(1)
    none = 0
    for oracle, cells, label in CASES:
        prices = cell_costs(random, oracle, cells)
        expected = _cheapest(oracle, cells, label, prices, fixed)
        best = cheapest(Questions(oracle, cells, label), prices, oracle.scores.box(cells, fixed))
        assert best.distance == pytest.approx(expected)
        assert best.lower_bound == pytest.approx(expected)
        assert best.status == ("none" if expected == np.inf else "optimal")
        none += expected == np.inf
        if best.cells is not None:
            assert sum(p[c] for p, c in zip(prices, best.cells, strict=True)) == best.distance
            assert not oracle.suffices(best.cells, label, range(oracle.scores.n_features))
    assert none < 40


def test_forbidden_cells_are_not_entered():
    for oracle, cells, label in CASES[:40]:
        prices = [np.where(np.arange(q + 1) < own, np.inf, abs(np.arange(q + 1.0) - own))
                  for q, own in zip(oracle.scores.n_thresholds, cells, strict=True)]  # fmt: skip
        best = cheapest(Questions(oracle, cells, label), prices)
        assert best.distance == _cheapest(oracle, cells, label, prices)
        assert best.cells is None or (best.cells >= cells).all()


def test_wrong_prices_are_refused():
    oracle, cells, label = CASES[0]
    good = cell_costs(np.random.default_rng(0), oracle, cells)
    with pytest.raises(ValueError, match="columns, expected"):
        cheapest(Questions(oracle, cells, label), good[:-1])
    with pytest.raises(ValueError, match="be 0 at the cell"):
        cheapest(Questions(oracle, cells, label), [p + 1 for p in good])
    falling = [-abs(np.arange(float(p.size)) - c) for p, c in zip(good, cells, strict=True)]
    with pytest.raises(ValueError, match="falls away"):
        cheapest(Questions(oracle, cells, label), falling)
