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

from proofwood.data import moments
from proofwood.data.frames import (
    EXPECTED_VALUES,
    GivenColumn,
    as_frame,
    is_frame,
    is_pandas,
    pandas_values,
    polars_values,
)
from proofwood.data.kinds import CATEGORIES, MOMENTS, NUMBERS, Kind, LevelType
from proofwood.data.text_forms import NumberForm, form_from, numbers_like
from proofwood.exceptions import DataError
from proofwood.model.node_table import FloatArray
from proofwood.model.sums import holds_infinity
from proofwood.printable import is_word, shown

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

        def raw(j: int) -> GivenColumn:
            return pandas_values(data.iloc[:, j]) if pandas else polars_values(data.get_columns()[j])
    else:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.ndim != 2:
            raise ValueError(f"data has {array.ndim} dimensions, expected 2: a row per sample, a column per feature")
        labels = [f"x{j}" for j in range(array.shape[1])] if names is None else [str(name) for name in names]
        if len(labels) != array.shape[1]:
            raise ValueError(f"names has {len(labels)} names, but the data has {array.shape[1]} columns")

        def raw(j: int) -> GivenColumn:
            return GivenColumn(array[:, j])

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


def _with_gaps(raw: GivenColumn, absent: Sequence[str | float]) -> GivenColumn:
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
    name: str, raw: GivenColumn, unit: str | None, like: Column | None, *, dates: bool, apart: bool
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


def _read_levels(name: str, raw: GivenColumn, unit: str | None, like: Column) -> tuple[FloatArray, Column]:
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


def _with_levels(column: Column, raw: GivenColumn, texts: list[str]) -> Column:
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
    raw: GivenColumn, values: npt.NDArray[Any], texts: list[str], column: Column, like: Column | None
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


def _kind(name: str, present: npt.NDArray[Any]) -> Kind:
    simple = {"b": Kind.BOOLEAN, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.NUMERIC, "U": Kind.NOMINAL}
    simple |= {"M": Kind.MOMENT, "m": Kind.DURATION}
    if present.dtype.kind in simple:
        return simple[present.dtype.kind]
    if present.dtype.kind != "O":
        raise DataError(f"column {name!r} holds values of type {present.dtype}: {EXPECTED_VALUES}")
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
    raise DataError(f"column {name!r} holds values of type {shown}: {EXPECTED_VALUES}")
