"""CSV and Parquet files as polars frames with a header, and the split into features and labels."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl

PARQUET = (".parquet", ".pq")
SEPARATORS = ",;\t|"
"""Candidates for the separator of a text table, tried in this order; the one that makes most columns wins."""
MISSING_MARKS = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "-", "."})


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a CSV (also .tsv, also gzipped) or Parquet file with a header.

    The separator of a text table is found from its header. Columns of numbers that are padded with spaces become
    numbers; everything else that is no number stays text.

    Raises
    ------
    DataError
        If the file is missing, empty, without a header, or not readable; the message names the file and what to do.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a CSV or Parquet file")
    if not path.exists():
        near = get_close_matches(path.name, _siblings(path), n=1)
        raise DataError(f"no file {path}" + (f": did you mean {path.with_name(near[0])}?" if near else ""))
    try:
        if path.suffix.lower() in PARQUET:
            return _read_parquet(path)
        return _read_text(path)
    except PermissionError as error:
        raise DataError(f"cannot read {path}: permission denied") from error


def drop_columns(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """``frame`` without the columns ``names``; DataError with a suggestion if one does not exist."""
    names = list(names)
    for name in names:
        require_column(frame.columns, name)
    return frame.drop(names)


def split_target(frame: pl.DataFrame, target: str) -> tuple[pl.DataFrame, npt.NDArray[Any]]:
    """The features, and the labels in column ``target``: integers, booleans, floats or text, as the file has them.

    Raises
    ------
    DataError
        If the column does not exist, has missing labels, or is the only one.
    """
    require_column(frame.columns, target)
    labels = frame.get_column(target)
    gaps = int(labels.is_null().sum()) + (int(labels.is_nan().sum()) if labels.dtype.is_float() else 0)
    if gaps:
        raise DataError(f"{gaps} of {len(labels)} rows have no label in column {target!r}: drop these rows first")
    features = frame.drop(target)
    if features.width == 0:
        raise DataError(f"the table has no column but the target {target!r}: expected at least one feature")
    values = labels.to_numpy()
    return features, values.astype(str) if values.dtype.kind == "O" else values


def select_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The columns ``names`` in that order, whatever the order in ``frame``; other columns are left out.

    Raises
    ------
    DataError
        If columns are missing; the message names them, and the column that may be meant.
    """
    missing = [name for name in names if name not in frame.columns]
    if missing:
        spare = [name for name in frame.columns if name not in names]
        parts = [repr(name) + _suggestion(name, spare, " (is it {}?)") for name in missing[:5]]
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise DataError(
            f"the model needs {len(missing)} column{'s' if len(missing) > 1 else ''} that the table does not have: "
            f"{', '.join(parts)}{more}. Columns are matched by name: rename them to predict."
        )
    return frame.select(list(names))


def require_column(columns: Sequence[str], name: str) -> None:
    """Raise DataError unless ``name`` is one of ``columns``; the message suggests the nearest, or lists them."""
    if name not in columns:
        near = _suggestion(name, columns, " Did you mean {}?")
        if not near:
            near = f" The columns are {', '.join(columns[:20])}{', ...' if len(columns) > 20 else ''}."
        raise DataError(f"no column {name!r} in the table.{near}")


# ----------------------------------------------------------------------------------------------------- reading


def _read_parquet(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        with path.open("rb") as file:
            frame = pl.read_parquet(file)
    except BaseException as error:
        if not _is_read_error(error):
            raise
        raise DataError(f"cannot read {path} as Parquet: {_first_line(error)}") from error
    return _checked(frame, path)


def _read_text(path: Path) -> pl.DataFrame:
    import polars as pl

    text = re.sub(r"(\r?\n *)+\Z", "\n", _text(path))  # blank lines at the end are no rows
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise DataError(f"{path} is empty: expected a header line and one line per row")
    separator = max(SEPARATORS, key=lambda mark: len(next(csv.reader([first], delimiter=mark))))
    header = [name.strip() for name in next(csv.reader([first], delimiter=separator))]
    _check_header(header, path)
    try:
        frame = pl.read_csv(
            text[text.index(first) :].encode(),
            separator=separator,
            has_header=True,
            infer_schema_length=None,
        )
    except BaseException as error:
        if not _is_read_error(error):
            raise
        raise DataError(
            f"cannot read {path} as a table: {_first_line(error)}. Expected {len(header)} fields on every line, as in "
            "the header, and quotes that close."
        ) from error
    if frame.width == len(header):
        frame.columns = header
    return _checked(frame.with_columns([_trimmed(column) for column in frame.get_columns()]), path)


def _text(path: Path) -> str:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot unpack {path}: {error}") from error
    if data[:4] == b"PAR1":
        raise DataError(f"{path} is a Parquet file by its content: give it the ending .parquet")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is no UTF-8 text (byte {error.start}): expected CSV text or a file ending in .parquet; "
            "save the file as UTF-8"
        ) from error


def _check_header(header: Sequence[str], path: Path) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: column name {repeated[0]!r} occurs more than once in the header: rename one of them")
    if all(_is_number(name) for name in header):
        raise DataError(f"{path}: the first line holds only numbers; expected a header with the column names")


def _checked(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    if frame.width == 0 or frame.height == 0:
        raise DataError(f"{path} has {frame.height} rows and {frame.width} columns: expected at least one row of data")
    return frame


def _trimmed(column: pl.Series) -> pl.Series:
    """Numbers that only padding made text, as numbers; text unchanged."""
    import polars as pl

    if column.dtype != pl.String:
        return column
    bare = column.str.strip_chars()
    for dtype in (pl.Int64, pl.Float64):
        numbers = bare.cast(dtype, strict=False)
        if numbers.null_count() == column.null_count() < len(column):
            return numbers
    return column


def explain_text_column(column: pl.Series) -> str | None:
    """What a text column holds if it would be numbers but for marks such as ``?``; None if it is really text."""
    import polars as pl

    if column.dtype != pl.String:
        return None
    bare = column.str.strip_chars()
    odd = column.filter(bare.cast(pl.Float64, strict=False).is_null() & column.is_not_null())
    marks = sorted(set(odd.str.strip_chars().to_list()))
    if not 0 < len(odd) < len(column) or not all(mark.lower() in MISSING_MARKS for mark in marks):
        return None
    return f"{len(odd)} of {len(column)} values are missing (written {', '.join(repr(mark) for mark in marks)})"


def _siblings(path: Path) -> list[str]:
    folder = path.parent
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _suggestion(name: str, among: Sequence[str], phrase: str) -> str:
    by_lower = {other.lower().strip(): other for other in among}
    near = get_close_matches(name.lower().strip(), list(by_lower), n=1, cutoff=0.6)
    return phrase.format(repr(by_lower[near[0]])) if near else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return math.isfinite(float(text))


def _is_read_error(error: BaseException) -> bool:
    """Errors of polars, also a panic of its reader, which is no Exception."""
    import polars as pl

    return isinstance(error, (pl.exceptions.PolarsError, OSError, ValueError)) or "Panic" in type(error).__name__


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
