"""``DateParts``: a transformer that adds columns for the month, weekday or hour of dates, which a tree can test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from proofwood.data.frames import as_frame, is_frame, is_pandas
from proofwood.data.kinds import Kind
from proofwood.data.moments import in_local_time
from proofwood.data.schema import new_table, training_table
from proofwood.exceptions import DataError, DataWarning
from proofwood.model.node_table import FloatArray

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday
_MICROSECONDS_OF_DAY = 86_400_000_000

Days = npt.NDArray[np.datetime64]
_OF_DAYS: Mapping[str, Callable[[Days], Any]] = MappingProxyType(
    {
        "year": lambda days: days.astype("M8[Y]").astype(np.int64) + 1970,
        "month": lambda days: days.astype("M8[M]").astype(np.int64) % 12 + 1,
        "day": lambda days: (days - days.astype("M8[M]")).astype(np.int64) + 1,
        "weekday": lambda days: (days.astype(np.int64) + _EPOCH_WEEKDAY) % 7,
    }
)
_OF_TIMES: Mapping[str, int] = MappingProxyType({"hour": 3_600_000_000, "minute": 60_000_000})
PARTS = (*_OF_DAYS, *_OF_TIMES)
"""The names of the parts that :class:`DateParts` can add."""


@dataclass(eq=False, repr=False)
class DateParts(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Adds parts of dates and times to a frame: ``opened`` gives ``opened month``, ``opened weekday``.

    The learners test a date by thresholds, such as ``opened <= 2024-05-03``. To test a pattern that repeats every year,
    week or day, they need a column for the month, weekday or hour. Use this transformer before a learner, in a pipeline
    or by itself.

    Parameters
    ----------
    parts : sequence of {"year", "month", "day", "weekday", "hour", "minute"}, default ("month", "weekday", "hour")
        The parts to add. Weekdays are text (``Mon``), so that trees can test any set of them; all other parts are
        numbers. Parts that a column does not have are skipped: a date has no hour or minute, a time of day only these.
        Moments in a time zone are read in local time, in the zone of the training data.
    columns : list of names or None, default None
        Columns of dates, moments or times; None means all of them, including ISO 8601 text.
    keep : bool, default True
        Whether the original columns stay in the frame.

    Attributes
    ----------
    added_ : dict from column name to tuple of the parts added for it
    schema_ : Schema
        Name and kind of each column.
    feature_names_in_ : (n_features_in_,) names of the columns
    n_features_in_ : int

    Examples
    --------
    >>> import polars as pl
    >>> from proofwood import DateParts
    >>> DateParts(["month", "weekday"]).fit_transform(pl.DataFrame({"opened": ["2024-05-03", None]})).rows()
    [('2024-05-03', 5, 'Fri'), (None, None, None)]
    """

    parts: Sequence[str] = ("month", "weekday", "hour")
    _: KW_ONLY
    columns: Sequence[str] | None = None
    keep: bool = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns of dates and times.

        Parameters
        ----------
        X : a frame
        y : not used

        Raises
        ------
        ValueError
            If a part or column is unknown, or a column of ``columns`` has no dates or times.
        TypeError
            If ``X`` is not a frame.
        """
        if isinstance(self.parts, str):
            raise ValueError(f"parts={self.parts!r}: expected a list, such as [{self.parts!r}]")
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(f"parts has {part!r}: expected some of {', '.join(map(repr, PARTS))}")
        frame = _frame(X)
        names = [str(name) for name in frame.columns]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the learner warns of it
            schema = training_table(frame)[1]
        self.schema_ = replace(schema, left_out={})  # a column with only one date is also used
        kinds = {column.name: column.kind for column in self.schema_.columns}
        wanted = names if self.columns is None else list(self.columns)
        for name in wanted:
            if name not in kinds:
                raise ValueError(f"columns has {name!r}, which X does not have; X has {', '.join(names[:20])}")
            if self.columns is not None and not _parts_of(kinds[name], PARTS):
                raise DataError(f"column {name!r} has no dates or times: remove it from columns")
        found = {name: _parts_of(kinds[name], self.parts) for name in wanted}
        self.added_ = {name: parts for name, parts in found.items() if parts}
        taken = [name for name in self._names() if name in names]
        if taken:
            raise DataError(f"X already has a column {taken[0]!r}, the name of a column to add: rename it")
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def _names(self) -> list[str]:
        return [f"{name} {part}" for name, parts in self.added_.items() for part in parts]

    def transform(self, X: Any) -> Any:
        """Return the frame with the parts as additional columns; a part is missing if the date is missing.

        Parameters
        ----------
        X : a frame with the columns of training
        """
        check_is_fitted(self)
        frame = _frame(X)
        names = [str(name) for name in frame.columns]
        if names != self.feature_names_in_.tolist():
            raise ValueError(
                f"X has the columns {', '.join(names[:20])}: expected those of training, in the same order: "
                f"{', '.join(self.feature_names_in_.tolist()[:20])}"
            )
        values = np.asarray(new_table(frame, self.schema_), dtype=np.float64)
        made: dict[str, list[Any]] = {}
        for name, parts in self.added_.items():
            j = names.index(name)
            column = self.schema_.columns[j]
            local = in_local_time(values[:, j], column.zone)
            for part in parts:
                made[f"{name} {part}"] = _part(local, column.kind, part)
        gone = [] if self.keep else list(self.added_)
        if is_pandas(frame):
            import pandas as pd

            kept = frame.drop(columns=gone)
            return kept.assign(**{name: pd.Series(_typed(column), index=kept.index) for name, column in made.items()})
        import polars as pl

        return frame.drop(gone).with_columns(
            pl.Series(name, column, dtype=pl.String if name.endswith(" weekday") else pl.Int64)
            for name, column in made.items()
        )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The names of the columns that :meth:`transform` returns.

        Parameters
        ----------
        input_features : not used
        """
        check_is_fitted(self)
        kept = [name for name in self.feature_names_in_ if self.keep or name not in self.added_]
        return np.array([*kept, *self._names()], dtype=object)


def _frame(X: Any) -> Any:
    if not is_frame(X):
        raise TypeError(f"DateParts needs a pandas or polars frame, but X is of type {type(X).__name__}")
    return as_frame(X)


def _parts_of(kind: Kind, parts: Sequence[str]) -> tuple[str, ...]:
    """The subset of ``parts`` that a column of this kind has."""
    days = kind in (Kind.DATE, Kind.MOMENT)
    times = kind in (Kind.MOMENT, Kind.TIME)
    return tuple(part for part in parts if (days and part in _OF_DAYS) or (times and part in _OF_TIMES))


def _part(values: FloatArray, kind: Kind, part: str) -> list[Any]:
    """One part of each date; None if the date is missing."""
    known = ~np.isnan(values)
    numbers = values[known].astype(np.int64)
    if part in _OF_DAYS:
        days = numbers if kind is Kind.DATE else numbers // _MICROSECONDS_OF_DAY
        found = _OF_DAYS[part](days.astype("M8[D]")).tolist()
        if part == "weekday":
            found = [WEEKDAYS[day] for day in found]
    else:
        unit = _OF_TIMES[part]
        within = 24 if part == "hour" else 60
        found = (numbers // unit % within).tolist()
    column: list[Any] = [None] * values.size
    for row, value in zip(np.flatnonzero(known).tolist(), found, strict=True):
        column[row] = value
    return column


def _typed(column: list[Any]) -> Any:
    """Numbers as float64, with NaN for missing values; text as an object array."""
    if any(isinstance(value, str) for value in column):
        return np.array(column, dtype=object)
    return np.array([np.nan if value is None else value for value in column], dtype=np.float64)
