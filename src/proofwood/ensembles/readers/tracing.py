"""Trace columns through the steps of a pipeline: from which column of the table each comes, and how.

A traced column is one of these: a monotone function of one column of the table, except for numbers that an imputer
replaces; a number for each category of one column; the 0/1 indicator of a missing value or of a bin; or a constant. A
step that combines several columns into one cannot be traced and is refused. The trace says on which single values the
steps have to be run (:mod:`.preparation`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils import get_tags

from proofwood.ensembles.readers.monotone import function_of, powers, quantiles, scaling
from proofwood.ensembles.readers.reading import absent, others
from proofwood.ensembles.readers.register import Columns
from proofwood.ensembles.steps import Step

STEPS = (
    "ColumnTransformer, FeatureUnion, OneHotEncoder, OrdinalEncoder, TargetEncoder, the encoders of category_encoders, "
    "SimpleImputer, MissingIndicator, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PowerTransformer, "
    "QuantileTransformer, KBinsDiscretizer, Binarizer, FunctionTransformer with a monotone function, selection of "
    "columns, 'passthrough' and 'drop'"
)
BEHIND = (
    "Or explain only the last step, over the columns that the steps before it make: Explainer(pipeline[-1], "
    "X=pipeline[:-1].transform(X))"
)


@dataclass(frozen=True)
class Traced:
    """A column between two steps.

    Parameters
    ----------
    column : the column of the table from which it comes
    encoded : whether an encoder gave each category of the column a number
    coded : whether these numbers are 0, 1, ... in the order of the categories, without any other values
    fills : pairs of a value that an imputer replaces and its replacement, one imputer after the other
    steps : the steps applied to the number after the imputers
    bin : if not None, the column is 1 for numbers in this bin, else 0
    after : the steps applied to this 0 or 1
    constant : whether the column has the same number in every row
    """

    column: int
    encoded: bool = False
    coded: bool = False
    fills: tuple[tuple[Any, Any], ...] = ()
    steps: tuple[Step, ...] = ()
    bin: int | None = None
    after: tuple[Step, ...] = ()
    constant: bool = False

    def then(self, *steps: Step) -> Traced:
        """The column after further steps."""
        if self.constant or self.encoded:
            return self
        if self.bin is not None:
            return replace(self, after=(*self.after, *steps))
        return replace(self, steps=(*self.steps, *steps))

    @property
    def changed(self) -> bool:
        """Whether a step other than an imputer has changed the column of the table."""
        steps = any(step.what != "whole" for step in self.steps)
        return self.encoded or steps or self.bin is not None or self.constant

    @property
    def refuses_gaps(self) -> bool:
        """Whether a step refuses missing values in the unchanged column of the table."""
        return not self.changed and bool(self.steps)

    @property
    def tells_gaps(self) -> bool:
        """Whether the column is the indicator of missing numbers."""
        return any(step.what == "gap" for step in self.steps)

    def filled(self, value: Any) -> Any:
        """The value that imputers put in place of a value of the table; the same value if they do not replace it."""
        for blank, fill in self.fills:
            if (is_gap(blank) and absent(value)) or (not is_gap(blank) and _same(blank, value)):
                value = fill
        return value

    @property
    def swapped(self) -> list[float]:
        """The numbers that imputers replace by others."""
        return [float(blank) for blank, _ in self.fills if not is_gap(blank) and not isinstance(blank, str)]


def is_gap(blank: Any) -> bool:
    """Whether the value that an imputer replaces is a missing value."""
    return absent(blank)


def _same(a: Any, b: Any) -> bool:
    return not absent(b) and bool(a == b)


@dataclass(eq=False)
class Trace:
    """The information that the steps give about the columns of the table.

    Parameters
    ----------
    categories : by column, its categories in the order of their codes; a missing value may be one
    strict : columns in which unknown categories are an error
    blanks : by column, the values that imputers and indicators treat as missing
    functions : whether a NumPy function gets a column of the table unchanged
    """

    categories: dict[int, list[Any]] = field(default_factory=dict)
    strict: set[int] = field(default_factory=set)
    blanks: dict[int, list[Any]] = field(default_factory=dict)
    functions: bool = False

    def learn(self, column: int, values: Sequence[Any], *, strict: bool) -> None:
        """Add categories of a column; ``strict`` says whether other categories are an error."""
        known = self.categories.setdefault(column, [])
        known.extend(others(values, known))
        if strict:
            self.strict.add(column)

    def blank(self, column: int, value: Any) -> None:
        """Add a value of a column that some step treats as missing."""
        known = self.blanks.setdefault(column, [])
        known.extend(others([value], known))


def traced_through(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    """The columns that a fitted step makes of the given columns.

    Raises
    ------
    TypeError
        If the step cannot be traced, or cannot be traced with its settings.
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    if isinstance(step, Columns):
        return [columns[i] for i in step.indices]
    if isinstance(step, Pipeline):
        refuse_own_ways(step, _pipeline_class(step))
        for part in steps_of(step):
            columns = traced_through(part, columns, trace)
        return columns
    for kind, reader in _READERS.items():
        if isinstance(step, kind):
            refuse_own_ways(step, kind)
            return reader(step, columns, trace)
    if isinstance(step, SelectorMixin):
        refuse_own_ways(step, SelectorMixin, also=("_transform",))
        kept = step.get_support().tolist()
        return _checked(step, [column for column, stays in zip(columns, kept, strict=True) if stays])
    if type(step).__module__.split(".")[0] == "category_encoders":
        return _by_category_encoders(step, columns, trace)
    raise TypeError(
        f"the pipeline has a {type(step).__name__}, whose columns cannot be traced back to single columns: expected "
        f"{STEPS}. {BEHIND}"
    )


def steps_of(pipeline: Any) -> list[Any]:
    """The steps of a pipeline that change rows in a prediction, without the samplers of imbalanced-learn."""
    samples = type(pipeline).__module__.startswith("imblearn")
    return [
        step
        for _, step in pipeline.steps
        if step is not None
        and not (isinstance(step, str) and step == "passthrough")
        and not (samples and hasattr(step, "fit_resample"))
    ]


def _pipeline_class(step: Any) -> type:
    own = type(step)
    return own if own.__module__.startswith("imblearn.") else Pipeline


HARMLESS = frozenset(
    {"__init__", "__repr__", "__doc__", "__module__", "__getstate__", "__setstate__", "__sklearn_tags__"}
    | {"__sklearn_clone__", "fit", "fit_transform", "fit_predict", "get_params", "set_params", "set_output"}
    | {"_get_param_names", "get_feature_names_out", "score", "inverse_transform", "_parameter_constraints"}
)
"""Names that a user's subclass may override, because the results of a fitted step do not depend on them."""


def refuse_own_ways(step: Any, kind: type, also: Sequence[str] = ()) -> None:
    """Raise TypeError if a step, or its class, overrides a method of ``kind`` that can change its results."""
    order = type(step).__mro__
    ahead = order[: order.index(kind)]
    if kind is SelectorMixin:  # its subclasses override what they select, and report it themselves
        changed = [name for name in ("transform", *also) if getattr(type(step), name) is not getattr(kind, name)]
    else:
        changed = [
            name
            for one in ahead
            for name, value in vars(one).items()
            if name not in HARMLESS and not name.endswith("_request") and callable(value) and hasattr(kind, name)
        ]
    changed += [name for name in vars(step) if callable(getattr(kind, name, None)) and name not in HARMLESS]
    if changed:
        raise TypeError(
            f"the pipeline has a {type(step).__name__} of {type(step).__module__}, which overrides {changed[0]} of "
            f"{kind.__module__.split('.')[0]}.{kind.__name__}: expected an unchanged step of scikit-learn ({STEPS}). "
            f"{BEHIND}"
        )


def _checked(step: Any, columns: list[Traced]) -> list[Traced]:
    """The columns before a step, marked as refusing missing values if the step refuses them."""
    return columns if get_tags(step).input_tags.allow_nan else [column.then(Step("whole")) for column in columns]


# ---------------------------------------------------------------------------------------------------- several columns


def _through_columns(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    placed: dict[int, Traced] = {}
    for name, part, _ in step.transformers_:
        indices = step._transformer_to_input_indices[name]
        if len(indices) == 0 or (isinstance(part, str) and part == "drop"):
            continue  # scikit-learn leaves a step without columns unfitted
        weight = (step.transformer_weights or {}).get(name)
        out = _weighted(traced_through(part, [columns[int(i)] for i in indices], trace), weight)
        span = step.output_indices_[name]
        if span.stop - span.start != len(out):
            raise TypeError(
                f"the transformer {name!r} of the ColumnTransformer makes {span.stop - span.start} columns, but only "
                f"{len(out)} of them can be traced back: expected {STEPS}. {BEHIND}"
            )
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
        return [Traced(column.column, constant=True) for column in columns]
    return [column.then(Step("multiply", float(weight))) for column in columns]


# --------------------------------------------------------------------------------------------------------- categories


def listed_categories(values: Any) -> list[Any]:
    """The categories of an encoder; dates stay dates."""
    array = np.asarray(values)
    return list(array) if array.dtype.kind in "mM" else list(array.tolist())


def _encoded(widths: Callable[[Any, int], int], unknown_is_error: Callable[[Any], bool]) -> _Reader:
    """A reader of scikit-learn encoders; ``widths`` returns how many columns an encoder makes of one column."""

    def reader(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
        out: list[Traced] = []
        strict = unknown_is_error(step)
        for k, (column, found) in enumerate(zip(columns, step.categories_, strict=True)):
            values = listed_categories(found)
            _learn(column, values, type(step).__name__, trace, strict=strict)
            coded = isinstance(step, OrdinalEncoder) and strict and not any(map(absent, values)) and not column.changed
            out += [replace(column, encoded=True, coded=coded, steps=())] * widths(step, k)
        return out

    return reader


def _learn(column: Traced, values: Sequence[Any], name: str, trace: Trace, *, strict: bool) -> None:
    if column.encoded or column.constant:
        return  # it codes the numbers of another encoder
    if column.changed:
        raise TypeError(
            f"the pipeline has a {name} after a scaler or bins, whose numbers it treats as categories: expected an "
            f"encoder that receives columns of the table. {BEHIND}"
        )
    trace.learn(column.column, values, strict=strict)


def _width(step: Any, k: int) -> int:
    """The number of columns that a OneHotEncoder makes of column ``k``."""
    rare = (getattr(step, "infrequent_categories_", None) or [None] * (k + 1))[k]
    merged = 0 if rare is None else len(rare) - 1
    return len(step.categories_[k]) - merged - (step.drop_idx_ is not None and step.drop_idx_[k] is not None)


def _by_category_encoders(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    """The columns after an encoder of category_encoders, which encodes some columns and leaves the others unchanged."""
    import category_encoders  # optional, start-up time: the step is one of its

    name = type(step).__name__
    if getattr(category_encoders, name, None) is not type(step) or name in ("HashingEncoder", "MultiHotEncoder"):
        raise TypeError(
            f"the pipeline has a {name} of category_encoders, whose columns cannot be traced back to single columns: "
            f"expected {STEPS}. {BEHIND}"
        )
    given = [str(one) for one in step.feature_names_in_]
    if len(given) != len(columns):
        raise TypeError(
            f"the {name} was fitted on {len(given)} columns, but it gets {len(columns)}: fit the pipeline as a whole"
        )
    makes: dict[str, str] = {}
    for column in map(str, step.cols):
        values = _categories_of(step, column)
        blanks = [] if getattr(step, "handle_missing", "value") == "error" else [np.nan]
        strict = getattr(step, "handle_unknown", "value") == "error"
        own = columns[given.index(column)]
        _learn(own, [value for value in values if not absent(value)], name, trace, strict=strict)
        for blank in blanks:
            trace.blank(own.column, blank)
        makes.update(dict.fromkeys(_made_of(step, column), column))
    out = []
    for made in map(str, step.get_feature_names_out()):
        source = makes.get(made, made)
        if source not in given:
            raise TypeError(
                f"the {name} makes a column {made!r} that does not come from a single column: expected {STEPS}. "
                f"{BEHIND}"
            )
        before = columns[given.index(source)]
        out.append(replace(before, encoded=True, coded=False, steps=()) if made in makes else before)
    return out


def _ordinal(step: Any) -> Any:
    """The inner encoder that gives categories their numbers; the step itself if it has no inner encoder."""
    for name in ("ordinal_encoder", "base_n_encoder"):
        inside = getattr(step, name, None)
        if inside is not None:
            return _ordinal(inside)
    return step


def _categories_of(step: Any, column: str) -> list[Any]:
    """The categories of a column, from an encoder's mapping, which is a list of entries or a dict by column name."""
    mapping = _ordinal(step).mapping
    entries = (
        {str(name): table for name, table in mapping.items()}
        if isinstance(mapping, dict)
        else {str(entry["col"]): entry["mapping"] for entry in mapping or ()}
    )
    if column not in entries:
        raise TypeError(
            f"the {type(step).__name__} of category_encoders does not store the categories of the column {column!r}: "
            f"expected {STEPS}. {BEHIND}"
        )
    table = entries[column]
    return list(table) if isinstance(table, dict) else list(table.index)


def _made_of(step: Any, column: str) -> list[str]:
    """Names of the columns that an encoder makes of one column."""
    inside = getattr(step, "base_n_encoder", step)
    for entry in inside.mapping if isinstance(inside.mapping, list) else ():
        if str(entry["col"]) == column and hasattr(entry["mapping"], "columns"):
            return [str(name) for name in entry["mapping"].columns]
    return [column]


# ----------------------------------------------------------------------------------------------------- missing values


def _imputed(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    blank = step.missing_values
    out = []
    for column, value in zip(columns, np.asarray(step.statistics_, dtype=object).tolist(), strict=True):
        empty = value != value or type(value).__name__ == "NAType"  # None may be what is filled in
        dropped = empty and not getattr(step, "keep_empty_features", False)
        if column.constant or column.encoded or (is_gap(blank) and column.refuses_gaps):
            made = column
        elif column.changed:
            if not is_gap(blank):
                raise TypeError(
                    f"the pipeline has a SimpleImputer(missing_values={blank!r}) after a step that changes the "
                    f"column: expected an imputer that receives columns of the table. {BEHIND}"
                )
            made = column if absent(value) else column.then(Step("fill", float(value)))
        else:
            trace.blank(column.column, blank)
            if not is_gap(blank):  # such an imputer takes no missing value
                column = column if any(is_gap(b) for b, _ in column.fills) else column.then(Step("whole"))
            made = replace(column, fills=(*column.fills, (blank, value)))
        if not dropped:
            out.append(made)
    if step.add_indicator:
        out += _gaps(step.indicator_, columns, trace)
    return out


def _gaps(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    out = []
    for k in sorted(step.features_.tolist()):
        column, blank = columns[k], step.missing_values
        if not column.changed:
            trace.blank(column.column, blank)
        if is_gap(blank):
            out.append(column.then(Step("gap")))
        elif column.changed and not column.encoded and not column.constant:
            raise TypeError(
                f"the pipeline has a MissingIndicator(missing_values={blank!r}) after a step that changes the column: "
                f"expected an indicator that receives columns of the table. {BEHIND}"
            )
        elif isinstance(blank, str) or column.encoded or column.constant:
            out.append(replace(column, encoded=not column.constant, coded=False))
        else:
            edges = float(blank), math.nextafter(float(blank), math.inf)
            out.append(replace(column.then(Step("whole"), Step("bins", ends=edges)), bin=1))
    return out


# ------------------------------------------------------------------------------------------------------------ numbers


def _each(steps_of_column: Callable[[Any, int], tuple[Step, ...]]) -> _Reader:
    """A reader of a step that transforms each column separately; ``steps_of_column`` returns a column's operations."""

    def reader(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
        return [_after(column, partial(steps_of_column, step, k)) for k, column in enumerate(_checked(step, columns))]

    return reader


def _after(column: Traced, steps: Callable[[], tuple[Step, ...]]) -> Traced:
    """The column after further operations, which are not read for encoded or constant columns."""
    return column if column.encoded or column.constant else column.then(*steps())


def _binned(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    out: list[Traced] = []
    for k, column in enumerate(_checked(step, columns)):
        if column.bin is not None:
            raise TypeError(
                "the pipeline has a KBinsDiscretizer after another one that makes columns of 0 and 1: leave out one of "
                "them"
            )
        single = step.dtype is not None and np.dtype(step.dtype) == np.float32
        bins = Step("bins", ends=tuple(float(end) for end in step.bin_edges_[k][1:-1]))
        made = column if column.encoded or column.constant else column.then(*[Step("single")] * single, bins)
        if step.encode == "ordinal":
            out.append(made)
        elif made.encoded or made.constant:
            out += [made] * int(step.n_bins_[k])
        else:
            out += [replace(made, bin=b) for b in range(int(step.n_bins_[k]))]
    return out


def _functions(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    if step.func is None:
        return columns
    made = (*[Step("whole")] * bool(step.validate), function_of(step))
    trace.functions = trace.functions or any(not column.changed for column in columns)
    return [_after(column, lambda: made) for column in columns]


def _taken_apart(steps_of_column: Callable[[Any, int, int], tuple[Step, ...]]) -> _Reader:
    """A reader of a step whose operations are checked against the results of the step itself."""

    def reader(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
        n = len(columns)
        return [_after(column, partial(steps_of_column, step, k, n)) for k, column in enumerate(columns)]

    return reader


def _polynomial(step: Any, columns: list[Traced], trace: Trace) -> list[Traced]:
    powers_of = np.asarray(step.powers_)
    if (powers_of.sum(axis=1) > 1).any():
        raise TypeError(
            "the pipeline has PolynomialFeatures with products of columns, which do not come from single columns: "
            f"expected degree=1, or {STEPS}. {BEHIND}"
        )
    columns = _checked(step, columns)
    return [columns[int(row.argmax())] if row.any() else Traced(columns[0].column, constant=True) for row in powers_of]


_Reader = Callable[[Any, list[Traced], Trace], list[Traced]]

_READERS: dict[type, _Reader] = {
    ColumnTransformer: _through_columns,
    FeatureUnion: _through_union,
    OneHotEncoder: _encoded(_width, lambda step: step.handle_unknown == "error"),
    OrdinalEncoder: _encoded(lambda step, k: 1, lambda step: step.handle_unknown == "error"),
    TargetEncoder: _encoded(
        lambda step, k: len(step.classes_) if step.target_type_ == "multiclass" else 1, lambda step: False
    ),
    SimpleImputer: _imputed,
    MissingIndicator: _gaps,
    StandardScaler: _each(scaling),
    MinMaxScaler: _each(scaling),
    MaxAbsScaler: _each(scaling),
    RobustScaler: _each(scaling),
    Binarizer: _each(lambda step, k: (Step("above", float(step.threshold)),)),
    KBinsDiscretizer: _binned,
    FunctionTransformer: _functions,
    PolynomialFeatures: _polynomial,
    PowerTransformer: _taken_apart(powers),
    QuantileTransformer: _taken_apart(quantiles),
}
"""The reader of each class of steps."""
