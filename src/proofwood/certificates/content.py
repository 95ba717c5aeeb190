"""The parts that all certificates share as plain JSON: format, digest, rows of numbers, and required fields."""

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
"""The names of the two lists of explanations in a certificate of an enumeration."""

FloatArray = npt.NDArray[np.float64]


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of the content without its field ``digest``, as JSON without spaces and with sorted names."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def fields(content: Mapping[str, Any], what: str, names: Collection[str]) -> None:
    """Raise CertificateError if an object does not have exactly these fields."""
    if not isinstance(content, Mapping) or set(content) != set(names):
        found = ", ".join(sorted(content)) if isinstance(content, Mapping) else repr(content)
        raise CertificateError(f"a {what} must have exactly the fields {', '.join(names)}, but it has: {found}")


def number_or(value: Any, otherwise: float) -> float:
    """Return a number of a file, or ``otherwise`` for null; raise CertificateError if no float64 equals the number."""
    if value is None:
        return otherwise
    if type(value) not in (int, float) or not np.isfinite(value) or float(value) != value:
        raise CertificateError(f"{value!r} is not a finite number that is exact in float64")
    return float(value)


def values_to_json(values: npt.ArrayLike) -> list[float | None]:
    """The numbers of a row as JSON, with null for missing values."""
    return [None if value != value else value for value in np.asarray(values, dtype=np.float64).tolist()]
