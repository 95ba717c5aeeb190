"""How the rows of a model are read, and what its columns mean, before any statement of the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from proofwood.data.columns import Column, Kind, is_frame, read_columns
from proofwood.exceptions import DataError
from proofwood.explain.forest import Forest
from proofwood.explain.space import Input, Source, shown
from proofwood.model.node_table import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Adapted:
    """A model as a forest over columns that come from the columns of a table.

    Parameters
    ----------
    forest : over the model's columns
    inputs : columns of the table
    sources : one per model column
    read : rows as the user has them -> (n_rows, n_inputs) float64; checks names and numbers, not values
    predict : (n_rows, n_inputs) as ``read`` gives them -> class codes of the real model
    learns_missing : inputs in which missing values are part of the space unless the user or the rows say otherwise
    """

    forest: Forest
    inputs: tuple[Input, ...]
    sources: tuple[Source, ...]
    read: Callable[[Any], FloatArray]
    predict: Callable[[FloatArray], IntArray]
    learns_missing: BoolArray | bool = False


def plain(forest: Forest, feature_names: Sequence[str] | None) -> Adapted:
    """A model that takes numbers as they are."""
    names = column_names(forest.names, forest.n_columns, feature_names)
    inputs = tuple(Input(name) for name in names)
    return Adapted(
        forest, inputs, tuple(Source(j) for j in range(len(names))), partial(numbers, names=names), forest.predict
    )


def column_names(known: Sequence[str] | None, n_columns: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the columns: as given, as the model knows them, or x0, x1, ..."""
    if given is not None:
        names = tuple(str(name) for name in given)
        if len(names) != n_columns:
            raise ValueError(f"feature_names has {len(names)} names, but the model takes {n_columns} columns")
    else:
        names = tuple(f"x{j}" for j in range(n_columns)) if known is None else tuple(str(name) for name in known)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"feature names must differ, but {repeated[0]!r} occurs more than once")
    return names


def numbers(X: Any, names: Sequence[str]) -> FloatArray:
    """A table of numbers as float64 columns in the order of ``names``; a frame is read by name."""
    if is_frame(X):
        columns = read_columns(in_order(X, names))
        for column in columns.columns:
            if column.kind in (Kind.NOMINAL, Kind.ORDERED):
                raise DataError(f"column {column.name!r} holds text or categories, and this model takes numbers")
        return np.ascontiguousarray(columns.values)
    try:
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"X holds something that is no number: {error}") from error
    if array.ndim != 2:
        raise DataError(f"X has shape {array.shape}: expected (n_rows, n_columns). For one row, pass X.reshape(1, -1).")
    if array.shape[1] != len(names):
        raise DataError(f"X has {array.shape[1]} columns, but the model takes {len(names)}: {shown(names)}")
    return np.ascontiguousarray(array)


def in_order(X: Any, names: Sequence[str]) -> Any:
    """A frame with exactly the columns ``names``, in this order; DataError if one is missing or unknown."""
    present = [str(name) for name in X.columns]
    absent = [name for name in names if name not in present]
    unknown = [name for name in present if name not in names]
    if absent or unknown:
        told = [f"lacks {shown(absent)}"] if absent else []
        told += [f"has {shown(unknown)}, which the model does not know"] if unknown else []
        raise DataError(f"the frame {' and '.join(told)}: the model takes {shown(names)}")
    return X[[X.columns[present.index(name)] for name in names]]


def kinds_from(X: Any, inputs: Sequence[Input]) -> tuple[Input, ...]:
    """The inputs, with integers and booleans where a frame of rows has columns of these types."""
    if not is_frame(X):
        return tuple(inputs)
    kinds: dict[str, Column] = {column.name: column for column in read_columns(X).columns}
    result = []
    for given in inputs:
        column = kinds.get(given.name)
        if column is not None and given.kind is Kind.NUMERIC and column.kind is Kind.INTEGER:
            given = replace(given, kind=Kind.INTEGER)
        elif column is not None and given.kind is Kind.NUMERIC and column.kind is Kind.BOOLEAN:
            given = replace(given, kind=Kind.BOOLEAN, low=max(given.low, 0.0), high=min(given.high, 1.0))
        result.append(given)
    return tuple(result)
