"""What all certificates share as plain JSON: format, digest, rows of numbers, and fields that have to be there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.certificates.drup import CertificateError

FORMAT = "proofwood-certificate"
VERSION = 8
SETS = ("abductive", "contrastive")
"""The two lists of an enumeration."""

FloatArray = npt.NDArray[np.float64]


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its field ``digest``, written without spaces and with sorted names."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def fields(content: Mapping[str, Any], what: str, names: Collection[str]) -> None:
    """CertificateError unless an object has exactly these fields."""
    if not isinstance(content, Mapping) or set(content) != set(names):
        found = ", ".join(sorted(content)) if isinstance(content, Mapping) else repr(content)
        raise CertificateError(f"a {what} has to have the fields {', '.join(names)}, and has: {found}")


def number_or(value: Any, otherwise: float) -> float:
    """A number of a file, or the default if it is null; CertificateError if it is neither, or not exactly a float64."""
    if value is None:
        return otherwise
    if type(value) not in (int, float) or not np.isfinite(value) or float(value) != value:
        raise CertificateError(f"{value!r} is not a number of 64 bits")
    return float(value)


def values_to_json(values: npt.ArrayLike) -> list[float | None]:
    """A row of numbers; missing ones as null."""
    return [None if value != value else value for value in np.asarray(values, dtype=np.float64).tolist()]
