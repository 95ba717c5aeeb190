"""The content of a report, as plain values and texts; the template only arranges them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood import __version__
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.data.schema import Schema
from proofwood.estimators.proof_report import proof_report
from proofwood.markup import trace_svg
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.printable import printable, shown
from proofwood.report.explanations import explained_rows
from proofwood.report.measures import Measured, measured
from proofwood.report.rows import MOST_ROWS, default_rows, row_data, tested_columns
from proofwood.report.words import Words, count, share
from proofwood.result import Figures, ProgressEvent, Result, Status
from proofwood.show.labels import wrong_weight
from proofwood.show.palette import Palette, class_colours, hexadecimal
from proofwood.show.svg import model_svg
from proofwood.show.trace import finite, status_text

if TYPE_CHECKING:
    from proofwood.estimators.base import ProvedClassifier
    from proofwood.estimators.validation import Validation

MOST_IN_MATRIX = 60
"""The most classes for a confusion matrix. With more classes, a report lists only the most frequent confusions."""
MOST_CONFUSIONS = 10
MOST_RULES = 400
MOST_NAMED = 8
"""Most classes that the front page names."""


@dataclass(frozen=True)
class Rows:
    """Rows with their classes.

    Parameters
    ----------
    X : (n_rows, n_columns) numbers, with the level codes of the training data
    codes : (n_rows,) class codes; ``n_classes`` for a class that training did not have
    recounted : cost of the model on these rows; None if not counted; a text with the reason if it cannot be counted
    """

    X: FloatArray
    codes: IntArray
    recounted: float | str | None = None


def content(
    model: ProvedClassifier,
    training: Rows,
    validation: Rows | None,
    *,
    rows: Sequence[int] | None,
    title: str | None,
    palette: Palette | None,
    seconds: float,
) -> dict[str, Any]:
    """The values that the template of a report shows, by name.

    Parameters
    ----------
    model : fitted model
    training, validation : rows of the report
    rows : indices of the training rows to explain; None for a few
    title : title of the report
    palette : colours of the classes
    seconds : time limit for all explanations
    """
    table, labels = model.model_, model._names()
    words = Words(table, labels)
    colours = [hexadecimal(colour) for colour in class_colours(table.n_classes, palette, labels.classes)]
    seen = measured(table, training.X, training.codes)
    fresh = None if validation is None else measured(table, validation.X, validation.codes)
    chosen = default_rows(table.label[model_leaves(table, training.X)], training.codes) if rows is None else list(rows)
    told, told_note = explained_rows(model, words, training.X, training.codes, chosen, seconds)
    kind = "tree" if table.is_tree else "diagram"
    picture = model_svg(
        table,
        labels,
        palette=palette,
        dashed=model._dashed,
        name=f"The {kind}: {table.n_nodes} nodes. Arrow keys move between nodes, Enter folds.",
        asked=[words.node(node) for node in range(table.n_nodes)],
    )
    return {
        "title": printable(title or f"{type(model).__name__}: report"),
        "kind": kind,
        "loaded": bool(getattr(model, "loaded_", False)),
        "model_line": model._describe_model(),
        "facts": [f"{name}: {text}" for name, text in model._facts()],
        "about": _about(model, training, words),
        "hints": [str(hint) for hint in (*model.hints_, *model.notes())],
        "validation": None if model.validation_ is None else _validation(model.validation_),
        "baseline": _baseline(table, training, validation, words),
        "picture": picture,
        "nodes": [_node(table, words, node) for node in range(table.n_nodes)],
        "rules": _rules(table, words) if table.is_tree else None,
        "proof": _proof(model, training),
        "tests": _tests(model.schema_, table, words),
        "trace": _trace(model.result_),
        "quality": [
            _quality("Training rows", seen, words, colours, fresh=False),
            *([] if fresh is None else [_quality("Validation rows", fresh, words, colours, fresh=True)]),
        ],
        "explained": told,
        "explained_note": told_note,
        "total_rows": training.X.shape[0],
        "most_rows": MOST_ROWS,
        "classes": [(words.class_name(code), colours[code]) for code in range(table.n_classes)],
        "data": script_json(
            {
                "nodes": [_node_data(table, words, node) for node in range(table.n_nodes)],
                "classes": [[words.class_name(code), colours[code]] for code in range(table.n_classes)],
                "rows": row_data(table, words, training.X, training.codes, chosen, list(model.schema_.left_out)),
                "kind": kind,
            }
        ),
    }


def model_leaves(table: NodeTable, X: FloatArray) -> IntArray:
    """(n_rows,) node index of the leaf of each row."""
    return table.walker.leaves(np.ascontiguousarray(X))


def script_json(value: Any) -> str:
    """``value`` as JSON that is safe inside a ``script`` element, for any texts in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII, so that no Unicode separator ends a line
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _about(model: ProvedClassifier, training: Rows, words: Words) -> list[tuple[str, str]]:
    """What a reader who was not there should know first: the target, the rows, the day and the version."""
    names = [words.class_name(code) for code in range(model.model_.n_classes)]
    classes = f"{len(names)} classes: {shown(names, MOST_NAMED, str)}"
    predicted = classes if model.target_name_ is None else f"{printable(model.target_name_)} ({classes})"
    tested, n_columns = len(tested_columns(model.model_)), training.X.shape[1]
    return [
        ("Predicts", predicted),
        (
            "Learned from",
            f"{int(model.model_.rows[0]):,} rows with {n_columns:,} columns, of which it tests {tested:,}",
        ),
        ("Written", f"{datetime.now().astimezone():%d %B %Y}, by proofwood {__version__}"),
    ]


def _validation(found: Validation) -> dict[str, Any]:
    """The scores on held-out rows, and recall and precision of each class."""
    return {
        "line": str(found),
        "classes": [
            (printable(one.label), f"{one.rows:,}", _share(one.recall), _share(one.precision)) for one in found.classes
        ],
    }


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _baseline(table: NodeTable, training: Rows, validation: Rows | None, words: Words) -> dict[str, Any]:
    """Wrong rows of always predicting the class with the most training weight, on the rows of the report."""
    code = int(np.argmax(table.weight[0]))
    return {
        "class": words.class_name(code),
        "wrong": [
            (f"{int(np.count_nonzero(rows.codes != code)):,}", share(float(np.mean(rows.codes != code))))
            for rows in (training, validation)
            if rows is not None
        ],
    }


# ---------------------------------------------------------------------------------------------------- the model


def _counts(table: NodeTable, words: Words, node: int, most: int = 6) -> list[tuple[str, str, str]]:
    """Name, weight and share of the classes at a node, heaviest first; classes beyond ``most`` are summed up."""
    weight = table.weight[node]
    total = float(weight.sum()) or 1.0
    order = np.argsort(-weight, kind="stable")[:most]
    found = [
        (words.class_name(code), count(float(weight[code])), share(float(weight[code]) / total))
        for code in order.tolist()
        if weight[code] > 0
    ]
    rest = int(np.count_nonzero(weight)) - len(found)
    if rest > 0:
        left = total - float(weight[order].sum())
        found.append((f"{rest} more classes", count(left), share(left / total)))
    return found


def _node(table: NodeTable, words: Words, node: int) -> dict[str, Any]:
    leaf = bool(table.feature[node] == LEAF)
    return {
        "number": node,
        "leaf": leaf,
        "asks": words.asks(node),
        "low": int(table.low[node]),
        "high": int(table.high[node]),
        "rows": f"{int(table.rows[node]):,}",
        "wrong": count(wrong_weight(table, node)) if leaf else "",
        "counts": ", ".join(f"{name} {weight}" for name, weight, _ in _counts(table, words, node)),
    }


def _node_data(table: NodeTable, words: Words, node: int) -> dict[str, Any]:
    leaf = bool(table.feature[node] == LEAF)
    data: dict[str, Any] = {
        "asks": words.asks(node),
        "rows": int(table.rows[node]),
        "counts": _counts(table, words, node),
    }
    if leaf:
        return {**data, "label": int(table.label[node]), "wrong": count(wrong_weight(table, node))}
    children = {"low": int(table.low[node]), "high": int(table.high[node])}
    column = int(table.feature[node])
    return {
        **data,
        **children,
        "yes": words.answer(node, low=True),
        "no": words.answer(node, low=False),
        "column": column if column >= 0 else None,
    }


def _rules(table: NodeTable, words: Words) -> dict[str, Any]:
    found = words.rules(MOST_RULES)
    return {
        "shown": [
            {
                "if": conditions,
                "then": words.asks(node),
                "code": int(table.label[node]),
                "rows": f"{int(table.rows[node]):,}",
                "wrong": count(wrong_weight(table, node)),
                "node": node,
            }
            for conditions, node in found
        ],
        "more": table.n_leaves - len(found),
    }


# ---------------------------------------------------------------------------------------------------- the proof


def _proof(model: ProvedClassifier, training: Rows) -> dict[str, Any]:
    result, proof = model.result_, proof_report(model)
    recounted, agrees = training.recounted, None
    if isinstance(recounted, float):
        agrees = recounted == result.objective
    figures = Figures.of(result)
    costs = f"{figures.objective} {result.unit}"
    meaning = {
        Status.OPTIMAL: f"Proved: {proof.claim}.",
        Status.WITHIN_GAP: f"Proved up to the gap: {proof.claim} by more than {figures.gap} {result.unit}.",
    }.get(
        result.status,
        f"Not proved. The model costs {costs}. The search has proved that no model costs less than "
        f"{figures.lower_bound}{result.within}. A better model may exist.",
    )
    return {
        "status": str(result.status),
        "headline": status_text(result),
        "meaning": meaning,
        "line": model._describe_proof(),
        "objective": figures.objective,
        "bound": figures.lower_bound,
        "gap": figures.gap,
        "unit": result.unit,
        "scope": result.scope,
        "parts": [
            (part.unit, said.objective, said.lower_bound, str(part.status))
            for part, said in ((part, Figures.of(part)) for part in proof.parts)
        ],
        "facts": proof.facts,
        "engine": result.stats.engine,
        "seconds": f"{result.stats.seconds:.2f}",
        "stopped_by": result.stats.stopped_by,
        "recounted": (figures.objective if agrees else count(recounted)) if isinstance(recounted, float) else recounted,
        "agrees": agrees,
        "call": _call(model),
        "class": type(model).__name__,
    }


def _call(model: ProvedClassifier) -> str:
    """The constructor call with which the model can be fitted again."""
    return repr(model).replace("\n", " ")


def _tests(schema: Schema, table: NodeTable, words: Words) -> list[tuple[str, str, str]]:
    """For each column: its name, its possible tests in words, and "yes" if the model uses it."""
    used = set(tested_columns(table))
    found = []
    for j in range(max(len(schema.columns), table.n_columns)):
        name = words.name(j)
        if j >= len(schema.columns):
            found.append((name, "numbers", "yes" if j in used else ""))
            continue
        column = schema.columns[j]
        if j in schema.left_out:
            found.append((name, f"not used: {schema.left_out[j]}", ""))
            continue
        what = {
            Kind.BOOLEAN: "yes or no",
            Kind.INTEGER: "whole numbers: thresholds",
            Kind.NOMINAL: f"{len(column.levels) or 'coded'} levels without order",
            Kind.ORDERED: f"{len(column.levels)} levels with an order: thresholds",
        }.get(
            column.kind,
            f"{column.kind}s: thresholds" if column.kind in MOMENTS else "numbers: thresholds",
        )
        if column.missing:
            what += f"; {column.missing:,} missing in training"
        found.append((name, what, "yes" if j in used else ""))
    return found


def _trace(result: Result) -> dict[str, Any]:
    events = finite(result.trace)
    return {
        "svg": trace_svg([(e.seconds, e.objective, e.lower_bound) for e in events], unit=result.unit),
        "rows": [(f"{e.seconds:.3f}", *_said(e)) for e in _thinned(events)],
    }


def _said(event: ProgressEvent) -> tuple[str, str]:
    """The texts of objective and lower bound at an event of the search."""
    figures = Figures.of(event)
    return figures.objective, figures.lower_bound


def _thinned(events: Sequence[Any], most: int = 20) -> list[Any]:
    """At most ``most`` of the events, evenly spaced, with the first and the last."""
    if len(events) <= most:
        return list(events)
    return [events[round(k * (len(events) - 1) / (most - 1))] for k in range(most)]


# ---------------------------------------------------------------------------------------------------- the quality


def _quality(name: str, found: Measured, words: Words, colours: Sequence[str], *, fresh: bool) -> dict[str, Any]:
    n_classes = found.confusion.shape[1]
    names = [words.class_name(code) for code in range(n_classes)]
    strange = bool(found.confusion[n_classes].any())
    true_names = [*names, *(["not in training"] if strange else [])]
    matrix = found.confusion[: len(true_names)]
    wrong = [(int(matrix[i, j]), true_names[i], names[j]) for i, j in zip(*np.nonzero(matrix), strict=True) if i != j]
    wrong.sort(key=lambda entry: -entry[0])
    return {
        "name": name,
        "rows": f"{found.rows:,}",
        "wrong": f"{found.wrong:,}",
        "error": share(found.error),
        "accuracy": share(1 - found.error),
        "interval": f"{share(found.low)} to {share(found.high)}" if fresh else "",
        "brier": f"{found.brier:.4f}" if np.isfinite(found.brier) else "",
        "fresh": fresh,
        "names": names,
        "matrix": _matrix(matrix, true_names, names) if n_classes <= MOST_IN_MATRIX else None,
        "wide": n_classes > 12,
        "confusions": [(f"{n:,}", truth, predicted) for n, truth, predicted in wrong[:MOST_CONFUSIONS]],
        "calibration": [
            (share(b.predicted), share(b.right), f"{share(b.low)} to {share(b.high)}", f"{b.rows:,}")
            for b in found.bins
        ],
        "calibration_points": [(b.predicted, b.right, b.low, b.high) for b in found.bins],
    }


def _matrix(matrix: IntArray, true_names: Sequence[str], names: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for i, name in enumerate(true_names):
        total = max(1, int(matrix[i].sum()))
        rows.append(
            {
                "name": name,
                "cells": [
                    {
                        "count": f"{int(value):,}" if value else "",
                        "share": f"{int(value) / total:.2f}",
                        "right": i == j,
                        "says": f"{name} predicted as {names[j]}",
                    }
                    for j, value in enumerate(matrix[i].tolist())
                ],
                "total": f"{int(matrix[i].sum()):,}",
            }
        )
    return rows
