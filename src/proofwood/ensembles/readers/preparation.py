"""Run the fitted steps before a model on constructed tables, to see the result for each value.

The results of imputers, encoders and scalers are not recomputed here: the fitted steps are run, on tables whose column
types are those of the user's rows. Two resulting numbers count as equal if they are on the same *side* of every
threshold of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from proofwood.data.frames import is_frame, is_pandas, is_polars
from proofwood.ensembles.forest import ScoredTree
from proofwood.ensembles.readers.number_types import NumberType
from proofwood.ensembles.readers.reading import Adapted, absent, as_numbers, columns_of
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.exceptions import DataError
from proofwood.model.node_table import LEAF, FloatArray, IntArray

BLOCK = 2**23
"""Number of entries of a matrix that is computed at once."""

FEW = 3
"""Columns with at most this many thresholds are compared threshold by threshold, all columns at once."""


class StepsRefuseError(Exception):
    """Raised if the steps of a pipeline refuse a table; its text is their error, in one line."""


# The steps are run because a second computation would be right only for the types and releases that we considered:
# decisions/0054-steps-are-asked.
@dataclass(frozen=True, eq=False)
class Preparation:
    """Fitted steps, the columns of their input, and the model after them.

    Parameters
    ----------
    steps : the steps, in order
    names : names of the columns in the steps; None if they store no names
    n_columns : number of columns of the input
    core : the model after the steps
    told : the thresholds and codes that the model tests in the columns that it gets
    absent_missing : whether the model reads omitted entries of a sparse matrix as missing values, and not as 0
    types : number type of each column, by its NumPy name; None if all are float64
    values : by categorical column, its values in the order of their codes
    typed : categorical columns that need the pandas type for categories, because the model asks for it
    objects : whether frames hold numbers as objects, because the model was fitted on such columns
    base : by column, a value that no step refuses
    """

    steps: tuple[Any, ...]
    names: tuple[str, ...] | None
    n_columns: int
    core: Adapted
    told: Told
    absent_missing: bool = False
    types: tuple[str, ...] | None = None
    values: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    typed: frozenset[int] = frozenset()
    objects: bool = False
    base: Mapping[int, Any] = field(default_factory=dict)

    # --------------------------------------------------------------------------------------------------- what comes out

    def made(self, X: Any) -> Any:
        """The result of all steps for a table."""
        return made_by(self.steps, X)

    def matrix(self, X: Any) -> FloatArray:
        """(n_rows, n_columns of the model) the result of the steps: numbers, and codes in the model's own categories.

        Raises
        ------
        DataError
            If a sparse matrix stores a 0, and the model reads omitted entries as missing values.
        StepsRefuseError
            If the steps raise an error.
        """
        try:
            made = self.made(X)
        except Exception as error:
            told = str(error).splitlines()
            raise StepsRefuseError(f"{type(error).__name__}: {told[0][:300] if told else ''}") from error
        if sparse.issparse(made):
            if self.absent_missing and (made.data == 0).any():
                raise DataError(
                    "a step of the pipeline stores a 0 in a sparse matrix. XGBoost reads stored zeros as 0, but "
                    "omitted zeros as missing values: make dense columns (sparse_threshold=0, sparse_output=False)"
                )
            made = np.asarray(made.toarray(), dtype=np.float64)
        return self.core.read(made) if self.core.categories else _as_matrix(made)

    def sides(self, X: Any) -> IntArray:
        """(n_rows, n_columns of the model) the sides of the results, see :class:`Told`; computed in blocks of rows."""
        parts = [self.told.of(self.matrix(part)) for part in _blocks(X, max(1, len(self.core.inputs)))]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.core.inputs)), dtype=np.int32)

    # -------------------------------------------------------------------------------------------------- what goes in

    def container(self, columns: Mapping[int, npt.NDArray[Any]], n_rows: int) -> Any:
        """A table for the steps; a column that is not in ``columns`` gets its value from ``base``.

        Parameters
        ----------
        columns : by column, (n_rows,) its values; numbers are cast to the type of the column
        n_rows : number of rows
        """
        every: list[npt.NDArray[Any]] = []
        for j in range(self.n_columns):
            given = columns.get(j)
            if given is None:
                given = as_column([self.base.get(j, 0.0)] * n_rows)
            if self.types is not None and j not in self.values and given.dtype.kind == "f":
                given = NumberType(self.types[j]).cast(given)
            every.append(given)
        if self.names is None:
            if all(column.dtype.kind in "biuf" for column in every):
                types = [column.dtype for column in every]
                whole = np.result_type(*types) if self.types is not None else np.dtype(np.float64)
                return np.stack([column.astype(whole) for column in every], axis=1)
            table = np.empty((n_rows, self.n_columns), dtype=object)
            for j, column in enumerate(every):
                table[:, j] = list(column) if column.dtype.kind in "mM" else column.tolist()
            return table
        return self._frame(every)

    def _frame(self, columns: Sequence[npt.NDArray[Any]]) -> Any:
        assert self.names is not None
        try:
            import pandas as pd  # optional: frames of polars do as well
        except ImportError:
            import polars as pl  # start-up time: only where pandas is absent

            return pl.DataFrame({n: _for_polars(c) for n, c in zip(self.names, columns, strict=True)}, strict=False)
        made = {}
        for j, (name, column) in enumerate(zip(self.names, columns, strict=True)):
            if j in self.typed:
                present = [value for value in (*self.values[j], *column.tolist()) if not absent(value)]
                made[name] = pd.Series(pd.Categorical(column, categories=list(dict.fromkeys(present))))
            else:
                made[name] = pd.Series(column, dtype=object if self.objects else column.dtype)
        return pd.DataFrame(made)

    def table(self, rows: FloatArray, used: Sequence[int]) -> Any:
        """A table for the steps from rows of numbers and codes of the columns ``used``; codes become categories."""
        columns = {}
        for at, j in enumerate(used):
            if j in self.values:
                columns[j] = self._categories(rows[:, at], j)
            else:
                columns[j] = rows[:, at]
        return self.container(columns, len(rows))

    def _categories(self, codes: FloatArray, j: int) -> npt.NDArray[Any]:
        values = self.values[j]
        whole = np.where(np.isnan(codes) | (codes < 0), len(values), np.minimum(codes, len(values))).astype(np.int64)
        present, back = np.unique(whole, return_inverse=True)
        chosen = [values[code] if code < len(values) else np.nan for code in present.tolist()]
        return as_column(chosen, like=values)[back]


@dataclass(frozen=True, eq=False)
class Told:
    """The differences that matter to a model: the side of a number is its position among the model's thresholds.

    Parameters
    ----------
    thresholds : for each column, the thresholds of its tests, ascending; empty if the column has no such tests
    coded : for each column, whether it holds codes
    """

    thresholds: tuple[FloatArray, ...]
    coded: tuple[bool, ...]

    @classmethod
    def of_core(cls, core: Adapted, *, zero: bool) -> Told:
        """The thresholds of a model's trees; if ``zero``, also two around 0, which may mean a missing value."""
        found: list[list[FloatArray]] = [[np.array([-5e-324, 0.0])] * zero for _ in core.inputs]
        for feature, values in enumerate(thresholds_of(core.forest.trees, core.forest.n_columns)):
            found[core.sources[feature].column].append(values)
        return cls(
            tuple(np.unique(np.concatenate([[], *parts])) for parts in found),
            tuple(j in core.categories for j in range(len(core.inputs))),
        )

    def of(self, matrix: FloatArray) -> IntArray:
        """(n_rows, n_columns) the side of each number; a code is its own side, and a missing value has side -1."""
        sides = np.zeros(matrix.shape, dtype=np.int32)
        few = np.array([t.size <= FEW and not coded for t, coded in zip(self.thresholds, self.coded, strict=True)])
        if few.any():  # columns of one-hot encoders are many: all at once
            padded = [np.append(self.thresholds[i], [np.inf] * FEW)[:FEW] for i in np.flatnonzero(few)]
            values = matrix if few.all() else matrix[:, few]
            above = sum((values > threshold for threshold in np.array(padded).T), np.zeros(values.shape, np.int32))
            above[np.isnan(values)] = -1
            sides[:, few] = above
        for i in np.flatnonzero(~few).tolist():
            thresholds, values = self.thresholds[i], matrix[:, i]
            if self.coded[i]:
                sides[:, i] = np.where(np.isnan(values), -1, values)
            else:
                sides[:, i] = np.where(np.isnan(values), -1, np.searchsorted(thresholds, values))
        return sides.astype(np.int64, copy=False)


def thresholds_of(trees: Sequence[ScoredTree], n_columns: int) -> list[FloatArray]:
    """For each column of a forest, its distinct thresholds, ascending; tests of codes have no threshold."""
    parts: list[list[FloatArray]] = [[] for _ in range(n_columns)]
    for tree in trees:
        inner = (tree.feature != LEAF) & ~np.isnan(tree.threshold)
        order = np.argsort(tree.feature[inner], kind="stable")
        features, values = tree.feature[inner][order], tree.threshold[inner][order]
        names, starts = np.unique(features, return_index=True)
        for name, start in zip(names, starts, strict=True):
            parts[name].append(values[start : start + np.searchsorted(features[start:], name, side="right")])
    return [np.unique(np.concatenate([np.zeros(0), *mine])) for mine in parts]


def _blocks(X: Any, width: int) -> Iterator[Any]:
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    size = max(1, BLOCK // width)
    if n <= size:
        yield X
        return
    for start in range(0, n, size):
        yield X.iloc[start : start + size] if is_pandas(X) else X[start : start + size]


def _as_matrix(made: Any) -> FloatArray:
    """The numbers of a frame or an array, with NaN for missing values."""
    if is_frame(made) and not is_pandas(made) and not is_polars(made):
        made = made.to_numpy()
    plain = is_pandas(made) and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in made.dtypes)
    if not is_frame(made) or plain:
        array = np.asarray(made)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=np.float64)
    names = tuple(str(k) for k in range(made.shape[1]))
    if is_pandas(made):
        columns = [made.iloc[:, k] for k in range(made.shape[1])]
    elif is_polars(made):
        columns = made.get_columns()
    else:
        columns = columns_of(made, names)
    return np.stack([as_numbers(column, name) for column, name in zip(columns, names, strict=True)], axis=1)


# --------------------------------------------------------------------------------------------------------------- values


def as_column(values: Sequence[Any], like: Sequence[Any] = ()) -> npt.NDArray[Any]:
    """The values of one column as an array of the type that a table would use: numbers, dates, or objects.

    Parameters
    ----------
    values : (n_rows,) of any type
    like : further values of the column; if these are objects, the result is an array of objects
    """
    known = as_column(like).dtype if like else None
    if known is not None and known.kind == "O":
        return _objects(values)
    present = [value for value in values if not absent(value)]
    if not present and known is not None and known.kind in "mM":
        return np.full(len(values), "NaT", dtype=known)
    gaps = len(present) < len(values)
    kinds = {_kind(value) for value in present}
    if kinds == {"integer"} and not gaps and all(abs(int(value)) < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    none = any(value is None or type(value).__name__ == "NAType" for value in values)
    if kinds <= {"integer", "float"} and not none:
        return np.array([math.nan if absent(value) else float(value) for value in values])
    if kinds == {"date"} and not none:
        units = [value.dtype for value in present if isinstance(value, np.datetime64)]
        if len(units) == len(present):
            gap = np.datetime64("NaT")
            return np.array([gap if absent(value) else value for value in values], dtype=max(units))
    return _objects(values)


def _objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):  # one by one: some are sequences
        made[at] = value
    return made


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "integer"
    if isinstance(value, float | np.floating):
        return "float"
    return "date" if isinstance(value, np.datetime64) else "other"


def _for_polars(column: npt.NDArray[Any]) -> Any:
    return column.tolist() if column.dtype == object else column


def unknown_to(values: Sequence[Any]) -> list[Any]:
    """Some values that differ from the given categories; those of the same type come first."""
    present = [value for value in values if not absent(value)]
    kinds = {_kind(value) for value in present}
    found: list[Any] = []
    if kinds and kinds <= {"integer", "float"}:
        largest, least = max(present), min(present)
        found += [int(largest) + 1, int(least) - 1] if kinds == {"integer"} else [largest + 1, least - 1, largest / 3]
    elif kinds == {"bool"}:
        found += [next((value for value in (True, False) if value not in present), 2), "(unknown)"]
    elif kinds == {"date"}:
        day = np.timedelta64(1, "D")
        found += [max(present) + day, min(present) - day]
    elif present and not isinstance(present[0], str):
        found += _later(present)
    text = "(unknown)"
    while text in present:
        text += "?"
    found.append(text)
    return [value for value in found if not any(type(value) is type(one) and value == one for one in present)]


def _later(present: Sequence[Any]) -> list[Any]:
    """A day after the last and a day before the first of some dates; empty if the values are not dates."""
    from datetime import timedelta  # start-up time: few pipelines have dates as categories

    try:
        return [max(present) + timedelta(days=1), min(present) - timedelta(days=1)]
    except (TypeError, OverflowError):
        return []


def made_by(steps: Sequence[Any], X: Any) -> Any:
    """The result of fitted steps, applied one after the other to a table."""
    with np.errstate(all="ignore"):
        for step in steps:
            X = unnamed(step.transform, X)
    return X


def alike_in_sparse(steps: Sequence[Any], n_columns: int) -> bool:
    """Whether steps return the same numbers for a sparse matrix as for an array, bit for bit.

    Scalers of scikit-learn divide the numbers of an array, but multiply those of a sparse matrix by the reciprocal.
    """
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((200, n_columns)) < 0.5, 0.0, rng.lognormal(0.0, 3.0, (200, n_columns)))
    made = []
    for probe in (sparse.csr_matrix(rows), rows):
        try:
            found = made_by(steps, probe)
        except Exception:  # noqa: BLE001 - steps refuse such a container, and are never asked about it
            return True
        made.append(np.asarray(found.toarray() if sparse.issparse(found) else found))
    return bool(np.array_equal(made[0], made[1]))
