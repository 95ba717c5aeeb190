"""Sparse matrices of scipy as plain arrays: searches sort columns, so that they need every value."""

from __future__ import annotations

from typing import Any

from proofwood import memory

_VALUE_BYTES = 8


def is_sparse(data: object) -> bool:
    """Whether ``data`` is a sparse matrix or array of scipy; scipy is not imported for it."""
    return hasattr(data, "tocsr") and hasattr(data, "nnz") and hasattr(data, "toarray")


def as_dense(data: Any) -> Any:
    """A sparse matrix as an array, 0 where it stores nothing; anything else as it is.

    Raises
    ------
    MemoryLimitError
        If the array is larger than the memory that may be used.
    """
    if not is_sparse(data) or len(data.shape) != 2:
        return data
    n_rows, n_columns = data.shape
    needed = _VALUE_BYTES * n_rows * n_columns
    room = memory.room() if memory.limited() else memory.available()
    if needed > memory.ASKED and room is not None and needed > room:
        raise memory.MemoryLimitError(
            f"X is sparse, with {n_rows:,} rows and {n_columns:,} columns of which {data.nnz:,} values are stored; as "
            f"plain numbers, which the learners need, it takes {memory.shown(needed)}, and {memory.shown(room)} may be "
            "used: keep fewer columns, for example with sklearn.feature_selection.SelectKBest, take fewer rows, or "
            "raise memory_limit"
        )
    return data.toarray()
