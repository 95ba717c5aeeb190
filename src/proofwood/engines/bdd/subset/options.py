"""Switches of the subset search. Each rule can be turned off; none changes the least error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from proofwood import arguments
from proofwood.engines.switches import switches

INSTRUCTION_SETS = {"auto": 0, "baseline": 1, "avx2": 2}
COLUMNS = ("auto", "bits", "ranks")
FEWEST_ENGINES = ("auto", "search", "hitting")


@dataclass(frozen=True, slots=True)
class SubsetOptions:
    """How to search for the best set of tests.

    Parameters
    ----------
    matching : match rows in pairs of different classes; the pairs that the remaining tests do not separate bound the
        errors
    reweighting : near the root of the search tree, some tests weaken the bound: match rows again, in pairs that these
        tests do not separate
    overlap : if two tests separate the same pair, count this pair only once
    elimination : below a node, drop a test if every set with this test reaches the cut-off
    leaf_matching : use a separate matching at nodes where two more tests are added
    similarity : use a bound proved for one test also for tests that agree with this test on nearly all rows, with a
        correction
    greedy : begin with a greedy set and ``restarts`` random sets, improved by exchanging two tests at a time
    boxes : if tests are cuts of few columns, rule out intervals of cuts together; if off, cut by cut
    trees : if the greedy set is not soon proved best, begin also with the tests of a good tree
    tree_bound : if the search takes longer, the best tree of as many levels as a set has tests bounds its errors
    deepening : if a search takes more than half a second, repeat it with rising cut-offs; each cut-off gives a bound
    lexicographic : return the lexicographically smallest of the best sets; this takes a second search
    neighbours : number of pairs for each row that a matching may choose from
    restarts : number of random sets that are improved by exchanges, too
    columns : how tests are stored: "bits", one bit column for each test; "ranks", one column of ranks for all cuts of a
        column, which takes no memory for each cut; "auto", as ranks if there are more than 1,000 tests
    simd : instruction set of the kernels
    """

    matching: bool = True
    reweighting: bool = True
    overlap: bool = True
    elimination: bool = True
    leaf_matching: bool = True
    similarity: bool = True
    greedy: bool = True
    boxes: bool = True
    trees: bool = True
    tree_bound: bool = True
    deepening: bool = True
    lexicographic: bool = False
    neighbours: int = 10
    restarts: int = 12
    columns: Literal["auto", "bits", "ranks"] = "auto"
    simd: Literal["auto", "baseline", "avx2"] = "auto"

    def __post_init__(self) -> None:
        arguments.choice(self.columns, "columns", COLUMNS)
        arguments.choice(self.simd, "simd", INSTRUCTION_SETS)
        if self.neighbours < 1:
            raise ValueError(f"neighbours={self.neighbours!r}: expected at least 1")
        if self.restarts < 0:
            raise ValueError(f"restarts={self.restarts!r}: expected at least 0")


RULES = tuple(rule for rule in switches(SubsetOptions()) if rule != "lexicographic")
"""Switches that change no answer. ``lexicographic`` is not among them: it changes which best set is returned."""
NATIVE_RULES = tuple(rule for rule in RULES if rule not in ("boxes", "trees", "tree_bound", "deepening"))
"""The switches in ``RULES`` that the native search reads."""


@dataclass(frozen=True, slots=True)
class FewestOptions:
    """How to find the fewest tests without avoidable error.

    Parameters
    ----------
    engine : "search" runs the subset search for sizes 0, 1, 2, ...; "hitting" finds a smallest hitting set of
        differences between rows, with a SAT solver (python-sat); "auto" tries hitting sets for some thousand conflicts,
        and then the subset search for the remaining sizes. Hitting sets are faster if many tests are needed, the search
        if few suffice but the data are noisy
    search : switches of the subset search
    """

    engine: Literal["auto", "search", "hitting"] = "auto"
    search: SubsetOptions = field(default_factory=SubsetOptions)

    def __post_init__(self) -> None:
        arguments.choice(self.engine, "engine", FEWEST_ENGINES)
