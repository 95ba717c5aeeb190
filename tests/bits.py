"""What trees say of rows, leaf by leaf, in the floats of the model: to add up as a library does, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from proofwood.ensembles.explained import Explained
from proofwood.ensembles.integers import integer_scores
from proofwood.ensembles.leaves import Walker
from proofwood.model.node_table import FloatArray


def leaf_scores(explained: Explained, rows: FloatArray) -> FloatArray:
    """(n_trees, n_rows, n_scores) the scores of the leaves that rows get to, found by their cells on the grid."""
    forest, cells = explained.adapted.forest, explained.grid.cells_of(rows)
    walker = Walker(forest.trees, explained.literals, integer_scores(forest), explained.grid)
    found = [tree.value[nodes] for tree, nodes in zip(forest.trees, walker.nodes_of(cells), strict=True)]
    return np.array(found).reshape(len(forest.trees), len(rows), forest.n_classes)


def added_up(terms: FloatArray, start: Any, dtype: Any) -> Any:
    """(n_rows, n_scores) the start plus the terms one after the other, rounded after each."""
    total = np.zeros(terms.shape[1:], dtype=dtype) + np.asarray(start, dtype=dtype)
    for term in terms.astype(dtype):
        total = total + term
    return total
