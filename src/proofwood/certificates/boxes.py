"""Whether a tree of boxes proves that no row of a region can have another class: the other half of the checker.

A split parts a box at a cell of a column, so its two boxes hold every row of it. A closed box comes with *messages*:
for some trees and columns a whole number per cell. A tree gets the number of the cell that a row has, and the column
pays it, so that over all trees and columns they add up to nothing. A row of the box therefore gains the class at most

    sum over trees of (best leaf in the box, with the most that its cells get it)
    + sum over columns of (best cell in the box, less what it pays)

whatever the messages are: they need not be trusted, only added up. All of it is done here, in integers, from the boxes
of the leaves. The limits of the space take part as clauses: they cut boxes down, and a *way* to satisfy a clause is
chosen as a leaf is, and may get messages too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.certificates.trees import Cells, Trees

Cheapest = Callable[[int, int, int], int]

MOST_UNIT = 200
"""Most powers of two between the unit of messages and that of scores."""
SAFE = 2**62


# A formula would have to say in Boolean variables how sums add up; the search's own bounds are proofs that anybody can
# add up: decisions/0040-trees-of-boxes.
class BoxTree:
    """A tree of boxes against one class in a region.

    Parameters
    ----------
    trees : the model
    part : ``against``, ``ways`` and ``boxes`` of the certificate
    low, high : (n_columns,) least and greatest cells of the region
    label : the class that is to stay
    shown : (n_columns,) cells of rows that something else decides: a box of their leaves alone needs no bound
    plain : whether the region is a box also in columns of numbers that may be missing, see ``Trees.box_of_region``
    """

    shown: Sequence[Cells] = ()

    def __init__(
        self, trees: Trees, part: Mapping[str, Any], low: Cells, high: Cells, label: int, *, plain: bool = False
    ) -> None:
        limits: list[tuple[int, int]] = []
        if not plain:
            low, high, limits = trees.box_of_region(low, high)
        self.trees, self.boxes, self.low, self.high = trees, part["boxes"], low, high
        self.ways: list[tuple[bool, list[int]]] = [(bool(one), list(clause)) for one, clause in part["ways"]]
        against = part["against"]
        self.goal = trees.least_to_win(against, label) - (trees.base[against] - trees.base[label])
        gains = [scores[against] - scores[label] for tree in trees.leaves for scores in tree]
        self.most_gain = max(map(abs, gains), default=0)
        self.gains: npt.NDArray[Any] = np.array(gains, dtype=np.int64 if self.most_gain < SAFE else object)
        self.clauses = [sorted({*clause}) for clause in (*trees.clauses, *limits)]

    def fault(self) -> str | None:
        """Why the boxes do not show that the class cannot come before the label; None if they do."""
        fault = self._ways_fault()
        if fault is not None:
            return fault
        self._list_options()
        n = self.factor.size
        waiting = [(self.low, self.high, np.arange(n))]
        for number, node in enumerate(self.boxes, start=1):
            if len(node) < 2:
                return f"box {number} is neither parted nor closed"
            if not waiting:
                return f"box {number} is of no other box"
            low, high, among = waiting.pop()
            rows = self._cut_down(low, high)
            if isinstance(node[1], int):
                column, cut, above_first = node
                if not all(type(v) is int for v in (column, cut)) or not 0 <= column < low.size:
                    return f"box {number} is parted at no cell"
                if rows is not None:
                    low, high, among = *rows, self._reached(*rows, among)
                below, above = high.copy(), low.copy()
                below[column], above[column] = min(high[column], cut), max(low[column], cut + 1)
                halves = [(low, below, among), (above, high, among)]
                waiting += halves if above_first else halves[::-1]
            elif rows is not None:
                alive = self._reached(*rows, among)
                if not self._is_closed(*rows, alive, node) and not self._is_shown(alive):
                    return f"box {number} may have a row of the class"
        return f"{len(waiting)} boxes are not looked at" if waiting else None

    def _ways_fault(self) -> str | None:
        known = {frozenset(clause) for clause in self.clauses}
        for one, clause in self.ways:
            if frozenset(clause) not in known:
                return f"{clause} is not a clause about all rows"
            pairs = [frozenset((a ^ 1, b ^ 1)) for i, a in enumerate(clause) for b in clause[:i]] if one else []
            if not all(pair in known for pair in pairs):
                return f"of {clause} more than one may hold"
        return None

    def _list_options(self) -> None:
        """Boxes of all leaves, and of the ways to satisfy clauses, with the number of what they are chosen for."""
        trees = self.trees
        low, high = [one for one, _ in trees.boxes], [one for _, one in trees.boxes]
        counts = [len(tree) for tree in trees.leaves]
        for one, clause in self.ways:
            lows, highs = np.zeros((len(clause), self.low.size), np.int64), np.tile(trees.q, (len(clause), 1))
            for way, holds in enumerate(clause):
                trees.narrow(
                    lows[way],
                    highs[way],
                    [other if other == holds else other ^ 1 for other in clause] if one else [holds],
                )
            low.append(lows)
            high.append(highs)
            counts.append(len(clause))
        self.n_factors = len(counts)
        self.factor = np.repeat(np.arange(len(counts)), counts)
        self.option_low, self.option_high = np.concatenate(low), np.concatenate(high)
        self.worth = np.concatenate([self.gains, np.zeros(self.factor.size - self.gains.size, dtype=np.int64)])

    def _reached(self, low: Cells, high: Cells, among: Cells) -> Cells:
        """Those of some options that the box reaches."""
        reached = (self.option_low[among] <= high) & (self.option_high[among] >= low)
        return np.asarray(among[np.all(reached, axis=1)])

    def _cut_down(self, low: Cells, high: Cells) -> tuple[Cells, Cells] | None:
        """The box without what the clauses exclude one by one; None if that is all of it."""
        if np.any(low > high):
            return None
        low, high = low.copy(), high.copy()
        changed = True
        while changed:
            changed = False
            for clause in self.clauses:
                able = []
                for literal in clause:
                    c = self.trees.column[literal >> 1]
                    threshold = (literal >> 1) - self.trees.first[c]
                    if low[c] <= threshold if literal & 1 else high[c] > threshold:
                        able.append((literal, c, threshold))
                if not able:
                    return None
                if len(able) > 1:
                    continue
                literal, c, threshold = able[0]
                if literal & 1 and high[c] > threshold:
                    high[c], changed = threshold, True
                elif not literal & 1 and low[c] <= threshold:
                    low[c], changed = threshold + 1, True
        return low, high

    def _is_shown(self, alive: Cells) -> bool:
        """Whether all rows of a box reach the same leaves, which are those of a row that is shown."""
        leaves = alive[self.factor[alive] < len(self.trees.leaves)]
        if leaves.size != len(self.trees.leaves):
            return False
        low, high = self.option_low[leaves], self.option_high[leaves]
        return any(bool(np.all((low <= row) & (row <= high))) for row in self.shown)

    def _is_closed(self, low: Cells, high: Cells, alive: Cells, node: Sequence[Any]) -> bool:
        """Whether the bound by the messages of a box is below what the class needs."""
        factor = self.factor[alive]
        counts = np.bincount(factor, minlength=self.n_factors)
        if not counts.all():
            return True  # no row of the box satisfies all clauses
        unit, edges = node
        if type(unit) is not int or abs(unit) > MOST_UNIT:
            raise ValueError(f"{unit} is not a unit of messages")
        steps = Steps(self.trees, edges, self.n_factors)
        up, down = 1 << max(-unit, 0), 1 << max(unit, 0)  # of scores, of messages
        small = self.most_gain * up * counts.size + steps.most * down * 2 < SAFE
        kind: Any = np.int64 if small else object
        value = self.worth[alive].astype(kind) * up
        starts = np.cumsum(counts) - counts
        total = 0
        if steps.n:
            got, paid = (
                steps.got(
                    np.maximum(self.option_low[alive], low), np.minimum(self.option_high[alive], high), counts, starts
                ),
                steps.least_paid(low, high),
            )
            np.add.at(value, got[0], got[1].astype(kind) * down)
            total -= paid * down
        total += int(np.maximum.reduceat(value, starts).sum())
        return bool(total < self.goal * up)


class Steps:
    """Messages of a closed box: of each edge, a factor and a column, a number per cell that changes at some cells."""

    def __init__(self, trees: Trees, edges: Sequence[Sequence[Any]], n_factors: int) -> None:
        self.n = len(edges)
        self.q = trees.q
        factors, columns = [one[0] for one in edges], [one[1] for one in edges]
        if not all(type(v) is int for one in edges for v in one[:2]):
            raise ValueError("messages of no tree and column")
        self.factor, self.column = np.array(factors, dtype=np.int64), np.array(columns, dtype=np.int64)
        if self.n and not (
            self.factor.min() >= 0
            and self.factor.max() < n_factors
            and self.column.min() >= 0
            and self.column.max() < self.q.size
        ):
            raise ValueError("messages of no tree and column")
        steps = [step for _, _, changes in edges for step in (0, 0, *changes)]
        flat = np.array(steps if steps else [0, 0])
        if flat.dtype != np.int64 or flat.size % 2:
            raise ValueError("messages are not whole numbers of 64 bits")
        self.counts = np.array([len(changes) // 2 + 1 for _, _, changes in edges], dtype=np.int64)
        if any(len(changes) % 2 for _, _, changes in edges):
            raise ValueError("a message without its cell")
        self.edge = np.repeat(np.arange(self.n), self.counts)
        self.cell, self.message = flat[0::2], flat[1::2]
        self.wide = int(self.q.max(initial=0)) + 2
        self.key = self.edge * self.wide + self.cell if self.n else self.cell
        if np.any(np.diff(self.key) <= 0) or np.any(self.cell < 0) or np.any(self.cell >= self.wide):
            raise ValueError("the cells of messages do not ascend")
        self.most = sum(map(abs, self.message.tolist()))
        self.columns: list[int] = np.unique(self.column).tolist()
        """Those with messages."""

    def got(self, low: Cells, high: Cells, counts: Cells, starts: Cells) -> tuple[Cells, Cells]:
        """Options, some more than once, and the most that each may get of one of its columns.

        Parameters
        ----------
        low, high : (n_options, n_columns) of the options in the box
        counts, starts : (n_factors,) of the options of each factor
        """
        times = counts[self.factor]
        edge = np.repeat(np.arange(self.n), times)
        option = np.arange(edge.size) - np.repeat(np.cumsum(times) - times, times) + starts[self.factor[edge]]
        column = self.column[edge]
        first = np.searchsorted(self.key, edge * self.wide + low[option, column], side="right") - 1
        last = np.searchsorted(self.key, edge * self.wide + high[option, column], side="right") - 1
        return option, _most_between(self.message, first, last)

    def least_paid(self, low: Cells, high: Cells, unit: int = 0, cheapest: Cheapest | None = None) -> int:
        """Sum over columns of the least that a cell of the box pays.

        Parameters
        ----------
        low, high : (n_columns,) cells of the box
        unit : the power of two that messages are multiples of
        cheapest : the least price of a column's cells from one to another, which a row pays too; nothing by default.
            Columns without messages are left out
        """
        total = 0
        exact: npt.NDArray[Any] = self.message if self.most < SAFE else self.message.astype(object)
        change = np.diff(exact, prepend=0)
        change[np.cumsum(self.counts) - self.counts] = 0
        for c in self.columns:
            mine = self.column[self.edge] == c
            last = int(high[c])
            steps = sorted(zip(self.cell[mine].tolist(), change[mine].tolist(), strict=True))
            at, paid, least = int(low[c]), 0, None
            for cell, more in [*steps, (last + 1, 0)]:
                if cell > at:
                    here = paid if cheapest is None else paid + cheapest(c, at, min(cell - 1, last))
                    least = here if least is None else min(least, here)
                    if cell > last:
                        break
                    at = cell
                paid += more << unit
            assert least is not None
            total += least
        return total


def _most_between(values: Cells, first: Cells, last: Cells) -> Cells:
    """The greatest of ``values[first..last]`` for each pair of places, both included."""
    tables = [values]
    longest = int((last - first).max(initial=0)) + 1
    while 2 ** len(tables) <= longest:
        half, table = 2 ** (len(tables) - 1), tables[-1]
        tables.append(np.concatenate([np.maximum(table[:-half], table[half:]), table[-half:]]))
    row = np.array([n.bit_length() - 1 for n in range(longest + 1)])[last - first + 1]
    found = np.empty(first.size, dtype=values.dtype)
    for r, table in enumerate(tables):
        mine = row == r
        found[mine] = np.maximum(table[first[mine]], table[last[mine] + 1 - 2**r])
    return found
