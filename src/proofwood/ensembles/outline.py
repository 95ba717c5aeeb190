"""The names, columns, cells and values of a model, with or without its trees.

A pickled answer holds an :class:`Outline` in place of its model. For each column, the outline has only the thresholds
around the cells that the answer mentions. Cells get new numbers but keep their ends, so every text stays the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import OTHER
from proofwood.ensembles.grid import Grid
from proofwood.ensembles.knowledge import Knowledge
from proofwood.ensembles.scores import ScoreModel
from proofwood.ensembles.space import GroupKind, Input
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.printable import in_list, in_sentence

if TYPE_CHECKING:
    from proofwood.ensembles.plausible import Inliers


class Space:
    """The columns of a model, and the conversion between rows and cells.

    Attributes
    ----------
    scores : the model in integers; without leaves in an outline
    grid : the grid of cells
    classes : (n_classes,) labels
    knowledge : conditions that every possible row satisfies, in addition to the bounds of its columns
    plausible : the rule for plausible rows; None if all rows are plausible
    """

    scores: ScoreModel
    grid: Grid
    classes: npt.NDArray[Any]
    knowledge: Knowledge
    _groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]

    if TYPE_CHECKING:

        @property
        def tested(self) -> Collection[int]:
            """Columns of the table that some tree tests, or a condition mentions."""

        @property
        def plausible(self) -> Inliers | None:
            """The rule for plausible rows; None if all rows are plausible."""

        @property
        def fingerprint(self) -> str:
            """A short digest that identifies the model, its grid and its names."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The explained columns of the table, with their names, kinds, bounds, missing values and categories."""
        return self.grid.inputs

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature of ``scores.features``."""
        return self.grid.feature_names

    def group_kind(self, feature: int) -> GroupKind | None:
        """The kind of group, for a feature that is a group of table columns; None for a single table column."""
        group = self._groups.get(self.feature_names[feature])
        return None if group is None else group[1]

    @property
    def types(self) -> dict[str, list[str]]:
        """Names of the table columns that hold only integers (``"integer"``) or only 0 and 1 (``"boolean"``)."""
        found = {kind: [str(one.name) for one in self.inputs if one.kind == kind] for kind in ("integer", "boolean")}
        return {kind: names for kind, names in found.items() if names}

    def group_of(self, name: str) -> tuple[tuple[int, ...], str]:
        """The table columns of the feature with this name, and the kind of their group, or ``"single"``."""
        if name in self._groups:
            return self._groups[name]
        return (next(j for j, given in enumerate(self.inputs) if given.name == name),), "single"

    @cached_property
    def choices(self) -> tuple[int, ...]:
        """The features that are a group of 0/1 table columns of which at most one is 1."""
        kinds = [self._groups.get(name, ((), "together"))[1] for name in self.grid.feature_names]
        return tuple(feature for feature, kind in enumerate(kinds) if kind != "together")

    def inputs_of(self, feature: int) -> list[int]:
        """The table columns of a feature."""
        return sorted({self.grid.columns[g].column for g in self.scores.features[feature]})

    @property
    def columns(self) -> tuple[str, ...]:
        """One name per column of ``scores``: the name of the table column, or a condition on it for a 0/1 column."""
        return tuple(self._column_name(g) for g in range(len(self.grid.columns)))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """One kind per column of ``scores``: the kind of the table column, or boolean for a 0/1 column."""
        return tuple(
            Kind.BOOLEAN if column.role in ("missing", "codes") else self.inputs[column.column].kind
            for column in self.grid.columns
        )

    def _column_name(self, g: int) -> str:
        column = self.grid.columns[g]
        name = self.inputs[column.column].name
        if column.role != "value":
            name = in_sentence(name)
        if column.role == "missing":
            return f"{name} is missing"
        if column.role == "codes":
            texts = tuple(map(in_list, self.texts_of(g)))
            return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in {{{', '.join(texts)}}}"
        return name if column.role == "value" else f"{name} (tests that send a missing value high)"

    def texts_of(self, column: int) -> tuple[str, ...]:
        """Texts of the categories for which a 0/1 column is 1; empty for other columns."""
        grid = self.grid.columns[column]
        if grid.role != "codes":
            return ()
        given = self.inputs[grid.column]
        known = tuple(given.levels[code] for code in sorted(grid.codes) if code != OTHER)
        if OTHER not in grid.codes:
            return known
        if not given.other:
            return (*known, "(missing)")
        return (*known, "(missing or any other)" if given.missing else "(any other)")

    @property
    def missing(self) -> tuple[int, ...]:
        """Indices of the inputs that may be missing."""
        return tuple(j for j, given in enumerate(self.inputs) if given.missing)

    def interval(self, column: int, low_cell: int, high_cell: int) -> tuple[float, bool, float, bool]:
        """The values in a range of cells of a column of ``scores``, as ``(low, low_open, high, high_open)``.

        Values are in original units, or 0 and 1 for 0/1 columns of categories and missing values. Infinite ends are
        open.
        """
        return self.grid.interval(column, low_cell, high_cell)


@dataclass(eq=False)
class Outline(Space):
    """The part of a model that is needed to write the texts of an answer.

    Parameters
    ----------
    scores : the model without leaves
    grid : the grid with only the thresholds around the cells that are mentioned
    classes, knowledge, plausible : those of the model
    fingerprint : fingerprint of the model
    kept : for each grid column, the indices of those of the model's thresholds that are in the outline
    tested : columns of the table that some tree tests, or a condition mentions
    """

    scores: ScoreModel
    grid: Grid
    classes: npt.NDArray[Any]
    knowledge: Knowledge
    plausible: Inliers | None
    fingerprint: str
    kept: tuple[IntArray, ...]
    tested: frozenset[int]
    _groups: Mapping[str, tuple[tuple[int, ...], GroupKind]]

    @classmethod
    def of(cls, model: Space, told: Sequence[npt.ArrayLike]) -> Outline:
        """The outline of a model.

        Parameters
        ----------
        model : the model with its trees
        told : for each grid column, the cells that are mentioned
        """
        known = model.knowledge.columns
        kept = tuple(
            _around(np.asarray(cells, dtype=np.int64), column.thresholds.size, every=column.column in known)
            for cells, column in zip(told, model.grid.columns, strict=True)
        )
        variables = _numbered(model.grid, kept)
        clauses = _renamed(model.grid.clauses, variables)
        columns = [
            replace(
                column, thresholds=column.thresholds[of], missing_cell=int(np.searchsorted(of, column.missing_cell))
            )
            for column, of in zip(model.grid.columns, kept, strict=True)
        ]
        grid = replace(
            model.grid,
            columns=columns,
            first=np.concatenate([[0], np.cumsum([of.size for of in kept])]).astype(np.int64),
            clauses=clauses,
            knowledge=_renamed(model.grid.knowledge, variables),
        )
        none = np.zeros(0, dtype=np.int64)
        scores = ScoreModel(
            grid.n_thresholds,
            model.scores.features,
            leaves_of=np.zeros(1, dtype=np.int64),
            scores=np.zeros((0, model.scores.n_classes), dtype=np.int64),
            base=np.zeros(model.scores.n_classes, dtype=np.int64),
            needs_of=np.zeros(1, dtype=np.int64),
            needs=none,
            clauses=tuple(clauses),
            ranges=model.scores.ranges,
        )
        plausible = None if model.plausible is None else model.plausible.words
        tested = frozenset(model.tested)
        return cls(
            scores, grid, model.classes, model.knowledge, plausible, model.fingerprint, kept, tested, model._groups
        )

    def cells_here(self, cells: IntArray) -> IntArray:
        """(n_columns,) the cells of the outline that contain the given cells of the model."""
        return np.array([self.cell_here(g, int(cell)) for g, cell in enumerate(cells)], dtype=np.int64)

    def cells_there(self, low: IntArray, high: IntArray, model: Space) -> tuple[IntArray, IntArray]:
        """A box of the outline, converted to least and greatest cells (n_columns,) of the model."""
        before = [self.low_there(g, cell) for g, cell in enumerate(low.tolist())]
        after = [self.high_there(model, g, cell) for g, cell in enumerate(high.tolist())]
        return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)

    def cell_here(self, column: int, cell: int) -> int:
        """The cell of the outline that contains a cell of the model."""
        return int(np.searchsorted(self.kept[column], cell))

    def low_there(self, column: int, cell: int) -> int:
        """The least cell of the model that is in a cell of the outline."""
        return int(self.kept[column][cell - 1]) + 1 if cell > 0 else 0

    def high_there(self, model: Space, column: int, cell: int) -> int:
        """The greatest cell of the model that is in a cell of the outline."""
        of = self.kept[column]
        return int(of[cell] if cell < of.size else model.scores.n_thresholds[column])


def outline_of_rows(model: Space, rows: FloatArray | Sequence[FloatArray]) -> Outline:
    """The outline of a model for an answer about some rows (n_rows, n_inputs)."""
    given = np.asarray(rows, dtype=np.float64).reshape(-1, len(model.inputs))
    return model if isinstance(model, Outline) else Outline.of(model, list(model.grid.cells_of(given).T))


def _around(cells: IntArray, size: int, *, every: bool) -> IntArray:
    """Indices of the thresholds of a column that are next to ``cells``, and of the first and the last threshold."""
    if every:  # conditions connect columns
        return np.arange(size, dtype=np.int64)
    near = np.unique(np.concatenate([[0, size - 1], cells - 1, cells]))
    return near[(near >= 0) & (near < size)].astype(np.int64)


def _numbered(grid: Grid, kept: Sequence[IntArray]) -> dict[int, int]:
    """The new number of each variable of the grid that stays in the outline."""
    old = [int(grid.first[g]) + t for g, of in enumerate(kept) for t in of.tolist()]
    return {variable: number for number, variable in enumerate(old)}


def _renamed(clauses: Iterable[tuple[int, ...]], variables: Mapping[int, int]) -> list[tuple[int, ...]]:
    """The clauses whose variables all stay in the outline, with the new numbers of these variables."""
    return [
        tuple(2 * variables[literal >> 1] + (literal & 1) for literal in clause)
        for clause in clauses
        if all(literal >> 1 in variables for literal in clause)
    ]
