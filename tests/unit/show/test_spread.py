"""The bars at a node hold its rows, each on the side to which it goes."""

from __future__ import annotations

import numpy as np
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.model import evaluate
from proofwood.show.labels import heading, side
from proofwood.show.spread import node_counts, spreads
from tests import report_models


@pytest.mark.parametrize(
    "make",
    [
        report_models.depth_four,
        report_models.small,
        report_models.diagram,
        report_models.hostile,
        report_models.timed,
        report_models.levelled,
        report_models.many_levels,
        report_models.numbers,
        report_models.actions,
    ],
)
def test_bars_left_of_the_cut_are_the_rows_that_go_left(make):
    model, X, y = make()
    table, labels = model.model_, model._names()
    X, codes = model._coloured_rows(X, y, "y")
    counts, found = node_counts(table, X, codes), spreads(table, labels, X, codes)
    visits = evaluate.decision_path(table, X)
    np.testing.assert_array_equal(counts.sum(axis=1), np.asarray(visits.sum(axis=0)).ravel())
    assert set(found) == {node for node in table.splits() if counts[node].any()}
    for node, spread in found.items():
        np.testing.assert_array_equal(spread.rows.sum(axis=0), counts[node])
        rows = np.flatnonzero(visits[:, [node]].toarray().ravel())
        low = evaluate.goes_low(table, X, rows, np.full(rows.size, node))
        middle = spread.left + spread.width / 2
        assert spread.rows[middle < spread.cut].sum() == low.sum()
        assert np.all(spread.left > -1e-9)
        assert np.all(spread.left + spread.width < 1 + 1e-9)
        order = np.argsort(spread.left)
        assert np.all(np.diff(spread.left[order]) > spread.width[order][:-1] - 1e-9), "bars do not overlap"
        assert all(0 <= low <= high <= 1 + 1e-9 for _, _, low, high, _ in spread.parts())
        assert all(0 <= label.x <= 1 for label in spread.labels)


@pytest.mark.parametrize(
    "values", [[1.0, 1.0, 1.0, 2.0], [0.0, 1e300, -1e300, 5.0], [1e-300, 2e-300, 3e-300, 4e-300], [-3, -2, 7, 8]]
)
def test_any_numbers_have_a_spread(values):
    X, y = np.array(values)[:, None], np.array([0, 0, 1, 1])
    model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    for spread in spreads(model.model_, model._names(), X, y).values():
        assert spread.rows.sum() == 4
        assert np.all(np.isfinite(spread.left))


def test_a_single_row_and_rows_of_unknown_classes():
    model, X, y = report_models.small()
    X, codes = model._coloured_rows(X, y, "y")
    (root, *_) = spreads(model.model_, model._names(), X[:1], codes[:1])
    assert root == 0
    assert spreads(model.model_, model._names(), X[:1], np.array([2])) == {}
    assert node_counts(model.model_, X[:1], np.array([2])).sum() == 0


def test_edges_name_levels_count_many_and_never_say_yes_or_no():
    model, *_ = report_models.small()
    table, labels = model.model_, model._names()
    texts = {side(table, node, labels, low) for node in table.splits() for low in (True, False)}
    assert texts
    assert not {"yes", "no"} & texts
    city = next(node for node in table.splits() if heading(table, node, labels) == "city")
    assert side(table, city, labels, True, most=0).endswith(" of 3")


def test_an_edge_with_missing_values_has_one_reading():
    model, *_ = report_models.levelled()
    table, labels = model.model_, model._names()
    texts = {side(table, node, labels, low) for node in table.splits() for low in (True, False)}
    assert "missing or not active" in texts
    assert not any(text.startswith("not ") and "missing" in text for text in texts)


def test_ends_of_axes_are_whole_minutes_and_bare_numbers():
    model, X, y = report_models.timed()
    found = spreads(model.model_, model._names(), *model._coloured_rows(X, y, "y"))
    texts = [label.text.rstrip("+") for spread in found.values() for label in spread.labels if not label.strong]
    assert any(":" in text for text in texts)
    assert not any(text.count(":") > 1 or text.endswith((",", ":")) for text in texts)
    large = np.arange(3000.0)[:, None] * 7
    model = OptimalTreeClassifier(max_depth=1).fit(large, large[:, 0] > 9000)
    (spread,) = spreads(model.model_, model._names(), large, (large[:, 0] > 9000).astype(int)).values()
    assert not any("," in label.text for label in spread.labels), "as the cut is written"


def test_rows_have_the_colour_of_the_nearest_leaf_or_of_their_best_action():
    model, X, y = report_models.numbers()
    numbers = np.unique(model.predict(X))
    _, codes = model._coloured_rows(X, y, "y")
    np.testing.assert_array_equal(codes, np.abs(np.asarray(y)[:, None] - numbers).argmin(axis=1))
    policy, X, rewards = report_models.actions()
    _, codes = policy._coloured_rows(X, rewards, "y")
    np.testing.assert_array_equal(codes, rewards.to_numpy().argmax(axis=1))
    with pytest.raises(ValueError, match="y_new has 3 targets for 400 rows"):
        model._coloured_rows(X, y[:3], "y_new")
    with pytest.raises(ValueError, match="expected a reward per row and action"):
        policy._coloured_rows(X, rewards[:, :2], "y")
