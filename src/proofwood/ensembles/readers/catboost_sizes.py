"""Estimate the memory that a binary CatBoost model (.cbm) takes, from the lists that its file declares.

A file is a FlatBuffers table, followed by tables of categories. Several lists may share the same bytes of the file.
"""

from __future__ import annotations

import struct

from proofwood.data.sizes import FlatTable

BINARY = b"CBM1"
NUMBER = 300
"""Bytes in memory for a leaf value or a border, in CatBoost and in the JSON that is read from it (measured: 265)."""
NODE = 4000
"""Bytes in memory for a test of a tree (measured: 3,800)."""
CATEGORY = 25
"""Bytes in memory for each byte of the tables of categories (measured: 20)."""


def bytes_of_cbm(data: bytes) -> int:
    """Estimate the memory of a .cbm file from its numbers of values, tests and borders.

    A list that several parts share is counted once for each part.

    Raises
    ------
    ValueError
        If the lists in the file are damaged.
    """
    try:
        size = int(struct.unpack_from("<I", data, len(BINARY))[0])
        core = FlatTable.root(data, 8)
        trees = core.table(1)
        numbers = len(trees.places(8, 8)) + len(trees.places(9, 8)) + max(0, trees.number(0, "i"))
        nodes = len(trees.places(1, 4)) + len(trees.places(2, 4)) + len(trees.places(10, 4)) + len(trees.places(11, 4))
        texts = 0
        for feature in trees.tables(5):
            nodes, numbers = nodes + 1, numbers + len(feature.places(3, 4))
            texts += len(feature.places(4, 1))
        for feature in trees.tables(4):
            nodes, texts = nodes + 1, texts + len(feature.places(2, 1))
        for feature in trees.tables(6):
            nodes, numbers = nodes + 1, numbers + len(feature.places(1, 4))
            texts += sum(_length(data, at) for at in feature.places(2, 4))
        for feature in trees.tables(7):
            nodes, numbers = nodes + 1, numbers + len(feature.places(1, 4))
        for pair in core.tables(2):
            texts += len(pair.places(0, 1)) + len(pair.places(1, 1))
        behind = max(0, len(data) - 8 - size)
        return len(data) + NUMBER * (numbers + texts) + NODE * nodes + CATEGORY * behind
    except (IndexError, struct.error) as error:
        raise ValueError("the lists in the CatBoost file are damaged: expected a complete .cbm file") from error


def _length(data: bytes, at: int) -> int:
    """The length in bytes of the text that the offset at position ``at`` refers to."""
    return int(struct.unpack_from("<I", data, at + struct.unpack_from("<I", data, at)[0])[0])
