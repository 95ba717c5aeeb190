"""The number of a test: where a threshold lies between the two values that it separates.

A search knows a threshold as a place between two neighbouring values ``a < b``; every number ``t`` with ``a <= t < b``
sends the rows the same way. :func:`placed` chooses this number once, after the search, and it is the number of the
model: what it predicts by, what texts and pictures show, and what exports hold.

By the rule ``"shortest"`` it is a number that a person can read, write down and compare with:

- of numbers, the decimal of fewest significant digits with ``a < t < b``, of these the one nearest the middle;
- of whole numbers, the whole one of fewest digits with ``a <= t < b``, of these the one nearest the middle;
- of the numbers 0 and 1, and of false and true, 0.5;
- of dates, moments, times and durations, the whole day with ``a <= t < b`` that is nearest the middle; where there is
  none, the hour, the minute, the second or the microsecond;
- of categories with an order, the level nearest the middle;
- of weighted sums, the decimal as of numbers, once each coefficient is rounded to as few digits as leave the two sides
  at least half of their distance.

If two are equally near, the lower one is taken; if nothing lies between, ``a`` is. By the rule ``"midpoint"``, that
of the papers, it is the middle of ``a`` and ``b``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum, StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.moments import DAY, HOUR, MINUTE, SECOND
from proofwood.model.evaluate import check_rows, goes_low, neighbours, walk
from proofwood.model.node_table import OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable

_MOST_DIGITS = 17
"""Significant digits that tell all float64 numbers apart."""
_CLOSEST = 2e-4
"""Least distance of the two sides that shorter coefficients leave, as a share of what the sum could span: twice that by
which the engines of oblique diagrams hold rows apart."""
_EXACT = Context(prec=2500, Emin=-9999, Emax=9999)
"""Sums and differences of any two float64 numbers are exact in so many digits."""


class ThresholdRule(StrEnum):
    """Which of the numbers that separate two values is the threshold."""

    SHORTEST = "shortest"
    MIDPOINT = "midpoint"


class _Values(Enum):
    """What lies between two values of a column."""

    REAL = "any number"
    WHOLE = "whole numbers"
    FLAG = "nothing that the column could hold: 0 and 1"
    STEP = "days, or levels with an order: whole numbers whose digits mean nothing"
    MICROSECOND = "microseconds, which make up seconds, minutes, hours and days"
    OF_DAY = "microseconds since midnight"


_UNITS = {
    _Values.STEP: (1,),
    _Values.MICROSECOND: (DAY, HOUR, MINUTE, SECOND, 1),
    _Values.OF_DAY: (HOUR, MINUTE, SECOND, 1),
}
"""What a threshold is a multiple of, the coarsest first."""


# The number is chosen once, after the search, for predict, texts and exports alike, because a text that rounds a
# threshold states another model: decisions/0060-one-number-per-split.
def placed(
    table: NodeTable,
    X: npt.ArrayLike,
    kinds: Sequence[Kind] = (),
    *,
    rule: ThresholdRule = ThresholdRule.SHORTEST,
    of_tests: bool = False,
) -> NodeTable:
    """``table`` with the threshold of each test of a column where the rule puts it; every row of ``X`` goes its way.

    For the test ``x <= t`` they are the largest value ``a <= t`` and the smallest value ``b > t`` among the rows of
    ``X`` that reach the node; among all rows of ``X`` if none of those lies on one of the sides. A test keeps its
    threshold if no row of ``X`` lies on one of its sides, as a test for missing values does. Weighted sums are compared
    likewise at each node; the rule ``"midpoint"`` leaves them as they are.

    Parameters
    ----------
    table : NodeTable
    X : (n_samples, n_features) training rows, NaN where missing
    kinds : what the numbers of each column are; of columns that are not named, numbers
    rule : ThresholdRule
    of_tests : whether equal tests stay equal: ``a`` and ``b`` are always those of all rows

    Raises
    ------
    AssertionError
        If a row of ``X`` would go another way.
    """
    rows = check_rows(table, X)
    if rule is ThresholdRule.SHORTEST and table.normals is not None:
        table = _shorter_sums(table, rows)
    tests = np.flatnonzero((table.feature >= 0) & np.isfinite(table.threshold))
    if of_tests:
        below, above = np.full((2, table.n_nodes), np.nan)
    else:
        below, above = neighbours(table, rows)
    for node in tests[np.isnan(below[tests]) | np.isnan(above[tests])].tolist():
        below[node], above[node] = _around(rows[:, table.feature[node]], float(table.threshold[node]))
    tests = tests[~np.isnan(below[tests]) & ~np.isnan(above[tests])]
    threshold = table.threshold.copy()
    if rule is ThresholdRule.MIDPOINT:
        threshold[tests] = midpoints(below[tests], above[tests])
    else:
        between = cache(_between)  # in a table of many rows nodes far apart lie between the same two values
        columns = {j: _values(rows[:, j], _kind(kinds, j)) for j in np.unique(table.feature[tests]).tolist()}
        for node in tests.tolist():
            of = columns[int(table.feature[node])]
            threshold[node] = between(float(below[node]), float(above[node]), of)
    if not np.all((below[tests] <= threshold[tests]) & (threshold[tests] < above[tests])):
        raise AssertionError("a threshold does not separate the rows that the search separated by it")
    return table.changed(threshold=threshold)


def shortest_between(low: float, high: float) -> float:
    """The number of fewest significant digits with ``low < t < high``; ``low`` if no float64 lies there.

    Of several, the one nearest the middle, and of two the lower one.

    >>> shortest_between(19800.12, 20396.64), shortest_between(0.1, 0.2), shortest_between(-1.0, 1.0)
    (20000.0, 0.15, 0.0)
    """
    return _shortest(low, _middle(low, high), lambda t: low < t < high)


def shortest_whole_between(low: float, high: float) -> float:
    """The whole number of fewest digits, except for zeros at its end, with ``low <= t < high``, two whole numbers.

    Of several, the one nearest the middle, and of two the lower one.

    >>> shortest_whole_between(45, 46), shortest_whole_between(41, 49), shortest_whole_between(1234, 5678)
    (45.0, 45.0, 3000.0)
    """
    return _shortest(low, _middle(low, high), lambda t: low <= t < high, whole=True)


def midpoints(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Thresholds half way between ``a < b`` that separate them in float64: ``a <= t < b``.

    ``(a + b) / 2`` correctly rounded, also where ``a + b`` overflows; ``a`` where that rounds to ``b``.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (a + b) / 2
        middle = np.where(np.isfinite(middle), middle, a / 2 + b / 2)
    return np.asarray(np.where((a <= middle) & (middle < b), middle, a), dtype=np.float64)


# ------------------------------------------------------------------------------------------------------- internals


def _shorter_sums(table: NodeTable, X: FloatArray) -> NodeTable:
    """The table with few digits in the coefficients and thresholds of weighted sums, equal on every row."""
    assert table.normals is not None
    values, threshold = table.normals.values.copy(), table.threshold.copy()
    for node, rows in _visitors(table, X).items():
        low = goes_low(table, X, rows, np.full(rows.size, node))
        columns, given = table.normals.row(node)
        spans = np.ptp(X[:, columns], axis=0)
        gap = _gap(_sums(X[rows][:, columns], given), low)
        for digits in range(1, _MOST_DIGITS):
            short = np.array([float(f"{value:.{digits}g}") for value in given.tolist()])
            found = _gap(_sums(X[rows][:, columns], short), low)
            if found.width >= max(gap.width / 2, _CLOSEST * float(np.abs(short) @ spans)) > 0:
                first = int(table.normals.indptr[node])
                values[first : first + short.size], gap = short, found
                break
        if gap.width > 0:
            threshold[node] = shortest_between(gap.low, gap.high)
    normals = replace(table.normals, values=values)
    return table.changed(normals=normals, threshold=threshold)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Between the greatest sum of the rows that go low and the least of those that go high; infinite without rows."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """0 if there is nothing between, or nothing on a side."""
        return max(0.0, self.high - self.low) if math.isfinite(self.high - self.low) else 0.0


def _gap(sums: FloatArray, low: BoolArray) -> _Gap:
    return _Gap(float(sums[low].max(initial=-np.inf)), float(sums[~low].min(initial=np.inf)))


def _sums(X: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Weighted sums of the columns of ``X``, added up as a model adds them up."""
    total = np.zeros(X.shape[0])
    for column, coefficient in zip(X.T, coefficients.tolist(), strict=True):
        total += coefficient * column
    return total


def _visitors(table: NodeTable, X: FloatArray) -> dict[int, IntArray]:
    """The rows of ``X`` that reach each node with a weighted sum."""
    found: dict[int, list[IntArray]] = {}
    for rows, nodes in walk(table, X):
        for node in np.unique(nodes[table.feature[nodes] == OBLIQUE]).tolist():
            found.setdefault(node, []).append(rows[nodes == node])
    return {node: np.concatenate(parts) for node, parts in found.items()}


def _kind(kinds: Sequence[Kind], column: int) -> Kind:
    return kinds[column] if column < len(kinds) else Kind.NUMERIC


def _around(values: FloatArray, threshold: float) -> tuple[float, float]:
    """The largest value up to a threshold and the smallest above it; NaN where there is none."""
    low, high = values[values <= threshold], values[values > threshold]
    return float(low.max()) if low.size else math.nan, float(high.min()) if high.size else math.nan


def _values(values: FloatArray, kind: Kind) -> _Values:
    """What lies between two values of a column, by its kind and by all of its values."""
    if kind in (Kind.DATE, Kind.ORDERED):
        return _Values.STEP
    if kind in MOMENTS:
        return _Values.OF_DAY if kind is Kind.TIME else _Values.MICROSECOND
    present = values[~np.isnan(values)]
    if kind is Kind.BOOLEAN or np.all((present == 0) | (present == 1)):
        return _Values.FLAG
    # A column of whole numbers with missing values is one of floats in many tables, so that the values tell it, not
    # their type.
    return _Values.WHOLE if np.all(present == np.floor(present)) else _Values.REAL


def _between(low: float, high: float, of: _Values) -> float:
    """The threshold by the rule ``"shortest"``."""
    if of is _Values.FLAG:
        return 0.5
    if of is _Values.REAL:
        return shortest_between(low, high)
    if of is _Values.WHOLE:
        return shortest_whole_between(low, high)
    middle = _middle(low, high)
    for unit in _UNITS[of]:
        first = Decimal(math.floor(middle) // unit * unit)
        found = _nearest((first, first + unit), middle, lambda t: low <= t < high)
        if found is not None:
            return found
    return low  # whose neighbours float64 cannot hold


def _shortest(low: float, middle: Decimal, fits: Callable[[float], bool], *, whole: bool = False) -> float:
    """The number nearest the middle that fits, of those of the fewest significant digits; ``low`` if none does."""
    for digits in range(1, _MOST_DIGITS + 1):
        found = _nearest(_beside(middle, digits, whole=whole), middle, fits)
        if found is not None:
            return found
    return low + 0.0


def _beside(middle: Decimal, digits: int, *, whole: bool) -> tuple[Decimal, Decimal]:
    """The nearest decimals on both sides of a number, among those (or the whole ones) of so many significant digits.

    Whatever decimal fits on one side of the middle, this one does, which is nearer.
    """
    if whole and digits > middle.adjusted():
        return middle.to_integral_value(ROUND_FLOOR, _EXACT), middle.to_integral_value(ROUND_CEILING, _EXACT)
    return _context(digits, ROUND_FLOOR).create_decimal(middle), _context(digits, ROUND_CEILING).create_decimal(middle)


@cache
def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=-9999, Emax=9999)


def _nearest(decimals: tuple[Decimal, Decimal], middle: Decimal, fits: Callable[[float], bool]) -> float | None:
    """The one of two decimals (the lower one first) that fits, as float64; if both do, the nearer to the middle."""
    down, up = decimals
    found = [one for one in (down, up) if fits(float(one))]
    if len(found) == 2 and _EXACT.subtract(middle, down) > _EXACT.subtract(up, middle):
        found = [up]
    return float(found[0]) + 0.0 if found else None  # and no negative zero


def _middle(low: float, high: float) -> Decimal:
    """The middle of two numbers, exactly."""
    return _EXACT.multiply(_EXACT.add(Decimal(low), Decimal(high)), Decimal("0.5"))
