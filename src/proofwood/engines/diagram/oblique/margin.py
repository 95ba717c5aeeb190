"""Finds the widest gap between two sets of rows that a hyperplane can have, with a certificate.

The widest gap ``min(a @ high) - max(a @ low)`` over the normals within the norm is the value of a linear program. The
dual program minimises the distance between a point of one convex hull and a point of the other. If the absolute
coefficients add up to at most 1, it is the distance in the largest coordinate; if each is at most 1, it is the distance
summed over the coordinates. The distance of any two such points is an upper bound on the gap. So two explicit points
prove that sets are inseparable. Their shares are rounded to integers, and their distance is computed in integers, so
the proof does not rely on the solver.
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
"""Number of binary digits of coordinates and shares in the integers from which distances are computed."""
HALF = 15
"""Coordinates are divided into two halves of this many digits, so that products with shares fit into 64 bits."""
MOST_TOUCHING = 2**15
"""The largest number of rows whose weighted mean is a point of a hull."""


@dataclass(frozen=True, slots=True)
class Separation:
    """The widest separation of two sets of rows, and a proof that no separation is wider.

    Parameters
    ----------
    normal : (n_features,) normal, scaled as large as the norm permits; 0 if the sets overlap
    offset : halfway between the two sets
    gap : gap of this hyperplane, in floating point; negative or 0 if the sets overlap
    ceiling : proved upper bound on the gap of any normal within the norm
    low, high : indices of rows in either set; the distance of their convex hulls is at most ``ceiling``
    """

    normal: FloatArray
    offset: float
    gap: float
    ceiling: float
    low: IntArray
    high: IntArray


def separate(low: FloatArray, high: FloatArray, *, norm: Norm, seconds: float | None = None) -> Separation | None:
    """Find the hyperplane with the widest gap between ``low`` and ``high``, both (n_rows, n_features) and not empty.

    In the box, the greatest sum of the low side must be at most 1, and the least sum of the high side at least -1.
    Then an offset in [-1, 1] lies between them (see :func:`~proofwood.engines.diagram.oblique.cuts.sizes`).

    Returns
    -------
    Separation or None
        None if the linear program was not solved within ``seconds``.
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
        shares[shares < 1e-9 * shares.max()] = 0.0  # any shares give a valid bound of the gap
        ceiling = hull_distance(low, high, shares[:n_low], shares[n_low:], norm=norm)
        touching = (np.flatnonzero(shares[:n_low] > 0), np.flatnonzero(shares[n_low:] > 0))
    return Separation(normal, below + (above - below) / 2, above - below, ceiling, *touching)


def hull_distance(low: FloatArray, high: FloatArray, of_low: FloatArray, of_high: FloatArray, *, norm: Norm) -> float:
    r"""An upper bound on the gap of all hyperplanes within the norm, from shares (weights) of the rows.

    The shares define a point in each convex hull; the bound is slightly more than the distance of the two points. Let
    the shares :math:`\lambda` of the low rows :math:`p_i` add up to 1, and the shares :math:`\mu` of the high rows
    :math:`q_j`, too. Then the gap of a normal ``a`` is at most
    :math:`a (\sum_j \mu_j q_j - \sum_i \lambda_i p_i)`. By Hölder's inequality, this is at most the largest absolute
    coordinate of the difference if :math:`\sum_j |a_j| \le 1`, and the sum of its absolute coordinates if
    :math:`|a_j| \le 1`. In the box, sums of the low side are at most 1 and sums of the high side at least -1, so the
    shares of one side may add up to more. Let :math:`\Lambda` and :math:`M` be the sums of the shares (integers here),
    and :math:`N = \min(\Lambda, M)`. Then the gap is at most

    .. math:: (|\sum_j \mu_j q_j - \sum_i \lambda_i p_i|_1 + |\Lambda - M|) / N,

    because each share beyond N adds at most 1 to ``high - low`` times N. Rounding the shares to integers only means
    other points of the hulls, so the bound stays valid. Coordinates in [0, 1] are rounded to multiples of
    ``2**-DIGITS``; the bound includes this rounding of at most half a unit for each coordinate.

    Returns
    -------
    float
        The bound; infinity if no row of a set has a share.
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
    """The sum of the rows weighted by integer shares, in units of ``2**-DIGITS``, and the sum of the shares.

    The share ``unit`` becomes the integer ``2**DIGITS``.
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
    """Find a separation with few coefficients, whose gap is at least ``margin`` and half of the widest gap.

    A greedy method removes coefficients, the smallest first, and fits the others again. The result need not have the
    fewest possible coefficients.

    Parameters
    ----------
    clock : when it is over, no further coefficient is removed

    Returns
    -------
    Separation or None
        None if no separation has a gap of at least ``margin``, or the time was over before the first one.
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
