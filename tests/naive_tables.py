"""Best trees over tables with gaps and categories, by enumeration: a twin of learner and views that shares no code.

A test is the set of the rows that go low. A tree is the minimum over all of them, with nothing pruned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any

Rows = frozenset[int]


def numeric_tests(values: Sequence[float]) -> Iterator[Rows]:
    """Rows at most a value, with and without those that have none; and the rows that have none."""
    gaps = frozenset(row for row, value in enumerate(values) if math.isnan(value))
    yield gaps
    for cut in sorted({value for value in values if not math.isnan(value)}):
        low = frozenset(row for row, value in enumerate(values) if value <= cut)
        yield low
        yield low | gaps


def set_tests(values: Sequence[Any]) -> Iterator[Rows]:
    """Rows whose level is in a set, for all sets, with and without those that have none."""
    gaps = frozenset(row for row, value in enumerate(values) if value is None)
    levels = sorted({value for value in values if value is not None})
    for size in range(len(levels) + 1):
        for chosen in combinations(levels, size):
            low = frozenset(row for row, value in enumerate(values) if value in chosen)
            yield low
            yield low | gaps


def ordered_tests(values: Sequence[Any], order: Sequence[Any]) -> Iterator[Rows]:
    """Rows whose level is among the first of an order, for all places, with and without those that have none."""
    gaps = frozenset(row for row, value in enumerate(values) if value is None)
    for place in range(len(order) + 1):
        low = frozenset(row for row, value in enumerate(values) if value in order[:place])
        yield low
        yield low | gaps


def fewest_errors(
    tests: Iterable[Rows], labels: Sequence[int], weights: Sequence[int], depth: int, least_rows: int = 1
) -> int:
    """Least weight of wrong rows of a tree of these tests whose leaves hold ``least_rows`` rows."""
    distinct = set(tests)
    n_classes = max(labels) + 1

    def leaf(rows: Rows) -> int:
        sums = [0] * n_classes
        for row in rows:
            sums[labels[row]] += weights[row]
        return sum(sums) - max(sums)

    @cache
    def best(rows: Rows, left: int) -> int:
        cost = leaf(rows)
        if left == 0 or cost == 0:
            return cost
        for test in distinct:
            low = rows & test
            high = rows - low
            if min(len(low), len(high)) < least_rows or not low or not high:
                continue
            if left == 1:
                cost = min(cost, leaf(low) + leaf(high))
            else:
                cost = min(cost, best(low, left - 1) + best(high, left - 1))
        return cost

    return best(frozenset(range(len(labels))), depth)
