"""The problem of the best binary decision diagram over a limited number of tests, as an immutable object."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from proofwood.model.node_table import NodeTable
from proofwood.problem.objectives import TreeCost
from proofwood.problem.ranked import RankedRows


class Unknown(StrEnum):
    """Rule for the class of a cell that no training row reaches. Members compare equal to their strings."""

    SMALLEST = "smallest"  # the class that makes the diagram smallest
    PARENT = "parent"  # the majority of its branch (BDD-P)
    MERGE = "merge"  # the class that makes subtrees compatible, layer by layer (BDD-C)
    SOLVER = "solver"  # the class that the SAT or MaxSAT solver chose (BDD-S)


@dataclass(frozen=True, eq=False)
class BDDProblem:
    """Find the ordered, reduced decision diagram over at most ``max_features`` tests that costs least.

    Parameters
    ----------
    rows : RankedRows
    max_features : non-negative int; if it exceeds the number of tests, all tests may be used
    fewest : False: minimise errors over at most ``max_features`` tests. True: find the fewest tests that leave no
        avoidable error, and ignore ``max_features``
    cost : prices; ``cost.leaf_price`` is the price of an inner node here
    unknown : rule for the classes of unreached cells
    smallest_set : among sets of tests of equal cost, choose one with the smallest diagram
    """

    rows: RankedRows
    max_features: int
    fewest: bool
    cost: TreeCost
    unknown: Unknown = Unknown.SMALLEST
    smallest_set: bool = False

    def integer_cost(self, table: NodeTable) -> int:
        """Cost of ``table``, a diagram over the tests: priced errors plus the price of its inner nodes."""
        return self.cost.error_price * self.rows.errors(table) + self.cost.leaf_price * table.n_splits

    def real_cost(self, table: NodeTable) -> Fraction:
        """Cost of ``table`` in units of real weight, without rounding."""
        return self.cost.real_cost(self.rows.real_errors(table), table.n_splits)
