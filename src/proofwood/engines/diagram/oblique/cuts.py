"""The best place of a cut along given normals, by loss and by information gain.

Rows are given by their *extra* price, what the high side costs beyond the low side, so the loss of a hyperplane, less
the price of all rows on the low side, is the sum of the extra prices of the rows above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import Norm

MARGIN = 1e-4
"""Least distance of the rows of either side along a normal within the norm: the strictness of [Florio 2023], eq. 13."""

NO_CUT = 2**62
"""Loss where no cut is permitted."""


def weighted_sums(columns: FloatArray, normal: FloatArray) -> FloatArray:
    """(n_rows,) ``columns @ normal``, added up column by column: the floats that an exported diagram compares."""
    total = np.zeros(columns.shape[0])
    for column in np.flatnonzero(normal).tolist():
        total += columns[:, column] * normal[column]
    return total


# Two norms: the paper prints a box, and the authors' program bounds the absolute sum, under which a diagram was
# "proved" with 3 rows wrong where the printed model has 2: decisions/0068-oblique-splits-as-printed.
def lengths(normals: FloatArray, norm: Norm) -> FloatArray:
    """(n_normals,) what normals (n_normals, n_features) are divided by to be within the norm, offsets aside."""
    absolute = np.abs(normals)
    return np.asarray(absolute.sum(axis=-1) if norm == "l1" else absolute.max(axis=-1, initial=0.0))


def sizes(length: FloatArray, low: FloatArray, high: FloatArray, norm: Norm) -> FloatArray:
    r"""What hyperplanes are divided by to be within the norm, offsets included.

    The rows of the low side have sums of at most ``low``, those of the high side of at least ``high``; the arrays
    broadcast. Eq. 13 and 14 of [Florio 2023] ask for an offset :math:`b` in [-1, 1] with
    :math:`low + \varepsilon \le b \le high`, or for one of the same hyperplane turned round. With
    :math:`s = \max(|a|_\infty, low, -high)` there is one for :math:`a / s` iff
    :math:`high - low \ge \varepsilon s`: if both ends are within [-1, 1] either way round will do, and where
    :math:`low > 1` or :math:`high < -1`, the end that is nearer to 0 is to be brought to [-1, 1] and no further. Where
    absolute coefficients add up to 1, sums over columns in [0, 1] are within [-1, 1].
    """
    return length if norm == "l1" else np.maximum(length, np.maximum(low, -high))


@dataclass(frozen=True, slots=True)
class Cuts:
    """The best cut along each of some normals.

    Parameters
    ----------
    loss : (n_normals,) int64, sum of the extra prices of the rows on the high side; NO_CUT where no cut is permitted
    flipped : (n_normals,) whether the high side is that of the smaller sums: normal and offset change their signs
    offset : (n_normals,) halfway between the two rows next to the cut, before flipping
    gap : (n_normals,) distance of these two rows, for the hyperplane that is as large as the norm permits
    """

    loss: IntArray
    flipped: BoolArray
    offset: FloatArray
    gap: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Cuts]) -> Cuts:
        """The cuts along the normals of all parts, in turn."""
        return cls(
            np.concatenate([part.loss for part in parts]),
            np.concatenate([part.flipped for part in parts]),
            np.concatenate([part.offset for part in parts]),
            np.concatenate([part.gap for part in parts]),
        )


def best_cuts(sums: FloatArray, extra: IntArray, length: FloatArray, *, norm: Norm) -> Cuts:
    """The cut of least loss along each normal, the widest gap among equals; one between two rows, not beyond all.

    Parameters
    ----------
    sums : (n_rows, n_normals) weighted sums of the rows
    extra : (n_rows,) int64, price of the high side less that of the low side
    length : (n_normals,) of the normals, as :func:`lengths` gives it
    """
    n, k = sums.shape
    if n < 2:
        nothing = np.zeros(k)
        return Cuts(np.full(k, NO_CUT), np.zeros(k, dtype=np.bool_), nothing, nothing)
    order = np.argsort(sums, axis=0)
    places = np.take_along_axis(sums, order, axis=0)
    below = np.cumsum(extra[order], axis=0)[:-1]  # extra prices of the rows before each cut
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
    """The cut of greatest information gain along each normal.

    Parameters
    ----------
    sums : (n_rows, n_normals) weighted sums of the rows
    weights : (n_rows, n_classes) weight of each row in the column of its class
    length : (n_normals,) of the normals, as :func:`lengths` gives it

    Returns
    -------
    gain : (n_normals,) bits times weight; -inf where no cut is permitted
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
    """Bits times weight of class weights along the last axis: ``W log W - sum w log w``."""
    whole = weights.sum(axis=-1)
    return np.asarray(_x_log_x(whole) - _x_log_x(weights).sum(axis=-1))


def _x_log_x(x: FloatArray) -> FloatArray:
    positive = x > 0
    return np.asarray(np.where(positive, x * np.log2(np.where(positive, x, 1.0)), 0.0))
