"""Check a tree of boxes: it proves that each row in which a class beats all its rivals has at least a given price.

A split divides a box at a cell of a column, so that its two parts contain all rows of the box. A closed box has
*messages*: for some pairs of a tree and a column, one whole number per cell. For the cell that a row has, the tree
receives this number and the column pays it, so all messages of a row add up to zero. A closed box also has a weight for
each rival, a non-negative integer: the value of one unit of the class's lead over that rival. For any row of the box,

    weights times leads  -  price   is at most   U,

    U = sum over trees of (best leaf in the box, with the most that its cells get it)
        + sum over columns of (best cell in the box, less what it pays, and less its price),

for any choice of messages. So the check need not trust the messages; it only adds them up. If the class beats all
rivals in a row, its lead over each rival is at least that rival's least lead ``n``. Then the price of the row is at
least ``weights times n - U``. If this is at least the claimed price,
no row of the box contradicts the claim. A box may also name one rival that the class never beats in the box, at any
price. Without prices, every box does this or weighs several rivals. Weights are divided by a power of two; the value of
a leaf, relative to the best leaf of its tree, is then rounded up to a whole number, so U does not become smaller.

This module computes all of this in integers, from the boxes of the leaves. Clauses state the limits of the space, and
make boxes smaller. A *way* to satisfy a clause is treated like a leaf of a tree: the best one counts, with messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.certificates.trees import Cells, Trees

Cheapest = Callable[[int, int, int], int]

MOST_BITS = 62
"""Greatest exponent of the powers of two by which messages are multiplied and weights are divided."""
SAFE = 2**62


# A formula would have to encode sums in Boolean variables. The bounds of the search are proofs that anybody can add up:
# decisions/0040-trees-of-boxes.
class BoxTree:
    """A tree of boxes that proves that one class does not win in a region.

    Parameters
    ----------
    trees : the model
    part : ``against``, ``ways`` and ``boxes`` of the certificate
    low, high : (n_columns,) least and greatest cells of the region
    rivals : the classes that the class ``against`` would have to beat, at least one
    own, prices : (n_columns,) one cell of each column, and for each column the price of each cell. Prices do not
        decrease with the distance from the cell ``own``. None: no cell has a price
    least : only rows with a lower price than this matter
    shown : (n_columns,) cells of rows that are checked in another way. A box whose rows all reach the leaves of such a
        row needs no bound
    plain : whether the region is a box also in columns of numbers that may be missing, see ``Trees.box_of_region``
    """

    shown: Sequence[Cells] = ()

    def __init__(
        self,
        trees: Trees,
        part: Mapping[str, Any],
        low: Cells,
        high: Cells,
        rivals: Sequence[int],
        *,
        own: Cells | None = None,
        prices: Sequence[Cells] | None = None,
        least: int = 1,
        plain: bool = False,
    ) -> None:
        limits: list[tuple[int, int]] = []
        if not plain:
            low, high, limits = trees.box_of_region(low, high)
        self.trees, self.boxes, self.low, self.high = trees, part["boxes"], low, high
        self.ways: list[tuple[bool, list[int]]] = [(bool(one), list(clause)) for one, clause in part["ways"]]
        self.clauses = [sorted({*clause}) for clause in (*trees.clauses, *limits)]
        self._weigh(part["against"], rivals)
        self.least, self.own = least, own
        if own is not None and prices is not None:
            sizes = np.array([price.size for price in prices], dtype=np.int64)
            self.start = np.cumsum(sizes) - sizes
            self.flat = np.concatenate(prices)
            self.most_price = int(self.flat.max(initial=0))

    def _weigh(self, against: int, rivals: Sequence[int]) -> None:
        """For each rival, compute how far each leaf is below the best leaf of its tree.

        Also compute how far all trees together may be below their best leaves while the class still beats the rival.
        """
        trees = self.trees
        counts = [len(tree) for tree in trees.leaves]
        first = np.cumsum([0, *counts])[:-1]
        self.lacks: list[Cells] = []
        self.spare: list[int] = []
        for rival in rivals:
            gains = [scores[against] - scores[rival] for tree in trees.leaves for scores in tree]
            small = max(map(abs, gains), default=0) < SAFE
            gain = np.array(gains, dtype=np.int64 if small else object)
            best = np.maximum.reduceat(gain, first) if counts else gain
            self.lacks.append(np.repeat(best, counts) - gain)
            need = trees.least_to_win(against, rival) - (trees.base[against] - trees.base[rival])
            self.spare.append(sum(map(int, best)) - need)
        self.most_lack = max((int(lack.max(initial=0)) for lack in self.lacks), default=0)
        self.n_leaves = sum(counts)

    def fault(self) -> str | None:
        """The reason why the boxes do not prove the claim; None if they do."""
        fault = self._ways_fault()
        if fault is not None:
            return fault
        self._list_options()
        n = self.factor.size
        waiting = [(self.low, self.high, np.arange(n))]
        for number, node in enumerate(self.boxes, start=1):
            if len(node) not in (2, 4):
                return f"box {number} is neither split nor closed"
            if not waiting:
                return f"box {number} is not a part of another box"
            low, high, among = waiting.pop()
            rows = self._cut_down(low, high)
            if len(node) == 2:
                column, cut = node
                if not all(type(v) is int for v in (column, cut)) or not 0 <= column < low.size:
                    return f"box {number} is not split at a cell of a column"
                if rows is not None:
                    low, high, among = *rows, self._reached(*rows, among)
                below, above = high.copy(), low.copy()
                below[column], above[column] = min(high[column], cut), max(low[column], cut + 1)
                waiting += [(above, high, among), (low, below, among)]
            elif rows is not None:
                alive = self._reached(*rows, among)
                if not self._is_closed(*rows, alive, node) and not self._is_shown(alive):
                    return f"box {number} may contain a row of the class"
        return f"the proof ends before {len(waiting)} boxes are split or closed" if waiting else None

    def _ways_fault(self) -> str | None:
        known = {frozenset(clause) for clause in self.clauses}
        for one, clause in self.ways:
            if frozenset(clause) not in known:
                return f"the clause {clause} is not one that all rows satisfy"
            pairs = [frozenset((a ^ 1, b ^ 1)) for i, a in enumerate(clause) for b in clause[:i]] if one else []
            if not all(pair in known for pair in pairs):
                return f"more than one literal of the clause {clause} may be true"
        return None

    def _list_options(self) -> None:
        """Collect the boxes of all leaves and of all ways to satisfy each clause, each with its tree or clause."""
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

    def _reached(self, low: Cells, high: Cells, among: Cells) -> Cells:
        """The options in ``among`` whose boxes overlap the given box."""
        reached = (self.option_low[among] <= high) & (self.option_high[among] >= low)
        return np.asarray(among[np.all(reached, axis=1)])

    def _within_clauses(self, low: Cells, high: Cells) -> tuple[Cells, Cells] | None:
        """The box without the cells that single clauses exclude; None if no cell is left."""
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
        """Whether all rows of a box reach the same leaves, and a row of ``shown`` reaches these leaves too."""
        leaves = alive[self.factor[alive] < len(self.trees.leaves)]
        if leaves.size != len(self.trees.leaves):
            return False
        low, high = self.option_low[leaves], self.option_high[leaves]
        return any(bool(np.all((low <= row) & (row <= high))) for row in self.shown)

    def _cut_down(self, low: Cells, high: Cells) -> tuple[Cells, Cells] | None:
        """The box without the cells that clauses exclude, and without too expensive cells at the ends of columns."""
        while True:
            rows = self._within_clauses(low, high)
            if rows is None or self.own is None:
                return rows
            low, high = rows
            cheapest = self._cheapest(low, high)
            room = self.least - 1 - int(cheapest.sum())
            if room < 0:
                return None
            most = cheapest + room
            dear = (self.flat[self.start + low] > most) | (self.flat[self.start + high] > most)
            if not dear.any():
                return low, high
            for c in np.flatnonzero(dear).tolist():
                price = self.flat[self.start[c] + low[c] : self.start[c] + high[c] + 1]
                paid = np.flatnonzero(price <= most[c])
                high[c] = low[c] + paid[-1]
                low[c] += paid[0]

    def _cheapest(self, low: Cells, high: Cells) -> Cells:
        """The least price of each column in a box."""
        assert self.own is not None
        return np.asarray(self.flat[self.start + np.clip(self.own, low, high)])

    def _cheapest_of(self, c: int, first: int, last: int) -> int:
        assert self.own is not None
        return int(self.flat[self.start[c] + min(max(int(self.own[c]), first), last)])

    def _is_closed(self, low: Cells, high: Cells, alive: Cells, node: Sequence[Any]) -> bool:
        """Whether no row of the box with a price below ``least`` can have the required leads."""
        factor = self.factor[alive]
        counts = np.bincount(factor, minlength=self.n_factors)
        if not counts.all():
            return True  # no row of the box satisfies all clauses
        unit, edges, weights, shift = node
        priced = shift is not None and self.own is not None
        shift = 0 if shift is None else shift
        if any(type(v) is not int or not 0 <= v <= MOST_BITS for v in (unit, shift)):
            raise ValueError(
                f"the units of messages and weights are {unit} and {shift}: expected integers from 0 to {MOST_BITS}"
            )
        if len(weights) != len(self.lacks) or any(type(w) is not int or w < 0 for w in weights):
            raise ValueError("a box does not have exactly one weight, a non-negative integer, for each rival")
        steps = Steps(self.trees, edges, self.n_factors)
        price = self.most_price * low.size if priced else 0
        lack = self.most_lack * sum(weights)
        kind: Any = object if lack * counts.size + price + steps.most * 2 ** (unit + 1) >= SAFE else np.int64
        value = np.zeros(alive.size, dtype=kind)
        leaves = alive < self.n_leaves
        for weight, less in zip(weights, self.lacks, strict=True):
            if weight:
                value[leaves] += less[alive[leaves]].astype(kind) * weight
        value = -(value >> shift)
        starts = np.cumsum(counts) - counts
        total = 0
        if steps.n:
            got = steps.got(
                np.maximum(self.option_low[alive], low), np.minimum(self.option_high[alive], high), counts, starts
            )
            np.add.at(value, got[0], got[1].astype(kind) << unit)
        if priced:
            others = np.ones(low.size, dtype=bool)
            others[steps.columns] = False
            total -= int(self._cheapest(low, high)[others].sum())
        if steps.n:
            total -= steps.least_paid(low, high, unit, self._cheapest_of if priced else None)
        total += int(np.maximum.reduceat(value, starts).sum())
        enough = -(sum(w * spare for w, spare in zip(weights, self.spare, strict=True)) >> shift)
        return bool(total < enough - (self.least - 1 if priced else 0))


def rivals_fault(trees: Trees, rivals: Any, targets: Sequence[int]) -> str | None:
    """The reason why these classes cannot be rivals; None if they are different classes, and none is a target."""
    known = [k for k in range(trees.n_classes) if k not in targets]
    if type(rivals) is list and rivals and all(type(k) is int and k in known for k in rivals):
        return None if len(set(rivals)) == len(rivals) else "a rival is named twice"
    return f"{rivals!r} is not a list of rivals: expected one or more classes that are not targets"


class Steps:
    """The messages of a closed box: each has a factor (tree or clause), a column, and a number for every cell.

    A message is stored as steps: pairs of a cell and the number from this cell on.
    """

    def __init__(self, trees: Trees, edges: Sequence[Sequence[Any]], n_factors: int) -> None:
        self.n = len(edges)
        self.q = trees.q
        factors, columns = [one[0] for one in edges], [one[1] for one in edges]
        if not all(type(v) is int for one in edges for v in one[:2]):
            raise ValueError("the tree or the column of a message is not an integer")
        self.factor, self.column = np.array(factors, dtype=np.int64), np.array(columns, dtype=np.int64)
        if self.n and not (
            self.factor.min() >= 0
            and self.factor.max() < n_factors
            and self.column.min() >= 0
            and self.column.max() < self.q.size
        ):
            raise ValueError("a message is about a tree or a column that does not exist")
        steps = [step for _, _, changes in edges for step in (0, 0, *changes)]
        flat = np.array(steps if steps else [0, 0])
        if flat.dtype != np.int64 or flat.size % 2:
            raise ValueError("a message is not an integer of 64 bits")
        self.counts = np.array([len(changes) // 2 + 1 for _, _, changes in edges], dtype=np.int64)
        if any(len(changes) % 2 for _, _, changes in edges):
            raise ValueError("a message does not have pairs of a cell and a number")
        self.edge = np.repeat(np.arange(self.n), self.counts)
        self.cell, self.message = flat[0::2], flat[1::2]
        self.wide = int(self.q.max(initial=0)) + 2
        self.key = self.edge * self.wide + self.cell if self.n else self.cell
        if np.any(np.diff(self.key) <= 0) or np.any(self.cell < 0) or np.any(self.cell >= self.wide):
            raise ValueError("the cells of a message are not in ascending order, or do not exist")
        self.most = sum(map(abs, self.message.tolist()))
        self.columns: list[int] = np.unique(self.column).tolist()
        """The columns that have messages."""

    def got(self, low: Cells, high: Cells, counts: Cells, starts: Cells) -> tuple[Cells, Cells]:
        """For each message and each option of its factor: the option, and the greatest number that it can receive.

        Parameters
        ----------
        low, high : (n_options, n_columns) least and greatest cells of the options, within the box
        counts, starts : (n_factors,) number of options of each factor, and position of its first option
        """
        times = counts[self.factor]
        edge = np.repeat(np.arange(self.n), times)
        option = np.arange(edge.size) - np.repeat(np.cumsum(times) - times, times) + starts[self.factor[edge]]
        column = self.column[edge]
        first = np.searchsorted(self.key, edge * self.wide + low[option, column], side="right") - 1
        last = np.searchsorted(self.key, edge * self.wide + high[option, column], side="right") - 1
        return option, _most_between(self.message, first, last)

    def least_paid(self, low: Cells, high: Cells, unit: int = 0, cheapest: Cheapest | None = None) -> int:
        """Sum over columns of the least amount that a cell of the box pays.

        Parameters
        ----------
        low, high : (n_columns,) cells of the box
        unit : exponent of the power of two by which messages are multiplied
        cheapest : function that returns the least price of a column between two cells; it is added to what a cell pays.
            By default prices are not counted. Columns without messages are not counted
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
    """For each pair of positions, the greatest of ``values[first..last]``; both positions are included."""
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
