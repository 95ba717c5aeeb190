"""How well a model predicts rows: errors, confusions, calibration."""

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
    right : share of these rows that are right
    low, high : 95 % interval of that share
    rows : number of them
    """

    predicted: float
    right: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True)
class Measured:
    """What rows say of a model.

    Parameters
    ----------
    rows, wrong : how many there are, and how many are wrong
    low, high : 95 % interval of the share that is wrong, for rows that the model has not seen
    confusion : (n_classes + 1, n_classes) rows by class (the last: not in training) and prediction
    bins : calibration of the predicted class
    brier : mean squared distance of the probabilities from the class, from 0 to 2; nan with rows of unknown classes
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
        """Share of wrong rows."""
        return self.wrong / self.rows


def codes_of(labels: Any, classes: npt.NDArray[Any]) -> IntArray:
    """(n_rows,) class code of each label, ``n_classes`` where training did not have it."""
    labels = np.asarray(labels).ravel()
    if labels.dtype.kind in "mM" and classes.dtype.kind == labels.dtype.kind:
        labels = labels.astype(classes.dtype)  # days and nanoseconds of one moment are the same
    known = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([known.get(label, len(known)) for label in labels.tolist()], dtype=np.int64)


def measured(table: NodeTable, X: FloatArray, codes: IntArray) -> Measured:
    """What the rows of ``X`` with their class codes say of a model."""
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
    """The 95 % interval of Wilson (1927) for a share."""
    p = hits / n
    scale = 1 + _Z**2 / n
    centre, half = (p + _Z**2 / (2 * n)) / scale, _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)
