"""Formulas that several tests solve."""

from __future__ import annotations

from itertools import combinations

from proofwood.solvers import SatSession


def pigeonholes(session: SatSession, holes: int) -> None:
    """One pigeon more than holes: unsatisfiable, and hard to see for clause learning."""
    first = session.block((holes + 1) * holes)
    place = [[first + pigeon * holes + hole for hole in range(holes)] for pigeon in range(holes + 1)]
    session.extend(place)
    for hole in range(holes):
        session.extend([-one[hole], -other[hole]] for one, other in combinations(place, 2))
