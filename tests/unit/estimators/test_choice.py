"""The rule that chooses one of several sizes by its scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proofwood.estimators.choice import Rule, Size, choose, leaf_minimum, sizes, values_of

LEAVES = np.array([2.0, 4.0, 8.0])
SCORES = np.array([[0.70, 0.72, 0.74], [0.80, 0.78, 0.82], [0.84, 0.78, 0.81]])  # means 0.72, 0.80, 0.81


def test_the_best_mean_wins():
    choice = choose(SCORES, LEAVES, Rule.BEST)
    assert (choice.chosen, choice.top) == (2, 2)


def test_the_fewest_leaves_within_one_standard_error_win():
    choice = choose(SCORES, LEAVES, Rule.ONE_SE)
    assert (choice.chosen, choice.top) == (1, 2)
    assert choice.error == pytest.approx(np.std([0.84, 0.78, 0.81], ddof=1) / math.sqrt(3))


def test_beyond_one_standard_error_the_best_stays():
    surer = SCORES - SCORES.mean(axis=1, keepdims=True)
    choice = choose(SCORES.mean(axis=1, keepdims=True) + 0.1 * surer, LEAVES, Rule.ONE_SE)
    assert choice.chosen == 2


def test_of_equals_the_fewest_leaves_and_then_the_greatest_mean_win():
    same = np.array([[0.5, 0.7], [0.7, 0.5], [0.5, 0.71]])
    assert choose(same[:2], np.array([5.0, 3.0]), Rule.BEST).chosen == 1
    assert choose(same, np.array([3.0, 3.0, 9.0]), Rule.ONE_SE).chosen in (0, 1)
    assert choose(np.array([[0.6, 0.6], [0.6, 0.62], [0.5, 0.76]]), np.array([3.0, 3.0, 9.0]), Rule.ONE_SE).chosen == 1


def test_scores_that_are_no_numbers_are_passed_over():
    scores = SCORES.copy()
    scores[2, 0] = np.nan
    assert choose(scores, LEAVES, Rule.BEST).chosen == 1
    with pytest.raises(ValueError, match="scorer returned NaN"):
        choose(np.full((2, 2), np.nan), LEAVES[:2], Rule.BEST)


def test_one_fold_has_no_standard_error():
    assert math.isnan(choose(SCORES[:, :1], LEAVES, Rule.BEST).error)
    with pytest.raises(ValueError, match="at least two folds"):
        choose(SCORES[:, :1], LEAVES, Rule.ONE_SE)


@pytest.mark.parametrize(("counts", "minimum"), [((1000, 500), 30), ((1000, 60), 12), ((50, 4), 1), ((9, 10), 1)])
def test_a_leaf_holds_no_more_than_a_fifth_of_the_rarest_class(counts, minimum):
    assert leaf_minimum(np.repeat(np.arange(2), counts)) == minimum


def test_a_value_or_several():
    assert values_of(3) == [3]
    assert values_of("auto") == ["auto"]
    assert values_of((1, "auto", 1)) == [1, "auto"]
    assert values_of(np.array([2, 3])) == [2, 3]
    assert sizes([1, 2], [1, 5]) == [Size(1, 1), Size(1, 5), Size(2, 1), Size(2, 5)]
