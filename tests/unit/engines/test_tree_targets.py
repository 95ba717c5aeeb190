"""Trees of numbers and of rewards against brute force in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from proofwood import _native
from proofwood.engines.switches import switches
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.options import INSTRUCTION_SETS
from proofwood.model.node_table import LEAF, FloatArray
from proofwood.model.sums import rounded_up
from proofwood.problem.objectives import decimal
from proofwood.problem.targets import Numbers, Rewards, SumTarget
from proofwood.problem.tree import TreeProblem
from proofwood.result import Status
from tests.naive_targets import Naive, deviance, log_loss, lost_reward, random_table, squared_error

RULES = (
    *("similarity", "interval_shrinking", "sub_interval", "feature_bounds", "stump_bounds", "cache", "affordable"),
    "depth_two",
    "pair_sums",
)


def native(X: FloatArray, targets: dict[str, Any], weights: Any, options: SearchOptions, **settings: Any) -> Any:
    """The answer of the native search."""
    given = {
        "max_depth": 2,
        "error_price": 1,
        "leaf_price": 0,
        "min_rows": 1,
        "min_weight": 0,
        "gap": 0,
        "threads": 1,
        "isa": INSTRUCTION_SETS[options.simd],
        "lane_bits": 0,
        "eta": 1e9,
        "block_work": options.block_work,
        "by_sets": [],
        "sets_anywhere": 12,
        **{name: getattr(options, name) for name in switches(SearchOptions())},
    }
    return _native.solve_tree(X, targets, np.asarray(weights, dtype=np.int64), given | settings, None, None)


def some_options(rng: np.random.Generator) -> SearchOptions:
    """Rules on and off, and any instruction set."""
    rules = {name: bool(rng.integers(2)) for name in (*RULES, "blocks", "merge_rows", "canonical")}
    simd = str(rng.choice(_native.instruction_sets()))
    return SearchOptions(simd=simd, block_work=int(rng.choice([0, 1_000_000])), **rules)


@pytest.mark.parametrize("seed", range(60))
def test_units_are_those_of_brute_force_with_rules_on_and_off(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 2, 3]))
    n_rows = int(rng.integers(2, 25 if depth < 3 else 11))
    X, weights = random_table(rng, n_rows), rng.integers(1, 4, n_rows) ** int(rng.integers(2))
    policy = bool(rng.integers(2))
    numbers = (
        rng.integers(0, 20, (n_rows, int(rng.integers(2, 6)))) if policy else rng.integers(-9999, 9999, (n_rows, 1))
    )
    cost = lost_reward if policy else squared_error
    exactly = [[Fraction(int(number)) for number in row] for row in numbers]
    real = [Fraction(int(weight)) for weight in weights]
    everyone = list(range(n_rows))
    alone = cost(exactly, real, everyone)
    shift = 0 if policy else int(alone).bit_length() - int(rng.choice([10, 38, 46, 52]))
    unit = Fraction(2) ** shift
    price = int(alone / unit / 40) * int(rng.integers(2))
    least_rows = int(rng.choice([1, 1, 2, 3]))
    naive = Naive(X, lambda rows: cost(exactly, real, rows) / unit, Fraction(price), least_rows)
    losses = numbers.max(axis=1, keepdims=True) - numbers if policy else numbers
    targets = {
        "task": "policy" if policy else "squared_error",
        "numbers": np.ascontiguousarray(losses * weights[:, np.newaxis]),
        "shift": shift,
    }
    settings = {"max_depth": depth, "leaf_price": price, "min_rows": least_rows, "threads": int(rng.integers(1, 3))}
    answer = native(X, targets, weights, some_options(rng), **settings)
    assert answer["upper"] == answer["lower"] == naive.units(everyone, depth)


@pytest.mark.parametrize("seed", range(60))
def test_units_of_logarithms_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 2, 3]))
    n_rows = int(rng.integers(2, 20 if depth < 3 else 9))
    X, everyone = random_table(rng, n_rows), list(range(n_rows))
    of_rates = bool(rng.integers(2))
    if of_rates:  # counts, times until an event, or numbers far from 0
        events, most = ((5, 2), (2, 4000), (10**6, 10**6))[rng.integers(3)]
        numbers = np.column_stack([rng.integers(1, most, n_rows), rng.integers(0, events, n_rows)])
    else:
        numbers = np.eye(5, dtype=np.int64)[rng.integers(0, rng.integers(2, 6), n_rows)] * rng.integers(
            1, 4, (n_rows, 1)
        )
    numbers = np.ascontiguousarray(numbers[:, : 2 if of_rates else 5])
    plain = [[int(number) for number in row] for row in numbers]
    cost = (lambda rows: deviance(plain, rows)) if of_rates else (lambda rows: log_loss(plain, rows))
    alone = cost(everyone)
    # a single leaf that costs nothing still has the rounding of its rows
    shift = max(-38, math.floor(math.log2(max(float(alone), 1e-9))) - int(rng.choice([10, 30, 40])))
    unit = Fraction(2) ** shift
    price = int(alone / unit / 40) * int(rng.integers(2))
    least_rows = int(rng.choice([1, 1, 2]))
    targets = {"task": "deviance" if of_rates else "log_loss", "numbers": numbers, "shift": shift}
    settings = {"max_depth": depth, "leaf_price": price, "min_rows": least_rows}
    answer = native(X, targets, np.ones(n_rows), some_options(rng), **settings)
    best = Naive(X, cost, price * unit, least_rows).best(everyone, depth)
    rounded_up = n_rows * Fraction(1, 2**38) if of_rates else Fraction(1, 10**40)
    assert answer["upper"] == answer["lower"]
    assert best - 2 ** max(0, depth - 1) * unit <= answer["lower"] * unit <= best + rounded_up


def rates_or_shares(rng: np.random.Generator, kind: str, X: FloatArray) -> npt.NDArray[np.int64]:
    """Numbers of rows, weighted, for a task with logarithms."""
    n_rows = len(X)
    weights = rng.integers(1, 9, n_rows) ** int(rng.integers(2))
    mean = np.exp(X[:, 0])
    match kind:
        case "counts":
            columns = [weights, weights * rng.poisson(mean)]
        case "times":
            columns = [weights * rng.integers(1, 5000, n_rows), weights * (rng.random(n_rows) < 0.1 + 0.3 * mean)]
        case "equal":
            columns = [7 * weights, 3 * weights]
        case "apart":  # a row holds 2^-40 of the exposure, or less: too little for cheap bounds
            columns = [2 ** rng.integers(0, 43, n_rows), rng.integers(0, 3, n_rows)]
        case _:
            shares = np.eye(4, dtype=np.int64)[np.minimum(3, (4 * rng.random(n_rows) ** mean).astype(int))]
            return np.ascontiguousarray(shares * weights[:, np.newaxis])
    return np.ascontiguousarray(np.column_stack(columns).astype(np.int64))


@pytest.mark.parametrize("simd", _native.instruction_sets())
@pytest.mark.parametrize("kind", ["counts", "times", "equal", "apart", "classes", "rewards"])
@pytest.mark.parametrize("seed", range(4))
def test_cheap_bounds_leave_out_no_stump_that_counts(kind: str, simd: str, seed: int) -> None:
    """The same stumps are the best: the same tree, bounds and work."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.choice([20, 150, 400])), 4))
    X[:, 2:] = np.round(2 * X[:, 2:])
    if kind == "rewards":
        rewards = rng.integers(-3, 4, (len(X), 3)) + np.round(X[:, :3])
        numbers = np.ascontiguousarray((rewards.max(axis=1, keepdims=True) - rewards).astype(np.int64))
        targets = {"task": "policy", "numbers": numbers, "shift": 0}
    else:
        targets = {
            "task": "log_loss" if kind == "classes" else "deviance",
            "numbers": rates_or_shares(rng, kind, X),
            "shift": int(rng.choice([-34, -24])),
        }
    settings = {"min_rows": int(rng.choice([1, 4]))}
    answers = []
    for on in (True, False):
        options = SearchOptions(simd=simd, stump_bounds=on)
        answers.append(native(X, targets, np.ones(len(X)), options, **settings))
    for name in ("upper", "lower", "tree", "counters"):
        assert answers[0][name] == answers[1][name]
    assert answers[0]["upper"] == answers[0]["lower"]


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_neighbours_change_no_tree_of_rates(seed: int) -> None:
    """Rates have no reach: a neighbour with more rows says nothing, one with fewer rows does."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 3)), 1)
    targets = {"task": "deviance", "numbers": rates_or_shares(rng, "times", X), "shift": -24}
    answers = [
        native(X, targets, np.ones(len(X)), SearchOptions(feature_bounds=on), max_depth=4) for on in (True, False)
    ]
    assert answers[0]["upper"] == answers[0]["lower"] == answers[1]["upper"] == answers[1]["lower"]
    assert answers[0]["tree"] == answers[1]["tree"]
    assert answers[0]["counters"]["imported_bounds"] > 0


@pytest.mark.parametrize("seed", [504, 1162, *range(10)])
def test_every_instruction_set_writes_the_same_of_equal_trees(seed: int) -> None:
    """Lanes of a batch are of different numbers, so that equal trees are met in different orders."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 9, (int(rng.integers(5, 9)), 3)).astype(np.float64)
    numbers = 1_000_000 * np.eye(3, dtype=np.int64)[rng.integers(0, 3, len(X))]
    targets = {"task": "log_loss", "numbers": np.ascontiguousarray(numbers), "shift": -21}
    price = 10**11 * int(rng.integers(2))
    trees = [
        native(X, targets, np.ones(len(X)), SearchOptions(simd=str(simd)), leaf_price=price)["tree"]
        for simd in _native.instruction_sets()
    ]
    assert all(tree == trees[0] for tree in trees)


def test_a_finer_unit_of_rates_takes_no_more_work() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    numbers = rates_or_shares(rng, "times", X)
    work = []
    for shift in (-14, -34):
        targets = {"task": "deviance", "numbers": numbers, "shift": shift}
        work.append(native(X, targets, np.ones(len(X)), SearchOptions(), max_depth=3)["counters"]["batches"])
    assert work[1] <= 1.1 * work[0]


def test_a_cost_too_close_to_a_whole_number_of_units_is_no_guess() -> None:
    """Costs of 1e-13 of their parts are beyond twice the precision of a double."""
    numbers = np.column_stack([np.full(4, 2**30), 2**50 + np.arange(4)])
    targets = {"task": "deviance", "numbers": np.ascontiguousarray(numbers), "shift": -60}
    with pytest.raises(ValueError, match="unit"):
        native(np.arange(4.0).reshape(-1, 1), targets, np.ones(4), SearchOptions())


def read(number: float, *, as_decimal: bool) -> Fraction:
    shown = decimal(number)
    assert shown is not None
    return shown if as_decimal else Fraction(number)


@pytest.mark.parametrize("kind", [Numbers, Rewards])
@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_and_are_close_for_numbers_of_any_size(kind: type[SumTarget], seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([0, 1, 2, 2, 3]))
    n_rows = int(rng.integers(1, 16 if depth < 3 else 9))
    X = random_table(rng, n_rows)
    width = 1 if kind is Numbers else int(rng.integers(1, 5))
    as_decimal, scale, zero = bool(rng.integers(2)), 10.0 ** int(rng.integers(-9, 9)), float(rng.choice([0, 0, 1e6]))
    given = rng.normal(size=(n_rows, width)) * scale + zero
    if as_decimal:
        given = np.round(rng.normal(size=(n_rows, width)), 2)
    heavy = rng.choice([None, "whole", "real"])
    weights = None if heavy is None else rng.integers(1, 9, n_rows) / (1 if heavy == "whole" else 10)
    alpha, least_rows = float(rng.choice([0, 0, 0.01, 0.1])), int(rng.choice([1, 1, 2]))
    limits = {"max_depth": depth, "alpha": alpha, "min_samples_leaf": least_rows}
    problem = TreeProblem.by_sums(X, given, kind, sample_weight=weights, **limits)
    result = solve(problem, options=some_options(rng))
    numbers = [[read(number, as_decimal=as_decimal) for number in row] for row in given.tolist()]
    real = [Fraction(1)] * n_rows if weights is None else [read(w, as_decimal=True) for w in weights.tolist()]
    cost, everyone = squared_error if kind is Numbers else lost_reward, list(range(n_rows))
    alone = cost(numbers, real, everyone)
    price = read(alpha, as_decimal=True) * alone
    best = Naive(X, lambda rows: cost(numbers, real, rows), price, least_rows).best(everyone, depth)
    spread = (
        alone if kind is Numbers else alone + sum(w * (max(r) - min(r)) for w, r in zip(real, numbers, strict=True))
    )
    near = spread * Fraction(1, 10**9)
    ulp = best * Fraction(1, 2**52)
    assert Fraction(result.lower_bound) <= best + ulp
    assert best - ulp <= Fraction(result.objective) <= best + near
    assert best - Fraction(result.lower_bound) <= near
    assert result.status in (Status.OPTIMAL, Status.WITHIN_GAP)
    assert rounded_up(problem.real_cost(result.model)) == result.objective


@pytest.mark.parametrize("kind", [Numbers, Rewards])
@pytest.mark.parametrize("seed", range(25))
def test_decimals_far_from_0_are_decimals_whatever_the_weights(kind: type[SumTarget], seed: int) -> None:
    """In float64 1e9 + 0.1 is off by 1e-8: bounds on the float64 number would not hold for the decimal."""
    rng = np.random.default_rng(seed)
    n_rows, width = int(rng.integers(2, 9)), 1 if kind is Numbers else 3
    X, zero = random_table(rng, n_rows), float(rng.choice([1e6, 1e9, 1e11]))
    given = np.round(zero + rng.integers(0, 50, (n_rows, width)) / 10, 1)
    weights = rng.random(n_rows) + 0.01
    result = solve(TreeProblem.by_sums(X, given, kind, sample_weight=weights, max_depth=1))
    numbers = [[read(number, as_decimal=True) for number in row] for row in given.tolist()]
    real = [Fraction(weight) for weight in weights.tolist()]
    cost = squared_error if kind is Numbers else lost_reward
    best = Naive(X, lambda rows: cost(numbers, real, rows)).best(list(range(n_rows)), 1)
    ulp = best * Fraction(1, 2**52)
    assert Fraction(result.lower_bound) <= best + ulp
    assert best - ulp <= Fraction(result.objective) <= best + cost(numbers, real, list(range(n_rows))) / 10**9


def test_leaves_predict_means_and_the_best_action() -> None:
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    numbers = solve(TreeProblem.by_sums(X, [0.1, 0.3, 5.0, 7.0], Numbers, max_depth=1)).model
    assert numbers.values[:, 0].tolist() == [3.1, 0.2, 6.0]
    assert numbers.label.tolist() == [0, 0, 0]
    rewards = [[1.0, 0.0], [3.0, 0.0], [0.0, 8.0], [0.0, 1.0]]
    policy = solve(TreeProblem.by_sums(X, rewards, Rewards, max_depth=1))
    assert policy.model.label[policy.model.feature == LEAF].tolist() == [0, 1]
    assert policy.model.values.tolist() == [[1.0, 2.25], [2.0, 0.0], [0.0, 4.5]]
    assert (policy.objective, policy.lower_bound, policy.status) == (0.0, 0.0, Status.OPTIMAL)


def test_a_perfect_tree_of_numbers_costs_nothing() -> None:
    X = np.arange(8.0).reshape(-1, 1)
    result = solve(TreeProblem.by_sums(X, X[:, 0] // 2, Numbers, max_depth=2))
    assert (result.objective, result.lower_bound, result.status) == (0.0, 0.0, Status.OPTIMAL)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": 2}, "share of what a single leaf costs"),
        ({"max_gap": 1}, "share of what a single leaf costs"),
        ({"targets": [1.0, 2.0]}, "targets"),
        ({"targets": [1e308, -1e308, 0.0]}, "divide it by a power of ten"),
        ({"min_weight_fraction_leaf": 0.9}, "from 0 to 0.5"),
    ],
)
def test_what_cannot_be_used_is_refused(changed: dict[str, Any], said: str) -> None:
    given = {"X": [[1.0], [2.0], [3.0]], "targets": [1.0, 2.0, 3.0], "make": Numbers}
    with pytest.raises(ValueError, match=said):
        TreeProblem.by_sums(**(given | changed))


def test_native_refuses_what_it_cannot_count() -> None:
    X, ones = np.array([[1.0], [2.0]]), [1, 1]
    options = SearchOptions()
    with pytest.raises(ValueError, match="no task"):
        native(X, {"task": "unheard of", "numbers": np.ones((2, 1), dtype=np.int64), "shift": 0}, ones, options)
    with pytest.raises(ValueError, match="2\\^53"):
        native(X, {"task": "squared_error", "numbers": np.full((2, 1), 2**52), "shift": 0}, ones, options)
    with pytest.raises(ValueError, match="unit of cost"):
        native(X, {"task": "squared_error", "numbers": np.array([[0], [2**40]]), "shift": 0}, ones, options)
