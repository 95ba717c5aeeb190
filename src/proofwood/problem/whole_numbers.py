"""Numbers of a target as whole numbers, so that sums of them are exact in any order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.objectives import MOST_DIGITS, decimal_multiples, multiples_of_a_power

LARGEST_SUM = 2**52
"""The range of whole numbers, and their weighted sum from any zero between them, stay below this number: float64 then
adds them exactly."""


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Numbers as multiples of one unit, from a zero near their middle.

    Parameters
    ----------
    values : (n,) int64; a number is ``(values + zero) * unit``, up to ``error``
    unit : Fraction
    zero : int
    error : the most by which a number is off; 0 if none is
    """

    values: IntArray
    unit: Fraction
    zero: int
    error: Fraction

    def real(self, value: Fraction) -> Fraction:
        """The number at a place between the values."""
        return (value + self.zero) * self.unit


def whole_numbers(numbers: FloatArray) -> WholeNumbers:
    """Read numbers as decimals of few digits, or as multiples of a power of two, or else round them.

    Parameters
    ----------
    numbers : (n,) finite

    Raises
    ------
    DataError
        If their range is too large for float64.
    """
    if numbers.size == 0:
        return WholeNumbers(np.zeros(0, dtype=np.int64), Fraction(1), 0, Fraction(0))
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite(high - low):
        raise DataError(
            f"the target goes from {low:g} to {high:g}, which is too far apart for float64: divide it by a power of ten"
        )
    for found in (_as_decimals(numbers), multiples_of_a_power(np.abs(numbers), 2**53)):
        if found is None:
            continue
        values, unit = found
        values = np.where(numbers < 0, -np.abs(values), np.abs(values))
        divisor = int(np.gcd.reduce(values)) or 1
        values = values // divisor
        least, most = int(values.min()), int(values.max())
        if most - least < LARGEST_SUM:
            zero = (least + most) // 2
            return WholeNumbers(values - zero, unit * divisor, zero, Fraction(0))
    unit = power_of_two_above((Fraction(high) - Fraction(low)) / (LARGEST_SUM // 2))
    middle = round((Fraction(low) + Fraction(high)) / 2 / unit)
    start = float(middle * unit)  # a multiple of a power of two between two floats of the same sign, or small
    return WholeNumbers(multiples(numbers - start, unit), unit, middle, unit)


def _as_decimals(numbers: FloatArray) -> tuple[IntArray, Fraction] | None:
    """The numbers as multiples of the power of ten that all of them show; None if there is none in float64."""
    some = numbers[:64]
    for digits in range(-MOST_DIGITS, MOST_DIGITS + 1):
        with np.errstate(over="ignore"):
            if not np.array_equal(decimal_multiples(some, digits)[1], some):
                continue
            values, again = decimal_multiples(numbers, digits)
        if float(np.abs(values).max()) >= 2**53:
            return None
        if np.array_equal(again, numbers):
            return values.astype(np.int64), Fraction(10) ** -digits
    return None


def multiples(numbers: FloatArray, unit: Fraction, times: FloatArray | float = 1.0) -> IntArray:
    """Numbers times factors as multiples of a power of two, which may be smaller than any float64, each rounded."""
    exponent = unit.numerator.bit_length() - unit.denominator.bit_length()
    return np.rint(np.ldexp(numbers, -exponent) * times).astype(np.int64)


def power_of_two_above(value: Fraction) -> Fraction:
    """A power of two that is at least ``value`` and at most four times that; 1 for 0."""
    if value == 0:
        return Fraction(1)
    return Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() + 1)


def whole_weights(weights: FloatArray) -> tuple[npt.NDArray[Any], Fraction]:
    """Weights as whole numbers, and their unit: int64 where they are whole numbers, else Python integers."""
    if float(weights.sum()) < 2**53 and np.array_equal(weights, np.floor(weights)):
        return weights.astype(np.int64), Fraction(1)
    return exact_integers(weights)


def exact_integers(numbers: FloatArray) -> tuple[npt.NDArray[Any], Fraction]:
    """Finite float64 numbers as Python integers times one power of two."""
    part, exponent = np.frexp(numbers)
    whole = np.ldexp(part, 53).astype(np.int64).astype(object)
    least = int(exponent.min(initial=0))
    return whole << (exponent - least).astype(object), Fraction(2) ** (least - 53)
