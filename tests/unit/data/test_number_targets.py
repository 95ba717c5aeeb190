"""Targets of numbers: what is read, what is refused, and with which way out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import proofwood
from proofwood import OptimalPolicyTree, OptimalTreeRegressor
from proofwood.data.number_targets import target_numbers
from proofwood.exceptions import DataError
from proofwood.hints import named_by_options

NUMBERS = [1234.5, 12.25, -7.0, 900.0]


def german(numbers: list[float], unit: str = "") -> list[str]:
    return [f"{number:,.2f}{unit}".translate(str.maketrans(",.", ".,")) for number in numbers]


READ: dict[str, Any] = {
    "floats": NUMBERS,
    "array": np.array(NUMBERS, dtype=np.float32),
    "decimals": [Decimal(str(number)) for number in NUMBERS],
    "decimals of polars": pl.Series("p", [Decimal(str(number)) for number in NUMBERS]),
    "text": [str(number) for number in NUMBERS],
    "padded text": [f" {number} " for number in NUMBERS],
    "text with commas": german(NUMBERS),
    "amounts": german(NUMBERS, " EUR"),
    "text of numpy": np.array(german(NUMBERS, " EUR")),
    "text of polars": pl.Series("p", german(NUMBERS, " €")),
    "shares": [f"{number} %" for number in NUMBERS],
}


@pytest.mark.parametrize("y", READ.values(), ids=READ.keys())
def test_numbers_and_text_of_numbers_are_read(y: Any) -> None:
    assert target_numbers(y).values.tolist() == NUMBERS


@pytest.mark.parametrize(
    ("y", "numbers"),
    [
        (np.array([True, False]), [1, 0]),
        (pl.Series([True, False]), [1, 0]),
        (pl.Series([3, 4], dtype=pl.UInt8), [3, 4]),
        (["12.500 EUR", "900 EUR"], [12500, 900]),
        ([[1], [2]], [[1], [2]]),
        ([["1,5 €", "2,25 €"], ["3,0 €", "4 €"]], [[1.5, 2.25], [3, 4]]),
        (pl.DataFrame({"a": ["1,5 €"], "b": [2]}), [[1.5, 2]]),
    ],
    ids=["booleans", "booleans of polars", "bytes", "thousands of money", "a column", "two columns", "a frame"],
)
def test_other_numbers(y: Any, numbers: list[Any]) -> None:
    assert target_numbers(y).values.tolist() == numbers


@pytest.mark.needs("pandas")
def test_types_of_pandas() -> None:
    import pandas as pd

    for y in (
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="Float32"),
        pd.Series(["1", "2"], dtype="string"),
        pd.Series([Decimal(1), Decimal(2)]),
    ):
        assert target_numbers(y).values.tolist() == [1, 2]
    assert target_numbers(pd.Series([True, False], dtype="boolean")).values.tolist() == [1, 0]
    for y in (pd.Series([1, None], dtype="Int64"), pd.Series([1, None], dtype="Float64"), pd.Series([1, None])):
        with pytest.raises(DataError, match=r"no number in row 1 \(nan\), and in 1 of 2 rows in all"):
            target_numbers(y)
    for y, what in ((pd.to_timedelta([1, 2], unit="h"), "durations"), (pd.to_datetime(["2020-01-01"]), "dates")):
        with pytest.raises(DataError, match=f"the target 'due' holds {what}.*turn it into numbers first, such as"):
            target_numbers(pd.Series(y, name="due"))
    with pytest.raises(DataError, match=r"holds '1', '2', and this learner predicts numbers.*OptimalTreeClassifier"):
        target_numbers(pd.Series([1, 2]).astype("category"))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b"], "the target 'y' holds 'a', 'b', and this learner predicts numbers"),
        ([*german([*range(40)], " EUR"), "auf Anfrage"], "but for 'auf Anfrage', and was not read: correct"),
        (["1,234", "5,678"], "written like 1,234.5 or 1.234,5, and was not read: turn it into numbers"),
        (["2020-01-01", "2020-02-01"], "holds dates, and this learner predicts numbers: turn it into numbers first"),
        ([dt.timedelta(hours=2), dt.timedelta(hours=3)], "holds durations"),
        (["8:30", "9:15"], "holds times of day"),
        (pl.Series([1.0, None]), r"no number in row 1 \(nan\), and in 1 of 2 rows in all"),
        (["1.5", "n/a"], r"no number in row 1 \(nan\), and in 1 of 2 rows"),
        ([1.0, np.inf], r"row 1 \(inf\).*drop the rows, or replace it"),
        ([None, None], r"no number in row 0 \(nan\), and in 2 of 2 rows"),
        (np.array([2**60 + 1, 5]), "float64 cannot hold exactly"),
        ([1, 3j], "Complex data not supported"),
    ],
)
def test_other_targets_are_refused_with_the_way_out(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        target_numbers(y)


def test_on_the_command_line_messages_name_options() -> None:
    with named_by_options():
        for y, option in (([None, 1.0], "--drop-missing-target"), (["1,234"], "--decimal"), (["a"], "--model tree")):
            with pytest.raises(DataError, match=option):
                target_numbers(y)


def test_other_columns_decide_what_the_target_leaves_open() -> None:
    n = 60
    rows = {"area": [f"{20 + k},5" for k in range(n)], "price": [f"{1 + k},{k:03}" for k in range(n)]}
    with pytest.warns(proofwood.DataWarning, match=r"'price' as numbers written like 1\.234,5"):
        tree = OptimalTreeRegressor(max_depth=1).fit(pl.DataFrame(rows), "price")
    assert tree.model_.values is not None
    assert tree.model_.values[0, 0] == pytest.approx(np.mean([1 + 1.001 * k for k in range(n)]))


def test_new_rows_are_read_as_those_of_training(tmp_path: Any) -> None:
    X = pl.DataFrame({"x": np.arange(40.0)})
    y = np.where(np.arange(40) < 20, 1234.5, 17.25)
    with pytest.warns(proofwood.DataWarning, match="read from text: 'y' as numbers written like"):
        tree = OptimalTreeRegressor(max_depth=1).fit(X, german(y.tolist(), " EUR"))
    assert tree.objective_ == pytest.approx(0, abs=1e-6)
    tree.save(tmp_path / "tree.json")
    for one in (tree, proofwood.load(tmp_path / "tree.json")):
        assert one.target_forms_ == ("number , EUR",)
        assert one.to_targets(["12.500"]).tolist() == [12500]  # as in training, where it is alone
        assert one.score(X, german(y.tolist())) == pytest.approx(1)
        assert one.recount(X, y) == tree.objective_


def test_rewards_are_read_column_by_column() -> None:
    X = pl.DataFrame({"x": np.arange(40.0)})
    rewards = pl.DataFrame({"none": ["0,00 €"] * 40, "mail": german(np.linspace(-1, 1, 40).round(2).tolist(), " €")})
    with pytest.warns(proofwood.DataWarning, match="'mail' as numbers written like"):
        policy = OptimalPolicyTree(max_depth=1).fit(X, rewards)
    assert policy.predict(X[[0, 39]]).tolist() == ["none", "mail"]
    assert policy.score(X, rewards) == policy.value_


def test_a_target_of_one_number_is_told() -> None:
    with pytest.warns(proofwood.DataWarning, match="all rows have one target, 3.5, so that there is nothing to learn"):
        OptimalTreeRegressor().fit(pl.DataFrame({"x": np.arange(40.0)}), np.full(40, 3.5))


@pytest.mark.parametrize("seed", [35, 61, 72])
def test_a_trace_of_rounded_costs_ends_with_its_least_bound(seed: int, tmp_path: Path) -> None:
    """The tree is recounted below the bound of the rounded costs, and the file of the model was refused."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 160))
    X, y = rng.choice([0.0, 1.0, np.nan], (n, 1)), 1.5e9 + rng.choice([0.2, 0.3, 0.4, 0.5, 0.6], n)
    options: dict[str, Any] = {"alpha": 1 / 3, "criterion": "gamma", "min_weight_fraction_leaf": 0.2, "max_gap": 0.1}
    tree = OptimalTreeRegressor(max_depth=2, **options).fit(X, y)
    assert all(before.lower_bound <= after.lower_bound for before, after in pairwise(tree.trace_))
    assert all(before.objective >= after.objective for before, after in pairwise(tree.trace_))
    tree.save(tmp_path / "model.json")
    assert proofwood.load(tmp_path / "model.json").objective_ == tree.objective_
