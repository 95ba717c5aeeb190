"""Tables of database files: SQLite and DuckDB, read only."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from urllib.request import pathname2url

import polars as pl

from proofwood.data.sizes import TEXT
from proofwood.exceptions import DataError
from proofwood.printable import first_line, nearest

SQLITE, DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb", ".ddb")
"""Endings of their files."""
SQLITE_BEGINS = b"SQLite format 3\0"
_SQLITE_TABLES = (
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by 1"
)
_DUCKDB_TABLES = "select table_name from information_schema.tables where table_schema = 'main' order by 1"

_table: ContextVar[str | None] = ContextVar("table", default=None)


@contextmanager
def database_table(name: str | None) -> Iterator[None]:
    """A context in which this table or view is read from a database file."""
    token = _table.set(name)
    try:
        yield
    finally:
        _table.reset(token)


def asked_table() -> str | None:
    """The name of the table to read."""
    return _table.get()


def read_database(path: Path, require_room: Callable[[int], None]) -> pl.DataFrame:
    """The table or view to read: the stated one, or the only one.

    Parameters
    ----------
    path : of the file
    require_room : refuses a number of bytes that the table takes in memory, if it is too large

    Raises
    ------
    DataError
        If the file is not a database, lacks the table, or has several tables and none is named.
    ImportError
        If duckdb is not installed.
    """
    with path.open("rb") as file:
        begin = file.read(len(SQLITE_BEGINS))
    lite = begin == SQLITE_BEGINS
    if not lite and begin[8:12] != b"DUCK":
        raise DataError(
            f"{path} has the ending of a database, but its content is not that of SQLite or DuckDB: rename the file"
        )
    connect, list_tables = (_sqlite, _SQLITE_TABLES) if lite else (_duckdb, _DUCKDB_TABLES)
    with contextlib.closing(connect(path)) as connection:
        try:
            names = [name for (name,) in connection.execute(list_tables).fetchall()]
            quoted = '"' + _chosen(names, path).replace('"', '""') + '"'
            ((n_rows,),) = connection.execute(f"select count(*) from {quoted}").fetchall()
            cursor = connection.execute(f"select * from {quoted}")
            columns = [column[0] for column in cursor.description]
            require_room(TEXT * n_rows * len(columns))
            rows = cursor.fetchall()
        except DataError:
            raise
        except Exception as error:  # each database has errors of its own
            raise DataError(f"cannot read {path}: {first_line(error)}") from error
    return _frame(rows, columns, path)


def _sqlite(path: Path) -> Any:
    return sqlite3.connect(f"file:{pathname2url(str(path.resolve()))}?mode=ro", uri=True)


def _duckdb(path: Path) -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError(
            f'{path} is a DuckDB database, which needs duckdb: run pip install "proofwood[duckdb]", or save the table '
            "as Parquet"
        ) from None
    try:
        return duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise DataError(f"cannot read {path} as a database: {first_line(error)}") from error


def _chosen(names: list[str], path: Path) -> str:
    asked = _table.get()
    if asked is None and len(names) == 1:
        return names[0]
    there = f"it has {', '.join(map(repr, names))}" if names else "it has none"
    if asked is None:
        raise DataError(f"{path} is a database with {len(names)} tables: say which (--table), {there}")
    if asked not in names:
        near = nearest(asked, names)
        raise DataError(f"{path} has no table {asked!r}, {there}" + (f": did you mean {near!r}?" if near else ""))
    return asked


def _frame(rows: list[tuple[Any, ...]], columns: list[str], path: Path) -> pl.DataFrame:
    """Rows of Python values; a column of several types, which SQLite permits, becomes text."""
    repeated = sorted({name for name in columns if columns.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: column name {repeated[0]!r} occurs more than once: select other names in a view")
    series = []
    for place, name in enumerate(columns):
        values = [row[place] for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [None if value is None else str(value) for value in values]
        series.append(pl.Series(name, values, strict=kinds != {int, float}))
    return pl.DataFrame(series)
