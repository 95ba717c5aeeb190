"""How the rows of a model are read, and what its columns mean, before any statement of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import Column, is_frame, is_pandas, read_columns
from proofwood.data.kinds import Kind
from proofwood.exceptions import DataError
from proofwood.explain.model.forest import Forest
from proofwood.explain.model.sources import Source
from proofwood.explain.model.space import Input, shown
from proofwood.model.node_table import BoolArray, FloatArray


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
    output : the same for what the model gives beside classes, see :class:`Forest`; None with it
    unknown_missing : whether a category that the model does not know is to it a missing one, where it takes these
    filled : rows as the user has them -> (n_rows, n_inputs) whether ``read`` gives what a step of a pipeline fills in
        for a missing value; None where no step does
    """

    forest: Forest
    inputs: tuple[Input, ...]
    sources: tuple[Source, ...]
    read: Callable[[Any], FloatArray]
    predict: Callable[[FloatArray], npt.NDArray[Any]]
    unknown_missing: bool = True
    output: Callable[[FloatArray], FloatArray] | None = None
    filled: Callable[[Any], BoolArray] | None = None


def plain(forest: Forest, feature_names: Sequence[str] | None) -> Adapted:
    """A model that takes numbers as they are."""
    names = column_names(forest.names, forest.n_columns, feature_names)
    inputs = tuple(Input(name, for_missing=forest.for_missing.get(j)) for j, name in enumerate(names))
    sources = tuple(Source(j) for j in range(len(names)))
    read = partial(numbers, names=names)
    return Adapted(forest, inputs, sources, read, forest.predict, output=forest.output)


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
    if np.iscomplexobj(X):
        raise DataError("X holds complex numbers: expected real ones")
    try:
        if isinstance(X, np.ma.MaskedArray):  # what is masked is missing
            X = np.ma.filled(X.astype(np.float64), np.nan)
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"X holds something that is not a number: {error}") from error
    if array.ndim != 2:
        raise DataError(f"X has shape {array.shape}: expected (n_rows, n_columns). For one row, pass X.reshape(1, -1).")
    if array.shape[1] != len(names):
        raise DataError(f"X has {array.shape[1]} columns, but the model takes {len(names)}: {shown(names)}")
    return np.ascontiguousarray(array)


def mixed(
    X: Any,
    names: Sequence[str],
    known: Mapping[int, tuple[Any, ...]],
    fill: Mapping[int, Any] | None = None,
    idle: Set[int] = frozenset(),
) -> FloatArray:
    """Numbers as they are, and categories as codes; a category that is not known gets the code after the last.

    Parameters
    ----------
    X : table of numbers and categories
    names : of its columns
    known : categories of a column, in the order of their codes; a missing value may be one of them
    fill : what a column has in place of missing values
    idle : columns whose values do not matter; they are NaN
    """
    parts = listed(X, names)
    result = np.full((len(parts[0]), len(names)), np.nan)
    for j, values in enumerate(parts):
        if j in idle:
            continue
        if fill is not None and j in fill:
            values = [fill[j] if absent(value) else value for value in values]
        if j in known:
            codes: dict[Any, float] = {value: float(code) for code, value in enumerate(known[j]) if not absent(value)}
            gap = next((float(code) for code, value in enumerate(known[j]) if absent(value)), np.nan)
            last = float(len(known[j]))
            result[:, j] = [gap if absent(value) else codes.get(value, last) for value in values]
            continue
        try:
            result[:, j] = [np.nan if absent(value) else float(value) for value in values]
        except (TypeError, ValueError) as error:
            raise DataError(f"column {names[j]!r} holds something that is not a number: {error}") from error
    return result


def listed(X: Any, names: Sequence[str]) -> list[list[Any]]:
    """The values of each column of a table, as they are; a frame is read by name."""
    if is_frame(X):
        frame = in_order(X, names)
        return [
            frame.iloc[:, j].astype(object).tolist() if is_pandas(frame) else frame.to_series(j).to_list()
            for j in range(len(names))
        ]
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        raise DataError(f"X has shape {table.shape}: expected (n_rows, n_columns)")
    if table.shape[1] != len(names):
        raise DataError(f"X has {table.shape[1]} columns, but the model takes {len(names)}: {shown(names)}")
    columns: list[list[Any]] = table.T.tolist()
    return columns


def absent(value: Any) -> bool:
    """Whether a value of a table is none: None, nan, or what frames have in its place."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def in_order(X: Any, names: Sequence[str]) -> Any:
    """A frame with exactly the columns ``names``, in this order; DataError if one is missing or unknown."""
    present = [str(name) for name in X.columns]
    absent = [name for name in names if name not in present]
    unknown = [name for name in present if name not in names]
    if absent or unknown:
        faults = [f"lacks {shown(absent)}"] if absent else []
        faults += [f"has {shown(unknown)}, which the model does not know"] if unknown else []
        raise DataError(f"the frame {' and '.join(faults)}: the model takes {shown(names)}")
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
