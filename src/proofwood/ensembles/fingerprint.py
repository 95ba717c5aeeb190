"""Convert values to types that JSON supports, and compute short digests of them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The value in types that JSON supports: arrays and sets become lists, NumPy numbers become Python numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def fingerprint(parts: Sequence[Any]) -> str:
    """A short digest of a list of arrays and plain values; it differs between different lists."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            content = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")).tobytes()
        else:
            content = repr(plain(part)).encode()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:32]
