"""Takes the first set of tests for the search from good trees, and a lower bound from the best tree.

A tree of depth two has at most three tests, a tree of depth three at most seven. A truth table over the tests of a tree
predicts a best class in each cell, so this set of tests makes at most as many errors as the tree. On the other hand, a
truth table over ``H`` tests is a tree of depth ``H``, so no set of ``H`` tests makes fewer errors than the best tree of
that depth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofwood.engines.bdd.subset.native import Prepared
from proofwood.engines.bdd.subset.options import SubsetOptions
from proofwood.engines.interrupts import STOPPED_BY, ends_all, raise_ended
from proofwood.engines.run import Clock
from proofwood.engines.trees.options import SearchOptions
from proofwood.engines.trees.over_ranks import least_integer, over_tests, tree_problem
from proofwood.engines.trees.solve import solve
from proofwood.model.node_table import IntArray, NodeTable
from proofwood.parallel.search_file import SearchFile
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, ProgressEvent

DEEP = 4
"""If sets have at least this number of tests, the tests of a tree of depth three are used, too."""
# Trees of all rows took up to 13 of 58 s and found no better set: decisions/0064-boxes-of-cuts.
MOST_ROWS = 20_000
"""The largest number of rows that trees are learned from. The set of tests is improved on all rows afterwards."""
LARGE = 400_000
"""A table with more ranks than this is large: preparing it takes longer than learning trees from some of its rows."""
BOUNDED = range(3, 7)
"""Numbers of tests for which the best tree of that depth is searched for its bound. Two tests need no bound, and deeper
trees seldom have one that helps: decisions/0102-bounds-that-are-known."""
MOST_TESTS = 16
"""The largest number of tests of that tree from which the best ones are chosen."""
_BOUND, _BOUND_SOON = (0.1, 10.0), (0.5, 1.0)
_MOST_RANKS = 20_000_000
_HURRIED_ROWS, _HURRIED_SECONDS = 2_000, 0.03
"""If time is short: the number of rows that trees are learned from, and their seconds in any case."""
_CHOICE = 0.2
"""Time for the choice among the tests of trees, as a share of that for trees, where these took all of it."""
_ANY_BEST = SearchOptions(canonical=False)
_OF_FEW = SubsetOptions(trees=False, deepening=False)


def is_large(rows: RankedRows) -> bool:
    """Whether ``rows`` are so large that learning trees from some rows takes less time than preparing all rows."""
    return rows.ranks.size > LARGE


def start_of_trees(rows: RankedRows, size: int, limits: Limits) -> tuple[tuple[int, ...], str | None]:
    """Return a set of at most ``size`` tests of good trees, and what stopped the search for trees (or None).

    The trees have depth two and, if ``size`` is at least :data:`DEEP`, also depth three. They are learned from some of
    the rows: from fewer if time is short, and for at least :data:`_HURRIED_SECONDS`. If the trees have more than
    ``size`` tests, the set keeps those that together make the fewest errors on some of the rows.
    """
    hurried = limits.seconds is not None and limits.seconds < _HURRIED_SECONDS
    if hurried:
        limits = Limits(_HURRIED_SECONDS, limits.threads)
    some = _some(rows, MOST_ROWS)
    few = _some(some, min(_HURRIED_ROWS, 1 + LARGE // max(1, rows.n_columns))) if hurried else some
    clock, tree, stopped_by = Clock(limits), None, None
    tests: list[int] = []
    for depth in (2, 3) if size >= DEEP else (2,):
        found = solve(tree_problem(few, depth=depth), options=_ANY_BEST, limits=clock.left(), start=tree)
        tree, stopped_by = found.model, found.stats.stopped_by
        assert tree is not None  # a lone leaf at least
        tests = list(dict.fromkeys([*tests, *_tests_of(tree, few)]))
        if stopped_by is not None:
            break
    if stopped_by == "time_limit" and not tests and not hurried:  # no split was found yet
        return start_of_trees(rows, size, Limits(0.0, limits.threads))
    return _best_among(some, tests, size, _for_choice(clock, stopped_by)), stopped_by


def seconds_for_bound(clock: Clock) -> float:
    """Seconds for :func:`bound_of_trees`: a tenth of the time left, and more if there is little."""
    return max(clock.share(*_BOUND), clock.share(*_BOUND_SOON))


def bound_of_trees(
    rows: RankedRows,
    size: int,
    limits: Limits,
    raised: Callable[[int], None],
    checkpoint: SearchFile | None = None,
) -> tuple[tuple[int, ...], str | None]:
    """Search for the best tree of depth ``size``; pass each lower bound on its integer errors to ``raised``.

    With a ``checkpoint``, the search continues from the proofs of earlier runs. Returns the best ``size`` tests of the
    tree found, or none if it has too many, and what stopped the search.
    """
    if size not in BOUNDED or rows.ranks.size > _MOST_RANKS:
        return (), None

    def report(event: ProgressEvent) -> None:
        raised(least_integer(event.lower_bound))

    clock, tree = Clock(limits), tree_problem(rows, depth=size)
    found = solve(tree, options=_ANY_BEST, limits=limits, progress=report, checkpoint=checkpoint)
    raised(least_integer(found.lower_bound))
    assert found.model is not None  # a lone leaf at least
    tests, stopped_by = _tests_of(found.model, rows), found.stats.stopped_by
    if len(tests) > MOST_TESTS:
        return (), stopped_by
    return _best_among(rows, tests, size, _for_choice(clock, stopped_by)), stopped_by


def spread(n_rows: int, most: int) -> IntArray:
    """Array (min(n_rows, most),): indices of rows at equal distances."""
    some = min(n_rows, most)
    return np.arange(some, dtype=np.int64) * n_rows // max(1, some)


def _some(rows: RankedRows, most: int) -> RankedRows:
    return rows if rows.n_rows <= most else rows.take(spread(rows.n_rows, most))


def _tests_of(tree: NodeTable, rows: RankedRows) -> list[int]:
    """The tests of a tree, each once, the one at the root first."""
    return list(dict.fromkeys(int(test) for test in over_tests(rows, tree).feature if test >= 0))


def _for_choice(clock: Clock, stopped_by: str | None) -> Limits:
    """The limits of the choice among the tests of trees, whose search ``stopped_by`` ended."""
    limits = clock.limits
    if ends_all(stopped_by):
        return Limits(0.0, limits.threads)
    if limits.seconds is None:
        return limits
    return Limits(max(clock.seconds_left or 0.0, _CHOICE * limits.seconds, _HURRIED_SECONDS), limits.threads)


def _best_among(rows: RankedRows, tests: list[int], size: int, limits: Limits) -> tuple[int, ...]:
    """The ``size`` tests among ``tests`` (about ten) that together make the fewest errors, as far as the time goes."""
    if len(tests) <= size:
        return tuple(sorted(tests))
    among = sorted(tests)
    found = Prepared(rows.select(among), _OF_FEW).run(size, rows.total + 1, limits, None, {})
    raise_ended(STOPPED_BY[found["stopped"]])
    return tuple(among[place] for place in found["set"]) if found.get("has_set") else tuple(sorted(tests[:size]))
