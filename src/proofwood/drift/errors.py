"""The share of wrong predictions among new rows, compared with the expected share.

What is expected is, in this order: what the user says; the error on the held-out rows of the cross-validation; the
error in training, which is too low because the model was chosen by it. For the last, the p-value is multiplied by the
number of models that could have been chosen: over all rows, those of training and the new ones, each of them is wrong
for a number of rows that does not depend on which rows are new, so that the union bound holds for every way of learning
(the argument of Vapnik's transduction, with exact tails). Record: decisions/0085-drift-by-exact-tests.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.drift.exact import is_above, is_more
from proofwood.drift.parts import About, ErrorDrift, Finding, Share, finding
from proofwood.drift.rows import TestedRows
from proofwood.language import gettext, marked
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable
from proofwood.report.words import share

OF_BASELINE = marked("of always predicting the most frequent class of training")
OF_TRAINING = marked("in training, allowing for the choice of the model")
_LONGEST = 600.0
"""Models of which there are more, by the natural logarithm, have a p-value of 1; float64 ends soon after."""


def training_error(table: NodeTable) -> float:
    """The share of the training weight that is predicted wrong; NaN without weight."""
    leaves = np.flatnonzero(table.feature == LEAF)
    right, total = float(table.weight[leaves, table.label[leaves]].sum()), float(table.weight[leaves].sum())
    return 1 - right / total if total else math.nan


def compared(
    model: Any, errors: ErrorDrift, rows: TestedRows, given: float | None, *, weighted: bool
) -> tuple[ErrorDrift, list[Finding]]:
    """The errors with the expected share of errors, and the test of whether new rows have more.

    Parameters
    ----------
    model : fitted model
    errors : wrong predictions of the new rows
    rows : the new rows
    given : share of wrong predictions that the user expects, or None
    weighted : whether training rows had weights: then their errors are not counted in rows
    """
    now = errors.now
    if given is not None:
        expected, source, p = float(given), gettext("as you expect"), is_above(now.count, now.rows, float(given))
    elif model.validation_ is not None:
        source = gettext("on the held-out rows of the cross-validation")
        expected, source, p = _as_in(_held_out(model), now, source)
    elif not weighted:
        expected, source, p = _as_in_training(model, rows, now)
    else:
        return errors, []
    text = gettext(
        "wrong predictions: %(now)s; compared with %(share)s %(source)s", now=now, share=share(expected), source=source
    )
    test = finding(About.ERRORS, "", text, max(0.0, now.share - expected), p)
    return replace(errors, expected=expected, source=source), [test]


def _as_in(then: Share, now: Share, source: str) -> tuple[float, str, float]:
    return then.share, source, is_more(now.count, now.rows, then.count, then.rows)


def _held_out(model: Any) -> Share:
    """Wrong predictions on held-out rows. Rows that several folds hold out count once, by their mean."""
    classes = model.validation_.classes
    rows, right = sum(one.rows for one in classes), sum(one.right for one in classes)
    once = min(rows, int(model.model_.rows[0]))
    return Share(round((rows - right) * once / rows), once)


def _as_in_training(model: Any, rows: TestedRows, now: Share) -> tuple[float, str, float]:
    """The comparison with the training error, or with that of one class, whichever tells more."""
    table = model.model_
    n = int(table.rows[0])
    leaves = np.flatnonzero(table.feature == LEAF)
    wrong = n - int(table.weight[leaves, table.label[leaves]].sum())
    length = log_models(model, rows)
    expected, source, p = _as_in(Share(wrong, n), now, gettext(OF_TRAINING))
    by_training = min(1.0, p * math.exp(length)) if length < _LONGEST else 1.0
    baseline = _as_in(Share(n - int(table.weight[0].max()), n), now, gettext(OF_BASELINE))
    if by_training <= baseline[2]:
        return expected, source, min(1.0, 2 * by_training)
    return *baseline[:2], min(1.0, 2 * baseline[2])


def log_models(model: Any, rows: TestedRows) -> float:
    """The natural logarithm of how many models stand beside this one: of its size, with tests that differ on all rows.

    The inverses of these numbers, added up over all models of all sizes, are at most 1.

    Parameters
    ----------
    model : fitted model
    rows : new rows
    """
    table = model.model_
    n_splits = table.n_splits
    shapes = n_splits * math.log(4) if table.is_tree else 2 * n_splits * math.log(table.n_nodes)
    labels = table.n_leaves * math.log(table.n_classes)
    tests = math.fsum(_log_tests(model, rows, node) for node in table.splits())
    return float(tests + shapes + labels + (n_splits + 1) * math.log(2))


def _log_tests(model: Any, rows: TestedRows, node: int) -> float:
    """The same for the test of a split: a column or a weighted sum, a side for missing values, and where it divides."""
    table, width = model.model_, model.n_features_in_
    n = int(table.rows[0]) + rows.count
    chosen, column = math.log(2 * (width + 1)), int(table.feature[node])
    if column == OBLIQUE:  # so many columns, these of all, and at most 2 n^k ways of a hyperplane to divide n points
        terms = len(table.tested(node))
        return chosen + math.log(2 * width * math.comb(width, terms)) + terms * math.log(n)
    if model.schema_.columns[column].kind is not Kind.NOMINAL:
        return chosen + math.log(n + 1)
    known = len(model.schema_.columns[column].levels)
    if not known:
        known = len(model._tested[column].codes) if column in model._tested else n
    return chosen + (known + len(rows.new_levels.get(column, ()))) * math.log(2)
