"""All trees within a budget of cost: how many there are of each cost, and each tree by its number in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from proofwood import _native
from proofwood.data.thresholds import midpoints
from proofwood.data.views import Views
from proofwood.engines.interrupts import STOPPED_BY, raise_ended
from proofwood.engines.trees.options import INSTRUCTION_SETS, SearchOptions
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.reshape import preorder
from proofwood.problem.tree import TreeProblem
from proofwood.result import NO_LIMITS, Limits

DEEPEST = 3
"""The greatest depth of trees that are counted."""
KEPT_BYTES = 2**28
"""The most memory that parts of trees take; parts beyond are searched for again when a tree needs them."""
_RULES = ("similarity", "interval_shrinking", "sub_interval", "feature_bounds", "coarse", "cache")
_WORD = 2**64
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_ANYWHERE = (2**31, 0)  # numbers of values below, and up to, a value that no test sends to one side only


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """How many trees of a set test each column.

    Parameters
    ----------
    at_least : per column, the number of trees that test it, among those that were seen
    at_most : per column, the number if all trees that were not seen test it
    stopped_by : what ended the count early; None if all trees were seen and both are equal
    """

    at_least: tuple[int, ...]
    at_most: tuple[int, ...]
    stopped_by: str | None


@dataclass(frozen=True, slots=True, eq=False)
class PossibleClasses:
    """Which classes the trees of a set give to rows.

    Parameters
    ----------
    found : (n, n_classes) whether some tree that was seen gives the class to the row
    stopped_by : what ended the walk early; None if all trees were seen
    """

    found: BoolArray
    stopped_by: str | None


@dataclass(frozen=True, eq=False)
class NearTrees:
    """All trees of a problem that cost at most a budget, in the order of cost. Build it with :meth:`of`.

    Parameters
    ----------
    problem : of classes and numeric columns, up to depth three
    found : the native set
    """

    problem: TreeProblem
    found: _native.NearTrees

    # decisions/0099-near-optimal-trees says what counts as one tree, and how the sets were checked.
    @classmethod
    def of(
        cls,
        problem: TreeProblem,
        budget: int,
        *,
        views: Views | None = None,
        options: SearchOptions | None = None,
        limits: Limits = NO_LIMITS,
        kept_bytes: int = KEPT_BYTES,
    ) -> NearTrees:
        """Count the trees that cost at most ``budget``, an integer as ``problem.cost`` counts.

        A node of a tree is a column and a cut between two values that follow each other among the rows of the node; a
        node that would be a leaf without more errors is a leaf. Tests by several views of a column that divide the rows
        of a node alike are one.

        Parameters
        ----------
        problem : TreeProblem
        budget : the greatest integer cost of a tree
        views : which columns those of the problem are views of; None: each is a column of its own
        options : switches of the search; none changes the answer
        limits : wall-clock seconds; one thread works
        kept_bytes : memory for parts of trees

        Raises
        ------
        ValueError
            If the problem is deeper than three, tests sets of levels, or rounds its weights.
        OverflowError
            If there are more than 2**128 trees.
        """
        if problem.depth > DEEPEST:
            raise ValueError(f"max_depth={problem.depth}: near-optimal trees are counted up to a depth of {DEEPEST}")
        if problem.by_sets:
            raise ValueError("near-optimal trees are counted over numeric columns, and not over sets of levels")
        if not problem.cost.exact:
            raise ValueError("near-optimal trees are counted where weights and prices are exact integers")
        options = SearchOptions() if options is None else options
        problem, columns, high_gaps = _shown(problem, views)
        settings = {
            "max_depth": problem.depth,
            "error_price": problem.cost.error_price,
            "leaf_price": problem.cost.leaf_price,
            "min_rows": min(problem.min_samples_leaf, 2**31 - 1),
            "min_weight": problem.min_leaf_weight,
            "isa": INSTRUCTION_SETS[options.simd],
            "lane_bits": options.lanes,
            "budget": budget,
            "kept_bytes": kept_bytes,
            **{name: getattr(options, name) for name in _RULES},
        }
        found = _native.NearTrees(
            np.ascontiguousarray(problem.X),
            np.ascontiguousarray(problem.codes, dtype=np.int32),
            problem.n_classes,
            problem.weights,
            columns,
            high_gaps,
            settings,
            limits.seconds,
        )
        return cls(problem, found)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "near-optimal trees cannot be copied, pickled or saved as a set: keep the classifier of the trees that you "
            "need (near[k].classifier), or count again"
        )

    @property
    def stopped_by(self) -> str | None:
        """What ended the count early; None if all trees are counted."""
        return None if self.exact else STOPPED_BY[self.found.stopped]

    @property
    def exact(self) -> bool:
        """Whether all trees are counted."""
        return bool(self.found.done)

    @cached_property
    def tally(self) -> dict[int, int]:
        """The number of trees of each integer cost, in the order of cost."""
        return dict(self.found.tally())

    @cached_property
    def _until(self) -> list[int]:
        return list(accumulate(self.tally.values(), initial=0))

    @property
    def count(self) -> int:
        """The number of trees."""
        return self._until[-1]

    def cost_of(self, number: int) -> int:
        """The integer cost of the tree of this number."""
        if not 0 <= number < self.count:
            raise IndexError(f"there are {self.count} trees: expected a number from 0 to {self.count - 1}")
        at = int(np.searchsorted(np.array(self._until, dtype=object), number, side="right"))
        return list(self.tally)[at - 1]

    def read(self, numbers: Sequence[int], seconds: float | None = None) -> IntArray:
        """The tests of the trees of these numbers.

        Returns
        -------
        (n, 7, 3) int64
            Node ``i`` has the nodes ``2 i + 1`` and ``2 i + 2`` below it. Each has its column, -1 at a leaf, and the
            ranks (places among the sorted values of the column) of the two values that it separates.

        Raises
        ------
        IndexError
            If there is no tree of such a number.
        TimeoutError
            If it takes longer than ``seconds``.
        """
        return np.asarray(self._of(self.found.read, numbers, seconds))

    def prints(self, numbers: Sequence[int], seconds: float | None = None) -> list[int]:
        """A number for the predictions of each of these trees on the training rows: equal for equal predictions."""
        return list(self._of(self.found.prints, numbers, seconds).tolist())

    def _of(self, native: Any, numbers: Sequence[int], seconds: float | None) -> Any:
        for number in (min(numbers, default=0), max(numbers, default=0)):
            if numbers and not 0 <= number < self.count:
                raise IndexError(f"there are {self.count} trees: expected a number from 0 to {self.count - 1}")
        high = np.array([number // _WORD for number in numbers], dtype=np.uint64)
        low = np.array([number % _WORD for number in numbers], dtype=np.uint64)
        return self._whole(native(high, low, seconds), seconds)

    def column_use(self, seconds: float | None = None) -> ColumnUse:
        """How many trees test each column that the problem shows, counted over the whole set."""
        whole, seen, without = self.found.avoiding(seconds)
        least, most = (tuple(trees - avoiding for avoiding in without) for trees in (seen, self.count))
        return ColumnUse(least, most, None if whole else self._ended())

    def decisions(
        self, X: FloatArray, either: BoolArray | None = None, seconds: float | None = None
    ) -> PossibleClasses:
        """Which classes the trees give to rows; their thresholds may be anywhere between the two values that a test
        separates, and it may be a test of any view that divides the rows of its node alike.

        Parameters
        ----------
        X : (n, n_views) values of the problem's columns
        either : (n, n_views) values that any test may send to either side
        seconds : wall-clock seconds
        """
        X = X + 0.0
        sides = [np.searchsorted(v, x, side) for v, x in zip(self.values, X.T, strict=True) for side in _SIDES]
        places = np.array(sides, dtype=np.uint32).reshape(len(self.values), 2, X.shape[0]).transpose(1, 2, 0)
        if either is not None:
            for place, anywhere in zip(places, _ANYWHERE, strict=True):
                place[either] = anywhere
        below, until = (np.ascontiguousarray(one) for one in places)
        whole, possible = self.found.decisions(below, until, seconds)
        return PossibleClasses(np.asarray(possible, dtype=np.bool_), None if whole else self._ended())

    def _ended(self) -> str:
        """What ended the native work."""
        return STOPPED_BY[self.found.stopped] or "interrupt"

    def _whole(self, answer: Any, seconds: float | None) -> Any:
        """The answer of the native set, if it came to its end."""
        if answer is None:
            raise_ended(STOPPED_BY[self.found.stopped])
            raise TimeoutError(f"the trees were not all read within {seconds} s")
        return answer

    @cached_property
    def values(self) -> list[FloatArray]:
        """The sorted values of each column."""
        return [np.unique(column + 0.0) for column in self.problem.X.T]  # -0 is 0

    def table_of(self, tests: npt.ArrayLike) -> NodeTable:
        """The tree of some tests, (7, 3) as :meth:`read` returns them, with thresholds in the middle and counts."""
        feature, below, above = np.asarray(tests).T
        places = _reached(feature)
        number = {place: at for at, place in enumerate(places)}
        columns = np.array([int(feature[p]) if p < feature.size else LEAF for p in places])
        low = np.array([number.get(2 * p + 1, LEAF) for p in places])
        high = np.array([number.get(2 * p + 2, LEAF) for p in places])
        threshold = np.full(len(places), np.nan)
        for at, p in enumerate(places):
            if columns[at] != LEAF:
                values = self.values[columns[at]]
                threshold[at] = midpoints(values[below[p]], values[above[p]])
        table = preorder(NodeTable.uncounted(columns, threshold, low, high, self.problem.n_classes))
        return self.problem.target.refreshed(table, self.problem.X, self.problem.real_weights)


def _shown(
    problem: TreeProblem, views: Views | None
) -> tuple[TreeProblem, npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """The problem, the column that each of its columns shows, and whether it has gaps above all values.

    A second view that has no gaps in these rows repeats the first one: it gets no test.
    """
    if views is None:
        return problem, np.arange(problem.n_features, dtype=np.uint32), np.zeros(problem.n_features, dtype=np.uint8)
    columns = np.array([view.column for view in views.views], dtype=np.uint32)
    high = np.array([view.gap == np.inf for view in views.views], dtype=np.bool_)
    empty = high & ~np.isposinf(problem.X).any(axis=0)
    if empty.any():
        problem = replace(problem, X=np.where(empty, 0.0, problem.X))
    return problem, columns, (high & ~empty).astype(np.uint8)


def _reached(feature: IntArray) -> list[int]:
    """Places of the nodes of a tree, among the places 0 to 14, parents first."""
    places = [0]
    for place in places:
        if place < feature.size and feature[place] != LEAF:
            places += [2 * place + 1, 2 * place + 2]
    return places
