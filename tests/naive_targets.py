"""Trees of targets by sums by brute force, in fractions: every tree, and costs as the native search rounds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from proofwood.model.node_table import FloatArray

Rows = list[int]
Numbers = Sequence[Sequence[Fraction]]


def squared_error(numbers: Numbers, weights: Sequence[Fraction], rows: Rows) -> Fraction:
    """Squared distance of the first numbers from their mean."""
    total = sum(weights[i] for i in rows)
    plain = sum((weights[i] * numbers[i][0] for i in rows), Fraction(0))
    return sum((weights[i] * numbers[i][0] ** 2 for i in rows), Fraction(0)) - plain**2 / Fraction(total)


def lost_reward(numbers: Numbers, weights: Sequence[Fraction], rows: Rows) -> Fraction:
    """What the best action for all rows loses against the best action of each."""
    best = sum((weights[i] * max(numbers[i]) for i in rows), Fraction(0))
    return best - max(
        sum((weights[i] * numbers[i][k] for i in rows), Fraction(0)) for k in range(len(numbers[rows[0]]))
    )


@lru_cache(maxsize=100_000)
def log_of(number: Fraction) -> Fraction:
    """The natural logarithm, to some 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(number.numerator) / Decimal(number.denominator)).ln())


def shares_of(part: Fraction | int, whole: Fraction | int) -> Fraction:
    """``part * log(part / whole)``."""
    return part * log_of(Fraction(part) / whole) if part else Fraction(0)


def deviance(pairs: Sequence[Sequence[Fraction | int]], rows: Rows) -> Fraction:
    """Events (second) of exposures (first) against the rate of all rows, halved."""
    if len({Fraction(pairs[i][1]) / pairs[i][0] for i in rows}) == 1:
        return Fraction(0)
    exposure, events = (sum((Fraction(pairs[i][k]) for i in rows), Fraction(0)) for k in range(2))
    alone = sum((shares_of(pairs[i][1], pairs[i][0]) for i in rows), Fraction(0))
    return alone - shares_of(events, exposure)


def log_loss(weights: Sequence[Sequence[Fraction | int]], rows: Rows) -> Fraction:
    """Of the weights of each class, by their shares."""
    classes = [sum((Fraction(weights[i][k]) for i in rows), Fraction(0)) for k in range(len(weights[rows[0]]))]
    return -sum((shares_of(one, sum(classes)) for one in classes), Fraction(0))


def gini(weights: Sequence[Sequence[Fraction | int]], rows: Rows) -> Fraction:
    """What the squares of the shares of classes leave of the weight."""
    classes = [sum((Fraction(weights[i][k]) for i in rows), Fraction(0)) for k in range(len(weights[rows[0]]))]
    return sum(classes) - sum(one * one for one in classes) / Fraction(sum(classes))


@dataclass(frozen=True)
class Naive:
    """A problem by brute force.

    Parameters
    ----------
    cost : of a leaf
    price : of a leaf beyond the first
    least_rows : of a leaf
    permitted : whether a leaf may have these rows
    """

    X: FloatArray
    cost: Callable[[Rows], Fraction]
    price: Fraction = Fraction(0)
    least_rows: int = 1
    permitted: Callable[[Rows], bool] = bool

    def splits(self, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
        """Both sides of every permitted split."""
        for column in range(self.X.shape[1]):
            for value in sorted({self.X[i, column] for i in rows})[:-1]:
                low = [i for i in rows if self.X[i, column] <= value]
                high = [i for i in rows if self.X[i, column] > value]
                if min(len(low), len(high)) >= self.least_rows and self.permitted(low) and self.permitted(high):
                    yield low, high

    def best(self, rows: Rows, depth: int) -> Fraction:
        """Least cost of a tree of up to a depth."""
        found = self.cost(rows)
        for low, high in self.splits(rows) if depth else ():
            found = min(found, self.best(low, depth - 1) + self.best(high, depth - 1) + self.price)
        return found

    def units(self, rows: Rows, depth: int) -> int:
        """The same in whole units of cost, as the native search rounds: down, at each leaf and each pair of leaves."""
        found = math.floor(self.cost(rows))
        for low, high in self.splits(rows) if depth else ():
            if depth == 1:
                found = min(found, math.floor(self.cost(low) + self.cost(high)) + int(self.price))
            else:
                found = min(found, self.units(low, depth - 1) + self.units(high, depth - 1) + int(self.price))
        return min(found, self.units(rows, depth - 1)) if depth > 1 else found


def random_table(rng: np.random.Generator, n_rows: int) -> FloatArray:
    """(n_rows, 1 to 3) values with many and with few ties."""
    return np.column_stack([rng.integers(0, rng.choice([3, 100]), n_rows) for _ in range(rng.integers(1, 4))]).astype(
        float
    )
