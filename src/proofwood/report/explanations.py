"""Why chosen rows get their class, with proof, within a time limit."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from proofwood.ensembles.door import Admitted
from proofwood.exceptions import OptimalityWarning
from proofwood.explain.explainer import Explainer
from proofwood.explain.explanation import Explanation
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.report.words import Words, change

if TYPE_CHECKING:
    from proofwood.estimators.base import ProvedClassifier

LEAST_SECONDS = 0.05
"""Seconds left below which nothing more is asked."""


@dataclass
class ExplainedRow:
    """What a report says of one row.

    Parameters
    ----------
    row : its number
    predicted, truth : its classes, in words
    right : whether they are the same
    steps : the answers on its path
    why : conditions that suffice for its class; None if they are not known
    why_status : what is proved of them
    changes : the nearest changes that lead to another class; None if they are not known
    changed_to : that class
    changes_status : what is proved of them
    checked : what a second look says
    note : why something is not there
    """

    row: int
    predicted: str
    truth: str
    right: bool
    steps: list[str]
    why: list[str] | None = None
    why_status: str = ""
    changes: list[str] | None = None
    changed_to: str = ""
    changes_status: str = ""
    checked: str = ""
    note: str = ""


def explained_rows(
    model: ProvedClassifier, words: Words, X: FloatArray, codes: IntArray, rows: Sequence[int], seconds: float
) -> tuple[list[ExplainedRow], str]:
    """What there is to say of some rows, and a note where formal explanations are not possible.

    Parameters
    ----------
    model : fitted
    words : its words
    X, codes : all rows of the report
    rows : those to explain
    seconds : limit for all of them
    """
    until = time.monotonic() + seconds
    found = [_path(model, words, X[row], int(codes[row]), row) for row in rows]
    if not found:
        return found, ""
    try:
        explainer = Explainer(model)
    except (TypeError, ValueError) as error:
        return found, f"No formal explanations: {error}."
    for k, told in enumerate(found):
        share = (until - time.monotonic()) / (len(found) - k)
        if share < LEAST_SECONDS:
            told.note = f"The time limit of {seconds:g} s for explanations came first."
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)  # the status says it
            _formal(told, explainer, words, X[told.row], time.monotonic() + share)
    return found, ""


def _path(model: ProvedClassifier, words: Words, x: FloatArray, code: int, row: int) -> ExplainedRow:
    table = model.model_
    nodes = evaluate.path(table, x)
    steps = [words.answer(node, after == table.low[node]) for node, after in pairwise(nodes)]
    label = int(table.label[nodes[-1]])
    known = code < table.n_classes
    truth = words.class_name(code) if known else "a class that training did not have"
    return ExplainedRow(row, words.class_name(label), truth, label == code, steps)


def _formal(told: ExplainedRow, explainer: Explainer, words: Words, x: FloatArray, until: float) -> None:
    """Add the formal explanations of a row."""
    try:
        row = Admitted.one(x, int(explainer.model.predict_codes(x[np.newaxis])[0]))
        why = explainer.abductive(row, inflate=True, time_limit=(until - time.monotonic()) * 0.5)
        near = explainer.counterfactual(row, time_limit=max(LEAST_SECONDS, (until - time.monotonic()) * 0.6))
    except ValueError as error:
        told.note = f"No formal explanation: {error}."
        return
    told.why_status, told.changes_status = _status(why), near.status
    if why.status not in ("unknown", "impossible"):
        told.why = [words.condition(condition) for condition in why.conditions]
        left = until - time.monotonic()
        if left >= LEAST_SECONDS:
            second = why.verify(seconds=left)
            told.checked = {
                "confirmed": "confirmed by a second look",
                "refuted": "NOT confirmed by a second look",
                "undecided": "not decided by a second look within the time limit",
                "not checked": "not wholly checked by a second look",
            }[second.status]
    if near.status == "none":
        told.changes = []
    elif near.witness is not None:
        told.changed_to = words.class_name(near.witness_label)
        told.changes = _changes(near, words)


def _status(explanation: Explanation) -> str:
    return explanation.status + (f", ranges {explanation.ranges}" if explanation.ranges else "")


def _changes(near: Explanation, words: Words) -> list[str]:
    assert near.witness is not None
    changes = []
    for feature in near.features:
        now, then = (words.value(feature, float(row[feature])) for row in (near.row, near.witness))
        gap = math.isnan(near.row[feature]) != math.isnan(near.witness[feature])
        if now == then and not gap:
            now, then = (repr(float(row[feature])) for row in (near.row, near.witness))
        changes.append(change(words.name(feature), now, then))
    return changes
