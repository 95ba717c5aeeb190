"""Measures of how well a model predicts rows: errors, confusions, what its leaves could do, what its columns matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable

BINS = 10
REPEATS = 30
"""Times that the values of a column are dealt out anew to measure its importance."""
MOST_DEALT = 20_000
"""The most rows on which importance is measured; of more rows, the first."""
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


def measured(table: NodeTable, X: FloatArray, codes: IntArray) -> Measured:
    """The measures of a model on the rows of ``X`` with their class codes."""
    n, n_classes = codes.size, table.n_classes
    leaves = evaluate.apply(table, X)
    found, shares = table.label[leaves], evaluate.node_probabilities(table)[leaves]
    confusion = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(confusion, (codes, found), 1)
    wrong, sure = int(np.count_nonzero(found != codes)), shares[np.arange(n), found]
    brier = math.nan
    if np.all(codes < n_classes):
        truth = np.zeros_like(shares)
        truth[np.arange(n), codes] = 1.0
        brier = float(((shares - truth) ** 2).sum(axis=1).mean())
    return Measured(n, wrong, *interval(wrong, n), confusion, _calibration(sure, found == codes), brier)


def _calibration(sure: FloatArray, right: npt.NDArray[np.bool_]) -> tuple[Bin, ...]:
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    bins = []
    for k in range(BINS):
        inside = place == k
        rows, hits = int(inside.sum()), int(right[inside].sum())
        if rows:
            bins.append(Bin(float(sure[inside].mean()), hits / rows, *interval(hits, rows), rows))
    return tuple(bins)


@dataclass(frozen=True)
class OperatingPoint:
    """The result of predicting the event in all leaves that have at least a given share of it in training.

    Parameters
    ----------
    share : the least share of the event in these leaves, by training weight; None for no leaf
    leaf : the leaf with this share; None for no leaf
    called, hit : number of rows in these leaves, and of those that have the event
    events, rows : number of rows that have the event, and of all rows
    used : whether the model itself predicts the event in exactly these leaves
    """

    share: float | None
    leaf: int | None
    called: int
    hit: int
    events: int
    rows: int
    used: bool

    @property
    def found(self) -> float:
        """The share of the rows with the event for which it is predicted (recall, true positive rate)."""
        return self.hit / self.events if self.events else math.nan

    @property
    def false(self) -> float:
        """The share of the other rows for which the event is predicted (false positive rate)."""
        others = self.rows - self.events
        return (self.called - self.hit) / others if others else math.nan

    @property
    def precision(self) -> float:
        """Among the rows for which the event is predicted, the share that has it; NaN if there are none."""
        return self.hit / self.called if self.called else math.nan

    @property
    def wrong(self) -> int:
        """Number of rows with a wrong prediction, of the event or of its absence."""
        return self.events - self.hit + self.called - self.hit


def operating_points(table: NodeTable, counts: IntArray, event: int) -> list[OperatingPoint]:
    """The results of predicting the event in more and more leaves, beginning with the largest share of the event.

    Parameters
    ----------
    table : NodeTable
    counts : (n_nodes, n_classes) rows at each node, by class
    event : class code
    """
    leaves = np.flatnonzero(table.feature == LEAF)
    shares = evaluate.node_probabilities(table)[leaves, event]
    order = np.argsort(-shares, kind="stable")
    calls = {int(leaf) for leaf in leaves if table.label[leaf] == event}
    events, rows = int(counts[leaves, event].sum()), int(counts[leaves].sum())
    points, called, hit, taken = [OperatingPoint(None, None, 0, 0, events, rows, not calls)], 0, 0, set[int]()
    for leaf, share in zip(leaves[order].tolist(), shares[order].tolist(), strict=True):
        called, hit = called + int(counts[leaf].sum()), hit + int(counts[leaf, event])
        taken.add(leaf)
        points.append(OperatingPoint(share, leaf, called, hit, events, rows, taken == calls))
    return points


def area_under(points: Sequence[OperatingPoint]) -> float:
    """The area under the curve of found against falsely called rows (ROC)."""
    steps = pairwise(points)
    return math.fsum((b.false - a.false) * (a.found + b.found) / 2 for a, b in steps)


def importance_of(
    loss: Callable[[FloatArray, slice], float], X: FloatArray, columns: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """For each column, by how much shuffling its values raises a loss: mean and standard deviation.

    This is the permutation importance of Breiman (2001), with :data:`REPEATS` deals from a fixed seed.

    Parameters
    ----------
    loss : function of rows, and of the slice of all rows that they are
    X : (n_rows, n_columns) rows
    columns : columns to shuffle
    """
    random, some = np.random.default_rng(0), slice(0, MOST_DEALT)
    X = np.array(X[some])
    before = loss(X, some)
    found = {}
    for column in columns:
        kept = X[:, column].copy()
        more = []
        for _ in range(REPEATS):
            X[:, column] = random.permutation(kept)
            more.append(loss(X, some) - before)
        X[:, column] = kept
        found[column] = (float(np.mean(more)), float(np.std(more, ddof=1)))
    return found


def interval(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for the share ``hits / n``."""
    if n == 0:
        return 0.0, 1.0
    p = hits / n
    scale = 1 + _Z**2 / n
    centre, half = (p + _Z**2 / (2 * n)) / scale, _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)
