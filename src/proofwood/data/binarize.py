"""Convert columns into 0/1 tests, and models over these tests into models over the columns.

Some learners (SAT encodings, decision diagrams over tests) need 0/1 features. They see one bit per test, and their
models test these bits at 0.5. :meth:`Binarizer.lift` replaces each bit by its test, so that the user always receives a
model over the original columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from proofwood.data.columns import Columns
from proofwood.data.kinds import Kind
from proofwood.data.thresholds import midpoints
from proofwood.model.node_table import LEAF, OBLIQUE, BoolArray, FloatArray, IntArray, NodeTable

BitArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Binarizer:
    """An ordered list of tests of columns; bit ``i`` of a row is 0 if test ``i`` is true, so that the row goes low.

    Parameters
    ----------
    feature : (n_tests,) tested column
    threshold : (n_tests,) the test is ``x[feature] <= threshold``; nan at a level test
    levels : per test the level codes that go low, or None if the test is a threshold
    n_features : number of columns of the data
    missing_low : (n_tests,) whether the test is true for a missing value; None means true for every test
    thinned : columns of which ``max_thresholds`` left out some thresholds
    """

    feature: IntArray
    threshold: FloatArray
    levels: tuple[frozenset[int] | None, ...]
    n_features: int
    missing_low: BoolArray | None = None
    thinned: frozenset[int] = frozenset()

    @classmethod
    def of(cls, data: Columns | npt.ArrayLike, *, max_thresholds: int | None = None) -> Binarizer:
        """Return tests that distinguish the rows of ``data``.

        An ordered column gets thresholds halfway between neighbouring distinct values. A nominal column gets one test
        per level in the data (one test for two levels). A constant column gets no test.

        Parameters
        ----------
        data : Columns, or (n_rows, n_features) numbers; missing values are ignored
        max_thresholds : the largest number of thresholds per column; those that divide the rows most evenly are
            chosen; None for all

        Raises
        ------
        ValueError
            If ``max_thresholds`` is below 1 or not an integer.
        """
        check_max_thresholds(max_thresholds)
        values = data.values if isinstance(data, Columns) else np.asarray(data, dtype=np.float64)
        if values.ndim != 2:
            raise ValueError(f"data has {values.ndim} dimensions, expected 2")
        parts: list[FloatArray | list[int]] = []
        thinned = set()
        for j in range(values.shape[1]):
            if isinstance(data, Columns) and data.columns[j].kind is Kind.NOMINAL:
                parts.append(tested_levels(np.unique(values[~np.isnan(values[:, j]), j])))
                continue
            cuts = thresholds(values[:, j])
            if max_thresholds is not None and cuts.size > max_thresholds:
                cuts = thresholds(values[:, j], max_thresholds=max_thresholds)
                thinned.add(j)
            parts.append(cuts)
        return cls.from_parts(parts, thinned=thinned)

    @classmethod
    def from_parts(cls, parts: Sequence[FloatArray | list[int]], *, thinned: Collection[int] = ()) -> Binarizer:
        """Return the tests of all columns, in order: one test per threshold or per level code.

        Parameters
        ----------
        parts : per column an array of ascending thresholds, or a list of level codes
        thinned : columns of which some thresholds were left out
        """
        sizes = [len(part) for part in parts]
        threshold = [np.full(len(part), np.nan) if isinstance(part, list) else part for part in parts]
        levels: list[frozenset[int] | None] = [None] * sum(sizes)
        start = 0
        for part, size in zip(parts, sizes, strict=True):
            if isinstance(part, list):
                levels[start : start + size] = [frozenset([code]) for code in part]
            start += size
        return cls(
            np.repeat(np.arange(len(parts), dtype=np.int64), sizes),
            np.concatenate([np.empty(0), *threshold]),
            tuple(levels),
            len(parts),
            thinned=frozenset(thinned),
        )

    @property
    def n_tests(self) -> int:
        """The number of tests, which is the number of bits per row."""
        return int(self.feature.size)

    def transform(self, X: npt.ArrayLike) -> BitArray:
        """(n_rows, n_tests) bits: 0 if the test is true of the row, otherwise 1."""
        values = np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_features:
            raise ValueError(f"X has shape {values.shape}, expected (n_rows, {self.n_features})")
        bits = np.empty((values.shape[0], self.n_tests), dtype=np.uint8)
        for i, (j, cut, low) in enumerate(zip(self.feature.tolist(), self.threshold, self.levels, strict=True)):
            column = values[:, j]
            bits[:, i] = column > cut if low is None else ~np.isin(column, list(low))
            bits[np.isnan(column), i] = 0 if self.missing_low is None else not self.missing_low[i]
        return bits

    def only(self, tests: Sequence[int]) -> Binarizer:
        """Return a binarizer with only the given tests, in the given order."""
        chosen = np.asarray(tests, dtype=np.int64)
        return replace(
            self,
            feature=self.feature[chosen],
            threshold=self.threshold[chosen],
            levels=tuple(self.levels[test] for test in chosen.tolist()),
            missing_low=None if self.missing_low is None else self.missing_low[chosen],
        )

    def without(self, tests: Sequence[int]) -> Binarizer:
        """Return a binarizer without the given tests."""
        return self.only(np.delete(np.arange(self.n_tests), tests).tolist())

    def lift(self, table: NodeTable) -> NodeTable:
        """Convert a model over the bits of :meth:`transform` into an equal model over the columns.

        For every ``X``, ``evaluate.predict(self.lift(table), X) == evaluate.predict(table, self.transform(X))``.

        Raises
        ------
        ValueError
            If ``table`` tests a bit that does not exist, at a threshold outside [0, 1), or by an oblique test.
        """
        inner = table.feature != LEAF
        tested = table.feature[inner]
        if np.any(tested == OBLIQUE):
            raise ValueError("the model has an oblique test: expected tests of one bit each")
        if table.levels is not None and any(low is not None for low in table.levels):
            raise ValueError("the model has a level test: expected only thresholds of bits")
        if np.any(tested >= self.n_tests):
            raise ValueError(f"the model tests bit {int(tested.max())}, but the rows have only {self.n_tests} bits")
        if np.any(table.threshold[inner] < 0) or np.any(table.threshold[inner] >= 1):
            raise ValueError("the model has a threshold outside [0, 1): expected 0.5 or another number in it")
        feature, threshold = table.feature.copy(), table.threshold.copy()
        feature[inner], threshold[inner] = self.feature[tested], self.threshold[tested]
        low = [self.levels[bit] if is_inner else None for bit, is_inner in zip(table.feature, inner, strict=True)]
        missing_low = np.ones(table.n_nodes, dtype=bool)
        if self.missing_low is not None:
            missing_low[inner] = self.missing_low[tested]
        return table.changed(feature=feature, threshold=threshold, missing_low=missing_low, levels=tuple(low))


def check_max_thresholds(value: int | None) -> int | None:
    """Return ``value``. Raise ValueError if it is neither None nor an integer from 1."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
        raise ValueError(f"max_thresholds={value!r}: expected an integer from 1, or None for all")
    return value


def thresholds(values: npt.ArrayLike, *, max_thresholds: int | None = None) -> FloatArray:
    """Ascending thresholds that separate the distinct values of one column.

    Parameters
    ----------
    values : (n_rows,) numbers, NaN where missing
    max_thresholds : the largest number of thresholds; those that divide the rows most evenly are chosen

    Returns
    -------
    (n_thresholds,) float64
        For neighbouring values a < b the threshold t satisfies ``a <= t < b`` in float64; usually it is their midpoint.
    """
    column = np.asarray(values, dtype=np.float64)
    distinct, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    cuts = midpoints(distinct[:-1], distinct[1:])
    return cuts if max_thresholds is None else cuts[nearest_to_equal_shares(counts, max_thresholds)]


def tested_levels(present: FloatArray) -> list[int]:
    """The level codes that get a test, ascending: all of three or more, the first of two, or no single one."""
    codes = present.astype(np.int64).tolist()
    return codes[:1] if len(codes) == 2 else codes if len(codes) > 2 else []


def nearest_to_equal_shares(counts: IntArray, most: int) -> IntArray:
    """The positions of at most ``most`` cuts between values that divide the rows almost equally.

    ``counts`` is the number of rows with each value; cut ``i`` is between values ``i`` and ``i + 1``.
    """
    if counts.size - 1 <= most:
        return np.arange(counts.size - 1)
    below = np.cumsum(counts)[:-1]  # rows at or below each cut
    shares = counts.sum() * np.arange(1, most + 1) / (most + 1)
    right = np.clip(np.searchsorted(below, shares), 1, below.size - 1)
    nearest = np.where(shares - below[right - 1] <= below[right] - shares, right - 1, right)
    return np.asarray(np.unique(nearest), dtype=np.int64)
