from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood.data.columns import Column, Columns, Kind, read_columns, require_exact_integers
from proofwood.data.frames import is_frame
from proofwood.exceptions import DataError


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "length": [1.5, float("nan"), 2.5],
            "count": [1, 2, None],
            "wet": [True, None, False],
            "colour": ["red", "blue", None],
            "size": pl.Series(["small", "large", "small"], dtype=pl.Enum(["small", "medium", "large"])),
        }
    )


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "length": [1.5, float("nan"), 2.5],
            "count": pd.array([1, 2, None], dtype="Int64"),
            "wet": pd.array([True, None, False], dtype="boolean"),
            "colour": ["red", "blue", None],
            "size": pd.Categorical(["small", "large", "small"], ["small", "medium", "large"], ordered=True),
        }
    )


@pytest.mark.parametrize("frame", [polars_frame(), pandas_frame()], ids=["polars", "pandas"])
def test_frames_become_numbers_with_their_meaning(frame):
    columns = read_columns(frame, units={"length": "cm"})
    nan = np.nan
    np.testing.assert_array_equal(columns.values, [[1.5, 1, 1, 1, 0], [nan, 2, nan, 0, 2], [2.5, nan, 0, nan, 0]])
    assert columns.values.dtype == np.float64
    assert columns.columns == (
        Column("length", Kind.NUMERIC, "cm", (), 1, (1.5, 2.5)),
        Column("count", Kind.INTEGER, None, (), 1, (1.0, 2.0)),
        Column("wet", Kind.BOOLEAN, None, (), 1, (0.0, 1.0)),
        Column("colour", Kind.NOMINAL, None, ("blue", "red"), 1, (0.0, 1.0)),
        Column("size", Kind.ORDERED, None, ("small", "medium", "large"), 0, (0.0, 2.0)),
    )


def test_arrays_get_names_and_kinds_from_their_type():
    assert read_columns(np.ones((2, 2))).names == ("x0", "x1")
    assert read_columns(np.ones((2, 1)), names=["a"]).names == ("a",)
    assert read_columns(np.ones((2, 1), dtype=np.int8)).columns[0].kind is Kind.INTEGER
    assert read_columns(np.ones((2, 1), dtype=bool)).columns[0].kind is Kind.BOOLEAN
    assert read_columns(np.array([["b"], ["a"]])).columns[0].levels == ("a", "b")
    assert read_columns([[1, 2.5], [3, 4]]).values.tolist() == [[1, 2.5], [3, 4]]


def test_columns_of_objects_are_read_by_their_values():
    data = np.array([[1, 1.5, True, "x", None], [2, None, False, "y", None]], dtype=object)
    columns = read_columns(data)
    assert [column.kind for column in columns.columns] == ["integer", "numeric", "boolean", "nominal", "numeric"]
    assert columns.columns[4].missing == 2
    assert columns.columns[4].bounds is None


def test_a_column_without_values_is_missing_and_no_text():
    for frame in (pl.DataFrame({"a": pl.Series([None], dtype=pl.String)}), pd.DataFrame({"a": [None]})):
        read = read_columns(frame)
        assert np.isnan(read.values).all()
        assert (read.columns[0].kind, read.columns[0].missing) == (Kind.NUMERIC, 1)


def test_known_levels_are_kept_for_new_data():
    columns = read_columns(pl.DataFrame({"colour": ["green", "red"]}), levels={"colour": ["blue", "red"]})
    assert columns.values.tolist() == [[2.0], [1.0]]  # a level never seen has a code of its own
    assert columns.columns[0].levels == ("blue", "red")


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, lambda d: np.array(list(d.values())).T])
def test_integers_are_never_rounded(make):
    exact = [2**53, 2**53 + 2, -(2**53)]
    assert read_columns(make({"id": exact})).values[:, 0].tolist() == exact
    with pytest.raises(DataError, match="9007199254740993, which float64 cannot hold exactly"):
        read_columns(make({"id": [2**53, 2**53 + 1, 0]}))


def test_integers_of_every_width_are_checked():
    require_exact_integers(np.array([2**63], dtype=np.uint64), "x")
    with pytest.raises(DataError, match="18446744073709551615"):
        require_exact_integers(np.array([2**64 - 1], dtype=np.uint64), "x")
    with pytest.raises(DataError, match="float64"):
        require_exact_integers(np.array([10**400], dtype=object), "x")
    if hasattr(pl, "Int128"):
        with pytest.raises(DataError, match="column 'n'"):
            read_columns(pl.DataFrame({"n": pl.Series([2**70 + 1, 2**70], dtype=pl.Int128)}))


def test_mixed_objects_are_refused_by_name():
    with pytest.raises(DataError, match="'odd' holds values of type int, str"):
        read_columns(pd.DataFrame({"odd": np.array([1, "a"], dtype=object)}))
    with pytest.raises(DataError, match=r"2 columns cannot be used \('odd', 'list'\).*\n- column 'odd'"):
        read_columns(pl.DataFrame({"odd": pl.Series([1, "a"], dtype=pl.Object), "n": [1, 2], "list": [[1], [2]]}))


def test_names_must_differ_and_fit():
    with pytest.raises(DataError, match="'a' occurs more than once"):
        read_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="2 names, but the data has 1 columns"):
        read_columns(np.ones((1, 1)), names=["a", "b"])
    with pytest.raises(ValueError, match="units names 'b'"):
        read_columns(np.ones((1, 1)), names=["a"], units={"b": "cm"})
    with pytest.raises(ValueError, match="pass names only for arrays"):
        read_columns(pl.DataFrame({"a": [1]}), names=["b"])
    with pytest.raises(ValueError, match="1 dimensions"):
        read_columns(np.ones(3))
    with pytest.raises(ValueError, match="values have shape"):
        Columns(np.ones((2, 2)), (Column("a"),))


def test_is_frame():
    assert is_frame(pl.DataFrame({"a": [1]}))
    assert is_frame(pd.DataFrame({"a": [1]}))
    assert not is_frame(np.ones((1, 1)))
    assert not is_frame([[1]])


@pytest.mark.parametrize(
    ("freq", "kind", "second"), [("M", "date", 31), ("Y", "date", 366), ("D", "date", 1), ("h", "moment", 3600 * 10**6)]
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_periods_are_read_by_their_start(freq, kind, second, as_objects):
    periods = pd.Series(pd.period_range("2020-01-01", periods=3, freq=freq)).where([True, True, False])
    read = read_columns(pd.DataFrame({"p": periods.astype(object) if as_objects else periods}))
    assert (str(read.columns[0].kind), read.columns[0].missing) == (kind, 1)
    assert read.values[1, 0] - read.values[0, 0] == second
    assert read.values[0, 0] == (18262 if kind == "date" else 18262 * 86400 * 10**6)


def test_a_period_without_a_date_is_refused():
    periods = pd.Series([pd.Period(ordinal=ordinal, freq="Y") for ordinal in (0, 10**12)])
    with pytest.raises(DataError, match="column 'p' holds periods whose start pandas cannot represent"):
        read_columns(pd.DataFrame({"p": periods}))


def test_several_levels_of_names_become_one():
    names = pd.MultiIndex.from_tuples([("height", "mean"), ("height", ""), (2024, "x")])
    frame = pd.DataFrame([[1, 2, 3]], columns=names)
    assert read_columns(frame).names == ("height / mean", "height", "2024 / x")
    assert list(frame.columns) == list(names)
    with pytest.raises(DataError, match="'a / b' occurs more than once"):
        read_columns(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a / b", ""), ("a", "b")])))
