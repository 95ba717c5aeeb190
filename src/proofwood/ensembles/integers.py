"""Leaf scores as integers, and the margin that covers the effect of rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proofwood.ensembles.forest import Forest, Stack, common_bits
from proofwood.model.node_table import LEAF, IntArray

SCORE_BITS = 40
"""A leaf score is below ``2**SCORE_BITS``: a million trees stay below ``2**60``."""


@dataclass(frozen=True, eq=False)
class IntegerScores:
    """Integer scores of a forest, with bounds on the effect of rounding.

    Parameters
    ----------
    values : (n_nodes, n_classes) int64 of the nodes of all trees, one tree after the other; used at leaves
    base : (n_classes,) int64
    margin : largest amount by which rounding, in the model and here, can change the difference of two class sums
    error : largest amount by which rounding here can change a class sum, in integer units
    scale : integer units per unit of the model's scores, a power of two
    """

    values: IntArray
    base: IntArray
    margin: int
    error: float
    scale: float


def integer_scores(forest: Forest) -> IntegerScores:
    r"""Scale the scores by a power of two, round them to the nearest integers, and bound the error of rounding.

    Multiplying by a power of two is exact, so the only error made here is the rounding of each number. With the
    residuals :math:`r_{lc}` of leaf :math:`l` and class :math:`c`, which float64 holds exactly, the difference of two
    class sums is off by at most :math:`\sum_{trees} \max_l (\max_c r_{lc} - \min_c r_{lc})`, where the base counts
    as one more tree. The margin is that sum plus ``forest.noise``, in integer units, rounded up. If the integer sums
    differ by more, the exact sums and the sums that the model itself computes differ with the same sign. Scores that
    are all multiples of :math:`2^{-k}`, such as votes, become integers without any error.

    Raises
    ------
    ValueError
        If a score is not finite.
    """
    stack = Stack.of(forest.trees)
    leaf = stack.feature == LEAF
    table = stack.value[leaf]
    numbers = np.concatenate([forest.base, table.ravel()])
    if not np.all(np.isfinite(numbers)):
        raise ValueError("a leaf of the model has a score that is not a finite number: the model cannot be explained")
    largest = float(np.abs(numbers).max(initial=0.0))
    exponent = SCORE_BITS - math.frexp(largest)[1] if largest > 0 else 0
    exact = common_bits(numbers)
    if exact is not None and exact <= exponent:
        exponent = exact
    base, rounded = np.rint(np.ldexp(forest.base, exponent)), np.rint(np.ldexp(table, exponent))
    of_base, of_leaves = np.ldexp(forest.base, exponent) - base, np.ldexp(table, exponent) - rounded
    residual, error = float(of_base.max() - of_base.min()), float(np.abs(of_base).max())
    spread = stack.largest(of_leaves.max(axis=1) - of_leaves.min(axis=1))
    for mine, off in zip(spread.tolist(), stack.largest(np.abs(of_leaves).max(axis=1)).tolist(), strict=True):
        residual += mine
        error += off
    margin = math.ceil(residual * (1 + 2.0**-40) + math.ldexp(forest.noise, exponent))
    values = np.zeros(stack.value.shape, dtype=np.int64)
    values[leaf] = rounded
    return IntegerScores(values, base.astype(np.int64), margin, error, math.ldexp(1.0, exponent))
