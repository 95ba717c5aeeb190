"""Tables of SQLite and DuckDB files."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from proofwood.data.database import database_table
from proofwood.data.tables import read_table
from proofwood.exceptions import DataError

CREATE = "create table flats (size integer, city text, price real)"
VALUES = "insert into flats values (1, 'Bonn', 1.5), (2, null, 2.5), (3, 'Ulm', null)"
EXPECTED = pl.DataFrame({"size": [1, 2, 3], "city": ["Bonn", None, "Ulm"], "price": [1.5, 2.5, None]})


@pytest.fixture(params=["sqlite", "duckdb"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"data.{request.param}"
    if request.param == "duckdb":
        connect = pytest.importorskip("duckdb", reason="duckdb is not installed (an extra)").connect
    else:
        connect = sqlite3.connect
    with contextlib.closing(connect(str(path))) as connection:
        connection.execute(CREATE)
        connection.execute(VALUES)
        connection.commit()
    return path


def run(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_the_only_table_is_read(path: Path) -> None:
    before = path.read_bytes()
    assert read_table(path).equals(EXPECTED)
    with database_table("flats"):
        assert read_table(path).equals(EXPECTED)
    assert path.read_bytes() == before
    with (
        database_table("flat"),
        pytest.raises(DataError, match="no table 'flat', it has 'flats': did you mean 'flats'"),
    ):
        read_table(path)


def test_one_of_several_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    for statement in (CREATE, VALUES, 'create view "a ""b" as select city as x from flats'):
        run(path, statement)
    with pytest.raises(DataError, match=r"a database with 2 tables: say which \(--table\), it has 'a \"b', 'flats'"):
        read_table(path)
    with database_table('a "b'):
        assert read_table(path).columns == ["x"]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="its content is not that of SQLite or DuckDB"):
        read_table(tmp_path / "text.db")
    (tmp_path / "broken.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    with pytest.raises(DataError, match="cannot read"):
        read_table(tmp_path / "broken.sqlite")
    run(tmp_path / "empty.sqlite", "create table t (a)")
    with pytest.raises(DataError, match="0 rows"):
        read_table(tmp_path / "empty.sqlite")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with database_table("t"), pytest.raises(DataError, match="is not a database"):
        read_table(tmp_path / "t.csv")


def test_columns_of_several_types_are_text(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    run(path, "create table t (a, b)")
    run(path, "insert into t values (1, 1), ('x', 2.5), (null, null)")
    assert read_table(path).equals(pl.DataFrame({"a": ["1", "x", None], "b": [1.0, 2.5, None]}))


def test_a_large_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) select i from n"
    run(path, f"create table t as {numbers}")
    with pytest.raises(DataError, match="raise max_bytes"):
        read_table(path, max_bytes=100_000)
