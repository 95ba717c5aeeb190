"""The clauses of one class in an incremental SAT solver, which keeps what it learns for all rows."""

from __future__ import annotations

from collections.abc import Sequence

from proofwood.papers.rfxpl.clauses import Forest, encode
from proofwood.solvers.session import SatSession


class Formula:
    """Decides under assumptions whether another class than ``label`` can win, by eq. 7 of the paper.

    Parameters
    ----------
    forest : Forest
    label : class
    solver : name of the solver in python-sat

    Attributes
    ----------
    session : the solver session; its method ``core`` returns the assumptions that were needed for an answer "no"
    """

    def __init__(self, forest: Forest, label: int, *, solver: str = "cadical195") -> None:
        made = encode(forest, label)
        self.session = SatSession(solver=solver)
        self.session.block(made.n_variables)
        self.session.extend(made.clauses)
        self._first, self._intervals = forest.first, made.intervals
        self._groups: dict[tuple[tuple[int, int], ...], int] = {}

    def fixing(self, cells: Sequence[tuple[int, int]]) -> list[int]:
        """The assumption that fixes a feature, as a list of at most one literal.

        ``cells`` are pairs: each column of the feature, with its cell. For one column, the literal is that of the cell.
        For several columns, it is a literal that implies all cells. The list is empty if no column of the feature has a
        threshold.
        """
        literals = [self._intervals[column][cell] for column, cell in cells if self._intervals[column]]
        if len(literals) < 2:
            return literals
        key = tuple(cells)
        if key not in self._groups:
            self._groups[key] = self.session.new()
            self.session.extend([-self._groups[key], literal] for literal in literals)
        return [self._groups[key]]

    def ask(self, assumptions: Sequence[int], seconds: float | None) -> bool | None:
        """Whether another class can win under ``assumptions``; None if the time was over, or after Ctrl-C."""
        self.session.allow(seconds)
        return self.session.solve(assumptions)

    def row(self) -> list[int]:
        """List (n_columns,): the cells of the row that the solver found."""
        value = self.session.value
        columns = zip(self._first, self._first[1:], strict=False)
        return [sum(value(above) for above in range(first + 1, last + 1)) for first, last in columns]
