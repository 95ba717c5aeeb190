"""Frames of libraries, arrays and sparse matrices: told apart, converted, and the values of their columns taken."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import memory
from proofwood.data import moments
from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.hints import parameter
from proofwood.printable import first_line

EXACT_DECIMALS = 10**15
"""Different decimals with at most 15 digits are different numbers in float64."""
_VALUE_BYTES = 8
EXPECTED_VALUES = (
    "expected numbers, booleans, text, dates or times, one kind per column. Convert the column, or drop it."
)
"""Which values columns may have, and what to do with others, for messages."""


def is_frame(data: object) -> bool:
    """Whether ``data`` is a frame of pandas, polars (also lazy), Arrow, DuckDB, or another library for narwhals."""
    if isinstance(data, (np.ndarray, list, tuple, np.generic)):
        return False
    return is_pandas(data) or is_polars(data) or (_may_be_frame(data) and _is_other_frame(data))


def is_pandas(data: object) -> bool:
    """Whether ``data`` is a pandas data frame; this does not import pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_polars(data: object) -> bool:
    """Whether ``data`` is a polars data frame; this does not import polars."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.DataFrame)


def _may_be_frame(data: object) -> bool:
    """Whether ``data`` might be a frame of some library; arrays and lists are not."""
    return not isinstance(data, (np.ndarray, list, tuple, np.generic)) and (
        hasattr(data, "collect") or hasattr(data, "columns") or hasattr(data, "column_names")
    )


def _is_other_frame(data: object) -> bool:
    # Start-up time: arrays, and frames of pandas and polars, do without.
    import narwhals.stable.v2 as nw

    return _is_batch(data) or isinstance(nw.from_native(data, pass_through=True), (nw.DataFrame, nw.LazyFrame))


def _is_batch(data: object) -> bool:
    """Whether ``data`` is a record batch of Arrow, which narwhals cannot read; this does not import pyarrow."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(data, arrow.RecordBatch)


def as_frame(data: Any) -> Any:
    """Return a frame of pandas or polars: ``data`` itself, or another frame converted by narwhals, with rows in order.

    Lazy frames, such as a query of polars or a relation of DuckDB, are collected. A frame of pandas whose columns have
    several levels of names gets one name for each, such as "height / mean".

    Raises
    ------
    DataError
        If polars cannot read the frame.
    """
    if is_pandas(data):
        return data if data.columns.nlevels == 1 else _with_joined_names(data)
    if is_polars(data):
        return data
    # Start-up time: frames of pandas and polars do not need narwhals.
    import narwhals.stable.v2 as nw
    import polars as pl

    try:
        if _is_batch(data):
            return pl.from_arrow(data)
        frame = nw.from_native(data)
        return (frame.collect(backend="polars") if isinstance(frame, nw.LazyFrame) else frame).to_polars()
    except pl.exceptions.ComputeError as error:
        raise DataError(
            f"this {type(data).__name__} cannot be read as a table ({first_line(error)}): convert the named column, "
            "for example to text, or remove it"
        ) from error


def _with_joined_names(data: Any) -> Any:
    """A pandas frame with one name for each column instead of several, without those that are empty."""
    joined = data.copy(deep=False)
    joined.columns = [" / ".join(filter(None, map(str, names))) for names in data.columns]
    return joined


def as_table(data: Any) -> Any:
    """Return ``data`` as a frame of pandas or polars if it is a data frame, otherwise ``data`` itself."""
    return as_frame(data) if is_frame(data) else data


def is_sparse(data: object) -> bool:
    """Whether ``data`` is a sparse matrix or array of scipy; this does not import scipy."""
    return hasattr(data, "tocsr") and hasattr(data, "nnz") and hasattr(data, "toarray")


def as_dense(data: Any) -> Any:
    """Return a sparse matrix as a dense array, since searches need every value; return other data unchanged.

    Raises
    ------
    MemoryLimitError
        If the array is larger than the permitted memory.
    """
    if not is_sparse(data) or len(data.shape) != 2:
        return data
    n_rows, n_columns = data.shape
    needed = _VALUE_BYTES * n_rows * n_columns
    room = memory.room() if memory.limited() else memory.available()
    if needed > memory.ASKED and room is not None and needed > room:
        raise memory.MemoryLimitError(
            f"X is a sparse matrix with {n_rows:,} rows, {n_columns:,} columns and {data.nnz:,} stored values. As a "
            f"dense array, which the learners need, it takes {memory.shown(needed)}, but only {memory.shown(room)} may "
            "be used: keep fewer columns, for example with sklearn.feature_selection.SelectKBest, use fewer rows, or "
            f"raise {parameter('memory_limit')}"
        )
    return data.toarray()


# ------------------------------------------------------------------------------------------- the values of a column


@dataclass(frozen=True, slots=True)
class GivenColumn:
    """The values of one column as a NumPy array, and what the source of the data says about them."""

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None = None  # None: to be found in the values
    kind: Kind | None = None  # None: to be found from the values
    categories: tuple[Any, ...] | None = None  # levels of a declared category, of any type
    zone: str | None = None  # of moments in UTC
    declared: bool = False  # as categories


def pandas_values(series: Any) -> GivenColumn:
    """Return a pandas series as NumPy values, with all missing values of pandas marked."""
    import pandas as pd

    missing = series.isna().to_numpy(dtype=bool)
    if series.dtype == object and not missing.all() and isinstance(series[~missing].iloc[0], pd.Period):
        series = series.infer_objects()  # one kind of periods, if all are
    if isinstance(series.dtype, pd.PeriodDtype):
        series = _starts(series)
    if isinstance(series.dtype, pd.CategoricalDtype):
        kind = Kind.ORDERED if series.dtype.ordered else Kind.NOMINAL
        objects = series.astype(object).to_numpy(dtype=object)
        return GivenColumn(objects, missing, kind, tuple(series.dtype.categories), declared=True)
    types = pd.api.types
    if types.is_bool_dtype(series.dtype):
        return GivenColumn(series.to_numpy(dtype=bool, na_value=False), missing, Kind.BOOLEAN)
    if types.is_integer_dtype(series.dtype):
        unsigned = types.is_unsigned_integer_dtype(series.dtype)
        return GivenColumn(
            series.to_numpy(dtype=np.uint64 if unsigned else np.int64, na_value=0), missing, Kind.INTEGER
        )
    if types.is_float_dtype(series.dtype):
        return GivenColumn(series.to_numpy(dtype=np.float64, na_value=np.nan), missing, Kind.NUMERIC)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        utc = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return GivenColumn(utc, missing, zone=moments.zone_name(series.dt.tz))
    if series.dtype.kind in "mM" and isinstance(series.dtype, np.dtype):
        return GivenColumn(series.to_numpy(), missing)
    if type(series.dtype).__name__ == "ArrowDtype":
        values = np.empty(len(series), dtype=object)
        values[:] = series.tolist()
        return GivenColumn(values, missing)
    if types.is_string_dtype(series.dtype) or types.is_object_dtype(series.dtype):
        return GivenColumn(series.to_numpy(dtype=object), missing)
    return GivenColumn(series.to_numpy())  # refused by its type


def _starts(periods: Any) -> Any:
    """The first moment of each period of a pandas series."""
    import pandas as pd

    try:
        return periods.dt.to_timestamp()
    except pd.errors.OutOfBoundsDatetime as error:
        raise DataError(
            f"column {periods.name!r} holds periods whose start pandas cannot represent ({first_line(error)}): correct "
            "them, or convert the column to text"
        ) from error


def polars_values(series: Any) -> GivenColumn:
    """Return a polars series as NumPy values; null and NaN are missing.

    This function evaluates no polars expression, such as ``fill_null``: expressions run on threads that do not exist
    in a forked process, which would wait for them forever.
    """
    import polars as pl

    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if isinstance(dtype, (pl.Enum, pl.Categorical)):
        texts = np.array(series.cast(pl.String).to_list(), dtype=object)
        if isinstance(dtype, pl.Enum):  # the order of an Enum is that of its declaration
            return GivenColumn(texts, missing, Kind.ORDERED, tuple(dtype.categories.to_list()), declared=True)
        return GivenColumn(texts, missing, Kind.NOMINAL, declared=True)
    if dtype == pl.Boolean:
        return GivenColumn(
            _spread(series.filter(~series.is_null()).to_numpy(), missing).astype(bool), missing, Kind.BOOLEAN
        )
    if dtype.is_integer():
        present = series.filter(~series.is_null())
        narrow = str(dtype) not in ("Int128", "UInt128")  # older polars does not know these
        values = present.to_numpy() if narrow else np.array(present.to_list(), dtype=object)
        return GivenColumn(_spread(values, missing), missing, Kind.INTEGER)
    if isinstance(dtype, pl.Decimal) and dtype.scale == 0:  # what DuckDB makes of sums of integers
        present = np.array([int(value) for value in series.filter(~series.is_null()).to_list()], dtype=object)
        return GivenColumn(_spread(present, missing), missing, Kind.INTEGER)
    if dtype.is_numeric():  # floats and decimals
        values = series.cast(pl.Float64).to_numpy()  # null becomes NaN
        if isinstance(dtype, pl.Decimal) and np.any(np.abs(values) * 10.0**dtype.scale >= EXACT_DECIMALS):
            present = np.array(series.filter(~series.is_null()).to_list(), dtype=object)
            return GivenColumn(_spread(present, missing), missing, Kind.NUMERIC)
        return GivenColumn(values, np.asarray(np.isnan(values)), Kind.NUMERIC)
    if dtype == pl.Null:
        return GivenColumn(np.full(len(series), np.nan), np.ones(len(series), dtype=bool), Kind.NUMERIC)
    if dtype == pl.String:
        return GivenColumn(np.array(series.to_list(), dtype=object), missing, Kind.NOMINAL)
    if dtype == pl.Object:
        return GivenColumn(np.array(series.to_list(), dtype=object))
    if dtype.is_temporal():
        return _polars_moments(series, missing)
    raise DataError(f"column {series.name!r} holds values of type {dtype}: {EXPECTED_VALUES}")


def _polars_moments(series: Any, missing: npt.NDArray[np.bool_]) -> GivenColumn:
    """Return dates, times and durations as numbers; values in nanoseconds must be whole microseconds."""
    import polars as pl

    counted = _spread(series.filter(~series.is_null()).to_physical().to_numpy(), missing)
    if series.dtype == pl.Date:
        return GivenColumn(counted.astype(np.float64), missing, Kind.DATE)
    if series.dtype == pl.Time:
        values, kind = moments.of_numpy(counted.astype("m8[ns]"), series.name)
        return GivenColumn(values, missing, Kind.TIME)
    letter = "m" if series.dtype == pl.Duration else "M"
    values, kind = moments.of_numpy(counted.astype(f"{letter}8[{series.dtype.time_unit}]"), series.name)
    if kind is Kind.DATE:
        values, kind = values * moments.DAY, Kind.MOMENT  # what the type says
    zone = getattr(series.dtype, "time_zone", None)
    return GivenColumn(values, missing, kind, zone=None if zone is None else moments.known_zone(zone))


def _spread(present: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return an array of all rows: the present values at their places, and 0 for missing values."""
    values = np.zeros(missing.shape, dtype=present.dtype)
    values[~missing] = present
    return values
