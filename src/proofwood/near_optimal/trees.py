"""A near-optimal set: numbers of trees, each tree by its number, and what holds for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from proofwood.arguments import is_integer
from proofwood.data.schema import columns_of
from proofwood.engines.trees import solve
from proofwood.language import gettext
from proofwood.model.node_table import LEAF, BoolArray
from proofwood.near_optimal.picture import drawn
from proofwood.near_optimal.tree import NearTree, Source
from proofwood.result import Limits, Status, figure

if TYPE_CHECKING:
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier

MOST_TRIED = 100_000
"""Trees that :meth:`NearOptimalTrees.first` and :meth:`NearOptimalTrees.distinct` look at by default."""
_LARGEST_PART = 1024


@dataclass(frozen=True, slots=True)
class WithoutColumn:
    """The answer to: is there a tree within the slack that does not test this column?

    Parameters
    ----------
    column : name of the column, or its index without names
    possible : True if there is such a tree, False if it is proved that there is none, None if a limit came first
    slack : the least slack, in units of the objective, at which there is such a tree; if a limit came first, at which
        one is known
    least_slack : proved: at any smaller slack there is none
    tree : the best tree without the column, as a fitted classifier
    """

    column: Any
    possible: bool | None
    slack: float
    least_slack: float
    tree: OptimalTreeClassifier

    def __str__(self) -> str:
        if self.possible is None:
            return f"without {self.column}: not known, a slack of {self.least_slack:g} to {self.slack:g} is needed"
        if self.possible:
            return f"without {self.column}: yes, from a slack of {self.slack:g} on"
        return f"without {self.column}: no, a slack of {self.least_slack:g} is needed"


class NearOptimalTrees:
    """All trees of a problem within a slack of the best one. :func:`near_optimal_trees` makes it.

    ``near[k]`` is the tree of number ``k`` in the order of cost, and ``for tree in near`` visits all of them in this
    order; both build a tree when it is asked for. Trees of equal cost are in the order of their root column and cut.

    Attributes
    ----------
    optimum : the best tree, a fitted :class:`OptimalTreeClassifier`
    count : number of trees; ``exact`` says whether these are all, or at least so many
    exact : whether all trees are counted
    slack : how much more than the best tree a tree may cost, in units of the objective
    budget : greatest objective of a tree
    columns : the columns that trees may test: their names, or their indices without names
    """

    def __init__(self, source: Source, best: int, budget: int) -> None:
        self.optimum = source.optimum
        self._source, self._posed, self._found = source, source.posed, source.found
        self._best, self._budget = best, budget

    def __repr__(self) -> str:
        return f"<NearOptimalTrees: {self._counted()} within {figure(self.slack)} of {figure(self.optimum.objective_)}>"

    # ------------------------------------------------------------------------------------------------- how many

    @property
    def count(self) -> int:
        """The number of trees; at least so many if ``exact`` is False."""
        return self._found.count

    @property
    def exact(self) -> bool:
        """Whether all trees are counted; False if a limit ended the count."""
        return self._found.exact

    @property
    def slack(self) -> float:
        """How much more than the best tree a tree may cost, in units of the objective."""
        return float(self._source.real(self._budget - self._best))

    @property
    def budget(self) -> float:
        """The greatest objective of a tree."""
        return float(self._source.real(self._budget))

    @property
    def counts(self) -> dict[float, int]:
        """The number of trees of each objective, in this order."""
        return {float(self._source.real(cost)): trees for cost, trees in self._found.tally.items()}

    def _counted(self) -> str:
        number = f"{self.count:,}"
        return gettext("%(n)s trees", n=number) if self.exact else gettext("at least %(n)s trees", n=number)

    # ----------------------------------------------------------------------------------------------- trees

    def __getitem__(self, number: int) -> NearTree:
        if not is_integer(number):
            raise TypeError(f"near[{number!r}]: expected the number of a tree, from 0 to {self.count - 1}")
        return self._trees([int(number) + (self.count if number < 0 else 0)])[0]

    def __iter__(self) -> Iterator[NearTree]:
        start, size = 0, 1
        while start < self.count:
            numbers = range(start, min(self.count, start + size))
            yield from self._trees(list(numbers))
            start, size = numbers.stop, min(2 * size, _LARGEST_PART)

    def _trees(self, numbers: list[int]) -> list[NearTree]:
        tests = self._found.read(numbers)
        return [
            NearTree(self._source, number, float(self._source.real(self._found.cost_of(number))), one)
            for number, one in zip(numbers, tests, strict=True)
        ]

    def sample(self, n: int = 1, random_state: Any = None) -> list[NearTree]:
        """Draw trees, each with the same probability, with replacement.

        Parameters
        ----------
        n : number of trees
        random_state : int, RandomState or None, as in scikit-learn
        """
        if not is_integer(n) or n < 0:
            raise ValueError(f"n={n!r}: expected a number of trees, from 0")
        if self.count == 0:
            raise ValueError("the set has no trees to draw from")
        random = check_random_state(random_state)
        return self._trees([_below(self.count, random) for _ in range(n)])

    def first(self, predicate: Callable[[NearTree], bool], most: int = MOST_TRIED) -> NearTree | None:
        """The cheapest tree for which ``predicate`` is true, in the order of cost.

        Parameters
        ----------
        predicate : function of a :class:`NearTree`
        most : number of trees to look at

        Returns
        -------
        The tree; None if no tree of the set has it.

        Raises
        ------
        LookupError
            If none of the first ``most`` trees has it, and there are more.
        """
        for tree in self:
            if tree.number >= most:
                raise LookupError(
                    f"none of the first {most:,} trees fits, of {self._counted()}: raise most, or ask for less"
                )
            if predicate(tree):
                return tree
        return None

    def distinct(self, most: int = MOST_TRIED) -> int:
        """The number of different predictions on the training rows, among the first ``most`` trees."""
        seen: set[int] = set()
        for start in range(0, min(most, self.count), _LARGEST_PART):
            numbers = range(start, min(most, self.count, start + _LARGEST_PART))
            seen.update(self._found.prints(list(numbers)))
        return len(seen)

    # ----------------------------------------------------------------------------------------------- columns

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns that trees may test: their names, or their indices without names."""
        return self._source.columns

    def _view_of(self, column: Any) -> int:
        names = [str(name) for name in getattr(self.optimum, "feature_names_in_", ())]
        n_columns = self._posed.views.n_columns
        j = columns_of([column] if np.isscalar(column) else column, n_columns, names, "column")[0]
        for view, of in enumerate(self._posed.views.views):
            if of.column == j:
                return view
        raise ValueError(f"column {column!r} was left out: no tree tests it")

    def without(self, column: Any, time_limit: float | None = 60.0) -> WithoutColumn:
        """Whether a tree within the slack does without a column, and from which slack on: by one search without it.

        Parameters
        ----------
        column : name or index of the column
        time_limit : seconds
        """
        view = self._view_of(column)
        problem = self._posed.problem
        X = problem.X.copy()
        X[:, view] = 0.0  # a column of one value has no test
        other = replace(problem, X=X)
        result = solve(other, limits=Limits(seconds=time_limit))
        assert result.model is not None
        upper = other.integer_cost(result.model)
        proved = result.status is Status.OPTIMAL
        lower = self._source.real(upper) if proved else Fraction(result.lower_bound)
        possible = True if upper <= self._budget else False if lower > self._source.real(self._budget) else None
        best = self._source.real(self._best)
        needed, least = float(self._source.real(upper) - best), max(0.0, float(lower - best))
        return WithoutColumn(self.columns[view], possible, needed, least, self._source.fitted(result))

    def always_used(self, time_limit: float | None = 60.0) -> tuple[Any, ...]:
        """The columns that every tree of the set tests, proved by a search without each of them.

        Raises
        ------
        TimeoutError
            If a search needs longer than what is left of ``time_limit`` seconds.
        """
        started = time.monotonic()
        views = np.unique(self[0].tests[:, 0]).tolist()  # a column that the first tree does without is not always used
        found = []
        for view in views:
            if view == LEAF:
                continue
            left = None if time_limit is None else max(0.0, started + time_limit - time.monotonic())
            answer = self.without(self._posed.views.views[view].column, left)
            if answer.possible is None:
                raise TimeoutError(f"whether every tree tests {self.columns[view]} is not proved: raise time_limit")
            if not answer.possible:
                found.append(self.columns[view])
        return tuple(found)

    @cached_property
    def _used(self) -> tuple[int, ...]:
        return tuple(self.count - avoided for avoided in self._found.avoiding())

    def importance(self) -> Mapping[Any, float]:
        """The share of the trees that test each column, counted over the whole set; the most frequent first."""
        shares = {name: used / max(1, self.count) for name, used in zip(self.columns, self._used, strict=True)}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    # -------------------------------------------------------------------------------------------------- rows

    def decisions(self, X: Any = None) -> BoolArray:
        """Which classes the trees of the set give to rows.

        A threshold is an interval between two values of the training rows at its node. A row whose value lies strictly
        between them can go to either side: the trees of the set may have their threshold on either side of it.

        Parameters
        ----------
        X : rows as given to ``predict``; None for the training rows of positive weight

        Returns
        -------
        (n_samples, n_classes) bool
            Whether some tree of the set gives the class to the row, in the order of ``optimum.classes_``. A row with
            one True is decided alike by all trees.
        """
        if X is None:
            return self._found.decisions(self._posed.problem.X)
        return self._found.decisions(self._posed.views.values(np.asarray(self.optimum._read(X), dtype=np.float64)))

    # ---------------------------------------------------------------------------------------------- in words

    def summary(self) -> str:
        """The set in a few lines."""
        lines = [
            gettext(
                "%(trees)s within %(slack)s of the optimum %(best)s (%(unit)s)",
                trees=self._counted(),
                slack=figure(self.slack),
                best=figure(self.optimum.objective_),
                unit=self.optimum.result_.unit,
            )
        ]
        lines += [f"  {figure(objective)}: {trees:,}" for objective, trees in self.counts.items()]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of trees of each objective, and the share of the trees that test each column.

        Parameters
        ----------
        ax : pair of matplotlib axes, or None for a new figure

        Returns
        -------
        The pair of axes.
        """
        return drawn(self, ax)


def _below(count: int, random: Any) -> int:
    """A number from 0 to ``count - 1``, each with the same probability."""
    bits = count.bit_length()
    while True:
        number = 0
        for _ in range(0, bits, 32):
            number = number << 32 | int(random.randint(0, 2**32, dtype=np.uint64))
        number >>= -bits % 32
        if number < count:
            return number
