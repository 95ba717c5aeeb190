"""Survival trees: the deviance against all trees of small tables, curves and scores against their formulas."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood import DataError, OptimalSurvivalTree, load
from proofwood.estimators.survival_curves import Survival, brier_scores, concordance


def deviance(times, events, weights):
    """Twice what one hazard falls short of a hazard per row, in log-likelihood."""
    exposure, died = math.fsum(times * weights), math.fsum(events * weights)
    if not died:
        return 0.0
    own = math.fsum(w * -math.log(t) for t, e, w in zip(times, events, weights, strict=True) if e)
    return 2 * (own - died * math.log(died / exposure))


def least(X, y, weights, depth, price, least_rows):
    """The least objective of a tree, over all trees."""
    found = deviance(y[:, 0], y[:, 1], weights)
    for column in range(X.shape[1] if depth else 0):
        for cut in np.unique(X[:, column])[:-1]:
            low = X[:, column] <= cut
            if min(low.sum(), (~low).sum()) >= least_rows:
                sides = (least(X[at], y[at], weights[at], depth - 1, price, least_rows) for at in (low, ~low))
                found = min(found, price + sum(sides))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_tree_has_a_smaller_deviance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 11))
    X = rng.integers(0, 4, (n, int(rng.integers(1, 3)))).astype(float)
    y = np.column_stack([rng.integers(1, 9, n) / rng.choice([1.0, 10.0]), rng.integers(0, 2, n)])
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else np.ones(n)
    depth, alpha, least_rows = int(rng.integers(0, 3)), float(rng.choice([0.0, 0.1])), int(rng.choice([1, 2]))
    tree = OptimalSurvivalTree(depth, alpha=alpha, min_samples_leaf=least_rows, time_limit=None).fit(X, y, weights)
    alone = deviance(y[:, 0], y[:, 1], weights)
    best = least(X, y, weights, depth, alpha * alone, least_rows)
    assert tree.objective_ == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert tree.lower_bound_ <= best + 1e-9
    assert tree.gap_ <= 1e-9 * max(alone, 1e-300)
    assert tree.recount(X, y, weights) == tree.objective_


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    died = rng.exponential(np.where(X[:, 0] > 0, 30.0, 120.0)).round() + 1
    seen = rng.exponential(100.0, n).round() + 1
    y = np.empty(n, dtype=[("event", "?"), ("time", "f8")])
    y["event"], y["time"] = died <= seen, np.minimum(died, seen)
    return X, y


def test_curves_are_those_of_the_rows_in_a_leaf(tmp_path):
    X, y = data()
    tree = OptimalSurvivalTree(2).fit(X, y)
    leaf = tree.apply(X)
    survival = tree.predict_survival_function(X, return_array=True)
    hazard = tree.predict_cumulative_hazard_function(X, return_array=True)
    assert survival.shape == hazard.shape == (200, tree.unique_times_.size)
    for row in (0, 7, 91):
        same = leaf == leaf[row]
        assert tree.predict(X)[row] == pytest.approx(y["event"][same].sum() / y["time"][same].sum())
        alive, risk = 1.0, 0.0
        for k, time in enumerate(tree.unique_times_.tolist()):
            at_risk = np.count_nonzero(y["time"][same] >= time)
            died = np.count_nonzero((y["time"][same] == time) & y["event"][same])
            alive *= 1 - (died / at_risk if at_risk else 0.0)
            risk += died / at_risk if at_risk else 0.0
            assert survival[row, k] == pytest.approx(alive, abs=1e-12)
            assert hazard[row, k] == pytest.approx(risk, abs=1e-12)
        curve = tree.predict_survival_function(X)[row]
        assert np.array_equal(curve(tree.unique_times_), survival[row])
        assert curve(0) == 1.0
    tree.save(tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert np.array_equal(again.predict_survival_function(X, return_array=True), survival)
    assert again.summary().splitlines()[0] == tree.summary().splitlines()[0]


def test_concordance_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(2, 30))
        times, events, risk = rng.integers(1, 8, n) * 1.0, rng.random(n) < 0.6, rng.integers(0, 4, n) * 1.0
        right = pairs = 0.0
        for i in range(n):
            for j in range(n):
                if events[i] and (times[i] < times[j] or (times[i] == times[j] and not events[j])):
                    pairs += 1
                    right += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
        found = concordance(times, events, risk)
        assert math.isnan(found) if not pairs else found == pytest.approx(right / pairs)


def test_brier_scores_without_censoring_are_mean_squared_errors():
    rng = np.random.default_rng(2)
    times, survival = rng.exponential(10.0, 50), rng.random((50, 3))
    at = np.quantile(times, [0.2, 0.5, 0.8])
    found = brier_scores(times, np.ones(50, dtype=bool), survival, at)
    assert found == pytest.approx((((times[:, None] > at) - survival) ** 2).mean(axis=0))


def test_brier_scores_weigh_rows_by_the_share_that_is_not_censored():
    # of four rows one is censored at time 2: later rows stand for it too, 3 / 2 each
    times, events = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    found = brier_scores(times, events, np.full((4, 1), 0.25), np.array([3.0]))
    alive = 2 / 3  # share not censored after time 2
    assert found[0] == pytest.approx((0.25**2 + 0.25**2 / alive + 0.75**2 / alive) / 4)


def test_a_tree_foretells_better_than_one_curve_for_all():
    X, y = data(400)
    train, test = slice(0, 250), slice(250, 400)
    tree, alone = (OptimalSurvivalTree(depth).fit(X[train], y[train]) for depth in (1, 0))
    assert tree.score(X[test], y[test]) > 0.6
    assert alone.score(X[test], y[test]) == 0.5
    assert tree.integrated_brier_score(X[test], y[test]) < alone.integrated_brier_score(X[test], y[test])


def test_targets_are_read_in_every_form():
    X, y = data(60)
    expected = OptimalSurvivalTree(1).fit(X, y)
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(3)} | {"died": y["event"], "days": y["time"]})
    for given in (
        (X, np.column_stack([y["event"], y["time"]])),
        (X, np.column_stack([y["time"], y["event"]])),
        (X, frame[["died", "days"]]),
        (frame, ["days", "died"]),
        (pd.DataFrame(frame.to_dict(as_series=False)), ["died", "days"]),
    ):
        tree = OptimalSurvivalTree(1).fit(*given)
        assert tree.objective_ == expected.objective_
        assert tree.score(*given) == expected.score(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones((4, 3)), "y has 3 columns"),
        (np.arange(8.0).reshape(4, 2) + 2, "neither column of y is an event"),
        (np.array([[1, 0.0], [0, 1], [1, 2], [1, 3]]), "the time 0 in row 0"),
        (np.array([[1, np.nan], [0, 1], [1, 2], [1, 3]]), "no number in row 0"),
        (np.array([[1, 1.0], [0, 1], [1, 2]]), "X has 4 rows and y has 3 targets"),
    ],
)
def test_targets_that_cannot_be_used(y, message):
    with pytest.raises((DataError, ValueError), match=message):
        OptimalSurvivalTree(1).fit(np.arange(4.0).reshape(-1, 1), y)


def test_a_curve_of_a_file_is_checked():
    _, y = data(40)
    curve = Survival.of(y["time"], y["event"], np.ones(40)).to_dict()
    with pytest.raises(ValueError, match="survival that falls"):
        Survival.from_dict({**curve, "survival": curve["survival"][::-1]})
    with pytest.raises(ValueError, match="no times"):
        Survival.from_dict({"times": [1.0]})


def test_a_limit_ends_the_reading_of_times():
    rng = np.random.default_rng(0)
    y = np.column_stack([rng.random(60_000) + 0.1, np.ones(60_000)])
    with pytest.raises(TimeoutError, match=r"limit of 0\.05 s was reached while 60,000 rows"):
        OptimalSurvivalTree(1, time_limit=0.05).fit(rng.random((60_000, 1)), y)
