"""A near-optimal set: numbers of trees, each tree by its number, and what holds for all of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from proofwood.arguments import is_integer, seconds
from proofwood.data.schema import columns_of
from proofwood.engines.interrupts import ends_all
from proofwood.engines.trees import solve
from proofwood.engines.trees.near import ColumnUse, PossibleClasses
from proofwood.exceptions import OptimalityWarning
from proofwood.language import gettext, ngettext, retold
from proofwood.model.node_table import BoolArray, FloatArray
from proofwood.near_optimal.picture import drawn
from proofwood.near_optimal.tree import NearTree, Source
from proofwood.printable import printable
from proofwood.result import Limits, Status, figure

if TYPE_CHECKING:
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier

MOST_TRIED = 100_000
"""Trees that :meth:`NearOptimalTrees.first` and :meth:`NearOptimalTrees.distinct` look at by default."""
_LARGEST_PART = 1024
_OWN: Any = object()  # the time limit of the set


class ColumnShares(dict[Any, float]):
    """The share of the trees of a set that test each column, the most frequent first.

    Attributes
    ----------
    exact : bool
        Whether they are the shares of all trees of the set. If not, they are proved lower bounds of the shares of the
        trees that are counted; nothing is said of trees that a limit left uncounted.
    at_most : dict
        Proved upper bounds in the same sense; the shares themselves if ``exact``.
    """

    def __init__(self, shares: Mapping[Any, float], at_most: Mapping[Any, float], *, exact: bool) -> None:
        super().__init__(shares)
        self.at_most, self.exact = dict(at_most), exact


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
        column = printable(str(self.column))
        least, slack = (f"{value:.12g}" for value in (self.least_slack, self.slack))  # sums of weights, in all digits
        if self.possible is None:
            return f"without {column}: not known, a slack of {least} to {slack} is needed"
        if self.possible:
            return f"without {column}: yes, from a slack of {slack} on"
        return f"without {column}: no, a slack of {least} is needed"


@dataclass(frozen=True, slots=True)
class UndecidedRows:
    """How many training rows get another class from some tree of a set.

    Parameters
    ----------
    rows : rows that get more than one class; at least so many if ``exact`` is False
    of : training rows of positive weight
    exact : whether all trees were asked
    """

    rows: int
    of: int
    exact: bool

    @property
    def share(self) -> float:
        """``rows`` as a share of all rows."""
        return self.rows / max(1, self.of)


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
    scope : what limits the tests of trees, in words; empty if every test of every column counts
    time_limit : seconds for each question about the set; what is known then is the answer, and a warning says so
    """

    def __init__(self, source: Source, best: int, budget: int, time_limit: float | None = 60.0) -> None:
        self.optimum = source.optimum
        self.time_limit = time_limit
        self._source, self._posed, self._found = source, source.posed, source.found
        self._best, self._budget = best, budget
        self._use: ColumnUse | None = None
        self._possible: PossibleClasses | None = None

    def __repr__(self) -> str:
        trees, best = self.count_in_words(), figure(self.optimum.objective_)
        return f"<NearOptimalTrees: {trees} within {figure(self.slack)} of {best}>"

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

    @property
    def scope(self) -> tuple[str, ...]:
        """What limits the tests of trees, in words; empty if every test of every column counts."""
        return tuple(self.optimum.result_.scope)

    def count_in_words(self) -> str:
        """``count`` as text, which says whether these are all trees."""
        if self.exact:
            return ngettext("%(n)s tree", "%(n)s trees", self.count)
        return ngettext("at least %(n)s tree", "at least %(n)s trees", self.count)

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
        tests = self._found.read(numbers, self.time_limit)
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

    def first(
        self, predicate: Callable[[NearTree], bool], most: int = MOST_TRIED, time_limit: float | None = _OWN
    ) -> NearTree | None:
        """The cheapest tree for which ``predicate`` is true, in the order of cost.

        Parameters
        ----------
        predicate : function of a :class:`NearTree`
        most : number of trees to look at
        time_limit : seconds; by default that of the set

        Returns
        -------
        The tree; None if no tree of the set has it.

        Raises
        ------
        LookupError
            If none of the first ``most`` trees has it, or of those that were looked at within ``time_limit`` or before
            Ctrl-C, or of those that are counted if the set is not exact, and there are more.
        """
        _require_number(most)
        clock, tried = _Clock(self._seconds(time_limit)), 0
        try:
            for tree in self:
                tried = tree.number
                if tried >= most or clock.is_over:
                    raise self._none_fits(tried, "time_limit" if clock.is_over else "most")
                if predicate(tree):
                    if not self.exact:
                        _warn(
                            "the count of the set stopped at a limit, so that a tree that is not counted may cost less"
                        )
                    return tree
        except KeyboardInterrupt:
            trees = self.count_in_words()
            raise LookupError(f"interrupted: none of the first {tried:,} trees fits, of {trees}") from None
        if not self.exact:
            raise self._none_fits(self.count, "the limits of the count")
        return None

    def _none_fits(self, tried: int, ways: str) -> LookupError:
        trees = self.count_in_words()
        return LookupError(f"none of the first {tried:,} trees fits, of {trees}: raise {ways}, or ask for less")

    def distinct(self, most: int = MOST_TRIED, time_limit: float | None = _OWN) -> int:
        """The number of different predictions on the training rows, among the first ``most`` trees.

        Parameters
        ----------
        most : number of trees to look at
        time_limit : seconds; by default that of the set. If they are over, a warning says how many trees were looked at
        """
        return self.distinct_of(most, time_limit)[0]

    def distinct_of(self, most: int = MOST_TRIED, time_limit: float | None = _OWN) -> tuple[int, int]:
        """The number of different predictions as :meth:`distinct` has it, and among how many trees."""
        _require_number(most)
        clock = _Clock(self._seconds(time_limit))
        seen: set[int] = set()
        start, size, wanted = 0, 1, min(most, self.count)
        try:
            while start < wanted:
                numbers = range(start, min(wanted, start + size))
                seen.update(self._found.prints(list(numbers), clock.left))
                start, size = numbers.stop, min(2 * size, _LARGEST_PART)
        except (TimeoutError, KeyboardInterrupt) as error:
            cause = "interrupt" if isinstance(error, KeyboardInterrupt) else "time_limit"
            _warn_of_part(
                cause, f"there are at least {len(seen):,} different predictions, those of the first {start:,} trees"
            )
        return len(seen), start

    # ----------------------------------------------------------------------------------------------- columns

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns that trees may test: their names, or their indices without names."""
        return self._source.columns

    def _column_of(self, column: Any) -> int:
        names = [str(name) for name in getattr(self.optimum, "feature_names_in_", ())]
        n_columns = self._posed.views.n_columns
        if not np.isscalar(column):
            raise ValueError(f"column={column!r}: expected the name or the index of one column")
        j = columns_of([column], n_columns, names, "column")[0]
        if j in self._source.places:
            return j
        raise ValueError(f"column {column!r} was left out: no tree tests it")

    def without(self, column: Any, time_limit: float | None = _OWN) -> WithoutColumn:
        """Whether a tree within the slack does without a column, and from which slack on: by one search without it.

        Parameters
        ----------
        column : name or index of the column
        time_limit : seconds; by default those of the set. If they are over, or Ctrl-C ends the search, ``possible`` may
            be None, and a warning says what is known
        """
        answer, stopped_by = self._asked_without(self._column_of(column), self._seconds(time_limit))
        if stopped_by is not None:
            _warn_of_part(stopped_by, str(answer))
        return answer

    def _asked_without(self, j: int, time_limit: float | None) -> tuple[WithoutColumn, str | None]:
        """The answer for the column of this index, and what stopped its search, if something did."""
        problem = self._posed.problem
        own = np.array([view.column == j for view in self._posed.views.views])
        other = replace(problem, X=np.where(own, 0.0, problem.X))  # a column of one value has no test
        result = solve(other, limits=Limits(seconds=time_limit))
        assert result.model is not None
        upper = other.integer_cost(result.model)
        proved = result.status is Status.OPTIMAL
        lower = self._source.real(upper) if proved else Fraction(result.lower_bound)
        possible = True if upper <= self._budget else False if lower > self._source.real(self._budget) else None
        best = self._source.real(self._best)
        needed, least = float(self._source.real(upper) - best), max(0.0, float(lower - best))
        name = self._source.named([j])[0]
        return WithoutColumn(name, possible, needed, least, self._source.fitted(result)), result.stats.stopped_by

    def always_used(self, time_limit: float | None = _OWN) -> tuple[Any, ...]:
        """The columns that every tree of the set tests, proved by a search without each of them.

        Parameters
        ----------
        time_limit : seconds for all searches; by default those of the set. If they are over, or at Ctrl-C, the answer
            has the columns that are proved, and a warning names those that are not known
        """
        found, open_, stopped_by = self._used(time_limit)
        if ends_all(stopped_by):
            _warn_of_part(stopped_by, _open_columns(open_))
        elif open_:
            _warn(f"{_open_columns(open_)}, which needs longer: raise time_limit")
        return found

    def used_by_all(self, time_limit: float | None = _OWN) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The columns that every tree of the set tests, and those of which a limit left it open.

        Parameters
        ----------
        time_limit : seconds for all searches; by default those of the set. At Ctrl-C, no further column is searched,
            and a warning says so
        """
        found, open_, stopped_by = self._used(time_limit)
        if ends_all(stopped_by):
            _warn_of_part(stopped_by, _open_columns(open_))
        return found, open_

    def _used(self, time_limit: float | None) -> tuple[tuple[Any, ...], tuple[Any, ...], str | None]:
        """The columns that every tree tests, those of which it is open, and what stopped the last search."""
        clock = _Clock(self._seconds(time_limit))
        columns, possible, stopped_by = self._source.places, dict[int, bool | None](), None
        try:
            with suppress(TimeoutError):
                columns = self._source.tested(self[0].tests)  # one that the first tree does without is not always used
            for j in columns:
                answer, stopped_by = self._asked_without(j, clock.left)
                possible[j] = answer.possible
                if ends_all(stopped_by):
                    break
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        found, open_ = ([j for j in columns if possible.get(j) is told] for told in (False, None))
        return self._source.named(found), self._source.named(open_), stopped_by

    def importance(self, time_limit: float | None = _OWN) -> ColumnShares:
        """The share of the trees that test each column, counted over the whole set; the most frequent first.

        Parameters
        ----------
        time_limit : seconds; by default those of the set. If they are over, or Ctrl-C ends the count, the shares are
            proved lower bounds, ``at_most`` of the answer has upper ones, and a warning says so. Of a set that is not
            exact, the shares are those of the trees that are counted, and a warning says so
        """
        use = self._use or self._found.column_use(self._seconds(time_limit))
        if use.stopped_by is None:
            self._use = use
        else:
            _warn(f"the count of columns stopped at a limit ({use.stopped_by}): shares are at least these")
        if not self.exact:
            _warn("the count of the set stopped at a limit: shares are those of the trees that are counted")
        least, most = (
            {name: of[j] / max(1, self.count) for name, j in zip(self.columns, self._source.places, strict=True)}
            for of in (use.at_least, use.at_most)
        )
        shares = dict(sorted(least.items(), key=lambda item: -item[1]))
        return ColumnShares(shares, most, exact=self.exact and use.stopped_by is None)

    def _seconds(self, time_limit: float | None) -> float | None:
        if time_limit is _OWN:
            return self.time_limit
        return 0.0 if time_limit == 0 else seconds(time_limit)

    # -------------------------------------------------------------------------------------------------- rows

    def decisions(self, X: Any = None, time_limit: float | None = _OWN) -> BoolArray:
        """Which classes the trees of the set give to rows.

        A threshold is an interval between two values of the training rows at its node. A row whose value lies strictly
        between them can go to either side: the trees of the set may have their threshold on either side of it. The same
        holds for a missing value, or a level, that no training row has at the node.

        Parameters
        ----------
        X : rows as given to ``predict``; None for the training rows of positive weight
        time_limit : seconds; by default those of the set. If they are over, or Ctrl-C ends the walk, each True is
            proved, some others may be missing, and a warning says so

        Returns
        -------
        (n_samples, n_classes) bool
            Whether some tree of the set gives the class to the row, in the order of ``optimum.classes_``. A row with
            one True is decided alike by all trees.
        """
        if X is None:
            return self._training_classes(time_limit).found
        rows = self.optimum._rows(X) if _num_samples(X) else np.empty((0, self._posed.X.shape[1]))
        values, either = self._source.placed(rows)
        return self._asked(values, either, time_limit).found

    def undecided(self, time_limit: float | None = _OWN) -> UndecidedRows:
        """How many training rows get another class from some tree of the set.

        Parameters
        ----------
        time_limit : seconds; by default those of the set. If they are over, or Ctrl-C ends the walk, there are at least
            so many rows, and a warning says so
        """
        possible = self._training_classes(time_limit)
        rows = int(np.count_nonzero(possible.found.sum(axis=1) > 1))
        return UndecidedRows(rows, possible.found.shape[0], self.exact and possible.stopped_by is None)

    def _training_classes(self, time_limit: float | None) -> PossibleClasses:
        if self._possible is not None:
            return self._possible
        possible = self._asked(self._posed.problem.X, None, time_limit)
        if possible.stopped_by is None:
            self._possible = possible
        return possible

    def _asked(self, values: FloatArray, either: BoolArray | None, time_limit: float | None) -> PossibleClasses:
        possible = self._found.decisions(values, either, self._seconds(time_limit))
        if possible.stopped_by is not None:
            _warn(
                f"the walk over the trees stopped at a limit ({possible.stopped_by}): each True is proved, and rows "
                "may get further classes"
            )
        return possible

    # ---------------------------------------------------------------------------------------------- in words

    def summary(self) -> str:
        """The set in a few lines."""
        lines = [
            gettext(
                "%(trees)s within %(slack)s of the optimum %(best)s (%(unit)s)",
                trees=self.count_in_words(),
                slack=figure(self.slack),
                best=figure(self.optimum.objective_),
                unit=self.optimum.result_.unit,
            )
        ]
        lines += [f"  {figure(objective)}: {trees:,}" for objective, trees in self.counts.items()]
        if self.scope:
            lines.append("  " + gettext("the tests: %(scope)s", scope="; ".join(map(retold, self.scope))))
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


def _require_number(most: Any) -> None:
    if not is_integer(most) or most < 0:
        raise ValueError(f"most={most!r}: expected a number of trees to look at, from 0")


class _Clock:
    """What is left of some seconds."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left == 0.0


def _warn(text: str) -> None:
    warnings.warn(text, OptimalityWarning, stacklevel=3)


def _warn_of_part(cause: str | None, known: str) -> None:
    warnings.warn(f"stopped at a limit ({cause}): {known}", OptimalityWarning, stacklevel=3)


def _open_columns(columns: tuple[Any, ...]) -> str:
    if not columns:
        return "of each column it is proved whether every tree tests it"
    return f"whether every tree tests {', '.join(map(str, columns))} is not proved"


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
