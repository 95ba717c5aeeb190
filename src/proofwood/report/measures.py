"""Measures of how well a model predicts rows: errors, confusion matrix, calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray, NodeTable

BINS = 10
_Z = 1.959963984540054  # of a normal interval of 95 %


@dataclass(frozen=True)
class Bin:
    """Rows whose class was predicted with about the same probability.

    Parameters
    ----------
    predicted : mean probability of the predicted class
    right : share of these rows that are predicted right
    low, high : 95 % interval of this share
    rows : number of these rows
    """

    predicted: float
    right: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True)
class Measured:
    """The measures of a model on some rows.

    Parameters
    ----------
    rows, wrong : number of rows, and of wrong predictions
    low, high : 95 % interval of the share of wrong predictions, valid for rows not used in training
    confusion : (n_classes + 1, n_classes) number of rows by class (last: classes not in training) and prediction
    bins : calibration of the predicted class
    brier : Brier score of the probabilities, from 0 to 2; NaN if rows have unknown classes
    """

    rows: int
    wrong: int
    low: float
    high: float
    confusion: IntArray
    bins: tuple[Bin, ...]
    brier: float

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return self.wrong / self.rows


def codes_of(labels: Any, classes: npt.NDArray[Any]) -> IntArray:
    """(n_rows,) class code of each label; ``n_classes`` for a label that training did not have."""
    labels = np.asarray(labels).ravel()
    if labels.dtype.kind in "mM" and classes.dtype.kind == labels.dtype.kind:
        labels = labels.astype(classes.dtype)  # days and nanoseconds of one moment are the same
    known = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([known.get(label, len(known)) for label in labels.tolist()], dtype=np.int64)


def measured(table: NodeTable, X: FloatArray, codes: IntArray) -> Measured:
    """The measures of a model on the rows of ``X`` with their class codes."""
    n, n_classes = codes.size, table.n_classes
    leaves = evaluate.apply(table, X)
    found, shares = table.label[leaves], evaluate.node_probabilities(table)[leaves]
    confusion = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(confusion, (codes, found), 1)
    right = found == codes
    wrong = int(n - right.sum())
    sure = shares[np.arange(n), found]
    brier = math.nan
    if np.all(codes < n_classes):
        truth = np.zeros_like(shares)
        truth[np.arange(n), codes] = 1.0
        brier = float(((shares - truth) ** 2).sum(axis=1).mean())
    return Measured(n, wrong, *interval(wrong, n), confusion, _calibration(sure, right), brier)


def _calibration(sure: FloatArray, right: npt.NDArray[np.bool_]) -> tuple[Bin, ...]:
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    bins = []
    for k in range(BINS):
        inside = place == k
        rows, hits = int(inside.sum()), int(right[inside].sum())
        if rows:
            bins.append(Bin(float(sure[inside].mean()), hits / rows, *interval(hits, rows), rows))
    return tuple(bins)


def interval(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for the share ``hits / n``."""
    p = hits / n
    scale = 1 + _Z**2 / n
    centre, half = (p + _Z**2 / (2 * n)) / scale, _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)
