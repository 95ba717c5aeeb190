"""Convert columns with missing values and categories into columns of numbers, and models over these back.

A search over thresholds needs an order, and a number for a missing value. A *view* of a column gives both:

- Numbers, dates and ordered categories without missing values have one view, with their own order.
- With missing values they have two views: missing values are below all others in the first, and above in the second. A
  threshold then decides where missing values go, and the lowest threshold of the first view tests for missing values.
- Categories without order are tested by sets of levels; a missing value is one more level. Alternatively, each set is a
  column of 0 and 1 (:func:`set_ranks`), or the levels are first put into one order (:func:`level_order`), in which a
  threshold is a set of levels, or the levels keep their codes, for learners that test levels one by one.

A tree over the views is optimal over all thresholds with missing values on either side, and over all sets of levels, or
all sets given by the order. :meth:`Views.lift` converts it into a tree over the columns.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

import numpy as np

from proofwood.data.binarize import Binarizer
from proofwood.data.schema import Schema
from proofwood.language import marked
from proofwood.model.node_table import BoolArray, FloatArray, IntArray, NodeTable
from proofwood.model.sums import holds_nan
from proofwood.printable import printable

MOST_NAMES = 5
"""The most columns that a text about a limit names. If there are more, it names the first and counts the others."""
FEW_LEVELS = 3
"""With at most this number of levels, each set of levels or its complement is empty or a single level."""


# The code that makes the tests records what it leaves out, and these are the words for it. Texts that were derived from
# parameters said "pooled" even if nothing was pooled (decisions/0070-the-scope-of-a-proof).
class Limit(Enum):
    """The reason why a search does not use all possible tests of a column, with its text in a scope."""

    ORDERED = marked("over ordered sets of levels of %(columns)s, order fixed in advance")
    ORDERED_ABOVE = marked(
        "over ordered sets of levels of %(columns)s above the last two tests of a path, order fixed in advance"
    )
    POOLED = marked("levels under %(few)s rows pooled in %(columns)s")
    SINGLE = marked("one level at a time of %(columns)s")
    FREQUENT = marked("only the most frequent levels of %(columns)s, one at a time")
    THRESHOLDS = marked("at most %(n)s thresholds a column in %(columns)s")
    LEFT_OUT = marked("without %(columns)s, left out")  # columns of several values that the user did not drop


ONE_THRESHOLD = marked("at most 1 threshold a column in %(columns)s")


# Engines, bounds and proofs for thresholds stay valid, since each view is a column of numbers:
# decisions/0018-tables-by-views.
@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A conversion of a column into numbers.

    Parameters
    ----------
    column : index of the column
    gap : number that represents a missing value
    rank : (n_levels,) position of each level in the order, for unordered categories; otherwise None. Levels of equal
        rank always go to the same side
    by_sets : whether sets of ranks are tested instead of thresholds
    levels : (n_levels,) codes of the levels, ascending; None means 0, 1, ... Codes may be very large, so no array has
        one entry for each possible code
    """

    column: int
    gap: float = -np.inf
    rank: IntArray | None = None
    by_sets: bool = False
    levels: IntArray | None = None

    def ranks(self, codes: FloatArray) -> IntArray:
        """(n_rows,) rank of the level of each row; each code must be a level of the view."""
        assert self.rank is not None
        at = codes.astype(np.int64)
        return np.asarray(self.rank[at if self.levels is None else np.searchsorted(self.levels, at)])

    def codes(self, chosen: BoolArray) -> frozenset[int]:
        """The codes of the levels for which ``chosen``, of shape (n_levels,), is true."""
        places = np.flatnonzero(chosen)
        return frozenset((places if self.levels is None else self.levels[places]).tolist())


@dataclass(frozen=True, eq=False)
class Views:
    """The views of all columns of a table.

    Parameters
    ----------
    views : the views, in the order of the columns
    n_columns : number of columns of the table
    by_level : positions in ``views`` of columns that are tested level by level
    limits : the columns whose views do not allow all tests, by the reason
    """

    views: tuple[View, ...]
    n_columns: int
    by_level: frozenset[int] = frozenset()
    limits: Mapping[Limit, Collection[int]] = field(default_factory=dict)

    @property
    def by_sets(self) -> tuple[int, ...]:
        """The positions in ``views`` of columns that are tested by sets of levels."""
        return tuple(v for v, view in enumerate(self.views) if view.by_sets)

    @classmethod
    def of(
        cls,
        X: FloatArray,
        *,
        given: Mapping[int, Collection[View]] | None = None,
        by_level: Collection[int] = (),
        left_out: Collection[int] = (),
    ) -> Views:
        """Return the views of a table.

        Parameters
        ----------
        X : (n_rows, n_columns) training rows, NaN where missing, level codes in categorical columns
        given : the views to use for some columns, by column, instead of the usual views
        by_level : columns of unordered categories that are tested level by level
        left_out : columns without views, which no test uses
        """
        given = given or {}
        if not given and not by_level and not left_out and not holds_nan(X):
            return cls(_plain(X.shape[1]), X.shape[1])
        views: list[View] = []
        levels = set()
        for j in range(X.shape[1]):
            if j in left_out:
                continue
            if j in given:
                views += given[j]
                continue
            gaps = np.isnan(X[:, j])
            if j in by_level:
                levels.add(len(views))
                views.append(View(j, 0.0 if gaps.all() else float(X[~gaps, j].max()) + 1.0))
                continue
            views.append(View(j, -np.inf))
            if gaps.any() and not gaps.all():
                views.append(View(j, np.inf))
        return cls(tuple(views), X.shape[1], frozenset(levels))

    def at_the_end(self, row: FloatArray, *, last: bool) -> Views:
        """Views whose orders of levels begin, or end, with the levels of a row; levels of equal rank move together.

        Parameters
        ----------
        row : (n_columns,) values; its levels are among those of the views
        last : whether they end the orders
        """
        return replace(self, views=tuple(_with_end(view, float(row[view.column]), last=last) for view in self.views))

    def values(self, X: FloatArray) -> FloatArray:
        """(n_rows, n_views) numbers without NaN; ``X`` itself if nothing changes."""
        own = len(self.views) == self.n_columns and all(view.column == v for v, view in enumerate(self.views))
        if own and all(view.rank is None for view in self.views) and not holds_nan(X):
            return X
        gaps = np.isnan(X)
        numbers = np.empty((X.shape[0], len(self.views)), dtype=np.float64)
        for v, view in enumerate(self.views):
            column, gap = X[:, view.column], gaps[:, view.column]
            if view.rank is None:
                numbers[:, v] = column
            else:
                numbers[~gap, v] = view.ranks(column[~gap])
            numbers[gap, v] = view.gap
        return numbers

    def tests(self, over: Binarizer) -> Binarizer:
        """Convert ``over``, tests of the views, into equal tests of the columns."""
        feature = np.array([view.column for view in self.views], dtype=np.int64)[over.feature]
        threshold, levels = over.threshold.copy(), list(over.levels)
        missing_low = np.array([view.gap for view in self.views])[over.feature] <= threshold
        ranked = np.array([view.rank is not None for view in self.views], dtype=np.bool_)[over.feature]
        for test in np.flatnonzero(ranked | np.isnan(threshold)).tolist():  # other thresholds stay what they are
            view = self.views[over.feature[test]]
            threshold[test], levels[test], missing_low[test] = _seen_by(view, threshold[test], levels[test])
        thinned = frozenset(self.views[v].column for v in over.thinned)
        return replace(
            over,
            feature=feature,
            threshold=threshold,
            levels=tuple(levels),
            n_features=self.n_columns,
            missing_low=missing_low,
            thinned=thinned,
        )

    def lift(self, table: NodeTable) -> NodeTable:
        """Convert a tree or diagram over the views into one over the columns, equal on every row of the table."""
        feature, threshold, missing_low = table.feature.copy(), table.threshold.copy(), table.missing_low.copy()
        levels: list[frozenset[int] | None] = list(table.levels or [None] * table.n_nodes)
        for node in np.flatnonzero(table.feature >= 0).tolist():
            view = self.views[table.feature[node]]
            feature[node] = view.column
            threshold[node], levels[node], missing_low[node] = _seen_by(view, threshold[node], levels[node])
        return table.changed(feature=feature, threshold=threshold, missing_low=missing_low, levels=tuple(levels))


def _with_end(view: View, code: float, *, last: bool) -> View:
    if view.rank is None or view.by_sets or np.isfinite(view.gap) or np.isnan(code):
        return view  # a set of levels is one test, and no order
    moved = view.rank == view.ranks(np.array([code]))[0]
    return replace(view, rank=np.where(moved, view.rank.max() + 1 if last else -1, view.rank))


def _seen_by(view: View, threshold: float, levels: frozenset[int] | None) -> tuple[float, frozenset[int] | None, bool]:
    """The test of a column that is equal to a test of its view: threshold, levels, and if missing values go low."""
    if view.by_sets and levels is not None:
        assert view.rank is not None
        return np.nan, view.codes(np.isin(view.rank, list(levels))), view.gap in levels
    if levels is not None:
        return np.nan, levels - {int(view.gap)}, view.gap in levels
    missing_low = bool(view.gap <= threshold)
    if view.rank is None:
        return threshold, None, missing_low
    return np.nan, view.codes(view.rank <= threshold), missing_low


@lru_cache(maxsize=64)
def _plain(n_columns: int) -> tuple[View, ...]:
    """The views of ``n_columns`` numeric columns without missing values."""
    return tuple(View(j) for j in range(n_columns))


def level_order(shares: FloatArray, weights: FloatArray) -> IntArray:
    """(n_levels,) position of each level in an order in which levels with similar class shares are neighbours.

    For two classes, levels are ordered by the share of one class: at a node with two leaves, the best threshold in this
    order is as good as the best level set [1]_. For more classes, levels are ordered along the direction in which the
    shares differ most [2]_. Levels with equal shares keep the order of their codes.

    Parameters
    ----------
    shares : (n_levels, n_classes) share of each class in the weight of a level
    weights : (n_levels,) weight of each level; levels of weight 0 come last

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, theorem 4.5.
    .. [2] Coppersmith, Hong, Hosking (1999), Partitioning Nominal Attributes in Decision Trees, Data Mining and
       Knowledge Discovery 3.
    """
    n_levels, n_classes = shares.shape
    seen = weights > 0
    if n_classes <= 2:
        score = shares[:, -1].copy()
    else:
        mean = weights @ shares / max(weights.sum(), 1e-300)
        away = shares - mean
        _, vectors = np.linalg.eigh((away * weights[:, None]).T @ away)
        direction = vectors[:, -1]
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
        score = np.round(away @ direction, 12)  # the last bits are not those of every machine
    score[~seen] = np.inf
    order = np.argsort(score, kind="stable")
    place = np.empty(n_levels, dtype=np.int64)
    place[order] = np.arange(n_levels)
    return place


def set_ranks(place: IntArray, present: IntArray, *, gaps: bool) -> Iterator[IntArray]:
    """Yield each way to split the levels into two sets, as ranks 0 and 1; a set and its complement count once.

    Parameters
    ----------
    place : (n_levels,) positions of levels; levels with equal positions stay together
    present : level codes that occur in training; all others have rank 1
    gaps : whether missing values occur; they are one more level, with rank 1

    Yields
    ------
    ranks : (n_levels,) 0 for the levels of the set, 1 for all others
    """
    groups = np.unique(place[present])
    for chosen in range(1, 2 ** (groups.size - 1 + gaps)):
        members = groups[[chosen >> bit & 1 == 1 for bit in range(groups.size)]]
        ranks = np.ones_like(place)
        ranks[present[np.isin(place[present], members)]] = 0
        yield ranks


def pooled(place: IntArray, few: BoolArray, shares: FloatArray, weights: FloatArray) -> IntArray:
    """The positions of levels in an order in which the levels ``few`` are treated as one level.

    Parameters
    ----------
    place : positions of all levels, the result of :func:`level_order`
    few : (n_levels,) whether a level is one of those that are treated as one
    shares, weights : as in :func:`level_order`
    """
    if np.count_nonzero(few) < 2:
        return place
    together = weights[few]
    share = together @ shares[few] / max(together.sum(), 1e-300)
    rest = np.flatnonzero(~few)
    joint = level_order(np.vstack([shares[rest], share]), np.append(weights[rest], together.sum()))
    places = np.empty_like(place)
    places[rest] = joint[:-1]
    places[few] = joint[-1]
    return places


def class_shares(
    levels: IntArray, n_levels: int, labels: IntArray, n_classes: int, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n_levels, n_classes) share of each class in each level, and (n_levels,) weight of each level.

    Parameters
    ----------
    levels : (n_rows,) level of each row, from 0 to n_levels - 1
    """
    sums = np.zeros((n_levels, n_classes))
    np.add.at(sums, (levels, labels), weights)
    weight = sums.sum(axis=1)
    return sums / np.where(weight > 0, weight, 1.0)[:, None], weight


def with_directions(
    table: NodeTable,
    gaps: Collection[int],
    seen: Mapping[int, Collection[int]],
    low_weight: FloatArray,
    *,
    of_tests: bool = False,
) -> NodeTable:
    """Return ``table`` with tests that send values unknown in training to the side with more training weight.

    A missing value goes to this side if its column had no missing values in training. A level that was not in training
    always goes there: each level test is changed so that its listed levels, which go low, are those of the side with
    less weight.

    Parameters
    ----------
    table : model over the columns
    gaps : columns with missing values in training
    seen : level codes in training, for each column that is tested by levels
    low_weight : (n_nodes,) training weight that goes low at each node
    of_tests : whether all nodes with the same test use one side, by their total weight, or each node its own side
    """
    low, high, missing_low = table.low.copy(), table.high.copy(), table.missing_low.copy()
    levels: list[frozenset[int] | None] = list(table.levels or [None] * table.n_nodes)
    surplus = 2.0 * low_weight - table.weight.sum(axis=1)  # of the low side
    asked: dict[Hashable, float] = {}
    for node in table.splits():
        test = _test(table, node) if of_tests else node
        asked[test] = asked.get(test, 0.0) + float(surplus[node])
    for node in table.splits():
        column, codes = int(table.feature[node]), levels[node]
        low_surplus = asked[_test(table, node) if of_tests else node]
        if column >= 0 and column not in gaps:  # at equal weight, to the side of values unknown in training
            missing_low[node] = low_surplus > 0 if codes is not None else low_surplus >= 0
        if codes is not None and low_surplus > 0:
            low[node], high[node] = high[node], low[node]
            missing_low[node] = not missing_low[node]
            levels[node] = frozenset(seen[column]) - codes
    if table.levels is None:
        return table.changed(missing_low=missing_low)
    return table.changed(low=low, high=high, missing_low=missing_low, levels=tuple(levels))


def _test(table: NodeTable, node: int) -> Hashable:
    """The test of a split, without the side for missing values. Each weighted sum counts as a different test."""
    if table.feature[node] < 0:
        return node, "sum"
    codes = None if table.levels is None else table.levels[node]
    return int(table.feature[node]), codes, 0.0 if codes is not None else float(table.threshold[node])


# ------------------------------------------------------------------------------------------------- the scope of a proof


def scope_of(
    schema: Schema, views: Views, tests: Binarizer | None = None, *, few: int = 0, most: int | None = None
) -> tuple[str, ...]:
    """The limits of a search in words, one text per kind of limit; empty if the search considered every test.

    Parameters
    ----------
    schema : schema of the table
    views : views of its columns
    tests : tests of the columns, if the search is over tests and not over views
    few : levels with fewer rows are pooled
    most : most thresholds per column
    """
    found: dict[Limit, Collection[int]] = {**views.limits, Limit.LEFT_OUT: schema.unread}
    if tests is not None:
        of_levels = [int(tests.feature[i]) for i, levels in enumerate(tests.levels) if levels is not None]
        columns, counts = np.unique(np.array(of_levels, dtype=np.int64), return_counts=True)
        partial = found.get(Limit.FREQUENT, ())
        found[Limit.SINGLE] = [j for j in columns[counts > FEW_LEVELS].tolist() if j not in partial]
        found[Limit.THRESHOLDS] = sorted(tests.thinned)
    words = {limit: limit.value for limit in Limit if len(found.get(limit, ()))}
    if most == 1 and Limit.THRESHOLDS in words:
        words[Limit.THRESHOLDS] = ONE_THRESHOLD
    return tuple(
        text % {"columns": columns_named(schema, found[limit]), "few": few, "n": most} for limit, text in words.items()
    )


def columns_named(schema: Schema, columns: Collection[int]) -> str:
    """The names of the columns in one text, or their numbers if the columns have no names."""
    names = [printable(schema.columns[j].name) if schema.by_name else f"column {j}" for j in columns]
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    shown = names[: MOST_NAMES - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
