"""Reading of training data and new rows: numeric columns, labels of one kind and weights, or an error.

An error says what to do.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from proofwood.data.columns import require_no_infinity
from proofwood.data.frames import as_dense, as_frame, is_frame, is_pandas, is_sparse
from proofwood.data.targets import require_classes
from proofwood.estimators.parameters import finite
from proofwood.exceptions import DataError, DataWarning
from proofwood.hints import About, Hint
from proofwood.language import gettext
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.model.sums import exact_sums
from proofwood.printable import cut, shown
from proofwood.problem.objectives import checked_weights, simple_fraction, weight_products

ClassWeight = str | Mapping[Any, float] | None

_NAMES_BY_PROTOCOL = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)
_LABELS = (
    "expected integers, booleans, text, or dates of numpy (datetime64). "
    "Turn them into text, for example with [str(label) for label in y]"
)

# ------------------------------------------------------------------------------------------------------------- tables


def features_and_labels(X: Any, y: Any, *, several: bool = False, labels: bool = True) -> tuple[Any, Any]:
    """Rows and labels, the latter taken out of ``X`` if ``y`` is the name of one of its columns.

    With ``several``, a row has several targets, and ``y`` may be a list of names of columns. Without ``labels``, the
    column is left as it is.

    Raises
    ------
    DataError
        If ``X`` does not hold rows, or ``y`` is a text, and no column of ``X`` has that name.
    """
    if several and isinstance(y, (list, tuple)) and y and all(isinstance(name, str) for name in y):
        return _split_targets(X, list(y))
    if not several and _is_series(X) and len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1:
        raise DataError(
            f"X is a series, and y has {y.shape[1]} columns: fit(X, y) takes the rows first, then the labels"
        )
    require_rows(X)
    if not isinstance(y, str):
        return X, y
    if not is_frame(X):
        raise DataError(f"y={y!r} names a column, but X is not a data frame: expected a label for each row")
    from proofwood.data.tables import require_column, split_target  # start-up time: few targets are names

    frame = as_frame(X)
    require_column([str(name) for name in frame.columns], y)
    if is_pandas(frame):
        return frame.drop(columns=y), frame[y]
    return split_target(frame, y) if labels else (frame.drop(y), frame.get_column(y))


def _split_targets(X: Any, names: list[str]) -> tuple[Any, Any]:
    """The other columns of a frame, and the columns ``names``."""
    require_rows(X)
    if not is_frame(X):
        raise DataError(f"y={names!r} names columns, but X is not a data frame: expected targets for each row")
    from proofwood.data.tables import require_column  # start-up time: few targets are names

    frame = as_frame(X)
    for name in names:
        require_column([str(column) for column in frame.columns], name)
    return (frame.drop(columns=names) if is_pandas(frame) else frame.drop(names)), frame[names]


def require_rows(X: Any) -> None:
    """Raise DataError if ``X`` is something that people take for rows: a path, a mapping, a series or a number."""
    if isinstance(X, (str, bytes, os.PathLike)):
        raise DataError(f"X is {cut(repr(X))}: expected rows. Read a file first, for example with pandas.read_csv")
    if isinstance(X, Mapping) and not is_sparse(X):  # sparse matrices of one kind are dicts
        one = all(isinstance(value, str) or not np.iterable(value) for value in X.values())
        raise DataError(f"X is a mapping: expected a frame, such as pandas.DataFrame({'[X]' if one else 'X'})")
    if isinstance(X, list) and X and isinstance(X[0], Mapping):
        raise DataError("X is a list of mappings: expected a frame, such as pandas.DataFrame(X)")
    if _is_series(X):
        raise DataError(
            "X is a series: expected a frame. For one row, pass frame.iloc[[k]]; for one column, frame[['name']]"
        )


def _is_series(X: Any) -> bool:
    """Whether ``X`` is a series of pandas or polars."""
    return hasattr(X, "to_frame") and len(getattr(X, "shape", ())) == 1


def target_name(y: Any) -> str | None:
    """The name of the target: ``y`` if it names a column, or the name of a series; None if it has no name."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return str(name) if isinstance(name, (str, int)) and name != "" else None


def order_hints(X: Any, y: Any) -> list[Hint]:
    """A hint if the indices of a frame and of its labels hold the same rows in another order."""
    other = getattr(y, "index", None)
    if not is_pandas(X) or other is None or callable(other):
        return []
    index = X.index
    if index.equals(other):
        return []
    if len(index) != len(other) or not index.is_unique or not index.isin(other).all():
        return []
    seen = gettext("the index of y has another order than that of X, and rows are matched by their place")
    todo = gettext("pass y.loc[X.index] if the index says which rows belong together")
    return [Hint(About.ORDER, (), seen, todo)]


def training_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    read: Callable[[Any], Any],
    target_of: Callable[[Any], Any],
    *,
    several: bool = False,
) -> tuple[FloatArray, npt.NDArray[Any]]:
    """The training data as float64 columns, with NaN for missing values, and the targets.

    Parameters
    ----------
    estimator : the estimator on which ``n_features_in_`` and ``feature_names_in_`` are set
    X, y : as given to ``fit``
    read : function that turns ``X`` into numbers
    target_of : function that turns ``y`` into targets
    several : whether a row has several targets
    """
    X = as_frame(X) if is_frame(X) else X
    values = read(X)
    labels = None if y is None else target_of(y)
    if isinstance(values, (np.ndarray, list)) and isinstance(labels, (np.ndarray, list)):
        n, given = len(values), len(labels)
        if np.ndim(values) == 2 and n != given:
            what = "labels: pass one label" if target_of is labels_of else "targets: pass one target"
            raise ValueError(f"X has {n} rows and y has {given} {what} for each row")
    if type(X) is np.ndarray and labels is not None and _needs_no_check(values, labels):
        vars(estimator).pop("feature_names_in_", None)  # of an earlier fit
        estimator.n_features_in_ = values.shape[1]
    else:
        values, labels = validate_data(
            estimator, values, labels, dtype=np.float64, ensure_all_finite=False, multi_output=several
        )
    if is_frame(X):
        validate_data(estimator, _with_names(X), reset=True, skip_check_array=True)
    return values, labels


def _needs_no_check(values: Any, labels: Any) -> bool:
    """Whether scikit-learn's check of the training data would neither fail nor change the data."""
    return (
        type(values) is np.ndarray
        and values.dtype == np.float64
        and values.ndim == 2
        and values.size > 0
        and type(labels) is np.ndarray
        and labels.dtype.kind in "biu"
        and labels.shape == values.shape[:1]
    )


def classes_and_codes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """The distinct labels, sorted, and the index of each label among them.

    Raises
    ------
    ValueError
        If the labels are not classes, such as real numbers.
    """
    if labels.dtype.kind not in "biu" or labels.ndim != 1 or labels.size == 0:
        classes, codes = np.unique(labels, return_inverse=True)
        require_classes(labels, classes)
        check_classification_targets(labels)
        return classes, codes.astype(np.int64)
    least, most = int(labels.min()), int(labels.max())
    if most - least > labels.size + 1000:
        classes, codes = np.unique(labels, return_inverse=True)
    else:  # integers close together are counted, not sorted
        unsigned = labels.dtype.kind == "u"  # they may be too large for int64
        above = labels - labels.dtype.type(least) if unsigned else labels.astype(np.int64) - least
        seen = np.bincount(above.astype(np.int64)) > 0
        codes = (np.cumsum(seen) - 1)[above.astype(np.int64)]
        classes = np.empty(np.count_nonzero(seen), dtype=labels.dtype)
        classes[codes] = labels
    require_classes(labels, classes)
    if 2 * classes.size >= labels.size:
        check_classification_targets(labels)  # warns of many classes
    return classes, codes.astype(np.int64)


def new_rows(estimator: BaseEstimator, X: Any, read: Callable[[Any], Any]) -> FloatArray:
    """The float64 columns of new rows, with NaN for missing values, checked against the training columns.

    Parameters
    ----------
    estimator : fitted estimator
    X : as given to ``predict``
    read : function that turns ``X`` into numbers, with the level codes of the training columns
    """
    require_rows(X)
    if is_frame(X):
        X = as_frame(X)
        _require_distinct_names(X)
        _require_columns(estimator, X)
        values = check_array(read(X), dtype=np.float64, ensure_all_finite=False, estimator=estimator, input_name="X")
    else:
        values = validate_data(estimator, read(X), reset=False, dtype=np.float64, ensure_all_finite=False)
    require_no_infinity(values)
    return np.asarray(values)


def with_row_index(X: Any) -> Any:
    """``X`` as a frame, an array or a list of rows, so that scikit-learn can select rows by their indices."""
    return as_frame(X) if is_frame(X) else indexable(as_dense(X))[0]


class _Names:
    """The column names of a frame in the interchange protocol, which is all that scikit-learn before 1.9 reads."""

    def __init__(self, frame: Any) -> None:
        self.shape: tuple[int, int] = frame.shape
        self._names = [str(name) for name in frame.columns]

    def __dataframe__(self) -> _Names:
        return self

    def column_names(self) -> list[str]:
        return self._names


def _require_distinct_names(frame: Any) -> None:
    """Raise DataError if two columns have the same name, which only pandas frames permit."""
    repeated = list(frame.columns[frame.columns.duplicated()]) if is_pandas(frame) else []
    if repeated:
        raise DataError(f"column names must differ, but {repeated[0]!r} occurs more than once: rename one")


def _require_columns(estimator: BaseEstimator, frame: Any) -> None:
    """Raise scikit-learn's error about names, with what is known of the columns that are missing or too many."""
    try:
        validate_data(estimator, _with_names(frame), reset=False, skip_check_array=True)
    except ValueError as error:
        more = [*_of_missing_columns(estimator, frame), *_of_target(estimator, frame)]
        if not more:
            raise
        raise ValueError("\n".join([str(error).rstrip(), *more])) from error


def _of_missing_columns(estimator: Any, frame: Any) -> Iterator[str]:
    """Which of the columns that a frame lacks the model tests."""
    given = {str(name) for name in frame.columns}
    missing = [name for name in getattr(estimator, "feature_names_in_", ()) if name not in given]
    if missing:
        tested = [name for name in missing if name in estimator.tested_columns_]
        told = f"tests {shown(tested, 20)}" if tested else "tests none, so any values will do for predictions"
        yield f"Of the missing columns, the model {told} (tested_columns_)."


def _of_target(estimator: Any, frame: Any) -> Iterator[str]:
    """How to drop the target of the fit from a frame that holds it."""
    target = estimator.target_name_
    if target in map(str, frame.columns) and target not in getattr(estimator, "feature_names_in_", ()):
        how = f"X.drop(columns={target!r})" if is_pandas(frame) else f"X.drop({target!r})"
        yield f"The column {target!r} is the target, which the model predicts: drop it, for example with {how}."


def _with_names(frame: Any) -> Any:
    """``frame``, or a stand-in from which this version of scikit-learn can read the column names."""
    return _Names(frame) if _NAMES_BY_PROTOCOL and not is_pandas(frame) else frame


# ------------------------------------------------------------------------------------------------------------- labels


def labels_of(y: Any) -> Any:
    """``y`` with labels of one kind; Python objects become numbers or booleans if all of them are.

    Raises
    ------
    ValueError
        If ``y`` has more than one column, or labels are missing, of mixed types, or of a type that is not supported.
    """
    array = np.asarray(y)
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        raise ValueError(
            f"y has shape {array.shape}: expected one label per row, shape (n_samples,). "
            "Pass one column, for example y[:, 0], or y.argmax(axis=1) for one-hot labels."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has labels of type {array.dtype}")
    if array.dtype.kind in "VS" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise ValueError(f"y has labels of type {array.dtype}: {_LABELS}")
    if array.dtype.kind in "mM" and array.ndim:
        _require_times(array)
    if array.dtype.kind == "f":
        _require_labels(np.isnan(array.ravel()), "NaN")
    return y if array.dtype.kind != "O" or array.ndim == 0 else _of_one_kind(array)


def _require_labels(missing: BoolArray, value: str) -> None:
    rows = np.flatnonzero(missing)
    if rows.size:
        raise ValueError(
            f"y has no label in row {rows[0]} ({value}), and in {rows.size:,} of {missing.size:,} rows in all: drop "
            "the rows without a label"
        )


def _require_times(array: npt.NDArray[Any]) -> None:
    _require_labels(np.isnat(array.ravel()), "NaT")
    if np.datetime_data(array.dtype)[0] == "generic":
        raise ValueError("y has times without a unit: add one, for example with y.astype('timedelta64[s]')")


def _of_one_kind(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of Python objects as numbers or booleans, if all labels are; ValueError if the labels are mixed."""
    flat = array.ravel().tolist()
    missing = [label is None or type(label).__name__ == "NAType" or label != label for label in flat]
    if any(missing):
        _require_labels(np.array(missing), repr(flat[missing.index(True)]))
    kinds = {type(label) for label in flat}
    odd = sorted(kind.__name__ for kind in kinds if not issubclass(kind, (str, int, float, np.generic)))
    if odd:
        raise ValueError(f"y has labels of type {', '.join(odd)}: {_LABELS}")
    for accepted, dtype in (
        ((bool, np.bool_), np.bool_),
        ((int, np.integer), np.int64),
        ((int, float, np.integer, np.floating), np.float64),
    ):
        if kinds and all(issubclass(k, accepted) and (dtype is np.bool_ or k is not bool) for k in kinds):
            try:
                return array.astype(dtype)
            except OverflowError:
                raise ValueError("y has an integer of more than 64 bits: turn the labels into text") from None
    if len(kinds) > 1 and str in kinds:
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"y mixes labels of types {shown}: make them all text, for example with y.astype(str)")
    return array


def warn_of_other_labels(y: Any, classes: npt.NDArray[Any]) -> None:
    """Warn if none of the labels is a class of the model: then all rows are wrong, whatever the model predicts."""
    labels = np.unique(np.asarray(y)).tolist()
    if labels and not set(labels) & set(classes.tolist()):
        names = f"the labels are {shown(labels, 3)}, the classes {shown(classes.tolist(), 3)}"
        warnings.warn(DataWarning(f"no label is a class of the model: {names}"), stacklevel=3)


def known_codes(y: Any, classes: npt.NDArray[Any], n_rows: int) -> IntArray:
    """(n_rows,) index in ``classes`` of each label; ValueError if a label is unknown or there are not ``n_rows``."""
    y = check_array(labels_of(y), ensure_2d=False, dtype=None, input_name="y").reshape(-1)
    codes: IntArray = np.searchsorted(classes, y).clip(max=classes.size - 1).astype(np.int64)
    if y.shape != (n_rows,) or np.any(classes[codes] != y):
        raise ValueError(f"y must have {n_rows} labels, all of them seen in training: {classes.tolist()}")
    return codes


def rows_and_codes(model: Any, X: Any, y: Any, name: str) -> tuple[FloatArray, IntArray]:
    """Rows as numbers, and their class codes; ``n_classes`` for a class that training did not have.

    Raises
    ------
    ValueError
        If there are no rows, or not as many labels as rows; ``name`` is what the message calls the labels.
    """
    X, y = features_and_labels(X, y)
    values = model._rows(X)
    labels = np.asarray(model.to_labels(y)).reshape(-1)
    if labels.size != values.shape[0] or labels.size == 0:
        raise ValueError(f"{name} has {labels.size} labels for {values.shape[0]} rows: expected one for each row")
    return values, codes_of(labels, model.classes_)


def codes_of(labels: Any, classes: npt.NDArray[Any]) -> IntArray:
    """(n_rows,) class code of each label; ``n_classes`` for a label that training did not have."""
    labels = np.asarray(labels).ravel()
    if labels.dtype.kind in "mM" and classes.dtype.kind == labels.dtype.kind:
        labels = labels.astype(classes.dtype)  # days and nanoseconds of one moment are the same
    known = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([known.get(label, len(known)) for label in labels.tolist()], dtype=np.int64)


# -------------------------------------------------------------------------------------------------------- weights


def row_weights(
    class_weight: ClassWeight,
    sample_weight: npt.ArrayLike | None,
    classes: npt.NDArray[Any],
    codes: IntArray,
) -> FloatArray | None:
    """The weight of each row, ``sample_weight`` times the weight of its class; None if both parameters are None.

    Parameters
    ----------
    class_weight : None, "balanced", or a dict from label to weight
    sample_weight : (n_samples,) weights, one number for all rows, or None
    classes : labels, sorted
    codes : (n_samples,) index of each row's label in ``classes``

    Raises
    ------
    ValueError
        If weights are negative, not finite or all zero, if there is not one per row, or if a label is unknown.
    """
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight={sample_weight!r}: expected weights, such as those of a column, X[{sample_weight!r}]"
        )
    if sample_weight is not None:
        try:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight must have one number per row: {error}") from error
        if sample_weight.ndim == 0:
            sample_weight = np.full(codes.size, sample_weight)
        checked_weights(sample_weight, codes.size)
        if not np.any(sample_weight > 0):
            raise ValueError("sample_weight is zero for all rows: expected at least one weight above 0")
    if class_weight is None:
        return sample_weight
    rows = np.ones(codes.size) if sample_weight is None else sample_weight
    totals = exact_sums(rows, codes, classes.size)
    return weight_products(rows, codes, class_factors(class_weight, classes, totals))


def class_factors(class_weight: ClassWeight, classes: npt.NDArray[Any], totals: list[Fraction]) -> list[Fraction]:
    """The factor of each class; ``totals`` has the total weight of the rows of each class, before the factors.

    Raises
    ------
    ValueError
        If ``class_weight`` is neither "balanced" nor a dict, or has unknown labels or weights below 0.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        share = sum(totals, Fraction(0)) / sum(1 for total in totals if total)
        return [share / total if total else Fraction(1) for total in totals]
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r}: expected None, 'balanced', or a dict from label to weight")
    position = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in position]
    unnamed = [label for label in position if label not in class_weight]
    if unknown and unnamed:  # some folds of a cross-validation may lack a class, so unknown alone is not an error
        raise ValueError(f"class_weight has {unknown[0]!r}, which is not a label; the labels are {list(position)}")
    factors = [Fraction(1)] * classes.size
    for label, factor in class_weight.items():
        number = finite(factor)
        if number is None or number < 0:
            raise ValueError(f"class_weight[{label!r}]={factor!r}: expected a finite number from 0")
        if label in position:
            factors[position[label]] = simple_fraction(number)
    if not any(total * factor for total, factor in zip(totals, factors, strict=True)):
        raise ValueError("class_weight gives every row weight 0: give at least one label a weight above 0")
    return factors
