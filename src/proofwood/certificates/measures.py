"""What a certificate says of distances: how they are measured, in plain numbers, and the price of each cell by these.

Whoever makes a certificate and whoever checks one take prices from here: exact fractions of the numbers in the file.
A column of the table costs its weight times the change of its number, or its weight for another category; a missing
value becomes any value for 1, and a value never a missing one. ``"l1"`` adds up the columns, ``"l2"`` their squares,
``"linf"`` is the dearest one; of the columns in ``halves``, two of which change together, each counts half in a sum.
``"changes"`` counts the features that differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from proofwood.certificates.trees import Cells, Trees

METRICS = ("l1", "l2", "linf", "changes")
NUMBER, CATEGORY, MISSING, FREE = "number", "category", "missing", "free"
"""What a column of the grid is to a distance: cells of a number, whether a category is one of those that no tree tells
apart, whether a number is missing, or nothing that counts."""
TOLERANCE = 1e-9
"""Relative difference of two distances that does not count."""
_MOST_SUM = 2**61


def number_of(value: Any) -> float:
    """A number as it stands in the file: infinite ones as text, a missing one as null."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


class Measure:
    """The distance from a row, over the grid of a certificate.

    Parameters
    ----------
    content : ``metric``, ``weights``, ``halves``, ``pays`` of the field ``distance``
    columns : the field ``columns``: of each column of the grid its column of the table and the ends of its cells
    values : the row, a number per column of the table
    cells : (n_columns,) its cells
    """

    def __init__(
        self,
        content: Mapping[str, Any],
        columns: Sequence[Mapping[str, Any]],
        values: Sequence[float | str | None],
        cells: Cells,
    ) -> None:
        self.metric: str = content["metric"]
        self.columns = columns
        self.values = [number_of(value) for value in values]
        self.cells = cells
        self.weights = [number_of(weight) for weight in content["weights"]]
        self.halves = set(content["halves"])
        self.pays: list[int] = content["pays"]

    @property
    def power(self) -> int:
        """The distance is this root of the sum of prices."""
        return 2 if self.metric == "l2" else 1

    def fault(self, trees: Trees) -> str | None:
        """Why this is no distance, or prices of cells would not bound it from below."""
        if self.metric not in METRICS:
            return f"there is no metric {self.metric!r}"
        if len(self.weights) != len(self.values) or not all(0 <= w < math.inf for w in self.weights):
            return "weights are not one finite number, at least 0, per column of the table"
        if not all(type(j) is int and 0 <= j < len(self.values) for j in self.halves):
            return "a column that counts half does not exist"
        if self.metric == "changes":
            return self._pays_fault(trees)
        for j, value in enumerate(self.values):
            mine = [g for g, column in enumerate(self.columns) if column["input"] == j]
            numbers = [g for g in mine if self.columns[g]["role"] == NUMBER]
            if len(numbers) > 1:
                return "a number is in two columns that count"
            if any(math.isnan(value) is not bool(self.cells[g]) for g in mine if self.columns[g]["role"] == MISSING):
                return f"the row's value in column {j} of the table is not missing where its cells say so"
            for g in numbers if not math.isnan(value) else ():
                low, high = self._ends(g)
                if not low[self.cells[g]] <= value <= high[self.cells[g]]:
                    return f"the row's value in column {g} is not in its cell"
            single = [g for g in mine if self.columns[g]["role"] == CATEGORY]
            if self.metric != "linf" and not exclusive(trees, single):
                return "two categories of a column are not known to exclude each other"
        return None

    def _pays_fault(self, trees: Trees) -> str | None:
        """Why a feature might pay more than once for a change."""
        if not all(type(g) is int and 0 <= g < len(self.columns) for g in self.pays):
            return "a column that pays for a change does not exist"
        for feature in trees.features:
            paying = [g for g in feature if g in self.pays]
            if len(paying) > 1 and not exclusive(trees, paying, self.cells):
                return "two columns of a feature may pay for the same change"
        return None

    def _ends(self, g: int) -> tuple[list[float], list[float]]:
        low, high = ([number_of(v) for v in self.columns[g][end]] for end in ("low", "high"))
        return low, high

    def prices(self, g: int) -> list[Fraction]:
        """The exact price of each cell of a column; none falls away from that of the row."""
        column, own = self.columns[g], int(self.cells[g])
        role, j = column["role"], column["input"]
        n = len(column["low"])
        if self.metric == "changes":
            return [Fraction(int(g in self.pays and cell != own)) for cell in range(n)]
        value, weight = self.values[j], Fraction(self.weights[j])
        missing = math.isnan(value)
        if role == MISSING:
            return [Fraction(int(missing and cell != own)) for cell in range(n)]
        if role == CATEGORY:
            one = Fraction(1) if missing else weight**self.power
            one = one if self.metric == "linf" else one / 2
            return [one if cell != own else Fraction(0) for cell in range(n)]
        if role != NUMBER or missing:
            return [Fraction(0)] * n
        low, high = self._ends(g)
        at, share = Fraction(value), self._share(j)
        below = [share * (weight * (at - Fraction(high[cell]))) ** self.power for cell in range(own)]
        above = [share * (weight * (Fraction(low[cell]) - at)) ** self.power for cell in range(own + 1, n)]
        return [*below, Fraction(0), *above]

    def _share(self, j: int) -> Fraction:
        return Fraction(1, 2) if j in self.halves and self.metric != "linf" else Fraction(1)

    def whole_prices(self, unit: int, most: int) -> list[Cells]:
        """The prices in multiples of ``2**unit``, rounded down, those above ``most`` to ``most``.

        Raises
        ------
        ValueError
            If they are too large to be added up.
        """
        scale = Fraction(2) ** -unit
        whole = [[min(most, math.floor(one * scale)) for one in self.prices(g)] for g in range(len(self.columns))]
        if sum(max(column, default=0) for column in whole) >= _MOST_SUM:
            raise ValueError(f"2^{unit} is too small a unit of prices")
        return [np.array(column, dtype=np.int64) for column in whole]

    def least_of(self, cells: Cells) -> Fraction:
        """The sum of the prices of some cells, or the dearest one: no row in them is nearer."""
        paid = [self.prices(g)[cell] for g, cell in enumerate(cells.tolist())]
        return max(paid, default=Fraction(0)) if self.metric == "linf" else sum(paid, start=Fraction(0))

    def total(self, other: Sequence[float | str | None], trees: Trees, cells: Cells) -> Fraction | None:
        """The exact sum of prices (or the dearest one) of another row; None if a value has become a missing one."""
        if self.metric == "changes":
            return Fraction(sum(bool(np.any(cells[own] != self.cells[own])) for own in trees.features if own))
        paid = [Fraction(0)]
        categories = {column["input"] for column in self.columns if column["role"] == CATEGORY}
        for j, (now, then) in enumerate(zip(self.values, map(number_of, other), strict=True)):
            weight = Fraction(self.weights[j])
            if math.isnan(now) or math.isnan(then):
                if math.isnan(then) and not math.isnan(now):
                    return None
                paid.append(Fraction(int(not math.isnan(then))))
            elif j in categories:
                paid.append(weight**self.power if now != then else Fraction(0))
            else:
                paid.append(self._share(j) * (weight * abs(Fraction(then) - Fraction(now))) ** self.power)
        return max(paid) if self.metric == "linf" else sum(paid, start=Fraction(0))

    def inside(self, other: Sequence[float | str | None], cells: Cells) -> bool:
        """Whether the numbers of another row are in its cells, and missing where these say so."""
        for g, column in enumerate(self.columns):
            value = number_of(other[column["input"]])
            if column["role"] == MISSING and math.isnan(value) is not bool(cells[g]):
                return False
            if column["role"] == NUMBER and not math.isnan(value):
                low, high = self._ends(g)
                if not low[cells[g]] <= value <= high[cells[g]]:
                    return False
        return True


def columns_fault(columns: Sequence[Mapping[str, Any]], trees: Trees, n_inputs: int) -> str | None:
    """Why this does not describe the columns of the grid."""
    if len(columns) != trees.q.size:
        return "not one description per column of the grid"
    for g, column in enumerate(columns):
        if column["role"] not in (NUMBER, CATEGORY, MISSING, FREE) or type(column["name"]) is not str:
            return f"there is no column {column['name']!r} of kind {column['role']!r}"
        if type(column["input"]) is not int or not 0 <= column["input"] < n_inputs:
            return f"column {g} belongs to no column of the table"
        low, high = ([number_of(v) for v in column[end]] for end in ("low", "high"))
        if len(low) != int(trees.q[g]) + 1 or len(high) != len(low):
            return f"column {g} has not one interval per cell"
        ends = [end for both in zip(low, high, strict=True) for end in both]
        if not all(a <= b for a, b in pairwise(ends)):
            return f"the cells of column {g} do not ascend"
        if column["role"] in (CATEGORY, MISSING) and trees.q[g] > 1:
            return f"column {g} has more than two cells"
        if any(math.isinf(end) for end in ends[1:-1]):
            return f"a cell within column {g} has no end"
    return None


def exclusive(trees: Trees, columns: Sequence[int], cells: Cells | None = None) -> bool:
    """Whether of some columns no two can be above their first cell, or else than in some cells, by the clauses."""
    own = np.zeros_like(trees.q) if cells is None else cells
    about: dict[frozenset[int], list[list[int]]] = {}
    for clause in trees.clauses:
        about.setdefault(frozenset(trees.column[literal >> 1] for literal in clause), []).append(clause)

    def denied(a: int, x: int, b: int, y: int) -> bool:
        low, high = np.zeros_like(trees.q), trees.q.copy()
        low[[a, b]] = high[[a, b]] = [x, y]
        known = [clause for pair in ({a, b}, {a}, {b}) for clause in about.get(frozenset(pair), ())]
        return any(trees.denied(clause, low, high) for clause in known)

    return all(
        denied(a, x, b, y)
        for i, a in enumerate(columns)
        for b in columns[:i]
        for x in range(int(trees.q[a]) + 1)
        for y in range(int(trees.q[b]) + 1)
        if x != own[a] and y != own[b]
    )
