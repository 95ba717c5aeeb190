"""Small Excel workbooks, written without any package for them."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_STYLES = (
    f'{_HEAD}<styleSheet xmlns="{_MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" '
    'applyNumberFormat="1"/></cellXfs></styleSheet>'
)


class Day(int):
    """Days since 1899-12-30: a cell that is shown as a date."""


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]]) -> None:
    """Write sheets of rows; a cell is a number, a text, a boolean, a :class:`Day`, or None where it is empty."""
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        parts = [
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPE}.worksheet+xml"/>' for n in numbers
        ]
        file.writestr(
            "[Content_Types].xml",
            f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.'
            'openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{"".join(parts)}</Types>',
        )
        file.writestr("_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")]))
        named = [
            f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>'
            for n, name in zip(numbers, sheets, strict=True)
        ]
        file.writestr(
            "xl/workbook.xml",
            f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{"".join(named)}</sheets></workbook>',
        )
        targets = [("worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
        file.writestr("xl/_rels/workbook.xml.rels", _relations([*targets, ("styles", "styles.xml")]))
        file.writestr("xl/styles.xml", _STYLES)
        for n, rows in zip(numbers, sheets.values(), strict=True):
            file.writestr(f"xl/worksheets/sheet{n}.xml", _sheet(rows))


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    listed = [
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, 1)
    ]
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{"".join(listed)}</Relationships>'


def _sheet(rows: Sequence[Sequence[object]]) -> str:
    lines = []
    for number, row in enumerate(rows, 1):
        cells = [_cell(f"{chr(65 + place)}{number}", value) for place, value in enumerate(row)]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def _cell(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, Day):
        return f'<c r="{place}" s="1"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'


def write_old_workbook(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """Write one sheet of numbers, texts and empty cells (None) as Excel before 2007 did."""
    texts = sorted({cell for row in rows for cell in row if isinstance(cell, str)})
    cells = [
        old_cell(i, j, cell, texts) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell is not None
    ]
    size = struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows)), 0)
    path.write_bytes(old_workbook([record(0x200, size), *cells], texts))


def record(kind: int, content: bytes) -> bytes:
    """A record of an old workbook."""
    return struct.pack("<HH", kind, len(content)) + content


def old_cell(row: int, column: int, value: object, texts: Sequence[str]) -> bytes:
    """The record of a cell; texts are shared ones."""
    if isinstance(value, str):
        return record(0xFD, struct.pack("<HHHI", row, column, 0, texts.index(value)))
    assert isinstance(value, int | float)
    return record(0x203, struct.pack("<HHHd", row, column, 0, value))


def old_workbook(sheet: Sequence[bytes], texts: Sequence[str] = (), n_sheets: int = 1) -> bytes:
    """The file of some sheets, all of the same records."""
    shared = b"".join(struct.pack("<HB", len(text), 1) + text.encode("utf-16-le") for text in texts)
    head = record(0x809, struct.pack("<4H2I", 0x600, 5, 0, 0, 0, 0))
    strings = record(0xFC, struct.pack("<II", len(texts), len(texts)) + shared)
    names = [f"s{n}".encode() for n in range(n_sheets)]
    place = len(head) + len(strings) + sum(12 + len(name) for name in names) + 4
    bounds = b"".join(record(0x85, struct.pack("<IBBBB", place, 0, 0, len(name), 0) + name) for name in names)
    own = record(0x809, struct.pack("<4H2I", 0x600, 0x10, 0, 0, 0, 0))
    stream = b"".join([head, bounds, strings, record(0x0A, b""), own, *sheet, record(0x0A, b"")])
    return _sectors(stream)


def _sectors(stream: bytes) -> bytes:
    """A compound file with the stream of a workbook: the table of sectors, the directory, the stream."""
    stream += bytes(max(0, 4096 - len(stream)))
    n = -(-len(stream) // 512)
    n_tables = -(-(n + 1) // 127)
    none, last, table = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    following = [*[table] * n_tables, last, *range(n_tables + 2, n_tables + 1 + n), last]
    following += [none] * (128 * n_tables - len(following))

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        wide = name.encode("utf-16-le")
        links = struct.pack("<HBB3I", len(wide) + 2, kind, 1, none, none, child)
        return wide.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, size)

    directory = entry("Root Entry", 5, 1, last, 0) + entry("Workbook", 2, none, n_tables + 1, len(stream))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<5H6x9I", 0x3E, 3, 0xFFFE, 9, 6, 0, n_tables, n_tables, 0, 4096, last, 0, last, 0)
    head += struct.pack("<109I", *range(n_tables), *[none] * (109 - n_tables))
    return b"".join([head, struct.pack(f"<{len(following)}I", *following), directory.ljust(512, b"\0"), stream]).ljust(
        512 * (2 + n_tables + n), b"\0"
    )
