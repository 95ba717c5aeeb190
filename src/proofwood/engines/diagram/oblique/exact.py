"""Lists all ways in which a hyperplane can separate a few rows, exactly, so that univariate engines can search them.

If some hyperplane separates two sets of rows, then another one separates them weakly: some rows lie on it, as many of
them affinely independent as the rows have dimensions. (It is an extreme ray of the cone of weak separators.) The rows
that lie on it are then separated by a hyperplane within it. So all ways follow from the hyperplanes through rows, and
recursively from those within them. Each way becomes a test, and thresholds on single columns are tests, too. No split
of an oblique diagram separates the rows in another way. So a bound over these tests is valid for oblique diagrams. A
diagram over these tests can be converted to an oblique one if hyperplanes separate the rows at each of its nodes by the
margin. With a single varying column, all tests are thresholds, and the two problems are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from proofwood.data.thresholds import midpoints
from proofwood.engines.diagram.oblique.cuts import MARGIN
from proofwood.engines.diagram.oblique.margin import separate
from proofwood.engines.diagram.shape import Diagram
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import FloatArray
from proofwood.problem.diagram import DiagramProblem

MOST_PLANES = 20_000
"""The largest number of sets of rows through which hyperplanes are computed."""
MOST_SIDES = 6_000
"""The largest number of ways to separate the rows, and so of tests for the exact engines."""

Point = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A univariate problem whose tests separate the rows in all ways in which oblique splits can.

    Parameters
    ----------
    problem : the univariate problem; its first tests are those of the oblique problem
    given : the oblique problem
    """

    problem: DiagramProblem
    given: DiagramProblem

    def diagram(self, found: Diagram) -> Diagram | None:
        """``found`` as an oblique diagram; None if no hyperplane separates the rows of some node by the margin."""
        given, columns = self.given, self.given.columns
        assert columns is not None
        if found.n_splits == 0:
            return found
        if not converts(given):
            return None
        own = given.rows.n_tests
        planes, offsets = np.zeros((found.n_splits, columns.shape[1])), np.zeros(found.n_splits)
        seen, bits = found.visits(self.problem)[0] == 1, found.bits(self.problem) == 1
        for node, test in enumerate(found.test):
            low, high = seen[:, node] & ~bits[:, node], seen[:, node] & bits[:, node]
            if not low.any() or not high.any():
                offsets[node] = -1.0 if high.any() else 1.0
            elif test < own:
                column = int(np.searchsorted(given.rows.offsets, test, side="right")) - 1
                below, above = float(columns[low, column].max()), float(columns[high, column].min())
                offsets[node] = float(midpoints(np.array(below), np.array(above)))
                planes[node, column] = 1.0
            else:
                held = separate(columns[low], columns[high], norm=given.norm)
                if held is None or held.gap < MARGIN:
                    return None
                planes[node], offsets[node] = held.normal, held.offset
        return replace(found, test=(), normals=planes, offsets=offsets)


def converts(problem: DiagramProblem, late: Callable[[], bool] = lambda: False) -> bool:
    """Whether all values of a column stay different after scaling, so that each threshold is a hyperplane.

    Returns False, too, if ``late()``, which is called for each column, says that the time is over.
    """
    columns, ranks = problem.columns, problem.rows.ranks
    assert columns is not None
    for column in range(columns.shape[1]):
        if late():
            return False
        place, values = ranks[:, column], columns[:, column]
        least, largest = np.full((2, int(problem.rows.tests_of[column]) + 1), np.nan)
        least[place[::-1]] = values[::-1]  # rows of equal rank have equal values, unless the column is not a scaled one
        largest[place] = values
        there = ~np.isnan(largest)
        if not np.all(least[there][1:] > largest[there][:-1]):
            return False
    return True


def relaxed(problem: DiagramProblem, *, seconds: float | None) -> Relaxed | None:
    """The univariate problem over all ways to separate the rows; None if there are too many ways or too little time."""
    assert problem.columns is not None
    rows = problem.rows
    varying = [j for j in range(rows.n_columns) if int(rows.ranks[:, j].min()) < int(rows.ranks[:, j].max())]
    if len(varying) <= 1:  # with one varying column, each way is a threshold
        return Relaxed(replace(problem, columns=None), problem)
    index, first = rows.groups[0], np.unique(rows.groups[0], return_index=True)[1]
    most = problem.columns.shape[1]
    if first.size > 400 or math.comb(first.size, min(most, first.size // 2)) > MOST_PLANES:
        return None
    ways = sides(integers(problem.columns[first][:, varying]), Clock.of(seconds))
    if ways is None or len(ways) > MOST_SIDES:
        return None
    bits = np.array([[mask >> place & 1 for mask in sorted(ways)] for place in range(first.size)], dtype=np.int32)
    ranks = np.ascontiguousarray(np.hstack([rows.ranks, bits[index]]), dtype=np.int32)
    tests_of = np.concatenate([rows.tests_of, np.ones(len(ways), dtype=np.int32)]).astype(np.int32)
    return Relaxed(replace(problem, rows=replace(rows, ranks=ranks, tests_of=tests_of), columns=None), problem)


def integers(columns: FloatArray) -> list[Point]:
    """The rows of ``columns`` (n_rows, n_features) as integers; each column is multiplied by a power of 2."""
    scaled: list[list[int]] = []
    for column in columns.T.tolist():
        exact = [Fraction(value) for value in column]
        common = max(value.denominator for value in exact)  # powers of 2
        scaled.append([int(value * common) for value in exact])
    return list(zip(*scaled, strict=True))


def sides(points: Sequence[Point], clock: Clock = ENDLESS) -> set[int] | None:
    """Bit masks of the points on the high side, for each way in which a hyperplane separates the points.

    The first point is always on the low side. Returns None if the time was over. ``points`` are integers; some may be
    equal.
    """
    found = _sides(list(points), clock)
    return None if found is None else {mask for mask in found if mask and not mask & 1}


def _sides(points: list[Point], clock: Clock) -> set[int] | None:
    """Bit masks of both sides for all ways to separate the points, including the ways with an empty side."""
    everything = (1 << len(points)) - 1
    points = _flat(points)
    size = len(points[0]) if points else 0
    if size == 0:
        return {0, everything}
    if size == 1:
        found = {0, everything}
        for cut in {value for (value,) in points}:
            mask = sum(1 << at for at, (value,) in enumerate(points) if value >= cut)
            found |= {mask, everything ^ mask}
        return found
    found, done = {0, everything}, set()
    for chosen in combinations(range(len(points)), size):
        if clock.over or len(found) > 2 * MOST_SIDES:
            return None
        normal = _normal([points[at] for at in chosen])
        if normal is None:
            continue
        base = points[chosen[0]]
        heights = [sum(a * (x - o) for a, x, o in zip(normal, point, base, strict=True)) for point in points]
        on = [at for at, height in enumerate(heights) if height == 0]
        if tuple(on) in done:
            continue
        done.add(tuple(on))
        above = sum(1 << at for at, height in enumerate(heights) if height > 0)
        within = _sides([points[at] for at in on], clock)
        if within is None:
            return None
        for mask in within:
            high = above | sum(1 << at for place, at in enumerate(on) if mask >> place & 1)
            found |= {high, everything ^ high}
    return found


def _flat(points: list[Point]) -> list[Point]:
    """The points projected to as many coordinates as their dimension; hyperplanes separate them in the same ways."""
    if not points:
        return points
    base = points[0]
    rows = [[Fraction(x - o) for x, o in zip(point, base, strict=True)] for point in points[1:]]
    kept: list[int] = []
    for column in range(len(base)):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        kept.append(column)
        rows = [row for row in rows if row is not pivot]
        for row in rows:
            if row[column]:
                share = row[column] / pivot[column]
                for other in range(column, len(base)):
                    row[other] -= share * pivot[other]
    return [tuple(point[column] for column in kept) for point in points]


def _normal(points: Sequence[Point]) -> Point | None:
    """An integer normal of the hyperplane through d points of d coordinates; None if the points are dependent."""
    size = len(points[0])
    rows = [[x - o for x, o in zip(point, points[0], strict=True)] for point in points[1:]]
    if size == 2:
        ((x, y),) = rows
        return None if x == y == 0 else (-y, x)
    minors = [_determinant([row[:at] + row[at + 1 :] for row in rows]) for at in range(size)]
    signed = tuple(minor if at % 2 == 0 else -minor for at, minor in enumerate(minors))
    return signed if any(signed) else None


def _determinant(rows: Iterable[Sequence[int]]) -> int:
    """The determinant of a square matrix of integers, computed without fractions (Bareiss)."""
    matrix, sign, before = [list(row) for row in rows], 1, 1
    size = len(matrix)
    for at in range(size - 1):
        pivot = next((row for row in range(at, size) if matrix[row][at]), None)
        if pivot is None:
            return 0
        if pivot != at:
            matrix[at], matrix[pivot], sign = matrix[pivot], matrix[at], -sign
        for row in range(at + 1, size):
            for column in range(at + 1, size):
                crossed = matrix[row][column] * matrix[at][at] - matrix[row][at] * matrix[at][column]
                matrix[row][column] = crossed // before
        before = matrix[at][at]
    return sign * matrix[-1][-1]
