"""Weights of every kind against enumeration in exact fractions, and what is claimed where integers cannot hold them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofwood import (
    MinimalTreeClassifier,
    MinSamples,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalityWarning,
    OptimalTreeClassifier,
    load,
    optimal_tree_path,
)
from proofwood.engines.trees.front import Front
from proofwood.estimators import fronts, minimal_tree, optimal_diagram, tree_learner
from proofwood.model.sums import exact_sum, exact_sums, rounded_down, rounded_up
from proofwood.problem.objectives import LARGEST_TOTAL, integer_weights
from proofwood.result import Result, Stats, Status, bounded_by
from tests.clock import clocked, within
from tests.fuzz import weights as fuzz

X = np.arange(6.0)[:, None]
Y = np.array([0, 1, 0, 1, 1, 0])


@pytest.mark.parametrize("number", range(2 * len(fuzz.REGIMES)))
def test_no_claim_is_false(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "LEARNERS", (fuzz.tree, fuzz.minimal, fuzz.bdd))  # the diagrams take seconds
    for step in range(5):
        fuzz.one_case(number + step * len(fuzz.REGIMES))


def test_weights_whose_sum_passes_all_integers() -> None:
    given = [2.0**53, 1, 7, 1, 1, 1]
    tree = OptimalTreeClassifier(max_depth=1).fit(X, Y, sample_weight=given)
    assert tree.objective_ == sum(w for w, p, t in zip(given, tree.predict(X), Y, strict=True) if p != t)
    assert tree.status_ == "optimal"
    assert tree.lower_bound_ == tree.objective_ == 2
    diagram = OptimalBDDClassifier(1).fit(X, Y, sample_weight=given)
    assert diagram.lower_bound_ <= 2 <= diagram.objective_
    assert diagram.status_ == "within_gap"
    assert "best up to rounding" in diagram.summary()


def test_floats_beside_a_heavy_row_are_not_read_as_decimals() -> None:
    """0.18 + 0.16 is a little less than 0.34 as floats: a tie of the decimals is none."""
    given = [1e25, 0.18, 0.34, 5.0, 0.16, 5.0]
    X = np.array([[2, 2], [0, 1], [1, 0], [0, 0], [0, 1], [2, 2]], dtype=float)
    y = np.array([1, 1, 1, 0, 1, 1])
    best = min(Fraction(0.18) + Fraction(0.16), Fraction(0.34))
    for columns in ([0, 1], [1, 0]):
        tree = OptimalTreeClassifier(max_depth=1).fit(X[:, columns], y, sample_weight=given)
        wrong = tree.predict(X[:, columns]) != y
        cost = sum((Fraction(given[row]) for row in np.flatnonzero(wrong).tolist()), Fraction(0))
        assert tree.objective_ == float(cost)
        assert Fraction(tree.lower_bound_) <= best
        assert tree.status_ != "optimal" or cost == best


SLIPS = [1.0, 1.0 - 2**-53, 1.0, 1 + 2**-52, 1e-300]
"""The first two rows have half of the weight but for a trifle that integers lose."""
HALVES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0]], dtype=float), [0, 0, 1, 1, 1]


def halves() -> OptimalTreeClassifier:
    return OptimalTreeClassifier(max_depth=1, min_weight_fraction_leaf=0.5, time_limit=None)


def test_a_leaf_that_slips_is_told_and_the_file_can_be_read(tmp_path: Path) -> None:
    tree = halves().fit(*HALVES, sample_weight=SLIPS)
    assert (tree.status_, tree.objective_, tree.lower_bound_) == ("within_gap", 2, 0)
    tree.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").lower_bound_ == 0


@pytest.mark.parametrize("cause", ["interrupt", "memory_limit", "time_limit"])
def test_a_search_that_was_ended_leaves_the_proof_open(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def ended(problem: Any, **given: Any) -> Result:
        limits.append(given["limits"].seconds)
        result = solve(problem, **given)
        if len(limits) > 1:
            return result
        stats = replace(result.stats, stopped_by=cause)
        return replace(result, status=Status.FEASIBLE, lower_bound=0.0, stats=stats)

    solve = tree_learner.solve
    monkeypatch.setattr(tree_learner, "solve", ended)
    with pytest.warns(OptimalityWarning):
        tree = halves().fit(*HALVES, sample_weight=SLIPS)
    assert (tree.status_, tree.lower_bound_, tree.result_.stats.stopped_by) == ("feasible", 0, cause)
    assert limits == [None, None if cause == "time_limit" else 0]


@pytest.mark.parametrize("cause", ["interrupt", "memory_limit", "time_limit"])
def test_a_front_that_was_ended_leaves_the_proofs_open(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def ended(problem: Any, *given: Any, **more: Any) -> Front:
        limits.append(more["limits"].seconds)
        front = solve(problem, *given, **more)
        if len(limits) > 1:
            return front
        trees = tuple(replace(tree, lower=0) for tree in front.trees)
        return replace(front, trees=trees, stats=replace(front.stats, stopped_by=cause))

    solve = fronts.solve_front
    monkeypatch.setattr(fronts, "solve_front", ended)
    given: dict[str, Any] = {"max_depth": 1, "min_weight_fraction_leaf": 0.5, "time_limit": None}
    with pytest.warns(OptimalityWarning, match=cause):
        path = optimal_tree_path(*HALVES, sample_weight=SLIPS, **given)
    assert [(tree.status, tree.objective, tree.lower_bound) for tree in path] == [("feasible", 2, 0)] * 2
    assert path.at(2).result_.stats.stopped_by == cause
    assert limits == [None, None if cause == "time_limit" else 0]


@pytest.mark.parametrize("cause", ["interrupt", "memory_limit", "time_limit"])
def test_what_ended_a_search_for_the_smallest_tree_ends_the_stricter_one(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row weighs a trifle more than the permitted errors, which integers lose."""
    limits: list[float | None] = []
    found: list[Result] = []
    whole = minimal_tree._engine("auto")

    def ended(problem: Any, **given: Any) -> Result:
        limits.append(given["limits"].seconds)
        result = whole(problem)
        if len(limits) == 2:
            return found[0] if found else result
        stats = replace(result.stats, stopped_by=cause)
        return replace(result, status=Status.FEASIBLE, lower_bound=0.0, stats=stats)

    monkeypatch.setattr(minimal_tree, "_engine", lambda _: ended)
    learner = MinimalTreeClassifier(max_errors=1, time_limit=None)
    weights = [1.0, 1 - 2**-53, 1.0, 1e-300, 1 + 2**-52]
    with pytest.warns(OptimalityWarning):
        tree = learner.fit(X[:5], [0, 0, 0, 0, 1], sample_weight=weights)
    assert (tree.status_, tree.result_.stats.stopped_by) == ("feasible", cause)
    assert limits == [None, None if cause == "time_limit" else 0]
    late = Stats(stopped_by="time_limit")
    found.append(replace(tree.result_, model=None, objective=math.inf, status=Status.UNKNOWN, stats=late, parts=()))
    limits.clear()
    errors = {"interrupt": KeyboardInterrupt, "memory_limit": MemoryError, "time_limit": TimeoutError}
    with pytest.raises(errors[cause]):
        learner.fit(X[:5], [0, 0, 0, 0, 1], sample_weight=weights)


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.WITHIN_GAP, Status.FEASIBLE])
@pytest.mark.parametrize("of_relaxed", [Status.OPTIMAL, Status.WITHIN_GAP, Status.FEASIBLE])
def test_bounds_of_a_relaxed_search(status: Status, of_relaxed: Status) -> None:
    told = halves().fit(*HALVES, sample_weight=SLIPS).result_
    result = replace(told, status=status, lower_bound=2.0 if status is Status.OPTIMAL else 1.0)
    relaxed = replace(told, objective=0.5, lower_bound=0.5 if of_relaxed is Status.OPTIMAL else 0.25, status=of_relaxed)
    open_still = Status.FEASIBLE in (status, of_relaxed)
    joined = bounded_by(relaxed, result)
    assert joined.lower_bound == relaxed.lower_bound
    assert joined.status is (Status.FEASIBLE if open_still else Status.WITHIN_GAP)
    pressed, late = (replace(told.stats, stopped_by=stop) for stop in ("interrupt", "time_limit"))
    for one, other in ((pressed, told.stats), (told.stats, pressed), (late, pressed)):
        for given in (result, replace(result, objective=0.0, lower_bound=0.0)):
            both = bounded_by(replace(relaxed, stats=one), replace(given, stats=other))
            assert both.stats.stopped_by == "interrupt"


def test_levels_without_tests_leave_the_proof_open_with_rounded_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second column tells rows apart only in part, the rare levels of the first tell all."""
    monkeypatch.setattr(optimal_diagram, "LEAST_LEVELS", 2)
    monkeypatch.setattr(optimal_diagram, "CELLS_PER_SECOND", 1e-9)
    names = np.array([["a", "p"], ["a", "p"], ["b", "q"], ["b", "q"], ["c", "p"], ["d", "q"]], dtype=object)
    labels = [0, 0, 1, 1, 1, 0]
    for least in ([], [MinSamples(1)]):
        learner = OptimalDiagramClassifier((1, 2), alpha=0.0, constraints=least)
        with pytest.warns(OptimalityWarning):
            learner.fit(names, labels, sample_weight=[*SLIPS, 0.3])
        assert (learner.status_, learner.lower_bound_) == ("feasible", 0)
        assert "not proved" in learner.summary()


def stump_cost(X: Any, y: Any, weights: list[Fraction], price: Fraction) -> Fraction:
    """Least cost of a tree of depth 1."""

    def wrong(rows: list[int]) -> Fraction:
        sums = [sum((weights[i] for i in rows if y[i] == label), Fraction(0)) for label in set(y)]
        return sum(sums) - max(sums)

    best = wrong(list(range(len(y))))
    for column, cut in ((j, v) for j in range(X.shape[1]) for v in set(X[:, j].tolist())):
        low = [i for i in range(len(y)) if X[i, column] <= cut]
        high = [i for i in range(len(y)) if X[i, column] > cut]
        if low and high:
            best = min(best, wrong(low) + wrong(high) + price)
    return best


@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_rows_far_heavier_than_all_errors(alpha: float) -> None:
    rng, proved = np.random.default_rng(5), 0
    for number in range(150):
        n = int(rng.integers(3, 9))
        X, y = rng.integers(0, 5, (n, 2)).astype(float), rng.integers(0, 3, n)
        heavy = np.where(rng.random(n) < 0.4, 2.0 ** rng.integers(40, 80, n), rng.integers(1, 9, n))
        given = 10.0 ** rng.uniform(-12, 12, n) if number % 2 else heavy.astype(float)
        tree = OptimalTreeClassifier(max_depth=1, alpha=alpha).fit(X, y, sample_weight=given)
        real = [Fraction(w) for w in given.tolist()]
        best = stump_cost(X, y.tolist(), real, Fraction(repr(alpha)) * sum(real))
        assert Fraction(tree.lower_bound_) <= best * (1 + Fraction(1, 2**52))
        assert tree.objective_ >= float(best)
        if tree.status_ == "optimal":
            proved += 1
            assert tree.objective_ == float(best)
    assert proved > 50


@pytest.mark.parametrize(
    "learner",
    [
        OptimalTreeClassifier(1),
        OptimalBDDClassifier(1),
        OptimalBDDClassifier(1, engine="paper"),
        OptimalDiagramClassifier((1,), alpha=0.0, engine="search"),
    ],
)
def test_real_weights_are_proved_up_to_rounding(learner: Any) -> None:
    given = np.random.default_rng(1).random(6)
    learner.fit(X, Y, sample_weight=given)
    wrong = learner.predict(X) != Y
    whole = sum(map(Fraction, given.tolist())) if isinstance(learner, OptimalDiagramClassifier) else 1
    assert learner.objective_ == float(sum(map(Fraction, given[wrong].tolist()), Fraction(0)) / whole)
    assert learner.status_ == "within_gap"
    assert 0 < learner.gap_ < 1e-12
    assert learner.result_.stats.stopped_by is None
    assert "rounding" in learner.summary()
    assert learner.recount(X, Y, sample_weight=given) == learner.objective_


def test_max_errors_counts_real_weight() -> None:
    given = np.array([0.1234567890123, 1, 1, 1, 1, 0.8765432109877]) + np.random.default_rng(0).random(6) * 1e-9
    tree = MinimalTreeClassifier(max_errors=1).fit(X, Y, sample_weight=given)
    assert exact_sum(given[tree.predict(X) != Y]) <= 1
    assert tree.status_ == "optimal"


def test_too_large_and_too_small_weights_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="divide all of them by one number"):
        OptimalTreeClassifier(1).fit(X, Y, sample_weight=np.full(6, 1e308))
    for factor, weight in ((1e-200, 1e-200), (1e200, 1e200)):
        learner = OptimalTreeClassifier(1, class_weight={0: factor, 1: 1})
        with pytest.raises(ValueError, match="too large or too small for float64"):
            learner.fit(X, Y, sample_weight=np.full(6, weight))


def test_products_of_few_digits_are_refused() -> None:
    tiny = np.array([3, 5, 1, 2, 7, 4]) * 5e-324  # a third of such a weight is rounded by a tenth of itself and more
    learner = OptimalTreeClassifier(1, class_weight={0: 1 / 3, 1: 1})
    with pytest.raises(ValueError, match="too large or too small for float64"):
        learner.fit(X, Y, sample_weight=tiny)
    fitted = OptimalTreeClassifier(1).fit(X, Y, sample_weight=tiny)  # as they are, they are exact
    assert fitted.objective_ == exact_sum(tiny[fitted.predict(X) != Y])


def test_equal_rows_whose_majority_rounding_hides_are_refused() -> None:
    rows, labels = [[0.0], [0.0], [1.0]], [0, 1, 1]
    for learner in (OptimalBDDClassifier(objective="features"), MinimalTreeClassifier(on_conflict="majority")):
        with pytest.raises(ValueError, match="needs the label with more weight"):
            learner.fit(rows, labels, sample_weight=[1e-30, 2e-30, 1.0])


@pytest.mark.parametrize("seed", range(3))
def test_integers_bracket_real_sums(seed: int) -> None:
    chance = np.random.default_rng(seed)
    given = chance.random(200) * 10.0 ** chance.integers(-30, 1, 200)
    told = integer_weights(given, 200)
    assert told.rounding is not None
    assert 0 < told.values.min() <= told.values.sum() < LARGEST_TOTAL
    for _ in range(20):
        some = chance.random(200) < 0.3
        real = sum(map(Fraction, given[some].tolist()), Fraction(0))
        whole = int(told.values[some].sum()) * told.unit
        assert whole - told.rounding.above <= real <= whole + told.rounding.below
        assert told.rounding.sum(some) == real
    order = chance.permutation(200)
    again = integer_weights(given[order], 200)
    np.testing.assert_array_equal(again.values, told.values[order])
    assert again.unit == told.unit


def test_exact_sums_of_cells() -> None:
    chance = np.random.default_rng(0)
    given = np.ldexp(chance.random(300), chance.integers(-1070, 990, 300))
    given[:3] = 0.0, 5e-324, 1e300
    cell = chance.integers(0, 4, 300)
    told = exact_sums(given, cell, 5)
    assert told == [sum(map(Fraction, given[cell == c].tolist()), Fraction(0)) for c in range(5)]
    third = Fraction(1, 3)
    assert Fraction(rounded_down(third)) < third < Fraction(rounded_up(third))
    assert rounded_up(third) == math.nextafter(rounded_down(third), 1)


@clocked
def test_a_million_real_weights_take_little_time() -> None:
    given = np.random.default_rng(0).random(10**6)
    with within(0.6):  # 0.13 s on an idle machine
        assert integer_weights(given, given.size).rounding is not None
    cents = np.round(given * 1e4) / 100
    assert integer_weights(cents, cents.size).rounding is None
