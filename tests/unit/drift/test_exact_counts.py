"""Exact tests of counts, beside enumeration and scipy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact, hypergeom

from proofwood.drift.exact import differs, has_new_levels, holm, is_above, is_beyond, is_more, tails


@pytest.mark.parametrize(
    ("now", "n_now", "then", "n_then"),
    [(3, 10, 5, 40), (0, 10, 7, 40), (10, 10, 0, 40), (1, 1, 0, 1), (0, 5, 0, 9), (5, 5, 9, 9), (300, 2000, 90, 500)],
)
def test_tails_are_those_of_scipy(now: int, n_now: int, then: int, n_then: int) -> None:
    drawn = hypergeom(n_now + n_then, now + then, n_now)
    low, high = tails(now, n_now, then, n_then)
    assert low == pytest.approx(drawn.cdf(now), rel=1e-9)
    assert high == pytest.approx(drawn.sf(now - 1), rel=1e-9)
    expected = fisher_exact([[now, n_now - now], [then, n_then - then]], "greater").pvalue
    assert is_more(now, n_now, then, n_then) == pytest.approx(expected, rel=1e-9)
    assert differs(now, n_now, then, n_then) == min(1.0, 2 * min(low, high))


def test_tails_of_millions_of_rows() -> None:
    drawn = hypergeom(30_000_000, 3_000_000, 10_000_000)
    low, high = tails(1_001_000, 10_000_000, 1_999_000, 20_000_000)
    assert (low, high) == pytest.approx((drawn.cdf(1_001_000), drawn.sf(1_000_999)), rel=1e-5)
    assert differs(5_000_000, 10_000_000, 2_000_000, 20_000_000) == 0


@pytest.mark.parametrize(("now", "n_now", "n_then"), [(0, 3, 4), (1, 3, 4), (2, 3, 4), (3, 3, 4), (2, 5, 2)])
def test_numbers_beyond_all_of_training_by_enumeration(now: int, n_now: int, n_then: int) -> None:
    """Every choice of the new numbers among all is equally likely."""
    ways = list(combinations(range(n_now + n_then), n_now))
    beyond = [sum(k > max(set(range(n_now + n_then)) - set(new)) for k in new) for new in ways]
    assert is_beyond(now, n_now, n_then) == pytest.approx(np.mean([count >= now for count in beyond]))


def test_wrong_predictions_are_those_of_the_binomial_test() -> None:
    for wrong, n, expected in ((0, 10, 0.2), (4, 10, 0.2), (10, 10, 0.2), (3, 100, 0.01)):
        test = binomtest(wrong, n, expected, alternative="greater")
        assert is_above(wrong, n, expected) == pytest.approx(test.pvalue)
    assert is_above(1, 10, 0.0) == 0
    assert is_above(10, 10, 1.0) == 1


@pytest.mark.parametrize("counts", [(1, 1, 1, 2), (4, 1, 1), (2, 2, 2, 2), (5, 3), (1,) * 8])
def test_new_levels_alarm_at_most_as_often_as_they_say(counts: tuple[int, ...]) -> None:
    """Over every way to call some rows of these levels new ones."""
    levels = np.repeat(np.arange(len(counts)), counts)
    for n_now in range(1, levels.size):
        ways = list(combinations(range(levels.size), n_now))
        found = []
        for new in ways:
            chosen = np.isin(np.arange(levels.size), new)
            known = np.unique(levels[~chosen])
            fresh = levels[chosen][~np.isin(levels[chosen], known)]
            many = np.unique(fresh, return_counts=True)[1].tolist()
            found.append(has_new_levels(many, n_now, levels.size - n_now, known.size))
        for level in (0.01, 0.05, 0.2, 0.5):
            assert np.mean(np.array(found) <= level) <= level + 1e-12


def test_new_levels_are_found() -> None:
    assert has_new_levels([], 100, 100, 5) == 1
    assert has_new_levels([1], 100, 1000, 5) > 0.5
    assert has_new_levels([10], 100, 1000, 5) < 1e-6  # one level, often
    assert has_new_levels([1] * 50, 100, 1000, 5) < 1e-6  # many levels, once each


def test_the_correction_of_holm() -> None:
    assert holm([]) == []
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
