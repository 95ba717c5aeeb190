"""Squared errors of models of numbers, rewards of policies, and order and rates of survival times, on new rows beside
those of training.

They are figures without a test. A mean of numbers that have no known bounds has no test that is valid for every
distribution: a single row that training did not have can move it by any amount. What can be tested are counts: of rows
at leaves, and in columns.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proofwood.drift.parts import NumberDrift
from proofwood.estimators.survival_curves import concordance
from proofwood.estimators.validation import errors_of
from proofwood.language import gettext, marked
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable

ERROR, REWARD = marked("root mean squared error"), marked("mean reward")
ORDER, RATE = marked("concordance"), marked("events per unit of time")


def number_drift(model: Any, ends: IntArray, targets: FloatArray, leaf: int | None = None) -> NumberDrift:
    """The figures of new rows.

    Parameters
    ----------
    model : fitted model of numbers or times, or policy
    ends : (n_rows,) leaf of each new row
    targets : (n_rows, k) numbers, rewards, or times and events
    leaf : the leaf whose rows are meant; None for all rows
    """
    table = model.model_
    if leaf is not None:
        targets, ends = targets[ends == leaf], ends[ends == leaf]
    if hasattr(model, "curves_"):
        return _order(model, ends, targets) if leaf is None else _rate(table, leaf, targets)
    leaves = np.flatnonzero(table.feature == LEAF) if leaf is None else np.array([leaf])
    if table.n_labels > 1:
        now = _mean(targets[np.arange(ends.size), table.label[ends]])
        return NumberDrift(gettext(REWARD), _reward(table, leaves), now)
    now = errors_of(targets[:, 0], table.values[ends, 0])[0] if ends.size else math.nan
    of_squares = model.result_.unit.startswith("squared error")
    then = _error(table, leaves) if of_squares else math.nan
    found = model.validation_
    held_out = math.nan if found is None or found.numbers is None or leaf is not None else found.numbers.squared
    return NumberDrift(gettext(ERROR), then, now, held_out, _mean(targets[:, 0]))


def _order(model: Any, ends: IntArray, targets: FloatArray) -> NumberDrift:
    """How well the rates of the leaves order the times."""
    times, events = targets.T
    found = model.validation_
    held_out = math.nan if found is None or found.times is None else found.times.concordance
    now = concordance(times, events > 0, model.model_.values[ends, 0])
    return NumberDrift(gettext(ORDER), model._concordance, now, held_out)


def _rate(table: NodeTable, leaf: int, targets: FloatArray) -> NumberDrift:
    """The rate of events at a leaf."""
    assert table.values is not None
    seen = float(targets[:, 0].sum())
    now = float(np.count_nonzero(targets[:, 1])) / seen if seen else math.nan
    return NumberDrift(gettext(RATE), float(table.values[leaf, 0]), now)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else math.nan


def _reward(table: NodeTable, leaves: IntArray) -> float:
    """Mean reward of the training rows at some leaves, by weight."""
    assert table.values is not None
    return float(np.average(table.values[leaves, table.label[leaves]], weights=table.weight[leaves, 0]))


def _error(table: NodeTable, leaves: IntArray) -> float:
    """Root of the mean squared error of the training rows at some leaves, by weight."""
    assert table.loss is not None
    return math.sqrt(float(table.loss[leaves].sum()) / float(table.weight[leaves, 0].sum()))
