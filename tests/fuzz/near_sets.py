"""Near-optimal sets of small tables against literal enumeration: numbers, trees, columns, rows, and limits."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from proofwood import near_optimal_trees
from tests import naive_near
from tests.fuzz import _records, _trees
from tests.fuzz._trees import require
from tests.naive import Rows, splits

MOST_TREES = 200_000
"""Trees of a table that are enumerated."""
MOST_READ = 400
"""Trees of a set that are made into models."""
REFUSED = ("are exact: round", "holds categories", "has missing values", "no column")


def draw(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray, Any, dict[str, Any]]:
    """A small table of numbers, and what is asked."""
    depth = int(rng.choice([0, 1, 2, 2, 3]))
    n = int(rng.integers(1, 9 if depth == 3 else 13))
    X = _trees.numbers(rng, n, 2 if depth == 3 else 3)
    if rng.random() < 0.2:
        X["twin"] = X["c0"] * float(rng.choice([1, -1]))
    if rng.random() < 0.1:
        X["day"] = pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 3, n), unit="D")
    kind = int(rng.integers(5))
    weights = None if kind < 2 else np.maximum(rng.integers(-1, 5, n), 0) * float(rng.choice([1, 0.125, 30_000, 0.1]))
    if weights is not None and not weights.any():
        weights = None
    options: dict[str, Any] = {**_trees.minima(rng), "max_depth": depth}
    options |= {"alpha": float(rng.choice([0, 0, 0.05, 0.13, 0.3]))}
    options |= {"slack": [0, 1, 2, 3, 0.05, 0.2, 0.9][int(rng.integers(7))]}
    options |= {"time_limit": float(10 ** rng.uniform(-6, -2)) if rng.random() < 0.1 else 60.0}
    return X, _trees.labels(rng, n), weights, options


def check(near: Any, X: Any, y: Any, weights: Any, rng: np.random.Generator, counts: Counter[str]) -> None:
    """All that a set says, against every tree."""
    near.time_limit = None  # the search was limited; what is asked of its set takes the time that it needs
    problem = near._posed.problem
    if trees_of(problem) > MOST_TREES:
        counts["too large"] += 1
        return
    described = naive_near.plain(problem)
    every = naive_near.trees_and_costs(problem, described, problem.max_depth)
    best = min(every.values())
    budget = best + round(near.slack / near._source.real(1))
    inside = {tree: cost for tree, cost in every.items() if cost <= budget}
    require(near.count == len(inside) or not near.exact, f"{near.count} trees, not {len(inside)}")
    require(near.count <= len(inside), f"{near.count} trees, but there are {len(inside)}")
    require(sum(near.counts.values()) == near.count, f"{near.counts} are not {near.count}")
    require(list(near.counts) == sorted(near.counts), f"{near.counts}")
    counts["trees"] += near.count
    counts["exact" if near.exact else "at least"] += 1
    require(near.exact or "at least" in near.summary() + repr(near), near.summary())
    given = () if weights is None else (weights,)
    seen: dict[Any, float] = {}
    for tree in islice(near, MOST_READ):
        shape = naive_near.as_tree(_over_views(near, tree.model), described, problem.n_rows)
        require(shape in inside and shape not in seen, f"{tree} is none of the set, or comes twice")
        seen[shape] = tree.objective
        require(tree.objective == float(near._source.real(every[shape])), f"{tree} costs something else")
        recounted = tree.classifier.recount(X, y, *given)
        require(abs(recounted - tree.objective) <= 1e-12 * recounted, f"{tree}: recounted {recounted!r}")
        _trees.check_texts(tree.classifier)
    require(list(seen.values()) == sorted(seen.values()), "the trees are not in the order of cost")
    if near.count:
        require(near.sample(2, 0)[1].number < near.count, "a sample from outside")
        small = near.first(lambda tree: tree.n_leaves <= 2, most=10**6) if near.count <= MOST_READ else None
        cheapest = min((cost for tree, cost in inside.items() if not tree or not (tree[2] or tree[3])), default=None)
        if near.exact and near.count <= MOST_READ:
            found = None if small is None else small.objective
            wanted = None if cheapest is None else float(near._source.real(cheapest))
            require(found == wanted, f"the first small tree costs {found}, not {wanted}")
    if near.exact:
        columns(near, every, inside)
        new = np.vstack([problem.X, rng.integers(-2, 12, (2, problem.n_features)) / 2])
        wanted_rows = naive_near.decisions(inside, problem, described, new)
        require(np.array_equal(near._asked(new, None, 60.0).found, wanted_rows), "other decisions")
        require(np.array_equal(near.decisions(), wanted_rows[: len(problem.X)]), "other decisions of training rows")


def trees_of(problem: Any) -> int:
    """The number of trees, those included whose nodes lower no errors."""

    @cache
    def below(rows: Rows, depth: int) -> int:
        sides = splits(problem, rows) if depth else ()
        return 1 + sum(below(low, depth - 1) * below(high, depth - 1) for _, _, low, high in sides)

    return below(frozenset(range(problem.n_rows)), problem.max_depth)


def _over_views(near: Any, model: Any) -> Any:
    place = {view.column: v for v, view in enumerate(near._posed.views.views)}
    return model.changed(feature=np.array([place.get(int(column), -1) for column in model.feature]))


def columns(near: Any, every: dict[Any, int], inside: dict[Any, int]) -> None:
    """What is said of columns."""
    always = []
    for view, name in enumerate(near.columns):
        used = sum(view in naive_near.columns_of(tree) for tree in inside)
        require(near.importance()[name] == used / max(1, len(inside)), f"importance of {name}")
        if inside and used == len(inside):
            always.append(name)
        least = min(cost for tree, cost in every.items() if view not in naive_near.columns_of(tree))
        answer = near.without(name)
        slack = float(near._source.real(least - min(every.values())))
        require(answer.slack == answer.least_slack == slack, f"{answer}, and not {slack}")
        require(answer.possible == (used < len(inside)), f"{answer}, {used} of {len(inside)} trees test it")
        _trees.check_texts(answer.tree)
    if inside:
        require(list(near.always_used()) == always, f"always used: {near.always_used()}, not {always}")


def limited(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A larger table with less time and more."""
    X, y, weights = _trees.larger(rng)
    options: dict[str, Any] = {"max_depth": int(rng.choice([2, 3])), "slack": float(rng.choice([0.001, 0.01]))}
    options |= {"alpha": float(rng.choice([0.0, 0.02])), "sample_weight": weights}
    found = []
    with _records.about(({**options, "sample_weight": weights is not None}, X.shape)):
        for limit in (float(10 ** rng.uniform(-2, -0.3)), 2.0):
            try:
                near = _trees.in_time(lambda limit=limit: near_optimal_trees(X, y, **options, time_limit=limit), limit)
            except (TimeoutError, OverflowError) as error:
                counts[f"limited {type(error).__name__}"] += 1
                continue
            found.append(near)
            counts[f"limited {'exact' if near.exact else 'at least'}"] += 1
            given = () if weights is None else (weights,)
            for tree in near.sample(5, 1) if near.count else ():
                require(tree.classifier.recount(X, y, *given) == tree.objective, f"recount of {tree}")
                require(tree.objective <= near.budget, f"{tree} is beyond the budget")
        if len(found) == 2:
            few, many = found
            require(few.count <= many.count or not many.exact, f"{few.count} trees are more than all, {many.count}")
            require(not few.exact or few.count == many.count or not many.exact, "two exact numbers")


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    counts: Counter[str] = Counter()
    if rng.random() < 0.01:
        limited(rng, counts)
        return counts
    X, y, weights, options = draw(rng)
    told = None if weights is None else weights.tolist()
    with _records.about((X.to_dict("list"), y.tolist(), told, options)), _trees.quiet():
        try:
            near = near_optimal_trees(X, y, sample_weight=weights, **options)
        except TimeoutError:
            require(options["time_limit"] < 60, "a time limit that is long ended it")
            counts["TimeoutError"] += 1
            return counts
        except ValueError as error:
            _trees.refused(error, counts, *REFUSED)
            return counts
        check(near, X, y, weights, rng, counts)
    return counts
