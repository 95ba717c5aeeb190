"""Where a model is wrong: its errors beside the baseline, class by class, leaf by leaf, column by column, by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from proofwood.data.kinds import MOMENTS, NUMBERS, Kind
from proofwood.data.schema import Schema
from proofwood.estimators.validation import Validation
from proofwood.language import gettext, ngettext, number
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.printable import printable
from proofwood.report import charts
from proofwood.report.measures import (
    Measured,
    OperatingPoint,
    area_under,
    interval,
    operating_points,
)
from proofwood.report.words import Words
from proofwood.show.labels import percent

MOST_IN_MATRIX = 60
"""The most classes for a confusion matrix. With more classes, a report lists only the most frequent confusions."""
MOST_CONFUSIONS = 10
MOST_POINTS = 60
"""The most operating points that a table lists."""
FEW = 30
"""Rows of a group below which its share says little."""
MOST_GROUPS, MOST_PARTS = 4, 8
"""The most columns by which errors are shown unless they are named, and the most levels of such a column."""


@dataclass(frozen=True)
class CountedRows:
    """Rows with their classes, and what a model does with them.

    Parameters
    ----------
    X : (n_rows, n_columns) numbers, with the level codes of the training data
    codes : (n_rows,) class codes; ``n_classes`` for a class that training did not have
    counts : (n_nodes, n_classes) rows at each node, by class
    measured : the measures of the model on them
    """

    X: FloatArray
    codes: IntArray
    counts: IntArray
    measured: Measured

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.size)


# ------------------------------------------------------------------------------------------------- the front page


def headline(
    table: NodeTable, seen: CountedRows, fresh: CountedRows | None, validation: Validation | None, *, weighted: bool
) -> list[dict[str, Any]]:
    """How often the model is wrong on new rows, where there are any, and in training, beside the baseline."""
    common = int(np.argmax(table.weight[0]))
    found = []
    if fresh is not None:
        found.append(_share_wrong(fresh, common, fresh=True))
    elif validation is not None and validation.score == "accuracy":
        found.append(_held_out(validation, int(table.rows[0])))
    found.append(_share_wrong(seen, common, fresh=False))
    if weighted:
        found[-1]["said"] += "; " + gettext("each row counts once here, whatever its weight")
    most = max(max(one["baseline"], *(one["interval"] or (one["share"],))) for one in found)
    top = min(1.0, math.ceil(26 * most) / 20) or 1.0
    for one in found:
        one["svg"] = charts.scale(one["share"], one["interval"], one["baseline"], top)
        # the text of a small or large baseline stands where that of an end of the axis would
        one["zero"], one["end"] = one["baseline"] > 0.3 * top, one["baseline"] < 0.78 * top
        one["base_at"], one["top"] = f"{100 * one['baseline'] / top:.1f}", percent(top)
        one["text"], one["base_text"] = percent(one["share"], 1), percent(one["baseline"], 1)
    return found


def _share_wrong(rows: CountedRows, common: int, *, fresh: bool) -> dict[str, Any]:
    wrong, ends = rows.measured.wrong, (rows.measured.low, rows.measured.high)
    said = gettext("%(n)s of %(n_all)s wrong", n=number(f"{wrong:,}"), n_all=number(f"{rows.n_rows:,}"))
    if fresh:
        said += "; " + gettext("95\u202f%% interval %(ends)s", ends=_ends(ends, 1))
    return {
        "fresh": fresh,
        "share": wrong / rows.n_rows,
        "interval": ends if fresh else None,
        "baseline": float(np.mean(rows.codes != common)),
        "said": said,
    }


def _held_out(validation: Validation, n_rows: int) -> dict[str, Any]:
    """The error of the folds, with an interval of the confidence that intervals of rows have.

    Figures: decisions/0090-what-a-report-knows.
    """
    found = validation.interval(n_rows)
    # folds that all have one score, or a single fold, say nothing about how far the figure may be off
    ends = (max(0.0, 1 - found.high), min(1.0, 1 - found.low)) if found.high > found.low else None
    said = ngettext(
        "mean of %(n)s fold that was held out",
        "mean of %(n)s folds that were held out in turn",
        validation.folds,
    )
    if ends is not None:
        said += "; " + gettext("95\u202f%% interval %(ends)s", ends=_ends(ends, 1))
    return {
        "fresh": True,
        "share": 1 - validation.mean,
        "interval": ends,
        "baseline": 1 - validation.baseline,
        "said": said,
    }


def class_table(
    words: Words, rows: CountedRows | None, validation: Validation | None, order: Sequence[int], *, ends: bool = True
) -> dict[str, Any]:
    """Rows, recall and precision of each class, on new rows where there are any; ``ends``: with their intervals."""
    if rows is not None:
        matrix = rows.measured.confusion
        figures = [
            (code, int(matrix[code].sum()), int(matrix[:, code].sum()), int(matrix[code, code])) for code in order
        ]
        return {"where": "", "rows": [_class(words, *one, ends=ends) for one in figures]}
    assert validation is not None
    names = {str(label): code for code, label in enumerate(_labels(words))}
    figures = [
        (names[one.label], one.rows, one.predicted, one.right) for one in validation.classes if one.label in names
    ]
    figures.sort(key=lambda one: list(order).index(one[0]))
    return {"where": gettext("held-out rows of all folds"), "rows": [_class(words, *one) for one in figures]}


def _labels(words: Words) -> Sequence[object]:
    classes = words.labels.classes
    return range(words.table.n_classes) if classes is None else list(classes)


def _class(words: Words, code: int, rows: int, called: int, right: int, *, ends: bool = True) -> dict[str, Any]:
    return {
        "code": code,
        "name": words.class_name(code),
        "rows": number(f"{rows:,}"),
        "recall": percent(right / rows) if rows else "–",
        "recall_ends": interval_text(right, rows) if rows and ends else "",
        "precision": percent(right / called) if called else "–",
        "precision_ends": gettext("never predicted") if not called else interval_text(right, called) if ends else "",
    }


def interval_text(hits: int, n: int) -> str:
    """The 95 % interval of a share as a text."""
    return _ends(interval(hits, n))


def _ends(ends: tuple[float, float], digits: int = 0) -> str:
    low, high = (percent(end, digits) for end in ends)
    return gettext("%(low)s to %(high)s", low=low[:-2], high=high)


# ---------------------------------------------------------------------------------------------------- confusions


def confusion(words: Words, rows: CountedRows, order: Sequence[int], name: str) -> dict[str, Any]:
    """The confusion matrix, and the most frequent confusions."""
    matrix, n_classes = rows.measured.confusion, words.table.n_classes
    lines = [*order, *([n_classes] if matrix[n_classes].any() else [])]
    names = {code: words.class_name(code) for code in order} | {n_classes: gettext("not in training")}
    wrong = [(int(matrix[i, j]), names[i], names[j]) for i in lines for j in order if i != j and matrix[i, j]]
    wrong.sort(key=lambda entry: -entry[0])
    return {
        "name": name,
        "names": [names[code] for code in order],
        "many": n_classes > 4,
        "wide": n_classes > 12,
        "matrix": [_line(matrix, i, order, names) for i in lines] if n_classes <= MOST_IN_MATRIX else None,
        "confusions": [(number(f"{n:,}"), truth, said, n) for n, truth, said in wrong[:MOST_CONFUSIONS]],
        "brier": number(f"{rows.measured.brier:.4f}") if math.isfinite(rows.measured.brier) else "",
    }


def _line(matrix: IntArray, i: int, order: Sequence[int], names: dict[int, str]) -> dict[str, Any]:
    total = int(matrix[i].sum())
    cells = [
        {
            "count": number(f"{int(matrix[i, j]):,}") if matrix[i, j] else "·",
            "share": f"{int(matrix[i, j]) / max(total, 1):.3f}",
            "percent": percent(int(matrix[i, j]) / total) if total else "–",
            "right": i == j,
        }
        for j in order
    ]
    return {"name": names[i], "cells": cells, "total": number(f"{total:,}")}


# ---------------------------------------------------------------------------------- curves, columns and groups


def curves(words: Words, rows: CountedRows, event: int) -> dict[str, Any]:
    """ROC curve, and precision by recall, if the event is predicted in more and more leaves; both also as a table."""
    name, points = words.class_name(event), operating_points(words.table, rows.counts, event)
    some, base = [point for point in points if point.called], points[0].events / max(points[0].rows, 1)
    steps: list[tuple[float, float]] = []
    for point in some:  # between two leaves nothing can be reached, so the line has steps
        steps += [(0.0 if not steps else steps[-1][0], point.precision)] if not steps else []
        steps += [(point.found, steps[-1][1]), (point.found, point.precision)]
    whole = bool(points[0].events) and points[0].events < points[0].rows
    return {
        "event": name,
        "base": percent(base),
        "area": number(f"{area_under(points):.2f}") if whole else "",
        "roc": charts.curve(
            [(point.false, point.found) for point in points],
            [_dot(words, point, point.false, point.found) for point in points[1:]],
            gettext("share of the others, wrongly called so"),
            gettext("share of %(event)s found", event=name),
            diagonal=True,
        )
        if whole
        else "",
        "precision": charts.curve(
            steps,
            [_dot(words, point, point.found, point.precision) for point in some],
            gettext("share of %(event)s found", event=name),
            gettext("right when called so"),
            level=base,
        )
        if whole
        else "",
        "points": [_row(point) for point in points[:MOST_POINTS]],
        "more": max(0, len(points) - MOST_POINTS),
    }


def _dot(words: Words, point: OperatingPoint, x: float, y: float) -> charts.CurvePoint:
    assert point.share is not None
    counts = {"n": point.hit, "n_false": point.called - point.hit, "n_wrong": point.wrong}
    said = gettext(
        "From %(share)s on: finds %(n)s, %(n_false)s false alarms, %(n_wrong)s wrong in all",
        share=percent(point.share),
        **{name: number(f"{count:,}") for name, count in counts.items()},
    )
    return charts.CurvePoint(x, y, said, used=point.used)


def _row(point: OperatingPoint) -> dict[str, Any]:
    return {
        "share": gettext("never") if point.share is None else percent(point.share),
        "used": point.used,
        "called": number(f"{point.called:,}"),
        "hit": number(f"{point.hit:,}"),
        "found": percent(point.found),
        "alarms": number(f"{point.called - point.hit:,}"),
        "false": percent(point.false),
        "precision": percent(point.precision),
        "wrong": number(f"{point.wrong:,}"),
    }


def calibration(words: Words, fresh: CountedRows, event: int) -> Any:
    """Whether the shares of the leaves hold on new rows."""
    table = words.table
    leaves = np.flatnonzero(table.feature == LEAF).tolist()
    shares = evaluate.node_probabilities(table)
    return charts.calibration(
        [float(shares[leaf, event]) for leaf in leaves],
        [int(fresh.counts[leaf, event]) for leaf in leaves],
        [int(fresh.counts[leaf].sum()) for leaf in leaves],
        [gettext("Leaf %(leaf)s", leaf=k + 1) for k in range(len(leaves))],
        words.class_name(event),
    )


def columns_that_matter(words: Words, rows: CountedRows, tested: Sequence[int]) -> dict[str, Any]:
    """The importance of each tested column, the greatest first."""

    def loss(X: FloatArray, some: slice) -> float:
        return float(np.mean(evaluate.predict(words.table, X) != rows.codes[some]))

    return charts.columns_that_matter(loss, rows.X, tested, words.name, charts.in_points)


def groups(words: Words, schema: Schema, rows: CountedRows, chosen: Sequence[int] | None) -> list[dict[str, Any]]:
    """The share of wrong rows in each group of a column, beside all rows.

    Parameters
    ----------
    words : the model
    schema : its columns
    rows : rows of the report
    chosen : columns; None for the first that have few levels
    """
    wrong = evaluate.predict(words.table, rows.X) != rows.codes
    columns = (
        [j for j in range(len(schema.columns)) if _has_groups(schema, j)][:MOST_GROUPS] if chosen is None else chosen
    )
    found = [(words.name(j), _parts(words, schema, j, rows.X[:, j], wrong)) for j in columns]
    found = [(name, parts) for name, parts in found if len(parts) > 1]
    if not found:
        return []
    told = [(n, bad, ends) for _, parts in found for _, n, bad, ends in parts]
    most = max((ends[1] for n, _, ends in told if n >= FEW), default=max(bad / n for n, bad, _ in told))
    top, overall = min(1.0, math.ceil(10 * most + 1e-9) / 10) or 1.0, float(np.mean(wrong))
    return [
        {
            "name": name,
            "top": percent(top),
            "parts": [
                {
                    "name": part,
                    "rows": number(f"{n:,}"),
                    "share": percent(bad / n),
                    "few": n < FEW,
                    "svg": charts.dot_line(bad / n, ends, overall, top),
                }
                for part, n, bad, ends in parts
            ],
        }
        for name, parts in found
    ]


def _has_groups(schema: Schema, column: int) -> bool:
    described = schema.columns[column]
    few = 2 <= len(described.levels) <= MOST_PARTS
    return column not in schema.left_out and (few or described.shown_as is Kind.BOOLEAN)


def _parts(
    words: Words, schema: Schema, column: int, values: FloatArray, wrong: BoolArray
) -> list[tuple[str, int, int, tuple[float, float]]]:
    """For each group that has rows: its name, rows, wrong rows, and the 95 % interval of the share."""
    kind, known = schema.columns[column].shown_as, ~np.isnan(values)
    masks: list[tuple[str, BoolArray]] = []
    if kind in (*NUMBERS, *MOMENTS):
        cuts = (
            sorted(set(np.quantile(values[known], [0.25, 0.5, 0.75], method="lower").tolist())) if known.any() else []
        )
        ends = [-math.inf, *cuts, math.inf]
        for low, high in pairwise(ends):
            over = gettext("over %(value)s", value=words.value(column, low))
            name = over if high == math.inf else gettext("up to %(value)s", value=words.value(column, high))
            masks.append((name, known & (values > low) & (values <= high)))
    else:
        counted = np.unique(values[known], return_counts=True)
        order = np.argsort(-counted[1], kind="stable")[: 4 * MOST_PARTS]
        masks = [(words.value(column, value), values == value) for value in counted[0][order].tolist()]
    masks.append((gettext("missing"), ~known))
    found = []
    for name, mask in masks:
        n, bad = int(mask.sum()), int(wrong[mask].sum())
        if n:
            found.append((printable(name), n, bad, interval(bad, n)))
    return found
