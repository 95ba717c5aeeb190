"""Readers of proofwood's own trees, diagrams and ensembles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from proofwood.data.columns import Column
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.schema import Schema
from proofwood.ensembles.forest import DOUBLE, NO_CLASSES, OTHER, Forest, Link, ScoredTree, merged, summing_noise
from proofwood.ensembles.readers.categories import as_codes, as_numbers, of_numbers
from proofwood.ensembles.readers.reading import Adapted, column_names, numbers
from proofwood.ensembles.readers.register import SHARES, SURE, Asked, names_of, register
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.model import evaluate
from proofwood.model.ensemble import Ensemble, contributions
from proofwood.model.ensemble import predict as predict_ensemble
from proofwood.model.node_table import LEAF, FloatArray, NodeTable
from proofwood.model.reshape import unroll_from


def tree_of(table: NodeTable, value: FloatArray) -> ScoredTree:
    """A node table as a tree of scores; a node with several parents is copied for each of them.

    Parameters
    ----------
    table : the node table
    value : (n_nodes, n_classes) scores of the nodes

    Raises
    ------
    TypeError
        If the table has oblique tests.
    ValueError
        If the tree of a diagram is too large, see :func:`proofwood.model.reshape.unroll`.
    """
    if table.normals is not None:
        raise TypeError(
            "the model has oblique tests, which have no thresholds on single columns: fit it with splits='univariate'"
        )
    if not table.is_tree:
        tree, source = unroll_from(table)
        value = value[source]
    else:
        tree = table
    return merged(
        ScoredTree(
            feature=tree.feature,
            threshold=tree.threshold,
            low=tree.low,
            high=tree.high,
            missing_low=tree.missing_low,
            value=value,
            levels=tree.levels,
        )
    )


def from_learner(model: Any, asked: Asked) -> Adapted:
    """Read a fitted model of proofwood without rounding: as one tree of votes, or of probabilities on request; of
    numbers, if leaves predict numbers. The classes of a policy are its actions.

    A column may hold missing values if it did so in training, or if the model does not test it; for other columns, the
    training rows do not say where a missing value should go.

    Raises
    ------
    TypeError
        If ``asked.vote`` is "sure", and some leaf predicts another class than its most probable one.
    """
    table: NodeTable = model.model_
    names = column_names(names_of(model), model.n_features_in_, asked.names)
    schema: Schema = model.schema_
    numbers_only = model._answers is None
    shares = asked.vote in SHARES and table.values is None
    predict: Callable[[Any], Any]
    output: Callable[[Any], Any] | None
    if numbers_only:
        value = np.asarray(table.values)
        predict = output = partial(_numbers, table)
    else:
        value = evaluate.node_probabilities(table) if shares else np.eye(table.n_labels)[table.label]
        predict, output = partial(evaluate.predict, table), partial(evaluate.probabilities, table) if shares else None
    if asked.vote == SURE and table.values is not None:
        raise TypeError(f"a confidence was given for an {type(model).__name__}, which has no probabilities")
    if asked.vote == SURE and not np.array_equal(value.argmax(axis=1)[_leaves(table)], table.label[_leaves(table)]):
        raise TypeError(
            f"a confidence was given for an {type(model).__name__} that in some leaves does not predict the most "
            "probable class (constraints can cause this): explain it without a confidence"
        )
    tested = set(table.tested_columns)
    forest = Forest(
        trees=(tree_of(table, value),),
        base=np.zeros(value.shape[1]),
        classes=NO_CLASSES if numbers_only else model._answers,
        n_columns=len(names),
        noise=0.0,
        predict=predict,
        takes_missing=np.array([j in schema.gaps or j not in tested for j in range(len(names))], dtype=bool),
        link=Link() if shares or numbers_only else None,
        output=output,
    )
    texts = {j: (column.levels or None, column.kind is Kind.ORDERED) for j, column in schema.categories.items()}
    adapted, numbered = _adapted(forest, names, texts, model._rows)
    inputs = tuple(_shown(given, column) for given, column in zip(adapted.inputs, schema.columns, strict=True))
    return replace(adapted, inputs=inputs, table=_table_of(schema, numbered, names))


def _numbers(table: NodeTable, X: Any) -> FloatArray:
    """(n_rows,) the numbers that leaves predict."""
    assert table.values is not None
    return np.asarray(table.values[evaluate.apply(table, X), 0])


def _leaves(table: NodeTable) -> Any:
    return table.feature == LEAF


def _table_of(
    schema: Schema, numbered: Mapping[int, tuple[int, ...]], names: Sequence[str]
) -> Callable[[FloatArray], Any] | None:
    """Function from rows of codes to the rows that the classifier takes; None if the classifier takes codes."""
    if any(column.kind in MOMENTS for column in schema.columns):
        return _no_dates
    texts = {j: column.levels for j, column in schema.categories.items() if column.levels}
    if texts:
        return partial(_with_texts, texts, numbered, tuple(names))
    return partial(as_numbers, known=numbered) if numbered else None


def _no_dates(X: FloatArray) -> NoReturn:
    raise TypeError(
        "a model that contains a tree with dates, times or durations cannot be explained: explain the tree by itself"
    )


def _with_texts(
    texts: Mapping[int, tuple[str, ...]],
    numbered: Mapping[int, tuple[int, ...]],
    names: tuple[str, ...],
    X: FloatArray,
) -> Any:
    """Rows of codes as a pandas frame with the texts of categories."""
    import pandas as pd  # optional: needed only for trees of categories within another model

    rows = as_numbers(X, numbered)
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        columns[name] = rows[:, j]
        if j in texts:
            table = np.array([*texts[j], _unknown(texts[j]), None], dtype=object)
            codes = np.where(np.isnan(rows[:, j]), len(table) - 1, np.clip(rows[:, j], 0, len(texts[j])))
            columns[name] = table[codes.astype(np.int64)]
    return pd.DataFrame(columns)


def _shown(given: Input, column: Column) -> Input:
    """An input, marked with what its numbers mean: dates, times, durations, truth values or integers."""
    kind = column.kind
    named = column.shown_as is Kind.BOOLEAN and kind is not Kind.BOOLEAN
    given = replace(given, own_numbers=True, zero_one=named, unit=column.unit)
    if kind in MOMENTS:
        return replace(given, shown_as=kind, zone=column.zone)
    if kind is Kind.BOOLEAN and given.kind is Kind.NUMERIC:
        return replace(given, kind=kind, low=0.0, high=1.0, shown_as=kind)
    if (kind is Kind.INTEGER or given.zero_one) and given.kind is Kind.NUMERIC:
        return replace(given, kind=Kind.INTEGER)
    return given


def from_tables(model: NodeTable | Ensemble, asked: Asked) -> Adapted:
    """Read node tables; the classes are the codes 0, 1, ..., and ``missing_low`` says where missing numbers go."""
    feature_names = asked.names
    ensemble = model if isinstance(model, Ensemble) else Ensemble((model,), vote="majority")
    assert ensemble.weights is not None
    trees = []
    for table, weight in zip(ensemble.members, ensemble.weights.tolist(), strict=True):
        trees.append(tree_of(table, weight * contributions(table, ensemble.vote)))
    base = np.zeros(ensemble.n_classes)
    n = len(feature_names) if feature_names is not None else ensemble.n_columns
    if n < ensemble.n_columns:
        raise ValueError(f"feature_names has {n} names, but the model tests column {ensemble.n_columns - 1}")
    names = column_names(None, n, feature_names)
    by_level = _tested_codes(trees)
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=np.arange(ensemble.n_classes),
        n_columns=n,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=1),
        predict=partial(predict_ensemble, ensemble),
        takes_missing=np.array([j not in by_level for j in range(n)], dtype=bool),
    )
    return _adapted(forest, names, {}, partial(numbers, names=names))[0]


def _adapted(
    forest: Forest,
    names: Sequence[str],
    categories: Mapping[int, tuple[tuple[str, ...] | None, bool]],
    read: Callable[[Any], FloatArray],
) -> tuple[Adapted, dict[int, tuple[int, ...]]]:
    """The adapted model, and the columns of numbers that are tested as categories, each with the tested numbers.

    A column of texts holds the categories of training. A column of numbers tested as categories may hold any number, so
    the tested numbers get the codes 0, 1, ... and all other numbers share the next code. A missing value has no code:
    each test says where it goes.

    Parameters
    ----------
    forest : its trees test the numbers of such columns
    names : names of the columns
    categories : by categorical column, its texts (None if it holds numbers), and whether they are ordered
    read : function from the user's rows to numbers
    """
    tested = _tested_codes(forest.trees)
    coded: dict[int, tuple[int, ...]] = {}
    inputs = []
    for j, name in enumerate(names):
        texts, ordered = categories.get(j, (None, j not in tested))
        if ordered and texts is not None:
            inputs.append(Input(name, Kind.ORDERED, 0.0, float(len(texts) - 1), levels=texts))
        elif ordered:
            inputs.append(Input(name))
        elif texts is not None:
            inputs.append(Input(name, Kind.NOMINAL, levels=texts))
        else:
            coded[j] = tested.get(j, ())
            inputs.append(Input(name, Kind.NOMINAL, levels=(*map(str, coded[j]), "any other")))
    forest = replace(forest, trees=tuple(_over_codes(tree, coded) for tree in forest.trees))
    if coded:
        output = None if forest.output is None else partial(of_numbers, coded, forest.output)
        forest = replace(forest, predict=partial(of_numbers, coded, forest.predict), output=output)
        read = partial(_read_coded, read, coded)
    sources = tuple(map(Source, range(len(names))))
    return Adapted(
        forest, tuple(inputs), sources, read, forest.predict, unknown_missing=False, output=forest.output
    ), coded


def _tested_codes(trees: Sequence[ScoredTree]) -> dict[int, tuple[int, ...]]:
    """For each column that is tested by sets of levels, all levels in these sets, ascending."""
    found: dict[int, set[int]] = {}
    for tree in trees:
        for node, codes in enumerate(tree.levels or ()):
            if codes is not None and tree.feature[node] != LEAF:
                found.setdefault(int(tree.feature[node]), set()).update(codes)
    return {column: tuple(sorted(codes)) for column, codes in found.items()}


def _over_codes(tree: ScoredTree, coded: Mapping[int, tuple[int, ...]]) -> ScoredTree:
    """The tree with codes instead of numbers; a set of levels includes ``OTHER`` if missing values go low."""
    if tree.levels is None:
        return tree
    code_of = {column: {number: code for code, number in enumerate(known)} for column, known in coded.items()}
    levels = list(tree.levels)
    for node, low in enumerate(tree.levels):
        if low is not None and tree.feature[node] != LEAF:
            known = code_of.get(int(tree.feature[node]))
            codes = low if known is None else frozenset(known[number] for number in low)
            levels[node] = codes | {OTHER} if tree.missing_low[node] else codes
    return replace(tree, levels=tuple(levels))


def _read_coded(read: Callable[[Any], FloatArray], coded: Mapping[int, tuple[int, ...]], X: Any) -> FloatArray:
    return as_codes(read(X), coded)


def _unknown(texts: Sequence[str]) -> str:
    """A text that differs from all given texts."""
    unknown = "(unknown)"
    while unknown in texts:
        unknown += "?"
    return unknown


register(
    tuple(
        f"proofwood.{name}"
        for name in (
            "OptimalTreeClassifier",
            "OptimalTreeCV",
            "MinimalTreeClassifier",
            "OptimalBDDClassifier",
            "OptimalDiagramClassifier",
            "OptimalTreeRegressor",
            "OptimalPolicyTree",
            "OptimalTreeRegressorCV",
            "OptimalSurvivalTree",
            "OptimalSurvivalTreeCV",
        )
    ),
    from_learner,
    words="univariate tree, diagram or ensemble of proofwood",
    votes=True,
)
register(("proofwood.NodeTable", "proofwood.Ensemble"), from_tables, votes=True)
