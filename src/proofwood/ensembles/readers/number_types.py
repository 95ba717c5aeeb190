"""Types of numbers that columns of a table have: a step may compute in the type of what it is given.

A scaler of scikit-learn makes other numbers of a float32 than of the float64 with the same value. A model behind such
steps is read for the types of some rows: every number is then *read as* the nearest one of the type of its column, and
all that is said holds for rows of these types.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import is_frame, is_pandas, is_polars
from proofwood.ensembles.steps import bisected, rank, ranked
from proofwood.model.node_table import FloatArray

DOUBLE = "float64"
NARROW_FLOATS = ("float32", "float16")
NARROW_INTEGERS = ("int8", "uint8", "int16", "uint16", "bool")
"""Types that functions of NumPy turn into float16 or float32; wider ones become float64."""


@dataclass(frozen=True)
class NumberType:
    """A type of numbers, by its name in NumPy."""

    name: str = DOUBLE

    @property
    def is_float(self) -> bool:
        """Whether it is a type of floats."""
        return self.name == DOUBLE or self.name in NARROW_FLOATS

    @property
    def ends(self) -> tuple[float, float]:
        """Least and greatest finite number."""
        if self.is_float:
            largest = float(np.finfo(self.name).max)
            return -largest, largest
        if self.name == "bool":
            return 0.0, 1.0
        return float(np.iinfo(self.name).min), float(np.iinfo(self.name).max)

    def cast(self, values: FloatArray) -> npt.NDArray[Any]:
        """Numbers as a column of the type: the nearest of each."""
        if self.is_float:
            with np.errstate(over="ignore"):
                return np.asarray(values, dtype=self.name)
        if np.isnan(values).any():  # such a column of a table would have another type
            return values
        low, high = self.ends
        return np.clip(np.rint(values), low, high).astype(self.name)

    def rounded(self, values: FloatArray) -> FloatArray:
        """The numbers (n,) of the type in place of others, which they do not overtake."""
        return values if self.name == DOUBLE else np.asarray(self.cast(values), dtype=np.float64)

    def places(self, values: FloatArray) -> Any:
        """Places of numbers of the type in their order, as int64."""
        return rank(values, self.name) if self.is_float else np.asarray(values).astype(np.int64)

    def at(self, places: Any) -> FloatArray:
        """The numbers at some places."""
        return ranked(places, self.name) if self.is_float else np.asarray(places, dtype=np.float64)

    def floor(self, values: FloatArray) -> FloatArray:
        """The last number of the type up to each value (n,); -inf if there is none, inf above all."""
        low, high = self.ends
        with np.errstate(invalid="ignore"):
            inside = np.where((values >= low) & (values <= high), values, 0.0)
        found = self.rounded(inside)
        above = found > inside
        found[above] = self.at(self.places(found[above]) - 1)
        return np.where(values < low, -np.inf, np.where(values > high, np.inf, found))

    def last_read_as(self, cuts: FloatArray) -> FloatArray:
        """For each number (n,) of the type the last float64 that is read as at most it; infinite ones stay."""
        if self.name == DOUBLE:
            return cuts
        inside = np.flatnonzero(np.isfinite(cuts))
        found = cuts.copy()
        mine = cuts[inside]
        found[inside] = bisected(lambda values, at: self.rounded(values) <= mine[at], mine.size, -np.inf, np.inf)
        return found


def types_of(X: Any, names: Sequence[str]) -> list[str | None]:
    """The type of each column of a table, as far as steps tell it apart: "float64" also for all that is not a number.

    Parameters
    ----------
    X : frame of pandas or polars, sparse matrix, or array-like
    names : of the columns; of one that a frame lacks the type is None
    """
    if is_pandas(X) or is_polars(X):
        kinds = dict(zip(map(str, X.columns), X.dtypes, strict=True))
        return [None if name not in kinds else _name(kinds[name]) for name in names]
    dtype = getattr(X, "dtype", None)
    if dtype is None and not is_frame(X):
        dtype = np.asarray(X).dtype if len(X) else None
    return [_name(dtype)] * len(names)


def _name(dtype: Any) -> str:
    """The name of a type; nullable types of pandas become float64 on their way."""
    known = isinstance(dtype, np.dtype) or type(dtype).__module__.split(".")[0] == "polars"
    name = str(dtype).replace("Boolean", "bool").lower() if known else DOUBLE
    return name if name in NARROW_FLOATS or name in NARROW_INTEGERS else DOUBLE


def that_matter(
    types: Sequence[str | None], numbers: Collection[int], *, functions: bool
) -> tuple[str | None, ...] | None:
    """The types of columns if steps compute with them in another way than with float64; else None.

    Parameters
    ----------
    types : of all columns
    numbers : columns that hold numbers
    functions : whether a function of NumPy gets a column as it is, integers also
    """
    kinds = tuple(kind if j in numbers or kind is None else DOUBLE for j, kind in enumerate(types))
    if any(kind in NARROW_FLOATS for kind in kinds) or (functions and any(kind in NARROW_INTEGERS for kind in kinds)):
        return kinds
    return None
