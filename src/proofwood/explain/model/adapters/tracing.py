"""Columns on their way through the steps of a pipeline: from which column of the table each comes, and how.

A traced column is a monotone function of one column of the table, a number for each category of one, the 0/1 indicator
of a missing value, or that of a bin. A step that mixes columns has no such trace and is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from proofwood.explain.model.adapters.monotone import function_of, powers, quantiles, scaling
from proofwood.explain.model.adapters.reading import absent
from proofwood.explain.model.steps import Step

STEPS = (
    "ColumnTransformer, FeatureUnion, OneHotEncoder, OrdinalEncoder, SimpleImputer, MissingIndicator, StandardScaler, "
    "MinMaxScaler, MaxAbsScaler, RobustScaler, PowerTransformer, QuantileTransformer, KBinsDiscretizer, Binarizer, "
    "FunctionTransformer with a monotone function, selection of columns, 'passthrough' and 'drop'"
)


@dataclass(frozen=True)
class Traced:
    """A column between two steps.

    Parameters
    ----------
    column : of the table
    filled : whether an imputer fills a missing value of the column itself
    fill : what it fills in
    table : the number that each category of the column becomes, in their order; None if the column is a number
    other : the number that an unknown category becomes; NaN also where it is an error
    coded : whether these numbers are 0, 1, ... in order, and nothing else may come
    steps : of the number
    bin : the column is 1 where the number is in this bin, else 0; None if it is the number
    after : steps of that 0 or 1
    """

    column: int
    filled: bool = False
    fill: Any = None
    table: tuple[float, ...] | None = None
    other: float = np.nan
    coded: bool = False
    steps: tuple[Step, ...] = ()
    bin: int | None = None
    after: tuple[Step, ...] = ()

    def then(self, *steps: Step) -> Traced:
        """The column after further steps."""
        if self.bin is not None:
            return replace(self, after=(*self.after, *steps))
        return replace(self, steps=(*self.steps, *steps))

    @property
    def changed(self) -> bool:
        """Whether it is something else than the column of the table, gaps filled or not."""
        return self.table is not None or bool(self.steps) or self.bin is not None


@dataclass(eq=False)
class Trace:
    """What the steps say about the columns of the table.

    Parameters
    ----------
    categories : of a column, in the order of their codes; a missing value may be one
    other : columns of which unknown categories are no error
    whole : columns of which a missing value is an error
    blank : what stands for a missing value of a column to the steps that look for one: nan, or None
    """

    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    other: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    blank: dict[int, Any] = field(default_factory=dict)


def traced_through(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    """The columns that come out of a fitted step.

    Raises
    ------
    TypeError
        If the step is none that can be traced, or not with these settings.
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    name = type(step).__name__
    if name == "Pipeline":
        for _, part in step.steps:
            columns = traced_through(part, columns, trace)
        return columns
    reader = _READERS.get(name)
    if reader is not None:
        return reader(step, columns, trace)
    if hasattr(step, "get_support"):
        kept = step.get_support().tolist()
        return _checked(step, [column for column, stays in zip(columns, kept, strict=True) if stays])
    raise TypeError(f"the pipeline has a {name}, which has no trace back to single columns: expected {STEPS}")


def _checked(step: Any, columns: list[Traced]) -> list[Traced]:
    """The columns behind a step that may take no missing value."""
    return columns if get_tags(step).input_tags.allow_nan else [column.then(Step("whole")) for column in columns]


# ---------------------------------------------------------------------------------------------------- several columns


def _through_columns(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    placed: dict[int, Traced] = {}
    for name, part, _ in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        indices = step._transformer_to_input_indices[name]
        weight = (step.transformer_weights or {}).get(name)
        out = _weighted(traced_through(part, [columns[int(i)] for i in indices], trace), weight)
        span = step.output_indices_[name]
        if span.stop - span.start != len(out):
            raise AssertionError(f"{name} gives {span.stop - span.start} columns, of which {len(out)} were traced")
        placed.update(zip(range(span.start, span.stop), out, strict=True))
    return [placed[k] for k in sorted(placed)]


def _through_union(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    out: list[Traced] = []
    for name, part in step.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        out += _weighted(traced_through(part, list(columns), trace), (step.transformer_weights or {}).get(name))
    return out


def _weighted(columns: list[Traced], weight: float | None) -> list[Traced]:
    if weight is None:
        return columns
    if weight == 0:
        raise TypeError(
            "a transformer has the weight 0, which makes its columns constant: expected 'drop' in its place"
        )
    return [column.then(Step("multiply", float(weight))) for column in columns]


# --------------------------------------------------------------------------------------------------------- categories


def _encoded(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    """What each category becomes is asked of the encoder itself: infrequent, dropped and missing ones included."""
    for column, values in zip(columns, step.categories_, strict=True):
        _learn_categories(column, values, step, trace)
    one_hot = type(step).__name__ == "OneHotEncoder"
    widths = [_width(step, k) if one_hot else 1 for k in range(len(columns))]
    out: list[Traced] = []
    unknown_known = step.handle_unknown != "error"
    for k, (column, values) in enumerate(zip(columns, step.categories_, strict=True)):
        listed = values.tolist()
        base = [given.tolist()[0] for given in step.categories_]
        rows = np.array([base] * (len(listed) + unknown_known), dtype=object)
        rows[: len(listed), k] = listed
        if unknown_known:
            rows[len(listed), k] = unknown_to(tuple(listed))
            trace.other.add(column.column)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of columns, and categories that are not known
            made = step.transform(rows)
        made = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
        for place in range(sum(widths[:k]), sum(widths[: k + 1])):
            table, other = made[: len(listed), place], made[len(listed), place] if unknown_known else np.nan
            coded = not one_hot and not unknown_known and np.array_equal(table, np.arange(len(listed)))
            coded = coded and not any(absent(value) for value in listed)
            out.append(replace(column, table=tuple(table.tolist()), other=float(other), coded=coded))
    if sum(widths) != made.shape[1]:
        raise AssertionError(
            f"a {type(step).__name__} gives {made.shape[1]} columns, of which {sum(widths)} were traced"
        )
    return out


def _width(step: Any, k: int) -> int:
    """Columns that a OneHotEncoder makes of column ``k``."""
    rare = (getattr(step, "infrequent_categories_", None) or [None] * (k + 1))[k]
    merged = 0 if rare is None else len(rare) - 1
    return len(step.categories_[k]) - merged - (step.drop_idx_ is not None and step.drop_idx_[k] is not None)


def _learn_categories(column: Traced, values: Any, step: Any, trace: Trace) -> None:
    name, j = type(step).__name__, column.column
    if column.changed:
        raise TypeError(f"the pipeline has a {name} behind another encoder or scaler: expected it to see the columns")
    found = tuple(values.tolist())
    if sum(absent(value) for value in found) > 1:
        raise TypeError(f"the {name} has two categories for missing values: expected one, None or nan")
    known = trace.categories.setdefault(j, found)
    if [str(value) for value in known] != [str(value) for value in found]:
        raise TypeError(f"column {j} goes into two encoders with different categories")


def unknown_to(values: tuple[Any, ...]) -> Any:
    """A category that is none of these."""
    present = [value for value in values if not absent(value)]
    if not present:
        return "(unknown)"
    unknown: Any = "(unknown)" if isinstance(present[0], str) else max(present) + 1
    while unknown in present:
        unknown = f"{unknown}?"  # numbers are above all others at once
    return unknown


# ----------------------------------------------------------------------------------------------------- missing values


def _imputed(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    if not _of_nan(step):
        raise TypeError(f"the SimpleImputer has missing_values={step.missing_values!r}: expected nan")
    out = []
    trace.blank.update({column.column: step.missing_values for column in columns})
    for column, value in zip(columns, step.statistics_.tolist(), strict=True):
        if value is None or value != value:
            raise TypeError("the SimpleImputer drops a column without values: drop it before")
        if column.changed:
            out.append(column.then(Step("fill", float(value))))
        else:
            out.append(column if column.filled else replace(column, filled=True, fill=value))
    if step.add_indicator:
        out += _gaps(step.indicator_, columns, trace)
    return out


def _gaps(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    if not _of_nan(step):
        raise TypeError(f"the MissingIndicator has missing_values={step.missing_values!r}: expected nan")
    seen = set(step.features_.tolist())
    trace.blank.update({column.column: step.missing_values for column in columns})
    if step.features == "missing-only" and step.error_on_new:
        for k, column in enumerate(columns):
            if k in seen:
                continue
            if column.table is not None and not np.isfinite([*column.table, column.other]).all():
                raise TypeError(
                    "a MissingIndicator behind an encoder refuses some categories: expected it to come first"
                )
            if not column.filled:
                trace.whole.add(column.column)
    return [columns[k].then(Step("gap")) for k in sorted(seen)]


def _of_nan(step: Any) -> bool:
    return bool(absent(step.missing_values))


# ------------------------------------------------------------------------------------------------------------ numbers


def _each(
    steps_of: Callable[[Any, int], tuple[Step, ...]],
) -> Callable[[Any, list[Traced], Trace], list[Traced]]:
    """A reader of a step that changes each column by itself."""

    def reader(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
        return [column.then(*steps_of(step, k)) for k, column in enumerate(_checked(step, columns))]

    return reader


def _binned(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    out: list[Traced] = []
    for k, column in enumerate(_checked(step, columns)):
        if column.bin is not None:
            raise TypeError("the pipeline has a KBinsDiscretizer behind another one with columns of 0 and 1")
        if step.dtype is not None and np.dtype(step.dtype) == np.float32:
            column = column.then(Step("single"))
        made = column.then(Step("bins", ends=tuple(float(end) for end in step.bin_edges_[k][1:-1])))
        out += [made] if step.encode == "ordinal" else [replace(made, bin=b) for b in range(int(step.n_bins_[k]))]
    return out


def _functions(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    if step.func is None:
        return columns
    made = function_of(step)
    more = (Step("whole"), made) if step.validate else (made,)
    return [column.then(*more) for column in columns]


def _taken_apart(
    steps_of: Callable[[Any, int, int], tuple[Step, ...]],
) -> Callable[[Any, list[Traced], Trace], list[Traced]]:
    """A reader of a step that is compared with its own results."""

    def reader(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
        return [column.then(*steps_of(step, k, len(columns))) for k, column in enumerate(columns)]

    return reader


_READERS: dict[str, Callable[[Any, list[Traced], Trace], list[Traced]]] = {
    "ColumnTransformer": _through_columns,
    "FeatureUnion": _through_union,
    "OneHotEncoder": _encoded,
    "OrdinalEncoder": _encoded,
    "SimpleImputer": _imputed,
    "MissingIndicator": _gaps,
    "StandardScaler": _each(scaling),
    "MinMaxScaler": _each(scaling),
    "MaxAbsScaler": _each(scaling),
    "RobustScaler": _each(scaling),
    "Binarizer": _each(lambda step, k: (Step("above", float(step.threshold)),)),
    "KBinsDiscretizer": _binned,
    "FunctionTransformer": _functions,
    "PowerTransformer": _taken_apart(powers),
    "QuantileTransformer": _taken_apart(quantiles),
}
"""Readers of steps by the name of their class."""
