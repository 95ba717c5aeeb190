"""Estimate the memory that tables take, from the sizes in their files, before a reader unpacks them.

This protects against compressed files of a few bytes that repeat a value a billion times, or declare false lengths.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from proofwood.files import CHUNK

NUMBER = 8
"""The bytes of a number."""
TEXT = 16
"""The bytes of a text, in addition to its characters."""
CELL = 32
"""The bytes of a cell of a sheet; empty cells between other cells count too."""

# ------------------------------------------------------------------------------------------------------------- Parquet


def bytes_of_parquet(data: bytes) -> int:
    """An estimate of the bytes of a Parquet table, from the metadata at its end: counts of values and unpacked sizes.

    Raises
    ------
    ValueError
        If the metadata are missing or damaged.
    """
    try:
        (length,) = struct.unpack_from("<i", data, len(data) - 8)
        if data[-4:] != b"PAR1" or not 0 <= length <= len(data) - 8:
            raise ValueError("the file does not have the end of a Parquet file")
        metadata = _Thrift(data, len(data) - 8 - length).structure(0)
        total = 0
        for group in metadata.get(4, []):
            for chunk in group.get(1, []):
                column = chunk.get(3, {})
                values, unpacked = int(column.get(5, 0)), int(column.get(6, 0))
                total += max(
                    (TEXT if column.get(1) in (6, 7) else NUMBER) * max(values, int(group.get(3, 0))), unpacked
                )
        return max(total, int(metadata.get(3, 0)))
    except (IndexError, struct.error, AttributeError, TypeError) as error:
        raise ValueError("the metadata are damaged") from error


class _Thrift:
    """A reader of the compact format of Thrift: a structure becomes a dictionary from field numbers to values."""

    DEEPEST = 32

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def structure(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while (head := self._byte()) & 15:
            field = field + (head >> 4) if head >> 4 else self._whole()
            found[field] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > self.DEEPEST:
            raise ValueError("the metadata are nested too deeply")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind == 7:
            self._skip(8)
            return None
        if kind == 8:
            return self._skip(self._varint())
        if kind in (9, 10):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            if n > len(self.data):
                raise ValueError("the metadata have a list that is longer than the file")
            return [self._byte() if head & 15 in (1, 2) else self._value(head & 15, depth + 1) for _ in range(n)]
        if kind == 12:
            return self.structure(depth + 1)
        raise ValueError(f"the metadata have a value of the unknown type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _skip(self, n: int) -> None:
        if n < 0 or self.at + n > len(self.data):
            raise IndexError
        self.at += n

    def _varint(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found, shift = found | (byte & 127) << shift, shift + 7
            if shift > 63:
                raise ValueError("the metadata have a number of more than 64 bits")
        return found | byte << shift

    def _whole(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)


# --------------------------------------------------------------------------------------------------------------- Arrow


def bytes_of_arrow(data: bytes) -> int:
    """An estimate of the bytes of an Arrow table, from the headers of its batches: counts of values, unpacked sizes.

    Raises
    ------
    ValueError
        If the headers are damaged.
    """
    try:
        (length,) = struct.unpack_from("<i", data, len(data) - 10)
        if data[-6:] != b"ARROW1" or not 0 < length <= len(data) - 10:
            raise ValueError("the file does not have the end of an Arrow file")
        footer = FlatTable.root(data, len(data) - 10 - length)
        total = 0
        for field in (2, 3):  # dictionaries, batches of rows
            for at in footer.places(field, 24):
                total += _bytes_of_batch(data, at)
        return total
    except (IndexError, struct.error) as error:
        raise ValueError("the headers are damaged") from error


def _bytes_of_batch(data: bytes, block: int) -> int:
    offset, head = struct.unpack_from("<qi", data, block)
    if offset < 0 or head < 0:
        raise IndexError
    start = offset + (8 if data[offset : offset + 4] == b"\xff\xff\xff\xff" else 4)
    message = FlatTable.root(data, start)
    batch = message.table(2)
    if message.number(1, "B") == 2:  # a dictionary
        batch = batch.table(1)
    values = sum(max(0, int(struct.unpack_from("<q", data, at)[0])) for at in batch.places(1, 16))
    packed, unpacked = batch.has(3), 0
    for at in batch.places(2, 16):
        place, size = struct.unpack_from("<qq", data, at)
        first = offset + head + place
        declared = int(struct.unpack_from("<q", data, first)[0]) if packed and size >= 8 else -1
        unpacked += max(0, size) if declared < 0 else declared
    return max(unpacked, NUMBER * values)


class FlatTable:
    """A table in the format FlatBuffers."""

    def __init__(self, data: bytes, at: int) -> None:
        if at < 0:
            raise IndexError
        self.data, self.at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        if self._fields < 0:
            raise IndexError
        self._size = struct.unpack_from("<H", data, self._fields)[0]

    @classmethod
    def root(cls, data: bytes, at: int) -> FlatTable:
        """The table to which the offset at a position refers."""
        return cls(data, at + struct.unpack_from("<I", data, at)[0])

    def _place(self, field: int) -> int:
        """The position of a field; 0 if it is absent."""
        entry = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, self._fields + entry)[0] if entry + 2 <= self._size else 0
        return self.at + offset if offset else 0

    def has(self, field: int) -> bool:
        """Whether the table has a field."""
        return self._place(field) > 0

    def number(self, field: int, form: str) -> int:
        """The value of a field in a format of ``struct``; 0 if the field is absent."""
        place = self._place(field)
        return int(struct.unpack_from("<" + form, self.data, place)[0]) if place else 0

    def table(self, field: int) -> FlatTable:
        """The table in a field. Raise IndexError if the field is absent."""
        place = self._place(field)
        if not place:
            raise IndexError
        return FlatTable(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def tables(self, field: int) -> Iterator[FlatTable]:
        """Yield the items of a list of tables; several items may be the same table."""
        for at in self.places(field, 4):
            yield FlatTable(self.data, at + struct.unpack_from("<I", self.data, at)[0])

    def places(self, field: int, size: int) -> range:
        """The positions of the items in a list of structures of equal size."""
        place = self._place(field)
        if not place:
            return range(0)
        start = place + struct.unpack_from("<I", self.data, place)[0]
        n = struct.unpack_from("<I", self.data, start)[0]
        if start + 4 + n * size > len(self.data):
            raise IndexError
        return range(start + 4, start + 4 + n * size, size)


# --------------------------------------------------------------------------------------------------------------- sheets

_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{1,4})([0-9]{1,8})["']""")
_ROW = re.compile(rb"""<(?:\w+:)?row(?=[\s/>])(?:[^>]*?\sr\s*=\s*["']([0-9]{1,8})["'])?""")
_CELL = re.compile(rb"<(?:\w+:)?c(?=[\s/>])")
_REFERS = re.compile(rb"""\st\s*=\s*["']s["']""")
_SHARED = re.compile(rb"""<(?:\w+:)?c\s[^>]*?\bt\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v>\s*([0-9]{1,9})""")
_ITEM = re.compile(rb"<(?:\w+:)?si\b.*?(?:/>|</(?:\w+:)?si>)", re.DOTALL)
_ODS = re.compile(
    rb"<table:table-row\b([^>]*)>|</table:table-row>|<table:(?:covered-)?table-cell\b([^>]*?)(/?)>|</table:table>"
)
_TIMES = re.compile(rb'number-(?:rows|columns)-repeated="([0-9]{1,12})"')


def bytes_of_workbook(data: bytes, most: int) -> int:
    """An estimate of the bytes of all sheets: for each, the rectangle from its first to its last cell, and texts.

    Parameters
    ----------
    data : a ZIP archive; its parts are unpacked in small pieces, and the sizes in the archive are not trusted
    most : the count stops above this number, so a larger result may be too small

    Raises
    ------
    zipfile.BadZipFile, ValueError
        If ``data`` is not such an archive, or is damaged.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            parts = archive.infolist()
        total = sum(part.file_size for part in parts)
        texts: list[int] = []
        parts.sort(key=lambda part: part.filename != "xl/sharedStrings.xml")  # which the sheets refer to
        for part in parts:
            if total > most:
                return total
            whole = _unpacked(data, part, most)
            if whole is None:
                return most + 1
            total += max(0, len(whole) - part.file_size)
            if part.filename == "xl/sharedStrings.xml":
                texts = [len(item) for item in _ITEM.findall(whole)]
            elif part.filename == "content.xml":
                total += _bytes_of_ods(whole)
            elif part.filename.startswith("xl/worksheets/"):
                total += _bytes_of_sheet(whole, texts, binary=part.filename.endswith(".bin"))
    except (struct.error, zlib.error, NotImplementedError) as error:
        raise ValueError("the archive is damaged and cannot be unpacked") from error
    return total


def _unpacked(data: bytes, part: zipfile.ZipInfo, most: int) -> bytes | None:
    """The unpacked content of a part of an archive; None if it has more bytes than ``most``."""
    pieces: list[bytes] = []
    for piece in _inflated(data, part):
        most -= len(piece)
        if most < 0:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _inflated(data: bytes, part: zipfile.ZipInfo) -> Iterator[bytes]:
    name, extra = struct.unpack_from("<HH", data, part.header_offset + 26)
    start = part.header_offset + 30 + name + extra
    packed = memoryview(data)[start : start + part.compress_size]
    if part.compress_type != zipfile.ZIP_DEFLATED:
        yield bytes(packed)
        return
    unpacker = zlib.decompressobj(-15)
    while packed and not unpacker.eof:
        yield unpacker.decompress(packed, CHUNK)
        packed = memoryview(unpacker.unconsumed_tail)


def _bytes_of_sheet(sheet: bytes, texts: list[int], *, binary: bool) -> int:
    if binary:
        return CELL * _area_of_records(sheet) + len(sheet)
    said = len(_REFERS.findall(sheet)) * max(texts, default=0)
    if said > len(sheet):
        said = sum(texts[at] for at in map(int, _SHARED.findall(sheet)) if at < len(texts))
    return CELL * _area_of_sheet(sheet) + said


def _area_of_sheet(sheet: bytes) -> int:
    """The number of cells of the rectangle around all cells; a cell without a position follows the one before it."""
    places = _PLACE.findall(sheet)
    columns = [_column(letters) for letters in {letters for letters, _ in places}]
    rows = [int(row) for _, row in places]
    if len(places) < len(_CELL.findall(sheet)):
        said = _ROW.findall(sheet)
        rows += [1, len(said), *(int(row) for row in said if row)]
        columns += [1, max((len(_CELL.findall(row)) for row in _ROW.split(sheet)[::2]), default=0)]
    if not rows:
        return 0
    return (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)


def _column(letters: bytes) -> int:
    found = 0
    for letter in letters.upper():
        found = 26 * found + letter - 64
    return found


def _area_of_records(sheet: bytes) -> int:
    """The number of cells of a binary sheet, from its records of rows (type 0) and cells (types 1 to 11)."""
    at = 0
    rows: list[int] = []
    columns: list[int] = []
    while at + 2 <= len(sheet):
        kind, at = _packed_number(sheet, at, 2)
        size, at = _packed_number(sheet, at, 4)
        if kind <= 11 and at + 4 <= len(sheet):
            (columns if kind else rows).append(struct.unpack_from("<I", sheet, at)[0])
        at += size
    if not rows or not columns:
        return 0
    return (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)


def _packed_number(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Read a number of at most ``most`` bytes with seven bits each; return it and the position after it."""
    found = 0
    for k in range(most):
        byte = data[at] if at < len(data) else 0
        found, at = found | (byte & 127) << 7 * k, at + 1
        if not byte & 128:
            break
    return found, at


def _bytes_of_ods(content: bytes) -> int:
    """The bytes of an OpenDocument table with repeated rows and cells. Empty cells at the end do not count."""
    total = rows = width = filled = times = 0
    text, places = 0, [match.start() for match in _ODS.finditer(content)]
    ends = [*places[1:], len(content)]
    for match, end in zip(_ODS.finditer(content), ends, strict=True):
        if match.group(0).startswith(b"<table:table-row"):
            times, width, filled, text = _times(match[1]), 0, 0, 0
        elif match.group(0) == b"</table:table-row>":
            if filled:
                rows += times
                total += times * (CELL * filled + text)
        elif match.group(0) != b"</table:table>":
            repeated = _times(match[2])
            width += repeated
            if not match[3] or b"office:value" in match[2]:
                filled, text = width, text + repeated * (end - match.start())
    return total


def _times(attributes: bytes) -> int:
    found = _TIMES.search(attributes)
    return int(found[1]) if found else 1
