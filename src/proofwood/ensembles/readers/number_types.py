"""Number types of table columns; they matter because a step may compute in the type of its input.

A scaler of scikit-learn returns different numbers for a float32 and for the float64 of the same value. A model with
such steps is therefore read for the column types of given rows. Every number is then *read as* the nearest number of
its column's type, and explanations hold for rows of these types.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.frames import is_frame, is_pandas, is_polars
from proofwood.ensembles.steps import bisected, rank, ranked
from proofwood.model.node_table import FloatArray

DOUBLE = "float64"
NARROW_FLOATS = ("float32", "float16")
NARROW_INTEGERS = ("int8", "uint8", "int16", "uint16", "bool")
"""Integer types for which NumPy functions return float16 or float32; for wider ones they return float64."""


@dataclass(frozen=True)
class NumberType:
    """A number type with its NumPy name."""

    name: str = DOUBLE

    @property
    def is_float(self) -> bool:
        """Whether the type is a float type."""
        return self.name == DOUBLE or self.name in NARROW_FLOATS

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest finite number of the type."""
        if self.is_float:
            largest = float(np.finfo(self.name).max)
            return -largest, largest
        if self.name == "bool":
            return 0.0, 1.0
        return float(np.iinfo(self.name).min), float(np.iinfo(self.name).max)

    def cast(self, values: FloatArray) -> npt.NDArray[Any]:
        """The nearest number of the type for each value, as an array of this type."""
        if self.is_float:
            with np.errstate(over="ignore"):
                return np.asarray(values, dtype=self.name)
        if np.isnan(values).any():  # such a column of a table would have another type
            return values
        low, high = self.ends
        return np.clip(np.rint(values), low, high).astype(self.name)

    def rounded(self, values: FloatArray) -> FloatArray:
        """(n,) the nearest number of the type for each value, as float64; a monotone function of the values."""
        return values if self.name == DOUBLE else np.asarray(self.cast(values), dtype=np.float64)

    def places(self, values: FloatArray) -> Any:
        """The position of each value, as int64, if all numbers of the type are listed in ascending order."""
        return rank(values, self.name) if self.is_float else np.asarray(values).astype(np.int64)

    def at(self, places: Any) -> FloatArray:
        """The numbers of the type at given positions; the inverse of ``places``."""
        return ranked(places, self.name) if self.is_float else np.asarray(places, dtype=np.float64)

    def floor(self, values: FloatArray) -> FloatArray:
        """(n,) the largest number of the type up to each value; -inf below the type's range, inf above it."""
        low, high = self.ends
        with np.errstate(invalid="ignore"):
            inside = np.where((values >= low) & (values <= high), values, 0.0)
        found = self.rounded(inside)
        above = found > inside
        found[above] = self.at(self.places(found[above]) - 1)
        return np.where(values < low, -np.inf, np.where(values > high, np.inf, found))

    def last_read_as(self, cuts: FloatArray) -> FloatArray:
        """(n,) the largest float64 that the type rounds to at most each cut; infinite cuts stay infinite."""
        if self.name == DOUBLE:
            return cuts
        inside = np.flatnonzero(np.isfinite(cuts))
        found = cuts.copy()
        mine = cuts[inside]
        found[inside] = bisected(lambda values, at: self.rounded(values) <= mine[at], mine.size, -np.inf, np.inf)
        return found


def types_of(X: Any, names: Sequence[str]) -> list[str | None]:
    """The number type of each column of a table; "float64" also for wide integers and for columns without numbers.

    Parameters
    ----------
    X : pandas or polars frame, sparse matrix, or array-like
    names : names of the columns; the type is None for a column that a frame lacks
    """
    if is_pandas(X) or is_polars(X):
        kinds = dict(zip(map(str, X.columns), X.dtypes, strict=True))
        return [None if name not in kinds else _name(kinds[name]) for name in names]
    dtype = getattr(X, "dtype", None)
    if dtype is None and not is_frame(X):
        dtype = np.asarray(X).dtype if len(X) else None
    return [_name(dtype)] * len(names)


def _name(dtype: Any) -> str:
    """The NumPy name of a narrow number type; "float64" for all others, and for nullable types of pandas."""
    known = isinstance(dtype, np.dtype) or type(dtype).__module__.split(".")[0] == "polars"
    name = str(dtype).replace("Boolean", "bool").lower() if known else DOUBLE
    return name if name in NARROW_FLOATS or name in NARROW_INTEGERS else DOUBLE


def that_matter(
    types: Sequence[str | None], numbers: Collection[int], *, functions: bool
) -> tuple[str | None, ...] | None:
    """The types of the columns if steps compute with them differently than with float64; else None.

    Parameters
    ----------
    types : types of all columns
    numbers : indices of the columns that hold numbers
    functions : whether a NumPy function gets columns unchanged, with integers as integers
    """
    kinds = tuple(kind if j in numbers or kind is None else DOUBLE for j, kind in enumerate(types))
    if any(kind in NARROW_FLOATS for kind in kinds) or (functions and any(kind in NARROW_INTEGERS for kind in kinds)):
        return kinds
    return None
