"""Reader of scikit-learn pipelines; explanations are about the columns of the table, not about prepared columns.

Every column that reaches the model is traced back to one column of the table (:mod:`.tracing`). The fitted steps are
run on categories, on missing values, and on numbers around each threshold (:mod:`.preparation`, :mod:`.pulled`). This
module combines the results: it lists the values of each column, and turns tests of the model into tests of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import Forest, Stack
from proofwood.ensembles.readers.given import Header
from proofwood.ensembles.readers.nodes import with_gap
from proofwood.ensembles.readers.number_types import DOUBLE, that_matter, types_of
from proofwood.ensembles.readers.preparation import Preparation, Told, alike_in_sparse, made_by
from proofwood.ensembles.readers.prepared_columns import Known, TableColumn, known_columns, sides_of
from proofwood.ensembles.readers.prepared_rows import ColumnReader, PreparedRows
from proofwood.ensembles.readers.prepared_tests import Rewriting
from proofwood.ensembles.readers.reading import Adapted, absent, codes_from, column_names, floats_from
from proofwood.ensembles.readers.register import Asked, Reading, register
from proofwood.ensembles.readers.sklearn import unnamed
from proofwood.ensembles.readers.targets import OneTarget
from proofwood.ensembles.readers.tracing import BEHIND, Trace, Traced, refuse_own_ways, steps_of, traced_through
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Gap, Input
from proofwood.model.node_table import LEAF, FloatArray


def of_pipeline(model: Any, asked: Asked) -> Reading:
    """Read a ``Pipeline``: the model in its last step, and the steps before it without imbalanced-learn's samplers.

    Raises
    ------
    TypeError
        If the pipeline overrides a method that predicts, or does not end with a model.
    """
    own = type(model)
    refuse_own_ways(model, own if own.__module__.startswith("imblearn.") else Pipeline)
    last = model.steps[-1][1]
    if last is None or isinstance(last, str):
        raise TypeError("the last step of the pipeline is not a model: expected a last step with a predict method")
    steps = tuple(step for step in steps_of(model) if step is not last)
    behind = None
    if asked.X is not None and any(library_of(one) == "catboost" for one in models_within(last)):
        with suppress(Exception):  # CatBoost needs rows to know the categories; skip X if the steps refuse it
            behind = made_by(steps, asked.X)
    inner = replace(asked.within, X=behind, output=asked.output).read(last)
    return Reading(inner.core, tuple((*steps, *path) for path in inner.paths))


def from_steps(whole: Any, reading: Reading, feature_names: Sequence[str] | None, X: Any = None) -> Adapted:
    """Adapt a fitted model, such as a ``Pipeline``, that applies steps to the columns and then predicts.

    The columns that an encoder makes of one column become one categorical column. It holds the known categories, and
    also any other category if ``handle_unknown`` permits it. A missing value that an imputer fills is read as the
    filled-in value. If another column of the model shows that a value was missing, a missing value is a separate value.

    Parameters
    ----------
    whole : the fitted model
    reading : the steps, and the reading of the model after them
    feature_names : names of the columns, if the user gives them
    X : rows that the user gives; explanations hold for rows with the same column types, or float64 if X is None

    Raises
    ------
    TypeError
        If a column that a step makes cannot be traced back to a single column.
    """
    steps, inner = reading.steps, reading.core
    first = next(one for one in (whole, *steps, inner.model) if hasattr(one, "n_features_in_"))
    n_columns = int(first.n_features_in_)
    known = getattr(first, "feature_names_in_", None)
    own = None if known is None else tuple(known)
    names = column_names(known, n_columns, feature_names)
    trace = Trace()
    traced = [Traced(j) for j in range(n_columns)]
    for step in steps:
        traced = traced_through(step, traced, trace)
    if len(traced) != len(inner.inputs):
        raise TypeError(
            f"the steps of the pipeline make {len(inner.inputs)} columns, but only {len(traced)} of them can be traced "
            f"back to single columns. {BEHIND}"
        )
    reaching = frozenset(one.column for one in traced)
    header = Header(
        names,
        None if known is None else tuple(map(str, known)),
        reaching,
        None if feature_names is None else names,
        placed=known is None,
        alike=partial(alike_in_sparse, steps, n_columns),
    )
    numbers = {j for j in range(n_columns) if j not in trace.categories}
    numbers -= {one.column for i, one in enumerate(traced) if i in inner.categories and not one.encoded}
    types: tuple[str, ...] | None = None
    if X is not None and _computes(traced):
        found = that_matter(types_of(header.opened(X).table, names), numbers, functions=trace.functions)
        types = None if found is None else tuple(kind or DOUBLE for kind in found)
    absent_missing = any(library_of(one) == "xgboost" for one in models_within(whole))
    told = Told.of_core(inner, zero=absent_missing)
    prepared = Preparation(
        steps, own, n_columns, inner, told, absent_missing=absent_missing, types=types, objects=learned_objects(whole)
    )
    columns = known_columns(traced, trace, prepared)
    return _assembled(whole, columns, header, trace, n_paths=len(reading.paths))


def _computes(traced: Sequence[Traced]) -> bool:
    """Whether at least one step computes with numbers of the table."""
    return any(not one.encoded and (one.steps or one.fills) for one in traced)


def _assembled(whole: Any, known: Known, header: Header, trace: Trace, *, n_paths: int) -> Adapted:
    """The adapted model, after all columns have been traced."""
    prepared, core = known.prepared, known.prepared.core
    used, names = tuple(known.columns), header.names
    place = {j: at for at, j in enumerate(used)}
    forest = core.forest
    if prepared.absent_missing and sparse.issparse(prepared.made(prepared.container({}, 1))):
        _require_alike(models_within(whole), n_paths)
        gap: Gap = (-5e-324, 0.0, 0.0)
        stack = Stack.of(forest.trees)
        trees = with_gap(stack, stack.feature != LEAF, gap[:2]).trees()
        forest = replace(forest, trees=trees, for_missing=dict.fromkeys(range(forest.n_columns), gap))
    gaps = {j: _gap_of(known, j, forest) for j in used}
    forest, sources = Rewriting(known, forest).done(place)
    inputs = tuple(_input(names[j], known.columns[j], gaps[j]) for j in used)
    takes = _takes_gaps(forest, sources, len(used))
    readers = tuple(
        ColumnReader.of(
            column,
            sides_of(column, prepared.told) if column.is_categories else None,
            takes_gaps=takes[at],
        )
        for at, column in enumerate(known.columns.values())
    )
    rows = PreparedRows(prepared, names, used, readers, _computes(known.traced), trace.functions)
    classes = forest.classes
    call = partial(_asked, whole, prepared, used)
    predict: Callable[[FloatArray], Any] = partial(codes_from, partial(call, "predict"), classes)
    output: Callable[[FloatArray], FloatArray] | None = None
    if forest.is_regressor:
        predict = output = partial(floats_from, partial(call, "predict"))
    elif forest.output is not None and hasattr(whole, "predict_proba"):
        output = partial(floats_from, partial(call, "predict_proba"))
    else:
        forest = replace(forest, link=None)
    if forest.majority:
        predict = partial(_of_core, core.predict, prepared, used)
        output = None if core.output is None else partial(_of_core, core.output, prepared, used)
    return Adapted(
        replace(forest, predict=predict, output=output),
        inputs,
        sources,
        rows.read,
        predict,
        unknown_missing=core.unknown_missing,
        output=output,
        filled=rows.filled,
        categories={place[j]: column.values for j, column in known.columns.items() if column.is_categories},
        suits=rows.suits if rows.computes else None,
        table=partial(prepared.table, used=used),
        model=whole,
        header=replace(header, needed=frozenset(used)),
    )


def _input(name: str, column: TableColumn, gap: Gap | None) -> Input:
    if column.ordered:
        return Input(name, Kind.ORDERED, 0.0, float(len(column.levels) - 1), levels=column.levels)
    if column.is_categories:
        gaps = tuple(code for code, value in enumerate(column.values) if absent(value))
        return Input(name, Kind.NOMINAL, levels=column.levels, other=column.other, gap_levels=gaps)
    return Input(name, low=column.low, high=column.high, for_missing=gap)


def _gap_of(known: Known, j: int, forest: Forest) -> Gap | None:
    """Numbers of a column that the model treats as missing, if no step changes this column; else None."""
    made = known.columns[j].made
    if len(made) != 1 or known.traced[made[0]].changed:
        return None
    sources = known.prepared.core.sources
    return next((forest.for_missing.get(f) for f, one in enumerate(sources) if one.column == made[0]), None)


def _takes_gaps(forest: Forest, sources: Sequence[Source], n: int) -> list[bool]:
    """For each input, whether it accepts missing values."""
    takes = [True] * n
    flags = [False] * len(sources) if forest.takes_missing is None else forest.takes_missing.tolist()
    for source, flag in zip(sources, flags, strict=True):
        if source.column >= 0:
            takes[source.column] = takes[source.column] and source.takes_missing(flag)
    return takes


def _require_alike(members: Sequence[Any], n_paths: int) -> None:
    """Raise TypeError if models differ about omitted entries of a sparse matrix: missing values, or 0."""
    if n_paths > 1:
        raise TypeError(
            "the steps of members make a sparse matrix, and XGBoost reads its omitted entries as missing values: make "
            "dense columns (sparse_threshold=0, sparse_output=False)"
        )
    others = [one for one in members if library_of(one) != "xgboost"]
    if others:
        raise TypeError(
            "the steps of the pipeline make a sparse matrix. XGBoost reads its omitted entries as missing values, but "
            f"a {type(others[0]).__name__} reads them as 0: make dense columns (sparse_threshold=0, "
            "sparse_output=False)"
        )


def library_of(model: Any) -> str:
    """The name of the library that defines the class of a model."""
    return type(model).__module__.split(".")[0]


def models_within(model: Any) -> list[Any]:
    """The innermost models that a scikit-learn model consists of; the model itself if it contains no others."""
    inside: list[Any] = []
    if isinstance(model, OneTarget):
        inside.append(model.whole)
    elif isinstance(model, Pipeline):
        inside.append(model.steps[-1][1])
    elif library_of(model) in ("sklearn", "imblearn"):
        for name in MEMBERS:
            found = getattr(model, name, None)
            if found is not None:
                found = found.ravel().tolist() if isinstance(found, np.ndarray) else found
                inside += found if isinstance(found, list) else [found]
                break
    inside = [one for one in inside if hasattr(one, "predict") or hasattr(one, "predict_proba")]
    return [member for one in inside for member in models_within(one)] or [model]


def learned_objects(model: Any) -> bool:
    """Whether histogram gradient boosting was fitted on an array of objects whose categories are numbers.

    Steps can make such an array from columns of numbers and of truth values. The model then refuses any other array.
    """
    for member in models_within(model):
        inside = getattr(getattr(member, "_preprocessor", None), "named_transformers_", {})
        for values in getattr(inside.get("encoder"), "categories_", ()):
            if values.dtype == object and all(isinstance(value, int | float) for value in values.tolist()):
                return True
    return False


MEMBERS = (
    "estimators_",
    "calibrated_classifiers_",
    "estimator_",
    "best_estimator_",
    "regressor_",
    "estimator",
)
"""Attributes in which scikit-learn models store their inner models; the first that exists is used, as the last one may
hold a model that was not fitted."""


# ------------------------------------------------------------------------------------------------------------ the model


def _asked(whole: Any, prepared: Preparation, used: tuple[int, ...], method: str, X: FloatArray) -> Any:
    return unnamed(getattr(whole, method), prepared.table(X, used))


def _of_core(call: Callable[[FloatArray], Any], prepared: Preparation, used: tuple[int, ...], X: FloatArray) -> Any:
    """The result of ``call`` after the steps have run; used for votes, which the whole model does not count."""
    return call(prepared.matrix(prepared.table(X, used)))


register(
    ("sklearn.Pipeline", "imblearn.Pipeline"),
    of_pipeline,
    words="a Pipeline that ends with such a model",
    votes=True,
    outputs=True,
)
