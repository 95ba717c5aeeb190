"""Estimate the memory that an old Excel workbook (.xls, before 2007) takes, from the sizes that the file declares.

Such a file consists of sectors, like a disk, and each stream of data is a chain of sectors. The stream of the workbook
has records of shared texts, of the beginnings of sheets, and of cells, each with its position in the sheet.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from proofwood.data.sizes import CELL, TEXT

OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of such a file."""
_NONE = 0xFFFFFFFA
"""Numbers from this one on are not sectors: they mark the end of a chain or an unused entry."""
_SMALL = 4096
"""Streams with fewer bytes are in small sectors, which are parts of a separate stream."""
_END, _SHEET, _TEXTS, _MORE, _SIZE, _TEXT, _RUN, _FORMULA = 0x0A, 0x85, 0xFC, 0x3C, 0x200, 0xFD, 0xBD, 0x06
_CELLS = {_TEXT, _RUN, _FORMULA, 0x203, 0x204, 0x205, 0x27E}
"""The types of records of cells that are read; blank cells are not read."""


def bytes_of_old_workbook(data: bytes, most: int) -> int:
    """An estimate of the bytes of all sheets: for each, the rectangle from its first to its last cell, and texts.

    Parameters
    ----------
    data : content of the file
    most : the count stops above this number, so a larger result may be too small

    Raises
    ------
    ValueError
        If the file is damaged, or declares parts that are larger than the file.
    """
    try:
        stream = _workbook(data)
        texts: list[int] = []
        sheets: list[int] = []
        for kind, start, size in _records(stream, 0):
            if kind == _TEXTS:
                texts = _texts(stream, start, size)
            elif kind == _SHEET:
                sheets.append(struct.unpack_from("<I", stream, start)[0])
        total = len(data) + sum(texts)
        known: dict[int, int] = {}
        for place in sheets:  # several entries may be the same sheet, and each is read into memory
            if place not in known:
                known[place] = _bytes_of_sheet(stream, place, texts)
            total += known[place]
            if total > most:
                break
    except (struct.error, IndexError) as error:
        raise ValueError("the records are damaged") from error
    return total


# ------------------------------------------------------------------------------------------------------------- sectors


def _workbook(data: bytes) -> bytes:
    """The stream of the workbook; empty if the file has no such stream."""
    shift = struct.unpack_from("<H", data, 30)[0]
    if shift not in (9, 12):
        raise ValueError(f"the sectors have 2^{shift} bytes: expected 2^9 or 2^12")
    n_directory, n_table, directory, _, _, small, n_small, more, n_more = struct.unpack_from("<9I", data, 40)
    room = len(data) >> shift
    if max(n_directory, n_table, n_small, n_more) > room:
        raise ValueError("the file declares more sectors than it has")

    def sector(number: int) -> bytes:
        return data[(number + 1) << shift : (number + 2) << shift]

    tables = list(struct.unpack_from("<109I", data, 76))
    for _ in range(room + 1):
        if more >= _NONE:
            break
        *found, more = _numbers(sector(more))
        tables += found
    else:
        raise ValueError("the list of sectors is a loop")
    tables = [number for number in tables if number < _NONE]
    if len(tables) > room:
        raise ValueError("the file declares more sectors than it has")
    after = [number for table in tables for number in _numbers(sector(table))]

    def chain(number: int, size: int | None) -> bytes:
        parts: list[bytes] = []
        while number < _NONE:
            if len(parts) > room:
                raise ValueError("a chain of sectors is a loop")
            parts.append(sector(number))
            number = after[number]
        return b"".join(parts)[:size]

    entries = chain(directory, None)
    for name in ("Workbook", "Book"):
        for at in range(0, len(entries) - 127, 128):
            start, size = _entry(entries, at, shift)
            if at and entries[at : at + 64].decode("utf-16-le", "replace").partition("\0")[0] == name:
                if size > len(data) or _entry(entries, 0, shift)[1] > len(data):
                    raise ValueError("the file declares a part that is larger than the file itself")
                if size >= _SMALL:
                    return chain(start, size)
                return _in_small(chain(_entry(entries, 0, shift)[0], None), chain(small, None), start, size)
    return b""


def _entry(entries: bytes, at: int, shift: int) -> tuple[int, int]:
    """The first sector of a stream, and the size of the stream."""
    start, low, high = struct.unpack_from("<3I", entries, at + 116)
    return start, low if shift == 9 else low | high << 32


def _in_small(sectors: bytes, table: bytes, number: int, size: int) -> bytes:
    """A stream that is stored in small sectors of 64 bytes."""
    following = _numbers(table)
    parts: list[bytes] = []
    while number < _NONE:
        if len(parts) > _SMALL // 64:
            raise ValueError("a chain of sectors is a loop")
        parts.append(sectors[64 * number : 64 * number + 64])
        number = following[number]
    return b"".join(parts)[:size]


def _numbers(sector: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(sector) // 4}I", sector[: len(sector) // 4 * 4])


# ------------------------------------------------------------------------------------------------------------- records


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, position and size of each record from a position to the next end record."""
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        if kind == _END:
            return
        if at + 4 + size > len(stream):
            raise ValueError("a record is longer than the rest of the file")
        yield kind, at + 4, size
        at += 4 + size


def _bytes_of_sheet(stream: bytes, place: int, texts: Sequence[int]) -> int:
    cells, formulas = _Rectangle(), _Rectangle()
    said = count = declared = 0
    for kind, start, size in _records(stream, place):
        count += 1
        if kind == _SIZE:
            declared = max(declared, _declared(stream, start, size))
        elif kind in _CELLS:
            row, column = struct.unpack_from("<HH", stream, start)
            cells.add(row, column, column + max(0, (size - 6) // 6 - 1) if kind == _RUN else column)
            if kind == _FORMULA:
                formulas.add(row, column, column)
            elif kind == _TEXT:
                text = struct.unpack_from("<I", stream, start + 6)[0]
                said += texts[text] if text < len(texts) else 0
    return CELL * (max(cells.area, declared) + formulas.area + count) + said


def _declared(stream: bytes, start: int, size: int) -> int:
    """The number of cells that a sheet declares; readers allocate memory for all of them."""
    top, bottom, left, right = struct.unpack_from("<4H" if size < 14 else "<IIHH", stream, start)
    if bottom == 0 or right == 0:  # empty
        return 1
    if bottom < top or right < left:
        raise ValueError("a sheet declares that it ends before its beginning")
    return int((bottom - top) * (right - left))


class _Rectangle:
    """The smallest rectangle that contains all added cells."""

    def __init__(self) -> None:
        self.top = self.left = 1 << 16
        self.bottom = self.right = -1

    def add(self, row: int, first: int, last: int) -> None:
        self.top, self.bottom = min(self.top, row), max(self.bottom, row)
        self.left, self.right = min(self.left, first), max(self.right, last)

    @property
    def area(self) -> int:
        return max(0, self.bottom - self.top + 1) * max(0, self.right - self.left + 1)


def _texts(stream: bytes, start: int, size: int) -> list[int]:
    """The bytes of each shared text. If a text continues in the next record, that record has a new character width."""
    pieces = [(start, start + size)]
    for kind, at, length in _records(stream, start + size):
        if kind != _MORE:
            break
        pieces.append((at, at + length))
    pieces.reverse()
    count = struct.unpack_from("<i", stream, start + 4)[0]
    if not 0 <= 3 * count <= sum(end - begin for begin, end in pieces):
        raise ValueError("the file declares more texts than it has")
    found: list[int] = []
    at, end = pieces.pop()
    at += 8
    for _ in range(count):
        if at == end:
            at, end = pieces.pop()
        n, flags = struct.unpack_from("<HB", stream, at)
        at += 3
        left, wide, widest = n, flags & 1, flags & 1
        behind = 0
        if flags & 8:
            behind += 4 * struct.unpack_from("<H", stream, at)[0]
            at += 2
        if flags & 4:
            behind += struct.unpack_from("<I", stream, at)[0]
            at += 4
        while left:
            fit = min(left, max(0, end - at) >> wide)
            at, left = at + (fit << wide), left - fit
            if left:
                at, end = pieces.pop()
                wide = stream[at] & 1
                at, widest = at + 1, widest | wide
        while behind > end - at:
            behind -= end - at
            at, end = pieces.pop()
        at += behind
        found.append(TEXT + (2 + widest) * n)
    return found
