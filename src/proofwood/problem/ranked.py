"""Rows as ranks: what learners over 0/1 tests see, with no bit made before it is asked for.

A column with ``k`` thresholds is stored as one rank per row, the number of its thresholds below the value, so that
test ``c`` of the column is ``rank <= c``. A 0/1 column, or the indicator of a level, has one test and ranks 0 and 1.
Tests are numbered column by column, in the order of :class:`~proofwood.data.binarize.Binarizer`, and bit ``t`` of a
row is 0 where test ``t`` holds: the row goes low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from proofwood.data.binarize import Binarizer, BitArray
from proofwood.model.evaluate import predict
from proofwood.model.node_table import BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import refresh
from proofwood.model.sums import exact_sums
from proofwood.problem.objectives import Rounding, integer_weights

RankArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows of positive integer weight over an ordered list of 0/1 tests.

    Build it with :meth:`from_columns` or :meth:`from_bits`, which drop rows of weight 0 and scale the weights to
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

    @classmethod
    def from_columns(
        cls,
        binarizer: Binarizer,
        X: npt.ArrayLike,
        codes: npt.ArrayLike,
        *,
        n_classes: int | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> RankedRows:
        """Ranks of ``X`` (n_samples, n_features) over the tests of ``binarizer``: thresholds of one column share ranks.

        Raises
        ------
        ValueError
            On shapes that do not fit, on bad weights, and if no row has a positive weight.
        """
        values = np.asarray(X, dtype=np.float64)
        columns: list[npt.NDArray[np.int32]] = []
        tests_of: list[int] = []
        for first, end in pairwise(_groups(binarizer)):
            if binarizer.levels[first] is None:
                cuts = binarizer.threshold[first:end]
                columns.append(np.searchsorted(cuts, values[:, binarizer.feature[first]], side="left").astype(np.int32))
            else:
                low = list(binarizer.levels[first] or ())
                columns.append((~np.isin(values[:, binarizer.feature[first]], low)).astype(np.int32))
            tests_of.append(end - first)
        ranks = np.stack(columns, axis=1) if columns else np.empty((values.shape[0], 0), dtype=np.int32)
        return cls._checked(ranks, np.array(tests_of, dtype=np.int32), codes, n_classes, sample_weight)

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
        return cls._checked(ranks, np.ones(ranks.shape[1], dtype=np.int32), codes, n_classes, sample_weight)

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
            raise ValueError(f"ranks of shape {places.shape} do not belong to {counts.size} columns of tests")
        if np.any((places < 0) | (places > counts)):
            raise ValueError("a rank is below 0 or above the number of tests of its column")
        return cls._checked(places, counts, codes, n_classes, sample_weight)

    @classmethod
    def _checked(
        cls,
        ranks: RankArray,
        tests_of: RankArray,
        codes: npt.ArrayLike,
        n_classes: int | None,
        sample_weight: npt.ArrayLike | None,
    ) -> RankedRows:
        labels = np.asarray(codes, dtype=np.int64)
        if labels.shape != (ranks.shape[0],):
            raise ValueError(f"codes have shape {labels.shape}, expected ({ranks.shape[0]},)")
        weights, unit, rounding = integer_weights(sample_weight, ranks.shape[0])
        kept = np.flatnonzero(weights > 0)
        if kept.size == 0:
            raise ValueError("no row has a positive weight: pass at least one row with sample_weight > 0")
        return cls(
            ranks=np.ascontiguousarray(ranks[kept]),
            tests_of=tests_of,
            codes=labels[kept],
            weights=weights[kept],
            n_classes=int(labels.max(initial=0)) + 1 if n_classes is None else n_classes,
            unit=unit,
            kept=kept,
            rounding=None if rounding is None else rounding.take(kept),
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
        """(n_rows, n_chosen) uint8: the bits of the given tests, of all in order if None."""
        chosen = np.arange(self.n_tests) if tests is None else np.asarray(tests, dtype=np.int64)
        column = np.searchsorted(self.offsets, chosen, side="right") - 1
        cut = chosen - self.offsets[column]
        return np.asarray(self.ranks[:, column] > cut, dtype=np.uint8)

    @cached_property
    def groups(self) -> tuple[IntArray, IntArray]:
        """Rows that no test tells apart: (n_rows,) number of each row's group, and (n_groups, n_classes) weights.

        Groups are in the lexicographic order of their ranks.
        """
        if self.n_columns == 0:
            index = np.zeros(self.n_rows, dtype=np.int64)
        else:
            index = np.unique(self.ranks, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        size = int(index.max(initial=0)) + 1
        weights = np.zeros((size, self.n_classes), dtype=np.int64)
        np.add.at(weights, (index, self.codes), self.weights)
        return index, weights

    @property
    def unavoidable(self) -> int:
        """Integer weight that every model over these tests gets wrong: the minority of each group of equal rows."""
        weights = self.groups[1]
        return int((weights.sum(axis=1) - weights.max(axis=1)).sum())

    @property
    def unclear_majority(self) -> int | None:
        """A group of equal rows whose heaviest classes by integers are not those by real weights; None if none is."""
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
        """The same rows over the given tests only, each a 0/1 column of its own."""
        bits = np.ascontiguousarray(self.bits(tests), dtype=np.int32)
        return replace(self, ranks=bits, tests_of=np.ones(bits.shape[1], dtype=np.int32))

    def most_wrong(self, weight: int, *, surely: bool = False) -> int:
        """Integer weight of wrong rows that a model of at most the real ``weight`` wrong does not exceed.

        ``surely``: integer weight of wrong rows up to which a model surely has at most the real ``weight`` wrong, or
        -1. Both are the same number if weights are not rounded.
        """
        if self.rounding is None:
            return min(self.total, math.floor(weight / self.unit))
        if weight == 0:
            return 0  # every row of positive weight has a positive integer
        slack = -self.rounding.below if surely else self.rounding.above
        return max(-1, min(self.total, math.floor((weight + slack) / self.unit)))

    def predict(self, table: NodeTable) -> IntArray:
        """(n_rows,) class codes that ``table``, a model over the tests (bits tested at 0.5), gives the rows."""
        return predict(*self._over_used_tests(table))

    def errors(self, table: NodeTable) -> int:
        """Integer weight of the rows that ``table``, a model over the tests, gets wrong."""
        return int(self.weights[self.predict(table) != self.codes].sum())

    def real_errors(self, table: NodeTable) -> Fraction:
        """Real weight of the rows that ``table``, a model over the tests, gets wrong."""
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
        """(n_rows,) weights in the unit of results."""
        return np.asarray(self.weights * float(self.unit)) if self.rounding is None else self.rounding.weights

    def refresh(self, table: NodeTable, *, relabel: bool = False) -> NodeTable:
        """``table``, a model over the tests, with the weights and numbers of these rows at its nodes."""
        short, bits = self._over_used_tests(table)
        if relabel and (self.rounding is not None or self.unit != 1):  # labels are those that integers make heaviest
            whole = self.weights.astype(np.float64)
            short = refresh(short, bits, self.codes, self.n_classes, whole, relabel=True)
            relabel = False
        told = refresh(short, bits, self.codes, self.n_classes, self.real_weights, relabel=relabel)
        return replace(told, feature=table.feature)

    def _over_used_tests(self, table: NodeTable) -> tuple[NodeTable, FloatArray]:
        """``table`` renumbered to the tests it uses, and the bits of these."""
        used = np.unique(table.feature[table.feature >= 0])
        feature = np.where(table.feature >= 0, np.searchsorted(used, table.feature), table.feature)
        short = replace(table, feature=feature)
        return short, self.bits(used).astype(np.float64)


def _groups(binarizer: Binarizer) -> list[int]:
    """First test of each column of ranks, and the number of tests: level tests stand alone."""
    starts = [
        test
        for test in range(binarizer.n_tests)
        if test == 0
        or binarizer.levels[test] is not None
        or binarizer.levels[test - 1] is not None
        or binarizer.feature[test] != binarizer.feature[test - 1]
    ]
    return [*starts, binarizer.n_tests]
