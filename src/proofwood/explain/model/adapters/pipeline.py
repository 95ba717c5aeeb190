"""Pipelines of scikit-learn: explanations speak of the columns that go in, not of those that preprocessing makes.

Every column that reaches the model is traced back to one column of the table: itself, scaled by monotone steps, or the
0/1 indicator of one of its categories. A step that mixes columns has no such trace and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.kinds import Kind
from proofwood.explain.model.adapters.reading import Adapted, column_names, mixed
from proofwood.explain.model.adapters.sklearn import codes_of, unnamed
from proofwood.explain.model.space import Input, Source, Step
from proofwood.model.node_table import BoolArray, FloatArray, IntArray

SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
STEPS = (
    "ColumnTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer, StandardScaler, MinMaxScaler, MaxAbsScaler, "
    "RobustScaler, KBinsDiscretizer(encode='ordinal'), selection of columns, 'passthrough' and 'drop'"
)


@dataclass(eq=False)
class _Trace:
    """What the steps say about the columns of the table."""

    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    ordered: set[int] = field(default_factory=set)
    other: set[int] = field(default_factory=set)
    fill: dict[int, Any] = field(default_factory=dict)


def from_pipeline(pipeline: Any, inner: Adapted, feature_names: Sequence[str] | None) -> Adapted:
    """A fitted ``Pipeline`` whose last step is the model that ``inner`` reads.

    Columns of a OneHotEncoder become one column of categories: exactly one of the known ones, or also any other if
    ``handle_unknown`` lets them pass. Missing values that a SimpleImputer fills are read as what it fills in.

    Raises
    ------
    TypeError
        If a step has no trace back to single columns.
    """
    check_is_fitted(pipeline)
    if any(given.kind is not Kind.NUMERIC for given in inner.inputs):
        raise TypeError("the last step of the pipeline has categories of its own: explain it without the pipeline")
    known_names = getattr(pipeline, "feature_names_in_", None)
    n_columns = int(pipeline.n_features_in_)
    names = column_names(known_names, n_columns, feature_names)
    trace = _Trace()
    sources = [Source(j) for j in range(n_columns)]
    for _, step in pipeline.steps[:-1]:
        sources = _through(step, sources, trace)
    if len(sources) != inner.forest.n_columns:
        raise AssertionError(f"{len(sources)} columns traced, but the model takes {inner.forest.n_columns}")
    used = sorted({source.column for source in sources})
    place = {column: at for at, column in enumerate(used)}
    inputs = tuple(_input(names[j], j, trace) for j in used)
    spread = _Spread(pipeline, n_columns, None if known_names is None else tuple(known_names), tuple(used))
    categories = {place[j]: values for j, values in trace.categories.items() if j in place}
    regressor = inner.forest.is_regressor
    classes = np.asarray(getattr(pipeline, "classes_", inner.forest.classes))
    predict: Callable[[FloatArray], Any] = partial(_predict, spread, categories, classes)
    output: Callable[[FloatArray], FloatArray] | None = None
    if regressor:
        predict = output = partial(_output, spread, categories, pipeline.predict)
    elif inner.forest.output is not None:
        output = partial(_output, spread, categories, pipeline.predict_proba)
    # an imputer fills the gap, and an encoder takes no missing value
    filled = np.array([source.column in trace.fill or source.column in trace.categories for source in sources])
    forest = inner.forest
    forest = replace(
        forest,
        classes=classes,
        takes_missing=None if forest.takes_missing is None else forest.takes_missing & ~filled,
        predict=predict,
        output=output,
    )
    if inner.forest.majority:
        predict = partial(_of_inner, spread, categories, inner.predict)
        output = None if inner.output is None else partial(_of_inner, spread, categories, inner.output)
        forest = replace(forest, predict=predict, output=output)
    read = partial(
        _read,
        names=names,
        used=tuple(used),
        known=trace.categories,
        fill=trace.fill,
    )
    traced = tuple(replace(source, column=place[source.column]) for source in sources)
    filled_in = partial(_filled, names=names, used=tuple(used), known=trace.categories, fill=trace.fill)
    return Adapted(forest, inputs, traced, read, predict, output=output, filled=filled_in)


def _input(name: str, j: int, trace: _Trace) -> Input:
    if j not in trace.categories:
        return Input(name)
    texts = tuple(str(value) for value in trace.categories[j])
    if j in trace.ordered:
        return Input(name, Kind.ORDERED, 0.0, float(len(texts) - 1), levels=texts)
    return Input(name, Kind.NOMINAL, levels=texts, other=j in trace.other)


# ------------------------------------------------------------------------------------------------------------- tracing


def _through(step: Any, sources: list[Source], trace: _Trace) -> list[Source]:
    """Sources of the columns that come out of a fitted step."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return sources
    name = type(step).__name__
    if name == "Pipeline":
        for _, part in step.steps:
            sources = _through(part, sources, trace)
        return sources
    if name == "ColumnTransformer":
        return _through_columns(step, sources, trace)
    if name == "FunctionTransformer" and step.func is None:
        return sources
    if name == "OneHotEncoder":
        return _through_one_hot(step, sources, trace)
    if name == "OrdinalEncoder":
        for source, values in zip(sources, step.categories_, strict=True):
            _learn_categories(source, values, step, trace)
            trace.ordered.add(source.column)
        return sources
    if name == "SimpleImputer":
        return _through_imputer(step, sources, trace)
    if name == "KBinsDiscretizer":
        return [_binned(step, k, source) for k, source in enumerate(sources)]
    if name in SCALERS:
        return [_scaled(step, k, source) for k, source in enumerate(sources)]
    if hasattr(step, "get_support"):
        return [source for source, kept in zip(sources, step.get_support().tolist(), strict=True) if kept]
    raise TypeError(f"the pipeline has a {name}, which has no trace back to single columns: expected {STEPS}")


def _through_columns(step: Any, sources: list[Source], trace: _Trace) -> list[Source]:
    placed: dict[int, Source] = {}
    for name, part, _ in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        indices = step._transformer_to_input_indices[name]
        out = _through(part, [sources[int(i)] for i in indices], trace)
        span = step.output_indices_[name]
        if span.stop - span.start != len(out):
            raise AssertionError(f"{name} gives {span.stop - span.start} columns, of which {len(out)} were traced")
        placed.update(zip(range(span.start, span.stop), out, strict=True))
    return [placed[k] for k in sorted(placed)]


def _learn_categories(source: Source, values: Any, step: Any, trace: _Trace) -> None:
    name, j = type(step).__name__, source.column
    if source.level is not None or source.steps:
        raise TypeError(f"the pipeline has a {name} behind another encoder or scaler: expected it to see the columns")
    found = tuple(values.tolist())
    if any(value is None or value != value for value in found):
        raise TypeError(f"the {name} has a category for missing values: fill them first with a SimpleImputer")
    if j in trace.categories and trace.categories[j] != found:
        raise TypeError(f"column {j} goes into two encoders with different categories")
    trace.categories[j] = found


def _through_one_hot(step: Any, sources: list[Source], trace: _Trace) -> list[Source]:
    if any(rare is not None for rare in getattr(step, "infrequent_categories_", None) or ()):
        raise TypeError(
            "the OneHotEncoder merges infrequent categories: expected min_frequency and max_categories None"
        )
    dropped = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(sources)
    out = []
    for source, values, drop in zip(sources, step.categories_, dropped, strict=True):
        _learn_categories(source, values, step, trace)
        if step.handle_unknown != "error":
            trace.other.add(source.column)
        out += [Source(source.column, level) for level in range(len(values)) if level != drop]
    return out


def _through_imputer(step: Any, sources: list[Source], trace: _Trace) -> list[Source]:
    for source, value in zip(sources, step.statistics_.tolist(), strict=True):
        if source.level is not None or source.steps or source.column in trace.categories:
            raise TypeError("the pipeline has a SimpleImputer behind an encoder or scaler: expected it to come first")
        if step.add_indicator or (step.missing_values is not None and step.missing_values == step.missing_values):
            raise TypeError("expected a SimpleImputer with missing_values=nan and add_indicator=False")
        if value is None or value != value:
            raise TypeError("the SimpleImputer drops a column without values: drop it before")
        trace.fill[source.column] = value
    return sources


def _scaled(step: Any, k: int, source: Source) -> Source:
    """The source behind column ``k`` of a scaler, in the operations and the order of scikit-learn."""
    name = type(step).__name__
    steps: list[Step] = []
    if name == "StandardScaler":
        if step.with_mean:
            steps.append(Step("subtract", float(step.mean_[k])))
        if step.with_std:
            steps.append(Step("divide", float(step.scale_[k])))
    elif name == "RobustScaler":
        if step.with_centering:
            steps.append(Step("subtract", float(step.center_[k])))
        if step.with_scaling:
            steps.append(Step("divide", float(step.scale_[k])))
    elif name == "MaxAbsScaler":
        steps.append(Step("divide", float(step.scale_[k])))
    else:
        steps += [Step("multiply", float(step.scale_[k])), Step("add", float(step.min_[k]))]
    if getattr(step, "clip", False):
        low, high = getattr(step, "feature_range", (-1.0, 1.0))
        steps.append(Step("clip", float(low), float(high)))
    return replace(source, steps=(*source.steps, *steps))


def _binned(step: Any, k: int, source: Source) -> Source:
    """The source behind column ``k`` of a KBinsDiscretizer: the number of its inner ends up to the value."""
    if step.encode != "ordinal":
        raise TypeError(
            f"the KBinsDiscretizer has encode={step.encode!r}, whose columns are no monotone functions of a column: "
            "expected encode='ordinal'"
        )
    ends = tuple(float(end) for end in step.bin_edges_[k][1:-1])
    return replace(source, steps=(*source.steps, Step("bins", 0.0, ends=ends)))


# ------------------------------------------------------------------------------------------------------------- reading


def _read(
    X: Any, names: Sequence[str], used: tuple[int, ...], known: Mapping[int, tuple[Any, ...]], fill: Mapping[int, Any]
) -> FloatArray:
    """The columns that reach the model; the others only have to be there."""
    idle = set(range(len(names))) - set(used)
    return mixed(X, names, known, fill, idle)[:, list(used)]


def _filled(
    X: Any, names: Sequence[str], used: tuple[int, ...], known: Mapping[int, tuple[Any, ...]], fill: Mapping[int, Any]
) -> BoolArray:
    """(n_rows, n_used) whether a value is missing, and a step fills it."""
    at = [j in fill for j in used]
    gaps = np.isnan(mixed(X, names, known, None, set(range(len(names))) - set(fill))[:, list(used)])
    return np.asarray(gaps & np.array(at, dtype=bool))


@dataclass(frozen=True, eq=False)
class _Spread:
    """The pipeline, and where the columns that are read stand among those that it takes."""

    pipeline: Any
    n_columns: int
    names: tuple[str, ...] | None
    used: tuple[int, ...]

    def table(self, X: FloatArray, categories: Mapping[int, tuple[Any, ...]]) -> Any:
        """Rows as the pipeline takes them, codes turned back into categories."""
        columns: list[npt.NDArray[Any]] = [np.zeros(X.shape[0])] * self.n_columns
        for at, j in enumerate(self.used):
            columns[j] = _categories(X[:, at], categories[at]) if at in categories else X[:, at]
        if self.names is None:
            plain = all(column.dtype != object for column in columns)
            return np.stack(columns, axis=1) if plain else np.array(columns, dtype=object).T
        named = dict(zip(self.names, columns, strict=True))
        try:
            import pandas as pd  # optional: frames of polars do as well
        except ImportError:
            import polars as pl  # start-up time: only where pandas is absent

            return pl.DataFrame({name: values.tolist() for name, values in named.items()})
        return pd.DataFrame(named)


def _categories(codes: FloatArray, values: tuple[Any, ...]) -> npt.NDArray[Any]:
    unknown: Any = "(unknown)" if isinstance(values[0], str) else max(values) + 1
    while unknown in values:
        unknown = f"{unknown}?"  # numbers are above all others at once
    table = np.array([*values, unknown], dtype=object if isinstance(values[0], str) else None)
    return table[np.clip(codes, 0, len(values)).astype(np.int64)]


def _predict(
    spread: _Spread, categories: Mapping[int, tuple[Any, ...]], classes: npt.NDArray[Any], X: FloatArray
) -> IntArray:
    return codes_of(unnamed(spread.pipeline.predict, spread.table(X, categories)), classes)


def _output(
    spread: _Spread, categories: Mapping[int, tuple[Any, ...]], call: Callable[[Any], Any], X: FloatArray
) -> FloatArray:
    return np.asarray(unnamed(call, spread.table(X, categories)), dtype=np.float64)


def _of_inner(
    spread: _Spread, categories: Mapping[int, tuple[Any, ...]], call: Callable[[FloatArray], Any], X: FloatArray
) -> Any:
    """What the last step gives, in the vote that is asked for, which the pipeline itself does not take."""
    made = unnamed(spread.pipeline[:-1].transform, spread.table(X, categories))
    made = made.toarray() if hasattr(made, "toarray") else made
    return call(np.asarray(made, dtype=np.float64))
