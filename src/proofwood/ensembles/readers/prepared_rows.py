"""Read the user's rows in the way in which the steps before a model treat them.

Values are looked up among the categories, and numbers are read unchanged. Then the steps are run on the given rows and
on the rows as read, and the results are compared. An unknown category, or a missing value of another kind, is read as
the known value with the same results. If no value of the space has the same results, the row is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofwood.ensembles.readers.number_types import that_matter, types_of
from proofwood.ensembles.readers.preparation import Preparation, StepsRefuseError, as_column
from proofwood.ensembles.readers.prepared_columns import TableColumn
from proofwood.ensembles.readers.reading import (
    absent,
    as_numbers,
    as_objects,
    code_table,
    coded_by,
    columns_of,
    key_of,
)
from proofwood.exceptions import DataError
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.printable import shown


@dataclass(frozen=True, eq=False)
class ColumnReader:
    """The reader of one column.

    Parameters
    ----------
    column : the column
    codes : codes of categories by their keys; empty for numbers
    sides : (n_codes, n_made) the sides of each category (what the model distinguishes about it); None for numbers
    takes_gaps : whether missing values are accepted
    """

    column: TableColumn
    codes: Mapping[Any, float]
    sides: IntArray | None
    takes_gaps: bool

    @classmethod
    def of(cls, column: TableColumn, sides: IntArray | None, *, takes_gaps: bool) -> ColumnReader:
        """The reader of a column whose categories have the given sides."""
        codes: dict[Any, float] = {}
        if column.is_categories:
            codes = code_table(column.values)
            for value, code in column.aliases:
                codes.setdefault(key_of(value), float(code))
            for kind in ("none", "nan"):  # of another kind than those that are known
                codes.setdefault(("gap", kind), float(len(column.values)) if column.other else math.nan)
        return cls(column, codes, sides, takes_gaps)

    def guess(self, given: Any, name: str) -> FloatArray:
        """(n_rows,) codes or numbers of the values, without running the steps."""
        if self.column.is_categories:
            return coded_by(given, self.codes, float(len(self.column.values)))
        values = as_numbers(given, name)
        return np.where(np.isnan(values), self.column.fill, values)

    def refused(self, values: FloatArray) -> BoolArray:
        """(n_rows,) whether a value is outside the space; ``check_rows`` raises the error about it later."""
        if self.column.is_categories:
            unknown = (values >= len(self.column.values)) & (not self.column.other)
            return np.asarray((np.isnan(values) | unknown) & (not self.takes_gaps))
        outside = (values < self.column.low) | (values > self.column.high)
        return np.asarray(outside | (np.isnan(values) & (not self.takes_gaps)))


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """The reader of rows for a pipeline.

    Parameters
    ----------
    prepared : the steps
    names : names of all columns of the table
    used : indices of the columns that reach the model
    readers : one reader for each of these columns
    computes : whether a step computes with numbers, so that their types matter
    functions : whether a NumPy function gets a column unchanged
    """

    prepared: Preparation
    names: tuple[str, ...]
    used: tuple[int, ...]
    readers: tuple[ColumnReader, ...]
    computes: bool
    functions: bool

    def suits(self, X: Any) -> bool:
        """Whether rows have the number types for which the model was read."""
        if not self.computes:
            return True
        numbers = {j for j in range(len(self.names)) if j not in self.prepared.values}
        given = that_matter(types_of(X, self.names), numbers, functions=self.functions)
        own = self.prepared.types
        if given is None or own is None:
            return given is None and own is None
        return all(one is None or one == other for one, other in zip(given, own, strict=True))

    def read(self, X: Any) -> FloatArray:
        """(n_rows, n_used) the numbers and codes of rows.

        Raises
        ------
        DataError
            If columns are missing, the steps refuse the rows, or the results of a row differ from those of every row in
            the space.
        """
        rows = self._guess(X)
        if not len(rows):
            return rows
        if not self.suits(X):
            raise DataError(self._other_types(X))
        try:
            sides = self._sides(X)
            self._decode(rows, sides)
            if self._refused(rows).any():
                return rows
            again = self.prepared.sides(self.prepared.table(rows, self.used))
        except StepsRefuseError as error:
            if self._refused(rows).any():
                return rows  # check_rows raises a clearer error
            raise DataError(
                f"the steps of the pipeline refuse these rows ({error}): expected columns of the types and categories "
                "that it was fitted with"
            ) from error
        if not np.array_equal(again, sides):
            self._explain_difference(X, rows, again, sides)
        return rows

    def filled(self, X: Any) -> BoolArray:
        """(n_rows, n_used) whether a value is missing and is read as the value that a step fills in."""
        given = columns_of(X, self.names, set(self.used))
        rows = None
        gaps = np.zeros((_length(given, self.used), len(self.used)), dtype=bool)
        for at, (j, reader) in enumerate(zip(self.used, self.readers, strict=True)):
            column = reader.column
            if column.is_categories and column.aliases:
                lacks = np.array([absent(value) for value in as_objects(given[j])])
                lacks |= np.isin(reader.guess(given[j], self.names[j]), [code for _, code in column.aliases]) & _among(
                    given[j], [value for value, _ in column.aliases]
                )
                if lacks.any():
                    rows = self.read(X) if rows is None else rows
                    gaps[:, at] = lacks & np.isin(rows[:, at], [code for _, code in column.aliases])
            elif not column.is_categories and not math.isnan(column.fill):
                gaps[:, at] = np.isnan(as_numbers(given[j], self.names[j]))
        return gaps

    # ----------------------------------------------------------------------------------------------------------- parts

    def _guess(self, X: Any) -> FloatArray:
        given = columns_of(X, self.names, set(self.used))
        rows = np.empty((_length(given, self.used), len(self.used)))
        for at, (j, reader) in enumerate(zip(self.used, self.readers, strict=True)):
            rows[:, at] = reader.guess(given[j], self.names[j])
        return rows

    def _sides(self, X: Any) -> IntArray:
        """The sides of the rows as given; if the steps refuse these, of the same values in a plain table."""
        try:
            return self.prepared.sides(X)
        except StepsRefuseError as error:
            try:
                return self.prepared.sides(self._plain(X))
            except StepsRefuseError:
                raise error from None

    def _plain(self, X: Any) -> Any:
        """The same values in a table of plain types, with the column names of the steps."""
        given = columns_of(X, self.names, set(self.used))
        columns = {}
        for j, reader in zip(self.used, self.readers, strict=True):
            if reader.column.is_categories:
                columns[j] = as_column(as_objects(given[j]), like=reader.column.values)
            else:
                columns[j] = as_numbers(given[j], self.names[j])
        return self.prepared.container(columns, _length(given, self.used))

    def _refused(self, rows: FloatArray) -> BoolArray:
        parts = [reader.refused(rows[:, at]) for at, reader in enumerate(self.readers)]
        return np.any(parts, axis=0) if parts else np.zeros(len(rows), dtype=bool)

    def _decode(self, rows: FloatArray, sides: IntArray) -> None:
        """Correct each code in ``rows`` whose results differ from those of the given value, if another code fits."""
        for at, reader in enumerate(self.readers):
            column = reader.column
            if reader.sides is None:
                continue
            mine = sides[:, column.made]
            codes = np.where(np.isnan(rows[:, at]), -1, rows[:, at]).astype(np.int64)
            inside = (codes >= 0) & (codes < len(reader.sides))
            fits = np.zeros(len(rows), dtype=bool)
            fits[inside] = (reader.sides[codes[inside]] == mine[inside]).all(axis=1)
            gaps = np.isnan(rows[:, at]) & reader.takes_gaps
            unfit = np.flatnonzero(~fits & ~gaps)
            kinds, of_row = np.unique(mine[unfit], axis=0, return_inverse=True)
            for kind, sides_of_kind in enumerate(kinds):
                same = np.flatnonzero((reader.sides == sides_of_kind).all(axis=1))
                if same.size:  # the unknown one before all others
                    rows[unfit[of_row == kind], at] = same[-1] if same[-1] == len(column.values) else same[0]

    def _explain_difference(self, X: Any, rows: FloatArray, again: IntArray, sides: IntArray) -> None:
        row, i = (int(k) for k in np.argwhere(again != sides)[0])
        at = next((at for at, reader in enumerate(self.readers) if i in reader.column.made), 0)
        j, column = self.used[at], self.readers[at].column
        value = as_objects(columns_of(X, self.names, set(self.used))[j])[row]
        read = rows[row, at]
        told = f"the number {read:g}"
        if column.is_categories:
            told = f"the category {column.levels[int(read)]!r}" if read < len(column.levels) else "an unknown category"
        if absent(value):
            told = f"a missing value that is filled with {column.fill:g}" if column.fill == read else "a missing value"
        raise DataError(
            f"column {self.names[j]!r} holds {value!r} ({type(value).__name__}) in row {row}. It is read as {told}, "
            "but the steps of the pipeline return other results for it: give it in the type that it had in training, "
            "and missing values as nan"
        )

    def _other_types(self, X: Any) -> str:
        kinds = self.prepared.types or ("float64",)
        given = [kind for kind in types_of(X, self.names) if kind is not None]
        return (
            f"the columns have the types {shown(sorted(set(given)))}, but the model was read for the types "
            f"{shown(sorted(set(kinds)))}, for which its steps compute other numbers: create the explainer with X= "
            "rows of your types, or convert these rows, for example with X.astype('float64')"
        )


def _length(columns: Sequence[Any], used: Sequence[int]) -> int:
    return next((len(columns[j]) for j in used), 0)


def _among(column: Any, values: Sequence[Any]) -> BoolArray:
    keys = {key_of(value) for value in values}
    return np.array([key_of(value) in keys for value in as_objects(column)], dtype=bool)
