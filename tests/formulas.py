"""Formulas that several tests solve."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from proofwood.solvers.session import SatSession


class Formula:
    """Where variables come from and clauses go, in place of a session."""

    def __init__(self) -> None:
        self.clauses: list[list[int]] = []
        self.n_variables = 0

    def block(self, size: int) -> int:
        """The first of ``size`` fresh variables in a row."""
        self.n_variables += size
        return self.n_variables - size + 1

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Add clauses."""
        self.clauses.extend(list(clause) for clause in clauses)


def pigeonholes(session: SatSession, holes: int) -> None:
    """One pigeon more than holes: unsatisfiable, and hard to see for clause learning."""
    first = session.block((holes + 1) * holes)
    place = [[first + pigeon * holes + hole for hole in range(holes)] for pigeon in range(holes + 1)]
    session.extend(place)
    for hole in range(holes):
        session.extend([-one[hole], -other[hole]] for one, other in combinations(place, 2))
