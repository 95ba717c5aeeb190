"""An ensemble over cells of columns, without a solver: boxes and scores of its leaves, and regions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from proofwood.certificates.drup import CertificateError

Cells = npt.NDArray[np.int64]
Scores = Sequence[Sequence[int]]


@dataclass(eq=False)
class Trees:
    """The boxes and scores of all leaves, tree by tree.

    Parameters
    ----------
    q : (n_columns,) greatest cell of each column
    base : score of each class before any tree
    margin : the most by which rounding can change the difference of two class sums
    ties_low : whether the lowest class wins ties, otherwise the highest
    leaves : per tree the scores of each leaf
    boxes : per tree the least and greatest cells (n_leaves, n_columns) of its leaves
    clauses : clauses that all rows satisfy; literal ``2 v`` means that the cell is above threshold v, and literal
        ``2 v + 1`` that it is not
    flags : for each number of the table that may be missing: its columns, and a 0/1 column that is 1 if it is missing
    """

    q: Cells
    base: Sequence[int]
    margin: int
    ties_low: bool
    leaves: Sequence[Scores]
    boxes: Sequence[tuple[Cells, Cells]]
    clauses: Sequence[Sequence[int]] = ()
    flags: Sequence[tuple[list[int], int]] = field(default=())

    @cached_property
    def first(self) -> list[int]:
        """The index of the first threshold of each column; the last item is the number of all thresholds."""
        return [0, *np.cumsum(self.q).tolist()]

    @cached_property
    def column(self) -> list[int]:
        """The column of each threshold."""
        return [c for c, q in enumerate(self.q.tolist()) for _ in range(q)]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.base)

    def narrow(self, low: Cells, high: Cells, literals: Sequence[int]) -> None:
        """Reduce a box, in place, to the cells for which all literals are true."""
        for literal in literals:
            if not 0 <= literal < 2 * len(self.column):
                raise CertificateError(f"the literal {literal} is not about a threshold of the model")
            column = self.column[literal >> 1]
            threshold = (literal >> 1) - self.first[column]
            if literal & 1:
                high[column] = min(high[column], threshold)
            else:
                low[column] = max(low[column], threshold + 1)

    def guards(self, low: Cells, high: Cells) -> list[tuple[list[int], int]]:
        """The flagged columns, with their flag, for which a region contains both numbers and the missing value."""
        return [(columns, flag) for columns, flag in self.flags if low[flag] == 0 and high[flag] == 1]

    def box_of_region(self, low: Cells, high: Cells) -> tuple[Cells, Cells, list[tuple[int, int]]]:
        """A box around a region, and clauses of two literals that restrict the box to the region."""
        box_low, box_high = low.copy(), high.copy()
        clauses = []
        for columns, flag in self.guards(low, high):
            missing = 2 * self.first[flag]
            for c in columns:
                if low[c] > 0:
                    clauses.append((missing, 2 * (self.first[c] + int(low[c]) - 1)))
                if high[c] < self.q[c]:
                    clauses.append((missing, 2 * (self.first[c] + int(high[c])) + 1))
                box_low[c], box_high[c] = 0, self.q[c]
        return box_low, box_high, clauses

    def denied(self, clause: Sequence[int], low: Cells, high: Cells) -> bool:
        """Whether every literal of the clause is false for all rows between ``low`` and ``high``."""
        for literal in clause:
            allowed_low, allowed_high = low.copy(), high.copy()
            self.narrow(allowed_low, allowed_high, [literal])
            if np.all(allowed_low <= allowed_high):
                return False
        return True

    def least_to_win(self, k: int, label: int) -> int:
        """The least lead of class ``k`` over ``label`` with which ``k`` wins, or may win by rounding."""
        return (0 if (k < label) == self.ties_low else 1) - self.margin
