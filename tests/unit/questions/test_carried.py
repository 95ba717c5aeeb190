"""An old tree on new rows: what came, what went, fingerprints, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from proofwood import DataError, OptimalTreeClassifier, RowFingerprints
from proofwood.result import Status
from tests.stopped import stopped_fit


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, OptimalTreeClassifier]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    return X, y, OptimalTreeClassifier(2).fit(X, y)


def test_the_same_rows_in_any_order_change_nothing(fitted: Any) -> None:
    X, y, tree = fitted
    carried = tree.carry_over(X[::-1], y[::-1], before=(X, y))
    assert (carried.objective, carried.lower_bound, carried.status) == (
        tree.objective_,
        tree.objective_,
        Status.OPTIMAL,
    )
    assert (carried.added, carried.removed, carried.gap, carried.scope) == (0, 0, 0, ())
    assert "and no tree has less" in str(carried)


def test_added_removed_and_relabelled_rows(fitted: Any) -> None:
    X, y, tree = fitted
    turned = y.copy()
    turned[10] = 1 - y[10]
    new_X, new_y = np.vstack([X[2:], X[:5] + 0.05]), np.append(turned[2:], [2, 0, 1, 0, 1])  # 2 is a new class
    carried = tree.carry_over(new_X, new_y, before=(X, y))
    assert (carried.added, carried.removed, carried.relabelled, carried.total) == (6, 3, 1, 203)
    assert carried.lower_bound == tree.objective_ - 3
    told = tree.predict(new_X)
    assert carried.objective == np.count_nonzero(told != new_y)
    assert f"a new fit saves at most {carried.gap:.0f} (" in str(carried)
    again = OptimalTreeClassifier(2).fit(new_X, new_y)
    assert carried.lower_bound <= again.objective_ <= carried.objective


def test_fingerprints_stand_for_the_rows(fitted: Any, tmp_path: Any) -> None:
    X, y, tree = fitted
    prints = tree.fingerprints(X, y)
    prints.save(tmp_path / "rows.npz")
    known = RowFingerprints.load(tmp_path / "rows.npz")
    new = X[5:], y[5:]
    assert tree.carry_over(*new, before=known) == tree.carry_over(*new, before=(X, y))
    with pytest.raises(ValueError, match="not those of the fit"):
        tree.fingerprints(X[1:], y[1:])
    np.savez(tmp_path / "other.npz", rows=np.zeros(3))
    with pytest.raises(ValueError, match="holds no fingerprints"):
        RowFingerprints.load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "empty.npz").touch()
    (tmp_path / "half.npz").write_bytes((tmp_path / "rows.npz").read_bytes()[:-30])
    np.save(tmp_path / "array.npy", X)
    for name in ("text.npz", "empty.npz", "half.npz", "array.npy"):
        with pytest.raises(ValueError, match="holds no fingerprints: expected a file"):
            RowFingerprints.load(tmp_path / name)


def test_weights_and_prices(fitted: Any) -> None:
    X, y, _ = fitted
    weights = np.arange(200) % 4 * 0.5
    tree = OptimalTreeClassifier(2, alpha=0.01, class_weight={0: 2, 1: 1}).fit(X, y, weights)
    less = weights.copy()
    less[:4] /= 2
    carried = tree.carry_over(X, y, less, before=(X, y, weights))
    gone = ((weights - less) * np.where(y == 0, 2, 1)).sum()
    assert carried.removed == pytest.approx(gone)
    assert carried.lower_bound == pytest.approx(tree.objective_ - gone - 0.01 * gone * 3)
    again = OptimalTreeClassifier(2, alpha=0.01, class_weight={0: 2, 1: 1}).fit(X, y, less)
    assert carried.lower_bound <= again.objective_ <= carried.objective
    assert carried.objective == pytest.approx(tree.recount(X, y, less))


def test_a_stopped_fit_carries_its_bound(fitted: Any) -> None:
    X, y, _ = fitted
    tree = stopped_fit(X, y, 3, 20.0)
    carried = tree.carry_over(X[1:], y[1:], before=(X, y))
    assert carried.lower_bound == 19
    assert carried.status is Status.FEASIBLE


@pytest.mark.filterwarnings("ignore::proofwood.DataWarning")
def test_columns_that_were_left_out_are_named() -> None:
    X = pd.DataFrame({"a": [0, 1, 2, 3], "same": [5, 5, 5, 5]})
    tree = OptimalTreeClassifier(1).fit(X, [0, 1, 0, 1])
    carried = tree.carry_over(X, [0, 1, 0, 1], before=(X, [0, 1, 0, 1]))
    assert carried.scope == ("no test of 'same', which the fit left out",)
    assert "for these tests" in str(carried)


def test_levels_with_an_order_must_be_known() -> None:
    sizes = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    X = pd.DataFrame({"size": pd.Categorical(["S", "M", None, "M"], dtype=sizes)})
    tree = OptimalTreeClassifier(1).fit(X, [0, 1, 1, 1])
    more = pd.DataFrame({"size": pd.Categorical(["S", "M", "XL"], categories=["S", "M", "XL"], ordered=True)})
    with pytest.raises(ValueError, match="'XL'"):
        tree.carry_over(more, [0, 1, 1], before=(X, [0, 1, 1, 1]))


def test_what_cannot_be_carried_is_said(fitted: Any) -> None:
    X, y, tree = fitted
    with pytest.raises(ValueError, match="before is expected to be the rows of the fit"):
        tree.carry_over(X, y, before=X)
    with pytest.raises(ValueError, match="not those of the fit"):
        tree.carry_over(X, y, before=(X[1:], y[1:]))
    with pytest.raises(ValueError, match="labels for 200 rows"):
        tree.carry_over(X, y[1:], before=(X, y))
    for given, message in (
        ({"min_samples_leaf": 5}, "leaves have a minimum"),
        ({"class_weight": "balanced"}, "weights that stay"),
        ({"criterion": "balanced_accuracy"}, "weights that stay"),
        ({"criterion": "gini"}, "is about wrong rows"),
    ):
        with pytest.raises(ValueError, match=message):
            OptimalTreeClassifier(1, **given).fit(X, y).carry_over(X, y, before=(X, y))


def test_fingerprints_of_another_fit_are_refused(fitted: Any) -> None:
    X, y, tree = fitted
    part = OptimalTreeClassifier(1).fit(X[:20], y[:20])
    for before in (part.fingerprints(X[:20], y[:20]), part.fingerprints(X[:20], y[:20], np.ones(20))):
        with pytest.raises(ValueError, match="before holds the fingerprints of other rows: 20 of the weights"):
            tree.carry_over(X, y, before=before)
    other = OptimalTreeClassifier(1).fit(X, 1 - y)
    with pytest.raises(ValueError, match="fingerprints of other rows"):
        tree.carry_over(X, y, before=other.fingerprints(X, 1 - y))


@pytest.mark.parametrize(
    "options", [{}, {"alpha": 0.013}, {"class_weight": {0: 1, 1: 3}}, {"max_depth": None, "alpha": 0.03}]
)
def test_decimal_weights_are_read_as_the_fit_reads_them(options: dict[str, Any]) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y, weights = rng.integers(0, 6, (40, 2)).astype(float), rng.integers(0, 2, 40), rng.integers(1, 9, 40) / 10
        tree = OptimalTreeClassifier(**{"max_depth": 2, **options}).fit(X, y, weights)
        same = tree.carry_over(X, y, weights, before=(X, y, weights))
        assert (same.status, same.objective, same.gap) == (Status.OPTIMAL, tree.objective_, 0)
        fewer = tree.carry_over(X[:-4], y[:-4], weights[:-4], before=(X, y, weights))
        again = OptimalTreeClassifier(**{"max_depth": 2, **options}).fit(X[:-4], y[:-4], weights[:-4])
        assert fewer.lower_bound <= again.objective_ <= fewer.objective


def test_a_new_level_is_a_row_like_any_other_unless_its_column_has_an_order() -> None:
    ordered = pd.CategoricalDtype(["low", "high"], ordered=True)
    X = pd.DataFrame({"job": list("aabbcc") * 10, "size": pd.Categorical(["low", "high"] * 30, dtype=ordered)})
    y = np.array([0, 0, 1, 1, 0, 1] * 10)
    tree = OptimalTreeClassifier(2).fit(X, y)
    carried = tree.carry_over(X.assign(job=["zz", *X["job"][1:]]), y, before=(X, y))
    assert (carried.added, carried.removed) == (1, 1)
    more = pd.CategoricalDtype(["low", "high", "vast"], ordered=True)
    vast = X.assign(size=pd.Categorical(["vast", *X["size"][1:]], dtype=more))
    with pytest.raises(DataError, match=r"'vast' in row 0.*: correct it$"):
        tree.carry_over(vast, y, before=(X, y))
