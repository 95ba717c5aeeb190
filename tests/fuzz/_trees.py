"""Tables for trees of classes, every tree of them counted in whole numbers, and what any answer must keep to."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import proofwood
from proofwood.exceptions import DataWarning, OptimalityWarning
from tests.fuzz import targets
from tests.fuzz.targets import Case, Rows, require

CLOSE = Fraction(1, 10**12)
"""Relative error of sums of rounded weights."""
LATE = 1.0
"""Seconds beyond its limit after which a call counts as late."""
MOST_ROWS = 8
"""Rows of a table whose trees are all counted."""


# ------------------------------------------------------------------------------------------------------------- drawing


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Columns with ties, gaps, extremes and text, and at times dates, one value alone, or rows and columns twice."""
    X = targets.table(rng, n)
    if rng.random() < 0.2:
        days = pd.Series(pd.Timestamp("2020-02-28") + pd.to_timedelta(rng.integers(0, 4, n), unit="D"))
        X["day"] = days.where(rng.random(n) < 0.8, pd.NaT) if rng.random() < 0.3 else days
    if rng.random() < 0.1:
        X["one"] = 7.0
    if rng.random() < 0.1:
        X["twin"] = X["c0"]
    if rng.random() < 0.2:
        X = X.iloc[rng.integers(0, max(1, n // 2), n)].reset_index(drop=True)
    return X


def numbers(rng: np.random.Generator, n: int, columns: int = 3) -> pd.DataFrame:
    """A few columns of whole numbers with ties, without gaps."""
    return pd.DataFrame(
        {f"c{k}": rng.integers(0, rng.integers(1, 6), n) * 1.0 for k in range(int(rng.integers(1, columns + 1)))}
    )


def labels(rng: np.random.Generator, n: int, most: int = 3) -> np.ndarray:
    """Classes, at times one of a single row, or the same for all; numbers or text."""
    y = rng.integers(0, int(rng.integers(1, most + 1)), n)
    if rng.random() < 0.2:
        y = (np.arange(n) == rng.integers(n)).astype(np.int64)
    return np.array(["no", "yes", "maybe"])[y] if rng.random() < 0.3 else y


def minima(rng: np.random.Generator) -> dict[str, Any]:
    """What leaves must hold."""
    return {
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 3])),
        "min_weight_fraction_leaf": float(rng.choice([0.0, 0.0, 0.0, 0.2])),
    }


def limits(rng: np.random.Generator) -> dict[str, Any]:
    """Seconds, bytes and threads; now and then too few."""
    seconds = float(10 ** rng.uniform(-6, -2)) if rng.random() < 0.15 else 60.0
    memory = str(rng.choice(["1MB", "64MB", "2GB"])) if rng.random() < 0.05 else None
    return {"time_limit": seconds, "memory_limit": memory, "n_jobs": int(rng.choice([1, 1, 2, 3]))}


def wide(weights: np.ndarray | None) -> bool:
    """Whether weights differ by so many powers of ten that sums of them are rounded."""
    return weights is not None and float(weights.max()) >= 10**3 * float(weights.min())


def unlimited(options: dict[str, Any]) -> bool:
    """Whether :func:`limits` left enough of everything."""
    return options.get("time_limit", 60.0) == 60.0 and options.get("memory_limit") is None


# --------------------------------------------------------------------------------------------------------- every tree


class Trees:
    """All trees of a small table: what they cost by their number of leaves, and which rows they give to a class.

    Parameters
    ----------
    case : the table, with labels, weights and what leaves must hold; a row without a label counts, and has no weight
    balanced : whether classes have the same weight in all
    """

    def __init__(self, case: Case, *, balanced: bool = False) -> None:
        weights = targets.exact(case.weights, len(case.y))
        held_rows = [i for i, weight in enumerate(weights) if weight > 0]
        more = range(len(case.y), len(case.X))
        self.kept = frozenset([*held_rows, *more])
        self.labels = sorted({case.y[i] for i in held_rows})
        self.codes = [self.labels.index(one) if one in self.labels else -1 for one in case.y] + [-1] * len(more)
        weights += [Fraction(0)] * len(more)
        held = [sum(w for w, c in zip(weights, self.codes, strict=True) if c == k) for k in range(len(self.labels))]
        self._people = weights
        if balanced:
            whole = sum(held, Fraction(0)) / len(held)
            weights = [w and w * whole / held[c] for w, c in zip(weights, self.codes, strict=True)]
        self._unit = math.lcm(*(w.denominator for w in weights))
        self.weights = [int(w * self._unit) for w in weights]
        self.total = Fraction(sum(self.weights), self._unit)
        self.lightest = targets._share(case.options.get("min_weight_fraction_leaf", 0.0)) * sum(self.weights)
        self.fewest = case.options.get("min_samples_leaf", 1)
        self.tests = targets.tests_of(case.X, self.kept)
        self._by_leaves: dict[tuple[Rows, int | None], list[int]] = {}
        self._masks: dict[tuple[Rows, int], dict[Rows, int]] = {}

    def weight(self, rows: Rows) -> int:
        """The weight of rows, in the whole units of this table."""
        return sum(self.weights[i] for i in rows)

    def people(self, rows: Rows) -> Fraction:
        """The weight of rows whatever their classes weigh, which rates of groups count."""
        return sum((self._people[i] for i in rows), Fraction(0))

    def real(self, weight: int) -> Fraction:
        """A weight in the unit of the user."""
        return Fraction(weight, self._unit)

    def splits(self, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
        """The two sides of every test whose leaves may hold so little."""
        for low in {rows & test for test in self.tests}:
            sides = low, rows - low
            if all(sides) and all(len(s) >= self.fewest and self.weight(s) >= self.lightest for s in sides):
                yield sides

    def errors(self, rows: Rows) -> int:
        """Weight outside the heaviest class."""
        of_class = Counter[int]()
        for i in rows:
            of_class[self.codes[i]] += self.weights[i]
        return sum(of_class.values()) - max(of_class.values(), default=0)

    def by_leaves(self, depth: int | None, most: int) -> list[Fraction]:
        """The least weight of wrong rows of trees of at most 1, 2, ... leaves."""
        found = self._least(self.kept, depth)
        return [self.real(found[min(leaves, len(found)) - 1]) for leaves in range(1, most + 1)]

    def _least(self, rows: Rows, depth: int | None) -> list[int]:
        key = rows, depth
        if key not in self._by_leaves:
            found = [self.errors(rows)] * max(1, len(rows))
            below = None if depth is None else depth - 1
            for low, high in self.splits(rows) if depth != 0 else ():
                one, other = self._least(low, below), self._least(high, below)
                for a, left in enumerate(one, 1):
                    for b, right in enumerate(other, 1):
                        found[a + b - 1] = min(found[a + b - 1], left + right)
            self._by_leaves[key] = [min(found[: k + 1]) for k in range(len(found))]
        return self._by_leaves[key]

    def least(self, depth: int | None, price: Fraction, most: int | None = None) -> Fraction:
        """The least cost of a tree whose leaves beyond the first have a price."""
        errors = self.by_leaves(depth, len(self.kept) if most is None else most)
        return min(wrong + price * more for more, wrong in enumerate(errors))

    def chosen(self, depth: int) -> dict[Rows, int]:
        """Each set of rows that trees may give to one class of two, with the fewest leaves; leaves give any class."""
        return self._chosen(self.kept, depth)

    def _chosen(self, rows: Rows, depth: int) -> dict[Rows, int]:
        key = rows, depth
        if key not in self._masks:
            found = {rows: 1, frozenset[int](): 1}
            for low, high in self.splits(rows) if depth else ():
                for one, a in self._chosen(low, depth - 1).items():
                    for other, b in self._chosen(high, depth - 1).items():
                        both = one | other
                        found[both] = min(a + b, found.get(both, a + b))
            self._masks[key] = found
        return self._masks[key]

    @cached_property
    def positive(self) -> Rows:
        """The rows of the second class."""
        return frozenset(i for i in self.kept if self.codes[i] == 1)


def weight_of(given: float, total: Fraction) -> Fraction:
    """A gap or a slack as users state it: a whole number is a weight, another one a share of the total weight."""
    return Fraction(given) if isinstance(given, int) else targets._share(given) * total


# ------------------------------------------------------------------------------------------------------------- claims


def below(value: float, most: Fraction) -> bool:
    """Whether a float is at most a number, up to rounding."""
    return Fraction(value) <= most * (1 + CLOSE) + Fraction(5, 10**324)


def same(value: float, other: Fraction) -> bool:
    """Whether a float is a number, up to rounding."""
    return below(value, other) and Fraction(value) >= other * (1 - CLOSE) - Fraction(5, 10**324)


def check_proof(told: Any, least: Fraction, *, gap: Fraction = Fraction(0), finished: bool) -> None:
    """Status, objective and bound of anything that has them, against the least objective of all."""
    objective, bound, status = told.objective_, told.lower_bound_, str(told.status_)
    about = f"{status}, objective {objective!r}, bound {bound!r}, possible {float(least)!r}"
    require(below(bound, least), f"bound too high: {about}")
    require(Fraction(objective) >= least * (1 - CLOSE) - Fraction(5, 10**324), f"better than possible: {about}")
    require(bound <= objective, f"bound above the objective: {about}")
    require((status == "optimal") == (bound == objective) or status == "within_gap", f"not as its numbers say: {about}")
    if status == "optimal":
        require(below(objective, least), f"not optimal: {about}")
    if status == "within_gap":
        require(below(objective, least * (1 + CLOSE) + gap), f"not within the gap: {about}")
    require(not finished or status != "feasible", f"open without a limit: {about}")


def check_texts(model: Any) -> None:
    """No text says more than is proved."""
    status, said = str(model.status_), model.summary()
    if status != "optimal":
        said = said.replace("splits 0 proved optimal", "splits 0")  # no diagram of any errors has fewer
        require("proved optimal:" not in said and "proved optimal for" not in said, f"{status}: {said}")
    if status == "feasible":
        require("not proved" in said, f"{status}: {said}")
    told = json.loads(json.dumps(model.result_.to_dict(), allow_nan=False))
    for name, value in (("status", status), ("objective", model.objective_), ("lower_bound", model.lower_bound_)):
        require(told[name] == value, f"JSON says {name} {told[name]!r}, not {value!r}")
    model.export_text()


def check_model(case: Case, model: Any, rng: np.random.Generator) -> None:
    """A recount, limits of the tree, its texts, and the same model from a file, a pickle and an export."""
    weights = {} if case.weights is None else {"sample_weight": case.weights}
    recounted = model.recount(case.X, case.y, **weights)
    require(recounted == model.objective_, f"recounted {recounted!r}, objective {model.objective_!r}")
    ends = model.model_.feature < 0
    if ends.sum() > 1:
        least = case.options.get("min_samples_leaf", 1)
        require(model.model_.rows[ends].min() >= least, f"leaves of {model.model_.rows[ends].tolist()} rows")
    depth, leaves = case.options.get("max_depth"), case.options.get("max_leaf_nodes")
    require(depth is None or model.model_.depth <= depth, f"depth {model.model_.depth}")
    require(leaves is None or model.model_.n_leaves <= leaves, f"{model.model_.n_leaves} leaves")
    for event in model.trace_:
        require(event.lower_bound <= model.objective_ <= event.objective, f"trace {event}, {model.objective_!r}")
    check_texts(model)
    targets.again(case, model, rng)


# ------------------------------------------------------------------------------------------------------------- limits


@dataclass
class Clock:
    """Seconds of a call: of the processor, or of the wall if these are fewer."""

    seconds: float = math.nan


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings of numpy are errors; those about data and open proofs are expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", OptimalityWarning)
        warnings.simplefilter("ignore", DataWarning)
        yield


def in_time(call: Callable[[], Any], limit: float | None) -> Any:
    """What a call returns; it must be back in time."""
    wall, cpu = time.monotonic(), time.process_time()
    with quiet():
        found = call()
    took = min(time.monotonic() - wall, time.process_time() - cpu)
    require(limit is None or took <= limit + LATE, f"{took:.1f} s for a limit of {limit} s")
    return found


def larger(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
    """A table on which a short limit ends most searches."""
    n = int(10 ** rng.uniform(1.5, 3.7))
    X = pd.DataFrame(rng.normal(size=(n, int(rng.integers(2, 6)))).round(int(rng.integers(0, 3)))).rename(columns=str)
    y = (X["0"] + X["1"] * rng.normal(size=n) > rng.normal()).to_numpy(np.int64, copy=True)
    y[:2] = 0, 1
    return X, y, rng.integers(0, 4, n) + 1.0 if rng.random() < 0.3 else None


def short_and_long(fit: Callable[[float], Any], rng: np.random.Generator, counts: Counter[str]) -> tuple[Any, Any]:
    """Two answers to the same question, with less and more time; the claims of both must go together."""
    limit = float(10 ** rng.uniform(-3, -0.3))
    one = in_time(lambda: fit(limit), limit)
    other = in_time(lambda: fit(2.0), 2.0)
    for short in (one, other):
        check_texts(short)
        counts[f"limited {short.status_}"] += 1
    about = f"{limit:.4f} s: {one.result_.to_dict()}, 2 s: {other.result_.to_dict()}"
    require(one.lower_bound_ <= other.objective_ * (1 + 1e-12), f"the bound of less time is refuted, {about}")
    require(other.lower_bound_ <= one.objective_ * (1 + 1e-12), f"the bound of more time is refuted, {about}")
    if {str(one.status_), str(other.status_)} == {"optimal"}:
        require(math.isclose(one.objective_, other.objective_, rel_tol=1e-12), f"two optima, {about}")
    return one, other


def refused(error: ValueError, counts: Counter[str], *permitted: str) -> None:
    """Count a refusal for one of these reasons; any other one is raised."""
    for why in permitted:
        if why in str(error):
            counts[f"refused: {why}"] += 1
            return
    raise error


def classifier(kind: str, X: Any, y: Any, weights: Any, options: dict[str, Any], **more: Any) -> Case:
    """A case of :class:`OptimalTreeClassifier`, whose levels are not pooled."""
    options = {"max_gap": 0, "min_samples_level": 1, **options}
    return Case(kind, proofwood.OptimalTreeClassifier, X, y, weights, options, more)
