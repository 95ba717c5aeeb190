"""What a model of several targets gives, as functions of one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proofwood.model.node_table import FloatArray, IntArray


def column_of(call: Callable[[Any], Any], target: int, X: Any) -> FloatArray:
    """(n_rows,) what a function of rows gives in one of its columns, in float64."""
    given = np.asarray(call(X), dtype=np.float64)
    return given.reshape(len(given), -1)[:, target]


def both_sides(call: Callable[[Any], FloatArray], X: Any) -> FloatArray:
    """(n_rows, 2) probabilities of no and yes, of a function that gives the second."""
    yes = call(X)
    return np.stack([1 - yes, yes], axis=1)


def beyond_half(call: Callable[[Any], FloatArray], X: Any) -> IntArray:
    """(n_rows,) 1 where a function of rows gives more than 0.5, else 0."""
    return np.asarray(call(X) > 0.5, dtype=np.int64)
