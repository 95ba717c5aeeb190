"""Restarts of deletion with other orders of the features, if questions about a small set are hard.

Deletion may lead to a set of few features for which both a proof that it suffices and a counterexample take long.
Larger sets of weaker features are often easy at every step. So if a first pass leaves questions undecided, features are
released in the reverse order, the strongest first, and then in random orders near it. Each question gets a small
effort, which is counted rather than timed, so that the answer is the same on every machine. Each attempt uses what the
searches learned in earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofwood.explain.search.questions import Questions, mask_of, members

TURNS = 1
"""Limit of the effort, in turns of the searches, for a question in the first pass."""
ATTEMPTS = 6
"""Number of orders that are tried."""
SPREAD = 3.0
"""Standard deviation of the noise that is added to the ranks of the features."""
MOST_OPEN = 1
"""Most questions that an attempt may leave undecided; with more, the attempt is given up."""
MOST_FEATURES = 100
"""Most features of a row for which other orders are tried: each attempt computes a bound for every feature."""


def easier(q: Questions, current: int, left: Sequence[int], kept: int, allowed: int) -> int:
    """A sufficient set with fewer undecided features than ``current``, if one is found.

    Parameters
    ----------
    q : Questions
    current : mask of a set that is known to suffice
    left : undecided features of this set: a first pass did not show whether they can be left out
    kept : mask of features that stay in the set
    allowed : mask of features that the set may contain; they are known to suffice

    Returns
    -------
    mask of a sufficient set; perhaps ``current``
    """
    if q.n > MOST_FEATURES:
        return current
    best, least = current, len(left)
    ranks = np.empty(q.n)
    ranks[q.release_order()[::-1]] = np.arange(q.n)
    noise = np.random.default_rng(0)
    for attempt in range(ATTEMPTS):
        if q.clock.over or not least:
            break
        order = np.argsort(ranks + (noise.normal(0.0, SPREAD, q.n) if attempt else 0.0), kind="stable").tolist()
        found, open_ = _attempt(q, order, kept, allowed)
        if len(open_) < least:
            best, least = found, len(open_)
    return best


def _attempt(q: Questions, order: list[int], kept: int, allowed: int) -> tuple[int, list[int]]:
    """Release features in an order, with little effort for each; return a sufficient set and its undecided features."""
    current = mask_of(q.greedy_seed(members(kept), order))
    if current & ~allowed:
        current = allowed
    left: list[int] = [f for f in order if current & ~kept & (1 << f)]
    for turns in (TURNS, 2 * TURNS):
        open_: list[int] = []
        for at, feature in enumerate(left):
            if not current & (1 << feature):
                continue
            rest = current & ~(1 << feature)
            changes = q.ask(rest, turns=turns)
            if changes is False:
                current = q.core_of(rest) | (kept & current)
            elif changes is None:
                open_.append(feature)
                if len(open_) > MOST_OPEN:
                    return current, open_ + left[at + 1 :]
        left = [f for f in open_ if current & (1 << f)]
    return current, left
