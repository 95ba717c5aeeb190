"""Lines in the plane by enumeration: what the oblique engines are checked against."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

import numpy as np

from proofwood.model.node_table import FloatArray, IntArray


def separations(points: FloatArray) -> set[frozenset[int]]:
    """High sides of all lines, as sets of points: between critical directions the order of the points is constant."""
    n = len(points)
    found = {frozenset[int](), frozenset(range(n))}
    critical = {0.0, 2 * np.pi}
    for a, b in combinations(range(n), 2):
        x, y = points[b] - points[a]
        if x or y:
            angle = float(np.arctan2(x, -y)) % np.pi
            critical |= {angle, angle + np.pi}
    ordered = sorted(critical)
    for angle in [(s + t) / 2 for s, t in pairwise(ordered) if t - s > 1e-9]:
        sums = points @ np.array([np.cos(angle), np.sin(angle)])
        for cut in sums:
            found.add(frozenset(np.flatnonzero(sums >= cut - 1e-9).tolist()))
    return found


def least_loss(points: FloatArray, low: IntArray, high: IntArray) -> int:
    """Least price of all points, each on the side of a line that it is on."""
    inside = [np.isin(np.arange(len(points)), sorted(side)) for side in separations(points)]
    return min(int(np.where(side, high, low).sum()) for side in inside)


def fewest_errors(points: FloatArray, codes: IntArray, most: int) -> list[int]:
    """Fewest errors of trees of at most k lines, k = 0 .. ``most``; up to 3 lines these are all layered diagrams."""
    sides = [sorted(side) for side in separations(points)]

    @cache
    def errors(there: frozenset[int], k: int) -> int:
        labels = codes[sorted(there)]
        best = len(there) - int(np.bincount(labels, minlength=1).max(initial=0))
        if k == 0 or best == 0:
            return best
        for side in sides:
            high = there & frozenset(side)
            if high and high != there:
                best = min(best, *(errors(high, i) + errors(there - high, k - 1 - i) for i in range(k)))
        return best

    return [errors(frozenset(range(len(points))), k) for k in range(most + 1)]
