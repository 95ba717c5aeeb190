"""The node table checks itself, counts itself, and cannot be changed."""

import copy
import pickle

import numpy as np
import pytest

from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from tests.tables import diamond

NAN = float("nan")


def stump(**changes):
    """x[0] <= 0.5 ? class 0 : class 1, of two rows."""
    columns = {
        "feature": [0, LEAF, LEAF],
        "threshold": [0.5, NAN, NAN],
        "low": [1, LEAF, LEAF],
        "high": [2, LEAF, LEAF],
        "label": [0, 0, 1],
        "weight": [[1, 1], [1, 0], [0, 1]],
        "rows": [2, 1, 1],
        "missing_low": [True, True, True],
    }
    return NodeTable(**{**columns, **changes})


def test_sizes_of_a_stump():
    table = stump()
    assert (table.n_nodes, table.n_leaves, table.n_splits, table.n_classes, table.depth) == (3, 2, 1, 2, 1)
    assert table.is_tree
    assert list(table.splits()) == [0]
    assert table.n_columns == 1


def test_a_lone_leaf_has_depth_0_and_needs_no_column():
    leaf = NodeTable([LEAF], [NAN], [LEAF], [LEAF], [0], [[3.0]], [3], [True])
    assert (leaf.depth, leaf.n_leaves, leaf.n_splits, leaf.n_columns, leaf.is_tree) == (0, 1, 0, 0, True)


def test_a_diagram_shares_nodes():
    table = diamond()
    assert not table.is_tree
    assert table.depth == 2
    assert table.node_depths.tolist() == [0, 1, 1, 2, 2]


def test_arrays_are_copies_and_read_only():
    feature = np.array([0, LEAF, LEAF])
    table = stump(feature=feature)
    feature[0] = 7
    assert table.feature[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        table.threshold[0] = 1.0


def test_equality_compares_values():
    assert stump() == stump()
    assert stump() != stump(threshold=[0.25, NAN, NAN])
    assert stump() != "a stump"
    assert stump(levels=[None, None, None]) == stump()


def test_pickle_and_deepcopy_keep_everything_and_stay_read_only():
    for again in (pickle.loads(pickle.dumps(diamond())), copy.deepcopy(diamond())):
        assert again == diamond()
        assert not again.weight.flags.writeable


def test_copies_of_oblique_tests_stay_read_only():
    normals = Normals(indptr=[0, 1, 1, 1], indices=[1], values=[2.0])
    table = stump(feature=[OBLIQUE, LEAF, LEAF], normals=normals)
    for again in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert again == table
        assert not again.normals.values.flags.writeable


def test_columns_needed_by_oblique_tests():
    normals = Normals(indptr=[0, 2, 2, 2], indices=[1, 4], values=[1.0, -1.0])
    table = stump(feature=[OBLIQUE, LEAF, LEAF], normals=normals)
    assert table.n_columns == 5
    columns, values = table.normals.row(0)
    assert (columns.tolist(), values.tolist()) == ([1, 4], [1.0, -1.0])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"low": [1, LEAF]}, "low has shape"),
        ({"weight": [1, 2, 3]}, "weight has shape"),
        ({"weight": [[1, -1], [1, 0], [0, 1]]}, "not negative"),
        ({"weight": [[1, np.inf], [1, 0], [0, 1]]}, "finite"),
        ({"rows": [2, -1, 1]}, "not negative"),
        ({"label": [0, 0, 2]}, "outside the class codes from 0 to 1"),
        ({"low": [0, LEAF, LEAF]}, "later node"),
        ({"high": [3, LEAF, LEAF]}, "later node"),
        ({"high": [1, LEAF, LEAF]}, "cannot be reached"),
        ({"low": [1, 2, LEAF]}, "must be -1 at a leaf"),
        ({"threshold": [NAN, NAN, NAN]}, "threshold must be nan at leaves"),
        ({"threshold": [0.5, 0.5, NAN]}, "threshold must be nan at leaves"),
        ({"feature": [-3, LEAF, LEAF]}, "feature has a value below -2"),
        ({"feature": [OBLIQUE, LEAF, LEAF]}, "normals is None"),
        ({"levels": [{1}, None, None]}, "threshold must be nan"),
        ({"levels": [None, {1}, None]}, "levels must be None at a leaf"),
        ({"levels": [{-1}, None, None], "threshold": [NAN] * 3}, "negative code"),
        ({"levels": [None]}, "levels has 1 entries"),
        ({"normals": Normals([0, 0], [], [])}, "indptr has 2 entries"),
        ({"normals": Normals([0, 1, 1, 1], [0], [1.0])}, "at oblique nodes"),
    ],
)
def test_a_table_that_is_none_is_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        stump(**changes)


def test_no_nodes_is_refused():
    with pytest.raises(ValueError, match="at least one node"):
        NodeTable([], [], [], [], [], np.empty((0, 2)), [], [])


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (([1, 2], [0], [1.0]), "start at 0"),
        (([0, 2, 1], [0], [1.0]), "not decrease"),
        (([0, 2], [0], [1.0]), "both have"),
        (([0, 1], [-1], [1.0]), "column numbers from 0"),
        (([0, 1], [0], [NAN]), "finite numbers"),
    ],
)
def test_normals_that_are_none_are_refused(parts, says):
    with pytest.raises(ValueError, match=says):
        Normals(*parts)
