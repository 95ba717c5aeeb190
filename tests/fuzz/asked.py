"""Questions about every tree of a fit: flips, bounds that are carried over, bounds for the population.

Against every tree of small tables, in whole numbers; fits and questions may be stopped.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from proofwood.exceptions import DataError
from tests.fuzz import _records, _trees, targets
from tests.fuzz._trees import Trees, require
from tests.fuzz.targets import Case, Rows

CLOSE = Fraction(1, 10**9)
"""What is lost where objectives are added and subtracted, as a share of the total weight."""
SHORT = 1e-5
"""A limit that no search keeps."""
MOST_ROWS = 7


def draw(rng: np.random.Generator, kind: str) -> Case:
    """A small table and a fit, which may be stopped."""
    n = int(rng.integers(2, MOST_ROWS + 1))
    X = _trees.table(rng, n)
    y = _trees.labels(rng, n)
    options: dict[str, Any] = {"max_depth": int(rng.choice([0, 1, 2, 2])), "n_jobs": int(rng.choice([1, 2]))}
    options["alpha"] = float(rng.choice([0, 0, 0.05, 0.1]))
    options["time_limit"] = float(rng.choice([60.0, 60.0, SHORT]))
    if kind != "population":
        options["min_samples_leaf"] = int(rng.choice([1, 1, 1, 2])) if kind == "flip" else 1
    weights = None if rng.random() < 0.5 else np.maximum(rng.integers(-1, 5, n), 0) / float(rng.choice([1, 4, 10]))
    if kind == "population" or (weights is not None and not weights.any()):
        weights = None
    return _trees.classifier(kind, X, y, weights, options)


def mixed(rng: np.random.Generator, X: pd.DataFrame, kept: Rows, n: int) -> pd.DataFrame:
    """Rows whose values are those of rows that count."""
    source = X.iloc[sorted(kept)]
    picked = {name: source[name].iloc[rng.integers(0, len(source), n)].reset_index(drop=True) for name in X.columns}
    return pd.DataFrame(picked)


# --------------------------------------------------------------------------------------------------------------- flips


def costs_by_class(trees: Trees, row: int, depth: int, price: Fraction) -> dict[int, Fraction]:
    """The least cost of a tree that gives a row each class."""

    @cache
    def best(rows: Rows, left: int) -> tuple[int, ...]:
        """In multiples of the price of a leaf and of units of weight: the least of both together, by class."""
        held = [sum(trees.weights[i] for i in rows if trees.codes[i] == k) for k in range(len(trees.labels))]
        if row in rows:
            found = [Fraction(sum(held) - one) for one in held]
        else:
            found = [Fraction(sum(held) - max(held))]
        for low, high in trees.splits(rows) if left else ():
            one, other = best(low, left - 1), best(high, left - 1)
            asked, rest = (one, other) if row in low else (other, one)
            for k in range(len(found)):
                found[k] = min(found[k], asked[k if row in rows else 0] + rest[0] + unit_price)
        return tuple(found)

    unit_price = price / trees.real(1)
    return {code: trees.real(1) * cost for code, cost in enumerate(best(trees.kept, depth))}


def flip(rng: np.random.Generator, counts: Counter[str]) -> None:
    """What it costs to decide a row otherwise, of training or new."""
    case = draw(rng, "flip")
    with _records.about(case):
        model = case.fitted()
        plain = Trees(case)
        asked = mixed(rng, case.X, plain.kept, 1)
        if rng.random() < 0.5:
            asked = case.X.iloc[[int(rng.choice(sorted(plain.kept)))]].reset_index(drop=True)
        limit = float(rng.choice([60.0, 60.0, SHORT]))
        given = (case.X, case.y) if case.weights is None else (case.X, case.y, case.weights)
        if len(plain.labels) < 2:
            counts["one class"] += 1
            return
        try:
            (found,) = model.flip_cost(asked, *given, time_limit=limit)
        except ValueError as error:
            _trees.refused(error, counts, "can be asked about training rows only")
            return
        before = Fraction(model.recount(*given))
        now = model.predict(asked)[0]
        close = CLOSE * plain.total
        least = least_flip(case, model, asked, plain) - before
        about = (
            f"{found}, {found.cost!r}, bound {found.lower_bound!r}, possible {float(least)!r}, asked {asked.to_dict()}"
        )
        require(found.decision == now != found.other == found.tree.predict(asked)[0], f"no flip: {about}")
        again = Fraction(found.tree.recount(*given)) - before
        require(abs(again - Fraction(found.cost)) <= close, f"recounted {float(again)!r}: {about}")
        require(Fraction(found.lower_bound) <= least + close, f"bound too high: {about}")
        require(Fraction(found.cost) >= least - close, f"cheaper than possible: {about}")
        if str(found.status) == "optimal":
            require(Fraction(found.cost) <= least + close, f"not the cheapest: {about}")
        require(("none costs less" in str(found)) == (str(found.status) == "optimal"), about)
        _trees.check_texts(found.tree)
        counts[f"flip {found.status}"] += 1


def least_flip(case: Case, model: Any, asked: pd.DataFrame, plain: Trees) -> Fraction:
    """The least cost of a tree that gives a row another class than the model does."""
    row, trees = None, plain
    names = [name for j, name in enumerate(case.X.columns) if j not in model.schema_.left_out]
    for i in sorted(plain.kept):  # a row of training keeps its place
        if all(_alike(case.X[name][i], asked[name][0]) for name in names):
            row = i
            break
    if row is None:  # a new one is a further row, of no weight
        X = pd.concat([case.X, asked], ignore_index=True).astype(case.X.dtypes.to_dict())
        row = len(case.X)
        trees = Trees(_with(case, X[names]))
    elif len(names) < len(case.X.columns):
        trees = Trees(_with(case, case.X[names]))
    now = trees.labels.index(model.predict(asked)[0])
    price = targets._share(case.options["alpha"]) * plain.total
    found = costs_by_class(trees, row, case.options["max_depth"], price)
    return min(cost for code, cost in found.items() if code != now)


def _with(case: Case, X: pd.DataFrame) -> Case:
    """The case with other columns, or with a further row."""
    return replace(case, X=X)


def _alike(one: Any, other: Any) -> bool:
    return bool(one == other) or bool(pd.isna(one) and pd.isna(other))


# -------------------------------------------------------------------------------------------------- tables that change


def carry(rng: np.random.Generator, counts: Counter[str]) -> None:
    """The bound of an old fit for a table that has changed."""
    case = draw(rng, "carry")
    with _records.about(case):
        model = case.fitted()
        old = Trees(case)
        names = [name for j, name in enumerate(case.X.columns) if j not in model.schema_.left_out]
        n = len(case.X)
        stay = [i for i in range(n) if rng.random() < 0.7 and i in old.kept]
        more = int(rng.integers(0 if stay else 1, MOST_ROWS - len(stay) + 1))
        X = pd.concat([case.X.iloc[stay], mixed(rng, case.X, old.kept, more)], ignore_index=True)
        X = X.astype(case.X.dtypes.to_dict())
        y = np.concatenate([case.y[stay], rng.choice(old.labels, more)])
        for i in np.flatnonzero(rng.random(len(y)) < 0.15).tolist():
            y[i] = rng.choice(old.labels)
        weights = None
        if case.weights is not None:
            weights = np.concatenate([case.weights[stay], rng.integers(1, 4, more) * 1.0])
        before = (case.X, case.y) if case.weights is None else (case.X, case.y, case.weights)
        told: Any = model.fingerprints(*before) if rng.random() < 0.5 else before
        found = model.carry_over(X, y, weights, before=told)
        new = _trees.classifier("carried", X[names], y, weights, case.options)
        trees = Trees(new)
        price = targets._share(case.options["alpha"]) * trees.total
        least, close = trees.least(case.options["max_depth"], price), CLOSE * trees.total
        about = (
            f"{found}, {found.objective!r}, bound {found.lower_bound!r}, possible {float(least)!r}, {X.to_dict('list')}"
        )
        about += f", {y.tolist()}, {None if weights is None else weights.tolist()}"
        require(Fraction(found.lower_bound) <= least + close, f"bound too high: {about}")
        require(Fraction(found.objective) >= least - close, f"better than possible: {about}")
        if str(found.status) == "optimal":
            require(Fraction(found.objective) <= least + close, f"not optimal: {about}")
        require(("no tree has less" in str(found)) == (str(found.status) == "optimal"), about)
        again = Fraction(model.recount(X, y) if weights is None else model.recount(X, y, weights))
        require(abs(again - Fraction(found.objective)) <= close, f"recounted {float(again)!r}: {about}")
        counts[f"carry {found.status}"] += 1


# ----------------------------------------------------------------------------------------------------------- population


def population(rng: np.random.Generator, counts: Counter[str]) -> None:
    """The exact limit of a binomial number of errors, from a bound that all trees keep."""
    case = draw(rng, "population")
    with _records.about(case):
        model = case.fitted()
        confidence = float(rng.choice([0.5, 0.9, 0.95, 0.999]))
        rival = _Rival(rng.choice(case.y))
        test = len(case.y)
        try:
            found = model.population_bound(confidence, rival=rival, X_test=case.X, y_test=case.y)
        except ValueError as error:
            _trees.refused(
                error, counts, "columns were left out", "gets every test row wrong", "which tests were considered"
            )
            return
        trees = Trees(case)
        least = trees.least(case.options["max_depth"], Fraction(0))
        about = f"{found}, {found.errors} errors, possible {float(least)}"
        require(found.errors <= least, f"too many errors: {about}")
        missed = (1 - confidence) / 2
        tail = missed if found.errors == 0 else binom.sf(found.errors - 1, found.rows, found.error)
        require(tail <= missed * (1 + 1e-6), f"a rate that is too high: {about}")
        require(tail >= missed * (1 - 1e-3) and (found.errors or not found.error), f"a rate that is too low: {about}")
        wrong = binom.cdf(found.rival_errors, test, found.rival_error)
        require(wrong <= missed * (1 + 1e-6) or found.rival_errors == test, f"the other rate is too low: {about}")
        alone = model.population_bound(confidence)
        require(alone.error >= found.error and math.isfinite(alone.error), about)
        counts["population"] += 1


@dataclass
class _Rival:
    """A model that gives all rows the same label."""

    label: Any

    def predict(self, X: Any) -> Any:
        """The label, for each row."""
        return np.array([self.label] * len(X))


# ---------------------------------------------------------------------------------------------------------- larger


def limited(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Flips in a larger table with less time and more."""
    X, y, weights = _trees.larger(rng)
    case = _trees.classifier("flip", X, y, weights, {"max_depth": int(rng.integers(2, 4)), "time_limit": 1.0})
    with _records.about((case.options, X.shape, weights is not None)):
        model = _trees.in_time(case.fitted, 1.0)
        given = (X, y) if weights is None else (X, y, weights)
        asked = X.iloc[rng.integers(0, len(X), 2)]
        limit = float(10 ** rng.uniform(-3, -0.5))
        few = _trees.in_time(lambda: model.flip_cost(asked, *given, time_limit=limit), limit)
        many = _trees.in_time(lambda: model.flip_cost(asked, *given, time_limit=2.0), 2.0)
        for one, other in zip(few, many, strict=True):
            slack = 1e-9 * len(X)
            require(one.lower_bound <= other.cost + slack, f"a bound is refuted: {one}, {other}")
            require(other.lower_bound <= one.cost + slack, f"a bound is refuted: {other}, {one}")
            if str(model.status_) == "optimal":
                require(one.cost >= 0 and other.cost >= 0, "a flip that costs less than nothing")
            counts[f"limited flip {one.status}"] += 1


KINDS = (flip, flip, carry, population)


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    counts: Counter[str] = Counter()
    with _trees.quiet():
        try:
            (limited if rng.random() < 0.01 else KINDS[number % len(KINDS)])(rng, counts)
        except DataError as error:
            _trees.refused(error, counts, "no column")
    return counts
