"""Smallest trees by plain recursion over sets of rows; only plain values of the problem are used.

A set of rows is described by the fewest errors that trees of a depth and number of leaves make on it. Nothing is
pruned: every test of every column is tried at every node.
"""

from __future__ import annotations

from functools import cache

from proofwood.problem.ranked import RankedRows


class SmallestTrees:
    """Answers for one set of rows; ``None`` where no tree makes so few errors."""

    def __init__(self, rows: RankedRows) -> None:
        self.ranks = rows.ranks.tolist()
        self.codes = rows.codes.tolist()
        self.weights = rows.weights.tolist()
        self.tests = [(j, cut) for j, tests in enumerate(rows.tests_of.tolist()) for cut in range(tests)]
        self.everything = frozenset(range(rows.n_rows))
        self.deepest = min(len(self.tests), rows.n_rows - 1)  # more tests on a path tell nothing apart
        self._known = cache(self._errors)

    def errors(self, rows: frozenset[int], depth: int, leaves: int) -> int:
        """Fewest errors of trees with at most this depth and number of leaves: none needs more leaves than rows."""
        leaves = max(1, min(leaves, len(rows), 2**depth))
        return self._known(rows, min(depth, leaves - 1), leaves)

    def _errors(self, rows: frozenset[int], depth: int, leaves: int) -> int:
        held: dict[int, int] = {}
        for row in rows:
            held[self.codes[row]] = held.get(self.codes[row], 0) + self.weights[row]
        best = sum(held.values()) - max(held.values(), default=0)
        if depth == 0 or leaves == 1 or best == 0:
            return best
        for column, cut in self.tests:
            low = frozenset(row for row in rows if self.ranks[row][column] <= cut)
            if not low or low == rows:
                continue
            for left in range(1, leaves):
                together = self.errors(low, depth - 1, left) + self.errors(rows - low, depth - 1, leaves - left)
                best = min(best, together)
        return best

    def least_depth(self, max_errors: int) -> int | None:
        """Least depth."""
        fits = (d for d in range(self.deepest + 1) if self.errors(self.everything, d, 2**d) <= max_errors)
        return next(fits, None)

    def fewest_nodes(self, max_errors: int, depth: int | None = None) -> int | None:
        """Fewest nodes of trees up to ``depth``, of any depth if None."""
        deepest = self.deepest if depth is None else depth
        most = len(self.everything)
        fits = (n for n in range(1, most + 1) if self.errors(self.everything, deepest, n) <= max_errors)
        leaves = next(fits, None)
        return None if leaves is None else 2 * leaves - 1
