"""Choose the number of a threshold between the two values that it separates.

A search finds a threshold as a position between two neighbouring values ``a < b``; every number ``t`` with
``a <= t < b`` sends the rows to the same sides. :func:`placed` chooses this number once, after the search. The model
predicts with this number, texts and pictures show it, and exports contain it.

The rule ``"shortest"`` chooses a number that a person can easily read, write and compare:

- for numbers, a decimal with the fewest significant digits and ``a < t < b``;
- for whole numbers, a whole number with the fewest digits and ``a <= t < b``;
- for 0 and 1, and for false and true, 0.5;
- for dates, moments, times and durations, a whole day with ``a <= t < b``; if there is no such day, a whole hour,
  minute, second or microsecond;
- for categories with an order, a level;
- for weighted sums, a decimal as for numbers, after each coefficient is rounded to the fewest digits that preserve at
  least half of the distance between the two sides.

Of several such numbers, the rule takes the one nearest to the middle, and of two equally near ones the lower. If no
number lies between, it takes ``a``. The rule ``"midpoint"``, as in the papers, takes the middle of ``a`` and ``b``.
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
"""The number of significant digits that distinguish all float64 numbers."""
_CLOSEST = 2e-4
"""The least distance between the two sides with rounded coefficients, as a share of the largest possible range of the
sum: twice the margin of the engines of oblique diagrams."""
_EXACT = Context(prec=2500, Emin=-9999, Emax=9999)
"""With this number of digits, sums and differences of any two float64 numbers are exact."""


class ThresholdRule(StrEnum):
    """The rule that chooses a threshold among the numbers that separate two values."""

    SHORTEST = "shortest"
    MIDPOINT = "midpoint"


class _Values(Enum):
    """The type of the possible thresholds between two values of a column."""

    REAL = "any number"
    WHOLE = "whole numbers"
    FLAG = "no value of the column, which has only 0 and 1"
    STEP = "days, or levels with an order: whole numbers whose digits have no meaning"
    MICROSECOND = "microseconds, of which seconds, minutes, hours and days consist"
    OF_DAY = "microseconds since midnight"


_UNITS = {
    _Values.STEP: (1,),
    _Values.MICROSECOND: (DAY, HOUR, MINUTE, SECOND, 1),
    _Values.OF_DAY: (HOUR, MINUTE, SECOND, 1),
}
"""The units of which a threshold is a multiple, the largest first."""


# The number is chosen once, after the search, and used by predict, texts and exports. A text that rounds a threshold
# would describe another model: decisions/0060-one-number-per-split.
def placed(
    table: NodeTable,
    X: npt.ArrayLike,
    kinds: Sequence[Kind] = (),
    *,
    rule: ThresholdRule = ThresholdRule.SHORTEST,
    of_tests: bool = False,
) -> NodeTable:
    """Return ``table`` with thresholds chosen by the rule; every row of ``X`` takes the same path as before.

    For the test ``x <= t``, ``a`` is the largest value ``a <= t`` and ``b`` the smallest value ``b > t`` among the rows
    of ``X`` at the node, or among all rows of ``X`` if one side of the node has no row. If no row of ``X`` is on one of
    the sides, as in a test for missing values, the threshold does not change. Weighted sums are treated in the same way
    at each node, but the rule ``"midpoint"`` does not change them.

    Parameters
    ----------
    table : NodeTable
    X : (n_samples, n_features) training rows, NaN where missing
    kinds : kind of each column; columns without one are numeric
    rule : ThresholdRule
    of_tests : whether equal tests must stay equal; if so, ``a`` and ``b`` are always values among all rows

    Raises
    ------
    AssertionError
        If a row of ``X`` would take another path.
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
        between = cache(_between)  # in a table of many rows, many nodes separate the same two values
        columns = {j: _values(rows[:, j], _kind(kinds, j)) for j in np.unique(table.feature[tests]).tolist()}
        for node in tests.tolist():
            of = columns[int(table.feature[node])]
            threshold[node] = between(float(below[node]), float(above[node]), of)
    if not np.all((below[tests] <= threshold[tests]) & (threshold[tests] < above[tests])):
        raise AssertionError("a new threshold does not separate the same rows as the threshold of the search")
    return table.changed(threshold=threshold)


def shortest_between(low: float, high: float) -> float:
    """The number ``t`` with the fewest significant digits and ``low < t < high``; ``low`` if no float64 is between.

    If several have the fewest digits, return the one nearest to the middle; of two equally near ones, the lower.

    >>> shortest_between(19800.12, 20396.64), shortest_between(0.1, 0.2), shortest_between(-1.0, 1.0)
    (20000.0, 0.15, 0.0)
    """
    return _shortest(low, _middle(low, high), lambda t: low < t < high)


def shortest_whole_between(low: float, high: float) -> float:
    """Between whole numbers: the whole ``t`` with the fewest digits before its final zeros and ``low <= t < high``.

    If several have the fewest digits, return the one nearest to the middle; of two equally near ones, the lower.

    >>> shortest_whole_between(45, 46), shortest_whole_between(41, 49), shortest_whole_between(1234, 5678)
    (45.0, 45.0, 3000.0)
    """
    return _shortest(low, _middle(low, high), lambda t: low <= t < high, whole=True)


def midpoints(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """The thresholds halfway between ``a`` and ``b`` (with ``a < b``), such that ``a <= t < b`` in float64.

    This is ``(a + b) / 2``, correctly rounded, also if ``a + b`` overflows; but ``a`` if that rounds to ``b``.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (a + b) / 2
        middle = np.where(np.isfinite(middle), middle, a / 2 + b / 2)
    return np.asarray(np.where((a <= middle) & (middle < b), middle, a), dtype=np.float64)


# ------------------------------------------------------------------------------------------------------- internals


def _shorter_sums(table: NodeTable, X: FloatArray) -> NodeTable:
    """Return the table with fewer digits in coefficients and thresholds of weighted sums; all rows keep their paths."""
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
    """The interval from the greatest sum of rows that go low to the least sum of rows that go high.

    An end is infinite if its side has no rows.
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval; 0 if it is empty, or a side has no rows."""
        return max(0.0, self.high - self.low) if math.isfinite(self.high - self.low) else 0.0


def _gap(sums: FloatArray, low: BoolArray) -> _Gap:
    return _Gap(float(sums[low].max(initial=-np.inf)), float(sums[~low].min(initial=np.inf)))


def _sums(X: FloatArray, coefficients: FloatArray) -> FloatArray:
    """The weighted sums of the columns of ``X``, added up in the same order as in a model."""
    total = np.zeros(X.shape[0])
    for column, coefficient in zip(X.T, coefficients.tolist(), strict=True):
        total += coefficient * column
    return total


def _visitors(table: NodeTable, X: FloatArray) -> dict[int, IntArray]:
    """The rows of ``X`` that reach each node with an oblique test, by node."""
    found: dict[int, list[IntArray]] = {}
    for rows, nodes in walk(table, X):
        for node in np.unique(nodes[table.feature[nodes] == OBLIQUE]).tolist():
            found.setdefault(node, []).append(rows[nodes == node])
    return {node: np.concatenate(parts) for node, parts in found.items()}


def _kind(kinds: Sequence[Kind], column: int) -> Kind:
    return kinds[column] if column < len(kinds) else Kind.NUMERIC


def _around(values: FloatArray, threshold: float) -> tuple[float, float]:
    """The largest value that is at most the threshold, and the smallest above it; NaN if there is no such value."""
    low, high = values[values <= threshold], values[values > threshold]
    return float(low.max()) if low.size else math.nan, float(high.min()) if high.size else math.nan


def _values(values: FloatArray, kind: Kind) -> _Values:
    """The type of possible thresholds of a column, by its kind and all its values."""
    if kind in (Kind.DATE, Kind.ORDERED):
        return _Values.STEP
    if kind in MOMENTS:
        return _Values.OF_DAY if kind is Kind.TIME else _Values.MICROSECOND
    present = values[~np.isnan(values)]
    if kind is Kind.BOOLEAN or np.all((present == 0) | (present == 1)):
        return _Values.FLAG
    # In many tables, a column of whole numbers with missing values has the type float, so the values decide, not the
    # type.
    return _Values.WHOLE if np.all(present == np.floor(present)) else _Values.REAL


def _between(low: float, high: float, of: _Values) -> float:
    """The threshold between two values by the rule ``"shortest"``."""
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
    return low  # float64 cannot hold a whole number between


def _shortest(low: float, middle: Decimal, fits: Callable[[float], bool], *, whole: bool = False) -> float:
    """The number that fits with the fewest significant digits; in a tie the nearest to the middle. Else ``low``."""
    for digits in range(1, _MOST_DIGITS + 1):
        found = _nearest(_beside(middle, digits, whole=whole), middle, fits)
        if found is not None:
            return found
    return low + 0.0


def _beside(middle: Decimal, digits: int, *, whole: bool) -> tuple[Decimal, Decimal]:
    """The nearest decimals (or whole numbers) with this many significant digits, below and above a number.

    If any such decimal on a side fits, so does the nearest one.
    """
    if whole and digits > middle.adjusted():
        return middle.to_integral_value(ROUND_FLOOR, _EXACT), middle.to_integral_value(ROUND_CEILING, _EXACT)
    return _context(digits, ROUND_FLOOR).create_decimal(middle), _context(digits, ROUND_CEILING).create_decimal(middle)


@cache
def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=-9999, Emax=9999)


def _nearest(decimals: tuple[Decimal, Decimal], middle: Decimal, fits: Callable[[float], bool]) -> float | None:
    """Return, as float64, the decimal of two that fits, or the nearer to the middle if both fit; None if none fits."""
    down, up = decimals
    found = [one for one in (down, up) if fits(float(one))]
    if len(found) == 2 and _EXACT.subtract(middle, down) > _EXACT.subtract(up, middle):
        found = [up]
    return float(found[0]) + 0.0 if found else None  # and no negative zero


def _middle(low: float, high: float) -> Decimal:
    """The exact middle of two numbers."""
    return _EXACT.multiply(_EXACT.add(Decimal(low), Decimal(high)), Decimal("0.5"))
