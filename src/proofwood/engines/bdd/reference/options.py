"""Switches of the SAT and MaxSAT engines for decision diagrams: none changes what is proved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from proofwood.solvers.session import SOLVERS


@dataclass(frozen=True, slots=True)
class BddSatOptions:
    """Which engine, which formula. :data:`AS_PRINTED` makes the formulas of the paper.

    Parameters
    ----------
    engine : "sat" finds the fewest features without avoidable error, one formula per number of features; "maxsat" the
        fewest errors, with bounds that close in from both sides at any time. "auto" is "sat" or "maxsat", as the
        problem asks
    encoding : of the engine "sat": "BDD1" or "BDD2" of the paper, or "pairs", features that separate each pair
    structure : of the engine "maxsat": "cells", the paper's truth table with one excuse per example, or "pairs",
        which knows sets of features only, see :mod:`~proofwood.engines.bdd.reference.maxsat_encode`
    symmetry : features in ascending order (BDD1, BDD2, cells)
    bead : constraint (3), or with ``symmetry`` that the table is not constant (BDD1, BDD2, cells). A constant table
        that is best is found all the same, as it is tried apart
    first_depth : the number of features that the engine "sat" tries first, H_0 of the paper
    lazy : BDD1 and BDD2 begin with no example and take up those that a model gets wrong; off: all from the start
    greedy : features found greedily are known from the start
    below : of the engine "maxsat": what raises the lower bound while models lower the upper one, see
        :mod:`~proofwood.engines.bdd.reference.maxsat_anytime`
    reduce : a group of equal rows is one example, tests that are constant, equal or opposite to another are dropped
    canonical : of equally good sets of features the first is returned, which may take as long as the proof
    solver : as python-sat knows it
    """

    engine: Literal["auto", "sat", "maxsat"] = "auto"
    encoding: Literal["BDD1", "BDD2", "pairs"] = "BDD2"
    structure: Literal["cells", "pairs"] = "pairs"
    symmetry: bool = True
    bead: bool = False
    first_depth: int = 7
    lazy: bool = True
    greedy: bool = True
    below: Literal["steps", "cores", "nothing"] = "steps"
    reduce: bool = True
    canonical: bool = True
    solver: str = "cadical195"

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: expected one of {', '.join(SOLVERS)}")
        if self.first_depth < 1:
            raise ValueError(f"first_depth={self.first_depth}: expected a number of features from 1")


_KNOWN = {
    "engine": ("auto", "sat", "maxsat"),
    "encoding": ("BDD1", "BDD2", "pairs"),
    "below": ("steps", "cores", "nothing"),
    "structure": ("cells", "pairs"),
}

AS_PRINTED = BddSatOptions(
    structure="cells", symmetry=False, bead=True, lazy=False, greedy=False, reduce=False, canonical=False
)
"""BDD2, or its MaxSAT form, as printed."""

_BY_NAME = {
    "bdd1": replace(AS_PRINTED, engine="sat", encoding="BDD1"),
    "bdd2": replace(AS_PRINTED, engine="sat", encoding="BDD2"),
    "maxsat-bdd": replace(AS_PRINTED, engine="maxsat"),
}


def options_of(engine: str) -> BddSatOptions:
    """Options of an engine by the name that learners know it by."""
    return _BY_NAME.get(engine) or BddSatOptions(engine=engine)  # type: ignore[arg-type]
