"""How far two sets of rows can be held apart by a hyperplane, with a certificate of either answer.

The widest gap ``min(a @ high) - max(a @ low)`` over normals of absolute sum at most 1 is a linear program, and its
dual is the least distance, in the largest coordinate, between a point of one convex hull and a point of the other.
Any two such points bound the gap from above, so a claim that sets are inseparable rests on two explicit points, whose
shares are rounded to integers and whose distance is computed in integers: nothing of it is the word of a solver.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from proofwood.engines.skeleton.oblique.cuts import weighted_sums
from proofwood.model.node_table import FloatArray, IntArray

DIGITS = 30
"""Binary digits of coordinates and shares in the integers that distances of hulls are computed in."""
HALF = 15
"""Coordinates are taken in two halves, so that products with shares fit 64 bits."""
MOST_TOUCHING = 2**15
"""Rows of one set that a point may be a mean of."""


@dataclass(frozen=True, slots=True)
class Separation:
    """The widest separation of two sets of rows, and what proves that there is no wider one.

    Parameters
    ----------
    normal : (n_features,) of absolute sum 1, or 0 where the sets overlap
    offset : halfway between the sets
    gap : attained, in floating point; negative if the sets overlap
    ceiling : no normal of absolute sum at most 1 has a greater gap (proved)
    low, high : rows of either set (positions within it) whose hulls come as near as ``ceiling``
    """

    normal: FloatArray
    offset: float
    gap: float
    ceiling: float
    low: IntArray
    high: IntArray


def separate(low: FloatArray, high: FloatArray, *, seconds: float | None = None) -> Separation | None:
    """Separate the rows of ``low`` from those of ``high``, both (n_rows, n_features) with at least one row.

    Returns
    -------
    Separation, or None if the linear program was not solved within ``seconds``
    """
    n_low, n_high, d = len(low), len(high), low.shape[1]
    # Variables: a+ (d), a- (d), the greatest sum of the low side, the least sum of the high side.
    columns = np.vstack([low, -high])
    top = np.concatenate([np.full(n_low, -1.0), np.zeros(n_high)])
    bottom = np.concatenate([np.zeros(n_low), np.ones(n_high)])
    sides = np.column_stack([columns, -columns, top, bottom])
    norm = np.concatenate([np.ones(2 * d), [0.0, 0.0]])
    answer = linprog(
        np.concatenate([np.zeros(2 * d), [1.0, -1.0]]),
        A_ub=np.vstack([sides, norm]),
        b_ub=np.concatenate([np.zeros(n_low + n_high), [1.0]]),
        bounds=[*((0.0, 1.0) for _ in range(2 * d)), (-1.0, 1.0), (-1.0, 1.0)],
        method="highs-ds",
        options={} if seconds is None else {"time_limit": max(seconds, 1e-3)},
    )
    if answer.status != 0:
        return None
    normal = np.asarray(answer.x[:d] - answer.x[d : 2 * d], dtype=np.float64)
    normal[np.abs(normal) < 1e-9] = 0.0
    length = float(np.abs(normal).sum())
    if length > 0:
        normal /= length
    below, above = float(weighted_sums(low, normal).max()), float(weighted_sums(high, normal).min())
    shares = np.maximum(-np.asarray(answer.ineqlin.marginals)[:-1], 0.0)
    ceiling, touching = 1.0, (np.arange(n_low), np.arange(n_high))
    if shares[:n_low].sum() > 0 and shares[n_low:].sum() > 0:
        shares[shares < 1e-9 * shares.max()] = 0.0  # whatever is left bounds the gap
        ceiling = hull_distance(low, high, shares[:n_low], shares[n_low:])
        touching = (np.flatnonzero(shares[:n_low] > 0), np.flatnonzero(shares[n_low:] > 0))
    return Separation(normal, below + (above - below) / 2, above - below, ceiling, *touching)


def hull_distance(low: FloatArray, high: FloatArray, of_low: FloatArray, of_high: FloatArray) -> float:
    """A little more than the greatest coordinate of the difference of two points, given by shares of the rows.

    No hyperplane of normal ``a``, absolute sum at most 1, holds the sets further apart: the gap is at most
    ``a @ (q - p)`` for every p in the hull of ``low`` and q in the hull of ``high`` (Hölder's inequality). The shares,
    rounded to integers, are those of two other points of the hulls, which is as good. Coordinates, in [0, 1], are
    rounded to multiples of ``2**-DIGITS``, which moves each point by half of that at most.

    Returns
    -------
    float
        Not below the distance; infinity where no row of a set has a share.
    """
    p, of_p = _weighted(low, of_low)
    q, of_q = _weighted(high, of_high)
    if of_p == 0 or of_q == 0:
        return float("inf")
    furthest = max((abs(b * of_p - a * of_q) for a, b in zip(p, q, strict=True)), default=0)
    exact = (Fraction(furthest, of_p * of_q) + 1) / 2**DIGITS
    return float(np.nextafter(float(exact), np.inf))


def _weighted(rows: FloatArray, shares: FloatArray) -> tuple[list[int], int]:
    """Sum of the rows in multiples of ``2**-DIGITS``, each times its share as an integer, and the sum of the shares."""
    used = np.argsort(-shares, kind="stable")[:MOST_TOUCHING]
    used = used[shares[used] > 0]
    if used.size == 0:
        return [0] * rows.shape[1], 0
    whole = np.rint(shares[used] / float(shares[used].max()) * 2.0**DIGITS).astype(np.int64)
    places = np.rint(rows[used] * 2.0**DIGITS).astype(np.int64)
    upper, lower = whole @ (places >> HALF), whole @ (places & (2**HALF - 1))
    return [(a << HALF) + b for a, b in zip(upper.tolist(), lower.tolist(), strict=True)], int(whole.sum())


def sparse_separation(
    low: FloatArray,
    high: FloatArray,
    *,
    margin: float,
    kept: float = 0.5,
    deadline: float | None = None,
) -> Separation | None:
    """A separation of few coefficients that keeps a share ``kept`` of the widest gap, and at least ``margin``.

    The smallest coefficients are dropped first, and the others fitted anew; it is the sparsest only by luck.

    Parameters
    ----------
    deadline : ``time.perf_counter()`` at which no further coefficient is dropped

    Returns
    -------
    Separation, or None if there is none of at least ``margin`` or time ran out before the first
    """
    left = None if deadline is None else deadline - time.perf_counter()
    if left is not None and left <= 0:
        return None
    best = separate(low, high, seconds=left)
    if best is None or best.gap < margin:
        return None
    least = max(margin, kept * best.gap)
    for column in np.argsort(np.abs(best.normal), kind="stable").tolist():
        if best.normal[column] == 0:
            continue
        used = np.flatnonzero(best.normal)
        used = used[used != column]
        left = None if deadline is None else deadline - time.perf_counter()
        if used.size == 0 or (left is not None and left <= 0):
            break
        fewer = separate(low[:, used], high[:, used], seconds=left)
        if fewer is not None and fewer.gap >= least:
            normal = np.zeros_like(best.normal)
            normal[used] = fewer.normal
            best = replace(fewer, normal=normal, ceiling=best.ceiling, low=best.low, high=best.high)
    return best
