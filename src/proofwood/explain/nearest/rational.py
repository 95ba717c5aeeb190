"""Small linear programs in exact rational numbers, by the dual simplex method."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from proofwood.engines.run import ENDLESS, Clock

Row = tuple[Sequence[Fraction], Fraction]
"""Factors and a bound: the sum of factors times variables must not exceed the bound."""


def least(
    cost: Sequence[Fraction], rows: Sequence[Row], clock: Clock = ENDLESS
) -> tuple[Fraction, list[Fraction]] | None:
    """The least cost of non-negative variables that satisfy the rows, and such variables; None if there are none.

    All costs are 0 or more, so that the basis of slack variables is dual feasible and no first phase is needed. The
    variable of least index leaves; among those with the least ratio, the one of least index enters (Bland's rule).
    Therefore the method ends after finitely many steps.

    Parameters
    ----------
    cost : (n_variables,) costs, each at least 0
    rows : the constraints on the variables
    clock : clock that is checked before every step

    Raises
    ------
    Stopped
        If the time is over.
    """
    n = len(cost)
    table = [list(factors) for factors, _ in rows]
    bounds = [bound for _, bound in rows]
    prices, value = list(cost), Fraction(0)
    outside, inside = list(range(n)), list(range(n, n + len(rows)))
    while True:
        negative = [i for i, bound in enumerate(bounds) if bound < 0]
        if not negative:
            break
        clock.check()
        i = min(negative, key=lambda at: inside[at])
        able = [j for j, factor in enumerate(table[i]) if factor < 0]
        if not able:
            return None
        j = min(able, key=lambda at: (prices[at] / -table[i][at], outside[at]))
        value += _pivot(table, bounds, prices, i, j)
        outside[j], inside[i] = inside[i], outside[j]
    found = [Fraction(0)] * n
    for i, variable in enumerate(inside):
        if variable < n:
            found[variable] = bounds[i]
    return value, found


def _pivot(table: list[list[Fraction]], bounds: list[Fraction], prices: list[Fraction], i: int, j: int) -> Fraction:
    """Exchange a basic variable with a non-basic one, and return the increase of the cost."""
    row = table[i]
    pivot = row[j]
    row[j] = Fraction(1)
    row[:] = [factor / pivot for factor in row]
    bounds[i] /= pivot
    for r, other in enumerate(table):
        if r != i and other[j]:
            factor = other[j]
            other[j] = Fraction(0)
            other[:] = [b - factor * a for a, b in zip(row, other, strict=True)]
            bounds[r] -= factor * bounds[i]
    factor = prices[j]
    prices[j] = Fraction(0)
    prices[:] = [b - factor * a for a, b in zip(row, prices, strict=True)]
    return factor * bounds[i]
