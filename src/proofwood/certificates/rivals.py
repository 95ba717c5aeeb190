"""Whether a tree of boxes proves that no row in which a class comes before all its rivals costs less than so much.

Boxes are parted and closed as in :mod:`proofwood.certificates.boxes`. Here a closed box has a weight for
each rival, whole and not negative: what a unit of the class's lead over that rival is worth. Of any row,

    weights times leads  -  price   is at most   U,

the sum of the best leaves and cells with the messages of the box, where a cell pays its price as well. A row in which
the class comes before all rivals has leads of n or more, and so a price of at least ``weights times n - U``. If that
is not below the least price that is claimed, the box holds nothing that matters. A box may also name a single rival
that is never beaten there, whatever a row costs; where nothing has a price, all boxes do so, or weigh several rivals.
Weights are over a power of two; what a leaf is worth is then rounded up to a whole number, relative to the best leaf
of its tree, which makes U no smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proofwood.certificates.boxes import SAFE, BoxTree, Steps
from proofwood.certificates.trees import Cells, Trees

MOST_BITS = 62
"""Greatest power of two of messages and weights."""


class RivalTree(BoxTree):
    """A tree of boxes against one class.

    Parameters
    ----------
    trees : the model
    part : ``against``, ``ways`` and ``boxes`` of the certificate
    low, high : (n_columns,) least and greatest cells of the region
    rivals : the classes before which it would have to come, one at least
    own, prices : (n_columns,) a cell of each column, and per column the price of each cell, which does not fall away
        from that cell; None: nothing has a price
    least : rows of this price or more are of no interest
    plain : as of ``BoxTree``
    """

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
        super().__init__(trees, part, low, high, rivals[0], plain=plain)
        against = part["against"]
        counts = [len(tree) for tree in trees.leaves]
        first = np.cumsum([0, *counts])[:-1]
        self.lacks: list[Cells] = []
        """Per rival what each leaf gains less than the best one of its tree."""
        self.spare: list[int] = []
        """Per rival what all trees together may lack."""
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
        self.least = least
        self.own = own
        if own is not None and prices is not None:
            sizes = np.array([price.size for price in prices], dtype=np.int64)
            self.start = np.cumsum(sizes) - sizes
            self.flat = np.concatenate(prices)
            self.most_price = int(self.flat.max(initial=0))

    def _cut_down(self, low: Cells, high: Cells) -> tuple[Cells, Cells] | None:
        """The box without what the clauses exclude, and without cells at the ends of columns that cost too much."""
        while True:
            rows = super()._cut_down(low, high)
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
        """Whether no row of the box that costs little enough can have the leads."""
        factor = self.factor[alive]
        counts = np.bincount(factor, minlength=self.n_factors)
        if not counts.all():
            return True  # no row of the box satisfies all clauses
        unit, edges, weights, shift = node
        priced = shift is not None and self.own is not None
        shift = 0 if shift is None else shift
        if any(type(v) is not int or not 0 <= v <= MOST_BITS for v in (unit, shift)):
            raise ValueError(f"{unit} and {shift} are not units of messages and weights")
        if len(weights) != len(self.lacks) or any(type(w) is not int or w < 0 for w in weights):
            raise ValueError("a box has not one weight per rival")
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
    """Why these classes cannot be the rivals of targets: at least one class, each once, and none of them a target."""
    known = [k for k in range(trees.n_classes) if k not in targets]
    if type(rivals) is list and rivals and all(type(k) is int and k in known for k in rivals):
        return None if len(set(rivals)) == len(rivals) else "a rival is named twice"
    return f"{rivals!r} are not rivals"
