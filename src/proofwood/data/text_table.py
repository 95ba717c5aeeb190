"""Text tables: encoding, lines before the header, separator, decimal mark and lengths of rows, found out or given."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import count, islice
from pathlib import Path

import numpy as np
import polars as pl

from proofwood.data.text_format import TextFormat, given_format
from proofwood.data.text_forms import MISSING_MARKS, Found, NumberForm
from proofwood.exceptions import DataError
from proofwood.hints import About, Hint
from proofwood.language import gettext

SEPARATORS = ",;\t|"
"""Candidates for the separator, tried in this order."""
ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("shift_jis", "gb18030", "big5", "euc_kr"),
)
"""Encodings among which that of a text is guessed if it is not Unicode."""
LONGEST_LINE = 2**16
"""Characters of a line that are looked at to tell a comment from a header."""
LOOKED_AT = 50
"""Lines that show the separator."""
SAMPLE = 2**20
"""Bytes that show the encoding."""
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")
"""The first bytes of texts in UTF-16."""
_GROUPS = re.compile(r"-?[1-9]\d{0,2}(\.\d{3})*|0")


# ---------------------------------------------------------------------------------------------------------- the layout


@dataclass(frozen=True, slots=True)
class Layout:
    """A text table of which the header has been read.

    Parameters
    ----------
    path : of the file, for messages
    content : header and rows, lines before them left out
    separator : between cells
    header : names of the columns
    before : number of lines that were left out
    """

    path: Path
    content: str
    separator: str
    header: tuple[str, ...]
    before: int = 0

    @classmethod
    def of(cls, text: str, path: Path) -> Layout:
        """The layout of a text, by the format that is asked for and by what its first lines show.

        Raises
        ------
        DataError
            If there is no header.
        """
        given = given_format()
        before, start, separator = _before(text, given)
        content = _without_blank_end(text[start:])
        if not content.strip():
            raise DataError(f"{path} is empty: expected a header line and one line per row")
        first = content.split("\n", LOOKED_AT)[:LOOKED_AT]
        separator = given.separator or separator or _separator_of(first, path)
        header = tuple(name.strip() for name in _cells(first, separator, path))
        return cls(path, content, separator, header, before)

    def checked(self) -> Layout:
        """The layout whose cells with a quote within, such as ``5" disk``, stand in quotes, as polars needs it.

        Raises
        ------
        DataError
            That names a quote without an end, or the first row with more or fewer cells than the header.
        """
        read = self._in_quotes() if '"' in self.content else self
        if len(self.header) == 1:
            self._require_header()
        if '"' in self.content or self._ragged():
            self._require_equal_rows()
        return read

    def _in_quotes(self) -> Layout:
        """The same with quotes around each cell that has one within, or text behind the quote that closes it."""
        mark, text = re.escape(self.separator), self.content
        quoted = r'"([^"]*+(?:""[^"]*+)*+)"'
        proper = re.compile(rf'(?:(?:{quoted}|[^"{mark}\r\n]*+)[{mark}\r\n])*+')
        loose = re.compile(rf'{quoted}([^{mark}\r\n]+)|([^"{mark}\r\n][^{mark}\r\n]*)')
        parts, at = [], 0
        while (end := at + len(proper.match(text, at)[0])) < len(text):  # type: ignore[index]
            found = loose.match(text, end)
            if found is None:
                line = self.before + text.count("\n", 0, end) + 1
                raise DataError(
                    f"{self.path}: line {line} opens a quote that nothing closes: close it, or leave it out"
                )
            inside, behind, bare = found.groups()
            cell = bare if inside is None else inside.replace('""', '"') + behind
            parts += [text[at:end], '"', cell.replace('"', '""'), '"', text[found.end()]]
            at = found.end() + 1
        return replace(self, content="".join([*parts, text[at:]])) if parts else self

    def _require_equal_rows(self) -> None:
        reader = csv.reader(StringIO(self.content), delimiter=self.separator)
        width = len(self.header)
        try:
            header = next(reader)
            wrong = next((row for row in reader if len(row) != width and row), None)
        except csv.Error:  # such as a cell that is too long, which polars says better
            return
        if tuple(name.replace("\r\n", "\n").strip() for name in header) != self.header:
            raise DataError(
                f"{self.path}: where the header that begins in line {self.before + 1} ends cannot be told from its "
                "quotes: close each one that opens in its line, or leave it out"
            )
        if wrong is not None:
            hint = " The table may begin further down: skip lines (--skip-lines)." if width == 1 else ""
            raise DataError(
                f"{self.path}: line {self.before + reader.line_num} has {len(wrong)} cells, and the header has "
                f"{width}, separated by {self.separator!r}: correct the line, put cells that hold the separator in "
                f"quotes, close all quotes, or say another separator (--separator).{hint}"
            )

    def _require_header(self) -> None:
        """Raise DataError if the header has one cell and the lines below have more, as below a title."""
        below = [line for line in self.content.split("\n", LOOKED_AT)[1:LOOKED_AT] if line.strip()]
        for mark in SEPARATORS:
            width = len(_cells(below[-1:], mark, self.path))
            if width > 1 and _are_equal(below[len(below) // 2 :], mark, width):
                raise DataError(
                    f"{self.path}: the first line has one cell, and lines below have {width}, separated by {mark!r}: "
                    "skip the lines before the header (--skip-lines), or say another separator (--separator)"
                )

    def _ragged(self) -> bool:
        """Whether a line has more or fewer separators than the header, in a text without quotes."""
        data = np.frombuffer(self.content.encode(), dtype=np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        marks = np.flatnonzero(data == ord(self.separator)) if self.separator.isascii() else None
        if marks is None:
            return True  # the slow way
        counts = np.diff(np.searchsorted(marks, ends), prepend=0)
        return bool(np.any(counts != len(self.header) - 1))


def _before(text: str, given: TextFormat) -> tuple[int, int, str | None]:
    """How many lines come before the header, where the header begins, and the separator that one of them names."""
    start, separator = 0, None
    for place in count():
        end = text.find("\n", start) + 1 or len(text)
        bare = text[start:end].strip("\r\n\ufeff")
        named = re.fullmatch(r"sep=(.)", bare)
        if given.skip_lines is not None:
            found = place == given.skip_lines
        else:
            comment = bare[:1] == "#" and not _is_header(bare, text[end : end + LONGEST_LINE], separator)
            found = bool(bare.strip()) and named is None and not comment
        if found or start == len(text):
            return place, start, separator
        separator = named[1] if named else separator
        start = end
    raise AssertionError("lines have an end")


def _is_header(line: str, below: str, separator: str | None) -> bool:
    """Whether a line that begins with # is a header: the next line has as many cells, more than one.

    Parameters
    ----------
    line : without its end
    below : the text after it
    separator : between cells, if a line before names it
    """
    next_line = below.partition("\n")[0]
    marks = [separator] if separator else list(SEPARATORS)
    return line[1:2].strip() != "" and any(line.count(mark) == next_line.count(mark) > 0 for mark in marks)


def _separator_of(lines: Sequence[str], path: Path) -> str:
    """The separator that makes equally many cells of the first lines, more than one; else most cells of the header.

    A mark within quotes separates nothing, so one at which all quotes of the header begin and end goes before others.
    """
    header = {mark: len(_cells(lines, mark, path)) for mark in SEPARATORS}
    fit = {mark: (header[mark] > 1 and _ends_quotes(lines, mark), header[mark]) for mark in SEPARATORS}
    equal = [mark for mark in SEPARATORS if header[mark] > 1 and _are_equal(lines, mark, header[mark])]
    return max(equal or SEPARATORS, key=fit.__getitem__)


def _ends_quotes(lines: Sequence[str], mark: str) -> bool:
    """Whether all quotes of the first row of some lines begin and end at a separator or at its ends."""
    try:
        next(csv.reader((line.rstrip("\r") + "\n" for line in lines), delimiter=mark, strict=True), None)
    except csv.Error:
        return False
    return True


def _are_equal(lines: Sequence[str], mark: str, width: int) -> bool:
    """Whether all complete rows of some lines have one width."""
    text = "\n".join(line for line in lines if line.strip())
    try:
        rows = list(islice(csv.reader(StringIO(text), delimiter=mark), LOOKED_AT))
    except csv.Error:
        return False
    return all(len(row) == width for row in rows[: max(1, len(rows) - 1)])  # the last may end within quotes


def _cells(lines: Sequence[str], separator: str, path: Path) -> list[str]:
    """The cells of the first row of some lines; in quotes they may have line breaks."""
    reader = csv.reader((line.rstrip("\r") + "\n" for line in lines), delimiter=separator)
    try:
        cells = next(reader, [])
        if reader.line_num > 1 and "".join(lines[: reader.line_num]).count('"') % 2:  # a quote that nothing closes
            return _cells(lines[:1], separator, path)
    except csv.Error as error:
        raise DataError(f"{path}: the first line is not a header ({error}): expected the column names") from error
    return cells


def _without_blank_end(text: str) -> str:
    """``text`` without blank lines at its end, which are not rows."""
    bare = text.rstrip(" \r\n")
    return bare + text[len(bare) :].partition("\n")[0].rstrip("\r") + "\n"


# -------------------------------------------------------------------------------------------------------- the encoding


def decoded(data: bytes, path: Path) -> tuple[str, tuple[Hint, ...]]:
    """The text of a file, by the encoding that the user states, as Unicode, or by the encoding that its bytes suggest.

    In the last case, a hint says which.

    Raises
    ------
    DataError
        If it is not text in the encoding that the user states, or in any known encoding.
    """
    asked = given_format().encoding
    if asked is not None:
        try:
            return data.decode(asked).removeprefix("\ufeff"), ()
        except (UnicodeError, ValueError) as error:
            raise DataError(f"{path} is not text in the encoding {asked}: {error}") from error
    if data.startswith(BYTE_ORDERS):
        try:
            return data.decode("utf-16"), ()
        except UnicodeError as error:
            raise DataError(f"{path} begins as text in UTF-16, and is not: {error}") from error
    nul = data.find(b"\0")
    if nul >= 0:
        raise DataError(f"{path} is not text: byte {nul} is NUL. Expected CSV in UTF-8, or a file ending in .parquet")
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        found = _guessed(data, error.start)
        if found is None:
            raise DataError(
                f"{path} is not UTF-8 text (byte {error.start}): say its encoding (--encoding), such as cp1252, or "
                "save the file as UTF-8"
            ) from error
        seen = gettext("%(file)s is not UTF-8 text and was read as %(encoding)s", file=path.name, encoding=found)
        todo = gettext("say its encoding (--encoding) if letters are wrong")
        return data.decode(found), (Hint(About.ENCODING, (), seen, todo),)


def _guessed(data: bytes, start: int) -> str | None:
    """The encoding that a text seems to have, from around its first byte that is not ASCII; None if none fits."""
    from charset_normalizer import from_bytes  # start-up time: most texts are Unicode

    begin = max(0, data.rfind(b"\n", 0, max(0, start - SAMPLE // 2)) + 1)
    best = from_bytes(data[begin : begin + SAMPLE], cp_isolation=list(ENCODINGS)).best()
    for name in ([best.encoding] if best is not None else []) + ["cp1252"]:
        try:
            text = data.decode(name)
        except UnicodeError:
            continue
        # Most encodings of Latin letters agree on the common ones: the most frequent is named.
        return "cp1252" if text == data.decode("cp1252", errors="replace") else name
    return None


# ------------------------------------------------------------------------------------------------------- decimal marks


def with_points(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of text; if the format has decimal commas, numbers get decimal points instead."""
    if given_format().decimal != ",":
        return frame
    return frame.with_columns([_pointed(column) for column in frame.get_columns()])


def reads_commas() -> bool:
    """Whether the format says that numbers have decimal commas."""
    return given_format().decimal == ","


def _pointed(column: pl.Series) -> pl.Series:
    form = NumberForm(",")
    texts = [text for text in column.unique().to_list() if text is not None]
    numbers = {text: form.number(text) for text in texts if text.strip().lower() not in MISSING_MARKS}
    if not numbers or None in numbers.values():
        return column
    pointed = {text: format(number, "f") for text, number in numbers.items() if number is not None}
    return pl.Series(column.name, [None if text is None else pointed.get(text, text) for text in column.to_list()])


def have_commas(columns: Sequence[pl.Series]) -> bool:
    """Whether a column of text holds only numbers, and they can only have decimal commas."""
    for column in columns:
        texts = [text for text in column.head(1000).unique().to_list() if text is not None]
        found = Found.of([text for text in texts if text.strip().lower() not in MISSING_MARKS])
        form = found.forms[0] if len(found.forms) == 1 else None
        if isinstance(form, NumberForm) and form.decimal == "," and any(n is not None and n % 1 for n in found.numbers):
            return True
    return False


def may_be_thousands(column: pl.Series) -> bool:
    """Whether the points in a column of text may separate thousands, because other columns have decimal commas."""
    texts = [text.strip() for text in column.unique().to_list() if text is not None and text.strip()]
    return any("." in text for text in texts) and all(_GROUPS.fullmatch(text) for text in texts)
