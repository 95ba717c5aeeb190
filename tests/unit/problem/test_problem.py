from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.problem.objectives import LARGEST_TOTAL, TreeCost, in_floats, integer_weights
from proofwood.problem.tree import MAX_DEPTH, TreeProblem, check_depth, check_min_samples_leaf
from tests.tables import stump

ONE = Fraction(1)


# ----------------------------------------------------------------------------------------------- integer weights


def test_no_weights_are_ones():
    weights, unit, _ = integer_weights(None, 3)
    assert weights.tolist() == [1, 1, 1]
    assert unit == 1


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any))
def test_whole_weights_are_exact(values):
    weights, unit, _ = integer_weights(values, len(values))
    assert [Fraction(int(w)) * unit for w in weights] == values
    assert math.gcd(*weights.tolist()) == 1


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(1, 60)), min_size=1, max_size=5).filter(lambda v: v[0][0]))
def test_fractions_of_small_denominators_are_exact(pairs):
    fractions = [Fraction(a, b) for a, b in pairs]
    weights, unit, _ = integer_weights([float(f) for f in fractions], len(fractions))
    assert [int(w) * unit for w in weights] == fractions


@pytest.mark.parametrize(
    "weights",
    [[0.2, 0.3, 0.7], [1.1, 2.2, 3.3], [1e-7, 3e-7], [1 / 3, 2 / 3], [5e-324, 3 * 5e-324], [2.0**900, 3.0 * 2.0**900]],
)
def test_whole_multiples_are_the_weights_again(weights: list[float]) -> None:
    values, unit, rounding = integer_weights(np.array(weights), len(weights))
    assert rounding is None
    assert in_floats(values, unit).tolist() == weights


def test_decimals_are_what_they_show():
    weights, unit, _ = integer_weights([0.1, 0.2, 0.3], 3)
    assert weights.tolist() == [1, 2, 3]
    assert unit == Fraction(1, 10)
    weights, unit, _ = integer_weights([1000, 0.0001], 2)
    assert weights.tolist() == [10**7, 1]


def test_balanced_class_weights_are_exact():
    counts = np.array([212, 357])
    codes = np.repeat([0, 1], counts)
    weights, unit, _ = integer_weights((569 / (2 * counts))[codes], 569)
    totals = np.bincount(codes, weights).astype(int)
    assert totals[0] == totals[1]
    assert float(int(totals[0]) * unit) == 569 / 2


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_other_weights_lose_at_most_a_tiny_share(values):
    weights, unit, _ = integer_weights(values, len(values))
    assert int(weights.sum()) <= LARGEST_TOTAL
    assert np.all(weights > 0)
    np.testing.assert_allclose(weights * float(unit), values, rtol=1e-14, atol=sum(values) * 2.0**-49)


def test_equal_weights_stay_equal_and_order_is_kept():
    values = np.random.default_rng(0).random(200).round(3) * np.pi
    weights, *_ = integer_weights(values, 200)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(weights[order]) >= 0)
    again, *_ = integer_weights(np.concatenate([values, values]), 400)
    np.testing.assert_array_equal(again[:200], again[200:])


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_extreme_scales_keep_their_ratio(scale):
    weights, unit, _ = integer_weights([scale, 3 * scale], 2)
    assert weights[1] / weights[0] == pytest.approx(3, rel=1e-9)
    assert float(int(weights[0]) * unit) == pytest.approx(scale, rel=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], r"sample_weight\[1\]=-1.0 is negative"),
        ([1, np.nan], "NaN or infinity"),
        ([1, np.inf], "NaN or infinity"),
        ([1], r"shape \(1,\), expected \(2,\)"),
        ([[1], [1]], r"shape \(2, 1\), expected \(2,\)"),
    ],
)
def test_wrong_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        integer_weights(weights, 2)


# ------------------------------------------------------------------------------------------------------- prices


def test_prices_follow_from_alpha():
    cost = TreeCost.of(alpha=0.01, total=569, unit=ONE)
    assert Fraction(cost.leaf_price, cost.error_price) == Fraction(569, 100)
    assert cost.of_tree(wrong=12, n_leaves=8) == 12 * cost.error_price + 7 * cost.leaf_price
    assert cost.reported(cost.of_tree(12, 8), 0)[0] == pytest.approx(12 + 7 * 5.69)
    assert cost.name == "errors + price of leaves"


def test_prices_without_alpha():
    cost = TreeCost.of(alpha=0, total=10, unit=Fraction(1, 4))
    assert (cost.error_price, cost.leaf_price) == (1, 0)
    assert cost.reported(6, 0)[0] == 1.5
    assert cost.name == "weighted errors"
    assert TreeCost.of(alpha=0.0, total=10, unit=ONE).name == "errors"


@given(st.decimals(0, 1, places=4), st.integers(1, 10**6))
def test_the_price_of_a_leaf_is_exact(alpha, total):
    cost = TreeCost.of(alpha=float(alpha), total=total, unit=ONE)
    assert Fraction(cost.leaf_price, cost.error_price) == Fraction(alpha) * total


def test_fractions_are_taken_as_they_are():
    cost = TreeCost.of(alpha=Fraction(1, 3), total=9, unit=ONE)
    assert (cost.error_price, cost.leaf_price) == (1, 3)


@pytest.mark.parametrize("alpha", [-0.1, 1.5, math.nan, math.inf, None, "much"])
def test_alpha_out_of_range(alpha):
    with pytest.raises(ValueError, match=r"alpha=.* is not a price"):
        TreeCost.of(alpha=alpha, total=10, unit=ONE)


def test_gaps_in_integer_cost():
    cost = TreeCost.of(alpha=0, total=1000, unit=ONE)
    assert cost.gap_units(0) == 0
    assert cost.gap_units(7) == 7
    assert cost.gap_units(0.01) == 10
    assert cost.gap_units(0.0019) == 1  # rounded down
    assert cost.gap_units(np.int64(3)) == 3
    assert cost.gap_units(0.29) == 290  # 0.29 * 1000 in floats is below 290


def test_gaps_follow_the_unit_and_the_price():
    quarter = TreeCost.of(alpha=0, total=1000, unit=Fraction(1, 4))
    assert quarter.gap_units(7) == 28  # an int counts real weight
    assert quarter.gap_units(0.01) == 10  # a share of the total
    priced = TreeCost.of(alpha=0.01, total=150, unit=ONE)
    assert priced.error_price == 2
    assert priced.gap_units(3) == 6
    assert priced.gap_units(0.02) == 6


@pytest.mark.parametrize("gap", [-1, -0.5, 1.0, 1.5, math.nan, math.inf, True, None, "5"])
def test_gaps_out_of_range(gap):
    with pytest.raises(ValueError, match="max_gap="):
        TreeCost.of(alpha=0, total=10, unit=ONE).gap_units(gap)


# ------------------------------------------------------------------------------------------------------ problems


def test_rows_of_weight_zero_are_dropped():
    problem = TreeProblem.from_arrays([[1], [2], [3]], [0, 1, 2], sample_weight=[1, 0, 2])
    assert problem.X.tolist() == [[1], [3]]
    assert problem.target.codes.tolist() == [0, 2]
    assert problem.weights.tolist() == [1, 2]
    assert problem.kept.tolist() == [0, 2]
    assert (problem.n_rows, problem.n_features, problem.target.n_classes) == (2, 1, 3)
    assert problem.cost.total == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[math.nan]]}, "X holds NaN"),
        ({"X": [1.0]}, "expected"),
        ({"codes": [0, 1]}, "expected"),
        ({"sample_weight": [0]}, "no row has a positive weight"),
        ({"max_depth": -1}, "max_depth=-1 is not a depth"),
        ({"max_depth": 2.5}, "max_depth=2.5 is not a depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0"),
        ({"max_gap": -1}, "max_gap=-1 is negative"),
        ({"alpha": 2}, "alpha=2"),
    ],
)
def test_wrong_problems(arguments, message):
    with pytest.raises(ValueError, match=message):
        TreeProblem.from_arrays(**{"X": [[1.0]], "codes": [0], **arguments})


def test_depths_and_leaf_sizes():
    for depth in (0, 3, np.int64(2), MAX_DEPTH):
        check_depth(depth)
    for wrong in (-1, MAX_DEPTH + 1, 2.0, True, None, "3"):
        with pytest.raises(ValueError, match="max_depth="):
            check_depth(wrong)
    check_min_samples_leaf(1)
    for wrong in (0, 0.5, True, None):
        with pytest.raises(ValueError, match="min_samples_leaf="):
            check_min_samples_leaf(wrong)


# ---------------------------------------------------------------------------------------------------- recounting


def test_recounting_by_hand():
    X, codes = [[1], [2], [3], [1]], [0, 1, 0, 1]  # rows 2 and 3 are wrong
    problem = TreeProblem.from_arrays(X, codes, sample_weight=[1, 1, 0.5, 3], alpha=0.1)
    assert float(problem.real_cost(stump(1.5))) == pytest.approx(3.5 + 0.1 * 5.5)
    cost = problem.cost
    assert problem.integer_cost(stump(1.5)) == cost.error_price * 7 + cost.leaf_price
    assert problem.cost.reported(problem.integer_cost(stump(1.5)), 0)[0] == float(problem.real_cost(stump(1.5)))
