"""Trees of rates and of class shares against brute force with 60 digits, and against scikit-learn."""

from __future__ import annotations

import importlib
import math
import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.solve import bound
from proofwood.exceptions import DataError
from proofwood.model.evaluate import apply
from proofwood.model.node_table import FloatArray
from proofwood.model.sums import rounded_up
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.objectives import integer_weights
from proofwood.problem.targets import ExponentialRates, GammaMeans, Gini, LogLoss, Numbers, PoissonRates, Rates, Rewards
from proofwood.problem.targets.base import exact_dots, exact_weights
from proofwood.problem.targets.logarithms import PLACES, log_of
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits, Result, Status
from tests.naive_targets import Naive, deviance, gini, log_loss, lost_reward, random_table, squared_error
from tests.unit.engines.test_tree_targets import read, some_options

engine = importlib.import_module("proofwood.engines.trees.solve")  # the package has the function of this name
RATES = (PoissonRates, ExponentialRates, GammaMeans)
SHARES = (LogLoss, Gini)
Cost = Callable[[list[int]], Fraction]


def test_logarithms_are_off_by_one_place_at_most() -> None:
    rng = random.Random(0)
    for _ in range(1500):
        part = rng.randint(1, 2 ** rng.choice([4, 53, 200, 4300]))
        whole = rng.choice([rng.randint(1, 2 ** rng.choice([4, 53, 200, 4300])), part + rng.randint(0, 3)])
        with localcontext() as context:
            context.prec = 120
            logarithm = (Decimal(part) / Decimal(whole)).ln() * 2**PLACES
            assert abs(log_of(part, whole) - logarithm) < 1


def some_numbers(rng: np.random.Generator, kind: type[Any], n_rows: int) -> FloatArray:
    """Targets of any kind: ties, zeros, few and many digits."""
    if kind in SHARES:
        return rng.integers(0, rng.integers(1, 6), n_rows).astype(float)
    positive = [rng.integers(1, 5000, n_rows), np.round(rng.uniform(0.01, 9, n_rows), 2), rng.gamma(2, 1, n_rows)]
    sizes = np.asarray(positive[rng.integers(3)], dtype=float)
    if kind is GammaMeans:
        return sizes
    if kind is ExponentialRates:
        return np.column_stack([sizes, rng.integers(0, 2, n_rows)])
    counts = [
        rng.integers(0, 5, n_rows),
        np.zeros(n_rows),
        np.full(n_rows, 3),
        rng.random(n_rows),
        1e6 + rng.integers(5),
    ]
    amounts = np.broadcast_to(np.asarray(counts[rng.integers(5)], dtype=float), n_rows)
    return amounts.copy() if rng.integers(2) else np.column_stack([sizes, amounts])


def brute_force(problem: TreeProblem, given: FloatArray, weights: Any) -> tuple[list[Fraction], Cost]:
    """The weights of the rows, and what a set of rows costs, of numbers that float64 shows as they were given."""
    kind = type(problem.target)
    real = [int(w) * problem.cost.unit for w in problem.weights]
    if problem.rounding is not None:
        real = [Fraction(w) for w in weights.tolist()]
    assert weights is None or [float(w) for w in real] == weights.tolist()
    if kind in SHARES:
        one_hot = [[w if code == k else Fraction(0) for k in range(6)] for w, code in zip(real, given, strict=True)]
        by_rows: Cost = partial(log_loss if kind is LogLoss else gini, one_hot)
    elif kind in RATES:
        rows, *units = problem.target.read
        pair = [[int(number) * unit for number in column] for column, unit in zip(rows[:2], units, strict=True)]
        seen = pair if given.ndim == 2 else pair[:1] if kind is GammaMeans else pair[1:]
        assert [[float(number) for number in column] for column in seen] == given.reshape(len(given), -1).T.tolist()
        by_rows = partial(deviance, [[2 * w * e, 2 * w * a] for w, e, a in zip(real, *pair, strict=True)])
    else:
        whole, unit, zero = problem.target.exactly
        exactly = [[(int(number) + zero) * unit for number in row] for row in whole]
        assert [[float(number) for number in row] for row in exactly] == given.tolist()
        by_rows = partial(squared_error if kind is Numbers else lost_reward, exactly, real)
    known = cache(lambda rows: by_rows(list(rows)))
    return real, lambda rows: known(tuple(rows))


@pytest.mark.parametrize("kind", [*RATES, *SHARES])
@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_and_are_close(kind: type[Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([0, 1, 2, 2, 3]))
    n_rows = int(rng.integers(1, 11 if depth < 3 else 7))
    X, everyone = random_table(rng, n_rows), list(range(n_rows))
    given = some_numbers(rng, kind, n_rows)
    heavy = rng.choice(["none", "whole", "tenths", "real"])
    parts = {"none": 1.0, "whole": 1.0, "tenths": 10.0, "real": rng.random(n_rows) + 0.01}[heavy]
    weights = None if heavy == "none" else rng.integers(1, 9, n_rows) / parts
    alpha, gap = float(rng.choice([0, 0, 0.01, 0.1])), float(rng.choice([0, 0, 0.05]))
    least_rows, fraction = int(rng.choice([1, 1, 2])), float(rng.choice([0, 0.2])) if heavy == "whole" else 0.0
    problem = TreeProblem.by_sums(
        X,
        given,
        kind,
        sample_weight=weights,
        max_depth=depth,
        alpha=alpha,
        min_samples_leaf=least_rows,
        min_weight_fraction_leaf=fraction,
        max_gap=gap,
    )
    result = solve(problem, options=some_options(rng))
    real, cost = brute_force(problem, given, weights)
    alone, least = cost(everyone), read(fraction, as_decimal=True) * sum(real)
    price = read(alpha, as_decimal=True) * alone
    best = Naive(X, cost, price, least_rows, lambda rows: sum(real[i] for i in rows) >= least).best(everyone, depth)
    digits = alone / 10**40 + Fraction(1, 10**50)
    check_bounds(result, best, digits)
    near, permitted = max(alone, sum(real) / 1000) / 10**8, read(gap, as_decimal=True) * alone
    assert best - Fraction(result.lower_bound) <= near + permitted
    assert Fraction(result.objective) - best <= (permitted or near) + digits + Fraction(math.ulp(result.objective))
    leaves = apply(result.model, X)
    of_tree = sum((cost(np.flatnonzero(leaves == leaf).tolist()) for leaf in set(leaves.tolist())), Fraction(0))
    of_tree += price * (result.model.n_leaves - 1)
    assert abs(Fraction(result.objective) - of_tree) <= digits + Fraction(math.ulp(result.objective))


def check_bounds(result: Result, best: Fraction, digits: Fraction) -> None:
    """The optimum lies between the bounds; equal bounds are both rounded up."""
    equal = result.status is Status.OPTIMAL
    assert equal == (result.lower_bound == result.objective)
    assert Fraction(result.objective) >= best - digits
    assert Fraction(result.lower_bound) <= best + digits + (Fraction(math.ulp(result.objective)) if equal else 0)


def test_the_optimum_is_between_the_bounds_of_hundreds_of_problems() -> None:
    """In fractions: what is reported as float64 is rounded outward."""
    rng = np.random.default_rng(1)
    kinds = (Numbers, Rewards, *RATES, *SHARES)
    for _ in range(350):
        kind, n_rows = kinds[rng.integers(7)], int(rng.integers(1, 7))
        X = rng.integers(0, 5, (n_rows, 2)).astype(float)
        gap = float(rng.choice([0, 0.1]))
        if kind in (Numbers, Rewards):
            given = np.round(rng.normal(size=(n_rows, 1 if kind is Numbers else 3)), 2)
        else:
            given = some_numbers(rng, kind, n_rows)
        weights = rng.random(n_rows) + 0.01
        problem = TreeProblem.by_sums(X, given, kind, sample_weight=weights, max_depth=1, max_gap=gap)
        result = solve(problem, limits=Limits(seconds=rng.choice([None, 0])))
        _, cost = brute_force(problem, given, weights)
        everyone = list(range(n_rows))
        check_bounds(result, Naive(X, cost).best(everyone, 1), cost(everyone) / 10**40)


@pytest.mark.parametrize("kind", [PoissonRates, ExponentialRates, GammaMeans, LogLoss])
@pytest.mark.parametrize("seed", range(40))
def test_what_rounding_changes_is_bounded(kind: type[Any], seed: int) -> None:
    """Of any leaves, and of sizes that 64 bits hold together and that they do not."""
    rng = np.random.default_rng(seed)
    n_rows, n_leaves = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    given = some_numbers(rng, kind, n_rows).reshape(n_rows, -1)
    if kind is not LogLoss:
        given[:, 0] *= np.exp(rng.normal(size=n_rows) * rng.choice([0, 1, 8]))
    target = kind(given, integer_weights(np.exp(rng.normal(size=n_rows) * rng.choice([1, 8])), n_rows))
    leaf = rng.integers(0, n_leaves, n_rows)
    weights, unit = exact_weights(target.weights)
    sums = zip(*(exact_dots(column, weights, leaf, n_leaves) for column in target.row_sums()), strict=True)
    costs = [
        target.loss_of(0, list(of)) if costly else 0
        for of, costly in zip(sums, target.costly(leaf, n_leaves), strict=True)
    ]
    counted = target.counted_at(leaf, n_leaves) * target.cost_of_one * target.weights.unit
    assert abs(unit * sum(costs) - counted) <= target.weighted.moved.shift


@pytest.mark.parametrize("heavy", [False, True])
def test_costs_are_those_of_scikit_learn(heavy: bool) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((150, 3)).round(2)
    weights = rng.random(150) + 0.1 if heavy else np.ones(150)
    total = weights.sum()
    counts, sizes = rng.poisson(1 + 3 * (X[:, 0] > 0.5)), rng.gamma(2, 1 + X[:, 1])
    codes = rng.integers(0, 3, 150)
    once = partial(TreeProblem.by_sums, X, sample_weight=weights, max_depth=2)

    def predicted(problem: TreeProblem) -> tuple[Result, FloatArray]:
        result = solve(problem)
        return result, result.model.values[apply(result.model, X)]

    result, means = predicted(once(counts, PoissonRates))
    assert result.unit == "Poisson deviance"
    assert result.objective == pytest.approx(
        metrics.mean_poisson_deviance(counts, means[:, 0], sample_weight=weights) * total, rel=1e-12
    )
    result, means = predicted(once(sizes, GammaMeans))
    assert result.unit == "gamma deviance"
    assert result.objective == pytest.approx(
        metrics.mean_gamma_deviance(sizes, means[:, 0], sample_weight=weights) * total, rel=1e-12
    )
    result, shares = predicted(once(codes, LogLoss))
    assert result.unit == "log loss"
    assert result.objective == pytest.approx(
        metrics.log_loss(codes, shares, sample_weight=weights, normalize=False), rel=1e-12
    )
    result, shares = predicted(once(codes, Gini))
    assert result.unit == "Gini impurity"
    assert result.objective == pytest.approx(weights @ ((np.eye(3)[codes] - shares) ** 2).sum(axis=1), rel=1e-12)
    for leaf, gives in zip(result.model.label, result.model.values, strict=True):
        assert gives[leaf] == gives.max()
    np.testing.assert_allclose(
        result.model.weight / result.model.weight.sum(axis=1, keepdims=True), result.model.values
    )


def test_survival_costs_twice_what_the_likelihood_falls_short() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((80, 2)).round(1)
    times, events = rng.exponential(1 / (1 + 2 * (X[:, 0] > 0.3))), rng.random(80) < 0.7
    result = solve(TreeProblem.by_sums(X, np.column_stack([times, events]), ExponentialRates, max_depth=2))
    hazard = result.model.values[apply(result.model, X), 0]
    likelihood = np.sum(np.where(events, np.log(np.where(events, hazard, 1)), 0) - hazard * times)
    saturated = np.sum(np.where(events, -np.log(times) - 1, 0))
    assert result.unit == "exponential deviance"
    assert result.objective == pytest.approx(2 * (saturated - likelihood), rel=1e-12)


def test_counts_of_exposures_are_frequencies_of_weights() -> None:
    rng = np.random.default_rng(5)
    X, exposure = rng.random((40, 2)).round(1), rng.integers(1, 9, 40) / 4
    counts = rng.poisson(exposure * (1 + X[:, 0]))
    exposed = solve(TreeProblem.by_sums(X, np.column_stack([exposure, counts]), Rates, max_depth=2))
    weighted = solve(TreeProblem.by_sums(X, counts / exposure, PoissonRates, sample_weight=exposure, max_depth=2))
    assert exposed.objective == pytest.approx(weighted.objective, rel=1e-12)
    np.testing.assert_allclose(exposed.model.values, weighted.model.values, rtol=1e-14)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (PoissonRates, [0.0, 0.0, 0.0, 0.0]),
        (PoissonRates, [0.1, 0.1, 0.3, 0.3]),
        (PoissonRates, [1e-300, 1e-300, 1e300, 1e300]),
        (PoissonRates, [[1, 2], [0.5, 1], [3, 0], [7, 0]]),
        (ExponentialRates, [[1, 0], [2, 0], [1e-9, 0], [5, 0]]),
        (ExponentialRates, [[1, 1], [1, 1], [1 / 3, 1], [1 / 3, 1]]),
        (GammaMeans, [7.1, 7.1, 7.1, 7.1]),
        (LogLoss, [0, 0, 1, 1]),
        (Gini, [2, 2, 2, 2]),
    ],
)
def test_a_perfect_tree_costs_nothing(kind: type[Any], given: Any) -> None:
    for weights in (None, [1.0, 2.0, 3.0, 0.1], [math.pi, 1e-5, 1.0, math.e]):
        result = solve(
            TreeProblem.by_sums(np.arange(4.0).reshape(-1, 1), given, kind, sample_weight=weights, max_depth=1)
        )
        assert (result.objective, result.lower_bound, result.status) == (0.0, 0.0, Status.OPTIMAL)


@pytest.mark.parametrize("kind", [*RATES, Numbers])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e140, 1e290])
def test_numbers_of_extreme_size(kind: type[Any], scale: float) -> None:
    """Costs that float64 holds are counted; others are refused with a remedy."""
    rng = np.random.default_rng(6)
    X, numbers = rng.random((12, 2)).round(1), rng.gamma(2, 1, 12) * scale
    given = np.column_stack([numbers, np.ones(12)]) if kind is ExponentialRates else numbers
    if kind is Numbers and scale >= 1e290:
        with pytest.raises(DataError, match="power of ten"):
            TreeProblem.by_sums(X, given, kind)
        return
    result = solve(TreeProblem.by_sums(X, given, kind, max_depth=2))
    assert 0 <= result.lower_bound <= result.objective < math.inf
    if kind is not Numbers:
        assert result.objective - result.lower_bound <= 1e-9 * result.objective


def test_means_that_no_sum_of_64_bits_holds_together_have_wide_bounds() -> None:
    problem = TreeProblem.by_sums(
        np.arange(4.0).reshape(-1, 1), [1e-300, 1e-290, 1e-280, 1e300], GammaMeans, max_depth=1
    )
    result = solve(problem)
    assert result.status is Status.WITHIN_GAP
    assert result.lower_bound == 0 < result.objective == rounded_up(problem.real_cost(result.model))


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (ExponentialRates, [[0.0, 1.0], [1.0, 0.0]], "above 0"),
        (PoissonRates, [1.0, -1.0], "from 0"),
        (GammaMeans, [1.0, 0.0], "above 0"),
        (PoissonRates, [1.0, math.nan], "from 0"),
        (PoissonRates, [[1e-300, 1e300], [1.0, 1.0]], "power of ten"),
        (PoissonRates, [[1e300, 1e-300], [1.0, 1.0]], "power of ten"),
        (PoissonRates, [1e305, 1e-305], "power of ten"),
        (LogLoss, [0.5, 1.0], "whole numbers"),
        (LogLoss, [0.0, math.inf], "whole numbers"),
        (LogLoss, [0.0, 16.0], "up to 16 classes"),
        (Gini, [-1.0, 1.0], "whole numbers"),
        (Numbers, [[1.0, 2.0], [3.0, 4.0]], "2 columns"),
        (GammaMeans, [[1.0, 2.0], [3.0, 4.0]], "2 columns"),
        (ExponentialRates, [[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]], "3 columns"),
    ],
)
def test_what_cannot_be_used_is_refused(kind: type[Any], given: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        TreeProblem.by_sums([[1.0], [2.0]], given, kind)


def test_classes_that_do_not_occur_have_a_share_of_0() -> None:
    result = solve(TreeProblem.by_sums([[1.0], [2.0]], [0, 1], partial(LogLoss, n_classes=3), max_depth=0))
    assert result.model.values.tolist() == [[0.5, 0.5, 0.0]]
    assert result.model.weight.tolist() == [[1.0, 1.0, 0.0]]
    assert result.objective == rounded_up(Fraction(2 * log_of(2, 1) + 4, 2**PLACES))


class FineRates(Rates):
    """Rates with a unit that is finer than twice the precision of a double decides."""

    least_shift = -60  # type: ignore[assignment]


def test_a_coarser_unit_is_taken_where_logarithms_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.column_stack([np.full(4, 2.0**30), 2.0**50 + np.arange(4)])
    problem = TreeProblem.by_sums(np.arange(4.0).reshape(-1, 1), given, partial(FineRates, unit_bits=120), max_depth=1)
    searches: list[int] = []
    once = engine._run

    def counted(problem: TreeProblem, *more: Any) -> dict[str, Any]:
        searches.append(problem.target.shift)
        return once(problem, *more)

    monkeypatch.setattr(engine, "_run", counted)
    result = solve(problem)
    assert len(searches) > 1
    assert all(coarser > finer for finer, coarser in pairwise(searches))
    exactly = [[Fraction(number) for number in row] for row in given.tolist()]
    best = 2 * Naive(problem.X, partial(deviance, exactly)).best([0, 1, 2, 3], 1)
    check_bounds(result, best, Fraction(1, 10**30))


def test_a_bound_is_asked_in_a_coarser_unit_where_logarithms_do_not_decide() -> None:
    given = np.column_stack([np.full(4, 2.0**30), 2.0**50 + np.arange(4)])
    fine = partial(FineRates, unit_bits=120)
    problem = TreeProblem.by_sums(np.arange(4.0).reshape(-1, 1), given, fine, max_depth=1)
    with pytest.raises(ValueError, match="unit"):
        bound(problem, below=2**50, coarser=())
    exactly = [[Fraction(number) for number in row] for row in given.tolist()]
    best = 2 * Naive(problem.X, partial(deviance, exactly)).best([0, 1, 2, 3], 1)
    units = problem.cost.units_of(best)
    assert units > 100
    found = bound(problem, below=100 * units)
    assert found.model is not None
    assert found.stopped_by is None
    assert found.lower <= units
    assert problem.integer_cost(found.model) < 100 * units
    open_left = bound(problem, below=units)  # no unit that decides is as fine as this
    assert (open_left.model, open_left.stopped_by) == (None, "rounding")
    assert open_left.lower < units


def test_rescaled_problems_keep_prices_and_gaps() -> None:
    X, numbers = np.arange(6.0).reshape(-1, 1), [1.0, 2.5, 0.5, 3.5, 9.0, 2.0]
    problem = TreeProblem.by_sums(X, numbers, Numbers, alpha=0.01, max_gap=0.1)
    finer = problem.rescaled(-3)
    assert finer.cost.cost_unit * 8 == problem.cost.cost_unit
    assert finer.cost.real_price == problem.cost.real_price
    assert finer.cost.in_weight(finer.max_gap) == problem.cost.in_weight(problem.max_gap)
    with pytest.raises(TypeError, match="one unit"):
        TreeProblem.by_sums(X, numbers, Rewards).rescaled(1)


def test_a_tree_that_is_almost_perfect_is_searched_again_in_a_finer_unit() -> None:
    rng = np.random.default_rng(7)
    X = rng.random((300, 3)).round(2)
    numbers = np.where(X[:, 0] > 0.4, 3.0, np.where(X[:, 1] > 0.3, 10.0, 0.5)) + 1e-5 * rng.integers(-9, 9, 300)
    problem = TreeProblem.by_sums(X, numbers, Numbers, max_depth=2)
    coarse = engine._search(problem, SearchOptions(), Limits(), None, None, None)
    fine = solve(problem)
    assert coarse.objective < 1e-9 * (numbers.var() * 300)
    assert fine.objective <= coarse.objective
    assert fine.objective - fine.lower_bound < (coarse.objective - coarse.lower_bound) / 100
    assert fine.status is Status.WITHIN_GAP


def test_records_of_another_target_are_not_used(tmp_path: Path) -> None:
    X = np.arange(8.0).reshape(-1, 1)
    numbers = np.array([1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 1.0, 3.0])
    for targets, kind in ((numbers, Numbers), (numbers[::-1], Numbers), (numbers, PoissonRates), (numbers, GammaMeans)):
        problem = TreeProblem.by_sums(X, targets, kind, max_depth=2)
        with SearchFile(tmp_path / "checkpoint", {"of": "all"}) as file:
            recorded = solve(problem, checkpoint=file)
        with SearchFile(tmp_path / "checkpoint", {"of": "all"}) as file:
            again = solve(problem, checkpoint=file)
        assert recorded.objective == again.objective == solve(problem).objective
        assert recorded.lower_bound == again.lower_bound == solve(problem).lower_bound
