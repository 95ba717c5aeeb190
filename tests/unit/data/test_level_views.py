"""Views of columns whose sets of levels are tested, and the way back."""

import numpy as np
import pytest

from proofwood.data.views import View, Views, set_ranks
from proofwood.estimators.tree_learner import Sets, sets_of
from proofwood.model.reshape import with_absent_levels
from tests.tables import NAN, stump, table_of


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_levels", [1, 2, 3, 4])
def test_each_set_once_and_no_complement(n_levels, gaps):
    place = np.arange(n_levels)
    found = [tuple(ranks) for ranks in set_ranks(place, place, gaps=gaps)]
    assert len(set(found)) == len(found) == 2 ** (n_levels - 1 + gaps) - 1
    for ranks in found:
        assert tuple(1 - np.array(ranks)) not in found or gaps


def test_pooled_levels_stay_together_and_absent_ones_go_high():
    place = np.array([2, 0, 2, 1, 5])
    found = list(set_ranks(place, np.array([0, 1, 2, 3]), gaps=False))
    assert len(found) == 3
    assert all(ranks[0] == ranks[2] and ranks[4] == 1 for ranks in found)


@pytest.mark.parametrize(
    ("levels", "classes", "depth", "minimum", "expected"),
    [
        (2, 60, 9, True, Sets.ALL),
        (12, 2, 9, False, Sets.ALL),
        (13, 2, 2, False, Sets.ALL),
        (64, 10, 2, False, Sets.ALL),
        (13, 2, 3, False, Sets.ALL_LOW),
        (64, 2, 3, False, Sets.ALL_LOW),
        (65, 2, 2, False, Sets.ORDERED),
        (3, 11, 2, False, Sets.ORDERED),
        (5, 2, 3, True, Sets.ALL),
        (6, 2, 1, True, Sets.ORDERED),
    ],
)
def test_which_sets(levels, classes, depth, minimum, expected):
    assert sets_of(levels, classes, depth, minimum=minimum) is expected


def test_a_set_of_ranks_is_a_set_of_levels_with_or_without_gaps():
    rank = np.array([1, 0, 1, 2])
    views = Views((View(0, 3.0, rank, by_sets=True),), 1)
    X = np.array([[0.0], [1.0], [3.0], [np.nan]])
    assert views.by_sets == (0,)
    assert views.values(X).ravel().tolist() == [1, 0, 2, 3]
    lifted = views.lift(stump(NAN, levels=(frozenset((1, 3)), None, None)))
    assert lifted.levels[0] == {0, 2}
    assert lifted.missing_low[0]
    other = views.lift(stump(NAN, levels=(frozenset((0, 2)), None, None)))
    assert other.levels[0] == {1, 3}
    assert not other.missing_low[0]


def test_a_threshold_on_two_levels_is_a_set():
    views = Views((View(0, 1.0, np.array([0, 0]), by_sets=True),), 1)
    lifted = views.lift(stump())
    assert lifted.levels[0] == {0, 1}
    assert not lifted.missing_low[0]


@pytest.mark.parametrize(("weights", "expected"), [([3, 1, 1, 0], {0, 2}), ([1, 1, 1, 0], {0}), ([2, 1, 1, 0], {0})])
def test_absent_levels_go_to_the_heavier_side(weights, expected):
    table = table_of([1, 0], [1, 2], [4, 3], [0, 0, 0], [0.5, NAN], levels=(None, frozenset({0}), None, None, None))
    X = np.array([[0, 0], [1, 0], [1, 0], [2, 1]], dtype=float)  # level 2 does not come to the second test
    assert with_absent_levels(table, X, np.array(weights)).levels[1] == expected


def test_a_row_without_gaps_has_as_many_numbers_as_there_are_views():
    X = np.array([[1.0, 5.0, 7.0], [NAN, 6.0, 7.0], [2.0, 4.0, 7.0]])
    views = Views.of(X, left_out=(2,))  # two views of the first column, one of the second, none of the third
    assert len(views.views) == X.shape[1]
    assert views.values(X[:1]).tolist() == [[1.0, 1.0, 5.0]]
    assert views.values(X).tolist() == [[1.0, 1.0, 5.0], [-np.inf, np.inf, 6.0], [2.0, 2.0, 4.0]]
