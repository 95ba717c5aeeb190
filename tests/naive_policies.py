"""Policies under budgets and least rows by brute force, in fractions: every tree with every labelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from proofwood.model.node_table import FloatArray
from tests.naive_targets import Naive

Given = tuple[tuple[Fraction, ...], tuple[int, ...]]
"""Weight and rows that each action is given."""


@dataclass(frozen=True)
class NaivePolicies:
    """All policies of a table.

    Parameters
    ----------
    X : (n_rows, n_columns)
    rewards : of each row and action
    weights : of each row
    price : of a leaf
    least : rows of a leaf
    budgets : pairs of whether each action counts, and the most weight that may be given such an action
    least_rows : of an action that is given at all
    """

    X: FloatArray
    rewards: Sequence[Sequence[Fraction]]
    weights: Sequence[Fraction]
    price: Fraction
    least: int
    budgets: Sequence[tuple[Sequence[bool], Fraction]]
    least_rows: int

    @property
    def _splits(self) -> Naive:
        return Naive(self.X, lambda _: Fraction(0), least_rows=self.least)

    def best(self, depth: int) -> Fraction | None:
        """The least lost reward plus price of leaves within the limits; None if no tree is within them."""
        costs = [
            cost for given, cost in self._trees(list(range(len(self.weights))), depth).items() if self.keeps(given)
        ]
        return min(costs, default=None)

    def keeps(self, given: Given) -> bool:
        """Whether what is given is within the limits."""
        weights, rows = given
        within = all(
            sum(w for w, counts in zip(weights, mask, strict=True) if counts) <= most for mask, most in self.budgets
        )
        return within and all(n == 0 or n >= self.least_rows for n in rows)

    def lost(self, rows: list[int], action: int) -> Fraction:
        """What an action loses on rows against the best action of each."""
        return sum((self.weights[i] * (max(self.rewards[i]) - self.rewards[i][action]) for i in rows), Fraction(0))

    def _trees(self, rows: list[int], depth: int) -> dict[Given, Fraction]:
        """The least cost of trees below a node, by what they give to whom."""
        n_actions = len(self.rewards[0])
        found: dict[Given, Fraction] = {}
        weight = sum((self.weights[i] for i in rows), Fraction(0))
        for k in range(n_actions):
            one = [j == k for j in range(n_actions)]
            found[tuple(weight * a for a in one), tuple(len(rows) * a for a in one)] = self.lost(rows, k)
        for low, high in self._splits.splits(rows) if depth else ():
            for (a, x), (b, y) in product(self._trees(low, depth - 1).items(), self._trees(high, depth - 1).items()):
                given = (
                    tuple(p + q for p, q in zip(a[0], b[0], strict=True)),
                    tuple(p + q for p, q in zip(a[1], b[1], strict=True)),
                )
                found[given] = min(found.get(given, x + y + self.price), x + y + self.price)
        return found
