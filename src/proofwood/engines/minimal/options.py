"""Switches of the smallest-tree search: each turns off one rule, and none changes the size found."""

from __future__ import annotations

from dataclasses import dataclass

from proofwood.engines.switches import switches


@dataclass(frozen=True, slots=True)
class MinimalOptions:
    """Options of the smallest-tree search. Each field except ``memory`` switches one rule on or off.

    Parameters
    ----------
    boxes : if there are few boxes of ranks, compute a size for each box instead of looking up row sets
    cache : treat a row set that several paths reach as one subproblem
    same_split : try only one of the tests that split the rows of a subproblem in the same way
    monotone : use the sizes needed on the two sides of a cut as bounds for the other cuts of the column
    column_walks : if columns have many cuts, walk along each column to list the cuts of a row set, to bound their
        sides, and to find sides that need only one test
    class_bound : every class needs a leaf
    clique_bound : rows need one leaf each if no two of them can share a leaf
    packing_bound : pairs of rows of different classes need one split each if no test separates two of the pairs
    cover_bound : a tree has at least as many leaves as a cover of the rows by boxes of one class has boxes; weights of
        the rows bound this number, also for all subsets of the rows
    shallow_first : if any depth is permitted, find the smallest of the shallowest trees before a long search
    zero_first : if errors are permitted, find a tree without errors and cut it back, before a long search
    error_bounds : if errors are permitted, bound depth and splits by searches for trees of least error, before a long
        search
    rollouts : find smaller trees by growing a tree below each promising cut, before a long search
    depth_bound : count leaves only if the remaining depth is known to suffice, and bound the depth by the leaves
    canonical : at the end, choose at every node the least test below which the best size is possible
    memory : maximum bytes of subproblems; when they are reached, the search ends with ``stopped_by`` "memory_limit".
        None permits as much as the memory limit does, or 2 GiB if there is no memory limit
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
            raise ValueError(f"memory={self.memory!r} is too small: expected a number of bytes from {2**20}")


RULES = tuple(switches(MinimalOptions()))
"""Switches that do not change the size found."""
NATIVE_RULES = tuple(rule for rule in RULES if rule not in ("shallow_first", "zero_first", "error_bounds"))
"""The switches that the native search uses."""
