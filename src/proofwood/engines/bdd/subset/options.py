"""Switches of the subset search: each rule can be turned off, and none changes the least error."""

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
    matching : bound by a matching of rows of different class and by what the remaining tests can separate of it
    reweighting : high in the tree, rows are matched again so that the pairs avoid the tests the bound suffers from
    overlap : pairs that two tests both separate are counted once
    elimination : a test that no set below a node can take without reaching the cut-off is dropped there
    leaf_matching : a matching of its own for nodes where two tests are still to be added
    similarity : similarity bound: what was proved of a test bounds those that treat nearly all rows of a node alike
    greedy : begin with a greedy set improved by exchanging two tests at a time, and ``restarts`` random ones
    boxes : where tests are cuts of few columns, stretches of cuts are ruled out at once; off: cut by cut
    trees : a first set comes from the tests of a good tree, too, where the greedy one is not known to be best soon
    deepening : a search of more than half a second is made again below cut-offs that rise, each of which is a bound
    lexicographic : return the lexicographically smallest of the best sets, at the price of a second search
    neighbours : pairs per row that a matching may choose from
    restarts : random sets that the exchange also begins from
    columns : how tests are kept: "bits", a column of bits each; "ranks", one column of ranks for all cuts of a column,
        which takes no memory per cut; "auto": ranks where there are more than 1,000 tests
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
"""Switches that change no answer; ``lexicographic`` asks for another search."""
NATIVE_RULES = tuple(rule for rule in RULES if rule not in ("boxes", "trees", "deepening"))
"""Those of them that the native search looks at."""


@dataclass(frozen=True, slots=True)
class FewestOptions:
    """How to find the fewest tests without avoidable error.

    Parameters
    ----------
    engine : "search": the subset search for sizes 0, 1, 2, ...; "hitting": a smallest hitting set of differences of
        rows, made one by one, with a SAT solver (python-sat); "auto": hitting sets for some thousand conflicts, and
        then the search for the sizes that are left: the former are faster where many
        tests are needed, the latter where few suffice but the data are noisy
    search : switches of the subset search
    """

    engine: Literal["auto", "search", "hitting"] = "auto"
    search: SubsetOptions = field(default_factory=SubsetOptions)

    def __post_init__(self) -> None:
        arguments.choice(self.engine, "engine", FEWEST_ENGINES)
