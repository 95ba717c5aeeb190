"""Rows stored as ranks, the input of learners over 0/1 tests; bits are computed only when they are needed.

A column with ``k`` thresholds is stored as one rank per row, the number of its thresholds below the value, so that
test ``c`` of the column is ``rank <= c``. A 0/1 column, or the indicator of a level, has one test and ranks 0 and 1.
Tests are numbered column by column, in the order of :class:`~proofwood.data.binarize.Binarizer`. Bit ``t`` of a row
is 0 if test ``t`` holds: the row goes low.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from proofwood import memory
from proofwood.data.binarize import Binarizer, BitArray, nearest_to_equal_shares, tested_levels
from proofwood.data.thresholds import midpoints
from proofwood.model.evaluate import predict
from proofwood.model.node_table import BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import exact_sums
from proofwood.problem.objectives import Rounding, in_floats, integer_weights

RankArray = npt.NDArray[np.int32]
CELL_BYTES = 16
"""Bytes of memory per rank, including the copies that searches make."""
_CELLS_AT_ONCE = 1_000_000
"""Ranks that are written between two checks of the deadline."""


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows of positive integer weight over an ordered list of 0/1 tests.

    Build it with :meth:`with_tests` or :meth:`from_bits`, which drop rows of weight 0 and scale the weights to
    integers once.

    Parameters
    ----------
    ranks : (n_rows, n_columns) int32, C-contiguous; ``0 <= ranks[:, j] <= tests_of[j]``
    tests_of : (n_columns,) int32, number of tests of each column
    codes : (n_rows,) class codes ``0..n_classes - 1``
    weights : (n_rows,) positive int64; real weight = ``weights * unit`` unless there is a ``rounding``
    n_classes : int
    unit : real weight of one integer weight
    kept : (n_rows,) index of each row in the data that was given
    rounding : the real weights, if 64-bit integers do not hold them
    """

    ranks: RankArray
    tests_of: RankArray
    codes: IntArray
    weights: IntArray
    n_classes: int
    unit: Fraction = Fraction(1)
    kept: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rounding: Rounding | None = None
    _index: list[IntArray] = field(default_factory=list, init=False, repr=False)  # of the groups, once they are known

    @classmethod
    def with_tests(
        cls,
        X: FloatArray,
        nominal: Collection[int],
        codes: npt.ArrayLike,
        *,
        n_classes: int,
        sample_weight: npt.ArrayLike | None = None,
        max_thresholds: int | None = None,
        every_column: bool = False,
        deadline: float | None = None,
    ) -> tuple[Binarizer, RankedRows]:
        """The tests of :meth:`Binarizer.of` on the rows of positive weight, and these rows; sorts each column once.

        Parameters
        ----------
        X : (n_samples, n_features) finite numbers, level codes in the columns ``nominal``
        max_thresholds : as for :meth:`Binarizer.of`
        every_column : also store a column without tests, with ranks of 0, so that columns of ranks match those of ``X``
        deadline : time of ``time.monotonic()`` at which to give up, checked at every column

        Raises
        ------
        OutOfTime
            At the deadline.
        MemoryLimitError
            If the ranks, with the copies that searches make of them, do not fit into the memory limit.
        """
        kept, (weights, unit, rounding) = integer_weights(sample_weight, X.shape[0]).positive()
        values = X if kept.size == X.shape[0] else X[kept]
        n = kept.size
        parts: list[FloatArray | list[int]] = []
        places: list[tuple[IntArray, int]] = []  # ranks of a column; or level of each row, and how many have a test
        tests_of: list[int] = []
        thinned = set()
        sorted_in = 0.0  # seconds that the previous column took; the next one takes about as long
        for j in range(values.shape[1]):
            require_time(deadline, sorted_in)
            begun = time.monotonic()
            distinct, place, counts = np.unique(values[:, j], return_inverse=True, return_counts=True)
            sorted_in = time.monotonic() - begun
            if j in nominal:
                tested = tested_levels(distinct)
                parts.append(tested)
                if tested:
                    places.append((place, len(tested)))
                    tests_of += [1] * len(tested)
                continue
            cuts = midpoints(distinct[:-1], distinct[1:])
            if max_thresholds is not None:
                chosen = nearest_to_equal_shares(counts, max_thresholds)
                if chosen.size < cuts.size:
                    thinned.add(j)
                cuts = cuts[chosen]
                place = np.searchsorted(chosen, np.arange(distinct.size), side="left")[place]
            parts.append(cuts)
            if cuts.size or every_column:
                places.append((place, 0))
                tests_of.append(cuts.size)
        require_time(deadline)
        _require_room(n, len(tests_of))
        joined = np.empty((n, len(tests_of)), dtype=np.int32)
        together = max(1, _CELLS_AT_ONCE // max(1, len(tests_of)))
        for first in range(0, n, together):  # rows are contiguous in memory, which is not touched before it is written
            require_time(deadline)
            some = slice(first, first + together)
            start = 0
            for place, n_levels in places:
                if n_levels == 0:
                    joined[some, start] = place[some]
                else:
                    joined[some, start : start + n_levels] = place[some, np.newaxis] != np.arange(n_levels)
                start += max(1, n_levels)
        require_time(deadline)
        binarizer = Binarizer.from_parts(parts, thinned=thinned)
        require_time(deadline)
        labels = np.asarray(codes, dtype=np.int64)
        rows = cls(
            ranks=joined,
            tests_of=np.array(tests_of, dtype=np.int32),
            codes=labels[kept],
            weights=weights,
            n_classes=n_classes,
            unit=unit,
            kept=kept,
            rounding=rounding,
        )
        rows._group(deadline)
        return binarizer, rows

    @classmethod
    def without_tests(
        cls, codes: npt.ArrayLike, *, n_classes: int, sample_weight: npt.ArrayLike | None = None
    ) -> RankedRows:
        """The rows of positive weight without any test."""
        labels = np.asarray(codes)
        none = np.empty((labels.size, 0), dtype=np.int32)
        return cls.from_ranks(none, [], labels, n_classes=n_classes, sample_weight=sample_weight)

    @classmethod
    def from_bits(
        cls,
        bits: npt.ArrayLike,
        codes: npt.ArrayLike,
        *,
        n_classes: int | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> RankedRows:
        """Rows of 0/1 features, (n_samples, n_features): test ``t`` asks whether feature ``t`` is 0."""
        ranks = np.asarray(bits, dtype=np.int32)
        if ranks.ndim != 2 or np.any((ranks != 0) & (ranks != 1)):
            raise ValueError(f"bits of shape {ranks.shape} must be two-dimensional and hold 0 and 1 only")
        return cls.from_ranks(ranks, np.ones(ranks.shape[1]), codes, n_classes=n_classes, sample_weight=sample_weight)

    @classmethod
    def from_ranks(
        cls,
        ranks: npt.ArrayLike,
        tests_of: npt.ArrayLike,
        codes: npt.ArrayLike,
        *,
        n_classes: int | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> RankedRows:
        """Rows given as ranks, (n_samples, n_columns), over columns of ``tests_of`` tests each."""
        places, counts = np.asarray(ranks, dtype=np.int32), np.asarray(tests_of, dtype=np.int32)
        if places.ndim != 2 or counts.shape != places.shape[1:]:
            raise ValueError(
                f"ranks have shape {places.shape}: expected (n, {counts.size}), one column for each entry of tests_of"
            )
        if np.any((places < 0) | (places > counts)):
            raise ValueError("a rank is below 0 or above the number of tests of its column")
        labels = np.asarray(codes, dtype=np.int64)
        if labels.shape != (places.shape[0],):
            raise ValueError(f"codes have shape {labels.shape}, expected ({places.shape[0]},)")
        kept, (weights, unit, rounding) = integer_weights(sample_weight, places.shape[0]).positive()
        return cls(
            ranks=np.ascontiguousarray(places[kept]),
            tests_of=counts,
            codes=labels[kept],
            weights=weights,
            n_classes=int(labels.max(initial=0)) + 1 if n_classes is None else n_classes,
            unit=unit,
            kept=kept,
            rounding=rounding,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return int(self.ranks.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns of ranks."""
        return int(self.ranks.shape[1])

    @cached_property
    def offsets(self) -> IntArray:
        """(n_columns + 1,) number of the first test of each column; the last entry is the number of tests."""
        return np.concatenate([[0], np.cumsum(self.tests_of)]).astype(np.int64)

    @property
    def n_tests(self) -> int:
        """Number of tests of all columns."""
        return int(self.offsets[-1])

    @property
    def total(self) -> int:
        """Sum of the integer weights."""
        return int(self.weights.sum())

    def bits(self, tests: npt.ArrayLike | None = None) -> BitArray:
        """(n_rows, n_chosen) uint8 bits of the given tests; None for all tests in order."""
        chosen = np.arange(self.n_tests) if tests is None else np.asarray(tests, dtype=np.int64)
        column = np.searchsorted(self.offsets, chosen, side="right") - 1
        cut = chosen - self.offsets[column]
        return np.asarray(self.ranks[:, column] > cut, dtype=np.uint8)

    @cached_property
    def groups(self) -> tuple[IntArray, IntArray]:
        """Groups of rows that no test distinguishes, in the lexicographic order of their ranks.

        Two arrays: (n_rows,) the group number of each row, and (n_groups, n_classes) integer weights.
        """
        index = self._group(None)
        size = int(index.max(initial=0)) + 1
        weights = np.zeros((size, self.n_classes), dtype=np.int64)
        np.add.at(weights, (index, self.codes), self.weights)
        return index, weights

    def _group(self, deadline: float | None) -> IntArray:
        """(n_rows,) group number of each row; OutOfTime at the deadline.

        The ranks of a row are joined into one number. Before it could exceed 63 bits, the numbers so far are replaced
        by consecutive ones.
        """
        if self._index:
            return self._index[0]
        index = np.zeros(self.n_rows, dtype=np.int64)
        size, dense = 1, True  # numbers are below ``size``
        for j, tests in enumerate(self.tests_of.tolist()):
            if size > 2**62 // (tests + 1):
                require_time(deadline)
                distinct, index = np.unique(index, return_inverse=True)
                size, dense = int(distinct.size), True
                if size == self.n_rows:  # later columns separate nothing
                    break
            index = index * (tests + 1) + self.ranks[:, j]
            size, dense = size * (tests + 1), False
        if not dense and size <= self.n_rows:  # counting is ten times as fast as sorting
            index = (np.cumsum(np.bincount(index, minlength=size) > 0) - 1)[index]
        elif not dense:
            require_time(deadline)
            index = np.unique(index, return_inverse=True)[1]
        self._index.append(np.asarray(index.reshape(-1), dtype=np.int64))
        return self._index[0]

    @cached_property
    def first_of_groups(self) -> IntArray:
        """(n_groups,) the first row of each group."""
        index, weights = self.groups
        first = np.zeros(weights.shape[0], dtype=np.int64)
        first[index[::-1]] = np.arange(self.n_rows)[::-1]
        return first

    @property
    def unavoidable(self) -> int:
        """Integer weight that every model over these tests misclassifies: the minorities of groups of equal rows."""
        weights = self.groups[1]
        return int((weights.sum(axis=1) - weights.max(axis=1)).sum())

    @property
    def unclear_majority(self) -> int | None:
        """A group of equal rows whose heaviest classes differ between integer and real weights; None if all agree."""
        if self.rounding is None:
            return None
        index, weights = self.groups
        numbers = np.zeros_like(weights)
        np.add.at(numbers, (index, self.codes), 1)
        top = weights.argmax(axis=1)
        heaviest = np.arange(top.size), top
        # A real weight is less than one unit from its integer.
        near = (weights + numbers >= (weights[heaviest] - numbers[heaviest])[:, None]) & (numbers > 0)
        for group in np.flatnonzero(near.sum(axis=1) > 1).tolist():
            members = np.flatnonzero(index == group)
            real = exact_sums(self.rounding.weights[members], self.codes[members], self.n_classes)
            if [total == max(real) for total in real] != (weights[group] == weights[group].max()).tolist():
                return int(group)
        return None

    def select(self, tests: npt.ArrayLike) -> RankedRows:
        """The same rows over the given tests only, each test as a separate 0/1 column."""
        if np.all(self.tests_of == 1) and np.array_equal(tests, np.arange(self.n_tests)):
            return self  # with the groups, if they are known
        bits = np.ascontiguousarray(self.bits(tests), dtype=np.int32)
        return replace(self, ranks=bits, tests_of=np.ones(bits.shape[1], dtype=np.int32))

    def by_majority(self) -> RankedRows:
        """The same rows, each relabelled with the class of largest integer weight in its group of equal rows."""
        index, weights = self.groups
        relabelled = replace(self, codes=weights.argmax(axis=1)[index])
        relabelled._index.append(index)  # the groups are the same
        return relabelled

    def most_wrong(self, weight: int, *, surely: bool = False) -> int:
        """Largest integer weight that a model can misclassify if the real weight is at most ``weight``.

        With ``surely``: the integer weight up to which the misclassified real weight is certainly at most ``weight``,
        or -1 if no integer weight ensures this. The two are equal if weights are not rounded.
        """
        if self.rounding is None:
            return min(self.total, math.floor(weight / self.unit))
        if weight == 0:
            return 0  # every row of positive weight has a positive integer
        slack = -self.rounding.below if surely else self.rounding.above
        return max(-1, min(self.total, math.floor((weight + slack) / self.unit)))

    def take(self, kept: IntArray) -> RankedRows:
        """Only the rows with the indices ``kept``, in that order."""
        return replace(
            self,
            ranks=self.ranks[kept],
            codes=self.codes[kept],
            weights=self.weights[kept],
            kept=self.kept[kept] if self.kept.size else self.kept,
            rounding=None if self.rounding is None else self.rounding.take(kept),
        )

    def predict(self, table: NodeTable) -> IntArray:
        """(n_rows,) class codes that ``table``, a model over the tests (bits tested at 0.5), predicts."""
        return predict(*self._over_ranks(table))

    def errors(self, table: NodeTable) -> int:
        """Integer weight of the rows that ``table``, a model over the tests, misclassifies."""
        return int(self.weights[self.predict(table) != self.codes].sum())

    def real_errors(self, table: NodeTable) -> Fraction:
        """Real weight of the rows that ``table``, a model over the tests, misclassifies."""
        return self.real_sum(self.predict(table) != self.codes)

    def real_sum(self, chosen: BoolArray) -> Fraction:
        """Exact real weight of the rows of a mask (n_rows,)."""
        if self.rounding is not None:
            return self.rounding.sum(chosen)
        return int(self.weights[chosen].sum()) * self.unit

    @property
    def real_total(self) -> Fraction:
        """Exact real weight of all rows."""
        return self.total * self.unit if self.rounding is None else self.rounding.total

    @property
    def real_weights(self) -> FloatArray:
        """(n_rows,) real weights as float64."""
        return in_floats(self.weights, self.unit) if self.rounding is None else self.rounding.weights

    def refresh(self, table: NodeTable, *, relabel: bool = False) -> NodeTable:
        """A copy of ``table``, a model over the tests; its nodes have the weights and row counts of these rows."""
        short, ranks = self._over_ranks(table)
        if relabel and (self.rounding is not None or self.unit != 1):  # the heaviest classes by integer weight
            whole = self.weights.astype(np.float64)
            short = refresh(short, ranks, self.codes, self.n_classes, whole, relabel=True)
            relabel = False
        counted = refresh(short, ranks, self.codes, self.n_classes, self.real_weights, relabel=relabel)
        return replace(counted, feature=table.feature, threshold=table.threshold)

    def _over_ranks(self, table: NodeTable) -> tuple[NodeTable, FloatArray]:
        """Convert ``table`` to thresholds on the columns of ranks that it uses, and return it with these columns."""
        inner = table.feature >= 0
        tests = table.feature[inner]
        column = np.searchsorted(self.offsets, tests, side="right") - 1
        used, place = np.unique(column, return_inverse=True)
        feature, threshold = table.feature.copy(), table.threshold.copy()
        feature[inner], threshold[inner] = place, tests - self.offsets[column] + 0.5
        return replace(table, feature=feature, threshold=threshold), self.ranks[:, used].astype(np.float64)


def _require_room(n_rows: int, n_columns: int) -> None:
    memory.require(CELL_BYTES * n_rows * n_columns, f"a table of {n_rows:,} rows and {n_columns:,} columns of ranks")


class OutOfTime(Exception):
    """The deadline passed before the rows were prepared."""


def require_time(deadline: float | None, ahead: float = 0.0) -> None:
    """Raise OutOfTime if at most ``ahead`` seconds are left until the deadline, a time of ``time.monotonic()``.

    ``ahead`` is the duration of the next step, which does not check the clock. A deadline of None never passes.
    """
    if deadline is not None and time.monotonic() + ahead >= deadline:
        raise OutOfTime
