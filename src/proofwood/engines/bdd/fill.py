"""What a diagram predicts in cells that no row reaches: the biases P and C of Hu, Huguet, Siala (2022), section 4.

Cells that rows reach keep the heaviest class, the smallest code of equals, so training errors are those of the table.
"""

from __future__ import annotations

import numpy as np

from proofwood.engines.bdd.cells import CellTable
from proofwood.model.node_table import IntArray

_UNKNOWN = -1


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
    labels = np.where(cells.reached, cells.weights.argmax(axis=1), _UNKNOWN).astype(np.int64)
    length = labels.size
    groups: list[list[int]] = [[0]]  # starts of equal subtables
    while length > 1:
        half = length // 2
        below: list[list[int]] = []
        for starts in groups:
            first, second = list(starts), [start + half for start in starts]
            if _match(labels[first[0] :][:half], labels[second[0] :][:half]):
                _unify(labels, [*first, *second], half)
                below.append([*first, *second])
            else:
                below += [first, second]
        groups, length = [], half
        for starts in below:
            for earlier in groups:
                if _match(labels[earlier[0] :][:half], labels[starts[0] :][:half]):
                    earlier += starts
                    _unify(labels, earlier, half)
                    break
            else:
                groups.append(starts)
    return np.where(labels == _UNKNOWN, 0, labels)


def _match(one: IntArray, other: IntArray) -> bool:
    return not np.any((one != other) & (one != _UNKNOWN) & (other != _UNKNOWN))


def _unify(labels: IntArray, starts: list[int], length: int) -> None:
    """Give all these subtables what is known of any of them."""
    places = np.add.outer(np.array(starts), np.arange(length))
    labels[places] = labels[places].max(axis=0)  # known labels agree, and the unknown one is the smallest
