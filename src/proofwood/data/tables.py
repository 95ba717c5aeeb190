"""Read files of tables with a header as polars frames, and split them into features and labels.

polars needs no other package, reads both CSV and Parquet, and reports the position of an error in a file
(decisions/0001-one-table-reader).
"""

from __future__ import annotations

import gzip
import math
import os
import re
import sys
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy.typing as npt
import polars as pl

from proofwood.data.cells import Cells, as_numbers
from proofwood.data.database import DUCKDB, SQLITE, SQLITE_BEGINS, asked_table, read_database
from proofwood.data.sizes import TEXT, bytes_of_arrow, bytes_of_parquet
from proofwood.data.text_forms import MISSING_MARKS
from proofwood.data.text_table import (
    BYTE_ORDERS,
    Layout,
    decoded,
    have_commas,
    may_be_thousands,
    reads_commas,
    with_points,
)
from proofwood.data.workbook import read_sheet
from proofwood.exceptions import DataError, DataWarning
from proofwood.files import RATIO, allowing, beyond, permitted, read_permitted, read_stream
from proofwood.hints import Hint, way_out
from proofwood.printable import first_line, nearest, shown

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
EXCEL = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
JSON = (".jsonl", ".ndjson", ".json")
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""The first bytes of packed files."""
PACKED_CHUNK = 2**10
"""Bytes that are unpacked at once: Zstandard makes at most 2**15 times as many of them."""
FORMS = "CSV, TSV or JSON (also packed, .gz or .zst), Parquet, Arrow, Excel, SQLite or DuckDB"
"""The file formats that can be read."""
MAX_PACKED = 100
"""The largest ratio of unpacked to packed size of a text or sheet; larger ones are refused as decompression bombs."""
MAX_CELL = 2**20
"""The largest number of bytes of a text in a cell."""
MAX_NAME = 1000
"""The largest number of characters of a column name."""
FOREIGN = {
    b"PK\x03\x04": "an Excel workbook or ZIP archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    SQLITE_BEGINS: "an SQLite database",
    b"ARROW1": "an Arrow file",
    b"PAR1": "a Parquet file",
}
"""The first bytes of files that are often renamed to .csv."""
ENDINGS = {
    SQLITE_BEGINS: ".sqlite",
    b"PK\x03\x04": ".xlsx",
    b"\xd0\xcf\x11\xe0": ".xls",
    b"ARROW1": ".arrow",
    b"PAR1": ".parquet",
}
"""The correct endings of those of these files that can be read."""
MOST_NAMED = 50
"""The largest number of missing columns that a message names."""


def read_table(path: str | Path, *, sheet: str | None = None, max_bytes: int | None = None) -> pl.DataFrame:
    """Read a table with a header: CSV (also .tsv, also gzipped), Parquet, Arrow (Feather), or a sheet of a workbook.

    The ending of the file name decides the format. The separator of a text table is found from its header. Columns of
    numbers with spaces around them become numbers; all other text stays text.

    Parameters
    ----------
    path : path of the file
    sheet : name of the sheet of an Excel workbook; None if only one sheet is not empty
    max_bytes : the most memory that the table may take, by the sizes that the file declares; 4 GiB by default. A packed
        file whose table is far larger than the file is also refused

    Raises
    ------
    DataError
        If the file is missing, too large, empty, without a header, or not readable; the message names the file and
        says what to do.
    ImportError
        If the file is a workbook, and the package that reads workbooks is not installed.
    """
    with allowing(max_bytes):
        return read_cells(path, sheet=sheet).frame


def read_cells(path: str | Path, *, sheet: str | None = None) -> Cells:
    """Read a table as :func:`read_table` does, with the original text of its cells.

    With this text, :meth:`~proofwood.data.cells.Cells.taken` reads the cells for a model.
    """
    path = Path(path)
    _require_file(path)
    ending = path.suffix.lower()
    if asked_table() is not None and ending not in (*SQLITE, *DUCKDB):
        raise DataError(f"{path} is not a database, so it has no table {asked_table()!r}: leave the table out")
    if sheet is not None and ending not in EXCEL:
        raise DataError(f"{path} is not a workbook, so it has no sheet {sheet!r}: remove the option sheet")
    try:
        if ending in EXCEL:
            return _read_excel(path, sheet)
        if ending in PARQUET:
            return Cells(_read_parquet(path), path)
        if ending in ARROW:
            return Cells(_read_arrow(path), path)
        if ending in (*SQLITE, *DUCKDB):
            size = path.stat().st_size
            frame = read_database(path, lambda estimate: _require_room(path, estimate, size))
            return Cells(_checked(frame, path, size), path)
        if _unpacked_ending(path) in JSON:
            return Cells(_read_json(path), path)
        return _read_text(path)
    except PermissionError as error:
        raise DataError(f"cannot read {path}: permission denied") from error


def column_names(path: str | Path) -> list[str]:
    """The names of the columns of a file that :func:`read_table` can read; rows of text and Parquet are not read.

    Raises
    ------
    DataError
        As :func:`read_table` does.
    """
    path = Path(path)
    _require_file(path)
    ending = path.suffix.lower()
    if ending in (*EXCEL, *ARROW, *SQLITE, *DUCKDB) or _unpacked_ending(path) in JSON:
        return read_table(path).columns
    if ending in PARQUET:
        return list(pl.read_parquet_schema(path))
    with path.open("rb") as file:
        begin = file.read(4)
    if begin == ZSTD:
        return read_table(path).columns
    with gzip.open(path) if begin.startswith(GZIP) else path.open("rb") as file:
        lines = file.read(MAX_CELL)
    if len(lines) == MAX_CELL and not lines.startswith(BYTE_ORDERS):
        lines = lines[: lines.rfind(b"\n") + 1] or lines  # the last character may be cut
    return list(Layout.of(decoded(lines, path)[0], path).header)


def _require_file(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected the file of a table ({FORMS})")
    if not path.exists():
        near = nearest(path.name, _siblings(path))
        raise DataError(f"no file {path}" + (f": did you mean {path.with_name(near)}?" if near else ""))


def drop_columns(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return ``frame`` without the columns ``names``; DataError with suggestions if a column does not exist."""
    names = list(names)
    require_columns(frame.columns, names)
    return frame.drop(names)


def split_target(frame: pl.DataFrame, target: str) -> tuple[pl.DataFrame, npt.NDArray[Any]]:
    """Return the features, and the labels in column ``target``.

    Labels that are integers, booleans, floats, text, dates, moments or durations keep their type. Decimals, times of
    day, and moments with a zone become text.

    Raises
    ------
    DataError
        If the column does not exist, has missing labels or invalid ones (lists, bytes), or is the only column.
    """
    require_values(frame, [target])
    return frame.drop(target), _labels(frame.get_column(target))


def require_values(frame: pl.DataFrame, targets: Sequence[str]) -> None:
    """Raise DataError if columns of targets do not exist or lack values, or if the table has no other column."""
    require_columns(frame.columns, targets)
    for name in targets:
        column = frame.get_column(name)
        gaps = int(column.is_null().sum()) + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)
        if gaps:
            todo = way_out("drop these rows first", "drop these rows first (--drop-missing-target)")
            raise DataError(f"{gaps:,} of {len(column):,} rows have no value in column {name!r}: {todo}")
    if frame.width == len(set(targets)):
        what = f"column {targets[0]!r}" if len(targets) == 1 else f"columns {shown(targets, 5)}"
        raise DataError(f"the table has only the target {what}: expected at least one feature")


def _labels(labels: pl.Series) -> npt.NDArray[Any]:
    dtype = labels.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise DataError(
            f"column {labels.name!r} holds values of type {dtype}, which are not labels: expected integers, booleans, "
            "text or dates"
        )
    simple = dtype in (pl.Boolean, pl.Float32, pl.Float64, pl.Date, pl.Duration) or (
        dtype.is_integer() and str(dtype) not in ("Int128", "UInt128")
    )
    if simple or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None):
        return labels.to_numpy()
    return labels.cast(pl.String).to_numpy().astype(str)


def select_columns(frame: pl.DataFrame, names: Sequence[str], needed: Collection[str] | None = None) -> pl.DataFrame:
    """Return a frame with only the columns ``names``, in this order.

    Parameters
    ----------
    frame : a table
    names : names of the columns
    needed : those that must be there, the others become missing values; None for all

    Raises
    ------
    DataError
        If columns are missing; the message names them, and similar columns of ``frame``.
    """
    absent = [name for name in names if name not in frame.columns]
    missing = [name for name in absent if needed is None or name in needed]
    if missing:
        spare = [name for name in frame.columns if name not in names]
        parts = [repr(name) + _suggestion(name, spare, " (is it {}?)") for name in missing[:MOST_NAMED]]
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise DataError(
            f"the model needs {len(missing)} column{'s' if len(missing) > 1 else ''} that the table does not have: "
            f"{', '.join(parts)}{more}. Columns are matched by name: rename them to predict."
        )
    return frame.with_columns(pl.lit(None).alias(name) for name in absent).select(list(names))


def require_column(columns: Sequence[str], name: str) -> None:
    """Raise DataError if ``name`` is not one of ``columns``; the message suggests a similar name, or lists all."""
    require_columns(columns, [name])


def require_columns(columns: Sequence[str], names: Iterable[str]) -> None:
    """Raise one DataError if any of ``names`` are not in ``columns``; the message has similar names or lists all."""
    absent = [name for name in dict.fromkeys(names) if name not in columns]
    if not absent:
        return
    listed = f" The columns are {shown(columns, 20, str)}."
    if 2 * sum(map(_is_number, columns)) >= len(columns):
        listed += " These look like values: does the table begin with a header?"
    if len(absent) == 1:
        several = [name.strip() for name in absent[0].split(",")]
        if len(several) > 1 and set(several) <= set(columns):
            raise DataError(f"no column {absent[0]!r} in the table, but several: repeat the option for each name")
        near = _suggestion(absent[0], columns, " Did you mean {}?")
        raise DataError(f"no column {absent[0]!r} in the table.{near or listed}")
    parts = [repr(name) + _suggestion(name, columns, " (did you mean {}?)") for name in absent]
    without = all(part == repr(name) for part, name in zip(parts, absent, strict=True))
    raise DataError(f"no columns {', '.join(parts)} in the table.{listed if without else ''}")


# ----------------------------------------------------------------------------------------------------- reading


def _read_parquet(path: Path) -> pl.DataFrame:
    data = _whole(path)
    with _read_errors(f"{path} as Parquet"):
        _require_room(path, bytes_of_parquet(data), len(data))
        with _silent_natively():
            frame = pl.read_parquet(BytesIO(data))
    return _checked(frame, path, len(data))


def _read_arrow(path: Path) -> pl.DataFrame:
    data = _whole(path)
    if not data.startswith(b"ARROW1"):
        raise DataError(
            f"the content of {path} is not an Arrow file, but perhaps an Arrow stream or another format: write it as "
            "an Arrow (Feather) file, for example with write_ipc of polars"
        )
    with _read_errors(f"{path} as Arrow (Feather)"):
        _require_room(path, bytes_of_arrow(data), len(data))
        with _silent_natively():
            frame = pl.read_ipc(BytesIO(data), use_pyarrow=False)
    return _checked(frame, path, len(data))


@contextmanager
def _read_errors(what: str, then: str = "") -> Iterator[None]:
    """A context in which errors of polars become a DataError: "cannot read ``what``", the error, and ``then``."""
    try:
        yield
    except DataError:
        raise
    except BaseException as error:
        if not _is_read_error(error):
            raise
        raise DataError(f"cannot read {what}: {first_line(error)}{then}") from error


def _require_room(path: Path, estimate: int, size: int, *, ratio: int = RATIO) -> None:
    """Raise DataError if a table takes more memory than permitted, see :func:`proofwood.files.permitted`."""
    refusal = beyond(path, estimate, size, ratio=ratio)
    if refusal is not None:
        raise DataError(refusal)


def _whole(path: Path) -> bytes:
    data, refusal = read_permitted(path)
    if refusal is not None:
        raise DataError(refusal)
    return data


def _unpacked_ending(path: Path) -> str:
    """The ending of a file, before that of how it is packed."""
    return Path(path.stem if path.suffix.lower() in (".gz", ".zst") else path.name).suffix.lower()


def _read_json(path: Path) -> pl.DataFrame:
    data = _bytes(path)
    read = pl.read_json if data.lstrip().startswith(b"[") else pl.read_ndjson
    with _read_errors(f"{path} as JSON", ". Expected an object on each line, or a list of objects"):
        _require_room(path, TEXT * data.count(b":"), len(data))
        with _silent_natively():
            frame = read(BytesIO(data), infer_schema_length=None)
    return _checked(frame, path, len(data))


def _read_excel(path: Path, sheet: str | None) -> Cells:
    data = _whole(path)
    frame = read_sheet(data, path, sheet, lambda estimate: _require_room(path, estimate, len(data), ratio=MAX_PACKED))
    typed = _checked(frame.with_columns([_typed(column) for column in frame.get_columns()]), path, len(data))
    return Cells(typed, path, frame.select)


@contextmanager
def _silent_natively() -> Iterator[None]:
    """A context that discards what compiled code writes to standard error, such as panics of polars threads.

    The error itself is still raised, in one line.
    """
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _read_text(path: Path) -> Cells:
    text, hints = _text(path)
    if hints:
        warnings.warn(DataWarning("; ".join(map(str, hints)), hints), stacklevel=3)
    layout = Layout.of(text, path)
    _check_header(layout.header, path)
    layout = layout.checked()
    content, separator = layout.content.encode(), layout.separator
    fields = f". Expected {len(layout.header)} fields on every line, and a closing quote for each opening one."
    with _read_errors(f"{path} as a table", fields):
        cells = content.count(separator.encode()) + content.count(b"\n")
        _require_room(path, len(content) + TEXT * cells, len(content))
        options: Any = {"infer_schema": False} if reads_commas() else {"infer_schema_length": None}
        frame = with_points(pl.read_csv(content, separator=separator, has_header=True, **options))
        own = frame.columns
        frame = _with_leading_zeros(frame, content, separator)
        thousands = [own.index(column.name) for column in _thousands(frame, content, separator)]
    if frame.width == len(layout.header):
        frame.columns = list(layout.header)
    called = dict(zip(frame.columns, own, strict=True))

    def written(names: Sequence[str]) -> pl.DataFrame:
        """Return columns as their original text; only columns with another type are read again."""
        others = [name for name in names if frame.schema[name] != pl.String]
        again = _written(content, separator, [called[name] for name in others]) if others else []
        texts = dict(zip(others, again, strict=True))
        return pl.DataFrame([texts.get(name, frame.get_column(name)).alias(name) for name in names])

    again = written([frame.columns[place] for place in thousands]) if thousands else pl.DataFrame()
    typed = frame.with_columns([_typed(column) for column in frame.get_columns()]).with_columns(again.get_columns())
    return Cells(_checked(typed, path, len(content)), path, written, hints)


def _written(content: bytes, separator: str, names: Sequence[str]) -> list[pl.Series]:
    """Return columns of a text table, named as polars names them, as their original text."""
    frame = pl.read_csv(content, separator=separator, has_header=True, infer_schema=False, columns=list(names))
    return frame.select(names).get_columns()


def _thousands(frame: pl.DataFrame, content: bytes, separator: str) -> list[pl.Series]:
    """Columns such as 1.234 as text where others have decimal commas, so that learners read the points as these do."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    if not floats or not have_commas([column for column in frame.get_columns() if column.dtype == pl.String]):
        return []
    return [column for column in _written(content, separator, floats) if may_be_thousands(column)]


def _with_leading_zeros(frame: pl.DataFrame, content: bytes, separator: str) -> pl.DataFrame:
    """Return ``frame`` with columns of whole numbers as text if a number has leading zeros, such as a postal code."""
    whole = [name for name, dtype in frame.schema.items() if dtype.is_integer()]
    if not whole or re.search(rb"(^|[\n\r\"" + re.escape(separator).encode() + rb"]) {0,20}0\d", content) is None:
        return frame
    codes = [
        column for column in _written(content, separator, whole) if column.str.strip_chars().str.contains(r"^0\d").any()
    ]
    return frame.with_columns(codes)


def _bytes(path: Path) -> bytes:
    """Return the unpacked content of a file; DataError before it takes more memory than permitted."""
    data = _whole(path)
    if not data.startswith((GZIP, ZSTD)):
        return data
    most = permitted(len(data), ratio=MAX_PACKED)
    try:
        if data.startswith(ZSTD):
            unpacked = _from_zstandard(data, most, path)
        else:
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                unpacked = read_stream(packed, most)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot unpack {path}: {error}") from error
    if unpacked is None:
        _require_room(path, most + 1, len(data), ratio=MAX_PACKED)
    assert unpacked is not None
    return unpacked


def _from_zstandard(data: bytes, most: int, path: Path) -> bytes | None:
    """What Zstandard has packed, frame by frame; None if it is more than ``most`` bytes."""
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            f'{path} is packed by Zstandard, which needs zstandard: run pip install "proofwood[zstd]", or unpack it'
        ) from None
    parts, size = [], 0
    try:
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj()
            place = 0
            while place < len(data) and not frame.eof:
                parts.append(frame.decompress(data[place : place + PACKED_CHUNK]))
                size, place = size + len(parts[-1]), place + PACKED_CHUNK
                if size > most:
                    return None
            if not frame.eof:
                raise EOFError("it ends before its last frame does")
            data = frame.unused_data + data[place:]
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error
    return b"".join(parts)


def _text(path: Path) -> tuple[str, tuple[Hint, ...]]:
    data = _bytes(path)
    for begins, what in FOREIGN.items():
        if data.startswith(begins):
            ending = ENDINGS.get(begins)
            todo = f"change its ending to {ending}, or save it as CSV" if ending else "save it as CSV in UTF-8"
            raise DataError(f"the content of {path} is {what}: {todo}")
    return decoded(data, path)


def _check_header(header: Sequence[str], path: Path) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: column name {repeated[0]!r} occurs more than once in the header: rename one of them")
    long = max(header, key=len)
    if len(long) > MAX_NAME:
        raise DataError(
            f"{path}: a column name has {len(long):,} characters, expected at most {MAX_NAME:,}: does the file begin "
            "with a header?"
        )
    if all(_is_number(name) for name in header):
        raise DataError(f"{path}: the first line contains only numbers: expected a header with the column names")


def _checked(frame: pl.DataFrame, path: Path, size: int) -> pl.DataFrame:
    if frame.width == 0 or frame.height == 0:
        raise DataError(f"{path} has {frame.height} rows and {frame.width} columns: expected at least one row of data")
    long = max(frame.columns, key=len)
    if len(long) > MAX_NAME:
        raise DataError(f"{path}: a column name has {len(long):,} characters, expected at most {MAX_NAME:,}")
    _require_room(path, sum(_bytes_of_texts(column, path) for column in frame.get_columns()), size)
    return frame


def _bytes_of_texts(column: pl.Series, path: Path) -> int:
    """The bytes of all texts of a column, each cell counted, although polars may store equal texts once.

    A very long cell, such as all lines after an unclosed quote, raises DataError.
    """
    if column.dtype != pl.String:
        return 0
    sizes = column.str.len_bytes()
    longest = sizes.max()
    if isinstance(longest, int) and longest > MAX_CELL:
        raise DataError(
            f"{path}: column {column.name!r} has a text of {longest:,} bytes in row {sizes.arg_max()}, "
            f"expected at most {MAX_CELL:,}: is a closing quote missing?"
        )
    return int(sizes.cast(pl.UInt64).sum())  # a sum in 32 bits would overflow at 4 GiB


def _typed(column: pl.Series) -> pl.Series:
    """Convert a text column into numbers or booleans if all its texts are such; otherwise return it unchanged.

    Spaces around a text do not matter. Codes with leading zeros stay text, and so do columns with marks such as ``?``
    for missing values: learners read these, and say so.
    """
    if column.dtype != pl.String:
        return column
    bare = column.str.strip_chars()
    marked = bare.str.to_lowercase().is_in(list(MISSING_MARKS)) | bare.str.contains(r"^0\d")
    if marked.any() or column.null_count() == len(column):
        return column
    found = as_numbers(column)
    return column if found is None else found


def _siblings(path: Path) -> list[str]:
    folder = path.parent
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _suggestion(name: str, among: Sequence[str], phrase: str) -> str:
    near = nearest(name, among)
    return phrase.format(repr(near)) if near else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return math.isfinite(float(text))


def _is_read_error(error: BaseException) -> bool:
    """Whether an error is one of reading a file, including a panic of polars, which is not an Exception.

    Polars 1.10 raises some errors of JSON as a RuntimeError that names its bindings.
    """
    if isinstance(error, RuntimeError) and str(error).startswith("BindingsError"):
        return True
    return isinstance(error, (pl.exceptions.PolarsError, OSError, ValueError)) or "Panic" in type(error).__name__
