"""Check that the user's rows are read correctly: the model itself must predict the class that follows from each row.

Proofs are about the numbers that are read from a row. So before a row is explained, ``model.predict`` is called with
exactly what the user gives, in the user's container and types: once for a table, and separately for a single row. If
the predicted class is impossible by the integer sums of the trees, even with rounding, an error is raised. It names the
row, both classes, and the column that makes the difference. This column is found by exchanging the values of one column
after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.frames import is_pandas
from proofwood.data.kinds import CATEGORIES, Kind
from proofwood.ensembles.forest import Forest
from proofwood.ensembles.readers.given import (
    CHECKED,
    Ask,
    Given,
    Header,
    numbers_alone,
    quietly,
    row_of,
    value_of,
    with_value,
)
from proofwood.ensembles.readers.reading import Adapted, absent, codes_from, column_of, floats_from, greatest
from proofwood.ensembles.readers.targets import OneTarget
from proofwood.ensembles.readers.voting import shares_of_votes, votes
from proofwood.ensembles.space import Input
from proofwood.exceptions import MisreadError
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import printable


# One check for all readers: a reader that is tested on generated rows may still misread the rows of a user:
# decisions/0052-one-check-at-the-door.
@dataclass(frozen=True, eq=False)
class Admitted:
    """Rows that were read, with the classes that the model itself predicts for them.

    Parameters
    ----------
    values : (n_rows, n_inputs) float64
    filled : (n_rows, n_inputs) whether a value is missing, and a step of a pipeline fills it in
    codes : (n_rows,) class codes
    reading : text on how the reading was checked, see :attr:`proofwood.explain.explanation.Explanation.reading`
    kinds : the inputs that the type of their column limits to integers, or to 0 and 1
    """

    values: FloatArray
    filled: npt.NDArray[np.bool_]
    codes: IntArray
    reading: str
    kinds: Mapping[int, Kind]

    @classmethod
    def one(cls, row: FloatArray, code: int, filled: npt.NDArray[np.bool_] | None = None) -> Admitted:
        """The result for one row (n_inputs,) that was already read, with its class code."""
        gaps = np.zeros(row.shape, dtype=bool) if filled is None else filled
        return cls(row[np.newaxis], gaps[np.newaxis], np.array([code]), CHECKED, {})


# ------------------------------------------------------------------------------------------------- whom to ask, and how


def completed(adapted: Adapted, model: Any, feature_names: Sequence[str] | None, X: Any = None) -> Adapted:
    """Add to a reader's result the columns that the model takes, and functions that predict rows with the model.

    Columns and functions that the reader has set itself are kept.

    Parameters
    ----------
    adapted : the result of the reader
    model : the model that was read
    feature_names : the column names that the user states
    X : rows that the user gives; the names of a frame are used if the model has no column names
    """
    header = _header(adapted, model, feature_names) if adapted.header is None else adapted.header
    header = header.named_by(X)
    told = [header.told[j] for j in header.reaching]
    inputs = tuple(replace(given, name=name) for given, name in zip(adapted.inputs, told, strict=True))
    whole = model if adapted.model is None else adapted.model  # of several targets the one that is explained
    ask, output = (adapted.ask, adapted.ask_output) if adapted.ask is not None else _asks(whole, adapted.forest)
    return replace(adapted, inputs=inputs, header=header, ask=ask, ask_output=output)


def _header(adapted: Adapted, model: Any, feature_names: Sequence[str] | None) -> Header:
    library = type(_inner(model)).__module__.split(".")[0]
    told = tuple(given.name for given in adapted.inputs)
    n = len(told)  # a model after steps gets its header from its reader: some columns may not reach the model
    known = getattr(model, "feature_names_in_", None)
    if known is None or len(known) != n:  # files of CatBoost give their columns only by the trees
        known = adapted.forest.names
    own = None if known is None else tuple(str(name) for name in known)
    if own == _numbered(library, n):
        own = None
    stated = None if feature_names is None else tuple(str(name) for name in feature_names)
    return Header(
        names=told,
        own=own,
        needed=frozenset(range(n)),
        stated=None if stated is None else told,
        placed=own is None or library == "lightgbm",
        blank="_" if library == "lightgbm" else None,
        gap=np.nan if library == "xgboost" else 0.0,
        takes=numbers_alone if library == "lightgbm" else None,  # else it prints to the terminal
    )


def _inner(model: Any) -> Any:
    """The best model of a fitted parameter search, or the model itself."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def _numbered(library: str, n: int) -> tuple[str, ...] | None:
    """The names that a library gives to columns without names; None if it gives none."""
    made = {"lightgbm": "Column_{}", "catboost": "{}"}.get(library)
    return None if made is None else tuple(made.format(j) for j in range(n))


def _asks(model: Any, forest: Forest) -> tuple[Ask | None, Ask | None]:
    """Two functions of rows: the model's classes (or numbers) and its probabilities; None if it has no such method."""
    if not hasattr(model, "predict") or isinstance(model, str | Forest):
        return None, None
    if forest.is_regressor:
        number = partial(column_of, model.predict, 0)
        return number, number
    if forest.majority:
        steps, last, target = _voting(model)
        if not hasattr(last, "estimators_"):
            return partial(codes_from, model.predict, forest.classes), partial(floats_from, model.predict_proba)
        counted = partial(_behind, steps, partial(votes, last, target, len(forest.classes)))
        return partial(greatest, counted), partial(shares_of_votes, counted)
    output = partial(floats_from, model.predict_proba) if hasattr(model, "predict_proba") else None
    return partial(codes_from, model.predict, forest.classes), output


def _voting(model: Any) -> tuple[tuple[Any, ...], Any, int | None]:
    """Find the inner model whose trees vote: return the steps before it, this model, and the index of its target."""
    from proofwood.ensembles.readers.tracing import steps_of  # start-up time: it loads scikit-learn

    steps: list[Any] = []
    target: int | None = None
    while True:
        if isinstance(model, OneTarget):
            model, target = model.whole, model.output
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            steps += [step for step in steps_of(model) if step is not model.steps[-1][1]]
            model = model.steps[-1][1]
        elif type(model).__name__ == "MultiOutputClassifier":
            model, target = model.estimators_[target or 0], None
        elif type(model).__name__ == "FrozenEstimator":
            model = model.estimator
        elif type(model).__name__ in ("RFE", "RFECV", "SelfTrainingClassifier"):
            steps += [model] if hasattr(model, "support_") else []
            model = model.estimator_
        else:
            return tuple(steps), model, target


def _behind(steps: tuple[Any, ...], call: Callable[[Any], Any], X: Any) -> Any:
    """Apply ``call`` to rows after ``steps`` have transformed them."""
    from proofwood.ensembles.readers.preparation import made_by  # start-up time: it loads scikit-learn

    return call(made_by(steps, X))


# ---------------------------------------------------------------------------------------------------------- the refusal


@dataclass(frozen=True, eq=False)
class Misread:
    """A row for which the model predicts one class, and the numbers that were read from it give another.

    Parameters
    ----------
    row : number of the row in the table
    alone : whether the table has only this row
    said : the class that the model predicts
    read : the class that follows from the numbers that were read
    values : (n_inputs,) the numbers that were read
    within : function that returns, for an input, other numbers in the same cells as the number of the row
    """

    row: int
    alone: bool
    said: Any
    read: Any
    values: FloatArray
    within: Callable[[int], Sequence[float]]


def misread(adapted: Adapted, given: Given, rows: Any, found: Misread) -> MisreadError:
    """The error for a row that is read here differently than by the model.

    Parameters
    ----------
    adapted : the model, with the outcome that is explained
    given : the rows
    rows : the same rows in the container with which the model was called
    found : the row and its two classes
    """
    said, read = printable(repr(_plain(found.said))), printable(repr(_plain(found.read)))
    where = "the row" if found.alone else f"row {found.row} of the table"
    text = (
        f"{where} is not explained: the model predicts {said} for it, but the values that are read from it have the "
        f"class {read}. "
    )
    exchange = _Exchange(adapted, given, rows, found)
    column, why = exchange.cause()
    name = None if column is None else adapted.inputs[column].name
    if name is not None:
        text += f"The column {name!r} makes the difference: "
    return MisreadError(text + why, row=found.row, predicted=_plain(found.said), read=_plain(found.read), column=name)


class _Exchange:
    """Search for the column that makes the difference, by exchanging values of the row."""

    def __init__(self, adapted: Adapted, given: Given, rows: Any, found: Misread) -> None:
        header = adapted.header
        assert header is not None
        assert adapted.ask is not None
        self.adapted, self.found, self.header, self.ask = adapted, found, header, adapted.ask
        self.code = self._asked(row_of(rows, found.row))
        self.column_of = header.reaching
        self.given = Given(None, row_of(given.table, found.row), given.by, given.present)
        self.rows = rows

    def cause(self) -> tuple[int | None, str]:
        """The input that makes the difference (None if unknown), and a text with the likely cause and a remedy."""
        base = next((form for form in self._bases() if self._asked(form) == self.code), None)
        if base is None:
            kind = type(self.rows).__name__
            return None, (
                f"The model predicts another class if the same values are in another container than {kind}, or in a "
                "table of one row. Give the rows in a table like the one that the model was trained on"
            )
        column = self._column(base)
        if column is None:
            return None, (
                "No single column makes the difference. If the model has a custom predict method, or steps that depend "
                "on the whole table, it cannot be explained. Otherwise give the columns in the types of the training "
                "table"
            )
        return column, self._why(base, column)

    def _asked(self, rows: Any) -> Any:
        try:
            return quietly(self.ask, rows)[0]
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - a mixture of types that the model refuses is not the cause
            return None

    def _bases(self) -> Iterator[Any]:
        """Yield the row in containers whose values can be exchanged, first in the user's own types."""
        table = self.given.table
        if is_pandas(table):
            own = self.header.names if self.header.own is None else self.header.own
            yield table.set_axis([own[j] for j in range(table.shape[1])], axis=1)
        elif isinstance(table, np.ndarray):
            yield table
        for _, form in self.header.forms(self.given, self.adapted.dressed):
            if is_pandas(form) or isinstance(form, np.ndarray):
                yield form

    def _column(self, base: Any) -> int | None:
        """The first input whose exchange changes the prediction of the model; None if no exchange does."""
        mixture = base
        changes = []
        for j in range(len(self.adapted.inputs)):
            place, value = self._place(base, j), self._read_back(j)
            if place is None or _same(value_of(base, place), value):
                continue
            changes.append((j, place, value))
            if self._differs(with_value(base, place, value)):
                return j
        for j, place, value in changes:  # several together
            mixture = with_value(mixture, place, value)
            if self._differs(mixture):
                return j
        for j, given in enumerate(self.adapted.inputs):
            place = self._place(base, j)
            if place is None or given.kind in CATEGORIES or absent(value_of(base, place)):
                continue
            if any(self._differs(with_value(base, place, other)) for other in self.found.within(j)):
                return j
        return None

    def _differs(self, rows: Any) -> bool:
        found = self._asked(rows)
        return found is not None and found != self.code

    def _place(self, base: Any, j: int) -> int | None:
        """The position of an input in a container; None if the container does not have this column."""
        column, width = self.column_of[j], base.shape[1]
        if width == len(self.header.names):
            return column
        return self.given.present.index(column) if column in self.given.present else None

    def _read_back(self, j: int) -> Any:
        """The value of an input as it was read: a category of the model, or a number."""
        given, value = self.adapted.inputs[j], float(self.found.values[j])
        known = self.adapted.categories.get(j, given.levels)
        if not known:
            return value
        return known[int(value)] if 0 <= value < len(known) else np.nan

    def _why(self, base: Any, j: int) -> str:
        place = self._place(base, j)
        assert place is not None
        value, given = value_of(base, place), self.adapted.inputs[j]
        dtype = base.dtypes.iloc[place] if is_pandas(base) else base.dtype
        return _reason(value, dtype, given, self._read_back(j), self.found.values[j])


def _reason(value: Any, dtype: Any, given: Input, back: Any, number: float) -> str:
    """Text on why a column is probably read differently by the model, and on what to do."""
    held, name = printable(repr(_plain(value)))[:80], given.name
    kind = type(value).__name__
    if absent(value):
        if given.kind in CATEGORIES and number == number:
            return (
                f"it holds {held} ({kind}), which is read here as a missing value and so as {back!r}, but not by the "
                f"model. Write missing values as in the training table, for example X[{name!r}] = "
                f"X[{name!r}].fillna(numpy.nan)"
            )
        return (
            f"it holds {held} ({kind}), which is read here as a missing value, but not by the model. Write missing "
            f"values as in the training table, for example X[{name!r}] = X[{name!r}].fillna(numpy.nan)"
        )
    if str(dtype) in ("float32", "float16"):
        return (
            f"it holds {held} of the type {dtype}. The steps of the model compute in this type, and their rounding "
            "decides the class. Give the column as float64 to the model and here, for example X.astype('float64')"
        )
    if given.kind in CATEGORIES:
        what = f"the category {back!r}" if isinstance(back, str) or back == back else "a category that it does not know"
        return (
            f"it holds {held} ({kind}), which is read here as {what}. Give the categories in a data frame, with the "
            "values and types of the training table"
        )
    if isinstance(value, str):
        return (
            f"it holds the text {held}, which is read here as the number {number!r}. Give the column in the type of "
            "the training table"
        )
    return (
        f"it holds {held} ({kind}), which is read here as {number!r}. Give the column in the type of the training "
        "table. If it has this type, a step of the model uses the column in a way that this library does not know"
    )


def _same(value: Any, back: Any) -> bool:
    """Whether ``value`` equals ``back``, the value read from it; if not numbers, both must also have the same type."""
    if absent(value) or absent(back):
        return isinstance(value, float) and isinstance(back, float) and value != value and back != back
    numeric = (int, float, np.number)
    if isinstance(value, numeric) and isinstance(back, numeric):
        return bool(value == back)
    return type(value) is type(back) and bool(value == back)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
