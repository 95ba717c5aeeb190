"""The trees of a certificate, and whether a formula about them and its proof hold: half of the checker.

That a clause belongs to the formula is not looked up but proved: the variables of a clause have a stated meaning (a
column is above a threshold; some trees lead by so much), and denying the clause leaves a box of rows in which the
trees, counted leaf by leaf, must lead by enough. A formula whose every clause holds for every row that could change the
class, and whose contradiction is proved line by line, leaves no such row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from proofwood.solvers.proof import Certificate, CertificateError

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

    def box_of_region(self, low: Cells, high: Cells) -> tuple[Cells, Cells, set[tuple[int, int]]]:
        """A box around a region, and clauses of two literals, +v or -v, that cut the region out of it."""
        box_low, box_high = low.copy(), high.copy()
        clauses = set()
        for columns, flag in self.guards(low, high):
            missing = self.first[flag] + 1
            for c in columns:
                if low[c] > 0:
                    clauses.add((missing, self.first[c] + int(low[c])))
                if high[c] < self.q[c]:
                    clauses.add((missing, -(self.first[c] + int(high[c]) + 1)))
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


class Formula:
    """The clauses against one class in a region of rows that is not empty, and what their variables mean."""

    def __init__(self, trees: Trees, part: Mapping[str, Any], low: Cells, high: Cells, label: int) -> None:
        low, high, self.limits = trees.box_of_region(low, high)
        self.trees, self.part = trees, part
        self.order: list[int] = part["order"]
        self.low, self.high = low, high
        k = part["against"]
        # k may come before the label only with leads below this
        self.goal = 1 - trees.least_to_win(k, label) + trees.base[k] - trees.base[label]
        self.leads = [
            np.array([scores[label] - scores[k] for _, scores in trees.leaves[t]], dtype=object) for t in self.order
        ]
        self.counters = {variable: (first, end, total) for variable, first, end, total in part["counters"]}
        least = [self._least(place, self.low, self.high) for place in range(len(self.order))]
        self.least_before = [0, *np.cumsum(np.array(least, dtype=object)).tolist()]

    def _least(self, place: int, low: Cells, high: Cells) -> int:
        """Least lead of a tree in a box that is not empty."""
        leaf_low, leaf_high = self.trees.boxes[self.order[place]]
        reached = np.all((leaf_low <= high) & (leaf_high >= low), axis=1)
        return int(self.leads[place][reached].min())

    def fault(self) -> str | None:
        """The first clause that some row with a change might break."""
        n = len(self.trees.leaves)
        if sorted(self.order) != list(range(n)):
            return "the order of the trees leaves one out"
        n_variables = len(self.trees.column)
        if len(self.counters) != len(self.part["counters"]):
            return "a counter has two meanings"
        for variable, (first, end, total) in self.counters.items():
            if variable <= n_variables or not 0 <= first < end <= n or type(total) is not int:
                return f"the counter {variable} counts nothing"
        for number, clause in enumerate(self.part["clauses"], start=1):
            if not self._holds(clause, n_variables):
                return f"clause {number}, {clause}, does not follow from the trees"
        return None

    def _holds(self, clause: Sequence[int], n_variables: int) -> bool:
        """Whether every row of the box that has the class before the label satisfies it."""
        low, high = self.low.copy(), self.high.copy()
        reached: list[tuple[int, int, int]] = []
        wanted: list[tuple[int, int, int]] = []
        denied = []
        for literal in clause:
            if type(literal) is not int or literal == 0:
                return False
            if abs(literal) <= n_variables:
                denied.append(2 * (abs(literal) - 1) + (literal > 0))
            elif abs(literal) not in self.counters:
                return False
            elif literal < 0:
                reached.append(self.counters[-literal])
            else:
                wanted.append(self.counters[literal])
        if len(clause) == 2 and tuple(clause) in self.limits:
            return True  # it says what the region is
        self.trees.narrow(low, high, denied)
        if np.any(low > high):
            return True  # no row of the box denies the clause
        if denied and any(self.trees.denied(known, low, high) for known in self.trees.clauses):
            return True  # rows that deny it are outside the space
        goals = [*wanted, (0, len(self.order), self.goal)]
        return any(self._adds_up(goal, reached, low, high, narrowed=bool(denied)) for goal in goals)

    def _adds_up(
        self,
        goal: tuple[int, int, int],
        reached: list[tuple[int, int, int]],
        low: Cells,
        high: Cells,
        *,
        narrowed: bool,
    ) -> bool:
        """Whether the leads of the goal's places add up to it in a box, given counters that are reached."""
        start, end, wanted = goal
        inside = sorted(counter for counter in reached if start <= counter[0] and counter[1] <= end)
        if any(one[1] > other[0] for one, other in pairwise(inside)):
            return False  # counters that overlap count a tree twice
        total, place = 0, start
        for first, after, lead in (*inside, (end, end, 0)):
            if narrowed:
                total += sum(self._least(p, low, high) for p in range(place, first))
            else:
                total += self.least_before[first] - self.least_before[place]
            total += lead
            place = after
        return total >= wanted


def limits(trees: Trees, low: Cells, high: Cells) -> list[list[int]]:
    """Clauses of one literal each, +v or -v, that say that a row is in the box."""
    units = []
    for column, (lowest, highest) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if lowest > 0:
            units.append([trees.first[column] + lowest])  # the variable of threshold lowest - 1
        if highest < trees.q[column]:
            units.append([-(trees.first[column] + highest + 1)])
    return units


def proof_fault(clauses: Iterable[Sequence[int]], lines: Sequence[str]) -> str | None:
    """Why the lines do not prove that the clauses contradict each other, if they do not."""
    try:
        Certificate("", tuple(tuple(clause) for clause in clauses), tuple(lines)).check()
    except CertificateError as error:
        return str(error)
    return None
