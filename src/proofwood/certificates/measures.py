"""Exact distances between rows, and the least price of each cell, computed from values.

The price of a column is its weight times the change of its number, or its weight if the category changes. A missing
value becomes any value at price 1; a value cannot become missing. ``"l1"`` adds up the prices of the columns, ``"l2"``
their squares, and ``"linf"`` is the largest price. In a choice (one-hot columns) two columns change together, so each
counts half in a sum. ``"changes"`` counts the features that differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from proofwood.certificates.content import FloatArray, fields, number_or
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.stated import Stated
from proofwood.certificates.trees import Cells

METRICS = ("l1", "l2", "linf", "changes")
TOLERANCE = 1e-9
"""Two distances are equal if their relative difference is at most this."""
_MOST_SUM = 2**61


FORBIDDEN = Fraction(2) ** 3000
"""Price of a change that is not allowed."""


@dataclass(frozen=True)
class Weight:
    """The prices of changes of one column.

    Parameters
    ----------
    down, up : price per unit of a decrease and of an increase; for categories both are the price of any change
    codes : for categories: the price of a change to each of them; the last price is for an unknown category
    """

    down: Fraction
    up: Fraction
    codes: tuple[Fraction, ...] | None = None

    @classmethod
    def read(cls, content: Any) -> Weight:
        """Read the weight from its content in a file."""
        if isinstance(content, Mapping):
            fields(content, "weight", ("codes",))
            return cls(Fraction(0), Fraction(0), tuple(map(_price, content["codes"])))
        down, up = content if isinstance(content, list) else (content, content)
        return cls(_price(down), _price(up))


def _price(value: Any) -> Fraction:
    price = FORBIDDEN if value is None else Fraction(number_or(value, 0.0))
    if price < 0:
        raise CertificateError(f"{value!r} is not a price: expected a non-negative number, or null")
    return price


class Measure:
    """The distance from a row.

    Parameters
    ----------
    content : fields ``metric``, ``weights`` and ``pays``. Each column of the table has a weight: a price per unit, a
        pair of prices (decrease, increase), or for categories a list ``codes`` with the price of each of them, then of
        unknown ones; null forbids a change. ``pays``: for ``"changes"``, the axes in which each change of cell costs 1
    stated : the model of the certificate
    row : (n_columns,) values of the row
    own : entries of the row, by column
    region : the entries that other rows may have, by column; other columns may have any entry
    """

    def __init__(
        self,
        content: Mapping[str, Any],
        stated: Stated,
        row: FloatArray,
        own: Mapping[int, int],
        region: Mapping[int, int] | None = None,
    ) -> None:
        fields(content, "measure", ("metric", "weights", "pays"))
        self.metric: str = content["metric"]
        self.stated, self.row, self.own, self.region = stated, row, own, region or {}
        self.weights = [Weight.read(weight) for weight in content["weights"]]
        self.pays: list[int] = content["pays"]
        self.halves = stated.space.halves
        self.cells = stated.cells_of(own)
        """(n_axes,) cells of the row."""

    @property
    def power(self) -> int:
        """The exponent ``p`` of the metric: the distance is the ``p``-th root of the sum of prices."""
        return 2 if self.metric == "l2" else 1

    def fault(self) -> str | None:
        """The reason why this is not a distance, or why prices of cells are not lower bounds on it; None if valid."""
        if self.metric not in METRICS:
            return f"{self.metric!r} is not a metric: expected one of {', '.join(METRICS)}"
        if len(self.weights) != self.row.size:
            return "the number of weights differs from the number of columns of the table"
        for weight, column in zip(self.weights, self.stated.space.columns, strict=True):
            if weight.codes is not None and (not column.is_category or len(weight.codes) != len(column.levels) + 1):
                return f"the weights of column {column.name!r} are not those of its categories"
        return self._pays_fault() if self.metric == "changes" else self._singles_fault()

    def _singles_fault(self) -> str | None:
        """The fault if two axes are about the same category, so that its change is paid twice; None otherwise."""
        for j, mine in enumerate(self.stated.of_column):
            taken = 0
            for g in (g for g in mine if self.stated.axes[g].single):
                inside = self.stated.true[self.stated.first[g]]
                if taken & inside:
                    return f"two axes of column {j} are about the same category"
                taken |= inside
        return None

    def _pays_fault(self) -> str | None:
        """The fault if a change of a feature may be paid more than once; None otherwise."""
        if not all(type(g) is int and 0 <= g < len(self.stated.axes) for g in self.pays):
            return "an axis that pays for a change does not exist"
        for own in self.stated.features:
            paying = sorted({g for g in own if g in self.pays})
            if any(not self._exclude(a, b) for i, a in enumerate(paying) for b in paying[:i]):
                return "two axes of a feature may pay for the same change"
        return None

    def _exclude(self, a: int, b: int) -> bool:
        """Whether no row differs from the explained row in the cells of both axes at once."""
        left: dict[int, int] = {}
        for g in (a, b):
            j, cells = self.stated.axes[g].column, self.stated.cells_of_entries[g]
            outside = sum(1 << e for e in np.flatnonzero(cells != self.cells[g]).tolist())
            left[j] = left.get(j, self.stated.entries[j].full) & outside
        return self.stated.space.denied(left, self.stated.entries)

    def prices(self, g: int) -> list[Fraction]:
        """The least price of a value in each cell of an axis; prices do not decrease away from the cell of the row."""
        axis, own, n = self.stated.axes[g], int(self.cells[g]), int(self.stated.q[g]) + 1
        if self.metric == "changes":
            return [Fraction(int(g in self.pays and cell != own)) for cell in range(n)]
        missing = math.isnan(self.row[axis.column])
        if axis.flag:
            return [Fraction(int(missing and cell != own)) for cell in range(n)]
        if axis.codes is not None:
            return [self._of_category(g) if cell != own else Fraction(0) for cell in range(n)]
        first = next((h for h in self.stated.of_column[axis.column] if self.stated.axes[h].cuts.size), g)
        if missing or g != first:
            return [Fraction(0)] * n
        return self._of_numbers(g, own, n)

    def _of_numbers(self, g: int, own: int, n: int) -> list[Fraction]:
        j = self.stated.axes[g].column
        entries, value, share = self.stated.entries[j], float(self.row[j]), self._share(j)
        least: list[Fraction | None] = [None] * n
        for e, cell in enumerate(self.stated.cells_of_entries[g][: entries.n].tolist()):
            nearest = min(max(value, float(entries.least[e])), float(entries.most[e]))
            price = share * self._of_number(j, nearest)
            before = least[cell]
            least[cell] = price if before is None or price < before else before
        least[own] = Fraction(0)
        for step, cells in ((1, range(own + 1, n)), (-1, range(own - 1, -1, -1))):
            for cell in cells:  # a cell without a value has the price of the cell before it
                before, here = least[cell - step], least[cell]
                assert before is not None
                least[cell] = before if here is None else max(before, here)
        return [price or Fraction(0) for price in least]

    def _of_category(self, g: int) -> Fraction:
        """The price of a change to the other cell of an axis of categories."""
        axis = self.stated.axes[g]
        weight, missing = self.weights[axis.column], math.isnan(self.row[axis.column])
        if not axis.single:
            return Fraction(0)
        if weight.codes is not None:  # what comes is paid for
            entries = self.stated.entries[axis.column]
            inside = self.region.get(axis.column, entries.full) & self.stated.true[self.stated.first[g]]
            coming = entries.listed(inside).tolist()
            return (
                min(weight.codes[code] for code in coming) ** self.power
                if self.cells[g] == 0 and coming
                else Fraction(0)
            )
        one = Fraction(1) if missing else weight.up**self.power
        return one if self.metric == "linf" else one / 2

    def _of_number(self, j: int, value: float) -> Fraction:
        weight, away = self.weights[j], Fraction(value) - Fraction(float(self.row[j]))
        return (away * weight.up if away > 0 else -away * weight.down) ** self.power if away else Fraction(0)

    def _share(self, j: int) -> Fraction:
        return Fraction(1, 2) if j in self.halves and self.metric != "linf" else Fraction(1)

    def whole_prices(self, unit: int, most: int) -> list[Cells]:
        """The prices in multiples of ``2**unit``, rounded down, and limited to ``most``.

        Raises
        ------
        ValueError
            If the prices are too large to be added up.
        """
        scale = Fraction(2) ** -unit
        whole = [[min(most, math.floor(one * scale)) for one in self.prices(g)] for g in range(self.cells.size)]
        if sum(max(column, default=0) for column in whole) >= _MOST_SUM:
            raise ValueError(f"the unit of prices 2^{unit} is too small: the sum of the prices could overflow")
        return [np.array(column, dtype=np.int64) for column in whole]

    def total(self, other: FloatArray, entries: Mapping[int, int]) -> Fraction | None:
        """The exact sum of prices (for ``"linf"`` the largest price) of another row; None if a value became missing."""
        stated = self.stated
        if self.metric == "changes":
            return Fraction(len({stated.space.feature_of[j] for j, entry in entries.items() if entry != self.own[j]}))
        paid = [Fraction(0)]
        for j, (now, then) in enumerate(zip(self.row.tolist(), other.tolist(), strict=True)):
            weight = self.weights[j]
            if now == then or (math.isnan(now) and math.isnan(then)):
                continue
            if math.isnan(then):
                return None
            if weight.codes is not None:
                paid.append(weight.codes[min(int(then), len(weight.codes) - 1)] ** self.power)
            elif math.isnan(now):
                paid.append(Fraction(1))
            elif stated.space.columns[j].is_category:
                paid.append(weight.up**self.power)
            else:
                paid.append(self._share(j) * self._of_number(j, then))
        return max(paid) if self.metric == "linf" else sum(paid, start=Fraction(0))

    def near(self, least: Fraction) -> dict[int, int]:
        """The region of the rows in which each column has a price below ``least``, for the metric ``"linf"``."""
        found: dict[int, int] = {}
        for g, axis in enumerate(self.stated.axes):
            prices, entries = self.prices(g), self.stated.entries[axis.column]
            cells = self.stated.cells_of_entries[g].tolist()
            inside = sum(1 << e for e, cell in enumerate(cells) if prices[cell] < least)
            found[axis.column] = found.get(axis.column, entries.full) & inside
        return found


def changed_features(stated: Stated, row: Sequence[float], other: Sequence[float]) -> list[int]:
    """The features in which two rows differ in some value."""
    pairs = enumerate(zip(row, other, strict=True))
    changed = [j for j, (now, then) in pairs if now != then and not (math.isnan(now) and math.isnan(then))]
    return sorted({stated.space.feature_of[j] for j in changed})
