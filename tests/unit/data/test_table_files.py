"""Files of tables beside CSV and Parquet: Arrow, gzipped text, and Excel workbooks."""

from __future__ import annotations

import datetime as dt
import gzip
import sys
import zipfile

import polars as pl
import pytest

from proofwood.data.tables import column_names, read_table, require_columns
from proofwood.exceptions import DataError
from tests.workbooks import Day, write_workbook

TABLE = pl.DataFrame({"size": [1, 2, 3], "share": [0.5, 1.5, None], "city": ["Rome", None, "Oslo"]})
ROWS = [
    ["code", "share", "city ", "open", "since"],
    ["007", 0.5, "Rome", True, Day(45000)],
    ["008", 3, None, False, Day(45001)],
]


@pytest.mark.parametrize(
    "name", ["t.arrow", "t.feather", "t.ipc", "t.tsv.gz", "t.tsv", "t.csv", "t.csv.gz", "t.parquet"]
)
def test_a_table_comes_back_from_every_format(tmp_path, name):
    path = tmp_path / name
    if "sv" in name:
        text = TABLE.write_csv(separator="\t" if "tsv" in name else ",").encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    elif name.endswith("parquet"):
        TABLE.write_parquet(path)
    else:
        TABLE.write_ipc(path, compression="zstd")
    assert read_table(path).equals(TABLE)
    assert column_names(path) == TABLE.columns


def test_an_arrow_file_that_is_none_is_refused(tmp_path):
    path = tmp_path / "t.arrow"
    TABLE.write_ipc_stream(path)
    with pytest.raises(DataError, match="is not an Arrow file, but"):
        read_table(path)
    TABLE.write_ipc(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="as Arrow"):
        read_table(path)
    pl.DataFrame({"a": pl.repeat(1, 30_000_000, eager=True)}).write_ipc(path, compression="zstd")
    with pytest.raises(DataError, match="takes about 240,000,000 in memory"):
        read_table(path)


@pytest.mark.parametrize(("write", "ending"), [("write_ipc", ".arrow"), ("write_parquet", ".parquet"), (None, ".xlsx")])
def test_a_table_with_the_wrong_ending_is_told_the_right_one(tmp_path, write, ending):
    path = tmp_path / "t.csv"
    if write is None:
        write_workbook(path, {"a": ROWS})
    else:
        getattr(TABLE, write)(path)
    with pytest.raises(DataError, match=f"change its ending to {ending}"):
        read_table(path)


@pytest.mark.needs("fastexcel")
def test_a_sheet_is_read_with_its_types(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"empty": [], "data": ROWS})
    table = read_table(path)
    assert table.columns == column_names(path) == ["code", "share", "city", "open", "since"]
    assert table.rows() == [
        ("007", 0.5, "Rome", True, dt.date(2023, 3, 15)),
        ("008", 3.0, None, False, dt.date(2023, 3, 16)),
    ]
    write_workbook(path, {"data": [["a", "b"], [1, 2**53], [2, 0.5], [None, 3]]})
    assert dict(read_table(path).schema) == {"a": pl.Int64, "b": pl.Float64}


@pytest.mark.needs("fastexcel")
def test_one_of_several_sheets_is_named(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"train": ROWS, "test": [["a"], [1]]})
    with pytest.raises(DataError, match=r"has several sheets: 'train', 'test'\. Name one of them"):
        read_table(path)
    with pytest.raises(DataError, match="has no sheet 'tset', only 'train', 'test': did you mean 'test'"):
        read_table(path, sheet="tset")
    assert read_table(path, sheet="test").rows() == [(1,)]
    TABLE.write_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match="is not a workbook"):
        read_table(tmp_path / "t.csv", sheet="test")


@pytest.mark.needs("fastexcel")
def test_workbooks_that_are_none_are_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"data": ROWS})
    whole = path.read_bytes()
    for content, message in (
        (b"", "is empty"),
        (whole[:300], "as an Excel workbook"),
        (bytes(range(256)), "as an Excel workbook"),
        (b"PK\x03\x04", "as an Excel workbook"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            read_table(path)
    write_workbook(path, {"data": [["a", "b"]]})
    with pytest.raises(DataError, match="0 rows"):
        read_table(path)
    write_workbook(path, {"data": []})
    with pytest.raises(DataError, match="is empty"):
        read_table(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", bytes(200_000_000))
    with pytest.raises(DataError, match=r"takes about 200,000,\d{3} in memory"):
        read_table(path)


def test_without_the_package_the_message_says_what_to_install(tmp_path, monkeypatch):
    write_workbook(tmp_path / "t.xlsx", {"data": ROWS})
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(ImportError, match=r'pip install "proofwood\[excel\]"'):
        read_table(tmp_path / "t.xlsx")


def test_one_message_names_all_columns_that_are_not_there():
    columns = ["age", "income", "job"]
    require_columns(columns, columns)
    with pytest.raises(DataError, match=r"no column 'agee' in the table\. Did you mean 'age'"):
        require_columns(columns, ["job", "agee"])
    with pytest.raises(DataError, match=r"no columns 'agee' \(did you mean 'age'\?\), 'zzz' in the table\.$"):
        require_columns(columns, ["agee", "zzz", "agee"])
    with pytest.raises(DataError, match=r"no columns 'q', 'zzz' in the table\. The columns are age, income, job"):
        require_columns(columns, ["q", "zzz"])


def test_what_a_file_holds_does_nothing_to_the_terminal(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise pl.exceptions.ComputeError("could not parse `0.09\x1b91.0" + "9" * 10_000)

    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr(pl, "read_csv", refuse)
    with pytest.raises(DataError, match=r"could not parse `0\.09\\x1b91\.0999") as refused:
        read_table(path)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 1000
