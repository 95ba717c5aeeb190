"""Random search for rows that differ only in one feature and have different classes.

Random rows are drawn from the whole space, and each is predicted with every value of the feature at once
(:mod:`proofwood.ensembles.along`). If the class of a row stays the same, random changes of its other features are
tried, and kept if they bring it nearer to a change of class. The search proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from proofwood.engines.run import Clock
from proofwood.ensembles.along import Along, values_of
from proofwood.ensembles.grid import Grid
from proofwood.ensembles.regions import units
from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import FloatArray, IntArray

POPULATION = 64
"""Number of rows that are predicted together."""
DRAWN = 5
"""Number of turns in which rows are drawn at random; of the draws for each row, the best one is kept."""
CHANGED = 100
"""Number of turns in which the drawn rows are changed at random."""
MOST_SUMS = 2**19
"""Most sums that are computed together; if the feature has many values, fewer rows are predicted together."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Cells (n_columns,) of two rows that differ only in a feature, and whose sums give them different classes."""

    one: IntArray
    other: IntArray


class Differing:
    """Random search in a box for pairs of rows that differ only in one feature and have different classes.

    Parameters
    ----------
    scores, grid : the model
    along : the trees of the model, and the values of the feature
    low, high : (n_columns,) least and greatest cells
    """

    def __init__(self, scores: ScoreModel, grid: Grid, along: Along, low: IntArray, high: IntArray) -> None:
        self.scores, self.along = scores, along
        own = set(along.columns)
        self.parts: list[tuple[list[int], IntArray]] = []
        for feature, columns in enumerate(scores.features):
            if own.isdisjoint(columns):
                for unit in units(scores, feature):
                    of_unit, values = values_of(grid, unit, low, high)
                    self.parts.append((list(of_unit), values))
        self._random = np.random.default_rng(0)
        wide = max(1, len(along.values) * max(scores.n_classes, scores.n_trees // 16))
        self._size = int(np.clip(MOST_SUMS // wide, 1, POPULATION))

    def pairs(self, clock: Clock) -> Iterator[Pair]:
        """Yield pairs of rows as they are found, until the limit of effort or time is reached."""
        if not all(len(values) for _, values in self.parts):
            return
        rows = self._drawn()
        gaps = np.full(len(rows), np.inf)
        for turn in range(DRAWN + CHANGED):
            if clock.over:
                return
            tried = self._drawn() if turn < DRAWN else self._changed(rows)
            sums = self.along.sums(tried)
            yield from self._found(tried, sums)
            new = _gaps(sums)
            better = new <= gaps
            rows[better], gaps[better] = tried[better], new[better]

    def _drawn(self) -> IntArray:
        """Random rows with values from the whole box."""
        rows = np.zeros((self._size, self.scores.n_columns), dtype=np.int64)
        for columns, values in self.parts:
            rows[:, columns] = values[self._random.integers(0, len(values), self._size)]
        return rows

    def _changed(self, rows: IntArray) -> IntArray:
        """Copies of the rows, each with up to three of its values replaced by random ones."""
        made = rows.copy()
        if self.parts:
            for row in made:
                for at in self._random.integers(0, len(self.parts), self._random.integers(1, 4)).tolist():
                    columns, values = self.parts[at]
                    row[columns] = values[self._random.integers(0, len(values))]
        return made

    def _found(self, rows: IntArray, sums: FloatArray) -> Iterator[Pair]:
        """Pairs of copies of a row with two values of the feature and different classes; both satisfy the clauses."""
        classes = sums.argmax(axis=2)
        changing = np.flatnonzero((classes != classes[:, :1]).any(axis=1))
        for at in changing.tolist():
            surest = np.argsort(-_leads(sums[at]), kind="stable").tolist()
            other = next(v for v in surest if classes[at, v] != classes[at, surest[0]])
            pair = Pair(*(self._with(rows[at], v) for v in sorted((surest[0], other))))
            if self.scores.meets_clauses(pair.one) and self.scores.meets_clauses(pair.other):
                yield pair

    def _with(self, row: IntArray, value: int) -> IntArray:
        made = row.copy()
        made[self.along.columns] = self.along.values[value]
        return made


def _leads(sums: FloatArray) -> FloatArray:
    """(...,) the greatest sum minus the second greatest, of sums (..., n_classes)."""
    if sums.shape[-1] < 2:
        return np.full(sums.shape[:-1], np.inf)
    first_two = np.partition(sums, -2, axis=-1)[..., -2:]
    return np.asarray(first_two[..., 1] - first_two[..., 0])


def _gaps(sums: FloatArray) -> FloatArray:
    """(n_rows,) the least lead in each row, over all values of the feature: the smaller, the nearer to a change."""
    return np.asarray(_leads(sums).min(axis=1))
