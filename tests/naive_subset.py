"""Twin of the subset search: every set of tests is counted, row by row."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from proofwood.problem.ranked import RankedRows

Tests = tuple[int, ...]


def errors(rows: RankedRows, tests: Tests) -> int:
    """Integer weight outside the heaviest class of each cell."""
    bits = rows.bits(list(tests)) if tests else None
    cells: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * rows.n_classes)
    for row in range(rows.n_rows):
        key = () if bits is None else tuple(int(bit) for bit in bits[row])
        cells[key][int(rows.codes[row])] += int(rows.weights[row])
    return sum(sum(weights) - max(weights) for weights in cells.values())


def distinct_tests(rows: RankedRows) -> list[int]:
    """Tests that are not constant and neither equal nor opposite to one of a smaller number, on the rows that matter.

    Rows matter if their group can err avoidably: not all classes weigh the same in it.
    """
    index, weights = rows.groups
    matters = [row for row in range(rows.n_rows) if len(set(weights[index[row]].tolist())) > 1 or rows.n_classes == 1]
    seen: set[tuple[int, ...]] = set()
    kept = []
    for test in range(rows.n_tests):
        column = [int(bit) for bit in rows.bits([test])[matters, 0]]
        key = tuple(bit ^ column[0] for bit in column) if column else ()
        if any(key) and key not in seen:
            seen.add(key)
            kept.append(test)
    return kept


def sets(rows: RankedRows, size: int) -> list[tuple[Tests, int]]:
    """Every set of at most ``size`` distinct tests with its errors, in lexicographic order."""
    tests = distinct_tests(rows)
    every = [s for k in range(min(size, len(tests)) + 1) for s in combinations(tests, k)]
    return [(chosen, errors(rows, chosen)) for chosen in sorted(every)]


def fewest(rows: RankedRows) -> int:
    """Fewest tests whose errors are those of all tests."""
    tests = distinct_tests(rows)
    least = errors(rows, tuple(range(rows.n_tests)))
    return next(
        k for k in range(len(tests) + 1) if any(errors(rows, chosen) == least for chosen in combinations(tests, k))
    )
