"""The tables and fits of ``benchmarks.scaling``: points along an axis, and rows for each of them."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

AXES = ("rows", "columns", "classes", "distinct", "threads", "million")
ALL = 0
"""Stands for "all values of a column differ"."""


@dataclass(frozen=True, slots=True)
class Point:
    """One fit: the table, the depth, the threads, and which search.

    Parameters
    ----------
    distinct : values of each column; :data:`ALL` if all rows differ
    search : "chosen" as the learner does, "thresholds" for the search over thresholds whatever the table
    round : which of several equal fits
    """

    rows: int
    columns: int
    classes: int = 2
    distinct: int = ALL
    depth: int = 2
    threads: int = 1
    search: str = "chosen"
    round: int = 0


FIELDS = tuple(Point.__dataclass_fields__)


def points(axis: str, *, quick: bool = False, rounds: int = 3) -> list[Point]:
    """The fits of an axis.

    Raises
    ------
    KeyError
        If there is no such axis.
    """
    if axis not in AXES:
        raise KeyError(f"no axis {axis!r}: expected one of {', '.join(AXES)}")
    return (_quick if quick else _whole)(axis, rounds)


def _whole(axis: str, rounds: int) -> list[Point]:
    if axis == "rows":
        kinds = [(depth, distinct) for depth in (2, 3) for distinct in (ALL, 256)]
        return [
            Point(10**size, 10, distinct=distinct, depth=depth) for depth, distinct in kinds for size in range(3, 7)
        ]
    if axis == "columns":
        wide = [Point(1000, columns) for columns in (10, 30, 100, 300, 1000, 3000, 10_000)]
        deep = [Point(1000, columns, depth=3) for columns in (10, 30, 100, 300)]
        return [*wide, *deep, *(Point(1000, columns, depth=4) for columns in (5, 10)), Point(200, 20_000)]
    if axis == "classes":
        return [Point(10_000, 10, classes, depth=depth) for depth in (2, 3) for classes in (2, 3, 5, 10, 20, 50)]
    if axis == "distinct":
        values = (*(2**power for power in range(1, 12)), ALL)
        made = [Point(10_000, 10, distinct=value, depth=depth) for depth in (2, 3) for value in values]
        deep = [Point(10_000, 10, distinct=value, depth=4) for value in (2, 4, 8, 16, 32, 64)]
        other = [Point(10_000, 10, distinct=v, depth=3, search="thresholds") for v in values if 0 < v <= 64]
        other += [Point(10_000, 10, distinct=v, depth=4, search="thresholds") for v in (4, 8, 16, 32)]
        return [*made, *deep, *other]
    if axis == "threads":
        return _threads(2000, 10, 4, rounds)
    return [Point(1_000_000, 50, depth=3)]


def _quick(axis: str, rounds: int) -> list[Point]:
    if axis == "rows":
        return [Point(rows, 5, distinct=distinct) for distinct in (ALL, 256) for rows in (300, 1000)]
    if axis == "columns":
        return [*(Point(200, columns) for columns in (5, 20)), Point(50, 100)]
    if axis == "classes":
        return [Point(300, 4, classes) for classes in (2, 5)]
    if axis == "distinct":
        made = [Point(300, 4, distinct=value, depth=3) for value in (2, 16, ALL)]
        return [*made, Point(300, 4, distinct=2, depth=3, search="thresholds")]
    if axis == "threads":
        return _threads(200, 4, 3, rounds)
    return [Point(20_000, 5, depth=1)]


def _threads(rows: int, columns: int, depth: int, rounds: int) -> list[Point]:
    """One thread, two, ..., all cores; every other round in reverse, so that a slow drift of the machine evens out."""
    counts = sorted({1, 2, *(2**power for power in range(10) if 2**power <= cores()), cores()})
    made = []
    for turn in range(rounds):
        for threads in counts if turn % 2 == 0 else reversed(counts):
            made.append(Point(rows, columns, depth=depth, threads=threads, round=turn))
    return made


def cores() -> int:
    """Cores of the machine."""
    return os.cpu_count() or 1


def generate(point: Point) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rows with uniform values, of which the first six columns and their products say the class, and noise beside.

    The signal is smooth, so that no tree fits it and the best threshold is only a little better than its neighbours.
    Columns of a table are those of a narrower one and more; the same holds for rows of one block.
    """
    said = min(6, point.columns)
    signal = np.random.default_rng(20250220)
    single = 2.0 * signal.normal(size=(said, point.classes))
    double = 4.0 * np.triu(np.ones((said, said)), 1)[:, :, None] * signal.normal(size=(said, said, point.classes))
    X = np.empty((point.rows, point.columns))
    y = np.empty(point.rows, dtype=np.int64)
    block = 100_000
    for start in range(0, point.rows, block):  # little memory beside the table
        rows = slice(start, min(start + block, point.rows))
        size = rows.stop - rows.start
        noise = np.random.default_rng([20250220, start]).gumbel(scale=0.3, size=(size, point.classes))
        for column in range(point.columns):
            X[rows, column] = np.random.default_rng([20250220, start, column]).random(size)
        Z = X[rows, :said] - 0.5
        score = Z @ single + np.einsum("ni,nj,ijc->nc", Z, Z, double, optimize=True) + noise
        y[rows] = score.argmax(axis=1)
    if point.distinct != ALL:
        np.floor(X * point.distinct, out=X)
    return X, np.unique(y, return_inverse=True)[1].astype(np.int64)
