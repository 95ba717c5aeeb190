"""One row, however it is given, as a table of one row; and a row that is read already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.data.columns import as_frame, is_frame
from proofwood.data.sparse import is_sparse
from proofwood.ensembles.door import CHECKED, Admitted
from proofwood.ensembles.explained import Explained
from proofwood.model.node_table import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row that is read already, in place of a row.

    Parameters
    ----------
    row : (n_inputs,) numbers as ``model.read`` gives them
    cells : (n_columns,) its cells
    label : code of its class
    filled : inputs in which the row lacks a value, and ``row`` has what a step of a pipeline fills in
    reading : how the reading was checked, see :attr:`proofwood.explain.explanation.Explanation.reading`
    """

    row: FloatArray
    cells: IntArray
    label: int
    filled: tuple[int, ...] = ()
    reading: str = CHECKED


def read_one(model: Explained, x: Any) -> Admitted:
    """One row, as a table of one row, of which the model itself was asked.

    Parameters
    ----------
    model : what is explained
    x : array, series, mapping from names to values, or table of one row in any container

    Raises
    ------
    DataError
        If the row does not fit the model; MisreadError where the model predicts another class for it.
    ValueError
        If there are more rows, or none.
    """
    table = as_table(x)
    n_rows = _length(table)
    if n_rows is not None and n_rows != 1:
        raise ValueError(f"x has {n_rows} rows: expected one. For a table, use explain(X).")
    return model.admit(table, table=not isinstance(x, Mapping))


def _length(table: Any) -> int | None:
    """Number of rows; None where that is not known, as of a list that is no table."""
    if hasattr(table, "shape") and len(table.shape) == 2:
        return int(table.shape[0])
    return len(table) if isinstance(table, list) else None


def as_table(x: Any) -> Any:
    """A row as a table of one row, its values as they are."""
    if isinstance(x, Mapping):
        row = {str(name): [value] for name, value in x.items()}
        try:
            import pandas as pd  # optional: it takes any value
        except ImportError:
            import polars as pl  # start-up time: few rows are mappings

            return pl.DataFrame(row)
        return pd.DataFrame(row)
    if hasattr(x, "to_frame") and getattr(x, "ndim", 1) == 1 and hasattr(x, "index"):  # a series of pandas
        return x.to_frame().T.infer_objects()
    if is_sparse(x):
        return x if len(x.shape) == 2 else x.reshape(1, -1)
    if is_frame(x):
        return as_frame(x) if not hasattr(x, "shape") else x
    if isinstance(x, list | tuple):
        nested = len(x) > 0 and all(isinstance(row, list | tuple | np.ndarray) for row in x)
        return [list(row) for row in x] if nested else [list(x)]
    array = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    return array[np.newaxis] if array.ndim == 1 else array
