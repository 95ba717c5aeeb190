"""Few of many sets that together cover most: branch and bound, with a bound at any time.

Let a point of weight w be worth u <= w to each set that covers it, and w - u at once, covered or not. Then n sets are
worth no less than what they cover, and no n sets are worth more than those n that are worth most: the bound before the
first branch, for any u (Lagrange multipliers, here found by subgradients, counted in whole numbers).

What a set adds to others never grows as these get more. So no n further sets add more than the n largest of what each
adds alone: the bound of each branch. The first branch is greedy, which covers at least 63 % of what the best choice
does [1]_.

.. [1] Nemhauser, Wolsey, Fisher (1978), An analysis of approximations for maximizing submodular set functions I,
   Mathematical Programming 14.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, IntArray

MOST_NODES = 2000
"""Branches after which the search ends, as with the time."""
ROUNDS = 300
"""Changes of the multipliers."""
UNIT = 2**16
"""Multipliers are whole numbers of this part of a row."""


@dataclass(frozen=True)
class Chosen:
    """A choice of sets.

    Parameters
    ----------
    sets : indices of the sets, in the order in which they add most
    covered : weight of what they cover together
    upper_bound : no choice of so many sets covers more
    """

    sets: tuple[int, ...]
    covered: int
    upper_bound: int


def most_covered(covers: BoolArray, weight: IntArray, n: int, clock: Clock = ENDLESS) -> Chosen:
    """At most n sets that cover the most.

    Parameters
    ----------
    covers : (n_sets, n_points) what each set covers
    weight : (n_points,) above 0
    n : most sets
    clock : of the search; the greedy choice is made in any case
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
    """No choice of n sets covers more; the least of the bounds of :data:`ROUNDS` multipliers."""
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
    """The sum of the n largest."""
    if n <= 0:
        return 0
    return int(gains.sum()) if gains.size <= n else int(np.partition(gains, gains.size - n)[-n:].sum())


def fewest_covering(covers: BoolArray, weight: IntArray, least: int, start: Chosen, clock: Clock = ENDLESS) -> Chosen:
    """Fewer sets than a choice that still cover so much, if there are some; else the choice itself.

    Parameters
    ----------
    covers, weight, clock : as in :func:`most_covered`
    least : weight that is to be covered, as ``start`` does
    start : a choice
    """
    while len(start.sets) > 1:
        fewer = most_covered(covers, weight, len(start.sets) - 1, clock)
        if fewer.covered < least:
            break
        start = fewer
    return start
