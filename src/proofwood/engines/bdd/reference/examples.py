"""What the encodings of decision diagrams see of the rows: examples over distinct tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from proofwood.data.binarize import BitArray
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.problem.ranked import RankedRows

MOST_BITS = 60
"""Answers that fit an integer."""
MOST_BYTES = 2**31
"""Bits, a byte each, that are made at most."""
TESTS_AT_ONCE = 64
"""Tests whose bits are made between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Weighted examples over 0/1 features.

    Parameters
    ----------
    bits : (n_examples, n_features) uint8, bit ``sigma(r, q)`` of the paper at ``[q - 1, r - 1]``
    tests : (n_features,) the test of the problem that each feature is, ascending
    weights : (n_examples, n_classes) integer weight of each class
    classes : (n_classes,) class codes of the problem, ascending; classes of no row are left out
    feature_of : (n_tests,) the feature that does what a test does, -1 for a test that does nothing
    """

    bits: BitArray
    tests: IntArray
    weights: IntArray
    classes: IntArray
    feature_of: IntArray

    @classmethod
    def of(
        cls,
        rows: RankedRows,
        *,
        reduce: bool = True,
        settle: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> Examples:
        """Examples of ``rows``.

        Parameters
        ----------
        reduce : rows that no test tells apart become one example; constant tests are dropped, and of tests that are
            equal or opposite on all rows the first is kept. Neither changes what any number of tests can achieve
        settle : every row has all the weight of its group of equal rows, so that :attr:`allowed` holds the classes
            that cost no avoidable error even if each row is an example of its own
        check : called every now and then; what it raises goes through

        Raises
        ------
        MemoryError
            If the bits would take more than :data:`MOST_BYTES`.
        """
        index, weights = rows.groups
        check()
        n = weights.shape[0] if reduce else rows.n_rows
        if n * rows.n_tests > MOST_BYTES:
            raise MemoryError(f"{rows.n_tests:,} tests of {n:,} different rows are too many bits for a formula")
        classes = np.flatnonzero(weights.sum(axis=0) > 0)
        weights = weights[:, classes]
        chosen = rows.take(rows.first_of_groups) if reduce else rows
        blocks = []
        for start in range(0, rows.n_tests, TESTS_AT_ONCE):
            check()
            blocks.append(chosen.bits(np.arange(start, min(rows.n_tests, start + TESTS_AT_ONCE))))
        bits = np.concatenate(blocks, axis=1) if blocks else chosen.bits()
        tests = np.arange(rows.n_tests, dtype=np.int64)
        if reduce:
            kept, feature_of = _distinct_columns(bits, check)
            return cls(np.ascontiguousarray(bits[:, kept]), tests[kept], weights, classes, feature_of)
        if settle:
            return cls(bits, tests, weights[index], classes, tests)
        alone = np.zeros((rows.n_rows, classes.size), dtype=np.int64)
        alone[np.arange(rows.n_rows), np.searchsorted(classes, rows.codes)] = rows.weights
        return cls(bits, tests, alone, classes, tests)

    @property
    def n_examples(self) -> int:
        """Number of examples, M in the paper."""
        return int(self.bits.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features, K in the paper."""
        return int(self.bits.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes that some row has."""
        return int(self.classes.size)

    @cached_property
    def excess(self) -> IntArray:
        """(n_examples, n_classes) weight that predicting each class gets wrong beyond the least."""
        return np.asarray(self.weights.max(axis=1, keepdims=True) - self.weights, dtype=np.int64)

    @cached_property
    def allowed(self) -> BoolArray:
        """(n_examples, n_classes) whether predicting the class costs no more than necessary."""
        return np.asarray(self.excess == 0)

    @property
    def constant(self) -> int:
        """Weight that every model gets wrong because an example has rows of several classes."""
        return int((self.weights.sum(axis=1) - self.weights.max(axis=1)).sum())

    def cells(self, features: Sequence[int] | IntArray) -> IntArray:
        """(n_examples,) the same number for examples that ``features`` do not tell apart."""
        if len(features) > MOST_BITS:
            found = np.unique(self.bits[:, list(features)], axis=0, return_inverse=True)[1]
            return np.asarray(found.reshape(-1), dtype=np.int64)
        cell = np.zeros(self.n_examples, dtype=np.int64)
        for feature in features:
            cell = 2 * cell + self.bits[:, feature]
        return cell

    def errors(self, features: Sequence[int] | IntArray) -> int:
        """Weight that the best labels of the cells over ``features`` get wrong."""
        return errors_of_cells(np.unique(self.cells(features), return_inverse=True)[1].reshape(-1), self.weights)


def errors_of_cells(cell: IntArray, weights: IntArray) -> int:
    """Weight outside the heaviest class of its cell, summed over cells numbered from 0."""
    size = int(cell.max(initial=0)) + 1
    held = np.zeros((size, weights.shape[1]), dtype=np.int64)
    np.add.at(held, cell, weights)
    return int((held.sum(axis=1) - held.max(axis=1)).sum())


def greedy_features(examples: Examples, size: int, check: Callable[[], None] = lambda: None) -> tuple[int, ...]:
    """Up to ``size`` features, ascending: forward selection by errors, then swaps of one feature while that helps.

    A selection of so many features that one more makes no difference is grown all the same: two together may.
    """
    size = min(size, examples.n_features)
    chosen: list[int] = []
    while len(chosen) < size:
        chosen.append(_best_addition(examples, chosen, check)[1])
    fewest = examples.errors(chosen)
    improved = True
    while improved:
        improved = False
        for place in range(len(chosen)):
            others = chosen[:place] + chosen[place + 1 :]
            errors, feature = _best_addition(examples, others, check)
            if errors < fewest:
                fewest, chosen, improved = errors, [*others, feature], True
    return tuple(sorted(chosen))


def enough_features(examples: Examples, check: Callable[[], None] = lambda: None) -> tuple[int, ...]:
    """Features, ascending, that leave no avoidable error, no one of which can be dropped; found greedily."""
    chosen: list[int] = []
    while examples.errors(chosen) > examples.constant and len(chosen) < examples.n_features:
        chosen.append(_best_addition(examples, chosen, check)[1])
    for feature in tuple(chosen):
        check()
        rest = [other for other in chosen if other != feature]
        if examples.errors(rest) == examples.constant:
            chosen = rest
    return tuple(sorted(chosen))


def _best_addition(examples: Examples, chosen: Sequence[int], check: Callable[[], None]) -> tuple[int, int]:
    """Errors and number of the feature that, added to ``chosen``, leaves fewest errors; the first of equals.

    Of features that leave equally many, the one that separates most unlike pairs would break ties better; the
    number is enough for a start.
    """
    cell = np.unique(examples.cells(chosen), return_inverse=True)[1].reshape(-1)

    def errors(feature: int) -> int:
        check()
        return errors_of_cells(2 * cell + examples.bits[:, feature], examples.weights)

    return min((errors(feature), feature) for feature in range(examples.n_features) if feature not in chosen)


def _distinct_columns(bits: npt.NDArray[np.uint8], check: Callable[[], None]) -> tuple[IntArray, IntArray]:
    """Columns that are not constant nor equal or opposite to one before; which of them each column is, or -1."""
    places: dict[bytes, int] = {}
    kept: list[int] = []
    place_of = np.full(bits.shape[1], -1, dtype=np.int64)
    for column in range(bits.shape[1]):
        if column % TESTS_AT_ONCE == 0:
            check()
        values = bits[:, column] ^ bits[0, column]
        if values.any():
            place_of[column] = place = places.setdefault(values.tobytes(), len(kept))
            if place == len(kept):
                kept.append(column)
    return np.array(kept, dtype=np.int64), place_of
