"""What a diagram predicts in cells that leave a choice, and the nodes that result.

Cells that rows reach keep a heaviest class, so training errors are those of the table. The biases P and C are those of
Hu, Huguet, Siala (2022), section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from proofwood.engines.bdd.cells import CellTable
from proofwood.model.node_table import BoolArray, IntArray

Join: TypeAlias = Callable[[BoolArray, list[list[int]], int], list[list[int]]]
"""Allowed labels, subtables of a level (the starts of equal ones) and their length -> subtables that are equal now."""


def count_splits(labels: IntArray) -> int:
    """Inner nodes of the reduced diagram of a full table: distinct subtables whose halves differ, level by level."""
    names = np.unique(labels, return_inverse=True)[1].reshape(-1)
    splits = 0
    while names.size > 1:  # equal names are equal subtables; names of different levels never meet
        base = int(names.max()) + 1
        halves, names = np.unique(names[::2] * base + names[1::2], return_inverse=True)
        splits += int(np.count_nonzero(halves // base != halves % base))
    return splits


def fill_parent(cells: CellTable) -> IntArray:
    """(2 ** n_tests,) labels: an unreached cell takes the heaviest class of its branch (BDD-P).

    The branch is the longest prefix of the cell's answers that some row gives; ties go to the smallest code.
    """
    sums = [cells.weights]
    for _ in range(cells.n_tests):
        sums.append(sums[-1].reshape(-1, 2, cells.n_classes).sum(axis=1))
    labels = sums[-1].argmax(axis=1)
    for level in reversed(sums[:-1]):
        labels = np.where(level.any(axis=1), level.argmax(axis=1), np.repeat(labels, 2))
    return np.asarray(labels, dtype=np.int64)


def fill_merge(cells: CellTable) -> IntArray:
    """(2 ** n_tests,) labels that let subtables merge, level by level (BDD-C).

    Unreached cells are unknown, and two subtables *match* if they agree wherever both are known; matching subtables
    are unified. From the top down, a subtable whose halves match skips its level, and the subtables of the next level
    are compared. Matching is not transitive: each subtable, from left to right, joins the first one before it that
    it matches, and what that one has learned so far counts. Cells that are unknown to the end, which needs a table
    without rows, take class 0.
    """
    heaviest = cells.weights.argmax(axis=1)[:, np.newaxis] == np.arange(cells.n_classes)
    return _merged(heaviest | ~cells.reached[:, np.newaxis], _join_first)


def _join_first(allowed: BoolArray, subtables: list[list[int]], length: int) -> list[list[int]]:
    groups: list[list[int]] = []
    for starts in subtables:
        for group in groups:
            if _can_meet(allowed, group[0], starts[0], length):
                group += starts
                _meet(allowed, group, length)
                break
        else:
            groups.append(starts)
    return groups


def merged_labels(cells: CellTable) -> IntArray:
    """(2 ** n_tests,) allowed labels under which many subtables are equal.

    From the top down, a subtable whose halves can be made equal skips its level; the subtables of the next level are
    taken with the fewest free labels first, and each joins the one it can be made equal to that it restricts least.
    """
    return _merged(cells.allowed.copy(), _join_freest)


def _merged(allowed: BoolArray, join: Join) -> IntArray:
    """(n_cells,) labels of ``allowed``, (n_cells, n_classes): the smallest of those that are left in each cell.

    ``allowed`` is narrowed on the way, so that subtables which ``join`` puts together are equal.
    """
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
        groups = join(allowed, below, half)
        length = half
    return np.asarray(allowed.argmax(axis=1), dtype=np.int64)


def _join_freest(allowed: BoolArray, subtables: list[list[int]], length: int) -> list[list[int]]:
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
