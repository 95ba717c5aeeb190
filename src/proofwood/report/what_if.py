"""The data with which a page answers "what if": the tests of a model, its leaves, and the columns that it tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.data.schema import Schema
from proofwood.language import gettext
from proofwood.model.node_table import LEAF, OBLIQUE, FloatArray, IntArray, NodeTable
from proofwood.report.card import Card
from proofwood.report.words import Words, count
from proofwood.show.colouring import leaf_codes
from proofwood.show.labels import percent, wrong_weight

MOST_WAYS = 2_000
"""The most ways from the root to a leaf for which a page works out reasons and changes."""
WHOLE = (Kind.INTEGER, Kind.DATE, Kind.MOMENT, Kind.TIME, Kind.DURATION)
"""The kinds whose values are whole numbers."""


def nodes(
    words: Words,
    tested: Sequence[int],
    counts: Sequence[Any],
    fresh: IntArray | None,
    facts: Callable[[int], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Each node with its test, which a script can follow, and its words.

    Parameters
    ----------
    words : the model
    tested : the columns that it tests; a test names its place in this list
    counts : for each node, name, weight and share of its classes
    fresh : (n_nodes, n_classes) new rows at each node, by class; None without new rows
    facts : function that says what is known of a leaf, see :func:`class_facts`
    """
    table = words.table
    found: list[dict[str, Any]] = []
    for node in range(table.n_nodes):
        one: dict[str, Any] = {"asks": words.asks(node), "rows": int(table.rows[node]), "counts": counts[node]}
        if fresh is not None:
            one["fresh"] = fresh[node].tolist()
        if table.feature[node] == LEAF:
            one |= facts(node)
        else:
            one |= {"low": int(table.low[node]), "high": int(table.high[node])}
            one |= {"says": [words.answer(node, low=low) for low in (True, False)]}
            one |= {"key": [words.key(node, low) for low in (True, False)], **_test(table, node, tested)}
        found.append(one)
    return found


def class_facts(table: NodeTable) -> Callable[[int], dict[str, Any]]:
    """The class of a leaf, the training weight that is wrong there, and the share that is right."""

    def facts(leaf: int) -> dict[str, Any]:
        label, weight = int(table.label[leaf]), table.weight[leaf]
        right = percent(float(weight[label]) / (float(weight.sum()) or 1.0))
        return {"label": label, "wrong": count(wrong_weight(table, leaf)), "right": right}

    return facts


def _test(table: NodeTable, node: int, tested: Sequence[int]) -> dict[str, Any]:
    column, gaps_low = int(table.feature[node]), bool(table.missing_low[node])
    threshold = float(table.threshold[node])
    if column == OBLIQUE:
        assert table.normals is not None
        columns, factors = (part.tolist() for part in table.normals.row(node))
        places = [tested.index(j) for j in columns]
        return {"sum": [places, factors], "cut": threshold, "gap": gaps_low}
    found: dict[str, Any] = {"column": tested.index(column), "gap": gaps_low}
    if table.levels is not None and (codes := table.levels[node]) is not None:
        return {**found, "set": sorted(codes)}
    return {**found, "cut": threshold if math.isfinite(threshold) else ("all" if threshold > 0 else "none")}


def columns(
    words: Words, schema: Schema, card: Card, tested: Sequence[int], X: FloatArray, *, unseen: bool
) -> list[dict[str, Any]]:
    """Each tested column: what can be typed there, and a usual value.

    Parameters
    ----------
    words, schema, card : the model, its columns, and what people say of them
    tested : the columns that the model tests
    X : training rows
    unseen : whether the model takes levels that training did not have
    """
    return [_column(words, schema, card, j, X[:, j], unseen=unseen) for j in tested]


def _column(words: Words, schema: Schema, card: Card, j: int, values: FloatArray, *, unseen: bool) -> dict[str, Any]:
    column = schema.columns[j] if j < len(schema.columns) else None
    kind = Kind.NUMERIC if column is None else column.shown_as
    name = str(words.labels.feature(j))
    found: dict[str, Any] = {
        "index": j,
        "name": words.name(j),
        "kind": str(kind),
        "meaning": card.columns.get(name, ""),
        "unit": card.units.get(name, (column.unit if column is not None else "") or ""),
        "gaps": bool(np.isnan(values).any()),
    }
    if kind is Kind.MOMENT:
        found["zone"] = words.labels.zones.get(j)
    known = values[~np.isnan(values)]
    if column is not None and kind in (Kind.NOMINAL, Kind.ORDERED) and column.levels:
        levels = [words.value(j, float(code)) for code in range(len(column.levels))]
        usual = int(np.bincount(known.astype(np.int64)).argmax()) if known.size else 0
        # a level of an ordered column that training did not have is a missing value
        return {**found, "levels": levels, "other": unseen and kind is Kind.NOMINAL, "usual": usual}
    if kind is Kind.BOOLEAN:
        return {
            **found,
            "levels": [gettext("no"), gettext("yes")],
            "other": False,
            "usual": int(known.mean() > 0.5) if known.size else 0,
        }
    low, high, middle = (
        (float(part) for part in (known.min(), np.quantile(known, 0.99), np.median(known)))
        if known.size
        else (0.0, 1.0, 0.0)
    )
    cuts = sorted({cut for cut in _cuts(words.table, j) if math.isfinite(cut)})
    quarters = np.quantile(known, [0.25, 0.75]) if known.size else np.zeros(2)
    whole = kind in WHOLE or kind in (Kind.NOMINAL, Kind.ORDERED)
    return {
        **found,
        "whole": whole,
        "min": min([low, *cuts]),
        "max": max([high, *cuts]),
        "cuts": cuts,
        "spread": float(quarters[1] - quarters[0]) or float(known.std() if known.size else 0.0) or 1.0,
        "usual": float(np.floor(middle)) if whole else float(f"{middle:.4g}"),
    }


def _cuts(table: NodeTable, column: int) -> list[float]:
    return [
        float(table.threshold[node])
        for node in np.flatnonzero(table.feature == column).tolist()
        if not table.by_levels[node]
    ]


def asked(table: NodeTable) -> dict[str, Any]:
    """Of a model of numbers, the numbers of its leaves by code, and the one that is asked about first: its mean."""
    if table.values is None or table.n_labels > 1:
        return {"values": None, "limit": None}
    return {"values": leaf_codes(table)[0].tolist(), "limit": float(f"{float(table.values[0, 0]):.4g}")}


def ways(table: NodeTable) -> int:
    """The number of ways from the root to a leaf."""
    found = np.zeros(table.n_nodes)
    found[0] = 1
    for node in table.splits():
        found[table.low[node]] += found[node]
        found[table.high[node]] += found[node]
    return int(min(found[table.feature == LEAF].sum(), 10**9))
