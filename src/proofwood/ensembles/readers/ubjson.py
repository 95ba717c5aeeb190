"""Read UBJSON, the binary form of JSON in which XGBoost saves models, into dicts, lists and NumPy arrays."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from proofwood.files import require_room

FORMATS = {ord(letter): form for letter, form in {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q"}.items()}
FORMATS |= {ord("d"): "f", ord("D"): "d"}
"""The ``struct`` format of each number type, by the letter before the number in a file; all are big-endian."""
_ONE = {letter: struct.Struct(">" + form) for letter, form in FORMATS.items()}
_MANY = {letter: np.dtype(">" + form) for letter, form in FORMATS.items()}
_SPECIAL = {ord("T"): True, ord("F"): False, ord("Z"): None}
_MAP, _END_MAP, _LIST, _END_LIST, _TEXT, _TYPE, _SIZE = b"{}[]S$#"
BYTES = 100
"""Estimated memory in bytes of one value; the numbers of an array are not counted."""
DEEPEST = 100
"""Greatest depth of nested lists and maps."""


def decoded(raw: bytes) -> Any:
    """The value encoded in bytes; an array of numbers of one type becomes a NumPy array.

    Raises
    ------
    ValueError
        If the bytes are not UBJSON, or not complete.
    """
    reader = _Reader(raw)
    try:
        found = reader.value(0)
    except (IndexError, struct.error) as error:
        raise ValueError(f"the UBJSON data of {len(raw)} bytes end inside a value: expected complete data") from error
    if reader.at != len(raw):
        raise ValueError(f"{len(raw) - reader.at} bytes follow the UBJSON value: expected the end of the data")
    return found


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.values = raw, 0, 0

    def value(self, depth: int) -> Any:
        self.values += 1
        if self.values % 2**16 == 0:
            require_room("the UBJSON", BYTES * self.values, len(self.raw))
        kind = self.raw[self.at]
        self.at += 1
        if kind == _TEXT:
            return self.text()
        if kind == _MAP:
            return self.map(depth + 1)
        if kind == _LIST:
            return self.array(depth + 1)
        if kind in _ONE:
            one = _ONE[kind]
            self.at += one.size
            return one.unpack_from(self.raw, self.at - one.size)[0]
        if kind in _SPECIAL:
            return _SPECIAL[kind]
        raise ValueError(f"byte {self.at - 1} is {chr(kind)!r}, where a value was expected")

    def size(self) -> int:
        kind = self.raw[self.at]
        one = _ONE.get(kind)
        if one is None:
            raise ValueError(f"byte {self.at} is {chr(kind)!r}, where a size was expected")
        self.at += 1 + one.size
        found = one.unpack_from(self.raw, self.at - one.size)[0]
        if not 0 <= found <= len(self.raw):  # each part takes a byte at least
            raise ValueError(f"byte {self.at}: the size {found} is not possible in data of {len(self.raw)} bytes")
        return int(found)

    def text(self) -> str:
        n = self.size()
        self.at += n
        if self.at > len(self.raw):
            raise IndexError
        return self.raw[self.at - n : self.at].decode()

    def map(self, depth: int) -> dict[str, Any]:
        self._check(depth)
        found = {}
        while self.raw[self.at] != _END_MAP:
            key = self.text()
            found[key] = self.value(depth)
        self.at += 1
        return found

    def array(self, depth: int) -> Any:
        kind = self.raw[self.at]
        if kind == _TYPE:
            dtype = _MANY.get(self.raw[self.at + 1])
            if dtype is None or self.raw[self.at + 2] != _SIZE:
                raise ValueError(f"byte {self.at}: expected an array of numbers with its size")
            self.at += 3
            n = self.size()
            start, self.at = self.at, self.at + n * dtype.itemsize
            if self.at > len(self.raw):
                raise IndexError
            return np.frombuffer(self.raw, dtype, n, start)
        self._check(depth)
        if kind == _SIZE:
            self.at += 1
            return [self.value(depth) for _ in range(self.size())]
        found = []
        while self.raw[self.at] != _END_LIST:
            found.append(self.value(depth))
        self.at += 1
        return found

    def _check(self, depth: int) -> None:
        if depth > DEEPEST:
            raise ValueError(f"the UBJSON data are nested too deeply: expected at most {DEEPEST} levels")
