"""Hypothesis strategies: tiny problems full of ties and corner cases, and every switch of the search."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.options import RULES
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.tree import TreeProblem

SIMD = ("auto", "baseline", "avx2", "avx512")
LANES = (0, 16, 32, 64)
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.nextafter(0.0, 1.0))


def examples(share: float) -> settings:
    """Settings with ``share`` times the examples of the active profile."""
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))


def _neighbours(start: float, count: int) -> tuple[float, ...]:
    values = [start]
    while len(values) < count:
        values.append(math.nextafter(values[-1], math.inf))
    return tuple(values)


_POOLS = (
    (0.0, 1.0),
    (0.0, 1.0, 2.0),
    (-2.0, -1.0, 0.0, 0.5, 3.0),
    tuple(float(v) for v in range(14)),
    tuple(float(v * v) for v in range(14)),
    tuple(v / 10 for v in range(7)),
    (0.1, 0.2, 0.30000000000000004, 0.3),
    (5.0,),  # a constant column
    _neighbours(1.0, 4),
    _neighbours(math.nextafter(2.0, 0.0), 3),  # the spacing doubles in between
    _neighbours(-(2.0**-1022), 4),  # the smallest normal number
    (-SMALLEST, -0.0, 0.0, SMALLEST, 2 * SMALLEST, 3 * SMALLEST),
    (2.0**24, 2.0**24 + 1, 2.0**24 + 2),  # equal or rounded in float32
    (-LARGEST, -1e300, 0.0, 1e300, math.nextafter(LARGEST, 0.0), LARGEST),  # sums overflow
)


@st.composite
def below(draw: st.DrawFn, bound: int, length: int) -> list[int]:
    """``length`` integers from 0 to ``bound - 1``, nearly uniform (lists of integers repeat themselves too often)."""
    return [byte % bound for byte in draw(st.binary(min_size=length, max_size=length))]


@st.composite
def columns(draw: st.DrawFn, n_rows: int) -> list[float]:
    """One column: values of one pool, so that ties are the rule."""
    pool = draw(st.sampled_from(_POOLS))
    return [pool[place] for place in draw(below(len(pool), n_rows))]


@st.composite
def matrices(draw: st.DrawFn, n_rows: int, n_features: int) -> np.ndarray:
    """(n_rows, n_features); at times with a column or rows copied."""
    table = [draw(columns(n_rows)) for _ in range(n_features)]
    if n_features > 1 and draw(st.integers(0, 5)) == 5:
        table[-1] = table[0]
    X = np.array(table, dtype=np.float64).T
    if draw(st.integers(0, 3)) == 3:
        X = X[draw(below(n_rows, n_rows))]
    return X


@st.composite
def sample_weights(draw: st.DrawFn, n_rows: int) -> list[float] | None:
    """None, small integers with zeros among them, decimals, or integers too large for narrow SIMD lanes."""
    value = draw(
        st.sampled_from(
            [
                None,
                None,
                st.integers(0, 5).map(float),
                st.sampled_from([0.1, 0.25, 1e-3, 1.0, 0.0]),
                st.sampled_from([1.0, 2.0, 2.0**14, 2.0**15, 2.0**30, 2.0**31, 2.0**40]),
                st.sampled_from([1 / 3, math.pi, math.sqrt(2.0)]),
            ]
        )
    )
    if value is None:
        return None
    return draw(st.lists(value, min_size=n_rows, max_size=n_rows).filter(any))


@st.composite
def problem_arguments(
    draw: st.DrawFn, *, max_gap: bool = False, most_rows: int = 14, most_depth: int = 4
) -> dict[str, Any]:
    """Arguments of :meth:`TreeProblem.from_arrays`, small enough for enumeration."""
    max_depth = draw(st.sampled_from([depth for depth in (2, 3, 4, 3, 2, 3, 1, 0) if depth <= most_depth]))
    most_rows = min(most_rows, (14, 14, 14, 12, 10)[max_depth])
    n_rows = draw(st.one_of(st.integers(most_rows // 2, most_rows), st.integers(1, most_rows)))
    n_features = draw(st.integers(1, 4 if n_rows <= 10 else 3))
    n_classes = draw(st.sampled_from([2, 3, 2, 4]))
    X = draw(matrices(n_rows, n_features))
    codes = draw(below(n_classes, n_rows))
    gaps = st.one_of(st.integers(0, 4), st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.5]))
    return {
        "X": X,
        "codes": codes,
        "n_classes": n_classes,
        "sample_weight": draw(sample_weights(n_rows)),
        "max_depth": max_depth,
        "alpha": draw(st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.05, 0.0, 0.1, 0.3])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 1, 2, 3, 4])),
        "min_weight_fraction_leaf": draw(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.25])),
        "max_gap": draw(gaps) if max_gap else 0,
    }


def problems(*, max_gap: bool = False, most_rows: int = 14, most_depth: int = 4) -> st.SearchStrategy[TreeProblem]:
    """Tiny problems: 1-14 rows, 1-4 features, 2-4 classes, contradictory rows, weights, prices and limits."""
    arguments = problem_arguments(max_gap=max_gap, most_rows=most_rows, most_depth=most_depth)
    return arguments.map(lambda arguments: TreeProblem.from_arrays(**arguments))


def search_options() -> st.SearchStrategy[SearchOptions]:
    """Every rule on or off, every instruction set and lane width; the default as the simplest value."""
    switches: dict[str, st.SearchStrategy[Any]] = {rule: st.sampled_from([True, False]) for rule in RULES}
    simd = st.deferred(lambda: st.sampled_from(usable_simd()))
    eta = st.sampled_from([math.inf, 0.0, 0.5, 1.0])
    block_work = st.sampled_from([0, 1, 100_000])
    return st.builds(SearchOptions, **switches, simd=simd, lanes=st.sampled_from(LANES), eta=eta, block_work=block_work)


def thread_counts() -> st.SearchStrategy[int]:
    """1 or 3 threads."""
    return st.sampled_from([1, 1, 3])


@cache
def usable_simd() -> tuple[str, ...]:
    """The instruction sets of this machine."""

    def works(simd: str) -> bool:
        try:
            solve(TreeProblem.from_arrays([[0.0], [1.0]], [0, 1], max_depth=2), options=SearchOptions(simd=simd))
        except ValueError:
            return False
        return True

    return tuple(simd for simd in SIMD if works(simd))


def generated(seed: int, n_rows: int, n_features: int, n_classes: int) -> tuple[FloatArray, IntArray]:
    """Rows whose class depends on two or three thresholds, with noise; columns from binary to all values distinct."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features))
    for feature in range(n_features):
        column = rng.normal(size=n_rows)
        decimals = rng.choice([0, 1, 2, 16])
        X[:, feature] = np.round(column, decimals)
    places = X.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") / n_rows
    one, two = rng.integers(0, n_features, 2)
    codes = (places[:, one] > rng.uniform(0.2, 0.8)) + 1 * (places[:, two] > rng.uniform(0.2, 0.8))
    codes += (places[:, one] > 0.9) + rng.integers(0, n_classes)
    noisy = rng.random(n_rows) < rng.choice([0.0, 0.1, 0.3])
    codes[noisy] = rng.integers(0, n_classes, np.count_nonzero(noisy))
    return X, codes % n_classes


def random_problem(seed: int, sets: bool = False, *, absent: int = 0) -> TreeProblem:
    """Ties, noise, weights, many classes, a price of leaves, a minimum of leaves; or columns tested by sets.

    So many more classes are ``absent``.
    """
    rng = np.random.default_rng([seed, sets])
    n, features, classes = int(rng.integers(8, 60)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    if rng.random() < 0.5:
        X, codes = generated(seed, n, features, classes)
    else:
        X, codes = rng.integers(0, rng.choice([2, 4, 40]), (n, features)).astype(float), rng.integers(0, classes, n)
    by_sets: list[int] = []
    if sets:
        by_sets = [j for j in range(features) if rng.random() < 0.5] or [0]
        X[:, by_sets] = rng.integers(0, 4, (n, len(by_sets)))
    minimum = not sets and rng.random() < 0.4
    return TreeProblem.from_arrays(
        X,
        codes,
        n_classes=classes + absent,
        sample_weight=rng.integers(1, rng.choice([2, 4, 10**7]), n) if rng.random() < 0.5 else None,
        max_depth=int(rng.integers(3, 5)),
        alpha=float(rng.choice([0.0, 0.0, 0.01, 0.05])),
        min_samples_leaf=int(rng.choice([2, 4])) if minimum else 1,
        min_weight_fraction_leaf=0.1 if minimum and rng.random() < 0.3 else 0.0,
        max_gap=0,
        by_sets=by_sets,
    )
