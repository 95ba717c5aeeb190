"""Questions about all trees by brute force, in fractions: what trees get wrong, and cost by how they decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

Wrong = tuple[Fraction, Fraction]
"""Weight of positive rows that are missed, and of others that are called positive."""


@dataclass(frozen=True)
class NaiveQuestions:
    """All trees of a table.

    Parameters
    ----------
    rows : values of each row
    nominal : whether each column holds levels without order
    codes : class of each row
    weights : of each row
    price : of a leaf beyond the first
    least : rows of a leaf
    """

    rows: Sequence[Sequence[Any]]
    nominal: Sequence[bool]
    codes: Sequence[int]
    weights: Sequence[Fraction]
    price: Fraction = Fraction(0)
    least: int = 1

    def costs(self, depth: int, n_classes: int, asked: Sequence[Any] | None = None) -> dict[int | None, Fraction]:
        """The least cost of a tree that gives ``asked`` each class; of any tree, below None, without such a row.

        A row that is asked about and is no row of the table counts as one of its leaf.
        """
        own = asked is not None and list(asked) not in [list(row) for row in self.rows]
        return self._costs(tuple(range(len(self.rows))), depth, n_classes, asked, own)

    def _costs(
        self, rows: tuple[int, ...], depth: int, n_classes: int, asked: Sequence[Any] | None, own: bool
    ) -> dict[int | None, Fraction]:
        here = [self._weight(rows, code) for code in range(n_classes)]
        alone = {code: sum(here, Fraction(0)) - here[code] for code in range(n_classes)}
        best: dict[int | None, Fraction] = {None: min(alone.values())} if asked is None else {**alone}
        for column, levels, low, high in self._splits(rows, depth, asked):
            goes_low = asked is not None and asked[column] in levels
            goes_high = asked is not None and not goes_low
            if min(len(low) + (own and goes_low), len(high) + (own and goes_high)) < self.least:
                continue
            one = self._costs(low, depth - 1, n_classes, asked if goes_low else None, own)
            other = self._costs(high, depth - 1, n_classes, asked if goes_high else None, own)
            for code in best:
                cost = one[code if goes_low else None] + other[code if goes_high else None] + self.price
                best[code] = min(best[code], cost)
        return best

    def wrong(self, depth: int, positive: int) -> set[Wrong]:
        """What trees of two classes get wrong."""
        return self._wrong(tuple(range(len(self.rows))), depth, positive)

    def _wrong(self, rows: tuple[int, ...], depth: int, positive: int) -> set[Wrong]:
        none = Fraction(0)
        found = {(self._weight(rows, positive), none), (none, self._weight(rows, 1 - positive))}
        for _, _, low, high in self._splits(rows, depth, None):
            if min(len(low), len(high)) >= self.least:
                for missed, called in self._wrong(low, depth - 1, positive):
                    for more, again in self._wrong(high, depth - 1, positive):
                        found.add((missed + more, called + again))
        return found

    def _weight(self, rows: tuple[int, ...], code: int) -> Fraction:
        return sum((self.weights[row] for row in rows if self.codes[row] == code), Fraction(0))

    def _splits(
        self, rows: tuple[int, ...], depth: int, asked: Sequence[Any] | None
    ) -> Iterator[tuple[int, set[Any], tuple[int, ...], tuple[int, ...]]]:
        """Column, values that go low, and the rows of both sides."""
        for column in range(len(self.nominal) if depth else 0):
            known = {self.rows[row][column] for row in rows} | (set() if asked is None else {asked[column]})
            values = sorted(known)
            sizes = range(1, len(values))
            tests = (
                [set(levels) for size in sizes for levels in combinations(values, size)]
                if self.nominal[column]
                else [set(values[:size]) for size in sizes]
            )
            for levels in tests:
                low = tuple(row for row in rows if self.rows[row][column] in levels)
                high = tuple(row for row in rows if self.rows[row][column] not in levels)
                yield column, levels, low, high
