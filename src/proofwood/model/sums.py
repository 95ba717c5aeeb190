"""Sums of float64 numbers without rounding, for many cells at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from proofwood.model.node_table import FloatArray, IntArray

_LEAST_EXPONENT = -1074
"""The exponent of the smallest positive float64: every float64 is a multiple of 2 to this power."""


def exact_sums(weights: FloatArray, cell: IntArray | None = None, n_cells: int = 1) -> list[Fraction]:
    """The exact sum of the weights in each cell, or of all weights if ``cell`` is None.

    Parameters
    ----------
    weights : (n,) finite float64 from 0
    cell : (n,) number of the cell of each weight, below ``n_cells``
    n_cells : int
    """
    if cell is None:
        return sums_by_digits(weights, lambda _, digits: np.array([digits.sum()]), 1)
    return sums_by_digits(
        weights, lambda at, digits: np.bincount(cell[at], digits, n_cells).astype(np.float64), n_cells
    )


def sums_by_digits(
    weights: FloatArray, add: Callable[[IntArray | slice, FloatArray], FloatArray], n_cells: int
) -> list[Fraction]:
    """The exact sum of the weights in each cell, computed with a function ``add`` that sums in float64.

    Weights are cut into digits of about 30 bits, the highest first. The digits of one place are small integers, so
    float64 adds up any subset of them exactly.

    Parameters
    ----------
    weights : (n,) finite float64 from 0
    add : function that takes positions of weights and a digit for each, and returns the (n_cells,) sums of the digits
    n_cells : int
    """
    totals = [0] * n_cells  # in multiples of 2**_LEAST_EXPONENT
    rest = np.asarray(weights, dtype=np.float64)
    bits = 53 - int(rest.size).bit_length()
    place = 1024
    at: IntArray | slice = slice(None)
    while rest.size and (largest := float(rest.max())) > 0:
        place = max(min(place, math.frexp(largest)[1]) - bits, _LEAST_EXPONENT)
        digits = np.floor(np.ldexp(rest, -place))  # below 2**bits
        sums = add(at, digits)
        for index in np.flatnonzero(sums).tolist():
            totals[index] += int(sums[index]) << (place - _LEAST_EXPONENT)
        rest = rest - np.ldexp(digits, place)
        left = np.flatnonzero(rest)
        if left.size < rest.size:
            rest = rest[left]
            at = left if isinstance(at, slice) else at[left]
    return [Fraction(total, 2**-_LEAST_EXPONENT) for total in totals]


def holds_nan(X: FloatArray) -> bool:
    """Whether a value is NaN. Values are checked one by one only if their sum is NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isnan(X.sum())) and bool(np.isnan(X).any())


def holds_infinity(X: FloatArray) -> bool:
    """Whether a value is infinite. Values are checked one by one only if their sum is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        return not np.isfinite(X.sum()) and bool(np.isinf(X).any())


def exact_sum(weights: FloatArray) -> Fraction:
    """The exact sum of finite float64 numbers, none of them negative."""
    return exact_sums(weights)[0]


def root_below(value: Fraction) -> Fraction:
    """A number that is at most the square root of ``value``, and closer to it than its 2**-60th part."""
    places = max(0, 130 - value.numerator.bit_length() + value.denominator.bit_length()) // 2 + 1 if value else 0
    return Fraction(math.isqrt(math.floor(value * 4**places)), 2**places)


def root_above(value: Fraction) -> Fraction:
    """A number that is at least the square root of ``value``, and as close to it."""
    below = root_below(value)
    return below if below * below == value else below * (1 + Fraction(1, 2**60))


def rounded_down(value: Fraction) -> float:
    """The largest float64 that is at most ``value``."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def rounded_up(value: Fraction) -> float:
    """The smallest float64 that is at least ``value``."""
    return 0.0 - rounded_down(-value)  # never -0.0
