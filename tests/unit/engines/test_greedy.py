"""Greedy choices of tests: information gain from the top down, and the tests of a CART tree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier

from proofwood.engines.bdd.cells import CellTable
from proofwood.engines.bdd.oblivious import choose_tests
from proofwood.engines.bdd.splits import entropy
from proofwood.model.node_table import NodeTable
from proofwood.papers.maxsat_bdd.heuristic import tests_of_cart as cart_tests
from proofwood.papers.maxsat_bdd.solve import solve
from proofwood.problem.bdd import Unknown
from proofwood.problem.greedy import greedy_errors
from proofwood.problem.ranked import RankedRows
from tests.bdd_problems import problem_of
from tests.strategies import below, matrices

XOR = RankedRows.from_bits([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0]], [0, 1, 1, 0])


def greedy(rows: RankedRows, size: int, unknown: Unknown) -> NodeTable:
    """ODT, where cells without rows follow their parent, or OODG, where subtables are merged."""
    table = solve(problem_of(rows, size, unknown=unknown), variant="greedy").model
    assert table is not None
    return table


def test_the_first_test_tells_most_and_ties_go_to_the_first():
    rows = RankedRows.from_bits([[0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 0, 0]], [1, 0, 1, 0])
    assert choose_tests(rows, 3) == (1,)  # tells all, as does its copy after it
    assert choose_tests(XOR, 1) == (2,)  # no single test of the exclusive or tells anything, the third one does
    assert choose_tests(RankedRows.from_bits([[0], [1]], [1, 1]), 2) == ()
    assert choose_tests(XOR, 0) == ()


def test_no_test_is_chosen_for_nothing():
    exclusive = RankedRows.from_bits([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    assert choose_tests(exclusive, 2) == ()
    assert greedy(exclusive, 2, Unknown.PARENT).n_nodes == 1


def test_unknown_cells_are_filled_by_the_parent_or_merged():
    # 00 -> 0, 01 unknown, 10 -> 1, 11 -> 0
    rows = RankedRows.from_bits([[0, 0], [1, 0], [1, 1], [1, 0]], [0, 1, 0, 1])
    cells = CellTable.of(rows, choose_tests(rows, 2))
    odt, oodg = greedy(rows, 2, Unknown.PARENT), greedy(rows, 2, Unknown.MERGE)
    assert rows.errors(odt) == rows.errors(oodg) == cells.errors == 0
    assert oodg.n_splits == 2


def test_entropy_is_that_of_the_classes():
    counts = np.array([[3, 1], [0, 2]])
    assert entropy(counts) == pytest.approx(-(3 * math.log(3 / 4) + math.log(1 / 4)), rel=1e-15)


@st.composite
def tables(draw: st.DrawFn) -> RankedRows:
    n_rows, n_classes = draw(st.integers(2, 12)), draw(st.integers(2, 3))
    X = draw(matrices(n_rows, draw(st.integers(1, 4))))
    codes = draw(below(n_classes, n_rows))
    return RankedRows.with_tests(X, (), codes, n_classes=n_classes)[1]


@given(rows=tables(), size=st.integers(0, 3))
def test_each_test_has_the_greatest_information(rows: RankedRows, size: int):
    tests = choose_tests(rows, size)
    for place in range(len(tests)):
        scores = [_conditional_entropy(rows, [*tests[:place], test]) for test in range(rows.n_tests)]
        assert scores[tests[place]] <= min(scores) + 1e-9
        assert scores[tests[place]] < _conditional_entropy(rows, tests[:place])
    for unknown in (Unknown.PARENT, Unknown.MERGE):
        assert rows.errors(greedy(rows, size, unknown)) == CellTable.of(rows, tests).errors


def _conditional_entropy(rows: RankedRows, tests: list[int] | tuple[int, ...]) -> float:
    weights = CellTable.of(rows, tuple(dict.fromkeys(tests))).weights.astype(float)
    return float(sum(-n * math.log(n / row.sum()) for row in weights for n in row if n > 0))


@given(rows=tables(), seed=st.integers(0, 99))
def test_order_and_duplicates_of_rows_change_nothing(rows: RankedRows, seed: int):
    order = np.random.default_rng(seed).permutation(rows.n_rows)
    twice = np.concatenate([order, order])
    doubled = RankedRows(rows.ranks[twice], rows.tests_of, rows.codes[twice], rows.weights[twice], rows.n_classes)
    assert choose_tests(rows, 3) == choose_tests(doubled, 3)
    assert cart_tests(rows, 2) == cart_tests(doubled, 2)


def test_the_tests_of_cart_are_those_of_scikit_learn():
    random = np.random.default_rng(4)
    X = random.random((60, 4)).round(2)
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)).astype(int)
    binarizer, rows = RankedRows.with_tests(X, (), y, n_classes=2)
    used = cart_tests(rows, 2)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y).tree_
    chosen = [(int(f), float(t)) for f, t in zip(tree.feature, tree.threshold, strict=True) if f >= 0]
    ours = [(int(binarizer.feature[test]), float(binarizer.threshold[test])) for test in used]
    assert sorted(f for f, _ in chosen) == sorted(f for f, _ in ours)
    root = next(t for f, t in chosen)
    assert any(abs(t - root) < 0.02 for _, t in ours)


def test_all_tests_where_cart_uses_few():
    rows = RankedRows.from_bits([[0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 1, 1])
    assert cart_tests(rows, 3) == (0, 1, 2)  # one test suffices, which is fewer than three
    assert cart_tests(rows, 1) == (0,)


@pytest.mark.parametrize("name", ["load_iris", "load_wine", "load_breast_cancer"])
def test_errors_of_the_greedy_tree_are_those_of_scikit_learn(name):
    X, y = getattr(datasets, name)(return_X_y=True)
    for depth, least in ((1, 1), (2, 5), (3, 1), (4, 7)):
        cart = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=least, random_state=0).fit(X, y)
        assert greedy_errors(X, y, max_depth=depth, min_rows=least) == int((cart.predict(X) != y).sum())


@given(st.data())
def test_a_greedy_split_is_of_least_impurity(data):
    n = data.draw(st.integers(1, 9))
    X, y = data.draw(matrices(n, 2)), np.array(data.draw(below(3, n)))
    least = data.draw(st.integers(1, 3))

    def cost(part):
        counts = np.bincount(y[part])
        return part.sum() - (counts**2).sum() / part.sum(), part.sum() - counts.max()

    splits = [(cost(X[:, j] <= t), cost(X[:, j] > t)) for j in range(2) for t in np.unique(X[:, j])[:-1]
              if least <= (X[:, j] <= t).sum() <= n - least]  # fmt: skip
    whole = cost(np.ones(n, dtype=bool))
    best = min((low[0] + high[0] for low, high in splits), default=0.0)
    possible = {low[1] + high[1] for low, high in splits if low[0] + high[0] <= best + 1e-9}
    if not splits or whole[1] == 0:
        possible = {whole[1]}
    assert greedy_errors(X, y, max_depth=1, min_rows=least) in possible
