"""Convert trees, whose tests are literals, to a ``ScoreModel``: its leaves, and the literals on the path to each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from proofwood import _native
from proofwood.ensembles.forest import ScoredTree, Stack
from proofwood.ensembles.grid import Grid
from proofwood.ensembles.integers import IntegerScores
from proofwood.ensembles.scores import ScoreModel
from proofwood.model.node_table import LEAF, IntArray


class Walker:
    """Trees over the cells of the grid: their leaves, and the leaves that rows reach.

    Parameters
    ----------
    trees : one or more
    literals : per tree, its tests as literals, see :meth:`proofwood.ensembles.grid.GridBuilder.literals`
    scores : integer scores of the leaves
    grid : the grid to which the literals refer
    """

    def __init__(
        self, trees: Sequence[ScoredTree], literals: Sequence[IntArray], scores: IntegerScores, grid: Grid
    ) -> None:
        self.scores = scores
        self._trees, self._literals, self._grid = tuple(trees), tuple(literals), grid

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    @cached_property
    def native(self) -> _native.CellTrees:
        """The trees in native code; this attribute is not pickled."""
        stack = Stack.of(self._trees)
        return _native.CellTrees(
            self._grid.n_thresholds,
            stack.begins,
            np.concatenate(self._literals),
            (stack.feature != LEAF).view(np.uint8),
            np.ascontiguousarray(stack.low, dtype=np.int64),
            np.ascontiguousarray(stack.high, dtype=np.int64),
        )

    def sums_of(self, cells: IntArray) -> IntArray:
        """(n_rows, n_classes) integer sums of rows, which are given as cells (n_rows, n_columns)."""
        return np.asarray(self.native.sums(self._checked(cells), self.scores.values, self.scores.base))

    def nodes_of(self, cells: IntArray) -> IntArray:
        """(n_trees, n_rows) the leaf that each row reaches in each tree, numbered within the tree."""
        return np.asarray(self.native.reached(self._checked(cells)))

    def _checked(self, cells: IntArray) -> IntArray:
        n_columns = len(self._grid.columns)
        if cells.ndim != 2 or cells.shape[1] != n_columns:
            raise ValueError(f"cells have shape {cells.shape}: expected (n_rows, {n_columns})")
        return np.ascontiguousarray(cells, dtype=np.int64)

    def score_model(self, *, ties_low: bool) -> ScoreModel:
        """The ensemble over the cells of the grid; leaves that no cell reaches are left out."""
        counts, nodes, sizes, needs = self.native.leaves()
        begins = np.concatenate([[0], np.cumsum([tree.feature.size for tree in self._trees])])
        grid = self._grid
        return ScoreModel(
            n_thresholds=grid.n_thresholds,
            features=grid.features,
            leaves_of=np.concatenate([[0], np.cumsum(counts)]),
            scores=self.scores.values[nodes + np.repeat(begins[:-1], counts)],
            base=self.scores.base,
            needs_of=np.concatenate([[0], np.cumsum(sizes)]),
            needs=needs,
            clauses=tuple(grid.clauses),
            margin=self.scores.margin,
            ties_low=ties_low,
            ranges=tuple(grid.ranges),
        )


def score_model(
    trees: Sequence[ScoredTree], literals: Sequence[IntArray], scores: IntegerScores, grid: Grid, *, ties_low: bool
) -> ScoreModel:
    """The ensemble over the cells of the grid; leaves that no cell reaches are left out."""
    return Walker(trees, literals, scores, grid).score_model(ties_low=ties_low)
