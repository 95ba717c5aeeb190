"""Labels for free cells by merging subtables that can be made equal, and counting the nodes that result."""

from __future__ import annotations

import numpy as np

from proofwood.engines.bdd.cells import CellTable
from proofwood.model.node_table import BoolArray, IntArray


def count_splits(labels: IntArray) -> int:
    """Inner nodes of the reduced diagram of a full table: distinct subtables whose halves differ, level by level."""
    names = np.unique(labels, return_inverse=True)[1].reshape(-1)
    splits = 0
    while names.size > 1:  # equal names are equal subtables; names of different levels never meet
        base = int(names.max()) + 1
        halves, names = np.unique(names[::2] * base + names[1::2], return_inverse=True)
        splits += int(np.count_nonzero(halves // base != halves % base))
    return splits


def merged_labels(cells: CellTable) -> IntArray:
    """(2 ** n_tests,) allowed labels under which many subtables are equal.

    From the top down, a subtable whose halves can be made equal skips its level; the subtables of the next level are
    taken with the fewest free labels first, and each joins the one it can be made equal to that it restricts least.
    """
    allowed = cells.allowed.copy()
    groups: list[list[int]] = [[0]]  # starts of subtables that are equal from now on
    length = allowed.shape[0]
    while length > 1:
        half = length // 2
        below: list[list[int]] = []
        for starts in groups:
            sides = [*starts, *(start + half for start in starts)]
            if _can_meet(allowed, sides[0], sides[-1], half):
                _meet(allowed, sides, half)
                below.append(sides)
            else:
                below += [sides[: len(starts)], sides[len(starts) :]]
        groups = _joined(allowed, below, half)
        length = half
    return np.asarray(allowed.argmax(axis=1), dtype=np.int64)


def _joined(allowed: BoolArray, subtables: list[list[int]], length: int) -> list[list[int]]:
    def mask(starts: list[int]) -> BoolArray:
        return allowed[starts[0] : starts[0] + length]

    groups: list[list[int]] = []
    for starts in sorted(subtables, key=lambda starts: (int(mask(starts).sum()), starts[0])):
        mine = mask(starts)
        fits: list[tuple[int, int]] = []
        for place, group in enumerate(groups):
            common = mask(group) & mine
            if common.any(axis=1).all():
                fits.append((int((mask(group) & ~common).sum() + (mine & ~common).sum()), place))
        if fits:
            group = groups[min(fits)[1]]
            group += starts
            _meet(allowed, group, length)
        else:
            groups.append(list(starts))
    return groups


def _can_meet(allowed: BoolArray, one: int, other: int, length: int) -> bool:
    return bool((allowed[one : one + length] & allowed[other : other + length]).any(axis=1).all())


def _meet(allowed: BoolArray, starts: list[int], length: int) -> None:
    """Leave these subtables the labels that all of them allow."""
    places = np.add.outer(np.array(starts), np.arange(length))
    allowed[places] = allowed[places].all(axis=0)
