"""Rows that differ in one feature alone and have different classes, looked for by chance.

Rows are drawn from all over the space, and each is looked at with every value of the feature at once
(:mod:`proofwood.ensembles.along`). Rows whose class stays, but nearly changes at some value, are changed in other
features, and stay changed where a change of class comes nearer. Nothing is proved here.
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
"""Rows that are looked at together."""
DRAWN = 5
"""Times that as many rows are drawn, of which the best are changed."""
CHANGED = 100
"""Times that these rows are changed."""
MOST_SUMS = 2**19
"""Most sums that are made together: of fewer rows, if the feature has many values."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Cells (n_columns,) of two rows that differ in a feature, whose sums give them different classes."""

    one: IntArray
    other: IntArray


class Differing:
    """Looks for such rows within some cells.

    Parameters
    ----------
    scores, grid : the model
    along : its trees, and the values of the feature
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
        """Pairs of rows as they are found, until the effort or the time is over."""
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
        """Rows with values from all over the space."""
        rows = np.zeros((self._size, self.scores.n_columns), dtype=np.int64)
        for columns, values in self.parts:
            rows[:, columns] = values[self._random.integers(0, len(values), self._size)]
        return rows

    def _changed(self, rows: IntArray) -> IntArray:
        """The rows, each with up to three of its values drawn anew."""
        made = rows.copy()
        if self.parts:
            for row in made:
                for at in self._random.integers(0, len(self.parts), self._random.integers(1, 4)).tolist():
                    columns, values = self.parts[at]
                    row[columns] = values[self._random.integers(0, len(values))]
        return made

    def _found(self, rows: IntArray, sums: FloatArray) -> Iterator[Pair]:
        """Rows whose class changes along the column, each as two copies of different classes in the space."""
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
    """(...,) by how much the first class leads the second one, of sums (..., n_classes)."""
    if sums.shape[-1] < 2:
        return np.full(sums.shape[:-1], np.inf)
    first_two = np.partition(sums, -2, axis=-1)[..., -2:]
    return np.asarray(first_two[..., 1] - first_two[..., 0])


def _gaps(sums: FloatArray) -> FloatArray:
    """(n_rows,) how near the class of each row comes to a change, at some value."""
    return np.asarray(_leads(sums).min(axis=1))
