"""Greatest precision at a recall, against all trees of tiny tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from proofwood.engines.run import Clock
from proofwood.engines.trees import fair, ratios
from proofwood.engines.trees.ratios import _PrecisionRun
from proofwood.problem.targets.ratios import Ratio, RatioClasses, Weights
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits, Result, Status
from tests.naive_ordered import labelled_trees, ranks_of


def random_problem(seed: int) -> TreeProblem | None:
    """A problem of two classes; None if the labels have one only."""
    random = np.random.default_rng(seed)
    depth = int(random.choice([1, 2, 2, 3]))
    n_columns = int(random.integers(1, 4 if depth < 3 else 3))
    n_rows = int(random.integers(4, 12 if depth < 3 else 8))
    X = random.integers(0, int(random.integers(2, 5)), (n_rows, n_columns)).astype(float)
    codes = random.integers(0, 2, n_rows)
    if np.unique(codes).size < 2:
        return None
    problem = TreeProblem.from_arrays(
        X,
        codes,
        n_classes=2,
        sample_weight=None if random.random() < 0.5 else random.integers(1, 5, n_rows).astype(float),
        max_depth=depth,
        min_samples_leaf=int(random.choice([1, 1, 2])),
    )
    ratio = Ratio.precision(Fraction(int(random.integers(1, 11)), 10))
    return replace(problem, target=RatioClasses(problem.codes, 2, ratio, int(random.integers(0, 2))))


def trees_that_find_enough(problem: TreeProblem) -> Iterator[tuple[Fraction, Fraction]]:
    """What each labelled tree misses and calls falsely, in real weight, of those within the limit."""
    target, weights, unit = problem.target, problem.weights, problem.cost.unit
    assert isinstance(target, RatioClasses)
    is_positive = target.codes == target.positive
    positives = int(weights[is_positive].sum())
    for leaves in labelled_trees(ranks_of(problem.X), problem.max_depth, problem.min_samples_leaf):
        called = np.zeros(problem.n_rows, dtype=bool)
        for _, label, rows in leaves:
            if label == target.positive:
                called[list(rows)] = True
        found, false = int(weights[called & is_positive].sum()), int(weights[called & ~is_positive].sum())
        if found >= target.ratio.recall * positives:
            yield (positives - found) * unit, false * unit


def check(problem: TreeProblem, limits: Limits = NO_LIMITS) -> Result:
    """Objective, bound and floors against all trees within the limit."""
    assert isinstance(problem.target, RatioClasses)
    run = _PrecisionRun(problem, Clock(limits), None, None)
    result, ratio = run.result(), problem.target.ratio
    every = set(trees_that_find_enough(problem))
    least = min(ratio.cost(Weights(*one), run.every) for one in every)
    assert result.lower_bound <= float(least) + 1e-12
    assert result.objective >= float(least) - 1e-12
    for floor in run.floors:
        assert all(floor.positive * missed + floor.negative * called >= floor.least for missed, called in every)
    assert result.model is not None
    assert float(result.model.loss[result.model.feature < 0].sum()) == pytest.approx(result.objective)
    if result.status == "optimal":
        assert result.objective == pytest.approx(float(least), abs=1e-12)
    return result


def problems(n: int) -> Iterator[TreeProblem]:
    yield from (one for one in map(random_problem, range(n)) if one is not None)


@pytest.mark.parametrize(("rising", "some"), [(ratios.RISING, 100), (ratios.RISING[-1:], 50)])
def test_no_tree_that_finds_enough_is_more_precise(rising: Any, some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without costs between the bound and the best one."""
    monkeypatch.setattr(ratios, "RISING", rising)
    listed = 0
    for problem in problems(320):
        result = check(problem)
        assert (result.status, result.lower_bound) == ("optimal", result.objective)
        listed += result.stats.counters.get("listed", 0)
    assert listed > some


def test_bounds_hold_without_time_and_without_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for problem in problems(100):
        check(problem, Limits(0.0))
    monkeypatch.setattr(fair.PricedTrees, "close", lambda *_: False)
    statuses = [check(problem).status for problem in problems(320)]
    assert statuses.count(Status.OPTIMAL) > 150
    assert Status.FEASIBLE in statuses


def test_prices_that_are_rounded_leave_bounds_that_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "BITS", 6)
    for problem in problems(160):
        check(problem)
