"""Proved explanations of the classes of chosen rows, within a time limit."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from proofwood.ensembles.door import Admitted
from proofwood.exceptions import OptimalityWarning
from proofwood.explain.explainer import Explainer
from proofwood.explain.explanation import UP_TO_ROUNDING, Explanation
from proofwood.language import gettext, marked, number
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.report.words import Words, change
from proofwood.show.colouring import leaf_codes

if TYPE_CHECKING:
    from proofwood.estimators.classifier import ProvedClassifier

LEAST_SECONDS = 0.05
"""Another explanation starts only if at least this many seconds are left."""


@dataclass
class ExplainedRow:
    """The explanations of one row in a report.

    Parameters
    ----------
    row : index of the row
    head : what is predicted, and what is true, in one line
    steps : the results of the tests on the path of the row, in words
    why : conditions that are sufficient for the predicted class; None if not known
    why_status : what is proved about the conditions
    changes : the nearest changes that lead to another class; None if not known
    changed_to : name of the class to which the changes lead
    changes_status : what is proved about the changes
    checked : result of the second check of the conditions
    note : the reason, if an explanation is missing
    """

    row: int
    head: str
    steps: list[str]
    why: list[str] | None = None
    why_status: str = ""
    changes: list[str] | None = None
    changed_to: str = ""
    changes_status: str = ""
    checked: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers, so that rows can be explained.

    Parameters
    ----------
    names : the answers by their codes: classes, actions, or the numbers of leaves from the least to the greatest
    code : (n_nodes,) answer of each leaf
    head : function of a row and of the code of its answer, which says it beside the truth in one line
    target : what to explain of a model of numbers; None for classes and actions
    """

    names: Sequence[str]
    code: IntArray
    head: Callable[[int, int], str]
    target: list[float] | None = None


def of_classes(words: Words, codes: IntArray) -> Answers:
    """The answers of a model of classes; ``codes`` are those of all rows."""
    table = words.table
    names = [words.class_name(code) for code in range(table.n_classes)]

    def head(row: int, code: int) -> str:
        truth, name = int(codes[row]), names[code]
        if truth == code:
            return gettext("Row %(row)s: predicted %(name)s, which is right", row=row, name=name)
        told = names[truth] if truth < table.n_classes else gettext("a class that training did not have")
        return gettext("Row %(row)s: predicted %(name)s, but it is %(truth)s", row=row, name=name, truth=told)

    return Answers(names, table.label, head)


def of_actions(words: Words, codes: IntArray) -> Answers:
    """The answers of a policy; ``codes`` are the best actions of all rows."""
    names = [words.class_name(code) for code in range(words.table.n_labels)]

    def head(row: int, code: int) -> str:
        if int(codes[row]) == code:
            return gettext("Row %(row)s: gets %(name)s, its best action", row=row, name=names[code])
        best = names[int(codes[row])]
        return gettext(
            "Row %(row)s: gets %(name)s, but its best action is %(truth)s", row=row, name=names[code], truth=best
        )

    return Answers(names, words.table.label, head)


def of_numbers(words: Words, names: Sequence[str], truths: Callable[[int], str]) -> Answers:
    """The answers of a model of numbers, with their names, and a function that says what is true of a row."""
    numbers, code = leaf_codes(words.table)

    def head(row: int, code: int) -> str:
        told = {"name": names[code], "truth": truths(row)}
        return gettext("Row %(row)s: predicted %(name)s; in fact %(truth)s", row=row, **told)

    cuts = (numbers[:-1] / 2 + numbers[1:] / 2).tolist() or [float(numbers[0]) + max(1.0, abs(float(numbers[0])))]
    return Answers(names, code, head, cuts)


def explained_rows(
    model: ProvedClassifier, words: Words, answers: Answers, X: FloatArray, rows: Sequence[int], seconds: float
) -> tuple[list[ExplainedRow], str]:
    """The explanations of some rows, and a note if formal explanations of the model are not possible.

    Parameters
    ----------
    model : fitted model
    words : its tests and names in words
    answers : what it answers
    X : all rows of the report
    rows : indices of the rows to explain
    seconds : time limit for all explanations
    """
    until = time.monotonic() + seconds
    found = [_path(words, answers, X[row], row) for row in rows]
    if not found:
        return found, ""
    try:
        explainer = Explainer(model) if answers.target is None else Explainer(model, target=answers.target)
    except (TypeError, ValueError) as error:
        return found, gettext("No formal explanations: %(reason)s.", reason=error)
    for k, told in enumerate(found):
        share = (until - time.monotonic()) / (len(found) - k)
        if share < LEAST_SECONDS:
            limit = number(f"{seconds:g}")
            told.note = gettext("Not explained: the time limit of %(n)s s for explanations was reached.", n=limit)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)  # the status says the same
            _formal(told, explainer, words, answers, X[told.row], time.monotonic() + share)
    return found, ""


def _path(words: Words, answers: Answers, x: FloatArray, row: int) -> ExplainedRow:
    table = words.table
    nodes = evaluate.path(table, x)
    steps = [words.answer(node, after == table.low[node]) for node, after in pairwise(nodes)]
    return ExplainedRow(row, answers.head(row, int(answers.code[nodes[-1]])), steps)


def _formal(
    told: ExplainedRow, explainer: Explainer, words: Words, answers: Answers, x: FloatArray, until: float
) -> None:
    """Add the formal explanations of a row."""
    try:
        row = Admitted.one(x, int(explainer.model.predict_codes(x[np.newaxis])[0]))
        why = explainer.abductive(row, inflate=True, time_limit=(until - time.monotonic()) * 0.5)
        near = explainer.counterfactual(row, time_limit=max(LEAST_SECONDS, (until - time.monotonic()) * 0.6))
    except ValueError as error:
        told.note = gettext("No formal explanation: %(reason)s.", reason=error)
        return
    told.why_status, told.changes_status = _status(why), _told(near.status)
    if why.status not in ("unknown", "impossible"):
        told.why = [words.condition(condition) for condition in why.conditions]
        left = until - time.monotonic()
        if left >= LEAST_SECONDS:
            second = why.verify(seconds=left)
            told.checked = gettext(CHECKED[second.status])
    if near.status == "none":
        told.changes = []
    elif near.witness is not None:
        told.changed_to = answers.names[near.witness_label]
        told.changes = _changes(near, words)


def _status(explanation: Explanation) -> str:
    found = _told(explanation.status)
    if not explanation.ranges:
        return found
    return gettext("%(status)s, ranges %(ranges)s", status=found, ranges=_told(explanation.ranges))


CHECKED = {
    "confirmed": marked("confirmed by a second check"),
    "refuted": marked("NOT confirmed by a second check"),
    "undecided": marked("not decided by a second check within the time limit"),
    "not checked": marked("not completely checked by a second check"),
}
"""What the second check of an explanation said."""
STATUSES = (
    marked("minimal"),
    marked("smallest"),
    marked("sufficient"),
    marked("maximal"),
    marked("optimal"),
    marked("feasible"),
    marked("none"),
    marked("unknown"),
    marked("impossible"),
    marked(" up to rounding"),
)
"""What can be proved about an explanation, and the end of what is proved up to rounding alone."""


def _told(status: str) -> str:
    """What is proved about an explanation, in words."""
    exact = status.removesuffix(UP_TO_ROUNDING)
    return gettext(exact) + (gettext(UP_TO_ROUNDING) if exact != status else "")


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
