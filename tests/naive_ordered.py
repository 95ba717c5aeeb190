"""Every labelled tree of a small table, and which of them keep the order of classes: nothing is pruned.

A tree is a list of leaves: box (first and one past the last rank, per column), class, and the rows in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

Box = tuple[tuple[int, int], ...]
Leaf = tuple[Box, int, frozenset[int]]


def labelled_trees(ranks: np.ndarray, depth: int, min_rows: int = 1) -> Iterator[tuple[Leaf, ...]]:
    """All trees of two classes over the cuts between ranks, each leaf with so many rows."""
    box = tuple((0, int(ranks[:, j].max()) + 1) for j in range(ranks.shape[1]))
    return _below(ranks, frozenset(range(ranks.shape[0])), box, depth, min_rows)


def _below(ranks: np.ndarray, rows: frozenset[int], box: Box, depth: int, min_rows: int) -> Iterator[tuple[Leaf, ...]]:
    for label in (0, 1):
        yield ((box, label, rows),)
    if depth == 0:
        return
    for j, (first, last) in enumerate(box):
        for cut in range(first + 1, last):
            low = frozenset(i for i in rows if ranks[i, j] < cut)
            high = rows - low
            if len(low) < min_rows or len(high) < min_rows:
                continue
            sides = (
                _below(ranks, part, (*box[:j], ends, *box[j + 1 :]), depth - 1, min_rows)
                for part, ends in ((low, (first, cut)), (high, (cut, last)))
            )
            for below, above in product(*sides):
                yield below + above


def in_order(leaves: tuple[Leaf, ...], directions: tuple[int, ...]) -> bool:
    """Whether no cell of class 1 lies at or below a cell of class 0, for all pairs of cells of all leaves."""
    ones, zeros = ([box for box, label, _ in leaves if label == of] for of in (1, 0))
    for one, zero in product(ones, zeros):
        below = all(
            any((b - a) * sign >= 0 if sign else a == b for a in range(*one[j]) for b in range(*zero[j]))
            for j, sign in enumerate(directions)
        )
        if below:
            return False
    return True


def ranks_of(X: np.ndarray) -> np.ndarray:
    """The rank of each value in its column."""
    return np.stack([np.unique(column, return_inverse=True)[1] for column in X.T], axis=1)


def wrong(leaves: tuple[Leaf, ...], codes: np.ndarray, weights: np.ndarray) -> int:
    """Integer weight of the rows that get another class."""
    return sum(int(weights[i]) for _, label, rows in leaves for i in rows if codes[i] != label)


def cheapest_in_order(
    X: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    directions: tuple[int, ...],
    *,
    depth: int,
    error_price: int = 1,
    leaf_price: int = 0,
    min_rows: int = 1,
) -> int:
    """Integer cost of the best tree that keeps the order."""
    best: int | None = None
    for leaves in labelled_trees(ranks_of(X), depth, min_rows):
        cost = error_price * wrong(leaves, codes, weights) + leaf_price * (len(leaves) - 1)
        if (best is None or cost < best) and in_order(leaves, directions):
            best = cost
    assert best is not None
    return best
