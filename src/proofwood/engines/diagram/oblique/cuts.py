"""Finds the best cut along given normals, by loss and by information gain.

The *extra* cost of a row is its cost on the high side minus its cost on the low side. So the loss of a hyperplane is
the cost of all rows on the low side, plus the extra costs of the rows above the hyperplane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import Norm

MARGIN = 1e-4
"""The smallest permitted distance of the rows of the two sides along a normal within the norm: the epsilon of eq. 13 in
[Florio 2023]."""

NO_CUT = 2**62
"""The loss of a cut that is not permitted."""


def weighted_sums(columns: FloatArray, normal: FloatArray) -> FloatArray:
    """Array (n_rows,): ``columns @ normal``, summed column by column to give the same floats as an exported model."""
    total = np.zeros(columns.shape[0])
    for column in np.flatnonzero(normal).tolist():
        total += columns[:, column] * normal[column]
    return total


# There are two norms: the paper prints a box, but the authors' program bounds the absolute sum. For one data set, 3
# wrong rows are optimal under the sum, and 2 in the printed model: decisions/0068-oblique-splits-as-printed.
def lengths(normals: FloatArray, norm: Norm) -> FloatArray:
    """Array (n_normals,): the lengths of normals (n_normals, n_features) in the norm, without regard to offsets.

    A normal divided by its length is as large as the norm permits.
    """
    absolute = np.abs(normals)
    return np.asarray(absolute.sum(axis=-1) if norm == "l1" else absolute.max(axis=-1, initial=0.0))


def sizes(length: FloatArray, low: FloatArray, high: FloatArray, norm: Norm) -> FloatArray:
    r"""The sizes of hyperplanes: a hyperplane divided by its size is within the norm, including its offset.

    The rows of the low side have sums of at most ``low``, those of the high side of at least ``high``; the arrays
    broadcast. In the box, eq. 13 and 14 of [Florio 2023] require an offset :math:`b` in [-1, 1] with
    :math:`low + \varepsilon \le b \le high`, or the same for the negated hyperplane. With
    :math:`s = \max(|a|_\infty, low, -high)`, such an offset exists for :math:`a / s` iff
    :math:`high - low \ge \varepsilon s`. If ``low`` and ``high`` are within [-1, 1], the hyperplane or its negation has
    one. If :math:`low > 1` or :math:`high < -1`, dividing by :math:`s` moves the end nearer to 0 exactly to 1 or -1. In
    the norm "l1", the absolute coefficients add up to 1, so sums over columns in [0, 1] are always within [-1, 1].
    """
    return length if norm == "l1" else np.maximum(length, np.maximum(low, -high))


@dataclass(frozen=True, slots=True)
class Cuts:
    """The best cut along each of some normals.

    Parameters
    ----------
    loss : (n_normals,) int64, sum of the extra costs of the rows on the high side; NO_CUT if no cut is permitted
    flipped : (n_normals,) whether the rows with smaller sums go high; then normal and offset must be negated
    offset : (n_normals,) halfway between the two rows next to the cut, before any negation
    gap : (n_normals,) distance of these two rows, with the normal scaled as large as the norm permits
    """

    loss: IntArray
    flipped: BoolArray
    offset: FloatArray
    gap: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Cuts]) -> Cuts:
        """The cuts of all parts in one object, in the order of the parts."""
        return cls(
            np.concatenate([part.loss for part in parts]),
            np.concatenate([part.flipped for part in parts]),
            np.concatenate([part.offset for part in parts]),
            np.concatenate([part.gap for part in parts]),
        )


def best_cuts(sums: FloatArray, extra: IntArray, length: FloatArray, *, norm: Norm) -> Cuts:
    """The cut of least loss along each normal; among equals, the one with the widest gap.

    A cut always has rows on both sides.

    Parameters
    ----------
    sums : (n_rows, n_normals) weighted sums of the rows
    extra : (n_rows,) int64, cost on the high side minus cost on the low side
    length : (n_normals,) lengths of the normals, from :func:`lengths`
    """
    n, k = sums.shape
    if n < 2:
        nothing = np.zeros(k)
        return Cuts(np.full(k, NO_CUT), np.zeros(k, dtype=np.bool_), nothing, nothing)
    order = np.argsort(sums, axis=0)
    places = np.take_along_axis(sums, order, axis=0)
    below = np.cumsum(extra[order], axis=0)[:-1]  # extra costs of the rows before each cut
    gaps = np.diff(places, axis=0) / sizes(length, places[:-1], places[1:], norm)
    permitted = gaps >= MARGIN
    straight = np.where(permitted, int(extra.sum()) - below, NO_CUT)
    flipped = np.where(permitted, below, NO_CUT)
    losses = np.minimum(straight, flipped)
    least = losses.min(axis=0)
    cut = np.where(losses == least, gaps, -1.0).argmax(axis=0)
    each = np.arange(k)
    low, high = places[cut, each], places[cut + 1, each]
    return Cuts(least, flipped[cut, each] < straight[cut, each], low + (high - low) / 2, gaps[cut, each])


def gain_cuts(
    sums: FloatArray, weights: FloatArray, length: FloatArray, *, norm: Norm
) -> tuple[FloatArray, FloatArray]:
    """The cut with the greatest information gain along each normal.

    Parameters
    ----------
    sums : (n_rows, n_normals) weighted sums of the rows
    weights : (n_rows, n_classes) weight of each row in the column of its class
    length : (n_normals,) lengths of the normals, from :func:`lengths`

    Returns
    -------
    gain : (n_normals,) gain in bits times weight; -inf if no cut is permitted
    offset : (n_normals,) halfway between the two rows next to the cut
    """
    n, k = sums.shape
    if n < 2:
        return np.full(k, -np.inf), np.zeros(k)
    order = np.argsort(sums, axis=0)
    places = np.take_along_axis(sums, order, axis=0)
    below = np.cumsum(weights[order], axis=0)[:-1]  # (n_rows - 1, n_normals, n_classes)
    whole = weights.sum(axis=0)
    gains = entropy(whole) - entropy(below) - entropy(whole - below)
    permitted = np.diff(places, axis=0) >= MARGIN * sizes(length, places[:-1], places[1:], norm)
    gains = np.where(permitted, gains, -np.inf)
    cut, each = gains.argmax(axis=0), np.arange(k)
    low, high = places[cut, each], places[cut + 1, each]
    return gains[cut, each], low + (high - low) / 2


def entropy(weights: FloatArray) -> FloatArray:
    """Entropy in bits times weight, from the class weights ``w`` along the last axis: ``W log W - sum w log w``."""
    whole = weights.sum(axis=-1)
    return np.asarray(_x_log_x(whole) - _x_log_x(weights).sum(axis=-1))


def _x_log_x(x: FloatArray) -> FloatArray:
    positive = x > 0
    return np.asarray(np.where(positive, x * np.log2(np.where(positive, x, 1.0)), 0.0))
