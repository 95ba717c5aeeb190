"""Whether a model ever looks at a feature: no two rows that differ in it alone have different classes.

Two values of a feature make two copies of the ensemble over the other columns, and the question is whether a row gets
one class from the first copy and another from the second: it must win several contests at once. What trees say that do
not test the feature cancels in the difference of the two leads, which therefore is asked about first. Being equal
carries over from one value to the next, so that a chain of values has as many questions as steps. That is so only where
every row of the other columns takes all values: where clauses join the feature to other ones, all pairs are asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, permutations, product
from typing import Any

import numpy as np

from proofwood.explain.answers.possible import Region
from proofwood.explain.answers.session import Session
from proofwood.explain.model.explained import Explained
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.model.space import Key, position
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.rule import value_text
from proofwood.model.node_table import FloatArray, IntArray

Cells = tuple[int, ...]
"""A cell for each column of a feature."""


@dataclass(frozen=True, eq=False)
class Independence:
    """Whether a feature makes a difference.

    Parameters
    ----------
    feature : its name
    holds : whether no two rows of the region that differ in it alone have different classes; None if a limit came
        first, or only rounding might make a difference
    rows : (2, n_inputs) two such rows where there are some, as ``model.read`` gives rows; else None
    classes : their classes
    seconds : taken
    model : what the region is one of
    """

    feature: str
    holds: bool | None
    rows: FloatArray | None = field(repr=False)
    classes: tuple[Any, Any] | None
    seconds: float
    model: Explained = field(repr=False)

    def __str__(self) -> str:
        if self.holds:
            return f"the class never depends on {self.feature}, which is proved"
        if self.rows is None or self.classes is None:
            return f"whether the class depends on {self.feature} is not known"
        names = self.model.feature_names
        at = names.index(self.feature)
        one, other = (value_text(self.model, row, at) for row in self.rows)
        rest = ", ".join(
            f"{name} = {value_text(self.model, self.rows[0], feature)}"
            for feature, name in enumerate(names)
            if feature != at
        )
        label, then = self.classes
        return f"the class depends on {self.feature}: {label} with {one} and {then} with {other}, where {rest}"


class Copies:
    """Two copies of an ensemble, in each of which a feature has one value, as contests that one class must all win.

    Class 0 has nothing. A row gives class ``first`` to one copy and ``second`` to the other iff class 0 wins
    ``contests``; that it wins ``cancelled`` is necessary for that.

    Parameters
    ----------
    scores : the ensemble
    columns : of the feature
    cells : of the feature in the two copies
    """

    def __init__(self, scores: ScoreModel, columns: tuple[int, ...], cells: tuple[Cells, Cells]) -> None:
        self.scores, self.columns, self.cells = scores, columns, cells
        variable = scores.needs >> 1
        self._own = np.isin(scores.column_of[variable], columns)
        leaf_of = np.repeat(np.arange(len(scores.scores)), np.diff(scores.needs_of))
        tree_of = np.repeat(np.arange(scores.n_trees), np.diff(scores.leaves_of))
        self._tests = np.zeros(scores.n_trees, dtype=bool)
        self._tests[tree_of[leaf_of[self._own]]] = True
        self._alive = []
        for given in cells:
            row = np.zeros(scores.n_columns, dtype=np.int64)
            row[list(columns)] = given
            broken = self._own & ~scores.holds(scores.needs, row)
            alive = np.ones(len(scores.scores), dtype=bool)
            alive[leaf_of[broken]] = False
            self._alive.append(alive)
        kept = ~self._own
        self._needs_of = np.concatenate([[0], np.cumsum(np.bincount(leaf_of[kept], minlength=len(scores.scores)))])
        self._needs = scores.needs[kept]

    @property
    def same(self) -> bool:
        """Whether every tree has the same leaves in both copies, so that there is no question."""
        one, other = self._alive
        return np.array_equal(one, other)

    def oracle(self, first: int, second: int) -> tuple[SearchOracle, list[tuple[int, int]], tuple[int, int]]:
        """Engine, contests of class 0 as (class, least lead), and the contest in which most trees cancel."""
        scores = self.scores
        n = scores.n_classes
        others = [[k for k in range(n) if k != own] for own in (first, second)]
        parts: list[tuple[IntArray, IntArray]] = []  # leaves of a tree, and their scores
        for tree in range(scores.n_trees):
            leaves = np.arange(scores.leaves_of[tree], scores.leaves_of[tree + 1])
            if not self._tests[tree]:
                parts.append(
                    (leaves, self._gains(leaves, first, others[0], 0) + self._gains(leaves, second, others[1], 1))
                )
                continue
            for copy, own in enumerate((first, second)):
                alive = leaves[self._alive[copy][leaves]]
                parts.append((alive, self._gains(alive, own, others[copy], copy)))
        base = self._row(scores.base, first, others[0], 0) + self._row(scores.base, second, others[1], 1)
        chosen = np.concatenate([leaves for leaves, _ in parts])
        spans = [np.arange(self._needs_of[leaf], self._needs_of[leaf + 1]) for leaf in chosen.tolist()]
        values = np.concatenate([gains for _, gains in parts])
        values[:, -1] = self._difference(values, others, first, second)
        base[-1] = int(self._difference(base[np.newaxis], others, first, second)[0])
        made = replace(
            scores,
            leaves_of=np.cumsum([0, *(len(leaves) for leaves, _ in parts)]),
            scores=values,
            base=base,
            needs_of=np.cumsum([0, *map(len, spans)]),
            needs=self._needs[np.concatenate([*spans, np.zeros(0, dtype=np.int64)])],
            clauses=tuple(self._clauses()),
        )
        leads = [
            [scores.threshold_of_win(own, k) for k in beaten]
            for own, beaten in zip((first, second), others, strict=True)
        ]
        contests = [(1 + at, least) for at, least in enumerate([*leads[0], *leads[1]])]
        least = leads[0][others[0].index(second)] + leads[1][others[1].index(first)]
        return SearchOracle(made), contests, (values.shape[1] - 1, least)

    def _gains(self, leaves: IntArray, own: int, beaten: list[int], copy: int) -> IntArray:
        return np.array([self._row(self.scores.scores[leaf], own, beaten, copy) for leaf in leaves.tolist()])

    def _row(self, sums: IntArray, own: int, beaten: list[int], copy: int) -> IntArray:
        """What classes get so that class 0, which has nothing, leads each by what ``own`` leads one other by."""
        n = len(beaten)
        row = np.zeros(2 * n + 2, dtype=np.int64)
        row[1 + copy * n : 1 + (copy + 1) * n] = sums[beaten] - sums[own]
        return row

    @staticmethod
    def _difference(values: IntArray, others: list[list[int]], first: int, second: int) -> IntArray:
        """The contest of both leads together: of the first class on the second, and the other way round."""
        n = len(others[0])
        return np.asarray(values[:, 1 + others[0].index(second)] + values[:, 1 + n + others[1].index(first)])

    def _clauses(self) -> Iterator[tuple[int, ...]]:
        """What the space asks of the other columns, in either copy."""
        scores = self.scores
        for given in self.cells:
            row = np.zeros(scores.n_columns, dtype=np.int64)
            row[list(self.columns)] = given
            for clause in scores.clauses:
                literals = np.array(clause, dtype=np.int64)
                own = np.isin(scores.column_of[literals >> 1], self.columns)
                if not scores.holds(literals[own], row).any():
                    yield tuple(literals[~own].tolist())


def values_of(model: Explained, columns: tuple[int, ...], region: Region) -> list[Cells]:
    """What the columns of a feature can be together in a region."""
    spans = [range(int(region.low[g]), int(region.high[g]) + 1) for g in columns]
    scores = model.scores
    inside = [
        clause for clause in scores.clauses if set(scores.column_of[np.array(clause) >> 1].tolist()) <= {*columns}
    ]
    found = []
    row = np.zeros(scores.n_columns, dtype=np.int64)
    for cells in product(*spans):
        row[list(columns)] = cells
        if all(bool(scores.holds(np.array(clause), row).any()) for clause in inside):
            found.append(cells)
    return found


def is_joined(scores: ScoreModel, columns: tuple[int, ...]) -> bool:
    """Whether what the columns of a feature can be depends on other columns."""
    own = set(columns)
    for clause in scores.clauses:
        spoken_of = set(scores.column_of[np.array(clause, dtype=np.int64) >> 1].tolist())
        if spoken_of & own and spoken_of - own:
            return True
    return False


def independence(
    session: Session, feature: Key, where: Mapping[Key, object] | None, seconds: float | None
) -> Independence:
    """The answer, with the options of :meth:`proofwood.Explainer.independent_of`."""
    begin = time.monotonic()
    until = None if seconds is None else begin + seconds
    model = session.model
    model.of_every_row("whether the class depends on a feature")
    at = position(feature, model.feature_names, "feature")
    region = Region(model, {} if where is None else where)
    columns = model.scores.features[at]
    holds: bool | None = True
    values = values_of(model, columns, region)
    for cells in combinations(values, 2) if is_joined(model.scores, columns) else pairwise(values):
        copies = Copies(model.scores, columns, cells)
        if copies.same:
            continue
        for first, second in permutations(range(model.scores.n_classes), 2):
            answer, rows = _differ(model, region, copies, first, second, until)
            if rows is not None:
                labels = model.classes[model.predict_codes(rows)].tolist()
                return Independence(
                    model.feature_names[at], False, rows, (labels[0], labels[1]), time.monotonic() - begin, model
                )
            holds = None if answer is None else holds
        if holds is None and until is not None and time.monotonic() >= until:
            break
    return Independence(model.feature_names[at], holds, None, None, time.monotonic() - begin, model)


def _differ(
    model: Explained, region: Region, copies: Copies, first: int, second: int, until: float | None
) -> tuple[bool | None, FloatArray | None]:
    """Whether a row has one class with the first value and another with the second, and two such rows.

    Where rounding alone would make the difference, rows are looked for in which it does not matter.
    """
    low, high = region.low.copy(), region.high.copy()
    columns = list(copies.columns)
    low[columns] = high[columns] = copies.cells[0]
    for more in (0, 2 * model.scores.margin):
        oracle, contests, (cancelled, least) = copies.oracle(first, second)
        leads = [(k, lead + more) for k, lead in contests]
        for asked in ([(cancelled, least + 2 * more)], leads):
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return None, None
            found = oracle.ask_contests(low, high, 0, asked, seconds=left)
            if found.witness is None:
                return (None if more else found.changes), None
        rows = np.tile(np.asarray(found.witness), (2, 1))
        rows[:, columns] = copies.cells
        one = region.row(rows[0])
        made = np.stack([one, model.row(rows[1], like=one)])
        codes = model.predict_codes(made)
        if codes[0] != codes[1]:
            return True, made
    return None, None
