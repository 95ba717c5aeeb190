"""Statements about sets of features as clauses; a proof shows that the clauses contradict each other.

The maker and the checker of a certificate both write these clauses. They prove that no fewer features are enough, or
that a list of explanations is complete.
"""

from __future__ import annotations

from collections.abc import Sequence


def hitting_clauses(sets: Sequence[Sequence[int]], without: Sequence[int], size: int) -> list[list[int]]:
    """Clauses of the statement: fewer than ``size`` features, none of them in ``without``, hit every one of the sets.

    Variable ``f + 1`` says that feature ``f`` is chosen. The other variables count: the ``j``-th of feature ``i`` says
    that at least ``j`` of the features up to ``i`` are chosen (Sinz 2005). They restrict only the number of features.
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
    """Clauses of the statement: a set of features hits all contrastive sets and contains no abductive one."""
    return [[f + 1 for f in one] for one in contrastive] + [[-f - 1 for f in one] for one in abductive]
