"""Chooses labels for cells that allow several, and counts the nodes of the resulting diagram.

A cell that rows reach always gets one of its heaviest classes, so the training errors are those of the truth table. The
rules BDD-P and BDD-C are from Hu, Huguet, Siala (2022), section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from proofwood.engines.bdd.cells import CellTable
from proofwood.model.node_table import BoolArray, IntArray

Join: TypeAlias = Callable[[BoolArray, list[list[int]], int], list[list[int]]]
"""A function that makes more subtables of one level equal. Arguments: the allowed labels, the groups of equal subtables
(each a list of first cells), and the length of a subtable. It returns the new groups."""


def count_splits(labels: IntArray) -> int:
    """Number of inner nodes of the reduced diagram: in each level, the distinct subtables whose halves differ."""
    names = np.unique(labels, return_inverse=True)[1].reshape(-1)
    splits = 0
    while names.size > 1:  # equal names mean equal subtables; names of different levels are never compared
        base = int(names.max()) + 1
        halves, names = np.unique(names[::2] * base + names[1::2], return_inverse=True)
        splits += int(np.count_nonzero(halves // base != halves % base))
    return splits


def fill_parent(cells: CellTable) -> IntArray:
    """Labels (2 ** n_tests,) in which a cell without rows gets the heaviest class of its branch (BDD-P).

    The branch consists of the rows that share the most leading answers with the cell. Of equally heavy classes, the
    smallest code wins.
    """
    sums = [cells.weights]
    for _ in range(cells.n_tests):
        sums.append(sums[-1].reshape(-1, 2, cells.n_classes).sum(axis=1))
    labels = sums[-1].argmax(axis=1)
    for level in reversed(sums[:-1]):
        labels = np.where(level.any(axis=1), level.argmax(axis=1), np.repeat(labels, 2))
    return np.asarray(labels, dtype=np.int64)


def fill_merge(cells: CellTable) -> IntArray:
    """Labels (2 ** n_tests,) that let subtables merge, level by level (BDD-C).

    The labels of cells without rows are unknown. Two subtables *match* if they agree in all cells that are known in
    both; matching subtables are made equal. From the top down, a subtable whose halves match needs no node of its
    level; then the subtables of the next level are compared. Matching is not transitive. So each subtable, from left to
    right, joins the first earlier subtable that it matches. The labels of that subtable include those that it got from
    others. Cells that stay unknown get class 0; this happens only in a table without rows.
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
    """Allowed labels (2 ** n_tests,) that make many subtables equal.

    From the top down, a subtable whose halves can be made equal needs no node of its level. Then the subtables of the
    next level are compared, those with the fewest allowed labels first. Each subtable joins an earlier one that can be
    made equal to it. If there are several, it joins the one for which the two lose the fewest labels in all.
    """
    return _merged(cells.allowed.copy(), _join_freest)


def _merged(allowed: BoolArray, join: Join) -> IntArray:
    """Array (n_cells,): the smallest label that is still allowed in each cell after subtables were made equal.

    ``allowed`` (n_cells, n_classes) is changed in place: if ``join`` puts subtables into a group, they keep only their
    common labels.
    """
    groups: list[list[int]] = [[0]]  # each a list of first cells of subtables that are equal from now on
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
    """Restrict the subtables that begin at ``starts`` to the labels that all of them allow."""
    places = np.add.outer(np.array(starts), np.arange(length))
    allowed[places] = allowed[places].all(axis=0)
