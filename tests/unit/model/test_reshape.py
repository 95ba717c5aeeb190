"""Reshaped tables are smaller, larger or renumbered, and predict as before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from proofwood.model.reshape import preorder, prune, reduce, refresh, unroll
from tests.tables import table_of

NAN = float("nan")


def tree_of(nested, n_classes=3):
    """Node table of ``(feature, threshold, low, high)`` tuples and labels; breadth first, one row in each leaf."""
    feature, threshold, low, high, label = [], [], [], [], []
    queue = [(nested, None, None)]
    while queue:
        item, parent, edges = queue.pop(0)
        node = len(feature)
        if parent is not None:
            edges[parent] = node
        split = isinstance(item, tuple)
        feature.append(item[0] if split else LEAF)
        threshold.append(item[1] if split else NAN)
        label.append(0 if split else item)
        low.append(LEAF)
        high.append(LEAF)
        if split:
            queue += [(item[2], node, low), (item[3], node, high)]
    n = len(feature)
    weight = np.zeros((n, n_classes))
    for node in reversed(range(n)):
        if low[node] == LEAF:
            weight[node, label[node]] = 1
        else:
            weight[node] = weight[low[node]] + weight[high[node]]
    return NodeTable(feature, threshold, low, high, label, weight, weight.sum(axis=1), [True] * n)


trees = st.recursive(
    st.integers(0, 2),
    lambda inner: st.tuples(st.integers(0, 2), st.integers(0, 3).map(float), inner, inner),
    max_leaves=12,
).map(tree_of)
inputs = hnp.arrays(np.float64, (30, 3), elements=st.integers(-1, 4).map(float) | st.just(NAN))


def same_predictions(one, other, X):
    np.testing.assert_array_equal(evaluate.predict(one, X), evaluate.predict(other, X))


# ------------------------------------------------------------------ by hand


def test_preorder_by_hand():
    table = preorder(tree_of((0, 0.0, (1, 1.0, 0, 1), (2, 2.0, 1, 2))))
    assert table.feature.tolist() == [0, 1, LEAF, LEAF, 2, LEAF, LEAF]
    assert table.low.tolist() == [1, 2, LEAF, LEAF, 5, LEAF, LEAF]
    assert table.high.tolist() == [4, 3, LEAF, LEAF, 6, LEAF, LEAF]
    assert preorder(table) == table


def test_prune_by_hand():
    table = prune(tree_of((0, 0.0, (1, 1.0, 2, 2), (2, 2.0, 1, 2))))
    assert table == preorder(table)
    assert table.feature.tolist() == [0, LEAF, 2, LEAF, LEAF]
    assert table.label.tolist() == [0, 2, 0, 1, 2]
    assert table.weight[1].tolist() == [0, 0, 2]
    assert prune(tree_of((0, 0.0, (1, 1.0, 2, 2), 2))).n_nodes == 1


def test_prune_of_empty_sides():
    table = tree_of((0, 0.0, (1, 1.0, 2, 1), 0))
    counted = refresh(table, [[-1.0, 0, 0], [1.0, 0, 0]], [2, 0])
    assert prune(counted) == preorder(counted)
    smaller = prune(counted, empty=True)
    assert smaller.feature.tolist() == [0, LEAF, LEAF]
    assert smaller.label.tolist() == [0, 2, 0]
    unseen = refresh(table, np.empty((0, 3)), [])
    assert prune(unseen, empty=True) == preorder(unseen), "without any row, nothing is known to be empty"


def test_reduce_makes_the_diagram_of_exclusive_or():
    table = reduce(tree_of((0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0))))
    assert (table.n_nodes, table.n_splits, table.is_tree) == (5, 3, False)
    assert sorted(table.label[table.feature == LEAF].tolist()) == [0, 1]
    assert table.rows.tolist()[0] == 4
    assert table.rows[table.feature == LEAF].tolist() == [2, 2]


def test_reduce_drops_a_test_of_equal_sides_and_counts_once():
    table = reduce(tree_of((0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 0, 1))))
    assert table.feature.tolist() == [1, LEAF, LEAF]
    assert table.rows.tolist() == [4, 2, 2]
    assert table.weight.tolist() == [[2, 2, 0], [2, 0, 0], [0, 2, 0]]


def test_reduce_keeps_tests_that_send_missing_values_apart():
    table = tree_of((0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 0, 1)))
    flags = table.missing_low.copy()
    flags[1] = False
    assert reduce(table.changed(missing_low=flags)).n_splits == 3


def everything_twice():
    """A root above two equal pairs of a level test and an oblique test."""
    return table_of(
        [0, 1, 1, OBLIQUE, OBLIQUE],
        [1, 3, 4, 5, 6],
        [2, 7, 8, 9, 10],
        [1, 1, 2, 2, 0, 0],
        [0.5, NAN, NAN, 1.0, 1.0],
        levels=[None, {1, 2}, {2, 1}, *[None] * 8],
        normals=Normals([0, 0, 0, 0, 2, 4, *[4] * 6], [0, 2, 0, 2], [1.0, -1.0, 1.0, -1.0]),
    )


def test_reduce_knows_level_and_oblique_tests():
    X = np.array([[0, 1, 0], [1, 1, 1], [3, 2, 0], [3, 0, 0], [0.2, NAN, 9]])
    table = reduce(everything_twice())
    assert (table.n_splits, table.n_leaves) == (2, 3)
    same_predictions(table, everything_twice(), X)
    assert unroll(table).n_nodes == 5
    same_predictions(unroll(table), everything_twice(), X)
    assert prune(everything_twice()) == preorder(everything_twice())
    same_predictions(preorder(everything_twice()), everything_twice(), X)


def test_unroll_copies_shared_nodes_with_their_weights():
    diagram = reduce(tree_of((0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0))))
    tree = unroll(diagram)
    assert tree.is_tree
    assert tree.n_nodes == 7
    X = np.array([[0.0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    np.testing.assert_array_equal(evaluate.probabilities(tree, X), evaluate.probabilities(diagram, X))
    assert refresh(tree, X, [0, 1, 1, 0]).rows.tolist() == [4, 2, 1, 1, 2, 1, 1]


def test_unroll_gives_up_before_memory_does():
    n = 200  # parity of 200 columns: 399 inner nodes, and a tree of 2**201 - 1
    feature = [0] + [f for f in range(1, n) for _ in range(2)]
    low = [1] + [node for f in range(1, n) for node in (2 * f + 1, 2 * f + 2)]
    high = [2] + [node for f in range(1, n) for node in (2 * f + 2, 2 * f + 1)]
    with pytest.raises(ValueError, match=f"has {2**201 - 1} nodes, more than max_nodes=1000000"):
        unroll(table_of(feature, low, high, [0, 1]))


def test_refresh_counts_rows_and_weights():
    table = tree_of((0, 0.5, 0, 1))
    X, codes = [[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]], [0, 1, 2, 1]
    counted = refresh(table, X, codes, sample_weight=[1.0, 0.1, 0.2, 0.0])
    assert counted.rows.tolist() == [3, 1, 2]
    assert counted.weight.tolist() == [[1, 0.1, 0.2], [1, 0, 0], [0, 0.1, 0.2]]
    assert counted.label.tolist() == table.label.tolist()
    relabelled = refresh(table, X, codes, sample_weight=[1.0, 0.1, 0.2, 0.0], relabel=True)
    assert relabelled.label.tolist() == [0, 0, 2]
    assert refresh(table, X, codes, n_classes=5).n_classes == 5
    tie = refresh(table, [[1.0, 0, 0], [1, 0, 0]], [2, 1], relabel=True)
    assert tie.label.tolist() == [1, 0, 1], "ties go to the smallest code; a node without rows keeps its label"


def test_refresh_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    X, codes, weights = rng.integers(0, 2, (500, 3)), rng.integers(0, 3, 500), rng.lognormal(0, 9, 500)
    table, order = tree_of((0, 0.5, 0, (1, 0.5, 1, 2))), rng.permutation(500)
    assert refresh(table, X, codes, sample_weight=weights) == refresh(
        table, X[order], codes[order], sample_weight=weights[order]
    )


@pytest.mark.parametrize(
    ("codes", "weights", "says"),
    [
        ([0], None, "one code and one weight per row"),
        ([0, 3], None, "codes has values from 0 to 3: expected class codes from 0 to 2"),
        ([0, -1], None, "codes has values from -1"),
        ([0, 1], [1.0], "one code and one weight per row"),
        ([0, 1], [1.0, -1.0], "negative"),
        ([0, 1], [1.0, NAN], "non-finite"),
    ],
)
def test_refresh_refuses_bad_data(codes, weights, says):
    with pytest.raises(ValueError, match=says):
        refresh(tree_of(0), np.zeros((2, 3)), codes, sample_weight=weights)


# --------------------------------------------------------------- properties


@given(trees, inputs)
def test_shapes_change_and_predictions_stay(table, X):
    small = reduce(table)
    for other in (preorder(table), prune(table), small, unroll(small), refresh(table, X, np.zeros(30, dtype=int))):
        same_predictions(table, other, X)
    assert reduce(small) == small, "reducing twice changes nothing"
    assert prune(prune(table)) == prune(table)
    assert reduce(prune(table)).n_nodes == small.n_nodes
    assert preorder(unroll(small)) == unroll(small)
    assert prune(table).rows[0] == table.rows[0]


@given(trees, inputs)
def test_merged_nodes_hold_the_rows_that_reach_them(table, X):
    codes = evaluate.predict(table, X)
    counted = refresh(table, X, codes)
    assert reduce(counted) == refresh(reduce(counted), X, codes)
