"""Weights of rows that bound the leaves of every right tree: the dual of the cover by pure boxes.

A leaf of a right tree is a box in which one class is right on every row, so a tree has at least as many leaves as boxes
of that kind that cover the rows. Weights under which no such box is heavier than 1 bound both, and do so for every part
of the rows that a path of a tree leaves, too (docs/theory/minimal-trees.md, "A cover by boxes").

The weights come from a linear program in floating point, over boxes that are found as they are needed. What is handed
on are integers, divided by the weight of the heaviest box, which the native search finds exactly.
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
"""What a box may weigh, as the native search has it."""
_TOLERANCE = 1 + 1 / 2048
_FIRST, _PER_ROUND, _ENOUGH = 5, 3, 5
"""Growths of boxes before the first program, in each round, and new boxes with which the exact search can wait."""

Integers = npt.NDArray[np.int64]


def dual_weights(ranks: npt.NDArray[np.int32], costs: Integers, seconds: float) -> Integers:
    """(n_groups,) integer weights under which no pure box is heavier than :data:`UNIT`; zeros if there was no time.

    Parameters
    ----------
    ranks : (n_groups, n_columns), all rows different
    costs : (n_groups, n_classes) cost of the labels; a class is right on a group at cost 0
    seconds : wall-clock, roughly

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C.
    """
    return _Cover(ranks, costs, time.monotonic() + seconds).weights()


class _Cover:
    """The program so far."""

    def __init__(self, ranks: npt.NDArray[np.int32], costs: Integers, deadline: float) -> None:
        self.boxes = _native.PureBoxes(ranks, costs)
        self.n = len(ranks)
        self.deadline = deadline
        self.seed = 0
        self.found: dict[tuple[int, ...], None] = {(group,): None for group in range(self.n)}

    def weights(self) -> Integers:
        """The best weights that were found in time."""
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
        """Weights of greatest sum under which no box found so far is heavier than 1; None at the end of the time."""
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
