"""Weights of every kind, every learner and engine, against enumeration in exact fractions."""

from __future__ import annotations

import itertools
import random
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from proofwood import (
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalityWarning,
    OptimalTreeClassifier,
)
from proofwood.exceptions import DataError
from proofwood.problem.objectives import integer_weights
from tests.fuzz import _records

Weigh = Callable[[random.Random, int], list[float]]

REGIMES: dict[str, Weigh] = {
    "integers": lambda r, n: [float(r.randint(1, 20)) for _ in range(n)],
    "reals": lambda r, n: [r.random() for _ in range(n)],
    "decimals": lambda r, n: [round(r.uniform(0.01, 99), 2) for _ in range(n)],
    "1e-12": lambda r, n: [r.random() * 1e-12 for _ in range(n)],
    "1e12": lambda r, n: [r.random() * 1e12 for _ in range(n)],
    "ratio 1e9": lambda r, n: [r.choice([1.0, 1e9, 3.7, 1e9 * r.random()]) for _ in range(n)],
    "ratio 1e30": lambda r, n: [r.choice([1e-30, 3e-30, 1.0, r.random()]) for _ in range(n)],
    "zeros": lambda r, n: [r.choice([0.0, 1.0, r.random()]) for _ in range(n - 1)] + [1.0],
    "denormal": lambda r, n: [r.choice([5e-324, 1e-320, r.random() * 1e-310]) for _ in range(n)],
    "denormal and 1": lambda r, n: [r.choice([5e-324, 1.0, r.random()]) for _ in range(n)],
    "above 2**53": lambda r, n: [float(r.choice([2**53, 1, 7, 2**50 + 1, 3])) for _ in range(n)],
    "above 2**63": lambda r, n: [float(r.choice([2**63, 1, 2**62 + 2**11, 12345])) for _ in range(n)],
    "1e300": lambda r, n: [r.random() * 1e300 for _ in range(n)],
    "balanced": lambda r, n: [1.0] * n,
    "balanced reals": lambda r, n: [r.random() for _ in range(n)],
    "class weights": lambda r, n: [float(r.randint(1, 9)) for _ in range(n)],
    "negative": lambda r, n: [1.0] * (n - 1) + [-r.random() - 1e-300],
}


def one_case(number: int) -> Counter[str]:
    """One problem at random, by one learner; AssertionError if it claims what is not so."""
    chance = random.Random(number)
    regime = list(REGIMES)[number % len(REGIMES)]
    n = chance.randint(3, 8)
    X = np.array([[float(chance.randint(0, 3)) for _ in range(2)] for _ in range(n)])
    y = np.array([chance.randint(0, 1) for _ in range(n)])
    y[:2] = [0, 1]
    given = REGIMES[regime](chance, n)
    if regime == "zeros":
        given[:2] = [1.0, 1.0]
    order = chance.sample(range(n), n)
    X, y, given = X[order], y[order], [given[i] for i in order]
    class_weight: Any = None
    if regime.startswith("balanced"):
        class_weight = "balanced"
    elif regime == "class weights":
        class_weight = {0: chance.choice([1, 0.1, 1 / 3]), 1: chance.choice([1e7, 1e-7, 0.7, 1e15])}
    learner, facts = chance.choice(LEARNERS)(chance, class_weight)
    counts = Counter({regime: 1, type(learner).__name__: 1})
    with _records.about(f"{learner}, X={X.tolist()}, y={y.tolist()}, w={given}"):
        if regime == "negative":
            assert_refused(learner, X, y, given)
            return counts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)
            try:
                learner.fit(X, y, sample_weight=given)
            except DataError as refused:
                counts[f"refused: {str(refused)[:12]}"] += 1
                return counts
        facts(learner, Rows(X, y, *read(learner, y, given)))
    counts[str(learner.status_)] += 1
    return counts


def assert_refused(learner: Any, X: Any, y: Any, weights: list[float]) -> None:
    """A negative weight is a ValueError in words."""
    with pytest.raises(ValueError, match="negative"):
        learner.fit(X, y, sample_weight=weights)


def read(learner: Any, y: Any, given: list[float]) -> tuple[list[Fraction], bool]:
    """The weights of the rows, as the documentation says that they are read, and whether the search rounds them."""
    weights = np.asarray(given)
    if learner.class_weight is not None:
        weights = learner._row_weights(np.array([0, 1]), y, weights)
    told = integer_weights(weights, weights.size)
    if told.rounding is not None:
        return [Fraction(float(weight)) for weight in weights], True
    fractions = [int(value) * told.unit for value in told.values]
    assert [float(f) for f in fractions] == weights.tolist(), "a weight was changed in silence"
    return fractions, False


class Rows:
    """Rows, labels and exact weights, with what enumeration says of them."""

    def __init__(self, X: Any, y: Any, weights: list[Fraction], rounded: bool) -> None:
        self.kept = [i for i, weight in enumerate(weights) if weight > 0]
        self.X, self.y, self.weights = X, y.tolist(), weights
        self.rounded = rounded
        self.total = sum(weights, Fraction(0))
        everything = frozenset(self.kept)
        sides = {
            frozenset(i for i in self.kept if X[i, j] <= cut)
            for j in range(X.shape[1])
            for cut in {X[i, j] for i in self.kept}
        }
        self.tests = [side for side in sides if side != everything]

    def minority(self, rows: frozenset[int]) -> Fraction:
        """Weight that a leaf gets wrong."""
        ones = sum((self.weights[i] for i in rows if self.y[i] == 1), Fraction(0))
        zeros = sum((self.weights[i] for i in rows if self.y[i] == 0), Fraction(0))
        return min(ones, zeros)

    def wrong(self, learner: Any) -> Fraction:
        """Weight of the rows that a model gets wrong."""
        predicted = learner.predict(self.X)
        return sum((self.weights[i] for i in self.kept if predicted[i] != self.y[i]), Fraction(0))

    def best(self, depth: int, price: Fraction) -> Fraction:
        """Least cost of a tree within ``depth`` where each split costs ``price``."""
        return self.searcher(price)(frozenset(self.kept), depth)

    def searcher(self, price: Fraction) -> Callable[[frozenset[int], int], Fraction]:
        @cache
        def best(rows: frozenset[int], depth: int) -> Fraction:
            least = self.minority(rows)
            if depth:
                for test in self.tests:
                    low, high = rows & test, rows - test
                    if low and high:
                        least = min(least, price + best(low, depth - 1) + best(high, depth - 1))
            return least

        return best

    def best_of_tests(self, most: int) -> Fraction:
        """Fewest errors of any function of at most ``most`` tests."""
        least = self.minority(frozenset(self.kept))
        for size in range(1, most + 1):
            for tests in itertools.combinations(self.tests, size):
                cells: dict[tuple[bool, ...], set[int]] = {}
                for i in self.kept:
                    cells.setdefault(tuple(i in test for test in tests), set()).add(i)
                least = min(least, sum((self.minority(frozenset(c)) for c in cells.values()), Fraction(0)))
        return least


def assert_claims(learner: Any, cost: Fraction, optimum: Fraction, total: Fraction, *, proves: bool = True) -> None:
    """Objective, bound, status and trace of a learner, against its true cost and the true optimum."""
    assert learner.objective_ == float(cost), f"objective {learner.objective_!r}, counted {float(cost)!r}"
    assert Fraction(learner.lower_bound_) <= optimum or (
        learner.status_ == "optimal" and learner.lower_bound_ == float(optimum)
    ), f"bound {learner.lower_bound_!r}, optimum {float(optimum)!r}"
    if learner.status_ == "optimal":
        assert cost == optimum, f"optimal with {float(cost)!r}, possible is {float(optimum)!r}"
        assert learner.lower_bound_ == learner.objective_
    elif proves:
        assert learner.status_ == "within_gap", learner.status_
        assert cost - optimum <= total / 2**40, f"within the rounding, with {float(cost)!r} for {float(optimum)!r}"
    for event in learner.trace_:
        assert event.lower_bound <= float(optimum) <= event.objective, event


def tree(chance: random.Random, class_weight: Any) -> tuple[Any, Any]:
    depth, alpha = chance.randint(0, 2), chance.choice([0.0, 0.0, 0.05, 1 / 3, 0.012345678901234567])
    learner = OptimalTreeClassifier(depth, alpha=alpha, class_weight=class_weight)

    def facts(fitted: Any, rows: Rows) -> None:
        price = fraction(alpha) * rows.total
        cost = rows.wrong(fitted) + price * (fitted.model_.n_leaves - 1)
        assert_claims(fitted, cost, rows.best(depth, price), rows.total)

    return learner, facts


def minimal(chance: random.Random, class_weight: Any) -> tuple[Any, Any]:
    most = chance.choice([0, 1, 5])
    engine = chance.choice(["search", "search" if most else "paper"])
    learner = MinimalTreeClassifier(chance.choice(["depth", "nodes"]), max_errors=most, engine=engine, time_limit=None)

    def facts(fitted: Any, rows: Rows) -> None:
        assert rows.wrong(fitted) <= most, "wrong on more than is permitted"
        depth = next(d for d in range(9) if rows.best(d, Fraction(0)) <= most)
        told = fitted.result_.part("depth")
        assert told.lower_bound <= depth <= told.objective, (told, depth)
        if not rows.rounded or most == 0:  # rounding may leave open which of two depths is possible
            assert fitted.status_ == "optimal", fitted.status_
        if fitted.status_ == "optimal":
            assert told.objective == depth

    return learner, facts


def bdd(chance: random.Random, class_weight: Any) -> tuple[Any, Any]:
    most = chance.randint(0, 2)
    variant = chance.choice([None, "maxsat", "heuristic", "greedy"])
    engine = "search" if variant is None else "paper"
    learner = OptimalBDDClassifier(most, engine=engine, variant=variant, class_weight=class_weight, time_limit=None)

    def facts(fitted: Any, rows: Rows) -> None:
        proves = fitted.variant not in ("heuristic", "greedy")
        assert_claims(fitted, rows.wrong(fitted), rows.best_of_tests(most), rows.total, proves=proves)

    return learner, facts


def diagram(chance: random.Random, class_weight: Any) -> tuple[Any, Any]:
    widths, alpha = chance.choice([(1,), (1, 2)]), chance.choice([0.0, 0.1])
    engines = ["auto", "search", "paper", "heuristic"]
    learner = OptimalDiagramClassifier(
        widths, alpha=alpha, engine=chance.choice(engines), class_weight=class_weight, time_limit=2.0
    )

    def facts(fitted: Any, rows: Rows) -> None:
        price = fraction(alpha) * rows.total / max(1, sum(widths) - 1)
        cost = rows.wrong(fitted) + price * max(0, fitted.model_.n_splits - 1)
        free = rows.best(len(widths), price)  # the root is free
        below = rows.searcher(price)
        everything = frozenset(rows.kept)
        roots = [
            below(everything & test, len(widths) - 1) + below(everything - test, len(widths) - 1)
            for test in rows.tests
            if everything & test and everything - test
        ]
        optimum = min([free, *roots])
        proves = fitted.result_.stats.stopped_by is None and fitted.engine in ("auto", "search")
        assert_claims(fitted, cost / rows.total, optimum / rows.total, Fraction(1), proves=proves)

    return learner, facts


LEARNERS = (tree, tree, minimal, bdd, diagram)


def fraction(alpha: float) -> Fraction:
    """A share as it is read: a simple fraction, or the decimal that it shows."""
    simple = Fraction(alpha).limit_denominator(10**7)
    return simple if float(simple) == alpha else Fraction(repr(alpha))
