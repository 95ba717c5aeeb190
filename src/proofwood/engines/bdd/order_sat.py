"""Decides with a SAT solver whether, for one order of tests, a diagram has at most a given number of inner nodes.

The variables say which labels free cells get, and which subtables of a level are equal. A subtable counts as a node
unless its two halves are equal, or it equals a subtable further left. So the count is the number of inner nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from proofwood.engines.bdd.cells import CellTable
from proofwood.model.node_table import IntArray
from proofwood.solvers.session import SatSession

TRUE, FALSE = True, False
Literal: TypeAlias = int | bool
"""A literal of the solver, or the constant True or False."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the solver: labels or None. None proves that no labels exist, unless the solver was stopped."""

    labels: IntArray | None
    stopped_by: str | None = None


def fewest_splits(cells: CellTable, most: int, *, seconds: float | None = None) -> Answer:
    """Find allowed labels whose diagram, in the order of ``cells``, has at most ``most`` inner nodes.

    Parameters
    ----------
    cells : CellTable
    most : integer; if it is negative, the answer is that no labels exist
    seconds : wall-clock limit
    """
    if most < 0:
        return Answer(None)
    with SatSession(seconds=seconds) as session:
        table = _Table(cells, session)
        paid = table.paid()
        if len(paid) > most:
            session.at_most(paid, most)
        found = session.solve()
        if found is None:
            return Answer(None, session.stopped_by)
        return Answer(table.labels() if found else None)


class _Table:
    """Literals for the labels of cells, and for equal subtables; the latter are created when first needed."""

    def __init__(self, cells: CellTable, session: SatSession) -> None:
        self.cells, self.session = cells, session
        self.label: list[dict[int, Literal]] = []
        for row in cells.allowed:
            classes = np.flatnonzero(row).tolist()
            if len(classes) == 1:
                self.label.append({classes[0]: TRUE})
                continue
            literals = {code: session.new() for code in classes}
            session.add(list(literals.values()))
            for one, other in combinations(literals.values(), 2):
                session.add([-one, -other])
            self.label.append(dict(literals))
        self._equal: dict[tuple[int, int, int], Literal] = {}

    def paid(self) -> list[int]:
        """One literal for each subtable that may need a node. If the literal is false, the subtable needs none."""
        literals = []
        for level in range(self.cells.n_tests):
            for place in range(2**level):
                ways = [self.equal(level + 1, 2 * place, 2 * place + 1)]
                ways += [self.equal(level, earlier, place) for earlier in range(place)]
                if any(way is TRUE for way in ways):
                    continue
                node = self.session.new()
                self.session.add([node, *(way for way in ways if way is not FALSE)])
                literals.append(node)
        return literals

    def equal(self, level: int, one: int, other: int) -> Literal:
        """A literal which implies that the subtables ``one`` and ``other`` of a level are equal (``one < other``)."""
        key = (level, one, other)
        if key not in self._equal:
            self._equal[key] = self._both(level, one, other) if level < self.cells.n_tests else self._same(one, other)
        return self._equal[key]

    def _both(self, level: int, one: int, other: int) -> Literal:
        halves = [self.equal(level + 1, 2 * one, 2 * other), self.equal(level + 1, 2 * one + 1, 2 * other + 1)]
        open_ = [half for half in halves if half is not TRUE]
        if any(half is FALSE for half in open_):
            return FALSE
        if len(open_) < 2:
            return open_[0] if open_ else TRUE
        literal = self.session.new()
        for half in open_:
            self.session.add([-literal, half])
        return literal

    def _same(self, one: int, other: int) -> Literal:
        mine, theirs = self.label[one], self.label[other]
        common = mine.keys() & theirs.keys()
        if not common:
            return FALSE
        if len(mine) == len(theirs) == 1:
            return TRUE
        if len(mine) == 1 or len(theirs) == 1:  # the free one takes the label of the other
            (code,) = common
            return theirs[code] if len(mine) == 1 else mine[code]
        literal = self.session.new()
        for code in sorted(mine.keys() | theirs.keys()):
            a, b = mine.get(code), theirs.get(code)
            if a is None or b is None:
                self.session.add([-literal, -(a if b is None else b)])  # type: ignore[operator]
            else:
                self.session.add([-literal, -a, b])
                self.session.add([-literal, a, -b])
        return literal

    def labels(self) -> IntArray:
        """Array (2 ** n_tests,): for each cell, the label that the solver chose."""
        return np.array(
            [
                next(code for code, literal in row.items() if literal is TRUE or self.session.value(int(literal)))
                for row in self.label
            ],
            dtype=np.int64,
        )
