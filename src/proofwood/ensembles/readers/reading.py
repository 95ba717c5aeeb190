"""How the rows of a model are read, and what its columns mean, before any statement of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import is_frame, is_pandas, read_columns
from proofwood.data.kinds import Kind, Taken
from proofwood.ensembles.forest import Forest
from proofwood.ensembles.readers.given import Header
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.printable import shown


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
    categories : per input the values of its categories in the order of their codes, where they are not its ``levels``
    suits : rows as the user has them -> whether they are of the types of numbers that the model was read for; None
        where these make no difference
    table : (n_rows, n_inputs) as ``read`` gives them -> rows as the model takes them; None if it takes these numbers
    model : the fitted model that takes these rows; None where nobody can be asked
    header : the columns of the table that the model takes
    ask : rows as the user has them -> what the model itself says of them: class codes, or numbers; None where it
        predicts no rows. :func:`proofwood.ensembles.door.completed` takes ``model.predict`` where a reader says
        nothing
    ask_output : the same for what the model gives beside classes
    dressed : a frame of pandas with the names of the model -> the same with its categories in the type that the model
        asks for; None where it asks for none
    """

    forest: Forest
    inputs: tuple[Input, ...]
    sources: tuple[Source, ...]
    read: Callable[[Any], FloatArray]
    predict: Callable[[FloatArray], npt.NDArray[Any]]
    unknown_missing: bool = True
    output: Callable[[FloatArray], FloatArray] | None = None
    filled: Callable[[Any], BoolArray] | None = None
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    suits: Callable[[Any], bool] | None = None
    table: Callable[[FloatArray], Any] | None = None
    model: Any = None
    header: Header | None = None
    ask: Callable[[Any], npt.NDArray[Any]] | None = None
    ask_output: Callable[[Any], npt.NDArray[Any]] | None = None
    dressed: Callable[[Any], Any] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every column is a number that the trees test as it is."""
        return self.table is None and all(
            given.kind is Kind.NUMERIC and given.shown_as is None and source == Source(j)
            for j, (given, source) in enumerate(zip(self.inputs, self.sources, strict=True))
        )


def taken_by(adapted: Adapted) -> dict[int, Taken]:
    """How the cells of files without types are read, for each column of the table that reaches the model."""
    assert adapted.header is not None
    found = (adapted.categories.get(j, given.levels) for j, given in enumerate(adapted.inputs))
    return dict(zip(adapted.header.reaching, map(Taken, found), strict=True))


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
) -> FloatArray:
    """Numbers as they are, and categories as codes; a category that is not known gets the code after the last.

    Parameters
    ----------
    X : table of numbers and categories
    names : of its columns
    known : categories of a column, in the order of their codes; a missing value may be one of them
    """
    columns = columns_of(X, names)
    result = np.empty((len(columns[0]), len(names)))
    for j, column in enumerate(columns):
        result[:, j] = codes_among(column, known[j]) if j in known else as_numbers(column, names[j])
    return result


def codes_among(column: Any, values: Sequence[Any]) -> FloatArray:
    """(n_rows,) codes of the values of a column; that after the last where one is not known, NaN for a missing one.

    Parameters
    ----------
    column : of a table, see :func:`columns_of`
    values : categories in the order of their codes; a missing value may be one of them, whatever its kind
    """
    codes = code_table(values)
    gap = next((float(code) for code, value in enumerate(values) if absent(value)), np.nan)
    for kind in ("none", "nan"):
        codes.setdefault(("gap", kind), gap)
    return coded_by(column, codes, float(len(values)))


def code_table(values: Sequence[Any]) -> dict[Any, float]:
    """The code of each category by its key; 0 and 1 stand for false and true, and these for them."""
    codes = {key_of(value): float(code) for code, value in reversed(list(enumerate(values)))}
    for (kind, value), code in list(codes.items()):
        if kind == "bool":
            codes.setdefault(("value", value), code)
        elif kind == "value" and not isinstance(value, str) and value in (0, 1):
            codes.setdefault(("bool", bool(value)), code)
    return codes


def coded_by(column: Any, codes: Mapping[Any, float], last: float) -> FloatArray:
    """(n_rows,) codes of the values of a column by their keys; ``last`` for all others."""
    texts = {value: code for (_, value), code in codes.items() if isinstance(value, str)}
    values = as_objects(column)
    return np.array(
        [texts.get(value, last) if type(value) is str else codes.get(key_of(value), last) for value in values],
        dtype=np.float64,
    )


def columns_of(X: Any, names: Sequence[str], needed: Set[int] | None = None) -> list[Any]:
    """The columns of a table as its container has them: series of pandas or polars, or arrays; a frame is read by name.

    Parameters
    ----------
    X : frame of pandas or polars, or array-like
    names : of all columns that the model takes
    needed : indices of those that have to be there; all of them by default. A frame may lack others, and have further
        ones; what it lacks is None

    Raises
    ------
    DataError
        If columns are not there, or another number of them.
    """
    if is_frame(X):
        frame = in_order(X, names) if needed is None else X
        present = [str(name) for name in frame.columns]
        absent_names = [names[j] for j in sorted(needed or ()) if names[j] not in present]
        if absent_names:
            raise DataError(f"the frame lacks {shown(absent_names)}: the model takes {shown(names)}")
        place = {name: at for at, name in enumerate(present)}
        if len(place) < len(present):
            repeated = next(name for name in present if present.count(name) > 1)
            raise DataError(f"the frame has more than one column {repeated!r}: rename one")
        at = [place.get(name) for name in names]
        if is_pandas(frame):
            return [None if k is None else frame.iloc[:, k] for k in at]
        return [None if k is None else frame.to_series(k) for k in at]
    table = X if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" else np.asarray(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing
        table = np.ma.filled(X.astype(np.float64), np.nan)
    if table.ndim != 2:
        raise DataError(f"X has shape {table.shape}: expected (n_rows, n_columns). For one row, pass X.reshape(1, -1).")
    if table.shape[1] != len(names):
        raise DataError(f"X has {table.shape[1]} columns, but the model takes {len(names)}: {shown(names)}")
    return list(table.T)


def as_numbers(column: Any, name: str) -> FloatArray:
    """(n_rows,) numbers of a column, NaN where missing; DataError if a value is not a number."""
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return np.asarray(column, dtype=np.float64)
    values = as_objects(column)
    found = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            found[row] = np.nan if absent(value) else float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"column {name!r} holds {value!r} in row {row}, which is not a number: expected numbers, as the model "
                "takes"
            ) from None
    return found


def as_objects(column: Any) -> list[Any]:
    """The values of a column as plain Python objects; dates stay dates."""
    if isinstance(column, np.ndarray):
        return list(column) if column.dtype.kind in "mM" else column.tolist()
    if hasattr(column, "to_list") and not hasattr(column, "iloc"):  # a series of polars
        return list(column.to_list())
    return list(column.astype(object).tolist())


def listed(X: Any, names: Sequence[str]) -> list[list[Any]]:
    """The values of each column of a table, as they are; a frame is read by name."""
    return [as_objects(column) for column in columns_of(X, names)]


def absent(value: Any) -> bool:
    """Whether a value of a table is none: None, nan, or what frames have in its place."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array or the like is a value
        return False


def key_of(value: Any) -> tuple[str, Any]:
    """A key of a value; equal keys are one category. None differs from nan and True from 1; dates of any type agree."""
    if absent(value):
        return "gap", "none" if value is None else "nan"
    if isinstance(value, bool | np.bool_):
        return "bool", bool(value)
    if isinstance(value, np.datetime64 | date):
        return "date", _moment(value)
    try:
        hash(value)
    except TypeError:
        return "text", repr(value)
    return "value", value


def others(values: Iterable[Any], known: Iterable[Any]) -> list[Any]:
    """Those of the values, each once, that are not among the known categories."""
    seen = {key_of(value) for value in known}
    keys = {key_of(value): value for value in reversed(list(values))}
    return [value for key, value in reversed(keys.items()) if key not in seen]


def _moment(value: Any) -> Any:
    """A date as what equals it whatever type it has."""
    if type(value) is date:
        return value
    try:
        import pandas as pd  # optional: without it all dates are of Python's own type

        return pd.Timestamp(value)
    except (ImportError, ValueError):  # beyond what pandas can say
        return value.astype(object) if isinstance(value, np.datetime64) else value


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


def kinds_from(table: Any, inputs: Sequence[Input], columns: Sequence[int]) -> tuple[Input, ...]:
    """The inputs, with integers and booleans where rows have columns of these types.

    Parameters
    ----------
    table : a frame or an array-like with the columns of the model
    inputs : columns of it that reach the model
    columns : place of each of them in the table
    """
    if not is_frame(table) and not isinstance(table, np.ndarray):
        return tuple(inputs)
    kinds = _kinds(table, columns)
    result = []
    for given, kind in zip(inputs, kinds, strict=True):
        if given.kind is Kind.NUMERIC and kind is Kind.INTEGER:
            given = replace(given, kind=Kind.INTEGER)
        elif given.kind is Kind.NUMERIC and kind is Kind.BOOLEAN:
            given = replace(given, kind=Kind.BOOLEAN, low=max(given.low, 0.0), high=min(given.high, 1.0))
        result.append(given)
    return tuple(result)


def kinds_of_types(table: Any, columns: Sequence[int]) -> list[Kind]:
    """What the declared types of columns say: integers, 0 and 1, or any numbers.

    A column of objects of pandas has no type: it is one of truth values or integers where it holds but these and
    missing values.

    Parameters
    ----------
    table : a frame or an array-like with the columns of the model
    columns : places of columns in it
    """
    if is_pandas(table):
        return [_kind_of_column(table.iloc[:, j]) for j in columns]
    if is_frame(table):
        return [_kind_of_polars(table.dtypes[j]) for j in columns]
    kind = _kind_of_dtype(table.dtype) if isinstance(table, np.ndarray) else Kind.NUMERIC
    return [kind] * len(columns)


def _kind_of_column(column: Any) -> Kind:
    """The kind of a column of pandas."""
    if column.dtype != object:
        return _kind_of_dtype(column.dtype)
    from pandas.api.types import infer_dtype  # the column is one of it

    return {"boolean": Kind.BOOLEAN, "integer": Kind.INTEGER}.get(infer_dtype(column, skipna=True), Kind.NUMERIC)


def _kind_of_dtype(dtype: Any) -> Kind:
    """Of numpy, or of an extension of pandas."""
    letter = getattr(dtype, "kind", "O")
    return {"i": Kind.INTEGER, "u": Kind.INTEGER, "b": Kind.BOOLEAN}.get(letter, Kind.NUMERIC)


def _kind_of_polars(dtype: Any) -> Kind:
    if str(dtype) == "Boolean":
        return Kind.BOOLEAN
    whole = dtype.is_integer() or (dtype.is_decimal() and dtype.scale == 0)
    return Kind.INTEGER if whole else Kind.NUMERIC


def _kinds(table: Any, columns: Sequence[int]) -> list[Kind]:
    """What the types of some columns say of them."""
    if is_frame(table):
        names = [str(name) for name in table.columns]
        idle = {name for j, name in enumerate(names) if j not in columns}
        read = read_columns(table, skip=idle).columns
        return [read[j].kind for j in columns]
    found = {"i": Kind.INTEGER, "u": Kind.INTEGER, "b": Kind.BOOLEAN}.get(table.dtype.kind, Kind.NUMERIC)
    return [found] * len(columns)
