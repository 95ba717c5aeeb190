"""Tables that commands write: the ending of the file says the format."""

# Imports inside functions are of modules that load polars, so that --help starts at once.

from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.cli.answers import plain
from proofwood.cli.corrections import meant
from proofwood.cli.errors import warn
from proofwood.cli.files import write_out
from proofwood.exceptions import DataError
from proofwood.files import is_regular

if TYPE_CHECKING:
    import polars as pl

TEXTS = {".csv": ",", ".tsv": "\t"}
"""Endings of text tables -> separator; ``.gz`` may follow."""
OTHERS = (".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".arrow", ".feather")
ENDINGS = (*TEXTS, *OTHERS)
FORMULA = r"^[=+\-@\t\r]"
"""How texts begin that a spreadsheet may run."""


def format_of(path: Path | None) -> str:
    """The ending that says the format; CSV on standard output, and for files without an ending.

    Raises
    ------
    DataError
        If the ending is that of no table that can be written.
    """
    if path is None or not is_regular(path):
        return ".csv"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = suffixes[-1] if suffixes else ""
    if ending == ".gz" and len(suffixes) > 1:
        ending = suffixes[-2]
        if ending not in TEXTS:
            raise DataError(f"{path}: only .csv and .tsv can be gzipped, and not {ending}")
    if ending and ending not in ENDINGS:
        raise DataError(
            f"{path}: no table is written as {ending}: expected {', '.join(ENDINGS)}{meant(ending, ENDINGS, '; ')}"
        )
    return ending or ".csv"


def write_table(frame: pl.DataFrame, path: Path, *, safe_cells: bool = False) -> None:
    """Write a table; in text, with ``safe_cells``, no cell is a formula to a spreadsheet."""
    content = content_of(frame, format_of(path), safe_cells=safe_cells)
    packed = path.suffix.lower() == ".gz"
    write_out(path, gzip.compress(content, mtime=0) if packed else content)


def content_of(frame: pl.DataFrame, ending: str, *, safe_cells: bool = False) -> bytes:
    """A table in the format of an ending."""
    buffer = BytesIO()
    if ending in TEXTS:
        as_cells(frame, safe=safe_cells).write_csv(buffer, separator=TEXTS[ending])
    elif ending in (".parquet", ".pq"):
        frame.write_parquet(buffer)
    elif ending in (".arrow", ".feather"):
        frame.write_ipc(buffer)
    else:
        rows = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in records(frame)]
        lines = "\n".join(rows) + "\n" if rows else ""
        text = lines if ending != ".json" else "[\n" + ",\n".join(rows) + "\n]\n"
        buffer.write(text.encode("utf-8"))
    return buffer.getvalue()


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """One mapping for each row, of what JSON knows."""
    return [plain(row) for row in frame.iter_rows(named=True)]


def as_cells(frame: pl.DataFrame, *, safe: bool) -> pl.DataFrame:
    """Texts as cells of CSV. With ``safe``, no cell is a formula to a spreadsheet; else a warning names one."""
    import polars as pl

    texts = [column for column in frame.get_columns() if column.dtype == pl.String]
    if safe:
        return frame.with_columns([column.str.replace(f"({FORMULA})", "'${1}") for column in texts])
    for column in texts:
        odd = column.filter(column.str.contains(f"{FORMULA}.") & column.cast(pl.Float64, strict=False).is_null())
        if len(odd):
            warn(
                f"cells such as {odd[0]!r} in column {column.name!r} may be run as formulas by a spreadsheet: add "
                "--safe-cells if the file is for one"
            )
    return frame
