"""Convert arrays and data frames into float64 columns, each with its meaning.

Integers are never rounded: an integer that is not exact in float64 raises an error, because rounding would merge it
with its neighbours. Text and categories become level codes, which are positions in ``Column.levels``. Dates and times
become the numbers of :mod:`~proofwood.data.moments`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood import memory
from proofwood.data import moments
from proofwood.data.kinds import CATEGORIES, MOMENTS, NUMBERS, Kind, LevelType
from proofwood.data.text_forms import NumberForm, form_from, numbers_like
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray
from proofwood.model.sums import holds_infinity
from proofwood.printable import first_line, is_word, shown

EXACT_DECIMALS = 10**15
"""Different decimals with at most 15 digits are different numbers in float64."""
_VALUE_BYTES = 8
EXACT_INTEGERS = 2**53
"""Every integer up to this magnitude is exact in float64; of the larger ones only some are."""


# Texts name a column of 0 and 1 instead of comparing it with 1/2; all else has numbers: decisions/0086-yes-and-no.
# Exports compare levels by their type and show local time. A level compared as text instead of a number, or UTC read as
# local time, sent rows to the wrong side without an error: decisions/0063-levels-and-zones.
@dataclass(frozen=True, slots=True)
class Column:
    """The meaning of one column.

    Parameters
    ----------
    name : str
    kind : Kind
    unit : unit of measurement, for pictures and texts, or None
    levels : text of code 0, 1, ...; empty unless the kind is ordered or nominal
    missing : number of missing values in the data that was read
    bounds : least and greatest value, or None if all values are missing
    zone : time zone of moments with a zone, named as in :mod:`~proofwood.data.moments`; their numbers are in UTC
    level_type : type of the levels in the data of the user
    level_numbers : for levels that are not text, the number of each, in the unit of their kind; without ``levels``, the
        codes are these numbers
    form : how numbers or dates are written in a column of text, see :func:`proofwood.data.text_forms.saved_form`
    absent : values that mean a missing value, from the user
    zero_one : whether a column of numbers had only 0 and 1 in training, so that texts read it as no and yes
    """

    name: str
    kind: Kind = Kind.NUMERIC
    unit: str | None = None
    levels: tuple[str, ...] = ()
    missing: int = 0
    bounds: tuple[float, float] | None = field(default=None, compare=False)
    zone: str | None = None
    level_type: LevelType = LevelType.TEXT
    level_numbers: tuple[int | float, ...] = ()
    form: str = ""
    absent: tuple[str | float, ...] = ()
    zero_one: bool = False

    @property
    def shown_as(self) -> Kind:
        """How texts show the column: numbers 0 and 1 are shown as no and yes if the name can stand alone."""
        return Kind.BOOLEAN if self.zero_one and is_word(self.name) else self.kind

    def level_number(self, code: int) -> int | float | None:
        """The number of the level with this code; None if levels are text."""
        if self.level_type.kind is None:
            return None
        return self.level_numbers[code] if self.levels else code


@dataclass(frozen=True, eq=False)
class Columns:
    """A table of numbers and the meaning of its columns: ``columns[j]`` describes ``values[:, j]``.

    Parameters
    ----------
    values : (n_rows, n_columns) float64, NaN where missing, level codes for ordered and nominal columns
    columns : descriptions of the columns, with distinct names
    plain_text : indices of columns of text that no type declares as categories
    """

    values: FloatArray
    columns: tuple[Column, ...]
    plain_text: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns):
            raise ValueError(f"values have shape {self.values.shape}, expected (n_rows, {len(self.columns)})")
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise DataError(f"column names must differ, but {shown(repeated, None)} occurs more than once: rename one")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)


def is_frame(data: object) -> bool:
    """Whether ``data`` is a frame of pandas, polars (also lazy), Arrow, DuckDB, or another library for narwhals."""
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
            "raise memory_limit"
        )
    return data.toarray()


def read_columns(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    like: Mapping[str, Column] | None = None,
    dates: bool = False,
    skip: Collection[str] = (),
    apart: bool = False,
    absent: Mapping[str, Sequence[str | float]] | None = None,
    words: Collection[str] = (),
) -> Columns:
    """Turn a two-dimensional array or a data frame into float64 columns with their meaning.

    Parameters
    ----------
    data : (n_rows, n_columns) array-like, or a frame of pandas, polars (also lazy), or another that narwhals reads
    names : names for the columns of an array (default ``x0``, ``x1``, ...); a frame has its own names
    units : unit per column name
    levels : levels per column name, in the order of their codes; other texts get the code ``len(levels)``
    like : columns of earlier data by name; new data is read in the same way
    dates : read text as dates if all texts of a column are ISO 8601 dates, with or without a time
    skip : names of columns that are not read: their values are 0
    apart : refuse a column in which different decimals become the same float64
    absent : values that mean a missing value, per column name
    words : names of columns whose texts are never dates

    Returns
    -------
    Columns

    Raises
    ------
    DataError
        If columns have values other than numbers, text, dates and times, or integers that are not exact in float64.
        The message names every such column.
    ValueError
        If the data does not have two dimensions, or the number of ``names`` is wrong.
    """
    if is_frame(data):
        if names is not None:
            raise ValueError("names is given, but a data frame has its own column names: pass names only for arrays")
        data = as_frame(data)
        labels = [str(name) for name in data.columns]
        pandas = is_pandas(data)

        def raw(j: int) -> _Raw:
            return _pandas_values(data.iloc[:, j]) if pandas else _polars_values(data.get_columns()[j])
    else:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.ndim != 2:
            raise ValueError(f"data has {array.ndim} dimensions, expected 2: a row per sample, a column per feature")
        labels = [f"x{j}" for j in range(array.shape[1])] if names is None else [str(name) for name in names]
        if len(labels) != array.shape[1]:
            raise ValueError(f"names has {len(labels)} names, but the data has {array.shape[1]} columns")

        def raw(j: int) -> _Raw:
            return _Raw(array[:, j])

    units, like = units or {}, dict(like or {})
    for what, given in (("units", units), ("levels", levels or {})):
        unknown = sorted(set(given) - set(labels))
        if unknown:
            raise ValueError(f"{what} names {shown(unknown, None)}, which is not a column of the data")
    for name, texts in (levels or {}).items():
        like[name] = Column(name, Kind.NOMINAL, levels=tuple(str(text) for text in texts))
    n_rows = int(data.shape[0]) if hasattr(data, "shape") else len(data)
    values = np.empty((n_rows, len(labels)), dtype=np.float64, order="F")
    columns, problems, plain_text = [], [], []
    for j, name in enumerate(labels):
        if name in skip:
            values[:, j] = 0.0
            columns.append(like.get(name, Column(name)))
            continue
        try:
            source = _with_gaps(raw(j), (absent or {}).get(name, ()))
            values[:, j], column = _read(
                name, source, units.get(name), like.get(name), dates=dates and name not in words, apart=apart
            )
            plain_text += [j] if column.kind is Kind.NOMINAL and not source.declared else []
        except DataError as error:
            problems.append((name, str(error)))
        else:
            columns.append(column)
    refuse(problems)
    return Columns(values, tuple(columns), tuple(plain_text))


def refuse(problems: Sequence[tuple[str, str]]) -> None:
    """Raise DataError if ``problems`` is not empty; each is a pair of a column name and a message."""
    if len(problems) == 1:
        raise DataError(problems[0][1])
    if problems:
        listed = "".join(f"\n- {message}" for _, message in problems)
        raise DataError(f"{len(problems)} columns cannot be used ({shown([n for n, _ in problems], None)}):{listed}")


def require_no_infinity(X: FloatArray, names: Sequence[str] = ()) -> None:
    """Raise DataError if ``X`` contains infinity; the message names each such column, or gives its number."""
    if not holds_infinity(X):
        return
    problems = []
    for j in np.flatnonzero(np.isinf(X).any(axis=0)).tolist():
        row = int(np.flatnonzero(np.isinf(X[:, j]))[0])
        message = (
            f"column {repr(names[j]) if names else f'{j} of X'} holds an infinite value (inf) in row {row}: expected "
            "finite numbers. Replace it by a number beyond all others of the column, or drop the row"
        )
        problems.append((names[j] if names else f"x{j}", message))
    refuse(problems)


def require_exact_integers(values: npt.NDArray[Any], where: str) -> None:
    """Raise DataError if float64 would round an integer of ``values``.

    Parameters
    ----------
    values : array of any shape, of an integer type or of Python objects
    where : name of the values in the message
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
                f"{where} holds the integer {number}, which float64 cannot hold exactly, so it would be rounded to "
                "another integer: subtract a constant from the column, or drop it if it is an identifier"
            )


def require_told_apart(values: npt.NDArray[Any], where: str) -> None:
    """Raise DataError if different numbers of ``values`` become the same float64.

    Parameters
    ----------
    values : array of any shape; only types wider than float64 and decimals among Python objects are checked
    where : name of the values in the message
    """
    if values.dtype.kind == "O":
        different = {value for value in values.ravel().tolist() if isinstance(value, Decimal) and value.is_finite()}
    elif values.dtype.kind == "f" and values.dtype.itemsize > 8:
        different = set(values[np.isfinite(values)])
    else:
        return
    first: dict[float, Any] = {}
    for number in sorted(different):
        other = first.setdefault(float(number), number)
        if other is not number:
            raise DataError(
                f"{where} holds {other!s} and {number!s}, which are the same number in float64: round the column to 15 "
                "digits, or subtract a constant from it"
            )


# -------------------------------------------------------------------------------------------------- one column


@dataclass(frozen=True, slots=True)
class _Raw:
    """The values of one column as a NumPy array, and what the source of the data says about them."""

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None = None  # None: to be found in the values
    kind: Kind | None = None  # None: to be found from the values
    categories: tuple[Any, ...] | None = None  # levels of a declared category, of any type
    zone: str | None = None  # of moments in UTC
    declared: bool = False  # as categories


def _with_gaps(raw: _Raw, absent: Sequence[str | float]) -> _Raw:
    """The same with further values that are missing: texts, blanks around them apart, or numbers."""
    if not absent:
        return raw
    missing = _missing(raw.values) if raw.missing is None else raw.missing
    texts, numbers = {str(value).strip() for value in absent}, set(map(_number_of, absent))
    if raw.values.dtype.kind in "OUS":
        more = [
            value.strip() in texts if isinstance(value, str) else _is_plain_number(value) and value in numbers
            for value in raw.values.tolist()
        ]
        return replace(raw, missing=missing | np.array(more, dtype=bool))
    if raw.values.dtype.kind not in "iuf" or raw.kind in MOMENTS:
        return raw
    return replace(raw, missing=missing | np.isin(raw.values, [n for n in numbers if n == n]))


def _is_plain_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, Decimal)) and not isinstance(value, bool)


def is_number(value: str | float) -> bool:
    """Whether a value that means a missing value can occur in a column of numbers."""
    return not math.isnan(_number_of(value))


def _number_of(value: str | float) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _read(
    name: str, raw: _Raw, unit: str | None, like: Column | None, *, dates: bool, apart: bool
) -> tuple[FloatArray, Column]:
    values = raw.values
    missing = _missing(values) if raw.missing is None else raw.missing
    if like is not None and like.level_numbers and raw.categories and not isinstance(raw.categories[0], str):
        raw = replace(raw, kind=None, categories=None)  # use the values, not their texts
    kind = _kind(name, values[~missing]) if raw.kind is None else raw.kind
    ours = like is not None and like.level_numbers and (kind not in CATEGORIES or like.level_type.kind in MOMENTS)
    if like is not None and ours and not np.all(missing):
        return _read_levels(name, raw, unit, like)
    if kind is Kind.NOMINAL and np.all(missing) and raw.categories is None:
        kind = Kind.NUMERIC if like is None else like.kind  # nothing is known of a column without values
    texts: list[str] = []
    if kind in CATEGORIES:
        texts = [str(v) for v in values[~missing].tolist()]
        if like is not None and texts and (like.form or (like.absent and like.kind in NUMBERS)):
            return _read_written(texts, missing, replace(like, name=name, unit=unit or like.unit))
        if like is not None and like.kind in MOMENTS:
            kind = like.kind
        elif like is None and dates and raw.categories is None:
            kind = moments.kind_of_texts(texts) or kind
    if like is not None and not np.all(missing):
        _require_like(name, kind, like)
    column = Column(name, kind, unit)
    if kind in CATEGORIES:
        if like is None:
            column = _with_levels(column, raw, texts)
        else:
            column = replace(like, name=name, unit=unit)
        code = {level: number for number, level in enumerate(column.levels)}
        present = np.array([code.get(text, len(code)) for text in texts], dtype=np.float64)
    elif kind in MOMENTS:
        present, column = _moments_of(raw, values[~missing], texts, column, like)
    else:
        require_exact_integers(values[~missing], f"column {name!r}")
        if apart:
            require_told_apart(values[~missing], f"column {name!r}")
        present = values[~missing].astype(np.float64)
    numbers = np.full(values.shape, np.nan)
    numbers[~missing] = present
    bounds = (float(present.min()), float(present.max())) if present.size else None
    return numbers, replace(column, missing=int(np.count_nonzero(missing)), bounds=bounds)


def _read_written(texts: list[str], missing: npt.NDArray[np.bool_], like: Column) -> tuple[FloatArray, Column]:
    """Read texts as numbers or dates in the form of the training column ``like``."""
    numbers = np.full(missing.shape, np.nan)
    numbers[~missing] = numbers_like(texts, form_from(like.form) if like.form else NumberForm(), like.name)
    present = numbers[~np.isnan(numbers)]
    bounds = (float(present.min()), float(present.max())) if present.size else None
    return numbers, replace(like, missing=int(numbers.size - present.size), bounds=bounds)


def _read_levels(name: str, raw: _Raw, unit: str | None, like: Column) -> tuple[FloatArray, Column]:
    """Return booleans, numbers, dates or times as codes of the levels of ``like``, and the column."""
    kind = like.level_type.kind
    assert kind is not None
    missing = _missing(raw.values) if raw.missing is None else raw.missing
    present = raw.values[~missing]
    now = _kind(name, present) if raw.kind is None else raw.kind
    texts = present.tolist() if now in CATEGORIES and kind in MOMENTS else []
    now = kind if texts else now
    _require_like(name, now, Column(name, kind))
    numbers = present.tolist()  # whole numbers with all their digits
    if kind in MOMENTS:
        moment = _moments_of(raw, present, texts, Column(name, now), Column(name, kind, zone=like.zone))[0]
        numbers = moment.tolist()
    code = {number: place for place, number in enumerate(like.level_numbers)}
    found = np.full(raw.values.shape, np.nan)
    found[~missing] = [code.get(number, len(code)) for number in numbers]
    bounds = (float(np.nanmin(found)), float(np.nanmax(found)))
    return found, replace(like, name=name, unit=unit, missing=int(np.count_nonzero(missing)), bounds=bounds)


def as_levels(numbers: FloatArray, column: Column) -> tuple[FloatArray, Column]:
    """Convert a column of booleans, dates or times into a categorical column, with one level per value.

    Parameters
    ----------
    numbers : (n_rows,) numbers of the column, NaN where missing
    column : description of the column
    """
    found = sorted({number for number in numbers.tolist() if number == number})
    if column.kind is Kind.BOOLEAN:
        found, texts = [0.0, 1.0], ["False", "True"]
    else:
        texts = [moments.text_of(number, column.kind, column.zone) for number in found]
    code = {number: place for place, number in enumerate(found)}
    codes = np.array([math.nan if number != number else code[number] for number in numbers.tolist()], dtype=np.float64)
    return codes, replace(
        column,
        kind=Kind.NOMINAL,
        levels=tuple(texts),
        level_type=_LEVEL_TYPES[column.kind],
        level_numbers=tuple(int(number) for number in found),
        bounds=(0.0, len(found) - 1.0) if found else None,
    )


def _with_levels(column: Column, raw: _Raw, texts: list[str]) -> Column:
    """Return a categorical column with its levels: those that its type declares, of any type, or else all its texts."""
    if raw.categories is None:
        return replace(column, levels=tuple(sorted(set(texts))))
    levels = tuple(map(str, raw.categories))
    if len(set(levels)) < len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise DataError(
            f"column {column.name!r} has several categories with the same text {twice!r}, such as a number and a text: "
            "rename one of them"
        )
    return replace(column, levels=levels, **_typed(raw.categories, column.name))


_LEVEL_TYPES = {
    Kind.BOOLEAN: LevelType.BOOLEAN,
    Kind.INTEGER: LevelType.INTEGER,
    Kind.NUMERIC: LevelType.NUMERIC,
    Kind.DATE: LevelType.DATE,
    Kind.MOMENT: LevelType.MOMENT,
    Kind.TIME: LevelType.TIME,
    Kind.DURATION: LevelType.DURATION,
}


def _typed(categories: tuple[Any, ...], name: str) -> dict[str, Any]:
    """The type of the categories and their numbers, as fields of a Column; empty for text categories.

    Objects of one other type, such as intervals, are represented by their texts, as in files.
    """
    if not categories or all(isinstance(value, str) for value in categories):
        return {}
    values = np.empty(len(categories), dtype=object)
    values[:] = categories
    try:
        kind = _kind(name, values)
    except DataError:
        several = len({type(value) for value in categories}) > 1
        return {"level_type": LevelType.MIXED} if several else {}
    if kind in MOMENTS:
        zone = moments.zone_of(categories, name) if kind is Kind.MOMENT else None
        found = [moments.number_of(value, kind) for value in categories]
        if any(number is None for number in found):
            return {"level_type": LevelType.MIXED}
        return {"level_type": _LEVEL_TYPES[kind], "level_numbers": tuple(found), "zone": zone}
    plain = float if kind is Kind.NUMERIC else int
    return {"level_type": _LEVEL_TYPES[kind], "level_numbers": tuple(map(plain, categories))}


def _require_like(name: str, kind: Kind, like: Column) -> None:
    """Raise DataError if new values have another type than the values in training."""
    sorts = {**dict.fromkeys(CATEGORIES, "text"), **dict.fromkeys(MOMENTS, "dates or times")}
    now, before = sorts.get(kind, "numbers"), sorts.get(like.kind, "numbers")
    if now != before:
        example = f", such as {like.levels[0]!r}" if like.levels else ""
        raise DataError(f"column {name!r} holds {now}, but held {before} in training{example}: convert it to {before}")


def _moments_of(
    raw: _Raw, values: npt.NDArray[Any], texts: list[str], column: Column, like: Column | None
) -> tuple[FloatArray, Column]:
    """Return dates and times, without missing values, as numbers of the kind of ``like`` or of their own kind."""
    name, kind, zone = column.name, column.kind, raw.zone
    if texts:
        present = moments.numbers_of(texts, kind, name)
        zone = moments.zone_of(texts, name) if kind in (Kind.DATE, Kind.MOMENT) else None
    elif values.dtype.kind == "O":
        present = moments.numbers_of(values.tolist(), kind, name)
        zone = moments.zone_of(values.tolist(), name) if kind is Kind.MOMENT else None
    elif values.dtype.kind in "mM":
        present, kind = moments.of_numpy(values, name)
    else:  # numbers of this kind already
        present = values.astype(np.float64)
    if zone is not None and kind is Kind.DATE:  # midnights of UTC are instants like others
        present, kind = present * moments.DAY, Kind.MOMENT
    if like is None:
        return present, replace(column, kind=kind, zone=zone)
    if present.size:
        moments.require_zone(zone, like.zone, name)
    if like.kind is Kind.DATE and kind is Kind.MOMENT:
        present = np.floor(present / moments.DAY)
    elif like.kind is Kind.MOMENT and kind is Kind.DATE:
        present = present * moments.DAY
    elif like.kind is not kind:
        raise DataError(
            f"column {name!r} holds values of kind {kind}, but held values of kind {like.kind} in training: convert it"
        )
    return present, replace(column, kind=like.kind, zone=like.zone)


_ABSENT = frozenset({"NAType", "NaTType"})
"""Names of the types that pandas uses for missing values."""


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.array([v is None or type(v).__name__ in _ABSENT or v != v for v in values], bool)
    return np.zeros(values.shape, dtype=bool)


_EXPECTED = "expected numbers, booleans, text, dates or times, one kind per column. Convert the column, or drop it."


def _kind(name: str, present: npt.NDArray[Any]) -> Kind:
    simple = {"b": Kind.BOOLEAN, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.NUMERIC, "U": Kind.NOMINAL}
    simple |= {"M": Kind.MOMENT, "m": Kind.DURATION}
    if present.dtype.kind in simple:
        return simple[present.dtype.kind]
    if present.dtype.kind != "O":
        raise DataError(f"column {name!r} holds values of type {present.dtype}: {_EXPECTED}")
    types = {type(value) for value in present.tolist()}
    for kind, accepted in (
        (Kind.BOOLEAN, (bool, np.bool_)),
        (Kind.INTEGER, (int, np.integer)),
        (Kind.NUMERIC, (int, float, np.integer, np.floating, Decimal)),
        (Kind.NOMINAL, (str,)),
        (Kind.MOMENT, (datetime,)),
        (Kind.DATE, (date,)),
        (Kind.TIME, (time,)),
        (Kind.DURATION, (timedelta,)),
    ):
        if types and all(issubclass(t, accepted) and (kind is Kind.BOOLEAN or t is not bool) for t in types):
            return kind
    if not types:
        return Kind.NUMERIC
    shown = ", ".join(sorted(t.__name__ for t in types))
    raise DataError(f"column {name!r} holds values of type {shown}: {_EXPECTED}")


def _pandas_values(series: Any) -> _Raw:
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
        return _Raw(objects, missing, kind, tuple(series.dtype.categories), declared=True)
    types = pd.api.types
    if types.is_bool_dtype(series.dtype):
        return _Raw(series.to_numpy(dtype=bool, na_value=False), missing, Kind.BOOLEAN)
    if types.is_integer_dtype(series.dtype):
        unsigned = types.is_unsigned_integer_dtype(series.dtype)
        return _Raw(series.to_numpy(dtype=np.uint64 if unsigned else np.int64, na_value=0), missing, Kind.INTEGER)
    if types.is_float_dtype(series.dtype):
        return _Raw(series.to_numpy(dtype=np.float64, na_value=np.nan), missing, Kind.NUMERIC)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        utc = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return _Raw(utc, missing, zone=moments.zone_name(series.dt.tz))
    if series.dtype.kind in "mM" and isinstance(series.dtype, np.dtype):
        return _Raw(series.to_numpy(), missing)
    if type(series.dtype).__name__ == "ArrowDtype":
        values = np.empty(len(series), dtype=object)
        values[:] = series.tolist()
        return _Raw(values, missing)
    if types.is_string_dtype(series.dtype) or types.is_object_dtype(series.dtype):
        return _Raw(series.to_numpy(dtype=object), missing)
    return _Raw(series.to_numpy())  # refused by its type


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


def _polars_values(series: Any) -> _Raw:
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
            return _Raw(texts, missing, Kind.ORDERED, tuple(dtype.categories.to_list()), declared=True)
        return _Raw(texts, missing, Kind.NOMINAL, declared=True)
    if dtype == pl.Boolean:
        return _Raw(_spread(series.filter(~series.is_null()).to_numpy(), missing).astype(bool), missing, Kind.BOOLEAN)
    if dtype.is_integer():
        present = series.filter(~series.is_null())
        narrow = str(dtype) not in ("Int128", "UInt128")  # older polars does not know these
        values = present.to_numpy() if narrow else np.array(present.to_list(), dtype=object)
        return _Raw(_spread(values, missing), missing, Kind.INTEGER)
    if isinstance(dtype, pl.Decimal) and dtype.scale == 0:  # what DuckDB makes of sums of integers
        present = np.array([int(value) for value in series.filter(~series.is_null()).to_list()], dtype=object)
        return _Raw(_spread(present, missing), missing, Kind.INTEGER)
    if dtype.is_numeric():  # floats and decimals
        values = series.cast(pl.Float64).to_numpy()  # null becomes NaN
        if isinstance(dtype, pl.Decimal) and np.any(np.abs(values) * 10.0**dtype.scale >= EXACT_DECIMALS):
            present = np.array(series.filter(~series.is_null()).to_list(), dtype=object)
            return _Raw(_spread(present, missing), missing, Kind.NUMERIC)
        return _Raw(values, np.asarray(np.isnan(values)), Kind.NUMERIC)
    if dtype == pl.Null:
        return _Raw(np.full(len(series), np.nan), np.ones(len(series), dtype=bool), Kind.NUMERIC)
    if dtype == pl.String:
        return _Raw(np.array(series.to_list(), dtype=object), missing, Kind.NOMINAL)
    if dtype == pl.Object:
        return _Raw(np.array(series.to_list(), dtype=object))
    if dtype.is_temporal():
        return _polars_moments(series, missing)
    raise DataError(f"column {series.name!r} holds values of type {dtype}: {_EXPECTED}")


def _polars_moments(series: Any, missing: npt.NDArray[np.bool_]) -> _Raw:
    """Return dates, times and durations as numbers; values in nanoseconds must be whole microseconds."""
    import polars as pl

    counted = _spread(series.filter(~series.is_null()).to_physical().to_numpy(), missing)
    if series.dtype == pl.Date:
        return _Raw(counted.astype(np.float64), missing, Kind.DATE)
    if series.dtype == pl.Time:
        values, kind = moments.of_numpy(counted.astype("m8[ns]"), series.name)
        return _Raw(values, missing, Kind.TIME)
    letter = "m" if series.dtype == pl.Duration else "M"
    values, kind = moments.of_numpy(counted.astype(f"{letter}8[{series.dtype.time_unit}]"), series.name)
    if kind is Kind.DATE:
        values, kind = values * moments.DAY, Kind.MOMENT  # what the type says
    zone = getattr(series.dtype, "time_zone", None)
    return _Raw(values, missing, kind, zone=None if zone is None else moments.known_zone(zone))


def _spread(present: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return an array of all rows: the present values at their places, and 0 for missing values."""
    values = np.zeros(missing.shape, dtype=present.dtype)
    values[~missing] = present
    return values
