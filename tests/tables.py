"""Node tables by hand: tests, and behind them the leaves; what a test does not care for is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals

NAN = float("nan")


def table_of(
    feature: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    labels: Sequence[int],
    threshold: Any = 0.5,
    **more: Any,
) -> NodeTable:
    """A table of tests, each of a feature and a threshold (one of all, or one of each), and of leaves with labels.

    ``more`` are columns of all nodes in place of those that are filled in: of each node one row and a weight of 1 in
    each class; missing values go low.
    """
    n, ends = len(feature), [LEAF] * len(labels)
    size = n + len(labels)
    columns = {
        "feature": [*feature, *ends],
        "threshold": [*np.broadcast_to(threshold, n), *[NAN] * len(labels)],
        "low": [*low, *ends],
        "high": [*high, *ends],
        "label": [*[0] * n, *labels],
        "weight": np.ones((size, max(labels) + 1)),
        "rows": [1] * size,
        "missing_low": [True] * size,
    }
    return NodeTable(**{**columns, **more})


def stump(threshold: float = 0.5, feature: int = 0, **more: Any) -> NodeTable:
    """One test: class 0 on its low side, of two rows, and class 1 on its high side, of two."""
    weights = {"weight": [[2, 2], [2, 0], [0, 2]], "rows": [4, 2, 2]}
    return table_of([feature], [1], [2], [0, 1], threshold, **{**weights, **more})


def plane(values: Sequence[float], threshold: float) -> NodeTable:
    """One test of a weighted sum of all columns."""
    n = len(values)
    return stump(threshold, OBLIQUE, normals=Normals([0, n, n, n], np.arange(n), values))


def diamond() -> NodeTable:
    """A diagram of the exclusive or: both sides of the root lead to tests, and these to the same two leaves."""
    weight = [[2, 2], [1, 1], [1, 1], [2, 0], [0, 2]]
    return table_of([0, 1, 1], [1, 3, 4], [2, 4, 3], [0, 1], weight=weight, rows=[4, 2, 2, 2, 2])


def full_tree(feature: Sequence[int], labels: Sequence[int], threshold: Any = 0.5, **more: Any) -> NodeTable:
    """A tree whose leaves are all equally deep, level by level."""
    inner = np.arange(len(feature))
    return table_of(feature, 2 * inner + 1, 2 * inner + 2, labels, threshold, **more)


def chain(depth: int) -> NodeTable:
    """Tests of one column by growing thresholds, each with a leaf on its low side; the classes take turns."""
    inner, leaf = np.arange(depth), np.arange(depth + 1) % 2
    weight = np.zeros((2 * depth + 1, 2))
    weight[depth + np.arange(depth + 1), leaf] = 1.0
    weight[:depth] = np.cumsum(weight[depth:-1][::-1], axis=0)[::-1] + weight[-1]
    after = np.append(inner[1:], 2 * depth)
    label = np.append(weight[:depth].argmax(axis=1), leaf)
    rows = weight.sum(axis=1)
    return table_of(np.zeros(depth), depth + inner, after, leaf, inner + 0.5, label=label, weight=weight, rows=rows)


def constant_beside_gaps():
    """A frame, classes and weights with as many views as columns: two of the first, none of the last, a constant."""
    rows = [(1, 7, 2), (0, 20, 4), (0, 40, 9), (0, 47, 3), (0, 13, 9), (0, 27, -9), (NAN, 25, 1)]
    X = pd.DataFrame([(*row, 7) for row in rows], columns=list("abcd"))
    return X, [1, 1, 0, 0, 0, 1, 1], [4, 3, 3, 1, 2, 4, 3]
