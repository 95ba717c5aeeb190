"""Pipelines of scikit-learn: explanations speak of the columns that go in, not of those that preprocessing makes.

Every column that reaches the model is traced back to one column of the table (:mod:`.tracing`). Here the traces of a
column are put together: what its values are, where a missing value of it is filled and where it counts, and how the
tests of the model are tests of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.kinds import Kind
from proofwood.explain.model.adapters.nodes import Nodes, Sides, rewritten
from proofwood.explain.model.adapters.reading import Adapted, absent, column_names, mixed
from proofwood.explain.model.adapters.sklearn import codes_of, unnamed
from proofwood.explain.model.adapters.tracing import Trace, Traced, traced_through, unknown_to
from proofwood.explain.model.forest import Forest, ScoredTree
from proofwood.explain.model.sources import Source
from proofwood.explain.model.space import Gap, Input
from proofwood.explain.model.steps import LARGEST, Step, through
from proofwood.model.node_table import BoolArray, FloatArray, IntArray

MISSING = "(missing)"
"""Text of a missing value that is a category."""


def from_pipeline(pipeline: Any, inner: Adapted, feature_names: Sequence[str] | None) -> Adapted:
    """A fitted ``Pipeline`` whose last step is the model that ``inner`` reads.

    Columns of a OneHotEncoder become one column of categories: exactly one of the known ones, or also any other if
    ``handle_unknown`` lets them pass. Missing values that a SimpleImputer fills are read as what it fills in, unless
    another column of the model tells that one was missing: then they are part of the space like any value.

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
    trace = Trace()
    traced = [Traced(j) for j in range(n_columns)]
    for _, step in pipeline.steps[:-1]:
        traced = traced_through(step, traced, trace)
    if len(traced) != inner.forest.n_columns:
        raise AssertionError(f"{len(traced)} columns traced, but the model takes {inner.forest.n_columns}")
    found = {j: _Column.of(j, [one for one in traced if one.column == j], trace) for j in range(n_columns)}
    used = tuple(sorted({one.column for one in traced}))
    place = {column: at for at, column in enumerate(used)}
    forest, traced = _without_bins(inner.forest, traced)
    sources = [found[one.column].source(one, place[one.column]) for one in traced]
    inputs = tuple(_input(names[j], found[j], _gap_of(j, traced, inner.forest), sources, place[j]) for j in used)
    known = {j: column.values for j, column in found.items() if column.values}
    fill = {j: column.fill for j, column in found.items() if column.filled}
    idle = {j: column.values[0] for j, column in found.items() if column.values and j not in place}
    spread = _Spread(pipeline, n_columns, None if known_names is None else tuple(known_names), used, idle)
    categories = {place[j]: values for j, values in known.items() if j in place}
    classes = np.asarray(getattr(pipeline, "classes_", forest.classes))
    predict: Callable[[FloatArray], Any] = partial(_predict, spread, categories, classes)
    output: Callable[[FloatArray], FloatArray] | None = None
    if forest.is_regressor:
        predict = output = partial(_output, spread, categories, pipeline.predict)
    elif forest.output is not None:
        output = partial(_output, spread, categories, pipeline.predict_proba)
    if forest.majority:
        predict = partial(_of_inner, spread, categories, inner.predict)
        output = None if inner.output is None else partial(_of_inner, spread, categories, inner.output)
    takes = np.zeros(len(sources), dtype=bool) if forest.takes_missing is None else forest.takes_missing
    refused = np.array([one.column in fill or one.column in trace.whole or found[one.column].ordered for one in traced])
    sources = [
        replace(source, steps=(Step("whole"), *source.steps)) if no else source
        for source, no in zip(sources, refused.tolist(), strict=True)
    ]
    forest = replace(forest, classes=classes, takes_missing=takes, predict=predict, output=output)
    told: dict[str, Any] = {"names": names, "used": used, "known": known, "fill": fill}
    read, filled_in = partial(_read, **told), partial(_filled, **told)
    return Adapted(forest, inputs, tuple(sources), read, predict, output=output, filled=filled_in)


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the table, seen from all columns of the model that come from it.

    Parameters
    ----------
    values : its categories in the order of their codes, a missing value perhaps one of them; empty for numbers
    ordered : whether the order of the codes is all that the model sees
    other : whether unknown categories are part of the space
    filled : whether a missing value is read as ``fill``, which no column of the model can tell
    fill : what an imputer fills in
    """

    values: tuple[Any, ...]
    ordered: bool
    other: bool
    filled: bool
    fill: Any

    @classmethod
    def of(cls, j: int, traced: list[Traced], trace: Trace) -> _Column:
        """What the columns of the model that come from column ``j`` say of it."""
        fills = [one.fill for one in traced if one.filled]
        told = any(step.what == "gap" for one in traced for step in one.steps)
        alike = len(fills) == len(traced) > 0 and all(value == fills[0] for value in fills)
        filled = alike and not told and j not in trace.whole
        values = trace.categories.get(j, ())
        other = j in trace.other
        ordered = bool(values) and all(one.coded for one in traced) and not told and (filled or not fills)
        if values and not any(map(absent, values)) and (fills or told) and not filled and j not in trace.whole:
            values = (*values, trace.blank[j])
        if values and other and any(one.table is None and not _tells_gaps(one) for one in traced):
            raise TypeError(
                f"column {j} goes into an encoder that lets unknown categories pass, and past it as a number"
            )
        return cls(values, ordered, other, filled, fills[0] if filled else None)

    def source(self, one: Traced, place: int) -> Source:
        """Where a column of the model comes from, given the place of this one among the inputs."""
        if not self.values or self.ordered:
            fill = () if not one.filled or self.filled else (Step("fill", float(one.fill)),)
            return Source(place, steps=(*fill, *one.steps))
        table = one.table
        if table is None:  # the number itself, or whether it is missing
            blank = _tells_gaps(one)
            table = tuple(np.nan if absent(value) else 0.0 if blank else float(value) for value in self.values)
        missing = next((code for code, value in enumerate(self.values) if absent(value)), None)
        if missing is not None:
            own = [*table, one.other] if missing == len(table) else list(table)
            if one.filled and one.table is not None:
                own[missing] = own[self.values.index(one.fill)] if one.fill in self.values else one.other
            elif one.filled:
                own[missing] = float(one.fill)
            table = tuple(own)
        return Source(place, table, 0.0 if one.table is None else one.other, one.steps)


def _tells_gaps(one: Traced) -> bool:
    """Whether a column says no more than whether a value is missing."""
    return one.table is None and bool(one.steps) and one.steps[0].what == "gap"


def _input(name: str, column: _Column, gap: Gap | None, sources: Sequence[Source], place: int) -> Input:
    texts = tuple(MISSING if absent(value) else str(value) for value in column.values)
    if column.ordered:
        return Input(name, Kind.ORDERED, 0.0, float(len(texts) - 1), levels=texts)
    if texts:
        gaps = [code for code, value in enumerate(column.values) if absent(value)]
        return Input(name, Kind.NOMINAL, levels=texts, other=column.other, gap_level=gaps[0] if gaps else None)
    ends = [source.limits for source in sources if source.column == place]
    low, high = max(end[0] for end in ends), min(end[1] for end in ends)
    low, high = low if low > -LARGEST else -np.inf, high if high < LARGEST else np.inf
    return Input(name, low=low + 0.0, high=high, for_missing=gap)


def _gap_of(j: int, traced: Sequence[Traced], forest: Forest) -> Gap | None:
    """Numbers of a column that the model takes for a missing value, where nothing comes between the two."""
    mine = [m for m, one in enumerate(traced) if one.column == j]
    return forest.for_missing.get(mine[0]) if len(mine) == 1 and not traced[mine[0]].changed else None


# ---------------------------------------------------------------------------------------------------- bins as columns


def _without_bins(forest: Forest, traced: list[Traced]) -> tuple[Forest, list[Traced]]:
    """The forest over numbers of bins, where it tests whether a number is in one bin: that takes two thresholds."""
    if all(one.bin is None for one in traced):
        return forest, traced
    numbers: dict[Traced, int] = {}
    for one in traced:
        if one.bin is not None:
            numbers.setdefault(replace(one, bin=None, after=()), len(traced) + len(numbers))
    made = [*(replace(one, bin=None, after=()) for one in traced), *numbers]
    trees = tuple(_of_numbers(tree, traced, numbers) for tree in forest.trees)
    takes = (
        None if forest.takes_missing is None else np.append(forest.takes_missing, np.zeros(len(numbers), dtype=bool))
    )
    return replace(forest, trees=trees, takes_missing=takes, n_columns=len(made)), made


def _of_numbers(tree: ScoredTree, traced: Sequence[Traced], numbers: Mapping[Traced, int]) -> ScoredTree:
    """A tree whose tests for bins are tests for the number of the bin."""

    def test(nodes: Nodes, node: int) -> Sides:
        column, threshold = int(tree.feature[node]), float(tree.threshold[node])
        one = traced[column]
        if one.bin is None:
            return nodes.sides(nodes.add(column, threshold, bool(tree.missing_low[node])))
        outside, inside = (through(one.after, np.array([0.0, 1.0])) <= threshold).tolist()
        number = numbers[replace(one, bin=None, after=())]
        lower = nodes.add(number, one.bin - 0.5, False)
        upper = nodes.add(number, one.bin + 0.5, False)
        nodes.high[lower] = upper
        ends = [(nodes.low, lower), (nodes.high, upper)], [(nodes.low, upper)]
        lows = [edge for edges, low in zip(ends, (outside, inside), strict=True) if low for edge in edges]
        highs = [edge for edges, low in zip(ends, (outside, inside), strict=True) if not low for edge in edges]
        return lows, highs

    return rewritten(tree, test)


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
    """The pipeline, and where the columns that are read stand among those that it takes.

    Columns of categories that do not reach the model have a category in ``idle``.
    """

    pipeline: Any
    n_columns: int
    names: tuple[str, ...] | None
    used: tuple[int, ...]
    idle: Mapping[int, Any]

    def table(self, X: FloatArray, categories: Mapping[int, tuple[Any, ...]]) -> Any:
        """Rows as the pipeline takes them, codes turned back into categories."""
        columns: list[npt.NDArray[Any]] = [np.zeros(X.shape[0])] * self.n_columns
        for j, value in self.idle.items():
            columns[j] = np.array([value] * X.shape[0])
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
    plain = all(not isinstance(value, str) and value is not None for value in values)
    table = np.array([*values, unknown_to(values)], dtype=None if plain else object)
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
