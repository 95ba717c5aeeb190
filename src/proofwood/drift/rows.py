"""The tested columns of new rows as numbers, and what in them cannot be read or was not in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from proofwood.data.columns import Column, require_no_infinity
from proofwood.data.frames import as_dense, as_frame, is_frame, is_pandas
from proofwood.data.kinds import CATEGORIES, NUMBERS, Kind
from proofwood.data.schema import Schema, new_table
from proofwood.exceptions import DataError
from proofwood.language import gettext
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.printable import nearest, shown


@dataclass(frozen=True, eq=False)
class TestedRows:
    """The columns of new rows that a model tests.

    Parameters
    ----------
    count : number of rows
    values : (n_rows,) numbers of each column that can be read, by index; NaN where missing
    new_levels : for categories, the levels that training did not have, with their rows, by index of the column; without
        columns whose levels in training are not known
    unreadable : why a column cannot be read, by index
    """

    count: int
    values: dict[int, FloatArray] = field(default_factory=dict)
    new_levels: dict[int, dict[str, int]] = field(default_factory=dict)
    unreadable: dict[int, str] = field(default_factory=dict)


def new_rows(model: Any, X: Any) -> TestedRows:
    """Read the columns of ``X`` that a fitted model tests; a column that cannot be read is not an error.

    Raises
    ------
    DataError
        If there are no rows, or a tested column is not there.
    """
    table, places = _opened(model, X)
    found = TestedRows(int(table.shape[0]))
    if found.count == 0:
        raise DataError("there are no new rows: expected at least one")
    for j, place in places.items():
        column = model.schema_.columns[j]
        try:
            values = _numbers(table, place, column)
        except DataError as error:
            found.unreadable[j] = f"{error}{_example(table, place, column)}"
            continue
        if column.kind in CATEGORIES:
            tested = model._tested.get(j)
            known = range(len(column.levels)) if tested is None else tested.codes
            if known:
                strange = ~np.isnan(values) & ~np.isin(values, list(known))
                found.new_levels[j] = _levels(table, place, column, values, strange)
            if column.kind is Kind.ORDERED:  # as in predictions
                values = np.where(values == len(column.levels), np.nan, values)
        found.values[j] = values
    return found


def _opened(model: Any, X: Any) -> tuple[Any, dict[int, int]]:
    """The rows as a frame or an array of two dimensions, and the place of each tested column in it."""
    columns, tested = model.schema_.columns, model.model_.tested_columns
    if not is_frame(X):
        table: Any = np.asarray(as_dense(X), dtype=object if isinstance(X, (list, tuple)) else None)
        if table.ndim != 2:
            raise DataError(f"X_new has {table.ndim} dimensions, expected 2: a row per sample, a column per feature")
    else:
        table = as_frame(X)
        if model.schema_.by_name:
            names = [str(name) for name in table.columns]
            _require_there(names, [columns[j].name for j in tested])
            return table, {j: names.index(columns[j].name) for j in tested}
    if table.shape[1] != model.n_features_in_:
        raise DataError(
            f"the new rows have {table.shape[1]} columns, but the model was learned from {model.n_features_in_}"
            f"{'' if model.schema_.by_name else ' without names'}: expected these columns in the same order"
        )
    return table, {j: j for j in tested}


def _require_there(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError if a wanted column is not there once."""
    missing = [name for name in wanted if name not in names]
    if missing:
        spare = [name for name in names if name not in wanted]
        near = {name: nearest(name, spare) for name in missing}
        parts = [repr(name) + (f" (is it {near[name]!r}?)" if near[name] else "") for name in missing]
        raise DataError(
            f"the model tests {len(missing)} column{'s' if len(missing) > 1 else ''} that the table does not have: "
            f"{shown(parts, 12, str)}. Columns are found by name: rename them"
        )
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise DataError(f"column names must differ, but {twice[0]!r} occurs more than once: rename one")


def _numbers(table: Any, place: int, column: Column) -> FloatArray:
    """(n_rows,) numbers of one column, read as in training; DataError if that is not possible.

    A level that training did not have gets the code after the last one, also in a column of ordered categories.
    """
    frame = not isinstance(table, np.ndarray)
    name = str(table.columns[place]) if frame else "x0"  # as in an array of one column
    kind = Kind.NOMINAL if column.kind in CATEGORIES else column.kind
    part = table.iloc[:, [place]] if is_pandas(table) else table[:, [place]]
    try:
        values = new_table(part, Schema((replace(column, name=name, kind=kind),), by_name=True))
        numbers = check_array(values, dtype=np.float64, ensure_all_finite=False, input_name="X_new")[:, 0]
        require_no_infinity(numbers[:, np.newaxis], [name])
    except ValueError as error:  # a DataError is one, too
        said = str(error)
        raise DataError(said if frame else said.replace("column 'x0'", f"column {column.name!r}")) from error
    return np.asarray(numbers)


def _example(table: Any, place: int, column: Column) -> str:
    """The first texts that are not numbers, if the column held numbers in training; else an empty text."""
    if column.kind not in NUMBERS or column.form:
        return ""
    texts = [value for value in dict.fromkeys(_given(table, place)) if isinstance(value, str) and not _is_number(value)]
    return " " + gettext("(such as %(texts)s)", texts=shown(texts, 3)) if texts else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _given(table: Any, place: int) -> list[Any]:
    """The values of a column as they are given."""
    if isinstance(table, np.ndarray):
        return list(table[:, place].tolist())
    return list((table.iloc[:, place] if is_pandas(table) else table.get_columns()[place]).to_list())


def _levels(table: Any, place: int, column: Column, codes: FloatArray, strange: BoolArray) -> dict[str, int]:
    """The levels in the marked rows, the most frequent first, and how many rows have each."""
    if not strange.any():
        return {}
    given, rows = _given(table, place), np.flatnonzero(strange).tolist()
    known = dict(enumerate(column.levels))
    return dict(Counter(known.get(int(codes[row]), str(given[row])) for row in rows).most_common())
