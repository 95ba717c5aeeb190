"""The examples in the encodings of decision diagrams: one for each group of equal rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proofwood.data.binarize import BitArray
from proofwood.model.node_table import BoolArray, IntArray
from proofwood.problem.ranked import RankedRows

MOST_BYTES = 2**31
"""The largest number of bits of all examples; each takes one byte."""
TESTS_AT_ONCE = 64
"""Number of tests whose bits are computed between two checks of the clock."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Weighted examples with 0/1 features; the features are the tests.

    Parameters
    ----------
    bits : (n_examples, n_features) uint8; ``sigma(r, q)`` of the paper is at ``[q - 1, r - 1]``
    weights : (n_examples, n_classes) integer weight of each class
    classes : (n_classes,) class codes of the problem, ascending, without the classes that no row has
    """

    bits: BitArray
    weights: IntArray
    classes: IntArray

    @classmethod
    def of(cls, rows: RankedRows, check: Callable[[], None] = lambda: None) -> Examples:
        """Make the examples of ``rows``.

        Parameters
        ----------
        check : function that is called from time to time; it may raise an exception to stop

        Raises
        ------
        MemoryError
            If the bits would take more than :data:`MOST_BYTES`.
        """
        weights = rows.groups[1]
        check()
        if weights.shape[0] * rows.n_tests > MOST_BYTES:
            raise MemoryError(
                f"{rows.n_tests:,} tests and {len(weights):,} different rows are too many for a formula: expected a "
                f"product of at most {MOST_BYTES:,}"
            )
        classes = np.flatnonzero(weights.sum(axis=0) > 0)
        different = rows.take(rows.first_of_groups)
        bits = np.zeros((len(weights), rows.n_tests), dtype=np.uint8)
        for start in range(0, rows.n_tests, TESTS_AT_ONCE):
            check()
            some = np.arange(start, min(rows.n_tests, start + TESTS_AT_ONCE))
            bits[:, some] = different.bits(some)
        return cls(bits, weights[:, classes], classes)

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
        """Number of classes that occur in the rows."""
        return int(self.classes.size)

    @property
    def excess(self) -> IntArray:
        """Array (n_examples, n_classes): how much more weight is wrong with each class than with the best class."""
        return np.asarray(self.weights.max(axis=1, keepdims=True) - self.weights, dtype=np.int64)

    @property
    def allowed(self) -> BoolArray:
        """Boolean array (n_examples, n_classes): whether predicting the class makes only unavoidable errors."""
        return np.asarray(self.excess == 0)
