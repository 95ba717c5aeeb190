"""Weights of rows that bound the number of leaves of every tree without errors: the dual of a cover by pure boxes.

Each leaf of such a tree is a pure box: one class is right on all its rows. So the tree has at least as many leaves as
the smallest cover of the rows by pure boxes. If no pure box weighs more than 1, the sum of the weights is a lower bound
on both numbers, also for the rows of any subtree (docs/theory/minimal-trees.md, "A cover by boxes").

The weights come from a floating-point linear program, whose boxes are generated as they are needed. The result is
rounded to integers and divided by the weight of the heaviest box, which the native search finds exactly.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array

from proofwood import _native
from proofwood.engines.interrupts import INTERRUPT

UNIT = 2**20
"""Largest weight of a pure box; the native search uses the same number."""
_TOLERANCE = 1 + 1 / 2048
_FIRST, _PER_ROUND, _ENOUGH = 5, 3, 5
"""Numbers of box growths before the first program and in each round. Number of new boxes to delay the exact search."""

Integers = npt.NDArray[np.int64]


def dual_weights(ranks: npt.NDArray[np.int32], costs: Integers, seconds: float) -> Integers:
    """(n_groups,) integer weights for which no pure box is heavier than :data:`UNIT`; zeros if the time is too short.

    Parameters
    ----------
    ranks : (n_groups, n_columns) ranks; no two rows are equal
    costs : (n_groups, n_classes) cost of each label; 0 if the class is right on the group
    seconds : approximate limit of wall-clock seconds

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C.
    """
    return _Cover(ranks, costs, time.monotonic() + seconds).weights()


class _Cover:
    """The linear program, with the boxes that were found so far."""

    def __init__(self, ranks: npt.NDArray[np.int32], costs: Integers, deadline: float) -> None:
        self.boxes = _native.PureBoxes(ranks, costs)
        self.n = len(ranks)
        self.deadline = deadline
        self.seed = 0
        self.found: dict[tuple[int, ...], None] = {(group,): None for group in range(self.n)}

    def weights(self) -> Integers:
        """The best weights that are found within the time."""
        best = np.zeros(self.n, dtype=np.int64)
        ones = np.ones(self.n, dtype=np.int64)
        for _ in range(_FIRST):
            self._grow(ones, 0)
        while self._left() > 0:
            weights = self._solved()
            if weights is None:
                break
            if sum(self._grow(weights, int(UNIT * _TOLERANCE)) for _ in range(_PER_ROUND)) >= _ENOUGH:
                continue
            heaviest, sure, boxes = self._heaviest(weights, None)
            if not sure:
                break
            scaled = weights if heaviest <= UNIT else weights * UNIT // heaviest
            if scaled.sum() > best.sum():
                best = scaled
            if self._keep(boxes) == 0:
                break
        return best

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _grow(self, weights: Integers, above: int) -> int:
        self.seed += 1
        return self._keep(self._heaviest(weights, self.seed, above)[2])

    def _keep(self, boxes: Iterable[Iterable[int]]) -> int:
        before = len(self.found)
        self.found.update((tuple(box), None) for box in boxes)
        return len(self.found) - before

    def _heaviest(self, weights: Integers, seed: int | None, above: int = UNIT) -> tuple[int, bool, list[list[int]]]:
        heaviest, sure, boxes, stopped = self.boxes.heaviest(weights, above, max(0.0, self._left()), seed)
        if stopped == INTERRUPT:
            raise KeyboardInterrupt
        return heaviest, sure, boxes

    def _solved(self) -> Integers | None:
        """Weights of greatest sum for which no known box is heavier than 1; None if the time is up."""
        lengths = [len(box) for box in self.found]
        rows = csr_array(
            (np.ones(sum(lengths)), np.concatenate([np.array(box) for box in self.found]), np.cumsum([0, *lengths])),
            shape=(len(self.found), self.n),
        )
        program = linprog(
            -np.ones(self.n),
            A_ub=rows,
            b_ub=np.ones(len(self.found)),
            bounds=(0, None),
            method="highs",
            options={"time_limit": max(0.01, self._left())},
        )
        if program.x is None:
            return None
        weights: Integers = np.floor(np.clip(program.x, 0.0, 1.0) * UNIT).astype(np.int64)
        return weights
