"""Switches of the smallest-tree search: each rule can be turned off, and none changes the size found."""

from __future__ import annotations

from dataclasses import dataclass

from proofwood.engines.switches import switches


@dataclass(frozen=True, slots=True)
class MinimalOptions:
    """How to search.

    Parameters
    ----------
    boxes : where there are few, fill in a number for every box of ranks instead of looking row sets up
    cache : row sets reached by several paths are one subproblem
    same_split : of the tests that part the rows at hand alike, one is tried
    monotone : what a cut's sides need bounds what the sides of the column's other cuts need
    column_walks : where columns have many cuts, walks along them list the cuts of a set, bound their sides, and find
        those that one test is enough for
    class_bound : every class needs a leaf
    clique_bound : rows that pairwise cannot share a leaf need one each
    packing_bound : opposite rows whose differences have no test in common need a split each
    cover_bound : leaves are at least the boxes of one class that cover the rows; weights of the rows bound these, and
        those of all parts of the rows
    shallow_first : where any depth is permitted, before a long search, the fewest nodes of least depth
    zero_first : where errors are permitted, before a long search, trees without any, and these cut back
    error_bounds : there too, depth and number of splits bounded by the search for trees of least error
    rollouts : before a long search, smaller trees by growing the trees below each promising cut
    depth_bound : leaves are counted only where the depth left is known to suffice, and bounds on leaves bound depth
    canonical : finish with the least test at every node that permits the best below
    memory : bytes of subproblems at which the search ends like at a time limit, ``stopped_by`` being "memory_limit";
        None: what the memory limit leaves, 2 GiB without one
    """

    boxes: bool = True
    cache: bool = True
    same_split: bool = True
    monotone: bool = True
    column_walks: bool = True
    class_bound: bool = True
    clique_bound: bool = True
    packing_bound: bool = True
    cover_bound: bool = True
    shallow_first: bool = True
    zero_first: bool = True
    error_bounds: bool = True
    rollouts: bool = True
    depth_bound: bool = True
    canonical: bool = True
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None and self.memory < 2**20:
            raise ValueError(f"memory={self.memory!r}: expected a number of bytes from {2**20}")


RULES = tuple(switches(MinimalOptions()))
"""Switches that do not change the size found."""
NATIVE_RULES = tuple(rule for rule in RULES if rule not in ("shallow_first", "zero_first", "error_bounds"))
"""Those of them that the native search looks at."""
