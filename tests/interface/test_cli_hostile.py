"""Hostile tables, for every command that reads one: one clear sentence and exit code 2, no traceback."""

from __future__ import annotations

import errno

import pytest

from tests.command_line import failed, worked

TABLES = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n\n", "is empty"),
    "no-header.csv": (b"1,2,3\n4,5,6\n", "the first line contains only numbers"),
    "no-rows.csv": (b"sl,sw,y\n", "0 rows"),
    "binary.csv": (bytes(range(256)) * 4, "byte 0 is NUL"),
    "folder": (None, "is a folder"),
    "absent.csv": (None, "no file"),
    "empty.parquet": (b"", "as Parquet"),
    "binary.feather": (bytes(range(256)), "is not an Arrow file, but"),
    "packed.csv.gz": (b"\x1f\x8b junk", "cannot unpack"),
    "binary.xlsx": (b"PK junk", "as an Excel workbook"),
    "old.csv": (b"\xd0\xcf\x11\xe0" + bytes(50), "change its ending to .xls"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "train.csv").write_text("sl,sw,y\n1,2,a\n2,3,b\n3,1,b\n")
    worked("fit", folder / "train.csv", "--target", "y", "--max-depth", 1, "--out", folder / "m.json")
    (folder / "folder").mkdir()
    for name, (content, _) in TABLES.items():
        if content is not None:
            (folder / name).write_bytes(content)
    return folder


def calls(folder, table) -> dict[str, tuple[object, ...]]:
    model = folder / "m.json"
    return {
        "fit": ("fit", table, "--target", "y"),
        "predict": ("predict", model, table),
        "explain": ("explain", model, table, "--row", 0),
        "report": ("report", model, table, "--target", "y", "--out", folder / "r.html"),
    }


@pytest.mark.parametrize("command", ["fit", "predict", "explain", "report"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_none(folder, command, name):
    message = failed(*calls(folder, folder / name)[command])
    assert TABLES[name][1] in message
    assert name in message
    assert not (folder / "r.html").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sl,sw\n1,2\n", "no column 'y' in the table. The columns are sl, sw."),
        ("sl,sw,y\n1,2,\n1,2,a\n", "1 of 2 rows have no value in column 'y'"),
        ("sl,sw,y\n1,2,\n1,2,\n", "2 of 2 rows have no value in column 'y'"),
        ("y\na\nb\n", "only the target column"),
    ],
)
def test_a_target_that_is_none(folder, tmp_path, content, message):
    table = tmp_path / "t.csv"
    table.write_text(content)
    for command in ("fit", "report"):
        assert message in failed(*calls(folder, table)[command])


def test_one_row_and_one_class_are_learned(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,p\n")
    assert "depth-0 tree, 1 leaf, 0 of 1 training row wrong" in worked("fit", tmp_path / "t.csv", "--target", "y")
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,p\n")
    assert "depth-0 tree, 1 leaf, 0 of 2 training rows wrong" in worked("fit", tmp_path / "t.csv", "--target", "y")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".xlsx"])
def test_a_table_without_permission(folder, tmp_path, monkeypatch, ending):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    table = tmp_path / f"t{ending}"
    table.write_text("a,y\n1,p\n")
    monkeypatch.setattr("proofwood.data.tables.read_permitted", refuse)  # root may read every file
    for call in calls(folder, table).values():
        assert f"cannot read {table}: permission denied" in failed(*call)
