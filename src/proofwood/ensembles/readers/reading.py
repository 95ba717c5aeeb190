"""The result of a reader: a model as a forest, its columns, and functions that read the rows of a table for it.

Below: what readers share, from rows of numbers and categories to class codes of predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import read_columns
from proofwood.data.frames import is_frame, is_pandas
from proofwood.data.kinds import Kind, Taken
from proofwood.ensembles.forest import Forest, Link
from proofwood.ensembles.readers.given import Header
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.printable import shown


@dataclass(frozen=True, eq=False)
class Adapted:
    """A model as a forest over columns that come from the columns of a table.

    Parameters
    ----------
    forest : the forest, over the model's columns
    inputs : the columns of the table
    sources : for each model column, where it comes from
    read : function from the user's rows to (n_rows, n_inputs) float64; it checks names and numbers, not values
    predict : function from (n_rows, n_inputs) rows as ``read`` returns them to the class codes of the fitted model
    output : function from the same rows to numbers or probabilities, see :class:`Forest`; None if ``forest.output`` is
        None
    unknown_missing : whether the model treats unknown categories as missing, in columns that may lack values
    filled : function from the user's rows to (n_rows, n_inputs) truth values: whether ``read`` gives a number that a
        step of a pipeline filled in for a missing value; None if no step fills in numbers
    categories : by input, the values of its categories in the order of their codes, if they differ from its ``levels``
    suits : function that says whether the user's rows have the number types for which the model was read; None if
        number types make no difference
    table : function from (n_rows, n_inputs) rows as ``read`` returns them to rows for the model; None if it takes
        these rows
    model : the fitted model that takes these rows; None if no model can be called on them
    header : the columns of the table that the model takes
    ask : function from the user's rows to the model's own predictions, class codes or numbers; None if it cannot
        predict rows. If a reader leaves it out, :func:`proofwood.ensembles.door.completed` uses ``model.predict``
    ask_output : function from the user's rows to the model's own numbers or probabilities
    dressed : function from a pandas frame with the model's column names to the same frame, with its categories in the
        type that the model needs; None if it needs no special type
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
        """Whether every column is a number that the trees test unchanged."""
        return self.table is None and all(
            given.kind is Kind.NUMERIC and given.shown_as is None and source == Source(j)
            for j, (given, source) in enumerate(zip(self.inputs, self.sources, strict=True))
        )


def taken_by(adapted: Adapted) -> dict[int, Taken]:
    """How to read the cells of an untyped file, by the index of each table column that reaches the model."""
    assert adapted.header is not None
    found = (adapted.categories.get(j, given.levels) for j, given in enumerate(adapted.inputs))
    return dict(zip(adapted.header.reaching, map(Taken, found), strict=True))


def plain(forest: Forest, feature_names: Sequence[str] | None) -> Adapted:
    """The adapted model for a forest that takes the numbers of the table unchanged."""
    names = column_names(forest.names, forest.n_columns, feature_names)
    inputs = tuple(Input(name, for_missing=forest.for_missing.get(j)) for j, name in enumerate(names))
    sources = tuple(Source(j) for j in range(len(names)))
    read = partial(numbers, names=names)
    return Adapted(forest, inputs, sources, read, forest.predict, output=forest.output)


def column_names(known: Sequence[str] | None, n_columns: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the columns: those in ``given``, else those in ``known``, else x0, x1, ..."""
    if given is not None:
        names = tuple(str(name) for name in given)
        if len(names) != n_columns:
            raise ValueError(f"feature_names has {len(names)} names, but the model takes {n_columns} columns")
    else:
        names = tuple(f"x{j}" for j in range(n_columns)) if known is None else tuple(str(name) for name in known)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"feature names must differ, but {repeated[0]!r} occurs more than once: rename one")
    return names


def numbers(X: Any, names: Sequence[str]) -> FloatArray:
    """A table of numbers as float64 columns in the order of ``names``; a frame is read by name."""
    if not isinstance(X, np.ndarray) and is_frame(X):
        columns = read_columns(in_order(X, names))
        for column in columns.columns:
            if column.kind in (Kind.NOMINAL, Kind.ORDERED):
                raise DataError(f"column {column.name!r} holds text or categories, but this model takes only numbers")
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
    """(n_rows, n_columns) the numbers of a table, and codes for its categories.

    An unknown category gets the code after the last one.

    Parameters
    ----------
    X : table of numbers and categories
    names : names of its columns
    known : by column, its categories in the order of their codes; a missing value may be one of them
    """
    columns = columns_of(X, names)
    result = np.empty((len(columns[0]), len(names)))
    for j, column in enumerate(columns):
        result[:, j] = codes_among(column, known[j]) if j in known else as_numbers(column, names[j])
    return result


def codes_among(column: Any, values: Sequence[Any]) -> FloatArray:
    """(n_rows,) codes of the values of a column.

    An unknown value gets the code after the last one. A missing value gets NaN if it is not one of ``values``.

    Parameters
    ----------
    column : column of a table, see :func:`columns_of`
    values : categories in the order of their codes; a missing value may be one of them, and then all kinds of missing
        values get its code
    """
    codes = code_table(values)
    gap = next((float(code) for code, value in enumerate(values) if absent(value)), np.nan)
    for kind in ("none", "nan"):
        codes.setdefault(("gap", kind), gap)
    return coded_by(column, codes, float(len(values)))


def code_table(values: Sequence[Any]) -> dict[Any, float]:
    """The code of each category, by the key of the category.

    If only one of 0 and false is a category, both have its code. The same is true of 1 and true.
    """
    codes = {key_of(value): float(code) for code, value in reversed(list(enumerate(values)))}
    for (kind, value), code in list(codes.items()):
        if kind == "bool":
            codes.setdefault(("value", value), code)
        elif kind == "value" and not isinstance(value, str) and value in (0, 1):
            codes.setdefault(("bool", bool(value)), code)
    return codes


def coded_by(column: Any, codes: Mapping[Any, float], last: float) -> FloatArray:
    """(n_rows,) the code of each value of a column, found by its key; ``last`` if ``codes`` has no such key."""
    texts = {value: code for (_, value), code in codes.items() if isinstance(value, str)}
    values = as_objects(column)
    return np.array(
        [texts.get(value, last) if type(value) is str else codes.get(key_of(value), last) for value in values],
        dtype=np.float64,
    )


def columns_of(X: Any, names: Sequence[str], needed: Set[int] | None = None) -> list[Any]:
    """The columns of a table as pandas or polars series, or as arrays; the columns of a frame are found by name.

    Parameters
    ----------
    X : pandas or polars frame, or array-like
    names : names of all columns that the model takes
    needed : indices of the required columns; by default all. If it is given, a frame may lack the other columns, for
        which the result has None, and may have further columns

    Raises
    ------
    DataError
        If a required column is missing, or the number of columns is wrong.
    """
    if is_frame(X):
        frame = in_order(X, names) if needed is None else X
        present = [str(name) for name in frame.columns]
        absent_names = [names[j] for j in sorted(needed or ()) if names[j] not in present]
        if absent_names:
            raise DataError(f"the frame lacks the columns {shown(absent_names)}: the model takes {shown(names)}")
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
    """(n_rows,) the numbers of a column, NaN for missing values; DataError if a value is not a number."""
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
                f"column {name!r} holds {value!r} in row {row}, which is not a number: the model takes only numbers in "
                "this column"
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
    """The values of each column of a table, unchanged; the columns of a frame are found by name."""
    return [as_objects(column) for column in columns_of(X, names)]


def absent(value: Any) -> bool:
    """Whether a value of a table is missing: None, nan, or the missing values of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array is not a missing value
        return False


def key_of(value: Any) -> tuple[str, Any]:
    """A key of a value; values with equal keys are the same category.

    None and nan have different keys, and so do True and 1. Equal dates of different types have the same key.
    """
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
    """The values that are not among the known categories, each once."""
    seen = {key_of(value) for value in known}
    keys = {key_of(value): value for value in reversed(list(values))}
    return [value for key, value in reversed(keys.items()) if key not in seen]


def _moment(value: Any) -> Any:
    """A date in a form that equals the same date of any other type."""
    if type(value) is date:
        return value
    try:
        import pandas as pd  # optional: without it all dates are of Python's own type

        return pd.Timestamp(value)
    except (ImportError, ValueError):  # outside the range of pandas
        return value.astype(object) if isinstance(value, np.datetime64) else value


def in_order(X: Any, names: Sequence[str]) -> Any:
    """A frame with exactly the columns ``names``, in this order; DataError if one is missing or unknown."""
    present = [str(name) for name in X.columns]
    absent = [name for name in names if name not in present]
    unknown = [name for name in present if name not in names]
    if absent or unknown:
        faults = [f"lacks the columns {shown(absent)}"] if absent else []
        faults += [f"has the unknown columns {shown(unknown)}"] if unknown else []
        raise DataError(f"the frame {' and '.join(faults)}: the model takes {shown(names)}")
    return X[[X.columns[present.index(name)] for name in names]]


def kinds_from(table: Any, inputs: Sequence[Input], columns: Sequence[int]) -> tuple[Input, ...]:
    """The inputs, marked as integer or boolean if the columns of the table have these types.

    Parameters
    ----------
    table : a frame or an array-like with the columns of the model
    inputs : the columns that reach the model
    columns : the index of each of them in the table
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
    """The kinds of columns by their declared types: integer, boolean, or numeric.

    A pandas column of type ``object`` declares no type. It is boolean or integer if it holds only such values and
    missing values.

    Parameters
    ----------
    table : a frame or an array-like with the columns of the model
    columns : indices of columns in it
    """
    if isinstance(table, np.ndarray):
        return [_kind_of_dtype(table.dtype)] * len(columns)
    if is_pandas(table):
        return [_kind_of_column(table.iloc[:, j]) for j in columns]
    if is_frame(table):
        return [_kind_of_polars(table.dtypes[j]) for j in columns]
    return [Kind.NUMERIC] * len(columns)


def _kind_of_column(column: Any) -> Kind:
    """The kind of a pandas column."""
    if column.dtype != object:
        return _kind_of_dtype(column.dtype)
    from pandas.api.types import infer_dtype  # the column is one of it

    return {"boolean": Kind.BOOLEAN, "integer": Kind.INTEGER}.get(infer_dtype(column, skipna=True), Kind.NUMERIC)


def _kind_of_dtype(dtype: Any) -> Kind:
    """The kind of a numpy data type, or of a pandas extension type."""
    letter = getattr(dtype, "kind", "O")
    return {"i": Kind.INTEGER, "u": Kind.INTEGER, "b": Kind.BOOLEAN}.get(letter, Kind.NUMERIC)


def _kind_of_polars(dtype: Any) -> Kind:
    if str(dtype) == "Boolean":
        return Kind.BOOLEAN
    whole = dtype.is_integer() or (dtype.is_decimal() and dtype.scale == 0)
    return Kind.INTEGER if whole else Kind.NUMERIC


def _kinds(table: Any, columns: Sequence[int]) -> list[Kind]:
    """The kinds of some columns, from the types of a frame's columns or from the type of an array."""
    if is_frame(table):
        names = [str(name) for name in table.columns]
        idle = {name for j, name in enumerate(names) if j not in columns}
        read = read_columns(table, skip=idle).columns
        return [read[j].kind for j in columns]
    return [_kind_of_dtype(table.dtype)] * len(columns)


# -------------------------------------------------------------------------------------------------------- predictions


def codes_of(labels: Any, classes: npt.NDArray[Any]) -> IntArray:
    """The position of each label among the classes; -1 if a label is not a class."""
    position = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    return np.array([position.get(label, -1) for label in np.asarray(labels).ravel().tolist()], dtype=np.int64)


def codes_from(call: Callable[[Any], Any], classes: npt.NDArray[Any], X: Any) -> IntArray:
    """(n_rows,) class codes of the labels that ``call`` returns for rows."""
    return codes_of(call(X), classes)


def floats_from(call: Callable[[Any], Any], X: Any) -> FloatArray:
    """(n_rows,) or (n_rows, n_classes) the numbers that ``call`` returns for rows, in float64."""
    return np.asarray(call(X), dtype=np.float64)


def column_of(call: Callable[[Any], Any], target: int, X: Any) -> FloatArray:
    """(n_rows,) column ``target`` of the numbers that ``call`` returns for rows, in float64."""
    given = floats_from(call, X)
    return given.reshape(len(given), -1)[:, target]


def both_sides(call: Callable[[Any], FloatArray], X: Any) -> FloatArray:
    """(n_rows, 2) probabilities of two classes, if ``call`` returns those of the second class."""
    yes = call(X)
    return np.stack([1 - yes, yes], axis=1)


def beyond_half(call: Callable[[Any], FloatArray], X: Any) -> IntArray:
    """(n_rows,) 1 for rows for which ``call`` returns more than 0.5, else 0."""
    return np.asarray(call(X) > 0.5, dtype=np.int64)


def greatest(call: Callable[[Any], Any], X: Any) -> IntArray:
    """(n_rows,) the index of the first greatest number of each row; codes (n_rows,) are returned unchanged."""
    given = np.asarray(call(X))
    return np.asarray(given.argmax(axis=1) if given.ndim == 2 else given, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Sums:
    """How an XGBoost or CatBoost model turns its sums into predictions.

    Parameters
    ----------
    places : (n_outputs,) for each sum of the model, its index among the scores here; -1 if the sum is not used
    base : (n_scores,) scores before any tree
    cut : a single sum above this number predicts the second class; 0 for all other kinds
    classes : the labels; empty for a number
    link : the link of a number, or of the probability of two classes; else None
    kind : "number"; "binary", two classes by one sum; "label", one label of several; "classes", one sum per class; or
        "one of two", a softmax of two classes, each of which XGBoost's scikit-learn class treats as a separate label
    target : number of the output that is read
    """

    places: IntArray
    base: FloatArray
    cut: float
    classes: npt.NDArray[Any]
    link: Link | None
    kind: str
    target: int
