"""The problem of the smallest tree with no error, or with a limited weight of errors, as an immutable object."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proofwood.model.node_table import NodeTable
from proofwood.problem.ranked import RankedRows


class Minimize(StrEnum):
    """The size that is minimised. Members compare equal to their strings."""

    DEPTH = "depth"  # least depth
    NODES = "nodes"  # least depth, then fewest nodes
    NODES_ANY_DEPTH = "nodes-any-depth"  # fewest nodes, however deep


@dataclass(frozen=True, eq=False)
class MinimalTreeProblem:
    """Find the smallest tree whose wrong rows weigh at most ``max_errors``.

    Parameters
    ----------
    rows : RankedRows
    minimize : the size that is minimised
    max_depth : only trees up to this depth are considered; None for any
    max_errors : integer weight of the rows that may be wrong; at least ``rows.unavoidable``, or no tree exists
    """

    rows: RankedRows
    minimize: Minimize = Minimize.DEPTH
    max_depth: int | None = None
    max_errors: int = 0

    def admits(self, table: NodeTable) -> bool:
        """Whether ``table``, a tree over the tests, is within ``max_depth`` and ``max_errors``."""
        within = self.max_depth is None or table.depth <= self.max_depth
        return within and table.is_tree and self.rows.errors(table) <= self.max_errors

    def size(self, table: NodeTable) -> int:
        """The size of ``table`` that is minimised: depth or number of nodes.

        With ``Minimize.NODES``, ``table`` must be a tree of least depth.
        """
        return table.depth if self.minimize is Minimize.DEPTH else table.n_nodes
