"""What a fit of a small table leaves out answers as the long way does."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.multiclass import check_classification_targets

from proofwood import OptimalTreeClassifier, jobs, memory
from proofwood.estimators.input import classes_and_codes
from proofwood.model.node_table import LEAF
from proofwood.model.reshape import preorder
from proofwood.model.sums import holds_infinity, holds_nan
from proofwood.problem.objectives import TreeCost
from tests.tables import stump

ROWS = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(
    "values",
    [
        np.array([-128, 127, 0, 127], dtype=np.int8),
        np.array([255, 3, 3], dtype=np.uint8),
        np.array([2**64 - 1, 2**64 - 5, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), -(2**63) + 3], dtype=np.int64),
        np.array([-(2**63), 2**63 - 1], dtype=np.int64),
        np.array([10**12, 5, 10**12], dtype=np.int64),
        np.array([True, False, True]),
        np.array([False, False]),
        np.array(["b", "a", "b"]),
        np.array([0.0, 1.0, 1.0]),
    ],
)
def test_classes_are_those_of_numpy(values: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        classes, codes = classes_and_codes(values)
    expected, index = np.unique(values, return_inverse=True)
    assert classes.dtype == expected.dtype
    assert classes.tolist() == expected.tolist()
    assert codes.dtype == np.int64
    assert codes.tolist() == index.tolist()


def test_labels_that_are_no_classes_are_refused_and_many_are_warned_of() -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classes_and_codes(np.array([0.5, 1.5]))
    warned = []
    for check in (check_classification_targets, classes_and_codes):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            check(np.arange(15))
        warned.append([str(one.message) for one in seen])
    assert warned[0] == warned[1]  # none before scikit-learn 1.7


def test_a_fit_on_an_array_forgets_the_names_of_a_frame() -> None:
    y = (ROWS[:, 0] > 0).astype(int)
    tree = OptimalTreeClassifier(max_depth=1).fit(pd.DataFrame(ROWS, columns=["a", "b", "c"]), y)
    assert tree.feature_names_in_.tolist() == ["a", "b", "c"]
    tree.fit(ROWS[:, :2], y)
    assert not hasattr(tree, "feature_names_in_")
    assert tree.n_features_in_ == 2


def test_the_rows_are_neither_copied_nor_changed() -> None:
    X, y = ROWS.copy(), (ROWS[:, 0] > 0).astype(int)
    X.flags.writeable = False
    tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert np.array_equal(X, ROWS)
    for other in (np.asfortranarray(X), X.tolist(), X[::1, ::-1][:, ::-1], X.astype(">f8")):
        assert OptimalTreeClassifier(max_depth=2).fit(other, y).model_ == tree.model_


@pytest.mark.parametrize("at", [0, 17, 119])
def test_one_sum_finds_what_is_not_finite(at: int) -> None:
    large = np.full((40, 3), 1e308)  # whose sum overflows
    large[::2] *= -1
    assert not holds_nan(ROWS)
    assert not holds_infinity(ROWS)
    assert not holds_nan(np.abs(large))
    assert not holds_infinity(np.abs(large))
    for rows in (ROWS, large):
        for value in (np.nan, np.inf, -np.inf):
            X = rows.copy()
            X.flat[at] = value
            assert holds_nan(X) == bool(np.isnan(value))
            assert holds_infinity(X) == bool(np.isinf(value))
    both = ROWS.copy()
    both[0, 0], both[1, 1] = np.inf, -np.inf
    assert not holds_nan(both)
    assert holds_infinity(both)
    both[2, 2] = np.nan
    assert holds_nan(both)
    assert holds_infinity(both)


def test_a_changed_table_is_checked_where_it_changed() -> None:
    table = stump(feature=1)
    walker = table.walker
    counted = table.changed(rows=np.array([7, 4, 3]))
    assert counted.rows.tolist() == [7, 4, 3]
    assert counted.walker is walker
    assert not counted.rows.flags.writeable
    moved = table.changed(threshold=np.array([0.75, np.nan, np.nan]))
    assert moved.walker is not walker
    assert table.threshold[0] == 0.5
    with pytest.raises(ValueError, match="threshold must be nan at leaves"):
        table.changed(threshold=np.array([0.75, 1.0, np.nan]))
    with pytest.raises(ValueError, match="must be the numbers of later nodes"):
        table.changed(low=np.array([0, LEAF, LEAF]))
    with pytest.raises(ValueError, match="rows and weight must be finite"):
        table.changed(weight=-table.weight)
    with pytest.raises(ValueError, match="missing_low has shape"):
        table.changed(missing_low=np.array([True]))


def test_a_table_in_preorder_stays_as_it_is() -> None:
    table = stump(feature=1)
    assert preorder(table) is table
    turned = table.changed(low=np.array([2, LEAF, LEAF]), high=np.array([1, LEAF, LEAF]))
    assert preorder(turned).label.tolist() == [0, 1, 0]


def test_one_thread_needs_no_count_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "cpu_count", lambda: pytest.fail("the cores were counted"))
    assert jobs.jobs_of(1) == 1
    assert jobs.jobs_of(None) == 1


def test_what_is_free_is_looked_at_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([1000, 500, None])
    now = [100.0]
    monkeypatch.setattr(memory, "_looked", None)
    monkeypatch.setattr(memory, "available", lambda: next(free))
    monkeypatch.setattr(memory.time, "monotonic", lambda: now[0])
    assert memory._free(10) == 1000
    now[0] += 0.8 * memory.LOOK
    assert memory._free(10) == 1000
    assert memory._free(310) == 700  # the process took 300 since
    assert memory._free(5000) == 0
    now[0] += 0.3 * memory.LOOK
    assert memory._free(310) == 500
    now[0] += 2 * memory.LOOK
    assert memory._free(310) is None


def test_what_is_unreadable_tells_nothing(tmp_path: Path) -> None:
    assert memory._read(tmp_path / "none") is None
    (tmp_path / "text").write_bytes(b"\xff")
    assert memory._read(tmp_path / "text") is None


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 3), Fraction(2**60, 7), Fraction(1, 10)])
def test_costs_are_rounded_once(unit: Fraction) -> None:
    cost = TreeCost.of(alpha=Fraction(1, 30), total=1000, unit=unit)
    for integer in (0, 1, 7, 12_345, 2**51 + 1):
        exact = integer * unit / cost.error_price
        assert cost.in_weight(integer) == exact
        assert cost.reported(integer, integer)[0] == float(exact)
