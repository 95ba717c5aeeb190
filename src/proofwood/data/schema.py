"""The schema of the training table, and the conversion of new rows by this schema.

A learner uses every column that can be tested: numbers, booleans, dates and times, and categories, with or without
missing values. Columns that cannot be used raise one error for all. Columns that are useless or misleading are left
out, with one warning for all: constant columns, columns without values, and text that differs in almost every row. A
column in ``categorical_features`` is never left out because of its many levels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import (
    Column,
    Columns,
    as_levels,
    read_columns,
    require_exact_integers,
    require_no_infinity,
    require_told_apart,
)
from proofwood.data.frames import as_frame, is_frame
from proofwood.data.from_text import read_from_text
from proofwood.data.kinds import CATEGORIES, MOMENTS, NUMBERS, Kind, LevelType, Taken
from proofwood.data.moments import text_of
from proofwood.data.table_hints import CONSTANT, DROPPED, EMPTY, FEW_ROWS, UNREAD, hints_of
from proofwood.data.text_forms import Form, form_from, form_of
from proofwood.decimals import short
from proofwood.exceptions import DataError
from proofwood.hints import About, Hint
from proofwood.language import gettext, number
from proofwood.markup import titled
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.model.sums import holds_nan
from proofwood.printable import nearest, shown

MOST_LEVELS = 255
"""A text column with more levels is left out, unless the user names it as categorical."""
ROWS_PER_LEVEL = 30
"""A text column with fewer rows per level, on average, is left out if it has more than ``FEW_LEVELS`` levels."""
FEW_LEVELS = 32
"""A text column with at most this number of levels is not left out because of few rows per level."""


@dataclass(frozen=True, eq=False)
class Schema:
    """The description of the columns of the training data.

    Parameters
    ----------
    columns : one description per column, also for an array without names
    by_name : whether the data was a frame
    left_out : the reason for each column that is left out, by its index
    named : columns that the user declared as categorical
    """

    columns: tuple[Column, ...]
    by_name: bool = False
    left_out: Mapping[int, str] = field(default_factory=dict)
    named: frozenset[int] = frozenset()

    @cached_property
    def categories(self) -> dict[int, Column]:
        """The categorical columns, by index."""
        return {j: column for j, column in enumerate(self.columns) if column.kind in CATEGORIES}

    @cached_property
    def nominal(self) -> tuple[int, ...]:
        """The indices of the categorical columns without order."""
        return tuple(j for j, column in enumerate(self.columns) if column.kind is Kind.NOMINAL)

    @cached_property
    def gaps(self) -> frozenset[int]:
        """The indices of the columns with missing values in training, except those that are left out."""
        return frozenset(j for j, column in enumerate(self.columns) if column.missing and j not in self.left_out)

    @cached_property
    def unread(self) -> tuple[int, ...]:
        """The indices of the columns that are left out because of their levels."""
        return tuple(j for j, reason in self.left_out.items() if reason not in (DROPPED, EMPTY, CONSTANT))

    @property
    def plain(self) -> bool:
        """Whether all columns are numbers without missing values, read as they are, and no column is left out."""
        return not self.left_out and all(
            column.missing == 0 and not column.form and not column.absent and column.kind not in (*CATEGORIES, *MOMENTS)
            for column in self.columns
        )

    def _repr_html_(self) -> str:
        n = len(self.columns)
        left_out = f", {len(self.left_out):,} left out" if self.left_out else ""
        title = f"{n:,} {'column' if n == 1 else 'columns'}{left_out}"
        lines = [
            (column.name, *_kind_and_values(column), f"{column.missing:,}" if column.missing else "", self._note(j))
            for j, column in enumerate(self.columns)
        ]
        return titled(title, "", ("column", "kind", "in training", "missing", "note"), lines, scroll=True)

    def _note(self, j: int) -> str:
        """What else a reader should know of how a column was read."""
        column = self.columns[j]
        found = [f"left out: {self.left_out[j]}"] if j in self.left_out else []
        if j in self.named:
            found.append("declared as categories")
        if column.form:
            found.append(f"text, such as {form_from(column.form).example}")
        if column.absent:
            found.append(f"{shown(column.absent, text=str)} read as missing")
        return "; ".join(found)


def _kind_and_values(column: Column) -> tuple[str, str]:
    """The kind of a column with its unit or zone, and its levels or its range, as texts."""
    kind = ", ".join(filter(None, (str(column.shown_as), column.unit, column.zone)))
    if column.kind in CATEGORIES:
        n = len(column.levels) or len(column.level_numbers)
        return f"{kind}, {n:,} {'level' if n == 1 else 'levels'}" if n else kind, shown(column.levels, text=str)
    if column.bounds is None or column.shown_as is Kind.BOOLEAN:
        return kind, ""
    ends = [text_of(end, column.kind, column.zone) if column.kind in MOMENTS else short(end) for end in column.bounds]
    return kind, " to ".join(dict.fromkeys(ends))


def taken_by(schema: Schema) -> dict[int, Taken]:
    """The values that a model accepts in each column that is not left out, to read files without types."""
    return {j: _taken(column) for j, column in enumerate(schema.columns) if j not in schema.left_out}


def _taken(column: Column) -> Taken:
    if column.kind in MOMENTS or column.level_type.kind in MOMENTS or column.form or column.absent:
        return Taken(text=True)  # texts are read as those of training
    if column.kind not in CATEGORIES or not column.levels:
        return Taken()
    if column.level_type is LevelType.BOOLEAN:
        return Taken((False, True))
    return Taken((*(column.level_numbers or column.levels), *([None] if column.missing else [])))


# ----------------------------------------------------------------------------------------------------------- training


def training_table(
    X: Any,
    *,
    categorical_features: Any = None,
    drop: Any = None,
    missing_values: Any = None,
    written_as: Mapping[Any, str | Form | None] | None = None,
) -> tuple[Any, Schema, list[Hint]]:
    """Convert the training data into numbers, and describe its columns.

    Parameters
    ----------
    X : a frame or an array-like, the argument of ``fit``
    categorical_features : indices or names of columns, one boolean per column, or None
    drop : indices or names of columns to leave out, or None
    missing_values : a value that means a missing value, a list of these, or lists by the names or indices of columns
    written_as : by the name or index of a column of text, an example of a number or a date as it is written there, or
        its form; None if it is text of neither

    Returns
    -------
    values : (n_rows, n_columns) float64, NaN where missing; ``X`` itself if it is not a table, for a later check
    schema : Schema
    hints : what the user should know of the columns

    Raises
    ------
    DataError
        If columns cannot be used; the message names all of them.
    """
    frame = is_frame(X)
    table = as_frame(X) if frame else X
    names = [str(name) for name in table.columns] if frame else None
    array = None if frame else _array(X)
    if names is None and array is None:
        return X, Schema(()), []
    width = len(names) if names is not None else array.shape[1]  # type: ignore[union-attr]
    labels = names if names is not None else [f"x{j}" for j in range(width)]
    dropped = set(columns_of(drop, width, names or (), "drop"))
    named = frozenset(columns_of(categorical_features, width, names or (), "categorical_features")) - dropped
    absent = absent_values(missing_values, labels, by_name=frame)
    forms = _forms(written_as, labels, by_name=frame)
    words = {j for j, form in forms.items() if form is None}
    hints: list[Hint] = []
    if names is None and not _holds_text(array) and not absent:
        values = _numbers(array)
        for j in sorted(set(range(width)) - dropped):
            require_told_apart(array[:, j], f"column {j} of X")  # type: ignore[index]
        columns = _plain_columns(values, labels)
    else:
        read = read_columns(
            table if frame else np.asarray(array, dtype=object),
            dates=True,
            skip={labels[j] for j in dropped},
            apart=True,
            absent=absent,
            words={labels[j] for j in words},
        )
        plain_text = tuple(j for j in read.plain_text if j not in dropped | named | words)
        columns = [replace(column, absent=absent.get(column.name, ())) for column in read.columns]
        read, hints = read_from_text(
            Columns(read.values, tuple(columns), plain_text), {j: form for j, form in forms.items() if form is not None}
        )
        values, columns = read.values, list(read.columns)
        if frame:
            columns = [replace(c, zero_one=_is_zero_one(values[:, j], c)) for j, c in enumerate(columns)]
    for j in named:
        if columns[j].kind is Kind.BOOLEAN or columns[j].kind in MOMENTS:
            values = np.array(values, dtype=np.float64, order="F")
            values[:, j], columns[j] = as_levels(values[:, j], columns[j])
        else:
            columns[j] = _as_category(values[:, j], columns[j])
    left_out = dict.fromkeys(sorted(dropped), DROPPED)
    if frame:
        left_out |= _useless(values, columns, dropped)
        unread = {name for hint in hints if hint.about in (About.OPEN, About.IN_THE_WAY) for name in hint.columns}
        left_out |= _too_many_levels(values, columns, named, left_out, unread)
    schema = Schema(tuple(columns), frame, dict(sorted(left_out.items())), named)
    values = _without(values, left_out)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        require_no_infinity(values, names or ())
    if frame:
        hints += hints_of(values, schema.columns, schema.left_out, hints)
    return values, schema, hints


def _array(X: Any) -> npt.NDArray[Any] | None:
    """Return ``X`` as a two-dimensional array, of objects if ``X`` is a list; None if this is not possible."""
    if hasattr(X, "tocsr"):
        return None
    try:
        array = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    except ValueError:
        return None  # rows of different lengths: the later check of numbers raises the error
    return array if array.ndim == 2 and array.dtype.kind in "biufOUST" else None


def _holds_text(array: npt.NDArray[Any] | None) -> bool:
    return array is not None and array.dtype.kind in "OUST" and any(map(_is_text, array.T))


def _is_text(values: npt.NDArray[Any]) -> bool:
    """Whether a column contains text that is not a number."""
    for value in values.tolist():
        if isinstance(value, (str, bytes)):
            try:
                float(value)
            except ValueError:
                return True
    return False


def _numbers(array: Any) -> Any:
    """Return an array as float64; if this fails, return it unchanged, so that scikit-learn raises the error."""
    if array.dtype.kind in "iuO":
        for j in range(array.shape[1]):
            require_exact_integers(array[:, j], f"column {j} of X")
    if array.dtype.kind == "O":
        array = np.where(_is_none(array), np.nan, array)
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        return array


def _is_none(array: npt.NDArray[Any]) -> BoolArray:
    return np.array([[value is None for value in row] for row in array.tolist()], dtype=bool).reshape(array.shape)


def _plain_columns(values: Any, names: Sequence[str]) -> list[Column]:
    """The descriptions of the columns of an array of numbers."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return [Column(name) for name in names]
    if not holds_nan(values):
        return [Column(name) for name in names]
    gaps = np.isnan(values).sum(axis=0).tolist()
    return [Column(name, missing=int(missing)) for name, missing in zip(names, gaps, strict=True)]


def _as_category(given: FloatArray, column: Column) -> Column:
    """Return the description of a column that the user declares as categorical; DataError if numbers are not codes."""
    if column.kind in CATEGORIES:
        return replace(column, kind=Kind.NOMINAL)
    bad = given[~np.isnan(given) & ((given < 0) | (given != np.floor(given)) | (given > 2**31))]
    if bad.size:
        raise DataError(
            f"column {column.name!r} is declared as categorical, but holds {bad[0]:g}: expected whole numbers from 0 "
            "as codes, or text. Convert the values into text, for example with .astype(str)."
        )
    level_type = LevelType.INTEGER if column.kind is Kind.INTEGER else LevelType.NUMERIC
    return replace(column, kind=Kind.NOMINAL, level_type=level_type)


def _is_zero_one(given: FloatArray, column: Column) -> bool:
    """Whether a column of numbers holds both 0 and 1, and nothing else but missing values."""
    if column.kind not in NUMBERS or column.bounds != (0.0, 1.0) or column.unit is not None:
        return False
    return bool(np.all((given == 0) | (given == 1) | np.isnan(given)))


def _useless(values: FloatArray, columns: Sequence[Column], dropped: Collection[int]) -> dict[int, str]:
    """The columns with only missing values or one constant value, and the reason for each."""
    found = {}
    for j, column in enumerate(columns):
        if j in dropped or values.shape[0] < 2:
            continue
        if column.missing == values.shape[0]:
            found[j] = EMPTY
        elif not column.missing and column.bounds is not None and column.bounds[0] == column.bounds[1]:
            found[j] = CONSTANT
    return found


def _too_many_levels(
    values: FloatArray,
    columns: Sequence[Column],
    named: Collection[int],
    left_out: Mapping[int, str],
    unread: Collection[str],
) -> dict[int, str]:
    """The text columns with too many levels for tests that are useful for new rows, and the reason for each."""
    found: dict[int, str] = {}
    n = values.shape[0]
    for j, column in enumerate(columns):
        if column.kind is not Kind.NOMINAL or j in named or j in left_out or n <= FEW_ROWS:
            continue
        n_levels = len(column.levels)
        present = n - column.missing
        if column.name in unread and n_levels > FEW_LEVELS:
            found[j] = UNREAD
        elif n_levels > 0.9 * present:
            found[j] = gettext(
                "an identifier: %(n)s different texts in %(n_rows)s rows",
                n=number(f"{n_levels:,}"),
                n_rows=number(f"{present:,}"),
            )
        elif n_levels > MOST_LEVELS or (n_levels > FEW_LEVELS and n_levels * ROWS_PER_LEVEL > present):
            found[j] = gettext(
                "%(n)s levels, %(n_rows)s rows each on average",
                n=number(f"{n_levels:,}"),
                n_rows=number(f"{present / n_levels:.0f}"),
            )
    return found


def _without(values: FloatArray, left_out: Collection[int]) -> FloatArray:
    """Return ``values`` with 0 in all rows of the columns that are left out."""
    if left_out:
        values = values.copy()
        values[:, list(left_out)] = 0.0
    return values


def absent_values(given: Any, labels: Sequence[str], *, by_name: bool) -> dict[str, tuple[str | float, ...]]:
    """The values that stand for a missing value, by the name of the column.

    Raises
    ------
    ValueError
        If one of them is not a value, or a column does not exist.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = _several(given)
        return dict.fromkeys(labels, values) if values else {}
    return {_label(key, labels, "missing_values", by_name=by_name): _several(values) for key, values in given.items()}


def _several(given: Any) -> tuple[str | float, ...]:
    """One value or several, each a text or a number."""
    values = [given] if isinstance(given, str) or not np.iterable(given) else list(given)
    if isinstance(given, Set):  # in one order
        values.sort(key=lambda value: (type(value).__name__, str(value)))
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (str, int, float, np.integer, np.floating)):
            raise ValueError(
                f"missing_values holds {value!r}: expected texts or numbers that stand for a missing value, or lists "
                "of these by the names of columns"
            )
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _label(key: Any, labels: Sequence[str], parameter: str, *, by_name: bool) -> str:
    """The name of the column that a parameter names by its name or its index."""
    return labels[columns_of([key], len(labels), labels if by_name else (), parameter)[0]]


def _forms(
    given: Mapping[Any, str | Form | None] | None, labels: Sequence[str], *, by_name: bool
) -> dict[int, Form | None]:
    """The forms of columns of text, by index; None for those that stay text."""
    if given is not None and not isinstance(given, Mapping):
        raise ValueError(
            f"written_as={given!r}: expected examples by the names of columns, such as {{'amount': '1.234,5'}}"
        )
    found: dict[int, Form | None] = {}
    for key, example in (given or {}).items():
        j = labels.index(_label(key, labels, "written_as", by_name=by_name))
        try:
            found[j] = example if example is None or isinstance(example, Form) else form_of(str(example))
        except ValueError as error:
            raise ValueError(f"written_as names column {key!r}: {error}") from error
    return found


def forms_of(schema: Schema) -> dict[int, Form | None]:
    """How the texts of a table were read, as ``written_as`` for parts of it, whose texts may allow other readings."""
    texts = {j: column for j, column in enumerate(schema.columns) if column.kind is Kind.NOMINAL or column.form}
    return {j: form_from(column.form) if column.form else None for j, column in texts.items() if j not in schema.named}


# ----------------------------------------------------------------------------------------------------------- new rows


ERROR_IF_ORDERED = "error if ordered"
"""``unseen`` of :func:`new_table` where only a level of an ordered category must be known."""


def new_table(X: Any, schema: Schema, *, unseen: str = "majority") -> Any:
    """Convert new rows into numbers, with the codes of training.

    Parameters
    ----------
    X : a frame or an array-like, the argument of ``predict``
    schema : schema of the training data
    unseen : treatment of levels that are not in the training data. ``"majority"``: such a level gets a code after the
        last one, which no level test lists; in a column of ordered categories it counts as missing. ``"error"``: raise
        DataError
    """
    frame = is_frame(X)
    array = None if frame else _array(X)
    if not frame and (array is None or not _holds_text(array)):
        _require_no_text_before(schema, array)
        if array is None:
            return X
        if not any(column.kind in MOMENTS or column.absent for column in schema.columns):
            return _without_columns(_numbers(array), schema)
    table: Any = as_frame(X) if frame else np.asarray(array, dtype=object)
    names = [str(name) for name in table.columns] if frame else [f"x{j}" for j in range(table.shape[1])]
    known = dict(zip(names, schema.columns, strict=False))
    if schema.by_name and frame:
        known = {column.name: column for column in schema.columns}
    like = {
        name: column
        for name, column in known.items()
        if column.levels or column.kind in MOMENTS or column.form or column.absent
    }
    skip = {name for j, name in enumerate(names) if j in schema.left_out}
    absent = {name: column.absent for name, column in like.items() if column.absent}
    read = read_columns(table, like=like, skip=skip, absent=absent)
    values = read.values
    for j, column in enumerate(read.columns):
        if column.kind in MOMENTS and names[j] not in {*like, *skip} and not np.isnan(values[:, j]).all():
            raise DataError(
                f"column {names[j]!r} holds values of kind {column.kind}, but held numbers in training: convert it to "
                "numbers"
            )
        if column.kind not in CATEGORIES or names[j] in skip or not column.levels:
            continue
        if names[j] not in like:
            raise DataError(
                f"column {names[j]!r} holds text (such as {shown(column.levels, 1)}), but held numbers in training: "
                "convert it to numbers"
            )
        strange = values[:, j] == len(column.levels)
        if not strange.any():
            continue
        if unseen == "error" or (unseen == ERROR_IF_ORDERED and column.kind is Kind.ORDERED):
            advice = 'correct it, or fit with unseen="majority"' if unseen == "error" else "correct it"
            raise DataError(_unseen(table, j, int(np.flatnonzero(strange)[0]), column, advice, frame=frame))
        if column.kind is Kind.ORDERED:
            values[strange, j] = np.nan
    return values


def _require_no_text_before(schema: Schema, array: npt.NDArray[Any] | None) -> None:
    """Raise DataError if a column held text in training and the array has no text."""
    for j, column in enumerate(schema.columns):
        if column.levels and j not in schema.left_out and array is not None:
            where = repr(column.name) if schema.by_name else j
            raise DataError(
                f"column {where} held text in training (such as {column.levels[0]!r}), but X holds only numbers: pass "
                "a frame with the columns of the training data, or an array of the same texts"
            )


def _unseen(table: Any, j: int, row: int, column: Column, advice: str, *, frame: bool) -> str:
    value = table[row, j] if not frame or not hasattr(table, "iloc") else table.iloc[row, j]
    known = shown(column.levels, 5)
    return (
        f"column {column.name!r} holds {value!r} in row {row}, which was not in the training data (it had {known}): "
        f"{advice}"
    )


def _without_columns(values: Any, schema: Schema) -> Any:
    """Return ``values`` with 0 in the columns that were left out, if it has as many columns as the training data."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.shape[1] == len(schema.columns):
        return _without(values, schema.left_out)
    return values


# --------------------------------------------------------------------------------------------------- names of columns


def columns_of(given: Any, n_columns: int, names: Sequence[str], parameter: str) -> list[int]:
    """Return the indices of the columns that a parameter names; an empty list if it is None.

    Parameters
    ----------
    given : value of the parameter: indices, names, or a mask
    n_columns : number of columns of the data
    names : names of the columns, empty if they have no names
    parameter : name of the parameter, for messages
    """
    if given is None:
        return []
    what = "expected indices or names of columns, or one boolean per column, or None"
    if isinstance(given, str) and given in names:
        return [names.index(given)]
    if isinstance(given, (str, bytes)) or not np.iterable(given):
        raise ValueError(f"{parameter}={given!r}{_meant(given, names)}: {what}")
    items = list(given)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != n_columns:
            raise ValueError(f"{parameter} is a mask of {len(items)} values, but X has {n_columns} columns: {what}")
        return [j for j, item in enumerate(items) if item]
    indices = []
    for item in items:
        if isinstance(item, str) and item in names:
            indices.append(names.index(item))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool) and -n_columns <= item < n_columns:
            indices.append(int(item) % n_columns)
        else:
            there = (
                f"the columns are {shown(names, 20, str)}" if names else f"there are {n_columns} columns, without names"
            )
            raise ValueError(f"{parameter} names {item!r}{_meant(item, names)}, but {there}: {what}")
    return indices


def _meant(name: object, names: Sequence[str]) -> str:
    near = nearest(name, names) if isinstance(name, str) else None
    return f" (did you mean {near!r}?)" if near else ""
