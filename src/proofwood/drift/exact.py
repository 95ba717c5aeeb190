"""Exact tests of counts, and the correction for many tests: how surely new rows differ from the training rows.

Every test is exact under one assumption: all rows, those of training and the new ones, are drawn independently from the
same population. Given how many rows of both together have a property, the number among the new ones is then
hypergeometric, whatever the population is. Record: decisions/0085-drift-by-exact-tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betainc, gammaln

from proofwood.model.node_table import FloatArray

_DEVIATIONS = 40
"""Counts farther than this from the mean, in standard deviations, have no probability that float64 can add."""


def tails(now: int, n_now: int, then: int, n_then: int) -> tuple[float, float]:
    """Probabilities that at most, and at least, ``now`` of the new rows have a property, given how many of all have it.

    Parameters
    ----------
    now, n_now : new rows with the property, and all new rows
    then, n_then : the same of the training rows
    """
    total, marked = n_now + n_then, now + then
    mean = n_now * marked / total
    spread = math.sqrt(mean * (1 - marked / total) * n_then / max(total - 1, 1))
    least = max(0, marked - n_then, math.floor(mean - _DEVIATIONS * spread) - 1)
    most = min(n_now, marked, math.ceil(mean + _DEVIATIONS * spread) + 1)
    counts = np.arange(least, most + 1, dtype=np.float64)
    logs = _log_choose(n_now, counts) + _log_choose(n_then, marked - counts)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    return min(1.0, float(shares[counts <= now].sum())), min(1.0, float(shares[counts >= now].sum()))


def _log_choose(n: int, k: FloatArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def differs(now: int, n_now: int, then: int, n_then: int) -> float:
    """p-value of the exact test of Fisher that two shares are equal: twice the smaller tail."""
    return min(1.0, 2 * min(tails(now, n_now, then, n_then)))


def is_more(now: int, n_now: int, then: int, n_then: int) -> float:
    """p-value of the exact test of Fisher that the share is not greater among the new rows."""
    return tails(now, n_now, then, n_then)[1]


def is_beyond(now: int, n_now: int, n_then: int) -> float:
    """p-value of ``now`` new numbers beyond the greatest (or the least) of ``n_then`` training numbers.

    That the ``now`` greatest of all numbers are new has this probability for every distribution without ties; with
    ties, the event is rarer.
    """
    return is_more(now, n_now, 0, n_then)


def is_above(wrong: int, n: int, expected: float) -> float:
    """p-value of the exact binomial test that the share of wrong predictions is at most ``expected``."""
    return 1.0 if wrong == 0 else float(betainc(wrong, n - wrong + 1, expected))


def has_new_levels(counts: Sequence[int], n_now: int, n_then: int, known: int) -> float:
    """p-value of levels that only new rows have.

    A level occurs by chance in no training row, if it is rare. There are as many levels that this can happen to as the
    rows of both kinds have: the test of the most frequent new level is corrected by their number. The number of new
    levels is tested by one row of each level: a level can be new only if this row is. Each test has half the level.

    Parameters
    ----------
    counts : rows of each new level
    n_now, n_then : new rows and training rows
    known : levels that occur in training
    """
    if not counts:
        return 1.0
    levels = known + len(counts)
    by_rows = levels * is_more(max(counts), n_now, 0, n_then)
    by_levels = is_more(len(counts), n_now, min(known, n_then), n_then)
    return min(1.0, 2 * min(by_rows, by_levels))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number by the method of Holm [1]_.

    References
    ----------
    .. [1] Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6.
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    for place, k in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * p_values[k]))
        corrected[k] = largest
    return corrected
