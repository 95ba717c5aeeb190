"""The user's rows: which columns of a container a model needs, and what the model itself predicts for the container.

:meth:`Header.opened` opens each container once. Its result has the table for the readers, and the rows as the user gave
them. :meth:`Header.ask` calls the model with these; :mod:`proofwood.ensembles.door` explains why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from proofwood.data.frames import as_dense, as_frame, is_frame, is_pandas, is_polars, is_sparse
from proofwood.exceptions import DataError
from proofwood.printable import first_line, shown

By = Literal["name", "place"]
"""How the columns of a container were found: by name, or by position."""
Ask = Callable[[Any], npt.NDArray[Any]]
"""The predictions of a model for rows."""

CHECKED = "checked"
"""Text for a row that the model itself predicted, and whose class was compared with this prediction."""
UNCHECKED = "not checked"
"""First words of the text for a row that no model could predict."""
BY_PLACE = "columns by place"
"""Text for rows whose column names were not used, because the model has no column names."""


@dataclass(frozen=True, eq=False)
class Given:
    """Rows that a user gives.

    Parameters
    ----------
    rows : the rows as given; only lazy frames are collected. None if they were made from something else, such
        as a mapping
    table : the rows for the readers: a pandas or polars frame with the names of :class:`Header`, or an array-like
    by : how their columns were found
    present : indices of the model's columns that the rows have
    """

    rows: Any
    table: Any
    by: By
    present: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Header:
    """The columns of the table that a model takes.

    Parameters
    ----------
    names : names of all columns, with which the reader reads frames
    own : names in the model itself; None if the model stores no names
    needed : indices of the columns that reach the model; a frame may lack the others
    stated : names that the user states, or those of the frame ``X=`` if the model has no names; else None
    placed : whether the model itself takes the columns of a frame by position and ignores their names
    blank : the character that replaces a blank in the model's names, if the library replaces blanks
    gap : value of an entry that a sparse matrix does not store: 0, or for some libraries a missing value
    alike : function that says whether the model's steps compute the same for a sparse matrix as for an array; None if
        the model has no steps
    takes : function that says whether the library accepts the column types of a table that is not a pandas frame; for
        libraries that print to the terminal when they refuse a table. None if the library can simply be tried
    """

    names: tuple[str, ...]
    own: tuple[str, ...] | None
    needed: frozenset[int]
    stated: tuple[str, ...] | None = None
    placed: bool = False
    blank: str | None = None
    gap: float = 0.0
    alike: Callable[[], bool] | None = None
    takes: Callable[[Any], bool] | None = None

    def opened(self, X: Any, *, table: bool = True) -> Given:
        """Find the model's columns in a container.

        Parameters
        ----------
        X : frame of any library, array-like, or sparse matrix
        table : whether the user gave this container; else it was made from something else, and the model is not called
            with it

        Raises
        ------
        DataError
            If a frame lacks columns, or if it is not clear which of its columns to use.
        """
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise DataError(
                "X is a masked array, and models ignore its mask: give X.filled(numpy.nan), in which masked values are "
                "missing values"
            )
        every = tuple(range(len(self.names)))
        if isinstance(X, np.ndarray) or not (is_sparse(X) or is_frame(X)):
            return Given(X if table else None, X, "place", every)
        if is_sparse(X):
            if not self._takes_sparse:
                raise DataError(
                    "X is a sparse matrix, for which the steps of the model compute slightly other numbers than for an "
                    "array (scikit-learn divides arrays, but multiplies sparse matrices by the reciprocal). The model "
                    "was read for arrays: give X.toarray()"
                )
            X = X if len(X.shape) == 2 else X.reshape(1, -1)  # a row of a sparse array
            return Given(X, _dense(X, self.gap), "place", every)
        frame = as_frame(X)
        rows = X if hasattr(X, "schema") and hasattr(X, "to_batches") else frame  # a table of Arrow, which some take
        columns = [str(name) for name in frame.columns]
        repeated = sorted({name for name in columns if columns.count(name) > 1})
        if repeated:
            raise DataError(f"the frame has more than one column {repeated[0]!r}: rename one")
        places, by = self._places(frame, columns)
        present = tuple(j for j in every if places[j] is not None)
        found = _selected(frame, places, self.names)
        return Given(rows if table else None, found, by, present)

    def named_by(self, X: Any) -> Header:
        """The same header, with the names of a frame if the model stores no names or replaces their blanks."""
        if self.stated is not None or (not is_pandas(X) and not is_polars(X)) or len(X.columns) != len(self.names):
            return self
        columns = tuple(str(name) for name in X.columns)
        if len(set(columns)) < len(columns) or not all(isinstance(name, str) for name in X.columns):
            return self
        if self.own is None or (self.blank is not None and self._plain(columns) == self._plain(self.own)):
            return replace(self, stated=columns)
        return self

    @cached_property
    def _takes_sparse(self) -> bool:
        """Whether the model predicts the same for a sparse matrix as for an array; its steps are tried only once."""
        return self.alike is None or self.alike()

    @cached_property
    def reaching(self) -> list[int]:
        """Sorted indices of the columns that reach the model, which are its inputs."""
        return sorted(self.needed)

    @property
    def told(self) -> tuple[str, ...]:
        """The names of the columns in explanations and messages."""
        return self.names if self.stated is None else self.stated

    # -------------------------------------------------------------------------------------------------------- columns

    def _plain(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(names) if self.blank is None else tuple(name.replace(" ", self.blank) for name in names)

    def _places(self, frame: Any, columns: list[str]) -> tuple[list[int | None], By]:
        """For each column of the model, its index in the frame; None if it is absent and not needed."""
        for names in (self.stated, self.own):
            if names is None:
                continue
            for known, present in ((names, columns), (self._plain(names), list(self._plain(columns)))):
                place = {name: at for at, name in reversed(list(enumerate(present)))}
                if all(known[j] in place for j in self.needed) and len(place) == len(columns):
                    places = [place.get(name) for name in known]
                    self._require_order(places, columns)
                    return places, "name"
        unnamed = not any(isinstance(name, str) for name in frame.columns)  # as frames of pandas made of arrays are
        if (unnamed or (self.own is None and self.stated is None)) and len(columns) == len(self.names):
            return list(range(len(columns))), "place"
        raise self._lacking(columns)

    def _require_order(self, places: Sequence[int | None], columns: Sequence[str]) -> None:
        """Raise DataError if the model takes columns by position and those of the frame are in another order."""
        if self.placed and len(columns) == len(places) and list(places) != list(range(len(columns))):
            raise DataError(
                f"the columns of the frame are {shown(columns)}, in another order than {shown(self.told)}, but this "
                "model takes columns by position and ignores their names: put them into the order of the model"
            )

    def _lacking(self, columns: Sequence[str]) -> DataError:
        names = self.told
        if self.own is None and self.stated is None:
            return DataError(
                f"the frame has {len(columns)} columns ({shown(columns)}), but the model takes {len(names)} columns "
                "and does not store their names: give exactly these columns, or state their names in feature_names="
            )
        absent = [names[j] for j in sorted(self.needed) if names[j] not in columns]
        unknown = [name for name in columns if name not in names]
        faults = [f"lacks the columns {shown(absent)}"] if absent else []
        faults += [f"has the unknown columns {shown(unknown)}"] if unknown else []
        return DataError(f"the frame {' and '.join(faults)}: the model takes {shown(names)}")

    # ----------------------------------------------------------------------------------------------------------- forms

    def forms(self, given: Given, dressed: Callable[[Any], Any] | None) -> Iterator[tuple[str, Any]]:
        """Yield the rows in each form that the model may accept, with the name of the form; the user's form is first.

        Parameters
        ----------
        given : the rows
        dressed : function that puts the categories of a pandas frame into the type that the model needs; None if it
            needs no special type
        """
        taken = self.takes is None or self.takes(given.rows)
        if given.rows is not None and taken:
            yield "", given.rows
        frame = self.frame_of(given)
        if given.rows is not None and not taken and frame is None:  # there is no other form
            yield "", given.rows
        if self.own is None:
            yield "an array", _array(given.table if frame is None else frame)
        if frame is not None:
            yield "a frame of pandas", frame
            if dressed is not None:
                yield "a frame of pandas with its categories", dressed(frame)
        elif is_polars(given.table):
            yield "a frame of polars", given.table

    def ask(
        self, ask: Ask | None, given: Given, dressed: Callable[[Any], Any] | None
    ) -> tuple[npt.NDArray[Any] | None, str, Any]:
        """The model's predictions for the given rows, a text on how it was called, and the container that it took.

        If the model refuses the container, the same values are put into another one.

        Parameters
        ----------
        ask : function of rows that returns the predictions of the model; None if the model cannot predict rows. Then
            the predictions are None
        given, dressed : as in :meth:`forms`

        Raises
        ------
        DataError
            If the model refuses the rows in every form.
        """
        place = f"; {BY_PLACE}" if given.by == "place" and hasattr(given.rows, "columns") else ""
        if ask is None:
            return None, f"{UNCHECKED}: the object given cannot predict rows{place}", None
        refusal: Exception | None = None
        for form, rows in self.forms(given, dressed):
            try:
                found = quietly(ask, rows)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - a library may refuse rows with any error; it is reported below
                refusal = refusal or error
                continue
            return found, (f"{CHECKED} as {form}" if form else CHECKED) + place, rows
        assert refusal is not None
        raise DataError(
            f"the model itself does not predict these rows, so there is nothing to explain: model.predict raises "
            f"{type(refusal).__name__}({first_line(refusal)!r}). Give the rows in a form that model.predict accepts"
        ) from refusal

    def frame_of(self, given: Given) -> Any:
        """The rows as a pandas frame of plain types, with the model's names; None if pandas is not installed."""
        try:
            import pandas as pd  # optional: a user who trained on a frame of pandas has it
        except ImportError:
            return None
        names = self.names if self.own is None else self.own
        table = given.table
        if is_polars(table):
            columns = [_series_of(table.get_columns()[j]) for j in given.present]
        elif is_pandas(table):
            columns = [_plain_series(table.iloc[:, j]) for j in given.present]
        else:
            if isinstance(table, np.ndarray) and table.dtype.kind in "biuf":
                return pd.DataFrame(table, columns=list(names))
            made = pd.DataFrame([list(row) for row in table], columns=list(names))
            columns = [_plain_series(made.iloc[:, j]) for j in range(made.shape[1])]
        return pd.DataFrame({names[j]: column for j, column in zip(given.present, columns, strict=True)})


def quietly(ask: Ask, rows: Any) -> npt.NDArray[Any]:
    """The predictions of a model, without its warnings: users see these when they call the model themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(rows)


def numbers_alone(rows: Any) -> bool:
    """Whether an Arrow or polars table has only integers, floats of 32 or 64 bits, and truth values.

    True for all other containers.
    """
    if is_polars(rows):
        import polars as pl  # the frame is one of it

        integers = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
        return all(dtype in (*integers, pl.Float32, pl.Float64, pl.Boolean) for dtype in rows.dtypes)
    if not hasattr(rows, "to_batches"):
        return True
    plain = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)} | {"float", "double", "bool"}
    return all(str(field.type) in plain for field in rows.schema)


def _dense(matrix: Any, gap: float) -> Any:
    """A sparse matrix as a float64 array, with ``gap`` in each entry that it does not store."""
    made = as_dense(matrix)
    if gap == 0:
        return made
    stored = matrix.tocoo()
    given = np.full(made.shape, gap)
    given[stored.row, stored.col] = made[stored.row, stored.col]  # entries that are stored twice are added up
    return given


def _selected(frame: Any, places: Sequence[int | None], names: Sequence[str]) -> Any:
    """The frame with exactly the columns ``names``; absent columns are filled with missing values."""
    if is_pandas(frame):
        import pandas as pd  # the frame is one of it

        if list(places) == list(range(frame.shape[1])) and list(frame.columns) == list(names):
            return frame
        parts = {
            name: pd.Series(np.nan, index=frame.index) if at is None else frame.iloc[:, at]
            for name, at in zip(names, places, strict=True)
        }
        return pd.DataFrame(parts, index=frame.index)
    import polars as pl  # the frame is one of it

    columns = frame.get_columns()
    return pl.DataFrame(
        [
            pl.Series(name, [None] * frame.height) if at is None else columns[at].alias(name)
            for name, at in zip(names, places, strict=True)
        ]
    )


def _array(table: Any) -> Any:
    if is_pandas(table) or is_polars(table):
        return table.to_numpy()
    return np.asarray(table)


def _series_of(series: Any) -> Any:
    """A polars series as a pandas series, without pyarrow; integers with missing values become floats with nan."""
    import pandas as pd  # optional: the caller has looked
    import polars as pl

    dtype, gaps = series.dtype, series.is_null().any()
    if isinstance(dtype, (pl.Enum, pl.Categorical)):
        texts = series.cast(pl.String)
        known = dtype.categories if isinstance(dtype, pl.Enum) else texts.drop_nulls().unique().sort()
        return pd.Series(pd.Categorical(texts.to_list(), categories=known.to_list()))
    if dtype.is_float() or (dtype.is_integer() and not gaps) or (dtype == pl.Boolean and not gaps):
        return pd.Series(series.to_numpy())
    if isinstance(dtype, pl.Decimal) or dtype.is_integer() or dtype == pl.Null:
        return pd.Series(series.cast(pl.Float64).to_numpy())
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        naive = pd.Series(series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy())
        return naive.dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if dtype.is_temporal() and dtype != pl.Time:
        return pd.Series(series.to_numpy())
    values = [np.nan if value is None else value for value in series.to_list()]
    return pd.Series(values, dtype=object if series.null_count() == len(values) else None)  # texts, all of them missing


def _plain_series(series: Any) -> Any:
    """A pandas series in a plain type, if it has an extension type or holds numbers as objects."""
    import pandas as pd  # the series is one of it

    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return series
    types = pd.api.types
    if not isinstance(dtype, np.dtype):
        gaps = bool(series.isna().any())
        if types.is_bool_dtype(dtype) and not gaps:
            return series.astype(bool)
        if types.is_integer_dtype(dtype) or types.is_float_dtype(dtype):
            single = str(getattr(dtype, "numpy_dtype", dtype)) == "float32"
            if types.is_integer_dtype(dtype) and not gaps:
                return series.astype(np.int64)
            return pd.Series(series.to_numpy(np.float32 if single else np.float64, na_value=np.nan), index=series.index)
        if type(dtype).__name__ == "ArrowDtype":
            held = zip(series.tolist(), series.isna(), strict=True)
            return pd.Series([np.nan if missing else value for value, missing in held], index=series.index)
        return series
    return series.infer_objects()


def row_of(rows: Any, at: int) -> Any:
    """A container of the same type with only the row ``at``."""
    if is_sparse(rows):
        return rows.tocsr()[[at]]
    if is_pandas(rows):
        return rows.iloc[[at]]
    if is_frame(rows):
        return rows.slice(at, 1) if hasattr(rows, "to_batches") else as_frame(rows)[at : at + 1]
    return rows[at : at + 1]


def value_of(rows: Any, place: int) -> Any:
    """The value in one column of a single row, which is a pandas frame or an array."""
    return rows.iloc[0, place] if is_pandas(rows) else rows[0, place]


def with_value(rows: Any, place: int, value: Any) -> Any:
    """A copy of a single row, a pandas frame or an array, with another value in one column.

    A number in a float column gets the column's type, and a column of objects keeps its type.
    """
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if is_pandas(rows):
        made = rows.copy()
        dtype = made.dtypes.iloc[place]
        kept = isinstance(dtype, np.dtype) and (dtype.kind == "O" or (dtype.kind == "f" and number))
        made.isetitem(place, np.array([value], dtype=dtype) if kept else [value])
        return made
    made = np.array(rows, dtype=rows.dtype if number else object)
    made[0, place] = value
    return made
