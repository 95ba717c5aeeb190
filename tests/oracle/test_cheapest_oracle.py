"""The native search for the nearest row against enumeration, with its rules off and on, in pieces of time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proofwood.explain.nearest.search import NEVER, PriceOptions, integer_prices
from proofwood.model.node_table import IntArray
from tests import naive_explain
from tests.nearest_problems import NearestProblem
from tests.strategies import examples


@examples(2)
@given(
    seed=st.integers(0, 2**31),
    sweeps=st.booleans(),
    settle=st.booleans(),
    climb=st.booleans(),
    first=st.sampled_from([1, 5, 40]),
    further=st.sampled_from([1, 3]),
    large=st.sampled_from([0, 200_000]),
)
def test_the_least_price_is_that_of_enumeration(
    seed: int, sweeps: bool, settle: bool, climb: bool, first: int, further: int, large: int
) -> None:
    drawn = NearestProblem(seed)
    found = drawn.search(PriceOptions(sweeps, settle, climb, first, further, large))
    least = drawn.least()
    assert found.status == ("none" if np.isinf(least) else "optimal")
    drawn.check(found, least)


@examples(0.5)
@given(seed=st.integers(0, 2**31))
def test_rows_that_rounding_decides_about_are_asked_for(seed: int) -> None:
    """Where none of them counts, what is left are the rows that win without the benefit of the doubt."""
    drawn = NearestProblem(seed)
    scores = drawn.scores

    def sure(cells: IntArray) -> bool:
        return naive_explain.gets(scores, scores.sums(cells).tolist(), drawn.label, drawn.targets, margin=False)

    found = drawn.search(PriceOptions(), accept=sure)
    drawn.check(found, drawn.least(margin=False))


@examples(0.5)
@given(seed=st.integers(0, 2**31), seconds=st.sampled_from([0.0, 1e-5, 1e-4, 1e-3]))
def test_bounds_hold_when_the_time_is_over(seed: int, seconds: float) -> None:
    drawn = NearestProblem(seed)
    drawn.check(drawn.search(PriceOptions(first_rounds=1, further_rounds=1), seconds), drawn.least())


def test_integer_prices_lie_below_the_prices() -> None:
    prices = [np.array([0.0, 0.1, np.inf]), np.array([1 / 3, 0.0, 7e5])]
    unit, whole = integer_prices(prices)
    assert whole[0][2] == NEVER
    for price, integers in zip(prices, whole, strict=True):
        for one, number in zip(price.tolist(), integers.tolist(), strict=True):
            assert np.isinf(one) or 0 <= one - number * unit < unit
    assert max(int(column[column < NEVER].max()) for column in whole) < 2**43
    unit, whole = integer_prices([np.zeros(3)])
    assert (unit, [column.tolist() for column in whole]) == (2.0**-43, [[0, 0, 0]])
