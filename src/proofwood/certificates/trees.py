"""The model of a certificate: the boxes and scores of its leaves, its rows and regions, counted without any solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.certificates.drup import Certificate, CertificateError

Cells = npt.NDArray[np.int64]

NUMBERS, SET = -1, -2
"""Ranges without a column for missing values: of numbers, and sets of values of 0/1 columns."""


def bytes_of_trees(model: Mapping[str, Any]) -> int:
    """About how many bytes :class:`Trees` takes, and the check that its leaves fill the space.

    Raises
    ------
    CertificateError
        If the numbers of thresholds are none.
    """
    counts: list[int] = model["n_thresholds"]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise CertificateError("the numbers of thresholds are not integers from 0")
    leaves = [len(tree) for tree in model["trees"]]
    apart = 3 * max(leaves, default=0) ** 2  # bytes of a matrix of leaves, and of what it is made of
    return 16 * sum(counts) + 32 * len(counts) * sum(leaves) + apart


class Trees:
    """The stored model: boxes and scores of leaves, tree by tree."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.q = np.array(model["n_thresholds"], dtype=np.int64)
        self.first = [0, *np.cumsum(self.q).tolist()]
        self.column = [c for c, q in enumerate(self.q.tolist()) for _ in range(q)]  # of each variable
        self.features: list[list[int]] = model["features"]
        self.base: list[int] = model["base"]
        self.n_classes = len(self.base)
        self.margin: int = model["margin"]
        self.ties_low: bool = model["ties_low"]
        self.clauses: list[list[int]] = model["clauses"]
        self.ranges: list[tuple[list[int], int]] = [(columns, flag) for columns, flag in model["ranges"]]
        self.leaves: list[list[tuple[list[int], list[int]]]] = [
            [(needs, scores) for needs, scores in tree] for tree in model["trees"]
        ]
        self.boxes = [self._boxes([needs for needs, _ in tree]) for tree in self.leaves]

    def _boxes(self, needs: Sequence[Sequence[int]]) -> tuple[Cells, Cells]:
        low, high = np.zeros((len(needs), self.q.size), dtype=np.int64), np.tile(self.q, (len(needs), 1))
        flat = [literal for literals in needs for literal in literals]
        for literal in flat:
            if type(literal) is not int or not 0 <= literal < 2 * len(self.column):
                raise CertificateError(f"the literal {literal} is about no threshold of the model")
        literals = np.array(flat, dtype=np.int64)
        leaf = np.repeat(np.arange(len(needs)), [len(one) for one in needs])
        column = np.array(self.column, dtype=np.int64)[literals >> 1]
        threshold = (literals >> 1) - np.array(self.first, dtype=np.int64)[column]
        below = literals & 1 == 1
        np.minimum.at(high, (leaf[below], column[below]), threshold[below])
        np.maximum.at(low, (leaf[~below], column[~below]), threshold[~below] + 1)
        return low, high

    def narrow(self, low: Cells, high: Cells, literals: Sequence[int]) -> None:
        """Cut a box down to where the literals hold."""
        for literal in literals:
            if not 0 <= literal < 2 * len(self.column):
                raise CertificateError(f"the literal {literal} is about no threshold of the model")
            column = self.column[literal >> 1]
            threshold = (literal >> 1) - self.first[column]
            if literal & 1:
                high[column] = min(high[column], threshold)
            else:
                low[column] = max(low[column], threshold + 1)

    def fault(self) -> str | None:
        """Why this is no ensemble of trees, if it is none."""
        if sorted(c for feature in self.features for c in feature) != list(range(self.q.size)):
            return "not every column belongs to exactly one feature"
        numbers = [self.margin, *self.base, *(s for tree in self.leaves for _, scores in tree for s in scores)]
        if self.margin < 0 or not all(type(number) is int for number in numbers):
            return "scores are not integers, or the margin is negative"
        if not all(
            type(literal) is int and 0 <= literal < 2 * len(self.column) for one in self.clauses for literal in one
        ):
            return "a clause about all rows is about no threshold of the model"
        fault = self._ranges_fault()
        if fault is not None:
            return fault
        everything = prod(q + 1 for q in self.q.tolist())
        for number, (tree, (low, high)) in enumerate(zip(self.leaves, self.boxes, strict=True)):
            if any(len(scores) != self.n_classes for _, scores in tree):
                return f"a leaf of tree {number} has not one score per class"
            if sum(prod(side) for side in np.maximum(high - low + 1, 0).tolist()) != everything:
                return f"the leaves of tree {number} do not fill the space"
            apart = np.eye(len(tree), dtype=bool)
            for c in range(self.q.size):
                apart |= (low[:, None, c] > high[None, :, c]) | (low[None, :, c] > high[:, None, c])
            if not apart.all():
                return f"two leaves of tree {number} overlap"
        return None

    def _ranges_fault(self) -> str | None:
        """Why the columns of ranges are none: they overlap, belong to several features, or have too many cells."""
        seen: set[int] = set()
        feature_of = {c: f for f, feature in enumerate(self.features) for c in feature}
        for columns, flag in self.ranges:
            mine = [*columns, *([] if flag in (NUMBERS, SET) else [flag])]
            if not columns or not all(type(c) is int and c in feature_of for c in mine):
                return "a range is in no columns of the grid"
            if seen & {*mine} or len({*mine}) < len(mine) or len({feature_of[c] for c in mine}) > 1:
                return "columns of ranges overlap, or belong to several features"
            if len(columns) > 2 and flag != SET:
                return "numbers are in more than two columns"
            if np.any(self.q[columns] > 1) if flag == SET else flag != NUMBERS and self.q[flag] != 1:
                return "a 0/1 column of a range has more than two cells"
            seen |= {*mine}
        return None

    def units(self, feature: int) -> tuple[list[tuple[list[int], int]], list[list[int]]]:
        """Columns of numbers of a feature, each with that for a missing value or NUMBERS, and sets of 0/1 columns."""
        own = self.features[feature]
        mine = [(columns, flag) for columns, flag in self.ranges if columns[0] in own]
        taken = {c for columns, flag in mine for c in (*columns, flag)}
        rest = [c for c in own if c not in taken]
        sets = [columns for columns, flag in mine if flag == SET]
        if np.all(self.q[rest] <= 1):
            return [one for one in mine if one[1] != SET], [*sets, rest]
        return [*(one for one in mine if one[1] != SET), *(([c], NUMBERS) for c in rest)], sets

    def values(self, columns: Sequence[int], flag: int) -> Cells:
        """(n, n_columns) cells of all numbers in one or two columns, ascending: of two what the clauses allow."""
        if len(columns) == 1:
            return np.arange(int(self.q[columns[0]]) + 1)[:, None]
        shape = tuple(int(self.q[c]) + 1 for c in columns)
        allowed = np.ones(shape, dtype=bool)
        for clause in self.clauses:
            about = [self.column[literal >> 1] for literal in clause]
            if any(c not in columns and c != flag for c in about):
                continue
            holds = np.zeros(shape, dtype=bool)
            for literal, c in zip(clause, about, strict=True):
                threshold = (literal >> 1) - self.first[c]
                if c == flag:
                    holds |= literal & 1 == 1  # a row that has a number
                    continue
                cells = np.arange(int(self.q[c]) + 1)
                true = cells <= threshold if literal & 1 else cells > threshold
                holds |= true[:, None] if c == columns[0] else true[None, :]
            allowed &= holds
        found = np.argwhere(allowed)
        if np.any(np.diff(found, axis=0) < 0):
            raise CertificateError("the columns of a number do not ascend together")
        return np.asarray(found, dtype=np.int64)

    def guards(self, low: Cells, high: Cells) -> list[tuple[list[int], int]]:
        """Columns of numbers whose ranges in a region hold a missing value as well."""
        return [(columns, flag) for columns, flag in self.ranges if flag >= 0 and low[flag] == 0 and high[flag] == 1]

    def in_region(self, row: Cells, low: Cells, high: Cells) -> bool:
        """Whether a row is between ``low`` and ``high``, the columns of numbers aside where it has a missing value."""
        outside = (row < low) | (row > high)
        for columns, flag in self.guards(low, high):
            if row[flag] == 1:
                outside[columns] = False
        return not np.any(outside)

    def box_of_region(self, low: Cells, high: Cells) -> tuple[Cells, Cells, list[tuple[int, int]]]:
        """A box around a region, and clauses of two literals that cut the region out of it."""
        box_low, box_high = low.copy(), high.copy()
        clauses = []
        for columns, flag in self.guards(low, high):
            missing = 2 * self.first[flag]
            for c in columns:
                if low[c] > 0:
                    clauses.append((missing, 2 * (self.first[c] + int(low[c]) - 1)))
                if high[c] < self.q[c]:
                    clauses.append((missing, 2 * (self.first[c] + int(high[c])) + 1))
                box_low[c], box_high[c] = 0, self.q[c]
        return box_low, box_high, clauses

    def sums(self, cells: Sequence[int]) -> list[int]:
        """Score of each class for a row, leaf by leaf."""
        row = self.row(cells)
        total = list(self.base)
        for tree, (low, high) in zip(self.leaves, self.boxes, strict=True):
            for leaf in np.flatnonzero(np.all((low <= row) & (row <= high), axis=1)).tolist():
                total = [a + b for a, b in zip(total, tree[leaf][1], strict=True)]
        return total

    def row(self, cells: Sequence[int]) -> Cells:
        """Cells as an array; CertificateError if they are none."""
        if not all(type(cell) is int for cell in cells):
            raise CertificateError("a cell is not an integer")
        row = np.array(cells, dtype=np.int64)
        if row.shape != self.q.shape or np.any(row < 0) or np.any(row > self.q):
            raise CertificateError("a row has not one cell of the grid per column")
        return row

    def box_of(self, cells: Sequence[int], features: Iterable[int]) -> tuple[Cells, Cells]:
        """Least and greatest cells of the rows that agree with one row on some features."""
        row, low, high = self.row(cells), np.zeros_like(self.q), self.q.copy()
        for column in (c for feature in features for c in self.features[feature]):
            low[column] = high[column] = row[column]
        return low, high

    def in_space(self, cells: Sequence[int]) -> bool:
        """Whether a row satisfies what is known about all rows."""
        row = self.row(cells)
        return not any(self.denied(clause, row, row) for clause in self.clauses)

    def denied(self, clause: Sequence[int], low: Cells, high: Cells) -> bool:
        """Whether no row between ``low`` and ``high`` satisfies any literal of the clause."""
        for literal in clause:
            allowed_low, allowed_high = low.copy(), high.copy()
            self.narrow(allowed_low, allowed_high, [literal])
            if np.all(allowed_low <= allowed_high):
                return False
        return True

    def least_to_win(self, k: int, label: int) -> int:
        """Least score of ``k`` minus that of ``label`` with which ``k`` may win, rounding included."""
        return (0 if (k < label) == self.ties_low else 1) - self.margin


def proof_fault(clauses: Iterable[Sequence[int]], lines: Sequence[str]) -> str | None:
    """Why the lines do not prove that the clauses contradict each other, if they do not."""
    try:
        Certificate("", tuple(tuple(clause) for clause in clauses), tuple(lines)).check()
    except CertificateError as error:
        return str(error)
    return None
