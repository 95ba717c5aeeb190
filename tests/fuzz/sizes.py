"""Trees of every depth, of few leaves, and paths by leaves, against every tree of small tables.

Harder and easier questions are compared: more leaves or a greater depth never cost more.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from proofwood import OptimalTreeClassifier, optimal_tree_path
from proofwood.result import Status
from tests.fuzz import _records, _trees, targets
from tests.fuzz._trees import Trees, below, require, same
from tests.fuzz.targets import Case

MOST_LEAVES = 17


def draw(rng: np.random.Generator) -> Case:
    """A small table, and limits of depth, leaves, or neither."""
    n = int(rng.integers(1, _trees.MOST_ROWS + 1))
    options: dict[str, Any] = {**_trees.minima(rng), **_trees.limits(rng)}
    kind = str(rng.choice(["any depth", "few leaves", "path"]))
    options["max_depth"] = None if kind == "any depth" else int(rng.integers(0, 4))
    options["alpha"] = float(rng.choice([0.001, 0.01, 0.05, 0.1, 1 / 3, 1.0]))
    if kind == "few leaves":
        options["max_leaf_nodes"] = int(rng.integers(1, MOST_LEAVES + 1))
        options["max_depth"] = None if rng.random() < 0.4 else options["max_depth"]
        options["alpha"] *= rng.random() < 0.5
    if kind != "path":
        options["criterion"] = str(rng.choice(["errors", "errors", "balanced_accuracy"]))
        options["max_gap"] = [0, 0, 0, 1, 0.1][int(rng.integers(5))]
    return _trees.classifier(kind, _trees.table(rng, n), _trees.labels(rng, n), targets.weights_of(rng, n), options)


def check_fit(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """A fit against the least cost of all trees, and against fits of other sizes."""
    options = case.options
    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, Any] = {}
        if case.kind == "any depth" and rng.random() < 0.1:
            given["checkpoint"] = Path(folder) / "search"
        model = case.fitted(**given)
        if given:
            again = case.fitted(**given, time_limit=60.0)
            require(again.lower_bound_ >= model.lower_bound_, "a search that went on has a lower bound")
            require(again.objective_ <= model.objective_, "a search that went on has a worse tree")
            counts["went on"] += 1
    trees = Trees(case, balanced=options["criterion"] == "balanced_accuracy")
    price = targets._share(options["alpha"]) * trees.total
    gap = (
        options["max_gap"] if isinstance(options["max_gap"], int) else targets._share(options["max_gap"]) * trees.total
    )
    leaves = options.get("max_leaf_nodes")
    least = trees.least(options["max_depth"], price, leaves)
    finished = _trees.unlimited(options)
    rounding = targets.GAP * trees.total if not options["max_gap"] and _trees.wide(case.weights) else 0
    _trees.check_proof(model, least, gap=gap + rounding, finished=finished)
    _trees.check_model(case, model, rng)
    if finished and leaves is None and not options["max_gap"] and rng.random() < 0.2:
        targets.other_threads(case, model)
    counts[f"{case.kind} {model.status_}"] += 1


def check_path(case: Case, counts: Counter[str]) -> None:
    """Every number of leaves of a path, and prices between them."""
    options = {
        name: value for name, value in case.options.items() if name not in ("alpha", "max_gap", "min_samples_level")
    }
    most = min(2 ** options["max_depth"], MOST_LEAVES)
    with _trees.quiet():
        path = optimal_tree_path(case.X, case.y, sample_weight=case.weights, **options)
    trees = Trees(case)
    least = trees.by_leaves(options["max_depth"], most)
    require(len(path) == most, f"{len(path)} numbers of leaves, not {most}")
    for tree, wrong in zip(path, least, strict=True):
        about = f"{tree}, possible {float(wrong)!r}"
        require(below(tree.lower_bound, wrong) and Fraction(tree.objective) >= wrong * (1 - _trees.CLOSE), about)
        require(tree.status is not Status.OPTIMAL or same(tree.objective, wrong), f"not optimal: {about}")
        require(tree.n_leaves <= tree.leaves, about)
        require(
            not _trees.unlimited(options) or tree.status is Status.OPTIMAL or not path._posed.problem.cost.exact,
            f"open: {about}",
        )
        counts[f"leaves {'optimal' if tree.status is Status.OPTIMAL else 'open'}"] += 1
    for one, other in pairwise(path):
        require(
            one.objective >= other.objective and one.lower_bound >= other.lower_bound,
            f"more leaves, worse: {one}, {other}",
        )
    require(
        path.summary().count(", proved") == sum(tree.status is not Status.FEASIBLE for tree in path), path.summary()
    )
    path.to_frame()
    check_prices(case, path, trees, least)


def check_prices(case: Case, path: Any, trees: Trees, least: list[Fraction]) -> None:
    """Trees of the path as fitted classifiers: by leaves, and at prices at which they are said to be the best."""
    weights = () if case.weights is None else (case.weights,)
    for tree in path:
        model = path.at(tree.leaves)
        require(model.recount(case.X, case.y, *weights) == model.objective_ == tree.objective, f"recount of {tree}")
        _trees.check_texts(model)
        for alpha in () if tree.alphas is None else (sum(tree.alphas) / 2,):
            price = Fraction(alpha) * trees.total
            best = min(wrong + price * more for more, wrong in enumerate(least))
            here = Fraction(tree.objective) + price * (tree.n_leaves - 1)
            require(same(float(here), best), f"{tree} is not the best one for {alpha}: {float(best)!r}")
    alpha = float(case.options["alpha"])
    price = targets._share(alpha) * trees.total
    model = path.at(alpha=alpha)
    best = min(wrong + price * more for more, wrong in enumerate(least))
    _trees.check_proof(model, best, finished=False)
    require(model.recount(case.X, case.y, *weights) == model.objective_, f"recount at a price of {alpha}")


def limited(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Less time and more, and a larger depth, on a larger table."""
    X, y, weights = _trees.larger(rng)
    options: dict[str, Any] = {"alpha": float(rng.choice([0.002, 0.01, 0.05])), "max_depth": None}
    if rng.random() < 0.5:
        options |= {"max_leaf_nodes": int(rng.integers(2, 9)), "max_depth": int(rng.integers(2, 5))}
    options["n_jobs"] = int(rng.choice([1, 2]))
    with _records.about((options, len(X), weights is not None)):
        short, long = _trees.short_and_long(
            lambda limit: OptimalTreeClassifier(**options, time_limit=limit).fit(X, y, weights), rng, counts
        )
        for model in (short, long):
            require(model.recount(X, y, weights) == model.objective_, "recount at a limit")
        if options["max_depth"] is None and rng.random() < 0.5:
            deep = _trees.in_time(lambda: OptimalTreeClassifier(2, alpha=options["alpha"]).fit(X, y, weights), None)
            require(
                long.lower_bound_ <= deep.objective_ * (1 + 1e-12), "a bound of every depth above a tree of depth 2"
            )


def path_at_a_limit(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A path with less time and one with more, on a larger table: no bound of either is refuted by a tree."""
    X, y, weights = _trees.larger(rng)
    depth, limit = int(rng.integers(2, 6)), float(10 ** rng.uniform(-2.5, 0.3))
    options = {"max_depth": depth, "n_jobs": int(rng.choice([1, 2])), "sample_weight": weights}
    with _records.about((options, X.shape, limit)):
        paths = [
            _trees.in_time(lambda limit=limit: optimal_tree_path(X, y, **options, time_limit=limit), limit)
            for limit in (limit, 2.0)
        ]
        for trees in zip(*paths, strict=True):
            least = min(tree.objective for tree in trees)
            require(all(tree.lower_bound <= least for tree in trees), f"refuted: {trees}")
            counts["bounded at a limit"] += trees[0].lower_bound > 0
            counts["open at a limit"] += trees[0].status is Status.FEASIBLE
        for path in paths:
            fewer = pairwise(path)
            require(all(one.lower_bound >= other.lower_bound for one, other in fewer), f"more leaves: {list(path)}")


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    counts: Counter[str] = Counter()
    if rng.random() < 0.01:
        (limited if rng.random() < 0.7 else path_at_a_limit)(rng, counts)
        return counts
    case = draw(rng)
    counts[case.kind] += 1
    with _records.about(case), _trees.quiet():
        if case.kind == "path":
            check_path(case, counts)
        else:
            check_fit(case, rng, counts)
    return counts
