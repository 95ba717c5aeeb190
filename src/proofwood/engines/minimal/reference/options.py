"""Switches of the SAT engine for smallest trees: none changes what is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proofwood.solvers.session import PROOF_SOLVERS, SOLVERS


@dataclass(frozen=True, slots=True)
class SatTreeOptions:
    """How the formulas are made and in which order they are asked. :data:`AS_PRINTED` is the method of the paper.

    The defaults are what was fastest on mouse, iris, wine, the monks and tables of 0/1 columns. There MiniSat takes a
    third to nine tenths of the time of CaDiCaL, which can write proofs; arrivals make CaDiCaL slower; distinct tests
    change the time of proofs little, and make trees of the least depth harder to find.

    Parameters
    ----------
    solver : name as python-sat knows it
    thresholds : "order" gives each node one chain of literals per column, so that a row needs two clauses per column
        where "direct" needs one per test, as the paper has it
    arrivals : one variable per row and node makes the row's clauses short; else they name all turns, as in the paper
    one_test : clauses (2), at most one test per node; they are implied in the sense that surplus tests can be dropped
    distinct_tests : no test is repeated on a path (symmetry breaking); where leaves are counted, with idle nodes only
    idle_nodes : where leaves are counted, a leaf above the full depth is made of nodes that ask nothing, in one way
        only, and splits that are not needed are forbidden (symmetry breaking); else of repeated tests, as in the paper
    merge_columns : equal tests, and columns that order the rows alike or in reverse, are merged
    relabel : a tree is accepted if it is right once every leaf has the majority label of its rows
    at_once : rows added after a wrong tree: so many, or one from each leaf that is wrong if 0
    order : which wrong rows first: in lexicographic order of their values, or shuffled by ``seed``
    seed : of the shuffled order
    carry : a deeper or smaller tree is sought with the rows that were needed before; else from no row
    size_search : "bisect" the number of leaves, or "descend" from the best known
    proof : keep every answer "no" as a certificate; with a solver that writes proofs
    """

    solver: str = "minisat22"
    thresholds: Literal["order", "direct"] = "order"
    arrivals: bool = False
    one_test: bool = False
    distinct_tests: bool = False
    idle_nodes: bool = True
    merge_columns: bool = True
    relabel: bool = True
    at_once: int = 0
    order: Literal["first", "shuffled"] = "shuffled"
    seed: int = 0
    carry: bool = True
    size_search: Literal["bisect", "descend"] = "descend"
    proof: bool = False

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: expected one of {', '.join(SOLVERS)}")
        if self.proof and self.solver not in PROOF_SOLVERS:
            raise ValueError(f"solver={self.solver!r} writes no proof: expected one of {', '.join(PROOF_SOLVERS)}")
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}")
        if self.at_once < 0:
            raise ValueError(f"at_once={self.at_once}: expected a number of rows, or 0 for one from each wrong leaf")


_KNOWN = {
    "thresholds": ("order", "direct"),
    "order": ("first", "shuffled"),
    "size_search": ("bisect", "descend"),
}

AS_PRINTED = SatTreeOptions(
    solver="cadical195",
    thresholds="direct",
    arrivals=False,
    one_test=True,
    distinct_tests=False,
    idle_nodes=False,
    merge_columns=False,
    relabel=False,
    at_once=1,
    order="shuffled",
    carry=False,
    size_search="bisect",
)
"""Algorithm 3 with clauses (1) to (10) as printed, but for the index in (10)."""
