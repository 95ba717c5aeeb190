"""Tables that commands write, in the format of the file name extension."""

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
"""The separator of text tables, by file name extension; ``.gz`` may follow the extension."""
OTHERS = (".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".arrow", ".feather")
ENDINGS = (*TEXTS, *OTHERS)
FORMULA = r"^[=+\-@\t\r]"
"""Regular expression for the beginning of texts that a spreadsheet may run as formulas."""


def format_of(path: Path | None) -> str:
    """The file name extension that sets the format; ``.csv`` for standard output and files without an extension.

    Raises
    ------
    DataError
        If no table can be written with this extension.
    """
    if path is None or not is_regular(path):
        return ".csv"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = suffixes[-1] if suffixes else ""
    if ending == ".gz" and len(suffixes) > 1:
        ending = suffixes[-2]
        if ending not in TEXTS:
            raise DataError(f"{path}: only .csv and .tsv can be gzipped, not {ending}")
    if ending and ending not in ENDINGS:
        raise DataError(
            f"{path}: cannot write a table as {ending}: expected {', '.join(ENDINGS)}{meant(ending, ENDINGS, '; ')}"
        )
    return ending or ".csv"


def write_table(frame: pl.DataFrame, path: Path, *, safe_cells: bool = False) -> None:
    """Write a table to ``path``; with ``safe_cells``, no cell of a text table can run as a spreadsheet formula."""
    content = content_of(frame, format_of(path), safe_cells=safe_cells)
    packed = path.suffix.lower() == ".gz"
    write_out(path, gzip.compress(content, mtime=0) if packed else content)


def content_of(frame: pl.DataFrame, ending: str, *, safe_cells: bool = False) -> bytes:
    """The bytes of a table in the format of ``ending``, a file name extension."""
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
    """One dict per row, with values of types that JSON supports."""
    return [plain(row) for row in frame.iter_rows(named=True)]


def as_cells(frame: pl.DataFrame, *, safe: bool) -> pl.DataFrame:
    """The frame with texts that are safe in CSV. With ``safe``, put ' before possible formulas, else warn of them."""
    import polars as pl

    texts = [column for column in frame.get_columns() if column.dtype == pl.String]
    if safe:
        return frame.with_columns([column.str.replace(f"({FORMULA})", "'${1}") for column in texts])
    for column in texts:
        odd = column.filter(column.str.contains(f"{FORMULA}.") & column.cast(pl.Float64, strict=False).is_null())
        if len(odd):
            warn(
                f"a spreadsheet may run cells such as {odd[0]!r} in column {column.name!r} as formulas: add "
                "--safe-cells if you will open the file in one"
            )
    return frame
