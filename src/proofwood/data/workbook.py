"""Read sheets of Excel workbooks as polars frames."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from proofwood.data.old_workbook import OLD, bytes_of_old_workbook
from proofwood.data.sizes import bytes_of_workbook
from proofwood.exceptions import DataError
from proofwood.files import permitted
from proofwood.printable import first_line, nearest

PACKED = b"PK"
"""The first bytes of workbooks that are ZIP archives; those of Excel before 2007 are not."""


def read_sheet(data: bytes, path: Path, sheet: str | None, require_room: Callable[[int], None]) -> pl.DataFrame:
    """Read the sheet ``sheet``, or the only sheet that is not empty; its first row has the names of the columns.

    Parameters
    ----------
    data : content of the file
    path : path of the file, for messages
    sheet : name of the sheet, or None
    require_room : function that raises if the estimated number of bytes in memory is too large

    Raises
    ------
    DataError
        If the file is not a workbook, does not have this sheet, or has several sheets and ``sheet`` is None.
    ImportError
        If fastexcel is not installed.
    """
    if not data:
        raise DataError(f"{path} is empty: expected an Excel workbook")
    if data.startswith((PACKED, OLD)):
        measure = bytes_of_workbook if data.startswith(PACKED) else bytes_of_old_workbook
        try:
            estimate = measure(data, permitted(len(data)))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise DataError(f"cannot read {path} as an Excel workbook: {first_line(error)}") from error
        require_room(estimate)
    try:
        import fastexcel
    except ImportError:
        raise ImportError(
            f'{path} is an Excel workbook, which needs fastexcel: run pip install "proofwood[excel]", or save the '
            "sheet as CSV"
        ) from None
    try:
        book = fastexcel.read_excel(data)
        names = list(book.sheet_names)
        if sheet is not None and sheet not in names:
            near = nearest(sheet, names)
            hint = f": did you mean {near!r}?" if near else ""
            raise DataError(f"{path} has no sheet {sheet!r}, only {', '.join(map(repr, names))}{hint}")
        frames = {name: book.load_sheet(name).to_polars() for name in (names if sheet is None else [sheet])}
    except fastexcel.FastExcelError as error:
        raise DataError(f"cannot read {path} as an Excel workbook: {first_line(error)}") from error
    full = [name for name, frame in frames.items() if frame.width]
    if len(full) > 1:
        raise DataError(
            f"{path} has several sheets: {', '.join(map(repr, full))}. Name one of them (--sheet on the command line)"
        )
    if not full:
        raise DataError(f"{path} is empty: expected a first row with the names of the columns, and one row per sample")
    frame: pl.DataFrame = frames[full[0]]
    frame.columns = [name.strip() for name in frame.columns]
    return frame.with_columns([_as_meant(column) for column in frame.get_columns()])


def _as_meant(column: pl.Series) -> pl.Series:
    """Convert whole floats into integers, and midnights into dates. Workbooks have no types for integers and dates."""
    present = column.drop_nulls()
    if len(present) and column.dtype == pl.Float64:
        whole = ((present == present.floor()) & (present.abs() <= 2**53)).all()
        return column.cast(pl.Int64) if whole else column
    if len(present) and isinstance(column.dtype, pl.Datetime):
        return column.cast(pl.Date) if (present == present.dt.truncate("1d")).all() else column
    return column
