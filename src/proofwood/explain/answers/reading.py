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
    filled : inputs in which the row lacks a value, and ``row`` has what a step of a pipeline fills in
    """

    row: FloatArray
    cells: IntArray
    label: int
    filled: tuple[int, ...] = ()


def label_of(model: Explained, row: FloatArray, cells: IntArray) -> int:
    """Code of the class that the model predicts for a row.

    Where the sums decide whatever rounding does, they are the answer; else the model itself is asked.

    Parameters
    ----------
    model : what is explained
    row : (n_inputs,) numbers as ``model.read`` gives them
    cells : (n_columns,) its cells
    """
    scores = model.scores
    sums = scores.sums(cells)
    first = int(sums.argmax())
    rest = np.delete(sums, first)
    if rest.size and int(sums[first]) - int(rest.max()) > scores.margin:
        return first
    return int(model.predict_codes(row[np.newaxis])[0])


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


def filled_in(model: Explained, x: Any) -> tuple[int, ...]:
    """Inputs in which one row, as :func:`read_one` takes it, lacks a value that a step of a pipeline fills in."""
    return tuple(np.flatnonzero(model.filled(_as_table(x))[0]).tolist())


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
