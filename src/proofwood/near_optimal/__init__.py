"""All trees that are nearly as good as the best one: how many, each of them, and what they have in common.

``posed`` reads the table and finds the best tree, ``trees`` is the set, ``tree`` one of its trees, ``picture`` draws
it, ``of_tree`` makes it for a fitted tree. The search is in :mod:`proofwood.engines.trees.near`.
"""

from proofwood.near_optimal.of_tree import near_optimal_trees_of
from proofwood.near_optimal.posed import near_optimal_trees
from proofwood.near_optimal.tree import NearTree
from proofwood.near_optimal.trees import ColumnShares, NearOptimalTrees, UndecidedRows, WithoutColumn

__all__ = [
    "ColumnShares",
    "NearOptimalTrees",
    "NearTree",
    "UndecidedRows",
    "WithoutColumn",
    "near_optimal_trees",
    "near_optimal_trees_of",
]
