"""One check at the door: what the model itself predicts for rows as they are given is what their reading says.

Everything that is proved is proved of a row as it is read here. So ``model.predict`` is asked of exactly the rows that
the user gives, in their own container and types, before anything is said about them: of a table at one go, of a single
row by itself. Where the class is another one than that of the reading (the integer sums of the trees, up to what
rounding may change), no answer is given: the error names the row, both classes, and the column that makes the
difference, which is found by exchanging one column after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import is_pandas
from proofwood.data.kinds import CATEGORIES, Kind
from proofwood.ensembles.forest import Forest
from proofwood.ensembles.readers.given import Given, Header, numbers_alone, row_of, value_of, with_value
from proofwood.ensembles.readers.outputs import codes_from, column_of, floats_from, greatest
from proofwood.ensembles.readers.reading import Adapted, absent
from proofwood.ensembles.readers.targets import OneTarget
from proofwood.ensembles.readers.voting import shares_of_votes, votes
from proofwood.ensembles.space import Input
from proofwood.exceptions import DataError, MisreadError
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import first_line, printable

CHECKED = "checked"
"""The reading of a row whose class the model itself gave, asked for the row as it was given."""
UNCHECKED = "not checked"
"""How the reading of a row begins that no model could be asked about."""
BY_PLACE = "columns by place"
"""What is said where a model knows no names of columns, and the rows have other ones."""


# One check for all readers: a reader that is tested on rows of its own making may still misread the user's rows:
# decisions/0052-one-check-at-the-door.
@dataclass(frozen=True, eq=False)
class Admitted:
    """Rows that were read, with what the model itself says of them.

    Parameters
    ----------
    values : (n_rows, n_inputs) float64
    filled : (n_rows, n_inputs) whether a value is missing, and a step of a pipeline fills it in
    codes : (n_rows,) class codes
    reading : how the reading was checked, in words: see :attr:`proofwood.explain.explanation.Explanation.reading`
    kinds : per input what the type of its column says: integers, 0 and 1, or else any numbers
    """

    values: FloatArray
    filled: npt.NDArray[np.bool_]
    codes: IntArray
    reading: str
    kinds: Mapping[int, Kind]

    @classmethod
    def one(cls, row: FloatArray, code: int, filled: npt.NDArray[np.bool_] | None = None) -> Admitted:
        """A row (n_inputs,) of a table that was read already, of this class."""
        gaps = np.zeros(row.shape, dtype=bool) if filled is None else filled
        return cls(row[np.newaxis], gaps[np.newaxis], np.array([code]), CHECKED, {})


# ------------------------------------------------------------------------------------------------- whom to ask, and how


def completed(adapted: Adapted, model: Any, feature_names: Sequence[str] | None, X: Any = None) -> Adapted:
    """A reader's reading with the columns that the model takes, and with how the model predicts rows as given.

    What the reader says of either itself is kept.

    Parameters
    ----------
    adapted : the reading
    model : what it was made of
    feature_names : names of the columns that the user states
    X : rows that the user gives; a frame has names for the columns of a model that knows none
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
    n = len(told)  # a model behind steps has a header from its reading: some columns may not reach the model
    known = getattr(model, "feature_names_in_", None)
    if known is None or len(known) != n:  # files of CatBoost know their columns only by the trees
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
        takes=numbers_alone if library == "lightgbm" else None,  # it writes of others to the terminal before it raises
    )


def _inner(model: Any) -> Any:
    """The model that a search found, or the model itself."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def _numbered(library: str, n: int) -> tuple[str, ...] | None:
    """The names that a library makes up for columns without names."""
    made = {"lightgbm": "Column_{}", "catboost": "{}"}.get(library)
    return None if made is None else tuple(made.format(j) for j in range(n))


Ask = Callable[[Any], npt.NDArray[Any]]


def _asks(model: Any, forest: Forest) -> tuple[Ask | None, Ask | None]:
    """How a model is asked for classes (or numbers), and for its probabilities; None where it predicts no rows."""
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
    """The model whose trees vote within another one, the steps in front of it, and which of its targets is meant."""
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
    """What a function gives to rows behind steps."""
    from proofwood.ensembles.readers.preparation import made_by  # start-up time: it loads scikit-learn

    return call(made_by(steps, X))


# --------------------------------------------------------------------------------------------------------- the question


def asked(adapted: Adapted, given: Given) -> tuple[npt.NDArray[Any] | None, str, Any]:
    """What the model predicts for rows as they are given, how it was asked, in words, and in which container.

    Where the model does not take the container, the same values are put into one that it takes. None where it predicts
    no rows at all.

    Raises
    ------
    DataError
        If the model refuses the rows in every form.
    """
    header, ask = adapted.header, adapted.ask
    assert header is not None
    place = f"; {BY_PLACE}" if given.by == "place" and hasattr(given.rows, "columns") else ""
    if ask is None:
        return None, f"{UNCHECKED}: what was given predicts no rows{place}", None
    refusal: Exception | None = None
    for form, rows in header.forms(given, adapted.dressed):
        try:
            found = _quietly(ask, rows)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a library may refuse rows with any error; it is reported below
            refusal = refusal or error
            continue
        return found, (f"{CHECKED} as {form}" if form else CHECKED) + place, rows
    assert refusal is not None
    raise DataError(
        f"the model itself does not predict these rows, so that there is nothing to explain: it says "
        f"{first_line(refusal)!r} ({type(refusal).__name__}). Give the rows as model.predict takes them"
    ) from refusal


def _quietly(ask: Ask, rows: Any) -> npt.NDArray[Any]:
    """What a model predicts, without its warnings: users saw these when they called it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(rows)


# ---------------------------------------------------------------------------------------------------------- the refusal


@dataclass(frozen=True, eq=False)
class Misread:
    """A row for which the model predicts something else than its reading says.

    Parameters
    ----------
    row : its number in the table
    alone : whether it is the only row of it
    said : the class that the model gives
    read : the class of the reading
    values : (n_inputs,) the row as it is read
    within : for an input, other numbers that are to its reading what the number of the row is
    """

    row: int
    alone: bool
    said: Any
    read: Any
    values: FloatArray
    within: Callable[[int], Sequence[float]]


def misread(adapted: Adapted, given: Given, rows: Any, found: Misread) -> MisreadError:
    """The error about a row that is read otherwise than the model reads it.

    Parameters
    ----------
    adapted : the model, with the outcome that is asked about
    given : the rows
    rows : the same in the form that the model was given
    found : what is known of the row
    """
    said, read = printable(repr(_plain(found.said))), printable(repr(_plain(found.read)))
    where = "the row" if found.alone else f"row {found.row} of the table"
    text = (
        f"{where} is not explained: the model predicts {said} for it as it was given, and as it is read here it has "
        f"the class {read}. "
    )
    exchange = _Exchange(adapted, given, rows, found)
    column, why = exchange.cause()
    name = None if column is None else adapted.inputs[column].name
    if name is not None:
        text += f"The column {name!r} makes the difference: "
    return MisreadError(text + why, row=found.row, predicted=_plain(found.said), read=_plain(found.read), column=name)


class _Exchange:
    """The search for the column that makes the difference."""

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
        """The input that makes the difference, None if it cannot be told, and the likely cause with a way out."""
        base = next((form for form in self._bases() if self._asked(form) == self.code), None)
        if base is None:
            kind = type(self.rows).__name__
            return None, (
                f"The same values get the class of the reading in another container than {kind}, or in a table of one "
                "row. Give them as the table that the model was learned from"
            )
        column = self._column(base)
        if column is None:
            return None, (
                "No single column makes the difference. If the model has a predict of its own, or steps that look at "
                "the whole table, it cannot be explained; else give the rows in the types that it was learned from"
            )
        return column, self._why(base, column)

    def _asked(self, rows: Any) -> Any:
        try:
            return _quietly(self.ask, rows)[0]
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - a mixture of types that the model refuses is not the cause
            return None

    def _bases(self) -> Iterator[Any]:
        """The row in containers whose values can be exchanged, the user's own types first."""
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
        """The first input whose exchange changes what the model says."""
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
        """Place of an input in a container that has the columns of the model, or those that were given."""
        column, width = self.column_of[j], base.shape[1]
        if width == len(self.header.names):
            return column
        return self.given.present.index(column) if column in self.given.present else None

    def _read_back(self, j: int) -> Any:
        """The value that an input is read as, in the words of the model."""
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
    """Why a column is read otherwise than the model reads it, as far as its value tells, and the way out."""
    held, name = printable(repr(_plain(value)))[:80], given.name
    kind = type(value).__name__
    if absent(value):
        if given.kind in CATEGORIES and number == number:
            return (
                f"it holds {held} ({kind}), read as a missing value and so as {back!r}, which to the model is not the "
                f"same. Give missing values as the table of training had them, for example X[{name!r}] = "
                f"X[{name!r}].fillna(numpy.nan)"
            )
        return (
            f"it holds {held} ({kind}), read as a missing value, which to the model is not the same. Give missing "
            f"values as the table of training had them, for example X[{name!r}] = X[{name!r}].fillna(numpy.nan)"
        )
    if str(dtype) in ("float32", "float16"):
        return (
            f"it is {held} of the type {dtype}, in which the steps of the model compute, and it lies where rounding "
            "decides. Give the column as float64 to the model and here, for example X.astype('float64')"
        )
    if given.kind in CATEGORIES:
        what = f"the category {back!r}" if isinstance(back, str) or back == back else "a category that it does not know"
        return (
            f"it holds {held} ({kind}), read as {what}. Give the categories themselves, of the type that they had in "
            "training, in a frame"
        )
    if isinstance(value, str):
        return (
            f"it holds the text {held}, read as the number {number!r}. Give the column in the type that it had in "
            "training"
        )
    return (
        f"it holds {held} ({kind}), read as {number!r}. Give the column in the type that it had in training, or the "
        "steps of the model compute with it in a way that is not known here"
    )


def _same(value: Any, back: Any) -> bool:
    """Whether a value is the one that it was read as, in type too where it is not a number."""
    if absent(value) or absent(back):
        return isinstance(value, float) and isinstance(back, float) and value != value and back != back
    numeric = (int, float, np.number)
    if isinstance(value, numeric) and isinstance(back, numeric):
        return bool(value == back)
    return type(value) is type(back) and bool(value == back)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
