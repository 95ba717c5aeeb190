"""Text tables as people have them: separators, encodings, lines before the header, unequal rows, decimal commas."""

from __future__ import annotations

import codecs
import csv
import gzip
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.data.tables import column_names, read_cells, read_table
from proofwood.data.text_format import TextFormat, text_format
from proofwood.data.text_table import Layout
from proofwood.exceptions import DataError, DataWarning
from proofwood.hints import About

ROWS = [["city", "size"], ["Köln", "1"], ["Łódź, a", "2"], ["b", "3"]]


def lines(separator: str) -> str:
    cells = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in ROWS]
    return "".join(separator.join(row) + "\n" for row in cells)


def read(folder: Path, content: str | bytes, name: str = "t.csv", **given: Any) -> pl.DataFrame:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with text_format(TextFormat(**given)):
        frame = read_table(path)
        assert column_names(path) == frame.columns
    return frame


EXPECTED = pl.DataFrame({"city": ["Köln", "Łódź, a", "b"], "size": [1, 2, 3]})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("before", ["", "\n\n", "# made 2020; by hand\n", "#\n# a,b\n", "# a\n" * 200])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_separators_and_comments_are_found(tmp_path: Path, separator: str, before: str, ends: str) -> None:
    assert read(tmp_path, (before + lines(separator)).replace("\n", ends)).equals(EXPECTED)


def test_what_is_said_is_not_looked_for(tmp_path: Path) -> None:
    assert read(tmp_path, "sep=^\n" + lines("^")).equals(EXPECTED)
    assert read(tmp_path, lines("^"), separator="^").equals(EXPECTED)
    assert read(tmp_path, "Sales, 2020\n\n" + lines(";"), skip_lines=2).equals(EXPECTED)
    assert read(tmp_path, "#city;size\nb;1\n").columns == ["#city", "size"]
    assert read(tmp_path, "# city; size\nb;1\nc;2\n").columns == ["b", "1"]


def test_the_rows_show_the_separator_where_the_header_does_not(tmp_path: Path) -> None:
    text = "size, m;city, town;n\n1,5;a;1\n2,5;b;2\n"
    assert read(tmp_path, text).columns == ["size, m", "city, town", "n"]


@pytest.mark.parametrize(
    "header", ['"","|"', '"n","a|b|c"', '"n;m","a|b|c;d"', 'n,"a;b\nc;d"', 'n,"size; in\nmm; wide"']
)
def test_a_mark_within_quotes_separates_nothing(tmp_path: Path, header: str) -> None:
    named = [name.strip('"') for name in header.split(",")]
    frame = read(tmp_path, f'{header}\n"1;2","x|y|z;w"\n"3;4","y|z|x;w"\n')
    assert frame.columns[1] == named[1]
    assert frame.to_series(1).to_list() == ["x|y|z;w", "y|z|x;w"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_name_may_have_line_breaks(tmp_path: Path, separator: str, ends: str) -> None:
    rows = [["size", '"per\n\nday"', "n"], *([str(i), "0.5", '"two\nlines"'] for i in range(3))]
    text = "# made by hand\n" + "".join(separator.join(row) + "\n" for row in rows)
    assert read(tmp_path, text.replace("\n", ends)).columns == ["size", "per\n\nday", "n"]
    assert read(tmp_path, '"per\nday"\n1\n2\n').columns == ["per\nday"]


@pytest.mark.parametrize("header", ['"size,n', 'size,"n', '"size', 'a,"b,c'])
def test_a_quote_of_the_header_that_nothing_closes_is_named(tmp_path: Path, header: str) -> None:
    with pytest.raises(DataError, match="line 2 opens a quote that nothing closes: close it, or leave it out"):
        read(tmp_path, f"# made by hand\n{header}\n1,2\n3,4\n")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ('5"" x,1\n2,"unclosed\n3\n5,6\n', 3),
        ('"5"" x",1\n2,"unclosed\n3\n5,6\n', 3),
        ('5" x,1\n2,"unclosed\n3,4\n5,6\n', 3),
        ('x,"\ny,6""\nz,7\n', 2),
        ('"' + "x" * 200_000 + "\n", 2),
    ],
)
def test_a_quote_that_nothing_closes_is_named_by_its_line(tmp_path: Path, body: str, line: int) -> None:
    with pytest.raises(DataError, match=f"line {line} opens a quote that nothing closes"):
        read(tmp_path, "a,b\n" + body)


@given(st.text('ab" ,1\n', max_size=30), st.sampled_from(",;"))
def test_a_text_is_refused_or_read_as_a_reader_of_csv_reads_it(body: str, separator: str) -> None:
    text = f"x{separator}y\n{body}\n"
    layout = Layout(Path("t.csv"), text, separator, ("x", "y"))
    try:
        content = layout.checked().content
    except DataError:
        return
    rows = [row for row in csv.reader(StringIO(text), delimiter=separator) if row][1:]
    read = pl.read_csv(content.encode(), separator=separator, infer_schema=False)
    given = [[cell or "" for cell in row] for row in read.rows()]
    assert [row for row in given if any(row)] == [row for row in rows if any(row)]


def test_a_header_whose_quotes_leave_its_end_open_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="where the header that begins in line 1 ends cannot be told from its quotes"):
        read(tmp_path, 'x,"a\nb",5" disk\n1,2,3\n')


def test_a_quote_within_a_cell_is_no_opening_one(tmp_path: Path) -> None:
    assert read(tmp_path, '5" disk,n\n1,2\n3,4\n').columns == ['5" disk', "n"]
    frame = read(tmp_path, 'size,n\n5",2\n6" disk,4\n"7"" disk",5\n"8"" disk" x,6\n')
    assert frame.rows() == [('5"', 2), ('6" disk', 4), ('7" disk', 5), ('8" disk x', 6)]
    assert read(tmp_path, 'a,b\n"p"q,1\n"p" ,2\n').rows() == [("pq", 1), ("p ", 2)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_is_read_by_its_marks(tmp_path: Path, encoding: str) -> None:
    marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    assert read(tmp_path, marks.get(encoding, b"") + lines(";").encode(encoding)).equals(EXPECTED)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1252", "größe;straße;fünf;äußerst;übel;häufig"),
        ("cp1251", "размер;город;улица;пять;крайне;часто"),
    ],
)
def test_other_encodings_are_guessed_and_said(tmp_path: Path, encoding: str, words: str) -> None:
    text = words + "\n" + "".join(";".join(f"{word} {word}" for word in words.split(";")) + "\n" for _ in range(5))
    with pytest.warns(DataWarning, match=f"was read as {encoding}: say its encoding"):
        frame = read(tmp_path, text.encode(encoding))
    assert frame.columns == words.split(";")
    with pytest.warns(DataWarning):
        (hint,) = read_cells(tmp_path / "t.csv").hints
    assert (hint.about, hint.seen) == (About.ENCODING, f"t.csv is not UTF-8 text and was read as {encoding}")
    assert read(tmp_path, text.encode(encoding), encoding=encoding).equals(frame)


def test_unequal_rows_are_named_by_their_line(tmp_path: Path) -> None:
    for text, line, cells in (
        ("a,b\n1,2\n1,2,3\n", 3, 3),
        ("a,b\n1,2\n\n1\n", 4, 1),
        ('a,b\n"1\n2",2\n1,"2",3\n', 4, 3),
        ("# x\n\na,b\n1,2,3\n", 4, 3),
    ):
        with pytest.raises(DataError, match=rf"line {line} has {cells} cells, and the header has 2, separated by ','"):
            read(tmp_path, text)
    with pytest.raises(DataError, match=r"the first line has one cell, and lines below have 2.*\(--skip-lines\)"):
        read(tmp_path, "Sales of 2020\na,b\n1,2\n")


def test_decimal_commas(tmp_path: Path) -> None:
    text = "a;b;c;d\n1,5;1.234;x;1\n2;2.500;1,5;2\n?;3.000;1,0;3\n"
    found = read(tmp_path, text)
    assert found.dtypes == [pl.String, pl.String, pl.String, pl.Int64]  # learners read texts by their own forms
    said = read(tmp_path, text, decimal=",")
    assert said["a"].to_list() == ["1.5", "2", "?"]  # learners read these, and say that ? is a missing value
    assert said["b"].to_list() == [1234, 2500, 3000]
    assert said["c"].to_list() == ["x", "1,5", "1,0"]
    assert said["d"].to_list() == [1, 2, 3]
    path = tmp_path / "t.csv"
    with text_format(TextFormat(decimal=",")):
        assert read_cells(path).written is not None
        assert read_cells(path).written(["a", "d"]).rows() == [("1.5", "1"), ("2", "2"), ("?", "3")]  # type: ignore[misc]
    assert read(tmp_path, "a;b\n1.5;x\n2.25;y\n")["a"].to_list() == [1.5, 2.25]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"separator": ";;"}, "is not one character"),
        ({"separator": '"'}, "is not one character"),
        ({"decimal": "x"}, r"expected '\.' or ','"),
        ({"decimal": ",", "separator": ","}, "two different marks"),
        ({"encoding": "utf-9"}, "no encoding 'utf-9'"),
        ({"skip_lines": -1}, "a number from 0"),
    ],
)
def test_formats_that_cannot_be_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        TextFormat(**given)


def test_a_wrong_encoding_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not text in the encoding ascii"):
        read(tmp_path, lines(";"), encoding="ascii")


def test_packed_texts_and_json_lines(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed (an extra)")
    rows = EXPECTED.write_ndjson()
    for name, content in (
        ("t.csv.gz", gzip.compress(lines(";").encode())),
        ("t.csv.zst", zstandard.compress(lines(";").encode())),
        ("t.jsonl", rows.encode()),
        ("t.ndjson.gz", gzip.compress(rows.encode())),
        ("t.jsonl.zst", zstandard.compress(rows.encode())),
    ):
        assert read(tmp_path, content, name).equals(EXPECTED)
    with pytest.raises(DataError, match="cannot unpack"):
        read(tmp_path, zstandard.compress(lines(";").encode())[:-3], "t.csv.zst")
    twice = zstandard.compress(lines(";").encode()) + zstandard.compress(b"c;4\n")
    assert read(tmp_path, twice, "t.csv.zst").height == 4
    bomb = zstandard.compress(b"a,b\n" + b"1,2\n" * 2**26)
    with pytest.raises(DataError, match="raise max_bytes"):
        read(tmp_path, bomb, "t.csv.zst")
    with pytest.raises(DataError, match=r"as JSON.* Expected an object on each line"):
        read(tmp_path, "[1, 2]\n", "t.jsonl")


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["C"], exclude_characters="#="), max_size=5),
            min_size=2,
            max_size=4,
        ),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from(",;\t|"),
)
def test_the_layout_of_any_table_that_is_written_with_quotes(cells: list[list[str]], separator: str) -> None:
    width = len(cells[0])
    rows = [(row + ["x"] * width)[:width] for row in cells]
    text = "".join(separator.join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows)
    layout = Layout.of(text, Path("t.csv"))
    assert layout.checked().header == layout.header == tuple(name.strip() for name in rows[0])


@given(
    st.lists(st.tuples(*[st.text("a\"' ,;", min_size=1, max_size=5)] * 2), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.sampled_from(",;"),
)
def test_quotes_within_cells_are_read_as_a_reader_of_csv_reads_them(
    cells: list[tuple[str, str]], quoted: list[bool], separator: str
) -> None:
    """Half of the cells in quotes, the others as they are, such as ``5" disk``."""
    choices = iter(quoted)

    def written(cell: str) -> str:
        bare = cell.replace(separator, "").lstrip('"') or "b"
        return '"' + cell.replace('"', '""') + '"' if next(choices) else bare

    text = f"x{separator}y\n" + "".join(separator.join(map(written, row)) + "\n" for row in cells)
    layout = Layout.of(text, Path("t.csv"))
    if layout.separator == separator and len(layout.header) == 2:
        read = pl.read_csv(layout.checked().content.encode(), separator=separator, infer_schema=False)
        assert [list(row) for row in read.rows()] == list(csv.reader(text.splitlines(), delimiter=separator))[1:]
