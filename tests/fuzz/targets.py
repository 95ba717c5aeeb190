"""Learners of every target with options drawn at random, against enumeration of every tree.

A case is a table with gaps and text, weights, a target and what a leaf costs: squared error, deviances, survival times,
rewards (with budgets), log loss, Gini impurity, balanced errors, cost matrices and costs per row. Of a tiny table every
tree is counted in fractions. Of all, the claims must fit together: a recount row by row, the trace, the same model from
a file, from a pickle, with other threads, and from its Python export; limits must be kept, and the size that
cross-validation chooses must be the one that its scores say.
"""

from __future__ import annotations

import pickle
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import proofwood
from proofwood.exceptions import DataError, OptimalityWarning
from proofwood.model.node_table import LEAF
from tests import naive_targets
from tests.fuzz import _records

CLOSE = Fraction(1, 10**11)
"""What sums and logarithms may be off, as a share of what a single leaf costs."""
GAP = Fraction(1, 10**6)
"""The widest gap of a completed search, as a share of the same."""
LATE = 1.5
"""CPU seconds beyond its limit after which a fit counts as late."""
Rows = frozenset[int]


class WrongClaimError(Exception):
    """An answer that contradicts a count."""


def require(holds: Any, text: str) -> None:
    """Raise with ``text`` unless ``holds``."""
    if not holds:
        raise WrongClaimError(text)


@dataclass
class Case:
    """What is asked.

    Parameters
    ----------
    kind : what a leaf costs
    X : the table
    y : the target, in the form of the learner
    weights : of the rows, or None
    options : parameters of the learner
    more : further arguments of ``fit``
    cost : function of rows, the cost of a leaf; None if trees are not counted one by one
    blur, noise : what depends on whether numbers of 17 digits are read as decimals or as float64: share of a cost, cost
    """

    kind: str
    learner: type[Any]
    X: pd.DataFrame
    y: Any
    weights: np.ndarray | None
    options: dict[str, Any]
    more: dict[str, Any] = field(default_factory=dict)
    cost: Callable[[list[int]], Fraction] | None = None
    blur: Fraction = Fraction(0)
    noise: Fraction = Fraction(0)

    def __str__(self) -> str:
        """All that ``fit`` is given."""
        y = self.y.tolist() if hasattr(self.y, "tolist") else self.y
        weights = None if self.weights is None else self.weights.tolist()
        more = {name: np.asarray(value).tolist() for name, value in self.more.items()}
        return (
            f"{self.learner.__name__} {self.kind} {self.options}, X={self.X.to_dict('list')}, y={y}, "
            f"sample_weight={weights}, {more}"
        )

    def fitted(self, **options: Any) -> Any:
        """The learner, fitted with the options of the case and further ones."""
        learner = self.learner(**{**self.options, **options})
        weights = {} if self.weights is None else {"sample_weight": self.weights}
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", OptimalityWarning)
            warnings.simplefilter("ignore", proofwood.DataWarning)
            return learner.fit(self.X, self.y, **weights, **self.more)


# ------------------------------------------------------------------------------------------------------------- drawing


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Columns of numbers with ties, gaps and extremes, and of text."""
    columns: dict[str, Any] = {}
    for k in range(int(rng.integers(1, 4))):
        shape = rng.integers(0, 6)
        if shape == 0:
            values: Any = rng.choice(np.array(["a", "b", "c", "d"][: int(rng.integers(2, 5))], dtype=object), n)
        elif shape == 1:
            values = rng.normal(size=n).round(2)
        elif shape == 2:
            values = rng.choice([0.1, 0.2, 0.30000000000000004, 0.3, 1e300, -1e300, 5e-324], n)
        else:
            values = rng.integers(0, int(rng.choice([2, 4, 50])), n).astype(np.float64)
        if rng.random() < 0.3:
            gone = rng.random(n) < 0.25
            values = np.where(gone, None, values) if values.dtype == object else np.where(gone, np.nan, values)
        columns[f"c{k}"] = values
    return pd.DataFrame(columns)


def weights_of(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Weights of one of several regimes."""
    regime = rng.integers(0, 8)
    if regime < 4:
        return None
    if regime == 4:
        return rng.integers(1, 6, n).astype(np.float64)
    if regime == 5:
        return np.concatenate([[1.0], rng.integers(0, 3, n - 1)]).astype(np.float64)
    if regime == 6:
        return rng.random(n) + 0.01
    return rng.choice([1e-6, 1.0, 3.7, 1e6], n)


def numbers_of(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of few and of many digits, also far from 0."""
    shape = rng.integers(0, 6)
    if shape == 0:
        return rng.integers(-3, 4, n).astype(np.float64)
    if shape == 1:
        return rng.normal(size=n)
    if shape == 2:
        return 1e9 + rng.integers(0, 5, n) / 10
    if shape == 3:
        return rng.normal(size=n).round(2) * 10.0 ** float(rng.integers(-30, 30))
    return (10 * rng.normal(size=n)).round(1)


def draw(rng: np.random.Generator) -> Case:
    """A case."""
    n = int(rng.integers(1, 9) if rng.random() < 0.8 else rng.integers(20, 150))
    X, weights = table(rng, n), weights_of(rng, n)
    options: dict[str, Any] = {"max_depth": int(rng.integers(0, 3)), "min_samples_level": 1, "time_limit": 60.0}
    options["alpha"] = float(rng.choice([0.0, 0.0, 0.05, 1 / 3]))
    options["min_samples_leaf"] = int(rng.choice([1, 1, 2, 3]))
    options["min_weight_fraction_leaf"] = float(rng.choice([0.0, 0.0, 0.0, 0.2]))
    options["max_gap"] = float(rng.choice([0.0, 0.0, 0.0, 0.1]))
    if rng.random() < 0.1:
        options["threshold_rule"] = "midpoint"
    kind = str(rng.choice(list(KINDS)))
    return KINDS[kind](kind, rng, X, weights, options)


def exact(weights: np.ndarray | None, n: int) -> list[Fraction]:
    """The weights as fractions."""
    return [Fraction(1)] * n if weights is None else [decimal(one) for one in weights]


def decimal(value: float) -> Fraction:
    """The number that a float64 shows, which is how targets and weights are read."""
    return Fraction(repr(float(value)))


def _regression(kind: str, rng: np.random.Generator, X: Any, weights: Any, options: dict[str, Any]) -> Case:
    n = len(X)
    y, told = numbers_of(rng, n), exact(weights, n)
    if kind == "poisson":
        y = rng.poisson(2.0, n).astype(np.float64) if rng.random() < 0.6 else np.abs(y)
    elif kind == "gamma":
        y = np.abs(y) + float(rng.choice([0.5, 1e-3])) * float(np.abs(y).max() or 1.0)
    one = [[decimal(value)] for value in y]

    def squared(rows: list[int]) -> Fraction:
        return naive_targets.squared_error(one, told, rows)

    def poisson(rows: list[int]) -> Fraction:
        return 2 * naive_targets.deviance([(told[i], told[i] * one[i][0]) for i in range(n)], rows)

    def gamma(rows: list[int]) -> Fraction:
        whole = sum((told[i] for i in rows), Fraction(0))
        total = sum((told[i] * one[i][0] for i in rows), Fraction(0))
        own = sum((told[i] * naive_targets.log_of(one[i][0]) for i in rows), Fraction(0))
        return 2 * (whole * naive_targets.log_of(total / whole) - own)

    cost = {"squared_error": squared, "poisson": poisson, "gamma": gamma}[kind]
    apart = np.diff(np.unique(y)).min(initial=np.inf)
    blur = Fraction(float(np.abs(y).max() / apart)) / 2**48
    return Case(
        kind, proofwood.OptimalTreeRegressor, X, y, weights, {**options, "criterion": kind}, cost=cost, blur=blur
    )


def _survival(kind: str, rng: np.random.Generator, X: Any, weights: Any, options: dict[str, Any]) -> Case:
    n, told = len(X), exact(weights, len(X))
    times = rng.integers(1, 9, n) * 0.5 if rng.random() < 0.5 else rng.exponential(size=n) + 1e-3
    events = rng.random(n) < rng.random()
    pairs = [(told[i] * decimal(times[i]), told[i] * int(events[i])) for i in range(n)]

    def cost(rows: list[int]) -> Fraction:
        return 2 * naive_targets.deviance(pairs, rows)

    return Case(kind, proofwood.OptimalSurvivalTree, X, np.column_stack([times, events]), weights, options, cost=cost)


def _policy(kind: str, rng: np.random.Generator, X: Any, weights: Any, options: dict[str, Any]) -> Case:
    n, told = len(X), exact(weights, len(X))
    rewards = np.column_stack([numbers_of(rng, n) for _ in range(int(rng.integers(1, 4)))])
    numbers = [[decimal(value) for value in row] for row in rewards]
    if rewards.shape[1] == 1:  # what a treatment adds
        numbers = [[Fraction(0), *row] for row in numbers]

    def cost(rows: list[int]) -> Fraction:
        return naive_targets.lost_reward(numbers, told, rows)

    limited = rng.random() < 0.2 and rewards.shape[1] > 1
    if limited:
        options = {**options, "budget": float(rng.choice([0.0, 0.3, 0.7])), "max_gap": 0.0}
        options["min_samples_action"] = int(rng.choice([1, 1, 2]))
    found = Case(kind, proofwood.OptimalPolicyTree, X, rewards, weights, options)
    found.cost = None if limited else cost  # budgets: tests.naive_policies
    found.noise = sum(told, Fraction(0)) * Fraction(float(np.abs(rewards).max())) / 2**48
    return found


def _shares(kind: str, rng: np.random.Generator, X: Any, weights: Any, options: dict[str, Any]) -> Case:
    n, told = len(X), exact(weights, len(X))
    y = rng.integers(0, int(rng.integers(2, 5)), n)
    codes = np.unique(y[np.array([w > 0 for w in told])], return_inverse=True)
    place = {int(label): k for k, label in enumerate(codes[0])}
    of_class = [[told[i] if place.get(int(y[i])) == k else Fraction(0) for k in range(len(place))] for i in range(n)]
    cost = naive_targets.log_loss if kind == "log_loss" else naive_targets.gini
    return Case(
        *(kind, proofwood.OptimalTreeClassifier, X, y, weights, {**options, "criterion": kind}),
        cost=lambda rows: cost(of_class, rows),
    )


def _balanced(kind: str, rng: np.random.Generator, X: Any, weights: Any, options: dict[str, Any]) -> Case:
    y = rng.integers(0, int(rng.integers(2, 4)), len(X))
    return Case(kind, proofwood.OptimalTreeClassifier, X, y, weights, {**options, "criterion": kind})


def _matrix(kind: str, rng: np.random.Generator, X: Any, weights: Any, options: dict[str, Any]) -> Case:
    n, told = len(X), exact(weights, len(X))
    y = np.concatenate([np.arange(2), rng.integers(0, int(rng.integers(2, 4)), n)])[:n]
    rng.shuffle(y)
    labels, codes = np.unique(y, return_inverse=True)
    matrix = rng.integers(-3, 9, (labels.size, labels.size)) / float(rng.choice([1, 10]))
    if rng.random() < 0.6:
        np.fill_diagonal(matrix, 0.0)
        matrix = np.abs(matrix)
    given: dict[str, Any] = {"cost_matrix": matrix}
    of_rows, more = matrix[codes], {}
    if kind == "row_costs":
        of_rows = rng.normal(size=(n, labels.size)).round(int(rng.integers(0, 4)))
        given, more = {}, {"costs": of_rows}
    numbers = [[decimal(value) for value in row] for row in of_rows]

    def cost(rows: list[int]) -> Fraction:
        lost = [[-value for value in row] for row in numbers]
        return naive_targets.lost_reward(lost, told, rows)

    return Case(kind, proofwood.OptimalTreeClassifier, X, y, weights, {**options, **given}, more, cost)


KINDS: dict[str, Callable[..., Case]] = {
    "squared_error": _regression,
    "poisson": _regression,
    "gamma": _regression,
    "survival": _survival,
    "policy": _policy,
    "log_loss": _shares,
    "gini": _shares,
    "balanced_accuracy": _balanced,
    "cost_matrix": _matrix,
    "row_costs": _matrix,
}


# -------------------------------------------------------------------------------------------------------- enumeration


def tests_of(X: pd.DataFrame, kept: Rows) -> list[Rows]:
    """The rows on one side of every test: cuts with gaps on either side, sets of levels, and gaps alone."""
    found: set[Rows] = set()
    for name in X.columns:
        column = X[name]
        there = frozenset(i for i in kept if not pd.isna(column[i]))
        if column.dtype == object or str(column.dtype).startswith("str"):
            levels = sorted({column[i] for i in there})
            some = chain.from_iterable(combinations(levels, size) for size in range(len(levels) + 1))
            sides: Iterator[Rows] = (frozenset(i for i in there if column[i] in chosen) for chosen in some)
        else:
            sides = (frozenset(i for i in there if column[i] <= cut) for cut in {column[i] for i in there})
        for side in sides:
            found |= {side, side | (kept - there)}
        found.add(there)
    return sorted(found, key=sorted)


def least_cost(case: Case, kept: Rows, told: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The cost of a single leaf, and the least cost of a tree with its price of leaves."""
    assert case.cost is not None
    count, options = case.cost, case.options
    alone = count(sorted(kept))
    price = alone * _share(options["alpha"])
    lightest = sum((told[i] for i in kept), Fraction(0)) * _share(options["min_weight_fraction_leaf"])
    tests = tests_of(case.X, kept)

    @cache
    def of_leaf(rows: Rows) -> Fraction:
        return count(sorted(rows))

    def may(rows: Rows) -> bool:
        return len(rows) >= options["min_samples_leaf"] and sum((told[i] for i in rows), Fraction(0)) >= lightest

    @cache
    def best(rows: Rows, depth: int) -> Fraction:
        found = of_leaf(rows)
        for low in tests if depth else ():
            sides = rows & low, rows - low
            if all(sides) and all(map(may, sides)):
                found = min(found, price + best(sides[0], depth - 1) + best(sides[1], depth - 1))
        return found

    return alone, best(kept, options["max_depth"])


def _share(value: float) -> Fraction:
    simple = Fraction(value).limit_denominator(10**7)
    return simple if float(simple) == value else Fraction(repr(value))


# ------------------------------------------------------------------------------------------------------------- checks


def check(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Fit, and count what the fit claims."""
    try:
        model = case.fitted()
    except ValueError as error:
        require(isinstance(error, DataError) or "no action can be given to so many" in str(error), str(error))
        counts["refused"] += 1
        return
    told = exact(case.weights, len(case.X))
    kept = frozenset(i for i, weight in enumerate(told) if weight > 0)
    weights = {} if case.weights is None else {"sample_weight": case.weights}
    recounted = model.recount(case.X, case.y, **weights, **case.more)
    require(recounted == model.objective_, f"recounted {recounted!r}, objective {model.objective_!r}")
    require(model.lower_bound_ <= model.objective_, f"bound {model.lower_bound_!r} above {model.objective_!r}")
    for event in model.trace_:
        require(event.lower_bound <= model.objective_ <= event.objective, f"trace {event}, {model.objective_!r}")
    leaves = model.model_.rows[model.model_.feature == LEAF]
    if leaves.size > 1:
        require(leaves.min() >= case.options["min_samples_leaf"], f"leaves of {leaves.tolist()} rows")
    require(model.model_.depth <= case.options["max_depth"], f"depth {model.model_.depth}")
    if len(case.X) < 10 and case.cost is not None:
        counts["counted"] += 1
        compare(case, model, *least_cost(case, kept, told))
    again(case, model, rng)
    if case.options["max_gap"] == 0 and rng.random() < 0.3:
        other_threads(case, model)
    if case.kind == "policy" and not case.options["alpha"]:
        value, bound = model.value_, model.value_bound_
        require(value <= bound, f"value {value!r} above its bound {bound!r}")
    counts[str(model.status_)] += 1


def compare(case: Case, model: Any, alone: Fraction, best: Fraction) -> None:
    """Objective and bound against the best of all trees."""
    objective, bound = Fraction(model.objective_), Fraction(model.lower_bound_)
    off = (CLOSE + case.blur) * alone + case.noise + Fraction(5, 10**324)
    require(bound <= best + off, f"bound {model.lower_bound_!r}, possible is {float(best)!r}, alone {float(alone)!r}")
    if not model.result_.scope:
        require(objective >= best - off, f"objective {model.objective_!r} below {float(best)!r}")
        permitted = max(_share(case.options["max_gap"]) * alone + GAP * alone, Fraction(model.gap_))
        require(objective <= best + permitted + off, f"objective {model.objective_!r}, possible is {float(best)!r}")
    if str(model.status_) == "optimal" and not model.result_.scope:
        require(objective <= best + off, f"optimal with {model.objective_!r}, possible is {float(best)!r}")


def again(case: Case, model: Any, rng: np.random.Generator) -> None:
    """The same model from a file, from a pickle, and from its export."""
    new = case.X.iloc[rng.integers(0, len(case.X), 20)].reset_index(drop=True)
    said = model.predict(new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        loaded = proofwood.load(path)
    for name, other in (("file", loaded), ("pickle", pickle.loads(pickle.dumps(model)))):
        require(other.model_ == model.model_, f"another model from a {name}")
        require(np.array_equal(other.predict(new), said), f"other predictions from a {name}")
        require(other.objective_ == model.objective_, f"another objective from a {name}")
        require(other.lower_bound_ == model.lower_bound_, f"another bound from a {name}")
    scope: dict[str, Any] = {}
    exec(model.to_python(), scope)
    rows = new.astype(object).where(new.notna(), None).to_dict("records")
    exported = [scope["predict"](row) for row in rows]
    require(exported == said.tolist(), f"exported {exported}, predicted {said.tolist()}")


def other_threads(case: Case, model: Any) -> None:
    """The same model with two threads."""
    other = case.fitted(n_jobs=2)
    require(other.model_ == model.model_, "another model with two threads")
    require(other.objective_ == model.objective_, "another objective with two threads")


def limited(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """A larger table under a time limit that is too short."""
    n = int(rng.integers(2_000, 20_000))
    large = pd.DataFrame(rng.normal(size=(n, 6)).round(3)).rename(columns=str)
    given = {name: value for name, value in case.options.items() if name not in ("time_limit", "cost_matrix")}
    if case.kind in ("cost_matrix", "balanced_accuracy", "log_loss", "gini"):
        y: Any = rng.integers(0, 3, n)
    else:
        y = {
            "policy": lambda: rng.normal(size=(n, 3)),
            "row_costs": lambda: rng.integers(0, 3, n),
            "survival": lambda: np.column_stack([rng.exponential(size=n) + 1e-3, rng.random(n) < 0.6]),
        }.get(case.kind, lambda: rng.gamma(2.0, 1.0, n))()
    more = {"costs": rng.normal(size=(n, 3))} if case.kind == "row_costs" else {}
    if case.kind == "cost_matrix":
        given["cost_matrix"] = rng.integers(0, 9, (3, 3))
    limit = float(rng.choice([0.05, 0.3, 1.0]))
    big = Case(case.kind, case.learner, large, y, None, {**given, "max_depth": 4, "time_limit": limit}, more)
    started = time.process_time()
    try:
        model = big.fitted()
    except (DataError, TimeoutError):
        model = None
    seconds = time.process_time() - started
    require(seconds <= limit + LATE, f"{seconds:.1f} s of CPU at a limit of {limit} s, {n} rows, {case.kind}")
    counts["limited"] += 1
    if model is not None:
        require(model.recount(large, y, **more) == model.objective_, f"recount at a limit, {case.kind}")
        require(0 <= model.lower_bound_ <= model.objective_, f"bound at a limit, {case.kind}")


def chosen(case: Case, counts: Counter[str]) -> None:
    """The size by cross-validation: the tree of the chosen size on all rows, and scores of held-out rows."""
    learners = {
        proofwood.OptimalTreeRegressor: proofwood.OptimalTreeRegressorCV,
        proofwood.OptimalSurvivalTree: proofwood.OptimalSurvivalTreeCV,
    }
    if case.learner not in learners or case.more:
        return
    options = {**case.options, "max_depth": (0, 1, 2), "alpha": (0.0, 0.1), "cv": 3, "rule": "best"}
    if case.learner is proofwood.OptimalSurvivalTree:
        options["scoring"] = "deviance"
    search = Case(case.kind, learners[case.learner], case.X, case.y, case.weights, options)
    try:
        found = search.fitted()
    except ValueError as error:  # a fold without events, or with numbers that a criterion does not take
        require("no candidate has a score" in str(error) or isinstance(error, DataError), str(error))
        return
    one = Case(case.kind, case.learner, case.X, case.y, case.weights, {**case.options, **found.best_params_})
    require(one.fitted().model_ == found.model_, f"another tree than that of {found.best_params_}")
    means = found.cv_results_["mean_test_score"]
    require(means[found.best_index_] == np.nanmax(means), f"chose {found.best_index_} of {means.tolist()}")
    counts["chosen"] += 1


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    case = draw(rng)
    counts: Counter[str] = Counter({case.kind: 1})
    with _records.about(case):
        check(case, rng, counts)
        if len(case.X) >= 20 and rng.random() < 0.3:
            chosen(case, counts)
        if rng.random() < 0.01:
            limited(case, rng, counts)
    return counts
