"""Targets of numbers: read as columns are read, text that holds numbers too, or refused with the way out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import (
    Column,
    Columns,
    read_columns,
    require_exact_integers,
    require_told_apart,
)
from proofwood.data.frames import as_frame, is_frame
from proofwood.data.from_text import read_from_text
from proofwood.data.kinds import MOMENTS, NUMBERS, Kind
from proofwood.data.text_forms import form_from
from proofwood.exceptions import DataError
from proofwood.hints import About, Hint, way_out
from proofwood.model.node_table import FloatArray
from proofwood.printable import shown


class TargetNumbers(NamedTuple):
    """A target as numbers.

    Parameters
    ----------
    values : float64, of the shape of the target
    forms : of each column how its text writes numbers, as :attr:`Column.form`; empty if no column is text
    hints : how text was read
    """

    values: FloatArray
    forms: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()


def target_numbers(
    y: Any, *, name: str | None = None, forms: Sequence[str] = (), beside: Iterable[Column] = ()
) -> TargetNumbers:
    """Read a target of numbers.

    Parameters
    ----------
    y : (n_rows,) or (n_rows, k), an array, a series, a frame or lists
    name : of the target, if ``y`` does not have one
    forms : those of training, for new rows
    beside : the columns of the rows, which decide what text of the target leaves open

    Raises
    ------
    ValueError
        If ``y`` holds something else than numbers, or numbers are missing or infinite.
    """
    if is_frame(y) or _is_series(y):
        frame = as_frame(y if is_frame(y) else y.to_frame(name=_name_of(y, name)))
        shape = (frame.shape[0],) if _is_series(y) else frame.shape
        found = _from_columns(read_columns(frame, dates=True, apart=True), forms, beside)
    else:
        array = np.asarray(y)
        shape = array.shape
        if array.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: y has numbers of type {array.dtype}")
        if array.dtype.kind in "biuf" or array.ndim not in (1, 2):
            return TargetNumbers(_finite(_plain(array)))
        cells = array.reshape(array.shape[0], -1)
        names = [name or "y"] if cells.shape[1] == 1 else [f"y[:, {j}]" for j in range(cells.shape[1])]
        found = _from_columns(read_columns(cells, names=names, dates=True, apart=True), forms, beside)
    return found._replace(values=_finite(found.values.reshape(shape)))


def _is_series(y: Any) -> bool:
    return hasattr(y, "to_frame") and len(getattr(y, "shape", ())) == 1


def _name_of(series: Any, name: str | None) -> str:
    own = series.name
    return name or ("y" if own is None or own == "" else str(own))


def _plain(array: npt.NDArray[Any]) -> FloatArray:
    require_exact_integers(array, "y")
    require_told_apart(array, "y")
    return array.astype(np.float64)


def _from_columns(read: Columns, forms: Sequence[str], beside: Iterable[Column]) -> TargetNumbers:
    """The columns as numbers, those of text by their forms in training or by what is found."""
    known = {j: form_from(form) for j, form in enumerate(forms[: len(read.columns)]) if form}
    columns, hints = read_from_text(read, known, beside=beside)
    unread = {hint.columns[0]: hint for hint in hints if hint.about in (About.OPEN, About.IN_THE_WAY)}
    for column in columns.columns:
        if column.kind not in (*NUMBERS, Kind.BOOLEAN):
            raise DataError(_refusal(column, unread.get(column.name)))
    written = tuple(column.form for column in columns.columns)
    told = tuple(hint for hint in hints if hint.about is About.READ)
    return TargetNumbers(columns.values, written if any(written) else (), told)


def _refusal(column: Column, hint: Hint | None) -> str:
    """Why a column is not a target of numbers, and what to do."""
    name = repr(column.name)
    if hint is not None and hint.about is About.OPEN:
        todo = way_out("turn it into numbers first", "say --decimal , or --decimal .")
        return f"the target {hint.seen}: {todo}"
    if hint is not None:
        return f"the target {hint.seen}: correct the cells, or drop these rows"
    what = f"the target {name} holds %s, and this learner predicts numbers: turn it into numbers%s"
    if column.kind in MOMENTS:
        held = {Kind.TIME: "times of day", Kind.DURATION: "durations"}.get(column.kind, "dates")
        return what % (held, f" first, such as {'days' if held == 'dates' else 'hours'}")
    classes = "use a classifier for labels, such as OptimalTreeClassifier"
    return what % (shown(column.levels, 3), f", or {way_out(classes, 'learn classes with fit --model tree')}")


def _finite(numbers: FloatArray) -> FloatArray:
    """Numbers that are all finite; DataError says how many are not."""
    wrong = np.argwhere(~np.isfinite(numbers))
    if wrong.size:
        n, value = len({int(at[0]) for at in wrong}), numbers[tuple(wrong[0])]
        drop = way_out("drop the rows without one", "drop the rows without one (--drop-missing-target)")
        todo = drop if np.isnan(value) else "drop the rows, or replace it by a number"
        raise DataError(
            f"Input y contains NaN or infinity: no number in row {wrong[0][0]} ({value}), and in "
            f"{n:,} of {len(numbers):,} rows in all: {todo}"
        )
    return numbers
