"""Statements about sets of features, and about values of 0/1 columns, as clauses; a proof shows that they contradict.

Whoever makes or checks a certificate writes them down anew: that no fewer features will do, that a list of explanations
is complete.
"""

from __future__ import annotations

from collections.abc import Sequence


def hitting_clauses(sets: Sequence[Sequence[int]], without: Sequence[int], size: int) -> list[list[int]]:
    """Clauses that say: fewer than ``size`` features, none of ``without``, hit every one of the sets.

    Variable ``f + 1`` says that feature ``f`` is taken. The others count: the ``j``-th of feature ``i`` says that at
    least ``j`` features up to ``i`` are (Sinz 2005); whatever is taken, they can be what they say.
    """
    most = size - 1
    if most < 0:
        return [[]]
    clauses = [[feature + 1 for feature in one if feature not in without] for one in sets]
    taken = sorted({feature + 1 for one in sets for feature in one if feature not in without})
    variable = max(taken, default=0)
    before: list[int] = []
    for feature in taken:
        counts = list(range(variable + 1, variable + 1 + most))
        variable += most
        clauses += [[-old, new] for old, new in zip(before, counts, strict=False)]
        clauses += [[-feature, counts[0]]] if counts else [[-feature]]
        clauses += [[-feature, -old, new] for old, new in zip(before, counts[1:], strict=False)]
        clauses += [[-feature, -before[-1]]] if before else []
        before = counts
    return clauses


def map_clauses(abductive: Sequence[Sequence[int]], contrastive: Sequence[Sequence[int]]) -> list[list[int]]:
    """Clauses of "a set of features hits all contrastive ones and contains no abductive one"."""
    return [[f + 1 for f in one] for one in contrastive] + [[-f - 1 for f in one] for one in abductive]
