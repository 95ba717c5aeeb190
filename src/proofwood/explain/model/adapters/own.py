"""proofwood's own trees, diagrams and ensembles as forests of floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.schema import Schema
from proofwood.explain.model.adapters.reading import Adapted, column_names, numbers
from proofwood.explain.model.forest import DOUBLE, Forest, ScoredTree, merged, summing_noise
from proofwood.explain.model.space import Input, Source
from proofwood.model import evaluate
from proofwood.model.ensemble import Ensemble
from proofwood.model.ensemble import predict as predict_ensemble
from proofwood.model.node_table import FloatArray, NodeTable
from proofwood.model.reshape import unroll


def tree_of(table: NodeTable, value: FloatArray) -> ScoredTree:
    """A node table as a tree of scores; nodes with several parents are copied for each of them.

    Parameters
    ----------
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
            "the model has oblique tests, which no grid of thresholds can hold: fit it with splits='univariate'"
        )
    if not table.is_tree:
        marks = _numbered(table)
        tree = unroll(marks)
        value = value[tree.rows]
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


def _numbered(table: NodeTable) -> NodeTable:
    """The same table whose ``rows`` are the numbers of its nodes, so that copies of a node tell where they are from."""
    return NodeTable(
        feature=table.feature,
        threshold=table.threshold,
        low=table.low,
        high=table.high,
        label=table.label,
        weight=table.weight,
        rows=np.arange(table.n_nodes),
        missing_low=table.missing_low,
        levels=table.levels,
    )


def from_classifier(model: Any, feature_names: Sequence[str] | None) -> Adapted:
    """A fitted classifier of proofwood: votes of one tree, without any rounding.

    A column may be missing where it was in training: of others, no row of training says what a gap would mean.
    """
    table: NodeTable = model.model_
    names = column_names(getattr(model, "feature_names_in_", None), model.n_features_in_, feature_names)
    schema: Schema = model.schema_
    forest = Forest(
        trees=(tree_of(table, np.eye(table.n_classes)[table.label]),),
        base=np.zeros(table.n_classes),
        classes=model.classes_,
        n_columns=len(names),
        noise=0.0,
        predict=partial(evaluate.predict, table),
        takes_missing=np.array([j in schema.gaps for j in range(len(names))], dtype=bool),
    )
    texts = {j: (column.levels or None, column.kind is Kind.ORDERED) for j, column in schema.categories.items()}
    kinds = [column.kind for column in schema.columns]
    inputs = tuple(
        replace(given, moment=kind) if kind in MOMENTS else given
        for given, kind in zip(_inputs(names, [table], texts), kinds, strict=True)
    )
    return Adapted(forest, inputs, tuple(map(Source, range(len(names)))), model._rows, forest.predict)


def from_tables(model: NodeTable | Ensemble, feature_names: Sequence[str] | None) -> Adapted:
    """Node tables as they are: classes are their codes, missing numbers go where ``missing_low`` says."""
    ensemble = model if isinstance(model, Ensemble) else Ensemble((model,), vote="majority")
    assert ensemble.weights is not None
    trees = []
    for table, weight in zip(ensemble.members, ensemble.weights.tolist(), strict=True):
        if ensemble.vote == "majority":
            value = np.eye(table.n_classes)[table.label]
        else:
            value = evaluate.node_probabilities(table) if ensemble.vote == "mean" else table.weight
        trees.append(tree_of(table, weight * value))
    base = np.zeros(ensemble.n_classes)
    n = len(feature_names) if feature_names is not None else ensemble.n_columns
    if n < ensemble.n_columns:
        raise ValueError(f"feature_names has {n} names, but the model tests column {ensemble.n_columns - 1}")
    names = column_names(None, n, feature_names)
    inputs = _inputs(names, ensemble.members, {})
    forest = Forest(
        trees=tuple(trees),
        base=base,
        classes=np.arange(ensemble.n_classes),
        n_columns=n,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=1),
        predict=partial(predict_ensemble, ensemble),
        takes_missing=np.array([given.kind is not Kind.NOMINAL for given in inputs], dtype=bool),
    )
    return Adapted(forest, inputs, tuple(map(Source, range(n))), partial(numbers, names=names), forest.predict)


def _inputs(
    names: Sequence[str], tables: Sequence[NodeTable], categories: Mapping[int, tuple[tuple[str, ...] | None, bool]]
) -> tuple[Input, ...]:
    """Categories are those that the model was fitted with; of numbers tested as categories, any other is possible."""
    greatest: dict[int, int] = {}
    for table in tables:
        for node, codes in enumerate(table.levels or ()):
            if codes is not None:
                column = int(table.feature[node])
                greatest[column] = max(greatest.get(column, -1), *codes, -1)
    inputs = []
    for j, name in enumerate(names):
        texts, ordered = categories.get(j, (None, j not in greatest))
        if ordered and texts is not None:
            inputs.append(Input(name, Kind.ORDERED, 0.0, float(len(texts) - 1), levels=texts))
        elif ordered:
            inputs.append(Input(name))
        elif texts is not None:
            inputs.append(Input(name, Kind.NOMINAL, levels=texts))
        else:
            known = tuple(str(code) for code in range(greatest.get(j, -1) + 1))
            inputs.append(Input(name, Kind.NOMINAL, levels=known, other=True))
    return tuple(inputs)
