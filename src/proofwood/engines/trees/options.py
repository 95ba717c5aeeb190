"""Switches of the tree search: each turns off one rule, and none changes the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proofwood import arguments
from proofwood.engines.switches import switches

INSTRUCTION_SETS = {"auto": 0, "baseline": 1, "avx2": 2, "avx512": 3}
LANE_BITS = (0, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of the tree search. Names and equation numbers are those of Brita et al. (2025).

    Parameters
    ----------
    similarity : neighbourhood pruning by the similarity bound (eq. 3, 7-9); never for squared errors
    interval_shrinking : before an interval is processed, shrink it again by the newest bound (eq. 10, 11); the same
    sub_interval : bound a whole interval by its two evaluated neighbours (eq. 12, Theorem 3)
    stump_bounds : of costs with logarithms and of lost rewards, count only the stumps whose cheap bound beats the best
        one so far
    depth_two : solve subtrees of depth two by the batched routine (Algorithm 2); off: by recursion
    coarse : bound hundreds of splits of depth-two trees in one coarse walk, for tables of many columns
    cache : store solved subproblems by row set and depth
    feature_bounds : bound the cost of a feature by its cost in the neighbouring subproblem
    packed : search tables of few tests over packed words, for all pairs of tests at once
    pair_sums : search tables of few tests so for costs by sums, too, if no column has more than eight values
    affordable : search a subtree no deeper than the number of splits that its cost limit pays for
    priced : search trees of any depth whose leaves have a price over packed words, with no depth
    split_off : there, a set of rows costs what another one does, less one split and a leaf
    dominated : there, leave out tests with a side that gets less right than the price of a leaf
    three_leaves : there, bound trees of three leaves by the least errors of a leaf that is alone on one side
    greedy_tree : grow the first tree by least Gini impurity, one depth in each pass over the rows
    polish : improve every early tree node by node, and its two lowest layers of splits exactly
    beam : try good roots of depth-two trees, with new trees below them
    local_search : from depth four, replace splits of the best tree and rebuild the subtrees below them
    blocks : compute lower bounds from blocks of rows, from depth four
    merge_rows : merge rows of equal values and class into one weighted row if this saves a fifth of the rows; with two
        classes, equal rows of opposite classes cancel
    simd : instruction set of the kernels
    lanes : bits of a vector lane; 0 for the narrowest that holds the counts
    canonical : return the optimal tree that has, at every node, the least depth and then the smallest (feature,
        threshold)
    block_work : minimum work for the bounds by blocks before the search, also at depth three, in rows times features
    eta : share of the distance to the interval's edges that is added to the bound of a side (Algorithm 1)
    """

    similarity: bool = True
    interval_shrinking: bool = True
    sub_interval: bool = True
    stump_bounds: bool = True
    depth_two: bool = True
    coarse: bool = True
    cache: bool = True
    feature_bounds: bool = True
    packed: bool = True
    pair_sums: bool = True
    affordable: bool = True
    priced: bool = True
    split_off: bool = True
    dominated: bool = True
    three_leaves: bool = True
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
            raise ValueError(f"eta={self.eta!r}: expected a non-negative number")


RULES = tuple(rule for rule in switches(SearchOptions()) if rule != "canonical")
"""Switches that change no answer; ``canonical`` chooses among the optimal trees."""
