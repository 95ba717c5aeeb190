"""The number of a test: what the rule says of values of every kind, by hand."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import pytest

from proofwood import OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier, OptimalTreeCV, load
from proofwood.data.kinds import Kind
from proofwood.data.moments import DAY, EPOCH, HOUR, MINUTE, SECOND
from proofwood.data.thresholds import ThresholdRule, midpoints, placed, shortest_between, shortest_whole_between
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF
from tests.tables import plane
from tests.unit.model.test_reshape import NAN, same_predictions, tree_of

LARGEST = float(np.finfo(np.float64).max)
TINY = 5e-324


# ------------------------------------------------------------------------------------------------------ two values


@pytest.mark.parametrize(
    ("low", "high", "threshold"),
    [
        (19800.12, 20396.64, 20000.0),
        (1.9, 3.0, 2.0),
        (1.3, 1.5, 1.4),
        (0.1, 0.2, 0.15),
        (13.17, 13.18, 13.175),
        (1.0, 4.0, 2.0),  # 2 and 3 are as near
        (95.0, 1003.0, 500.0),
        (-0.2, -0.1, -0.15),
        (-4.0, -1.0, -3.0),
        (-1.0, 1.0, 0.0),
        (-1.0, 9.0, 4.0),
        (1e-7, 3e-7, 2e-7),
        (1e20, 3e20, 2e20),
        (-1e308, 1.7e308, 3e307),
        (-LARGEST, LARGEST, 0.0),
        (0.0, TINY, 0.0),  # nothing between
        (-TINY, 0.0, -TINY),
        (-TINY, TINY, 0.0),
        (0.0, 2 * TINY, TINY),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0), 1.0),
        (2.0**53, 2.0**53 + 2, 2.0**53),
        (2.0**53, 2.0**53 + 4, 2.0**53 + 2),
        (float(np.float32(0.1)), float(np.float32(0.2)), 0.2),  # float32 rounds 0.2 up
        (float(np.float32(0.1)), float(np.nextafter(np.float32(0.1), np.float32(1))), 0.100000005),
    ],
)
def test_the_shortest_decimal(low, high, threshold):
    found = shortest_between(float(low), float(high))
    assert found == threshold
    assert str(found) != "-0.0"


@pytest.mark.parametrize(
    ("low", "high", "threshold"),
    [
        (45, 46, 45),
        (41, 49, 45),
        (41, 50, 45),
        (40, 50, 40),  # the shortest
        (1234, 5678, 3000),
        (0, 1, 0),
        (-1, 0, -1),
        (-3, 5, 1),
        (-10, 11, 0),
        (2**53, 2**53 + 2, 2**53),
        (2**60, 2**60 + 256, 2**60),
        (2**60, 2**60 + 4096, float("1.15292150460685e18")),
    ],
)
def test_the_shortest_whole_number(low, high, threshold):
    found = shortest_whole_between(float(low), float(high))
    assert found == threshold
    assert low <= found < high


def test_midpoints_of_awkward_neighbours():
    a = [1e308, -LARGEST, 0.0, -TINY, 1.0, -np.inf, 1.0, -np.inf, LARGEST / 2]
    b = [LARGEST, LARGEST, TINY, 0.0, np.nextafter(1.0, 2), 1.0, np.inf, np.inf, LARGEST]
    middle = midpoints(a, b)
    assert np.all(a <= middle)
    assert np.all(middle < b)
    assert middle[[1, 2, 4, 6]].tolist() == [0.0, 0.0, 1.0, 1.0]


# ---------------------------------------------------------------------------------------------------------- columns


def of_column(values, kind=Kind.NUMERIC, at=None, **how):
    """The threshold of a stump that tests one column, where ``at`` parts the values."""
    X = np.array(values, dtype=np.float64)[:, np.newaxis]
    stump = tree_of((0, float(np.mean(values) if at is None else at), 0, 1))
    return float(placed(stump, X, [kind], **how).threshold[0])


def micro(text):
    return (datetime.fromisoformat(text) - EPOCH).total_seconds() * SECOND


def test_columns_of_whole_numbers_are_told_by_their_values():
    assert of_column([45, 46]) == 45
    assert of_column([45, 46], Kind.INTEGER) == 45
    assert of_column([45, 46, NAN], at=45.5) == 45, "whole numbers with gaps are floats in many tables"
    assert of_column([45, 46, 50.5], at=45.5) == 45.5
    assert of_column([0, 1, 2], at=0.5) == 0


def test_of_0_and_1_it_is_the_half():
    for kind in (Kind.NUMERIC, Kind.INTEGER, Kind.BOOLEAN):
        assert of_column([0, 1], kind) == 0.5


def test_levels_with_an_order_are_whole_codes():
    assert of_column([0, 1], Kind.ORDERED) == 0
    assert of_column([1, 4], Kind.ORDERED) == 2
    assert of_column([10, 90], Kind.ORDERED) == 50, "codes are names, of which no digits count"


@pytest.mark.parametrize(
    ("low", "high", "threshold"),
    [
        ("2024-05-03T22:00", "2024-05-04T08:00", "2024-05-04"),
        ("2024-05-01T10:00", "2024-05-06T10:00", "2024-05-04"),
        ("2024-05-01", "2024-05-06", "2024-05-03"),  # 3 and 4 are as near
        ("2024-05-03T10:20", "2024-05-03T14:30", "2024-05-03T12:00"),
        ("2024-05-03T10:20", "2024-05-03T10:27", "2024-05-03T10:23"),
        ("2024-05-03T10:20:10", "2024-05-03T10:20:13", "2024-05-03T10:20:11"),
        ("2024-05-03T10:20:10.25", "2024-05-03T10:20:10.250002", "2024-05-03T10:20:10.250001"),
        ("1969-12-30T22:00", "1969-12-31T08:00", "1969-12-31"),
    ],
)
def test_moments_are_whole_days_where_that_separates(low, high, threshold):
    assert of_column([micro(low), micro(high)], Kind.MOMENT) == micro(threshold)


def test_dates_times_and_durations():
    assert of_column([100, 103], Kind.DATE) == 101
    assert of_column([100, 101], Kind.DATE) == 100
    assert of_column([0, 20 * HOUR], Kind.TIME) == 10 * HOUR, "midnight is a whole day, and no time to stop at"
    assert of_column([HOUR + MINUTE, HOUR + 2 * MINUTE], Kind.TIME) == HOUR + MINUTE
    assert of_column([0.5 * DAY, 1.5 * DAY], Kind.DURATION) == DAY


# ------------------------------------------------------------------------------------------------------------ tables


def test_neighbours_are_those_of_the_rows_at_the_node():
    table = tree_of((0, 0.9, (1, 7.0, 0, 1), (0, 2.0, 1, 2)))
    X = np.array([[0.0, 1, 0], [0.5, 2, 0], [1.0, 100, 0], [4.0, 0, 0], [NAN, 8.0, 0]])
    # root: 0.5 | 1; low side: rows 0, 1 and the missing one, 2 | 8; high side: 1 | 4
    for rule, expected in ((ThresholdRule.SHORTEST, [0.7, 5, 2]), (ThresholdRule.MIDPOINT, [0.75, 5.0, 2.5])):
        moved = placed(table, X, rule=rule)
        assert moved.threshold[moved.feature != LEAF].tolist() == expected
        same_predictions(moved, table, X)


def test_where_no_row_of_the_node_lies_on_a_side_those_of_the_column_count():
    table = tree_of((0, 0.5, (0, 0.7, 0, 1), 2))
    X = np.array([[0.1, 0, 0], [0.61, 0, 0], [0.99, 0, 0]])
    moved = placed(table, X)
    assert moved.threshold[moved.feature != LEAF].tolist() == [0.4, 0.8], "of 0.1 | 0.61, and of 0.61 | 0.99"
    alone = placed(table, X[:1])
    assert alone.threshold[alone.feature != LEAF].tolist() == [0.5, 0.7], "nothing to separate: nothing moves"


def test_equal_tests_stay_equal_where_they_must():
    table = tree_of((1, 0.5, (0, 2.5, 0, 1), (0, 2.5, 1, 0)))
    X = np.array([[1.0, 0, 0], [2.0, 1, 0], [3.5, 1, 0], [4.0, 0, 0]])
    apart, equal = placed(table, X), placed(table, X, of_tests=True)
    assert apart.threshold[apart.feature == 0].tolist() == [2.0, 3.0]
    assert equal.threshold[equal.feature == 0].tolist() == [3.0, 3.0]


def test_a_test_for_gaps_stays():
    for end in (-np.inf, np.inf):
        table = tree_of((0, end, 0, 1))
        assert placed(table, [[1.0, 0, 0], [NAN, 0, 0]]).threshold[0] == end


# -------------------------------------------------------------------------------------------------- weighted sums


def test_coefficients_get_short_where_the_sides_keep_half_of_their_distance():
    table = plane([1.0, -0.123456789], 0.41)
    moved = placed(table, [[0.0, 0.0], [1.0, 0.0]])
    assert (moved.normals.values.tolist(), moved.threshold[0]) == ([1.0, -0.1], 0.5)
    near = [[0.5333, 1.0], [0.4102, 0.0]]  # 0.40984 and 0.4102; with 0.123 it would be 0.4103 and 0.4102
    moved = placed(table, near)
    assert moved.normals.values.tolist() == [1.0, -0.1235]
    same_predictions(moved, table, near)
    assert placed(table, near, rule=ThresholdRule.MIDPOINT) == table


def test_coefficients_stay_where_the_sides_are_as_near_as_an_engine_permits():
    table = plane([1.0, -0.123456789], 0.5)
    X = [[0.49995, 0.0], [0.50005, 0.0], [0.0, 1.0], [1.0, 0.0]]
    moved = placed(table, X)
    assert moved.normals == table.normals or moved.normals.values.tolist() == table.normals.values.tolist()
    assert moved.threshold[0] == 0.5


# ----------------------------------------------------------------------------------------------------- the learners

LEARNERS = (
    OptimalTreeClassifier(2),
    OptimalTreeCV((1, 2), cv=2),
    OptimalBDDClassifier(2),
    OptimalDiagramClassifier((1, 2)),
)


def test_a_file_from_before_the_choice_has_midpoints(tmp_path):
    X, y = np.arange(6.0)[:, np.newaxis], [0, 0, 0, 1, 1, 1]
    path = tmp_path / "model.json"
    OptimalTreeClassifier(1, threshold_rule="midpoint").fit(X, y).save(path)
    saved = json.loads(path.read_text())
    assert saved["model"]["estimator"]["parameters"].pop("threshold_rule") == "midpoint"
    path.write_text(json.dumps(saved))
    assert load(path, check=False).threshold_rule == "midpoint"


@pytest.mark.parametrize("rule", ["middle", None, 1, ["shortest"]])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_an_unknown_rule_is_refused(learner, rule):
    wrong = type(learner)(**{**learner.get_params(), "threshold_rule": rule})
    with pytest.raises(ValueError, match="expected one of 'shortest', 'midpoint'"):
        wrong.fit([[0.0], [1.0]] * 4, [0, 1] * 4)


def test_rows_of_weight_0_are_no_neighbours():
    X, y = np.array([[1.0], [1.9], [3.05], [4.0]]), [0, 0, 1, 1]
    tree = OptimalTreeClassifier(1).fit(X, y, sample_weight=[1, 0, 0, 1])
    assert tree.model_.threshold[0] == 2
    assert evaluate.predict(tree.model_, X[[0, 3]]).tolist() == [0, 1]
