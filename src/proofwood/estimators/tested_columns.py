"""What the columns that a model tests held in its training rows: kept with the model, to compare new rows with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from proofwood.data.columns import Column
from proofwood.data.kinds import CATEGORIES
from proofwood.model.node_table import FloatArray, NodeTable


@dataclass(frozen=True, slots=True)
class TestedColumn:
    """What a column held in the training rows of positive weight.

    Parameters
    ----------
    missing : number of missing values
    bounds : least and greatest number; None for categories, and if all values are missing
    codes : the level codes that occur, ascending; empty unless the column has categories
    """

    missing: int
    bounds: tuple[float, float] | None = None
    codes: tuple[int, ...] = ()

    @classmethod
    def of(cls, values: FloatArray, column: Column) -> Self:
        """The description of a column with the numbers ``values``, NaN where missing."""
        present = values[~np.isnan(values)]
        missing = int(values.size - present.size)
        if column.kind in CATEGORIES:
            return cls(missing, codes=tuple(np.unique(present).astype(np.int64).tolist()))
        return cls(missing, (float(present.min()), float(present.max())) if present.size else None)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for a model file."""
        if self.codes:
            return {"missing": self.missing, "codes": list(self.codes)}
        return {"missing": self.missing, "bounds": None if self.bounds is None else list(self.bounds)}

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The object that :meth:`to_dict` described; ValueError, TypeError or LookupError if the values do not fit."""
        missing, bounds, codes = saved["missing"], saved.get("bounds"), saved.get("codes", ())
        if type(missing) is not int or missing < 0:
            raise ValueError(f"a tested column has {missing!r} missing values, expected an integer from 0")
        if bounds is not None:
            low, high = bounds
            if not all(type(end) in (int, float) and math.isfinite(end) for end in (low, high)) or low > high:
                raise ValueError(f"a tested column has the bounds {bounds!r}, expected two numbers that ascend")
            bounds = float(low), float(high)
        if not all(type(code) is int and code >= 0 for code in codes) or sorted(set(codes)) != list(codes):
            raise ValueError("the codes of a tested column are not integers that ascend")
        return cls(missing, bounds, tuple(codes))


def tested_columns(table: NodeTable, X: FloatArray, columns: tuple[Column, ...]) -> dict[int, TestedColumn]:
    """What each column that a model tests held in the rows ``X`` from which it was learned, by index.

    Parameters
    ----------
    table : the model
    X : (n_rows, n_columns) numbers of the rows of positive weight
    columns : descriptions of the columns
    """
    known = dict(enumerate(columns))
    return {j: TestedColumn.of(X[:, j], known.get(j, Column(f"x{j}"))) for j in table.tested_columns}


def tested_to_save(tested: Mapping[int, TestedColumn]) -> dict[str, Any]:
    """What the tested columns held, as plain values; nothing if the model has no test."""
    return {"tested": {str(j): column.to_dict() for j, column in tested.items()}} if tested else {}


def weighted_of(saved: Mapping[str, Any]) -> bool | None:
    """Whether training rows had weights other than 1; None for a file of a version that did not keep it."""
    weighted = saved.get("weighted")
    if weighted is not None and not isinstance(weighted, bool):
        raise ValueError(f"weighted is {weighted!r}, expected true or false")
    return weighted


def tested_of(saved: Mapping[str, Any], n_columns: int) -> dict[int, TestedColumn]:
    """What :func:`tested_to_save` wrote; empty for a file of a version that did not keep it."""
    found = {}
    for index, column in saved.get("tested", {}).items():
        if not 0 <= int(index) < n_columns or str(int(index)) != index:
            raise ValueError(f"a tested column has the index {index!r}, expected one from 0 to {n_columns - 1}")
        found[int(index)] = TestedColumn.from_dict(column)
    return found
