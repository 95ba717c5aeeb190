"""Tiny problems of layered diagrams, for the engines that solve them and for what they share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from proofwood.engines.diagram.shape import Diagram
from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import MOST_NODES, DiagramCost, DiagramProblem, Penalty, Rate
from proofwood.problem.ranked import RankedRows

ALPHAS = (0.0, 0.01, 0.01, 0.01, 0.01, 0.1, 0.1, 0.2, 0.2, 0.5, 1.0)
WIDTHS = ((1,), (1, 1), (1, 2), (1, 1, 1), (1, 2, 1), (1, 1, 2), (1, 2, 2))
PRICES = (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5))
RATIOS = (Fraction(0), Fraction(1, 2), Fraction(4, 5), Fraction(9, 10), Fraction(1))


def problem_of(
    ranks: Any,
    codes: Any,
    widths: tuple[int, ...] = (1, 2),
    *,
    alpha: float = 0.1,
    weights: Any = None,
    tests_of: Any = None,
    n_classes: int | None = None,
    oblique: bool = False,
    **more: Any,
) -> DiagramProblem:
    """The problem of these ranks, with a test of each that occurs if nothing else is said, and two classes at least."""
    ranks = np.asarray(ranks)
    tests = ranks.max(axis=0) if tests_of is None else np.asarray(tests_of)
    n_classes = max(2, int(np.max(codes)) + 1) if n_classes is None else n_classes
    rows = RankedRows.from_ranks(ranks, tests, codes, n_classes=n_classes, sample_weight=weights)
    columns = rows.ranks / np.maximum(1, tests) if oblique else None
    cost = DiagramCost.of(alpha=alpha, total=rows.total, widths=widths)
    return DiagramProblem(rows, widths, cost, columns=columns, **more)


def diagram_problem(
    rng: np.random.Generator, *, max_rows: int = 12, max_tests: int = 6, max_slots: int = 5, constraints: bool = False
) -> DiagramProblem:
    """A problem full of ties: few tests, contradictions, duplicates; a class of its own pattern in two of three.

    Parameters
    ----------
    rng : decides everything
    max_rows, max_tests, max_slots : most rows, tests, and inner nodes of the skeleton
    constraints : whether to ask for few nodes, heavy nodes or fair rates as well; a tree or no tree in any case
    """
    kinds = rng.random(3) < 0.5 if constraints else np.zeros(3, dtype=np.bool_)
    if constraints and not kinds.any():
        kinds[rng.integers(3)] = True
    # Fair diagrams of many tests have too many outcomes, none better than another, for the enumeration.
    rows = ranked_rows(rng, max_rows=max_rows, max_tests=min(max_tests, 4) if kinds[2] else max_tests)
    fitting = [widths for widths in WIDTHS if sum(widths) <= max_slots]
    # The deep skeletons are what is worth looking at.
    widths = fitting[max(rng.integers(len(fitting)), rng.integers(len(fitting)))]
    alpha = float(rng.choice(ALPHAS))
    max_splits, min_weight = MOST_NODES, 0
    if kinds[0]:
        max_splits = int(max(rng.integers(0, sum(widths) + 1), rng.integers(0, sum(widths) + 1)))
    if kinds[1]:
        min_weight = max(1, int(rows.total * rng.choice([0.3, 0.4, 0.5, 0.6])))
    problem = DiagramProblem(
        rows,
        widths,
        DiagramCost.of(alpha=alpha, total=rows.total, widths=widths),
        tree=bool(rng.random() < 0.3),
        max_splits=max_splits,
        min_weight=min_weight,
        rates=fair_rates(rng, rows) if kinds[2] else (),
    )
    return penalised(rng, problem) if kinds[2] and rng.random() < 0.5 else problem


def penalised(rng: np.random.Generator, problem: DiagramProblem) -> DiagramProblem:
    """``problem`` with penalties for two or three groups, which mostly take the place of its fairness constraints.

    A group pays for what it lacks to every other one, in one or two rates; now and then two constraints have a price.
    """
    rows = problem.rows
    penalties: list[tuple[Fraction, tuple[Rate, ...]]] = []
    for _ in range(1 + int(rng.random() < 0.2)):
        price, ratio = (PRICES[rng.integers(len(PRICES))], RATIOS[rng.integers(1, len(RATIOS))])
        group = rng.integers(0, rng.choice([2, 2, 3]), rows.n_rows)
        positive = int(rng.integers(rows.n_classes))
        right, weights = rows.codes == positive, counted_by(rows)
        for part in ([np.ones_like(right)], [right], [~right], [right, ~right])[rng.integers(4)]:
            sides = [(group == one) & part for one in range(3) if ((group == one) & part).any()]
            for left in sides:
                others = [other for other in sides if other is not left]
                rates = tuple(Rate(left, other, weights, positive, ratio, "one") for other in others)
                penalties += [(price, rates)] if rates else []
    cost = problem.cost.finer(price for price, _ in penalties)
    return replace(
        problem,
        cost=cost,
        rates=problem.rates if rng.random() < 0.3 else (),
        penalties=tuple(Penalty(rates, int(cost.error_price * price)) for price, rates in penalties),
    )


def ranked_rows(rng: np.random.Generator, *, max_rows: int, max_tests: int) -> RankedRows:
    """From 1 to ``max_rows`` rows of 0/1 columns or of columns with several tests."""
    n_rows = max_rows - min(int(rng.integers(max_rows)) for _ in range(3))
    n_classes = int(rng.choice([2, 2, 3]))
    weights = rng.integers(1, rng.choice([3, 8]), n_rows) if rng.random() < 0.4 else None
    tests_of = [1] * int(rng.integers(1, max_tests + 1))
    if rng.random() < 0.5:
        tests_of = []
        while not tests_of or (sum(tests_of) < max_tests and rng.random() < 0.7):
            tests_of.append(int(rng.integers(1, min(4, max_tests - sum(tests_of)) + 1)))
    ranks = rng.integers(0, np.array(tests_of) + 1, (n_rows, len(tests_of)))
    bits = np.concatenate([ranks[:, [j]] > np.arange(most) for j, most in enumerate(tests_of)], axis=1)
    codes = rng.integers(0, n_classes, n_rows)
    pattern = rng.integers(0, 4)
    if pattern:  # a weighted sum of the tests, or a parity of some of them, with noise
        chosen = rng.permutation(bits.shape[1])[: pattern + 1]
        sums = bits @ rng.integers(0, 3, bits.shape[1]) if pattern == 1 else bits[:, chosen].sum(axis=1)
        clean = rng.random(n_rows) < rng.choice([0.8, 0.95])
        codes[clean] = sums[clean] % n_classes
    if max(tests_of) == 1:
        return RankedRows.from_bits(bits, codes, n_classes=n_classes, sample_weight=weights)
    return RankedRows.from_ranks(ranks, tests_of, codes, n_classes=n_classes, sample_weight=weights)


def fair_rates(rng: np.random.Generator, rows: RankedRows) -> tuple[Rate, ...]:
    """Demographic parity or equal opportunity, both ways, of two groups; sometimes equalised odds; none of one row."""
    if rows.n_rows < 2:
        return ()
    if rng.random() < 0.5:  # the groups are told by a test
        member = rows.bits()[:, rng.integers(rows.n_tests)] == 1
    else:
        member = rng.random(rows.n_rows) < 0.5
    positive = int(rng.integers(rows.n_classes))
    ratio = RATIOS[rng.integers(len(RATIOS))]
    right, weights = rows.codes == positive, counted_by(rows)
    kind = rng.integers(3)
    parts = [np.ones(rows.n_rows, dtype=np.bool_)] if kind == 0 else [right] if kind == 1 else [right, ~right]
    rates = []
    for part in parts:
        one, other = member & part, ~member & part
        if one.any() and other.any():
            rates += [
                Rate(one, other, weights, positive, ratio, "one by other"),
                Rate(other, one, weights, positive, ratio, "other by one"),
            ]
    return tuple(rates)


def counted_by(rows: RankedRows) -> IntArray:
    """Weights of rows in rates: those of errors, or others in two of five problems."""
    rng = np.random.default_rng([*rows.codes.tolist(), *rows.weights.tolist()])
    return rng.integers(1, 4, rows.n_rows) if rng.random() < 0.4 else rows.weights


def corner_cases() -> tuple[DiagramProblem, ...]:
    """No tests, tests that tell nothing, nothing to learn, nothing permitted, and nodes that all rows pass alike."""

    def problem(rows: RankedRows, *widths: int, alpha: float = 0.01, **other: Any) -> DiagramProblem:
        return DiagramProblem(rows, widths, DiagramCost.of(alpha=alpha, total=rows.total, widths=widths), **other)

    cube = np.array(list(product((0, 1), repeat=3)))
    square = RankedRows.from_bits(cube[::2, :2], cube[::2, :2].sum(axis=1) % 2)
    parity = RankedRows.from_bits(cube, cube.sum(axis=1) % 2)
    half = square.codes == square.bits()[:, 0]
    equal = tuple(Rate(a, ~a, square.weights, 1, Fraction(1), name) for a, name in ((half, "one"), (~half, "other")))
    return (
        problem(RankedRows.from_bits(np.empty((3, 0)), [0, 1, 1]), 1, 2),
        problem(RankedRows.from_bits([[1], [1], [1]], [0, 1, 1]), 1, 2),
        problem(RankedRows.from_bits([[1, 0]], [1]), 1, 2),
        problem(RankedRows.from_bits(cube, [2] * 8), 1, 2, 2, alpha=0.0),
        problem(RankedRows.from_bits(cube, [0] * 8, n_classes=3), 1),
        problem(square, 1, alpha=1.0),
        problem(square, 1, 2, alpha=0.0, max_splits=0),
        problem(square, 1, 2, alpha=0.0, min_weight=5),
        problem(square, 1, 2, alpha=0.0, min_weight=4),
        problem(square, 1, 2, alpha=0.0, min_weight=2),
        problem(square, 1, 2, rates=equal),
        problem(square, 1, 1, 2),  # the root passes all rows on
        problem(square, 1, 1, 2, tree=True),  # it has no test for that
        problem(RankedRows.from_bits(np.hstack([square.bits(), np.ones((4, 1))]), square.codes), 1, 1, 2, tree=True),
        problem(parity, 1, 2, 2),
        problem(parity, 1, 2, 2, tree=True),
        problem(parity, 1, 2, 1),
        problem(parity, 1, 1, 1),
    )


def random_diagram(rng: np.random.Generator, problem: DiagramProblem) -> Diagram:
    """Any diagram of the skeleton, whatever constraints on size, weights and rates it breaks; oblique if asked."""
    n_classes, n_tests = problem.rows.n_classes, problem.rows.n_tests
    if (n_tests == 0 and not problem.oblique) or rng.random() < 0.1:
        return Diagram.leaf(int(rng.integers(n_classes)))
    layer: list[int] = []
    low: list[int] = []
    high: list[int] = []
    nodes, after = [0], 1
    for number, width in enumerate((*problem.widths[1:], 0)):
        arcs = [[~int(code) for code in rng.integers(n_classes, size=2)] for _ in nodes]
        free = [(node, side) for node in range(len(nodes)) for side in (0, 1)]
        rng.shuffle(free)
        below = list(range(after, after + int(rng.integers(0, min(width, len(free)) + 1))))
        for target in below:
            node, side = free.pop()
            arcs[node][side] = target
        if below and not problem.tree:
            for node, side in free:
                if rng.random() < 0.5:
                    arcs[node][side] = int(rng.choice(below))
        layer += [number] * len(nodes)
        low += [first for first, _ in arcs]
        high += [second for _, second in arcs]
        nodes, after = below, after + len(below)
        if not nodes:
            break
    k = len(layer)
    if problem.columns is None:
        return Diagram(tuple(layer), tuple(low), tuple(high), tuple(rng.integers(n_tests, size=k).tolist()))
    normals = np.round(rng.uniform(-1, 1, (k, problem.columns.shape[1])), 1) * (rng.random((k, 1)) < 0.9)
    return Diagram(tuple(layer), tuple(low), tuple(high), (), normals, np.round(rng.uniform(-1, 1, k), 1))


@st.composite
def diagram_problems(draw: st.DrawFn, *, max_rows: int = 8, max_tests: int = 4) -> DiagramProblem:
    """Problems of :func:`diagram_problem`, with and without constraints."""
    asked = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, tests = draw(st.integers(1, max_rows)), draw(st.integers(1, max_tests))
    slots = draw(st.integers(1, 5))
    return diagram_problem(rng, max_rows=rows, max_tests=tests, max_slots=slots, constraints=asked)
