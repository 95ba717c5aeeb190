"""Scores of survival models against their definitions, row by row and pair by pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from proofwood import OptimalSurvivalTree
from proofwood.estimators import survival_scores as scores
from proofwood.estimators.survival_curves import Survival, brier_scores, concordance, concordance_interval


def by_pairs(times, events, risk):
    """The concordance from its definition."""
    right = pairs = 0.0
    for i, j in itertools.permutations(range(times.size), 2):
        if events[i] and (times[i] < times[j] or (times[i] == times[j] and not events[j])):
            pairs += 1
            right += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    return right / pairs if pairs else math.nan


def drawn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 16))
    times = rng.integers(1, rng.choice([3, 8, 50]), n) * 0.5
    return times, rng.random(n) < rng.random(), rng.integers(0, rng.choice([1, 3, 20]) + 1, n) / 8


@pytest.mark.parametrize("seed", range(300))
def test_concordance_and_its_interval_by_definition(seed):
    times, events, risk = drawn(seed)
    share = by_pairs(times, events, risk)
    assert concordance(times, events, risk) == pytest.approx(share, nan_ok=True)
    without = [by_pairs(*(np.delete(part, row) for part in (times, events, risk))) for row in range(times.size)]
    found = concordance_interval(times, events, risk)
    if times.size < 2 or math.isnan(share) or np.isnan(without).any():
        assert found is None
        return
    n, away = times.size, np.array(without) - np.mean(without)
    half = 1.959963984540054 * math.sqrt((n - 1) / n * (away**2).sum())
    assert found == pytest.approx((max(0.0, share - half), min(1.0, share + half)))


def test_an_interval_covers_the_concordance():
    rng, covered = np.random.default_rng(1), 0
    X = rng.integers(0, 2, 40_000).astype(float)
    times = rng.exponential(np.where(X > 0, 1.0, 2.0))
    truth = concordance(times, np.ones(times.size, dtype=bool), X)
    for part in np.arange(times.size).reshape(200, 200):
        low, high = concordance_interval(times[part], np.ones(200, dtype=bool), X[part])
        covered += low <= truth <= high
    assert 182 <= covered <= 198


@pytest.mark.parametrize("seed", range(20))
def test_brier_scores_of_groups_are_those_of_their_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    times, events = rng.integers(1, 20, n) * 1.0, rng.random(n) < 0.6
    group = rng.integers(0, 3, n)
    at = np.unique(times)[:-1]
    foretold = np.sort(rng.random((3, at.size)), axis=1)[:, ::-1]
    censored = Survival.of(times, ~events, np.ones(n)).survival
    expected = np.zeros(at.size)
    for k, moment in enumerate(at):
        for row in range(n):
            share = foretold[group[row], k]
            if times[row] <= moment and events[row]:
                before = [left for time, left in zip(censored.x, censored.y, strict=True) if time < times[row]]
                expected[k] += share**2 / (before[-1] if before else 1.0)
            elif times[row] > moment:
                expected[k] += (1 - share) ** 2 / float(censored(moment))
    assert brier_scores(times, events, foretold, at, group) == pytest.approx(expected / n)
    assert brier_scores(times, events, foretold[group], at) == pytest.approx(expected / n)


def test_the_deviance_avoided_by_definition():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).round(1)
    y = np.column_stack([rng.exponential(np.where(X[:, 0] > 0, 5.0, 20.0)) + 0.1, rng.random(120) < 0.7])
    weights = rng.integers(0, 3, 120).astype(float)
    tree = OptimalSurvivalTree(2, min_samples_leaf=10).fit(X, y)
    rates, alone = tree.predict(X), y[:, 1].sum() / y[:, 0].sum()

    def deviance(rate):
        away = [w * (r * t - (1 + math.log(r * t) if e else 0)) for w, r, (t, e) in zip(weights, rate, y, strict=True)]
        return math.fsum(away)

    share = 1 - deviance(rates) / deviance(np.full(120, alone))
    assert scores.deviance_score(tree, X, y, weights) == pytest.approx(share)
    own = 1 - tree.objective_ / tree.model_.loss[0]
    assert scores.deviance_score(tree, X, y) == pytest.approx(own), "in training, what the tree itself says"
    assert scores.concordance_score(tree, X, y) == tree.score(X, y)
    times = scores.event_times(y[:, 0], y[:, 1] > 0)
    assert scores.neg_integrated_brier_score(tree, X, y) == pytest.approx(-tree.integrated_brier_score(X, y, times))


def test_a_leaf_without_events_is_not_infinitely_wrong():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.column_stack([np.arange(1.0, 21.0), np.repeat([1, 0], 10)])
    tree = OptimalSurvivalTree(1).fit(X, y)
    assert tree.predict([[1.0]]) == [0.0]
    least = tree.model_.values[0, 0] / 40
    told = scores.rates_above(tree.predict(X), tree.model_.values[0, 0], 20)
    assert told.min() == pytest.approx(least)
    assert math.isfinite(scores.deviance_score(tree, [[1.0], [1.0]], [(5.0, 1), (6.0, 0)]))


def test_rows_without_weight_have_no_deviance():
    without = OptimalSurvivalTree(0).fit([[0.0], [1.0]], [(1.0, 0), (2.0, 0)])  # no event is foretold
    y = [(1.0, 1), (3.0, 0)]
    assert math.isnan(scores.deviance_score(without, [[0.0], [1.0]], y, [0.0, 1.0]))
    tree = OptimalSurvivalTree(1).fit([[0.0], [1.0]], [(1.0, 1), (2.0, 0)])
    kept = scores.deviance_score(tree, [[1.0], [0.0]], [(3.0, 0), (1.0, 1)])
    assert scores.deviance_score(tree, [[0.0], [1.0], [0.0]], [(9.0, 1), (3.0, 0), (1.0, 1)], [0.0, 1.0, 1.0]) == kept


def test_scores_that_there_are_not():
    with pytest.raises(ValueError, match="did you mean 'concordance'"):
        scores.scorer("concordanse")
    with pytest.raises(ValueError, match="scoring=3 is no score of survival times"):
        scores.scorer(3)
    assert scores.scorer(None) is scores.concordance_score
    assert scores.scorer(max) is max
    assert math.isnan(scores.alone(max))
    alone = OptimalSurvivalTree(0).fit([[1], [2]], [(1, 1), (2, 1)])
    assert math.isnan(scores.neg_integrated_brier_score(alone, [[1]], [(1, 1)]))


def test_few_times_are_asked_of_many():
    times = np.arange(1.0, 1001.0)
    at = scores.event_times(times, times < 900)
    assert at.size == scores.MOST_TIMES
    assert (at[0], at[-1]) == (1.0, 899.0)
    assert scores.event_times(times, times > 2000).size == 0
