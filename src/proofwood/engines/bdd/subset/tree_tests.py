"""Tests of good trees: a set of tests to begin with.

A tree of depth two asks three tests at most, one of depth three seven. A table over its tests predicts in each of its
cells what is best there, so the set errs no more than the tree.
"""

from __future__ import annotations

import numpy as np

from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.interrupts import STOPPED_BY, raise_ended
from proofwood.engines.run import Clock
from proofwood.engines.trees.options import SearchOptions
from proofwood.engines.trees.over_ranks import over_tests, tree_problem
from proofwood.engines.trees.solve import solve
from proofwood.model.node_table import IntArray
from proofwood.problem.ranked import RankedRows
from proofwood.result import NO_LIMITS, Limits

DEEP = 4
"""From so many tests on, those of a tree of depth three are looked at, too."""
# Trees of all rows took up to 13 of 58 s and found no better set: decisions/0064-boxes-of-cuts.
MOST_ROWS = 20_000
"""Rows that trees are learned from. What a set lacks that comes from some of the rows, its improvement on all finds."""
LARGE = 400_000
"""Ranks from which on a table is large: it takes longer to prepare than trees of some of its rows."""
_HURRIED_ROWS, _HURRIED_SECONDS = 2_000, 0.03
"""Rows that trees are learned from where there is no time for more, and the seconds that they have in any case."""
_ANY_BEST = SearchOptions(canonical=False)
_OF_FEW = SubsetOptions(trees=False, deepening=False)


def is_large(rows: RankedRows) -> bool:
    """Whether learning trees from some rows takes less time than preparing all rows."""
    return rows.ranks.size > LARGE


def start_of_trees(rows: RankedRows, size: int, limits: Limits) -> tuple[tuple[int, ...], str | None]:
    """A set of at most ``size`` tests of good trees, of depth two, and of depth three where sets are large.

    Trees are learned from some of the rows, from the fewer the less time there is, and have a moment in any case. Of
    more tests those are taken that err least on some of the rows. Returns also what ended the search for trees.
    """
    hurried = limits.seconds is not None and limits.seconds < _HURRIED_SECONDS
    if hurried:
        limits = Limits(_HURRIED_SECONDS, limits.threads)
    some = _some(rows, MOST_ROWS)
    few = _some(some, min(_HURRIED_ROWS, 1 + LARGE // max(1, rows.n_columns))) if hurried else some
    clock, tree, stopped_by = Clock(limits), None, None
    tests: set[int] = set()
    for depth in (2, 3) if size >= DEEP else (2,):
        found = solve(tree_problem(few, depth=depth), options=_ANY_BEST, limits=clock.left(), start=tree)
        tree, stopped_by = found.model, found.stats.stopped_by
        assert tree is not None  # a lone leaf at least
        tests |= {int(test) for test in over_tests(few, tree).feature if test >= 0}
        if stopped_by is not None:
            break
    if stopped_by == "time_limit" and not tests and not hurried:  # the first split was still to come
        return start_of_trees(rows, size, Limits(0.0, limits.threads))
    return _best_among(some, sorted(tests), size), stopped_by


def spread(n_rows: int, most: int) -> IntArray:
    """(min(n_rows, most),) numbers of rows at equal distances."""
    some = min(n_rows, most)
    return np.arange(some, dtype=np.int64) * n_rows // max(1, some)


def _some(rows: RankedRows, most: int) -> RankedRows:
    return rows if rows.n_rows <= most else rows.take(spread(rows.n_rows, most))


def _best_among(rows: RankedRows, tests: list[int], size: int) -> tuple[int, ...]:
    """Of about ten tests, the ``size`` that together make the fewest errors."""
    if len(tests) <= size:
        return tuple(tests)
    found = Prepared(rows.select(tests), _OF_FEW).run(size, rows.total + 1, NO_LIMITS, None, {})
    raise_ended(STOPPED_BY[found["stopped"]])
    return tuple(tests[place] for place in found["set"])
