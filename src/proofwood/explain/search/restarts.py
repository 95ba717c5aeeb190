"""Ways out of small sets whose questions are hard: other orders, until one leads past them.

Deletion may run into a set of few features for which it takes long to say whether it suffices, and as long to find a
row that shows the contrary. Larger sets of weaker features are often easy at every step. So where a first pass leaves
questions open, features are released in the reverse order, the strongest first, and then in orders around that; each
question gets a small effort, counted and not timed, so that the answer is the same on every machine. What the searches
learn in one attempt serves the next ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofwood.explain.search.questions import Questions, mask_of, members

TURNS = 1
"""Turns of the searches that a question gets at first."""
ATTEMPTS = 6
"""Orders that are tried."""
SPREAD = 3.0
"""Standard deviation of the noise on the ranks of the features."""
MOST_OPEN = 1
"""An attempt is given up where more questions than this stay open."""
MOST_FEATURES = 100
"""Rows of more features are not tried again: each attempt begins with a bound for every feature."""


def easier(q: Questions, current: int, left: Sequence[int], kept: int, allowed: int) -> int:
    """A sufficient set of which fewer features are in doubt than of ``current``, if one is found.

    Parameters
    ----------
    q : Questions
    current : mask of a set that is known to suffice
    left : members of it of which a first pass did not learn whether they can be spared
    kept : mask of features that stay
    allowed : mask of features that may stay; they are known to suffice

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
    """Release features in an order with little effort each; a set that suffices, and what stayed in doubt."""
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
