"""Read the cells of files without types as the values that a model accepts.

A text file writes the number 1 and the text "1" in the same way, and a spreadsheet may do so too. The categories of the
model decide: a cell becomes the one category with this text, or a number, or stays a text. Ambiguous cells raise an
error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from proofwood.data.kinds import Taken
from proofwood.data.text_forms import GAPS, MISSING_MARKS, Found
from proofwood.exceptions import DataError
from proofwood.hints import Hint
from proofwood.printable import shown

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TYPES = "use a Parquet or Arrow file, which stores the types of values"


# Without the model, a reader turned its categories "1" and "2" into numbers:
# decisions/0071-cells-as-the-model-takes-them.
@dataclass(frozen=True, eq=False)
class Cells:
    """A table, with access to the original text of its cells.

    Parameters
    ----------
    frame : the table, with types guessed from the cells
    path : path of the file
    written : function from names of columns to these columns as text; None if the file has types
    hints : what the file itself gave to say, such as its encoding
    """

    frame: pl.DataFrame
    path: Path
    written: Callable[[Sequence[str]], pl.DataFrame] | None = None
    hints: tuple[Hint, ...] = ()

    def with_value(self, name: str) -> Cells:
        """The rows in which a column has a value; marks such as "?" between numbers that are text are none.

        Raises
        ------
        DataError
            If no row has one.
        """
        column = self.frame.get_column(name)
        here = column.is_not_null() & column.is_not_nan() if column.dtype.is_float() else column.is_not_null()
        if column.dtype == pl.String:
            here = here & ~_is_mark(column)
        if not here.any():
            raise DataError(f"{self.path}: no row has a value in column {name!r}")
        read = self.written
        if read is None:
            return replace(self, frame=self.frame.filter(here))
        return replace(
            self,
            frame=self.frame.filter(here),
            written=lambda names: read(names).filter(here) if names else read(names),
        )

    def taken(self, takes: Mapping[str, Taken]) -> pl.DataFrame:
        """Return the table, with the named columns read as the model accepts them.

        Parameters
        ----------
        takes : accepted values by column name; the types of other columns are guessed from their cells

        Raises
        ------
        DataError
            If the model does not accept a cell, or a cell is ambiguous; the message names its column and row.
        """
        if self.written is None:
            return self.frame
        types = self.frame.schema
        takes = {name: taken for name, taken in takes.items() if name in types}
        numbers = {name for name, one in takes.items() if not one.values and not one.text}
        asked = [name for name in takes if name not in numbers or types[name] == pl.String]
        return self.frame.with_columns(
            [_read(column, takes[column.name], self.path) for column in self.written(asked).get_columns()]
        )


def _is_mark(texts: pl.Series) -> pl.Series:
    """Where a column of text holds a mark for a missing value, if its other texts are numbers or dates."""
    mark = texts.str.strip_chars().str.to_lowercase().is_in(list(MISSING_MARKS)).fill_null(False)
    found = mark.any() and Found.of(texts.filter(~mark).drop_nulls().unique().to_list()).forms
    return mark if found else mark & False


def as_numbers(column: pl.Series) -> pl.Series | None:
    """Convert texts into integers, floats or booleans; return None if a text is neither.

    Spaces around a text, and the case of true and false, do not matter. Marks such as ``?`` become missing values.
    """
    bare = column.str.strip_chars()
    gap = bare.is_null() | bare.str.to_lowercase().is_in(list(MISSING_MARKS))
    given = bare.filter(~gap)
    kept = pl.select(pl.when(~gap).then(bare).alias(column.name)).to_series()
    for dtype in (pl.Int64, pl.Float64):
        if given.cast(dtype, strict=False).null_count() == 0:
            return kept.cast(dtype)
    if given.str.to_lowercase().is_in(["true", "false"]).all():
        return (kept.str.to_lowercase() == "true").alias(column.name)
    return None


def _read(cells: pl.Series, taken: Taken, path: Path) -> pl.Series:
    """Return a column as the model accepts it; a column of a spreadsheet may have numbers instead of texts."""
    if cells.dtype != pl.String:
        texts = [value for value in taken.values if isinstance(value, str)]
        if len(texts) == len(taken.values) > 0 and cells.null_count() < len(cells):
            raise DataError(
                f"{path}: column {cells.name!r} holds values of type {cells.dtype}, but the categories of the model "
                f"are texts, such as {texts[0]!r}: format the column as text"
            )
        return cells
    values = [value for value in taken.values if not _absent(value)]
    if values:
        return _Categories(values, cells, path, gaps=len(values) < len(taken.values)).read()
    if taken.text:
        return cells
    found = as_numbers(cells)
    if found is None:
        raise _no_number(cells, path)
    return found


def _no_number(cells: pl.Series, path: Path) -> DataError:
    """Return the error for a column of numbers with a cell that is not a number."""
    words = [text for text in cells if text is not None and text.strip().lower() not in MISSING_MARKS]
    text = next(text for text in words if pl.Series([text.strip()]).cast(pl.Float64, strict=False).null_count())
    comma = _NUMBER.fullmatch(text.strip().replace(",", ".", 1))
    return DataError(
        f"{_where(cells, text, path)}, but the model expects numbers: "
        + (
            "write decimals with a point, or say --decimal , if the whole table has decimal commas"
            if comma
            else "write a number, or leave the cell empty if it is missing"
        )
    )


def _where(cells: pl.Series, text: str, path: Path) -> str:
    return f"{path}: column {cells.name!r} holds {text!r} in row {cells.to_list().index(text)}"


class _Categories:
    """The categories of a column, and a search for each cell among them; ``gaps``: missing values are a category."""

    def __init__(self, values: Sequence[Any], cells: pl.Series, path: Path, *, gaps: bool) -> None:
        self.values = [
            value.item() if isinstance(value, np.generic) and not _is_date(value) else value for value in values
        ]
        self.cells, self.path = cells, path
        self.texts = {value for value in self.values if isinstance(value, str)}
        if "" in self.texts:
            self._require_quotes(gaps=gaps)
        self.near: dict[Any, str] = {}
        for text in sorted(self.texts):
            self.near.setdefault(_said(text, comma=True), text)
        self.others: dict[Any, Any] = {}
        for value in self.values:
            self.others |= dict.fromkeys(_keys_of(value), value)

    def read(self) -> pl.Series:
        """Return the cells as categories of the model; unknown categories become values of the same type."""
        name, written = self.cells.name, self.cells.to_list()
        found = {text: self._meant(text) for text in dict.fromkeys(written) if text is not None}
        values = [None if text is None else found[text] for text in written]
        kinds = {type(value) for value in (*found.values(), *self.values) if value is not None}
        if str in kinds and len({type(value) for value in found.values()}) > 1:
            raise DataError(
                f"{self.path}: the categories of column {name!r} in the model are texts and values of other types, and "
                "one column of a table cannot contain both: pass the rows to Explainer in Python, as a pandas frame"
            )
        if any(map(_is_date, found.values())):
            return pl.Series(name, np.array(values, dtype="M8[ns]"))
        if any(isinstance(value, str) for value in found.values()):
            return pl.Series(name, values, dtype=pl.String)
        dtype = pl.Boolean if kinds == {bool} else pl.Float64 if float in kinds else pl.Int64
        try:
            return pl.Series(name, values, dtype=dtype)
        except (OverflowError, TypeError):
            largest = max(found, key=lambda text: abs(found[text] or 0))
            raise self._refused(largest, "a whole number beyond 64 bits", _TYPES) from None

    def _require_quotes(self, *, gaps: bool) -> None:
        """Raise if empty cells may be either a text or a missing value; a file that has both kinds is clear."""
        quoted, empty = bool((self.cells == "").any()), self.cells.null_count() > 0
        if empty == quoted or (quoted and not gaps):
            return
        cells = 'only cells of ""' if quoted else "empty cells"
        raise DataError(
            f"{self.path}: column {self.cells.name!r} has {cells}, which may be missing values or the category '' of "
            f'the model: write the category as "", and leave a cell empty only if its value is missing; or {_TYPES}'
        )

    def _meant(self, text: str) -> Any:
        """The value that the text of a cell means; None for a missing value."""
        said = _said(text)
        other = self.others.get(said)
        if text in self.texts:
            if other is not None:
                raise self._refused(text, f"which the model knows both as a text and as {other!r}", _TYPES)
            return text
        if other is not None:
            return other
        if self.texts:
            return self._unknown_text(text)
        if text.strip().lower() in MISSING_MARKS:
            return None
        kind, value = said
        if any(kind == known for known, _ in self.others) and not all(isinstance(one, bool) for one in self.values):
            return value  # a category of the same type that the model does not know
        known = shown(self.values, 5, str)
        raise self._refused(
            text, f"but the categories of the model are {known}", "write one of these, or a value of their type"
        )

    def _unknown_text(self, text: str) -> str:
        """Return a text that is not a category of the model; raise if it may mean a category or a missing value."""
        twin = self.near.get(_said(text, comma=True))
        if twin is not None:
            raise self._refused(
                text,
                f"which is not a category of the model, but may mean {twin!r}",
                f"write it as in the model. If it is another category, {_TYPES}",
            )
        if text.strip().lower() in GAPS:
            raise self._refused(
                text,
                "which is not a category of the model, but may mean a missing value",
                f"leave the cell empty, without quotes, if the value is missing. If it is a category, {_TYPES}",
            )
        return text

    def _refused(self, text: str, why: str, todo: str) -> DataError:
        return DataError(f"{_where(self.cells, text, self.path)}, {why}: {todo}")


Key = tuple[str, Any]
"""The meaning of a cell: the kind of its value, and the value."""


def _keys_of(value: Any) -> Sequence[Key]:
    """The keys of all cells that may mean a value that is not text; 0 and 1 may mean false and true."""
    if isinstance(value, bool):
        return [("truth", value), ("number", int(value))]
    if isinstance(value, int | float):
        return [("number", value), *([("truth", bool(value))] if value in (0, 1) else [])]
    moment = _moment(value) if _is_date(value) and getattr(value, "tzinfo", None) is None else None
    return [] if moment is None else [("moment", moment)]


def _said(text: str, *, comma: bool = False) -> Key:
    """The meaning of a cell, independent of how it is written; with ``comma``, a decimal comma counts as a point."""
    bare = text.strip()
    if bare.lower() in ("true", "false"):
        return "truth", bare.lower() == "true"
    number = bare.replace(",", ".", 1) if comma else bare
    if _NUMBER.fullmatch(number):
        return "number", _number(number)
    moment = _moment(bare) if _DAY.match(bare) else None
    return ("text", bare) if moment is None else ("moment", moment)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _moment(value: Any) -> Any:
    """The day or moment without a zone, to the nanosecond; None if the value is not one."""
    try:
        return np.datetime64(value, "ns")
    except (ValueError, OverflowError):
        return None


def _is_date(value: Any) -> bool:
    return isinstance(value, date | np.datetime64)


def _absent(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
