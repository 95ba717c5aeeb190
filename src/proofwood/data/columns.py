"""Arrays and data frames as float64 columns, and what each column means.

Values become float64 exactly or not at all: an integer that float64 cannot hold is an error, because rounding would
merge it with its neighbour. Text and categories become level codes, the position in ``Column.levels``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray

EXACT_INTEGERS = 2**53
"""Every integer up to this magnitude is a float64; beyond it only some are."""


class Kind(StrEnum):
    """What the numbers of a column are."""

    NUMERIC = "numeric"
    INTEGER = "integer"
    BOOLEAN = "boolean"  # 0 is false, 1 is true
    ORDERED = "ordered"  # codes of levels whose order means something: thresholds make sense
    NOMINAL = "nominal"  # codes of levels without order: only level sets make sense


@dataclass(frozen=True, slots=True)
class Column:
    """Meaning of one column.

    Parameters
    ----------
    name : str
    kind : Kind
    unit : unit of measurement, for pictures and texts, or None
    levels : text of code 0, 1, ...; empty unless the kind is ordered or nominal
    missing : number of missing values in the data that was read
    bounds : least and greatest value that is present, or None if there is none
    """

    name: str
    kind: Kind = Kind.NUMERIC
    unit: str | None = None
    levels: tuple[str, ...] = ()
    missing: int = 0
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Columns:
    """Numbers and their meaning: ``values[:, j]`` belongs to ``columns[j]``.

    Parameters
    ----------
    values : (n_rows, n_columns) float64, NaN where missing, level codes for ordered and nominal columns
    columns : n_columns descriptions with distinct names
    """

    values: FloatArray
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns):
            raise ValueError(f"values have shape {self.values.shape}, expected (n_rows, {len(self.columns)})")
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise DataError(f"column names must differ, but {_listed(repeated)} occurs more than once: rename one")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)


def is_frame(data: object) -> bool:
    """Whether ``data`` is a pandas or polars data frame."""
    return is_pandas(data) or is_polars(data)


def is_pandas(data: object) -> bool:
    """Whether ``data`` is a pandas data frame; pandas is not imported for it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_polars(data: object) -> bool:
    """Whether ``data`` is a polars data frame; polars is not imported for it."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.DataFrame)


def read_columns(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
) -> Columns:
    """Turn a two-dimensional array or a data frame into float64 columns with their meaning.

    Parameters
    ----------
    data : (n_rows, n_columns) array-like, pandas or polars frame
    names : names for the columns of an array (default ``x0``, ``x1``, ...); a frame brings its own
    units : unit per column name
    levels : levels per column name, in the order of their codes, to read new data as earlier data was read; a text
        that is not among them gets the code ``len(levels)``

    Returns
    -------
    Columns

    Raises
    ------
    DataError
        If a column holds dates, objects that are no numbers, or integers that float64 cannot hold exactly.
    ValueError
        If the data has not two dimensions, or ``names`` does not fit.
    """
    if is_frame(data):
        if names is not None:
            raise ValueError("names is for arrays: a data frame brings its own column names")
        labels = [str(name) for name in data.columns]
        series = [_pandas_values(data.iloc[:, j]) for j in range(len(labels))] if is_pandas(data) else None
        parts = series if series is not None else [_polars_values(column) for column in data.get_columns()]
    else:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.ndim != 2:
            raise ValueError(f"data has {array.ndim} dimensions, expected 2: a row per sample, a column per feature")
        labels = [f"x{j}" for j in range(array.shape[1])] if names is None else [str(name) for name in names]
        if len(labels) != array.shape[1]:
            raise ValueError(f"{len(labels)} names for {array.shape[1]} columns")
        parts = [_Raw(array[:, j]) for j in range(array.shape[1])]
    units, levels = units or {}, levels or {}
    for what, given in (("units", units), ("levels", levels)):
        unknown = sorted(set(given) - set(labels))
        if unknown:
            raise ValueError(f"{what} names {_listed(unknown)}, which is no column of the data")
    read = [_read(name, raw, units.get(name), levels.get(name)) for name, raw in zip(labels, parts, strict=True)]
    n_rows = int(data.shape[0]) if hasattr(data, "shape") else len(data)
    values = np.empty((n_rows, len(read)), dtype=np.float64, order="F")
    for j, (numbers, _) in enumerate(read):
        values[:, j] = numbers
    return Columns(values, tuple(column for _, column in read))


def require_numbers(columns: Columns, *, drop: Callable[[str], str] | None = None) -> None:
    """Raise DataError unless every value is a finite number that a threshold can be laid through.

    The message names the column and what to do about it.

    Parameters
    ----------
    columns : Columns
    drop : how the caller's user leaves out the column of a given name, for the message
    """
    for j, column in enumerate(columns.columns):
        away = "drop the column" if drop is None else drop(column.name)
        if column.kind in (Kind.NOMINAL, Kind.ORDERED):
            what = "text" if column.kind is Kind.NOMINAL else "categories"
            shown = _listed(column.levels[:3]) + (", ..." if len(column.levels) > 3 else "")
            raise DataError(
                f"column {column.name!r} holds {what} ({shown}), and this learner tests numbers: {away}, or "
                "turn it into numbers, for example with sklearn.preprocessing.OneHotEncoder or OrdinalEncoder"
            )
        if not np.all(np.isfinite(columns.values[:, j])):
            _raise_not_finite(columns.values[:, j], f"column {column.name!r}", away)


def require_finite(X: FloatArray, names: Sequence[str] | None = None) -> None:
    """Raise DataError if ``X`` holds NaN or infinity; the message names the column, the row and what to do."""
    if np.all(np.isfinite(X)):
        return
    column = int(np.flatnonzero(~np.all(np.isfinite(X), axis=0))[0])
    _raise_not_finite(X[:, column], f"column {column} of X" if names is None else f"column {names[column]!r}")


def require_exact_integers(values: npt.NDArray[Any], where: str) -> None:
    """Raise DataError if float64 would round an integer of ``values``.

    Parameters
    ----------
    values : array of any shape, of an integer type or of Python objects
    where : what the message calls it
    """
    if values.dtype.kind in "iu":
        large = values[(values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS)]
        candidates = np.unique(large).tolist()
    elif values.dtype.kind == "O":
        candidates = [v for v in values.ravel().tolist() if isinstance(v, int) and abs(v) > EXACT_INTEGERS]
    else:
        return
    for number in candidates:
        if abs(number) > sys.float_info.max or int(float(number)) != number:
            raise DataError(
                f"{where} holds the integer {number}, which float64 cannot hold exactly, so that it would merge with "
                "its neighbours: subtract a constant from the column, or drop it if it is an identifier"
            )


# -------------------------------------------------------------------------------------------------- one column


@dataclass(frozen=True, slots=True)
class _Raw:
    """Values of one column as numpy has them, and what its source said about them."""

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None = None  # None: to be found in the values
    kind: Kind | None = None  # None: to be found from the values
    levels: tuple[str, ...] | None = None  # of a declared category


def _read(name: str, raw: _Raw, unit: str | None, levels: Sequence[str] | None) -> tuple[FloatArray, Column]:
    values = raw.values
    missing = _missing(values) if raw.missing is None else raw.missing
    kind = _kind(name, values[~missing]) if raw.kind is None else raw.kind
    if kind is Kind.NOMINAL and np.all(missing) and raw.levels is None and levels is None:
        kind = Kind.NUMERIC  # nothing is known of a column without values
    declared: tuple[str, ...] = ()
    if kind in (Kind.NOMINAL, Kind.ORDERED):
        texts = [str(v) for v in values[~missing].tolist()]
        known = levels if levels is not None else raw.levels
        declared = tuple(sorted(set(texts))) if known is None else tuple(str(level) for level in known)
        code = {level: number for number, level in enumerate(declared)}
        present = np.array([code.get(text, len(declared)) for text in texts], dtype=np.float64)
    else:
        if levels is not None:
            raise DataError(f"column {name!r} holds numbers, expected one of the levels {_listed(tuple(levels)[:3])}")
        require_exact_integers(values[~missing], f"column {name!r}")
        present = values[~missing].astype(np.float64)
    numbers = np.full(values.shape, np.nan)
    numbers[~missing] = present
    bounds = (float(present.min()), float(present.max())) if present.size else None
    return numbers, Column(name, kind, unit, declared, int(np.count_nonzero(missing)), bounds)


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([v is None or (isinstance(v, (float, np.floating)) and math.isnan(v)) for v in values], bool)
    return np.zeros(values.shape, dtype=bool)


def _kind(name: str, present: npt.NDArray[Any]) -> Kind:
    simple = {"b": Kind.BOOLEAN, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.NUMERIC, "U": Kind.NOMINAL}
    if present.dtype.kind in simple:
        return simple[present.dtype.kind]
    if present.dtype.kind != "O":
        raise DataError(
            f"column {name!r} holds values of type {present.dtype}: expected numbers, booleans or text. "
            "Turn a date into a number, for example days since a fixed day, or drop the column."
        )
    types = {type(value) for value in present.tolist()}
    for kind, accepted in (
        (Kind.BOOLEAN, (bool, np.bool_)),
        (Kind.INTEGER, (int, np.integer)),
        (Kind.NUMERIC, (int, float, np.integer, np.floating)),
        (Kind.NOMINAL, (str,)),
    ):
        if types and all(issubclass(t, accepted) and (kind is Kind.BOOLEAN or t is not bool) for t in types):
            return kind
    if not types:
        return Kind.NUMERIC
    shown = ", ".join(sorted(t.__name__ for t in types))
    raise DataError(f"column {name!r} holds values of type {shown}: expected numbers, or booleans, or text only")


def _pandas_values(series: Any) -> _Raw:
    """A pandas series as numpy values; every missing marker of pandas is found."""
    import pandas as pd

    missing = series.isna().to_numpy(dtype=bool)
    if isinstance(series.dtype, pd.CategoricalDtype):
        kind = Kind.ORDERED if series.dtype.ordered else Kind.NOMINAL
        levels = tuple(str(level) for level in series.dtype.categories)
        return _Raw(series.astype(object).to_numpy(dtype=object), missing, kind, levels)
    types = pd.api.types
    if types.is_bool_dtype(series.dtype):
        return _Raw(series.to_numpy(dtype=bool, na_value=False), missing, Kind.BOOLEAN)
    if types.is_integer_dtype(series.dtype):
        unsigned = types.is_unsigned_integer_dtype(series.dtype)
        return _Raw(series.to_numpy(dtype=np.uint64 if unsigned else np.int64, na_value=0), missing, Kind.INTEGER)
    if types.is_float_dtype(series.dtype):
        return _Raw(series.to_numpy(dtype=np.float64, na_value=np.nan), missing, Kind.NUMERIC)
    if types.is_string_dtype(series.dtype) or types.is_object_dtype(series.dtype):
        return _Raw(series.to_numpy(dtype=object), missing)
    return _Raw(series.to_numpy())  # dates and the like, refused by their type


def _polars_values(series: Any) -> _Raw:
    """A polars series as numpy values; null and NaN are missing.

    No expression of polars is evaluated here, as ``fill_null`` would be: expressions run on threads that a process made
    by fork does not have, and it would wait for them for ever.
    """
    import polars as pl

    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if isinstance(dtype, (pl.Enum, pl.Categorical)):
        texts = np.array(series.cast(pl.String).to_list(), dtype=object)
        if isinstance(dtype, pl.Enum):  # the order of an Enum is that of its declaration
            return _Raw(texts, missing, Kind.ORDERED, tuple(dtype.categories.to_list()))
        return _Raw(texts, missing, Kind.NOMINAL)
    if dtype == pl.Boolean:
        return _Raw(_spread(series.filter(~series.is_null()).to_numpy(), missing).astype(bool), missing, Kind.BOOLEAN)
    if dtype.is_integer():
        present = series.filter(~series.is_null())
        narrow = str(dtype) not in ("Int128", "UInt128")  # older polars does not know these
        values = present.to_numpy() if narrow else np.array(present.to_list(), dtype=object)
        return _Raw(_spread(values, missing), missing, Kind.INTEGER)
    if dtype.is_numeric():  # floats and decimals
        values = series.cast(pl.Float64).to_numpy()  # null becomes NaN
        return _Raw(values, np.asarray(np.isnan(values)), Kind.NUMERIC)
    if dtype == pl.Null:
        return _Raw(np.full(len(series), np.nan), np.ones(len(series), dtype=bool), Kind.NUMERIC)
    if dtype == pl.String:
        return _Raw(np.array(series.to_list(), dtype=object), missing, Kind.NOMINAL)
    if dtype == pl.Object:
        return _Raw(np.array(series.to_list(), dtype=object))
    raise DataError(
        f"column {series.name!r} holds values of type {dtype}: expected numbers, booleans or text. "
        "Turn a date into a number, for example days since a fixed day, or drop the column."
    )


def _spread(present: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """The present values in their places, 0 in the places of the missing ones."""
    values = np.zeros(missing.shape, dtype=present.dtype)
    values[~missing] = present
    return values


def _raise_not_finite(values: FloatArray, where: str, away: str = "drop the column") -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    row = int(bad[0])
    if np.isnan(values[row]):
        count = int(np.count_nonzero(np.isnan(values)))
        raise DataError(
            f"{where} has {count} missing value{'s' if count > 1 else ''} (NaN), the first in row {row}: fill the gaps "
            f"first, for example with sklearn.impute.SimpleImputer, drop these rows, or {away}"
        )
    raise DataError(
        f"{where} holds an infinite value (inf) in row {row}: expected finite numbers. "
        "Replace it by a large number that keeps the order, or drop the row."
    )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(repr(word) for word in words)
