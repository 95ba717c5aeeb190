"""Numbers of a target as whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.exceptions import DataError
from proofwood.problem.objectives import decimal
from proofwood.problem.whole_numbers import LARGEST_SUM, exact_integers, whole_numbers

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20), st.integers(-9, 9))
def test_decimals_are_read_exactly(digits: list[int], place: int) -> None:
    numbers = [float(f"{number}e{place}") for number in digits]
    whole = whole_numbers(np.array(numbers))
    assert whole.error == 0
    assert [whole.real(Fraction(int(value))) for value in whole.values] == [decimal(number) for number in numbers]


@given(st.lists(FINITE, min_size=1, max_size=20))
def test_no_number_is_off_by_more_than_the_error(numbers: list[float]) -> None:
    whole = whole_numbers(np.array(numbers))
    values = [int(value) for value in whole.values]
    assert max(values) - min(values) < LARGEST_SUM
    for number, value in zip(numbers, values, strict=True):
        shown = decimal(number)
        assert shown is not None
        off = abs(whole.real(Fraction(value)) - Fraction(number))
        assert off <= whole.error or whole.real(Fraction(value)) == shown


@given(st.lists(FINITE, min_size=1, max_size=20))
def test_float64_numbers_are_python_integers_of_one_power_of_two(numbers: list[float]) -> None:
    values, unit = exact_integers(np.array(numbers))
    assert [value * unit for value in values.tolist()] == [Fraction(number) for number in numbers]


def test_numbers_too_far_apart_are_refused() -> None:
    with pytest.raises(DataError, match="power of ten"):
        whole_numbers(np.array([1.7e308, -1.7e308]))
