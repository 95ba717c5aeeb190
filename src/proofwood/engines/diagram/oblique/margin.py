"""How far two sets of rows can be held apart by a hyperplane, with a certificate of either answer.

The widest gap ``min(a @ high) - max(a @ low)`` over normals within the norm is a linear program. Its dual is the least
distance between a point of one convex hull and a point of the other: in the largest coordinate where the absolute
coefficients add up to at most 1, summed over the coordinates where each is at most 1. Any two such points bound the gap
from above, so a claim that sets are inseparable rests on two explicit points, whose shares are rounded to integers and
whose distance is computed in integers: nothing of it is the word of a solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from proofwood.engines.diagram.oblique.cuts import lengths, sizes, weighted_sums
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.problem.diagram import Norm

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
    normal : (n_features,) as large as the norm permits, or 0 where the sets overlap
    offset : halfway between the sets
    gap : attained, in floating point; negative if the sets overlap
    ceiling : no normal within the norm has a greater gap (proved)
    low, high : rows of either set (positions within it) whose hulls come as near as ``ceiling``
    """

    normal: FloatArray
    offset: float
    gap: float
    ceiling: float
    low: IntArray
    high: IntArray


def separate(low: FloatArray, high: FloatArray, *, norm: Norm, seconds: float | None = None) -> Separation | None:
    """Separate the rows of ``low`` from those of ``high``, both (n_rows, n_features) with at least one row.

    In the box, the greatest sum of the low side is at most 1 and the least of the high side at least -1
    (:func:`~proofwood.engines.diagram.oblique.cuts.sizes` says why), so that an offset in [-1, 1] lies between them.

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
    limits = np.zeros(n_low + n_high)
    if norm == "l1":
        sides = np.vstack([sides, np.concatenate([np.ones(2 * d), [0.0, 0.0]])])
        limits = np.append(limits, 1.0)
    answer = linprog(
        np.concatenate([np.zeros(2 * d), [1.0, -1.0]]),
        A_ub=sides,
        b_ub=limits,
        bounds=[*((0.0, 1.0) for _ in range(2 * d)), (None, 1.0), (-1.0, None)],
        method="highs-ds",
        options={} if seconds is None else {"time_limit": max(seconds, 1e-3)},
    )
    if answer.status != 0:
        return None
    normal = np.asarray(answer.x[:d] - answer.x[d : 2 * d], dtype=np.float64)
    normal[np.abs(normal) < 1e-9] = 0.0
    below, above = float(weighted_sums(low, normal).max()), float(weighted_sums(high, normal).min())
    if normal.any():
        normal /= float(sizes(lengths(normal, norm), np.array(below), np.array(above), norm))
        below, above = float(weighted_sums(low, normal).max()), float(weighted_sums(high, normal).min())
    shares = np.maximum(-np.asarray(answer.ineqlin.marginals)[: n_low + n_high], 0.0)
    ceiling, touching = float("inf"), (np.arange(n_low), np.arange(n_high))
    if shares[:n_low].sum() > 0 and shares[n_low:].sum() > 0:
        shares[shares < 1e-9 * shares.max()] = 0.0  # whatever is left bounds the gap
        ceiling = hull_distance(low, high, shares[:n_low], shares[n_low:], norm=norm)
        touching = (np.flatnonzero(shares[:n_low] > 0), np.flatnonzero(shares[n_low:] > 0))
    return Separation(normal, below + (above - below) / 2, above - below, ceiling, *touching)


def hull_distance(low: FloatArray, high: FloatArray, of_low: FloatArray, of_high: FloatArray, *, norm: Norm) -> float:
    r"""A little more than the distance of two points, given by shares of the rows; no gap within the norm is wider.

    With shares :math:`\lambda` of the low rows and :math:`\mu` of the high ones that add up to 1, no hyperplane of
    normal ``a`` has a wider gap than :math:`a (\sum_j \mu_j q_j - \sum_i \lambda_i p_i)`, which is at most the
    largest coordinate of the difference where :math:`\sum_j |a_j| \le 1` and the sum of its coordinates where
    :math:`|a_j| \le 1` (Hölder's inequality). Within the box sums of the low side end at 1 and those of the high side
    begin at -1, so that the shares of one kind may add up to more: with sums :math:`\Lambda` and :math:`M` of shares,
    which are whole numbers here, and :math:`N = \min(\Lambda, M)` a gap is at most

    .. math:: (|\sum_j \mu_j q_j - \sum_i \lambda_i p_i|_1 + |\Lambda - M|) / N.

    (``high - low`` times N is at most that: of the kind with more shares, what is beyond N is paid at the end of its
    range.) Shares that are rounded to integers are those of other points, which is as good. Coordinates, in [0, 1], are
    rounded to multiples of ``2**-DIGITS``, which moves each by half of that at most.

    Returns
    -------
    float
        Not below the distance; infinity where no row of a set has a share.
    """
    largest = float(max(of_low.max(initial=0.0), of_high.max(initial=0.0)))
    alone = norm == "l1"  # both kinds add up to 1, whatever their units
    p, of_p = _weighted(low, of_low, float(of_low.max(initial=0.0)) if alone else largest)
    q, of_q = _weighted(high, of_high, float(of_high.max(initial=0.0)) if alone else largest)
    if of_p == 0 or of_q == 0:
        return float("inf")
    if alone:
        furthest = max((abs(b * of_p - a * of_q) for a, b in zip(p, q, strict=True)), default=0)
        exact = (Fraction(furthest, of_p * of_q) + 1) / 2**DIGITS
    else:
        apart = sum(abs(b - a) for a, b in zip(p, q, strict=True)) + len(p) * Fraction(of_p + of_q, 2)
        exact = (apart / 2**DIGITS + abs(of_p - of_q)) / min(of_p, of_q)
    return float(np.nextafter(float(exact), np.inf))


def _weighted(rows: FloatArray, shares: FloatArray, unit: float) -> tuple[list[int], int]:
    """Sum of the rows in multiples of ``2**-DIGITS``, each times its share as an integer, and the sum of the shares.

    ``unit`` is the share that becomes ``2**DIGITS``.
    """
    used = np.argsort(-shares, kind="stable")[:MOST_TOUCHING]
    used = used[shares[used] > 0]
    if used.size == 0:
        return [0] * rows.shape[1], 0
    whole = np.rint(shares[used] / unit * 2.0**DIGITS).astype(np.int64)
    places = np.rint(rows[used] * 2.0**DIGITS).astype(np.int64)
    upper, lower = whole @ (places >> HALF), whole @ (places & (2**HALF - 1))
    return [(a << HALF) + b for a, b in zip(upper.tolist(), lower.tolist(), strict=True)], int(whole.sum())


def sparse_separation(
    low: FloatArray,
    high: FloatArray,
    *,
    margin: float,
    norm: Norm,
    clock: Clock = ENDLESS,
) -> Separation | None:
    """A separation of few coefficients that keeps half of the widest gap, and at least ``margin``.

    The smallest coefficients are dropped first, and the others fitted anew; it is the sparsest only by luck.

    Parameters
    ----------
    clock : when it is over, no further coefficient is dropped

    Returns
    -------
    Separation, or None if there is none of at least ``margin`` or time ran out before the first
    """
    best = None if clock.over else separate(low, high, norm=norm, seconds=clock.seconds_left)
    if best is None or best.gap < margin:
        return None
    least = max(margin, best.gap / 2)
    for column in np.argsort(np.abs(best.normal), kind="stable").tolist():
        if best.normal[column] == 0:
            continue
        used = np.flatnonzero(best.normal)
        used = used[used != column]
        if used.size == 0 or clock.over:
            break
        fewer = separate(low[:, used], high[:, used], norm=norm, seconds=clock.seconds_left)
        if fewer is not None and fewer.gap >= least:
            normal = np.zeros_like(best.normal)
            normal[used] = fewer.normal
            best = replace(fewer, normal=normal, ceiling=best.ceiling, low=best.low, high=best.high)
    return best
