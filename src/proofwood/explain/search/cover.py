"""Maximum coverage: a few of many sets that together cover most weight, by branch and bound.

The first bound uses Lagrange multipliers. For a point of weight w, count a multiplier u <= w for each chosen set that
covers it, and the constant w - u in any case. Then n sets count at least as much as they cover, and at most as much as
the n sets that count most. This is an upper bound for any u; the multipliers are found by subgradients, and the bound
is computed in integers.

The gain of a set never grows when more sets are chosen. So n further sets gain at most the sum of the n largest gains
of single sets: the bound of each branch. The first branch is the greedy choice, which covers at least 63 % of the
optimum [1]_.

.. [1] Nemhauser, Wolsey, Fisher (1978), An analysis of approximations for maximizing submodular set functions I,
   Mathematical Programming 14.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, IntArray

MOST_NODES = 2000
"""Most branches; after these, the search ends with a bound, as it does when the time is over."""
ROUNDS = 300
"""Number of subgradient steps for the multipliers."""
UNIT = 2**16
"""Multipliers are integer multiples of ``1 / UNIT``."""


@dataclass(frozen=True)
class Chosen:
    """A choice of sets.

    Parameters
    ----------
    sets : indices of the sets, in the order in which they were chosen
    covered : total weight of the points that they cover
    upper_bound : proved upper bound on the weight that the permitted number of sets can cover
    """

    sets: tuple[int, ...]
    covered: int
    upper_bound: int


def most_covered(covers: BoolArray, weight: IntArray, n: int, clock: Clock = ENDLESS) -> Chosen:
    """At most n sets that together cover the greatest weight.

    Parameters
    ----------
    covers : (n_sets, n_points) whether each set covers each point
    weight : (n_points,) weights above 0
    n : most sets to choose
    clock : clock of the search; the greedy choice is made in any case
    """
    patterns, kind = np.unique(covers, axis=1, return_inverse=True)
    weights = np.bincount(kind.ravel(), weights=weight, minlength=patterns.shape[1]).astype(np.int64)
    best: tuple[tuple[int, ...], int] = ((), 0)
    everything = np.ones(patterns.shape[1], dtype=bool)
    root = _bound_by_worth(patterns, weights, n, clock)
    waiting: list[tuple[tuple[int, ...], int, IntArray, BoolArray, int]] = [
        ((), 0, np.arange(len(covers)), everything, root)
    ]
    nodes = 0
    while waiting:
        chosen, covered, sets, left, bound = waiting.pop()
        if bound <= best[1]:
            continue
        if nodes > n and (nodes >= MOST_NODES or clock.over):
            waiting.append((chosen, covered, sets, left, bound))
            break
        nodes += 1
        if covered > best[1]:
            best = chosen, covered
        gains: IntArray = patterns[sets].astype(np.int64) @ np.where(left, weights, 0)
        sets, gains = sets[gains > 0], gains[gains > 0]
        bound = min(bound, covered + _largest(gains, n - len(chosen)))
        if bound <= best[1]:
            continue
        first = int(gains.argmax())
        others = np.delete(sets, first)
        without = min(bound, covered + _largest(np.delete(gains, first), n - len(chosen)))
        waiting.append((chosen, covered, others, left, without))
        taken = covered + int(gains[first])
        waiting.append(((*chosen, int(sets[first])), taken, others, left & ~patterns[sets[first]], bound))
    upper = max([best[1], *(bound for *_, bound in waiting)])
    return Chosen(best[0], best[1], upper)


def _bound_by_worth(patterns: BoolArray, weights: IntArray, n: int, clock: Clock) -> int:
    """Upper bound on the weight that n sets can cover; the least bound over :data:`ROUNDS` steps of the multipliers."""
    worth = weights * 0.5
    lowest, step = int(weights.sum()) * UNIT, 0.5
    counted: IntArray = patterns.astype(np.int64)
    numbers = patterns.astype(np.float64)
    for _ in range(ROUNDS):
        if clock.over:
            break
        whole = np.clip(np.floor(worth * UNIT).astype(np.int64), 0, weights * UNIT)
        lowest = min(lowest, int((weights * UNIT - whole).sum()) + _largest(counted @ whole, n))
        chosen = np.argsort(-(numbers @ worth), kind="stable")[:n]
        worth = np.clip(worth - step * weights * (numbers[chosen].sum(axis=0) - 1.0), 0.0, weights)
        step *= 0.985
    return lowest // UNIT


def _largest(gains: IntArray, n: int) -> int:
    """The sum of the n largest gains."""
    if n <= 0:
        return 0
    return int(gains.sum()) if gains.size <= n else int(np.partition(gains, gains.size - n)[-n:].sum())


def fewest_covering(covers: BoolArray, weight: IntArray, least: int, start: Chosen, clock: Clock = ENDLESS) -> Chosen:
    """A choice with fewer sets than ``start`` that still covers the weight ``least``; ``start`` if none is found.

    Parameters
    ----------
    covers, weight, clock : as in :func:`most_covered`
    least : weight that must be covered
    start : a choice that covers this weight
    """
    while len(start.sets) > 1:
        fewer = most_covered(covers, weight, len(start.sets) - 1, clock)
        if fewer.covered < least:
            break
        start = fewer
    return start
