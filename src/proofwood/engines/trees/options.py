"""Switches of the tree search: each rule can be turned off, and none changes the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proofwood import arguments
from proofwood.engines.switches import switches

INSTRUCTION_SETS = {"auto": 0, "baseline": 1, "avx2": 2, "avx512": 3}
LANE_BITS = (0, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. Names and equation numbers are those of Brita et al. (2025).

    Parameters
    ----------
    similarity : neighbourhood pruning by the similarity bound (eq. 3, 7-9)
    interval_shrinking : intervals are shrunk again by the newest bound when they are taken up (eq. 10, 11)
    sub_interval : the two evaluated neighbours of an interval bound all of it (eq. 12, Theorem 3)
    depth_two : subtrees of depth two by the batched routine (Algorithm 2); off: by recursion
    cache : solved subproblems are kept by row set and depth
    feature_bounds : what a feature cost in the neighbouring subproblem bounds it in the next
    packed : tables of few tests are searched over packed words, all pairs of tests at once
    affordable : a subtree is not searched deeper than the number of splits that its limit pays for
    greedy_tree : the first tree is grown by least Gini impurity, a level in each walk over the rows
    polish : every early tree is improved node by node, its two last levels exactly
    beam : good roots of trees of depth two are tried, with trees below them
    local_search : from depth four on, splits of the best tree are replaced and what is below them is built anew
    blocks : lower bounds by blocks of rows, at depths of four and more
    merge_rows : rows of equal values and class become one weighted row where that leaves a fifth less; of two classes,
        opposite rows cancel
    simd : instruction set of the kernels
    lanes : bits of a vector lane, 0 for the narrowest that holds the counts
    canonical : finish with the optimal tree of least depth, then smallest (feature, threshold), at every node
    block_work : work that the bounds by blocks get at least before the search, at depth three too: rows times features
        walked over
    eta : share of the distance to the interval's edges added to the bound of a side (Algorithm 1)
    """

    similarity: bool = True
    interval_shrinking: bool = True
    sub_interval: bool = True
    depth_two: bool = True
    cache: bool = True
    feature_bounds: bool = True
    packed: bool = True
    affordable: bool = True
    greedy_tree: bool = True
    polish: bool = True
    beam: bool = True
    local_search: bool = True
    blocks: bool = True
    merge_rows: bool = True
    simd: Literal["auto", "baseline", "avx2", "avx512"] = "auto"
    lanes: Literal[0, 16, 32, 64] = 0
    canonical: bool = True
    eta: float = float("inf")
    block_work: int = 0

    def __post_init__(self) -> None:
        arguments.choice(self.simd, "simd", INSTRUCTION_SETS)
        if self.lanes not in LANE_BITS:
            raise ValueError(f"lanes={self.lanes!r}: expected one of {LANE_BITS}")
        if not 0 <= self.block_work < 2**62:
            raise ValueError(f"block_work={self.block_work!r}: expected an integer from 0 to 2**62 - 1")
        if not self.eta >= 0:
            raise ValueError(f"eta={self.eta!r}: expected a factor from 0")


RULES = tuple(rule for rule in switches(SearchOptions()) if rule != "canonical")
"""Switches that change no answer; ``canonical`` chooses among the optimal trees."""
