"""One row, however it is given, as a table of one row; and a row that is read already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.explain.model.explained import Explained
from proofwood.model.node_table import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row that is read already, in place of a row.

    Parameters
    ----------
    row : (n_inputs,) numbers as ``model.read`` gives them
    cells : (n_columns,) its cells
    label : code of its class
    """

    row: FloatArray
    cells: IntArray
    label: int


def read_one(model: Explained, x: Any) -> FloatArray:
    """One row as (n_inputs,) numbers.

    Parameters
    ----------
    model : what is explained
    x : array, series, mapping from names to values, or frame of one row

    Raises
    ------
    DataError
        If the row does not fit the model.
    ValueError
        If there are more rows, or none.
    """
    rows = model.read(_as_table(x))
    if len(rows) != 1:
        raise ValueError(f"x has {len(rows)} rows: expected one. For a table, use explain(X).")
    return np.asarray(rows[0])


def _as_table(x: Any) -> Any:
    if isinstance(x, Mapping):
        import polars as pl  # start-up time: few rows are mappings

        return pl.DataFrame({str(name): [value] for name, value in x.items()})
    if hasattr(x, "to_frame") and getattr(x, "ndim", 1) == 1 and hasattr(x, "index"):  # a series of pandas
        return x.to_frame().T.infer_objects()
    if hasattr(x, "columns"):
        return x
    array = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    return array[np.newaxis] if array.ndim == 1 else array
